//! TFHE: integers come back; sums, comparisons, sorting and choices are those of native integers.

use crate::pictures::noise;
use crate::process::{Call, Keys, folder, he, names};
use he_core::backend::Cpu;
use he_core::tfhe::{SeededUint, presets};
use he_core::wire::{Frame, FrameKind, FrameReader, FrameWriter, Wire};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A table of one or more columns.
fn csv(header: &str, rows: impl IntoIterator<Item = Vec<u64>>) -> String {
    let line = |row: Vec<u64>| row.iter().map(u64::to_string).collect::<Vec<_>>().join(",") + "\n";
    format!("{header}\n") + &rows.into_iter().map(line).collect::<String>()
}

fn encrypt(keys: &Keys, dir: &Path, name: &str, width: &str, text: &str) {
    fs::write(dir.join("in.csv"), text).unwrap();
    he(["encrypt", "in.csv", "--width", width, "-k", &keys.secret, "-o", name, "--force"]).at(dir).ok();
}

fn decrypt(keys: &Keys, dir: &Path, name: &str) -> String {
    he(["decrypt", name, "-k", &keys.secret, "-o", "-"]).at(dir).text()
}

fn eval(keys: &Keys, dir: &Path, arguments: &[&str]) -> Call {
    let files = ["-k", &keys.eval, "-o", "out.he", "--force"];
    he(["eval"].iter().chain(arguments).chain(&files)).at(dir)
}

#[test]
fn integers_of_every_width_come_back() {
    let (keys, dir) = (Keys::tfhe(), folder());
    for (width, most) in [
        ("8", "255"),
        ("16", "65535"),
        ("32", "4294967295"),
        ("64", "18446744073709551615"),
        ("128", "340282366920938463463374607431768211455"),
        ("256", "115792089237316195423570985008687907853269984665640564039457584007913129639935"),
    ] {
        let text = format!("least,\"a, b\"\n0,{most}\n1,{}\n", &most[..most.len() - 1]);
        encrypt(keys, dir.path(), "x.he", width, &text);
        assert_eq!(decrypt(keys, dir.path(), "x.he"), text, "{width} bits");
        // One more than fits, by its last digit, and by its length.
        for beyond in [format!("{}6", &most[..most.len() - 1]), format!("{most}0")] {
            fs::write(dir.path().join("in.csv"), format!("a,b\n1,2\n3,{beyond}\n")).unwrap();
            let call = he(["encrypt", "in.csv", "--width", width, "-k", &keys.secret, "-o", "y.he"]);
            let message = call.at(dir.path()).refuses();
            assert!(message.starts_with("in.csv, line 3, column 2 (\"b\"): \""), "{message}");
            assert!(message.ends_with(&format!("does not fit {width} bits")), "{message}");
        }
    }
    // 32 bits unless told; no header, leading zeros, spaces; through pipes.
    let piped = he(["encrypt", "-", "-k", &keys.secret, "-o", "-"]).stdin(b"007; 1\n 4294967295;2\n").ok();
    let text = he(["decrypt", "-", "-k", &keys.secret, "-o", "-"]).stdin(&piped).text();
    assert_eq!(text, "7,1\n4294967295,2\n");
    for (field, problem) in [
        ("-1", "\"-1\" is not an unsigned integer"),
        ("1.5", "\"1.5\" is not an unsigned integer"),
        ("1_0", "\"1_0\" is not a number"),
        ("", "the field is empty"),
    ] {
        fs::write(dir.path().join("in.csv"), format!("a,b\n1,2\n{field},2\n")).unwrap();
        let message = he(["encrypt", "in.csv", "-k", &keys.secret, "-o", "y.he"]).at(dir.path()).refuses();
        assert_eq!(message, format!("in.csv, line 3, column 1 (\"a\"): {problem}"));
    }
    assert_eq!(names(dir.path()), ["in.csv", "x.he"]);
}

/// The frames of a file, each under the checksum that it has then.
fn rewritten(bytes: &[u8], change: impl Fn(Frame) -> Frame) -> Vec<u8> {
    let (mut reader, mut writer) = (FrameReader::new(bytes), FrameWriter::new(Vec::new()));
    let mut last = None;
    while let Some(frame) = reader.next_frame(|_, _| 1 << 24).unwrap() {
        let frame = change(frame);
        writer.write(&frame).unwrap();
        last = Some(frame.fingerprint);
    }
    writer.finish(last.unwrap()).unwrap()
}

/// Masks of fresh ciphertexts are a seed: files are small, and mix with files of whole ciphertexts,
/// as they were written before.
#[test]
fn fresh_files_are_small_and_compute_with_whole_ones() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let text = csv("a", (0..32u64).map(|i| vec![i * 0x0708_090a]));
    encrypt(keys, dir.path(), "many.he", "32", &text);
    assert_eq!(decrypt(keys, dir.path(), "many.he"), text);
    let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len();
    // 16 digits of 8 bytes for each of 32 numbers, and the frames.
    assert!(size("many.he") < 16 * 8 * 32 + 1024, "{}", size("many.he"));

    encrypt(keys, dir.path(), "fresh.he", "8", "a\n200\n7\n");
    let fresh = fs::read(dir.path().join("fresh.he")).unwrap();
    let (cpu, params) = (Cpu::new(), presets::digits_2m128().unwrap());
    let whole = rewritten(&fresh, |frame| match frame.kind {
        FrameKind::TfheSeededUint => {
            let x = SeededUint::from_frame(&params, (), &frame).unwrap();
            x.expand(&cpu).unwrap().to_frame(&params).unwrap()
        }
        _ => frame,
    });
    fs::write(dir.path().join("whole.he"), &whole).unwrap();
    assert!(size("whole.he") > 100 * size("fresh.he"));
    assert_eq!(decrypt(keys, dir.path(), "whole.he"), "a\n200\n7\n");
    let info = |name: &str| he(["info", name]).at(dir.path()).text();
    assert!(info("whole.he").contains("8 bits") && info("fresh.he").contains("8 bits"));
    // Both give the same bytes, since they are the same ciphertexts.
    eval(keys, dir.path(), &["add", "whole.he", "--with", "fresh.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n144\n14\n");
    let mixed = fs::read(dir.path().join("out.he")).unwrap();
    eval(keys, dir.path(), &["add", "fresh.he", "--with", "whole.he"]).ok();
    assert!(mixed == fs::read(dir.path().join("out.he")).unwrap());
    fs::rename(dir.path().join("out.he"), dir.path().join("sum.he")).unwrap();
    eval(keys, dir.path(), &["lt", "sum.he", "--with", "fresh.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n1\n0\n");

    // A column that is not what the description says is refused before its masks are made.
    for (what, width, batch, bodies) in [("fewer", 8u16, 1u32, 4), ("wider", 16, 1, 8), ("more", 8, 3, 12)] {
        let broken = rewritten(&fresh, |mut frame| {
            if frame.kind == FrameKind::TfheSeededUint {
                let mut body = [&width.to_le_bytes()[..], &batch.to_le_bytes()].concat();
                body.extend(&frame.body[6..38]);
                body.resize(38 + 8 * bodies, 0);
                frame.body = body;
            }
            frame
        });
        fs::write(dir.path().join("broken.he"), broken).unwrap();
        let message = he(["decrypt", "broken.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).refuses();
        assert!(message.starts_with("broken.he"), "{what}: {message}");
        he(["info", "broken.he"]).at(dir.path()).refuses();
    }
}

/// Whoever has the public key alone encrypts all that the secret key encrypts, into files that
/// compute with its files.
#[test]
fn public_keys_encrypt() {
    let (keys, dir) = (Keys::tfhe(), folder());
    // Beside nothing else, as others have it.
    fs::copy(&keys.public, dir.path().join("public.key")).unwrap();
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    let encrypted = |options: &[&str]| {
        at(&[&["encrypt", "in.csv", "-k", "public.key", "-o", "p.he", "--force"], options].concat())
    };
    let wide = "115792089237316195423570985008687907853269984665640564039457584007913129639935";
    for (options, text) in [
        (&["--width", "8"][..], "a,b\n0,255\n7,128\n".to_owned()),
        (&[], "a\n4294967295\n0\n".to_owned()),
        (&["--width", "256"], format!("a\n{wide}\n0\n")),
        (&["--width", "8", "--signed"], "a\n-128\n127\n-1\n".to_owned()),
        (&["--width", "64", "--signed"], "a\n-9223372036854775808\n9223372036854775807\n".to_owned()),
    ] {
        fs::write(dir.path().join("in.csv"), &text).unwrap();
        assert!(!encrypted(options).run().stderr.contains("hint"));
        assert_eq!(decrypt(keys, dir.path(), "p.he"), text, "{options:?}");
    }
    fs::write(dir.path().join("in.csv"), "a\n1\n256\n").unwrap();
    let message = encrypted(&["--width", "8"]).refuses();
    assert_eq!(message, "in.csv, line 3, column 1 (\"a\"): \"256\" does not fit 8 bits");

    // Masks are shared by 2048 digits.
    let text = csv("a", (0..600u64).map(|i| vec![i * 0x0708_090a % (1 << 32)]));
    fs::write(dir.path().join("in.csv"), &text).unwrap();
    encrypted(&[]).ok();
    assert_eq!(decrypt(keys, dir.path(), "p.he"), text);
    let size = |name: &str| fs::metadata(dir.path().join(name)).unwrap().len();
    let words = 600 * 16 + (600u64 * 16).div_ceil(2048) * 2048;
    assert!(size("p.he") < 8 * words + 1024, "{}", size("p.he"));

    fs::write(dir.path().join("in.csv"), "a\n200\n7\n").unwrap();
    encrypted(&["--width", "8"]).ok();
    encrypt(keys, dir.path(), "s.he", "8", "a\n100\n9\n");
    eval(keys, dir.path(), &["add", "p.he", "--with", "s.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n44\n16\n");
    eval(keys, dir.path(), &["lt", "p.he", "--with", "s.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n0\n1\n");
    eval(keys, dir.path(), &["sort", "p.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n7\n200\n");
    assert!(at(&["info", "p.he"]).text().contains("width        8 bits\n"));

    // An image, and the hint to those who have both keys.
    crate::pictures::eight(9, 5, 3, 1).save(dir.path().join("in.png")).unwrap();
    at(&["encrypt", "in.png", "-k", "public.key", "-o", "i.he"]).ok();
    at(&["decrypt", "i.he", "-k", &keys.secret, "-o", "out.png"]).ok();
    let pixels = |name: &str| image::open(dir.path().join(name)).unwrap().into_bytes();
    assert_eq!(pixels("in.png"), pixels("out.png"));
    let told = at(&["encrypt", "in.csv", "-k", &keys.public, "-o", "p.he", "--force"]).run().stderr;
    let hint = format!("he-cli: hint: -k {} would make the file smaller\n", keys.secret);
    assert!(told.starts_with(&hint), "{told}");

    // Fewer digits than the description says, more, and masks that are not all there.
    let fresh = fs::read(dir.path().join("i.he")).unwrap();
    let short = |bytes: usize| {
        rewritten(&fresh, |mut frame| {
            if frame.kind == FrameKind::TfheCompactUint {
                frame.body.truncate(frame.body.len() - bytes);
            }
            frame
        })
    };
    let other = |rows: u32| {
        rewritten(&fresh, |mut frame| {
            if frame.kind == FrameKind::TfheCompactUint {
                frame.body[2..6].copy_from_slice(&rows.to_le_bytes());
                frame.body.resize(6 + 8 * (2048 + 4 * rows as usize), 0);
            }
            frame
        })
    };
    for broken in [short(1), short(8), short(8 * 2048), other(44), other(46)] {
        fs::write(dir.path().join("broken.he"), broken).unwrap();
        let message = at(&["decrypt", "broken.he", "-k", &keys.secret, "-o", "-"]).refuses();
        assert!(message.starts_with("broken.he"), "{message}");
        at(&["info", "broken.he"]).refuses();
    }
}

#[test]
fn operations_are_those_of_native_integers() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let mut next = noise(71);
    // A row of equal numbers, one that wraps, and one at random.
    let rows = [(200, 200), (255, 1), (next() & 255, next() & 255)];
    let table = |column: fn(&(u64, u64)) -> u64| rows.iter().map(|row| vec![column(row)]).collect::<Vec<_>>();
    encrypt(keys, dir.path(), "x.he", "8", &csv("a", table(|row| row.0)));
    encrypt(keys, dir.path(), "y.he", "8", &csv("b", table(|row| row.1)));
    for (operation, f) in [
        ("add", (|a, b| u64::from((a as u8).wrapping_add(b as u8))) as fn(u64, u64) -> u64),
        ("sub", |a, b| u64::from((a as u8).wrapping_sub(b as u8))),
        ("mul", |a, b| u64::from((a as u8).wrapping_mul(b as u8))),
        ("lt", |a, b| u64::from(a < b)),
        ("eq", |a, b| u64::from(a == b)),
        ("min", u64::min),
        ("max", u64::max),
    ] {
        eval(keys, dir.path(), &[operation, "x.he", "--with", "y.he"]).ok();
        let expected = csv("a b", rows.iter().map(|&(a, b)| vec![f(a, b)]));
        assert_eq!(decrypt(keys, dir.path(), "out.he"), expected, "{operation} of {rows:?}");
    }
    // Results are operands, and carries run through all of 64 bits.
    encrypt(keys, dir.path(), "x.he", "64", &csv("a", [vec![u64::MAX - 5]]));
    encrypt(keys, dir.path(), "y.he", "64", &csv("a", [vec![6]]));
    eval(keys, dir.path(), &["add", "x.he", "--with", "y.he"]).ok();
    fs::rename(dir.path().join("out.he"), dir.path().join("sum.he")).unwrap();
    eval(keys, dir.path(), &["sub", "sum.he", "--with", "y.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "sum.he"), "a\n0\n");
    assert_eq!(decrypt(keys, dir.path(), "out.he"), csv("a", [vec![u64::MAX - 5]]));
    let told = he(["info", "out.he"]).at(dir.path()).text();
    for part in ["table        1 row, 1 column: a\n", "width        64 bits\n", "history      add, sub\n"] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// A table of one column of numbers with a sign.
fn signed(keys: &Keys, dir: &Path, name: &str, width: &str, numbers: &[i64]) {
    let text: String = numbers.iter().map(|number| format!("{number}\n")).collect();
    fs::write(dir.join("in.csv"), format!("a\n{text}")).unwrap();
    let options = ["--signed", "--width", width, "-k", &keys.secret, "-o", name, "--force"];
    he(["encrypt", "in.csv"].iter().chain(&options)).at(dir).ok();
}

/// The numbers of a table of one column.
fn numbers(keys: &Keys, dir: &Path, name: &str) -> Vec<i64> {
    decrypt(keys, dir, name).lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

#[test]
fn numbers_with_a_sign_come_back() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let encrypted = |text: &str, width: &str| {
        fs::write(dir.path().join("in.csv"), text).unwrap();
        he(["encrypt", "in.csv", "--signed", "--width", width, "-k", &keys.secret, "-o", "x.he", "--force"])
            .at(dir.path())
    };
    for (width, least, most) in [
        ("8", "-128", "127"),
        ("16", "-32768", "32767"),
        ("64", "-9223372036854775808", "9223372036854775807"),
        (
            "256",
            "-57896044618658097711785492504343953926634992332820282019728792003956564819968",
            "57896044618658097711785492504343953926634992332820282019728792003956564819967",
        ),
    ] {
        let text = format!("a,b\n{least},{most}\n0,-1\n");
        encrypted(&text, width).ok();
        assert_eq!(decrypt(keys, dir.path(), "x.he"), text, "{width} bits");
        for beyond in [format!("{least}0"), format!("{}9", &most[..most.len() - 1])] {
            let message = encrypted(&format!("a,b\n1,{beyond}\n"), width).refuses();
            assert!(message.ends_with(&format!("does not fit {width} bits with a sign")), "{message}");
        }
    }
    encrypted("a\n-5\n", "8").ok();
    let told: Value = serde_json::from_slice(&he(["info", "x.he", "--json"]).at(dir.path()).ok()).unwrap();
    assert_eq!((&told["width"], &told["table"]["signed"]), (&8.into(), &true.into()));
    let text = he(["info", "x.he"]).at(dir.path()).text();
    assert!(text.contains("width        8 bits with a sign\n"), "{text}");
    for (field, problem) in [
        ("1.5", "\"1.5\" is not an integer"),
        ("--1", "\"--1\" is not a number"),
        ("- 1", "\"- 1\" is not a number"),
        ("", "the field is empty"),
    ] {
        let message = encrypted(&format!("a,b\n1,2\n{field},2\n"), "8").refuses();
        assert_eq!(message, format!("in.csv, line 3, column 1 (\"a\"): {problem}"));
    }
    he(["encrypt", "in.csv", "--signed", "-k", &Keys::bfv().public, "-o", "y.he"]).at(dir.path()).fails(
        2,
        "--signed is for keys of ckks and tfhe, and the key is one of bfv",
        "leave it out",
    );
}

#[test]
fn operations_are_those_of_native_integers_with_a_sign() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let mut next = noise(72);
    let rows = [(-128, 127), (-1, 1), (-100, -100), (i64::from(next() as i8), i64::from(next() as i8))];
    let (left, right) = (rows.map(|row| row.0), rows.map(|row| row.1));
    signed(keys, dir.path(), "x.he", "8", &left);
    signed(keys, dir.path(), "y.he", "8", &right);
    for (operation, f) in [
        ("add", (|a, b| i64::from((a as i8).wrapping_add(b as i8))) as fn(i64, i64) -> i64),
        ("sub", |a, b| i64::from((a as i8).wrapping_sub(b as i8))),
        ("mul", |a, b| i64::from((a as i8).wrapping_mul(b as i8))),
        ("lt", |a, b| i64::from(a < b)),
        ("eq", |a, b| i64::from(a == b)),
        ("min", i64::min),
        ("max", i64::max),
    ] {
        eval(keys, dir.path(), &[operation, "x.he", "--with", "y.he"]).ok();
        let expected: Vec<i64> = rows.iter().map(|&(a, b)| f(a, b)).collect();
        assert_eq!(numbers(keys, dir.path(), "out.he"), expected, "{operation} of {rows:?}");
    }
    eval(keys, dir.path(), &["sort", "x.he"]).ok();
    let mut sorted = left;
    sorted.sort_unstable();
    assert_eq!(numbers(keys, dir.path(), "out.he"), sorted);
    // Numbers with and without a sign do not mix.
    encrypt(keys, dir.path(), "u.he", "8", "a\n1\n2\n3\n4\n");
    for [first, second] in [["x.he", "u.he"], ["u.he", "x.he"]] {
        eval(keys, dir.path(), &["lt", first, "--with", second]).fails(
            1,
            "x.he holds numbers with a sign, and u.he numbers without one",
            "encrypt both with --signed, or both without",
        );
    }
}

#[test]
fn columns_are_summed() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let mut next = noise(73);
    let rows: Vec<(u64, u64)> = (0..9).map(|_| (next() >> 48, next() >> 48)).collect();
    encrypt(keys, dir.path(), "x.he", "16", &csv("a,b", rows.iter().map(|&(a, b)| vec![a, b])));
    eval(keys, dir.path(), &["sum", "x.he"]).ok();
    let sums = [0, 1].map(|i| rows.iter().map(|row| [row.0, row.1][i]).sum::<u64>() & 0xffff);
    assert_eq!(decrypt(keys, dir.path(), "out.he"), csv("a,b", [sums.to_vec()]));
    let text = he(["info", "out.he"]).at(dir.path()).text();
    assert!(text.contains("1 row, 2 columns") && text.contains("history      sum\n"), "{text}");
    let with_sign = [-300, 25, -32768, 1, 7];
    signed(keys, dir.path(), "x.he", "16", &with_sign);
    eval(keys, dir.path(), &["sum", "x.he"]).ok();
    assert_eq!(numbers(keys, dir.path(), "out.he"), [i64::from(with_sign.iter().sum::<i64>() as i16)]);
    let drop = eval(keys, dir.path(), &["sum", "x.he", "--levels", "drop"]).run();
    assert!(drop.code != Some(0) && drop.stderr.contains("--levels drop is not for sum"), "{}", drop.stderr);
}

#[test]
fn numbers_are_chosen_by_conditions() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let (x, y) = ([5, -7, 100, -128], [-5, 7, 99, 127]);
    signed(keys, dir.path(), "x.he", "8", &x);
    signed(keys, dir.path(), "y.he", "8", &y);
    eval(keys, dir.path(), &["lt", "x.he", "--with", "y.he"]).ok();
    fs::rename(dir.path().join("out.he"), dir.path().join("less.he")).unwrap();
    let select = ["select", "less.he", "--with", "y.he", "--otherwise", "x.he"];
    eval(keys, dir.path(), &select).ok();
    let expected: Vec<i64> = x.into_iter().zip(y).map(|(x, y)| if x < y { y } else { x }).collect();
    assert_eq!(numbers(keys, dir.path(), "out.he"), expected);
    // The first file holds conditions, the others numbers, all of one shape and one sign.
    eval(keys, dir.path(), &["select", "x.he", "--with", "y.he", "--otherwise", "x.he"]).fails(
        1,
        "x.he holds numbers, and select chooses by conditions, 0 or 1",
        "compare first: lt and eq make conditions",
    );
    eval(keys, dir.path(), &["select", "less.he", "--with", "less.he", "--otherwise", "x.he"]).fails(
        1,
        "less.he holds conditions, 0 or 1, and select is for numbers",
        "decrypt it, or compute from the files that were compared",
    );
    signed(keys, dir.path(), "short.he", "8", &[1]);
    let short = ["select", "less.he", "--with", "short.he", "--otherwise", "short.he"];
    eval(keys, dir.path(), &short).fails(
        1,
        "the tables differ in shape: 4 rows of 1 and 1 rows of 1",
        "select takes tables with as many rows and columns",
    );
    let foreign = ["select", "less.he", "--with", "y.he", "--otherwise", "foreign.he"];
    signed(Keys::tfhe_other(), dir.path(), "foreign.he", "8", &x);
    let message = eval(keys, dir.path(), &foreign).refuses();
    assert!(message.starts_with("foreign.he belongs to key set "), "{message}");
}

#[test]
fn numbers_are_looked_up() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let table: Vec<i64> = (0..20).map(|i| 7 * i * i - 500).collect();
    let write = |name: &str, entries: &[i64]| {
        let text: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
        fs::write(dir.path().join(name), text).unwrap();
    };
    write("table.csv", &table);
    let places = [0, 3, 19, 20, 255, 16];
    encrypt(keys, dir.path(), "x.he", "8", &csv("a", places.map(|place| vec![place])));
    eval(keys, dir.path(), &["lookup", "x.he", "--table", "table.csv", "--width", "16"]).ok();
    let entry = |place: u64| table.get(place as usize).copied().unwrap_or(0);
    assert_eq!(numbers(keys, dir.path(), "out.he"), places.map(entry));
    // Places below 0 are beyond the end; entries from 0 on have no sign.
    signed(keys, dir.path(), "s.he", "8", &[-1, 2, -128]);
    write("bytes.csv", &[9, 200, 255]);
    eval(keys, dir.path(), &["lookup", "s.he", "--table", "bytes.csv"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n0\n255\n0\n");
    let lookup = |table: &str| eval(keys, dir.path(), &["lookup", "x.he", "--table", table]);
    lookup("table.csv").fails(
        1,
        "entry 1 of the table does not fit 8 bits with a sign",
        "give a larger --width, up to 256",
    );
    write("long.csv", &[1; 257]);
    lookup("long.csv").fails(
        1,
        "the table has 257 entries, and from 1 to 256 can be looked up",
        "encrypt the numbers with a greater width, or cut the table into parts",
    );
    fs::write(dir.path().join("two.csv"), "1,2\n").unwrap();
    lookup("two.csv").fails(
        1,
        "two.csv has 2 columns, and a table to be looked up has one",
        "leave one column, an entry in each row",
    );
    assert!(lookup("none.csv").refuses().starts_with("cannot read none.csv"));
    assert!(lookup("x.he").refuses().starts_with("x.he is not a table"));
}

#[test]
fn columns_are_sorted() {
    let (keys, dir) = (Keys::tfhe(), folder());
    encrypt(keys, dir.path(), "x.he", "8", "a\n7\n255\n7\n");
    eval(keys, dir.path(), &["sort", "x.he"]).ok();
    assert_eq!(decrypt(keys, dir.path(), "out.he"), "a\n7\n7\n255\n");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let (keys, other, dir) = (Keys::tfhe(), Keys::tfhe_other(), folder());
    const KINDS: &str = "keygen writes secret.key for decrypt, public.key for encrypt, eval.key for eval";
    const SAME_SET: &str = "use the keys of the same keygen; he-cli info FILE shows the key set";
    for (name, width, text) in
        [("x.he", "8", "a\n1\n"), ("wide.he", "16", "a\n1\n"), ("long.he", "8", "a\n1\n2\n")]
    {
        encrypt(keys, dir.path(), name, width, text);
    }
    encrypt(other, dir.path(), "foreign.he", "8", "a\n1\n");
    eval(keys, dir.path(), &["eq", "x.he", "--with", "x.he"]).ok();
    fs::rename(dir.path().join("out.he"), dir.path().join("eq.he")).unwrap();
    assert_eq!(decrypt(keys, dir.path(), "eq.he"), "a\n1\n");
    let bfv = Keys::bfv();
    he(["encrypt", "in.csv", "-k", &bfv.public, "-o", "bfv.he"]).at(dir.path()).ok();
    let before = names(dir.path());
    let at = |arguments: &[&str]| he(arguments).at(dir.path());

    for operation in ["add", "lt", "max"] {
        eval(keys, dir.path(), &[operation, "x.he", "--with", "wide.he"]).fails(
            1,
            "x.he holds numbers of 8 bits, wide.he of 16 bits",
            "encrypt both with the same --width",
        );
        eval(keys, dir.path(), &[operation, "x.he", "--with", "long.he"]).fails(
            1,
            "the tables differ in shape: 1 rows of 1 and 2 rows of 1",
            &format!("{operation} takes tables with as many rows and columns"),
        );
        eval(keys, dir.path(), &[operation, "eq.he", "--with", "x.he"]).fails(
            1,
            &format!("eq.he holds conditions, 0 or 1, and {operation} is for numbers"),
            "decrypt it, or compute from the files that were compared",
        );
        let message = eval(keys, dir.path(), &[operation, "x.he", "--with", "foreign.he"]).refuses();
        assert!(message.starts_with("foreign.he belongs to key set "), "{message}");
    }
    let message = at(&["decrypt", "x.he", "-k", &other.secret, "-o", "out"]).refuses();
    assert!(message.starts_with("x.he belongs to key set "), "{message}");
    let missing = "under tfhe there are: images and tables add, sub, mul, lt, le, gt, ge, eq, ne, min, max, sort, select, lookup and sum";
    eval(keys, dir.path(), &["blur", "x.he"]).fails(1, "tfhe has no blur", missing);
    eval(keys, dir.path(), &["mean", "x.he"]).fails(1, "tfhe has no mean", missing);
    eval(bfv, dir.path(), &["sort", "bfv.he"]).fails(
        1,
        "bfv has no sort",
        "under bfv there are: images add, sub and mul; tables add, sub, mul, sum, count and dot",
    );
    eval(keys, dir.path(), &["sort", "bfv.he"]).fails(
        1,
        "bfv.he is encrypted by bfv, and the key is one of tfhe",
        SAME_SET,
    );
    let message = format!("{} is an evaluation key, not a public or secret key", keys.eval);
    at(&["encrypt", "in.csv", "-k", &keys.eval, "-o", "out"]).fails(1, &message, KINDS);
    let message = format!("{} is an evaluation key, not a secret key", keys.eval);
    at(&["decrypt", "x.he", "-k", &keys.eval, "-o", "out"]).fails(1, &message, KINDS);
    let message = format!("{} is a secret key, not an evaluation key", keys.secret);
    at(&["eval", "sort", "x.he", "-k", &keys.secret, "-o", "out"]).fails(1, &message, KINDS);
    let message = format!("{} is a public key, not a secret key", keys.public);
    at(&["decrypt", "x.he", "-k", &keys.public, "-o", "out"]).fails(1, &message, KINDS);
    let message = format!("{} is a public key, not an evaluation key", keys.public);
    at(&["eval", "sort", "x.he", "-k", &keys.public, "-o", "out"]).fails(1, &message, KINDS);
    at(&["decrypt", "x.he", "-k", &bfv.secret, "-o", "out"]).fails(
        1,
        "x.he is encrypted by tfhe, and the key is one of bfv",
        SAME_SET,
    );
    at(&["eval", "sort", "eq.he", "-k", "x.he", "-o", "out"]).refuses();
    at(&["info", "x.he", "--key", &keys.secret]).fails(
        2,
        &format!("{} is a key of tfhe, whose files have no noise budget to measure", keys.secret),
        "leave --key out: it is for files encrypted under bfv and bgv",
    );
    let message = format!("{} is a key, not an encrypted file", keys.secret);
    at(&["decrypt", &keys.secret, "-k", &keys.secret, "-o", "out"]).fails(
        1,
        &message,
        "encrypt first, then give what encrypt or eval wrote",
    );
    for (flag, value) in [("--halo", "1"), ("--categories", "a")] {
        at(&["encrypt", "in.csv", flag, value, "-k", &keys.secret, "-o", "out"]).fails(
            2,
            &format!("{flag} is not for keys of tfhe"),
            "leave it out: they encrypt images and tables of integers",
        );
    }
    at(&["encrypt", "in.csv", "--width", "8", "-k", &bfv.public, "-o", "out"]).fails(
        2,
        "--width is for keys of ckks and tfhe, and the key is one of bfv",
        "leave it out",
    );
    assert_eq!(names(dir.path()), before);
}

#[test]
fn damaged_files_and_keys_are_refused() {
    let (keys, dir) = (Keys::tfhe(), folder());
    encrypt(keys, dir.path(), "x.he", "8", "a,b\n1,2\n");
    fs::write(dir.path().join("broken"), "").unwrap();
    let before = names(dir.path());
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    let variants = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let len = bytes.len();
        let places = [0, 7, 20, 44, 50, 90, 160, 200, 300, 400, len / 2, len - 90, len - 1];
        let cut = [0, 47, 81, 200, len / 2, len - 1].map(|at| bytes[..at].to_vec());
        let changed = places.map(|at| {
            let mut broken = bytes.to_vec();
            broken[at] ^= 16;
            broken
        });
        cut.into_iter().chain(changed).chain([[bytes, b"\0"].concat()]).collect()
    };
    let refused = |call: Call, what: usize| {
        let message = call.refuses();
        assert!(message.contains("broken"), "variant {what}: {message}");
        assert_eq!(names(dir.path()), before);
    };
    for (what, bytes) in variants(&fs::read(dir.path().join("x.he")).unwrap()).into_iter().enumerate() {
        fs::write(dir.path().join("broken"), bytes).unwrap();
        refused(at(&["decrypt", "broken", "-k", &keys.secret, "-o", "out"]), what);
        refused(at(&["info", "broken"]), what);
    }
    // The description fits, and a column does not: found before anything is named.
    refused(at(&["eval", "sort", "broken", "-k", &keys.eval, "-o", "out"]), usize::MAX);
    for (what, bytes) in variants(&fs::read(&keys.secret).unwrap()).into_iter().enumerate() {
        fs::write(dir.path().join("broken"), bytes).unwrap();
        refused(at(&["decrypt", "x.he", "-k", "broken", "-o", "out"]), what);
    }
    for (what, bytes) in variants(&fs::read(&keys.public).unwrap()).into_iter().enumerate() {
        fs::write(dir.path().join("broken"), bytes).unwrap();
        refused(at(&["encrypt", "in.csv", "-k", "broken", "-o", "out"]), what);
    }
    for (what, bytes) in variants(&fs::read(&keys.eval).unwrap()).into_iter().enumerate() {
        fs::write(dir.path().join("broken"), bytes).unwrap();
        refused(at(&["eval", "sort", "x.he", "-k", "broken", "-o", "out"]), what);
    }
}

#[test]
fn keys_are_made_sealed_and_described() {
    let dir = folder();
    let at = |arguments: &[&str]| he(arguments).at(dir.path());
    fs::write(dir.path().join("phrase"), "correct horse\n").unwrap();
    fs::write(dir.path().join("in.csv"), "5\n").unwrap();
    at(&["keygen", "tfhe", "-o", "k", "--failure", "2^-40", "--passphrase-file", "phrase"]).ok();
    assert_eq!(names(&dir.path().join("k")), ["eval.key", "public.key", "secret.key"]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(dir.path().join("k/secret.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    at(&["keygen", "tfhe", "-o", "k"]).refuses();
    let phrase = ["--passphrase-file", "phrase"];
    at(&[&["encrypt", "in.csv", "-k", "k/secret.key", "-o", "x.he"], &phrase[..]].concat()).ok();
    let decrypted = at(&[&["decrypt", "x.he", "-k", "k/secret.key", "-o", "-"], &phrase[..]].concat());
    assert_eq!(decrypted.text(), "5\n");
    let info = |arguments: &[&str]| -> Value {
        serde_json::from_slice(&at(&[&["info", "--json"], arguments].concat()).ok()).unwrap()
    };
    let [eval, secret, table] =
        [info(&["k/eval.key"]), info(&["k/secret.key", phrase[0], phrase[1]]), info(&["x.he"])];
    let public = info(&["k/public.key"]);
    assert_eq!(public["file"], "public key");
    assert_eq!((&eval["file"], &secret["file"]), (&"evaluation key".into(), &"secret key".into()));
    assert_eq!((&secret["sealed"], &table["width"]), (&true.into(), &32.into()));
    assert_eq!((&table["table"]["rows"], &table["file"]), (&1.into(), &"encrypted table".into()));
    for told in [&eval, &secret, &public, &table] {
        let params = &told["parameters"];
        assert_eq!((&told["key_set"], &params["scheme"]), (&eval["key_set"], &"tfhe".into()));
        assert_eq!((&params["lwe_dimension"], &params["degree"]), (&816.into(), &1024.into()));
        let failure = params["failure_log2"].as_f64().unwrap();
        assert!((-50.0..=-40.0).contains(&failure), "{failure}");
    }
    assert!(at(&["help", "keygen", "tfhe"]).text().contains("public.key encrypts"));
    assert!(at(&["eval", "--help"]).text().contains("table in digits under ckks: sort each column by"));
    assert!(at(&["encrypt", "--help"]).text().contains("--width <BITS>"));
}

/// Multi-bit evaluation keys compute as others do, say what they are, and have the size that
/// `params` tells; other groups than the parameters have are refused.
#[test]
fn multi_bit_keys_compute() {
    let dir = folder();
    let run = |arguments: &str| he(arguments.split(' ')).at(dir.path());
    let json = |arguments: &str| -> Value { serde_json::from_slice(&run(arguments).ok()).unwrap() };
    let told = json("keygen tfhe --transcipher insecure_toy --multi-bit -o keys --json");
    assert_eq!(told["multi_bit"], 4);
    let told = json("info keys/eval.key --json");
    assert_eq!((&told["multi_bit"], &told["transciphers"]), (&4.into(), &true.into()));
    assert!(run("info keys/eval.key").text().contains("4 bits at a time"));
    let size = fs::metadata(dir.path().join("keys/eval.key")).unwrap().len();
    assert_eq!(told["bytes"], size);
    let told = json("params tfhe --transcipher insecure_toy --multi-bit --json");
    assert_eq!(told["evaluation_key_bytes"], size);

    fs::write(dir.path().join("in.csv"), "a\n200\n7\n").unwrap();
    run("encrypt in.csv --width 8 -k keys/public.key -o in.he").ok();
    run("eval add in.he --with in.he -k keys/eval.key -o out.he").ok();
    assert_eq!(run("decrypt out.he -k keys/secret.key -o -").text(), "a\n144\n14\n");
    run("keygen aes --transcipher -o sensor.key").ok();
    run("encrypt sensor.key --transcipher -k keys/secret.key -o sensor.he").ok();
    run("encrypt in.csv --width 8 -k sensor.key -o in.aes").ok();
    run("transcipher in.aes --sensor-key sensor.he -k keys/eval.key -o back.he").ok();
    assert_eq!(run("decrypt back.he -k keys/secret.key -o -").text(), "a\n200\n7\n");

    let key = fs::read(dir.path().join("keys/eval.key")).unwrap();
    for group in [0, 1, 3, 5, 255] {
        let broken = rewritten(&key, |mut frame| {
            if frame.kind == FrameKind::TfheMultiBitKey {
                frame.body[0] = group;
            }
            frame
        });
        fs::write(dir.path().join("broken.key"), broken).unwrap();
        assert!(run("info broken.key").refuses().starts_with("broken.key"), "{group}");
        let call = run("eval add in.he --with in.he -k broken.key -o none.he");
        assert!(call.refuses().starts_with("broken.key"), "{group}");
    }
    assert!(!dir.path().join("none.he").exists());
}

/// A multi-bit key of 128 bits of security has parameters of its own.
#[test]
fn multi_bit_keys_have_parameters_of_their_own() {
    let told = |arguments: &str| -> Value {
        serde_json::from_slice(&he(format!("params tfhe {arguments} --json").split(' ')).ok()).unwrap()
    };
    for (options, goal) in
        [("--failure 2^-128", -128.0), ("--failure 2^-40", -40.0), ("--transcipher", -128.0)]
    {
        let [single, multi] = [told(options), told(&format!("{options} --multi-bit"))];
        assert_ne!(single["fingerprint"], multi["fingerprint"], "{options}");
        assert!(multi["failure_log2"].as_f64().unwrap() < goal, "{options}");
        let bytes = |told: &Value| told["evaluation_key_bytes"].as_u64().unwrap();
        assert!((2..5).contains(&(bytes(&multi) / bytes(&single))), "{options}");
    }
}
