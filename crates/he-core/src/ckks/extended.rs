//! Conversion between vectors and coefficients whose scale is beyond the resolution of doubles.
//!
//! A double has 53 bits, and the transform in doubles is exact to about 2^-50 of the greatest
//! value. Parameters whose scale exceeds [`EXTENDED_LOG2`] promise more, so their vectors go
//! through the transform in numbers of 106 bits, on the host, whatever the device.

use super::CkksParams;
use super::ciphertext::Meta;
use crate::arith::DoubleDouble;
use crate::backend::{RingOps, WIDE_BITS, check_vectors, coefficient_bits, largest_magnitude};
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::reveal;
use crate::ring::{Coeff, CrtComposer, Eval, ExtendedFft, Poly, Ring, Span, SpecialFft};
use crate::secret_words::SecretWords;
use num_complex::{Complex, Complex64};
use zeroize::Zeroize;

/// log2 of the greatest scale whose vectors are transformed in doubles.
pub(super) const EXTENDED_LOG2: f64 = 61.0;

/// The special FFT in doubles, or in longer numbers for scales that resolve more.
#[derive(Debug, Clone)]
pub(super) enum Transform {
    Double(SpecialFft),
    Extended(ExtendedFft),
}

impl Transform {
    pub(super) fn new(slots: usize, extended: bool) -> Self {
        if extended { Self::Extended(ExtendedFft::new(slots)) } else { Self::Double(SpecialFft::new(slots)) }
    }
}

type Number = Complex<DoubleDouble>;

/// Slots or coefficients of a secret message, which are wiped.
struct Numbers(Vec<Number>);

impl Drop for Numbers {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|z| {
            z.re.zeroize();
            z.im.zeroize();
        });
    }
}

/// The polynomials of vectors: coefficients round(scale x inverse special FFT), up to 126 bits.
///
/// # Errors
/// [`Error::TooManyValues`], [`Error::NotFinite`]; [`Error::ValueTooLarge`]; device errors.
pub(super) fn encode<B: RingOps>(
    params: &CkksParams,
    ring: &Ring<B>,
    fft: &ExtendedFft,
    vectors: &[&[Complex64]],
    meta: Meta,
) -> Result<Poly<Eval, B>> {
    check_vectors(vectors, meta.slots)?;
    let (n, scale) = (ring.n(), params.exact_scale(meta.scale));
    let gap = n / 2 / meta.slots;
    let coefficients: Vec<Numbers> = vectors
        .par_iter()
        .map(|values| {
            let mut slots = Numbers(vec![Number::default(); meta.slots]);
            for (slot, value) in slots.0.iter_mut().zip(*values) {
                *slot = Complex { re: value.re.into(), im: value.im.into() };
            }
            fft.inverse(&mut slots.0);
            slots.0.iter_mut().for_each(|z| *z = Complex { re: z.re * scale, im: z.im * scale });
            slots
        })
        .collect();
    let all = || coefficients.iter().flat_map(|slots| slots.0.iter().enumerate());
    // A NaN results from numbers too large for their halves.
    let largest = largest_magnitude(all().flat_map(|(_, z)| [z.re.to_f64(), z.im.to_f64()]));
    let available_bits = (params.log_q(meta.level) as u32).min(WIDE_BITS);
    let needed_bits = reveal::word(coefficient_bits(largest).into()) as u32;
    if needed_bits > available_bits {
        let is_largest = |(k, z): (usize, &Number)| {
            let is = |x: DoubleDouble| x.to_f64().is_nan() || x.to_f64().abs() == largest;
            if is(z.re) { Some(k * gap) } else { is(z.im).then_some(n / 2 + k * gap) }
        };
        let index = all().find_map(is_largest).unwrap_or(0);
        return Err(Error::ValueTooLarge { index, needed_bits, available_bits, level: meta.level });
    }
    let span = Span::chain(params.level(meta.level)?.primes);
    let mut words = SecretWords::zeros(span.limbs() * vectors.len() * n);
    words.par_chunks_exact_mut(n).enumerate().for_each(|(row, words)| {
        let q = ring.spec().modulus(span, row / vectors.len());
        for (k, z) in coefficients[row % vectors.len()].0.iter().enumerate() {
            words[k * gap] = q.reduce_i128(z.re.to_i128());
            words[n / 2 + k * gap] = q.reduce_i128(z.im.to_i128());
        }
    });
    Poly::<Coeff, B>::from_words(ring, span, vectors.len(), &words)?.into_eval()
}

/// The vectors of polynomials: each component is rounded once, to the nearest double.
///
/// # Errors
/// Device errors.
pub(super) fn decode<B: RingOps>(
    params: &CkksParams,
    fft: &ExtendedFft,
    poly: &Poly<Eval, B>,
    meta: Meta,
) -> Result<Vec<Vec<Complex64>>> {
    let (ring, batch, span) = (poly.ring(), poly.batch(), poly.span());
    let n = ring.n();
    let words = SecretWords::from(poly.duplicate()?.into_coeff()?.to_words()?);
    let composer = CrtComposer::new(ring.spec(), span.q);
    let inverse = DoubleDouble::from(1.0).divide(params.exact_scale(meta.scale));
    let gap = n / 2 / meta.slots;
    let decode = |entry: usize| {
        let mut coefficients = zeroize::Zeroizing::new(vec![DoubleDouble::default(); n]);
        composer.compose_extended(|i| &words[(i * batch + entry) * n..], &mut coefficients);
        let slot = |k: usize| Complex {
            re: coefficients[k * gap] * inverse,
            im: coefficients[n / 2 + k * gap] * inverse,
        };
        let mut values = Numbers((0..meta.slots).map(slot).collect());
        fft.forward(&mut values.0);
        values.0.iter().map(|z| Complex64::new(z.re.to_f64(), z.im.to_f64())).collect()
    };
    Ok((0..batch).into_par_iter().map(decode).collect())
}
