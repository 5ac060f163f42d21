//! The CUDA driver, found at run time.
#![allow(unsafe_code)] // Calls of a C library; every use has its SAFETY line.

mod driver;
mod error;

pub use driver::{DeviceInfo, Driver, Handle};
pub use error::{Error, Result};
