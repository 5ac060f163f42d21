//! NAND: ours by preset beside the peer's sets of parameters, and beside the peer at ours.

use super::{OURS, keys};
use he_core::backend::Cpu;
use he_core::tfhe::{GateEvaluator, TfheParams, presets};
use he_peers::{heading, pair, version};
use tfhe::boolean::prelude::*;
use tfhe::core_crypto::prelude::DynamicDistribution;

/// The peer at our parameters, whose torus has 32 bits: for times only, since errors below 2^-32
/// vanish in it.
fn same(params: &TfheParams) -> BooleanParameters {
    let spec = params.spec();
    let errors = |sigma: f64| DynamicDistribution::new_gaussian_from_std_dev(StandardDev(sigma.exp2()));
    BooleanParameters {
        lwe_dimension: LweDimension(spec.lwe_dimension),
        glwe_dimension: GlweDimension(spec.glwe_dimension),
        polynomial_size: PolynomialSize(params.degree()),
        lwe_noise_distribution: errors(spec.lwe_sigma_log2),
        glwe_noise_distribution: errors(spec.glwe_sigma_log2),
        pbs_base_log: DecompositionBaseLog(spec.bootstrap.base_log as usize),
        pbs_level: DecompositionLevelCount(spec.bootstrap.levels as usize),
        ks_base_log: DecompositionBaseLog(spec.switch.base_log as usize),
        ks_level: DecompositionLevelCount(spec.switch.levels as usize),
        encryption_key_choice: EncryptionKeyChoice::Big,
    }
}

/// Failure probabilities: 2^-128, 2^-40 and those of the first library for ours, in this order; the
/// peer's are in the names.
pub fn table() {
    heading(&version("tfhe"));
    let below_2m128 = ("KS_PBS, 2^-166", PARAMETERS_ERROR_PROB_2_POW_MINUS_165_KS_PBS);
    let default = ("default KS_PBS, 2^-64", DEFAULT_PARAMETERS_KS_PBS);
    let first = ("TFHE_LIB", TFHE_LIB_PARAMETERS);
    let [a, b, c] = [presets::gates_2m128(), presets::gates_2m40(), presets::insecure_lambda100()]
        .map(|preset| preset.expect("a preset"));
    nand("gates_2m128", &a, &[below_2m128, default, ("the same", same(&a))]);
    nand("gates_2m40", &b, &[default, first, ("the same", same(&b))]);
    nand("insecure_lambda100", &c, &[("the same", same(&c))]);
}

fn nand(name: &str, params: &TfheParams, peers: &[(&str, BooleanParameters)]) {
    let cpu = Cpu::new();
    let (secret, key, mut rng) = keys(params);
    let gates = GateEvaluator::new(&cpu, &key).expect(OURS);
    let [x, y] = [true, false].map(|bit| secret.encrypt_bits(&cpu, &[bit], &mut rng).expect(OURS));
    for (peer_name, peer) in peers {
        let client = ClientKey::new(peer);
        let server = ServerKey::new(&client);
        let [peer_x, peer_y] = [true, false].map(|bit| client.encrypt(bit));
        for (y, peer_y, expected) in [(&x, &peer_x, false), (&y, &peer_y, true)] {
            let bits = secret.decrypt_bits(&gates.nand(&x, y).expect(OURS)).expect(OURS);
            assert_eq!(bits, [expected]);
            assert_eq!(client.decrypt(&server.nand(&peer_x, peer_y)), expected);
        }
        pair(
            format_args!("NAND, {name} / {peer_name}"),
            || gates.nand(&x, &y),
            || server.nand(&peer_x, &peer_y),
        );
    }
}
