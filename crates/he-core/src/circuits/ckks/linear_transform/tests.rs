//! Products by matrices against sums in the clear.

use super::*;
use crate::circuits::testing::Fixture;
use crate::error::Error;
use rand::RngExt;

fn random(fixture: &mut Fixture, length: usize, imaginary: f64) -> Vec<Complex64> {
    let mut value = || fixture.rng.random_range(-1.0..1.0);
    (0..length).map(|_| Complex64::new(value(), imaginary * value())).collect()
}

fn check(fixture: &mut Fixture, matrix: &[Complex64], d: usize) -> usize {
    let transform = LinearTransform::new(d, matrix).unwrap();
    let requirements = transform.requirements();
    let keys = fixture.keys(&requirements);
    let vectors = [(); 2].map(|()| random(fixture, d, 1.0));
    let ct = fixture.encrypt(&vectors, d);
    let out = transform.apply(&fixture.ev, &ct, &keys).unwrap();
    assert_eq!(ct.level() - out.level(), requirements.depth);
    // Prepared for another level than the ciphertext's, in both directions.
    let low = fixture.ev.mod_switch_to(&ct, 1).unwrap();
    let more = [(1, &ct), (2, &low)].map(|(level, ct)| {
        transform.prepare(&fixture.ev, level).unwrap().apply(&fixture.ev, ct, &keys).unwrap()
    });
    for out in [&out, &more[0], &more[1]] {
        for (x, y) in vectors.iter().zip(fixture.decrypt(out)) {
            let by_rows = (0..d).map(|i| (0..d).map(|j| matrix[i * d + j] * x[j]).sum::<Complex64>());
            let plain = transform.apply_plain(x).unwrap();
            for ((found, expected), plain) in y.iter().zip(by_rows).zip(plain) {
                assert!((plain - expected).norm() < 1e-12);
                let error = (found - expected).norm();
                assert!(error < 1e-6, "dimension {d}: {found}, not {expected}");
            }
        }
    }
    requirements.keys.rotation_steps().len()
}

#[test]
fn matrices_match() {
    let mut fixture = Fixture::new(8, 2);
    for d in [1, 2, 4, 16, 64, 128] {
        for imaginary in [0.0, 1.0] {
            let matrix = random(&mut fixture, d * d, imaginary);
            let rotations = check(&mut fixture, &matrix, d);
            assert!((rotations as f64) < 2.2 * (d as f64).sqrt(), "{rotations} rotations for {d}");
        }
        let zero = vec![Complex64::ZERO; d * d];
        assert_eq!(check(&mut fixture, &zero, d), 0);
    }
}

/// Products by matrices of any shape, against sums over rows, with exactly the keys that are
/// required.
#[test]
fn matrices_of_any_shape_match() {
    let mut fixture = Fixture::new(8, 2);
    let shapes = [
        (1, 1, 0),
        (1, 128, 7),
        (128, 1, 0),
        (2, 3, 2),
        (3, 2, 1),
        (3, 5, 3),
        (5, 3, 2),
        (10, 100, 9),
        (100, 10, 6),
        (7, 128, 8),
        (100, 100, 22),
    ];
    for (rows, columns, rotations) in shapes {
        for imaginary in [0.0, 1.0] {
            let matrix = random(&mut fixture, rows * columns, imaginary);
            let transform = LinearTransform::rectangular(rows, columns, &matrix).unwrap();
            assert_eq!((transform.rows(), transform.columns()), (rows, columns));
            let requirements = transform.requirements();
            assert_eq!(requirements.keys.rotation_steps().len(), rotations, "{rows} x {columns}");
            let keys = fixture.keys(&requirements);
            // Slots beyond the columns do not matter.
            let (input, output) = (transform.input_slots(), transform.output_slots());
            let vectors = [(); 2].map(|()| random(&mut fixture, input, imaginary));
            let ct = fixture.encrypt(&vectors, input);
            let out = transform.apply(&fixture.ev, &ct, &keys).unwrap();
            assert_eq!((ct.level() - out.level(), out.slots()), (1, output));
            for (x, y) in vectors.iter().zip(fixture.decrypt(&out)) {
                let plain = transform.apply_plain(&x[..columns]).unwrap();
                assert_eq!((plain.len(), y.len()), (rows, output));
                for i in 0..output {
                    let entries = (0..columns).map(|j| match matrix.get(i * columns + j) {
                        Some(entry) if i < rows => entry * x[j],
                        _ => Complex64::ZERO,
                    });
                    let expected: Complex64 = entries.sum();
                    let of_plain = plain.get(i).copied().unwrap_or_default();
                    assert!((of_plain - expected).norm() < 1e-12, "{rows} x {columns}, row {i}");
                    let error = (y[i] - expected).norm();
                    assert!(error < 1e-6, "{rows} x {columns}, row {i}: {}, not {expected}", y[i]);
                }
            }
        }
    }
    let zero = LinearTransform::rectangular(3, 5, &[0.0; 15]).unwrap();
    assert!(zero.requirements().keys.rotation_steps().is_empty());
    let vector = random(&mut fixture, 8, 0.0);
    let ct = fixture.encrypt(&[vector], 8);
    let keys = fixture.keys(zero.requirements());
    let out = fixture.decrypt(&zero.apply(&fixture.ev, &ct, &keys).unwrap());
    assert!(out[0].len() == 4 && out[0].iter().all(|y| y.norm() < 1e-6));
}

#[test]
fn zero_diagonals_cost_nothing() {
    let mut fixture = Fixture::new(8, 2);
    let d = 64;
    for (offsets, rotations) in [(vec![0], 0), (vec![17], 1), (vec![0, 1, 63], 2), (vec![0, 16, 32], 2)] {
        let mut matrix = vec![Complex64::ZERO; d * d];
        for i in 0..d {
            for k in &offsets {
                matrix[i * d + (i + k) % d] = random(&mut fixture, 1, 1.0)[0];
            }
        }
        assert!(check(&mut fixture, &matrix, d) <= rotations + 1, "{offsets:?}");
    }
}

/// Sparse and dense diagonals with indices of both signs, split in every way, against the
/// matrix in the clear; with exactly the keys that are required, and with powers of two alone.
#[test]
fn diagonals_match_the_matrix_that_they_are_of() {
    let mut fixture = Fixture::new(8, 2);
    let powers = Requirements {
        depth: 1,
        keys: KeyRequirements::new().rotations((0..7).flat_map(|log| [1 << log, -(1 << log)])),
    };
    let powers = fixture.keys(&powers);
    for (d, density) in [(1, 1.0), (2, 1.0), (8, 0.5), (32, 0.2), (128, 0.05), (128, 1.0)] {
        let size = d as i64;
        let mut chosen: Vec<i64> =
            (-size / 2..size - size / 2).filter(|_| fixture.rng.random_bool(density)).collect();
        if chosen.is_empty() {
            chosen.push(-1);
        }
        let diagonals: BTreeMap<i64, Vec<Complex64>> =
            chosen.iter().map(|&k| (k, random(&mut fixture, d, 1.0))).collect();
        let x = random(&mut fixture, d, 1.0);
        let expected: Vec<Complex64> = (0..d)
            .map(|i| {
                let term =
                    |(&k, v): (&i64, &Vec<Complex64>)| v[i] * x[(i as i64 + k).rem_euclid(size) as usize];
                diagonals.iter().map(term).sum()
            })
            .collect();
        let ct = fixture.encrypt(std::slice::from_ref(&x), d);
        let chosen_split = LinearTransform::from_diagonals(d, &diagonals).unwrap();
        let splits = (0..=d.ilog2()).map(|log| {
            let babies = 1 << log;
            (Some(babies), chosen_split.clone().with_baby_steps(babies).unwrap())
        });
        let by_cost = [1, 4, 7].map(|giant_cost| (None, chosen_split.clone().with_giant_cost(giant_cost)));
        let mut fewest = usize::MAX;
        for (babies, transform) in splits.chain(by_cost) {
            let requirements = transform.requirements();
            let listed: BTreeSet<i64> = requirements.keys.rotation_steps().iter().copied().collect();
            if let Some(split) = babies {
                // Every different step other than 0 is a key switch.
                let steps = |of: fn(usize, usize) -> usize| -> BTreeSet<usize> {
                    let indices = chosen.iter().map(|k| k.rem_euclid(size) as usize);
                    indices.map(|k| of(k, split)).filter(|&step| step != 0).collect()
                };
                let (babies, giants) = (steps(|k, n| k % n), steps(|k, n| k - k % n));
                let needed: BTreeSet<i64> = babies.union(&giants).map(|&step| step as i64).collect();
                assert_eq!((listed.len(), &listed), (babies.len() + giants.len(), &needed));
                fewest = fewest.min(listed.len());
            }
            let keys = fixture.keys(&requirements);
            for keys in [&keys, &powers] {
                let out = transform.apply(&fixture.ev, &ct, keys).unwrap();
                assert_eq!((out.level(), out.slots()), (ct.level() - 1, d));
                let noise = out.noise().unwrap();
                let bound = (noise.peak_log2 - libm::log2(out.scale())).exp2();
                assert!(bound < 1e-2, "{bound}");
                for (found, expected) in fixture.decrypt(&out)[0].iter().zip(&expected) {
                    let error = (found - expected).norm();
                    assert!(error < bound.min(1e-5), "{d}, {:?}: {error}", transform.split);
                }
            }
        }
        assert_eq!(chosen_split.requirements().keys.rotation_steps().len(), fewest);
    }
}

/// Sparse, dense and empty sets of diagonals around zero and elsewhere, in matrices of any shape,
/// by at most three rotations: against the matrix in the clear, and with exactly the keys that are
/// required.
#[test]
fn few_keys_do_for_any_matrix() {
    let mut fixture = Fixture::new(8, 2);
    let d = 64i64;
    let sets: [&[i64]; 8] = [
        &[],
        &[0],
        &[7],
        &[-15, -10, -5, 0, 5, 10, 15],
        &[3, 11, 19, 43],
        &[-1, 0, 1],
        &[-32, 31],
        &(0..64).collect::<Vec<_>>(),
    ];
    for (set, few) in sets.into_iter().zip([0, 0, 1, 3, 3, 2, 2, 2]) {
        let diagonals: BTreeMap<i64, Vec<Complex64>> =
            set.iter().map(|&k| (k, random(&mut fixture, d as usize, 1.0))).collect();
        let transform = LinearTransform::from_diagonals(d as usize, &diagonals).unwrap().with_few_keys();
        let needs = transform.requirements();
        assert!(needs.keys.rotation_steps().len() <= few, "{set:?}: {needs:?}");
        let keys = fixture.keys(&needs);
        let x = random(&mut fixture, d as usize, 1.0);
        let expected = transform.apply_plain(&x).unwrap();
        let ct = fixture.encrypt(&[x], d as usize);
        let out = transform.apply(&fixture.ev, &ct, &keys).unwrap();
        assert_eq!((out.level(), out.slots()), (ct.level() - 1, d as usize));
        for (found, expected) in fixture.decrypt(&out)[0].iter().zip(&expected) {
            assert!((found - expected).norm() < 1e-5, "{set:?}: {found}, not {expected}");
        }
    }
    for (rows, columns) in [(1, 1), (5, 3), (10, 100), (100, 10), (7, 128)] {
        let entries = random(&mut fixture, rows * columns, 0.0);
        let transform = LinearTransform::rectangular(rows, columns, &entries).unwrap().with_few_keys();
        let needs = transform.requirements();
        let folds = transform.folds().len();
        assert!(needs.keys.rotation_steps().len() <= 3 + folds, "{rows} x {columns}: {needs:?}");
        let keys = fixture.keys(&needs);
        let input = transform.input_slots();
        let x = random(&mut fixture, input, 0.0);
        let expected = transform.apply_plain(&x[..columns]).unwrap();
        let ct = fixture.encrypt(&[x], input);
        let out = fixture.decrypt(&transform.apply(&fixture.ev, &ct, &keys).unwrap());
        for (found, expected) in out[0].iter().zip(&expected) {
            assert!((found - expected).norm() < 1e-5, "{rows} x {columns}: {found}, not {expected}");
        }
    }
}

/// The same products as one division per rotation gives, up to the noise of the divisions.
#[test]
fn double_hoisting_agrees_with_single_rotations() {
    for special in [1, 2, 4] {
        double_hoisting_agrees(&mut Fixture::with_special(7, 3, special));
    }
}

fn double_hoisting_agrees(fixture: &mut Fixture) {
    let d = 64;
    let matrix = random(fixture, d * d, 1.0);
    let transform = LinearTransform::new(d, &matrix).unwrap();
    let keys = fixture.keys(transform.requirements());
    let vectors = [(); 3].map(|()| random(fixture, d, 1.0));
    let ct = fixture.encrypt(&vectors, d);
    let prepared = transform.prepare(&fixture.ev, ct.level()).unwrap();
    assert!(matches!(prepared.diagonals, Diagonals::Extended(_)));
    let Diagonals::Extended(groups) = &prepared.diagonals else { return };
    let groups: Vec<StepGroup<Plaintext>> = groups
        .iter()
        .map(|(giant, group)| {
            (*giant, group.iter().map(|(baby, plain)| (*baby, plain.to_plaintext().unwrap())).collect())
        })
        .collect();
    let single = fixture.ev.hoisted_sum(&ct, &groups, &keys).unwrap();
    let double = prepared.apply(&fixture.ev, &ct, &keys).unwrap();
    assert_eq!((single.level(), single.scale()), (double.level(), double.scale()));
    assert!(double.noise().unwrap().rms_log2 <= single.noise().unwrap().rms_log2);
    for (single, double) in
        fixture.decrypt(&single).iter().flatten().zip(fixture.decrypt(&double).iter().flatten())
    {
        assert!((single - double).norm() < 1e-6, "{single} {double}");
    }
}

/// Bytes are those of the words: fewer for diagonals that repeat, if they are doubly hoisted.
#[test]
fn bytes_are_those_of_the_words() {
    let mut fixture = Fixture::with_special(7, 3, 2);
    let (d, params) = (64, fixture.params.clone());
    let dense = LinearTransform::new(d, &random(&mut fixture, d * d, 1.0)).unwrap();
    // Diagonal k repeats after 2^(k mod 7) entries.
    let diagonals = (0..64i64).map(|k| {
        let period = 1 << (k % 7);
        (k, random(&mut fixture, period, 1.0).repeat(d / period))
    });
    let repeating = LinearTransform::from_diagonals(d, &diagonals.collect()).unwrap();
    let limbs = |level: usize| params.levels()[level].primes as u64 + 2;
    for level in [3, 2] {
        for (map, words) in [(&dense, 64 * 128), (&repeating, (0..64u64).map(|k| 2 << (k % 7)).sum())] {
            let prepared = map.prepare(&fixture.ev, level).unwrap();
            assert!(matches!(prepared.diagonals, Diagonals::Extended(_)));
            assert_eq!(prepared.bytes(), 8 * words * limbs(level));
            assert_eq!(prepared.bytes(), map.plaintext_bytes(&params, level).unwrap());
        }
        let strided = repeating.clone().with_few_keys();
        let bytes = strided.prepare(&fixture.ev, level).unwrap().bytes();
        assert_eq!(bytes, 8 * 64 * 128 * (limbs(level) - 2));
        assert_eq!(bytes, strided.plaintext_bytes(&params, level).unwrap());
    }
    assert!(matches!(dense.plaintext_bytes(&params, 0), Err(Error::LevelExhausted { .. })));
    assert!(matches!(dense.plaintext_bytes(&params, 4), Err(Error::LevelTooHigh { .. })));
    let keys = fixture.keys(repeating.requirements());
    let x = random(&mut fixture, d, 1.0);
    let ct = fixture.encrypt(std::slice::from_ref(&x), d);
    let y = fixture.decrypt(&repeating.apply(&fixture.ev, &ct, &keys).unwrap());
    for (found, expected) in y[0].iter().zip(repeating.apply_plain(&x).unwrap()) {
        assert!((found - expected).norm() < 1e-6, "{found} {expected}");
    }
}

#[test]
fn impossible_diagonals_are_refused() {
    let of = |dimension, diagonals: &[(i64, Vec<f64>)]| {
        LinearTransform::from_diagonals(dimension, &diagonals.iter().cloned().collect())
    };
    assert!(of(4, &[(-1, vec![1.0; 4]), (2, vec![1.0; 4])]).is_ok() && of(4, &[]).is_ok());
    for (dimension, diagonals, why) in [
        (3, vec![], "a dimension of 3; a power of two is needed"),
        (0, vec![], "a dimension of 0"),
        (1 << 63, vec![], "a dimension of 9223372036854775808"),
        (4, vec![(7, vec![1.0; 3])], "3 entries on diagonal 7, 4 needed"),
        (4, vec![(-1, vec![1.0; 4]), (3, vec![1.0; 4])], "diagonal 3 is given twice, modulo 4"),
        (2, vec![(i64::MIN, vec![1.0, f64::NAN])], "entry 1 of diagonal -9223372036854775808"),
    ] {
        let error = of(dimension, &diagonals).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    for babies in [0, 3, 8, usize::MAX] {
        assert!(of(4, &[(1, vec![1.0; 4])]).unwrap().with_baby_steps(babies).is_err());
    }
}

#[test]
fn what_is_missing_is_said() {
    assert!(LinearTransform::from_real(3, &[0.0; 9]).is_err());
    assert!(LinearTransform::from_real(0, &[]).is_err());
    assert!(LinearTransform::from_real(4, &[0.0; 15]).is_err());
    assert!(LinearTransform::from_real(1 << 63, &[]).is_err());
    assert!(LinearTransform::rectangular::<f64>(0, 3, &[]).is_err());
    assert!(LinearTransform::rectangular::<f64>(3, 0, &[]).is_err());
    assert!(LinearTransform::rectangular(2, 3, &[0.0; 5]).is_err());
    assert!(LinearTransform::rectangular::<f64>(usize::MAX, 2, &[]).is_err());
    let error = LinearTransform::rectangular(2, 3, &[0.0, 0.0, 0.0, 0.0, 0.0, f64::INFINITY]).unwrap_err();
    assert!(error.to_string().contains("entry (1, 2)"), "{error}");
    let wide = LinearTransform::rectangular(2, 3, &[1.0; 6]).unwrap();
    assert!(wide.apply_plain(&[Complex64::ZERO; 4]).is_err());
    let error = LinearTransform::from_real(2, &[0.0, 0.0, f64::NAN, 0.0]).unwrap_err().to_string();
    assert!(error.contains("entry (1, 0)"), "{error}");
    let mut fixture = Fixture::new(8, 1);
    let transform = LinearTransform::from_real(4, &[1.0; 16]).unwrap();
    let vector = random(&mut fixture, 4, 0.0);
    let ct = fixture.encrypt(&[vector], 4);
    let none = fixture.keys(KeyRequirements::new());
    let keys = fixture.keys(transform.requirements());
    let ev = &fixture.ev;
    assert!(matches!(transform.apply(ev, &ct, &none), Err(Error::MissingGaloisKey { .. })));
    let bottom = ev.mod_switch_to(&ct, 0).unwrap();
    let result = transform.apply(ev, &bottom, &keys);
    assert!(matches!(result, Err(Error::LevelExhausted { needed: 1, left: 0 })));
    assert!(matches!(transform.prepare(ev, 0), Err(Error::LevelExhausted { .. })));
    assert!(matches!(transform.prepare(ev, 9), Err(Error::LevelTooHigh { .. })));
    let large = LinearTransform::from_real(256, &[1.0; 1 << 16]).unwrap();
    assert!(matches!(large.prepare(ev, 1), Err(Error::SlotCount { found: 256, capacity: 128 })));
    assert!(transform.apply_plain(&[]).is_err());
}
