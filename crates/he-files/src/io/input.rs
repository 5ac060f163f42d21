//! The sources of data: a file, or `-` for standard input. Their beginning can be examined without
//! losing a byte.

use super::cancel::Cancel;
use crate::error::{Error, InputError, IoContext, Result};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A reader whose next bytes can be examined before they are read.
#[derive(Debug)]
pub struct Peek<R> {
    inner: R,
    /// Bytes taken from `inner` but not passed on yet: `buffer[taken..]`.
    buffer: Vec<u8>,
    taken: usize,
}

impl<R: Read> Peek<R> {
    /// Wraps `inner`; reads nothing yet.
    pub fn new(inner: R) -> Self {
        Self { inner, buffer: Vec::new(), taken: 0 }
    }

    /// The next `count` bytes, fewer only at the end of the data. They remain to be read.
    ///
    /// # Errors
    /// The errors that the inner reader reports.
    pub fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        let have = self.buffer.len() - self.taken;
        if have < count {
            self.buffer.drain(..self.taken);
            self.taken = 0;
            (&mut self.inner).take((count - have) as u64).read_to_end(&mut self.buffer)?;
        }
        let end = self.buffer.len().min(self.taken + count);
        Ok(&self.buffer[self.taken..end])
    }
}

impl<R: Read> Read for Peek<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let held = &self.buffer[self.taken..];
        if held.is_empty() {
            self.buffer = Vec::new();
            self.taken = 0;
            return self.inner.read(out);
        }
        let count = held.len().min(out.len());
        out[..count].copy_from_slice(&held[..count]);
        self.taken += count;
        Ok(count)
    }
}

impl<R: Read + Seek> Seek for Peek<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let held = (self.buffer.len() - self.taken) as i64;
        let to = match to {
            SeekFrom::Current(by) => SeekFrom::Current(by.saturating_sub(held)),
            to => to,
        };
        let at = self.inner.seek(to)?;
        (self.buffer, self.taken) = (Vec::new(), 0);
        Ok(at)
    }
}

/// Reading and seeking at once, for decoders that need both.
pub trait ReadSeek: io::BufRead + Seek {}

impl<T: io::BufRead + Seek> ReadSeek for T {}

enum Source {
    /// A regular file and its length when opened.
    File(File, u64),
    /// Standard input, a pipe or a device under a path; bytes read so far, and all if known.
    Stream(Box<dyn Read + Send>, Arc<AtomicU64>, Option<u64>),
}

/// The length of an input, which is known once it has been read.
#[derive(Clone, Debug)]
pub struct Length(Arc<AtomicU64>);

impl Length {
    /// Bytes of a regular file, or what has been read of anything else.
    pub fn bytes(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A read that a signal interrupts is repeated, since not every reader above does that.
impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::File(file, _) => file.read(out),
                Self::Stream(stream, ..) => stream.read(out),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => {
                    if let (Self::Stream(_, count, _), Ok(read)) = (&*self, &read) {
                        count.fetch_add(*read as u64, Ordering::Relaxed);
                    }
                    return read;
                }
            }
        }
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file, _) => file.seek(to),
            Self::Stream(..) => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}

/// An opened input, and its name in errors. Files can seek, and nothing else.
pub struct Input {
    name: String,
    reader: Peek<Source>,
    cancel: Cancel,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// The file does not exist, may not be read, or is a folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Ok(Self::stream("standard input".to_owned(), io::stdin()));
        }
        let file = File::open(path).at(path)?;
        let metadata = file.metadata().at(path)?;
        if metadata.is_dir() {
            return Err(InputError::Folder { path: path.display().to_string() }.into());
        }
        let name = path.display().to_string();
        if !metadata.is_file() {
            return Ok(Self::stream(name, file));
        }
        Ok(Self { name, reader: Peek::new(Source::File(file, metadata.len())), cancel: Cancel::default() })
    }

    /// Wraps any reader, which errors call `name`.
    pub fn from_reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self::stream(name.into(), reader)
    }

    /// Wraps a reader that is known to give `len` bytes.
    pub fn from_sized_reader(name: impl Into<String>, reader: impl Read + Send + 'static, len: u64) -> Self {
        let source = Source::Stream(Box::new(reader), Arc::default(), Some(len));
        Self { name: name.into(), reader: Peek::new(source), cancel: Cancel::default() }
    }

    fn stream(name: String, stream: impl Read + Send + 'static) -> Self {
        let source = Source::Stream(Box::new(stream), Arc::default(), None);
        Self { name, reader: Peek::new(source), cancel: Cancel::default() }
    }

    /// Bytes in memory, as they would come from a pipe.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Self {
        Self::stream(name.to_owned(), Cursor::new(bytes))
    }

    /// Fails to be read from the moment on in which the work is cancelled.
    #[must_use]
    pub fn cancelled_by(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// The name of this input in errors: its path, or `standard input`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The length in bytes if it is known before reading, as for regular files.
    pub fn known_len(&self) -> Option<u64> {
        match &self.reader.inner {
            Source::File(_, len) => Some(*len),
            Source::Stream(.., len) => *len,
        }
    }

    /// Its length, to be queried after it was read.
    pub fn length(&self) -> Length {
        Length(match &self.reader.inner {
            Source::File(_, len) => Arc::new(AtomicU64::new(*len)),
            Source::Stream(_, count, _) => Arc::clone(count),
        })
    }

    /// The next `count` bytes, fewer only at the end. They remain to be read.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn peek(&mut self, count: usize) -> Result<&[u8]> {
        let Self { name, reader, .. } = self;
        reader.peek(count).at(&*name)
    }

    /// Reads all that is left, which must be at most `limit` bytes.
    ///
    /// # Errors
    /// The input cannot be read or holds more than `limit` bytes; no more than that is ever kept.
    pub fn read_all(mut self, limit: u64) -> Result<Vec<u8>> {
        self.check_len(limit)?;
        let mut bytes = Vec::new();
        (&mut self.reader).take(limit.saturating_add(1)).read_to_end(&mut bytes).at(&self.name)?;
        if bytes.len() as u64 > limit {
            return Err(too_large(&self.name, limit));
        }
        Ok(bytes)
    }

    /// The whole input as something that can seek: a file as it is, anything else read into memory
    /// first.
    ///
    /// # Errors
    /// The same as for [`Input::read_all`].
    pub fn into_seekable(self, limit: u64) -> Result<Box<dyn ReadSeek>> {
        self.check_len(limit)?;
        match self.reader.inner {
            Source::File(mut file, _) => {
                file.seek(SeekFrom::Start(0)).at(&self.name)?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)))
            }
            _ => Ok(Box::new(Cursor::new(self.read_all(limit)?))),
        }
    }

    /// The file itself, wherever it was read to; `None` for anything that cannot seek.
    pub fn into_file(self) -> Option<File> {
        match self.reader.inner {
            Source::File(file, _) => Some(file),
            Source::Stream(..) => None,
        }
    }

    fn check_len(&self, limit: u64) -> Result<()> {
        match self.known_len() {
            Some(len) if len > limit => Err(too_large(&self.name, limit)),
            _ => Ok(()),
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.cancel.check()?;
        self.reader.read(out)
    }
}

impl Seek for Input {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

fn too_large(name: &str, limit: u64) -> Error {
    InputError::TooLarge { name: name.to_owned(), limit }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peeking_loses_nothing() {
        let data: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut peek = Peek::new(data.as_slice());
        assert_eq!(peek.peek(4).unwrap(), &data[..4]);
        assert_eq!(peek.peek(2).unwrap(), &data[..2]);
        let mut first = [0; 3];
        peek.read_exact(&mut first).unwrap();
        assert_eq!(first, data[..3]);
        assert_eq!(peek.peek(500).unwrap(), &data[3..503]);
        let mut rest = Vec::new();
        peek.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, data[3..]);
        assert!(peek.peek(1).unwrap().is_empty());
    }

    #[test]
    fn peeking_past_the_end_is_short() {
        let mut peek = Peek::new(&b"abc"[..]);
        assert_eq!(peek.peek(100).unwrap(), b"abc");
        assert_eq!(peek.peek(100).unwrap(), b"abc");
    }

    #[test]
    fn limits_hold_for_files_and_streams() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(Input::open(&path).unwrap().known_len(), Some(100));
        assert_eq!(Input::open(&path).unwrap().read_all(100).unwrap(), [7; 100]);
        let error = Input::open(&path).unwrap().read_all(99).unwrap_err();
        assert!(error.to_string().ends_with("is larger than 99 B"), "{error}");
        assert!(Input::open(&path).unwrap().into_seekable(99).is_err());
        assert!(Input::from_bytes("x", vec![0; 11]).into_seekable(10).is_err());
    }

    #[test]
    fn seekable_starts_at_the_beginning_after_a_peek() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, b"hello").unwrap();
        for mut input in [Input::open(&path).unwrap(), Input::from_bytes("memory", b"hello".to_vec())] {
            assert_eq!(input.peek(2).unwrap(), b"he");
            let mut text = String::new();
            input.into_seekable(10).unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "hello");
        }
    }

    #[test]
    fn files_seek_past_what_was_peeked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, (0..=99).collect::<Vec<u8>>()).unwrap();
        let mut file = Input::open(&path).unwrap();
        assert_eq!(file.peek(10).unwrap().len(), 10);
        let mut bytes = [0; 2];
        file.read_exact(&mut bytes).unwrap();
        assert_eq!(file.stream_position().unwrap(), 2);
        file.peek(10).unwrap();
        assert_eq!(file.seek(SeekFrom::Current(5)).unwrap(), 7);
        file.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [7, 8]);
        assert!(Input::from_bytes("x", vec![1; 9]).seek(SeekFrom::Start(1)).is_err());
    }

    #[test]
    fn lengths_are_known_in_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data");
        std::fs::write(&path, [7; 100]).unwrap();
        let file = Input::open(&path).unwrap();
        assert_eq!(file.length().bytes(), 100);
        let mut stream = Input::from_bytes("x", vec![1; 100]);
        let length = stream.length();
        assert_eq!((stream.peek(3).unwrap().len(), length.bytes()), (3, 3));
        stream.read_all(200).unwrap();
        assert_eq!(length.bytes(), 100);
    }

    #[test]
    fn folders_and_missing_files_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = Input::open(dir.path()).err().unwrap();
        assert!(error.to_string().ends_with("it is a folder"), "{error}");
        let error = Input::open(dir.path().join("none")).err().unwrap();
        assert!(error.to_string().ends_with("no such file or directory"), "{error}");
    }
}
