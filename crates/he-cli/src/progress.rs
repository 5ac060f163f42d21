//! A progress bar that appears only where it helps: on a terminal, for work that has lasted over a
//! second.

use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::{console, error};
use he_files::watch::{self, Warning, Watch};
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// Work shorter than this shows no bar.
const DRAW_DELAY: Duration = Duration::from_secs(1);

/// One running piece of work, drawn on standard error; may be advanced from many threads.
///
/// The bar is wiped when dropped, so that errors start on a clean line.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    may_show: bool,
    shown: AtomicBool,
}

impl Progress {
    /// Starts the clock of `total` steps named `label` (`encrypting`, …).
    pub fn new(label: &str, total: u64) -> Self {
        Self::with_terminal(label, total, std::io::stderr().is_terminal() && !console::is_quiet())
    }

    fn with_terminal(label: &str, total: u64, may_show: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        if let Ok(style) =
            ProgressStyle::with_template("{prefix:>12} [{bar:30}] {percent:>3}% {estimate} left")
        {
            let estimate = |state: &ProgressState, out: &mut dyn Write| {
                let left = left(state.elapsed(), state.pos(), state.len().unwrap_or(0));
                // A string takes everything.
                let _ = write!(out, "{:#}", HumanDuration(left));
            };
            bar.set_style(style.progress_chars("=> ").with_key("estimate", estimate));
        }
        bar.set_prefix(label.to_owned());
        Self { bar, start: Instant::now(), may_show, shown: AtomicBool::new(false) }
    }

    /// Advances by `steps`.
    pub fn inc(&self, steps: u64) {
        self.bar.inc(steps);
        if self.may_show
            && !self.shown.load(Ordering::Relaxed)
            && self.start.elapsed() >= DRAW_DELAY
            && !self.shown.swap(true, Ordering::Relaxed)
        {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.tick();
        }
    }
}

/// The time that is left if all steps take as long as those that are done: they are equal, and
/// come in bursts, which would mislead the rate of the last ones.
fn left(elapsed: Duration, done: u64, total: u64) -> Duration {
    if done == 0 {
        return Duration::ZERO;
    }
    let seconds = elapsed.as_secs_f64() * total.saturating_sub(done) as f64 / done as f64;
    Duration::try_from_secs_f64(seconds.round()).unwrap_or(Duration::MAX)
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the progress of the library's work, and its warnings, on standard error.
#[derive(Debug, Default)]
pub struct Shown(Mutex<Option<Progress>>);

impl Watch for Shown {
    fn progress(&self, progress: watch::Progress) {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match progress {
            watch::Progress::Started { stage, total } => {
                *shown = Some(Progress::new(&stage.to_string(), total));
            }
            watch::Progress::Advanced { by } => shown.iter().for_each(|shown| shown.inc(by)),
            watch::Progress::Ended => *shown = None,
        }
    }

    fn warn(&self, warning: &Warning) {
        error::warn(&warning.message, &error::remedy(&warning.remedy));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_from_many_threads_and_stays_silent() {
        let progress = Progress::with_terminal("counting", 400, false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| progress.inc(1)));
            }
        });
        assert_eq!(progress.bar.position(), 400);
        assert!(!progress.shown.load(Ordering::Relaxed));
    }

    #[test]
    fn what_is_left_goes_on_as_it_went_so_far() {
        let seconds = Duration::from_secs;
        assert_eq!(left(seconds(10), 1000, 10_000), seconds(90));
        assert_eq!(left(seconds(7), 7, 7), seconds(0));
        assert_eq!(left(seconds(1), 0, 7), seconds(0));
        assert_eq!(left(seconds(3), 9, 7), seconds(0));
        assert_eq!(left(Duration::MAX, 1, u64::MAX), Duration::MAX);
    }

    #[test]
    fn waits_for_the_delay() {
        let mut progress = Progress::with_terminal("waiting", 2, true);
        progress.inc(1);
        assert!(!progress.shown.load(Ordering::Relaxed));
        if let Some(earlier) = progress.start.checked_sub(DRAW_DELAY) {
            progress.start = earlier;
            progress.inc(1);
            assert!(progress.shown.load(Ordering::Relaxed));
        }
    }
}
