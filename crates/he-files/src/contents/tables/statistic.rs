//! The statistics of a table: the description of the result, with bounds of its numbers and of
//! their errors.

use super::pair::{check_shapes, product_bound, with_noises};
use crate::cipher_file::CipherReader;
use crate::error::{ContentError, Result};
use crate::note::{ColumnNote, Content, EXPONENT, TableNote, pair_name};
use crate::scheme::Ckks;
use he_core::ckks::CkksParams;

/// The operation whose result is solved for coefficients when it is decrypted.
pub(super) const REGRESSION: &str = "regression";
/// Operations whose results hold one number for each column.
pub(super) const STATISTICS: [&str; 6] = ["sum", "mean", "variance", "dot", "covariance", REGRESSION];

/// The statistics of a table.
pub enum Statistic {
    /// The sum of each column.
    Sum,
    /// The mean of each column.
    Mean,
    /// The population variance of each column.
    Variance,
    /// The inner product of two columns.
    DotColumns(usize, usize),
    /// The inner products with the columns of another table.
    DotTables(Box<CipherReader<Ckks>>),
}

impl Statistic {
    /// The description of the result.
    ///
    /// # Errors
    /// The table, or the other one, is a result already; the other one has another shape; results
    /// would be too large or too small for any number.
    pub fn describe(&self, reader: &CipherReader<Ckks>, note: &TableNote) -> Result<TableNote> {
        check_original(reader)?;
        let with = match self {
            Self::DotTables(other) => {
                let Content::Table(with) = &other.payload.content else {
                    return Err(ContentError::ImageForTable { name: other.name.clone() }.into());
                };
                check_original(other)?;
                check_shapes(note, with, "dot")?;
                Some(with)
            }
            _ => None,
        };
        self.result(&reader.params, note, with)
    }

    /// The description of the result of a table, and of another one for inner products with that.
    pub(super) fn result(
        &self,
        params: &CkksParams,
        note: &TableNote,
        with: Option<&TableNote>,
    ) -> Result<TableNote> {
        let rows = note.rows;
        let columns: Result<Vec<ColumnNote>> = self
            .operands(note, with)
            .map(|(x, y)| {
                let (name, exponent, offset) = match (self, y) {
                    (_, Some((_, y))) => {
                        let name = pair_name(&x.name, &y.name);
                        (name, x.exponent + y.exponent, x.offset * y.offset * rows as f64)
                    }
                    (Self::Sum, None) => (x.name.clone(), x.exponent, x.offset * rows as f64),
                    // The variance of a single number is 0, whatever the noise.
                    (Self::Variance, None) if rows == 1 => (x.name.clone(), *EXPONENT.start(), 0.0),
                    // The distance from zero does not matter.
                    (Self::Variance, None) => (x.name.clone(), 2 * x.exponent, 0.0),
                    (_, None) => (x.name.clone(), x.exponent, x.offset),
                };
                if !EXPONENT.contains(&exponent) || !offset.is_finite() {
                    return Err(ContentError::Exponent { exponent }.into());
                }
                // Between the blocks of columns that share vectors stand sums over parts of two.
                let block = note.packed.unwrap_or(rows);
                let mean = x.count.saturating_mul(block.div_ceil(rows));
                let count = match (self, y) {
                    (Self::Mean, _) => mean,
                    (Self::Variance, _) if note.packed.is_none() => mean.saturating_mul(mean),
                    (Self::Variance, _) => mean.saturating_mul(mean).saturating_mul(2),
                    _ => self.sum_bound(block, x, y),
                };
                Ok(ColumnNote { name, exponent, count, offset, precision_bits: None })
            })
            .collect();
        let noises: Vec<f64> =
            self.operands(note, with).map(|(x, y)| self.noise(params, note, x, y)).collect();
        Ok(TableNote { rows: 1, ..with_noises(note, columns?, &noises) })
    }

    /// The columns that each result comes from; the second ones with the table that they are of.
    pub(super) fn operands<'a>(
        &self,
        note: &'a TableNote,
        with: Option<&'a TableNote>,
    ) -> Box<dyn Iterator<Item = Operands<'a>> + 'a> {
        match (self, with) {
            (Self::DotColumns(a, b), _) => {
                Box::new(std::iter::once((&note.columns[*a], Some((note, &note.columns[*b])))))
            }
            (_, Some(with)) => {
                Box::new(note.columns.iter().zip(with.columns.iter().map(move |y| Some((with, y)))))
            }
            (_, None) => Box::new(note.columns.iter().map(|x| (x, None))),
        }
    }

    /// A bound on the encrypted sums over the rows.
    pub(super) fn sum_bound(&self, rows: u64, x: &ColumnNote, y: Option<(&TableNote, &ColumnNote)>) -> u64 {
        let each = match (self, y) {
            (_, Some((_, y))) => product_bound(x, y),
            (Self::Variance, None) => x.count.saturating_mul(x.count),
            (_, None) => x.count,
        };
        each.saturating_mul(rows)
    }

    /// The error bound of a result, before its exponent. The noise of all slots adds up, that of
    /// the padding too; rotations and relinearisation add less than half as much, a product has the
    /// noise of both factors. 1 / rows is rounded to a multiple of 1 / scale.
    pub(super) fn noise(
        &self,
        params: &CkksParams,
        note: &TableNote,
        x: &ColumnNote,
        y: Option<(&TableNote, &ColumnNote)>,
    ) -> f64 {
        let rows = note.rows as f64;
        let slots = note.packed.unwrap_or_else(|| note.rows.div_ceil(note.slots) * note.slots);
        let of_sum = |bits: f64| (slots as f64 * 1.5).sqrt() * (-bits).exp2();
        let (fresh, own) = ((-note.bits(x)).exp2(), of_sum(note.bits(x)));
        // Noise is multiplied by numbers below this.
        let mut largest = x.count as f64;
        let (mut sum, mut shifts) = (own, 0.0);
        if let Some((with, y)) = y {
            let other = of_sum(with.bits(y));
            (largest, sum) = (largest.max(y.count as f64), own.max(other));
            shifts = y.shift().abs() * own + x.shift().abs() * other;
        }
        let products = 2f64.sqrt() * sum * largest;
        let share = largest * rows * (-params.scale_log2()).exp2();
        match self {
            Self::Sum => sum,
            Self::Mean => sum / rows + fresh / 4.0 + share,
            Self::DotColumns(..) | Self::DotTables(_) => products + shifts,
            Self::Variance => (products + 2.0 * largest * sum) / rows + fresh / 2.0 + 4.0 * share,
        }
    }
}

/// A column, and with which other one of which table it is multiplied.
pub(super) type Operands<'a> = (&'a ColumnNote, Option<(&'a TableNote, &'a ColumnNote)>);

/// Checks that a table is not the result of a statistic, which holds one number in all slots.
pub(super) fn check_original(reader: &CipherReader<Ckks>) -> Result<()> {
    let statistic = |operation: &&String| STATISTICS.contains(&operation.as_str());
    match reader.payload.history.iter().find(statistic) {
        None => Ok(()),
        Some(operation) => {
            Err(ContentError::Statistic { name: reader.name.clone(), operation: operation.clone() }.into())
        }
    }
}
