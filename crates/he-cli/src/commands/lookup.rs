//! `lookup`: databases, queries and answers of private look-ups.

#[cfg(feature = "client")]
mod remote;

use crate::args::{
    Lookup, LookupAnswer, LookupAppend, LookupInfo, LookupKeygen, LookupPrepare, LookupQuery, LookupRead,
    LookupRecord, LookupStep, LookupUpdate,
};
use crate::error::{CliError, Result};
use crate::progress::Shown;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he::Device;
use he_core::backend::Cpu;
use he_core::rand::Rng;
use he_files::io::input::Input;
use he_files::io::output::OutputOptions;
use he_files::lookup::{self, LookupFolder};
use he_files::scheme::engine::rng;
use he_files::units;
use he_lookup::{Answer, Client, ClientKey, Description, Facts, Plan, Query};
use std::path::Path;

/// The longest key, query or answer that is read.
const MAX_BYTES: u64 = 1 << 32;

pub(super) fn run(args: &Lookup) -> Result<Summary> {
    match &args.step {
        LookupStep::Prepare(args) => prepare(args),
        LookupStep::Append(args) => append(args),
        LookupStep::Update(args) => update(args),
        LookupStep::Keygen(args) => keygen(args),
        LookupStep::Query(args) => query(args),
        LookupStep::Answer(args) => answer(args),
        #[cfg(feature = "client")]
        LookupStep::Get(args) => remote::get(args),
        #[cfg(feature = "client")]
        LookupStep::Fetch(args) => remote::fetch(args),
        LookupStep::Read(args) => read(args),
        LookupStep::Info(args) => info(args),
    }
}

fn own<T>(result: he_lookup::Result<T>) -> Result<T> {
    Ok(result.map_err(he_files::Error::from)?)
}

/// The object in a file, whose name is put before its errors.
fn object<T>(path: &Path, read: impl FnOnce(&[u8]) -> he_lookup::Result<T>) -> Result<T> {
    let input = Input::open(path)?;
    let name = input.name().to_owned();
    let bytes = zeroize::Zeroizing::new(input.read_all(MAX_BYTES)?);
    read(&bytes).map_err(|error| he_files::Error::from(error).in_file_of(&name).into())
}

fn summary(step: &str, description: &Description) -> Summary {
    Summary::new("lookup")
        .fact("step", step)
        .fact("database", description.identity().to_string())
        .fact("version", description.version())
        .fact("records", description.records())
}

/// The predictions of a plan.
fn predicted(summary: Summary, facts: &Facts) -> Summary {
    let summary = facts.to_string().lines().fold(summary, |summary, line| summary.line(line));
    summary
        .fact("query_bytes", facts.query_bytes)
        .fact("key_bytes", facts.key_bytes)
        .fact("answer_bytes", facts.answer_bytes)
        .fact("matrix_bytes", facts.matrix_bytes)
        .fact("digit_bytes", facts.digit_bytes)
        .fact("log2_failure", facts.log2_failure)
}

fn plan(args: &LookupPrepare, records: u64) -> Plan {
    let records = args.records.unwrap_or(records);
    if args.by_key {
        Plan::keyword(records, args.record_bytes)
    } else {
        Plan::index(records, args.record_bytes)
    }
}

fn prepare(args: &LookupPrepare) -> Result<Summary> {
    let (Some(folder), Some(path)) = (&args.database, &args.input) else {
        let facts = Facts::of(&own(plan(args, 0).params())?);
        return Ok(predicted(Summary::new("lookup").fact("step", "explain"), &facts));
    };
    let mut seed = [0; 32];
    rng()?.fill_bytes(&mut seed);
    let devices = args.device.open()?;
    let device = devices.lead().clone();
    let input = Input::open(path)?;
    let made = if args.by_key {
        let entries = lookup::entries(input, args.record_bytes)?;
        let plan = plan(args, entries.len() as u64);
        LookupFolder::of_entries(folder, &plan, seed, &entries, device)?
    } else {
        let bytes = input.known_len().filter(|_| args.record_bytes > 0);
        let plan = plan(args, bytes.map_or(0, |bytes| bytes / args.record_bytes as u64));
        LookupFolder::of_records(folder, &plan, seed, input, device, &Shown::default())?
    };
    let description = made.description();
    let line = format!("{}: {} records, in {}", shown(folder), description.records(), time());
    let summary = summary("prepare", description).path("input", path).fact("device", devices.name());
    Ok(predicted(summary.line(line), &Facts::of(description.params())))
}

fn append(args: &LookupAppend) -> Result<Summary> {
    let mut database = LookupFolder::open(&args.database)?;
    let devices = args.device.open()?;
    let packs = database.append(Input::open(&args.input)?, devices.lead().clone(), &Shown::default())?;
    Ok(changed("append", &args.database, &database, packs).fact("device", devices.name()))
}

fn update(args: &LookupUpdate) -> Result<Summary> {
    let mut database = LookupFolder::open(&args.database)?;
    let devices = args.device.open()?;
    let input = Input::open(&args.input)?;
    let packs = database.update(input, args.first, devices.lead().clone(), &Shown::default())?;
    Ok(changed("update", &args.database, &database, packs).fact("device", devices.name()))
}

fn changed(step: &str, folder: &Path, database: &LookupFolder, packs: usize) -> Summary {
    let (description, all) = (database.description(), database.description().params().packs());
    let records = description.records();
    let line = format!("{}: {records} records; {packs} of {all} packs anew, in {}", shown(folder), time());
    summary(step, description).fact("packs", packs).line(line)
}

fn keygen(args: &LookupKeygen) -> Result<Summary> {
    let options = OutputOptions { secret: true, ..OutputOptions::default() };
    let output = stdio::create(&args.output, options, Text::No, &[])?;
    output.holding(&ClientKey::generate(&mut rng()?).expose_bytes())?.commit()?;
    let summary = Summary::new("lookup").fact("step", "keygen").output(&args.output);
    Ok(summary.line(format!("{}: the key of a client", shown(&args.output))))
}

fn client(description: &Description, key: &Path) -> Result<Client<Device>> {
    let key = object(key, ClientKey::from_bytes)?;
    let ring = lookup::ring(description.params(), Device::from(Cpu::new()))?;
    own(Client::new(description, key, &ring))
}

/// A query for a record.
fn asked(client: &Client<Device>, record: &LookupRecord) -> Result<Query> {
    let LookupRecord { number, entry } = record;
    own(match (number, entry) {
        (Some(number), _) => client.query(*number, &mut rng()?),
        (None, entry) => client.query_key(entry.as_deref().unwrap_or_default().as_bytes(), &mut rng()?),
    })
}

/// The record of an answer.
fn found(client: &Client<Device>, record: &LookupRecord, answer: &Answer) -> Result<Vec<u8>> {
    let LookupRecord { number, entry } = record;
    let found = own(match (number, entry) {
        (Some(number), _) => client.read(answer, *number).map(Some),
        (None, entry) => client.read_key(answer, entry.as_deref().unwrap_or_default().as_bytes()),
    })?;
    found.ok_or_else(|| CliError::new("the database has no such key").hint("keys are compared byte by byte"))
}

fn query(args: &LookupQuery) -> Result<Summary> {
    stdin_once([&*args.description, &*args.key])?;
    let description = lookup::description(&args.description)?;
    let client = client(&description, &args.key)?;
    let query = asked(&client, &args.record)?;
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::No, &[&args.description, &args.key])?;
    let bytes = query.to_bytes(description.params());
    output.holding(&bytes)?.commit()?;
    let line = format!("{}: {}, in {}", shown(&args.to.output), units::bytes(bytes.len() as u64), time());
    Ok(summary("query", &description).output(&args.to.output).fact("bytes", bytes.len()).line(line))
}

fn answer(args: &LookupAnswer) -> Result<Summary> {
    #[cfg(feature = "client")]
    if let Some(url) = &args.server.server {
        return remote::answer(args, url);
    }
    let database = LookupFolder::open(&args.database)?;
    let description = database.description();
    let query = object(&args.query, |bytes| Query::from_bytes(description, bytes))?;
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::No, &[&args.query])?;
    let devices = args.device.open()?;
    let ring = lookup::ring(description.params(), devices.lead().clone())?;
    let answers = database.answer(&[query], &ring, &Shown::default())?;
    let bytes: Vec<u8> = answers.iter().flat_map(|answer| answer.to_bytes(description.params())).collect();
    output.holding(&bytes)?.commit()?;
    let line = format!("{}: {}, in {}", shown(&args.to.output), units::bytes(bytes.len() as u64), time());
    let summary = summary("answer", description).path("input", &args.query).output(&args.to.output);
    Ok(summary.fact("bytes", bytes.len()).fact("device", devices.name()).line(line))
}

fn read(args: &LookupRead) -> Result<Summary> {
    stdin_once([&*args.answer, &*args.description, &*args.key])?;
    let description = lookup::description(&args.description)?;
    let client = client(&description, &args.key)?;
    let answer = object(&args.answer, |bytes| Answer::from_bytes(&description, bytes))?;
    let record = found(&client, &args.record, &answer)?;
    let options = OutputOptions { force: args.to.force, private: true, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::IfSo, &[&args.answer, &args.key])?;
    output.holding(&record)?.commit()?;
    let line = format!("{}: {} bytes, in {}", shown(&args.to.output), record.len(), time());
    Ok(summary("read", &description).path("input", &args.answer).output(&args.to.output).line(line))
}

fn info(args: &LookupInfo) -> Result<Summary> {
    let description = lookup::description(&args.description)?;
    let (records, way) = (description.records(), description.params().plan().way());
    let line = format!("{}: {records} records, looked up by {way}", shown(&args.description));
    let summary = summary("info", &description).fact("by", way).line(line);
    Ok(predicted(summary, &Facts::of(description.params())))
}
