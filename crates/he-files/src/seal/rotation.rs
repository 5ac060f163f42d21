//! Rotations as SEAL numbers slots, by its Galois keys.

use super::parameters::{NEITHER, powers};
use crate::error::Result;
use he::Device;
use he_any::rlwe::{Cipher, Engine};
use he_core::ring::{Ring, galois_rotation};
use he_core::rlwe::{EvaluationKeys, rotation_path};
use he_core::{Error, ckks, exact};
use std::collections::HashSet;

/// A ciphertext whose values are rotated to the left as SEAL does it: place i of each row of what
/// it decodes has the value of place i + steps, cyclically. This takes one key switch if there is a
/// key for these steps, and otherwise one per digit of a signed binary expansion.
///
/// # Errors
/// [`Error::MissingGaloisKey`] if no keys lead there; keys or ciphertexts of other parameters; the
/// device fails.
pub fn rotate(engine: &Engine, ct: &Cipher, steps: i64, keys: &EvaluationKeys<Device>) -> Result<Cipher> {
    let ring = engine.ring();
    let turn = |ct: Cipher, step: i64| {
        let place = step.rem_euclid(ring.n() as i64 / 2) as usize;
        let element = powers(3, ring.n()).nth(place).unwrap_or(1) as u64;
        turned(engine, &ct, element, keys)
    };
    path(ring, steps, keys)?.into_iter().try_fold(ct.duplicate()?, turn)
}

/// The steps with keys that lead to others: by the elements that the same steps have here.
fn path(ring: &Ring<Device>, steps: i64, keys: &EvaluationKeys<Device>) -> Result<Vec<i64>> {
    let log_n = ring.spec().log_n();
    let with_keys = powers(3, ring.n()).enumerate().filter(|&(_, power)| keys.galois(power as u64).is_some());
    let known: HashSet<u64> = with_keys.map(|(step, _)| galois_rotation(step as i64, log_n)).collect();
    Ok(rotation_path(steps, log_n, |element| known.contains(&element))?)
}

/// The image of a ciphertext under X -> X^element.
fn turned(engine: &Engine, ct: &Cipher, element: u64, keys: &EvaluationKeys<Device>) -> Result<Cipher> {
    let key = keys.galois(element).ok_or(Error::MissingConjugationKey)?;
    match (engine, ct) {
        (Engine::Ckks(of), Cipher::Ckks(ct)) => {
            let pair = ct.pair().apply_automorphism(key, element)?;
            let (level, scale, slots) = (ct.level(), ct.scale(), ct.slots());
            Ok(Cipher::Ckks(ckks::Ciphertext::from_parts(&of.params, pair, level, scale, slots)?))
        }
        (Engine::Bfv(of), Cipher::Bfv(ct)) => {
            let pair = ct.pair().apply_automorphism(key, element)?;
            let noise = of.params.noise().key_switched(ct.noise(), pair.chain_limbs());
            let factor = ct.correction_factor();
            Ok(Cipher::Bfv(exact::Ciphertext::from_parts(&of.params, pair, factor, noise)?))
        }
        _ => Err(NEITHER.into()),
    }
}
