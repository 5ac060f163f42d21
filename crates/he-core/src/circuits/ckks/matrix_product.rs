//! Products of encrypted matrices.

use super::{BlockTransform, PreparedBlocks, TensorGrid, TensorLayout};
use crate::backend::{Cpu, RingOps};
use crate::circuits::Requirements;
use crate::ckks::{Ciphertext, Complex64, Evaluator};
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};
use derive_where::derive_where;

/// C = A B for encrypted matrices A of m x n and B of n x p, of any shape, or for as many pairs as
/// the layouts hold examples.
///
/// With n' = n rounded up to a power of two, C_ij = sum over k < n' of A\[i\]\[i + j + k\]
/// B\[i + j + k\]\[j\], indices modulo n' and entries outside of the matrices zero. One linear map
/// takes A to X\[i\]\[j\] = A\[i\]\[i + j\], with rows that go on for p + n' - 1 columns, and one
/// takes B to Y\[i\]\[j\] = B\[i + j\]\[j\]. Then term k is X rotated by k columns times Y rotated
/// by k rows. This is the method of Jiang, Kim, Lauter and Song with longer rows: they shift the
/// columns of square matrices cyclically, which takes a mask and a level for every k. Two levels
/// instead of three are worth more than half of the slots here, since levels are what bootstrapping
/// costs, and no mask is kept: the plaintexts are those of the two maps.
///
/// Cost: two levels; the rotations of two maps with up to 2 n' and n' diagonals; 2 (n' - 1)
/// rotations, of two decompositions; n' products, of which one sum is relinearised. Memory: 2 n'
/// ciphertexts. Values of the result are sums of n products, and noise is that of as many.
///
/// Source: Jiang, Kim, Lauter, Song, *Secure Outsourced Matrix Computation and Application to
/// Neural Networks*, CCS 2018.
///
/// ```
/// # use he_core::circuits::ckks::{MatrixProduct, TensorLayout};
/// # fn main() -> he_core::Result<()> {
/// // Eight pairs of 20 x 30 and 30 x 10, side by side.
/// let left = TensorLayout::batched([1, 20, 30], 8, 1 << 14)?;
/// let right = TensorLayout::batched([1, 30, 10], 8, 1 << 14)?;
/// let product = MatrixProduct::new(&left, &right)?;
/// assert_eq!(product.output().shape(), [1, 20, 10]);
/// assert_eq!(product.requirements().depth, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MatrixProduct {
    left: BlockTransform,
    right: BlockTransform,
    output: TensorLayout,
    /// n'.
    terms: usize,
    /// Slots from one row of X and Y to the next.
    row: usize,
}

impl MatrixProduct {
    /// For matrices in these layouts, each one channel.
    ///
    /// # Errors
    /// [`Error::Argument`] for several channels, shapes that do not fit each other, different
    /// numbers of examples, or matrices that do not fit: max(m, n) (p + n) slots, with each of the
    /// factors rounded up to a power of two, for each example, are needed in one ciphertext. Larger
    /// ones are products of blocks ([`PreparedProduct::apply_sum`]).
    pub fn new(left: &TensorLayout, right: &TensorLayout) -> Result<Self> {
        let ([one, m, n], [other, inner, p]) = (left.shape(), right.shape());
        if one != 1 || other != 1 || n != inner {
            let why = format!("{one} of {m} x {n} times {other} of {inner} x {p}");
            return Err(Error::domain("matrices", why, "one channel each, and as many columns as rows"));
        }
        if left.examples() != right.examples() {
            let why = format!("{} pairs and {}", left.examples(), right.examples());
            return Err(Error::argument("matrices", why));
        }
        let (unit, capacity) = (left.examples(), left.capacity().min(right.capacity()));
        let terms = n.next_power_of_two();
        let pitch = (p + terms - 1).next_power_of_two();
        let rows = terms.max(m.next_power_of_two());
        let slots = rows.checked_mul(pitch).and_then(|slots| slots.checked_mul(unit));
        let Some(slots) = slots.filter(|&slots| slots <= capacity) else {
            let why = format!("{rows} rows of {pitch} for {unit} pairs in {capacity} slots");
            return Err(Error::domain("matrices", why, "multiply them block by block"));
        };
        let skewed = TensorLayout::batched([rows * pitch, 1, 1], unit, capacity)?;
        let of_left = (0..m).flat_map(|i| {
            let columns = (0..p + terms - 1).map(move |j| (j, (i + j) % terms));
            let inside = columns.filter(|&(_, column)| column < n);
            inside.map(move |(j, column)| (i * pitch + j, left.place(0, i, column), Complex64::ONE))
        });
        let left = BlockTransform::of_places(left, &skewed, of_left);
        // It repeats where there are more rows.
        let skewed = TensorLayout::batched([terms * pitch, 1, 1], unit, capacity)?;
        let of_right = (0..terms).flat_map(|i| {
            let rows = (0..p).map(move |j| (j, (i + j) % terms)).filter(|&(_, row)| row < n);
            rows.map(move |(j, row)| (i * pitch + j, right.place(0, row, j), Complex64::ONE))
        });
        let right = BlockTransform::of_places(right, &skewed, of_right);
        let unit_grid = [1, 1];
        let grid = TensorGrid { gap: unit_grid, interleave: unit_grid, pitch, plane: m * pitch };
        let output = TensorLayout::with_grid([1, m, p], grid, unit, capacity)?.with_slots(slots)?;
        Ok(Self { left, right, output, terms, row: pitch * unit })
    }

    /// The layout of the result.
    pub fn output(&self) -> &TensorLayout {
        &self.output
    }

    /// Rotations of one pair of matrices.
    fn steps(&self) -> [Vec<i64>; 2] {
        [self.output.examples(), self.row].map(|step| (0..self.terms).map(|k| (k * step) as i64).collect())
    }

    /// Two levels, relinearisation, and the rotations.
    pub fn requirements(&self) -> Requirements {
        let steps = self.steps().into_iter().flatten().filter(|&step| step != 0);
        let products =
            Requirements { depth: 1, keys: KeyRequirements::new().relinearisation().rotations(steps) };
        self.left.requirements().union(&self.right.requirements()).then(&products)
    }

    /// The products in float64 of the slots of both sides.
    ///
    /// # Errors
    /// [`Error::Argument`] for other vectors than those of the layouts.
    pub fn apply_plain<T: Copy + Into<Complex64>>(
        &self,
        left: &[Vec<T>],
        right: &[Vec<T>],
    ) -> Result<Vec<Complex64>> {
        let (x, y) = (self.left.apply_plain(left)?, self.right.apply_plain(right)?);
        let [columns, rows] = self.steps();
        let at = |vector: &[Complex64], slot: usize| vector[slot % vector.len()];
        let sum = |slot: usize| {
            let terms = columns.iter().zip(&rows);
            terms.map(|(&k, &r)| at(&x[0], slot + k as usize) * at(&y[0], slot + r as usize)).sum()
        };
        Ok((0..self.output.slots()).map(sum).collect())
    }

    /// Encodes both maps for matrices of a level.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] below level 2; the same as for [`BlockTransform::prepare`].
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PreparedProduct<B>> {
        crate::circuits::check_level(2, level)?;
        Ok(PreparedProduct {
            left: self.left.prepare(ev, level)?,
            right: self.right.prepare(ev, level)?,
            requirements: self.requirements(),
            steps: self.steps(),
            output: self.output,
        })
    }
}

/// The ciphertexts of both matrices of a product.
type Sides<'a, B> = (&'a [Ciphertext<B>], &'a [Ciphertext<B>]);

/// A [`MatrixProduct`] encoded for one level.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PreparedProduct<B: RingOps = Cpu> {
    left: PreparedBlocks<B>,
    right: PreparedBlocks<B>,
    requirements: Requirements,
    steps: [Vec<i64>; 2],
    output: TensorLayout,
}

impl<B: RingOps> PreparedProduct<B> {
    /// Bytes of its plaintexts.
    pub fn bytes(&self) -> u64 {
        self.left.bytes() + self.right.bytes()
    }

    /// The product of two matrices, each in the ciphertexts of its layout.
    ///
    /// # Errors
    /// The same as for [`apply_sum`](Self::apply_sum).
    pub fn apply(
        &self,
        ev: &Evaluator<B>,
        left: &[Ciphertext<B>],
        right: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.apply_sum(ev, &[(left, right)], keys)
    }

    /// A_1 B_1 + A_2 B_2 + ..., relinearised once: an entry of a product of matrices of blocks.
    ///
    /// # Errors
    /// [`Error::Argument`] without pairs, or for other numbers of ciphertexts;
    /// [`Error::LevelExhausted`]; missing keys; mismatch of parameters, ring, batch or key sets;
    /// device errors.
    pub fn apply_sum(
        &self,
        ev: &Evaluator<B>,
        pairs: &[Sides<'_, B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        let lowest = pairs.iter().flat_map(|(a, b)| a.iter().chain(*b)).map(Ciphertext::level).min();
        self.requirements.check(lowest.unwrap_or(0), keys)?;
        let mut turned = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            let (x, y) = (self.left.apply(ev, left, keys)?, self.right.apply(ev, right, keys)?);
            let [columns, rows] = &self.steps;
            turned.push((ev.rotate_many(&x[0], columns, keys)?, ev.rotate_many(&y[0], rows, keys)?));
        }
        let products: Vec<_> =
            turned.iter().flat_map(|(x, y)| x.iter().zip(y)).map(|(x, y)| [x, y]).collect();
        let mut product = ev.sum_of_products(&products, keys)?;
        let given = pairs.iter().flat_map(|(a, b)| a.iter().chain(*b)).map(Ciphertext::slots).max();
        if given.is_some_and(|slots| slots <= self.output.slots()) {
            product.meta.slots = self.output.slots();
        }
        Ok(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::testing::{Fixture, seeded};
    use rand::{RngExt, rngs::ChaCha20Rng};

    fn random(rng: &mut ChaCha20Rng, count: usize) -> Vec<f64> {
        (0..count).map(|_| rng.random_range(-1.0..1.0)).collect()
    }

    /// Row by row, example by example.
    fn product([m, n, p]: [usize; 3], a: &[f64], b: &[f64]) -> Vec<f64> {
        let pairs = a.chunks_exact(m * n).zip(b.chunks_exact(n * p));
        pairs
            .flat_map(|(a, b)| {
                let entry =
                    move |(i, j): (usize, usize)| (0..n).map(|k| a[i * n + k] * b[k * p + j]).sum::<f64>();
                (0..m).flat_map(move |i| (0..p).map(move |j| (i, j))).map(entry).collect::<Vec<_>>()
            })
            .collect()
    }

    fn close(found: &[f64], expected: &[f64], bound: f64) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < bound, "{found} {expected}");
        }
    }

    #[test]
    fn matrices_of_any_shape_multiply() {
        let mut rng = seeded();
        for _ in 0..200 {
            let [m, n, p] = [0; 3].map(|_| rng.random_range(1..10));
            let examples = 1 << rng.random_range(0..3);
            let left = TensorLayout::batched([1, m, n], examples, 1 << 12).unwrap();
            let right = TensorLayout::batched([1, n, p], examples, 1 << 12).unwrap();
            let map = MatrixProduct::new(&left, &right).unwrap();
            let (a, b) = (random(&mut rng, examples * m * n), random(&mut rng, examples * n * p));
            let c = map.apply_plain(&left.pack(&a).unwrap(), &right.pack(&b).unwrap()).unwrap();
            close(&map.output().unpack(&[c]).unwrap(), &product([m, n, p], &a, &b), 1e-12);
        }
    }

    /// On ciphertexts, with exactly the keys required: square, tall, wide, of one and several
    /// examples, a product of a product, and a sum of two.
    #[test]
    fn encrypted_matrices_multiply() {
        for (shape, examples) in
            [([4, 4, 4], 4), ([3, 5, 2], 1), ([7, 2, 3], 2), ([1, 8, 1], 1), ([2, 1, 6], 1)]
        {
            let mut fixture = Fixture::new(9, 5);
            let [m, n, p] = shape;
            let layouts =
                [[1, m, n], [1, n, p], [1, p, m]].map(|shape| TensorLayout::batched(shape, examples, 256));
            let [left, right, third] = layouts.map(Result::unwrap);
            let first = MatrixProduct::new(&left, &right).unwrap();
            let second = MatrixProduct::new(first.output(), &third).unwrap();
            let keys = fixture.keys(first.requirements().then(&second.requirements()));
            let data = [&left, &right, &third, &left, &right]
                .map(|layout| random(&mut fixture.rng, examples * layout.entries()));
            let mut encrypt = |layout: &TensorLayout, data: &[f64]| {
                let slots = layout.pack(data).unwrap().remove(0).into_iter().map(Into::into).collect();
                vec![fixture.encrypt(&[slots], layout.slots())]
            };
            let [a, b, c] =
                [(&left, 0), (&right, 1), (&third, 2)].map(|(layout, i)| encrypt(layout, &data[i]));
            let [d, e] = [(&left, 3), (&right, 4)].map(|(layout, i)| encrypt(layout, &data[i]));
            let decrypted = |map: &MatrixProduct, ct: &Ciphertext| {
                let slots: Vec<Vec<Complex64>> = fixture.decrypt(ct);
                map.output().unpack(&slots[..1]).unwrap()
            };
            let ev = &fixture.ev;
            let prepared = first.prepare(ev, 5).unwrap();
            let ab = prepared.apply(ev, &a, &b, &keys).unwrap();
            assert_eq!((ab.level(), ab.slots()), (3, first.output().slots()));
            let expected = product(shape, &data[0], &data[1]);
            close(&decrypted(&first, &ab), &expected, 1e-5);
            let sum = prepared.apply_sum(ev, &[(&a, &b), (&d, &e)], &keys).unwrap();
            let other = product(shape, &data[3], &data[4]);
            let both: Vec<f64> = expected.iter().zip(&other).map(|(x, y)| x + y).collect();
            close(&decrypted(&first, &sum), &both, 1e-5);
            let abc = second.prepare(ev, 3).unwrap().apply(ev, &[ab], &c, &keys).unwrap();
            assert_eq!(abc.level(), 1);
            close(&decrypted(&second, &abc), &product([m, p, m], &expected, &data[2]), 1e-4);
            assert!(prepared.apply_sum(ev, &[], &keys).is_err());
            assert!(matches!(first.prepare(ev, 1), Err(Error::LevelExhausted { needed: 2, left: 1 })));
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let of = |shape, examples| TensorLayout::batched(shape, examples, 256).unwrap();
        for (left, right) in [
            (of([1, 4, 4], 1), of([1, 5, 4], 1)),
            (of([2, 4, 4], 1), of([1, 4, 4], 1)),
            (of([1, 4, 4], 1), of([1, 4, 4], 2)),
            (of([1, 16, 16], 1), of([1, 16, 16], 1)),
        ] {
            assert!(matches!(MatrixProduct::new(&left, &right), Err(Error::Argument { .. })));
        }
        assert!(MatrixProduct::new(&of([1, 8, 8], 2), &of([1, 8, 8], 2)).is_ok());
    }
}
