//! The decimal mark of a table: a point, or a comma where that separates no fields.
//!
//! A number is never read in a way that could change it by a factor. Where fields are not separated
//! by commas, `1,5` has a decimal comma; but `1,500` may be one thousand five hundred, and so may
//! `1.500` in a table of somebody who writes decimals with a comma. A table whose marks could all
//! stand between thousands is therefore refused unless the mark is given. A table has one mark:
//! commas and points together are refused.

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
    /// The mark that is known from the start.
    given: Decimal,
    /// Whether the caller says so, so that no mark is doubtful.
    certain: bool,
    points: Cell<Seen>,
    commas: Cell<Seen>,
}

/// The marks of one kind that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    None,
    /// All of them could separate thousands.
    Doubtful,
    Decimal,
}

impl Mark {
    /// The mark for a table with this delimiter.
    pub fn new(given: Decimal, delimiter: u8) -> Self {
        let certain = given != Decimal::Auto;
        let given = if !certain && delimiter == b',' { Decimal::Point } else { given };
        Self { given, certain, points: Cell::new(Seen::None), commas: Cell::new(Seen::None) }
    }

    /// The number in a field.
    ///
    /// # Errors
    /// It is none; its mark is not that of the fields before it.
    pub fn number(&self, field: &[u8]) -> Result<f64, Problem> {
        let (comma, point) = (field.contains(&b','), field.contains(&b'.'));
        let value = match self.with_point(field) {
            Some(text) => parse(text.as_bytes())?,
            None => parse(field).map_err(|problem| match problem {
                Problem::Text | Problem::Grouped if self.takes_no_comma(field) => Problem::CommaForPoint,
                problem => problem,
            })?,
        };
        if self.given == Decimal::Comma && point {
            return Err(Problem::PointForComma);
        }
        if !self.certain && (comma || point) {
            let (seen, other) =
                if comma { (&self.commas, &self.points) } else { (&self.points, &self.commas) };
            if other.get() != Seen::None {
                return Err(Problem::TwoMarks);
            }
            let doubtful = seen.get() != Seen::Decimal && thousands(field);
            seen.set(if doubtful { Seen::Doubtful } else { Seen::Decimal });
        }
        Ok(value)
    }

    /// Whether a field holds a number, ignoring its mark.
    pub fn check(&self, field: &[u8]) -> Result<f64, Problem> {
        self.with_point(field).map_or_else(|| parse(field), |text| parse(text.as_bytes()))
    }

    /// The mark of the numbers so far if all of them could separate thousands, so that the numbers
    /// are ambiguous.
    pub fn doubtful(&self) -> Option<Decimal> {
        match (self.points.get(), self.commas.get()) {
            (Seen::Doubtful, _) => Some(Decimal::Point),
            (_, Seen::Doubtful) => Some(Decimal::Comma),
            _ => None,
        }
    }

    /// Whether a field would have a decimal comma, where marks are points.
    fn takes_no_comma(&self, field: &[u8]) -> bool {
        self.given == Decimal::Point
            && field.iter().filter(|&&b| b == b',').count() == 1
            && !field.contains(&b'.')
            && field.iter().any(u8::is_ascii_digit)
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

/// Whether the mark in a number may separate thousands: up to three digits before it, not starting
/// with 0, and three behind it.
fn thousands(field: &[u8]) -> bool {
    let field = field.trim_ascii();
    let digits = field.strip_prefix(b"-").or_else(|| field.strip_prefix(b"+")).unwrap_or(field);
    let mut parts = digits.split(|&b| b == b',' || b == b'.');
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

/// Whether a text that is not a number looks like one as people write it: with marks or spaces
/// between thousands, or with a currency.
pub(super) fn is_grouped(text: &str) -> bool {
    const SIGNS: [char; 3] = ['-', '+', '\u{2212}'];
    const CURRENCIES: [char; 9] =
        ['$', '\u{20ac}', '\u{a3}', '\u{a5}', '\u{20b9}', '\u{20bd}', '\u{20a9}', '\u{20ba}', '\u{20aa}'];
    let is_space = |c: char| c.is_whitespace();
    let around = |c: char| is_space(c) || CURRENCIES.contains(&c);
    let text = text.trim();
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let core = text.trim_start_matches(|c| around(c) || SIGNS.contains(&c)).trim_end_matches(around);
    let mut groups = core.split(|c: char| !c.is_ascii_digit());
    let marks: Vec<char> = core.chars().filter(|c| !c.is_ascii_digit()).collect();
    let (Some(first), Some(&last_mark)) = (groups.next(), marks.last()) else {
        // Digits alone, with something around them.
        return !core.is_empty() && text.contains(CURRENCIES);
    };
    let rest: Vec<&str> = groups.collect();
    let between = |c: &char| matches!(c, '.' | ',' | '\'' | '\u{2019}' | '_') || is_space(*c);
    let Some((last, inner)) = rest.split_last() else { return false };
    let decimals = matches!(last_mark, '.' | ',') && !last.is_empty();
    !first.is_empty()
        && marks.iter().all(between)
        && inner.iter().all(|group| group.len() == 3)
        && (last.len() == 3 || decimals)
        && (first.len() <= 3 || rest.len() == 1 && decimals)
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
            assert_eq!(mark.doubtful(), None, "{fields:?}");
        }
        for fields in [&["1,500"][..], &["12,345", "-999,999", "7"]] {
            let mark = Mark::new(Decimal::Auto, b'\t');
            assert!(read(&mark, fields).is_ok(), "{fields:?}");
            assert_eq!(mark.doubtful(), Some(Decimal::Comma), "{fields:?}");
            let mark = Mark::new(Decimal::Comma, b'\t');
            assert!(read(&mark, fields).is_ok() && mark.doubtful().is_none(), "{fields:?}");
        }
    }

    /// A point may separate thousands as well, whatever separates the fields.
    #[test]
    fn points_are_decimal_where_nothing_else_is_possible() {
        for delimiter in [b';', b'\t', b','] {
            for fields in [&["1.234"][..], &["-1.500", "12.345", "7"], &["+999.999"], &[" 1.234 "]] {
                let mark = Mark::new(Decimal::Auto, delimiter);
                assert!(read(&mark, fields).is_ok(), "{fields:?}");
                assert_eq!(mark.doubtful(), Some(Decimal::Point), "{fields:?}");
                let mark = Mark::new(Decimal::Point, delimiter);
                assert!(read(&mark, fields).is_ok() && mark.doubtful().is_none(), "{fields:?}");
            }
            let clear = [
                &["1.5", "1.234"][..],
                &["1.234", "0.125"],
                &["1234.567"],
                &["1.234e3"],
                &["1.2345"],
                &["1."],
            ];
            for fields in clear {
                let mark = Mark::new(Decimal::Auto, delimiter);
                assert!(read(&mark, fields).is_ok() && mark.doubtful().is_none(), "{fields:?}");
            }
        }
    }

    #[test]
    fn numbers_as_people_write_them_are_told_from_names() {
        for text in [
            "1 234",
            "1\u{a0}234,5",
            "-1\u{202f}234",
            "1'234.50",
            "1.234,5",
            "1,234.5",
            "1,234,567",
            "12.345.678",
            "1_000",
            "\u{20ac} 5",
            "5 $",
            "$1,234",
            "(1,234)",
            "1,5",
            "1234,5",
            "\u{2212}1.234,5",
        ] {
            assert!(is_grouped(text), "{text}");
        }
        for text in [
            "",
            "a",
            "x1",
            "2020/21",
            "2020 2021",
            "1 2",
            "1.2.3",
            "12.05.2024",
            "10-20",
            "5%",
            "1234 567",
            "1,,5",
            "1.234 kg",
            "$",
            "-",
            "()",
            "1 ,234",
        ] {
            assert!(!is_grouped(text), "{text}");
        }
    }

    #[test]
    fn one_table_has_one_mark() {
        for fields in [["1,5", "2.5"], ["2.5", "1,5"], ["1,500", "1.5"]] {
            assert_eq!(read(&Mark::new(Decimal::Auto, b';'), &fields), Err(Problem::TwoMarks), "{fields:?}");
        }
        for (field, problem) in [
            ("1.234,5", Problem::Grouped),
            ("1,234.5", Problem::Grouped),
            ("1,234,567", Problem::Grouped),
            ("1,,5", Problem::Text),
        ] {
            let mark = Mark::new(Decimal::Auto, b';');
            assert_eq!(mark.number(field.as_bytes()), Err(problem), "{field}");
        }
        assert_eq!(read(&Mark::new(Decimal::Auto, b';'), &["1.234", "0,5"]), Err(Problem::TwoMarks));
        assert_eq!(Mark::new(Decimal::Comma, b';').number(b"1.5"), Err(Problem::PointForComma));
        assert_eq!(Mark::new(Decimal::Point, b';').number(b"1,5"), Err(Problem::CommaForPoint));
        // Where commas separate fields, only a flag makes them decimal.
        assert_eq!(Mark::new(Decimal::Auto, b',').number(b"1,5"), Err(Problem::CommaForPoint));
        assert_eq!(Mark::new(Decimal::Comma, b',').number(b"1,5"), Ok(1.5));
        assert_eq!(Mark::new(Decimal::Auto, b',').number(b"1.5"), Ok(1.5));
    }
}
