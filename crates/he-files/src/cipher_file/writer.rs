//! Writing on a thread of its own, one frame behind the computation.

use super::{FileWriter, Written};
use crate::error::Result;
#[cfg(not(target_family = "wasm"))]
use crate::error::{Error, OutputError};
use crate::io::output::Output;
use crate::note::{Content, Payload};
use crate::scheme::{Header, Scheme, State};
use he_core::wire::{Frame, SealedFrame};
use serde_json::{Value, json};
#[cfg(not(target_family = "wasm"))]
use std::sync::mpsc::{self, SyncSender};
#[cfg(not(target_family = "wasm"))]
use std::thread::JoinHandle;

/// Reads the fields of a frame, and whether its second half is a seed.
type ReadHeader = Box<dyn Fn(&Frame) -> he_core::Result<(Header, bool)> + Send>;

/// The facts known of the ciphertexts of a file that is being written.
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

/// An encrypted file of a scheme over rings being written: on a thread of its own where there are
/// threads.
pub struct CipherWriter {
    tally: Tally,
    frames: Frames,
}

impl CipherWriter {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new<S: Scheme>(output: Output, params: &S::Params, payload: &Payload) -> Result<Self> {
        let file = FileWriter::new::<S>(output, params, payload)?;
        Ok(Self { tally: Tally::new::<S>(params, &payload.content), frames: Frames::new(file)? })
    }

    /// Writes an encoded batch.
    ///
    /// # Errors
    /// The output cannot be written; this may be the error of an earlier frame.
    pub fn send(&mut self, frame: SealedFrame) -> Result<()> {
        self.tally.add(&frame)?;
        self.frames.send(frame)
    }

    /// Writes the end mark and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(self) -> Result<Written> {
        let (facts, left) = self.tally.told();
        self.frames.finish()?.commit(facts, left)
    }
}

/// Writes frames where there are no threads.
#[cfg(target_family = "wasm")]
struct Frames(FileWriter);

#[cfg(target_family = "wasm")]
impl Frames {
    fn new(file: FileWriter) -> Result<Self> {
        Ok(Self(file))
    }

    fn send(&mut self, frame: SealedFrame) -> Result<()> {
        self.0.write(&frame)
    }

    fn finish(self) -> Result<FileWriter> {
        Ok(self.0)
    }
}

/// Writes frames on a thread of its own.
#[cfg(not(target_family = "wasm"))]
struct Frames {
    /// `None` once the file is complete, or given up.
    queue: Option<SyncSender<SealedFrame>>,
    thread: Option<JoinHandle<Result<FileWriter>>>,
    name: String,
}

#[cfg(not(target_family = "wasm"))]
impl Frames {
    fn new(mut file: FileWriter) -> Result<Self> {
        let name = file.name.clone();
        let (frames, queue) = mpsc::sync_channel::<SealedFrame>(1);
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            for frame in queue {
                file.write(&frame)?;
            }
            Ok(file)
        });
        let thread = thread
            .map_err(|error| OutputError::NoThread { name: name.clone(), reason: error.to_string() })?;
        Ok(Self { queue: Some(frames), thread: Some(thread), name })
    }

    fn send(&mut self, frame: SealedFrame) -> Result<()> {
        let sent = self.queue.as_ref().is_some_and(|queue| queue.send(frame).is_ok());
        if sent {
            return Ok(());
        }
        // The thread ended early, and its error says why.
        self.join()?;
        Err(self.ended())
    }

    /// Waits for the thread.
    fn join(&mut self) -> Result<Option<FileWriter>> {
        self.queue = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(None),
            Some(Ok(file)) => file.map(Some),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    fn ended(&self) -> Error {
        OutputError::Ended { name: self.name.clone() }.into()
    }

    fn finish(mut self) -> Result<FileWriter> {
        self.join()?.ok_or_else(|| self.ended())
    }
}

#[cfg(not(target_family = "wasm"))]
impl Drop for Frames {
    /// Given up: the thread lets go of the output, whose unfinished file goes with it.
    fn drop(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // Its error or panic has no reader any more.
            drop(thread.join());
        }
    }
}
