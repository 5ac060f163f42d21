//! Sums along axes, and what is made of them.

use super::{Keys, check, encoding, of_ckks};
use crate::error::{Error, Result};
use crate::layout::{self, Bounds, Dim, Layout, Op};
use crate::number::Number;
use crate::rlwe::{Cipher, Engine, Plain, capacity};
use he_core::circuits::ckks as statistics;
use he_core::num_complex::Complex64;

/// The numbers of all slots of a ciphertext, one in the values and another in the padding, as
/// vectors: one for all rows of a batch, while a column is padded in its last entry alone.
fn masked<T: Copy>(ct: &Cipher, layout: &Layout, in_values: T, in_padding: T) -> Vec<Vec<T>> {
    let slots = ct.slots();
    let count = if layout.entries.is_some() { slots } else { ct.batch() * slots };
    let mut numbers = vec![in_padding; count];
    numbers[..layout.size].fill(in_values);
    numbers.chunks(slots).map(<[T]>::to_vec).collect()
}

/// An integer in every value and zeros in the padding.
pub(super) fn in_values(engine: &Engine, ct: &Cipher, layout: &Layout, value: i64) -> Result<Plain> {
    let vectors = masked(ct, layout, value, 0);
    encoding::mask(engine, ct, &vectors.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The same values with zeros in the padding. Under CKKS that takes no level unless the padding is
/// unknown.
///
/// # Errors
/// The noise budget or the levels are spent; the device fails.
pub fn cleaned(engine: &Engine, ct: &Cipher, layout: &Layout) -> Result<(Cipher, Layout)> {
    if !layout.is_padded(ct.slots()) || layout.padding == Some(0.0) {
        return Ok((ct.duplicate()?, Layout { padding: Some(0.0), ..*layout }));
    }
    let bounds = layout.bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    let clean = Layout { padding: Some(0.0), bounds, ..*layout };
    let ct = match (engine.ckks().zip(ct.ckks()), layout.padding) {
        (Some((ckks, of)), Some(padding)) => {
            let vectors = masked(ct, layout, Complex64::default(), (-padding).into());
            engine.with_plain(Op::Add, ct, &encoding::near(ckks, of, &vectors)?)?
        }
        _ => engine.with_plain(Op::Mul, ct, &in_values(engine, ct, layout, 1)?)?,
    };
    Ok((ct, clean))
}

/// One value of each entry in all of its slots: one level of CKKS if something unknown lies behind
/// it.
///
/// # Errors
/// There are no keys for it; the noise budget or the levels are spent; the device fails.
pub fn spread(engine: &Engine, keys: &Keys, ct: &Cipher, layout: &Layout) -> Result<(Cipher, Layout)> {
    let (ct, _) = cleaned(engine, ct, layout)?;
    let spread = layout.reduced(Dim::Slots, true);
    let spread = Layout { splat: true, point: false, padding: None, ..spread };
    Ok((engine.sum_slots(&ct, keys)?, spread))
}

/// The sum along axes. `keep` keeps them, of length one.
///
/// # Errors
/// [`Error::Layout`] for sums that may be too large; there are no keys for it; the noise budget or
/// the levels are spent; the device fails.
pub fn sum(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Cipher, Layout)> {
    let (mut ct, mut layout) = (ct.duplicate()?, *layout);
    // The entries first: then there is one vector to be summed up.
    for &axis in [Dim::Batch, Dim::Slots, Dim::One].iter().filter(|axis| axes.contains(axis)) {
        let count = layout.length(axis);
        let bounds = layout.bounds.map(|bounds| bounds.scaled(count as f64));
        let reduced = Layout { bounds, ..layout.reduced(axis, keep) };
        (ct, layout) = match axis {
            Dim::Batch => {
                let padding = layout.padding.map(|x| x * count as f64).filter(|x| x.is_finite());
                let sum = match ct.batch() > 1 {
                    true => engine.sum_batch(&ct)?,
                    false => engine.mul_number(&ct, Number::Integer(count as i64))?,
                };
                (sum, Layout { padding, ..reduced })
            }
            Dim::Slots if count == 1 => {
                (ct, Layout { splat: false, point: true, padding: layout.padding, ..reduced })
            }
            Dim::Slots => {
                let (clean, _) = cleaned(engine, &ct, &layout)?;
                let sum = match layout.entries {
                    None => engine.total(&clean, keys)?,
                    Some(_) => engine.sum_slots(&clean, keys)?,
                };
                (sum, reduced)
            }
            Dim::One => (ct, reduced),
        };
        check(engine, &ct, &layout)?;
    }
    Ok((ct, layout))
}

/// The mean along axes, of CKKS, which takes one level.
///
/// # Errors
/// The same as for [`sum`]; a ciphertext of another scheme.
pub fn mean(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Cipher, Layout)> {
    let factor = 1.0 / axes.iter().map(|&axis| layout.length(axis) as f64).product::<f64>();
    let bounds = layout.bounds;
    let (ct, layout) = sum(engine, keys, (ct, layout), axes, keep)?;
    let ct = engine.mul_number(&ct, Number::Real(factor))?;
    Ok((ct, Layout { bounds, ..layout.with_scalar(factor, Op::Mul) }))
}

/// The variance of a population along axes, of CKKS, which takes two levels.
///
/// # Errors
/// [`Error::ComplexVariance`]; the same as for [`sum`]; a ciphertext of another scheme.
pub fn variance(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Cipher, Layout)> {
    if layout.complex {
        return Err(Error::ComplexVariance);
    }
    // The squares may leave the range of their level: their difference does not.
    let bounds = layout.bounds.map(Bounds::variance);
    let (ct, layout) = match axes.contains(&Dim::Slots) {
        true => cleaned(engine, ct, layout)?,
        false => (ct.duplicate()?, *layout),
    };
    let (ckks, of) = of_ckks(engine, &ct)?;
    if axes == [Dim::Slots] && layout.entries.is_none() && layout.size > 1 {
        if let Some(below) = of.level().checked_sub(1) {
            let sum = layout.bounds.map(|bounds| bounds.squared().scaled(layout.size as f64));
            let held = capacity(&ckks.params, below, ckks.params.levels()[below].scale);
            layout::check(sum, held, below, false)?;
        }
        let variance = statistics::variance(&ckks.ev, of, layout.size, keys)?;
        return Ok((Cipher::Ckks(variance), Layout { bounds, ..layout.reduced(Dim::Slots, keep) }));
    }
    let squares = Cipher::Ckks(ckks.ev.square(of, keys)?);
    let squared =
        Layout { bounds: layout.bounds.map(Bounds::squared), ..layout.combined(&layout, Op::Mul, true)? };
    let (squares, result) = mean(engine, keys, (&squares, &squared), axes, keep)?;
    let (mean, _) = mean(engine, keys, (&ct, &layout), axes, keep)?;
    let (_, mean) = of_ckks(engine, &mean)?;
    let variance = engine.sub(&squares, &Cipher::Ckks(ckks.ev.square(mean, keys)?))?;
    Ok((variance, Layout { padding: None, bounds, ..result }))
}
