//! Plaintexts, ciphertexts and products, each with its level, scale and slots.

use super::{CkksParams, NoiseEstimate};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::poly::PlainPoly;
use crate::ring::{Eval, Poly, Ring, Seed};
use crate::rlwe::{FloodRoom, Flooding, Floods, RlweCiphertext, RlweProduct, SeededZero};
use derive_where::derive_where;
use std::ops::Range;

/// The level, the scale and the slots, which every CKKS object has.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Meta {
    pub level: usize,
    pub scale: f64,
    pub slots: usize,
    /// The noise estimate, if any; it exists in memory only.
    pub noise: Option<NoiseEstimate>,
}

impl std::fmt::Debug for Meta {
    /// Without the noise, whose bounds reveal something of the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { level, scale, slots, .. } = self;
        write!(f, "Meta {{ level: {level}, scale: {scale:?}, slots: {slots} }}")
    }
}

impl Meta {
    /// Combines the estimates of two operands, if both have one.
    pub(crate) fn noises(&self, other: &Self) -> Option<(NoiseEstimate, NoiseEstimate)> {
        Some((self.noise?, other.noise?))
    }

    /// log2 of the scale.
    pub(crate) fn scale_log2(&self) -> f64 {
        libm::log2(self.scale)
    }

    /// Checks that a ciphertext of these parameters can have this state: an existing level, a scale
    /// that fits its modulus, and a number of slots that is a power of two.
    pub(crate) fn check(&self, params: &CkksParams) -> Result<()> {
        params.level(self.level)?;
        check_scale(params, self.level, self.scale)?;
        let capacity = params.slots();
        if !self.slots.is_power_of_two() || self.slots > capacity {
            return Err(Error::SlotCount { found: self.slots, capacity });
        }
        Ok(())
    }
}

/// A scale is positive, finite and below the modulus.
pub(crate) fn check_scale(params: &CkksParams, level: usize, scale: f64) -> Result<()> {
    let limit_log2 = params.log_q(level);
    let found_log2 = libm::log2(scale);
    if !(found_log2 > -64.0 && found_log2 < limit_log2) {
        return Err(Error::ScaleRange { found_log2, limit_log2 });
    }
    Ok(())
}

/// A batch of encoded vectors, in evaluation form. The result of a decryption is wiped when it is
/// dropped: together with the ciphertext it reveals the secret key.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Plaintext<B: RingOps = Cpu> {
    pub(crate) poly: PlainPoly<Poly<Eval, B>>,
    pub(crate) meta: Meta,
}

/// A batch of encrypted vectors.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Ciphertext<B: RingOps = Cpu> {
    pub(crate) pair: RlweCiphertext<B>,
    pub(crate) meta: Meta,
}

/// A batch of products before relinearisation: products can be added, but neither rotated nor
/// multiplied.
///
/// A ciphertext can be rotated, multiplied and decrypted:
/// ```
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Decryptor, Evaluator, Product}, rlwe::EvaluationKeys};
/// # type Keys = EvaluationKeys<Cpu>;
/// fn rotates(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>, keys: &Keys) -> Result<()> {
///     ev.rotate(ct, 1, keys).map(drop)
/// }
/// fn multiplies(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>) -> Result<()> {
///     ev.tensor(ct, ct).map(drop)
/// }
/// fn decrypts(decryptor: &Decryptor<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>) -> Result<()> {
///     decryptor.decrypt(ct).map(drop)
/// }
/// ```
/// A product that was not relinearised cannot be rotated,
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Decryptor, Evaluator, Product}, rlwe::EvaluationKeys};
/// # type Keys = EvaluationKeys<Cpu>;
/// fn rotates(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>, keys: &Keys) -> Result<()> {
///     ev.rotate(product, 1, keys).map(drop)
/// }
/// ```
/// nor multiply,
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Decryptor, Evaluator, Product}, rlwe::EvaluationKeys};
/// fn multiplies(ev: &Evaluator<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>) -> Result<()> {
///     ev.tensor(ct, product).map(drop)
/// }
/// ```
/// nor decrypt.
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, ckks::{Ciphertext, Decryptor, Evaluator, Product}, rlwe::EvaluationKeys};
/// fn decrypts(decryptor: &Decryptor<Cpu>, ct: &Ciphertext<Cpu>, product: &Product<Cpu>) -> Result<()> {
///     decryptor.decrypt(product).map(drop)
/// }
/// ```
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Product<B: RingOps = Cpu> {
    pub(crate) triple: RlweProduct<B>,
    pub(crate) meta: Meta,
}

/// A batch encrypted by the secret key, whose second part is still a seed: half the bytes of a
/// ciphertext.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct SeededCiphertext<B: RingOps = Cpu> {
    pub(crate) zero: SeededZero<B>,
    pub(crate) meta: Meta,
}

macro_rules! meta_accessors {
    ($($type:ident),*) => {$(
        impl<B: RingOps> $type<B> {
            /// The level, which is the number of multiplications that are left.
            pub fn level(&self) -> usize {
                self.meta.level
            }

            /// The scale, by which values are multiplied in the polynomial.
            pub fn scale(&self) -> f64 {
                self.meta.scale
            }

            /// The slots of each vector; with fewer than N/2, the vector repeats.
            pub fn slots(&self) -> usize {
                self.meta.slots
            }

            /// Overrides the scale, which multiplies the values by old/new. A manual operation.
            pub fn set_scale(&mut self, scale: f64) {
                let bits = libm::log2(self.meta.scale / scale);
                self.meta.noise = self.meta.noise.filter(|_| bits.is_finite()).map(|noise| noise.revalued(bits));
                self.meta.scale = scale;
            }

            /// The noise estimate, if any; objects that were read or assembled from parts have
            /// none.
            pub fn noise(&self) -> Option<NoiseEstimate> {
                self.meta.noise
            }

            /// Sets the noise estimate. Too small a bound breaks the promise of
            /// [`decrypt_flooded`](crate::ckks::Decryptor::decrypt_flooded): the holder of the
            /// secret key decides, not the sender.
            pub fn set_noise(&mut self, noise: Option<NoiseEstimate>) {
                self.meta.noise = noise;
            }
        }
    )*};
}

meta_accessors!(Plaintext, Ciphertext, Product, SeededCiphertext);

key_set_accessors! {
    [B: RingOps] Ciphertext<B> { pair.key_set }
    [B: RingOps] Product<B> { triple.key_set }
    [B: RingOps] SeededCiphertext<B> { zero.key_set }
}

impl<B: RingOps> Plaintext<B> {
    /// The polynomials.
    pub fn poly(&self) -> &Poly<Eval, B> {
        &self.poly
    }

    /// The memory that it takes on the device, in bytes.
    pub fn bytes(&self) -> u64 {
        (self.poly.rows().count() * self.poly.ring().n() * size_of::<u64>()) as u64
    }

    /// The number of vectors in the batch.
    pub fn batch(&self) -> usize {
        self.poly.batch()
    }

    /// Copies batch entries in any order, each as often as it is listed.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn gather_batch(&self, entries: &[usize]) -> Result<Self> {
        let poly = self.poly.gather_batch(entries)?;
        let poly =
            if self.poly.is_decrypted() { PlainPoly::decrypted(poly) } else { PlainPoly::encoded(poly) };
        Ok(Self { poly, meta: self.meta })
    }
}

impl<B: RingOps> Ciphertext<B> {
    /// Makes it from its parts, which are checked against the parameters; it has no noise estimate.
    ///
    /// # Errors
    /// An impossible level, scale or number of slots; [`Error::SpanMismatch`] if the pair holds
    /// other primes than the level.
    pub fn from_parts(
        params: &CkksParams,
        pair: RlweCiphertext<B>,
        level: usize,
        scale: f64,
        slots: usize,
    ) -> Result<Self> {
        let ct = Self { pair, meta: Meta { level, scale, slots, noise: None } };
        ct.check(params)?;
        Ok(ct)
    }

    /// Whether it can be a ciphertext of these parameters.
    pub(crate) fn check(&self, params: &CkksParams) -> Result<()> {
        check_span(params, &self.pair.c[0], self.meta.level)?;
        self.meta.check(params)
    }

    /// The pair of polynomials.
    pub fn pair(&self) -> &RlweCiphertext<B> {
        &self.pair
    }

    /// The b of each of so many floods that hide this ciphertext's noise, all of which fit beside
    /// its values.
    ///
    /// # Errors
    /// [`Error::NoiseUnknown`], [`Error::FloodTooWide`]; [`Error::Argument`] for a flooding out of
    /// range.
    pub(crate) fn flood_bits(&self, flooding: Flooding, floods: Floods) -> Result<u32> {
        self.flood_room(floods).flood(flooding, self.meta.noise.map(|noise| noise.rms_log2))
    }

    /// The b of each of so many masks that hide this ciphertext's values and noise likewise: at
    /// least as wide as the level allows.
    ///
    /// # Errors
    /// The same as for [`flood_bits`](Self::flood_bits).
    pub(crate) fn mask_bits(&self, flooding: Flooding, floods: Floods) -> Result<u32> {
        let scale_log2 = self.meta.scale_log2();
        self.flood_room(floods).mask(flooding, self.meta.noise.map(|noise| noise.used_log2(scale_log2)))
    }

    fn flood_room(&self, floods: Floods) -> FloodRoom {
        let (ring, limbs) = (self.pair.ring(), self.pair.chain_limbs());
        let log_q = ring.spec().q()[..limbs].iter().map(|&q| libm::log2(q as f64)).sum();
        let scale_log2 = self.meta.scale_log2();
        let used_log2 = self.meta.noise.map_or(f64::NEG_INFINITY, |noise| noise.used_log2(scale_log2));
        FloodRoom { n: ring.n(), used_log2, log_q, floods }
    }

    /// The number of vectors in the batch.
    pub fn batch(&self) -> usize {
        self.pair.batch()
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    #[doc(alias = "try_clone")]
    pub fn duplicate(&self) -> Result<Self> {
        Ok(Self { pair: self.pair.duplicate()?, meta: self.meta })
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        Ok(Self { pair: self.pair.slice_batch(entries)?, meta: self.meta })
    }

    /// Copies batch entries in any order, each as often as it is listed.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn gather_batch(&self, entries: &[usize]) -> Result<Self> {
        Ok(Self { pair: self.pair.gather(entries)?, meta: self.meta })
    }

    /// Concatenates batches, which must agree in level, scale and slots.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`], mismatch of ring or primes, an empty list; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        for part in parts {
            if part.meta.scale != first.meta.scale {
                return Err(scale_mismatch(first.meta.scale, part.meta.scale));
            }
            if part.meta.slots != first.meta.slots {
                return Err(Error::SlotCount { found: part.meta.slots, capacity: first.meta.slots });
            }
        }
        let pair = RlweCiphertext::concat(&parts.iter().map(|part| &part.pair).collect::<Vec<_>>())?;
        let noises: Option<Vec<NoiseEstimate>> = parts.iter().map(|part| part.meta.noise).collect();
        let noise = noises.and_then(|noises| noises.into_iter().reduce(NoiseEstimate::max));
        Ok(Self { pair, meta: Meta { noise, ..first.meta } })
    }

    /// Copies it to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<Ciphertext<C>> {
        Ok(Ciphertext { pair: self.pair.to(ring)?, meta: self.meta })
    }
}

impl<B: RingOps> SeededCiphertext<B> {
    /// Makes it from its parts, which are checked against the parameters.
    ///
    /// # Errors
    /// The same as for [`Ciphertext::from_parts`].
    pub fn from_parts(
        params: &CkksParams,
        c0: Poly<Eval, B>,
        seed: Seed,
        level: usize,
        scale: f64,
        slots: usize,
    ) -> Result<Self> {
        let meta = Meta { level, scale, slots, noise: None };
        let ct = Self { zero: SeededZero { c0, seed, key_set: None }, meta };
        ct.check(params)?;
        Ok(ct)
    }

    /// Whether it can be a ciphertext of these parameters.
    pub(crate) fn check(&self, params: &CkksParams) -> Result<()> {
        check_span(params, &self.zero.c0, self.meta.level)?;
        self.meta.check(params)
    }

    /// The first part, and the seed of the second.
    pub fn parts(&self) -> (&Poly<Eval, B>, &Seed) {
        (&self.zero.c0, &self.zero.seed)
    }

    /// The number of vectors in the batch.
    pub fn batch(&self) -> usize {
        self.zero.c0.batch()
    }

    /// Expands the second part.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand(self) -> Result<Ciphertext<B>> {
        Ok(Ciphertext { pair: self.zero.expand()?, meta: self.meta })
    }
}

pub(crate) fn scale_mismatch(left: f64, right: f64) -> Error {
    Error::ScaleMismatch { left_log2: libm::log2(left), right_log2: libm::log2(right) }
}

fn check_span<B: RingOps>(params: &CkksParams, poly: &Poly<Eval, B>, level: usize) -> Result<()> {
    if poly.ring().spec() != params.rlwe().ring() {
        return Err(Error::RingMismatch);
    }
    let expected = crate::ring::Span::chain(params.level(level)?.primes);
    if poly.span() != expected {
        return Err(Error::SpanMismatch { left: poly.span(), right: expected });
    }
    Ok(())
}
