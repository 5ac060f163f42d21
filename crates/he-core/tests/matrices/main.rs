//! Ciphertexts whose coefficients or batches are matrices: the operations, beside the same ones on
//! plain numbers.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;
mod devices;
mod exact;
mod expansion;
mod network;
mod plain;
mod products;
mod ring_switch;
