//! From integers of TFHE to ciphertexts whose noise a flood can hide.

use super::TfheToIntegers;
use crate::backend::{Cpu, RingOps};
use crate::bootstrapping::BootstrapKeys;
use crate::error::{Error, Result};
use crate::exact::bootstrapping::{BootstrapParams, BootstrapSpec, Bootstrapper};
use crate::exact::{Ciphertext, Noise, Scheme, State, TAIL};
use crate::ring::Ring;
use crate::rlwe::Flooding;
use crate::switching::FromTfheKey;
use crate::tfhe::{
    EncryptedInteger, EncryptedUint, IntegerEvaluator, LweBatch, LweOps, Signedness, TfheParams,
};

/// The most bootstraps of one refresh that are tried, and the most primes of programs.
const MOST_ITERATIONS: usize = 8;
const MOST_PRIMES: usize = 8;

/// The conditions of a shared decryption of integers of TFHE on the ciphertext that they are packed
/// into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SquashSpec {
    /// The plaintext modulus t. The decrypted values are integers modulo t: [`limbs`] cuts wider
    /// ones.
    pub plain_modulus: u64,
    /// The flood of each party.
    pub flooding: Flooding,
    /// The parties that decrypt together, each with a flood of its own.
    pub parties: usize,
}

impl SquashSpec {
    /// Parameters of 128-bit security whose refreshes leave room for the floods: the fewest
    /// bootstraps per refresh, then the fewest primes.
    ///
    /// # Errors
    /// [`Error::FloodTooWide`] if none are found; those of [`BootstrapSpec::for_depth`].
    pub fn params<S: Scheme>(&self) -> Result<BootstrapParams<S>> {
        let spec = BootstrapSpec::for_depth::<S>(self.plain_modulus, 0)?;
        self.chosen(&spec, BootstrapParams::try_from)
    }

    /// Finds such parameters at another degree 2^`log_n`, whatever the security; for experiments
    /// and tests only.
    ///
    /// # Errors
    /// The same as for [`params`](Self::params).
    pub fn insecure_params<S: Scheme>(&self, log_n: u32) -> Result<BootstrapParams<S>> {
        let spec = BootstrapSpec::insecure_for_depth::<S>(self.plain_modulus, 0, log_n)?;
        self.chosen(&spec, BootstrapParams::insecure)
    }

    fn chosen<S: Scheme>(
        &self,
        spec: &BootstrapSpec,
        build: impl Fn(BootstrapSpec) -> Result<BootstrapParams<S>>,
    ) -> Result<BootstrapParams<S>> {
        let mut closest = Error::FloodTooWide { needed_bits: 0, available_bits: 0 };
        for iterations in 1..=MOST_ITERATIONS {
            for primes in spec.circuit.program.levels..MOST_PRIMES {
                let mut spec = BootstrapSpec { iterations, ..spec.clone() };
                spec.circuit.program.levels = primes;
                // The modulus may be too narrow for so many bootstraps, or too wide to be secure.
                let Ok(params) = build(spec) else { continue };
                match params.params().flood_bits(refreshed(&params)?, self.flooding, self.parties) {
                    Ok(_) => return Ok(params),
                    Err(error @ Error::FloodTooWide { .. }) => closest = error,
                    Err(error) => return Err(error),
                }
                // More primes have no more precision.
                break;
            }
        }
        Err(closest)
    }
}

/// The state of greatest noise that a refresh leaves.
fn refreshed<S: Scheme>(boot: &BootstrapParams<S>) -> Result<State> {
    let params = boot.params();
    let (level, model) = (params.max_level(), params.noise());
    let primes = level + 1;
    let peak_log2 = model.log_q(primes) - 1.0 - model.t_log2() - boot.refreshed_budget();
    let noise = Noise { rms_log2: peak_log2 - libm::log2(TAIL), peak_log2, degree: 1 };
    params.state(level, S::fresh_correction_factor(params, primes), noise)
}

/// Squashes the noise of integers of TFHE, thousands at once, for a decryption that is shared;
/// knows no secret.
///
/// A flood has to hide the noise from a decryption of several parties
/// ([`mhe::Decryption`](crate::mhe::Decryption)): 40 bits of statistical security take noise some
/// 60 bits below what decryption tolerates. Ciphertexts of TFHE have 64 bits in all. So the phases
/// are packed into one ciphertext of BFV or BGV ([`TfheToIntegers`]), which has the noise of TFHE,
/// and that is refreshed ([`exact::bootstrapping`](crate::exact::bootstrapping)), which leaves as
/// little as the flood needs, for all integers by the same bootstraps: what the floods then reach
/// is [`flood_security`](crate::exact::Params::flood_security). TFHE-rs has a bootstrap modulo
/// 2^128 for this, which takes a key of its own, ciphertext by ciphertext.
///
/// The results are ciphertexts of integers modulo t, integer i at coefficient
/// [`TfheToIntegers::coefficient`]. A refresh needs 8 bits of budget, which
/// [`phases_2m128`](crate::tfhe::presets::phases_2m128) leaves for integers of 8 bits with t = 256
/// or 257. [`limbs`] cuts wider integers.
///
/// At N = 2^16 with t = 257, and 40 bits of security for 16 decryptions by three parties asked,
/// limbs of 8 bits have a predicted deviation of 2^-20.9 of the modulus once they are packed, and a
/// budget of 8.9 bits; after a refresh of three bootstraps it is 2^-93.6 and 80 bits, in which the
/// floods reach 59 bits of security. 64 integers of 16 bits take 13.8 s to pack, most of it 512
/// bootstraps of TFHE, and 10.7 s to refresh, as would 32768 (2 cores of an AMD EPYC, 2026-11-23,
/// `squashed_at_full_degree` of the tests).
///
/// # Keys
/// The keys of packing and of refreshes are made with the secrets of TFHE and of the ring together,
/// and there is no protocol for that: **a dealer has both secrets** while it makes these keys. It
/// deals that of the ring to the parties
/// ([`Session::deal_secret`](crate::mhe::Session::deal_secret)) and then forgets both. A dealer
/// that keeps them decrypts alone. Everybody who has the secret of TFHE, such as an encryptor, can
/// read all that is encrypted under it.
///
/// ```
/// use he_core::{Publisher, backend::Cpu, bfv::*, bootstrapping::BootstrapKeys, mhe::*, rlwe::*};
/// use he_core::{exact::Encoder, switching::*, tfhe};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let mut rng = he_core::rand::rng();
/// // 40 bits of statistical security for 16 decryptions by three parties.
/// let publisher = Publisher::new(40, 16)?;
/// let spec = SquashSpec { plain_modulus: 257, flooding: publisher.flooding(), parties: 3 };
/// // Quick, and insecure by name; otherwise `spec.params()` and `tfhe::presets::phases_2m128()`.
/// let boot = spec.insecure_params::<Bfv>(9)?;
/// let torus = tfhe::presets::insecure_phases()?;
/// let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
///
/// // The dealer, which forgets both secrets.
/// let session = Session::new(params.rlwe(), [1, 2, 3], 3, he_core::rand::random())?;
/// let squasher = NoiseSquasher::new(&boot, &torus, &ring)?;
/// let torus_secret = tfhe::TfheSecretKey::generate(&torus, &mut rng);
/// let mut secret = SecretKey::generate(params.rlwe(), &mut rng);
/// secret.set_key_set(session.key_set());
/// let tfhe_key = tfhe::BootstrapKey::generate(&torus_secret, &mut rng);
/// let key =
///     FromTfheKey::generate(&torus_secret, &secret, squasher.packer().key_params(), &ring, &mut rng)?;
/// let boot_keys = BootstrapKeys::generate(&secret, boot.circuit(), &ring, &mut rng)?;
/// let dealt = session.deal_secret(&secret, &ring, &mut rng)?;
///
/// // The server: a product of TFHE, of which the lower and the upper eight bits are squashed.
/// let integers = tfhe::IntegerEvaluator::new(&Cpu::new(), &tfhe_key, tfhe::Carry::Ripple)?;
/// let x = torus_secret.encrypt_u64(&Cpu::new(), &[1234, 250], 16, &mut rng)?;
/// let x = limbs(&integers.mul(&x, &x)?, 8)?;
/// let y = squasher.squash(&x, &integers, &key, &boot_keys)?;
///
/// // The parties, of which no one decrypts alone.
/// // Each party knows what it decrypts: this program is all of them at once.
/// let transcript = Transcript::unchecked_insecure(&session);
/// let decryption = Decryption::new(&transcript, params, &y, &[1, 2, 3], publisher.flooding())?;
/// let mut all = Aggregate::new(&decryption);
/// for key in &dealt {
///     // Each party has a publisher of its own.
///     # let mut publisher = Publisher::new(40, 16)?;
///     all.add(&decryption.share(&key.share(&[1, 2, 3])?, &[], &mut publisher, &mut rng)?)?;
/// }
/// let encoder = Encoder::new(params)?;
/// let found: Vec<Vec<u64>> = encoder.decode_coefficients(&all.finish()?)?;
/// let limb = |i: usize| found[0][squasher.packer().coefficient(x.batch(), i)];
/// assert_eq!(limb(0) + 256 * limb(2), 1234 * 1234 % 65536);
/// assert_eq!(limb(1) + 256 * limb(3), 250 * 250 % 65536);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NoiseSquasher<S: Scheme, B: RingOps + LweOps = Cpu> {
    packer: TfheToIntegers<S, B>,
    bootstrapper: Bootstrapper<S, B>,
}

impl<S: Scheme, B: RingOps + LweOps> NoiseSquasher<S, B> {
    /// From large ciphertexts of `tfhe`; `ring` is that of [`BootstrapParams::ring`].
    ///
    /// # Errors
    /// [`Error::InvalidParams`] for parameters of TFHE that cannot be packed;
    /// [`Error::RingMismatch`] for another ring; device errors.
    pub fn new(params: &BootstrapParams<S>, tfhe: &TfheParams, ring: &Ring<B>) -> Result<Self> {
        let packer = TfheToIntegers::new(params.params(), tfhe, ring)?;
        Ok(Self { packer, bootstrapper: Bootstrapper::new(params, ring)? })
    }

    /// The packer: its [`key_params`](TfheToIntegers::key_params), and where integers are.
    pub fn packer(&self) -> &TfheToIntegers<S, B> {
        &self.packer
    }

    /// The bootstrapper that refreshes.
    pub fn bootstrapper(&self) -> &Bootstrapper<S, B> {
        &self.bootstrapper
    }

    /// Whether what is packed can be refreshed.
    fn check(&self, deviation_log2: f64, key: &FromTfheKey<B>) -> Result<()> {
        let (params, needed_bits) = (self.packer.params(), self.bootstrapper.params().needed_budget());
        let left_bits = params.budget_of(self.packer.state(deviation_log2, key)?);
        if left_bits < needed_bits { Err(Error::BudgetTooLow { left_bits, needed_bits }) } else { Ok(()) }
    }

    /// Integers modulo t with noise that the floods of the [`SquashSpec`] hide.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`] and [`Error::BudgetTooLow`] for a t that the noise of TFHE leaves no
    /// room for, and [`Error::BatchRange`] for none or more than N integers, before any work; those
    /// of [`TfheToIntegers::integers`] and [`Bootstrapper::refresh`].
    pub fn squash<Sign: Signedness>(
        &self,
        x: &EncryptedInteger<Sign, B>,
        evaluator: &IntegerEvaluator<B>,
        key: &FromTfheKey<B>,
        boot_keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.check(self.packer.phases_log2(x.bits()), key)?;
        self.bootstrapper.refresh(&self.packer.integers(x, evaluator, key)?, boot_keys)
    }

    /// Squashes the noise of phases m / t, with noise of this deviation.
    ///
    /// # Errors
    /// The same as for [`squash`](Self::squash).
    pub fn squash_phases(
        &self,
        samples: &LweBatch<B>,
        deviation_log2: f64,
        key: &FromTfheKey<B>,
        boot_keys: &BootstrapKeys<B>,
    ) -> Result<Ciphertext<S, B>> {
        self.check(deviation_log2, key)?;
        self.bootstrapper.refresh(&self.packer.pack(samples, deviation_log2, key)?, boot_keys)
    }
}

/// Cuts integers into limbs of so many bits, the lowest first: `[limb][integer]` in one batch,
/// without a bootstrap. The integers are the sums of limb i times 2^(bits i).
///
/// # Errors
/// [`Error::Argument`] for bits that integers do not have, or that do not divide those of the
/// integers; device errors.
pub fn limbs<B: LweOps>(x: &EncryptedUint<B>, bits: usize) -> Result<EncryptedUint<B>> {
    if bits == 0 || !x.bits().is_multiple_of(bits) {
        let found = format!("{bits} for integers of {}", x.bits());
        return Err(Error::domain("bits of limbs", found, "give a divisor, an even number from 8 on"));
    }
    let (each, count) = (x.ciphertexts().count() * bits / x.bits(), x.bits() / bits);
    let limb =
        |i: usize| EncryptedUint::from_ciphertexts(x.ciphertexts().part(i * each..(i + 1) * each)?, bits);
    let parts = (0..count).map(limb).collect::<Result<Vec<_>>>()?;
    EncryptedUint::concat(&parts.iter().collect::<Vec<_>>())
}
