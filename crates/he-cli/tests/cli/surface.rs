//! Properties that all commands share: JSON for programs, quiet, threads, help.

use crate::pictures::eight;
use crate::process::{Call, Keys, encrypt, folder, he, names};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// It fails as it does without `--json`, and says the same as one line of JSON.
fn fails_alike(arguments: &[&str]) -> Value {
    let text = he(arguments).run();
    let outcome = he(arguments.iter().chain(&["--json"])).run();
    assert_eq!((outcome.code, outcome.stdout.as_slice()), (text.code, &b""[..]), "{arguments:?}");
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let told: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!(told["exit_code"], json!(text.code), "{arguments:?}");
    let names: Vec<&String> = told.as_object().unwrap().keys().collect();
    assert_eq!(names, ["error", "exit_code", "hint"], "{told}");
    let error = told["error"].as_str().unwrap();
    if text.stderr.starts_with("he-cli: ") {
        let hint = told["hint"].as_str().unwrap();
        assert_eq!(text.stderr, format!("he-cli: error: {error}\nhe-cli: hint: {hint}\n"));
    }
    told
}

#[test]
fn errors_are_json_where_programs_ask() {
    for (arguments, code) in [
        (&["info", "none.he"][..], 1),
        (&["encrypt", "none.png", "-k", "none.key", "-o", "y.he"], 1),
        (&["encrypt", "-", "-k", "-", "-o", "y.he"], 2),
        (&["eval", "blur", "none.he", "-k", "none.key", "-o", "y.he"], 1),
        (&["decrypt", "none.he", "-k", "none.key", "-o", "y"], 1),
        (&["keygen", "ckks", "-o", "-"], 2),
        (&["params", "--depth", "99"], 2),
        (&["demo", "none.png"], 1),
        (&["devices", "--table"], 2),
        (&["bench", "papers", "p9"], 2),
        (&["bench", "aes", "--csv", "none/x.csv"], 1),
        (&["frobnicate"], 2),
        (&["eval"], 2),
        (&["info", "none.he", "--threads", "0"], 2),
    ] {
        assert_eq!(fails_alike(arguments)["exit_code"], code, "{arguments:?}");
    }
    let told = fails_alike(&["encrypt", "x", "-k", "y"]);
    assert_eq!(told["error"], "the following required arguments were not provided: --output <FILE>");
    assert!(told["hint"].as_str().unwrap().starts_with("usage: he-cli encrypt "), "{told}");
    // Help is what it always is, and no command at all is wrong usage.
    assert!(he(["--json", "--help"]).text().contains("\nUsage: he-cli "));
    let nothing = he(["--json"]).run();
    let told: Value = serde_json::from_str(&nothing.stderr).unwrap();
    assert_eq!((nothing.code, &told["error"]), (Some(2), &json!("a command is missing")));
}

#[test]
fn options_of_all_commands_stand_anywhere() {
    let told = he(["params", "--json"]).ok();
    assert_eq!(he(["--json", "params"]).ok(), told);
    assert_eq!(he(["-q", "--threads", "2", "params", "--json"]).ok(), told);
    // An answer is not a summary.
    let text = he(["params"]).ok();
    assert_eq!(he(["params", "--quiet", "--threads", "1"]).ok(), text);
    for wrong in ["0", "1025", "-1", "two", ""] {
        let outcome = he(["params", "--threads", wrong]).run();
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(2), &b""[..]), "{wrong:?}");
    }
    // Between a command and what is below it, too.
    assert_eq!(he(["params", "-q", "ckks", "--json"]).ok(), told);
    assert_eq!(he(["params", "--json", "ckks", "-q"]).ok(), told);
    let dir = folder();
    for (at, options) in [&["-q"][..], &["--json"], &["--threads", "2"]].into_iter().enumerate() {
        let key = format!("{at}.key");
        let call = [&["keygen"], options, &["aes", "-o", &key]].concat();
        he(call).at(dir.path()).ok();
        let shallow = ["ckks", "--depth", "1", "--precision", "10", "--radius", "0", "-o", &format!("{at}")];
        he([&["keygen"], options, &shallow].concat()).at(dir.path()).ok();
    }
    // A command's own options are not those of what is below it.
    for (wrong, option) in [
        (&["keygen", "--force", "aes", "-o", "0.key"][..], "--force stands before aes"),
        (&["keygen", "--device", "cpu", "ckks", "-o", "x"], "--device <DEVICE> stands before ckks"),
        (&["params", "--depth", "3", "bfv"], "--depth <N> stands before bfv"),
    ] {
        let outcome = he(wrong).at(dir.path()).run();
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(2), &b""[..]), "{wrong:?}");
        assert!(outcome.stderr.contains(option), "{}", outcome.stderr);
    }
}

#[test]
fn what_is_missing_or_too_much_is_told() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    fs::write(path("phrase"), "x y z").unwrap();
    for name in ["a", "b"] {
        fs::write(path(name), name).unwrap();
    }
    fs::create_dir(path("in")).unwrap();
    let encrypt = ["encrypt", "a", "--passphrase-file", "phrase", "-o", "phrase.he"];
    he(encrypt).at(dir.path()).ok();
    he(["encrypt", "a", "-k", "my.key", "-o", "key.he"]).at(dir.path()).ok();
    let fails = |call: &[&str], error: &str, hint: &str| he(call).at(dir.path()).fails(2, error, hint);
    fails(
        &["encrypt", "a", "-o", "x"],
        "a key or a passphrase is missing",
        "give a key from keygen with -k, or --passphrase for files under AES",
    );
    fails(
        &["decrypt", "phrase.he", "-o", "x"],
        "phrase.he is decrypted by a passphrase, and none is given",
        "give --passphrase, or --passphrase-file FILE",
    );
    fails(
        &["decrypt", "key.he", "-o", "x"],
        "key.he is decrypted by a key, and none is given",
        "give the key that it was encrypted with, by -k",
    );
    fails(
        &["encrypt", "a", "b", "-k", "my.key", "-o", "x"],
        "encrypt takes one file, and 2 are given",
        "call it for each: for FILE in *.png; do he-cli encrypt \"$FILE\" -k public.key -o \"$FILE.he\"; done",
    );
    he(["encrypt", "in", "-k", &Keys::shallow().public, "-o", "x"]).at(dir.path()).fails(
        1,
        "in is a folder, and keys of ckks encrypt images and tables",
        "encrypt the files in it one by one, or the folder as it is with an AES key or --passphrase",
    );
    // The commands in the hints work.
    he(["decrypt", "phrase.he", "--passphrase-file", "phrase", "-o", "x"]).at(dir.path()).ok();
    he(["encrypt", "in", "-k", "my.key", "-o", "in.he"]).at(dir.path()).ok();
    assert!(!he(["encrypt", "--help"]).text().contains("tfhe has only"));
}

/// A shell offers files where a file is meant, and else words, or nothing.
#[test]
fn completions_offer_files_where_files_are_meant() {
    let script = he(["completions", "bash"]).text();
    let after = |command: &str, option: &str| {
        let part = script.split(&format!("        {command})\n")).nth(1).unwrap();
        let part = part.split(&format!("                {option})\n")).nth(1).unwrap();
        part.lines().next().unwrap().trim().to_owned()
    };
    let offered = after("he__cli__subcmd__keygen__subcmd__ckks", "--device");
    assert!(offered.contains("auto cpu cuda cuda:all"), "{offered}");
    let offered = after("he__cli__subcmd__keygen__subcmd__ckks", "--bootstrap");
    assert!(offered.contains("fast") && !offered.contains("compgen -f"), "{offered}");
    let offered = after("he__cli__subcmd__keygen__subcmd__ckks", "--depth");
    assert!(!offered.contains("compgen -f"), "{offered}");
    let offered = after("he__cli__subcmd__encrypt", "--key");
    assert!(script.contains("compgen -f") && !offered.contains("compgen -W"), "{offered}");
}

#[test]
fn threads_change_no_byte() {
    let (keys, dir) = (Keys::usual(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(67, 30, 3, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    for threads in ["1", "3"] {
        let output = format!("{threads}.he");
        let blur = ["eval", "blur", "x.he", "-k", &keys.eval, "-o", &output, "--threads", threads];
        he(blur).at(dir.path()).ok();
    }
    assert!(fs::read(path("1.he")).unwrap() == fs::read(path("3.he")).unwrap());
    // Commands that compute say on how many threads.
    let demo = ["demo", "in.png", "--json", "--threads", "3", "--device", "cpu"];
    let told: Value = serde_json::from_slice(&he(demo).at(dir.path()).ok()).unwrap();
    assert!(told["device"].as_str().unwrap().ends_with(" 3 threads)"), "{told}");
}

/// The object that a command prints.
fn object(call: Call) -> Value {
    let outcome = call.run();
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    serde_json::from_slice(&outcome.stdout).unwrap()
}

fn info(dir: &TempDir, name: &str) -> Value {
    object(he(["info", name, "--json"]).at(dir.path()))
}

fn len(path: &Path) -> u64 {
    fs::metadata(path).unwrap().len()
}

#[test]
fn keygen_tells_programs_what_it_made() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("phrase"), "x y z").unwrap();
    let quick = ["--depth", "1", "--precision", "10", "--passphrase-file", "phrase", "--json"];
    let told = object(he(["keygen", "ckks", "-o", "keys"].iter().chain(&quick)).at(dir.path()));
    assert_eq!((&told["command"], &told["scheme"]), (&"keygen".into(), &"ckks".into()));
    assert_eq!((&told["sealed"], &told["parameters"]["depth"]), (&true.into(), &1.into()));
    assert!(told["seconds"].as_f64().unwrap() > 0.0 && told["rotations"].as_u64().unwrap() > 8, "{told}");
    assert!(told["device"].as_str().unwrap().starts_with("cpu ("), "{told}");
    let files = told["files"].as_array().unwrap();
    assert_eq!(files.len(), 3);
    for file in files {
        assert_eq!(file["bytes"], len(&path(file["path"].as_str().unwrap())), "{file}");
    }
    let public = info(&dir, "keys/public.key");
    assert_eq!((&public["key_set"], &public["parameters"]), (&told["key_set"], &told["parameters"]));

    let told = object(he(["keygen", "aes", "-o", "my.key", "--json"]).at(dir.path()));
    assert_eq!(told["files"], json!([{ "path": "my.key", "bytes": len(&path("my.key")) }]));
    assert_eq!((&told["scheme"], &told["sealed"]), (&"aes".into(), &false.into()));
    assert!(!told["key"].as_str().unwrap().is_empty());
    // A key on standard output leaves no room there; what is said goes to standard error.
    let outcome = he(["keygen", "aes", "-o", "-", "--json"]).run();
    let told: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!((&told["output"], &told["files"][0]["bytes"]), (&"-".into(), &outcome.stdout.len().into()));
}

#[test]
fn a_round_of_every_kind_tells_programs_all() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    eight(67, 30, 3, 1).save(path("in.png")).unwrap();
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n5,6\n").unwrap();
    let (ckks, bfv, tfhe, big) = (Keys::usual(), Keys::bfv(), Keys::tfhe(), Keys::bigckks());
    for (at, (scheme, keys, key, input, operation, values)) in [
        ("ckks", ckks, &ckks.public, "in.png", &["blur"][..], 67 * 30 * 3),
        ("ckks", ckks, &ckks.secret, "in.csv", &["mean"], 6),
        ("bfv", bfv, &bfv.public, "in.png", &["add", "--with", "x.he"], 67 * 30 * 3),
        ("bfv", bfv, &bfv.secret, "in.csv", &["sum"], 6),
        ("bigckks", big, &big.public, "in.csv", &["mul", "--with", "x.he"], 6),
        ("tfhe", tfhe, &tfhe.secret, "in.csv", &["lt", "--with", "x.he"], 6),
    ]
    .into_iter()
    .enumerate()
    {
        let call = |arguments: &[&str]| {
            he(arguments.iter().chain(&["--json", "--device", "cpu", "--force"])).at(dir.path())
        };
        let options: &[&str] = if scheme == "tfhe" { &["--width", "8"] } else { &[] };
        let told = object(call(&[&["encrypt", input, "-k", key, "-o", "x.he"], options].concat()));
        let (input_bytes, bytes) = (len(&path(input)), len(&path("x.he")));
        assert_eq!(told["command"], "encrypt", "{at}");
        assert_eq!((&told["scheme"], &told["input"]), (&scheme.into(), &input.into()), "{at}");
        assert_eq!((&told["input_bytes"], &told["bytes"]), (&input_bytes.into(), &bytes.into()), "{at}");
        assert_eq!((&told["output"], &told["values"]), (&"x.he".into(), &values.into()), "{at}");
        let expansion = told["expansion"].as_f64().unwrap();
        assert!((expansion / (bytes as f64 / input_bytes as f64) - 1.0).abs() < 1e-9, "{at}: {expansion}");
        assert!(told["device"].as_str().unwrap().starts_with("cpu (") && told["seconds"].is_f64(), "{at}");
        let fresh = info(&dir, "x.he");
        assert_eq!(
            (&told["key_set"], &told["parameters"]),
            (&fresh["key_set"], &fresh["parameters"]),
            "{at}"
        );
        assert_eq!(told["history"], json!([]), "{at}");
        if scheme != "tfhe" {
            assert_eq!(told["ciphertexts"], fresh["ciphertexts"], "{at}");
            assert_eq!(told["seeded"], json!(key.ends_with("secret.key")), "{at}");
        }

        let eval = [&["eval"], operation, &["x.he", "-k", &keys.eval, "-o", "y.he"]].concat();
        let told = object(call(&eval));
        assert_eq!((&told["command"], &told["operation"]), (&"eval".into(), &operation[0].into()), "{at}");
        assert_eq!((&told["input"], &told["output"]), (&"x.he".into(), &"y.he".into()), "{at}");
        assert_eq!(told.get("with").is_some(), operation.len() > 1, "{at}");
        assert_eq!((&told["bytes"], &told["scheme"]), (&len(&path("y.he")).into(), &scheme.into()), "{at}");
        assert_eq!(told["history"], json!([operation[0]]), "{at}");
        let result = info(&dir, "y.he");
        let left = &told["left"];
        match scheme {
            "ckks" => assert_eq!((&left["level"], &left["levels"]), (&result["level"], &2.into()), "{at}"),
            "bfv" => assert_eq!(left["noise_budget_bits"], result["predicted"], "{at}"),
            "bigckks" => assert_eq!(left["bits"], result["bits_left"], "{at}"),
            _ => assert_eq!(left, &json!({ "unlimited": true }), "{at}"),
        }
        if operation[0] == "blur" {
            assert_eq!((&left["halo"], &left["halo_of"]), (&1.into(), &2.into()), "{at}");
        }

        let output = if input == "in.png" { "y.png" } else { "y.csv" };
        let told = object(call(&["decrypt", "y.he", "-k", &keys.secret, "-o", output]));
        assert_eq!((&told["command"], &told["scheme"]), (&"decrypt".into(), &scheme.into()), "{at}");
        assert_eq!((&told["bytes"], &told["output"]), (&len(&path(output)).into(), &output.into()), "{at}");
        assert_eq!(told["input_bytes"], len(&path("y.he")), "{at}");
        assert_eq!(
            told.get("view").and_then(Value::as_str),
            input.ends_with(".png").then_some("light"),
            "{at}"
        );
        assert_eq!((&told["history"], &told["key_set"]), (&result["history"], &result["key_set"]), "{at}");
    }
}

#[test]
fn files_under_aes_tell_programs_all() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    fs::write(path("plain"), vec![7; 3 << 20]).unwrap();
    fs::create_dir(path("in")).unwrap();
    fs::write(path("in/a"), "text").unwrap();
    for (input, kind) in [("plain", "file"), ("in", "folder")] {
        let encrypted = format!("{input}.he");
        let told = object(he(["encrypt", input, "-k", "my.key", "-o", &encrypted, "--json"]).at(dir.path()));
        assert_eq!((&told["scheme"], &told["content"]["type"]), (&"aes".into(), &kind.into()));
        assert_eq!(
            (&told["bytes"], &told["cipher"]),
            (&len(&path(&encrypted)).into(), &"AES-256-GCM".into())
        );
        assert_eq!(told["input_bytes"], told["content"]["bytes"]);
        let plain = told["input_bytes"].as_u64().unwrap();
        assert_eq!(plain == 3 << 20, input == "plain");
        let output = format!("{input}.out");
        let told =
            object(he(["decrypt", &encrypted, "-k", "my.key", "-o", &output, "--json"]).at(dir.path()));
        assert_eq!((&told["bytes"], &told["input_bytes"]), (&plain.into(), &len(&path(&encrypted)).into()));
    }
    let part = ["decrypt", "plain.he", "-k", "my.key", "-o", "part", "--range", "5..1005", "--json"];
    let told = object(he(part).at(dir.path()));
    assert_eq!((&told["bytes"], &told["content"]["bytes"]), (&1000.into(), &(3 << 20).into()));
    // The length of a pipe is known in the end.
    let outcome =
        he(["encrypt", "-", "-k", "my.key", "-o", "-", "--json"]).at(dir.path()).stdin(b"hello").run();
    let told: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!((&told["input_bytes"], &told["bytes"]), (&5.into(), &outcome.stdout.len().into()));
}

#[test]
fn last_lines_say_what_people_want_to_know() {
    let (ckks, bfv, dir) = (Keys::usual(), Keys::bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(67, 30, 3, 1).save(path("in.png")).unwrap();
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n").unwrap();
    let last = |arguments: &[&str]| {
        let outcome = he(arguments).at(dir.path()).run();
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(0), &b""[..]), "{}", outcome.stderr);
        // Nothing of it where nothing is wanted.
        let quiet = he(arguments.iter().chain(&["-q", "--force"])).at(dir.path()).run();
        assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""));
        outcome.stderr.lines().last().unwrap().to_owned()
    };
    let told = last(&["encrypt", "in.png", "-k", &ckks.public, "-o", "x.he"]);
    assert!(told.starts_with("x.he: ") && told.contains(" KiB, ") && told.contains(" times, in "), "{told}");
    assert!(told.contains(" -> ") && told.ends_with("; 67 x 30, RGB, 8 bits a sample"), "{told}");
    let told = last(&["encrypt", "in.csv", "-k", &bfv.public, "-o", "t.he"]);
    assert!(told.starts_with("t.he: 12 B -> ") && told.ends_with("; 2 rows, 2 columns"), "{told}");
    let told = last(&["eval", "blur", "x.he", "-k", &ckks.eval, "-o", "y.he"]);
    assert!(
        told.starts_with("y.he: ") && told.ends_with("; left: 1 of 2 levels, 1 of 2 pixels of halo"),
        "{told}"
    );
    let told = last(&["eval", "sum", "t.he", "-k", &bfv.eval, "-o", "s.he"]);
    assert!(told.contains("; left: at least ") && told.ends_with(" bits of noise budget"), "{told}");
    let told = last(&["decrypt", "y.he", "-k", &ckks.secret, "-o", "y.png"]);
    assert!(told.starts_with("y.png: ") && told.contains(" (67 x 30, RGB, 8 bits a sample), in "), "{told}");
    // A table on standard output speaks for itself; JSON does not mix with it.
    let decrypt = ["decrypt", "s.he", "-k", &bfv.secret, "-o", "-"];
    let outcome = he(decrypt).at(dir.path()).run();
    assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_str()), (&b"a,b\n4,6\n"[..], ""));
    let outcome = he(decrypt.iter().chain(&["--json"])).at(dir.path()).run();
    assert_eq!(outcome.stdout, b"a,b\n4,6\n");
    let told: Value = serde_json::from_str(&outcome.stderr).unwrap();
    assert_eq!((&told["output"], &told["bytes"]), (&"-".into(), &8.into()));
}

#[test]
fn whoever_has_the_secret_key_is_told_to_encrypt_with_it() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "1,2\n").unwrap();
    for scheme in ["ckks", "bfv", "bgv"] {
        he(["keygen", scheme, "-o", scheme, "--depth", "1"]).at(dir.path()).ok();
        let key = |name: &str| format!("{scheme}/{name}.key");
        let told = |key: &str, name: &str| {
            he(["encrypt", "in.csv", "-k", key, "-o", name, "--force"]).at(dir.path()).run().stderr
        };
        let hint = format!("he-cli: hint: -k {} would make the file half as large\n", key("secret"));
        assert!(told(&key("public"), "p.he").starts_with(&hint), "{scheme}");
        assert!(!told(&key("secret"), "s.he").contains("hint"), "{scheme}");
        let ratio = len(&path("s.he")) as f64 / len(&path("p.he")) as f64;
        assert!((0.5..0.51).contains(&ratio), "{scheme}: {ratio}");
        // Somebody else's public key.
        fs::copy(path(&key("public")), path("theirs.key")).unwrap();
        assert!(!told("theirs.key", "p.he").contains("hint"), "{scheme}");
    }
}

/// All commands, as words behind the program's name.
fn commands() -> Vec<Vec<String>> {
    fn add(path: &[String], all: &mut Vec<Vec<String>>) {
        let help = he(path.iter().map(String::as_str).chain(["--help"])).text();
        all.push(path.to_vec());
        let listed = help.split_once("\nCommands:\n").map_or("", |(_, listed)| listed);
        for line in listed.lines().take_while(|line| !line.is_empty()) {
            // Longer descriptions are indented further.
            let Some(name) = line.strip_prefix("  ").filter(|line| !line.starts_with(' ')) else { continue };
            let name = name.split(' ').next().unwrap();
            if name != "help" {
                add(&[path, &[name.to_owned()]].concat(), all);
            }
        }
    }
    let mut all = Vec::new();
    add(&[], &mut all);
    assert!(all.len() > 40, "{all:?}");
    all
}

#[test]
fn every_command_has_a_manual_page() {
    let dir = folder();
    let told = object(he(["man", "-o", "a/man1", "--json"]).at(dir.path()));
    let mut pages: Vec<String> = commands()
        .iter()
        .map(|path| format!("he-cli{}.1", path.iter().map(|word| format!("-{word}")).collect::<String>()))
        .collect();
    pages.sort();
    assert_eq!(names(&dir.path().join("a/man1")), pages);
    assert_eq!(told["pages"].as_array().unwrap().len(), pages.len());
    for page in &pages {
        let text = fs::read_to_string(dir.path().join("a/man1").join(page)).unwrap();
        assert!(text.contains("\n.SH NAME\n") && text.contains("\n.SH SYNOPSIS\n"), "{page}: {text}");
    }
    let blur = fs::read_to_string(dir.path().join("a/man1/he-cli-eval-blur.1")).unwrap();
    assert!(blur.contains("radius") && blur.contains("COMMON OPTIONS"), "{blur}");
    he(["man", "-o", "a/man1"]).at(dir.path()).fails(
        1,
        "a/man1/he-cli.1 exists already",
        "choose another name, or replace it with --force",
    );
    he(["man", "-o", "a/man1", "--force"]).at(dir.path()).ok();
    assert_eq!(names(&dir.path().join("a/man1")), pages);
}

#[test]
fn shells_complete_every_command() {
    let all = commands();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = he(["completions", shell]).text();
        for word in all.iter().flatten() {
            assert!(script.contains(word.as_str()), "{shell}: {word}");
        }
        for option in ["quiet", "threads", "passphrase-file", "radius"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
    assert_eq!(he(["completions", "tcsh"]).run().code, Some(2));
    // Bash takes the script, and finds commands and options by it.
    let dir = folder();
    let script = dir.path().join("he-cli.bash");
    fs::write(&script, he(["completions", "bash"]).ok()).unwrap();
    let Ok(parsed) = Command::new("bash").arg("-n").arg(&script).output() else {
        eprintln!("skipped: there is no bash");
        return;
    };
    assert!(parsed.status.success(), "{}", String::from_utf8_lossy(&parsed.stderr));
    for (words, expected) in
        [("he-cli ev", "eval"), ("he-cli eval bl", "blend blur"), ("he-cli eval blur --rad", "--radius")]
    {
        let line: Vec<&str> = words.split(' ').collect();
        let program = format!(
            "source '{}'; f=$(complete -p he-cli); f=${{f#*-F }}; COMP_WORDS=({words}); COMP_CWORD={}; \
             ${{f%% *}} he-cli '{}' '{}'; echo ${{COMPREPLY[*]}}",
            script.display(),
            line.len() - 1,
            line[line.len() - 1],
            line[line.len() - 2],
        );
        let found = Command::new("bash").args(["-c", &program]).output().unwrap();
        let found = String::from_utf8(found.stdout).unwrap();
        let mut found: Vec<&str> = found.split_whitespace().collect();
        found.sort_unstable();
        assert_eq!(found.join(" "), expected, "{words}");
    }
}

#[test]
fn help_has_own_options_first() {
    let help = he(["eval", "blur", "--help"]).text();
    let at = |text: &str| help.find(text).unwrap_or_else(|| panic!("{text}: {help}"));
    let order = [
        "\nArguments:\n",
        "\nOptions:\n",
        "\n      --radius ",
        "\n      --sigma ",
        "\nCommon options:\n",
        "\n  -k, --key ",
        "\n  -o, --output ",
        "\n      --device ",
        "\n      --force\n",
        "\nGlobal options:\n",
        "\n      --json\n",
        "\n  -q, --quiet\n",
        "\n      --threads ",
    ];
    assert!(order.map(at).is_sorted(), "{help}");
    for path in commands() {
        let call = |flag| he(path.iter().map(String::as_str).chain([flag])).text();
        for help in [call("--help"), call("-h")] {
            for option in ["--json", "-q, --quiet", "--threads"] {
                let listed = help.lines().filter(|line| line.trim_start().starts_with(option));
                assert_eq!(listed.count(), 1, "{path:?}, {option}: {help}");
            }
            assert!(help.lines().all(|line| line.chars().count() <= 120), "{path:?}: {help}");
        }
    }
}

/// Text may go to a terminal, whatever it was encrypted by; anything else may not, and says so
/// before it is shown.
#[cfg(target_os = "linux")]
#[test]
fn text_is_shown_at_a_terminal() {
    let (keys, dir) = (Keys::bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,2\n").unwrap();
    eight(5, 4, 1, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.csv"), &path("t.he"), &[]);
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    fs::write(path("notes"), "gr\u{f6}\u{df}e,\ttab\n").unwrap();
    fs::write(path("bytes"), b"text at first\n\x1b[2J\0").unwrap();
    for name in ["notes", "bytes"] {
        let output = format!("{name}.he");
        he(["encrypt", name, "-k", "my.key", "-o", &output]).at(dir.path()).ok();
    }
    let refused = "he-cli: error: binary data would go to the terminal\n\
                   he-cli: hint: write to a file with -o FILE, or into a pipe\n";
    for (input, key, code, shown, told) in [
        ("t.he", &*keys.secret, 0, "a,b\n1,2\n", ""),
        ("notes.he", "my.key", 0, "gr\u{f6}\u{df}e,\ttab\n", ""),
        ("x.he", &*keys.secret, 1, "", refused),
        ("bytes.he", "my.key", 1, "", refused),
    ] {
        let outcome = he(["decrypt", input, "-k", key, "-o", "-"]).at(dir.path()).at_terminal();
        // A terminal ends lines by two characters.
        let text = String::from_utf8(outcome.stdout).unwrap().replace("\r\n", "\n");
        assert_eq!(
            (outcome.code, text.as_str(), outcome.stderr.as_str()),
            (Some(code), shown, told),
            "{input}"
        );
    }
    let encrypt = ["encrypt", "in.csv", "-k", &keys.public, "-o", "-"];
    assert_eq!(he(encrypt).at(dir.path()).at_terminal().stderr, refused);
}
