//! Transposition of square matrices of coefficients, a ciphertext in a row.
//!
//! Let N ciphertexts have the phases m_i(X) = sum_j M_ij X^j. The trace of X^(-j) m_i is N M_ij, so
//! that column j is
//!
//! sum_i M_ij X^i = 1/N sum_g X^(-j g) sigma_g(Z_g), Z_g = sum_i X^(i / g) m_i,
//!
//! over all odd g modulo 2N, where sigma_g is the automorphism X -> X^g and 1 / g the inverse
//! modulo 2N. Both sums are transforms of N ciphertexts whose roots of unity are monomials, with
//! N log2(N) / 2 sums, differences and monomials each, and exact. A key switch for each g is
//! between them: N in all. (Bae, Cheon, Hanrot, Park, Stehlé, *Fast Homomorphic Linear Algebra with
//! BLAS*, 2025, section 5.)

use super::requirements::missing;
use super::{EvaluationKeys, KEY, RlweCiphertext};
use crate::backend::{Blocks, RingOps};
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Automorphism, Coeff, Eval, Poly, galois_conjugation, galois_rotation};
use std::collections::BTreeMap;

/// Remainders of the polynomial sum_i c_i Y^i, whose coefficients are ciphertexts, modulo
/// Y^L - X^exponent for each exponent: entry l E + e has coefficient l of the remainder modulo
/// exponent e of E.
struct Remainders<B: RingOps> {
    exponents: Vec<usize>,
    rows: RlweCiphertext<B>,
}

impl<B: RingOps> Remainders<B> {
    /// The remainders modulo Y^(L/2) - X^(exponent/2) and Y^(L/2) + X^(exponent/2), the latter
    /// after all of the former.
    fn split(&self) -> Result<Self> {
        let (n, half) = (self.rows.ring().n(), self.rows.batch() / 2);
        let roots: Vec<usize> = self.exponents.iter().map(|exponent| exponent / 2).collect();
        let low = self.rows.slice_batch(0..half)?;
        let high = times_monomials(&self.rows.slice_batch(half..2 * half)?, &roots)?;
        let rows = interleaved([&low.add(&high)?, &low.sub(&high)?], roots.len())?;
        let negative = roots.iter().map(|root| root + n);
        Ok(Self { exponents: roots.iter().copied().chain(negative).collect(), rows })
    }

    /// Twice what was [split](Self::split).
    fn joined(&self) -> Result<Self> {
        let (n, count) = (self.rows.ring().n(), self.exponents.len() / 2);
        let roots = &self.exponents[..count];
        let [a, b] = parted(&self.rows, count)?;
        let inverses: Vec<usize> = roots.iter().map(|root| 2 * n - root).collect();
        let high = times_monomials(&a.sub(&b)?, &inverses)?;
        let rows = RlweCiphertext::concat(&[&a.add(&b)?, &high])?;
        Ok(Self { exponents: roots.iter().map(|root| 2 * root).collect(), rows })
    }
}

/// Entry l E + e times X^(exponent e), for E exponents.
fn times_monomials<B: RingOps>(rows: &RlweCiphertext<B>, exponents: &[usize]) -> Result<RlweCiphertext<B>> {
    let (ring, span, count) = (rows.ring(), rows.c[0].span(), exponents.len());
    let monomials = Poly::<Coeff, B>::monomials(ring, span, exponents)?.into_eval()?;
    if count == 1 || count == rows.batch() {
        return rows.mul_poly(&monomials);
    }
    let each: Vec<usize> = (0..rows.batch()).map(|entry| entry % count).collect();
    rows.mul_poly(&monomials.gather_batch(&each)?)
}

/// Runs of `count` entries of each in turn.
fn interleaved<B: RingOps>([a, b]: [&RlweCiphertext<B>; 2], count: usize) -> Result<RlweCiphertext<B>> {
    let (ring, span, batch) = (a.ring(), a.c[0].span(), a.batch());
    let (words, runs) = (count * ring.n(), span.limbs() * batch / count);
    let part = |i: usize| -> Result<Poly<Eval, B>> {
        let mut buf = ring.backend().scratch(2 * runs * words)?;
        for (from, at) in [(a, 0), (b, words)] {
            let (from, to) = (from.c[i].buf(), Blocks { at, step: 2 * words });
            ring.backend().copy_blocks(from, Blocks { at: 0, step: words }, &mut buf, to, words, runs)?;
        }
        Ok(Poly::from_buf(ring, span, 2 * batch, buf))
    };
    Ok(RlweCiphertext::new(part(0)?, part(1)?)?.of(a.key_set))
}

/// The inverse of [`interleaved`].
fn parted<B: RingOps>(rows: &RlweCiphertext<B>, count: usize) -> Result<[RlweCiphertext<B>; 2]> {
    let (ring, span, batch) = (rows.ring(), rows.c[0].span(), rows.batch() / 2);
    let (words, runs) = (count * ring.n(), span.limbs() * batch / count);
    let part = |from: &Poly<Eval, B>, at: usize| -> Result<Poly<Eval, B>> {
        let mut buf = ring.backend().scratch(runs * words)?;
        let (from, at) = (from.buf(), Blocks { at, step: 2 * words });
        ring.backend().copy_blocks(from, at, &mut buf, Blocks { at: 0, step: words }, words, runs)?;
        Ok(Poly::from_buf(ring, span, batch, buf))
    };
    Ok([rows.map(|from| part(from, 0))?, rows.map(|from| part(from, words))?])
}

/// The automorphisms by keys that compose each of all automorphisms.
pub(crate) struct Paths {
    log_n: u32,
    /// The elements in the order in which they are applied, by the element that they compose.
    paths: BTreeMap<u64, Vec<u64>>,
}

impl Paths {
    /// By keys for the elements themselves or, where there are none, by rotations and conjugation.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`], [`Error::MissingConjugationKey`].
    pub(crate) fn new<B: RingOps>(keys: &EvaluationKeys<B>) -> Result<Self> {
        let log_n = keys.ring().spec().log_n();
        let conjugation = galois_conjugation(log_n);
        let mut paths = BTreeMap::new();
        for step in 0..1i64 << (log_n - 1) {
            let g = galois_rotation(step, log_n);
            let conjugate = (conjugation * g) & conjugation;
            let rotations = || -> Result<Vec<u64>> {
                let steps = keys.rotation_path(step)?;
                Ok(steps.into_iter().map(|step| galois_rotation(step, log_n)).collect())
            };
            paths.insert(g, rotations()?);
            let path = if keys.galois(conjugate).is_some() {
                vec![conjugate]
            } else if keys.galois(conjugation).is_some() {
                rotations()?.into_iter().chain([conjugation]).collect()
            } else {
                return Err(Error::MissingConjugationKey);
            };
            paths.insert(conjugate, path);
        }
        Ok(Self { log_n, paths })
    }

    /// The key switches of the longest path.
    pub(crate) fn longest(&self) -> usize {
        self.paths.values().map(Vec::len).max().unwrap_or(0)
    }

    /// The image of each entry under the automorphism of its element: entries whose paths have the
    /// same step take it together, in one key switch of a batch.
    fn apply<B: RingOps>(
        &self,
        elements: &[u64],
        mut rows: RlweCiphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<RlweCiphertext<B>> {
        for (step, members) in self.steps(elements) {
            let key = keys.galois(step).ok_or_else(|| missing(step))?;
            let images = rows.gather(&members)?.apply_automorphism(key, step)?;
            rows.scatter(&members, &images)?;
        }
        Ok(rows)
    }

    /// The steps of all paths, each with the entries that take it; a step that paths have several
    /// times comes as often. Their order does not matter: automorphisms commute.
    fn steps(&self, elements: &[u64]) -> Vec<(u64, Vec<usize>)> {
        let mut members: BTreeMap<(u64, usize), Vec<usize>> = BTreeMap::new();
        for (entry, g) in elements.iter().enumerate() {
            let path = self.paths.get(g).map_or(&[][..], Vec::as_slice);
            for (at, step) in path.iter().enumerate() {
                let before = path[..at].iter().filter(|other| *other == step).count();
                members.entry((*step, before)).or_default().push(entry);
            }
        }
        members.into_iter().map(|((step, _), members)| (step, members)).collect()
    }

    /// The inverse of an element.
    fn inverse(&self, g: usize) -> u64 {
        Automorphism::new(g as u64, self.log_n).inverse_element()
    }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// The trace of a matrix of coefficients of up to N rows, a row in each ciphertext: one
    /// ciphertext, whose phase is sum_i X^(-i) m_i with the phases m_i = sum_j M_ij X^j of the
    /// entries. Its coefficient 0 is sum_i M_ii; the others are sums along other diagonals. Exact,
    /// without a key; noises add. Constant time.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] for more than N rows; device errors.
    pub fn trace(&self) -> Result<Self> {
        let (n, rows) = (self.ring().n(), self.batch());
        if rows > n {
            return Err(Error::MatrixRows { found: rows, needed: n });
        }
        let exponents: Vec<usize> = (0..rows).map(|row| (2 * n - row) % (2 * n)).collect();
        let moved = times_monomials(self, &exponents)?;
        let mut sum = moved.slice_batch(0..1)?;
        for row in 1..rows {
            sum = sum.add(&moved.slice_batch(row..row + 1)?)?;
        }
        Ok(sum)
    }

    /// The transpose of a matrix of N x N coefficients: entry j of the result has the phase
    /// sum_i M_ij X^i, where entry i of this batch has sum_j M_ij X^j. Exact but for the noise of N
    /// key switches that each entry gets, those of all automorphisms.
    ///
    /// Takes a key switch for each of the N automorphisms that has a key of its own, one by one;
    /// with keys for [rotations](super::KeyRequirements::rotations) by powers of two and the
    /// [conjugation](super::KeyRequirements::conjugation) alone, log2(N) keys, up to log2(N) for
    /// each, about N log2(N) / 2 in all, and those by one key as a batch: few large operations,
    /// which devices prefer. Constant time.
    ///
    /// # Errors
    /// [`Error::MatrixRows`] unless the batch is N; [`Error::MissingGaloisKey`],
    /// [`Error::MissingConjugationKey`]; mismatch of ring, parameters or key sets; device errors.
    pub fn transpose(&self, keys: &EvaluationKeys<B>) -> Result<Self> {
        self.transposed(&Paths::new(keys)?, keys)
    }

    pub(crate) fn transposed(&self, paths: &Paths, keys: &EvaluationKeys<B>) -> Result<Self> {
        let n = self.ring().n();
        if self.batch() != n {
            return Err(Error::MatrixRows { found: self.batch(), needed: n });
        }
        let key_set = common(KEY, keys.key_set(), self.key_set)?;
        self.ring().backend().batched(|| {
            let rows = self.divided_exactly(n)?.of(key_set);
            let mut sums = Remainders { exponents: vec![n], rows };
            while sums.exponents.len() < n {
                sums = sums.split()?;
            }
            let exponents = sums.exponents;
            let elements: Vec<u64> = exponents.iter().map(|&exponent| paths.inverse(exponent)).collect();
            let images = paths.apply(&elements, sums.rows, keys)?;
            let places: BTreeMap<u64, usize> =
                elements.iter().enumerate().map(|(place, &g)| (g, place)).collect();
            let order: Vec<usize> =
                exponents.iter().filter_map(|&g| places.get(&(g as u64)).copied()).collect();
            let mut values = Remainders { rows: images.gather(&order)?, exponents };
            while values.exponents.len() > 1 {
                values = values.joined()?;
            }
            Ok(values.rows)
        })
    }
}
