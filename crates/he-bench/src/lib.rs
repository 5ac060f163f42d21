//! Measurements of homomorphic encryption on the CPU and on a GPU: operations and their parts, AES,
//! TFHE, products of matrices, bootstrapping, switching between schemes, functions on CKKS,
//! training on encrypted data, models on encrypted inputs, private look-up, sets in
//! common, and the experiments of
//! five papers, with their figures beside ours.
//!
//! [`measure`] times calls on a device, [`report`] holds tables and prints them, [`plot`] draws
//! them (with the feature `plots`); the other modules are the workloads, which exist only here.
//! Each figure has a name ([`measure::Id`]), and a [`measure::Meter`] can measure it in place of
//! the table's own clock: `cargo bench --bench workloads` hands them to Criterion. The benches
//! `marks` and `regress` have their own clocks and share [`keys`] and [`chains`].

pub mod aes;
mod batches;
pub mod bootstrap;
pub mod chains;
pub mod encrypted_matrices;
pub mod error;
pub mod functions;
pub mod gates;
pub mod helr;
mod integers;
pub mod keys;
pub mod lookups;
pub mod matrices;
pub mod measure;
pub mod nn;
pub mod ops;
mod packed;
pub mod papers;
pub mod pir;
#[cfg(feature = "plots")]
pub mod plot;
pub mod refresh;
pub mod report;
pub mod rings;
pub mod sets;
pub mod switching;
pub mod transcipher;

pub use error::{Error, Result};
