//! `eval`: computations on encrypted files.

use super::audit;
use crate::args::{EvalFiles, Operation};
use crate::error::Result;
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_files::audit::RecordedEvaluation;
use he_files::io::cancel::Cancel;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::operation::{Evaluation, Levels, Sources};
use he_files::units;
use std::path::Path;
use std::sync::Arc;

pub(super) fn run(args: &Operation) -> Result<Summary> {
    #[cfg(feature = "client")]
    if let Some(url) = &args.files().server.server {
        return there(args, url);
    }
    let files = args.files();
    let bootstrap = files.bootstrap();
    let inputs = inputs(args, bootstrap.as_deref());
    stdin_once(inputs.iter().copied())?;
    let operation = args.without_files()?;
    let sources = Sources {
        bootstrap: bootstrap.as_deref().map(Input::open).transpose()?,
        key: Input::open(&files.key)?,
        input: Input::open(&files.input)?,
        others: paths(args).map(Input::open).collect::<he_files::error::Result<_>>()?,
    };
    check_levels(files, &operation)?;
    let devices = || files.device.open();
    let watch = Arc::new(Shown::default());
    let (written, devices, trace) = match &files.record {
        None => {
            let evaluation = Evaluation::new(&operation, sources, &Cancel::default())?;
            let (output, devices) = (output(files, &inputs)?, devices()?);
            (evaluation.evaluate(devices.all(), watch, output)?, devices, None)
        }
        Some(path) => {
            let evaluation = RecordedEvaluation::new(&operation, sources, &Cancel::default())?;
            let record = audit::output(path, files.force, &inputs)?;
            let (output, devices) = (output(files, &inputs)?, devices()?);
            let (written, trace) = evaluation.evaluate(devices.all(), watch, output)?;
            (written, devices, Some((trace, record, path)))
        }
    };

    let (name, size, time) = (shown(&files.output), units::bytes(written.bytes), time());
    let summary = Summary::new("eval")
        .fact("operation", operation.name())
        .path("input", &files.input)
        .output(&files.output)
        .fact("device", devices.name())
        .line(format!("{name}: {size}, in {time}; left: {}", written.left))
        .facts(written.facts);
    let summary = with_others(args, summary);
    match trace {
        None => Ok(summary),
        Some((trace, record, path)) => audit::recorded(&trace, record, path, summary),
    }
}

/// Computes on a service.
#[cfg(feature = "client")]
fn there(args: &Operation, url: &str) -> Result<Summary> {
    use crate::error::CliError;
    use crate::remote::{Remote, Upload};
    use he_files::scan::Scanned;
    let files = args.files();
    let bootstrap = files.bootstrap();
    let inputs = inputs(args, bootstrap.as_deref());
    stdin_once(inputs.iter().copied())?;
    let operation = args.without_files()?;
    operation.check()?;
    check_levels(files, &operation)?;
    let mut key = Upload::open(&files.key, Scanned::EvaluationKeys)?;
    let upload = |path| Upload::open(path, Scanned::EvaluationKeys);
    let mut bootstrap = bootstrap.as_deref().map(upload).transpose()?;
    let encrypted = [&*files.input].into_iter().chain(paths(args));
    let encrypted = encrypted.map(|path| Upload::open(path, Scanned::Encrypted));
    let mut encrypted = encrypted.collect::<Result<Vec<_>>>()?;
    let asked = audit::Asked::new(files.record.as_deref(), files.signed.as_deref(), files.force, &inputs)?;
    let output = output(files, &inputs)?;
    let request = serde_json::to_value(&operation)
        .map_err(|error| CliError::usage(format!("the operation cannot be sent: {error}")))?;
    let service = Remote::open(url, &files.server)?;
    let done = service.evaluate(
        &request,
        &mut encrypted,
        &mut key,
        bootstrap.as_mut(),
        output,
        asked.is_wanted(),
    )?;

    let (name, size, time) = (shown(&files.output), units::bytes(done.received), time());
    let summary = Summary::new("eval")
        .fact("operation", operation.name())
        .path("input", &files.input)
        .output(&files.output)
        .fact("server", url)
        .fact("sent_bytes", done.sent)
        .fact("bytes", done.received)
        .fact("info", done.info.clone())
        .line(format!("{name}: {size}, in {time}, on {url}"));
    asked.write(&done, with_others(args, summary))
}

/// Whether the treatment of levels is one that the operation has.
pub(super) fn check_levels(files: &EvalFiles, operation: &he_files::operation::Operation) -> Result<()> {
    if files.levels() == Levels::Drop && operation.levels().is_none() {
        return Err(operation.no_levels().into());
    }
    Ok(())
}

/// The other encrypted files.
fn paths(args: &Operation) -> impl Iterator<Item = &Path> {
    args.others().map(|(_, path)| path)
}

/// Everything that is read.
fn inputs<'a>(args: &'a Operation, bootstrap: Option<&'a Path>) -> Vec<&'a Path> {
    let files = args.files();
    [&*files.input, &files.key].into_iter().chain(bootstrap).chain(paths(args)).chain(args.table()).collect()
}

/// The summary with the other files, besides the first input.
fn with_others(args: &Operation, summary: Summary) -> Summary {
    let summary = args.others().fold(summary, |summary, (name, path)| summary.path(name, path));
    args.table().into_iter().fold(summary, |summary, path| summary.path("table", path))
}

fn output(files: &EvalFiles, inputs: &[&Path]) -> Result<Output> {
    let options = OutputOptions { force: files.force, ..OutputOptions::default() };
    stdio::create(&files.output, options, Text::No, inputs)
}
