//! The operations of exact arithmetic.

use super::lab::{Fill, Lab, in_case, large_rings, small_rings};
use crate::arith::Modulus;
use crate::backend::{RingOps, ScaledTensor};
use crate::error::Result;
use crate::ring::{Operand, RingSpec, Rows, Span};

/// Shapes of products: chain primes, special ones, batches of both operands.
const PRODUCTS: [(usize, usize, [usize; 2]); 6] =
    [(1, 1, [1, 1]), (2, 2, [3, 3]), (3, 3, [3, 1]), (6, 3, [1, 1]), (5, 2, [2, 1]), (1, 3, [2, 2])];

pub(super) fn scaled_tensor_case<B: RingOps>(
    lab: &Lab<B>,
    (q, p, batches): (usize, usize, [usize; 2]),
    fill: Fill,
) -> Result<()> {
    let n = lab.n;
    let spec = RingSpec::new(lab.log_n, lab.chain.clone(), lab.special.clone())?;
    let [a, b] = batches.map(|batch| Rows::new(Span::chain(q), batch));
    let places = [a, a.at(3 * n), b.at(n), b.at(2 * n)];
    let other = |salt| if let Fill::Paint(_) = fill { Fill::Paint(salt) } else { fill };
    let mut bufs = Vec::new();
    for (place, salt) in places.iter().zip(1..) {
        bufs.push(lab.buffer(*place, other(salt))?);
    }
    let operand = |i: usize| Operand::at(&bufs[i], places[i].batch, places[i].at);
    for t in [2, 65537, (1 << 61) - 1] {
        let shape = ScaledTensor::new(&spec, q, p, batches[0], t);
        let (a, b) = ([operand(0), operand(1)], [operand(2), operand(3)]);
        lab.backend.scaled_tensor(&lab.tables, &shape, a, b)?;
        // A square.
        lab.backend.scaled_tensor(&lab.tables, &shape, a, a)?;
    }
    Ok(())
}

/// Scale-invariant products.
pub fn scaled_tensors<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for shape in PRODUCTS {
            for fill in [Fill::Paint(1), Fill::Top, Fill::Zero] {
                in_case(scaled_tensor_case(lab, shape, fill), || lab.case((shape, fill)))?;
            }
        }
        Ok(())
    })
}

/// Moduli of every width, prime or not.
const MODULI: [u64; 7] = [2, 3, 65537, 1 << 20, (1 << 50) - 27, 1 << 60, (1 << 61) - 1];

/// Remainders: as on the naive back end, and of numbers that are known.
pub fn remainders<B: RingOps>(backend: &B, log_n: u32) -> Result<()> {
    small_rings(backend, log_n, |lab| {
        for q in [1, 2, 3, 6] {
            for (batch, at) in [(1, 0), (3, 5)] {
                let rows = Rows::new(Span::chain(q), batch).at(at * lab.n);
                let src = lab.buffer(rows, Fill::Paint(1))?;
                for modulus in MODULI {
                    let found = lab.backend.remainders(&lab.tables, rows, &src, &Modulus::new(modulus)?);
                    in_case(found.map(drop), || lab.case((rows, modulus)))?;
                }
            }
        }
        Ok(())
    })?;
    large_rings(backend, log_n, |lab| {
        for (q, batch) in [(1, 1), (3, 2), (6, 1)] {
            in_case(known_remainders(lab, Rows::new(Span::chain(q), batch)), || lab.case((q, batch)))?;
        }
        Ok(())
    })
}

/// Signed numbers below every prime, from their residues.
fn known_remainders<B: RingOps>(lab: &Lab<B>, rows: Rows) -> Result<()> {
    let (ops, t) = (&lab.backend, &lab.tables);
    let number = |i: usize| (i as i64 % 251 - 125) * 66_047;
    let numbers: Vec<i64> = (0..rows.batch * lab.n).map(number).collect();
    let signed: Vec<u64> = numbers.iter().map(|&x| x as u64).collect();
    let mut buf = ops.zeros(rows.count() * lab.n)?;
    ops.reduce_signed(t, rows, &ops.upload(&signed)?, &mut buf)?;
    ops.ntt(t, rows, &mut buf)?;
    for modulus in MODULI {
        let found = ops.remainders(t, rows, &buf, &Modulus::new(modulus)?)?;
        let expected: Vec<u64> =
            numbers.iter().map(|&x| i128::from(x).rem_euclid(i128::from(modulus)) as u64).collect();
        lab.expect("remainders", "the numbers modulo the modulus", &found, &expected)?;
    }
    Ok(())
}

/// Both against their provided bodies on the same device, at a large degree.
pub(super) fn fused<M: RingOps>(lab: &Lab<M>) -> Result<()> {
    for shape in PRODUCTS {
        in_case(scaled_tensor_case(lab, shape, Fill::Paint(1)), || lab.case(shape))?;
    }
    let rows = Rows::new(Span::chain(3), 2);
    let src = lab.buffer(rows, Fill::Paint(1))?;
    lab.backend.remainders(&lab.tables, rows, &src, &Modulus::new(65537)?).map(drop)
}
