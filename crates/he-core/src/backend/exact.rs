//! The operations of BFV and BGV; their provided bodies are in files of their own.

use super::{Backend, MessagePhase, PhaseModT, PolyOps, ScaledTensor};
use super::{encrypt, greatest_squares, message_phase, phase_mod_t, scaled_tensor};
use crate::arith::Modulus;
use crate::error::Result;
#[cfg(doc)]
use crate::ring::BaseConversion;
use crate::ring::{Operand, Rows, Seed, SpecialFft};
use crate::secret_words::SecretWords;

/// Operations of schemes on integers modulo t, and encryption by public keys. Every one has a
/// provided body, which is its definition: a device may override it by fused kernels that leave the
/// same words.
pub trait ExactOps: PolyOps {
    /// round(t a round(R b / Q) / R) for the three parts of the tensor product, over the chain's
    /// primes with product Q, in evaluation form: the scale-invariant product t a b / Q of BFV
    /// through an auxiliary modulus R. Operands are over the chain, in evaluation form, `a` with
    /// the batch of the shape and `b` with that or one. Representatives are the centred ones, each
    /// rounding to nearest, as [`convert_basis`](PolyOps::convert_basis) and
    /// [`mod_down`](PolyOps::mod_down) take them.
    fn scaled_tensor(
        &self,
        shape: &ScaledTensor,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        scaled_tensor(self, shape, a, b)
    }

    /// The phases of messages modulo t, without noise, as coefficients: [f m]_t / t with [.]_t in
    /// `[-t/2, t/2)`. The rows start at word 0.
    fn message_phase(&self, rows: Rows, message: MessagePhase<'_, Self::Buf>) -> Result<Self::Buf> {
        message_phase(self, rows, message)
    }

    /// The greatest |m(z)|^2 over the roots z of X^N + 1 of each message, m in `[-t/2, t/2)`, as
    /// the bits of float64: one word per message. The coefficients in `[0, t)` start at word 0 of
    /// `words`; `fft` has the roots for N/2 slots at least. Every product and sum is rounded in the
    /// order of [`SpecialFft::forward`], so that the bits are the same on every device.
    fn greatest_squares(
        &self,
        batch: usize,
        words: &Self::Buf,
        modulus: &Modulus,
        fft: &SpecialFft,
    ) -> Result<Self::Buf> {
        greatest_squares(self, batch, words, modulus, fft)
    }

    /// Encryptions by a public key (b, a), in evaluation form: (b v + e0 + phase, a v + e1), with v
    /// ternary polynomial 0 and e0, e1 errors 0 and 1 under `seed`, and the phase that
    /// [`message_phase`](Self::message_phase) makes of the message, 0 without one. The rows start at
    /// word 0; the key has batch 1. Leaves no trace of v, e0 and e1 in memory that it frees.
    fn encrypt(
        &self,
        rows: Rows,
        seed: &Seed,
        key: [Operand<'_, Self::Buf>; 2],
        message: Option<MessagePhase<'_, Self::Buf>>,
    ) -> Result<[Self::Buf; 2]> {
        encrypt(self, rows, seed, key, message)
    }

    /// The coefficients of c0 + c1 s, operands in evaluation form over the chain's first primes,
    /// multiplied by the factors, taken in `[-Q/2, Q/2)` as [`BaseConversion`] does, modulo any
    /// modulus, and multiplied once more: batch x N words. The rows start at word 0, and the secret
    /// has batch 1. Leaves no trace of the phase in memory that it frees.
    fn phase_mod_t(
        &self,
        rows: Rows,
        c: [Operand<'_, Self::Buf>; 2],
        secret: Operand<'_, Self::Buf>,
        to: PhaseModT<'_>,
    ) -> Result<Self::Buf> {
        phase_mod_t(self, rows, c, secret, to)
    }

    /// Reorders words: word k of each row is word `index[k]` of the same row of `src`, where
    /// `index` has N words below N. The rows start at word 0 of both.
    fn gather(&self, rows: Rows, index: &Self::Buf, src: &Self::Buf) -> Result<Self::Buf> {
        let n = self.spec().n();
        let index = self.backend().download(index, 0..n)?;
        let words = SecretWords::from(self.backend().download(src, 0..rows.count() * n)?);
        let ordered = words.chunks_exact(n).flat_map(|row| index.iter().map(|&k| row[k as usize]));
        self.backend().upload(&SecretWords::from(ordered.collect::<Vec<u64>>()))
    }
}
