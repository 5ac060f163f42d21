//! Products of matrices.

use super::lab::{Fill, Lab, in_case, paint};
use crate::arith::ntt_primes_below;
use crate::backend::{MatrixNumbers, MatrixOps, MatrixProduct, RingOps};
use crate::conformance::{Mirror, Naive};
use crate::error::{Error, Result};
use crate::ring::{RingSpec, Span};

/// Widths of primes at and around those that kernels distinguish.
const BITS: [u32; 9] = [61, 53, 52, 50, 32, 31, 26, 25, 13];
/// The special primes among them, at the end.
const SPECIAL: usize = 2;
/// All primes; the narrowest ones of the chain; special ones alone.
const SPANS: [Span; 3] = [Span::extended(7, 2), Span { start: 3, q: 6, p: 0 }, Span { start: 7, q: 7, p: 2 }];

/// Rows, inner size and columns: nothing, one number, all around the sizes of tiles.
const SHAPES: [(usize, usize, usize); 14] = [
    (0, 3, 2),
    (2, 0, 3),
    (3, 2, 0),
    (1, 1, 1),
    (1, 37, 1),
    (3, 5, 7),
    (13, 16, 33),
    (12, 4, 32),
    (17, 66, 9),
    (65, 3, 40),
    (5, 259, 3),
    (130, 33, 19),
    (3, 70, 300),
    (129, 5, 70),
];

fn lab<B: RingOps>(backend: B) -> Result<Lab<B>> {
    let mut primes: Vec<u64> = Vec::new();
    for bits in BITS {
        let next = ntt_primes_below(bits, 2, 1, &primes)?;
        primes.extend(next);
    }
    let special = primes.split_off(BITS.len() - SPECIAL);
    Lab::with_spec(backend, "13- to 61-bit", &RingSpec::new(2, primes, special)?)
}

/// The words of a matrix of residues, or modulo 2^32 with paint above, behind `at` others and
/// before one more.
fn numbers<B: RingOps>(
    lab: &Lab<B>,
    product: &MatrixProduct,
    words: usize,
    at: usize,
    fill: Fill,
) -> Vec<u64> {
    let limb = words / product.limbs();
    let word = |i: usize| match product.span() {
        Some(span) => fill.word(i, lab.q(span, i / limb)),
        None => fill.word(i, 1 << 32) | paint(98, i) << 32,
    };
    (0..at).map(|i| paint(97, i)).chain((0..words).map(word)).chain([paint(96, 0)]).collect()
}

/// The words of the left matrix, likewise; bytes are of the whole range, or of its ends.
fn left_words<B: RingOps>(lab: &Lab<B>, product: &MatrixProduct, at: usize, fill: Fill) -> Vec<u64> {
    let words = product.left_words();
    if matches!(product.numbers(), MatrixNumbers::Residues(_)) {
        return numbers(lab, product, words, at, fill);
    }
    let ends = if product.span().is_some() { [0x80, 0x80] } else { [0xff, 0xff] };
    let byte = |i: usize| match fill {
        Fill::Paint(salt) => (paint(salt, i) >> 40) as u8,
        Fill::Top => ends[i % 2],
        Fill::Zero => 0,
        Fill::Edges => [0x80, 0x7f, 0xff, 0, 1][i % 5],
    };
    let word = |i: usize| u64::from_le_bytes(std::array::from_fn(|b| byte(8 * i + b)));
    (0..at).map(|i| paint(95, i)).chain((0..words).map(word)).chain([paint(94, 0)]).collect()
}

fn case<B: RingOps>(lab: &Lab<B>, product: &MatrixProduct, fills: [Fill; 2], at: usize) -> Result<()> {
    let [a, b] = fills;
    let left = lab.ring.pack_left(product, &lab.backend.upload(&left_words(lab, product, at, a))?, at)?;
    let right_words = numbers(lab, product, product.right_words(), at, b);
    let right = lab.ring.pack_right(product, &lab.backend.upload(&right_words)?, at)?;
    for add in [false, true] {
        let words = numbers(lab, product, product.result_words(), at, Fill::Paint(3));
        let mut c = lab.backend.upload(&words)?;
        lab.ring.multiply_matrices(left.as_ref(), right.as_ref(), add, at, &mut c)?;
    }
    Ok(())
}

/// Products of matrices against their definition in 128-bit integers, for residues, signed bytes
/// and bytes: all widths of primes, sizes around those of tiles, greatest numbers in sums that are
/// longer than any that fit 32 bits, sums that go on in what was there, places in larger buffers;
/// and matrices that do not fit each other or their buffers.
pub fn matrices<B: RingOps>(backend: &B, _log_n: u32) -> Result<()> {
    let lab = lab(Mirror::new(backend.clone(), Naive))?;
    let kinds =
        SPANS.iter().flat_map(|&span| [MatrixNumbers::Residues(span), MatrixNumbers::SignedBytes(span)]);
    for numbers in kinds.chain([MatrixNumbers::Bytes]) {
        for (rows, inner, columns) in SHAPES {
            let product = MatrixProduct::new(numbers, rows, inner, columns)?;
            let all = [[Fill::Paint(1), Fill::Paint(2)], [Fill::Edges, Fill::Paint(4)]];
            for (i, &fills) in all.iter().enumerate() {
                in_case(case(&lab, &product, fills, 3 * i), || format!("{product}, {fills:?}"))?;
            }
        }
    }
    // Sums of 128 x 255 reach 2^31 after 65794 of them; residues have up to eight bytes.
    for (numbers, inner) in [
        (MatrixNumbers::Residues(SPANS[1]), 17_000),
        (MatrixNumbers::SignedBytes(SPANS[2]), 70_000),
        (MatrixNumbers::Bytes, 70_000),
    ] {
        let product = MatrixProduct::new(numbers, 2, inner, 1)?;
        let fills = [Fill::Top, Fill::Top];
        in_case(case(&lab, &product, fills, 0), || format!("{product}, {fills:?}"))?;
    }
    shared(&lab)?;
    refusals(&lab)
}

/// Left matrices that a ring shares among products of other columns leave the right words; one of
/// other rows is never shared.
fn shared<B: RingOps>(lab: &Lab<B>) -> Result<()> {
    let span = SPANS[1];
    for numbers in [MatrixNumbers::Residues(span), MatrixNumbers::SignedBytes(span), MatrixNumbers::Bytes] {
        let product = |columns| MatrixProduct::new(numbers, 9, 70, columns);
        let packed = product(5)?;
        for other in [product(1)?, product(17)?, product(70)?] {
            in_case(shared_case(lab, &packed, &other), || format!("{packed} and {other}"))?;
        }
        let foreign = MatrixProduct::new(numbers, 8, 70, 5)?;
        let shares = lab.ring.shares_left(&packed, &foreign);
        lab.expect("multiply_matrices", "other rows are not shared", &[shares.into()], &[0])?;
    }
    Ok(())
}

fn shared_case<B: RingOps>(lab: &Lab<B>, packed: &MatrixProduct, other: &MatrixProduct) -> Result<()> {
    let left = lab.backend.upload(&left_words(lab, packed, 0, Fill::Paint(1)))?;
    let left = lab.ring.pack_left(packed, &left, 0)?.of(&lab.ring, other);
    if !lab.ring.shares_left(packed, other) {
        let refused = matches!(left, Err(Error::MatrixMismatch { .. }));
        return lab.expect("multiply_matrices", "a layout of its own is refused", &[refused.into()], &[1]);
    }
    let right = lab.backend.upload(&numbers(lab, other, other.right_words(), 0, Fill::Paint(2)))?;
    let right = lab.ring.pack_right(other, &right, 0)?;
    let mut c = lab.backend.zeros(other.result_words())?;
    lab.ring.multiply_matrices(left?.as_ref(), right.as_ref(), false, 0, &mut c)
}

fn refusals<B: RingOps>(lab: &Lab<B>) -> Result<()> {
    const OP: &str = "multiply_matrices";
    let span = Span::chain(2);
    let product =
        |rows, inner, columns| MatrixProduct::new(MatrixNumbers::Residues(span), rows, inner, columns);
    let (fit, other) = (product(2, 3, 4)?, product(2, 2, 4)?);
    let src = lab.backend.upload(&numbers(lab, &fit, 2 * 3 * 4, 0, Fill::Paint(1))[..24])?;
    let left = lab.ring.pack_left(&fit, &src, 0)?;
    let (right, short) = (lab.ring.pack_right(&fit, &src, 0)?, lab.ring.pack_right(&other, &src, 0)?);
    let mut c = lab.backend.upload(&[0; 16])?;
    let refused = |rule: &str, refused: bool| lab.expect(OP, rule, &[refused.into()], &[1]);
    let found = lab.ring.multiply_matrices(left.as_ref(), short.as_ref(), false, 0, &mut c);
    let mismatch =
        matches!(found, Err(Error::MatrixMismatch { left, right }) if *left == fit && *right == other);
    refused("matrices of two products are refused", mismatch)?;
    let found = lab.ring.multiply_matrices(left.as_ref(), right.as_ref(), false, 1, &mut c);
    let short =
        matches!(found, Err(Error::MatrixWords { found: 16, needed: 17, product }) if *product == fit);
    refused("a result that does not fit is refused", short)?;
    let found = lab.ring.pack_left(&fit, &src, 13);
    let short =
        matches!(found, Err(Error::MatrixWords { found: 24, needed: 25, product }) if *product == fit);
    refused("a left matrix that does not fit is refused", short)?;
    let found = lab.ring.pack_right(&fit, &src, usize::MAX);
    refused("a right matrix that does not fit is refused", matches!(found, Err(Error::MatrixWords { .. })))
}
