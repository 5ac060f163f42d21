//! Writing on a thread of its own, one frame behind the computation.

use super::{FileWriter, Written};
use crate::error::{Error, OutputError, Result};
use crate::io::output::Output;
use crate::note::{Content, Payload};
use crate::scheme::{Header, Scheme, State};
use he_core::wire::{Frame, SealedFrame};
use serde_json::{Value, json};
use std::sync::mpsc::{self, SyncSender};
use std::thread::JoinHandle;

/// Reads the fields of a frame, and whether its second half is a seed.
type ReadHeader = Box<dyn Fn(&Frame) -> he_core::Result<(Header, bool)> + Send>;

/// What is known of the ciphertexts of a file that is being written.
struct Tally {
    /// The pixels left for filters and their total number, if the content has them.
    halo: Option<(u32, u32)>,
    ciphertexts: u64,
    seeded: bool,
    worst: Option<State>,
    header: ReadHeader,
}

impl Tally {
    fn new<S: Scheme>(params: &S::Params, content: &Content) -> Self {
        let halo = match content {
            Content::Image(note) => Some((note.halo_left, note.halo)),
            _ => None,
        };
        let params = params.clone();
        let header =
            move |frame: &Frame| Ok((S::header(&params, frame)?, Some(frame.kind) == S::CIPHERTEXTS.1));
        Self { halo, ciphertexts: 0, seeded: false, worst: None, header: Box::new(header) }
    }

    fn add(&mut self, frame: &SealedFrame) -> Result<()> {
        let (header, seeded) = (self.header)(frame.unverified())?;
        self.ciphertexts += header.batch as u64;
        self.seeded |= seeded;
        self.worst = Some(self.worst.map_or(header.state, |worst| worst.or_less(header.state)));
        Ok(())
    }

    /// The facts for programs, and what is left for people.
    fn told(&self) -> ([(&'static str, Value); 3], String) {
        let mut left = self.worst.map(State::json).unwrap_or_default();
        let mut texts: Vec<String> = self.worst.map(State::text).into_iter().collect();
        if let Some((pixels, of)) = self.halo {
            left.insert("halo".to_owned(), json!(pixels));
            left.insert("halo_of".to_owned(), json!(of));
            texts.push(format!("{pixels} of {of} pixels of halo"));
        }
        let facts = [
            ("ciphertexts", json!(self.ciphertexts)),
            ("seeded", json!(self.seeded)),
            ("left", Value::Object(left)),
        ];
        (facts, texts.join(", "))
    }
}

/// An encrypted file of a scheme over rings being written.
pub struct CipherWriter {
    tally: Tally,
    /// `None` once the file is complete, or given up.
    frames: Option<SyncSender<SealedFrame>>,
    thread: Option<JoinHandle<Result<FileWriter>>>,
    name: String,
}

impl CipherWriter {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new<S: Scheme>(output: Output, params: &S::Params, payload: &Payload) -> Result<Self> {
        let name = output.name();
        let mut file = FileWriter::new::<S>(output, params, payload)?;
        let (frames, queue) = mpsc::sync_channel::<SealedFrame>(1);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            for frame in queue {
                file.write(&frame)?;
            }
            Ok(file)
        });
        let thread = thread
            .map_err(|error| OutputError::NoThread { name: name.clone(), reason: error.to_string() })?;
        let tally = Tally::new::<S>(params, &payload.content);
        Ok(Self { tally, frames: Some(frames), thread: Some(thread), name })
    }

    /// Writes an encoded batch.
    ///
    /// # Errors
    /// The output cannot be written; this may be the error of an earlier frame.
    pub fn send(&mut self, frame: SealedFrame) -> Result<()> {
        self.tally.add(&frame)?;
        let sent = self.frames.as_ref().is_some_and(|frames| frames.send(frame).is_ok());
        if sent {
            return Ok(());
        }
        // The thread ended early, and its error says why.
        self.join()?;
        Err(self.ended())
    }

    /// Waits for the thread.
    fn join(&mut self) -> Result<Option<FileWriter>> {
        self.frames = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(None),
            Some(Ok(file)) => file.map(Some),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    fn ended(&self) -> Error {
        OutputError::Ended { name: self.name.clone() }.into()
    }

    /// Writes the end mark and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(mut self) -> Result<Written> {
        let file = self.join()?.ok_or_else(|| self.ended())?;
        let (facts, left) = self.tally.told();
        file.commit(facts, left)
    }
}

impl Drop for CipherWriter {
    /// Given up: the thread lets go of the output, whose unfinished file goes with it.
    fn drop(&mut self) {
        self.frames = None;
        if let Some(thread) = self.thread.take() {
            // Its error or panic has no reader any more.
            drop(thread.join());
        }
    }
}
