//! Tables of encrypted integers, looked up while their ciphertext is refreshed.
//!
//! Slots hold messages m modulo p, a power of two; a table has p entries, any real numbers. A
//! look-up leaves the entry of each slot's message, on the level of
//! [`output_level`](LookupTables::output_level), with less noise than a message may arrive with:
//!
//! 1. The ciphertext, on the level from which one is refreshed, is multiplied by q_0 / (p S) for
//!    the scale S of level 0, an integer. SlotsToCoeffs, ModRaise and CoeffsToSlots are those of a
//!    refresh, with its keys, and leave x = m / p + I in the slots: the multiples of q_0 that a
//!    refresh removes do no harm here.
//! 2. *The exponential* z = exp(2 pi i x), which does not depend on I: a polynomial of degree
//!    2^a - 1 for an angle that is smaller by 2^r, and r squarings, on the levels of the modular
//!    reduction.
//! 3. *The interpolation* of each table by a trigonometric polynomial of degree p - 1, whose
//!    derivative at all messages is zero, on the highest log2(p) levels of programs, with the
//!    relinearisation and conjugation keys of programs. An error e of a message becomes one of
//!    about 3.3 e^2 times the span of the table.
//!
//! Several tables of the same messages share all but the last sums of the interpolation. Slots
//! whose real and imaginary parts are messages ([`look_up_parts`](super::Bootstrapper::look_up_parts)),
//! and pairs of ciphertexts ([`look_up_pairs`](super::Bootstrapper::look_up_pairs)), share the maps.
//!
//! Messages may be any integers, positive or negative: they count modulo p. Sums and differences of
//! messages, and multiples by integers, are thus those modulo p.
//!
//! ```
//! use he_core::{backend::Cpu, bootstrapping::{lookup::LookupTables, *}, ckks::*, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The chain of a preset at a degree that is quick, and insecure; otherwise `presets::fast()?`.
//! let spec = BootstrapSpec { log_n: 9, log_slots: 8, ..presets::Preset::Fast.spec() };
//! let boot = BootstrapParams::insecure(spec)?;
//! let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng)?;
//!
//! // The squares modulo 16, and whether a number is prime.
//! let squares: Vec<f64> = (0..16).map(|m| f64::from(m * m % 16)).collect();
//! let prime = [0., 0., 1., 1., 0., 1., 0., 1., 0., 0., 0., 1., 0., 1., 0., 0.];
//! let tables = LookupTables::new(&boot, &[&squares, &prime])?;
//! let keys = EvaluationKeys::generate(&secret, &ring, tables.requirements().keys, &mut rng)?;
//!
//! let messages = SecretEncryptor::new(params, &secret, &ring)?.encrypt_real(&[5.0; 256], &mut rng)?;
//! let bootstrapper = Bootstrapper::new(&boot, &ring)?;
//! let found = bootstrapper.look_up(&messages.expand()?, &tables, &boot_keys, &keys)?;
//! let decryptor = Decryptor::new(params, &secret, &ring)?;
//! assert!((decryptor.decrypt_real(&found[0])?[7] - 9.0).abs() < 1e-3);
//! assert!((decryptor.decrypt_real(&found[1])?[7] - 1.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```
//!
//! A preset has levels for look-ups as it has them for programs. [`fast`](super::presets::fast)
//! leaves 16 - log2(p) levels above SlotsToCoeffs after a look-up: 15 for p = 2, 12 for p = 16 and
//! 8 for p = 256, by 13, 20 and 42 relinearisations; the exponential takes the 8 levels of the
//! modular reduction, five for a polynomial of degree 31 and three squarings.
//! [`small`](super::presets::small) has levels for p up to 16.
//!
//! Sources: Alexandru, Kim, Polyakov, *General Functional Bootstrapping using CKKS*, 2024
//! (trigonometric Hermite interpolation, and its cleaning); Bae, Cheon, Kim, Stehlé,
//! *Bootstrapping Bits with CKKS*, Eurocrypt 2024 (messages at the top of the modulus); Cheon, Han,
//! Kim, Kim, Song, *Bootstrapping for Approximate Homomorphic Encryption*, Eurocrypt 2018 (the
//! exponential by squarings).

mod circuit;
mod exponential;
mod interpolation;
mod noise;
mod tables;

pub use tables::LookupTables;
