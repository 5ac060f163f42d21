//! Decryption: every party's shares for the ciphertexts of a file, and the numbers they sum to.

use super::{Agreed, Known, Ledger, Named, Shared, other_file};
use crate::contents::clear::{Plain, View};
use crate::error::{Error, InFile, PartyError, Result};
use crate::io::input::Input;
use crate::publication::Publication;
use crate::scheme::Decrypt;
use crate::scheme::engine::Engine;
use crate::team::Team;
use he::Device;
use he_core::mhe::{Aggregate, Decryption, KeyShare, Protocol as _, Share, kinds};
use he_core::rlwe::Flooding;
use he_core::wire::{Frame, Wire};

/// The shares of a party for all ciphertexts of a table.
pub struct Decrypting {
    /// The shares.
    pub frames: Vec<Frame>,
    /// The runs to be [recorded](Ledger::record) before the shares leave the party.
    pub runs: Vec<([u8; 32], u64)>,
    /// The operations that the table says were computed.
    pub history: Vec<String>,
}

/// The error of a flood for which a table has no room, as one of its parties.
fn no_room(name: &str) -> impl Fn(he_core::Error) -> Error {
    move |error| match error {
        he_core::Error::FloodTooWide { needed_bits, available_bits } => {
            PartyError::NoRoom { name: name.to_owned(), needed_bits, available_bits }.into()
        }
        error => error.into(),
    }
}

/// The shares of a party for all ciphertexts of a table, which is the result that it knows,
/// counted and flooded by the publication.
///
/// # Errors
/// [`PartyError::OtherResult`] for another table; [`PartyError::Shared`] if the party has shared
/// it; [`MheError::Unstated`](he_core::mhe::MheError::Unstated) if a party with inputs has not
/// stated them; [`PartyError::NoRoom`] if the flood hides its numbers. The file is damaged or of
/// another key set; its noise is not stated; more is decrypted than was agreed on.
pub fn decryption_shares<S: Shared>(
    agreed: &Agreed<S>,
    key: &KeyShare<Device>,
    (known, ledger): (&Known, &Ledger),
    input: Input,
    publication: &Publication,
) -> Result<Decrypting> {
    let Agreed { params, session, ring, .. } = agreed;
    known.transcript.check_statements(key.party(), &known.statements)?;
    let mut reader = known.table(agreed, input)?;
    let content = reader.payload.content.clone();
    let (mut frames, mut runs) = (Vec::new(), Vec::<([u8; 32], u64)>::new());
    for (_, count) in content.batches(S::slots(params))? {
        let ct = S::noisy(params, session.parties().len(), &content, &reader.next(ring, count)?)?;
        let run =
            |flooding: Flooding| Decryption::new(&known.transcript, params, &ct, key.quorum(), flooding);
        let flooding = agreed.plan.publisher()?.flooding();
        let subject = *run(flooding).map_err(no_room(&reader.name))?.subject();
        // Equal ciphertexts, as differences of a table and itself are, take one share together.
        if runs.iter().any(|(known, _)| *known == subject) {
            continue;
        }
        ledger.check(&subject)?;
        let share = S::share(
            params,
            publication,
            &content,
            &ct,
            |flooding| Ok(run(flooding)?.flood_bits()),
            |publisher, rng| run(publisher.flooding())?.share(key, &known.statements, publisher, rng),
        )
        .map_err(no_room(&reader.name))?;
        runs.push((subject, count as u64));
        frames.push(share.to_frame(params)?);
    }
    reader.end()?;
    Ok(Decrypting { frames, runs, history: reader.payload.history })
}

/// The numbers of a table, from the shares of a quorum and the transcripts that they were made
/// with, and the operations that it says were computed.
///
/// # Errors
/// Shares are missing, doubled, of another session, or for another file or quorum; the file is
/// damaged or of another key set.
pub fn decrypted<S: Shared>(
    agreed: &Agreed<S>,
    quorum: &[u32],
    known: &Known,
    files: &[Named],
    team: &Team<S>,
    input: Input,
) -> Result<(Plain, Vec<String>)> {
    let Agreed { params, plan, session, .. } = agreed;
    let mut reader = known.table(agreed, input)?;
    let content = reader.payload.content.clone();
    let flooding = plan.publisher()?.flooding();
    let read = |engine: &Engine<S>| -> Result<Vec<Vec<Share<kinds::Decryption, Device>>>> {
        let share =
            |file: &Named, frame: &Frame| Share::from_frame(params, &engine.ring, frame).in_file(&file.name);
        let shares = |file: &Named| match file.frames.as_slice() {
            [] => Err(other_file(&file.name, "a file of shares of a decryption", &[])),
            frames => frames.iter().map(|frame| share(file, frame)).collect(),
        };
        files.iter().map(shares).collect()
    };
    let decryptors = team.each(|engine| {
        let (bundles, content) = (read(engine)?, &content);
        let decrypt: Decrypt<'_, S> = Box::new(move |ct| {
            let ct = S::noisy(params, session.parties().len(), content, ct)?;
            let run = Decryption::new(&known.transcript, params, &ct, quorum, flooding)?;
            let mut all = Aggregate::new(&run);
            for bundle in &bundles {
                let subject = run.subject();
                // One that fits, or the first, which is then refused for what it is.
                let share = bundle.iter().find(|share| share.subject() == subject).or(bundle.first());
                share.map_or(Ok(()), |share| all.add(share))?;
            }
            S::decoded(engine, &all.finish()?)
        });
        Ok(decrypt)
    })?;
    let plain = Plain::unpack(team, &mut reader, &decryptors, View::Light)?;
    Ok((plain, reader.payload.history))
}
