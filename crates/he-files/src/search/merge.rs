//! Merging of the parts of segments.

use super::IndexFolder;
use super::description::{Entry, open};
use crate::cipher_file::CipherWriter;
use crate::error::{Error, Result};
use crate::io::output::{Output, OutputOptions};
use crate::note::{Content, OccupancyNote, SearchPart};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use he_core::wire::Wire;

/// Adds the parts of each segment to one file, ciphertext by ciphertext and without keys. Returns
/// the number of files that are left. Records keep their positions.
///
/// # Errors
/// A file is damaged or cannot be written; the device fails. The index is then as it was after the
/// last two files that were merged.
pub fn merge(index: &mut IndexFolder, engine: &Engine<Ckks>) -> Result<usize> {
    let mut at = 0;
    while at + 1 < index.files() {
        match index.entries[at].occupancy.continues(&index.entries[at + 1].occupancy) {
            true => join(index, at, engine)?,
            false => at += 1,
        }
    }
    Ok(index.files())
}

/// Joins a part and the next one.
fn join(index: &mut IndexFolder, at: usize, engine: &Engine<Ckks>) -> Result<()> {
    let [mut left, mut right] = [open(index, at)?, open(index, at + 1)?];
    let [a, b] = [&index.entries[at].occupancy, &index.entries[at + 1].occupancy];
    let deleted = a.deleted.iter().chain(&b.deleted).copied().collect();
    let occupancy = OccupancyNote { start: a.start, records: a.records + b.records, deleted };
    let mut payload = left.payload.clone();
    if let Content::Search(note) = &mut payload.content {
        note.holds =
            SearchPart::Segment { occupancy: OccupancyNote { deleted: Vec::new(), ..occupancy.clone() } };
    }
    let file = index.next_file();
    let output = Output::create(index.path(file), OutputOptions { force: true, ..Default::default() }, &[])?;
    let mut writer = CipherWriter::new::<Ckks>(output, &engine.params, &payload)?;
    for _ in 0..index.params().columns() + index.params().payload_ciphertexts() {
        let sum = engine.evaluator.add(&left.next(&engine.ring, 1)?, &right.next(&engine.ring, 1)?)?;
        writer.send(sum.to_frame(&engine.params)?.seal())?;
    }
    left.end()?;
    right.end()?;
    writer.commit()?;
    let old = [index.entries[at].file, index.entries[at + 1].file];
    index.description.entries.splice(at..at + 2, [Entry { file, occupancy }]);
    index.save()?;
    for path in old.map(|file| index.path(file)) {
        std::fs::remove_file(&path).map_err(|error| Error::io(error, "delete", path.display()))?;
    }
    Ok(())
}
