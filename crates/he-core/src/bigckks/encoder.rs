//! Conversion between vectors of complex numbers and plaintexts.

use super::ciphertext::{Known, Meta};
use super::{BigCkksParams, Ciphertext, Plaintext, WidePoly};
use crate::backend::{Cpu, WideEmbedding, WideOps, WidePolyOps, WideRows};
use crate::ckks::noise::{DOUBLES_LOG2, largest_square};
use crate::ckks::{NoiseEstimate, check_not_filled, column_vectors, vector_encoding};
use crate::error::{Error, Result};
use crate::poly::PlainPoly;
use crate::ring::{Ring, SpecialFft};
use crate::secret_words::SecretWords;
use num_complex::Complex64;

/// The target of an encoding: modulus, scale and slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    pub(super) meta: Meta,
}

impl BigCkksParams {
    /// An encoding modulo the largest q with the parameters' scale, over all slots.
    pub fn encoding(&self) -> Encoding {
        Encoding { meta: Meta { log_q: self.log_q(), scale_log2: self.scale_log2(), slots: self.slots() } }
    }

    /// An encoding with the modulus and the slots of a ciphertext, for plaintexts that are to be
    /// added to it or multiplied by it.
    pub fn encoding_for<B: WideOps>(&self, ct: &Ciphertext<B>) -> Encoding {
        Encoding { meta: Meta { scale_log2: self.scale_log2(), ..ct.meta } }
    }
}

impl Encoding {
    /// Modulo 2^log_q.
    #[must_use]
    pub const fn log_q(mut self, log_q: u32) -> Self {
        self.meta.log_q = log_q;
        self
    }

    /// With a scale of 2^scale_log2.
    #[must_use]
    pub const fn scale_log2(mut self, scale_log2: u32) -> Self {
        self.meta.scale_log2 = scale_log2;
        self
    }

    /// A sparse encoding: `slots` values, a power of two, repeated N / (2 slots) times.
    #[must_use]
    pub const fn slots(mut self, slots: usize) -> Self {
        self.meta.slots = slots;
        self
    }
}

/// Encodes and decodes for one parameter set on one device.
#[derive(Debug, Clone)]
pub struct Encoder<B: WideOps = Cpu> {
    params: BigCkksParams,
    ring: Ring<B>,
    fft: SpecialFft,
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
        Ok(Self { params: params.clone(), ring: ring.clone(), fft: params.fft() })
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    /// Encodes the same number in every slot, which needs no transform.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode).
    pub fn encode_constant(&self, value: Complex64, to: Encoding) -> Result<Plaintext<B>> {
        to.meta.check(&self.params)?;
        Ok(Plaintext { meta: to.meta, ..self.encode(&[value], to.slots(1))? })
    }

    /// Encodes a batch of vectors.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode); [`Error::BatchRange`] for an empty batch.
    pub fn encode_batch(&self, vectors: &[&[Complex64]], to: Encoding) -> Result<Plaintext<B>> {
        let meta @ Meta { log_q, scale_log2, slots } = to.meta;
        meta.check(&self.params)?;
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let (ring, wide) = (&self.ring, WideRows::new(log_q, vectors.len()));
        let to = WideEmbedding { fft: &self.fft, slots, scale_log2 };
        let (buf, magnitude_bits) = ring.prepared().wide_encode_slots(wide, vectors, to)?;
        let poly = PlainPoly::encoded(WidePoly::from_buf(ring, log_q, wide.batch, buf));
        let (square, n) = (largest_square(vectors), ring.n() as f64);
        let noise = NoiseEstimate::encoded(square, f64::from(scale_log2), n, DOUBLES_LOG2);
        Ok(Plaintext { poly, magnitude_bits, meta, noise: Known(Some(noise)) })
    }

    vector_encoding! {
        /// Encodes one vector, padded with zeros: coefficients round(2^scale_log2 x inverse special
        /// FFT), each with an error of at most half a unit, in addition to the float64 roundings of
        /// the transform.
        ///
        /// # Errors
        /// [`Error::NotFinite`], [`Error::TooManyValues`], [`Error::SlotCount`],
        /// [`Error::ScaleRange`], [`Error::ModulusMismatch`]; [`Error::CoefficientTooLarge`] if
        /// value x scale does not fit the modulus.
        encode;

        /// Encodes one vector of real numbers.
        ///
        /// # Errors
        /// The same as for [`encode`](Self::encode).
        encode_real;
    }

    /// Encodes a column of any length modulo the largest q: number i goes to slot i mod N/2 of
    /// batch entry i div N/2; the rest is zero.
    pub(super) fn encode_column(&self, values: &[Complex64]) -> Result<Plaintext<B>> {
        self.encode_batch(&column_vectors(values, self.params.slots())?, self.params.encoding())
    }

    /// The vectors of a plaintext, `slots` complex numbers each: 2^-scale_log2 times the special
    /// FFT of the centred coefficients, in float64. Values that the modulus cannot hold yield
    /// meaningless numbers, at worst infinite ones.
    ///
    /// # Errors
    /// [`Error::NotDecrypted`] as for [`ckks::Encoder::decode`](crate::ckks::Encoder::decode);
    /// [`Error::RingMismatch`]; an impossible modulus, scale or number of slots; device errors.
    pub fn decode(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<Complex64>>> {
        if !plaintext.poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let meta @ Meta { log_q, scale_log2, slots } = plaintext.meta;
        meta.check(&self.params)?;
        let (ring, wide) = (&self.ring, WideRows::new(log_q, plaintext.batch()));
        let from = WideEmbedding { fft: &self.fft, slots, scale_log2 };
        let vectors = ring.prepared().wide_decode_slots(wide, plaintext.poly.buf(), from)?;
        if plaintext.poly.is_decrypted() {
            check_not_filled(&vectors, f64::from(scale_log2), f64::from(log_q))?;
        }
        Ok(vectors)
    }

    /// The real parts of the vectors of a plaintext.
    ///
    /// # Errors
    /// The same as for [`decode`](Self::decode).
    pub fn decode_real(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<f64>>> {
        // Both parts together also hold the noise.
        let real = |values: Vec<Complex64>| SecretWords::from(values).iter().map(|z| z.re).collect();
        Ok(self.decode(plaintext)?.into_iter().map(real).collect())
    }
}
