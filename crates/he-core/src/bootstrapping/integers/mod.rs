//! Machine integers of 8 to 64 bits in the slots of CKKS ciphertexts, with the wrapping operations
//! of Rust's.
//!
//! An integer is a number of digits of 4 bits, each a message 0 ... 15 in the slot of a ciphertext
//! of its own; the digits of all slots are one batch. Sums, differences and products of digits and
//! conditions are those of ciphertexts, exact but for noise; everything else is a
//! [look-up](super::lookup), which refreshes and cleans:
//!
//! - [`add`](IntegerEvaluator::add), [`sub`](IntegerEvaluator::sub): one look-up of 32 entries
//!   takes the sum of two digits to a digit, to whether it carries, and to whether it passes a
//!   carry on. A prefix network of products finds all carries, and one product per digit adds them.
//! - [`lt`](IntegerEvaluator::lt), [`eq`](IntegerEvaluator::eq): the same flags of differences,
//!   folded by products; two look-ups more where signs are compared.
//! - [`select`](IntegerEvaluator::select), [`min`](IntegerEvaluator::min),
//!   [`max`](IntegerEvaluator::max): a product per digit, after a comparison.
//! - [`mul`](IntegerEvaluator::mul), [`mul_plain`](IntegerEvaluator::mul_plain),
//!   [`sum`](IntegerEvaluator::sum), [`div_rem_plain`](IntegerEvaluator::div_rem_plain): sums of
//!   products of digits below 1024, which look-ups take apart into digits again, until each column
//!   has a sum of two.
//! - [`shl`](IntegerEvaluator::shl), [`rotate_left`](IntegerEvaluator::rotate_left) and their like,
//!   [`and`](IntegerEvaluator::and) and its like: look-ups of one digit, or of two in one message.
//! - [`entries`](IntegerEvaluator::entries), [`lt_each`](IntegerEvaluator::lt_each): any table at a
//!   number of 8 bits, and comparisons with many plain numbers; [`tree`](IntegerEvaluator::tree)
//!   walks a decision tree by them.
//! - [`sort`](IntegerEvaluator::sort), [`greatest`](IntegerEvaluator::greatest): a network of
//!   comparisons between slots.
//!
//! Ciphertexts carry no estimate of their noise where they leave the process. Whoever writes
//! results [settles](IntegerEvaluator::settled) them first, and whoever reads them
//! ([`received`](IntegerEvaluator::received)) counts with the noise that this leaves at most.
//!
//! Look-ups of an even number of digits go in pairs through the maps, and are most of the time of
//! any operation but `select`. Time and memory do not depend on encrypted values; those of
//! operations with plain numbers depend on these. Products of many words, and few other operations,
//! are faster as [`words`](crate::words): a product of two words of 64 bits is one of ciphertexts
//! there, where digits take some fifty look-ups.
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
//! let needs = IntegerEvaluator::<Cpu>::requirements();
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
//! assert_eq!(ev.mul(&a, &b)?.decrypt(&decryptor)?[5], 32); // 20 000 modulo 256
//! # Ok(())
//! # }
//! ```
//!
//! Sources of the method: Alexandru, Kim, Polyakov, *General Functional Bootstrapping using CKKS*,
//! 2024 (digits by look-ups); Ladner, Fischer, *Parallel Prefix Computation*, 1980, and Sklansky,
//! *Conditional-Sum Addition Logic*, 1960 (carries that are generated or passed on); Batcher,
//! *Sorting Networks and their Applications*, 1968.

mod arithmetic;
mod batches;
mod bits;
mod carries;
mod carry_tables;
mod columns;
mod conditions;
mod division;
mod entries;
mod estimates;
mod evaluator;
mod received;
mod shifts;
mod slots;
mod sort;
mod tree;
mod width;

pub use entries::{ByteTable, Thresholds};
pub use evaluator::IntegerEvaluator;
pub use slots::{SlotFlags, SlotIntegers};
pub use tree::DecisionTree;
pub use width::{Width, join, join_flags};
