//! Decryption: every party's shares for the ciphertexts of a file, and the numbers they sum to.

use super::{Agreed, Named, other_file};
use crate::cipher_file::CipherReader;
use crate::contents::clear::{Plain, View};
use crate::error::{InFile, Result};
use crate::note::Content;
use crate::publication::{Numbers, Publication};
use crate::scheme::{Ckks, Decrypt, Scheme};
use crate::team::Team;
use he::Device;
use he_core::ckks::Ciphertext;
use he_core::mhe::{Aggregate, Decryption, KeyShare, Share, kinds};
use he_core::rlwe::Flooding;
use he_core::wire::{Frame, Wire};

/// A ciphertext with the noise that its file states, and never less than that of a fresh encryption
/// under keys of several parties, one of which relinearised it.
fn noisy(agreed: &Agreed, numbers: Numbers, ct: &Ciphertext<Device>) -> he_core::Result<Ciphertext<Device>> {
    let mut ct = ct.duplicate()?;
    let n = agreed.params.rlwe().ring().n();
    let mut noise = numbers.noise(n, ct.slots(), ct.scale().log2());
    // The error of a collective relinearisation key exceeds that of one party's by this factor.
    let parties = agreed.session.parties().len() as f64;
    let excess = (parties * (1.0 + parties * 4.0 * n as f64 / 3.0)).log2() / 2.0;
    noise.rms_log2 += excess;
    noise.peak_log2 += excess;
    ct.set_noise(Some(noise));
    Ok(ct)
}

fn numbers(agreed: &Agreed, content: &Content) -> Result<Numbers> {
    Ok(Numbers::of(content, agreed.params.fresh_precision_bits())?)
}

/// The shares of a party for all ciphertexts of a file, counted and flooded by the publication.
///
/// # Errors
/// The file is damaged or of another key set; the flood hides its numbers, or its noise is not
/// stated; more is decrypted than was agreed on.
pub fn decryption_shares(
    agreed: &Agreed,
    key: &KeyShare<Device>,
    reader: &mut CipherReader<Ckks>,
    ring: &he_core::ring::Ring<Device>,
    publication: &Publication,
) -> Result<Vec<Frame>> {
    let Agreed { params, session, .. } = agreed;
    let content = reader.payload.content.clone();
    let stated = numbers(agreed, &content)?;
    let mut frames = Vec::new();
    for (_, count) in content.batches(Ckks::slots(params))? {
        let ct = noisy(agreed, stated, &reader.next(ring, count)?)?;
        let shape = (ct.batch(), ct.slots(), ct.scale().log2());
        let run = |flooding: Flooding| Decryption::new(session, params, &ct, key.quorum(), flooding);
        let share = publication.flood(
            stated,
            shape,
            |flooding| Ok(run(flooding)?.flood_bits()),
            |publisher, rng| run(publisher.flooding())?.share(key, publisher, rng),
        )?;
        frames.push(share.to_frame(params)?);
    }
    reader.end()?;
    Ok(frames)
}

/// The numbers of a file, from the shares of a quorum.
///
/// # Errors
/// Shares are missing, doubled, of another session, or for another file or quorum; the file is
/// damaged or of another key set.
pub fn decrypted(
    agreed: &Agreed,
    quorum: &[u32],
    files: &[Named],
    team: &Team<Ckks>,
    reader: &mut CipherReader<Ckks>,
) -> Result<Plain> {
    let Agreed { params, session, plan, .. } = agreed;
    let stated = numbers(agreed, &reader.payload.content)?;
    let flooding = plan.publisher()?.flooding();
    let read =
        |engine: &crate::scheme::engine::Engine<Ckks>| -> Result<Vec<Vec<Share<kinds::Decryption, Device>>>> {
            let share = |file: &Named, frame: &Frame| {
                Share::from_frame(params, &engine.ring, frame).in_file(&file.name)
            };
            let shares = |file: &Named| match file.frames.as_slice() {
                [] => Err(other_file(&file.name, "a file of shares of a decryption", &[])),
                frames => frames.iter().map(|frame| share(file, frame)).collect(),
            };
            files.iter().map(shares).collect()
        };
    let decryptors = team.each(|engine| {
        let bundles = read(engine)?;
        let decrypt: Decrypt<'_, Ckks> = Box::new(move |ct| {
            let ct = noisy(agreed, stated, ct)?;
            let run = Decryption::new(session, params, &ct, quorum, flooding)?;
            let mut all = Aggregate::new(&run);
            for bundle in &bundles {
                let subject = he_core::mhe::Protocol::subject(&run);
                // One that fits, or the first, which is then refused for what it is.
                let share = bundle.iter().find(|share| share.subject() == subject).or(bundle.first());
                share.map_or(Ok(()), |share| all.add(share))?;
            }
            engine.evaluator.encoder().decode(&all.finish()?)
        });
        Ok(decrypt)
    })?;
    Plain::unpack(team, reader, &decryptors, View::Light)
}
