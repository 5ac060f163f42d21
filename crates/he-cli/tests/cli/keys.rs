//! Keys: what keygen writes, passphrases, the secret key's protection.

use crate::pictures::{Planes, eight};
use crate::process::{Keys, encrypt, folder, he, names};
use std::fs;

const QUICK: [&str; 6] = ["--depth", "1", "--precision", "10", "--radius", "0"];
const WRONG: (&str, &str) = (
    "wrong passphrase or damaged key file",
    "type the passphrase again; if it is right, restore the file from a copy",
);

#[test]
fn keygen_makes_three_files() {
    let dir = folder();
    let outcome = he(["keygen", "ckks", "-o", "a/b"].iter().chain(&QUICK)).at(dir.path()).run();
    assert_eq!((outcome.code, outcome.stdout.as_slice()), (Some(0), &b""[..]));
    let told: Vec<&str> = outcome.stderr.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(told, ["a/b/secret.key", "a/b/public.key", "a/b/eval.key"]);
    assert_eq!(names(&dir.path().join("a/b")), ["eval.key", "public.key", "secret.key"]);
    #[cfg(unix)]
    for (name, secret) in [("secret.key", true), ("public.key", false), ("eval.key", false)] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir.path().join("a/b").join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode == 0o600, secret, "{name}: {mode:o}");
    }
}

#[test]
fn keys_are_not_replaced_unless_forced() {
    let dir = folder();
    let keygen = || he(["keygen", "ckks", "-o", "keys"].iter().chain(&QUICK)).at(dir.path());
    keygen().ok();
    let before = fs::read(dir.path().join("keys/secret.key")).unwrap();
    keygen().fails(1, "keys/secret.key exists already", "choose another name, or replace it with --force");
    assert_eq!(fs::read(dir.path().join("keys/secret.key")).unwrap(), before);
    // One that is there suffices, and nothing is written beside it.
    fs::remove_file(dir.path().join("keys/secret.key")).unwrap();
    fs::remove_file(dir.path().join("keys/public.key")).unwrap();
    keygen().fails(1, "keys/eval.key exists already", "choose another name, or replace it with --force");
    assert_eq!(names(&dir.path().join("keys")), ["eval.key"]);
    he(["keygen", "ckks", "-o", "keys", "--force"].iter().chain(&QUICK)).at(dir.path()).ok();
    assert_ne!(fs::read(dir.path().join("keys/secret.key")).unwrap(), before);
}

#[test]
fn a_failed_keygen_leaves_no_folder() {
    let dir = folder();
    for (options, error, hint) in [
        (
            &["--passphrase"][..],
            "there is no terminal to ask for the passphrase at",
            "give --passphrase-file FILE or set HE_CLI_PASSPHRASE",
        ),
        (
            &["--passphrase-file", "none"],
            "cannot read the passphrase file none: no such file or directory",
            "check the spelling of the path",
        ),
    ] {
        let call = he(["keygen", "ckks", "-o", "x/y"].iter().chain(options)).at(dir.path());
        call.fails(1, error, hint);
        assert!(names(dir.path()).is_empty());
    }
    fs::write(dir.path().join("empty"), b"\n").unwrap();
    he(["keygen", "ckks", "-o", "x/y", "--passphrase-file", "empty"]).at(dir.path()).fails(
        1,
        "the passphrase is empty",
        "give at least one character; six words are good",
    );
    he(["keygen", "ckks", "-o", "empty/x"]).at(dir.path()).fails(
        1,
        "cannot write into empty/x: it is not a folder",
        "choose another folder with -o",
    );
    assert_eq!(names(dir.path()), ["empty"]);
}

#[test]
fn sealed_keys_open_with_their_passphrase_only() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("phrase"), "correct horse\nsecond line\n").unwrap();
    fs::write(path("wrong"), "correct Horse\n").unwrap();
    he(["keygen", "ckks", "-o", ".", "--passphrase-file", "phrase"].iter().chain(&QUICK)).at(dir.path()).ok();
    let picture = eight(6, 5, 1, 1);
    picture.save(path("in.png")).unwrap();
    he(["encrypt", "in.png", "-k", "public.key", "-o", "x.he"]).at(dir.path()).ok();
    let decrypt = |out: &str| {
        he(["decrypt", "x.he", "-k", "secret.key", "-o", out, "--passphrase-file", "phrase"]).at(dir.path())
    };
    decrypt("out.png").ok();
    assert_eq!(Planes::read(&path("out.png")), Planes::of(&picture));
    let plain = || he(["decrypt", "x.he", "-k", "secret.key", "-o", "2.png"]).at(dir.path());
    plain().env("HE_CLI_PASSPHRASE", "correct horse").ok();
    assert_eq!(Planes::read(&path("2.png")), Planes::of(&picture));
    fs::remove_file(path("2.png")).unwrap();
    let refused = format!("secret.key: {}", WRONG.0);
    plain().env("HE_CLI_PASSPHRASE", "correct").fails(1, &refused, WRONG.1);
    let wrong = ["decrypt", "x.he", "-k", "secret.key", "-o", "2.png", "--passphrase-file", "wrong"];
    he(wrong).at(dir.path()).fails(1, &refused, WRONG.1);
    plain().fails(
        1,
        "there is no terminal to ask for the passphrase at",
        "give --passphrase-file FILE or set HE_CLI_PASSPHRASE",
    );
    plain().env("HE_CLI_PASSPHRASE", "").fails(
        1,
        "the passphrase is empty",
        "give at least one character; six words are good",
    );
    // It encrypts, too.
    let secretly = ["encrypt", "in.png", "-k", "secret.key", "-o", "s.he", "--passphrase-file", "phrase"];
    he(secretly).at(dir.path()).ok();
    // Nobody is asked for the passphrase of a key that is the wrong one.
    he(["eval", "blur", "x.he", "-k", "secret.key", "-o", "y.he"]).at(dir.path()).fails(
        1,
        "secret.key is a sealed secret key, not an evaluation key",
        "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval",
    );
    he(["eval", "blur", "secret.key", "-k", "eval.key", "-o", "y.he"]).at(dir.path()).fails(
        1,
        "secret.key is a sealed secret key, not an encrypted file",
        "encrypt first, then give what encrypt or eval wrote",
    );
    // Damaged in any byte, it is refused like a wrong passphrase, but for the version.
    let sealed = fs::read(path("secret.key")).unwrap();
    for at in [8, 22, 40, 61, sealed.len() / 2, sealed.len() - 1] {
        let mut broken = sealed.clone();
        broken[at] ^= 4;
        fs::write(path("broken.key"), broken).unwrap();
        let call = he(["decrypt", "x.he", "-k", "broken.key", "-o", "2.png", "--passphrase-file", "phrase"]);
        let newer = ("version 6 of sealed keys is unknown, this program reads 1 to 2", "update the program");
        let (error, hint) = if at == 8 { newer } else { WRONG };
        call.at(dir.path()).fails(1, &format!("broken.key: {error}"), hint);
    }
    assert!(!path("2.png").exists());
}

#[test]
fn keys_of_another_set_are_refused() {
    let (ours, theirs, dir) = (Keys::usual(), Keys::other(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(6, 5, 1, 2).save(path("in.png")).unwrap();
    encrypt(ours, &path("in.png"), &path("x.he"), &[]);
    encrypt(theirs, &path("in.png"), &path("t.he"), &[]);
    let set = |file: &str| {
        let text = he(["info", "--json", file]).at(dir.path()).text();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        value["key_set"].as_str().unwrap().to_owned()
    };
    let (our, their) = (set(&ours.secret), set(&theirs.secret));
    assert_ne!(our, their);
    assert_eq!((set("x.he"), set("t.he"), set(&ours.eval)), (our.clone(), their.clone(), our.clone()));
    const HINT: &str = "use the keys of the same keygen; he-cli info FILE shows the key set";
    let mismatch = |file: &str, set: &str, key: &str, key_set: &str| {
        format!("{file} belongs to key set {set}, {key} to key set {key_set}")
    };
    let out = ["-o", "out"];
    he(["decrypt", "x.he", "-k", &theirs.secret].iter().chain(&out)).at(dir.path()).fails(
        1,
        &mismatch("x.he", &our, &theirs.secret, &their),
        HINT,
    );
    he(["eval", "blur", "x.he", "-k", &theirs.eval].iter().chain(&out)).at(dir.path()).fails(
        1,
        &mismatch("x.he", &our, &theirs.eval, &their),
        HINT,
    );
    he(["eval", "blend", "x.he", "--with", "t.he", "-k", &ours.eval].iter().chain(&out))
        .at(dir.path())
        .fails(1, &mismatch("t.he", &their, &ours.eval, &our), HINT);
    assert_eq!(names(dir.path()), ["in.png", "t.he", "x.he"]);
}
