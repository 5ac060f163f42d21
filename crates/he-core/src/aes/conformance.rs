//! Checks of any [`BulkCipher`] against [`Reference`] and published answers: test bodies, which
//! panic at the first difference and name the case.
//!
//! ```
//! use he_core::aes::{TTable, conformance};
//!
//! conformance::known_answers(&TTable::new());
//! ```

mod answers;

pub use answers::known_answers;

use super::{AesError, Bulk, BulkCipher, Direction, GcmChunks, Key, KeySize, Reference, Result, XtsKey};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};

const REFERENCE: Reference = Reference::new();
const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

/// Lengths around the borders of blocks, and of the batches of implementations.
const EDGES: [usize; 23] = [
    0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 255, 256, 1023, 1024, 1025, 4095, 4096, 4112, 8191, 8193,
    16400,
];

/// Runs all checks, with data of up to 256 KiB drawn from `seed`.
///
/// # Panics
/// At the first difference.
pub fn suite(cipher: &dyn BulkCipher, seed: u64) {
    known_answers(cipher);
    ecb(cipher, seed);
    ctr(cipher, seed);
    counter_carries(cipher, seed);
    xts(cipher, seed);
    gcm(cipher, seed);
    gcm_chunks(cipher, seed);
    tampering(cipher, seed);
    refusals(cipher);
}

/// Runs an operation in place and from buffer to buffer, and compares the results.
fn both<T: PartialEq + std::fmt::Debug>(
    what: &str,
    data: &[u8],
    operation: impl Fn(Bulk<'_>) -> Result<T>,
) -> (Vec<u8>, T) {
    let mut in_place = data.to_vec();
    let first = operation(Bulk::in_place(&mut in_place)).unwrap_or_else(|e| panic!("{what}, in place: {e}"));
    let mut copied: Vec<u8> = (0..data.len()).map(|i| (i % 251) as u8).collect();
    let bulk = Bulk::copy(data, &mut copied).expect("buffers of one length");
    let second = operation(bulk).unwrap_or_else(|e| panic!("{what}, copied: {e}"));
    assert!(in_place == copied, "{what}: in place and copied differ at {}", difference(&in_place, &copied));
    assert_eq!(first, second, "{what}: in place and copied");
    (in_place, first)
}

fn difference(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()))
}

/// The result of the reference, in place.
fn expected<T>(data: &[u8], operation: impl Fn(Bulk<'_>) -> Result<T>) -> (Vec<u8>, T) {
    let mut bytes = data.to_vec();
    let result = operation(Bulk::in_place(&mut bytes)).unwrap_or_else(|e| panic!("the reference: {e}"));
    (bytes, result)
}

#[track_caller]
fn same(what: &str, found: &[u8], expected: &[u8]) {
    assert!(found == expected, "{what}: byte {} differs", difference(found, expected));
}

fn bytes(len: usize, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rng.fill_bytes(&mut bytes);
    bytes
}

/// Keys and data: all sizes with all edges, and one large piece with an odd tail per size.
fn cases(seed: u64, mut case: impl FnMut(&str, KeySize, &[u8], &mut ChaCha20Rng)) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for size in KeySize::ALL {
        let large = rng.random_range(1 << 16..1 << 18) | 1;
        for len in EDGES.into_iter().chain([large]) {
            let data = bytes(len, &mut rng);
            case(&format!("seed {seed}, {} bits, {len} bytes", size.bits()), size, &data, &mut rng);
        }
    }
}

/// ECB equals the reference's in both directions.
///
/// # Panics
/// At the first difference.
pub fn ecb(cipher: &dyn BulkCipher, seed: u64) {
    cases(seed, |case, size, data, rng| {
        let key = Key::generate(size, rng);
        let data = &data[..data.len() / 16 * 16];
        for direction in DIRECTIONS {
            let what = format!("{}: ECB {direction:?}, {case}", cipher.name());
            let (found, ()) = both(&what, data, |data| cipher.hazmat_ecb(&key, direction, data));
            same(&what, &found, &expected(data, |data| REFERENCE.hazmat_ecb(&key, direction, data)).0);
        }
    });
}

/// CTR equals the reference's, from random counters.
///
/// # Panics
/// At the first difference.
pub fn ctr(cipher: &dyn BulkCipher, seed: u64) {
    cases(seed, |case, size, data, rng| {
        let (key, counter) = (Key::generate(size, rng), rng.random());
        same_ctr(cipher, case, &key, &counter, data);
    });
}

/// CTR equals the reference's where the counter carries past 2^8, 2^32, 2^64, 2^96 and 2^128, at
/// any block.
///
/// # Panics
/// At the first difference.
pub fn counter_carries(cipher: &dyn BulkCipher, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let key = Key::generate(KeySize::Bits128, &mut rng);
    for (len, before) in [(100, 3), (5000, 1), (5000, 200), (300_001, 9000), (300_001, 18_000)] {
        let data = bytes(len, &mut rng);
        for bits in [8, 32, 64, 96, 128] {
            // The last `bits` bits are `before` below 2^bits; the bits above are random.
            let low: u128 = u128::MAX.checked_shr(128 - bits).unwrap_or(0);
            let counter = (rng.random::<u128>() & !low) | (low - (before - 1).min(low));
            let case = format!("seed {seed}, {len} bytes, carry over 2^{bits} after {before} blocks");
            same_ctr(cipher, &case, &key, &counter.to_be_bytes(), &data);
        }
    }
}

fn same_ctr(cipher: &dyn BulkCipher, case: &str, key: &Key, counter: &[u8; 16], data: &[u8]) {
    let what = format!("{}: CTR, {case}", cipher.name());
    let (found, ()) = both(&what, data, |data| cipher.hazmat_ctr(key, counter, data));
    same(&what, &found, &expected(data, |data| REFERENCE.hazmat_ctr(key, counter, data)).0);
}

/// XTS equals the reference's in both directions, with units of many lengths, including ciphertext
/// stealing.
///
/// # Panics
/// At the first difference.
pub fn xts(cipher: &dyn BulkCipher, seed: u64) {
    let check = |what: &str, keys: &XtsKey, first: u128, unit: usize, data: &[u8]| {
        for direction in DIRECTIONS {
            let what = format!("{}: XTS {direction:?}, units of {unit} from {first}, {what}", cipher.name());
            let (found, ()) = both(&what, data, |data| cipher.xts(keys, first, unit, direction, data));
            let (expected, ()) = expected(data, |data| REFERENCE.xts(keys, first, unit, direction, data));
            same(&what, &found, &expected);
        }
    };
    cases(seed, |case, size, data, rng| {
        let keys = XtsKey::generate(size, rng);
        let first = rng.random::<u128>() >> rng.random_range(1..128);
        for unit in [16, 512, 520, 4096, 5000, 1 << 20] {
            // The last unit has at least one block.
            let short = data.len() % unit;
            let len = if short < 16 { data.len() - short } else { data.len() };
            if data.len() < 1 << 16 || [512, 1 << 20].contains(&unit) {
                check(case, &keys, first, unit, &data[..len]);
            }
        }
    });
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let keys = XtsKey::generate(KeySize::Bits128, &mut rng);
    for len in 16..=49 {
        check(&format!("seed {seed}, {len} bytes"), &keys, 7, 64, &bytes(len, &mut rng));
    }
    for unit in [32, 520, 1 << 17] {
        check("the last numbers", &keys, u128::MAX - 1, unit, &bytes(2 * unit, &mut rng));
    }
}

/// GCM equals the reference's, and opens what either of them sealed.
///
/// # Panics
/// At the first difference.
pub fn gcm(cipher: &dyn BulkCipher, seed: u64) {
    cases(seed, |case, size, data, rng| {
        let (key, nonce): (_, [u8; 12]) = (Key::generate(size, rng), rng.random());
        let aad = bytes(rng.random_range(0..100), rng);
        let what = format!("{}: GCM, {case}, {} bytes of AAD", cipher.name(), aad.len());
        let (found, tag) = both(&what, data, |data| cipher.gcm_seal(&key, &nonce, &aad, data));
        let (expected, expected_tag) = expected(data, |data| REFERENCE.gcm_seal(&key, &nonce, &aad, data));
        same(&what, &found, &expected);
        assert_eq!(tag, expected_tag, "{what}: tag");
        let (opened, ()) = both(&what, &found, |data| cipher.gcm_open(&key, &nonce, &aad, &tag, data));
        same(&what, &opened, data);
    });
}

/// Many chunks in one call equal one call of the reference per chunk.
///
/// # Panics
/// At the first difference.
pub fn gcm_chunks(cipher: &dyn BulkCipher, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for (len, chunk_len) in
        [(0, 1), (1, 1), (50, 7), (4096, 1024), (4097, 1024), (300_001, 10_000), (300_001, 1 << 16)]
    {
        let size = KeySize::ALL[rng.random_range(0..3)];
        let key = Key::generate(size, &mut rng);
        let data = bytes(len, &mut rng);
        let count = len.div_ceil(chunk_len).max(1);
        let nonces: Vec<[u8; 12]> = (0..count).map(|_| rng.random()).collect();
        let aads = bytes(count * rng.random_range(0..40), &mut rng);
        let chunks = GcmChunks::new(chunk_len, &nonces, &aads).expect("lengths that fit");
        let what = format!("{}: GCM, seed {seed}, {len} bytes in chunks of {chunk_len}", cipher.name());
        let seal = |cipher: &dyn BulkCipher| {
            both(&what, &data, |data| {
                let mut tags = vec![[0; 16]; count];
                cipher.gcm_seal_chunks(&key, chunks, data, &mut tags).map(|()| tags)
            })
        };
        let ((found, tags), (expected, expected_tags)) = (seal(cipher), seal(&REFERENCE));
        same(&what, &found, &expected);
        assert_eq!(tags, expected_tags, "{what}: tags");
        let open = |data: Bulk<'_>| cipher.gcm_open_chunks(&key, chunks, &tags, data);
        same(&what, &both(&what, &found, open).0, &data);

        let mut wrong = tags.clone();
        let index = rng.random_range(0..count);
        for tag in &mut wrong[index..] {
            tag[rng.random_range(0..16)] ^= 1 << rng.random_range(0..8);
        }
        let mut opened = found.clone();
        let refused = cipher.gcm_open_chunks(&key, chunks, &wrong, Bulk::in_place(&mut opened));
        assert!(matches!(refused, Err(AesError::ChunkTag { index: i }) if i == index), "{what}: {refused:?}");
        assert!(opened.iter().all(|&byte| byte == 0), "{what}: something was released");
    }
}

/// A flipped bit in tag, associated data, nonce, key or ciphertext is refused, and nothing is
/// released.
///
/// # Panics
/// If it is not.
pub fn tampering(cipher: &dyn BulkCipher, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    for len in [1, 16, 100, 5000, 300_001] {
        let (key, nonce): (_, [u8; 12]) = (Key::generate(KeySize::Bits256, &mut rng), rng.random());
        let aad = bytes(20, &mut rng);
        let mut data = bytes(len, &mut rng);
        let tag = cipher.gcm_seal(&key, &nonce, &aad, Bulk::in_place(&mut data)).expect("lengths that fit");
        for what in ["nothing", "tag", "aad", "nonce", "key", "data", "length of the aad"] {
            let (mut nonce, mut aad, mut tag, mut data) = (nonce, aad.clone(), tag, data.clone());
            let mut key_bytes = key.expose_bytes().to_vec();
            let bit = 1 << rng.random_range(0..8);
            match what {
                "tag" => tag[rng.random_range(0..16)] ^= bit,
                "aad" => aad[rng.random_range(0..20)] ^= bit,
                "nonce" => nonce[rng.random_range(0..12)] ^= bit,
                "key" => key_bytes[rng.random_range(0..32)] ^= bit,
                "data" => data[rng.random_range(0..len)] ^= bit,
                // The same padded blocks.
                "length of the aad" => aad.push(0),
                _ => {}
            }
            let key = Key::from_slice(&key_bytes).expect("32 bytes");
            let what = format!("{}: {what} of {len} bytes altered, seed {seed}", cipher.name());
            let mut copied = vec![0xaa; len];
            let bulk = Bulk::copy(&data, &mut copied).expect("buffers of one length");
            let from_copy = cipher.gcm_open(&key, &nonce, &aad, &tag, bulk);
            let in_place = cipher.gcm_open(&key, &nonce, &aad, &tag, Bulk::in_place(&mut data));
            if what.contains("nothing") {
                assert!(from_copy.is_ok() && in_place.is_ok(), "{what}");
                continue;
            }
            for (result, output) in [(from_copy, copied), (in_place, data)] {
                assert!(matches!(result, Err(AesError::Tag)), "{what}: {result:?}");
                assert!(output.iter().all(|&byte| byte == 0), "{what}: something was released");
            }
        }
    }
}

/// Arguments outside their domain give the error that the contract names.
///
/// # Panics
/// If they do not.
pub fn refusals(cipher: &dyn BulkCipher) {
    let name = cipher.name();
    let key = Key::from_slice(&[1; 16]).expect("16 bytes");
    let keys = XtsKey::from_slice(&std::array::from_fn::<u8, 32, _>(|i| i as u8)).expect("unequal halves");
    let mut data = [0; 100];
    let ecb = cipher.hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(&mut data[..17]));
    assert!(matches!(ecb, Err(AesError::PartialBlock { found: 17 })), "{name}: {ecb:?}");
    let mut xts = |first, unit, len| {
        cipher.xts(&keys, first, unit, Direction::Encrypt, Bulk::in_place(&mut data[..len]))
    };
    for (first, unit, len) in [(0, 15, 32), (0, 0, 0), (0, 64, 15), (0, 32, 33), (0, 33, 35)] {
        let refused = xts(first, unit, len);
        assert!(matches!(refused, Err(AesError::ShortUnit { .. })), "{name}: {unit}, {len}: {refused:?}");
    }
    let long = xts(0, (1 << 24) + 1, 32);
    assert!(matches!(long, Err(AesError::TooLong { limit: 0x100_0000, .. })), "{name}: {long:?}");
    let beyond = xts(u128::MAX, 32, 64);
    assert!(matches!(beyond, Err(AesError::UnitNumber { units: 2, .. })), "{name}: {beyond:?}");
    assert!(xts(u128::MAX, 64, 64).is_ok() && xts(5, 64, 0).is_ok(), "{name}: a unit that exists");

    let nonces = [[0; 12], [1; 12], [2; 12]];
    let chunks = GcmChunks::new(40, &nonces, &[]).expect("three chunks");
    for (len, tags) in [(100, 2), (80, 3), (121, 3), (0, 3)] {
        let mut data = vec![0; len];
        let sealed =
            cipher.gcm_seal_chunks(&key, chunks, Bulk::in_place(&mut data), &mut vec![[0; 16]; tags]);
        assert!(matches!(sealed, Err(AesError::ChunkCount { .. })), "{name}: {len}, {tags}: {sealed:?}");
        let opened = cipher.gcm_open_chunks(&key, chunks, &vec![[0; 16]; tags], Bulk::in_place(&mut data));
        assert!(matches!(opened, Err(AesError::ChunkCount { .. })), "{name}: {len}, {tags}: {opened:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aes::{Cpu, TTable};

    #[test]
    fn reference() {
        known_answers(&REFERENCE);
        tampering(&REFERENCE, 1);
        refusals(&REFERENCE);
    }

    #[test]
    fn ttable() {
        suite(&TTable::new(), 2);
    }

    #[test]
    fn cpu() {
        suite(&Cpu::new(), 3);
    }
}
