//! Exact arithmetic on integers modulo t: what BFV and BGV share, which is everything except the
//! product.
//!
//! # One form of ciphertext
//! A ciphertext of either scheme decrypts, over the primes with product Q that it has, to the
//! *phase* `c0 + c1 s = [f m]_t / t + e mod Q`: m the message, f a unit modulo t that the
//! ciphertext carries, 1/t the inverse of t modulo Q, e the noise. With f = 1 this is BGV, whose
//! usual form is t times this; with f = -Q mod t it is BFV, because
//! `round(Q m / t) = (Q m - [Q m]_t) / t = [-Q m]_t / t mod Q`, exactly (Alperin-Sheriff, Peikert,
//! *Faster Bootstrapping with Polynomial Error*, 2013, appendix A). Keys, encryption, sums,
//! rotations and modulus switches are therefore those of any RLWE scheme, with noise e instead of t
//! e:
//! - t times the phase is [f m]_t + t e, which determines m as long as it is below Q/2 in
//!   magnitude;
//! - a division by the prime q with rounding divides e by q and f by q modulo t;
//! - in BFV, f is automatically -Q mod t at every level.
//!
//! The schemes differ in the product: [`bfv`](crate::bfv) rounds t c c' / Q, [`bgv`](crate::bgv)
//! takes t c c' mod Q.

mod batching;
pub mod bootstrapping;
mod builder;
mod ciphertext;
mod coefficients;
mod encoder;
mod encrypt;
mod evaluator;
mod flooding;
mod matrices;
mod matrix_products;
mod message;
mod noise;
mod params;
mod plain_modulus;
mod plaintext;
mod predict;
mod products;
mod ring_switch;
mod rotation;
mod scheme;
mod slots;
mod state;

pub use crate::rlwe::noise::TAIL;
pub use builder::Builder;
pub use ciphertext::{Ciphertext, Product, SeededCiphertext};
pub use encoder::{Encoder, PlainValue};
pub use encrypt::{DECRYPTION_MARGIN, Decryptor, Encryptor, SecretEncryptor};
pub use evaluator::Evaluator;
pub use matrices::PlainMatrix;
pub use message::Message;
pub use noise::{Noise, NoiseModel};
pub use params::{ExactSpec, Params};
pub use plain_modulus::PlainModulus;
pub use plaintext::{Plaintext, PreparedPlaintext};
pub use scheme::Scheme;
pub use slots::SlotEncoder;
pub use state::State;

pub(crate) use ciphertext::Meta;
pub(crate) use scheme::sealed;
