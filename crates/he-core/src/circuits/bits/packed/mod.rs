//! Bits in the slots of BFV or BGV modulo a prime t.
//!
//! A bit of a circuit is a whole vector of slots that hold 0 or 1, so that one evaluation serves as
//! many instances as there are slots. A gate is its multilinear polynomial: a XOR b = a + b - 2ab,
//! and a function of three bits is f(a, b, 0) + c (f(a, b, 1) - f(a, b, 0)). A function of two bits
//! therefore costs at most one product, a function of three bits two at depth 2 (the parity and
//! majority of a full adder share theirs), and a multiplexer one. (Modulo 2, XOR would be a plain
//! sum, but X^N + 1 is a power of a single factor modulo 2, so there are no slots.)
//!
//! Two forms:
//! - [`SlotGates`], a provider of [`BitOps`](super::BitOps): one ciphertext per bit, instances in
//!   slots, any [`Circuit`](super::Circuit);
//! - [`WordGates`]: the bits of a number side by side in one ciphertext, as many numbers as fit,
//!   and shifts by rotations. This takes a few ciphertexts instead of one per bit: less latency and
//!   memory, but more work per number.
//!
//! All of it runs on any [`Arithmetic`]: on ciphertexts ([`Encrypted`]), on predictions of their
//! noise ([`Predicted`]), from which [`params_for`] chooses parameters, or on depths only
//! ([`Depths`]). The depth of a program is bounded by its parameters, and a program that is too
//! deep ends in [`BudgetSpent`](crate::Error::BudgetSpent), unless products are refreshed
//! ([`Encrypted::with_refreshes`]).

mod arithmetic;
mod choice;
mod counting;
mod depths;
mod encrypted;
mod gates;
mod predicted;
mod summation;
mod words;

pub use arithmetic::Arithmetic;
pub use choice::{ParamsChoice, params_for};
pub use depths::Depths;
pub use encrypted::Encrypted;
pub use gates::{Bit, SlotGates};
pub use predicted::{Predicted, Prediction};
pub use words::{WordGates, WordLayout};
