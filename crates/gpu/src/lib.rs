//! The CUDA driver, found at run time.
//!
//! [`Gpu`] is a device, [`Stream`] a queue of its work with a pool of memory, [`Buffer`] words in
//! that memory, [`Kernel`] a function of a [`Module`] made from PTX. Nothing here needs CUDA at
//! build time. Without a driver, [`Gpu::open`] returns an error.
#![allow(unsafe_code)] // Calls of a C library; every use has its SAFETY line.
#![allow(clippy::missing_safety_doc)] // `Driver` says it once for all of its functions.

mod buffer;
mod cuda;
mod device;
mod driver;
#[cfg(feature = "emulator")]
mod emulator;
mod error;
mod event;
#[cfg(test)]
mod fake;
mod gather;
mod graph;
mod interop;
mod module;
mod pinned;
mod pool;
mod ptx;
mod range;
mod stream;
#[cfg(test)]
mod testing;

pub use buffer::Buffer;
pub use device::Gpu;
pub use driver::{DeviceInfo, Driver, Handle, Launch, Sequence};
#[cfg(feature = "emulator")]
pub use emulator::{Emulator, Order};
pub use error::{Error, Result};
pub use event::Event;
pub use graph::Graph;
pub use module::{Kernel, Module};
pub use pinned::Pinned;
pub use stream::Stream;
