//! Bad parameters and bad operands: one clear error each.

use super::common::{World, for_seeds, insecure, slot_prime};
use he::backend::Cpu;
use he::bfv::{Bfv, BfvDecryptor, BfvEncryptor, BfvEvaluator, BfvParams, BfvSecretEncryptor};
use he::bgv::{Bgv, BgvParams};
use he::exact::{
    Ciphertext, DECRYPTION_MARGIN, Decryptor, Encoder, Encryptor, ExactSpec, Message, Noise, Scheme,
    SlotEncoder,
};
use he::params::{ParamsError, Security};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, PublicKey, RlweCiphertext, SecretKey};
use he::{Error, Publisher};
use num_bigint::BigUint;
use num_traits::ToPrimitive;
use rand::{SeedableRng, rngs::ChaCha20Rng};

fn spec(t: u64) -> ExactSpec {
    ExactSpec::from_bits(4, &[40, 40], &[41], t).unwrap()
}

/// The message names both values and says what to do.
fn assert_clear(error: &impl std::fmt::Display, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "{text:?} lacks {part:?}");
    }
}

#[test]
fn parameters_are_checked() {
    for t in [0, 1, 1 << 61, u64::MAX] {
        let mut bad = spec(17);
        bad.plain_modulus = t;
        assert!(
            matches!(BfvParams::insecure(bad.clone()), Err(ParamsError::ModulusRange { found }) if found == t)
        );
        assert!(BfvParams::for_depth(t, 1).build().is_err());
    }
    let mut common = spec(17);
    common.plain_modulus = common.q[1];
    let error = BgvParams::insecure(common.clone()).unwrap_err();
    assert!(matches!(error, ParamsError::PlainModulusNotCoprime { .. }));
    assert_clear(&error, &[&common.q[1].to_string(), "another prime"]);
    common.plain_modulus = 2 * common.q[0];
    assert!(matches!(BfvParams::insecure(common), Err(ParamsError::PlainModulusNotCoprime { .. })));
    // `from_bits` avoids such primes by itself.
    let t = spec(17).q[0];
    assert!(!spec(t).q.contains(&t));

    let large = ExactSpec::from_bits(4, &[40], &[41], 1 << 35).unwrap();
    let error = BfvParams::insecure(large).unwrap_err();
    assert!(matches!(error, ParamsError::PlainModulusTooLarge { found, .. } if found == 1 << 35), "{error}");
    assert_clear(&error, &["34359738368", "2^40.0", "smaller plaintext modulus"]);

    let secure = ExactSpec::from_bits(12, &[40, 40], &[41], 65537).unwrap();
    assert!(matches!(BfvParams::try_from(secure.clone()), Err(ParamsError::Insecure { .. })));
    assert_eq!(BfvParams::insecure(secure).unwrap().rlwe().security(), Security::Insecure);
}

#[test]
fn the_builder_refuses_what_cannot_be() {
    let error = BfvParams::for_depth(65539, 1).slots().build().unwrap_err();
    assert!(matches!(error, ParamsError::NoSlots { found: 65539, .. }));
    // 65537 has slots up to N = 2^15.
    assert!(matches!(
        BfvParams::for_depth(65537, 1).slots().log_n(16).build(),
        Err(ParamsError::NoSlots { .. })
    ));
    let error = BfvParams::for_depth(65537, 60).build().unwrap_err();
    assert!(matches!(error, ParamsError::DepthUnreachable { depth: 60, log_n: 16, .. }), "{error}");
    assert_clear(&error, &["depth 60", "65537", "less depth"]);
    assert!(matches!(BgvParams::for_depth(2, 61).build(), Err(ParamsError::OutOfRange { .. })));
    assert!(matches!(BgvParams::for_depth(2, 1).log_n(11).build(), Err(ParamsError::OutOfRange { .. })));
    let secure = BgvParams::for_depth(65537, 2).security(Security::Bits256).build().unwrap();
    assert_eq!(secure.rlwe().security(), Security::Bits256);
}

fn operands<S: Scheme>() {
    let rng = &mut ChaCha20Rng::seed_from_u64(4);
    let world = World::<S>::new(insecure(4, &[40, 40], &[41], 65537), rng);
    let (ev, n) = (&world.ev, world.n());
    let m = world.random(rng);
    let ct = world.encrypt(std::slice::from_ref(&m), rng);

    // Values that are not residues, and too many of them.
    let error = ev.encoder().encode(&[5u64, 65537]).unwrap_err();
    assert!(matches!(error, Error::PlainRange { index: 1, found: 65537, lowest: 0, highest: 65536 }));
    assert!(matches!(ev.encoder().encode(&[-32769i64]), Err(Error::PlainRange { index: 0, .. })));
    assert!(ev.encoder().encode(&[-32768i64, 32768]).is_ok());
    assert!(matches!(ev.encoder().encode(&vec![0u64; n + 1]), Err(Error::TooManyValues { .. })));
    assert!(matches!(ev.encoder().encode_batch::<u64>(&[]), Err(Error::BatchRange { .. })));

    // Slots without a suitable modulus.
    let coefficients = World::<S>::new(insecure(4, &[40, 40], &[41], 1 << 16), rng);
    let error = coefficients.ev.encoder().encode(&[1u64]).unwrap_err();
    assert!(matches!(error, Error::InvalidParams(ParamsError::NoSlots { found: 65536, log_n: 4 })));
    assert_clear(&error, &["65536", "2^5", "encode coefficients"]);
    let other = coefficients.encrypt(&[vec![1; n]], rng);
    let error = coefficients.ev.rotate(&other, 1, &coefficients.keys).unwrap_err();
    assert!(matches!(error, Error::InvalidParams(ParamsError::NoSlots { .. })));
    let plaintext = coefficients.plaintext(&[vec![1; n]]);
    assert!(matches!(ev.encoder().decode::<u64>(&plaintext), Err(Error::Argument { .. })));
    assert!(matches!(ev.add_plain(&ct, &plaintext), Err(Error::Argument { .. })));

    // Another ring, other keys, other plaintext modulus.
    assert!(matches!(ev.add(&ct, &other), Err(Error::RingMismatch)));
    assert!(matches!(
        ev.mul(&ct, &ct, &coefficients.keys),
        Err(Error::RingMismatch | Error::ParamsMismatch { .. })
    ));
    let foreign = World::<S>::new(insecure(4, &[42, 42], &[43], 65537), rng);
    assert!(matches!(ev.mul(&ct, &ct, &foreign.keys), Err(Error::ParamsMismatch { .. })));
    assert!(matches!(ev.rotate(&ct, 1, &foreign.keys), Err(Error::ParamsMismatch { .. })));
    let same_ring = World::<S>::new(insecure(4, &[40, 40], &[41], 97), rng);
    let moved = world.encrypt(std::slice::from_ref(&m), rng).to(&same_ring.ring).unwrap();
    assert!(matches!(same_ring.ev.neg(&moved), Err(Error::Argument { what: "plaintext modulus", .. })));
    assert!(matches!(same_ring.decryptor.decrypt(&moved), Err(Error::Argument { .. })));

    // Levels, counts, missing keys.
    assert!(matches!(ev.mod_switch_to(&ct, 2), Err(Error::LevelTooHigh { found: 2, highest: 1 })));
    assert!(matches!(ev.inner_sum(&ct, 3, &world.keys), Err(Error::SlotCount { found: 3, capacity: 8 })));
    assert!(matches!(ev.inner_sum(&ct, 16, &world.keys), Err(Error::SlotCount { .. })));
    let none = EvaluationKeys::empty(world.params.rlwe(), &world.ring).unwrap();
    assert!(matches!(ev.mul(&ct, &ct, &none), Err(Error::MissingRelinKey)));
    assert!(matches!(ev.rotate(&ct, 1, &none), Err(Error::MissingGaloisKey { step: 1 })));
    assert!(matches!(ev.swap_rows(&ct, &none), Err(Error::MissingConjugationKey)));

    // A budget that is spent, before anything is computed.
    let tight = World::<S>::new(insecure(4, &[40], &[41], slot_prime(28, 4)), rng);
    let ct = tight.encrypt(&[tight.random(rng)], rng);
    for error in [
        tight.ev.mul(&ct, &ct, &tight.keys).map(drop).unwrap_err(),
        tight.ev.tensor(&ct, &ct).map(drop).unwrap_err(),
        tight.ev.mul_scalar(&ct, 1 << 27).map(drop).unwrap_err(),
        tight.ev.mul_plain(&ct, &tight.plaintext(&[tight.random(rng)])).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, Error::BudgetSpent { excess_bits } if excess_bits > 0.0), "{error}");
        assert_clear(&error, &["noise budget", "greater depth"]);
    }
}

#[test]
fn operands_are_checked() {
    operands::<Bfv>();
    operands::<Bgv>();
}

#[test]
fn foreign_keys_are_refused() {
    let rng = &mut ChaCha20Rng::seed_from_u64(5);
    let (params, other) = (insecure::<Bfv>(4, &[40], &[41], 97), insecure::<Bfv>(4, &[42], &[43], 97));
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    assert!(matches!(
        BfvEncryptor::new(&other, &public),
        Err(Error::ParamsMismatch { what: "public key", .. })
    ));
    assert!(matches!(BfvSecretEncryptor::new(&other, &secret, &ring), Err(Error::ParamsMismatch { .. })));
    assert!(matches!(BfvDecryptor::new(&other, &secret, &ring), Err(Error::ParamsMismatch { .. })));
    assert!(matches!(BfvEvaluator::new(&other, &ring), Err(Error::RingMismatch)));
    assert!(Encoder::new(&other).is_ok());

    // Messages of another ring and of another plaintext modulus.
    assert!(matches!(SlotEncoder::new(&other, &ring), Err(Error::RingMismatch)));
    let coefficients = insecure::<Bfv>(4, &[40], &[41], 1 << 10);
    let error = SlotEncoder::new(&coefficients, &ring).unwrap_err();
    assert!(matches!(error, Error::InvalidParams(ParamsError::NoSlots { found: 1024, log_n: 4 })));
    let slots = SlotEncoder::new(&params, &ring).unwrap();
    assert!(matches!(slots.encode(&[&[97u64]]), Err(Error::PlainRange { index: 0, found: 97, .. })));
    assert!(matches!(slots.encode(&[&[0u64; 17]]), Err(Error::TooManyValues { found: 17, capacity: 16 })));
    assert!(matches!(slots.encode::<u64>(&[]), Err(Error::BatchRange { .. })));
    let encryptor = BfvEncryptor::new(&params, &public).unwrap();
    let second = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let foreign = SlotEncoder::new(&params, &second).unwrap().encode(&[&[1u64]]).unwrap();
    assert!(matches!(encryptor.encrypt_message(&foreign, rng), Err(Error::RingMismatch)));
    let plaintext = Encoder::new(&coefficients).unwrap().encode_coefficients(&[1u64]).unwrap();
    let message = Message::new(&ring, &plaintext).unwrap();
    assert!(matches!(encryptor.encrypt_message(&message, rng), Err(Error::Argument { what: "message", .. })));
    assert!(matches!(slots.decode::<u64>(message), Err(Error::Argument { what: "message", .. })));
}

/// The same ciphertext without the identity of its key.
fn unnamed<S: Scheme>(world: &World<S>, ct: &Ciphertext<S, Cpu>, noise: Noise) -> Ciphertext<S, Cpu> {
    let [c0, c1] = ct.pair().parts().map(|part| part.duplicate().unwrap());
    let pair = RlweCiphertext::new(c0, c1).unwrap();
    Ciphertext::from_parts(&world.params, pair, ct.correction_factor(), noise).unwrap()
}

/// A wrong key, a spent budget and a ciphertext that lies about its noise are detected by what they
/// decrypt to.
fn checked<S: Scheme>(rng: &mut ChaCha20Rng) {
    let world = World::<S>::new(insecure(8, &[40, 40], &[41], 257), rng);
    let other = SecretKey::generate(world.params.rlwe(), rng);
    let messages: Vec<Vec<u64>> = (0..2).map(|_| world.random(rng)).collect();
    let ct = world.encrypt(&messages, rng);
    let ct = unnamed(&world, &ct, ct.noise());
    let expected = world.decryptor.decrypt(&ct).unwrap();
    assert!(world.decryptor.decrypt_checked(&ct, DECRYPTION_MARGIN).unwrap() == expected);
    assert!(world.decryptor.decrypt_checked(&ct, 0.0).unwrap() == expected);

    // The margin is compared with what was measured: by big integers, t (c0 + c1 s).
    let phase = world.scaled_phase(&ct);
    let n = world.n();
    let log2 = |x: &BigUint| x.to_f64().unwrap().log2();
    let log_q: f64 = world.ring.spec().q().iter().map(|&q| (q as f64).log2()).sum();
    let budget = |entry: usize| {
        let greatest = phase[entry * n..][..n].iter().map(|x| x.magnitude()).max().unwrap();
        log_q - 1.0 - log2(greatest)
    };
    let found = world.decryptor.noise_budget(&ct).unwrap();
    assert!((found[0] - budget(0)).abs() < 1e-9 && (found[1] - budget(1)).abs() < 1e-9, "{found:?}");
    let least = budget(0).min(budget(1));
    assert!(world.decryptor.decrypt_checked(&ct, least - 1e-6).is_ok());
    match world.decryptor.decrypt_checked(&ct, least + 1e-6) {
        Err(Error::NoiseBudget { left_bits, margin_bits }) => {
            assert!((left_bits - least).abs() < 1e-9 && margin_bits == least + 1e-6);
        }
        result => panic!("{result:?}"),
    }
    for margin in [-1.0, f64::NAN] {
        assert!(matches!(world.decryptor.decrypt_checked(&ct, margin), Err(Error::Argument { .. })));
    }

    // Another key gives garbage without an error, or an error if checked.
    let wrong = Decryptor::new(&world.params, &other, &world.ring).unwrap();
    assert!(wrong.decrypt(&ct).unwrap() != expected);
    let error = wrong.decrypt_checked(&ct, DECRYPTION_MARGIN).unwrap_err();
    assert!(matches!(error, Error::NoiseBudget { left_bits, .. } if left_bits < 0.2), "{error}");
    assert_clear(&error, &["0.0 bits", "1.0", "the secret key that the ciphertext belongs to"]);

    // One entry of another key in a batch of three.
    let foreign = PublicKey::generate(&other, &world.ring, rng).unwrap();
    let foreign = Encryptor::<S, Cpu>::new(&world.params, &foreign).unwrap();
    let foreign = foreign.encrypt(&world.plaintext(&messages[..1]), rng).unwrap();
    let foreign = unnamed(&world, &foreign, foreign.noise());
    let mixed = Ciphertext::concat(&[&ct, &foreign]).unwrap();
    assert!(matches!(
        world.decryptor.decrypt_checked(&mixed, DECRYPTION_MARGIN),
        Err(Error::NoiseBudget { .. })
    ));

    // Products beyond the budget, by a ciphertext that claims as little noise as one can.
    let claim = Noise { rms_log2: -1.0, peak_log2: -1.0, degree: 0 };
    let relabel = |ct: Ciphertext<S, Cpu>| unnamed(&world, &ct, claim);
    let mut lie = relabel(ct);
    for _ in 0..8 {
        lie = relabel(world.ev.mul(&lie, &lie, &world.keys).unwrap());
    }
    assert!(lie.predicted_budget(&world.params) > 20.0);
    world.decryptor.decrypt(&lie).unwrap();
    let error = world.decryptor.decrypt_checked(&lie, DECRYPTION_MARGIN).unwrap_err();
    assert!(matches!(error, Error::NoiseBudget { left_bits, .. } if left_bits < 1.0), "{error}");
}

#[test]
fn decryptions_are_checked() {
    for_seeds(2, |rng| {
        checked::<Bfv>(rng);
        checked::<Bgv>(rng);
    });
}

/// A ciphertext that is predicted to fail too often is refused without the key and not counted; one
/// that lies about its noise is refused with it, and counted.
fn published<S: Scheme>(rng: &mut ChaCha20Rng) {
    let world = World::<S>::new(insecure(8, &[40, 40], &[41], 257), rng);
    let messages: Vec<Vec<u64>> = (0..2).map(|_| world.random(rng)).collect();
    let ct = world.encrypt(&messages, rng);
    let expected = world.decryptor.decrypt(&ct).unwrap();
    let mut publisher = Publisher::new(40, 5).unwrap();
    assert!(world.decryptor.publish(&ct, &mut publisher).unwrap() == expected);
    assert_eq!(publisher.left(), 3);
    assert!(world.decryptor.publish(&ct, &mut publisher).unwrap() == expected);
    match world.decryptor.publish(&ct, &mut publisher) {
        Err(error @ Error::DecryptionsSpent { asked: 2, left: 1, of: 5 }) => {
            assert_clear(&error, &["2 decryptions", "1 of 5", "from the beginning"]);
        }
        result => panic!("{result:?}"),
    }

    // A noise whose predicted budget is known: 2 bits, and more and more decryptions, which need a
    // margin of log2(sqrt(2 ln 2 (s + 1 + log2 D + log2 N)) / 8) and one bit.
    let noise = ct.noise();
    let excess = ct.predicted_budget(&world.params) - 1.2;
    let louder = Noise { rms_log2: noise.rms_log2 + excess, peak_log2: noise.peak_log2 + excess, ..noise };
    let loud = unnamed(&world, &ct, louder);
    let predicted = loud.predicted_budget(&world.params);
    for (security, decryptions) in [(1, 2), (20, 2), (40, 1 << 10), (128, 1 << 20), (256, 1 << 60)] {
        let bits = f64::from(security) + 1.0 + (decryptions as f64).log2() + 8.0;
        let needed = 1.0 + ((2.0 * 2f64.ln() * bits).sqrt() / 8.0).log2().max(0.0);
        let mut publisher = Publisher::new(security, decryptions).unwrap();
        match world.decryptor.publish(&loud, &mut publisher) {
            Ok(plain) => assert!(needed <= predicted && plain == expected),
            Err(error @ Error::PredictedBudget { predicted_bits, needed_bits }) => {
                assert!(needed > predicted, "{error}");
                assert!((predicted_bits - predicted).abs() < 1e-9 && (needed_bits - needed).abs() < 1e-9);
                assert_eq!(publisher.left(), decryptions);
                assert_clear(&error, &["1.20 bits", &format!("{needed:.2}"), "greater depth"]);
            }
            Err(error) => panic!("{error}"),
        }
    }

    // A wrong key shows in what was measured.
    let other = SecretKey::generate(world.params.rlwe(), rng);
    let wrong = Decryptor::new(&world.params, &other, &world.ring).unwrap();
    let mut publisher = Publisher::new(40, 5).unwrap();
    let result = wrong.publish(&unnamed(&world, &ct, noise), &mut publisher);
    assert!(matches!(result, Err(Error::NoiseBudget { .. })));
    assert_eq!(publisher.left(), 3);
}

#[test]
fn publications_are_counted_and_refused() {
    for_seeds(2, |rng| {
        published::<Bfv>(rng);
        published::<Bgv>(rng);
    });
}
