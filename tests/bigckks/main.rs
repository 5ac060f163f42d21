//! Integration tests of CKKS with a big-integer modulus.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
mod errors;
mod noise;
mod picture;
mod reference;
mod scheme;
#[path = "../seeds/mod.rs"]
mod seeds;
mod wire;
mod words;
