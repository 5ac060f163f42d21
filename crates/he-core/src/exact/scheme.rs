//! The differences between BFV and BGV.

use super::{Noise, NoiseModel, Params};
use crate::backend::RingOps;
use crate::error::Result;
use crate::ring::Ring;
use crate::rlwe::{RlweCiphertext, RlweProduct};
use std::fmt::Debug;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A scheme of exact arithmetic: [`Bfv`](crate::bfv::Bfv) or [`Bgv`](crate::bgv::Bgv). Everything
/// except the product is the same in both.
pub trait Scheme: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    /// Its name.
    const NAME: &'static str;
    /// The data that products need on a device.
    type Multiplier<B: RingOps>: Clone + Debug + Send + Sync;

    /// Prepares products.
    ///
    /// # Errors
    /// Device errors.
    fn multiplier<B: RingOps>(params: &Params<Self>, ring: &Ring<B>) -> Result<Self::Multiplier<B>>;

    /// The product of two pairs over the same primes, before relinearisation.
    ///
    /// # Errors
    /// Mismatch of ring, primes or batch; device errors.
    fn tensor<B: RingOps>(
        multiplier: &Self::Multiplier<B>,
        params: &Params<Self>,
        a: &RlweCiphertext<B>,
        b: &RlweCiphertext<B>,
    ) -> Result<RlweProduct<B>>;

    /// The correction factor f of fresh encryptions over the first `primes` primes.
    fn fresh_correction_factor(params: &Params<Self>, primes: usize) -> u64;

    /// The correction factor f of a product.
    fn product_correction_factor(params: &Params<Self>, a: u64, b: u64) -> u64;

    /// The noise of a product before relinearisation.
    fn product_noise(model: &NoiseModel, a: Noise, b: Noise, primes: usize) -> Noise;
}
