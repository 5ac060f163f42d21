//! `search`: indexes of encrypted vectors, queries and answers.

#[cfg(feature = "client")]
mod remote;

use super::keygen;
use crate::args::{
    CsvFlags, Search, SearchAnswer, SearchAppend, SearchCreate, SearchDelete, SearchInfo, SearchKeygen,
    SearchMerge, SearchOutput, SearchQuery, SearchRead, SearchSecret, SearchStep,
};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_files::cipher_file::CipherReader;
use he_files::data::table::Table;
use he_files::error::SearchError;
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions, create_dir};
use he_files::key_file::{AnyKey, KeyFile};
use he_files::key_set::{KEY_NAMES, KeyFiles};
use he_files::scheme::engine::rng;
use he_files::scheme::{Ckks, OneOf, Scheme};
use he_files::search::{self, IndexFolder, Record, StoredIndex, Wanted};
use he_files::units;
use he_search::{Params, Plan};
use std::path::Path;

pub(super) fn run(args: &Search) -> Result<Summary> {
    match &args.step {
        SearchStep::Create(args) => create(args),
        SearchStep::Keygen(args) => make_keys(args),
        SearchStep::Append(args) => append(args),
        SearchStep::Delete(args) => delete(args),
        SearchStep::Merge(args) => merge(args),
        SearchStep::Query(args) => query(args),
        #[cfg(feature = "client")]
        SearchStep::Upload(args) => remote::upload(args),
        #[cfg(feature = "client")]
        SearchStep::Withdraw(args) => remote::withdraw(args),
        SearchStep::Answer(args) => answer(args),
        SearchStep::Read(args) => read(args),
        SearchStep::Info(args) => info(args),
    }
}

/// The file that a step writes, which is none of those that it reads.
fn output(to: &SearchOutput, text: Text, private: bool, inputs: &[&Path]) -> Result<Output> {
    let options = OutputOptions { force: to.force, private, ..OutputOptions::default() };
    stdio::create(&to.output, options, text, inputs)
}

/// The longest text file of payloads.
const MAX_PAYLOADS: u64 = 1 << 30;

fn summary(step: &str, index: &IndexFolder) -> Summary {
    Summary::new("search")
        .fact("step", step)
        .fact("index", index.name())
        .fact("segments", index.segments())
        .fact("files", index.files())
}

fn create(args: &SearchCreate) -> Result<Summary> {
    let plan = match (args.threshold, args.margin) {
        (Some(threshold), Some(margin)) if !args.rank => {
            Plan::matching(args.dimension, args.metric(), threshold, margin).payload(args.payload)
        }
        _ => Plan::ranking(args.dimension, args.metric()),
    };
    let index = IndexFolder::create(&args.index, &plan.records(args.records))?;
    let facts = predicted(summary("create", &index), index.params());
    Ok(facts.line(format!("{}: an index without records", shown(&args.index))))
}

/// The predictions of an index.
fn predicted(summary: Summary, params: &Params) -> Summary {
    let facts = params.facts();
    let summary = facts.to_string().lines().fold(summary, |summary, line| summary.line(line));
    summary
        .fact("parameters", Ckks::params_json(params.ckks()))
        .fact("planned_segments", facts.segments)
        .fact("degree", facts.degree)
        .fact("step_error", facts.step_error)
        .fact("score_error", facts.score_error)
        .fact("key_bytes", facts.key_bytes)
        .fact("index_bytes", facts.index_bytes)
        .fact("query_bytes", facts.query_bytes)
        .fact("answer_bytes", facts.answer_bytes.to_vec())
        .fact("segment_memory", facts.segment_memory)
        .fact("outside", facts.outside)
        .fact("tangled", facts.tangled)
}

fn make_keys(args: &SearchKeygen) -> Result<Summary> {
    let index = IndexFolder::open(&args.index)?;
    let folder = create_dir(&args.output)?;
    let files = KeyFiles::create(folder.path(), args.options.force)?;
    let devices = args.options.device.open()?;
    let passphrase = args.options.seal.obtain(&args.output.join(KEY_NAMES[0]).display().to_string())?;
    let engine = search::engine(index.params(), devices.lead().clone())?;
    let rotations = search::rotations(index.params());
    let (id, sizes) =
        files.generate(&engine, &rotations, passphrase.as_ref(), &mut rng()?, &Shown::default())?;
    folder.keep();
    let made =
        keygen::summary(Ckks::NAME, &args.output, KEY_NAMES.into_iter().zip(sizes), passphrase.is_some());
    Ok(made
        .fact("key_set", id.short())
        .fact("device", devices.name())
        .fact("index", index.name())
        .fact("rotations", rotations.steps.len())
        .fact("parameters", Ckks::params_json(index.params().ckks())))
}

/// A key of CKKS; `needed` is its kind.
fn ckks(path: &Path, needed: &str, secret: Option<&SearchSecret>) -> Result<KeyFile<Ckks>> {
    let passphrase = secret.map(|secret| &secret.opening as _);
    match AnyKey::read(Input::open(path)?, needed, passphrase)?.scheme(needed)? {
        OneOf::Ckks(key) => Ok(key),
        _ => Err(CliError::new(format!("{} is not a key of ckks", path.display()))
            .hint("he-cli search keygen makes the keys of an index")),
    }
}

fn secret_key(secret: &SearchSecret) -> Result<KeyFile<Ckks>> {
    ckks(&secret.key, "a secret key", Some(secret))
}

/// The vectors of a table, a row for each.
fn vectors(path: &Path, csv: &CsvFlags) -> Result<Vec<Vec<f64>>> {
    let input = Input::open(path)?;
    let name = input.name().to_owned();
    let table = Table::read(input, &name, csv.options())?;
    table.tell_guess(&name, &Shown::default());
    let row = |row: usize| table.columns().iter().map(|column| column[row]).collect();
    Ok((0..table.rows()).map(row).collect())
}

/// The payloads of records: lines of a text, filled with zeros to their length.
fn payloads(path: Option<&Path>, records: usize, bytes: usize) -> Result<Vec<Vec<u8>>> {
    let Some(path) = path else { return Ok(vec![vec![0; bytes]; records]) };
    let input = Input::open(path)?;
    let name = input.name().to_owned();
    let text = input.read_all(MAX_PAYLOADS)?;
    let text = text.strip_suffix(b"\n").unwrap_or(&text);
    let lines: Vec<&[u8]> = text.split(|&byte| byte == b'\n').collect();
    if lines.len() != records {
        return Err(he_files::Error::from(he_search::Error::Payloads {
            found: lines.len(),
            expected: records,
        })
        .in_file_of(&name)
        .into());
    }
    let padded = |(at, line): (usize, &&[u8])| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > bytes {
            let (name, row) = (name.clone(), at + 1);
            let error = SearchError::Payload { name, row, found: line.len(), limit: bytes };
            return Err(CliError::from(he_files::Error::from(error)));
        }
        Ok([line, &vec![0; bytes - line.len()]].concat())
    };
    lines.iter().enumerate().map(padded).collect()
}

fn append(args: &SearchAppend) -> Result<Summary> {
    let inputs = [Some(&*args.vectors), args.payloads.as_deref(), Some(&*args.secret.key)];
    stdin_once(inputs.into_iter().flatten())?;
    let mut index = IndexFolder::open(&args.index)?;
    let key = secret_key(&args.secret)?;
    let vectors = vectors(&args.vectors, &args.csv)?;
    let payloads = payloads(args.payloads.as_deref(), vectors.len(), index.params().payload())?;
    let records = vectors.into_iter().zip(payloads).map(|(vector, payload)| Record { vector, payload });
    let records: Vec<Record> = records.collect();
    let devices = args.device.open()?;
    let engine = search::engine(index.params(), devices.lead().clone())?;
    let bytes = search::append(&mut index, &key, &records, &engine, &mut rng()?, &Shown::default())?;
    let (count, size) = (records.len(), units::bytes(bytes));
    Ok(summary("append", &index)
        .path("input", &args.vectors)
        .fact("appended", count)
        .fact("bytes", bytes)
        .fact("device", devices.name())
        .line(format!("{}: {count} records in {size}, in {}", shown(&args.index), time())))
}

fn delete(args: &SearchDelete) -> Result<Summary> {
    let mut index = IndexFolder::open(&args.index)?;
    index.delete(&args.positions)?;
    let count = args.positions.len();
    let line = format!("{}: {count} records deleted", shown(&args.index));
    Ok(summary("delete", &index).fact("deleted", count).line(line))
}

fn merge(args: &SearchMerge) -> Result<Summary> {
    let mut index = IndexFolder::open(&args.index)?;
    let before = index.files();
    let devices = args.device.open()?;
    let engine = search::engine(index.params(), devices.lead().clone())?;
    let after = search::merge(&mut index, &engine)?;
    let line = format!("{}: {before} files became {after}, in {}", shown(&args.index), time());
    Ok(summary("merge", &index).fact("before", before).fact("device", devices.name()).line(line))
}

fn query(args: &SearchQuery) -> Result<Summary> {
    stdin_once([&*args.vector, &*args.secret.key])?;
    let index = IndexFolder::open(&args.index)?;
    let key = secret_key(&args.secret)?;
    let vectors = vectors(&args.vector, &args.csv)?;
    let [vector] = &vectors[..] else {
        let (name, found) = (args.vector.display().to_string(), vectors.len());
        return Err(he_files::Error::from(SearchError::Rows { name, found }).into());
    };
    let output = output(&args.to, Text::No, false, &[&args.vector, &args.secret.key])?;
    let devices = args.to.device.open()?;
    let engine = search::engine(index.params(), devices.lead().clone())?;
    let written = search::query(&index, &key, vector, &engine, output, &mut rng()?)?;
    let line = format!("{}: {}, in {}", shown(&args.to.output), units::bytes(written.bytes), time());
    let summary = summary("query", &index).path("input", &args.vector).output(&args.to.output);
    Ok(summary.fact("device", devices.name()).facts(written.facts).line(line))
}

fn answer(args: &SearchAnswer) -> Result<Summary> {
    #[cfg(feature = "client")]
    if let Some(url) = &args.server.server {
        return remote::answer(args, url);
    }
    let Some(path) = &args.key else { return Err(CliError::usage("--key is missing")) };
    stdin_once([&*args.query, path])?;
    let index = IndexFolder::open(&args.index)?;
    let reader = CipherReader::<Ckks>::new(Input::open(&args.query)?)?;
    let wanted = args.want.map_or_else(|| Wanted::usual(index.params()), Wanted::from);
    let output = output(&args.to, Text::No, false, &[&args.query, path])?;
    let key = ckks(path, "an evaluation key", None)?;
    let devices = args.to.device.open()?;
    let engine = search::engine(index.params(), devices.lead().clone())?;
    let written = search::answer(&index, reader, key, wanted, &engine, output, &Shown::default())?;
    let line = format!("{}: {}, in {}", shown(&args.to.output), units::bytes(written.bytes), time());
    let summary = summary("answer", &index).path("input", &args.query).output(&args.to.output);
    Ok(summary.fact("device", devices.name()).facts(written.facts).line(line))
}

fn read(args: &SearchRead) -> Result<Summary> {
    stdin_once([&*args.answer, &*args.secret.key])?;
    let key = secret_key(&args.secret)?;
    let reader = CipherReader::<Ckks>::new(Input::open(&args.answer)?)?;
    let output = output(&args.to, Text::Yes, true, &[&args.answer, &args.secret.key])?;
    let devices = args.to.device.open()?;
    let found = search::read(reader, &key, args.nearest, devices.lead().clone())?;
    found.write(output)?;
    let line = format!("{}: {}, in {}", shown(&args.to.output), found.text(), time());
    Ok(Summary::new("search")
        .fact("step", "read")
        .path("input", &args.answer)
        .output(&args.to.output)
        .fact("device", devices.name())
        .facts(found.facts())
        .line(line))
}

fn info(args: &SearchInfo) -> Result<Summary> {
    let index = IndexFolder::open(&args.index)?;
    let records = index.records();
    let key_set = index.key_set().map(he_files::note::KeyId::short);
    let line = format!("{}: {records} records in {} segments", shown(&args.index), index.segments());
    let summary = summary("info", &index).fact("records", records).fact("key_set", key_set).line(line);
    Ok(predicted(summary, index.params()))
}
