//! Public tables that encrypted numbers are looked up in.

use super::note::{ColumnsNote, Integers, MAX_COLUMN, WIDTHS};
use crate::error::{ContentError, Result};
use he_core::tfhe::{EncryptedUint, IntegerEvaluator, LweOps, TfheParams};
use num_bigint::{BigInt, BigUint, Sign};

/// A public table that encrypted numbers are looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entries {
    /// The entries, the first for 0.
    pub values: Vec<BigInt>,
    /// Bits of the results: by default, those of the numbers.
    pub width: Option<u32>,
}

impl Entries {
    /// From decimal digits.
    ///
    /// # Errors
    /// There are no integers of this width, or an entry is none.
    pub fn parse(entries: &[String], width: Option<u32>) -> Result<Self> {
        if let Some(width) = width.filter(|width| !WIDTHS.contains(width)) {
            return Err(ContentError::NoWidth { width }.into());
        }
        let entry = |(at, text): (usize, &String)| {
            let not_one = || ContentError::EntryText { entry: at + 1, text: text.clone() };
            text.parse().map_err(|_| not_one().into())
        };
        let values = entries.iter().enumerate().map(entry).collect::<Result<_>>()?;
        Ok(Self { values, width })
    }

    /// The integers that the results are, for numbers of a file.
    ///
    /// # Errors
    /// There are too many entries, or none, or one does not fit.
    pub fn integers(&self, numbers: &ColumnsNote, params: &TfheParams) -> Result<Integers> {
        // One condition for each entry, of one number at least.
        let reached = if numbers.width < 32 { 1 << numbers.width } else { usize::MAX };
        self.results(numbers.width, reached.min(selectors(params)))
    }

    /// The integers that the results are, for numbers of so many bits, where so many entries are
    /// possible at most.
    ///
    /// # Errors
    /// There are too many entries, or none, or one does not fit.
    pub(crate) fn results(&self, width: u32, most: usize) -> Result<Integers> {
        let found = self.values.len();
        if !(1..=most).contains(&found) {
            return Err(ContentError::Entries { found, most }.into());
        }
        let signed = self.values.iter().any(|value| value.sign() == Sign::Minus);
        let integers = Integers { bits: self.width.unwrap_or(width), signed };
        match self.values.iter().position(|value| !integers.hold(value)) {
            None => Ok(integers),
            Some(at) => Err(ContentError::Entry { entry: at + 1, integers: integers.text() }.into()),
        }
    }

    /// The entries at the numbers of a column, some rows at a time.
    ///
    /// # Errors
    /// The device fails.
    pub fn at<B: LweOps>(
        &self,
        integers: Integers,
        evaluator: &IntegerEvaluator<B>,
        numbers: &EncryptedUint<B>,
    ) -> he_core::Result<EncryptedUint<B>> {
        let table: Vec<BigUint> = self.values.iter().map(|value| integers.bits_of(value)).collect();
        let rows = (selectors(evaluator.params()) / self.values.len()).max(1);
        let table = evaluator.plain_array(&table, integers.bits as usize, numbers.bits())?;
        let parts = (0..numbers.batch()).step_by(rows).map(|start| {
            let some = numbers.part(start..numbers.batch().min(start + rows))?;
            evaluator.get_in(&table, &some)
        });
        let parts = parts.collect::<he_core::Result<Vec<_>>>()?;
        EncryptedUint::concat(&parts.iter().collect::<Vec<_>>())
    }
}

/// The conditions that are in memory at once while numbers are looked up.
fn selectors(params: &TfheParams) -> usize {
    MAX_COLUMN as usize / (8 * params.words())
}
