//! Arithmetic on ciphertexts.

use super::Arithmetic;
use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::exact::bootstrapping::RefreshWith;
use crate::exact::{Ciphertext, Evaluator, Scheme};
use crate::rlwe::EvaluationKeys;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An evaluator with its keys, and with a bootstrapper where depth has no limit.
#[derive(Debug)]
pub struct Encrypted<'a, S: Scheme, B: RingOps = Cpu> {
    ev: &'a Evaluator<S, B>,
    keys: &'a EvaluationKeys<B>,
    refreshing: Option<Refreshing<'a, S, B>>,
}

/// The bootstrapper and keys that refresh products.
#[derive(Debug)]
struct Refreshing<'a, S: Scheme, B: RingOps> {
    refresher: RefreshWith<'a, S, B>,
    /// The vectors that have been refreshed.
    count: AtomicUsize,
}

impl<S: Scheme, B: RingOps> Refreshing<'_, S, B> {
    /// As it is, or refreshed.
    fn renewed(&self, x: Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        if self.refresher.fits(&x, 1)? {
            return Ok(x);
        }
        self.count.fetch_add(x.batch(), Ordering::Relaxed);
        self.refresher.refresh(&x)
    }
}

impl<'a, S: Scheme, B: RingOps> Encrypted<'a, S, B> {
    /// Computes with these. Products need the relinearisation key, and words need rotation keys
    /// (see [`WordLayout`](super::WordLayout)).
    pub fn new(ev: &'a Evaluator<S, B>, keys: &'a EvaluationKeys<B>) -> Self {
        Self { ev, keys, refreshing: None }
    }

    /// Refreshes every product that could not be multiplied again and refreshed after that with the
    /// refresher's reserve to spare, for the sums and rotations in between.
    #[must_use]
    pub fn with_refreshes(mut self, refresher: RefreshWith<'a, S, B>) -> Self {
        self.refreshing = Some(Refreshing { refresher, count: AtomicUsize::new(0) });
        self
    }

    /// The vectors that have been refreshed so far.
    pub fn refreshes(&self) -> usize {
        self.refreshing.as_ref().map_or(0, |refreshing| refreshing.count.load(Ordering::Relaxed))
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
        let product = self.ev.mul(x, y, self.keys)?;
        match &self.refreshing {
            Some(refreshing) => refreshing.renewed(product),
            None => Ok(product),
        }
    }

    fn rotate(&self, x: &Self::Batch, step: i64) -> Result<Self::Batch> {
        self.ev.rotate(x, step, self.keys)
    }
}
