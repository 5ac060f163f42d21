//! Traces of what this crate computes: recording, checking by recomputation, and the first
//! difference of two of them.
//!
//! [`Recording`] lists the frames of the files that a computation reads and writes, which have
//! their checksums already, and makes the [`Trace`] of it. An auditor has the inputs, the
//! evaluation keys and the program; [`evaluation`] and [`inference`] compare them with a trace,
//! derive its operations from the program, and compute those that a [`Choice`] takes again.
//! [`first_difference`] finds the operation that two parties have to settle, and [`Disputed`] the
//! part of it, which a judge computes with one key.

mod choice;
mod digests;
mod evaluation;
mod inference;
mod judge;
mod pair;
mod parts;
mod plan;
mod record;
mod stated;
mod values;

pub use choice::{Choice, caught};
pub use digests::Digests;
pub use evaluation::{RecordedEvaluation, evaluation};
pub use inference::{InferenceFiles, RecordedInference, inference};
pub use parts::{Disputed, Keeping};
pub use record::Recording;
pub use stated::Stated;

use crate::error::{InFile, Result, TraceError};
use crate::io::input::Input;
use crate::listing::{Checksum, Listed, Listing};
use crate::trace::{Difference, Trace};
use he_core::wire::FrameReader;
use plan::HEAD;
use std::io::BufReader;

/// An operation that was computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Computed {
    /// Its place in the trace.
    pub operation: usize,
    /// The checksums of its results.
    pub results: Vec<Checksum>,
}

impl Computed {
    /// Whether the same results are stated. An operation that an opening leaves out agrees as well.
    pub fn agrees<'a>(&self, stated: impl Into<Stated<'a>>) -> bool {
        stated.into().results(self.operation).is_none_or(|results| results == self.results)
    }
}

/// The findings of an audit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The operations that were chosen, in order.
    pub chosen: Vec<usize>,
    /// The operations that were computed again: those that were chosen, and those before them
    /// whose values were not kept.
    pub computed: Vec<Computed>,
    /// The places of those whose results are not the ones that the trace states.
    pub wrong: Vec<usize>,
}

impl Report {
    fn new(stated: Stated<'_>, chosen: Vec<usize>, computed: Vec<Computed>) -> Self {
        let wrong = computed.iter().filter(|computed| !computed.agrees(stated));
        let wrong = wrong.map(|computed| computed.operation).collect();
        Self { chosen, computed, wrong }
    }
}

/// Checks that a file is undamaged, and the result that a trace ends in: with an opening, its
/// description and those of its frames that opened operations made. Returns how many frames were
/// compared, and how many there are.
///
/// # Errors
/// [`TraceError::Result`] if it is another one; it is damaged.
pub fn check_result<'a>(stated: impl Into<Stated<'a>>, file: Input) -> Result<(usize, usize)> {
    let stated = stated.into();
    let (name, listing) = (file.name().to_owned(), Listing::default());
    let mut reader = FrameReader::new(BufReader::new(Listed::new(file, listing.clone())));
    while let Some(mut frame) = reader.next_frame(|_, _| u64::MAX).in_file(&name)? {
        reader.recycle(std::mem::take(&mut frame.body));
    }
    let (found, frames) = (listing.checksums(), stated.result_frames());
    let all = found.len().saturating_sub(HEAD);
    let same = |&(place, checksum): &(usize, Checksum)| found.get(HEAD + place) == Some(&checksum);
    let whole = matches!(stated, Stated::Opening(_)) || frames.len() == all;
    match found.starts_with(&stated.head()) && whole && frames.iter().all(same) {
        true => Ok((frames.len(), all)),
        false => Err(TraceError::Result { name }.into()),
    }
}

/// The first operation in which two traces of one program on the same files differ, in as many
/// questions as the tree over the operations has rows; `None` if they are equal. Both parties agree
/// on everything that it computes from.
///
/// # Errors
/// [`TraceError::NotAlike`] if they differ before any operation does.
pub fn first_difference(a: &Trace, b: &Trace) -> Result<Option<Difference>> {
    let not_alike = |what| Err(TraceError::NotAlike { what }.into());
    if a.root() == b.root() {
        return Ok(None);
    }
    if a.program() != b.program() {
        return not_alike("programs");
    }
    if a.context() != b.context() {
        return not_alike("inputs or keys");
    }
    if a.tree().leaves() != b.tree().leaves() {
        return not_alike("numbers of operations");
    }
    match a.tree().first_difference(b.tree()) {
        None => not_alike("results, of the same operations"),
        found => Ok(found),
    }
}
