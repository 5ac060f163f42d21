//! Errors of a device.

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a device cannot be used, or the error that it reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not installed.
    #[error("no CUDA driver is installed; {}", hints::NO_DRIVER)]
    NoDriver,
    /// The device does not exist.
    #[error("there is no CUDA device {ordinal} ({found} found); {}", hints::NO_DEVICE)]
    NoDevice {
        /// The requested device.
        ordinal: usize,
        /// The number of devices.
        found: usize,
    },
    /// The driver is too old for the kernels.
    #[error("the CUDA driver {}.{} is too old for these kernels, which need {}.{}; {}",
        driver.0, driver.1, needed.0, needed.1, hints::UNSUPPORTED_PTX)]
    UnsupportedPtx {
        /// CUDA version of the driver.
        driver: (u32, u32),
        /// CUDA version required.
        needed: (u32, u32),
    },
    /// The device is too old for the kernels.
    #[error("the device has compute capability {}.{} and these kernels need {}.{}; {}",
        found.0, found.1, needed.0, needed.1, hints::UNSUPPORTED_DEVICE)]
    UnsupportedDevice {
        /// The device's compute capability.
        found: (u32, u32),
        /// The least compute capability required.
        needed: (u32, u32),
    },
    /// The device does not have enough memory.
    #[error("the device has no {bytes} bytes left; {}", hints::OUT_OF_MEMORY)]
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

impl Error {
    /// What to do about it, where the error says so: the end of its text, behind a semicolon.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoDriver => Some(hints::NO_DRIVER.to_owned()),
            Self::NoDevice { .. } => Some(hints::NO_DEVICE.to_owned()),
            Self::UnsupportedPtx { .. } => Some(hints::UNSUPPORTED_PTX.to_owned()),
            Self::UnsupportedDevice { .. } => Some(hints::UNSUPPORTED_DEVICE.to_owned()),
            Self::OutOfMemory { .. } => Some(hints::OUT_OF_MEMORY.to_owned()),
            _ => None,
        }
    }

    /// What is wrong: its text without the [`hint`](Self::hint).
    pub fn message(&self) -> String {
        let mut text = self.to_string();
        if let Some(hint) = self.hint() {
            text.truncate(text.len().saturating_sub(hint.len() + "; ".len()));
        }
        text
    }
}

/// What to do about errors: stated once, for the text and for `hint`.
mod hints {
    pub const NO_DRIVER: &str = "install NVIDIA's driver, or use the CPU";
    pub const NO_DEVICE: &str = "choose another one, or use the CPU";
    pub const UNSUPPORTED_PTX: &str = "update NVIDIA's driver";
    pub const UNSUPPORTED_DEVICE: &str = "choose another device, or use the CPU";
    pub const OUT_OF_MEMORY: &str = "use smaller batches or parameters";
}
