//! Operations of BFV and BGV on arrays in slots.

use crate::arrays::Values;
use crate::ckks::Axis;
use crate::context::{Core, ExactEngine};
use crate::error::{Fault, Result};
use he::Device;
use he_core::exact::{Ciphertext, Plaintext};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::WireScheme;
use he_files::layout::{Layout, Op};

pub type Ct<S> = Ciphertext<S, Device>;
type Keys = EvaluationKeys<Device>;

/// Encodes an array.
pub fn encoded<S: WireScheme>(
    engine: &ExactEngine<S>,
    values: Values<'_>,
    layout: &Layout,
) -> Result<Plaintext> {
    let slots = engine.ring.n();
    let length = if layout.entries.is_some() { layout.size } else { slots }.max(1);
    let encoder = engine.ev.encoder();
    Ok(match values {
        Values::Signed(values) => encoder.encode_batch(&values.chunks(length).collect::<Vec<_>>())?,
        Values::Unsigned(values) => encoder.encode_batch(&values.chunks(length).collect::<Vec<_>>())?,
        Values::Real(_) | Values::Complex(_) => {
            return Err(Fault::Type("real numbers, where integers are expected".to_owned()));
        }
    })
}

/// Two ciphertexts.
pub fn combine<S: WireScheme>(
    engine: &ExactEngine<S>,
    core: &Core,
    op: Op,
    a: &Ct<S>,
    b: &Ct<S>,
) -> Result<Ct<S>> {
    Ok(match op {
        Op::Add => engine.ev.add(a, b)?,
        Op::Sub => engine.ev.sub(a, b)?,
        Op::Mul => engine.ev.mul(a, b, core.switching()?.get()?)?,
    })
}

/// A ciphertext and an array of the layout `plain`.
pub fn with_array<S: WireScheme>(
    engine: &ExactEngine<S>,
    op: Op,
    ct: &Ct<S>,
    plain: &Layout,
    values: Values<'_>,
) -> Result<Ct<S>> {
    let plain = encoded(engine, values, plain)?;
    let repeated;
    let ct = match plain.batch() {
        rows if ct.batch() == 1 && rows > 1 => {
            repeated = Ciphertext::concat(&vec![ct; rows])?;
            &repeated
        }
        _ => ct,
    };
    Ok(match op {
        Op::Add => engine.ev.add_plain(ct, &plain)?,
        Op::Sub => engine.ev.sub_plain(ct, &plain)?,
        Op::Mul => engine.ev.mul_plain(ct, &plain)?,
    })
}

/// A ciphertext and a number: in every value, so that zeros in the padding stay.
pub fn with_number<S: WireScheme>(
    engine: &ExactEngine<S>,
    op: Op,
    ct: &Ct<S>,
    layout: &Layout,
    value: i64,
) -> Result<Ct<S>> {
    let ev = &engine.ev;
    let value = match op {
        Op::Sub => value.checked_neg().ok_or_else(|| Fault::Value(format!("{value} is out of range")))?,
        _ => value,
    };
    if op == Op::Mul {
        return Ok(ev.mul_scalar(ct, value)?);
    }
    if layout.padding != Some(0.0) || !layout.is_padded(engine.ring.n()) {
        return Ok(ev.add_scalar(ct, value)?);
    }
    Ok(ev.add_plain(ct, &in_values(engine, ct, layout, value)?)?)
}

/// A number in every value and zeros in the padding.
fn in_values<S: WireScheme>(
    engine: &ExactEngine<S>,
    ct: &Ct<S>,
    layout: &Layout,
    value: i64,
) -> Result<Plaintext> {
    let slots = engine.ring.n();
    let count = if layout.entries.is_some() { slots } else { ct.batch() * slots };
    let mut numbers = vec![0; count];
    numbers[..layout.size].fill(value);
    Ok(engine.ev.encoder().encode_batch(&numbers.chunks(slots).collect::<Vec<_>>())?)
}

/// The same values with zeros in the padding, which takes a product by a plaintext if they are not
/// there.
pub fn cleaned<S: WireScheme>(engine: &ExactEngine<S>, ct: &Ct<S>, layout: &Layout) -> Result<Ct<S>> {
    if !layout.is_padded(engine.ring.n()) || layout.padding == Some(0.0) {
        return Ok(ct.duplicate()?);
    }
    Ok(engine.ev.mul_plain(ct, &in_values(engine, ct, layout, 1)?)?)
}

/// The sum along an axis.
pub fn sum<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    ct: &Ct<S>,
    layout: &Layout,
    axis: Axis,
) -> Result<(Ct<S>, Layout)> {
    if layout.splat && layout.entries.is_none() {
        return Ok((ct.duplicate()?, *layout));
    }
    let folded = |ct: &Ct<S>| -> Result<Ct<S>> {
        let mut sum = ct.slice_batch(0..1)?;
        for at in 1..ct.batch() {
            engine.ev.add_assign(&mut sum, &ct.slice_batch(at..at + 1)?)?;
        }
        Ok(sum)
    };
    if axis == Axis::Batch {
        return Ok((folded(ct)?, Layout { entries: None, ..*layout }));
    }
    let clean = cleaned(engine, ct, layout)?;
    let clean = if layout.entries.is_none() { folded(&clean)? } else { clean };
    Ok((engine.ev.sum_all(&clean, keys)?, Layout::total(layout.entries)))
}
