//! The options of `demo`.

use super::{DeviceFlag, Needs, value};
use clap::Args;
use he_files::bootstrap::Named;
use std::path::{Path, PathBuf};

/// `demo`.
#[derive(Debug, Args)]
pub struct Demo {
    /// The image
    #[arg(required_unless_present = "digits")]
    pub input: Option<PathBuf>,
    /// Read handwritten digits by a neural network instead, on digits that stay encrypted
    #[arg(long, conflicts_with_all = ["input", "deep"])]
    #[arg(conflicts_with_all = ["depth", "precision", "range", "security", "slots"])]
    pub digits: bool,
    /// Folder for the keys and results, created if it does not exist
    #[arg(short, long, value_name = "FOLDER", default_value = "out")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: Needs,
    /// Blur the image many times over, with new levels by bootstrapping where they run out
    ///
    /// The image is scaled down to a vector of gray values, a power of two of pixels, so that
    /// pixels beyond the end of a row are those of the next row. How long it takes is said before
    /// it starts.
    #[arg(long)]
    #[arg(conflicts_with_all = ["depth", "precision", "range", "security", "slots"])]
    pub deep: bool,
    /// With --deep: the parameters
    ///
    /// small works on 32 x 32 pixels in about 4 GB of memory, fast on 256 x 128 in about 11 GB.
    #[arg(long, value_name = "PRESET", value_parser = value::preset, default_value = "small")]
    #[arg(requires = "deep")]
    pub preset: Named,
    /// With --deep: how often the image is blurred
    #[arg(long, value_name = "N", default_value_t = 100, requires = "deep")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub times: u32,
    #[command(flatten)]
    pub device: DeviceFlag,
    /// Replace files in the folder even if they are not from an earlier demo
    #[arg(long)]
    pub force: bool,
}

impl Demo {
    /// The image; nothing where digits are read.
    pub fn image(&self) -> &Path {
        self.input.as_deref().unwrap_or(Path::new(""))
    }
}
