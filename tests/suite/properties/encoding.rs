//! The precision with which encoding keeps values, and the values that it refuses.

use super::*;

#[test]
fn encoding_round_trips_at_every_magnitude() {
    for_seeds(4, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            for level in 0..=w.top() {
                let scale = w.scale(level);
                for exponent in -6..=12 {
                    let magnitude = 10f64.powi(exponent);
                    let values = map(&random_values(rng, 2, n), |z| z * magnitude);
                    let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
                    let what = format!("{name}, level {level}, 10^{exponent}");
                    match w.ev.encoder().encode_batch(&vectors, w.encoding(level, n)) {
                        Ok(plain) => {
                            let found = w.ev.encoder().decode(&plain).unwrap();
                            let bound = w.encoding_error(&values, scale);
                            let worst = worst_difference(&found, &values);
                            assert!(worst <= bound, "{what}: error {worst:e}, bound {bound:e}");
                        }
                        Err(Error::ValueTooLarge { index, needed_bits, available_bits, level: found }) => {
                            // Coefficients are at most the largest slot: the refusal must be true.
                            assert_eq!(
                                (found, available_bits),
                                (level, (w.params.log_q(level) as u32).min(126))
                            );
                            let most = (super::super::common::magnitude(&values) * scale).log2();
                            assert!(index < w.ring.n() && needed_bits > available_bits, "{what}");
                            assert!(f64::from(needed_bits) < most + 3.0, "{what}: {needed_bits}, {most}");
                        }
                        Err(error) => panic!("{what}: {error}"),
                    }
                }
            }
        });
    });
}

/// At the edge of what fits, to the bit.
#[test]
fn values_fit_up_to_half_of_the_modulus() {
    let w = world("N=16, 5 digits", [], &mut rng(1));
    let encoder = w.ev.encoder();
    for level in 0..=w.top() {
        let available = w.params.log_q(level) as u32;
        let to = w.encoding(level, 8);
        // A constant c is the coefficient c x scale alone: 2^(b - 1) - 1 takes b bits with its
        // sign.
        for (bits, fits) in [(available.min(126), true), (available.min(126) + 1, false)] {
            let value = (f64::from(bits - 1).exp2() * (1.0 - 1e-9)) / w.scale(level);
            for sign in [1.0, -1.0] {
                let result = encoder.encode(&[Complex64::new(sign * value, 0.0); 8], to);
                assert_eq!(result.is_ok(), fits, "level {level}, {bits} bits");
                if let Ok(plain) = result {
                    let found = encoder.decode(&plain).unwrap()[0][3];
                    assert!((found.re / (sign * value) - 1.0).abs() < 1e-9, "level {level}: {found}");
                } else if let Err(error) = result {
                    let expected = Error::ValueTooLarge {
                        index: 0,
                        needed_bits: bits,
                        available_bits: available.min(126),
                        level,
                    };
                    assert_eq!(error.to_string(), expected.to_string());
                }
            }
        }
        for huge in [1e300, f64::MAX] {
            let result = encoder.encode(&[Complex64::new(huge, huge); 8], to);
            assert!(matches!(result, Err(Error::ValueTooLarge { .. })), "{huge}");
        }
    }
}

#[test]
fn bad_values_are_refused_with_their_place() {
    let w = world("N=16, 5 digits", [], &mut rng(2));
    let encoder = w.ev.encoder();
    let to = w.params.encoding();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for index in 0..8 {
            for z in [Complex64::new(bad, 0.0), Complex64::new(0.0, bad)] {
                let mut values = [Complex64::ONE; 8];
                values[index] = z;
                let Err(Error::NotFinite { index: found }) = encoder.encode(&values, to) else { panic!() };
                assert_eq!(found, index);
            }
        }
        assert!(matches!(encoder.encode_real(&[0.0, bad], to), Err(Error::NotFinite { index: 1 })));
        let bad = Complex64::new(bad, 0.0);
        assert!(matches!(encoder.encode_constant(bad, to), Err(Error::NotFinite { index: 0 })));
        let a = w.random(1, 8, 2, &mut rng(3));
        assert!(matches!(w.ev.add_scalar(&a.ct, bad), Err(Error::NotFinite { index: 0 })));
        assert!(matches!(w.ev.mul_scalar(&a.ct, bad.re), Err(Error::NotFinite { index: 0 })));
    }
    for (count, slots) in [(9, 8), (5, 4), (2, 1), (1000, 8)] {
        let result = encoder.encode(&vec![Complex64::ONE; count], to.slots(slots));
        let Err(Error::TooManyValues { found, capacity }) = result else { panic!() };
        assert_eq!((found, capacity), (count, slots));
    }
    for slots in [0, 3, 5, 6, 7, 9, 16, 1 << 20, usize::MAX] {
        for result in
            [encoder.encode(&[], to.slots(slots)), encoder.encode_constant(Complex64::ONE, to.slots(slots))]
        {
            let Err(Error::SlotCount { found, capacity }) = result else {
                panic!("{slots} slots: {result:?}")
            };
            assert_eq!((found, capacity), (slots, 8));
        }
    }
    for scale in [f64::NAN, f64::INFINITY, 0.0, -1.0, f64::MIN_POSITIVE, 1e300] {
        let result = encoder.encode(&[Complex64::ONE], to.scale(scale));
        assert!(matches!(result, Err(Error::ScaleRange { .. })), "{scale}");
    }
    let Err(Error::LevelTooHigh { found, highest }) = to.at_level(&w.params, 5) else { panic!() };
    assert_eq!((found, highest), (5, 4));
    assert!(matches!(encoder.encode_batch(&[], to), Err(Error::BatchRange { .. })));
    // No values are a vector of zeros.
    let zeros = encoder.decode(&encoder.encode(&[], to).unwrap()).unwrap();
    assert_eq!(zeros, [[Complex64::ZERO; 8]]);
    // Values too large for a scalar.
    let a = w.random(1, 8, 0, &mut rng(4));
    let result = w.ev.add_scalar(&a.ct, Complex64::new(1e9, 0.0));
    let expected = Error::ValueTooLarge { index: 0, needed_bits: 71, available_bits: 49, level: 0 };
    assert_eq!(result.unwrap_err().to_string(), expected.to_string());
}

/// Scales beyond 64 bits: 128-bit rounding, composition of wide numbers.
#[test]
fn a_scale_of_ninety_bits() {
    for_seeds(2, |rng| {
        for log_n in [3, 6, 9] {
            let spec = chain(log_n, &[55., 55., 45., 45., 45., 45.], &[55, 55], &[2, 4, 6], 90.0);
            let params = CkksParams::insecure(spec).unwrap();
            let w = World::new(&params, [1], rng);
            let n = params.slots();
            for level in 0..=w.top() {
                let (a, b) = (w.random(1, n, level, rng), w.random(1, n, level, rng));
                // Float64 is the limit, not the noise.
                assert!(a.error < 2.0 * magnitude(&a.values) * 2f64.powi(-44), "{:e}", a.error);
                w.check("fresh", &a, level);
                w.check("add", &w.add(&a, &b), level);
                w.check("rotate", &w.rotate(&a, 1), level);
                w.check("+ constant", &w.add_scalar(&a, Complex64::new(0.1, 0.2)), level);
                w.check("+ real constant", &w.add_scalar(&a, Complex64::new(0.1, 0.0)), level);
                if level > 0 {
                    w.check("mul", &w.mul(&a, &b), level - 1);
                    w.check("mul_scalar", &w.mul_scalar(&a, 0.3), level - 1);
                    w.check("mul_plain", &w.mul_plain(&a, &b.values), level - 1);
                    // Up to 2^180 before the rescale: beyond the short composition at the highest
                    // level.
                    let ct = w.ev.relinearize(&w.ev.tensor(&a.ct, &b.ct).unwrap(), &w.keys).unwrap();
                    let values = zip(&a.values, &b.values, |a, b| a * b);
                    let error = w.product_error(&a, &b) + w.relin_error(level);
                    w.check_values("relinearised", &Sample { ct, values, error });
                }
            }
            // A number beyond 2^192 takes the composition by big integers.
            let top = w.top();
            let mut plain = w.encode(&[vec![Complex64::ONE]], top);
            let a = w.encrypt_plain(&plain, rng);
            let third = i64::MAX / 3;
            let huge = w.ev.mul_integer(&w.ev.mul_integer(&a, third).unwrap(), third).unwrap();
            let found = w.decrypt(&huge)[0][0] / (third as f64).powi(2);
            assert!((found - Complex64::ONE).norm() < 1e-12, "{found}");
            plain.set_scale(1.0);
            let found = w.ev.encoder().decode(&plain).unwrap()[0][0];
            assert!((found / w.scale(top) - Complex64::ONE).norm() < 1e-12, "{found}");
        }
    });
}

/// A number that is small modulo 2^192 without being small: 2^212 + noise 2^122.
#[test]
#[ignore = "CrtComposer composes modulo 2^192 and takes such numbers for small ones"]
fn multiples_of_large_powers_of_two_decode() {
    let rng = &mut rng(10);
    let spec = chain(3, &[55., 55., 45., 45., 45., 45.], &[55, 55], &[2, 4, 6], 90.0);
    let w = World::new(&CkksParams::insecure(spec).unwrap(), [], rng);
    let a = w.encrypt_plain(&w.encode(&[vec![Complex64::ONE]], w.top()), rng);
    let huge = w.ev.mul_integer(&w.ev.mul_integer(&a, 1 << 62).unwrap(), 1 << 60).unwrap();
    let found = w.decrypt(&huge)[0][0];
    assert!((found / 122f64.exp2() - Complex64::ONE).norm() < 1e-12, "{found}");
}

/// Residues drawn at random are numbers of the size of the modulus: the decoder must agree with big
/// integers.
#[test]
fn wide_numbers_decode_as_big_integers_do() {
    use num_bigint::{BigInt, Sign};
    use num_traits::ToPrimitive;
    let w = world("N=16, 5 digits", [], &mut rng(5));
    let n = w.ring.n();
    for_seeds(4, |rng| {
        let a = w.random(1, n / 2, w.top(), rng);
        // c1 of a ciphertext is uniform: decode it as if it were a plaintext.
        let [_, c1] = a.ct.pair().parts();
        let coefficients = c1.duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
        let q: Vec<BigInt> = w.ring.spec().q().iter().map(|&q| BigInt::from(q)).collect();
        let product: BigInt = q.iter().product();
        let compose = |k: usize| {
            let mut x = BigInt::from(0);
            for (i, q) in q.iter().enumerate() {
                let hat = &product / q;
                let inverse = hat.modpow(&(q - 2), q);
                x += &hat * ((inverse * coefficients[i * n + k]) % q);
            }
            x %= &product;
            if &x * 2 > product { x - &product } else { x }
        };
        let integers: Vec<BigInt> = (0..n).map(compose).collect();
        assert!(integers.iter().any(|x| x.sign() == Sign::Minus && x.bits() > 200));
        // Slot j is m(zeta^(5^j)).
        let mut power = 1usize;
        let secretless = Ciphertext::from_parts(
            &w.params,
            he::rlwe::RlweCiphertext::new(c1.duplicate().unwrap(), c1.duplicate().unwrap()).unwrap(),
            w.top(),
            1.0,
            n / 2,
        )
        .unwrap();
        // A zero secret decrypts to the first part.
        let zero = SecretKey::from_coefficients(w.params.rlwe(), vec![0; n].into()).unwrap();
        let plain = Decryptor::new(&w.params, &zero, &w.ring).unwrap().decrypt(&secretless).unwrap();
        let found = &w.ev.encoder().decode(&plain).unwrap()[0];
        let largest = integers.iter().map(|x| x.to_f64().unwrap().abs()).fold(0.0, f64::max);
        for slot in found {
            let terms = integers.iter().enumerate().map(|(k, x)| {
                let angle = std::f64::consts::PI * ((power * k) % (2 * n)) as f64 / n as f64;
                Complex64::from_polar(1.0, angle) * x.to_f64().unwrap()
            });
            let expected: Complex64 = terms.sum();
            assert!((slot - expected).norm() < 1e-12 * largest, "{slot} {expected}");
            power = power * 5 % (2 * n);
        }
    });
}
