//! Compares integers with native ones.

use super::{CPU, keys, sized};
use he::backend::Cpu;
use he::tfhe::{Carry, EncryptedFlags, EncryptedUint, IntegerEvaluator, LweBatch, TfheSecretKey, presets};
use he::{Error, Publisher};
use num_bigint::BigUint;
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

/// Edge values of a width, then random ones.
fn values(bits: usize, random: usize, rng: &mut ChaCha20Rng) -> Vec<BigUint> {
    let one = BigUint::from(1u8);
    let top = (&one << bits) - &one;
    let half = &one << (bits - 1);
    let mut values =
        vec![BigUint::ZERO, one.clone(), top.clone(), half.clone(), &half - &one, BigUint::from(0x5au8)];
    values.extend((0..random).map(|_| {
        let digits: Vec<u32> = (0..bits.div_ceil(32)).map(|_| rng.next_u32()).collect();
        BigUint::new(digits) & &top
    }));
    values
}

struct Case {
    secret: TfheSecretKey,
    ev: IntegerEvaluator<Cpu>,
}

impl Case {
    fn open(&self, x: &EncryptedUint<Cpu>) -> Vec<BigUint> {
        self.secret.decrypt_uint(x).unwrap()
    }

    /// Every operation on pairs of numbers.
    fn check(&self, x: &[BigUint], y: &[BigUint], bits: usize, rng: &mut ChaCha20Rng) {
        let cpu = self.ev.backend();
        let modulus = BigUint::from(1u8) << bits;
        let a = self.secret.encrypt_uint(cpu, x, bits, rng).unwrap();
        let b = self.secret.encrypt_uint(cpu, y, bits, rng).unwrap();
        assert_eq!(self.open(&a), x);
        let pairs = || x.iter().zip(y);
        let sum = self.ev.add(&a, &b).unwrap();
        assert_eq!(self.open(&sum), pairs().map(|(x, y)| (x + y) % &modulus).collect::<Vec<_>>(), "{bits}");
        let difference = self.ev.sub(&a, &b).unwrap();
        let expected: Vec<_> = pairs().map(|(x, y)| (x + &modulus - y) % &modulus).collect();
        assert_eq!(self.open(&difference), expected, "{bits}");
        let less = self.secret.decrypt_flags(&self.ev.lt(&a, &b).unwrap()).unwrap();
        assert_eq!(less, pairs().map(|(x, y)| x < y).collect::<Vec<_>>(), "{bits}");
        let same = self.secret.decrypt_flags(&self.ev.eq(&a, &b).unwrap()).unwrap();
        assert_eq!(same, pairs().map(|(x, y)| x == y).collect::<Vec<_>>(), "{bits}");
        let least = self.ev.min(&a, &b).unwrap();
        assert_eq!(self.open(&least), pairs().map(|(x, y)| x.min(y).clone()).collect::<Vec<_>>(), "{bits}");
        let (low, high) = self.ev.min_max(&a, &b).unwrap();
        assert_eq!(self.open(&low), pairs().map(|(x, y)| x.min(y).clone()).collect::<Vec<_>>(), "{bits}");
        assert_eq!(self.open(&high), pairs().map(|(x, y)| x.max(y).clone()).collect::<Vec<_>>(), "{bits}");
        // Compares digits of the same bootstraps with each other.
        let ordered = self.secret.decrypt_flags(&self.ev.lt(&high, &low).unwrap()).unwrap();
        assert!(ordered.iter().all(|flag| !flag), "{bits}");
        let (sum, apart) = (self.ev.add(&low, &high).unwrap(), self.ev.sub(&high, &low).unwrap());
        assert_eq!(self.open(&sum), pairs().map(|(x, y)| (x + y) % &modulus).collect::<Vec<_>>(), "{bits}");
        let expected: Vec<_> = pairs().map(|(x, y)| x.max(y) - x.min(y)).collect();
        assert_eq!(self.open(&apart), expected, "{bits}");
        // Selected digits are the noisiest operands.
        let most = self.ev.max(&a, &least).unwrap();
        assert_eq!(self.open(&most), x, "{bits}");
        let back = self.ev.sub(&self.ev.add(&most, &least).unwrap(), &least).unwrap();
        assert_eq!(self.open(&back), x, "{bits}");
    }
}

#[test]
fn small_parameters_all_widths() {
    for (seed, carry, widest) in [(1, Carry::Ripple, 256), (2, Carry::Prefix, 100)] {
        let (secret, key, mut rng) = keys(&presets::insecure_small().unwrap(), seed);
        let case = Case { secret, ev: IntegerEvaluator::new(&CPU(), &key, carry).unwrap() };
        let quick = vec![(8, 6), (10, 3), (14, 3), (32, 3), (widest, 3)];
        let deep = vec![(8, 20), (10, 6), (14, 4), (32, 4), (64, 3), (widest, 3)];
        for (bits, random) in sized(quick, deep) {
            let x = values(bits, random, &mut rng);
            let mut y = values(bits, random, &mut rng);
            y.rotate_left(bits % 3);
            // Neighbours, and equal numbers.
            y[7] = &x[7] ^ BigUint::from(1u8);
            y[8] = x[8].clone();
            case.check(&x, &y, bits, &mut rng);
        }
    }
}

#[test]
fn real_parameters() {
    for (seed, params) in [(2, presets::digits_2m128().unwrap()), (3, presets::digits_2m40().unwrap())] {
        let (secret, key, mut rng) = keys(&params, seed);
        let case = Case { secret, ev: IntegerEvaluator::new(&CPU(), &key, Carry::default()).unwrap() };
        let x = [BigUint::from(0xc5u8)];
        let y = [BigUint::from(0xc6u8)];
        case.check(&x, &y, 8, &mut rng);
    }
}

#[test]
fn constants_and_select() {
    let cpu = CPU();
    let (secret, key, mut rng) = keys(&presets::insecure_small().unwrap(), 4);
    let ev = IntegerEvaluator::new(&cpu, &key, Carry::Prefix).unwrap();
    let numbers = |x: [u32; 2]| x.map(BigUint::from);
    let x = secret.encrypt_uint(&cpu, &numbers([1_000_000, 7]), 32, &mut rng).unwrap();
    let five = ev.constant(&numbers([5, 5]), 32).unwrap();
    let open = |x: &EncryptedUint<Cpu>| secret.decrypt_uint(x).unwrap();
    assert_eq!(open(&ev.add(&x, &five).unwrap()), numbers([1_000_005, 12]));
    assert_eq!(
        open(&ev.sub(&five, &x).unwrap()),
        numbers([5u32.wrapping_sub(1_000_000), 5u32.wrapping_sub(7)])
    );
    let ten = ev.constant(&numbers([10, 10]), 32).unwrap();
    let small = ev.lt(&x, &ten).unwrap();
    assert_eq!(open(&ev.select(&small, &five, &x).unwrap()), numbers([1_000_000, 5]));
}

#[test]
fn what_does_not_fit_is_refused() {
    let cpu = CPU();
    let params = presets::insecure_small().unwrap();
    let (secret, key, mut rng) = keys(&params, 5);
    let ev = IntegerEvaluator::new(&cpu, &key, Carry::Ripple).unwrap();
    let number = |x: u32| [BigUint::from(x)];
    for bits in [0, 6, 9, 258, usize::MAX] {
        assert!(matches!(ev.constant(&number(1), bits), Err(Error::Argument { .. })), "{bits}");
    }
    let wide = secret.encrypt_uint(&cpu, &number(256), 8, &mut rng);
    assert!(wide.unwrap_err().to_string().contains("number 0 of the batch does not fit 8 bits"));
    let a = ev.constant(&number(1), 8).unwrap();
    let b = ev.constant(&number(1), 16).unwrap();
    assert!(matches!(ev.add(&a, &b), Err(Error::Argument { .. })));
    let two = ev.constant(&[BigUint::ZERO, BigUint::ZERO], 8).unwrap();
    assert!(matches!(ev.lt(&a, &two), Err(Error::BatchMismatch { .. })));
    let flags = ev.eq(&a, &a).unwrap();
    assert!(matches!(ev.select(&flags, &two, &two), Err(Error::BatchMismatch { .. })));
    // Gates' parameters are too noisy for digits: refused before the key is expanded.
    let (_, gates, _) = keys(&presets::gates_2m40().unwrap(), 6);
    let refused = IntegerEvaluator::new(&cpu, &gates, Carry::Ripple).unwrap_err();
    assert!(refused.to_string().contains("use a preset for digits"));
    assert!(LweBatch::upload(&cpu, &params, &[1, 2]).is_err());
}

/// Words of 64 bits are the same integers, and what does not fit is refused with both values.
#[test]
fn words_are_integers() {
    let cpu = &CPU();
    let params = presets::insecure_small().unwrap();
    let (secret, _, mut rng) = keys(&params, 12);
    for bits in [8, 10, 62, 64, 128, 256] {
        let most = if bits >= 64 { u64::MAX } else { (1 << bits) - 1 };
        let values = [0, 1, most / 3, most];
        let x = secret.encrypt_u64(cpu, &values, bits, &mut rng).unwrap();
        let big: Vec<BigUint> = values.map(BigUint::from).to_vec();
        assert_eq!(secret.decrypt_uint(&x).unwrap(), big, "{bits} bits");
        let x = secret.encrypt_uint(cpu, &big, bits, &mut rng).unwrap();
        match secret.decrypt_u64(&x) {
            Ok(found) => assert!(bits <= 64 && found == values, "{bits} bits"),
            Err(error) => {
                assert!(bits > 64, "{bits} bits: {error}");
                assert!(error.to_string().contains(&format!("{bits}; a u64 holds at most 64")), "{error}");
            }
        }
        if bits < 64 {
            for error in [
                secret.encrypt_u64(cpu, &[0, most + 1], bits, &mut rng).map(drop),
                secret.encrypt_u64_seeded(&[0, u64::MAX], bits, &mut rng).map(drop),
            ] {
                let error = error.unwrap_err().to_string();
                assert!(
                    error.contains(&format!("number 1 of the batch does not fit {bits} bits")),
                    "{error}"
                );
            }
        }
    }
    for bits in [0, 7, 9, 258, usize::MAX] {
        assert!(secret.encrypt_u64(cpu, &[0], bits, &mut rng).is_err(), "{bits} bits");
        assert!(secret.encrypt_u64_seeded(&[0], bits, &mut rng).is_err(), "{bits} bits");
    }
}

/// The bits of a digit for carries and padding are examined, not cut off.
#[test]
fn digits_out_of_range_are_refused() {
    let cpu = CPU();
    for seed in 0..3 {
        let params = presets::insecure_small().unwrap();
        let (secret, _, mut rng) = keys(&params, seed);
        let numbers = values(16, 10, &mut rng);
        let x = secret.encrypt_uint(&cpu, &numbers, 16, &mut rng).unwrap();
        // From words, which do not name their key.
        let x = LweBatch::upload(&cpu, &params, &x.ciphertexts().download().unwrap()).unwrap();
        let x = EncryptedUint::from_ciphertexts(x, 16).unwrap();
        let (wrong, _, _) = keys(&params, 100 + seed);
        let error = wrong.decrypt_uint(&x).unwrap_err();
        // 7/8 of 128 digits are out of range, give or take four deviations.
        let Error::BadDigits { bad, count: 128 } = error else { panic!("seed {seed}: {error:?}") };
        assert!((97..=127).contains(&bad), "seed {seed}: {bad}");
        let text = error.to_string();
        assert!(text.contains(&format!("{bad} of 128")) && text.contains("secret key"), "{text}");

        // Every message of 2^-5 of the torus: digits are 0 ... 3, conditions 0 and 1.
        let unit = 1u64 << 59;
        for message in 0..32u64 {
            let mut words = [1, 3, 0, 2].map(|digit| digit * unit);
            words[2] = message * unit;
            let batch = secret.encrypt(&cpu, &words, &mut rng).unwrap();
            let found = secret.decrypt_uint(&EncryptedUint::from_ciphertexts(batch, 8).unwrap());
            match found {
                Ok(found) => assert!(message < 4 && found == [BigUint::from(0b10_00_11_01 + (message << 4))]),
                Err(Error::BadDigits { bad: 1, count: 4 }) => assert!(message >= 4),
                Err(error) => panic!("message {message}: {error}"),
            }
            let flag = secret.encrypt(&cpu, &[message * unit], &mut rng).unwrap();
            let found = secret.decrypt_flags(&EncryptedFlags::from_ciphertexts(flag));
            match found {
                Ok(found) => assert!(message < 2 && found == [message == 1]),
                Err(Error::BadDigits { bad: 1, count: 1 }) => assert!(message >= 2),
                Err(error) => panic!("message {message}: {error}"),
            }
        }
    }
}

/// Parameters that fail too often are refused, and digits are counted.
#[test]
fn publications_depend_on_the_failure_probability() {
    let (often, rarely) = (presets::digits_2m40().unwrap(), presets::digits_2m128().unwrap());
    for (params, security, fits) in [(&often, 1, true), (&often, 40, false), (&rarely, 40, true)] {
        let secret = TfheSecretKey::generate(params, &mut ChaCha20Rng::seed_from_u64(1));
        let mut publisher = Publisher::new(security, 16).unwrap();
        match secret.publish(8, 20.0, &mut publisher) {
            Ok(()) => assert!(fits && publisher.left() == 8),
            Err(error @ Error::FailureProbability { found_log2, limit_log2 }) => {
                assert!(!fits && publisher.left() == 16, "{error}");
                // s + log2 D + log2 L.
                assert_eq!(limit_log2, -64.0);
                assert!((-41.0..-40.0).contains(&found_log2), "{error}");
                assert!(error.to_string().contains("2^-64.0"), "{error}");
            }
            Err(error) => panic!("{error}"),
        }
    }
    let secret = TfheSecretKey::generate(&rarely, &mut ChaCha20Rng::seed_from_u64(1));
    let mut publisher = Publisher::new(40, 16).unwrap();
    let error = secret.publish(17, 20.0, &mut publisher).unwrap_err();
    assert!(matches!(error, Error::DecryptionsSpent { asked: 17, left: 16, of: 16 }), "{error}");
}
