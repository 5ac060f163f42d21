//! Results under encryption equal those on plain values, within the bound that follows from the
//! documented noise.

mod encoding;
mod levels;
mod operations;
mod packing;
mod randomness;
mod rotations;

use super::common::*;
use he::backend::Cpu;
use he::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encoder, Encryptor, Evaluator, SecretEncryptor,
    presets,
};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, SecretKey};
use he::{Error, Result};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Every shape, with keys for the powers of two.
fn each_world(rng: &mut ChaCha20Rng, test: impl Fn(&str, &World, &mut ChaCha20Rng)) {
    for (name, params) in shapes() {
        let powers = (0..params.rlwe().ring().log_n() - 1).map(|i| 1i64 << i);
        let world = World::new(&params, powers, rng);
        test(name, &world, rng);
    }
}

fn world(name: &str, steps: impl IntoIterator<Item = i64>, rng: &mut ChaCha20Rng) -> World {
    let (_, params) = shapes().into_iter().find(|(shape, _)| *shape == name).unwrap();
    World::new(&params, steps, rng)
}
