//! `info`, `params`, `demo`, help: what is said of files and parameters, for people and for programs.

use crate::pictures::{Planes, eight, sixteen};
use crate::process::{Keys, encrypt, eval, folder, he, names};
use serde_json::Value;
use std::fs;

fn json(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

#[test]
fn keys_and_encrypted_files_are_described() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    sixteen(67, 30, 4, 1).save(path("in.png")).unwrap();
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n").unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    encrypt(keys, &path("in.csv"), &path("t.he"), &[]);
    eval(keys, &["blur"], &path("x.he"), &path("y.he"));
    eval(keys, &["mean"], &path("t.he"), &path("m.he"));
    he(["encrypt", "in.png", "-k", &keys.secret, "-o", "s.he"]).at(dir.path()).ok();
    let info = |file: &str| json(&he(["info", "--json", file]).at(dir.path()).ok());

    for (file, kind) in
        [(&keys.secret, "secret key"), (&keys.public, "public key"), (&keys.eval, "evaluation key")]
    {
        let told = info(file);
        assert_eq!(told["file"], kind);
        assert_eq!(told["bytes"], fs::metadata(file).unwrap().len());
        assert_eq!(told["parameters"]["depth"], 2);
        assert_eq!(told["parameters"]["security_bits"], 128);
        assert!(he(["info", file]).text().starts_with(&format!("file         {kind}\nkey set      ")));
    }
    assert_eq!(info(&keys.secret)["sealed"], false);
    assert_eq!(info(&keys.eval)["products"], true);
    assert!(info(&keys.eval)["rotations"].as_u64().unwrap() > 8);

    let told = info("x.he");
    assert_eq!(
        (&told["file"], &told["level"], &told["halo"]),
        (&"encrypted image".into(), &2.into(), &2.into())
    );
    assert_eq!((&told["image"]["width"], &told["image"]["channels"]), (&67.into(), &"RGBA".into()));
    assert_eq!(told["image"]["depth"], 16);
    let told = info("y.he");
    assert_eq!((&told["level"], &told["halo"], &told["history"][0]), (&1.into(), &1.into(), &"blur".into()));
    let told = info("t.he");
    assert_eq!((&told["file"], &told["table"]["rows"]), (&"encrypted table".into(), &2.into()));
    assert_eq!(info("m.he")["history"][0], "mean");
    let text = he(["info", "t.he"]).at(dir.path()).text();
    assert!(text.contains("table        2 rows, 2 columns: a, b\nhistory      fresh\n"), "{text}");
    let text = he(["info", "s.he"]).at(dir.path()).text();
    assert!(text.contains(", the second half of each as a seed\n"), "{text}");
    // Through a pipe the size is not known, and all else is.
    let piped = he(["info", "-", "--json"]).stdin(&fs::read(path("y.he")).unwrap()).ok();
    let mut told = info("y.he");
    told.as_object_mut().unwrap().remove("bytes");
    assert_eq!(json(&piped), told);
}

#[test]
fn sealed_keys_say_that_they_are() {
    let dir = folder();
    fs::write(dir.path().join("phrase"), "x y z").unwrap();
    let quick = ["--depth", "1", "--precision", "10", "--passphrase-file", "phrase"];
    he(["keygen", "ckks", "-o", "."].iter().chain(&quick)).at(dir.path()).ok();
    let told = json(&he(["info", "secret.key", "--json"]).at(dir.path()).ok());
    assert_eq!((&told["file"], &told["sealed"]), (&"sealed secret key".into(), &true.into()));
    assert_eq!(told.get("parameters"), None);
    let open = ["info", "secret.key", "--json", "--passphrase-file", "phrase"];
    let told = json(&he(open).at(dir.path()).ok());
    assert_eq!((&told["file"], &told["sealed"]), (&"secret key".into(), &true.into()));
    assert_eq!(told["parameters"]["depth"], 1);
    he(["info", "secret.key"]).at(dir.path()).env("HE_CLI_PASSPHRASE", "x").fails(
        1,
        "secret.key: wrong passphrase or damaged key file",
        "type the passphrase again; if it is right, restore the file from a copy",
    );
}

#[test]
fn params_explain_themselves() {
    let text = he(["params", "--depth", "6", "--precision", "30"]).text();
    for part in ["security     128 bits", "depth        6", "\nwhy:\n", "30 bits of precision"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let told = json(&he(["params", "--depth", "3", "--security", "256", "--slots", "8192", "--json"]).ok());
    assert_eq!((&told["depth"], &told["security_bits"]), (&3.into(), &256.into()));
    assert!(told["slots"].as_u64().unwrap() >= 8192);
    let primes = told["q"].as_array().unwrap();
    assert_eq!(primes.len(), 4);
}

#[test]
fn the_demo_runs_again_and_replaces_nothing_else() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    let picture = eight(70, 40, 3, 2);
    picture.save(path("in.png")).unwrap();
    let text = he(["demo", "in.png"]).at(dir.path()).text();
    for part in [
        "in.png: 70 x 40, RGB, 8 bits\n",
        "\nkeygen ",
        "\nencrypt ",
        "\nblur ",
        "\ndecrypt blurred ",
        " dB\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let files =
        ["blurred.he", "blurred.png", "decrypted.png", "demo.json", "encrypted.png", "keys", "photo.he"];
    assert_eq!(names(&path("out")), files);
    assert_eq!(names(&path("out/keys")), ["eval.key", "public.key", "secret.key"]);
    assert_eq!(Planes::read(&path("out/decrypted.png")), Planes::of(&picture));
    // Its files are files like others.
    he(["decrypt", "out/blurred.he", "-k", "out/keys/secret.key", "-o", "again.png"]).at(dir.path()).ok();
    assert_eq!(Planes::read(&path("again.png")), Planes::read(&path("out/blurred.png")));
    let before = fs::read(path("out/keys/secret.key")).unwrap();
    let told = json(&he(["demo", "in.png", "--json"]).at(dir.path()).ok());
    assert_ne!(fs::read(path("out/keys/secret.key")).unwrap(), before);
    let steps = told["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 5);
    let psnr = |step: usize| steps[step]["psnr_db"].as_f64().unwrap();
    assert!(psnr(3) > 150.0 && psnr(4) > 120.0, "{told}");
    assert_eq!(json(&fs::read(path("out/demo.json")).unwrap()), told);

    // Somebody's own keys stay.
    fs::create_dir_all(path("mine/keys")).unwrap();
    fs::write(path("mine/keys/secret.key"), "mine").unwrap();
    he(["demo", "in.png", "-o", "mine"]).at(dir.path()).fails(
        1,
        "mine/keys/secret.key exists already",
        "choose another name, or replace it with --force",
    );
    assert_eq!(names(&path("mine")), ["keys"]);
    assert_eq!(fs::read(path("mine/keys/secret.key")).unwrap(), b"mine");
}

#[test]
fn a_failed_demo_leaves_nothing() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    eight(9, 9, 1, 3).save(path("decrypted.png")).unwrap();
    fs::write(path("t.csv"), "1,2\n").unwrap();
    let demo = |arguments: &[&str]| he(["demo"].iter().chain(arguments)).at(dir.path());
    demo(&["decrypted.png", "-o", ".", "--force"]).fails(
        1,
        "decrypted.png is both input and output",
        "write to another file",
    );
    demo(&["t.csv"]).fails(1, "t.csv is a table, not an image", "the demo takes an image");
    demo(&["decrypted.png", "--depth", "0"]).fails(2, "a blur needs one level", "choose --depth 1 or more");
    demo(&["decrypted.png", "-o", "-"]).fails(
        2,
        "the results are several files and need a folder",
        "name a folder with -o, such as out/",
    );
    assert_eq!(names(dir.path()), ["decrypted.png", "t.csv"]);
}

#[test]
fn every_command_has_help_with_an_example() {
    let text = he(["--help"]).text();
    assert!(text.contains("Exit codes: 0 done, 1 failed, 2 wrong usage"), "{text}");
    for command in ["keygen", "encrypt", "eval", "decrypt", "info", "params", "demo", "devices"] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
        let long = he([command, "--help"]).text();
        assert!(long.contains(&format!("\n  he-cli {command} ")), "{long}");
        let short = he([command, "-h"]).text();
        assert!(short.lines().count() < 45, "{short}");
        assert!(short.lines().all(|line| line.chars().count() <= 120), "{short}");
    }
    assert!(he(["--version"]).text().starts_with("he-cli "));
}

#[test]
fn every_scheme_and_operation_has_help() {
    for scheme in ["ckks", "bfv", "bgv", "bigckks", "aes", "tfhe"] {
        let long = he(["keygen", scheme, "--help"]).text();
        assert!(long.contains(&format!("\n  he-cli keygen {scheme} ")), "{long}");
        let short = he(["keygen", scheme, "-h"]).text();
        assert!(short.lines().all(|line| line.chars().count() <= 120), "{short}");
    }
    let all = he(["eval", "--help"]).text();
    for operation in
        ["add", "sub", "mul", "lt", "eq", "min", "max", "sort", "sum", "count", "dot", "mean", "blur"]
    {
        assert!(all.contains(&format!("\n  {operation} ")), "{all}");
        assert!(he(["eval", operation, "--help"]).text().contains("--key <FILE>"), "{operation}");
    }
}
