//! Between vectors of complex numbers and plaintexts.

use super::ciphertext::{Meta, check_scale};
use super::{Ciphertext, CkksParams, Plaintext, SpecialFft};
use crate::arith::Modulus;
use crate::backend::RingOps;
use crate::error::{Error, Result};
use crate::ring::{Coeff, CrtComposer, Poly, Ring, Span};
use num_complex::Complex64;
use rayon::prelude::*;

/// Where an encoding goes: level, scale and slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    level: usize,
    scale: f64,
    slots: usize,
}

impl CkksParams {
    /// The encoding at the top level with its scale, over all slots.
    pub fn encoding(&self) -> Encoding {
        let level = self.max_level();
        Encoding { level, scale: self.levels()[level].scale, slots: self.slots() }
    }

    /// The encoding that a ciphertext's level expects of plaintexts to add or multiply. Encoding refuses it if the ciphertext is of
    /// other parameters and its level does not exist here.
    pub fn encoding_for<B: RingOps>(&self, ct: &Ciphertext<B>) -> Encoding {
        let scale = self.levels().get(ct.level()).map_or(ct.scale(), |level| level.scale);
        Encoding { level: ct.level(), scale, slots: ct.slots() }
    }
}

impl Encoding {
    /// At another level, with its exact scale.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`].
    pub fn at_level(mut self, params: &CkksParams, level: usize) -> Result<Self> {
        self.scale = params.level(level)?.scale;
        self.level = level;
        Ok(self)
    }

    /// With another scale: a manual choice.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// Sparse: `slots` values, a power of two, repeated N / (2 slots) times.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }
}

/// Encodes and decodes for one parameter set on one device.
#[derive(Debug, Clone)]
pub struct Encoder<B: RingOps> {
    params: CkksParams,
    ring: Ring<B>,
    fft: SpecialFft,
}

/// Rounded coefficients that still fit the fast path.
const SHORT: f64 = (1u64 << 62) as f64;
/// Magnitude up to which coefficients are rounded exactly.
const WIDE_BITS: u32 = 126;

impl<B: RingOps> Encoder<B> {
    /// Prepares the roots of the transform.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &CkksParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        Ok(Self { params: params.clone(), ring: ring.clone(), fft: SpecialFft::new(params.slots()) })
    }

    /// The parameters.
    pub fn params(&self) -> &CkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// Encodes one vector, padded with zeros: coefficients round(scale x inverse special FFT), with an error of at most
    /// half a unit each.
    ///
    /// # Errors
    /// [`Error::NotFinite`], [`Error::TooManyValues`], [`Error::SlotCount`], [`Error::ScaleRange`]; [`Error::ValueTooLarge`]
    /// if value x scale does not fit the modulus of the level.
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
        let meta = Meta { level: to.level, scale: to.scale, slots: to.slots };
        meta.check(&self.params)?;
        Ok(Plaintext { meta, ..self.encode(&[value], to.slots(1))? })
    }

    /// Encodes a batch of vectors.
    ///
    /// # Errors
    /// As for [`encode`](Self::encode); [`Error::BatchRange`] for an empty batch.
    pub fn encode_batch(&self, vectors: &[&[Complex64]], to: Encoding) -> Result<Plaintext<B>> {
        let meta = Meta { level: to.level, scale: to.scale, slots: to.slots };
        meta.check(&self.params)?;
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let n = self.ring.n();
        let mut scaled = vec![0f64; vectors.len() * n];
        scaled
            .par_chunks_exact_mut(n)
            .zip(vectors)
            .try_for_each(|(coefficients, values)| self.embed(values, to, coefficients))?;
        let span = Span::chain(self.params.level(to.level)?.primes);
        let poly = self.round(&scaled, span, vectors.len(), to.level)?.into_eval()?;
        Ok(Plaintext { poly, meta })
    }

    /// Scaled, unrounded coefficients of one vector.
    fn embed(&self, values: &[Complex64], to: Encoding, coefficients: &mut [f64]) -> Result<()> {
        if values.len() > to.slots {
            return Err(Error::TooManyValues { found: values.len(), capacity: to.slots });
        }
        if let Some(index) = values.iter().position(|z| !(z.re.is_finite() && z.im.is_finite())) {
            return Err(Error::NotFinite { index });
        }
        let mut slots = vec![Complex64::ZERO; to.slots];
        slots[..values.len()].copy_from_slice(values);
        self.fft.inverse(&mut slots);
        let half = coefficients.len() / 2;
        let gap = half / to.slots;
        for (k, z) in slots.iter().enumerate() {
            coefficients[k * gap] = z.re * to.scale;
            coefficients[half + k * gap] = z.im * to.scale;
        }
        Ok(())
    }

    /// Rounds to integers and reduces modulo each prime.
    fn round(&self, scaled: &[f64], span: Span, batch: usize, level: usize) -> Result<Poly<Coeff, B>> {
        let largest = scaled.iter().enumerate().fold((0, 0f64), |(at, most), (i, x)| {
            // A NaN comes from infinities and counts as one.
            let x = if x.is_nan() { f64::INFINITY } else { x.abs() };
            if x > most { (i, x) } else { (at, most) }
        });
        let available_bits = self.params.log_q(level).floor() as u32;
        let needed_bits =
            if largest.1.is_finite() { (libm::log2(largest.1 + 1.0)).ceil() as u32 + 1 } else { 1025 };
        if needed_bits > available_bits || needed_bits > WIDE_BITS {
            let index = largest.0 % self.ring.n();
            return Err(Error::ValueTooLarge {
                index,
                needed_bits,
                available_bits: available_bits.min(WIDE_BITS),
                level,
            });
        }
        if largest.1 < SHORT {
            let rounded: Vec<i64> =
                scaled.par_iter().with_min_len(1 << 14).map(|x| x.round_ties_even() as i64).collect();
            return Poly::from_signed(&self.ring, span, batch, &rounded);
        }
        let rounded: Vec<i128> = scaled.iter().map(|x| x.round_ties_even() as i128).collect();
        let mut words = Vec::with_capacity(span.limbs() * rounded.len());
        for &q in &self.ring.spec().q()[..span.q] {
            let q = Modulus::new(q)?;
            words.extend(rounded.iter().map(|&x| q.reduce_i128(x)));
        }
        Poly::from_words(&self.ring, span, batch, &words)
    }

    /// The vectors of a plaintext, `slots` complex numbers each.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; device errors.
    pub fn decode(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<Complex64>>> {
        if !plaintext.poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let Meta { scale, slots, level } = plaintext.meta;
        check_scale(&self.params, level, scale)?;
        let (n, batch) = (self.ring.n(), plaintext.batch());
        let words = plaintext.poly.duplicate()?.into_coeff()?.to_words()?;
        let composer = CrtComposer::new(self.ring.spec(), plaintext.poly.span().q);
        let gap = n / 2 / slots;
        let decode = |entry: usize| {
            let mut coefficients = vec![0f64; n];
            let parts = (n / 2048).max(1);
            // Several threads share one vector.
            coefficients.par_chunks_mut(n / parts).enumerate().for_each(|(part, out)| {
                composer.compose(|i| &words[(i * batch + entry) * n + part * (n / parts)..], out);
            });
            let inverse = 1.0 / scale;
            let mut values: Vec<Complex64> = (0..slots)
                .map(|k| {
                    Complex64::new(coefficients[k * gap] * inverse, coefficients[n / 2 + k * gap] * inverse)
                })
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
        Ok(self
            .decode(plaintext)?
            .into_iter()
            .map(|values| values.into_iter().map(|z| z.re).collect())
            .collect())
    }
}
