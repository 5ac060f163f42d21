//! The command line.

#[cfg(feature = "bench")]
pub mod bench;

use crate::device::Choice;
use crate::error::Result;
use crate::passphrase;
use clap::{Args, Parser, Subcommand};
use he_core::ckks::CkksParams;
use he_files::aes_file::ByteRange;
use he_files::contents::options::{ColumnCategories, ColumnOffset};
use he_files::data::table;
use he_files::passphrase::{Passphrase, Passphrases, Purpose};
use he_files::scheme::engine::security;
use he_files::tfhe::note::WIDTHS;
use std::path::PathBuf;

/// Encrypt images and tables, compute on them while they stay encrypted, and decrypt the results;
/// encrypt any other file
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
        A file named - is standard input or output. Exit codes: 0 done, 1 failed, 2 wrong usage.\n\
        he-cli help COMMAND describes a command; he-cli help eval blur one of its operations."
)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub global: Global,
}

/// The options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Print JSON instead of text, for errors as well
    ///
    /// The object goes to standard output, or to standard error if standard output carries the data
    /// (-o -). Errors are one line of JSON on standard error. docs/command-line.md lists the
    /// fields.
    //
    // A path, because `bench` has an option of this name that takes one; this is its `-`.
    #[arg(long, global = true, num_args = 0, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Print no progress, no notes and no summaries
    ///
    /// Answers, warnings and errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Number of CPU threads [default: RAYON_NUM_THREADS, or all processors]
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

impl Global {
    /// Whether results go to a program.
    pub fn is_json(&self) -> bool {
        self.json.as_deref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// Heading of options that many commands have.
const COMMON: &str = "Common options";
/// Heading of options that say how a table is read.
const TABLES: &str = "Options for tables";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make the keys of a scheme
    #[command(after_help = "Examples:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n  \
        he-cli keygen bfv --bits 40 -o exact/\n  \
        he-cli keygen aes -o my.key\n\n\
        he-cli help keygen ckks lists the options for keys of ckks, and so on.")]
    Keygen(Keygen),
    /// Encrypt an image or a table to compute on it, or any file to keep it secret
    ///
    /// The key decides. Keys of ckks, bfv, bgv and bigckks encrypt images (PNG, JPEG, BMP, TIFF,
    /// WebP) and CSV tables of numbers; the secret key of tfhe encrypts CSV tables of unsigned
    /// integers. An AES key or a passphrase encrypts any file or folder.
    ///
    /// If you have the secret key, encrypt with it: under ckks, bfv and bgv, -k secret.key makes
    /// files half as large as -k public.key, because the second half of each ciphertext is then a
    /// seed.
    #[command(after_help = "Examples:\n  \
        he-cli encrypt photo.png -k keys/public.key -o photo.he\n  \
        he-cli encrypt prices.csv -k keys/public.key -o prices.he\n  \
        he-cli encrypt votes.csv --categories party -k exact/public.key -o votes.he\n  \
        he-cli encrypt movie.mkv -k my.key -o movie.he\n  \
        he-cli encrypt papers/ --passphrase -o papers.he\n  \
        pg_dump base | he-cli encrypt - -k my.key -o base.he")]
    Encrypt(Encrypt),
    /// Compute on encrypted files without decrypting them
    #[command(
        after_help = "he-cli eval --help shows examples, he-cli eval blur --help the options of blur.",
        after_long_help = "Examples:\n  \
        he-cli eval blur photo.he -k keys/eval.key -o blurred.he\n  \
        he-cli eval blend photo.he --with other.he --alpha 0.25 -k keys/eval.key -o both.he\n  \
        he-cli eval kernel photo.he --matrix \"0 -1 0; -1 5 -1; 0 -1 0\" -k keys/eval.key -o sharp.he\n  \
        he-cli eval dot prices.he --columns price,amount -k keys/eval.key -o total.he\n  \
        he-cli eval add may.he --with june.he -k keys/eval.key -o both.he\n  \
        he-cli eval count votes.he -k exact/eval.key -o counts.he\n  \
        he-cli eval lt may.he --with june.he -k bits/eval.key -o rose.he\n\n\
        he-cli eval blur --help shows the options of blur, and so on."
    )]
    Eval(Eval),
    /// Decrypt a file, or the result of a computation
    #[command(after_help = "Examples:\n  \
        he-cli decrypt blurred.he -k keys/secret.key -o blurred.png\n  \
        he-cli decrypt total.he -k keys/secret.key -o -\n  \
        he-cli decrypt sums.he -k exact/secret.key -o sums.csv\n  \
        he-cli decrypt movie.he -k my.key -o movie.mkv\n  \
        he-cli decrypt movie.he -k my.key --range 1000000..2000000 -o part\n  \
        he-cli decrypt papers.he --passphrase -o papers/\n\n\
        What lies beyond black and white is cut off in a picture, whatever the scheme. A table (-o sums.csv) holds the numbers \
        themselves: x and y from 0 at the top left, then the channels; whole numbers under BFV and BGV (up to 65025 for a product \
        of 8-bit images), otherwise real numbers in steps of a sample. --raw and --scale show them as a picture.")]
    Decrypt(Decrypt),
    /// Describe a key or an encrypted file
    #[command(after_help = "Examples:\n  \
        he-cli info --json photo.he\n  \
        he-cli info votes.he --key exact/secret.key")]
    Info(Info),
    /// Show which parameters keygen would choose, why, and how large keys and ciphertexts become
    #[command(after_help = "Examples:\n  \
        he-cli params --depth 6 --precision 30\n  \
        he-cli params bfv --bits 40 --depth 3\n  \
        he-cli params tfhe --json\n\n\
        Without a scheme the options are those of CKKS; he-cli help params bfv has those of BFV, and so on.")]
    Params(Params),
    /// Make keys, encrypt an image, blur it, decrypt it, and report times, sizes and PSNR
    #[command(after_help = "Example:\n  he-cli demo photo.png -o out/")]
    Demo(Demo),
    /// List the CUDA devices of this machine
    #[command(after_help = "Example:\n  he-cli devices --json")]
    Devices,
    /// Measure the speed of this machine, and compare it with the tables of five papers
    #[cfg(feature = "bench")]
    #[command(after_help = "Examples:\n  \
        he-cli bench papers --quick\n  \
        he-cli bench papers p4 p5 --device cuda --json results.json --plots plots/\n  \
        he-cli bench gates --limit 60\n\n\
        Every time is the median of repeated calls, each of which starts and ends with an idle device.")]
    Bench(bench::Bench),
    /// Print a script that lets a shell complete commands and options
    #[command(after_help = "Examples:\n  \
        he-cli completions bash > ~/.local/share/bash-completion/completions/he-cli\n  \
        he-cli completions zsh > ~/.zfunc/_he-cli           (with fpath+=~/.zfunc before compinit in .zshrc)\n  \
        he-cli completions fish > ~/.config/fish/completions/he-cli.fish\n  \
        he-cli completions powershell >> $PROFILE")]
    Completions(Completions),
    /// Write manual pages, one for each command and subcommand
    #[command(after_help = "Example:\n  \
        he-cli man -o ~/.local/share/man/man1\n\n\
        Afterwards man he-cli, man he-cli-encrypt and man he-cli-eval-blur work.")]
    Man(Man),
}

/// The device that computes.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlag {
    /// Where to compute: auto, cpu, cuda, cuda:N or cuda:all
    ///
    /// auto takes the first CUDA device that works, or else the CPU. he-cli devices lists the CUDA
    /// devices. Results are the same on every device.
    #[arg(help_heading = COMMON, long = "device", value_name = "DEVICE", env = "HE_DEVICE", default_value = "auto")]
    pub choice: Choice,
}

/// The needs from which parameters are chosen.
#[derive(Clone, Debug, Args)]
pub struct Needs {
    /// Number of filters, products or weighted sums that can follow one another
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub depth: usize,
    /// Bits of precision of a result of magnitude 1, from 4 to 60
    ///
    /// Decrypted numbers are doubles, which show 53 bits of a result of magnitude 1. More bits
    /// still help if large numbers cancel before they are decrypted, as in a variance.
    #[arg(long, value_name = "BITS", default_value_t = 25)]
    pub precision: u32,
    /// Results must stay below 2^BITS in magnitude, with BITS from 0 to 30
    ///
    /// White is 1, and the numbers of a column are scaled to at most 1.
    #[arg(long, value_name = "BITS", default_value_t = 4)]
    pub range: u32,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    /// A ciphertext must have room for at least this many values
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub slots: usize,
}

impl Needs {
    /// Chooses parameters.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params(&self) -> Result<CkksParams> {
        let security = security(self.security)?;
        let builder = CkksParams::for_depth(self.depth)
            .precision_bits(self.precision)
            .range_bits(self.range)
            .slots(self.slots)
            .security(security);
        Ok(builder.build()?)
    }
}

/// How a secret key is protected by a passphrase.
#[derive(Clone, Debug, Default, Args)]
pub struct PassphraseFile {
    /// Read the passphrase from the first line of FILE
    ///
    /// Without it, the passphrase is taken from the variable HE_CLI_PASSPHRASE, or requested at the
    /// terminal.
    #[arg(long, value_name = "FILE")]
    pub passphrase_file: Option<PathBuf>,
}

impl Passphrases for PassphraseFile {
    fn obtain(&self, purpose: Purpose, what: &str) -> he_files::Result<Passphrase> {
        Ok(passphrase::obtain(self.passphrase_file.as_deref(), purpose, what)?)
    }
}

impl PassphraseFile {
    /// Whether there is a passphrase without asking for it.
    pub fn is_given(&self) -> bool {
        self.passphrase_file.is_some() || passphrase::is_in_environment()
    }
}

/// `keygen`.
#[derive(Debug, Args)]
pub struct Keygen {
    /// The scheme
    #[command(subcommand)]
    pub scheme: Scheme,
}

/// The schemes.
#[derive(Debug, Subcommand)]
pub enum Scheme {
    /// Keys for approximate numbers: images with filters, and tables of real numbers
    #[command(after_help = "Example:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Ckks(KeygenCkks),
    /// Keys for whole numbers, computed exactly: images bit for bit, sums, counts and products
    #[command(after_help = "Examples:\n  \
        he-cli keygen bfv -o exact/\n  \
        he-cli keygen bfv --depth 4 --plain-modulus 65537 -o exact/\n\n\
        Numbers are integers modulo t. What might not fit t is refused before it is computed.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Bfv(KeygenExact),
    /// Keys for whole numbers, like bfv: another scheme with the same results
    #[command(after_help = "Example:\n  \
        he-cli keygen bgv --bits 20 --depth 3 -o exact/\n\n\
        Numbers are integers modulo t. What might not fit t is refused before it is computed.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Bgv(KeygenExact),
    /// Keys for approximate numbers under CKKS as published in 2017, with precision and depth in
    /// bits
    #[command(after_help = "Example:\n  \
        he-cli keygen bigckks --precision 30 --depth-bits 120 -o keys/\n\n\
        A product takes as many bits as the scale has: the precision and about 20 more.\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Bigckks(KeygenBigCkks),
    /// One key that encrypts and decrypts files of any kind
    #[command(after_help = "Example:\n  \
        he-cli keygen aes -o my.key\n\n\
        Keep the key to yourself, and keep a copy: nothing else decrypts the files.")]
    Aes(KeygenAes),
    /// Keys for unsigned integers, computed exactly: sums, comparisons and sorting
    ///
    /// Integers have 8 to 256 bits, and any number of operations may follow one another.
    #[command(after_help = "Example:\n  \
        he-cli keygen tfhe -o bits/\n  \
        he-cli encrypt bids.csv --width 16 -k bits/secret.key -o bids.he\n  \
        he-cli eval max bids.he --with others.he -k bits/eval.key -o best.he\n\n\
        There is no public key: secret.key encrypts and decrypts, so keep it to yourself. eval.key computes; anybody\n\
        may have it.")]
    Tfhe(KeygenTfhe),
}

/// Whether a passphrase protects a new key.
#[derive(Clone, Debug, Args)]
pub struct SealFlags {
    /// Protect the secret key with a passphrase
    #[arg(long)]
    pub passphrase: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

impl SealFlags {
    /// The passphrase to seal `name` with, if it is to be sealed.
    ///
    /// # Errors
    /// There is no device.
    pub fn obtain(&self, name: &str) -> Result<Option<Passphrase>> {
        let file = self.passphrase_file.passphrase_file.as_deref();
        (self.passphrase || file.is_some()).then(|| passphrase::obtain(file, Purpose::Seal, name)).transpose()
    }
}

/// The destination of the keys of a key set.
#[derive(Debug, Args)]
pub struct KeyFolder {
    /// Folder for secret.key, public.key and eval.key, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub seal: SealFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace existing keys
    #[arg(long)]
    pub force: bool,
}

/// `keygen ckks`.
#[derive(Debug, Args)]
pub struct KeygenCkks {
    #[command(flatten)]
    pub needs: CkksNeeds,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// The needs from which parameters and keys of CKKS are chosen.
#[derive(Clone, Debug, Args)]
pub struct CkksNeeds {
    #[command(flatten)]
    pub params: Needs,
    /// Largest radius of image filters that have a key for each weight: 1 for 3x3, 2 for 5x5.
    /// Larger filters need no more keys
    #[arg(long, value_name = "R", default_value_t = 1)]
    pub radius: usize,
}

/// `keygen bfv` and `keygen bgv`.
#[derive(Debug, Args)]
pub struct KeygenExact {
    #[command(flatten)]
    pub needs: ExactNeeds,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// The needs from which parameters of BFV and BGV are chosen.
#[derive(Clone, Debug, Args)]
pub struct ExactNeeds {
    /// Number of products that can follow one another; sums are free
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub depth: usize,
    /// Results must stay below 2^BITS in magnitude
    ///
    /// Images of 8 bits need 8; sums and products need more. The plaintext modulus t is chosen
    /// accordingly.
    #[arg(long, value_name = "BITS", default_value_t = 32, conflicts_with = "plain_modulus")]
    pub bits: u32,
    /// The plaintext modulus t itself, instead of --bits
    ///
    /// A prime equal to 1 modulo twice the degree, such as 65537.
    #[arg(long, value_name = "T")]
    pub plain_modulus: Option<u64>,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
}

/// `keygen bigckks`.
#[derive(Debug, Args)]
pub struct KeygenBigCkks {
    #[command(flatten)]
    pub needs: BigCkksNeeds,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// The needs from which parameters of bigckks are chosen.
#[derive(Clone, Debug, Args)]
pub struct BigCkksNeeds {
    /// Number of bits that successive products may take
    ///
    /// Each product takes as many bits as the scale has: the precision and about 20 more.
    #[arg(long, value_name = "BITS", default_value_t = 100)]
    pub depth_bits: u32,
    /// Bits of precision of a result of magnitude 1
    #[arg(long, value_name = "BITS", default_value_t = 25)]
    pub precision: u32,
    /// Results must stay below 2^BITS in magnitude
    ///
    /// White is 1, and the numbers of a column are scaled to at most 1.
    #[arg(long, value_name = "BITS", default_value_t = 4)]
    pub range: u32,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    /// A ciphertext must have room for at least this many values
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub slots: usize,
}

/// `keygen aes`.
#[derive(Debug, Args)]
pub struct KeygenAes {
    /// File for the key, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub seal: SealFlags,
    /// Replace an existing key
    #[arg(long)]
    pub force: bool,
}

/// `keygen tfhe`.
#[derive(Debug, Args)]
pub struct KeygenTfhe {
    /// Folder for secret.key and eval.key, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: TfheNeeds,
    #[command(flatten)]
    pub seal: SealFlags,
    /// Replace existing keys
    #[arg(long)]
    pub force: bool,
}

/// The needs from which parameters of TFHE are chosen.
#[derive(Clone, Debug, Args)]
pub struct TfheNeeds {
    /// Probability that a lookup gives a wrong result
    ///
    /// An operation takes a few lookups per two bits of a number. 2^-40 is a little faster, but use
    /// it only for your own data and computations: anyone who can choose the computations and
    /// learns which results are wrong can recover the secret key from some hundreds of errors. With
    /// 2^-128 there are no errors to be found.
    #[arg(long, value_enum, value_name = "P", default_value_t)]
    pub failure: Failure,
}

/// The failure probability of TFHE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Failure {
    /// For computations of any length.
    #[default]
    #[value(name = "2^-128")]
    Negligible,
    /// About one lookup in 10^12 fails.
    #[value(name = "2^-40")]
    Rare,
}

/// The secret that encrypts or decrypts: a key, or a passphrase.
#[derive(Clone, Debug, Args)]
pub struct Unlock {
    /// The key; to decrypt, the secret key
    ///
    /// In a key set, public.key and secret.key encrypt, and secret.key decrypts; tfhe has only
    /// secret.key. An AES key encrypts and decrypts.
    #[arg(short, long, value_name = "FILE", required_unless_present_any = ["passphrase", "passphrase_file"])]
    pub key: Option<PathBuf>,
    /// Use a passphrase instead of a key, for files under AES
    #[arg(long, conflicts_with = "key")]
    pub passphrase: bool,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

/// `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// The file to encrypt, or - for standard input
    ///
    /// Images and tables are recognised by their content.
    pub input: PathBuf,
    #[command(flatten)]
    pub unlock: Unlock,
    /// The encrypted file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Under ckks: the sum of the radii of all later filters [default: 2]
    ///
    /// Each tile of an image keeps this many pixels around it, which filters use up.
    #[arg(long, value_name = "PIXELS")]
    pub halo: Option<usize>,
    /// Number of the image in an animation or a file of pages
    ///
    /// Numbers start at 1; animated PNG and WebP files and TIFF files may hold several images.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub frame: Option<u32>,
    /// Under tfhe: bits of each integer, 8 to 256 [default: 32]
    ///
    /// One of 8, 16, 32, 64, 128 and 256.
    #[arg(long, value_name = "BITS", value_parser = width)]
    pub width: Option<u32>,
    #[command(flatten)]
    pub table: TableFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

/// How CSV is read.
#[derive(Clone, Debug, Default, Args)]
pub struct TableFlags {
    /// The first row holds the names of the columns
    #[arg(help_heading = TABLES, long, conflicts_with = "no_header")]
    pub header: bool,
    /// The first row holds data
    #[arg(help_heading = TABLES, long)]
    pub no_header: bool,
    /// Separator of the fields: one character, or the word tab
    ///
    /// Recognised if it is not given: a tab, a semicolon or a comma.
    #[arg(help_heading = TABLES, long, value_name = "CHAR", value_parser = delimiter)]
    pub delimiter: Option<u8>,
    /// Only these columns, by name or number from 1 on
    ///
    /// They are encrypted in this order, and column numbers elsewhere (--categories, --offset)
    /// count only them.
    #[arg(help_heading = TABLES, long, value_name = "A,B,...", value_delimiter = ',')]
    pub columns: Vec<String>,
    /// Gaps: refuse the table, skip the row, or use 0
    ///
    /// A gap is an empty field or, among numbers, NA, N/A, NaN or null.
    #[arg(help_heading = TABLES, long, value_enum, value_name = "error|skip|zero", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub missing: Missing,
    /// What stands before decimals
    ///
    /// By default a point, or a comma if another character separates the fields and nothing is
    /// ambiguous.
    #[arg(help_heading = TABLES, long, value_enum, value_name = "auto|point|comma", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub decimal: Decimal,
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

/// The treatment of missing numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Missing {
    /// The table is refused
    #[default]
    Error,
    /// The row is skipped
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

impl TableFlags {
    /// The first of these flags that is given.
    pub fn given(&self) -> Option<&'static str> {
        match self {
            Self { header: true, .. } => Some("--header"),
            Self { no_header: true, .. } => Some("--no-header"),
            Self { delimiter: Some(_), .. } => Some("--delimiter"),
            Self { columns, .. } if !columns.is_empty() => Some("--columns"),
            Self { missing: Missing::Skip | Missing::Zero, .. } => Some("--missing"),
            Self { decimal: Decimal::Point | Decimal::Comma, .. } => Some("--decimal"),
            Self { categories, .. } if !categories.is_empty() => Some("--categories"),
            Self { offset, .. } if !offset.is_empty() => Some("--offset"),
            Self { unpacked: true, .. } => Some("--unpacked"),
            _ => None,
        }
    }

    /// The options for the reader.
    pub fn flags(&self) -> he_files::contents::options::TableFlags<'_> {
        he_files::contents::options::TableFlags {
            options: self.options(),
            categories: &self.categories,
            offsets: &self.offset,
            unpacked: self.unpacked,
        }
    }

    /// As options of the reader.
    fn options(&self) -> table::TableOptions<'_> {
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
        }
    }
}

fn width(text: &str) -> Result<u32, String> {
    let known = text.parse().ok().filter(|width| WIDTHS.contains(width));
    known.ok_or_else(|| "give 8, 16, 32, 64, 128 or 256".to_owned())
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        _ => match text.as_bytes() {
            [byte] if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\n\r".contains(byte) => {
                Ok(*byte)
            }
            _ => {
                Err("give one character that is not a letter, a digit or a quote, or the word tab".to_owned())
            }
        },
    }
}

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
    pub levels: Levels,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(help_heading = COMMON, long)]
    pub force: bool,
}

/// The treatment of the levels that a result has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Levels {
    /// Statistics drop them.
    #[default]
    Auto,
    /// They are kept.
    Keep,
    /// They are dropped.
    Drop,
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
    /// Images under ckks take two levels.
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
        #[arg(long, value_name = "X", default_value_t = 0.1, allow_negative_numbers = true)]
        by: f64,
    },
    /// Image: change the contrast around middle gray
    Contrast {
        #[command(flatten)]
        files: EvalFiles,
        /// Factor; below 1, the contrast decreases
        #[arg(long, value_name = "X", default_value_t = 1.5, allow_negative_numbers = true)]
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
        #[arg(long, value_name = "X", default_value_t = 0.5, allow_negative_numbers = true)]
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
    /// Table: the sum of each column
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

/// `decrypt`.
#[derive(Debug, Args)]
pub struct Decrypt {
    /// The encrypted file, or - for standard input
    pub input: PathBuf,
    #[command(flatten)]
    pub unlock: Unlock,
    /// The result to write, or - for standard output
    ///
    /// An image becomes a PNG, JPEG, BMP, TIFF or WebP file, by its ending; or a table of its
    /// numbers if the ending is .csv: one line x,y,red,green,blue per pixel. A table becomes CSV. A
    /// file or folder under AES is restored, or becomes an archive if the ending is .tar. Only the
    /// owner can read the results (files have mode 0600, folders 0700).
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Under AES: decrypt only these bytes, as in 1000..2000 or 1000..
    ///
    /// The range starts at START, which is 0 for the first byte, and ends before END, or at the end
    /// of the file.
    #[arg(long, value_name = "START..END")]
    pub range: Option<ByteRange>,
    /// Image: write its numbers as they are, in 16 bits if 8 cannot hold them
    ///
    /// Sums, differences and products under BFV and BGV are whole numbers; others are rounded to
    /// steps of a sample. Numbers below 0 or above 65535 are clipped.
    #[arg(long, conflicts_with = "scale")]
    pub raw: bool,
    /// Image: stretch its numbers, so that the least possible becomes black and the greatest white
    ///
    /// he-cli info shows the range of possible numbers.
    #[arg(long)]
    pub scale: bool,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}

impl Decrypt {
    /// The flag for images that is given.
    pub fn image_flag(&self) -> Option<&'static str> {
        match self {
            Self { raw: true, .. } => Some("--raw"),
            Self { scale: true, .. } => Some("--scale"),
            _ => None,
        }
    }
}

/// `info`.
#[derive(Debug, Args)]
pub struct Info {
    /// Any key or encrypted file, or - for standard input
    pub input: PathBuf,
    /// The secret key, to measure the noise budget of a file under bfv or bgv
    #[arg(short, long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    #[command(flatten)]
    pub passphrase_file: PassphraseFile,
}

/// `params`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Params {
    /// The scheme of the keys [default: ckks]
    #[command(subcommand)]
    pub scheme: Option<ParamsScheme>,
    #[command(flatten)]
    pub needs: CkksNeeds,
}

/// The schemes with parameters to choose.
#[derive(Debug, Subcommand)]
pub enum ParamsScheme {
    /// Approximate numbers, the default
    #[command(after_help = "Example:\n  he-cli params ckks --depth 6 --precision 30")]
    Ckks(CkksNeeds),
    /// Whole numbers, exactly
    #[command(after_help = "Example:\n  he-cli params bfv --bits 40 --depth 3")]
    Bfv(ExactNeeds),
    /// Whole numbers, exactly, with another scheme
    #[command(after_help = "Example:\n  he-cli params bgv --plain-modulus 65537")]
    Bgv(ExactNeeds),
    /// Approximate numbers, with precision and depth in bits
    #[command(after_help = "Example:\n  he-cli params bigckks --precision 30 --depth-bits 120")]
    Bigckks(BigCkksNeeds),
    /// Unsigned integers, exactly, in computations of any length
    #[command(after_help = "Example:\n  he-cli params tfhe --failure 2^-40")]
    Tfhe(TfheNeeds),
}

/// `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// The image
    pub input: PathBuf,
    /// Folder for the keys and results, created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = "out")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: Needs,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace files in the folder even if they are not from an earlier demo
    #[arg(long)]
    pub force: bool,
}

/// `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Folder for the pages, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Replace existing pages
    #[arg(long)]
    pub force: bool,
}
