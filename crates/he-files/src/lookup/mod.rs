//! Private look-ups: a database is a folder, and descriptions, queries and answers are files.
//!
//! The folder has `description.lookup`, which is public and all that clients need; `packs.list`,
//! the hashes of the packs of rows; and a file for each pack, which is named by its hash and never
//! changes. Packs are read one after the other, so that memory is bounded by one of them. A change
//! writes new packs beside the old ones, then both lists at once; the old packs are removed last.

mod entries;
mod folder;

pub use entries::entries;
pub use folder::{DESCRIPTION, LookupFolder, description};

use crate::error::Result;
use he::Device;
use he_core::ring::Ring;
use he_lookup::Params;

/// The ring of a database on a device.
///
/// # Errors
/// The device fails.
pub fn ring(params: &Params, device: Device) -> Result<Ring<Device>> {
    Ok(Ring::new(device, params.rlwe().ring().clone())?)
}
