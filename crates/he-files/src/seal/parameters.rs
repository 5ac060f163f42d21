//! Encryption parameters of SEAL, and the identities that its ciphertexts state.

use super::object::{HEADER, Members, opened, sealed};
use crate::error::{Result, SealError};
use blake2::{Blake2b, Digest, digest::consts::U32};
use he_any::Params;
use he_any::rlwe::Engine;
use he_core::bfv::BfvParams;
use he_core::ckks::{CkksParams, CkksSpec, LevelGroup};
use he_core::exact::ExactSpec;
use he_core::params::ParamsError;
use he_core::ring::RingSpec;
use he_core::rlwe::RlweParams;

/// The schemes, as SEAL numbers them.
const BFV: u8 = 1;
const CKKS: u8 = 2;

/// Encryption parameters as SEAL states them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    scheme: u8,
    degree: u64,
    /// All primes, the special one last unless it is the only one.
    primes: Vec<u64>,
    /// The modulus of integers; 0 under CKKS.
    plain_modulus: u64,
}

/// The error of a scheme that is not exchanged with SEAL.
pub const NEITHER: SealError = SealError::NotOfSeal { why: "it is of neither CKKS nor BFV" };

/// The bytes of parameters of the most primes.
const MOST: usize = 1 + 16 + (RingSpec::MAX_PRIMES + 1) * (HEADER + 8);

fn modulus(members: &mut Members<'_>) -> Result<u64, SealError> {
    let mut object = members.object()?;
    let value = object.word()?;
    object.end()?;
    Ok(value)
}

impl Parameters {
    /// From the bytes of SEAL's `EncryptionParameters`.
    fn read(bytes: &[u8]) -> Result<Self, SealError> {
        let members = opened(bytes, MOST)?;
        let mut members = Members(&members);
        let scheme = members.byte()?;
        if !matches!(scheme, BFV | CKKS) {
            return Err(SealError::Scheme { found: scheme });
        }
        let (degree, count) = (members.word()?, members.word()?);
        if count == 0 || count > RingSpec::MAX_PRIMES as u64 {
            return Err(SealError::Field { what: "the number of primes", found: count.to_string() });
        }
        let primes = (0..count).map(|_| modulus(&mut members)).collect::<Result<_, _>>()?;
        let plain_modulus = modulus(&mut members)?;
        if (scheme == CKKS) != (plain_modulus == 0) {
            let found = plain_modulus.to_string();
            return Err(SealError::Field { what: "the plaintext modulus", found });
        }
        members.end()?;
        Ok(Self { scheme, degree, primes, plain_modulus })
    }

    /// The same parameters as SEAL states them.
    ///
    /// # Errors
    /// [`SealError::NotOfSeal`] for parameters that SEAL does not have.
    pub fn of(params: &Params) -> Result<Self, SealError> {
        let scheme = match params {
            Params::Ckks(_) => CKKS,
            Params::Bfv(_) => BFV,
            _ => return Err(NEITHER),
        };
        let ring = params.rlwe().ok_or(SealError::NotOfSeal { why: "it has no ring" })?.ring();
        if ring.p().len() > 1 {
            return Err(SealError::NotOfSeal { why: "it has more than one special prime" });
        }
        let primes = ring.q().iter().chain(ring.p()).copied().collect();
        let (degree, plain_modulus) = (ring.n() as u64, params.plain_modulus().unwrap_or(0));
        Ok(Self { scheme, degree, primes, plain_modulus })
    }

    /// The parameters of an engine.
    ///
    /// # Errors
    /// The same as for [`of`](Self::of).
    pub fn of_engine(engine: &Engine) -> Result<Self, SealError> {
        match engine {
            Engine::Ckks(of) => Self::of(&Params::Ckks(of.params.clone())),
            Engine::Bfv(of) => Self::of(&Params::Bfv(of.params.clone())),
            Engine::Bgv(_) => Err(NEITHER),
        }
    }

    /// The degree.
    pub fn n(&self) -> usize {
        self.degree as usize
    }

    /// All primes, the special one last unless it is the only one.
    pub fn primes(&self) -> &[u64] {
        &self.primes
    }

    /// The number of primes of ciphertexts.
    pub fn chain(&self) -> usize {
        (self.primes.len() - 1).max(1)
    }

    /// The identity of a ciphertext over the first primes, SEAL's `parms_id`: BLAKE2b-256 of the
    /// scheme, the degree, the primes and the plaintext modulus as words of 64 bits.
    pub fn identity(&self, primes: usize) -> [u8; 32] {
        let words = [u64::from(self.scheme), self.degree].into_iter();
        let words = words.chain(self.primes[..primes].iter().copied()).chain([self.plain_modulus]);
        let mut hasher = Blake2b::<U32>::new();
        words.for_each(|word| hasher.update(word.to_le_bytes()));
        hasher.finalize().into()
    }

    /// The ring: the primes of ciphertexts, and the special one.
    fn ring(&self) -> Result<RingSpec> {
        if !self.degree.is_power_of_two() {
            return Err(SealError::Field { what: "the degree", found: self.degree.to_string() }.into());
        }
        let (q, p) = self.primes.split_at(self.chain());
        let ring = RingSpec::new(self.degree.ilog2(), q.to_vec(), p.to_vec());
        Ok(ring.map_err(he_core::Error::from)?)
    }

    /// log2 of the scale that the primes are about: those after the first, or 20 bits below it.
    fn usual_scale_log2(&self) -> f64 {
        let bits = |prime: u64| (prime as f64).log2().round();
        match self.primes[..] {
            [_, second, _, ..] => bits(second),
            [first, ..] => (bits(first) - 20.0).max(bits(first) / 2.0),
            [] => 0.0,
        }
    }

    fn ckks(&self, scale_log2: Option<f64>) -> Result<CkksSpec> {
        let ring = self.ring()?;
        let (q, p) = (ring.q().to_vec(), ring.p().to_vec());
        let scale_log2 = scale_log2.unwrap_or_else(|| self.usual_scale_log2());
        let groups = vec![LevelGroup { levels: q.len(), scale_log2 }];
        let (level_primes, digits) = ((1..=q.len()).collect(), RlweParams::greedy_digits(&q, &p));
        Ok(CkksSpec { log_n: ring.log_n(), q, p, level_primes, digits, groups })
    }

    fn bfv(&self) -> Result<ExactSpec> {
        let ring = self.ring()?;
        let (q, p) = (ring.q().to_vec(), ring.p().to_vec());
        let (digits, plain_modulus) = (RlweParams::greedy_digits(&q, &p), self.plain_modulus);
        Ok(ExactSpec { log_n: ring.log_n(), q, p, digits, plain_modulus })
    }
}

/// Parameters from the bytes of SEAL's `EncryptionParameters`.
///
/// `scale_log2` is log2 of the scale of CKKS, about which all primes after the first are; SEAL
/// keeps it in ciphertexts alone. Parameters below 128 bits of security are taken where `insecure`
/// says that they protect nothing.
///
/// # Errors
/// [`SealError`] for other bytes; [`ParamsError`] for parameters that this library does not have,
/// such as primes that are far from the scale, and for insecure ones.
pub fn read_params(bytes: &[u8], scale_log2: Option<f64>, insecure: bool) -> Result<Params> {
    let found = Parameters::read(bytes)?;
    let made: Result<Params, ParamsError> = match (found.scheme == CKKS, insecure) {
        (true, false) => CkksParams::try_from(found.ckks(scale_log2)?).map(Params::Ckks),
        (true, true) => CkksParams::insecure(found.ckks(scale_log2)?).map(Params::Ckks),
        (false, false) => BfvParams::try_from(found.bfv()?).map(Params::Bfv),
        (false, true) => BfvParams::insecure(found.bfv()?).map(Params::Bfv),
    };
    Ok(made.map_err(he_core::Error::from)?)
}

/// The bytes of parameters as SEAL's `EncryptionParameters` reads them, not compressed.
///
/// # Errors
/// [`SealError::NotOfSeal`] for parameters that SEAL does not have.
pub fn write_params(params: &Params) -> Result<Vec<u8>, SealError> {
    let Parameters { scheme, degree, primes, plain_modulus } = Parameters::of(params)?;
    let mut members = vec![scheme];
    [degree, primes.len() as u64].into_iter().for_each(|word| members.extend(word.to_le_bytes()));
    let moduli = primes.iter().chain([&plain_modulus]);
    moduli.for_each(|modulus| members.extend(sealed(&modulus.to_le_bytes())));
    Ok(sealed(&members))
}

/// The first n / 2 powers of a number modulo 2 n.
pub fn powers(base: usize, n: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(1), move |power| Some(power * base % (2 * n))).take(n / 2)
}

/// The place, among the values that SEAL encodes, of the value in each slot.
///
/// Under CKKS, slot j of this library is the value at the root z^(5^j) and SEAL's value i is at
/// z^(3^i): values at z^(-k) are the conjugates of those at z^k, so that for real values there is
/// one i for each j. Under BFV, there are two rows, and the second has the exponents -(5^j) and
/// -(3^i).
pub fn slot_order(params: &Params) -> Vec<usize> {
    let n = params.rlwe().map_or(0, |rlwe| rlwe.ring().n());
    let (row, order) = (n / 2, 2 * n);
    let mut place_of = vec![0; order];
    for (place, power) in powers(3, n).enumerate() {
        place_of[power] = place;
        place_of[order - power] = row + place;
    }
    let first = powers(5, n).map(|power| place_of[power]);
    match params.is_exact() {
        false => first.map(|place| place % row.max(1)).collect(),
        true => first.chain(powers(5, n).map(|power| place_of[order - power])).collect(),
    }
}
