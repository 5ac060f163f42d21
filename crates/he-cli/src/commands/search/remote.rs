//! Indexes on a service.

use super::{output, summary};
use crate::args::{SearchAnswer, SearchUpload, SearchWithdraw, ServerFlags};
use crate::error::{CliError, Result};
use crate::remote::{Remote, RemoteIndex, Upload};
use crate::stdio::{Text, stdin_once};
use crate::summary::{Summary, shown, time};
use he_files::note::PlanNote;
use he_files::scan::Scanned;
use he_files::search::{IndexFolder, Position, StoredIndex, Wanted};
use he_files::units;

/// The URL, which these steps need.
fn url(flags: &ServerFlags) -> Result<&str> {
    flags.server.as_deref().ok_or_else(|| {
        CliError::usage("the service is missing")
            .hint("give its URL with --server, as https://he.example.org")
    })
}

pub(super) fn upload(args: &SearchUpload) -> Result<Summary> {
    let url = url(&args.server)?;
    let index = IndexFolder::open(&args.index)?;
    let key = args.key.as_deref().map(|path| Upload::open(path, Scanned::EvaluationKeys)).transpose()?;
    let service = Remote::open_by_token(url, &args.server)?;
    let there = match (&args.to, key) {
        (Some(id), _) => service.index(id)?,
        (None, Some(mut key)) => service.make_index(&PlanNote::of(index.params().plan()), &mut key)?,
        (None, None) => return Err(CliError::usage("--key or --to is missing")),
    };
    let sent = synchronise(&service, &index, &there).map_err(|error| match args.to {
        Some(_) => error,
        // A new index is found again by its id alone.
        None => error.hint(format!("go on with he-cli search upload --to {}", there.id)),
    })?;
    let line = format!("{}: index {} on {url}, in {}", shown(&args.index), there.id, time());
    let summary = summary("upload", &index).fact("server", url).fact("id", &*there.id);
    Ok(summary.fact("sent_files", sent).line(line))
}

/// Appends and deletes there what was here, and returns the number of files that were sent.
fn synchronise(service: &Remote, index: &IndexFolder, there: &RemoteIndex) -> Result<usize> {
    let files = index.files_beyond(&there.description).ok_or_else(|| {
        CliError::new(format!("index {} is not an earlier state of {}", there.id, index.name()))
            .hint("send it as a new index, without --to")
    })?;
    for &file in &files {
        let mut segment = Upload::open(&index.path(file), Scanned::Encrypted)?;
        service.append_to_index(&there.id, &mut segment)?;
    }
    let mut deleted: Vec<Position> = index.deleted();
    deleted.retain(|&position| !there.description.is_deleted(position));
    service.delete_from_index(&there.id, &deleted)?;
    Ok(files.len())
}

pub(super) fn withdraw(args: &SearchWithdraw) -> Result<Summary> {
    let url = url(&args.server)?;
    let service = Remote::open_by_token(url, &args.server)?;
    let index = service.index(&args.id)?;
    service.withdraw_index(&index)?;
    let summary = Summary::new("search").fact("step", "withdraw").fact("server", url);
    Ok(summary.fact("id", &*args.id).line(format!("index {} is gone from {url}", args.id)))
}

pub(super) fn answer(args: &SearchAnswer, url: &str) -> Result<Summary> {
    let inputs: Vec<_> = std::iter::once(&*args.query).chain(args.key.as_deref()).collect();
    stdin_once(inputs.iter().copied())?;
    let mut query = Upload::open(&args.query, Scanned::Encrypted)?;
    let key = args.key.as_deref().map(|path| Upload::open(path, Scanned::EvaluationKeys));
    let mut key = key.transpose()?;
    let output = output(&args.to, Text::No, false, &inputs)?;
    let service = Remote::open_by_token(url, &args.server)?;
    let index = service.index(&args.index.display().to_string())?;
    let done = service.answer(&index, args.want.map(Wanted::from), &mut query, key.as_mut(), output)?;
    let size = units::bytes(done.received);
    let line = format!("{}: {size}, in {}, on {url}", shown(&args.to.output), time());
    Ok(Summary::new("search")
        .fact("step", "answer")
        .fact("index", index.id)
        .path("input", &args.query)
        .output(&args.to.output)
        .fact("server", url)
        .fact("sent_bytes", done.sent)
        .fact("bytes", done.received)
        .fact("info", done.info)
        .line(line))
}
