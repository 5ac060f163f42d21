//! TFHE beside TFHE-rs.

pub mod gates;
pub mod integers;

use he_core::tfhe::{BootstrapKey, TfheParams, TfheSecretKey};
use rand::{SeedableRng, rngs::ChaCha20Rng};

const OURS: &str = "the CPU does not fail";

fn keys(params: &TfheParams) -> (TfheSecretKey, BootstrapKey, ChaCha20Rng) {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = TfheSecretKey::generate(params, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    (secret, key, rng)
}
