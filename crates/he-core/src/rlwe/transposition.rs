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
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::key_set::common;
use crate::ring::{Automorphism, galois_conjugation, galois_rotation};
use std::collections::BTreeMap;

/// A part of the transform: its values at the powers h of X are those at which Y^L = X^exponent,
/// for the L rows of the batch.
struct Node<B: RingOps> {
    exponent: usize,
    rows: RlweCiphertext<B>,
}

impl<B: RingOps> Node<B> {
    /// The remainders modulo Y^(L/2) -+ X^(exponent/2).
    fn split(&self) -> Result<[Self; 2]> {
        let (n, half, exponent) = (self.rows.ring().n(), self.rows.batch() / 2, self.exponent / 2);
        let low = self.rows.slice_batch(0..half)?;
        let high = self.rows.slice_batch(half..2 * half)?.mul_monomial(exponent as i64)?;
        let (sum, difference) = (low.add(&high)?, low.sub(&high)?);
        Ok([Self { exponent, rows: sum }, Self { exponent: exponent + n, rows: difference }])
    }

    /// Twice what was [split](Self::split).
    fn joined([a, b]: [&Self; 2]) -> Result<Self> {
        let low = a.rows.add(&b.rows)?;
        let high = a.rows.sub(&b.rows)?.mul_monomial(-(a.exponent as i64))?;
        Ok(Self { exponent: 2 * a.exponent, rows: RlweCiphertext::concat(&[&low, &high])? })
    }
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

    /// The images of ciphertexts under one automorphism each, those that take the same next step
    /// together.
    fn apply<B: RingOps>(
        &self,
        mut pending: Vec<(u64, RlweCiphertext<B>)>,
        keys: &EvaluationKeys<B>,
    ) -> Result<BTreeMap<u64, RlweCiphertext<B>>> {
        for depth in 0..self.longest() {
            let mut groups: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for (index, (g, _)) in pending.iter().enumerate() {
                if let Some(&element) = self.paths.get(g).and_then(|path| path.get(depth)) {
                    groups.entry(element).or_default().push(index);
                }
            }
            for (element, group) in groups {
                let key = keys.galois(element).ok_or_else(|| missing(element))?;
                let members: Vec<&RlweCiphertext<B>> = group.iter().map(|&index| &pending[index].1).collect();
                let images = RlweCiphertext::concat(&members)?.apply_automorphism(key, element)?;
                for (entry, index) in group.into_iter().enumerate() {
                    pending[index].1 = images.slice_batch(entry..entry + 1)?;
                }
            }
        }
        Ok(pending.into_iter().collect())
    }

    /// The inverse of an element.
    fn inverse(&self, g: usize) -> u64 {
        Automorphism::new(g as u64, self.log_n).inverse_element()
    }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// The transpose of a matrix of N x N coefficients: entry j of the result has the phase
    /// sum_i M_ij X^i, where entry i of this batch has sum_j M_ij X^j. Exact but for the noise of N
    /// key switches that each entry gets, those of all automorphisms.
    ///
    /// Takes a key switch for each of the N automorphisms that has a key of its own; with keys for
    /// [rotations](super::KeyRequirements::rotations) by powers of two and the
    /// [conjugation](super::KeyRequirements::conjugation) alone, log2(N) keys, up to log2(N) for
    /// each, about N log2(N) / 2 in all. Constant time.
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
            let mut nodes = vec![Node { exponent: n, rows: self.divided_exactly(n)?.of(key_set) }];
            while nodes[0].rows.batch() > 1 {
                nodes = nodes
                    .iter()
                    .map(Node::split)
                    .collect::<Result<Vec<_>>>()?
                    .into_iter()
                    .flatten()
                    .collect();
            }
            let exponents: Vec<usize> = nodes.iter().map(|node| node.exponent).collect();
            let sums = nodes.into_iter().map(|node| (paths.inverse(node.exponent), node.rows)).collect();
            let mut images = paths.apply(sums, keys)?;
            let leaf = |exponent| images.remove(&(exponent as u64)).map(|rows| Node { exponent, rows });
            let mut nodes: Vec<Node<B>> = exponents.into_iter().filter_map(leaf).collect();
            while nodes.len() > 1 {
                let pairs = nodes.chunks_exact(2);
                nodes = pairs.map(|pair| Node::joined([&pair[0], &pair[1]])).collect::<Result<_>>()?;
            }
            nodes.pop().map(|node| node.rows).ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })
        })
    }
}
