//! Files cut short or changed in any byte: refused, with nothing left behind.

use crate::pictures::{eight, noise};
use crate::process::{Call, Keys, encrypt, folder, he, names};
use std::fs;
use std::path::Path;

/// Bytes of the frames before the first ciphertext or key, and some of it: looked at more closely.
const START: usize = 700;

/// Lengths to cut to: around all that is short, and some others.
fn lengths(len: usize) -> Vec<usize> {
    let mut next = noise(len as u64);
    let dense = [0, 1, 3, 4, 5, 7, 8, 39, 40, 47, 48, 49, 80, 81].into_iter();
    let sparse = (0..12).map(|_| next() as usize % len);
    dense.chain((100..START).step_by(97)).chain(sparse).chain([len - 81, len - 33, len - 1]).collect()
}

/// Places to change a bit at: every field of the first frames, some others, the end mark.
fn places(len: usize, count: usize) -> Vec<usize> {
    let mut next = noise(!(len as u64));
    let dense = [0, 3, 4, 5, 6, 7, 8, 39, 40, 43, 47, 48, 50].into_iter();
    let sparse = (0..count).map(|_| next() as usize % len);
    dense.chain((60..START).step_by(41)).chain(sparse).chain(len - 120..len).collect::<Vec<_>>()
}

/// Each variant of a file must be refused by each use of it.
fn all_refused(
    dir: &Path,
    variants: impl IntoIterator<Item = (String, Vec<u8>)>,
    uses: &[&dyn Fn() -> Call],
) {
    fs::write(dir.join("broken"), b"").unwrap();
    let before = names(dir);
    for (what, bytes) in variants {
        fs::write(dir.join("broken"), bytes).unwrap();
        for call in uses {
            let message = call().at(dir).refuses();
            assert!(message.starts_with("broken") || message.contains(" broken"), "{what}: {message}");
        }
        assert_eq!(names(dir), before, "{what}");
    }
}

fn cut(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    lengths(bytes.len()).into_iter().map(|len| (format!("{len} bytes"), bytes[..len].to_vec()))
}

fn changed(bytes: &[u8], count: usize) -> impl Iterator<Item = (String, Vec<u8>)> + '_ {
    places(bytes.len(), count).into_iter().enumerate().map(|(i, at)| {
        let mut broken = bytes.to_vec();
        broken[at] ^= 1 << (i % 8);
        (format!("byte {at}, bit {}", i % 8), broken)
    })
}

/// Bytes behind the end are refused, too.
fn extended(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    [&b"\0"[..], b"HEWF"].map(|more| ("more bytes".to_owned(), [bytes, more].concat())).into_iter()
}

/// Two frames of the first file exchanged, left out, repeated; and the start of one file before the
/// rest of another.
fn reordered(bytes: &[u8], other: &[u8]) -> Vec<(String, Vec<u8>)> {
    let frames = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let (mut frames, mut rest) = (Vec::new(), bytes);
        while !rest.is_empty() {
            let body = u64::from_le_bytes(rest[40..48].try_into().unwrap()) as usize;
            let (frame, more) = rest.split_at(48 + body + 32);
            frames.push(frame.to_vec());
            rest = more;
        }
        frames
    };
    let (ours, theirs) = (frames(bytes), frames(other));
    let last = ours.len() - 1;
    assert!(last >= 3, "parameters, description, content, end mark");
    let with = |what: &str, change: &dyn Fn(&mut Vec<Vec<u8>>)| {
        let mut frames = ours.clone();
        change(&mut frames);
        (what.to_owned(), frames.concat())
    };
    vec![
        with("no parameters", &|f| drop(f.remove(0))),
        with("no description", &|f| drop(f.remove(1))),
        with("no content", &|f| drop(f.remove(2))),
        with("no end", &|f| drop(f.remove(last))),
        with("content twice", &|f| f.insert(2, f[2].clone())),
        with("description last", &|f| f.swap(1, last - 1)),
        with("end first", &|f| f.swap(0, last)),
        with("another description", &|f| f[1] = theirs[1].clone()),
        with("another content", &|f| f[2] = theirs[2].clone()),
        with("only the end", &|f| drop(f.drain(..last))),
    ]
}

#[test]
fn damaged_images_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(7, 5, 1, 1).save(path("in.png")).unwrap();
    eight(9, 5, 3, 1).save(path("other.png")).unwrap();
    for (input, output) in [("in.png", "x.he"), ("other.png", "other.he")] {
        encrypt(keys, &path(input), &path(output), &[]);
    }
    let bytes = fs::read(path("x.he")).unwrap();
    let decrypt = || he(["decrypt", "broken", "-k", &keys.secret, "-o", "out.png"]);
    let info = || he(["info", "broken"]);
    let eval = || he(["eval", "invert", "broken", "-k", &keys.eval, "-o", "out.he"]);
    all_refused(dir.path(), cut(&bytes), &[&decrypt]);
    all_refused(dir.path(), changed(&bytes, 40), &[&decrypt]);
    all_refused(dir.path(), changed(&bytes, 10).step_by(7), &[&info, &eval]);
    all_refused(dir.path(), extended(&bytes), &[&decrypt, &info, &eval]);
    let other = fs::read(path("other.he")).unwrap();
    all_refused(dir.path(), reordered(&bytes, &other), &[&decrypt, &eval]);
}

#[test]
fn damaged_tables_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a\n1\n2\n").unwrap();
    fs::write(path("other.csv"), "a,b\n1,2\n").unwrap();
    for name in ["in", "other"] {
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    let bytes = fs::read(path("in.he")).unwrap();
    let decrypt = || he(["decrypt", "broken", "-k", &keys.secret, "-o", "out.csv"]);
    let eval = || he(["eval", "sum", "broken", "-k", &keys.eval, "-o", "out.he"]);
    all_refused(dir.path(), cut(&bytes).step_by(3), &[&decrypt, &eval]);
    all_refused(dir.path(), changed(&bytes, 20).step_by(3), &[&decrypt]);
    let other = fs::read(path("other.he")).unwrap();
    all_refused(dir.path(), reordered(&bytes, &other), &[&decrypt, &eval]);
}

#[test]
fn damaged_keys_are_refused() {
    let (keys, dir) = (Keys::shallow(), folder());
    let path = |name: &str| dir.path().join(name);
    eight(7, 5, 1, 1).save(path("in.png")).unwrap();
    encrypt(keys, &path("in.png"), &path("x.he"), &[]);
    let read = |file: &str| fs::read(file).unwrap();
    let (secret, public, eval) = (read(&keys.secret), read(&keys.public), read(&keys.eval));
    let decrypting = || he(["decrypt", "x.he", "-k", "broken", "-o", "out.png"]);
    let encrypting = || he(["encrypt", "in.png", "-k", "broken", "-o", "out.he"]);
    let evaluating = || he(["eval", "invert", "x.he", "-k", "broken", "-o", "out.he"]);
    let info = || he(["info", "broken"]);
    for (bytes, call) in
        [(&secret, &decrypting as &dyn Fn() -> Call), (&public, &encrypting), (&eval, &evaluating)]
    {
        all_refused(dir.path(), cut(bytes), &[call]);
        all_refused(dir.path(), changed(bytes, 16), &[call]);
        all_refused(dir.path(), changed(bytes, 16).step_by(5), &[&info]);
        all_refused(dir.path(), extended(bytes), &[call, &info]);
    }
    let other = Keys::usual();
    all_refused(dir.path(), reordered(&secret, &read(&other.secret)), &[&decrypting]);
    all_refused(dir.path(), reordered(&public, &read(&other.public)), &[&encrypting]);
    all_refused(dir.path(), reordered(&eval, &read(&other.eval)), &[&evaluating]);
}

#[test]
fn damaged_integers_are_refused() {
    let (keys, dir) = (Keys::narrow(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a\n1\n2\n").unwrap();
    fs::write(path("other.csv"), "a,b\n1,2\n").unwrap();
    for name in ["in", "other"] {
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    let bytes = fs::read(path("in.he")).unwrap();
    let decrypt = || he(["decrypt", "broken", "-k", &keys.secret, "-o", "out.csv"]);
    let eval = || he(["eval", "sum", "broken", "-k", &keys.eval, "-o", "out.he"]);
    let add = || he(["eval", "add", "in.he", "--with", "broken", "-k", &keys.eval, "-o", "out.he"]);
    all_refused(dir.path(), cut(&bytes).step_by(3), &[&decrypt, &eval, &add]);
    all_refused(dir.path(), changed(&bytes, 20).step_by(3), &[&decrypt]);
    all_refused(dir.path(), changed(&bytes, 20).step_by(11), &[&eval, &add]);
    let other = fs::read(path("other.he")).unwrap();
    all_refused(dir.path(), reordered(&bytes, &other), &[&decrypt, &eval]);
}

#[test]
fn damaged_files_of_bigckks_are_refused() {
    let (keys, dir) = (Keys::bigckks(), folder());
    let path = |name: &str| dir.path().join(name);
    fs::write(path("in.csv"), "a\n1\n2\n").unwrap();
    fs::write(path("other.csv"), "a,b\n1,2\n").unwrap();
    for name in ["in", "other"] {
        encrypt(keys, &path(&format!("{name}.csv")), &path(&format!("{name}.he")), &[]);
    }
    let bytes = fs::read(path("in.he")).unwrap();
    let decrypt = || he(["decrypt", "broken", "-k", &keys.secret, "-o", "out.csv", "--device", "cpu"]);
    let info = || he(["info", "broken"]);
    let (eval, add) =
        (&keys.eval, ["eval", "add", "in.he", "--with", "broken", "-o", "out.he", "--device", "cpu", "-k"]);
    let add = || he(add.iter().chain(&[eval.as_str()]));
    all_refused(dir.path(), cut(&bytes).step_by(3), &[&decrypt, &info]);
    all_refused(dir.path(), changed(&bytes, 20).step_by(5), &[&decrypt, &add]);
    let other = fs::read(path("other.he")).unwrap();
    all_refused(dir.path(), reordered(&bytes, &other), &[&decrypt]);
    let public = fs::read(&keys.public).unwrap();
    let encrypting = || he(["encrypt", "in.csv", "-k", "broken", "-o", "out.he", "--device", "cpu"]);
    all_refused(dir.path(), changed(&public, 10).step_by(7), &[&encrypting]);
}
