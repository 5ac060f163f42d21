//! `decrypt --publish`: results for others to see.

use crate::process::{Call, Keys, folder, he};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn publish(key: &str, dir: &Path, options: &[&str]) -> Call {
    let call = ["decrypt", "x.he", "-k", key, "-o", "out.csv", "--force", "--publish", "--json"];
    he(call.iter().chain(options)).at(dir)
}

/// The object that a success prints.
fn told(call: Call) -> Value {
    serde_json::from_slice(&call.ok()).unwrap()
}

/// Encrypts a table.
fn encrypted(key: &str, dir: &Path, text: &str, options: &[&str]) {
    fs::write(dir.join("in.csv"), text).unwrap();
    he(["encrypt", "in.csv", "-k", key, "-o", "x.he", "--force"].iter().chain(options)).at(dir).ok();
}

/// BFV and BGV publish what they decrypt, and count vectors.
#[test]
fn exact_results_are_counted() {
    for keys in [Keys::bfv(), Keys::bgv()] {
        let dir = folder();
        encrypted(&keys.public, dir.path(), "a,b\n1,-5\n2,6\n", &[]);
        let object = told(publish(&keys.secret, dir.path(), &[]));
        let vectors = object["published"].as_u64().unwrap();
        assert!((1..=2).contains(&vectors) && object["flood_error_log2"].is_null(), "{object}");
        assert_eq!(fs::read_to_string(dir.path().join("out.csv")).unwrap(), "a,b\n1,-5\n2,6\n");
        let exactly = vectors.to_string();
        publish(&keys.secret, dir.path(), &["--queries", &exactly]).ok();
        // Without --publish nothing is counted.
        let plain = ["decrypt", "x.he", "-k", &keys.secret, "-o", "out.csv", "--force", "--json"];
        assert!(told(he(plain).at(dir.path()))["published"].is_null());
    }
    // One vector per channel, and one decryption fewer than there are.
    let (keys, dir) = (Keys::bfv(), folder());
    image::RgbImage::from_fn(9, 7, |x, y| image::Rgb([x as u8, y as u8, 3]))
        .save(dir.path().join("in.png"))
        .unwrap();
    he(["encrypt", "in.png", "-k", &keys.public, "-o", "x.he"]).at(dir.path()).ok();
    let call = |queries: &str| {
        he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.png", "--publish", "--queries", queries])
            .at(dir.path())
    };
    let message = call("2").refuses();
    assert!(message.contains("are to be published, and") && message.contains("of 2 are left"), "{message}");
    assert!(!dir.path().join("out.png").exists());
    call("3").ok();
}

/// The flags that a refusal names, if it names some.
fn offered(stderr: &str) -> Option<Vec<&str>> {
    let hint = stderr.lines().nth(1).unwrap();
    let start = hint.find("--queries")?;
    Some(hint[start..].split(' ').take(4).collect())
}

/// A flood that would hide the numbers is refused with flags that leave ten bits of this file. They
/// do, and one more bit of security is one bit less.
#[test]
fn refusals_name_flags_that_work() {
    let dir = folder();
    he(["keygen", "ckks", "--precision", "45", "--depth", "1", "--radius", "0", "-o", "keys"])
        .at(dir.path())
        .ok();
    // A column is one vector here, and a channel of the picture another.
    let rows = |count: usize| (0..count).map(|i| format!("0.5,{}\n", i % 7)).collect::<String>();
    for (text, vectors) in [("a\n0.5\n-0.25\n".to_owned(), 1), ("a,b\n".to_owned() + &rows(5000), 4)] {
        encrypted("keys/public.key", dir.path(), &text, &["--offset", "none"]);
        let refused = he(["decrypt", "x.he", "-k", "keys/secret.key", "-o", "out.csv", "--publish"])
            .at(dir.path())
            .run();
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.starts_with("he-cli: error: hiding the noise takes "), "{}", refused.stderr);
        assert!(refused.stderr.contains("make keys with keygen ckks --publish, and encrypt again"));
        assert!(!dir.path().join("out.csv").exists());
        let flags = offered(&refused.stderr).unwrap();
        let told = told(publish("keys/secret.key", dir.path(), &flags));
        assert_eq!((flags[1], told["published"].as_u64()), (vectors.to_string().as_str(), Some(vectors)));
        let error = told["flood_error_log2"].as_f64().unwrap();
        assert!((-12.0..=-10.0).contains(&error), "2^{error} with {flags:?}");
        fs::remove_file(dir.path().join("out.csv")).unwrap();
    }
    // Little precision leaves room for no security, and there are no flags to offer.
    let (keys, dir) = (Keys::shallow(), folder());
    encrypted(&keys.public, dir.path(), "a\n0.5\n-0.25\n", &[]);
    let refused =
        he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out.csv", "--publish"]).at(dir.path()).run();
    assert_eq!((refused.code, offered(&refused.stderr)), (Some(1), None), "{}", refused.stderr);
    assert!(refused.stderr.contains("too little precision to publish anything"), "{}", refused.stderr);
}

/// Keys of `keygen --publish` have room for the flood of the defaults: published numbers have the
/// precision that was asked for.
#[test]
fn keys_for_publishing_need_no_more_flags() {
    for (scheme, options) in
        [("ckks", &["--depth", "1", "--radius", "0"][..]), ("bigckks", &["--depth-bits", "20"][..])]
    {
        let dir = folder();
        let keygen = ["keygen", scheme, "--publish", "--precision", "12", "-o", "keys"];
        he(keygen.iter().chain(options)).at(dir.path()).ok();
        // In all slots of a vector, where errors are greatest.
        let table = "a\n".to_owned() + &"0.5\n-0.25\n0.125\n".repeat(6000);
        encrypted("keys/public.key", dir.path(), &table, &[]);
        let object = told(publish("keys/secret.key", dir.path(), &[]));
        let error = object["flood_error_log2"].as_f64().unwrap();
        assert!((-16.0..=-12.0).contains(&error), "{scheme}: 2^{error}");
        let text = fs::read_to_string(dir.path().join("out.csv")).unwrap();
        assert_eq!(text.lines().count(), 18001);
        for (line, expected) in text.lines().skip(1).zip([0.5, -0.25, 0.125].into_iter().cycle()) {
            let found: f64 = line.parse().unwrap();
            assert!((found - expected).abs() < error.exp2(), "{scheme}: {found} for {expected}");
        }
        // To its holder they show the numbers themselves.
        he(["decrypt", "x.he", "-k", "keys/secret.key", "-o", "own.csv"]).at(dir.path()).ok();
        assert!(fs::read_to_string(dir.path().join("own.csv")).unwrap() == table, "{scheme}");
        // More decryptions are more bits: 2^20 of them are ten.
        let many = ["params", scheme, "--publish", "--precision", "12", "--queries", "1048576", "--json"];
        let few = ["params", scheme, "--publish", "--precision", "12", "--json"];
        let scale = |call: &[&str]| {
            let object: Value = serde_json::from_slice(&he(call.iter().chain(options)).ok()).unwrap();
            object["scale_log2"].as_f64().unwrap()
        };
        assert!((scale(&many) - scale(&few) - 10.0).abs() <= 1.0, "{scheme}");
    }
}

/// Keys whose scale would be too wide are refused, with flags that work.
#[test]
fn keys_that_no_scale_can_hold_name_flags_that_work() {
    let call = |options: &[&str]| he(["params", "ckks", "--publish"].iter().chain(options)).run();
    for wanted in [["--statistical-security", "100"], ["--precision", "60"]] {
        let refused = call(&wanted);
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        let (message, hint) = refused.stderr.split_once('\n').unwrap();
        assert!(
            message.contains("need a scale of 2^") && message.contains("2^120 is the widest"),
            "{message}"
        );
        let most = |flag: &str| -> Option<&str> {
            hint.split_once(&format!("{flag} up to "))?.1.split([',', '\n']).next()
        };
        let offered: Vec<_> = ["--precision", "--statistical-security"]
            .into_iter()
            .filter_map(|flag| Some([flag, most(flag)?]))
            .collect();
        assert!(!offered.is_empty(), "{hint}");
        for [flag, most] in offered {
            let mut options = wanted.to_vec();
            if flag == wanted[0] {
                options[1] = most;
            } else {
                options.extend([flag, most]);
            }
            let found = call(&options);
            assert_eq!(found.code, Some(0), "{options:?}: {}", found.stderr);
        }
    }
    // keygen refuses the same before it makes a folder.
    let dir = folder();
    let refused =
        he(["keygen", "ckks", "--publish", "--statistical-security", "100", "-o", "k"]).at(dir.path()).run();
    assert!(refused.stderr.contains("--statistical-security up to "), "{}", refused.stderr);
    assert!(!dir.path().join("k").exists());
}

/// The numbers come back, off by the flood, which differs each time.
#[test]
fn real_numbers_are_flooded() {
    for (scheme, options) in
        [("ckks", &["--depth", "1", "--radius", "0"][..]), ("bigckks", &["--depth-bits", "20"][..])]
    {
        let dir = folder();
        let keygen = ["keygen", scheme, "--precision", "45", "-o", "keys"];
        he(keygen.iter().chain(options)).at(dir.path()).ok();
        encrypted("keys/public.key", dir.path(), "a\n0.5\n-0.25\n0.125\n", &[]);
        let numbers = || -> Vec<f64> {
            let text = fs::read_to_string(dir.path().join("out.csv")).unwrap();
            text.lines().skip(1).map(|line| line.parse().unwrap()).collect()
        };
        let few = ["--queries", "2", "--statistical-security", "20"];
        let first = told(publish("keys/secret.key", dir.path(), &few));
        assert_eq!(first["published"], 1, "{first}");
        let error = first["flood_error_log2"].as_f64().unwrap();
        assert!((-40.0..-4.0).contains(&error), "{scheme}: 2^{error}");
        let a = numbers();
        for (found, expected) in a.iter().zip([0.5, -0.25, 0.125]) {
            assert!((found - expected).abs() < error.exp2(), "{scheme}: {found}, {expected}, 2^{error}");
            // The noise alone is 2^-45.
            assert!((found - expected).abs() > (error - 20.0).exp2(), "{scheme}: {found} is not flooded");
        }
        publish("keys/secret.key", dir.path(), &few).ok();
        assert_ne!(numbers(), a, "{scheme}: the flood is new each time");
        // More decryptions take more bits: sixteen more are 4 bits.
        let more = told(publish(
            "keys/secret.key",
            dir.path(),
            &["--queries", "32", "--statistical-security", "20"],
        ));
        assert!((more["flood_error_log2"].as_f64().unwrap() - error - 4.0).abs() < 1e-9, "{scheme}: {more}");
    }
}

/// Parameters of TFHE that fail often are refused.
#[test]
fn integers_are_published_if_lookups_hardly_fail() {
    let (keys, dir) = (Keys::tfhe(), folder());
    encrypted(&keys.secret, dir.path(), "a,b\n1,200\n", &["--width", "8"]);
    assert_eq!(told(publish(&keys.secret, dir.path(), &[]))["published"], 2);
    let message = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out", "--publish", "--queries", "1"])
        .at(dir.path())
        .refuses();
    assert_eq!(message, "2 decryptions are to be published, and 1 of 1 are left");

    he(["keygen", "tfhe", "--failure", "2^-40", "-o", "often"]).at(dir.path()).ok();
    encrypted("often/secret.key", dir.path(), "a\n1\n", &["--width", "8"]);
    let message =
        he(["decrypt", "x.he", "-k", "often/secret.key", "-o", "out", "--publish"]).at(dir.path()).refuses();
    assert!(message.starts_with("lookups fail with probability 2^-40."), "{message}");
    assert!(message.ends_with("publishing needs 2^-74.0 or less"), "{message}");
    assert!(!dir.path().join("out").exists());
}

#[test]
fn options_of_publishing_have_their_place() {
    let (keys, dir) = (Keys::usual(), folder());
    he(["keygen", "aes", "-o", "my.key"]).at(dir.path()).ok();
    encrypted("my.key", dir.path(), "secret", &[]);
    he(["decrypt", "x.he", "-k", "my.key", "-o", "out", "--publish"]).at(dir.path()).fails(
        2,
        "--publish is for homomorphic schemes, and this is a file under AES",
        "leave it out: what AES decrypts reveals nothing of its key",
    );
    for option in [["--queries", "5"], ["--statistical-security", "50"]] {
        let call = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "out"].iter().chain(&option));
        let outcome = call.at(dir.path()).run();
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert!(outcome.stderr.contains("--publish"), "{}", outcome.stderr);
    }
    for option in [["--queries", "0"], ["--statistical-security", "257"]] {
        let call = ["decrypt", "x.he", "-k", &keys.secret, "-o", "out", "--publish"];
        assert_eq!(he(call.iter().chain(&option)).at(dir.path()).run().code, Some(2), "{option:?}");
    }
}
