//! Two files under CKKS and bigckks; what bigckks does besides.

use crate::pictures::{Planes, eight, sixteen};
use crate::process::{DEVICE, Keys, decrypt, decrypt_text, encrypt, eval, folder, he, names};
use std::fs;

#[test]
fn images_add_subtract_and_multiply_as_light() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    for (scheme, keys) in [("ckks", Keys::usual()), ("bigckks", Keys::bigckks())] {
        for (channels, light, deep) in [(1, 1, true), (4, 3, false)] {
            let name = |file: &str| path(&format!("{scheme}-{channels}-{file}"));
            let make = if deep { sixteen } else { eight };
            let (a, b) = (make(70, 50, channels, 1), make(70, 50, channels, 2));
            for (file, picture) in [("a", &a), ("b", &b)] {
                picture.save(name(&format!("{file}.png"))).unwrap();
                encrypt(keys, &name(&format!("{file}.png")), &name(&format!("{file}.he")), &[]);
            }
            let (x, y) = (Planes::of(&a), Planes::of(&b));
            let with = name("b.he").to_str().unwrap().to_owned();
            for (operation, f) in
                [("add", (|a, b| a + b) as fn(f64, f64) -> f64), ("sub", |a, b| a - b), ("mul", |a, b| a * b)]
            {
                let (result, out) = (name(&format!("{operation}.he")), name(&format!("{operation}.png")));
                eval(keys, &[operation, "--with", &with], &name("a.he"), &result);
                decrypt(keys, &result, &out);
                let mut expected = x.clone();
                for (channel, other) in expected.channels.iter_mut().zip(&y.channels).take(light) {
                    channel.iter_mut().zip(other).for_each(|(a, &b)| *a = f(*a, b));
                }
                let peak = if deep { 65535.0 } else { 255.0 };
                expected.assert_shown(&Planes::read(&out), peak, &format!("{scheme} {operation}"));
            }
        }
    }
}

fn close(found: &str, expected: &[&[f64]], what: &str) {
    let rows: Vec<Vec<f64>> =
        found.lines().skip(1).map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), expected.len(), "{what}: {found}");
    for (row, expected) in rows.iter().zip(expected) {
        for (x, e) in row.iter().zip(*expected) {
            assert!((x - e).abs() <= 1e-4 * e.abs().max(1.0), "{what}: {x}, not {e}");
        }
    }
}

#[test]
fn tables_of_unlike_size_combine() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    for (scheme, keys) in [("ckks", Keys::usual()), ("bigckks", Keys::bigckks())] {
        let name = |file: &str| path(&format!("{scheme}-{file}"));
        fs::write(name("a.csv"), "x,y\n1.5,1000\n-0.25,-3000\n").unwrap();
        fs::write(name("b.csv"), "x,z\n100,0.5\n-40,0.125\n").unwrap();
        for file in ["a", "b"] {
            let (input, output) = (name(&format!("{file}.csv")), name(&format!("{file}.he")));
            encrypt(keys, &input, &output, &[]);
            // Values that are not computed on come back to the digit.
            assert_eq!(decrypt_text(keys, &output), fs::read_to_string(&input).unwrap());
        }
        let with = |file: &str| name(file).to_str().unwrap().to_owned();
        let text = |file: &str| decrypt_text(keys, &name(file));
        for (operation, expected) in [
            ("add", [&[101.5, 1000.5][..], &[-40.25, -2999.875]]),
            ("sub", [&[-98.5, 999.5], &[39.75, -3000.125]]),
            ("mul", [&[150.0, 500.0], &[10.0, -375.0]]),
        ] {
            let result = format!("{operation}.he");
            eval(keys, &[operation, "--with", &with("b.he")], &name("a.he"), &name(&result));
            close(&text(&result), &expected, &format!("{scheme} {operation}"));
        }
        if scheme == "ckks" {
            eval(keys, &["sum"], &name("add.he"), &name("sum.he"));
            close(&text("sum.he"), &[&[61.25, -1999.375]], "sum of a sum");
            // Sums of equal exponents take no level.
            eval(keys, &["add", "--with", &with("mul.he")], &name("mul.he"), &name("twice.he"));
            close(&text("twice.he"), &[&[300.0, 1000.0], &[20.0, -750.0]], "twice a product");
        }
    }
}

#[test]
fn bigckks_images_come_back() {
    let (keys, dir) = (Keys::bigckks(), folder());
    let path = |name: &str| dir.path().join(name);
    for (channels, make) in [(3, eight as fn(u32, u32, usize, u64) -> _), (2, sixteen)] {
        let picture = make(133, 61, channels, 3);
        let name = |file: &str| path(&format!("{channels}-{file}"));
        picture.save(name("in.png")).unwrap();
        encrypt(keys, &name("in.png"), &name("x.he"), &[]);
        decrypt(keys, &name("x.he"), &name("out.png"));
        assert_eq!(Planes::read(&name("out.png")), Planes::of(&picture));
    }
}

#[test]
fn what_bigckks_does_not_do_is_said() {
    let (keys, dir) = (Keys::bigckks(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "x\n1\n2\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    let before = names(dir.path());
    let at = |arguments: &[&str]| he(arguments).at(dir.path()).env(DEVICE, "cpu");
    let there = "under bigckks there are: images and tables add, sub and mul";
    at(&["eval", "sum", "x.he", "-k", &keys.eval, "-o", "y.he"]).fails(1, "bigckks has no sum", there);
    at(&["eval", "count", "x.he", "-k", &keys.eval, "-o", "y.he"]).fails(1, "bigckks has no count", there);
    at(&["encrypt", "in.csv", "-k", &keys.secret, "-o", "y.he"]).fails(
        1,
        "bigckks encrypts by public key only",
        "give the public.key of the same keygen",
    );
    at(&["encrypt", "in.csv", "-k", &keys.public, "--categories", "x", "-o", "y.he"]).fails(
        2,
        "--categories is for bfv and bgv keys, and this is a key of bigckks",
        "make keys with keygen bfv",
    );
    at(&["info", "x.he", "--key", &keys.secret]).fails(
        2,
        "x.he has no noise budget to measure",
        "leave --key out: it is for files encrypted under bfv and bgv",
    );
    assert_eq!(names(dir.path()), before);
    let text = at(&["info", "x.he"]).text();
    for part in ["encrypted table", "\nbits left    ", "\nmodulus      2^"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // Products until the bits end.
    let mut file = "x.he".to_owned();
    for product in 0.. {
        assert!(product < 20, "the modulus ends");
        let next = format!("{product}.he");
        let outcome = at(&["eval", "mul", &file, "--with", &file, "-k", &keys.eval, "-o", &next]).run();
        if outcome.code != Some(0) {
            assert!(
                product >= 1 && outcome.stderr.contains("hint: make keys with a larger"),
                "{}",
                outcome.stderr
            );
            break;
        }
        file = next;
    }
}

/// Keys of 60 bits, two primes a level: small differences of large numbers come out, and images as
/// with other keys.
#[test]
fn sixty_bits_of_precision_show_small_differences() {
    let dir = folder();
    let path = |name: &str| dir.path().join(name);
    he(["keygen", "ckks", "--precision", "60", "--range", "8", "--radius", "1", "-o", "keys"])
        .at(dir.path())
        .ok();
    let told: serde_json::Value =
        serde_json::from_slice(&he(["info", "keys/eval.key", "--json"]).at(dir.path()).ok()).unwrap();
    assert!(told["parameters"]["scale_log2"].as_f64().unwrap() > 75.0, "{told}");
    assert!(told["parameters"]["q"].as_array().unwrap().len() >= 6, "{told}");
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    let (secret, public, key) =
        (["-k", "keys/secret.key"], ["-k", "keys/public.key"], ["-k", "keys/eval.key"]);

    // Large numbers cancel in the first sum, and in the variance of the second column.
    fs::write(
        path("in.csv"),
        "a,b\n123456789.125,30000001\n-123456789,29999999\n0.0000001,30000001\n0,29999999\n",
    )
    .unwrap();
    at(&[&["encrypt", "in.csv", "-o", "in.he"], &public[..]].concat()).ok();
    let decrypted = at(&[&["decrypt", "in.he", "-o", "-"], &secret[..]].concat()).text();
    let numbers = |line: &str| line.split(',').map(|x| x.parse::<f64>().unwrap()).collect::<Vec<_>>();
    let lines: Vec<Vec<f64>> = decrypted.lines().skip(1).map(numbers).collect();
    assert_eq!((lines[0][0], lines[0][1], lines[3][1]), (123_456_789.125, 30_000_001.0, 29_999_999.0));
    assert!((lines[2][0] - 1e-7).abs() < 1e-9, "{decrypted}");
    let statistic = |name: &str| {
        at(&[&["eval", name, "in.he", "-o", "out.he", "--force"], &key[..]].concat()).ok();
        let text = at(&[&["decrypt", "out.he", "-o", "-"], &secret[..]].concat()).text();
        numbers(text.lines().nth(1).unwrap())
    };
    assert!((statistic("sum")[0] - 0.125_000_1).abs() < 2e-9);
    let variance = statistic("variance")[1];
    assert!((variance - 1.0).abs() < 0.1, "{variance}");

    let picture = eight(70, 50, 3, 4);
    picture.save(path("in.png")).unwrap();
    at(&[&["encrypt", "in.png", "-o", "p.he"], &public[..]].concat()).ok();
    at(&[&["decrypt", "p.he", "-o", "same.png"], &secret[..]].concat()).ok();
    assert_eq!(Planes::read(&path("same.png")), Planes::of(&picture));
    at(&[&["eval", "blur", "p.he", "-o", "blurred.he"], &key[..]].concat()).ok();
    at(&[&["decrypt", "blurred.he", "-o", "blurred.png"], &secret[..]].concat()).ok();
    let usual = Keys::usual();
    encrypt(usual, &path("in.png"), &path("u.he"), &[]);
    eval(usual, &["blur"], &path("u.he"), &path("v.he"));
    decrypt(usual, &path("v.he"), &path("v.png"));
    let (found, expected) = (Planes::read(&path("blurred.png")), Planes::read(&path("v.png")));
    for (found, expected) in found.channels.iter().flatten().zip(expected.channels.iter().flatten()) {
        // In units of white; halves of a level may round either way.
        assert!((found - expected).abs() < 1.01 / 255.0, "{found}, not {expected}");
    }
}

#[test]
fn short_columns_share_ciphertexts_of_bigckks() {
    let (keys, dir) = (Keys::bigckks(), folder());
    let path = |name: &str| dir.path().join(name);
    // Wide and narrow columns, near zero and far from it.
    let column = |i: usize, seed: usize| -> [f64; 3] {
        let (centre, width) = [(0.0, 1.0), (1e4, 1.0), (0.0, 1000.0), (-50.0, 0.5)][(i + seed) % 4];
        [0, 1, 2].map(|row| centre + width * (((i * 7 + row * 3 + seed) % 11) as f64 / 5.0 - 1.0))
    };
    let tables: [Vec<[f64; 3]>; 2] = [0, 1].map(|seed| (0..20).map(|i| column(i, seed)).collect());
    for (name, table) in ["a", "b"].into_iter().zip(&tables) {
        let line = |row: usize| table.iter().map(|c| c[row].to_string()).collect::<Vec<_>>().join(",") + "\n";
        let names: Vec<String> = (0..20).map(|i| format!("c{i}")).collect();
        let text = format!("{}\n{}", names.join(","), (0..3).map(line).collect::<String>());
        fs::write(path(&format!("{name}.csv")), text).unwrap();
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    fs::write(path("one.csv"), "x\n1\n2\n3\n").unwrap();
    encrypt(keys, &path("one.csv"), &path("one.he"), &[]);
    let size = |name: &str| fs::metadata(path(name)).unwrap().len();
    assert!(size("a.he") < size("one.he") + 5000, "twenty columns in the ciphertext of one");
    let with = path("b.he").to_str().unwrap().to_owned();
    for (operation, f) in
        [("add", (|a, b| a + b) as fn(f64, f64) -> f64), ("sub", |a, b| a - b), ("mul", |a, b| a * b)]
    {
        for levels in ["keep", "drop"] {
            let out = format!("{operation}-{levels}.he");
            eval(keys, &[operation, "--levels", levels, "--with", &with], &path("a.he"), &path(&out));
            let text = decrypt_text(keys, &path(&out));
            for (row, line) in text.lines().skip(1).enumerate() {
                for (i, x) in line.split(',').enumerate() {
                    let (x, a, b) = (x.parse::<f64>().unwrap(), tables[0][i][row], tables[1][i][row]);
                    let size = |i: usize, t: usize| tables[t][i].iter().fold(0f64, |m, x| m.max(x.abs()));
                    let (sa, sb) = (size(i, 0), size(i, 1));
                    let scale = if operation == "mul" { sa * sb } else { sa + sb };
                    assert!((x - f(a, b)).abs() <= 1e-6 * scale, "{operation} of {a} and {b}: {x}");
                }
            }
        }
        let (keep, drop) = (size(&format!("{operation}-keep.he")), size(&format!("{operation}-drop.he")));
        assert!(drop < keep, "{operation}: {drop} and {keep}");
    }
}
