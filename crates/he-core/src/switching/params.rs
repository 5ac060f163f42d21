//! The primes of the switch.

use crate::arith::ntt_primes_below;
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::params::{ParamsError, Security, max_log_qp};
use crate::ring::{Ring, RingSpec};
use crate::rlwe::RlweParams;
use crate::tfhe::{TfheParams, least_sigma_log2};
use std::sync::Arc;

/// The widths of q' and p. The rounding to q' and the switch, whose noise is q' / p times as large
/// as the error, are about as large as each other.
const WIDTHS: (u32, u32) = (24, 27);

/// log2 of the deviation of the errors of keys.
const ERROR_LOG2: f64 = 1.70;

#[derive(Debug)]
struct Inner {
    source: RlweParams,
    base: usize,
    tfhe: TfheParams,
    /// q' and then the base, with p.
    ring: RingSpec,
    /// q' and p alone.
    key: RlweParams,
}

/// Checked parameters of the switch from RLWE ciphertexts to TFHE, as a cheap handle.
#[derive(Clone, Debug)]
pub struct SwitchingParams(Arc<Inner>);

impl PartialEq for SwitchingParams {
    fn eq(&self, other: &Self) -> bool {
        (&self.0.source, self.0.base, &self.0.tfhe) == (&other.0.source, other.0.base, &other.0.tfhe)
    }
}

impl Eq for SwitchingParams {}

/// Whether the large secret of TFHE is one polynomial whose degree divides 2^`log_n`.
pub(super) fn check_degrees(tfhe: &TfheParams, log_n: u32) -> Result<(), ParamsError> {
    let spec = tfhe.spec();
    for (what, found, highest) in [
        ("dimension of GLWE", spec.glwe_dimension as f64, 1.0),
        ("log2 of the degree", f64::from(spec.log_degree), f64::from(log_n)),
    ] {
        if found > highest {
            return Err(ParamsError::OutOfRange { what, found, lowest: 1.0, highest });
        }
    }
    Ok(())
}

impl SwitchingParams {
    /// For ciphertexts over the first `base` primes of `source`, and large ciphertexts of `tfhe`.
    ///
    /// # Errors
    /// [`ParamsError::Insecure`] unless `source` has 128 bits of security;
    /// [`ParamsError::OutOfRange`] for insecure parameters of TFHE, or if its line does not allow
    /// q' p; those of [`insecure`](Self::insecure).
    pub fn new(source: &RlweParams, base: usize, tfhe: &TfheParams) -> Result<Self, ParamsError> {
        let params = Self::insecure(source, base, tfhe)?;
        if source.security() == Security::Insecure {
            let (log_n, log_qp) = (source.ring().log_n(), source.ring().log_qp());
            let limit = max_log_qp(log_n, Security::Bits128).unwrap_or(0);
            return Err(ParamsError::Insecure { log_n, log_qp, limit });
        }
        let sigma = if tfhe.is_secure() { params.error_log2() } else { f64::NEG_INFINITY };
        let lowest = least_sigma_log2(tfhe.dimension().min(2048));
        if sigma < lowest {
            let what = "log2 of the deviation of errors of keys to TFHE";
            return Err(ParamsError::OutOfRange { what, found: sigma, lowest, highest: 0.0 });
        }
        Ok(params)
    }

    /// Makes such parameters whatever the security; for experiments and tests only.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for GLWE of more than one polynomial or of a higher degree than
    /// that of `source`; [`ParamsError::ChainLength`] for a base that `source` does not have;
    /// [`ParamsError::NotEnoughPrimes`].
    pub fn insecure(source: &RlweParams, base: usize, tfhe: &TfheParams) -> Result<Self, ParamsError> {
        let log_n = source.ring().log_n();
        check_degrees(tfhe, log_n)?;
        let chain = source.ring().q();
        if !(1..=chain.len()).contains(&base) {
            let (chain, highest) = ("base of the switch", chain.len());
            return Err(ParamsError::ChainLength { chain, found: base, lowest: 1, highest });
        }
        let base_primes = &chain[..base];
        let (switched, special) = WIDTHS;
        let switched = ntt_primes_below(switched, log_n, 1, base_primes)?;
        let special = ntt_primes_below(special, log_n, 1, base_primes)?;
        let ring = RingSpec::new(log_n, [&switched, base_primes].concat(), special.clone())?;
        let key = RingSpec::new(log_n, switched, special)?;
        let key = RlweParams::insecure(key, RlweParams::even_digits(1, 1))?;
        Ok(Self(Arc::new(Inner { source: source.clone(), base, tfhe: tfhe.clone(), ring, key })))
    }

    /// The ring of keys and switches on a device.
    ///
    /// # Errors
    /// Device errors.
    pub fn ring<B: RingOps>(&self, backend: B) -> Result<Ring<B>> {
        Ring::new(backend, self.0.ring.clone())
    }

    pub(super) fn check_ring<B: RingOps>(&self, ring: &Ring<B>) -> Result<()> {
        if ring.spec() == &self.0.ring { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// The ring of keys, of that of [`ring`](Self::ring).
    pub(crate) fn key_ring<B: RingOps>(&self, ring: &Ring<B>) -> Result<Ring<B>> {
        self.check_ring(ring)?;
        ring.prefix(1, 1)
    }

    /// The parameters of the ciphertexts that are switched.
    pub fn source(&self) -> &RlweParams {
        &self.0.source
    }

    /// The primes that these ciphertexts have.
    pub fn base(&self) -> usize {
        self.0.base
    }

    /// The parameters of the results.
    pub fn tfhe(&self) -> &TfheParams {
        &self.0.tfhe
    }

    /// q' and p, over which the key is.
    pub fn key(&self) -> &RlweParams {
        &self.0.key
    }

    /// q' and the base, with p.
    pub(super) fn ring_spec(&self) -> &RingSpec {
        &self.0.ring
    }

    /// q'.
    pub(super) fn modulus(&self) -> u64 {
        self.0.key.ring().q()[0]
    }

    /// log2 of the deviation of the key's errors on the torus.
    fn error_log2(&self) -> f64 {
        ERROR_LOG2 - self.0.key.ring().log_qp()
    }

    /// log2 of the deviation of what a switch adds, on the torus: the rounding to q', whose
    /// variance is (1 + 2N/3) / 12 in units of 1/q'; the switch, N 10.5 / 12 (q' / p)^2; and its
    /// rounding, (1 + N'/2) / 12.
    pub fn noise_log2(&self) -> f64 {
        let (n, degree) = (self.0.ring.n() as f64, self.0.tfhe.degree() as f64);
        let (q, p) = (self.modulus() as f64, self.0.key.ring().p()[0] as f64);
        let roundings = (1.0 + n / 1.5) / 12.0 + (1.0 + degree / 2.0) / 12.0;
        let switched = n * 10.5 / 12.0 * (q / p) * (q / p);
        libm::log2(roundings + switched) / 2.0 - libm::log2(q)
    }
}
