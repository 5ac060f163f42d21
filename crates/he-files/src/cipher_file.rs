//! Encrypted files: parameters, description, then batches of ciphertexts in sequence, which are
//! never all in memory.

use crate::error::{Error, FileError, InFile, OutputError, Result};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{AnyStart, END_MARK, check_start, read_start};
use crate::note::{self, Content, KeyId, Note, Payload};
use crate::scheme::{Header, OfKeySet, On, Scheme, State};
use crate::tfhe;
use he_core::backend::RingOps;
use he_core::ring::Ring;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameReader, FrameWriter, SealedFrame};
use serde_json::{Map, Value, json};
use std::io::BufReader;
use std::path::Path;
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// An encrypted file being read.
pub struct CipherReader<S: Scheme> {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: S::Params,
    /// The description.
    pub payload: Payload,
    reader: FrameReader<BufReader<Input>>,
    spares: Spares,
}

/// The decoder of frames of a file to ciphertexts, on any engine.
pub struct Decoder<S: Scheme> {
    name: String,
    params: S::Params,
    key_id: KeyId,
    slots: usize,
    spares: Spares,
}

/// Memory of bodies that have been decoded, for the next ones.
type Spares = Arc<Mutex<Vec<Vec<u8>>>>;

/// The most bodies that are kept.
const MOST_SPARES: usize = 4;

impl<S: Scheme> Decoder<S> {
    /// The ciphertexts of a frame: exactly `batch` of them, with as many slots as the description
    /// says.
    ///
    /// # Errors
    /// The frame is damaged, or of another size.
    pub fn decode<B: RingOps>(
        &self,
        ring: &Ring<B>,
        sealed: SealedFrame,
        batch: usize,
    ) -> Result<S::Ciphertext>
    where
        S: On<B>,
    {
        let mut frame = sealed.open().in_file(&self.name)?;
        let ct = S::decode(&self.params, ring, &frame).in_file(&self.name)?.of(&self.key_id);
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < MOST_SPARES {
            spares.push(std::mem::take(&mut frame.body));
        }
        if S::shape(&ct) != (batch, self.slots) {
            return Err(wrong_number(&self.name, "other"));
        }
        Ok(ct)
    }
}

/// A file with `what` (more, or fewer) ciphertexts than it says.
pub fn wrong_number(name: &str, what: &'static str) -> Error {
    FileError::Count { name: name.to_owned(), how: what }.into()
}

impl<S: Scheme> CipherReader<S> {
    /// Reads parameters and description.
    ///
    /// # Errors
    /// It is not an encrypted file, or one of another scheme, damaged, or of insecure parameters.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Input::open(path)?)
    }

    /// Reads parameters and description.
    ///
    /// # Errors
    /// It is not an encrypted file, or one of another scheme, damaged, or of insecure parameters.
    pub fn new(mut input: Input) -> Result<Self> {
        const NEEDED: &str = "an encrypted file";
        const HINT: &str = "encrypt first, then give what encrypt or eval wrote";
        check_start(&mut input, NEEDED, HINT)?;
        let name = input.name().to_owned();
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        let is_key = || -> Error { FileError::IsKey { name: name.clone() }.into() };
        let of_another =
            |scheme| -> Error { FileError::Scheme { name: name.clone(), scheme, key: S::NAME }.into() };
        let start = match read_start(&mut reader, &name)? {
            AnyStart::Scheme(start) => start,
            AnyStart::Tfhe((_, Note::Payload(_))) => return Err(of_another(tfhe::NAME)),
            AnyStart::Tfhe(_) | AnyStart::Aes(_) => return Err(is_key()),
        };
        if matches!(start.note(), Note::Key(_)) {
            return Err(is_key());
        }
        let scheme = start.scheme();
        match S::take(start) {
            Some((params, Note::Payload(payload))) => Ok(Self::read_rest(reader, params, payload, &name)),
            Some(_) => Err(is_key()),
            None => Err(of_another(scheme)),
        }
    }

    /// Reads everything after parameters and description.
    pub fn read_rest(
        reader: FrameReader<BufReader<Input>>,
        params: S::Params,
        payload: Payload,
        name: &str,
    ) -> Self {
        Self { name: name.to_owned(), params, payload, reader, spares: Spares::default() }
    }

    /// The decoder of its frames.
    pub fn decoder(&self) -> Decoder<S> {
        let slots = self.payload.content.slots(S::slots(&self.params));
        let spares = Arc::clone(&self.spares);
        let (name, params) = (self.name.clone(), self.params.clone());
        Decoder { name, params, key_id: self.payload.key_id.clone(), slots, spares }
    }

    /// The next frame of ciphertexts, its checksum not yet verified; `None` at the end.
    ///
    /// # Errors
    /// The frame is damaged, or of another kind.
    fn frame_or_end(&mut self) -> Result<Option<SealedFrame>> {
        let Self { params, reader, payload, spares, .. } = self;
        if let Some(spare) = spares.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            reader.recycle(spare);
        }
        let max_batch = payload.content.batch();
        let (whole, seeded) = S::CIPHERTEXTS;
        let limit = |kind, _| match kind == whole || Some(kind) == seeded {
            true => S::ciphertext_frame_limit(params, max_batch),
            false => 0,
        };
        reader.next_sealed(limit).in_file(&self.name)
    }

    /// The next frame of ciphertexts, its checksum verified; `None` at the end.
    ///
    /// # Errors
    /// The frame is damaged, or of another kind.
    pub fn verified(&mut self) -> Result<Option<Frame>> {
        self.frame_or_end()?.map(SealedFrame::open).transpose().in_file(&self.name)
    }

    /// The next frame of ciphertexts, its checksum not yet verified.
    ///
    /// # Errors
    /// There is no further frame, or it is damaged.
    pub fn frame(&mut self) -> Result<SealedFrame> {
        self.frame_or_end()?.ok_or_else(|| wrong_number(&self.name, "fewer"))
    }

    /// The next batch: [`frame`](Self::frame), decoded.
    ///
    /// # Errors
    /// There is no further frame, it is damaged, or of another size.
    pub fn next<B: RingOps>(&mut self, ring: &Ring<B>, batch: usize) -> Result<S::Ciphertext>
    where
        S: On<B>,
    {
        let frame = self.frame()?;
        self.decoder().decode(ring, frame, batch)
    }

    /// Checks that only the end mark follows.
    ///
    /// # Errors
    /// Something does.
    pub fn end(&mut self) -> Result<()> {
        match self.frame_or_end()? {
            None => Ok(()),
            Some(_) => Err(wrong_number(&self.name, "more")),
        }
    }
}

/// An encrypted file that was written.
#[derive(Debug)]
pub struct Written {
    /// Its bytes.
    pub bytes: u64,
    /// The information for programs: scheme, parameters, key set, content, history, ciphertexts,
    /// bytes, and what is left.
    pub facts: Map<String, Value>,
    /// A text about how much can still be computed.
    pub left: String,
}

/// Reads the fields of a frame, and whether its second half is a seed.
type ReadHeader = Box<dyn Fn(&Frame) -> he_core::Result<(Header, bool)> + Send>;

/// The information about a file that is being written.
struct Told {
    facts: Map<String, Value>,
    /// The pixels left for filters and their total number, if the content has them.
    halo: Option<(u32, u32)>,
    ciphertexts: u64,
    seeded: bool,
    worst: Option<State>,
    header: ReadHeader,
}

impl Told {
    fn new<S: Scheme>(params: &S::Params, payload: &Payload) -> Self {
        let facts = [
            ("scheme", json!(S::NAME)),
            ("parameters", S::params_json(params)),
            ("key_set", json!(payload.key_id.short())),
            ("history", json!(payload.history)),
            ("content", serde_json::to_value(&payload.content).unwrap_or_default()),
        ];
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let halo = match &payload.content {
            Content::Image(note) => Some((note.halo_left, note.halo)),
            _ => None,
        };
        let params = params.clone();
        let header =
            move |frame: &Frame| Ok((S::header(&params, frame)?, Some(frame.kind) == S::CIPHERTEXTS.1));
        Self { facts, halo, ciphertexts: 0, seeded: false, worst: None, header: Box::new(header) }
    }

    fn add(&mut self, frame: &SealedFrame) -> Result<()> {
        let (header, seeded) = (self.header)(frame.unverified())?;
        self.ciphertexts += header.batch as u64;
        self.seeded |= seeded;
        self.worst = Some(self.worst.map_or(header.state, |worst| worst.or_less(header.state)));
        Ok(())
    }

    fn written(&mut self, bytes: u64) -> Written {
        let Self { halo, ciphertexts, seeded, worst, .. } = *self;
        let mut facts = std::mem::take(&mut self.facts);
        let mut left = worst.map(State::json).unwrap_or_default();
        let mut texts: Vec<String> = worst.map(State::text).into_iter().collect();
        if let Some((pixels, of)) = halo {
            left.insert("halo".to_owned(), json!(pixels));
            left.insert("halo_of".to_owned(), json!(of));
            texts.push(format!("{pixels} of {of} pixels of halo"));
        }
        let more = [
            ("ciphertexts", json!(ciphertexts)),
            ("seeded", json!(seeded)),
            ("bytes", json!(bytes)),
            ("left", Value::Object(left)),
        ];
        facts.extend(more.map(|(name, value)| (name.to_owned(), value)));
        Written { bytes, facts, left: texts.join(", ") }
    }
}

/// An encrypted file being written. Writing has a thread of its own, one frame behind the
/// computation.
pub struct CipherWriter {
    fingerprint: Fingerprint,
    bytes: u64,
    told: Told,
    /// `None` once the file is complete, or given up.
    frames: Option<SyncSender<SealedFrame>>,
    thread: Option<JoinHandle<Result<FrameWriter<Output>>>>,
    name: String,
}

impl CipherWriter {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new<S: Scheme>(output: Output, params: &S::Params, payload: &Payload) -> Result<Self> {
        let fingerprint = S::fingerprint(params);
        let name = output.name();
        let mut writer = FrameWriter::new(output);
        let mut bytes = writer.write(&S::encode_params(params)).in_output(&name)?;
        bytes += writer.write(&note::to_frame(fingerprint, payload)?).in_output(&name)?;
        let (frames, queue) = mpsc::sync_channel::<SealedFrame>(1);
        let thread_name = name.clone();
        let thread = std::thread::Builder::new().name("writer".to_owned()).spawn(move || {
            for frame in queue {
                writer.write_sealed(&frame).in_output(&thread_name)?;
            }
            Ok(writer)
        });
        let thread = thread
            .map_err(|error| OutputError::NoThread { name: name.clone(), reason: error.to_string() })?;
        let told = Told::new::<S>(params, payload);
        Ok(Self { fingerprint, bytes, told, frames: Some(frames), thread: Some(thread), name })
    }

    /// Writes an encoded batch.
    ///
    /// # Errors
    /// The output cannot be written; this may be the error of an earlier frame.
    pub fn send(&mut self, frame: SealedFrame) -> Result<()> {
        let bytes = frame.size();
        self.told.add(&frame)?;
        let sent = self.frames.as_ref().is_some_and(|frames| frames.send(frame).is_ok());
        if !sent {
            // The thread ended early, and its error says why.
            self.join()?;
            return Err(OutputError::Ended { name: self.name.clone() }.into());
        }
        self.bytes += bytes;
        Ok(())
    }

    /// Waits for the thread.
    fn join(&mut self) -> Result<Option<FrameWriter<Output>>> {
        self.frames = None;
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(None),
            Some(Ok(writer)) => writer.map(Some),
            Some(Err(panic)) => std::panic::resume_unwind(panic),
        }
    }

    /// Writes the end mark and gives the file its name.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(mut self) -> Result<Written> {
        if let Some(writer) = self.join()? {
            let output = writer.finish(self.fingerprint).in_output(&self.name)?;
            output.commit()?;
        }
        Ok(self.told.written(self.bytes + Frame::size(END_MARK)))
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
