//! `party`: three hospitals in three folders, and messages that do not belong.

use crate::process::{Call, folder, he};
use he::Device;
use he_core::bfv::Bfv;
use he_core::ckks::Ciphertext;
use he_core::exact::{self, Noise};
use he_core::ring::{Eval, Poly, Ring};
use he_core::rlwe::RlweCiphertext;
use he_core::wire::Wire as _;
use he_files::cipher_file::{CipherReader, FileWriter};
use he_files::io::output::{Output, OutputOptions};
use he_files::party::Agreed;
use he_files::scheme::Ckks;
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

/// The same for integers.
fn quick(scheme: &str) -> [&str; 10] {
    let [_, _, _, _, security, bits, queries, many] = QUICK;
    ["--scheme", scheme, "--depth", "1", "--plain-modulus", "65537", security, bits, queries, many]
}

/// A session of the three, each in its own folder.
fn session(dir: &Path, options: &[&str]) {
    session_of(dir, &QUICK, options);
}

fn session_of(dir: &Path, needs: &[&str], options: &[&str]) {
    let begin = ["init", "--parties", "3", "--party", "1", "-o", "a"];
    call(dir, begin.into_iter().chain([needs, options].concat())).ok();
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

/// The table of each hospital, encrypted, and the mean of their sum, as the guide has it; and the
/// text of the program.
fn mean(dir: &Path) {
    // The others combine the same file themselves.
    for (name, key) in [("b", "eval.key"), ("c", "eval.key"), ("b", "public.key"), ("c", "public.key")] {
        fs::copy(dir.join("a").join(key), dir.join(name).join(key)).unwrap();
    }
    for (number, (name, _)) in HOSPITALS.iter().enumerate() {
        let rows: String = (0..4).map(|row| format!("{},{}\n", row + number + 9, 40 + 7 * row)).collect();
        fs::write(dir.join(format!("{name}.csv")), format!("days,age\n{rows}")).unwrap();
        let (input, output) = (format!("{name}.csv"), format!("{name}.he"));
        call(dir, ["encrypt", name, &input, "-o", &output]).ok();
    }
    let steps =
        ["add a.he --with b.he -o ab.he", "add ab.he --with c.he -o abc.he", "mean abc.he -o mean.he"];
    for step in steps {
        let words = ["eval"].into_iter().chain(step.split(' ')).chain(["-k", "a/eval.key"]);
        he(words).at(dir).ok();
    }
    let lines = steps.map(|step| format!("he-cli eval {step}\n"));
    fs::write(dir.join("mean.txt"), lines.concat()).unwrap();
}

const INPUTS: [&str; 3] = ["1=a.he", "2=b.he", "3=c.he"];
const TRANSCRIPTS: [&str; 3] = ["a/mean.transcript", "b/mean.transcript", "c/mean.transcript"];

/// A party computes a result again.
fn check<'a>(dir: &Path, name: &'a str, result: &'a str, inputs: &[&'a str], output: &'a str) -> Call {
    let words = ["check", name, result, "--program", "mean.txt", "-o", output, "--inputs"];
    call(dir, words.into_iter().chain(inputs.iter().copied()))
}

/// Every party computes the mean again.
fn checked(dir: &Path) {
    for ((name, _), output) in HOSPITALS.iter().zip(TRANSCRIPTS) {
        check(dir, name, "mean.he", &INPUTS, output).ok();
    }
}

/// A party's share, with transcripts and more options.
fn share<'a>(dir: &Path, name: &'a str, input: &'a str, transcripts: &[&'a str], more: &[&'a str]) -> Call {
    let words = ["share", "decrypt", name, input, "--transcripts"];
    call(dir, words.into_iter().chain(transcripts.iter().copied()).chain(more.iter().copied()))
}

/// A copy of an encrypted table with other second polynomials.
fn altered(
    dir: &Path,
    from: &str,
    to: &str,
    second: impl Fn(&Ring<Device>, &Poly<Eval, Device>) -> Vec<u64>,
) {
    let session = he_files::io::input::Input::open(dir.join("a/session.he")).unwrap();
    let Agreed { params, ring, .. } = &Agreed::<Ckks>::read(session).unwrap();
    let mut reader = CipherReader::<Ckks>::open(&dir.join(from)).unwrap();
    let content = reader.payload.content.clone();
    let output = Output::create(dir.join(to), OutputOptions::default(), &[]).unwrap();
    let mut writer = FileWriter::new::<Ckks>(output, params, &reader.payload).unwrap();
    for (_, count) in content.batches(params.slots()).unwrap() {
        let ct = reader.next(ring, count).unwrap();
        let [c0, c1] = ct.pair().parts();
        let words = second(ring, c1);
        let c1 = Poly::from_words(ring, c1.span(), c1.batch(), &words).unwrap();
        let pair = RlweCiphertext::new(c0.duplicate().unwrap(), c1).unwrap();
        let evil = Ciphertext::from_parts(params, pair, ct.level(), ct.scale(), ct.slots()).unwrap();
        writer.write(&evil.to_frame(params).unwrap().seal()).unwrap();
    }
    reader.end().unwrap();
    writer.commit([], String::new()).unwrap();
}

/// The words of the constant polynomial Q / 4: a share of it is the secret.
fn quarter(ring: &Ring<Device>, c1: &Poly<Eval, Device>) -> Vec<u64> {
    let moduli = ring.spec().moduli_of(c1.span());
    moduli.flat_map(|q| std::iter::repeat_n(q.value() / 4, c1.batch() * ring.n())).collect()
}

/// Asserts that a call is refused with this message, and writes nothing.
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
    // The key that b combines by itself is the same.
    for key in ["b/eval.key", "b/public.key"] {
        fs::remove_file(dir.join(key)).unwrap();
    }
    call(dir, ["combine", "keys", "b"].into_iter().chain(FIRST).chain(SECOND)).ok();
    checked(dir);
    let info = |file: &str, more: &[&str]| he(["info", file].into_iter().chain(more.iter().copied())).at(dir);
    let told: Value = serde_json::from_slice(&info(TRANSCRIPTS[1], &["--json"]).ok()).unwrap();
    assert_eq!((&told["file"], &told["party"]), (&"transcript".into(), &2.into()));
    assert_eq!(told["inputs"], serde_json::json!([1, 2, 3]));
    assert_eq!(told["program"], serde_json::json!(["add", "add", "mean"]));
    assert_eq!((&told["ciphertexts"], &told["parameters"]["scheme"]), (&1.into(), &"ckks".into()));
    let text = info(TRANSCRIPTS[1], &[]).text();
    assert!(text.contains("3, of parties 1, 2, 3\nprogram      add, add, mean\n"), "{text}");
    refused(info("a/session.he", &[]), "and no key");
    let mut shares = Vec::new();
    for (name, _) in HOSPITALS {
        let output = format!("{name}/mean.share");
        let told = share(dir, name, "mean.he", &TRANSCRIPTS, &["-o", &output, "--json"]).ok();
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!((&told["published"], &told["quorum"]), (&1.into(), &serde_json::json!([1, 2, 3])));
        assert_eq!(told["left"], 3);
        shares.push(output);
    }
    let combine = |input: &'static str, shares: &[&str], output: &'static str| {
        let words =
            ["combine", "decrypt", "c", input, "-o", output, "--transcripts", TRANSCRIPTS[1], "--shares"];
        call(dir, words.into_iter().chain(shares.iter().copied()))
    };
    let all: Vec<&str> = shares.iter().map(String::as_str).collect();
    let found = number(&String::from_utf8(combine("mean.he", &all, "-").ok()).unwrap());
    assert!((found[0] - 34.5).abs() < 2.0 && (found[1] - 151.5).abs() < 6.0, "{found:?}");

    // Missing, doubled, of another file, damaged, and what is not a share.
    refused(combine("mean.he", &all[..2], "x.csv"), "no share of party 3");
    refused(combine("mean.he", &[all[0], all[1], all[1]], "x.csv"), "there is a second share of party 2");
    refused(combine("ab.he", &all, "x.csv"), "ab.he is not what the program computes from the inputs");
    refused(combine("mean.he", &[all[0], all[1], "c/keys.share"], "x.csv"), "a share of the generation");
    refused(combine("mean.he", &[all[0], all[1], "a/public.key"], "x.csv"), "where 0 are possible");
    let mut damaged = fs::read(dir.join(all[2])).unwrap();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(dir.join("damaged.share"), &damaged).unwrap();
    refused(combine("mean.he", &[all[0], all[1], "damaged.share"], "x.csv"), "the bytes are damaged");
    assert!(!dir.join("x.csv").exists());
    refused(share(dir, "a", "mean.he", &TRANSCRIPTS, &["-o", "x", "--quorum", "1,2"]), "a quorum of 2");
    // Nor is the share made twice: not for another file, and not with another process's list.
    refused(share(dir, "a", "mean.he", &TRANSCRIPTS, &["-o", "x"]), "has made its share of this decryption");
    // The list is read to its end.
    let ledger = dir.join("a/shared.ledger");
    let kept = fs::read_to_string(&ledger).unwrap();
    for wrong in
        [format!("{kept}{kept}"), kept.trim_end().to_owned(), format!("{kept}\n"), kept.replace(' ', "")]
    {
        fs::write(&ledger, wrong).unwrap();
        refused(share(dir, "a", "mean.he", &TRANSCRIPTS, &["-o", "x"]), "is not one that he-cli wrote");
    }
    // No more is decrypted than was agreed on.
    fs::write(&ledger, kept.replace(" 1\n", " 4\n")).unwrap();
    call(dir, ["check", "a", "a.he", "--inputs", "1=a.he", "-o", "a/a.transcript"]).ok();
    refused(share(dir, "a", "a.he", &["a/a.transcript"], &["-o", "x"]), "0 of 4 are left");
    assert!(!dir.join("x").exists());
    // The second message cannot be made twice, nor the first one again over the old.
    refused(call(dir, ["share", "relin", "a"].into_iter().chain(FIRST)), "round.key");
    refused(call(dir, ["share", "keys", "a"]), "keys.share");
    refused(
        call(
            dir,
            ["combine", "keys", "c"]
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
    let decrypt = ["decrypt", "mean.he", "-k", "a/party.key", "-o", "x.csv"];
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
    checked(dir);
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
            share(dir, name, "mean.he", &TRANSCRIPTS, &["--quorum", quorum, "-o", output]).ok();
        }
        let words = ["combine", "decrypt", "b", "mean.he", "--quorum", quorum, "-o", "-"];
        let words = words.into_iter().chain(["--transcripts", "a/mean.transcript", "--shares"]);
        let found = call(dir, words.chain(shares.iter().map(String::as_str))).ok();
        let found = number(&String::from_utf8(found).unwrap());
        assert!((found[0] - 34.5).abs() < 2.0 && (found[1] - 151.5).abs() < 6.0, "{quorum}: {found:?}");
    }
    let refused_with = |more: &[&str], expected| {
        refused(share(dir, "a", "mean.he", &TRANSCRIPTS, &[&["-o", "x"], more].concat()), expected);
    };
    refused_with(&[], "give them, as in --quorum 1,2");
    refused_with(&["--quorum", "1"], "a quorum of 1");
    refused_with(&["--quorum", "2,3"], "party 1 takes no part");
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
    call(dir, ["encrypt", "a", "t.csv", "-o", "t.he"]).ok();
    let checking = ["check", "a", "t.he", "--inputs", "1=t.he", "-o", "t.transcript"];
    refused(call(dir, checking), "there is no terminal to ask for the passphrase at");
    with(&checking);
    let quorum = ["--transcripts", "t.transcript", "--quorum", "1"];
    with(&[&["share", "decrypt", "a", "t.he", "-o", "t.share"][..], &quorum].concat());
    let words = ["combine", "decrypt", "b", "t.he", "--shares", "t.share", "-o", "-"];
    let found = String::from_utf8(call(dir, words.into_iter().chain(quorum)).ok()).unwrap();
    let found: Vec<f64> = found.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert!((found[0] - 1.5).abs() < 0.2 && (found[1] + 2.0).abs() < 0.2, "{found:?}");
}

/// One malicious file would cost a party its secret. Whatever a server makes of the result, of an
/// input, of the keys or of transcripts, no share is written.
#[test]
fn no_share_is_made_of_what_a_server_chose() {
    let dir = folder();
    let dir = dir.path();
    session(dir, &[]);
    keys(dir);
    mean(dir);
    checked(dir);
    let no_share = |transcripts: &[&str], input: &str, expected: &str| {
        refused(share(dir, "a", input, transcripts, &["-o", "x"]), expected);
        assert!(!dir.join("x").exists(), "{expected}");
        let shared = fs::read(dir.join("a/shared.ledger")).unwrap_or_default();
        assert!(shared.is_empty(), "{expected}");
    };
    let no_transcript = |result: &str, inputs: &[&str], expected: &str| {
        refused(check(dir, "a", result, inputs, "x"), expected);
        assert!(!dir.join("x").exists(), "{expected}");
    };

    // The attack: a result that is honest but for c1, which is the constant Q / 4.
    altered(dir, "mean.he", "evil.he", quarter);
    no_transcript("evil.he", &INPUTS, "evil.he is not what the program computes from the inputs");
    let read = |name: &str| fs::read(dir.join(name)).unwrap();
    no_share(&TRANSCRIPTS, "evil.he", "its ciphertext 1 is");
    refused(share(dir, "a", "evil.he", &[], &["-o", "x"]), "--transcripts");
    // The same attack by an input, whose words are not those of an encryption, nor are those of a
    // sparse one.
    altered(dir, "a.he", "input.he", quarter);
    no_transcript("mean.he", &["1=input.he", "2=b.he", "3=c.he"], "no input and no result");
    let bare = |input: &str| call(dir, ["check", "b", input, "--inputs", &format!("1={input}"), "-o", "x"]);
    refused(bare("input.he"), "input.he is no encryption: ");
    altered(dir, "a.he", "sparse.he", |ring, c1| {
        let mut words = c1.to_words().unwrap();
        let n = ring.n();
        words.chunks_mut(n).for_each(|words| words[..n / 8].fill(1));
        words
    });
    refused(bare("sparse.he"), "sparse.he is no encryption: ");
    // And of one whose words look right: then the word of its party is missing.
    altered(dir, "a.he", "shifted.he", |_, c1| {
        let mut words = c1.to_words().unwrap();
        words.rotate_right(1);
        words
    });
    call(dir, ["check", "b", "shifted.he", "--inputs", "1=shifted.he", "-o", "b/shifted.transcript"]).ok();
    refused(
        share(dir, "b", "shifted.he", &["b/shifted.transcript"], &["-o", "x"]),
        "inputs of party 1, and no statement",
    );
    // A computed file is not an input.
    refused(
        bare("mean.he"),
        "mean.he is not an input, as encryption makes it: add, add, mean in place of no operation",
    );

    // Transcripts: missing, another's, doubled, planted, damaged, and not one at all.
    let [a, b, c] = TRANSCRIPTS;
    no_share(&[b, c], "mean.he", "none of the transcripts is that of party 1");
    no_share(&[a, b], "mean.he", "inputs of party 3, and no statement that they are theirs");
    no_share(&[a, b, c, b], "mean.he", "two transcripts are of party 2");
    no_share(&[a, "b/keys.share", c], "mean.he", "b/keys.share is not a transcript: it holds something else");
    no_share(&[a, "b/session.he", c], "mean.he", "b/session.he is not a transcript");
    let text = |name: &str| {
        let frames = agreed(dir).frames(he_files::io::input::Input::open(dir.join(name)).unwrap()).unwrap();
        String::from_utf8(frames.frames[0].body.clone()).unwrap()
    };
    let planted = |name: &str, text: String| {
        let frame = he_core::wire::Frame::attachment(
            he_core::wire::WireParams::fingerprint(&agreed(dir).params),
            text.into_bytes(),
        );
        let file = fs::File::create(dir.join(name)).unwrap();
        agreed(dir).write_frames(file, vec![frame.unwrap()], name).unwrap();
    };
    // b's transcript with a's number, as a server would plant it, for the same result.
    planted("planted", text(b).replacen("\"party\":2", "\"party\":1", 1));
    no_share(&["planted", b, c], "mean.he", "party 1 did not make this transcript");
    // a's own for a result of the server's choice.
    let own: Value = serde_json::from_str(&text(a)).unwrap();
    let zero = Value::from("0".repeat(64));
    for pointer in ["/results/0", "/program/description", "/program/key", "/inputs/0/digest", "/tag"] {
        let mut other = own.clone();
        *other.pointer_mut(pointer).unwrap() = zero.clone();
        planted("planted", other.to_string());
        no_share(&["planted", b, c], "mean.he", "party 1 did not make this transcript");
        other["party"] = 2.into();
        planted("planted", other.to_string());
        let expected = match pointer {
            "/tag" => continue,
            "/program/key" => "differs from the transcript of party 1 in the evaluation key",
            "/inputs/0/digest" => "differs from the transcript of party 1 in the inputs or their parties",
            _ => "differs from the transcript of party 1 in the result",
        };
        no_share(&[a, "planted", c], "mean.he", expected);
    }
    for wrong in [
        "{}".to_owned(),
        text(a).replacen('{', "{\"more\":1,", 1),
        text(a).replace("\"tag\":\"", "\"tag\":\"0"),
    ] {
        planted("planted", wrong);
        no_share(&["planted", b, c], "mean.he", "planted is not a transcript: it cannot be understood");
    }

    // Another program, other parties of inputs, another key: the transcripts differ.
    fs::write(dir.join("sum.txt"), "add a.he --with b.he -o ab.he\nadd ab.he --with c.he -o abc.he\n")
        .unwrap();
    let words = ["check", "b", "abc.he", "--program", "sum.txt", "-o", "b/sum.transcript", "--inputs"];
    call(dir, words.into_iter().chain(INPUTS)).ok();
    no_share(&[a, "b/sum.transcript", c], "mean.he", "differs from the transcript of party 1 in the program");
    check(dir, "b", "mean.he", &["3=a.he", "2=b.he", "1=c.he"], "b/swapped.transcript").ok();
    no_share(&[a, "b/swapped.transcript", c], "mean.he", "in the inputs or their parties");
    // A party knows its own: those that it encrypted, and no others.
    no_transcript(
        "mean.he",
        &["2=a.he", "2=b.he", "3=c.he"],
        "a.he was encrypted by this party, 1, and not by party 2",
    );
    no_transcript(
        "mean.he",
        &["3=c.he", "1=b.he", "1=a.he"],
        "b.he is not a table that party 1 has encrypted",
    );
    he(["encrypt", "a.csv", "-k", "a/public.key", "-o", "server.he"]).at(dir).ok();
    let words = ["check", "a", "server.he", "--inputs", "1=server.he", "-o", "x"];
    refused(call(dir, words), "server.he is not a table that party 1 has encrypted");
    // The order in which inputs are given is not one of them.
    check(dir, "b", "mean.he", &["3=c.he", "1=a.he", "2=b.he"], "b/again.transcript").ok();
    assert_eq!(read("b/again.transcript"), read(b));
    // Inputs that are not used, used twice, of nobody, and a result without a program.
    no_transcript("mean.he", &INPUTS[..2], "no input and no result of a step before is called c.he");
    fs::copy(dir.join("a.he"), dir.join("d.he")).unwrap();
    no_transcript("mean.he", &["1=a.he", "2=b.he", "3=c.he", "3=d.he"], "are the same input");
    refused(call(dir, ["encrypt", "a", "a.csv", "-o", "a.he"]), "a.he");
    refused(call(dir, ["encrypt", "a", "a.csv", "-o", "-"]), "an input of a party is a file");
    no_transcript("mean.he", &["1=a.he", "2=b.he", "4=c.he"], "party 4 takes no part");
    no_transcript("mean.he", &["a.he"], "give the number of a party and its file, as in 1=a.he");
    refused(
        call(dir, ["check", "a", "mean.he", "-o", "x", "--inputs", INPUTS[0], INPUTS[1]]),
        "without a program",
    );
    fs::write(dir.join("mean.txt"), "mean a.he -o m.he\n").unwrap();
    no_transcript("mean.he", &INPUTS, "the program does not use b.he");

    // And the honest way goes on.
    share(dir, "a", "mean.he", &TRANSCRIPTS, &["-o", "a.share"]).ok();
}

fn agreed(dir: &Path) -> Agreed<Ckks> {
    Agreed::read(he_files::io::input::Input::open(dir.join("a/session.he")).unwrap()).unwrap()
}

/// A copy of an encrypted table of integers, each of whose ciphertexts is changed.
fn altered_integers(
    dir: &Path,
    (from, to): (&str, &str),
    change: impl Fn(&Agreed<Bfv>, [Poly<Eval, Device>; 2], Noise) -> ([Poly<Eval, Device>; 2], Noise),
) {
    let session = he_files::io::input::Input::open(dir.join("a/session.he")).unwrap();
    let agreed = Agreed::<Bfv>::read(session).unwrap();
    let mut reader = CipherReader::<Bfv>::open(&dir.join(from)).unwrap();
    let content = reader.payload.content.clone();
    let output = Output::create(dir.join(to), OutputOptions::default(), &[]).unwrap();
    let mut writer = FileWriter::new::<Bfv>(output, &agreed.params, &reader.payload).unwrap();
    for (_, count) in content.batches(agreed.ring.n()).unwrap() {
        let ct = reader.next(&agreed.ring, count).unwrap();
        let pair = ct.pair().parts().map(|part| part.duplicate().unwrap());
        let ([c0, c1], noise) = change(&agreed, pair, ct.noise());
        let pair = RlweCiphertext::new(c0, c1).unwrap();
        let factor = ct.state().correction_factor();
        let evil = exact::Ciphertext::<Bfv, _>::from_parts(&agreed.params, pair, factor, noise).unwrap();
        writer.write(&evil.to_frame(&agreed.params).unwrap().seal()).unwrap();
    }
    reader.end().unwrap();
    writer.commit([], String::new()).unwrap();
}

/// Integers of three parties, any two of whom decrypt: sums and products are exact, and no share is
/// made of another file, of an input that states less noise than it has, or of what leaves no room
/// for the floods.
#[test]
fn integers_of_three_parties_come_out_exactly() {
    let dir = folder();
    let dir = dir.path();
    session_of(dir, &quick("bfv"), &["--threshold", "2"]);
    keys(dir);
    for (name, party) in HOSPITALS {
        call(dir, ["share", "secret", name]).ok();
        if name != "a" {
            for key in ["eval.key", "public.key"] {
                fs::copy(dir.join("a").join(key), dir.join(name).join(key)).unwrap();
            }
        }
        let (input, output) = (format!("{name}.csv"), format!("{name}.he"));
        let rows = [-3, 5, 8].map(|row| format!("{},{}\n", row + party.len() as i64, 7 - 2 * row));
        fs::write(dir.join(&input), format!("days,age\n{}", rows.concat())).unwrap();
        call(dir, ["encrypt", name, &input, "-o", &output]).ok();
    }
    for (name, party) in HOSPITALS {
        let shares = HOSPITALS.map(|(name, _)| format!("{name}/secret-for-{party}.share"));
        let words = ["combine", "secret", name, "--shares", &shares[0], &shares[1], &shares[2]];
        call(dir, words).ok();
    }
    let computed = |program: &str, steps: &[&str]| {
        let lines: String = steps.iter().map(|step| format!("he-cli eval {step}\n")).collect();
        fs::write(dir.join(program), lines).unwrap();
        for step in steps {
            he(["eval"].into_iter().chain(step.split(' ')).chain(["-k", "c/eval.key"])).at(dir).ok();
        }
    };
    computed(
        "mean.txt",
        &["add a.he --with b.he -o ab.he", "mul ab.he --with c.he -o abc.he", "sum abc.he -o s.he"],
    );
    // Every party has r + 1 and 7 - 2 r in its rows.
    let expected = [-3i64, 5, 8]
        .iter()
        .fold([0, 0], |[x, y], r| [x + 2 * (r + 1) * (r + 1), y + 2 * (7 - 2 * r) * (7 - 2 * r)]);
    for ((name, _), output) in HOSPITALS.iter().zip(TRANSCRIPTS) {
        check(dir, name, "s.he", &INPUTS, output).ok();
    }
    let told = he(["info", TRANSCRIPTS[2], "--json"]).at(dir).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!((&told["parameters"]["scheme"], &told["party"]), (&"bfv".into(), &3.into()));
    for (name, output) in [("a", "a/s.share"), ("c", "c/s.share")] {
        let told = share(dir, name, "s.he", &TRANSCRIPTS, &["--quorum", "1,3", "-o", output, "--json"]).ok();
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert_eq!((&told["left"], &told["flood_error_log2"]), (&3.into(), &Value::Null));
    }
    let combine = |input: &'static str, quorum: &'static str, shares: &[&'static str]| {
        let words = ["combine", "decrypt", "b", input, "--quorum", quorum, "-o", "-"];
        let words = words.into_iter().chain(["--transcripts", TRANSCRIPTS[1], "--shares"]);
        call(dir, words.chain(shares.iter().copied()))
    };
    let shares = ["a/s.share", "c/s.share"];
    let found = String::from_utf8(combine("s.he", "1,3", &shares).ok()).unwrap();
    assert_eq!(found, format!("days,age\n{},{}\n", expected[0], expected[1]));
    refused(combine("s.he", "1,2", &shares), "party 1 is of a decryption, but it concerns something else");
    refused(combine("s.he", "1,3", &shares[..1]), "no share of party 3");
    refused(combine("abc.he", "1,3", &shares), "abc.he is not what the program computes from the inputs");
    let quorum = ["--quorum", "1,3", "-o", "x"];
    refused(share(dir, "a", "s.he", &TRANSCRIPTS, &quorum), "has made its share of this decryption");
    refused(share(dir, "b", "s.he", &TRANSCRIPTS, &quorum), "party 2 takes no part");
    refused(share(dir, "a", "abc.he", &TRANSCRIPTS, &quorum), "abc.he is not what the program computes");

    // The constant Q / 4 in place of c1, in a result and in an input; and noise that is stated to
    // be less, which would narrow floods.
    let evil = |agreed: &Agreed<Bfv>, [c0, c1]: [Poly<Eval, Device>; 2], noise| {
        let words = quarter(&agreed.ring, &c1);
        ([c0, Poly::from_words(&agreed.ring, c1.span(), c1.batch(), &words).unwrap()], noise)
    };
    altered_integers(dir, ("s.he", "evil.he"), evil);
    refused(check(dir, "b", "evil.he", &INPUTS, "x"), "evil.he is not what the program computes");
    let bare = |input: &str| call(dir, ["check", "b", input, "--inputs", &format!("1={input}"), "-o", "x"]);
    altered_integers(dir, ("a.he", "input.he"), evil);
    refused(bare("input.he"), "input.he is no encryption: ");
    altered_integers(dir, ("a.he", "quiet.he"), |_, pair, noise| {
        (pair, Noise { rms_log2: noise.rms_log2 - 1.0, ..noise })
    });
    refused(bare("quiet.he"), "quiet.he is not an input, as encryption makes it: level ");
    // Four products more than the session was begun for: they can be computed, and not be hidden.
    fs::write(dir.join("one.csv"), "x\n1\n-1\n").unwrap();
    call(dir, ["encrypt", "a", "one.csv", "-o", "one.he"]).ok();
    let steps = [
        "mul one.he --with one.he -o p.he",
        "mul p.he --with p.he -o q.he",
        "mul q.he --with p.he -o r.he",
        "mul r.he --with one.he -o t.he",
        "mul t.he --with one.he -o u.he",
    ];
    computed("mean.txt", &steps);
    check(dir, "a", "u.he", &["1=one.he"], "u.transcript").ok();
    refused(share(dir, "a", "u.he", &["u.transcript"], &quorum), "hiding the noise of u.he takes floods of ");
    assert!(!dir.join("x").exists());
    // Options of the other schemes.
    let init = |words: &[&str]| {
        let fixed = ["init", "-o", "x", "--party", "1", "--parties", "3"];
        call(dir, fixed.into_iter().chain(words.iter().copied()))
    };
    refused(init(&["--bits", "20"]), "--bits is for integers, under --scheme bfv or bgv");
    refused(init(&["--scheme", "bgv", "--precision", "20"]), "--precision is for real numbers");
    assert!(!dir.join("x").exists());
}

/// Without options there are parameters, and where there are none, the hint leads to some.
#[test]
fn a_session_begins_with_its_defaults() {
    let dir = folder();
    let dir = dir.path();
    let init = |more: &[&'static str]| {
        let words = ["init", "--parties", "3", "--party", "1", "-o", "a"];
        call(dir, words.into_iter().chain(more.iter().copied()))
    };
    let outcome = init(&["--precision", "40"]).run();
    assert_ne!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("40 bits of precision"), "{}", outcome.stderr);
    let hint = outcome.stderr.split("--precision up to ").nth(1).expect("a hint");
    let most: u32 = hint.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap();
    let more = |bits: u32| {
        call(dir, ["init", "--parties", "3", "--party", "1", "-o", "b", "--precision", &bits.to_string()])
    };
    refused(more(most + 1), &format!("--precision up to {most}"));
    more(most).ok();
    init(&[]).ok();
    refused(more(3), "3 bits of precision for several parties");
}
