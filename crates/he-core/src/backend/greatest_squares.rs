//! The greatest values of messages at the roots of X^N + 1: the provided body of
//! [`ExactOps::greatest_squares`](super::ExactOps::greatest_squares).

use super::{Backend, PolyOps, center_down};
use crate::arith::Modulus;
use crate::error::Result;
use crate::ring::SpecialFft;
use crate::secret_words::SecretWords;
use num_complex::Complex64;

/// [`ExactOps::greatest_squares`](super::ExactOps::greatest_squares) on the host. Constant time.
///
/// # Errors
/// Device errors.
pub fn greatest_squares<R: PolyOps>(
    ring: &R,
    batch: usize,
    words: &R::Buf,
    modulus: &Modulus,
    fft: &SpecialFft,
) -> Result<R::Buf> {
    let n = ring.spec().n();
    let words = SecretWords::from(ring.backend().download(words, 0..batch * n)?);
    let squares = words.chunks_exact(n).map(|message| greatest_square(message, modulus, fft).to_bits());
    ring.backend().upload(&squares.collect::<Vec<u64>>())
}

/// The greatest |m(z)|^2, with the coefficients k and k + N/2 as one complex number.
fn greatest_square(message: &[u64], modulus: &Modulus, fft: &SpecialFft) -> f64 {
    let (low, high) = message.split_at(message.len() / 2);
    let centred = |&word: &u64| center_down(modulus, word) as f64;
    let pairs = low.iter().zip(high).map(|(re, im)| Complex64::new(centred(re), centred(im)));
    let mut values: Vec<Complex64> = pairs.collect();
    fft.forward(&mut values);
    values.iter().map(|z| z.re * z.re + z.im * z.im).fold(0.0, f64::max)
}
