//! Clear numbers beside encrypted ones.

/// A clear number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// A real number.
    Real(f64),
}

impl Number {
    /// The number as a real one.
    pub fn real(self) -> f64 {
        match self {
            Self::Integer(value) => value as f64,
            Self::Real(value) => value,
        }
    }
}

/// Numbers as real ones.
pub fn reals(numbers: &[Number]) -> Vec<f64> {
    numbers.iter().map(|number| number.real()).collect()
}
