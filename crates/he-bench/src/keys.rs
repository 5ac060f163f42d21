//! The keys and inputs of measurements, from fixed seeds.

use crate::error::Result;
use he_core::backend::{RingOps, WideOps};
use he_core::bigckks::{self, BigCkksParams};
use he_core::ckks::{self, CkksParams, Complex64};
use he_core::exact::{self, Params, Scheme};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// The generator of a benchmark, which gives the same numbers in every run.
pub fn rng() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(2024)
}

fn values(slots: usize, rng: &mut ChaCha20Rng) -> Vec<Complex64> {
    let mut part = || rng.random_range(-1.0..1.0);
    (0..slots).map(|_| Complex64::new(part(), part())).collect()
}

/// CKKS on a device.
pub struct Ckks<B: RingOps> {
    /// The ring on the device.
    pub ring: Ring<B>,
    /// Its operations.
    pub ev: ckks::Evaluator<B>,
    /// The public key.
    pub public: PublicKey<B>,
    /// The secret key's work.
    pub decryptor: ckks::Decryptor<B>,
    /// Keys of products and rotations.
    pub keys: EvaluationKeys<B>,
    /// The slots of every input.
    pub values: Vec<Complex64>,
    /// The same, encoded.
    pub plain: ckks::Plaintext<B>,
    /// The same, encrypted twice.
    pub inputs: [ckks::Ciphertext<B>; 2],
}

impl<B: RingOps> Ckks<B> {
    /// Makes a batch of equal vectors, and keys for products and for rotations by these steps.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: &B, params: &CkksParams, batch: usize, steps: &[i64]) -> Result<Self> {
        let mut rng = rng();
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations(steps.iter().copied()),
            &mut rng,
        )?;
        let ev = ckks::Evaluator::new(params, &ring)?;
        let values = values(params.slots(), &mut rng);
        let plain = ev.encoder().encode_batch(&vec![values.as_slice(); batch], params.encoding())?;
        let encryptor = ckks::Encryptor::new(params, &public)?;
        let inputs = [encryptor.encrypt(&plain, &mut rng)?, encryptor.encrypt(&plain, &mut rng)?];
        let decryptor = ckks::Decryptor::new(params, &secret, &ring)?;
        Ok(Self { ring, ev, public, decryptor, keys, values, plain, inputs })
    }
}

/// BFV or BGV on a device.
pub struct Exact<S: Scheme, B: RingOps> {
    /// The ring on the device.
    pub ring: Ring<B>,
    /// Its operations.
    pub ev: exact::Evaluator<S, B>,
    /// The public key.
    pub public: PublicKey<B>,
    /// The secret key's work.
    pub decryptor: exact::Decryptor<S, B>,
    /// Keys of products and of rotations by one.
    pub keys: EvaluationKeys<B>,
    /// A batch of random coefficients.
    pub plain: exact::Plaintext,
    /// The same, encrypted twice.
    pub inputs: [exact::Ciphertext<S, B>; 2],
}

impl<S: Scheme, B: RingOps> Exact<S, B> {
    /// Makes batches of random coefficients, with keys for products and rotations by one if there
    /// are special primes.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: &B, params: &Params<S>, batch: usize) -> Result<Self> {
        let mut rng = rng();
        let ring = Ring::new(backend.clone(), params.rlwe().ring().clone())?;
        let secret = SecretKey::generate(params.rlwe(), &mut rng);
        let public = PublicKey::generate(&secret, &ring, &mut rng)?;
        let keys = if ring.spec().p().is_empty() {
            EvaluationKeys::empty(params.rlwe(), &ring)?
        } else {
            EvaluationKeys::generate(
                &secret,
                &ring,
                KeyRequirements::new().relinearisation().rotations([1]),
                &mut rng,
            )?
        };
        let ev = exact::Evaluator::new(params, &ring)?;
        let t = params.plain().value();
        let rows: Vec<Vec<u64>> =
            (0..batch).map(|_| (0..ring.n()).map(|_| rng.random_range(0..t)).collect()).collect();
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        let plain = ev.encoder().encode_coefficients_batch(&rows)?;
        let encryptor = exact::Encryptor::new(params, &public)?;
        let inputs = [encryptor.encrypt(&plain, &mut rng)?, encryptor.encrypt(&plain, &mut rng)?];
        let decryptor = exact::Decryptor::new(params, &secret, &ring)?;
        Ok(Self { ring, ev, public, decryptor, keys, plain, inputs })
    }
}

/// CKKS with a big-integer modulus on a device.
pub struct BigCkks<B: WideOps> {
    /// The ring on the device.
    pub ring: Ring<B>,
    /// The secret key.
    pub secret: bigckks::SecretKey,
    /// The operations.
    pub ev: bigckks::Evaluator<B>,
    /// The public key.
    pub public: bigckks::PublicKey<B>,
    /// The secret key's work.
    pub decryptor: bigckks::Decryptor<B>,
    /// Keys of products and of rotations by one.
    pub keys: bigckks::EvaluationKeys<B>,
    /// The slots of every input.
    pub values: Vec<Complex64>,
    /// The same, encoded.
    pub plain: bigckks::Plaintext<B>,
    /// The same, encrypted twice.
    pub inputs: [bigckks::Ciphertext<B>; 2],
}

impl<B: WideOps> BigCkks<B> {
    /// Makes keys for products and rotations by one.
    ///
    /// # Errors
    /// Device errors.
    pub fn new(backend: &B, params: &BigCkksParams) -> Result<Self> {
        let mut rng = rng();
        let ring = Ring::new(backend.clone(), params.ring().clone())?;
        let secret = bigckks::SecretKey::generate(params, &mut rng);
        let public = bigckks::PublicKey::generate(&secret, &ring, &mut rng)?;
        let keys = bigckks::EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            &mut rng,
        )?;
        let ev = bigckks::Evaluator::new(params, &ring)?;
        let values = values(params.slots(), &mut rng);
        let plain = ev.encoder().encode(&values, params.encoding())?;
        let encryptor = bigckks::Encryptor::new(params, &public)?;
        let inputs = [encryptor.encrypt(&plain, &mut rng)?, encryptor.encrypt(&plain, &mut rng)?];
        let decryptor = bigckks::Decryptor::new(params, &secret, &ring)?;
        Ok(Self { ring, secret, ev, public, decryptor, keys, values, plain, inputs })
    }
}
