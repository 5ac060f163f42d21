//! Digests of values on threads of their own, while the computation goes on.

use super::values;
use crate::error::{Error, OutputError, Result};
use crate::listing::Checksum;
use he_core::wire::SealedFrame;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle, available_parallelism};

/// The most threads, each of which holds a value.
const THREADS: usize = 4;

/// The part of a value that a thread brings to the host and hashes, and its place.
type Job = (usize, Box<dyn FnOnce() -> Result<SealedFrame> + Send>);

/// The checksums that a thread has made, with their places.
type Made = Vec<(usize, Checksum)>;

/// The digests of values of a computation, in order. Each value is brought to the host, packed and
/// hashed on one of a few threads, and at most two for each thread are held.
#[derive(Debug)]
pub struct Digests {
    queue: Option<SyncSender<Job>>,
    threads: Vec<JoinHandle<Result<Made>>>,
    /// The parts of each value.
    counts: Vec<usize>,
}

impl Digests {
    /// Starts the threads. With a folder, every value is kept there in a file that has its digest
    /// as its name.
    ///
    /// # Errors
    /// The operating system starts no threads.
    pub fn new(folder: Option<PathBuf>) -> Result<Self> {
        let threads = available_parallelism().map_or(1, usize::from).min(THREADS);
        let (queue, jobs) = sync_channel(threads);
        let jobs = Arc::new(Mutex::new(jobs));
        let start = |_| {
            let (jobs, folder) = (Arc::clone(&jobs), folder.clone());
            let thread = Builder::new().name("digests".to_owned());
            thread.spawn(move || work(&jobs, folder)).map_err(|error| {
                OutputError::NoThread { name: "the trace".to_owned(), reason: error.to_string() }.into()
            })
        };
        let threads = (0..threads).map(start).collect::<Result<_>>()?;
        Ok(Self { queue: Some(queue), threads, counts: Vec::new() })
    }

    /// Takes the next value, of these parts.
    ///
    /// # Errors
    /// An error of an earlier value, which cannot be brought to the host or kept.
    pub fn add<F>(&mut self, parts: impl IntoIterator<Item = F>) -> Result<()>
    where
        F: FnOnce() -> Result<SealedFrame> + Send + 'static,
    {
        let first: usize = self.counts.iter().sum();
        let mut count = 0;
        for part in parts {
            let job: Job = (first + count, Box::new(part));
            if self.queue.as_ref().is_none_or(|queue| queue.send(job).is_err()) {
                return Err(self.join().err().unwrap_or(Error::Stopped));
            }
            count += 1;
        }
        self.counts.push(count);
        Ok(())
    }

    /// The digests of the parts of each value.
    ///
    /// # Errors
    /// A value cannot be brought to the host or kept.
    pub fn finish(mut self) -> Result<Vec<Vec<Checksum>>> {
        let mut made = self.join()?;
        made.sort_unstable_by_key(|&(place, _)| place);
        let mut digests = made.into_iter().map(|(_, digest)| digest);
        Ok(self.counts.iter().map(|&count| digests.by_ref().take(count).collect()).collect())
    }

    /// Waits for the threads.
    fn join(&mut self) -> Result<Made> {
        self.queue = None;
        let mut made = Vec::new();
        for thread in self.threads.drain(..) {
            match thread.join() {
                Ok(part) => made.extend(part?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(made)
    }
}

/// Works on values until there are no more. The first error ends this thread alone; the others
/// finish what they hold.
fn work(jobs: &Mutex<Receiver<Job>>, folder: Option<PathBuf>) -> Result<Made> {
    let mut made = Vec::new();
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((place, value)) = job else { return Ok(made) };
        let frame = value()?;
        if let Some(folder) = &folder {
            values::keep(folder, &frame)?;
        }
        made.push((place, values::checksum(&frame)));
    }
}
