//! Pairs of polynomials: the ciphertexts of SEAL, and the parts of its keys.

use super::object::{HEADER, Members, opened};
use super::parameters::Parameters;
use super::seed::{self, SEED};
use crate::error::SealError;
use std::ops::RangeInclusive;

/// The bytes before the words: the identity, whether the words are values at roots, three lengths,
/// the scale and the correction factor of BGV.
pub const FIELDS: usize = 32 + 1 + 3 * 8 + 8 + 8;

/// SEAL's default generator, as it numbers them.
const BLAKE2XB: u8 = 1;

/// The fields that one kind of pairs has.
pub struct Expected {
    /// How many primes.
    pub primes: RangeInclusive<usize>,
    /// Whether words are values at roots, or coefficients.
    pub at_roots: bool,
    /// Whether there is a scale other than 1.
    pub scaled: bool,
}

/// The residues of two polynomials over the first primes of the parameters, prime after prime.
pub struct Pair {
    /// How many primes.
    pub primes: usize,
    /// The scale.
    pub scale: f64,
    /// The words of both.
    pub words: [Vec<u64>; 2],
}

/// That a field has its only value.
pub fn expect(what: &'static str, found: u64, expected: u64) -> Result<(), SealError> {
    if found == expected { Ok(()) } else { Err(SealError::Length { what, found, expected }) }
}

impl Pair {
    /// The bytes of the members of so many polynomials over so many primes.
    pub fn bytes(parameters: &Parameters, primes: usize, polynomials: usize) -> usize {
        FIELDS + HEADER + 8 + polynomials * primes * parameters.n() * 8
    }

    /// Reads an object that is all of some bytes.
    pub fn whole(bytes: &[u8], parameters: &Parameters, expected: &Expected) -> Result<Self, SealError> {
        // A product has three polynomials: it is named as such.
        let members = opened(bytes, Self::bytes(parameters, *expected.primes.end(), 3))?;
        Self::of(Members(&members), parameters, expected)
    }

    /// Reads the members of an object.
    pub fn of(
        mut members: Members<'_>,
        parameters: &Parameters,
        expected: &Expected,
    ) -> Result<Self, SealError> {
        let identity = members.take(32)?;
        let (at_roots, size) = (members.byte()?, members.word()?);
        expect("whether words are values at roots", at_roots.into(), expected.at_roots.into())?;
        expect("the degree", members.word()?, parameters.n() as u64)?;
        let count = members.word()?;
        let primes = usize::try_from(count).ok().filter(|primes| expected.primes.contains(primes));
        let primes =
            primes.ok_or(SealError::Field { what: "the number of primes", found: count.to_string() })?;
        if *identity != parameters.identity(primes) {
            return Err(SealError::OtherParameters { primes });
        }
        if size != 2 {
            return Err(SealError::Size { found: size });
        }
        let scale = members.double()?;
        if !(scale.is_finite() && scale > 0.0 && (expected.scaled || scale == 1.0)) {
            return Err(SealError::Field { what: "the scale", found: scale.to_string() });
        }
        expect("the correction factor", members.word()?, 1)?;
        let words = polynomials(members, &parameters.primes()[..primes], parameters.n())?;
        Ok(Self { primes, scale, words })
    }
}

/// Both polynomials, the second of which may be a seed.
fn polynomials(mut members: Members<'_>, primes: &[u64], n: usize) -> Result<[Vec<u64>; 2], SealError> {
    let mut data = members.object()?;
    let (count, half) = (data.word()?, (primes.len() * n) as u64);
    let first = polynomial(&mut data, primes, n)?;
    let second = match count == half {
        true => seeded(&mut members, primes, n)?,
        false => {
            expect("the number of words", count, 2 * half)?;
            polynomial(&mut data, primes, n)?
        }
    };
    data.end()?;
    members.end()?;
    Ok([first, second])
}

/// The residues of a polynomial that a seed of SEAL's generator stands for.
fn seeded(members: &mut Members<'_>, primes: &[u64], n: usize) -> Result<Vec<u64>, SealError> {
    let mut object = members.object()?;
    match object.byte()? {
        BLAKE2XB => {}
        found => return Err(SealError::Generator { found }),
    }
    let seed = object.array::<SEED>()?;
    object.end()?;
    Ok(seed::residues(&seed, primes, n))
}

/// The residues of a polynomial, each below its prime.
fn polynomial(data: &mut Members<'_>, primes: &[u64], n: usize) -> Result<Vec<u64>, SealError> {
    let mut words = Vec::with_capacity(primes.len() * n);
    for &q in primes {
        for bytes in data.take(8 * n)?.as_chunks::<8>().0 {
            let word = u64::from_le_bytes(*bytes);
            if word >= q {
                return Err(SealError::Field { what: "a residue", found: format!("{word} modulo {q}") });
            }
            words.push(word);
        }
    }
    Ok(words)
}
