//! Predefined parameter sets of 128-bit security with plaintext modulus 2^16 + 1 and primes below
//! 2^50. The name states degree and depth: encryptions by public key can be multiplied pairwise
//! this many times, with ten bits of budget left.

use super::BfvParams;
use crate::exact::ExactSpec;
use crate::params::ParamsError;

/// The plaintext modulus of the presets, which has slots up to N = 2^15.
const T: u64 = 65537;

fn preset(log_n: u32, q_bits: &[u32], p_bits: &[u32]) -> Result<BfvParams, ParamsError> {
    BfvParams::try_from(ExactSpec::from_bits(log_n, q_bits, p_bits, T)?)
}

/// N = 2^12, depth 1, log QP 105.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bfv_n12_d1() -> Result<BfvParams, ParamsError> {
    preset(12, &[35, 35], &[35])
}

/// N = 2^13, depth 4, log QP 212.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bfv_n13_d4() -> Result<BfvParams, ParamsError> {
    preset(13, &[42, 42, 42, 42], &[44])
}

/// N = 2^14, depth 11, log QP 425.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bfv_n14_d11() -> Result<BfvParams, ParamsError> {
    preset(14, &[47; 8], &[49])
}

/// N = 2^15, depth 21, log QP 852, 5 digits.
///
/// # Errors
/// None in practice: the primes exist.
pub fn bfv_n15_d21() -> Result<BfvParams, ParamsError> {
    preset(15, &[47; 15], &[49, 49, 49])
}
