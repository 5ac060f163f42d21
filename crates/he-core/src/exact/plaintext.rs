//! Plaintexts: polynomials modulo t, on the host.

use super::{Message, Params, PlainModulus, Scheme};
use crate::backend::{Cpu, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly, Ring, Span};
use crate::secret_words::SecretWords;
use derive_where::derive_where;
use rand::CryptoRng;

/// A batch of polynomials modulo t, as coefficients in `[0, t)`, the same for BFV and BGV. It is
/// wiped when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Plaintext {
    pub(super) plain: PlainModulus,
    pub(super) n: usize,
    pub(super) coefficients: SecretWords,
}

impl std::fmt::Debug for Plaintext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Plaintext {{ t = {}, N = {}, batch {} }}", self.plain.value(), self.n, self.batch())
    }
}

impl Plaintext {
    /// The number of polynomials in the batch.
    pub fn batch(&self) -> usize {
        self.coefficients.len() / self.n
    }

    /// The coefficients, batch entry by batch entry.
    pub fn coefficients(&self) -> &[u64] {
        &self.coefficients
    }

    /// Uniform coefficients modulo t, at a statistical distance below 2^-66 each. Constant time.
    pub(crate) fn uniform<S: Scheme>(
        params: &Params<S>,
        batch: usize,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Self {
        let (plain, n) = (*params.plain(), params.rlwe().ring().n());
        let mut coefficients = SecretWords::zeros(batch * n);
        for c in coefficients.iter_mut() {
            let wide = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
            *c = plain.modulus().reduce_u128(wide);
        }
        Self { plain, n, coefficients }
    }

    /// Checks that it is of this modulus and degree.
    pub(super) fn check(&self, plain: &PlainModulus, n: usize) -> Result<()> {
        if self.plain == *plain && self.n == n {
            return Ok(());
        }
        let (made, used) = (self.plain.value(), plain.value());
        let why = format!("made for t = {made} and N = {}, used with t = {used} and N = {n}", self.n);
        Err(Error::argument("plaintext", why))
    }
}

/// A plaintext prepared for products with ciphertexts, on a device: m in `[-t/2, t/2)` modulo the
/// first primes of the chain.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PreparedPlaintext<B: RingOps = Cpu> {
    pub(super) poly: Poly<Eval, B>,
    /// log2 of the greatest |m(z)| over the roots z of X^N + 1: the most by which it multiplies
    /// noise.
    pub(super) gain_log2: f64,
    pub(super) plain_modulus: u64,
}

impl<B: RingOps> PreparedPlaintext<B> {
    /// The number of plaintexts in the batch.
    pub fn batch(&self) -> usize {
        self.poly.batch()
    }

    /// The polynomials.
    pub fn poly(&self) -> &Poly<Eval, B> {
        &self.poly
    }

    /// log2 of the greatest magnitude at the roots of X^N + 1: the noise of a product grows by this
    /// at most.
    pub fn gain_log2(&self) -> f64 {
        self.gain_log2
    }
}

impl Plaintext {
    /// [f m]_t / t modulo the first `primes` primes: the phase of an encryption without noise.
    /// Constant time.
    pub(crate) fn phase<S: Scheme, B: RingOps>(
        &self,
        params: &Params<S>,
        ring: &Ring<B>,
        primes: usize,
        correction_factor: u64,
    ) -> Result<Poly<Eval, B>> {
        let message = Message::new(ring, self)?;
        Poly::message_phase(
            ring,
            Span::chain(primes),
            self.batch(),
            message.phase(params, correction_factor),
        )?
        .into_eval()
    }
}
