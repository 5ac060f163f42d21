//! Arithmetic on ciphertexts.

use super::Arithmetic;
use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::exact::{Ciphertext, Evaluator, Scheme};
use crate::rlwe::EvaluationKeys;
use std::ops::Range;

/// An evaluator with its keys.
#[derive(Debug)]
pub struct Encrypted<'a, S: Scheme, B: RingOps = Cpu> {
    ev: &'a Evaluator<S, B>,
    keys: &'a EvaluationKeys<B>,
}

impl<'a, S: Scheme, B: RingOps> Encrypted<'a, S, B> {
    /// Computes with these. Products need the relinearisation key, and words need rotation keys
    /// (see [`WordLayout`](super::WordLayout)).
    pub fn new(ev: &'a Evaluator<S, B>, keys: &'a EvaluationKeys<B>) -> Self {
        Self { ev, keys }
    }

    /// The evaluator.
    pub fn evaluator(&self) -> &Evaluator<S, B> {
        self.ev
    }
}

impl<S: Scheme, B: RingOps> Arithmetic for Encrypted<'_, S, B> {
    type Batch = Ciphertext<S, B>;
    /// (level, correction factor).
    type Kind = (usize, u64);

    fn plain_modulus(&self) -> u64 {
        self.ev.params().plain().value()
    }

    fn count(&self, x: &Self::Batch) -> usize {
        x.batch()
    }

    fn kind(&self, x: &Self::Batch) -> Self::Kind {
        (x.level(), x.correction_factor())
    }

    fn depth(&self, (level, _): Self::Kind) -> usize {
        self.ev.params().max_level().saturating_sub(level)
    }

    fn slice(&self, x: &Self::Batch, range: Range<usize>) -> Result<Self::Batch> {
        x.slice_batch(range)
    }

    fn concat(&self, parts: &[&Self::Batch]) -> Result<Self::Batch> {
        Ciphertext::concat(parts)
    }

    fn add(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.ev.add(x, y)
    }

    fn sub(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.ev.sub(x, y)
    }

    fn neg(&self, x: &Self::Batch) -> Result<Self::Batch> {
        self.ev.neg(x)
    }

    fn add_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch> {
        self.ev.add_scalar(x, c)
    }

    fn mul_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch> {
        self.ev.mul_scalar(x, c)
    }

    fn mul(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.ev.mul(x, y, self.keys)
    }

    fn rotate(&self, x: &Self::Batch, step: i64) -> Result<Self::Batch> {
        self.ev.rotate(x, step, self.keys)
    }
}
