//! Bitwise operations, conditions, and counts of bits.

use super::arithmetic::width_of_count;
use super::columns::Columns;
use super::rows::{Form, Rows};
use super::tables::{BITS, Pair, Table};
use super::{EncryptedFlags, EncryptedInteger, EncryptedUint, IntegerEvaluator, Signedness};
use crate::error::Result;
use crate::tfhe::LweOps;

/// The conditions that one lookup takes together.
const RUN: usize = 9;

impl<B: LweOps> IntegerEvaluator<B> {
    /// The bits that are set in x and in y: one bootstrap per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn and<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.bitwise(x, y, Table::And)
    }

    /// The bits that are set in x or in y: one bootstrap per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn or<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.bitwise(x, y, Table::Or)
    }

    /// The bits that differ: one bootstrap per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn xor<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        self.bitwise(x, y, Table::Xor)
    }

    fn bitwise<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
        table: Table,
    ) -> Result<EncryptedInteger<S, B>> {
        let (pool, places) = (self.pool(x, y)?, x.places());
        let forms = (0..places).map(|d| Form::of([(4, d), (1, places + d)])).collect();
        let digits = self.lookup_all(&pool, forms, table)?;
        Ok(EncryptedInteger::new(digits).with_copies(x.copies.min(y.copies)))
    }

    /// The complement of every bit, without a bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn not<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedInteger<S, B>> {
        let complements = self.joined(&x.digits, (0..x.places()).map(|d| Form::of([(-1, d)]).plus(3)))?;
        Ok(complements.with_copies(x.copies))
    }

    /// The conditions that are not set, without a bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn not_flags(&self, x: &EncryptedFlags<B>) -> Result<EncryptedFlags<B>> {
        let pool = self.row(x, x.batch())?;
        Ok(EncryptedFlags(self.combine(&pool, &[Form::of([(-1, 0)]).plus(1)])?.ciphertexts))
    }

    /// Whether both conditions are set: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn and_flags(&self, x: &EncryptedFlags<B>, y: &EncryptedFlags<B>) -> Result<EncryptedFlags<B>> {
        self.both_flags(x, y, Table::AtLeastTwo)
    }

    /// Whether one of two conditions is set, or both: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn or_flags(&self, x: &EncryptedFlags<B>, y: &EncryptedFlags<B>) -> Result<EncryptedFlags<B>> {
        self.both_flags(x, y, Table::Positive)
    }

    /// Whether exactly one of two conditions is set: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn xor_flags(&self, x: &EncryptedFlags<B>, y: &EncryptedFlags<B>) -> Result<EncryptedFlags<B>> {
        self.both_flags(x, y, Table::Odd)
    }

    fn both_flags(
        &self,
        x: &EncryptedFlags<B>,
        y: &EncryptedFlags<B>,
        table: Table,
    ) -> Result<EncryptedFlags<B>> {
        let pool = Rows::stack(&[&self.row(x, x.batch())?, &self.row(y, x.batch())?])?;
        Ok(EncryptedFlags(self.lookup(&pool, &[(Form::sum([0, 1]), table)])?.ciphertexts))
    }

    /// x where the condition is set, y elsewhere: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn select_flags(
        &self,
        condition: &EncryptedFlags<B>,
        x: &EncryptedFlags<B>,
        y: &EncryptedFlags<B>,
    ) -> Result<EncryptedFlags<B>> {
        let batch = condition.batch();
        let rows = [self.row(condition, batch)?, self.row(x, batch)?, self.row(y, batch)?];
        let pool = Rows::stack(&[&rows[0], &rows[1], &rows[2]])?;
        let form = Form::of([(4, 0), (2, 1), (1, 2)]);
        Ok(EncryptedFlags(self.lookup(&pool, &[(form, Table::Choice)])?.ciphertexts))
    }

    /// The number of bits that are set, in the least even width from 8 bits on that holds it.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn count_ones<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        let forms: Vec<_> = (0..x.places()).map(|d| (Form::sum([d]), Pair::Bits)).collect();
        self.counted(self.lookup_pairs(&x.digits, &forms)?, x.bits(), 1)
    }

    /// The number of bits that are not set, in the width of [`count_ones`](Self::count_ones).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn count_zeros<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        self.count_ones(&self.not(x)?)
    }

    /// The number of zeros above the highest bit that is set, all bits of 0, in the width of
    /// [`count_ones`](Self::count_ones).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn leading_zeros<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        self.zeros_until(x, (0..x.places()).rev().collect(), Pair::PositiveAndLeading)
    }

    /// The number of ones above the highest bit that is not set.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn leading_ones<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        self.leading_zeros(&self.not(x)?)
    }

    /// The number of zeros below the lowest bit that is set, all bits of 0.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn trailing_zeros<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        self.zeros_until(x, (0..x.places()).collect(), Pair::PositiveAndTrailing)
    }

    /// The number of ones below the lowest bit that is not set.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn trailing_ones<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        self.trailing_zeros(&self.not(x)?)
    }

    /// The place of the highest bit that is set, which is the logarithm to base 2 rounded down, in
    /// the width of [`count_ones`](Self::count_ones); all bits are set for 0. The highest bit of a
    /// negative number is its sign. Bootstraps as for [`leading_zeros`](Self::leading_zeros).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn ilog2<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedUint<B>> {
        Ok(self.highest_bit(x)?.0)
    }

    /// [`ilog2`](Self::ilog2), and whether there is a logarithm: not for 0, nor for negative
    /// numbers, as in Rust. Without signs this costs as much, otherwise two bootstraps more.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Ripple)?;
    /// let x = secret.encrypt_u64(&cpu, &[1, 100, 0], 8, &mut rng)?;
    /// let (log, exists) = evaluator.checked_ilog2(&x)?;
    /// assert_eq!(secret.decrypt_u64(&log)?, [0, 6, 255]);
    /// assert_eq!(secret.decrypt_flags(&exists)?, [true, true, false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn checked_ilog2<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedUint<B>, EncryptedFlags<B>)> {
        let (place, positive) = self.highest_bit(x)?;
        if !S::SIGNED {
            return Ok((place, EncryptedFlags(positive.ciphertexts)));
        }
        let pool = Rows::stack(&[&positive, &self.sign(&x.digits)?])?;
        let form = Form::of([(1, 0), (-1, 1)]).plus(1);
        Ok((place, EncryptedFlags(self.lookup(&pool, &[(form, Table::AtLeastTwo)])?.ciphertexts)))
    }

    /// Whether the lowest bit is set: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn is_odd<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedFlags<B>> {
        Ok(EncryptedFlags(self.lookup(&x.digits, &[(Form::sum([0]), Table::Odd)])?.ciphertexts))
    }

    /// Whether the lowest bit is not set: one bootstrap.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn is_even<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedFlags<B>> {
        self.not_flags(&self.is_odd(x)?)
    }

    /// The bits in the opposite order: one bootstrap per digit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn reverse_bits<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedInteger<S, B>> {
        let forms = (0..x.places()).rev().map(|d| Form::sum([d])).collect();
        Ok(EncryptedInteger::new(self.lookup_all(&x.digits, forms, Table::Swapped)?))
    }

    /// The sum of rows of values up to `each`, which is at most `most`.
    fn counted(&self, rows: Rows<B>, most: usize, each: u64) -> Result<EncryptedUint<B>> {
        let mut columns = Columns::new(width_of_count(most) / BITS);
        (0..rows.count).for_each(|row| columns.push(0, row, each));
        Ok(EncryptedInteger::new(self.summed(rows, columns)?))
    }

    /// The place of the highest bit that is set, or -1; and, as a row, whether there is one.
    fn highest_bit<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<(EncryptedUint<B>, Rows<B>)> {
        let (zeros, any) = self.zeros_before(x, (0..x.places()).rev().collect(), Pair::PositiveAndLeading)?;
        // bits - 1 - zeros is the complement of zeros - bits.
        let places = width_of_count(x.bits()) / BITS;
        let above = (1u64 << (BITS * places)) - x.bits() as u64;
        let mut columns = Columns::new(places);
        (0..zeros.count).for_each(|row| columns.push(0, row, 2));
        let digits = (0..places).map(|d| above >> (BITS * d) & 3);
        let constants = columns.push_constant(digits, zeros.count);
        let pool = Rows::stack(&[&zeros, &self.combine(&zeros, &constants)?])?;
        let apart = EncryptedInteger::new(self.summed(pool, columns)?);
        Ok((self.not(&apart)?, any))
    }

    /// The zeros before the first digit of `order` that has a bit, and in it.
    fn zeros_until<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        order: Vec<usize>,
        pair: Pair,
    ) -> Result<EncryptedUint<B>> {
        self.counted(self.zeros_before(x, order, pair)?.0, x.bits(), 2)
    }

    /// Rows of the zeros that each digit has before the first bit in this order; and, as a row,
    /// whether there is a bit.
    fn zeros_before<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        order: Vec<usize>,
        pair: Pair,
    ) -> Result<(Rows<B>, Rows<B>)> {
        let places = x.places();
        let forms: Vec<_> = order.iter().map(|&d| (Form::sum([d]), pair)).collect();
        // Whether each digit has a bit, and its own zeros, in this order.
        let found = self.lookup_pairs(&x.digits, &forms)?;
        // Whether a digit of the same run of nine up to this one has a bit.
        let forms = (0..places).map(|d| Form::sum(d - d % RUN..=d)).collect();
        let mut any = self.lookup_all(&found, forms, Table::Positive)?;
        // Whether a digit of a run of nine times as many digits up to this one has a bit: the flag
        // of each shorter run before that of the digit is at its last digit.
        let mut size = RUN;
        while size < places {
            let ends = |d: usize| (d - d % (RUN * size)..d - d % size).skip(size - 1).step_by(size);
            let forms = (0..places).map(|d| Form::sum(ends(d).chain([d]))).collect();
            any = self.lookup_all(&any, forms, Table::Positive)?;
            size *= RUN;
        }
        // The zeros of a digit count unless a digit before it has a bit.
        let pool = Rows::stack(&[&found, &any])?;
        let forms = (0..places)
            .map(|d| {
                let own = Form::sum([places + d]);
                if d == 0 { own } else { own.and(3, 2 * places + d - 1) }
            })
            .collect();
        Ok((self.lookup_all(&pool, forms, Table::UnlessThree)?, any.rows(places - 1..places)?))
    }
}
