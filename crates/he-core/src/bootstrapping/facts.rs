//! The capabilities and costs of parameters with bootstrapping, in numbers.

use super::overflow::{log2_integer, log2_tail};
use super::presets::Preset;
use super::stages::eval_mod;
use super::{BootstrapParams, EvalMod, Precision};
use crate::error::Result;
use crate::params::{Security, max_log_qp, max_sparse_log_qp};
use crate::rlwe::RlweParams;

/// An error of a value above this counts as a failure in [`BootstrapFacts::failure_log2`].
const FAILURE: f64 = 1.0 / 1024.0;

/// The capabilities and costs of parameters with bootstrapping.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BootstrapFacts {
    /// The preset whose parameters they are, if any.
    pub preset: Option<Preset>,
    /// log2 of the ring degree N.
    pub log_n: u32,
    /// The slots of ciphertexts that are bootstrapped.
    pub slots: usize,
    /// The levels that programs compute with between two bootstraps.
    pub levels: usize,
    /// log2 of the scale of those levels.
    pub scale_log2: f64,
    /// The precision of a preset, as measured; other parameters have no measurement.
    pub precision: Option<Precision>,
    /// log2 of the probability that a bootstrap of a ciphertext leaves any value with an error
    /// above 2^-10: minus infinity if it cannot. See [`BootstrapParams::failure_log2`].
    pub failure_log2: f64,
    /// The memory that the bootstrapping keys take on a device, in bytes.
    pub key_bytes: usize,
    /// The secret that programs use: uniform ternary.
    pub dense: SecretFacts,
    /// The ephemeral secret of ModRaise.
    pub sparse: SecretFacts,
}

/// A secret, and the greatest modulus of anything that exists under it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SecretFacts {
    /// The number of coefficients other than 0; `None` for a uniform ternary secret.
    pub weight: Option<usize>,
    /// log2 of the greatest modulus under it.
    pub log_modulus: f64,
    /// The greatest log2 that has 128 bits of security by the tables of [`max_log_qp`] and
    /// [`max_sparse_log_qp`]; `None` where they have no entry.
    pub limit: Option<u32>,
}

impl SecretFacts {
    /// The bits of security that the tables grant: 0 above the limit. More than 128 for a uniform
    /// secret are stated where they are reached; the table of sparse secrets has 128 alone.
    pub fn security_bits(&self, log_n: u32) -> u32 {
        match self.weight {
            None => crate::params::security_of(log_n, self.log_modulus).bits(),
            Some(_) if self.limit.is_some_and(|limit| self.log_modulus <= f64::from(limit)) => {
                Security::Bits128.bits()
            }
            Some(_) => 0,
        }
    }
}

impl BootstrapParams {
    /// Computes the capabilities and costs of these parameters. Matrices of CoeffsToSlots are
    /// computed in order to count keys, which takes about as long as a transform of every diagonal.
    ///
    /// # Errors
    /// None in practice: the reduction and the matrices of checked parameters exist.
    pub fn facts(&self) -> Result<BootstrapFacts> {
        let (spec, program) = (self.spec(), self.params());
        let secret = |rlwe: &RlweParams, weight, limit| SecretFacts {
            weight,
            log_modulus: rlwe.ring().log_qp(),
            limit,
        };
        let (log_n, weight) = (spec.log_n, spec.sparse_weight);
        let preset = Preset::ALL.into_iter().find(|preset| preset.spec() == *spec);
        Ok(BootstrapFacts {
            preset,
            log_n,
            slots: self.slots(),
            levels: self.output_level() - self.input_level(),
            scale_log2: libm::log2(program.levels()[self.output_level()].scale),
            precision: preset.map(Preset::precision),
            failure_log2: self.failure_log2(FAILURE)?,
            key_bytes: self.key_bytes()?,
            dense: secret(self.upper().rlwe(), None, max_log_qp(log_n, Security::Bits128)),
            sparse: secret(self.sparse(), Some(weight), max_sparse_log_qp(log_n, weight)),
        })
    }

    /// log2 of the probability that a bootstrap of one ciphertext leaves any value with an error
    /// above `error` because of a great integer: the exact distribution of the integers over 2 n
    /// coefficients (n slots, a union bound), and the reduction's error near each of them, of the
    /// sine as it is in exact arithmetic. Minus infinity if no integer that the sparse secret can
    /// leave errs so much.
    ///
    /// The reduction's own error for values of magnitude one, which comes with every integer, must
    /// be below `error`: otherwise the result is the number of coefficients.
    ///
    /// # Errors
    /// None in practice: the reduction of checked parameters exists.
    pub fn failure_log2(&self, error: f64) -> Result<f64> {
        let (spec, map) = (self.spec(), eval_mod(self)?);
        let (bound, summands) = (spec.eval_mod.bound, spec.sparse_weight as u32 + 1);
        let unit = value_unit(self, &map);
        let fails = (0..=bound).filter(|&i| map.error(i) / unit > error);
        let within: f64 = fails.map(|i| libm::exp2(log2_integer(summands, i))).sum();
        // Beyond the bound the polynomial is not a cosine.
        let beyond = libm::exp2(1.0 + log2_tail(summands, 2 * bound + 1));
        Ok(f64::from(spec.log_slots) + 1.0 + libm::log2(within + beyond))
    }
}

impl Preset {
    /// Computes the capabilities and costs of the preset: slots, levels, precision, failure
    /// probability, keys, security.
    ///
    /// # Errors
    /// None in practice: the primes exist.
    pub fn facts(self) -> Result<BootstrapFacts> {
        self.params()?.facts()
    }
}

/// The result of the reduction for a value of one.
pub(super) fn value_unit(params: &BootstrapParams, map: &EvalMod) -> f64 {
    let base = params.params().levels()[0].scale;
    map.amplitude() * base / params.ring_spec().q()[0] as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_state_their_facts() {
        for (preset, gigabytes, failure) in [
            (Preset::Fast, 8.09, -105.7),
            (Preset::Precise, 9.53, -105.7),
            (Preset::ExactBound, 9.74, f64::NEG_INFINITY),
            (Preset::Small, 3.19, -110.7),
        ] {
            let facts = preset.facts().unwrap();
            println!("{facts:?}");
            assert_eq!((facts.preset, facts.precision), (Some(preset), Some(preset.precision())));
            assert!(
                (facts.key_bytes as f64 / 1e9 - gigabytes).abs() < 0.006,
                "{preset}: {}",
                facts.key_bytes
            );
            let near = facts.failure_log2 == failure || (facts.failure_log2 - failure).abs() < 0.2;
            assert!(near, "{preset}: {}", facts.failure_log2);
            assert_eq!(facts.dense.security_bits(facts.log_n), 128);
            assert_eq!(facts.sparse.security_bits(facts.log_n), 128);
            assert!(facts.sparse.log_modulus <= 100.0 && facts.sparse.weight == Some(32));
        }
    }

    /// Diagonals whose values repeat are stored once: for full vectors all but those of the last
    /// stages of SlotsToCoeffs and of the first ones of CoeffsToSlots. By all words they would be
    /// 2.21 GB (`fast`) and .57 GB (`small`).
    #[test]
    fn presets_have_small_matrices() {
        for (preset, bytes) in [
            (Preset::Fast, 431_233_536),
            (Preset::Precise, 478_648_064),
            (Preset::ExactBound, 488_117_888),
            (Preset::Small, 56_391_168),
        ] {
            assert_eq!(preset.params().unwrap().matrix_bytes().unwrap(), bytes, "{preset}");
        }
    }

    /// The sine's own error for a value of one, 2^-17.3 where q_0 is 2^10 times the scale, is a
    /// failure for who asks for more.
    #[test]
    fn failures_grow_with_what_is_asked() {
        let params = Preset::Fast.params().unwrap();
        let asked =
            [-2.0, -10.0, -16.0, -17.0, -18.0].map(|bits| params.failure_log2(libm::exp2(bits)).unwrap());
        assert!(asked.windows(2).all(|pair| pair[0] <= pair[1]), "{asked:?}");
        assert!((asked[4] - 16.0).abs() < 1e-9, "{asked:?}");
    }
}
