//! Look-ups by number and by key, against the records themselves, and what is refused.

#![allow(clippy::unwrap_used)]

mod golden;
mod hostile;
mod keys;
mod numbers;
mod plans;
mod setup;
