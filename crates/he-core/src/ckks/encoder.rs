//! Conversion between vectors of complex numbers and plaintexts.

use super::ciphertext::{Meta, check_scale};
use super::columns::{column_vectors, vector_encoding};
use super::extended::{self, Transform};
use super::noise::{DOUBLES_LOG2, EXTENDED_LOG2, largest_square};
use super::{Ciphertext, CkksParams, NoiseEstimate, Plaintext, SpecialFft, check_not_filled};
use crate::backend::{CkksOps, Cpu, Embedding, HostVector, RingOps};
use crate::error::{Error, Result};
use crate::poly::PlainPoly;
use crate::ring::{Eval, Poly, Ring, Rows, Span};
use crate::secret_words::SecretWords;
use num_complex::Complex64;

/// The target of an encoding: level, scale and slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Encoding {
    pub(super) level: usize,
    pub(super) scale: f64,
    slots: usize,
}

impl CkksParams {
    /// An encoding at the top level with its scale, over all slots.
    pub fn encoding(&self) -> Encoding {
        let level = self.max_level();
        Encoding { level, scale: self.levels()[level].scale, slots: self.slots() }
    }

    /// The encoding of plaintexts that are to be added to a ciphertext or multiplied by it.
    /// Encoding fails if the ciphertext is of other parameters and its level does not exist here.
    pub fn encoding_for<B: RingOps>(&self, ct: &Ciphertext<B>) -> Encoding {
        let scale = self.levels().get(ct.level()).map_or(ct.scale(), |level| level.scale);
        Encoding { level: ct.level(), scale, slots: ct.slots() }
    }
}

impl Encoding {
    /// The encoding at another level, with its exact scale.
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`].
    pub fn at_level(mut self, params: &CkksParams, level: usize) -> Result<Self> {
        self.scale = params.level(level)?.scale;
        self.level = level;
        Ok(self)
    }

    /// At the scale of plaintexts that multiply ciphertexts of the level, which is the level's own
    /// but where the next level belongs to another group:
    /// [`multiplier_scale`](CkksParams::multiplier_scale).
    ///
    /// # Errors
    /// [`Error::LevelTooHigh`]; [`Error::LevelExhausted`] for level 0.
    pub fn for_multiplying(mut self, params: &CkksParams) -> Result<Self> {
        self.scale = params.multiplier_scale(self.level)?;
        Ok(self)
    }

    /// The encoding with another scale, a manual choice.
    #[must_use]
    pub fn scale(mut self, scale: f64) -> Self {
        self.scale = scale;
        self
    }

    /// A sparse encoding: `slots` values, a power of two, repeated N / (2 slots) times.
    #[must_use]
    pub fn slots(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    pub(super) fn slot_count(&self) -> usize {
        self.slots
    }
}

/// Encodes and decodes for one parameter set on one device.
#[derive(Debug, Clone)]
pub struct Encoder<B: RingOps = Cpu> {
    pub(super) params: CkksParams,
    pub(super) ring: Ring<B>,
    fft: Transform,
}

impl<B: RingOps> Encoder<B> {
    /// Prepares the roots of the transform.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters.
    pub fn new(params: &CkksParams, ring: &Ring<B>) -> Result<Self> {
        if ring.spec() != params.rlwe().ring() {
            return Err(Error::RingMismatch);
        }
        Ok(Self { params: params.clone(), ring: ring.clone(), fft: params.transform() })
    }

    /// The parameters.
    pub fn params(&self) -> &CkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    vector_encoding! {
        /// Encodes one vector, padded with zeros: coefficients round(scale x inverse special FFT),
        /// each with an error of at most half a unit, plus about 2^-50 of the greatest coefficient
        /// from the transform in doubles. With a scale above 2^61, the transform is in numbers of
        /// 106 bits, on the host: the error is then that of rounding, and values are the doubles
        /// themselves.
        ///
        /// # Errors
        /// [`Error::NotFinite`], [`Error::TooManyValues`], [`Error::SlotCount`],
        /// [`Error::ScaleRange`]; [`Error::ValueTooLarge`] if value x scale does not fit the
        /// modulus of the level.
        encode;

        /// Encodes one vector of real numbers.
        ///
        /// # Errors
        /// The same as for [`encode`](Self::encode).
        encode_real;
    }

    /// Encodes the same number in every slot, which needs no transform.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode).
    pub fn encode_constant(&self, value: Complex64, to: Encoding) -> Result<Plaintext<B>> {
        let plain = self.encode(&[value], to.slots(1))?;
        let meta = Meta { slots: to.slots, ..plain.meta };
        meta.check(&self.params)?;
        Ok(Plaintext { meta, ..plain })
    }

    /// Encodes a batch of vectors.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode); [`Error::BatchRange`] for an empty batch.
    pub fn encode_batch(&self, vectors: &[&[Complex64]], to: Encoding) -> Result<Plaintext<B>> {
        self.encode_by(vectors, to, |ring, rows, to| ring.encode_slots(rows, vectors, to))
    }

    /// Zeros for `count` slots of one plaintext, in memory of the host from which
    /// [`encode_host_vector`](Self::encode_host_vector) reads them without a copy before: on a GPU
    /// it is page-locked, which takes longer to allocate than a vector takes to encode. So keep it,
    /// and write each vector to it.
    ///
    /// ```
    /// use he_core::ckks::{CkksParams, Encoder};
    /// use he_core::{backend::Cpu, ring::Ring};
    ///
    /// let params = CkksParams::for_depth(1).precision_bits(20).build()?;
    /// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
    /// let encoder = Encoder::new(&params, &ring)?;
    /// let mut vector = encoder.host_vector(params.slots())?;
    /// for factor in [0.5, 2.0] {
    ///     for (i, z) in vector.numbers_mut()?.iter_mut().enumerate() {
    ///         z.re = factor * i as f64 / params.slots() as f64;
    ///     }
    ///     let plaintext = encoder.encode_host_vector(&vector, params.encoding())?;
    ///     assert!((encoder.decode_real(&plaintext)?[0][params.slots() / 2] - factor / 2.0).abs() < 1e-5);
    /// }
    /// # Ok::<(), he_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for more than N/2 slots; device errors.
    pub fn host_vector(&self, count: usize) -> Result<HostVector> {
        let capacity = self.params.slots();
        if count > capacity {
            return Err(Error::TooManyValues { found: count, capacity });
        }
        self.ring.backend().host_vector(count)
    }

    /// Encodes the numbers of a vector that an encoder handed out: the same plaintext as
    /// [`encode`](Self::encode) makes of them. Does not wait for the device to read them;
    /// [`HostVector::numbers_mut`] does.
    ///
    /// # Errors
    /// The same as for [`encode`](Self::encode).
    pub fn encode_host_vector(&self, vector: &HostVector, to: Encoding) -> Result<Plaintext<B>> {
        self.encode_by(&[vector.numbers()], to, |ring, rows, to| ring.encode_host_vector(rows, vector, to))
    }

    /// Encodes vectors by an operation of the ring.
    fn encode_by(
        &self,
        vectors: &[&[Complex64]],
        to: Encoding,
        encode: impl FnOnce(&B::Ring, Rows, Embedding<'_>) -> Result<B::Buf>,
    ) -> Result<Plaintext<B>> {
        let mut meta = Meta { level: to.level, scale: to.scale, slots: to.slots, noise: None };
        let poly = PlainPoly::encoded(self.encode_poly(vectors, meta, encode)?);
        meta.noise = Some(self.estimate(vectors, to.scale));
        Ok(Plaintext { poly, meta })
    }

    /// The noise of an encoding of these vectors.
    pub(super) fn estimate(&self, vectors: &[&[Complex64]], scale: f64) -> NoiseEstimate {
        let transform_log2 = match &self.fft {
            Transform::Double(_) => DOUBLES_LOG2,
            Transform::Extended(_) => EXTENDED_LOG2,
        };
        let n = self.params.noise().n();
        NoiseEstimate::encoded(largest_square(vectors), libm::log2(scale), n, transform_log2)
    }

    /// The polynomials of a batch of vectors.
    fn encode_poly(
        &self,
        vectors: &[&[Complex64]],
        meta: Meta,
        encode: impl FnOnce(&B::Ring, Rows, Embedding<'_>) -> Result<B::Buf>,
    ) -> Result<Poly<Eval, B>> {
        meta.check(&self.params)?;
        if vectors.is_empty() {
            return Err(Error::BatchRange { start: 0, end: 0, batch: 0 });
        }
        let fft = match &self.fft {
            Transform::Double(fft) => fft,
            Transform::Extended(fft) => {
                return extended::encode(&self.params, &self.ring, fft, vectors, meta);
            }
        };
        let span = Span::chain(self.params.level(meta.level)?.primes);
        let rows = Rows::new(span, vectors.len());
        let buf = encode(self.ring.prepared(), rows, embedding(fft, meta))?;
        Ok(Poly::from_buf(&self.ring, span, vectors.len(), buf))
    }

    /// Encodes a column of any length at the top level: number i goes to slot i mod N/2 of batch
    /// entry i div N/2; the rest is zero.
    pub(super) fn encode_column(&self, values: &[Complex64]) -> Result<Plaintext<B>> {
        self.encode_batch(&column_vectors(values, self.params.slots())?, self.params.encoding())
    }

    /// The vectors of a plaintext, `slots` complex numbers each. Doubles resolve 2^-53 of a value:
    /// with a scale up to 2^61, results have an error of about 2^-50 of the greatest value in
    /// addition to that of the ciphertext; with a greater scale, each is the double nearest to the
    /// value in the plaintext, so that small differences of large values keep the whole precision
    /// if they are computed before decoding.
    ///
    /// # Errors
    /// [`Error::NotDecrypted`] for the result of a decryption whose coefficients fill the modulus:
    /// the secret key is wrong, the ciphertext is damaged, or most coefficients of its values have
    /// wrapped around the modulus. Values within [`range`](CkksParams::range) never do.
    /// [`Error::RingMismatch`]; device errors.
    pub fn decode(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<Complex64>>> {
        if !plaintext.poly.ring().same(&self.ring) {
            return Err(Error::RingMismatch);
        }
        let Meta { scale, level, .. } = plaintext.meta;
        check_scale(&self.params, level, scale)?;
        let prepared = self.ring.prepared();
        let (poly, meta) = (&plaintext.poly, plaintext.meta);
        let vectors = match &self.fft {
            Transform::Double(fft) => prepared.decode_slots(poly.rows(), poly.buf(), embedding(fft, meta))?,
            Transform::Extended(fft) => extended::decode(&self.params, fft, poly, meta)?,
        };
        if poly.is_decrypted() {
            check_not_filled(&vectors, libm::log2(meta.scale), self.params.log_q(meta.level))?;
        }
        Ok(vectors)
    }

    /// The real parts of the vectors of a plaintext.
    ///
    /// # Errors
    /// The same as for [`decode`](Self::decode).
    pub fn decode_real(&self, plaintext: &Plaintext<B>) -> Result<Vec<Vec<f64>>> {
        Ok(self
            .decode(plaintext)?
            .into_iter()
            // Both parts together also hold the noise.
            .map(|values| SecretWords::from(values).iter().map(|z| z.re).collect())
            .collect())
    }
}

fn embedding(fft: &SpecialFft, meta: Meta) -> Embedding<'_> {
    Embedding { fft, slots: meta.slots, scale: meta.scale, level: meta.level }
}
