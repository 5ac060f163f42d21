//! The interface of the ciphertexts of CKKS, BFV and BGV that the protocols use.

use super::hash_poly;
use super::share::sealed::Sealed;
use crate::backend::RingOps;
use crate::ckks::{self, CkksParams, Meta};
use crate::error::Result;
use crate::exact::{self, DECRYPTION_MARGIN, Noise, Params, Plaintext, Scheme};
use crate::poly::PlainPoly;
use crate::ring::{ERROR_VARIANCE, Eval, Poly, Ring, SecretPoly, Span};
use crate::rlwe::{Flooded, Flooding, Floods, RlweCiphertext, RlweParams, flood_poly};
use crate::secret_words::SecretWords;
use rand::CryptoRng;

/// A batch of ciphertexts of [CKKS](ckks::Ciphertext), or of BFV or BGV ([`exact::Ciphertext`]),
/// for the protocols of several parties.
pub trait Encrypted: Sealed + Sized {
    /// The device.
    type Backend: RingOps;
    /// The parameters of its scheme.
    type Params: std::fmt::Debug;
    /// The result of a decryption.
    type Plaintext;

    /// The ring and the digits of parameters.
    #[doc(hidden)]
    fn rlwe(params: &Self::Params) -> &RlweParams;

    /// The pair of polynomials.
    #[doc(hidden)]
    fn rlwe_pair(&self) -> &RlweCiphertext<Self::Backend>;

    /// Whether it is of these parameters.
    #[doc(hidden)]
    fn check_params(&self, params: &Self::Params) -> Result<()>;

    /// Adds its state, which is level, scale or correction factor, and the stated noise that floods
    /// follow from, and all words to a hash.
    #[doc(hidden)]
    fn hash(&self, hasher: &mut blake3::Hasher, flooding: Flooding) -> Result<()>;

    /// The same as it is in files and alike for all parties: without estimates, which each of them
    /// computes.
    #[doc(hidden)]
    fn hash_stored(&self, hasher: &mut blake3::Hasher) -> Result<()>;

    /// The b of each of the floods that hide the noise of a phase, all of which fit.
    #[doc(hidden)]
    fn flood(
        &self,
        params: &Self::Params,
        flooding: Flooding,
        floods: Floods,
        becomes: Flooded,
    ) -> Result<u32>;

    /// The plaintext of a phase that holds floods of `flood_log2` bits together.
    #[doc(hidden)]
    fn plaintext(
        &self,
        params: &Self::Params,
        phase: Poly<Eval, Self::Backend>,
        flood_log2: f64,
    ) -> Result<Self::Plaintext>;

    /// The same message in another pair, with floods of `flood_log2` bits together added.
    #[doc(hidden)]
    fn flooded(
        &self,
        params: &Self::Params,
        pair: RlweCiphertext<Self::Backend>,
        flood_log2: f64,
    ) -> Result<Self>;

    /// The same message after a key switch whose key has errors larger than usual by this factor.
    #[doc(hidden)]
    fn key_switched(
        &self,
        params: &Self::Params,
        pair: RlweCiphertext<Self::Backend>,
        excess_log2: f64,
    ) -> Result<Self>;

    /// A fresh mask of the message: over the primes of the ciphertext, where it hides the noise as
    /// well, and over the whole chain.
    #[doc(hidden)]
    fn mask(
        &self,
        params: &Self::Params,
        flooding: Flooding,
        masks: Floods,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<[SecretPoly<Eval, Self::Backend>; 2]>;

    /// The phase over the whole chain of what is left of the message below the masks, from its
    /// phase over the ciphertext's primes.
    #[doc(hidden)]
    fn lifted(
        &self,
        params: &Self::Params,
        masked: Poly<Eval, Self::Backend>,
    ) -> Result<Poly<Eval, Self::Backend>>;

    /// The same message in a fresh pair over the whole chain that so many parties made.
    #[doc(hidden)]
    fn refreshed(
        &self,
        params: &Self::Params,
        pair: RlweCiphertext<Self::Backend>,
        parties: usize,
    ) -> Result<Self>;
}

/// log2 of the root mean square of the sum of one error of each party.
fn errors_log2(parties: usize) -> f64 {
    libm::log2(parties as f64 * ERROR_VARIANCE) / 2.0
}

/// The noise that the sums of so many representatives of messages modulo t leave.
fn carry(messages: usize) -> Noise {
    (0..messages).fold(Noise::ZERO, |noise, _| noise.plus(Noise::ZERO))
}

/// The steps per bit to which estimates are the same in a hash.
const ESTIMATE_STEPS: f64 = 65536.0;

/// Adds a ciphertext of CKKS to a hash, with an estimate of its noise or without.
fn hash_ckks<B: RingOps>(
    ct: &ckks::Ciphertext<B>,
    hasher: &mut blake3::Hasher,
    estimate: Option<ckks::NoiseEstimate>,
) -> Result<()> {
    hasher.update(&(ct.level() as u64).to_le_bytes());
    hasher.update(&ct.scale().to_bits().to_le_bytes());
    hasher.update(&(ct.slots() as u64).to_le_bytes());
    if let Some(noise) = estimate {
        // Every party computes its estimate, and logarithms may differ in their last bits from one
        // machine to another. The width of the flood is in the hash as it is.
        for number in [noise.rms_log2, noise.peak_log2, noise.value_log2] {
            hasher.update(&((number * ESTIMATE_STEPS) as i64).to_le_bytes());
        }
    }
    ct.pair.c.iter().try_for_each(|c| hash_poly(hasher, c))
}

/// All primes of the chain.
fn chain<B: RingOps>(ring: &Ring<B>) -> Span {
    Span::chain(ring.spec().q().len())
}

impl<B: RingOps> Sealed for ckks::Ciphertext<B> {}

impl<B: RingOps> Encrypted for ckks::Ciphertext<B> {
    type Backend = B;
    type Params = CkksParams;
    type Plaintext = ckks::Plaintext<B>;

    fn rlwe(params: &CkksParams) -> &RlweParams {
        params.rlwe()
    }

    fn rlwe_pair(&self) -> &RlweCiphertext<B> {
        &self.pair
    }

    fn check_params(&self, params: &CkksParams) -> Result<()> {
        self.check(params)
    }

    fn hash(&self, hasher: &mut blake3::Hasher, flooding: Flooding) -> Result<()> {
        hash_ckks(self, hasher, self.meta.noise.filter(|_| matches!(flooding, Flooding::Statistical { .. })))
    }

    fn hash_stored(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        hash_ckks(self, hasher, None)
    }

    fn flood(&self, _: &CkksParams, flooding: Flooding, floods: Floods, _: Flooded) -> Result<u32> {
        self.flood_bits(flooding, floods)
    }

    fn plaintext(&self, _: &CkksParams, phase: Poly<Eval, B>, flood_log2: f64) -> Result<ckks::Plaintext<B>> {
        let n = phase.ring().n() as f64;
        let noise = self.meta.noise.map(|noise| noise.flooded(flood_log2, n));
        Ok(ckks::Plaintext { poly: PlainPoly::decrypted(phase), meta: Meta { noise, ..self.meta } })
    }

    fn flooded(&self, _: &CkksParams, pair: RlweCiphertext<B>, flood_log2: f64) -> Result<Self> {
        let n = pair.ring().n() as f64;
        let noise = self.meta.noise.map(|noise| noise.flooded(flood_log2, n));
        Ok(Self { pair, meta: Meta { noise, ..self.meta } })
    }

    fn key_switched(&self, params: &CkksParams, pair: RlweCiphertext<B>, excess_log2: f64) -> Result<Self> {
        let (model, primes) = (params.noise(), pair.chain_limbs());
        let noise = self.meta.noise.map(|noise| model.switched(noise, primes, excess_log2));
        Ok(Self { pair, meta: Meta { noise, ..self.meta } })
    }

    /// Uniform integers, which hide values and noise alike.
    fn mask(
        &self,
        _: &CkksParams,
        flooding: Flooding,
        masks: Floods,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<[SecretPoly<Eval, B>; 2]> {
        let bits = self.mask_bits(flooding, masks)?;
        let ring = self.pair.ring();
        let whole = flood_poly(ring, chain(ring), self.batch(), bits, rng)?;
        let low = whole.get().duplicate_chain(self.pair.chain_limbs())?;
        Ok([SecretPoly::new(low), whole])
    }

    fn lifted(&self, _: &CkksParams, masked: Poly<Eval, B>) -> Result<Poly<Eval, B>> {
        let ring = self.pair.ring();
        masked.into_coeff()?.extend(chain(ring))?.into_eval()
    }

    fn refreshed(&self, params: &CkksParams, pair: RlweCiphertext<B>, parties: usize) -> Result<Self> {
        let added = errors_log2(parties);
        let half_log_n = libm::log2(pair.ring().n() as f64) / 2.0;
        let noise = self.meta.noise.map(|noise| noise.with(added, added + libm::log2(6.0) + half_log_n));
        let meta = Meta { level: params.max_level(), noise, ..self.meta };
        Ok(Self { pair, meta })
    }
}

impl<S: Scheme, B: RingOps> Sealed for exact::Ciphertext<S, B> {}

/// The coefficients of a phase over the primes of BFV's or BGV's parameters, multiplied by t.
fn times_t<S: Scheme, B: RingOps>(params: &Params<S>, mut phase: Poly<Eval, B>) -> Result<SecretWords> {
    let ring = phase.ring().clone();
    phase.scale_assign(&params.t_residues(phase.span().q))?;
    let mut phase = phase.into_coeff()?;
    Ok(ring.backend().take(phase.buf_mut())?.into())
}

impl<S: Scheme, B: RingOps> Encrypted for exact::Ciphertext<S, B> {
    type Backend = B;
    type Params = Params<S>;
    type Plaintext = Plaintext;

    fn rlwe(params: &Params<S>) -> &RlweParams {
        params.rlwe()
    }

    fn rlwe_pair(&self) -> &RlweCiphertext<B> {
        &self.pair
    }

    fn check_params(&self, params: &Params<S>) -> Result<()> {
        self.check(params)
    }

    fn hash(&self, hasher: &mut blake3::Hasher, _: Flooding) -> Result<()> {
        self.hash_stored(hasher)
    }

    fn hash_stored(&self, hasher: &mut blake3::Hasher) -> Result<()> {
        let exact::Meta { plain_modulus, primes, correction_factor, noise } = self.meta;
        let Noise { rms_log2, peak_log2, degree } = noise;
        for number in [plain_modulus, primes as u64, correction_factor, degree.into()] {
            hasher.update(&number.to_le_bytes());
        }
        for number in [rms_log2, peak_log2] {
            hasher.update(&number.to_bits().to_le_bytes());
        }
        self.pair.c.iter().try_for_each(|c| hash_poly(hasher, c))
    }

    /// The predicted budget beside the floods is that which a decryption is checked for.
    fn flood(&self, params: &Params<S>, flooding: Flooding, floods: Floods, becomes: Flooded) -> Result<u32> {
        params.flood((self.meta.noise, self.meta.primes), flooding, floods, becomes)
    }

    fn plaintext(&self, params: &Params<S>, phase: Poly<Eval, B>, _: f64) -> Result<Plaintext> {
        let words = times_t(params, phase)?;
        self.plaintext_of(params, &words, DECRYPTION_MARGIN)
    }

    fn flooded(&self, params: &Params<S>, pair: RlweCiphertext<B>, flood_log2: f64) -> Result<Self> {
        let noise = self.meta.noise.flooded(flood_log2);
        Ok(Self::with_meta(pair, params.checked(exact::Meta { noise, ..self.meta })?))
    }

    fn key_switched(&self, params: &Params<S>, pair: RlweCiphertext<B>, excess_log2: f64) -> Result<Self> {
        let noise = params.noise().switched_by(self.meta.noise, self.meta.primes, excess_log2);
        Ok(Self::with_meta(pair, params.checked(exact::Meta { noise, ..self.meta })?))
    }

    /// Uniform messages modulo t, and a flood for the noise, to which their sums modulo t add.
    fn mask(
        &self,
        params: &Params<S>,
        flooding: Flooding,
        masks: Floods,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<[SecretPoly<Eval, B>; 2]> {
        let (ring, primes, batch) = (self.pair.ring(), self.meta.primes, self.batch());
        let noise = self.meta.noise.plus(carry(masks.count));
        let bits = params.flood((noise, primes), flooding, masks, Flooded::Plaintext)?;
        let mask = Plaintext::uniform(params, batch, rng);
        let mut low = mask.phase(params, ring, primes, self.correction_factor())?;
        low.add_assign(flood_poly(ring, Span::chain(primes), batch, bits, rng)?.get())?;
        let fresh = params.fresh(Noise::ZERO);
        let whole = mask.phase(params, ring, fresh.primes, fresh.correction_factor)?;
        Ok([low, whole].map(SecretPoly::new))
    }

    fn lifted(&self, params: &Params<S>, masked: Poly<Eval, B>) -> Result<Poly<Eval, B>> {
        let words = times_t(params, masked)?;
        let rest = self.plaintext_of(params, &words, DECRYPTION_MARGIN)?;
        let fresh = params.fresh(Noise::ZERO);
        rest.phase(params, self.pair.ring(), fresh.primes, fresh.correction_factor)
    }

    /// The representatives of the masks and of the rest add up to that of the message and a
    /// multiple of t, whose quotient is noise.
    fn refreshed(&self, params: &Params<S>, pair: RlweCiphertext<B>, parties: usize) -> Result<Self> {
        let meta = params.fresh(carry(parties).with(errors_log2(parties), 0));
        Ok(Self::with_meta(pair, params.checked(meta)?))
    }
}
