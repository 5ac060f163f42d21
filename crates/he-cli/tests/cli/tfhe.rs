//! TFHE: unsigned integers come back; sums, comparisons and sorting are those of native integers.

use crate::pictures::noise;
use crate::process::{Call, Keys, folder, he, names};
use he_core::backend::Cpu;
use he_core::tfhe::{SeededUint, presets};
use he_core::wire::{Frame, FrameKind, FrameReader, FrameWriter, Wire};
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
    const KINDS: &str =
        "keygen tfhe writes secret.key for encrypt and decrypt, eval.key for eval; there is no public key";
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
    let missing = "under tfhe there are: add, sub, mul, lt, eq, min, max and sort";
    eval(keys, dir.path(), &["blur", "x.he"]).fails(1, "tfhe has no blur", missing);
    eval(keys, dir.path(), &["mean", "x.he"]).fails(1, "tfhe has no mean", missing);
    eval(bfv, dir.path(), &["sort", "bfv.he"]).fails(
        1,
        "bfv has no sort",
        "under bfv there are: images add, sub and mul; tables sum, dot, count, add, sub and mul",
    );
    eval(keys, dir.path(), &["sort", "bfv.he"]).fails(
        1,
        "bfv.he is encrypted by bfv, and the key is one of tfhe",
        SAME_SET,
    );
    let message = format!("{} is an evaluation key, not a secret key", keys.eval);
    at(&["encrypt", "in.csv", "-k", &keys.eval, "-o", "out"]).fails(1, &message, KINDS);
    at(&["decrypt", "x.he", "-k", &keys.eval, "-o", "out"]).fails(1, &message, KINDS);
    let message = format!("{} is a secret key, not an evaluation key", keys.secret);
    at(&["eval", "sort", "x.he", "-k", &keys.secret, "-o", "out"]).fails(1, &message, KINDS);
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
            "leave it out: tfhe encrypts tables of unsigned integers",
        );
    }
    at(&["encrypt", "in.csv", "--width", "8", "-k", &bfv.public, "-o", "out"]).fails(
        2,
        "--width is for keys of tfhe, and the key is one of bfv",
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
    assert_eq!(names(&dir.path().join("k")), ["eval.key", "secret.key"]);
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
    let info = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&at(&[&["info", "--json"], arguments].concat()).ok()).unwrap()
    };
    let [eval, secret, table] =
        [info(&["k/eval.key"]), info(&["k/secret.key", phrase[0], phrase[1]]), info(&["x.he"])];
    assert_eq!((&eval["file"], &secret["file"]), (&"evaluation key".into(), &"secret key".into()));
    assert_eq!((&secret["sealed"], &table["width"]), (&true.into(), &32.into()));
    assert_eq!((&table["table"]["rows"], &table["file"]), (&1.into(), &"encrypted table".into()));
    for told in [&eval, &secret, &table] {
        let params = &told["parameters"];
        assert_eq!((&told["key_set"], &params["scheme"]), (&eval["key_set"], &"tfhe".into()));
        assert_eq!((&params["lwe_dimension"], &params["degree"]), (&816.into(), &1024.into()));
        let failure = params["failure_log2"].as_f64().unwrap();
        assert!((-50.0..=-40.0).contains(&failure), "{failure}");
    }
    assert!(at(&["help", "keygen", "tfhe"]).text().contains("There is no public key"));
    assert!(at(&["eval", "--help"]).text().contains("Table under tfhe: sort each column by itself"));
    assert!(at(&["encrypt", "--help"]).text().contains("--width <BITS>"));
}
