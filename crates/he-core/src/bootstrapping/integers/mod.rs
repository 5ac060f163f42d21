//! Unsigned machine integers in the slots of CKKS ciphertexts, with the wrapping operations of
//! Rust's.
//!
//! An integer is a number of digits of 4 bits, each a message 0 ... 15 in the slot of a ciphertext
//! of its own; the digits of all slots are one batch. Sums and differences of digits and products
//! with conditions are those of ciphertexts, exact but for noise; everything else is a
//! [look-up](super::lookup), which refreshes and cleans:
//!
//! - [`add`](IntegerEvaluator::add) and [`sub`](IntegerEvaluator::sub): one look-up of 32 entries
//!   takes the sums of digits to digits and to whether they carry, or would with a carry; one of
//!   2^d entries for d digits finds all carries from weighted sums of these; one product per digit
//!   adds them.
//! - [`lt`](IntegerEvaluator::lt) and [`eq`](IntegerEvaluator::eq): one look-up of 32 entries takes
//!   differences of digits to their signs, and one of 2^(d + 1) entries their weighted sum to the
//!   answer.
//! - [`select`](IntegerEvaluator::select), [`min`](IntegerEvaluator::min) and
//!   [`max`](IntegerEvaluator::max): a product per digit, after a comparison.
//!
//! Two look-ups of batches of an even number of digits, which go in pairs through the maps, are
//! most of the time of any of them but `select`. Time and memory do not depend on values.
//!
//! ```
//! use he_core::{backend::Cpu, bootstrapping::{integers::*, *}, ckks::*, rlwe::*};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // The chain of a preset at a degree that is quick, and insecure; otherwise `presets::fast()?`.
//! let spec = BootstrapSpec { log_n: 8, log_slots: 7, ..presets::Preset::Fast.spec() };
//! let boot = BootstrapParams::insecure(spec)?;
//! let (params, ring) = (boot.params(), boot.ring(Cpu::new())?);
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, &mut rng)?;
//! let needs = KeyRequirements::new().relinearisation().conjugation();
//! let keys = EvaluationKeys::generate(&secret, &ring, needs, &mut rng)?;
//!
//! let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
//! let mut encrypt = |x: u64| SlotIntegers::encrypt(&[x; 128], Width::U8, &encryptor, &mut rng);
//! let (a, b) = (encrypt(200)?, encrypt(100)?);
//! let bootstrapper = Bootstrapper::new(&boot, &ring)?;
//! let ev = IntegerEvaluator::new(&bootstrapper, &boot_keys, &keys, Width::U8)?;
//! let decryptor = Decryptor::new(params, &secret, &ring)?;
//! assert_eq!(ev.add(&a, &b)?.decrypt(&decryptor)?[5], 44);
//! assert_eq!(ev.max(&a, &b)?.decrypt(&decryptor)?[5], 200);
//! # Ok(())
//! # }
//! ```
//!
//! Sources of the method: Alexandru, Kim, Polyakov, *General Functional Bootstrapping using CKKS*,
//! 2024 (digits by look-ups); Ladner, Fischer, *Parallel Prefix Computation*, 1980 (carries that
//! are generated or passed on).

mod carries;
mod evaluator;
mod slots;
mod width;

pub use evaluator::IntegerEvaluator;
pub use slots::{SlotFlags, SlotIntegers};
pub use width::Width;
