//! The types of the elements of constants, and the numbers that fit into them.

use half::{bf16, f16};
use rten_onnx::onnx::DataType;

/// The type of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// float16, bfloat16, float32 or float64.
    Real(Real),
    /// An integer with a sign, of 8, 16, 32 or 64 bits.
    Signed(u32),
    /// An integer without a sign.
    Unsigned(u32),
    /// 0 or 1.
    Bool,
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Real {
    Half,
    Brain,
    Single,
    Double,
}

impl Element {
    pub const INT64: Self = Self::Signed(64);

    /// The type of a number in a file, if it is computed with.
    pub fn of(kind: DataType) -> Option<Self> {
        Some(match kind {
            DataType::FLOAT => Self::Real(Real::Single),
            DataType::DOUBLE => Self::Real(Real::Double),
            DataType::FLOAT16 => Self::Real(Real::Half),
            DataType::BFLOAT16 => Self::Real(Real::Brain),
            DataType::INT8 => Self::Signed(8),
            DataType::INT16 => Self::Signed(16),
            DataType::INT32 => Self::Signed(32),
            DataType::INT64 => Self::Signed(64),
            DataType::UINT8 => Self::Unsigned(8),
            DataType::UINT16 => Self::Unsigned(16),
            DataType::UINT32 => Self::Unsigned(32),
            DataType::UINT64 => Self::Unsigned(64),
            DataType::BOOL => Self::Bool,
            _ => return None,
        })
    }

    /// Its name, as ONNX writes it.
    pub fn name(self) -> String {
        match self {
            Self::Real(Real::Half) => "FLOAT16".to_owned(),
            Self::Real(Real::Brain) => "BFLOAT16".to_owned(),
            Self::Real(Real::Single) => "FLOAT".to_owned(),
            Self::Real(Real::Double) => "DOUBLE".to_owned(),
            Self::Signed(bits) => format!("INT{bits}"),
            Self::Unsigned(bits) => format!("UINT{bits}"),
            Self::Bool => "BOOL".to_owned(),
        }
    }

    /// The bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::Real(Real::Half | Real::Brain) => 2,
            Self::Real(Real::Single) => 4,
            Self::Real(Real::Double) => 8,
            Self::Signed(bits) | Self::Unsigned(bits) => bits as usize / 8,
            Self::Bool => 1,
        }
    }

    pub fn is_real(self) -> bool {
        matches!(self, Self::Real(_))
    }

    /// Whether it is an integer of 32 or 64 bits with a sign, as ids and masks are.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Signed(32 | 64))
    }

    /// The least and the greatest integer of an integral type.
    fn bounds(self) -> (i128, i128) {
        match self {
            Self::Signed(bits) => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
            Self::Unsigned(bits) => (0, (1i128 << bits) - 1),
            Self::Bool | Self::Real(_) => (0, 1),
        }
    }

    /// Whether an integer is one of the type.
    pub fn holds(self, x: i128) -> bool {
        let (least, greatest) = self.bounds();
        (least..=greatest).contains(&x)
    }

    /// An integer without the bits that the type has no room for, in two's complement; for Bool,
    /// whether it is not 0.
    pub fn wrap(self, x: i128) -> i128 {
        match self {
            Self::Bool => i128::from(x != 0),
            _ => {
                let (least, greatest) = self.bounds();
                (x - least).rem_euclid(greatest - least + 1) + least
            }
        }
    }
}

impl Real {
    /// The number of the type that is nearest.
    pub fn round(self, x: f64) -> f64 {
        match self {
            Self::Half => f16::from_f64(x).to_f64(),
            Self::Brain => bf16::from_f64(x).to_f64(),
            Self::Single => f64::from(x as f32),
            Self::Double => x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_wrap_and_reals_round() {
        assert_eq!(Element::Signed(8).wrap(200), -56);
        assert_eq!(Element::Unsigned(8).wrap(-1), 255);
        assert_eq!(Element::Bool.wrap(36), 1);
        assert_eq!(Element::INT64.wrap(1 << 63), -(1 << 63));
        assert!(Element::Unsigned(64).holds(u64::MAX.into()) && !Element::Signed(64).holds(u64::MAX.into()));
        assert_eq!(Real::Single.round(0.1), f64::from(0.1f32));
        assert_eq!(Real::Half.round(2049.0), 2048.0);
        assert_eq!(Real::Brain.round(257.0), 256.0);
        assert_eq!(Real::Half.round(70_000.0), f64::INFINITY);
    }
}
