//! Progress of long stages, on standard error.

use std::time::{Duration, Instant};

/// The time between two lines, and before the first.
const INTERVAL: Duration = Duration::from_secs(2);

/// Tells how many of all words are done.
#[derive(Debug)]
pub(crate) struct Progress {
    stage: &'static str,
    total: u64,
    told: Instant,
}

impl Progress {
    /// Starts a stage of so many words.
    pub(crate) fn new(stage: &'static str, total: u64) -> Self {
        Self { stage, total, told: Instant::now() }
    }

    /// So many words are done.
    pub(crate) fn tell(&mut self, done: u64) {
        if self.told.elapsed() >= INTERVAL {
            eprintln!("{}: {done} of {}", self.stage, self.total);
            self.told = Instant::now();
        }
    }
}
