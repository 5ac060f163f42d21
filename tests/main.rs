//! Integration tests of the library, one binary with a module for each kind.
#![allow(missing_docs, clippy::unwrap_used)]

#[path = "seeds/mod.rs"]
mod seeds;
mod suite;
