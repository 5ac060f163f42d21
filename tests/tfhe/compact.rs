//! Computing with what a public key encrypts, which is as good as what the secret key encrypts.

use super::{CPU, keys};
use he::tfhe::{
    Carry, CompactPublicKey, DIGIT_LOOKUP, GATE_LOOKUP, GateEvaluator, IntegerEvaluator, presets,
};
use rand::RngExt;

/// Products, comparisons and signed quotients of lists, with encryptions by the secret key among
/// them, under the parameters that are for data.
#[test]
fn integers_of_a_public_key_under_real_parameters() {
    let cpu = &CPU();
    let params = presets::digits_2m128().unwrap();
    let noise = params.noise();
    // The first bootstrap fails as rarely as any other.
    assert!(noise.public < noise.bootstrapped() && noise.input() == noise.bootstrapped());
    assert!(noise.failure_log2(DIGIT_LOOKUP.0, DIGIT_LOOKUP.1) <= -128.0);
    let (secret, key, mut rng) = keys(&params, 130);
    let public = CompactPublicKey::generate(&secret, &mut rng);
    let ev = IntegerEvaluator::new(cpu, &key, Carry::Ripple).unwrap();
    let x: Vec<u64> = [0, 255, 128].into_iter().chain((0..3).map(|_| rng.random_range(0..256))).collect();
    let y: Vec<u64> = [255, 255, 127].into_iter().chain((0..3).map(|_| rng.random_range(0..256))).collect();
    let a = public.encrypt_u64(&x, 8, &mut rng).unwrap().expand(cpu).unwrap();
    let b = public.encrypt_u64(&y, 8, &mut rng).unwrap().expand(cpu).unwrap();
    let pairs = || x.iter().zip(&y);
    let product = secret.decrypt_u64(&ev.mul(&a, &b).unwrap()).unwrap();
    assert_eq!(product, pairs().map(|(x, y)| x * y % 256).collect::<Vec<_>>());
    let less = secret.decrypt_flags(&ev.lt(&a, &b).unwrap()).unwrap();
    assert_eq!(less, pairs().map(|(x, y)| x < y).collect::<Vec<_>>());
    let by_secret = secret.encrypt_u64(cpu, &y, 8, &mut rng).unwrap();
    let sum = secret.decrypt_u64(&ev.add(&a, &by_secret).unwrap()).unwrap();
    assert_eq!(sum, pairs().map(|(x, y)| (x + y) % 256).collect::<Vec<_>>());
    let flags: Vec<bool> = x.iter().map(|x| x % 2 == 0).collect();
    let condition = public.encrypt_flags(&flags, &mut rng).unwrap().expand(cpu).unwrap();
    let chosen = secret.decrypt_u64(&ev.select(&condition, &a, &b).unwrap()).unwrap();
    assert_eq!(chosen, pairs().map(|(x, y)| if x % 2 == 0 { *x } else { *y }).collect::<Vec<_>>());
}

/// All operations with signs, fast.
#[test]
fn signed_integers_of_a_public_key() {
    let cpu = &CPU();
    let (secret, key, mut rng) = keys(&presets::insecure_small().unwrap(), 131);
    let public = CompactPublicKey::generate(&secret, &mut rng);
    let ev = IntegerEvaluator::new(cpu, &key, Carry::Ripple).unwrap();
    let (x, y) = ([-7i64, 100, i64::from(i16::MIN), 0], [2i64, -3, 5, -1]);
    let a = public.encrypt_i64(&x, 16, &mut rng).unwrap().expand(cpu).unwrap();
    let b = public.encrypt_i64(&y, 16, &mut rng).unwrap().expand(cpu).unwrap();
    let (quotient, remainder) = ev.div_rem(&a, &b).unwrap();
    let pairs = || x.iter().zip(&y);
    assert_eq!(secret.decrypt_i64(&quotient).unwrap(), pairs().map(|(x, y)| x / y).collect::<Vec<_>>());
    assert_eq!(secret.decrypt_i64(&remainder).unwrap(), pairs().map(|(x, y)| x % y).collect::<Vec<_>>());
    let most = secret.decrypt_i64(&ev.max(&a, &b).unwrap()).unwrap();
    assert_eq!(most, pairs().map(|(x, y)| *x.max(y)).collect::<Vec<_>>());
}

/// Gates under parameters with three polynomials, whose dimension is not a power of two.
#[test]
fn bits_of_a_public_key_under_real_parameters() {
    let cpu = &CPU();
    let params = presets::gates_2m128().unwrap();
    assert!(params.noise().public < params.noise().bootstrapped());
    assert!(params.noise().failure_log2(GATE_LOOKUP.0, GATE_LOOKUP.1) <= -128.0);
    let (secret, key, mut rng) = keys(&params, 132);
    let public = CompactPublicKey::generate(&secret, &mut rng);
    let gates = GateEvaluator::new(cpu, &key).unwrap();
    let (x, y) = ([true, true, false, false], [true, false, true, false]);
    let a = public.encrypt_bits(&x, &mut rng).unwrap().expand(cpu).unwrap();
    let b = public.encrypt_bits(&y, &mut rng).unwrap().expand(cpu).unwrap();
    let pairs = || x.iter().zip(&y);
    let nand = secret.decrypt_bits(&gates.nand(&a, &b).unwrap()).unwrap();
    assert_eq!(nand, pairs().map(|(x, y)| !(x & y)).collect::<Vec<_>>());
    let xor = secret.decrypt_bits(&gates.xor(&a, &b).unwrap()).unwrap();
    assert_eq!(xor, pairs().map(|(x, y)| x ^ y).collect::<Vec<_>>());
    let mux = secret.decrypt_bits(&gates.mux(&a, &b, &gates.not(&b).unwrap()).unwrap()).unwrap();
    assert_eq!(mux, pairs().map(|(x, y)| if *x { *y } else { !y }).collect::<Vec<_>>());
}
