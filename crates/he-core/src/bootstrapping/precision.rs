//! The precision of bootstrapped values.

/// -log2 of the error of a real or imaginary part of a bootstrapped value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// The value for the root mean square.
    pub rms_bits: f64,
    /// The value for the greatest error in all runs.
    pub worst_bits: f64,
}
