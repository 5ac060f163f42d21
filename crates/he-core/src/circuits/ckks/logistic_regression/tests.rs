//! Encrypted training beside the same training in float64, and beside the definition.

use super::*;
use crate::backend::Cpu;
use crate::circuits::ckks::{NeverRefresh, Refresher};
use crate::circuits::testing::{Fixture, seeded};
use crate::ckks::{Ciphertext, Encryptor};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};
use std::cell::{Cell, RefCell};

/// Examples on both sides of a plane, some of them on the wrong one.
fn examples(rng: &mut ChaCha20Rng, layout: &TrainingLayout, plane: &[f64]) -> Examples {
    let features: Vec<f64> =
        (0..layout.examples() * layout.features()).map(|_| rng.random_range(-1.0..1.0)).collect();
    let side = |x: &[f64]| x.iter().zip(plane).map(|(x, p)| x * p).sum::<f64>() > 0.0;
    let labels = features.chunks_exact(layout.features()).map(|x| side(x) != rng.random_bool(0.05)).collect();
    Examples { features, labels }
}

/// The accelerated gradient in the form of its source, where eta = -mu.
fn by_definition(rates: &[f64], batches: &[Examples], sigmoid: impl Fn(f64) -> f64) -> Vec<f64> {
    let features = batches[0].features.len() / batches[0].labels.len();
    let (mut beta, mut v) = (vec![0.0; features + 1], vec![0.0; features + 1]);
    let mut lambda: f64 = 1.0;
    for (t, rate) in rates.iter().enumerate() {
        let Examples { features: x, labels } = &batches[t % batches.len()];
        let mut next = v.clone();
        for (x, &label) in x.chunks_exact(features).zip(labels) {
            let y = if label { 1.0 } else { -1.0 };
            let u = y * (v[0] + x.iter().zip(&v[1..]).map(|(x, v)| x * v).sum::<f64>());
            let step = sigmoid(-u) * y * rate / labels.len() as f64;
            next[0] += step;
            next[1..].iter_mut().zip(x).for_each(|(w, x)| *w += step * x);
        }
        let after = (1.0 + (1.0 + 4.0 * lambda * lambda).sqrt()) / 2.0;
        let eta = (1.0 - lambda) / after;
        v = next.iter().zip(&beta).map(|(new, old)| (1.0 - eta) * new + eta * old).collect();
        (beta, lambda) = (next, after);
    }
    beta
}

fn close(found: &[f64], expected: &[f64], bound: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < bound, "{found} {expected}");
    }
}

/// Encrypts anew, on a level in the middle, as a bootstrapper does; counts.
struct Renewing<'a> {
    fixture: &'a Fixture,
    top: usize,
    rng: RefCell<ChaCha20Rng>,
    count: Cell<usize>,
}

impl Refresher<Cpu> for Renewing<'_> {
    fn reserve(&self) -> usize {
        1
    }

    fn top(&self) -> Option<usize> {
        Some(self.top)
    }

    fn check(&self, _: &Ciphertext) -> Result<()> {
        Ok(())
    }

    fn refresh(&self, ct: &Ciphertext) -> Result<Ciphertext> {
        self.count.set(self.count.get() + 1);
        let f = self.fixture;
        let slots = f.decrypt(ct);
        assert!(slots[0].iter().all(|z| z.re.abs() < 1.0 && z.im.abs() < 1.0));
        let plain = f.ev.encoder().encode(&slots[0], f.params.encoding().slots(ct.slots()))?;
        let fresh = Encryptor::new(&f.params, &f.public)?.encrypt(&plain, &mut *self.rng.borrow_mut())?;
        f.ev.mod_switch_to(&fresh, self.top)
    }
}

fn real(slots: &[Complex64]) -> Vec<f64> {
    slots.iter().map(|z| z.re).collect()
}

/// One and several ciphertexts per batch, without refreshes and with one before every other
/// iteration or before each: the weights are those of the same training in float64.
#[test]
fn encrypted_training_is_plain_training() {
    for (examples_of, features, iterations, top) in
        [(64, 5, 2, None), (8, 5, 5, Some(14)), (64, 10, 4, Some(9))]
    {
        let depth = top.unwrap_or(7 * iterations);
        let mut fixture = Fixture::new(8, depth);
        let layout = TrainingLayout::new(examples_of, features, 128).unwrap();
        let rates = (0..iterations).map(|t| 1.5 - 0.1 * t as f64).collect();
        let training = LogisticRegression::new(layout, rates, 3, 6.0).unwrap();
        assert_eq!(training.requirements().depth, 7);
        let plane: Vec<f64> = (0..features).map(|_| fixture.rng.random_range(-1.0..1.0)).collect();
        let batches: Vec<Examples> = (0..2).map(|_| examples(&mut fixture.rng, &layout, &plane)).collect();
        let keys = fixture.keys(training.requirements());
        let encrypted: Vec<TrainingBatch<Ciphertext>> = batches
            .iter()
            .map(|batch| {
                let packed = layout.pack(batch).unwrap();
                let encrypt = |slots: &Vec<f64>| {
                    let slots: Vec<Complex64> = slots.iter().map(|&x| x.into()).collect();
                    Ok::<_, Error>(fixture.encrypt(&[slots], 128))
                };
                packed.try_map(encrypt).unwrap()
            })
            .collect();
        let zero = training.weight_slots(&vec![0.0; features + 1]).unwrap();
        let zero: Vec<Complex64> = zero.into_iter().map(Into::into).collect();
        let start = fixture.encrypt(&[zero], 128);
        let mut seen = Vec::new();
        let out = match top {
            None => training.train(&fixture.ev, &encrypted, &start, &keys, &NeverRefresh).unwrap(),
            Some(top) => {
                let refresher = Renewing {
                    fixture: &fixture,
                    top,
                    rng: RefCell::new(ChaCha20Rng::seed_from_u64(1)),
                    count: Cell::new(0),
                };
                let observe = |t, _: &Ciphertext| {
                    seen.push(t);
                    Ok(())
                };
                let (ev, batches) = (&fixture.ev, encrypted.as_slice());
                let out = training.train_observed(ev, batches, &start, &keys, &refresher, observe).unwrap();
                assert_eq!(refresher.count.get(), (iterations - 1) / ((top - 1) / 7));
                assert_eq!(seen, (0..iterations).collect::<Vec<_>>());
                out
            }
        };
        let found = training.weights(&real(&fixture.decrypt(&out)[0])).unwrap();
        close(&found, &training.train_plain(&batches).unwrap(), 1e-3);
    }
}

/// Training in float64 follows its definition, and the polynomial comes close to the sigmoid's
/// accuracy on examples that training has not seen.
#[test]
fn plain_training_is_its_definition() {
    let mut rng = seeded();
    let layout = TrainingLayout::new(256, 7, 512).unwrap();
    let rates = vec![1.0; 20];
    let training = LogisticRegression::new(layout, rates.clone(), 7, 8.0).unwrap();
    let plane: Vec<f64> = (0..7).map(|_| rng.random_range(-2.0..2.0)).collect();
    let batches: Vec<Examples> = (0..3).map(|_| examples(&mut rng, &layout, &plane)).collect();
    let exact = training.train_exactly(&batches).unwrap();
    close(&exact, &by_definition(&rates, &batches, |x| 1.0 / (1.0 + (-x).exp())), 1e-12);
    let plain = training.train_plain(&batches).unwrap();
    close(&plain, &by_definition(&rates, &batches, |x| training.sigmoid.apply_plain(-x / 8.0)), 1e-12);
    let unseen = examples(&mut rng, &layout, &plane);
    let accuracy = |w: &[f64]| {
        let right = unseen.features.chunks_exact(7).zip(&unseen.labels).filter(|(x, label)| {
            (w[0] + x.iter().zip(&w[1..]).map(|(x, w)| x * w).sum::<f64>() > 0.0) == **label
        });
        right.count() as f64 / unseen.labels.len() as f64
    };
    assert!(accuracy(&exact) > 0.8 && (accuracy(&exact) - accuracy(&plain)).abs() < 0.05);
}

/// Every number of a batch is where both packings say, whatever the shape.
#[test]
fn batches_are_packed_in_both_ways() {
    let mut rng = seeded();
    for _ in 0..50 {
        let (log_examples, features) = (rng.random_range(0..8), rng.random_range(1..30));
        let slots = 1 << rng.random_range(5..9);
        let Ok(layout) = TrainingLayout::new(1 << log_examples, features, slots) else { continue };
        let plane = vec![1.0; features];
        let examples = examples(&mut rng, &layout, &plane);
        let packed = layout.pack(&examples).unwrap();
        let columns = (features + 1).next_power_of_two();
        let blocks = ((1 << log_examples) * columns / slots).max(1);
        assert_eq!([packed.by_columns.len(), packed.by_rows.len()], layout.ciphertexts());
        assert!(packed.by_columns.iter().chain(&packed.by_rows).all(|vector| vector.len() == slots));
        for row in 0..1 << log_examples {
            let sign = if examples.labels[row] { 1.0 } else { -1.0 };
            for column in 0..=features {
                let x = if column == 0 { 1.0 } else { examples.features[row * features + column - 1] };
                let width = columns / blocks;
                assert_eq!(packed.by_columns[column / width][row * width + column % width], sign * x);
                assert_eq!(packed.by_rows[row % blocks][row / blocks * columns + column], sign * x);
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    for (examples, features, slots) in [(3, 2, 64), (4, 2, 48), (4, 0, 64), (4, 64, 64), (128, 2, 64)] {
        let refused = TrainingLayout::new(examples, features, slots);
        assert!(matches!(refused, Err(Error::Argument { .. })), "{examples} {features} {slots}");
    }
    let layout = TrainingLayout::new(16, 3, 64).unwrap();
    for features in [47, 49] {
        let wrong = Examples { features: vec![0.0; features], labels: vec![true; 16] };
        assert!(layout.pack(&wrong).is_err());
    }
    let wrong = Examples { features: vec![f64::NAN; 48], labels: vec![true; 16] };
    assert!(layout.pack(&wrong).is_err());
    let of = |rates: Vec<f64>, degree, range| LogisticRegression::new(layout, rates, degree, range);
    assert!(of(vec![], 3, 8.0).is_err() && of(vec![f64::NAN], 3, 8.0).is_err());
    assert!(of(vec![0.0], 3, 8.0).is_err() && of(vec![1.0], 0, 8.0).is_err());
    for range in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(of(vec![1.0], 3, range).is_err());
    }
    let training = of(vec![1.0; 2], 3, 8.0).unwrap();
    assert!(training.weight_slots(&[0.0; 3]).is_err() && training.weights(&[0.0; 3]).is_err());
    assert!(training.train_plain(&[]).is_err());
    let mut fixture = Fixture::new(7, 8);
    let keys = fixture.keys(training.requirements());
    let start = fixture.encrypt(&[vec![Complex64::ZERO; 64]], 64);
    let batch = |count: usize| {
        let of = |count: usize| (0..count).map(|_| start.duplicate().unwrap()).collect();
        TrainingBatch { by_columns: of(count), by_rows: of(count) }
    };
    let train = |batches: &[TrainingBatch<Ciphertext>]| {
        training.train(&fixture.ev, batches, &start, &keys, &NeverRefresh)
    };
    assert!(matches!(train(&[]), Err(Error::Argument { .. })));
    assert!(matches!(train(&[batch(2)]), Err(Error::Argument { .. })));
    // Eight levels are enough for one of two iterations.
    assert!(matches!(train(&[batch(1)]), Err(Error::LevelExhausted { .. })));
}
