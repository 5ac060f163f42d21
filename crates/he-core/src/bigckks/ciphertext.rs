//! Plaintexts, ciphertexts and products, each with its modulus, scale and slots.

use super::{BigCkksParams, WidePoly};
use crate::backend::{Cpu, WideOps};
use crate::ckks::NoiseEstimate;
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common_of, key_set_accessors};
use crate::poly::PlainPoly;
use crate::ring::Ring;
use derive_where::derive_where;
use std::ops::Range;

/// The modulus, the scale and the slots, which every object has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    /// log2 of the modulus.
    pub log_q: u32,
    /// log2 of the scale.
    pub scale_log2: u32,
    pub slots: usize,
}

impl Meta {
    /// Checks that an object of these parameters can have this state: a possible modulus, a scale
    /// below it, and a number of slots that is a power of two.
    pub(crate) fn check(&self, params: &BigCkksParams) -> Result<()> {
        if self.log_q == 0 || self.log_q > params.log_q() {
            return Err(Error::ModulusMismatch { left: self.log_q, right: params.log_q() });
        }
        check_scale(self.scale_log2, self.log_q)?;
        let capacity = params.slots();
        if !self.slots.is_power_of_two() || self.slots > capacity {
            return Err(Error::SlotCount { found: self.slots, capacity });
        }
        Ok(())
    }
}

/// The noise estimate, if any; it exists in memory only.
#[derive(Clone, Copy)]
pub(crate) struct Known(pub Option<NoiseEstimate>);

impl std::fmt::Debug for Known {
    /// Prints nothing, because bounds on noise reveal something of the values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("..")
    }
}

impl Known {
    /// Applies f to the estimate, if there is one.
    pub(crate) fn map(self, f: impl FnOnce(NoiseEstimate) -> NoiseEstimate) -> Self {
        Self(self.0.map(f))
    }

    /// Applies f to both estimates, if there are two.
    pub(crate) fn zip(
        self,
        other: Self,
        f: impl FnOnce(NoiseEstimate, NoiseEstimate) -> NoiseEstimate,
    ) -> Self {
        Self(self.0.zip(other.0).map(|(a, b)| f(a, b)))
    }
}

/// A scale must leave room for a sign in the modulus.
pub(crate) fn check_scale(scale_log2: u32, log_q: u32) -> Result<()> {
    if scale_log2 >= log_q {
        let (found_log2, limit_log2) = (f64::from(scale_log2), f64::from(log_q));
        return Err(Error::ScaleRange { found_log2, limit_log2 });
    }
    Ok(())
}

/// A batch of encoded vectors. The result of a decryption is wiped when it is dropped: together
/// with the ciphertext it reveals the secret key.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Plaintext<B: WideOps = Cpu> {
    pub(crate) poly: PlainPoly<WidePoly<B>>,
    /// The bits of the coefficients, including the sign, which products with it need.
    pub(crate) magnitude_bits: u32,
    pub(crate) meta: Meta,
    pub(crate) noise: Known,
}

/// A batch of encrypted vectors: (c0, c1) with c0 + c1 s = scale x message + noise modulo 2^(log
/// q).
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Ciphertext<B: WideOps = Cpu> {
    pub(crate) c: [WidePoly<B>; 2],
    pub(crate) meta: Meta,
    pub(crate) noise: Known,
    pub(crate) key_set: Option<KeySetId>,
}

/// A batch of products (d0, d1, d2) before relinearisation: these can be added, but neither
/// rotated, multiplied nor decrypted.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Product<B: WideOps = Cpu> {
    pub(crate) d: [WidePoly<B>; 3],
    pub(crate) meta: Meta,
    pub(crate) noise: Known,
    pub(crate) key_set: Option<KeySetId>,
}

macro_rules! meta_accessors {
    ($($type:ident),*) => {$(
        impl<B: WideOps> $type<B> {
            /// log2 of the modulus, which is the number of bits that are left.
            pub fn log_q(&self) -> u32 {
                self.meta.log_q
            }

            /// log2 of the scale, by which values are multiplied in the polynomial.
            pub fn scale_log2(&self) -> u32 {
                self.meta.scale_log2
            }

            /// The slots of each vector; with fewer than N/2, the vector repeats.
            pub fn slots(&self) -> usize {
                self.meta.slots
            }

            /// Overrides log2 of the scale, which multiplies the values by 2^(old - new). A manual
            /// operation.
            pub fn set_scale_log2(&mut self, scale_log2: u32) {
                let bits = f64::from(self.meta.scale_log2) - f64::from(scale_log2);
                self.noise = self.noise.map(|noise| noise.revalued(bits));
                self.meta.scale_log2 = scale_log2;
            }

            /// The noise estimate, if any; objects that were read or assembled from parts have
            /// none.
            pub fn noise(&self) -> Option<NoiseEstimate> {
                self.noise.0
            }

            /// Sets the noise estimate. Too small a bound breaks the promise of
            /// [`decrypt_flooded`](crate::bigckks::Decryptor::decrypt_flooded): the holder of the
            /// secret key decides, not the sender.
            pub fn set_noise(&mut self, noise: Option<NoiseEstimate>) {
                self.noise = Known(noise);
            }
        }
    )*};
}

meta_accessors!(Plaintext, Ciphertext, Product);

key_set_accessors! {
    [B: WideOps] Ciphertext<B> { key_set }
    [B: WideOps] Product<B> { key_set }
}

impl<B: WideOps> Plaintext<B> {
    /// The polynomials.
    pub fn poly(&self) -> &WidePoly<B> {
        &self.poly
    }

    /// The number of vectors in the batch.
    pub fn batch(&self) -> usize {
        self.poly.batch()
    }
}

impl<B: WideOps> Product<B> {
    /// d0, d1 and d2.
    pub fn parts(&self) -> [&WidePoly<B>; 3] {
        self.d.each_ref()
    }
}

impl<B: WideOps> Ciphertext<B> {
    /// Makes it from its parts, which are checked against the parameters; it has no noise estimate.
    ///
    /// # Errors
    /// An impossible modulus, scale or number of slots; mismatch of ring, modulus or batch.
    pub fn from_parts(
        params: &BigCkksParams,
        c: [WidePoly<B>; 2],
        scale_log2: u32,
        slots: usize,
    ) -> Result<Self> {
        let meta = Meta { log_q: c[0].bits(), scale_log2, slots };
        let ct = Self { c, meta, noise: Known(None), key_set: None };
        ct.check(params)?;
        Ok(ct)
    }

    /// Whether it can be a ciphertext of these parameters.
    pub(crate) fn check(&self, params: &BigCkksParams) -> Result<()> {
        let [c0, c1] = &self.c;
        if c0.ring().spec() != params.ring() || !c0.ring().same(c1.ring()) {
            return Err(Error::RingMismatch);
        }
        if c1.bits() != c0.bits() {
            return Err(Error::ModulusMismatch { left: c0.bits(), right: c1.bits() });
        }
        if c1.batch() != c0.batch() {
            return Err(Error::BatchMismatch { left: c0.batch(), right: c1.batch() });
        }
        self.meta.check(params)
    }

    /// c0 and c1.
    pub fn parts(&self) -> [&WidePoly<B>; 2] {
        self.c.each_ref()
    }

    /// The number of vectors in the batch.
    pub fn batch(&self) -> usize {
        self.c[0].batch()
    }

    /// Applies f to both parts.
    pub(crate) fn map(&self, f: impl Fn(&WidePoly<B>) -> Result<WidePoly<B>>) -> Result<Self> {
        let c = [f(&self.c[0])?, f(&self.c[1])?];
        Ok(Self { c, meta: self.meta, noise: self.noise, key_set: self.key_set })
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    #[doc(alias = "try_clone")]
    pub fn duplicate(&self) -> Result<Self> {
        self.map(WidePoly::duplicate)
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        self.map(|c| c.slice_batch(entries.clone()))
    }

    /// Concatenates batches, which must agree in modulus, scale and slots.
    ///
    /// # Errors
    /// [`Error::ScaleMismatch`], [`Error::SlotCount`]; mismatch of ring, modulus or key sets, an
    /// empty list; device errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        for part in parts {
            if part.meta.scale_log2 != first.meta.scale_log2 {
                let [left_log2, right_log2] = [first, part].map(|part| f64::from(part.meta.scale_log2));
                return Err(Error::ScaleMismatch { left_log2, right_log2 });
            }
            if part.meta.slots != first.meta.slots {
                return Err(Error::SlotCount { found: part.meta.slots, capacity: first.meta.slots });
            }
        }
        let side_by_side =
            |i: usize| WidePoly::concat(&parts.iter().map(|part| &part.c[i]).collect::<Vec<_>>());
        let c = [side_by_side(0)?, side_by_side(1)?];
        let key_set = common_of("other ciphertext", parts.iter().map(|part| part.key_set))?;
        let greatest = |noise: Known, part: &&Self| noise.zip(part.noise, NoiseEstimate::max);
        let noise = parts.iter().fold(first.noise, greatest);
        Ok(Self { c, meta: first.meta, noise, key_set })
    }

    /// Copies it to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: WideOps>(&self, ring: &Ring<C>) -> Result<Ciphertext<C>> {
        let c = [self.c[0].to(ring)?, self.c[1].to(ring)?];
        Ok(Ciphertext { c, meta: self.meta, noise: self.noise, key_set: self.key_set })
    }
}
