//! Sums, differences and products.

use super::columns::Columns;
use super::rows::{Form, Rows};
use super::tables::{BITS, Pair, Table};
use super::{EncryptedFlags, EncryptedInteger, IntegerEvaluator, Signedness, expect_width};
use crate::error::{Error, Result};
use crate::tfhe::LweOps;
use derive_where::derive_where;
use num_bigint::{BigInt, Sign};

/// The digits of x + y, or of x + NOT y + 1, before carries.
fn sums(places: usize, subtract: bool) -> Vec<Form> {
    (0..places)
        .map(|d| match subtract {
            false => Form::sum([d, places + d]),
            true => Form::of([(1, d), (-1, places + d)]).plus(3 + u64::from(d == 0)),
        })
        .collect()
}

/// A sum or a difference of [`IntegerEvaluator::sums`].
#[derive_where(Clone, Copy, Debug)]
pub enum Sum<'a, S: Signedness, B: LweOps> {
    /// x + y.
    Add(&'a EncryptedInteger<S, B>, &'a EncryptedInteger<S, B>),
    /// x - y.
    Sub(&'a EncryptedInteger<S, B>, &'a EncryptedInteger<S, B>),
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Sums and differences modulo 2^bits of operands of one width, which go through the steps of
    /// one of them together: a transfer from one account to another is as fast as a sum.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, tfhe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let (cpu, mut rng) = (Cpu::new(), he_core::rand::rng());
    /// # let secret = TfheSecretKey::generate(&presets::insecure_small()?, &mut rng);
    /// # let key = BootstrapKey::generate(&secret, &mut rng);
    /// let evaluator = IntegerEvaluator::new(&cpu, &key, Carry::Prefix)?;
    /// let mut encrypt = |x: u64| secret.encrypt_u64(&cpu, &[x], 8, &mut rng);
    /// let (from, to, moved) = (encrypt(50)?, encrypt(7)?, encrypt(20)?);
    /// let found = evaluator.sums(&[Sum::Sub(&from, &moved), Sum::Add(&to, &moved)])?;
    /// assert_eq!(secret.decrypt_u64(&found[0])?, [30]);
    /// assert_eq!(secret.decrypt_u64(&found[1])?, [27]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] for none, and the errors of [`add`](Self::add).
    pub fn sums<S: Signedness>(&self, all: &[Sum<'_, S, B>]) -> Result<Vec<EncryptedInteger<S, B>>> {
        let digits = |sum: &Sum<'_, S, B>| {
            let (x, y, subtract) = match *sum {
                Sum::Add(x, y) => (x, y, false),
                Sum::Sub(x, y) => (x, y, true),
            };
            self.combine(&self.pool(x, y)?, &sums(x.places(), subtract))
        };
        let parts = all.iter().map(digits).collect::<Result<Vec<_>>>()?;
        let Some((first, others)) = parts.split_first() else {
            return Err(Error::domain("sums", "none", "give at least one"));
        };
        others.iter().try_for_each(|part| expect_width(BITS * first.count, BITS * part.count))?;
        let found = self.carried(&Rows::beside(first, &others.iter().collect::<Vec<_>>())?)?;
        let mut at = 0;
        let part = |part: &Rows<B>| {
            let range = at..at + part.batch;
            at = range.end;
            Ok(EncryptedInteger::new(found.part(range)?))
        };
        parts.iter().map(part).collect()
    }

    /// x + y modulo 2^bits.
    ///
    /// # Errors
    /// [`Error::Argument`] for different widths, [`Error::BatchMismatch`],
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`], device errors.
    pub fn add<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let sums = self.combine(&self.pool(x, y)?, &sums(x.places(), false))?;
        Ok(EncryptedInteger::new(self.carried(&sums)?))
    }

    /// x - y modulo 2^bits: x + NOT y + 1, digit by digit x + 3 - y.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn sub<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let sums = self.combine(&self.pool(x, y)?, &sums(x.places(), true))?;
        Ok(EncryptedInteger::new(self.carried(&sums)?))
    }

    /// x + y modulo 2^bits, and whether the sum does not fit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn overflowing_add<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        self.overflowing(x, y, false)
    }

    /// x - y modulo 2^bits, and whether the difference does not fit.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn overflowing_sub<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        self.overflowing(x, y, true)
    }

    fn overflowing<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
        subtract: bool,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        let places = x.places();
        let pool = self.pool(x, y)?;
        let sums = self.combine(&pool, &sums(places, subtract))?;
        if S::SIGNED {
            // The signs of both operands and of the result decide.
            let found = EncryptedInteger::new(self.carried(&sums)?);
            let tops = [pool.rows(places - 1..places)?, pool.rows(2 * places - 1..2 * places)?];
            let tops = Rows::stack(&[&tops[0], &tops[1], &found.digits.rows(places - 1..places)?])?;
            let signs =
                self.lookup_all(&tops, (0..3).map(|i| Form::sum([i])).collect(), Table::AtLeastTwo)?;
            let table = if subtract { Table::DifferenceOverflow } else { Table::SumOverflow };
            let flags = self.lookup(&signs, &[(Form::of([(4, 0), (2, 1), (1, 2)]), table)])?;
            return Ok((found, EncryptedFlags(flags.ciphertexts)));
        }
        // One more digit takes the carry, which a difference has unless it is negative.
        let sums = Rows::stack(&[&sums, &self.zeros(1, x.batch())?])?;
        let digits = self.carried(&sums)?;
        let found = EncryptedInteger::new(digits.rows(0..places)?);
        let carry = EncryptedFlags(digits.rows(places..places + 1)?.ciphertexts);
        Ok((found, if subtract { self.not_flags(&carry)? } else { carry }))
    }

    /// -x modulo 2^bits.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn neg<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedInteger<S, B>> {
        let forms: Vec<_> =
            (0..x.places()).map(|d| Form::of([(-1, d)]).plus(3 + u64::from(d == 0))).collect();
        Ok(EncryptedInteger::new(self.carried(&self.combine(&x.digits, &forms)?)?))
    }

    /// The sum of one or more batches modulo 2^bits, entry by entry. Up to five digits of one place
    /// go through a bootstrap together, and a digit and a carry are left of them, so that a further
    /// operand costs about a third of an addition.
    ///
    /// # Errors
    /// [`Error::Argument`] for none, and the errors of [`add`](Self::add).
    pub fn sum<S: Signedness>(&self, parts: &[&EncryptedInteger<S, B>]) -> Result<EncryptedInteger<S, B>> {
        let Some((first, others)) = parts.split_first() else {
            return Err(Error::domain("operands of a sum", "none", "give at least one batch"));
        };
        for other in others {
            expect_width(first.bits(), other.bits())?;
            super::evaluator::expect_batch(first.batch(), other.batch())?;
        }
        let digits: Vec<_> = parts.iter().map(|part| &part.digits).collect();
        let places = first.places();
        let mut columns = Columns::new(places);
        (0..parts.len() * places).for_each(|row| columns.push_digit(row % places, row));
        Ok(EncryptedInteger::new(self.summed(Rows::stack(&digits)?, columns)?))
    }

    /// The sum of all integers of a batch modulo 2^bits: a batch of one.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty batch, and the errors of [`add`](Self::add).
    pub fn sum_batch<S: Signedness>(&self, x: &EncryptedInteger<S, B>) -> Result<EncryptedInteger<S, B>> {
        if x.batch() == 0 {
            return Err(Error::domain("operands of a sum", "none", "give at least one integer"));
        }
        let mut columns = Columns::new(x.places());
        // One integer's digits are rows of one ciphertext each.
        let digits = Rows { count: x.places() * x.batch(), batch: 1, ..x.digits.rows(0..x.places())? };
        (0..digits.count).for_each(|row| columns.push_digit(row / x.batch(), row));
        Ok(EncryptedInteger::new(self.summed(digits, columns)?))
    }

    /// x y modulo 2^bits: a bootstrap for each pair of digits that reaches the result, and about
    /// three quarters as many to add them up.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn mul<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(EncryptedInteger::new(self.product(&self.pool(x, y)?, x.places(), x.places())?))
    }

    /// x y modulo 2^bits, and whether the product does not fit, at twice the work of
    /// [`mul`](Self::mul).
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn overflowing_mul<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        y: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        let places = x.places();
        if S::SIGNED {
            // The magnitudes' product with its sign fits twice the width. All bits above the result
            // must equal the result's sign.
            let (a, b) = (self.magnitude(x)?, self.magnitude(y)?);
            let product = self.product(&self.pool(&a.0, &b.0)?, places, 2 * places)?;
            let sign = self.xor_flags(&a.1, &b.1)?;
            let whole = self.negated_if(&product, &sign)?;
            let low = whole.rows(0..places)?;
            let pool = Rows::stack(&[&whole.rows(places..2 * places)?, &self.sign(&low)?])?;
            // Digits of 3 under a sign of 1, and of 0 without one.
            let differences = (0..places).map(|d| Form::of([(1, d), (-3, places)])).collect();
            let equal = self.lookup_all(&pool, differences, Table::Zero)?;
            let overflow = self.not_flags(&self.all(&equal)?)?;
            return Ok((EncryptedInteger::new(low), overflow));
        }
        let digits = self.product(&self.pool(x, y)?, places, 2 * places)?;
        let high = self.any_digit(&digits.rows(places..2 * places)?)?;
        Ok((EncryptedInteger::new(digits.rows(0..places)?), high))
    }

    /// x times a plain number of any size modulo 2^bits: at most one bootstrap for each digit and
    /// each nonzero digit of the factor, and their sum; for a negative factor, one more per digit.
    /// The time reveals the factor.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn mul_plain<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        factor: &BigInt,
    ) -> Result<EncryptedInteger<S, B>> {
        let (places, negative, factor) = (x.places(), factor.sign() == Sign::Minus, factor.magnitude());
        let mut columns = Columns::new(places);
        let digits: Vec<u64> = (0..places as u64)
            .map(|d| u64::from(factor.bit(2 * d)) + 2 * u64::from(factor.bit(2 * d + 1)))
            .collect();
        // Twice and three times the digits, in both halves, follow those of x where they are used.
        let multiples: Vec<u64> = [2, 3].into_iter().filter(|m| digits.contains(m)).collect();
        let forms: Vec<_> = multiples
            .iter()
            .flat_map(|m| (0..places).map(move |d| (Form::sum([d]).plus(4 * (m - 2)), Pair::Multiple)))
            .collect();
        let pool = Rows::stack(&[&x.digits, &self.lookup_pairs(&x.digits, &forms)?])?;
        for (j, &digit) in digits.iter().enumerate().filter(|&(_, &digit)| digit > 0) {
            for i in 0..places - j {
                let Some(at) = multiples.iter().position(|&m| m == digit) else {
                    columns.push_digit(i + j, i);
                    continue;
                };
                let low = places + at * places + i;
                columns.push(i + j, low, 3);
                if i + j + 1 < places {
                    columns.push(i + j + 1, low + forms.len(), 2);
                }
            }
        }
        let product = EncryptedInteger::new(self.summed(pool, columns)?);
        if negative { self.neg(&product) } else { Ok(product) }
    }

    /// The sum of each integer with its condition, 0 or 1: an increment where it is set.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn add_flags<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
        flags: &EncryptedFlags<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        Ok(EncryptedInteger::new(self.incremented(&x.digits, &self.row(flags, x.batch())?)?))
    }

    /// Digits of an integer, plus the condition of a row.
    fn incremented(&self, digits: &Rows<B>, condition: &Rows<B>) -> Result<Rows<B>> {
        let places = digits.count;
        let pool = Rows::stack(&[digits, condition])?;
        let forms: Vec<_> =
            (0..places).map(|d| if d == 0 { Form::sum([0, places]) } else { Form::sum([d]) }).collect();
        self.carried(&self.combine(&pool, &forms)?)
    }

    /// |x|, as an integer without a sign, so that that of -2^(bits - 1) fits.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn abs(&self, x: &super::EncryptedInt<B>) -> Result<super::EncryptedUint<B>> {
        Ok(self.magnitude(x)?.0.reinterpret())
    }

    /// Whether an integer with a sign is negative, as a row.
    pub(super) fn sign(&self, digits: &Rows<B>) -> Result<Rows<B>> {
        self.lookup(digits, &[(Form::sum([digits.count - 1]), Table::AtLeastTwo)])
    }

    /// |x| of an integer with a sign, as digits of the same width, and whether x is negative.
    pub(super) fn magnitude<S: Signedness>(
        &self,
        x: &EncryptedInteger<S, B>,
    ) -> Result<(EncryptedInteger<S, B>, EncryptedFlags<B>)> {
        let sign = EncryptedFlags(self.sign(&x.digits)?.ciphertexts);
        Ok((EncryptedInteger::new(self.negated_if(&x.digits, &sign)?), sign))
    }

    /// Digits of an integer, negated where the condition is set: complements, plus the condition.
    pub(super) fn negated_if(&self, digits: &Rows<B>, condition: &EncryptedFlags<B>) -> Result<Rows<B>> {
        let places = digits.count;
        let condition = self.row(condition, digits.batch)?;
        let pool = Rows::stack(&[digits, &condition])?;
        let forms = (0..places).map(|d| Form::of([(1, d), (4, places)])).collect();
        let complements = self.lookup_all(&pool, forms, Table::ComplementIf)?;
        self.incremented(&complements, &condition)
    }
}

/// The least even width from 8 bits on that holds counts up to `most`.
pub(super) fn width_of_count(most: usize) -> usize {
    let bits = usize::BITS as usize - most.leading_zeros() as usize;
    bits.max(8).next_multiple_of(BITS)
}
