//! The ring `Z_Q[X] / (X^N + 1)` in residue-number representation: its description, transforms,
//! base conversions and samplers, and, from a room above the back ends, its polynomials.

mod automorphism;
mod base_conversion;
mod crt;
mod domain;
mod magnitude;
mod ntt;
mod sampler;
mod span;
mod spec;
mod special_fft;

// Their public path: the room `poly` is above the back ends, which know nothing of it.
pub use crate::poly::{Poly, Ring, SecretPoly};
pub(crate) use automorphism::check_galois;
pub use automorphism::{Automorphism, galois_conjugation, galois_rotation};
pub use base_conversion::BaseConversion;
pub use crt::CrtComposer;
pub use domain::{Coeff, Domain, DomainKind, Eval};
pub(crate) use magnitude::Magnitudes;
pub use ntt::{NttTable, bit_reverse};
pub use sampler::{ERROR_BOUND, ERROR_VARIANCE, Seed, error_row, ternary_row, uniform_row, wide_uniform_row};
pub(crate) use sampler::{for_each_element, ternary};
pub use span::{Operand, Rows, Span};
pub use spec::RingSpec;
pub(crate) use special_fft::ExtendedFft;
pub use special_fft::SpecialFft;
