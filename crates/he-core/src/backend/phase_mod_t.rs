//! The provided body of [`ExactOps::phase_mod_t`].

#[cfg(doc)]
use super::ExactOps;
use super::{Backend, PolyOps, base_conversion_to};
use crate::arith::Modulus;
use crate::error::Result;
use crate::parallel::*;
use crate::ring::{Operand, RingSpec, Rows};
use crate::secret_words::SecretWords;

/// The arguments with which [`ExactOps::phase_mod_t`] reduces a phase.
#[derive(Clone, Copy, Debug)]
pub struct PhaseModT<'a> {
    /// The factor of the phase, modulo the prime of each limb.
    pub factors: &'a [u64],
    /// The modulus by which it is then reduced, from `[-Q/2, Q/2)`.
    pub modulus: &'a Modulus,
    /// The factor of the result, below the modulus.
    pub after: u64,
}

/// The coefficients that one thread converts at a time, so that their y stay in its cache.
const PIECE: usize = 1 << 11;

/// Reads the coefficients of c0 + c1 s, multiplied by the factors, modulo the primes of the rows.
/// Together with the ciphertext they reveal the secret, and no trace of them is left but what
/// `read` keeps. Constant time, apart from `read`.
///
/// # Errors
/// Device errors; the errors of `read`.
pub(crate) fn with_scaled_phase<R: PolyOps, T>(
    ring: &R,
    rows: Rows,
    c: [Operand<'_, R::Buf>; 2],
    secret: Operand<'_, R::Buf>,
    factors: &[u64],
    read: impl FnOnce(&[u64]) -> Result<T>,
) -> Result<T> {
    let mut phase = ring.mul_add(rows, c[0], c[1], secret)?;
    let mut transform = || {
        ring.scale_assign(rows, &mut phase, factors)?;
        ring.intt(rows, &mut phase)
    };
    let transformed = transform();
    ring.backend().take_with(phase, |words| {
        transformed?;
        read(words)
    })
}

/// The result of [`ExactOps::phase_mod_t`] for the words of [`with_scaled_phase`]. Constant time.
pub(crate) fn reduce_phase(spec: &RingSpec, rows: Rows, words: &[u64], to: PhaseModT<'_>) -> SecretWords {
    let (limbs, total) = (rows.span.limbs(), rows.batch * spec.n());
    let conversion = base_conversion_to(spec, rows.span, &[*to.modulus]);
    let after = to.modulus.shoup(to.after);
    let mut reduced = SecretWords::zeros(total);
    let piece = |(index, out): (usize, &mut [u64])| {
        let (first, count) = (index * PIECE, out.len());
        let (mut y, mut overflow) = (SecretWords::zeros(limbs * count), SecretWords::zeros(count));
        // The entries of a limb follow each other and form one long row.
        conversion.decompose(|i| &words[i * total + first..][..count], &mut y, &mut overflow);
        conversion.recompose(0, &y, &overflow, out);
        out.iter_mut().for_each(|x| *x = to.modulus.mul_shoup(*x, after));
    };
    reduced.par_chunks_mut(PIECE).enumerate().for_each(piece);
    reduced
}

/// [`ExactOps::phase_mod_t`] by an inverse transform on the device and a base conversion on the
/// host. Constant time.
///
/// # Errors
/// Device errors.
pub fn phase_mod_t<R: PolyOps>(
    ring: &R,
    rows: Rows,
    c: [Operand<'_, R::Buf>; 2],
    secret: Operand<'_, R::Buf>,
    to: PhaseModT<'_>,
) -> Result<R::Buf> {
    with_scaled_phase(ring, rows, c, secret, to.factors, |words| {
        ring.backend().upload(&reduce_phase(ring.spec(), rows, words, to))
    })
}
