//! Parameters on a device, ready to compute.

use crate::error::{ContentError, Result};
use crate::random;
use crate::scheme::Scheme;
use he::Device;
use he_core::params::Security;
use he_core::ring::Ring;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

/// Bytes of ciphertexts that are worked on at once.
const BATCH_BYTES: usize = 32 << 20;

/// A parameter set on a device.
pub struct Engine<S: Scheme> {
    /// The parameters.
    pub params: S::Params,
    /// The ring.
    pub ring: Ring<Device>,
    /// The arithmetic.
    pub evaluator: S::Evaluator,
}

impl<S: Scheme> Engine<S> {
    /// Prepares the parameters.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(params: &S::Params, device: Device) -> Result<Self> {
        let ring = Ring::new(device, S::ring(params).clone())?;
        let evaluator = S::evaluator(params, &ring)?;
        Ok(Self { params: params.clone(), ring, evaluator })
    }
}

/// Ciphertexts in a batch: as many as fill the threads without filling the memory.
///
/// The number is the same on every device: it is written into the file, and each batch draws its
/// own randomness, so that one seed would give other ciphertexts if it depended on the device.
pub fn batch_size<S: Scheme>(params: &S::Params) -> usize {
    (BATCH_BYTES / S::ciphertext_bytes(params)).clamp(1, 64)
}

/// The operating system's generator, expanded.
///
/// # Errors
/// The operating system has no random generator, or this was compiled without the feature `os-rng`.
pub fn rng() -> Result<ChaCha20Rng> {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    random::fill(&mut *seed)?;
    Ok(ChaCha20Rng::from_seed(*seed))
}

/// A security level by its bits.
///
/// # Errors
/// There is no security table for it.
pub fn security(bits: u32) -> Result<Security> {
    match bits {
        128 => Ok(Security::Bits128),
        192 => Ok(Security::Bits192),
        256 => Ok(Security::Bits256),
        other => Err(ContentError::Security { bits: other }.into()),
    }
}
