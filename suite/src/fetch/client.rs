//! The stages of the client.

use super::dataset::{Payload, Payloads, Vectors, unpack};
use super::instance::Instance;
use super::ring;
use crate::error::{At as _, Error};
use crate::frames::{Reader, Writer};
use crate::output;
use crate::progress::Progress;
use he::Device;
use he::ckks::Ciphertext;
use he::ring::Ring;
use he::wire::{FrameKind, Wire as _, WireParams as _};
use he_search::{Answer, Client, Layout, SealedSegment};

/// Generates the secret key, and the keys of whoever answers.
pub(super) fn generate_keys(instance: &Instance) -> Result<(), Error> {
    let params = &instance.params;
    instance.folders.keys().generate(params.ckks(), params.requirements())
}

/// The owner of the secret key, and the ring of its ciphertexts.
fn client(instance: &Instance) -> Result<(Client<Device>, Ring<Device>), Error> {
    let params = &instance.params;
    let ring = ring(params, Device::cpu())?;
    let secret = instance.folders.keys().secret(params.ckks())?;
    Ok((Client::new(params, &secret, &ring)?, ring))
}

/// Encrypts all records, segment by segment.
pub(super) fn encrypt_database(instance: &Instance) -> Result<(), Error> {
    let (Instance { folders, params, .. }, (client, _)) = (instance, client(instance)?);
    let records = params.plan().records;
    let mut vectors = Vectors::open(&folders.data("db.bin"), params.plan().dimension, records)?;
    let payloads = || Payloads::open(&folders.data("payloads.bin"), records);
    let mut payloads = (!instance.count_only).then(payloads).transpose()?;
    let mut writer = Writer::create(&folders.database(), params.ckks())?;
    let (mut done, mut progress) = (0, Progress::new("encrypted records", records));
    for size in instance.segments() {
        let vectors = vectors.next(size)?;
        let payloads = payloads.as_mut().map_or(Ok(Vec::new()), |payloads| payloads.next(size))?;
        write(&mut writer, instance, &client.segment(0, &vectors, &payloads, &mut he::rand::rng())?)?;
        done += size as u64;
        progress.tell(done);
    }
    writer.finish()
}

/// Appends a segment: its columns, then its payloads.
fn write(writer: &mut Writer, instance: &Instance, segment: &SealedSegment<Device>) -> Result<(), Error> {
    let mut all = segment.columns.iter().chain(&segment.payload);
    all.try_for_each(|ct| writer.write(&ct.to_frame(instance.params.ckks())?))
}

/// Encrypts the query.
pub(super) fn encrypt_query(instance: &Instance) -> Result<(), Error> {
    let (Instance { folders, params, .. }, (client, _)) = (instance, client(instance)?);
    let vectors = Vectors::open(&folders.data("query.bin"), params.plan().dimension, 1)?.next(1)?;
    let mut writer = Writer::create(&folders.query(), params.ckks())?;
    for vector in vectors {
        let query = client.query(&vector, &mut he::rand::rng())?;
        writer.write(&query.to_frame(params.ckks())?)?;
    }
    writer.finish()
}

/// Decrypts the answer: the count, or the payloads in lexicographic order.
pub(super) fn decrypt(instance: &Instance) -> Result<(), Error> {
    let (client, ring) = client(instance)?;
    let answer = read_answer(instance, &ring)?;
    let (bytes, undecided) = match instance.count_only {
        true => {
            let count = client.count(&answer)?;
            (count.matches.to_le_bytes().to_vec(), count.undecided)
        }
        false => {
            let matches = client.matches(&answer)?;
            (sorted(matches.found.iter().map(|found| unpack(&found.payload))), matches.undecided)
        }
    };
    match undecided {
        0 => output::write(&instance.folders.results(), &bytes),
        undecided => Err(Error::Undecided(undecided)),
    }
}

/// The bytes of payloads in their order.
fn sorted(payloads: impl Iterator<Item = Payload>) -> Vec<u8> {
    let mut payloads: Vec<Payload> = payloads.collect();
    payloads.sort_unstable();
    payloads.iter().flatten().flat_map(|number| number.to_le_bytes()).collect()
}

/// The ciphertexts of the answer, as many as the instance prescribes.
fn read_answer(instance: &Instance, ring: &Ring<Device>) -> Result<Answer<Device>, Error> {
    let params = &instance.params;
    let layout = match instance.count_only {
        true => Layout::Count { segments: params.segments() },
        false => Layout::matches(params, params.segments()),
    };
    let mut reader = Reader::open(&instance.folders.answer(), params.ckks())?;
    let (needed, most) = (layout.ciphertexts(params), params.ckks().ciphertext_frame_limit(1));
    let mut parts = Vec::with_capacity(needed);
    while let Some(frame) = reader.next(FrameKind::CkksCiphertext, most)? {
        if parts.len() == needed {
            return Err(reader.count("too many ciphertexts", needed));
        }
        parts.push(Ciphertext::from_frame(params.ckks(), ring, &frame).at(reader.path())?);
    }
    Ok(layout.answer(params, parts)?)
}
