//! Numbers as digits of two bits, in the clear.

use super::digits_of;
use super::tables::{BITS, UNIT};
use crate::error::{Error, Result};
use crate::reveal;
use num_bigint::{BigInt, BigUint, Sign};
use zeroize::Zeroizing;

/// A number that is cut into digits.
pub(in crate::tfhe) trait Number {
    /// Whether integers of so many bits reach it.
    fn fits(&self, bits: usize) -> bool;

    /// The word `index` of 64 bits of its two's complement; the lowest is 0.
    fn limb(&self, index: usize) -> u64;
}

impl Number for BigUint {
    fn fits(&self, bits: usize) -> bool {
        self.bits() <= bits as u64
    }

    fn limb(&self, index: usize) -> u64 {
        self.iter_u64_digits().nth(index).unwrap_or(0)
    }
}

impl Number for u64 {
    fn fits(&self, bits: usize) -> bool {
        bits >= 64 || self >> bits == 0
    }

    fn limb(&self, index: usize) -> u64 {
        if index == 0 { *self } else { 0 }
    }
}

impl Number for i64 {
    fn fits(&self, bits: usize) -> bool {
        // A value fits if the bits from its sign on are equal.
        bits > 64 || (self >> (bits - 1)) as u64 == (self >> 63) as u64
    }

    fn limb(&self, index: usize) -> u64 {
        if index == 0 { *self as u64 } else { (self >> 63) as u64 }
    }
}

/// Two's complement of `bits` bits; too wide a number, which [`Number::fits`] refuses, if the value
/// does not fit.
fn complement(value: &BigInt, bits: usize) -> BigUint {
    let half = BigUint::from(1u8) << (bits - 1);
    match value.sign() {
        Sign::Minus if value.magnitude() <= &half => (&half << 1) - value.magnitude(),
        Sign::Minus => half << 1,
        _ if value.magnitude() < &half => value.magnitude().clone(),
        _ => half << 1,
    }
}

/// The two's complements of these values.
pub(in crate::tfhe) fn complements(values: &[BigInt], bits: usize) -> Result<Vec<BigUint>> {
    digits_of(bits)?;
    Ok(values.iter().map(|value| complement(value, bits)).collect())
}

/// The words of the digits `[digit][batch]`, in units of 2^-64.
pub(in crate::tfhe) fn encode<T: Number>(values: &[T], bits: usize) -> Result<Zeroizing<Vec<u64>>> {
    digits_of(bits)?;
    if !reveal::bit(values.iter().fold(true, |all, value| all & value.fits(bits))) {
        let index = values.iter().position(|value| !value.fits(bits)).unwrap_or(0);
        let why = format!("number {index} of the batch does not fit {bits} bits");
        return Err(Error::argument("integer", why));
    }
    let mut words = Zeroizing::new(vec![0; bits / BITS * values.len()]);
    for (b, value) in values.iter().enumerate() {
        for d in 0..bits / BITS {
            let limb = value.limb(d * BITS / 64);
            words[d * values.len() + b] = (limb >> (d * BITS % 64) & 3) * UNIT;
        }
    }
    Ok(words)
}
