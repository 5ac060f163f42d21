//! Operands and products, in one file each: the frame of the parameters, then batches.

use crate::error::{At as _, Error};
use crate::output::Output;
use he::ckks::{CkksParams, SeededCiphertext};
use he::ring::Ring;
use he::wire::{Frame, FrameKind, FrameReader, FrameWriter, Wire as _, WireParams as _};
use he::words::{Operand, ReducedWords, SeededWords, WordParams};
use he::{Device, rlwe::Fingerprint};
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};

/// The most ciphertexts of one frame.
pub(super) const BATCH: usize = 128;

const BUFFER: usize = 1 << 20;

/// Writes frames to a file that appears when it is complete.
pub(super) struct Writer {
    path: PathBuf,
    output: Output,
    frames: FrameWriter<BufWriter<File>>,
    fingerprint: Fingerprint,
}

impl Writer {
    /// Starts a file of these parameters.
    pub(super) fn create(path: &Path, params: &WordParams) -> Result<Self, Error> {
        let (output, file) = Output::create(path)?;
        let mut frames = FrameWriter::new(file);
        frames.write(&params.ckks().to_frame()).at(path)?;
        Ok(Self { path: path.into(), output, frames, fingerprint: params.ckks().fingerprint() })
    }

    /// Appends a frame.
    pub(super) fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        self.frames.write(frame).at(&self.path).map(drop)
    }

    /// Appends the end mark.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.frames.finish(self.fingerprint).at(&self.path)?;
        self.output.complete()
    }
}

/// Reads frames of these parameters.
pub(super) struct Reader {
    path: PathBuf,
    params: WordParams,
    frames: FrameReader<BufReader<File>>,
}

impl Reader {
    /// Opens a file, which has to begin with these parameters.
    pub(super) fn open(path: &Path, params: &WordParams) -> Result<Self, Error> {
        let file = BufReader::with_capacity(BUFFER, File::open(path).at(path)?);
        let mut reader = Self { path: path.into(), params: params.clone(), frames: FrameReader::new(file) };
        let frame = reader.next()?.ok_or_else(|| reader.count("nothing", "parameters"))?;
        if CkksParams::from_frame(&frame).at(path)? != *params.ckks() {
            return Err(reader.count("other parameters", "those of the workload"));
        }
        Ok(reader)
    }

    fn next(&mut self) -> Result<Option<Frame>, Error> {
        let ckks = self.params.ckks();
        let limit = |kind, _| match kind {
            FrameKind::CkksParams => CkksParams::MAX_BODY,
            FrameKind::CkksSeededCiphertext => ckks.ciphertext_frame_limit(BATCH),
            FrameKind::ReducedWords => ReducedWords::frame_limit(&self.params, BATCH),
            _ => 0,
        };
        self.frames.next_frame(limit).at(&self.path)
    }

    /// The next operands, if there are any.
    pub(super) fn operands<R: Operand>(
        &mut self,
        ring: &Ring<Device>,
    ) -> Result<Option<SeededWords<R, Device>>, Error> {
        let Some(frame) = self.next()? else { return Ok(None) };
        let ct = SeededCiphertext::from_frame(self.params.ckks(), ring, &frame).at(&self.path)?;
        SeededWords::from_ciphertext(&self.params, ct).at(&self.path).map(Some)
    }

    /// The next products, if there are any.
    pub(super) fn products(&mut self) -> Result<Option<ReducedWords>, Error> {
        let Some(frame) = self.next()? else { return Ok(None) };
        ReducedWords::from_frame(&self.params, &frame).at(&self.path).map(Some)
    }

    /// An error that counts what the file has.
    pub(super) fn count(&self, found: impl ToString, expected: impl ToString) -> Error {
        let (found, expected) = (found.to_string(), expected.to_string());
        Error::Count { path: self.path.clone(), found, expected }
    }
}

/// The bytes of a key, or of anything that is read whole.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    /// Keys of the parameters are smaller.
    const MOST: u64 = 1 << 24;
    let file = File::open(path).at(path)?;
    let length = file.metadata().at(path)?.len();
    if length > MOST {
        let (found, expected) = (format!("{length} bytes"), format!("at most {MOST}"));
        return Err(Error::Count { path: path.into(), found, expected });
    }
    std::fs::read(path).at(path)
}

/// The parameters' ring on the device of this process.
pub(super) fn ring(params: &WordParams, device: Device) -> Result<Ring<Device>, Error> {
    Ok(Ring::new(device, params.ckks().rlwe().ring().clone())?)
}

/// How many ciphertexts hold so many words.
pub(super) fn ciphertexts(params: &WordParams, words: u64) -> u64 {
    words.div_ceil(params.words_per_ciphertext() as u64)
}
