//! Lookups by an encrypted index, by one condition for each entry.

use super::rows::{Form, Rows};
use super::tables::{BITS, Table};
use super::{EncryptedInteger, EncryptedUint, IntegerEvaluator, Signedness, expect_width};
use crate::error::{Error, Result};
use crate::tfhe::LweOps;

/// The sum of squared weights of conditions of which at most one is set, in one lookup: below that
/// of [`DIGIT_LOOKUP`](super::DIGIT_LOOKUP).
const WEIGHTS: i64 = 81;

impl<B: LweOps> EncryptedUint<B> {
    /// The lowest digits, which tell so many entries of an array apart.
    pub(super) fn digits_to(&self, entries: usize) -> Result<usize> {
        let Some(last) = entries.checked_sub(1) else {
            return Err(Error::domain("array", "no entries", "give at least one"));
        };
        let digits = (usize::BITS as usize - last.leading_zeros() as usize).div_ceil(BITS).max(1);
        if digits > self.places() {
            return Err(Error::domain(
                "array",
                format!("{entries} entries and an index of {} bits", self.bits()),
                "cast the index to a width that reaches all entries",
            ));
        }
        Ok(digits)
    }
}

impl<B: LweOps> IntegerEvaluator<B> {
    /// Entry `index` of an array, entry by entry of the batches; 0 beyond its end. About one
    /// bootstrap for each entry and each of its digits.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty array, and for different widths;
    /// [`Error::BatchMismatch`]; the errors of [`add`](Self::add).
    pub fn get<S: Signedness>(
        &self,
        array: &[&EncryptedInteger<S, B>],
        index: &EncryptedUint<B>,
    ) -> Result<EncryptedInteger<S, B>> {
        let selectors = self.one_hot(index, array.len())?;
        let places = array[0].places();
        for entry in array {
            expect_width(array[0].bits(), entry.bits())?;
            super::evaluator::expect_batch(entry.batch(), index.batch())?;
        }
        let mut parts = vec![&selectors];
        parts.extend(array.iter().map(|entry| &entry.digits));
        let pool = Rows::stack(&parts)?;
        // Digits of each entry, 0 unless it is the one.
        let digit = |entry: usize, d: usize| Form::of([(1, array.len() + entry * places + d), (4, entry)]);
        let forms = (0..array.len()).flat_map(|entry| (0..places).map(move |d| digit(entry, d))).collect();
        let chosen = self.lookup_all(&pool, forms, Table::If)?;
        let digits =
            (0..places).map(|d| (0..array.len()).map(|entry| (1, entry * places + d)).collect()).collect();
        Ok(EncryptedInteger::new(self.gathered(chosen, digits)?))
    }

    /// Whether the index is 0, 1, ..., a row for each entry.
    pub(super) fn one_hot(&self, index: &EncryptedUint<B>, entries: usize) -> Result<Rows<B>> {
        // The digits of the index are compared in blocks of two; the other digits must be zero.
        let digits = index.digits_to(entries)?;
        let last = entries - 1;
        let blocks: Vec<Vec<usize>> =
            (0..digits).step_by(2).map(|d| (d..digits.min(d + 2)).collect()).collect();
        let values = |block: usize| (last >> (4 * block)).min(15) + 1;
        let forms = blocks.iter().enumerate().flat_map(|(at, rows)| {
            let sum =
                Form { constant: 0, terms: rows.iter().zip([1, 4]).map(|(&row, f)| (f, row)).collect() };
            (0..values(at)).map(move |value| sum.clone().plus((value as u64).wrapping_neg()))
        });
        let mut pool = self.lookup_all(&index.digits, forms.collect(), Table::Zero)?;
        let first = |block: usize| (0..block).map(values).sum::<usize>();
        let mut conditions: Vec<Vec<usize>> = (0..entries)
            .map(|entry| {
                let row = |block: usize| first(block) + (entry >> (4 * block) & 15);
                (0..blocks.len()).map(row).collect()
            })
            .collect();
        if digits < index.places() {
            let above = self.any_digit(&index.digits.rows(digits..index.places())?)?;
            let none = self.row(&self.not_flags(&above)?, index.batch())?;
            conditions.iter_mut().for_each(|rows| rows.push(pool.count));
            pool = Rows::stack(&[&pool, &none])?;
        }
        if conditions[0].len() == 1 {
            return pool.rows(0..entries);
        }
        let forms = conditions
            .into_iter()
            .map(|rows| {
                let missing = 15 - rows.len() as u64;
                Form::sum(rows).plus(missing)
            })
            .collect();
        self.lookup_all(&pool, forms, Table::Fifteen)
    }

    /// Digits that are sums of weighted rows, of which at most one is not zero.
    pub(super) fn gathered(&self, mut pool: Rows<B>, mut digits: Vec<Vec<(i64, usize)>>) -> Result<Rows<B>> {
        loop {
            let mut forms = Vec::new();
            for terms in &mut digits {
                let first = forms.len();
                let mut sums: Vec<Form> = Vec::new();
                let mut weight = WEIGHTS;
                for &(factor, row) in terms.iter() {
                    weight += factor * factor;
                    match sums.last_mut() {
                        Some(form) if weight <= WEIGHTS => form.terms.push((factor, row)),
                        _ => {
                            weight = factor * factor;
                            sums.push(Form::of([(factor, row)]));
                        }
                    }
                }
                forms.extend(sums);
                *terms = (first..forms.len()).map(|row| (1, row)).collect();
            }
            pool = self.lookup_all(&pool, forms, Table::Message)?;
            if digits.iter().all(|terms| terms.len() <= 1) {
                let forms: Vec<_> = digits.into_iter().map(|terms| Form { constant: 0, terms }).collect();
                return self.combine(&pool, &forms);
            }
        }
    }
}
