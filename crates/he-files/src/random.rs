//! Random bytes of the operating system.

use crate::error::{Error, Result};

/// Fills with random bytes.
///
/// # Errors
/// The operating system has no random generator, or this was compiled without the feature `os-rng`.
#[cfg(feature = "os-rng")]
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    use rand::TryRng;
    rand::rngs::SysRng
        .try_fill_bytes(bytes)
        .map_err(|error| Error::NoRandomness { reason: error.to_string() })
}

/// Fills with random bytes.
///
/// # Errors
/// [`Error::NoRandomness`]: this was compiled without the feature `os-rng`.
#[cfg(not(feature = "os-rng"))]
pub fn fill(_: &mut [u8]) -> Result<()> {
    Err(Error::NoRandomness { reason: "this was compiled without the feature os-rng".to_owned() })
}
