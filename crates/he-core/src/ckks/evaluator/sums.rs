//! Sums of ciphertexts.

use super::Evaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::ckks::ciphertext::Meta;
use crate::error::Result;
use crate::ring::Poly;
use crate::rlwe::{Aligned, RlweCiphertext};
use std::borrow::Borrow;

impl<B: RingOps> Evaluator<B> {
    fn combine(
        &self,
        a: &Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<RlweCiphertext<B>>,
    ) -> Result<Ciphertext<B>> {
        let slots = a.meta.slots.max(b.meta.slots);
        let [a, b] = self.aligned(a, b)?;
        let (a, b): (&Ciphertext<B>, &Ciphertext<B>) = (a.borrow(), b.borrow());
        let noise = a.meta.noises(&b.meta).map(|(a, b)| a.plus(b));
        Ok(Ciphertext { pair: f(&a.pair, &b.pair)?, meta: Meta { slots, noise, ..a.meta } })
    }

    /// a <- f(a, b), with a copy of `a` only where it has to be brought to another level or scale.
    fn combine_assign(
        &self,
        a: &mut Ciphertext<B>,
        b: &Ciphertext<B>,
        f: impl Fn(&mut RlweCiphertext<B>, &RlweCiphertext<B>) -> Result<()>,
    ) -> Result<()> {
        let slots = a.meta.slots.max(b.meta.slots);
        let [copied, aligned] = self.aligned(a, b)?.map(Aligned::into_copy);
        let b = aligned.as_ref().unwrap_or(b);
        let mut copied = copied;
        let to = copied.as_mut().unwrap_or(a);
        let noise = to.meta.noises(&b.meta).map(|(a, b)| a.plus(b));
        f(&mut to.pair, &b.pair)?;
        to.meta = Meta { slots, noise, ..to.meta };
        if let Some(copied) = copied {
            *a = copied;
        }
        Ok(())
    }

    /// a + b. `b` may have a batch of one. Noise adds; no level is used unless the operands' levels
    /// differ.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn add(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::add)
    }

    /// a - b, likewise.
    ///
    /// # Errors
    /// Mismatch of ring, batch or key sets; device errors.
    pub fn sub(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.combine(a, b, RlweCiphertext::sub)
    }

    /// a <- a + b, to the same words as [`add`](Self::add) and without new memory where both are on
    /// one level.
    ///
    /// ```
    /// # use he_core::{backend::Cpu, ckks::*, ring::Ring, rlwe::*};
    /// # fn main() -> he_core::Result<()> {
    /// # let params = CkksParams::for_depth(1).build()?;
    /// # let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// # let mut rng = he_core::rand::rng();
    /// # let secret = SecretKey::generate(params.rlwe(), &mut rng);
    /// let ev = Evaluator::new(&params, &ring)?;
    /// # let encryptor = SecretEncryptor::new(&params, &secret, &ring)?;
    /// # let one = ev.encoder().encode_real(&[1.0, 2.0], params.encoding())?;
    /// # let x = encryptor.encrypt(&one, &mut rng)?.expand()?;
    /// let mut sum = ev.neg(&x)?;
    /// for _ in 0..3 {
    ///     ev.add_assign(&mut sum, &x)?;
    /// }
    /// # let found = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&sum)?;
    /// # assert!((found[0] - 2.0).abs() < 1e-4 && (found[1] - 4.0).abs() < 1e-4);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The same as for [`add`](Self::add), before anything changes; after a device error, `a` has
    /// any value.
    pub fn add_assign(&self, a: &mut Ciphertext<B>, b: &Ciphertext<B>) -> Result<()> {
        self.combine_assign(a, b, RlweCiphertext::add_assign)
    }

    /// a <- a - b, likewise.
    ///
    /// # Errors
    /// The same as for [`add_assign`](Self::add_assign).
    pub fn sub_assign(&self, a: &mut Ciphertext<B>, b: &Ciphertext<B>) -> Result<()> {
        self.combine_assign(a, b, RlweCiphertext::sub_assign)
    }

    /// a <- -a.
    ///
    /// # Errors
    /// The same as for [`neg`](Self::neg).
    pub fn neg_assign(&self, a: &mut Ciphertext<B>) -> Result<()> {
        self.check_ciphertext(a)?;
        a.pair.c.iter_mut().try_for_each(Poly::neg_assign)
    }

    /// -a.
    ///
    /// # Errors
    /// Mismatch of ring; device errors.
    pub fn neg(&self, a: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let mut result = a.duplicate()?;
        self.neg_assign(&mut result)?;
        Ok(result)
    }
}
