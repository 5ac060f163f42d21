//! `party`: three hospitals in three folders, and messages that do not belong.

use crate::process::{Call, folder, he};
use serde_json::Value;
use std::fs;
use std::path::Path;

const HOSPITALS: [(&str, &str); 3] = [("a", "1"), ("b", "2"), ("c", "3")];
/// Small parameters, and as little protection as makes them so: these numbers are nobody's.
const QUICK: [&str; 8] =
    ["--depth", "1", "--precision", "10", "--statistical-security", "10", "--queries", "4"];

fn call<'a>(dir: &Path, words: impl IntoIterator<Item = &'a str>) -> Call {
    he(std::iter::once("party").chain(words)).at(dir)
}

/// A session of the three, each in its own folder.
fn session(dir: &Path, options: &[&str]) {
    let begin = ["init", "--parties", "3", "--party", "1", "-o", "a"];
    call(dir, begin.into_iter().chain(QUICK).chain(options.iter().copied())).ok();
    for (name, party) in &HOSPITALS[1..] {
        call(dir, ["init", "--session", "a/session.he", "--party", party, "-o", name]).ok();
    }
}

const FIRST: [&str; 4] = ["--shares", "a/keys.share", "b/keys.share", "c/keys.share"];
const SECOND: [&str; 4] = ["--second", "a/relin.share", "b/relin.share", "c/relin.share"];

/// The keys of a session, in a's folder.
fn keys(dir: &Path) {
    for (name, _) in HOSPITALS {
        call(dir, ["share", "keys", name]).ok();
    }
    for (name, _) in HOSPITALS {
        call(dir, ["share", "relin", name].into_iter().chain(FIRST)).ok();
    }
    call(dir, ["combine", "keys", "a"].into_iter().chain(FIRST).chain(SECOND)).ok();
}

/// The mean of the tables of all hospitals, row by row, encrypted by each.
fn mean(dir: &Path) {
    for (number, (name, _)) in HOSPITALS.iter().enumerate() {
        let rows: String = (0..4).map(|row| format!("{},{}\n", row + number, 40 + 7 * row)).collect();
        fs::write(dir.join(format!("{name}.csv")), format!("days,age\n{rows}")).unwrap();
        let (input, output) = (format!("{name}.csv"), format!("{name}.he"));
        he(["encrypt", &input, "-k", "a/public.key", "-o", &output]).at(dir).ok();
        let (input, output) = (output, format!("{name}-mean.he"));
        he(["eval", "mean", &input, "-k", "a/eval.key", "-o", &output]).at(dir).ok();
    }
}

/// What is wrong, and nothing is written.
#[track_caller]
fn refused(call: Call, expected: &str) {
    let outcome = call.run();
    assert_ne!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains(expected), "{expected:?} is not in {:?}", outcome.stderr);
}

fn number(text: &str) -> Vec<f64> {
    text.lines().nth(1).unwrap().split(',').map(|field| field.parse().unwrap()).collect()
}

#[test]
fn three_hospitals_share_a_mean() {
    let dir = folder();
    let dir = dir.path();
    session(dir, &[]);
    keys(dir);
    mean(dir);
    let mut shares = Vec::new();
    for (name, _) in HOSPITALS {
        let output = format!("{name}/b.share");
        let told = call(dir, ["share", "decrypt", name, "b-mean.he", "-o", &output, "--json"]).ok();
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!((&told["published"], &told["quorum"]), (&1.into(), &serde_json::json!([1, 2, 3])));
        shares.push(output);
    }
    let combine = |input: &'static str, shares: &[&str], output: &'static str| {
        let words = ["combine", "decrypt", "c", input, "-o", output, "--shares"];
        call(dir, words.into_iter().chain(shares.iter().copied()))
    };
    let all: Vec<&str> = shares.iter().map(String::as_str).collect();
    let found = number(&String::from_utf8(combine("b-mean.he", &all, "-").ok()).unwrap());
    assert!((found[0] - 2.5).abs() < 0.2 && (found[1] - 50.5).abs() < 2.0, "{found:?}");

    // Missing, doubled, of another file, damaged, and what is not a share.
    refused(combine("b-mean.he", &all[..2], "x.csv"), "no share of party 3");
    refused(combine("b-mean.he", &[all[0], all[1], all[1]], "x.csv"), "there is a second share of party 2");
    refused(combine("a-mean.he", &all, "x.csv"), "the share of party 1 is of a decryption, but it concerns");
    refused(combine("b-mean.he", &[all[0], all[1], "c/keys.share"], "x.csv"), "a share of the generation");
    refused(combine("b-mean.he", &[all[0], all[1], "a/public.key"], "x.csv"), "where 0 are possible");
    let mut damaged = fs::read(dir.join(all[2])).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(dir.join("damaged.share"), &damaged).unwrap();
    refused(combine("b-mean.he", &[all[0], all[1], "damaged.share"], "x.csv"), "the bytes are damaged");
    assert!(!dir.join("x.csv").exists());
    refused(call(dir, ["share", "decrypt", "a", "b-mean.he", "-o", "x", "--quorum", "1,2"]), "a quorum of 2");
    // The second message cannot be made twice, nor the first one again over the old.
    refused(call(dir, ["share", "relin", "a"].into_iter().chain(FIRST)), "round.key");
    refused(call(dir, ["share", "keys", "a"]), "keys.share");
    refused(
        call(
            dir,
            ["combine", "keys", "b"]
                .into_iter()
                .chain(SECOND.map(|word| match word {
                    "--second" => "--shares",
                    word => word,
                }))
                .chain(SECOND),
        ),
        "a file of shares of keys is needed",
    );
    // The files of a party are not keys for other commands.
    let decrypt = ["decrypt", "b-mean.he", "-k", "a/party.key", "-o", "x.csv"];
    refused(he(decrypt).at(dir), "a/party.key holds a secret of a party, and no key");
    assert!(!dir.join("x.csv").exists());
    #[cfg(unix)]
    for (name, secret) in [("party.key", true), ("session.he", false), ("keys.share", false)] {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir.join("a").join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode == 0o600, secret, "{name}: {mode:o}");
    }
}

#[test]
fn two_of_three_decrypt() {
    let dir = folder();
    let dir = dir.path();
    session(dir, &["--threshold", "2"]);
    keys(dir);
    mean(dir);
    for (name, _) in HOSPITALS {
        call(dir, ["share", "secret", name]).ok();
    }
    let dealt = |party: &str| HOSPITALS.map(|(name, _)| format!("{name}/secret-for-{party}.share"));
    for (name, party) in HOSPITALS {
        let shares = dealt(party);
        let words = ["combine", "secret", name, "--shares", &shares[0], &shares[1], &shares[2]];
        call(dir, words).ok();
    }
    let wrong = dealt("2");
    let words = ["combine", "secret", "a", "--shares", &wrong[0], &wrong[1], &wrong[2]];
    refused(call(dir, words), "the share is for party 2 and not for party 1");
    for (quorum, names) in [("1,2", ["a", "b"]), ("1,3", ["a", "c"]), ("2,3", ["b", "c"])] {
        let shares = names.map(|name| format!("{name}/{quorum}.share"));
        for (name, output) in names.iter().zip(&shares) {
            call(dir, ["share", "decrypt", name, "a-mean.he", "--quorum", quorum, "-o", output]).ok();
        }
        let words = ["combine", "decrypt", "b", "a-mean.he", "--quorum", quorum, "-o", "-", "--shares"];
        let found = call(dir, words.into_iter().chain(shares.iter().map(String::as_str))).ok();
        let found = number(&String::from_utf8(found).unwrap());
        assert!((found[0] - 1.5).abs() < 0.2 && (found[1] - 50.5).abs() < 2.0, "{quorum}: {found:?}");
    }
    refused(call(dir, ["share", "decrypt", "a", "a-mean.he", "-o", "x"]), "give them, as in --quorum 1,2");
    refused(call(dir, ["share", "decrypt", "a", "a-mean.he", "--quorum", "1", "-o", "x"]), "a quorum of 1");
    refused(
        call(dir, ["share", "decrypt", "a", "a-mean.he", "--quorum", "2,3", "-o", "x"]),
        "party 1 takes no part",
    );
    #[cfg(unix)]
    for name in ["threshold.key", "secret-for-2.share"] {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(dir.join("a").join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn sessions_do_not_mix() {
    let [one, two] = [(); 2].map(|()| folder());
    for dir in [&one, &two] {
        session(dir.path(), &[]);
    }
    call(one.path(), ["share", "keys", "a"]).ok();
    call(one.path(), ["share", "keys", "b"]).ok();
    let other = two.path().join("c");
    let other = other.to_str().unwrap();
    call(two.path(), ["share", "keys", other]).ok();
    let foreign = format!("{other}/keys.share");
    let words = ["share", "relin", "a", "--shares", "a/keys.share", "b/keys.share", &foreign];
    refused(call(one.path(), words), "belongs to session ");
    let key = fs::read(two.path().join("a/party.key")).unwrap();
    fs::write(one.path().join("b/party.key"), key).unwrap();
    refused(call(one.path(), ["share", "secret", "b"]), "belongs to session ");
    // Impossible sessions.
    let init = |words: &[&str]| {
        let fixed = ["init", "-o", "x", "--party", "1"];
        call(one.path(), fixed.into_iter().chain(QUICK).chain(words.iter().copied()))
    };
    refused(init(&["--parties", "1"]), "a session has at least two");
    refused(init(&["--parties", "3", "--threshold", "4"]), "1 to 3 are possible");
    refused(init(&[]), "--parties");
    refused(
        call(one.path(), ["init", "--session", "a/session.he", "--party", "4", "-o", "x"]),
        "party 4 takes no part",
    );
    refused(
        call(one.path(), ["init", "--session", "a/party.key", "--party", "2", "-o", "x"]),
        "a session is needed",
    );
    assert!(!one.path().join("x").exists());
}

/// A passphrase seals every secret that a party keeps, each is opened with it alone, and what goes
/// to others is not sealed.
#[test]
fn secrets_of_a_party_are_sealed_by_its_passphrase() {
    let dir = folder();
    let dir = dir.path();
    fs::write(dir.join("phrase"), "correct horse\n").unwrap();
    fs::write(dir.join("wrong"), "battery staple\n").unwrap();
    let begin = ["init", "--parties", "2", "--threshold", "1", "--party", "1", "-o", "a", "--json"];
    let sealed = ["--passphrase-file", "phrase"];
    let told = call(dir, begin.into_iter().chain(QUICK).chain(sealed)).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["sealed"], true);
    let told = call(dir, ["init", "--session", "a/session.he", "--party", "2", "-o", "b", "--json"]).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["sealed"], false);
    let is_sealed = |name: &str| fs::read(dir.join(name)).unwrap().starts_with(b"HESEALED");
    assert!(is_sealed("a/party.key") && !is_sealed("b/party.key"));

    refused(call(dir, ["share", "keys", "a"]), "there is no terminal to ask for the passphrase at");
    refused(call(dir, ["share", "keys", "a", "--passphrase-file", "wrong"]), "a/party.key: wrong passphrase");
    let with = |words: &[&'static str]| call(dir, words.iter().copied().chain(sealed)).ok();
    with(&["share", "keys", "a"]);
    assert!(is_sealed("a/round.key") && !is_sealed("a/keys.share"));
    call(dir, ["share", "keys", "b"]).ok();
    let first = ["--shares", "a/keys.share", "b/keys.share"];
    with(&["share", "relin", "a", first[0], first[1], first[2]]);
    call(dir, ["share", "relin", "b"].into_iter().chain(first)).ok();
    let second = ["--second", "a/relin.share", "b/relin.share"];
    call(dir, ["combine", "keys", "a"].into_iter().chain(first).chain(second)).ok();

    // For others as it is, for the party itself sealed.
    with(&["share", "secret", "a"]);
    call(dir, ["share", "secret", "b"]).ok();
    assert!(!is_sealed("a/secret-for-2.share"));
    with(&["combine", "secret", "a", "--shares", "a/secret-for-1.share", "b/secret-for-1.share"]);
    assert!(is_sealed("a/threshold.key"));
    fs::write(dir.join("t.csv"), "x\n1.5\n-2\n").unwrap();
    he(["encrypt", "t.csv", "-k", "a/public.key", "-o", "t.he"]).at(dir).ok();
    with(&["share", "decrypt", "a", "t.he", "--quorum", "1", "-o", "t.share"]);
    let words = ["combine", "decrypt", "b", "t.he", "--quorum", "1", "--shares", "t.share", "-o", "-"];
    let found = String::from_utf8(call(dir, words).ok()).unwrap();
    let found: Vec<f64> = found.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert!((found[0] - 1.5).abs() < 0.2 && (found[1] + 2.0).abs() < 0.2, "{found:?}");
}
