//! Secret and evaluation keys.

use super::{KeyRequirements, KeySwitchKey, RlweParams};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, secret_key_set_accessors};
use crate::ring::{
    Automorphism, Coeff, Eval, Poly, Ring, SecretPoly, Seed, Span, check_galois, galois_rotation, ternary_row,
};
use derive_where::derive_where;
use rand::CryptoRng;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// A uniform ternary secret, on the host; wiped on drop, never printed, not comparable.
///
/// Parameters can be copied:
/// ```
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn copies(params: &RlweParams, secret: &SecretKey) {
///     let copy = Clone::clone(params);
/// }
/// ```
/// a secret cannot:
/// ```compile_fail
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn copies(params: &RlweParams, secret: &SecretKey) {
///     let copy = Clone::clone(secret);
/// }
/// ```
/// Parameters can be compared:
/// ```
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn compares(params: &RlweParams, secret: &SecretKey) {
///     fn equal_to_itself<T: PartialEq>(x: &T) -> bool {
///         x == x
///     }
///     equal_to_itself(params);
/// }
/// ```
/// secrets cannot, in a time that would tell where they differ:
/// ```compile_fail
/// # use he_core::rlwe::{RlweParams, SecretKey};
/// fn compares(params: &RlweParams, secret: &SecretKey) {
///     fn equal_to_itself<T: PartialEq>(x: &T) -> bool {
///         x == x
///     }
///     equal_to_itself(secret);
/// }
/// ```
/// A fingerprint can be shown:
/// ```
/// # use he_core::rlwe::{Fingerprint, SecretKey};
/// fn shows(fingerprint: &Fingerprint, secret: &SecretKey) -> String {
///     ToString::to_string(fingerprint)
/// }
/// ```
/// a secret cannot (its `Debug` output is `SecretKey { .. }`):
/// ```compile_fail
/// # use he_core::rlwe::{Fingerprint, SecretKey};
/// fn shows(fingerprint: &Fingerprint, secret: &SecretKey) -> String {
///     ToString::to_string(secret)
/// }
/// ```
/// What a server holds takes evaluation keys:
/// ```
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Evaluator}, rlwe::{EvaluationKeys, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, keys: &EvaluationKeys<Cpu>, secret: &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, keys).map(drop)
/// }
/// ```
/// and never a secret:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Evaluator}, rlwe::{EvaluationKeys, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, keys: &EvaluationKeys<Cpu>, secret: &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, secret).map(drop)
/// }
/// ```
pub struct SecretKey {
    params: RlweParams,
    coefficients: Zeroizing<Vec<i8>>,
    key_set: KeySetId,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey { .. }")
    }
}

secret_key_set_accessors!(SecretKey);

impl SecretKey {
    /// A fresh secret; constant time.
    pub fn generate(params: &RlweParams, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut row = Zeroizing::new(vec![0i64; params.ring().n()]);
        ternary_row(&Seed::random(rng), 0, 0, &mut row);
        let coefficients = Zeroizing::new(row.iter().map(|&c| c as i8).collect());
        Self::named(params, coefficients)
    }

    /// From coefficients in {-1, 0, 1}.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of coefficients or other values.
    pub fn from_coefficients(params: &RlweParams, coefficients: Zeroizing<Vec<i8>>) -> Result<Self> {
        let n = params.ring().n();
        // One pass over everything: the time tells nothing about where a bad value is.
        let outside = coefficients.iter().fold(0u8, |bad, &c| bad | u8::from(!(-1..=1).contains(&c)));
        if coefficients.len() != n || outside != 0 {
            return Err(Error::Argument {
                what: "secret key",
                why: format!("{n} coefficients in -1 ..= 1 are needed"),
            });
        }
        Ok(Self::named(params, coefficients))
    }

    fn named(params: &RlweParams, coefficients: Zeroizing<Vec<i8>>) -> Self {
        let key_set = KeySetId::of_ternary(params.fingerprint(), &coefficients);
        Self { params: params.clone(), coefficients, key_set }
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// The coefficients: the secret itself.
    pub fn expose_coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// The secret over the primes of a span on a device, in evaluation form; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn on<B: RingOps>(&self, ring: &Ring<B>, span: Span) -> Result<SecretPoly<Eval, B>> {
        if ring.spec() != self.params.ring() {
            return Err(Error::RingMismatch);
        }
        Ok(secret_values(&self.coefficients, ring, span)?.of(self.key_set))
    }
}

/// A secret's coefficients over the primes of a span, in evaluation form; wiped when dropped.
///
/// # Errors
/// Device errors.
pub(crate) fn secret_values<B: RingOps>(
    coefficients: &[i8],
    ring: &Ring<B>,
    span: Span,
) -> Result<SecretPoly<Eval, B>> {
    let wide: Zeroizing<Vec<i64>> = Zeroizing::new(coefficients.iter().map(|&c| i64::from(c)).collect());
    let poly: Poly<Coeff, B> = Poly::from_signed(ring, span, 1, &wide)?;
    Ok(SecretPoly::new(poly.into_eval()?))
}

/// What a server needs to compute: relinearisation and Galois keys. It cannot name a secret.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct EvaluationKeys<B: RingOps = Cpu> {
    params: RlweParams,
    ring: Ring<B>,
    relin: Option<KeySwitchKey<B>>,
    galois: BTreeMap<u64, KeySwitchKey<B>>,
    key_set: Option<KeySetId>,
}

impl<B: RingOps> EvaluationKeys<B> {
    /// None yet: parts are added as they are needed or read.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn empty(params: &RlweParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        let (params, ring) = (params.clone(), ring.clone());
        Ok(Self { params, ring, relin: None, galois: BTreeMap::new(), key_set: None })
    }

    /// Generates exactly the keys that are required: the relinearisation key, then Galois keys for
    /// the rotations, for the conjugation, and for further elements. Each draws two seeds from
    /// `rng`.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::CkksParams, ring::Ring, rlwe::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let needs = KeyRequirements::new().relinearisation().rotations([1, 2]);
    /// let keys = EvaluationKeys::generate(&secret, &ring, &needs, &mut rng)?;
    /// assert!(keys.relin().is_ok() && keys.galois_keys().count() == 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; [`Error::Argument`] for a Galois
    /// element that is even or not below 2N; device errors.
    pub fn generate(
        secret: &SecretKey,
        ring: &Ring<B>,
        requirements: impl AsRef<KeyRequirements>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let requirements = requirements.as_ref();
        let mut keys = Self::empty(secret.params(), ring)?;
        if requirements.needs_relinearisation() {
            keys.add_relin(secret, rng)?;
        }
        keys.add_galois(secret, requirements.galois_elements(ring.spec().log_n()), rng)?;
        Ok(keys)
    }

    /// Generates the relinearisation key.
    ///
    /// # Errors
    /// [`Error::KeyMismatch`] for a secret other than that of the keys that are there; device
    /// errors.
    pub fn add_relin(&mut self, secret: &SecretKey, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
        let s = secret.on(&self.ring, self.params.key_span())?;
        self.key_set = common("secret key", Some(secret.key_set()), self.key_set)?;
        let mut square = s.get().duplicate()?;
        square.mul_assign(s.get())?;
        let square = SecretPoly::new(square);
        let (seed, errors) = (Seed::random(rng), Seed::random(rng));
        self.insert_relin(KeySwitchKey::generate(&self.params, &square, &s, seed, &errors)?);
        Ok(())
    }

    /// Generates the missing ones of these Galois elements' keys; 1 needs none. Elements are odd
    /// and below 2N.
    ///
    /// # Errors
    /// [`Error::Argument`] for any other element, before a key is generated; [`Error::KeyMismatch`]
    /// for a secret other than that of the keys that are there; device errors.
    pub fn add_galois(
        &mut self,
        secret: &SecretKey,
        elements: impl IntoIterator<Item = u64>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let log_n = self.ring.spec().log_n();
        let elements: Vec<u64> = elements.into_iter().collect();
        elements.iter().try_for_each(|&g| check_galois(g, log_n))?;
        let s = secret.on(&self.ring, self.params.key_span())?;
        self.key_set = common("secret key", Some(secret.key_set()), self.key_set)?;
        for g in elements {
            if g == 1 || self.galois.contains_key(&g) {
                continue;
            }
            let inverse = Automorphism::new(g, log_n).inverse_element();
            let image = SecretPoly::new(s.get().automorphism(inverse)?);
            let (seed, errors) = (Seed::random(rng), Seed::random(rng));
            self.insert_galois(g, KeySwitchKey::generate(&self.params, &s, &image, seed, &errors)?);
        }
        Ok(())
    }

    /// Adds a relinearisation key that was read. If its key set is not known, it is that of the
    /// others.
    pub fn insert_relin(&mut self, key: KeySwitchKey<B>) {
        self.relin = Some(self.adopted(key));
    }

    /// Adds a Galois key that was read, likewise.
    pub fn insert_galois(&mut self, g: u64, key: KeySwitchKey<B>) {
        let key = self.adopted(key);
        self.galois.insert(g, key);
    }

    /// A key of another key set keeps its own: it is refused where it is used.
    fn adopted(&mut self, mut key: KeySwitchKey<B>) -> KeySwitchKey<B> {
        self.key_set = self.key_set.or(key.key_set);
        key.key_set = key.key_set.or(self.key_set);
        key
    }

    /// The key set that they belong to, if that is known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key_set
    }

    /// Says which key set all of them belong to, and those that are added without one.
    pub fn set_key_set(&mut self, key_set: Option<KeySetId>) {
        self.key_set = key_set;
        self.relin.iter_mut().chain(self.galois.values_mut()).for_each(|key| key.key_set = key_set);
    }

    /// The parameters.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// Whether the keys are of these parameters, in this ring.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`].
    pub fn check(&self, params: &RlweParams, ring: &Ring<B>) -> Result<()> {
        params.expect(&self.params, "evaluation key")?;
        if self.ring.same(ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`].
    pub fn relin(&self) -> Result<&KeySwitchKey<B>> {
        self.relin.as_ref().ok_or(Error::MissingRelinKey)
    }

    /// The Galois key of an element, if there is one.
    pub fn galois(&self, g: u64) -> Option<&KeySwitchKey<B>> {
        self.galois.get(&g)
    }

    /// All Galois keys by element.
    pub fn galois_keys(&self) -> impl Iterator<Item = (u64, &KeySwitchKey<B>)> {
        self.galois.iter().map(|(&g, key)| (g, key))
    }

    /// The same keys in an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<EvaluationKeys<C>> {
        let mut keys = EvaluationKeys::empty(&self.params, ring)?;
        keys.key_set = self.key_set;
        keys.relin = self.relin.as_ref().map(|key| key.to(ring)).transpose()?;
        for (g, key) in &self.galois {
            keys.galois.insert(*g, key.to(ring)?);
        }
        Ok(keys)
    }

    /// Steps whose composition rotates by `step` with the keys present: the direct one if there is a key, otherwise the shortest
    /// signed binary expansion over the powers of two that have keys.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`] if neither works.
    pub fn rotation_path(&self, step: i64) -> Result<Vec<i64>> {
        rotation_path(step, self.ring.spec().log_n(), |g| self.galois.contains_key(&g))
    }
}

/// Steps whose composition rotates by `step`, if `has` tells which Galois elements have keys: the direct one, otherwise the shortest
/// signed binary expansion over the powers of two that have keys.
///
/// # Errors
/// [`Error::MissingGaloisKey`] if neither works.
pub(crate) fn rotation_path(step: i64, log_n: u32, has: impl Fn(u64) -> bool) -> Result<Vec<i64>> {
    let slots = 1i64 << (log_n - 1);
    let step = step.rem_euclid(slots);
    if step == 0 {
        return Ok(Vec::new());
    }
    if has(galois_rotation(step, log_n)) {
        return Ok(vec![step]);
    }
    let has = |s: i64| s == 0 || has(galois_rotation(s, log_n));
    // The shortest expansions of the bits below `power` that leave no carry, and a carry.
    let mut best: [Option<Vec<i64>>; 2] = [Some(Vec::new()), None];
    let mut power = 1;
    while power < slots {
        let mut next = [None, None];
        for (carry, path) in best.iter().enumerate() {
            let Some(path) = path else { continue };
            let digits: &[(i64, usize)] = match usize::from(step & power != 0) + carry {
                0 => &[(0, 0)],
                1 => &[(1, 0), (-1, 1)],
                _ => &[(0, 1)],
            };
            for &(digit, carry) in digits.iter().filter(|(digit, _)| has(digit * power)) {
                let longer: Vec<i64> =
                    path.iter().copied().chain((digit != 0).then_some(digit * power)).collect();
                if next[carry].as_ref().is_none_or(|known: &Vec<i64>| longer.len() < known.len()) {
                    next[carry] = Some(longer);
                }
            }
        }
        best = next;
        power *= 2;
    }
    // A carry beyond the highest bit is a full turn.
    best.into_iter().flatten().min_by_key(Vec::len).ok_or(Error::MissingGaloisKey { step })
}
