//! The ring `Z_Q[X] / (X^N + 1)` in residue-number representation.

mod automorphism;
mod base_conversion;
mod crt;
mod magnitude;
mod ntt;
mod plain_poly;
mod poly;
mod prepared;
mod sampler;
mod secret_poly;
mod span;
mod spec;
mod special_fft;

pub(crate) use automorphism::check_galois;
pub use automorphism::{Automorphism, galois_conjugation, galois_rotation};
pub use base_conversion::BaseConversion;
pub use crt::CrtComposer;
pub(crate) use magnitude::Magnitudes;
pub use ntt::{NttTable, bit_reverse};
pub(crate) use plain_poly::{PlainPoly, Wipe};
pub use poly::{Coeff, Domain, DomainKind, Eval, Poly};
pub use prepared::Ring;
pub use sampler::{ERROR_BOUND, ERROR_VARIANCE, Seed, error_row, ternary_row, uniform_row, wide_uniform_row};
pub(crate) use sampler::{for_each_element, ternary};
pub use secret_poly::SecretPoly;
pub use span::{Operand, Rows, Span};
pub use spec::RingSpec;
pub(crate) use special_fft::ExtendedFft;
pub use special_fft::SpecialFft;
