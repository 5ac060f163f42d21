//! Devices.

use crate::cuda::CudaDriver;
use crate::driver::{DeviceInfo, Driver};
use crate::error::{Error, Result};
use crate::module::Module;
use crate::pinned::Pinned;
use crate::ptx::Header;
use crate::stream::{Stream, WeakStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A device. Clones refer to the same device.
#[derive(Debug, Clone)]
pub struct Gpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    driver: Arc<dyn Driver>,
    /// The streams from whose pools memory can be reclaimed.
    streams: Mutex<Vec<WeakStream>>,
}

impl Gpu {
    /// How many devices the CUDA driver finds.
    ///
    /// # Errors
    /// [`Error::NoDriver`]; [`Error::Driver`] if the driver does not start.
    pub fn count() -> Result<usize> {
        CudaDriver::count()
    }

    /// Opens the device with this number, in its primary context.
    ///
    /// # Errors
    /// [`Error::NoDriver`]; [`Error::NoDevice`]; [`Error::UnsupportedPtx`] if the driver is too old
    /// for this crate; [`Error::Driver`] if the driver does not start, or refuses.
    pub fn open(ordinal: usize) -> Result<Self> {
        Ok(Self::from_driver(Arc::new(CudaDriver::open(ordinal)?)))
    }

    /// A device of another [`Driver`].
    pub fn from_driver(driver: Arc<dyn Driver>) -> Self {
        Self(Arc::new(Inner { driver, streams: Mutex::default() }))
    }

    /// The properties of the device.
    pub fn info(&self) -> &DeviceInfo {
        self.0.driver.info()
    }

    /// The free bytes of memory, and their total number.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.0.driver.memory()
    }

    /// Makes a stream with an empty pool.
    ///
    /// # Errors
    /// [`Error::Driver`] if the driver refuses.
    pub fn stream(&self) -> Result<Stream> {
        Ok(self.register(Stream::new(self.clone(), self.driver().create_stream()?, None)))
    }

    /// Compiles PTX; `name` is for errors.
    ///
    /// # Errors
    /// [`Error::UnsupportedPtx`] if its version needs a newer driver; [`Error::UnsupportedDevice`]
    /// if its target needs a newer device; [`Error::Module`] with the compiler's message;
    /// [`Error::OutOfMemory`].
    pub fn load(&self, name: &str, ptx: &str) -> Result<Module> {
        Header::parse(ptx).check(self.info())?;
        Ok(Module::new(self.clone(), self.driver().load(name, ptx)?))
    }

    /// Zeroed words in page-locked host memory.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the host has no memory left; [`Error::Driver`] if the driver
    /// refuses.
    pub fn pinned(&self, words: usize) -> Result<Pinned> {
        Pinned::new(self.clone(), words)
    }

    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.0.driver
    }

    /// Whether handles and addresses of `other` are known here.
    pub(crate) fn same(&self, other: &Self, call: &'static str) -> Result<()> {
        if Arc::ptr_eq(&self.0, &other.0) {
            Ok(())
        } else {
            Err(Error::Driver { call, reason: "the parts belong to different devices".into() })
        }
    }

    /// Returns the cached blocks of all streams to the driver.
    pub(crate) fn trim(&self) {
        let streams = self.0.streams.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for stream in streams.iter().filter_map(WeakStream::upgrade) {
            stream.trim();
        }
    }

    pub(crate) fn register(&self, stream: Stream) -> Stream {
        let mut streams = self.0.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(WeakStream::alive);
        streams.push(stream.downgrade());
        stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;

    #[test]
    fn no_driver_is_an_error() {
        match Gpu::count() {
            Err(error) => {
                assert_eq!(Gpu::open(0).err(), Some(error.clone()));
                assert_eq!(error, Error::NoDriver);
            }
            Ok(found) => assert_eq!(Gpu::open(found).err(), Some(Error::NoDevice { ordinal: found, found })),
        }
    }

    #[test]
    fn load_reads_the_header_first() {
        let fake = Fake::new();
        let gpu = Gpu::from_driver(fake.clone());
        assert_eq!(
            gpu.load("k", ".version 9.0\n.target sm_70").err(),
            Some(Error::UnsupportedPtx { driver: (12, 0), needed: (13, 0) })
        );
        assert_eq!(
            gpu.load("k", ".version 8.0\n.target sm_90").err(),
            Some(Error::UnsupportedDevice { found: (8, 0), needed: (9, 0) })
        );
        assert_eq!(fake.calls(), [""; 0]);
        assert!(gpu.load("k", ".version 8.0\n.target sm_80").is_ok());
        assert_eq!(fake.calls(), ["load"]);
    }
}
