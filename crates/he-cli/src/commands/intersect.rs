//! `intersect`: sets, states and messages of private set intersection.

use crate::args::{
    Intersect, IntersectAnswer, IntersectInfo, IntersectPrepare, IntersectQuery, IntersectRead,
    IntersectRequest, IntersectRespond, IntersectStep, OutputFile,
};
use crate::error::Result;
use crate::stdio::{self, Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he::Device;
use he_core::backend::Cpu;
use he_core::ring::Ring;
use he_files::intersection::{self, SetFolder, object};
use he_files::io::input::Input;
use he_files::io::output::{Output, OutputOptions};
use he_files::scheme::engine::rng;
use he_files::units;
use he_psi::{Answer, ClientState, Facts, Params, Plan, Query, Request, Response};
use std::path::Path;

pub(super) fn run(args: &Intersect) -> Result<Summary> {
    match &args.step {
        IntersectStep::Prepare(args) => prepare(args),
        IntersectStep::Request(args) => request(args),
        IntersectStep::Respond(args) => respond(args),
        IntersectStep::Query(args) => query(args),
        IntersectStep::Answer(args) => answer(args),
        IntersectStep::Read(args) => read(args),
        IntersectStep::Info(args) => info(args),
    }
}

fn own<T>(result: he_psi::Result<T>) -> Result<T> {
    Ok(result.map_err(he_files::Error::from)?)
}

/// The object in a file.
fn read_from<T>(path: &Path, read: impl FnOnce(&[u8]) -> he_psi::Result<T>) -> Result<T> {
    Ok(object(Input::open(path)?, read)?)
}

fn summary(step: &str, params: &Params) -> Summary {
    let plan = params.plan();
    Summary::new("intersect")
        .fact("step", step)
        .fact("items", plan.server_items())
        .fact("client_items", plan.client_items())
        .fact("label_bytes", plan.label_bytes())
}

/// The predictions of a plan.
fn predicted(summary: Summary, facts: &Facts) -> Summary {
    let summary = facts.to_string().lines().fold(summary, |summary, line| summary.line(line));
    summary
        .fact("round_bytes", facts.round_bytes)
        .fact("query_bytes", facts.query_bytes)
        .fact("key_bytes", facts.key_bytes)
        .fact("answer_bytes", facts.answer_bytes)
        .fact("memory_bytes", facts.memory_bytes)
        .fact("false_positive_log2", facts.false_positive_log2)
}

fn plan(args: &IntersectPrepare, items: u64) -> Plan {
    Plan::new(args.items.unwrap_or(items), args.client_items).labels(args.label_bytes)
}

fn prepare(args: &IntersectPrepare) -> Result<Summary> {
    let (Some(folder), Some(path)) = (&args.set, &args.input) else {
        let params = own(plan(args, 0).params())?;
        return Ok(predicted(summary("explain", &params), &params.facts()));
    };
    let entries = intersection::entries(Input::open(path)?, args.label_bytes)?;
    let (plan, devices) = (plan(args, entries.len() as u64), args.device.open()?);
    let made = SetFolder::create(folder, &plan, &entries, devices.lead().clone(), &mut rng()?)?;
    let line = format!("{}: {} items, in {}", shown(folder), entries.len(), time());
    let summary = summary("prepare", made.params()).path("input", path).fact("device", devices.name());
    Ok(predicted(summary.line(line), &made.params().facts()))
}

/// Writes a message of a step.
fn written(step: &str, params: &Params, to: &OutputFile, inputs: &[&Path], bytes: &[u8]) -> Result<Summary> {
    message(to, inputs, bytes)?.commit()?;
    Ok(told(step, params, to, bytes))
}

/// A message of a step, not completed.
fn message(to: &OutputFile, inputs: &[&Path], bytes: &[u8]) -> Result<Output> {
    let options = OutputOptions { force: to.force, ..OutputOptions::default() };
    Ok(stdio::create(&to.output, options, Text::No, inputs)?.holding(bytes)?)
}

fn told(step: &str, params: &Params, to: &OutputFile, bytes: &[u8]) -> Summary {
    let line = format!("{}: {}, in {}", shown(&to.output), units::bytes(bytes.len() as u64), time());
    summary(step, params).output(&to.output).fact("bytes", bytes.len()).line(line)
}

fn request(args: &IntersectRequest) -> Result<Summary> {
    stdin_once([&*args.plan, &*args.items])?;
    let params = intersection::plan(&args.plan)?;
    let entries = intersection::entries(Input::open(&args.items)?, 0)?;
    let items: Vec<&[u8]> = entries.iter().map(|(item, _)| item.as_slice()).collect();
    let state = own(ClientState::new(&params, &items, &mut rng()?))?;
    let options = OutputOptions { secret: true, ..OutputOptions::default() };
    let inputs = [&*args.plan, &*args.items];
    let bytes = own(state.request(&params))?.to_bytes();
    let request = message(&args.to, &inputs, &bytes)?;
    let state = stdio::create(&args.state, options, Text::No, &inputs)?.holding(&state.to_bytes(&params))?;
    Output::commit_all([state, request])?;
    Ok(told("request", &params, &args.to, &bytes))
}

fn respond(args: &IntersectRespond) -> Result<Summary> {
    let set = SetFolder::open(&args.set)?;
    let request = read_from(&args.request, |bytes| Request::from_bytes(set.params(), bytes))?;
    let bytes = set.respond(&request)?.to_bytes();
    written("respond", set.params(), &args.to, &[&args.request], &bytes)
}

/// The ring on the CPU, for clients.
fn ring(params: &Params) -> Result<Ring<Device>> {
    Ok(intersection::ring(params, Device::from(Cpu::new()))?)
}

fn query(args: &IntersectQuery) -> Result<Summary> {
    stdin_once([&*args.plan, &*args.response, &*args.state])?;
    let params = intersection::plan(&args.plan)?;
    let state = read_from(&args.state, |bytes| ClientState::from_bytes(&params, bytes))?;
    let response = read_from(&args.response, |bytes| Response::from_bytes(&params, bytes))?;
    let query = own(state.query(&params, &ring(&params)?, &response, &mut rng()?))?;
    let bytes = own(query.to_bytes(&params))?;
    written("query", &params, &args.to, &[&args.plan, &args.response, &args.state], &bytes)
}

fn answer(args: &IntersectAnswer) -> Result<Summary> {
    let (set, devices) = (SetFolder::open(&args.set)?, args.device.open()?);
    let ring = intersection::ring(set.params(), devices.lead().clone())?;
    let query = read_from(&args.query, |bytes| Query::from_bytes(set.params(), &ring, bytes))?;
    let bytes = own(set.answer(query, &ring)?.to_bytes(set.params()))?;
    let summary = written("answer", set.params(), &args.to, &[&args.query], &bytes)?;
    Ok(summary.fact("device", devices.name()))
}

fn read(args: &IntersectRead) -> Result<Summary> {
    stdin_once([&*args.plan, &*args.response, &*args.answer, &*args.state])?;
    let params = intersection::plan(&args.plan)?;
    let (state, ring) =
        (read_from(&args.state, |bytes| ClientState::from_bytes(&params, bytes))?, ring(&params)?);
    let response = read_from(&args.response, |bytes| Response::from_bytes(&params, bytes))?;
    let answer = read_from(&args.answer, |bytes| Answer::from_bytes(&params, &ring, bytes))?;
    let found = own(state.read(&params, &ring, &response, &answer))?;
    let items: Vec<&[u8]> = state.items().collect();
    let options = OutputOptions { force: args.to.force, private: true, ..OutputOptions::default() };
    let inputs = [&*args.plan, &*args.response, &*args.answer, &*args.state];
    let output = stdio::create(&args.to.output, options, Text::IfSo, &inputs)?;
    output.holding(&intersection::matches(&found, &items, &params))?.commit()?;
    let line = format!("{}: {} of {} items, in {}", shown(&args.to.output), found.len(), items.len(), time());
    let summary = summary("read", &params).path("input", &args.answer).output(&args.to.output);
    Ok(summary.fact("matches", found.len()).line(line))
}

fn info(args: &IntersectInfo) -> Result<Summary> {
    let params = intersection::plan(&args.plan)?;
    let plan = params.plan();
    let (items, most) = (plan.server_items(), plan.client_items());
    let line = format!("{}: up to {items} items, asked for {most} at a time", shown(&args.plan));
    Ok(predicted(summary("info", &params).line(line), &params.facts()))
}
