//! Operations of BFV and BGV on arrays in slots.

use crate::arrays::Values;
use crate::context::{ExactEngine, no_keys};
use crate::error::{Fault, Result};
use crate::interrupt;
use he::Device;
use he_any::layout::{self, Bounds, Dim, Layout, Op};
use he_core::exact::{Ciphertext, Plaintext};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::WireScheme;

pub type Ct<S> = Ciphertext<S, Device>;
type Keys = EvaluationKeys<Device>;

/// Encodes an array of a shape that lies in this layout.
pub fn encoded<S: WireScheme>(
    engine: &ExactEngine<S>,
    (values, shape): (Values<'_>, &[usize]),
    layout: &Layout,
) -> Result<Plaintext> {
    let slots = engine.ring.n();
    let encoder = engine.ev.encoder();
    macro_rules! rows {
        ($values:expr) => {{
            let mut rows = layout.rows($values, shape, slots);
            if layout.splat {
                rows.iter_mut().for_each(|row| row.resize(slots, row[0]));
            }
            encoder.encode_batch(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>())?
        }};
    }
    Ok(match values {
        Values::Signed(values) => rows!(values),
        Values::Unsigned(values) => rows!(values),
        Values::Real(_) | Values::Complex(_) => {
            return Err(Fault::Type("real numbers, where integers are expected".to_owned()));
        }
    })
}

/// Encrypts an array, some ciphertexts after the other.
pub fn encrypted<S: WireScheme>(
    engine: &ExactEngine<S>,
    (values, shape): (Values<'_>, &[usize]),
    layout: &Layout,
    mut encrypt: impl FnMut(&Plaintext) -> Result<Ct<S>>,
) -> Result<Ct<S>> {
    let slots = engine.ring.n();
    let mut parts = Vec::new();
    macro_rules! all {
        ($values:expr) => {{
            let mut rows = layout.rows($values, shape, slots);
            if layout.splat {
                rows.iter_mut().for_each(|row| row.resize(slots, row[0]));
            }
            for (at, chunk) in rows.chunks(interrupt::PIECE).enumerate() {
                interrupt::step("encrypt", at * interrupt::PIECE, rows.len());
                let chunk: Vec<_> = chunk.iter().map(Vec::as_slice).collect();
                parts.push(encrypt(&engine.ev.encoder().encode_batch(&chunk)?)?);
            }
            interrupt::tell(rows.len(), rows.len());
        }};
    }
    match values {
        Values::Signed(values) => all!(values),
        Values::Unsigned(values) => all!(values),
        Values::Real(_) | Values::Complex(_) => {
            return Err(Fault::Type("real numbers, where integers are expected".to_owned()));
        }
    }
    match parts.pop() {
        Some(only) if parts.is_empty() => Ok(only),
        last => Ok(Ciphertext::concat(&parts.iter().chain(&last).collect::<Vec<_>>())?),
    }
}

/// Refuses values that leave the range of the plaintext modulus.
pub fn check<S: WireScheme>(engine: &ExactEngine<S>, ct: &Ct<S>, layout: &Layout) -> Result<()> {
    let capacity = (engine.params.plain().value() / 2) as f64;
    Ok(layout::check(layout.bounds, capacity, ct.level(), true)?)
}

/// Two ciphertexts.
pub fn combine<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: Option<&Keys>,
    op: Op,
    a: &Ct<S>,
    b: &Ct<S>,
) -> Result<Ct<S>> {
    Ok(match op {
        Op::Add => engine.ev.add(a, b)?,
        Op::Sub => engine.ev.sub(a, b)?,
        Op::Mul => engine.ev.mul(a, b, keys.ok_or_else(no_keys)?)?,
    })
}

/// A ciphertext and an array of the layout `plain`.
pub fn with_array<S: WireScheme>(
    engine: &ExactEngine<S>,
    op: Op,
    ct: &Ct<S>,
    plain: &Layout,
    array: (Values<'_>, &[usize]),
) -> Result<Ct<S>> {
    let plain = encoded(engine, array, plain)?;
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

/// One value of each entry in all of its slots.
pub fn spread<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    ct: &Ct<S>,
    layout: &Layout,
) -> Result<(Ct<S>, Layout)> {
    let spread = layout.reduced(Dim::Slots, true);
    let spread = Layout { splat: true, point: false, padding: None, ..spread };
    Ok((engine.ev.sum_all(&cleaned(engine, ct, layout)?, keys)?, spread))
}

/// The sum of the entries of a batch.
fn folded<S: WireScheme>(engine: &ExactEngine<S>, ct: &Ct<S>) -> Result<Ct<S>> {
    let mut sum = ct.slice_batch(0..1)?;
    for at in 1..ct.batch() {
        engine.ev.add_assign(&mut sum, &ct.slice_batch(at..at + 1)?)?;
    }
    Ok(sum)
}

/// The sum along axes. `keep` keeps them, of length one.
pub fn sum<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    (ct, layout): (&Ct<S>, &Layout),
    axes: &[Dim],
    keep: bool,
) -> Result<(Ct<S>, Layout)> {
    let (mut ct, mut layout) = (ct.duplicate()?, *layout);
    for &axis in [Dim::Batch, Dim::Slots, Dim::One].iter().filter(|axis| axes.contains(axis)) {
        let count = layout.length(axis);
        let bounds = layout.bounds.map(|bounds| bounds.scaled(count as f64));
        let reduced = Layout { bounds, ..layout.reduced(axis, keep) };
        (ct, layout) = match axis {
            Dim::Batch if ct.batch() > 1 => (folded(engine, &ct)?, reduced),
            Dim::Batch => (engine.ev.mul_scalar(&ct, count as i64)?, reduced),
            Dim::Slots if count == 1 => {
                (ct, Layout { splat: false, point: true, padding: layout.padding, ..reduced })
            }
            Dim::Slots => {
                let clean = cleaned(engine, &ct, &layout)?;
                let clean = if layout.entries.is_none() { folded(engine, &clean)? } else { clean };
                (engine.ev.sum_all(&clean, keys)?, reduced)
            }
            Dim::One => (ct, reduced),
        };
        check(engine, &ct, &layout)?;
    }
    Ok((ct, layout))
}

/// Sums of the entries of a batch, one for each column of weights.
pub fn combinations<S: WireScheme>(
    engine: &ExactEngine<S>,
    ct: &Ct<S>,
    columns: &[Vec<i64>],
) -> Result<Ct<S>> {
    let sums = columns
        .iter()
        .map(|weights| {
            let mut sum: Option<Ct<S>> = None;
            for (at, &weight) in weights.iter().enumerate() {
                let term = engine.ev.mul_scalar(&ct.slice_batch(at..at + 1)?, weight)?;
                sum = Some(match sum {
                    None => term,
                    Some(sum) => engine.ev.add(&sum, &term)?,
                });
            }
            sum.ok_or_else(|| Fault::Value("a matrix without rows".to_owned()))
        })
        .collect::<Result<Vec<_>>>()?;
    Ok(Ciphertext::concat(&sums.iter().collect::<Vec<_>>())?)
}

/// The values at some places of the slots: a product by a plaintext for each distance that a value
/// moves.
pub fn gathered<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    (ct, layout): (&Ct<S>, &Layout),
    places: &[usize],
) -> Result<(Ct<S>, Layout)> {
    let mut steps: Vec<(i64, Vec<i64>)> = Vec::new();
    for (to, &from) in places.iter().enumerate() {
        let step = from as i64 - to as i64;
        let at = steps.iter().position(|(known, _)| *known == step).unwrap_or_else(|| {
            steps.push((step, vec![0; places.len()]));
            steps.len() - 1
        });
        steps[at].1[to] = 1;
    }
    let mut sum: Option<Ct<S>> = None;
    for (step, mask) in &steps {
        let moved = if *step == 0 { ct.duplicate()? } else { engine.ev.rotate(ct, *step, keys)? };
        let part = engine.ev.mul_plain(&moved, &engine.ev.encoder().encode_batch(&[mask.as_slice()])?)?;
        sum = Some(match sum {
            None => part,
            Some(sum) => engine.ev.add(&sum, &part)?,
        });
    }
    let sum = sum.ok_or_else(|| Fault::Value("no places".to_owned()))?;
    let bounds = layout.bounds.map(|bounds| bounds.hull(Bounds::of(0.0)));
    Ok((sum, Layout { size: places.len(), padding: Some(0.0), bounds, ..*layout }))
}

/// The first values of each part, one part behind the other.
pub fn side_by_side<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    parts: &[(&Ct<S>, usize)],
) -> Result<Ct<S>> {
    let (mut start, mut sum): (usize, Option<Ct<S>>) = (0, None);
    for &(ct, size) in parts {
        let mut mask = vec![0_i64; start + size];
        mask[start..].fill(1);
        let moved = if start == 0 { ct.duplicate()? } else { engine.ev.rotate(ct, -(start as i64), keys)? };
        let part = engine.ev.mul_plain(&moved, &engine.ev.encoder().encode_batch(&[mask.as_slice()])?)?;
        sum = Some(match sum {
            None => part,
            Some(sum) => engine.ev.add(&sum, &part)?,
        });
        start += size;
    }
    sum.ok_or_else(|| Fault::Value("no arrays".to_owned()))
}

/// A polynomial with integer coefficients, that of the lowest degree first: powers by squaring, so
/// that the depth is ceil(log2) of the degree, and one more for the coefficients' products if these
/// are not free.
pub fn polynomial<S: WireScheme>(
    engine: &ExactEngine<S>,
    keys: &Keys,
    ct: &Ct<S>,
    coefficients: &[i64],
) -> Result<Ct<S>> {
    let degree = coefficients.iter().rposition(|&c| c != 0).unwrap_or(0);
    let mut powers: Vec<Ct<S>> = vec![ct.duplicate()?];
    for power in 2..=degree {
        let (low, high) = (power / 2, power - power / 2);
        powers.push(engine.ev.mul(&powers[low - 1], &powers[high - 1], keys)?);
    }
    let mut sum = engine.ev.mul_scalar(ct, *coefficients.get(1).unwrap_or(&0))?;
    for (power, &coefficient) in coefficients.iter().enumerate().skip(2) {
        if coefficient != 0 {
            sum = engine.ev.add(&sum, &engine.ev.mul_scalar(&powers[power - 1], coefficient)?)?;
        }
    }
    Ok(engine.ev.add_scalar(&sum, *coefficients.first().unwrap_or(&0))?)
}
