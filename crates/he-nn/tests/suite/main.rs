//! Reading, compiling and running models, as a program outside of the crate does.
#![allow(clippy::unwrap_used, missing_docs)]

mod build;
mod conformance;
mod format;
mod inference;
mod models;
mod opsets;
mod reading;
