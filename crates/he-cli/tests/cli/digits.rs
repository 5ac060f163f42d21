//! Tables of machine integers in digits under CKKS: commands compute what Rust's integers do, and
//! files that are not what they say end in one error.

use crate::hostile::described;
use crate::process::{Keys, bootstrap_key, decrypt_text, encrypt, eval, folder, he};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A generator whose seed is printed.
fn rng() -> ChaCha20Rng {
    let seed = he_core::rand::rng().next_u64();
    println!("seed {seed}");
    ChaCha20Rng::seed_from_u64(seed)
}

/// Writes a column and encrypts it.
fn column(dir: &Path, name: &str, numbers: &[i16], options: &[&str]) -> PathBuf {
    let rows: String = numbers.iter().map(|x| format!("{x}\n")).collect();
    fs::write(dir.join("in.csv"), format!("x\n{rows}")).unwrap();
    let path = dir.join(name);
    encrypt(Keys::toy(), &dir.join("in.csv"), &path, options);
    path
}

/// The numbers of a decrypted column.
fn numbers(file: &Path) -> Vec<i64> {
    decrypt_text(Keys::toy(), file).lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

const SIGNED: &[&str] = &["--width", "16", "--signed"];

#[test]
fn signed_integers_are_those_of_rust() {
    let (dir, mut rng) = (folder(), rng());
    let edges = [0, 1, -1, 15, 16, i16::MAX, i16::MIN, -256];
    let mut a: Vec<i16> = edges.iter().flat_map(|&a| edges.map(|_| a)).collect();
    let mut b: Vec<i16> = edges.iter().flat_map(|_| edges).collect();
    a.extend((0..20).map(|_| rng.random::<i16>() >> rng.random_range(0..16)));
    b.extend((0..20).map(|_| rng.random::<i16>() >> rng.random_range(0..16)));
    let [x, y] = [("x", &a), ("y", &b)].map(|(name, values)| column(dir.path(), name, values, SIGNED));
    let result = dir.path().join("result");
    let with = y.to_str().unwrap();
    type Function = fn(i16, i16) -> i64;
    let of_two: [(&[&str], Function); 4] = [
        (&["sub", "--with", with], |a, b| a.wrapping_sub(b).into()),
        (&["ge", "--with", with], |a, b| i64::from(a >= b)),
        (&["lt", "--number", "-255"], |a, _| i64::from(a < -255)),
        (&["rem", "--by", "10"], |a, _| (a % 10).into()),
    ];
    for (call, f) in of_two {
        eval(Keys::toy(), call, &x, &result);
        let expected: Vec<i64> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
        assert_eq!(numbers(&result), expected, "{call:?}");
        fs::remove_file(&result).unwrap();
    }
}

/// Conditions are combined and choose, and whoever computes is told of a short table.
#[test]
fn conditions_choose() {
    let dir = folder();
    let a = column(dir.path(), "a", &[3, 200, 17, 255], &["--width", "8"]);
    let at = |name: &str| dir.path().join(name);
    eval(Keys::toy(), &["gt", "--number", "10"], &a, &at("above"));
    eval(Keys::toy(), &["le", "--number", "200"], &a, &at("below"));
    eval(Keys::toy(), &["and", "--with", at("below").to_str().unwrap()], &at("above"), &at("both"));
    assert_eq!(numbers(&at("both")), [0, 1, 1, 0]);
    eval(Keys::toy(), &["not"], &a, &at("turned"));
    let choices = ["--with", a.to_str().unwrap(), "--otherwise"].map(str::to_owned);
    let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
    let turned = at("turned");
    let call = [&["select"], &choices[..], &[turned.to_str().unwrap()]].concat();
    eval(Keys::toy(), &call, &at("both"), &at("chosen"));
    assert_eq!(numbers(&at("chosen")), [252, 200, 17, 0]);

    let told = he(["info", at("both").to_str().unwrap(), "--json"]).ok();
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!((&told["width"], &told["table"]["rows"]), (&1.into(), &4.into()), "{told}");
    let text = he(["info", a.to_str().unwrap()]).text();
    assert!(text.contains("encrypted table in digits"), "{text}");
}

#[test]
fn other_files_and_keys_are_refused() {
    let (dir, keys) = (folder(), Keys::toy());
    let a = column(dir.path(), "a", &[1, 2, 3], &["--width", "8"]);
    let b = column(dir.path(), "b", &[1, 2, 3], &["--width", "16"]);
    let real = column(dir.path(), "real", &[1, 2, 3], &[]);
    let [a, b, real] = [&a, &b, &real].map(|path| path.to_str().unwrap());
    let call = |operation: &[&str], input: &str| {
        he(["eval"].iter().chain(operation).chain(&[input, "-k", &keys.eval, "-o", "out"])).at(dir.path())
    };
    call(&["add", "--with", b], a).fails(
        1,
        &format!("{a} holds numbers of 8 bits, {b} of 16 bits"),
        "encrypt both with the same --width",
    );
    call(&["add", "--with", real], a).fails(
        1,
        &format!("{real} is an encrypted table, and the other file holds integers in digits"),
        "encrypt both with the same --width",
    );
    call(&["lt", "--number", "256"], a).fails(2, "256 is not an integer of 8 bits", "give one that is");
    call(&["lt", "--number", "x"], a).fails(
        2,
        "\"x\" is not an integer",
        "give an integer in decimal digits",
    );
    call(&["shl", "--by", "8"], a).fails(
        2,
        "bits of integers of 8 bits move by less than 8 places, not by 8",
        "give fewer places",
    );
    call(&["div", "--by", "0"], a).fails(2, "there is no quotient by 0", "divide by a number from 1 on");
    call(&["top", "--count", "4"], a).fails(2, "4 numbers are asked for, of 3", "ask for 1 to 3");
    let other = bootstrap_key(Keys::toy_other());
    let message = call(&["not", "--bootstrap-key", &other], a).refuses();
    assert!(message.starts_with(a) && message.contains(&other), "{message}");
    let message = call(&["neg"], real).refuses();
    assert_eq!(message, format!("{real} is an encrypted table, and neg is for tables in digits"));
    let message = call(&["mean"], a).refuses();
    assert_eq!(message, format!("{a} is an encrypted table in digits, and mean is for tables"));
    let needless = ["sum", "--bootstrap-key", &bootstrap_key(keys)];
    call(&needless, real).fails(
        2,
        &format!("sum of {real} takes no bootstrapping key"),
        "leave --bootstrap-key out",
    );
    he(["encrypt", "in.csv", "--width", "128", "-k", &keys.public, "-o", "out"]).at(dir.path()).fails(
        2,
        "under ckks there are no machine integers of 128 bits",
        "choose --width 8, 16, 32 or 64, or make keys with keygen tfhe",
    );
    assert!(!dir.path().join("out").exists());
}

/// Descriptions that do not fit their frames, frames that are missing, and statements about noise,
/// of which there are none.
#[test]
fn hostile_files_are_refused() {
    let (dir, keys) = (folder(), Keys::toy());
    let a = column(dir.path(), "a", &[1, 2, 3], &["--width", "8"]);
    let path = dir.path().join("hostile");
    let content = |more: &str, value: Value| {
        let mut content =
            json!({ "type": "digits", "width": 8, "signed": false, "rows": 3, "columns": ["x"] });
        content[more] = value;
        ("/content", content)
    };
    for (field, value) in [
        ("/content/width", json!(16)),
        ("/content/width", json!(12)),
        ("/content/width", json!(1)),
        ("/content/signed", json!(1)),
        ("/content/rows", json!(600)),
        ("/content/rows", json!(0)),
        ("/content/rows", json!(u64::MAX)),
        ("/content/columns", json!(["x", "y"])),
        content("noise_log2", json!(-90)),
        content("failure_log2", json!(-128)),
        content("digits", json!(2)),
        ("version", json!(5)),
    ] {
        described(&a, &path, &[(field, value.clone())]);
        let path = path.to_str().unwrap();
        for call in [
            vec!["eval", "not", path, "-k", &keys.eval, "-o", "out"],
            vec!["decrypt", path, "-k", &keys.secret, "-o", "out"],
        ] {
            let message = he(call).at(dir.path()).refuses();
            assert!(message.starts_with(path), "{field} {value}: {message}");
            assert!(!dir.path().join("out").exists());
        }
    }
}
