//! Public keys, encryption and decryption.

use super::params::product_bits;
use super::{BigCkksParams, Ciphertext, Encoder, Noise, Plaintext, SecretKey, WidePoly};
use crate::backend::{Cpu, WideOps, WideRows, covering_span};
use crate::ckks::{column_decryption, column_encryption};
use crate::error::{Error, Result};
use crate::key_set::{KeySetId, common, key_set_accessors};
use crate::poly::PlainPoly;
use crate::publisher::Publisher;
use crate::ring::{Coeff, Eval, Poly, Ring, SecretPoly, Seed, Span};
use crate::rlwe::{FloodRoom, Flooding, Floods, KeyParams as _, flood_planes};
use derive_where::derive_where;
use num_complex::Complex64;
use rand::CryptoRng;

/// The primes that determine the product of centred numbers modulo 2^bits and ternary ones.
fn ternary_span<B: WideOps>(ring: &Ring<B>, bits: u32) -> Result<Span> {
    covering_span(ring.spec(), product_bits(ring.spec().log_n(), bits, 2))
}

/// (b, a) modulo 2^(log q), with b = -a s + e, where a comes from a public seed. It is kept over
/// primes, in evaluation form.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PublicKey<B: WideOps = Cpu> {
    params: BigCkksParams,
    seed: Seed,
    values: [Poly<Eval, B>; 2],
    key_set: Option<KeySetId>,
}

key_set_accessors! {
    [B: WideOps] PublicKey<B> { key_set }
}

impl<B: WideOps> PublicKey<B> {
    /// Generates a public key.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] for a ring of other parameters; device errors.
    pub fn generate(secret: &SecretKey, ring: &Ring<B>, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self> {
        let (params, bits) = (secret.params(), secret.params().log_q());
        let span = ternary_span(ring, bits)?;
        let s = secret.on(ring, span)?;
        let seed = Seed::random(rng);
        let errors = Seed::random(rng);
        let mut product = WidePoly::uniform(ring, bits, 1, &seed, 0)?.values(span)?;
        product.mul_assign(s.get())?;
        // a is public, so a s reveals s.
        let mut product = WidePoly::from_secret_values(product, bits)?;
        let mut b = WidePoly::error(ring, bits, 1, &errors, 0)?;
        b.sub_assign(&product)?;
        product.wipe();
        Ok(Self { key_set: Some(secret.key_set()), ..Self::from_body(params, seed, &b)? })
    }

    /// Makes a key from the seed of a, and b modulo 2^(log q).
    ///
    /// # Errors
    /// Mismatch of ring, modulus or batch; device errors.
    pub fn from_body(params: &BigCkksParams, seed: Seed, b: &WidePoly<B>) -> Result<Self> {
        let (ring, bits) = (b.ring(), params.log_q());
        if ring.spec() != params.ring() {
            return Err(Error::RingMismatch);
        }
        if b.bits() != bits {
            return Err(Error::ModulusMismatch { left: b.bits(), right: bits });
        }
        if b.batch() != 1 {
            return Err(Error::BatchMismatch { left: b.batch(), right: 1 });
        }
        let span = ternary_span(ring, bits)?;
        let a = WidePoly::uniform(ring, bits, 1, &seed, 0)?;
        let values = [b.values(span)?, a.values(span)?];
        Ok(Self { params: params.clone(), seed, values, key_set: None })
    }

    /// The parameters.
    pub fn params(&self) -> &BigCkksParams {
        &self.params
    }

    /// The ring.
    pub fn ring(&self) -> &Ring<B> {
        self.values[0].ring()
    }

    /// The seed of a, which is public.
    pub fn seed(&self) -> &Seed {
        &self.seed
    }

    /// b modulo 2^(log q).
    ///
    /// # Errors
    /// Device errors.
    pub fn body(&self) -> Result<WidePoly<B>> {
        WidePoly::from_values(self.values[0].duplicate()?, self.params.log_q())
    }

    /// Copies the key to an equal ring, possibly on another device.
    ///
    /// # Errors
    /// [`Error::RingMismatch`] if degree or primes differ; device errors.
    pub fn to<C: WideOps>(&self, ring: &Ring<C>) -> Result<PublicKey<C>> {
        let key = PublicKey::from_body(&self.params, self.seed.clone(), &self.body()?.to(ring)?)?;
        Ok(PublicKey { key_set: self.key_set, ..key })
    }

    /// Fresh encryptions of zero for a plaintext, of its modulus and batch: (b v + e0, a v + e1), v
    /// ternary.
    fn encrypt_zero(
        &self,
        plaintext: &WidePoly<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<[WidePoly<B>; 2]> {
        let (ring, bits, batch) = (self.ring(), plaintext.bits(), plaintext.batch());
        if !plaintext.ring().same(ring) {
            return Err(Error::RingMismatch);
        }
        let (seed, span) = (Seed::random(rng), self.values[0].span());
        let v: Poly<Coeff, B> = Poly::ternary(ring, span, batch, &seed, 0)?;
        let v = SecretPoly::new(v.into_eval()?);
        let part = |i: usize| -> Result<WidePoly<B>> {
            let mut product = v.get().duplicate()?;
            product.mul_assign(&self.values[i])?;
            let mut c = WidePoly::from_secret_values(product, bits)?;
            let mut error = WidePoly::error(ring, bits, batch, &seed, i as u32)?;
            c.add_assign(&error)?;
            error.wipe();
            Ok(c)
        };
        Ok([part(0)?, part(1)?])
    }
}

/// Encrypts by public key.
#[derive(Debug)]
pub struct Encryptor<'a, B: WideOps = Cpu> {
    params: BigCkksParams,
    key: &'a PublicKey<B>,
}

impl<'a, B: WideOps> Encryptor<'a, B> {
    /// With a key of these parameters.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`].
    pub fn new(params: &BigCkksParams, key: &'a PublicKey<B>) -> Result<Self> {
        params.check_same(key.params(), "public key")?;
        let params = params.clone();
        Ok(Self { params, key })
    }

    /// Encrypts each vector of the batch, (v b + e0 + m, v a + e1) modulo the plaintext's modulus;
    /// noise variance [`Noise::fresh_variance`](super::Noise::fresh_variance) per coefficient.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; device errors.
    pub fn encrypt(
        &self,
        plaintext: &Plaintext<B>,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Ciphertext<B>> {
        let poly = &plaintext.poly;
        let mut c = self.key.encrypt_zero(poly, rng)?;
        c[0].add_assign(poly)?;
        let model = Noise::new(&self.key.params);
        let noise = plaintext.noise.map(|noise| model.encrypted(noise));
        Ok(Ciphertext { c, meta: plaintext.meta, noise, key_set: self.key.key_set })
    }

    column_encryption! {
        /// Encodes real numbers modulo the largest q, with the parameters' scale, and encrypts
        /// them: a column of any length, with number i in slot i mod N/2 of batch entry i div N/2
        /// and zeros after the last, as in [`pack_column`](crate::circuits::pack_column). An empty
        /// column is one entry of zeros. For other moduli, scales and slots use the [`Encoder`].
        /// Noise and timing are those of [`encrypt`](Self::encrypt).
        ///
        /// ```
        /// # use he_core::{backend::Cpu, bigckks::*, ring::Ring};
        /// # fn main() -> he_core::Result<()> {
        /// # let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build()?;
        /// # let ring = Ring::new(Cpu::new(), params.ring().clone())?;
        /// # let mut rng = he_core::rand::rng();
        /// # let secret = SecretKey::generate(&params, &mut rng);
        /// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        /// let encryptor = Encryptor::new(&params, &public)?;
        /// let x = encryptor.encrypt_real(&[0.5, -1.25, 3.0], &mut rng)?;
        /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_real(&x)?;
        /// assert!((y[1] + 1.25).abs() < 1e-4 && y.len() == params.slots());
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// [`Error::NotFinite`], [`Error::CoefficientTooLarge`] if value x scale does not fit the
        /// modulus; device errors.
        encrypt_real;

        /// The same as [`encrypt_real`](Self::encrypt_real), for complex numbers.
        ///
        /// ```
        /// # use he_core::{backend::Cpu, bigckks::*, ring::Ring};
        /// # fn main() -> he_core::Result<()> {
        /// # let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build()?;
        /// # let ring = Ring::new(Cpu::new(), params.ring().clone())?;
        /// # let mut rng = he_core::rand::rng();
        /// # let secret = SecretKey::generate(&params, &mut rng);
        /// let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        /// let encryptor = Encryptor::new(&params, &public)?;
        /// let x = encryptor.encrypt_complex(&[Complex64::new(0.5, -1.0)], &mut rng)?;
        /// let y = Decryptor::new(&params, &secret, &ring)?.decrypt_complex(&x)?;
        /// assert!((y[0] - Complex64::new(0.5, -1.0)).norm() < 1e-4);
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// The same as for [`encrypt_real`](Self::encrypt_real).
        encrypt_complex;
    }
}

/// Decrypts. Decrypted values that others may see leak information about the key (IND-CPA-D): see
/// [`Decryptor::decrypt_flooded`].
#[derive(Debug)]
pub struct Decryptor<B: WideOps = Cpu> {
    params: BigCkksParams,
    secret: SecretPoly<Eval, B>,
}

impl<B: WideOps> Decryptor<B> {
    /// Takes a key of these parameters, and holds the secret on the device until it is dropped.
    ///
    /// # Errors
    /// [`Error::ParamsMismatch`], [`Error::RingMismatch`]; device errors.
    pub fn new(params: &BigCkksParams, key: &SecretKey, ring: &Ring<B>) -> Result<Self> {
        params.check_same(key.params(), "secret key")?;
        let secret = key.on(ring, ternary_span(ring, params.log_q())?)?;
        Ok(Self { params: params.clone(), secret })
    }

    /// Computes c0 + c1 s. The result holds the ciphertext's noise: keep it to yourself.
    /// Constant time.
    ///
    /// # Errors
    /// [`Error::RingMismatch`]; [`Error::KeyMismatch`] for a ciphertext of another secret; device
    /// errors.
    pub fn decrypt(&self, ct: &Ciphertext<B>) -> Result<Plaintext<B>> {
        let [c0, c1] = &ct.c;
        let (secret, bits) = (self.secret.get(), ct.meta.log_q);
        if !c1.ring().same(secret.ring()) {
            return Err(Error::RingMismatch);
        }
        common("ciphertext", ct.key_set, self.secret.key_set())?;
        // The first limbs of the secret serve a smaller modulus.
        let mut product = c1.values(ternary_span(c1.ring(), bits)?)?;
        product.mul_assign(secret)?;
        let mut poly = WidePoly::from_secret_values(product, bits)?;
        poly.add_assign(c0)?;
        let (poly, meta, noise) = (PlainPoly::decrypted(poly), ct.meta, ct.noise);
        Ok(Plaintext { poly, magnitude_bits: bits, meta, noise })
    }

    /// Decrypts and drowns the noise, for values that are shown to others, as
    /// [`ckks::Decryptor::decrypt_flooded`](crate::ckks::Decryptor::decrypt_flooded) does, with the
    /// ciphertext's [`noise`](Ciphertext::noise). Constant time.
    ///
    /// # Errors
    /// The same as there.
    pub fn decrypt_flooded(
        &self,
        ct: &Ciphertext<B>,
        flooding: Flooding,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Plaintext<B>> {
        let bits = self.flood_bits(ct, flooding)?;
        let (ring, log_q) = (ct.c[0].ring(), ct.meta.log_q);
        let rows = WideRows::new(log_q, ct.batch());
        let count = ct.batch() * ring.n();
        let mut planes = flood_planes(bits, count, rows.words(), rng);
        planes[(rows.words() - 1) * count..].iter_mut().for_each(|word| *word &= rows.top_mask());
        let mut plaintext = self.decrypt(ct)?;
        // The flood would reveal the values to which it was added.
        let mut flood = WidePoly::from_words(ring, log_q, ct.batch(), &planes)?;
        let added = plaintext.poly.add_assign(&flood);
        flood.wipe();
        added?;
        let (reach, half_log_n) = (f64::from(bits), libm::log2(ring.n() as f64) / 2.0);
        plaintext.noise = ct.noise.map(|noise| noise.with(reach, reach + half_log_n + 2.0));
        Ok(plaintext)
    }

    /// Decrypts for others: [`decrypt_flooded`](Self::decrypt_flooded) with the flood of the
    /// publisher, which counts each entry of the batch. Constant time.
    ///
    /// # Errors
    /// [`Error::DecryptionsSpent`], and the same as for
    /// [`decrypt_flooded`](Self::decrypt_flooded): a flood that does not fit is refused and not
    /// counted.
    pub fn publish(
        &self,
        ct: &Ciphertext<B>,
        publisher: &mut Publisher,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Plaintext<B>> {
        let fits = |flooding| self.flood_bits(ct, flooding);
        publisher.flooded(ct.batch(), fits, |flooding| self.decrypt_flooded(ct, flooding, rng))
    }

    /// The b of [`decrypt_flooded`](Self::decrypt_flooded): the flood hides values of this
    /// ciphertext below multiples of about 2^b / scale.
    ///
    /// # Errors
    /// The same as for [`decrypt_flooded`](Self::decrypt_flooded).
    pub fn flood_bits(&self, ct: &Ciphertext<B>, flooding: Flooding) -> Result<u32> {
        let noise = ct.noise.0;
        let scale_log2 = f64::from(ct.meta.scale_log2);
        let used_log2 = noise.map_or(f64::NEG_INFINITY, |noise| noise.used_log2(scale_log2));
        let floods = Floods::ONE;
        let (n, log_q) = (ct.c[0].ring().n(), f64::from(ct.meta.log_q));
        FloodRoom { n, used_log2, log_q, floods }.flood(flooding, noise.map(|noise| noise.rms_log2))
    }

    column_decryption! {
        /// Decrypts and decodes the real parts of all slots, batch entry by batch entry:
        /// batch x slots numbers, those of a column first. They hold the ciphertext's noise: keep
        /// them to yourself, like those of [`decrypt`](Self::decrypt).
        ///
        /// ```
        /// # use he_core::{backend::Cpu, bigckks::*, ring::Ring};
        /// # fn main() -> he_core::Result<()> {
        /// # let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build()?;
        /// # let ring = Ring::new(Cpu::new(), params.ring().clone())?;
        /// # let mut rng = he_core::rand::rng();
        /// # let secret = SecretKey::generate(&params, &mut rng);
        /// # let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        /// # let encryptor = Encryptor::new(&params, &public)?;
        /// let decryptor = Decryptor::new(&params, &secret, &ring)?;
        /// let y = decryptor.decrypt_real(&encryptor.encrypt_real(&[1.5; 3], &mut rng)?)?;
        /// assert!((y[2] - 1.5).abs() < 1e-4 && y[3].abs() < 1e-4);
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// The same as for [`decrypt`](Self::decrypt) and [`Encoder::decode`].
        decrypt_real;

        /// The same as [`decrypt_real`](Self::decrypt_real), including the imaginary parts.
        ///
        /// ```
        /// # use he_core::{backend::Cpu, bigckks::*, ring::Ring};
        /// # fn main() -> he_core::Result<()> {
        /// # let params = BigCkksParams::for_depth_bits(40).precision_bits(20).build()?;
        /// # let ring = Ring::new(Cpu::new(), params.ring().clone())?;
        /// # let mut rng = he_core::rand::rng();
        /// # let secret = SecretKey::generate(&params, &mut rng);
        /// # let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        /// # let encryptor = Encryptor::new(&params, &public)?;
        /// let decryptor = Decryptor::new(&params, &secret, &ring)?;
        /// let y = decryptor.decrypt_complex(&encryptor.encrypt_real(&[1.5], &mut rng)?)?;
        /// assert!((y[0].re - 1.5).abs() < 1e-4 && y[0].im.abs() < 1e-4);
        /// # Ok(())
        /// # }
        /// ```
        ///
        /// # Errors
        /// The same as for [`decrypt_real`](Self::decrypt_real).
        decrypt_complex;
    }
}
