//! Every vector in every file of tests/data/aes.

use super::{all, hex, made};
use he::aes::{BulkCipher, Direction, Key};
use std::collections::BTreeMap;

/// The number of vectors in each file.
const FILES: [(&str, usize); 15] = [
    ("ECBGFSbox128.rsp", 14),
    ("ECBGFSbox192.rsp", 12),
    ("ECBGFSbox256.rsp", 10),
    ("ECBKeySbox128.rsp", 42),
    ("ECBKeySbox192.rsp", 48),
    ("ECBKeySbox256.rsp", 32),
    ("ECBVarKey128.rsp", 256),
    ("ECBVarKey192.rsp", 384),
    ("ECBVarKey256.rsp", 512),
    ("ECBVarTxt128.rsp", 256),
    ("ECBVarTxt192.rsp", 256),
    ("ECBVarTxt256.rsp", 256),
    ("aes-128-ctr.txt", 3),
    ("aes-192-ctr.txt", 3),
    ("aes-256-ctr.txt", 3),
];

struct Vector {
    encrypt: bool,
    fields: BTreeMap<String, String>,
}

impl Vector {
    fn bytes(&self, name: &str) -> Vec<u8> {
        hex(&self.fields[name])
    }
}

/// Sections in brackets, vectors from `COUNT` to `COUNT`, lines `NAME = value`; anything else
/// fails.
fn parse(text: &str) -> Vec<Vector> {
    let (mut encrypt, mut vectors) = (None, Vec::<Vector>::new());
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line {
            "[ENCRYPT]" => encrypt = Some(true),
            "[DECRYPT]" => encrypt = Some(false),
            _ => {
                let (name, value) = line.split_once(" = ").unwrap_or_else(|| panic!("{line}"));
                if name == "COUNT" {
                    vectors.push(Vector { encrypt: encrypt.unwrap(), fields: BTreeMap::new() });
                } else {
                    let vector = vectors.last_mut().unwrap();
                    assert!(vector.fields.insert(name.to_owned(), value.to_owned()).is_none(), "{line}");
                }
            }
        }
    }
    vectors
}

fn check(cipher: &dyn BulkCipher, vector: &Vector) {
    let key = Key::from_slice(&vector.bytes("KEY")).unwrap();
    let (plain, sealed) = (vector.bytes("PLAINTEXT"), vector.bytes("CIPHERTEXT"));
    let (from, to) = if vector.encrypt { (&plain, &sealed) } else { (&sealed, &plain) };
    let (found, ()) = match vector.fields.get("IV") {
        Some(iv) => {
            let counter = hex(iv).try_into().unwrap();
            made(from, |data| cipher.hazmat_ctr(&key, &counter, data))
        }
        None => {
            let direction = if vector.encrypt { Direction::Encrypt } else { Direction::Decrypt };
            made(from, |data| cipher.hazmat_ecb(&key, direction, data))
        }
    };
    assert_eq!(&found, to, "{}: {:?}", cipher.name(), vector.fields);
}

#[test]
fn all_vectors() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/aes");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    found.sort();
    assert_eq!(found, FILES.map(|(name, _)| name));
    for (name, count) in FILES {
        let vectors = parse(&std::fs::read_to_string(format!("{folder}/{name}")).unwrap());
        assert_eq!(vectors.len(), count, "{name}");
        for vector in &vectors {
            all().iter().for_each(|cipher| check(&**cipher, vector));
        }
    }
}
