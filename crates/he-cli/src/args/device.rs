//! The option that chooses the device.

use super::COMMON;
use crate::device::{Choice, Devices};
use crate::error::{CliError, Result};
use clap::Args;
use he_files::aes_file::FileCipher;

/// The variable that chooses the device where the option does not.
const VARIABLE: &str = "HE_DEVICE";

/// The device that computes.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlag {
    /// Where to compute: auto, cpu, cuda, cuda:N, cuda:N+M or cuda:all [default: HE_DEVICE, or
    /// auto]
    ///
    /// auto takes the first CUDA device that works, or else the CPU. cuda:N+M splits each large
    /// ciphertext over several devices; cuda:all gives each device ciphertexts of its own. he-cli
    /// devices lists the CUDA devices. Results are the same on every device.
    #[arg(help_heading = COMMON, long = "device", value_name = "DEVICE")]
    pub choice: Option<Choice>,
}

impl DeviceFlag {
    /// The device of the option, or else of the variable if it is set to anything.
    ///
    /// # Errors
    /// The variable does not name a device.
    pub fn choice(&self) -> Result<Choice> {
        if let Some(choice) = &self.choice {
            return Ok(choice.clone());
        }
        let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
            return Ok(Choice::Auto);
        };
        let value = value.to_string_lossy();
        value.parse().map_err(|known| {
            CliError::usage(format!("the variable {VARIABLE} is \"{value}\", which is not a device"))
                .hint(format!("unset it, or set it to {known}"))
        })
    }

    /// Opens the device.
    ///
    /// # Errors
    /// The errors of [`choice`](Self::choice) and [`Choice::open`].
    pub fn open(&self) -> Result<Devices> {
        self.choice()?.open()
    }

    /// The cipher for a file of `len` bytes, if that is known.
    ///
    /// # Errors
    /// The errors of [`choice`](Self::choice) and [`Choice::cipher`].
    pub fn cipher(&self, len: Option<u64>) -> Result<FileCipher> {
        self.choice()?.cipher(len)
    }
}
