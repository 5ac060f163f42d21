//! The transform between slots and coefficients modulo t, as a product of few matrices with few
//! diagonals each.

use crate::arith::Modulus;
use crate::ring::galois_rotation;
use std::collections::BTreeMap;
use std::ops::Range;

/// A matrix for each of the two rows of slots, by its diagonals: diagonal k of a row holds
/// M\[i\]\[(i + k) mod n\] at i.
pub(super) type Diagonals = BTreeMap<usize, [Vec<u64>; 2]>;

/// The direction of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From slots to coefficients.
    ToCoefficients,
    /// From coefficients to slots.
    ToSlots,
}

/// The map between the n slots of both rows and the 2n coefficients m_k of a polynomial in X^(N /
/// 2n), for a root psi of degree 4n: slot j of the first row is the sum of u_k psi^(5^j k) over k <
/// n with u_k = m_k + i m_(k+n), i = psi^n, since psi^(5^j n) = i for all j. The second row is the
/// same with 1 / psi and -i. These sums are the special FFT of CKKS, modulo t, whose butterflies
/// take u_k in bit-reversed order.
pub(super) struct Transform {
    t: Modulus,
    log_slots: u32,
    /// psi^5^j, as powers of psi and of its inverse.
    roots: [u64; 2],
    direction: Direction,
}

impl Transform {
    /// `root` is a root of unity of degree 4n for n = 2^`log_slots`.
    pub fn new(t: Modulus, log_slots: u32, root: u64, direction: Direction) -> Self {
        Self { t, log_slots, roots: [root, t.inv(root)], direction }
    }

    fn slots(&self) -> usize {
        1 << self.log_slots
    }

    /// 1/2 modulo t.
    fn half(&self) -> u64 {
        self.t.inv(2)
    }

    /// The factors of the slots of each row, and of those of the other, with which their sums are
    /// m_k + i m_(k+n) and m_k - i m_(k+n), where m_k and m_(k+n) were; or back.
    pub fn mixing(&self) -> [[u64; 2]; 2] {
        let (t, half) = (&self.t, self.half());
        let i = t.pow(self.roots[0], self.slots() as u64);
        match self.direction {
            Direction::ToCoefficients => [[1, t.neg(i)], [i, 1]],
            Direction::ToSlots => {
                let quarter = t.mul(half, t.inv(i));
                [[half, t.neg(quarter)], [half, quarter]]
            }
        }
    }

    /// The matrices in the order of application, each of which is the product of consecutive
    /// stages.
    pub fn matrices(&self, count: usize) -> Vec<Diagonals> {
        let stages = self.log_slots as usize;
        let bound = |i: usize| (stages * i).div_ceil(count) as u32;
        (0..count).map(|i| self.product(bound(i)..bound(i + 1))).collect()
    }

    fn product(&self, stages: Range<u32>) -> Diagonals {
        let identity = BTreeMap::from([(0, [(); 2].map(|()| vec![1; self.slots()]))]);
        // The stage that is applied first is the right factor.
        stages.fold(identity, |product, i| self.multiplied(&self.stage(i), &product))
    }

    /// Stage i: x + w y and x - w y at distance 2^i, or what undoes the last stages first.
    fn stage(&self, i: u32) -> Diagonals {
        let (t, n) = (&self.t, self.slots());
        let half = match self.direction {
            Direction::ToCoefficients => 1usize << i,
            Direction::ToSlots => n >> (i + 1),
        };
        let halved = self.half();
        let mut diagonals = Diagonals::new();
        for (row, &root) in self.roots.iter().enumerate() {
            // psi^(n / 2 half) has degree 8 half.
            let base = t.pow(root, (n / (2 * half)) as u64);
            let order_log2 = (8 * half).ilog2() - 1;
            let twiddles: Vec<u64> =
                (0..half).map(|j| t.pow(base, galois_rotation(j as i64, order_log2))).collect();
            // (weight of itself, weight of the partner).
            let weights = |i: usize| {
                let (left, w) = (i % (2 * half) < half, twiddles[i % half]);
                match (self.direction, left) {
                    (Direction::ToCoefficients, true) => (1, w),
                    (Direction::ToCoefficients, false) => (t.neg(w), 1),
                    (Direction::ToSlots, true) => (halved, halved),
                    (Direction::ToSlots, false) => {
                        let w = t.mul(halved, t.inv(w));
                        (t.neg(w), w)
                    }
                }
            };
            for i in 0..n {
                let (own, partner) = weights(i);
                let distance = if i % (2 * half) < half { half } else { n - half };
                self.add(&mut diagonals, 0, row, i, own);
                self.add(&mut diagonals, distance, row, i, partner);
            }
        }
        diagonals
    }

    fn add(&self, diagonals: &mut Diagonals, index: usize, row: usize, at: usize, entry: u64) {
        let n = self.slots();
        let sum = diagonals.entry(index % n).or_insert_with(|| [(); 2].map(|()| vec![0; n]));
        sum[row][at] = self.t.add(sum[row][at], entry);
    }

    /// The product a b.
    fn multiplied(&self, a: &Diagonals, b: &Diagonals) -> Diagonals {
        let n = self.slots();
        let mut product = Diagonals::new();
        for (k, left) in a {
            for (l, right) in b {
                for row in 0..2 {
                    for i in 0..n {
                        let entry = self.t.mul(left[row][i], right[row][(i + k) % n]);
                        self.add(&mut product, k + l, row, i, entry);
                    }
                }
            }
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arith::primitive_root_2n;
    use crate::ring::bit_reverse;

    fn apply(t: &Modulus, matrix: &Diagonals, x: &[Vec<u64>; 2]) -> [Vec<u64>; 2] {
        let n = x[0].len();
        [0, 1].map(|row| {
            let entry = |i: usize| {
                matrix
                    .iter()
                    .fold(0, |sum, (k, diagonal)| t.add(sum, t.mul(diagonal[row][i], x[row][(i + k) % n])))
            };
            (0..n).map(entry).collect()
        })
    }

    fn mix(t: &Modulus, [own, other]: [[u64; 2]; 2], x: &[Vec<u64>; 2]) -> [Vec<u64>; 2] {
        [0, 1].map(|row| {
            let pairs = x[row].iter().zip(&x[1 - row]);
            pairs.map(|(&a, &b)| t.add(t.mul(own[row], a), t.mul(other[row], b))).collect()
        })
    }

    /// Against the values of the polynomial, term by term; and back.
    #[test]
    fn slots_are_values_of_the_polynomial() {
        let t = Modulus::new(65537).unwrap();
        for log_slots in 1..=6u32 {
            let n = 1usize << log_slots;
            let root = primitive_root_2n(&t, log_slots + 1).unwrap();
            let m: Vec<u64> = (0..2 * n as u64).map(|k| (k * k * 7919 + 5) % 65537).collect();
            let value = |exponent: u64| {
                (0..2 * n).fold(0, |sum, k| t.add(sum, t.mul(m[k], t.pow(root, exponent * k as u64))))
            };
            let fives: Vec<u64> = (0..n).map(|j| galois_rotation(j as i64, log_slots + 1)).collect();
            let rows: [Vec<u64>; 2] = [
                fives.iter().map(|&e| value(e)).collect(),
                fives.iter().map(|&e| value(4 * n as u64 - e)).collect(),
            ];
            let place = |k: usize| bit_reverse(k, log_slots);
            let given: [Vec<u64>; 2] =
                [(0..n).map(|k| m[place(k)]).collect(), (0..n).map(|k| m[n + place(k)]).collect()];
            for count in 1..=log_slots as usize {
                let forth = Transform::new(t, log_slots, root, Direction::ToCoefficients);
                let mut x = mix(&t, forth.mixing(), &given);
                for matrix in forth.matrices(count) {
                    x = apply(&t, &matrix, &x);
                }
                assert_eq!(x, rows, "{n} slots, {count} matrices");
                let back = Transform::new(t, log_slots, root, Direction::ToSlots);
                for matrix in back.matrices(count) {
                    x = apply(&t, &matrix, &x);
                }
                assert_eq!(mix(&t, back.mixing(), &x), given, "{n} slots, {count} matrices");
            }
        }
    }
}
