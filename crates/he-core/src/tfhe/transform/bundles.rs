//! Sums of transformed keys times monomials, which select by several bits of a secret at once.

use super::{BLOCK, C, Transform, part};
use crate::error::Result;
use crate::lanes::Quads;

/// exp(i pi j / N) for j < 2N: the values of monomials. Angles beyond pi / 4, whose rounding would
/// turn the values by several units in the last place, are taken from that octant.
pub(in crate::tfhe) fn units(n: usize) -> Vec<(f64, f64)> {
    let angle = |j: usize| std::f64::consts::PI * j as f64 / n as f64;
    let octant = |j: usize| (libm::cos(angle(j)), libm::sin(angle(j)));
    let quadrant = |j: usize| match octant(j.min(n / 2 - j)) {
        (cos, sin) if j > n / 4 => (sin, cos),
        unit => unit,
    };
    let turned = |j: usize| match (j / (n / 2), quadrant(j % (n / 2))) {
        (0, unit) => unit,
        (1, (cos, sin)) => (-sin, cos),
        (2, (cos, sin)) => (-cos, -sin),
        (_, (cos, sin)) => (sin, -cos),
    };
    (0..2 * n).map(turned).collect()
}

/// Bundles of 2^g rows of values by g monomials.
#[derive(Debug)]
pub(in crate::tfhe) struct Bundles {
    /// g.
    group: usize,
    /// The values of X in the order of the transform's: exp(i pi e / N).
    exponents: Vec<usize>,
    units: Vec<(f64, f64)>,
}

impl Bundles {
    pub(in crate::tfhe) fn new(transform: &Transform, group: usize) -> Self {
        let m = transform.m;
        // The last pass leaves value 4j + i of a block at place 4i + j.
        let position = |p: usize| p & !(BLOCK - 1) | (p & 3) << 2 | p >> 2 & 3;
        let reversed = |c: usize| c.reverse_bits() >> (usize::BITS - m.ilog2());
        let exponents = (0..m).map(|p| 1 + 4 * reversed(position(p))).collect();
        Self { group, exponents, units: units(2 * m) }
    }

    /// The words between the keys of two groups of bits, for GGSW ciphertexts of `size` words.
    pub(in crate::tfhe) fn words(&self, size: usize) -> usize {
        size << self.group
    }

    /// The values of X^power for each of the powers: real parts, then imaginary parts.
    #[inline(always)]
    pub(in crate::tfhe) fn monomials(&self, powers: &[usize], out: &mut [f64]) {
        let m = self.exponents.len();
        for (power, out) in powers.iter().zip(out.chunks_exact_mut(2 * m)) {
            let (re, im) = out.split_at_mut(m);
            for ((re, im), exponent) in re.iter_mut().zip(im).zip(&self.exponents) {
                (*re, *im) = self.units[(exponent * power) & (4 * m - 1)];
            }
        }
    }

    /// g.
    pub(in crate::tfhe) fn group(&self) -> usize {
        self.group
    }

    /// The key of a group of bits, whose GGSW ciphertexts, numbered through all groups, `ggsw`
    /// writes [interleaved](Transform::interleave).
    pub(in crate::tfhe) fn fill(
        &self,
        index: usize,
        size: usize,
        key: &mut [f64],
        ggsw: &impl Fn(usize, &mut [f64]) -> Result<()>,
    ) -> Result<()> {
        let mut values = vec![0.0; size];
        for pattern in 0..1 << self.group {
            ggsw((index << self.group) + pattern, &mut values)?;
            self.place(pattern, &values, key);
        }
        Ok(())
    }

    /// Puts the values of one of the 2^g GGSW ciphertexts,
    /// [interleaved](Transform::interleave), to those of the others: `[part][pattern][32]`.
    fn place(&self, pattern: usize, ggsw: &[f64], key: &mut [f64]) {
        let places = key.chunks_exact_mut((2 * BLOCK) << self.group);
        for (place, values) in places.zip(ggsw.chunks_exact(2 * BLOCK)) {
            place[pattern * 2 * BLOCK..][..2 * BLOCK].copy_from_slice(values);
        }
    }

    /// The bundles of one key by as many groups of monomials as there are sums, which are
    /// [interleaved](Transform::interleave); `rows` is the number of rows times components.
    #[inline]
    pub(in crate::tfhe) fn sum<L: Quads>(
        &self,
        l: L,
        key: &[f64],
        rows: usize,
        monomials: &[f64],
        sums: &mut [f64],
    ) {
        l.outlined(
            #[inline(always)]
            |l| match self.group {
                2 => self.sum_here(l, key, rows, monomials, sums, pairs),
                3 => self.sum_here(l, key, rows, monomials, sums, triples),
                _ => self.sum_here(l, key, rows, monomials, sums, fours),
            },
        );
    }

    #[inline(always)]
    fn sum_here<L: Quads>(
        &self,
        l: L,
        key: &[f64],
        rows: usize,
        monomials: &[f64],
        sums: &mut [f64],
        fold: impl Fn(L, &[f64], usize, usize, &[C<L>; 4]) -> C<L>,
    ) {
        let (m, group) = (self.exponents.len(), self.group);
        let size = rows * 2 * m;
        for (index, key) in key.chunks_exact((2 * BLOCK) << group).enumerate() {
            let at = index / rows * BLOCK;
            for (sum, monomials) in sums.chunks_exact_mut(size).zip(monomials.chunks_exact(group * 2 * m)) {
                let (re, im) = sum[index * 2 * BLOCK..][..2 * BLOCK].split_at_mut(BLOCK);
                let (re, im) = (L::split_mut(re), L::split_mut(im));
                for j in 0..BLOCK / (4 * L::QUADS) {
                    let mut x = [(l.splat(0.0), l.splat(0.0)); 4];
                    for (x, monomial) in x.iter_mut().zip(monomials.chunks_exact(2 * m)) {
                        let (re, im) = (part::<L>(monomial, at), part::<L>(monomial, m + at));
                        *x = (l.load(&re[j]), l.load(&im[j]));
                    }
                    let value = fold(l, key, 0, j, &x);
                    l.store(value.0, &mut re[j]);
                    l.store(value.1, &mut im[j]);
                }
            }
        }
    }
}

/// a + x b.
#[inline(always)]
fn add<L: Quads>(l: L, a: C<L>, x: C<L>, b: C<L>) -> C<L> {
    let re = l.neg_mul_add(x.1, b.1, l.mul_add(x.0, b.0, a.0));
    (re, l.mul_add(x.1, b.0, l.mul_add(x.0, b.1, a.1)))
}

/// Register j of the values of a pattern.
#[inline(always)]
fn value<L: Quads>(l: L, key: &[f64], pattern: usize, j: usize) -> C<L> {
    let (re, im) = (part::<L>(key, pattern * 2 * BLOCK), part::<L>(key, pattern * 2 * BLOCK + BLOCK));
    (l.load(&re[j]), l.load(&im[j]))
}

#[inline(always)]
fn singles<L: Quads>(l: L, key: &[f64], first: usize, j: usize, x: &[C<L>; 4]) -> C<L> {
    add(l, value(l, key, first, j), x[0], value(l, key, first + 1, j))
}

#[inline(always)]
fn pairs<L: Quads>(l: L, key: &[f64], first: usize, j: usize, x: &[C<L>; 4]) -> C<L> {
    add(l, singles(l, key, first, j, x), x[1], singles(l, key, first + 2, j, x))
}

#[inline(always)]
fn triples<L: Quads>(l: L, key: &[f64], first: usize, j: usize, x: &[C<L>; 4]) -> C<L> {
    add(l, pairs(l, key, first, j, x), x[2], pairs(l, key, first + 4, j, x))
}

#[inline(always)]
fn fours<L: Quads>(l: L, key: &[f64], first: usize, j: usize, x: &[C<L>; 4]) -> C<L> {
    add(l, triples(l, key, first, j, x), x[3], triples(l, key, first + 8, j, x))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lanes::Portable;
    use crate::tfhe::transform::Ahead;

    /// The values of a monomial are those of its transform, but for rounding.
    #[test]
    fn monomials_have_the_values_of_their_transforms() {
        for log_n in [5, 6, 7, 9, 11] {
            let (n, transform) = (1usize << log_n, Transform::new(log_n));
            let bundles = Bundles::new(&transform, 2);
            let powers = [n / 2 + 3, 2 * n - 1, 0, 1];
            let mut found = vec![0.0; 4 * n];
            bundles.monomials(&powers, &mut found);
            for (power, found) in powers.iter().zip(found.chunks_exact(n)) {
                let mut expected = vec![0.0; n];
                expected[power % n] = if *power < n { 1.0 } else { -1.0 };
                transform.forward(Portable, &mut expected, &mut Ahead::default());
                let near = found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-13);
                assert!(near, "X^{power} modulo X^{n} + 1");
            }
        }
    }
}
