//! The keys of bootstrapping.

use super::BootstrapParams;
use super::bootstrapper::{lower_requirements, upper_requirements};
use super::params::part;
use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::ring::Ring;
use crate::rlwe::{EvaluationKeys, RlweParams, SecretKey, SwitchKey};
use derive_where::derive_where;
use rand::CryptoRng;

/// What the server needs to bootstrap: evaluation keys for the levels of CoeffsToSlots and the
/// modular reduction, for those of SlotsToCoeffs (over fewer primes), and the two keys that lead to
/// the sparse secret and back.
///
/// The sparse secret is drawn for these keys and wiped when they are made. The key that leads to it
/// is over q_0 p_0 alone, and there is no other under it; the one that leads back holds it as a
/// message, encrypted under the dense secret.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct BootstrapKeys<B: RingOps = Cpu> {
    params: BootstrapParams,
    /// Under the sparse secret.
    pub(super) to_sparse: SwitchKey<B>,
    /// Under the dense secret, over all primes.
    pub(super) to_dense: SwitchKey<B>,
    pub(super) upper: EvaluationKeys<B>,
    pub(super) lower: EvaluationKeys<B>,
}

impl<B: RingOps> BootstrapKeys<B> {
    /// Generates all keys for a secret of [`BootstrapParams::params`]; `ring` is that of
    /// [`BootstrapParams::ring`].
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch) for a secret of other parameters,
    /// [`Error::Argument`](crate::Error::Argument) for a sparse one,
    /// [`Error::RingMismatch`](crate::Error::RingMismatch) for another ring; device errors.
    pub fn generate(
        secret: &SecretKey,
        params: &BootstrapParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let (upper, lower) = (params.upper().rlwe(), params.lower().rlwe());
        let whole = params.whole(ring)?;
        let dense = secret.widened(params.params().rlwe(), upper)?;
        let sparse = params.sparse_secret(rng)?;
        let to_sparse =
            SwitchKey::generate(&dense, &sparse, params.sparse(), &part(&whole, params.sparse())?, rng)?;
        let to_dense = SwitchKey::generate(&sparse, &dense, upper, &whole, rng)?;
        let upper = EvaluationKeys::generate(&dense, &whole, upper_requirements(params)?, rng)?;
        let narrow = dense.narrowed(lower)?;
        let lower =
            EvaluationKeys::generate(&narrow, &part(&whole, lower)?, lower_requirements(params)?, rng)?;
        Ok(Self { params: params.clone(), to_sparse, to_dense, upper, lower })
    }

    /// The memory that they take on the device, in bytes: 2 (digits) (primes) N words of 64 bits
    /// for each key.
    pub fn bytes(&self) -> usize {
        let key = |rlwe: &RlweParams| {
            let primes = rlwe.ring().q().len() + rlwe.ring().p().len();
            2 * rlwe.digits().len() * primes * rlwe.ring().n() * size_of::<u64>()
        };
        let table = |keys: &EvaluationKeys<B>| {
            (keys.galois_keys().count() + usize::from(keys.relin().is_ok())) * key(keys.params())
        };
        let switches = key(self.to_sparse.params()) + key(self.to_dense.params());
        switches + table(&self.upper) + table(&self.lower)
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams {
        &self.params
    }
}
