//! Progress and warnings of long operations.

use he_core::Overseer;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Receives progress and warnings. Every method may be called from several threads.
pub trait Watch: Send + Sync {
    /// Work has begun, advanced or ended.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }

    /// Something does not stop the work, and its caller should know of it.
    fn warn(&self, warning: &Warning) {
        let _ = warning;
    }
}

/// Nobody watches.
impl Watch for () {}

/// A function that takes the progress and no warnings.
impl<F: Fn(Progress) + Send + Sync> Watch for F {
    fn progress(&self, progress: Progress) {
        self(progress);
    }
}

/// The kind of work in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Data are encrypted.
    Encrypting,
    /// Encrypted data are computed on.
    Computing,
    /// Data are decrypted.
    Decrypting,
    /// Keys are made.
    GeneratingKeys,
    /// Keys are read.
    Loading,
    /// Decrypted data are written.
    Writing,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encrypting => "encrypting",
            Self::Computing => "computing",
            Self::Decrypting => "decrypting",
            Self::GeneratingKeys => "making keys",
            Self::Loading => "loading keys",
            Self::Writing => "writing",
        })
    }
}

/// The progress of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It has begun, and consists of `total` steps of about equal size: the more of them a part
    /// has, the longer it takes.
    Started {
        /// The kind of work.
        stage: Stage,
        /// All steps.
        total: u64,
    },
    /// It has advanced.
    Advanced {
        /// The steps that were done since.
        by: u64,
    },
    /// It has ended, with or without success.
    Ended,
}

/// A warning for a caller: a message and the remedy.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Warning {
    /// The fault: lower case, without a final period.
    pub message: String,
    /// The remedy.
    pub remedy: Remedy,
}

/// The remedy for a [`Warning`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Remedy {
    /// Saying whether the first row of a table holds names, if that was guessed wrong.
    Header {
        /// Whether it was taken for names.
        names: bool,
    },
    /// Compiling the model again, calibrated with examples like those meant.
    Calibrate,
    /// Encrypting a column by itself, which keeps all rows that it has: counts, sums, means and
    /// variances are those of the rows that are left.
    RowsLeft,
    /// Leaving the same rows out of whatever outputs of a model are compared with: these are the
    /// outputs of the other rows.
    OutputsLeft,
    /// Giving numbers of unlike size columns of their own, or keys of more precision.
    UnlikeSizes {
        /// The bits of precision that keep all numbers, if there are such keys.
        precision: Option<u32>,
    },
    /// Encrypting a column that lies far from zero with an offset, or keys of more precision.
    Offset {
        /// The most bits of precision that keys can have, and the error bound with them.
        finest: Option<(u32, f64)>,
    },
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const COLUMNS: &str = "put numbers of unlike size into columns of their own";
        const OFFSET: &str = "encrypt the column with an offset if it lies far from zero";
        match self {
            Self::Header { .. } => f.write_str("say whether the first row holds names"),
            Self::Calibrate => {
                f.write_str("their outputs may mean nothing: calibrate the model with examples like them")
            }
            Self::RowsLeft => f.write_str(
                "counts, sums, means and variances are those of the other rows; a column encrypted by itself keeps all of its own",
            ),
            Self::OutputsLeft => f.write_str(
                "the outputs are those of the other rows, in their order: leave these rows out of what the outputs are compared with",
            ),
            Self::UnlikeSizes { precision: None } => f.write_str(COLUMNS),
            Self::UnlikeSizes { precision: Some(bits) } => {
                write!(f, "use parameters of {bits} bits of precision, or {COLUMNS}")
            }
            Self::Offset { finest: None } => f.write_str(OFFSET),
            Self::Offset { finest: Some((bits, error)) } => {
                write!(f, "parameters of {bits} bits of precision would, down to {error:.1e}; or {OFFSET}")
            }
        }
    }
}

/// One piece of work whose progress is told: it ends when this is dropped.
pub struct Meter<'a>(&'a dyn Watch);

impl<'a> Meter<'a> {
    /// Begins `total` steps.
    pub fn new(watch: &'a dyn Watch, stage: Stage, total: u64) -> Self {
        watch.progress(Progress::Started { stage, total });
        Self(watch)
    }

    /// So many steps are done.
    pub fn inc(&self, steps: u64) {
        self.0.progress(Progress::Advanced { by: steps });
    }

    /// Ends the work.
    pub fn finish(self) {}
}

impl Drop for Meter<'_> {
    fn drop(&mut self) {
        self.0.progress(Progress::Ended);
    }
}

/// Tells what the devices that it oversees look up, and their work of rings, as steps of a piece of
/// work: never more of them than it has.
pub(crate) struct Steps {
    watch: Arc<dyn Watch>,
    left: AtomicU64,
}

impl Steps {
    /// Steps of no work yet: nothing is told before it [begins](Self::begin).
    pub fn new(watch: &Arc<dyn Watch>) -> Arc<Self> {
        Arc::new(Self { watch: Arc::clone(watch), left: AtomicU64::new(0) })
    }

    /// Begins `total` steps.
    pub fn begin(&self, stage: Stage, total: u64) -> CountedWork<'_> {
        let meter = Meter::new(&*self.watch, stage, total);
        self.left.store(total, Ordering::Relaxed);
        CountedWork { steps: self, total, _meter: meter }
    }

    fn advance(&self, by: u64) {
        if by == 0 {
            return;
        }
        let less = |left: u64| Some(left.saturating_sub(by));
        let (Ok(left) | Err(left)) = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        if left > 0 {
            self.watch.progress(Progress::Advanced { by: by.min(left) });
        }
    }
}

impl Overseer for Steps {
    fn looked_up(&self, count: usize) {
        self.advance(count as u64);
    }

    fn worked(&self, work: u64) {
        self.advance(work);
    }
}

/// One piece of work whose steps a device counts: it ends when this is dropped.
pub(crate) struct CountedWork<'a> {
    steps: &'a Steps,
    total: u64,
    _meter: Meter<'a>,
}

impl CountedWork<'_> {
    /// The first `steps` steps are done, whatever a device has told.
    pub fn reach(&self, steps: u64) {
        let left = self.total.saturating_sub(steps);
        self.steps.advance(self.steps.left.load(Ordering::Relaxed).saturating_sub(left));
    }

    /// Ends the work: all of its steps are done.
    pub fn finish(self) {
        self.steps.advance(u64::MAX);
    }
}

impl Drop for CountedWork<'_> {
    fn drop(&mut self) {
        self.steps.left.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn work_that_fails_ends_as_well() {
        let told = Mutex::new(Vec::new());
        let watch = |progress: Progress| told.lock().unwrap().push(progress);
        let work = || -> Result<(), ()> {
            let meter = Meter::new(&watch, Stage::Computing, 3);
            meter.inc(2);
            Err(())
        };
        assert!(work().is_err());
        let stage = Stage::Computing;
        assert_eq!(
            *told.lock().unwrap(),
            [Progress::Started { stage, total: 3 }, Progress::Advanced { by: 2 }, Progress::Ended]
        );
    }

    #[test]
    fn steps_are_those_of_the_work_whatever_a_device_tells() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&told);
        let watch: Arc<dyn Watch> = Arc::new(move |progress: Progress| kept.lock().unwrap().push(progress));
        let (steps, stage) = (Steps::new(&watch), Stage::Computing);
        let advanced = |by| Progress::Advanced { by };
        steps.worked(4); // Before any work begins, and after it has ended.
        let work = steps.begin(stage, 10);
        steps.worked(3);
        steps.looked_up(2);
        work.finish();
        steps.worked(1);
        let whole = [advanced(3), advanced(2), advanced(5), Progress::Ended];
        assert_eq!(told.lock().unwrap().split_off(1), whole);
        let work = steps.begin(stage, 10);
        steps.worked(3);
        work.reach(5);
        work.reach(4); // The device was ahead.
        steps.worked(1);
        work.reach(6);
        work.reach(12);
        drop(work);
        let started = Progress::Started { stage, total: 10 };
        let reached = [started, advanced(3), advanced(2), advanced(1), advanced(4), Progress::Ended];
        assert_eq!(told.lock().unwrap().split_off(1), reached);
        let work = steps.begin(stage, 4);
        steps.worked(3);
        steps.worked(3);
        drop(work);
        let beyond = [Progress::Started { stage, total: 4 }, advanced(3), advanced(1), Progress::Ended];
        assert_eq!(told.lock().unwrap().split_off(1), beyond);
        let failed = steps.begin(stage, 4);
        steps.worked(3);
        drop(failed);
        let failed = [Progress::Started { stage, total: 4 }, advanced(3), Progress::Ended];
        assert_eq!(told.lock().unwrap().split_off(1), failed);
    }
}
