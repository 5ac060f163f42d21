//! From coefficients to large ciphertexts of TFHE.

use super::SwitchingParams;
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::key_set::KeySetId;
use crate::parallel::*;
use crate::ring::{Coeff, Poly, Ring, Span};
use crate::rlwe::{KeyParams, RlweCiphertext, RlweParams, SecretKey, SwitchKey, SwitchSource, TernarySecret};
use crate::tfhe::{LweBatch, LweOps, TfheParams, TfheSecretKey};
use derive_where::derive_where;
use rand::CryptoRng;
use zeroize::Zeroizing;

/// The key that leads from a secret of RLWE to the large secret of TFHE: two polynomials over q' p.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct ToTfheKey<B: RingOps = Cpu> {
    params: SwitchingParams,
    key: SwitchKey<B>,
}

impl<B: RingOps> ToTfheKey<B> {
    /// A key from one secret to the other; `ring` is that of [`SwitchingParams::ring`]. It takes
    /// ciphertexts of the key set of `from` to that of `to`. Constant time.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`] for secrets of other parameters, [`Error::RingMismatch`] for
    /// another ring; device errors.
    pub fn generate(
        from: &SecretKey,
        to: &TfheSecretKey,
        params: &SwitchingParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        params.source().check_same(from.params(), "secret key")?;
        let ring = params.key_ring(ring)?;
        let target = embedded(to, params.tfhe(), params.key())?;
        let key = SwitchKey::generate(from, &target, params.key(), &ring, rng)?;
        Ok(Self { params: params.clone(), key })
    }

    /// A key over q' p, of no known key sets.
    pub(crate) fn from_key(params: &SwitchingParams, mut key: SwitchKey<B>) -> Self {
        key.source = Some(SwitchSource::Secret(None));
        Self { params: params.clone(), key }
    }

    pub(crate) fn key(&self) -> &SwitchKey<B> {
        &self.key
    }

    /// The parameters.
    pub fn params(&self) -> &SwitchingParams {
        &self.params
    }

    /// The key set that it leads to, if known: see [`KeySetId`].
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key.key_set
    }

    /// Sets the key sets that it leads from and to, for a key that was decoded from a frame.
    /// Nothing is checked.
    pub fn set_key_sets(&mut self, from: Option<KeySetId>, to: Option<KeySetId>) {
        self.key.source = Some(SwitchSource::Secret(from));
        self.key.set_key_set(to);
    }

    /// The memory that it takes on a device, in bytes.
    pub fn bytes(&self) -> usize {
        2 * 2 * self.key.params().ring().n() * size_of::<u64>()
    }
}

/// The large secret of TFHE as one of the ring, s'(X^(N/N')), of the same key set.
pub(super) fn embedded(secret: &TfheSecretKey, tfhe: &TfheParams, ring: &RlweParams) -> Result<SecretKey> {
    tfhe.check_same(secret.params(), "secret key of TFHE")?;
    let n = ring.ring().n();
    let mut coefficients = Zeroizing::new(vec![0; n]);
    let [_, large] = secret.expose_secrets();
    for (coefficient, &bit) in coefficients.iter_mut().step_by(n / large.len()).zip(large) {
        *coefficient = bit as i8;
    }
    // Its security is that of TFHE's parameters, not that of the ring's.
    let mut embedded = TernarySecret::from_coefficients_insecure(ring, coefficients)?;
    embedded.set_key_set(secret.key_set());
    Ok(embedded)
}

/// Switches coefficients of RLWE ciphertexts to TFHE; knows no secret.
#[derive(Debug)]
pub struct ToTfhe<B: RingOps + LweOps = Cpu> {
    params: SwitchingParams,
    ring: Ring<B>,
}

impl<B: RingOps + LweOps> ToTfhe<B> {
    /// `ring` is that of [`SwitchingParams::ring`].
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for another ring.
    pub fn new(params: &SwitchingParams, ring: &Ring<B>) -> Result<Self> {
        params.check_ring(ring)?;
        Ok(Self { params: params.clone(), ring: ring.clone() })
    }

    /// The parameters.
    pub fn params(&self) -> &SwitchingParams {
        &self.params
    }

    /// Large ciphertexts whose phases are these coefficients of the phase, divided by the product
    /// of the base's primes, plus noise ([`SwitchingParams::noise_log2`]): `[entry][index]` for a
    /// batch. Coefficients of one are switched together, so that more of them cost little.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`] for a ciphertext over more or fewer primes than the
    /// [`base`](SwitchingParams::base), [`Error::Argument`] for an index that is not below N,
    /// mismatch of parameters, ring or key sets, before any work; device errors.
    pub fn switch(
        &self,
        ct: &RlweCiphertext<B>,
        coefficients: &[usize],
        key: &ToTfheKey<B>,
    ) -> Result<LweBatch<B>> {
        self.check_ciphertext(ct)?;
        self.check(coefficients, key)?;
        let n = self.ring.n();
        let pair = self.rounded(ct)?.switch(&key.key)?;
        let words = |poly: &Poly<_, B>| -> Result<Vec<u64>> {
            let coefficients: Poly<Coeff, B> = poly.duplicate()?.into_coeff()?;
            Ok(self.on_the_torus(&coefficients.to_words()?))
        };
        let [bodies, masks] = pair.parts();
        let (bodies, masks) = (words(bodies)?, words(masks)?);
        let tfhe = self.params.tfhe();
        let (width, step) = (tfhe.words(), n / tfhe.degree());
        let mut samples = vec![0; ct.batch() * coefficients.len() * width];
        samples.par_chunks_mut(width).enumerate().for_each(|(sample, out)| {
            let (entry, i) = (sample / coefficients.len(), coefficients[sample % coefficients.len()]);
            let (body, mask) = (&bodies[entry * n..][..n], &masks[entry * n..][..n]);
            extract(mask, i, step, &mut out[..width - 1]);
            out[width - 1] = body[i];
        });
        let mut batch = LweBatch::upload(self.ring.backend(), tfhe, &samples)?;
        batch.set_key_set(pair.key_set);
        Ok(batch)
    }

    fn check_ciphertext(&self, ct: &RlweCiphertext<B>) -> Result<()> {
        let source = self.params.source().ring();
        if !ct.ring().spec().is_prefix_of(source) && !source.is_prefix_of(ct.ring().spec()) {
            return Err(Error::RingMismatch);
        }
        let (left, right) = (ct.parts()[0].span(), Span::chain(self.params.base()));
        if left == right { Ok(()) } else { Err(Error::SpanMismatch { left, right }) }
    }

    /// Whether there is such a key, and whether there are such coefficients.
    pub(super) fn check(&self, coefficients: &[usize], key: &ToTfheKey<B>) -> Result<()> {
        let n = self.ring.n();
        if key.params != self.params {
            let (why, hint) = ("it is of other parameters", "generate it for the switch's parameters");
            return Err(Error::domain("key to TFHE", why, hint));
        }
        if let Some(beyond) = coefficients.iter().find(|&&i| i >= n) {
            return Err(Error::domain(
                "coefficient",
                beyond.to_string(),
                format!("there are {n}, from 0 on"),
            ));
        }
        Ok(())
    }

    /// The same phase, to scale, modulo q'.
    fn rounded(&self, ct: &RlweCiphertext<B>) -> Result<RlweCiphertext<B>> {
        let moduli = self.params.ring_spec().q_moduli();
        let q = self.params.modulus();
        // q' c is zero modulo q', and what is dropped divides it by the base.
        let factors: Vec<u64> = moduli.iter().map(|modulus| modulus.reduce(q)).collect();
        let mut pair = ct.map(|part| part.placed(&self.ring, 1))?;
        pair.c.iter_mut().try_for_each(|part| part.scale_assign(&factors))?;
        pair.mod_down(1)
    }

    /// Words modulo q' in units of 2^-64 of the torus.
    fn on_the_torus(&self, words: &[u64]) -> Vec<u64> {
        let q = u128::from(self.params.modulus());
        let torus = |&word: &u64| (((u128::from(word) << 64) + q / 2) / q) as u64;
        words.par_iter().map(torus).collect()
    }
}

/// The mask of coefficient `i`: minus the coefficients i - `step` j of the polynomial, modulo
/// X^N + 1.
fn extract(mask: &[u64], i: usize, step: usize, out: &mut [u64]) {
    let n = mask.len();
    for (j, out) in out.iter_mut().enumerate() {
        let from = step * j;
        *out = if from <= i { mask[i - from].wrapping_neg() } else { mask[n + i - from] };
    }
}
