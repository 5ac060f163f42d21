//! Arrays in the clear as plaintexts, and their encryption.

use super::values::{Array, Values};
use crate::error::{Error, Result};
use crate::layout::Layout;
use crate::rlwe::{Cipher, Ckks, Engine, Owner, Plain};
use he::Device;
use he_core::ckks::{Ciphertext, Encoding};
use he_core::num_complex::Complex64;
use std::ops::Range;

/// So many ciphertexts are encrypted between two reports of progress.
pub const PIECE: usize = 32;

/// The vectors of an array of a shape that lies in a layout. Each is made when it is encoded: a
/// copy of a large array would take its memory again, and time in which nothing is heard.
struct Rows<'a> {
    values: Values<'a>,
    shape: &'a [usize],
    layout: &'a Layout,
    slots: usize,
}

impl<'a> Rows<'a> {
    fn new(engine: &Engine, (values, shape): Array<'a>, layout: &'a Layout, slots: usize) -> Result<Self> {
        if engine.ckks().is_none() && matches!(values, Values::Real(_) | Values::Complex(_)) {
            return Err(Error::NotIntegers);
        }
        if let (Some(_), Some(index)) = (engine.ckks(), values.not_finite()) {
            return Err(he_core::Error::NotFinite { index }.into());
        }
        Ok(Self { values, shape, layout, slots })
    }

    fn len(&self) -> usize {
        self.layout.vectors(self.values.len(), self.shape, self.slots)
    }

    /// Some of the vectors, of numbers that `of` makes of those of the array.
    fn some<T: Copy, U: Clone>(&self, values: &[T], range: Range<usize>, of: impl Fn(T) -> U) -> Vec<Vec<U>> {
        let rows = self.layout.rows(values, self.shape, self.slots, range);
        let row = |row: Vec<T>| {
            let mut row: Vec<U> = row.into_iter().map(&of).collect();
            if self.layout.splat {
                row.resize(self.slots, row[0].clone());
            }
            row
        };
        rows.into_iter().map(row).collect()
    }

    fn complex(&self, range: Range<usize>) -> Vec<Vec<Complex64>> {
        match self.values {
            Values::Real(values) => self.some(values, range, Complex64::from),
            Values::Complex(values) => self.some(values, range, |z| z),
            Values::Signed(values) => self.some(values, range, |x| (x as f64).into()),
            Values::Unsigned(values) => self.some(values, range, |x| (x as f64).into()),
        }
    }

    /// Some of the vectors as plaintexts; under CKKS as `to` says.
    fn encoded(&self, engine: &Engine, range: Range<usize>, to: Option<Encoding>) -> Result<Plain> {
        fn slices<T>(rows: &[Vec<T>]) -> Vec<&[T]> {
            rows.iter().map(Vec::as_slice).collect()
        }
        Ok(match (self.values, engine.ckks(), to) {
            (_, Some(engine), Some(to)) => {
                Plain::Ckks(engine.ev.encoder().encode_batch(&slices(&self.complex(range)), to)?)
            }
            (Values::Signed(values), ..) => engine.encode(&slices(&self.some(values, range, |x| x)))?,
            (Values::Unsigned(values), ..) => engine.encode(&slices(&self.some(values, range, |x| x)))?,
            _ => return Err(Error::NotIntegers),
        })
    }
}

/// The vectors of an array that is encrypted, and how CKKS encodes them: at a level, or at the
/// highest one.
fn fresh<'a>(
    engine: &Engine,
    array: Array<'a>,
    layout: &'a Layout,
    level: Option<usize>,
) -> Result<(Rows<'a>, Option<Encoding>)> {
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

/// Decrypts vectors, which `decode` reads, [`PIECE`] ciphertexts after the other; `step` hears
/// before each piece and at the end how many of how many are done.
///
/// # Errors
/// The errors of [`Owner::decrypt`] and of `decode`.
pub fn decrypted<T>(
    owner: &Owner,
    ct: &Cipher,
    decode: impl Fn(&Plain) -> he_core::Result<Vec<Vec<T>>>,
    mut step: impl FnMut(usize, usize),
) -> he_core::Result<Vec<Vec<T>>> {
    let all = ct.batch();
    let mut rows = Vec::with_capacity(all);
    for at in (0..all).step_by(PIECE) {
        step(at, all);
        rows.extend(match all {
            ..=PIECE => decode(&owner.decrypt(ct)?)?,
            _ => decode(&owner.decrypt(&ct.slice_batch(at..all.min(at + PIECE))?)?)?,
        });
    }
    step(all, all);
    Ok(rows)
}

/// An array that lies in a layout beside a ciphertext.
pub(super) struct Beside<'a> {
    engine: &'a Engine,
    rows: Rows<'a>,
    to: Option<Encoding>,
}

impl<'a> Beside<'a> {
    pub fn new(engine: &'a Engine, ct: &Cipher, plain: &'a Layout, array: Array<'a>) -> Result<Self> {
        let (slots, to) = match (engine.ckks(), ct.ckks()) {
            (Some(engine), Some(ct)) => {
                let slots = ct.slots().max(plain.slots(engine.params.slots()));
                (slots, Some(engine.params.encoding_for(ct).slots(slots)))
            }
            _ => (engine.slots(), None),
        };
        Ok(Self { engine, rows: Rows::new(engine, array, plain, slots)?, to })
    }

    /// The number of its vectors.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Its vectors at these entries of a batch; a single one is that of all.
    pub fn encoded(&self, entries: Range<usize>) -> Result<Plain> {
        let entries = match self.len() {
            1 => 0..1,
            // Another number of entries is an error of the operation.
            all if entries.end > all => 0..all,
            _ => entries,
        };
        self.rows.encoded(self.engine, entries, self.to)
    }
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
