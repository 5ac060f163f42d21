//! Copies between the memories of several devices.

use crate::buffer::Buffer;
use crate::device::Gpu;
use crate::driver::RowCopy;
use crate::error::{Error, Result};
use crate::stream::Stream;

const CALL: &str = "exchange";

/// Rows of words that [`exchange`] copies from one buffer to another.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The buffer that they come from.
    pub src: &'a Buffer,
    /// The buffer that they go to.
    pub dst: &'a Buffer,
    /// The first word in each.
    pub at: [usize; 2],
    /// The words from one row to the next in each.
    pub pitch: [usize; 2],
    /// The words of a row.
    pub words: usize,
    /// The number of rows.
    pub rows: usize,
}

impl Piece<'_> {
    fn is_empty(&self) -> bool {
        self.words == 0 || self.rows == 0
    }

    /// Checks that the rows lie within both buffers.
    fn check(&self) -> Result<()> {
        let ends = |side: usize, of: usize| {
            let last = (self.rows - 1).checked_mul(self.pitch[side])?.checked_add(self.at[side])?;
            last.checked_add(self.words).filter(|end| *end <= of)
        };
        match (ends(0, self.src.words()), ends(1, self.dst.words())) {
            (Some(_), Some(_)) => Ok(()),
            _ => {
                let (rows, words) = (self.rows, self.words);
                let reason = format!("{rows} rows of {words} words do not lie within both buffers");
                Err(Error::Driver { call: CALL, reason })
            }
        }
    }

    /// Enqueues the copy on the source's stream.
    ///
    /// # Safety
    /// The rows lie within both buffers; their streams are ordered around it.
    pub(crate) unsafe fn copy(&self) -> Result<()> {
        let copy = RowCopy {
            src: self.src.address() + 8 * self.at[0] as u64,
            dst: self.dst.address() + 8 * self.at[1] as u64,
            src_pitch: 8 * self.pitch[0],
            dst_pitch: 8 * self.pitch[1],
            bytes: 8 * self.words,
            rows: self.rows,
        };
        let (from, to) = (self.src.stream(), self.dst.stream());
        from.flush()?;
        // SAFETY: guaranteed by the caller.
        unsafe { from.gpu().driver().copy_rows(from.handle(), to.gpu().driver(), &copy) }
    }
}

impl Gpu {
    /// Lets [`exchange`] copy between this device and another one, directly where the hardware can
    /// do so, otherwise through the host. Returns whether kernels of each may write to the other's
    /// memory, around which [`Signals`](crate::Signals) order them.
    ///
    /// # Errors
    /// [`Error::Driver`] if the devices belong to different drivers, or the driver refuses.
    pub fn connect(&self, other: &Self) -> Result<bool> {
        let there = self.driver().connect(other.driver())?;
        Ok(other.driver().connect(self.driver())? && there)
    }
}

/// Copies rows between buffers, whose streams may be those of several devices; each piece is copied
/// by its source's stream. Streams are ordered by events, without the host: a stream that sends
/// does so after the earlier work of those that it sends to, and the later work of these comes
/// after it. All copies run side by side as far as this allows.
///
/// # Safety
/// - Devices of which one sends to the other are [connected](Gpu::connect).
/// - No piece writes what another one reads or writes, and nothing else is done to what the pieces
///   read and write until this returns.
///
/// # Errors
/// [`Error::Driver`] if rows are outside of their buffer, a stream is being captured, or the driver
/// refuses. The words that were to be written are arbitrary then.
pub unsafe fn exchange(pieces: &[Piece<'_>]) -> Result<()> {
    let pieces = || pieces.iter().filter(|piece| !piece.is_empty());
    pieces().try_for_each(Piece::check)?;
    let pairs: Vec<_> = pieces().map(|piece| (piece.src.stream(), piece.dst.stream())).collect();
    let mut copied = Ok(());
    // SAFETY: the rows lie within their buffers, as checked; a source is its own stream's, and
    // `across` orders it with the target's. The caller guarantees the rest.
    let ordered = unsafe { across(&pairs, || copied = pieces().try_for_each(|piece| piece.copy())) };
    copied.and(ordered)
}

/// Runs `work`, which enqueues on the first stream of each pair what reads or writes memory of the
/// second stream's buffers; the two may be of different devices. The first streams go on after the
/// earlier work of the second ones, and the later work of these comes after what `work` enqueued,
/// also on the memory of a buffer that is dropped after this returns. Events do so, without the
/// host.
///
/// # Safety
/// - The devices of each pair are [connected](Gpu::connect), and the result of that allows what
///   `work` enqueues.
/// - Nothing else is done to that memory until this returns.
///
/// # Errors
/// [`Error::Driver`] if a stream is being captured, or the driver refuses. If `work` was run, what
/// it enqueued is ordered, or the host has waited for it.
unsafe fn across(pairs: &[(&Stream, &Stream)], work: impl FnOnce()) -> Result<()> {
    let mut streams: Vec<&Stream> = Vec::new();
    let mut index = |stream| match streams.iter().position(|known| *known == stream) {
        Some(index) => index,
        None => {
            streams.push(stream);
            streams.len() - 1
        }
    };
    let mut ordered: Vec<(usize, usize)> = Vec::new();
    for (first, second) in pairs {
        let pair = (index(first), index(second));
        if pair.0 != pair.1 && !ordered.contains(&pair) {
            ordered.push(pair);
        }
    }
    let _idle = streams.iter().map(|stream| stream.idle(CALL)).collect::<Result<Vec<_>>>()?;
    // Each pair's second stream waits for its first, which is marked once.
    let follow = |pairs: &mut dyn Iterator<Item = (usize, usize)>| -> Result<()> {
        let mut marks = vec![None; streams.len()];
        for (first, second) in pairs {
            let mark = match marks[first] {
                Some(mark) => mark,
                None => streams[first].mark_for_others()?,
            };
            marks[first] = Some(mark);
            streams[second].follow(mark)?;
        }
        Ok(())
    };
    // The memory that a pool gave to a buffer may still be used by work that its stream enqueued
    // before.
    follow(&mut ordered.iter().map(|&(first, second)| (second, first)))?;
    work();
    // Nor does later work on the memory, once the pool has it back, overtake what is enqueued.
    let after = follow(&mut ordered.iter().copied());
    if after.is_err() {
        // The streams could not be ordered: wait instead, so that the memory is free.
        ordered.iter().for_each(|&(first, _)| drop(streams[first].synchronize_idle()));
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::faulty::{Fault, Faulty};
    use crate::lazy::{Lazy, random};
    use crate::testing::refused;
    use std::sync::Arc;

    fn piece<'a>(src: &'a Buffer, dst: &'a Buffer) -> Piece<'a> {
        Piece { src, dst, at: [1, 0], pitch: [2, 1], words: 1, rows: 2 }
    }

    #[test]
    fn rows_go_to_another_device() {
        let fake = Fake::new();
        let [a, b] = [(); 2].map(|()| Gpu::from_driver(fake.clone()));
        a.connect(&b).unwrap();
        let (a, b) = (a.stream().unwrap(), b.stream().unwrap());
        let (from, to) = (a.upload(&[1, 2, 3, 4]).unwrap(), b.zeros(2).unwrap());
        fake.calls();
        // SAFETY: the only piece.
        unsafe { exchange(&[piece(&from, &to)]) }.unwrap();
        assert_eq!(fake.calls(), ["wait_event", "copy", "copy", "wait_event"]);
        let mut words = [0; 2];
        b.read(&to, 0, &mut words).unwrap();
        assert_eq!(words, [2, 4]);
        let outside = Piece { rows: 3, ..piece(&from, &to) };
        // SAFETY: the only piece.
        assert!(refused(unsafe { exchange(&[outside]) }));
        let empty = Piece { rows: 0, ..outside };
        // SAFETY: the only piece.
        unsafe { exchange(&[empty]) }.unwrap();
        assert_eq!(fake.calls(), ["read"]);
    }

    #[test]
    fn a_copy_that_fails_is_an_error() {
        for call in 1..8 {
            let faulty = Faulty::new(Fake::new());
            let [a, b] = [(); 2].map(|()| Gpu::from_driver(faulty.clone()).stream().unwrap());
            let (from, to) = (a.upload(&[1, 2, 3, 4]).unwrap(), b.zeros(2).unwrap());
            faulty.fail(call, Fault::EccUncorrectable);
            // SAFETY: the only piece.
            let done = unsafe { exchange(&[piece(&from, &to)]) };
            match faulty.mend() {
                Some(_) => assert!(matches!(done, Err(Error::DeviceFailed { .. })), "{call}: {done:?}"),
                None => assert_eq!(done, Ok(())),
            }
            let before = faulty.count("copy_rows");
            // SAFETY: the only piece.
            unsafe { exchange(&[piece(&from, &to)]) }.unwrap();
            assert_eq!(faulty.count("copy_rows"), before + 1);
        }
    }

    /// Buffers come and go on two devices that work as late as they may, and are written and sent
    /// to each other meanwhile.
    #[test]
    fn any_exchanges_give_the_words_of_vectors() {
        for seed in 1..=if cfg!(miri) { 4 } else { 400 } {
            let lazy = Lazy::new(seed);
            let mut state = seed | 1;
            let mut below = |bound: usize| (random(&mut state) % bound.max(1) as u64) as usize;
            let streams = [(); 2].map(|()| Gpu::from_driver(lazy.clone()).stream().unwrap());
            let mut held: Vec<(Buffer, Vec<u64>)> = Vec::new();
            for _ in 0..60 {
                match below(4) {
                    0 if held.len() > 2 => drop(held.swap_remove(below(held.len()))),
                    1 | 2 if held.len() > 1 => {
                        let source = held.swap_remove(below(held.len()));
                        let target = below(held.len());
                        let (words, rows) = (1 + below(4), 1 + below(4));
                        let pitch = [words + below(4), words + below(4)];
                        let at = [below(8), below(8)];
                        let target = &mut held[target];
                        for row in 0..rows {
                            let [from, to] = [0, 1].map(|side| at[side] + row * pitch[side]);
                            target.1[to..to + words].copy_from_slice(&source.1[from..from + words]);
                        }
                        let piece = Piece { src: &source.0, dst: &target.0, at, pitch, words, rows };
                        // SAFETY: the only piece; Lazy has one memory for both.
                        unsafe { exchange(&[piece]) }.unwrap();
                        held.push(source);
                    }
                    _ => {
                        let words: Vec<u64> = (0..40).map(|_| below(1 << 20) as u64).collect();
                        held.push((streams[below(2)].upload(&words).unwrap(), words));
                    }
                }
            }
            for (buffer, expected) in &held {
                let mut words = vec![0; expected.len()];
                buffer.stream().read(buffer, 0, &mut words).unwrap();
                assert_eq!(words, *expected, "seed {seed}");
            }
            drop((held, streams));
            assert!(lazy.is_empty() && Arc::strong_count(&lazy) == 1, "seed {seed}");
        }
    }
}
