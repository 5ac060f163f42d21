//! The times of steps that are repeated.

use std::fmt;
use std::time::{Duration, Instant};

/// The times of each step in their order: the first ones also warm up the device.
#[derive(Debug, Default)]
pub(crate) struct Series(Vec<(String, Vec<Duration>)>);

impl Series {
    /// Adds the time of some work.
    pub(crate) fn time<T>(&mut self, step: &str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.add(step, start.elapsed());
        result
    }

    /// Adds a time.
    pub(crate) fn add(&mut self, step: &str, spent: Duration) {
        match self.0.iter_mut().find(|(name, _)| name == step) {
            Some((_, times)) => times.push(spent),
            None => self.0.push((step.to_owned(), vec![spent])),
        }
    }
}

impl fmt::Display for Series {
    /// A step in each line, in milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, times) in &self.0 {
            write!(f, "{step}, ms:")?;
            times.iter().try_for_each(|time| write!(f, " {:.3}", time.as_secs_f64() * 1e3))?;
            writeln!(f)?;
        }
        Ok(())
    }
}
