//! Levels in groups of different scales: arithmetic in every group and across every border,
//! against the clear and within the estimates of noise; parameters; frames.

use super::common::*;
use he::Error;
use he::backend::Cpu;
use he::circuits::ckks::LinearTransform;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, LevelGroup};
use he::params::{ParamsError, Security};
use he::wire::WireParams;
use rand::rngs::ChaCha20Rng;
use std::collections::BTreeMap;

type Values = Vec<Vec<Complex64>>;

/// A ciphertext beside its values.
struct Known {
    ct: Ciphertext<Cpu>,
    values: Values,
}

fn known(w: &World, level: usize, rng: &mut ChaCha20Rng) -> Known {
    let sample = w.random(1, w.params.slots(), level, rng);
    Known { ct: sample.ct, values: sample.values }
}

/// Settled at the level, its values right within the estimate of its noise, and the estimate of
/// use.
fn check(w: &World, what: &str, ct: &Ciphertext<Cpu>, level: usize, expected: &Values) {
    assert_eq!(ct.level(), level, "{what}");
    assert_eq!(ct.scale(), w.scale(level), "{what} is not settled");
    let noise = ct.noise().unwrap_or_else(|| panic!("{what}: nothing is known of the noise"));
    let estimate = (noise.peak_log2 - ct.scale().log2()).exp2();
    // The compared values are doubles: the decrypted values are rounded, and the expected ones are
    // computed from values up to one.
    let greatest = expected.iter().flatten().map(|z| z.norm()).fold(1.0, f64::max);
    let bound = estimate + 4.0 * f64::EPSILON * greatest;
    let error = worst_difference(&w.decrypt(ct), expected);
    assert!(error <= bound, "{what}: error {error:e} beyond {bound:e}");
    assert!(bound < 2f64.powi(-7), "{what}: the estimate {bound:e} says nothing");
}

/// The highest level from this one down that takes products of two ciphertexts, if there is one.
fn product_level(params: &CkksParams, level: usize) -> Option<usize> {
    (1..=level).rev().find(|&level| params.takes_products(level))
}

#[test]
fn scales_start_and_continue_as_documented() {
    for (name, params) in grouped() {
        let mut group_of = Vec::new();
        for (i, group) in params.groups().iter().enumerate() {
            group_of.extend(std::iter::repeat_n(i, group.levels));
        }
        assert_eq!(group_of.len(), params.levels().len(), "{name}");
        assert!(!params.takes_products(0), "{name}");
        for level in 0..=params.max_level() {
            let (scale, nominal) = (w_scale(&params, level), params.groups()[group_of[level]].scale_log2);
            assert!((scale.log2() - nominal).abs() < 1e-3, "{name}, level {level}: {scale}");
            if level == 0 {
                continue;
            }
            let (below, dropped) = (w_scale(&params, level - 1), params.dropped(level));
            let fits = (below / (scale * scale / dropped) - 1.0).abs() < 1e-12;
            assert_eq!(fits, params.takes_products(level), "{name}, level {level}");
            assert!(fits || below == params.groups()[group_of[level - 1]].scale_log2.exp2(), "{name}");
            let multiplier = params.multiplier_scale(level).unwrap();
            assert!((multiplier * scale / dropped / below - 1.0).abs() < 1e-12, "{name}, level {level}");
            assert_eq!(fits, multiplier == scale, "{name}, level {level}");
        }
        assert!(matches!(params.multiplier_scale(0), Err(Error::LevelExhausted { .. })));
        assert!(params.multiplier_scale(params.max_level() + 1).is_err());
        assert!(params.groups().len() > 1 && (0..=params.max_level()).any(|l| params.takes_products(l)));
    }
}

fn w_scale(params: &CkksParams, level: usize) -> f64 {
    params.levels()[level].scale
}

/// Operands of any two levels: sums on the lower one, products where they fit.
#[test]
fn operands_of_any_two_groups_combine() {
    for (name, params) in grouped() {
        for_seeds(2, |rng| {
            let w = World::new(&params, [1], rng);
            for (i, j) in (0..=w.top()).flat_map(|i| (0..=w.top()).map(move |j| (i, j))) {
                let what = |op: &str| format!("{name}: {op} of levels {i} and {j}");
                let (a, b) = (known(&w, i, rng), known(&w, j, rng));
                let lower = i.min(j);
                let sum = w.ev.add(&a.ct, &b.ct).unwrap();
                check(&w, &what("sum"), &sum, lower, &zip(&a.values, &b.values, |a, b| a + b));
                let difference = w.ev.sub(&a.ct, &b.ct).unwrap();
                check(&w, &what("difference"), &difference, lower, &zip(&a.values, &b.values, |a, b| a - b));
                let product = w.ev.mul(&a.ct, &b.ct, &w.keys);
                match product_level(&params, lower) {
                    Some(level) => {
                        let expected = zip(&a.values, &b.values, |a, b| a * b);
                        check(&w, &what("product"), &product.unwrap(), level - 1, &expected);
                    }
                    None => assert!(matches!(product, Err(Error::LevelExhausted { .. }))),
                }
                let combined = w.ev.linear_combination(&[(&a.ct, 0.5), (&b.ct, -1.25)]);
                match lower {
                    0 => assert!(matches!(combined, Err(Error::LevelExhausted { .. }))),
                    _ => {
                        let expected = zip(&a.values, &b.values, |a, b| a * 0.5 - b * 1.25);
                        check(&w, &what("combination"), &combined.unwrap(), lower - 1, &expected);
                    }
                }
                if j <= i {
                    check(&w, &what("lowering"), &w.ev.mod_switch_to(&a.ct, j).unwrap(), j, &a.values);
                }
            }
        });
    }
}

/// Plaintexts and constants on every level, in both encodings.
#[test]
fn plaintexts_and_constants_multiply_in_every_group() {
    for (name, params) in grouped() {
        for_seeds(2, |rng| {
            let w = World::new(&params, [1, 2], rng);
            for (i, j) in (0..=w.top()).flat_map(|i| (0..=w.top()).map(move |j| (i, j))) {
                let what = |op: &str| format!("{name}: {op} of levels {i} and {j}");
                let (a, lower) = (known(&w, i, rng), i.min(j));
                let values = random_values(rng, 1, params.slots());
                let plain = w.encode(&values, j);
                let sum = w.ev.add_plain(&a.ct, &plain).unwrap();
                check(&w, &what("plain sum"), &sum, lower, &zip(&a.values, &values, |a, b| a + b));
                let expected = zip(&a.values, &values, |a, b| a * b);
                let product = w.ev.mul_plain(&a.ct, &plain);
                match product_level(&params, lower) {
                    Some(level) => check(&w, &what("plain product"), &product.unwrap(), level - 1, &expected),
                    None => assert!(product.is_err(), "{}", what("plain product")),
                }
                if i != j || i == 0 {
                    continue;
                }
                let encoding = w.encoding(i, params.slots()).for_multiplying(&params).unwrap();
                let multiplier = w.ev.encoder().encode(&values[0], encoding).unwrap();
                let product = w.ev.mul_plain(&a.ct, &multiplier).unwrap();
                check(&w, &what("multiplier"), &product, i - 1, &expected);
                let sum = w.ev.plain_combination(&[(&a.ct, &multiplier), (&a.ct, &multiplier)]).unwrap();
                check(&w, &what("plain combination"), &sum, i - 1, &map(&expected, |z| z * 2.0));
                let scaled = w.ev.mul_scalar(&a.ct, -0.75).unwrap();
                check(&w, &what("scalar"), &scaled, i - 1, &map(&a.values, |z| z * -0.75));
                let z = Complex64::new(0.5, -0.25);
                for z in [z, z.re.into()] {
                    let shifted = w.ev.add_scalar(&a.ct, z).unwrap();
                    check(&w, &what("constant"), &shifted, i, &map(&a.values, |a| a + z));
                }
                let turned =
                    w.ev.sum_of_rotations(&a.ct, &[(0, 0.5), (1, -1.0), (2, 0.25)], &w.keys).unwrap();
                let [one, two] = [1, 2].map(|step| rotated(&a.values, step));
                let expected = zip(&zip(&a.values, &one, |a, b| a * 0.5 - b), &two, |a, b| a + b * 0.25);
                check(&w, &what("sum of rotations"), &turned, i - 1, &expected);
                let weight = w.ev.encode_weight(&values[0], i).unwrap();
                let masked = w.ev.sum_of_masked_rotations(&a.ct, &[(1, &weight)], &w.keys).unwrap();
                check(&w, &what("masked rotation"), &masked, i - 1, &zip(&one, &values, |a, b| a * b));
            }
        });
    }
}

/// Matrices by their diagonals, prepared for every level and applied to ciphertexts of every level.
#[test]
fn linear_transforms_work_in_every_group() {
    for (name, params) in grouped() {
        for_seeds(1, |rng| {
            let d = params.slots();
            let diagonals: BTreeMap<i64, Vec<Complex64>> = [-2, -1, 0, 1, 3]
                .into_iter()
                .map(|k: i64| (k.rem_euclid(d as i64), random_values(rng, 1, d).remove(0)))
                .collect();
            let transform = LinearTransform::from_diagonals(d, &diagonals).unwrap();
            let steps: Vec<i64> = transform.requirements().keys.rotation_steps().to_vec();
            let w = World::new(&params, steps, rng);
            for prepared_for in 1..=w.top() {
                let prepared = transform.prepare(&w.ev, prepared_for).unwrap();
                for level in 1..=w.top() {
                    let x = known(&w, level, rng);
                    let expected = vec![transform.apply_plain(&x.values[0]).unwrap()];
                    let out = prepared.apply(&w.ev, &x.ct, &w.keys);
                    let lower = level.min(prepared_for);
                    // Diagonals of a higher level multiply where two ciphertexts' products fit.
                    let at = if level >= prepared_for { Some(lower) } else { product_level(&params, lower) };
                    let what = format!("{name}: prepared for {prepared_for}, applied to {level}");
                    match (out, at) {
                        (Ok(out), Some(at)) if out.level() == at - 1 => {
                            check(&w, &what, &out, at - 1, &expected)
                        }
                        // The same scale serves on the lower level as well.
                        (Ok(out), _) => check(&w, &what, &out, lower - 1, &expected),
                        (Err(error), at) => assert!(at.is_none(), "{what}: {error}"),
                    }
                }
            }
        });
    }
}

/// A product without its rescale, or rescaled where it does not fit, can still be added to others.
#[test]
fn what_manual_operations_leave_is_brought_to_the_scale() {
    for (name, params) in grouped() {
        for_seeds(2, |rng| {
            let w = World::new(&params, [], rng);
            for level in 2..=w.top() {
                let (a, b) = (known(&w, level, rng), known(&w, level, rng));
                let expected = zip(&zip(&a.values, &b.values, |a, b| a * b), &b.values, |a, b| a + b);
                let product = w.ev.tensor(&a.ct, &b.ct).unwrap();
                let rescaled = w.ev.relinearize_rescale(&product, &w.keys).unwrap();
                let fits = params.takes_products(level);
                assert_eq!(fits, rescaled.scale() == w.scale(level - 1), "{name}, level {level}");
                let sum = w.ev.add(&rescaled, &b.ct);
                // A constant that one step would round to less than 20 bits is refused.
                let constant = w.scale(level - 2) * params.dropped(level - 1) / rescaled.scale();
                if !fits && constant < 2f64.powi(20) {
                    assert!(matches!(sum, Err(Error::ScaleMismatch { .. })), "{name}, level {level}");
                    continue;
                }
                let (what, sum) = (format!("{name}, level {level}"), sum.unwrap());
                check(&w, &what, &sum, level - 1 - usize::from(!fits), &expected);
                if fits {
                    let sum = w.ev.add(&w.ev.relinearize(&product, &w.keys).unwrap(), &b.ct).unwrap();
                    check(&w, &format!("{name}, level {level}, late"), &sum, level - 1, &expected);
                }
            }
        });
    }
}

/// Powers by repeated squaring from the top of the chain to its end.
#[test]
fn powers_go_down_through_all_groups() {
    for (name, params) in grouped() {
        for_seeds(3, |rng| {
            let w = World::new(&params, [], rng);
            let unit = |values: &Values| map(values, |z| if z.norm() == 0.0 { z } else { z / z.norm() });
            let values = unit(&random_values(rng, 2, params.slots()));
            let mut power = Known { ct: w.encrypt(&values, w.top(), rng).ct, values };
            while let Some(level) = product_level(&params, power.ct.level()) {
                power.ct = w.ev.square(&power.ct, &w.keys).unwrap();
                power.values = map(&power.values, |z| z * z);
                check(&w, &format!("{name}, from level {level}"), &power.ct, level - 1, &power.values);
            }
        });
    }
}

#[test]
fn the_builder_puts_groups_around_what_is_asked_for() {
    let of = |builder: he::ckks::CkksBuilder| builder.precision_bits(20).range_bits(9).build().unwrap();
    let plain = of(CkksParams::for_depth(4).log_n(16));
    let scale = plain.scale_log2();
    let params = of(CkksParams::for_depth(4)
        .log_n(16)
        .below(2, scale + 2.0, &[scale as u32 + 2])
        .below(1, 44.0, &[43])
        .above(8, 50.0, &[50])
        .above(1, 58.0, &[50])
        .above(1, 58.0, &[49]));
    let group = |levels, scale_log2| LevelGroup { levels, scale_log2 };
    let groups = [(1, 44.0), (2, scale + 2.0), (5, scale), (8, 50.0), (1, 58.0), (1, 58.0)];
    assert_eq!(params.groups(), groups.map(|(levels, scale_log2)| group(levels, scale_log2)));
    assert_eq!((params.max_level(), params.scale_log2()), (17, 58.0));
    assert!(params.rlwe().security() >= Security::Bits128);
    for level in 0..=17 {
        let fits = [2, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15].contains(&level);
        assert_eq!(params.takes_products(level), fits, "level {level}");
        let narrow = params.dropped(level.max(1)).log2();
        assert!(level < 8 || (narrow - 50.0).abs() < 1.01, "level {level}: {narrow}");
    }
    assert!(params.range() >= 2f64.powi(9) * 0.99);
    for part in ["1 level(s) below at scale 2^44, 43 bits each", "8 level(s) above at scale 2^50"] {
        assert!(params.explanation().contains(part), "{}", params.explanation());
    }
    assert!(CkksParams::for_depth(1).above(0, 40.0, &[40]).build().is_err());
    assert!(CkksParams::for_depth(1).above(1, 40.0, &[]).build().is_err());
    assert!(CkksParams::for_depth(1).above(1, 40.0, &[61]).build().is_err());
    assert!(CkksParams::for_depth(1).below(1, f64::NAN, &[40]).build().is_err());
    let error = CkksParams::for_depth(1).above(60, 60.0, &[60]).build().unwrap_err();
    assert!(matches!(error, ParamsError::Unreachable { .. } | ParamsError::ChainLength { .. }), "{error}");
}

#[test]
fn impossible_groups_are_refused() {
    let spec = CkksSpec::from_bits(4, &[50, 40, 40], &[50], 40.0).unwrap();
    let with = |groups: &[(usize, f64)]| {
        let groups = groups.iter().map(|&(levels, scale_log2)| LevelGroup { levels, scale_log2 }).collect();
        CkksParams::insecure(CkksSpec { groups, ..spec.clone() })
    };
    assert!(with(&[(3, 40.0)]).is_ok() && with(&[(1, 45.0), (2, 40.0)]).is_ok());
    for groups in
        [&[][..], &[(2, 40.0)], &[(4, 40.0)], &[(0, 40.0), (3, 40.0)], &[(usize::MAX, 40.0), (4, 40.0)]]
    {
        let error = with(groups).unwrap_err();
        assert!(matches!(error, ParamsError::LevelGroups { levels: 3, .. }), "{error}");
    }
    // 2^60 x 2^-20 by a prime of 40 bits would be the constant 1.
    let error = with(&[(1, 20.0), (2, 40.0)]).map(|_| ()).unwrap_err();
    assert!(matches!(error, ParamsError::GroupBorder { level: 1, .. }), "{error}");
    assert!(error.to_string().contains("choose wider primes for the level"), "{error}");
    // Each group has its own rule of one bit, and the modulus its own limit at every level.
    let error = with(&[(1, 40.0), (2, 42.5)]).unwrap_err();
    assert!(matches!(error, ParamsError::ScaleDrift { level: 1, default_log2: 42.5, .. }), "{error}");
    let error = with(&[(1, 49.5), (2, 40.0)]).unwrap_err();
    assert!(matches!(error, ParamsError::OutOfRange { what: "log2(scale)", .. }), "{error}");
}

#[test]
fn frames_of_groups_are_version_two() {
    for (name, params) in grouped() {
        let frame = params.to_frame();
        assert_eq!(frame.body[..3], [0, 2, params.rlwe().ring().log_n() as u8], "{name}");
        assert!(frame.body.len() as u64 <= CkksParams::MAX_BODY);
        let read = CkksParams::from_frame_insecure(&frame).unwrap();
        assert_eq!((read.spec(), read.fingerprint()), (params.spec(), params.fingerprint()), "{name}");
        let levels: Vec<usize> = params.levels().iter().map(|level| level.primes).collect();
        let one = params.spec().with_levels(levels.clone(), params.groups()[0].scale_log2);
        if let Ok(one) = CkksParams::insecure(one) {
            assert_ne!(one.fingerprint(), params.fingerprint());
            assert!(one.to_frame().body[0] > 0);
        }
        // Any other fingerprint, version or length, and every number changed.
        for at in 0..frame.body.len() {
            let mut short = params.to_frame();
            short.body.truncate(at);
            assert!(CkksParams::from_frame_insecure(&short).is_err(), "{name}: {at} bytes");
            for change in [1, 0x40, 0x80, 0xff] {
                let mut other = params.to_frame();
                other.body[at] ^= change;
                assert!(CkksParams::from_frame_insecure(&other).is_err(), "{name}: byte {at} ^ {change:#x}");
            }
        }
        let mut long = params.to_frame();
        long.body.push(0);
        assert!(CkksParams::from_frame_insecure(&long).is_err(), "{name}");
    }
    // Parameters that version 1 can state are not stated in version 2.
    let one = CkksParams::insecure(CkksSpec::from_bits(4, &[50, 40, 40], &[50], 40.0).unwrap()).unwrap();
    let mut frame = one.to_frame();
    let scale = frame.body.split_off(frame.body.len() - 8);
    frame.body = [&[0, 2][..], &frame.body, &[1, 0, 3, 0], &scale].concat();
    let error = CkksParams::from_frame_insecure(&frame).unwrap_err();
    assert!(error.to_string().contains("list of level groups"), "{error}");
    // As many groups as a count can say allocate no more than the frame holds.
    let at = frame.body.len() - 12;
    frame.body[at..at + 2].copy_from_slice(&[0xff, 0xff]);
    assert!(CkksParams::from_frame_insecure(&frame).is_err());
}

/// The largest parameters fit the bound on frames.
#[test]
fn the_most_groups_fit_a_frame() {
    let group = |i: usize| LevelGroup { levels: 1, scale_log2: 40.0 + (i % 3) as f64 };
    let groups: Vec<LevelGroup> = (0..64).map(group).collect();
    let widths = vec![vec![50]; 63];
    let spec = CkksSpec::from_level_bits(4, &[50], &widths, &[61; 64], &groups).unwrap();
    let params = CkksParams::insecure(spec.with_dnum(64)).unwrap();
    let frame = params.to_frame();
    assert!(frame.body.len() as u64 <= CkksParams::MAX_BODY);
    assert_eq!(CkksParams::from_frame_insecure(&frame).unwrap().spec(), params.spec());
    let keys_fit = params.to_bytes().and_then(|bytes| CkksParams::from_bytes_insecure(&bytes));
    assert_eq!(keys_fit.unwrap(), params);
}

/// Levels of earlier presets are one group, whose words and fingerprints stay.
#[test]
fn one_group_is_what_it_was() {
    let params = he::ckks::presets::ckks_n12_d1().unwrap();
    assert_eq!(params.groups(), [LevelGroup { levels: 2, scale_log2: 30.0 }]);
    assert!(params.takes_products(1) && !params.takes_products(0) && !params.takes_products(2));
    assert_eq!(params.multiplier_scale(1).unwrap(), params.levels()[1].scale);
    assert_eq!(params.to_frame().body[0], 12);
}
