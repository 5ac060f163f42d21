//! What CKKS, BFV and BGV share: keys and primes of the RLWE layer.

use super::{KeyPart, Rotations};
use he::Device;
use he_core::ring::{Ring, RingSpec};
use he_core::rlwe::{EvaluationKeys, PublicKey, RlweParams, SecretKey};
use he_core::wire::{Frame, FrameKind};
use rand::rngs::ChaCha20Rng;

/// What key a frame holds.
pub(super) fn key_part(frame: &Frame) -> Option<KeyPart> {
    match frame.kind {
        FrameKind::SecretKey => Some(KeyPart::Secret),
        FrameKind::PublicKey => Some(KeyPart::Public),
        FrameKind::RelinKey => Some(KeyPart::Relin),
        FrameKind::GaloisKey => Some(KeyPart::Galois),
        _ => None,
    }
}

/// The keys of a key set.
pub(super) fn generate(
    params: &RlweParams,
    ring: &Ring<Device>,
    rotations: &Rotations,
    rng: &mut ChaCha20Rng,
) -> he_core::Result<(SecretKey, PublicKey<Device>, EvaluationKeys<Device>)> {
    let secret = SecretKey::generate(params, rng);
    let public = PublicKey::generate(&secret, ring, rng)?;
    let evaluation = EvaluationKeys::generate(&secret, ring, rotations.keys(), rng)?;
    Ok((secret, public, evaluation))
}

/// Bytes of a ciphertext in memory.
pub(super) fn ciphertext_bytes(ring: &RingSpec) -> usize {
    2 * 8 * ring.n() * ring.q().len()
}

/// The modulus, for people: bits of all, of the ciphertexts' with its primes, and the special ones.
pub(super) fn modulus(ring: &RingSpec, log_q: f64) -> (&'static str, String) {
    let (q, special) = (prime_bits(ring.q()), prime_bits(ring.p()));
    ("modulus", format!("{:.1} bits, q {log_q:.1}: {q} | special {special}", ring.log_qp()))
}

/// Widths of primes.
fn prime_bits(primes: &[u64]) -> String {
    let widths: Vec<String> = primes.iter().map(|&q| format!("{:.1}", (q as f64).log2())).collect();
    widths.join(" ")
}
