//! Results that do not fit: marked, or replaced by the nearest number that fits.

use super::rows::{Form, Rows};
use super::tables::Table;
use super::{EncryptedFlags, EncryptedInt, EncryptedInteger, EncryptedUint, IntegerEvaluator, Signedness};
use crate::error::Result;
use crate::tfhe::LweOps;
use num_bigint::{BigInt, BigUint};

/// The side on which a result without a sign does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// -x modulo 2^bits, and whether the negative does not fit: for every x but 0 without a sign,
    /// and for -2^(bits - 1) with one.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn overflowing_neg<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        let overflow = if S::SIGNED { self.is_least(x)? } else { self.any_digit(&x.digits)? };
        Ok((self.neg(x)?, overflow))
    }

    /// |x| with a sign, modulo 2^bits, and whether it does not fit: for -2^(bits - 1), which it
    /// leaves. The result of [`abs`](Self::abs) has no sign and always fits.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn overflowing_abs(&self, x: &EncryptedInt<B>) -> Result<(EncryptedInt<B>, EncryptedFlags<B>)> {
        Ok((self.magnitude(x)?.0, self.is_least(x)?))
    }

    /// [`div`](Self::div), and whether the result is a quotient: not for y = 0, nor for the
    /// least signed integer by -1, whose quotient does not fit.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let x = secret.encrypt_i64(&cpu, &[7, 7, -128], 8, &mut rng)?;
    /// let y = secret.encrypt_i64(&cpu, &[-2, 0, -1], 8, &mut rng)?;
    /// let (quotient, exists) = evaluator.checked_div(&x, &y)?;
    /// assert_eq!(secret.decrypt_i64(&quotient)?, [-3, -1, -128]);
    /// assert_eq!(secret.decrypt_flags(&exists)?, [true, false, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn checked_div<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        Ok((self.div(x, y)?, self.has_quotient(x, y)?))
    }

    /// [`rem`](Self::rem), and whether there is a quotient, as in
    /// [`checked_div`](Self::checked_div).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn checked_rem<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        Ok((self.rem(x, y)?, self.has_quotient(x, y)?))
    }

    /// [`shl`](Self::shl), and whether the amount is the width or more. Rust's operation of this
    /// name takes the amount modulo the width, where this returns 0.
    ///
    /// # Errors
    /// The errors of [`shl`](Self::shl).
    pub fn overflowing_shl<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        Ok((self.shl(x, amount)?, self.is_beyond(x.bits(), amount)?))
    }

    /// [`shr`](Self::shr), and whether the amount is the width or more; see
    /// [`overflowing_shl`](Self::overflowing_shl).
    ///
    /// # Errors
    /// The errors of [`shl`](Self::shl).
    pub fn overflowing_shr<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        amount: &EncryptedUint<B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        Ok((self.shr(x, amount)?, self.is_beyond(x.bits(), amount)?))
    }

    /// x + y, or the number nearest to it that fits: [`overflowing_add`](Self::overflowing_add),
    /// and one bootstrap per digit, with signs two more.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let x = secret.encrypt_i64(&cpu, &[100, -100, 5], 8, &mut rng)?;
    /// let y = secret.encrypt_i64(&cpu, &[28, -29, 6], 8, &mut rng)?;
    /// let sum = evaluator.saturating_add(&x, &y)?;
    /// assert_eq!(secret.decrypt_i64(&sum)?, [127, -128, 11]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn saturating_add<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let (sum, overflow) = self.overflowing_add(x, y)?;
        self.saturated(sum, &overflow, Side::Above, || self.sign(&x.digits))
    }

    /// x - y, or the number nearest to it that fits: [`overflowing_sub`](Self::overflowing_sub),
    /// and one bootstrap per digit, with signs two more.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn saturating_sub<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let (difference, overflow) = self.overflowing_sub(x, y)?;
        self.saturated(difference, &overflow, Side::Below, || self.sign(&x.digits))
    }

    /// x y, or the number nearest to it that fits: [`overflowing_mul`](Self::overflowing_mul), and
    /// one bootstrap per digit, with signs four more.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn saturating_mul<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let (product, overflow) = self.overflowing_mul(x, y)?;
        self.saturated(product, &overflow, Side::Above, || {
            let signs = Rows::stack(&[&self.sign(&x.digits)?, &self.sign(&y.digits)?])?;
            self.lookup(&signs, &[(Form::sum([0, 1]), Table::Odd)])
        })
    }

    /// The number nearest to a result where that does not fit: on this side, or with a sign on that
    /// of the sign of the exact result, as a row.
    fn saturated<S: Signedness>(
        &self,
        found: EncryptedInteger<S, B>,
        overflow: &EncryptedFlags<B>,
        side: Side,
        negative: impl FnOnce() -> Result<Rows<B>>,
    ) -> Result<EncryptedInteger<S, B>> {
        let (places, overflow) = (found.places(), self.row(overflow, found.batch())?);
        // 1 where a result is too large, 2 where it is too small.
        let beyond = match (S::SIGNED, side) {
            (true, _) => {
                let pool = Rows::stack(&[&overflow, &negative()?])?;
                self.lookup(&pool, &[(Form::of([(2, 0), (1, 1)]), Table::Beyond)])?
            }
            (false, Side::Above) => overflow,
            (false, Side::Below) => self.combine(&overflow, &[Form::of([(2, 0)])])?,
        };
        let pool = Rows::stack(&[&found.digits, &beyond])?;
        let forms: Vec<_> = (0..places)
            .map(|d| {
                let table =
                    if S::SIGNED && d + 1 == places { Table::SaturatedSign } else { Table::Saturated };
                (Form::of([(1, d), (4, places)]), table)
            })
            .collect();
        Ok(EncryptedInteger::new(self.lookup(&pool, &forms)?))
    }

    /// Whether x / y exists and fits.
    fn has_quotient<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedFlags<B>> {
        let divides = self.any_digit(&y.digits)?;
        if !S::SIGNED {
            return Ok(divides);
        }
        let beyond = self.and_flags(&self.is_least(x)?, &self.all_set(y)?)?;
        self.and_flags(&divides, &self.not_flags(&beyond)?)
    }

    /// Whether a number is -2^(bits - 1).
    fn is_least(&self, x: &EncryptedInteger<impl Signedness, B>) -> Result<EncryptedFlags<B>> {
        let least = -(BigInt::from(1) << (x.bits() - 1));
        let least = self.constant_int(&vec![least; x.batch()], x.bits())?;
        self.eq(&Self::with_sign(x)?, &least)
    }

    /// Whether every bit of a number is set.
    fn all_set(&self, x: &EncryptedInteger<impl Signedness, B>) -> Result<EncryptedFlags<B>> {
        let ones = self.constant_i64(&vec![-1; x.batch()], x.bits())?;
        self.eq(&Self::with_sign(x)?, &ones)
    }

    /// A copy with a sign.
    fn with_sign(x: &EncryptedInteger<impl Signedness, B>) -> Result<EncryptedInt<B>> {
        Ok(x.part(0..x.batch())?.reinterpret())
    }

    /// Whether an amount is `bits` or more.
    fn is_beyond(&self, bits: usize, amount: &EncryptedUint<B>) -> Result<EncryptedFlags<B>> {
        let least = BigUint::from(bits);
        if least.bits() > amount.bits() as u64 {
            return Ok(EncryptedFlags(self.zeros(1, amount.batch())?.ciphertexts));
        }
        let least = self.constant(&vec![least; amount.batch()], amount.bits())?;
        self.ge(amount, &least)
    }
}
