//! Plaintexts, and their values.

use super::Engine;
use crate::family::mixed;
use he::Device;
use he_core::exact::{self, PlainValue};
use he_core::num_complex::Complex64;
use he_core::{Result, ckks};

/// A batch of encoded vectors.
#[derive(Debug)]
pub enum Plain {
    /// Real and complex numbers.
    Ckks(ckks::Plaintext<Device>),
    /// Integers modulo t, the same for BFV and BGV.
    Exact(exact::Plaintext),
}

impl Plain {
    /// The vectors side by side.
    pub fn batch(&self) -> usize {
        match self {
            Self::Ckks(plain) => plain.batch(),
            Self::Exact(plain) => plain.batch(),
        }
    }

    /// The plaintext of CKKS.
    pub(crate) fn ckks(&self) -> Result<&ckks::Plaintext<Device>> {
        match self {
            Self::Ckks(plain) => Ok(plain),
            Self::Exact(_) => Err(mixed()),
        }
    }

    /// The plaintext of BFV and BGV.
    pub(super) fn exact(&self) -> Result<&exact::Plaintext> {
        match self {
            Self::Exact(plain) => Ok(plain),
            Self::Ckks(_) => Err(mixed()),
        }
    }
}

impl Engine {
    /// Encodes vectors of integers under BFV or BGV.
    ///
    /// # Errors
    /// Integers that are not residues modulo t; vectors that are too long; no vectors; CKKS.
    pub fn encode<T: PlainValue>(&self, vectors: &[&[T]]) -> Result<Plain> {
        on_each!(Self, self, ckks _ => Err(mixed()),
            exact engine => engine.ev.encoder().encode_batch(vectors).map(Plain::Exact))
    }

    /// The integers of a plaintext of BFV or BGV, vector by vector.
    ///
    /// # Errors
    /// It is of another scheme.
    pub fn integers<T: PlainValue>(&self, plain: &Plain) -> Result<Vec<Vec<T>>> {
        on_each!(Self, self, ckks _ => Err(mixed()),
            exact engine => engine.ev.encoder().decode(plain.exact()?))
    }

    /// The real numbers of a plaintext of CKKS, vector by vector.
    ///
    /// # Errors
    /// It is of another scheme; the device fails.
    pub fn reals(&self, plain: &Plain) -> Result<Vec<Vec<f64>>> {
        on_each!(Self, self, ckks engine => engine.ev.encoder().decode_real(plain.ckks()?),
            exact _ => Err(mixed()))
    }

    /// The complex numbers of a plaintext of CKKS, vector by vector.
    ///
    /// # Errors
    /// It is of another scheme; the device fails.
    pub fn complex(&self, plain: &Plain) -> Result<Vec<Vec<Complex64>>> {
        on_each!(Self, self, ckks engine => engine.ev.encoder().decode(plain.ckks()?),
            exact _ => Err(mixed()))
    }
}
