//! `party`: keys of several parties, and what they decrypt together.

mod program;

use crate::args::{
    CombineStep, Encrypt, Party, PartyCheck, PartyEncrypt, PartyFolder, PartyInit, PartyStep, Quorum,
    ShareStep, Unlock,
};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown};
use he_files::data::picture::Format;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::needs::Published;
use he_files::party::AnyAgreed;
use he_files::party::folder::{Folder, PARTY_KEY, PUBLIC_KEY, Placed};
use he_files::passphrase::{Passphrases, Purpose};
use he_files::units;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) fn run(args: &Party) -> Result<Summary> {
    match &args.step {
        PartyStep::Init(args) => init(args),
        PartyStep::Encrypt(args) => encrypt(args),
        PartyStep::Check(args) => check(&unlocked(&args.folder)?, args),
        PartyStep::Share(ShareStep::Keys(folder)) => {
            let own = unlocked(folder)?;
            Ok(told("share keys", &own, own.share_keys()?))
        }
        PartyStep::Share(ShareStep::Relin { folder, shares }) => {
            let own = unlocked(folder)?;
            Ok(told("share relin", &own, own.share_relin(opened(&shares.shares)?)?))
        }
        PartyStep::Share(ShareStep::Secret(folder)) => {
            let own = unlocked(folder)?;
            Ok(told("share secret", &own, own.share_secret()?))
        }
        PartyStep::Share(ShareStep::Decrypt { folder, input, transcripts, quorum, output }) => {
            share_decryption(&unlocked(folder)?, input, &transcripts.transcripts, quorum, output)
        }
        PartyStep::Combine(CombineStep::Keys { folder, shares, second }) => {
            let own = Folder::open(&folder.folder)?;
            stdin_once(shares.shares.iter().chain(second).map(PathBuf::as_path))?;
            Ok(told("combine keys", &own, own.combine_keys(opened(&shares.shares)?, opened(second)?)?))
        }
        PartyStep::Combine(CombineStep::Secret { folder, shares }) => {
            let own = unlocked(folder)?;
            Ok(told("combine secret", &own, own.combine_secret(opened(&shares.shares)?)?))
        }
        PartyStep::Combine(CombineStep::Decrypt { folder, input, transcripts, shares, quorum, output }) => {
            let messages = [&*transcripts.transcripts, &shares.shares];
            combine_decryption(&Folder::open(&folder.folder)?, input, messages, quorum, output)
        }
    }
}

/// A party's folder, with the passphrase if the party's secrets are sealed.
fn unlocked(args: &PartyFolder) -> Result<Folder> {
    let own = Folder::open(&args.folder)?;
    Ok(own.unlocked(|name| args.opening.obtain(Purpose::Open, name))?)
}

/// Files to be read.
fn opened(paths: &[PathBuf]) -> Result<Vec<Input>> {
    stdin_once(paths.iter().map(PathBuf::as_path))?;
    paths.iter().map(|path| Ok(Input::open(path)?)).collect()
}

/// The parties that decrypt.
fn named(own: &Folder, quorum: &Quorum) -> Result<Vec<u32>> {
    let session = own.agreed().session();
    let (threshold, all) = (session.threshold(), session.parties().len());
    if quorum.quorum.is_empty() && threshold < all {
        let example: Vec<String> = session.parties()[..threshold].iter().map(u32::to_string).collect();
        let what = format!("any {threshold} of {all} parties decrypt together, and none are named");
        return Err(CliError::usage(what).hint(format!("give them, as in --quorum {}", example.join(","))));
    }
    Ok(own.agreed().quorum(&quorum.quorum)?)
}

/// Tells of files that were written.
fn told(step: &str, own: &Folder, placed: Vec<Placed>) -> Summary {
    let mut summary = Summary::new("party").fact("step", step).fact("key_set", own.agreed().id().short());
    let mut files = Vec::new();
    for Placed { name, bytes } in placed {
        summary = summary.line(format!("{name}: {}", units::bytes(bytes)));
        files.push(json!({ "path": name, "bytes": bytes }));
    }
    summary.fact("files", files)
}

fn init(args: &PartyInit) -> Result<Summary> {
    let agreed = match (&args.session, args.parties) {
        (Some(path), _) => AnyAgreed::read(Input::open(path)?)?,
        (None, Some(parties)) => {
            let decryptions = args.decryptions;
            let published = Published {
                decryptions: decryptions.queries,
                security_bits: decryptions.statistical_security,
            };
            AnyAgreed::for_needs(&args.session_needs()?, published, parties, args.threshold)?
        }
        (None, None) => {
            return Err(CliError::usage("a session of nobody").hint("give --parties or --session"));
        }
    };
    let passphrase = args.seal.obtain(&args.output.join(PARTY_KEY).display().to_string())?;
    let (own, placed) = Folder::create(&args.output, agreed, args.party, passphrase)?;
    let agreed = own.agreed();
    let (parties, threshold) = (agreed.session().parties().len(), agreed.session().threshold());
    Ok(told("init", &own, placed)
        .line(format!("party {} of {parties}, any {threshold} of whom decrypt", args.party))
        .fact("party", args.party)
        .fact("parties", parties)
        .fact("threshold", threshold)
        .fact("sealed", own.is_sealed())
        .fact("parameters", agreed.params_json()))
}

fn encrypt(args: &PartyEncrypt) -> Result<Summary> {
    let own = Folder::open(&args.folder.folder)?;
    if args.output.as_os_str() == "-" {
        return Err(CliError::usage("an input of a party is a file").hint("name it with --output"));
    }
    // Before anything is encrypted, so that the list can be written.
    let ledger = own.own_tables()?;
    let key = Some(own.path(PUBLIC_KEY));
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
    if let Err(error) = own.note_own(ledger, || Input::open(&args.output)) {
        // Best effort: the error is what matters, and the file is of no use.
        let _ = std::fs::remove_file(&args.output);
        return Err(error.into());
    }
    Ok(summary.fact("step", "encrypt"))
}

fn check(own: &Folder, args: &PartyCheck) -> Result<Summary> {
    let paths = args.inputs.iter().map(|input| &*input.path);
    stdin_once(paths.chain([&*args.result]).chain(args.program.as_deref()))?;
    let steps = match &args.program {
        Some(path) => program::steps(path, &args.inputs)?,
        None => Vec::new(),
    };
    let inputs = args.inputs.iter().map(|input| Ok((input.party, Input::open(&input.path)?)));
    let (inputs, result) = (inputs.collect::<Result<_>>()?, Input::open(&args.result)?);
    let watch: Arc<dyn he_files::watch::Watch> = Arc::new(Shown::default());
    let output = Output::create(&args.output, OutputOptions::default(), &[])?;
    let (transcript, party, placed) = own.check(inputs, steps, result, &watch, output)?;
    let inputs: Vec<_> = args
        .inputs
        .iter()
        .map(|input| json!({ "party": input.party, "path": input.path.display().to_string() }))
        .collect();
    Ok(told("check", own, placed)
        .line(format!("{} is the result of computation {transcript}", shown(&args.result)))
        .path("input", &args.result)
        .fact("inputs", inputs)
        .fact("party", party)
        .fact("transcript", transcript.to_string()))
}

fn share_decryption(
    own: &Folder,
    input: &Path,
    transcripts: &[PathBuf],
    quorum: &Quorum,
    output: &Path,
) -> Result<Summary> {
    stdin_once(transcripts.iter().map(PathBuf::as_path).chain([input]))?;
    let quorum = named(own, quorum)?;
    let (transcripts, result) = (opened(transcripts)?, Input::open(input)?);
    let output = Output::create(output, OutputOptions::default(), &[])?;
    let made = own.share_decryption(result, transcripts, &quorum, output)?;
    let all = own.agreed().plan().publisher()?.decryptions();
    let (published, left) = (made.published, made.left);
    Ok(told("share decrypt", own, vec![made.file])
        .line(format!("{published} decryptions shared, {} of {all} in all", all - left))
        .path("input", input)
        .fact("quorum", quorum)
        .fact("published", published)
        .fact("left", left)
        .fact("transcript", made.transcript.to_string())
        .fact("history", made.history)
        .fact("flood_error_log2", made.flood_error_log2))
}

fn combine_decryption(
    own: &Folder,
    input: &Path,
    [transcripts, shares]: [&[PathBuf]; 2],
    quorum: &Quorum,
    output: &Path,
) -> Result<Summary> {
    stdin_once(transcripts.iter().chain(shares).map(PathBuf::as_path).chain([input]))?;
    let quorum = named(own, quorum)?;
    let options = OutputOptions { private: true, ..OutputOptions::default() };
    let mut out = stdio::create(output, options, Text::Yes, &[input])?;
    let (transcripts, shares) = (opened(transcripts)?, opened(shares)?);
    let found = own.combine_decryption(Input::open(input)?, transcripts, shares, &quorum)?;
    found.plain.write(Format::Png, &mut out).map_err(|error| error.written_to(&out.name()))?;
    let bytes = out.bytes();
    out.commit()?;
    let summary = Summary::new("party")
        .fact("step", "combine decrypt")
        .fact("key_set", own.agreed().id().short())
        .path("input", input)
        .output(output)
        .fact("quorum", quorum)
        .fact("history", found.history)
        .fact("transcript", found.transcript.to_string())
        .fact("bytes", bytes);
    match output.as_os_str() == "-" {
        true => Ok(summary),
        false => Ok(summary.line(format!("{}: {}", shown(output), units::bytes(bytes)))),
    }
}
