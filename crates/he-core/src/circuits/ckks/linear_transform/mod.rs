//! Products of plain matrices and encrypted vectors.

use crate::backend::{Cpu, RingOps};
use crate::circuits::{Requirements, check_level};
use crate::ckks::{
    Ciphertext, CkksParams, Evaluator, ExtendedPlaintext, Plaintext, StepGroup, to_plaintexts,
};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, ImageSums, KeyRequirements};
use derive_where::derive_where;
use num_complex::Complex64;
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use steps::Steps;
use strides::Strides;

/// A matrix of m rows and n columns by its diagonals.
///
/// With M the matrix, padded by zeros to powers of two m' and n', and p the larger and d the
/// smaller of both: diagonal k < d holds M[i mod m'][(i + k) mod n'] at i < p. y = sum_k diagonal_k
/// x rotated by k (Halevi, Shoup, CRYPTO 2014), with k = giant + baby: the baby rotations of x are
/// made once from one decomposition, and each giant step rotates one sum. Only diagonals that are
/// not zero cost anything; the split into steps is the one with the fewest rotations, and of those
/// with the fewest giant steps, which cost more. A matrix with more columns than rows leaves sums
/// of every m'-th slot, which log2(n' / m') more rotations add up.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearTransform {
    rows: usize,
    columns: usize,
    diagonals: BTreeMap<usize, Vec<Complex64>>,
    split: Split,
}

/// The rotations by which diagonals are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Split {
    /// By one baby step and one giant step, each with a key.
    Steps(Steps),
    /// By few rotations, again and again.
    Strides(Strides),
}

impl LinearTransform {
    /// From a square matrix row by row, `dimension` a power of two.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for another dimension, another number of
    /// entries, or an entry that is not finite.
    pub fn new(dimension: usize, entries: &[Complex64]) -> Result<Self> {
        if !dimension.is_power_of_two() {
            return Err(Error::domain(
                "matrix",
                format!("a dimension of {dimension}"),
                "a power of two is needed, or `rectangular`",
            ));
        }
        Self::rectangular(dimension, dimension, entries)
    }

    /// From a square matrix of real numbers, likewise.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
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
    /// # use he_core::{backend::Cpu, circuits::ckks::LinearTransform, ckks::*, ring::Ring, rlwe::*};
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
            return Err(Error::argument("matrix", format!("{found} entries for {rows} x {columns}")));
        }
        let entry = |row: usize, column: usize| -> Complex64 { entries[row * columns + column].into() };
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            if !entry(row, column).is_finite() {
                return Err(Error::argument(
                    "matrix",
                    format!("entry ({row}, {column}) is not a finite number"),
                ));
            }
        }
        let (output, input) = (rows.next_power_of_two(), columns.next_power_of_two());
        let padded = |k: usize, i: usize| match (i % output, (i + k) % input) {
            (row, column) if row < rows && column < columns => entry(row, column),
            _ => Complex64::ZERO,
        };
        let diagonal = |k: usize| (0..output.max(input)).map(|i| padded(k, i)).collect();
        Ok(Self::of_diagonals(rows, columns, (0..output.min(input)).map(|k| (k, diagonal(k)))))
    }

    /// From the diagonals of a square matrix that are not zero, `dimension` a power of two:
    /// diagonal k holds M[i][(i + k) mod dimension] at i, so that the product is
    /// sum_k diagonal_k x rotated by k. Indices count modulo the dimension: diagonal -1 is
    /// diagonal `dimension` - 1. Nothing of the size of the matrix is made: memory and time are
    /// those of the diagonals given, and diagonals of zeros cost nothing.
    ///
    /// ```
    /// # use he_core::circuits::ckks::LinearTransform;
    /// # use std::collections::BTreeMap;
    /// # fn main() -> he_core::Result<()> {
    /// // y_i = x_(i-1) - 2 x_i + x_(i+1), cyclically, over 2^15 slots.
    /// let constant = |value: f64| vec![value; 1 << 15];
    /// let diagonals = BTreeMap::from([(-1, constant(1.0)), (0, constant(-2.0)), (1, constant(1.0))]);
    /// let second_difference = LinearTransform::from_diagonals(1 << 15, &diagonals)?;
    /// assert_eq!(second_difference.requirements().keys.rotation_steps().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a dimension that is not a power of two, a
    /// diagonal of another length, two diagonals of one index modulo the dimension, or an entry
    /// that is not finite.
    pub fn from_diagonals<T: Copy + Into<Complex64>>(
        dimension: usize,
        diagonals: &BTreeMap<i64, Vec<T>>,
    ) -> Result<Self> {
        if !dimension.is_power_of_two() || i64::try_from(dimension).is_err() {
            return Err(Error::domain(
                "matrix",
                format!("a dimension of {dimension}"),
                "a power of two is needed",
            ));
        }
        let mut found: BTreeMap<usize, Vec<Complex64>> = BTreeMap::new();
        for (&index, diagonal) in diagonals {
            if diagonal.len() != dimension {
                let why = format!("{} entries on diagonal {index}, {dimension} needed", diagonal.len());
                return Err(Error::argument("matrix", why));
            }
            let entries: Vec<Complex64> = diagonal.iter().map(|&entry| entry.into()).collect();
            if let Some(row) = entries.iter().position(|entry| !entry.is_finite()) {
                let why = format!("entry {row} of diagonal {index} is not a finite number");
                return Err(Error::argument("matrix", why));
            }
            if found.insert(index.rem_euclid(dimension as i64) as usize, entries).is_some() {
                let why = format!("diagonal {index} is given twice, modulo {dimension}");
                return Err(Error::argument("matrix", why));
            }
        }
        Ok(Self::of_diagonals(dimension, dimension, found))
    }

    /// Without the diagonals that are zero, and split into steps.
    fn of_diagonals(
        rows: usize,
        columns: usize,
        diagonals: impl IntoIterator<Item = (usize, Vec<Complex64>)>,
    ) -> Self {
        let nonzero =
            |(_, diagonal): &(usize, Vec<Complex64>)| diagonal.iter().any(|z| *z != Complex64::ZERO);
        let diagonals: BTreeMap<_, _> = diagonals.into_iter().filter(nonzero).collect();
        let smaller = rows.next_power_of_two().min(columns.next_power_of_two());
        let split = Split::Steps(Steps::fewest(diagonals.keys(), smaller));
        Self { rows, columns, diagonals, split }
    }

    /// With the steps of least time where a giant step takes as long as `giant_cost` baby steps,
    /// in place of the fewest rotations: a baby step costs an inner product with its key, a giant
    /// step one of those, a division and a decomposition. That is four to five on a GPU with
    /// double hoisting, and fewer on a CPU. More baby steps take more keys.
    ///
    /// The diagonals of a square matrix count from both sides of the main one, so that those of a
    /// band take fewer steps. A matrix that is not square keeps its steps.
    ///
    /// ```
    /// # use he_core::circuits::ckks::LinearTransform;
    /// # use std::collections::BTreeMap;
    /// # fn main() -> he_core::Result<()> {
    /// let band: BTreeMap<i64, Vec<f64>> = (-15..=15).map(|k| (k, vec![1.0; 64])).collect();
    /// let matrix = LinearTransform::from_diagonals(64, &band)?;
    /// let steps = |matrix: &LinearTransform| matrix.requirements().keys.rotation_steps().len();
    /// assert_eq!(steps(&matrix), 10); // 7 baby steps and 3 giant steps
    /// assert_eq!(steps(&matrix.with_giant_cost(4)), 12); // 10 and 2
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_giant_cost(mut self, giant_cost: usize) -> Self {
        if self.input_slots() == self.output_slots() {
            let steps = Steps::cheapest(self.diagonals.keys(), self.input_slots(), giant_cost);
            self.split = Split::Steps(steps);
        }
        self
    }

    /// With `babies` baby steps to a giant step, a power of two up to the number of diagonals d, in
    /// place of the number that needs the fewest rotations. More baby steps take more memory and
    /// fewer divisions: a baby step costs an inner product with its key, a giant step one of those,
    /// a division and a decomposition.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for another number.
    pub fn with_baby_steps(mut self, babies: usize) -> Result<Self> {
        let highest = self.input_slots().min(self.output_slots());
        if !babies.is_power_of_two() || babies > highest {
            return Err(Error::domain(
                "number of baby steps",
                babies.to_string(),
                format!("powers of two up to {highest} are possible"),
            ));
        }
        self.split = Split::Steps(Steps::of_babies(babies));
        Ok(self)
    }

    /// With the fewest keys instead of the least time: at most three rotations, whatever the
    /// matrix, and those that add up partial sums.
    ///
    /// Diagonals are reached by rotating again and again by the same steps: b - 1 times for b baby
    /// steps, g - 1 times for g giant steps, and once to the first diagonal. Each of these
    /// rotations is decomposed and divided by itself, and adds its noise to what follows.
    ///
    /// ```
    /// # use he_core::circuits::ckks::LinearTransform;
    /// # fn main() -> he_core::Result<()> {
    /// let matrix = LinearTransform::from_real(64, &vec![1.0; 64 * 64])?;
    /// assert_eq!(matrix.requirements().keys.rotation_steps().len(), 14);
    /// assert_eq!(matrix.with_few_keys().requirements().keys.rotation_steps().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Source: Kim, Kim, Seo, Kim, Kim, Rhu, Ahn, *ARK: Fully Homomorphic Encryption Accelerator
    /// with Runtime Data Generation and Inter-Operation Key Reuse*, MICRO 2022 (minimum key
    /// switching).
    #[must_use]
    pub fn with_few_keys(mut self) -> Self {
        let indices: Vec<usize> = self.diagonals.keys().copied().collect();
        self.split = Split::Strides(Strides::new(&indices, self.input_slots()));
        self
    }

    /// Rows, as they were given.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns, as they were given.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Diagonals that are not zero.
    pub fn diagonals(&self) -> usize {
        self.diagonals.len()
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
        let mut steps: BTreeSet<i64> = match &self.split {
            Split::Strides(strides) => strides.rotations(self.diagonals.keys().copied()),
            Split::Steps(steps) => {
                let (baby, giant) = steps.all(self.diagonals.keys());
                baby.into_iter().chain(giant).collect()
            }
        };
        steps.extend(self.folds());
        Requirements { depth: 1, keys: KeyRequirements::new().rotations(steps) }
    }

    /// The product in float64: `rows` numbers.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for a vector of another length than `columns`.
    pub fn apply_plain(&self, x: &[Complex64]) -> Result<Vec<Complex64>> {
        if x.len() != self.columns {
            let why = format!("{} numbers for a matrix of {} columns", x.len(), self.columns);
            return Err(Error::argument("vector", why));
        }
        let (input, output) = (self.input_slots(), self.output_slots());
        let at = |column: usize| x.get(column).copied().unwrap_or_default();
        let sum =
            |i: usize| self.diagonals.iter().map(|(k, v)| v[i] * at((i + k) % input)).sum::<Complex64>();
        Ok((0..self.rows).map(|row| (row..self.period()).step_by(output).map(sum).sum()).collect())
    }

    /// Bytes of the plaintexts that [`prepare`](Self::prepare) makes for a level: N words for each
    /// prime and diagonal that is not zero. If double hoisting costs less time
    /// ([`PreparedTransform::apply`]), the special primes are included, and a diagonal whose values
    /// repeat after n of them, a power of two, takes 2n words for each prime.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) for level 0,
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh).
    pub fn plaintext_bytes(&self, params: &CkksParams, level: usize) -> Result<u64> {
        check_level(1, level)?;
        let (ring, primes) = (params.rlwe().ring(), params.level(level)?.primes);
        let bytes = match self.split {
            Split::Steps(steps) if self.prefers_double_hoisting(params, level, steps) => {
                let limbs = self.diagonals.values().map(|diagonal| params.extended_limb_bytes(diagonal, 1));
                limbs.sum::<usize>() * (primes + ring.p().len())
            }
            _ => self.diagonals.len() * primes * ring.n() * size_of::<u64>(),
        };
        Ok(bytes as u64)
    }

    /// Encodes the diagonals for ciphertexts of a level: as many bytes as
    /// [`plaintext_bytes`](Self::plaintext_bytes) says.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted) for level 0,
    /// [`Error::LevelTooHigh`](crate::Error::LevelTooHigh);
    /// [`Error::SlotCount`](crate::Error::SlotCount) for more rows or columns than N/2;
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for entries; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PreparedTransform<B>> {
        check_level(1, level)?;
        let (params, period) = (ev.params(), self.period());
        let encoding = params.encoding().at_level(params, level)?.for_multiplying(params)?.slots(period);
        let encode = |values: &[Complex64]| ev.encoder().encode(values, encoding);
        let diagonals = match self.split {
            Split::Strides(strides) => {
                let place = |k| {
                    let (giant, baby) = strides.of(k);
                    ((giant * strides.giant()) as i64, giant as i64, baby as i64)
                };
                Diagonals::Strided(strides, self.encoded(place, encode)?)
            }
            Split::Steps(steps) => {
                let place = |k| {
                    let (giant, baby) = steps.of(k);
                    (giant, giant, baby)
                };
                let extended = |values: &[Complex64]| ev.encode_extended(values, encoding);
                match self.prefers_double_hoisting(params, level, steps) {
                    true => Diagonals::Extended(self.encoded(place, extended)?),
                    false => Diagonals::Chain(self.encoded(place, encode)?),
                }
            }
        };
        let (requirements, folds) = (self.requirements(), self.folds());
        Ok(PreparedTransform {
            requirements,
            level,
            diagonals,
            folds,
            input_slots: self.input_slots(),
            output_slots: self.output_slots(),
        })
    }

    /// Whether double hoisting costs less time, with these steps.
    fn prefers_double_hoisting(&self, params: &CkksParams, level: usize, steps: Steps) -> bool {
        let (babies, giants) = steps.all(self.diagonals.keys());
        let work = Work {
            babies: babies.len(),
            giants: giants.len(),
            groups: giants.len() + usize::from(self.diagonals.keys().any(|&k| steps.of(k).0 == 0)),
            terms: self.diagonals.len(),
            outputs: 1,
        };
        double_hoisting_pays(params, level, work)
    }

    /// The diagonals by their steps; `place` gives for each the rotation of its giant step, and the
    /// names of both steps.
    fn encoded<P>(
        &self,
        place: impl Fn(usize) -> (i64, i64, i64),
        encode: impl Fn(&[Complex64]) -> Result<P>,
    ) -> Result<Vec<StepGroup<P>>> {
        let (period, mut groups) = (self.period(), BTreeMap::<i64, Vec<(i64, P)>>::new());
        for (&k, diagonal) in &self.diagonals {
            let (turn, giant, baby) = place(k);
            // Rotated back, because the giant step rotates it with the sum.
            let back = (-turn).rem_euclid(period as i64) as usize;
            let rotated: Vec<Complex64> = (0..period).map(|i| diagonal[(i + back) % period]).collect();
            groups.entry(giant).or_default().push((baby, encode(&rotated)?));
        }
        Ok(groups.into_iter().collect())
    }

    /// [`prepare`](Self::prepare) for the ciphertext's level, then [`PreparedTransform::apply`].
    ///
    /// # Errors
    /// The same as for both.
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

/// Encoded diagonals.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
enum Diagonals<B: RingOps> {
    /// Modulo the primes of the level.
    Chain(Vec<StepGroup<Plaintext<B>>>),
    /// Modulo the special primes, too: for double hoisting.
    Extended(Vec<StepGroup<ExtendedPlaintext<B>>>),
    /// Modulo the primes of the level, by multiples of the strides.
    Strided(Strides, Vec<StepGroup<Plaintext<B>>>),
}

impl<B: RingOps> Diagonals<B> {
    /// Bytes of all of them.
    fn bytes(&self) -> u64 {
        fn of<P>(groups: &[StepGroup<P>], bytes: impl Fn(&P) -> u64) -> u64 {
            groups.iter().flat_map(|(_, terms)| terms).map(|(_, diagonal)| bytes(diagonal)).sum()
        }
        match self {
            Self::Chain(groups) | Self::Strided(_, groups) => of(groups, Plaintext::bytes),
            Self::Extended(groups) => of(groups, ExtendedPlaintext::bytes),
        }
    }
}

/// A [`LinearTransform`] encoded for one level.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PreparedTransform<B: RingOps = Cpu> {
    requirements: Requirements,
    level: usize,
    diagonals: Diagonals<B>,
    /// Rotations that add up partial sums.
    folds: Vec<i64>,
    input_slots: usize,
    output_slots: usize,
}

impl<B: RingOps> PreparedTransform<B> {
    /// The levels and keys that the transform needs.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// Bytes of its plaintexts.
    pub fn bytes(&self) -> u64 {
        self.diagonals.bytes()
    }

    /// Multiplies every vector of a batch. The vectors must have the matrix's
    /// [`input_slots`](LinearTransform::input_slots), or repeat with them as period, as those
    /// encoded with that many slots do; the result repeats with the
    /// [`output_slots`](LinearTransform::output_slots) and says so where the ciphertext has no more
    /// slots than the matrix.
    ///
    /// One level. The magnitude grows by up to the largest sum of |entry| over a row, and noise
    /// with it; every rotation adds its key switching.
    ///
    /// With b baby and g giant steps other than 0, and f rotations that add up partial sums (the
    /// [`requirements`](Self::requirements) are these steps), there are b + g + f key switches. The
    /// baby rotations share one decomposition. With double hoisting
    /// ([`double_hoisted_sum`](Evaluator::double_hoisted_sum)) they are not divided by P, every
    /// giant step decomposes and divides one polynomial, and the sum of all is divided once with
    /// the level's primes: g + 2 polynomials are divided, and 2 f for the partial sums. Where the
    /// products with so many diagonals over Q P would cost more than that saves, diagonals are
    /// encoded without the special primes, and every rotation and every group of diagonals is
    /// divided: 2 b + 4 g + 2 polynomials; with [few keys](LinearTransform::with_few_keys) every
    /// rotation is also decomposed by itself. A ciphertext of a higher level than prepared for is
    /// lowered; for one of a lower level the diagonals are, and every rotation is divided, at some
    /// cost.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`](crate::Error::LevelExhausted),
    /// [`Error::MissingGaloisKey`](crate::Error::MissingGaloisKey),
    /// [`Error::ParamsMismatch`](crate::Error::ParamsMismatch); device errors.
    pub fn apply(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.requirements.check(ct.level(), keys)?;
        let lowered = ev.lowered_to(ct, self.level)?;
        let lowered: &Ciphertext<B> = lowered.borrow();
        let mut sum = match &self.diagonals {
            Diagonals::Chain(groups) => ev.hoisted_sum(lowered, groups, keys)?,
            Diagonals::Strided(strides, groups) => strides.sum(ev, lowered, groups, keys)?,
            Diagonals::Extended(groups) if lowered.level() == self.level => {
                ev.double_hoisted_sum(lowered, groups, keys)?
            }
            Diagonals::Extended(groups) => ev.hoisted_sum(lowered, &to_plaintexts(groups)?, keys)?,
        };
        for &step in &self.folds {
            let rotated = ev.rotate(&sum, step, keys)?;
            ev.add_assign(&mut sum, &rotated)?;
        }
        if ct.slots() <= self.input_slots {
            sum.meta.slots = self.output_slots;
        }
        Ok(sum)
    }

    /// Sums of images of the product, for matrices that are not wider than high, one after the
    /// other in the batch: one key switch more, with double hoisting before the division by the
    /// primes of the level. Needs the keys of the images, too.
    pub(crate) fn apply_images(
        &self,
        ev: &Evaluator<B>,
        ct: &Ciphertext<B>,
        images: &ImageSums<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        match &self.diagonals {
            Diagonals::Extended(groups) if ct.level() == self.level && self.folds.is_empty() => {
                self.requirements.check(ct.level(), keys)?;
                let mut sums = ev.double_hoisted_images(ct, groups, images, keys)?;
                if ct.slots() <= self.input_slots {
                    sums.meta.slots = self.output_slots;
                }
                Ok(sums)
            }
            _ => ev.sums_of_images(&self.apply(ev, ct, keys)?, images, keys),
        }
    }
}

mod steps;
mod strides;
mod work;

pub(super) use work::{Work, double_hoisting_pays};

#[cfg(test)]
mod tests;
