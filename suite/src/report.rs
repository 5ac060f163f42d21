//! The times that a server reports, which the suite lists in columns of their own.

use crate::error::Error;
use crate::output;
use serde_json::{Map, Value};
use std::path::Path;
use std::time::{Duration, Instant};

/// The name of the file.
const FILE: &str = "server_reported_steps.json";

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
        self.write_after(Map::new(), folder)
    }

    /// Adds the steps to those of an earlier stage in `server_reported_steps.json`.
    pub(crate) fn extend(&self, folder: &Path) -> Result<(), Error> {
        let earlier = std::fs::read(folder.join(FILE)).ok();
        let earlier = earlier.and_then(|text| serde_json::from_slice(&text).ok());
        self.write_after(earlier.unwrap_or_default(), folder)
    }

    fn write_after(&self, mut steps: Map<String, Value>, folder: &Path) -> Result<(), Error> {
        let seconds = |spent: &Duration| Value::from(spent.as_secs_f64());
        steps.extend(self.0.iter().map(|(name, spent)| ((*name).to_owned(), seconds(spent))));
        let text = format!("{:#}\n", Value::Object(steps));
        output::write(&folder.join(FILE), text.as_bytes())
    }
}
