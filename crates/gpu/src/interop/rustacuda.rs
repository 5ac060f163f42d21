//! The crate `rustacuda`.

use super::Owner;
use crate::buffer::Buffer;
use crate::cuda::CudaDriver;
use crate::device::Gpu;
use crate::error::{Error, Result};
use crate::stream::Stream;
use ::rustacuda::context::{Context, CurrentContext};
use ::rustacuda::memory::DeviceBuffer;
use std::sync::Arc;

impl Gpu {
    /// The device of a context, with that context, which becomes the thread's current one.
    ///
    /// # Errors
    /// [`Error::NoDriver`]; [`Error::UnsupportedPtx`] if the driver is too old for this crate;
    /// [`Error::Driver`] if the driver refuses.
    pub fn from_rustacuda(context: Context) -> Result<Self> {
        CurrentContext::set_current(&context)
            .map_err(|error| Error::Driver { call: "cuCtxSetCurrent", reason: error.to_string() })?;
        // SAFETY: the context is ended by one call of the driver, from any thread.
        let owner = unsafe { Owner::new(context) };
        Ok(Self::from_driver(Arc::new(CudaDriver::adopt(owner)?)))
    }
}

impl Stream {
    /// Wraps a stream that the application made, with a pool of its own.
    ///
    /// # Safety
    /// The stream was made in the context of `gpu`, and is not being captured.
    pub unsafe fn from_rustacuda(gpu: &Gpu, stream: ::rustacuda::stream::Stream) -> Self {
        const { assert!(size_of::<::rustacuda::stream::Stream>() == size_of::<usize>()) };
        // SAFETY: the crate has no function for it; in version 0.1.3, which Cargo.toml requires, a
        // stream is a structure of one field, the driver's handle.
        let handle = unsafe { std::mem::transmute_copy::<::rustacuda::stream::Stream, usize>(&stream) };
        // SAFETY: the stream is ended by one call of the driver, from any thread.
        let owner = unsafe { Owner::new(stream) };
        Self::new(gpu.clone(), handle, Some(owner))
    }
}

impl Buffer {
    /// Wraps memory that the application allocated. It is freed after the stream's work when the
    /// buffer is dropped, or together with the stream if that was ever captured.
    ///
    /// # Safety
    /// The memory was made in the context of the stream's device, and work on it by other streams
    /// is over.
    pub unsafe fn from_rustacuda(stream: &Stream, mut buffer: DeviceBuffer<u64>) -> Self {
        let (address, words) = (buffer.as_device_ptr().as_raw() as u64, buffer.len());
        // SAFETY: the memory is given back by one call of the driver, from any thread.
        Self::adopt(stream.clone(), unsafe { Owner::new(buffer) }, address, words)
    }
}
