//! Search among encrypted records: an index is a folder, and queries and answers are files.
//!
//! The folder has `index.json`, which is public (the plan, and the segments with their slots), and
//! one encrypted file per segment, which never changes. Segments are read one after the other, so
//! that memory is bounded by one of them.

mod answer;
mod append;
mod description;
mod folder;
mod merge;
mod read;
mod segment;

pub use answer::{Wanted, answer};
pub use append::{Record, append, query};
pub use description::{IndexDescription, StoredIndex};
pub use folder::{DESCRIPTION, IndexFolder};
pub use merge::merge;
pub use read::{Found, read};

pub use he_search::Position;

use crate::cipher_file::{CipherWriter, Written};
use crate::error::{Result, SearchError};
use crate::io::output::Output;
use crate::key_file::KeyFile;
use crate::note::{Content, KeyId, Payload, PlanNote, SearchNote, SearchPart};
use crate::scheme::engine::Engine;
use crate::scheme::{Ckks, Rotations};
use he::Device;
use he_core::wire::Wire;
use he_search::Params;

/// The rotations of the keys of an index.
pub fn rotations(params: &Params) -> Rotations {
    Rotations { steps: params.rotation_steps(), conjugation: false }
}

/// Parameters on a device.
///
/// # Errors
/// The device fails.
pub fn engine(params: &Params, device: Device) -> Result<Engine<Ckks>> {
    Engine::new(params.ckks(), device)
}

/// Checks that a key is one of these parameters.
fn check_key(params: &Params, key: &KeyFile<Ckks>, index: &str) -> Result<()> {
    match &key.params == params.ckks() {
        true => Ok(()),
        false => Err(SearchError::OtherKeys { key: key.name.clone(), index: index.to_owned() }.into()),
    }
}

/// Writes ciphertexts as a part of a search.
fn write<C: Wire<he_core::ckks::CkksParams>>(
    output: Output,
    params: &Params,
    key_id: &KeyId,
    holds: SearchPart,
    ciphertexts: &[&C],
) -> Result<Written> {
    let plan = PlanNote::of(params.plan());
    let note = SearchNote { plan, holds, ciphertexts: ciphertexts.len() as u32 };
    let payload = Payload { key_id: key_id.clone(), history: Vec::new(), content: Content::Search(note) };
    let mut writer = CipherWriter::new::<Ckks>(output, params.ckks(), &payload)?;
    for ct in ciphertexts {
        writer.send(ct.to_frame(params.ckks())?.seal())?;
    }
    writer.commit()
}
