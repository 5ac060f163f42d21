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
            // What is not computed on comes back to the digit.
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
