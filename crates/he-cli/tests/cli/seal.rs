//! `seal`: the keys and a ciphertext of a client that uses SEAL (`tests/data/seal`), there and
//! back; and what is refused.

use crate::process::{Call, folder, he};
use std::fs;
use std::path::{Path, PathBuf};

fn file(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/seal");
    folder.join(format!("{name}.seal")).display().to_string()
}

/// A step of the exchange in a folder.
fn step(dir: &Path, words: &[&str]) -> Call {
    he(std::iter::once("seal").chain(words.iter().copied())).at(dir)
}

fn keys(dir: &Path) -> Call {
    let (public, relin) = (file("client_public_key"), file("client_relin_keys"));
    let parameters = file("client_parameters");
    step(dir, &["keys", &parameters, "--public-key", &public, "--relin-keys", &relin, "-o", "client"])
}

/// The words of an uncompressed ciphertext, behind two headers, 73 bytes of fields and a length.
fn words(path: &Path) -> Vec<u64> {
    let bytes = fs::read(path).unwrap();
    bytes[16 + 73 + 16 + 8..].as_chunks::<8>().0.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

#[test]
fn a_client_of_seal_is_answered() {
    let dir = folder();
    let dir = dir.path();
    keys(dir).ok();
    step(
        dir,
        &["import", &file("client_ciphertext"), "-k", "client/public.key", "--bound", "999", "-o", "x"],
    )
    .ok();
    he(["eval", "add", "x", "--with", "x", "-k", "client/eval.key", "-o", "y"]).at(dir).ok();
    step(dir, &["export", "x", "-o", "x.seal"]).ok();
    step(dir, &["export", "y", "-o", "y.seal"]).ok();
    // The first prime, behind the scheme, two numbers and two headers.
    let parameters = fs::read(file("client_parameters")).unwrap();
    let q = u64::from_le_bytes(parameters[16 + 17 + 16..][..8].try_into().unwrap());
    let (x, y) = (words(&dir.join("x.seal")), words(&dir.join("y.seal")));
    assert_eq!((x.len(), y.len()), (2 * 2048, 2 * 2048));
    assert!(x.iter().zip(&y).all(|(&x, &y)| (2 * x) % q == y), "the sum of a ciphertext with itself");
    // The written file is read again.
    step(dir, &["import", "y.seal", "-k", "client/eval.key", "--bound", "1998", "-o", "z"]).ok();
    step(dir, &["export", "z", "-o", "z.seal"]).ok();
    assert_eq!(words(&dir.join("z.seal")), y);
    // A table encrypted by the public key belongs to the same key set.
    fs::write(dir.join("table.csv"), "1\n2\n3\n").unwrap();
    he(["encrypt", "table.csv", "--no-header", "-k", "client/public.key", "-o", "t"]).at(dir).ok();
    step(dir, &["export", "t", "-o", "t.seal"]).ok();
    assert_eq!(words(&dir.join("t.seal")).len(), 2 * 2048);
}

#[test]
fn other_files_are_refused() {
    let dir = folder();
    let dir = dir.path();
    let import = |file: &str, bound: &str| {
        step(dir, &["import", file, "-k", "client/public.key", "--bound", bound, "-o", "x"]).refuses()
    };
    let parameters = file("client_parameters");
    let swapped = ["keys", &parameters, "--public-key", &file("client_ciphertext"), "-o", "client"];
    assert!(step(dir, &swapped).refuses().contains("of a file of SEAL"));
    assert!(!dir.join("client").exists());
    let weak = ["keys", &file("bfv_parameters"), "--public-key", &file("bfv_public_key"), "-o", "client"];
    assert!(step(dir, &weak).refuses().contains("128"));
    keys(dir).ok();
    assert!(import(&file("client_public_key"), "9").contains("of a file of SEAL"));
    assert!(import(&file("bfv_ciphertext"), "9").contains("of a file of SEAL"));
    assert!(import(&file("client_ciphertext"), &u64::MAX.to_string()).contains("range"));
    assert!(step(dir, &["export", "client/public.key", "-o", "y"]).refuses().contains("key"));
    assert!(!dir.join("x").exists() && !dir.join("y").exists());
}
