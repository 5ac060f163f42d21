//! Operations of CKKS on arrays in slots.

use crate::arrays::Values;
use crate::context::{CkksEngine, Core};
use crate::error::{Fault, Result};
use crate::interrupt::Interruptible;
use he::Device;
use he_core::circuits::ckks::{self as statistics, LinearTransform, NeverRefresh, Polynomial, inner_product};
use he_core::ckks::{Ciphertext, Encoding, Plaintext};
use he_core::num_complex::Complex64;
use he_core::rlwe::EvaluationKeys;
use he_files::layout::{Layout, Op};

pub type Ct = Ciphertext<Device>;
type Keys = EvaluationKeys<Device>;

/// Encodes an array.
pub fn encoded(
    engine: &CkksEngine,
    values: Values<'_>,
    layout: &Layout,
    to: Encoding,
    slots: usize,
) -> Result<Plaintext<Device>> {
    let values = values.complex();
    if let Some(index) = values.iter().position(|z| !z.is_finite()) {
        return Err(he_core::Error::NotFinite { index }.into());
    }
    let length = if layout.entries.is_some() { layout.size } else { slots };
    let rows: Vec<&[Complex64]> = values.chunks(length.max(1)).collect();
    Ok(engine.ev.encoder().encode_batch(&rows, to.slots(slots))?)
}

/// Encodes an array that is encrypted, at a level or at the highest one.
pub fn fresh(
    engine: &CkksEngine,
    values: Values<'_>,
    layout: &Layout,
    level: Option<usize>,
) -> Result<Plaintext<Device>> {
    let slots = layout.slots(engine.params.slots());
    let mut to = engine.params.encoding();
    if let Some(level) = level {
        to = to.at_level(&engine.params, level)?;
    }
    encoded(engine, values, layout, to, slots)
}

/// Two ciphertexts.
pub fn combine(engine: &CkksEngine, core: &Core, op: Op, a: &Ct, b: &Ct) -> Result<Ct> {
    Ok(match op {
        Op::Add => engine.ev.add(a, b)?,
        Op::Sub => engine.ev.sub(a, b)?,
        Op::Mul => engine.ev.mul(a, b, core.switching()?.get()?)?,
    })
}

/// A ciphertext and an array of the layout `plain`.
pub fn with_array(engine: &CkksEngine, op: Op, ct: &Ct, plain: &Layout, values: Values<'_>) -> Result<Ct> {
    let to = engine.params.encoding_for(ct);
    let slots = ct.slots().max(plain.slots(engine.params.slots()));
    let plain = encoded(engine, values, plain, to, slots)?;
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

/// A ciphertext and a number in every slot.
pub fn with_number(engine: &CkksEngine, op: Op, ct: &Ct, value: Complex64) -> Result<Ct> {
    let ev = &engine.ev;
    Ok(match op {
        Op::Add => ev.add_scalar(ct, value)?,
        Op::Sub => ev.add_scalar(ct, -value)?,
        Op::Mul if value.im == 0.0 => ev.mul_scalar(ct, value.re)?,
        Op::Mul => {
            let to = engine.params.encoding_for(ct);
            ev.mul_plain(ct, &ev.encoder().encode_constant(value, to)?)?
        }
    })
}

/// The same values with zeros in the padding. That takes no level unless the padding is unknown.
pub fn cleaned(engine: &CkksEngine, ct: &Ct, layout: &Layout) -> Result<(Ct, Layout)> {
    let slots = ct.slots();
    let clean = Layout { padding: Some(0.0), ..*layout };
    if !layout.is_padded(slots) || layout.padding == Some(0.0) {
        return Ok((ct.duplicate()?, clean));
    }
    let (in_values, in_padding) = match layout.padding {
        Some(padding) => (0.0, -padding),
        None => (1.0, 0.0),
    };
    // One row for all rows of a batch; a column is padded in its last entry alone.
    let count = if layout.entries.is_some() { slots } else { ct.batch() * slots };
    let mut mask = vec![in_padding; count];
    mask[..layout.size].fill(in_values);
    let chunks: Vec<Vec<Complex64>> =
        mask.chunks(slots).map(|row| row.iter().map(|&x| x.into()).collect()).collect();
    let chunks: Vec<&[Complex64]> = chunks.iter().map(Vec::as_slice).collect();
    let mask = engine.ev.encoder().encode_batch(&chunks, engine.params.encoding_for(ct))?;
    let ct = match layout.padding {
        Some(_) => engine.ev.add_plain(ct, &mask)?,
        None => engine.ev.mul_plain(ct, &mask)?,
    };
    Ok((ct, clean))
}

/// The sum of the entries of a batch.
fn folded(engine: &CkksEngine, ct: &Ct) -> Result<Ct> {
    let mut sum = ct.slice_batch(0..1)?;
    for at in 1..ct.batch() {
        engine.ev.add_assign(&mut sum, &ct.slice_batch(at..at + 1)?)?;
    }
    Ok(sum)
}

/// Which values are summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Those of a column, or of each row.
    Slots,
    /// Those of a column of the batch.
    Batch,
}

impl Axis {
    /// NumPy's number of an axis of such an array; without one, the last.
    pub fn new(axis: Option<i64>, layout: &Layout) -> Result<Self> {
        let dimensions = layout.shape().len() as i64;
        match (axis, layout.entries.is_some()) {
            (None | Some(-1), _) if !layout.splat || layout.entries.is_none() => Ok(Self::Slots),
            (None | Some(-1), _) => Ok(Self::Batch),
            (Some(0), false) => Ok(Self::Slots),
            (Some(0), true) => Ok(Self::Batch),
            (Some(axis), true) if axis == -dimensions => Ok(Self::Batch),
            (Some(1), true) if !layout.splat => Ok(Self::Slots),
            (Some(axis), _) => {
                Err(Fault::Value(format!("axis {axis} of a ciphertext of {dimensions} dimension(s)")))
            }
        }
    }
}

/// The sum along an axis.
pub fn sum(engine: &CkksEngine, keys: &Keys, ct: &Ct, layout: &Layout, axis: Axis) -> Result<(Ct, Layout)> {
    if layout.splat && layout.entries.is_none() {
        return Ok((ct.duplicate()?, *layout));
    }
    match (axis, layout.entries) {
        (Axis::Batch, _) => {
            let padding = layout.padding.map(|x| x * layout.batch(ct.slots()) as f64);
            Ok((folded(engine, ct)?, Layout { entries: None, padding, ..*layout }))
        }
        (Axis::Slots, None) => {
            let (ct, _) = cleaned(engine, ct, layout)?;
            Ok((statistics::sum(&engine.ev, &ct, keys)?, Layout::total(None)))
        }
        (Axis::Slots, entries) => {
            let (ct, _) = cleaned(engine, ct, layout)?;
            Ok((engine.ev.inner_sum(&ct, ct.slots(), keys)?, Layout::total(entries)))
        }
    }
}

/// The number of values that a sum along an axis adds.
fn count(layout: &Layout, axis: Axis) -> usize {
    match axis {
        Axis::Batch => layout.entries.unwrap_or(1),
        Axis::Slots => layout.size,
    }
}

/// The mean along an axis, which takes one level.
pub fn mean(engine: &CkksEngine, keys: &Keys, ct: &Ct, layout: &Layout, axis: Axis) -> Result<(Ct, Layout)> {
    let factor = 1.0 / count(layout, axis) as f64;
    let (ct, layout) = sum(engine, keys, ct, layout, axis)?;
    Ok((engine.ev.mul_scalar(&ct, factor)?, layout.with_scalar(factor, Op::Mul)))
}

/// The variance of a population along an axis, which takes two levels.
pub fn variance(
    engine: &CkksEngine,
    keys: &Keys,
    ct: &Ct,
    layout: &Layout,
    axis: Axis,
) -> Result<(Ct, Layout)> {
    let (ct, layout) = match axis {
        Axis::Slots => cleaned(engine, ct, layout)?,
        Axis::Batch => (ct.duplicate()?, *layout),
    };
    if axis == Axis::Slots && layout.entries.is_none() {
        let variance = statistics::variance(&engine.ev, &ct, layout.size, keys)?;
        return Ok((variance, Layout::total(None)));
    }
    let squares = engine.ev.square(&ct, keys)?;
    let squared = layout.combined(&layout, Op::Mul, true)?;
    let (squares, result) = mean(engine, keys, &squares, &squared, axis)?;
    let (mean, of) = mean(engine, keys, &ct, &layout, axis)?;
    let variance = engine.ev.sub(&squares, &engine.ev.square(&mean, keys)?)?;
    Ok((variance, result.combined(&of.combined(&of, Op::Mul, true)?, Op::Sub, true)?))
}

/// The inner product of two columns, or row by row.
pub fn dot(
    engine: &CkksEngine,
    keys: &Keys,
    (a, of_a): (&Ct, &Layout),
    (b, of_b): (&Ct, &Layout),
) -> Result<(Ct, Layout)> {
    let alike = a.slots() == b.slots();
    let layout = of_a.combined(of_b, Op::Mul, alike)?;
    if layout.entries.is_none() && alike && !of_a.splat && !of_b.splat {
        // Zeros in the padding of one make zeros of the products.
        let clean = if of_b.padding == Some(0.0) { a.duplicate()? } else { cleaned(engine, a, of_a)?.0 };
        return Ok((statistics::dot(&engine.ev, &clean, b, keys)?, Layout::total(None)));
    }
    sum(engine, keys, &engine.ev.mul(a, b, keys)?, &layout, Axis::Slots)
}

/// The inner product with weights in the clear.
pub fn dot_plain(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    (weights, plain): (Values<'_>, &Layout),
) -> Result<(Ct, Layout)> {
    let product = layout.combined(plain, Op::Mul, true)?;
    match (weights, product.entries) {
        (Values::Real(weights), None) if !layout.splat => {
            Ok((inner_product(&engine.ev, ct, weights, keys)?, Layout::total(None)))
        }
        _ => {
            let ct = with_array(engine, Op::Mul, ct, plain, weights)?;
            sum(engine, keys, &ct, &product, Axis::Slots)
        }
    }
}

/// The product with a matrix of `columns` columns, a row per value.
pub fn matmul(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    matrix: &[f64],
    columns: usize,
) -> Result<(Ct, Layout)> {
    let values = matrix.len() / columns.max(1);
    if layout.splat || values != layout.size {
        return Err(Fault::Value(format!(
            "a matrix of shape ({values}, {columns}) for a ciphertext of shape {}",
            he_files::layout::shown(&layout.shape())
        )));
    }
    if layout.entries.is_none() && ct.batch() > 1 {
        return Err(Fault::Value(format!(
            "a column of {} values for a matrix; one ciphertext has {} slots",
            layout.size,
            ct.slots()
        )));
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
    Ok((product, Layout { size: columns, padding: Some(0.0), ..*layout }))
}

/// A polynomial, with refreshes if the context can do them.
pub fn polynomial(core: &Core, polynomial: &Polynomial, ct: &Ct, layout: &Layout) -> Result<(Ct, Layout)> {
    let engine = core.site.ckks()?;
    let keys = core.switching()?;
    let result = match core.bootstrap_keys() {
        Some(bootstrap) => {
            let (bootstrapper, ct) = (engine.bootstrapper()?, with_slots(engine, ct, engine.params.slots())?);
            let refresher = bootstrapper.with_keys(&bootstrap);
            let refresher = Interruptible(&refresher);
            let result = polynomial.apply_refreshed(&engine.ev, &ct, keys.get()?, &refresher)?;
            with_slots(engine, &result, layout_slots(layout, &result, engine))?
        }
        None => polynomial.apply_refreshed(&engine.ev, ct, keys.get()?, &NeverRefresh)?,
    };
    let padding = layout.padding.map(|x| polynomial.apply_plain(x)).filter(|x| x.is_finite());
    Ok((result, Layout { padding, ..*layout }))
}

/// The slots that a ciphertext had before it was made one of all slots.
fn layout_slots(layout: &Layout, ct: &Ct, engine: &CkksEngine) -> usize {
    if ct.batch() > 1 { engine.params.slots() } else { layout.slots(engine.params.slots()) }
}

/// The same ciphertext with another number of slots: a short vector is a long one that repeats it.
pub fn with_slots(engine: &CkksEngine, ct: &Ct, slots: usize) -> Result<Ct> {
    let mut copy = ct.duplicate()?;
    if ct.slots() != slots {
        copy = Ciphertext::from_parts(&engine.params, ct.pair().duplicate()?, ct.level(), ct.scale(), slots)?;
        copy.set_key_set(ct.key_set());
        copy.set_noise(ct.noise());
    }
    Ok(copy)
}

/// New levels.
pub fn refreshed(core: &Core, ct: &Ct) -> Result<Ct> {
    let engine = core.site.ckks()?;
    let bootstrapper = engine.bootstrapper()?;
    let keys = core.bootstrap_keys().ok_or_else(|| {
        Fault::Key(
            "the context has no keys of bootstrapping; make them with keygen, or set bootstrap_keys"
                .to_owned(),
        )
    })?;
    let fresh = bootstrapper.refresh(&with_slots(engine, ct, engine.params.slots())?, &keys)?;
    with_slots(engine, &fresh, ct.slots())
}
