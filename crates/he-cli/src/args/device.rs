//! The option that chooses the device.

use super::COMMON;
use crate::device::Choice;
use clap::Args;

/// The device that computes.
#[derive(Clone, Debug, Args)]
pub struct DeviceFlag {
    /// Where to compute: auto, cpu, cuda, cuda:N, cuda:N+M or cuda:all
    ///
    /// auto takes the first CUDA device that works, or else the CPU. cuda:N+M splits each large
    /// ciphertext over several devices; cuda:all gives each device ciphertexts of its own. he-cli
    /// devices lists the CUDA devices. Results are the same on every device.
    #[arg(help_heading = COMMON, long = "device", value_name = "DEVICE", env = "HE_DEVICE", default_value = "auto")]
    pub choice: Choice,
}
