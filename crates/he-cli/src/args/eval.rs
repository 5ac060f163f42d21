//! The options of `eval`.

use super::{COMMON, CsvFlags, DeviceFlag, value};
use crate::error::Result;
use crate::progress::Shown;
use clap::{Args, Subcommand};
use he_files::io::input::Input;
use he_files::operation::{self, ALPHA, BRIGHTER, CONTRAST, Levels};
use he_files::tfhe::columns;
use std::path::{Path, PathBuf};

/// `eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// The operation to compute
    #[command(subcommand)]
    pub operation: Operation,
}

/// The files of every evaluation.
#[derive(Clone, Debug, Args)]
pub struct EvalFiles {
    /// The encrypted file, or - for standard input
    pub input: PathBuf,
    /// The evaluation key: eval.key
    #[arg(help_heading = COMMON, short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The encrypted result to write, or - for standard output
    #[arg(help_heading = COMMON, short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Levels of the result: keep those that are left, for further computations, or drop them
    ///
    /// Dropping leaves as many levels as the result and sums of hundreds of results like it need.
    /// auto drops the levels of sum, mean, variance, dot and count, and keeps those of other
    /// operations.
    #[arg(help_heading = COMMON, long, value_enum, value_name = "auto|keep|drop", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    levels: LevelsFlag,
    #[command(flatten)]
    pub device: DeviceFlag,
    #[cfg(feature = "client")]
    #[command(flatten)]
    pub server: super::ServerFlags,
    /// Replace the output file if it exists
    #[arg(help_heading = COMMON, long)]
    pub force: bool,
}

/// The treatment of the levels that a result has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum LevelsFlag {
    /// Statistics drop them.
    #[default]
    Auto,
    /// They are kept.
    Keep,
    /// They are dropped.
    Drop,
}

impl EvalFiles {
    /// The treatment of the levels of the result.
    pub fn levels(&self) -> Levels {
        match self.levels {
            LevelsFlag::Auto => Levels::Auto,
            LevelsFlag::Keep => Levels::Keep,
            LevelsFlag::Drop => Levels::Drop,
        }
    }
}

/// The other file of an operation on two.
#[derive(Clone, Debug, Args)]
pub struct Second {
    /// The other encrypted file, of the same keys, kind and size
    #[arg(long, value_name = "FILE")]
    pub with: PathBuf,
}

/// The operations.
#[derive(Debug, Subcommand)]
pub enum Operation {
    /// Two images or two tables: add them, number by number
    ///
    /// Under tfhe sums are modulo 2^width.
    Add {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two images or two tables: subtract the second from the first
    ///
    /// Under tfhe differences are modulo 2^width.
    Sub {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two images or two tables: multiply them, number by number
    ///
    /// Images under ckks take two levels. Under tfhe products are modulo 2^width.
    Mul {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under tfhe: 1 where the first is less than the second, 0 elsewhere
    Lt {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under tfhe: 1 where they are equal, 0 elsewhere
    Eq {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under tfhe: the smaller number of each pair
    Min {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under tfhe: the larger number of each pair
    Max {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Table under tfhe: sort each column by itself, in ascending order
    ///
    /// n rows take about n log2(n)^2 / 4 comparisons, each with an exchange.
    Sort {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Tables under tfhe: numbers of one table where conditions hold, those of another elsewhere
    ///
    /// lt and eq make conditions.
    #[command(after_help = "Example:\n  \
        he-cli eval lt may.he --with june.he -k bits/eval.key -o rose.he\n  \
        he-cli eval select rose.he --with june.he --otherwise may.he -k bits/eval.key -o best.he")]
    Select {
        #[command(flatten)]
        files: EvalFiles,
        /// The encrypted table to take numbers of where the condition holds
        #[arg(long, value_name = "FILE")]
        with: PathBuf,
        /// The encrypted table to take numbers of elsewhere
        #[arg(long, value_name = "FILE")]
        otherwise: PathBuf,
    },
    /// Table under tfhe: for each number, the entry of a public table in that place
    ///
    /// The first entry is that of 0. Beyond the last entry, and for numbers below 0, the result is
    /// 0. A table of up to 256 entries takes at most 9 bootstraps for each two bits of a result, and
    /// some for the number; one of up to 1024 entries takes 33, and longer ones take about as many
    /// as they have entries.
    #[command(after_help = "Example:\n  \
        he-cli eval lookup grades.he --table prices.csv --columns price -k bits/eval.key -o priced.he")]
    Lookup {
        #[command(flatten)]
        files: EvalFiles,
        /// The table, which is not encrypted: one column of integers; entries below 0 give results
        /// with a sign
        #[arg(long, value_name = "FILE")]
        table: PathBuf,
        /// Bits of the results, 8 to 256 [default: those of the numbers]
        #[arg(long, value_name = "BITS", value_parser = value::width)]
        width: Option<u32>,
        #[command(flatten)]
        csv: CsvFlags,
    },
    /// Image: blur by the mean over a square, or by a Gaussian
    #[command(
        after_help = "A blur of radius R needs R pixels of halo and one level, and no keys beyond those of keygen ckks:\n  \
        he-cli encrypt photo.png --halo 15 -k keys/public.key -o photo.he\n  \
        he-cli eval blur photo.he --sigma 5 -k keys/eval.key -o blurred.he"
    )]
    Blur {
        #[command(flatten)]
        files: EvalFiles,
        /// Radius of the square in pixels: 1 for 3x3 [default: 1; for a Gaussian, 3 sigma rounded
        /// up]
        #[arg(long, value_name = "R")]
        radius: Option<usize>,
        /// Blur by a Gaussian of this standard deviation, normalised over the square
        #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
        sigma: Option<f64>,
    },
    /// Image: sharpen with a 3x3 filter
    Sharpen {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: find edges with the 3x3 Laplacian
    Edges {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: make it brighter, or darker
    Brightness {
        #[command(flatten)]
        files: EvalFiles,
        /// Number to add to every pixel; 1 is white
        #[arg(long, value_name = "X", default_value_t = BRIGHTER, allow_negative_numbers = true)]
        by: f64,
    },
    /// Image: change the contrast around middle gray
    Contrast {
        #[command(flatten)]
        files: EvalFiles,
        /// Factor; below 1, the contrast decreases
        #[arg(long, value_name = "X", default_value_t = CONTRAST, allow_negative_numbers = true)]
        by: f64,
    },
    /// Image: make a negative
    Invert {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: turn colours into their luminance
    Grayscale {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Two images: their weighted mean
    Blend {
        #[command(flatten)]
        files: EvalFiles,
        /// The other encrypted image, of the same keys, size and halo
        #[arg(long, value_name = "FILE")]
        with: PathBuf,
        /// Weight of the other image, from 0 to 1
        #[arg(long, value_name = "X", default_value_t = ALPHA, allow_negative_numbers = true)]
        alpha: f64,
    },
    /// Image: apply any filter of odd width and height
    Kernel {
        #[command(flatten)]
        files: EvalFiles,
        /// The weights, rows separated by semicolons: "0 -1 0; -1 5 -1; 0 -1 0"
        #[arg(long, value_name = "ROWS", allow_hyphen_values = true)]
        matrix: String,
    },
    /// Give a file under ckks new levels, or one under bfv or bgv a new noise budget, so that
    /// computations on it can go on
    #[command(
        after_help = "The keys are those of keygen --bootstrap. Under ckks, bootstrap.key refreshes images and tables of numbers up to 1:\n  \
        he-cli keygen ckks --bootstrap fast -o deep/\n  \
        he-cli encrypt photo.png -k deep/public.key -o photo.he\n  \
        he-cli eval blur photo.he -k deep/eval.key -o blurred.he\n  \
        he-cli eval refresh blurred.he -k deep/bootstrap.key -o fresh.he\n\n\
        Under bfv and bgv it refreshes every file whose integers still decrypt with a few bits of noise budget to spare:\n  \
        he-cli keygen bfv --bootstrap -o exact/\n  \
        he-cli encrypt a.csv -k exact/public.key -o a.he\n  \
        he-cli encrypt b.csv -k exact/public.key -o b.he\n  \
        he-cli eval mul a.he --with b.he -k exact/eval.key -o ab.he\n  \
        he-cli eval refresh ab.he -k exact/bootstrap.key -o again.he\n\n\
        A refresh takes seconds and the memory of its keys: he-cli params --bootstrap and he-cli params bfv --bootstrap show how much."
    )]
    Refresh {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: the sum of each column
    ///
    /// Under tfhe sums are modulo 2^width.
    Sum {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table under bfv or bgv: how often each word occurs, in columns encrypted with --categories
    Count {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: the mean of each column
    Mean {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: the population variance of each column
    Variance {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: the inner product of two columns, or of each column with that of another table
    Dot {
        #[command(flatten)]
        files: EvalFiles,
        /// The other encrypted table, with as many rows and columns
        #[arg(long, value_name = "FILE", conflicts_with = "columns")]
        with: Option<PathBuf>,
        /// Two columns of this table, by their names or numbers; the first is 1
        #[arg(long, value_name = "A,B", value_delimiter = ',')]
        columns: Option<Vec<String>>,
    },
}

impl Operation {
    /// The files.
    pub fn files(&self) -> &EvalFiles {
        match self {
            Self::Add { files, .. }
            | Self::Sub { files, .. }
            | Self::Mul { files, .. }
            | Self::Lt { files, .. }
            | Self::Eq { files, .. }
            | Self::Min { files, .. }
            | Self::Max { files, .. }
            | Self::Sort { files }
            | Self::Select { files, .. }
            | Self::Lookup { files, .. }
            | Self::Blur { files, .. }
            | Self::Sharpen { files }
            | Self::Edges { files }
            | Self::Brightness { files, .. }
            | Self::Contrast { files, .. }
            | Self::Invert { files }
            | Self::Grayscale { files }
            | Self::Blend { files, .. }
            | Self::Kernel { files, .. }
            | Self::Refresh { files }
            | Self::Sum { files }
            | Self::Count { files }
            | Self::Mean { files }
            | Self::Variance { files }
            | Self::Dot { files, .. } => files,
        }
    }

    /// The other encrypted files.
    pub fn others(&self) -> impl Iterator<Item = &Path> {
        let otherwise = match self {
            Self::Select { otherwise, .. } => Some(&**otherwise),
            _ => None,
        };
        self.second().into_iter().chain(otherwise)
    }

    /// The table in the clear, if there is one.
    pub fn table(&self) -> Option<&Path> {
        match self {
            Self::Lookup { table, .. } => Some(table),
            _ => None,
        }
    }

    /// The second encrypted file, if there is one.
    fn second(&self) -> Option<&Path> {
        match self {
            Self::Add { second, .. }
            | Self::Sub { second, .. }
            | Self::Mul { second, .. }
            | Self::Lt { second, .. }
            | Self::Eq { second, .. }
            | Self::Min { second, .. }
            | Self::Max { second, .. } => Some(&second.with),
            Self::Blend { with, .. } | Self::Dot { with: Some(with), .. } | Self::Select { with, .. } => {
                Some(with)
            }
            _ => None,
        }
    }

    /// The operation without its encrypted files.
    ///
    /// # Errors
    /// The table in the clear cannot be read.
    pub fn without_files(&self) -> Result<operation::Operation> {
        use operation::Operation as Computed;
        let levels = self.files().levels();
        Ok(match self {
            Self::Add { .. } => Computed::Add { levels },
            Self::Sub { .. } => Computed::Sub { levels },
            Self::Mul { .. } => Computed::Mul { levels },
            Self::Lt { .. } => Computed::Lt {},
            Self::Eq { .. } => Computed::Eq {},
            Self::Min { .. } => Computed::Min {},
            Self::Max { .. } => Computed::Max {},
            Self::Sort { .. } => Computed::Sort {},
            Self::Select { .. } => Computed::Select {},
            Self::Lookup { table, width, csv, .. } => {
                let entries = columns::entries(Input::open(table)?, csv.options(), &Shown::default())?;
                let entries = entries.iter().map(ToString::to_string).collect();
                Computed::Lookup { entries, width: *width }
            }
            Self::Blur { radius, sigma, .. } => Computed::Blur { radius: *radius, sigma: *sigma },
            Self::Sharpen { .. } => Computed::Sharpen {},
            Self::Edges { .. } => Computed::Edges {},
            Self::Brightness { by, .. } => Computed::Brightness { by: *by },
            Self::Contrast { by, .. } => Computed::Contrast { by: *by },
            Self::Invert { .. } => Computed::Invert {},
            Self::Grayscale { .. } => Computed::Grayscale {},
            Self::Blend { alpha, .. } => Computed::Blend { alpha: *alpha },
            Self::Kernel { matrix, .. } => Computed::Kernel { matrix: matrix.clone() },
            Self::Refresh { .. } => Computed::Refresh {},
            Self::Sum { .. } => Computed::Sum { levels },
            Self::Count { .. } => Computed::Count { levels },
            Self::Mean { .. } => Computed::Mean { levels },
            Self::Variance { .. } => Computed::Variance { levels },
            Self::Dot { columns, .. } => Computed::Dot { columns: columns.clone(), levels },
        })
    }
}
