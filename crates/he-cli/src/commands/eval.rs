//! `eval`: computations on encrypted files.

use crate::args::{EvalFiles, Operation};
use crate::cipher_file::{CipherReader, CipherWriter};
use crate::device::on_device;
use crate::engine::Engine;
use crate::error::{CliError, Result};
use crate::images::Filter;
use crate::input::stdin_once;
use crate::keys::{AnyKey, Key, KeyFile};
use crate::output::{Output, OutputOptions};
use crate::payload::{Content, ImageNote, Payload, TableNote};
use crate::tables::Statistic;
use crate::team::Team;
use he_core::backend::RingOps;
use he_core::circuits::{Affine, Kernel};
use he_core::rlwe::EvaluationKeys;
use std::path::Path;

/// What is computed: of an image, or of a table.
enum Job {
    /// With the second image, where there is one.
    Filter(Filter, Option<Box<CipherReader>>),
    Statistic(Statistic),
}

/// The description of an encrypted image.
fn image_note(reader: &CipherReader, operation: &str) -> Result<ImageNote> {
    match &reader.payload.content {
        Content::Image(note) => Ok(note.clone()),
        Content::Table(_) => {
            let what = format!("{} is an encrypted table, and {operation} is for images", reader.name);
            Err(CliError::new(what).hint("tables have sum, mean, variance and dot"))
        }
    }
}

/// The description of an encrypted table.
fn table_note(reader: &CipherReader, operation: &str) -> Result<TableNote> {
    match &reader.payload.content {
        Content::Table(note) => Ok(note.clone()),
        Content::Image(_) => {
            let what = format!("{} is an encrypted image, and {operation} is for tables", reader.name);
            Err(CliError::new(what).hint(
                "images have blur, sharpen, edges, brightness, contrast, invert, grayscale, blend and kernel",
            ))
        }
    }
}

/// Filters an encrypted image into a file; returns its bytes.
///
/// # Errors
/// The filter does not fit the image; files are damaged or cannot be written; the device fails.
pub fn filter_image<B: RingOps>(
    team: &Team<B>,
    keys: &[EvaluationKeys<B>],
    mut reader: CipherReader,
    mut other: Option<Box<CipherReader>>,
    filter: &Filter,
    name: &str,
    output: Output,
) -> Result<u64> {
    let note = image_note(&reader, name)?;
    let params = &team.lead().params;
    let result = filter.describe(&note, other.as_deref(), params)?;
    let mut writer =
        CipherWriter::new(output, params, &after(&reader.payload, name, Content::Image(result)))?;
    filter.apply(team, keys, &mut reader, other.as_deref_mut(), &note, &mut writer)?;
    writer.commit()
}

fn after(payload: &Payload, name: &str, content: Content) -> Payload {
    let mut history = payload.history.clone();
    history.push(name.to_owned());
    Payload { key_id: payload.key_id.clone(), history, content }
}

fn statistic_of_table<B: RingOps>(
    engine: &Engine<B>,
    keys: &EvaluationKeys<B>,
    mut reader: CipherReader,
    mut statistic: Statistic,
    name: &str,
    output: Output,
) -> Result<u64> {
    let note = table_note(&reader, name)?;
    let content = Content::Table(statistic.describe(&reader, &note)?);
    let mut writer = CipherWriter::new(output, &engine.params, &after(&reader.payload, name, content))?;
    statistic.apply(engine, keys, &mut reader, &note, &mut writer)?;
    writer.commit()
}

/// The index of a column by its name, or its number from 1 on.
fn find_column(note: &TableNote, wanted: &str) -> Result<usize> {
    let count = note.columns.len();
    let mut named = (0..count).filter(|&i| note.columns[i].name.as_deref() == Some(wanted));
    match (named.next(), named.next(), wanted.parse::<usize>()) {
        (Some(index), None, _) => Ok(index),
        (Some(_), Some(_), _) => Err(CliError::usage(format!("two columns are called {wanted}"))
            .hint(format!("give numbers from 1 to {count}"))),
        (None, _, Ok(number)) if (1..=count).contains(&number) => Ok(number - 1),
        _ => Err(CliError::usage(format!("there is no column {wanted}"))
            .hint(format!("give names of the header, or numbers from 1 to {count}"))),
    }
}

/// Opens the other file of an operation on two, and checks that it belongs to the same keys.
fn other(path: &Path, key: &KeyFile) -> Result<Box<CipherReader>> {
    let reader = CipherReader::open(path)?;
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    Ok(Box::new(reader))
}

fn files(operation: &Operation) -> &EvalFiles {
    match operation {
        Operation::Blur { files, .. }
        | Operation::Sharpen { files }
        | Operation::Edges { files }
        | Operation::Brightness { files, .. }
        | Operation::Contrast { files, .. }
        | Operation::Invert { files }
        | Operation::Grayscale { files }
        | Operation::Blend { files, .. }
        | Operation::Kernel { files, .. }
        | Operation::Sum { files }
        | Operation::Mean { files }
        | Operation::Variance { files }
        | Operation::Dot { files, .. } => files,
    }
}

/// A number or matrix of the command line that cannot be used.
fn usage<T>(result: he_core::Result<T>) -> Result<T> {
    result.map_err(|error| CliError::from(error).or_hint("give finite numbers of ordinary size").into_usage())
}

/// Name and job of an operation.
fn job(operation: &Operation, reader: &CipherReader, key: &KeyFile) -> Result<(&'static str, Job)> {
    let kernel = |kernel| Job::Filter(Filter::Kernel(kernel), None);
    let affine = |map| Job::Filter(Filter::Affine(map), None);
    Ok(match operation {
        Operation::Blur { radius, sigma: None, .. } => ("blur", kernel(usage(Kernel::box_blur(*radius))?)),
        Operation::Blur { radius, sigma: Some(sigma), .. } => {
            ("blur", kernel(usage(Kernel::gaussian(*radius, *sigma))?))
        }
        Operation::Sharpen { .. } => ("sharpen", kernel(Kernel::sharpen())),
        Operation::Edges { .. } => ("edges", kernel(Kernel::edges())),
        Operation::Brightness { by, .. } => ("brightness", affine(usage(Affine::brightness(*by))?)),
        Operation::Contrast { by, .. } => ("contrast", affine(usage(Affine::contrast(*by))?)),
        Operation::Invert { .. } => ("invert", affine(Affine::invert())),
        Operation::Grayscale { .. } => ("grayscale", Job::Filter(Filter::Grayscale, None)),
        Operation::Blend { with, alpha, .. } => {
            ("blend", Job::Filter(Filter::Blend(*alpha), Some(other(with, key)?)))
        }
        Operation::Kernel { matrix, .. } => ("kernel", kernel(usage(matrix.parse())?)),
        Operation::Sum { .. } => ("sum", Job::Statistic(Statistic::Sum)),
        Operation::Mean { .. } => ("mean", Job::Statistic(Statistic::Mean)),
        Operation::Variance { .. } => ("variance", Job::Statistic(Statistic::Variance)),
        Operation::Dot { with: Some(with), .. } => {
            ("dot", Job::Statistic(Statistic::DotTables(other(with, key)?)))
        }
        Operation::Dot { columns: Some(columns), .. } => {
            let [a, b] = columns.as_slice() else {
                return Err(CliError::usage(format!("{} columns given", columns.len()))
                    .hint("give two: --columns A,B"));
            };
            let note = table_note(reader, "dot")?;
            let (a, b) = (find_column(&note, a)?, find_column(&note, b)?);
            ("dot", Job::Statistic(Statistic::DotColumns(a, b)))
        }
        Operation::Dot { .. } => {
            return Err(
                CliError::usage("dot needs a second operand").hint("give --columns A,B, or --with OTHER")
            );
        }
    })
}

pub(super) fn run(operation: &Operation) -> Result<()> {
    let files = files(operation);
    let second = match operation {
        Operation::Blend { with, .. } | Operation::Dot { with: Some(with), .. } => Some(with.as_path()),
        _ => None,
    };
    let inputs: Vec<&Path> = [&*files.input, &files.key].into_iter().chain(second).collect();
    stdin_once(inputs.iter().copied())?;
    let key = AnyKey::read(&files.key, "an evaluation key", None)?.ckks("an evaluation key")?;
    if !matches!(key.key, Key::Evaluation(_)) {
        return Err(key.wrong_kind("an evaluation key"));
    }
    let reader = CipherReader::open(&files.input)?;
    key.check_owner(&reader.params, &reader.payload.key_id, &reader.name)?;
    let (name, job) = job(operation, &reader, &key)?;
    let options = OutputOptions { force: files.force, ..OutputOptions::default() };
    let output = Output::create(&files.output, options, &inputs)?;
    let device = files.device.choice.open()?.streams()?;
    on_device!(device, backends => compute(backends, &key, reader, name, job, output))?;
    Ok(())
}

/// Does a job into a file; returns its bytes.
fn compute<B: RingOps>(
    backends: Vec<B>,
    key: &KeyFile,
    reader: CipherReader,
    name: &str,
    job: Job,
    output: Output,
) -> Result<u64> {
    let team = Team::new(&key.params, backends)?;
    let lead = team.lead();
    let keys = key.evaluation(&lead.ring)?;
    match job {
        Job::Filter(filter, other) => {
            let keys = team.each(|engine| Ok(keys.to(&engine.ring)?))?;
            filter_image(&team, &keys, reader, other, &filter, name, output)
        }
        Job::Statistic(statistic) => statistic_of_table(lead, &keys, reader, statistic, name, output),
    }
}
