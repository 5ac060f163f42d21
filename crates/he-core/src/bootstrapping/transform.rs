//! The special FFT as a product of few matrices with few diagonals each.

use crate::circuits::ckks::LinearTransform;
use crate::error::{Error, Result};
use crate::ring::SpecialFft;
use num_complex::Complex64;
use std::collections::BTreeMap;
use std::ops::Range;

/// A square matrix by its diagonals: diagonal k holds M\[i\]\[(i + k) mod n\] at i.
type Diagonals = BTreeMap<i64, Vec<Complex64>>;

/// The cost of a giant step in baby steps: it divides and decomposes what it rotates. On the few
/// primes of SlotsToCoeffs that takes longest beside a baby step, and keys are small. On those of
/// CoeffsToSlots 5 would take 3 % less time on a GPU, and keys of 1.2 times the bytes.
fn giant_cost(to: Direction) -> usize {
    match to {
        Direction::ToCoefficients => 6,
        Direction::ToSlots => 4,
    }
}

/// The matrices that take slots to coefficients, the first to apply first.
///
/// Their product is factor U, where U takes the vector (c_k + i c_(k+n)) of coefficients, in
/// bit-reversed order, to the n slots: applied to slots z it leaves the polynomial whose
/// coefficients are those of factor z in this order. With n = 2^`log_slots`, each matrix is the
/// product of consecutive butterfly stages (radix 2) of the special FFT, whose numbers differ by at
/// most one between matrices: s stages have 2^(s+1) - 1 diagonals, or 2^s where the stage of
/// distance n/2 is among them. Every matrix gets the same part of the factor, its root of degree
/// `matrices`.
///
/// Source: Chen, Chillotti, Song, *Improved Bootstrapping for Approximate Homomorphic Encryption*,
/// 2018 (the stages as sparse matrices); Cheon, Han, Hhan, *Faster Homomorphic Discrete Fourier
/// Transforms and Improved FHE Bootstrapping*, 2018 (merging them).
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) unless there are 1 to max(1, `log_slots`) matrices.
pub fn slots_to_coefficients(log_slots: u32, matrices: usize, factor: f64) -> Result<Vec<LinearTransform>> {
    factors(log_slots, matrices, factor, Direction::ToCoefficients)
}

/// The matrices that take coefficients to slots: the inverse of [`slots_to_coefficients`] times the
/// factor. Applied to the slots of a polynomial, they leave the vector (c_k + i c_(k+n)) of its
/// coefficients in bit-reversed order, times the factor.
///
/// # Errors
/// The same as for [`slots_to_coefficients`].
pub fn coefficients_to_slots(log_slots: u32, matrices: usize, factor: f64) -> Result<Vec<LinearTransform>> {
    factors(log_slots, matrices, factor, Direction::ToSlots)
}

/// The same, but for the last matrix, which leaves twice as many slots: z, then -i z. Added to
/// their conjugates they are twice the real parts of z, then twice the imaginary ones.
///
/// # Errors
/// The same as for [`slots_to_coefficients`].
pub(super) fn coefficients_to_parts(
    log_slots: u32,
    matrices: usize,
    factor: f64,
) -> Result<Vec<LinearTransform>> {
    let (n, to) = (1 << log_slots, Direction::ToSlots);
    let mut diagonals = diagonals(log_slots, matrices, factor, to)?;
    let last = diagonals.pop().map(|last| (2 * n, with_parts(&last, n)));
    let all = diagonals.into_iter().map(|diagonals| (n, diagonals)).chain(last);
    all.map(|(dimension, diagonals)| transform(dimension, &diagonals, to)).collect()
}

/// The transform that takes the halves (x, y) of twice as many slots to a x + b y, in both halves.
pub(super) fn joining(log_slots: u32, [a, b]: [Complex64; 2]) -> Result<LinearTransform> {
    let n = 1 << log_slots;
    let halves = |first, second| [vec![first; n], vec![second; n]].concat();
    LinearTransform::from_diagonals(2 * n, &BTreeMap::from([(0, halves(a, b)), (n as i64, halves(b, a))]))
}

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    ToCoefficients,
    ToSlots,
}

fn factors(log_slots: u32, matrices: usize, factor: f64, to: Direction) -> Result<Vec<LinearTransform>> {
    let matrices = diagonals(log_slots, matrices, factor, to)?;
    matrices.iter().map(|diagonals| transform(1 << log_slots, diagonals, to)).collect()
}

/// A matrix of this dimension.
fn transform(dimension: usize, diagonals: &Diagonals, to: Direction) -> Result<LinearTransform> {
    Ok(LinearTransform::from_diagonals(dimension, diagonals)?.with_giant_cost(giant_cost(to)))
}

/// For a matrix of dimension n, that of twice the dimension that takes (z, z) to its product with
/// z, and -i times it.
fn with_parts(diagonals: &Diagonals, n: usize) -> Diagonals {
    let parts = |(&k, entries): (&i64, &Vec<Complex64>)| {
        let signed = if k > n as i64 / 2 { k - n as i64 } else { k };
        let turned = entries.iter().map(|z| Complex64::new(z.im, -z.re));
        (signed, entries.iter().copied().chain(turned).collect())
    };
    diagonals.iter().map(parts).collect()
}

/// The matrices by their diagonals.
fn diagonals(log_slots: u32, matrices: usize, factor: f64, to: Direction) -> Result<Vec<Diagonals>> {
    let highest = log_slots.max(1) as usize;
    if !(1..=highest).contains(&matrices) {
        let why = format!("{matrices} for a transform of 2^{log_slots} slots");
        return Err(Error::domain("number of matrices", why, format!("1 to {highest} are possible")));
    }
    let n = 1usize << log_slots;
    let fft = SpecialFft::new(n);
    let part = libm::pow(factor, 1.0 / matrices as f64);
    let stages = |range: Range<u32>| -> Diagonals {
        // The stage that is applied first is the right factor of the product.
        let identity = BTreeMap::from([(0, vec![Complex64::new(part, 0.0); n])]);
        range.fold(identity, |product, i| {
            let half = match to {
                Direction::ToCoefficients => 1usize << i,
                Direction::ToSlots => n >> (i + 1),
            };
            multiplied(&stage(n, half, &fft.roots()[half..2 * half], to), &product, n)
        })
    };
    Ok(split(log_slots, matrices).map(stages).collect())
}

/// The stages of each matrix, in the order of application, the most first.
fn split(log_slots: u32, matrices: usize) -> impl Iterator<Item = Range<u32>> {
    let (count, matrices) = (log_slots as usize, matrices);
    let bound = move |i: usize| (count * i).div_ceil(matrices) as u32;
    (0..matrices).map(move |i| bound(i)..bound(i + 1))
}

/// One stage: x + w y and x - w y at distance `half`, or its inverse.
fn stage(n: usize, half: usize, roots: &[Complex64], to: Direction) -> Diagonals {
    let (zero, one) = (Complex64::ZERO, Complex64::ONE);
    // (weight of itself, weight of the partner).
    let weights = |i: usize| {
        let (left, w) = (i % (2 * half) < half, roots[i % half]);
        match (to, left) {
            (Direction::ToCoefficients, true) => (one, w),
            (Direction::ToCoefficients, false) => (-w, one),
            (Direction::ToSlots, true) => (0.5 * one, 0.5 * one),
            (Direction::ToSlots, false) => (-0.5 * w.conj(), 0.5 * w.conj()),
        }
    };
    let left = |i: usize| i % (2 * half) < half;
    let diagonal = |entry: &dyn Fn(usize) -> Complex64| (0..n).map(entry).collect::<Vec<_>>();
    let mut diagonals = BTreeMap::from([(0, diagonal(&|i| weights(i).0))]);
    let above = diagonal(&|i| if left(i) { weights(i).1 } else { zero });
    let below = diagonal(&|i| if left(i) { zero } else { weights(i).1 });
    add_diagonal(&mut diagonals, half as i64, above, n);
    add_diagonal(&mut diagonals, -(half as i64), below, n);
    diagonals
}

/// Indices count modulo n: half = n/2 makes one diagonal of two.
fn add_diagonal(diagonals: &mut Diagonals, index: i64, entries: Vec<Complex64>, n: usize) {
    let sum = diagonals.entry(index.rem_euclid(n as i64)).or_insert_with(|| vec![Complex64::ZERO; n]);
    sum.iter_mut().zip(entries).for_each(|(sum, entry)| *sum += entry);
}

/// The product a b.
fn multiplied(a: &Diagonals, b: &Diagonals, n: usize) -> Diagonals {
    let mut product = Diagonals::new();
    for (k, left) in a {
        for (l, right) in b {
            let shift = k.rem_euclid(n as i64) as usize;
            let entries = (0..n).map(|i| left[i] * right[(i + shift) % n]).collect();
            add_diagonal(&mut product, k + l, entries, n);
        }
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(n: usize) -> Vec<Complex64> {
        (0..n).map(|i| Complex64::new((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos())).collect()
    }

    fn bit_reversed(x: &[Complex64]) -> Vec<Complex64> {
        let bits = x.len().ilog2();
        let at = |i: usize| if bits == 0 { 0 } else { i.reverse_bits() >> (usize::BITS - bits) };
        (0..x.len()).map(|i| x[at(i)]).collect()
    }

    fn close(a: &[Complex64], b: &[Complex64], what: &str) {
        let greatest = b.iter().map(|z| z.norm()).fold(1.0, f64::max);
        for (i, (a, b)) in a.iter().zip(b).enumerate() {
            assert!((a - b).norm() < 1e-12 * greatest, "{what}, slot {i}: {a} and {b}");
        }
    }

    /// Against the FFT of the encoder, for every number of slots and of matrices.
    #[test]
    fn the_factors_are_the_transform() {
        for log_slots in 0..=9u32 {
            let n = 1 << log_slots;
            let fft = SpecialFft::new(n);
            let x = vector(n);
            for matrices in 1..=log_slots.max(1) as usize {
                let what = format!("2^{log_slots} slots, {matrices} matrices");
                let apply = |list: Vec<LinearTransform>, x: &[Complex64]| {
                    list.iter().fold(x.to_vec(), |x, matrix| matrix.apply_plain(&x).unwrap())
                };
                let mut slots = bit_reversed(&x);
                fft.forward(&mut slots);
                slots.iter_mut().for_each(|z| *z *= 3.0);
                let found = apply(slots_to_coefficients(log_slots, matrices, 3.0).unwrap(), &x);
                close(&found, &slots, &what);
                let mut coefficients = x.clone();
                fft.inverse(&mut coefficients);
                let expected: Vec<Complex64> = bit_reversed(&coefficients).iter().map(|z| z * 0.25).collect();
                let found = apply(coefficients_to_slots(log_slots, matrices, 0.25).unwrap(), &x);
                close(&found, &expected, &what);
            }
        }
    }

    /// The numbers of diagonals, on which the cost rests.
    #[test]
    fn matrices_have_few_diagonals() {
        let counts =
            |list: &[LinearTransform]| list.iter().map(LinearTransform::diagonals).collect::<Vec<_>>();
        assert_eq!(counts(&coefficients_to_slots(12, 3, 1.0).unwrap()), [16, 31, 31]);
        assert_eq!(counts(&slots_to_coefficients(12, 3, 1.0).unwrap()), [31, 31, 16]);
        assert_eq!(counts(&slots_to_coefficients(10, 2, 1.0).unwrap()), [63, 32]);
        assert_eq!(split(15, 4).map(|stages| stages.len()).collect::<Vec<_>>(), [4, 4, 4, 3]);
    }

    #[test]
    fn impossible_splits_are_refused() {
        for (log_slots, matrices) in [(0, 0), (0, 2), (3, 0), (3, 4)] {
            assert!(coefficients_to_slots(log_slots, matrices, 1.0).is_err());
            assert!(slots_to_coefficients(log_slots, matrices, 1.0).is_err());
        }
    }
}
