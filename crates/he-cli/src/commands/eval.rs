//! `eval`: computations on encrypted files.

use crate::args::{EvalFiles, Levels, Operation, Second};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_core::circuits::Kernel;
use he_core::circuits::ckks::Affine;
use he_files::bootstrap;
use he_files::bootstrap::refresh::{self, Refresh};
use he_files::cipher_file::{CipherReader, Written};
use he_files::contents::images::{Filter, MAX_SLOTS, most_halo};
use he_files::contents::integers::Aggregate;
use he_files::contents::operator::Operator;
use he_files::contents::over_rows::OverRows;
use he_files::contents::pairwise::Pair;
use he_files::contents::tables::Statistic;
use he_files::data::table::column_number;
use he_files::error::ContentError;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::key_file::{AnyKey, Key, KeyFile};
use he_files::note::{Content, ImageNote, IntegersNote, TableNote};
use he_files::on_scheme;
use he_files::scheme::Taken;
use he_files::scheme::{BigCkks, Ckks, OneOf, Scheme};
use he_files::tfhe;
use he_files::units;
use std::path::Path;

/// The computations under CKKS: on an image, or on a table.
enum Job {
    /// With the second image, if there is one.
    Filter(Filter, Option<Box<CipherReader<Ckks>>>),
    Statistic(Statistic),
}

/// The description of an encrypted image.
fn image_note(reader: &CipherReader<Ckks>, operation: &str) -> Result<ImageNote> {
    match &reader.payload.content {
        Content::Image(note) => Ok(note.clone()),
        _ => {
            let what = format!("{} is an encrypted table, and {operation} is for images", reader.name);
            Err(CliError::new(what).hint("tables have sum, mean, variance and dot"))
        }
    }
}

/// The description of an encrypted table.
fn table_note(reader: &CipherReader<Ckks>, operation: &str) -> Result<TableNote> {
    match &reader.payload.content {
        Content::Table(note) => Ok(note.clone()),
        _ => {
            let what = format!("{} is an encrypted image, and {operation} is for tables", reader.name);
            Err(CliError::new(what).hint(
                "images have blur, sharpen, edges, brightness, contrast, invert, grayscale, blend and kernel",
            ))
        }
    }
}

/// The description of an encrypted table of integers.
fn integers_note<E: Taken>(reader: &CipherReader<E>, operation: &str) -> Result<IntegersNote> {
    match &reader.payload.content {
        Content::Integers(note) => Ok(note.clone()),
        _ => {
            let what = format!("{} is an encrypted image, and {operation} is for tables", reader.name);
            Err(CliError::new(what).hint("images have add, sub and mul"))
        }
    }
}

/// Two columns by their names or numbers.
fn two_columns<'a>(
    columns: &[String],
    count: usize,
    name: impl Fn(usize) -> Option<&'a str> + Copy,
) -> Result<(usize, usize)> {
    let [a, b] = columns else {
        return Err(
            CliError::usage(format!("{} columns given", columns.len())).hint("give two: --columns A,B")
        );
    };
    Ok((column_number(count, name, a)?, column_number(count, name, b)?))
}

/// No second operand.
fn one_operand() -> CliError {
    CliError::usage("dot needs a second operand").hint("give --columns A,B, or --with OTHER")
}

/// Opens a file, and checks that it belongs to the keys.
fn owned<S: Scheme>(path: &Path, key: &KeyFile<S>) -> Result<CipherReader<S>> {
    let reader = CipherReader::open(path)?;
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    Ok(reader)
}

impl Operation {
    fn files(&self) -> &EvalFiles {
        match self {
            Self::Add { files, .. }
            | Self::Sub { files, .. }
            | Self::Mul { files, .. }
            | Self::Lt { files, .. }
            | Self::Eq { files, .. }
            | Self::Min { files, .. }
            | Self::Max { files, .. }
            | Self::Sort { files }
            | Self::Blur { files, .. }
            | Self::Sharpen { files }
            | Self::Edges { files }
            | Self::Brightness { files, .. }
            | Self::Contrast { files, .. }
            | Self::Invert { files }
            | Self::Grayscale { files }
            | Self::Blend { files, .. }
            | Self::Kernel { files, .. }
            | Self::Refresh { files }
            | Self::Sum { files }
            | Self::Count { files }
            | Self::Mean { files }
            | Self::Variance { files }
            | Self::Dot { files, .. } => files,
        }
    }

    /// Its name on the command line.
    fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Sub { .. } => "sub",
            Self::Mul { .. } => "mul",
            Self::Lt { .. } => "lt",
            Self::Eq { .. } => "eq",
            Self::Min { .. } => "min",
            Self::Max { .. } => "max",
            Self::Sort { .. } => "sort",
            Self::Blur { .. } => "blur",
            Self::Sharpen { .. } => "sharpen",
            Self::Edges { .. } => "edges",
            Self::Brightness { .. } => "brightness",
            Self::Contrast { .. } => "contrast",
            Self::Invert { .. } => "invert",
            Self::Grayscale { .. } => "grayscale",
            Self::Blend { .. } => "blend",
            Self::Kernel { .. } => "kernel",
            Self::Refresh { .. } => refresh::NAME,
            Self::Sum { .. } => "sum",
            Self::Count { .. } => "count",
            Self::Mean { .. } => "mean",
            Self::Variance { .. } => "variance",
            Self::Dot { .. } => "dot",
        }
    }

    /// The other file, if there is one.
    fn second(&self) -> Option<&Path> {
        match self {
            Self::Add { second, .. }
            | Self::Sub { second, .. }
            | Self::Mul { second, .. }
            | Self::Lt { second, .. }
            | Self::Eq { second, .. }
            | Self::Min { second, .. }
            | Self::Max { second, .. } => Some(&second.with),
            Self::Blend { with, .. } | Self::Dot { with: Some(with), .. } => Some(with),
            _ => None,
        }
    }

    /// The operation on two files slot by slot, with the other file.
    fn pairwise(&self) -> Option<(Operator, &Path)> {
        match self {
            Self::Add { second, .. } => Some((Operator::Add, &second.with)),
            Self::Sub { second, .. } => Some((Operator::Sub, &second.with)),
            Self::Mul { second, .. } => Some((Operator::Mul, &second.with)),
            _ => None,
        }
    }
}

/// An operation that a scheme does not have.
fn not_of<S: Scheme>(operation: &Operation) -> CliError {
    has_no(S::NAME, S::OPERATIONS, operation)
}

fn has_no(scheme: &str, operations: &str, operation: &Operation) -> CliError {
    CliError::new(format!("{scheme} has no {}", operation.name()))
        .hint(format!("under {scheme} there are: {operations}"))
}

/// The error that a number or matrix of the command line cannot be used.
fn usage<T>(result: he_core::Result<T>) -> Result<T> {
    result.map_err(|error| CliError::from(error).or_hint("give finite numbers of ordinary size").into_usage())
}

/// The mean over a square, or a Gaussian, whose square follows from sigma unless its radius is
/// given.
fn blur(radius: Option<usize>, sigma: Option<f64>) -> Result<Kernel> {
    let Some(sigma) = sigma else {
        return usage(Kernel::box_blur(radius.unwrap_or(1)));
    };
    let most = most_halo(MAX_SLOTS);
    match radius.unwrap_or_else(|| Kernel::gaussian_radius(sigma)) {
        wide if radius.is_none() && wide > most && sigma.is_finite() => {
            let what = format!("a Gaussian of sigma {sigma} reaches {wide} pixels to each side (3 sigma)");
            let hint = format!("choose --sigma up to {}: no tile holds more than {most}", most / 3);
            Err(CliError::usage(what).hint(hint))
        }
        radius => usage(Kernel::gaussian(radius, sigma)),
    }
}

/// The description of the result of an operation, which fits its file: before anything is computed
/// or written.
fn described(job: &Job, operation: &Operation, reader: &CipherReader<Ckks>) -> Result<Content> {
    match job {
        Job::Statistic(statistic) => {
            Ok(Content::Table(statistic.describe(reader, &table_note(reader, operation.name())?)?))
        }
        Job::Filter(filter, other) => {
            let note = image_note(reader, operation.name())?;
            let fits = filter.describe(&note, other.as_deref(), &reader.params).map(Content::Image);
            match (operation, filter) {
                (Operation::Blur { radius: None, sigma: Some(sigma), .. }, Filter::Kernel(kernel)) => {
                    let what =
                        format!("a Gaussian of sigma {sigma} has radius {} (3 sigma)", kernel.radius());
                    fits.map_err(|error| CliError::from(error).prefixed(&what))
                }
                _ => Ok(fits?),
            }
        }
    }
}

/// The job of an operation under CKKS.
fn job(operation: &Operation, reader: &CipherReader<Ckks>, key: &KeyFile<Ckks>) -> Result<Job> {
    let kernel = |kernel| Job::Filter(Filter::Kernel(kernel), None);
    let affine = |map| Job::Filter(Filter::Affine(map), None);
    Ok(match operation {
        Operation::Blur { radius, sigma, .. } => kernel(blur(*radius, *sigma)?),
        Operation::Sharpen { .. } => kernel(Kernel::sharpen()),
        Operation::Edges { .. } => kernel(Kernel::edges()),
        Operation::Brightness { by, .. } => affine(usage(Affine::brightness(*by))?),
        Operation::Contrast { by, .. } => affine(usage(Affine::contrast(*by))?),
        Operation::Invert { .. } => affine(Affine::invert()),
        Operation::Grayscale { .. } => Job::Filter(Filter::Grayscale, None),
        Operation::Blend { with, alpha, .. } => {
            Job::Filter(Filter::Blend(*alpha), Some(Box::new(owned(with, key)?)))
        }
        Operation::Kernel { matrix, .. } => kernel(usage(matrix.parse())?),
        Operation::Sum { .. } => Job::Statistic(Statistic::Sum),
        Operation::Mean { .. } => Job::Statistic(Statistic::Mean),
        Operation::Variance { .. } => Job::Statistic(Statistic::Variance),
        Operation::Dot { with: Some(with), .. } => {
            Job::Statistic(Statistic::DotTables(Box::new(owned(with, key)?)))
        }
        Operation::Dot { columns: Some(columns), .. } => {
            let note = table_note(reader, "dot")?;
            let (a, b) = two_columns(columns, note.columns.len(), |i| note.columns[i].name.as_deref())?;
            Job::Statistic(Statistic::DotColumns(a, b))
        }
        Operation::Dot { .. } => return Err(one_operand()),
        Operation::Add { .. }
        | Operation::Sub { .. }
        | Operation::Mul { .. }
        | Operation::Lt { .. }
        | Operation::Eq { .. }
        | Operation::Min { .. }
        | Operation::Max { .. }
        | Operation::Sort { .. }
        | Operation::Refresh { .. }
        | Operation::Count { .. } => return Err(not_of::<Ckks>(operation)),
    })
}

/// The computation on a table of integers.
fn aggregate<E: Taken>(
    operation: &Operation,
    reader: &CipherReader<E>,
    key: &KeyFile<E>,
) -> Result<Aggregate<E>> {
    Ok(match operation {
        Operation::Sum { .. } => Aggregate::Sum,
        Operation::Count { .. } => Aggregate::Count,
        Operation::Dot { with: Some(with), .. } => Aggregate::DotTables(Box::new(owned(with, key)?)),
        Operation::Dot { columns: Some(columns), .. } => {
            let note = integers_note(reader, "dot")?;
            let (a, b) = two_columns(columns, note.columns.len(), |i| note.columns[i].name.as_deref())?;
            Aggregate::DotColumns(a, b)
        }
        Operation::Dot { .. } => return Err(one_operand()),
        _ => return Err(not_of::<E>(operation)),
    })
}

pub(super) fn run(operation: &Operation) -> Result<Summary> {
    let Evaluated { device, written } = evaluate(operation)?;
    let files = operation.files();
    let (name, size, time) = (shown(&files.output), units::bytes(written.bytes), time());
    let summary = Summary::new("eval")
        .fact("operation", operation.name())
        .path("input", &files.input)
        .output(&files.output)
        .fact("device", device)
        .line(format!("{name}: {size}, in {time}; left: {}", written.left))
        .facts(written.facts);
    Ok(operation.second().into_iter().fold(summary, |summary, path| summary.path("with", path)))
}

/// The results of a computation.
struct Evaluated {
    device: String,
    written: Written,
}

fn evaluate(operation: &Operation) -> Result<Evaluated> {
    const NEEDED: &str = "an evaluation key";
    let files = operation.files();
    let inputs: Vec<&Path> = [&*files.input, &files.key].into_iter().chain(operation.second()).collect();
    stdin_once(inputs.iter().copied())?;
    if matches!(operation, Operation::Refresh { .. }) {
        return refresh(operation, &inputs);
    }
    let key = match AnyKey::read(Input::open(&files.key)?, NEEDED, None)? {
        AnyKey::Tfhe(key) => return unsigned(operation, &key, &inputs),
        key => key.scheme(NEEDED)?,
    };
    match (key, operation.pairwise()) {
        (key, Some((operator, with))) => on_scheme!(key, key => {
            let pair = Pair::new(operator, opened(files, &key)?, owned(with, &key)?)?;
            let output = output(files, &inputs)?;
            let devices = files.device.choice.open()?;
            let team = devices.team(&key.params)?;
            let keys = team.share(&key.evaluation(&team.lead().ring)?)?;
            let statistic = pair.result_of(&STATISTICS).map(str::to_owned);
            let written = pair.evaluate(&team, &keys, files.levels == Levels::Drop, output);
            let written = written.map_err(|error| with_levels(error, statistic.as_deref()))?;
            Ok(Evaluated { device: devices.name(), written })
        }),
        (OneOf::Ckks(key), None) => real(operation, key, &inputs),
        (OneOf::Bfv(key), None) => integers(operation, key, &inputs),
        (OneOf::Bgv(key), None) => integers(operation, key, &inputs),
        (OneOf::BigCkks(key), None) => {
            opened(files, &key)?;
            Err(not_of::<BigCkks>(operation))
        }
    }
}

/// New levels for a file.
fn refresh(operation: &Operation, inputs: &[&Path]) -> Result<Evaluated> {
    let files = operation.files();
    no_levels(files, operation)?;
    let keys = bootstrap::keys::KeyFile::open(Input::open(&files.key)?)?;
    let refresh = Refresh::new(keys, CipherReader::open(&files.input)?).map_err(|error| {
        let needed = match &error {
            he_files::Error::Core(he_core::Error::LevelExhausted { needed, .. }) => Some(*needed),
            _ => None,
        };
        let hint = |needed| format!("refresh earlier, while at least {needed} levels are left");
        needed.into_iter().fold(CliError::from(error), |error, needed| error.hint(hint(needed)))
    })?;
    let output = output(files, inputs)?;
    let devices = files.device.choice.open()?;
    let written = refresh.evaluate(devices.lead().clone(), &Shown::default(), output)?;
    Ok(Evaluated { device: devices.name(), written })
}

/// Filters of images, and statistics of tables of real numbers.
fn real(operation: &Operation, key: KeyFile<Ckks>, inputs: &[&Path]) -> Result<Evaluated> {
    let files = operation.files();
    let reader = opened(files, &key)?;
    let job = job(operation, &reader, &key)?;
    let payload = reader.payload.after(operation.name(), described(&job, operation, &reader)?);
    if matches!(job, Job::Filter(..)) {
        no_levels(files, operation)?;
    }
    let output = output(files, inputs)?;
    let devices = files.device.choice.open()?;
    let team = devices.team(&key.params)?;
    let written = match job {
        Job::Filter(filter, other) => {
            let keys = team.share(&key.evaluation(&team.lead().ring)?)?;
            filter.evaluate(&team, &keys, reader, other.map(|other| *other), &payload, output)?
        }
        Job::Statistic(statistic) => {
            let (keys, lower) = (key.evaluation(&team.lead().ring)?, files.levels != Levels::Keep);
            statistic.evaluate(&team, &keys, reader, &payload, lower, output)?
        }
    };
    Ok(Evaluated { device: devices.name(), written })
}

/// Sums, counts and inner products of integers.
fn integers<E: Taken>(operation: &Operation, key: KeyFile<E>, inputs: &[&Path]) -> Result<Evaluated> {
    let files = operation.files();
    let reader = opened(files, &key)?;
    let aggregate = aggregate(operation, &reader, &key)?;
    let result = aggregate.describe(&reader, &integers_note(&reader, operation.name())?)?;
    let payload = reader.payload.after(operation.name(), Content::Integers(result));
    let output = output(files, inputs)?;
    let devices = files.device.choice.open()?;
    let team = devices.team(&key.params)?;
    let (keys, lower) = (key.evaluation(&team.lead().ring)?, files.levels != Levels::Keep);
    let written = aggregate.evaluate(&team, &keys, reader, &payload, lower, output)?;
    Ok(Evaluated { device: devices.name(), written })
}

/// The file to compute on, if it belongs to the key, and that is an evaluation key.
fn opened<S: Scheme>(files: &EvalFiles, key: &KeyFile<S>) -> Result<CipherReader<S>> {
    if !matches!(key.key, Key::Evaluation(_)) {
        return Err(key.wrong_kind("an evaluation key").into());
    }
    owned(&files.input, key)
}

fn output(files: &EvalFiles, inputs: &[&Path]) -> Result<Output> {
    let options = OutputOptions { force: files.force, ..OutputOptions::default() };
    stdio::create(&files.output, options, Text::No, inputs)
}

/// Operations whose results keep few levels unless more are requested.
const STATISTICS: [&str; 5] = ["sum", "mean", "variance", "dot", "count"];

/// The remedy if no levels are left in a file whose levels were dropped by a statistic.
fn with_levels(error: he_files::Error, statistic: Option<&str>) -> CliError {
    use he_core::Error::{BudgetSpent, LevelExhausted, ModulusExhausted};
    let spent = matches!(
        &error,
        he_files::Error::Core(LevelExhausted { .. } | BudgetSpent { .. } | ModulusExhausted { .. })
            | he_files::Error::Content(ContentError::Capacity { .. })
    );
    let error = CliError::from(error);
    match (error.hint_text().map(str::to_owned), statistic.filter(|_| spent)) {
        (Some(hint), Some(statistic)) => error
            .hint(format!("compute the {statistic} again with eval {statistic} --levels keep; or {hint}")),
        _ => error,
    }
}

/// Checks that dropping levels is not requested where this is not done.
fn no_levels(files: &EvalFiles, operation: &Operation) -> Result<()> {
    if files.levels != Levels::Drop {
        return Ok(());
    }
    Err(CliError::usage(format!("--levels drop is not for {} of such a file", operation.name()))
        .hint("leave it out: it is for add, sub, mul, sum, mean, variance, dot and count"))
}

/// Sums, comparisons and sorting of unsigned integers.
fn unsigned(operation: &Operation, key: &tfhe::keys::KeyFile, inputs: &[&Path]) -> Result<Evaluated> {
    use tfhe::eval::{Job, Operator};
    let (files, name) = (operation.files(), operation.name());
    no_levels(files, operation)?;
    let evaluation = key.evaluation()?;
    let opened = |path: &Path| -> Result<tfhe::file::Reader> {
        let reader = tfhe::file::Reader::open(path)?;
        key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
        Ok(reader)
    };
    let left = opened(&files.input)?;
    let pair = |operator, second: &Second| Ok(Job::Pair(operator, Box::new(opened(&second.with)?)));
    let job: Result<Job> = match operation {
        Operation::Add { second, .. } => pair(Operator::Add, second),
        Operation::Sub { second, .. } => pair(Operator::Sub, second),
        Operation::Lt { second, .. } => pair(Operator::Less, second),
        Operation::Eq { second, .. } => pair(Operator::Equal, second),
        Operation::Min { second, .. } => pair(Operator::Min, second),
        Operation::Max { second, .. } => pair(Operator::Max, second),
        Operation::Sort { .. } => Ok(Job::Sort),
        _ => Err(has_no(tfhe::NAME, tfhe::OPERATIONS, operation)),
    };
    let job = job?;
    let payload = left.payload.after(name, job.describe(&left, name)?);
    let output = output(files, inputs)?;
    let devices = files.device.choice.open()?;
    let writer = tfhe::file::Writer::new(output, &key.params, &payload)?;
    let written = job.apply(devices.lead(), evaluation, left, writer, &Shown::default())?;
    Ok(Evaluated { device: devices.name(), written })
}
