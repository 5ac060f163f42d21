//! The options of reading CSV, and of encrypting it.

use super::value;
use clap::Args;
use he_files::contents::options::{ColumnCategories, ColumnOffset};
use he_files::data::table;

/// Heading of options that say how a table is read.
const TABLES: &str = "Options for tables";

/// The options of reading CSV, wherever there is any.
#[derive(Clone, Debug, Default, Args)]
pub struct CsvFlags {
    /// The first row holds the names of the columns
    #[arg(help_heading = TABLES, long, conflicts_with = "no_header")]
    pub header: bool,
    /// The first row holds data
    #[arg(help_heading = TABLES, long)]
    pub no_header: bool,
    /// Separator of the fields: one character, or the word tab
    ///
    /// Recognised if it is not given: a tab, a semicolon or a comma.
    #[arg(help_heading = TABLES, long, value_name = "CHAR", value_parser = value::delimiter)]
    pub delimiter: Option<u8>,
    /// Only these columns, by name or number from 1 on
    ///
    /// They are taken in this order, and column numbers elsewhere (--categories, --offset) count
    /// only them.
    #[arg(help_heading = TABLES, long, value_name = "A,B,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Gaps: refuse the table, skip the row in all columns, or use 0
    ///
    /// A gap is an empty field or, among numbers, NA, N/A, NaN or null. Sums and means are then
    /// those of the rows that are left, and a warning says how many. With --columns NAME, a column
    /// keeps all rows in which it has a number.
    #[arg(help_heading = TABLES, long, value_enum, value_name = "error|skip|zero", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub missing: Missing,
    /// Mark before decimals
    ///
    /// By default a point, or a comma if another character separates the fields. A table is refused
    /// if all its marks could stand between thousands, as in 1.234 and 12,500.
    #[arg(help_heading = TABLES, long, value_enum, value_name = "auto|point|comma", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub decimal: Decimal,
}

/// The options of reading and encrypting CSV.
#[derive(Clone, Debug, Default, Args)]
pub struct TableFlags {
    #[command(flatten)]
    pub csv: CsvFlags,
    /// Leave the names of the columns out of the file, where they are public
    ///
    /// Columns are called 1, 2, ... from then on, and results have no header.
    #[arg(help_heading = TABLES, long, hide_short_help = true)]
    pub no_names: bool,
    /// Under bfv and bgv: a column of words to count
    ///
    /// May be repeated. List the words if you will add tables later. The words are public, but
    /// which row has which is not.
    #[arg(help_heading = TABLES, long, value_name = "COLUMN[=A,B,...]")]
    pub categories: Vec<ColumnCategories>,
    /// Under ckks and bigckks: a public number to subtract from a column
    ///
    /// auto, none, or a number for a column; may be repeated. The offset keeps the digits of the
    /// column's spread. auto, the default, chooses an offset if the range of the column is below a
    /// sixteenth of the power of two above its greatest magnitude.
    #[arg(help_heading = TABLES, long, value_name = "auto|none|COLUMN=X", allow_hyphen_values = true)]
    #[arg(hide_short_help = true)]
    pub offset: Vec<ColumnOffset>,
    /// Give every column its own ciphertexts, however short it is
    ///
    /// Older files are like this, from before short columns shared ciphertexts; they can only be
    /// added to or multiplied by such files.
    #[arg(help_heading = TABLES, long, hide_short_help = true)]
    pub unpacked: bool,
}

impl CsvFlags {
    /// The first of these flags that is given.
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { header: true, .. } => Some("--header"),
            Self { no_header: true, .. } => Some("--no-header"),
            Self { delimiter: Some(_), .. } => Some("--delimiter"),
            Self { columns, .. } if !columns.is_empty() => Some("--columns"),
            Self { missing: Missing::Skip | Missing::Zero, .. } => Some("--missing"),
            Self { decimal: Decimal::Point | Decimal::Comma, .. } => Some("--decimal"),
            _ => None,
        }
    }

    /// The options of the reader.
    pub fn options(&self) -> table::TableOptions<'_> {
        let header = match (self.header, self.no_header) {
            (true, _) => table::Header::Yes,
            (_, true) => table::Header::No,
            _ => table::Header::Auto,
        };
        table::TableOptions {
            header,
            delimiter: self.delimiter,
            columns: &self.columns,
            missing: self.missing.into(),
            decimal: self.decimal.into(),
            nameless: false,
        }
    }
}

impl TableFlags {
    /// The first of these flags that is given.
    pub fn given(&self) -> Option<&'static str> {
        self.csv.given().or(self.of_columns())
    }

    /// The first flag that is given of those that say how columns are encrypted.
    pub fn of_columns(&self) -> Option<&'static str> {
        match self {
            Self { no_names: true, .. } => Some("--no-names"),
            Self { categories, .. } if !categories.is_empty() => Some("--categories"),
            Self { offset, .. } if !offset.is_empty() => Some("--offset"),
            Self { unpacked: true, .. } => Some("--unpacked"),
            _ => None,
        }
    }

    /// The options for the reader.
    pub fn flags(&self) -> he_files::contents::options::TableFlags<'_> {
        he_files::contents::options::TableFlags {
            options: table::TableOptions { nameless: self.no_names, ..self.csv.options() },
            categories: &self.categories,
            offsets: &self.offset,
            unpacked: self.unpacked,
        }
    }
}

/// The treatment of missing numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Missing {
    /// The table is refused
    #[default]
    Error,
    /// The row is skipped in all columns
    Skip,
    /// The number is 0
    Zero,
}

impl From<Missing> for table::Missing {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Error => Self::Error,
            Missing::Skip => Self::Skip,
            Missing::Zero => Self::Zero,
        }
    }
}

/// The mark before decimals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Decimal {
    /// A point; a comma if the table has commas in numbers and something else between fields.
    #[default]
    Auto,
    /// A point.
    Point,
    /// A comma.
    Comma,
}

impl From<Decimal> for table::decimal::Decimal {
    fn from(decimal: Decimal) -> Self {
        match decimal {
            Decimal::Auto => Self::Auto,
            Decimal::Point => Self::Point,
            Decimal::Comma => Self::Comma,
        }
    }
}
