//! Whether the first row of a table holds names.
//!
//! If any of its fields is not a number, it does. For a row of numbers, this is guessed cautiously
//! from the rows below: names that look like numbers are whole, without sign, all different, and
//! above at least two columns. They are taken as names if they are years (1900 to 2100) and no
//! number below is one, or if every number of at least three rows below has decimals. Rows that
//! look somewhat like that are taken as data, but not with certainty.

use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;

/// The rows below the first that a guess examines.
pub const SAMPLE: usize = 100;
/// Rows of decimals that make whole numbers above them names.
const DECIMAL_ROWS: usize = 3;
/// Years that name columns.
const YEARS: RangeInclusive<u32> = 1900..=2100;

/// Whether the first row holds names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Header {
    /// It does if any of its fields is not a number, or if its numbers are guessed to be names.
    #[default]
    Auto,
    /// It does (`--header`).
    Yes,
    /// It holds numbers like every other (`--no-header`).
    No,
}

/// The interpretation of a first row that could be something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HeaderGuess {
    /// Names, though they are numbers.
    Names,
    /// Numbers, though they may be names.
    Numbers,
}

impl HeaderGuess {
    /// The interpretation, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::Names => "the first row, of numbers, was taken as the columns' names",
            Self::Numbers => "the first row was taken as numbers, and may hold the columns' names",
        }
    }
}

/// Whether a first row of numbers holds names, and how that was guessed, from the rows below,
/// column by column.
pub fn guess(first: &[&str], below: &[Vec<&str>]) -> (Header, Option<HeaderGuess>) {
    let names: Vec<u32> = first.iter().filter_map(|field| whole(field)).collect();
    let distinct = (1..names.len()).all(|i| !names[..i].contains(&names[i]));
    if names.len() < first.len() || !distinct || below.is_empty() {
        return (Header::No, None);
    }
    let year = |field: &&str| whole(field).is_some_and(|x| YEARS.contains(&x));
    let decimal = |field: &&str| field.contains(['.', ',']);
    let years = first.iter().all(year);
    let years_below = below.iter().flatten().any(year);
    let decimals = below.iter().flatten().all(decimal);
    let several = first.len() > 1;
    if several && (years && !years_below || decimals && below.len() >= DECIMAL_ROWS) {
        return (Header::Yes, Some(HeaderGuess::Names));
    }
    // 0, 1, 2, ... and 1, 2, 3, ... are what programs write that have no names.
    let counted = first.len() > 2 && names[0] <= 1 && names.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let above_other = years && !below.iter().all(|row| row.iter().any(year));
    let unsure = several && counted || above_other || decimals;
    (Header::No, unsure.then_some(HeaderGuess::Numbers))
}

/// A whole number without sign, point or leading zeros.
fn whole(field: &str) -> Option<u32> {
    let plain = field.bytes().all(|b| b.is_ascii_digit()) && (field.len() == 1 || !field.starts_with('0'));
    field.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(rows: &str) -> (Header, Option<HeaderGuess>) {
        let mut rows = rows.split('|').map(|row| row.split_whitespace().collect::<Vec<_>>());
        let first = rows.next().unwrap();
        guess(&first, &rows.collect::<Vec<_>>())
    }

    #[test]
    fn names_are_years_or_whole_above_decimals() {
        let names = (Header::Yes, Some(HeaderGuess::Names));
        for rows in [
            "2023 2024|1 2",
            "2024 2023|5.5 -6|7 8",
            "1 2 3|.5 1.5 -2.0|0.1 0.2 0.3|1.0 2.0 1e-3.5",
            "7 12|1,5 2,5|3,5 0,1|1,0 2,0",
        ] {
            assert_eq!(guessed(rows), names, "{rows}");
        }
    }

    #[test]
    fn data_stay_data() {
        for rows in [
            "1 2|3 4",
            "7 8|1 1|1 1",
            "1 2.5|-3 4e-2",
            "2001 2002|2003 2004",
            "2023 2023|1 2",
            "-1 2|0.5 0.5|0.5 0.5|0.5 0.5",
            "1 1|0.5 0.5|0.5 0.5|0.5 0.5",
            "01 02|0.5 0.5|0.5 0.5|0.5 0.5",
            "1048576|-0.5|1048575",
            "2023 2024",
            "5",
        ] {
            assert_eq!(guessed(rows), (Header::No, None), "{rows}");
        }
    }

    #[test]
    fn doubtful_rows_are_data_with_a_word() {
        let doubtful = (Header::No, Some(HeaderGuess::Numbers));
        for rows in [
            "2023|5",
            "1 2 3|4 5 6",
            "0 1 2|9 9 9",
            "5 6|0.5 1.5",
            "2023 2024|1 2|2001 7|3 4",
            "1048576|-0.5|1048575.5",
        ] {
            assert_eq!(guessed(rows), doubtful, "{rows}");
        }
    }
}
