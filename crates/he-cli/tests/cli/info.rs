//! `info`, `params`, `demo`, help: what is said of files and parameters, for people and for
//! programs.

use crate::pictures::{Planes, eight, sixteen};
use crate::process::{Keys, encrypt, eval, folder, he, names};
use he_files::operation::TABLE;
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

/// Requests that were refused for the width of a prime are granted, and those that have no room
/// name what has.
#[test]
fn precision_and_range_reach_beyond_one_prime() {
    for (options, scale, range) in [
        (["--precision", "36"], 57, 15.9),
        (["--range", "16"], 46, 65_000.0),
        (["--precision", "60"], 80, 15.9),
    ] {
        let told = json(&he(["params"].iter().chain(&options).chain(&["--json"])).ok());
        assert!(told["scale_log2"].as_f64().unwrap() >= f64::from(scale) - 2.0, "{told}");
        assert!(told["range"].as_f64().unwrap() >= range, "{told}");
        for name in ["range", "log_q", "log_qp", "fresh_precision_bits"] {
            let text = told[name].to_string();
            assert!(text.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 4), "{told}");
        }
        assert_eq!(told["depth"], 2);
    }
    let both = json(&he(["params", "--precision", "45", "--range", "30", "--depth", "1", "--json"]).ok());
    assert!(both["q"].as_array().unwrap().len() >= 4, "{both}");
    // The deepest circuit of this precision, and one level more.
    let outcome = he(["params", "--depth", "30", "--precision", "60"]).run();
    let hint =
        outcome.stderr.split("hint: ask for at most ").nth(1).unwrap_or_else(|| panic!("{}", outcome.stderr));
    let (bits, rest) = hint.split_once(" bits of precision at depth 30, or for at most depth ").unwrap();
    let depth: usize = rest.strip_suffix(" with 60 bits\n").unwrap().parse().unwrap();
    assert_eq!(json(&he(["params", "--depth", "30", "--precision", bits, "--json"]).ok())["depth"], 30);
    let most = depth.to_string();
    assert_eq!(json(&he(["params", "--depth", &most, "--precision", "60", "--json"]).ok())["depth"], depth);
    he(["params", "--depth", &(depth + 1).to_string(), "--precision", "60"]).refuses();
    let refused = |option, value, name, domain: &str| {
        he(["params", option, value]).fails(
            2,
            &format!("{name} is {value}"),
            &format!("it must be in {domain}"),
        );
    };
    refused("--precision", "61", "precision (bits)", "4 ..= 60");
    refused("--range", "31", "range (bits)", "0 ..= 30");
}

/// Sizes are those of the files that keygen writes, but for what other commands add to them.
#[test]
fn params_of_every_scheme_tell_the_sizes_of_keys() {
    for (scheme, keys) in [
        ("ckks", Keys::usual()),
        ("bfv", Keys::bfv()),
        ("bgv", Keys::bgv()),
        ("bigckks", Keys::bigckks()),
        ("tfhe", Keys::tfhe()),
    ] {
        let told = json(&he(["params", scheme, "--json"]).ok());
        let described = json(&he(["info", &keys.secret, "--json"]).ok());
        assert_eq!(told["scheme"], scheme);
        assert_eq!(told["fingerprint"], described["parameters"]["fingerprint"]);
        for (field, file) in [
            ("secret_key_bytes", &keys.secret),
            ("public_key_bytes", &keys.public),
            ("evaluation_key_bytes", &keys.eval),
        ] {
            let bytes = told[field].as_u64().unwrap();
            let found = fs::metadata(file).unwrap().len();
            assert!(bytes.abs_diff(found) <= 512, "{scheme}, {field}: {bytes} of {found}");
        }
        assert!(told["ciphertext_bytes"].as_u64().unwrap() > 0);
        assert!(!told["why"].as_array().unwrap().is_empty());
        let text = he(["params", scheme]).text();
        for part in
            ["security ", "secret.key ", "public.key ", "eval.key ", "ciphertext ", "depth ", "\nwhy:\n"]
        {
            assert!(text.contains(part), "{scheme}, {part}: {text}");
        }
        let long = he(["params", scheme, "--help"]).text();
        assert!(long.contains(&format!("\n  he-cli params {scheme} ")), "{long}");
    }
    // Without a scheme it is CKKS.
    let plain = he(["params", "--depth", "3", "--radius", "2"]).text();
    assert_eq!(plain, he(["params", "ckks", "--depth", "3", "--radius", "2"]).text());
    // The options are those of keygen.
    let told =
        json(&he(["params", "bgv", "--bits", "20", "--depth", "3", "--security", "192", "--json"]).ok());
    assert_eq!((&told["depth"], &told["security_bits"]), (&3.into(), &192.into()));
    assert_eq!(told["plain_modulus"], 2_752_513);
    let told = json(&he(["params", "bfv", "--plain-modulus", "65537", "--json"]).ok());
    assert_eq!(told["plain_modulus"], 65537);
    let told = json(&he(["params", "bigckks", "--depth-bits", "160", "--precision", "30", "--json"]).ok());
    assert_eq!((&told["depth_bits"], &told["depth"]), (&160.into(), &3.into()));
    let told = json(&he(["params", "tfhe", "--failure", "2^-40", "--json"]).ok());
    assert!(told["failure_log2"].as_f64().unwrap() > -60.0);
    he(["params", "bfv", "--bits", "99"]).fails(2, "99 bits of integers", "choose --bits between 1 and 58");
    // Options of CKKS do not go before another scheme.
    assert_eq!(he(["params", "--depth", "3", "bfv"]).run().code, Some(2));
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
    for command in
        ["keygen", "encrypt", "eval", "transcipher", "decrypt", "info", "params", "demo", "devices"]
    {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
        let long = he([command, "--help"]).text();
        assert!(long.contains(&format!("\n  he-cli {command} ")), "{long}");
        let short = he([command, "-h"]).text();
        // Operations have a line or two each.
        let most = if command == "eval" { 2 * TABLE.len() } else { 0 } + 45;
        assert!(short.lines().count() < most, "{short}");
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
    for operation in TABLE.iter().map(|row| row.name) {
        assert!(all.contains(&format!("\n  {operation} ")), "{all}");
        assert!(he(["eval", operation, "--help"]).text().contains("--key <FILE>"), "{operation}");
    }
}
