//! Seeds of unit tests.

use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{SeedableRng, TryRng};

/// A fresh seed, or the one of HE_TEST_SEED. It is printed, and visible if the test fails.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("HE_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| SysRng.try_next_u64().expect("random numbers of the system"));
    println!("HE_TEST_SEED={seed}");
    seed
}

/// A generator with such a seed.
pub(crate) fn seeded() -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed())
}
