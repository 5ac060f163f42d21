//! Ciphertexts of any scheme.

use crate::engine::Engine;
use crate::family::{Family, mixed};
use crate::rlwe::Cipher;
use crate::tfhe::Integers;
use he_core::Result;
use he_core::exact::Noise;
use serde::{Deserialize, Serialize};

/// The kind of ciphertexts, which their bytes do not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Vectors under CKKS, BFV or BGV.
    Ciphertext,
    /// Integers without a sign under TFHE.
    Uint,
    /// Integers with a sign under TFHE.
    Int,
    /// Conditions under TFHE.
    Bool,
}

/// A batch of ciphertexts of any scheme.
pub type Value = Family<Cipher, Integers>;

impl Value {
    pub(crate) fn integers(&self) -> Result<&Integers> {
        self.tfhe().ok_or_else(mixed)
    }

    /// Whether these are conditions under TFHE.
    pub fn is_condition(&self) -> bool {
        matches!(self, Self::Tfhe(Integers::Flags(_)))
    }

    /// The properties that must agree in ciphertexts which are added word by word.
    pub fn alignment(&self) -> (usize, u64) {
        self.rlwe().map_or((0, 0), Cipher::alignment)
    }

    /// The predicted noise, under BFV and BGV.
    pub fn noise(&self) -> Option<Noise> {
        self.rlwe()?.noise()
    }

    /// The same with another bound on its noise, under BFV and BGV.
    ///
    /// # Errors
    /// The bound leaves nothing to decrypt.
    pub fn with_noise(self, engine: &Engine, noise: Noise) -> Result<Self> {
        match (engine.rlwe(), self) {
            (Some(engine), Self::Rlwe(ct)) => ct.with_noise(engine, noise).map(Self::Rlwe),
            (_, value) => Ok(value),
        }
    }

    /// The approximate bytes in memory.
    pub fn size(&self) -> usize {
        match self {
            Self::Rlwe(ct) => ct.size(),
            Self::Tfhe(x) => x.size(),
        }
    }
}
