//! Integration tests of the library, one program with a module for each kind: the modules share
//! what the compiler makes of the library's generic code.
#![allow(missing_docs, clippy::unwrap_used)]

mod aes;
mod bigckks;
mod conformance;
mod device;
mod examples;
mod integers;
mod seeds;
mod suite;
mod tfhe;
