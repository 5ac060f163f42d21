//! Decryption: every party's shares for the ciphertexts of a file, and the numbers they sum to.

use super::{Agreed, Known, Ledger, Named, other_file};
use crate::contents::clear::{Plain, View};
use crate::error::{InFile, Result};
use crate::io::input::Input;
use crate::note::Content;
use crate::publication::{Numbers, Publication};
use crate::scheme::{Ckks, Decrypt, Scheme};
use crate::team::Team;
use he::Device;
use he_core::ckks::Ciphertext;
use he_core::mhe::{Aggregate, Decryption, KeyShare, Protocol as _, Share, kinds};
use he_core::ring::Ring;
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

/// The shares of a party for all ciphertexts of a table.
pub struct Shared {
    /// The shares.
    pub frames: Vec<Frame>,
    /// The runs to be [recorded](Ledger::record) before the shares leave the party.
    pub runs: Vec<([u8; 32], u64)>,
    /// The operations that the table says were computed.
    pub history: Vec<String>,
}

/// The shares of a party for all ciphertexts of a table, which is the result that it knows,
/// counted and flooded by the publication.
///
/// # Errors
/// [`PartyError::OtherResult`](crate::error::PartyError::OtherResult) for another table;
/// [`PartyError::Shared`](crate::error::PartyError::Shared) if the party has shared it;
/// [`MheError::Unstated`](he_core::mhe::MheError::Unstated) if a party with inputs has not stated
/// them. The file is damaged or of another key set; the flood hides its numbers, or its noise is
/// not stated; more is decrypted than was agreed on.
pub fn decryption_shares(
    agreed: &Agreed,
    key: &KeyShare<Device>,
    (known, ledger): (&Known, &Ledger),
    input: Input,
    ring: &Ring<Device>,
    publication: &Publication,
) -> Result<Shared> {
    let Agreed { params, .. } = agreed;
    known.transcript.check_statements(key.party(), &known.statements)?;
    let mut reader = known.table(agreed, ring, input)?;
    let content = reader.payload.content.clone();
    let stated = numbers(agreed, &content)?;
    let (mut frames, mut runs) = (Vec::new(), Vec::<([u8; 32], u64)>::new());
    for (_, count) in content.batches(Ckks::slots(params))? {
        let ct = noisy(agreed, stated, &reader.next(ring, count)?)?;
        let shape = (ct.batch(), ct.slots(), ct.scale().log2());
        let run =
            |flooding: Flooding| Decryption::new(&known.transcript, params, &ct, key.quorum(), flooding);
        let subject = *run(agreed.plan.publisher()?.flooding())?.subject();
        // Equal ciphertexts, as differences of a table and itself are, take one share together.
        if runs.iter().any(|(known, _)| *known == subject) {
            continue;
        }
        ledger.check(&subject)?;
        let share = publication.flood(
            stated,
            shape,
            |flooding| Ok(run(flooding)?.flood_bits()),
            |publisher, rng| run(publisher.flooding())?.share(key, &known.statements, publisher, rng),
        )?;
        runs.push((subject, count as u64));
        frames.push(share.to_frame(params)?);
    }
    reader.end()?;
    Ok(Shared { frames, runs, history: reader.payload.history })
}

/// The numbers of a table, from the shares of a quorum and the transcripts that they were made
/// with, and the operations that it says were computed.
///
/// # Errors
/// Shares are missing, doubled, of another session, or for another file or quorum; the file is
/// damaged or of another key set.
pub fn decrypted(
    agreed: &Agreed,
    quorum: &[u32],
    known: &Known,
    files: &[Named],
    team: &Team<Ckks>,
    input: Input,
) -> Result<(Plain, Vec<String>)> {
    let Agreed { params, plan, .. } = agreed;
    let mut reader = known.table(agreed, &team.lead().ring, input)?;
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
            let run = Decryption::new(&known.transcript, params, &ct, quorum, flooding)?;
            let mut all = Aggregate::new(&run);
            for bundle in &bundles {
                let subject = run.subject();
                // One that fits, or the first, which is then refused for what it is.
                let share = bundle.iter().find(|share| share.subject() == subject).or(bundle.first());
                share.map_or(Ok(()), |share| all.add(share))?;
            }
            engine.evaluator.encoder().decode(&all.finish()?)
        });
        Ok(decrypt)
    })?;
    let plain = Plain::unpack(team, &mut reader, &decryptors, View::Light)?;
    Ok((plain, reader.payload.history))
}
