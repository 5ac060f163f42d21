//! Maps between ciphertexts against sums over their entries.

use super::*;
use crate::circuits::testing::{Fixture, seeded};
use crate::ckks::Ciphertext;
use crate::rlwe::EvaluationKeys;
use rand::{RngExt, rngs::ChaCha20Rng};

type Entries = Vec<(usize, usize, Complex64)>;

fn number(rng: &mut ChaCha20Rng) -> Complex64 {
    Complex64::new(rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0))
}

fn vectors(rng: &mut ChaCha20Rng, layout: &TensorLayout) -> Vec<Vec<Complex64>> {
    (0..layout.ciphertexts()).map(|_| (0..layout.slots()).map(|_| number(rng)).collect()).collect()
}

/// Entries at random places, some of them twice, on few diagonals or on many.
fn entries(rng: &mut ChaCha20Rng, input: &TensorLayout, output: &TensorLayout) -> Entries {
    let unit = input.examples();
    let ends = [output, input].map(|layout| layout.slots() * layout.ciphertexts() / unit);
    let offset = rng.random_range(0..ends[1]);
    let narrow: bool = rng.random();
    (0..rng.random_range(0..200))
        .map(|_| {
            let to = rng.random_range(0..ends[0]);
            let from = match narrow {
                true => (to + offset + rng.random_range(0..3)) % ends[1],
                false => rng.random_range(0..ends[1]),
            };
            (to * unit, from * unit, number(rng))
        })
        .collect()
}

/// The map over the slots of all ciphertexts, entry by entry.
fn expected(
    input: &TensorLayout,
    output: &TensorLayout,
    entries: &Entries,
    x: &[Vec<Complex64>],
) -> Vec<Vec<Complex64>> {
    let mut y = vec![vec![Complex64::ZERO; output.slots()]; output.ciphertexts()];
    for &(to, from, value) in entries {
        for example in 0..input.examples() {
            let (to, from) = (to + example, from + example);
            y[to / output.slots()][to % output.slots()] +=
                value * x[from / input.slots()][from % input.slots()];
        }
    }
    y
}

fn same(found: &[Vec<Complex64>], expected: &[Vec<Complex64>], bound: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).norm() < bound, "{found} {expected}");
    }
}

/// Vectors of any length on both sides, in one and several ciphertexts, of one and more examples.
fn layouts(rng: &mut ChaCha20Rng, capacity: usize) -> [TensorLayout; 2] {
    let examples = 1 << rng.random_range(0..3);
    [0; 2].map(|_| {
        let length = rng.random_range(1..3 * capacity / examples);
        TensorLayout::batched([length, 1, 1], examples, capacity).unwrap()
    })
}

#[test]
fn sparse_maps_are_sums_of_their_entries() {
    let mut rng = seeded();
    for _ in 0..300 {
        let capacity = 1 << rng.random_range(2..8);
        let [input, output] = layouts(&mut rng, capacity);
        let entries = entries(&mut rng, &input, &output);
        let x = vectors(&mut rng, &input);
        let chosen = BlockTransform::cheapest(&input, &output, entries.iter().copied()).unwrap();
        // The choice is made again without a search.
        let again =
            BlockTransform::with_babies(&input, chosen.output(), entries.iter().copied(), chosen.babies());
        assert_eq!(again.unwrap(), chosen);
        for babies in [0, input.slots().min(output.slots()) / input.examples() + 1] {
            let refused = BlockTransform::with_babies(&input, &output, entries.iter().copied(), babies);
            assert!(matches!(refused, Err(Error::Argument { what: "baby steps", .. })), "{refused:?}");
        }
        for map in [BlockTransform::new(&input, &output, entries.iter().copied()).unwrap(), chosen] {
            let y = expected(&input, map.output(), &entries, &x);
            same(&map.apply_plain(&x).unwrap(), &y, 1e-12);
            assert!(map.output().slots() >= output.slots());
        }
    }
}

/// On ciphertexts, with exactly the keys required, for both ways of hoisting, on the level they are
/// prepared for and others; every result is within its noise estimate.
#[test]
fn maps_compute_on_ciphertexts() {
    for special in [0, 1, 3] {
        let mut fixture = Fixture::with_special(7, 3, special.max(1));
        let mut covered = [0; 2];
        for _ in 0..12 {
            let [input, output] = layouts(&mut fixture.rng, 64);
            let entries = entries(&mut fixture.rng, &input, &output);
            let unit = output.examples();
            let place = fixture.rng.random_range(0..output.slots() * output.ciphertexts() / unit);
            let map = BlockTransform::cheapest(&input, &output, entries.iter().copied()).unwrap();
            let map = map.with_bias([(place * unit, 0.75)]).unwrap();
            let x = vectors(&mut fixture.rng, &input);
            let mut y = expected(&input, map.output(), &entries, &x);
            for example in 0..unit {
                let slot = place * unit + example;
                y[slot / map.output().slots()][slot % map.output().slots()] += 0.75;
            }
            let keys = fixture.keys(map.requirements());
            let cts: Vec<Ciphertext> =
                x.iter().map(|x| fixture.encrypt(std::slice::from_ref(x), input.slots())).collect();
            for level in [3, 2] {
                covered[usize::from(map.prefers_double_hoisting(&fixture.params, level))] += 1;
                let prepared = map.prepare(&fixture.ev, level).unwrap();
                assert_eq!(prepared.bytes(), map.plaintext_bytes(&fixture.params, level).unwrap());
                for left in [3, 2, 1] {
                    let cts: Vec<Ciphertext> =
                        cts.iter().map(|ct| fixture.ev.mod_switch_to(ct, left).unwrap()).collect();
                    let out = prepared.apply(&fixture.ev, &cts, &keys).unwrap();
                    for (ct, y) in out.iter().zip(&y) {
                        assert_eq!((ct.level(), ct.slots()), (left.min(level) - 1, map.output().slots()));
                        let noise = ct.noise().unwrap();
                        let bound = (noise.peak_log2 - libm::log2(ct.scale())).exp2();
                        assert!(bound < 1e-2, "{bound}");
                        same(&fixture.decrypt(ct), std::slice::from_ref(y), bound.min(1e-5));
                    }
                }
            }
        }
        println!("hoisted singly, doubly: {covered:?}");
    }
}

/// A batch of ciphertexts goes through together, and each entry is what it is alone.
#[test]
fn batches_map_together() {
    let mut fixture = Fixture::new(7, 2);
    let (input, output) = (TensorLayout::vector(150, 64).unwrap(), TensorLayout::vector(100, 64).unwrap());
    let entries = entries(&mut fixture.rng, &input, &output);
    let map = BlockTransform::new(&input, &output, entries.iter().copied()).unwrap();
    let keys = fixture.keys(map.requirements());
    let xs: Vec<Vec<Vec<Complex64>>> = (0..2).map(|_| vectors(&mut fixture.rng, &input)).collect();
    let cts: Vec<Ciphertext> = (0..input.ciphertexts())
        .map(|i| fixture.encrypt(&[xs[0][i].clone(), xs[1][i].clone()], input.slots()))
        .collect();
    let out = map.apply(&fixture.ev, &cts, &keys).unwrap();
    for (entry, x) in xs.iter().enumerate() {
        let found: Vec<Vec<Complex64>> = out.iter().map(|ct| fixture.decrypt(ct).remove(entry)).collect();
        same(&found, &expected(&input, &output, &entries, x), 1e-5);
    }
}

/// Rotations are those of the best split of all diagonals together, and short outputs are folded.
#[test]
fn rotations_are_few() {
    // A 3 x 3 filter over 8 channels of 16 x 16, to 8 channels: 8 baby and 7 giant steps.
    let tensor = TensorLayout::new([8, 16, 16], 1 << 11).unwrap();
    let convolution = crate::circuits::ckks::Convolution2d::new([8, 8], [3, 3], vec![0.5; 8 * 8 * 9]);
    let map = convolution.with_padding([1; 4]).over(&tensor).unwrap();
    assert_eq!((map.diagonals(), map.rotations()), (72, 15));
    // A row takes the rotations of a sum, and a column none.
    let row = BlockTransform::matrix(1, 1024, &[1.0; 1024], 1 << 11).unwrap();
    assert_eq!((row.rotations(), row.output().ciphertexts()), (10, 1));
    let column = BlockTransform::matrix(1024, 1, &[1.0; 1024], 1 << 11).unwrap();
    assert_eq!(column.rotations(), 0);
    // Ten outputs of 4096 inputs in four ciphertexts: 15 baby steps at most for each input.
    let wide = BlockTransform::matrix(10, 4096, &vec![1.0; 40960], 1 << 10).unwrap();
    assert!(wide.output().slots() == 16 && wide.rotations() <= 4 * 15 + 6, "{}", wide.rotations());
    let zero = BlockTransform::matrix(16, 16, &[0.0; 256], 16).unwrap();
    assert_eq!((zero.rotations(), zero.diagonals()), (0, 0));
}

/// Diagonals whose values repeat take fewer bytes: those of a constant two words for each prime,
/// whatever the number of examples.
#[test]
fn bytes_are_those_of_the_words() {
    let fixture = Fixture::with_special(7, 3, 2);
    for examples in [1, 4] {
        let layout = TensorLayout::batched([64 / examples, 1, 1], examples, 64).unwrap();
        let count = 64 / examples;
        // Each period keeps the diagonals that count up to it.
        for period in [1, 2, count] {
            let entries = (0..count * count).map(|i| {
                let (row, column) = (i / count, i % count);
                (row * examples, column * examples, (row % period) as f64 + 1.0)
            });
            let map = BlockTransform::new(&layout, &layout, entries).unwrap();
            assert!(map.prefers_double_hoisting(&fixture.params, 3));
            let bytes = map.prepare(&fixture.ev, 3).unwrap().bytes();
            assert_eq!(bytes, map.plaintext_bytes(&fixture.params, 3).unwrap());
            let slots = if period == 1 { 1 } else { period * examples };
            assert_eq!(bytes, (map.diagonals() * 2 * slots * (4 + 2) * 8) as u64);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (input, output) = (TensorLayout::vector(20, 16).unwrap(), TensorLayout::vector(5, 16).unwrap());
    let of = |entry: (usize, usize, f64)| BlockTransform::new(&input, &output, [entry]);
    assert!(of((7, 31, 1.0)).is_ok());
    for entry in [(8, 0, 1.0), (0, 32, 1.0), (0, 0, f64::NAN), (0, 0, f64::INFINITY)] {
        assert!(matches!(of(entry), Err(Error::Argument { what: "entry", .. })), "{entry:?}");
    }
    let map = of((0, 0, 1.0)).unwrap();
    assert!(map.clone().with_bias([(8, 1.0)]).is_err() && map.clone().with_bias([(0, f64::NAN)]).is_err());
    let pairs = TensorLayout::batched([5, 1, 1], 2, 16).unwrap();
    assert!(BlockTransform::new(&input, &pairs, [(0, 0, 1.0)]).is_err());
    assert!(BlockTransform::new(&pairs, &pairs, [(1, 0, 1.0)]).is_err());
    assert!(BlockTransform::relayout(&input, &output).is_err());
    assert!(BlockTransform::relayout(&output, &pairs).is_err());
    assert!(BlockTransform::matrix(0, 3, &[0.0; 0], 16).is_err());
    assert!(BlockTransform::matrix(2, 3, &[0.0; 5], 16).is_err());
    assert!(BlockTransform::matrix(2, 3, &[0.0; 6], 15).is_err());
    assert!(map.apply_plain(&[vec![1.0; 16]]).is_err() && map.apply_plain(&vec![vec![1.0; 8]; 2]).is_err());
    let mut fixture = Fixture::new(5, 1);
    let dense = BlockTransform::matrix(20, 20, &[1.0; 400], 16).unwrap();
    let keys = fixture.keys(dense.requirements());
    let ct = fixture.encrypt(&[vec![Complex64::ONE; 16]], 16);
    let ev = &fixture.ev;
    assert!(matches!(dense.apply(ev, std::slice::from_ref(&ct), &keys), Err(Error::Argument { .. })));
    assert!(matches!(dense.prepare(ev, 0), Err(Error::LevelExhausted { needed: 1, left: 0 })));
    assert!(matches!(dense.plaintext_bytes(&fixture.params, 2), Err(Error::LevelTooHigh { .. })));
    let low = ev.mod_switch_to(&ct, 0).unwrap();
    let pair = [low.duplicate().unwrap(), low];
    assert!(matches!(dense.apply(ev, &pair, &keys), Err(Error::LevelExhausted { .. })));
    let pair = [ct.duplicate().unwrap(), ct];
    let none = EvaluationKeys::empty(fixture.params.rlwe(), &fixture.ring).unwrap();
    assert!(matches!(dense.apply(ev, &pair, &none), Err(Error::MissingGaloisKey { .. })));
    let large = BlockTransform::matrix(20, 20, &[1.0; 400], 32).unwrap();
    assert!(matches!(large.prepare(ev, 1), Err(Error::SlotCount { .. })));
}
