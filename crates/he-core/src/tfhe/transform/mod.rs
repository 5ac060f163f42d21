//! Products in R[X]/(X^N + 1) by a complex transform of N/2 points in doubles.
//!
//! x_j + i x_(j + M), M = N/2, maps R[X]/(X^N + 1) to C[X]/(X^M - i), which is split M times:
//! X^2s - w^2 = (X^s - w)(X^s + w), so that the twist is part of the roots (as in the negacyclic
//! NTT). Node t of that tree (root 1, children 2t and 2t + 1) has modulus X^s - exp(i a_t),
//! a_1 = pi/2, a_2t = a_t/2, a_(2t+1) = a_t/2 + pi; w_t = exp(i a_t/2), rounded, and w_(2t+1) = i
//! w_2t exactly, rounding included: the bits do not depend on which nodes a pass joins.
//!
//! **Bits.** The operations are fixed: u + w v by two fused multiply-adds per coordinate (real part
//! of the factor first), u - w v as 2u - (u + w v), fused; the inverse by sums, differences and one
//! complex product whose second half is fused. All lanes do the same IEEE operations, so results
//! are bit-exact between implementations, including that of a GPU (`fma.rn.f64`). The product
//! itself is not exact:
//!
//! **Error.** Let u = 2^-53, and roots be correct to 3u. In a butterfly with result norm y, the
//! computed s = u + w v is off by at most u (sqrt(2) y + |s|), and d = 2u - s by that plus u |d|.
//! With the error of the root, a level adds at most (2 + sqrt(3) + 3) u < 7u, relative to the
//! 2-norm (Higham, *Accuracy and Stability of Numerical Algorithms*, ch. 24, with these constants);
//! a level of the inverse adds less. Two forward transforms, products and one inverse have a
//! relative error of at most (21 log2 M + 10) u in the 2-norm: [`relative_error`].
//! [`noise`](super::noise) compares this with the noise.

mod ahead;
mod bundles;

use crate::lanes::Quads;
pub(super) use ahead::Ahead;
pub(super) use bundles::{Bundles, units};

/// The values of a block, between which [`Transform::interleave`] puts those of other rows. A row
/// of the smallest degree is one block.
const BLOCK: usize = 16;

/// The roots of one degree.
#[derive(Debug)]
pub(super) struct Transform {
    /// M = N/2.
    m: usize,
    /// Real and imaginary parts of w_t, t < M; entry 0 is not used.
    w: [Vec<f64>; 2],
    /// The parts of w_2t, t < M/2.
    w_even: [Vec<f64>; 2],
}

/// A bound on the relative error, in the 2-norm, of a product in degree 2^log_n, one of whose
/// factors is a sum by so many steps u + w v.
pub(super) fn relative_error(log_n: u32, steps: usize) -> f64 {
    (21.0 * f64::from(log_n - 1) + 10.0 + 7.0 * steps as f64) * 53f64.exp2().recip()
}

/// w_t for t < m; entry 0 is not used.
pub(super) fn roots(m: usize) -> Vec<(f64, f64)> {
    let mut angle = vec![std::f64::consts::FRAC_PI_2; m];
    for t in 2..m {
        angle[t] = angle[t / 2] / 2.0 + if t % 2 == 1 { std::f64::consts::PI } else { 0.0 };
    }
    let root = |t: usize| (libm::cos(angle[t] / 2.0), libm::sin(angle[t] / 2.0));
    let times_i = |(re, im): (f64, f64)| (-im, re);
    (0..m).map(|t| if t > 1 && t % 2 == 1 { times_i(root(t - 1)) } else { root(t) }).collect()
}

/// Four equal parts.
#[inline(always)]
fn quarters<L: Quads>(_: L, x: &mut [f64]) -> [&mut [L::Memory]; 4] {
    let x = L::split_mut(x);
    let n = x.len() / 4;
    let (x01, x23) = x.split_at_mut(2 * n);
    let (x0, x1) = x01.split_at_mut(n);
    let (x2, x3) = x23.split_at_mut(n);
    [&mut x0[..n], &mut x1[..n], &mut x2[..n], &mut x3[..n]]
}

/// Two equal parts.
#[inline(always)]
fn halves<L: Quads>(_: L, x: &mut [f64]) -> [&mut [L::Memory]; 2] {
    let x = L::split_mut(x);
    let n = x.len() / 2;
    let (x0, x1) = x.split_at_mut(n);
    [&mut x0[..n], &mut x1[..n]]
}

// These are macros, because closures are not guaranteed to be inlined where the instructions of the
// lanes are enabled.

/// A butterfly of two points between the halves of a block, in place.
macro_rules! pairs {
    ($butterfly:ident($l:ident, $w:ident), $re:expr, $im:expr, $ahead:expr) => {{
        let ([r0, r1], [i0, i1]) = (halves($l, $re), halves($l, $im));
        for j in 0..r0.len() {
            $ahead.step($l);
            let u = ($l.load(&r0[j]), $l.load(&i0[j]));
            let v = ($l.load(&r1[j]), $l.load(&i1[j]));
            let (u, v) = $butterfly($l, u, v, $w);
            $l.store(u.0, &mut r0[j]);
            $l.store(u.1, &mut i0[j]);
            $l.store(v.0, &mut r1[j]);
            $l.store(v.1, &mut i1[j]);
        }
    }};
}

/// A butterfly of four points between the quarters of a block, in place.
macro_rules! fours {
    ($butterfly:ident($l:ident, $w:ident, $w_even:ident), $re:expr, $im:expr, $ahead:expr) => {{
        let ([r0, r1, r2, r3], [i0, i1, i2, i3]) = (quarters($l, $re), quarters($l, $im));
        for j in 0..r0.len() {
            $ahead.step($l);
            let a = [
                ($l.load(&r0[j]), $l.load(&i0[j])),
                ($l.load(&r1[j]), $l.load(&i1[j])),
                ($l.load(&r2[j]), $l.load(&i2[j])),
                ($l.load(&r3[j]), $l.load(&i3[j])),
            ];
            let a = $butterfly($l, a, $w, $w_even);
            $l.store(a[0].0, &mut r0[j]);
            $l.store(a[1].0, &mut r1[j]);
            $l.store(a[2].0, &mut r2[j]);
            $l.store(a[3].0, &mut r3[j]);
            $l.store(a[0].1, &mut i0[j]);
            $l.store(a[1].1, &mut i1[j]);
            $l.store(a[2].1, &mut i2[j]);
            $l.store(a[3].1, &mut i3[j]);
        }
    }};
}

/// A complex number in each lane: real and imaginary parts.
type C<L> = (<L as Quads>::V, <L as Quads>::V);

/// (u + w v, u - w v).
#[inline(always)]
fn split<L: Quads>(l: L, u: C<L>, v: C<L>, w: C<L>) -> (C<L>, C<L>) {
    let re = l.neg_mul_add(v.1, w.1, l.mul_add(v.0, w.0, u.0));
    let im = l.mul_add(v.1, w.0, l.mul_add(v.0, w.1, u.1));
    let two = l.splat(2.0);
    ((re, im), (l.mul_sub(two, u.0, re), l.mul_sub(two, u.1, im)))
}

/// (u + i w v, u - i w v).
#[inline(always)]
fn split_i<L: Quads>(l: L, u: C<L>, v: C<L>, w: C<L>) -> (C<L>, C<L>) {
    let re = l.neg_mul_add(v.1, w.0, l.neg_mul_add(v.0, w.1, u.0));
    let im = l.neg_mul_add(v.1, w.1, l.mul_add(v.0, w.0, u.1));
    let two = l.splat(2.0);
    ((re, im), (l.mul_sub(two, u.0, re), l.mul_sub(two, u.1, im)))
}

/// (s + d, (s - d) / w) for |w| = 1.
#[inline(always)]
fn join<L: Quads>(l: L, s: C<L>, d: C<L>, w: C<L>) -> (C<L>, C<L>) {
    let (re, im) = (l.sub(s.0, d.0), l.sub(s.1, d.1));
    let v = (l.mul_add(im, w.1, l.mul(re, w.0)), l.neg_mul_add(re, w.1, l.mul(im, w.0)));
    ((l.add(s.0, d.0), l.add(s.1, d.1)), v)
}

/// (s + d, (s - d) / (i w)) for |w| = 1.
#[inline(always)]
fn join_i<L: Quads>(l: L, s: C<L>, d: C<L>, w: C<L>) -> (C<L>, C<L>) {
    let (re, im) = (l.sub(d.0, s.0), l.sub(s.1, d.1));
    // (x + i y) / (i w) with x = -re: the real part is -x w_im + y w_re, the imaginary one -x
    // w_re - y w_im; rounded as in `join` by i w.
    let v = (l.mul_add(im, w.0, l.mul(re, w.1)), l.mul_sub(re, w.0, l.mul(im, w.1)));
    ((l.add(s.0, d.0), l.add(s.1, d.1)), v)
}

#[inline(always)]
fn split4<L: Quads>(l: L, [a, b, c, d]: [C<L>; 4], w: C<L>, w_even: C<L>) -> [C<L>; 4] {
    let ((a, c), (b, d)) = (split(l, a, c, w), split(l, b, d, w));
    let ((a, b), (c, d)) = (split(l, a, b, w_even), split_i(l, c, d, w_even));
    [a, b, c, d]
}

#[inline(always)]
fn join4<L: Quads>(l: L, [a, b, c, d]: [C<L>; 4], w: C<L>, w_even: C<L>) -> [C<L>; 4] {
    let ((a, b), (c, d)) = (join(l, a, b, w_even), join_i(l, c, d, w_even));
    let ((a, c), (b, d)) = (join(l, a, c, w), join(l, b, d, w));
    [a, b, c, d]
}

/// Four quads of real and of imaginary parts, of as many blocks of 16 as there are quads in a
/// register.
#[inline(always)]
fn load4<L: Quads>(l: L, re: &[f64], im: &[f64]) -> [C<L>; 4] {
    let ((re, _), (im, _)) = (re.as_chunks::<4>(), im.as_chunks::<4>());
    [
        (l.load_apart(re, 4), l.load_apart(im, 4)),
        (l.load_apart(&re[1..], 4), l.load_apart(&im[1..], 4)),
        (l.load_apart(&re[2..], 4), l.load_apart(&im[2..], 4)),
        (l.load_apart(&re[3..], 4), l.load_apart(&im[3..], 4)),
    ]
}

#[inline(always)]
fn store4<L: Quads>(l: L, x: [C<L>; 4], re: &mut [f64], im: &mut [f64]) {
    let ((re, _), (im, _)) = (re.as_chunks_mut::<4>(), im.as_chunks_mut::<4>());
    for (i, x) in x.into_iter().enumerate() {
        l.store_apart(x.0, &mut re[i..], 4);
        l.store_apart(x.1, &mut im[i..], 4);
    }
}

/// A block from word `at` on, as registers.
#[inline(always)]
fn part<L: Quads>(x: &[f64], at: usize) -> &[L::Memory] {
    L::split(&x[at..at + BLOCK])
}

/// Element i, lane j becomes element j, lane i.
#[inline(always)]
fn transpose<L: Quads>(l: L, x: [C<L>; 4]) -> [C<L>; 4] {
    let re = l.transpose([x[0].0, x[1].0, x[2].0, x[3].0]);
    let im = l.transpose([x[0].1, x[1].1, x[2].1, x[3].1]);
    [(re[0], im[0]), (re[1], im[1]), (re[2], im[2]), (re[3], im[3])]
}

impl Transform {
    /// The smallest degree: 2^5.
    pub(super) const MIN_LOG_N: u32 = 5;

    /// Makes the transform for degree 2^log_n.
    pub(super) fn new(log_n: u32) -> Self {
        assert!(log_n >= Self::MIN_LOG_N, "degrees are checked by the parameters");
        let m = 1usize << (log_n - 1);
        let w = roots(m);
        let even = || (0..m / 2).map(|t| w[2 * t]);
        Self {
            m,
            w: [w.iter().map(|w| w.0).collect(), w.iter().map(|w| w.1).collect()],
            w_even: [even().map(|w| w.0).collect(), even().map(|w| w.1).collect()],
        }
    }

    /// N.
    pub(super) fn n(&self) -> usize {
        2 * self.m
    }

    #[inline(always)]
    fn root<L: Quads>(&self, l: L, t: usize) -> C<L> {
        (l.splat(self.w[0][t]), l.splat(self.w[1][t]))
    }

    /// The roots of a node per quad, from node t on, or of their even children.
    #[inline(always)]
    fn root_each<L: Quads>(l: L, w: &[Vec<f64>; 2], t: usize) -> C<L> {
        (l.splat_each(&w[0][t..t + L::QUADS]), l.splat_each(&w[1][t..t + L::QUADS]))
    }

    /// The roots of a node per lane, from the nodes of this quad on.
    #[inline(always)]
    fn roots<L: Quads>(l: L, w: &[Vec<f64>; 2], quad: usize) -> C<L> {
        let (re, im) = (&w[0].as_chunks::<4>().0[quad..], &w[1].as_chunks::<4>().0[quad..]);
        (l.load_apart(re, 1), l.load_apart(im, 1))
    }

    /// Whether the last passes, over blocks of 16, have as many blocks as there are quads in the
    /// widest register.
    pub(super) fn is_wide(&self) -> bool {
        self.m >= 32
    }

    /// Prefetches `memory` while this many transforms run.
    pub(super) fn ahead<'a, L: Quads>(&self, _: L, memory: &'a [f64], transforms: usize) -> Ahead<'a> {
        // Butterflies of four points in all lanes, in every pass but the last, which is combined
        // with the one before it.
        let steps = (self.m.ilog2() as usize / 2 - 1) * (self.m / 16) / L::QUADS;
        Ahead::new(memory, steps * transforms)
    }

    /// Transforms coefficients to values. On both sides, the first M words of x are real parts and
    /// the others imaginary parts. The order of the values within 16 is that of the last pass.
    #[inline]
    pub(super) fn forward<L: Quads>(&self, l: L, x: &mut [f64], ahead: &mut Ahead<'_>) {
        l.outlined(
            #[inline(always)]
            |l| self.forward_here(l, x, ahead),
        );
    }

    #[inline(always)]
    fn forward_here<L: Quads>(&self, l: L, x: &mut [f64], ahead: &mut Ahead<'_>) {
        let m = self.m;
        let (re, im) = x.split_at_mut(m);
        let mut nodes = 1;
        if m.ilog2() % 2 == 1 {
            let w = self.root(l, 1);
            pairs!(split(l, w), re, im, ahead);
            nodes = 2;
        }
        while m / nodes > 16 {
            let size = m / nodes;
            for (b, (re, im)) in re.chunks_exact_mut(size).zip(im.chunks_exact_mut(size)).enumerate() {
                let t = nodes + b;
                let (w, w_even) = (self.root(l, t), self.root(l, 2 * t));
                fours!(split4(l, w, w_even), re, im, ahead);
            }
            nodes *= 4;
        }
        // The last two passes: blocks of 16, one per quad, and their four blocks of four, block by
        // block in the lanes.
        let blocks = 16 * L::QUADS;
        for (b, (re, im)) in re.chunks_exact_mut(blocks).zip(im.chunks_exact_mut(blocks)).enumerate() {
            ahead.step(l);
            let t = m / 16 + b * L::QUADS;
            let x = load4(l, re, im);
            let x = split4(l, x, Self::root_each(l, &self.w, t), Self::root_each(l, &self.w_even, t));
            let x = transpose(l, x);
            let x = split4(l, x, Self::roots(l, &self.w, t), Self::roots(l, &self.w_even, t));
            store4(l, x, re, im);
        }
    }

    /// Transforms values to coefficients times M.
    #[inline]
    pub(super) fn inverse<L: Quads>(&self, l: L, x: &mut [f64], ahead: &mut Ahead<'_>) {
        l.outlined(
            #[inline(always)]
            |l| self.inverse_here(l, x, ahead),
        );
    }

    #[inline(always)]
    fn inverse_here<L: Quads>(&self, l: L, x: &mut [f64], ahead: &mut Ahead<'_>) {
        let m = self.m;
        let (re, im) = x.split_at_mut(m);
        let blocks = 16 * L::QUADS;
        for (b, (re, im)) in re.chunks_exact_mut(blocks).zip(im.chunks_exact_mut(blocks)).enumerate() {
            ahead.step(l);
            let t = m / 16 + b * L::QUADS;
            let x = load4(l, re, im);
            let x = join4(l, x, Self::roots(l, &self.w, t), Self::roots(l, &self.w_even, t));
            let x = transpose(l, x);
            let x = join4(l, x, Self::root_each(l, &self.w, t), Self::root_each(l, &self.w_even, t));
            store4(l, x, re, im);
        }
        let mut nodes = m / 16;
        while nodes >= 4 {
            nodes /= 4;
            let size = m / nodes;
            for (b, (re, im)) in re.chunks_exact_mut(size).zip(im.chunks_exact_mut(size)).enumerate() {
                let t = nodes + b;
                let (w, w_even) = (self.root(l, t), self.root(l, 2 * t));
                fours!(join4(l, w, w_even), re, im, ahead);
            }
        }
        if nodes == 2 {
            let w = self.root(l, 1);
            pairs!(join(l, w), re, im, ahead);
        }
    }

    /// The words between the beginnings of rows of values in sequence. If these were a multiple of
    /// 4 KiB apart, equal places of all rows would share a set of the cache, which holds too few.
    pub(super) fn stride(&self) -> usize {
        self.n() + BLOCK
    }

    /// Values `[component][row]` in the order in which [`inner_products`](Self::inner_products)
    /// reads them: `[block][component][row][part][16]`.
    pub(super) fn interleave(&self, rows: &[f64], out: &mut [f64]) {
        let count = rows.len() / self.n();
        for (r, row) in rows.chunks_exact(self.n()).enumerate() {
            let (re, im) = row.split_at(self.m);
            for (j, (re, im)) in re.chunks_exact(BLOCK).zip(im.chunks_exact(BLOCK)).enumerate() {
                let (out_re, out_im) = out[(j * count + r) * 2 * BLOCK..][..2 * BLOCK].split_at_mut(BLOCK);
                out_re.copy_from_slice(re);
                out_im.copy_from_slice(im);
            }
        }
    }

    /// sum over rows of x_row y_row per component, in values, for each of G vectors x of rows. They
    /// share the reads of y. `x` holds rows that are a [stride](Self::stride) apart, `y` is
    /// [interleaved](Self::interleave), and `out`, components in sequence per x, is overwritten.
    #[inline]
    pub(super) fn inner_products<L: Quads, const G: usize>(
        &self,
        l: L,
        x: &[f64],
        y: &[f64],
        out: &mut [f64],
    ) {
        l.outlined(
            #[inline(always)]
            |l| self.inner_products_here::<L, G>(l, x, y, out),
        );
    }

    #[inline(always)]
    fn inner_products_here<L: Quads, const G: usize>(&self, l: L, x: &[f64], y: &[f64], out: &mut [f64]) {
        let (n, stride) = (self.n(), self.stride());
        let (x_len, out_len) = (x.len() / G, out.len() / G);
        let (rows, components) = (x_len / stride, out_len / n);
        // A block of x stays in the first cache while all components read it.
        for (index, y) in y.chunks_exact(rows * 2 * BLOCK).enumerate() {
            let (block, component) = (index / components, index % components);
            let at = block * BLOCK;
            // Two registers at a time: their sums do not wait for each other.
            for j in (0..BLOCK / (4 * L::QUADS)).step_by(2) {
                let mut sums = [[(l.splat(0.0), l.splat(0.0)); 2]; G];
                for (row, y) in y.chunks_exact(2 * BLOCK).enumerate() {
                    let (y_re, y_im) = (part::<L>(y, 0), part::<L>(y, BLOCK));
                    let b =
                        [(l.load(&y_re[j]), l.load(&y_im[j])), (l.load(&y_re[j + 1]), l.load(&y_im[j + 1]))];
                    for (g, sums) in sums.iter_mut().enumerate() {
                        let x = &x[g * x_len + row * stride..][..n];
                        let (x_re, x_im) = (part::<L>(x, at), part::<L>(x, self.m + at));
                        for (i, sum) in sums.iter_mut().enumerate() {
                            let a = (l.load(&x_re[j + i]), l.load(&x_im[j + i]));
                            sum.0 = l.neg_mul_add(a.1, b[i].1, l.mul_add(a.0, b[i].0, sum.0));
                            sum.1 = l.mul_add(a.1, b[i].0, l.mul_add(a.0, b[i].1, sum.1));
                        }
                    }
                }
                for (g, sums) in sums.iter().enumerate() {
                    let (re, im) = out[g * out_len + component * n..][..n].split_at_mut(self.m);
                    let (re, im) =
                        (L::split_mut(&mut re[at..at + BLOCK]), L::split_mut(&mut im[at..at + BLOCK]));
                    for (i, sum) in sums.iter().enumerate() {
                        l.store(sum.0, &mut re[j + i]);
                        l.store(sum.1, &mut im[j + i]);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_arch = "aarch64")]
    use crate::lanes::Neon;
    use crate::lanes::Portable;
    #[cfg(target_arch = "x86_64")]
    use crate::lanes::{Avx2, Avx512, Lanes};
    use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

    fn random(rng: &mut ChaCha20Rng, n: usize, bits: u32) -> Vec<i64> {
        (0..n).map(|_| rng.next_u64() as i64 >> (64 - bits)).collect()
    }

    fn doubles(x: &[i64]) -> Vec<f64> {
        x.iter().map(|&x| x as f64).collect()
    }

    fn product<L: Quads>(t: &Transform, l: L, x: &[i64], y: &[i64]) -> Vec<f64> {
        let (mut x, mut y, mut rows, mut z) = (doubles(x), doubles(y), doubles(y), vec![0.0; x.len()]);
        t.forward(l, &mut x, &mut t.ahead(l, &rows, 3));
        x.resize(t.stride(), f64::NAN);
        t.forward(l, &mut y, &mut Ahead::default());
        t.interleave(&y, &mut rows);
        t.inner_products::<_, 1>(l, &x, &rows, &mut z);
        t.inverse(l, &mut z, &mut Ahead::default());
        z.iter().map(|z| z / t.m as f64).collect()
    }

    /// Follows the definition of the product modulo X^N + 1.
    fn schoolbook(x: &[i64], y: &[i64]) -> Vec<i128> {
        let n = x.len();
        let mut z = vec![0i128; n];
        for (i, &x) in x.iter().enumerate() {
            for (j, &y) in y.iter().enumerate() {
                let term = i128::from(x) * i128::from(y);
                if i + j < n { z[i + j] += term } else { z[i + j - n] -= term }
            }
        }
        z
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "nothing is secret")]
    fn products_are_within_the_bound() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for log_n in 5..=11 {
            let (n, t) = (1 << log_n, Transform::new(log_n));
            let (x, y) = (random(&mut rng, n, 24), random(&mut rng, n, 50));
            let expected = schoolbook(&x, &y);
            let got = product(&t, Portable, &x, &y);
            let norm = |x: &[i64]| x.iter().map(|&x| (x as f64).powi(2)).sum::<f64>().sqrt();
            let error = got.iter().zip(&expected).map(|(g, &e)| (g - e as f64).powi(2)).sum::<f64>().sqrt();
            // The largest magnitude of the values is at most sqrt(N) times the norm of x.
            let bound = relative_error(log_n, 0) * norm(&x) * (n as f64).sqrt() * norm(&y);
            assert!(error <= bound, "N = 2^{log_n}: {error} > {bound}");
            // Small products are exact after rounding.
            let (x, y) = (random(&mut rng, n, 1), random(&mut rng, n, 32));
            let exact = schoolbook(&x, &y);
            assert!(product(&t, Portable, &x, &y).iter().zip(&exact).all(|(g, &e)| g.round() as i128 == e));
        }
    }

    /// The product by each of the lanes of this processor but the portable ones.
    #[cfg(target_arch = "x86_64")]
    fn vector(t: &Transform, x: &[i64], y: &[i64]) -> Vec<Vec<f64>> {
        let narrow = Avx2::detect().map(|simd| simd.run(|l| product(t, l, x, y)));
        let wide = Avx512::detect().filter(|_| t.is_wide()).map(|simd| simd.run(|l| product(t, l, x, y)));
        narrow.into_iter().chain(wide).collect()
    }

    #[cfg(target_arch = "aarch64")]
    fn vector(t: &Transform, x: &[i64], y: &[i64]) -> Vec<Vec<f64>> {
        vec![product(t, Neon, x, y)]
    }

    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    #[test]
    fn lanes_agree_bit_for_bit() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        for log_n in 5..=12 {
            let (n, t) = (1 << log_n, Transform::new(log_n));
            let (x, y) = (random(&mut rng, n, 24), random(&mut rng, n, 63));
            let scalar = product(&t, Portable, &x, &y);
            let vector = vector(&t, &x, &y);
            if vector.is_empty() {
                eprintln!("SKIPPED: this processor has none of the vector instructions");
            }
            for vector in vector {
                let same = vector.iter().zip(&scalar).all(|(v, s)| v.to_bits() == s.to_bits());
                assert!(same, "N = 2^{log_n}");
            }
        }
    }
}
