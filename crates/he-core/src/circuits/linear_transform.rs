//! Plain matrices times encrypted vectors.

use super::{Requirements, argument, check_level};
use crate::backend::{Cpu, RingOps};
use crate::ckks::{Ciphertext, Evaluator, Plaintext};
use crate::error::Result;
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use derive_where::derive_where;
use num_complex::Complex64;
use std::collections::{BTreeMap, BTreeSet};

/// A matrix of m rows and n columns by its diagonals.
///
/// With M the matrix, padded by zeros to powers of two m' and n', and p the larger and d the
/// smaller of both: diagonal k < d holds M[i mod m'][(i + k) mod n'] at i < p. y = sum_k diagonal_k
/// x rotated by k (Halevi, Shoup, CRYPTO 2014), with k = giant + baby: the baby rotations of x are
/// made once from one decomposition, and each giant step rotates one sum. Only diagonals that are
/// not zero cost anything; the split into steps is the one with the fewest rotations. A matrix with
/// more columns than rows leaves sums of every m'-th slot, which log2(n' / m') more rotations add
/// up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearTransform {
    rows: usize,
    columns: usize,
    diagonals: BTreeMap<usize, Vec<Complex64>>,
    babies: usize,
}

impl LinearTransform {
    /// From a square matrix row by row, `dimension` a power of two.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for another dimension, another number of entries, or an entry that is not
    /// finite.
    pub fn new(dimension: usize, entries: &[Complex64]) -> Result<Self> {
        if !dimension.is_power_of_two() {
            let why = format!("a dimension of {dimension}; a power of two is needed, or `rectangular`");
            return Err(argument("matrix", why));
        }
        Self::rectangular(dimension, dimension, entries)
    }

    /// From a square matrix of real numbers, likewise.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn from_real(dimension: usize, entries: &[f64]) -> Result<Self> {
        Self::new(dimension, &entries.iter().map(|&x| Complex64::new(x, 0.0)).collect::<Vec<_>>())
    }

    /// From any matrix row by row, of real or complex numbers: `rows` x `columns` entries, padded
    /// inside by zeros to powers of two m' and n'.
    ///
    /// It takes vectors of n' slots ([`input_slots`](Self::input_slots)), of which slots from
    /// `columns` on may hold anything, and leaves vectors of m' slots
    /// ([`output_slots`](Self::output_slots)), those from `rows` on zero up to noise.
    ///
    /// Cost, with d = min(m', n'): one level; about 2 sqrt(d) rotations for a matrix without zeros,
    /// and log2(n' / m') more if there are more columns than rows; d max(m', n') encoded numbers.
    /// So a row times a vector takes log2(n') rotations, and a column none.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, circuits::LinearTransform, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let m = LinearTransform::rectangular(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let keys = EvaluationKeys::generate(&secret, &ring, m.requirements(), &mut rng)?;
    ///
    /// let ev = Evaluator::new(&params, &ring)?;
    /// let to = params.encoding().slots(m.input_slots());
    /// let x = ev.encoder().encode_real(&[1.0, 0.0, -1.0], to)?;
    /// let x = SecretEncryptor::new(&params, &secret, &ring)?.encrypt(&x, &mut rng)?.expand()?;
    /// let y = m.apply(&ev, &x, &keys)?;
    /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
    /// assert!(y.len() == 2 && (y[0] + 2.0).abs() < 1e-4 && (y[1] + 2.0).abs() < 1e-4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for no rows or columns, another number of
    /// entries, or an entry that is not finite.
    pub fn rectangular<T: Copy + Into<Complex64>>(
        rows: usize,
        columns: usize,
        entries: &[T],
    ) -> Result<Self> {
        if rows == 0 || columns == 0 || rows.checked_mul(columns) != Some(entries.len()) {
            let found = entries.len();
            return Err(argument("matrix", format!("{found} entries for {rows} x {columns}")));
        }
        let entry = |row: usize, column: usize| -> Complex64 { entries[row * columns + column].into() };
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            if !entry(row, column).is_finite() {
                return Err(argument("matrix", format!("entry ({row}, {column}) is not a finite number")));
            }
        }
        let (output, input) = (rows.next_power_of_two(), columns.next_power_of_two());
        let padded = |i: usize, k: usize| match (i % output, (i + k) % input) {
            (row, column) if row < rows && column < columns => entry(row, column),
            _ => Complex64::ZERO,
        };
        let diagonals: BTreeMap<usize, Vec<Complex64>> = (0..output.min(input))
            .map(|k| (k, (0..output.max(input)).map(|i| padded(i, k)).collect::<Vec<_>>()))
            .filter(|(_, diagonal)| diagonal.iter().any(|z| *z != Complex64::ZERO))
            .collect();
        let babies = (0..=output.min(input).ilog2())
            .map(|log| 1 << log)
            .min_by_key(|&babies| {
                let (baby, giant) = split(diagonals.keys(), babies);
                baby.len() + giant.len()
            })
            .unwrap_or(1);
        Ok(Self { rows, columns, diagonals, babies })
    }

    /// Rows, as they were given.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, as they were given.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Slots of the vectors that it multiplies: the columns, rounded up to a power of two.
    pub fn input_slots(&self) -> usize {
        self.columns.next_power_of_two()
    }

    /// Slots of the products: the rows, rounded up to a power of two.
    pub fn output_slots(&self) -> usize {
        self.rows.next_power_of_two()
    }

    /// Slots of the diagonals.
    fn period(&self) -> usize {
        self.input_slots().max(self.output_slots())
    }

    /// Rotations that add up the partial sums of a matrix with more columns than rows, the shortest
    /// first.
    fn folds(&self) -> Vec<i64> {
        let doubled = std::iter::successors(Some(self.output_slots()), |step| step.checked_mul(2));
        // A matrix without entries other than zero leaves nothing to add up.
        let end = if self.diagonals.is_empty() { 0 } else { self.input_slots() };
        doubled.take_while(|&step| step < end).map(|step| step as i64).collect()
    }

    /// One level, and the rotations: baby and giant steps, about 2 sqrt(d) for a matrix without
    /// zeros, and those that add up partial sums.
    pub fn requirements(&self) -> Requirements {
        let (baby, giant) = split(self.diagonals.keys(), self.babies);
        let steps: BTreeSet<i64> = baby.into_iter().chain(giant).chain(self.folds()).collect();
        Requirements { depth: 1, keys: KeyRequirements::new().rotations(steps) }
    }

    /// The product in float64: `rows` numbers.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a vector of another length than `columns`.
    pub fn apply_plain(&self, x: &[Complex64]) -> Result<Vec<Complex64>> {
        if x.len() != self.columns {
            let why = format!("{} numbers for a matrix of {} columns", x.len(), self.columns);
            return Err(argument("vector", why));
        }
        let (input, output) = (self.input_slots(), self.output_slots());
        let at = |column: usize| x.get(column).copied().unwrap_or_default();
        let sum =
            |i: usize| self.diagonals.iter().map(|(k, v)| v[i] * at((i + k) % input)).sum::<Complex64>();
        Ok((0..self.rows).map(|row| (row..self.period()).step_by(output).map(sum).sum()).collect())
    }

    /// Encodes the diagonals for ciphertexts of a level: N words for each prime and diagonal that is not zero.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) for level 0, [`Error::LevelTooHigh`](crate::Error::LevelTooHigh);
    /// [`Error::SlotCount`](crate::Error::SlotCount) for more rows or columns than N/2;
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for entries; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PreparedTransform<B>> {
        check_level(1, level)?;
        let (params, period) = (ev.params(), self.period());
        let encoding = params.encoding().at_level(params, level)?.for_multiplying(params)?.slots(period);
        let mut groups: BTreeMap<i64, Vec<(i64, Plaintext<B>)>> = BTreeMap::new();
        for (k, diagonal) in &self.diagonals {
            let (giant, baby) = (k - k % self.babies, k % self.babies);
            // Rotated back, because the giant step rotates it with the sum.
            let rotated: Vec<Complex64> =
                (0..period).map(|i| diagonal[(i + period - giant) % period]).collect();
            let plain = ev.encoder().encode(&rotated, encoding)?;
            groups.entry(giant as i64).or_default().push((baby as i64, plain));
        }
        let (requirements, folds) = (self.requirements(), self.folds());
        Ok(PreparedTransform {
            requirements,
            groups,
            folds,
            input_slots: self.input_slots(),
            output_slots: self.output_slots(),
        })
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
    /// Rotations that add up partial sums.
    folds: Vec<i64>,
    input_slots: usize,
    output_slots: usize,
}

impl<B: RingOps> PreparedTransform<B> {
    /// What the transform needs.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Multiplies every vector of a batch. The vectors must have the matrix's
    /// [`input_slots`](LinearTransform::input_slots), or repeat with them as period, as those
    /// encoded with that many slots do; the result repeats with the
    /// [`output_slots`](LinearTransform::output_slots) and says so where the ciphertext has no more
    /// slots than the matrix.
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
        let mut sum = sum.map_or_else(|| ev.mul_scalar(ct, 0.0), Ok)?;
        for &step in &self.folds {
            sum = ev.add(&sum, &ev.rotate(&sum, step, keys)?)?;
        }
        if ct.slots() <= self.input_slots {
            sum.meta.slots = self.output_slots;
        }
        Ok(sum)
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
        requirements.keys.rotation_steps().len()
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

    /// Products by matrices of any shape, against sums over rows, with exactly the keys that are
    /// required.
    #[test]
    fn matrices_of_any_shape_match() {
        let mut fixture = Fixture::new(8, 2);
        let shapes = [
            (1, 1, 0),
            (1, 128, 7),
            (128, 1, 0),
            (2, 3, 2),
            (3, 2, 1),
            (3, 5, 3),
            (5, 3, 2),
            (10, 100, 9),
            (100, 10, 6),
            (7, 128, 8),
            (100, 100, 22),
        ];
        for (rows, columns, rotations) in shapes {
            for imaginary in [0.0, 1.0] {
                let matrix = random(&mut fixture, rows * columns, imaginary);
                let transform = LinearTransform::rectangular(rows, columns, &matrix).unwrap();
                assert_eq!((transform.rows(), transform.columns()), (rows, columns));
                let requirements = transform.requirements();
                assert_eq!(requirements.keys.rotation_steps().len(), rotations, "{rows} x {columns}");
                let keys = fixture.keys(&requirements);
                // Slots beyond the columns do not matter.
                let (input, output) = (transform.input_slots(), transform.output_slots());
                let vectors = [(); 2].map(|()| random(&mut fixture, input, imaginary));
                let ct = fixture.encrypt(&vectors, input);
                let out = transform.apply(&fixture.ev, &ct, &keys).unwrap();
                assert_eq!((ct.level() - out.level(), out.slots()), (1, output));
                for (x, y) in vectors.iter().zip(fixture.decrypt(&out)) {
                    let plain = transform.apply_plain(&x[..columns]).unwrap();
                    assert_eq!((plain.len(), y.len()), (rows, output));
                    for i in 0..output {
                        let entries = (0..columns).map(|j| match matrix.get(i * columns + j) {
                            Some(entry) if i < rows => entry * x[j],
                            _ => Complex64::ZERO,
                        });
                        let expected: Complex64 = entries.sum();
                        let of_plain = plain.get(i).copied().unwrap_or_default();
                        assert!((of_plain - expected).norm() < 1e-12, "{rows} x {columns}, row {i}");
                        let error = (y[i] - expected).norm();
                        assert!(error < 1e-6, "{rows} x {columns}, row {i}: {}, not {expected}", y[i]);
                    }
                }
            }
        }
        let zero = LinearTransform::rectangular(3, 5, &[0.0; 15]).unwrap();
        assert!(zero.requirements().keys.rotation_steps().is_empty());
        let vector = random(&mut fixture, 8, 0.0);
        let ct = fixture.encrypt(&[vector], 8);
        let keys = fixture.keys(&zero.requirements());
        let out = fixture.decrypt(&zero.apply(&fixture.ev, &ct, &keys).unwrap());
        assert!(out[0].len() == 4 && out[0].iter().all(|y| y.norm() < 1e-6));
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
        assert!(LinearTransform::rectangular::<f64>(0, 3, &[]).is_err());
        assert!(LinearTransform::rectangular::<f64>(3, 0, &[]).is_err());
        assert!(LinearTransform::rectangular(2, 3, &[0.0; 5]).is_err());
        assert!(LinearTransform::rectangular::<f64>(usize::MAX, 2, &[]).is_err());
        let error =
            LinearTransform::rectangular(2, 3, &[0.0, 0.0, 0.0, 0.0, 0.0, f64::INFINITY]).unwrap_err();
        assert!(error.to_string().contains("entry (1, 2)"), "{error}");
        let wide = LinearTransform::rectangular(2, 3, &[1.0; 6]).unwrap();
        assert!(wide.apply_plain(&[Complex64::ZERO; 4]).is_err());
        let error = LinearTransform::from_real(2, &[0.0, 0.0, f64::NAN, 0.0]).unwrap_err().to_string();
        assert!(error.contains("entry (1, 0)"), "{error}");
        let mut fixture = Fixture::new(8, 1);
        let transform = LinearTransform::from_real(4, &[1.0; 16]).unwrap();
        let vector = random(&mut fixture, 4, 0.0);
        let ct = fixture.encrypt(&[vector], 4);
        let none = fixture.keys(KeyRequirements::new());
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
