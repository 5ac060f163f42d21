//! Kinds 40 and 41: keys of scheme switching.

use super::*;
use he::ckks::{Evaluator, SecretEncryptor};
use he::switching::{
    FromTfhe, FromTfheKey, FromTfheParams, SlotsToTfhe, SlotsToTfheSpec, SwitchingParams, ToTfheKey,
};

#[test]
fn golden_keys_of_switching_read_back() {
    let (ckks, tfhe) = generator::switching_params().unwrap();
    let ring = Ring::new(Cpu::new(), ckks.rlwe().ring().clone()).unwrap();
    let to = SwitchingParams::insecure(ckks.rlwe(), 1, &tfhe).unwrap();
    let from = FromTfheParams::new(&tfhe, ckks.rlwe()).unwrap();
    let there = to.ring(Cpu::new()).unwrap();
    let secret = SecretKey::from_frame(&ckks, (), &frames("switching_ckks_secret_key.he")[1]).unwrap();
    let target = TfheSecretKey::from_frame(&tfhe, (), &frames("switching_tfhe_secret_key.he")[1]).unwrap();
    let frame = &frames("switching_key_to_tfhe.he")[0];
    let mut key = ToTfheKey::from_frame(&to, &there, frame).unwrap();
    assert_eq!(frame.body.len() as u64, to.key_frame_limit());
    let frame = &frames("switching_keys_from_tfhe.he")[0];
    let mut back = FromTfheKey::from_frame(&from, &ring, frame).unwrap();
    assert_eq!(frame.body.len() as u64, from.key_frame_limit());

    // The keys that were read lead there and back.
    key.set_key_sets(Some(secret.key_set()), Some(target.key_set()));
    back.set_key_sets(Some(target.key_set()), Some(secret.key_set()));
    let ev = Evaluator::new(&ckks, &ring).unwrap();
    let spec = SlotsToTfheSpec { log_slots: 2, matrices: 1, range: 4.0 };
    let switcher = SlotsToTfhe::new(&ev, &to, &there, spec).unwrap();
    let mut rng = super::super::common::rng(1);
    let keys = EvaluationKeys::generate(&secret, &ring, switcher.requirements(), &mut rng).unwrap();
    let values = [0.5, -1.5, 0.25, 1.75];
    let plain = ev.encoder().encode_real(&values, ckks.encoding().slots(4)).unwrap();
    let encryptor = SecretEncryptor::new(&ckks, &secret, &ring).unwrap();
    let x = encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap();
    let samples = switcher.switch(&x, &keys, &key).unwrap();
    assert_eq!(samples.key_set(), Some(target.key_set()));
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}, {expected}");
    for (&phase, value) in target.phases(&samples).unwrap().iter().zip(values) {
        near(phase as i64 as f64 / 64f64.exp2(), value / 4.0);
    }
    let packed = FromTfhe::new(&from, &ring).unwrap().pack(&samples, &back).unwrap();
    assert_eq!(packed.key_set(), Some(secret.key_set()));
    let s = secret.on(&ring, he::ring::Span::chain(1)).unwrap();
    let words = packed.message(&s).unwrap().into_coeff().unwrap().to_words().unwrap();
    let q = ckks.rlwe().ring().q()[0] as f64;
    for (word, value) in words.iter().step_by(16).zip(values) {
        near((*word as f64 / q - value / 4.0 + 0.5).rem_euclid(1.0), 0.5);
    }

    // The frames are of other parameters, of another kind, and of any other length.
    let (own, other) = (&frames("switching_key_to_tfhe.he")[0], &frames("switching_keys_from_tfhe.he")[0]);
    let wide = SwitchingParams::insecure(ckks.rlwe(), 2, &tfhe).unwrap();
    assert!(ToTfheKey::from_frame(&wide, &wide.ring(Cpu::new()).unwrap(), own).is_err());
    assert!(matches!(ToTfheKey::from_frame(&to, &ring, own), Err(he::Error::RingMismatch)));
    assert!(ToTfheKey::from_frame(&to, &there, other).is_err());
    assert!(FromTfheKey::from_frame(&from, &ring, own).is_err());
    assert!(FromTfheKey::from_frame(&from, &there, other).is_err());
    let resized = |frame: &Frame, length: usize| {
        let mut body = frame.body.to_vec();
        body.resize(length, 0);
        Frame { kind: frame.kind, fingerprint: frame.fingerprint, body }
    };
    for length in [0, 31, 32, own.body.len() - 1, own.body.len() + 1, 2 * own.body.len()] {
        assert!(ToTfheKey::from_frame(&to, &there, &resized(own, length)).is_err(), "{length}");
    }
    let one = other.body.len() / 7;
    for length in [0, one, 6 * one, 7 * one - 1, 7 * one + 1, 8 * one] {
        assert!(FromTfheKey::from_frame(&from, &ring, &resized(other, length)).is_err(), "{length}");
    }
}
