//! Shared helpers for tests of streams.

use crate::device::Gpu;
use crate::error::{Error, Result};
use crate::fake::Fake;
use crate::stream::Stream;
use std::sync::Arc;

/// A fake device with a stream, and no calls so far.
pub(crate) fn device() -> (Arc<Fake>, Gpu, Stream) {
    let fake = Fake::new();
    let gpu = Gpu::from_driver(fake.clone());
    let stream = gpu.stream().unwrap();
    fake.calls();
    (fake, gpu, stream)
}

/// Whether the driver, or what stands before it, refused.
pub(crate) fn refused<T>(result: Result<T>) -> bool {
    matches!(result, Err(Error::Driver { .. }))
}
