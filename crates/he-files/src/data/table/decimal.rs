//! The decimal mark of a table: a point, or a comma where that separates no fields.
//!
//! A number is never read in a way that could change it by a factor. Where fields are not separated
//! by commas, `1,5` has a decimal comma; but `1,500` may be one thousand five hundred, so a table
//! whose commas could all be such is refused unless the mark is given. A table has one mark: commas
//! and points together are refused.

use super::field::parse;
use crate::error::Problem;
use serde::Deserialize;
use std::borrow::Cow;
use std::cell::Cell;

/// The mark before decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decimal {
    /// A point; a comma if the table has commas in numbers and something else between fields.
    #[default]
    Auto,
    /// A point.
    Point,
    /// A comma.
    Comma,
}

/// The decimal mark while a table is read.
#[derive(Debug)]
pub struct Mark {
    /// What is known from the start.
    given: Decimal,
    points: Cell<bool>,
    commas: Cell<Commas>,
}

/// Commas that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commas {
    None,
    /// All of them could separate thousands.
    Doubtful,
    Decimal,
}

impl Mark {
    /// The mark for a table with this delimiter.
    pub fn new(given: Decimal, delimiter: u8) -> Self {
        let given = if given == Decimal::Auto && delimiter == b',' { Decimal::Point } else { given };
        Self { given, points: Cell::new(false), commas: Cell::new(Commas::None) }
    }

    /// The number in a field.
    ///
    /// # Errors
    /// It is none; its mark is not that of the fields before it.
    pub fn number(&self, field: &[u8]) -> Result<f64, Problem> {
        let Some(text) = self.with_point(field) else {
            let commas = field.iter().filter(|&&b| b == b',').count();
            let comma = self.given == Decimal::Point
                && commas == 1
                && !field.contains(&b'.')
                && field.iter().any(u8::is_ascii_digit);
            let only_that =
                |problem| if comma && problem == Problem::Text { Problem::CommaForPoint } else { problem };
            return parse(field).map_err(only_that);
        };
        let value = parse(text.as_bytes())?;
        let (comma, point) = (field.contains(&b','), field.contains(&b'.'));
        if self.given == Decimal::Comma && point {
            return Err(Problem::PointForComma);
        }
        if self.given == Decimal::Auto {
            if comma && self.points.get() || point && self.commas.get() != Commas::None {
                return Err(Problem::TwoMarks);
            }
            self.points.set(self.points.get() || point);
            if comma {
                let doubtful = self.commas.get() != Commas::Decimal && thousands(field);
                self.commas.set(if doubtful { Commas::Doubtful } else { Commas::Decimal });
            }
        }
        Ok(value)
    }

    /// Whether a field holds a number, ignoring its mark.
    pub fn check(&self, field: &[u8]) -> Result<f64, Problem> {
        self.with_point(field).map_or_else(|| parse(field), |text| parse(text.as_bytes()))
    }

    /// Whether all commas could separate thousands, so that the numbers are ambiguous.
    pub fn is_doubtful(&self) -> bool {
        self.commas.get() == Commas::Doubtful
    }

    /// The text with a decimal point; `None` if no comma can be one.
    fn with_point<'a>(&self, field: &'a [u8]) -> Option<Cow<'a, str>> {
        let text = std::str::from_utf8(field).ok()?;
        if self.given == Decimal::Point {
            return None;
        }
        let (whole, decimals) = match text.split_once(',') {
            None => return Some(Cow::Borrowed(text)),
            Some(parts) => parts,
        };
        let single = !decimals.contains(',') && !whole.contains('.') && !decimals.contains('.');
        single.then(|| Cow::Owned(format!("{whole}.{decimals}")))
    }
}

/// Whether a comma in a number may separate thousands: up to three digits before it, not starting
/// with 0, and three behind it.
fn thousands(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    let digits = field.strip_prefix(b"-").or_else(|| field.strip_prefix(b"+")).unwrap_or(field);
    let mut parts = digits.split(|&b| b == b',');
    let all = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    match (parts.next(), parts.next(), parts.next()) {
        (Some(before), Some(after), None) => {
            (1..=3).contains(&before.len())
                && before[0] != b'0'
                && all(before)
                && after.len() == 3
                && all(after)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mark: &Mark, fields: &[&str]) -> Result<Vec<f64>, Problem> {
        fields.iter().map(|field| mark.number(field.as_bytes())).collect()
    }

    #[test]
    fn commas_are_decimal_where_nothing_else_is_possible() {
        for fields in [
            &["1,5", "-2,25", "3"][..],
            &["1,500", "0,5"],
            &["0,125"],
            &["1234,567"],
            &["1,5e3"],
            &["1,234", "2,3456"],
        ] {
            let mark = Mark::new(Decimal::Auto, b';');
            let points: Vec<f64> =
                fields.iter().map(|field| field.replace(',', ".").parse().unwrap()).collect();
            assert_eq!(read(&mark, fields), Ok(points), "{fields:?}");
            assert!(!mark.is_doubtful(), "{fields:?}");
        }
        for fields in [&["1,500"][..], &["12,345", "-999,999", "7"]] {
            let mark = Mark::new(Decimal::Auto, b'\t');
            assert!(read(&mark, fields).is_ok() && mark.is_doubtful(), "{fields:?}");
            let mark = Mark::new(Decimal::Comma, b'\t');
            assert!(read(&mark, fields).is_ok() && !mark.is_doubtful(), "{fields:?}");
        }
    }

    #[test]
    fn one_table_has_one_mark() {
        for fields in [["1,5", "2.5"], ["2.5", "1,5"], ["1,500", "1.5"]] {
            assert_eq!(read(&Mark::new(Decimal::Auto, b';'), &fields), Err(Problem::TwoMarks), "{fields:?}");
        }
        for field in ["1.234,5", "1,234.5", "1,234,567", "1,,5"] {
            let mark = Mark::new(Decimal::Auto, b';');
            assert_eq!(mark.number(field.as_bytes()), Err(Problem::Text), "{field}");
        }
        assert_eq!(Mark::new(Decimal::Comma, b';').number(b"1.5"), Err(Problem::PointForComma));
        assert_eq!(Mark::new(Decimal::Point, b';').number(b"1,5"), Err(Problem::CommaForPoint));
        // Where commas separate fields, only a flag makes them decimal.
        assert_eq!(Mark::new(Decimal::Auto, b',').number(b"1,5"), Err(Problem::CommaForPoint));
        assert_eq!(Mark::new(Decimal::Comma, b',').number(b"1,5"), Ok(1.5));
        assert_eq!(Mark::new(Decimal::Auto, b',').number(b"1.5"), Ok(1.5));
    }
}
