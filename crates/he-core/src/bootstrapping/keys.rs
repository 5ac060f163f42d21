//! The keys of bootstrapping.

use super::params::part;
use super::stages::{lower_requirements, map_requirements, reduction_requirements};
use super::{BootstrapKeyUse, BootstrapParams};
use crate::KeySetId;
use crate::backend::{Cpu, RingOps, Tally};
use crate::ckks::CkksParams;
use crate::error::{Error, Result};
use crate::ring::Ring;
use crate::rlwe::{EvaluationKeys, RlweCiphertext, RlweParams, SecretKey, SwitchKey, SwitchSource};
use derive_where::derive_where;
use rand::CryptoRng;

impl BootstrapParams {
    /// The keys that bootstrapping takes, in the order in which they are made and written. The
    /// first call makes the matrices, of which the rotations are those of keys.
    ///
    /// # Errors
    /// None in practice.
    pub fn key_uses(&self) -> Result<&[BootstrapKeyUse]> {
        let known = self.known_key_uses();
        match known.get() {
            Some(uses) => Ok(uses),
            None => self.find_key_uses().map(|uses| known.get_or_init(|| uses).as_slice()),
        }
    }

    fn find_key_uses(&self) -> Result<Vec<BootstrapKeyUse>> {
        let log_n = self.ring_spec().log_n();
        let sorted = |mut elements: Vec<u64>| {
            elements.retain(|&g| g != 1);
            elements.sort_unstable();
            elements
        };
        let mut uses = vec![BootstrapKeyUse::ToSparse, BootstrapKeyUse::ToDense, BootstrapKeyUse::Relin];
        for (matrix, requirements) in map_requirements(self)?.iter().enumerate() {
            let elements = sorted(requirements.galois_elements(log_n));
            uses.extend(elements.into_iter().map(|g| BootstrapKeyUse::CoeffsToSlots { matrix, g }));
        }
        let lower = sorted(lower_requirements(self)?.galois_elements(log_n));
        uses.extend(lower.into_iter().map(BootstrapKeyUse::SlotsToCoeffs));
        let joins = sorted(reduction_requirements(self)?.galois_elements(log_n));
        uses.extend(joins.into_iter().map(BootstrapKeyUse::Join));
        Ok(uses)
    }

    /// The primes and digits of a key; there is a matrix of CoeffsToSlots of its number.
    pub(crate) fn key_params(&self, purpose: BootstrapKeyUse) -> &RlweParams {
        match purpose {
            BootstrapKeyUse::ToSparse => self.sparse(),
            BootstrapKeyUse::ToDense => self.raise(),
            BootstrapKeyUse::Relin | BootstrapKeyUse::Join(_) => self.reduction().rlwe(),
            BootstrapKeyUse::CoeffsToSlots { matrix, .. } => self.maps()[matrix].rlwe(),
            BootstrapKeyUse::SlotsToCoeffs(_) => self.lower().rlwe(),
        }
    }

    /// The ring of a key; `ring` is that of [`ring`](Self::ring).
    pub(crate) fn key_ring<B: RingOps>(&self, ring: &Ring<B>, purpose: BootstrapKeyUse) -> Result<Ring<B>> {
        part(&self.whole(ring)?, self.key_params(purpose))
    }

    /// The memory that all keys take, in bytes: 2 (digits) (primes) N words of 64 bits for each. A
    /// back end that packs keys takes less ([`BootstrapKeys::bytes`]).
    ///
    /// # Errors
    /// None in practice.
    pub fn key_bytes(&self) -> Result<usize> {
        Ok(self.key_uses()?.iter().map(|&purpose| self.bytes_of_key(purpose)).sum())
    }

    /// The part of [`key_bytes`](Self::key_bytes) that a key takes. The time for making or reading
    /// it is about proportional to it.
    ///
    /// # Panics
    /// If there is no matrix of CoeffsToSlots of its number.
    pub fn bytes_of_key(&self, purpose: BootstrapKeyUse) -> usize {
        let rlwe = self.key_params(purpose);
        let primes = rlwe.ring().q().len() + rlwe.ring().p().len();
        2 * rlwe.digits().len() * primes * rlwe.ring().n() * size_of::<u64>()
    }
}

/// One key of bootstrapping, as it is made, written and read.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct BootstrapKey<B: RingOps = Cpu> {
    purpose: BootstrapKeyUse,
    key: SwitchKey<B>,
}

impl<B: RingOps> BootstrapKey<B> {
    /// A key for this purpose, over exactly the primes that it has there.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a key over other primes or of other digits.
    pub(crate) fn new(params: &BootstrapParams, purpose: BootstrapKeyUse, key: SwitchKey<B>) -> Result<Self> {
        let (expected, found) = (params.key_params(purpose).fingerprint(), key.params().fingerprint());
        if found != expected {
            let (found, expected) = (found.to_string(), expected.to_string());
            return Err(Error::ParamsMismatch { what: "bootstrapping key", found, expected });
        }
        Ok(Self { purpose, key })
    }

    /// The purpose of the key.
    pub fn purpose(&self) -> BootstrapKeyUse {
        self.purpose
    }

    pub(crate) fn key(&self) -> &SwitchKey<B> {
        &self.key
    }
}

/// The key that leads to the sparse secret. It is over q_0 p_0 alone, and nothing else takes it.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub(super) struct SparseKey<B: RingOps>(SwitchKey<B>);

impl<B: RingOps> SparseKey<B> {
    /// A ciphertext of the lowest level under the sparse secret.
    pub(super) fn switch(&self, ct: &RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        ct.switch(&self.0)
    }

    #[cfg(test)]
    pub(super) fn key(&self) -> &SwitchKey<B> {
        &self.0
    }
}

/// The key from the sparse secret back to that of programs. Its only digit is the whole chain: it
/// takes polynomials that are below q_0, and would drown others in noise.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub(super) struct RaiseKey<B: RingOps>(SwitchKey<B>);

impl<B: RingOps> RaiseKey<B> {
    /// A ciphertext under the sparse secret whose polynomials, modulo all primes, are below q_0.
    pub(super) fn switch(&self, raised: &RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        raised.switch(&self.0)
    }

    #[cfg(test)]
    pub(super) fn key(&self) -> &SwitchKey<B> {
        &self.0
    }
}

/// The keys with which the server bootstraps: evaluation keys for the levels of CoeffsToSlots and
/// the modular reduction, for those of SlotsToCoeffs (over fewer primes), and the two keys that
/// lead to the sparse secret and back.
///
/// The sparse secret is drawn for these keys and wiped when they are made. The key that leads to it
/// is over q_0 p_0 alone, and there is no other under it; the one that leads back holds it as a
/// message, encrypted under the dense secret.
///
/// They are large. [`write_to`](Self::write_to) and [`read_from`](Self::read_from) move them one by
/// one, and [`generate_to`](Self::generate_to) writes each as soon as it is made, so that a client
/// needs the memory of one.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct BootstrapKeys<B: RingOps = Cpu> {
    params: BootstrapParams,
    /// Under the sparse secret.
    pub(super) to_sparse: SparseKey<B>,
    /// Under the dense secret, over all primes.
    pub(super) to_dense: RaiseKey<B>,
    /// The keys for the modular reduction.
    pub(super) reduction: EvaluationKeys<B>,
    /// The keys for each matrix of CoeffsToSlots.
    pub(super) maps: Vec<EvaluationKeys<B>>,
    /// The keys for SlotsToCoeffs.
    pub(super) lower: EvaluationKeys<B>,
}

impl<B: RingOps> BootstrapKeys<B> {
    /// Generates all keys for a secret of [`BootstrapParams::params`]; `ring` is that of
    /// [`BootstrapParams::ring`].
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters, [`Error::Argument`] for a sparse
    /// one, [`Error::RingMismatch`] for another ring; device errors.
    pub fn generate(
        secret: &SecretKey,
        params: &BootstrapParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let mut collector = KeyCollector::new(params, ring)?;
        for key in Self::generate_each(secret, params, ring, rng)? {
            collector.add(key?)?;
        }
        collector.finish()
    }

    /// The same keys, each made when it is asked for. The sparse secret is wiped with the iterator.
    ///
    /// # Errors
    /// The same as for [`generate`](Self::generate), before any key is made.
    pub fn generate_each<'a>(
        secret: &SecretKey,
        params: &BootstrapParams,
        ring: &Ring<B>,
        rng: &'a mut (impl CryptoRng + ?Sized),
    ) -> Result<impl Iterator<Item = Result<BootstrapKey<B>>> + 'a>
    where
        B: 'a,
    {
        params.whole(ring)?;
        let widened = |stage: &CkksParams| secret.widened(params.params().rlwe(), stage.rlwe());
        let (dense, reduction) = (widened(params.upper())?, widened(params.reduction())?);
        let maps = params.maps().iter().map(widened).collect::<Result<Vec<_>>>()?;
        let narrow = dense.narrowed(params.lower().rlwe())?;
        let sparse = params.sparse_secret(rng)?;
        let (params, ring, uses) = (params.clone(), ring.clone(), params.key_uses()?.to_vec());
        let key = move |purpose| {
            let (rlwe, ring) = (params.key_params(purpose), params.key_ring(&ring, purpose)?);
            let key = match purpose {
                BootstrapKeyUse::ToSparse => SwitchKey::generate(&dense, &sparse, rlwe, &ring, rng),
                BootstrapKeyUse::ToDense => SwitchKey::generate(&sparse, &dense, rlwe, &ring, rng),
                BootstrapKeyUse::Relin => SwitchKey::for_square(&reduction, rlwe, &ring, rng),
                BootstrapKeyUse::Join(g) => SwitchKey::for_image(&reduction, g, rlwe, &ring, rng),
                BootstrapKeyUse::CoeffsToSlots { matrix, g } => {
                    SwitchKey::for_image(&maps[matrix], g, rlwe, &ring, rng)
                }
                BootstrapKeyUse::SlotsToCoeffs(g) => SwitchKey::for_image(&narrow, g, rlwe, &ring, rng),
            };
            BootstrapKey::new(&params, purpose, key?)
        };
        Ok(uses.into_iter().map(key))
    }

    /// The memory that they take on the device, in bytes.
    pub fn bytes(&self) -> usize {
        self.keys().map(|(_, key)| key.bytes()).sum()
    }

    /// The parameters.
    pub fn params(&self) -> &BootstrapParams {
        &self.params
    }

    /// The key set to which they belong, if known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.reduction.key_set()
    }

    /// Sets the key set of all of them. Nothing is checked.
    pub fn set_key_set(&mut self, key_set: Option<KeySetId>) {
        self.tables_mut().for_each(|keys| keys.set_key_set(key_set));
        self.to_dense.0.set_key_set(key_set);
        self.to_sparse.0.source = Some(SwitchSource::Secret(key_set));
    }

    fn tables_mut(&mut self) -> impl Iterator<Item = &mut EvaluationKeys<B>> {
        self.maps.iter_mut().chain([&mut self.reduction, &mut self.lower])
    }

    /// All keys with what they are for, in the order in which they are written.
    pub(crate) fn keys(&self) -> impl Iterator<Item = (BootstrapKeyUse, &SwitchKey<B>)> {
        let first =
            [(BootstrapKeyUse::ToSparse, &self.to_sparse.0), (BootstrapKeyUse::ToDense, &self.to_dense.0)];
        let relin = self.reduction.relin().ok().map(|key| (BootstrapKeyUse::Relin, key));
        let joins = self.reduction.galois_keys().map(|(g, key)| (BootstrapKeyUse::Join(g), key));
        let maps = self.maps.iter().enumerate().flat_map(|(matrix, keys)| {
            keys.galois_keys().map(move |(g, key)| (BootstrapKeyUse::CoeffsToSlots { matrix, g }, key))
        });
        let lower = self.lower.galois_keys().map(|(g, key)| (BootstrapKeyUse::SlotsToCoeffs(g), key));
        first.into_iter().chain(relin).chain(maps).chain(lower).chain(joins)
    }
}

impl BootstrapKeys<Tally> {
    /// Keys without words, by which a [`Tally`] counts the work of refreshes before they begin;
    /// `ring` is that of [`BootstrapParams::ring`].
    ///
    /// ```no_run
    /// use he_core::{backend::Tally, bootstrapping::*, ckks::Ciphertext};
    /// # fn work(params: &BootstrapParams, ct: &Ciphertext) -> he_core::Result<u64> {
    /// let tally = Tally::default();
    /// let ring = params.ring(tally.clone())?;
    /// let keys = BootstrapKeys::hollow(params, &ring)?;
    /// Bootstrapper::new(params, &ring)?.refresh(&ct.to(&ring)?, &keys)?;
    /// Ok(tally.work())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for another ring.
    pub fn hollow(params: &BootstrapParams, ring: &Ring<Tally>) -> Result<Self> {
        let mut collector = KeyCollector::new(params, ring)?;
        for &purpose in params.key_uses()? {
            let (rlwe, ring) = (params.key_params(purpose), params.key_ring(ring, purpose)?);
            collector.add(BootstrapKey::new(params, purpose, SwitchKey::empty(rlwe, &ring, None)?)?)?;
        }
        collector.finish()
    }
}

/// Puts keys together that come one by one, in the order of
/// [`key_uses`](BootstrapParams::key_uses).
pub(crate) struct KeyCollector<B: RingOps> {
    params: BootstrapParams,
    needed: std::vec::IntoIter<BootstrapKeyUse>,
    to_sparse: Option<SparseKey<B>>,
    to_dense: Option<RaiseKey<B>>,
    reduction: EvaluationKeys<B>,
    maps: Vec<EvaluationKeys<B>>,
    lower: EvaluationKeys<B>,
}

impl<B: RingOps> KeyCollector<B> {
    pub(crate) fn new(params: &BootstrapParams, ring: &Ring<B>) -> Result<Self> {
        let whole = params.whole(ring)?;
        let empty = |params: &CkksParams| {
            let rlwe = params.rlwe();
            EvaluationKeys::empty(rlwe, &part(&whole, rlwe)?)
        };
        Ok(Self {
            params: params.clone(),
            needed: params.key_uses()?.to_vec().into_iter(),
            to_sparse: None,
            to_dense: None,
            reduction: empty(params.reduction())?,
            maps: params.maps().iter().map(empty).collect::<Result<_>>()?,
            lower: empty(params.lower())?,
        })
    }

    /// The purpose that the next key must have.
    pub(crate) fn next_use(&self) -> Option<BootstrapKeyUse> {
        self.needed.as_slice().first().copied()
    }

    /// Adds the next key.
    pub(crate) fn add(&mut self, BootstrapKey { purpose, key }: BootstrapKey<B>) -> Result<()> {
        if self.needed.next() != Some(purpose) {
            return Err(Error::argument("bootstrapping keys", format!("{purpose} is out of order")));
        }
        match purpose {
            BootstrapKeyUse::ToSparse => self.to_sparse = Some(SparseKey(key)),
            BootstrapKeyUse::ToDense => self.to_dense = Some(RaiseKey(key)),
            BootstrapKeyUse::Relin => self.reduction.insert_relin(key)?,
            BootstrapKeyUse::Join(g) => self.reduction.insert_galois(g, key)?,
            BootstrapKeyUse::CoeffsToSlots { matrix, g } => self.maps[matrix].insert_galois(g, key)?,
            BootstrapKeyUse::SlotsToCoeffs(g) => self.lower.insert_galois(g, key)?,
        }
        Ok(())
    }

    /// All keys.
    pub(crate) fn finish(self) -> Result<BootstrapKeys<B>> {
        if let Some(missing) = self.next_use() {
            return Err(Error::argument("bootstrapping keys", format!("{missing} is missing")));
        }
        let Self { params, to_sparse: Some(to_sparse), to_dense: Some(to_dense), .. } = self else {
            return Err(Error::argument("bootstrapping keys", "some are missing"));
        };
        let (reduction, maps, lower) = (self.reduction, self.maps, self.lower);
        Ok(BootstrapKeys { params, to_sparse, to_dense, reduction, maps, lower })
    }
}
