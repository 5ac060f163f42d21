//! `audit` and `dispute`, and the traces that `eval` and `infer` record.

use crate::args::{Audit, Dispute, OfInference};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_files::audit::{self, Choice, Disputed, InferenceFiles, Report, Stated};
use he_files::bootstrap;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::listing::Checksum;
use he_files::models::ModelFile;
use he_files::operation::{self, Sources};
use he_files::scheme::engine::rng;
use he_files::trace::{self, OPENING_MAGIC, Opening, SignedRoot, Trace, VerifyingKey};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The shares of operations for which the report of an audit says how likely it was to find them.
const SHARES: [f64; 3] = [0.01, 0.1, 0.5];

/// A file for a trace, which a command is about to record.
pub(super) fn output(path: &Path, force: bool, inputs: &[&Path]) -> Result<Output> {
    stdio::create(path, OutputOptions { force, ..OutputOptions::default() }, Text::No, inputs)
}

/// The files for the trace of a job of a service, and for its root as the service has signed it.
#[cfg(feature = "client")]
pub(super) struct Asked<'a> {
    trace: Option<(Output, &'a Path)>,
    signed: Option<Output>,
}

#[cfg(feature = "client")]
impl<'a> Asked<'a> {
    pub(super) fn new(
        record: Option<&'a Path>,
        signed: Option<&Path>,
        force: bool,
        inputs: &[&Path],
    ) -> Result<Self> {
        let trace = record.map(|path| Ok::<_, CliError>((output(path, force, inputs)?, path))).transpose()?;
        let signed = signed.map(|path| output(path, force, inputs)).transpose()?;
        Ok(Self { trace, signed })
    }

    /// Whether the service is asked for a trace.
    pub(super) fn is_wanted(&self) -> bool {
        self.trace.is_some()
    }

    /// Checks that the trace of a job is that of its root and its result, and writes it. Whether
    /// the operations are right is for an audit.
    pub(super) fn write(self, job: &crate::remote::Done, summary: Summary) -> Result<Summary> {
        let Some((file, path)) = self.trace else { return Ok(summary) };
        let of_service = || CliError::new("the service has sent a trace that is not that of its result");
        let proof = job.proof.as_ref().ok_or_else(of_service)?;
        let trace = Trace::from_bytes(&proof.trace)?;
        if trace.result_frames() != proof.frames || trace::hex(&trace.root()) != proof.root {
            return Err(of_service().hint("ask whoever runs the service: the result is kept"));
        }
        if let Some(output) = self.signed {
            let signed = proof.signed.as_ref().ok_or_else(|| {
                CliError::new("the service signs no roots").hint("leave out --signed, or ask its operator")
            })?;
            write_signed(signed, output)?;
        }
        recorded(&trace, file, path, summary)
    }
}

/// Writes a trace, and adds its root to the summary of the command that recorded it.
pub(super) fn recorded(trace: &Trace, output: Output, path: &Path, summary: Summary) -> Result<Summary> {
    output.holding(&trace.to_bytes()?)?.commit()?;
    let (root, count) = (trace::hex(&trace.root()), trace.operations().len());
    let line = format!("{}: {count} operations, root {root}", shown(path));
    Ok(summary.path("trace", path).fact("root", root).fact("operations", count).line(line))
}

/// Reads a trace.
fn open(path: &Path) -> Result<Trace> {
    Ok(Trace::read(Input::open(path)?)?)
}

/// The files that a computation read.
struct Files<'a> {
    inputs: &'a [PathBuf],
    key: &'a Path,
    of: &'a OfInference,
}

impl Files<'_> {
    /// Everything that is read.
    fn all(&self) -> impl Iterator<Item = &Path> {
        let more = self.inputs.iter().chain(&self.of.model).chain(&self.of.bootstrap_key);
        more.map(PathBuf::as_path).chain([self.key])
    }

    /// The bootstrapping key, if the first input takes one or it is given.
    fn bootstrap(&self) -> Option<PathBuf> {
        let takes_one = |input: &PathBuf| Input::open(input).is_ok_and(operation::takes_bootstrapping);
        let beside = || self.key.with_file_name(bootstrap::KEY_NAME);
        let found = || self.inputs.first().filter(|input| takes_one(input)).map(|_| beside());
        self.of.bootstrap_key.clone().or_else(found)
    }
}

/// A trace, or some operations of one.
enum Recorded {
    Trace(Trace),
    Opening(Opening),
}

impl Recorded {
    fn open(path: &Path) -> Result<Self> {
        let mut input = Input::open(path)?;
        Ok(match input.peek(OPENING_MAGIC.len())? == OPENING_MAGIC {
            true => Self::Opening(Opening::read(input)?),
            false => Self::Trace(Trace::read(input)?),
        })
    }

    fn stated(&self) -> Stated<'_> {
        match self {
            Self::Trace(trace) => trace.into(),
            Self::Opening(opening) => opening.into(),
        }
    }
}

/// Checks who has signed a root.
pub(super) fn check_signer(root: &Checksum, signed: &Path, signer: &Path) -> Result<VerifyingKey> {
    let signer = VerifyingKey::read(Input::open(signer)?)?;
    SignedRoot::read(Input::open(signed)?)?.check(root, &signer)?;
    Ok(signer)
}

/// Writes a signed root.
pub(super) fn write_signed(signed: &SignedRoot, output: Output) -> Result<()> {
    Ok(output.holding(format!("{}\n", signed.to_json()).as_bytes())?.commit()?)
}

/// Computes operations of a trace again.
fn recompute(stated: Stated<'_>, files: &Files<'_>, choice: &Choice) -> Result<Report> {
    let rng = &mut rng()?;
    if files.of.model.is_none() {
        let mut inputs = files.inputs.iter().map(Input::open).collect::<he_files::Result<Vec<_>>>()?;
        let key = Input::open(files.key)?;
        let bootstrap = files.bootstrap().map(|path| Input::open(&path)).transpose()?;
        let sources = Sources { input: inputs.remove(0), others: inputs, key, bootstrap };
        return Ok(audit::evaluation(stated, sources, choice, Arc::new(Shown::default()), rng)?);
    }
    let [examples] = files.inputs else {
        return Err(CliError::usage("an inference has one input").hint("give one file with --input"));
    };
    let model = model_of(files.of)?;
    let opened = inference_files(&model, examples, files.key, files.of)?;
    let kept = files.of.values.as_deref();
    Ok(audit::inference(stated, &model, opened, kept, choice, &Shown::default(), rng)?)
}

/// The model of an inference.
pub(super) fn model_of(of: &OfInference) -> Result<ModelFile> {
    let needed = || CliError::usage("a compiled model is needed").hint("give one with --model");
    Ok(ModelFile::open(Input::open(of.model.as_ref().ok_or_else(needed)?)?)?)
}

/// The files of an inference.
pub(super) fn inference_files(
    model: &ModelFile,
    examples: &Path,
    key: &Path,
    of: &OfInference,
) -> Result<InferenceFiles> {
    let beside = key.with_file_name(bootstrap::KEY_NAME);
    let bootstrap = of.bootstrap_key.as_ref().unwrap_or(&beside);
    let bootstrap = model.bootstrapping().map(|_| Input::open(bootstrap)).transpose()?;
    Ok(InferenceFiles { examples: Input::open(examples)?, key: Input::open(key)?, bootstrap })
}

/// Computes some operations of a trace again, and says what follows.
pub(super) fn audit(args: &Audit) -> Result<Summary> {
    let files = Files { inputs: &args.inputs, key: &args.key, of: &args.of };
    let signature = args.signed.iter().chain(&args.signer).map(PathBuf::as_path);
    stdin_once(files.all().chain([&*args.trace]).chain(args.result.as_deref()).chain(signature))?;
    let recorded = Recorded::open(&args.trace)?;
    let stated = recorded.stated();
    let signer = match (&args.signed, &args.signer) {
        (Some(signed), Some(signer)) => Some(check_signer(&stated.root(), signed, signer)?),
        _ => None,
    };
    let result = args.result.as_deref().map(|path| audit::check_result(stated, Input::open(path)?));
    let result = result.transpose()?;
    let report = recompute(stated, &files, &choice(args))?;
    if let Some(error) = wrong(&recorded, &report) {
        return Err(error);
    }
    Ok(told(args, stated, signer, result, &report))
}

/// The operations that the options choose.
fn choice(args: &Audit) -> Choice {
    match (args.all, args.these.is_empty()) {
        (true, _) => Choice::All,
        (_, false) => Choice::These(args.these.iter().map(|&place| place as usize).collect()),
        _ => Choice::Random(args.operations as usize),
    }
}

/// The error of an audit that has found something.
fn wrong(recorded: &Recorded, report: &Report) -> Option<CliError> {
    let &first = report.wrong.first()?;
    let name = match recorded {
        Recorded::Trace(trace) => format!(", {},", trace.operations()[first].name),
        Recorded::Opening(_) => String::new(),
    };
    let message = format!("operation {first} of the trace{name} has another result than is stated");
    let hint = format!(
        "the result is not what the program computes from the inputs, or these are others: {} of {} operations \
         that were computed again are wrong",
        report.wrong.len(),
        report.computed.len()
    );
    Some(CliError::new(message).hint(hint))
}

/// The summary of an audit that has found nothing.
fn told(
    args: &Audit,
    stated: Stated<'_>,
    signer: Option<VerifyingKey>,
    result: Option<(usize, usize)>,
    report: &Report,
) -> Summary {
    let (all, chosen, root) = (stated.operations(), report.chosen.len(), trace::hex(&stated.root()));
    let cheated = |share: f64| (share * all as f64).ceil() as usize;
    let caught = |share: f64| audit::caught(all, cheated(share), chosen);
    let signed = signer.map_or(String::new(), |signer| format!(", signed by {signer}"));
    let mut summary = Summary::new("audit")
        .path("trace", &args.trace)
        .fact("root", root.clone())
        .fact("signer", signer.map(|signer| signer.to_string()))
        .fact("program", stated.program().to_string())
        .fact("operations", all)
        .fact("chosen", chosen)
        .fact("computed", report.computed.len())
        .fact("caught", SHARES.map(|share| json!({ "share": share, "probability": caught(share) })).to_vec())
        .fact("result_checked", result.is_some())
        .line(format!("{}: {}, root {root}{signed}", shown(&args.trace), stated.program()))
        .line(format!(
            "{chosen} of {all} operations are as recorded ({} computed, in {})",
            report.computed.len(),
            time()
        ));
    if let Some((compared, frames)) = result.filter(|(compared, frames)| compared < frames) {
        summary = summary
            .line(format!("{compared} of {frames} parts of the result are those of opened operations"));
    }
    for share in SHARES.into_iter().filter(|_| chosen < all) {
        let (wrong, percent, found) = (cheated(share), 100.0 * share, 100.0 * caught(share));
        summary = summary.line(format!(
            "if {percent} % of them ({wrong}) had been wrong, one would have been found with probability {found:.1} %"
        ));
    }
    summary
}

/// Finds the first operation in which two traces differ, and judges it.
pub(super) fn dispute(args: &Dispute) -> Result<Summary> {
    let traces = [args.first.as_path(), &args.second];
    let files = args.key.as_deref().map(|key| Files { inputs: &args.inputs, key, of: &args.of });
    let parts = args.parts.iter().map(PathBuf::as_path);
    stdin_once(traces.into_iter().chain(parts).chain(files.iter().flat_map(Files::all)))?;
    let (first, second) = (open(&args.first)?, open(&args.second)?);
    let summary = Summary::new("dispute").path("first", &args.first).path("second", &args.second);
    let Some(found) = audit::first_difference(&first, &second)? else {
        let line = format!("{} and {} are equal", shown(&args.first), shown(&args.second));
        return Ok(summary.fact("operation", Value::Null).line(line));
    };
    let (operation, all) = (found.leaf, first.operations().len());
    let name = &first.operations()[operation].name;
    let line = format!(
        "operation {operation} of {all}, {name}, is the first in which they differ: {} questions",
        found.questions
    );
    let summary = summary
        .fact("operation", operation)
        .fact("name", name.clone())
        .fact("questions", found.questions)
        .line(line);
    if let [one, other] = args.parts.as_slice() {
        return dispute_parts(args, [&first, &second], [one, other], operation, summary);
    }
    let Some(files) = files else { return Ok(summary) };
    let report = recompute((&first).into(), &files, &Choice::These(vec![operation]))?;
    let right = [&first, &second].map(|trace| report.computed.iter().all(|computed| computed.agrees(trace)));
    Ok(judged(args, right, summary.fact("computed", report.computed.len())))
}

/// The summary of a judgement: whether each party is right.
fn judged(args: &Dispute, right: [bool; 2], summary: Summary) -> Summary {
    let (line, right) = match right {
        [true, _] => (format!("{} is right there", shown(&args.first)), json!("first")),
        [_, true] => (format!("{} is right there", shown(&args.second)), json!("second")),
        _ => ("neither is right".to_owned(), Value::Null),
    };
    summary.fact("right", right).line(format!("{line}, in {}", time()))
}

/// Finds the first part in which two parties differ, and judges it.
fn dispute_parts(
    args: &Dispute,
    traces: [&Trace; 2],
    paths: [&PathBuf; 2],
    operation: usize,
    summary: Summary,
) -> Result<Summary> {
    let model = model_of(&args.of)?;
    let (first, second) = (open(paths[0])?, open(paths[1])?);
    let disputed = traces.map(|trace| Disputed { trace, model: &model, operation });
    disputed[0].check(&first)?;
    disputed[1].check(&second)?;
    let Some(found) = audit::first_difference(&first, &second)? else {
        return Err(CliError::new("the parts are equal, and the results are not"));
    };
    let (part, all) = (found.leaf, first.operations().len());
    let name = &first.operations()[part].name;
    let line =
        format!("part {part} of {all}, {name}, is the first of its parts: {} questions", found.questions);
    let summary = summary
        .fact("part", part)
        .fact("part_name", name.clone())
        .fact("part_questions", found.questions)
        .line(line);
    let Some(key) = &args.key else { return Ok(summary) };
    let Some(folder) = &args.of.values else {
        let hint = "give the folder that trace parts --keep wrote with --values";
        return Err(CliError::new("a part is judged from the values before it").hint(hint));
    };
    let digest = disputed[0].judge(&first, part, key, folder)?;
    let right = [&first, &second].map(|parts| parts.operations()[part].results == [digest]);
    Ok(judged(args, right, summary.fact("computed", 1)))
}
