//! Operations of CKKS on arrays in slots.

use crate::arrays::Values;
use crate::context::{CkksEngine, Core, no_keys};
use crate::error::{Fault, Result};
use crate::interrupt::{self, Interruptible};
use he::Device;
use he_any::layout::{self, Bounds, Dim, Layout, Op};
use he_core::circuits::ckks::{self as statistics, LinearTransform, NeverRefresh, Polynomial, inner_product};
use he_core::ckks::{Ciphertext, Encoding, Plaintext};
use he_core::num_complex::Complex64;
use he_core::rlwe::EvaluationKeys;
use he_files::scheme::ckks::capacity;

pub type Ct = Ciphertext<Device>;
type Keys = EvaluationKeys<Device>;

/// The numbers of an array, all of them finite.
fn finite(values: Values<'_>) -> Result<Vec<Complex64>> {
    let values = values.complex();
    if let Some(index) = values.iter().position(|z| !z.is_finite()) {
        return Err(he_core::Error::NotFinite { index }.into());
    }
    Ok(values)
}

/// The vectors of an array of a shape that lies in this layout.
fn vectors(
    (values, shape): (Values<'_>, &[usize]),
    layout: &Layout,
    slots: usize,
) -> Result<Vec<Vec<Complex64>>> {
    let mut rows = layout.rows(&finite(values)?, shape, slots);
    if layout.splat {
        for row in &mut rows {
            row.resize(slots, row[0]);
        }
    }
    Ok(rows)
}

/// Encodes an array of a shape that lies in this layout.
fn encoded(
    engine: &CkksEngine,
    array: (Values<'_>, &[usize]),
    layout: &Layout,
    to: Encoding,
    slots: usize,
) -> Result<Plaintext<Device>> {
    let rows = vectors(array, layout, slots)?;
    let rows: Vec<&[Complex64]> = rows.iter().map(Vec::as_slice).collect();
    Ok(engine.ev.encoder().encode_batch(&rows, to.slots(slots))?)
}

/// Encrypts an array, at a level or at the highest one, some ciphertexts after the other: signals
/// come through in between, and progress is logged.
pub fn encrypted(
    engine: &CkksEngine,
    array: (Values<'_>, &[usize]),
    layout: &Layout,
    level: Option<usize>,
    mut encrypt: impl FnMut(&Plaintext<Device>) -> Result<Ct>,
) -> Result<Ct> {
    let slots = layout.slots(engine.params.slots());
    let mut to = engine.params.encoding();
    if let Some(level) = level {
        to = to.at_level(&engine.params, level)?;
    }
    let rows = vectors(array, layout, slots)?;
    let mut parts = Vec::new();
    for (at, chunk) in rows.chunks(interrupt::PIECE).enumerate() {
        interrupt::step("encrypt", at * interrupt::PIECE, rows.len());
        let chunk: Vec<&[Complex64]> = chunk.iter().map(Vec::as_slice).collect();
        parts.push(encrypt(&engine.ev.encoder().encode_batch(&chunk, to.slots(slots))?)?);
    }
    interrupt::tell(rows.len(), rows.len());
    match parts.pop() {
        Some(only) if parts.is_empty() => Ok(only),
        last => Ok(Ciphertext::concat(&parts.iter().chain(&last).collect::<Vec<_>>())?),
    }
}

/// Encodes an array that is encrypted, at a level or at the highest one.
pub fn fresh(
    engine: &CkksEngine,
    array: (Values<'_>, &[usize]),
    layout: &Layout,
    level: Option<usize>,
) -> Result<Plaintext<Device>> {
    let slots = layout.slots(engine.params.slots());
    let mut to = engine.params.encoding();
    if let Some(level) = level {
        to = to.at_level(&engine.params, level)?;
    }
    encoded(engine, array, layout, to, slots)
}

/// Refuses values that a ciphertext may not hold.
pub fn check(engine: &CkksEngine, ct: &Ct, layout: &Layout) -> Result<()> {
    let capacity = capacity(&engine.params, ct.level(), ct.scale());
    Ok(layout::check(layout.bounds, capacity, ct.level(), false)?)
}

/// Two ciphertexts.
pub fn combine(engine: &CkksEngine, keys: Option<&Keys>, op: Op, a: &Ct, b: &Ct) -> Result<Ct> {
    Ok(match op {
        Op::Add => engine.ev.add(a, b)?,
        Op::Sub => engine.ev.sub(a, b)?,
        Op::Mul => engine.ev.mul(a, b, keys.ok_or_else(no_keys)?)?,
    })
}

/// A ciphertext and an array of the layout `plain`.
pub fn with_array(
    engine: &CkksEngine,
    op: Op,
    ct: &Ct,
    plain: &Layout,
    array: (Values<'_>, &[usize]),
) -> Result<Ct> {
    let to = engine.params.encoding_for(ct);
    let slots = ct.slots().max(plain.slots(engine.params.slots()));
    let plain = encoded(engine, array, plain, to, slots)?;
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
    if !layout.is_padded(slots) || layout.padding == Some(0.0) {
        return Ok((ct.duplicate()?, Layout { padding: Some(0.0), ..*layout }));
    }
    let bounds = layout.bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    let clean = Layout { padding: Some(0.0), bounds, ..*layout };
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

/// One value of each entry in all of its slots: one level if something unknown lies behind it.
pub fn spread(engine: &CkksEngine, keys: &Keys, ct: &Ct, layout: &Layout) -> Result<(Ct, Layout)> {
    let (ct, clean) = cleaned(engine, ct, layout)?;
    let spread = Layout { bounds: layout.bounds, ..clean.reduced(Dim::Slots, true) };
    let spread = Layout { splat: true, point: false, padding: None, ..spread };
    Ok((engine.ev.inner_sum(&ct, ct.slots(), keys)?, spread))
}

/// The sum along axes. `keep` keeps them, of length one.
pub fn sum(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Ct, Layout)> {
    let (mut ct, mut layout) = (ct.duplicate()?, *layout);
    // The entries first: then there is one vector to be summed up.
    for &axis in [Dim::Batch, Dim::Slots, Dim::One].iter().filter(|axis| axes.contains(axis)) {
        let count = layout.length(axis);
        let bounds = layout.bounds.map(|bounds| bounds.scaled(count as f64));
        let reduced = Layout { bounds, ..layout.reduced(axis, keep) };
        (ct, layout) = match axis {
            Dim::Batch => {
                let padding = layout.padding.map(|x| x * count as f64).filter(|x| x.is_finite());
                (
                    if ct.batch() > 1 {
                        folded(engine, &ct)?
                    } else {
                        engine.ev.mul_integer(&ct, count as i64)?
                    },
                    Layout { padding, ..reduced },
                )
            }
            Dim::Slots if count == 1 => {
                (ct, Layout { splat: false, point: true, padding: layout.padding, ..reduced })
            }
            Dim::Slots => {
                let (clean, _) = cleaned(engine, &ct, &layout)?;
                (
                    match layout.entries {
                        None => statistics::sum(&engine.ev, &clean, keys)?,
                        Some(_) => engine.ev.inner_sum(&clean, clean.slots(), keys)?,
                    },
                    reduced,
                )
            }
            Dim::One => (ct, reduced),
        };
        check(engine, &ct, &layout)?;
    }
    Ok((ct, layout))
}

/// The mean along axes, which takes one level.
pub fn mean(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Ct, Layout)> {
    let factor = 1.0 / axes.iter().map(|&axis| layout.length(axis) as f64).product::<f64>();
    let bounds = layout.bounds;
    let (ct, layout) = sum(engine, keys, (ct, layout), axes, keep)?;
    Ok((engine.ev.mul_scalar(&ct, factor)?, Layout { bounds, ..layout.with_scalar(factor, Op::Mul) }))
}

/// The variance of a population along axes, which takes two levels.
pub fn variance(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Ct, Layout)> {
    if layout.complex {
        return Err(Fault::Type(
            "the variance of complex numbers; that of real and imaginary parts, encrypted apart, is computed"
                .to_owned(),
        ));
    }
    // The squares may leave the range of their level: their difference does not.
    let bounds = layout.bounds.map(Bounds::variance);
    let (ct, layout) = match axes.contains(&Dim::Slots) {
        true => cleaned(engine, ct, layout)?,
        false => (ct.duplicate()?, *layout),
    };
    if axes == [Dim::Slots] && layout.entries.is_none() && layout.size > 1 {
        if let Some(below) = ct.level().checked_sub(1) {
            let sum = layout.bounds.map(|bounds| bounds.squared().scaled(layout.size as f64));
            let held = capacity(&engine.params, below, engine.params.levels()[below].scale);
            layout::check(sum, held, below, false)?;
        }
        let variance = statistics::variance(&engine.ev, &ct, layout.size, keys)?;
        return Ok((variance, Layout { bounds, ..layout.reduced(Dim::Slots, keep) }));
    }
    let squares = engine.ev.square(&ct, keys)?;
    let squared =
        Layout { bounds: layout.bounds.map(Bounds::squared), ..layout.combined(&layout, Op::Mul, true)? };
    let (squares, result) = mean(engine, keys, (&squares, &squared), axes, keep)?;
    let (mean, _) = mean(engine, keys, (&ct, &layout), axes, keep)?;
    let variance = engine.ev.sub(&squares, &engine.ev.square(&mean, keys)?)?;
    Ok((variance, Layout { padding: None, bounds, ..result }))
}

/// The sum of the products along the last axis of `layout`, that of both operands.
pub fn dot(
    engine: &CkksEngine,
    keys: &Keys,
    (a, of_a): (&Ct, &Layout),
    (b, of_b): (&Ct, &Layout),
    layout: &Layout,
) -> Result<(Ct, Layout)> {
    let column = |of: &Layout| of.dims == [None, Some(Dim::Slots)] && of.size > 1;
    if a.slots() == b.slots() && column(of_a) && column(of_b) {
        // Zeros in the padding of one make zeros of the products.
        let clean = if of_b.padding == Some(0.0) { a.duplicate()? } else { cleaned(engine, a, of_a)?.0 };
        let bounds = layout.bounds.map(|bounds| bounds.scaled(layout.size as f64));
        let result = Layout { bounds, ..layout.reduced(Dim::Slots, false) };
        return Ok((statistics::dot(&engine.ev, &clean, b, keys)?, result));
    }
    let axis = layout.dims[1].into_iter().collect::<Vec<_>>();
    sum(engine, keys, (&engine.ev.mul(a, b, keys)?, layout), &axis, false)
}

/// The inner product of a column with weights in the clear.
pub fn dot_plain(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    weights: &[f64],
) -> Result<(Ct, Layout)> {
    let bounds = layout.bounds.map(|bounds| bounds.weighted(weights.iter().copied()));
    let result = Layout { bounds, ..layout.reduced(Dim::Slots, false) };
    Ok((inner_product(&engine.ev, ct, weights, keys)?, result))
}

/// Sums of the entries of a batch, one for each column of weights.
pub fn combinations(engine: &CkksEngine, ct: &Ct, columns: &[Vec<f64>]) -> Result<Ct> {
    let entries = (0..ct.batch()).map(|at| Ok(ct.slice_batch(at..at + 1)?)).collect::<Result<Vec<_>>>()?;
    let sums = columns
        .iter()
        .map(|weights| {
            let terms: Vec<_> = entries.iter().zip(weights.iter().copied()).collect();
            Ok(engine.ev.linear_combination(&terms)?)
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Ciphertext::concat(&sums.iter().collect::<Vec<_>>())?)
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
    let bounds = layout.bounds.map(|bounds| {
        let column = |at: usize| matrix.iter().skip(at).step_by(columns).copied();
        (0..columns).fold(Bounds::of(0.0), |all, at| all.hull(bounds.weighted(column(at))))
    });
    Ok((product, Layout { size: columns, padding: Some(0.0), bounds, ..*layout }))
}

/// The values at some places of the slots, in one level: one rotation for each distance that a
/// value moves.
pub fn gathered(
    engine: &CkksEngine,
    keys: &Keys,
    (ct, layout): (&Ct, &Layout),
    places: &[usize],
) -> Result<(Ct, Layout)> {
    let mut steps: Vec<(i64, Vec<f64>)> = Vec::new();
    for (to, &from) in places.iter().enumerate() {
        let step = from as i64 - to as i64;
        let at = steps.iter().position(|(known, _)| *known == step).unwrap_or_else(|| {
            steps.push((step, vec![0.0; places.len()]));
            steps.len() - 1
        });
        steps[at].1[to] = 1.0;
    }
    let encoding = engine.params.encoding_for(ct).slots(ct.slots());
    let parts = steps
        .iter()
        .map(|(step, mask)| {
            let moved = if *step == 0 { ct.duplicate()? } else { engine.ev.rotate(ct, *step, keys)? };
            Ok((moved, engine.ev.encoder().encode_real(mask, encoding)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let terms: Vec<_> = parts.iter().map(|(moved, mask)| (moved, mask)).collect();
    let bounds = layout.bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    let layout = Layout { size: places.len(), padding: Some(0.0), bounds, ..*layout };
    Ok((engine.ev.plain_combination(&terms)?, layout))
}

/// A polynomial, with refreshes if the context can do them.
pub fn polynomial(
    core: &Core,
    keys: &Keys,
    polynomial: &Polynomial,
    (ct, layout): (&Ct, &Layout),
) -> Result<(Ct, Layout)> {
    let engine = core.site.ckks()?;
    let result = match core.bootstrap_keys() {
        Some(bootstrap) => {
            let (bootstrapper, ct) = (engine.bootstrapper()?, with_slots(engine, ct, engine.params.slots())?);
            let refresher = bootstrapper.with_keys(&bootstrap);
            let refresher = Interruptible(&refresher);
            let result = polynomial.apply_refreshed(&engine.ev, &ct, keys, &refresher)?;
            with_slots(engine, &result, layout_slots(layout, &result, engine))?
        }
        None => polynomial.apply_refreshed(&engine.ev, ct, keys, &NeverRefresh)?,
    };
    let padding = layout.padding.map(|x| polynomial.apply_plain(x)).filter(|x| x.is_finite());
    // Complex numbers are bounded by the sum of the powers of their magnitude alone.
    let bounds = layout.bounds.filter(|_| !layout.complex);
    let bounds = bounds.map(|of| of.polynomial(polynomial.degree(), |x| polynomial.apply_plain(x)));
    Ok((result, Layout { padding, bounds, ..*layout }))
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

/// The first values of each part, one part behind the other, in one level.
pub fn side_by_side(engine: &CkksEngine, keys: &Keys, parts: &[(&Ct, usize)]) -> Result<Ct> {
    let total: usize = parts.iter().map(|(_, size)| size).sum();
    let widest = parts.iter().map(|(ct, _)| ct.slots()).max().unwrap_or(1);
    let slots = total.next_power_of_two().max(widest);
    let level = parts.iter().map(|(ct, _)| ct.level()).min().unwrap_or(0);
    let mut start = 0;
    let terms = parts
        .iter()
        .map(|&(ct, size)| {
            let ct = with_slots(engine, &engine.ev.mod_switch_to(ct, level)?, slots)?;
            let mut mask = vec![0.0; start + size];
            mask[start..].fill(1.0);
            let moved = if start == 0 { ct } else { engine.ev.rotate(&ct, -(start as i64), keys)? };
            start += size;
            let encoding = engine.params.encoding_for(&moved).slots(slots);
            Ok((moved, engine.ev.encoder().encode_real(&mask, encoding)?))
        })
        .collect::<Result<Vec<_>>>()?;
    let terms: Vec<_> = terms.iter().map(|(ct, mask)| (ct, mask)).collect();
    Ok(engine.ev.plain_combination(&terms)?)
}
