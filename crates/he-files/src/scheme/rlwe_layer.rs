//! The parts that CKKS, BFV and BGV share: frames of keys, and primes of the RLWE layer.

use super::KeyPart;
use he_core::ring::RingSpec;
use he_core::wire::{Frame, FrameKind};

/// The part of a key that a frame holds.
pub(super) fn key_part(frame: &Frame) -> Option<KeyPart> {
    match frame.kind {
        FrameKind::SecretKey => Some(KeyPart::Secret),
        FrameKind::PublicKey | FrameKind::UnseededPublicKey => Some(KeyPart::Public),
        FrameKind::RelinKey | FrameKind::UnseededRelinKey => Some(KeyPart::Relin),
        FrameKind::GaloisKey | FrameKind::UnseededGaloisKey => Some(KeyPart::Galois),
        _ => None,
    }
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
