//! AES on NVIDIA GPUs: ECB, CTR, XTS and GCM of 128, 192 and 256 bits.
//!
//! [`AesGpu`] is a [`BulkCipher`](he_core::aes::BulkCipher) over one device or several, for data of
//! the host; [`AesStream`] does the same for data that are in a device's memory. The driver is
//! found at run time and the kernels' PTX is part of the crate: nothing has to be installed to
//! build the crate, and nothing but NVIDIA's driver to run it.
//!
//! # How it computes
//! A round consists of 16 look-ups in tables of columns (T-tables: Daemen and Rijmen, The Design of
//! Rijndael, 4.2). Each lane of a warp has copies of the tables in its own bank of shared memory,
//! and rows of 256 bytes, so that one byte permutation makes the address of a look-up. Blocks of
//! CTR whose counters differ in the last byte share 27 of the 32 look-ups of rounds 1 and 2. GHASH
//! is a sum of blocks times powers of H, which all threads compute at once: Horner's rule with H^32
//! by tables of half-bytes, then one general product per thread.
//!
//! # Secrets
//! Round keys and powers of H are zeroed on the device when their key is dropped. Registers, shared
//! memory and caches of a device are not under the crate's control. For data whose attackers share
//! the device or measure its time, use the CPU ([`he_core::aes::Cpu`]).
#![allow(unsafe_code)] // Kernel launches; every one has its SAFETY line.

mod args;
mod bulk;
mod ctr;
mod data;
mod ecb;
mod gcm;
mod jobs;
mod kernels;
mod key;
mod lane;
mod pinned;
mod stream;
mod xts;

pub use bulk::AesGpu;
pub use data::DeviceData;
pub use gpu;
pub use kernels::Tables;
pub use key::{DeviceGcmKey, DeviceKey, DeviceXtsKey};
pub use stream::AesStream;
