//! Homomorphic encryption toolkit for Rust: the facade over the workspace's crates. See [`he_core`], and [`cuda`] and [`aes_gpu`] for GPUs.
#![forbid(unsafe_code)]

/// AES on GPUs.
pub use aes_gpu;
pub use he_core::*;
/// The CUDA back end.
pub use he_cuda as cuda;
