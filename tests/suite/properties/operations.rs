//! Every operation and random programs of them, on every shape of parameters.

use super::*;

#[test]
fn every_operation_on_every_shape_and_level() {
    for_seeds(4, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            for level in 0..=w.top() {
                let what = |op: &str| format!("{name}, level {level}, {op}");
                let (a, b) = (w.random(1, n, level, rng), w.random(1, n, level, rng));
                let plain = random_values(rng, 1, n);
                let z = Complex64::new(rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0));
                w.check(&what("fresh"), &a, level);
                w.check(&what("add"), &w.add(&a, &b), level);
                w.check(&what("sub"), &w.sub(&a, &b), level);
                w.check(&what("neg"), &w.neg(&a), level);
                w.check(&what("add_plain"), &w.add_plain(&a, &plain), level);
                w.check(&what("sub_plain"), &w.sub_plain(&a, &plain), level);
                w.check(&what("add_scalar complex"), &w.add_scalar(&a, z), level);
                w.check(&what("add_scalar real"), &w.add_scalar(&a, Complex64::new(z.re, 0.0)), level);
                for factor in [0, 1, -1, 7, -13] {
                    w.check(&what("mul_integer"), &w.mul_integer(&a, factor), level);
                }
                w.check(&what("conjugate"), &w.conjugate(&a), level);
                w.check(&what("rotate"), &w.rotate(&a, rng.random_range(-100..100)), level);
                if level == 0 {
                    let exhausted = |result: Result<Ciphertext<Cpu>>| {
                        assert!(
                            matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })),
                            "{name}"
                        );
                    };
                    exhausted(w.ev.mul(&a.ct, &b.ct, &w.keys));
                    exhausted(w.ev.square(&a.ct, &w.keys));
                    exhausted(w.ev.mul_plain(&a.ct, &w.encode(&plain, 0)));
                    exhausted(w.ev.mul_scalar(&a.ct, 0.5));
                    exhausted(w.ev.linear_combination(&[(&a.ct, 0.5)]));
                    exhausted(w.ev.rescale(&a.ct));
                    exhausted(w.ev.sum_of_rotations(&a.ct, &[(0, 1.0)], &w.keys));
                    continue;
                }
                let product = w.mul(&a, &b);
                w.check(&what("mul"), &product, level - 1);
                let square = w.square(&a);
                w.check(&what("square"), &square, level - 1);
                assert_eq!(words(&square.ct), words(&w.mul(&a, &a).ct), "{}", what("square = a a"));
                w.check(&what("mul_plain"), &w.mul_plain(&a, &plain), level - 1);
                w.check(&what("mul_scalar"), &w.mul_scalar(&a, z.re), level - 1);
                let c = w.random(1, n, level, rng);
                let weights = [(&a, z.re), (&b, z.im), (&c, -0.25)];
                w.check(&what("linear_combination"), &w.linear_combination(&weights), level - 1);
            }
        });
    });
}

/// In place, on ciphertexts as they are and on such that have to be brought to another level or
/// scale: the same words and states.
#[test]
fn operations_in_place_leave_the_same_words() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (ev, n) = (&w.ev, w.params.slots());
            let z = Complex64::new(rng.random_range(-2.0..2.0), rng.random_range(-2.0..2.0));
            for (i, j) in (0..=w.top()).flat_map(|i| (0..=w.top()).map(move |j| (i, j))) {
                let (a, b) = (w.random(2, n, i, rng).ct, w.random(1, n / 2, j, rng).ct);
                let plain = w.encode(&random_values(rng, 1, n), j);
                // A product that is still to be rescaled.
                let raw = (i > 0).then(|| ev.relinearize(&ev.tensor(&a, &a).unwrap(), &w.keys).unwrap());
                for a in [Some(a), raw].into_iter().flatten() {
                    let same = |op: &str,
                                in_place: &dyn Fn(&mut Ciphertext<Cpu>) -> Result<()>,
                                expected: Result<Ciphertext<Cpu>>| {
                        let what = format!("{name}, {op} of levels {i} and {j}");
                        let mut found = a.duplicate().unwrap();
                        let (done, expected) = match (in_place(&mut found), expected) {
                            (Ok(()), Ok(expected)) => (found, expected),
                            (Err(found), Err(expected)) => {
                                assert_eq!(found.to_string(), expected.to_string(), "{what}");
                                return;
                            }
                            (found, expected) => panic!("{what}: {found:?}, {:?}", expected.err()),
                        };
                        let state = |ct: &Ciphertext<Cpu>| (ct.level(), ct.scale(), ct.slots(), ct.noise());
                        assert_eq!(words(&done), words(&expected), "{what}");
                        assert_eq!(state(&done), state(&expected), "{what}");
                    };
                    same("add", &|a| ev.add_assign(a, &b), ev.add(&a, &b));
                    same("sub", &|a| ev.sub_assign(a, &b), ev.sub(&a, &b));
                    same("neg", &|a| ev.neg_assign(a), ev.neg(&a));
                    same("add_plain", &|a| ev.add_plain_assign(a, &plain), ev.add_plain(&a, &plain));
                    same("sub_plain", &|a| ev.sub_plain_assign(a, &plain), ev.sub_plain(&a, &plain));
                    same("mul_integer", &|a| ev.mul_integer_assign(a, -13), ev.mul_integer(&a, -13));
                    for z in [z, z.re.into(), f64::NAN.into(), 1e300.into()] {
                        same("add_scalar", &|a| ev.add_scalar_assign(a, z), ev.add_scalar(&a, z));
                    }
                }
            }
        });
    });
}

/// Sequences of operations chosen at random, on operands of different levels, histories, batches
/// and slots.
#[test]
fn random_programs() {
    for_seeds(3, |rng| {
        each_world(rng, |name, w, rng| {
            let full = w.params.slots();
            let draw = |rng: &mut ChaCha20Rng| {
                let slots = 1usize << rng.random_range(0..w.params.rlwe().ring().log_n());
                let level = rng.random_range(0..=w.top());
                w.random([1, 3][rng.random_range(0..2)], slots, level, rng)
            };
            let mut pool: Vec<Sample> = (0..4).map(|_| draw(rng)).collect();
            for step in 0..40 {
                let (i, j) = (rng.random_range(0..pool.len()), rng.random_range(0..pool.len()));
                let (a, b) = (&pool[i], &pool[j]);
                // The batch of one goes to the right, where additions allow it.
                let (a, b) = if a.values.len() >= b.values.len() { (a, b) } else { (b, a) };
                let level = w.lower_level(a, b);
                let weight = rng.random_range(-1.0..1.0);
                let (op, result, expected) = match rng.random_range(0..13) {
                    0 => ("add", w.add(a, b), level),
                    1 => ("sub", w.sub(a, b), level),
                    2 => ("neg", w.neg(a), a.ct.level()),
                    3 => ("rotate", w.rotate(a, rng.random_range(-40..40)), a.ct.level()),
                    4 => ("conjugate", w.conjugate(a), a.ct.level()),
                    5 => ("mod_switch_to", w.mod_switch_to(a, level), level),
                    6 => ("add_scalar", w.add_scalar(a, Complex64::new(weight, -weight)), a.ct.level()),
                    7 => ("mul_integer", w.mul_integer(a, rng.random_range(-2..=2)), a.ct.level()),
                    8 if level > 0 => ("mul", w.mul(a, b), level - 1),
                    9 if level > 0 => ("linear", w.linear_combination(&[(a, weight), (b, 0.5)]), level - 1),
                    10 if a.ct.level() > 0 => ("mul_scalar", w.mul_scalar(a, weight), a.ct.level() - 1),
                    11 if a.ct.level() > 0 => {
                        let slots = a.values[0].len().max(full / 2).max(1);
                        ("mul_plain", w.mul_plain(a, &random_values(rng, 1, slots)), a.ct.level() - 1)
                    }
                    _ => ("fresh", draw(rng), usize::MAX),
                };
                let expected = if expected == usize::MAX { result.ct.level() } else { expected };
                w.check(&format!("{name}, step {step}, {op}"), &result, expected);
                // Values must stay well within the range of level 0, and errors small.
                let usable = result.magnitude() < (w.params.range() / 4.0).min(4.0)
                    && result.error < 0.01 * result.magnitude().max(1.0);
                pool[i] = if usable { result } else { draw(rng) };
            }
        });
    });
}

#[test]
fn sums_of_products_relinearise_once() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            for level in 1..=w.top() {
                let pairs: Vec<[Sample; 2]> =
                    (0..4).map(|_| [w.random(1, n, level, rng), w.random(1, n, level, rng)]).collect();
                let mut sum = w.ev.tensor(&pairs[0][0].ct, &pairs[0][1].ct).unwrap();
                let mut values = zip(&pairs[0][0].values, &pairs[0][1].values, |a, b| a * b);
                let mut error = w.relin_error(level) + w.product_error(&pairs[0][0], &pairs[0][1]);
                for [a, b] in &pairs[1..] {
                    w.ev.add_products(&mut sum, &w.ev.tensor(&a.ct, &b.ct).unwrap()).unwrap();
                    values = zip(&values, &zip(&a.values, &b.values, |a, b| a * b), |x, y| x + y);
                    error += w.product_error(a, b);
                }
                let ct = w.ev.relinearize_rescale(&sum, &w.keys).unwrap();
                w.check(&format!("{name}, level {level}"), &Sample { ct, values, error }, level - 1);
            }
            let (top, low) = (w.random(1, n, w.top(), rng), w.random(1, n, w.top() - 1, rng));
            let mut a = w.ev.tensor(&top.ct, &top.ct).unwrap();
            let mut b = w.ev.tensor(&low.ct, &low.ct).unwrap();
            b.set_scale(a.scale());
            let result = w.ev.add_products(&mut a, &b);
            assert!(matches!(result, Err(Error::LevelTooHigh { .. } | Error::SpanMismatch { .. })), "{name}");
            b.set_scale(2.0 * a.scale());
            assert!(matches!(w.ev.add_products(&mut a, &b), Err(Error::ScaleMismatch { .. })), "{name}");
        });
    });
}

/// One secure set, end to end.
#[test]
fn a_secure_preset() {
    for_seeds(1, |rng| {
        let w = World::new(&presets::ckks_n13_d3().unwrap(), [1, -64], rng);
        let (a, b) = (w.random(1, 4096, 3, rng), w.random(1, 4096, 3, rng));
        let product = w.mul(&a, &b);
        w.check("mul", &product, 2);
        let cube = w.mul(&product, &a);
        w.check("a b a", &cube, 1);
        w.check("a b a + b", &w.add(&cube, &b), 1);
        w.check("all levels", &w.mul(&cube, &b), 0);
        w.check("rotate", &w.rotate(&a, -64), 3);
        w.check("rotate by a path", &w.rotate(&cube, 2 - 2), 1);
        w.check("conjugate", &w.conjugate(&cube), 1);
    });
}

/// Without special primes there are no evaluation keys; everything else works.
#[test]
fn parameters_without_special_primes() {
    for_seeds(2, |rng| {
        let params = CkksParams::insecure(CkksSpec::from_bits(5, &[45, 36, 36], &[], 36.0).unwrap()).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), rng);
        let missing = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]),
            rng,
        );
        assert!(matches!(missing, Err(Error::Argument { what: "parameters", .. })));
        let w = World {
            public: PublicKey::generate(&secret, &ring, rng).unwrap(),
            keys: EvaluationKeys::empty(params.rlwe(), &ring).unwrap(),
            ev: Evaluator::new(&params, &ring).unwrap(),
            secret,
            ring,
            params,
        };
        let (a, b) = (w.random(1, 16, 2, rng), w.random(1, 16, 1, rng));
        w.check("add", &w.add(&a, &b), 1);
        w.check("mul_plain", &w.mul_plain(&a, &b.values), 1);
        assert!(matches!(w.ev.mul(&a.ct, &b.ct, &w.keys), Err(Error::MissingRelinKey)));
        assert!(matches!(w.ev.conjugate(&a.ct, &w.keys), Err(Error::MissingConjugationKey)));
    });
}

/// Two parameter sets at once, as a server of two clients has them.
#[test]
fn rings_do_not_mix() {
    let rng = &mut rng(9);
    let w = world("N=16, 5 digits", [1], rng);
    // The same parameters in a second ring, and in another place of memory.
    let twin = Ring::new(Cpu::portable(), w.params.rlwe().ring().clone()).unwrap();
    let a = w.random(1, 8, 3, rng);
    let moved = a.ct.to(&twin).unwrap();
    assert!(matches!(w.ev.add(&a.ct, &moved), Err(Error::RingMismatch)));
    assert_eq!(words(&moved), words(&a.ct));
    let back = Sample { ct: moved.to(&w.ring).unwrap(), ..a.duplicate() };
    w.check("there and back", &back, 3);
    let ev = Evaluator::new(&w.params, &twin).unwrap();
    let keys = w.keys.to(&twin).unwrap();
    let there = ev.mul(&moved, &moved, &keys).unwrap();
    assert_eq!(words(&there), words(&w.ev.mul(&a.ct, &a.ct, &w.keys).unwrap()), "portable code");
    assert_eq!(words(&ev.rotate(&moved, 1, &keys).unwrap()), words(&w.ev.rotate(&a.ct, 1, &w.keys).unwrap()));
    assert!(matches!(w.ev.mul(&a.ct, &a.ct, &keys), Err(Error::RingMismatch)));
    let encoder = Encoder::new(&w.params, &twin).unwrap();
    assert!(matches!(encoder.decode(&w.encode(&a.values, 1)), Err(Error::RingMismatch)));
}
