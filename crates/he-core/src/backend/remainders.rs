//! The provided body of [`RingOps::remainders`].

use super::{RingOps, base_conversion_to};
use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::Rows;
use zeroize::Zeroizing;

/// [`RingOps::remainders`] by an inverse transform on the device and a base conversion on the host. Constant time.
///
/// # Errors
/// Device errors.
pub fn remainders<B: RingOps>(
    backend: &B,
    t: &B::Tables,
    rows: Rows,
    src: &B::Buf,
    modulus: &Modulus,
) -> Result<Vec<u64>> {
    let (n, batch, limbs) = (backend.spec(t).n(), rows.batch, rows.span.limbs());
    let words = rows.count() * n;
    let mut coefficients = backend.scratch(words)?;
    backend.copy(src, rows.at, &mut coefficients, 0, words)?;
    backend.intt(t, rows.at(0), &mut coefficients)?;
    let words = Zeroizing::new(backend.download(&coefficients, 0..words)?);
    // They may be a phase, which beside the ciphertext tells the secret.
    backend.wipe(&mut coefficients);
    let conversion = base_conversion_to(backend.spec(t), rows.span, &[*modulus]);
    let (mut y, mut overflow) = (Zeroizing::new(vec![0; limbs * n]), Zeroizing::new(vec![0; n]));
    let mut remainders = vec![0; batch * n];
    for (entry, out) in remainders.chunks_exact_mut(n).enumerate() {
        conversion.decompose(|i| &words[(i * batch + entry) * n..][..n], &mut y, &mut overflow);
        conversion.recompose(0, &y, &overflow, out);
    }
    Ok(remainders)
}
