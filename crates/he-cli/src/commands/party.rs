//! `party`: keys of several parties, and what they decrypt together.

mod program;

use crate::args::{
    CombineStep, Encrypt, Party, PartyCheck, PartyEncrypt, PartyFolder, PartyInit, PartyStep, Quorum,
    ShareStep, Unlock,
};
use crate::error::{CliError, IoContext, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown};
use he::Device;
use he_core::mhe::{KeyShare, PartyKey};
use he_core::ring::Ring;
use he_core::wire::{Frame, Wire, WireKeys};
use he_files::contents::images;
use he_files::data::picture::Format;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::write_key;
use he_files::key_set::{Wiped, sealed};
use he_files::needs::{Published, RealNeeds};
use he_files::party::{self, Agreed, Computation, Known, Ledger, Named, Plan};
use he_files::passphrase::{Passphrase, Passphrases, Purpose, is_sealed, read_sealed};
use he_files::publication::Publication;
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::team::Team;
use he_files::units;
use serde_json::json;
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of a party.
const SESSION: &str = "session.he";
const PARTY_KEY: &str = "party.key";
const KEYS: &str = "keys.share";
const ROUND_KEY: &str = "round.key";
const RELIN: &str = "relin.share";
const THRESHOLD_KEY: &str = "threshold.key";
const PUBLIC_KEY: &str = "public.key";
const EVAL_KEY: &str = "eval.key";
const SHARED: &str = "shared.ledger";
const OWN: &str = "own.ledger";

/// The longest sealed secret of a party that is read: a threshold key is as long as a polynomial
/// over all primes.
const MAX_SEALED: u64 = 1 << 26;

pub(super) fn run(args: &Party) -> Result<Summary> {
    match &args.step {
        PartyStep::Init(args) => init(args),
        PartyStep::Encrypt(args) => encrypt(args),
        PartyStep::Check(args) => check(&Own::unlock(&args.folder)?, args),
        PartyStep::Share(ShareStep::Keys(folder)) => share_keys(&Own::unlock(folder)?),
        PartyStep::Share(ShareStep::Relin { folder, shares }) => {
            share_relin(&Own::unlock(folder)?, &shares.shares)
        }
        PartyStep::Share(ShareStep::Secret(folder)) => share_secret(&Own::unlock(folder)?),
        PartyStep::Share(ShareStep::Decrypt { folder, input, transcripts, quorum, output }) => {
            share_decryption(&Own::unlock(folder)?, input, &transcripts.transcripts, quorum, output)
        }
        PartyStep::Combine(CombineStep::Keys { folder, shares, second }) => {
            combine_keys(&Own::open(folder)?, &shares.shares, second)
        }
        PartyStep::Combine(CombineStep::Secret { folder, shares }) => {
            combine_secret(&Own::unlock(folder)?, &shares.shares)
        }
        PartyStep::Combine(CombineStep::Decrypt { folder, input, transcripts, shares, quorum, output }) => {
            let messages = [&*transcripts.transcripts, &shares.shares];
            combine_decryption(&Own::open(folder)?, input, messages, quorum, output)
        }
    }
}

/// A party's folder, opened.
struct Own {
    folder: PathBuf,
    agreed: Agreed,
    ring: Ring<Device>,
    /// The passphrase that seals the secrets that the party keeps, if they are sealed.
    passphrase: Option<Passphrase>,
}

impl Own {
    fn open(args: &PartyFolder) -> Result<Self> {
        let folder = args.folder.clone();
        let agreed = Agreed::read(Input::open(folder.join(SESSION))?)?;
        let ring = agreed.ring()?;
        Ok(Self { folder, agreed, ring, passphrase: None })
    }

    /// Opens the folder with the passphrase, if the party's secrets are sealed.
    fn unlock(args: &PartyFolder) -> Result<Self> {
        let own = Self::open(args)?;
        let mut passphrase = None;
        for name in [PARTY_KEY, THRESHOLD_KEY] {
            let path = own.folder.join(name);
            if passphrase.is_none() && path.exists() && is_sealed(Input::open(&path)?.peek(8)?) {
                let name = path.display().to_string();
                passphrase = Some(args.opening.obtain(Purpose::Open, &name)?);
            }
        }
        Ok(Self { passphrase, ..own })
    }

    /// A secret that the party keeps, opened if it is sealed.
    fn secret(&self, name: &str) -> Result<Input> {
        let mut input = Input::open(self.folder.join(name))?;
        if !is_sealed(input.peek(8)?) {
            return Ok(input);
        }
        let name = input.name().to_owned();
        let Some(passphrase) = &self.passphrase else {
            let what = format!("{name} is sealed by a passphrase, and {PARTY_KEY} is not");
            return Err(CliError::new(what).hint("use the secrets of one party init"));
        };
        let plain = read_sealed(input, MAX_SEALED, |_| Ok(passphrase))?;
        Ok(Input::from_reader(name, Cursor::new(plain)))
    }

    /// The party's own secret.
    fn key(&self) -> Result<PartyKey> {
        Ok(self.agreed.party_key(self.secret(PARTY_KEY)?)?)
    }

    /// Files of the session.
    fn read(&self, paths: &[PathBuf]) -> Result<Vec<Named>> {
        stdin_once(paths.iter().map(PathBuf::as_path))?;
        paths.iter().map(|path| Ok(self.agreed.frames(Input::open(path)?)?)).collect()
    }

    /// A new file of the folder for others, not yet named.
    fn written(&self, name: &str, secret: bool, frames: Vec<Frame>) -> Result<Output> {
        self.written_to(&self.folder.join(name), secret, frames)
    }

    fn written_to(&self, path: &Path, secret: bool, frames: Vec<Frame>) -> Result<Output> {
        let options = OutputOptions { secret, ..OutputOptions::default() };
        let mut output = Output::create(path, options, &[])?;
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
        let mut output = Output::create(self.folder.join(name), options, &[])?;
        let name = output.name();
        // The buffer has its full size from the start, because growing would leave copies of the
        // secret behind.
        let mut plain = Wiped::with_capacity(frame.body.len() + (1 << 16));
        self.agreed.write_frames(&mut plain, vec![frame], &name)?;
        output.write_all(&sealed(plain, Some(passphrase))?).writing(&name)?;
        Ok(output)
    }
}

/// The parties that decrypt.
fn named(own: &Own, quorum: &Quorum) -> Result<Vec<u32>> {
    let session = &own.agreed.session;
    let (threshold, all) = (session.threshold(), session.parties().len());
    if quorum.quorum.is_empty() && threshold < all {
        let example: Vec<String> = session.parties()[..threshold].iter().map(u32::to_string).collect();
        let what = format!("any {threshold} of {all} parties decrypt together, and none are named");
        return Err(CliError::usage(what).hint(format!("give them, as in --quorum {}", example.join(","))));
    }
    Ok(own.agreed.quorum(&quorum.quorum)?)
}

/// Names the files, all or none, and tells of them.
fn place(step: &str, own: &Own, outputs: Vec<Output>) -> Result<Summary> {
    let mut summary = Summary::new("party").fact("step", step).fact("key_set", own.agreed.id.short());
    let mut files = Vec::new();
    for output in &outputs {
        let (name, bytes) = (output.name(), output.bytes());
        summary = summary.line(format!("{name}: {}", units::bytes(bytes)));
        files.push(json!({ "path": name, "bytes": bytes }));
    }
    Output::commit_all(outputs)?;
    Ok(summary.fact("files", files))
}

fn init(args: &PartyInit) -> Result<Summary> {
    let agreed = match (&args.session, args.parties) {
        (Some(path), _) => Agreed::read(Input::open(path)?)?,
        (None, Some(parties)) => {
            let decryptions = args.decryptions;
            let published = Published {
                decryptions: decryptions.queries,
                security_bits: decryptions.statistical_security,
            };
            let needs = RealNeeds { published: Some(published), ..args.needs.needs() };
            let params = party::params(&needs, args.needs.precision.is_none())?;
            let rotations = images::rotations(&params, 0)?;
            let plan = Plan::new(&params, &rotations, published.security_bits, published.decryptions);
            let threshold = args.threshold.unwrap_or(parties as usize);
            Agreed::new(&params, parties, threshold, plan)?
        }
        (None, None) => {
            return Err(CliError::usage("a session of nobody").hint("give --parties or --session"));
        }
    };
    let key = agreed.new_party(args.party, &mut rng()?)?;
    let folder = create_dir(&args.output)?;
    let ring = agreed.ring()?;
    let passphrase = args.seal.obtain(&args.output.join(PARTY_KEY).display().to_string())?;
    let own = Own { folder: args.output.clone(), agreed, ring, passphrase };
    let frame = key.to_frame(&own.agreed.params).map_err(he_files::Error::from)?;
    let secret = own.kept(PARTY_KEY, frame)?;
    let mut session = Output::create(args.output.join(SESSION), OutputOptions::default(), &[])?;
    let name = session.name();
    own.agreed.write(&mut session, &name)?;
    let session_of = &own.agreed.session;
    let (parties, threshold) = (session_of.parties().len(), session_of.threshold());
    let summary = place("init", &own, vec![session, secret])?;
    folder.keep();
    Ok(summary
        .line(format!("party {} of {parties}, any {threshold} of whom decrypt", args.party))
        .fact("party", args.party)
        .fact("parties", parties)
        .fact("threshold", threshold)
        .fact("sealed", own.passphrase.is_some())
        .fact("parameters", <Ckks as he_files::scheme::Scheme>::params_json(&own.agreed.params)))
}

fn share_keys(own: &Own) -> Result<Summary> {
    let key = own.key()?;
    let (shares, kept) = party::key_shares(&own.agreed, &key, &own.ring, &mut rng()?)?;
    let outputs = vec![own.written(KEYS, false, shares)?, own.kept(ROUND_KEY, kept)?];
    place("share keys", own, outputs)
}

fn share_relin(own: &Own, shares: &[PathBuf]) -> Result<Summary> {
    let key = own.key()?;
    let kept = own.agreed.frames(own.secret(ROUND_KEY)?)?;
    let first = own.read(shares)?;
    let share = party::relinearisation_share(&own.agreed, &key, &kept, &first, &own.ring, &mut rng()?)?;
    let output = own.written(RELIN, false, vec![share])?;
    let summary = place("share relin", own, vec![output])?;
    // A second share with it would reveal the difference of two errors.
    let used = own.folder.join(ROUND_KEY);
    std::fs::remove_file(&used).map_err(|error| he_files::Error::io(error, "remove", used.display()))?;
    Ok(summary)
}

fn share_secret(own: &Own) -> Result<Summary> {
    let key = own.key()?;
    let shares = party::secret_shares(&own.agreed, &key, &own.ring, &mut rng()?)?;
    let outputs = shares
        .into_iter()
        .map(|(to, frame)| own.written(&format!("secret-for-{to}.share"), true, vec![frame]))
        .collect::<Result<_>>()?;
    place("share secret", own, outputs)
}

/// The party's summand of the collective secret: of its threshold key if it has one.
fn summand(own: &Own, quorum: &[u32]) -> Result<KeyShare<Device>> {
    let everybody = quorum == own.agreed.session.parties();
    let core = he_files::Error::from;
    if everybody && !own.folder.join(THRESHOLD_KEY).exists() {
        return Ok(own.key()?.share(&own.ring).map_err(core)?);
    }
    let key = own.agreed.threshold_key(&own.ring, own.secret(THRESHOLD_KEY)?)?;
    Ok(key.share(quorum).map_err(core)?)
}

fn encrypt(args: &PartyEncrypt) -> Result<Summary> {
    let own = Own::open(&args.folder)?;
    if args.output.as_os_str() == "-" {
        return Err(CliError::usage("an input of a party is a file").hint("name it with --output"));
    }
    // Before anything is encrypted, so that the list can be written.
    let ledger = Ledger::open(&own.folder.join(OWN))?;
    let key = Some(own.folder.join(PUBLIC_KEY));
    let summary = super::encrypt::run(&Encrypt {
        input: args.input.clone(),
        more: Vec::new(),
        unlock: Unlock { key, passphrase: false, opening: args.folder.opening.clone() },
        output: args.output.clone(),
        model: None,
        halo: None,
        frame: None,
        width: None,
        signed: false,
        transcipher: false,
        table: args.table.clone(),
        device: args.device.clone(),
        force: false,
    })?;
    let written = own.agreed.table(Input::open(&args.output)?);
    match written.and_then(|_| party::input_digest(Input::open(&args.output)?)) {
        Ok(digest) => ledger.record(&[(digest, 0)])?,
        Err(error) => {
            // Best effort: the error is what matters, and the file is of no use.
            let _ = std::fs::remove_file(&args.output);
            return Err(error.into());
        }
    }
    Ok(summary.fact("step", "encrypt"))
}

fn check(own: &Own, args: &PartyCheck) -> Result<Summary> {
    let paths = args.inputs.iter().map(|input| &*input.path);
    stdin_once(paths.chain([&*args.result]).chain(args.program.as_deref()))?;
    let key = own.key()?;
    let steps = match &args.program {
        Some(path) => program::steps(path, &args.inputs)?,
        None => Vec::new(),
    };
    let evaluation = own.folder.join(EVAL_KEY);
    let inputs = args.inputs.iter().map(|input| Ok((input.party, Input::open(&input.path)?)));
    let computation = Computation {
        inputs: inputs.collect::<Result<_>>()?,
        key: if steps.is_empty() { None } else { Some(Input::open(evaluation)?) },
        steps,
        result: Input::open(&args.result)?,
    };
    let ledger = Ledger::open(&own.folder.join(OWN))?;
    let watch: Arc<dyn he_files::watch::Watch> = Arc::new(Shown::default());
    let (transcript, frame) = own.agreed.transcript((&key, &ledger), &own.ring, computation, &watch)?;
    let output = own.written_to(&args.output, false, vec![frame])?;
    let inputs: Vec<_> = args
        .inputs
        .iter()
        .map(|input| json!({ "party": input.party, "path": input.path.display().to_string() }))
        .collect();
    let summary = place("check", own, vec![output])?;
    Ok(summary
        .line(format!("{} is the result of computation {}", shown(&args.result), transcript.id()))
        .path("input", &args.result)
        .fact("inputs", inputs)
        .fact("party", key.party())
        .fact("transcript", transcript.id().to_string()))
}

fn share_decryption(
    own: &Own,
    input: &Path,
    transcripts: &[PathBuf],
    quorum: &Quorum,
    output: &Path,
) -> Result<Summary> {
    stdin_once(transcripts.iter().map(PathBuf::as_path).chain([input]))?;
    let quorum = named(own, quorum)?;
    let known = Known::own(&own.agreed, &own.key()?, &own.read(transcripts)?)?;
    let key = summand(own, &quorum)?;
    // Nobody else makes a share of this party from here to the end.
    let ledger = Ledger::open(&own.folder.join(SHARED))?;
    let publication = Publication::new(ledger.publisher(&own.agreed.plan)?, rng()?);
    let (spent, all) = (ledger.spent(), own.agreed.plan.publisher()?.decryptions());
    let shared = party::decryption_shares(
        &own.agreed,
        &key,
        (&known, &ledger),
        Input::open(input)?,
        &own.ring,
        &publication,
    )?;
    let output = own.written_to(output, false, shared.frames)?;
    ledger.record(&shared.runs)?;
    let summary = place("share decrypt", own, vec![output])?;
    let published = publication.published() - spent;
    Ok(summary
        .line(format!("{published} decryptions shared, {} of {all} in all", spent + published))
        .path("input", input)
        .fact("quorum", quorum)
        .fact("published", published)
        .fact("left", all - spent - published)
        .fact("transcript", known.id().to_string())
        .fact("history", shared.history)
        .fact("flood_error_log2", publication.error_log2()))
}

fn combine_keys(own: &Own, first: &[PathBuf], second: &[PathBuf]) -> Result<Summary> {
    let (first, second) = (own.read(first)?, own.read(second)?);
    let Agreed { params, id, .. } = &own.agreed;
    let (public, keys) = party::combined_keys(&own.agreed, &first, &second, &own.ring)?;
    let [mut public_file, mut keys_file] = {
        let create = |name: &str| Output::create(own.folder.join(name), OutputOptions::default(), &[]);
        [create(PUBLIC_KEY)?, create(EVAL_KEY)?]
    };
    let name = public_file.name();
    write_key::<Ckks>(&mut public_file, params, id, [public.to_frame(params)], &name)?;
    let name = keys_file.name();
    write_key::<Ckks>(&mut keys_file, params, id, keys.to_frames(params), &name)?;
    place("combine keys", own, vec![public_file, keys_file])
}

fn combine_secret(own: &Own, shares: &[PathBuf]) -> Result<Summary> {
    let party = own.key()?.party();
    let key = party::threshold_key(&own.agreed, party, &own.read(shares)?, &own.ring)?;
    let frame = key.to_frame(&own.agreed.params).map_err(he_files::Error::from)?;
    let output = own.kept(THRESHOLD_KEY, frame)?;
    place("combine secret", own, vec![output])
}

fn combine_decryption(
    own: &Own,
    input: &Path,
    [transcripts, shares]: [&[PathBuf]; 2],
    quorum: &Quorum,
    output: &Path,
) -> Result<Summary> {
    stdin_once(transcripts.iter().chain(shares).map(PathBuf::as_path).chain([input]))?;
    let quorum = named(own, quorum)?;
    let known = Known::others(&own.agreed, &own.read(transcripts)?)?;
    let files = own.read(shares)?;
    let options = OutputOptions { private: true, ..OutputOptions::default() };
    let mut out = stdio::create(output, options, Text::Yes, &[input])?;
    let team = Team::<Ckks>::new(&own.agreed.params, &[Device::cpu()])?;
    let source = Input::open(input)?;
    let (plain, history) = party::decrypted(&own.agreed, &quorum, &known, &files, &team, source)?;
    plain.write(Format::Png, &mut out).map_err(|error| error.written_to(&out.name()))?;
    let bytes = out.bytes();
    out.commit()?;
    let summary = Summary::new("party")
        .fact("step", "combine decrypt")
        .fact("key_set", own.agreed.id.short())
        .path("input", input)
        .output(output)
        .fact("quorum", quorum)
        .fact("history", history)
        .fact("transcript", known.id().to_string())
        .fact("bytes", bytes);
    match output.as_os_str() == "-" {
        true => Ok(summary),
        false => Ok(summary.line(format!("{}: {}", shown(output), units::bytes(bytes)))),
    }
}
