//! CUDA as a back end of [`he_core`]: the same program leaves the same words on an NVIDIA GPU.
//!
//! The driver is found at run time and the kernels' PTX is part of the crate: nothing has to be
//! installed to build it, and nothing but NVIDIA's driver to run it. Every operation is enqueued on
//! the stream of its [`Cuda`] and covers all limbs and batch entries; the host runs ahead of the
//! device and waits in `download` and `synchronize`, for the results of decoding, and for the size
//! of encoded coefficients.
//!
//! # Examples
//! ```no_run
//! use he_core::{ckks::CkksParams, ring::Ring};
//! use he_cuda::Cuda;
//!
//! let params = CkksParams::for_depth(1).precision_bits(20).build()?;
//! let ring = Ring::new(Cuda::open(0)?, params.rlwe().ring().clone())?;
//! # Ok::<(), he_core::Error>(())
//! ```
//!
//! # Timing
//! Kernels do not branch on secret words or index memory by them; the timing of the device itself
//! is not under the library's control.
#![allow(unsafe_code)] // Kernel launches; every one has its SAFETY line.

mod backend;
mod blocks;
mod byte_conversion;
mod cache;
mod circuit;
mod constants;
mod cuda;
mod doubles;
mod elementwise;
mod embedding;
mod exact;
mod greatest_squares;
mod group;
mod host_vector;
mod kernels;
mod key;
mod key_form;
mod key_switch;
mod matrix;
mod ntt;
mod ring;
mod rotations;
mod sampler;
mod scaled_tensor;
mod share;
mod staging;
mod sums;
mod tfhe;
mod wide;

pub use circuit::CudaCircuitKey;
pub use cuda::{Arithmetic, Cuda};
pub use gpu;
pub use group::{CudaGroup, GroupBuf, GroupRing};
pub use ring::CudaRing;
pub use tfhe::CudaLweKey;
