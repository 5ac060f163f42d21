//! Keys, encryption, and arithmetic on ciphertexts.

use super::IntPoly;
use super::ring::{QuotientRing, divide_round};
use num_bigint::BigInt;
use num_traits::One;

/// A key or a ciphertext: two polynomials of a ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Their ring.
    pub ring: QuotientRing,
    /// b or c0.
    pub c0: IntPoly,
    /// a or c1.
    pub c1: IntPoly,
}

/// A product before relinearisation: d0 + d1 s + d2 s^2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triple {
    /// Their ring.
    pub ring: QuotientRing,
    /// d0, d1, d2.
    pub d: [IntPoly; 3],
}

/// The scheme with top modulus q and special modulus P, both arbitrary.
#[derive(Clone, Debug)]
pub struct Scheme {
    /// The ring of fresh ciphertexts.
    pub q: QuotientRing,
    /// The special modulus.
    pub p: BigInt,
}

impl Scheme {
    /// q = 2^log_q, P = 2^log_p.
    pub fn new(n: usize, log_q: u32, log_p: u32) -> Self {
        Self { q: QuotientRing::power_of_two(n, log_q), p: BigInt::one() << log_p }
    }

    /// Modulo q P.
    pub fn key_ring(&self) -> QuotientRing {
        self.q.with_modulus(self.q.modulus() * &self.p)
    }

    /// pk = (-a s + e, a) modulo q.
    pub fn public_key(&self, s: &[BigInt], a: &[BigInt], e: &[BigInt]) -> Pair {
        let ring = self.q.clone();
        Pair { c0: ring.sub(e, &ring.mul(a, s)), c1: ring.reduce(a), ring }
    }

    /// swk = (-a s + e + P factor t, a) modulo q P, for t under s: the evaluation key with t = s^2,
    /// a Galois key with t = s(X^g). The factor is 1 for the one digit of the paper, 2^(j w) for
    /// digit j.
    pub fn switching_key(
        &self,
        s: &[BigInt],
        t: &[BigInt],
        factor: &BigInt,
        a: &[BigInt],
        e: &[BigInt],
    ) -> Pair {
        let ring = self.key_ring();
        let masked = ring.sub(e, &ring.mul(a, s));
        Pair { c0: ring.add(&masked, &ring.scale(t, &(&self.p * factor))), c1: ring.reduce(a), ring }
    }

    /// (v b + e0 + m, v a + e1) modulo q.
    pub fn encrypt(&self, key: &Pair, m: &[BigInt], v: &[BigInt], e: [&[BigInt]; 2]) -> Pair {
        let ring = self.q.clone();
        let part = |key: &[BigInt], e: &[BigInt]| ring.add(&ring.mul(v, key), e);
        Pair { c0: ring.add(&part(&key.c0, e[0]), m), c1: part(&key.c1, e[1]), ring }
    }

    /// c0 + c1 s.
    pub fn decrypt(&self, ct: &Pair, s: &[BigInt]) -> IntPoly {
        ct.ring.add(&ct.c0, &ct.ring.mul(&ct.c1, s))
    }

    /// The sum of two ciphertexts of one modulus.
    pub fn add(&self, x: &Pair, y: &Pair) -> Pair {
        let ring = x.ring.clone();
        Pair { c0: ring.add(&x.c0, &y.c0), c1: ring.add(&x.c1, &y.c1), ring }
    }

    /// (x0 y0, x0 y1 + x1 y0, x1 y1).
    pub fn multiply(&self, x: &Pair, y: &Pair) -> Triple {
        let ring = x.ring.clone();
        let middle = ring.add(&ring.mul(&x.c0, &y.c1), &ring.mul(&x.c1, &y.c0));
        Triple { d: [ring.mul(&x.c0, &y.c0), middle, ring.mul(&x.c1, &y.c1)], ring }
    }

    /// round(P^-1 c swk) of the paper, and with digits of w bits round(P^-1 sum_j d_j swk_j); in
    /// the ring of c.
    pub fn switch(&self, ring: &QuotientRing, c: &[BigInt], keys: &[Pair], w: u32) -> Pair {
        let extended = ring.with_modulus(ring.modulus() * &self.p);
        let digits = if keys.len() == 1 { vec![c.to_vec()] } else { ring.digits(c, w) };
        let zero = || vec![BigInt::ZERO; ring.n()];
        let mut sum = [zero(), zero()];
        for (digit, key) in digits.iter().zip(keys) {
            for (sum, part) in sum.iter_mut().zip([&key.c0, &key.c1]) {
                *sum = extended.add(sum, &extended.mul(digit, part));
            }
        }
        let [c0, c1] = sum.map(|sum| ring.divide_round(&sum, &self.p));
        Pair { ring: ring.clone(), c0, c1 }
    }

    /// (d0, d1) + round(P^-1 d2 evk).
    pub fn relinearise(&self, product: &Triple, keys: &[Pair], w: u32) -> Pair {
        let ring = &product.ring;
        let [d0, d1, d2] = &product.d;
        let switched = self.switch(ring, d2, keys, w);
        Pair { c0: ring.add(d0, &switched.c0), c1: ring.add(d1, &switched.c1), ring: ring.clone() }
    }

    /// round(q'/q c) modulo q', for any smaller q'.
    pub fn rescale(&self, ct: &Pair, to: &BigInt) -> Pair {
        let ring = ct.ring.with_modulus(to.clone());
        let scale = |c: &[BigInt]| {
            ring.reduce(&c.iter().map(|x| divide_round(&(x * to), ct.ring.modulus())).collect::<Vec<_>>())
        };
        Pair { c0: scale(&ct.c0), c1: scale(&ct.c1), ring }
    }

    /// c modulo a divisor q' of q.
    pub fn drop_to(&self, ct: &Pair, to: &BigInt) -> Pair {
        let ring = ct.ring.with_modulus(to.clone());
        Pair { c0: ring.reduce(&ct.c0), c1: ring.reduce(&ct.c1), ring }
    }

    /// (c0(X^g), 0) + round(P^-1 c1(X^g) swk) with the key for s(X^g): g = 5^r rotates by r,
    /// g = 2N - 1 conjugates.
    pub fn apply_automorphism(&self, ct: &Pair, g: u64, keys: &[Pair], w: u32) -> Pair {
        let ring = &ct.ring;
        let switched = self.switch(ring, &ring.automorphism(&ct.c1, g), keys, w);
        Pair { c0: ring.add(&ring.automorphism(&ct.c0, g), &switched.c0), ..switched }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Embedding, gaussian, hamming_weight, plain_rounding, sparse_ternary};
    use super::*;
    use num_complex::Complex64;
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// The scheme computes correctly for moduli that are not powers of two: an odd q and an odd P.
    #[test]
    fn any_modulus_computes() {
        let n = 16;
        let embedding = Embedding::new(n);
        for seed in 0..5 {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let rng = &mut rng;
            let step = BigInt::from(3u8).pow(20) * 2u8 + 1u8; // about 2^32.7
            let base = BigInt::from(5u8).pow(17);
            let q: BigInt = &step * &base;
            let scheme = Scheme { p: &q * 7u8 + 2u8, q: QuotientRing::new(n, q) };
            let s = hamming_weight(n, 6, rng);
            let error = |rng: &mut ChaCha20Rng| gaussian(n, 3.2, rng);
            let pk = scheme.public_key(&s, &scheme.q.uniform(rng), &error(rng));
            let one = BigInt::one();
            let square = scheme.q.mul(&s, &s);
            let evk = scheme.switching_key(&s, &square, &one, &scheme.key_ring().uniform(rng), &error(rng));
            let rotated = scheme.q.automorphism(&s, 5);
            let rot = scheme.switching_key(&s, &rotated, &one, &scheme.key_ring().uniform(rng), &error(rng));
            let scale = 3f64.powi(20) * 2.0 + 1.0;
            let mut encrypt = |z: &[Complex64]| {
                let m = plain_rounding(&embedding.project(&embedding.pi_inverse(z), scale));
                let (v, e0, e1) = (sparse_ternary(n, 0.5, rng), error(rng), error(rng));
                scheme.encrypt(&pk, &m, &v, [&e0, &e1])
            };
            let mut random = ChaCha20Rng::seed_from_u64(100 + seed);
            let mut slots = || -> Vec<Complex64> {
                (0..n / 2)
                    .map(|_| Complex64::new(random.random_range(-1.0..1.0), random.random_range(-1.0..1.0)))
                    .collect()
            };
            let (x, y) = (slots(), slots());
            let (cx, cy) = (encrypt(&x), encrypt(&y));
            let decode = |ct: &Pair| embedding.pi(&embedding.sigma(&scheme.decrypt(ct, &s), scale));
            let near = |ct: &Pair, expected: Vec<Complex64>| {
                for (a, b) in decode(ct).iter().zip(&expected) {
                    assert!((a - b).norm() < 1e-5, "seed {seed}: {a} {b}");
                }
            };
            near(&cx, x.clone());
            near(&scheme.add(&cx, &cy), x.iter().zip(&y).map(|(x, y)| x + y).collect());
            let product = scheme.relinearise(&scheme.multiply(&cx, &cy), std::slice::from_ref(&evk), 0);
            near(&scheme.rescale(&product, &base), x.iter().zip(&y).map(|(x, y)| x * y).collect());
            let turned = scheme.apply_automorphism(&cx, 5, std::slice::from_ref(&rot), 0);
            near(&turned, (0..n / 2).map(|i| x[(i + 1) % (n / 2)]).collect());
            near(&scheme.drop_to(&cx, &base), x.clone());
        }
    }
}
