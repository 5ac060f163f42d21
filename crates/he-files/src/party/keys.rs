//! Keys: every party's shares, and what they sum to.

use super::{Agreed, Named, Shared, other_file};
use crate::error::{InFile, Result};
use he::Device;
use he_core::mhe::{
    Aggregate, EphemeralKey, GaloisKeyGeneration, PartyKey, Protocol, PublicKeyGeneration,
    RelinearisationRound1, RelinearisationRound2, RelinearisationSums, SecretShare, Share, ShareKind,
    ThresholdAggregate, ThresholdKey,
};
use he_core::rlwe::{EvaluationKeys, PublicKey};
use he_core::wire::{Frame, FrameKind, Wire};
use rand::rngs::ChaCha20Rng;

/// The first message of a party: its shares of the public key, of the first round of the
/// relinearisation key, and of all Galois keys; and the secret that it keeps for the second.
///
/// # Errors
/// The secret is of another session.
pub fn key_shares<S: Shared>(
    agreed: &Agreed<S>,
    key: &PartyKey,
    rng: &mut ChaCha20Rng,
) -> Result<(Vec<Frame>, Frame)> {
    let Agreed { params, session, plan, ring, .. } = agreed;
    let public = PublicKeyGeneration::new(session, ring)?.share(key, rng)?;
    let (first, ephemeral) = RelinearisationRound1::new(session, ring)?.share(key, rng)?;
    let mut frames = vec![public.to_frame(params)?, first.to_frame(params)?];
    for &g in &plan.elements {
        let share = GaloisKeyGeneration::new(session, ring, g)?.share(key, rng)?;
        frames.push(share.to_frame(params)?);
    }
    Ok((frames, ephemeral.to_frame(params)?))
}

/// Adds share `at` of every file.
fn add<S: Shared, P: Protocol<Backend = Device>>(
    agreed: &Agreed<S>,
    protocol: &P,
    files: &[Named],
    at: usize,
) -> Result<P::Output>
where
    P::Kind: ShareKind,
{
    let mut all = Aggregate::new(protocol);
    for file in files {
        let frame = match file.frames.get(at) {
            Some(frame) if frame.kind == FrameKind::PartyShare => frame,
            _ => return Err(other_file(&file.name, "a file of shares of keys", &file.frames)),
        };
        let share: Share<P::Kind, Device> =
            Share::from_frame(&agreed.params, protocol.ring(), frame).in_file(&file.name)?;
        all.add(&share).in_file(&file.name)?;
    }
    Ok(all.finish()?)
}

fn sums<S: Shared>(agreed: &Agreed<S>, first: &[Named]) -> Result<RelinearisationSums<Device>> {
    add(agreed, &RelinearisationRound1::new(&agreed.session, &agreed.ring)?, first, 1)
}

/// The second message of a party, from the first messages of all.
///
/// # Errors
/// Shares are missing, doubled, or of another session or protocol; the ephemeral secret is of
/// another party.
pub fn relinearisation_share<S: Shared>(
    agreed: &Agreed<S>,
    key: &PartyKey,
    ephemeral: &Named,
    first: &[Named],
    rng: &mut ChaCha20Rng,
) -> Result<Frame> {
    let Agreed { params, session, ring, .. } = agreed;
    let [frame] = ephemeral.frames.as_slice() else {
        return Err(other_file(&ephemeral.name, "an ephemeral secret", &ephemeral.frames));
    };
    let kept = EphemeralKey::from_frame(params, session, frame).in_file(&ephemeral.name)?;
    let sums = sums(agreed, first)?;
    let share = RelinearisationRound2::new(session, ring, &sums)?.share(key, kept, rng)?;
    Ok(share.to_frame(params)?)
}

/// The collective keys, from the first and the second messages of all parties.
///
/// # Errors
/// Shares are missing, doubled, or of another session or protocol.
pub fn combined_keys<S: Shared>(
    agreed: &Agreed<S>,
    first: &[Named],
    second: &[Named],
) -> Result<(PublicKey<Device>, EvaluationKeys<Device>)> {
    let Agreed { session, plan, ring, .. } = agreed;
    for file in first {
        if file.frames.len() != 2 + plan.elements.len() {
            return Err(other_file(&file.name, "a file of shares of keys", &file.frames));
        }
    }
    let public = add(agreed, &PublicKeyGeneration::new(session, ring)?, first, 0)?;
    let sums = sums(agreed, first)?;
    let mut keys = EvaluationKeys::empty(session.params(), ring)?;
    keys.insert_relin(add(agreed, &RelinearisationRound2::new(session, ring, &sums)?, second, 0)?)?;
    for (at, &g) in (2..).zip(&plan.elements) {
        keys.insert_galois(g, add(agreed, &GaloisKeyGeneration::new(session, ring, g)?, first, at)?)?;
    }
    plan.requirements().check(&keys)?;
    Ok((public, keys))
}

/// The shares that a party deals to each party, with the party's number.
///
/// # Errors
/// The secret is of other parameters.
pub fn secret_shares<S: Shared>(
    agreed: &Agreed<S>,
    key: &PartyKey,
    rng: &mut ChaCha20Rng,
) -> Result<Vec<(u32, Frame)>> {
    let shares = key.deal(&agreed.ring, rng)?;
    shares.iter().map(|share| Ok((share.to(), share.to_frame(&agreed.params)?))).collect()
}

/// The threshold key of a party, from what all parties dealt to it.
///
/// # Errors
/// Shares are missing, doubled, of another session or for another party.
pub fn threshold_key<S: Shared>(
    agreed: &Agreed<S>,
    party: u32,
    files: &[Named],
) -> Result<ThresholdKey<Device>> {
    let mut sum = ThresholdAggregate::new(&agreed.session, party)?;
    for file in files {
        let [frame] = file.frames.as_slice() else {
            return Err(other_file(&file.name, "a secret share", &file.frames));
        };
        let place = (&agreed.session, &agreed.ring);
        let share = SecretShare::from_frame(&agreed.params, place, frame).in_file(&file.name)?;
        sum.add(share).in_file(&file.name)?;
    }
    Ok(sum.finish()?)
}
