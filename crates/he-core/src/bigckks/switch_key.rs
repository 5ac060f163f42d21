//! Switching keys.

use super::{BigCkksParams, SecretKey, WidePoly};
use crate::backend::{Cpu, KeySwitchOps, WideOps, WidePolyOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, SecretPoly, Seed};
use crate::rlwe::sealed::Sealed;
use crate::rlwe::{EvaluationKey, GadgetKey, KeyParams, SwitchSource};
use rand::CryptoRng;

/// A key for "t under s": for each digit j of w bits (-a_j s + e_j + P 2^(j w) t, a_j) modulo
/// 2^(log q + log P); the evk of the paper is the one with t = s^2 and a single digit. It is kept
/// as centred numbers over the primes of the products, in evaluation form, so that a key switch
/// does not transform the key; at a lower modulus, the first primes of the same key serve.
pub type SwitchKey<B = Cpu> = GadgetKey<BigCkksParams, B>;

impl<B: WideOps> SwitchKey<B> {
    /// Makes a key for `message` under `secret`, both over the primes of keys. The a_j come from a
    /// public seed.
    fn generate(
        params: &BigCkksParams,
        message: SecretPoly<Eval, B>,
        secret: &SecretPoly<Eval, B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let ring = secret.get().ring();
        let bits = params.log_q() + params.log_p();
        let mut message = WidePoly::from_secret_values(message.get().duplicate()?, bits)?;
        let bodies = (0..params.digits(params.log_q())).map(|j| {
            let a = WidePoly::uniform(ring, bits, 1, &seed, j as u32)?;
            let mut product = a.values(params.key_span())?;
            product.mul_assign(secret.get())?;
            // a is public, so a s reveals s.
            let mut product = WidePoly::from_secret_values(product, bits)?;
            let mut b = WidePoly::error(ring, bits, 1, &errors, j as u32)?;
            b.sub_assign(&product)?;
            product.wipe();
            let mut shifted = message.duplicate()?;
            shifted.shift_left_assign(params.log_p() + j as u32 * params.spec().digit_bits)?;
            b.add_assign(&shifted)?;
            shifted.wipe();
            Ok(b)
        });
        let bodies = bodies.collect::<Result<Vec<_>>>()?;
        message.wipe();
        Self::from_bodies(params, ring, seed, &bodies)
    }

    /// Makes a key from the seed of the a_j, and the first parts modulo 2^(log q + log P), one per
    /// digit.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of digits; mismatch of ring, modulus or batch; device
    /// errors.
    pub fn from_bodies(
        params: &BigCkksParams,
        ring: &Ring<B>,
        seed: Seed,
        bodies: &[WidePoly<B>],
    ) -> Result<Self> {
        if ring.spec() != params.ring() || bodies.iter().any(|b| !b.ring().same(ring)) {
            return Err(Error::RingMismatch);
        }
        let (digits, bits) = (params.digits(params.log_q()), params.log_q() + params.log_p());
        if bodies.len() != digits {
            let why = format!("{} given for {digits} digits", bodies.len());
            return Err(Error::argument("key bodies", why));
        }
        let (span, shape) = (params.key_span(), params.key_shape());
        let mut buf = ring.prepared().empty_key(&shape)?;
        for (j, b) in bodies.iter().enumerate() {
            if b.bits() != bits {
                return Err(Error::ModulusMismatch { left: b.bits(), right: bits });
            }
            if b.batch() != 1 {
                return Err(Error::BatchMismatch { left: b.batch(), right: 1 });
            }
            let a = WidePoly::uniform(ring, bits, 1, &seed, j as u32)?;
            for (part, poly) in [b, &a].into_iter().enumerate() {
                let values = poly.values(span)?;
                ring.prepared().write_key(&shape, buf.as_mut(), j, part, values.buf())?;
            }
        }
        let (params, ring) = (params.clone(), ring.clone());
        Ok(Self { params, ring, seed: Some(seed), buf, source: None, key_set: None })
    }

    /// Returns the first part of a digit, modulo 2^(log q + log P).
    ///
    /// # Errors
    /// [`Error::Argument`] for a digit that does not exist; device errors.
    pub fn body(&self, digit: usize) -> Result<WidePoly<B>> {
        let span = self.params.key_span();
        if digit >= self.params.digits(self.params.log_q()) {
            return Err(Error::argument("digit", format!("there is no digit {digit}")));
        }
        let values = self.ring.prepared().read_key(&self.params.key_shape(), self.buf(), digit, 0)?;
        let values = Poly::from_buf(&self.ring, span, 1, values);
        WidePoly::from_values(values, self.params.log_q() + self.params.log_p())
    }

    /// round(P^-1 sum_j d_j (b_j, a_j)) for the digits d_j of c, which is c t under s, plus
    /// polynomials of c's modulus and batch.
    pub(crate) fn switch(
        &self,
        c: &WidePoly<B>,
        addend: [Option<&WidePoly<B>>; 2],
    ) -> Result<[WidePoly<B>; 2]> {
        if !c.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let shape = self.params.switch_shape(c.bits(), c.batch())?;
        let ring = &self.ring;
        let addend = addend.map(|poly| poly.map(WidePoly::buf));
        let pair = ring.prepared().wide_key_switch(&shape, c.buf(), self.buf(), addend)?;
        Ok(pair.map(|buf| WidePoly::from_buf(ring, c.bits(), c.batch(), buf)))
    }
}

impl<B: WideOps> Sealed for SwitchKey<B> {}

impl<B: WideOps> EvaluationKey<BigCkksParams, B> for SwitchKey<B> {
    fn relinearisation(
        secret: &SecretKey,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let s = secret.on(ring, secret.params().key_span())?;
        let mut square = s.get().duplicate()?;
        square.mul_assign(s.get())?;
        let key = Self::generate(secret.params(), SecretPoly::new(square), &s, rng)?;
        Ok(key.leading(SwitchSource::Square, secret.key_set()))
    }

    fn galois(
        secret: &SecretKey,
        g: u64,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let s = secret.on(ring, secret.params().key_span())?;
        let image = SecretPoly::new(s.get().automorphism(g)?);
        let key = Self::generate(secret.params(), image, &s, rng)?;
        Ok(key.leading(SwitchSource::Image(g), secret.key_set()))
    }
}
