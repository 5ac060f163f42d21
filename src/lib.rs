//! Homomorphic encryption toolkit for Rust: the facade over the workspace's crates. See [`he_core`], and [`cuda`] for GPUs.
#![forbid(unsafe_code)]

pub use he_core::*;
/// The CUDA back end.
pub use he_cuda as cuda;
