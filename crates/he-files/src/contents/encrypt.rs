//! Encryption of images and tables: read, and written into files of ciphertexts.

use super::clear::Clear;
use super::options::TableFlags;
use super::{Batches, Columns, Contents};
use crate::cipher_file::{CipherWriter, Written};
use crate::data::kind::Kind;
use crate::data::picture::Picture;
use crate::error::Result;
use crate::io::input::Input;
use crate::io::output::Output;
use crate::key_file::{Key, KeyFile};
use crate::note::Payload;
use crate::scheme::{Encrypt, KeyMaker};
use crate::team::{Jobs, Team};
use crate::watch::{Meter, Stage, Watch};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

impl<T> Clear<T> {
    /// Reads a file for a scheme, recognised by its content; from a file of several images, the one
    /// with the number `frame`.
    ///
    /// # Errors
    /// The file is neither an image nor a table, or it is damaged.
    pub fn read<S: Contents<Table = T>>(
        mut input: Input,
        flags: TableFlags<'_>,
        frame: Option<u32>,
        watch: &dyn Watch,
    ) -> Result<Self>
    where
        T: Columns<S>,
    {
        Ok(match Kind::of(&mut input, frame)? {
            Kind::Picture => Self::Picture(Picture::read(input, frame)?),
            Kind::Table => Self::Table(T::read(input, flags, watch)?),
        })
    }
}

/// Encrypts by public key into a file of the description `payload`.
///
/// # Errors
/// The output cannot be written; the device fails.
pub fn by_public_key<S: Contents>(
    team: &Team<S>,
    key: &S::Public,
    clear: &Clear<S::Table>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    let batches = S::pack(clear, &team.lead().params, &payload.content)?;
    batches_by_public_key(team, key, batches, payload, output, rng)
}

/// Encrypts by secret key into a file of the description `payload`.
///
/// # Errors
/// The scheme does not encrypt by secret key; the output cannot be written; the device fails.
pub fn by_secret_key<S: Contents>(
    team: &Team<S>,
    key: &S::Secret,
    clear: &Clear<S::Table>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    let encryptors = team.each(|engine| S::secret_encryptor(engine, key))?;
    write(team, &encryptors, S::pack(clear, &team.lead().params, &payload.content)?, payload, output, rng)
}

/// Encrypts vectors by the key of a file, public or secret.
///
/// # Errors
/// It is another key, or the scheme does not encrypt by secret key; the output cannot be written;
/// the device fails.
pub fn batches<S: Contents>(
    team: &Team<S>,
    key: &KeyFile<S>,
    batches: Batches<'_, S::Slot>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    match &key.key {
        Key::Secret(key) => {
            let encryptors = team.each(|engine| S::secret_encryptor(engine, key))?;
            write(team, &encryptors, batches, payload, output, rng)
        }
        _ => batches_by_public_key(team, &key.public(&team.lead().ring)?, batches, payload, output, rng),
    }
}

fn batches_by_public_key<S: Contents>(
    team: &Team<S>,
    key: &S::Public,
    batches: Batches<'_, S::Slot>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    let keys = team.each(|engine| Ok(S::Secret::public_to(key, &engine.ring)?))?;
    let engines = team.engines().iter().zip(&keys);
    let encryptors = engines.map(|(engine, key)| S::encryptor(engine, key)).collect::<Result<Vec<_>>>()?;
    write(team, &encryptors, batches, payload, output, rng)
}

/// Encodes and encrypts batch by batch and writes the frames. Each batch has a generator of its
/// own, seeded from `rng` in the order of the batches: ciphertexts do not depend on which engine
/// makes them.
fn write<S: Contents>(
    team: &Team<S>,
    encryptors: &[Encrypt<'_, S>],
    mut batches: Batches<'_, S::Slot>,
    payload: &Payload,
    output: Output,
    rng: &mut ChaCha20Rng,
) -> Result<Written> {
    let params = &team.lead().params;
    let mut writer = CipherWriter::new::<S>(output, params, payload)?;
    let slots = payload.content.slots(S::slots(params));
    type Job<T> = (Vec<Vec<T>>, ChaCha20Rng);
    let source = |jobs: &mut Jobs<'_, Job<S::Slot>>| {
        batches.try_for_each(|vectors| jobs.give((vectors?, ChaCha20Rng::from_rng(rng))))
    };
    let work =
        |at: usize, (vectors, mut rng): Job<S::Slot>| Ok(encryptors[at](&vectors, slots, &mut rng)?.seal());
    let progress = Meter::new(team.watch(), Stage::Encrypting, payload.content.vectors(S::slots(params))?);
    let mut counts = payload.content.batches(S::slots(params))?;
    team.run(source, work, |frame| {
        writer.send(frame)?;
        progress.inc(counts.next().map_or(0, |(_, count)| count as u64));
        Ok(())
    })?;
    progress.finish();
    writer.commit()
}
