//! Coefficients as plaintexts, monomials, and expansion.

use crate::common::{World, numbers, params, seeded};
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::exact::{Ciphertext, Decryptor, Evaluator, ExactSpec, Params, Scheme, SecretEncryptor};
use he_core::ring::Ring;
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use he_core::{Error, ckks, ckks::Encoder};
use rand::{RngExt, rngs::ChaCha20Rng};

fn small() -> ckks::CkksParams {
    params(5, &[50, 40, 40], &[51], 40.0)
}

/// A polynomial times X^exponent modulo X^N + 1.
fn shifted<T: Copy + std::ops::Neg<Output = T>>(x: &[T], exponent: i64) -> Vec<T> {
    let n = x.len() as i64;
    let source = |i: i64| (i - exponent).rem_euclid(2 * n);
    let at = |i| if source(i) < n { x[source(i) as usize] } else { -x[(source(i) - n) as usize] };
    (0..n).map(at).collect()
}

/// Entry i of an expansion: the coefficients of X^i, X^(i + count), ...
fn entry<T: Copy + Default>(x: &[T], i: usize, count: usize) -> Vec<T> {
    let at = |k: usize| if k.is_multiple_of(count) { x[i + k] } else { T::default() };
    (0..x.len()).map(at).collect()
}

#[test]
fn coefficients_are_rounded_once() {
    let (mut rng, params) = (seeded(), small());
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let encoder = Encoder::new(&params, &ring).unwrap();
    // Scales whose products fit 62 bits, and 126.
    for scale in [1.0, 20f64.exp2(), 75f64.exp2()] {
        let to = params.encoding().scale(scale);
        let values = [numbers(ring.n(), &mut rng), numbers(3, &mut rng)];
        let plain = encoder.encode_coefficients_batch(&[&values[0], &values[1]], to).unwrap();
        let found = encoder.decode_coefficients(&plain).unwrap();
        assert_eq!((plain.batch(), plain.slots(), found[1].len()), (2, ring.n() / 2, ring.n()));
        for (found, values) in found.iter().zip(&values) {
            for (i, &found) in found.iter().enumerate() {
                let value = values.get(i).copied().unwrap_or(0.0);
                let error = 0.5 / scale + 50f64.exp2().recip() * value.abs();
                assert!((found - value).abs() <= error, "{i}: {found}, not {value} at {scale}");
            }
        }
    }
    let to = params.encoding();
    let found = encoder.encode_coefficients(&[0.0, f64::NAN], to);
    assert!(matches!(found, Err(Error::NotFinite { index: 1 })), "{found:?}");
    let found = encoder.encode_coefficients(&[0.0, 2.0, 95f64.exp2()], to);
    assert!(matches!(found, Err(Error::ValueTooLarge { index: 2, .. })), "{found:?}");
    let found = encoder.encode_coefficients(&[0.0; 33], to);
    assert!(matches!(found, Err(Error::TooManyValues { found: 33, capacity: 32 })), "{found:?}");
    let found = encoder.encode_coefficients_batch(&[], to);
    assert!(matches!(found, Err(Error::BatchRange { .. })), "{found:?}");
}

#[test]
fn monomials_shift() {
    let mut rng = seeded();
    let world = World::new(small(), &mut rng);
    let rows = [numbers(world.n(), &mut rng), numbers(world.n(), &mut rng)];
    let ct = world.encrypt(&rows, true, &mut rng);
    for exponent in [0, 1, -1, 31, 32, 63, 64, rng.random_range(-1000..1000), i64::MIN, i64::MAX] {
        let found = world.ev.mul_monomial(&ct, exponent).unwrap();
        let exponent = exponent.rem_euclid(64);
        world.assert_within_noise(&found, &[shifted(&rows[0], exponent), shifted(&rows[1], exponent)]);
        assert_eq!((found.level(), found.scale(), found.noise()), (ct.level(), ct.scale(), ct.noise()));
    }
}

#[test]
fn expansions_have_one_coefficient_each() {
    let mut rng = seeded();
    let world = World::new(small(), &mut rng);
    let n = world.n();
    let rows = [numbers(n, &mut rng), numbers(n, &mut rng)];
    for count in [1, 2, 8, n] {
        let keys = world.keys(KeyRequirements::new().expansion(5, count), &mut rng);
        assert_eq!(keys.galois_keys().count(), count.ilog2() as usize);
        let found = world.ev.expand(&world.encrypt(&rows, false, &mut rng), count, &keys).unwrap();
        let expected: Vec<_> = (0..2 * count).map(|k| entry(&rows[k % 2], k / 2, count)).collect();
        world.assert_within_noise(&found, &expected);
    }
    let ct = world.encrypt(&rows, false, &mut rng);
    let keys = world.keys(KeyRequirements::new().expansion(5, 4), &mut rng);
    for count in [0, 3, 64] {
        let found = world.ev.expand(&ct, count, &keys).unwrap_err().to_string();
        assert!(found.contains(&count.to_string()) && found.contains("32"), "{found}");
    }
    let found = world.ev.expand(&ct, 8, &keys).unwrap_err().to_string();
    assert!(found.contains("Galois element 9"), "{found}");
    let stranger = SecretKey::generate(world.params.rlwe(), &mut rng);
    let needs = KeyRequirements::new().expansion(5, 4);
    let stranger = EvaluationKeys::generate(&stranger, &world.ring, needs, &mut rng).unwrap();
    for count in [1, 4] {
        let found = world.ev.expand(&ct, count, &stranger);
        assert!(matches!(found, Err(Error::KeyMismatch { .. })), "{found:?}");
    }
}

/// The portions in which a batch is expanded differ from those of each of its ciphertexts, and the
/// words do not.
#[test]
fn words_do_not_depend_on_the_batch() {
    let mut rng = seeded();
    let world = World::new(small(), &mut rng);
    let n = world.n();
    let rows = [numbers(n, &mut rng), numbers(n, &mut rng), numbers(n, &mut rng)];
    let keys = world.keys(KeyRequirements::new().expansion(5, n), &mut rng);
    let ct = world.encrypt(&rows, false, &mut rng);
    let words = |ct: &ckks::Ciphertext| ct.to_bytes(&world.params).unwrap();
    let together = world.ev.expand(&ct, n, &keys).unwrap();
    for k in 0..3 {
        let alone = world.ev.expand(&ct.slice_batch(k..k + 1).unwrap(), n, &keys).unwrap();
        for i in 0..n {
            let [a, b] = [together.slice_batch(3 * i + k..3 * i + k + 1), alone.slice_batch(i..i + 1)];
            assert!(words(&a.unwrap()) == words(&b.unwrap()), "coefficient {i} of ciphertext {k}");
        }
    }
}

fn exact<S: Scheme>(t: u64, rng: &mut ChaCha20Rng) {
    let spec = ExactSpec::from_bits(5, &[50, 50], &[51], t).unwrap();
    let params = Params::<S>::insecure(spec).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let ev = Evaluator::new(&params, &ring).unwrap();
    let x: Vec<i64> = (0..32).map(|_| rng.random_range(0..t) as i64).collect();
    let residues = |x: &[i64]| x.iter().map(|&c| c.rem_euclid(t as i64)).collect::<Vec<_>>();
    let words = |x: &[i64]| residues(x).into_iter().map(|c| c as u64).collect::<Vec<u64>>();
    let plain = ev.encoder().encode_coefficients(&words(&x)).unwrap();
    let encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
    let ct = encryptor.encrypt(&plain, rng).unwrap().expand().unwrap();
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let decrypt = |ct: Ciphertext<S>| -> Vec<Vec<u64>> {
        ev.encoder().decode_coefficients(&decryptor.decrypt(&ct).unwrap()).unwrap()
    };
    let exponent = rng.random_range(-100..100);
    let found = decrypt(ev.mul_monomial(&ct, exponent).unwrap());
    assert_eq!(found, [words(&shifted(&x, exponent))], "X^{exponent} modulo {t}");
    for count in [1, 8, 32] {
        let needs = KeyRequirements::new().expansion(5, count);
        let keys = EvaluationKeys::generate(&secret, &ring, needs, rng).unwrap();
        let found = decrypt(ev.expand(&ct, count, &keys).unwrap());
        let expected: Vec<_> = (0..count).map(|i| words(&entry(&x, i, count))).collect();
        assert_eq!(found, expected, "{count} coefficients modulo {t}");
    }
}

#[test]
fn exact_schemes_expand_and_shift() {
    let mut rng = seeded();
    for t in [2, 193, 1 << 16] {
        exact::<Bfv>(t, &mut rng);
        exact::<Bgv>(t, &mut rng);
    }
}
