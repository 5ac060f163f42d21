//! Devices.

use crate::cuda::CudaDriver;
use crate::driver::{DeviceInfo, Driver, Handle};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A device. Clones refer to the same device.
#[derive(Debug, Clone)]
pub struct Gpu(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    driver: Arc<dyn Driver>,
    /// The streams, from whose pools memory can be reclaimed.
    pools: Mutex<Vec<Weak<dyn Reclaim>>>,
    /// The modules, by the length and a hash of their PTX.
    modules: Mutex<HashMap<(usize, u64), Handle>>,
}

/// A holder of memory of a device that it does not use.
pub(crate) trait Reclaim: Debug + Send + Sync {
    /// Returns that memory to the driver.
    fn reclaim(&self);
}

impl Gpu {
    /// The number of devices that the CUDA driver finds.
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
        Self(Arc::new(Inner { driver, pools: Mutex::default(), modules: Mutex::default() }))
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

    pub(crate) fn driver(&self) -> &dyn Driver {
        &*self.0.driver
    }

    /// The module of this PTX, which is compiled when it is first requested.
    pub(crate) fn module(&self, name: &str, ptx: &str) -> Result<Handle> {
        let mut hasher = DefaultHasher::new();
        ptx.hash(&mut hasher);
        let key = (ptx.len(), hasher.finish());
        let mut modules = self.0.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&handle) = modules.get(&key) {
            return Ok(handle);
        }
        let handle = self.0.driver.load(name, ptx)?;
        modules.insert(key, handle);
        Ok(handle)
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
        let pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for pool in pools.iter().filter_map(Weak::upgrade) {
            pool.reclaim();
        }
    }

    /// Remembers memory that can be reclaimed.
    pub(crate) fn register(&self, pool: Weak<dyn Reclaim>) {
        let mut pools = self.0.pools.lock().unwrap_or_else(PoisonError::into_inner);
        pools.retain(|pool| pool.strong_count() > 0);
        pools.push(pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
