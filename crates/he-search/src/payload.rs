//! Payloads as numbers in slots.

use crate::error::{Error, Result};
use num_complex::Complex64;

/// The bits of a digit.
const DIGIT_BITS: usize = 12;

/// Digits are this fraction of one.
pub(crate) const BASE: f64 = (1u32 << DIGIT_BITS) as f64;

/// The longest payload.
const MAX_BYTES: usize = 256;

pub(crate) fn check(bytes: usize) -> Result<()> {
    match bytes <= MAX_BYTES {
        true => Ok(()),
        false => Err(Error::PayloadLimit { found: bytes, limit: MAX_BYTES }),
    }
}

/// The ciphertexts of payloads of so many bytes: their digits and the marker, two to a slot.
pub(crate) fn ciphertexts(bytes: usize) -> usize {
    (digits(bytes) + 1).div_ceil(2)
}

fn digits(bytes: usize) -> usize {
    (8 * bytes).div_ceil(DIGIT_BITS)
}

/// The slots of one record, one for each ciphertext: first the marker, which is one, then the
/// digits, from the lowest bits of the first byte on.
pub(crate) fn pack(payload: &[u8]) -> Vec<Complex64> {
    let bit = |at: usize| payload.get(at / 8).map_or(0, |byte| u32::from(byte >> (at % 8) & 1));
    let digit = |at: usize| (0..DIGIT_BITS).fold(0, |sum, i| sum | bit(at * DIGIT_BITS + i) << i);
    let numbers: Vec<f64> = std::iter::once(1.0)
        .chain((0..digits(payload.len())).map(|at| f64::from(digit(at)) / BASE))
        .collect();
    numbers.chunks(2).map(|pair| Complex64::new(pair[0], pair.get(1).copied().unwrap_or(0.0))).collect()
}

/// The payload of a slot that holds one record.
pub(crate) fn unpack(slots: &[Complex64], bytes: usize) -> Vec<u8> {
    let numbers: Vec<f64> = slots.iter().flat_map(|z| [z.re, z.im]).skip(1).collect();
    let digit = |at: usize| (numbers[at] * BASE).round().clamp(0.0, BASE - 1.0) as u32;
    let bit = |at: usize| (digit(at / DIGIT_BITS) >> (at % DIGIT_BITS) & 1) as u8;
    (0..bytes).map(|byte| (0..8).fold(0, |sum, i| sum | bit(8 * byte + i) << i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_comes_back() {
        for bytes in 0..40 {
            let payload: Vec<u8> = (0..bytes).map(|i| (i * 89 + 251) as u8).collect();
            let slots = pack(&payload);
            assert_eq!(slots.len(), ciphertexts(bytes));
            assert_eq!(slots[0].re, 1.0);
            assert_eq!(unpack(&slots, bytes), payload);
        }
    }
}
