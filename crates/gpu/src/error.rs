//! Errors of a device.

use std::fmt;

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for which a device cannot be used, or the error that it reported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not installed.
    NoDriver,
    /// The device does not exist.
    NoDevice {
        /// The requested device.
        ordinal: usize,
        /// The number of devices.
        found: usize,
    },
    /// The driver is too old for the kernels.
    UnsupportedPtx {
        /// CUDA version of the driver.
        driver: (u32, u32),
        /// CUDA version required.
        needed: (u32, u32),
    },
    /// The device is too old for the kernels.
    UnsupportedDevice {
        /// The device's compute capability.
        found: (u32, u32),
        /// The least compute capability required.
        needed: (u32, u32),
    },
    /// The device does not have enough memory.
    OutOfMemory {
        /// The requested bytes, or 0 if the driver needs memory of its own.
        bytes: usize,
    },
    /// A module does not load, or a function is missing in it.
    Module {
        /// The module.
        module: String,
        /// The driver's message.
        reason: String,
    },
    /// The device does no more work for this process: it is lost, in use by another process, its
    /// memory has an error that cannot be corrected, or a kernel failed on it. All further calls
    /// fail, too.
    DeviceFailed {
        /// The driver's function that reported it, which need not be the one that caused it.
        call: &'static str,
        /// The driver's message.
        reason: String,
    },
    /// Any other error of the driver.
    Driver {
        /// The driver's function.
        call: &'static str,
        /// The driver's message.
        reason: String,
    },
}

impl Error {
    /// States the fault, without the remedy.
    pub fn message(&self) -> String {
        match self {
            Self::NoDriver => "no CUDA driver is installed".to_owned(),
            Self::NoDevice { ordinal, found } => {
                format!("there is no CUDA device {ordinal} ({found} found)")
            }
            Self::UnsupportedPtx { driver, needed } => format!(
                "the CUDA driver {}.{} is too old for these kernels, which need {}.{}",
                driver.0, driver.1, needed.0, needed.1
            ),
            Self::UnsupportedDevice { found, needed } => format!(
                "the device has compute capability {}.{} and these kernels need {}.{}",
                found.0, found.1, needed.0, needed.1
            ),
            Self::OutOfMemory { bytes: 0 } => "the device has no memory left".to_owned(),
            Self::OutOfMemory { bytes } => format!("the device has no {bytes} bytes left"),
            Self::Module { module, reason } => format!("the kernels {module} do not load: {reason}"),
            Self::DeviceFailed { call, reason } => format!("the device failed in {call}: {reason}"),
            Self::Driver { call, reason } => format!("{call} failed: {reason}"),
        }
    }

    /// States the remedy, where there is one.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoDriver => "install NVIDIA's driver, or use the CPU",
            Self::NoDevice { .. } => "choose another one, or use the CPU",
            Self::UnsupportedPtx { .. } => "update NVIDIA's driver",
            Self::UnsupportedDevice { .. } => "choose another device, or use the CPU",
            Self::OutOfMemory { .. } => "use smaller batches or parameters",
            Self::DeviceFailed { .. } => {
                "start the program again, and if it happens again, check the device with nvidia-smi, or use \
                 the CPU"
            }
            Self::Module { .. } | Self::Driver { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

impl fmt::Display for Error {
    /// The message and the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_messages_and_hints() {
        let error = Error::NoDevice { ordinal: 3, found: 1 };
        assert_eq!(error.message(), "there is no CUDA device 3 (1 found)");
        assert_eq!(error.hint().as_deref(), Some("choose another one, or use the CPU"));
        assert_eq!(
            error.to_string(),
            "there is no CUDA device 3 (1 found); choose another one, or use the CPU"
        );
        let error = Error::DeviceFailed { call: "cuMemAlloc", reason: "why".to_owned() };
        assert_eq!(error.message(), "the device failed in cuMemAlloc: why");
        assert!(error.hint().is_some_and(|hint| hint.starts_with("start the program again")));
        let full = |bytes| Error::OutOfMemory { bytes }.message();
        assert_eq!(full(0), "the device has no memory left");
        assert_eq!(full(64), "the device has no 64 bytes left");
        // The driver's message is its own, whatever it holds.
        let error = Error::Driver { call: "cuInit", reason: "line 1; near x".to_owned() };
        assert_eq!((error.message(), error.hint()), (error.to_string(), None));
        assert_eq!(error.to_string(), "cuInit failed: line 1; near x");
    }
}
