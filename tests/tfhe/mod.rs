//! Compares gates, integers and circuits of TFHE with the same on plain values.

mod circuits;
mod clear;
mod clear_operations;
mod compact;
mod gates;
mod operations;
mod transcipher;
mod uints;
mod wire;

use he::backend::Cpu;
use he::tfhe::{BootstrapKey, TfheParams, TfheSecretKey};
use rand::{SeedableRng, rngs::ChaCha20Rng};

fn keys(params: &TfheParams, seed: u64) -> (TfheSecretKey, BootstrapKey, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = TfheSecretKey::generate(params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    (secret, key, rng)
}

const CPU: fn() -> Cpu = Cpu::new;

/// The first of two sizes, or with `HE_DEEP=1`, which `tests/deep.sh` sets, the second.
fn sized<T>(quick: T, deep: T) -> T {
    if std::env::var_os("HE_DEEP").is_some_and(|value| value == "1") { deep } else { quick }
}
