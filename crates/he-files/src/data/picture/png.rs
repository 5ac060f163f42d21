//! Chunks of PNG files that the decoder does not report, or the encoder does not write; and the
//! frames of an animation as files of their own.

use super::animation::{Dispose, Frame};
use super::metadata::{Resolution, Unit};
use crate::io::input::ReadSeek;
use std::io::{self, Read, Write};

/// The first bytes of every file.
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Bytes of the signature and of the first chunk, IHDR.
const START: usize = SIGNATURE.len() + 25;

/// The chunks before the pixels.
#[derive(Debug, Default)]
pub struct Chunks {
    /// Frames of an animation (APNG).
    pub frames: u32,
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
        source.seek(io::SeekFrom::Start(SIGNATURE.len() as u64))?;
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

/// A chunk as it is written.
fn written(kind: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut chunk = (body.len() as u32).to_be_bytes().to_vec();
    chunk.extend(kind);
    chunk.extend_from_slice(body);
    let sum = crc32fast::hash(&chunk[4..]);
    chunk.extend(sum.to_be_bytes());
    chunk
}

/// The frames of an animation, one by one.
pub(super) struct Moving<'a> {
    source: &'a mut dyn ReadSeek,
    /// The body of IHDR.
    header: Vec<u8>,
    /// The chunks before the pixels that say what these are, such as a palette.
    aside: Vec<u8>,
    /// The frame that begins, without its file, and the chunks of its pixels.
    begun: Option<(Frame, Vec<u8>)>,
    /// The number of the next chunk of the animation.
    next: u32,
    pixels_began: bool,
}

impl<'a> Moving<'a> {
    /// From the start of a file.
    ///
    /// # Errors
    /// It cannot be read, or does not begin as PNG files do.
    pub fn new(source: &'a mut dyn ReadSeek) -> io::Result<Self> {
        source.seek(io::SeekFrom::Start(SIGNATURE.len() as u64))?;
        let (header, aside) = (Vec::new(), Vec::new());
        let mut moving = Self { source, header, aside, begun: None, next: 0, pixels_began: false };
        match moving.chunk()? {
            (kind, body) if kind == *b"IHDR" && body.len() == 13 => moving.header = body,
            _ => return Err(wrong("no header")),
        }
        Ok(moving)
    }

    /// The next chunk.
    fn chunk(&mut self) -> io::Result<([u8; 4], Vec<u8>)> {
        let mut head = [0; 8];
        self.source.read_exact(&mut head)?;
        let [l0, l1, l2, l3, kind @ ..] = head;
        let len = u32::from_be_bytes([l0, l1, l2, l3]);
        // Memory grows with what is there.
        let mut body = Vec::new();
        (&mut *self.source).take(len.into()).read_to_end(&mut body)?;
        let mut sum = [0; 4];
        self.source.read_exact(&mut sum)?;
        let mut found = crc32fast::Hasher::new();
        found.update(&kind);
        found.update(&body);
        if body.len() < len as usize || found.finalize().to_be_bytes() != sum {
            return Err(wrong("a chunk with another checksum"));
        }
        Ok((kind, body))
    }

    /// The next frame.
    ///
    /// # Errors
    /// It is not complete, or not as the format says.
    pub fn frame(&mut self) -> io::Result<Frame> {
        loop {
            let (kind, mut body) = self.chunk()?;
            let done = match &kind {
                b"fcTL" => {
                    self.numbered(&body)?;
                    let frame = control(&body)?;
                    self.begun.replace((frame, Vec::new()))
                }
                b"fdAT" => {
                    self.numbered(&body)?;
                    let (_, pixels) = self.begun.as_mut().ok_or_else(|| wrong("pixels of no frame"))?;
                    pixels.extend(written(*b"IDAT", &body.split_off(4)));
                    None
                }
                b"IDAT" => {
                    self.pixels_began = true;
                    // Without a frame before it, it is the picture that other programs show.
                    self.begun.iter_mut().for_each(|(_, pixels)| pixels.extend(written(kind, &body)));
                    None
                }
                b"IEND" => Some(self.begun.take().ok_or(io::ErrorKind::UnexpectedEof)?),
                // Chunks that concern the whole picture are read from the file itself.
                b"acTL" | b"eXIf" | b"iCCP" | b"pHYs" => None,
                _ => {
                    if !self.pixels_began {
                        self.aside.extend(written(kind, &body));
                    }
                    None
                }
            };
            if let Some((frame, pixels)) = done {
                return Ok(self.finished(frame, &pixels));
            }
        }
    }

    /// Checks the number of a chunk of the animation.
    fn numbered(&mut self, body: &[u8]) -> io::Result<()> {
        if body.get(..4) != Some(&self.next.to_be_bytes()) {
            return Err(wrong("frames out of order"));
        }
        self.next += 1;
        Ok(())
    }

    fn finished(&self, frame: Frame, pixels: &[u8]) -> Frame {
        let mut header = self.header.clone();
        header[..4].copy_from_slice(&frame.size[0].to_be_bytes());
        header[4..8].copy_from_slice(&frame.size[1].to_be_bytes());
        let (header, end) = (written(*b"IHDR", &header), written(*b"IEND", &[]));
        Frame { still: [SIGNATURE, &header[..], &self.aside, pixels, &end].concat(), ..frame }
    }
}

/// The frame that a chunk begins.
fn control(body: &[u8]) -> io::Result<Frame> {
    let number = |at: usize| u32::from_be_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
    match *body {
        [.., dispose @ 0..=2, over @ 0..=1] if body.len() == 26 => Ok(Frame {
            still: Vec::new(),
            size: [number(4), number(8)],
            at: [number(12), number(16)],
            over: over == 1,
            dispose: [Dispose::Keep, Dispose::Clear, Dispose::Restore][usize::from(dispose)],
        }),
        _ => Err(wrong("a frame of an unknown kind")),
    }
}

fn wrong(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
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
            // The number is rounded, and the cast saturates.
            let per = |value: f64| ((value + 0.5) as u32).max(1).to_be_bytes();
            let [x, y] = resolution.per(Unit::Metre).map(per);
            written(*b"pHYs", &[&x[..], &y, &[1]].concat())
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
