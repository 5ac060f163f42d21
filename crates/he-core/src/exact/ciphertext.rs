//! Ciphertexts and products, each with its primes, its correction factor and its predicted noise.

use super::{Noise, Params, Scheme};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::key_set_accessors;
use crate::ring::{Eval, Poly, Ring, Seed, Span};
use crate::rlwe::{RlweCiphertext, RlweProduct, SeededZero};
use derive_where::derive_where;
use std::marker::PhantomData;
use std::ops::Range;

/// The state of every encrypted object, whose phase is [f m]_t / t + e modulo the first `primes`
/// primes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Meta {
    /// The plaintext modulus t.
    pub plain_modulus: u64,
    /// Primes of the chain.
    pub primes: usize,
    /// f, a unit modulo t.
    pub correction_factor: u64,
    /// The bound on e.
    pub noise: Noise,
}

impl Meta {
    /// Checks that an object of these parameters can have this state.
    pub fn check<S: Scheme>(&self, params: &Params<S>) -> Result<()> {
        let highest = params.max_level();
        if self.primes == 0 || self.primes > highest + 1 {
            return Err(Error::LevelTooHigh { found: self.primes.saturating_sub(1), highest });
        }
        if self.plain_modulus != params.plain().value() {
            let why = format!("{} here, {} there", self.plain_modulus, params.plain().value());
            return Err(Error::argument("plaintext modulus", why));
        }
        if self.correction_factor >= self.plain_modulus
            || params.plain().invert(self.correction_factor).is_none()
        {
            let why = format!("{} is not a unit modulo {}", self.correction_factor, self.plain_modulus);
            return Err(Error::argument("correction factor", why));
        }
        let Noise { rms_log2, peak_log2, degree } = self.noise;
        let (least, most) = (Noise::LEAST_LOG2, params.noise().log_q(self.primes));
        // Comparisons with what is not a number fail.
        let possible = rms_log2 >= least && peak_log2 >= rms_log2 && peak_log2 <= most;
        if !possible || degree > Noise::MAX_DEGREE {
            let found = format!("{:?} stated", self.noise);
            let hint = format!("{least} <= rms_log2 <= peak_log2 <= {most:.1} is possible");
            return Err(Error::domain("noise", found, hint));
        }
        Ok(())
    }
}

/// A batch of encrypted plaintexts of scheme `S`.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Ciphertext<S: Scheme, B: RingOps = Cpu> {
    pub(crate) pair: RlweCiphertext<B>,
    pub(crate) meta: Meta,
    scheme: PhantomData<S>,
}

/// A batch of products before relinearisation: products can be added, but neither rotated nor
/// multiplied nor decrypted.
///
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, bfv::{BfvCiphertext, BfvEvaluator, BfvProduct}, rlwe::EvaluationKeys};
/// fn rotates(ev: &BfvEvaluator<Cpu>, product: &BfvProduct<Cpu>, keys: &EvaluationKeys<Cpu>) -> Result<()> {
///     ev.rotate(product, 1, keys).map(drop)
/// }
/// ```
/// Nor can the schemes be mixed:
/// ```compile_fail
/// # use he_core::{Result, backend::Cpu, bfv::BfvCiphertext, bgv::BgvEvaluator};
/// fn adds(ev: &BgvEvaluator<Cpu>, ct: &BfvCiphertext<Cpu>) -> Result<()> {
///     ev.add(ct, ct).map(drop)
/// }
/// ```
/// ```
/// # use he_core::{Result, backend::Cpu, bgv::{BgvCiphertext, BgvEvaluator}, rlwe::EvaluationKeys};
/// fn adds(ev: &BgvEvaluator<Cpu>, ct: &BgvCiphertext<Cpu>, keys: &EvaluationKeys<Cpu>) -> Result<()> {
///     ev.rotate(&ev.add(ct, ct)?, 1, keys).map(drop)
/// }
/// ```
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct Product<S: Scheme, B: RingOps = Cpu> {
    pub(crate) triple: RlweProduct<B>,
    pub(crate) meta: Meta,
    scheme: PhantomData<S>,
}

/// A batch encrypted by the secret key, whose second part is still a seed: half the bytes of a
/// ciphertext.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct SeededCiphertext<S: Scheme, B: RingOps = Cpu> {
    pub(crate) zero: SeededZero<B>,
    pub(crate) meta: Meta,
    scheme: PhantomData<S>,
}

macro_rules! meta_accessors {
    ($($type:ident),*) => {$(
        impl<S: Scheme, B: RingOps> $type<S, B> {
            /// The level, which is the number of primes that can still be dropped.
            pub fn level(&self) -> usize {
                self.meta.primes - 1
            }

            /// The correction factor f, by which the phase holds f m instead of m, modulo t.
            pub fn correction_factor(&self) -> u64 {
                self.meta.correction_factor
            }

            /// The predicted bound on the noise.
            pub fn noise(&self) -> Noise {
                self.meta.noise
            }

            /// The predicted bits that are left before decryption may fail; no key is needed.
            pub fn predicted_budget(&self, params: &Params<S>) -> f64 {
                params.noise().budget(self.meta.noise, self.meta.primes.min(params.max_level() + 1))
            }
        }
    )*};
}

meta_accessors!(Ciphertext, Product, SeededCiphertext);

key_set_accessors! {
    [S: Scheme, B: RingOps] Ciphertext<S, B> { pair.key_set }
    [S: Scheme, B: RingOps] Product<S, B> { triple.key_set }
    [S: Scheme, B: RingOps] SeededCiphertext<S, B> { zero.key_set }
}

impl<S: Scheme, B: RingOps> Ciphertext<S, B> {
    pub(crate) const fn with_meta(pair: RlweCiphertext<B>, meta: Meta) -> Self {
        Self { pair, meta, scheme: PhantomData }
    }

    /// Makes it from its parts, which are checked against the parameters.
    ///
    /// # Errors
    /// [`Error::Argument`] for a correction factor that is not a unit modulo t, or impossible
    /// noise; [`Error::RingMismatch`], [`Error::SpanMismatch`] for a pair of other parameters.
    pub fn from_parts(
        params: &Params<S>,
        pair: RlweCiphertext<B>,
        correction_factor: u64,
        noise: Noise,
    ) -> Result<Self> {
        let primes = pair.chain_limbs();
        let meta = Meta { plain_modulus: params.plain().value(), primes, correction_factor, noise };
        let ct = Self::with_meta(pair, meta);
        ct.check(params)?;
        Ok(ct)
    }

    /// Whether it can be a ciphertext of these parameters.
    pub(crate) fn check(&self, params: &Params<S>) -> Result<()> {
        check_span(params, &self.pair.c[0], self.meta.primes)?;
        self.meta.check(params)
    }

    /// The pair of polynomials.
    pub fn pair(&self) -> &RlweCiphertext<B> {
        &self.pair
    }

    /// The number of plaintexts in the batch.
    pub fn batch(&self) -> usize {
        self.pair.batch()
    }

    /// Makes a copy on the same device.
    ///
    /// # Errors
    /// Device errors.
    #[doc(alias = "try_clone")]
    pub fn duplicate(&self) -> Result<Self> {
        Ok(Self::with_meta(self.pair.duplicate()?, self.meta))
    }

    /// Copies batch entries.
    ///
    /// # Errors
    /// [`Error::BatchRange`]; device errors.
    pub fn slice_batch(&self, entries: Range<usize>) -> Result<Self> {
        Ok(Self::with_meta(self.pair.slice_batch(entries)?, self.meta))
    }

    /// Concatenates batches, which must agree in level and correction factor.
    ///
    /// # Errors
    /// Mismatch of ring, primes, plaintext modulus or correction factor; an empty list; device
    /// errors.
    pub fn concat(parts: &[&Self]) -> Result<Self> {
        let first = parts.first().ok_or(Error::BatchRange { start: 0, end: 0, batch: 0 })?;
        let mut meta = first.meta;
        for part in parts {
            if (part.meta.correction_factor, part.meta.plain_modulus)
                != (meta.correction_factor, meta.plain_modulus)
            {
                let why =
                    format!("{} and {} side by side", meta.correction_factor, part.meta.correction_factor);
                return Err(Error::argument("correction factors", why));
            }
            meta.noise = meta.noise.max(part.meta.noise);
        }
        let pair = RlweCiphertext::concat(&parts.iter().map(|part| &part.pair).collect::<Vec<_>>())?;
        Ok(Self::with_meta(pair, meta))
    }

    /// Copies it to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: RingOps>(&self, ring: &Ring<C>) -> Result<Ciphertext<S, C>> {
        Ok(Ciphertext::with_meta(self.pair.to(ring)?, self.meta))
    }
}

impl<S: Scheme, B: RingOps> Product<S, B> {
    pub(crate) const fn with_meta(triple: RlweProduct<B>, meta: Meta) -> Self {
        Self { triple, meta, scheme: PhantomData }
    }

    /// The three polynomials.
    pub fn triple(&self) -> &RlweProduct<B> {
        &self.triple
    }

    /// The number of plaintexts in the batch.
    pub fn batch(&self) -> usize {
        self.triple.parts()[0].batch()
    }
}

impl<S: Scheme, B: RingOps> SeededCiphertext<S, B> {
    pub(crate) const fn with_meta(zero: SeededZero<B>, meta: Meta) -> Self {
        Self { zero, meta, scheme: PhantomData }
    }

    /// Makes it from its parts, which are checked against the parameters.
    ///
    /// # Errors
    /// The same as for [`Ciphertext::from_parts`].
    pub fn from_parts(
        params: &Params<S>,
        c0: Poly<Eval, B>,
        seed: Seed,
        correction_factor: u64,
        noise: Noise,
    ) -> Result<Self> {
        let meta =
            Meta { plain_modulus: params.plain().value(), primes: c0.span().q, correction_factor, noise };
        let ct = Self::with_meta(SeededZero { c0, seed, key_set: None }, meta);
        ct.check(params)?;
        Ok(ct)
    }

    /// Whether it can be a ciphertext of these parameters.
    pub(crate) fn check(&self, params: &Params<S>) -> Result<()> {
        check_span(params, &self.zero.c0, self.meta.primes)?;
        self.meta.check(params)
    }

    /// The first part, and the seed of the second.
    pub fn parts(&self) -> (&Poly<Eval, B>, &Seed) {
        (&self.zero.c0, &self.zero.seed)
    }

    /// The number of plaintexts in the batch.
    pub fn batch(&self) -> usize {
        self.zero.c0.batch()
    }

    /// Expands the second part.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand(self) -> Result<Ciphertext<S, B>> {
        Ok(Ciphertext::with_meta(self.zero.expand()?, self.meta))
    }
}

pub(super) fn check_span<S: Scheme, B: RingOps>(
    params: &Params<S>,
    poly: &Poly<Eval, B>,
    primes: usize,
) -> Result<()> {
    if poly.ring().spec() != params.rlwe().ring() {
        return Err(Error::RingMismatch);
    }
    let expected = Span::chain(primes);
    if poly.span() != expected {
        return Err(Error::SpanMismatch { left: poly.span(), right: expected });
    }
    Ok(())
}
