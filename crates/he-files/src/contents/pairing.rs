//! The pairing of the parts of two contents.

use super::packing::Weights;

/// The operation that combines a channel or column of two files.
#[derive(Clone, Debug, PartialEq)]
pub enum Pairing {
    /// Not combined: that of the first file is kept.
    First,
    /// Slot by slot.
    Slots,
    /// Slot by slot, with two values per slot, as real and imaginary parts.
    Complex,
    /// Slot by slot, each side first multiplied by this whole number.
    Multiplied {
        /// The factor of the first file.
        left: i64,
        /// The factor of the second.
        right: i64,
    },
    /// Slot by slot, with each side first multiplied by weights, if it has any.
    Weighted {
        /// The weights of the first file.
        left: Option<Weights>,
        /// The weights of the second.
        right: Option<Weights>,
    },
    /// Slot by slot the product, and these multiples of the factors: what public offsets add to it.
    Shifted {
        /// The multiples of the first file.
        left: Weights,
        /// The multiples of the second.
        right: Weights,
    },
}
