//! Composition of ciphertexts to ciphertexts of a greater degree, and decomposition.
//!
//! Let N = k n. The polynomial sum_i X^i m_i(X^k) of degree below N has the coefficients of k
//! polynomials of degree below n, one after the other at every place. The same map of the parts of
//! k ciphertexts under s is a ciphertext under s(X^k), since s is the same in all of them. A key
//! switch leads from there to a secret of the greater ring, and back. (Gentry, Halevi, Peikert,
//! Smart, *Ring Switching in BGV-Style Homomorphic Encryption*, SCN 2012.)

use super::{RlweCiphertext, RlweParams, SecretKey, SwitchKey};
use crate::backend::{Blocks, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Coeff, Eval, Poly, Ring};
use rand::CryptoRng;

impl<B: RingOps> SwitchKey<B> {
    /// The key that takes [composed](RlweCiphertext::compose) ciphertexts from s(X^k) to a secret
    /// of the greater degree, over the primes and digits of `params`; `ring` is theirs.
    ///
    /// # Errors
    /// [`Error::Argument`] unless the degree of `small` divides that of the parameters; the same as
    /// for `generate`.
    pub fn for_composition(
        small: &SecretKey,
        large: &SecretKey,
        params: &RlweParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        Self::generate(&small.spread(params)?, large, params, ring, rng)
    }

    /// The key that leads to s(X^k), for what is then [decomposed](RlweCiphertext::decompose_into), over
    /// the primes and digits of `params`; `ring` is theirs. The key is as secure as the small
    /// degree makes it, so that its modulus, with the special primes, must not exceed that of the
    /// parameters of `small`.
    ///
    /// # Errors
    /// [`Error::Argument`] for a greater modulus, or unless the degree of `small` divides that of
    /// the parameters; the same as for `generate`.
    pub fn for_decomposition(
        large: &SecretKey,
        small: &SecretKey,
        params: &RlweParams,
        ring: &Ring<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Self> {
        let (found, most) = (params.ring().log_qp(), small.params().ring().log_qp());
        if found > most {
            let found = format!("log2(QP) = {found:.1} for a secret of degree {}", small.params().ring().n());
            return Err(Error::domain("parameters of a key", found, format!("it may be {most:.1} at most")));
        }
        Self::generate(large, &small.spread(params)?, params, ring, rng)
    }
}

/// How many polynomials of the one degree make one of the other, both over the same primes.
fn parts<B: RingOps>(small: &Ring<B>, large: &Ring<B>, primes: usize) -> Result<usize> {
    let (few, many) = (small.spec(), large.spec());
    let same = few.q().get(..primes).is_some_and(|q| many.q().get(..primes) == Some(q));
    if !same || few.log_n() > many.log_n() {
        return Err(Error::RingMismatch);
    }
    Ok(large.n() / small.n())
}

/// The words of coefficient i + k j of each entry, for a part i of k: n words in the small batch,
/// of which part i is, and every k-th in the large one.
struct Places {
    parts: usize,
    words: usize,
}

impl Places {
    fn small(&self, limb: usize, part: usize) -> Blocks {
        Blocks { at: (limb * self.parts + part) * self.words, step: 1 }
    }

    fn large(&self, limb: usize, part: usize) -> Blocks {
        Blocks { at: limb * self.parts * self.words + part, step: self.parts }
    }

    /// All limbs and parts.
    fn each(&self, limbs: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let parts = self.parts;
        (0..limbs).flat_map(move |limb| (0..parts).map(move |part| (limb, part)))
    }
}

impl<B: RingOps> RlweCiphertext<B> {
    /// Ciphertexts of a greater degree, N = k n, each of k of this batch: of b k ciphertexts, entry
    /// e of the result has the phase sum_i X^i m_(i b + e)(X^k). Exact: nothing but a new order of
    /// coefficients. The result is under s(X^k), from which a key of
    /// [`SwitchKey::for_composition`] leads to a secret of that degree. `ring` is on the same
    /// device and has the same first primes, which are 1 modulo 2N.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of a lower degree or other primes; [`Error::MatrixRows`]
    /// unless k divides the batch; device errors.
    pub fn compose(&self, ring: &Ring<B>) -> Result<Self> {
        let (span, batch) = (self.c[0].span(), self.batch());
        let parts = parts(self.ring(), ring, span.q)?;
        if !batch.is_multiple_of(parts) {
            return Err(Error::MatrixRows { found: batch, needed: batch.next_multiple_of(parts) });
        }
        let places = Places { parts, words: batch / parts * self.ring().n() };
        let rows = Poly::<Coeff, B>::rows_of(ring, span, batch / parts)?;
        self.reordered(ring, batch / parts, rows.count() * ring.n(), |from, to| {
            places.each(span.limbs()).try_for_each(|(limb, part)| {
                let (small, large) = (places.small(limb, part), places.large(limb, part));
                ring.backend().copy_blocks(from, small, to, large, 1, places.words)
            })
        })
    }

    /// The inverse of [`compose`](Self::compose), for ciphertexts under s(X^k), to which a key of
    /// [`SwitchKey::for_decomposition`] leads.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of a greater degree or other primes; device errors.
    pub fn decompose_into(&self, ring: &Ring<B>) -> Result<Self> {
        let (span, batch) = (self.c[0].span(), self.batch());
        let parts = parts(ring, self.ring(), span.q)?;
        let places = Places { parts, words: batch * ring.n() };
        let rows = Poly::<Coeff, B>::rows_of(ring, span, batch * parts)?;
        self.reordered(ring, batch * parts, rows.count() * ring.n(), |from, to| {
            places.each(span.limbs()).try_for_each(|(limb, part)| {
                let (small, large) = (places.small(limb, part), places.large(limb, part));
                ring.backend().copy_blocks(from, large, to, small, 1, places.words)
            })
        })
    }

    /// Ciphertexts of another degree whose coefficients are these in another order.
    fn reordered(
        &self,
        ring: &Ring<B>,
        batch: usize,
        words: usize,
        copy: impl Fn(&B::Buf, &mut B::Buf) -> Result<()>,
    ) -> Result<Self> {
        let part = |part: &Poly<Eval, B>| -> Result<Poly<Eval, B>> {
            let coefficients = part.duplicate()?.into_coeff()?;
            let mut buf = ring.backend().scratch(words)?;
            copy(coefficients.buf(), &mut buf)?;
            Poly::<Coeff, B>::from_buf(ring, part.span(), batch, buf).into_eval()
        };
        self.map(part)
    }
}
