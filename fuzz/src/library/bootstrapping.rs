//! Keys of CKKS bootstrapping.
//!
//! Must hold: a byte string is refused or holds keys that are written to the same bytes, in the
//! order that the parameters demand.
//!
//! Bytes: flags (1: repair the checksums; 2: the changes below); then, of the flag 2, changes of
//! the good keys, each a place of 24 bits and a byte that is XORed there; otherwise the byte
//! string.

use super::target::{Fields, repair_frames};
use super::world;
use he_core::backend::Cpu;
use he_core::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, EvalModShape, LevelRun};
use he_core::ring::Ring;
use he_core::rlwe::SecretKey;
use std::sync::OnceLock;

struct World {
    params: BootstrapParams,
    ring: Ring<Cpu>,
    keys: Vec<u8>,
}

/// N = 2^4, two slots, one matrix on each side.
pub fn spec() -> BootstrapSpec {
    BootstrapSpec {
        log_n: 4,
        log_slots: 1,
        base_bits: 46,
        base_scale_log2: 36.0,
        slots_to_coeffs: vec![38],
        program: LevelRun::new(1, 36.0, &[36]),
        join: Some(30),
        eval_mod_levels: vec![LevelRun::new(5, 46.0, &[46])],
        coeffs_to_slots: LevelRun::new(1, 46.0, &[46]),
        special: vec![47; 4],
        slots_to_coeffs_special: 1,
        borrowed: vec![1],
        eval_mod: EvalModShape { bound: 2, degree: 14, doublings: 1, arcsine: false, focus: 0.5 },
        sparse_weight: 2,
    }
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let params = BootstrapParams::insecure(spec()).expect("small parameters");
        let ring = params.ring(Cpu::new()).expect("a small ring");
        let secret = SecretKey::generate(params.params().rlwe(), &mut world::rng(1));
        let keys = BootstrapKeys::generate_to(&secret, &params, &ring, &mut world::rng(2), Vec::new());
        World { params, ring, keys: keys.expect("keys") }
    })
}

pub fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let w = world();
    let mut bytes = rest.to_vec();
    if flags & 2 == 2 {
        bytes.clone_from(&w.keys);
        let mut changes = Fields(rest);
        while let Some([low, middle, high, change]) = changes.take() {
            let at = u32::from_le_bytes([low, middle, high, 0]) as usize % bytes.len();
            bytes[at] ^= change;
        }
    }
    if flags & 1 == 1 {
        repair_frames(&mut bytes);
    }
    if let Ok(keys) = BootstrapKeys::from_bytes(&w.params, &w.ring, &bytes) {
        let again = keys.to_bytes(&w.params).expect("what was read is written");
        assert!(again == bytes, "keys are read and written differently");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let start = &world().keys[..2000];
    let changes = [&[3, 0, 1, 0, 1][..], &[3, 150, 0, 0, 3, 200, 2, 0, 1], &[2, 7, 7, 7, 7]];
    let starts = [0, 1].map(|flags| [&[flags][..], start].concat());
    changes.iter().map(|change| change.to_vec()).chain(starts).collect()
}
