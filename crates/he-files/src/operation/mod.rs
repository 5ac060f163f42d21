//! The computations on encrypted files, by their names and parameters.
//!
//! An [`Operation`] names a computation, without the files; its serde form is the one that services
//! and programs exchange. An [`Evaluation`] is an operation on files that were opened and found to
//! fit. [`TABLE`] lists every operation with its name, its files, schemes and parameters, and its
//! description for people.

mod evaluation;
mod given;
mod kernels;
mod row;
mod table;

pub use evaluation::{Evaluation, Sources, takes_bootstrapping};
pub use given::Given;
pub use row::{ComputedBy, Domain, Kind, Other, Parameter, Row, SCHEMES, Unasked};
pub use table::{TABLE, dropping};

use crate::error::{ContentError, Error, OperationError, Result};
use crate::tfhe::entries::Entries;
use he_any::layout::Op;
use he_any::tfhe::Comparison;
use num_bigint::BigInt;
use serde::de::value::MapDeserializer;
use serde::{Deserialize, Serialize};

/// The summand of `brightness` unless another is given.
pub const BRIGHTER: f64 = 0.1;
/// The factor of `contrast` unless another is given.
pub const CONTRAST: f64 = 1.5;
/// The weight of the second image of `blend` unless another is given.
pub const ALPHA: f64 = 0.5;

/// The most decimal digits of a plain number: those of 256 bits, and a sign.
const MOST_DIGITS: usize = 79;

/// The treatment of the levels that a result has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Levels {
    /// Statistics drop them, other operations keep them.
    #[default]
    Auto,
    /// They are kept, for further computations.
    Keep,
    /// Levels that the result does not need are dropped: it keeps those for sums of hundreds of
    /// results like it.
    Drop,
}

impl Levels {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// A computation on one encrypted file, or on two: its serde form has the field `name` and one
/// field per parameter. Unknown names and parameters are refused.
///
/// Sums, differences and products under TFHE are modulo 2^width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Operation {
    /// The sum of two images or tables, number by number.
    Add {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The first of two images or tables less the second.
    Sub {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The product of two images or tables, number by number.
    Mul {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// 1 where the numbers of the first table are less, 0 elsewhere.
    Lt {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// 1 where they are less or equal, 0 elsewhere.
    Le {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// 1 where they are greater, 0 elsewhere.
    Gt {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// 1 where they are greater or equal, 0 elsewhere.
    Ge {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// 1 where two tables are equal, 0 elsewhere.
    Eq {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// 1 where they differ, 0 elsewhere.
    Ne {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// The smaller number of each pair.
    Min {
        /// A plain number in place of the second table.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// The larger number of each pair.
    Max {
        /// A plain number in place of the second table.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// The bits that both numbers have, or conditions that both hold.
    And {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// The bits that one number has at least, or conditions of which one holds at least.
    Or {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// The bits that exactly one number has, or conditions of which exactly one holds.
    Xor {
        /// A plain number in place of the second table, in decimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        number: Option<String>,
    },
    /// All bits of each number turned, or conditions that hold where those of a table do not.
    Not {},
    /// The opposite of each number, modulo 2^width.
    Neg {},
    /// The magnitude of each number, modulo 2^width.
    Abs {},
    /// The quotient of each number by a plain one, rounded towards zero.
    Div {
        /// The divisor, from 1 on.
        by: u64,
    },
    /// The remainder of each number by a plain one, with the number's sign.
    Rem {
        /// The divisor, from 1 on.
        by: u64,
    },
    /// The bits of each number, moved to higher places.
    Shl {
        /// The places, fewer than bits.
        by: u64,
    },
    /// The bits of each number, moved to lower places; the sign is kept.
    Shr {
        /// The places, fewer than bits.
        by: u64,
    },
    /// The bits of each number, moved to higher places, the highest to the lowest.
    Rotl {
        /// The places, fewer than bits.
        by: u64,
    },
    /// The bits of each number, moved to lower places, the lowest to the highest.
    Rotr {
        /// The places, fewer than bits.
        by: u64,
    },
    /// Each column in ascending order.
    Sort {},
    /// The greatest numbers of each column, in descending order.
    Top {
        /// Their number.
        count: u64,
    },
    /// The numbers of the second table where the conditions of the first hold, those of the third
    /// elsewhere.
    Select {},
    /// The entries of a public table at the numbers of an encrypted one: entry 0 is the first, and
    /// 0 is found beyond the last.
    Lookup {
        /// The entries, in decimal digits. If one is below 0, the results have a sign.
        entries: Vec<String>,
        /// Bits of the results, 8, 16, 32, 64, 128 or 256: by default, those of the numbers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        width: Option<u32>,
    },
    /// An image blurred by the mean over a square, or by a Gaussian.
    Blur {
        /// The radius of the square in pixels: by default 1, or three times sigma, rounded up.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        radius: Option<usize>,
        /// The standard deviation of a Gaussian, in pixels.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sigma: Option<f64>,
    },
    /// An image sharpened by a filter of 3 x 3.
    Sharpen {},
    /// The edges of an image, by the Laplacian of 3 x 3.
    Edges {},
    /// A brighter or darker image.
    Brightness {
        /// The number to add to every pixel; 1 is white.
        #[serde(default = "brighter")]
        by: f64,
    },
    /// An image of another contrast around middle gray.
    Contrast {
        /// The factor.
        #[serde(default = "contrast")]
        by: f64,
    },
    /// The negative of an image.
    Invert {},
    /// The luminance of an image.
    Grayscale {},
    /// The weighted mean of two images.
    Blend {
        /// The weight of the second image, from 0 to 1.
        #[serde(default = "alpha")]
        alpha: f64,
    },
    /// An image under any filter of odd width and height.
    Kernel {
        /// The weights, rows separated by semicolons: `"0 -1 0; -1 5 -1; 0 -1 0"`.
        matrix: String,
    },
    /// This file with new levels, or with a new noise budget.
    Refresh {},
    /// The sum of each column.
    Sum {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The number of times that each word of columns of categories occurs, under BFV and BGV.
    Count {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The mean of each column.
    Mean {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The population variance of each column.
    Variance {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The population covariances of all pairs of columns.
    Covariance {
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The linear regression of a column on all others, with an intercept.
    Regression {
        /// The column, by its name or number; the first is 1. Without it, the last one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<String>,
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
    /// The inner product of two columns of a table, or of each column with that of another table.
    Dot {
        /// Two columns, by their names or numbers; the first is 1. Without them there is another
        /// table.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        columns: Option<Vec<String>>,
        /// Levels to keep in the result.
        #[serde(default, skip_serializing_if = "Levels::is_auto")]
        levels: Levels,
    },
}

fn brighter() -> f64 {
    BRIGHTER
}

fn contrast() -> f64 {
    CONTRAST
}

fn alpha() -> f64 {
    ALPHA
}

impl Operation {
    /// An operation by its name and parameters. Parameters with a default in the table may be left
    /// out.
    ///
    /// # Errors
    /// There is no such operation, or it has other parameters.
    pub fn given(
        name: &str,
        parameters: impl IntoIterator<Item = (&'static str, Given)>,
    ) -> std::result::Result<Self, serde::de::value::Error> {
        let name = [("name", Given::Text(name.to_owned()))];
        Self::deserialize(MapDeserializer::new(name.into_iter().chain(parameters)))
    }

    /// Its name, as in the serde form and on the command line.
    pub fn name(&self) -> &'static str {
        self.row().name
    }

    /// The number of files that it takes, all encrypted under one key set.
    pub fn inputs(&self) -> usize {
        match self {
            Self::Dot { columns: Some(_), .. } => 1,
            operation if operation.number().is_some() => 1,
            operation => 1 + operation.row().others.len(),
        }
    }

    /// The treatment of the levels of its result, if that can be chosen.
    pub fn levels(&self) -> Option<Levels> {
        match self {
            Self::Add { levels }
            | Self::Sub { levels }
            | Self::Mul { levels }
            | Self::Sum { levels }
            | Self::Count { levels }
            | Self::Mean { levels }
            | Self::Variance { levels }
            | Self::Covariance { levels }
            | Self::Regression { levels, .. }
            | Self::Dot { levels, .. } => Some(*levels),
            _ => None,
        }
    }

    /// Whether levels that the result does not need are dropped.
    fn lowers(&self) -> bool {
        match self.levels() {
            Some(Levels::Auto) => table::drops(self.row()),
            levels => levels == Some(Levels::Drop),
        }
    }

    /// The error that it cannot drop levels.
    pub fn no_levels(&self) -> Error {
        OperationError::NoLevels { operation: self.name(), others: table::with_levels() }.into()
    }

    /// Checks everything that can be checked without files: that numbers are finite, matrices
    /// well-formed, and two columns are named where some are.
    ///
    /// # Errors
    /// [`OperationError`], or an error of he-core's circuits, if a parameter cannot be used.
    pub fn check(&self) -> Result<()> {
        self.kernel()?;
        self.affine()?;
        match self {
            Self::Dot { columns: Some(columns), .. } => two(columns).map(|_| ()),
            Self::Lookup { .. } => self.entries().map(|_| ()),
            _ if self.number().is_some() => self.plain_number().map(|_| ()),
            Self::Div { by: 0 } | Self::Rem { by: 0 } => Err(ContentError::ZeroDivisor.into()),
            Self::Blend { alpha } if !(0.0..=1.0).contains(alpha) => {
                Err(ContentError::Weight { alpha: *alpha }.into())
            }
            _ => Ok(()),
        }
    }

    /// The public table of a lookup.
    fn entries(&self) -> Result<Option<Entries>> {
        match self {
            Self::Lookup { entries, width } => Entries::parse(entries, *width).map(Some),
            _ => Ok(None),
        }
    }

    /// The plain number in place of a second file, as it is given.
    fn number(&self) -> Option<&str> {
        match self {
            Self::Lt { number }
            | Self::Le { number }
            | Self::Gt { number }
            | Self::Ge { number }
            | Self::Eq { number }
            | Self::Ne { number }
            | Self::Min { number }
            | Self::Max { number }
            | Self::And { number }
            | Self::Or { number }
            | Self::Xor { number } => number.as_deref(),
            _ => None,
        }
    }

    /// The plain number in place of a second file.
    fn plain_number(&self) -> Result<Option<BigInt>> {
        let parsed = |text: &str| match text.len() <= MOST_DIGITS {
            true => text.parse().ok(),
            false => None,
        };
        let bad =
            |text: &str| Error::from(ContentError::NumberText { text: text.chars().take(40).collect() });
        self.number().map(|text| parsed(text).ok_or_else(|| bad(text))).transpose()
    }

    /// The comparison that it is, if it is one.
    fn comparison(&self) -> Option<Comparison> {
        Some(match self {
            Self::Lt { .. } => Comparison::Lt,
            Self::Le { .. } => Comparison::Le,
            Self::Gt { .. } => Comparison::Gt,
            Self::Ge { .. } => Comparison::Ge,
            Self::Eq { .. } => Comparison::Eq,
            Self::Ne { .. } => Comparison::Ne,
            _ => return None,
        })
    }

    /// The operation on two files slot by slot, in the schemes over rings.
    fn pairwise(&self) -> Option<Op> {
        match self {
            Self::Add { .. } => Some(Op::Add),
            Self::Sub { .. } => Some(Op::Sub),
            Self::Mul { .. } => Some(Op::Mul),
            _ => None,
        }
    }
}

/// The names of two columns.
fn two(columns: &[String]) -> Result<(&str, &str)> {
    match columns {
        [a, b] => Ok((a, b)),
        _ => Err(OperationError::Columns { found: columns.len() }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> serde_json::Result<Operation> {
        serde_json::from_str(text)
    }

    #[test]
    fn operations_are_written_as_they_are_read() {
        for (text, name, inputs) in [
            (r#"{"name":"add"}"#, "add", 2),
            (r#"{"name":"mul","levels":"drop"}"#, "mul", 2),
            (r#"{"name":"lt"}"#, "lt", 2),
            (r#"{"name":"ge","number":"-7"}"#, "ge", 1),
            (r#"{"name":"div","by":10}"#, "div", 1),
            (r#"{"name":"top","count":3}"#, "top", 1),
            (r#"{"name":"sort"}"#, "sort", 1),
            (r#"{"name":"select"}"#, "select", 3),
            (r#"{"name":"lookup","entries":["-1","7"],"width":16}"#, "lookup", 1),
            (r#"{"name":"blur"}"#, "blur", 1),
            (r#"{"name":"blur","radius":2,"sigma":0.75}"#, "blur", 1),
            (r#"{"name":"brightness","by":-0.25}"#, "brightness", 1),
            (r#"{"name":"kernel","matrix":"0 1 0"}"#, "kernel", 1),
            (r#"{"name":"refresh"}"#, "refresh", 1),
            (r#"{"name":"variance","levels":"keep"}"#, "variance", 1),
            (r#"{"name":"covariance"}"#, "covariance", 1),
            (r#"{"name":"regression","target":"y"}"#, "regression", 1),
            (r#"{"name":"dot"}"#, "dot", 2),
            (r#"{"name":"dot","columns":["a","2"]}"#, "dot", 1),
        ] {
            let operation = parsed(text).unwrap();
            assert_eq!((operation.name(), operation.inputs()), (name, inputs), "{text}");
            assert_eq!(serde_json::to_string(&operation).unwrap(), text);
        }
        assert_eq!(parsed(r#"{"name":"contrast"}"#).unwrap(), Operation::Contrast { by: CONTRAST });
        assert_eq!(parsed(r#"{"name":"blend"}"#).unwrap(), Operation::Blend { alpha: ALPHA });
        assert_eq!(parsed(r#"{"name":"brightness"}"#).unwrap(), Operation::Brightness { by: BRIGHTER });
    }

    #[test]
    fn nothing_unknown_is_read() {
        for text in [
            "{}",
            r#"{"name":"melt"}"#,
            r#"{"name":"Add"}"#,
            r#"{"name":"sharpen","by":1}"#,
            r#"{"name":"blur","radius":-1}"#,
            r#"{"name":"blur","levels":"drop"}"#,
            r#"{"name":"add","levels":"all"}"#,
            r#"{"name":"add","with":"file"}"#,
            r#"{"name":"kernel"}"#,
            r#"{"name":"brightness","by":"1"}"#,
            r#"{"name":"add","name":"sub"}"#,
        ] {
            assert!(parsed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parameters_are_checked_without_files() {
        for text in [
            r#"{"name":"kernel","matrix":"1 2; 3 4"}"#,
            r#"{"name":"kernel","matrix":""}"#,
            r#"{"name":"blur","sigma":1e6}"#,
            r#"{"name":"blur","sigma":-1}"#,
            r#"{"name":"blend","alpha":2}"#,
            r#"{"name":"dot","columns":["a"]}"#,
            r#"{"name":"lookup","entries":["1","x"]}"#,
            r#"{"name":"lt","number":"x"}"#,
            r#"{"name":"rem","by":0}"#,
            r#"{"name":"lookup","entries":["1"],"width":12}"#,
        ] {
            let error = parsed(text).unwrap().check().unwrap_err();
            assert!(error.is_request() && error.hint().is_some(), "{text}: {error}");
        }
        for text in [
            r#"{"name":"kernel","matrix":"0 -1 0; -1 5 -1; 0 -1 0"}"#,
            r#"{"name":"blur","sigma":2}"#,
            r#"{"name":"contrast","by":0}"#,
            r#"{"name":"dot","columns":["a","b"]}"#,
        ] {
            parsed(text).unwrap().check().unwrap();
        }
    }
}
