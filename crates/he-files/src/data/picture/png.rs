//! Chunks of PNG files that the decoder does not report, or the encoder does not write.

use super::metadata::{Resolution, Unit};
use crate::io::input::ReadSeek;
use std::io::{self, Write};

/// Bytes of the signature and of the first chunk, IHDR.
const START: usize = 8 + 25;

/// The chunks before the pixels.
#[derive(Debug, Default)]
pub struct Chunks {
    /// Frames of an animation (APNG).
    pub frames: u32,
    /// Whether the picture that all programs show is the first of them.
    pub starts_with_still: bool,
    /// Pixels per metre.
    pub resolution: Option<Resolution>,
}

impl Chunks {
    /// Reads up to the pixels. Damage is left to the decoder.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(source: &mut dyn ReadSeek) -> io::Result<Self> {
        let mut chunks = Self::default();
        match chunks.scan(source) {
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
            _ => Ok(chunks),
        }
    }

    fn scan(&mut self, source: &mut dyn ReadSeek) -> io::Result<()> {
        source.seek(io::SeekFrom::Start(8))?;
        loop {
            let mut head = [0; 8];
            source.read_exact(&mut head)?;
            let [l0, l1, l2, l3, kind @ ..] = head;
            let len = u32::from_be_bytes([l0, l1, l2, l3]);
            let mut body = [0; 9];
            let known = match (&kind, len) {
                (b"IDAT" | b"IEND", _) => return Ok(()),
                (b"acTL", 8) => 8,
                (b"pHYs", 9) => 9,
                _ => 0,
            };
            source.read_exact(&mut body[..known])?;
            let number = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
            match &kind {
                b"acTL" if known > 0 => self.frames = number(0),
                b"fcTL" => self.starts_with_still = true,
                // Without a unit, it is the shape of a pixel.
                b"pHYs" if known > 0 && body[8] == 1 => {
                    self.resolution =
                        Resolution::new(f64::from(number(0)), f64::from(number(4)), Unit::Metre);
                }
                _ => {}
            }
            // The rest, and the checksum.
            source.seek_relative(i64::from(len) - known as i64 + 4)?;
        }
    }
}

/// Writes a PNG file on, with a resolution in it.
pub struct WithResolution<W> {
    inner: W,
    /// Bytes that come before it.
    left: usize,
    chunk: Vec<u8>,
}

impl<W: Write> WithResolution<W> {
    /// Nothing is added without a resolution.
    pub fn new(inner: W, resolution: Option<Resolution>) -> Self {
        let chunk = resolution.map(|resolution| {
            let mut chunk = 9u32.to_be_bytes().to_vec();
            chunk.extend(b"pHYs");
            for value in resolution.per(Unit::Metre) {
                // The number is rounded, and the cast saturates.
                chunk.extend(((value + 0.5) as u32).max(1).to_be_bytes());
            }
            chunk.push(1);
            let sum = crc32fast::hash(&chunk[4..]);
            chunk.extend(sum.to_be_bytes());
            chunk
        });
        Self { inner, left: START, chunk: chunk.unwrap_or_default() }
    }
}

impl<W: Write> Write for WithResolution<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            if !self.chunk.is_empty() {
                self.inner.write_all(&self.chunk)?;
                self.chunk.clear();
            }
            return self.inner.write(bytes);
        }
        let count = self.inner.write(&bytes[..bytes.len().min(self.left)])?;
        self.left -= count;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
