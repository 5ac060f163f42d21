//! Rows of ciphertexts, and the sums of them that lookups take.

use super::tables::UNIT;
use crate::error::{Error, Result};
use crate::tfhe::{Combination, LweBatch, LweOps};
use derive_where::derive_where;
use std::ops::Range;

/// Ciphertexts `[row][batch]`. A row holds one ciphertext of each integer of a batch: a digit, or a
/// condition.
#[derive_where(Clone; B::Buf)]
#[derive_where(Debug)]
pub(super) struct Rows<B: LweOps> {
    pub count: usize,
    pub batch: usize,
    pub ciphertexts: LweBatch<B>,
}

impl<B: LweOps> Rows<B> {
    /// The rows of all parts, which have one batch.
    pub fn stack(parts: &[&Self]) -> Result<Self> {
        let ciphertexts: Vec<_> = parts.iter().map(|part| &part.ciphertexts).collect();
        let batch = parts.first().map_or(0, |part| part.batch);
        let count = parts.iter().map(|part| part.count).sum();
        Ok(Self { count, batch, ciphertexts: LweBatch::concat(&ciphertexts)? })
    }

    /// Copies whole rows.
    pub fn rows(&self, range: Range<usize>) -> Result<Self> {
        let ciphertexts = self.ciphertexts.part(range.start * self.batch..range.end * self.batch)?;
        Ok(Self { count: range.len(), batch: self.batch, ciphertexts })
    }

    /// Copies rows over those from `at` on.
    pub fn write(&mut self, at: usize, rows: &Self, range: Range<usize>) -> Result<()> {
        let batch = self.batch;
        self.ciphertexts.write(at * batch, &rows.ciphertexts, range.start * batch..range.end * batch)
    }

    /// Copies a part of every row.
    pub fn part(&self, range: Range<usize>) -> Result<Self> {
        if range.start > range.end || range.end > self.batch {
            return Err(Error::BatchRange { start: range.start, end: range.end, batch: self.batch });
        }
        let (backend, params) = (self.ciphertexts.backend(), self.ciphertexts.params());
        let mut ciphertexts = LweBatch::zeros(backend, params, self.count * range.len())?;
        for row in 0..self.count {
            let from = row * self.batch;
            let some = from + range.start..from + range.end;
            ciphertexts.write(row * range.len(), &self.ciphertexts, some)?;
        }
        Ok(Self { count: self.count, batch: range.len(), ciphertexts })
    }

    /// Puts rows of batches beside each other; all have as many rows.
    pub fn beside(first: &Self, others: &[&Self]) -> Result<Self> {
        let all = || std::iter::once(&first).chain(others);
        let (backend, params) = (first.ciphertexts.backend(), first.ciphertexts.params());
        let batch = all().map(|part| part.batch).sum();
        let mut ciphertexts = LweBatch::zeros(backend, params, first.count * batch)?;
        let mut at = 0;
        for part in all() {
            for row in 0..first.count {
                let from = row * part.batch;
                ciphertexts.write(row * batch + at, &part.ciphertexts, from..from + part.batch)?;
            }
            at += part.batch;
        }
        Ok(Self { count: first.count, batch, ciphertexts })
    }
}

/// A linear combination of rows: a constant, in units of 2^-64, plus factors times rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Form {
    pub constant: u64,
    pub terms: Vec<(i64, usize)>,
}

impl Form {
    /// The sum of factors times rows.
    pub fn of<const N: usize>(terms: [(i64, usize); N]) -> Self {
        Self { constant: 0, terms: terms.into() }
    }

    /// The sum of rows.
    pub fn sum(rows: impl IntoIterator<Item = usize>) -> Self {
        Self { constant: 0, terms: rows.into_iter().map(|row| (1, row)).collect() }
    }

    /// This, plus a message, which may be negative in two's complement.
    pub fn plus(mut self, message: u64) -> Self {
        self.constant = self.constant.wrapping_add(message.wrapping_mul(UNIT));
        self
    }

    /// This, plus `factor` times a row.
    pub fn and(mut self, factor: i64, row: usize) -> Self {
        self.terms.push((factor, row));
        self
    }

    /// The combinations for all integers of a batch.
    pub fn combinations(&self, batch: usize) -> impl Iterator<Item = Combination> {
        (0..batch).map(move |b| Combination {
            constant: self.constant,
            terms: self.terms.iter().map(|&(factor, row)| (factor, row * batch + b)).collect(),
        })
    }
}
