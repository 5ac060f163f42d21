//! The transforms, depth first: several stages per pass over memory, then all stages of each part
//! while it is in the cache.
//!
//! Butterflies form a binary tree whose nodes are the positions in the table of roots: node k
//! splits its words in halves and multiplies by root k, its children are 2 k and 2 k + 1. Node 1
//! has all N words. A *leaf* of [`Field::LEAF`] lines is done in registers; its last three levels
//! lie within pairs of registers, where words are rearranged between levels so that the roots of a
//! register are consecutive in the table.
//!
//! The time is bound by the execution of the butterflies: 6 instructions forward below 2^46, 9
//! below 2^50 and 12 up to 2^61 (a level must not wait for the one before, hence
//! [`Words::settle`]).
//! Neither the memory of the roots nor rows that do not start at a cache line cost more than 3 %.

use super::field::{Field, Narrow, Unreduced, Wide, is_narrow, is_unreduced};
use super::words::{Avx512, Line, Words, with_avx512};
use crate::arith::ShoupFactor;
use crate::backend::cpu::kernels::roots::{NttRoots, RootLine};
#[cfg(doc)]
use crate::ring::NttTable;

/// The smallest degree for which this is used.
pub(super) const MIN_N: usize = 16;

/// Whether [`forward_signed`] takes words of magnitude at most `most`: the row is more than a leaf,
/// and twice the prime or more, the window, makes them lazy values.
pub(super) fn takes_signed(roots: &NttRoots, most: u64) -> bool {
    roots.table().log_n() >= 8 && most < 2 * roots.modulus().value()
}

with_avx512! {
    /// [`NttTable::forward`], for N >= [`MIN_N`].
    pub(super) fn forward(simd: Avx512, roots: &NttRoots, a: &mut [u64]) {
        let (a, _) = a.as_chunks_mut();
        if is_unreduced(roots.modulus()) {
            forward_root(simd, Unreduced::new(simd, roots.modulus()), &roots.interleaved()[0], a);
        } else if is_narrow(roots.modulus()) {
            forward_root(simd, Narrow::new(simd, roots.modulus()), &roots.interleaved()[0], a);
        } else {
            forward_root(simd, Wide::new(simd, roots.modulus()), &roots.interleaved()[0], a);
        }
    }

    /// [`NttTable::forward`] of signed words, where [`takes_signed`] allows it: the first pass over
    /// memory adds a multiple of the prime that makes them positive.
    pub(super) fn forward_signed(simd: Avx512, roots: &NttRoots, coefficients: &[u64], a: &mut [u64]) {
        let ((src, _), (a, _)) = (coefficients.as_chunks(), a.as_chunks_mut());
        if is_unreduced(roots.modulus()) {
            forward_signed_root(simd, Unreduced::new(simd, roots.modulus()), &roots.interleaved()[0], src, a);
        } else if is_narrow(roots.modulus()) {
            forward_signed_root(simd, Narrow::new(simd, roots.modulus()), &roots.interleaved()[0], src, a);
        } else {
            forward_signed_root(simd, Wide::new(simd, roots.modulus()), &roots.interleaved()[0], src, a);
        }
    }

    /// [`NttTable::inverse`], for N >= [`MIN_N`].
    pub(super) fn inverse(simd: Avx512, roots: &NttRoots, a: &mut [u64]) {
        let (a, _) = a.as_chunks_mut();
        let last = [roots.table().n_inverse(), roots.table().n_inverse_last()];
        if is_narrow(roots.modulus()) {
            inverse_root(simd, Narrow::new(simd, roots.modulus()), &roots.interleaved()[1], last, a);
        } else {
            inverse_root(simd, Wide::new(simd, roots.modulus()), &roots.interleaved()[1], last, a);
        }
    }

    fn forward_root<F: Field>(simd: Avx512, f: F, roots: &[RootLine], a: &mut [Line]) {
        match a.len() {
            2 => forward_leaf::<F, 2>(f, roots, 1, a),
            4 => forward_leaf::<F, 4>(f, roots, 1, a),
            8 => forward_leaf::<F, 8>(f, roots, 1, a),
            16 if F::LEAF == 16 => forward_leaf::<F, 16>(f, roots, 1, a),
            _ => forward_tree(simd, f, roots, 1, a),
        }
    }

    /// Node k, which is more than a leaf, and everything below it.
    fn forward_tree<F: Field>(simd: Avx512, f: F, roots: &[RootLine], k: usize, a: &mut [Line]) {
        let stages = stages::<F>(a.len());
        match stages {
            1 => forward_pass::<F, 2>(f, roots, k, a),
            2 => forward_pass::<F, 4>(f, roots, k, a),
            _ => forward_pass::<F, 8>(f, roots, k, a),
        }
        forward_parts(simd, f, roots, k << stages, a, a.len() >> stages);
    }

    /// Nodes from k on, with `part` lines each.
    fn forward_parts<F: Field>(simd: Avx512, f: F, roots: &[RootLine], k: usize, a: &mut [Line], part: usize) {
        if part == F::LEAF {
            for (i, part) in a.chunks_exact_mut(part).enumerate() {
                if F::LEAF == 16 {
                    forward_leaf::<F, 16>(f, roots, k + i, part);
                } else {
                    forward_leaf::<F, 8>(f, roots, k + i, part);
                }
            }
        } else {
            for (i, part) in a.chunks_exact_mut(part).enumerate() {
                forward_tree(simd, f, roots, k + i, part);
            }
        }
    }

    /// Node 1, whose words are read from another row as signed ones, and everything below it.
    fn forward_signed_root<F: Field>(simd: Avx512, f: F, roots: &[RootLine], src: &[Line], a: &mut [Line]) {
        let stages = stages::<F>(a.len());
        match stages {
            1 => forward_pass_from::<F, 2>(f, roots, 1, src, a),
            2 => forward_pass_from::<F, 4>(f, roots, 1, src, a),
            _ => forward_pass_from::<F, 8>(f, roots, 1, src, a),
        }
        forward_parts(simd, f, roots, 1 << stages, a, a.len() >> stages);
    }

    /// Inverse levels at node 1, whose factors are `last` and whose results are canonical.
    fn inverse_root<F: Field>(simd: Avx512, f: F, roots: &[RootLine], last: [ShoupFactor; 2], a: &mut [Line]) {
        let last = Some(last.map(|w| f.constant(w)));
        match a.len() {
            2 => return inverse_leaf::<F, 2>(f, roots, 1, a, last),
            4 => return inverse_leaf::<F, 4>(f, roots, 1, a, last),
            8 => return inverse_leaf::<F, 8>(f, roots, 1, a, last),
            16 if F::LEAF == 16 => return inverse_leaf::<F, 16>(f, roots, 1, a, last),
            _ => {}
        }
        let stages = stages::<F>(a.len());
        let part = a.len() >> stages;
        inverse_parts(simd, f, roots, 1 << stages, a, part);
        inverse_stages(f, roots, 1, a, stages, last);
    }

    /// Everything below node k, of more than a leaf, then the node; not for node 1.
    fn inverse_tree<F: Field>(simd: Avx512, f: F, roots: &[RootLine], k: usize, a: &mut [Line]) {
        let stages = stages::<F>(a.len());
        let part = a.len() >> stages;
        inverse_parts(simd, f, roots, k << stages, a, part);
        inverse_stages(f, roots, k, a, stages, None);
    }

    /// Nodes from k on, with `part` lines each.
    fn inverse_parts<F: Field>(simd: Avx512, f: F, roots: &[RootLine], k: usize, a: &mut [Line], part: usize) {
        if part == F::LEAF {
            for (i, part) in a.chunks_exact_mut(part).enumerate() {
                if F::LEAF == 16 {
                    inverse_leaf::<F, 16>(f, roots, k + i, part, None);
                } else {
                    inverse_leaf::<F, 8>(f, roots, k + i, part, None);
                }
            }
        } else {
            for (i, part) in a.chunks_exact_mut(part).enumerate() {
                inverse_tree(simd, f, roots, k + i, part);
            }
        }
    }
}

/// The stages of the next pass over this many lines, which are more than a leaf. It takes eight
/// words at a time: sixteen are no faster if they are close together, and slower if they are so far
/// apart that they share a set of the cache.
fn stages<F: Field>(lines: usize) -> u32 {
    match (lines / F::LEAF).ilog2() {
        left @ 0..=3 => left,
        4 => 2,
        _ => 3,
    }
}

#[inline(always)]
fn root<F: Field>(f: F, roots: &[RootLine], k: usize) -> F::Factor {
    let RootLine(line) = &roots[k / 8];
    f.factor(f.simd().splat(line[k % 8]), f.simd().splat(line[8 + k % 8]))
}

/// The roots from k on, once, twice or four times: `nodes` distinct ones, which divides k.
#[inline(always)]
fn root_vector<F: Field>(f: F, roots: &[RootLine], k: usize, nodes: usize) -> F::Factor {
    let RootLine(line) = &roots[k / 8];
    f.factor(repeat(f.simd(), line, k % 8, nodes), repeat(f.simd(), line, 8 + k % 8, nodes))
}

/// `nodes` words of a line from one place on, repeated to fill a register.
#[inline(always)]
fn repeat(simd: Avx512, line: &[u64; 16], at: usize, nodes: usize) -> Words {
    match nodes {
        2 => simd.repeat2(&line.as_chunks().0[at / 2]),
        4 => simd.repeat4(&line.as_chunks().0[at / 4]),
        _ => simd.load(&line.as_chunks().0[at / 8]),
    }
}

/// x, y in [0, L) to x + y, (x - y) w in [0, L).
#[inline(always)]
fn inverse_butterfly<F: Field>(f: F, x: Words, y: Words, w: F::Factor) -> (Words, Words) {
    (f.reduce(x + y), f.times(x + f.window() - y, w))
}

/// The factors of node k, its children, their children ...: those of heap position i at i.
#[inline(always)]
fn heap<F: Field, const R: usize>(f: F, roots: &[RootLine], k: usize) -> [F::Factor; R] {
    let mut w = [root(f, roots, k); R];
    for i in 2..R {
        let level = i.ilog2();
        w[i] = root(f, roots, (k << level) + i - (1 << level));
    }
    w
}

/// One level of a heap: groups of 2 `half` words.
#[inline(always)]
fn forward_level<F: Field, const R: usize>(f: F, x: &mut [Words; R], w: &[F::Factor; R], half: usize) {
    let groups = R / (2 * half);
    for group in 0..groups {
        for i in 0..half {
            let at = 2 * half * group + i;
            (x[at], x[at + half]) = f.forward_butterfly(x[at], x[at + half], w[groups + group]);
        }
    }
    Words::settle(x);
}

#[inline(always)]
fn inverse_level<F: Field, const R: usize>(f: F, x: &mut [Words; R], w: &[F::Factor; R], half: usize) {
    let groups = R / (2 * half);
    for group in 0..groups {
        for i in 0..half {
            let at = 2 * half * group + i;
            (x[at], x[at + half]) = inverse_butterfly(f, x[at], x[at + half], w[groups + group]);
        }
    }
    Words::settle(x);
}

#[inline(always)]
fn forward_levels<F: Field, const R: usize>(f: F, x: &mut [Words; R], w: &[F::Factor; R]) {
    if R >= 16 {
        forward_level(f, x, w, 8);
    }
    if R >= 8 {
        forward_level(f, x, w, 4);
    }
    if R >= 4 {
        forward_level(f, x, w, 2);
    }
    forward_level(f, x, w, 1);
}

/// All levels, or all except the last one.
#[inline(always)]
fn inverse_levels<F: Field, const R: usize>(f: F, x: &mut [Words; R], w: &[F::Factor; R], all: bool) {
    if R > 2 || all {
        inverse_level(f, x, w, 1);
    }
    if R > 4 || (all && R == 4) {
        inverse_level(f, x, w, 2);
    }
    if R > 8 || (all && R == 8) {
        inverse_level(f, x, w, 4);
    }
    if all && R == 16 {
        inverse_level(f, x, w, 8);
    }
}

/// The last level of the whole transform, by N^-1 times the factors 1 and w.
#[inline(always)]
fn inverse_last_level<F: Field, const R: usize>(f: F, x: &mut [Words; R], last: [F::Factor; 2]) {
    for i in 0..R / 2 {
        let (u, v) = (x[i], x[i + R / 2]);
        x[i] = f.canonical(f.times(u + v, last[0]));
        x[i + R / 2] = f.canonical(f.times(u + f.window() - v, last[1]));
    }
}

/// log2 R levels from node k on.
#[inline(always)]
fn forward_pass<F: Field, const R: usize>(f: F, roots: &[RootLine], k: usize, a: &mut [Line]) {
    let w = heap::<F, R>(f, roots, k);
    let columns = a.len() / R;
    for column in 0..columns {
        let mut x = [f.simd().zero(); R];
        for i in 0..R {
            x[i] = f.simd().load(&a[i * columns + column]);
        }
        forward_levels(f, &mut x, &w);
        for i in 0..R {
            x[i].store(&mut a[i * columns + column]);
        }
    }
}

/// log2 R levels from node k on, for signed words of another row.
#[inline(always)]
fn forward_pass_from<F: Field, const R: usize>(
    f: F,
    roots: &[RootLine],
    k: usize,
    src: &[Line],
    a: &mut [Line],
) {
    let w = heap::<F, R>(f, roots, k);
    let columns = a.len() / R;
    for column in 0..columns {
        let mut x = [f.simd().zero(); R];
        for i in 0..R {
            x[i] = f.simd().load(&src[i * columns + column]) + f.window();
        }
        forward_levels(f, &mut x, &w);
        for i in 0..R {
            x[i].store(&mut a[i * columns + column]);
        }
    }
}

/// log2 R levels up to node k, by the factors `last` if they are the last ones of the transform.
#[inline(always)]
fn inverse_pass<F: Field, const R: usize>(
    f: F,
    roots: &[RootLine],
    k: usize,
    a: &mut [Line],
    last: Option<[F::Factor; 2]>,
) {
    let w = heap::<F, R>(f, roots, k);
    let columns = a.len() / R;
    for column in 0..columns {
        let mut x = [f.simd().zero(); R];
        for i in 0..R {
            x[i] = f.simd().load(&a[i * columns + column]);
        }
        inverse_levels(f, &mut x, &w, last.is_none());
        if let Some(last) = last {
            inverse_last_level(f, &mut x, last);
        }
        for i in 0..R {
            x[i].store(&mut a[i * columns + column]);
        }
    }
}

#[inline(always)]
fn inverse_stages<F: Field>(
    f: F,
    roots: &[RootLine],
    k: usize,
    a: &mut [Line],
    stages: u32,
    last: Option<[F::Factor; 2]>,
) {
    match stages {
        1 => inverse_pass::<F, 2>(f, roots, k, a, last),
        2 => inverse_pass::<F, 4>(f, roots, k, a, last),
        _ => inverse_pass::<F, 8>(f, roots, k, a, last),
    }
}

/// The places of 16 words in two registers: which bit of a position selects the register, and which
/// bits are those of the place in it (the lowest first).
struct Arrangement {
    register: u32,
    place: [u32; 3],
}

/// The order in memory.
const MEMORY: Arrangement = Arrangement { register: 3, place: [0, 1, 2] };
/// Partners of the levels with halves of 4, 2, 1 words in different registers at the same place.
const HALF4: Arrangement = Arrangement { register: 2, place: [3, 0, 1] };
const HALF2: Arrangement = Arrangement { register: 1, place: [2, 3, 0] };
const HALF1: Arrangement = Arrangement { register: 0, place: [1, 2, 3] };

impl Arrangement {
    /// The register and the place of a word.
    const fn find(&self, word: usize) -> (usize, usize) {
        let [p0, p1, p2] = self.place;
        (word >> self.register & 1, (word >> p2 & 1) << 2 | (word >> p1 & 1) << 1 | (word >> p0 & 1))
    }

    /// For both registers of `self`, the places of their words in `from`.
    const fn pick_from(self, from: Self) -> [Line; 2] {
        let mut index = [[0; 8]; 2];
        let mut word = 0;
        while word < 16 {
            let (register, place) = self.find(word);
            let (from_register, from_place) = from.find(word);
            index[register][place] = (from_register << 3 | from_place) as u64;
            word += 1;
        }
        index
    }
}

static TO_HALF4: [Line; 2] = HALF4.pick_from(MEMORY);
static HALF4_TO_HALF2: [Line; 2] = HALF2.pick_from(HALF4);
static HALF2_TO_HALF1: [Line; 2] = HALF1.pick_from(HALF2);
static FROM_HALF1: [Line; 2] = MEMORY.pick_from(HALF1);
static TO_HALF1: [Line; 2] = HALF1.pick_from(MEMORY);
static HALF1_TO_HALF2: [Line; 2] = HALF2.pick_from(HALF1);
static HALF2_TO_HALF4: [Line; 2] = HALF4.pick_from(HALF2);
static FROM_HALF4: [Line; 2] = MEMORY.pick_from(HALF4);

/// Moves the words of every pair of registers.
#[inline(always)]
fn rearrange<const R: usize>(simd: Avx512, x: &mut [Words; R], index: &[Line; 2]) {
    let index = [simd.load(&index[0]), simd.load(&index[1])];
    for i in 0..R / 2 {
        let (x0, x1) = (x[2 * i], x[2 * i + 1]);
        (x[2 * i], x[2 * i + 1]) = (x0.pick(x1, index[0]), x0.pick(x1, index[1]));
    }
}

/// Butterflies of every pair of registers, with the roots from k on, `nodes` per pair.
#[inline(always)]
fn forward_pairs<F: Field, const R: usize>(
    f: F,
    x: &mut [Words; R],
    roots: &[RootLine],
    k: usize,
    nodes: usize,
) {
    for i in 0..R / 2 {
        let w = root_vector(f, roots, k + i * nodes, nodes);
        (x[2 * i], x[2 * i + 1]) = f.forward_butterfly(x[2 * i], x[2 * i + 1], w);
    }
    Words::settle(x);
}

#[inline(always)]
fn inverse_pairs<F: Field, const R: usize>(
    f: F,
    x: &mut [Words; R],
    roots: &[RootLine],
    k: usize,
    nodes: usize,
) {
    for i in 0..R / 2 {
        let w = root_vector(f, roots, k + i * nodes, nodes);
        (x[2 * i], x[2 * i + 1]) = inverse_butterfly(f, x[2 * i], x[2 * i + 1], w);
    }
    Words::settle(x);
}

/// All levels of node k with R lines; results are canonical.
#[inline(always)]
fn forward_leaf<F: Field, const R: usize>(f: F, roots: &[RootLine], k: usize, a: &mut [Line]) {
    let simd = f.simd();
    let w = heap::<F, R>(f, roots, k);
    let mut x = [simd.zero(); R];
    for i in 0..R {
        x[i] = simd.load(&a[i]);
    }
    forward_levels(f, &mut x, &w);
    rearrange(simd, &mut x, &TO_HALF4);
    forward_pairs(f, &mut x, roots, R * k, 2);
    rearrange(simd, &mut x, &HALF4_TO_HALF2);
    forward_pairs(f, &mut x, roots, 2 * R * k, 4);
    rearrange(simd, &mut x, &HALF2_TO_HALF1);
    forward_pairs(f, &mut x, roots, 4 * R * k, 8);
    for x in &mut x {
        *x = f.residue(*x);
    }
    rearrange(simd, &mut x, &FROM_HALF1);
    for i in 0..R {
        x[i].store(&mut a[i]);
    }
}

/// From the start up to node k with R lines.
#[inline(always)]
fn inverse_leaf<F: Field, const R: usize>(
    f: F,
    roots: &[RootLine],
    k: usize,
    a: &mut [Line],
    last: Option<[F::Factor; 2]>,
) {
    let simd = f.simd();
    let w = heap::<F, R>(f, roots, k);
    let mut x = [simd.zero(); R];
    for i in 0..R {
        x[i] = simd.load(&a[i]);
    }
    rearrange(simd, &mut x, &TO_HALF1);
    inverse_pairs(f, &mut x, roots, 4 * R * k, 8);
    rearrange(simd, &mut x, &HALF1_TO_HALF2);
    inverse_pairs(f, &mut x, roots, 2 * R * k, 4);
    rearrange(simd, &mut x, &HALF2_TO_HALF4);
    inverse_pairs(f, &mut x, roots, R * k, 2);
    rearrange(simd, &mut x, &FROM_HALF4);
    inverse_levels(f, &mut x, &w, last.is_none());
    if let Some(last) = last {
        inverse_last_level(f, &mut x, last);
    }
    for i in 0..R {
        x[i].store(&mut a[i]);
    }
}
