//! RNS-CKKS: approximate arithmetic on complex numbers (Cheon, Han, Kim, Kim, Song, SAC 2018).
//!
//! A plaintext holds up to N/2 complex slots. Levels and scales are aligned automatically, with an
//! exact scale per level (Kim, Papadimitriou, Polyakov 2022), so the results of any two operations
//! can be added. The manual operations ([`Evaluator::rescale`], [`Evaluator::tensor`],
//! [`Evaluator::drop_to_level`] ...) are available as well.

mod builder;
mod ciphertext;
mod coefficients;
mod columns;
mod encoder;
mod encrypt;
mod evaluator;
mod extended;
mod extended_plaintext;
mod filled;
mod levels;
pub(crate) mod noise;
mod params;
mod scatter;
mod spec;

pub use crate::ring::SpecialFft;
pub use builder::CkksBuilder;
pub(crate) use ciphertext::Meta;
pub use ciphertext::{Ciphertext, Plaintext, Product, SeededCiphertext};
pub(crate) use columns::{
    column_decryption, column_encryption, column_vectors, real_column, vector_encoding,
};
pub use encoder::{Encoder, Encoding};
pub use encrypt::{Decryptor, Encryptor, SecretEncryptor};
#[cfg(test)]
pub(crate) use evaluator::counts;
pub(crate) use evaluator::{BabyOf, FusedSum, Scaled, StepGroup, to_plaintexts};
pub use evaluator::{Evaluator, MatrixWeights, PlainMatrix};
pub use extended_plaintext::ExtendedPlaintext;
pub(crate) use filled::{check_coefficients_not_filled, check_not_filled};
pub use levels::{Level, LevelGroup};
pub use noise::NoiseEstimate;
pub use num_complex::Complex64;
pub use params::{CkksParams, presets};
pub use scatter::scatter;
pub use spec::CkksSpec;
