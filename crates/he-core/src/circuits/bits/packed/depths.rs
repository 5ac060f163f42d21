//! Arithmetic that only counts.

use super::Arithmetic;
use crate::error::{Error, Result};
use std::cell::Cell;
use std::ops::Range;

/// Counts the cost of a program: a batch is (depth, vectors), where depth is the number of products
/// on the longest path. Products by constants are free, and t is 2^16 + 1.
#[derive(Debug, Default)]
pub struct Depths {
    products: Cell<usize>,
    rotations: Cell<usize>,
}

impl Depths {
    /// The products of vectors so far.
    pub fn products(&self) -> usize {
        self.products.get()
    }

    /// The rotations of vectors so far.
    pub fn rotations(&self) -> usize {
        self.rotations.get()
    }
}

type Counted = (usize, usize);

fn both(x: Counted, y: Counted) -> Result<Counted> {
    let (left, right) = (x.1, y.1);
    if left == right || right == 1 {
        Ok((x.0.max(y.0), left))
    } else {
        Err(Error::BatchMismatch { left, right })
    }
}

impl Arithmetic for Depths {
    type Batch = Counted;
    /// The depth.
    type Kind = usize;

    fn plain_modulus(&self) -> u64 {
        65537
    }

    fn count(&self, x: &Counted) -> usize {
        x.1
    }

    fn kind(&self, x: &Counted) -> usize {
        x.0
    }

    fn depth(&self, kind: usize) -> usize {
        kind
    }

    fn slice(&self, x: &Counted, range: Range<usize>) -> Result<Counted> {
        if range.is_empty() || range.end > x.1 {
            return Err(Error::BatchRange { start: range.start, end: range.end, batch: x.1 });
        }
        Ok((x.0, range.len()))
    }

    fn concat(&self, parts: &[&Counted]) -> Result<Counted> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        Ok((first.0, parts.iter().map(|part| part.1).sum()))
    }

    fn add(&self, x: &Counted, y: &Counted) -> Result<Counted> {
        both(*x, *y)
    }

    fn sub(&self, x: &Counted, y: &Counted) -> Result<Counted> {
        both(*x, *y)
    }

    fn neg(&self, x: &Counted) -> Result<Counted> {
        Ok(*x)
    }

    fn add_scalar(&self, x: &Counted, _: i64) -> Result<Counted> {
        Ok(*x)
    }

    fn mul_scalar(&self, x: &Counted, _: i64) -> Result<Counted> {
        Ok(*x)
    }

    fn mul(&self, x: &Counted, y: &Counted) -> Result<Counted> {
        let (depth, count) = both(*x, *y)?;
        self.products.set(self.products.get() + count);
        Ok((depth + 1, count))
    }

    fn rotate(&self, x: &Counted, _: i64) -> Result<Counted> {
        self.rotations.set(self.rotations.get() + x.1);
        Ok(*x)
    }
}
