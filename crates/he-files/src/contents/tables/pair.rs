//! Operations on two tables, column by column.

use crate::contents::packing::Weights;
use crate::contents::pairing::Pairing;
use crate::error::{ContentError, Result};
use crate::note::{ColumnNote, Content, EXPONENT, TableNote, pair_name};
use he_any::layout::Op;

/// Columns that were combined one by one.
///
/// In sums the column of the smaller exponent is divided by the power of two between them, which
/// takes as much as a product; of equal exponents nothing.
///
/// # Errors
/// The tables differ in shape, or results would be too large or too small for any number.
pub(super) fn pair(operator: Op, a: &TableNote, b: &TableNote) -> Result<(Content, Vec<Pairing>)> {
    check_shapes(a, b, operator.name())?;
    let too_large = |exponent: i32| ContentError::Exponent { exponent };
    let mut factors = Vec::new();
    let mut columns = Vec::new();
    let mut noises = Vec::new();
    for (x, y) in a.columns.iter().zip(&b.columns) {
        let (exponent, count, offset) = match operator {
            Op::Mul => (x.exponent + y.exponent, product_bound(x, y), x.offset * y.offset),
            Op::Add => (x.exponent.max(y.exponent), x.count.saturating_add(y.count), x.offset + y.offset),
            Op::Sub => (x.exponent.max(y.exponent), x.count.saturating_add(y.count), x.offset - y.offset),
        };
        if !EXPONENT.contains(&exponent) || !offset.is_finite() {
            return Err(too_large(exponent).into());
        }
        factors.push(match operator {
            // (x + a) (y + b) = x y + b x + a y + a b, the last of which is public.
            Op::Mul => (y.shift(), x.shift()),
            _ => {
                let factor = |own: i32| (-f64::from(exponent.abs_diff(own))).exp2();
                (factor(x.exponent), factor(y.exponent))
            }
        });
        // Numbers of a column are below its count; relinearisation and division add less than fresh
        // noise.
        let (noise_x, noise_y) = ((-a.bits(x)).exp2(), (-b.bits(y)).exp2());
        noises.push(match operator {
            Op::Mul => {
                let shifts = y.shift().abs() * noise_x + x.shift().abs() * noise_y;
                y.count as f64 * noise_x + x.count as f64 * noise_y + noise_x.max(noise_y) + shifts
            }
            _ => noise_x + noise_y + noise_x.max(noise_y),
        });
        let name = if x.name == y.name { x.name.clone() } else { pair_name(&x.name, &y.name) };
        columns.push(ColumnNote { name, exponent, count, offset, precision_bits: None });
    }
    let slots = a.slots.max(b.slots);
    let note = TableNote { slots, ..with_noises(a, columns, &noises) };
    // The computation of each vector, or column, of these factors; `weights` makes one of those of
    // its columns.
    let pairing = |factors: &[(f64, f64)], weights: &dyn Fn(Vec<f64>) -> Weights| {
        let left: Vec<f64> = factors.iter().map(|factor| factor.0).collect();
        let right: Vec<f64> = factors.iter().map(|factor| factor.1).collect();
        let all = |side: &[f64], x: f64| side.iter().all(|&factor| factor == x);
        match operator {
            Op::Mul if all(&left, 0.0) && all(&right, 0.0) => Pairing::Slots,
            Op::Mul => Pairing::Shifted { left: weights(left), right: weights(right) },
            _ => {
                let unless_one = |side: Vec<f64>| (!all(&side, 1.0)).then(|| weights(side));
                Pairing::Weighted { left: unless_one(left), right: unless_one(right) }
            }
        }
    };
    let pairings = match (note.places(), note.packed) {
        (Some(places), Some(block)) => {
            let of_vector = |columns: &Vec<usize>| {
                let factors: Vec<(f64, f64)> = columns.iter().map(|&column| factors[column]).collect();
                pairing(&factors, &|of| Weights::Blocks { block: block as usize, of })
            };
            places.vectors.iter().map(of_vector).collect()
        }
        _ => factors.chunks(1).map(|factor| pairing(factor, &|of| Weights::All(of[0]))).collect(),
    };
    Ok((Content::Table(note), pairings))
}

/// A bound on the encrypted products of two columns.
pub(super) fn product_bound(x: &ColumnNote, y: &ColumnNote) -> u64 {
    let product = x.count.saturating_mul(y.count);
    if x.offset == 0.0 && y.offset == 0.0 {
        return product;
    }
    // The cast saturates.
    let shifts = (y.shift() * x.count as f64).abs() + (x.shift() * y.count as f64).abs();
    product.saturating_add(shifts.ceil() as u64)
}

/// The description of results with these error bounds, before exponents. The table states the
/// greatest; columns state their own where it is another.
pub(super) fn with_noises(note: &TableNote, columns: Vec<ColumnNote>, noises: &[f64]) -> TableNote {
    let worst = noises.iter().fold(0f64, |most, &noise| most.max(noise));
    let own = |(column, &noise): (ColumnNote, &f64)| ColumnNote {
        precision_bits: (noise != worst).then(|| -noise.log2()),
        ..column
    };
    let columns = columns.into_iter().zip(noises).map(own).collect();
    TableNote { columns, precision_bits: -worst.log2(), ..note.clone() }
}

/// Checks that two tables have the same shape.
pub(super) fn check_shapes(a: &TableNote, b: &TableNote, operation: &str) -> Result<()> {
    if (a.rows, a.columns.len()) == (b.rows, b.columns.len()) {
        let alike = (a.batch, a.packed) == (b.batch, b.packed) && (a.packed.is_none() || a.slots == b.slots);
        return if alike { Ok(()) } else { Err(ContentError::Layouts.into()) };
    }
    let shape = |n: &TableNote| format!("{} rows of {}", n.rows, n.columns.len());
    Err(ContentError::Shapes { left: shape(a), right: shape(b), operation: operation.to_owned() }.into())
}
