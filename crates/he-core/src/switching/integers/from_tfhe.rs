//! From large ciphertexts of TFHE, and from its integers, to the coefficients of BFV and BGV.

use crate::backend::{Cpu, RingOps};
use crate::error::Result;
use crate::exact::{Ciphertext, Meta, Noise, Params, Scheme, State, TAIL};
use crate::ring::Ring;
use crate::rlwe::noise::log_add;
use crate::switching::{FromTfhe, FromTfheKey, FromTfheParams};
use crate::tfhe::{EncryptedInteger, IntegerEvaluator, LweBatch, LweOps, Signedness, TfheParams};

/// Packs ciphertexts of TFHE into coefficients of BFV and BGV, on level 0; knows no secret.
///
/// The packed ciphertexts have phases m / t of the torus. Multiplied by q_0, the first prime, that
/// is [-q_0 m]_t / t modulo q_0 and a rounding: a ciphertext of the correction factor -q_0 modulo
/// t, of either scheme (see [`exact`](crate::exact)). Phases of TFHE are multiples of 2^-64, so
/// that an integer's is m [`unit`](Self::unit) / 2^64, which is off by m / 2^65 at most; for a t
/// that is a power of two it is exact.
///
/// The noise is that of the phases, times q_0, and that of packing. The former dominates with
/// [`phases_2m128`](crate::tfhe::presets::phases_2m128): at N = 2^16 it leaves a budget of 16.9 -
/// log2(t) bits for integers of 8 bits, and half a bit less for each doubling of the bits. That is
/// enough to decrypt with t = 2^16, and to refresh, which takes 8 bits, with t = 257. Sums are
/// possible on level 0, products after a refresh. Slots are out of reach: at N = 2^16, where there
/// are refreshes, a t that has them is at least 786433.
///
/// ```
/// use he_core::{backend::Cpu, bfv::*, ring::Ring, rlwe::*, switching::*, tfhe};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let params = BfvParams::for_depth(257, 1).build()?;
/// // Without security; otherwise `tfhe::presets::phases_2m128()`.
/// let small = tfhe::presets::insecure_phases()?;
/// let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
/// let packer = TfheToIntegers::new(&params, &small, &ring)?;
/// let mut rng = he_core::rand::rng();
/// let secret = SecretKey::generate(params.rlwe(), &mut rng);
/// let torus_secret = tfhe::TfheSecretKey::generate(&small, &mut rng);
/// let key = FromTfheKey::generate(&torus_secret, &secret, packer.key_params(), &ring, &mut rng)?;
/// let boot = tfhe::BootstrapKey::generate(&torus_secret, &mut rng);
/// let integers = tfhe::IntegerEvaluator::new(&Cpu::new(), &boot, tfhe::Carry::Ripple)?;
///
/// let x = torus_secret.encrypt_i64(&Cpu::new(), &[5, -7, 100], 8, &mut rng)?;
/// let y = packer.integers(&x, &integers, &key)?;
/// let ev = BfvEvaluator::new(&params, &ring)?;
/// let plain = BfvDecryptor::new(&params, &secret, &ring)?.decrypt(&ev.add(&y, &y)?)?;
/// let found: Vec<Vec<i64>> = ev.encoder().decode_coefficients(&plain)?;
/// let place = |i| packer.coefficient(3, i);
/// // Modulo 257.
/// assert_eq!([0, 1, 2].map(|i| found[0][place(i)]), [10, -14, -57]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TfheToIntegers<S: Scheme, B: RingOps + LweOps = Cpu> {
    params: Params<S>,
    from: FromTfhe<B>,
}

impl<S: Scheme, B: RingOps + LweOps> TfheToIntegers<S, B> {
    /// From large ciphertexts of `tfhe`; `ring` is that of `params`.
    ///
    /// # Errors
    /// [`Error::InvalidParams`](crate::Error::InvalidParams) for parameters of TFHE that cannot be
    /// packed ([`FromTfheParams::new`]); [`Error::RingMismatch`](crate::Error::RingMismatch) for
    /// another ring; device errors.
    pub fn new(params: &Params<S>, tfhe: &TfheParams, ring: &Ring<B>) -> Result<Self> {
        let from = FromTfhe::new(&FromTfheParams::new(tfhe, params.rlwe())?, ring)?;
        Ok(Self { params: params.clone(), from })
    }

    /// The parameters of the results.
    pub fn params(&self) -> &Params<S> {
        &self.params
    }

    /// The parameters of the keys of packing.
    pub fn key_params(&self) -> &FromTfheParams {
        self.from.params()
    }

    /// The phase of one, in units of 2^-64: 2^64 / t to the nearest integer, which
    /// [`IntegerEvaluator::phases`] takes.
    pub fn unit(&self) -> u64 {
        let t = u128::from(self.params.plain().value());
        (((1 << 64) + t / 2) / t) as u64
    }

    /// The coefficient that becomes phase `index` of `count`: `index` N / 2^l, for the least 2^l
    /// that is not below `count`.
    pub fn coefficient(&self, count: usize, index: usize) -> usize {
        index * (self.params.rlwe().ring().n() / count.next_power_of_two())
    }

    /// The state of what is packed of phases with noise of this deviation.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`](crate::Error::BudgetSpent) if it could not be decrypted.
    pub fn state(&self, deviation_log2: f64, key: &FromTfheKey<B>) -> Result<State> {
        let meta = self.meta(deviation_log2, key)?;
        self.params.state(meta.primes - 1, meta.correction_factor, meta.noise)
    }

    fn meta(&self, deviation_log2: f64, key: &FromTfheKey<B>) -> Result<Meta> {
        let (plain, from) = (self.params.plain(), self.key_params());
        let q = self.params.rlwe().ring().q()[0];
        let q_log2 = libm::log2(q as f64);
        // The words of ciphertexts are rounded to q_0, and so is the phase of the message.
        let roundings = (2.0 + from.tfhe().dimension() as f64 / 2.0) / 12.0;
        let noise = log_add(2.0 * deviation_log2, 2.0 * from.noise_log2(key)) + 2.0 * q_log2;
        let rms_log2 = log_add(noise, libm::log2(roundings)) / 2.0;
        let t = plain.modulus();
        self.params.checked(Meta {
            plain_modulus: plain.value(),
            primes: 1,
            correction_factor: t.neg(t.reduce(q)),
            noise: Noise { rms_log2, peak_log2: rms_log2 + libm::log2(TAIL), degree: 1 },
        })
    }

    /// A ciphertext on level 0 with m at coefficient [`coefficient(count, i)`](Self::coefficient)
    /// for the phase m / t of ciphertext i, and zeros elsewhere. `deviation_log2` is log2 of the
    /// deviation of the phases' noise.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`](crate::Error::BudgetSpent) for a t that the noise leaves no room for,
    /// before any work; those of [`FromTfhe::pack`].
    pub fn pack(
        &self,
        samples: &LweBatch<B>,
        deviation_log2: f64,
        key: &FromTfheKey<B>,
    ) -> Result<Ciphertext<S, B>> {
        let meta = self.meta(deviation_log2, key)?;
        Ok(Ciphertext::with_meta(self.from.pack(samples, key)?, meta))
    }

    /// log2 of the deviation of phases that [`IntegerEvaluator::phases`] makes of integers of so
    /// many bits: each digit's bootstrap adds to it, and the rounding of the [`unit`](Self::unit)
    /// by which they are multiplied.
    pub fn phases_log2(&self, bits: usize) -> f64 {
        let digits = (bits / 2) as f64;
        let variance = digits * self.key_params().tfhe().noise().bootstrapped();
        let t = u128::from(self.params.plain().value());
        let off = (u128::from(self.unit()) * t).abs_diff(1 << 64) as f64 / (t as f64);
        let rounding = off * libm::exp2(bits as f64 - 64.0);
        libm::log2(variance + rounding * rounding) / 2.0
    }

    /// Integers modulo t, packed like [`pack`](Self::pack): a bootstrap for each digit, and a key
    /// switch for each integer.
    ///
    /// # Errors
    /// [`Error::BatchRange`](crate::Error::BatchRange) for none or more than N; those of
    /// [`pack`](Self::pack) and [`IntegerEvaluator::phases`].
    pub fn integers<Sign: Signedness>(
        &self,
        x: &EncryptedInteger<Sign, B>,
        evaluator: &IntegerEvaluator<B>,
        key: &FromTfheKey<B>,
    ) -> Result<Ciphertext<S, B>> {
        let deviation = self.phases_log2(x.bits());
        self.from.check(x.ciphertexts().params(), x.batch(), key)?;
        self.meta(deviation, key)?;
        self.pack(&evaluator.phases(x, self.unit())?, deviation, key)
    }
}
