//! The operations on two contents, and how their parts are paired.

use super::packing::Weights;

/// The operation on two files, slot by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// a + b.
    Add,
    /// a - b.
    Sub,
    /// a b.
    Mul,
}

impl Operator {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
        }
    }

    /// Bounds of results of real numbers between bounds.
    pub fn bounds(self, (a, b): (f64, f64), (c, d): (f64, f64)) -> (f64, f64) {
        match self {
            Self::Add => (a + c, b + d),
            Self::Sub => (a - d, b - c),
            Self::Mul => {
                let products = [a * c, a * d, b * c, b * d];
                let fold = |f: fn(f64, f64) -> f64| products.into_iter().reduce(f).unwrap_or_default();
                (fold(f64::min), fold(f64::max))
            }
        }
    }

    /// Bounds of results of integers between bounds, if numbers hold them.
    pub fn whole_bounds(self, (a, b): (i64, i64), (c, d): (i64, i64)) -> Option<(i64, i64)> {
        let (low, high) = match self {
            Self::Add => (a.checked_add(c)?, b.checked_add(d)?),
            Self::Sub => (a.checked_sub(d)?, b.checked_sub(c)?),
            Self::Mul => {
                let products = [a.checked_mul(c)?, a.checked_mul(d)?, b.checked_mul(c)?, b.checked_mul(d)?];
                (*products.iter().min()?, *products.iter().max()?)
            }
        };
        high.checked_sub(low).map(|_| (low, high))
    }
}

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
