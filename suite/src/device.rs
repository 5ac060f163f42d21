//! The device of servers.

use crate::error::Error;
use he::Device;
use std::str::FromStr as _;

/// The name of the device in the environment.
const VARIABLE: &str = "HE_SUITE_DEVICE";

/// The device that the environment names.
pub(crate) fn device() -> Result<Device, Error> {
    let name = std::env::var(VARIABLE).unwrap_or_else(|_| "auto".into());
    Ok(Device::from_str(&name)?)
}
