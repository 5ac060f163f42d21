//! Complex numbers of magnitude one, by which slots are multiplied.

use crate::key_set::KeySetId;
use num_complex::Complex64;

/// Separates this hash from all others.
const CONTEXT: &str = "he 2026-11 words: phases of slots, version 1";

/// One number per slot, uniform on the circle, from the identity of a key set: exp(2 pi i u / 2^64)
/// for the first word u of BLAKE3's `derive_key` of the identity and the slot's number.
pub(super) fn phases(key_set: KeySetId, slots: usize) -> Vec<Complex64> {
    let mut common = blake3::Hasher::new_derive_key(CONTEXT);
    common.update(&key_set.to_bytes());
    let phase = |slot: usize| {
        let mut bytes = [0; 8];
        common.clone().update(&(slot as u32).to_le_bytes()).finalize_xof().fill(&mut bytes);
        let turn = u64::from_le_bytes(bytes) as f64 * (-64f64).exp2();
        let (sin, cos) = libm::sincos(core::f64::consts::TAU * turn);
        Complex64::new(cos, sin)
    };
    (0..slots).map(phase).collect()
}
