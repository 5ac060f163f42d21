//! Misuse gives one error with a reason and a remedy, never a panic and never a wrong result.

use super::common::*;
use he::backend::Cpu;
use he::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encoder, Encryptor, Evaluator, LevelGroup,
    SecretEncryptor, SeededCiphertext,
};
use he::params::{ParamsError, Security};
use he::ring::{Coeff, Eval, Poly, Ring, Seed, Span, galois_conjugation, galois_rotation};
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, RlweCiphertext, SecretKey, SwitchKey};
use he::{Error, Result};

fn params(log_n: u32, depth: usize, p_bits: u32) -> CkksParams {
    let mut q_bits = vec![36; depth + 1];
    q_bits[0] = 45;
    CkksParams::insecure(CkksSpec::from_bits(log_n, &q_bits, &[p_bits], 36.0).unwrap()).unwrap()
}

#[track_caller]
fn text<T>(result: Result<T>, expected: &str) {
    let Err(error) = result else { panic!("no error, where this was expected: {expected}") };
    assert_eq!(error.to_string(), expected);
}

#[track_caller]
fn params_text<T>(result: Result<T, ParamsError>, expected: &str) {
    let Err(error) = result else { panic!("no error, where this was expected: {expected}") };
    assert_eq!(error.to_string(), expected);
}

#[test]
fn keys_of_other_parameters_are_named() {
    let rng = &mut rng(20);
    let (w, other) = (World::new(&params(4, 2, 46), [1], rng), World::new(&params(4, 2, 47), [1], rng));
    let fingerprints = |found: &World, expected: &World| {
        let of = |w: &World| w.params.rlwe().fingerprint();
        format!("was made under other parameters (fingerprint {}, expected {})", of(found), of(expected))
    };
    let why = fingerprints(&other, &w);
    text(Encryptor::new(&w.params, &other.public), &format!("the public key {why}"));
    text(Decryptor::new(&w.params, &other.secret, &w.ring), &format!("the secret key {why}"));
    text(SecretEncryptor::new(&w.params, &other.secret, &w.ring), &format!("the secret key {why}"));
    let a = w.random(1, 8, 2, rng);
    for result in [
        w.ev.mul(&a.ct, &a.ct, &other.keys),
        w.ev.square(&a.ct, &other.keys),
        w.ev.rotate(&a.ct, 1, &other.keys),
        w.ev.conjugate(&a.ct, &other.keys),
        w.ev.inner_sum(&a.ct, 2, &other.keys),
        w.ev.sum_of_rotations(&a.ct, &[(1, 0.5)], &other.keys),
        w.ev.relinearize(&w.ev.tensor(&a.ct, &a.ct).unwrap(), &other.keys),
    ] {
        text(result, &format!("the evaluation key {why}"));
    }
    let many = w.ev.rotate_many(&a.ct, &[1], &other.keys);
    text(many, &format!("the evaluation key {why}"));
    // A fingerprint is eight bytes in hexadecimal, and debug output says the same.
    let shown = w.params.fingerprint().to_string();
    assert!(shown.len() == 16 && shown.bytes().all(|c| c.is_ascii_hexdigit()));
    assert_eq!(format!("{:?}", w.params.fingerprint()), format!("Fingerprint({shown})"));
}

#[test]
fn rings_of_other_parameters_are_refused() {
    let rng = &mut rng(21);
    let (w, other) = (World::new(&params(4, 2, 46), [1], rng), World::new(&params(4, 3, 46), [1], rng));
    const MISMATCH: &str = "operands belong to different rings; move one with `to` first";
    text(Evaluator::new(&w.params, &other.ring), MISMATCH);
    text(Encoder::new(&w.params, &other.ring), MISMATCH);
    text(Decryptor::new(&w.params, &w.secret, &other.ring), MISMATCH);
    text(SecretEncryptor::new(&w.params, &w.secret, &other.ring), MISMATCH);
    text(PublicKey::generate(&w.secret, &other.ring, rng), MISMATCH);
    text(
        EvaluationKeys::generate(
            &w.secret,
            &other.ring,
            KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
            rng,
        ),
        MISMATCH,
    );
    text(EvaluationKeys::empty(w.params.rlwe(), &other.ring), MISMATCH);
    text(w.keys.to(&other.ring), MISMATCH);
    text(w.public.body().to(&other.ring), MISMATCH);
    text(w.secret.on(&other.ring, Span::chain(1)), MISMATCH);
}

/// Ciphertexts, plaintexts and keys of parameters with more levels, fewer levels, or another
/// degree.
#[test]
fn operands_of_other_rings_never_compute() {
    let rng = &mut rng(22);
    let w = World::new(&params(4, 2, 46), [1], rng);
    for other in [params(4, 5, 46), params(4, 1, 46), params(4, 2, 47), params(3, 2, 46), params(5, 4, 46)] {
        let o = World::new(&other, [1], rng);
        let (a, b) = (w.random(1, 4, 2, rng), o.random(1, 4, o.top(), rng));
        let foreign = &b.ct;
        let plain = o.encode(&b.values, o.top());
        let product = o.ev.tensor(&b.ct, &b.ct).unwrap();
        let weight = o.ev.encode_weight(&b.values[0], o.top()).unwrap();
        let mut own_product = w.ev.tensor(&a.ct, &a.ct).unwrap();
        let results: Vec<(&str, Result<()>)> = vec![
            ("add", w.ev.add(&a.ct, foreign).map(drop)),
            ("add, left", w.ev.add(foreign, &a.ct).map(drop)),
            ("add, both", w.ev.add(foreign, foreign).map(drop)),
            ("sub", w.ev.sub(&a.ct, foreign).map(drop)),
            ("neg", w.ev.neg(foreign).map(drop)),
            ("tensor", w.ev.tensor(foreign, &a.ct).map(drop)),
            ("mul", w.ev.mul(foreign, foreign, &w.keys).map(drop)),
            ("mul_integer", w.ev.mul_integer(foreign, 3).map(drop)),
            ("mul_scalar", w.ev.mul_scalar(foreign, 0.5).map(drop)),
            ("add_scalar", w.ev.add_scalar(foreign, Complex64::ONE).map(drop)),
            ("add_scalar, complex", w.ev.add_scalar(foreign, Complex64::I).map(drop)),
            ("add_plain", w.ev.add_plain(&a.ct, &plain).map(drop)),
            ("mul_plain", w.ev.mul_plain(&a.ct, &plain).map(drop)),
            ("rescale", w.ev.rescale(foreign).map(drop)),
            ("drop_to_level", w.ev.drop_to_level(foreign, 1).map(drop)),
            ("mod_switch_to", w.ev.mod_switch_to(foreign, 0).map(drop)),
            ("rotate", w.ev.rotate(foreign, 1, &w.keys).map(drop)),
            ("rotate by nothing", w.ev.rotate(foreign, 0, &w.keys).map(drop)),
            ("rotate_many", w.ev.rotate_many(foreign, &[1], &w.keys).map(drop)),
            ("conjugate", w.ev.conjugate(foreign, &w.keys).map(drop)),
            ("inner_sum", w.ev.inner_sum(foreign, 2, &w.keys).map(drop)),
            ("inner_sum of one", w.ev.inner_sum(foreign, 1, &w.keys).map(drop)),
            ("sum_of_rotations", w.ev.sum_of_rotations(foreign, &[(1, 0.5)], &w.keys).map(drop)),
            ("masked", w.ev.sum_of_masked_rotations(&a.ct, &[(1, &weight)], &w.keys).map(drop)),
            ("linear", w.ev.linear_combination(&[(&a.ct, 1.0), (foreign, 0.5)]).map(drop)),
            ("relinearize", w.ev.relinearize(&product, &w.keys).map(drop)),
            ("relinearize_rescale", w.ev.relinearize_rescale(&product, &w.keys).map(drop)),
            ("add_products", w.ev.add_products(&mut own_product, &product).map(drop)),
            ("decode", w.ev.encoder().decode(&plain).map(drop)),
            ("encode for it", {
                let to = w.params.encoding_for(foreign);
                // Nothing to refuse if the level and the slots exist here as well.
                let fits = o.top() <= w.top() && foreign.slots() <= w.params.slots();
                let result = w.ev.encoder().encode(&[], to).map(drop);
                if fits { result.and(Err(Error::RingMismatch)) } else { result }
            }),
            ("encrypt", Encryptor::new(&w.params, &w.public).unwrap().encrypt(&plain, rng).map(drop)),
            (
                "encrypt by secret",
                SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap().encrypt(&plain, rng).map(drop),
            ),
            ("decrypt", Decryptor::new(&w.params, &w.secret, &w.ring).unwrap().decrypt(foreign).map(drop)),
            ("concat", Ciphertext::concat(&[&a.ct, foreign]).map(drop)),
        ];
        for (op, result) in results {
            let refused = matches!(
                result,
                Err(Error::RingMismatch
                    | Error::LevelTooHigh { .. }
                    | Error::SpanMismatch { .. }
                    | Error::ScaleMismatch { .. }
                    | Error::SlotCount { .. })
            );
            assert!(refused, "{op}: {result:?}, {:?}", o.ring);
        }
    }
}

/// One ring, two divisions of its chain into levels: a ciphertext of one is not a ciphertext of the
/// other.
#[test]
fn ciphertexts_of_other_levels_are_refused() {
    let rng = &mut rng(23);
    let spec = CkksSpec::from_bits(4, &[45, 36, 36, 36, 36], &[46], 36.0).unwrap();
    let w = World::new(&CkksParams::insecure(spec.clone()).unwrap(), [1], rng);
    let fewer = CkksParams::insecure(spec.with_levels(vec![3, 5], 72.0)).unwrap();
    assert_ne!(fewer.fingerprint(), w.params.fingerprint());
    let ev = Evaluator::new(&fewer, &w.ring).unwrap();
    let a = w.random(1, 8, 4, rng);
    let results: Vec<(&str, Result<Ciphertext<Cpu>>)> = vec![
        ("add", ev.add(&a.ct, &a.ct)),
        ("rescale", ev.rescale(&a.ct)),
        ("drop", ev.drop_to_level(&a.ct, 0)),
        ("lower", ev.mod_switch_to(&a.ct, 0)),
        ("neg", ev.neg(&a.ct)),
        ("mul", ev.mul(&a.ct, &a.ct, &w.keys)),
        ("mul_integer", ev.mul_integer(&a.ct, 2)),
        ("rotate", ev.rotate(&a.ct, 1, &w.keys)),
        ("relinearize", ev.relinearize(&w.ev.tensor(&a.ct, &a.ct).unwrap(), &w.keys)),
        ("mul_plain", w.ev.mul_plain(&a.ct, &ev.encoder().encode(&[], fewer.encoding()).unwrap())),
    ];
    for (op, result) in results {
        let refused = matches!(
            result,
            Err(Error::LevelTooHigh { .. } | Error::SpanMismatch { .. } | Error::ScaleMismatch { .. })
        );
        assert!(refused, "{op}: {result:?}");
    }
    // Level 1 exists in both, over other primes.
    let low = w.random(1, 8, 1, rng);
    assert!(matches!(ev.add(&low.ct, &low.ct), Err(Error::SpanMismatch { .. })));
}

#[test]
fn missing_keys_are_named() {
    let rng = &mut rng(24);
    let w = World::new(&params(5, 2, 46), [1, 4], rng);
    let a = w.random(1, 16, 2, rng);
    for step in [2i32, 3, 7, -5] {
        let shown = i64::from(step).rem_euclid(16);
        let expected =
            format!("no Galois key for a rotation by {shown}; generate evaluation keys with this step");
        for result in [
            w.ev.rotate(&a.ct, step.into(), &w.keys).map(drop),
            w.ev.rotate_many(&a.ct, &[1, step.into()], &w.keys).map(drop),
            w.ev.sum_of_rotations(&a.ct, &[(1, 0.5), (step.into(), 0.5)], &w.keys).map(drop),
            w.keys.rotation_path(step.into()).map(drop),
        ] {
            text(result, &expected);
        }
    }
    // 5 = 1 + 4 needs no key of its own.
    w.check("path", &w.rotate(&a, 5), 2);
    text(
        w.ev.inner_sum(&a.ct, 4, &w.keys),
        "no Galois key for a rotation by 2; generate evaluation keys with this step",
    );
    let none = EvaluationKeys::empty(w.params.rlwe(), &w.ring).unwrap();
    const RELIN: &str = "no relinearisation key; generate evaluation keys with relinearisation";
    text(w.ev.mul(&a.ct, &a.ct, &none), RELIN);
    text(none.relin(), RELIN);
    text(
        w.ev.conjugate(&a.ct, &none),
        "no Galois key for conjugation; generate evaluation keys with conjugation",
    );
    // Rotating by nothing needs no key.
    assert_eq!(words(&w.ev.rotate(&a.ct, 16, &none).unwrap()), words(&a.ct));
}

/// Every expansion over powers of two counts, not only the first one tried.
#[test]
fn paths_are_found_whatever_powers_there_are() {
    let rng = &mut rng(25);
    let params = params(5, 1, 46);
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let powers = [1i64, -1, 2, -2, 4, -4, 8];
    for subset in 0u32..1 << powers.len() {
        let steps: Vec<i64> = (0..powers.len()).filter(|i| subset >> i & 1 == 1).map(|i| powers[i]).collect();
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations(steps.iter().copied()),
            rng,
        )
        .unwrap();
        // Signed sums with every power used at most once, modulo the 16 slots; 8 = -8.
        let mut shortest = [usize::MAX; 16];
        for choice in 0..3usize.pow(4) {
            let digits: Vec<i64> = (0..4).map(|i| (choice / 3usize.pow(i) % 3) as i64 - 1).collect();
            let terms: Vec<i64> = (0..4).map(|i| digits[i] << i).filter(|&term| term != 0).collect();
            let present = |term: i64| steps.iter().any(|&step| (step - term).rem_euclid(16) == 0);
            if terms.iter().all(|&term| present(term)) {
                let sum = terms.iter().sum::<i64>().rem_euclid(16) as usize;
                shortest[sum] = shortest[sum].min(terms.len());
            }
        }
        for step in 0..16 {
            match keys.rotation_path(step) {
                Ok(path) => {
                    assert_eq!(path.len(), shortest[step as usize], "{steps:?}, {step}: {path:?}");
                    assert_eq!((path.iter().sum::<i64>() - step).rem_euclid(16), 0, "{steps:?}: {path:?}");
                }
                Err(Error::MissingGaloisKey { step: found }) => {
                    assert_eq!(found, step);
                    assert_eq!(shortest[step as usize], usize::MAX, "{steps:?} could rotate by {step}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[test]
fn exhausted_levels_and_scales() {
    let rng = &mut rng(26);
    let w = World::new(&params(4, 2, 46), [1], rng);
    let (a, low) = (w.random(1, 8, 2, rng), w.random(1, 8, 0, rng));
    const EXHAUSTED: &str =
        "the operation needs 1 level(s) and the ciphertext has 0 left; use parameters of greater depth";
    text(w.ev.mul(&a.ct, &low.ct, &w.keys), EXHAUSTED);
    text(w.ev.mul_scalar(&low.ct, 0.5), EXHAUSTED);
    text(w.ev.sum_of_rotations(&low.ct, &[(1, 0.5)], &w.keys), EXHAUSTED);
    text(w.ev.mod_switch_to(&low.ct, 1), "level 1 is above the highest possible here, 0");
    text(w.params.level(3), "level 3 is above the highest possible here, 2");
    text(
        w.ev.tensor(&low.ct, &low.ct),
        "a scale of 2^72.00 does not fit a modulus of 2^45.00; rescale or choose a smaller scale",
    );
    text(
        w.ev.encoder().encode(&[Complex64::new(1e4, 0.0)], w.encoding(0, 1)),
        "value 0 times the scale needs 51 bits and level 0 holds 44; use smaller values, a smaller scale or parameters of wider range",
    );
    text(
        w.ev.encoder().encode(&[Complex64::new(0.0, f64::NAN)], w.params.encoding()),
        "value 0 is not a finite number",
    );
    text(
        w.ev.encoder().encode(&[], w.params.encoding().slots(3)),
        "3 slots requested; a power of two from 1 to 8 is possible",
    );
    text(
        w.ev.encoder().encode(&[Complex64::ONE; 9], w.params.encoding()),
        "9 values for 8 slots; split them over a batch",
    );
    text(w.ev.encoder().host_vector(9), "9 values for 8 slots; split them over a batch");
    let mut vector = w.ev.encoder().host_vector(8).unwrap();
    vector.numbers_mut().unwrap()[5].im = f64::INFINITY;
    text(w.ev.encoder().encode_host_vector(&vector, w.params.encoding()), "value 5 is not a finite number");
    text(
        w.ev.encoder().encode_host_vector(&vector, w.params.encoding().slots(4)),
        "8 values for 4 slots; split them over a batch",
    );
    // A plaintext of this level with another scale.
    let plain = w.ev.encoder().encode(&[Complex64::ONE], w.params.encoding().scale(2f64.powi(30))).unwrap();
    const SCALES: &str =
        "scales differ (2^36.0000 and 2^30.0000); use the aligning operations or rescale first";
    text(w.ev.add_plain(&a.ct, &plain), SCALES);
    text(w.ev.mul_plain(&a.ct, &plain), SCALES);
    let mut odd = low.duplicate();
    odd.ct.set_scale(2f64.powi(30));
    text(
        w.ev.add(&low.ct, &odd.ct),
        "scales differ (2^30.0000 and 2^36.0000); use the aligning operations or rescale first",
    );
    text(
        w.ev.add(&w.random(2, 8, 1, rng).ct, &w.random(3, 8, 1, rng).ct),
        "operands hold batches of 2 and 3; a batch fits an equal batch or a single entry",
    );
    text(a.ct.slice_batch(0..2), "batch entries 0..2 do not exist in a batch of 1");
    text(w.ev.linear_combination(&[]), "terms: a linear combination needs at least one term");
    text(w.ev.sum_of_rotations(&a.ct, &[], &w.keys), "terms: a sum of rotations needs at least one term");
    text(
        SecretKey::from_coefficients(w.params.rlwe(), vec![2; 16].into()),
        "secret key: 16 coefficients in -1 ..= 1 are needed",
    );
    text(
        SecretKey::from_coefficients(w.params.rlwe(), vec![1; 15].into()),
        "secret key: 16 coefficients in -1 ..= 1 are needed",
    );
}

/// A ciphertext dropped to level 0 has a scale of no level and no level left: a product reports
/// that it needs a level, and a sum that scales differ, with enough digits to show it.
#[test]
fn products_of_what_was_dropped_need_a_level() {
    let rng = &mut rng(28);
    let params = CkksParams::insecure(CkksSpec::from_bits(6, &[45, 30, 30], &[46], 30.0).unwrap()).unwrap();
    let w = World::new(&params, [1], rng);
    let (a, settled) = (w.random(1, 8, 2, rng), w.random(1, 8, 0, rng));
    let low = w.ev.drop_to_level(&a.ct, 0).unwrap();
    assert_ne!(low.scale(), settled.ct.scale());
    let plain = w.ev.encoder().encode(&[Complex64::ONE], w.encoding(0, 1)).unwrap();
    let weight = w.ev.encode_weight(&[Complex64::ONE], 0).unwrap();
    for result in [
        w.ev.mul_scalar(&low, 0.5),
        w.ev.linear_combination(&[(&a.ct, 0.5), (&low, 0.5)]),
        w.ev.mul_plain(&low, &plain),
        w.ev.plain_combination(&[(&low, &plain)]),
        w.ev.sum_of_rotations(&low, &[(1, 0.5)], &w.keys),
        w.ev.sum_of_masked_rotations(&low, &[(1, &weight)], &w.keys),
        w.ev.mul(&low, &low, &w.keys),
    ] {
        assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })), "{result:?}");
    }
    let message = w.ev.add(&low, &settled.ct).unwrap_err().to_string();
    let scales: Vec<&str> = message.split(['(', ')']).nth(1).unwrap().split(" and ").collect();
    assert_ne!(scales[0], scales[1], "{message}");
}

/// A plaintext whose scale leaves no bits of the aligning constant would be rounded to nothing.
#[test]
fn plaintexts_of_hopeless_scales_are_refused() {
    let rng = &mut rng(27);
    let w = World::new(&params(4, 3, 46), [], rng);
    let a = w.random(1, 8, 1, rng);
    for log2 in [60, 70, 80] {
        let to = w.encoding(3, 8).scale(f64::from(log2).exp2());
        let plain = w.ev.encoder().encode(&[Complex64::ONE; 8], to).unwrap();
        for result in [w.ev.add_plain(&a.ct, &plain), w.ev.mul_plain(&a.ct, &plain)] {
            assert!(matches!(result, Err(Error::ScaleMismatch { .. })), "2^{log2}: {result:?}");
        }
    }
    let to = w.encoding(3, 8).scale(40f64.exp2());
    let plain = w.ev.encoder().encode(&[Complex64::ONE; 8], to).unwrap();
    let sum = w.ev.add_plain(&a.ct, &plain).unwrap();
    let values = map(&a.values, |z| z + 1.0);
    assert!(worst_difference(&w.decrypt(&sum), &values) < 1e-5);
}

/// Scales set by hand to any value give an error where they are used, never a panic.
#[test]
fn impossible_scales_are_refused_where_they_are_used() {
    let rng = &mut rng(28);
    let w = World::new(&params(4, 2, 46), [1], rng);
    let good = w.random(1, 8, 2, rng);
    for scale in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, f64::MIN_POSITIVE, f64::MAX] {
        let mut bad = good.duplicate().ct;
        bad.set_scale(scale);
        for result in [
            w.ev.add(&bad, &good.ct),
            w.ev.add(&good.ct, &bad),
            w.ev.mul(&bad, &good.ct, &w.keys),
            w.ev.mod_switch_to(&bad, 0),
            w.ev.rescale(&bad),
            w.ev.drop_to_level(&bad, 0),
            w.ev.mul_scalar(&bad, 0.5),
            w.ev.sum_of_rotations(&bad, &[(1, 0.5)], &w.keys),
            w.ev.add_scalar(&bad, Complex64::I),
        ] {
            let refused = matches!(
                result,
                Err(Error::ScaleRange { .. } | Error::ScaleMismatch { .. } | Error::ValueTooLarge { .. })
            );
            assert!(refused, "{scale}: {result:?}");
        }
        let mut plain = w.encode(&good.values, 2);
        plain.set_scale(scale);
        assert!(matches!(w.ev.encoder().decode(&plain), Err(Error::ScaleRange { .. })), "{scale}");
        assert!(w.ev.add_plain(&good.ct, &plain).is_err(), "{scale}");
        assert!(w.ev.mul_plain(&w.random(1, 8, 1, rng).ct, &plain).is_err(), "{scale}");
        let pair = || RlweCiphertext::concat(&[good.ct.pair()]).unwrap();
        let parts = Ciphertext::from_parts(&w.params, pair(), 2, scale, 8);
        assert!(matches!(parts, Err(Error::ScaleRange { .. })), "{scale}");
    }
}

#[test]
fn parts_are_checked_against_the_parameters() {
    let rng = &mut rng(29);
    let w = World::new(&params(4, 2, 46), [], rng);
    let a = w.random(1, 8, 2, rng);
    let pair = || a.ct.pair().duplicate().unwrap();
    let c0 = || a.ct.pair().parts()[0].duplicate().unwrap();
    assert!(Ciphertext::from_parts(&w.params, pair(), 2, a.ct.scale(), 8).is_ok());
    for (level, slots) in [(0, 8), (1, 8), (3, 8), (usize::MAX, 8), (2, 0), (2, 3), (2, 16)] {
        let result = Ciphertext::from_parts(&w.params, pair(), level, a.ct.scale(), slots);
        let seeded = SeededCiphertext::from_parts(&w.params, c0(), Seed([0; 32]), level, a.ct.scale(), slots);
        for error in [result.map(drop), seeded.map(drop)] {
            match error {
                Err(Error::SpanMismatch { .. }) => assert!(level < 2),
                Err(Error::LevelTooHigh { found, highest: 2 }) => assert!(level > 2 && found == level),
                Err(Error::SlotCount { found, capacity: 8 }) => assert_eq!((level, found), (2, slots)),
                other => panic!("level {level}, {slots} slots: {other:?}"),
            }
        }
    }
    let other = World::new(&params(4, 2, 47), [], rng);
    let foreign = other.random(1, 8, 2, rng);
    let result =
        Ciphertext::from_parts(&w.params, foreign.ct.pair().duplicate().unwrap(), 2, a.ct.scale(), 8);
    assert!(matches!(result, Err(Error::RingMismatch)));
    let c1 = foreign.ct.pair().parts()[1].duplicate().unwrap();
    assert!(matches!(RlweCiphertext::new(c0(), c1), Err(Error::RingMismatch)));
    let short = c0().duplicate_chain(1).unwrap();
    assert!(matches!(RlweCiphertext::new(c0(), short), Err(Error::SpanMismatch { .. })));
}

/// Keys put together by hand or read under other parameters.
#[test]
fn foreign_switching_keys_are_refused() {
    let rng = &mut rng(30);
    let w = World::new(&params(4, 2, 46), [1], rng);
    for other in [params(4, 4, 46), params(4, 2, 47), params(5, 2, 46)] {
        let o = World::new(&other, [1], rng);
        let span = o.params.rlwe().key_span();
        let bodies = |w: &World, count: usize| -> Vec<Poly<Eval, Cpu>> {
            (0..count)
                .map(|_| Poly::uniform(&w.ring, w.params.rlwe().key_span(), 1, &Seed([1; 32]), 0).unwrap())
                .collect()
        };
        let own = w.params.rlwe();
        let digits = own.digits().len();
        let seed = || Seed([2; 32]);
        assert!(SwitchKey::from_bodies(own, &w.ring, seed(), &bodies(&w, digits)).is_ok());
        for result in [
            SwitchKey::from_bodies(own, &o.ring, seed(), &bodies(&o, digits)),
            SwitchKey::from_bodies(own, &o.ring, seed(), &bodies(&w, digits)),
            SwitchKey::from_bodies(own, &w.ring, seed(), &bodies(&o, digits)),
        ] {
            assert!(matches!(result, Err(Error::RingMismatch | Error::SpanMismatch { .. })), "{result:?}");
        }
        let few = SwitchKey::from_bodies(own, &w.ring, seed(), &bodies(&w, digits - 1));
        assert!(matches!(few, Err(Error::Argument { what: "key bodies", .. })));
        let short = Poly::uniform(&w.ring, Span::chain(1), 1, &seed(), 0).unwrap();
        assert!(matches!(PublicKey::from_body(own, seed(), short), Err(Error::SpanMismatch { .. })));
        let foreign = Poly::uniform(&o.ring, Span::chain(span.q), 1, &seed(), 0).unwrap();
        assert!(matches!(PublicKey::from_body(own, seed(), foreign), Err(Error::RingMismatch)));
    }
    // A foreign key is neither taken among a user's own keys nor used.
    let a = w.random(1, 4, 2, rng);
    for other in [params(4, 4, 46), params(4, 1, 46), params(4, 2, 47), params(5, 2, 46)] {
        let o = World::new(&other, [1], rng);
        let mut mixed = EvaluationKeys::empty(w.params.rlwe(), &w.ring).unwrap();
        let copy = || o.keys.relin().unwrap().to(&o.ring).unwrap();
        let refused = |error: Error| {
            assert!(matches!(error, Error::RingMismatch | Error::ParamsMismatch { .. }), "{error}");
        };
        refused(mixed.insert_relin(copy()).unwrap_err());
        let pair = a.ct.pair();
        for g in [galois_rotation(1, 4), galois_conjugation(4)] {
            refused(mixed.insert_galois(g, copy()).unwrap_err());
            refused(pair.apply_automorphism(&copy(), g).unwrap_err());
        }
        refused(pair.tensor(pair).unwrap().relinearize(&copy(), 1).unwrap_err());
        refused(pair.switch(&copy()).unwrap_err());
        refused(w.ev.mul(&a.ct, &a.ct, &o.keys).unwrap_err());
        refused(w.ev.rotate(&a.ct, 1, &o.keys).unwrap_err());
        refused(w.ev.conjugate(&a.ct, &o.keys).unwrap_err());
        refused(w.ev.sum_of_rotations(&a.ct, &[(1, 0.5)], &o.keys).unwrap_err());
        assert!(mixed.relin().is_err() && mixed.galois_keys().count() == 0);
    }
    let mut keys = EvaluationKeys::empty(w.params.rlwe(), &w.ring).unwrap();
    for g in [0, 2, 1 << 20] {
        let result = keys.add_galois(&w.secret, [g], rng);
        assert!(matches!(result, Err(Error::Argument { what: "Galois element", .. })), "{g}: {result:?}");
    }
    // From 2N = 32 on an element has another name, under which no rotation looks for it; and
    // nothing is generated before the bad one.
    for g in [33, 1 << 40 | 1, u64::MAX] {
        let result = keys.add_galois(&w.secret, [5, g], rng);
        assert!(matches!(result, Err(Error::Argument { what: "Galois element", .. })), "{g}: {result:?}");
        assert_eq!(keys.galois_keys().count(), 0);
    }
    text(keys.add_galois(&w.secret, [37], rng), "Galois element: 37 is not below 2N = 32; modulo 2N it is 5");
    keys.add_galois(&w.secret, [1, 3, 31], rng).unwrap();
    assert_eq!(keys.galois_keys().map(|(g, _)| g).collect::<Vec<_>>(), [3, 31]);
}

#[test]
fn polynomials_over_primes_that_do_not_exist() {
    let w = World::new(&params(4, 2, 46), [], &mut rng(31));
    let seed = Seed([3; 32]);
    for span in [Span::chain(4), Span::extended(3, 2), Span::special(2), Span { start: 3, q: 2, p: 0 }] {
        let results: Vec<Result<()>> = vec![
            Poly::<Eval, Cpu>::zeros(&w.ring, span, 1).map(drop),
            Poly::<Eval, Cpu>::uniform(&w.ring, span, 1, &seed, 0).map(drop),
            Poly::<Coeff, Cpu>::ternary(&w.ring, span, 1, &seed, 0).map(drop),
            Poly::<Coeff, Cpu>::error(&w.ring, span, 1, &seed, 0).map(drop),
            Poly::<Coeff, Cpu>::from_signed(&w.ring, span, 1, &[0; 16]).map(drop),
            Poly::<Coeff, Cpu>::from_words(&w.ring, span, 1, &[0; 64]).map(drop),
            w.secret.on(&w.ring, span).map(drop),
        ];
        for (i, result) in results.into_iter().enumerate() {
            assert!(matches!(result, Err(Error::SpanMismatch { .. })), "{span}, {i}: {result:?}");
        }
    }
    for q in [0, 4, 1000] {
        let result = w.public.encrypt_zero(q, 1, &mut rng(32));
        assert!(matches!(result, Err(Error::SpanMismatch { .. })), "{q}: {result:?}");
    }
    assert!(matches!(w.public.encrypt_zero(1, 0, &mut rng(32)), Err(Error::BatchRange { .. })));
}

#[test]
fn parameters_say_what_is_wrong() {
    params_text(
        CkksParams::try_from(CkksSpec::from_bits(12, &[50, 40, 40], &[50], 40.0).unwrap()),
        "log2(QP) = 180.0 at N = 2^12 exceeds 106 bits, the bound for 128-bit security; use a larger degree, fewer or smaller primes, or a constructor named insecure",
    );
    params_text(CkksSpec::from_bits(18, &[50], &[], 40.0), "ring degree 2^18 is outside 2^2 .. 2^17");
    params_text(CkksSpec::from_bits(1, &[50], &[], 40.0), "ring degree 2^1 is outside 2^2 .. 2^17");
    params_text(
        CkksSpec::from_bits(13, &[62], &[], 40.0),
        "there are not 1 primes of 62 bits equal to 1 modulo 2^14; use wider primes",
    );
    params_text(
        CkksSpec::from_bits(13, &[], &[], 40.0),
        "0 primes in the modulus chain; 1 to 64 are possible",
    );
    let spec = || CkksSpec::from_bits(4, &[45, 36, 36], &[46], 36.0).unwrap();
    let with = |change: &dyn Fn(&mut CkksSpec)| {
        let mut spec = spec();
        change(&mut spec);
        CkksParams::insecure(spec)
    };
    params_text(with(&|s| s.q[1] = 15), "15 is not a prime equal to 1 modulo 2^5");
    params_text(with(&|s| s.q[1] = 1 << 62), "modulus 4611686018427387904 is outside 2 .. 2^61");
    let first = spec().q[0];
    params_text(with(&|s| s.q[1] = s.q[0]), &format!("the prime {first} appears twice"));
    params_text(with(&|s| s.p[0] = s.q[0]), &format!("the prime {first} appears twice"));
    params_text(
        with(&|s| s.digits = vec![0..1, 2..3]),
        "key-switching digits: [0..1, 2..3] do not cover 0..3 in order",
    );
    params_text(
        with(&|s| s.digits = vec![0..2, 2..3]),
        "key-switching digits: a digit of 81.0 bits exceeds the special modulus of 46.0 bits",
    );
    params_text(
        with(&|s| s.level_primes = vec![1, 1, 3]),
        "3 primes in the list of levels; 1 to 3 are possible",
    );
    params_text(
        with(&|s| *s = s.clone().with_scale(f64::NAN)),
        "log2(scale) is NaN; it must be in 1 ..= 120",
    );
    params_text(with(&|s| *s = s.clone().with_scale(0.5)), "log2(scale) is 0.5; it must be in 1 ..= 120");
    let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
    params_text(
        with(&|s| s.groups = vec![group(2, 36.0)]),
        "the groups have 2 levels of 3; every level needs a group, and every group a level",
    );
    params_text(
        with(&|s| s.groups = vec![group(1, 8.0), group(2, 36.0)]),
        "below level 1 values would be rounded to multiples of 2^-8.0, where 2^-20 is the coarsest possible; choose wider primes for the level, or a larger scale below",
    );
    let refused = CkksParams::for_depth(60).precision_bits(40).build();
    let Err(ParamsError::Unreachable {
        depth: 60,
        precision_bits: 40,
        range_bits: 4,
        needed,
        log_n: 16,
        limit: 1746,
        most_precision: None,
        most_depth: Some(most),
    }) = refused
    else {
        panic!("{refused:?}")
    };
    params_text(
        refused,
        &format!(
            "depth 60 with 40 bits of precision and 4 of range needs log2(QP) = {needed} bits at N = 2^16, where 1746 are secure; ask for at most depth {most} with 40 bits"
        ),
    );
    params_text(
        CkksParams::for_depth(2).precision_bits(3).build(),
        "precision (bits) is 3; it must be in 4 ..= 60",
    );
    assert_eq!(with(&|_| {}).unwrap().rlwe().security(), Security::Insecure);
    assert_eq!(Security::Insecure.to_string(), "INSECURE (below 128 bits)");
    assert_eq!(Security::Bits128.to_string(), "128 bits");
}

/// Errors are one line, in lower case, without a period, and travel between threads.
#[test]
fn errors_are_values() {
    fn portable<T: std::error::Error + Send + Sync + 'static>(_: &T) {}
    let w = World::new(&params(4, 1, 46), [], &mut rng(33));
    let error = w.params.level(9).unwrap_err();
    portable(&error);
    for shown in [error.to_string(), Error::MissingRelinKey.to_string(), Error::RingMismatch.to_string()] {
        assert!(!shown.contains('\n') && !shown.ends_with('.'), "{shown}");
        assert!(shown.chars().next().unwrap().is_lowercase(), "{shown}");
    }
}
