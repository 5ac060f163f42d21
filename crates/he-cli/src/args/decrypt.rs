//! The options of `decrypt`.

use super::{DeviceFlag, Published, Unlock};
use clap::Args;
use he_files::aes_file::ByteRange;
use std::path::PathBuf;

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
    /// The result is for others to see: hide the noise, and refuse what could reveal the key
    ///
    /// Decrypted numbers of CKKS and bigckks contain noise that depends on the secret key, and
    /// whoever sees many of them finds the key. It is drowned in random noise, for which keys of
    /// keygen --publish have room; with other keys too little is left of the numbers, and nothing
    /// is written. Results of BFV, BGV and TFHE are refused if a decryption could fail. Publish
    /// what your own computations returned, and nothing that a stranger sent.
    #[arg(long)]
    pub publish: bool,
    #[command(flatten)]
    pub published: Published,
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
