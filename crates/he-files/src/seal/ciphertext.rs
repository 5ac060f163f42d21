//! Ciphertexts of SEAL.

use super::object::{HEADER, Members, opened, sealed};
use super::parameters::Parameters;
use super::seed::{self, SEED};
use crate::error::{Error, Result, SealError};
use he::Device;
use he_any::Params;
use he_any::rlwe::{Cipher, Engine};
use he_core::ring::{Coeff, Eval, Poly, Ring, Span};
use he_core::rlwe::RlweCiphertext;
use he_core::{ckks, exact};

/// The bytes before the words: the identity, whether the words are values at roots, three lengths,
/// the scale and the correction factor of BGV.
const FIELDS: usize = 32 + 1 + 3 * 8 + 8 + 8;

/// SEAL's default generator, as it numbers them.
const BLAKE2XB: u8 = 1;

/// The parts of a ciphertext: its primes, its scale, and the words of both polynomials.
struct Parts {
    primes: usize,
    scale: f64,
    words: [Vec<u64>; 2],
}

/// A field that has one value alone.
fn expect(what: &'static str, found: u64, expected: u64) -> Result<(), SealError> {
    if found == expected { Ok(()) } else { Err(SealError::Length { what, found, expected }) }
}

impl Parts {
    /// Reads a ciphertext over the primes of a ring: of CKKS with values at roots, of BFV with
    /// coefficients.
    fn read(
        bytes: &[u8],
        parameters: &Parameters,
        ring: &Ring<Device>,
        ckks: bool,
    ) -> Result<Self, SealError> {
        let (n, q) = (ring.n(), ring.spec().q());
        // A product has three polynomials: it is named as such.
        let members = opened(bytes, FIELDS + HEADER + 8 + 3 * q.len() * n * 8)?;
        let mut members = Members(&members);
        let identity = members.take(32)?;
        let (at_roots, size) = (members.byte()?, members.word()?);
        expect("whether words are values at roots", at_roots.into(), ckks.into())?;
        expect("the degree", members.word()?, n as u64)?;
        let count = members.word()?;
        let primes = usize::try_from(count).ok().filter(|primes| (1..=q.len()).contains(primes));
        let primes =
            primes.ok_or(SealError::Field { what: "the number of primes", found: count.to_string() })?;
        if *identity != parameters.identity(primes) {
            return Err(SealError::OtherParameters { primes });
        }
        if size != 2 {
            return Err(SealError::Size { found: size });
        }
        let scale = members.double()?;
        if !(scale.is_finite() && scale > 0.0 && (ckks || scale == 1.0)) {
            return Err(SealError::Field { what: "the scale", found: scale.to_string() });
        }
        expect("the correction factor", members.word()?, 1)?;
        let mut data = members.object()?;
        let count = data.word()?;
        let half = (primes * n) as u64;
        let first = polynomial(&mut data, ring, primes)?;
        let second = match count == half {
            true => seeded(&mut members, ring, primes)?,
            false => {
                expect("the number of words", count, 2 * half)?;
                polynomial(&mut data, ring, primes)?
            }
        };
        data.end()?;
        members.end()?;
        Ok(Self { primes, scale, words: [first, second] })
    }
}

/// The residues of a polynomial that a seed of SEAL's generator stands for.
fn seeded(members: &mut Members<'_>, ring: &Ring<Device>, primes: usize) -> Result<Vec<u64>, SealError> {
    let mut object = members.object()?;
    match object.byte()? {
        BLAKE2XB => {}
        found => return Err(SealError::Generator { found }),
    }
    let seed = object.array::<SEED>()?;
    object.end()?;
    Ok(seed::residues(&seed, &ring.spec().q()[..primes], ring.n()))
}

/// The residues of a polynomial, each below its prime.
fn polynomial(data: &mut Members<'_>, ring: &Ring<Device>, primes: usize) -> Result<Vec<u64>, SealError> {
    let mut words = Vec::with_capacity(primes * ring.n());
    for &q in &ring.spec().q()[..primes] {
        for bytes in data.take(8 * ring.n())?.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(*bytes);
            if word >= q {
                return Err(SealError::Field { what: "a residue", found: format!("{word} modulo {q}") });
            }
            words.push(word);
        }
    }
    Ok(words)
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
    match engine {
        Engine::Ckks(of) => {
            let parameters = Parameters::of(&Params::Ckks(of.params.clone()))?;
            let parts = Parts::read(bytes, &parameters, &of.ring, true)?;
            let span = Span::chain(parts.primes);
            let poly = |words: &[u64]| Poly::<Eval, Device>::from_words(&of.ring, span, 1, words);
            let pair = RlweCiphertext::new(poly(&parts.words[0])?, poly(&parts.words[1])?)?;
            let level = of.params.levels().iter().position(|level| level.primes == parts.primes);
            let level = level.ok_or(SealError::NotOfSeal { why: "a level has several primes" })?;
            let slots = of.params.slots();
            Ok(Cipher::Ckks(ckks::Ciphertext::from_parts(&of.params, pair, level, parts.scale, slots)?))
        }
        Engine::Bfv(of) => {
            let parameters = Parameters::of(&Params::Bfv(of.params.clone()))?;
            let parts = Parts::read(bytes, &parameters, &of.ring, false)?;
            let span = Span::chain(parts.primes);
            let poly =
                |words: &[u64]| Poly::<Coeff, Device>::from_words(&of.ring, span, 1, words)?.into_eval();
            let pair = RlweCiphertext::new(poly(&parts.words[0])?, poly(&parts.words[1])?)?;
            let (factor, noise) =
                (scale_invariant_factor(&of.params, parts.primes), of.params.noise().public());
            Ok(Cipher::Bfv(exact::Ciphertext::from_parts(&of.params, pair, factor, noise)?))
        }
        Engine::Bgv(_) => Err(SealError::NotOfSeal { why: "it is of neither CKKS nor BFV" }.into()),
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
    match (engine, ct) {
        (Engine::Ckks(of), Cipher::Ckks(ct)) => {
            let parameters = Parameters::of(&Params::Ckks(of.params.clone()))?;
            let words = ct.pair().parts().map(Poly::to_words);
            written(&parameters, &of.ring, ct.pair().chain_limbs(), (true, ct.scale()), words)
        }
        (Engine::Bfv(of), Cipher::Bfv(ct)) => {
            let parameters = Parameters::of(&Params::Bfv(of.params.clone()))?;
            let primes = ct.pair().chain_limbs();
            if ct.correction_factor() != scale_invariant_factor(&of.params, primes) {
                return Err(SealError::NotOfSeal { why: "its messages have another factor" }.into());
            }
            let coefficients = |poly: &Poly<Eval, Device>| poly.duplicate()?.into_coeff()?.to_words();
            let words = ct.pair().parts().map(coefficients);
            written(&parameters, &of.ring, primes, (false, 1.0), words)
        }
        _ => Err(SealError::NotOfSeal { why: "it is of neither CKKS nor BFV" }.into()),
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
