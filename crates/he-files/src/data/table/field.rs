//! Fields: numbers and words, from their text and back to it.

use super::decimal::{Mark, is_grouped};
use crate::data::integers::Integers;
use crate::error::Problem;
use num_bigint::{BigInt, BigUint, Sign};
use std::borrow::Cow;
use std::rc::Rc;

/// A field as it is written.
pub trait Field {
    /// Its text.
    fn text(&self) -> Cow<'_, str>;
}

impl Field for f64 {
    /// Reads back exactly.
    fn text(&self) -> Cow<'_, str> {
        plain(*self).into()
    }
}

/// A field that holds a whole number or a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A number.
    Number(i64),
    /// A word.
    Word(Rc<str>),
}

impl Field for Cell {
    fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Number(number) => number.to_string().into(),
            Self::Word(word) => Cow::Borrowed(word),
        }
    }
}

/// The shortest text that reads back as the same number, with an exponent if that is much shorter.
pub(super) fn plain(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-5..1e16).contains(&size) { format!("{value:e}") } else { format!("{value}") }
}

/// A whole number below 2^53 in magnitude: each of these is distinct from its neighbours, however
/// it is written.
///
/// # Errors
/// It is none.
pub fn whole(field: &[u8], mark: &Mark) -> Result<i64, Problem> {
    let value = mark.number(field)?;
    if value.fract() != 0.0 {
        return Err(Problem::NotWhole);
    }
    if value.abs() >= (1u64 << 53) as f64 {
        return Err(Problem::BeyondExact);
    }
    Ok(value as i64)
}

/// An unsigned integer of so many bits, in decimal digits.
///
/// # Errors
/// It is none.
pub fn unsigned(field: &[u8], bits: u32) -> Result<BigUint, Problem> {
    let digits = field.trim_ascii();
    if digits.is_empty() {
        return Err(Problem::Empty);
    }
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(match parse(field) {
            Ok(_) => Problem::NotUnsigned,
            Err(Problem::Grouped) => Problem::Grouped,
            Err(_) => Problem::Text,
        });
    }
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let significant = &digits[zeros..];
    // No number of this few bits has as many digits, so longer ones need not be read.
    let value = match significant.len() as u32 <= bits {
        true => BigUint::parse_bytes(significant, 10).unwrap_or_default(),
        false => return Err(Problem::BeyondWidth(bits)),
    };
    if value.bits() > u64::from(bits) { Err(Problem::BeyondWidth(bits)) } else { Ok(value) }
}

/// An integer of so many bits with a sign, in decimal digits.
///
/// # Errors
/// It is none.
pub fn signed(field: &[u8], bits: u32) -> Result<BigInt, Problem> {
    let text = field.trim_ascii();
    let (sign, digits) = match text.strip_prefix(b"-") {
        Some(digits) if digits.first().is_some_and(u8::is_ascii_digit) => (Sign::Minus, digits),
        _ => (Sign::Plus, text),
    };
    let magnitude = unsigned(digits, bits).map_err(|problem| match problem {
        Problem::NotUnsigned => Problem::NotInteger,
        Problem::BeyondWidth(bits) => Problem::BeyondSigned(bits),
        problem => problem,
    })?;
    let value = BigInt::from_biguint(sign, magnitude);
    if (Integers { bits, signed: true }).hold(&value) { Ok(value) } else { Err(Problem::BeyondSigned(bits)) }
}

/// A number with a decimal point.
pub(super) fn parse(field: &[u8]) -> Result<f64, Problem> {
    let text = std::str::from_utf8(field).map_err(|_| Problem::Text)?.trim();
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    let no_number = |_| if is_grouped(text) { Problem::Grouped } else { Problem::Text };
    let value: f64 = text.parse().map_err(no_number)?;
    if value.is_finite() {
        Ok(value)
    } else if text.bytes().any(|b| b.is_ascii_digit()) {
        Err(Problem::TooLarge)
    } else {
        Err(Problem::NotFinite)
    }
}

/// A field in quotes, at most 32 characters of it, control characters escaped.
pub(super) fn excerpt(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(256)]);
    let text = text.trim();
    let short: String = text.chars().take(32).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("\"{}{more}\"", short.escape_debug())
}
