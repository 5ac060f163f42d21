//! The options of `party`.

use super::{Needs, Opening, SealFlags};
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `party`.
#[derive(Debug, Args)]
pub struct Party {
    /// What to do
    #[command(subcommand)]
    pub step: PartyStep,
}

/// The steps of a session.
#[derive(Debug, Subcommand)]
pub enum PartyStep {
    /// Begin a session, or join one: session.he and the party's own secret, party.key
    ///
    /// Give session.he to all others, who join with --session. Keep party.key to yourself: together
    /// with those of the other parties it decrypts.
    #[command(after_help = "Examples:\n  \
        he-cli party init --parties 3 --party 1 -o a/\n  \
        he-cli party init --session a/session.he --party 2 -o b/\n  \
        he-cli party init --parties 5 --threshold 3 --party 1 -o a/")]
    Init(PartyInit),
    /// Make the party's next message to the others
    #[command(subcommand)]
    Share(ShareStep),
    /// Combine the messages of all parties: keys, or a decrypted result
    #[command(subcommand)]
    Combine(CombineStep),
}

/// `party init`.
#[derive(Debug, Args)]
pub struct PartyInit {
    /// The number of parties, which are 1, 2, ... N
    #[arg(long, value_name = "N", required_unless_present = "session")]
    pub parties: Option<u32>,
    /// How many parties decrypt together [default: all]
    ///
    /// With fewer than all, each party also deals its secret: party share secret.
    #[arg(long, value_name = "T", requires = "parties")]
    pub threshold: Option<usize>,
    /// The session that another party has begun
    #[arg(long, value_name = "FILE", conflicts_with = "parties")]
    pub session: Option<PathBuf>,
    /// The own number
    #[arg(long, value_name = "I")]
    pub party: u32,
    /// Folder of the party, created if it does not exist
    #[arg(short, long, value_name = "FOLDER")]
    pub output: PathBuf,
    #[command(flatten)]
    pub needs: Needs,
    #[command(flatten)]
    pub decryptions: Decryptions,
    #[command(flatten)]
    pub seal: SealFlags,
}

/// How many results are decrypted, and how safely: part of what the parties agree on.
#[derive(Clone, Copy, Debug, Args)]
pub struct Decryptions {
    /// The vectors that the parties will ever decrypt together, of all files
    ///
    /// he-cli does not remember how many there were: every party keeps the count.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    pub queries: u64,
    /// Bits of statistical security that all these vectors keep together
    #[arg(long, value_name = "BITS", default_value_t = 40)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    pub statistical_security: u32,
}

/// The folder of a party.
#[derive(Debug, Args)]
pub struct PartyFolder {
    /// The folder of the party, as party init made it
    pub folder: PathBuf,
    #[command(flatten)]
    pub passphrase_file: Opening,
}

/// Messages of other parties.
#[derive(Debug, Args)]
pub struct Shares {
    /// The messages of all parties, this one included
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub shares: Vec<PathBuf>,
}

/// Those who decrypt.
#[derive(Debug, Args)]
pub struct Quorum {
    /// The numbers of the parties that decrypt together, as in 1,3,4 [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub quorum: Vec<u32>,
}

/// `party share`.
#[derive(Debug, Subcommand)]
pub enum ShareStep {
    /// The first message of key generation, as keys.share, and a secret for the second
    #[command(after_help = "Example:\n  he-cli party share keys a/")]
    Keys(PartyFolder),
    /// The second message of key generation, as relin.share, from the first ones of all parties
    #[command(after_help = "Example:\n  \
        he-cli party share relin a/ --shares a/keys.share b/keys.share c/keys.share")]
    Relin {
        #[command(flatten)]
        folder: PartyFolder,
        #[command(flatten)]
        shares: Shares,
    },
    /// Secret messages, one for each party: secret-for-1.share, ... for sessions with a threshold
    ///
    /// Send each to its party alone, confidentially, and delete it then.
    #[command(after_help = "Example:\n  he-cli party share secret a/")]
    Secret(PartyFolder),
    /// The share of a decryption
    ///
    /// Know what you help to decrypt: it is the party's consent.
    #[command(after_help = "Examples:\n  \
        he-cli party share decrypt a/ mean.he -o a/mean.share\n  \
        he-cli party share decrypt a/ mean.he --quorum 1,3 -o a/mean.share")]
    Decrypt {
        #[command(flatten)]
        folder: PartyFolder,
        /// The encrypted file
        input: PathBuf,
        #[command(flatten)]
        quorum: Quorum,
        /// The share to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}

/// `party combine`.
#[derive(Debug, Subcommand)]
pub enum CombineStep {
    /// The collective keys, as public.key and eval.key, from both messages of all parties
    #[command(after_help = "Example:\n  \
        he-cli party combine keys a/ --shares a/keys.share b/keys.share c/keys.share \\\n    \
        --second a/relin.share b/relin.share c/relin.share")]
    Keys {
        #[command(flatten)]
        folder: PartyFolder,
        #[command(flatten)]
        shares: Shares,
        /// The second messages of all parties
        #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
        second: Vec<PathBuf>,
    },
    /// The party's threshold key, threshold.key, from the secret messages for it
    #[command(after_help = "Example:\n  \
        he-cli party combine secret a/ --shares a/secret-for-1.share b/secret-for-1.share c/secret-for-1.share")]
    Secret {
        #[command(flatten)]
        folder: PartyFolder,
        #[command(flatten)]
        shares: Shares,
    },
    /// The decrypted result, from the shares of all who decrypt
    #[command(after_help = "Example:\n  \
        he-cli party combine decrypt a/ mean.he --shares a/mean.share b/mean.share c/mean.share -o mean.csv")]
    Decrypt {
        #[command(flatten)]
        folder: PartyFolder,
        /// The encrypted file
        input: PathBuf,
        #[command(flatten)]
        shares: Shares,
        #[command(flatten)]
        quorum: Quorum,
        /// The result to write, or - for standard output
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}
