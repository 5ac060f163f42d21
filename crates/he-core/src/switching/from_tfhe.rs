//! From large ciphertexts of TFHE to coefficients.

use super::to_tfhe::embedded;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::KeySetId;
use crate::parallel::*;
use crate::params::ParamsError;
use crate::ring::{Coeff, Eval, Poly, Ring, Span};
use crate::rlwe::{RlweCiphertext, RlweParams, SecretKey, SwitchKey, SwitchSource};
use crate::tfhe::{LweBatch, LweOps, TfheParams, TfheSecretKey};
use derive_where::derive_where;
use rand::CryptoRng;

/// The ciphertexts that are packed together before others are made: each has the memory of a
/// polynomial pair.
const GROUP: usize = 128;

/// The words of each ciphertext that one thread takes to their places together.
const PART: usize = 64;

/// Checked parameters of the way from TFHE to RLWE ciphertexts over the first prime of their chain.
#[derive(Clone, Debug, PartialEq)]
pub struct FromTfheParams {
    tfhe: TfheParams,
    target: RlweParams,
    /// The first prime of the chain, and the special primes that keys take.
    low: RlweParams,
}

impl FromTfheParams {
    /// From large ciphertexts of `tfhe` to those of `target`, which have its security: keys are
    /// over its first prime and as many special primes as are as wide.
    ///
    /// # Errors
    /// [`ParamsError::OutOfRange`] for GLWE of more than one polynomial, or of a higher degree than
    /// that of `target`; [`ParamsError::Digits`] if all special primes are narrower than the first
    /// prime.
    pub fn new(tfhe: &TfheParams, target: &RlweParams) -> Result<Self, ParamsError> {
        super::params::check_degrees(tfhe, target.ring().log_n())?;
        let digits = || RlweParams::even_digits(1, 1);
        let rings = (1..=target.ring().p().len()).filter_map(|p| target.ring().prefix(1, p));
        let error = ParamsError::Digits { why: "there are no special primes".to_owned() };
        let low = rings.map(|ring| RlweParams::insecure(ring, digits())).fold(Err(error), Result::or)?;
        Ok(Self { tfhe: tfhe.clone(), target: target.clone(), low })
    }

    /// The parameters of the ciphertexts that are packed.
    pub fn tfhe(&self) -> &TfheParams {
        &self.tfhe
    }

    /// The parameters of the results.
    pub fn target(&self) -> &RlweParams {
        &self.target
    }

    /// The primes of keys.
    pub fn key(&self) -> &RlweParams {
        &self.low
    }

    /// The number of keys: one from the secret of TFHE, and one per automorphism.
    pub(crate) fn keys(&self) -> usize {
        1 + self.low.ring().log_n() as usize
    }

    /// The ring of keys, of that of the target's parameters.
    pub(crate) fn key_ring<B: RingOps>(&self, ring: &Ring<B>) -> Result<Ring<B>> {
        if ring.spec() != self.target.ring() {
            return Err(Error::RingMismatch);
        }
        ring.prefix(1, self.low.ring().p().len())
    }

    /// log2 of the greatest deviation of what packing adds to a phase, on the torus: N times the
    /// noise of the first switch, and that of the automorphisms, which halves with every one.
    pub fn noise_log2<B: RingOps>(&self, key: &FromTfheKey<B>) -> f64 {
        let ring = self.low.ring();
        // 1 + 1/4 + 1/16 + ... is 4/3.
        let automorphisms = libm::log2(4.0 / 3.0) / 2.0;
        key.switch.noise_log2(1) + automorphisms + f64::from(ring.log_n()) - libm::log2(ring.q()[0] as f64)
    }
}

/// The keys of packing: from TFHE's large secret, and for the automorphisms X -> X^(2^k + 1).
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct FromTfheKey<B: RingOps = Cpu> {
    params: FromTfheParams,
    switch: SwitchKey<B>,
    /// For k = 1, 2, ..., log2 N.
    images: Vec<SwitchKey<B>>,
}

impl<B: RingOps> FromTfheKey<B> {
    /// Keys from one secret to the other; `ring` is that of the target's parameters. They take
    /// ciphertexts of the key set of `from` to that of `to`. Constant time.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for a secret of other parameters of TFHE, [`Error::RingMismatch`]
    /// for other primes; device errors.
    pub fn generate(
        from: &TfheSecretKey,
        to: &SecretKey,
        params: &FromTfheParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let (low, ring) = (&params.low, params.key_ring(ring)?);
        let (from, to) = (embedded(from, &params.tfhe, low)?, to.narrowed(low)?);
        let switch = SwitchKey::generate(&from, &to, low, &ring, rng)?;
        let elements = (0..low.ring().log_n()).map(element);
        let images =
            elements.map(|g| SwitchKey::for_image(&to, g, low, &ring, rng)).collect::<Result<_>>()?;
        Ok(Self { params: params.clone(), switch, images })
    }

    /// Keys in the order of [`switching_keys`](Self::switching_keys), of no known key sets.
    pub(crate) fn from_keys(params: &FromTfheParams, keys: Vec<SwitchKey<B>>) -> Result<Self> {
        let mut keys = keys.into_iter();
        let Some(mut switch) = keys.next() else {
            return Err(Error::argument("keys from TFHE", "there are none"));
        };
        switch.set_source(SwitchSource::Secret(None))?;
        let mut images: Vec<_> = keys.collect();
        for (key, k) in images.iter_mut().zip(0..) {
            key.set_source(SwitchSource::Image(element(k)))?;
        }
        Ok(Self { params: params.clone(), switch, images })
    }

    /// That from TFHE's secret, then those for k = 1, 2, ..., log2 N.
    pub(crate) fn switching_keys(&self) -> impl Iterator<Item = &SwitchKey<B>> {
        std::iter::once(&self.switch).chain(&self.images)
    }

    /// The parameters.
    pub fn params(&self) -> &FromTfheParams {
        &self.params
    }

    /// The key set that they lead to, if known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.switch.key_set()
    }

    /// Sets the key sets that they lead from and to, for keys that were decoded from a frame.
    /// Nothing is checked.
    pub fn set_key_sets(&mut self, from: Option<KeySetId>, to: Option<KeySetId>) {
        self.switch.source = Some(SwitchSource::Secret(from));
        self.switch.set_key_set(to);
        self.images.iter_mut().for_each(|key| key.set_key_set(to));
    }

    /// The memory that it takes on a device, in bytes.
    pub fn bytes(&self) -> usize {
        let ring = self.params.low.ring();
        self.params.keys() * 2 * (1 + ring.p().len()) * ring.n() * size_of::<u64>()
    }
}

/// The places of 2^l packed phases.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// N / 2^l coefficients from each to the next.
    Everywhere,
    /// N / 2^(l + 1) coefficients apart, in the first half.
    FirstHalf,
}

/// Packs ciphertexts of TFHE; knows no secret.
///
/// Source: Chen, Dai, Kim, Song, *Efficient Homomorphic Conversion Between (Ring) LWE Ciphertexts*,
/// ACNS 2021, algorithm 2.
pub struct FromTfhe<B: RingOps + LweOps = Cpu> {
    params: FromTfheParams,
    ring: Ring<B>,
    whole: Ring<B>,
    /// X^(N / 2^k) for k = 1, 2, ..., log2 N.
    monomials: Vec<Poly<Eval, B>>,
    /// For N > N': where the coefficients of each ciphertext are in a polynomial of N/N' - 1 of
    /// them side by side.
    places: Vec<B::Buf>,
}

impl<B: RingOps + LweOps> std::fmt::Debug for FromTfhe<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FromTfhe {{ params: {:?} }}", self.params)
    }
}

impl<B: RingOps + LweOps> FromTfhe<B> {
    /// `ring` is that of the target's parameters.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for another ring; device errors.
    pub fn new(params: &FromTfheParams, ring: &Ring<B>) -> Result<Self> {
        let (low, n) = (params.key_ring(ring)?, ring.n());
        let monomial = |k: u32| Poly::monomial(&low, Span::chain(1), n >> k);
        let monomials = (1..=low.spec().log_n()).map(monomial).collect::<Result<_>>()?;
        let step = n / params.tfhe.dimension();
        let place = |place: usize| {
            let from = |k: usize| if k.is_multiple_of(step) { k + place } else { step - 1 };
            ring.backend().upload(&(0..n).map(|k| from(k) as u64).collect::<Vec<_>>())
        };
        let places = (0..step - 1).map(place).collect::<Result<_>>()?;
        Ok(Self { params: params.clone(), ring: low, whole: ring.clone(), monomials, places })
    }

    /// The parameters.
    pub fn params(&self) -> &FromTfheParams {
        &self.params
    }

    /// A ciphertext over the first prime q_0 whose phase has q_0 times the phase of ciphertext i at
    /// coefficient i N / 2^l, for the least 2^l that is not below their number, and zeros
    /// elsewhere, plus noise ([`FromTfheParams::noise_log2`]).
    ///
    /// It takes a key switch per ciphertext, and 2^l + log2 N - l automorphisms.
    ///
    /// # Errors
    /// [`Error::BatchRange`] for none or more than N, mismatch of parameters, rings or key sets,
    /// before any work; device errors.
    pub fn pack(&self, samples: &LweBatch<B>, key: &FromTfheKey<B>) -> Result<RlweCiphertext<B>> {
        let count = samples.count();
        self.check(samples.params(), count, key)?;
        let indices: Vec<usize> = (0..count.next_power_of_two()).collect();
        self.packed(samples, &indices, Place::Everywhere, key)
    }

    /// Packs the ciphertexts of these indices, 2^l in number, zeros standing for those that do not
    /// exist.
    pub(super) fn packed(
        &self,
        samples: &LweBatch<B>,
        indices: &[usize],
        place: Place,
        key: &FromTfheKey<B>,
    ) -> Result<RlweCiphertext<B>> {
        self.check_key(samples.params(), key)?;
        let words = samples.download()?;
        // Ciphertexts that are merged early are far apart: those of a group have one remainder.
        let size = indices.len().min(GROUP);
        let groups = indices.len() / size;
        let first = match place {
            Place::Everywhere => 0,
            Place::FirstHalf => 1,
        };
        let group = |remainder: usize| {
            let indices: Vec<usize> = indices.iter().copied().skip(remainder).step_by(groups).collect();
            let mut pairs = self.raised(&words, &indices)?;
            pairs.set_key_set(samples.key_set());
            let mut pairs = pairs.switch(&key.switch)?;
            for k in 0..first {
                pairs = pairs.add(&image(&pairs, k, key)?)?;
            }
            self.merged(pairs, first, key)
        };
        let packed = (0..groups).map(group).collect::<Result<Vec<_>>>()?;
        let packed = RlweCiphertext::concat(&packed.iter().collect::<Vec<_>>())?;
        let mut packed = self.merged(packed, first + size.ilog2(), key)?;
        let merges = first + indices.len().ilog2();
        for k in merges..self.ring.spec().log_n() {
            packed = packed.add(&image(&packed, k, key)?)?;
        }
        let [mut c0, c1] = packed.c;
        c0.add_assign(&self.bodies(&words, indices, self.ring.n() >> merges)?)?;
        Ok(RlweCiphertext {
            c: [c0.into_ring(&self.whole)?, c1.into_ring(&self.whole)?],
            key_set: packed.key_set,
        })
    }

    /// Whether so many ciphertexts of these parameters can be packed by these keys.
    pub(super) fn check(&self, tfhe: &TfheParams, count: usize, key: &FromTfheKey<B>) -> Result<()> {
        if count == 0 || count > self.ring.n() {
            return Err(Error::BatchRange { start: 0, end: count, batch: self.ring.n() });
        }
        self.check_key(tfhe, key)
    }

    fn check_key(&self, tfhe: &TfheParams, key: &FromTfheKey<B>) -> Result<()> {
        self.params.tfhe.check_same(tfhe, "ciphertexts of TFHE")?;
        if key.params != self.params {
            let (why, hint) = ("they are of other parameters", "generate them for those of the packing");
            return Err(Error::domain("keys from TFHE", why, hint));
        }
        if !self.ring.shares(key.switch.ring()) {
            return Err(Error::RingMismatch);
        }
        Ok(())
    }

    /// round(q_0 w / 2^64) modulo q_0 for a word w.
    fn residue(&self, word: u64) -> u64 {
        let q = self.ring.spec().q_moduli()[0];
        q.reduce(((u128::from(word) * u128::from(q.value()) + (1 << 63)) >> 64) as u64)
    }

    /// The bodies of the ciphertexts of these indices at coefficients that are so far apart. They
    /// come out of packing as they are, N times 1/N of each, since only masks are switched.
    fn bodies(&self, words: &[u64], indices: &[usize], apart: usize) -> Result<Poly<Eval, B>> {
        let (n, width) = (self.ring.n(), self.params.tfhe.words());
        let mut bodies = vec![0; n];
        for (body, &index) in bodies.iter_mut().step_by(apart).zip(indices) {
            let sample = words.chunks_exact(width).nth(index);
            *body = sample.map_or(0, |sample| self.residue(sample[width - 1]));
        }
        Poly::<Coeff, B>::from_words(&self.ring, Span::chain(1), 1, &bodies)?.into_eval()
    }

    /// The masks of the ciphertexts of these indices, 1/N times, as ciphertexts of the ring under
    /// s'(X^(N/N')): their phases without the bodies are the coefficients 0.
    fn raised(&self, words: &[u64], indices: &[usize]) -> Result<RlweCiphertext<B>> {
        let (n, width, size) = (self.ring.n(), self.params.tfhe.words(), indices.len());
        let (q, step) = (self.ring.spec().q_moduli()[0], n / (width - 1));
        // Coefficients of a ciphertext are `step` apart: others stand between them on their way to
        // the device, except at the last place, where zeros are taken from.
        let beside = (step - 1).max(1);
        let rows = size.div_ceil(beside);
        let mut masks = vec![0; rows * n];
        // A part of a row has some words of each ciphertext.
        let part = step * PART.min(width - 1);
        masks.par_chunks_mut(part).enumerate().for_each(|(i, masks)| {
            let (row, first) = (i * part / n, i * part % n / step);
            for (place, &index) in indices[row..].iter().step_by(rows).enumerate() {
                let Some(sample) = words.chunks_exact(width).nth(index) else { continue };
                for (j, mask) in (first..).zip(masks[place..].iter_mut().step_by(step)) {
                    // The phase is the body minus the products with the mask, and X^N is -1.
                    *mask = match j {
                        0 => q.neg(self.residue(sample[0])),
                        _ => self.residue(sample[width - 1 - j]),
                    };
                }
            }
        });
        let poly = Poly::<Coeff, B>::from_words(&self.ring, Span::chain(1), rows, &masks)?;
        let apart = self.places.iter().take(size.div_ceil(rows)).map(|place| poly.gathered(place));
        let apart = apart.collect::<Result<Vec<_>>>()?;
        let poly = match apart.as_slice() {
            [] => poly,
            parts => Poly::concat(&parts.iter().collect::<Vec<_>>())?.slice_batch(0..size)?,
        };
        let mut masks = poly.into_eval()?;
        masks.scale_assign(&[q.inv(q.reduce(n as u64))])?;
        RlweCiphertext::new(Poly::zeros(&self.ring, Span::chain(1), size)?, masks)
    }

    /// Halves a batch until one is left, whose phase has those of all: x and y become
    /// (x + X^(N / 2^k) y) plus the image of (x - X^(N / 2^k) y), k being one more than `merges` at
    /// first.
    fn merged(
        &self,
        mut batch: RlweCiphertext<B>,
        merges: u32,
        key: &FromTfheKey<B>,
    ) -> Result<RlweCiphertext<B>> {
        for k in merges.. {
            let half = batch.batch() / 2;
            if half == 0 {
                break;
            }
            let x = batch.slice_batch(0..half)?;
            let y = batch.slice_batch(half..2 * half)?.mul_poly(&self.monomials[k as usize])?;
            batch = x.add(&y)?.add(&image(&x.sub(&y)?, k, key)?)?;
        }
        Ok(batch)
    }
}

/// The image under X -> X^(2^(k + 1) + 1).
fn image<B: RingOps>(pair: &RlweCiphertext<B>, k: u32, key: &FromTfheKey<B>) -> Result<RlweCiphertext<B>> {
    pair.apply_automorphism(&key.images[k as usize], element(k))
}

/// 2^(k + 1) + 1.
fn element(k: u32) -> u64 {
    (2 << k) + 1
}
