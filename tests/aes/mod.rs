//! Compares AES on the processor with published vectors, other implementations and itself.

mod files;
mod openssl;
mod rustcrypto;
mod threads;
mod wycheproof;

use he::aes::{Bulk, BulkCipher, Cpu, Reference, TTable};

fn all() -> [Box<dyn BulkCipher>; 3] {
    [Box::new(Cpu::new()), Box::new(Reference::new()), Box::new(TTable::new())]
}

fn hex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).unwrap()).collect()
}

/// The result of an operation on the data.
fn made<T>(data: &[u8], operation: impl FnOnce(Bulk<'_>) -> he::aes::Result<T>) -> (Vec<u8>, T) {
    let mut made = vec![0x5a; data.len()];
    let result = operation(Bulk::copy(data, &mut made).unwrap()).unwrap();
    (made, result)
}

/// A seed, drawn afresh or given by `HE_TEST_SEED`. It is printed, and visible if a test fails.
fn seed() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    let given = std::env::var("HE_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0));
    eprintln!("seed {seed}; repeat it with HE_TEST_SEED={seed}");
    seed
}

#[test]
fn conformance() {
    he::aes::conformance::suite(&Cpu::new(), seed());
}
