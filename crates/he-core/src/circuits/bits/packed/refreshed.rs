//! Arithmetic on ciphertexts, without a limit on depth.

use super::{Arithmetic, Encrypted};
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::BootstrapKeys;
use crate::error::Result;
use crate::exact::bootstrapping::Bootstrapper;
use crate::exact::{Ciphertext, Evaluator, Scheme};
use crate::rlwe::EvaluationKeys;
use std::cell::Cell;
use std::ops::Range;

/// [`Encrypted`], which refreshes every product that could not be multiplied again and refreshed
/// with `reserve_bits` of budget to spare, for the sums and rotations in between.
/// [`BootstrapParams::for_depth`](crate::exact::bootstrapping::BootstrapParams::for_depth) leaves
/// ten bits for them.
#[derive(Debug)]
pub struct Refreshed<'a, S: Scheme, B: RingOps = Cpu> {
    inner: Encrypted<'a, S, B>,
    bootstrapper: &'a Bootstrapper<S, B>,
    keys: &'a BootstrapKeys<B>,
    reserve_bits: f64,
    refreshes: Cell<usize>,
}

impl<'a, S: Scheme, B: RingOps> Refreshed<'a, S, B> {
    /// Computes with these. Products need the relinearisation key, and words need rotation keys.
    pub fn new(
        (ev, keys): (&'a Evaluator<S, B>, &'a EvaluationKeys<B>),
        (bootstrapper, bootstrap_keys): (&'a Bootstrapper<S, B>, &'a BootstrapKeys<B>),
        reserve_bits: f64,
    ) -> Self {
        let (inner, refreshes) = (Encrypted::new(ev, keys), Cell::new(0));
        Self { inner, bootstrapper, keys: bootstrap_keys, reserve_bits, refreshes }
    }

    /// The vectors that have been refreshed so far.
    pub fn refreshes(&self) -> usize {
        self.refreshes.get()
    }

    /// As it is, or refreshed.
    fn renewed(&self, x: Ciphertext<S, B>) -> Result<Ciphertext<S, B>> {
        let params = self.bootstrapper.params();
        let needed = params.needed_budget() + self.reserve_bits;
        let product = params.params().after_product(x.noise(), x.level() + 1);
        let left = product.map_or(0.0, |(primes, noise)| params.params().noise().budget(noise, primes));
        if left >= needed {
            return Ok(x);
        }
        self.refreshes.set(self.refreshes.get() + x.batch());
        self.bootstrapper.refresh(&x, self.keys)
    }
}

impl<S: Scheme, B: RingOps> Arithmetic for Refreshed<'_, S, B> {
    type Batch = Ciphertext<S, B>;
    /// (level, correction factor).
    type Kind = (usize, u64);

    fn plain_modulus(&self) -> u64 {
        self.inner.plain_modulus()
    }

    fn count(&self, x: &Self::Batch) -> usize {
        x.batch()
    }

    fn kind(&self, x: &Self::Batch) -> Self::Kind {
        self.inner.kind(x)
    }

    /// Where levels are regained, the level says nothing of the products behind a vector.
    fn depth(&self, kind: Self::Kind) -> usize {
        self.inner.depth(kind)
    }

    fn slice(&self, x: &Self::Batch, range: Range<usize>) -> Result<Self::Batch> {
        self.inner.slice(x, range)
    }

    fn concat(&self, parts: &[&Self::Batch]) -> Result<Self::Batch> {
        self.inner.concat(parts)
    }

    fn add(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.inner.add(x, y)
    }

    fn sub(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.inner.sub(x, y)
    }

    fn neg(&self, x: &Self::Batch) -> Result<Self::Batch> {
        self.inner.neg(x)
    }

    fn add_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch> {
        self.inner.add_scalar(x, c)
    }

    fn mul_scalar(&self, x: &Self::Batch, c: i64) -> Result<Self::Batch> {
        self.inner.mul_scalar(x, c)
    }

    fn mul(&self, x: &Self::Batch, y: &Self::Batch) -> Result<Self::Batch> {
        self.renewed(self.inner.mul(x, y)?)
    }

    fn rotate(&self, x: &Self::Batch, step: i64) -> Result<Self::Batch> {
        self.inner.rotate(x, step)
    }
}
