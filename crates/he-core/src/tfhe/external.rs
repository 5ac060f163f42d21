//! External products on the CPU: GLWE ciphertexts times GGSW ones, by the transform.

use super::Gadget;
use super::transform::{Ahead, Transform};
use crate::arith::{ROUND, round_i64};
use crate::lanes::Quads;

/// out <- X^a p - p + offset for 0 <= a < 2N.
#[inline(always)]
pub(super) fn rotate_difference(p: &[u64], a: usize, offset: u64, out: &mut [u64]) {
    let n = p.len();
    let (a, sign) = (a % n, ((a / n) as u64).wrapping_neg());
    // The first a coefficients are negated, and beyond X^N all of them are.
    let (first, second) = out.split_at_mut(a);
    for ((o, &from), &p) in first.iter_mut().zip(&p[n - a..]).zip(p) {
        *o = (from ^ !sign).wrapping_sub(!sign).wrapping_sub(p).wrapping_add(offset);
    }
    for ((o, &from), &p) in second.iter_mut().zip(p).zip(&p[a..]) {
        *o = (from ^ sign).wrapping_sub(sign).wrapping_sub(p).wrapping_add(offset);
    }
}

/// Coefficient `place` of the polynomial of degree `n` that `acc` encrypts: see
/// [`LweOps::blind_rotate`].
pub(super) fn extract(acc: &[u64], place: usize, n: usize, out: &mut [u64]) {
    let (masks, body) = acc.split_at(acc.len() - n);
    extract_mask(masks, place, n, out);
    out[masks.len()] = body[place];
}

/// The mask of that coefficient, from the polynomials of the mask.
pub(super) fn extract_mask(masks: &[u64], place: usize, n: usize, out: &mut [u64]) {
    for (out, a) in out.chunks_exact_mut(n).zip(masks.chunks_exact(n)) {
        let (first, second) = out.split_at_mut(place + 1);
        for (o, a) in first.iter_mut().zip(a[..=place].iter().rev()) {
            *o = *a;
        }
        for (o, a) in second.iter_mut().zip(a.iter().rev()) {
            *o = a.wrapping_neg();
        }
    }
}

/// Products of accumulators of `components` polynomials and transformed rows.
#[derive(Clone, Copy)]
pub(super) struct ExternalProduct<'a> {
    transform: &'a Transform,
    gadget: Gadget,
    components: usize,
}

/// The memory of one thread.
pub(super) struct Scratch {
    words: Vec<u64>,
    digits: Vec<f64>,
    products: Vec<f64>,
}

impl<'a> ExternalProduct<'a> {
    pub(super) fn new(transform: &'a Transform, gadget: Gadget, components: usize) -> Self {
        Self { transform, gadget, components }
    }

    /// The memory for `count` products at a time.
    pub(super) fn scratch(&self, count: usize) -> Scratch {
        let (n, rows) = (self.transform.n(), self.components * self.gadget.levels as usize);
        Scratch {
            words: vec![0; n],
            digits: vec![0.0; count * rows * self.transform.stride()],
            products: vec![0.0; count * self.components * n],
        }
    }

    /// acc <- acc + GGSW x (X^a acc - acc) for each of G accumulators in sequence. Meanwhile `next`
    /// is fetched from memory.
    #[inline(always)]
    pub(super) fn cmux<L: Quads, const G: usize>(
        &self,
        l: L,
        ggsw: &[f64],
        a: [usize; G],
        acc: &mut [u64],
        scratch: &mut Scratch,
        next: &[f64],
    ) {
        let (n, offset) = (self.transform.n(), self.gadget.offset());
        let parts = G * self.components;
        let mut ahead = self.transform.ahead(l, next, parts * self.gadget.levels as usize + parts);
        for (part, acc) in acc.chunks_exact(n).enumerate() {
            rotate_difference(acc, a[part / self.components], offset, &mut scratch.words);
            self.decompose(l, part, scratch, &mut ahead);
        }
        self.add_product::<L, G>(l, parts / G, ggsw, acc, scratch, &mut ahead);
    }

    /// The transforms of the digits of the words of `scratch`, to which the offset was added, as
    /// those of polynomial `part`.
    #[inline(always)]
    fn decompose<L: Quads>(&self, l: L, part: usize, scratch: &mut Scratch, ahead: &mut Ahead<'_>) {
        let (gadget, n, stride) = (self.gadget, self.transform.n(), self.transform.stride());
        let zero = MANTISSA + (1u64 << (gadget.base_log - 1)) as f64;
        let levels = gadget.levels as usize;
        let digits = &mut scratch.digits[part * levels * stride..][..levels * stride];
        for (j, digits) in digits.chunks_exact_mut(stride).enumerate() {
            let digits = &mut digits[..n];
            for (d, &word) in digits.iter_mut().zip(&scratch.words) {
                let digit = gadget.digit(word, j as u32 + 1);
                *d = f64::from_bits(MANTISSA.to_bits() | digit) - zero;
            }
            self.transform.forward(l, digits, ahead);
        }
    }

    /// Adds to each of G accumulators the sum over its `parts` decomposed polynomials of digits
    /// times rows.
    #[inline(always)]
    fn add_product<L: Quads, const G: usize>(
        &self,
        l: L,
        parts: usize,
        rows: &[f64],
        acc: &mut [u64],
        scratch: &mut Scratch,
        ahead: &mut Ahead<'_>,
    ) {
        let (n, stride) = (self.transform.n(), self.transform.stride());
        let digits = &scratch.digits[..G * parts * self.gadget.levels as usize * stride];
        let products = &mut scratch.products[..G * self.components * n];
        self.transform.inner_products::<L, G>(l, digits, rows, products);
        for (acc, product) in acc.chunks_exact_mut(n).zip(products.chunks_exact_mut(n)) {
            self.transform.inverse(l, product, ahead);
            for (a, &p) in acc.iter_mut().zip(&*product) {
                // The fraction in [-1/2, 1/2], exact, then to 52 bits.
                let fraction = p - ((p + ROUND) - ROUND);
                let bits = round_i64(fraction * MANTISSA) as u64;
                *a = a.wrapping_add(bits << 12);
            }
        }
    }

    /// acc <- GGSW x acc. Meanwhile `next` is fetched from memory.
    #[inline(always)]
    pub(super) fn replace<L: Quads>(
        &self,
        l: L,
        ggsw: &[f64],
        acc: &mut [u64],
        scratch: &mut Scratch,
        next: &[f64],
    ) {
        let (n, [even, odd], parts) =
            (self.transform.n(), self.gadget.alternating_offsets(), self.components);
        let mut ahead = self.transform.ahead(l, next, parts * self.gadget.levels as usize + parts);
        for (part, acc) in acc.chunks_exact(n).enumerate() {
            for (words, a) in scratch.words.as_chunks_mut::<2>().0.iter_mut().zip(acc.as_chunks::<2>().0) {
                *words = [a[0].wrapping_add(even), a[1].wrapping_add(odd)];
            }
            self.decompose(l, part, scratch, &mut ahead);
        }
        acc.fill(0);
        self.add_product::<L, 1>(l, parts, ggsw, acc, scratch, &mut ahead);
    }

    /// acc <- acc + sum over the polynomials of digits times rows, a key switch.
    #[inline(always)]
    pub(super) fn switch<'p, L: Quads>(
        &self,
        l: L,
        polynomials: impl ExactSizeIterator<Item = &'p [u64]>,
        rows: &[f64],
        acc: &mut [u64],
        scratch: &mut Scratch,
    ) {
        let (parts, offset, mut ahead) = (polynomials.len(), self.gadget.offset(), Ahead::default());
        for (part, polynomial) in polynomials.enumerate() {
            for (word, p) in scratch.words.iter_mut().zip(polynomial) {
                *word = p.wrapping_add(offset);
            }
            self.decompose(l, part, scratch, &mut ahead);
        }
        self.add_product::<L, 1>(l, parts, rows, acc, scratch, &mut ahead);
    }
}

/// A word below 2^52, put into the mantissa of 2^52, becomes a double without conversion.
const MANTISSA: f64 = 4_503_599_627_370_496.0;

/// Transforms the rows of `components` polynomials that `row` writes: words, centred, times 2^-64 /
/// M, [interleaved](Transform::interleave) in `out`, which has room for all rows.
#[inline(always)]
pub(super) fn prepare<L: Quads>(
    l: L,
    transform: &Transform,
    components: usize,
    row: impl Fn(usize, &mut [u64]),
    out: &mut [f64],
) {
    let n = transform.n();
    let rows = out.len() / (components * n);
    let scale = libm::exp2(-64.0) * 2.0 / n as f64;
    let (mut words, mut values) = (vec![0; components * n], vec![0.0; out.len()]);
    for r in 0..rows {
        row(r, &mut words);
        for (c, words) in words.chunks_exact(n).enumerate() {
            let values = &mut values[(c * rows + r) * n..][..n];
            for (value, &word) in values.iter_mut().zip(words) {
                *value = (word as i64) as f64 * scale;
            }
            transform.forward(l, values, &mut Ahead::default());
        }
    }
    transform.interleave(&values, out);
}
