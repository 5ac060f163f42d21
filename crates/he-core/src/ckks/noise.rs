//! Noise estimates, without a key.
//!
//! The phase of a ciphertext is S m + e modulo Q, where S is the scale, m the polynomial whose
//! values at the roots z of X^N + 1 are the slots, and e the noise. A ciphertext carries bounds on
//! the root mean square of the coefficients of e, on |e(z)| and on |m(z)|. By Parseval, the root
//! mean square of a product's coefficients is at most that of either factor times the greatest
//! value of the other, so that
//!
//! - sums add each bound;
//! - products (S m + e)(S' m' + e') have noise S m e' + S' m' e + e e', each bound at most the sum
//!   of the products of the factors';
//! - a factor c that is rounded to an integer adds half of |S m|;
//! - a division divides e and adds the rounding of a pair, and a key switch adds its own noise.
//!
//! Fresh encryptions, roundings and key switches start from average root mean squares (variances
//! 10.5 (1 + 4N/3), (1 + 2N/3) / 12 and N 10.5 / 12 sum_j D_j^2 / P^2) and the high-probability
//! bounds on |e(z)| of Cheon, Kim, Kim, Song, *Homomorphic Encryption for Arithmetic of Approximate
//! Numbers* (Asiacrypt 2017): six deviations of a sum, sixteen of a product of two. Sums of
//! dependent operands are covered by the triangle inequality, and products by Parseval; nothing
//! else is assumed to be independent. Encodings count with half a unit per coefficient and 2^-48 of
//! the values for float64, or 2^-96 for numbers of 106 bits.

use crate::reveal;
use crate::rlwe::RlweParams;
use crate::rlwe::noise::{
    clean_bound, galois_excess_log2, key_switch_log2, log_add, mean_weight, public_log2,
    relinearisation_excess_log2, rounding_bound, secret_log2, weighted_rounding_log2,
};
use num_complex::Complex64;

/// log2 of the relative error of encodings by float64.
pub(crate) const DOUBLES_LOG2: f64 = -48.0;
/// log2 of the relative error of encodings by numbers of 106 bits.
pub(crate) const EXTENDED_LOG2: f64 = -96.0;

/// Bounds on the noise of a ciphertext of CKKS, of either kind, and on its values.
///
/// Evaluators keep it up to date in memory. It is not part of a file: objects that somebody else
/// sent have none ([`set_noise`](crate::ckks::Ciphertext::set_noise) is for those who know how they
/// were computed, for instance by doing the same with an encryption of their own). The bound on the
/// values begins with those that were encoded, rounded up to a power of sqrt(2), so that estimates
/// of products reveal something of their magnitude: keep them as secret as the values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseEstimate {
    /// log2 of the root mean square of the coefficients of e.
    pub rms_log2: f64,
    /// log2 of the greatest |e(z)|, which is the error of a slot times the scale.
    pub peak_log2: f64,
    /// log2 of the greatest magnitude of a slot.
    pub value_log2: f64,
}

/// The largest squared magnitude of the finite numbers of vectors, 0 if there are none.
pub(crate) fn largest_square(vectors: &[&[Complex64]]) -> f64 {
    let square = |z: &Complex64| z.re * z.re + z.im * z.im;
    // The maxima of every fourth number are independent, so that the compiler keeps them in vector
    // registers; a comparison without regard to NaN is one instruction there.
    let mut most = [0.0; 4];
    let mut raise = |values: &[Complex64]| {
        for (most, z) in most.iter_mut().zip(values) {
            let square = square(z);
            *most = if square > *most { square } else { *most };
        }
    };
    for values in vectors {
        let (fours, rest) = values.as_chunks::<4>();
        fours.iter().for_each(|four| raise(four));
        raise(rest);
    }
    most.into_iter().fold(0.0, f64::max)
}

impl NoiseEstimate {
    /// No noise, of the value 0.
    const NONE: Self =
        Self { rms_log2: f64::NEG_INFINITY, peak_log2: f64::NEG_INFINITY, value_log2: f64::NEG_INFINITY };

    /// The estimate of an encoding of values whose squared magnitudes reach this, of which only the
    /// exponent is used, by a transform with this relative error.
    pub(crate) fn encoded(square: f64, scale_log2: f64, n: f64, transform_log2: f64) -> Self {
        // 2^exponent is the next power of two above the square.
        let exponent = reveal::word(square.to_bits() >> 52) as i32 - 1022;
        let value_log2 = f64::from(exponent) / 2.0;
        let float = value_log2 + scale_log2 + transform_log2;
        let peak_log2 = log_add(libm::log2(n) / 2.0 + 1.0, float);
        Self { rms_log2: log_add(-1.0, float), peak_log2, value_log2 }
    }

    /// The estimate after encryption by secret key: six deviations of a sum of n errors.
    pub(crate) fn encrypted_secretly(self, n: f64) -> Self {
        self.with(secret_log2(), secret_log2() + libm::log2(6.0) + libm::log2(n) / 2.0)
    }

    /// The estimate with a uniform integer of `[-2^b, 2^b)` on each coefficient, b = `bits`, in
    /// degree `n`.
    #[must_use]
    pub(crate) fn flooded(self, bits: f64, n: f64) -> Self {
        self.with(bits, bits + libm::log2(n) / 2.0 + 2.0)
    }

    /// The estimate with additional noise.
    #[must_use]
    pub(crate) fn with(self, rms_log2: f64, peak_log2: f64) -> Self {
        Self {
            rms_log2: log_add(self.rms_log2, rms_log2),
            peak_log2: log_add(self.peak_log2, peak_log2),
            ..self
        }
    }

    /// The estimate of a sum or a difference at one scale.
    #[must_use]
    pub(crate) fn plus(self, other: Self) -> Self {
        let sum = self.with(other.rms_log2, other.peak_log2);
        Self { value_log2: log_add(self.value_log2, other.value_log2), ..sum }
    }

    /// The estimate of a product, at the scales of both factors.
    #[must_use]
    pub(crate) fn product(self, scale_log2: f64, other: Self, other_scale_log2: f64) -> Self {
        let [a, b] = [scale_log2 + self.value_log2, other_scale_log2 + other.value_log2];
        let both = f64::min(self.rms_log2 + other.peak_log2, self.peak_log2 + other.rms_log2);
        Self {
            rms_log2: log_add(log_add(a + other.rms_log2, b + self.rms_log2), both),
            peak_log2: log_add(
                log_add(a + other.peak_log2, b + self.peak_log2),
                self.peak_log2 + other.peak_log2,
            ),
            value_log2: self.value_log2 + other.value_log2,
        }
    }

    /// The estimate of a product by a number that is rounded at a scale of 2^factor_log2.
    #[must_use]
    pub(crate) fn times(self, scale_log2: f64, number: f64, factor_log2: f64, n: f64) -> Self {
        let number_log2 = libm::log2(number.abs());
        let factor = log_add(number_log2 + factor_log2, -1.0);
        let rounding = scale_log2 + self.value_log2 - 1.0;
        Self {
            rms_log2: self.rms_log2 + factor,
            peak_log2: self.peak_log2 + factor,
            value_log2: self.value_log2 + number_log2,
        }
        .with(rounding - libm::log2(n) / 2.0, rounding)
    }

    /// The estimate of a sum of `terms` products by numbers that are rounded at a scale of
    /// 2^factor_log2, and whose magnitudes add up to `sum`.
    #[must_use]
    pub(crate) fn combined(self, scale_log2: f64, sum: f64, terms: usize, factor_log2: f64, n: f64) -> Self {
        let (sum_log2, rounded_log2) = (libm::log2(sum), libm::log2(terms as f64) - 1.0);
        let factor = log_add(sum_log2 + factor_log2, rounded_log2);
        let rounding = scale_log2 + self.value_log2 + rounded_log2;
        self.shifted(factor).revalued(sum_log2).with(rounding - libm::log2(n) / 2.0, rounding)
    }

    /// The estimate of a product by an integer.
    #[must_use]
    pub(crate) fn times_integer(self, value: i64) -> Self {
        let bits = libm::log2(value.unsigned_abs() as f64);
        self.shifted(bits).revalued(bits)
    }

    /// The estimate with noise 2^bits times as large.
    #[must_use]
    pub(crate) fn shifted(self, bits: f64) -> Self {
        Self { rms_log2: self.rms_log2 + bits, peak_log2: self.peak_log2 + bits, ..self }
    }

    /// The estimate with values 2^bits times as large.
    #[must_use]
    pub(crate) fn revalued(self, bits: f64) -> Self {
        Self { value_log2: self.value_log2 + bits, ..self }
    }

    /// The estimate of a polynomial whose coefficients are those of 2^bits others.
    #[must_use]
    pub(crate) fn gathered(self, bits: f64) -> Self {
        Self { peak_log2: self.peak_log2 + bits, ..self }.revalued(bits)
    }

    /// The estimate of each of 2^bits polynomials that share the coefficients of one: their values
    /// are means of its values.
    #[must_use]
    pub(crate) fn scattered(self, bits: f64) -> Self {
        Self { rms_log2: self.rms_log2 + bits / 2.0, ..self }
    }

    /// The greater of each bound.
    #[must_use]
    pub(crate) fn max(self, other: Self) -> Self {
        Self {
            rms_log2: self.rms_log2.max(other.rms_log2),
            peak_log2: self.peak_log2.max(other.peak_log2),
            value_log2: self.value_log2.max(other.value_log2),
        }
    }

    /// log2 of the greatest coefficient of S m + e: at most its greatest value at the roots.
    pub(crate) fn used_log2(self, scale_log2: f64) -> f64 {
        log_add(scale_log2 + self.value_log2, self.peak_log2)
    }
}

/// The data that estimates need of a parameter set.
#[derive(Clone, Debug)]
pub(crate) struct NoiseModel {
    n: f64,
    parties: f64,
    /// log2 of the noise that a key switch over the first i primes adds with the key of one party,
    /// at i.
    switching: Vec<f64>,
}

impl NoiseModel {
    /// For keys that so many parties made together.
    pub(crate) fn new(rlwe: &RlweParams, parties: usize) -> Self {
        let n = rlwe.ring().n() as f64;
        let mut log_q = vec![0.0];
        for &q in rlwe.ring().q() {
            log_q.push(log_q[log_q.len() - 1] + libm::log2(q as f64));
        }
        let log_p = rlwe.ring().p().iter().map(|&p| libm::log2(p as f64)).sum();
        let switch = |primes| key_switch_log2(n, &log_q, log_p, rlwe.digits(), primes);
        Self { n, parties: parties as f64, switching: (0..log_q.len()).map(switch).collect() }
    }

    /// N.
    pub(crate) fn n(&self) -> f64 {
        self.n
    }

    /// The estimate after encryption by public key.
    pub(crate) fn encrypted(&self, noise: NoiseEstimate) -> NoiseEstimate {
        let weight = mean_weight(self.n, self.parties);
        let bound = clean_bound(self.n, weight, self.parties);
        noise.with(public_log2(self.n, self.parties), libm::log2(bound))
    }

    /// The estimate after a division by 2^bits with rounding, which also divides the scale.
    pub(crate) fn divided(&self, noise: NoiseEstimate, bits: f64) -> NoiseEstimate {
        self.rounded(noise.shifted(-bits))
    }

    fn rounded(&self, noise: NoiseEstimate) -> NoiseEstimate {
        let weight = mean_weight(self.n, self.parties);
        noise.with(weighted_rounding_log2(weight), libm::log2(rounding_bound(self.n, weight)))
    }

    /// The estimate after a key switch over the first `primes` primes with any key: of several
    /// parties the relinearisation key has the most noise.
    pub(crate) fn key_switched(&self, noise: NoiseEstimate, primes: usize) -> NoiseEstimate {
        self.switched(noise, primes, relinearisation_excess_log2(self.n, self.parties))
    }

    /// The estimate after a key switch with a Galois key.
    pub(crate) fn rotated(&self, noise: NoiseEstimate, primes: usize) -> NoiseEstimate {
        self.switched(noise, primes, galois_excess_log2(self.parties))
    }

    /// The estimate after an expansion to `count` coefficients: the noise of a switch with a Galois
    /// key, count - 1 times. Coefficients are bounded by values at the roots.
    pub(crate) fn expanded(&self, noise: NoiseEstimate, primes: usize, count: usize) -> NoiseEstimate {
        let switch = self.rotated(NoiseEstimate::NONE, primes).shifted(libm::log2((count - 1) as f64));
        noise.with(switch.rms_log2, switch.peak_log2)
    }

    /// The estimate after a transposition of N rows, each automorphism by so many key switches: all
    /// of them on every row.
    pub(crate) fn transposed(&self, noise: NoiseEstimate, primes: usize, switches: usize) -> NoiseEstimate {
        let bits = libm::log2(self.n * switches as f64);
        let switch = self.rotated(NoiseEstimate::NONE, primes).shifted(bits);
        noise.with(switch.rms_log2, switch.peak_log2)
    }

    /// The estimate after the key switches of a product of encrypted matrices: a transposition
    /// whose noise is multiplied by the secret, at most six deviations of a root's value, a
    /// relinearisation, and a transposition.
    pub(crate) fn matrix_product(
        &self,
        noise: NoiseEstimate,
        primes: usize,
        switches: usize,
    ) -> NoiseEstimate {
        let secret = libm::log2(6.0 * libm::sqrt(mean_weight(self.n, self.parties)));
        let first = self.transposed(NoiseEstimate::NONE, primes, switches).shifted(secret);
        let all = self.transposed(self.key_switched(first, primes), primes, switches);
        noise.with(all.rms_log2, all.peak_log2)
    }

    /// The estimate after a key switch with a key whose errors exceed those of one party's by this
    /// factor.
    pub(crate) fn switched(&self, noise: NoiseEstimate, primes: usize, excess_log2: f64) -> NoiseEstimate {
        let rms = self.switching[primes] + excess_log2;
        self.rounded(noise.with(rms, rms + 4.0 + libm::log2(self.n) / 2.0))
    }
}
