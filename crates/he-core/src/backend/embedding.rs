//! Slots to plaintexts and back on the host: the definition of the two operations, also used for
//! values that devices leave to the host.

use super::{Backend, HostVector, PolyOps};
use crate::arith::{round_i128, round_wide};
use crate::error::{Error, Result};
use crate::parallel::*;
use crate::reveal;
use crate::ring::{CrtComposer, RingSpec, Rows, SpecialFft};
use crate::secret_words::SecretWords;
use num_complex::Complex64;

/// The layout of vectors in plaintexts.
#[derive(Clone, Copy, Debug)]
pub struct Embedding<'a> {
    /// The roots for at least `slots` slots.
    pub fft: &'a SpecialFft,
    /// The slots of a vector: a power of two, at most N/2.
    pub slots: usize,
    /// The factor of slots: finite and positive.
    pub scale: f64,
    /// The level named in errors.
    pub level: usize,
}

/// Plaintexts of CKKS. All operations have a provided body, which is their definition: a device
/// may override them by fused kernels that leave the same words.
pub trait CkksOps: PolyOps {
    /// The plaintexts of vectors of slots in evaluation form; the rows start at word 0, hold the
    /// chain's first primes and one batch entry per vector. Coefficients k (N / 2 slots) and
    /// N/2 + k (N / 2 slots) are round(Re z_k scale) and round(Im z_k scale), ties to even, with
    /// z = [`SpecialFft::inverse`](crate::ring::SpecialFft::inverse) of the vector padded with
    /// zeros; all others are 0. float64, in that order of operations; up to 126 bits and below the
    /// modulus.
    ///
    /// Waits for the device only to learn the size of the coefficients. The path depends on the
    /// greatest coefficient: 2^62 and beyond are rounded on the host.
    ///
    /// # Errors
    /// [`Error::TooManyValues`](crate::Error::TooManyValues) and
    /// [`Error::NotFinite`](crate::Error::NotFinite) for the first such vector;
    /// [`Error::ValueTooLarge`](crate::Error::ValueTooLarge) for the first of the greatest
    /// coefficients; device errors.
    fn encode_slots(&self, rows: Rows, vectors: &[&[Complex64]], to: Embedding<'_>) -> Result<Self::Buf> {
        encode_slots(self, rows, vectors, to)
    }

    /// The plaintext of one vector in memory that a back end handed out: the words of
    /// [`encode_slots`](Self::encode_slots). A back end may read its own memory in place.
    ///
    /// # Errors
    /// The same as there.
    fn encode_host_vector(&self, rows: Rows, vector: &HostVector, to: Embedding<'_>) -> Result<Self::Buf> {
        self.encode_slots(rows, &[vector.numbers()], to)
    }

    /// The vectors of plaintexts in evaluation form over the chain's first primes: the inverse of
    /// [`encode_slots`](Self::encode_slots) up to rounding. Coefficients are composed as
    /// [`CrtComposer`](crate::ring::CrtComposer) does, multiplied by 1 / scale, and transformed by
    /// [`SpecialFft::forward`](crate::ring::SpecialFft::forward).
    ///
    /// The time depends on whether every coefficient lies below 2^191 in magnitude, and, if so, on
    /// no other value.
    fn decode_slots(&self, rows: Rows, src: &Self::Buf, from: Embedding<'_>) -> Result<Vec<Vec<Complex64>>> {
        decode_slots(self, rows, src, from)
    }
}

/// The greatest rounded coefficients that fit the fast path.
const SHORT: f64 = (1u64 << 62) as f64;
/// The magnitude up to which coefficients are rounded exactly.
pub(crate) const WIDE_BITS: u32 = 126;

/// The bits that coefficients of at most this magnitude need, including the sign; 1025 if it is not
/// finite.
pub(crate) fn coefficient_bits(largest: f64) -> u32 {
    // ceil(log2(largest + 1)), read from the bits of a number that is at least 1.
    let bits = (largest + 1.0).to_bits();
    let (exponent, fraction) = ((bits >> 52) as u32 - 1023, bits << 12);
    (exponent + u32::from(fraction != 0)).min(1024) + 1
}

/// The bits that coefficients modulo the primes of `rows` may have.
fn available_bits(spec: &RingSpec, rows: Rows) -> u32 {
    spec.q()[..rows.span.q].iter().map(|&q| libm::log2(q as f64)).sum::<f64>() as u32
}

impl Embedding<'_> {
    /// Whether coefficients of at most this magnitude, which may be infinite or NaN, fit 63 bits
    /// and the modulus, so that a device rounds them itself.
    pub fn is_short(&self, spec: &RingSpec, rows: Rows, largest: f64) -> bool {
        largest < SHORT && coefficient_bits(largest) <= available_bits(spec, rows)
    }
}

/// Checks that vectors fit their slots and are finite.
pub(crate) fn check_vectors(vectors: &[&[Complex64]], slots: usize) -> Result<()> {
    for values in vectors {
        if values.len() > slots {
            return Err(Error::TooManyValues { found: values.len(), capacity: slots });
        }
        check_finite(values)?;
    }
    Ok(())
}

/// Checks that all numbers are finite, by one decision about all of them.
pub(crate) fn check_finite(values: &[Complex64]) -> Result<()> {
    let finite = |z: &Complex64| z.re.is_finite() & z.im.is_finite();
    if reveal::bit(values.iter().fold(true, |all, z| all & finite(z))) {
        return Ok(());
    }
    let index = values.iter().position(|z| !finite(z)).unwrap_or(0);
    Err(Error::NotFinite { index })
}

/// Scaled, unrounded coefficients of one vector.
fn embed(values: &[Complex64], to: Embedding<'_>, coefficients: &mut [f64]) {
    let mut slots = vec![Complex64::ZERO; to.slots];
    slots[..values.len()].copy_from_slice(values);
    to.fft.inverse(&mut slots);
    let half = coefficients.len() / 2;
    let gap = half / to.slots;
    for (k, z) in slots.iter().enumerate() {
        coefficients[k * gap] = z.re * to.scale;
        coefficients[half + k * gap] = z.im * to.scale;
    }
}

/// The largest magnitude. Infinities from overflowed sums count, and a NaN, which comes from
/// infinities, counts as one.
///
/// Constant time: the maximum of doubles is an operation on registers of doubles, where that of
/// words in a loop may become a jump that is mispredicted whenever the largest number so far
/// changes.
pub(crate) fn largest_magnitude(numbers: impl Iterator<Item = f64>) -> f64 {
    let (most, nan) = numbers.fold((0f64, false), |(most, nan), x| (most.max(x.abs()), nan | x.is_nan()));
    if reveal::bit(nan) { f64::INFINITY } else { most }
}

/// Rounds to integers and reduces modulo each prime. The time depends on the values only through
/// the largest magnitude: on whether it is below 2^62, and whether it fits.
fn round<R: PolyOps>(ring: &R, rows: Rows, scaled: &[f64], level: usize) -> Result<R::Buf> {
    let spec = ring.spec();
    let largest = largest_magnitude(scaled.iter().copied());
    let available_bits = available_bits(spec, rows);
    let needed_bits = reveal::word(coefficient_bits(largest).into()) as u32;
    if needed_bits > available_bits || needed_bits > WIDE_BITS {
        let index = scaled.iter().position(|x| x.is_nan() || x.abs() == largest).unwrap_or(0);
        return Err(Error::ValueTooLarge {
            index: index % spec.n(),
            needed_bits,
            available_bits: available_bits.min(WIDE_BITS),
            level,
        });
    }
    if reveal::bit(largest < SHORT) {
        let rounded: Vec<u64> =
            scaled.par_iter().with_min_len(1 << 14).map(|&x| round_wide(x) as u64).collect();
        let mut residues = ring.backend().scratch(rows.count() * spec.n())?;
        ring.reduce_signed(rows, &ring.backend().upload(&rounded)?, &mut residues)?;
        return Ok(residues);
    }
    let rounded: Vec<i128> = scaled.iter().map(|&x| round_i128(x)).collect();
    let mut words = Vec::with_capacity(rows.span.limbs() * rounded.len());
    for q in &spec.q_moduli()[..rows.span.q] {
        words.extend(rounded.iter().map(|&x| q.reduce_i128(x)));
    }
    ring.backend().upload(&words)
}

/// The body of [`CkksOps::encode_slots`]: everything but reduction and transform on the host.
///
/// # Errors
/// The same as there.
pub fn encode_slots<R: PolyOps>(
    ring: &R,
    rows: Rows,
    vectors: &[&[Complex64]],
    to: Embedding<'_>,
) -> Result<R::Buf> {
    debug_assert!(rows.at == 0 && rows.span.start == 0 && rows.span.p == 0 && rows.batch == vectors.len());
    check_vectors(vectors, to.slots)?;
    let n = ring.spec().n();
    let mut scaled = vec![0f64; vectors.len() * n];
    scaled.par_chunks_exact_mut(n).zip(vectors).for_each(|(scaled, values)| embed(values, to, scaled));
    let mut plaintext = round(ring, rows, &scaled, to.level)?;
    ring.ntt(rows, &mut plaintext)?;
    Ok(plaintext)
}

/// The polynomials of these coefficients, each rounded to an integer of up to 126 bits, in
/// evaluation form: batch x N numbers, which are finite or too large.
///
/// # Errors
/// [`Error::ValueTooLarge`]; device errors.
pub(crate) fn encode_coefficients<R: PolyOps>(
    ring: &R,
    rows: Rows,
    scaled: &[f64],
    level: usize,
) -> Result<R::Buf> {
    let mut plaintext = round(ring, rows, scaled, level)?;
    ring.ntt(rows, &mut plaintext)?;
    Ok(plaintext)
}

/// Reads the coefficients of polynomials in evaluation form over the chain's first primes:
/// `read` gets a function that composes those of a batch entry, times a factor.
fn with_coefficients<R: PolyOps, T>(
    ring: &R,
    rows: Rows,
    src: &R::Buf,
    factor: f64,
    read: impl FnOnce(&(dyn Fn(usize) -> SecretWords<f64> + Sync)) -> T,
) -> Result<T> {
    debug_assert!(rows.span.start == 0 && rows.span.p == 0);
    let (spec, batch) = (ring.spec(), rows.batch);
    let n = spec.n();
    let mut coefficients = ring.backend().scratch(rows.count() * n)?;
    ring.backend().copy(src, rows.at, &mut coefficients, 0, rows.count() * n)?;
    let transformed = ring.intt(rows.at(0), &mut coefficients);
    // Together with the ciphertext, the phase reveals the secret.
    ring.backend().take_with(coefficients, |words| {
        transformed?;
        let composer = CrtComposer::new(spec, rows.span.q);
        Ok(read(&|entry: usize| {
            let mut coefficients = SecretWords::<f64>::zeros(n);
            let parts = (n / 2048).max(1);
            // Several threads share one vector.
            coefficients.par_chunks_mut(n / parts).enumerate().for_each(|(part, out)| {
                composer.compose(|i| &words[(i * batch + entry) * n + part * (n / parts)..], out);
            });
            coefficients.iter_mut().for_each(|c| *c *= factor);
            coefficients
        }))
    })
}

/// The coefficients of polynomials in evaluation form over the chain's first primes, divided by a
/// scale.
///
/// # Errors
/// Device errors.
pub(crate) fn decode_coefficients<R: PolyOps>(
    ring: &R,
    rows: Rows,
    src: &R::Buf,
    scale: f64,
) -> Result<Vec<Vec<f64>>> {
    with_coefficients(ring, rows, src, 1.0 / scale, |compose| {
        (0..rows.batch).map(|entry| compose(entry).to_vec()).collect()
    })
}

/// The body of [`CkksOps::decode_slots`]: everything but the transform of the ring on the host.
///
/// # Errors
/// Device errors.
pub fn decode_slots<R: PolyOps>(
    ring: &R,
    rows: Rows,
    src: &R::Buf,
    from: Embedding<'_>,
) -> Result<Vec<Vec<Complex64>>> {
    let n = ring.spec().n();
    let gap = n / 2 / from.slots;
    with_coefficients(ring, rows, src, 1.0 / from.scale, |compose| {
        let decode = |entry: usize| {
            let coefficients = compose(entry);
            let slot = |k: usize| Complex64::new(coefficients[k * gap], coefficients[n / 2 + k * gap]);
            let mut values: Vec<Complex64> = (0..from.slots).map(slot).collect();
            from.fft.forward(&mut values);
            values
        };
        (0..rows.batch).into_par_iter().map(decode).collect()
    })
}
