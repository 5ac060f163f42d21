//! Vectors of complex numbers to polynomials modulo powers of two and back, on the host: the
//! definition of the two operations.

use super::{Backend, WidePolyOps, WideRows};
use crate::backend::{check_vectors, largest_magnitude};
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::reveal;
use crate::ring::SpecialFft;
use crate::secret_words::SecretWords;
use num_complex::Complex64;
use std::hint::black_box;

/// The layout of vectors in plaintexts.
#[derive(Clone, Copy, Debug)]
pub struct WideEmbedding<'a> {
    /// The roots for at least `slots` slots.
    pub fft: &'a SpecialFft,
    /// The slots of a vector: a power of two, at most N/2.
    pub slots: usize,
    /// log2 of the factor of slots: below 1200.
    pub scale_log2: u32,
}

/// round(x 2^scale_log2), ties to even, as sign, mantissa below 2^64 and power of two; x is finite.
/// Exact for any scale: a number beyond 2^53 has no fraction. Constant time.
pub(crate) fn round_scaled(x: f64, scale_log2: u32) -> (bool, u64, u32) {
    let (bits, negative) = (x.abs().to_bits(), x < 0.0);
    // x = mantissa 2^power with a mantissa of at most 53 bits; subnormal numbers have no leading
    // one.
    let normal = u64::from(bits >> 52 != 0);
    let mantissa = bits & ((1 << 52) - 1) | normal << 52;
    let power = (bits >> 52) as i32 - normal as i32 - 1074 + scale_log2 as i32;
    // A shift by more than 54 bits to the right leaves nothing either. The compiler must not know
    // that these are all bits or none: it would branch on them.
    let (positive, beyond) = (black_box(!(power >> 31)), black_box(54i32.wrapping_add(power) >> 31));
    let left = (power & positive) as u32;
    let right = ((-power & !positive & !beyond) | (54 & beyond)) as u32;
    // Half of a unit is added, and ties go down to even. Nothing here tests a bit at a place that
    // depends on the number, for which valgrind would read memory.
    let (half, rest) = (1u64 << right >> 1, mantissa & ((1u64 << right) - 1));
    let tie = (rest == half) & (half != 0);
    (negative, (mantissa + half) >> right & !u64::from(tie), left)
}

/// The bits of a rounded number, including the sign. Constant time.
pub(crate) fn needed_bits((_, mantissa, shift): (bool, u64, u32)) -> u32 {
    // The mantissa is at most 2^53, so that its exponent as a double is that of its highest bit;
    // that of 0 is the least.
    let exponent = ((mantissa as f64).to_bits() >> 52) as u32;
    let some = u32::from(mantissa != 0).wrapping_neg();
    (exponent.wrapping_sub(1022).wrapping_add(shift) & some) + 1
}

/// The words of mantissa 2^shift, as many as there are.
pub(crate) fn magnitude_words((_, mantissa, shift): (bool, u64, u32), mut put: impl FnMut(usize, u64)) {
    let (word, bit) = (shift as usize / 64, shift % 64);
    put(word, mantissa << bit);
    put(word + 1, mantissa >> 1 >> (63 - bit));
}

/// Word w of a rounded number in two's complement. Constant time.
fn signed_word(rounded: (bool, u64, u32), w: usize) -> u64 {
    let (mut word, mut below) = (0, 0);
    magnitude_words(rounded, |at, magnitude| {
        word |= magnitude & u64::from(at == w).wrapping_neg();
        below |= magnitude & u64::from(at < w).wrapping_neg();
    });
    // -x = !x + 1, where the one carries through the zeros below.
    let (carry, negative) = (u64::from(below == 0), u64::from(rounded.0).wrapping_neg());
    (word ^ negative).wrapping_add(carry & negative)
}

/// Unscaled coefficients of one vector.
fn embed(values: &[Complex64], to: WideEmbedding<'_>, coefficients: &mut [f64]) {
    let mut padded = vec![Complex64::ZERO; to.slots];
    padded[..values.len()].copy_from_slice(values);
    to.fft.inverse(&mut padded);
    let half = coefficients.len() / 2;
    for (k, z) in padded.iter().enumerate() {
        coefficients[k * (half / to.slots)] = z.re;
        coefficients[half + k * (half / to.slots)] = z.im;
    }
}

/// The body of [`WidePolyOps::wide_encode_slots`].
///
/// # Errors
/// The same as there.
pub fn encode_wide_slots<R: WidePolyOps>(
    ring: &R,
    wide: WideRows,
    vectors: &[&[Complex64]],
    to: WideEmbedding<'_>,
) -> Result<(R::Buf, u32)> {
    debug_assert!(wide.at == 0 && wide.batch == vectors.len());
    check_vectors(vectors, to.slots)?;
    let n = ring.spec().n();
    let mut scaled = vec![0f64; wide.batch * n];
    scaled.par_chunks_exact_mut(n).zip(vectors).for_each(|(scaled, values)| embed(values, to, scaled));
    let largest = largest_magnitude(scaled.iter().copied());
    // Sums of finite numbers may overflow.
    if !reveal::bit(largest.is_finite()) {
        let index = scaled.iter().position(|x| !x.is_finite()).unwrap_or(0);
        let (needed_bits, available_bits) = (1025 + to.scale_log2, wide.bits);
        return Err(Error::CoefficientTooLarge { index: index % n, needed_bits, available_bits });
    }
    let rounded: Vec<(bool, u64, u32)> =
        scaled.par_iter().with_min_len(1 << 12).map(|&x| round_scaled(x, to.scale_log2)).collect();
    // Rounding preserves the order of magnitudes.
    let magnitude_bits = reveal::word(needed_bits(round_scaled(largest, to.scale_log2)).into()) as u32;
    if magnitude_bits > wide.bits {
        let largest = rounded.iter().rposition(|&number| needed_bits(number) == magnitude_bits);
        let (index, needed_bits, available_bits) = (largest.unwrap_or(0) % n, magnitude_bits, wide.bits);
        return Err(Error::CoefficientTooLarge { index, needed_bits, available_bits });
    }
    let mut words = vec![0u64; wide.words() * rounded.len()];
    words.par_chunks_exact_mut(rounded.len()).enumerate().for_each(|(w, plane)| {
        let mask = if w + 1 == wide.words() { wide.top_mask() } else { u64::MAX };
        plane.iter_mut().zip(&rounded).for_each(|(word, &number)| *word = signed_word(number, w) & mask);
    });
    Ok((ring.backend().upload(&words)?, magnitude_bits))
}

/// The body of [`WidePolyOps::wide_decode_slots`].
///
/// # Errors
/// Device errors.
pub fn decode_wide_slots<R: WidePolyOps>(
    ring: &R,
    wide: WideRows,
    src: &R::Buf,
    from: WideEmbedding<'_>,
) -> Result<Vec<Vec<Complex64>>> {
    let n = ring.spec().n();
    // Together with the ciphertext, the phase reveals the secret.
    let words = SecretWords::from(ring.backend().download(src, wide.at..wide.at + wide.count() * n)?);
    let (plane, gap) = (wide.batch * n, n / 2 / from.slots);
    let coefficient =
        |entry: usize, k: usize| scaled_number(|w| words[w * plane + entry * n + k], wide, from.scale_log2);
    let decode = |entry: usize| {
        let mut values: Vec<Complex64> = (0..from.slots)
            .into_par_iter()
            .with_min_len(1 << 9)
            .map(|k| Complex64::new(coefficient(entry, k * gap), coefficient(entry, n / 2 + k * gap)))
            .collect();
        from.fft.forward(&mut values);
        values
    };
    Ok((0..wide.batch).into_par_iter().map(decode).collect())
}

/// The centred number of these words times 2^-scale_log2, within an ulp. Constant time.
fn scaled_number(word: impl Fn(usize) -> u64, rows: WideRows, scale_log2: u32) -> f64 {
    let top = rows.words() - 1;
    let negative = 0u64.wrapping_sub(word(top) >> ((rows.bits - 1) % 64) & 1);
    let mut carry = negative & 1;
    let mut value = 0.0;
    // From the least significant word up, so that small parts are added first.
    for w in 0..=top {
        let mask = if w == top { rows.top_mask() } else { u64::MAX };
        let (magnitude, overflow) = ((word(w) ^ negative) & mask).overflowing_add(carry);
        carry = u64::from(overflow);
        // This branches only on the exponent, which is public.
        value += libm::ldexp(magnitude as f64, 64 * w as i32 - scale_log2 as i32);
    }
    // The sign goes straight into the sign bit.
    f64::from_bits(value.to_bits() | negative << 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigInt;
    use num_traits::{FromPrimitive, ToPrimitive};
    use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

    fn number(rounded: (bool, u64, u32)) -> BigInt {
        let mut magnitude = BigInt::from(0);
        magnitude_words(rounded, |w, word| magnitude += BigInt::from(word) << (64 * w));
        if rounded.0 { -magnitude } else { magnitude }
    }

    #[test]
    fn scaled_numbers_round_to_even_and_come_back() {
        for (x, scale_log2, expected) in [
            (0.5, 0, 0),
            (1.5, 0, 2),
            (-2.5, 0, -2),
            (0.75, 1, 2),
            (-0.0, 5, 0),
            (3.25, 2, 13),
            (1e-300, 1000, 11),
            (1e-300, 900, 0),
        ] {
            assert_eq!(number(round_scaled(x, scale_log2)), BigInt::from(expected), "{x} 2^{scale_log2}");
        }
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for _ in 0..2000 {
            let x: f64 = rng.random_range(-1.0..1.0) * f64::from(rng.random_range(-40i32..40)).exp2();
            let scale_log2 = rng.random_range(0..1100u32);
            let rounded = number(round_scaled(x, scale_log2));
            // x 2^1074 is an integer.
            let exact = BigInt::from_f64(x * 2f64.powi(120)).unwrap() << scale_log2;
            let error = (&exact - (&rounded << 120u32)).magnitude().clone();
            assert!(error <= num_bigint::BigUint::from(1u8) << 119u32, "{x} 2^{scale_log2}");
            assert!(rounded.bits() < u64::from(needed_bits(round_scaled(x, scale_log2))));
            let bits = needed_bits(round_scaled(x, scale_log2)).max(2) + rng.random_range(0..70);
            let modulus = BigInt::from(1) << bits;
            let digits = ((&rounded + &modulus) % &modulus).to_biguint().unwrap().to_u64_digits();
            let rows = WideRows::new(bits, 1);
            for w in 0..rows.words() {
                let mask = if w + 1 == rows.words() { rows.top_mask() } else { u64::MAX };
                let expected = digits.get(w).copied().unwrap_or(0);
                assert_eq!(
                    signed_word(round_scaled(x, scale_log2), w) & mask,
                    expected,
                    "{x} 2^{scale_log2}"
                );
            }
            let back =
                scaled_number(|w| digits.get(w).copied().unwrap_or(0), WideRows::new(bits, 1), scale_log2);
            let expected =
                if scale_log2 < 900 { rounded.to_f64().unwrap() / 2f64.powi(scale_log2 as i32) } else { x };
            assert!((back - expected).abs() <= expected.abs() * 3e-16, "{back} {expected}");
        }
    }
}
