//! Integers with operators.

use super::{
    EncryptedFlags, EncryptedInteger, EncryptedUint, IntegerEvaluator, Signed, Signedness, Unsigned,
};
use crate::backend::Cpu;
use crate::error::Result;
use crate::tfhe::LweOps;
use num_bigint::{BigInt, BigUint};
use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};
use std::sync::Arc;

/// Encrypted integers together with the evaluator that computes with them, for programs that are
/// written in operators: [`FheUint`] or [`FheInt`].
///
/// Operators take references and return a [`Result`], since each needs the device: they are the
/// methods of [`IntegerEvaluator`] of the left operand, where errors are described. The right
/// operand of operators, of comparisons, and of methods that add, subtract or take an extremum, may
/// be a plain number ([`Operand`]), which counts for every integer of the batch and must fit their
/// width, except as a factor. By a plain number `*`, `/` and `%` are `mul_plain`, `div_plain` and
/// `rem_plain`, which cost less; a plain divisor of 0 is an error.
///
/// ```
/// # use he_core::{backend::Cpu, tfhe::*};
/// # use std::sync::Arc;
/// # fn main() -> he_core::Result<()> {
/// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
/// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
/// # let key = BootstrapKey::generate(&secret, &mut rng);
/// let evaluator = Arc::new(IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?);
/// let a = FheUint::new(secret.encrypt_u64(&cpu, &[12, 250], 8, &mut rng)?, &evaluator);
/// let b = FheUint::new(secret.encrypt_u64(&cpu, &[7, 16], 8, &mut rng)?, &evaluator);
/// let c = (&(&(&a * &b)? + 5)? >> 1)?;
/// assert_eq!(secret.decrypt_u64(c.value())?, [44, 82]); // (84 + 5) / 2, (4000 modulo 256 + 5) / 2
/// assert_eq!(secret.decrypt_flags(&c.gt(50)?)?, [false, true]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct FheInteger<S: Signedness, B: LweOps = Cpu> {
    value: EncryptedInteger<S, B>,
    evaluator: Arc<IntegerEvaluator<B>>,
}

/// Encrypted integers without a sign, with operators.
pub type FheUint<B = Cpu> = FheInteger<Unsigned, B>;

/// Encrypted integers with a sign, with operators.
pub type FheInt<B = Cpu> = FheInteger<Signed, B>;

impl<S: Signedness, B: LweOps> FheInteger<S, B> {
    /// Puts integers and an evaluator together.
    pub fn new(value: EncryptedInteger<S, B>, evaluator: &Arc<IntegerEvaluator<B>>) -> Self {
        Self { value, evaluator: evaluator.clone() }
    }

    /// The integers, for decryption.
    pub fn value(&self) -> &EncryptedInteger<S, B> {
        &self.value
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Arc<IntegerEvaluator<B>> {
        &self.evaluator
    }

    fn with<T: Signedness>(&self, value: Result<EncryptedInteger<T, B>>) -> Result<FheInteger<T, B>> {
        Ok(FheInteger { value: value?, evaluator: self.evaluator.clone() })
    }

    fn same<T>(&self, found: Result<T>) -> Result<T> {
        found
    }

    fn flagged<T: Signedness>(
        &self,
        found: Result<(EncryptedInteger<T, B>, EncryptedFlags<B>)>,
    ) -> Result<(FheInteger<T, B>, EncryptedFlags<B>)> {
        let (value, flags) = found?;
        Ok((self.with(Ok(value))?, flags))
    }

    fn pair(&self, found: Result<(EncryptedInteger<S, B>, EncryptedInteger<S, B>)>) -> Result<(Self, Self)> {
        let (first, second) = found?;
        Ok((self.with(Ok(first))?, self.with(Ok(second))?))
    }

    /// This where the condition is set, `other` elsewhere: [`IntegerEvaluator::select`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn select(&self, condition: &EncryptedFlags<B>, other: impl Operand<S, B>) -> Result<Self> {
        self.with(other.beside(self, |other| self.evaluator.select(condition, &self.value, other)))
    }

    /// [`IntegerEvaluator::select_or_zero`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn select_or_zero(&self, condition: &EncryptedFlags<B>) -> Result<Self> {
        self.with(self.evaluator.select_or_zero(condition, &self.value))
    }

    /// [`IntegerEvaluator::cast`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn cast(&self, bits: usize) -> Result<Self> {
        self.with(self.evaluator.cast(&self.value, bits))
    }

    /// [`IntegerEvaluator::div_rem_plain`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn div_rem_plain(&self, divisor: &BigInt) -> Result<(Self, Self)> {
        self.pair(self.evaluator.div_rem_plain(&self.value, divisor))
    }

    /// [`IntegerEvaluator::div_mod_floor_plain`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn div_mod_floor_plain(&self, divisor: &BigInt) -> Result<(Self, Self)> {
        self.pair(self.evaluator.div_mod_floor_plain(&self.value, divisor))
    }
}

impl<B: LweOps> FheInt<B> {
    /// [`IntegerEvaluator::abs`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn abs(&self) -> Result<FheUint<B>> {
        self.with(self.evaluator.abs(&self.value))
    }

    /// [`IntegerEvaluator::overflowing_abs`].
    ///
    /// # Errors
    /// The errors of the method.
    pub fn overflowing_abs(&self) -> Result<(Self, EncryptedFlags<B>)> {
        self.flagged(self.evaluator.overflowing_abs(&self.value))
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A right operand of integers `FheInteger<S, B>`: others of their batch, or a plain number that
/// counts for every integer of the batch. That is a `u64` or a [`BigUint`] for integers without a
/// sign, an `i64` or a [`BigInt`] for integers with one. A plain number costs as much as an
/// encrypted one, and the time does not depend on it; a number that does not fit the width is
/// [`Error::Argument`](crate::Error::Argument).
pub trait Operand<S: Signedness, B: LweOps>: sealed::Sealed {
    /// Calls `run` with the operand for these integers.
    ///
    /// # Errors
    /// The errors of `run`, and of [`IntegerEvaluator::constant`] for plain numbers.
    fn beside<T>(
        self,
        left: &FheInteger<S, B>,
        run: impl FnOnce(&EncryptedInteger<S, B>) -> Result<T>,
    ) -> Result<T>;
}

impl<S: Signedness, B: LweOps> sealed::Sealed for &FheInteger<S, B> {}

impl<S: Signedness, B: LweOps> Operand<S, B> for &FheInteger<S, B> {
    fn beside<T>(
        self,
        _: &FheInteger<S, B>,
        run: impl FnOnce(&EncryptedInteger<S, B>) -> Result<T>,
    ) -> Result<T> {
        run(&self.value)
    }
}

/// Plain numbers `$plain` beside integers of a sign `$sign`, made by the method `$constant`.
macro_rules! plain_operands {
    ($($plain:ty, $sign:ty: $constant:ident;)*) => {$(
        impl sealed::Sealed for $plain {}

        impl<B: LweOps> Operand<$sign, B> for $plain {
            fn beside<T>(
                self,
                left: &FheInteger<$sign, B>,
                run: impl FnOnce(&EncryptedInteger<$sign, B>) -> Result<T>,
            ) -> Result<T> {
                let (batch, bits) = (left.value.batch(), left.value.bits());
                run(&left.evaluator.$constant(&vec![self; batch], bits)?)
            }
        }
    )*};
}

plain_operands! {
    u64, Unsigned: constant_u64;
    BigUint, Unsigned: constant;
    i64, Signed: constant_i64;
    BigInt, Signed: constant_int;
}

/// The method of the evaluator of the same name, whose result is wrapped by `$wrap`.
macro_rules! methods {
    (@one $wrap:ident (operand) -> $result:ty, $method:ident) => {
        #[doc = concat!("[`IntegerEvaluator::", stringify!($method), "`].")]
        ///
        /// # Errors
        /// The errors of the method, and of plain operands.
        pub fn $method(&self, other: impl Operand<S, B>) -> Result<$result> {
            self.$wrap(other.beside(self, |other| self.evaluator.$method(&self.value, other)))
        }
    };
    (@one $wrap:ident ($($other:ident: $operand:ty)?) -> $result:ty, $method:ident) => {
        #[doc = concat!("[`IntegerEvaluator::", stringify!($method), "`].")]
        ///
        /// # Errors
        /// The errors of the method.
        pub fn $method(&self $(, $other: &$operand)?) -> Result<$result> {
            self.$wrap(self.evaluator.$method(&self.value $(, &$other.value)?))
        }
    };
    ($($wrap:ident $operands:tt -> $result:ty: $($method:ident),*;)*) => {$($(
        methods! { @one $wrap $operands -> $result, $method }
    )*)*};
}

impl<S: Signedness, B: LweOps> FheInteger<S, B> {
    methods! {
        same(operand) -> EncryptedFlags<B>: lt, le, gt, ge, eq, ne;
        with(operand) -> Self: min, max, saturating_add, saturating_sub, saturating_mul;
        flagged(operand) -> (Self, EncryptedFlags<B>): overflowing_add, overflowing_sub, overflowing_mul,
        checked_div, checked_rem;
        pair(operand) -> (Self, Self): min_max;
        pair(other: Self) -> (Self, Self): div_rem, div_mod_floor;
        with(amount: FheUint<B>) -> Self: rotl, rotr;
        flagged(amount: FheUint<B>) -> (Self, EncryptedFlags<B>): overflowing_shl, overflowing_shr;
        with() -> Self: reverse_bits;
        with() -> FheUint<B>:
            count_ones, count_zeros, leading_zeros, leading_ones, trailing_zeros, trailing_ones, ilog2;
        flagged() -> (FheUint<B>, EncryptedFlags<B>): checked_ilog2;
        flagged() -> (Self, EncryptedFlags<B>): overflowing_neg;
        same() -> EncryptedFlags<B>: is_even, is_odd;
    }
}

/// An operator of two encrypted operands.
macro_rules! encrypted_operands {
    ($operator:ident $name:ident $method:ident) => {
        impl<S: Signedness, B: LweOps> $operator for &FheInteger<S, B> {
            type Output = Result<FheInteger<S, B>>;

            fn $name(self, other: Self) -> Self::Output {
                self.with(self.evaluator.$method(&self.value, &other.value))
            }
        }
    };
}

/// Operators of two operands, the second of which may be a plain number of the type's own.
macro_rules! binary {
    ($($operator:ident $name:ident $method:ident),*) => {$(
        encrypted_operands! { $operator $name $method }

        impl<B: LweOps> $operator<u64> for &FheUint<B> {
            type Output = Result<FheUint<B>>;

            fn $name(self, other: u64) -> Self::Output {
                self.with(other.beside(self, |other| self.evaluator.$method(&self.value, other)))
            }
        }

        impl<B: LweOps> $operator<i64> for &FheInt<B> {
            type Output = Result<FheInt<B>>;

            fn $name(self, other: i64) -> Self::Output {
                self.with(other.beside(self, |other| self.evaluator.$method(&self.value, other)))
            }
        }
    )*};
}

binary! { Add add add, Sub sub sub, BitAnd bitand and, BitOr bitor or, BitXor bitxor xor }

/// Operators that cost less for a plain number than for an encrypted one.
macro_rules! binary_plain {
    ($($operator:ident $name:ident $method:ident $plain:ident),*) => {$(
        encrypted_operands! { $operator $name $method }

        impl<B: LweOps> $operator<u64> for &FheUint<B> {
            type Output = Result<FheUint<B>>;

            fn $name(self, other: u64) -> Self::Output {
                self.with(self.evaluator.$plain(&self.value, &other.into()))
            }
        }

        impl<B: LweOps> $operator<i64> for &FheInt<B> {
            type Output = Result<FheInt<B>>;

            fn $name(self, other: i64) -> Self::Output {
                self.with(self.evaluator.$plain(&self.value, &other.into()))
            }
        }
    )*};
}

binary_plain! { Mul mul mul mul_plain, Div div div div_plain, Rem rem rem rem_plain }

/// Operators of one operand.
macro_rules! unary {
    ($($operator:ident $name:ident $method:ident),*) => {$(
        impl<S: Signedness, B: LweOps> $operator for &FheInteger<S, B> {
            type Output = Result<FheInteger<S, B>>;

            fn $name(self) -> Self::Output {
                self.with(self.evaluator.$method(&self.value))
            }
        }
    )*};
}

unary! { Neg neg neg, Not not not }

/// Shifts by encrypted amounts, and by plain ones.
macro_rules! shift {
    ($($operator:ident $name:ident $method:ident $plain:ident),*) => {$(
        impl<S: Signedness, B: LweOps> $operator<&FheUint<B>> for &FheInteger<S, B> {
            type Output = Result<FheInteger<S, B>>;

            fn $name(self, amount: &FheUint<B>) -> Self::Output {
                self.with(self.evaluator.$method(&self.value, &amount.value))
            }
        }

        impl<S: Signedness, B: LweOps> $operator<&EncryptedUint<B>> for &FheInteger<S, B> {
            type Output = Result<FheInteger<S, B>>;

            fn $name(self, amount: &EncryptedUint<B>) -> Self::Output {
                self.with(self.evaluator.$method(&self.value, amount))
            }
        }

        impl<S: Signedness, B: LweOps> $operator<usize> for &FheInteger<S, B> {
            type Output = Result<FheInteger<S, B>>;

            fn $name(self, amount: usize) -> Self::Output {
                self.with(self.evaluator.$plain(&self.value, amount))
            }
        }
    )*};
}

shift! { Shl shl shl shl_plain, Shr shr shr shr_plain }
