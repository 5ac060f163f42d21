//! The options of `encrypt`.

use super::{DeviceFlag, TableFlags, Unlock, value};
use clap::Args;
use std::path::PathBuf;

/// `encrypt`.
#[derive(Debug, Args)]
pub struct Encrypt {
    /// The file to encrypt, or - for standard input
    ///
    /// Images and tables are recognised by their content.
    pub input: PathBuf,
    /// Other files that a shell makes of *.png: one file at a time is encrypted
    #[arg(hide = true)]
    pub more: Vec<PathBuf>,
    #[command(flatten)]
    pub unlock: Unlock,
    /// The encrypted file to write, or - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Encrypt examples for this compiled model: the rows of a table, or the pictures of a folder
    ///
    /// Each row is an example, flattened in the order of the model's input. An example whose values
    /// leave the ranges that the model was calibrated for is refused.
    #[arg(long, value_name = "PLAN", hide_short_help = true)]
    pub model: Option<PathBuf>,
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
    /// Under tfhe or ckks: bits of each integer, 8 to 256 [default: 32]
    ///
    /// One of 8, 16, 32, 64, 128 and 256. Under keys of keygen ckks --bootstrap a width of up to 64
    /// makes a table in digits: its operations take as long for thousands of rows as for one. Those
    /// under tfhe take less time up to some fifty rows.
    #[arg(long, value_name = "BITS", value_parser = value::width)]
    pub width: Option<u32>,
    /// Under tfhe or ckks with --width: integers have a sign
    #[arg(long)]
    pub signed: bool,
    /// Encrypt the key of a sensor under tfhe, once, for he-cli transcipher
    ///
    /// The input is a key of keygen aes --transcipher, and -k the secret key of tfhe. The result is
    /// for those who compute: it reveals nothing of the key.
    #[arg(long, hide_short_help = true)]
    #[arg(conflicts_with_all = ["model", "halo", "frame", "width", "signed"])]
    pub transcipher: bool,
    #[command(flatten)]
    pub table: TableFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace the output file if it exists
    #[arg(long)]
    pub force: bool,
}
