//! The table of operations: all that command lines, services, hints and documents say of them is
//! said here.

use super::row::{
    BFV, BGV, CKKS, ComputedBy, Domain, Kind, Other, Parameter, Row, SCHEMES, TFHE, Unasked, joined,
};
use super::{ALPHA, BRIGHTER, CONTRAST, Operation};
use crate::bootstrap::refresh;

const REAL: &[&str] = &[CKKS];
const EXACT: &[&str] = &[BFV, BGV];
const REFRESHED: &[&str] = &[CKKS, BFV, BGV];
const SUMMED: &[&str] = &[CKKS, BFV, BGV, TFHE];
const BITS: &[&str] = &[TFHE];

/// The fields that most operations share.
const ROW: Row = Row {
    name: "",
    images: &[],
    tables: &[],
    digits: &[],
    about: "",
    more: "",
    others: &[],
    levels: None,
    parameters: &[],
    key: ComputedBy::Evaluation,
};

/// The other file of operations on two, number by number.
const SECOND: &[Other] =
    &[Other { name: "with", about: "The other encrypted file, of the same keys, kind and size", or: None }];

/// Operations on two files, number by number, under every scheme.
const PAIR: Row = Row {
    images: &SCHEMES,
    tables: &SCHEMES,
    digits: REAL,
    others: SECOND,
    levels: Some(Unasked::Kept),
    ..ROW
};
/// Operations on single bits of integers.
const BITWISE: Row = Row { images: BITS, tables: BITS, digits: REAL, ..ROW };
/// Operations on integers in digits alone.
const DIGITS: Row = Row { digits: REAL, ..ROW };
/// The other file of operations on two, or a plain number.
const SECOND_OR_NUMBER: &[Other] = &[Other {
    name: "with",
    about: "The other encrypted file, of the same keys, kind and size",
    or: Some("number"),
}];
/// A plain number in its place.
const NUMBER: &[Parameter] = &[Parameter {
    name: "number",
    value: "N",
    about: "A plain number in its place, the same for all rows: of tables in digits",
    domain: Domain::Integer,
}];
/// Operations on integers, or on an integer and a plain number.
const INTEGERS: Row = Row { others: SECOND_OR_NUMBER, parameters: NUMBER, ..BITWISE };
/// Operations on bits or conditions in digits, or with a plain number.
const MASKS: Row = Row { others: SECOND_OR_NUMBER, parameters: NUMBER, ..DIGITS };
/// The places of shifts and rotations.
const PLACES: &[Parameter] = &[Parameter {
    name: "by",
    value: "PLACES",
    about: "Places, fewer than the integers have bits",
    domain: Domain::Natural,
}];
/// The divisor of quotients and remainders.
const DIVISOR: &[Parameter] =
    &[Parameter { name: "by", value: "N", about: "The divisor, from 1 on", domain: Domain::Natural }];
/// Operations on pixels.
const FILTER: Row = Row { images: REAL, ..ROW };
/// Operations on all rows of columns.
const STATISTIC: Row = Row { levels: Some(Unasked::Dropped), ..ROW };

/// Lists the rows in the order in which people are told of them, and finds the row of an operation:
/// a variant of [`Operation`] without one does not compile.
macro_rules! table {
    ($($variant:ident: $row:expr,)*) => {
        /// All operations.
        pub static TABLE: &[Row] = &[$($row),*];

        impl Operation {
            /// Its row of the table.
            pub fn row(&self) -> &'static Row {
                enum Place {
                    $($variant),*
                }
                let place = match self {
                    $(Self::$variant { .. } => Place::$variant),*
                };
                &TABLE[place as usize]
            }
        }
    };
}

table! {
    Add: Row {
        name: "add",
        about: "add them, number by number",
        more: "Under tfhe and in digits sums are modulo 2^width.",
        ..PAIR
    },
    Sub: Row {
        name: "sub",
        about: "subtract the second from the first",
        more: "Under tfhe and in digits differences are modulo 2^width.",
        ..PAIR
    },
    Mul: Row {
        name: "mul",
        about: "multiply them, number by number",
        more: "Images under ckks take two levels. Under tfhe and in digits products are modulo 2^width.",
        ..PAIR
    },
    Lt: Row { name: "lt", about: "1 where the first is less, 0 elsewhere", ..INTEGERS },
    Le: Row { name: "le", about: "1 where the first is less or equal, 0 elsewhere", ..INTEGERS },
    Gt: Row { name: "gt", about: "1 where the first is greater, 0 elsewhere", ..INTEGERS },
    Ge: Row { name: "ge", about: "1 where the first is greater or equal, 0 elsewhere", ..INTEGERS },
    Eq: Row { name: "eq", about: "1 where they are equal, 0 elsewhere", ..INTEGERS },
    Ne: Row { name: "ne", about: "1 where they differ, 0 elsewhere", ..INTEGERS },
    Min: Row { name: "min", about: "the smaller number of each pair", ..INTEGERS },
    Max: Row { name: "max", about: "the larger number of each pair", ..INTEGERS },
    And: Row { name: "and", about: "the bits that both have, or whether both conditions hold", ..MASKS },
    Or: Row { name: "or", about: "the bits that one has at least, or whether a condition holds", ..MASKS },
    Xor: Row { name: "xor", about: "the bits, or conditions, in which they differ", ..MASKS },
    Not: Row { name: "not", about: "all bits, or conditions, turned", ..DIGITS },
    Neg: Row { name: "neg", about: "the opposite of each number, modulo 2^width", ..DIGITS },
    Abs: Row { name: "abs", about: "the magnitude of each number, modulo 2^width", ..DIGITS },
    Div: Row {
        name: "div",
        about: "quotients by a plain number, rounded towards zero",
        parameters: DIVISOR,
        ..DIGITS
    },
    Rem: Row {
        name: "rem",
        about: "remainders by a plain number, with the sign of the first",
        parameters: DIVISOR,
        ..DIGITS
    },
    Shl: Row { name: "shl", about: "bits to higher places, zeros behind", parameters: PLACES, ..DIGITS },
    Shr: Row {
        name: "shr",
        about: "bits to lower places, zeros or the sign behind",
        parameters: PLACES,
        ..DIGITS
    },
    Rotl: Row {
        name: "rotl",
        about: "bits to higher places, the highest to the lowest",
        parameters: PLACES,
        ..DIGITS
    },
    Rotr: Row {
        name: "rotr",
        about: "bits to lower places, the lowest to the highest",
        parameters: PLACES,
        ..DIGITS
    },
    Sort: Row {
        name: "sort",
        about: "sort each column by itself, in ascending order",
        more: "Under tfhe, n rows take about n log2(n)^2 / 4 comparisons, each with an exchange. In digits, \
               a column takes log2(s) (log2(s) + 1) / 2 steps for vectors of s slots, however few rows it \
               has, up to s. The columns of an image are its channels, and the result is a table.",
        ..BITWISE
    },
    Top: Row {
        name: "top",
        about: "the greatest numbers of each column, in descending order",
        parameters: &[Parameter {
            name: "count",
            value: "N",
            about: "Their number, from 1 on",
            domain: Domain::Natural,
        }],
        ..DIGITS
    },
    Select: Row {
        name: "select",
        about: "the second where conditions hold, else the third",
        more: "lt, eq and their like make conditions, which are the first.",
        others: &[
            Other {
                name: "with",
                about: "The encrypted file to take numbers of where the condition holds",
                or: None,
            },
            Other { name: "otherwise", about: "The encrypted file to take numbers of elsewhere", or: None },
        ],
        ..BITWISE
    },
    Lookup: Row {
        name: "lookup",
        about: "for each number, the entry of a public table in that place",
        more: "The first entry is that of 0. Beyond the last entry, and for numbers below 0, the result is \
               0. In digits there are up to 256 entries, which take one look-up of 8 bits. Under tfhe, a \
               table of up to 256 entries takes at most 9 bootstraps for each two bits of a result, \
               and some for the number; one of up to 1024 entries takes 33, and longer ones take about as \
               many as they have entries.",
        parameters: &[
            Parameter {
                name: "entries",
                value: "FILE",
                about: "The table, which is not encrypted: one column of integers; entries below 0 give \
                        results with a sign",
                domain: Domain::Entries,
            },
            Parameter {
                name: "width",
                value: "BITS",
                about: "Bits of the results, 8 to 256 [default: those of the numbers]",
                domain: Domain::Width,
            },
        ],
        ..BITWISE
    },
    Blur: Row {
        name: "blur",
        about: "blur by the mean over a square, or by a Gaussian",
        parameters: &[
            Parameter {
                name: "radius",
                value: "R",
                about: "Radius of the square in pixels: 1 for 3x3 [default: 1; for a Gaussian, 3 sigma \
                        rounded up]",
                domain: Domain::Whole,
            },
            Parameter {
                name: "sigma",
                value: "PIXELS",
                about: "Blur by a Gaussian of this standard deviation, normalised over the square",
                domain: Domain::Positive,
            },
        ],
        ..FILTER
    },
    Sharpen: Row { name: "sharpen", about: "sharpen with a 3x3 filter", ..FILTER },
    Edges: Row { name: "edges", about: "find edges with the 3x3 Laplacian", ..FILTER },
    Brightness: Row {
        name: "brightness",
        about: "make it brighter, or darker",
        parameters: &[Parameter {
            name: "by",
            value: "X",
            about: "Number to add to every pixel; 1 is white",
            domain: Domain::Any { default: BRIGHTER },
        }],
        ..FILTER
    },
    Contrast: Row {
        name: "contrast",
        about: "change the contrast around middle gray",
        parameters: &[Parameter {
            name: "by",
            value: "X",
            about: "Factor; below 1, the contrast decreases",
            domain: Domain::Any { default: CONTRAST },
        }],
        ..FILTER
    },
    Invert: Row { name: "invert", about: "make a negative", ..FILTER },
    Grayscale: Row { name: "grayscale", about: "turn colours into their luminance", ..FILTER },
    Blend: Row {
        name: "blend",
        about: "their weighted mean",
        others: &[Other {
            name: "with",
            about: "The other encrypted image, of the same keys, size and halo",
            or: None,
        }],
        parameters: &[Parameter {
            name: "alpha",
            value: "X",
            about: "Weight of the other image, from 0 to 1",
            domain: Domain::Unit { default: ALPHA },
        }],
        ..FILTER
    },
    Kernel: Row {
        name: "kernel",
        about: "apply any filter of odd width and height",
        parameters: &[Parameter {
            name: "matrix",
            value: "ROWS",
            about: "The weights, rows separated by semicolons: \"0 -1 0; -1 5 -1; 0 -1 0\"",
            domain: Domain::Matrix,
        }],
        ..FILTER
    },
    Refresh: Row {
        name: refresh::NAME,
        images: REFRESHED,
        tables: REFRESHED,
        about: "new levels, or a new noise budget",
        key: ComputedBy::Bootstrapping,
        ..ROW
    },
    Sum: Row {
        name: "sum",
        images: BITS,
        tables: SUMMED,
        about: "the sum of each column",
        more: "Under tfhe sums are modulo 2^width, and the columns of an image are its channels.",
        ..STATISTIC
    },
    Count: Row {
        name: "count",
        tables: EXACT,
        about: "how often each word occurs, in columns of categories",
        ..STATISTIC
    },
    Mean: Row { name: "mean", tables: REAL, about: "the mean of each column", ..STATISTIC },
    Variance: Row {
        name: "variance",
        tables: REAL,
        about: "the population variance of each column",
        ..STATISTIC
    },
    Covariance: Row {
        name: "covariance",
        tables: REAL,
        about: "the population covariance of each pair of columns",
        more: "The result has a column for each pair, which is named after both: n (n + 1) / 2 of n columns. \
               All columns are in memory at once.",
        ..STATISTIC
    },
    Regression: Row {
        name: "regression",
        tables: REAL,
        about: "the least squares fit of a column by all others, with an intercept",
        more: "The result holds the means and the covariances of all columns, encrypted. decrypt solves for \
               the coefficients, one for each column but the target, and the intercept; whoever has the \
               secret key can learn all means and covariances from the file. All columns are in memory at \
               once.",
        parameters: &[Parameter {
            name: "target",
            value: "COLUMN",
            about: "The column to fit, by its name or number; the first is 1 [default: the last]",
            domain: Domain::Column,
        }],
        ..STATISTIC
    },
    Dot: Row {
        name: "dot",
        tables: REFRESHED,
        about: "the inner product of two columns, or of each column with that of another table",
        others: &[Other {
            name: "with",
            about: "The other encrypted table, with as many rows and columns",
            or: Some("columns"),
        }],
        parameters: &[Parameter {
            name: "columns",
            value: "A,B",
            about: "Two columns of this table, by their names or numbers; the first is 1",
            domain: Domain::TwoColumns,
        }],
        ..STATISTIC
    },
}

/// The names of the operations that satisfy a condition: `add, sub and mul`.
fn named(is_meant: impl Fn(&Row) -> bool) -> String {
    let names: Vec<&str> = TABLE.iter().filter(|row| is_meant(row)).map(|row| row.name).collect();
    joined(&names, "and")
}

/// The operations on files of a kind by an evaluation key of a scheme.
pub fn on(kind: Kind, scheme: &str) -> String {
    named(|row| row.key == ComputedBy::Evaluation && row.on(kind).contains(&scheme))
}

/// The operations by an evaluation key of a scheme, on files of every kind.
pub fn of(scheme: &str) -> String {
    let [images, tables, digits] = Kind::ALL.map(|kind| on(kind, scheme));
    let text = match images == tables {
        true => format!("images and tables {images}"),
        false => format!("images {images}; tables {tables}"),
    };
    if digits.is_empty() { text } else { format!("{text}; tables in digits {digits}") }
}

/// The operations that drop levels of their results where that is chosen.
pub fn with_levels() -> String {
    named(|row| row.levels.is_some())
}

/// Whether an operation drops levels of its result unless they are to be kept.
pub(super) fn drops(row: &Row) -> bool {
    row.levels == Some(Unasked::Dropped)
}

/// The operations that drop levels of their results unless they are to be kept: `sum and mean`.
pub fn dropping() -> String {
    named(drops)
}

/// Their names.
pub fn statistics() -> Vec<&'static str> {
    TABLE.iter().filter(|row| drops(row)).map(|row| row.name).collect()
}

#[cfg(test)]
mod tests {
    use super::super::given::Given;
    use super::super::row::BIGCKKS;
    use super::*;
    use crate::tfhe::note::WIDTHS;
    use std::collections::BTreeSet;

    /// Values of a parameter: good ones, and bad ones beside them.
    fn values(domain: Domain) -> (Vec<Given>, Vec<Given>) {
        let numbers = |list: &[f64]| list.iter().map(|&x| Given::Number(x)).collect::<Vec<_>>();
        let sizes = |list: &[u64]| list.iter().map(|&x| Given::Whole(x)).collect::<Vec<_>>();
        let texts = |list: &[&str]| list.iter().map(|x| Given::Text((*x).to_owned())).collect::<Vec<_>>();
        let lists = |list: &[&[&str]]| {
            list.iter().map(|x| Given::Texts(x.iter().map(|&x| x.to_owned()).collect())).collect::<Vec<_>>()
        };
        match domain {
            Domain::Any { default } => {
                (numbers(&[default, -2.5, 0.0, 1e6]), numbers(&[f64::NAN, f64::INFINITY]))
            }
            Domain::Unit { default } => {
                (numbers(&[default, 0.0, 1.0]), numbers(&[-1e-9, 1.0 + 1e-9, f64::NAN]))
            }
            Domain::Positive => (numbers(&[0.5, 3.0]), numbers(&[0.0, -1.0, f64::NAN, f64::INFINITY])),
            Domain::Whole => (sizes(&[0, 1, 7]), numbers(&[-1.0, 0.5])),
            Domain::Matrix => (texts(&["2", "0 -1 0; -1 5 -1; 0 -1 0"]), texts(&["", "1 2", "1; 2 3; x"])),
            Domain::Column => (texts(&["a", "2"]), numbers(&[1.5])),
            Domain::TwoColumns => (lists(&[&["a", "2"]]), lists(&[&["a"], &["a", "b", "c"]])),
            Domain::Entries => (lists(&[&["1", "-2"]]), lists(&[&["x"], &["1", ""], &["1.5"]])),
            Domain::Integer => (texts(&["0", "-12", "65535"]), texts(&["", "x", "1.5"])),
            Domain::Natural => (sizes(&[1, 7]), numbers(&[-1.0, 0.5])),
            Domain::Width => (sizes(&WIDTHS.map(u64::from)), sizes(&[0, 1, 12, 512])),
        }
    }

    /// The parameters that an operation cannot do without.
    fn required(row: &Row) -> Vec<(&'static str, Given)> {
        let parameters = row.parameters.iter().filter(|parameter| parameter.domain.is_required());
        parameters.map(|parameter| (parameter.name, values(parameter.domain).0.remove(0))).collect()
    }

    #[test]
    fn rows_are_the_operations() {
        let unknown = Operation::given("?", []).unwrap_err().to_string();
        let known: BTreeSet<&str> = unknown.split('`').skip(3).step_by(2).collect();
        assert_eq!(known, TABLE.iter().map(|row| row.name).collect());
        assert_eq!(known.len(), TABLE.len());
        for row in TABLE {
            let operation = Operation::given(row.name, required(row)).unwrap();
            assert!(std::ptr::eq(operation.row(), row), "{}", row.name);
            assert_eq!(operation.levels().is_some(), row.levels.is_some(), "{}", row.name);
            assert!(row.inputs().contains(&operation.inputs()), "{}", row.name);
            assert!(!row.schemes().is_empty() && !row.about.is_empty(), "{}", row.name);
            // Nothing can be left out that is required.
            for (name, _) in required(row) {
                let rest = required(row).into_iter().filter(|(other, _)| *other != name);
                assert!(Operation::given(row.name, rest).is_err(), "{}", row.name);
            }
            // The file that a parameter stands for is not needed with it.
            for (or, other) in row.others.iter().filter_map(|other| Some((other.or?, other))) {
                let parameter = row.parameters.iter().find(|parameter| parameter.name == or).unwrap();
                let given = [(or, values(parameter.domain).0.remove(0))];
                let alone = Operation::given(row.name, given).unwrap();
                assert_eq!((alone.inputs() + 1, operation.inputs()), (2, 2), "{}", other.name);
            }
        }
    }

    #[test]
    fn parameters_have_the_domains_of_the_table() {
        for row in TABLE {
            for Parameter { name, domain, .. } in row.parameters {
                let with = |value: Given| {
                    let others = required(row).into_iter().filter(|(other, _)| other != name);
                    Operation::given(row.name, others.chain([(*name, value)]))
                };
                let (good, bad) = values(*domain);
                for value in good {
                    with(value.clone()).unwrap().check().unwrap_or_else(|error| {
                        panic!("{} {name} {value:?}: {error}", row.name);
                    });
                }
                for value in bad {
                    let read = with(value.clone());
                    assert!(read.is_err() || read.unwrap().check().is_err(), "{} {name} {value:?}", row.name);
                }
                if let Some(default) = domain.default() {
                    let unasked = Operation::given(row.name, required(row)).unwrap();
                    assert_eq!(with(Given::Number(default)).unwrap(), unasked, "{} {name}", row.name);
                }
            }
            let unknown = required(row).into_iter().chain([("speed", Given::Whole(1))]);
            assert!(Operation::given(row.name, unknown).is_err(), "{}", row.name);
        }
    }

    #[test]
    fn people_are_told_of_files_kinds_and_schemes() {
        let help = |name: &str| TABLE.iter().find(|row| row.name == name).unwrap().help();
        for (name, text) in [
            ("add", "Two images or tables, or tables in digits under ckks: add them, number by number"),
            ("not", "Table in digits under ckks: all bits, or conditions, turned"),
            ("blend", "Two images under ckks: their weighted mean"),
            ("mean", "Table under ckks: the mean of each column"),
            ("sum", "Table under ckks, bfv, bgv or tfhe, or image under tfhe: the sum of each column"),
        ] {
            assert_eq!(help(name), text);
        }
        assert!(
            help("select").starts_with("Three images or tables under tfhe, or tables in digits under ckks: ")
        );
        assert_eq!(of(BIGCKKS), "images and tables add, sub and mul");
        assert_eq!(of(BFV), "images add, sub and mul; tables add, sub, mul, sum, count and dot");
        assert_eq!(of("aes"), "images and tables ");
    }
}
