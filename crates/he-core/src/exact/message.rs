//! Messages on a device.

use super::{Params, PlainModulus, Plaintext, Scheme};
use crate::backend::{Cpu, ExactOps, MessagePhase, RingOps};
use crate::error::{Error, Result};
use crate::ring::{Coeff, Eval, Poly, Ring, Span, SpecialFft};

/// A [`Plaintext`] in the memory of a device, coefficient by coefficient. Encryption takes it and
/// decryption returns it without a copy from or to the host. It is wiped when dropped.
pub struct Message<B: RingOps = Cpu> {
    pub(super) ring: Ring<B>,
    pub(super) plain: PlainModulus,
    pub(super) batch: usize,
    pub(super) buf: B::Buf,
}

impl<B: RingOps> std::fmt::Debug for Message<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Message {{ t = {}, N = {}, batch {} }}", self.plain.value(), self.ring.n(), self.batch)
    }
}

impl<B: RingOps> Drop for Message<B> {
    fn drop(&mut self) {
        self.ring.backend().wipe(&mut self.buf);
    }
}

impl<B: RingOps> Message<B> {
    /// Uploads a plaintext to the device of a ring.
    ///
    /// # Errors
    /// [`Error::Argument`] for a plaintext of another degree; device errors.
    pub fn new(ring: &Ring<B>, plaintext: &Plaintext) -> Result<Self> {
        plaintext.check(&plaintext.plain, ring.n())?;
        let buf = ring.backend().upload(&plaintext.coefficients)?;
        Ok(Self { ring: ring.clone(), plain: plaintext.plain, batch: plaintext.batch(), buf })
    }

    /// Downloads the plaintext to the host. Waits for the device.
    ///
    /// # Errors
    /// Device errors.
    pub fn into_plaintext(mut self) -> Result<Plaintext> {
        let coefficients = self.ring.backend().take(&mut self.buf)?.into();
        Ok(Plaintext { plain: self.plain, n: self.ring.n(), coefficients })
    }

    /// The number of messages in the batch.
    pub fn batch(&self) -> usize {
        self.batch
    }

    /// Checks that it is of this modulus, in this ring.
    pub(super) fn check(&self, plain: &PlainModulus, ring: &Ring<B>) -> Result<()> {
        if self.plain != *plain {
            let why = format!("made for t = {}, used with t = {}", self.plain.value(), plain.value());
            return Err(Error::argument("message", why));
        }
        if self.ring.same(ring) { Ok(()) } else { Err(Error::RingMismatch) }
    }

    /// m in `[-t/2, t/2)` modulo the first `primes` primes.
    pub(super) fn lift(&self, primes: usize) -> Result<Poly<Eval, B>> {
        let (modulus, scale) = (self.plain.modulus(), &vec![1; primes]);
        let message = MessagePhase { words: &self.buf, modulus, factor: 1, scale };
        let lifted: Poly<Coeff, B> =
            Poly::message_phase(&self.ring, Span::chain(primes), self.batch, message)?;
        lifted.into_eval()
    }

    /// The bits of the greatest |m(z)|^2 over the roots z of X^N + 1, message by message.
    pub(super) fn greatest_squares(&self, embedding: &SpecialFft) -> Result<B::Buf> {
        self.ring.prepared().greatest_squares(self.batch, &self.buf, self.plain.modulus(), embedding)
    }

    /// The message as a phase with this correction factor.
    pub(super) fn phase<'a, S: Scheme>(
        &'a self,
        params: &'a Params<S>,
        correction_factor: u64,
    ) -> MessagePhase<'a, B::Buf> {
        let (modulus, scale) = (params.plain().modulus(), params.t_inverse());
        MessagePhase { words: &self.buf, modulus, factor: correction_factor, scale }
    }
}
