//! Devices that compute.

use crate::error::Result;
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;

/// The streams per CUDA device: while one computes, others pack, copy and unpack.
const STREAMS: usize = 3;

/// Devices that were opened; `on_device!` computes on them.
pub enum Device {
    /// The CPU.
    Cpu(Cpu),
    /// One stream or more of CUDA devices, at least one; streams of one device are not neighbours.
    Cuda(Vec<Cuda>),
}

impl Device {
    /// Its name, or the names of all.
    pub fn name(&self) -> String {
        match self {
            Self::Cpu(cpu) => cpu.name(),
            Self::Cuda(devices) => devices.iter().map(Backend::name).collect::<Vec<_>>().join(", "),
        }
    }

    /// Opens as many streams of each device as keep it busy while the host works on files.
    ///
    /// # Errors
    /// The device fails.
    pub fn streams(self) -> Result<Self> {
        Ok(match self {
            Self::Cuda(devices) => {
                let more: Vec<Cuda> = (1..STREAMS)
                    .flat_map(|_| devices.iter().map(Cuda::another))
                    .collect::<he_core::Result<_>>()?;
                Self::Cuda(devices.into_iter().chain(more).collect())
            }
            cpu => cpu,
        })
    }
}

/// Calls a function that is generic over the back end with the vector of those of a [`Device`].
#[macro_export]
macro_rules! on_device {
    ($device:expr, $backends:ident => $call:expr) => {
        match $device {
            $crate::device::Device::Cpu(cpu) => {
                let $backends = vec![cpu];
                $call
            }
            $crate::device::Device::Cuda($backends) => $call,
        }
    };
}
