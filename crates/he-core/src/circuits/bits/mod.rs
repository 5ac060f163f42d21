//! Circuits on bits, written once for all providers of bits.
//!
//! A [`Circuit`] is a list of gates sorted by levels: the inputs of a gate are on lower levels, so
//! a level is one batch of independent gates. [`BitOps`] evaluates levels: TFHE gates
//! ([`GateEvaluator`](crate::tfhe::GateEvaluator)), slots of BFV and BGV ([`packed`]), or [`Plain`]
//! bits, the oracle. Negations are free and part of a gate's inputs.
//!
//! The jobs are from the comparison of HElib, TFHE and SEAL of 2018 (carry-save full adders, then a
//! Kogge-Stone adder; X < Y from the carry of NOT X + Y). Where it spends five gates on a full
//! adder, majority and parity of three bits are one gate each here.

mod adders;
mod circuit;
mod compare;
mod multiply;
pub mod packed;
mod plain;
mod sort;
#[cfg(test)]
mod tests;

pub use adders::{carry_save, full_adder, kogge_stone_add, ripple_add, sum};
pub use circuit::{Builder, Circuit, Word};
pub use compare::{equal, less_than, min_max, select};
pub use multiply::multiply;
pub use plain::Plain;
pub use sort::sort;

use crate::error::Result;
use std::ops::Range;

/// The function that a gate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Any function of two bits: bit 2a + b of the table is its value at (a, b). AND is 0b1000.
    Lookup(u8),
    /// Whether two or three of three bits are set.
    Majority,
    /// Whether one or three of three bits are set.
    Parity,
    /// The second bit if the first is set, the third otherwise.
    Mux,
}

/// A bit of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Signal {
    /// A public bit.
    Constant(bool),
    /// The bit of a slot, or its negation.
    Slot {
        /// The slot.
        index: usize,
        /// Whether it is negated.
        negated: bool,
    },
}

impl std::ops::Not for Signal {
    type Output = Self;

    fn not(self) -> Self {
        match self {
            Self::Constant(bit) => Self::Constant(!bit),
            Self::Slot { index, negated } => Self::Slot { index, negated: !negated },
        }
    }
}

/// A gate with its inputs; two-input gates repeat their second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedGate {
    /// The function.
    pub gate: Gate,
    /// Its inputs, never constants in a [`Circuit`].
    pub inputs: [Signal; 3],
}

/// A provider of bits: batches in slots, and gates on them.
pub trait BitOps {
    /// A batch of bits.
    type Bits;

    /// The number of bits.
    fn count(&self, bits: &Self::Bits) -> usize;

    /// Makes `count` slots whose bits are false.
    ///
    /// # Errors
    /// Device errors.
    fn slots(&self, count: usize) -> Result<Self::Bits>;

    /// Copies a range of bits to the slots from `at` on.
    ///
    /// # Errors
    /// [`BatchRange`](crate::Error::BatchRange), device errors.
    fn write(&self, dst: &mut Self::Bits, at: usize, src: &Self::Bits, range: Range<usize>) -> Result<()>;

    /// Evaluates independent gates on the slots, as one batch; results go to the slots from `at`
    /// on, in order.
    ///
    /// # Errors
    /// [`BatchRange`](crate::Error::BatchRange) for slots that do not exist; device errors.
    fn gates(&self, slots: &mut Self::Bits, gates: &[PlacedGate], at: usize) -> Result<()>;

    /// Returns these bits of the slots, negated or constant if the signal says so.
    ///
    /// # Errors
    /// [`BatchRange`](crate::Error::BatchRange), device errors.
    fn gather(&self, slots: &Self::Bits, signals: &[Signal]) -> Result<Self::Bits>;
}
