//! Public, relinearisation and Galois keys of SEAL.
//!
//! Keys of SEAL are pairs (b, a) at the roots over all primes. A switching key has one pair for
//! each prime of ciphertexts, which encrypts P t there and 0 modulo the others, as digits of one
//! prime do here; the pair of a digit of several primes is the sum of theirs, and its noise that of
//! a sum. A Galois key for X -> X^g leads from s(X^g) to s there, because the automorphism precedes
//! the switch; the image of its pairs under the inverse automorphism is the key that leads from s
//! to s(X^(1/g)).

use super::object::{HEADER, Members, opened};
use super::pair::{Expected, Pair, expect};
use super::parameters::{NEITHER, Parameters};
use crate::error::{Result, SealError};
use he::Device;
use he_any::rlwe::Engine;
use he_core::ring::{Automorphism, Eval, Poly, Span};
use he_core::rlwe::{EvaluationKeys, PublicKey, RlweParams, SwitchKey};

/// Residues are as good as random, so that bytes of them compress to no less than this part of
/// their words: a prime has 20 bits where rotations are possible.
const MOST_COMPRESSION: usize = 8;

/// The fields of keys.
fn expected(parameters: &Parameters) -> Expected {
    let all = parameters.primes().len();
    Expected { primes: all..=all, at_roots: true, scaled: false }
}

fn rlwe(engine: &Engine) -> Result<&RlweParams> {
    match engine {
        Engine::Ckks(of) => Ok(of.params.rlwe()),
        Engine::Bfv(of) => Ok(of.params.rlwe()),
        Engine::Bgv(_) => Err(NEITHER.into()),
    }
}

/// A public key from the bytes of SEAL's `PublicKey`: of no known key set.
///
/// Its part modulo the special prime is checked and not used: encryptions here are over the primes
/// of ciphertexts. The noise of what it encrypts is that of any public key.
///
/// # Errors
/// [`SealError`] for other bytes and for those of other parameters; the device fails.
pub fn read_public_key(engine: &Engine, bytes: &[u8]) -> Result<PublicKey<Device>> {
    let parameters = Parameters::of_engine(engine)?;
    let pair = Pair::whole(bytes, &parameters, &expected(&parameters))?;
    let primes = parameters.chain();
    let poly = |words: &[u64]| {
        let words = &words[..primes * parameters.n()];
        Poly::<Eval, Device>::from_words(engine.ring(), Span::chain(primes), 1, words)
    };
    let [b, a] = &pair.words;
    Ok(PublicKey::from_pair(rlwe(engine)?, [poly(b)?, poly(a)?])?)
}

/// A relinearisation key from the bytes of SEAL's `RelinKeys`, of no known key set.
///
/// # Errors
/// [`SealError`] for other bytes and for those of other parameters; the device fails.
pub fn read_relin_key(engine: &Engine, bytes: &[u8]) -> Result<EvaluationKeys<Device>> {
    let mut keys = EvaluationKeys::empty(rlwe(engine)?, engine.ring())?;
    each_key(engine, bytes, 1, |_, pairs| Ok(keys.insert_relin(switch_key(engine, &pairs, None)?)?))?;
    keys.relin()?;
    Ok(keys)
}

/// Galois keys from the bytes of SEAL's `GaloisKeys`, of no known key set, by the elements that
/// they have there: powers of 3 for rotations, as [`rotate`](super::rotate) needs them.
///
/// # Errors
/// [`SealError`] for other bytes and for those of other parameters; the device fails.
pub fn read_galois_keys(engine: &Engine, bytes: &[u8]) -> Result<EvaluationKeys<Device>> {
    let mut keys = EvaluationKeys::empty(rlwe(engine)?, engine.ring())?;
    each_key(engine, bytes, engine.ring().n(), |number, pairs| {
        let element = 2 * number + 1;
        Ok(keys.insert_galois(element, switch_key(engine, &pairs, Some(element))?)?)
    })?;
    Ok(keys)
}

/// Reads SEAL's `KSwitchKeys`, whose places are `places` and may be empty.
fn each_key(
    engine: &Engine,
    bytes: &[u8],
    places: usize,
    mut take: impl FnMut(u64, Vec<Pair>) -> Result<()>,
) -> Result<()> {
    let parameters = Parameters::of_engine(engine)?;
    let (all, digits) = (parameters.primes().len(), parameters.chain());
    if all == digits {
        return Err(
            SealError::NotOfSeal { why: "keys for products and rotations need a special prime" }.into()
        );
    }
    let key = 8 + digits * (HEADER + Pair::bytes(&parameters, all, 2));
    let most = places.saturating_mul(key).min(MOST_COMPRESSION * bytes.len() + 8 * places) + 40;
    let members = opened(bytes, most)?;
    let mut members = Members(&members);
    if *members.take(32)? != parameters.identity(all) {
        return Err(SealError::OtherParameters { primes: all }.into());
    }
    expect("the number of keys", members.word()?, places as u64)?;
    for place in 0..places as u64 {
        let count = members.word()?;
        if count > 0 {
            expect("the number of pairs of a key", count, digits as u64)?;
            let pair = |_| Pair::of(members.object()?, &parameters, &expected(&parameters));
            let pairs = (0..digits).map(pair).collect::<Result<_, _>>()?;
            take(place, pairs)?;
        }
    }
    Ok(members.end()?)
}

/// The key of pairs of one prime each, for the automorphism of an element if there is one.
fn switch_key(engine: &Engine, pairs: &[Pair], element: Option<u64>) -> Result<SwitchKey<Device>> {
    let (params, ring) = (rlwe(engine)?, engine.ring());
    let inverse = element.map(|g| Automorphism::new(g, ring.spec().log_n()).inverse_element());
    let part = |pairs: &[Pair], part: usize| -> he_core::Result<Poly<Eval, Device>> {
        let mut sum = Poly::zeros(ring, params.key_span(), 1)?;
        for pair in pairs {
            sum.add_assign(&Poly::from_words(ring, params.key_span(), 1, &pair.words[part])?)?;
        }
        inverse.map_or(Ok(None), |g| sum.automorphism(g).map(Some)).map(|image| image.unwrap_or(sum))
    };
    let digit = |digit: &std::ops::Range<usize>| {
        let pairs = &pairs[digit.clone()];
        Ok([part(pairs, 0)?, part(pairs, 1)?])
    };
    let digits = params.digits().iter().map(digit).collect::<he_core::Result<Vec<_>>>()?;
    Ok(SwitchKey::from_pairs(params, ring, &digits)?)
}
