//! The transforms, with two levels per pass: first over all words, then through all levels of each
//! block that fits the first-level cache. Words are converted to the form of the arithmetic in the
//! first pass and back in the last one, which takes 16 of them in registers through four levels.
//!
//! Node k of the tree of butterflies multiplies by root k; its children are 2 k and 2 k + 1.

use super::butterflies::Butterflies;
use super::field::{Field, grows_within};
use super::is_narrow;
use super::wide::Wide;
use super::words::WordLanes;
use crate::arith::ShoupFactor;
use crate::backend::cpu::kernels::NttRoots;
use crate::ring::NttTable;

/// Whether these transforms apply to the table.
pub(super) fn is_fit(table: &NttTable) -> bool {
    table.log_n() >= 5
}

/// The words of a block that goes through its levels in sequence: 16 KiB.
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

// These are macros, because closures are not guaranteed to be inlined where the instructions of the
// lanes are enabled.

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

/// Node w\[0\] and its children. Without REDUCE, values grow over all levels.
#[inline(always)]
fn split4<F: Butterflies, const REDUCE: bool>(f: F, [a, b, c, d]: [F::V; 4], w: [F::Factor; 3]) -> [F::V; 4] {
    let a = if REDUCE { f.before(a) } else { a };
    let ((a, c), (b, d)) = (f.split(a, c, w[0]), f.split(b, d, w[0]));
    let ((a, b), (c, d)) = (f.split(a, b, w[1]), f.split(c, d, w[2]));
    [a, b, c, d]
}

/// The children of node w\[0\], and the node.
#[inline(always)]
fn join4<F: Butterflies>(f: F, [a, b, c, d]: [F::V; 4], w: [F::Factor; 3]) -> [F::V; 4] {
    let ((a, b), (c, d)) = (f.join(a, b, w[1]), f.join(c, d, w[2]));
    let ((a, c), (b, d)) = (f.join(a, c, w[0]), f.join(b, d, w[0]));
    [f.after(a), f.after(b), c, d]
}

/// The children of node 1, by the roots `w`, and node 1 at the end.
#[inline(always)]
fn end4<F: Butterflies>(f: F, [a, b, c, d]: [F::V; 4], w: [F::Factor; 2], last: [F::Factor; 2]) -> [F::V; 4] {
    let ((a, b), (c, d)) = (f.join(a, b, w[0]), f.join(c, d, w[1]));
    let ((a, c), (b, d)) = (f.end(a, c, last), f.end(b, d, last));
    [a, b, c, d]
}

/// The roots of node k and of its children.
#[inline(always)]
fn roots<F: Butterflies>(f: F, w: &F::Roots, k: usize) -> [F::Factor; 3] {
    [f.root(w, k), f.root(w, 2 * k), f.root(w, 2 * k + 1)]
}

/// The two levels of node k, above the last four.
#[inline(always)]
fn pass<F: Butterflies, const REDUCE: bool>(f: F, w: &F::Roots, k: usize, a: &mut [u64]) {
    let w = roots(f, w, k);
    fours!(f, a: load, store, x => split4::<_, REDUCE>(f, x, w));
}

#[inline(always)]
fn inverse_pass<F: Butterflies>(f: F, w: &F::Roots, k: usize, a: &mut [u64]) {
    let w = roots(f, w, k);
    fours!(f, a: load, store, x => join4(f, x, w));
}

/// All levels of node k, which has 16 words.
#[inline(always)]
fn leaf<F: Butterflies, const REDUCE: bool>(f: F, w: &F::Roots, k: usize, a: &mut [u64; 16]) {
    let quads = a.as_chunks_mut::<4>().0;
    let x = [f.load(&quads[0]), f.load(&quads[1]), f.load(&quads[2]), f.load(&quads[3])];
    let x = f.transpose(split4::<_, REDUCE>(f, x, roots(f, w, k)));
    let [a, b, c, d] = split4::<_, REDUCE>(f, x, f.leaf_roots(w, k));
    let x = f.transpose([f.canonical(a), f.canonical(b), f.canonical(c), f.canonical(d)]);
    for (x, quad) in x.into_iter().zip(quads) {
        f.store_words(x, quad);
    }
}

#[inline(always)]
fn inverse_leaf<F: Butterflies>(f: F, w: &F::Roots, k: usize, a: &mut [u64; 16]) {
    let quads = a.as_chunks_mut::<4>().0;
    let x =
        [f.load_words(&quads[0]), f.load_words(&quads[1]), f.load_words(&quads[2]), f.load_words(&quads[3])];
    let x = f.transpose(join4(f, f.transpose(x), f.leaf_roots(w, k)));
    for (x, quad) in join4(f, x, roots(f, w, k)).into_iter().zip(quads) {
        f.store(x, quad);
    }
}

/// All levels of node k, which is above the last four levels.
#[inline(always)]
fn block<F: Butterflies, const REDUCE: bool>(f: F, w: &F::Roots, k: usize, a: &mut [u64]) {
    let mut nodes = 1;
    while a.len() / nodes > 16 {
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            pass::<_, REDUCE>(f, w, k * nodes + i, a);
        }
        nodes *= 4;
    }
    for (i, a) in a.as_chunks_mut().0.iter_mut().enumerate() {
        leaf::<_, REDUCE>(f, w, k * nodes + i, a);
    }
}

#[inline(always)]
fn inverse_block<F: Butterflies>(f: F, w: &F::Roots, k: usize, a: &mut [u64]) {
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

/// [`NttTable::forward`], if the table [fits](is_fit).
#[inline(always)]
pub(super) fn forward<L: WordLanes>(simd: L, roots: &NttRoots, a: &mut [u64]) {
    let (table, q) = (roots.table(), roots.modulus());
    if grows_within(q) {
        forward_by::<_, false>(Field::new(simd, q), &roots.doubles()[0][..], table.log_n(), a);
    } else if is_narrow(q) {
        forward_by::<_, true>(Field::new(simd, q), &roots.doubles()[0][..], table.log_n(), a);
    } else {
        forward_by::<_, true>(Wide::new(simd, q), &roots.interleaved()[0][..], table.log_n(), a);
    }
}

#[inline(always)]
fn forward_by<F: Butterflies, const REDUCE: bool>(f: F, w: &F::Roots, log_n: u32, a: &mut [u64]) {
    let mut nodes = if log_n % 2 == 1 {
        let w = f.root(w, 1);
        pairs!(f, a: load_words, store, x => <[F::V; 2]>::from(f.split(x[0], x[1], w)));
        2
    } else {
        let w = roots(f, w, 1);
        fours!(f, a: load_words, store, x => split4::<_, REDUCE>(f, x, w));
        4
    };
    while a.len() / nodes > BLOCK {
        for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
            pass::<_, REDUCE>(f, w, nodes + i, a);
        }
        nodes *= 4;
    }
    for (i, a) in a.chunks_exact_mut(a.len() / nodes).enumerate() {
        block::<_, REDUCE>(f, w, nodes + i, a);
    }
}

/// [`NttTable::inverse`], if the table [fits](is_fit).
#[inline(always)]
pub(super) fn inverse<L: WordLanes>(simd: L, roots: &NttRoots, a: &mut [u64]) {
    let table = roots.table();
    let (q, last) = (table.modulus(), [table.n_inverse(), table.n_inverse_last()]);
    if is_narrow(q) {
        inverse_by(Field::new(simd, q), &roots.doubles()[1][..], last, table.log_n(), a);
    } else {
        inverse_by(Wide::new(simd, q), &roots.interleaved()[1][..], last, table.log_n(), a);
    }
}

#[inline(always)]
fn inverse_by<F: Butterflies>(f: F, w: &F::Roots, last: [ShoupFactor; 2], log_n: u32, a: &mut [u64]) {
    let last = [f.constant(last[0]), f.constant(last[1])];
    let first = if log_n % 2 == 1 { 2 } else { 4 };
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
    if first == 2 {
        pairs!(f, a: load, store_words, x => <[F::V; 2]>::from(f.end(x[0], x[1], last)));
    } else {
        let w = [f.root(w, 2), f.root(w, 3)];
        fours!(f, a: load, store_words, x => end4(f, x, w, last));
    }
}
