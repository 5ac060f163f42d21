//! Exact conversion of a residue representation from one set of primes to another.

use crate::arith::{Modulus, ShoupFactor, mul_wide, round_i64};
use crate::secret_words::SecretWords;

/// Constants that carry x mod D, D = d_1 ... d_k, taken in `[-D/2, D/2)`, to x mod t for each
/// target prime t.
///
/// With y_i = x_i (D/d_i)^-1 mod d_i: x = sum_i y_i (D/d_i) - v D, where v = round(sum_i y_i / d_i)
/// (Halevi, Polyakov, Shoup 2019, section 2). The sum is taken in float64, term by term, without
/// contraction, so that every back end finds the same v. It is exact unless x lies within about k
/// 2^-52 D of +-D/2, where the neighbouring representative x -+ D may be taken instead. This is
/// harmless for ModUp and ModDown, where both are valid.
#[derive(Debug, Clone)]
pub struct BaseConversion {
    from: Vec<Modulus>,
    to: Vec<Modulus>,
    /// (D/d_i)^-1 mod d_i.
    hat_inverse: Vec<ShoupFactor>,
    /// 1 / d_i.
    reciprocal: Vec<f64>,
    /// D/d_i mod t_j at j k + i.
    hat: Vec<u64>,
    /// -D mod t_j.
    minus_product: Vec<u64>,
}

impl BaseConversion {
    /// Computes the constants; the primes of `from` must be distinct.
    pub fn new(from: &[Modulus], to: &[Modulus]) -> Self {
        let product_but = |skip: Option<usize>, m: &Modulus| {
            m.product_of(from.iter().enumerate().filter(|(i, _)| Some(*i) != skip).map(|(_, d)| d))
        };
        Self {
            from: from.to_vec(),
            to: to.to_vec(),
            hat_inverse: from
                .iter()
                .enumerate()
                .map(|(i, d)| d.shoup(d.inv(product_but(Some(i), d))))
                .collect(),
            reciprocal: from.iter().map(|d| 1.0 / d.value() as f64).collect(),
            hat: to
                .iter()
                .flat_map(|t| (0..from.len()).map(move |i| (t, i)))
                .map(|(t, i)| product_but(Some(i), t))
                .collect(),
            minus_product: to.iter().map(|t| t.neg(product_but(None, t))).collect(),
        }
    }

    /// The source primes.
    pub fn from(&self) -> &[Modulus] {
        &self.from
    }

    /// The target primes.
    pub fn to(&self) -> &[Modulus] {
        &self.to
    }

    /// (D/d_i)^-1 mod d_i.
    pub fn hat_inverse(&self) -> &[ShoupFactor] {
        &self.hat_inverse
    }

    /// 1 / d_i rounded to nearest.
    pub fn reciprocal(&self) -> &[f64] {
        &self.reciprocal
    }

    /// D/d_i mod t_j for all i.
    pub fn hat(&self, j: usize) -> &[u64] {
        &self.hat[j * self.from.len()..][..self.from.len()]
    }

    /// -D mod t_j.
    pub fn minus_product(&self, j: usize) -> u64 {
        self.minus_product[j]
    }

    /// The first half, for one polynomial: residues `x[i][k]` (k rows of n words, read at `row(i)`)
    /// to the y_i, which are written to `y` row by row, and the v, which are written to `overflow`.
    /// Constant time.
    pub fn decompose<'a>(&self, row: impl Fn(usize) -> &'a [u64], y: &mut [u64], overflow: &mut [u64]) {
        let n = overflow.len();
        let mut sum = SecretWords::<f64>::zeros(n);
        for (i, out) in y.chunks_exact_mut(n).enumerate() {
            let (d, w, reciprocal) = (&self.from[i], self.hat_inverse[i], self.reciprocal[i]);
            for ((out, &x), sum) in out.iter_mut().zip(row(i)).zip(sum.iter_mut()) {
                *out = d.mul_shoup(x, w);
                *sum += *out as f64 * reciprocal;
            }
        }
        for (v, &sum) in overflow.iter_mut().zip(sum.iter()) {
            *v = round_i64(sum) as u64;
        }
    }

    /// The second half: computes residues modulo the target prime j. Constant time.
    pub fn recompose(&self, j: usize, y: &[u64], overflow: &[u64], out: &mut [u64]) {
        let n = overflow.len();
        let (t, hat, minus) = (&self.to[j], self.hat(j), self.minus_product[j]);
        if let [d] = self.from.as_slice() {
            // y = x, and v is 0 or 1.
            let wide = d.value() > t.value();
            for ((out, &x), &v) in out.iter_mut().zip(y).zip(overflow) {
                let x = if wide { t.reduce(x) } else { x };
                *out = t.add(x, minus & v.wrapping_neg());
            }
            return;
        }
        for (k, (out, &v)) in out.iter_mut().zip(overflow).enumerate() {
            // At most 64 products below 2^122, and one below 2^68.
            let mut sum = mul_wide(v, minus);
            for (i, &h) in hat.iter().enumerate() {
                sum += mul_wide(y[i * n + k], h);
            }
            *out = t.reduce_u128(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::ntt_primes_below;
    use num_bigint::{BigInt, BigUint};
    use num_traits::{One, ToPrimitive, Zero};
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// Composes, centres and reduces with big integers; this includes the edges +-D/2, where either
    /// neighbour is correct.
    #[test]
    fn agrees_with_big_integers() {
        let seed = 3;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        for (count, bits) in [(1, 61), (1, 20), (2, 50), (3, 40), (7, 61), (18, 50), (64, 61)] {
            let primes = ntt_primes_below(bits, 2, count + 4, &[]);
            let Ok(primes) = primes else { panic!("{count} primes of {bits} bits") };
            let from: Vec<_> = primes[..count].iter().map(|&q| Modulus::new(q).unwrap()).collect();
            let mut to: Vec<_> = primes[count..].iter().map(|&q| Modulus::new(q).unwrap()).collect();
            to.extend([17, 97, 65537, (1 << 61) - 1].map(|q| Modulus::new(q).unwrap()));
            to.push(from[0]);
            let conversion = BaseConversion::new(&from, &to);
            let product: BigUint = from.iter().map(|m| BigUint::from(m.value())).product();
            let half = &product >> 1u32;
            let mut inputs: Vec<BigUint> = vec![BigUint::zero(), BigUint::one(), &product - 1u32];
            for _ in 0..29 {
                let words: Vec<u32> = (0..2 * count).map(|_| rng.random()).collect();
                inputs.push(BigUint::new(words) % &product);
            }
            let edge = inputs.len();
            inputs.extend([half.clone(), &half + 1u32]);
            let n = inputs.len();
            let rows: Vec<Vec<u64>> = from
                .iter()
                .map(|m| inputs.iter().map(|x| (x % m.value()).to_u64().unwrap()).collect())
                .collect();
            let (mut y, mut v) = (vec![0; n * count], vec![0; n]);
            conversion.decompose(|i| &rows[i], &mut y, &mut v);
            for (j, t) in to.iter().enumerate() {
                let mut out = vec![0; n];
                conversion.recompose(j, &y, &v, &mut out);
                for (k, x) in inputs.iter().enumerate() {
                    let reduce = |x: &BigInt| {
                        let t = BigInt::from(t.value());
                        (((x % &t) + &t) % &t).to_u64().unwrap()
                    };
                    let low = BigInt::from(x.clone());
                    let high = &low - BigInt::from(product.clone());
                    let candidates = [reduce(&low), reduce(&high)];
                    let expected = candidates[usize::from(*x > half)];
                    if k >= edge {
                        assert!(
                            candidates.contains(&out[k]),
                            "edge {k}, {count} x {bits} bits to {}",
                            t.value()
                        );
                    } else {
                        assert_eq!(
                            out[k],
                            expected,
                            "seed {seed}, input {k}, {count} x {bits} bits to {}",
                            t.value()
                        );
                    }
                }
            }
        }
    }
}
