//! Results under encryption equal those on plain values, within the bound that follows from the
//! documented noise.

use super::common::*;
use he::backend::Cpu;
use he::ckks::{
    Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, Encoder, Encryptor, Evaluator, SecretEncryptor,
    presets,
};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, Flooding, KeyRequirements, PublicKey, SecretKey};
use he::{Error, Result};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

/// Every shape, with keys for the powers of two.
fn each_world(rng: &mut ChaCha20Rng, test: impl Fn(&str, &World, &mut ChaCha20Rng)) {
    for (name, params) in shapes() {
        let powers = (0..params.rlwe().ring().log_n() - 1).map(|i| 1i64 << i);
        let world = World::new(&params, powers, rng);
        test(name, &world, rng);
    }
}

fn world(name: &str, steps: impl IntoIterator<Item = i64>, rng: &mut ChaCha20Rng) -> World {
    let (_, params) = shapes().into_iter().find(|(shape, _)| *shape == name).unwrap();
    World::new(&params, steps, rng)
}

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
                    5 => ("lower_to", w.lower_to(a, level), level),
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

/// Ciphertexts that came to their level in different ways, at every pair of levels.
#[test]
fn levels_and_scales_align_by_themselves() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            let ones = vec![vec![Complex64::new(1.0, 0.0); n]];
            // Fresh at the level; lowered to it; multiplied down to it by one; squared down to it.
            let histories = |level: usize, rng: &mut ChaCha20Rng| -> Vec<Sample> {
                let fresh = w.random(1, n, level, rng);
                let lowered = w.lower_to(&w.random(1, n, w.top(), rng), level);
                let (mut multiplied, mut squared) =
                    (w.random(1, n, w.top(), rng), w.random(1, n, w.top(), rng));
                while multiplied.ct.level() > level {
                    multiplied = w.mul_plain(&multiplied, &ones);
                    squared = w.square(&squared);
                }
                vec![fresh, lowered, multiplied, squared]
            };
            let levels: Vec<Vec<Sample>> = (0..=w.top()).map(|level| histories(level, rng)).collect();
            for (i, row) in levels.iter().enumerate() {
                for (j, column) in levels.iter().enumerate() {
                    let level = i.min(j);
                    for (k, a) in row.iter().enumerate() {
                        let b = &column[(k + i + j) % column.len()];
                        let what = format!("{name}, levels {i} and {j}, history {k}");
                        w.check(&what, &w.add(a, b), level);
                        w.check(&what, &w.sub(a, b), level);
                        if level > 0 {
                            w.check(&what, &w.mul(a, b), level - 1);
                            let lincomb = w.linear_combination(&[(a, 0.75), (b, -0.5)]);
                            w.check(&what, &lincomb, level - 1);
                        }
                    }
                }
            }
            // Plaintexts of every level meet ciphertexts of every level.
            let values = random_values(rng, 1, n);
            for (i, row) in levels.iter().enumerate() {
                for j in 0..=w.top() {
                    let (a, plain, level) = (&row[0], w.encode(&values, j), i.min(j));
                    let error = w.encoding_error(&values, w.scale(j))
                        + if j > level {
                            magnitude(&values) / w.params.dropped(level + 1) + w.rounding_error(level)
                        } else {
                            0.0
                        };
                    let sum = Sample {
                        ct: w.ev.add_plain(&a.ct, &plain).unwrap(),
                        values: zip(&a.values, &values, |a, b| a + b),
                        error: w.error_at(a, level) + error,
                    };
                    w.check(&format!("{name}, ciphertext {i} + plaintext {j}"), &sum, level);
                    if level > 0 {
                        let product = Sample {
                            ct: w.ev.mul_plain(&a.ct, &plain).unwrap(),
                            values: zip(&a.values, &values, |a, b| a * b),
                            error: 2.0 * w.error_at(a, level) + 2.0 * error + w.rounding_error(level - 1),
                        };
                        w.check(&format!("{name}, ciphertext {i} x plaintext {j}"), &product, level - 1);
                    }
                }
            }
        });
    });
}

/// Unsettled operands: the scale of a product, and any other one.
#[test]
fn manual_operations_keep_what_they_say() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, top) = (w.params.slots(), w.top());
            let (a, b, c) = (w.random(1, n, top, rng), w.random(1, n, top, rng), w.random(1, n, top, rng));
            // Relinearised, not rescaled.
            let product = w.ev.tensor(&a.ct, &b.ct).unwrap();
            assert_eq!(product.scale(), w.scale(top) * w.scale(top));
            let ct = w.ev.relinearize(&product, &w.keys).unwrap();
            assert_eq!((ct.level(), ct.scale()), (top, product.scale()));
            let scale = ct.scale();
            let error = w.product_error(&a, &b)
                + (w.noise().slot(w.noise().key_switch(top)) + w.noise().slot(w.noise().rounding())) / scale;
            let values = zip(&a.values, &b.values, |a, b| a * b);
            let large = Sample { ct, values, error };
            w.check_values(&format!("{name}: relinearize"), &large);
            // Rescaled by hand it is what `mul` gives, up to one rounding.
            let rescaled = Sample {
                ct: w.ev.rescale(&large.ct).unwrap(),
                values: large.values.clone(),
                error: large.error + w.rounding_error(top - 1),
            };
            w.check(&format!("{name}: rescale"), &rescaled, top - 1);
            // The aligning operations rescale it themselves.
            let sum = Sample {
                ct: w.ev.add(&large.ct, &c.ct).unwrap(),
                values: zip(&large.values, &c.values, |a, b| a + b),
                error: rescaled.error + w.error_at(&c, top - 1),
            };
            w.check(&format!("{name}: product scale + level scale"), &sum, top - 1);
            // A dropped ciphertext keeps its scale and its words.
            for level in (0..=top).rev() {
                let dropped = Sample { ct: w.ev.drop_to_level(&a.ct, level).unwrap(), ..a.duplicate() };
                assert_eq!((dropped.ct.level(), dropped.ct.scale()), (level, a.ct.scale()), "{name}");
                w.check_values(&format!("{name}: dropped to {level}"), &dropped);
                let kept = w.params.levels()[level].primes * w.ring.n();
                assert_eq!(words(&dropped.ct)[0], words(&a.ct)[0][..kept], "{name}");
                let off_scale = (dropped.ct.scale() / w.scale(level) - 1.0).abs() > 1e-11;
                if level > 0 && off_scale {
                    // Off scale: the next aligning operation brings it to the level below.
                    let sum = w.ev.add(&dropped.ct, &dropped.ct).unwrap();
                    let error = 2.0 * (w.error_at(&dropped, level - 1));
                    let doubled = Sample { ct: sum, values: map(&a.values, |z| z + z), error };
                    w.check(&format!("{name}: dropped to {level}, added"), &doubled, level - 1);
                }
            }
            for level in top + 1..top + 3 {
                for result in [w.ev.drop_to_level(&a.ct, level), w.ev.lower_to(&a.ct, level)] {
                    let Err(Error::LevelTooHigh { found, highest }) = result else { panic!("{name}") };
                    assert_eq!((found, highest), (level, top));
                }
            }
            let low = w.lower_to(&a, 0);
            let result = w.ev.lower_to(&low.ct, 1);
            assert!(matches!(result, Err(Error::LevelTooHigh { found: 1, highest: 0 })), "{name}");
            // A scale set by hand reads the values as multiplied by old/new.
            let mut halved = a.duplicate();
            halved.ct.set_scale(2.0 * a.ct.scale());
            halved.values = map(&a.values, |z| z * 0.5);
            w.check_values(&format!("{name}: scale set by hand"), &halved);
            let settled = w.lower_to(&halved, top - 1);
            w.check(&format!("{name}: scale set by hand, settled"), &settled, top - 1);
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

#[test]
fn rotations_by_every_step() {
    for_seeds(2, |rng| {
        for log_n in 2..=5 {
            let spec = CkksSpec::from_bits(log_n, &[45, 36, 36], &[46], 36.0).unwrap();
            let params = CkksParams::insecure(spec).unwrap();
            let slots = params.slots() as i64;
            let w = World::new(&params, 0..slots, rng);
            for level in 0..=w.top() {
                let a = w.random(1, slots as usize, level, rng);
                // Negative ones, full turns, beyond N/2 and the ends of the type.
                let steps: Vec<i64> =
                    (-2 * slots..=2 * slots).chain([i64::MIN, i64::MIN + 1, i64::MAX]).collect();
                let many = w.ev.rotate_many(&a.ct, &steps, &w.keys).unwrap();
                for (&step, many) in steps.iter().zip(&many) {
                    let what = format!("N = 2^{log_n}, level {level}, step {step}");
                    let mut once = w.rotate(&a, step.rem_euclid(slots));
                    once.ct = w.ev.rotate(&a.ct, step, &w.keys).unwrap();
                    w.check(&what, &once, level);
                    assert_eq!(words(many), words(&once.ct), "{what}: rotate_many");
                    let second = rng.random_range(-slots..slots);
                    w.check(&format!("{what}, then {second}"), &w.rotate(&once, second), level);
                }
                w.check("twice conjugated", &w.conjugate(&w.conjugate(&a)), level);
                // Conjugation and rotation commute.
                let step = rng.random_range(1..=slots);
                let (left, right) = (w.conjugate(&w.rotate(&a, step)), w.rotate(&w.conjugate(&a), step));
                assert_eq!(worst_difference(&left.values, &right.values), 0.0);
                w.check("rotated, conjugated", &left, level);
                w.check("conjugated, rotated", &right, level);
            }
            let a = w.random(1, slots as usize, 0, rng);
            for step in [0, slots, -slots, 4 * slots] {
                assert_eq!(words(&w.ev.rotate(&a.ct, step, &w.keys).unwrap()), words(&a.ct), "no turn");
            }
        }
    });
}

#[test]
fn rotations_by_paths_over_powers_of_two() {
    for_seeds(2, |rng| {
        for log_n in [2u32, 4, 6] {
            let spec = CkksSpec::from_bits(log_n, &[45, 36, 36], &[46], 36.0).unwrap();
            let params = CkksParams::insecure(spec).unwrap();
            let slots = params.slots() as i64;
            let powers: Vec<i64> = (0..log_n - 1).map(|i| 1 << i).collect();
            let negative: Vec<i64> = powers.iter().map(|step| -step).collect();
            let both: Vec<i64> = powers.iter().chain(&negative).copied().collect();
            for (kind, steps) in [("positive", powers), ("negative", negative), ("both", both)] {
                let w = World::new(&params, steps, rng);
                let a = w.random(1, slots as usize, 1, rng);
                for step in -slots..=slots {
                    let path = w.keys.rotation_path(step).unwrap();
                    assert_eq!(
                        (path.iter().sum::<i64>() - step).rem_euclid(slots),
                        0,
                        "{kind}, {step}: {path:?}"
                    );
                    let longest = if kind == "both" { (log_n as usize).div_ceil(2) } else { log_n as usize };
                    assert!(path.len() <= longest, "{kind}, {step}: {path:?}");
                    let rotated = w.rotate(&a, step);
                    w.check(&format!("{kind} powers, N = 2^{log_n}, step {step}"), &rotated, 1);
                    let many = w.ev.rotate_many(&a.ct, &[step], &w.keys).unwrap();
                    assert_eq!(words(&many[0]), words(&rotated.ct));
                }
            }
        }
    });
}

#[test]
fn inner_sums() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            for slots in [1, n.div_ceil(4), n] {
                let a = w.random(1, slots, w.top(), rng);
                for count in (0..w.params.rlwe().ring().log_n()).map(|i| 1usize << i) {
                    let mut expected = a.duplicate();
                    let mut step = 1;
                    while step < count {
                        let turned = w.rotate(&expected, step as i64);
                        expected = w.add(&expected, &turned);
                        step *= 2;
                    }
                    // Not from the steps, but from the definition.
                    let window = |v: &Vec<Complex64>, i: usize| (0..count).map(|k| v[(i + k) % slots]).sum();
                    expected.values =
                        a.values.iter().map(|v| (0..slots).map(|i| window(v, i)).collect()).collect();
                    expected.ct = w.ev.inner_sum(&a.ct, count, &w.keys).unwrap();
                    w.check(&format!("{name}, {count} of {slots} slots"), &expected, w.top());
                }
                for count in [0, 3, 2 * n, 2 * n + 1] {
                    let Err(Error::SlotCount { found, capacity }) = w.ev.inner_sum(&a.ct, count, &w.keys)
                    else {
                        panic!("{name}: {count}")
                    };
                    assert_eq!((found, capacity), (count, n));
                }
            }
        });
    });
}

/// Error of a sum of rotations: as of a linear combination, with a key switch for each term and one
/// rounding.
fn rotations_error(w: &World, a: &Sample, terms: &[(i64, f64)]) -> f64 {
    let level = a.ct.level();
    let term = |&(step, weight): &(i64, f64)| {
        let path = w.keys.rotation_path(step).unwrap().len() as f64;
        let image = a.error + path * w.switch_error(level);
        (weight.abs() + 0.5 / w.scale(level)) * image + 0.5 / w.scale(level) * a.magnitude()
    };
    terms.iter().map(term).sum::<f64>() + w.rounding_error(level - 1)
}

#[test]
fn sums_of_rotations() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            for level in 1..=w.top() {
                for (batch, slots) in [(1, n), (3, n), (1, n.div_ceil(2))] {
                    let a = w.random(batch, slots, level, rng);
                    // Steps with a key, without one, none at all, and one of them twice.
                    let steps = [0, 1, -1, 3, n as i64 / 2, 1, n as i64 + 1];
                    let terms: Vec<(i64, f64)> =
                        steps.into_iter().map(|step| (step, rng.random_range(-1.0..1.0))).collect();
                    let mut values = map(&a.values, |_| Complex64::ZERO);
                    for &(step, weight) in &terms {
                        values = zip(&values, &rotated(&a.values, step), |sum, z| sum + z * weight);
                    }
                    let ct = w.ev.sum_of_rotations(&a.ct, &terms, &w.keys).unwrap();
                    let error = rotations_error(w, &a, &terms);
                    let what = format!("{name}, level {level}, batch {batch}, {slots} slots");
                    w.check(&what, &Sample { ct, values, error }, level - 1);
                }
                let a = w.random(2, n, level, rng);
                let steps = [0, 1, -1, 3];
                let masks: Vec<_> = steps.iter().map(|_| random_values(rng, 1, n)).collect();
                let weights: Vec<_> =
                    masks.iter().map(|mask| w.ev.encode_weight(&mask[0], level).unwrap()).collect();
                let terms: Vec<_> = steps.iter().copied().zip(&weights).collect();
                let mut values = map(&a.values, |_| Complex64::ZERO);
                for (&step, mask) in steps.iter().zip(&masks) {
                    values = zip(&values, &zip(&rotated(&a.values, step), mask, |a, b| a * b), |x, y| x + y);
                }
                let ct = w.ev.sum_of_masked_rotations(&a.ct, &terms, &w.keys).unwrap();
                let bounds: Vec<_> = steps.iter().map(|&step| (step, 1.5)).collect();
                let encoding = steps.len() as f64 * 1.5 * w.encoding_error(&masks[0], w.scale(level));
                let error = rotations_error(w, &a, &bounds) + encoding;
                w.check(&format!("{name}, level {level}, masked"), &Sample { ct, values, error }, level - 1);
            }
            let a = w.random(1, n, w.top(), rng);
            assert!(matches!(
                w.ev.sum_of_rotations(&a.ct, &[], &w.keys),
                Err(Error::Argument { what: "terms", .. })
            ));
            assert!(matches!(
                w.ev.sum_of_rotations(&a.ct, &[(0, f64::NAN)], &w.keys),
                Err(Error::NotFinite { index: 0 })
            ));
            let weight = w.ev.encode_weight(&[Complex64::ONE], w.top() - 1).unwrap();
            assert!(matches!(
                w.ev.sum_of_masked_rotations(&a.ct, &[(0, &weight)], &w.keys),
                Err(Error::SpanMismatch { .. })
            ));
        });
    });
}

/// A mask over all slots makes all slots count, as a plaintext does.
#[test]
fn masked_rotations_of_sparse_ciphertexts() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            let (level, slots) = (w.top(), n / 2);
            let a = w.random(1, slots, level, rng);
            let mask = random_values(rng, 1, n);
            let weight = w.ev.encode_weight(&mask[0], level).unwrap();
            let ct = w.ev.sum_of_masked_rotations(&a.ct, &[(1, &weight)], &w.keys).unwrap();
            let values = zip(&rotated(&a.values, 1), &mask, |a, b| a * b);
            let error = rotations_error(w, &a, &[(1, 1.5)]) + 1.5 * w.encoding_error(&mask, w.scale(level));
            w.check(name, &Sample { ct, values, error }, level - 1);
        });
    });
}

#[test]
fn batches_broadcast_slice_and_concatenate() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, level) = (w.params.slots(), w.top());
            for batch in [1, 3, 17] {
                let what = |op: &str| format!("{name}, batch {batch}, {op}");
                let (a, b) = (w.random(batch, n, level, rng), w.random(batch, n, level, rng));
                let one = w.random(1, n, level, rng);
                for other in [&b, &one] {
                    w.check(&what("add"), &w.add(&a, other), level);
                    w.check(&what("sub"), &w.sub(&a, other), level);
                    w.check(&what("mul"), &w.mul(&a, other), level - 1);
                    w.check(&what("linear"), &w.linear_combination(&[(&a, 0.5), (other, -1.5)]), level - 1);
                }
                w.check(&what("mul, single on the left"), &w.mul(&one, &a), level - 1);
                w.check(&what("square"), &w.square(&a), level - 1);
                let plain = random_values(rng, batch, n);
                for plain in [&plain, &one.values] {
                    w.check(&what("add_plain"), &w.add_plain(&a, plain), level);
                    w.check(&what("mul_plain"), &w.mul_plain(&a, plain), level - 1);
                }
                w.check(&what("rotate"), &w.rotate(&a, 1), level);
                w.check(&what("conjugate"), &w.conjugate(&a), level);
                w.check(&what("lower_to"), &w.lower_to(&a, 0), 0);
                w.check(&what("add_scalar"), &w.add_scalar(&a, Complex64::new(0.5, 0.25)), level);
                // Every entry is treated as if it were the only one.
                let product = w.mul(&a, &b);
                let turned = w.rotate(&a, -1);
                for i in 0..batch {
                    let part = |s: &Sample| Sample {
                        ct: s.ct.slice_batch(i..i + 1).unwrap(),
                        values: vec![s.values[i].clone()],
                        error: s.error,
                    };
                    w.check(&what("slice"), &part(&a), level);
                    assert_eq!(
                        words(&w.mul(&part(&a), &part(&b)).ct),
                        words(&part(&product).ct),
                        "{}",
                        what("mul")
                    );
                    assert_eq!(
                        words(&w.rotate(&part(&a), -1).ct),
                        words(&part(&turned).ct),
                        "{}",
                        what("rotate")
                    );
                }
                let whole = Ciphertext::concat(&[&a.ct, &one.ct, &b.ct]).unwrap();
                let values = [&a.values[..], &one.values, &b.values].concat();
                w.check(&what("concat"), &Sample { ct: whole, values, error: a.error }, level);
                let whole = Ciphertext::concat(&[&a.ct, &b.ct]).unwrap();
                assert_eq!(words(&whole.slice_batch(0..batch).unwrap()), words(&a.ct));
                assert_eq!(words(&whole.slice_batch(batch..2 * batch).unwrap()), words(&b.ct));
                #[allow(clippy::reversed_empty_ranges)]
                for range in [0..0, 1..1, 2..1, 0..batch + 1, batch..batch + 1, 0..usize::MAX] {
                    let Err(Error::BatchRange { start, end, batch: found }) = a.ct.slice_batch(range.clone())
                    else {
                        panic!("{}", what("slice out of range"))
                    };
                    assert_eq!((start..end, found), (range, batch));
                }
                if batch > 1 {
                    let two = w.random(2, n, level, rng);
                    let mismatch = |result: Result<Ciphertext<Cpu>>, left: usize, right: usize| {
                        let Err(Error::BatchMismatch { left: l, right: r }) = result else {
                            panic!("{name}")
                        };
                        assert_eq!((l, r), (left, right), "{name}");
                    };
                    mismatch(w.ev.add(&a.ct, &two.ct), batch, 2);
                    mismatch(w.ev.sub(&two.ct, &a.ct), 2, batch);
                    mismatch(w.ev.mul(&two.ct, &a.ct, &w.keys), 2, batch);
                    mismatch(w.ev.add_plain(&a.ct, &w.encode(&two.values, level)), batch, 2);
                    mismatch(w.ev.linear_combination(&[(&a.ct, 1.0), (&two.ct, 1.0)]), batch, 2);
                }
            }
            assert!(matches!(Ciphertext::<Cpu>::concat(&[]), Err(Error::BatchRange { .. })));
            let (a, b) = (w.random(1, n, level, rng), w.random(1, n, level - 1, rng));
            let scales_differ = a.ct.scale() != b.ct.scale();
            match Ciphertext::concat(&[&a.ct, &b.ct]) {
                Err(Error::ScaleMismatch { .. }) => assert!(scales_differ),
                Err(Error::SpanMismatch { .. }) => assert!(!scales_differ),
                other => panic!("{name}: {other:?}"),
            }
        });
    });
}

#[test]
fn sparse_and_real_packing() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, level) = (w.params.slots(), w.top());
            let all: Vec<usize> = (0..w.params.rlwe().ring().log_n()).map(|i| 1 << i).collect();
            let full = w.random(1, n, level, rng);
            for &slots in &all {
                let what = |op: &str| format!("{name}, {slots} slots, {op}");
                let a = w.random(1, slots, level, rng);
                w.check(&what("fresh"), &a, level);
                w.check(&what("rotate"), &w.rotate(&a, 1), level);
                w.check(&what("conjugate"), &w.conjugate(&a), level);
                w.check(&what("mul"), &w.mul(&a, &a), level - 1);
                w.check(&what("+ full"), &w.add(&a, &full), level);
                w.check(&what("full x"), &w.mul(&full, &a), level - 1);
                w.check(&what("x full plaintext"), &w.mul_plain(&a, &full.values), level - 1);
                w.check(&what("full x sparse plaintext"), &w.mul_plain(&full, &a.values), level - 1);
                w.check(&what("+ complex constant"), &w.add_scalar(&a, Complex64::new(0.5, -0.5)), level);
                // The values repeat over all slots, and nothing lies between the coefficients of
                // the small ring.
                let plain = w.encode(&a.values, level);
                let mut repeated =
                    w.ev.encoder().encode(&a.values[0].repeat(n / slots), w.encoding(level, n)).unwrap();
                repeated.set_scale(plain.scale());
                let difference = worst_difference(
                    &w.ev.encoder().decode(&repeated).unwrap(),
                    &[a.values[0].repeat(n / slots)],
                );
                assert!(difference < 2.0 * w.encoding_error(&a.values, plain.scale()));
                let coefficients =
                    plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
                let gap = n / slots;
                assert!(
                    coefficients.iter().enumerate().all(|(k, &c)| k % gap == 0 || c == 0),
                    "{}",
                    what("gaps")
                );
                // Fewer values are padded with zeros.
                if slots > 1 {
                    let few =
                        w.ev.encoder().encode(&a.values[0][..slots - 1], w.encoding(level, slots)).unwrap();
                    let found = &w.ev.encoder().decode(&few).unwrap()[0];
                    assert!(found[slots - 1].norm() < w.encoding_error(&a.values, few.scale()));
                }
                // Real vectors.
                let real: Vec<f64> = a.values[0].iter().map(|z| z.re).collect();
                let plain = w.ev.encoder().encode_real(&real, w.encoding(level, slots)).unwrap();
                let ct = w.encrypt_plain(&plain, rng);
                let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
                let found = w.ev.encoder().decode_real(&decryptor.decrypt(&ct).unwrap()).unwrap();
                assert_eq!(found[0].len(), slots);
                assert!(found[0].iter().zip(&real).all(|(x, y)| (x - y).abs() < a.error), "{}", what("real"));
            }
            // A constant needs one slot and fills all.
            let z = Complex64::new(0.625, -0.25);
            for &slots in &all {
                let plain = w.ev.encoder().encode_constant(z, w.encoding(level, slots)).unwrap();
                let found = w.ev.encoder().decode(&plain).unwrap();
                assert_eq!(found[0].len(), slots);
                assert!(
                    worst_difference(&found, &[vec![z; slots]]) < w.encoding_error(&found, plain.scale())
                );
            }
        });
    });
}

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
                            let most = (super::common::magnitude(&values) * scale).log2();
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

#[test]
fn secret_encryption_expands_to_the_same_values() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
            for level in 0..=w.top() {
                for batch in [1, 3] {
                    let values = random_values(rng, batch, n);
                    let seeded = encryptor.encrypt(&w.encode(&values, level), rng).unwrap();
                    assert_eq!(
                        (seeded.level(), seeded.scale(), seeded.slots(), seeded.batch()),
                        (level, w.scale(level), n, batch)
                    );
                    let error = w.encoding_error(&values, w.scale(level))
                        + w.noise().slot(he::ring::ERROR_VARIANCE.sqrt()) / w.scale(level);
                    let sample = Sample { ct: seeded.expand().unwrap(), values, error };
                    w.check(name, &sample, level);
                    if level > 0 {
                        w.check(name, &w.mul(&sample, &sample), level - 1);
                    }
                }
            }
        });
    });
}

#[test]
fn flooded_decryptions_stay_within_their_bound() {
    for_seeds(2, |rng| {
        let w = world("N=32, 61-bit primes", [], rng);
        let n = w.ring.n() as f64;
        let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let a = w.random(3, w.params.slots(), w.top(), rng);
        for bits in [0, 1, 10, 20, 30, 40] {
            let exact = decryptor.decrypt(&a.ct).unwrap();
            let flooded = decryptor.decrypt_flooded(&a.ct, Flooding::Bits(bits), rng).unwrap();
            let found = w.ev.encoder().decode(&flooded).unwrap();
            let reach = f64::from(bits).exp2();
            let worst = worst_difference(&found, &w.ev.encoder().decode(&exact).unwrap());
            // A slot sums N coefficients of at most 2^bits, root mean square 2^bits / sqrt(3).
            assert!(worst <= n * reach / w.scale(w.top()) + 1e-13, "{bits} bits: {worst:e}");
            assert!(worst >= 0.1 * reach / w.scale(w.top()), "{bits} bits: no flooding, {worst:e}");
            let bound = a.error + n * reach / w.scale(w.top());
            assert!(worst_difference(&found, &a.values) <= bound, "{bits} bits");
            // Every coefficient moved by an integer in [-2^bits, 2^bits), and they are not all
            // alike.
            let coefficients = |plain: &he::ckks::Plaintext<Cpu>| {
                plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap()
            };
            let q = he::arith::Modulus::new(w.ring.spec().q()[0]).unwrap();
            let moved: Vec<i64> = coefficients(&flooded)[..3 * w.ring.n()]
                .iter()
                .zip(&coefficients(&exact))
                .map(|(&x, &y)| q.center(q.sub(x, y)))
                .collect();
            assert!(
                moved.iter().all(|x| (-(1i64 << bits)..1i64 << bits).contains(x)),
                "{bits} bits: {moved:?}"
            );
            assert!(moved.iter().any(|x| *x != moved[0]), "{bits} bits: {moved:?}");
        }
        let flooding = Flooding::Statistical { security_bits: 300, decryptions: 1 };
        let result = decryptor.decrypt_flooded(&a.ct, flooding, rng);
        assert!(matches!(result, Err(Error::Argument { what: "flooding", .. })));
    });
}

/// Everything that a program makes from one seed: all words, and the decoded values.
fn transcript(params: &CkksParams, seed: u64) -> (Vec<u64>, Vec<Complex64>) {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let w = World::new(params, [1, 2, -1], rng);
    let n = params.slots();
    let (a, b) = (w.random(5, n, w.top(), rng), w.random(5, n, w.top(), rng));
    let mut words: Vec<u64> = w.public.body().to_words().unwrap();
    let relin = w.keys.relin().unwrap();
    (0..params.rlwe().digits().len()).for_each(|digit| words.extend(relin.body_words(digit).unwrap()));
    let seeded = SecretEncryptor::new(params, &w.secret, &w.ring).unwrap();
    let seeded = seeded.encrypt(&w.encode(&a.values, w.top()), rng).unwrap();
    words.extend(seeded.parts().0.to_words().unwrap());
    let product = w.mul(&a, &b);
    let results = [
        seeded.expand().unwrap(),
        w.ev.rotate(&a.ct, 3, &w.keys).unwrap(),
        w.ev.conjugate(&b.ct, &w.keys).unwrap(),
        w.ev.add(&product.ct, &a.ct).unwrap(),
        w.ev.sum_of_rotations(&a.ct, &[(0, 0.5), (1, 0.25), (3, -0.5)], &w.keys).unwrap(),
        w.ev.linear_combination(&[(&a.ct, 0.5), (&b.ct, 0.1)]).unwrap(),
        product.ct,
        a.ct,
        b.ct,
    ];
    let mut values = Vec::new();
    for ct in &results {
        ct.pair().parts().iter().for_each(|part| words.extend(part.to_words().unwrap()));
        values.extend(w.decrypt(ct).into_iter().flatten());
    }
    (words, values)
}

#[test]
fn the_seed_decides_every_word() {
    let (_, params) = shapes().into_iter().find(|(name, _)| *name == "N=16, 3 uneven digits").unwrap();
    assert_eq!(transcript(&params, 1), transcript(&params, 1));
    let (a, b) = (transcript(&params, 1).0, transcript(&params, 2).0);
    // Two uniform words of 40 bits are equal once in 10^12; small public constants do not occur.
    let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(equal <= 1, "{equal} equal words under different seeds");
}

#[test]
fn encryptions_of_one_plaintext_differ() {
    let w = world("N=16, 3 uneven digits", [], &mut rng(6));
    let plain = w.encode(&random_values(&mut rng(7), 2, 8), 2);
    let encryptor = Encryptor::new(&w.params, &w.public).unwrap();
    let rng = &mut rng(8);
    let (a, b) = (encryptor.encrypt(&plain, rng).unwrap(), encryptor.encrypt(&plain, rng).unwrap());
    for (a, b) in words(&a).iter().zip(&words(&b)) {
        assert!(a.iter().zip(b).all(|(a, b)| a != b));
    }
    // Entries of a batch differ as well.
    let n = w.ring.n();
    for part in words(&a) {
        assert!(part.chunks(2 * n).all(|limb| limb[..n].iter().zip(&limb[n..]).all(|(a, b)| a != b)));
    }
}

#[test]
fn the_number_of_threads_changes_no_word() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let spec = CkksSpec::from_bits(11, &[50, 40, 40, 40], &[51, 51], 40.0).unwrap();
    let large = CkksParams::insecure(spec).unwrap();
    for params in [shapes()[3].1.clone(), large] {
        let one = pool(1).install(|| transcript(&params, 3));
        for threads in [2, 3] {
            assert!(pool(threads).install(|| transcript(&params, 3)) == one, "{threads} threads");
        }
    }
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
