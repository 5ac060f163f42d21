//! Compares circuits on encrypted bits with the same circuits on plain ones.

use super::{CPU, keys};
use he::circuits::bits::{
    Builder, Circuit, Plain, Signal, Word, kogge_stone_add, less_than, min_max, multiply, ripple_add, sort,
    sum,
};
use he::tfhe::{GateEvaluator, TfheParams, presets};
use rand::Rng;

fn build(inputs: usize, f: impl Fn(&mut Builder, &[Signal]) -> Word) -> Circuit {
    let mut c = Builder::new(inputs);
    let all = c.input(0..inputs);
    let out = f(&mut c, &all);
    c.finish(&out)
}

fn check(params: &TfheParams, seed: u64, circuits: &[Circuit]) {
    let cpu = CPU();
    let (secret, key, mut rng) = keys(params, seed);
    let gates = GateEvaluator::new(&cpu, &key).unwrap();
    for circuit in circuits {
        let bits: Vec<bool> = (0..circuit.inputs()).map(|_| rng.next_u32() & 1 == 1).collect();
        let encrypted = secret.encrypt_bits(&cpu, &bits, &mut rng).unwrap();
        let out = circuit.run(&gates, &encrypted).unwrap();
        let expected = circuit.run(&Plain, &bits).unwrap();
        assert_eq!(secret.decrypt_bits(&out).unwrap(), expected, "seed {seed}");
    }
}

#[test]
fn small_parameters() {
    let halves = |x: &[Signal]| (x[..x.len() / 2].to_vec(), x[x.len() / 2..].to_vec());
    let words = |x: &[Signal], width: usize| x.chunks(width).map(<[_]>::to_vec).collect::<Vec<_>>();
    check(
        &presets::insecure_small().unwrap(),
        1,
        &[
            build(64, |c, x| kogge_stone_add(c, &halves(x).0, &halves(x).1).0),
            build(16, |c, x| ripple_add(c, &halves(x).0, &halves(x).1, Signal::Constant(true)).0),
            build(128, |c, x| vec![less_than(c, &halves(x).0, &halves(x).1)]),
            build(16, |c, x| min_max(c, &halves(x).0, &halves(x).1).1),
            build(16, |c, x| multiply(c, &halves(x).0, &halves(x).1, 16)),
            build(7 * 8, |c, x| sum(c, words(x, 8), 11)),
            build(5 * 4, |c, x| sort(c, words(x, 4)).concat()),
        ],
    );
}

/// The addition of three numbers of the comparison of 2018, at eight bits on its parameters and on
/// secure ones.
#[test]
fn three_numbers_on_real_parameters() {
    let three = build(24, |c, x| sum(c, x.chunks(8).map(<[_]>::to_vec).collect(), 8));
    check(&presets::gates_2m128().unwrap(), 2, std::slice::from_ref(&three));
    check(&presets::insecure_lambda100().unwrap(), 3, std::slice::from_ref(&three));
}
