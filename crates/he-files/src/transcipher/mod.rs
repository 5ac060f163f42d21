//! Transciphering: what a sensor sends under AES-CTR, and its way into encrypted files of TFHE.
//!
//! A sensor file is a [`Header`] and a table's numbers, or a picture's samples, under AES-CTR: as
//! many bytes as the numbers have. Whoever has the [sensor key](he_core::transcipher::SensorKey)
//! encrypts and [decrypts](columns::decrypt) it. Whoever has that key under TFHE, and evaluation
//! keys of the same key set, [turns it](evaluate::Transciphering) into a file of TFHE without
//! learning anything of it.

pub mod columns;
pub mod evaluate;
mod header;
mod stream;

pub use header::{Header, MAGIC};
pub use stream::SensorFile;

use crate::error::Result;
use he_core::tfhe::{CircuitParams, CircuitSpec, presets};

/// The parameters whose keys transcipher: of 128 bits of security, for multi-bit keys or not, or
/// else those of [`TOY`](crate::bootstrap::TOY), the only insecure ones of TFHE that files may have.
///
/// # Errors
/// None in practice.
pub fn params(toy: bool, multi_bit: bool) -> Result<CircuitParams> {
    let tfhe = match (toy, multi_bit) {
        (true, _) => presets::insecure_phases()?,
        (false, true) => presets::phases_2m128_multibit()?,
        (false, false) => presets::phases_2m128()?,
    };
    Ok(CircuitParams::new(&tfhe, CircuitSpec::default())?)
}

/// Bytes by which a sensor file is recognised.
pub const SNIFF_LEN: usize = MAGIC.len();

/// Returns whether a file with this start is a sensor file ([`SNIFF_LEN`] bytes suffice).
pub fn is_sensor_file(start: &[u8]) -> bool {
    start.starts_with(&MAGIC)
}
