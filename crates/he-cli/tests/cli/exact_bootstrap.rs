//! BFV and BGV with bootstrapping: their keys, and files with a new noise budget, at the toy size.

use crate::pictures::{eight, noise};
use crate::process::{Keys, bootstrap_key, decrypt, decrypt_text, encrypt, eval, folder, he, names, refresh};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn info(path: &Path) -> Value {
    json(&he(["info", "--json", path.to_str().unwrap()]).ok())
}

/// The bits of noise budget that are predicted.
fn predicted(path: &Path) -> f64 {
    info(path)["predicted"].as_f64().unwrap()
}

#[test]
fn keys_with_bootstrapping() {
    for scheme in ["bfv", "bgv"] {
        let dir = folder();
        let keygen = ["keygen", scheme, "--bootstrap", "insecure_toy", "-o", "k"];
        let outcome = he(keygen.iter().chain(&["--json"])).at(dir.path()).run();
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("keys of insecure_toy protect nothing"), "{}", outcome.stderr);
        let told = json(&outcome.stdout);
        assert_eq!(names(&dir.path().join("k")), ["bootstrap.key", "eval.key", "public.key", "secret.key"]);
        assert_eq!((&told["scheme"], &told["bootstrap"]), (&scheme.into(), &"insecure_toy".into()));
        let files = told["files"].as_array().unwrap();
        assert_eq!(files.len(), 4);
        for file in files {
            let size = fs::metadata(dir.path().join(file["path"].as_str().unwrap())).unwrap().len();
            assert_eq!(file["bytes"], size);
        }
        // The sizes that params states are those that keygen writes and info reads.
        let said = json(&he(["params", scheme, "--bootstrap", "insecure_toy", "--json"]).ok());
        assert_eq!(said["bootstrap_key_bytes"], files[3]["bytes"]);
        assert_eq!(said["evaluation_key_bytes"], files[2]["bytes"]);
        assert_eq!(said["fingerprint"], told["parameters"]["fingerprint"]);
        assert_eq!((&said["depth"], &said["security_bits_of_secret"]), (&2.into(), &0.into()));
        let found = info(&dir.path().join("k/bootstrap.key"));
        assert_eq!((&found["file"], &found["key_set"]), (&"bootstrapping key".into(), &told["key_set"]));
        assert_eq!(found["parameters"], told["parameters"]);
        for fact in ["bits_needed", "bits_left", "bootstraps"] {
            assert!(found[fact].as_f64().unwrap() > 0.0 && found[fact] == said[fact], "{fact}");
        }
        // All files, or none.
        fs::remove_file(dir.path().join("k/secret.key")).unwrap();
        he(keygen).at(dir.path()).refuses();
        assert_eq!(names(&dir.path().join("k")), ["bootstrap.key", "eval.key", "public.key"]);
    }
}

#[test]
fn parameters_for_programs() {
    for (scheme, bootstraps) in [("bfv", 5), ("bgv", 6)] {
        let usual = json(&he(["params", scheme, "--bootstrap", "--json"]).ok());
        assert_eq!((&usual["degree"], &usual["slots"]), (&65536.into(), &65536.into()));
        assert_eq!((&usual["depth"], &usual["bootstraps"]), (&2.into(), &bootstraps.into()));
        // The chain of programs alone would be 256 bits, under the secret of the whole one.
        for secret in ["security_bits", "security_bits_of_secret", "security_bits_of_sparse_secret"] {
            assert_eq!(usual[secret], 128, "{scheme}: {secret}");
        }
        // The modulus is that of keys without bootstrapping, and the needs are heeded.
        let plain = json(&he(["params", scheme, "--json"]).ok());
        assert_eq!(usual["plain_modulus"], plain["plain_modulus"]);
        let narrow = ["params", scheme, "--bootstrap", "--depth", "1", "--plain-modulus", "786433", "--json"];
        let narrow = json(&he(narrow).ok());
        assert_eq!((&narrow["depth"], &narrow["plain_modulus"]), (&1.into(), &786433.into()));
        let left = |told: &Value| told["bits_left"].as_f64().unwrap();
        assert!(left(&narrow) < left(&usual));
    }
    let text = he(["params", "bfv", "--bootstrap"]).text();
    for part in ["bootstrap.key", "2 products in sequence between two refreshes", "a modulus of 1743 bits"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn parameters_that_cannot_be_are_refused() {
    let dir = folder();
    for command in [&["params", "bfv"][..], &["keygen", "bgv", "-o", "k"]] {
        let with = |more: &[&str]| he(command.iter().chain(&["--bootstrap"]).chain(more)).at(dir.path());
        // 65537 has slots up to N = 2^15.
        with(&["--plain-modulus", "65537"]).fails(
            2,
            "the plaintext modulus 65537 has no slots to put numbers into",
            "choose --bits instead, or a prime equal to 1 modulo 131072 or more, such as 786433",
        );
        with(&["--depth", "30"]).fails(
            1,
            "depth 30 modulo 8590458881 does not fit the 1746 bits of modulus that are secure at N = 2^16",
            "ask for less depth, a smaller plaintext modulus or a smaller margin",
        );
        with(&["insecure_toy", "--bits", "20"]).fails(
            2,
            "--depth, --bits and --plain-modulus are not for insecure_toy",
            "leave them out: its parameters are given",
        );
        for wrong in [&["--security", "192"][..], &["fast"]] {
            assert_eq!(with(wrong).run().code, Some(2), "{wrong:?}");
        }
        assert!(names(dir.path()).is_empty());
    }
}

/// Products past the budget of any fresh file, and sums, beside the same in 64 bits.
#[test]
fn programs_of_any_depth() {
    for (keys, least) in [(Keys::toy_bfv(), 2), (Keys::toy_bgv(), 2)] {
        let dir = folder();
        let path = |name: &str| dir.path().join(name);
        let mut next = noise(7);
        let rows = |next: &mut dyn FnMut() -> u64, most: u64| -> Vec<[i64; 2]> {
            let mut number = || (next() % (2 * most + 1)) as i64 - most as i64;
            (0..30).map(|_| [number(), number()]).collect()
        };
        let write = |name: &str, rows: &[[i64; 2]]| {
            let text: String = rows.iter().map(|[a, b]| format!("{a},{b}\n")).collect();
            fs::write(path("in.csv"), text).unwrap();
            encrypt(keys, &path("in.csv"), &path(name), &["--no-header", "--force"]);
        };
        let mut numbers = rows(&mut next, 1000);
        write("x.he", &numbers);
        let (mut refreshes, steps) = (0, 8);
        for _ in 0..steps {
            let (factors, summands) = (rows(&mut next, 1), rows(&mut next, 300));
            write("factors.he", &factors);
            write("summands.he", &summands);
            // A product takes 42 bits of budget at most, and a refresh 8.
            if predicted(&path("x.he")) < 51.0 {
                refresh(keys, &path("x.he"), &path("y.he"));
                assert!(predicted(&path("y.he")) > 100.0);
                fs::rename(path("y.he"), path("x.he")).unwrap();
                refreshes += 1;
            }
            for (operation, with) in [("mul", "factors.he"), ("add", "summands.he")] {
                let with = path(with);
                eval(keys, &[operation, "--with", with.to_str().unwrap()], &path("x.he"), &path("y.he"));
                fs::rename(path("y.he"), path("x.he")).unwrap();
            }
            for ((x, f), s) in numbers.iter_mut().zip(factors).zip(summands) {
                *x = [x[0] * f[0] + s[0], x[1] * f[1] + s[1]];
            }
        }
        assert!(refreshes >= least, "{refreshes}");
        let expected: String = numbers.iter().map(|[a, b]| format!("{a},{b}\n")).collect();
        assert_eq!(decrypt_text(keys, &path("x.he")), expected);
        let history = info(&path("x.he"))["history"].clone();
        let refreshed = history.as_array().unwrap().iter().filter(|name| *name == "refresh").count();
        assert_eq!((refreshed, history.as_array().unwrap().len()), (refreshes, 2 * steps + refreshes));
        // Refreshed files are summed up like any others.
        refresh(keys, &path("x.he"), &path("y.he"));
        eval(keys, &["sum"], &path("y.he"), &path("s.he"));
        let sums = [0, 1].map(|i| numbers.iter().map(|row| row[i]).sum::<i64>());
        assert_eq!(decrypt_text(keys, &path("s.he")), format!("{},{}\n", sums[0], sums[1]));
    }
}

/// Counts of categories, and pictures of several vectors, bit for bit.
#[test]
fn every_content_is_refreshed() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "party\nred\nblue\nred\ngreen\n").unwrap();
    let picture = eight(61, 43, 3, 5);
    picture.save(path("in.png")).unwrap();
    for (i, keys) in [Keys::toy_bfv(), Keys::toy_bgv()].into_iter().enumerate() {
        let named = |name: &str| path(&format!("{i}-{name}"));
        encrypt(keys, &path("in.csv"), &named("c.he"), &["--categories", "party"]);
        refresh(keys, &named("c.he"), &named("d.he"));
        for name in ["c", "d"] {
            let (from, to) = (named(&format!("{name}.he")), named(&format!("{name}-count.he")));
            eval(keys, &["count"], &from, &to);
        }
        let counts = decrypt_text(keys, &named("d-count.he"));
        assert_eq!(counts, decrypt_text(keys, &named("c-count.he")));
        assert!(["red,2", "blue,1", "green,1"].iter().all(|line| counts.contains(line)), "{counts}");
        encrypt(keys, &path("in.png"), &named("p.he"), &[]);
        assert!(info(&named("p.he"))["ciphertexts"].as_u64().unwrap() > 3);
        refresh(keys, &named("p.he"), &named("q.he"));
        decrypt(keys, &named("q.he"), &named("q.png"));
        assert!(image::open(named("q.png")).unwrap().as_bytes() == picture.as_bytes());
    }
}

#[test]
fn what_cannot_be_refreshed() {
    let (keys, dir) = (Keys::toy_bfv(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "1,2\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    encrypt(Keys::toy(), &path("in.csv"), &path("c.he"), &[]);
    encrypt(Keys::bfv(), &path("in.csv"), &path("b.he"), &[]);
    let try_with = |key: &str, input: &str| {
        let said = he(["eval", "refresh", input, "-k", key, "-o", "y.he"]).at(dir.path()).run();
        assert!(!path("y.he").exists());
        assert_eq!((said.code, said.stderr.lines().count()), (Some(1), 2), "{}", said.stderr);
        said.stderr
    };
    let own = bootstrap_key(keys);
    // Keys of another set, of other parameters, of other schemes, and other keys.
    let told = try_with(&bootstrap_key(Keys::toy_bfv_other()), "x.he");
    assert!(told.contains("x.he belongs to key set") && told.contains("to key set"), "{told}");
    assert!(try_with(&own, "b.he").contains("b.he belongs to key set"));
    let told = try_with(&bootstrap_key(Keys::toy()), "x.he");
    assert!(told.contains("x.he is encrypted by bfv, and the key is one of ckks"), "{told}");
    let told = try_with(&own, "c.he");
    assert!(told.contains("c.he is encrypted by ckks, and the key is one of bfv"), "{told}");
    assert!(try_with(&bootstrap_key(Keys::toy_bgv()), "x.he").contains("and the key is one of bgv"));
    let told = try_with(&keys.eval, "x.he");
    assert!(told.contains("is a key, but not a bootstrapping key"), "{told}");
    assert!(told.contains("keygen --bootstrap of ckks, bfv and bgv writes bootstrap.key"), "{told}");
    assert!(try_with("x.he", "x.he").contains("is an encrypted file, not a bootstrapping key"));
    assert!(try_with(&own, &own).contains("is a key, not an encrypted file"));
    // The bootstrapping key in place of others.
    let sum = he(["eval", "sum", "x.he", "-k", &own, "-o", "y.he"]).at(dir.path()).refuses();
    assert!(sum.contains("is a bootstrapping key, not an evaluation key"), "{sum}");
    he(["info", &own, "--key", &keys.secret]).fails(
        2,
        &format!("{own} has no noise budget to measure"),
        "leave --key out: it is for files encrypted under bfv and bgv",
    );
    // Damage anywhere is seen, and leaves no output.
    let mut bytes = fs::read(&own).unwrap();
    let len = bytes.len();
    for at in [20, 300, len / 2, len - 40] {
        bytes[at] ^= 1;
        fs::write(path("bad.key"), &bytes).unwrap();
        assert!(try_with("bad.key", "x.he").contains("bad.key"), "{at}");
        he(["info", "bad.key"]).at(dir.path()).refuses();
        bytes[at] ^= 1;
    }
    for cut in [0, 10, 200, len / 2, len - 112, len - 1] {
        fs::write(path("bad.key"), &bytes[..cut]).unwrap();
        let told = try_with("bad.key", "x.he");
        assert!(told.contains(if cut == 0 { "bad.key is empty" } else { "truncated" }), "{cut}: {told}");
    }
    // Too little budget is left.
    fs::copy(path("x.he"), path("s.he")).unwrap();
    for with in ["s.he", "s.he", "s.he", "x.he"] {
        eval(keys, &["mul", "--with", path(with).to_str().unwrap()], &path("x.he"), &path("t.he"));
        if predicted(&path("t.he")) < 40.0 {
            break;
        }
        fs::rename(path("t.he"), path("x.he")).unwrap();
    }
    fs::rename(path("t.he"), path("x.he")).unwrap();
    while predicted(&path("x.he")) >= 8.0 {
        let with = path("x.he");
        eval(keys, &["add", "--with", with.to_str().unwrap()], &with, &path("t.he"));
        fs::rename(path("t.he"), path("x.he")).unwrap();
    }
    let left = predicted(&path("x.he"));
    he(["eval", "refresh", "x.he", "-k", &own, "-o", "y.he"]).at(dir.path()).fails(
        1,
        &format!("a bootstrap needs 8.0 bits of noise budget, and {left:.1} are left"),
        "refresh earlier, while at least 8.0 bits of noise budget are left",
    );
    assert!(!path("y.he").exists());
}
