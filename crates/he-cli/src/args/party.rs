//! The options of `party`.

use super::{DeviceFlag, Needs, Opening, SealFlags, TableFlags};
use crate::error::{CliError, Result};
use clap::{Args, Subcommand};
use he_files::needs::IntegerNeeds;
use he_files::party;
use std::path::PathBuf;
use std::str::FromStr;

/// `party`.
#[derive(Debug, Args)]
pub struct Party {
    /// Step of the session
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
        he-cli party init --parties 5 --threshold 3 --party 1 -o a/\n  \
        he-cli party init --parties 3 --party 1 --scheme bfv --bits 32 -o a/")]
    Init(PartyInit),
    /// Encrypt a table under the public.key of the folder, and note it as one of the party
    ///
    /// party check believes that an input is the party's own if it is in this list, own.ledger of
    /// the folder, and not if somebody says so.
    #[command(after_help = "Example:\n  he-cli party encrypt a/ a.csv -o a.he")]
    Encrypt(PartyEncrypt),
    /// Compute a result again, and write down what it is: the party's transcript
    ///
    /// One malicious file costs a party its secret key: a share of a ciphertext that somebody chose
    /// is the key, and nobody sees a ciphertext that it was chosen. So each party computes a result
    /// again from the inputs, by its own eval.key, before it helps to decrypt it. party check
    /// compares every word of the result, and the transcript states it to the other parties:
    /// whose input each file is, and what was computed. The party's own are those that it encrypted
    /// with party encrypt. Take transcripts of others from themselves.
    ///
    /// A program has a line for each step, as it was typed for eval, without the key:
    ///
    ///   eval add a.he --with b.he -o ab.he
    ///
    ///   eval mean ab.he -o mean.he
    ///
    /// It calls files by their names without folders, and its last step computes the result.
    #[command(after_help = "Examples:\n  \
        he-cli party check a/ mean.he --inputs 1=a.he 2=b.he --program mean.txt -o a/mean.transcript\n  \
        he-cli party check a/ a.he --inputs 1=a.he -o a/a.transcript")]
    Check(PartyCheck),
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
    /// Number of parties that decrypt together [default: all]
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
    /// Scheme: ckks for tables of real numbers, bfv or bgv for integers and categories
    #[arg(long, value_enum, value_name = "ckks|bfv|bgv", default_value_t)]
    #[arg(hide_possible_values = true, hide_default_value = true)]
    pub scheme: PartyScheme,
    #[command(flatten)]
    pub needs: Needs,
    /// Under bfv and bgv: results must stay below 2^BITS in magnitude [default: 32]
    #[arg(long, value_name = "BITS", conflicts_with = "plain_modulus")]
    pub bits: Option<u32>,
    /// Under bfv and bgv: the plaintext modulus t itself, instead of --bits
    #[arg(long, value_name = "T")]
    pub plain_modulus: Option<u64>,
    #[command(flatten)]
    pub decryptions: Decryptions,
    #[command(flatten)]
    pub seal: SealFlags,
}

/// The scheme of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PartyScheme {
    /// Real numbers.
    #[default]
    Ckks,
    /// Integers.
    Bfv,
    /// Integers.
    Bgv,
}

impl PartyInit {
    /// The needs of a session under its scheme.
    ///
    /// # Errors
    /// An option is for another scheme.
    pub fn session_needs(&self) -> Result<party::Needs> {
        let Self { scheme, needs, bits, plain_modulus, .. } = self;
        let Needs { depth, precision, range, security, slots } = *needs;
        let given = |options: [(&'static str, bool); 3]| options.into_iter().find(|option| option.1);
        let integers = || {
            let usual = IntegerNeeds::default();
            IntegerNeeds { depth, bits: bits.unwrap_or(usual.bits), plain_modulus: *plain_modulus, security }
        };
        let other = match scheme {
            PartyScheme::Ckks => {
                given([("--bits", bits.is_some()), ("--plain-modulus", plain_modulus.is_some()), ("", false)])
            }
            PartyScheme::Bfv | PartyScheme::Bgv => given([
                ("--precision", precision.is_some()),
                ("--range", range.is_some()),
                ("--slots", slots.is_some()),
            ]),
        };
        Ok(match (scheme, other) {
            (PartyScheme::Ckks, Some((option, _))) => {
                let what = format!("{option} is for integers, under --scheme bfv or bgv");
                return Err(CliError::usage(what).hint("add the scheme, or leave the option out"));
            }
            (_, Some((option, _))) => {
                let what = format!("{option} is for real numbers, under --scheme ckks");
                return Err(CliError::usage(what).hint("give --bits, or leave the option out"));
            }
            (PartyScheme::Ckks, None) => {
                party::Needs::Ckks { needs: needs.needs(), wish: precision.is_none() }
            }
            (PartyScheme::Bfv, None) => party::Needs::Bfv(integers()),
            (PartyScheme::Bgv, None) => party::Needs::Bgv(integers()),
        })
    }
}

/// The number of results that are decrypted, and their security: part of the parties' agreement.
#[derive(Clone, Copy, Debug, Args)]
pub struct Decryptions {
    /// The vectors that the parties will ever decrypt together, of all files
    ///
    /// Each party counts those that it has shared, in shared.ledger of its folder.
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
    pub opening: Opening,
}

/// Messages of other parties.
#[derive(Debug, Args)]
pub struct Shares {
    /// The messages of all parties, this one included
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub shares: Vec<PathBuf>,
}

/// `party encrypt`.
#[derive(Debug, Args)]
pub struct PartyEncrypt {
    #[command(flatten)]
    pub folder: PartyFolder,
    /// The table to encrypt, or - for standard input
    pub input: PathBuf,
    /// The encrypted file to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub table: TableFlags,
    #[command(flatten)]
    pub device: DeviceFlag,
}

/// `party check`.
#[derive(Debug, Args)]
pub struct PartyCheck {
    #[command(flatten)]
    pub folder: PartyFolder,
    /// The encrypted result
    pub result: PathBuf,
    /// The encrypted tables that it was computed from, each with the party that encrypted it
    #[arg(long, value_name = "PARTY=FILE", num_args = 1.., required = true)]
    pub inputs: Vec<Contribution>,
    /// The steps that compute it: a text with a line of eval for each [default: none, to decrypt
    /// an input as it is]
    #[arg(long, value_name = "FILE")]
    pub program: Option<PathBuf>,
    /// The transcript to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// An input, and the party that encrypted it.
#[derive(Clone, Debug)]
pub struct Contribution {
    /// The party.
    pub party: u32,
    /// The file.
    pub path: PathBuf,
}

impl FromStr for Contribution {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts = text.split_once('=').filter(|(_, path)| !path.is_empty());
        let found = parts.and_then(|(party, path)| Some((party.parse().ok()?, path)));
        match found {
            Some((party, path)) => Ok(Self { party, path: path.into() }),
            None => Err("give the number of a party and its file, as in 1=a.he".to_owned()),
        }
    }
}

/// Transcripts of parties.
#[derive(Debug, Args)]
pub struct Transcripts {
    /// Transcripts that party check wrote: of this party, and of all whose inputs are in the result
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub transcripts: Vec<PathBuf>,
}

/// The parties that decrypt.
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
    /// A share of a ciphertext that somebody chose is the party's secret key. Therefore a share is
    /// made of a result alone that this party has computed again with party check, and that all
    /// parties whose inputs are in it state in the same words. It is made once, and counted in
    /// shared.ledger of the folder.
    #[command(after_help = "Examples:\n  \
        he-cli party share decrypt a/ mean.he --transcripts a/mean.transcript b/mean.transcript \\\n    \
        -o a/mean.share\n  \
        he-cli party share decrypt a/ mean.he --transcripts ?/mean.transcript --quorum 1,3 \\\n    \
        -o a/mean.share")]
    Decrypt {
        #[command(flatten)]
        folder: PartyFolder,
        /// The encrypted result
        input: PathBuf,
        #[command(flatten)]
        transcripts: Transcripts,
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
    #[command(override_usage = "he-cli party combine decrypt [OPTIONS] <FOLDER> <INPUT> \
        --transcripts <FILE>... --shares <FILE>... -o <FILE>")]
    #[command(after_help = "Example:\n  \
        he-cli party combine decrypt a/ mean.he --transcripts a/mean.transcript \\\n    \
        --shares a/mean.share b/mean.share c/mean.share -o mean.csv")]
    Decrypt {
        #[command(flatten)]
        folder: PartyFolder,
        /// The encrypted result
        input: PathBuf,
        #[command(flatten)]
        transcripts: Transcripts,
        #[command(flatten)]
        shares: Shares,
        #[command(flatten)]
        quorum: Quorum,
        /// The result to write, or - for standard output
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
}
