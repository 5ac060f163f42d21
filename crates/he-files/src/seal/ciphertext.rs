//! Ciphertexts of SEAL.

use super::object::{HEADER, sealed};
use super::pair::{Expected, FIELDS, Pair};
use super::parameters::{NEITHER, Parameters};
use crate::error::{Error, Result, SealError};
use he::Device;
use he_any::rlwe::{Cipher, Engine};
use he_core::ring::{Coeff, Eval, Poly, Ring, Span};
use he_core::rlwe::RlweCiphertext;
use he_core::{ckks, exact};

/// The fields of ciphertexts: of CKKS with values at roots, of BFV with coefficients.
fn expected(parameters: &Parameters, ckks: bool) -> Expected {
    Expected { primes: 1..=parameters.chain(), at_roots: ckks, scaled: ckks }
}

/// A ciphertext from the bytes of SEAL's `Ciphertext`.
///
/// Under BFV it is taken for a fresh encryption: its noise is that of one by the public key.
/// [`slot_order`](super::slot_order) says where its values lie.
///
/// # Errors
/// [`SealError`] for other bytes, for those of other parameters, for products that are not
/// relinearised and for seeds of another generator than BLAKE2Xb; the device fails.
pub fn read_ciphertext(engine: &Engine, bytes: &[u8]) -> Result<Cipher> {
    let parameters = Parameters::of_engine(engine)?;
    let parts = Pair::whole(bytes, &parameters, &expected(&parameters, !engine.is_exact()))?;
    let (ring, span) = (engine.ring(), Span::chain(parts.primes));
    match engine {
        Engine::Ckks(of) => {
            let poly = |words: &[u64]| Poly::<Eval, Device>::from_words(ring, span, 1, words);
            let pair = RlweCiphertext::new(poly(&parts.words[0])?, poly(&parts.words[1])?)?;
            let level = of.params.levels().iter().position(|level| level.primes == parts.primes);
            let level = level.ok_or(SealError::NotOfSeal { why: "a level has several primes" })?;
            let slots = of.params.slots();
            Ok(Cipher::Ckks(ckks::Ciphertext::from_parts(&of.params, pair, level, parts.scale, slots)?))
        }
        Engine::Bfv(of) => {
            let poly = |words: &[u64]| Poly::<Coeff, Device>::from_words(ring, span, 1, words)?.into_eval();
            let pair = RlweCiphertext::new(poly(&parts.words[0])?, poly(&parts.words[1])?)?;
            let (factor, noise) =
                (scale_invariant_factor(&of.params, parts.primes), of.params.noise().public());
            Ok(Cipher::Bfv(exact::Ciphertext::from_parts(&of.params, pair, factor, noise)?))
        }
        Engine::Bgv(_) => Err(NEITHER.into()),
    }
}

/// The correction factor with which the phase of a message is round(q m / t): -q mod t.
fn scale_invariant_factor(params: &he_core::bfv::BfvParams, primes: usize) -> u64 {
    let t = params.plain().modulus();
    t.neg(t.product_of(&params.rlwe().ring().q_moduli()[..primes]))
}

/// The bytes of a ciphertext as SEAL's `Ciphertext` reads them, not compressed.
///
/// # Errors
/// [`SealError::NotOfSeal`] for batches, and for ciphertexts and parameters that SEAL does not
/// have; the device fails.
pub fn write_ciphertext(engine: &Engine, ct: &Cipher) -> Result<Vec<u8>> {
    if ct.batch() != 1 {
        return Err(SealError::NotOfSeal { why: "it is a batch of several ciphertexts" }.into());
    }
    let parameters = Parameters::of_engine(engine)?;
    match (engine, ct) {
        (Engine::Ckks(of), Cipher::Ckks(ct)) => {
            let words = ct.pair().parts().map(Poly::to_words);
            written(&parameters, &of.ring, ct.pair().chain_limbs(), (true, ct.scale()), words)
        }
        (Engine::Bfv(of), Cipher::Bfv(ct)) => {
            let primes = ct.pair().chain_limbs();
            if ct.correction_factor() != scale_invariant_factor(&of.params, primes) {
                return Err(SealError::NotOfSeal { why: "its messages have another factor" }.into());
            }
            let coefficients = |poly: &Poly<Eval, Device>| poly.duplicate()?.into_coeff()?.to_words();
            let words = ct.pair().parts().map(coefficients);
            written(&parameters, &of.ring, primes, (false, 1.0), words)
        }
        _ => Err(NEITHER.into()),
    }
}

fn written(
    parameters: &Parameters,
    ring: &Ring<Device>,
    primes: usize,
    (at_roots, scale): (bool, f64),
    words: [he_core::Result<Vec<u64>>; 2],
) -> Result<Vec<u8>, Error> {
    let [c0, c1] = words;
    let words = [c0?, c1?].concat();
    let mut members = Vec::with_capacity(FIELDS + HEADER + 8 + 8 * words.len());
    members.extend(parameters.identity(primes));
    members.push(at_roots.into());
    for length in [2, ring.n() as u64, primes as u64] {
        members.extend(length.to_le_bytes());
    }
    members.extend(scale.to_le_bytes());
    members.extend(1u64.to_le_bytes());
    let mut data = (words.len() as u64).to_le_bytes().to_vec();
    words.iter().for_each(|word| data.extend(word.to_le_bytes()));
    members.extend(sealed(&data));
    Ok(sealed(&members))
}
