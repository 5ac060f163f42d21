//! The needs from which parameters are chosen, for `keygen` and `params`.

use super::PublishNeeds;
use crate::error::{CliError, Result};
use clap::Args;
use he_core::ckks::CkksParams;
use he_core::exact::Params;
use he_core::exact::bootstrapping::BootstrapParams;
use he_core::tfhe::{CircuitParams, TfheParams, presets};
use he_files::bootstrap::{TOY, exact::toy};
use he_files::needs::{IntegerNeeds, RealNeeds};
use he_files::scheme::Taken;
use he_files::tfhe::keys::GROUP;
use he_files::transcipher;

/// The needs from which parameters are chosen.
#[derive(Clone, Copy, Debug, Args)]
pub struct Needs {
    /// Number of filters, products or weighted sums that can follow one another
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub depth: usize,
    /// Bits of precision of a result of magnitude 1, from 4 to 60 [default: 25]
    ///
    /// Decrypted numbers are doubles, which show 53 bits of a result of magnitude 1. More bits
    /// still help if large numbers cancel before they are decrypted, as in a variance. Several
    /// parties have 4 to 49, and by default as many up to 25 as there is room for.
    #[arg(long, value_name = "BITS")]
    pub precision: Option<u32>,
    /// Results must stay below 2^BITS in magnitude, with BITS from 0 to 30 [default: 4]
    ///
    /// White is 1, and the numbers of a column are scaled to at most 1.
    #[arg(long, value_name = "BITS")]
    pub range: Option<u32>,
    /// Bits of security: 128, 192 or 256
    #[arg(long, value_name = "BITS", default_value_t = 128)]
    pub security: u32,
    /// A ciphertext must have room for at least this many values [default: 1]
    #[arg(long, value_name = "N")]
    pub slots: Option<usize>,
}

impl Needs {
    /// Chooses parameters.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params(&self) -> Result<CkksParams> {
        Ok(self.needs().params()?)
    }

    /// These needs, for the library.
    pub fn needs(&self) -> RealNeeds {
        let (Self { depth, precision, range, security, slots }, usual) = (*self, RealNeeds::default());
        RealNeeds {
            depth,
            precision: precision.unwrap_or(usual.precision),
            range: range.unwrap_or(usual.range),
            security,
            slots: slots.unwrap_or(usual.slots),
            published: None,
        }
    }
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
    #[command(flatten)]
    pub publishing: PublishNeeds,
}

impl CkksNeeds {
    /// Chooses parameters.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params(&self) -> Result<CkksParams> {
        Ok(RealNeeds { published: self.publishing.needs(), ..self.params.needs() }.params()?)
    }
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
    /// Parameters with bootstrapping, and its keys as bootstrap.key: eval refresh then gives files
    /// a new noise budget
    ///
    /// --depth is then the number of products between two refreshes, and security is 128 bits. The
    /// value insecure_toy stands for tiny parameters that protect nothing, for tests.
    #[arg(long, value_name = "insecure_toy", num_args = 0..=1, value_parser = [TOY])]
    #[arg(hide_possible_values = true, conflicts_with = "security")]
    pub bootstrap: Option<Option<String>>,
}

impl ExactNeeds {
    fn needs(&self) -> IntegerNeeds {
        let Self { depth, bits, plain_modulus, security, .. } = *self;
        IntegerNeeds { depth, bits, plain_modulus, security }
    }

    /// Chooses parameters.
    ///
    /// # Errors
    /// No parameters satisfy the needs, or one of the needs is out of range.
    pub fn params<E: Taken>(&self) -> Result<Params<E>> {
        Ok(self.needs().params()?)
    }

    /// Chooses parameters with bootstrapping, if they are asked for.
    ///
    /// # Errors
    /// The errors of [`params`](Self::params).
    pub fn bootstrapping<E: Taken>(&self) -> Result<Option<BootstrapParams<E>>> {
        match &self.bootstrap {
            None => Ok(None),
            Some(None) => Ok(Some(self.needs().bootstrapping()?)),
            Some(Some(_)) if self.needs() == IntegerNeeds::default() => Ok(Some(toy()?)),
            Some(Some(name)) => {
                let what = format!("--depth, --bits and --plain-modulus are not for {name}");
                Err(CliError::usage(what).hint("leave them out: its parameters are given"))
            }
        }
    }
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
    #[command(flatten)]
    pub publishing: PublishNeeds,
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
    /// Keys that transcipher as well: he-cli transcipher takes what sensors send under AES to them
    ///
    /// An operation takes about twice as long as with other keys. The value insecure_toy stands for
    /// tiny parameters that protect nothing, for tests.
    #[arg(long, value_name = "insecure_toy", num_args = 0..=1, value_parser = [TOY])]
    #[arg(hide_possible_values = true, conflicts_with = "failure")]
    pub transcipher: Option<Option<String>>,
    /// An evaluation key for a GPU, which takes four bits of the secret at a time
    ///
    /// A lookup takes a fourth of the steps that follow one another: on a GPU, one number is
    /// computed in a third of the time, and many in less as well. eval.key is four times as large,
    /// and a CPU is slower by it.
    #[arg(long)]
    pub multi_bit: bool,
}

impl TfheNeeds {
    /// Chooses parameters.
    ///
    /// # Errors
    /// None: the presets are valid.
    pub fn params(&self) -> Result<TfheParams> {
        Ok(match (self.circuit()?, self.failure, self.multi_bit) {
            (Some(circuit), ..) => circuit.tfhe().clone(),
            (None, Failure::Negligible, false) => presets::digits_2m128()?,
            (None, Failure::Negligible, true) => presets::digits_2m128_multibit()?,
            (None, Failure::Rare, false) => presets::digits_2m40()?,
            (None, Failure::Rare, true) => presets::digits_2m40_multibit()?,
        })
    }

    /// The bits of the secret that the evaluation key takes at a time.
    pub fn group(&self) -> usize {
        if self.multi_bit { GROUP } else { 1 }
    }

    /// The parameters that transciphering takes besides, if it is asked for.
    ///
    /// # Errors
    /// None: the presets are valid.
    pub fn circuit(&self) -> Result<Option<CircuitParams>> {
        let params = |toy: &Option<String>| transcipher::params(toy.is_some(), self.multi_bit);
        Ok(self.transcipher.as_ref().map(params).transpose()?)
    }
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
