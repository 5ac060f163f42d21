//! Facts that the decoder of WebP does not tell: how many frames there are, and what each of them
//! is.
//!
//! The frames of an animation are taken out as files of their own, because the decoder's way of
//! drawing one over another rounds down, and leaves what a frame is to clear.

use super::animation::{Dispose, Frame};
use crate::io::input::ReadSeek;
use std::io::{self, Read, SeekFrom};

/// Bytes that stand before the picture of a frame.
const FRAME_HEAD: usize = 16;

/// The chunks of an animation, from the first one behind `VP8X` on.
pub(super) struct Chunks<'a> {
    source: &'a mut dyn ReadSeek,
    at: u64,
    end: u64,
}

/// The frames of a WebP file: 0 if it is not an animation; nothing if it is shorter than its header
/// says.
pub(super) fn frames(source: &mut dyn ReadSeek) -> io::Result<Option<u32>> {
    let Some(chunks) = Chunks::of(source)? else { return Ok(None) };
    let Some(mut chunks) = chunks else { return Ok(Some(0)) };
    let mut frames = 0u32;
    while let Some((kind, _)) = chunks.next()? {
        frames += u32::from(kind == *b"ANMF");
    }
    Ok(Some(frames))
}

impl<'a> Chunks<'a> {
    /// The chunks of a file: nothing if it is shorter than its header says, and `None` in it if it
    /// is not an animation.
    #[allow(clippy::option_option)]
    fn of(source: &'a mut dyn ReadSeek) -> io::Result<Option<Option<Self>>> {
        let mut header = [0; 21];
        source.rewind()?;
        source.read_exact(&mut header[..8])?;
        let end = source.seek(SeekFrom::End(0))?;
        let said = u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]])) + 8;
        if end < said {
            return Ok(None);
        }
        source.rewind()?;
        // The extended format says in its flags whether it is an animation.
        if said < 30
            || source.read_exact(&mut header).is_err()
            || header[12..16] != *b"VP8X"
            || header[20] & 2 == 0
        {
            return Ok(Some(None));
        }
        Ok(Some(Some(Self { source, at: 12, end: said })))
    }

    /// The chunks of an animation.
    ///
    /// # Errors
    /// It is none.
    pub fn of_animation(source: &'a mut dyn ReadSeek) -> io::Result<Self> {
        Self::of(source)?.flatten().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// The kind and length of the next chunk, at whose body the source then stands.
    fn next(&mut self) -> io::Result<Option<([u8; 4], u32)>> {
        if self.at + 8 > self.end {
            return Ok(None);
        }
        let here = self.source.stream_position()?;
        self.source.seek_relative(self.at as i64 - here as i64)?;
        let mut chunk = [0; 8];
        self.source.read_exact(&mut chunk)?;
        let [kind @ .., l0, l1, l2, l3] = chunk;
        let len = u32::from_le_bytes([l0, l1, l2, l3]);
        // To an even place.
        self.at += 8 + u64::from(len).next_multiple_of(2);
        Ok(Some((kind, len)))
    }

    /// The next frame.
    ///
    /// # Errors
    /// It is not complete, or holds no picture.
    pub fn frame(&mut self) -> io::Result<Frame> {
        loop {
            let Some((kind, len)) = self.next()? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
            if kind != *b"ANMF" {
                continue;
            }
            let mut body = Vec::new();
            (&mut *self.source).take(len.into()).read_to_end(&mut body)?;
            if body.len() < len as usize {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            return frame(&body);
        }
    }
}

/// The frame in the body of its chunk.
fn frame(body: &[u8]) -> io::Result<Frame> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "a frame without a picture");
    let (head, mut rest) = body.split_at_checked(FRAME_HEAD).ok_or_else(wrong)?;
    let three = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], 0]);
    let size = [three(6) + 1, three(9) + 1];
    let (mut opacity, mut picture) = (None, None);
    while let Some((&[kind @ .., l0, l1, l2, l3], behind)) = rest.split_first_chunk::<8>() {
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        let chunk = behind.get(..len).ok_or(io::ErrorKind::UnexpectedEof)?;
        match &kind {
            b"ALPH" if opacity.is_none() => opacity = Some(chunk),
            b"VP8 " | b"VP8L" if picture.is_none() => picture = Some((kind, chunk)),
            _ => {}
        }
        rest = behind.get(len.next_multiple_of(2)..).unwrap_or_default();
    }
    let (kind, picture) = picture.ok_or_else(wrong)?;
    let mut chunks = Vec::with_capacity(body.len() + 32);
    let mut push = |kind: [u8; 4], chunk: &[u8]| {
        chunks.extend(kind);
        chunks.extend((chunk.len() as u32).to_le_bytes());
        chunks.extend_from_slice(chunk);
        chunks.resize(chunks.len().next_multiple_of(2), 0);
    };
    if let Some(opacity) = opacity.filter(|_| kind == *b"VP8 ") {
        // Opacity beside a lossy picture takes the extended format, with its flag for it.
        let [width, height] = size.map(|side| (side - 1).to_le_bytes());
        push(*b"VP8X", &[&[0x10, 0, 0, 0], &width[..3], &height[..3]].concat());
        push(*b"ALPH", opacity);
    }
    push(kind, picture);
    let len = u32::try_from(chunks.len() + 4).map_err(|_| io::ErrorKind::FileTooLarge)?;
    Ok(Frame {
        still: [&b"RIFF"[..], &len.to_le_bytes(), b"WEBP", &chunks].concat(),
        at: [2 * three(0), 2 * three(3)],
        size,
        over: head[15] & 2 == 0,
        dispose: if head[15] & 1 == 1 { Dispose::Clear } else { Dispose::Keep },
    })
}
