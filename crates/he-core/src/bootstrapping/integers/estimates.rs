//! Noise of messages that are known better than estimates of sums and products tell.

use crate::backend::RingOps;
use crate::ckks::{Ciphertext, NoiseEstimate};
use crate::error::{Error, Result};

/// A ciphertext whose messages are known to be at most this: estimates of sums of products would
/// otherwise count with greater ones.
pub(super) fn bounded<B: RingOps>(mut ct: Ciphertext<B>, most: u64) -> Ciphertext<B> {
    ct.set_noise(ct.noise().map(|mut noise| {
        noise.value_log2 = libm::log2(most as f64).min(noise.value_log2);
        noise
    }));
    ct
}

/// The same as if it had no noise, and messages up to this: where a flag chooses, what its product
/// with a difference adds is the noise of the flag alone.
pub(super) fn noiseless<B: RingOps>(mut ct: Ciphertext<B>, most: u64) -> Ciphertext<B> {
    ct.set_noise(ct.noise().map(|_| NoiseEstimate {
        rms_log2: f64::NEG_INFINITY,
        peak_log2: f64::NEG_INFINITY,
        value_log2: libm::log2(most as f64),
    }));
    ct
}

/// A ciphertext that has this noise, of something at this scale, besides its own.
pub(super) fn with_noise<B: RingOps>(
    mut ct: Ciphertext<B>,
    (noise, scale): (Option<NoiseEstimate>, f64),
) -> Ciphertext<B> {
    let scale_log2 = libm::log2(ct.scale() / scale);
    let sum = |(own, other): (NoiseEstimate, NoiseEstimate)| {
        own.with(other.rms_log2 + scale_log2, other.peak_log2 + scale_log2)
    };
    ct.set_noise(ct.noise().zip(noise).map(sum));
    ct
}

/// The greater noise of two, for something that is the one or the other in each slot.
pub(super) fn either<B: RingOps>(a: &Ciphertext<B>, b: &Ciphertext<B>) -> (Option<NoiseEstimate>, f64) {
    let scale_log2 = libm::log2(a.scale() / b.scale());
    let greater = |(a, b): (NoiseEstimate, NoiseEstimate)| NoiseEstimate {
        rms_log2: a.rms_log2.max(b.rms_log2 + scale_log2),
        peak_log2: a.peak_log2.max(b.peak_log2 + scale_log2),
        ..a
    };
    (a.noise().zip(b.noise()).map(greater), a.scale())
}

/// All of a list of known length.
pub(super) fn exactly<T, const N: usize>(found: Vec<T>) -> Result<[T; N]> {
    found.try_into().map_err(|all: Vec<_>| Error::argument("tables", format!("{} results", all.len())))
}
