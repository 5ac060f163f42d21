//! Integration tests of exact arithmetic: BFV and BGV.
#![allow(missing_docs, clippy::unwrap_used)]

mod circuits;
mod common;
mod errors;
mod noise;
mod operations;
mod oracles;
mod p5;
mod packed;
#[path = "../seeds/mod.rs"]
mod seeds;
mod wire;
