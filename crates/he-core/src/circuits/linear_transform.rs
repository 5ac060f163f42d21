//! Plain matrices times encrypted vectors.

use super::{Requirements, argument, check_level};
use crate::backend::{Cpu, RingOps};
use crate::ckks::{Ciphertext, Evaluator, Plaintext};
use crate::error::Result;
use crate::rlwe::EvaluationKeys;
use derive_where::derive_where;
use num_complex::Complex64;
use std::collections::{BTreeMap, BTreeSet};

/// A square matrix by its diagonals: diagonal k holds entry (i, i + k mod d) at i.
///
/// y = sum_k diagonal_k x rotated by k (Halevi, Shoup, CRYPTO 2014), with k = giant + baby: the baby rotations of x are made once
/// from one decomposition, and each giant step rotates one sum. Only diagonals that are not zero cost anything; the split into
/// steps is the one with the fewest rotations.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearTransform {
    dimension: usize,
    diagonals: BTreeMap<usize, Vec<Complex64>>,
    babies: usize,
}

impl LinearTransform {
    /// From a matrix row by row, `dimension` a power of two.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for another dimension, another number of entries, or an entry that is not
    /// finite.
    pub fn new(dimension: usize, entries: &[Complex64]) -> Result<Self> {
        if !dimension.is_power_of_two() {
            return Err(argument("matrix", format!("a dimension of {dimension}; a power of two is needed")));
        }
        if dimension.checked_mul(dimension) != Some(entries.len()) {
            let found = entries.len();
            return Err(argument("matrix", format!("{found} entries for {dimension} x {dimension}")));
        }
        if let Some(at) = entries.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
            let (row, column) = (at / dimension, at % dimension);
            return Err(argument("matrix", format!("entry ({row}, {column}) is not a finite number")));
        }
        let diagonals: BTreeMap<usize, Vec<Complex64>> = (0..dimension)
            .map(|k| {
                let entry = |i: usize| entries[i * dimension + (i + k) % dimension];
                (k, (0..dimension).map(entry).collect::<Vec<_>>())
            })
            .filter(|(_, diagonal)| diagonal.iter().any(|z| *z != Complex64::ZERO))
            .collect();
        let babies = (0..=dimension.ilog2())
            .map(|log| 1 << log)
            .min_by_key(|&babies| {
                let (baby, giant) = split(diagonals.keys(), babies);
                baby.len() + giant.len()
            })
            .unwrap_or(1);
        Ok(Self { dimension, diagonals, babies })
    }

    /// From a matrix of real numbers, likewise.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_real(dimension: usize, entries: &[f64]) -> Result<Self> {
        Self::new(dimension, &entries.iter().map(|&x| Complex64::new(x, 0.0)).collect::<Vec<_>>())
    }

    /// Rows and columns.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// One level, and the baby and giant rotations: about 2 sqrt(d) for a full matrix.
    pub fn requirements(&self) -> Requirements {
        let (baby, giant) = split(self.diagonals.keys(), self.babies);
        Requirements {
            depth: 1,
            rotations: baby.into_iter().chain(giant).collect(),
            ..Requirements::default()
        }
    }

    /// The product in float64.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a vector of another length.
    pub fn apply_plain(&self, x: &[Complex64]) -> Result<Vec<Complex64>> {
        let d = self.dimension;
        if x.len() != d {
            return Err(argument("vector", format!("{} numbers for a matrix of dimension {d}", x.len())));
        }
        Ok((0..d).map(|i| self.diagonals.iter().map(|(k, v)| v[i] * x[(i + k) % d]).sum()).collect())
    }

    /// Encodes the diagonals for ciphertexts of a level: N words for each prime and diagonal that is not zero.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) for level 0, [`Error::LevelTooHigh`](crate::Error::LevelTooHigh);
    /// [`Error::SlotCount`](crate::Error::SlotCount) for a dimension beyond N/2;
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for entries; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PreparedTransform<B>> {
        check_level(1, level)?;
        let (params, d) = (ev.params(), self.dimension);
        let encoding = params.encoding().at_level(params, level)?.slots(d);
        let mut groups: BTreeMap<i64, Vec<(i64, Plaintext<B>)>> = BTreeMap::new();
        for (k, diagonal) in &self.diagonals {
            let (giant, baby) = (k - k % self.babies, k % self.babies);
            // Rotated back, because the giant step rotates it with the sum.
            let rotated: Vec<Complex64> = (0..d).map(|i| diagonal[(i + d - giant) % d]).collect();
            let plain = ev.encoder().encode(&rotated, encoding)?;
            groups.entry(giant as i64).or_default().push((baby as i64, plain));
        }
        Ok(PreparedTransform { requirements: self.requirements(), groups })
    }

    /// [`prepare`](Self::prepare) for the ciphertext's level, then [`PreparedTransform::apply`].
    ///
    /// # Errors
    /// As for both.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.requirements().check(ct.level(), keys)?;
        self.prepare(ev, ct.level())?.apply(ev, ct, keys)
    }
}

/// Baby and giant steps of these diagonals, without 0.
fn split<'a>(diagonals: impl Iterator<Item = &'a usize>, babies: usize) -> (BTreeSet<i64>, BTreeSet<i64>) {
    let (mut baby, mut giant) = (BTreeSet::new(), BTreeSet::new());
    for k in diagonals {
        baby.insert((k % babies) as i64);
        giant.insert((k - k % babies) as i64);
    }
    baby.remove(&0);
    giant.remove(&0);
    (baby, giant)
}

/// A [`LinearTransform`] encoded for one level.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PreparedTransform<B: RingOps = Cpu> {
    requirements: Requirements,
    /// By giant step: baby steps with their encoded diagonals.
    groups: BTreeMap<i64, Vec<(i64, Plaintext<B>)>>,
}

impl<B: RingOps> PreparedTransform<B> {
    /// What the transform needs.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Multiplies every vector of a batch. The vectors must repeat with the matrix's dimension as period, as those encoded with
    /// that many slots do; so does the result.
    ///
    /// One level. The magnitude grows by up to the largest sum of |entry| over a row, and noise with it; every rotation adds its
    /// key switching. A ciphertext of another level than prepared for is lowered, or the diagonals are, at some cost.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted), [`Error::MissingGaloisKey`](crate::Error::MissingGaloisKey),
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch); device errors.
    pub fn apply(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.requirements.check(ct.level(), keys)?;
        let steps: BTreeSet<i64> = self.groups.values().flatten().map(|(step, _)| *step).collect();
        let steps: Vec<i64> = steps.into_iter().collect();
        let rotated = ev.rotate_many(ct, &steps, keys)?;
        let rotated: BTreeMap<i64, &Ciphertext<B>> = steps.into_iter().zip(&rotated).collect();
        let mut sum: Option<Ciphertext<B>> = None;
        for (&giant, group) in &self.groups {
            let terms: Vec<_> = group.iter().map(|(step, plain)| (rotated[step], plain)).collect();
            let part = ev.rotate(&ev.plain_combination(&terms)?, giant, keys)?;
            sum = Some(match sum {
                Some(sum) => ev.add(&sum, &part)?,
                None => part,
            });
        }
        // No diagonal: the matrix is zero.
        sum.map_or_else(|| ev.mul_scalar(ct, 0.0), Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fixture;
    use super::*;
    use crate::error::Error;
    use rand::RngExt;

    fn random(fixture: &mut Fixture, length: usize, imaginary: f64) -> Vec<Complex64> {
        let mut value = || fixture.rng.random_range(-1.0..1.0);
        (0..length).map(|_| Complex64::new(value(), imaginary * value())).collect()
    }

    fn check(fixture: &mut Fixture, matrix: &[Complex64], d: usize) -> usize {
        let transform = LinearTransform::new(d, matrix).unwrap();
        let requirements = transform.requirements();
        let keys = fixture.keys(&requirements);
        let vectors = [(); 2].map(|()| random(fixture, d, 1.0));
        let ct = fixture.encrypt(&vectors, d);
        let out = transform.apply(&fixture.ev, &ct, &keys).unwrap();
        assert_eq!(ct.level() - out.level(), requirements.depth);
        // Prepared for another level than the ciphertext's, in both directions.
        let low = fixture.ev.lower_to(&ct, 1).unwrap();
        let more = [(1, &ct), (2, &low)].map(|(level, ct)| {
            transform.prepare(&fixture.ev, level).unwrap().apply(&fixture.ev, ct, &keys).unwrap()
        });
        for out in [&out, &more[0], &more[1]] {
            for (x, y) in vectors.iter().zip(fixture.decrypt(out)) {
                let by_rows = (0..d).map(|i| (0..d).map(|j| matrix[i * d + j] * x[j]).sum::<Complex64>());
                let plain = transform.apply_plain(x).unwrap();
                for ((found, expected), plain) in y.iter().zip(by_rows).zip(plain) {
                    assert!((plain - expected).norm() < 1e-12);
                    let error = (found - expected).norm();
                    assert!(error < 1e-6, "dimension {d}: {found}, not {expected}");
                }
            }
        }
        requirements.rotations.len()
    }

    #[test]
    fn matrices_match() {
        let mut fixture = Fixture::new(8, 2);
        for d in [1, 2, 4, 16, 64, 128] {
            for imaginary in [0.0, 1.0] {
                let matrix = random(&mut fixture, d * d, imaginary);
                let rotations = check(&mut fixture, &matrix, d);
                assert!((rotations as f64) < 2.2 * (d as f64).sqrt(), "{rotations} rotations for {d}");
            }
            let zero = vec![Complex64::ZERO; d * d];
            assert_eq!(check(&mut fixture, &zero, d), 0);
        }
    }

    #[test]
    fn zero_diagonals_cost_nothing() {
        let mut fixture = Fixture::new(8, 2);
        let d = 64;
        for (offsets, rotations) in [(vec![0], 0), (vec![17], 1), (vec![0, 1, 63], 2), (vec![0, 16, 32], 2)] {
            let mut matrix = vec![Complex64::ZERO; d * d];
            for i in 0..d {
                for k in &offsets {
                    matrix[i * d + (i + k) % d] = random(&mut fixture, 1, 1.0)[0];
                }
            }
            assert!(check(&mut fixture, &matrix, d) <= rotations + 1, "{offsets:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(LinearTransform::from_real(3, &[0.0; 9]).is_err());
        assert!(LinearTransform::from_real(0, &[]).is_err());
        assert!(LinearTransform::from_real(4, &[0.0; 15]).is_err());
        assert!(LinearTransform::from_real(1 << 63, &[]).is_err());
        let error = LinearTransform::from_real(2, &[0.0, 0.0, f64::NAN, 0.0]).unwrap_err().to_string();
        assert!(error.contains("entry (1, 0)"), "{error}");
        let mut fixture = Fixture::new(8, 1);
        let transform = LinearTransform::from_real(4, &[1.0; 16]).unwrap();
        let vector = random(&mut fixture, 4, 0.0);
        let ct = fixture.encrypt(&[vector], 4);
        let none = fixture.keys(&Requirements::default());
        let keys = fixture.keys(&transform.requirements());
        let ev = &fixture.ev;
        assert!(matches!(transform.apply(ev, &ct, &none), Err(Error::MissingGaloisKey { .. })));
        let bottom = ev.lower_to(&ct, 0).unwrap();
        let result = transform.apply(ev, &bottom, &keys);
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })));
        assert!(matches!(transform.prepare(ev, 0), Err(Error::LevelExhausted { .. })));
        assert!(matches!(transform.prepare(ev, 9), Err(Error::LevelTooHigh { .. })));
        let large = LinearTransform::from_real(256, &[1.0; 1 << 16]).unwrap();
        assert!(matches!(large.prepare(ev, 1), Err(Error::SlotCount { found: 256, capacity: 128 })));
        assert!(transform.apply_plain(&[]).is_err());
    }
}
