//! The steps of a party in the files of its folder, for every scheme.

use super::folder::{Decrypted, EVAL_KEY, KEYS, PARTY_KEY, PUBLIC_KEY, Placed, RELIN, ShareMade, secret_for};
use super::{Agreed, Computation, Known, Ledger, Named, Shared, Step};
use crate::error::{Error, IoContext as _, PartyError, Result};
use crate::io::input::Input;
use crate::io::output::{Output, OutputOptions};
use crate::key_file::write_frames;
use crate::key_set::{Wiped, sealed};
use crate::note::KeyNote;
use crate::passphrase::{Passphrase, is_sealed, read_sealed};
use crate::publication::Publication;
use crate::scheme::engine::rng;
use crate::team::Team;
use crate::watch::Watch;
use he::Device;
use he_core::mhe::{Digest, KeyShare, PartyKey};
use he_core::wire::{Frame, Wire, WireKeys, WireParams};
use std::io::{Cursor, Write};
use std::path::PathBuf;
use std::sync::Arc;

const ROUND_KEY: &str = "round.key";
pub(super) const THRESHOLD_KEY: &str = "threshold.key";
const SHARED: &str = "shared.ledger";
const OWN: &str = "own.ledger";

/// The longest sealed secret of a party that is read: a threshold key is as long as a polynomial
/// over all primes.
const MAX_SEALED: u64 = 1 << 26;

/// Names the files, all or none.
pub(super) fn place(outputs: Vec<Output>) -> Result<Vec<Placed>> {
    let placed = outputs.iter().map(|output| Placed { name: output.name(), bytes: output.bytes() }).collect();
    Output::commit_all(outputs)?;
    Ok(placed)
}

/// The files of a folder, with the passphrase that seals the secrets that the party keeps, if they
/// are sealed.
pub(super) struct Files {
    pub path: PathBuf,
    pub passphrase: Option<Passphrase>,
}

impl Files {
    /// The path of one of them.
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

    /// The list of the tables that the party has encrypted.
    pub fn own_tables(&self) -> Result<Ledger> {
        Ledger::open(&self.path(OWN))
    }
}

/// The steps of a session under a scheme, as the methods of the folder that are called the same.
pub(super) struct Steps<'a, S: Shared> {
    pub files: &'a Files,
    pub agreed: &'a Agreed<S>,
}

impl<S: Shared> Steps<'_, S> {
    /// The party's own secret.
    fn key(&self) -> Result<PartyKey> {
        self.agreed.party_key(self.files.secret(PARTY_KEY)?)
    }

    /// Files of the session.
    fn read(&self, files: Vec<Input>) -> Result<Vec<Named>> {
        files.into_iter().map(|file| self.agreed.frames(file)).collect()
    }

    /// A new file of the folder, not yet named.
    fn written(&self, name: &str, secret: bool, frames: Vec<Frame>) -> Result<Output> {
        let options = OutputOptions { secret, ..OutputOptions::default() };
        let mut output = Output::create(self.files.path(name), options, &[])?;
        let name = output.name();
        self.agreed.write_frames(&mut output, frames, &name)?;
        Ok(output)
    }

    /// A new secret of the party itself, likewise: sealed if its other secrets are.
    pub fn kept(&self, name: &str, frame: Frame) -> Result<Output> {
        let Some(passphrase) = &self.files.passphrase else {
            return self.written(name, true, vec![frame]);
        };
        let options = OutputOptions { secret: true, ..OutputOptions::default() };
        let mut output = Output::create(self.files.path(name), options, &[])?;
        let name = output.name();
        // The buffer has its full size from the start, because growing would leave copies of the
        // secret behind.
        let mut plain = Wiped::with_capacity(frame.body.len() + (1 << 16));
        self.agreed.write_frames(&mut plain, vec![frame], &name)?;
        output.write_all(&sealed(plain, Some(passphrase))?).writing(&name)?;
        Ok(output)
    }

    pub fn share_keys(&self) -> Result<Vec<Placed>> {
        let (shares, kept) = super::key_shares(self.agreed, &self.key()?, &mut rng()?)?;
        place(vec![self.written(KEYS, false, shares)?, self.kept(ROUND_KEY, kept)?])
    }

    pub fn share_relin(&self, first: Vec<Input>) -> Result<Vec<Placed>> {
        let key = self.key()?;
        let kept = self.agreed.frames(self.files.secret(ROUND_KEY)?)?;
        let first = self.read(first)?;
        let share = super::relinearisation_share(self.agreed, &key, &kept, &first, &mut rng()?)?;
        let placed = place(vec![self.written(RELIN, false, vec![share])?])?;
        // A second share with it would reveal the difference of two errors.
        let used = self.files.path(ROUND_KEY);
        std::fs::remove_file(&used).map_err(|error| Error::io(error, "remove", used.display()))?;
        Ok(placed)
    }

    pub fn share_secret(&self) -> Result<Vec<Placed>> {
        let shares = super::secret_shares(self.agreed, &self.key()?, &mut rng()?)?;
        let written = |(to, frame)| self.written(&secret_for(to), true, vec![frame]);
        place(shares.into_iter().map(written).collect::<Result<_>>()?)
    }

    pub fn combine_keys(&self, first: Vec<Input>, second: Vec<Input>) -> Result<Vec<Placed>> {
        let (first, second) = (self.read(first)?, self.read(second)?);
        let Agreed { params, session, id, .. } = self.agreed;
        let (public, keys) = super::combined_keys(self.agreed, &first, &second)?;
        let parties = S::STATES_PARTIES.then_some(session.parties().len() as u32);
        let (note, start) = (KeyNote { parties, ..KeyNote::of(id) }, params.to_frame());
        let create = |name: &str| Output::create(self.files.path(name), OutputOptions::default(), &[]);
        let [mut public_file, mut keys_file] = [create(PUBLIC_KEY)?, create(EVAL_KEY)?];
        let name = public_file.name();
        write_frames(&mut public_file, &start, &note, [public.to_frame(params)], &name)?;
        let name = keys_file.name();
        write_frames(&mut keys_file, &start, &note, keys.to_frames(params), &name)?;
        place(vec![public_file, keys_file])
    }

    pub fn combine_secret(&self, shares: Vec<Input>) -> Result<Vec<Placed>> {
        let party = self.key()?.party();
        let key = super::threshold_key(self.agreed, party, &self.read(shares)?)?;
        place(vec![self.kept(THRESHOLD_KEY, key.to_frame(&self.agreed.params)?)?])
    }

    pub fn note_own(&self, own: Ledger, written: impl Fn() -> Result<Input>) -> Result<()> {
        self.agreed.table(written()?)?;
        own.record(&[(super::input_digest(written()?)?, 0)])
    }

    pub fn check(
        &self,
        inputs: Vec<(u32, Input)>,
        steps: Vec<Step>,
        result: Input,
        watch: &Arc<dyn Watch>,
        mut output: Output,
    ) -> Result<(Digest, u32, Vec<Placed>)> {
        let key = self.key()?;
        let evaluation = (!steps.is_empty()).then(|| Input::open(self.files.path(EVAL_KEY))).transpose()?;
        let computation = Computation { inputs, steps, result, key: evaluation };
        let own = self.files.own_tables()?;
        let (transcript, frame) = self.agreed.transcript((&key, &own), computation, watch)?;
        let name = output.name();
        self.agreed.write_frames(&mut output, vec![frame], &name)?;
        Ok((transcript.id(), key.party(), place(vec![output])?))
    }

    /// The party's summand of the collective secret: of its threshold key if it has one.
    fn summand(&self, quorum: &[u32]) -> Result<KeyShare<Device>> {
        let everybody = quorum == self.agreed.session.parties();
        if everybody && !self.files.path(THRESHOLD_KEY).exists() {
            return Ok(self.key()?.share(&self.agreed.ring)?);
        }
        let key = self.agreed.threshold_key(self.files.secret(THRESHOLD_KEY)?)?;
        Ok(key.share(quorum)?)
    }

    pub fn share_decryption(
        &self,
        result: Input,
        transcripts: Vec<Input>,
        quorum: &[u32],
        mut output: Output,
    ) -> Result<ShareMade> {
        let agreed = self.agreed;
        let known = Known::own(agreed, &self.key()?, &self.read(transcripts)?)?;
        let key = self.summand(quorum)?;
        // Nobody else makes a share of this party from here to the end.
        let ledger = Ledger::open(&self.files.path(SHARED))?;
        let publication = Publication::new(ledger.publisher(&agreed.plan)?, rng()?);
        let (spent, all) = (ledger.spent(), agreed.plan.publisher()?.decryptions());
        let shared = super::decryption_shares(agreed, &key, (&known, &ledger), result, &publication)?;
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

    pub fn combine_decryption(
        &self,
        result: Input,
        transcripts: Vec<Input>,
        shares: Vec<Input>,
        quorum: &[u32],
    ) -> Result<Decrypted> {
        let known = Known::others(self.agreed, &self.read(transcripts)?)?;
        let files = self.read(shares)?;
        let team = Team::<S>::new(&self.agreed.params, &[Device::cpu()])?;
        let (plain, history) = super::decrypted(self.agreed, quorum, &known, &files, &team, result)?;
        Ok(Decrypted { plain, transcript: known.id(), history })
    }
}
