//! Inner products, and products with matrices in the clear.

use super::{Keys, cleaned, of_ckks, sum};
use crate::error::{Error, Result};
use crate::layout::{Bounds, Dim, Layout};
use crate::rlwe::{Cipher, Engine};
use he_core::circuits::ckks::{self as statistics, LinearTransform, inner_product};
use he_core::ckks::MatrixWeights;

/// The sum of the products along the last axis of `layout`, that of both operands, of CKKS.
///
/// # Errors
/// The same as for [`sum`]; a ciphertext of another scheme.
pub fn dot(
    engine: &Engine,
    keys: &Keys,
    (a, of_a): (&Cipher, &Layout),
    (b, of_b): (&Cipher, &Layout),
    layout: &Layout,
) -> Result<(Cipher, Layout)> {
    let column = |of: &Layout| of.dims == [None, Some(Dim::Slots)] && of.size > 1;
    if a.slots() == b.slots() && column(of_a) && column(of_b) {
        // Zeros in the padding of one make zeros of the products.
        let clean = if of_b.padding == Some(0.0) { a.duplicate()? } else { cleaned(engine, a, of_a)?.0 };
        let bounds = layout.bounds.map(|bounds| bounds.scaled(layout.size as f64));
        let result = Layout { bounds, ..layout.reduced(Dim::Slots, false) };
        let ((ckks, clean), (_, b)) = (of_ckks(engine, &clean)?, of_ckks(engine, b)?);
        return Ok((Cipher::Ckks(statistics::dot(&ckks.ev, clean, b, keys)?), result));
    }
    let axis = layout.dims[1].into_iter().collect::<Vec<_>>();
    sum(engine, keys, (&engine.mul(a, b, keys)?, layout), &axis, false)
}

/// The inner product of a column with weights in the clear, of CKKS.
///
/// # Errors
/// There are no keys for it; the levels are spent; a ciphertext of another scheme.
pub fn dot_plain(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    weights: &[f64],
) -> Result<(Cipher, Layout)> {
    let bounds = layout.bounds.map(|bounds| bounds.weighted(weights.iter().copied()));
    let result = Layout { bounds, ..layout.reduced(Dim::Slots, false) };
    let (engine, ct) = of_ckks(engine, ct)?;
    Ok((Cipher::Ckks(inner_product(&engine.ev, ct, weights, keys)?), result))
}

/// Sums of the entries of a batch, one for each column of weights, of CKKS: the product with a
/// plain matrix ([`Evaluator::mul_matrix`](he_core::ckks::Evaluator::mul_matrix)).
///
/// # Errors
/// The levels are spent; columns of other lengths than the batch; a ciphertext of another scheme.
pub fn combinations(engine: &Engine, ct: &Cipher, columns: &[Vec<f64>]) -> Result<Cipher> {
    let (engine, ct) = of_ckks(engine, ct)?;
    let (ev, weights) = (&engine.ev, columns.concat());
    let product = |level: usize| {
        let shape = [columns.len(), ct.batch()];
        ev.mul_matrix(&ev.plain_matrix(shape, MatrixWeights::Real(&weights), level)?, ct)
    };
    let sums = match product(ct.level()) {
        // Another scale than that of its level is brought to one by a level.
        Err(he_core::Error::LevelTooHigh { highest, .. }) => product(highest),
        sums => sums,
    };
    Ok(Cipher::Ckks(sums?))
}

/// Sums of the entries of a batch, one for each column of integers, of BFV and BGV: the product
/// with a plain matrix ([`Evaluator::mul_matrix`](he_core::exact::Evaluator::mul_matrix)).
///
/// # Errors
/// Columns of other lengths than the batch, or none; the noise budget is spent; a ciphertext of
/// CKKS; the device fails.
pub fn integer_combinations(engine: &Engine, ct: &Cipher, columns: &[Vec<i64>]) -> Result<Cipher> {
    Ok(engine.mul_integers([columns.len(), ct.batch()], &columns.concat(), ct)?)
}

/// The product with a matrix of `columns` columns, a row per value, of CKKS.
///
/// # Errors
/// [`Error::Column`] for a column over several ciphertexts; there are no keys for it; the levels
/// are spent; a ciphertext of another scheme.
pub fn matmul(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    matrix: &[f64],
    columns: usize,
) -> Result<(Cipher, Layout)> {
    let (engine, ct) = of_ckks(engine, ct)?;
    let values = matrix.len() / columns.max(1);
    if layout.entries.is_none() && ct.batch() > 1 {
        return Err(Error::Column { size: layout.size, slots: ct.slots() });
    }
    // Vectors that are longer than the matrix needs, such as slices of others, do not repeat.
    let width = if ct.slots() > values.next_power_of_two() { ct.slots() } else { values };
    let mut entries = vec![0.0; columns * width];
    for (value, row) in matrix.chunks(columns).enumerate() {
        for (column, &entry) in row.iter().enumerate() {
            entries[column * width + value] = entry;
        }
    }
    let product = LinearTransform::rectangular(columns, width, &entries)?.apply(&engine.ev, ct, keys)?;
    let bounds = layout.bounds.map(|bounds| {
        let column = |at: usize| matrix.iter().skip(at).step_by(columns).copied();
        (0..columns).fold(Bounds::of(0.0), |all, at| all.hull(bounds.weighted(column(at))))
    });
    Ok((Cipher::Ckks(product), Layout { size: columns, padding: Some(0.0), bounds, ..*layout }))
}
