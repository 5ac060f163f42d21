//! Tests truth tables and the noise of gates.

use super::{CPU, keys};
use he::Error;
use he::circuits::bits::{BitOps, Signal};
use he::tfhe::{EncryptedBits, Gadget, GateEvaluator, LweBatch, TfheParams, TfheSpec, presets};

/// All inputs of three bits.
const A: [bool; 8] = [false, false, false, false, true, true, true, true];
const B: [bool; 8] = [false, false, true, true, false, false, true, true];
const C: [bool; 8] = [false, true, false, true, false, true, false, true];

fn truth_tables(params: &TfheParams, seed: u64) {
    let cpu = CPU();
    let (secret, key, mut rng) = keys(params, seed);
    let gates = GateEvaluator::new(&cpu, &key).unwrap();
    let [a, b, c] = [A, B, C].map(|bits| secret.encrypt_bits(&cpu, &bits, &mut rng).unwrap());
    let open = |bits| secret.decrypt_bits(&bits).unwrap();
    let expect =
        |f: fn(bool, bool, bool) -> bool| -> Vec<bool> { (0..8).map(|i| f(A[i], B[i], C[i])).collect() };

    assert_eq!(open(gates.nand(&a, &b).unwrap()), expect(|a, b, _| !(a & b)), "seed {seed}");
    assert_eq!(open(gates.and(&a, &b).unwrap()), expect(|a, b, _| a & b), "seed {seed}");
    assert_eq!(open(gates.or(&a, &b).unwrap()), expect(|a, b, _| a | b), "seed {seed}");
    assert_eq!(open(gates.nor(&a, &b).unwrap()), expect(|a, b, _| !(a | b)), "seed {seed}");
    assert_eq!(open(gates.xor(&a, &b).unwrap()), expect(|a, b, _| a ^ b), "seed {seed}");
    assert_eq!(open(gates.xnor(&a, &b).unwrap()), expect(|a, b, _| a == b), "seed {seed}");
    assert_eq!(open(gates.not(&a).unwrap()), expect(|a, _, _| !a), "seed {seed}");
    assert_eq!(
        open(gates.majority(&a, &b, &c).unwrap()),
        expect(|a, b, c| a & b | a & c | b & c),
        "seed {seed}"
    );
    assert_eq!(open(gates.parity(&a, &b, &c).unwrap()), expect(|a, b, c| a ^ b ^ c), "seed {seed}");
    assert_eq!(open(gates.mux(&a, &b, &c).unwrap()), expect(|a, b, c| if a { b } else { c }), "seed {seed}");
    // Multiplexers' outputs are the noisiest inputs that gates take.
    let noisy = gates.mux(&a, &b, &c).unwrap();
    let noisy = gates.parity(&noisy, &noisy, &noisy).unwrap();
    assert_eq!(open(noisy), expect(|a, b, c| if a { b } else { c }), "seed {seed}");
}

#[test]
fn gates_have_their_truth_tables() {
    for seed in 0..6 {
        truth_tables(&presets::insecure_small().unwrap(), seed);
    }
    truth_tables(&presets::gates_2m128().unwrap(), 100);
    truth_tables(&presets::gates_2m40().unwrap(), 101);
    truth_tables(&presets::insecure_lambda100().unwrap(), 102);
}

#[test]
fn all_sixteen_lookups() {
    let cpu = CPU();
    let (secret, key, mut rng) = keys(&presets::insecure_small().unwrap(), 7);
    let gates = GateEvaluator::new(&cpu, &key).unwrap();
    let [a, b] = [A, B].map(|bits| secret.encrypt_bits(&cpu, &bits, &mut rng).unwrap());
    for table in 0..16u8 {
        let found = secret.decrypt_bits(&gates.lookup(table, &a, &b).unwrap()).unwrap();
        for i in 0..8 {
            assert_eq!(found[i], table >> (2 * u8::from(A[i]) + u8::from(B[i])) & 1 == 1, "{table:04b}");
        }
    }
}

#[test]
fn constants_negations_and_foreign_operands() {
    let cpu = CPU();
    let params = presets::insecure_small().unwrap();
    let (secret, key, mut rng) = keys(&params, 8);
    let gates = GateEvaluator::new(&cpu, &key).unwrap();
    let a = secret.encrypt_bits(&cpu, &A, &mut rng).unwrap();
    let picked = [
        Signal::Constant(true),
        Signal::Slot { index: 7, negated: true },
        Signal::Slot { index: 7, negated: false },
        Signal::Constant(false),
    ];
    let picked = secret.decrypt_bits(&gates.gather(&a, &picked).unwrap()).unwrap();
    assert_eq!(picked, [true, false, true, false]);
    let missing = gates.gather(&a, &[Signal::Slot { index: 8, negated: false }]);
    assert!(matches!(missing, Err(Error::BatchRange { .. })));
    let short = secret.encrypt_bits(&cpu, &A[..3], &mut rng).unwrap();
    assert!(matches!(gates.and(&a, &short), Err(Error::BatchMismatch { .. })));
    let (other, ..) = keys(&presets::gates_2m40().unwrap(), 9);
    let foreign = other.encrypt_bits(&cpu, &A, &mut rng).unwrap();
    assert!(matches!(gates.and(&a, &foreign), Err(Error::ParamsMismatch { .. })));
    assert!(matches!(gates.and(&foreign, &a), Err(Error::ParamsMismatch { .. })));
}

/// The noise of NAND's results on real parameters, 192 samples: within six deviations of a
/// chi-square of the prediction, without the bound of the transform.
#[test]
fn noise_of_real_gates_is_as_predicted() {
    let cpu = CPU();
    let params = presets::gates_2m128().unwrap();
    let (secret, key, mut rng) = keys(&params, 10);
    let gates = GateEvaluator::new(&cpu, &key).unwrap();
    let count = 192;
    let a: Vec<bool> = (0..count).map(|i| i % 3 == 0).collect();
    let b: Vec<bool> = (0..count).map(|i| i % 5 < 2).collect();
    let x = secret.encrypt_bits(&cpu, &a, &mut rng).unwrap();
    let y = secret.encrypt_bits(&cpu, &b, &mut rng).unwrap();
    let z = gates.nand(&x, &y).unwrap();
    let phases = secret.phases(z.ciphertexts()).unwrap();
    let squares = phases.iter().zip(a.iter().zip(&b)).map(|(phase, (a, b))| {
        let message = if a & b { 7u64 << 61 } else { 1 << 61 };
        ((phase.wrapping_sub(message) as i64) as f64 / 64f64.exp2()).powi(2)
    });
    let ratio = squares.sum::<f64>() / count as f64 / params.noise().blind_rotation;
    println!("measured / predicted variance: {ratio:.3}");
    assert!((ratio - 1.0).abs() < 6.0 * (2.0 / count as f64).sqrt(), "{ratio}");
}

/// Bits are near 1/8 or -1/8 of the torus, and a wrong key leaves half of them elsewhere.
#[test]
fn bits_out_of_range_are_refused() {
    let cpu = CPU();
    for seed in 0..3 {
        let params = presets::insecure_small().unwrap();
        let (secret, _, mut rng) = keys(&params, seed);
        let bits = [true, false, true, true].repeat(32);
        let x = secret.encrypt_bits(&cpu, &bits, &mut rng).unwrap();
        assert_eq!(secret.decrypt_bits(&x).unwrap(), bits);
        let (wrong, _, _) = keys(&params, 100 + seed);
        // From words, which do not name their key.
        let x = LweBatch::upload(&cpu, &params, &x.ciphertexts().download().unwrap()).unwrap();
        let error = wrong.decrypt_bits(&EncryptedBits::from_ciphertexts(x)).unwrap_err();
        let Error::BadDigits { bad, count: 128 } = error else { panic!("seed {seed}: {error:?}") };
        assert!((38..=90).contains(&bad), "seed {seed}: {bad}");
        // In sixteenths of the torus: odd ones, between which the borders lie.
        for phase in (1u64..16).step_by(2) {
            let x = secret.encrypt(&cpu, &[phase << 60], &mut rng).unwrap();
            match secret.decrypt_bits(&EncryptedBits::from_ciphertexts(x)) {
                Ok(found) => assert!(phase < 4 && found == [true] || phase > 12 && found == [false]),
                Err(Error::BadDigits { bad: 1, count: 1 }) => assert!((4..12).contains(&phase)),
                Err(error) => panic!("phase {phase}: {error}"),
            }
        }
    }
}

/// Gates that would be wrong half of the time are refused, as integers are.
#[test]
fn hopeless_parameters_are_refused() {
    let gadget = Gadget { base_log: 1, levels: 1 };
    let params = TfheParams::insecure(TfheSpec {
        lwe_dimension: 30,
        lwe_sigma_log2: -4.0,
        glwe_dimension: 1,
        log_degree: 5,
        glwe_sigma_log2: -10.0,
        bootstrap: gadget,
        switch: gadget,
    });
    let (_, key, _) = keys(&params.unwrap(), 1);
    let error = GateEvaluator::new(&CPU(), &key).unwrap_err();
    assert!(matches!(error, Error::Argument { what: "TFHE parameters", .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("gates would fail with probability 2^-0") && text.contains("2^-32"), "{text}");
}
