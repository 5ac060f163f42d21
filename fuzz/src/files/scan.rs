//! Files as they arrive: what a service passes on of them, and what `info` says of them.
//!
//! Must hold: a scan passes on a prefix of the bytes, the same prefix whatever pieces they come in,
//! and nothing of a file whose first key or ciphertext is a secret key; `info` ends without a
//! panic.
//!
//! Bytes: flags (1: repair the checksums; 2: evaluation keys instead of encrypted files), the
//! length of a piece, then the file.

use super::target::repair_frames;
use super::world;
use he_files::info::describe;
use he_files::io::input::Input;
use he_files::scan::{Scan, Scanned};

pub fn run(data: &[u8]) {
    let [flags, piece, bytes @ ..] = data else { return };
    let mut bytes = bytes.to_vec();
    if flags & 1 == 1 {
        repair_frames(&mut bytes);
    }
    let scanned = if flags & 2 == 0 { Scanned::Encrypted } else { Scanned::EvaluationKeys };
    let scan = |piece: usize| {
        let (mut scan, mut passed) = (Scan::new("x", scanned), Vec::new());
        let mut ok = bytes
            .chunks(piece.max(1))
            .all(|part| scan.push(part, |part| passed.extend_from_slice(part)).is_ok());
        ok = ok && scan.end().is_ok();
        (ok, passed)
    };
    let (whole, passed) = scan(bytes.len());
    assert!(bytes.starts_with(&passed), "what is passed on did not arrive");
    assert!(!whole || passed.len() == bytes.len(), "something of an accepted file is held back");
    // Small pieces of a long start are looked at once each.
    let piece = usize::from(*piece).max(bytes.len() / 200);
    let (again, in_pieces) = scan(piece);
    assert_eq!((again, in_pieces.len()), (whole, passed.len()), "in pieces of {piece} bytes");
    for (name, key) in world::key_files() {
        assert!(bytes != key || passed.is_empty(), "{name} is passed on");
    }
    let _ = describe(Input::from_bytes("x", bytes), None, None).map(|description| description.json());
}

pub fn seeds() -> Vec<Vec<u8>> {
    let encrypted = world::encrypted_files().into_iter().map(|file| (0, file));
    let keys = world::key_files().into_iter().map(|(_, file)| (2, file));
    let public = world::public_key_files().into_iter().map(|file| (2, file));
    // The large ones only as far as their frames begin.
    let cut = |file: &[u8]| file[..file.len().min(1500)].to_vec();
    let of = |(flags, file): (u8, Vec<u8>)| {
        [[&[flags, 7][..], &cut(&file)].concat(), [&[flags | 1, 0][..], &cut(&file)].concat()]
    };
    encrypted.chain(keys).chain(public).flat_map(of).collect()
}
