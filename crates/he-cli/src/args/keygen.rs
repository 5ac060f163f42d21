//! The options of `keygen`.

use super::{BigCkksNeeds, CkksNeeds, DeviceFlag, ExactNeeds, SealFlags, TfheNeeds, value};
use clap::{Args, Subcommand};
use he_core::aes::KeySize;
use he_files::bootstrap::Named;
use std::path::PathBuf;

/// `keygen`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Keygen {
    /// The scheme
    #[command(subcommand)]
    pub scheme: Option<Scheme>,
    /// A compiled model, in place of a scheme: the keys that it needs
    #[arg(requires = "output")]
    pub model: Option<PathBuf>,
    /// Folder for the keys of a model, created if it does not exist
    #[arg(short, long, value_name = "FOLDER", requires = "model")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub options: KeyOptions,
}

/// The options of making and writing the keys of a key set.
#[derive(Debug, Args)]
pub struct KeyOptions {
    #[command(flatten)]
    pub seal: SealFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace existing keys
    #[arg(long)]
    pub force: bool,
}

/// The schemes.
#[derive(Debug, Subcommand)]
pub enum Scheme {
    /// Keys for approximate numbers: images with filters, and tables of real numbers
    #[command(after_help = "Example:\n  \
        he-cli keygen ckks --depth 3 -o keys/\n  \
        he-cli keygen ckks --bootstrap fast -o deep/\n\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Ckks(KeygenCkks),
    /// Keys for whole numbers, computed exactly: images bit for bit, sums, counts and products
    #[command(after_help = "Examples:\n  \
        he-cli keygen bfv -o exact/\n  \
        he-cli keygen bfv --depth 4 --plain-modulus 65537 -o counts/\n  \
        he-cli keygen bfv --bootstrap -o deep/\n\n\
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
        he-cli keygen aes -o my.key\n  \
        he-cli keygen aes --transcipher -o sensor.key\n\n\
        Keep the key to yourself, and keep a copy: nothing else decrypts the files.")]
    Aes(KeygenAes),
    /// Keys for integers, computed exactly: sums, products, comparisons, sorting and lookups
    ///
    /// Integers have 8 to 256 bits, and any number of operations may follow one another.
    #[command(after_help = "Example:\n  \
        he-cli keygen tfhe -o bits/\n  \
        he-cli encrypt bids.csv --width 16 -k bits/public.key -o bids.he\n  \
        he-cli encrypt others.csv --width 16 -k bits/public.key -o others.he\n  \
        he-cli eval max bids.he --with others.he -k bits/eval.key -o best.he\n\n\
        Keep secret.key to yourself: it decrypts. public.key encrypts and eval.key computes; anybody may have both.")]
    Tfhe(KeygenTfhe),
}

/// The destination of the keys of a key set.
#[derive(Debug, Args)]
pub struct KeyFolder {
    /// Folder for secret.key, public.key and eval.key, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub options: KeyOptions,
}

/// `keygen ckks`.
#[derive(Debug, Args)]
pub struct KeygenCkks {
    #[command(flatten)]
    pub needs: CkksNeeds,
    /// Parameters with bootstrapping, and its keys as bootstrap.key: eval refresh then gives files
    /// new levels. he-cli params --bootstrap lists the presets
    #[arg(long, value_name = "PRESET", value_parser = value::preset)]
    #[arg(conflicts_with_all = ["depth", "precision", "range", "security", "slots", "publish"])]
    pub bootstrap: Option<Named>,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen bfv` and `keygen bgv`.
#[derive(Debug, Args)]
pub struct KeygenExact {
    #[command(flatten)]
    pub needs: ExactNeeds,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen bigckks`.
#[derive(Debug, Args)]
pub struct KeygenBigCkks {
    #[command(flatten)]
    pub needs: BigCkksNeeds,
    #[command(flatten)]
    pub folder: KeyFolder,
}

/// `keygen aes`.
#[derive(Debug, Args)]
pub struct KeygenAes {
    /// File for the key, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Make the key of a sensor, of 128, 192 or 256 bits, in place of one for files [default: 128]
    ///
    /// It encrypts tables of integers and images, which he-cli transcipher takes to keys of tfhe
    /// once it has the key itself under them (encrypt --transcipher). Longer keys take longer.
    #[arg(long, value_name = "BITS", num_args = 0..=1, default_missing_value = "128")]
    #[arg(value_parser = value::key_size)]
    pub transcipher: Option<KeySize>,
    #[command(flatten)]
    pub seal: SealFlags,
    /// Replace an existing key
    #[arg(long)]
    pub force: bool,
}

/// `keygen tfhe`.
#[derive(Debug, Args)]
pub struct KeygenTfhe {
    /// Folder for secret.key, public.key and eval.key, created if it does not exist
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
