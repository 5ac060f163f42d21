//! Polynomials that hold a secret.

use super::Poly;
use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::key_set::KeySetId;
use crate::ring::{Domain, Eval, Seed, Span};

/// A polynomial that holds a secret. It is wiped when dropped, and never printed.
pub struct SecretPoly<D: Domain, B: RingOps = Cpu> {
    poly: Poly<D, B>,
    key_set: Option<KeySetId>,
}

impl<D: Domain, B: RingOps> SecretPoly<D, B> {
    /// Takes charge of a polynomial.
    pub fn new(poly: Poly<D, B>) -> Self {
        Self { poly, key_set: None }
    }

    /// Takes charge of the secret of a key set.
    pub(crate) fn of(mut self, key_set: KeySetId) -> Self {
        self.key_set = Some(key_set);
        self
    }

    /// The polynomial.
    pub fn get(&self) -> &Poly<D, B> {
        &self.poly
    }

    /// The key set whose secret this is, if it is one and the key set is known.
    pub fn key_set(&self) -> Option<KeySetId> {
        self.key_set
    }
}

impl<B: RingOps> SecretPoly<Eval, B> {
    /// a s over the primes of `span`, for this secret s and the uniform a of a public seed: as
    /// secret as s is. Constant time.
    ///
    /// # Errors
    /// [`Error::SpanMismatch`](crate::Error::SpanMismatch) for primes that the secret does not have;
    /// device errors.
    pub(crate) fn times_uniform(&self, span: Span, batch: usize, seed: &Seed, index: u32) -> Result<Self> {
        let mut product = Poly::uniform(self.poly.ring(), span, batch, seed, index)?;
        product.mul_assign(&self.poly)?;
        Ok(Self::new(product))
    }
}

impl<D: Domain, B: RingOps> Drop for SecretPoly<D, B> {
    fn drop(&mut self) {
        self.poly.wipe();
    }
}

impl<D: Domain, B: RingOps> std::fmt::Debug for SecretPoly<D, B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretPoly { .. }")
    }
}
