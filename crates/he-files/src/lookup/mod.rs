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
use crate::trace::hex;
use he::Device;
use he_core::ring::Ring;
use he_lookup::{Description, Facts, Params};
use serde_json::{Value, json};

/// The ring of a database on a device.
///
/// # Errors
/// The device fails.
pub fn ring(params: &Params, device: Device) -> Result<Ring<Device>> {
    Ok(Ring::new(device, params.rlwe().ring().clone())?)
}

/// The contents of a public description and the predictions for it, as the service and Python show
/// them.
pub fn described(description: &Description) -> Value {
    let (plan, facts) = (description.params().plan(), Facts::of(description.params()));
    json!({
        "database": description.identity().to_string(),
        "version": description.version(),
        "digest": hex(description.digest()),
        "by": plan.way(),
        "records": description.records(),
        "planned_records": plan.records,
        "record_bytes": plan.record_bytes,
        "query_bytes": facts.query_bytes,
        "answer_bytes": facts.answer_bytes,
        "scanned_bytes": facts.matrix_bytes + facts.digit_bytes,
        "log2_failure": facts.log2_failure,
    })
}
