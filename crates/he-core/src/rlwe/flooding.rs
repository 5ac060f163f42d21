//! Noise that hides a decryption's own.

use crate::error::{Error, Result};
use rand::CryptoRng;
use zeroize::Zeroizing;

/// `count` fresh uniform integers of [-2^bits, 2^bits). Constant time.
///
/// # Errors
/// [`Error::Argument`] for more than 61 bits.
pub(crate) fn flood(
    bits: u32,
    count: usize,
    rng: &mut (impl CryptoRng + ?Sized),
) -> Result<Zeroizing<Vec<i64>>> {
    if bits > 61 {
        let why = format!("{bits} bits asked, at most 61 are possible");
        return Err(Error::Argument { what: "flooding", why });
    }
    let mut noise = Zeroizing::new(vec![0i64; count]);
    for value in noise.iter_mut() {
        *value = (rng.next_u64() >> (63 - bits)) as i64 - (1i64 << bits);
    }
    Ok(noise)
}
