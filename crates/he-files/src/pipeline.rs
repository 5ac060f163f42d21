//! Bulk data from a source through a cipher to a sink, each on a thread of its own, in a few
//! buffers that circulate.
//!
//! Memory is bounded by `PIECES` pieces, whatever the size of the data. Only when nothing follows
//! does a source know that a piece is the last, so it holds each full piece back until the next one
//! has a byte.

use crate::error::{Error, Result};
use he_core::aes::container::{Layout, TAG};
use std::io::{self, ErrorKind, Read, Write};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Pieces in circulation: two at the source (one held back, one being filled), one each at the
/// cipher and at the sink, and one on its way.
const PIECES: usize = 5;

/// Some consecutive chunks: encrypted with their tags, or plain.
pub struct Piece {
    buffer: Vec<u8>,
    len: usize,
    /// Tags of the chunks.
    pub tags: Vec<[u8; TAG]>,
    /// Number of the first chunk.
    pub first: u64,
    /// Whether the last chunk is the last of all.
    pub end: bool,
}

impl Piece {
    /// The chunks without their tags, and the tags.
    pub fn parts(&mut self) -> (&mut [u8], &mut Vec<[u8; TAG]>) {
        (&mut self.buffer[..self.len], &mut self.tags)
    }

    fn is_full(&self) -> bool {
        self.len == self.buffer.len()
    }
}

/// Another stage has failed, and its error is the one that counts.
fn stopped() -> Error {
    Error::Stopped
}

/// The buffer that a source fills.
pub struct Filler {
    layout: Layout,
    /// Chunks of a full piece.
    chunks: usize,
    /// Pieces that may still be allocated.
    unmade: usize,
    free: Receiver<Piece>,
    filled: SyncSender<Piece>,
    /// A full piece, which may be the last one.
    held: Option<Piece>,
    /// The piece that is being filled.
    current: Option<Piece>,
    /// Number of the first chunk of the next piece.
    next: u64,
}

impl Filler {
    /// The piece to fill further; it is not full.
    fn room(&mut self) -> Result<&mut Piece> {
        if self.current.as_ref().is_some_and(Piece::is_full) {
            self.held = self.current.take();
        }
        if self.current.is_none() {
            let mut piece = match self.free.try_recv() {
                Ok(piece) => piece,
                // Zeroed memory that is not touched costs nothing: small files take no more than
                // they need.
                Err(_) if self.unmade > 0 => {
                    self.unmade -= 1;
                    let buffer = vec![0; self.chunks * self.layout.chunk_len()];
                    Piece { buffer, len: 0, tags: Vec::new(), first: 0, end: false }
                }
                Err(_) => self.free.recv().map_err(|_| stopped())?,
            };
            (piece.len, piece.first, piece.end) = (0, self.next, false);
            piece.tags.clear();
            self.next += self.chunks as u64;
            self.current = Some(piece);
        }
        self.current.as_mut().ok_or_else(stopped)
    }

    /// Sends the piece that was held back: more data have come, so it is not the last one.
    fn more(&mut self) -> Result<()> {
        self.held.take().map_or(Ok(()), |piece| self.send(piece))
    }

    fn send(&self, piece: Piece) -> Result<()> {
        self.filled.send(piece).map_err(|_| stopped())
    }

    /// Takes plain data until they end. `on_error` says what could not be read.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn read_plain(&mut self, input: &mut impl Read, on_error: impl Fn(io::Error) -> Error) -> Result<()> {
        let step = self.layout.chunk_len();
        loop {
            let piece = self.room()?;
            let end = piece.buffer.len().min(piece.len + step);
            let count = read_full(input, &mut piece.buffer[piece.len..end]).map_err(&on_error)?;
            piece.len += count;
            if count > 0 {
                self.more()?;
            }
            if count < step {
                return Ok(());
            }
        }
    }

    /// Takes chunks with their tags until they end; the first one has the number `first`.
    /// `on_error` says what could not be read, and `cut` that the data end within a chunk.
    ///
    /// # Errors
    /// They cannot be read, or are truncated.
    pub fn read_sealed(
        &mut self,
        first: u64,
        input: &mut impl Read,
        on_error: impl Fn(io::Error) -> Error,
        cut: impl Fn() -> Error,
    ) -> Result<()> {
        self.next = first;
        let step = self.layout.chunk_len();
        loop {
            let started = self.next > first;
            let piece = self.room()?;
            let mut tag = [0; TAG];
            let chunk = &mut piece.buffer[piece.len..piece.len + step];
            let mut count = read_full(input, chunk).map_err(&on_error)?;
            if count == step {
                count += read_full(input, &mut tag).map_err(&on_error)?;
            }
            if count == 0 && started {
                return Ok(());
            }
            // A chunk is empty only if there are no data at all.
            let len = count.checked_sub(TAG).filter(|&len| len > 0 || !started).ok_or_else(&cut)?;
            if len < step {
                // The tag's first bytes lie behind the data.
                let inside = step.min(count) - len;
                tag.copy_within(..TAG - inside, inside);
                tag[..inside].copy_from_slice(&chunk[len..len + inside]);
            }
            piece.len += len;
            piece.tags.push(tag);
            self.more()?;
            if len < step {
                return Ok(());
            }
        }
    }

    /// Sends what is left as the end.
    fn finish(&mut self) -> Result<()> {
        self.room()?;
        let last = match (self.held.take(), self.current.take()) {
            (Some(held), Some(current)) if current.len == 0 && current.tags.is_empty() => Some(held),
            (_, current) => current,
        };
        let mut last = last.ok_or_else(stopped)?;
        last.end = true;
        self.send(last)
    }
}

/// Plain data.
impl Write for Filler {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = self.room().map_err(io::Error::other)?;
        let count = bytes.len().min(piece.buffer.len() - piece.len);
        piece.buffer[piece.len..piece.len + count].copy_from_slice(&bytes[..count]);
        piece.len += count;
        if count > 0 {
            self.more().map_err(io::Error::other)?;
        }
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fills the buffer as far as there are bytes.
pub fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// The bytes that the cipher made, for a sink.
pub struct Drain {
    chunk_len: usize,
    made: Receiver<Piece>,
    free: SyncSender<Piece>,
    /// Whether the last piece was taken.
    ended: bool,
    /// The piece that is being read.
    current: Option<Piece>,
    /// Bytes of it that were read.
    read: usize,
}

impl Drain {
    /// The next piece, `None` at the end.
    fn next(&mut self) -> Result<Option<Piece>> {
        if self.ended {
            return Ok(None);
        }
        let piece = self.made.recv().map_err(|_| stopped())?;
        self.ended = piece.end;
        Ok(Some(piece))
    }

    fn give_back(&self, piece: Piece) {
        // Nobody waits for it once the source is done.
        let _ = self.free.send(piece);
    }

    /// Hands on each chunk.
    ///
    /// # Errors
    /// The errors of `chunk(data, tag)`.
    pub fn chunks(&mut self, mut chunk: impl FnMut(&[u8], &[u8; TAG]) -> Result<()>) -> Result<()> {
        while let Some(mut piece) = self.next()? {
            let (data, tags) = piece.parts();
            if data.is_empty() {
                tags.iter().try_for_each(|tag| chunk(&[], tag))?;
            }
            data.chunks(self.chunk_len).zip(tags).try_for_each(|(data, tag)| chunk(data, tag))?;
            self.give_back(piece);
        }
        Ok(())
    }
}

/// The chunks without their tags.
impl Read for Drain {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(piece) = &mut self.current {
                let rest = &piece.buffer[self.read..piece.len];
                if !rest.is_empty() {
                    let count = rest.len().min(out.len());
                    out[..count].copy_from_slice(&rest[..count]);
                    self.read += count;
                    return Ok(count);
                }
            }
            if let Some(piece) = self.current.take() {
                self.give_back(piece);
            }
            self.current = self.next().map_err(io::Error::other)?;
            self.read = 0;
            if self.current.is_none() {
                return Ok(0);
            }
        }
    }
}

/// Lets `source` fill pieces of `piece` bytes (of one chunk, if that is longer), `work` transform
/// each, and `sink` take them, at the same time.
///
/// # Errors
/// The first error that occurred.
pub fn run(
    layout: Layout,
    piece: usize,
    source: impl FnOnce(&mut Filler) -> Result<()> + Send,
    mut work: impl FnMut(&mut Piece) -> Result<()>,
    sink: impl FnOnce(&mut Drain) -> Result<()> + Send,
) -> Result<()> {
    let chunks = (piece / layout.chunk_len()).max(1);
    let (give, free) = sync_channel(PIECES);
    let (filled, todo) = sync_channel(1);
    let (done, made) = sync_channel(1);
    // A stage that fails notes its error before it drops its channels, so the errors that this
    // causes in the other stages come later.
    let first = OnceLock::new();
    let note = |result: Result<()>| {
        if let Err(error) = result {
            first.get_or_init(|| error);
        }
    };
    std::thread::scope(|scope| {
        let note = &note;
        scope.spawn(move || {
            let mut filler =
                Filler { layout, chunks, unmade: PIECES, free, filled, held: None, current: None, next: 0 };
            note(source(&mut filler).and_then(|()| filler.finish()));
        });
        scope.spawn(move || {
            let chunk_len = layout.chunk_len();
            let mut drain = Drain { chunk_len, made, free: give, ended: false, current: None, read: 0 };
            note(sink(&mut drain));
        });
        for mut piece in todo {
            if let Err(error) = work(&mut piece) {
                note(Err(error));
                break;
            }
            if done.send(piece).is_err() {
                break;
            }
        }
        drop(done);
    });
    first.into_inner().map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: usize = 4096;
    const PIECE: usize = 4 << 20;

    fn layout() -> Layout {
        Layout::new(12).unwrap()
    }

    fn numbers(len: usize) -> Vec<u8> {
        (0..len).map(|i| (i % 251) as u8).collect()
    }

    /// A reader that gives few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(out.len());
            self.0.read(&mut out[..count])
        }
    }

    fn cut() -> Error {
        Error::Caller("cut".into())
    }

    fn failed(error: io::Error) -> Error {
        Error::Caller(error.into())
    }

    const LENGTHS: [usize; 9] =
        [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, PIECE - 1, PIECE, PIECE + 1, 7 * PIECE + CHUNK + 5];

    /// The bytes that come out; asserts that pieces are numbered, full, and end once.
    fn passed(source: impl FnOnce(&mut Filler) -> Result<()> + Send, by_reading: bool) -> Vec<u8> {
        let (mut found, mut next, mut ends) = (Vec::new(), 0, 0);
        let work = |piece: &mut Piece| {
            assert_eq!((piece.first, ends), (next, 0), "a piece after the end, or out of order");
            next += (PIECE / CHUNK) as u64;
            ends += u32::from(piece.end);
            let (data, tags) = piece.parts();
            tags.resize(data.len().div_ceil(CHUNK).max(1), [7; TAG]);
            Ok(())
        };
        let sink = |drain: &mut Drain| {
            if by_reading {
                return drain.read_to_end(&mut found).map(drop).map_err(failed);
            }
            drain.chunks(|data, _| {
                found.extend_from_slice(data);
                Ok(())
            })
        };
        run(layout(), PIECE, source, work, sink).unwrap();
        assert_eq!(ends, 1);
        found
    }

    #[test]
    fn data_pass_however_they_come_and_go() {
        for len in LENGTHS {
            let data = numbers(len);
            for step in [100, CHUNK, 1 << 30] {
                let read = |filler: &mut Filler| filler.read_plain(&mut Slow(&data, step), failed);
                assert!(passed(read, false) == data, "{len} bytes, read {step} at a time");
                let write = |filler: &mut Filler| {
                    data.chunks(step).try_for_each(|part| filler.write_all(part)).map_err(failed)
                };
                assert!(passed(write, true) == data, "{len} bytes, written {step} at a time");
            }
        }
    }

    #[test]
    fn tags_are_told_from_data() {
        for len in LENGTHS {
            let data = numbers(len);
            let mut sealed = Vec::new();
            let chunks: Vec<&[u8]> = if len == 0 { vec![&[]] } else { data.chunks(CHUNK).collect() };
            for (i, chunk) in chunks.iter().enumerate() {
                sealed.extend_from_slice(chunk);
                sealed.extend([i as u8; TAG]);
            }
            let mut number = 0;
            let source = |filler: &mut Filler| filler.read_sealed(0, &mut Slow(&sealed, 1000), failed, cut);
            let work = |piece: &mut Piece| {
                for tag in piece.parts().1 {
                    assert_eq!(*tag, [number as u8; TAG], "{len} bytes, chunk {number}");
                    number += 1;
                }
                Ok(())
            };
            let mut found = Vec::new();
            let sink = |drain: &mut Drain| drain.read_to_end(&mut found).map(drop).map_err(failed);
            run(layout(), PIECE, source, work, sink).unwrap();
            assert!(found == data && number == chunks.len(), "{len} bytes");
        }
    }

    #[test]
    fn sealed_data_do_not_end_anywhere() {
        for len in [0, 1, 15, CHUNK + TAG + 1, CHUNK + TAG + 15, CHUNK + TAG + 16] {
            let data = numbers(len);
            let source = |filler: &mut Filler| filler.read_sealed(0, &mut &data[..], failed, cut);
            let sink = |drain: &mut Drain| drain.chunks(|_, _| Ok(()));
            let error = run(layout(), PIECE, source, |_| Ok(()), sink).unwrap_err();
            assert_eq!(error.to_string(), "cut", "{len} bytes");
        }
    }

    #[test]
    fn the_error_that_came_first_counts() {
        let bad = |reason: &str| Err(Error::Caller(reason.into()));
        let data = numbers(20 * PIECE);
        let read = |filler: &mut Filler| filler.read_plain(&mut &data[..], failed);
        let all = |drain: &mut Drain| drain.chunks(|_, _| Ok(()));
        let message = |result: Result<()>| result.unwrap_err().to_string().to_owned();
        assert_eq!(message(run(layout(), PIECE, |_| bad("source"), |_| Ok(()), all)), "source");
        assert_eq!(
            message(run(
                layout(),
                PIECE,
                read,
                |piece| if piece.first > 0 { bad("work") } else { Ok(()) },
                all
            )),
            "work"
        );
        assert_eq!(message(run(layout(), PIECE, read, |_| Ok(()), |_| bad("sink"))), "sink");
        let late = |filler: &mut Filler| filler.read_plain(&mut &data[..], failed).and_then(|()| bad("late"));
        assert_eq!(message(run(layout(), PIECE, late, |_| Ok(()), all)), "late");
    }

    /// A stage that panics ends the others, and its panic comes through.
    #[test]
    fn panics_come_through() {
        use std::panic::{AssertUnwindSafe, catch_unwind};
        let data = numbers(4 * PIECE);
        for stage in 0..3 {
            for at in [0, 1, 3] {
                let panics = |found, piece| assert!(found != stage || piece != at, "on purpose");
                let source = |filler: &mut Filler| {
                    for (piece, data) in data.chunks(PIECE).enumerate() {
                        panics(0, piece);
                        filler.write_all(data).map_err(failed)?;
                    }
                    Ok(())
                };
                let mut piece_of_work = 0;
                let work = |piece: &mut Piece| {
                    panics(1, piece_of_work);
                    piece_of_work += 1;
                    let (data, tags) = piece.parts();
                    tags.resize(data.len() / CHUNK, [0; TAG]);
                    Ok(())
                };
                let sink = |drain: &mut Drain| {
                    let mut chunk = 0;
                    drain.chunks(|_, _| {
                        panics(2, chunk);
                        chunk += 1;
                        Ok(())
                    })
                };
                let done = catch_unwind(AssertUnwindSafe(|| run(layout(), PIECE, source, work, sink)));
                assert!(done.is_err(), "stage {stage}, {at}");
            }
        }
        assert!(passed(|filler| filler.write_all(&data).map_err(failed), true) == data);
    }
}
