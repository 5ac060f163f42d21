//! Bytes that are pushed in while they are read.
//!
//! Readers of files ask for bytes and get them or an error; they cannot be suspended. So a task
//! waits until the frame that is read next has arrived as a whole, and only then calls its reader.

use he_core::wire::FrameHeader;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// Bytes of a frame before its body.
const HEADER: usize = FrameHeader::SIZE;
/// Bytes of a frame behind its body.
const CHECKSUM: u64 = 32;
/// The longest body of the two frames at the start of a file: parameters, description.
const START_LIMIT: u64 = 2 << 20;

/// Finds the ends of frames in what is pushed.
struct Frames {
    header: [u8; HEADER],
    /// Bytes of the header that have arrived.
    have: usize,
    /// Bytes of body and checksum that are still to come.
    rest: u64,
    complete: u64,
    /// The longest body that anybody waits for.
    limit: u64,
    /// Whether these are not frames, or one is too long, so that nobody should wait for its end.
    broken: bool,
}

impl Frames {
    fn push(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.broken {
            if self.have < HEADER {
                let count = bytes.len().min(HEADER - self.have);
                self.header[self.have..self.have + count].copy_from_slice(&bytes[..count]);
                self.have += count;
                bytes = &bytes[count..];
                if self.have < HEADER {
                    return;
                }
                let length = FrameHeader::parse(&self.header).map_or(u64::MAX, |header| header.length);
                self.broken = length > self.limit;
                self.rest = length.saturating_add(CHECKSUM);
            }
            let count = bytes.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
            self.rest -= count as u64;
            bytes = &bytes[count..];
            if self.rest == 0 {
                self.complete += 1;
                self.have = 0;
            }
        }
    }
}

struct State {
    bytes: VecDeque<u8>,
    frames: Frames,
    ended: bool,
    /// Whether a task waits for more.
    hungry: bool,
}

/// A stream of bytes between who pushes and who reads.
#[derive(Clone)]
pub struct Feed(Arc<Mutex<State>>);

impl Default for Feed {
    fn default() -> Self {
        let frames =
            Frames { header: [0; HEADER], have: 0, rest: 0, complete: 0, limit: START_LIMIT, broken: false };
        let state = State { bytes: VecDeque::new(), frames, ended: false, hungry: false };
        Self(Arc::new(Mutex::new(state)))
    }
}

impl Feed {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next bytes.
    pub fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.bytes.extend(bytes);
        state.frames.push(bytes);
        state.hungry = false;
    }

    /// There are no more bytes.
    pub fn end(&self) {
        let mut state = self.state();
        (state.ended, state.hungry) = (true, false);
    }

    /// Whether a task waits for more.
    pub fn is_hungry(&self) -> bool {
        self.state().hungry
    }

    /// From now on, bodies of frames up to this length are waited for.
    pub fn set_limit(&self, limit: u64) {
        self.state().frames.limit = limit;
    }

    async fn wait<T>(&self, mut ready: impl FnMut(&mut State) -> Option<T>) -> T {
        poll_fn(|_| {
            let mut state = self.state();
            let found = ready(&mut state);
            state.hungry = found.is_none();
            found.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Waits until so many frames have arrived since the beginning, or what has arrived is all
    /// that a reader needs to refuse the file.
    pub async fn frames(&self, count: u64) {
        self.wait(|state| {
            (state.ended || state.frames.broken || state.frames.complete >= count).then_some(())
        })
        .await;
    }

    /// Waits for the end.
    pub async fn whole(&self) {
        self.wait(|state| (state.ended || state.frames.broken).then_some(())).await;
    }

    /// The next bytes, at least one; `None` at the end.
    pub async fn some(&self) -> Option<Vec<u8>> {
        self.wait(|state| {
            let any = !state.bytes.is_empty();
            (any || state.ended).then(|| any.then(|| std::mem::take(&mut state.bytes).into()))
        })
        .await
    }
}

/// Reads the bytes that were pushed, once they have been waited for.
impl Read for Feed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.state().bytes.read(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Step, Task};
    use std::cell::Cell;
    use std::rc::Rc;

    fn frame(body: usize) -> Vec<u8> {
        // Version 1, an attachment.
        let mut frame = b"HEWF\x01\0\x08\0".to_vec();
        frame.resize(40, 0);
        frame.extend((body as u64).to_le_bytes());
        frame.resize(HEADER + body + CHECKSUM as usize, 7);
        frame
    }

    /// The bytes after which each number of frames is there.
    fn arrivals(file: &[u8], step: usize, count: u64) -> Vec<usize> {
        let (feed, seen) = (Feed::default(), Rc::new(Cell::new(0)));
        let (own, log) = (feed.clone(), Rc::clone(&seen));
        let mut task = Task::new(feed.clone(), async move {
            for number in 1..=count {
                own.frames(number).await;
                log.set(number);
            }
            own.whole().await;
            Ok(())
        });
        let (mut at, mut found) = (0, Vec::new());
        while let Step::Hungry = task.step().unwrap() {
            found.resize(seen.get() as usize, at);
            match file[at..].chunks(step).next() {
                Some(part) => {
                    feed.push(part);
                    at += part.len();
                }
                None => feed.end(),
            }
        }
        found.resize(seen.get() as usize, at);
        found
    }

    #[test]
    fn frames_are_found_wherever_the_pieces_are_cut() {
        let file = [frame(0), frame(1), frame(1000), frame(7)].concat();
        let mut ends = [80, 161, 1241, 1328];
        for step in [1, 3, 47, 48, 49, 500, 4000] {
            ends.iter_mut().for_each(|end| *end = (*end).min(file.len()));
            let expected: Vec<usize> =
                ends.iter().map(|end| end.next_multiple_of(step).min(file.len())).collect();
            assert_eq!(arrivals(&file, step, 4), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn nobody_waits_for_what_cannot_be() {
        let mut long = frame(0);
        long[40..48].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(arrivals(&long, 1, 1), [HEADER]);
        let mut other = frame(100);
        other[0] = b'X';
        assert_eq!(arrivals(&other, 16, 1), [HEADER]);
        // Data that end early are as much as there will ever be.
        assert_eq!(arrivals(&frame(100)[..60], 16, 1), [60]);
    }
}
