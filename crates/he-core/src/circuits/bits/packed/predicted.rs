//! Arithmetic on predictions of noise.

use super::Arithmetic;
use crate::error::{Error, Result};
use crate::exact::{Meta, Noise, Params, Scheme};
use std::ops::Range;

/// The state that ciphertexts would carry: level, correction factor, noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    meta: Meta,
    count: usize,
}

impl Prediction {
    /// The primes that could still be dropped.
    pub fn level(&self) -> usize {
        self.meta.primes - 1
    }

    /// The correction factor.
    pub fn correction_factor(&self) -> u64 {
        self.meta.correction_factor
    }

    /// The bound on the noise.
    pub fn noise(&self) -> Noise {
        self.meta.noise
    }
}

/// Does to predictions exactly what [`Encrypted`](super::Encrypted) does to ciphertexts, with a key
/// for every rotation.
#[derive(Debug)]
pub struct Predicted<'a, S: Scheme> {
    params: &'a Params<S>,
    margin_bits: f64,
}

impl<'a, S: Scheme> Predicted<'a, S> {
    /// Makes predictions for these parameters; results with less budget than `margin_bits` count as
    /// spent.
    pub fn new(params: &'a Params<S>, margin_bits: f64) -> Self {
        Self { params, margin_bits }
    }

    /// Predicts encryptions by public key.
    pub fn fresh(&self, count: usize) -> Prediction {
        Prediction { meta: self.params.fresh(self.params.noise().public()), count }
    }

    /// The predicted bits that are left before decryption may fail.
    pub fn budget(&self, x: &Prediction) -> f64 {
        self.params.noise().budget(x.meta.noise, x.meta.primes)
    }

    fn result(&self, meta: Meta, count: usize) -> Result<Prediction> {
        let left = self.params.noise().budget(meta.noise, meta.primes) - self.margin_bits;
        if left > 0.0 {
            Ok(Prediction { meta, count })
        } else {
            Err(Error::BudgetSpent { excess_bits: -left })
        }
    }

    fn both(x: &Prediction, y: &Prediction) -> Result<usize> {
        let (left, right) = (x.count, y.count);
        if left == right || right == 1 { Ok(left) } else { Err(Error::BatchMismatch { left, right }) }
    }
}

impl<S: Scheme> Arithmetic for Predicted<'_, S> {
    type Batch = Prediction;
    /// (level, correction factor).
    type Kind = (usize, u64);

    fn plain_modulus(&self) -> u64 {
        self.params.plain().value()
    }

    fn count(&self, x: &Prediction) -> usize {
        x.count
    }

    fn kind(&self, x: &Prediction) -> Self::Kind {
        (x.level(), x.correction_factor())
    }

    fn depth(&self, (level, _): Self::Kind) -> usize {
        self.params.max_level().saturating_sub(level)
    }

    fn slice(&self, x: &Prediction, range: Range<usize>) -> Result<Prediction> {
        if range.is_empty() || range.end > x.count {
            return Err(Error::BatchRange { start: range.start, end: range.end, batch: x.count });
        }
        Ok(Prediction { count: range.len(), ..*x })
    }

    fn concat(&self, parts: &[&Prediction]) -> Result<Prediction> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        let mut all = Prediction { count: 0, ..**first };
        for part in parts {
            if self.kind(part) != self.kind(first) {
                let why = format!("{:?} and {:?} side by side", self.kind(first), self.kind(part));
                return Err(Error::argument("level and correction factor", why));
            }
            all.meta.noise = all.meta.noise.max(part.meta.noise);
            all.count += part.count;
        }
        Ok(all)
    }

    fn add(&self, x: &Prediction, y: &Prediction) -> Result<Prediction> {
        self.result(self.params.sum(x.meta, y.meta)?, Self::both(x, y)?)
    }

    fn sub(&self, x: &Prediction, y: &Prediction) -> Result<Prediction> {
        self.add(x, y)
    }

    fn neg(&self, x: &Prediction) -> Result<Prediction> {
        self.mul_scalar(x, -1)
    }

    fn add_scalar(&self, x: &Prediction, _: i64) -> Result<Prediction> {
        self.result(self.params.shifted(x.meta)?, x.count)
    }

    fn mul_scalar(&self, x: &Prediction, c: i64) -> Result<Prediction> {
        let plain = self.params.plain();
        let c = plain.center(plain.modulus().reduce_i64(c));
        self.result(self.params.scaled(x.meta, c)?, x.count)
    }

    fn mul(&self, x: &Prediction, y: &Prediction) -> Result<Prediction> {
        let product = self.params.product(x.meta, y.meta)?;
        self.result(self.params.key_switched(product, 1)?, Self::both(x, y)?)
    }

    fn rotate(&self, x: &Prediction, _: i64) -> Result<Prediction> {
        self.result(self.params.key_switched(x.meta, 1)?, x.count)
    }
}
