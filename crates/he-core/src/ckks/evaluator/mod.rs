//! Arithmetic on ciphertexts.

mod coefficients;
mod constants;
mod fused_sums;
mod hoisting;
mod matrices;
mod matrix_products;
mod plain;
mod products;
mod ring_switch;
mod rotations;
mod scales;
mod sums;

#[cfg(test)]
pub(crate) use fused_sums::counts;
pub(crate) use fused_sums::{FusedSum, Scaled};
pub(crate) use hoisting::{BabyOf, StepGroup, to_plaintexts};
pub use matrices::{MatrixWeights, PlainMatrix};

use super::ciphertext::Meta;
use super::{Ciphertext, CkksParams, Encoder, NoiseEstimate};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Span};

/// Computes on ciphertexts; knows no secret.
///
/// The operations bring their operands to a common level and to that level's exact scale by
/// themselves. A ciphertext on level l at the level's scale S_l is *settled*; all results are. With
/// D_l the product of the primes that the step below level l drops and S_(l-1) = S_l^2 / D_l, a
/// product of settled ciphertexts is settled again after its rescale; lowering a level multiplies
/// by round(S_(l-1) D_l / S_l) and rescales, which costs a relative error of about 1 / S.
///
/// Where a group of levels starts with a scale of its own ([`LevelGroup`](super::LevelGroup)),
/// S_(l-1) is not S_l^2 / D_l. Then products of two ciphertexts of level l are made on level l - 1,
/// or the next one below that takes them ([`takes_products`](CkksParams::takes_products)).
/// Plaintexts and constants multiply on level l itself, at the scale S_(l-1) D_l / S_l
/// ([`multiplier_scale`](CkksParams::multiplier_scale)), and lowering across several groups is one
/// division by all primes that it drops.
#[derive(Debug, Clone)]
pub struct Evaluator<B: RingOps = Cpu> {
    params: CkksParams,
    ring: Ring<B>,
    encoder: Encoder<B>,
}

impl<B: RingOps> Evaluator<B> {
    /// For parameters on a device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &CkksParams, ring: &Ring<B>) -> Result<Self> {
        Ok(Self { params: params.clone(), ring: ring.clone(), encoder: Encoder::new(params, ring)? })
    }

    /// The parameters.
    pub fn params(&self) -> &CkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// An encoder for the same parameters and device.
    pub fn encoder(&self) -> &Encoder<B> {
        &self.encoder
    }

    fn scale_at(&self, level: usize) -> f64 {
        self.params.levels()[level].scale
    }

    pub(in crate::ckks) fn primes_at(&self, level: usize) -> usize {
        self.params.levels()[level].primes
    }

    fn check_ring(&self, ring: &Ring<B>) -> Result<()> {
        if ring.same(&self.ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// Checks that an operand is of these parameters: it has this ring and the primes of an
    /// existing level.
    fn check(&self, meta: Meta, poly: &Poly<Eval, B>) -> Result<()> {
        self.check_ring(poly.ring())?;
        let expected = Span::chain(self.params.level(meta.level)?.primes);
        if poly.span() != expected {
            return Err(Error::SpanMismatch { left: poly.span(), right: expected });
        }
        Ok(())
    }

    fn check_ciphertext(&self, ct: &Ciphertext<B>) -> Result<()> {
        self.check(ct.meta, &ct.pair.c[0])
    }
}

/// The estimate of a product before its rescale.
fn product_noise(a: &Meta, b: &Meta) -> Option<NoiseEstimate> {
    a.noises(b).map(|(x, y)| x.product(a.scale_log2(), y, b.scale_log2()))
}

/// The estimate of a sum, if every term has one.
fn sum(noises: Vec<Option<NoiseEstimate>>) -> Option<NoiseEstimate> {
    let noises: Option<Vec<NoiseEstimate>> = noises.into_iter().collect();
    noises?.into_iter().reduce(NoiseEstimate::plus)
}
