//! Encrypted search against the same search on plain numbers, as a program outside of the crate
//! does it.
#![allow(clippy::unwrap_used, missing_docs)]

mod bands;
mod hostile;
mod matches;
mod plain;
mod predictions;
mod ranking;
mod secure;
mod setup;
