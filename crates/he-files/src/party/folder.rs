//! The folder of a party: its files, and the steps of a session on them.
//!
//! | File | Content | For |
//! |---|---|---|
//! | `session.he` | the session and what the parties agree on | all |
//! | `party.key` | the party's secret | itself |
//! | `keys.share`, `relin.share` | its messages of key generation | all |
//! | `round.key` | a secret between both messages | itself |
//! | `secret-for-I.share` | the share of its secret that it deals to party I | party I |
//! | `threshold.key` | its threshold key | itself |
//! | `public.key`, `eval.key` | the collective keys | all |
//! | `own.ledger`, `shared.ledger` | what it has encrypted and shared | itself |

use super::steps::{Files, Steps, THRESHOLD_KEY, place};
use super::{Agreed, AnyAgreed, Ledger, Needs, Plan, Shared, Step, on_agreed};
use crate::contents::clear::Plain;
use crate::error::Result;
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions, create_dir};
use crate::needs::Published;
use crate::passphrase::{Passphrase, is_sealed};
use crate::scheme::Ckks;
use crate::scheme::engine::rng;
use crate::watch::Watch;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::mhe::Digest;
use he_core::wire::Wire;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The session.
pub const SESSION: &str = "session.he";
/// The party's secret.
pub const PARTY_KEY: &str = "party.key";
/// The first message of key generation.
pub const KEYS: &str = "keys.share";
/// The second message of key generation.
pub const RELIN: &str = "relin.share";
/// The collective public key.
pub const PUBLIC_KEY: &str = "public.key";
/// The collective evaluation key.
pub const EVAL_KEY: &str = "eval.key";

/// The name of the file with the share of its secret that a party deals to another.
pub fn secret_for(party: u32) -> String {
    format!("secret-for-{party}.share")
}

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Its path.
    pub name: String,
    /// Its bytes.
    pub bytes: u64,
}

/// A share of a decryption that was written.
#[derive(Clone, Debug)]
pub struct ShareMade {
    /// The file.
    pub file: Placed,
    /// The computation that it decrypts the result of.
    pub transcript: Digest,
    /// The vectors of the share.
    pub published: u64,
    /// The vectors that the party can still share.
    pub left: u64,
    /// The operations that the table says were computed.
    pub history: Vec<String>,
    /// log2 of the error that hides the noise of the numbers, if there are any.
    pub flood_error_log2: Option<f64>,
}

/// A table that parties have decrypted.
pub struct Decrypted {
    /// Its numbers.
    pub plain: Plain,
    /// The computation that it is the result of.
    pub transcript: Digest,
    /// The operations that it says were computed.
    pub history: Vec<String>,
}

/// A party's folder, opened.
pub struct Folder {
    files: Files,
    agreed: AnyAgreed,
}

/// Calls a step under the scheme of the session.
macro_rules! on_steps {
    ($folder:expr, $steps:ident => $call:expr) => {
        on_agreed!(&$folder.agreed, agreed => {
            let $steps = Steps { files: &$folder.files, agreed };
            $call
        })
    };
}

impl AnyAgreed {
    /// Makes a session of parties 1, 2, ..., n, any `threshold` of whom decrypt, for these needs.
    ///
    /// # Errors
    /// No parameters satisfy the needs; the parties or the threshold are impossible.
    pub fn for_needs(
        needs: &Needs,
        published: Published,
        parties: u32,
        threshold: Option<usize>,
    ) -> Result<Self> {
        let threshold = threshold.unwrap_or(parties as usize);
        fn session<S: Shared>(
            params: &S::Params,
            published: Published,
            parties: u32,
            threshold: usize,
        ) -> Result<Agreed<S>> {
            let Published { decryptions, security_bits } = published;
            let plan = Plan::new(params, &S::rotations(params)?, security_bits, decryptions);
            Agreed::new(params, parties, threshold, plan)
        }
        Ok(match needs {
            Needs::Ckks { needs, wish } => {
                session::<Ckks>(&super::real_params(needs, *wish, published)?, published, parties, threshold)?
                    .into()
            }
            Needs::Bfv(needs) => {
                let params = super::integer_params(needs, published, parties)?;
                session::<Bfv>(&params, published, parties, threshold)?.into()
            }
            Needs::Bgv(needs) => {
                let params = super::integer_params(needs, published, parties)?;
                session::<Bgv>(&params, published, parties, threshold)?.into()
            }
        })
    }
}

impl Folder {
    /// Makes the folder of a party with a fresh secret, sealed if there is a passphrase.
    ///
    /// # Errors
    /// The session has no such party; the folder has such files, or cannot be written.
    pub fn create(
        path: &Path,
        agreed: AnyAgreed,
        party: u32,
        passphrase: Option<Passphrase>,
    ) -> Result<(Self, Vec<Placed>)> {
        fn begun<S: Shared>(steps: &Steps<'_, S>, party: u32) -> Result<Vec<Placed>> {
            let Steps { files, agreed } = steps;
            let key = agreed.new_party(party, &mut rng()?)?;
            let made = create_dir(&files.path)?;
            let secret = steps.kept(PARTY_KEY, key.to_frame(&agreed.params)?)?;
            let mut session = Output::create(files.path(SESSION), OutputOptions::default(), &[])?;
            let name = session.name();
            agreed.write(&mut session, &name)?;
            let placed = place(vec![session, secret])?;
            made.keep();
            Ok(placed)
        }
        let own = Self { files: Files { path: path.to_owned(), passphrase }, agreed };
        let placed = on_steps!(own, steps => begun(&steps, party)?);
        Ok((own, placed))
    }

    /// Opens the folder for the steps that take no secret.
    ///
    /// # Errors
    /// It has no session, or a damaged one.
    pub fn open(path: &Path) -> Result<Self> {
        let agreed = AnyAgreed::read(Input::open(path.join(SESSION))?)?;
        Ok(Self { files: Files { path: path.to_owned(), passphrase: None }, agreed })
    }

    /// Takes the passphrase, if the party's secrets are sealed: `obtain` is given the name of one.
    ///
    /// # Errors
    /// The errors of `obtain`; a file cannot be read.
    pub fn unlocked(mut self, obtain: impl FnOnce(&str) -> Result<Passphrase>) -> Result<Self> {
        for name in [PARTY_KEY, THRESHOLD_KEY] {
            let path = self.path(name);
            if path.exists() && is_sealed(Input::open(&path)?.peek(8)?) {
                self.files.passphrase = Some(obtain(&path.display().to_string())?);
                break;
            }
        }
        Ok(self)
    }

    /// Its session and plan.
    pub fn agreed(&self) -> &AnyAgreed {
        &self.agreed
    }

    /// Whether the party's secrets are sealed.
    pub fn is_sealed(&self) -> bool {
        self.files.passphrase.is_some()
    }

    /// The path of one of its files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.files.path(name)
    }

    /// Makes the first message of key generation, and a secret for the second.
    ///
    /// # Errors
    /// The message is there already; the party's secret cannot be read.
    pub fn share_keys(&self) -> Result<Vec<Placed>> {
        on_steps!(self, steps => steps.share_keys())
    }

    /// Makes the second message of key generation, from the first ones of all parties.
    ///
    /// # Errors
    /// Messages are missing, doubled, or of another session; the second message has been made.
    pub fn share_relin(&self, first: Vec<Input>) -> Result<Vec<Placed>> {
        on_steps!(self, steps => steps.share_relin(first))
    }

    /// Deals the party's secret: a secret message for each party.
    ///
    /// # Errors
    /// The messages are there already; the party's secret cannot be read.
    pub fn share_secret(&self) -> Result<Vec<Placed>> {
        on_steps!(self, steps => steps.share_secret())
    }

    /// Makes the collective keys, from both messages of all parties.
    ///
    /// # Errors
    /// Messages are missing, doubled, or of another session.
    pub fn combine_keys(&self, first: Vec<Input>, second: Vec<Input>) -> Result<Vec<Placed>> {
        on_steps!(self, steps => steps.combine_keys(first, second))
    }

    /// Makes the party's threshold key, from the secret messages for it.
    ///
    /// # Errors
    /// Messages are missing, doubled, for another party or of another session.
    pub fn combine_secret(&self, shares: Vec<Input>) -> Result<Vec<Placed>> {
        on_steps!(self, steps => steps.combine_secret(shares))
    }

    /// The list of the tables that the party has encrypted. It is opened before a table is
    /// encrypted, so that it is known that it can be written.
    ///
    /// # Errors
    /// It cannot be read or written, or holds something else.
    pub fn own_tables(&self) -> Result<Ledger> {
        self.files.own_tables()
    }

    /// Notes a table that the party has just encrypted as its own.
    ///
    /// # Errors
    /// It is not a table of the session; the list cannot be written.
    pub fn note_own(&self, own: Ledger, written: impl Fn() -> Result<Input>) -> Result<()> {
        on_steps!(self, steps => steps.note_own(own, written))
    }

    /// Computes a result again by the folder's evaluation key, compares it, and writes down what it
    /// is: the party's transcript.
    ///
    /// # Errors
    /// The errors of [`Agreed::transcript`]; the transcript cannot be written.
    pub fn check(
        &self,
        inputs: Vec<(u32, Input)>,
        steps: Vec<Step>,
        result: Input,
        watch: &Arc<dyn Watch>,
        output: Output,
    ) -> Result<(Digest, u32, Vec<Placed>)> {
        on_steps!(self, own => own.check(inputs, steps, result, watch, output))
    }

    /// Makes the party's share of a decryption, of a result that it has computed again, and that
    /// all parties with inputs state in the same words. It is made once, and counted.
    ///
    /// # Errors
    /// The errors of [`Known::own`](super::Known::own) and of
    /// [`decryption_shares`](super::decryption_shares).
    pub fn share_decryption(
        &self,
        result: Input,
        transcripts: Vec<Input>,
        quorum: &[u32],
        output: Output,
    ) -> Result<ShareMade> {
        on_steps!(self, steps => steps.share_decryption(result, transcripts, quorum, output))
    }

    /// Decrypts a table, from the shares of a quorum and the transcripts that they were made with.
    ///
    /// # Errors
    /// The errors of [`decrypted`](super::decrypted).
    pub fn combine_decryption(
        &self,
        result: Input,
        transcripts: Vec<Input>,
        shares: Vec<Input>,
        quorum: &[u32],
    ) -> Result<Decrypted> {
        on_steps!(self, steps => steps.combine_decryption(result, transcripts, shares, quorum))
    }
}
