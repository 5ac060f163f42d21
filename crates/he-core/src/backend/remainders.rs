//! The provided body of [`RingOps::remainders`].

use super::{RingOps, base_conversion_to};
use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::{Operand, Rows};
use crate::secret_words::SecretWords;
use rayon::prelude::*;

/// What [`RingOps::remainders`] takes of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Remainders<'a> {
    /// What the phase is multiplied by, modulo the prime of each limb.
    pub factors: &'a [u64],
    /// What it is then reduced by, from `[-Q/2, Q/2)`: any modulus.
    pub modulus: &'a Modulus,
    /// What the remainders are multiplied by, below the modulus.
    pub after: u64,
}

/// Coefficients that one thread converts at a time: their y stay in its cache.
const PIECE: usize = 1 << 11;

/// [`RingOps::remainders`] by an inverse transform on the device and a base conversion on the host. Constant time.
///
/// # Errors
/// Device errors.
pub fn remainders<B: RingOps>(
    backend: &B,
    t: &B::Tables,
    rows: Rows,
    c: [Operand<'_, B::Buf>; 2],
    secret: Operand<'_, B::Buf>,
    to: Remainders<'_>,
) -> Result<B::Buf> {
    let (limbs, total) = (rows.span.limbs(), rows.batch * backend.spec(t).n());
    let mut phase = backend.mul_add(t, rows, c[0], c[1], secret)?;
    let mut transform = || {
        backend.scale_assign(t, rows, &mut phase, to.factors)?;
        backend.intt(t, rows, &mut phase)
    };
    let transformed = transform();
    // Beside the ciphertext it tells the secret.
    let words = SecretWords::from(backend.take(&mut phase)?);
    transformed?;
    let conversion = base_conversion_to(backend.spec(t), rows.span, &[*to.modulus]);
    let after = to.modulus.shoup(to.after);
    let mut remainders = SecretWords::zeros(total);
    let piece = |(index, out): (usize, &mut [u64])| {
        let (first, count) = (index * PIECE, out.len());
        let (mut y, mut overflow) = (SecretWords::zeros(limbs * count), SecretWords::zeros(count));
        // The entries of a limb follow each other: they are one long row.
        conversion.decompose(|i| &words[i * total + first..][..count], &mut y, &mut overflow);
        conversion.recompose(0, &y, &overflow, out);
        out.iter_mut().for_each(|x| *x = to.modulus.mul_shoup(*x, after));
    };
    remainders.par_chunks_mut(PIECE).enumerate().for_each(piece);
    backend.upload(&remainders)
}
