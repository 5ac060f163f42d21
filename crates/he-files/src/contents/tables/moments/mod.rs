//! Second moments of the columns of a table: the covariances of all pairs, and with the means all
//! that a linear regression needs.

mod evaluate;

use super::describe::batches;
use super::pair::with_noises;
use super::statistic::{Statistic, check_original};
use crate::cipher_file::CipherReader;
use crate::contents::uses::{self, Uses};
use crate::error::{ContentError, Result};
use crate::note::{ColumnNote, EXPONENT, TableNote, pair_name};
use crate::scheme::Ckks;
use he_core::ckks::CkksParams;

/// The moments of a population of rows: `E[x y] - E[x] E[y]` of each pair of columns, from the
/// first with itself to the last with itself, and before them, for a regression, the mean of each
/// column.
///
/// They take two levels, a rotation for each column that shares vectors with others, and for each
/// pair one product and its sum. All columns of the table are in memory at once.
pub struct Moments {
    /// The column that a regression explains by all others.
    target: Option<usize>,
}

/// A number of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// The mean of a column.
    Mean(usize),
    /// The covariance of two columns.
    Covariance(usize, usize),
}

impl Moments {
    /// The covariances of all pairs of columns.
    pub const fn covariances() -> Self {
        Self { target: None }
    }

    /// The means and covariances for the regression of a column on all others; it is the last in
    /// the result.
    pub const fn regression(target: usize) -> Self {
        Self { target: Some(target) }
    }

    /// The numbers of the result, of a table of so many columns.
    fn of(&self, columns: usize) -> Vec<Moment> {
        let others = (0..columns).filter(|&column| Some(column) != self.target);
        let order: Vec<usize> = others.chain(self.target).collect();
        let means = order.iter().map(|&column| Moment::Mean(column)).filter(|_| self.target.is_some());
        let pairs = order
            .iter()
            .enumerate()
            .flat_map(|(at, &x)| order[at..].iter().map(move |&y| Moment::Covariance(x, y)));
        means.chain(pairs).collect()
    }

    /// The description of the result.
    ///
    /// # Errors
    /// [`ContentError::Statistic`] for a table that is a result already;
    /// [`ContentError::FewRows`] and [`ContentError::NoFeatures`] for a regression on too small a
    /// table; [`ContentError::Exponent`] for results that would be too large or too small for any
    /// number.
    pub fn describe(&self, reader: &CipherReader<Ckks>, note: &TableNote) -> Result<TableNote> {
        check_original(reader)?;
        self.result(&reader.params, note)
    }

    /// The frames of the table that each frame of the result is computed from.
    pub fn uses(&self, note: &TableNote) -> Uses {
        let (places, parts) = (note.places(), batches(note).count());
        let frames = |column: usize| match &places {
            Some(places) => places.of[column].vector..places.of[column].vector + 1,
            None => column * parts..(column + 1) * parts,
        };
        let used = |moment: &Moment| match *moment {
            Moment::Mean(x) => uses::of(1, frames(x)),
            Moment::Covariance(x, y) if frames(x) == frames(y) => uses::of(1, frames(x)),
            Moment::Covariance(x, y) => uses::of(1, frames(x).chain(frames(y))),
        };
        self.of(note.columns.len()).iter().map(used).collect()
    }

    fn result(&self, params: &CkksParams, note: &TableNote) -> Result<TableNote> {
        if self.target.is_some() {
            check_regression(note)?;
        }
        let moments = self.of(note.columns.len());
        let columns: Result<Vec<ColumnNote>> = moments.iter().map(|moment| moment.described(note)).collect();
        let noises: Vec<f64> = moments.iter().map(|moment| moment.noise(params, note)).collect();
        Ok(TableNote { rows: 1, packed: None, ..with_noises(note, columns?, &noises) })
    }
}

/// Checks that a regression has features, and more rows than numbers to find.
fn check_regression(note: &TableNote) -> Result<()> {
    let (rows, columns) = (note.rows, note.columns.len());
    if columns < 2 {
        return Err(ContentError::NoFeatures.into());
    }
    if rows < columns as u64 {
        return Err(ContentError::FewRows { rows, needed: columns as u64 }.into());
    }
    Ok(())
}

impl Moment {
    /// The description of its column.
    fn described(self, note: &TableNote) -> Result<ColumnNote> {
        // Between the blocks of columns that share vectors stand sums over parts of two.
        let blocks = note.packed.unwrap_or(note.rows).div_ceil(note.rows);
        let most = |column: &ColumnNote| column.count.saturating_mul(blocks);
        let (name, exponent, offset, count) = match self {
            Self::Mean(x) => {
                let x = &note.columns[x];
                (x.name.clone(), x.exponent, x.offset, most(x))
            }
            Self::Covariance(x, y) => {
                let (x, y) = (&note.columns[x], &note.columns[y]);
                let parts = if note.packed.is_some() { 2 } else { 1 };
                let count = most(x).saturating_mul(most(y)).saturating_mul(parts);
                // The covariances of a single row are 0, whatever the noise.
                let exponent = if note.rows == 1 { *EXPONENT.start() } else { x.exponent + y.exponent };
                (pair_name(&x.name, &y.name), exponent, 0.0, count)
            }
        };
        if !EXPONENT.contains(&exponent) {
            return Err(ContentError::Exponent { exponent }.into());
        }
        Ok(ColumnNote { name, exponent, count, offset, precision_bits: None })
    }

    /// The error bound, before the exponent: that of the mean or variance of the noisier and the
    /// larger of the columns.
    fn noise(self, params: &CkksParams, note: &TableNote) -> f64 {
        match self {
            Self::Mean(x) => Statistic::Mean.noise(params, note, &note.columns[x], None),
            Self::Covariance(x, y) => {
                let (x, y) = (&note.columns[x], &note.columns[y]);
                let bits = note.bits(x).min(note.bits(y));
                let worse =
                    ColumnNote { count: x.count.max(y.count), precision_bits: Some(bits), ..x.clone() };
                Statistic::Variance.noise(params, note, &worse, None)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_the_last_and_pairs_are_in_order() {
        use Moment::{Covariance, Mean};
        assert_eq!(Moments::covariances().of(2), [Covariance(0, 0), Covariance(0, 1), Covariance(1, 1)]);
        let found = Moments::regression(0).of(2);
        assert_eq!(found, [Mean(1), Mean(0), Covariance(1, 1), Covariance(1, 0), Covariance(0, 0)]);
        for columns in 1..6 {
            assert_eq!(Moments::covariances().of(columns).len(), columns * (columns + 1) / 2);
        }
    }
}
