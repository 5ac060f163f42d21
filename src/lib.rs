//! Homomorphic encryption toolkit for Rust: the facade over the workspace's crates. See [`he_core`].
#![forbid(unsafe_code)]

pub use he_core::*;
