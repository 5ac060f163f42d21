//! Which device computes: the one place where it is chosen.

use crate::console;
use crate::error::{CliError, Result};
use aes_gpu::AesGpu;
use he_core::aes;
use he_core::backend::{Backend, Cpu};
use he_cuda::Cuda;
use he_cuda::gpu::{self, Gpu};
use he_files::aes_file::FileCipher;
use he_files::device::Device;
use std::str::FromStr;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first CUDA device that opens, otherwise the CPU.
    Auto,
    /// The CPU.
    Cpu,
    /// The CUDA device of this number, and nothing else.
    Cuda(usize),
    /// Every CUDA device.
    CudaAll,
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // Only digits, because numbers would also parse with a sign.
        let number =
            |digits: &str| digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()));
        match (text, text.strip_prefix("cuda:").and_then(number)) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda(0)),
            ("cuda:all", _) => Ok(Self::CudaAll),
            (_, Some(ordinal)) => Ok(Self::Cuda(ordinal)),
            _ => Err(
                "auto, cpu, cuda, cuda:N with the number of a device, or cuda:all; he-cli devices lists them"
                    .to_owned(),
            ),
        }
    }
}

impl Choice {
    /// Opens the device. Of `Auto`, standard error tells which GPU was taken, or why one that
    /// exists was not.
    ///
    /// # Errors
    /// A CUDA device that was asked for cannot be used.
    pub fn open(self) -> Result<Device> {
        let (device, note) = match self {
            Self::Cpu => (Device::Cpu(Cpu::new()), None),
            Self::Cuda(ordinal) => (Device::Cuda(vec![Cuda::open(ordinal)?]), None),
            Self::CudaAll => {
                let count = Gpu::count()?;
                // Without any, the error of the first says so.
                let devices = (0..count.max(1)).map(Cuda::open).collect::<he_core::Result<Vec<_>>>()?;
                (Device::Cuda(devices), None)
            }
            Self::Auto => match first(Gpu::count(), Cuda::open) {
                Ok(cuda) => {
                    let note = format!("using {}", cuda.name());
                    (Device::Cuda(vec![cuda]), Some(note))
                }
                Err(trouble) => {
                    let note = trouble.map(|trouble| format!("using the CPU ({})", trouble.message()));
                    (Device::Cpu(Cpu::new()), note)
                }
            },
        };
        if let Some(note) = note {
            console::note(&note);
        }
        Ok(device)
    }
}

/// From this size on `auto` prefers a GPU to a processor without AES instructions.
const WORTH_A_GPU: u64 = 64 << 20;

impl Choice {
    /// What encrypts a file of `len` bytes, if that is known.
    ///
    /// `auto` is the CPU where it has AES instructions, as two of its threads encrypt faster than
    /// files are read and written, and a GPU has its data only by way of the host. Otherwise it is
    /// the first CUDA device for 64 MiB and more, or an unknown length.
    ///
    /// # Errors
    /// A CUDA device that was asked for cannot be used.
    pub fn cipher(self, len: Option<u64>) -> Result<FileCipher> {
        let cpu = FileCipher { cipher: Box::new(aes::Cpu::new()), piece: 4 << 20 };
        let gpus = match self {
            Self::Cpu => return Ok(cpu),
            Self::Auto if aes::Cpu::new().has_instructions() || len.is_some_and(|len| len < WORTH_A_GPU) => {
                return Ok(cpu);
            }
            Self::Auto => match first(Gpu::count(), Gpu::open) {
                Ok(gpu) => vec![gpu],
                Err(_) => return Ok(cpu),
            },
            Self::Cuda(ordinal) => vec![Gpu::open(ordinal)?],
            Self::CudaAll => (0..Gpu::count()?.max(1)).map(Gpu::open).collect::<gpu::Result<_>>()?,
        };
        Ok(FileCipher { cipher: Box::new(AesGpu::on(&gpus)?), piece: 32 << 20 })
    }
}

/// The first of the devices that opens; otherwise what is in the way, unless there is simply no
/// device.
fn first<T, E: Into<CliError>>(
    count: gpu::Result<usize>,
    open: impl Fn(usize) -> std::result::Result<T, E>,
) -> Result<T, Option<CliError>> {
    let count = match count {
        Ok(count) => count,
        Err(gpu::Error::NoDriver) => 0,
        Err(error) => return Err(Some(error.into())),
    };
    let mut trouble = None;
    for ordinal in 0..count {
        match open(ordinal) {
            Ok(device) => return Ok(device),
            Err(error) => {
                trouble.get_or_insert_with(|| error.into());
            }
        }
    }
    Err(trouble)
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::Error;

    #[test]
    fn names_of_devices() {
        for (text, choice) in [
            ("auto", Choice::Auto),
            ("cpu", Choice::Cpu),
            ("cuda", Choice::Cuda(0)),
            ("cuda:0", Choice::Cuda(0)),
            ("cuda:17", Choice::Cuda(17)),
            ("cuda:all", Choice::CudaAll),
        ] {
            assert_eq!(text.parse(), Ok(choice));
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
            "cuda0",
            "cpu:0",
            "cuda:99999999999999999999",
        ] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_first_device_that_opens_is_taken() {
        let open = |bad: &'static [usize]| {
            move |ordinal| match bad.contains(&ordinal) {
                false => Ok(ordinal),
                true => {
                    let source = gpu::Error::NoDevice { ordinal, found: 0 };
                    Err(Error::Backend { op: "open", source: source.into() })
                }
            }
        };
        let message =
            |result: Result<usize, Option<CliError>>| result.map_err(|e| e.map(|e| e.message().to_owned()));
        assert_eq!(message(first(Ok(3), open(&[]))), Ok(0));
        assert_eq!(message(first(Ok(3), open(&[0, 1]))), Ok(2));
        // Nothing to say: there is none.
        assert_eq!(message(first(Ok(0), open(&[]))), Err(None));
        assert_eq!(message(first(Err(gpu::Error::NoDriver), open(&[]))), Err(None));
        // There may be one, and it cannot be used.
        let broken = gpu::Error::Driver { call: "cuInit", reason: "unknown error".to_owned() };
        assert_eq!(
            message(first(Err(broken), open(&[]))),
            Err(Some("cuInit failed: unknown error".to_owned()))
        );
        assert_eq!(
            message(first(Ok(2), open(&[0, 1]))),
            Err(Some("there is no CUDA device 0 (0 found)".to_owned()))
        );
    }
}
