//! Work in steps. A task is a future that nobody but its owner polls: each step runs to the next
//! point where the work may be suspended, so that whoever takes the steps can do other things
//! between them, and can stop.

use crate::error::Result;
use crate::feed::Feed;
use he_files::io::output::Output;
use he_files::watch::{Progress, Stage, Warning, Watch};
use serde_json::{Value, json};
use std::future::{Future, poll_fn};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// There is more to do.
    Working,
    /// There is more to do once more bytes have been pushed, or their end.
    Hungry,
    /// It is done.
    Done(T),
}

/// Work that is done step by step. Dropped, it stops, and wipes the secrets that it holds.
pub struct Task<T> {
    future: Pin<Box<dyn Future<Output = Result<T>>>>,
    /// The bytes that the work reads.
    pub feed: Feed,
}

impl<T> Task<T> {
    /// Work that reads from `feed`.
    pub fn new(feed: Feed, work: impl Future<Output = Result<T>> + 'static) -> Self {
        Self { future: Box::pin(work), feed }
    }

    /// Goes on to the next point where the work may be suspended. Not to be called again once it
    /// is done or has failed.
    ///
    /// # Errors
    /// The errors of the work.
    pub fn step(&mut self) -> Result<Step<T>> {
        match self.future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(Step::Done),
            Poll::Pending if self.feed.is_hungry() => Ok(Step::Hungry),
            Poll::Pending => Ok(Step::Working),
        }
    }
}

/// A point where the work may be suspended.
pub async fn pause() {
    let mut paused = false;
    poll_fn(|_| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Bytes that were written and not taken yet.
#[derive(Clone, Default)]
pub struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes them.
    pub fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.bytes())
    }

    /// Writes these bytes, and leaves none.
    pub fn append(&mut self, bytes: &mut Vec<u8>) {
        self.bytes().append(bytes);
    }

    /// As an output that errors call `name`.
    pub fn output(&self, name: &str) -> Output {
        Output::to_writer(name, self.clone())
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Default)]
struct Told {
    done: u64,
    of: u64,
    warnings: Vec<Warning>,
}

/// The progress of a task, and what its caller should know.
#[derive(Clone, Default)]
pub struct Tell(Arc<Mutex<Told>>);

impl Tell {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The steps that are done, of how many.
    pub fn done_of(&self) -> (u64, u64) {
        let told = self.told();
        (told.done, told.of)
    }

    /// Begins so many steps.
    pub(crate) fn begin(&self, total: usize) {
        self.progress(Progress::Started { stage: Stage::GeneratingKeys, total: total as u64 });
    }

    /// So many of them are done.
    pub(crate) fn advance(&self, steps: u64) {
        self.progress(Progress::Advanced { by: steps });
    }

    /// The warnings: what is the matter, and what to do about it.
    pub fn warnings(&self) -> Value {
        let told = self.told();
        let text =
            |warning: &Warning| json!({ "message": warning.message, "hint": warning.remedy.to_string() });
        told.warnings.iter().map(text).collect()
    }
}

impl Watch for Tell {
    fn progress(&self, progress: Progress) {
        let mut told = self.told();
        match progress {
            Progress::Started { total, .. } => (told.done, told.of) = (0, total),
            Progress::Advanced { by } => told.done += by,
            Progress::Ended => {}
        }
    }

    fn warn(&self, warning: &Warning) {
        self.told().warnings.push(warning.clone());
    }
}
