//! Errors of a device.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a device cannot be used, or the error that it reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not installed.
    #[error("no CUDA driver is installed; install NVIDIA's driver, or use the CPU")]
    NoDriver,
    /// The device does not exist.
    #[error("there is no CUDA device {ordinal} ({found} found); choose another one, or use the CPU")]
    NoDevice {
        /// The requested device.
        ordinal: usize,
        /// The number of devices.
        found: usize,
    },
    /// The driver is too old for the kernels.
    #[error(
        "the CUDA driver {}.{} is too old for these kernels, which need {}.{}; update NVIDIA's driver",
        driver.0, driver.1, needed.0, needed.1
    )]
    UnsupportedPtx {
        /// CUDA version of the driver.
        driver: (u32, u32),
        /// CUDA version required.
        needed: (u32, u32),
    },
    /// The device is too old for the kernels.
    #[error(
        "the device has compute capability {}.{} and these kernels need {}.{}; choose another device, or use the CPU",
        found.0, found.1, needed.0, needed.1
    )]
    UnsupportedDevice {
        /// The device's compute capability.
        found: (u32, u32),
        /// The least compute capability required.
        needed: (u32, u32),
    },
    /// The device does not have enough memory.
    #[error("the device has no {bytes} bytes left; use smaller batches or parameters")]
    OutOfMemory {
        /// The requested bytes.
        bytes: usize,
    },
    /// A module does not load, or a function is missing in it.
    #[error("the kernels {module} do not load: {reason}")]
    Module {
        /// The module.
        module: String,
        /// The driver's message.
        reason: String,
    },
    /// Any other error of the driver.
    #[error("{call} failed: {reason}")]
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's message.
        reason: String,
    },
}
