//! Predicted noise, as variances on the torus R/Z, for uniform binary secrets.
//!
//! Sources: Chillotti, Gama, Georgieva, Izabachene, *TFHE: Fast Fully Homomorphic Encryption over
//! the Torus*, J. Cryptology 2020 (external product, blind rotation, key switch); Bergerat, Boudi,
//! Bourgerie, Chillotti, Ligier, Orfila, Tap, *Parameter Optimization and Larger Precision for
//! (T)FHE*, J. Cryptology 2023 (variances with E[d^2] = (B^2 + 2)/12); Joye, *SoK: Fully
//! Homomorphic Encryption over the [Discretized] Torus*, TCHES 2022. Terms below 2^-64 of the torus
//! are omitted.
//!
//! Joye, *TFHE Public-Key Encryption Revisited*, CT-RSA 2024, of encryption by the public key.
//!
//! With n the small dimension, k and N those of GLWE, and B and l those of the respective gadget:
//! - encryption by the public key: (1 + k N / 2 + 2 k N / 3) sigma_glwe^2, of e_2 - <e_1, S> +
//!   <r, e> for factors r uniform in {-1, 0, 1}. Their mean is zero, so that the errors e of one
//!   key do not add a constant to all that it encrypts. A blind rotation leaves more: n (k + 1) N/2
//!   sigma_glwe^2 at the least;
//! - blind rotation: n (l (k + 1) N (B^2 + 2)/12 sigma_glwe^2 + (1 + k N / 2) / (24 B^2l));
//!   By a multi-bit key of g bits in a group, whose products have the sum of 2^g errors and replace
//!   the accumulator instead of adding to it: n/g (2^g l (k + 1) N (B^2 + 2)/12 sigma_glwe^2
//!   + (1 + k N / 2) / (12 B^2l));
//! - key switch: k N (l (B^2 + 2)/12 sigma_lwe^2 + 1 / (24 B^2l));
//!   Digits have the mean -1/2, so that the errors of one key add a constant to all lookups under
//!   it, which is this variance's part of 3 / (B^2 + 2) on average over keys: 1/6 for B = 4, 1/22
//!   for 8, 1/86 for 16;
//! - modulus switch to 2N, with its expectation subtracted (see
//!   [`LweOps::blind_rotate`](super::LweOps::blind_rotate)): (n/4 + 1) / (12 (2N)^2);
//! - transform: n ((k + 1) l) N (B^2/12) (1/12) eps^2 with eps the proven relative error of a
//!   product in the 2-norm, which is a mean over coefficients for uniform masks and digits. Errors
//!   of mask components reach the phase through the secret, which multiplies them by 1 + k N / 2.
//!   The mean error of a product is so far below eps that the sum stays below this term where it
//!   matters: over 10^5 bootstraps of `digits_2m128` it is a third of it
//!   (crates/he-cuda/tests/cuda/tfhe.rs). For a multi-bit key n is n/g times 2^g, and each of the g
//!   steps of a bundle adds at most 7u to eps, like a level of the transform.
//!
//! The rounding of digits has no mean. By keys of single bits, accumulators are sums of many
//! products, whose last bits differ; by a multi-bit key, an accumulator is one product in doubles,
//! which often has only one or two bits below the last digit, so that ties are frequent. Half of
//! them are rounded down ([`Gadget`](super::Gadget), `alternating_offsets`).

use super::TfheParams;
use super::transform::relative_error;
use crate::error::{Error, Result};

/// log2 of the greatest failure probability of a lookup that evaluators accept.
pub(super) const WORST_FAILURE_LOG2: f64 = -32.0;

/// The variances of the parts of a bootstrap; see the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The variance of a fresh ciphertext.
    pub fresh: f64,
    /// The variance of a fresh ciphertext that the public key encrypts.
    pub public: f64,
    /// The variance that the blind rotation leaves in the result.
    pub blind_rotation: f64,
    /// A bound on the variance that the transform adds to it.
    pub transform: f64,
    /// The variance that the key switch adds to that of its input.
    pub key_switch: f64,
    /// The variance that the modulus switch adds.
    pub modulus_switch: f64,
}

impl Noise {
    pub(super) fn of(params: &TfheParams, group: usize) -> Self {
        let spec = params.spec();
        let n = spec.lwe_dimension as f64;
        let (k, degree) = (spec.glwe_dimension as f64, params.degree() as f64);
        let (boot, switch) = (spec.bootstrap, spec.switch);
        let (boot_levels, switch_levels) = (f64::from(boot.levels), f64::from(switch.levels));
        let (glwe, lwe) = (libm::exp2(2.0 * spec.glwe_sigma_log2), libm::exp2(2.0 * spec.lwe_sigma_log2));
        let rows = (k + 1.0) * boot_levels;
        // Products, the errors in each, the weight of its rounding, and the steps of a bundle.
        let (products, errors, rounding, steps) = match group {
            1 => (n, 1.0, 0.5, 0),
            _ => (n / group as f64, f64::from(1 << group), 1.0, group),
        };
        let eps = relative_error(spec.log_degree, steps);
        Self {
            fresh: glwe,
            public: glwe * (1.0 + k * degree * (1.0 / 2.0 + 2.0 / 3.0)),
            blind_rotation: products
                * (errors * rows * degree * boot.digit_square() * glwe
                    + rounding * boot.rounding_variance() * (1.0 + k * degree / 2.0)),
            transform: products * errors * rows * degree * boot.digit_square() / 12.0 * eps * eps,
            key_switch: k
                * degree
                * (switch_levels * switch.digit_square() * lwe + 0.5 * switch.rounding_variance()),
            modulus_switch: (n / 4.0 + 1.0) / 12.0 / (2.0 * degree) / (2.0 * degree),
        }
    }

    /// The variance of the result of a bootstrap.
    pub fn bootstrapped(&self) -> f64 {
        self.blind_rotation + self.transform
    }

    /// The greatest variance of what lookups combine: results of bootstraps, and ciphertexts that
    /// either key encrypts.
    pub fn input(&self) -> f64 {
        self.bootstrapped().max(self.fresh).max(self.public)
    }

    /// The variance at the table lookup, for a combination of such inputs whose squared
    /// coefficients sum to `norm`.
    pub fn at_lookup(&self, norm: f64) -> f64 {
        norm * self.input() + self.key_switch + self.modulus_switch
    }

    /// log2 of the probability that a lookup errs if its inputs may be off by less than `margin` of
    /// the torus: P(|e| >= margin) for a Gaussian e, by log erfc(x) <= -x^2 - log(x sqrt(pi))
    /// for x > 1.
    pub fn failure_log2(&self, norm: f64, margin: f64) -> f64 {
        let x = margin / libm::sqrt(2.0 * self.at_lookup(norm));
        if x <= 1.0 {
            return libm::log2(libm::erfc(x));
        }
        (-x * x - libm::log(x * libm::sqrt(std::f64::consts::PI))) * std::f64::consts::LOG2_E
    }

    /// Refuses parameters whose lookups fail with a probability above 2^-32 in this worst case,
    /// given as sum of squared coefficients and margin.
    pub(super) fn expect_rare_failures(&self, (norm, margin): (f64, f64), of: &str) -> Result<()> {
        let failure = self.failure_log2(norm, margin);
        if failure.is_nan() || failure > WORST_FAILURE_LOG2 {
            return Err(Error::domain(
                "TFHE parameters",
                format!(
                    "lookups of {of} would fail with probability 2^{failure:.1}, and at most 2^{WORST_FAILURE_LOG2} is accepted"
                ),
                format!("use a preset for {of}"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::tfhe::{Gadget, TfheParams, TfheSpec, presets};

    /// Encryption by the public key never decides how often a lookup fails.
    #[test]
    fn a_bootstrap_leaves_more_noise_than_public_encryption() {
        let least = TfheSpec {
            lwe_dimension: 3,
            glwe_dimension: 8,
            bootstrap: Gadget { base_log: 1, levels: 1 },
            ..*presets::gates_2m40().unwrap().spec()
        };
        let all = [
            presets::gates_2m128(),
            presets::gates_2m40(),
            presets::digits_2m128(),
            presets::digits_2m40(),
            presets::phases_2m128(),
            presets::insecure_lambda100(),
            presets::insecure_small(),
            presets::insecure_phases(),
            TfheParams::insecure(least),
        ];
        for params in all {
            let params = params.unwrap();
            let noise = params.noise();
            println!("{:?}: 2^{:.1}", params.spec(), (noise.public / noise.bootstrapped()).log2());
            assert!(noise.fresh < noise.public && noise.public < noise.blind_rotation);
            assert_eq!(noise.input(), noise.bootstrapped());
        }
    }
}
