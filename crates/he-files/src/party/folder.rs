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

use super::{Agreed, Computation, Known, Ledger, Named, Plan, Step};
use crate::contents::clear::Plain;
use crate::contents::images;
use crate::error::{Error, IoContext as _, PartyError, Result};
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions, create_dir};
use crate::key_file::write_key;
use crate::key_set::{Wiped, sealed};
use crate::needs::{Published, RealNeeds};
use crate::passphrase::{Passphrase, is_sealed, read_sealed};
use crate::publication::Publication;
use crate::scheme::Ckks;
use crate::scheme::engine::rng;
use crate::team::Team;
use crate::watch::Watch;
use he::Device;
use he_core::mhe::{Digest, KeyShare, PartyKey};
use he_core::ring::Ring;
use he_core::wire::{Frame, Wire, WireKeys};
use std::io::{Cursor, Write};
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
const ROUND_KEY: &str = "round.key";
const THRESHOLD_KEY: &str = "threshold.key";
const SHARED: &str = "shared.ledger";
const OWN: &str = "own.ledger";

/// The longest sealed secret of a party that is read: a threshold key is as long as a polynomial
/// over all primes.
const MAX_SEALED: u64 = 1 << 26;

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

/// Names the files, all or none.
fn place(outputs: Vec<Output>) -> Result<Vec<Placed>> {
    let placed = outputs.iter().map(|output| Placed { name: output.name(), bytes: output.bytes() }).collect();
    Output::commit_all(outputs)?;
    Ok(placed)
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
    path: PathBuf,
    agreed: Agreed,
    ring: Ring<Device>,
    /// The passphrase that seals the secrets that the party keeps, if they are sealed.
    passphrase: Option<Passphrase>,
}

impl Agreed {
    /// Makes a session of parties 1, 2, ..., n, any `threshold` of whom decrypt, for these needs.
    /// If their precision is only a `wish`, it is kept as far as possible.
    ///
    /// # Errors
    /// No parameters satisfy the needs; the parties or the threshold are impossible.
    pub fn for_needs(
        needs: &RealNeeds,
        wish: bool,
        published: Published,
        parties: u32,
        threshold: Option<usize>,
    ) -> Result<Self> {
        let needs = RealNeeds { published: Some(published), ..needs.clone() };
        let params = super::params(&needs, wish)?;
        let rotations = images::rotations(&params, 0)?;
        let plan = Plan::new(&params, &rotations, published.security_bits, published.decryptions);
        Self::new(&params, parties, threshold.unwrap_or(parties as usize), plan)
    }
}

impl Folder {
    /// Makes the folder of a party with a fresh secret, sealed if there is a passphrase.
    ///
    /// # Errors
    /// The session has no such party; the folder has such files, or cannot be written.
    pub fn create(
        path: &Path,
        agreed: Agreed,
        party: u32,
        passphrase: Option<Passphrase>,
    ) -> Result<(Self, Vec<Placed>)> {
        let key = agreed.new_party(party, &mut rng()?)?;
        let made = create_dir(path)?;
        let ring = agreed.ring()?;
        let own = Self { path: path.to_owned(), agreed, ring, passphrase };
        let secret = own.kept(PARTY_KEY, key.to_frame(&own.agreed.params)?)?;
        let mut session = Output::create(path.join(SESSION), OutputOptions::default(), &[])?;
        let name = session.name();
        own.agreed.write(&mut session, &name)?;
        let placed = place(vec![session, secret])?;
        made.keep();
        Ok((own, placed))
    }

    /// Opens the folder for the steps that take no secret.
    ///
    /// # Errors
    /// It has no session, or a damaged one.
    pub fn open(path: &Path) -> Result<Self> {
        let agreed = Agreed::read(Input::open(path.join(SESSION))?)?;
        let ring = agreed.ring()?;
        Ok(Self { path: path.to_owned(), agreed, ring, passphrase: None })
    }

    /// Takes the passphrase, if the party's secrets are sealed: `obtain` is given the name of one.
    ///
    /// # Errors
    /// The errors of `obtain`; a file cannot be read.
    pub fn unlocked(self, obtain: impl FnOnce(&str) -> Result<Passphrase>) -> Result<Self> {
        for name in [PARTY_KEY, THRESHOLD_KEY] {
            let path = self.path.join(name);
            if path.exists() && is_sealed(Input::open(&path)?.peek(8)?) {
                let passphrase = obtain(&path.display().to_string())?;
                return Ok(Self { passphrase: Some(passphrase), ..self });
            }
        }
        Ok(self)
    }

    /// Its session and plan.
    pub fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Whether the party's secrets are sealed.
    pub fn is_sealed(&self) -> bool {
        self.passphrase.is_some()
    }

    /// The path of one of its files.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A secret that the party keeps, opened if it is sealed.
    fn secret(&self, name: &str) -> Result<Input> {
        let mut input = Input::open(self.path(name))?;
        if !is_sealed(input.peek(8)?) {
            return Ok(input);
        }
        let name = input.name().to_owned();
        let Some(passphrase) = &self.passphrase else {
            return Err(PartyError::Sealed { name }.into());
        };
        let plain = read_sealed(input, MAX_SEALED, |_| Ok(passphrase))?;
        Ok(Input::from_reader(name, Cursor::new(plain)))
    }

    /// The party's own secret.
    ///
    /// # Errors
    /// It is missing, sealed by another passphrase, damaged, or of another session.
    pub fn key(&self) -> Result<PartyKey> {
        self.agreed.party_key(self.secret(PARTY_KEY)?)
    }

    /// Files of the session.
    fn read(&self, files: Vec<Input>) -> Result<Vec<Named>> {
        files.into_iter().map(|file| self.agreed.frames(file)).collect()
    }

    /// A new file of the folder, not yet named.
    fn written(&self, name: &str, secret: bool, frames: Vec<Frame>) -> Result<Output> {
        let options = OutputOptions { secret, ..OutputOptions::default() };
        let mut output = Output::create(self.path(name), options, &[])?;
        let name = output.name();
        self.agreed.write_frames(&mut output, frames, &name)?;
        Ok(output)
    }

    /// A new secret of the party itself, likewise: sealed if its other secrets are.
    fn kept(&self, name: &str, frame: Frame) -> Result<Output> {
        let Some(passphrase) = &self.passphrase else {
            return self.written(name, true, vec![frame]);
        };
        let options = OutputOptions { secret: true, ..OutputOptions::default() };
        let mut output = Output::create(self.path(name), options, &[])?;
        let name = output.name();
        // The buffer has its full size from the start, because growing would leave copies of the
        // secret behind.
        let mut plain = Wiped::with_capacity(frame.body.len() + (1 << 16));
        self.agreed.write_frames(&mut plain, vec![frame], &name)?;
        output.write_all(&sealed(plain, Some(passphrase))?).writing(&name)?;
        Ok(output)
    }

    /// Makes the first message of key generation, and a secret for the second.
    ///
    /// # Errors
    /// The message is there already; the party's secret cannot be read.
    pub fn share_keys(&self) -> Result<Vec<Placed>> {
        let (shares, kept) = super::key_shares(&self.agreed, &self.key()?, &self.ring, &mut rng()?)?;
        place(vec![self.written(KEYS, false, shares)?, self.kept(ROUND_KEY, kept)?])
    }

    /// Makes the second message of key generation, from the first ones of all parties.
    ///
    /// # Errors
    /// Messages are missing, doubled, or of another session; the second message has been made.
    pub fn share_relin(&self, first: Vec<Input>) -> Result<Vec<Placed>> {
        let key = self.key()?;
        let kept = self.agreed.frames(self.secret(ROUND_KEY)?)?;
        let first = self.read(first)?;
        let share = super::relinearisation_share(&self.agreed, &key, &kept, &first, &self.ring, &mut rng()?)?;
        let placed = place(vec![self.written(RELIN, false, vec![share])?])?;
        // A second share with it would reveal the difference of two errors.
        let used = self.path(ROUND_KEY);
        std::fs::remove_file(&used).map_err(|error| Error::io(error, "remove", used.display()))?;
        Ok(placed)
    }

    /// Deals the party's secret: a secret message for each party.
    ///
    /// # Errors
    /// The messages are there already; the party's secret cannot be read.
    pub fn share_secret(&self) -> Result<Vec<Placed>> {
        let shares = super::secret_shares(&self.agreed, &self.key()?, &self.ring, &mut rng()?)?;
        let written = |(to, frame)| self.written(&secret_for(to), true, vec![frame]);
        place(shares.into_iter().map(written).collect::<Result<_>>()?)
    }

    /// Makes the collective keys, from both messages of all parties.
    ///
    /// # Errors
    /// Messages are missing, doubled, or of another session.
    pub fn combine_keys(&self, first: Vec<Input>, second: Vec<Input>) -> Result<Vec<Placed>> {
        let (first, second) = (self.read(first)?, self.read(second)?);
        let Agreed { params, id, .. } = &self.agreed;
        let (public, keys) = super::combined_keys(&self.agreed, &first, &second, &self.ring)?;
        let create = |name: &str| Output::create(self.path(name), OutputOptions::default(), &[]);
        let [mut public_file, mut keys_file] = [create(PUBLIC_KEY)?, create(EVAL_KEY)?];
        let name = public_file.name();
        write_key::<Ckks>(&mut public_file, params, id, [public.to_frame(params)], &name)?;
        let name = keys_file.name();
        write_key::<Ckks>(&mut keys_file, params, id, keys.to_frames(params), &name)?;
        place(vec![public_file, keys_file])
    }

    /// Makes the party's threshold key, from the secret messages for it.
    ///
    /// # Errors
    /// Messages are missing, doubled, for another party or of another session.
    pub fn combine_secret(&self, shares: Vec<Input>) -> Result<Vec<Placed>> {
        let party = self.key()?.party();
        let key = super::threshold_key(&self.agreed, party, &self.read(shares)?, &self.ring)?;
        place(vec![self.kept(THRESHOLD_KEY, key.to_frame(&self.agreed.params)?)?])
    }

    /// The list of the tables that the party has encrypted. It is opened before a table is
    /// encrypted, so that it is known that it can be written.
    ///
    /// # Errors
    /// It cannot be read or written, or holds something else.
    pub fn own_tables(&self) -> Result<Ledger> {
        Ledger::open(&self.path(OWN))
    }

    /// Notes a table that the party has just encrypted as its own.
    ///
    /// # Errors
    /// It is not a table of the session; the list cannot be written.
    pub fn note_own(&self, own: Ledger, written: impl Fn() -> Result<Input>) -> Result<()> {
        self.agreed.table(written()?)?;
        own.record(&[(super::input_digest(written()?)?, 0)])
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
        mut output: Output,
    ) -> Result<(Digest, u32, Vec<Placed>)> {
        let key = self.key()?;
        let evaluation = (!steps.is_empty()).then(|| Input::open(self.path(EVAL_KEY))).transpose()?;
        let computation = Computation { inputs, steps, result, key: evaluation };
        let own = self.own_tables()?;
        let (transcript, frame) = self.agreed.transcript((&key, &own), &self.ring, computation, watch)?;
        let name = output.name();
        self.agreed.write_frames(&mut output, vec![frame], &name)?;
        Ok((transcript.id(), key.party(), place(vec![output])?))
    }

    /// The party's summand of the collective secret: of its threshold key if it has one.
    fn summand(&self, quorum: &[u32]) -> Result<KeyShare<Device>> {
        let everybody = quorum == self.agreed.session.parties();
        if everybody && !self.path(THRESHOLD_KEY).exists() {
            return Ok(self.key()?.share(&self.ring)?);
        }
        let key = self.agreed.threshold_key(&self.ring, self.secret(THRESHOLD_KEY)?)?;
        Ok(key.share(quorum)?)
    }

    /// Makes the party's share of a decryption, of a result that it has computed again, and that
    /// all parties with inputs state in the same words. It is made once, and counted.
    ///
    /// # Errors
    /// The errors of [`Known::own`] and of [`decryption_shares`](super::decryption_shares).
    pub fn share_decryption(
        &self,
        result: Input,
        transcripts: Vec<Input>,
        quorum: &[u32],
        mut output: Output,
    ) -> Result<ShareMade> {
        let Self { agreed, ring, .. } = self;
        let known = Known::own(agreed, &self.key()?, &self.read(transcripts)?)?;
        let key = self.summand(quorum)?;
        // Nobody else makes a share of this party from here to the end.
        let ledger = Ledger::open(&self.path(SHARED))?;
        let publication = Publication::new(ledger.publisher(&agreed.plan)?, rng()?);
        let (spent, all) = (ledger.spent(), agreed.plan.publisher()?.decryptions());
        let shared = super::decryption_shares(agreed, &key, (&known, &ledger), result, ring, &publication)?;
        let name = output.name();
        agreed.write_frames(&mut output, shared.frames, &name)?;
        ledger.record(&shared.runs)?;
        let file = Placed { name, bytes: output.bytes() };
        output.commit()?;
        Ok(ShareMade {
            file,
            transcript: known.id(),
            published: publication.published() - spent,
            left: all - publication.published(),
            history: shared.history,
            flood_error_log2: publication.error_log2(),
        })
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
        let known = Known::others(&self.agreed, &self.read(transcripts)?)?;
        let files = self.read(shares)?;
        let team = Team::<Ckks>::new(&self.agreed.params, &[Device::cpu()])?;
        let (plain, history) = super::decrypted(&self.agreed, quorum, &known, &files, &team, result)?;
        Ok(Decrypted { plain, transcript: known.id(), history })
    }
}
