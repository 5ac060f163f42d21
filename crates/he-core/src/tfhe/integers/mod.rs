//! Integers of 8 to 256 bits, signed or not, in digits of two bits.
//!
//! A signed integer is stored as its two's complement. Sums, products and bitwise operations are
//! therefore those of unsigned integers, and the sign decides about comparisons, quotients, shifts
//! to the right, casts to wider types, and overflow.

mod arithmetic;
mod arrays;
mod bits;
mod carry;
mod casts;
mod columns;
mod comparison;
mod digits;
mod division;
mod evaluator;
mod handle;
mod plain_arrays;
mod plain_division;
mod products;
mod rounding;
mod rows;
mod saturation;
mod shifts;
mod tables;

pub use arithmetic::Sum;
pub(super) use digits::{complements, encode};
pub use evaluator::{Carry, IntegerEvaluator};
pub use handle::{FheInt, FheInteger, FheUint, Operand};
pub use plain_arrays::PlainArray;
pub use rounding::Rounding;
pub use tables::DIGIT_LOOKUP;

use super::{LweBatch, LweOps};
use crate::backend::Cpu;
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use derive_where::derive_where;
use rows::Rows;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::Range;
pub(super) use tables::{BITS, UNIT};

mod sealed {
    pub trait Sealed {}
}

/// Whether integers have a sign: [`Signed`] or [`Unsigned`].
pub trait Signedness: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// True for integers of -2^(bits - 1) to 2^(bits - 1) - 1, false for those of 0 to 2^bits - 1.
    const SIGNED: bool;
}

/// Integers of 0 to 2^bits - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsigned;

/// Integers of -2^(bits - 1) to 2^(bits - 1) - 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed;

impl sealed::Sealed for Unsigned {}
impl sealed::Sealed for Signed {}

impl Signedness for Unsigned {
    const SIGNED: bool = false;
}

impl Signedness for Signed {
    const SIGNED: bool = true;
}

/// A batch of encrypted integers of one width: [`EncryptedUint`] or [`EncryptedInt`]. Each digit is
/// fresh, or a sum of at most two bootstraps.
#[derive_where(Clone; B::Buf)]
#[derive_where(Debug)]
pub struct EncryptedInteger<S: Signedness, B: LweOps = Cpu> {
    /// The lowest digit first.
    digits: Rows<B>,
    /// The highest digits of which each is a copy of the ciphertext below it. The noise of copies
    /// adds up where they meet, so comparisons leave out what both operands have of them.
    copies: usize,
    sign: PhantomData<S>,
}

/// A batch of encrypted integers without a sign.
pub type EncryptedUint<B = Cpu> = EncryptedInteger<Unsigned, B>;

/// A batch of encrypted integers with a sign.
pub type EncryptedInt<B = Cpu> = EncryptedInteger<Signed, B>;

/// A batch of encrypted conditions: digits 0 or 1.
#[derive_where(Clone; B::Buf)]
#[derive_where(Debug)]
pub struct EncryptedFlags<B: LweOps = Cpu>(LweBatch<B>);

key_set_accessors! {
    [S: Signedness, B: LweOps] EncryptedInteger<S, B> { digits.ciphertexts.key_set }
    [B: LweOps] EncryptedFlags<B> { 0.key_set }
}

impl<S: Signedness, B: LweOps> EncryptedInteger<S, B> {
    fn new(digits: Rows<B>) -> Self {
        Self { digits, copies: 0, sign: PhantomData }
    }

    /// Copies of as many of the highest digits as this are known.
    fn with_copies(mut self, copies: usize) -> Self {
        self.copies = copies;
        self
    }

    /// The width in bits.
    pub fn bits(&self) -> usize {
        self.places() * BITS
    }

    /// The number of integers.
    pub fn batch(&self) -> usize {
        self.digits.batch
    }

    /// The number of digits.
    pub(super) fn places(&self) -> usize {
        self.digits.count
    }

    /// The ciphertexts of the digits, `[digit][batch]`, the lowest digit first.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.digits.ciphertexts
    }

    /// Makes integers from the ciphertexts of digits 0 ... 3, `[digit][batch]`, the lowest digit
    /// first: messages of 2^-5 of the torus.
    ///
    /// # Errors
    /// [`Error::Argument`] for a width that is not an even number from 8 to 256, and for
    /// ciphertexts that are not whole integers.
    pub fn from_ciphertexts(digits: LweBatch<B>, bits: usize) -> Result<Self> {
        let places = digits_of(bits)?;
        if !digits.count().is_multiple_of(places) {
            let why = format!("{} is not a multiple of {places}, the digits of an integer", digits.count());
            return Err(Error::argument("ciphertexts of integers", why));
        }
        Ok(Self::new(Rows { count: places, batch: digits.count() / places, ciphertexts: digits }))
    }

    /// The bits of this integer, read with the other kind of sign. Free.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut he_core::rand::rng());
    /// let x = secret.encrypt_u64(&Cpu::new(), &[255, 127], 8, &mut he_core::rand::rng())?;
    /// assert_eq!(secret.decrypt_i64(&x.reinterpret::<Signed>())?, [-1, 127]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reinterpret<T: Signedness>(self) -> EncryptedInteger<T, B> {
        EncryptedInteger { digits: self.digits, copies: self.copies, sign: PhantomData }
    }

    /// Copies some integers of the batch.
    ///
    /// # Errors
    /// [`Error::BatchRange`], device errors.
    pub fn part(&self, range: Range<usize>) -> Result<Self> {
        Ok(Self::new(self.digits.part(range)?).with_copies(self.copies))
    }

    /// Puts batches of integers of one width together, in this order.
    ///
    /// # Errors
    /// [`Error::Argument`] for none, and for different widths; [`Error::ParamsMismatch`],
    /// [`Error::KeyMismatch`], device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let Some((first, others)) = parts.split_first() else {
            return Err(Error::domain("parts", "none", "give at least one batch"));
        };
        others.iter().try_for_each(|part| expect_width(first.bits(), part.bits()))?;
        let digits: Vec<_> = others.iter().map(|part| &part.digits).collect();
        let copies = parts.iter().map(|part| part.copies).min().unwrap_or(0);
        Ok(Self::new(Rows::beside(&first.digits, &digits)?).with_copies(copies))
    }
}

impl<B: LweOps> EncryptedFlags<B> {
    /// The ciphertexts of the conditions.
    pub fn ciphertexts(&self) -> &LweBatch<B> {
        &self.0
    }

    /// Wraps ciphertexts of digits 0 and 1.
    pub fn from_ciphertexts(ciphertexts: LweBatch<B>) -> Self {
        Self(ciphertexts)
    }

    /// The number of conditions.
    pub fn batch(&self) -> usize {
        self.0.count()
    }
}

/// The ciphertexts per integer of `bits` bits, if such integers exist.
pub(crate) fn digits_of(bits: usize) -> Result<usize> {
    if !(8..=256).contains(&bits) || !bits.is_multiple_of(BITS) {
        return Err(Error::domain("bits of an integer", bits.to_string(), "an even number from 8 to 256"));
    }
    Ok(bits / BITS)
}

fn expect_width(left: usize, right: usize) -> Result<()> {
    if left != right {
        return Err(Error::domain(
            "bits of an integer",
            format!("operands of {left} and {right} bits"),
            "both must be as wide: IntegerEvaluator::cast changes a width",
        ));
    }
    Ok(())
}
