//! The command line.

use crate::device::Choice;
use crate::error::Result;
use crate::integers::MAX_CATEGORIES;
use crate::passphrase::{self, Passphrase, Purpose};
use crate::table;
use crate::tfhe::note::WIDTHS;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Encrypt images and tables, compute on them while they stay encrypted, decrypt them; encrypt any file.
#[derive(Debug, Parser)]
#[command(
    name = "he-cli",
    version,
    max_term_width = 100,
    after_help = "Example:\n  \
        he-cli keygen ckks -o keys/\n  \
        he-cli encrypt photo.png -k keys/public.key -o photo.he\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he\n  \
        he-cli decrypt blurred.he -k keys/secret.key -o blurred.png\n\n  \
        he-cli keygen bfv -o exact/\n  \
        he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he\n  \
        he-cli eval count votes.he -k exact/eval.key -o counts.he\n  \
        he-cli decrypt counts.he -k exact/secret.key -o -\n\n  \
        he-cli keygen aes -o my.key\n  \
        he-cli encrypt movie.mkv -k my.key -o movie.he\n  \
        he-cli decrypt movie.he -k my.key -o movie.mkv\n\n\
        A file named - is standard input or output. Exit codes: 0 done, 1 failed, 2 wrong usage."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make keys
    #[command(after_help = "Examples:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n  \
        he-cli keygen bfv --bits 40 -o exact/\n  \
        he-cli keygen aes -o my.key\n\n\
        he-cli help keygen ckks has the options of the first, and so on.")]
    Keygen(Keygen),
    /// Encrypt: by a CKKS, BFV, BGV or bigckks key an image (PNG, JPEG, BMP, TIFF, WebP) or a CSV table of numbers, to compute on it, by the secret key of TFHE a table of unsigned integers; by an
    /// AES key or a passphrase any file or folder
    #[command(after_help = "Examples:\n  \
        he-cli encrypt photo.png -k keys/public.key -o photo.he\n  \
        he-cli encrypt prices.csv -k keys/public.key -o prices.he\n  \
        he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he\n  \
        he-cli encrypt movie.mkv -k my.key -o movie.he\n  \
        he-cli encrypt papers/ --passphrase -o papers.he\n  \
        pg_dump base | he-cli encrypt - -k my.key -o base.he")]
    Encrypt(Encrypt),
    /// Compute on an encrypted file without decrypting it
    #[command(after_help = "Examples:\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he\n  \
        he-cli eval blend photo.he --with other.he --alpha 0.25 -k keys/eval.key -o both.he\n  \
        he-cli eval kernel photo.he --matrix \"0 -1 0; -1 5 -1; 0 -1 0\" -k keys/eval.key -o sharp.he\n  \
        he-cli eval dot prices.he --columns price,amount -k keys/eval.key -o total.he\n  \
        he-cli eval add may.he --with june.he -k keys/eval.key -o both.he\n  \
        he-cli eval count votes.he -k exact/eval.key -o counts.he\n  \
        he-cli eval lt may.he --with june.he -k bits/eval.key -o rose.he")]
    Eval(Eval),
    /// Decrypt a file
    #[command(after_help = "Examples:\n  \
        he-cli decrypt blurred.he -k keys/secret.key -o blurred.png\n  \
        he-cli decrypt total.he -k keys/secret.key -o -\n  \
        he-cli decrypt movie.he -k my.key -o movie.mkv\n  \
        he-cli decrypt movie.he -k my.key --range 1000000..2000000 -o part\n  \
        he-cli decrypt papers.he --passphrase -o papers/")]
    Decrypt(Decrypt),
    /// Say what a key or an encrypted file is
    #[command(after_help = "Examples:\n  \
        he-cli info --json photo.he\n  \
        he-cli info votes.he --key exact/secret.key")]
    Info(Info),
    /// Explain which parameters would be chosen, and why
    #[command(after_help = "Example:\n  he-cli params --depth 6 --precision 30")]
    Params(Params),
    /// Run the whole round on an image: keys, encrypt, blur, decrypt, with times, sizes and PSNR
    #[command(after_help = "Example:\n  he-cli demo photo.png -o out/")]
    Demo(Demo),
    /// List the CUDA devices
    #[command(after_help = "Example:\n  he-cli devices --json")]
    Devices(Devices),
    /// Measure this machine: the five papers' tables beside ours, and the speed of every operation
    #[command(after_help = "Examples:\n  \
        he-cli bench papers --quick\n  \
        he-cli bench papers p4 p5 --device cuda --json results.json --plots plots/\n  \
        he-cli bench gates --limit 60\n\n\
        Every time is the median of repeated calls, each from an idle device to an idle device.")]
    Bench(Bench),
}

/// Where it is computed.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlag {
    /// auto, cpu, cuda, cuda:N or cuda:all; auto is the first CUDA device that works, otherwise the CPU
    #[arg(long = "device", value_name = "DEVICE", env = "HE_DEVICE", default_value = "auto")]
    pub choice: Choice,
}

/// What parameters are chosen from.
#[derive(Clone, Debug, Args)]
pub struct Needs {
    /// Operations in sequence that must be possible: filters, products, weighted sums
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub depth: usize,
    /// Bits of precision of results of magnitude one
    #[arg(long, value_name = "BITS", default_value_t = 25)]
    pub precision: u32,
    /// Results stay below 2^BITS in magnitude; white is 1, columns are scaled to 1
    #[arg(long, value_name = "BITS", default_value_t = 4)]
    pub range: u32,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    /// At least this many values in one ciphertext
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub slots: usize,
}

/// How a secret key is protected by a passphrase.
#[derive(Clone, Debug, Default, Args)]
pub struct PassphraseFile {
    /// Take the passphrase from the first line of FILE; else from HE_CLI_PASSPHRASE, else it is asked for
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

impl PassphraseFile {
    /// Whether there is a passphrase without asking for it.
    pub fn is_given(&self) -> bool {
        self.passphrase_file.is_some() || std::env::var_os(passphrase::VARIABLE).is_some()
    }
}

/// `keygen`.
#[derive(Debug, Args)]
pub struct Keygen {
    /// For what
    #[command(subcommand)]
    pub scheme: Scheme,
}

/// The schemes there are.
#[derive(Debug, Subcommand)]
pub enum Scheme {
    /// A secret, a public and an evaluation key for approximate numbers: images with filters, and real columns
    #[command(after_help = "Example:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts, eval.key computes; both may be given away.")]
    Ckks(KeygenCkks),
    /// The same three keys for integers, exactly: images bit for bit, sums, counts and products of whole numbers
    #[command(after_help = "Examples:\n  \
        he-cli keygen bfv -o exact/\n  \
        he-cli keygen bfv --depth 4 --plain-modulus 65537 -o exact/\n\n\
        Numbers are integers modulo t. What may not fit t is refused before it is computed.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts, eval.key computes; both may be given away.")]
    Bfv(KeygenExact),
    /// As bfv, by another scheme: the same results
    #[command(after_help = "Example:\n  \
        he-cli keygen bgv --bits 20 --depth 3 -o exact/\n\n\
        Numbers are integers modulo t. What may not fit t is refused before it is computed.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts, eval.key computes; both may be given away.")]
    Bgv(KeygenExact),
    /// The same three keys for CKKS as published in 2017: approximate numbers, precision and depth in bits
    #[command(after_help = "Example:\n  \
        he-cli keygen bigckks --precision 30 --depth-bits 120 -o keys/\n\n\
        A product takes as many bits as the scale has: the precision and about 20.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts, eval.key computes; both may be given away.")]
    Bigckks(KeygenBigCkks),
    /// One key that encrypts and decrypts files of any kind
    #[command(after_help = "Example:\n  \
        he-cli keygen aes -o my.key\n\n\
        Keep the key to yourself, and keep a copy: nothing else decrypts the files.")]
    Aes(KeygenAes),
    /// A secret and an evaluation key for unsigned integers of 8 to 256 bits, exactly: sums, comparisons, sorting, as long as you like
    #[command(after_help = "Example:\n  \
        he-cli keygen tfhe -o bits/\n  \
        he-cli encrypt bids.csv --width 16 -k bits/secret.key -o bids.he\n  \
        he-cli eval max bids.he --with others.he -k bits/eval.key -o best.he\n\n\
        There is no public key: secret.key encrypts and decrypts, and you keep it to yourself. eval.key computes; it may be given away.")]
    Tfhe(KeygenTfhe),
}

/// Whether a passphrase protects a new key.
#[derive(Clone, Debug, Args)]
pub struct SealFlags {
    /// Seal the secret key with a passphrase, asked for at the terminal or taken from HE_CLI_PASSPHRASE
    #[arg(long)]
    pub passphrase: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

impl SealFlags {
    /// The passphrase to seal `name` with, if it is to be sealed.
    ///
    /// # Errors
    /// There is none.
    pub fn obtain(&self, name: &str) -> Result<Option<Passphrase>> {
        let file = self.passphrase_file.passphrase_file.as_deref();
        (self.passphrase || file.is_some()).then(|| Passphrase::obtain(file, Purpose::Seal, name)).transpose()
    }
}

/// Where the keys of a key set go.
#[derive(Debug, Args)]
pub struct KeyFolder {
    /// Folder for secret.key, public.key and eval.key; made where missing
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub seal: SealFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace keys that exist
    #[arg(long)]
    pub force: bool,
}

/// `keygen ckks`.
#[derive(Debug, Args)]
pub struct KeygenCkks {
    #[command(flatten)]
    pub needs: Needs,
    /// Largest radius of image filters that run at full speed: 1 for 3x3, 2 for 5x5
    #[arg(long, value_name = "R", default_value_t = 1)]
    pub radius: usize,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen bfv` and `keygen bgv`.
#[derive(Debug, Args)]
pub struct KeygenExact {
    /// Products in sequence that must be possible; sums take none
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub depth: usize,
    /// Results stay below 2^BITS in magnitude: images of 8 bits take 8, sums and products more; t is chosen from it
    #[arg(long, value_name = "BITS", default_value_t = 32, conflicts_with = "plain_modulus")]
    pub bits: u32,
    /// The plaintext modulus t itself: a prime equal to 1 modulo twice the degree, such as 65537
    #[arg(long, value_name = "T")]
    pub plain_modulus: Option<u64>,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen bigckks`.
#[derive(Debug, Args)]
pub struct KeygenBigCkks {
    /// Bits that products in sequence may take: each as many as the scale has
    #[arg(long, value_name = "BITS", default_value_t = 100)]
    pub depth_bits: u32,
    /// Bits of precision of results of magnitude one
    #[arg(long, value_name = "BITS", default_value_t = 25)]
    pub precision: u32,
    /// Results stay below 2^BITS in magnitude; white is 1, columns are scaled to 1
    #[arg(long, value_name = "BITS", default_value_t = 4)]
    pub range: u32,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    /// At least this many values in one ciphertext
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub slots: usize,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen aes`.
#[derive(Debug, Args)]
pub struct KeygenAes {
    /// The key's file; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub seal: SealFlags,
    /// Replace a key that exists
    #[arg(long)]
    pub force: bool,
}

/// `keygen tfhe`.
#[derive(Debug, Args)]
pub struct KeygenTfhe {
    /// Folder for secret.key and eval.key; made where missing
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Probability that a lookup errs, of which every digit of two bits takes a few in each operation; 2^-40 is a little faster
    #[arg(long, value_enum, value_name = "P", default_value_t)]
    pub failure: Failure,
    #[command(flatten)]
    pub seal: SealFlags,
    /// Replace keys that exist
    #[arg(long)]
    pub force: bool,
}

/// How rarely TFHE errs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Failure {
    /// For computations of any length.
    #[default]
    #[value(name = "2^-128")]
    Negligible,
    /// One lookup in 10^12.
    #[value(name = "2^-40")]
    Rare,
}

/// What encrypts or decrypts: a key, or a passphrase.
#[derive(Clone, Debug, Args)]
pub struct Unlock {
    /// The key: of a key set the public (or secret) one to encrypt, the secret one to decrypt; of TFHE the secret one; of AES the one there is
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["passphrase", "passphrase_file"])]
    pub key: Option<PathBuf>,
    /// A passphrase in place of a key: AES for any file; asked for at the terminal or taken from HE_CLI_PASSPHRASE
    #[arg(long, conflicts_with = "key")]
    pub passphrase: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

/// `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// What to encrypt; images and tables are recognised by their content; - for standard input
    pub input: PathBuf,
    #[command(flatten)]
    pub unlock: Unlock,
    /// The encrypted file; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Pixels around each tile of an image under CKKS that filters may read: the sum of the radii of all filters to come [default: 2]
    #[arg(long, value_name = "PIXELS")]
    pub halo: Option<usize>,
    /// Under TFHE the bits of each unsigned integer: 8, 16, 32, 64, 128 or 256 [default: 32]
    #[arg(long, value_name = "BITS", value_parser = width)]
    pub width: Option<u32>,
    #[command(flatten)]
    pub table: TableFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output if it exists
    #[arg(long)]
    pub force: bool,
}

/// How CSV is read.
#[derive(Clone, Debug, Default, Args)]
pub struct TableFlags {
    /// The first row of the table holds names
    #[arg(long, conflicts_with = "no_header")]
    pub header: bool,
    /// The first row of the table holds numbers
    #[arg(long)]
    pub no_header: bool,
    /// What separates the fields; recognised if not given
    #[arg(long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Of a table under BFV or BGV a column of words, to be counted; give its words if several tables are to be added. The words that
    /// occur are public, who has which is not
    #[arg(long, value_name = "COLUMN[=A,B,...]")]
    pub categories: Vec<CategoryFlag>,
}

/// A column of categories, and its categories if they are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryFlag {
    /// By name or number from 1 on.
    pub column: String,
    /// All that may occur; otherwise those that do.
    pub names: Option<Vec<String>>,
}

impl FromStr for CategoryFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((column, names)) = text.split_once('=') else {
            return Ok(Self { column: text.to_owned(), names: None });
        };
        let names: Vec<String> = names.split(',').map(|name| name.trim().to_owned()).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        if distinct.len() != names.len() || names.iter().any(String::is_empty) {
            return Err("a column and different words, as in colour=red,green,blue".to_owned());
        }
        if names.len() > MAX_CATEGORIES {
            return Err(format!("at most {MAX_CATEGORIES} categories"));
        }
        Ok(Self { column: column.to_owned(), names: Some(names) })
    }
}

impl TableFlags {
    /// The first flag that is given.
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { header: true, .. } => Some("--header"),
            Self { no_header: true, .. } => Some("--no-header"),
            Self { delimiter: Some(_), .. } => Some("--delimiter"),
            Self { categories, .. } if !categories.is_empty() => Some("--categories"),
            _ => None,
        }
    }

    /// For the reader.
    pub fn flags(&self) -> crate::scheme::TableFlags<'_> {
        crate::scheme::TableFlags { options: self.options(), categories: &self.categories }
    }

    /// As options of the reader.
    fn options(&self) -> table::TableOptions {
        let header = match (self.header, self.no_header) {
            (true, _) => table::Header::Yes,
            (_, true) => table::Header::No,
            _ => table::Header::Auto,
        };
        table::TableOptions { header, delimiter: self.delimiter }
    }
}

fn width(text: &str) -> Result<u32, String> {
    let known = text.parse().ok().filter(|width| WIDTHS.contains(width));
    known.ok_or_else(|| "8, 16, 32, 64, 128 or 256".to_owned())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\n\r".contains(byte) => {
                Ok(*byte)
            }
            _ => Err("one character that is no letter, digit or quote, or the word tab".to_owned()),
        },
    }
}

/// `eval`.
#[derive(Debug, Args)]
pub struct Eval {
    /// What to compute
    #[command(subcommand)]
    pub operation: Operation,
}

/// The files that every evaluation has.
#[derive(Clone, Debug, Args)]
pub struct EvalFiles {
    /// The encrypted file; - for standard input
    pub input: PathBuf,
    /// The evaluation key
    #[arg(short, long, value_name = "FILE")]
    pub key: PathBuf,
    /// The encrypted result; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output if it exists
    #[arg(long)]
    pub force: bool,
}

/// The other file of an operation on two.
#[derive(Clone, Debug, Args)]
pub struct Second {
    /// The other file: of the same keys, the same kind and the same shape
    #[arg(long, value_name = "FILE")]
    pub with: PathBuf,
}

/// What can be computed.
#[derive(Debug, Subcommand)]
pub enum Operation {
    /// Two images or tables: sums, number by number; under TFHE modulo 2^width
    Add {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two images or tables: the first less the second; under TFHE modulo 2^width
    Sub {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two images or tables: products, number by number; images under CKKS take two levels
    Mul {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under TFHE: 1 where the first is less than the second, 0 elsewhere
    Lt {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under TFHE: 1 where they are equal, 0 elsewhere
    Eq {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under TFHE: the smaller numbers
    Min {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Two tables under TFHE: the larger numbers
    Max {
        #[command(flatten)]
        files: EvalFiles,
        #[command(flatten)]
        second: Second,
    },
    /// Table under TFHE: each column by itself in ascending order; n rows take about n log2(n)^2 / 4 comparisons with exchange
    Sort {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: mean over a square, or Gaussian with --sigma
    Blur {
        #[command(flatten)]
        files: EvalFiles,
        /// Radius of the square in pixels: 1 for 3x3
        #[arg(long, value_name = "R", default_value_t = 1)]
        radius: usize,
        /// Gaussian of this deviation in pixels
        #[arg(long, value_name = "PIXELS", allow_negative_numbers = true)]
        sigma: Option<f64>,
    },
    /// Image: sharpen by a 3x3 filter
    Sharpen {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: edges by the 3x3 Laplacian
    Edges {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: add to every pixel (1 is white)
    Brightness {
        #[command(flatten)]
        files: EvalFiles,
        /// What to add
        #[arg(long, value_name = "X", default_value_t = 0.1, allow_negative_numbers = true)]
        by: f64,
    },
    /// Image: stretch around middle gray
    Contrast {
        #[command(flatten)]
        files: EvalFiles,
        /// The factor
        #[arg(long, value_name = "X", default_value_t = 1.5, allow_negative_numbers = true)]
        by: f64,
    },
    /// Image: negative
    Invert {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: luminance of the colours
    Grayscale {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Image: weighted mean of two encrypted images of one size and key
    Blend {
        #[command(flatten)]
        files: EvalFiles,
        /// The other image
        #[arg(long, value_name = "FILE")]
        with: PathBuf,
        /// Weight of the other image, 0 to 1
        #[arg(long, value_name = "X", default_value_t = 0.5, allow_negative_numbers = true)]
        alpha: f64,
    },
    /// Image: any filter of odd size
    Kernel {
        #[command(flatten)]
        files: EvalFiles,
        /// Rows separated by semicolons: "0 -1 0; -1 5 -1; 0 -1 0"
        #[arg(long, value_name = "ROWS", allow_hyphen_values = true)]
        matrix: String,
    },
    /// Table: sum of each column
    Sum {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table under BFV or BGV: how often each category occurs, in columns encrypted with --categories
    Count {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: mean of each column
    Mean {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: population variance of each column
    Variance {
        #[command(flatten)]
        files: EvalFiles,
    },
    /// Table: inner product of two columns, or of each column with that of another table
    Dot {
        #[command(flatten)]
        files: EvalFiles,
        /// The other table, with as many rows and columns
        #[arg(long, value_name = "FILE", conflicts_with = "columns")]
        with: Option<PathBuf>,
        /// Two columns of this table, by name or number from 1 on
        #[arg(long, value_name = "A,B", value_delimiter = ',')]
        columns: Option<Vec<String>>,
    },
}

/// `decrypt`.
#[derive(Debug, Args)]
pub struct Decrypt {
    /// The encrypted file; - for standard input
    pub input: PathBuf,
    #[command(flatten)]
    pub unlock: Unlock,
    /// The image (PNG, JPEG, BMP, TIFF or WebP by its ending, PNG otherwise), CSV file, file or folder (a .tar file holds a folder as an
    /// archive); - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Of a file under AES only the bytes from START (the first is 0) to before END, or to the end: 1000..2000 or 1000..
    #[arg(long, value_name = "START..END")]
    pub range: Option<ByteRange>,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output if it exists
    #[arg(long)]
    pub force: bool,
}

/// Bytes of a file, from `start` to before `end`, or to the end of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteRange {
    pub start: u64,
    pub end: Option<u64>,
}

impl FromStr for ByteRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const FORM: &str = "two numbers of bytes, as in 1000..2000, or one, as in 1000..";
        // Digits alone: numbers also parse with a sign.
        let number = |digits: &str| match digits.bytes().all(|b| b.is_ascii_digit()) {
            true => digits.parse::<u64>().map_err(|_| FORM.to_owned()),
            false => Err(FORM.to_owned()),
        };
        let (start, end) = text.split_once("..").ok_or(FORM)?;
        let end = if end.is_empty() { None } else { Some(number(end)?) };
        let range = Self { start: number(start)?, end };
        match range.end {
            Some(end) if end < range.start => Err("a range that does not end before it starts".to_owned()),
            _ => Ok(range),
        }
    }
}

/// `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// Any key or encrypted file; - for standard input
    pub input: PathBuf,
    /// The secret key: measures how much noise budget a file under BFV or BGV really has left
    #[arg(short, long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

/// `params`.
#[derive(Debug, Args)]
pub struct Params {
    #[command(flatten)]
    pub needs: Needs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// The image
    pub input: PathBuf,
    /// Folder for the keys and results; made where missing
    #[arg(short, long, value_name = "FOLDER", default_value = "out")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: Needs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace files in the folder that are not from an earlier demo
    #[arg(long)]
    pub force: bool,
}

/// `bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// What to measure
    #[command(subcommand)]
    pub subject: Subject,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub enum Subject {
    /// The experiments of the five papers, theirs beside ours
    Papers {
        /// Which of them; all if none is named
        #[arg(value_name = "PAPER")]
        papers: Vec<Paper>,
        #[command(flatten)]
        options: BenchOptions,
    },
    /// Operations of CKKS, BFV, BGV and CKKS with a big-integer modulus, at every degree
    Ops(BenchOptions),
    /// AES: every mode, by length
    Aes(BenchOptions),
    /// TFHE: gates, integers and circuits
    Gates(BenchOptions),
}

/// A paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Paper {
    /// CKKS with a big-integer modulus, serial and on CUDA (2023)
    P1,
    /// AES-128-ECB on CUDA (2011)
    P2,
    /// Addition and comparison of encrypted integers: HElib, TFHE, SEAL (2018)
    P3,
    /// RNS-CKKS, serial and on CUDA (2024)
    P4,
    /// BFV on an FPGA (2021)
    P5,
}

/// How it is measured, and where the results go.
#[derive(Clone, Debug, Args)]
pub struct BenchOptions {
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Small sizes and few repetitions, for a first look
    #[arg(long)]
    pub quick: bool,
    /// Leave out the CPU's columns where there is a GPU
    #[arg(long)]
    pub no_cpu: bool,
    /// Most seconds that one figure may take; what would take longer is not run [default: 20, with --quick 1]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<Duration>,
    /// Only the table of this name, as tables have it in brackets (p3-sums); may be repeated
    #[arg(long = "table", value_name = "NAME")]
    pub tables: Vec<String>,
    /// Results as JSON; - for standard output, in place of the tables
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Results as CSV, a line a figure; - for standard output, in place of the tables
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Results as Markdown, tables to paste, with their plots if there are any; - for standard output, in place of the tables
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Folder for a plot of each table, as SVG and as PNG; made where missing
    #[arg(long, value_name = "FOLDER")]
    pub plots: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    pub force: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (1e-3..=1e6).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "seconds, from 0.001 to 1000000".to_owned())
}

/// `devices`.
#[derive(Debug, Args)]
pub struct Devices {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
