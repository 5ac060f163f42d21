//! Rotations, and sums of them.

use super::*;

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
