//! The computations on the numbers.

use crate::error::Error;

/// The variable by whose number a task is chosen, as by the argument `--mini_workload` of the
/// harness, which hands it to no stage.
const VARIABLE: &str = "HE_SUITE_MINI_WORKLOAD";

/// A computation on the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// The greatest number.
    Maximum,
    /// The inner product of the first and the second half of the numbers, modulo 2^16.
    InnerProduct,
}

/// The tasks in the order of their numbers.
const TASKS: [(&str, Task); 2] = [("maximum", Task::Maximum), ("inner-product", Task::InnerProduct)];

impl Task {
    /// The task that the environment names by its number.
    pub(super) fn from_environment() -> Result<Self, Error> {
        let number = std::env::var(VARIABLE).unwrap_or_else(|_| "0".into());
        let found = number.parse::<usize>().ok().and_then(|number| TASKS.get(number));
        let numbers = || format!("0 for {}, 1 for {}", TASKS[0].0, TASKS[1].0);
        found.map(|&(_, task)| task).ok_or_else(|| Error::Task(format!("{VARIABLE}={number}"), numbers()))
    }

    /// The task of this name.
    pub(super) fn named(name: &str) -> Result<Self, Error> {
        let found = TASKS.iter().find(|(known, _)| *known == name);
        let names = || TASKS.map(|(name, _)| name).join(", ");
        found.map(|&(_, task)| task).ok_or_else(|| Error::Task(name.into(), names()))
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        TASKS.iter().find(|(_, task)| *task == self).map_or("", |(name, _)| name)
    }
}
