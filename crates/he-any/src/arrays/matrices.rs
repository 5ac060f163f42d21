//! Products of two encrypted matrices.

use super::functions::with_slots;
use super::{Keys, cleaned, encoding};
use crate::error::{Error, Result};
use crate::layout::{Bounds, Layout, Op};
use crate::rlwe::{Cipher, Engine};

/// The product of an encrypted matrix of m x k values and one of k x n, where m, k and n are above
/// 1: two levels of CKKS, or two products of BFV and BGV, one of them with masks of zeros and ones.
///
/// Which of the three ways is taken follows from where the common axis lies. With rows of the first
/// and columns of the second in ciphertexts, each of the m n inner products is a product of two
/// ciphertexts and its sum over the slots. Otherwise m k values of the matrix whose sum goes over
/// ciphertexts of the other are spread over all slots, by a mask and a sum over the slots each, and
/// multiply the rows of the other: or n k values of the second, where only that has the axis in
/// its slots.
///
/// # Errors
/// [`Error::Column`] for rows of a result that are longer than a vector; there are no keys for it;
/// the noise budget or the levels are spent; ciphertexts of two schemes; the device fails.
pub fn product(
    engine: &Engine,
    keys: &Keys,
    (a, of_a): (&Cipher, &Layout),
    (b, of_b): (&Cipher, &Layout),
) -> Result<(Cipher, Layout)> {
    match (of_a.is_transposed(), of_b.is_transposed()) {
        (false, true) => inner_products(engine, keys, (a, of_a), (b, of_b)),
        (true, true) => {
            let (turned_a, turned_b) = (of_a.transposed(), of_b.transposed());
            let (ct, layout) = combined_rows(engine, keys, (b, &turned_b), (a, &turned_a))?;
            Ok((ct, layout.transposed()))
        }
        (_, false) => combined_rows(engine, keys, (a, of_a), (b, of_b)),
    }
}

/// The bounds of sums of `terms` products.
fn bounds(a: &Layout, b: &Layout, terms: usize) -> Option<Bounds> {
    let products = a.bounds.zip(b.bounds).map(|(a, b)| a.combined(b, Op::Mul));
    products.map(|bounds| bounds.scaled(terms as f64).hull(Bounds::of(0.0)))
}

/// Every entry of a batch, where one may stand for all.
fn entries(ct: &Cipher, layout: &Layout) -> Result<Cipher> {
    Ok(match ct.batch() {
        1 => Cipher::concat(&vec![ct; layout.entries.unwrap_or(1)])?,
        _ => ct.duplicate()?,
    })
}

/// Zeros, and a one in one place.
fn unit(place: usize) -> Vec<i64> {
    let mut mask = vec![0; place + 1];
    mask[place] = 1;
    mask
}

/// A batch times a mask for each entry, or one for all.
fn masked(engine: &Engine, ct: &Cipher, masks: &[Vec<i64>]) -> Result<Cipher> {
    let masks: Vec<&[i64]> = masks.iter().map(Vec::as_slice).collect();
    Ok(engine.with_plain(Op::Mul, ct, &encoding::mask(engine, ct, &masks)?)?)
}

/// Rows in slots times columns in slots: each inner product is masked into its slot.
fn inner_products(
    engine: &Engine,
    keys: &Keys,
    (a, of_a): (&Cipher, &Layout),
    (b, of_b): (&Cipher, &Layout),
) -> Result<(Cipher, Layout)> {
    let (rows, columns) = (of_a.entries.unwrap_or(1), of_b.entries.unwrap_or(1));
    // Zeros in the padding of the longer vectors make zeros of the products.
    let a = if a.slots() > b.slots() { cleaned(engine, a, of_a)?.0 } else { a.duplicate()? };
    let b = if a.slots() > b.slots() { b.duplicate()? } else { cleaned(engine, b, of_b)?.0 };
    let (a, b) = (entries(&a, of_a)?, entries(&b, of_b)?);
    let masks: Vec<Vec<i64>> = (0..columns).map(unit).collect();
    let row = |at: usize| {
        let row = a.slice_batch(at..at + 1)?;
        let products = engine.mul(&Cipher::concat(&vec![&row; columns])?, &b, keys)?;
        let sums = wide(engine, engine.sum_slots(&products, keys)?, columns)?;
        Ok(engine.sum_batch(&masked(engine, &sums, &masks)?)?)
    };
    let result = (0..rows).map(row).collect::<Result<Vec<Cipher>>>()?;
    let layout = Layout {
        size: columns,
        padding: Some(0.0),
        complex: of_a.complex || of_b.complex,
        bounds: bounds(of_a, of_b, of_a.size),
        ..*of_a
    };
    Ok((Cipher::concat(&result.iter().collect::<Vec<_>>())?, layout))
}

/// Vectors of at least so many slots: short ones of CKKS repeat.
fn wide(engine: &Engine, ct: Cipher, size: usize) -> Result<Cipher> {
    let slots = ct.slots().max(size.next_power_of_two());
    if slots > engine.slots() {
        return Err(Error::Column { size, slots: engine.slots() });
    }
    match engine.ckks().zip(ct.ckks()) {
        Some((ckks, of)) if slots > ct.slots() => Ok(Cipher::Ckks(with_slots(ckks, of, slots)?)),
        _ => Ok(ct),
    }
}

/// The rows of the second, which are entries of a batch, weighted by the values of each row of the
/// first.
fn combined_rows(
    engine: &Engine,
    keys: &Keys,
    (a, of_a): (&Cipher, &Layout),
    (b, of_b): (&Cipher, &Layout),
) -> Result<(Cipher, Layout)> {
    let terms = of_b.entries.unwrap_or(1);
    let rows = if of_a.is_transposed() { of_a.size } else { of_a.entries.unwrap_or(1) };
    let (a, b) = (entries(a, of_a)?, entries(b, of_b)?);
    let all: Vec<Vec<i64>> = (0..terms).map(unit).collect();
    let row = |at: usize| {
        let alone = match of_a.is_transposed() {
            true => masked(engine, &a, &[unit(at)])?,
            false => {
                let row = a.slice_batch(at..at + 1)?;
                masked(engine, &Cipher::concat(&vec![&row; terms])?, &all)?
            }
        };
        let weights = engine.sum_slots(&alone, keys)?;
        Ok(engine.sum_batch(&engine.mul(&weights, &b, keys)?)?)
    };
    let result = (0..rows).map(row).collect::<Result<Vec<Cipher>>>()?;
    let layout = Layout {
        entries: Some(rows),
        padding: of_b.padding.filter(|&x| x == 0.0),
        complex: of_a.complex || of_b.complex,
        bounds: bounds(of_a, of_b, terms),
        ..*of_b
    };
    Ok((Cipher::concat(&result.iter().collect::<Vec<_>>())?, layout))
}
