//! Predefined parameter sets of 128-bit security with plaintext modulus 2^16 + 1 and primes below
//! 2^50. The name states degree and depth: encryptions by public key can be multiplied pairwise
//! this many times, with ten bits of budget left.

use super::BgvParams;
use crate::exact::ExactSpec;
use crate::params::ParamsError;

/// The plaintext modulus of the presets, which has slots up to N = 2^15.
const T: u64 = 65537;

fn preset(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<BgvParams, ParamsError> {
    BgvParams::try_from(ExactSpec::from_bits(log_n, q_bits, p_bits, T)?)
}

/// N = 2^12, depth 1, log QP 105.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bgv_n12_d1() -> Result<BgvParams, ParamsError> {
    preset(12, &[26, 26, 26], &[27])
}

/// N = 2^13, depth 3, log QP 212.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bgv_n13_d3() -> Result<BgvParams, ParamsError> {
    preset(13, &[42, 42, 42, 42], &[44])
}

/// N = 2^14, depth 8, log QP 397, 5 digits.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bgv_n14_d8() -> Result<BgvParams, ParamsError> {
    preset(14, &[36; 9], &[36, 37])
}

/// N = 2^15, depth 16, log QP 806, 5 digits.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bgv_n15_d16() -> Result<BgvParams, ParamsError> {
    preset(15, &[38; 17], &[40, 40, 40, 40])
}
