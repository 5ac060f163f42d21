//! Encrypted files: parameters, description, then batches of ciphertexts in sequence, which are
//! never all in memory.
//!
//! [`CipherReader`] and [`FileWriter`] know the frames of every scheme. For schemes over rings,
//! [`Decoder`]s and the [`CipherWriter`] let devices work while files are read and written.

mod decoder;
mod writer;

pub use decoder::Decoder;
pub use writer::CipherWriter;

use crate::error::{Error, FileError, InFile, Result, Wanted};
use crate::file_start::{FileFormat, check_start, read_start};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::END_MARK;
use crate::listing::{Checksum, Listed, Listing};
use crate::note::{self, Note, Payload};
use decoder::Spares;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FramePlace, FrameReader, FrameWriter, SealedFrame, WireParams};
use serde_json::{Map, Value, json};
use std::io::BufReader;
use std::path::Path;

/// An encrypted file being read.
pub struct CipherReader<F: FileFormat> {
    /// Its name in errors.
    pub name: String,
    /// The parameters.
    pub params: F::Params,
    /// The description.
    pub payload: Payload<F::Content>,
    reader: FrameReader<BufReader<Input>>,
    spares: Spares,
}

/// A file with `what` (more, or fewer) ciphertexts than it says.
pub fn wrong_number(name: &str, what: &'static str) -> Error {
    FileError::Count { name: name.to_owned(), how: what }.into()
}

impl<F: FileFormat> CipherReader<F> {
    /// Reads parameters and description.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new); the file cannot be read.
    pub fn open(path: &Path) -> Result<Self> {
        Self::new(Input::open(path)?)
    }

    /// Reads parameters and description.
    ///
    /// # Errors
    /// It is not an encrypted file, or one of another scheme, damaged, or of insecure parameters.
    pub fn new(mut input: Input) -> Result<Self> {
        check_start(&mut input, "an encrypted file", Wanted::Encrypted)?;
        let name = input.name().to_owned();
        let mut reader = FrameReader::new(BufReader::with_capacity(1 << 18, input));
        let start = read_start(&mut reader, &name)?;
        let Some(scheme) = start.encrypted_by() else {
            return Err(FileError::IsKey { name }.into());
        };
        match F::take(start) {
            Some((params, Note::Payload(payload))) => Ok(Self::read_rest(reader, params, payload, &name)),
            _ => Err(FileError::Scheme { name, scheme, key: F::NAME }.into()),
        }
    }

    /// Reads everything after parameters and description.
    pub fn read_rest(
        reader: FrameReader<BufReader<Input>>,
        params: F::Params,
        payload: Payload<F::Content>,
        name: &str,
    ) -> Self {
        Self { name: name.to_owned(), params, payload, reader, spares: Spares::default() }
    }

    /// The next frame of ciphertexts, its checksum not yet verified; `None` at the end.
    ///
    /// # Errors
    /// The frame is damaged, or of another kind.
    fn frame_or_end(&mut self) -> Result<Option<SealedFrame>> {
        let Self { params, reader, payload, spares, .. } = self;
        if let Some(spare) = spares.take() {
            reader.recycle(spare);
        }
        let limit = |kind, _| F::ciphertext_limit(params, &payload.content, kind);
        reader.next_sealed(limit).in_file(&self.name)
    }

    /// The next frame of ciphertexts, its checksum not yet verified.
    ///
    /// # Errors
    /// There is no further frame, or it is damaged.
    pub fn frame(&mut self) -> Result<SealedFrame> {
        self.frame_or_end()?.ok_or_else(|| wrong_number(&self.name, "fewer"))
    }

    /// The next frame of ciphertexts, its checksum verified; `None` at the end.
    ///
    /// # Errors
    /// The frame is damaged, or of another kind.
    pub fn verified(&mut self) -> Result<Option<Frame>> {
        self.frame_or_end()?.map(SealedFrame::open).transpose().in_file(&self.name)
    }

    /// The places of the frames that were not read yet. Their bodies are not read; that they are
    /// those of the file, in their order, is checked by its end mark. Only files have places.
    ///
    /// # Errors
    /// The file is damaged, or the input is not a file.
    pub fn places(mut self) -> Result<Vec<FramePlace>> {
        let Self { params, reader, payload, name, .. } = &mut self;
        let limit = |kind, _| F::ciphertext_limit(params, &payload.content, kind);
        let place = || reader.skip_frame(limit).in_file(name).transpose();
        std::iter::from_fn(place).collect()
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
    /// The checksums of its frames, without that of the end mark.
    pub frames: Vec<Checksum>,
}

/// The checksums of parameters and description, with which a file begins.
///
/// # Errors
/// The description is too long.
pub fn head<F: FileFormat>(params: &F::Params, payload: &Payload<F::Content>) -> Result<Vec<Checksum>> {
    let listing = Listing::default();
    let mut frames = FrameWriter::new(Listed::new(std::io::sink(), listing.clone()));
    frames.write(&params.to_frame())?;
    frames.write(&note::payload_frame(params.fingerprint(), payload)?)?;
    Ok(listing.checksums())
}

/// An encrypted file being written, frame by frame: without its name until it is complete.
pub struct FileWriter {
    fingerprint: Fingerprint,
    bytes: u64,
    facts: Map<String, Value>,
    frames: FrameWriter<Listed<Output>>,
    name: String,
}

impl FileWriter {
    /// Writes parameters and description.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn new<F: FileFormat>(
        output: Output,
        params: &F::Params,
        payload: &Payload<F::Content>,
    ) -> Result<Self> {
        let (fingerprint, name) = (params.fingerprint(), output.name());
        let mut frames = FrameWriter::new(Listed::new(output, Listing::default()));
        let mut bytes = frames.write(&params.to_frame()).in_output(&name)?;
        bytes += frames.write(&note::payload_frame(fingerprint, payload)?).in_output(&name)?;
        let facts = [
            ("scheme", json!(F::NAME)),
            ("parameters", F::params_json(params)),
            ("key_set", json!(payload.key_id.short())),
            ("history", json!(payload.history)),
            ("content", serde_json::to_value(&payload.content).unwrap_or_default()),
        ];
        let facts = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        Ok(Self { fingerprint, bytes, facts, frames, name })
    }

    /// Writes a frame of ciphertexts.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn write(&mut self, frame: &SealedFrame) -> Result<()> {
        self.bytes += self.frames.write_sealed(frame).in_output(&self.name)?;
        Ok(())
    }

    /// Writes the end mark and gives the file its name. `facts` and `left` say what its ciphertexts
    /// are, and what they are still good for.
    ///
    /// # Errors
    /// The output cannot be written.
    pub fn commit(
        self,
        facts: impl IntoIterator<Item = (&'static str, Value)>,
        left: String,
    ) -> Result<Written> {
        let Self { fingerprint, bytes, facts: mut all, frames, name } = self;
        let (output, listing) = frames.finish(fingerprint).in_output(&name)?.into_parts();
        output.commit()?;
        let frames = listing.checksums();
        let bytes = bytes + Frame::size(END_MARK);
        all.insert("bytes".to_owned(), json!(bytes));
        all.extend(facts.into_iter().map(|(name, value)| (name.to_owned(), value)));
        Ok(Written { bytes, facts: all, left, frames })
    }
}
