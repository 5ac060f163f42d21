//! Files with valid checksums and impossible contents, as somebody might make them on purpose.

use crate::pictures::eight;
use crate::process::{Keys, bootstrap_key, encrypt, folder, he, names};
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::bigckks::{BigCkksParams, BigCkksSpec};
use he_core::ckks::{CkksParams, CkksSpec};
use he_core::exact::bootstrapping::{BootstrapParams, BootstrapSpec};
use he_core::exact::{ExactSpec, Params};
use he_core::wire::WireParams;
use he_core::wire::{Frame, FrameReader, FrameWriter};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The frames of a file, without the end mark.
fn frames(path: &Path) -> Vec<Frame> {
    let bytes = fs::read(path).unwrap();
    let mut reader = FrameReader::new(&bytes[..]);
    std::iter::from_fn(|| reader.next_frame(|_, _| u64::MAX).unwrap()).collect()
}

fn write(path: &Path, frames: &[Frame]) {
    let mut writer = FrameWriter::new(Vec::new());
    for frame in frames {
        writer.write(frame).unwrap();
    }
    fs::write(path, writer.finish(frames[0].fingerprint).unwrap()).unwrap();
}

/// The file with other values in its description; the paths lead into its JSON.
pub fn described(source: &Path, target: &Path, changes: &[(&str, Value)]) {
    let mut frames = frames(source);
    let mut note: Value = serde_json::from_slice(&frames[1].body).unwrap();
    for (at, value) in changes {
        match note.pointer_mut(at) {
            Some(field) => *field = value.clone(),
            None => drop(note.as_object_mut().unwrap().insert((*at).to_owned(), value.clone())),
        }
    }
    frames[1] = Frame::attachment(frames[0].fingerprint, serde_json::to_vec(&note).unwrap()).unwrap();
    write(target, &frames);
}

/// All that reads encrypted files refuses this one; the messages.
fn refused(keys: &Keys, folder: &Path, operation: &str) -> [String; 2] {
    let before = names(folder);
    let messages = [
        he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]).at(folder).refuses(),
        he(["eval", operation, "broken", "-k", &keys.eval, "-o", "out"]).at(folder).refuses(),
    ];
    assert_eq!(names(folder), before);
    messages
}

#[test]
fn impossible_images_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(7, 5, 3, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    fs::write(path("broken"), b"").unwrap();
    let max = json!(u32::MAX);
    for changes in [
        // Nothing stands behind these sizes: no memory is taken for them, either.
        &[("/content/width", json!(65536)), ("/content/height", json!(4096)), ("/content/depth", json!(16))]
            [..],
        &[("/content/width", json!(65536)), ("/content/height", json!(65536))],
        &[("/content/width", json!(0))],
        &[("/content/height", max.clone())],
        &[("/content/width", json!(-1))],
        &[("/content/width", json!(1.5))],
        &[("/content/channels", json!("CMYK"))],
        &[("/content/channels", json!("RGBA"))],
        &[("/content/channels", json!("gray"))],
        &[("/content/depth", json!(12))],
        &[("/content/batch", json!(0))],
        &[("/content/batch", max.clone())],
        &[("/content/tile_width", json!(0))],
        &[("/content/tile_width", json!(1 << 20)), ("/content/tile_height", json!(1 << 20))],
        &[("/content/tile_width", json!(1 << 15))],
        &[("/content/halo", max.clone())],
        &[("/content/halo_left", json!(3))],
        &[("/content/low", json!(2))],
        &[("/content/high", json!("NaN"))],
        &[("/content/type", json!("table"))],
        &[("/content", json!([]))],
        &[("/key_id", json!("short"))],
        &[("/key_id", json!("é".repeat(16)))],
        &[("/history", json!(7))],
        &[("more", json!(7))],
    ] {
        described(&path("x.he"), &path("broken"), changes);
        for message in refused(keys, dir.path(), "invert") {
            assert!(message.contains("broken"), "{changes:?}: {message}");
        }
    }
    // More colours than there are, fewer than there are: said so.
    described(&path("x.he"), &path("broken"), &[("/content/channels", json!("RGBA"))]);
    let message = "broken holds fewer ciphertexts than its description says";
    assert_eq!(refused(keys, dir.path(), "invert"), [message, message]);
    described(&path("x.he"), &path("broken"), &[("/content/channels", json!("gray"))]);
    let message = "broken holds more ciphertexts than its description says";
    assert_eq!(refused(keys, dir.path(), "invert"), [message, message]);
}

#[test]
fn impossible_tables_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &[]);
    fs::write(path("broken"), b"").unwrap();
    for (at, value) in [
        ("/content/rows", json!(0)),
        ("/content/rows", json!(u64::MAX)),
        ("/content/rows", json!(1 << 26)),
        ("/content/rows", json!(10_000)),
        ("/content/slots", json!(0)),
        ("/content/slots", json!(3)),
        ("/content/slots", json!(1)),
        ("/content/slots", json!(1u64 << 40)),
        ("/content/batch", json!(65)),
        ("/content/precision_bits", json!(1e300)),
        ("/content/columns", json!([])),
        ("/content/columns/0/exponent", json!(5000)),
        ("/content/columns/0/exponent", json!(i64::MIN)),
        ("/content/columns/0/count", json!(0)),
        ("/content/columns/0/name", json!(["x"])),
    ] {
        described(&path("x.he"), &path("broken"), &[(at, value.clone())]);
        for message in refused(keys, dir.path(), "sum") {
            assert!(message.contains("broken"), "{at} {value}: {message}");
        }
    }
    // Numbers that no table can hold any more.
    described(&path("x.he"), &path("broken"), &[("/content/columns/0/exponent", json!(1100))]);
    he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]).at(dir.path()).fails(
        1,
        "broken holds a result beyond 1.8e308",
        "divide the column by a power of ten before it is encrypted",
    );
}

#[test]
fn ciphertexts_that_do_not_belong_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(7, 5, 1, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    fs::write(path("broken"), b"").unwrap();
    // Level 2 bytes, slots 1, batch 4, scale 8: each changed, the checksums right.
    for (at, bytes) in [
        (0, &[9u8, 0][..]),
        (0, &[0, 0]),
        (2, &[3]),
        (2, &[200]),
        (3, &[0, 0, 0, 0]),
        (3, &[2, 0, 0, 0]),
        (3, &[255, 255, 255, 255]),
        (7, &f64::NAN.to_le_bytes()),
        (7, &0f64.to_le_bytes()),
        (7, &(-1f64).to_le_bytes()),
        (7, &f64::INFINITY.to_le_bytes()),
        (7, &1e300f64.to_le_bytes()),
        // The first residue: no longer below its prime.
        (15, &[255; 64]),
    ] {
        let mut changed = frames(&path("x.he"));
        changed[2].body[at..at + bytes.len()].copy_from_slice(bytes);
        write(&path("broken"), &changed);
        for message in refused(keys, dir.path(), "invert") {
            assert!(message.contains("broken"), "{at} {bytes:?}: {message}");
        }
    }
}

#[test]
fn insecure_parameters_are_refused() {
    let dir = folder();
    let keys = Keys::shallow();
    let spec = CkksSpec::from_bits(10, &[40, 30, 30], &[40], 30.0).unwrap();
    let insecure = CkksParams::insecure(spec).unwrap();
    let mut changed = frames(Path::new(&keys.public));
    changed[0] = insecure.to_frame();
    write(&dir.path().join("weak.key"), &changed);
    for command in [&["encrypt", "-", "-k", "weak.key", "-o", "out"][..], &["info", "weak.key"]] {
        he(command).at(dir.path()).fails(
            1,
            "weak.key: its parameters are insecure: log2(QP) = 140.0 at N = 2^10, where 26 bits are secure",
            "make keys with he-cli keygen",
        );
    }
}

#[test]
fn insecure_parameters_of_every_scheme_are_refused() {
    let dir = folder();
    let weak = |source: &str, parameters: Frame| {
        let mut changed = frames(Path::new(source));
        changed[0] = parameters;
        write(&dir.path().join("weak.key"), &changed);
        let message = he(["encrypt", "-", "-k", "weak.key", "-o", "out"]).at(dir.path()).refuses();
        assert!(message.starts_with("weak.key: its parameters are insecure: log2(QP) = "), "{message}");
    };
    let spec = || ExactSpec::from_bits(11, &[40, 40], &[40], 65537).unwrap();
    let bfv = Params::<Bfv>::insecure(spec()).unwrap();
    weak(&Keys::bfv().public, bfv.to_frame());
    let bgv = Params::<Bgv>::insecure(spec()).unwrap();
    weak(&Keys::bgv().public, bgv.to_frame());
    let bigckks = BigCkksParams::insecure(BigCkksSpec::new(10, 100, 40)).unwrap();
    weak(&Keys::bigckks().public, bigckks.to_frame());
    // Parameters with bootstrapping, and those that programs compute with.
    let spec = BootstrapSpec::insecure_for_depth::<Bfv>(257, 1, 9).unwrap();
    let boot = BootstrapParams::<Bfv>::insecure(spec).unwrap();
    weak(&Keys::toy_bfv().public, boot.params().to_frame());
    weak(&bootstrap_key(Keys::toy_bfv()), boot.to_frame());
}

#[test]
fn impossible_integers_are_refused() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,x\n3,y\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &["--categories", "b"]);
    fs::write(path("broken"), b"").unwrap();
    let many: Vec<String> = (0..5000).map(|i| i.to_string()).collect();
    for changes in [
        &[("/content/rows", json!(0))][..],
        &[("/content/rows", json!(u64::MAX))],
        &[("/content/rows", json!(1 << 26))],
        &[("/content/rows", json!(20_000))],
        &[("/content/batch", json!(0))],
        &[("/content/batch", json!(65))],
        &[("/content/summed", json!(true))],
        &[("/content/summed", json!(true)), ("/content/rows", json!(1))],
        &[("/content/columns", json!([]))],
        &[("/content/columns/0/low", json!(4))],
        &[("/content/columns/0/low", json!(i64::MIN)), ("/content/columns/0/high", json!(i64::MAX))],
        &[("/content/columns/0/high", json!(65_537))],
        &[("/content/columns/0/high", json!(0.5))],
        &[("/content/columns/0/high", json!(2))],
        &[("/content/columns/1/categories", json!([]))],
        &[("/content/columns/1/categories", json!(["x"]))],
        &[("/content/columns/1/categories", json!(many))],
        &[("/content/columns/0/categories", json!(["x", "y", "z"]))],
        &[("/content/type", json!("table"))],
        &[("/content/type", json!("samples"))],
    ] {
        described(&path("x.he"), &path("broken"), changes);
        // Sums read what is there; only decryption tells what it is.
        let message = he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]).at(dir.path()).refuses();
        assert!(message.contains("broken"), "{changes:?}: {message}");
        let call = he(["eval", "sum", "broken", "-k", &keys.eval, "-o", "out.he"]).at(dir.path());
        let outcome = call.run();
        assert!(matches!(outcome.code, Some(0 | 1)), "{changes:?}: {}", outcome.stderr);
        if outcome.code == Some(0) {
            fs::remove_file(path("out.he")).unwrap();
        }
        assert_eq!(names(dir.path()), ["broken", "in.csv", "x.he"]);
    }
}

#[test]
fn impossible_columns_of_tfhe_are_refused() {
    let (keys, dir) = (Keys::tfhe(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a,b\n1,2\n3,4\n").unwrap();
    he(["encrypt", "in.csv", "--width", "8", "-k", &keys.secret, "-o", "x.he"]).at(dir.path()).ok();
    fs::write(path("broken"), b"").unwrap();
    for changes in [
        &[("/content/width", json!(0))][..],
        &[("/content/width", json!(1))],
        &[("/content/width", json!(10))],
        &[("/content/width", json!(16))],
        &[("/content/width", json!(u32::MAX))],
        &[("/content/width", json!("8"))],
        // As many digits as there are.
        &[("/content/width", json!(16)), ("/content/rows", json!(1))],
        &[("/content/rows", json!(0))],
        &[("/content/rows", json!(1))],
        &[("/content/rows", json!(3))],
        &[("/content/rows", json!(1 << 26))],
        &[("/content/rows", json!(u64::MAX))],
        &[("/content/columns", json!([]))],
        &[("/content/columns", json!(["a"]))],
        &[("/content/columns", json!(["a", "b", "c"]))],
        &[("/content/columns", json!(["a", 7]))],
        &[("/content/columns", json!(vec!["x"; 100_000]))],
        &[("/content", json!({ "type": "table" }))],
        &[("/key_id", json!("7"))],
        &[("more", json!(1))],
    ] {
        described(&path("x.he"), &path("broken"), changes);
        for message in refused(keys, dir.path(), "sort") {
            assert!(message.contains("broken"), "{changes:?}: {message}");
        }
    }
    // The frames of one column twice, and parameters that are not secure.
    let mut twice = frames(&path("x.he"));
    twice.push(frames(&path("x.he")).remove(2));
    write(&path("broken"), &twice);
    let message = he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]).at(dir.path()).refuses();
    assert!(message.contains("broken"), "{message}");
    let weak = he_core::tfhe::presets::insecure_small().unwrap();
    let mut changed = frames(Path::new(&keys.secret));
    changed[0] = weak.to_frame();
    write(&path("broken"), &changed);
    let message = he(["encrypt", "in.csv", "-k", "broken", "-o", "out"]).at(dir.path()).refuses();
    assert!(message.starts_with("broken: its parameters cannot be used: "), "{message}");
    assert_eq!(names(dir.path()), ["broken", "in.csv", "x.he"]);
}

#[test]
fn impossible_samples_are_refused() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(7, 5, 3, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    fs::write(path("broken"), b"").unwrap();
    let max = json!(u32::MAX);
    for changes in [
        // Nothing stands behind these sizes: no memory is taken for them, either.
        &[("/content/width", json!(65536)), ("/content/height", json!(4096))][..],
        &[("/content/width", json!(65536)), ("/content/height", json!(65536))],
        &[("/content/width", json!(0))],
        &[("/content/height", max.clone())],
        &[("/content/channels", json!("CMYK"))],
        &[("/content/channels", json!("RGBA"))],
        &[("/content/channels", json!("gray"))],
        &[("/content/depth", json!(12))],
        &[("/content/depth", json!(16))],
        &[("/content/white", json!(7))],
        &[("/content/batch", json!(0))],
        &[("/content/batch", max)],
        &[("/content/low", json!(256))],
        &[("/content/low", json!(i64::MIN))],
        &[("/content/high", json!(i64::MAX))],
        &[("/content/high", json!(65_537))],
        &[("/content/type", json!("image"))],
        &[("/key_id", json!("short"))],
    ] {
        described(&path("x.he"), &path("broken"), changes);
        let files = ["-k", &keys.eval, "--with", "x.he", "-o", "out"];
        for call in [
            he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]),
            he(["eval", "add", "broken"].iter().chain(&files)),
        ] {
            let message = call.at(dir.path()).refuses();
            assert!(
                message.contains("broken") || message.starts_with("the images differ"),
                "{changes:?}: {message}"
            );
        }
        assert_eq!(names(dir.path()), ["broken", "in.png", "x.he"]);
    }
    // Level 2 bytes, batch 4, factor 8, noise 8, 8 and 2: each changed, the checksums right.
    for (at, bytes) in [
        (0, &[9u8, 0][..]),
        (0, &[0, 0]),
        (2, &[0, 0, 0, 0]),
        (2, &[255, 255, 255, 255]),
        (6, &[0; 8]),
        (6, &[255; 8]),
        (14, &f64::NAN.to_le_bytes()),
        (14, &f64::INFINITY.to_le_bytes()),
        (22, &f64::NAN.to_le_bytes()),
        (30, &[255, 255]),
        // The first residue: no longer below its prime.
        (32, &[255; 64]),
    ] {
        let mut changed = frames(&path("x.he"));
        changed[2].body[at..at + bytes.len()].copy_from_slice(bytes);
        write(&path("broken"), &changed);
        for call in [
            he(["decrypt", "broken", "-k", &keys.secret, "-o", "out"]),
            he(["eval", "add", "x.he", "--with", "broken", "-k", &keys.eval, "-o", "out"]),
            he(["info", "broken"]),
        ] {
            let outcome = call.at(dir.path()).run();
            // A level and a batch that exist are shown, whatever polynomials follow.
            let shown = at >= 32 || at == 0 || at == 2;
            assert!(outcome.code == Some(1) || shown && outcome.code == Some(0), "{at}: {}", outcome.stderr);
            assert!(!outcome.stderr.contains("panicked"), "{}", outcome.stderr);
        }
    }
}

/// Ciphertexts of another key under the right key's name, checksums right: what they decrypt to
/// tells.
#[test]
fn ciphertexts_of_other_keys_are_refused() {
    for scheme in ["bfv", "bgv"] {
        let dir = folder();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("in.csv"), "a,b\n1,2\n3,4\n").unwrap();
        for set in ["one", "other"] {
            he(["keygen", scheme, "--depth", "0", "--bits", "22", "-o", set]).at(dir.path()).ok();
            let (key, file) = (format!("{set}/public.key"), format!("{set}.he"));
            he(["encrypt", "in.csv", "-k", &key, "-o", &file]).at(dir.path()).ok();
        }
        let mut mixed = frames(&path("one.he"));
        mixed[2] = frames(&path("other.he")).remove(2);
        write(&path("mixed.he"), &mixed);
        let before = names(dir.path());
        let call = he(["decrypt", "mixed.he", "-k", "one/secret.key", "-o", "out.csv"]).at(dir.path());
        let message = call.refuses();
        assert!(message.contains("0.0 bits of the noise budget are left and 1.0 are asked"), "{message}");
        assert_eq!(names(dir.path()), before);
    }
}

/// A key that stands in an evaluation key twice: which of them is used would depend on the reader.
#[test]
fn keys_that_stand_twice_are_refused() {
    // Parameters, description, the relinearisation key; keys of bigckks may end here.
    const RELIN: usize = 2;
    for (keys, rotates) in [(Keys::shallow(), true), (Keys::narrow(), true), (Keys::bigckks(), false)] {
        let dir = folder();
        let path = dir.path().join("broken");
        let source = frames(Path::new(&keys.eval));
        let copy = |frame: &Frame| Frame {
            kind: frame.kind,
            fingerprint: frame.fingerprint,
            body: frame.body.clone(),
        };
        assert!(source.len() > RELIN + usize::from(rotates), "{} frames", source.len());
        for twice in [RELIN, source.len() - 1] {
            let mut all: Vec<Frame> = source.iter().map(copy).collect();
            all.push(copy(&source[twice]));
            write(&path, &all);
            let message = he(["info", "broken"]).at(dir.path()).refuses();
            let which = if twice == RELIN { "relinearisation key" } else { "Galois key of element" };
            assert!(message.contains("broken holds the") && message.contains(which), "{message}");
            assert!(message.contains("twice"), "{message}");
        }
        write(&path, &source);
        he(["info", "broken"]).at(dir.path()).ok();
    }
}

/// An end mark of other parameters than the frames before it.
#[test]
fn end_marks_of_other_parameters_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let mut writer = FrameWriter::new(Vec::new());
    let mut fingerprint = None;
    for frame in frames(Path::new(&keys.public)) {
        fingerprint.get_or_insert(frame.fingerprint);
        writer.write(&frame).unwrap();
    }
    let mut other = fingerprint.unwrap();
    other.0[31] ^= 1;
    fs::write(dir.path().join("broken"), writer.finish(other).unwrap()).unwrap();
    let message = he(["info", "broken"]).at(dir.path()).refuses();
    assert!(message.contains("end mark"), "{message}");
}

/// Names that drive terminals, that are read as others than they are, and that spreadsheets
/// compute.
const NAMES: [&str; 9] = [
    "\u{1b}]0;pwned\u{7}",
    "\u{9b}2J\u{7f}",
    "a\u{202e}b\u{2066}\u{200f}",
    "\u{feff}mark",
    "\u{e0041}tag",
    "=HYPERLINK(\"http://x\")",
    "'=1+1",
    "@SUM(A1)",
    "-2+3",
];

/// Whether text holds what may not reach a terminal; line feeds and tabs may.
fn is_hostile(text: &str) -> bool {
    let bidi = |c| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{61c}');
    let hidden = |c| matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    text.chars().any(|c| c.is_control() && c != '\n' && c != '\t' || bidi(c) || hidden(c))
}

/// With control characters as they stand in CSV.
fn spelt(name: &str) -> String {
    let spelt = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(spelt).collect()
}

/// A table under keys whose names are replaced; the file `evil`.
fn evil_table(keys: &Keys, dir: &Path) {
    let csv = format!("{}\n{}\n{}\n", ["x"; 9].join(","), ["1"; 9].join(","), ["2"; 9].join(","));
    fs::write(dir.join("in.csv"), csv).unwrap();
    encrypt(keys, &dir.join("in.csv"), &dir.join("x.he"), &[]);
    let paths: Vec<String> = (0..9).map(|i| format!("/content/columns/{i}/name")).collect();
    let mut changes: Vec<(&str, Value)> =
        paths.iter().zip(NAMES).map(|(path, name)| (path.as_str(), json!(name))).collect();
    changes.push(("/history", json!(NAMES)));
    described(&dir.join("x.he"), &dir.join("evil"), &changes);
}

#[test]
fn names_do_not_drive_the_terminal() {
    let (keys, dir) = (Keys::narrow(), folder());
    evil_table(keys, dir.path());
    let text = he(["info", "evil"]).at(dir.path()).text();
    assert!(text.contains("]0;pwned") && !is_hostile(&text), "{text:?}");
    let text = he(["info", "--json", "evil"]).at(dir.path()).text();
    assert!(!is_hostile(&text), "{text:?}");
    let told: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(told["history"], json!(NAMES));
    assert_eq!(told["table"]["columns"][2]["name"], NAMES[2]);
    // Messages name columns, too.
    let category = [("/content/columns/0/categories", json!(["a", "b"]))];
    described(&dir.path().join("evil"), &dir.path().join("worse"), &category);
    let dot = ["eval", "dot", "worse", "--columns", "1,2", "-k", &keys.eval, "-o", "out"];
    let message = he(dot).at(dir.path()).refuses();
    assert!(message.contains("]0;pwned") && !is_hostile(&message), "{message:?}");
    let message = he(["eval", "dot", "evil", "--columns", "\u{202e}x,y", "-k", &keys.eval, "-o", "out"])
        .at(dir.path())
        .run()
        .stderr;
    assert!(message.contains("there is no column") && !is_hostile(&message), "{message:?}");
    #[cfg(unix)]
    {
        // A table that is shown; into a pipe its names go as they are.
        let decrypt = || he(["decrypt", "evil", "-k", &keys.secret, "-o", "-"]).at(dir.path());
        let (status, shown) = decrypt().in_terminal().end();
        assert!(status.success(), "{shown}");
        assert!(
            shown.contains("]0;pwned")
                && shown.contains("1,1,1,1")
                && !is_hostile(&shown.replace("\r\n", "\n")),
            "{shown:?}"
        );
        let piped = decrypt().text();
        assert!(piped.contains(&spelt(NAMES[0])) && piped.contains(NAMES[2]), "{piped:?}");
        let at = ["decrypt", "evil", "-k", &keys.secret, "-o", "/dev/tty"];
        let (_, shown) = he(at).at(dir.path()).in_terminal().end();
        assert!(shown.contains("]0;pwned") && !is_hostile(&shown.replace("\r\n", "\n")), "{shown:?}");
    }
}

#[test]
fn names_are_not_formulas_and_come_back() {
    for keys in [Keys::narrow(), Keys::shallow()] {
        let dir = folder();
        evil_table(keys, dir.path());
        he(["decrypt", "evil", "-k", &keys.secret, "-o", "out.csv"]).at(dir.path()).ok();
        let bytes = fs::read(dir.path().join("out.csv")).unwrap();
        let mut fields = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
        let first = fields.records().next().unwrap().unwrap();
        assert_eq!(first.len(), 9);
        for (field, name) in first.iter().zip(NAMES) {
            assert!(!field.starts_with(['=', '+', '-', '@']), "{field}");
            assert!(field.ends_with(&spelt(name)), "{field}");
        }
        encrypt(keys, &dir.path().join("out.csv"), &dir.path().join("again.he"), &[]);
        let told: Value =
            serde_json::from_slice(&he(["info", "--json", "again.he"]).at(dir.path()).ok()).unwrap();
        let columns = told["table"]["columns"].as_array().unwrap();
        let found: Vec<&str> = columns.iter().map(|column| column["name"].as_str().unwrap()).collect();
        assert_eq!(found, NAMES.map(spelt));
    }
    // Categories are words of a table, and a mark at the start of a table is a mark only if nobody
    // calls a column so.
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "\u{feff}\"\u{feff}who\"\n'=cmd\n-1\n'=cmd\n").unwrap();
    encrypt(keys, &path("in.csv"), &path("x.he"), &["--categories", "1"]);
    let told: Value = serde_json::from_slice(&he(["info", "--json", "x.he"]).at(dir.path()).ok()).unwrap();
    assert_eq!(told["table"]["columns"][0]["categories"], json!(["-1", "=cmd"]));
    assert_eq!(told["table"]["columns"][0]["name"], "\u{feff}who");
    let text = he(["decrypt", "x.he", "-k", &keys.secret, "-o", "-"]).at(dir.path()).text();
    assert_eq!(text, "\"\u{feff}who\"\n'=cmd\n-1\n'=cmd\n");
}
