//! Products of ciphertexts, and their relinearisation.

use super::ciphertext::Meta;
use super::{Ciphertext, Evaluator, Product, Scheme};
use crate::backend::RingOps;
use crate::error::Result;
use crate::rlwe::{EvaluationKeys, RlweProduct};
use std::borrow::Borrow;

impl<S: Scheme, B: RingOps> Evaluator<S, B> {
    /// The product before relinearisation, so that a sum of products needs one relinearisation.
    /// Both operands are first brought to the lowest level that leaves the product the greatest
    /// predicted budget, within a quarter of a bit. In BFV this is the leveled variant of Kim,
    /// Polyakov, Zucca 2021 (section 5), and in BGV the modulus switch before each product. Either
    /// side may have a batch of one.
    ///
    /// # Errors
    /// [`BudgetSpent`](crate::Error::BudgetSpent); mismatch of ring, parameters, batch or key sets;
    /// device errors.
    pub fn tensor(&self, a: &Ciphertext<S, B>, b: &Ciphertext<S, B>) -> Result<Product<S, B>> {
        self.check_ciphertext(a)?;
        self.check_ciphertext(b)?;
        let meta = self.params.product(a.meta, b.meta)?;
        let (a, b) = (self.at_primes(a, meta.primes)?, self.at_primes(b, meta.primes)?);
        let (a, b): (&Ciphertext<S, B>, &Ciphertext<S, B>) = (a.borrow(), b.borrow());
        let triple =
            (self.ring.backend()).batched(|| S::tensor(&self.multiplier, &self.params, &a.pair, &b.pair))?;
        Ok(Product::with_meta(triple, meta))
    }

    /// Brings a product to fewer primes and multiplies phase and correction factor by c.
    fn adjusted(&self, product: &Product<S, B>, primes: usize, c: i64) -> Result<Product<S, B>> {
        let meta = self.switched_triple(product.meta, primes)?;
        let mut triple = product.triple.duplicate()?;
        if primes < product.meta.primes {
            triple = triple.mod_down(primes)?;
        }
        if c == 1 {
            return Ok(Product::with_meta(triple, meta));
        }
        triple.scale_assign(&self.residues(c, primes))?;
        Ok(Product::with_meta(triple, self.params.raised(meta, c)))
    }

    fn switched_triple(&self, meta: Meta, primes: usize) -> Result<Meta> {
        if primes == meta.primes {
            return Ok(meta);
        }
        let switched = self.params.switched(meta, primes)?;
        Ok(Meta { noise: self.params.noise().rounded_triple(switched.noise), ..switched })
    }

    fn combine_products(
        &self,
        a: &mut Product<S, B>,
        b: &Product<S, B>,
        f: impl Fn(&mut RlweProduct<B>, &RlweProduct<B>) -> Result<()>,
    ) -> Result<()> {
        self.check(a.meta, &a.triple.d[0])?;
        self.check(b.meta, &b.triple.d[0])?;
        let primes = a.meta.primes.min(b.meta.primes);
        let found = [a.meta, b.meta].map(|meta| Ok(self.switched_triple(meta, primes)?.correction_factor));
        let [left, right]: [Result<u64>; 2] = found;
        let (ca, cb) = self.params.common_correction_factor(left?, right?)?;
        if (primes, ca) != (a.meta.primes, 1) {
            *a = self.adjusted(a, primes, ca)?;
        }
        let adjusted =
            if (primes, cb) == (b.meta.primes, 1) { None } else { Some(self.adjusted(b, primes, cb)?) };
        let b = adjusted.as_ref().unwrap_or(b);
        let noise = a.meta.noise.plus(b.meta.noise);
        self.params.check_budget(noise, primes)?;
        f(&mut a.triple, &b.triple)?;
        a.meta.noise = noise;
        Ok(())
    }

    /// a <- a + b.
    ///
    /// # Errors
    /// [`BudgetSpent`](crate::Error::BudgetSpent); mismatch of ring, parameters, batch or key sets;
    /// device errors. `a` may then have been brought to the level of the sum.
    pub fn add_products(&self, a: &mut Product<S, B>, b: &Product<S, B>) -> Result<()> {
        self.combine_products(a, b, RlweProduct::add_assign)
    }

    /// a <- a - b.
    ///
    /// # Errors
    /// The same as for [`add_products`](Self::add_products).
    pub fn sub_products(&self, a: &mut Product<S, B>, b: &Product<S, B>) -> Result<()> {
        self.combine_products(a, b, RlweProduct::sub_assign)
    }

    /// Relinearises a product to a ciphertext.
    ///
    /// # Errors
    /// [`MissingRelinKey`](crate::Error::MissingRelinKey),
    /// [`ParamsMismatch`](crate::Error::ParamsMismatch);
    /// [`BudgetSpent`](crate::Error::BudgetSpent); device errors.
    pub fn relinearize(&self, product: &Product<S, B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<S, B>> {
        keys.check(self.params.rlwe(), &self.ring)?;
        self.check(product.meta, &product.triple.d[0])?;
        let meta = self.params.key_switched(product.meta, 1)?;
        Ok(Ciphertext::with_meta(product.triple.relinearize(keys.relin()?, meta.primes)?, meta))
    }

    /// a b, relinearised; levels are as for [`tensor`](Self::tensor).
    ///
    /// # Errors
    /// The same as for [`tensor`](Self::tensor) and [`relinearize`](Self::relinearize).
    pub fn mul(
        &self,
        a: &Ciphertext<S, B>,
        b: &Ciphertext<S, B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        // This is checked before the work is done.
        keys.check(self.params.rlwe(), &self.ring)?;
        keys.relin()?;
        self.ring.backend().batched(|| self.relinearize(&self.tensor(a, b)?, keys))
    }

    /// a a, relinearised.
    ///
    /// # Errors
    /// The same as for [`mul`](Self::mul).
    pub fn square(&self, a: &Ciphertext<S, B>, keys: &EvaluationKeys<B>) -> Result<Ciphertext<S, B>> {
        self.mul(a, a, keys)
    }
}
