//! `trace`: signed roots, and operations of traces by themselves.

use super::audit::{self, check_signer, inference_files, model_of, write_signed};
use crate::args::{TraceCommand, TraceKeygen, TraceOpen, TraceParts, TraceSign, TraceStep, TraceVerify};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown};
use he_files::audit::{Disputed, Keeping};
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::scheme::engine::rng;
use he_files::trace::{SigningKey, Trace, hex};

/// The names of the keys of a signer.
const KEY_NAMES: [&str; 2] = ["signing.pem", "verifying.pem"];

/// Carries out a step.
pub(super) fn run(args: &TraceCommand) -> Result<Summary> {
    match &args.step {
        TraceStep::Keygen(args) => keygen(args),
        TraceStep::Sign(args) => sign(args),
        TraceStep::Verify(args) => verify(args),
        TraceStep::Open(args) => open(args),
        TraceStep::Parts(args) => parts(args),
    }
}

/// Records the parts of an operation.
fn parts(args: &TraceParts) -> Result<Summary> {
    let read = [&*args.trace, &args.input, &args.key];
    stdin_once(read.into_iter().chain(args.of.model.as_deref()))?;
    let trace = Trace::read(Input::open(&args.trace)?)?;
    let model = model_of(&args.of)?;
    let files = inference_files(&model, &args.input, &args.key, &args.of)?;
    let output = audit::output(&args.output, args.force, &read)?;
    let folder = args.keep.as_deref().map(create_dir).transpose()?;
    let device = args.device.open()?.lead().clone();
    let operation = args.operation as usize;
    if operation >= trace.operations().len() {
        let (all, why) = (trace.operations().len(), "there is no such operation in the trace");
        return Err(CliError::new(why).hint(format!("give a place below {all}")));
    }
    let part = args.part.map(|part| part as usize);
    let keep = folder.as_ref().map(|folder| Keeping { folder: folder.path(), part });
    let kept = args.of.values.as_deref();
    let disputed = Disputed { trace: &trace, model: &model, operation };
    let parts = disputed.record(files, kept, device, keep, &Shown::default())?;
    if let Some(folder) = folder {
        folder.keep();
    }
    let summary = Summary::new("trace parts").path("trace", &args.trace).fact("operation", operation);
    audit::recorded(&parts, output, &args.output, summary)
}

fn keygen(args: &TraceKeygen) -> Result<Summary> {
    let folder = create_dir(&args.output)?;
    let [signing, verifying] = KEY_NAMES.map(|name| {
        let options =
            OutputOptions { force: args.force, secret: name == KEY_NAMES[0], ..OutputOptions::default() };
        Output::create(folder.path().join(name), options, &[])
    });
    let key = SigningKey::generate(&mut rng()?);
    Output::commit_all([
        signing?.holding(key.to_pem()?.as_bytes())?,
        verifying?.holding(key.verifying_key().to_pem()?.as_bytes())?,
    ])?;
    folder.keep();
    let signer = key.verifying_key().to_string();
    Ok(Summary::new("trace keygen")
        .path("output", &args.output)
        .fact("signer", signer.clone())
        .line(format!("{}: the keys of signer {signer}", shown(&args.output))))
}

fn sign(args: &TraceSign) -> Result<Summary> {
    stdin_once([&*args.trace, &args.key])?;
    let key = SigningKey::read(Input::open(&args.key)?)?;
    let root = Trace::read(Input::open(&args.trace)?)?.root();
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::Yes, &[&args.trace, &args.key])?;
    write_signed(&key.sign(&root), output)?;
    let (root, signer) = (hex(&root), key.verifying_key().to_string());
    Ok(Summary::new("trace sign")
        .path("trace", &args.trace)
        .path("output", &args.output)
        .fact("root", root.clone())
        .fact("signer", signer.clone())
        .line(format!("{}: root {root}, signed by {signer}", shown(&args.output))))
}

fn verify(args: &TraceVerify) -> Result<Summary> {
    stdin_once([&*args.trace, &args.signed, &args.signer])?;
    let root = Trace::read(Input::open(&args.trace)?)?.root();
    let signer = check_signer(&root, &args.signed, &args.signer)?.to_string();
    let root = hex(&root);
    Ok(Summary::new("trace verify")
        .path("trace", &args.trace)
        .fact("root", root.clone())
        .fact("signer", signer.clone())
        .line(format!("{}: root {root}, signed by {signer}", shown(&args.trace))))
}

fn open(args: &TraceOpen) -> Result<Summary> {
    let trace = Trace::read(Input::open(&args.trace)?)?;
    let places: Vec<usize> = args.operations.iter().map(|&place| place as usize).collect();
    let bytes = trace.open(&places)?.to_bytes()?;
    let options = OutputOptions { force: args.force, ..OutputOptions::default() };
    stdio::create(&args.output, options, Text::No, &[&args.trace])?.holding(&bytes)?.commit()?;
    let (root, all) = (hex(&trace.root()), trace.operations().len());
    Ok(Summary::new("trace open")
        .path("trace", &args.trace)
        .path("output", &args.output)
        .fact("root", root.clone())
        .fact("operations", all)
        .fact("opened", places.len())
        .fact("bytes", bytes.len())
        .line(format!("{}: {} of {all} operations, root {root}", shown(&args.output), places.len())))
}
