//! The transforms: two levels a pass, the first ones over all words, then each block that fits the first cache to its end. Words become doubles in
//! the first pass, and are words again after the last one, which takes 16 words in registers through four levels.
//!
//! Node k of the tree of butterflies multiplies by root k; its children are 2 k and 2 k + 1.

use super::field::Field;
use super::is_narrow;
use crate::lanes::Lanes;
use crate::ring::NttTable;

/// Whether the table is for this transform.
pub(super) fn is_fit(table: &NttTable) -> bool {
    table.log_n() >= 5 && is_narrow(table.modulus())
}

/// Words of a block whose levels are done one after the other: 16 KiB.
const BLOCK: usize = 1 << 11;

type Quads<'a> = &'a mut [[u64; 4]];

/// R equal parts.
#[inline(always)]
fn parts<const R: usize>(a: &mut [u64]) -> [Quads<'_>; R] {
    let quads = a.len() / (4 * R);
    let mut rest = a.as_chunks_mut::<4>().0;
    std::array::from_fn(|_| {
        let (part, others) = std::mem::take(&mut rest).split_at_mut(quads);
        rest = others;
        part
    })
}

// Macros, as closures are not sure to be inlined where the lanes' instructions are enabled.

/// Replaces two quads of words, each in one half of a row.
macro_rules! pairs {
    ($l:ident, $a:ident: $load:ident, $store:ident, $x:ident => $body:expr) => {
        let [a0, a1] = parts::<2>($a);
        for (a0, a1) in a0.iter_mut().zip(a1) {
            let $x = [$l.$load(a0), $l.$load(a1)];
            let y = $body;
            $l.$store(y[0], a0);
            $l.$store(y[1], a1);
        }
    };
}

/// Replaces four quads of words, each in one quarter of a row.
macro_rules! fours {
    ($l:ident, $a:ident: $load:ident, $store:ident, $x:ident => $body:expr) => {
        let [a0, a1, a2, a3] = parts::<4>($a);
        for (((a0, a1), a2), a3) in a0.iter_mut().zip(a1).zip(a2).zip(a3) {
            let $x = [$l.$load(a0), $l.$load(a1), $l.$load(a2), $l.$load(a3)];
            let y = $body;
            $l.$store(y[0], a0);
            $l.$store(y[1], a1);
            $l.$store(y[2], a2);
            $l.$store(y[3], a3);
        }
    };
}

/// Butterfly of node k, for X <= 2.75 or so: x + w y, x - w y.
#[inline(always)]
fn split<L: Lanes>(f: Field<L>, x: L::V, y: L::V, w: L::V) -> (L::V, L::V) {
    let y = f.times(y, w);
    (f.l.add(x, y), f.l.sub(x, y))
}

/// x + y, (x - y) w.
#[inline(always)]
fn join<L: Lanes>(f: Field<L>, x: L::V, y: L::V, w: L::V) -> (L::V, L::V) {
    (f.l.add(x, y), f.times(f.l.sub(x, y), w))
}

/// Node w\[0\] and its children. From X to 1/2 + r + r' with r = 1/2 + 3 X/16 and r' = 1/2 + 3 (X + r)/16: at most 2.75 if X is.
#[inline(always)]
fn split4<L: Lanes>(f: Field<L>, [a, b, c, d]: [L::V; 4], w: [L::V; 3]) -> [L::V; 4] {
    let ((a, c), (b, d)) = (split(f, f.reduce(a), c, w[0]), split(f, b, d, w[0]));
    let ((a, b), (c, d)) = (split(f, a, b, w[1]), split(f, c, d, w[2]));
    [a, b, c, d]
}

/// The children of node w\[0\], and the node. From X to at most 1/2 + 3 X/4: at most 2 if X is, and sums at most 8, below 2^53.
#[inline(always)]
fn join4<L: Lanes>(f: Field<L>, [a, b, c, d]: [L::V; 4], w: [L::V; 3]) -> [L::V; 4] {
    let ((a, b), (c, d)) = (join(f, a, b, w[1]), join(f, c, d, w[2]));
    let ((a, c), (b, d)) = (join(f, a, c, w[0]), join(f, b, d, w[0]));
    [f.reduce(a), f.reduce(b), c, d]
}

/// Node 1 at the end, with the factors 1/N and w/N.
#[inline(always)]
fn end<L: Lanes>(f: Field<L>, x: L::V, y: L::V, w: [L::V; 2]) -> (L::V, L::V) {
    (f.canonical(f.times(f.l.add(x, y), w[0])), f.canonical(f.times(f.l.sub(x, y), w[1])))
}

/// The children of node 1, by the roots `w`, and node 1 at the end.
#[inline(always)]
fn end4<L: Lanes>(f: Field<L>, [a, b, c, d]: [L::V; 4], w: [L::V; 2], last: [L::V; 2]) -> [L::V; 4] {
    let ((a, b), (c, d)) = (join(f, a, b, w[0]), join(f, c, d, w[1]));
    let ((a, c), (b, d)) = (end(f, a, c, last), end(f, b, d, last));
    [a, b, c, d]
}

/// The roots of node k and of its children.
#[inline(always)]
fn roots<L: Lanes>(l: L, w: &[f64], k: usize) -> [L::V; 3] {
    [l.splat(w[k]), l.splat(w[2 * k]), l.splat(w[2 * k + 1])]
}

/// The roots of nodes 4 k to 4 k + 3, and of their first and second children, which lie apart.
#[inline(always)]
fn leaf_roots<L: Lanes>(l: L, w: &[f64], k: usize) -> [L::V; 3] {
    let (w, _) = w.as_chunks::<4>();
    [l.load(&w[k]), l.load(&w[2 * k]), l.load(&w[2 * k + 1])]
}

/// The two levels of node k, above the last four.
#[inline(always)]
fn pass<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64]) {
    let (l, w) = (f.l, roots(f.l, w, k));
    fours!(l, a: load_bits, store_bits, x => split4(f, x, w));
}

#[inline(always)]
fn inverse_pass<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64]) {
    let (l, w) = (f.l, roots(f.l, w, k));
    fours!(l, a: load_bits, store_bits, x => join4(f, x, w));
}

/// Node k of 16 words, to the end.
#[inline(always)]
fn leaf<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64; 16]) {
    let (l, quads) = (f.l, a.as_chunks_mut::<4>().0);
    let x = [l.load_bits(&quads[0]), l.load_bits(&quads[1]), l.load_bits(&quads[2]), l.load_bits(&quads[3])];
    let x = l.transpose(split4(f, x, roots(l, w, k)));
    let x = split4(f, x, leaf_roots(l, w, k)).map(|x| f.canonical(x));
    for (x, quad) in l.transpose(x).into_iter().zip(quads) {
        l.store_words(x, quad);
    }
}

#[inline(always)]
fn inverse_leaf<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64; 16]) {
    let (l, quads) = (f.l, a.as_chunks_mut::<4>().0);
    let x =
        [l.load_words(&quads[0]), l.load_words(&quads[1]), l.load_words(&quads[2]), l.load_words(&quads[3])];
    let x = l.transpose(join4(f, l.transpose(x), leaf_roots(l, w, k)));
    for (x, quad) in join4(f, x, roots(l, w, k)).into_iter().zip(quads) {
        l.store_bits(x, quad);
    }
}

/// Node k, above the last four levels, to the end.
#[inline(always)]
fn block<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64]) {
    let mut nodes = 1;
    while a.len() / nodes > 16 {
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            pass(f, w, k * nodes + i, a);
        }
        nodes *= 4;
    }
    for (i, a) in a.as_chunks_mut().0.iter_mut().enumerate() {
        leaf(f, w, k * nodes + i, a);
    }
}

#[inline(always)]
fn inverse_block<L: Lanes>(f: Field<L>, w: &[f64], k: usize, a: &mut [u64]) {
    let mut nodes = a.len() / 16;
    for (i, a) in a.as_chunks_mut().0.iter_mut().enumerate() {
        inverse_leaf(f, w, k * nodes + i, a);
    }
    while nodes > 1 {
        nodes /= 4;
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            inverse_pass(f, w, k * nodes + i, a);
        }
    }
}

/// [`NttTable::forward`], where the table [fits](is_fit).
#[inline(always)]
pub(super) fn forward<L: Lanes>(l: L, table: &NttTable, a: &mut [u64]) {
    let (f, w) = (Field::new(l, table.modulus()), &table.doubles()[0]);
    let mut nodes = if table.log_n() % 2 == 1 {
        let w = l.splat(w[1]);
        pairs!(l, a: load_words, store_bits, x => <[L::V; 2]>::from(split(f, x[0], x[1], w)));
        2
    } else {
        let w = roots(l, w, 1);
        fours!(l, a: load_words, store_bits, x => split4(f, x, w));
        4
    };
    while a.len() / nodes > BLOCK {
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            pass(f, w, nodes + i, a);
        }
        nodes *= 4;
    }
    for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
        block(f, w, nodes + i, a);
    }
}

/// [`NttTable::inverse`], where the table [fits](is_fit).
#[inline(always)]
pub(super) fn inverse<L: Lanes>(l: L, table: &NttTable, a: &mut [u64]) {
    let (f, w) = (Field::new(l, table.modulus()), &table.doubles()[1]);
    let first = if table.log_n() % 2 == 1 { 2 } else { 4 };
    let mut nodes = first;
    while a.len() / nodes > BLOCK {
        nodes *= 4;
    }
    for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
        inverse_block(f, w, nodes + i, a);
    }
    while nodes > first {
        nodes /= 4;
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            inverse_pass(f, w, nodes + i, a);
        }
    }
    // Node 1 has the factor 1/N, too.
    let last =
        [table.n_inverse(), table.n_inverse_last()].map(|w| l.splat(table.modulus().center(w.value) as f64));
    if first == 2 {
        pairs!(l, a: load_bits, store_words, x => <[L::V; 2]>::from(end(f, x[0], x[1], last)));
    } else {
        let w = roots(l, w, 1);
        fours!(l, a: load_bits, store_words, x => end4(f, x, [w[1], w[2]], last));
    }
}
