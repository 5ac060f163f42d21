//! Reading, compiling and running models, as a program outside of the crate does.
#![allow(clippy::unwrap_used, missing_docs)]

mod any;
mod build;
mod conformance;
mod encoders;
mod encrypted_encoders;
mod external;
mod faults;
mod format;
mod inference;
mod learning;
mod matrices;
mod models;
mod opsets;
mod program;
mod reading;
mod stacks;
