//! Checks of a back end against the contract of [`backend`](crate::backend).
//!
//! - [`Naive`] follows the definitions in the slowest and most obvious way, and shares no
//!   arithmetic with [`Cpu`](crate::backend::Cpu).
//! - [`Provided`] runs another back end with only the provided bodies of the coarse operations.
//! - [`Mirror`] runs each operation on two back ends and stops at the first word that differs; any
//!   generic program runs on it.
//! - [`suite`] holds test bodies; [`conformance_suite!`](crate::conformance_suite) turns them into
//!   tests of one back end.
//!
//! # Examples
//! A circuit that is suspected of failing on one back end runs unchanged on a mirror:
//! ```
//! use he_core::backend::Cpu;
//! use he_core::conformance::{Mirror, Naive};
//! use he_core::ring::{Poly, Ring, RingSpec, Seed, Span};
//!
//! let spec = RingSpec::new(3, vec![97, 113], vec![])?;
//! let ring = Ring::new(Mirror::new(Cpu::new(), Naive), spec)?;
//! let a = Poly::uniform(&ring, Span::chain(2), 1, &Seed([1; 32]), 0)?;
//! let mut b = Poly::error(&ring, Span::chain(2), 1, &Seed([2; 32]), 0)?.into_eval()?;
//! b.mul_assign(&a)?;
//! # Ok::<(), he_core::Error>(())
//! ```

mod mirror;
mod naive;
mod provided;
pub mod suite;

pub use mirror::{Mirror, MirrorBuf, MirrorMismatch, MirrorRing};
pub use naive::{Naive, NaiveRing};
pub use provided::{Provided, ProvidedRing};
