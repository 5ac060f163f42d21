//! Errors of tables and pictures.

use super::errors;
use crate::units::bytes;
use std::borrow::Cow;
use std::fmt;

/// The advice for a table without rows.
const NO_ROWS: &str = "a table has rows of numbers; say so if the first row is data";
/// The encoding of text that begins with its byte-order mark.
pub(crate) const UTF_16: &str = "UTF-16";
/// The encoding of other text, as far as that can be known.
pub(crate) const EIGHT_BITS: &str = "Windows-1252 or another encoding of 8 bits";
/// The formats of pictures that are read.
const KNOWN_PICTURES: &str = "PNG, JPEG, BMP, TIFF and WebP are read";

/// The place of a field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The table.
    pub name: String,
    /// The line, from 1 on.
    pub line: u64,
    /// The column, from 1 on.
    pub column: usize,
    /// The column's name in quotes, if it has one.
    pub title: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, line {}, column {}", self.name, self.line, self.column)?;
        self.title.iter().try_for_each(|title| write!(f, " ({title})"))
    }
}

errors! {
    /// Tables that cannot be read or written.
    pub enum TableError {
        /// It has neither columns nor rows.
        NoNumbers: ("the table has no numbers");
        /// A column is longer or shorter than the first.
        UnequalColumns { column: usize, rows: usize, first: usize }:
            ("column {column} has {rows} rows, the first has {first}");
        /// There are more or fewer names than columns.
        Names { names: usize, columns: usize }: ("{names} names for {columns} columns");
        /// It is empty.
        Empty { name: String }: ("{name} is empty"), ("{NO_ROWS}");
        /// It has names alone.
        HeaderAlone { name: String }: ("{name} holds a header and no numbers"), ("{NO_ROWS}");
        /// Something is missing in every row.
        NoWholeRow { name: String }:
            ("{name} holds no row in which nothing is missing"), ("{NO_ROWS}");
        /// A row has more or fewer fields than the first.
        Fields { name: String, line: u64, found: usize, first: usize }:
            ("{name}, line {line}: {} where the first row has {first}", fields(*found)),
            ("every row needs the same number of fields; if the delimiter was guessed wrong, give it");
        /// It has too many numbers.
        TooManyValues { name: String, most: usize }:
            ("{name} holds more than {most} numbers ({})", bytes(8 * *most as u64)), ("cut it into parts");
        /// A row is too long.
        LongRow { name: String, most: u64 }:
            ("{name}: a row is longer than {}", bytes(*most)),
            ("is this a CSV file? a quote that never closes has this effect, too");
        /// A field is not what its column holds.
        Field { place: Place, field: String, problem: Problem }:
            ("{place}: {}", problem.text(field)), ("{}", problem.hint());
        /// Nobody knows what a mark, `point` or `comma`, stands for.
        DoubtfulMark { place: Place, field: String, mark: &'static str }:
            ("{place}: {field} may have a decimal {mark} or one between thousands"),
            ("say so if it is decimal; otherwise remove the {mark}s");
        /// It is text, and not in UTF-8.
        Encoding { name: String, line: u64, found: &'static str }:
            ("{name}, line {line}: the text is not in UTF-8, but in {found}"),
            ("save it as UTF-8 (in Excel, as CSV UTF-8), or convert it: iconv -f {} -t UTF-8",
                if *found == UTF_16 { "UTF-16" } else { "WINDOWS-1252" });
        /// The CSV reader refuses it.
        Csv { name: String, reason: String }: ("cannot read {name}: {reason}");
        /// It cannot be written.
        Write: ("cannot write the table");
        /// A column is chosen twice.
        [request] ChosenTwice { column: String }:
            ("column {column} is chosen twice"), ("name each column once");
        /// Two columns have the name.
        [request] TwoColumns { column: String, count: usize }:
            ("two columns are called {column}"), ("give numbers from 1 to {count}");
        /// No column has the name or number.
        [request] NoColumn { column: String, count: usize }:
            ("there is no column {column}"), ("give names of the header, or numbers from 1 to {count}");
    }
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

errors! {
    /// Pictures that cannot be read or written.
    pub enum PictureError {
        /// A side is 0.
        NoPixels { width: u32, height: u32 }: ("a picture of {width} x {height} has no pixels");
        /// It is larger than any that is dealt with.
        TooLarge { width: u32, height: u32, side: u32, mega: u64 }:
            ("a picture of {width} x {height} is too large"),
            ("at most {side} pixels along a side and {mega} Mpixel altogether: cut it into parts");
        /// There are more or fewer samples than pixels.
        Samples { width: u32, height: u32, channels: &'static str, expected: usize, found: usize }:
            ("a {width} x {height} {channels} picture has {expected} samples, found {found}"),
            ("give the samples of all channels of each pixel, row by row");
        /// There is not enough memory.
        NoMemory: ("not enough memory for the picture"), ("cut it into parts");
        /// A file holds several pictures, and none is chosen.
        Several { name: String, frames: u32 }:
            ("{name} holds {frames} pictures"), ("choose one of them, from 1 to {frames}");
        /// A file holds fewer pictures than the chosen one's number.
        NoFrame { name: String, frames: u32, frame: u32 }:
            ("{name} holds {frames} picture{}, and number {frame} is chosen", if *frames == 1 { "" } else { "s" }),
            ("{}", match frames {
                1 => "choose none".to_owned(),
                _ => format!("choose one from 1 to {frames}"),
            });
        /// The decoder finds it too large.
        DecoderLimit { name: String }:
            ("cannot read {name}: the picture is too large"),
            ("cut it into parts, or save it again with another program");
        /// The decoder does not read this kind.
        Unsupported { name: String, reason: String }:
            ("cannot read {name}: {reason}"),
            ("convert it to 8 or 16 bits a channel, gray or RGB, for instance as PNG");
        /// Samples of another kind than 8 or 16 bits.
        SampleKind { kind: String }:
            ("samples of the kind {kind} are not supported"),
            ("convert it to 8 or 16 bits a channel, for instance as PNG");
        /// It is truncated or damaged.
        Damaged { name: String, what: String }:
            ("cannot read {name}: the picture is truncated or damaged ({what})"),
            ("get the file again, or open and save it with another program");
        /// It is empty.
        Empty { name: String }: ("cannot read {name}: it is empty"), ("{KNOWN_PICTURES}");
        /// It is of a format that is not read.
        Foreign { name: String, kind: &'static str }:
            ("cannot read {name}: {kind} pictures are not supported"), ("convert it; {KNOWN_PICTURES}");
        /// It is not a picture.
        NotAPicture { name: String }: ("cannot read {name}: it is not a picture"), ("{KNOWN_PICTURES}");
        /// The encoder fails.
        Encoder { format: &'static str, reason: String }:
            ("cannot write the picture as {format}: {reason}");
        /// No format has this ending.
        Ending { path: String }:
            ("{path}: pictures are not written in a format of this ending"),
            ("end the name in .png, .jpg, .jpeg, .jpe, .bmp, .tif, .tiff or .webp; without an ending it is PNG");
        /// The format has 8 bits alone.
        Depth { format: &'static str }:
            ("{format} holds 8 bits a channel, this picture has 16"), ("write it as .png or .tiff");
        /// The format has no opacity.
        Alpha:
            ("JPEG holds no transparency, this picture has an alpha channel"),
            ("write it as .png, .tiff, .webp or .bmp");
        /// The format has shorter sides.
        Side { format: &'static str, most: u32, width: u32, height: u32 }:
            ("{format} holds {most} pixels along a side, this picture has {width} x {height}"),
            ("write it as .png or .tiff");
    }
}

/// The fault of a field that does not fit its column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Nothing is there.
    Empty,
    /// No number.
    Text,
    /// No number, but what people write for one, with marks between thousands or a currency.
    Grouped,
    /// `nan` or `inf`.
    NotFinite,
    /// Beyond the largest number.
    TooLarge,
    /// A comma where decimals have points.
    CommaForPoint,
    /// A decimal point where decimals have commas.
    PointForComma,
    /// A decimal point and, before, decimal commas; or the other way round.
    TwoMarks,
    /// No word is there.
    NoWord,
    /// A number with a fraction.
    NotWhole,
    /// A whole number beyond 2^53.
    BeyondExact,
    /// No unsigned integer.
    NotUnsigned,
    /// An unsigned integer of more bits.
    BeyondWidth(u32),
    /// No integer.
    NotInteger,
    /// An integer that does not fit so many bits with a sign.
    BeyondSigned(u32),
    /// None of the categories.
    NoCategory(String),
    /// One category more than there may be.
    TooManyCategories(usize),
}

impl Problem {
    /// Whether the field says that its number is missing.
    pub(crate) fn is_missing(&self, field: &[u8]) -> bool {
        let word = |word: &&str| field.trim_ascii().eq_ignore_ascii_case(word.as_bytes());
        match self {
            Self::Empty => true,
            Self::Text | Self::NotFinite | Self::NotUnsigned | Self::NotInteger => {
                ["NA", "N/A", "NaN", "null"].iter().any(word)
            }
            _ => false,
        }
    }

    fn text(&self, field: &str) -> String {
        match self {
            Self::Empty | Self::NoWord => "the field is empty".to_owned(),
            Self::Text | Self::Grouped | Self::CommaForPoint => format!("{} is not a number", field),
            Self::PointForComma => format!("{} has a decimal point", field),
            Self::TwoMarks => {
                format!("{} has another decimal mark than the numbers before it", field)
            }
            Self::NotFinite => format!("{} is not a finite number", field),
            Self::TooLarge | Self::BeyondExact => format!("{} is too large", field),
            Self::NotWhole => format!("{} is not a whole number", field),
            Self::NotUnsigned => format!("{} is not an unsigned integer", field),
            Self::BeyondWidth(bits) => format!("{} does not fit {bits} bits", field),
            Self::NotInteger => format!("{} is not an integer", field),
            Self::BeyondSigned(bits) => format!("{} does not fit {bits} bits with a sign", field),
            Self::NoCategory(_) => format!("{} is none of the categories", field),
            Self::TooManyCategories(most) => format!("{} is category {}", field, most + 1),
        }
    }

    fn hint(&self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::Empty => {
                "every row needs a number in every column, unless such rows are to be left out or to hold 0"
            }
            Self::NoWord => "every row needs a word there, unless such rows are to be left out",
            Self::CommaForPoint => "numbers have a decimal point, unless the mark is said to be a comma",
            Self::PointForComma => "with decimal commas there are no points, not between thousands either",
            Self::TwoMarks => "say which mark is decimal, and remove what separates thousands",
            Self::Text => {
                "numbers look like -1.5 or 2e-3, with a decimal point; leave a column of words out, and say what header or delimiter is if it was guessed wrong"
            }
            Self::Grouped => {
                "remove marks and spaces between thousands, and currencies, or say that the first row holds names"
            }
            Self::NotFinite => "remove the row or put a number there",
            Self::TooLarge => "scale the column first",
            Self::NotWhole => {
                "bfv and bgv take whole numbers: count in smaller units (cents), use keys of ckks, or make the column one of categories"
            }
            Self::NotUnsigned => {
                "tfhe takes whole numbers from 0 on, in digits: count in smaller units (cents), from the least"
            }
            Self::NotInteger => "tfhe takes whole numbers, in digits: count in smaller units (cents)",
            Self::BeyondSigned(bits) => {
                let magnitude = bits.saturating_sub(1);
                return format!(
                    "{bits} bits with a sign hold -2^{magnitude} to 2^{magnitude} - 1: give a larger width, up to 256"
                )
                .into();
            }
            Self::BeyondWidth(bits) => {
                return format!("{bits} bits hold numbers below 2^{bits}: give a larger width, up to 256")
                    .into();
            }
            Self::BeyondExact => "whole numbers of a table stay below 2^53 in magnitude",
            Self::TooManyCategories(most) => {
                return format!("at most {most} are possible: put rare ones together").into();
            }
            Self::NoCategory(categories) => return format!("the categories are {categories}").into(),
        })
    }
}
