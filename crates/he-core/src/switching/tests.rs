//! Phases before and after.

use super::{
    ExactFunctions, FromTfhe, FromTfheKey, FromTfheParams, SlotsToTfhe, SlotsToTfheSpec, SwitchingKeys,
    SwitchingParams, TfheToSlots, ToTfhe, ToTfheKey,
};
use crate::arith::{Modulus, ntt_primes_below};
use crate::backend::Cpu;
use crate::bootstrapping::presets::Preset;
use crate::bootstrapping::{BootstrapKeys, BootstrapParams, BootstrapSpec, Bootstrapper};
use crate::ckks::{Ciphertext, CkksParams, Decryptor, Evaluator, SecretEncryptor};
use crate::error::Error;
use crate::params::ParamsError;
use crate::ring::{Poly, Ring, RingSpec, Seed, Span};
use crate::rlwe::{EvaluationKeys, RlweParams, SecretKey, SeededZero};
use crate::testing::seeded;
use crate::tfhe::{
    BootstrapKey, Carry, Gadget, IntegerEvaluator, Rounding, Signed, TfheParams, TfheSecretKey, TfheSpec,
    presets,
};
use rand::{Rng, rngs::ChaCha20Rng};

/// A word of the torus between -1/2 and 1/2.
fn centred(word: u64) -> f64 {
    (word as i64) as f64 * 64f64.exp2().recip()
}

/// Random phases of random coefficients, over bases of one and of two primes, against the phases
/// that the secret of RLWE finds.
#[test]
fn coefficients_keep_their_phases() {
    let mut rng = seeded();
    let small = presets::insecure_small().unwrap();
    for (base, log_n, tfhe) in [(1, 11, small.clone()), (2, 10, small), (1, 9, degree_of(8))] {
        let primes = ntt_primes_below(45, log_n, 4, &[]).unwrap();
        let ring = RingSpec::new(log_n, primes[..3].to_vec(), primes[3..].to_vec()).unwrap();
        let source = RlweParams::insecure(ring.clone(), RlweParams::even_digits(3, 3)).unwrap();
        let switching = SwitchingParams::insecure(&source, base, &tfhe).unwrap();
        let ring = Ring::new(Cpu::new(), ring).unwrap();
        let there = switching.ring(Cpu::new()).unwrap();
        let (secret, target) =
            (SecretKey::generate(&source, &mut rng), TfheSecretKey::generate(&tfhe, &mut rng));
        let key = ToTfheKey::generate(&secret, &target, &switching, &there, &mut rng).unwrap();

        // Encryptions of zero, plus what random words are.
        let s = secret.on(&ring, Span::chain(base)).unwrap();
        let mut ct = SeededZero::generate(&s, base, 2, &mut rng).unwrap().expand().unwrap();
        let noise = Poly::uniform(&ring, Span::chain(base), 2, &Seed::random(&mut rng), 0);
        ct.c[0].add_assign(&noise.unwrap()).unwrap();
        let words = ct.message(&s).unwrap().into_coeff().unwrap().to_words().unwrap();

        let n = ring.n();
        let indices: Vec<usize> = (0..n).collect();
        let samples = ToTfhe::new(&switching, &there).unwrap().switch(&ct, &indices, &key).unwrap();
        assert_eq!(samples.key_set(), Some(target.key_set()));
        let phases = target.phases(&samples).unwrap();
        let (mut squares, mut greatest) = (0.0, 0.0f64);
        for (sample, &phase) in phases.iter().enumerate() {
            let residues: Vec<u64> = (0..base).map(|limb| words[limb * 2 * n + sample]).collect();
            let expected = fraction(&residues, &primes);
            let expected = (expected * 63f64.exp2()) as u64;
            let error = centred(phase.wrapping_sub(expected.wrapping_mul(2)));
            squares += error * error;
            greatest = greatest.max(error.abs());
        }
        let (rms, predicted) = ((squares / phases.len() as f64).sqrt(), switching.noise_log2().exp2());
        println!("N = 2^{log_n}: {:.3} of 2^{:.2}", rms / predicted, switching.noise_log2());
        assert!(rms < 1.3 * predicted && rms > 0.75 * predicted, "{rms:e}, predicted {predicted:e}");
        assert!(greatest < 7.0 * predicted, "{greatest:e}, predicted {predicted:e}");
    }
}

/// The small parameters at another degree.
fn degree_of(log_degree: u32) -> TfheParams {
    let spec = *presets::insecure_small().unwrap().spec();
    TfheParams::insecure(TfheSpec { log_degree, ..spec }).unwrap()
}

/// x / (the product of the primes) from residues, by mixed radix.
fn fraction(residues: &[u64], primes: &[u64]) -> f64 {
    match residues {
        [x] => *x as f64 / primes[0] as f64,
        [x, y] => {
            let (p, q) = (u128::from(primes[0]), u128::from(primes[1]));
            let inverse = Modulus::new(primes[1]).unwrap();
            let inverse = u128::from(inverse.pow(inverse.reduce(primes[0]), primes[1] - 2));
            let difference = (u128::from(*y) + q - u128::from(*x) % q) % q;
            let high = difference * inverse % q;
            (high as f64 + *x as f64 / p as f64) / q as f64
        }
        _ => unreachable!("bases have one or two primes"),
    }
}

#[test]
fn slots_become_parts_of_the_torus() {
    let mut rng = seeded();
    let params = CkksParams::for_depth(2).precision_bits(20).build().unwrap();
    let tfhe = presets::insecure_small().unwrap();
    let base = params.levels()[0].primes;
    let switching = SwitchingParams::insecure(params.rlwe(), base, &tfhe).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let there = switching.ring(Cpu::new()).unwrap();
    let (secret, target) =
        (SecretKey::generate(params.rlwe(), &mut rng), TfheSecretKey::generate(&tfhe, &mut rng));
    let key = ToTfheKey::generate(&secret, &target, &switching, &there, &mut rng).unwrap();
    let ev = Evaluator::new(&params, &ring).unwrap();
    let encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
    for (log_slots, matrices, range) in [(0, 1, 2.0), (5, 1, 16.0), (6, 2, 1000.0)] {
        let spec = SlotsToTfheSpec { log_slots, matrices, range };
        let switcher = SlotsToTfhe::new(&ev, &switching, &there, spec).unwrap();
        let keys = EvaluationKeys::generate(&secret, &ring, switcher.requirements(), &mut rng).unwrap();
        let values: Vec<f64> = (0..1 << log_slots)
            .map(|_| (rng.next_u64() as i64) as f64 / 64f64.exp2() * 0.99 * range)
            .collect();
        let plain = ev.encoder().encode_real(&values, params.encoding().slots(1 << log_slots)).unwrap();
        let x = encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap();
        let samples = switcher.switch(&x, &keys, &key).unwrap();
        let phases = target.phases(&samples).unwrap();
        assert_eq!(phases.len(), values.len());
        for (slot, (&phase, &value)) in phases.iter().zip(&values).enumerate() {
            let error = centred(phase) - value / range;
            assert!(error.abs() < 1e-4, "slot {slot} of {}: {error:e}", values.len());
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = seeded();
    let params = CkksParams::for_depth(1).build().unwrap();
    let tfhe = presets::insecure_small().unwrap();
    let gates = presets::gates_2m128().unwrap();
    assert!(matches!(
        SwitchingParams::insecure(params.rlwe(), 1, &gates),
        Err(ParamsError::OutOfRange { found, highest, .. }) if found == 3.0 && highest == 1.0
    ));
    assert!(matches!(SwitchingParams::new(params.rlwe(), 1, &tfhe), Err(ParamsError::OutOfRange { .. })));
    for base in [0, 100] {
        assert!(matches!(
            SwitchingParams::insecure(params.rlwe(), base, &tfhe),
            Err(ParamsError::ChainLength { found, .. }) if found == base
        ));
    }
    let digits = presets::digits_2m128().unwrap();
    let secure = SwitchingParams::new(params.rlwe(), 1, &digits).unwrap();
    assert!(secure.key().ring().log_qp() < 51.0);

    let switching = SwitchingParams::insecure(params.rlwe(), 1, &tfhe).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let there = switching.ring(Cpu::new()).unwrap();
    let [secret, foreign] = [(); 2].map(|()| SecretKey::generate(params.rlwe(), &mut rng));
    let target = TfheSecretKey::generate(&tfhe, &mut rng);
    let key = ToTfheKey::generate(&secret, &target, &switching, &there, &mut rng).unwrap();
    assert!(matches!(
        ToTfheKey::generate(&secret, &target, &secure, &secure.ring(Cpu::new()).unwrap(), &mut rng),
        Err(Error::ParamsMismatch { .. })
    ));
    assert!(matches!(ToTfhe::new(&switching, &ring), Err(Error::RingMismatch)));
    let to = ToTfhe::new(&switching, &there).unwrap();
    let zero = |secret: &SecretKey, primes, rng: &mut ChaCha20Rng| {
        let s = secret.on(&ring, Span::chain(primes)).unwrap();
        SeededZero::generate(&s, primes, 1, rng).unwrap().expand().unwrap()
    };
    let ct = zero(&secret, 1, &mut rng);
    assert!(matches!(to.switch(&ct, &[ring.n()], &key), Err(Error::Argument { .. })));
    assert!(matches!(to.switch(&zero(&secret, 2, &mut rng), &[0], &key), Err(Error::SpanMismatch { .. })));
    assert!(matches!(to.switch(&zero(&foreign, 1, &mut rng), &[0], &key), Err(Error::KeyMismatch { .. })));
    assert_eq!(to.switch(&ct, &[], &key).unwrap().count(), 0);
}

/// Comparisons of numbers in slots that no polynomial of so low a degree could make.
#[test]
fn slots_are_compared_exactly() {
    let mut rng = seeded();
    let params = CkksParams::for_depth(2).precision_bits(20).build().unwrap();
    let tfhe = presets::insecure_small().unwrap();
    let switching = SwitchingParams::insecure(params.rlwe(), params.levels()[0].primes, &tfhe).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let there = switching.ring(Cpu::new()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let target = TfheSecretKey::generate(&tfhe, &mut rng);
    let key = ToTfheKey::generate(&secret, &target, &switching, &there, &mut rng).unwrap();
    let ev = Evaluator::new(&params, &ring).unwrap();
    let spec = SlotsToTfheSpec { log_slots: 4, matrices: 1, range: 256.0 };
    let switcher = SlotsToTfhe::new(&ev, &switching, &there, spec).unwrap();
    let keys = EvaluationKeys::generate(&secret, &ring, switcher.requirements(), &mut rng).unwrap();
    let x: Vec<i64> = (0..16).map(|_| i64::from(rng.next_u32() as i8 / 2)).collect();
    let y: Vec<i64> = x.iter().zip(-8..).map(|(x, difference)| x - difference / 4).collect();
    let encryptor = SecretEncryptor::new(&params, &secret, &ring).unwrap();
    let encrypt = |values: &[i64], rng: &mut ChaCha20Rng| {
        let values: Vec<f64> = values.iter().map(|&value| value as f64).collect();
        let plain = ev.encoder().encode_real(&values, params.encoding().slots(16)).unwrap();
        encryptor.encrypt(&plain, rng).unwrap().expand().unwrap()
    };
    let difference = ev.sub(&encrypt(&x, &mut rng), &encrypt(&y, &mut rng)).unwrap();
    let samples = switcher.switch(&difference, &keys, &key).unwrap();

    let boot = BootstrapKey::generate(&target, &mut rng);
    let integers = IntegerEvaluator::new(&Cpu::new(), &boot, Carry::Ripple).unwrap();
    let rounded = integers.rounded(&samples, 8, switching.noise_log2(), Rounding::Nearest).unwrap();
    let difference = rounded.reinterpret::<Signed>();
    let expected: Vec<i64> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
    assert_eq!(target.decrypt_i64(&difference).unwrap(), expected);
    let zero = integers.constant_i64(&[0; 16], 8).unwrap();
    let less = target.decrypt_flags(&integers.lt(&difference, &zero).unwrap()).unwrap();
    assert_eq!(less, x.iter().zip(&y).map(|(x, y)| x < y).collect::<Vec<_>>());
}

/// Random phases come back, each at its coefficient, and nothing elsewhere.
#[test]
fn phases_are_packed() {
    let mut rng = seeded();
    let tfhe = presets::insecure_small().unwrap();
    let log_n = 10;
    let primes = ntt_primes_below(50, log_n, 3, &[]).unwrap();
    let ring = RingSpec::new(log_n, primes[..2].to_vec(), primes[2..].to_vec()).unwrap();
    let target = RlweParams::insecure(ring.clone(), RlweParams::even_digits(2, 2)).unwrap();
    let params = FromTfheParams::new(&tfhe, &target).unwrap();
    let ring = Ring::new(Cpu::new(), ring).unwrap();
    let (from, to) = (TfheSecretKey::generate(&tfhe, &mut rng), SecretKey::generate(&target, &mut rng));
    let key = FromTfheKey::generate(&from, &to, &params, &ring, &mut rng).unwrap();
    let packer = FromTfhe::new(&params, &ring).unwrap();
    let s = to.on(&ring, Span::chain(1)).unwrap();
    for count in [1usize, 2, 3, 64, 100, 1024] {
        let messages: Vec<u64> = (0..count).map(|_| rng.next_u64()).collect();
        let samples = from.encrypt(&Cpu::new(), &messages, &mut rng).unwrap();
        // The encrypted values are off by the noise of encryption.
        let phases = from.phases(&samples).unwrap();
        let packed = packer.pack(&samples, &key).unwrap();
        assert_eq!(packed.key_set(), Some(to.key_set()));
        let words = packed.message(&s).unwrap().into_coeff().unwrap().to_words().unwrap();
        let step = ring.n() / count.next_power_of_two();
        let predicted = params.noise_log2(&key).exp2();
        let mut squares = 0.0;
        for (i, &word) in words.iter().enumerate() {
            let found = (u128::from(word) << 64) / u128::from(primes[0]);
            let expected = if i % step == 0 { phases.get(i / step).copied().unwrap_or(0) } else { 0 };
            let error = centred((found as u64).wrapping_sub(expected));
            assert!(error.abs() < 8.0 * predicted, "{count}, coefficient {i}: {error:e}, {predicted:e}");
            squares += error * error;
        }
        println!(
            "{count}: 2^{:.2} of 2^{:.2}",
            (squares / words.len() as f64).log2() / 2.0,
            predicted.log2()
        );
    }
}

/// Phases of TFHE in slots, on a level where they can be multiplied.
#[test]
fn phases_become_slots() {
    let mut rng = seeded();
    let tfhe = presets::insecure_small().unwrap();
    let spec = BootstrapSpec { log_n: 10, log_slots: 6, ..Preset::Fast.spec() };
    let boot = BootstrapParams::insecure(spec).unwrap();
    let ring = boot.ring(Cpu::new()).unwrap();
    let (from, to) =
        (TfheSecretKey::generate(&tfhe, &mut rng), SecretKey::generate(boot.params().rlwe(), &mut rng));
    let bootstrapper = Bootstrapper::new(&boot, &ring).unwrap();
    let back = TfheToSlots::new(&tfhe, bootstrapper, &ring).unwrap();
    let key = FromTfheKey::generate(&from, &to, back.params(), &ring, &mut rng).unwrap();
    let boot_keys = BootstrapKeys::generate(&to, &boot, &ring, &mut rng).unwrap();
    let ev = Evaluator::new(boot.params(), &ring).unwrap();
    let decryptor = Decryptor::new(boot.params(), &to, &ring).unwrap();
    for count in [1, 50, 64] {
        let values: Vec<f64> = (0..count).map(|_| (rng.next_u64() as i64) as f64 / 63f64.exp2()).collect();
        let phases: Vec<u64> = values
            .iter()
            .map(|value| (value / back.gain() * 62f64.exp2()) as i64 as u64)
            .map(|p| p.wrapping_mul(4))
            .collect();
        let samples = from.encrypt(&Cpu::new(), &phases, &mut rng).unwrap();
        let x = back.switch(&samples, &key, &boot_keys).unwrap();
        assert_eq!((x.level(), x.slots()), (boot.output_level(), 64));
        let found = decryptor.decrypt_real(&x).unwrap();
        for (slot, found) in found[..64].iter().enumerate() {
            let expected = values.get(slot).copied().unwrap_or(0.0);
            assert!((found - expected).abs() < 1e-3, "{count}, slot {slot}: {found}, not {expected}");
        }
        assert!(
            ev.mul_plain(&x, &ev.encoder().encode_real(&[1.0], boot.params().encoding()).unwrap()).is_ok()
        );
    }
    let more = from.encrypt(&Cpu::new(), &[0; 65], &mut rng).unwrap();
    assert!(matches!(
        back.switch(&more, &key, &boot_keys),
        Err(Error::SlotCount { found: 65, capacity: 64 })
    ));
}

/// Every function against the same one in the clear, and its result multiplied.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn functions_of_slots_are_exact() {
    let mut rng = seeded();
    let small = *presets::insecure_small().unwrap().spec();
    let tfhe =
        TfheParams::insecure(TfheSpec { bootstrap: Gadget { base_log: 12, levels: 3 }, ..small }).unwrap();
    let spec = BootstrapSpec { log_n: 10, log_slots: 4, ..Preset::Fast.spec() };
    let boot = BootstrapParams::insecure(spec).unwrap();
    let (params, ring) = (boot.params(), boot.ring(Cpu::new()).unwrap());
    let (secret, target) =
        (SecretKey::generate(params.rlwe(), &mut rng), TfheSecretKey::generate(&tfhe, &mut rng));
    let switching = SwitchingParams::insecure(params.rlwe(), params.levels()[0].primes, &tfhe).unwrap();
    let there_ring = switching.ring(Cpu::new()).unwrap();
    let ev = Evaluator::new(params, &ring).unwrap();
    let spec = SlotsToTfheSpec { log_slots: 4, matrices: 1, range: 2.0 };
    let there = SlotsToTfhe::new(&ev, &switching, &there_ring, spec).unwrap();
    let back = TfheToSlots::new(&tfhe, Bootstrapper::new(&boot, &ring).unwrap(), &ring).unwrap();
    let keys = SwitchingKeys {
        evaluation: &EvaluationKeys::generate(&secret, &ring, there.requirements(), &mut rng).unwrap(),
        to_tfhe: &ToTfheKey::generate(&secret, &target, &switching, &there_ring, &mut rng).unwrap(),
        from_tfhe: &FromTfheKey::generate(&target, &secret, back.params(), &ring, &mut rng).unwrap(),
        bootstrapping: &BootstrapKeys::generate(&secret, &boot, &ring, &mut rng).unwrap(),
    };
    let boot_key = BootstrapKey::generate(&target, &mut rng);
    let integers = IntegerEvaluator::new(&Cpu::new(), &boot_key, Carry::Ripple).unwrap();
    let exact = ExactFunctions::new(&ev, &there, &integers, &back, keys, 8).unwrap();
    assert_eq!(exact.unit(), 2.0 / 256.0);

    let encryptor = SecretEncryptor::new(params, &secret, &ring).unwrap();
    let decryptor = Decryptor::new(params, &secret, &ring).unwrap();
    // Numbers in units, each within a quarter of an integer.
    let mut numbers = |most: i64| -> Vec<f64> {
        let mut number = |slot: usize| {
            let integer = (rng.next_u64() as i64).rem_euclid(2 * most + 1) - most;
            let offset = (rng.next_u64() as i64) as f64 / 64f64.exp2() / 2.0;
            (if slot.is_multiple_of(5) { 0.0 } else { integer as f64 }) + offset
        };
        (0..16).map(&mut number).collect()
    };
    let (x, y) = (numbers(60), numbers(60));
    let mut encrypt = |units: &[f64]| {
        let values: Vec<f64> = units.iter().map(|unit| unit * exact.unit()).collect();
        let plain = ev.encoder().encode_real(&values, params.encoding().slots(16)).unwrap();
        encryptor.encrypt(&plain, &mut rng).unwrap().expand().unwrap()
    };
    let (cx, cy) = (encrypt(&x), encrypt(&y));
    let check = |name: &str, found: &Ciphertext, expected: &dyn Fn(usize) -> f64| {
        assert_eq!(found.level(), boot.output_level());
        for (slot, found) in decryptor.decrypt_real(found).unwrap()[..16].iter().enumerate() {
            let expected = expected(slot);
            assert!((found - expected).abs() < 1e-2, "{name}, slot {slot}: {found}, not {expected}");
        }
    };
    let nearest = |x: f64| (x + 0.5).floor();
    check("sign", &exact.sign(&cx).unwrap(), &|i| nearest(x[i]).clamp(-1.0, 1.0));
    check("floor", &exact.floor(&cx).unwrap(), &|i| x[i].floor() * exact.unit());
    let less = exact.less(&cx, &cy).unwrap();
    check("less", &less, &|i| f64::from(nearest(x[i] - y[i]) < 0.0));
    for count in [1, 7, 16] {
        let (value, place) = exact.argmax(&cx, count).unwrap();
        let greatest = x[..count].iter().map(|x| nearest(*x)).fold(f64::MIN, f64::max);
        assert_eq!(target.decrypt_i64(&value).unwrap(), [greatest as i64]);
        let place = target.decrypt_u64(&place).unwrap()[0] as usize;
        assert_eq!(nearest(x[place]), greatest);
    }
    for count in [0, 17] {
        assert!(matches!(exact.argmax(&cx, count), Err(Error::BatchRange { .. })));
    }
}
