//! The owner's side: records and queries are encrypted.

use super::description::Entry;
use super::{IndexFolder, StoredIndex, check_key, write};
use crate::cipher_file::Written;
use crate::error::Result;
use crate::io::output::{Output, OutputOptions};
use crate::key_file::KeyFile;
use crate::note::{OccupancyNote, SearchPart};
use crate::scheme::Ckks;
use crate::scheme::engine::Engine;
use crate::watch::{Meter, Stage, Watch};
use he_search::{Client, Error, Occupancy};
use rand::rngs::ChaCha20Rng;

/// A vector and its payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The coordinates.
    pub vector: Vec<f64>,
    /// The payload, as long as the index plans.
    pub payload: Vec<u8>,
}

/// Encrypts records and appends them to an index, from the slot after the last record on. The
/// description changes when all are written. Returns the bytes of the new files.
///
/// # Errors
/// The key is not the secret one of the index' key set and parameters; a vector or a payload does
/// not fit; there are more segments than planned; a file cannot be written; the device fails.
pub fn append(
    index: &mut IndexFolder,
    key: &KeyFile<Ckks>,
    records: &[Record],
    engine: &Engine<Ckks>,
    rng: &mut ChaCha20Rng,
    watch: &dyn Watch,
) -> Result<u64> {
    let params = index.params().clone();
    check_key(&params, key, &index.name())?;
    let client = Client::new(&params, key.secret()?, &engine.ring)?;
    index.claim(&key.id, &key.name)?;
    let meter = Meter::new(watch, Stage::Encrypting, records.len() as u64);
    let (mut rest, mut bytes) = (records, 0);
    while !rest.is_empty() {
        let end = index.entries.last().map_or(0, |last| last.occupancy.start + last.occupancy.records);
        let start = end as usize % params.slots();
        let (found, planned) = (index.segments() + 1, params.segments());
        if start == 0 && index.segments() >= planned {
            return Err(Error::Segments { found, planned }.into());
        }
        let (now, later) = rest.split_at(rest.len().min(params.slots() - start));
        let vectors: Vec<&[f64]> = now.iter().map(|record| &record.vector[..]).collect();
        let payloads: Vec<&[u8]> = now.iter().map(|record| &record.payload[..]).collect();
        let sealed = client.segment(start, &vectors, &payloads, rng)?;
        let file = index.next_file();
        let occupancy = OccupancyNote::of(&Occupancy::new(&params, start, now.len())?);
        let holds = SearchPart::Segment { occupancy: occupancy.clone() };
        let parts: Vec<_> = sealed.columns.iter().chain(&sealed.payload).collect();
        let output =
            Output::create(index.path(file), OutputOptions { force: true, ..Default::default() }, &[])?;
        bytes += write(output, &params, &key.id, holds, &parts)?.bytes;
        index.description.entries.push(Entry { file, occupancy });
        meter.inc(now.len() as u64);
        rest = later;
    }
    index.save()?;
    meter.finish();
    Ok(bytes)
}

/// Encrypts a query to an index.
///
/// # Errors
/// The key is not the secret one of the index' parameters; the vector does not fit; the output
/// cannot be written; the device fails.
pub fn query(
    index: &IndexFolder,
    key: &KeyFile<Ckks>,
    vector: &[f64],
    engine: &Engine<Ckks>,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    let params = index.params();
    check_key(params, key, &index.name())?;
    let client = Client::new(params, key.secret()?, &engine.ring)?;
    let query = client.query(vector, rng)?;
    write(output, params, &key.id, SearchPart::Query, &[&query])
}
