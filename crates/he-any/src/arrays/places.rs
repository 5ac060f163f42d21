//! Values that move between slots.

use super::functions::with_slots;
use super::{Keys, encoding};
use crate::error::{Error, Result};
use crate::family::mixed;
use crate::layout::{Bounds, Layout, Op};
use crate::rlwe::{Cipher, Engine};

/// The sum of products with masks of zeros and ones: one level of CKKS in all, where the terms meet
/// before they are rescaled.
fn masked_sum(
    engine: &Engine,
    terms: impl Iterator<Item = Result<(Cipher, Vec<i64>)>>,
    nothing: &'static str,
) -> Result<Cipher> {
    let encoded = terms.map(|term| {
        let (ct, mask) = term?;
        let mask = encoding::mask(engine, &ct, &[&mask])?;
        Ok((ct, mask))
    });
    if let Some(ckks) = engine.ckks() {
        let terms = encoded.collect::<Result<Vec<_>>>()?;
        let terms = terms.iter().map(|(ct, mask)| ct.ckks().zip(mask.ckks().ok()).ok_or_else(mixed));
        let terms = terms.collect::<he_core::Result<Vec<_>>>()?;
        return Ok(Cipher::Ckks(ckks.ev.plain_combination(&terms)?));
    }
    let mut sum: Option<Cipher> = None;
    for term in encoded {
        let (ct, mask) = term?;
        let part = engine.with_plain(Op::Mul, &ct, &mask)?;
        sum = Some(match sum {
            None => part,
            Some(sum) => engine.add(&sum, &part)?,
        });
    }
    sum.ok_or(Error::Nothing { what: nothing })
}

/// The values at some places of the slots, in one level: one rotation for each distance that a
/// value moves.
///
/// # Errors
/// There are no keys for it; the noise budget or the levels are spent; the device fails.
pub fn gathered(
    engine: &Engine,
    keys: &Keys,
    (ct, layout): (&Cipher, &Layout),
    places: &[usize],
) -> Result<(Cipher, Layout)> {
    let mut steps: Vec<(i64, Vec<i64>)> = Vec::new();
    for (to, &from) in places.iter().enumerate() {
        let step = from as i64 - to as i64;
        let at = steps.iter().position(|(known, _)| *known == step).unwrap_or_else(|| {
            steps.push((step, vec![0; places.len()]));
            steps.len() - 1
        });
        steps[at].1[to] = 1;
    }
    let terms = steps.into_iter().map(|(step, mask)| {
        let moved = if step == 0 { ct.duplicate()? } else { engine.rotate(ct, step, keys)? };
        Ok((moved, mask))
    });
    let sum = masked_sum(engine, terms, "no places")?;
    let bounds = layout.bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    Ok((sum, Layout { size: places.len(), padding: Some(0.0), bounds, ..*layout }))
}

/// The first values of each part, one part behind the other, in one level.
///
/// # Errors
/// The same as for [`gathered`]; parts of several schemes.
pub fn side_by_side(engine: &Engine, keys: &Keys, parts: &[(&Cipher, usize)]) -> Result<Cipher> {
    let total: usize = parts.iter().map(|(_, size)| size).sum();
    let widest = parts.iter().map(|(ct, _)| ct.slots()).max().unwrap_or(1);
    let slots = total.next_power_of_two().max(widest);
    let level = parts.iter().map(|(ct, _)| ct.level()).min().unwrap_or(0);
    let mut start = 0;
    let terms = parts.iter().map(|&(ct, size)| {
        // Vectors of CKKS are as short as they can be, and terms meet on one level.
        let ct = match engine.ckks().zip(ct.ckks()) {
            Some((of, ct)) => Cipher::Ckks(with_slots(of, &of.ev.mod_switch_to(ct, level)?, slots)?),
            None => ct.duplicate()?,
        };
        let mut mask = vec![0; start + size];
        mask[start..].fill(1);
        let moved = if start == 0 { ct } else { engine.rotate(&ct, -(start as i64), keys)? };
        start += size;
        Ok((moved, mask))
    });
    masked_sum(engine, terms, "no arrays")
}
