//! The CUDA driver, found at run time.
//!
//! [`Gpu`] is a device, [`Stream`] a queue of its work with a pool of memory, [`Buffer`] words in
//! that memory, [`Kernel`] a function of a [`Module`] made from PTX; [`exchange`] copies between
//! devices, and [`Signals`] order their streams. Nothing here needs CUDA at build time. Without a
//! driver, [`Gpu::open`] returns an error.
#![allow(unsafe_code)] // Calls of a C library; every use has its SAFETY line.
#![allow(clippy::missing_safety_doc)] // `Driver` says it once for all of its functions.

// The faulty driver of the emulator's crate, which depends on this one, is tested here as well.
#[cfg(test)]
extern crate self as gpu;

mod buffer;
mod cuda;
mod device;
mod driver;
mod error;
mod event;
mod exchange;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod faults;
#[cfg(test)]
#[expect(dead_code, reason = "bits flip in tests of crates that compute")]
#[path = "../../gpu-emulator/src/faulty.rs"]
mod faulty;
mod fork;
mod gather;
mod graph;
mod interop;
#[cfg(test)]
mod lazy;
#[cfg(test)]
mod machine;
mod module;
mod pinned;
mod pool;
mod ptx;
mod range;
mod signals;
mod slabs;
mod stream;
#[cfg(test)]
mod testing;

pub use buffer::Buffer;
pub use device::Gpu;
pub use driver::{DeviceInfo, Driver, Handle, Launch, RowCopy, Sequence};
pub use error::{Error, Result};
pub use event::Event;
pub use exchange::{Piece, exchange};
pub use fork::Branch;
pub use graph::Graph;
pub use module::{Kernel, Module};
pub use pinned::Pinned;
pub use signals::Signals;
pub use stream::Stream;
