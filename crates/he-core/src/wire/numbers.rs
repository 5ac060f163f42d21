//! Polynomials modulo 2^bits packed to that width: the N numbers of a batch entry take ceil(N
//! bits / 8) bytes, little-endian.

use super::{FrameKind, WireError};
use crate::backend::WideRows;
use crate::parallel::*;
use std::sync::atomic::{AtomicBool, Ordering};

fn entry_bytes(rows: WideRows, n: usize) -> usize {
    (n * rows.bits as usize).div_ceil(8)
}

/// The bytes of a batch of polynomials of degree n.
pub(super) fn packed_len(rows: WideRows, n: usize) -> usize {
    entry_bytes(rows, n) * rows.batch
}

/// The bits of word w of a number.
fn width(rows: WideRows, w: usize) -> u32 {
    (rows.bits - 64 * w as u32).min(64)
}

/// Packs words, which start at 0, into exactly the bytes that they need.
///
/// # Panics
/// Unless `out` has [`packed_len`] bytes.
pub(super) fn pack(rows: WideRows, n: usize, words: &[u64], out: &mut [u8]) {
    assert_eq!(out.len(), packed_len(rows, n), "bytes of packed numbers");
    out.par_chunks_exact_mut(entry_bytes(rows, n)).enumerate().for_each(|(entry, out)| {
        let (mut pending, mut fill, mut at) = (0u128, 0, 0);
        for k in 0..n {
            for w in 0..rows.words() {
                pending |= u128::from(words[(w * rows.batch + entry) * n + k]) << fill;
                fill += width(rows, w);
                if fill >= 64 {
                    out[at..at + 8].copy_from_slice(&(pending as u64).to_le_bytes());
                    (pending, fill, at) = (pending >> 64, fill - 64, at + 8);
                }
            }
        }
        let rest = out.len() - at;
        out[at..].copy_from_slice(&pending.to_le_bytes()[..rest]);
    });
}

/// Unpacks words from exactly the bytes that they need.
pub(super) fn unpack(kind: FrameKind, rows: WideRows, n: usize, bytes: &[u8]) -> Result<Vec<u64>, WireError> {
    let expected = packed_len(rows, n);
    if bytes.len() != expected {
        return Err(WireError::Length { kind, found: bytes.len() as u64, expected: expected as u64 });
    }
    let padded = AtomicBool::new(false);
    let entries = bytes.par_chunks_exact(entry_bytes(rows, n)).map(|bytes| {
        let (mut numbers, mut pending, mut fill) = (Vec::with_capacity(n * rows.words()), 0u128, 0);
        let mut chunks = bytes.chunks(8);
        for i in 0..n * rows.words() {
            let width = width(rows, i % rows.words());
            if fill < width {
                let mut word = [0; 8];
                let chunk = chunks.next().unwrap_or(&[]);
                word[..chunk.len()].copy_from_slice(chunk);
                pending |= u128::from(u64::from_le_bytes(word)) << fill;
                fill += 64;
            }
            numbers.push(pending as u64 & (u64::MAX >> (64 - width)));
            pending >>= width;
            fill -= width;
        }
        padded.fetch_or(pending != 0, Ordering::Relaxed);
        numbers
    });
    let entries: Vec<Vec<u64>> = entries.collect();
    if padded.into_inner() {
        return Err(WireError::Field { kind, field: "padding" });
    }
    let mut words = Vec::with_capacity(rows.count() * n);
    for w in 0..rows.words() {
        for numbers in &entries {
            words.extend((0..n).map(|k| numbers[k * rows.words() + w]));
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// The bytes are those of sum_k x_k 2^(k bits).
    #[test]
    fn entries_are_bit_strings() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for bits in [1, 7, 63, 64, 65, 100, 128, 129, 438, 1200] {
            for (n, batch) in [(4, 1), (8, 3), (64, 2)] {
                let rows = WideRows::new(bits, batch);
                let mut words: Vec<u64> = (0..rows.count() * n).map(|_| rng.random()).collect();
                words[(rows.words() - 1) * batch * n..].iter_mut().for_each(|word| *word &= rows.top_mask());
                let mut bytes = vec![0xff; packed_len(rows, n)];
                pack(rows, n, &words, &mut bytes);
                for entry in 0..batch {
                    let number = |k: usize| {
                        (0..rows.words())
                            .rev()
                            .fold(BigUint::ZERO, |x, w| (x << 64u32) + words[(w * batch + entry) * n + k])
                    };
                    let sum = (0..n).rev().fold(BigUint::ZERO, |sum, k| (sum << bits) + number(k));
                    let mut expected = sum.to_bytes_le();
                    expected.resize(entry_bytes(rows, n), 0);
                    assert_eq!(
                        bytes[entry * entry_bytes(rows, n)..][..entry_bytes(rows, n)],
                        expected,
                        "{bits} bits"
                    );
                }
                let kind = FrameKind::BigCkksCiphertext;
                assert_eq!(unpack(kind, rows, n, &bytes).unwrap(), words, "{bits} bits, N = {n}");
                assert!(matches!(unpack(kind, rows, n, &bytes[1..]), Err(WireError::Length { .. })));
                if !(n * bits as usize).is_multiple_of(8) {
                    let last = bytes.len() - 1;
                    bytes[last] |= 0x80;
                    assert!(matches!(
                        unpack(kind, rows, n, &bytes),
                        Err(WireError::Field { field: "padding", .. })
                    ));
                }
            }
        }
    }
}
