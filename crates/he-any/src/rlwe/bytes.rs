//! Ciphertexts of vectors as bytes.

use super::{Cipher, Engine};
use crate::family::mixed;
use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameKind, Wire};
use he_core::{KeySetId, Result, ckks, exact};

impl Engine {
    /// The fingerprint that stands for the parameters in frames.
    pub fn fingerprint(&self) -> Fingerprint {
        on_each!(Self, self, engine => engine.params.fingerprint())
    }

    /// The ciphertext of a frame, which is expanded if it is a seeded one.
    ///
    /// # Errors
    /// The frame is damaged, or that of something else; the device fails.
    pub fn ciphertext(&self, frame: &Frame, key_set: Option<KeySetId>) -> Result<Cipher> {
        macro_rules! read {
            ($engine:expr, $variant:ident, $module:ident, $seeded:ident) => {{
                let (params, ring) = (&$engine.params, &$engine.ring);
                let mut ct = match frame.kind {
                    FrameKind::$seeded => {
                        $module::SeededCiphertext::from_frame(params, ring, frame)?.expand()?
                    }
                    _ => $module::Ciphertext::from_frame(params, ring, frame)?,
                };
                ct.set_key_set(key_set);
                Ok(Cipher::$variant(ct))
            }};
        }
        match self {
            Self::Ckks(engine) => read!(engine, Ckks, ckks, CkksSeededCiphertext),
            Self::Bfv(engine) => read!(engine, Bfv, exact, BfvSeededCiphertext),
            Self::Bgv(engine) => read!(engine, Bgv, exact, BgvSeededCiphertext),
        }
    }

    /// The bytes of a ciphertext.
    ///
    /// # Errors
    /// It is of another scheme; the device fails.
    pub fn to_bytes(&self, ct: &Cipher) -> Result<Vec<u8>> {
        match (self, ct) {
            (Self::Ckks(engine), Cipher::Ckks(ct)) => ct.to_bytes(&engine.params),
            (Self::Bfv(engine), Cipher::Bfv(ct)) => ct.to_bytes(&engine.params),
            (Self::Bgv(engine), Cipher::Bgv(ct)) => ct.to_bytes(&engine.params),
            _ => Err(mixed()),
        }
    }
}
