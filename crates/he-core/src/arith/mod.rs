//! Words modulo a prime: Barrett and Shoup arithmetic, primality, NTT-friendly primes.

mod modulus;
mod primes;

pub use modulus::{Modulus, ShoupFactor};
pub use primes::{is_prime, nearest_ntt_primes, ntt_primes_below, primitive_root_2n};
