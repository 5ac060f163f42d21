//! Measurements of homomorphic encryption on the CPU and on a GPU: operations, AES, TFHE,
//! CKKS bootstrapping, functions on CKKS, training on encrypted data, models on encrypted inputs,
//! and the experiments of five papers, with their figures beside ours.
//!
//! [`measure`] times calls on a device, [`report`] holds tables and prints them, [`plot`] draws
//! them (with the feature `plots`); the other modules say what is measured.

pub mod aes;
mod batches;
pub mod bootstrap;
pub mod error;
pub mod functions;
pub mod gates;
pub mod helr;
mod keys;
pub mod measure;
pub mod nn;
pub mod ops;
mod packed;
pub mod papers;
#[cfg(feature = "plots")]
pub mod plot;
pub mod report;

pub use error::{Error, Result};
