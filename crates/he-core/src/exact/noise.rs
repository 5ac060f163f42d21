//! Predicted noise, without a key.
//!
//! The phase of a ciphertext is [f m]_t / t + e modulo Q. A ciphertext carries bounds on the root
//! mean square of e over the coefficients and on its greatest coefficient, and the degree of e in
//! the secret. Coefficients of e are sums of very many terms, nearly Gaussian, and one beyond
//! [`TAIL`](super::TAIL) times the root mean square has probability 10^-15. However, if two noises
//! are multiplied that may be the same, or images of each other, a single coefficient collects what
//! they have in common, up to |e_1| |e_2|.
//!
//! Sums are bounded by the triangle inequality, whatever the operands have in common. In products,
//! e and the other factor are independent except for the powers of the secret in them: the values
//! of s at the roots are complex Gaussian, E |s|^(2 (i + j)) = (i + j)! V^(i + j) against i! V^i j!
//! V^j, whence the factor C(i + j, i) on the variance (Biasioli, Marcolla, Calderini, Mono,
//! *Improving and Automating BFV Parameters Selection: An Average-Case Approach*, 2023, section 4).

use crate::rlwe::RlweParams;
use crate::rlwe::noise::{
    galois_excess_log2, key_switch_log2, log_add, mean_weight, public_log2, relinearisation_excess_log2,
    secret_log2, weighted_rounding_log2,
};
use std::ops::Range;

/// log2 of [`TAIL`](super::TAIL).
const TAIL_LOG2: f64 = 3.0;

/// Bounds on the noise e of a ciphertext.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// log2 of the root mean square of a coefficient.
    pub rms_log2: f64,
    /// log2 of the greatest coefficient.
    pub peak_log2: f64,
    /// The degree in the secret.
    pub degree: u32,
}

/// log2 of C(i + j, i).
fn log_binomial(i: u32, j: u32) -> f64 {
    // A noise that a caller made up may have any degree.
    let [i, j] = [i, j].map(|degree| degree.min(Noise::MAX_DEGREE));
    let (few, many) = (f64::from(i.min(j)), f64::from(i.max(j)));
    let mut sum = 0.0;
    let mut k = 1.0;
    while k <= few {
        sum += libm::log2((many + k) / k);
        k += 1.0;
    }
    sum
}

impl Noise {
    /// The largest degree that is distinguished.
    pub(crate) const MAX_DEGREE: u32 = 1 << 12;

    /// log2 of the least root mean square that any operation predicts: half a unit, of
    /// [`scale`](Self::scale). Encryptions and roundings have more.
    pub(crate) const LEAST_LOG2: f64 = -1.0;

    /// No noise.
    pub(crate) const ZERO: Self =
        Self { rms_log2: f64::NEG_INFINITY, peak_log2: f64::NEG_INFINITY, degree: 0 };

    fn new(rms_log2: f64, degree: u32) -> Self {
        Self { rms_log2, peak_log2: rms_log2 + TAIL_LOG2, degree: degree.min(Self::MAX_DEGREE) }
    }

    /// The noise of a sum or a difference: the representatives of the messages add up to that of
    /// the sum, up to t.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: f64, b: f64| log_add(log_add(a, b), 0.0);
        Self {
            rms_log2: sum(self.rms_log2, other.rms_log2),
            peak_log2: sum(self.peak_log2, other.peak_log2),
            degree: self.degree.max(other.degree),
        }
    }

    /// The noise of a sum of `count` ciphertexts of at most this noise: that of
    /// [`plus`](Self::plus) over all of them, and the same in whatever order they are added.
    #[must_use]
    pub fn total(self, count: u64) -> Self {
        let count = libm::log2(count.max(1) as f64);
        let sum = |e: f64| if count > 0.0 { count + log_add(e, 0.0) } else { e };
        Self { rms_log2: sum(self.rms_log2), peak_log2: sum(self.peak_log2), degree: self.degree }
    }

    /// The noise of a product by a plaintext p with |p(z)| <= 2^gain_log2 at all roots z of
    /// X^N + 1: |p| (e + 1/2) + 1/2.
    #[must_use]
    pub fn scale(self, gain_log2: f64) -> Self {
        let product = |e: f64| log_add(log_add(e, -1.0) + gain_log2, -1.0);
        Self { rms_log2: product(self.rms_log2), peak_log2: product(self.peak_log2), degree: self.degree }
    }

    /// The greater of each bound.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            rms_log2: self.rms_log2.max(other.rms_log2),
            peak_log2: self.peak_log2.max(other.peak_log2),
            degree: self.degree.max(other.degree),
        }
    }

    /// The noise with a uniform integer of `[-2^bits, 2^bits)` on each coefficient.
    #[must_use]
    pub(crate) fn flooded(self, bits: f64) -> Self {
        let [rms_log2, peak_log2] = [self.rms_log2, self.peak_log2].map(|e| log_add(e, bits));
        Self { rms_log2, peak_log2, ..self }
    }

    /// The noise with additional independent noise of a degree.
    pub(crate) fn with(self, rms_log2: f64, degree: u32) -> Self {
        Self {
            rms_log2: log_add(self.rms_log2, rms_log2),
            peak_log2: log_add(self.peak_log2, rms_log2 + TAIL_LOG2),
            degree: self.degree.max(degree),
        }
    }
}

/// The data that predictions need of a parameter set.
#[derive(Clone, Debug)]
pub struct NoiseModel {
    n: f64,
    t_log2: f64,
    /// log2 of the product of the first i primes, at i.
    log_q: Vec<f64>,
    parties: f64,
    /// log2 of the noise that a key switch over the first i primes adds with the key of one party,
    /// at i.
    switching: Vec<f64>,
    /// log2 of the rounding of a pair.
    rounding: f64,
}

impl NoiseModel {
    pub(crate) fn new(rlwe: &RlweParams, t: u64) -> Self {
        let log2 = |&q: &u64| libm::log2(q as f64);
        let log_p = rlwe.ring().p().iter().map(log2).sum();
        let bits: Vec<f64> = rlwe.ring().q().iter().map(log2).collect();
        Self::from_bits(rlwe.ring().n() as f64, t, &bits, log_p, rlwe.digits())
    }

    /// Prepares predictions for primes of these widths.
    pub(crate) fn from_bits(n: f64, t: u64, q_bits: &[f64], log_p: f64, digits: &[Range<usize>]) -> Self {
        let mut log_q = vec![0.0];
        for bits in q_bits {
            log_q.push(log_q[log_q.len() - 1] + bits);
        }
        let switch = |primes| key_switch_log2(n, &log_q, log_p, digits, primes);
        let switching = (0..log_q.len()).map(switch).collect();
        let rounding = weighted_rounding_log2(mean_weight(n, 1.0));
        Self { n, t_log2: libm::log2(t as f64), log_q, parties: 1.0, switching, rounding }
    }

    /// The same predictions for keys that so many parties made together.
    pub(crate) fn for_parties(&self, parties: usize) -> Self {
        let parties = parties as f64;
        let rounding = weighted_rounding_log2(mean_weight(self.n, parties));
        Self { parties, rounding, ..self.clone() }
    }

    /// The parties that made the keys together: 1 unless parameters were made
    /// [for several](super::Params::for_parties).
    pub fn parties(&self) -> usize {
        self.parties as usize
    }

    /// The primes of the whole chain.
    pub(crate) fn chain(&self) -> usize {
        self.log_q.len() - 1
    }

    /// log2 of the modulus of the first `primes` primes.
    pub fn log_q(&self, primes: usize) -> f64 {
        self.log_q[primes]
    }

    /// log2 of t.
    pub fn t_log2(&self) -> f64 {
        self.t_log2
    }

    fn half_log_n(&self) -> f64 {
        libm::log2(self.n) / 2.0
    }

    /// The noise of an encryption by public key: variance 10.5 (1 + k 4N/3), k the number of
    /// parties that made the keys.
    pub fn public(&self) -> Noise {
        Noise::new(public_log2(self.n, self.parties), 1)
    }

    /// The noise of an encryption by secret key: variance 10.5.
    pub fn secret(&self) -> Noise {
        Noise::new(secret_log2(), 0)
    }

    /// log2 of the rounding of a pair: the root of (1 + k 2N/3) / 12.
    pub fn rounding(&self) -> f64 {
        self.rounding
    }

    /// The noise with the rounding of a triple: s^2 has the mean square 2 (k 2N/3)^2 at the roots.
    #[must_use]
    pub fn rounded_triple(&self, noise: Noise) -> Noise {
        let s = mean_weight(self.n, self.parties);
        noise.with(libm::log2((1.0 + s + 2.0 * s * s) / 12.0) / 2.0, 2)
    }

    /// The noise after a division by the primes between `from` and `to`.
    #[must_use]
    pub fn switched(&self, noise: Noise, from: usize, to: usize) -> Noise {
        if from == to {
            return noise;
        }
        let dropped = self.log_q[from] - self.log_q[to];
        let (rms_log2, peak_log2) = (noise.rms_log2 - dropped, noise.peak_log2 - dropped);
        let degree = if rms_log2 < self.rounding() { 1 } else { noise.degree };
        Noise { rms_log2, peak_log2, degree }.with(self.rounding(), 1)
    }

    /// The noise after a key switch over the first `primes` primes with any key: digits of size D_j
    /// against errors, divided by P, and rounded. The relinearisation key of several parties has
    /// the most noise.
    #[must_use]
    pub fn key_switched(&self, noise: Noise, primes: usize) -> Noise {
        self.switched_by(noise, primes, relinearisation_excess_log2(self.n, self.parties))
    }

    /// The noise after a key switch with a Galois key.
    #[must_use]
    pub(crate) fn rotated(&self, noise: Noise, primes: usize) -> Noise {
        self.switched_by(noise, primes, galois_excess_log2(self.parties))
    }

    /// The noise after an expansion to `count` coefficients: that of a switch with a Galois key,
    /// count - 1 times.
    #[must_use]
    pub(crate) fn expanded(&self, noise: Noise, primes: usize, count: usize) -> Noise {
        let switch = self.rotated(Noise::ZERO, primes).total(count.saturating_sub(1) as u64);
        if count > 1 { noise.plus(switch) } else { noise }
    }

    /// The noise after a transposition of N rows, each automorphism by so many key switches: all of
    /// them on every row.
    #[must_use]
    pub(crate) fn transposed(&self, noise: Noise, primes: usize, switches: usize) -> Noise {
        noise.plus(self.rotated(Noise::ZERO, primes).total(self.n as u64 * switches as u64))
    }

    /// The noise after the key switches of a product of encrypted matrices: a transposition whose
    /// noise is multiplied by the secret, a relinearisation, and a transposition.
    #[must_use]
    pub(crate) fn matrix_product(&self, noise: Noise, primes: usize, switches: usize) -> Noise {
        let first = self.transposed(Noise::ZERO, primes, switches);
        let secret = libm::log2(mean_weight(self.n, self.parties)) + log_binomial(first.degree, 1);
        let multiplied = Noise::new(first.rms_log2 + secret / 2.0, first.degree + 1);
        self.transposed(noise.plus(self.key_switched(multiplied, primes)), primes, switches)
    }

    /// The noise after a key switch with a key whose errors exceed those of one party's by this
    /// factor.
    pub(crate) fn switched_by(&self, noise: Noise, primes: usize, excess_log2: f64) -> Noise {
        noise.with(self.rounding(), 1).with(self.switching[primes] + excess_log2, 1)
    }

    /// The bits that are left before decryption may fail: log2 Q - log2(2 t (peak + 1/2)).
    pub fn budget(&self, noise: Noise, primes: usize) -> f64 {
        self.log_q[primes] - 1.0 - self.t_log2 - log_add(noise.peak_log2, -1.0)
    }

    /// The noise of the scale-invariant product (BFV), before relinearisation: e_1 k_2 + e_2
    /// k_1 + t e_1 e_2 / Q with k = t c(s) / Q, where the second operand has been rounded to the
    /// auxiliary modulus (at least Q / 2) and the triple is rounded at the end.
    #[must_use]
    pub fn scale_invariant_product(&self, a: Noise, b: Noise, primes: usize) -> Noise {
        let b = b.with(self.rounding() + 1.0, 1);
        let k = self.t_log2 + log_add(self.rounding(), -1.0) + self.half_log_n();
        let cross = |e: Noise| e.rms_log2 + k + log_binomial(e.degree, 1) / 2.0;
        let both = self.t_log2 - self.log_q[primes]
            + a.rms_log2
            + b.rms_log2
            + self.half_log_n()
            + log_binomial(a.degree, b.degree) / 2.0;
        let sum = log_add(log_add(cross(a), cross(b)), both);
        self.rounded_triple(Noise::new(sum, a.degree.max(b.degree).saturating_add(1)))
    }

    /// The noise of the product modulo Q (BGV), before relinearisation: t e_1 e_2 + m_1 e_2 + m_2
    /// e_1 and the carry of m_1 m_2, at most N t / 4. e_1 and e_2 may be the same, so that their
    /// own randomness counts like powers of the secret, or conjugates of each other, so that a
    /// coefficient is t |e_1| |e_2|.
    #[must_use]
    pub fn modular_product(&self, a: Noise, b: Noise) -> Noise {
        let root = self.t_log2 + self.half_log_n();
        let powers = log_binomial(a.degree, b.degree) + log_binomial(a.degree.max(1), b.degree.max(1));
        let both = root + a.rms_log2 + b.rms_log2 + powers / 2.0;
        let cross = root - 1.0 + log_add(a.rms_log2, b.rms_log2);
        let carry = self.t_log2 + libm::log2(self.n) - 2.0;
        let common = self.t_log2 + libm::log2(self.n) + a.rms_log2 + b.rms_log2;
        let degree = a.degree.saturating_add(b.degree);
        let mut noise = Noise::new(log_add(log_add(both, cross), carry), degree);
        noise.peak_log2 = log_add(noise.peak_log2, common);
        noise
    }

    /// The number of primes at which to multiply two ciphertexts of this many primes: the fewest
    /// primes that leave a budget within a quarter of a bit of the best possible one. Returns the
    /// primes and the budget of the relinearised product.
    pub(crate) fn plan(
        &self,
        a: (Noise, usize),
        b: (Noise, usize),
        product: impl Fn(&Self, Noise, Noise, usize) -> Noise,
    ) -> (usize, f64) {
        let budgets: Vec<f64> = (1..=a.1.min(b.1))
            .map(|primes| {
                let [a, b] = [a, b].map(|(noise, from)| self.switched(noise, from, primes));
                self.budget(self.key_switched(product(self, a, b, primes), primes), primes)
            })
            .collect();
        let best = budgets.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let index = budgets.iter().position(|&budget| budget >= best - 0.25).unwrap_or(0);
        (index + 1, budgets.get(index).copied().unwrap_or(f64::NEG_INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_agree_with_numbers() {
        for (a, b) in [(0.0, 0.0), (3.0, -2.0), (-1.5, 7.25), (10.0, 10.5)] {
            let expected = (f64::exp2(a) + f64::exp2(b)).log2();
            assert!((log_add(a, b) - expected).abs() < 1e-12);
        }
        assert_eq!(log_add(f64::NEG_INFINITY, 2.0), 2.0);
        for (i, j, c) in [(0, 0, 1.0), (0, 5, 1.0), (1, 1, 2.0), (2, 3, 10.0), (6, 6, 924.0)] {
            assert!((log_binomial(i, j) - f64::log2(c)).abs() < 1e-12, "C({i} + {j}, {i})");
        }
    }
}
