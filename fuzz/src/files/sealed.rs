//! Secret keys under a passphrase.
//!
//! Must hold: a file that was not sealed by the passphrase does not open; the one that was opens to
//! what was sealed, and none of its bytes can be changed.
//!
//! Bytes: 0 and a file, whose version is made 1 and whose cost is made the least, unless its first
//! bit is set; or 1 and changes of the good file: a place of 16 bits and a byte that is XORed
//! there.

use super::target::Fields;
use he_files::passphrase::{Passphrase, open};
use std::sync::OnceLock;
use zeroize::Zeroizing;

fn passphrase() -> &'static Passphrase {
    static PHRASE: OnceLock<Passphrase> = OnceLock::new();
    PHRASE.get_or_init(|| Passphrase::new(Zeroizing::new(b"fuzz".to_vec())).expect("a passphrase"))
}

/// Version 1, 8 KiB, one pass, one lane; salt and nonce; then XChaCha20-Poly1305.
const GOOD: &str = include_str!("sealed.hex");

fn good() -> Vec<u8> {
    let digits: Vec<u8> = GOOD.bytes().filter_map(|c| (c as char).to_digit(16)).map(|x| x as u8).collect();
    digits.chunks(2).map(|pair| 16 * pair[0] + pair[1]).collect()
}

pub fn run(data: &[u8]) {
    let Some((&mode, rest)) = data.split_first() else { return };
    if mode & 1 == 1 {
        let mut file = good();
        let mut changes = Fields(rest);
        while let Some([low, high, change]) = changes.take() {
            let at = usize::from(u16::from_le_bytes([low, high])) % file.len();
            // A dear cost only takes time.
            if !(9..21).contains(&at) {
                file[at] ^= change;
            }
        }
        match open(&file, passphrase()) {
            Ok(plain) => assert!(file == good() && plain[..] == *b"a secret key"),
            Err(_) => assert!(file != good(), "the right passphrase does not open its file"),
        }
        return;
    }
    let mut file = rest.to_vec();
    if file.len() < 21 {
        assert!(open(&file, passphrase()).is_err());
        return;
    }
    file[..8].copy_from_slice(b"HESEALED");
    let cost = |file: &mut Vec<u8>, cost: [u32; 3]| {
        for (at, number) in [9, 13, 17].into_iter().zip(cost) {
            file[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
    };
    if mode & 0x80 == 0 {
        file[8] = 1;
        cost(&mut file, [8, 1, 1]);
    } else if file[9..12] != [0; 3] {
        // The cost is great, or none at all: both are refused.
        let memory = u32::from_le_bytes([file[9], file[10], file[11], file[12]]);
        let memory = if memory <= 1 << 20 { memory % 19456 } else { memory };
        let last =
            [13, 17].map(|at| u32::from_le_bytes([file[at], file[at + 1], file[at + 2], file[at + 3]]));
        file[8] = 2;
        cost(&mut file, [memory, last[0], last[1]]);
    } else {
        return;
    }
    let opened = open(&file, passphrase()).is_ok();
    assert_eq!(opened, file == good(), "a file that nobody sealed opens");
}

pub fn seeds() -> Vec<Vec<u8>> {
    let file = [&[0][..], &good()].concat();
    vec![
        vec![1],
        vec![1, 8, 0, 3],
        vec![1, 70, 0, 1, 71, 0, 1],
        file,
        vec![0; 120],
        vec![0x80; 130],
        vec![2, 1],
    ]
}
