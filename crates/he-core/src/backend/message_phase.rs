//! Messages modulo t as phases, and encryptions around them: the provided bodies of
//! [`ExactOps::message_phase`] and [`ExactOps::encrypt`].

use super::{Backend, ExactOps, PolyOps};
use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::{Operand, Rows, Seed};
use crate::secret_words::SecretWords;

/// Messages modulo t, with the constants that turn them into the phases [f m]_t / t of encryptions
/// without noise.
#[derive(Debug)]
pub struct MessagePhase<'a, T> {
    /// The coefficients in `[0, t)`, batch entry by batch entry, from word 0 on.
    pub words: &'a T,
    /// t.
    pub modulus: &'a Modulus,
    /// f, in `[0, t)`.
    pub factor: u64,
    /// 1 / t modulo the prime of each limb.
    pub scale: &'a [u64],
}

impl<T> Clone for MessagePhase<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for MessagePhase<'_, T> {}

/// The representative in `[-t/2, t/2)`; constant time.
#[inline(always)]
pub(crate) fn center_down(t: &Modulus, x: u64) -> i64 {
    // All ones iff x >= ceil(t / 2); both are below 2^61.
    let above = !((x.wrapping_sub(t.value().div_ceil(2)) as i64) >> 63);
    x as i64 - (t.value() as i64 & above)
}

/// [`ExactOps::message_phase`] by centring on the host. Constant time.
///
/// # Errors
/// Device errors.
pub fn message_phase<R: PolyOps>(ring: &R, rows: Rows, message: MessagePhase<'_, R::Buf>) -> Result<R::Buf> {
    let (n, m) = (ring.spec().n(), message.modulus);
    let w = m.shoup(message.factor);
    let mut words = SecretWords::from(ring.backend().download(message.words, 0..rows.batch * n)?);
    words.iter_mut().for_each(|c| *c = center_down(m, m.mul_shoup(*c, w)) as u64);
    let mut centred = ring.backend().upload(&words)?;
    let mut phase = ring.backend().scratch(rows.count() * n)?;
    let reduced = ring.reduce_signed(rows, &centred, &mut phase);
    ring.backend().wipe(&mut centred);
    reduced?;
    if message.scale[..rows.span.limbs()].iter().any(|&scale| scale != 1) {
        ring.scale_assign(rows, &mut phase, message.scale)?;
    }
    Ok(phase)
}

/// [`ExactOps::encrypt`] operation by operation. Constant time.
///
/// # Errors
/// Device errors.
pub fn encrypt<R: ExactOps>(
    ring: &R,
    rows: Rows,
    seed: &Seed,
    key: [Operand<'_, R::Buf>; 2],
    message: Option<MessagePhase<'_, R::Buf>>,
) -> Result<[R::Buf; 2]> {
    let words = rows.count() * ring.spec().n();
    let mut mask = ring.backend().scratch(words)?;
    let mut masked = || -> Result<[R::Buf; 2]> {
        ring.sample_ternary(rows, seed, 0, &mut mask)?;
        ring.ntt(rows, &mut mask)?;
        let mut pair = [ring.backend().scratch(words)?, ring.backend().scratch(words)?];
        for (index, (part, key)) in pair.iter_mut().zip(key).enumerate() {
            ring.sample_error(rows, seed, index as u32, part)?;
            if let (0, Some(message)) = (index, message) {
                let phase = ring.message_phase(rows, message)?;
                ring.add_assign(rows, part, Operand::new(&phase, rows.batch))?;
            }
            ring.ntt(rows, part)?;
            ring.mul_add_assign(rows, part, Operand::new(&mask, rows.batch), key)?;
        }
        Ok(pair)
    };
    let pair = masked();
    ring.backend().wipe(&mut mask);
    pair
}
