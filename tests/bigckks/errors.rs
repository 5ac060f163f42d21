//! Every impossible request gives one clear error.

use super::common::*;
use he::Error;
use he::backend::Cpu;
use he::bigckks::{
    BigCkksParams, BigCkksSpec, Ciphertext, Complex64, Decryptor, Encryptor, EvaluationKeys, Evaluator,
    SecretKey, WidePoly,
};
use he::ring::Ring;
use he::rlwe::Flooding;
use zeroize::Zeroizing;

#[test]
fn values_that_do_not_fit() {
    let w = World::new(BigCkksSpec::new(5, 100, 30), &mut rng(1));
    let (encoder, to) = (w.ev.encoder(), w.params.encoding());
    let value = |x: f64| [Complex64::new(x, 0.0)];
    assert!(matches!(encoder.encode(&value(f64::NAN), to), Err(Error::NotFinite { index: 0 })));
    assert!(matches!(encoder.encode_real(&[0.0, f64::INFINITY], to), Err(Error::NotFinite { index: 1 })));
    assert!(matches!(
        encoder.encode_real(&[0.0; 17], to),
        Err(Error::TooManyValues { found: 17, capacity: 16 })
    ));
    assert!(matches!(encoder.encode_batch(&[], to), Err(Error::BatchRange { .. })));
    // 2^69 2^30 fits 100 bits with its sign, 2^70 2^30 does not.
    assert!(encoder.encode_constant(value(2f64.powi(68))[0], to).is_ok());
    let error = encoder.encode_constant(value(2f64.powi(69))[0], to);
    assert!(
        matches!(error, Err(Error::CoefficientTooLarge { needed_bits: 101, available_bits: 100, .. })),
        "{error:?}"
    );
    assert!(matches!(encoder.encode(&value(f64::MAX), to), Err(Error::CoefficientTooLarge { .. })));
    let twice = [Complex64::new(f64::MAX, f64::MAX); 16];
    assert!(matches!(encoder.encode(&twice, to), Err(Error::CoefficientTooLarge { .. })));
    for slots in [0, 3, 32] {
        assert!(matches!(encoder.encode(&[], to.slots(slots)), Err(Error::SlotCount { capacity: 16, .. })));
    }
    for log_q in [0, 101, u32::MAX] {
        assert!(matches!(encoder.encode(&[], to.log_q(log_q)), Err(Error::ModulusMismatch { .. })));
    }
    for scale_log2 in [100, u32::MAX] {
        assert!(matches!(encoder.encode(&[], to.scale_log2(scale_log2)), Err(Error::ScaleRange { .. })));
    }
    let x = w.encrypt(&[vec![Complex64::ZERO; 16]], &mut rng(2));
    assert!(matches!(w.ev.mul_scalar(&x, f64::NAN, 10), Err(Error::NotFinite { .. })));
    assert!(matches!(w.ev.mul_scalar(&x, 1e300, 10), Err(Error::CoefficientTooLarge { .. })));
    assert!(matches!(w.ev.mul_scalar(&x, 1.0, 70), Err(Error::ModulusExhausted { needed: 101, left: 100 })));
    assert!(matches!(w.ev.mul_scalar(&x, 1.0, u32::MAX), Err(Error::ModulusExhausted { .. })));
    assert!(matches!(w.ev.add_scalar(&x, Complex64::new(f64::NAN, 0.0)), Err(Error::NotFinite { .. })));
}

#[test]
fn bits_that_are_not_there() {
    let w = World::new(BigCkksSpec::new(5, 100, 30), &mut rng(1));
    let x = w.encrypt(&[vec![Complex64::ZERO; 16]], &mut rng(2));
    for bits in [100, 101, u32::MAX] {
        assert!(matches!(w.ev.rescale(&x, bits), Err(Error::ModulusExhausted { left: 100, .. })));
    }
    assert!(matches!(w.ev.rescale(&x, 31), Err(Error::ScaleRange { .. })));
    assert!(matches!(w.ev.drop_to_bits(&x, 101), Err(Error::ModulusMismatch { left: 100, right: 101 })));
    assert!(matches!(w.ev.drop_to_bits(&x, 0), Err(Error::ModulusMismatch { .. })));
    assert!(matches!(w.ev.scale_up(&x, 70), Err(Error::ScaleRange { .. })));
    assert!(matches!(w.ev.scale_up(&x, u32::MAX), Err(Error::ScaleRange { .. })));
    let cube = w.ev.mul(&w.ev.mul(&x, &x, &w.keys).unwrap(), &x, &w.keys).unwrap();
    let error = w.ev.mul(&cube, &x, &w.keys);
    assert!(matches!(error, Err(Error::ModulusExhausted { needed: 121, left: 100 })), "{error:?}");
    // The scale is larger than the other operand's modulus can hold.
    let low = w.ev.drop_to_bits(&x, 40).unwrap();
    assert!(matches!(w.ev.add(&cube, &low), Err(Error::ScaleRange { .. })));
    assert!(matches!(w.ev.add(&low, &cube), Err(Error::ScaleRange { .. })));
}

#[test]
fn foreign_keys_and_devices() {
    let rng = &mut rng(1);
    let w = World::new(BigCkksSpec::new(5, 100, 30), rng);
    let x = w.encrypt(&[vec![Complex64::ZERO; 16]], rng);
    for spec in [
        BigCkksSpec::new(5, 100, 31),
        BigCkksSpec::new(5, 100, 30).with_digits(3),
        BigCkksSpec::new(6, 100, 30),
    ] {
        let other = World::new(spec, rng);
        assert_ne!(other.params.fingerprint(), w.params.fingerprint());
        assert!(matches!(Encryptor::new(&w.params, &other.public), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(
            Decryptor::new(&w.params, &other.secret, &w.ring),
            Err(Error::ParamsMismatch { .. })
        ));
        assert!(matches!(w.ev.mul(&x, &x, &other.keys), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(w.ev.rotate(&x, 1, &other.keys), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(w.ev.conjugate(&x, &other.keys), Err(Error::ParamsMismatch { .. })));
        let mut keys = EvaluationKeys::empty(&w.params, &w.ring).unwrap();
        assert!(matches!(keys.add_relin(&other.secret, rng), Err(Error::ParamsMismatch { .. })));
        assert!(matches!(keys.add_galois(&other.secret, [5], rng), Err(Error::ParamsMismatch { .. })));
    }
    let ring = Ring::new(Cpu::new(), w.params.ring().clone()).unwrap();
    let elsewhere = x.to(&ring).unwrap();
    assert!(matches!(w.ev.add(&x, &elsewhere), Err(Error::RingMismatch)));
    assert!(matches!(w.ev.mul(&elsewhere, &x, &w.keys), Err(Error::RingMismatch)));
    assert!(matches!(w.ev.mul(&x, &x, &w.keys.to(&ring).unwrap()), Err(Error::RingMismatch)));
    assert!(matches!(Ciphertext::concat(&[&x, &elsewhere]), Err(Error::RingMismatch)));
    let larger = BigCkksParams::insecure(BigCkksSpec::new(6, 100, 30)).unwrap();
    let larger = Ring::new(Cpu::new(), larger.ring().clone()).unwrap();
    assert!(matches!(Evaluator::new(&w.params, &larger), Err(Error::RingMismatch)));
    assert!(matches!(EvaluationKeys::empty(&w.params, &larger), Err(Error::RingMismatch)));
    assert!(matches!(x.to(&larger), Err(Error::RingMismatch)));
    let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
    assert!(matches!(decryptor.decrypt(&elsewhere), Err(Error::RingMismatch)));
    // Values and noise leave less than a bit of half the modulus of 100 bits.
    let result = decryptor.decrypt_flooded(&x, Flooding::Bits(99), rng);
    assert!(matches!(result, Err(Error::FloodTooWide { needed_bits: 99, available_bits: 98 })));
    assert!(decryptor.decrypt_flooded(&x, Flooding::Bits(98), rng).is_ok());
    let flooding = Flooding::Statistical { security_bits: 0, decryptions: 1 };
    assert!(matches!(decryptor.decrypt_flooded(&x, flooding, rng), Err(Error::Argument { .. })));
}

#[test]
fn missing_keys_and_bad_parts() {
    let rng = &mut rng(1);
    let w = World::new(BigCkksSpec::new(5, 100, 30), rng);
    let x = w.encrypt(&vec![vec![Complex64::ZERO; 16]; 2], rng);
    let none = EvaluationKeys::empty(&w.params, &w.ring).unwrap();
    assert!(matches!(w.ev.mul(&x, &x, &none), Err(Error::MissingRelinKey)));
    assert!(matches!(w.ev.rotate(&x, 3, &none), Err(Error::MissingGaloisKey { step: 3 })));
    assert!(matches!(w.ev.conjugate(&x, &none), Err(Error::MissingConjugationKey)));
    assert!(w.ev.rotate(&x, 16, &none).is_ok(), "a full turn needs no key");
    let mut keys = EvaluationKeys::empty(&w.params, &w.ring).unwrap();
    assert!(matches!(keys.add_galois(&w.secret, [4], rng), Err(Error::Argument { .. })));
    let three = Ciphertext::concat(&[&x, &x.slice_batch(0..1).unwrap()]).unwrap();
    assert!(matches!(w.ev.add(&x, &three), Err(Error::BatchMismatch { left: 2, right: 3 })));
    assert!(matches!(w.ev.mul(&x, &three, &w.keys), Err(Error::BatchMismatch { left: 2, right: 3 })));
    let zero = |bits, batch| WidePoly::zeros(&w.ring, bits, batch).unwrap();
    let parts = |a, b, scale, slots| Ciphertext::from_parts(&w.params, [a, b], scale, slots);
    assert!(parts(zero(100, 1), zero(100, 1), 30, 16).is_ok());
    assert!(matches!(parts(zero(100, 1), zero(99, 1), 30, 16), Err(Error::ModulusMismatch { .. })));
    assert!(matches!(parts(zero(101, 1), zero(101, 1), 30, 16), Err(Error::ModulusMismatch { .. })));
    assert!(matches!(parts(zero(100, 1), zero(100, 2), 30, 16), Err(Error::BatchMismatch { .. })));
    assert!(matches!(parts(zero(100, 1), zero(100, 1), 100, 16), Err(Error::ScaleRange { .. })));
    assert!(matches!(parts(zero(100, 1), zero(100, 1), 30, 17), Err(Error::SlotCount { .. })));
    for bad in [vec![0; 31], vec![2; 32], vec![-128; 32]] {
        let error = SecretKey::from_coefficients(&w.params, Zeroizing::new(bad));
        assert!(matches!(error, Err(Error::Argument { what: "secret key", .. })));
    }
    assert_eq!(format!("{:?}", w.secret), "SecretKey { .. }");
}

/// A Galois element has one name, odd and below 2N: no key is made or taken under another.
#[test]
fn galois_elements_that_name_no_rotation() {
    let w = World::new(BigCkksSpec::new(4, 100, 30), &mut rng(31));
    let mut keys = EvaluationKeys::empty(&w.params, &w.ring).unwrap();
    for g in [0, 2, 33, 1 << 20, 1 << 40 | 1, u64::MAX] {
        let result = keys.add_galois(&w.secret, [5, g], &mut rng(32));
        assert!(matches!(result, Err(Error::Argument { what: "Galois element", .. })), "{g}: {result:?}");
        let key = w.keys.relin().unwrap().to(&w.ring).unwrap();
        let result = keys.insert_galois(g, key);
        assert!(matches!(result, Err(Error::Argument { what: "Galois element", .. })), "{g}: {result:?}");
        assert_eq!(keys.galois_keys().count(), 0);
    }
    keys.add_galois(&w.secret, [1, 3, 31], &mut rng(33)).unwrap();
    assert_eq!(keys.galois_keys().map(|(g, _)| g).collect::<Vec<_>>(), [3, 31]);
}
