//! Polynomials packed to the width of their primes: each row of N residues takes ceil(N bits / 8)
//! bytes, little-endian.

use super::{FrameKind, WireError};
use crate::arith::Modulus;
use crate::parallel::*;
use crate::reveal;
use crate::ring::{RingSpec, Span};
use std::sync::atomic::{AtomicUsize, Ordering};

fn row_bytes(bits: u32, n: usize) -> usize {
    (n * bits as usize).div_ceil(8)
}

/// The bytes of a batch of polynomials over a span.
pub(super) fn packed_len(spec: &RingSpec, span: Span, batch: usize) -> usize {
    spec.moduli_of(span).map(|q| row_bytes(q.bits(), spec.n()) * batch).sum()
}

fn pack_row(row: &[u64], bits: u32, out: &mut [u8]) {
    let (mut pending, mut fill, mut at) = (0u128, 0, 0);
    for &x in row {
        pending |= u128::from(x) << fill;
        fill += bits;
        if fill >= 64 {
            out[at..at + 8].copy_from_slice(&(pending as u64).to_le_bytes());
            (pending, fill, at) = (pending >> 64, fill - 64, at + 8);
        }
    }
    let rest = out.len() - at;
    out[at..].copy_from_slice(&pending.to_le_bytes()[..rest]);
}

/// Unpacks a row; returns false if some number is not below q, or if padding is not zero. Constant
/// time.
fn unpack_row(bytes: &[u8], q: &Modulus, out: &mut [u64]) -> bool {
    let bits = q.bits();
    let mask = (1u64 << bits) - 1;
    let (mut pending, mut fill) = (0u128, 0);
    let (words, tail) = bytes.as_chunks::<8>();
    let mut tail_word = [0; 8];
    tail_word[..tail.len()].copy_from_slice(tail);
    let mut words = words.iter().chain(std::iter::once(&tail_word));
    let mut outside = false;
    for x in out.iter_mut() {
        if fill < bits {
            let word = words.next().map_or(0, |word| u64::from_le_bytes(*word));
            pending |= u128::from(word) << fill;
            fill += 64;
        }
        *x = pending as u64 & mask;
        outside |= *x >= q.value();
        pending >>= bits;
        fill -= bits;
    }
    let rest = words.fold(0, |rest, word| rest | u64::from_le_bytes(*word));
    !outside & (pending == 0) & (rest == 0)
}

/// Packs polynomials into exactly their bytes.
///
/// # Panics
/// Unless `out` has [`packed_len`] bytes.
pub(super) fn pack(spec: &RingSpec, span: Span, batch: usize, words: &[u64], out: &mut [u8]) {
    let n = spec.n();
    assert_eq!(out.len(), packed_len(spec, span, batch), "bytes of packed polynomials");
    let mut rest = out;
    for (limb, q) in spec.moduli_of(span).enumerate() {
        let bytes = row_bytes(q.bits(), n);
        let (rows, after) = rest.split_at_mut(bytes * batch);
        let source = &words[limb * batch * n..][..batch * n];
        rows.par_chunks_exact_mut(bytes)
            .zip(source.par_chunks_exact(n))
            .with_min_len((4096 / n).max(1))
            .for_each(|(out, row)| pack_row(row, q.bits(), out));
        rest = after;
    }
}

/// Unpacks polynomials from exactly their bytes. Constant time for valid ones.
pub(super) fn unpack(
    kind: FrameKind,
    spec: &RingSpec,
    span: Span,
    batch: usize,
    bytes: &[u8],
) -> Result<Vec<u64>, WireError> {
    let n = spec.n();
    let expected = packed_len(spec, span, batch);
    if bytes.len() != expected {
        return Err(WireError::Length { kind, found: bytes.len() as u64, expected: expected as u64 });
    }
    let mut words = vec![0; span.limbs() * batch * n];
    let mut rest = bytes;
    for (limb, q) in spec.moduli_of(span).enumerate() {
        let row = row_bytes(q.bits(), n);
        let (rows, after) = rest.split_at(row * batch);
        let bad = AtomicUsize::new(0);
        words[limb * batch * n..][..batch * n]
            .par_chunks_exact_mut(n)
            .zip(rows.par_chunks_exact(row))
            .with_min_len((4096 / n).max(1))
            .for_each(|(out, bytes)| {
                bad.fetch_add(usize::from(!unpack_row(bytes, q, out)), Ordering::Relaxed);
            });
        // The polynomials of secret shares come this way, too.
        if reveal::bit(bad.into_inner() > 0) {
            return Err(WireError::Residue { kind, limb });
        }
        rest = after;
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    #[test]
    fn rows_round_trip_and_outsiders_are_found() {
        let mut rng = ChaCha20Rng::seed_from_u64(5);
        for q in [17u64, 97, (1 << 20) - 3, (1 << 32) - 5, (1 << 50) - 27, (1 << 60) + 33, (1 << 61) - 1] {
            let q = Modulus::new(q).unwrap();
            for n in [4usize, 8, 32, 256] {
                let mut row: Vec<u64> = (0..n).map(|_| rng.random_range(0..q.value())).collect();
                row[0] = q.value() - 1;
                row[n - 1] = q.value() - 1;
                let mut bytes = vec![0xff; row_bytes(q.bits(), n)];
                pack_row(&row, q.bits(), &mut bytes);
                let mut back = vec![0; n];
                assert!(unpack_row(&bytes, &q, &mut back), "{q:?}, n = {n}");
                assert_eq!(back, row);
                row[n / 2] = q.value();
                pack_row(&row, q.bits(), &mut bytes);
                assert!(!unpack_row(&bytes, &q, &mut back), "{q:?}, n = {n}");
            }
        }
    }
}
