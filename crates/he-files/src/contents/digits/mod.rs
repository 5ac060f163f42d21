//! Columns of machine integers under CKKS with bootstrapping: digits of 4 bits, each the message of
//! a slot, that look-ups compute on ([`he_core::bootstrapping::integers`]).
//!
//! A file says nothing of its noise, because nobody could check it: whoever computes counts with
//! the greatest noise that results have when they are written, and a look-up that would then fail
//! with a probability above 2^-40 for a ciphertext is refused.

mod compute;
mod evaluate;
mod job;
mod table;
mod unpack;

pub use compute::{Circuit, Prepared};
pub use evaluate::Evaluation;
pub use job::{Job, Operand, Operator, Shift};
pub use table::{DigitTable, FEW_ROWS, ReadOptions};
pub(super) use unpack::DigitsUnpacker;
