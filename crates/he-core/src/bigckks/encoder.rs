//! Between vectors of complex numbers and plaintexts.

use super::ciphertext::Meta;
use super::{BigCkksParams, Ciphertext, Plaintext, WidePoly};
use crate::backend::{WideOps, WideRows};
use crate::error::{Error, Result};
use crate::ring::{Ring, SpecialFft};
use num_complex::Complex64;
use rayon::prelude::*;

/// Where an encoding goes: modulus, scale and slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    pub(super) meta: Meta,
}

impl BigCkksParams {
    /// The encoding modulo the largest q with the parameters' scale, over all slots.
    pub fn encoding(&self) -> Encoding {
        Encoding { meta: Meta { log_q: self.log_q(), log_scale: self.log_scale(), slots: self.slots() } }
    }

    /// The same with the modulus and the slots of a ciphertext: for plaintexts to add to it or multiply it by.
    pub fn encoding_for<B: WideOps>(&self, ct: &Ciphertext<B>) -> Encoding {
        Encoding { meta: Meta { log_scale: self.log_scale(), ..ct.meta } }
    }
}

impl Encoding {
    /// Modulo 2^log_q.
    #[must_use]
    pub const fn log_q(mut self, log_q: u32) -> Self {
        self.meta.log_q = log_q;
        self
    }

    /// With a scale of 2^log_scale.
    #[must_use]
    pub const fn log_scale(mut self, log_scale: u32) -> Self {
        self.meta.log_scale = log_scale;
        self
    }

    /// Sparse: `slots` values, a power of two, repeated N / (2 slots) times.
    #[must_use]
    pub const fn slots(mut self, slots: usize) -> Self {
        self.meta.slots = slots;
        self
    }
}

/// Encodes and decodes for one parameter set on one device.
#[derive(Debug, Clone)]
pub struct Encoder<B: WideOps> {
    params: BigCkksParams,
    ring: Ring<B>,
    fft: SpecialFft,
}

/// round(x 2^log_scale), ties to even, as sign, mantissa below 2^64 and power of two; x is finite. Exact for any scale: a number beyond
/// 2^53 has no fraction.
pub(super) fn round_scaled(x: f64, log_scale: u32) -> (bool, u64, u32) {
    let (fraction, exponent) = libm::frexp(x.abs());
    // x = mantissa 2^power with a mantissa of 53 bits.
    let (mantissa, power) = ((fraction * (1u64 << 53) as f64) as u64, exponent - 53 + log_scale as i32);
    match u32::try_from(power) {
        Ok(shift) => (x < 0.0, mantissa, shift),
        // Below 2^53 the scaled number is a float64 again, up to what rounds to 0 anyway.
        Err(_) => (x < 0.0, libm::ldexp(mantissa as f64, power).round_ties_even() as u64, 0),
    }
}

/// Bits of a rounded number, sign included.
pub(super) fn needed_bits((_, mantissa, shift): (bool, u64, u32)) -> u32 {
    if mantissa == 0 { 1 } else { u64::BITS - mantissa.leading_zeros() + shift + 1 }
}

/// Words of mantissa 2^shift, as many as there are.
pub(super) fn magnitude_words((_, mantissa, shift): (bool, u64, u32), mut put: impl FnMut(usize, u64)) {
    let (word, bit) = (shift as usize / 64, shift % 64);
    put(word, mantissa << bit);
    put(word + 1, mantissa >> 1 >> (63 - bit));
}

impl<B: WideOps> Encoder<B> {
    /// Prepares the roots of the transform.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &BigCkksParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        Ok(Self { params: params.clone(), ring: ring.clone(), fft: SpecialFft::new(params.slots()) })
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// Encodes one vector, padded with zeros: coefficients round(2^log_scale x inverse special FFT), with an error of at most half a
    /// unit each beside the transform's float64 roundings.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooManyValues`], [`Error::SlotCount`], [`Error::ScaleRange`], [`Error::ModulusMismatch`];
    /// [`Error::CoefficientTooLarge`] if value x scale does not fit the modulus.
    pub fn encode(&self, values: &[Complex64], to: Encoding) -> Result<Plaintext<B>> {
        self.encode_batch(&[values], to)
    }

    /// Encodes one vector of real numbers.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_real(&self, values: &[f64], to: Encoding) -> Result<Plaintext<B>> {
        let values: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        self.encode(&values, to)
    }

    /// Encodes the same number in every slot: needs no transform.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode).
    pub fn encode_constant(&self, value: Complex64, to: Encoding) -> Result<Plaintext<B>> {
        to.meta.check(&self.params)?;
        Ok(Plaintext { meta: to.meta, ..self.encode(&[value], to.slots(1))? })
    }

    /// Unscaled coefficients of one vector.
    fn embed(&self, values: &[Complex64], slots: usize, coefficients: &mut [f64]) {
        let mut padded = vec![Complex64::ZERO; slots];
        padded[..values.len()].copy_from_slice(values);
        self.fft.inverse(&mut padded);
        let half = coefficients.len() / 2;
        for (k, z) in padded.iter().enumerate() {
            coefficients[k * (half / slots)] = z.re;
            coefficients[half + k * (half / slots)] = z.im;
        }
    }

    /// Encodes a batch of vectors.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode); [`Error::BatchRange`] for an empty batch.
    pub fn encode_batch(&self, vectors: &[&[Complex64]], to: Encoding) -> Result<Plaintext<B>> {
        let meta @ Meta { log_q, log_scale, slots } = to.meta;
        meta.check(&self.params)?;
        for values in vectors {
            if values.len() > slots {
                return Err(Error::TooManyValues { found: values.len(), capacity: slots });
            }
            if let Some(index) = values.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
                return Err(Error::NotFinite { index });
            }
        }
        let (n, batch) = (self.ring.n(), vectors.len());
        let mut scaled = vec![0f64; batch * n];
        scaled
            .par_chunks_exact_mut(n)
            .zip(vectors)
            .for_each(|(scaled, values)| self.embed(values, slots, scaled));
        // Sums of finite numbers may overflow.
        if let Some(index) = scaled.iter().position(|x| !x.is_finite()) {
            let (needed_bits, available_bits) = (1025 + log_scale, log_q);
            return Err(Error::CoefficientTooLarge { index: index % n, needed_bits, available_bits });
        }
        let rounded: Vec<(bool, u64, u32)> =
            scaled.par_iter().with_min_len(1 << 12).map(|&x| round_scaled(x, log_scale)).collect();
        let bits = |i: usize| needed_bits(rounded[i]);
        let largest = (0..rounded.len()).max_by_key(|&i| bits(i)).unwrap_or(0);
        let magnitude_bits = rounded.get(largest).map_or(1, |&number| needed_bits(number));
        if magnitude_bits > log_q {
            let (index, needed_bits, available_bits) = (largest % n, magnitude_bits, log_q);
            return Err(Error::CoefficientTooLarge { index, needed_bits, available_bits });
        }
        let poly = if magnitude_bits < 64 {
            let signed: Vec<i64> = rounded
                .iter()
                .map(|&(negative, mantissa, shift)| {
                    let magnitude = (mantissa << shift) as i64;
                    if negative { -magnitude } else { magnitude }
                })
                .collect();
            WidePoly::from_signed(&self.ring, log_q, batch, &signed)?
        } else {
            WidePoly::from_words(&self.ring, log_q, batch, &self.place(&rounded, log_q, batch))?
        };
        Ok(Plaintext { poly, magnitude_bits, meta })
    }

    /// Words of rounded numbers that need more than 63 bits.
    fn place(&self, rounded: &[(bool, u64, u32)], log_q: u32, batch: usize) -> Vec<u64> {
        let (rows, plane) = (WideRows::new(log_q, batch), batch * self.ring.n());
        let mut words = vec![0u64; rows.words() * plane];
        for (i, &number) in rounded.iter().enumerate() {
            magnitude_words(number, |w, word| {
                if let Some(place) = words.get_mut(w * plane + i) {
                    *place = word;
                }
            });
            if number.0 {
                let mut carry = true;
                for w in 0..rows.words() {
                    let (word, overflow) = (!words[w * plane + i]).overflowing_add(u64::from(carry));
                    (words[w * plane + i], carry) = (word, overflow);
                }
                words[(rows.words() - 1) * plane + i] &= rows.top_mask();
            }
        }
        words
    }

    /// The vectors of a plaintext, `slots` complex numbers each: 2^-log_scale times the special FFT of the centred coefficients, in
    /// float64. What the modulus cannot hold comes out as numbers without meaning, at worst infinite.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; a modulus, scale or number of slots that cannot be; device errors.
    pub fn decode(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<Complex64>>> {
        if !plaintext.poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let meta @ Meta { log_q, log_scale, slots } = plaintext.meta;
        meta.check(&self.params)?;
        let (n, batch) = (self.ring.n(), plaintext.batch());
        let words = plaintext.poly.to_words()?;
        let (plane, gap) = (batch * n, n / 2 / slots);
        let coefficient = |entry: usize, k: usize| {
            scaled_number(|w| words[w * plane + entry * n + k], WideRows::new(log_q, batch), log_scale)
        };
        let decode = |entry: usize| {
            let mut values: Vec<Complex64> = (0..slots)
                .into_par_iter()
                .with_min_len(1 << 9)
                .map(|k| Complex64::new(coefficient(entry, k * gap), coefficient(entry, n / 2 + k * gap)))
                .collect();
            self.fft.forward(&mut values);
            values
        };
        Ok((0..batch).into_par_iter().map(decode).collect())
    }

    /// The real parts of the vectors of a plaintext.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    pub fn decode_real(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<f64>>> {
        let real = |values: Vec<Complex64>| values.into_iter().map(|z| z.re).collect();
        Ok(self.decode(plaintext)?.into_iter().map(real).collect())
    }
}

/// The centred number of these words times 2^-log_scale, within an ulp.
fn scaled_number(word: impl Fn(usize) -> u64, rows: WideRows, log_scale: u32) -> f64 {
    let top = rows.words() - 1;
    let negative = 0u64.wrapping_sub(word(top) >> ((rows.bits - 1) % 64) & 1);
    let mut carry = negative & 1;
    let mut value = 0.0;
    // From the least word up: small parts are added first.
    for w in 0..=top {
        let mask = if w == top { rows.top_mask() } else { u64::MAX };
        let (magnitude, overflow) = ((word(w) ^ negative) & mask).overflowing_add(carry);
        carry = u64::from(overflow);
        value += libm::ldexp(magnitude as f64, 64 * w as i32 - log_scale as i32);
    }
    if negative == 0 { value } else { -value }
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
        for (x, log_scale, expected) in [
            (0.5, 0, 0),
            (1.5, 0, 2),
            (-2.5, 0, -2),
            (0.75, 1, 2),
            (-0.0, 5, 0),
            (3.25, 2, 13),
            (1e-300, 1000, 11),
            (1e-300, 900, 0),
        ] {
            assert_eq!(number(round_scaled(x, log_scale)), BigInt::from(expected), "{x} 2^{log_scale}");
        }
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for _ in 0..2000 {
            let x: f64 = rng.random_range(-1.0..1.0) * f64::from(rng.random_range(-40i32..40)).exp2();
            let log_scale = rng.random_range(0..1100u32);
            let rounded = number(round_scaled(x, log_scale));
            // x 2^1074 is an integer.
            let exact = BigInt::from_f64(x * 2f64.powi(120)).unwrap() << log_scale;
            let error = (&exact - (&rounded << 120u32)).magnitude().clone();
            assert!(error <= num_bigint::BigUint::from(1u8) << 119u32, "{x} 2^{log_scale}");
            assert!(rounded.bits() < u64::from(needed_bits(round_scaled(x, log_scale))));
            let bits = needed_bits(round_scaled(x, log_scale)).max(2) + rng.random_range(0..70);
            let modulus = BigInt::from(1) << bits;
            let digits = ((&rounded + &modulus) % &modulus).to_biguint().unwrap().to_u64_digits();
            let back =
                scaled_number(|w| digits.get(w).copied().unwrap_or(0), WideRows::new(bits, 1), log_scale);
            let expected =
                if log_scale < 900 { rounded.to_f64().unwrap() / 2f64.powi(log_scale as i32) } else { x };
            assert!((back - expected).abs() <= expected.abs() * 3e-16, "{back} {expected}");
        }
    }
}
