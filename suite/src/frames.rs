//! Files of frames: that of the parameters, then those of objects, and an end mark.

use crate::error::{At as _, Error};
use crate::output::Output;
use he::rlwe::Fingerprint;
use he::wire::{Frame, FrameKind, FrameReader, FrameWriter, WireError, WireParams};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const BUFFER: usize = 1 << 20;

/// Writes frames to a file that appears when it is complete.
pub(crate) struct Writer {
    path: PathBuf,
    output: Output,
    frames: FrameWriter<BufWriter<File>>,
    fingerprint: Fingerprint,
}

impl Writer {
    /// Starts a file of these parameters.
    pub(crate) fn create(path: &Path, params: &impl WireParams) -> Result<Self, Error> {
        let (output, file) = Output::create(path)?;
        let mut frames = FrameWriter::new(file);
        frames.write(&params.to_frame()).at(path)?;
        Ok(Self { path: path.into(), output, frames, fingerprint: params.fingerprint() })
    }

    /// Appends a frame.
    pub(crate) fn write(&mut self, frame: &Frame) -> Result<(), Error> {
        self.frames.write(frame).at(&self.path).map(drop)
    }

    /// Appends the end mark.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.frames.finish(self.fingerprint).at(&self.path)?;
        self.output.complete()
    }
}

/// Reads frames of known parameters.
pub(crate) struct Reader<R: Read = BufReader<File>> {
    path: PathBuf,
    frames: FrameReader<R>,
}

impl Reader {
    /// Opens a file, which has to begin with these parameters.
    pub(crate) fn open<P: WireParams>(path: &Path, params: &P) -> Result<Self, Error> {
        Self::over(BufReader::with_capacity(BUFFER, File::open(path).at(path)?), path, params)
    }
}

impl<R: Read> Reader<R> {
    /// Reads bytes, which have to begin with these parameters, and which errors call by this name.
    pub(crate) fn over<P: WireParams>(bytes: R, path: &Path, params: &P) -> Result<Self, Error> {
        let mut reader = Self { path: path.into(), frames: FrameReader::new(bytes) };
        let found = reader.next(P::KIND, P::MAX_BODY)?;
        let found = found.ok_or_else(|| reader.count("nothing", "parameters"))?;
        if found.fingerprint != params.fingerprint() || found.body != params.to_frame().body {
            return Err(reader.count("other parameters", "those of the workload"));
        }
        Ok(reader)
    }

    /// The next frame, if there is one, which has to be of this kind and at most this long.
    pub(crate) fn next(&mut self, kind: FrameKind, most: u64) -> Result<Option<Frame>, Error> {
        let limit = |found, _| if found == kind { most } else { 0 };
        self.frames.next_frame(limit).at(&self.path)
    }

    /// The objects of the next frames of this kind, at most so many of at most so many bytes, in
    /// their order; fewer at the end of the file. While frames are read, those before them are
    /// checked and decoded on all cores.
    pub(crate) fn objects<T: Send + Sync>(
        &mut self,
        kind: FrameKind,
        most: u64,
        count: usize,
        decode: impl Fn(&Frame) -> he::Result<T> + Sync,
    ) -> Result<Vec<T>, Error> {
        let limit = |found, _| if found == kind { most } else { 0 };
        let objects: Vec<OnceLock<he::Result<T>>> = (0..count).map(|_| OnceLock::new()).collect();
        let decode = &decode;
        rayon::in_place_scope(|scope| -> Result<(), WireError> {
            for place in &objects {
                let Some(sealed) = self.frames.next_sealed(limit)? else { break };
                scope.spawn(move |_| {
                    place.get_or_init(|| decode(&sealed.open()?));
                });
            }
            Ok(())
        })
        .at(&self.path)?;
        objects.into_iter().map_while(OnceLock::into_inner).collect::<he::Result<_>>().at(&self.path)
    }

    /// Checks that nothing follows.
    pub(crate) fn end(&mut self) -> Result<(), Error> {
        match self.frames.next_frame(|_, _| 0).at(&self.path)? {
            None => Ok(()),
            Some(frame) => Err(self.count(format!("a {} more", frame.kind), "those of the workload")),
        }
    }

    /// The name of the file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// An error that counts what the file has.
    pub(crate) fn count(&self, found: impl ToString, expected: impl ToString) -> Error {
        Error::count(&self.path, found, expected)
    }
}
