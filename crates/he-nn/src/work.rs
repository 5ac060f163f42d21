//! The work of operations, in butterflies of number-theoretic transforms: one measure for all
//! devices, from which plans are made. Seconds follow from what a device does in a second.

use he_core::backend::RingOps;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::{CkksParams, Evaluator};
use he_core::rand::CryptoRng;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use std::time::Instant;

/// A row of a transform.
fn row(params: &CkksParams) -> f64 {
    let ring = params.rlwe().ring();
    ring.n() as f64 / 2.0 * f64::from(ring.log_n())
}

/// Primes, special primes and digits of a level.
fn sizes(params: &CkksParams, level: usize) -> (f64, f64, f64) {
    let primes = params.levels()[level.min(params.max_level())].primes;
    let digits = params.rlwe().digits().iter().filter(|digit| digit.start < primes).count();
    (primes as f64, params.rlwe().ring().p().len() as f64, digits as f64)
}

/// A rotation or the relinearisation of a product.
pub fn key_switch(params: &CkksParams, level: usize) -> f64 {
    let (primes, special, digits) = sizes(params, level);
    // Digits are made and transformed, met with the key, and divided by the special primes.
    row(params) * (primes + (digits + 2.0) * (primes + special) * 1.25)
}

/// A rotation of a linear map: those of one ciphertext share the decomposition into digits, or the
/// division by the special primes.
pub fn map_rotation(params: &CkksParams, level: usize) -> f64 {
    key_switch(params, level) * 0.65
}

/// A product of a function: it is relinearised and rescaled, and sums of its like with coefficients
/// are formed.
pub fn function_product(params: &CkksParams, level: usize) -> f64 {
    let (primes, ..) = sizes(params, level);
    key_switch(params, level) + 2.5 * row(params) * primes
}

/// The product with an encoded diagonal, and its sum with others.
pub fn plain_product(params: &CkksParams, level: usize) -> f64 {
    let (primes, special, _) = sizes(params, level);
    row(params) * (primes + special) * 0.15
}

/// The butterflies of a multiplication with its addition in a product of matrices of residues, on
/// processors with vectors of 512 bits; matrix units do more of them.
const BUTTERFLIES_PER_PRODUCT: f64 = 0.5;

/// An entry of a matrix that multiplies ciphertexts.
pub fn matrix_entry(params: &CkksParams, level: usize) -> f64 {
    let (primes, ..) = sizes(params, level);
    BUTTERFLIES_PER_PRODUCT * 2.0 * primes * params.rlwe().ring().n() as f64
}

/// The division of a ciphertext by a prime of its level.
pub fn rescaling(params: &CkksParams, level: usize) -> f64 {
    let (primes, ..) = sizes(params, level);
    2.0 * row(params) * primes
}

/// A refresh.
pub fn refresh(params: &BootstrapParams) -> he_core::Result<f64> {
    let (program, ring) = (params.params(), params.ring_spec());
    let keys = params.key_uses()?.len() as f64;
    let rows = (ring.q().len() + ring.p().len()) as f64;
    // CoeffsToSlots and the reduction run on most of the chain, SlotsToCoeffs on its beginning.
    Ok(row(program) * keys * rows * 3.0)
}

/// Bytes of an evaluation key in memory.
pub fn key_bytes(params: &CkksParams) -> u64 {
    let rlwe = params.rlwe();
    let primes = rlwe.ring().q().len() + rlwe.ring().p().len();
    (2 * rlwe.digits().len() * primes * rlwe.ring().n() * size_of::<u64>()) as u64
}

/// The butterflies that a device does in a second, from a few rotations: it makes a secret and one
/// key, which are gone afterwards.
///
/// # Errors
/// Device errors.
pub fn speed<B: RingOps>(ev: &Evaluator<B>, rng: &mut impl CryptoRng) -> he_core::Result<f64> {
    let (params, ring) = (ev.params(), ev.ring());
    let secret = SecretKey::generate(params.rlwe(), rng);
    let keys = EvaluationKeys::generate(&secret, ring, KeyRequirements::new().rotations([1]), rng)?;
    let ct =
        he_core::ckks::SecretEncryptor::new(params, &secret, ring)?.encrypt_real(&[0.5], rng)?.expand()?;
    let mut ct = ev.rotate(&ct, 1, &keys)?;
    ring.backend().synchronize()?;
    let start = Instant::now();
    const ROTATIONS: usize = 4;
    for _ in 0..ROTATIONS {
        ct = ev.rotate(&ct, 1, &keys)?;
    }
    ring.backend().synchronize()?;
    let seconds = start.elapsed().as_secs_f64().max(1e-9);
    Ok(ROTATIONS as f64 * key_switch(params, ct.level()) / seconds)
}
