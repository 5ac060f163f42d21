//! The numbers by which the kernels of TFHE take words and digits for doubles.

use he_core::tfhe::Gadget;

/// 2^-64 / M: the factor of words that are transformed.
pub(crate) fn value_scale(degree: usize) -> f64 {
    2.0 / degree as f64 / 2f64.powi(64)
}

/// 2^52 and half of the base, by which a digit becomes a double.
pub(crate) fn digit_zero(gadget: Gadget) -> f64 {
    2f64.powi(52) + 2f64.powi(gadget.base_log as i32 - 1)
}
