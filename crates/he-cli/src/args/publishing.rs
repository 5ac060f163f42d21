//! The options of published results, where keys are made and where results are decrypted.

use clap::Args;
use he_files::needs;

/// The number of results that are published, and their security.
#[derive(Clone, Copy, Debug, Args)]
pub struct Published {
    /// With --publish: the vectors that others will ever see under this key, of all files together
    ///
    /// he-cli does not remember how many there were: keep the count, and state the same number each
    /// time. Integers and conditions of TFHE count one each.
    #[arg(
        long,
        value_name = "N",
        requires = "publish",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u64).range(1..),
        hide_short_help = true
    )]
    pub queries: u64,
    /// With --publish: bits of statistical security that all these vectors keep together
    #[arg(
        long,
        value_name = "BITS",
        requires = "publish",
        default_value_t = 40,
        value_parser = clap::value_parser!(u32).range(1..=256),
        hide_short_help = true
    )]
    pub statistical_security: u32,
}

/// Whether results are published.
#[derive(Clone, Copy, Debug, Args)]
pub struct PublishNeeds {
    /// Results will be published with decrypt --publish: --precision is what they keep then
    ///
    /// The noise of published results is drowned, and the scale gets the bits that this costs: 64
    /// to 68 with the defaults of decrypt --publish. Keys become larger, and computations slower.
    #[arg(long)]
    pub publish: bool,
    #[command(flatten)]
    pub published: Published,
}

impl PublishNeeds {
    /// The decryptions that others will see, if there are any.
    pub fn needs(&self) -> Option<needs::Published> {
        let Published { queries, statistical_security } = self.published;
        self.publish.then_some(needs::Published { decryptions: queries, security_bits: statistical_security })
    }
}
