//! Evaluation keys: one of each kind that computing needs.

use super::{EvaluationKey, GadgetKey, KeyParams, KeyRequirements, RlweParams, SwitchSource, TernarySecret};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common};
use crate::ring::{Ring, check_galois, galois_rotation};
use derive_where::derive_where;
use rand::CryptoRng;
use std::collections::BTreeMap;

/// The keys with which a server computes: a relinearisation key and Galois keys. It cannot name a
/// secret. [`EvaluationKeys`] of `rlwe` and of [`bigckks`](crate::bigckks::EvaluationKeys) are such
/// tables.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct KeyTable<P: KeyParams, B: RingOps> {
    params: P,
    ring: Ring<B>,
    relin: Option<GadgetKey<P, B>>,
    galois: BTreeMap<u64, GadgetKey<P, B>>,
    key_set: Option<KeySetId>,
}

/// The evaluation keys of every scheme over RNS rings: CKKS, BFV and BGV.
pub type EvaluationKeys<B = Cpu> = KeyTable<RlweParams, B>;

impl<P: KeyParams, B: RingOps> KeyTable<P, B> {
    /// Makes an empty set of keys, to which keys are added as they are needed or read.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn empty(params: &P, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.key_ring() {
            return Err(Error::RingMismatch);
        }
        let (params, ring) = (params.clone(), ring.clone());
        Ok(Self { params, ring, relin: None, galois: BTreeMap::new(), key_set: None })
    }

    /// Adds a relinearisation key that was read. If its key set is not known, it takes that of the
    /// others.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`], [`Error::KeyMismatch`];
    /// [`Error::Argument`] for a key that is known to be another one.
    pub fn insert_relin(&mut self, key: GadgetKey<P, B>) -> Result<()> {
        self.relin = Some(self.adopted(key, SwitchSource::Square)?);
        Ok(())
    }

    /// Adds a Galois key that was read, likewise.
    ///
    /// # Errors
    /// The same as for [`insert_relin`](Self::insert_relin); [`Error::Argument`] for an element
    /// that is even or not below 2N.
    pub fn insert_galois(&mut self, g: u64, key: GadgetKey<P, B>) -> Result<()> {
        check_galois(g, self.ring.spec().log_n())?;
        let key = self.adopted(key, SwitchSource::Image(g))?;
        self.galois.insert(g, key);
        Ok(())
    }

    /// A key of these parameters, ring and key set, which is taken from the others where it is not
    /// known.
    fn adopted(&mut self, mut key: GadgetKey<P, B>, source: SwitchSource) -> Result<GadgetKey<P, B>> {
        self.params.check_same(key.params(), "switching key")?;
        if !key.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let key_set = common("switching key", key.key_set(), self.key_set)?;
        key.set_source(source)?;
        key.set_key_set(key_set);
        self.key_set = key_set;
        Ok(key)
    }

    /// Adds the keys of another table, in the place of those of the same kind.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::CkksParams, ring::Ring, rlwe::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let (products, rotations) =
    ///     (KeyRequirements::new().relinearisation(), KeyRequirements::new().rotations([1]));
    /// let mut keys = EvaluationKeys::generate(&secret, &ring, &products, &mut rng)?;
    /// keys.merge(EvaluationKeys::generate(&secret, &ring, &rotations, &mut rng)?)?;
    /// assert!(keys.relin().is_ok() && keys.galois_keys().count() == 1);
    ///
    /// let stranger = SecretKey::generate(params.rlwe(), &mut rng);
    /// let others = EvaluationKeys::generate(&stranger, &ring, &rotations, &mut rng)?;
    /// assert!(keys.merge(others).is_err());
    /// keys.remove_relin();
    /// keys.remove_galois();
    /// assert!(keys.relin().is_err() && keys.galois_keys().count() == 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; [`Error::KeyMismatch`] for keys of
    /// another key set. The keys before the one that fails are added.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        other.check(&self.params, &self.ring)?;
        other.relin.into_iter().try_for_each(|key| self.insert_relin(key))?;
        other.galois.into_iter().try_for_each(|(g, key)| self.insert_galois(g, key))
    }

    /// Removes the relinearisation key.
    pub fn remove_relin(&mut self) {
        self.relin = None;
    }

    /// Removes all Galois keys.
    pub fn remove_galois(&mut self) {
        self.galois.clear();
    }

    /// The key set to which they belong, if known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key_set
    }

    /// Sets the key set of all of them, and of keys that are added without one.
    pub fn set_key_set(&mut self, key_set: Option<KeySetId>) {
        self.key_set = key_set;
        self.relin.iter_mut().chain(self.galois.values_mut()).for_each(|key| key.set_key_set(key_set));
    }

    /// The parameters.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// Checks that the keys are of these parameters, in this ring.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`].
    pub fn check(&self, params: &P, ring: &Ring<B>) -> Result<()> {
        params.check_same(&self.params, "evaluation key")?;
        if self.ring.same(ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`].
    pub fn relin(&self) -> Result<&GadgetKey<P, B>> {
        self.relin.as_ref().ok_or(Error::MissingRelinKey)
    }

    /// The Galois key of an element, if it exists.
    pub fn galois(&self, g: u64) -> Option<&GadgetKey<P, B>> {
        self.galois.get(&g)
    }

    /// All Galois keys by element.
    pub fn galois_keys(&self) -> impl Iterator<Item = (u64, &GadgetKey<P, B>)> {
        self.galois.iter().map(|(&g, key)| (g, key))
    }

    /// The steps whose composition rotates by `step` with the existing keys: the step itself if it
    /// has a key, otherwise the shortest signed binary expansion over the powers of two that have
    /// keys.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`] if neither works.
    pub fn rotation_path(&self, step: i64) -> Result<Vec<i64>> {
        rotation_path(step, self.ring.spec().log_n(), |g| self.galois.contains_key(&g))
    }

    /// Copies the keys to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<KeyTable<P, C>> {
        let galois = self.galois.iter().map(|(&g, key)| Ok((g, key.to(ring)?)));
        Ok(KeyTable {
            relin: self.relin.as_ref().map(|key| key.to(ring)).transpose()?,
            galois: galois.collect::<Result<_>>()?,
            key_set: self.key_set,
            ..KeyTable::empty(&self.params, ring)?
        })
    }
}

impl<P: KeyParams, B: RingOps> KeyTable<P, B>
where
    GadgetKey<P, B>: EvaluationKey<P, B>,
{
    /// Generates exactly the keys that are required: the relinearisation key, then Galois keys for
    /// the rotations, for the conjugation, and for further elements. Each draws two seeds from
    /// `rng`.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::CkksParams, ring::Ring, rlwe::*};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
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
        secret: &TernarySecret<P>,
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

    /// Whether a secret is of these parameters, and of the key set of the keys that are there.
    fn check_secret(&mut self, secret: &TernarySecret<P>) -> Result<()> {
        self.params.check_same(secret.params(), "secret key")?;
        self.key_set = common("secret key", Some(secret.key_set()), self.key_set)?;
        Ok(())
    }

    /// Generates the relinearisation key: for s^2 under s.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`] for a secret of other parameters, or other
    /// than that of the keys that are there; device errors.
    pub fn add_relin(
        &mut self,
        secret: &TernarySecret<P>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        self.check_secret(secret)?;
        self.insert_relin(GadgetKey::relinearisation(secret, &self.ring, rng)?)
    }

    /// Generates those keys of these Galois elements that are missing; 1 needs none. Elements are
    /// odd and below 2N.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`] for a secret of other parameters, or other
    /// than that of the keys that are there; [`Error::Argument`] for any other element, before a
    /// key is generated; device errors.
    pub fn add_galois(
        &mut self,
        secret: &TernarySecret<P>,
        elements: impl IntoIterator<Item = u64>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        let elements: Vec<u64> = elements.into_iter().collect();
        elements.iter().try_for_each(|&g| check_galois(g, self.ring.spec().log_n()))?;
        self.check_secret(secret)?;
        for g in elements {
            if g != 1 && !self.galois.contains_key(&g) {
                self.insert_galois(g, GadgetKey::galois(secret, g, &self.ring, rng)?)?;
            }
        }
        Ok(())
    }
}

/// The steps whose composition rotates by `step`, where `has` says which Galois elements have keys:
/// the step itself, otherwise the shortest signed binary expansion over the powers of two that have
/// keys.
///
/// # Errors
/// [`Error::MissingGaloisKey`] if neither works.
pub fn rotation_path(step: i64, log_n: u32, has: impl Fn(u64) -> bool) -> Result<Vec<i64>> {
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
