//! The options of `params`.

use super::{BigCkksNeeds, CkksNeeds, ExactNeeds, TfheNeeds, value};
use clap::{Args, Subcommand};
use he_files::bootstrap::Named;

/// `params`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Params {
    /// The scheme of the keys [default: ckks]
    #[command(subcommand)]
    pub scheme: Option<ParamsScheme>,
    /// Show parameters with bootstrapping: those of this preset, or a list of all
    #[arg(long, value_name = "PRESET", num_args = 0..=1, value_parser = value::preset)]
    #[arg(conflicts_with_all = ["depth", "precision", "range", "security", "slots", "publish"])]
    pub bootstrap: Option<Option<Named>>,
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
    #[command(
        after_help = "Examples:\n  he-cli params bfv --bits 40 --depth 3\n  he-cli params bfv --bootstrap"
    )]
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
