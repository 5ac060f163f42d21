//! The times that a server reports, which the suite lists in columns of their own.

use crate::error::Error;
use crate::output;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// Seconds of each step, in the order in which the steps came first.
#[derive(Debug, Default)]
pub(crate) struct Report(Vec<(&'static str, Duration)>);

impl Report {
    /// Adds the time of some work to that of a step.
    pub(crate) fn time<T>(&mut self, step: &'static str, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        let spent = start.elapsed();
        match self.0.iter_mut().find(|(name, _)| *name == step) {
            Some((_, sum)) => *sum += spent,
            None => self.0.push((step, spent)),
        }
        result
    }

    /// Writes `server_reported_steps.json`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Error> {
        let steps = self.0.iter().map(|(name, spent)| ((*name).to_owned(), spent.as_secs_f64().into()));
        let text = format!("{:#}\n", Value::Object(steps.collect::<Map<_, _>>()));
        output::write(&folder.join("server_reported_steps.json"), text.as_bytes())
    }
}
