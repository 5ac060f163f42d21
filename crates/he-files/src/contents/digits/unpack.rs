//! Decrypted digits, and the integers that they make.

use crate::contents::clear::Plain;
use crate::contents::unpack::{Opened, Unpack};
use crate::data::table::Table;
use crate::error::{InFile, Result};
use crate::note::DigitsNote;
use crate::scheme::Ckks;
use crate::watch::{Meter, Stage};
use he_core::bootstrapping::integers::{join, join_flags};
use he_core::ckks::Complex64;
use num_bigint::{BigInt, BigUint};
use zeroize::Zeroizing;

/// Makes integers, column by column.
pub(in crate::contents) struct DigitsUnpacker<'a> {
    note: DigitsNote,
    name: String,
    columns: Vec<Vec<BigInt>>,
    progress: Meter<'a>,
}

impl<'a> DigitsUnpacker<'a> {
    pub fn new(file: Opened<'a, Ckks>, note: &DigitsNote) -> Self {
        let progress = Meter::new(file.watch, Stage::Decrypting, note.values());
        Self { note: note.clone(), name: file.name, columns: vec![Vec::new(); note.columns.len()], progress }
    }

    /// The words of some rows. The other slots are anything.
    fn words(&self, vectors: &[Vec<Complex64>], rows: usize) -> he_core::Result<Vec<u64>> {
        let real = |vector: &Vec<Complex64>| Zeroizing::new(vector[..rows].iter().map(|z| z.re).collect());
        let digits: Vec<Zeroizing<Vec<f64>>> = vectors.iter().map(real).collect();
        match self.note.is_conditions() {
            true => Ok(join_flags(&digits[0])?.into_iter().map(u64::from).collect()),
            false => join(&digits),
        }
    }
}

impl Unpack<Complex64> for DigitsUnpacker<'_> {
    fn take(&mut self, part: usize, vectors: Vec<Vec<Complex64>>) -> Result<()> {
        let left = self.note.rows as usize - self.columns[part].len();
        let rows = left.min(vectors.first().map_or(0, Vec::len));
        let (words, integers) = (self.words(&vectors, rows).in_file(&self.name)?, self.note.integers());
        self.columns[part].extend(words.into_iter().map(|word| integers.number_of(BigUint::from(word))));
        self.progress.inc(rows as u64);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        let Self { note, columns, progress, .. } = *self;
        progress.finish();
        Table::new(note.columns.into_iter().collect(), columns).map(Plain::Integers)
    }
}
