//! Arrays in the clear as plaintexts, and their encryption.

use super::values::{Array, Values};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::rlwe::{Cipher, Ckks, Engine, Plain};
use he::Device;
use he_core::ckks::{Ciphertext, Encoding};
use he_core::num_complex::Complex64;
use std::ops::Range;

/// So many ciphertexts are encrypted between two reports of progress.
pub const PIECE: usize = 32;

/// The vectors of an array.
enum Rows {
    Complex(Vec<Vec<Complex64>>),
    Signed(Vec<Vec<i64>>),
    Unsigned(Vec<Vec<u64>>),
}

/// The vectors of an array of a shape that lies in this layout.
fn rows<T: Copy>(values: &[T], shape: &[usize], layout: &Layout, slots: usize) -> Vec<Vec<T>> {
    let mut rows = layout.rows(values, shape, slots);
    if layout.splat {
        for row in &mut rows {
            row.resize(slots, row[0]);
        }
    }
    rows
}

impl Rows {
    fn new(engine: &Engine, (values, shape): Array<'_>, layout: &Layout, slots: usize) -> Result<Self> {
        if engine.ckks().is_some() {
            let values = values.complex();
            if let Some(index) = values.iter().position(|z| !z.is_finite()) {
                return Err(he_core::Error::NotFinite { index }.into());
            }
            return Ok(Self::Complex(rows(&values, shape, layout, slots)));
        }
        match values {
            Values::Signed(values) => Ok(Self::Signed(rows(values, shape, layout, slots))),
            Values::Unsigned(values) => Ok(Self::Unsigned(rows(values, shape, layout, slots))),
            Values::Real(_) | Values::Complex(_) => Err(Error::NotIntegers),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Complex(rows) => rows.len(),
            Self::Signed(rows) => rows.len(),
            Self::Unsigned(rows) => rows.len(),
        }
    }

    /// Some of the vectors as plaintexts; under CKKS as `to` says.
    fn encoded(&self, engine: &Engine, range: Range<usize>, to: Option<Encoding>) -> Result<Plain> {
        fn slices<T>(rows: &[Vec<T>]) -> Vec<&[T]> {
            rows.iter().map(Vec::as_slice).collect()
        }
        Ok(match (self, engine.ckks(), to) {
            (Self::Complex(rows), Some(engine), Some(to)) => {
                Plain::Ckks(engine.ev.encoder().encode_batch(&slices(&rows[range]), to)?)
            }
            (Self::Signed(rows), ..) => engine.encode(&slices(&rows[range]))?,
            (Self::Unsigned(rows), ..) => engine.encode(&slices(&rows[range]))?,
            _ => return Err(Error::NotIntegers),
        })
    }
}

/// The vectors of an array that is encrypted, and how CKKS encodes them: at a level, or at the
/// highest one.
fn fresh(
    engine: &Engine,
    array: Array<'_>,
    layout: &Layout,
    level: Option<usize>,
) -> Result<(Rows, Option<Encoding>)> {
    let Some(ckks) = engine.ckks() else {
        return Ok((Rows::new(engine, array, layout, engine.slots())?, None));
    };
    let slots = layout.slots(ckks.params.slots());
    let mut to = ckks.params.encoding();
    if let Some(level) = level {
        to = to.at_level(&ckks.params, level)?;
    }
    Ok((Rows::new(engine, array, layout, slots)?, Some(to.slots(slots))))
}

/// Encodes an array that is encrypted; under CKKS at a level, or at the highest one.
///
/// # Errors
/// Numbers that are not finite, or not integers under BFV and BGV; values that are too large.
pub fn encoded(engine: &Engine, array: Array<'_>, layout: &Layout, level: Option<usize>) -> Result<Plain> {
    let (rows, to) = fresh(engine, array, layout, level)?;
    rows.encoded(engine, 0..rows.len(), to)
}

/// Encrypts an array by `encrypt`, [`PIECE`] ciphertexts after the other; `step` hears before each
/// piece and at the end how many of how many are done.
///
/// # Errors
/// The same as for [`encoded`]; the errors of `encrypt`.
pub fn encrypted<E: From<Error>>(
    engine: &Engine,
    array: Array<'_>,
    layout: &Layout,
    level: Option<usize>,
    mut encrypt: impl FnMut(&Plain) -> Result<Cipher, E>,
    mut step: impl FnMut(usize, usize),
) -> Result<Cipher, E> {
    let (rows, to) = fresh(engine, array, layout, level)?;
    let all = rows.len();
    let mut parts = Vec::new();
    for at in (0..all).step_by(PIECE) {
        step(at, all);
        parts.push(encrypt(&rows.encoded(engine, at..all.min(at + PIECE), to)?)?);
    }
    step(all, all);
    match parts.pop() {
        Some(only) if parts.is_empty() => Ok(only),
        last => {
            let parts: Vec<&Cipher> = parts.iter().chain(&last).collect();
            Ok(Cipher::concat(&parts).map_err(Error::from)?)
        }
    }
}

/// Encodes an array that lies in the layout `plain` beside a ciphertext.
pub(super) fn beside(engine: &Engine, ct: &Cipher, plain: &Layout, array: Array<'_>) -> Result<Plain> {
    let (slots, to) = match (engine.ckks(), ct.ckks()) {
        (Some(engine), Some(ct)) => {
            let slots = ct.slots().max(plain.slots(engine.params.slots()));
            (slots, Some(engine.params.encoding_for(ct).slots(slots)))
        }
        _ => (engine.slots(), None),
    };
    let rows = Rows::new(engine, array, plain, slots)?;
    rows.encoded(engine, 0..rows.len(), to)
}

/// Encodes vectors beside a ciphertext of CKKS.
pub(super) fn near(engine: &Ckks, ct: &Ciphertext<Device>, vectors: &[Vec<Complex64>]) -> Result<Plain> {
    let to = engine.params.encoding_for(ct);
    let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
    Ok(Plain::Ckks(engine.ev.encoder().encode_batch(&vectors, to)?))
}

/// Encodes small integers in the slots of vectors beside a ciphertext.
pub(super) fn mask(engine: &Engine, ct: &Cipher, vectors: &[&[i64]]) -> Result<Plain> {
    let Some((engine, ct)) = engine.ckks().zip(ct.ckks()) else { return Ok(engine.encode(vectors)?) };
    let complex = |vector: &&[i64]| vector.iter().map(|&x| (x as f64).into()).collect();
    near(engine, ct, &vectors.iter().map(complex).collect::<Vec<_>>())
}
