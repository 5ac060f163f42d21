//! The choice of the device that computes: the one place where it is made.

use crate::console;
use crate::error::{CliError, Result};
use crate::progress::Shown;
use aes_gpu::AesGpu;
use he::Device;
use he_core::aes;
use he_cuda::gpu::{self, Gpu};
use he_files::aes_file::FileCipher;
use he_files::scheme::Scheme;
use he_files::team::Team;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The device that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first CUDA device that opens, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this number, and nothing else.
    Cuda(usize),
    /// The CUDA devices of these numbers, used as one.
    Group(Vec<usize>),
    /// Every CUDA device.
    CudaAll,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(ordinal) => write!(f, "cuda:{ordinal}"),
            Self::Group(ordinals) => {
                let ordinals: Vec<String> = ordinals.iter().map(usize::to_string).collect();
                write!(f, "cuda:{}", ordinals.join("+"))
            }
            Self::CudaAll => f.write_str("cuda:all"),
        }
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Only digits, because numbers would also parse with a sign.
        let number =
            |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        let numbers = |list: &str| list.split('+').map(number).collect::<Option<Vec<usize>>>();
        match (text, text.strip_prefix("cuda:").and_then(numbers)) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda(0)),
            ("cuda:all", _) => Ok(Self::CudaAll),
            (_, Some(ordinals)) => Ok(match ordinals[..] {
                [ordinal] => Self::Cuda(ordinal),
                _ => Self::Group(ordinals),
            }),
            _ => Err("auto, cpu, cuda, cuda:N with the number of a device, cuda:N+M for several as one, or \
                      cuda:all; he-cli devices lists them"
                .to_owned()),
        }
    }
}

/// Devices that were opened: one, or every CUDA device.
pub struct Devices(Vec<Device>);

impl Devices {
    /// The device of work that is not shared.
    pub fn lead(&self) -> &Device {
        &self.0[0]
    }

    /// All of them.
    pub fn all(&self) -> &[Device] {
        &self.0
    }

    /// Its name, or the names of all.
    pub fn name(&self) -> String {
        self.0.iter().map(Device::to_string).collect::<Vec<_>>().join(", ")
    }

    /// A parameter set on all of them, with its progress shown.
    ///
    /// # Errors
    /// A device fails.
    pub fn team<S: Scheme>(&self, params: &S::Params) -> Result<Team<S>> {
        Ok(Team::new(params, &self.0)?.watched(Arc::new(Shown::default())))
    }
}

impl Choice {
    /// Opens the device. For `Auto`, standard error tells which GPU was taken, or why one that
    /// exists was not.
    ///
    /// # Errors
    /// A CUDA device that was asked for cannot be used.
    pub fn open(&self) -> Result<Devices> {
        Ok(Devices(match self {
            Self::Cpu => vec![Device::cpu()],
            Self::Cuda(ordinal) => vec![Device::cuda(*ordinal)?],
            Self::Group(ordinals) => vec![Device::group(ordinals)?],
            // Without any, the error of the first says so.
            Self::CudaAll => {
                (0..Device::cuda_count()?.max(1)).map(Device::cuda).collect::<he_core::Result<_>>()?
            }
            Self::Auto => {
                let (device, trouble) = Device::detect();
                if let Some(trouble) = trouble.map(CliError::from) {
                    console::note(&format!("using the CPU ({})", trouble.message()));
                } else if !device.is_cpu() {
                    console::note(&format!("using {device}"));
                }
                vec![device]
            }
        }))
    }
}

/// From this size on `auto` prefers a GPU to a processor without AES instructions.
const WORTH_A_GPU: u64 = 64 << 20;

impl Choice {
    /// The cipher for a file of `len` bytes, if that is known.
    ///
    /// `auto` is the CPU where it has AES instructions, as two of its threads encrypt faster than
    /// files are read and written, and a GPU has its data only by way of the host. Otherwise it is
    /// the first CUDA device for 64 MiB and more, or an unknown length.
    ///
    /// # Errors
    /// A CUDA device that was asked for cannot be used.
    pub fn cipher(&self, len: Option<u64>) -> Result<FileCipher> {
        let cpu = FileCipher { cipher: Box::new(aes::Cpu::new()), piece: 4 << 20 };
        let gpus = match self {
            Self::Cpu => return Ok(cpu),
            Self::Auto if aes::Cpu::new().has_instructions() || len.is_some_and(|len| len < WORTH_A_GPU) => {
                return Ok(cpu);
            }
            Self::Auto => match (0..Gpu::count().unwrap_or(0)).find_map(|ordinal| Gpu::open(ordinal).ok()) {
                Some(gpu) => vec![gpu],
                None => return Ok(cpu),
            },
            Self::Cuda(ordinal) => vec![Gpu::open(*ordinal)?],
            Self::Group(ordinals) => {
                ordinals.iter().map(|&ordinal| Gpu::open(ordinal)).collect::<gpu::Result<_>>()?
            }
            Self::CudaAll => (0..Gpu::count()?.max(1)).map(Gpu::open).collect::<gpu::Result<_>>()?,
        };
        Ok(FileCipher { cipher: Box::new(AesGpu::on(&gpus)?), piece: 32 << 20 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        for (text, choice) in [
            ("auto", Choice::Auto),
            ("cpu", Choice::Cpu),
            ("cuda", Choice::Cuda(0)),
            ("cuda:0", Choice::Cuda(0)),
            ("cuda:17", Choice::Cuda(17)),
            ("cuda:2+0", Choice::Group(vec![2, 0])),
            ("cuda:all", Choice::CudaAll),
        ] {
            assert_eq!(text.parse(), Ok(choice.clone()));
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for text in [
            "",
            "CPU",
            "gpu",
            "cuda:",
            "cuda:+1",
            "cuda:-1",
            "cuda: 1",
            "cuda:ALL",
            "cuda:all,0",
            "cuda:0+",
            "cuda:0+all",
            "cuda0",
            "cpu:0",
            "cuda:99999999999999999999",
        ] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
