//! Words modulo a prime: Barrett and Shoup arithmetic, primality and NTT-friendly primes. Also,
//! rounding of doubles in constant time.

mod double_double;
mod modulus;
mod primes;
mod rounding;

pub(crate) use double_double::DoubleDouble;
pub(crate) use modulus::mul_wide;
pub use modulus::{Modulus, ShoupFactor};
pub use primes::{is_prime, nearest_ntt_primes, ntt_primes_below, primitive_root_2n};
pub(crate) use rounding::{ROUND, round_i64, round_i128, round_wide};
// For lanes in portable code.
#[cfg(any(test, not(target_arch = "aarch64")))]
pub(crate) use rounding::{mul_add, round};
