//! Secret and evaluation keys.

use super::{BigCkksParams, SecretDistribution, SwitchKey};
use crate::backend::{Cpu, WideOps};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, secret_key_set_accessors};
use crate::ring::{Eval, Ring, SecretPoly, Seed, Span, check_galois, ternary_row};
use crate::rlwe::{KeyRequirements, secret_values};
use derive_where::derive_where;
use rand::CryptoRng;
use std::collections::BTreeMap;
use zeroize::Zeroizing;

/// A ternary secret, on the host; wiped on drop, never printed, not comparable.
///
/// Parameters can be copied and compared:
/// ```
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn copies(params: &BigCkksParams, secret: &SecretKey) -> bool {
///     let copy = Clone::clone(params);
///     PartialEq::eq(&copy, params)
/// }
/// ```
/// a secret cannot,
/// ```compile_fail
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn copies(params: &BigCkksParams, secret: &SecretKey) {
///     let copy: SecretKey = Clone::clone(secret);
/// }
/// ```
/// ```compile_fail
/// # use he_core::bigckks::{BigCkksParams, SecretKey};
/// fn compares(params: &BigCkksParams, secret: &SecretKey) -> bool {
///     PartialEq::eq(secret, secret)
/// }
/// ```
/// and what a server holds takes none:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, bigckks::{Ciphertext, Evaluator, SecretKey}};
/// fn serves(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, secret: &SecretKey) -> Result<()> {
///     ev.mul(ct, ct, secret).map(drop)
/// }
/// ```
pub struct SecretKey {
    params: BigCkksParams,
    coefficients: Zeroizing<Vec<i8>>,
    key_set: KeySetId,
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretKey { .. }")
    }
}

/// Exactly `weight` signs at uniform places, to a bias of 2^-47 a coefficient: selection sampling (Knuth, TAOCP 3.4.2, algorithm S), the
/// coefficient k being taken with probability (what is missing) / (what is left). Constant time.
fn sparse_row(weight: usize, out: &mut [i64], rng: &mut (impl CryptoRng + ?Sized)) {
    let (n, mut missing) = (out.len() as u64, weight as u64);
    for (k, out) in (0u64..).zip(out) {
        let place = ((u128::from(rng.next_u64()) * u128::from(n - k)) >> 64) as u64;
        // 1 iff place < missing: both are below 2^63.
        let taken = place.wrapping_sub(missing) >> 63;
        let sign = 1 - 2 * (rng.next_u64() & 1) as i64;
        *out = taken as i64 * sign;
        missing -= taken;
    }
}

secret_key_set_accessors!(SecretKey);

impl SecretKey {
    /// A fresh secret of the parameters' distribution; constant time.
    pub fn generate(params: &BigCkksParams, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        let mut row = Zeroizing::new(vec![0i64; params.ring().n()]);
        match params.spec().secret {
            SecretDistribution::UniformTernary => ternary_row(&Seed::random(rng), 0, 0, &mut row),
            SecretDistribution::Sparse { weight } => sparse_row(weight, &mut row, rng),
        }
        let coefficients = Zeroizing::new(row.iter().map(|&c| c as i8).collect());
        Self::named(params, coefficients)
    }

    /// From coefficients in {-1, 0, 1}.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of coefficients or other values, or another weight than that of sparse parameters.
    pub fn from_coefficients(params: &BigCkksParams, coefficients: Zeroizing<Vec<i8>>) -> Result<Self> {
        let n = params.ring().n();
        // One pass over everything: the time tells nothing about where a bad value is.
        let outside = coefficients.iter().fold(0u8, |bad, &c| bad | u8::from(!(-1..=1).contains(&c)));
        let found: usize = coefficients.iter().map(|&c| usize::from(c & 1 != 0)).sum();
        let weight_fits = match params.spec().secret {
            SecretDistribution::UniformTernary => true,
            SecretDistribution::Sparse { weight } => found == weight,
        };
        if coefficients.len() != n || outside != 0 || !weight_fits {
            let why = format!("{n} coefficients in -1 ..= 1, of the parameters' weight, are needed");
            return Err(Error::Argument { what: "secret key", why });
        }
        Ok(Self::named(params, coefficients))
    }

    fn named(params: &BigCkksParams, coefficients: Zeroizing<Vec<i8>>) -> Self {
        let key_set = KeySetId::of_ternary(params.fingerprint(), &coefficients);
        Self { params: params.clone(), coefficients, key_set }
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
        &self.params
    }

    /// The secret itself.
    pub fn expose_coefficients(&self) -> &[i8] {
        &self.coefficients
    }

    /// The secret over the primes of a span on a device, in evaluation form; wiped when dropped.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub(crate) fn on<B: WideOps>(&self, ring: &Ring<B>, span: Span) -> Result<SecretPoly<Eval, B>> {
        if ring.spec() != self.params.ring() {
            return Err(Error::RingMismatch);
        }
        Ok(secret_values(&self.coefficients, ring, span)?.of(self.key_set))
    }
}

/// What a server needs to compute: the relinearisation key (evk of the paper) and Galois keys. It cannot name a secret.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct EvaluationKeys<B: WideOps = Cpu> {
    params: BigCkksParams,
    ring: Ring<B>,
    relin: Option<SwitchKey<B>>,
    galois: BTreeMap<u64, SwitchKey<B>>,
    key_set: Option<KeySetId>,
}

impl<B: WideOps> EvaluationKeys<B> {
    /// None yet: parts are added as they are needed or read.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn empty(params: &BigCkksParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        let (params, ring) = (params.clone(), ring.clone());
        Ok(Self { params, ring, relin: None, galois: BTreeMap::new(), key_set: None })
    }

    /// Generates exactly the keys that are required: the relinearisation key, then Galois keys for
    /// the rotations, for the conjugation, and for further elements.
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

    fn check(&self, params: &BigCkksParams, what: &'static str) -> Result<()> {
        if *params != self.params {
            let [found, expected] = [params, &self.params].map(|params| params.fingerprint().to_string());
            return Err(Error::ParamsMismatch { what, found, expected });
        }
        Ok(())
    }

    /// Generates the relinearisation key: for s^2 under s.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`] for a secret of other parameters, or other
    /// than that of the keys that are there; device errors.
    pub fn add_relin(&mut self, secret: &SecretKey, rng: &mut (impl CryptoRng + ?Sized)) -> Result<()> {
        self.check(secret.params(), "secret key")?;
        self.key_set = common("secret key", Some(secret.key_set()), self.key_set)?;
        let s = secret.on(&self.ring, self.params.key_span())?;
        let mut square = s.get().duplicate()?;
        square.mul_assign(s.get())?;
        self.insert_relin(SwitchKey::generate(&self.params, SecretPoly::new(square), &s, rng)?)
    }

    /// Generates the missing ones of these Galois elements' keys: for s(X^g) under s; 1 needs none.
    /// Elements are odd and below 2N.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::KeyMismatch`] for a secret of other parameters, or other
    /// than that of the keys that are there; [`Error::Argument`] for any other element, before a
    /// key is generated; device errors.
    pub fn add_galois(
        &mut self,
        secret: &SecretKey,
        elements: impl IntoIterator<Item = u64>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<()> {
        self.check(secret.params(), "secret key")?;
        let elements: Vec<u64> = elements.into_iter().collect();
        elements.iter().try_for_each(|&g| check_galois(g, self.ring.spec().log_n()))?;
        self.key_set = common("secret key", Some(secret.key_set()), self.key_set)?;
        let s = secret.on(&self.ring, self.params.key_span())?;
        for g in elements {
            if g == 1 || self.galois.contains_key(&g) {
                continue;
            }
            let image = SecretPoly::new(s.get().automorphism(g)?);
            self.insert_galois(g, SwitchKey::generate(&self.params, image, &s, rng)?)?;
        }
        Ok(())
    }

    /// Adds a relinearisation key that was read.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`], [`Error::KeyMismatch`].
    pub fn insert_relin(&mut self, key: SwitchKey<B>) -> Result<()> {
        self.relin = Some(self.adopted(key)?);
        Ok(())
    }

    /// Adds a Galois key that was read.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`], [`Error::KeyMismatch`];
    /// [`Error::Argument`] for an element that is even or not below 2N.
    pub fn insert_galois(&mut self, g: u64, key: SwitchKey<B>) -> Result<()> {
        check_galois(g, self.ring.spec().log_n())?;
        let key = self.adopted(key)?;
        self.galois.insert(g, key);
        Ok(())
    }

    /// A key of these parameters, ring and key set, which is taken from the others where it is not
    /// known.
    fn adopted(&mut self, mut key: SwitchKey<B>) -> Result<SwitchKey<B>> {
        self.check(key.params(), "switching key")?;
        if !key.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        self.key_set = common("switching key", key.key_set(), self.key_set)?;
        key.set_key_set(self.key_set);
        Ok(key)
    }

    /// The key set that they belong to, if that is known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key_set
    }

    /// Says which key set all of them belong to, and those that are added without one.
    pub fn set_key_set(&mut self, key_set: Option<KeySetId>) {
        self.key_set = key_set;
        self.relin.iter_mut().chain(self.galois.values_mut()).for_each(|key| key.set_key_set(key_set));
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// The relinearisation key.
    ///
    /// # Errors
    /// [`Error::MissingRelinKey`].
    pub fn relin(&self) -> Result<&SwitchKey<B>> {
        self.relin.as_ref().ok_or(Error::MissingRelinKey)
    }

    /// The Galois key of an element, if there is one.
    pub fn galois(&self, g: u64) -> Option<&SwitchKey<B>> {
        self.galois.get(&g)
    }

    /// All Galois keys by element.
    pub fn galois_keys(&self) -> impl Iterator<Item = (u64, &SwitchKey<B>)> {
        self.galois.iter().map(|(&g, key)| (g, key))
    }

    /// Steps whose composition rotates by `step` with the keys present, as
    /// [`rotation_path`](crate::rlwe::EvaluationKeys::rotation_path) of the RLWE layer.
    ///
    /// # Errors
    /// [`Error::MissingGaloisKey`] if none does.
    pub fn rotation_path(&self, step: i64) -> Result<Vec<i64>> {
        crate::rlwe::rotation_path(step, self.ring.spec().log_n(), |g| self.galois.contains_key(&g))
    }

    /// The same keys in an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: WideOps>(&self, ring: &Ring<C>) -> Result<EvaluationKeys<C>> {
        let mut keys = EvaluationKeys::empty(&self.params, ring)?;
        keys.key_set = self.key_set;
        keys.relin = self.relin.as_ref().map(|key| key.to(ring)).transpose()?;
        for (g, key) in &self.galois {
            keys.galois.insert(*g, key.to(ring)?);
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// Places are uniform: each is taken in weight / N of the draws, within six deviations.
    #[test]
    fn sparse_secrets_have_their_weight() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for (n, weight) in [(4, 1), (16, 16), (64, 5), (1024, 64)] {
            let draws = 2000;
            let (mut taken, mut positive) = (vec![0f64; n], 0f64);
            for _ in 0..draws {
                let mut row = vec![7; n];
                sparse_row(weight, &mut row, &mut rng);
                assert!(row.iter().all(|c| (-1..=1).contains(c)));
                assert_eq!(row.iter().filter(|&&c| c != 0).count(), weight);
                taken.iter_mut().zip(&row).for_each(|(taken, &c)| *taken += f64::from(c != 0));
                positive += row.iter().filter(|&&c| c == 1).count() as f64;
            }
            let (p, draws) = (weight as f64 / n as f64, f64::from(draws));
            let deviation = (draws * p * (1.0 - p)).sqrt();
            assert!(taken.iter().all(|taken| (taken - draws * p).abs() <= 6.0 * deviation), "{n}, {weight}");
            let signs = draws * weight as f64;
            assert!((positive - signs / 2.0).abs() < 3.0 * signs.sqrt(), "{n}, {weight}: {positive}");
        }
    }
}
