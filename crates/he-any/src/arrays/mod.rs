//! Operations on arrays in the slots of vectors: a ciphertext with its [`Layout`], and arrays in
//! the clear.
//!
//! The layout says where the values lie and how large they can be. The functions that return one
//! return that of the result; for the others, the caller combines layouts by
//! [`Layout::combined`] and its relatives.

mod encoding;
mod functions;
mod matrices;
mod pieces;
mod places;
mod products;
mod sums;
mod values;

pub use encoding::{PIECE, decrypted, encoded, encrypted};
pub use functions::{polynomial, with_slots};
pub use matrices::product;
pub use places::{gathered, side_by_side};
pub use products::{combinations, dot, dot_plain, integer_combinations, matmul};
pub use sums::{cleaned, mean, spread, sum, variance};
pub use values::{Array, Values};

use crate::error::{Error, Result};
use crate::family::mixed;
use crate::layout::{self, Layout, Op};
use crate::number::Number;
use crate::rlwe::{Cipher, Ckks, Engine};
use he::Device;
use he_core::ckks::Ciphertext;
use he_core::num_complex::Complex64;
use he_core::rlwe::EvaluationKeys;

type Ct = Ciphertext<Device>;
type Keys = EvaluationKeys<Device>;

/// The engine and the ciphertext of an operation of CKKS alone.
fn of_ckks<'a>(engine: &'a Engine, ct: &'a Cipher) -> Result<(&'a Ckks, &'a Ct)> {
    Ok(engine.ckks().zip(ct.ckks()).ok_or_else(mixed)?)
}

/// Refuses values that a ciphertext may not hold.
///
/// # Errors
/// [`Range`](layout::LayoutError::Range).
pub fn check(engine: &Engine, ct: &Cipher, layout: &Layout) -> Result<()> {
    Ok(layout::check(layout.bounds, engine.capacity(ct), ct.level(), engine.is_exact())?)
}

/// Two ciphertexts; products need keys.
///
/// # Errors
/// [`Error::NoKeys`]; the errors of the operation.
pub fn combine(engine: &Engine, keys: Option<&Keys>, op: Op, a: &Cipher, b: &Cipher) -> Result<Cipher> {
    pieces::in_pieces(&[a, b], a.batch().max(b.batch()), |parts, _| {
        let (a, b) = (parts[0], parts[1]);
        Ok(match op {
            Op::Add => engine.add(a, b)?,
            Op::Sub => engine.sub(a, b)?,
            Op::Mul => engine.mul(a, b, keys.ok_or(Error::NoKeys)?)?,
        })
    })
}

/// A ciphertext and an array that lies in the layout `plain` beside it.
///
/// # Errors
/// Numbers that are not finite, or not integers under BFV and BGV; the errors of the operation.
pub fn with_array(engine: &Engine, op: Op, ct: &Cipher, plain: &Layout, array: Array<'_>) -> Result<Cipher> {
    let rows = encoding::Beside::new(engine, ct, plain, array)?;
    pieces::in_pieces(&[ct], ct.batch().max(rows.len()), |parts, entries| {
        let ct = parts[0];
        let encoded = rows.encoded(entries.clone())?;
        let repeated;
        let ct = match entries.len() {
            count if ct.batch() == 1 && count > 1 => {
                repeated = Cipher::concat(&vec![ct; count])?;
                &repeated
            }
            _ => ct,
        };
        Ok(engine.with_plain(op, ct, &encoded)?)
    })
}

/// A ciphertext and an integer: under BFV and BGV in every value, so that zeros in the padding
/// stay, which `layout` tells of.
///
/// # Errors
/// [`Error::OutOfRange`] for the difference from an integer without an opposite; the errors of the
/// operation.
pub fn with_integer(engine: &Engine, op: Op, ct: &Cipher, layout: &Layout, value: i64) -> Result<Cipher> {
    if op == Op::Mul {
        return Ok(engine.mul_number(ct, Number::Integer(value))?);
    }
    if engine.ckks().is_some() {
        let value = if op == Op::Sub { -(value as f64) } else { value as f64 };
        return Ok(engine.add_number(ct, Number::Real(value))?);
    }
    let value = match op {
        Op::Sub => value.checked_neg().ok_or(Error::OutOfRange { value })?,
        _ => value,
    };
    if layout.padding != Some(0.0) || !layout.is_padded(ct.slots()) {
        return Ok(engine.add_number(ct, Number::Integer(value))?);
    }
    Ok(engine.with_plain(Op::Add, ct, &sums::in_values(engine, ct, layout, value)?)?)
}

/// A ciphertext of CKKS and a number in every slot.
///
/// # Errors
/// The errors of the operation; a ciphertext of another scheme.
pub fn with_number(engine: &Engine, op: Op, ct: &Cipher, value: Complex64) -> Result<Cipher> {
    let (engine, ct) = of_ckks(engine, ct)?;
    let ev = &engine.ev;
    Ok(Cipher::Ckks(match op {
        Op::Add => ev.add_scalar(ct, value)?,
        Op::Sub => ev.add_scalar(ct, -value)?,
        Op::Mul if value.im == 0.0 => ev.mul_scalar(ct, value.re)?,
        Op::Mul => {
            let to = engine.params.encoding_for(ct);
            ev.mul_plain(ct, &ev.encoder().encode_constant(value, to)?)?
        }
    }))
}

/// Complex conjugates, of CKKS.
///
/// # Errors
/// There is no key for it; a ciphertext of another scheme.
pub fn conjugate(engine: &Engine, keys: &Keys, ct: &Cipher) -> Result<Cipher> {
    let (engine, ct) = of_ckks(engine, ct)?;
    Ok(Cipher::Ckks(engine.ev.conjugate(ct, keys)?))
}
