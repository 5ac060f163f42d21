//! The AES key of a sender.

use crate::aes::container::{KeyId, derive};
use crate::aes::{Key, KeySize};
use crate::reveal;
use rand::CryptoRng;

/// Context of key derivation.
const FINGERPRINT: &str = "he 2026-11 AES-CTR key: fingerprint of sensor key, version 1";

/// The AES key of one sender, which encrypts by AES-CTR what is to be transciphered and nothing
/// else. Wiped when dropped; never printed.
#[derive(Clone, Debug)]
pub struct SensorKey(Key);

impl SensorKey {
    /// Draws a fresh key.
    pub fn generate(size: KeySize, rng: &mut (impl CryptoRng + ?Sized)) -> Self {
        Self(Key::generate(size, rng))
    }

    /// A key that a sender has already. It must be used for nothing else.
    pub fn new(key: Key) -> Self {
        Self(key)
    }

    /// The key itself.
    pub fn key(&self) -> &Key {
        &self.0
    }

    /// A hash of the key, which is public.
    pub fn fingerprint(&self) -> [u8; 32] {
        reveal::bytes(*derive(FINGERPRINT, &[self.0.expose_bytes()]))
    }

    /// The identity by which data name the key that they are encrypted under: the first half of
    /// the fingerprint.
    pub fn id(&self) -> KeyId {
        KeyId::of_fingerprint(&self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{Frame, FrameKind};
    use rand::{SeedableRng, rngs::ChaCha20Rng};

    /// Keys of every size come back from their frames, and changed frames are refused.
    #[test]
    fn keys_come_back_from_their_frames() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let mut ids = Vec::new();
        for size in KeySize::ALL {
            let key = SensorKey::generate(size, &mut rng);
            let frame = key.to_frame();
            assert_eq!((frame.kind, frame.body.len()), (FrameKind::SensorKey, size.bytes()));
            let back = SensorKey::from_frame(&frame).unwrap();
            assert_eq!((back.key().expose_bytes(), back.id()), (key.key().expose_bytes(), key.id()));
            assert_eq!(frame.fingerprint.0[..16], key.id().0);
            let (kind, fingerprint) = (frame.kind, frame.fingerprint);
            let with = |body: &[u8]| Frame { kind, fingerprint, body: body.to_vec() };
            assert!(SensorKey::from_frame(&with(&frame.body[1..])).is_err());
            let mut changed = frame.body.clone();
            changed[0] ^= 1;
            assert!(SensorKey::from_frame(&with(&changed)).is_err());
            ids.push(key.id());
        }
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }
}
