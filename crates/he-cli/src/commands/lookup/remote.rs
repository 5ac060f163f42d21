//! Databases on a service.

use super::{MAX_BYTES, asked, client, found, summary};
use crate::args::{LookupAnswer, LookupFetch, LookupGet, ServerFlags};
use crate::error::{CliError, Result};
use crate::remote::Remote;
use crate::stdio::{self, Text};
use crate::summary::{Summary, shown, time};
use he_files::io::input::Input;
use he_files::io::output::OutputOptions;
use he_files::units;
use he_lookup::Query;

/// The service, which these steps need.
fn open(flags: &ServerFlags) -> Result<(Remote, &str)> {
    let url = flags.server.as_deref().ok_or_else(|| {
        CliError::usage("the service is missing")
            .hint("give its URL with --server, as https://he.example.org")
    })?;
    Ok((Remote::open(url, flags)?, url))
}

pub(super) fn fetch(args: &LookupFetch) -> Result<Summary> {
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::No, &[])?;
    let (service, url) = open(&args.server)?;
    let description = service.lookup_description(&args.database)?;
    output.holding(&description.to_bytes())?.commit()?;
    let line = format!("{}: {} records, of {url}", shown(&args.to.output), description.records());
    Ok(summary("fetch", &description).fact("server", url).output(&args.to.output).line(line))
}

pub(super) fn answer(args: &LookupAnswer, url: &str) -> Result<Summary> {
    let query = Input::open(&args.query)?.read_all(MAX_BYTES)?;
    // Anything else, such as the key of the client, does not leave this machine.
    let name = args.query.display().to_string();
    let version =
        Query::database_of(&query).map_err(|error| he_files::Error::from(error).in_file_of(&name))?;
    let options = OutputOptions { force: args.to.force, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::No, &[&args.query])?;
    let bytes = Remote::open(url, &args.server)?.lookup_answer(&args.database, &query)?;
    let size = units::bytes(bytes.len() as u64);
    output.holding(&bytes)?.commit()?;
    let line = format!("{}: {size}, in {}, on {url}", shown(&args.to.output), time());
    let summary = Summary::new("lookup").fact("step", "answer").fact("database", version.to_string());
    let summary = summary.path("input", &args.query);
    let summary = summary.output(&args.to.output).fact("server", url).fact("sent_bytes", query.len());
    Ok(summary.fact("bytes", bytes.len()).line(line))
}

pub(super) fn get(args: &LookupGet) -> Result<Summary> {
    let options = OutputOptions { force: args.to.force, private: true, ..OutputOptions::default() };
    let output = stdio::create(&args.to.output, options, Text::IfSo, &[&args.key])?;
    let (service, url) = open(&args.server)?;
    let description = service.lookup_description(&args.database)?;
    let client = client(&description, &args.key)?;
    let query = asked(&client, &args.record)?;
    let record = found(&client, &args.record, &service.look_up(&args.database, &description, &query)?)?;
    output.holding(&record)?.commit()?;
    let line = format!("{}: {} bytes, in {}, of {url}", shown(&args.to.output), record.len(), time());
    Ok(summary("get", &description).fact("server", url).output(&args.to.output).line(line))
}
