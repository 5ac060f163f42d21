//! `party`: keys of several parties, and what they decrypt together.

use crate::args::{CombineStep, Party, PartyInit, PartyStep, Quorum, ShareStep};
use crate::error::{CliError, Result};
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown};
use he::Device;
use he_core::mhe::KeyShare;
use he_core::ring::Ring;
use he_core::wire::{Frame, Wire, WireKeys};
use he_files::cipher_file::CipherReader;
use he_files::contents::images;
use he_files::data::picture::Format;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::write_key;
use he_files::needs::{Published, RealNeeds};
use he_files::note::Content;
use he_files::party::{self, Agreed, Named, Plan};
use he_files::publication::Publication;
use he_files::scheme::Ckks;
use he_files::scheme::engine::rng;
use he_files::team::Team;
use he_files::units;
use serde_json::json;
use std::path::{Path, PathBuf};

/// The files of a party.
const SESSION: &str = "session.he";
const PARTY_KEY: &str = "party.key";
const KEYS: &str = "keys.share";
const ROUND_KEY: &str = "round.key";
const RELIN: &str = "relin.share";
const THRESHOLD_KEY: &str = "threshold.key";

/// Bits of precision that several parties lose beside one: by the noise of their keys.
const PARTY_BITS: u32 = 11;

pub(super) fn run(args: &Party) -> Result<Summary> {
    match &args.step {
        PartyStep::Init(args) => init(args),
        PartyStep::Share(ShareStep::Keys(args)) => share_keys(&args.folder),
        PartyStep::Share(ShareStep::Relin { folder, shares }) => share_relin(&folder.folder, &shares.shares),
        PartyStep::Share(ShareStep::Secret(args)) => share_secret(&args.folder),
        PartyStep::Share(ShareStep::Decrypt { folder, input, quorum, output }) => {
            share_decryption(&folder.folder, input, quorum, output)
        }
        PartyStep::Combine(CombineStep::Keys { folder, shares, second }) => {
            combine_keys(&folder.folder, &shares.shares, second)
        }
        PartyStep::Combine(CombineStep::Secret { folder, shares }) => {
            combine_secret(&folder.folder, &shares.shares)
        }
        PartyStep::Combine(CombineStep::Decrypt { folder, input, shares, quorum, output }) => {
            combine_decryption(&folder.folder, input, &shares.shares, quorum, output)
        }
    }
}

/// A party's folder, opened.
struct Own {
    folder: PathBuf,
    agreed: Agreed,
    ring: Ring<Device>,
}

impl Own {
    fn open(folder: &Path) -> Result<Self> {
        let agreed = Agreed::read(Input::open(folder.join(SESSION))?)?;
        let ring = agreed.ring()?;
        Ok(Self { folder: folder.to_owned(), agreed, ring })
    }

    fn input(&self, name: &str) -> Result<Input> {
        Ok(Input::open(self.folder.join(name))?)
    }

    /// Files of the session.
    fn read(&self, paths: &[PathBuf]) -> Result<Vec<Named>> {
        stdin_once(paths.iter().map(PathBuf::as_path))?;
        paths.iter().map(|path| Ok(self.agreed.frames(Input::open(path)?)?)).collect()
    }

    /// A new file of the folder, not yet named.
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
}

/// Those who decrypt.
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
            let needs = args.needs.needs();
            let precision = needs.precision + PARTY_BITS;
            let params = RealNeeds { precision, published: Some(published), ..needs }.params()?;
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
    let own = Own { folder: args.output.clone(), agreed, ring };
    let frame = key.to_frame(&own.agreed.params).map_err(he_files::Error::from)?;
    let secret = own.written(PARTY_KEY, true, vec![frame])?;
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
        .fact("parameters", <Ckks as he_files::scheme::Scheme>::params_json(&own.agreed.params)))
}

fn share_keys(folder: &Path) -> Result<Summary> {
    let own = Own::open(folder)?;
    let key = own.agreed.party_key(own.input(PARTY_KEY)?)?;
    let (shares, kept) = party::key_shares(&own.agreed, &key, &own.ring, &mut rng()?)?;
    let outputs = vec![own.written(KEYS, false, shares)?, own.written(ROUND_KEY, true, vec![kept])?];
    place("share keys", &own, outputs)
}

fn share_relin(folder: &Path, shares: &[PathBuf]) -> Result<Summary> {
    let own = Own::open(folder)?;
    let key = own.agreed.party_key(own.input(PARTY_KEY)?)?;
    let kept = own.agreed.frames(own.input(ROUND_KEY)?)?;
    let first = own.read(shares)?;
    let share = party::relinearisation_share(&own.agreed, &key, &kept, &first, &own.ring, &mut rng()?)?;
    let output = own.written(RELIN, false, vec![share])?;
    let summary = place("share relin", &own, vec![output])?;
    // A second share with it would reveal the difference of two errors.
    let used = folder.join(ROUND_KEY);
    std::fs::remove_file(&used).map_err(|error| he_files::Error::io(error, "remove", used.display()))?;
    Ok(summary)
}

fn share_secret(folder: &Path) -> Result<Summary> {
    let own = Own::open(folder)?;
    let key = own.agreed.party_key(own.input(PARTY_KEY)?)?;
    let shares = party::secret_shares(&own.agreed, &key, &own.ring, &mut rng()?)?;
    let outputs = shares
        .into_iter()
        .map(|(to, frame)| own.written(&format!("secret-for-{to}.share"), true, vec![frame]))
        .collect::<Result<_>>()?;
    place("share secret", &own, outputs)
}

/// The party's summand of the collective secret: of its threshold key if it has one.
fn summand(own: &Own, quorum: &[u32]) -> Result<KeyShare<Device>> {
    let everybody = quorum == own.agreed.session.parties();
    let core = he_files::Error::from;
    if everybody && !own.folder.join(THRESHOLD_KEY).exists() {
        let key = own.agreed.party_key(own.input(PARTY_KEY)?)?;
        return Ok(key.share(&own.ring).map_err(core)?);
    }
    let key = own.agreed.threshold_key(&own.ring, own.input(THRESHOLD_KEY)?)?;
    Ok(key.share(quorum).map_err(core)?)
}

fn reader(own: &Own, input: &Path) -> Result<CipherReader<Ckks>> {
    let reader = CipherReader::<Ckks>::open(input)?;
    if reader.params != own.agreed.params || reader.payload.key_id != own.agreed.id {
        let (found, expected) = (reader.payload.key_id.short().to_owned(), own.agreed.id.short().to_owned());
        let name = reader.name;
        return Err(he_files::Error::from(he_files::error::FileError::OtherSession {
            name,
            found,
            expected,
        })
        .into());
    }
    if !matches!(reader.payload.content, Content::Table(_)) {
        return Err(
            CliError::new(format!("{} is not a table", reader.name)).hint("parties decrypt tables together")
        );
    }
    Ok(reader)
}

fn share_decryption(folder: &Path, input: &Path, quorum: &Quorum, output: &Path) -> Result<Summary> {
    let own = Own::open(folder)?;
    let mut reader = reader(&own, input)?;
    let quorum = named(&own, quorum)?;
    let key = summand(&own, &quorum)?;
    let publication = Publication::new(own.agreed.plan.publisher()?, rng()?);
    let frames = party::decryption_shares(&own.agreed, &key, &mut reader, &own.ring, &publication)?;
    let output = own.written_to(output, false, frames)?;
    let summary = place("share decrypt", &own, vec![output])?;
    let published = publication.published();
    Ok(summary
        .line(format!("{published} decryptions shared: keep count of them"))
        .path("input", input)
        .fact("quorum", quorum)
        .fact("published", published)
        .fact("history", reader.payload.history)
        .fact("flood_error_log2", publication.error_log2()))
}

fn combine_keys(folder: &Path, first: &[PathBuf], second: &[PathBuf]) -> Result<Summary> {
    let own = Own::open(folder)?;
    let (first, second) = (own.read(first)?, own.read(second)?);
    let Agreed { params, id, .. } = &own.agreed;
    let (public, keys) = party::combined_keys(&own.agreed, &first, &second, &own.ring)?;
    let [mut public_file, mut keys_file] = {
        let create = |name: &str| Output::create(folder.join(name), OutputOptions::default(), &[]);
        [create("public.key")?, create("eval.key")?]
    };
    let name = public_file.name();
    write_key::<Ckks>(&mut public_file, params, id, [public.to_frame(params)], &name)?;
    let name = keys_file.name();
    write_key::<Ckks>(&mut keys_file, params, id, keys.to_frames(params), &name)?;
    place("combine keys", &own, vec![public_file, keys_file])
}

fn combine_secret(folder: &Path, shares: &[PathBuf]) -> Result<Summary> {
    let own = Own::open(folder)?;
    let party = own.agreed.party_key(own.input(PARTY_KEY)?)?.party();
    let key = party::threshold_key(&own.agreed, party, &own.read(shares)?, &own.ring)?;
    let frame = key.to_frame(&own.agreed.params).map_err(he_files::Error::from)?;
    let output = own.written(THRESHOLD_KEY, true, vec![frame])?;
    place("combine secret", &own, vec![output])
}

fn combine_decryption(
    folder: &Path,
    input: &Path,
    shares: &[PathBuf],
    quorum: &Quorum,
    output: &Path,
) -> Result<Summary> {
    let own = Own::open(folder)?;
    let mut reader = reader(&own, input)?;
    let quorum = named(&own, quorum)?;
    let files = own.read(shares)?;
    let options = OutputOptions { private: true, ..OutputOptions::default() };
    let mut out = stdio::create(output, options, Text::Yes, &[input])?;
    let team = Team::<Ckks>::new(&own.agreed.params, &[Device::cpu()])?;
    let plain = party::decrypted(&own.agreed, &quorum, &files, &team, &mut reader)?;
    plain.write(Format::Png, &mut out).map_err(|error| error.written_to(&out.name()))?;
    let bytes = out.bytes();
    out.commit()?;
    let summary = Summary::new("party")
        .fact("step", "combine decrypt")
        .fact("key_set", own.agreed.id.short())
        .path("input", input)
        .output(output)
        .fact("quorum", quorum)
        .fact("history", reader.payload.history)
        .fact("bytes", bytes);
    match output.as_os_str() == "-" {
        true => Ok(summary),
        false => Ok(summary.line(format!("{}: {}", shown(output), units::bytes(bytes)))),
    }
}
