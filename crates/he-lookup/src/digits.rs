//! The digits of a pack as a matrix.
//!
//! The key switches of a pack add products of digits by rotations of the client's key for the
//! rotation. In evaluation form a rotation reorders the key, so that their sum is linear in it:
//! coefficient i of the sum takes word j of the key as often as the one digit says whose rotation
//! brings j to i. This matrix has N x N residues for each pack, and one product of matrices serves
//! all packs and all queries.

use crate::switches;
use he_core::ring::bit_reverse;

/// The coefficients that are taken at a time, so that a line of memory of each digit is read once
/// and their rows stay in the second-level cache.
const BLOCK: usize = 8;

/// The automorphisms of the key by the numbers of the switches, without the conjugation.
fn automorphisms(log_n: u32) -> Vec<usize> {
    let mut all = vec![0; (1 << log_n) - 2];
    for step in switches::steps(log_n) {
        let to = &mut all[step.first_switch()..];
        to.iter_mut().zip(step.to).for_each(|(to, g)| *to = g as usize);
    }
    all
}

/// The matrix of the digits of N - 1 switches, row by row; the last of them, the conjugation's, is
/// not among them.
pub(crate) fn matrix(log_n: u32, digits: &[u64]) -> Vec<u64> {
    let n = 1usize << log_n;
    let automorphisms = automorphisms(log_n);
    let mut matrix = vec![0; n * n];
    for (block, rows) in matrix.chunks_exact_mut(BLOCK * n).enumerate() {
        for (digits, g) in digits.chunks_exact(n).zip(&automorphisms) {
            for (i, row) in rows.chunks_exact_mut(n).enumerate() {
                let at = block * BLOCK + i;
                let exponent = (2 * bit_reverse(at, log_n) + 1) * g % (2 * n);
                row[bit_reverse(exponent >> 1, log_n)] = digits[at];
            }
        }
    }
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::backend::{Backend, Cpu, PolyOps};
    use he_core::ring::{DomainKind, Operand, RingSpec, Rows, Span};

    /// The products of matrix and key are the sums of digits times rotations of the key.
    #[test]
    fn the_matrix_adds_up_rotations() {
        let (log_n, q) = (4, 97);
        let (n, rows) = (1usize << log_n, Rows::new(Span::chain(1), 1));
        let cpu = Cpu::new();
        let ring = cpu.prepare(&RingSpec::new(log_n, vec![q], vec![]).unwrap()).unwrap();
        let word = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % q;
        let digits: Vec<u64> = (0..((n - 1) * n) as u64).map(word).collect();
        let key = cpu.upload(&(1000..1000 + n as u64).map(word).collect::<Vec<_>>()).unwrap();
        let (all, mut sum) = (cpu.upload(&digits).unwrap(), cpu.zeros(n).unwrap());
        for (switch, g) in automorphisms(log_n).into_iter().enumerate() {
            let mut turned = cpu.zeros(n).unwrap();
            ring.automorphism(rows, DomainKind::Eval, g as u64, Operand::new(&key, 1), &mut turned).unwrap();
            let digit = Operand::at(&all, 1, switch * n);
            ring.mul_add_assign(rows, &mut sum, digit, Operand::new(&turned, 1)).unwrap();
        }
        let product = matrix(log_n, &digits);
        let row = |row: &[u64]| row.iter().zip(&key[..]).fold(0, |sum, (x, y)| (sum + x * y) % q);
        assert_eq!(product.chunks_exact(n).map(row).collect::<Vec<_>>(), sum[..]);
    }
}
