//! The memory of the CPU's buffers, which is used again.
//!
//! Fresh memory of an operating system costs a page fault and zeroing for every page, which is more
//! than most operations do with a row. Large buffers therefore go back to a pool when they are
//! dropped, and the next ones of about their size come from it.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use zeroize::Zeroize;

/// The words of a cache line, at which buffers begin: a vector then never lies in two lines.
const LINE: usize = 8;

/// The fewest words of a buffer that is kept: 64 KiB. The allocator keeps smaller ones itself.
const LEAST_WORDS: usize = 1 << 13;

/// The words that may wait in a pool in any case: 1 GiB.
const MOST_WORDS: usize = 1 << 27;

/// The part of the words lately in use that may wait in addition to them, since buffers are up to a
/// quarter longer than what they are taken for.
const SLACK: usize = 4;

/// The buffers that come back while the words in use at once are remembered, at least; twice as
/// many at most.
const WINDOW: usize = 1 << 12;

/// Memory that waits to be used again, of one [`Cpu`](super::Cpu) and its clones. It holds at most
/// 1 GiB; or, if that is more, what is missing to the most that was in use at once lately and a
/// quarter, so that the digits and results of a large batch come back without page faults. It gives
/// back first what has waited longest, and everything when the back end and the rings that it
/// prepared are dropped.
#[derive(Debug, Default)]
pub(super) struct Pool {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// By length, those of a length from the newest to the oldest.
    by_length: BTreeMap<(usize, u64), Vec<u64>>,
    /// The lengths by age, the oldest last.
    by_age: BTreeMap<u64, usize>,
    words: usize,
    /// The words of the pool's buffers that do not wait.
    in_use: usize,
    /// The most of them in the present window and in the one before.
    peaks: [usize; 2],
    /// The buffers that came back in the present window.
    returned: usize,
    /// Counts down, so that what comes later is less.
    clock: u64,
}

impl std::fmt::Debug for Waiting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Waiting {{ {} buffers, {} words }}", self.by_age.len(), self.words)
    }
}

impl Waiting {
    /// Takes the newest of the shortest buffers with a length in the range.
    fn take(&mut self, lengths: RangeInclusive<usize>) -> Option<Vec<u64>> {
        let range = (*lengths.start(), 0)..=(*lengths.end(), u64::MAX);
        let key = *self.by_length.range(range).next()?.0;
        self.remove(key)
    }

    fn remove(&mut self, key: (usize, u64)) -> Option<Vec<u64>> {
        let words = self.by_length.remove(&key)?;
        self.by_age.remove(&key.1);
        self.words -= key.0;
        Some(words)
    }

    fn count_in_use(&mut self, words: usize) {
        self.in_use += words;
        self.peaks[0] = self.peaks[0].max(self.in_use);
    }

    fn count_returned(&mut self, words: usize) {
        self.in_use = self.in_use.saturating_sub(words);
        self.returned += 1;
        if self.returned == WINDOW {
            self.returned = 0;
            self.peaks = [self.in_use, self.peaks[0]];
        }
    }

    /// Puts a buffer in, and takes out what has waited longest until no more words wait than
    /// `most`, or than were in use lately, and their slack, in addition to those that are.
    fn put(&mut self, words: Vec<u64>, most: usize) -> Vec<Vec<u64>> {
        self.count_returned(words.len());
        let lately = self.peaks[0].max(self.peaks[1]);
        let most = most.max(lately + lately / SLACK - self.in_use);
        self.clock = self.clock.wrapping_sub(1);
        self.words += words.len();
        self.by_age.insert(self.clock, words.len());
        self.by_length.insert((words.len(), self.clock), words);
        let mut leaving = Vec::new();
        while self.words > most
            && let Some((&age, &length)) = self.by_age.last_key_value()
        {
            leaving.extend(self.remove((length, age)));
        }
        leaving
    }
}

impl Pool {
    /// Words of any value.
    pub(super) fn scratch(self: &Arc<Self>, words: usize) -> CpuBuf {
        self.find(words).unwrap_or_else(|| self.fresh(words))
    }

    /// Words that are zero.
    pub(super) fn zeros(self: &Arc<Self>, words: usize) -> CpuBuf {
        match self.find(words) {
            Some(mut buf) => {
                buf.fill(0);
                buf
            }
            None => self.fresh(words),
        }
    }

    /// A copy.
    pub(super) fn copy(self: &Arc<Self>, words: &[u64]) -> CpuBuf {
        let mut buf = self.scratch(words.len());
        buf.copy_from_slice(words);
        buf
    }

    /// Takes a waiting buffer that has these words, or up to a quarter more. If nothing does, the
    /// words count as in use, since the caller allocates them.
    fn find(self: &Arc<Self>, words: usize) -> Option<CpuBuf> {
        if words < LEAST_WORDS {
            return None;
        }
        let length = words + LINE - 1;
        let mut waiting = self.lock();
        let found = waiting.take(length..=length + words / 4);
        waiting.count_in_use(found.as_ref().map_or(length, Vec::len));
        drop(waiting);
        found.map(|memory| CpuBuf::new(memory, words, Arc::downgrade(self)))
    }

    fn fresh(self: &Arc<Self>, words: usize) -> CpuBuf {
        let pool = if words < LEAST_WORDS { Weak::new() } else { Arc::downgrade(self) };
        CpuBuf::new(vec![0; words + LINE - 1], words, pool)
    }

    fn put(&self, memory: Vec<u64>) {
        // Freed after the lock is.
        let _leaving = self.lock().put(memory, MOST_WORDS);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        // Every change leaves the maps as they should be, whatever a panicking thread was doing.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A buffer of [`Cpu`](super::Cpu): words, whose memory is used again after they are dropped.
///
/// A dropped buffer stays in the memory of the process, as with any allocator, until other words
/// overwrite it; secrets are wiped before.
pub struct CpuBuf {
    /// At least `len` words from the first on.
    memory: Vec<u64>,
    first: usize,
    len: usize,
    /// The pool that gets the memory back; none for few words, or after the back end is gone.
    pool: Weak<Pool>,
}

impl CpuBuf {
    fn new(memory: Vec<u64>, len: usize, pool: Weak<Pool>) -> Self {
        // Without an alignment, which the method may refuse, the buffer begins at any word.
        let first = memory.as_ptr().align_offset(LINE * size_of::<u64>()).min(memory.len() - len);
        Self { memory, first, len, pool }
    }

    /// Keeps the first words, without copying.
    pub fn truncate(&mut self, words: usize) {
        self.len = self.len.min(words);
    }

    /// Overwrites all memory with zero, that of words which were cut off, too.
    pub(super) fn wipe(&mut self) {
        self.memory.as_mut_slice().zeroize();
    }
}

impl Deref for CpuBuf {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.memory[self.first..][..self.len]
    }
}

impl DerefMut for CpuBuf {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.memory[self.first..][..self.len]
    }
}

impl Clone for CpuBuf {
    fn clone(&self) -> Self {
        match self.pool.upgrade() {
            Some(pool) => pool.copy(self),
            None => Self::new(self.to_vec(), self.len, Weak::new()),
        }
    }
}

/// Only the number of words: they may be secret.
impl std::fmt::Debug for CpuBuf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CpuBuf {{ {} words }}", self.len)
    }
}

impl Drop for CpuBuf {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.upgrade() {
            pool.put(std::mem::take(&mut self.memory));
        }
    }
}

/// A buffer of secrets that are read for the last time: it is wiped before its memory is used
/// again, even if the reader panics.
pub(super) struct Taken(CpuBuf);

impl From<CpuBuf> for Taken {
    fn from(buf: CpuBuf) -> Self {
        Self(buf)
    }
}

impl Deref for Taken {
    type Target = [u64];
    fn deref(&self) -> &[u64] {
        &self.0
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.0.wipe();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Backend, Cpu};
    use super::*;
    use crate::error::Error;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    fn waiting(pool: &Pool) -> usize {
        pool.lock().words
    }

    /// Buffers of about the size that is asked for are used again, zeros are zeros, and copies are
    /// equal.
    #[test]
    fn memory_is_used_again() {
        let pool = Arc::new(Pool::default());
        let mut first = pool.zeros(LEAST_WORDS + 5);
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        assert_eq!(waiting(&pool), LEAST_WORDS + 5 + 7);
        for words in [LEAST_WORDS / 2, LEAST_WORDS + 6, LEAST_WORDS - 1] {
            let other = pool.scratch(words);
            assert_ne!(other.as_ptr(), place, "{words}");
            assert!(other.as_ptr().addr().is_multiple_of(64), "{words}");
        }
        let mut again = pool.scratch(LEAST_WORDS);
        assert_eq!((again.as_ptr(), again.len(), waiting(&pool)), (place, LEAST_WORDS, LEAST_WORDS + 6 + 7));
        again.truncate(LEAST_WORDS / 4);
        let copy = again.clone();
        assert_eq!((&copy[..], copy.len()), (&again[..], LEAST_WORDS / 4));
        drop(again);
        let zeros = pool.zeros(LEAST_WORDS + 5);
        assert!(zeros.as_ptr() == place && zeros.iter().all(|&word| word == 0));
    }

    /// Wiped words are nowhere in the memory that is used again, not even where it was cut off.
    #[test]
    fn wiped_words_do_not_come_back() {
        let pool = Arc::new(Pool::default());
        let mut secret = pool.scratch(2 * LEAST_WORDS);
        secret.fill(42);
        let place = secret.as_ptr();
        secret.truncate(LEAST_WORDS);
        secret.wipe();
        drop(secret);
        let found = pool.scratch(2 * LEAST_WORDS);
        assert_eq!(found.as_ptr(), place);
        assert!(found.iter().all(|&word| word == 0));
    }

    /// Taken words are read where they lie, and are nowhere in the memory that is used again,
    /// whether their reader has a result, fails or panics.
    #[test]
    fn taken_words_do_not_come_back() {
        let (cpu, words) = (Cpu::new(), 2 * LEAST_WORDS);
        for end in ["result", "error", "panic"] {
            let secret = cpu.upload(&vec![42; words]).unwrap();
            let place = secret.as_ptr();
            let read = |taken: &[u64]| {
                assert!(taken.as_ptr() == place && taken == vec![42; words], "{end}");
                match end {
                    "result" => Ok(taken.len()),
                    "error" => Err(Error::RingMismatch),
                    _ => panic!("as it should"),
                }
            };
            match catch_unwind(AssertUnwindSafe(|| cpu.take_with(secret, read))) {
                Ok(Ok(count)) => assert_eq!((end, count), ("result", words)),
                Ok(Err(error)) => assert!(end == "error" && matches!(error, Error::RingMismatch), "{error}"),
                Err(message) => {
                    assert_eq!((end, message.downcast_ref()), ("panic", Some(&"as it should")));
                }
            }
            let found = cpu.scratch(words).unwrap();
            assert_eq!(found.as_ptr(), place, "{end}");
            assert!(found.iter().all(|&word| word == 0), "{end}");
        }
    }

    /// At most the bound waits, the oldest leaves first, and buffers outlive the pool.
    #[test]
    fn the_pool_is_bounded() {
        let mut waiting = Waiting::default();
        for length in [10, 20, 30] {
            assert!(waiting.put(vec![0; length], 60).is_empty());
        }
        let leaving = waiting.put(vec![0; 15], 60);
        assert_eq!(leaving.iter().map(Vec::len).collect::<Vec<_>>(), [10, 20]);
        assert_eq!((waiting.words, waiting.by_age.len(), waiting.by_length.len()), (45, 2, 2));
        assert_eq!(waiting.put(vec![0; 61], 60).len(), 3);
        assert!(waiting.words == 0 && waiting.take(0..=100).is_none());
        // As many as were in use at once and a quarter, until two windows later.
        waiting.count_in_use(300);
        for left in [200, 100, 0] {
            assert!(waiting.put(vec![0; 100], 60).is_empty() && waiting.in_use == left);
        }
        assert_eq!((waiting.put(vec![0; 100], 60).len(), waiting.words), (1, 300));
        for _ in 0..2 * WINDOW {
            waiting.count_in_use(10);
            waiting.put(vec![0; 10], 60);
        }
        assert_eq!(waiting.words, 60);
        let pool = Arc::new(Pool::default());
        let buf = pool.zeros(LEAST_WORDS);
        drop(pool);
        assert_eq!(buf.clone().len(), LEAST_WORDS);
    }
}
