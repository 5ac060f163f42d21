//! Circuits that are refreshed by themselves, and bootstraps of bootstraps.

use super::*;
use crate::circuits::ckks::{
    Function, GroupFunction, Groups, LinearTransform, NeverRefresh, Polynomial, Refresher,
};
use std::cell::Cell;

/// Counts the refreshes.
struct Counting<'a> {
    inner: RefreshWith<'a, Cpu>,
    count: Cell<usize>,
}

impl Refresher<Cpu> for Counting<'_> {
    fn reserve(&self) -> usize {
        self.inner.reserve()
    }

    fn top(&self) -> Option<usize> {
        self.inner.top()
    }

    fn check(&self, ct: &Ciphertext<Cpu>) -> Result<()> {
        self.inner.check(ct)
    }

    fn refresh(&self, ct: &Ciphertext<Cpu>) -> Result<Ciphertext<Cpu>> {
        self.count.set(self.count.get() + 1);
        self.inner.refresh(ct)
    }
}

impl World {
    fn refresher(&self) -> Counting<'_> {
        Counting { inner: self.bootstrapper.with_keys(&self.keys), count: Cell::new(0) }
    }

    fn evaluation(&mut self, needs: &KeyRequirements) -> (Evaluator<Cpu>, EvaluationKeys<Cpu>) {
        let keys = EvaluationKeys::generate(&self.secret, &self.ring, needs, &mut self.rng).unwrap();
        (Evaluator::new(self.params.params(), &self.ring).unwrap(), keys)
    }
}

/// A hundred steps of the logistic map, and a hundred squarings, beside float64; the refreshes are
/// as many as predicted.
#[test]
fn loops_of_any_length_are_one_call() {
    let mut w = World::small(Preset::Precise, 8, 7);
    let start: Vec<Complex64> =
        (0..w.params.slots()).map(|_| Complex64::new(w.rng.random_range(0.1..0.9), 0.0)).collect();
    let ct = w.encrypt(&start);
    let (ev, keys) = w.evaluation(&KeyRequirements::new().relinearisation());

    // x <- 3.2 x (1 - x): two levels per step; the first step finds none.
    let levels = w.params.output_level() - w.params.input_level();
    let logistic = Polynomial::power(&[0.0, 3.2, -3.2]).unwrap();
    let refresher = w.refresher();
    let predicted = refresher.count(ct.level(), [2; 100]).unwrap();
    assert_eq!(predicted, 100usize.div_ceil(levels / 2));
    let out = logistic.iterate(100, &ev, &ct, &keys, &refresher).unwrap();
    assert_eq!(refresher.count.get(), predicted);
    let mut expected = start.clone();
    (0..100).for_each(|_| expected.iter_mut().for_each(|z| *z = 3.2 * *z * (1.0 - *z)));
    let (worst, _) = w.precision(&out, &expected);
    assert!(worst > 20.0, "{worst}");

    // x <- 0.4 - x^2, one level per step.
    let refresher = w.refresher();
    let predicted = refresher.count(ct.level(), [1; 100]).unwrap();
    assert_eq!(predicted, 100usize.div_ceil(levels));
    let step =
        |_, x: &Ciphertext<Cpu>| ev.add_scalar(&ev.neg(&ev.square(x, &keys)?)?, Complex64::new(0.4, 0.0));
    let out = refresher.repeat(&ct, 100, 1, step).unwrap();
    assert_eq!(refresher.count.get(), predicted);
    let mut expected = start;
    (0..100).for_each(|_| expected.iter_mut().for_each(|z| *z = 0.4 - *z * *z));
    let (worst, _) = w.precision(&out, &expected);
    assert!(worst > 20.0, "{worst}");
}

/// Polynomials after each other, matrices between them, and what does not fit.
#[test]
fn circuits_are_refreshed_where_levels_run_out() {
    let mut w = World::small(Preset::Small, 7, 5);
    let n = w.params.slots();
    assert_eq!(w.bootstrapper.matrix_bytes(), w.params.matrix_bytes().unwrap());
    let start: Vec<Complex64> = (0..n).map(|_| Complex64::new(w.rng.random_range(-0.9..0.9), 0.0)).collect();
    let ct = w.encrypt(&start);
    let shift = LinearTransform::from_diagonals(n, &[(1, vec![1.0; n])].into()).unwrap();
    let (ev, keys) = w.evaluation(&shift.requirements().keys.clone().relinearisation());
    let sine = Polynomial::chebyshev_fit(f64::sin, 7, -1.0, 1.0).unwrap();
    let cosine = Polynomial::chebyshev_fit(f64::cos, 8, -1.0, 1.0).unwrap();
    let refresher = w.refresher();
    let out = Polynomial::compose(&[sine.clone(), cosine.clone(), sine.clone()], &ev, &ct, &keys, &refresher);
    let out = shift.apply_refreshed(&ev, &out.unwrap(), &keys, &refresher).unwrap();
    let prepared = shift.prepare(&ev, w.params.output_level()).unwrap();
    let out = prepared.apply_refreshed(&ev, &out, &keys, &refresher).unwrap();
    // Three levels, four, three, one, and one, of four.
    assert_eq!(refresher.count.get(), 4);
    let expected: Vec<Complex64> =
        (0..n).map(|k| Complex64::new(start[(k + 2) % n].re.sin().cos().sin(), 0.0)).collect();
    let (worst, _) = w.precision(&out, &expected);
    assert!(worst > 12.0, "{worst}");

    // More levels than even a refreshed ciphertext has, in one polynomial and in one step; and none
    // to be had.
    let deep = Polynomial::chebyshev_fit(|x| (4.0 * x).sin(), 31, -1.0, 1.0).unwrap();
    let long = deep.iterate(2, &ev, &ct, &keys, &refresher).unwrap();
    let expected: Vec<Complex64> =
        start.iter().map(|z| Complex64::new((4.0 * (4.0 * z.re).sin()).sin(), 0.0)).collect();
    let (worst, _) = w.precision(&long, &expected);
    assert!(worst > 9.0 && refresher.count.get() > 10, "{worst}, {}", refresher.count.get());
    let refresher = w.refresher();
    let refused = refresher.repeat(&ct, 1, 5, |_, x| x.duplicate());
    assert!(matches!(refused, Err(Error::LevelExhausted { needed: 5, left: 4 })));
    let refused = sine.iterate(2, &ev, &ct, &keys, &NeverRefresh);
    assert!(matches!(refused, Err(Error::LevelExhausted { needed: 3, .. })), "{refused:?}");
    assert_eq!(refresher.count.get(), 0);

    // A packing that cannot be refreshed is refused before the first step.
    let params = w.params.params().clone();
    let few = ev.encoder().encode(&start[..8], params.encoding().slots(8)).unwrap();
    let encryptor = SecretEncryptor::new(&params, &w.secret, &w.ring).unwrap();
    let few = encryptor.encrypt(&few, &mut w.rng).unwrap().expand().unwrap();
    let refresher = w.refresher();
    let steps = Cell::new(0);
    let refused = refresher.repeat(&few, 9, 1, |_, x| {
        steps.set(steps.get() + 1);
        ev.mul_scalar(x, 0.5)
    });
    assert!(matches!(refused, Err(Error::SlotCount { found: 8, .. })));
    assert_eq!(steps.get(), 0);
    // Steps that fit are computed without a refresh, whatever the packing.
    assert_eq!(refresher.repeat(&few, 2, 1, |_, x| ev.mul_scalar(x, 0.5)).unwrap().level(), few.level() - 2);
    assert_eq!(refresher.repeat(&few, 0, 1, |_, x| ev.mul_scalar(x, 0.5)).unwrap().level(), few.level());
}

/// Functions of one number and of vectors, from a ciphertext without levels: as many refreshes as
/// planned, and the errors that were asked.
#[test]
fn functions_are_refreshed_as_planned() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let n = w.params.slots();
    let start: Vec<Complex64> = (0..n).map(|_| Complex64::new(w.rng.random_range(-1.0..=1.0), 0.0)).collect();
    let ct = w.encrypt(&start);
    let relu = Function::relu(1.0, 10).unwrap();
    let sort = GroupFunction::sort(Groups::consecutive(n, 8).unwrap(), -1.0..=1.0, 5).unwrap();
    let needs = relu.requirements().union(&sort.requirements());
    let (ev, keys) = w.evaluation(&needs.keys);

    let refresher = w.refresher();
    let planned = relu.plan(ct.level(), &refresher).unwrap();
    let out = relu.apply(&ev, &ct, &keys, &refresher).unwrap();
    assert_eq!((refresher.count.get(), out.level()), planned);
    let expected: Vec<Complex64> = start.iter().map(|z| Complex64::new(z.re.max(0.0), 0.0)).collect();
    let (worst, _) = w.precision(&out, &expected);
    assert!(worst > 9.5 && planned.0 > 0, "{worst}, {planned:?}");

    let refresher = w.refresher();
    let planned = sort.plan(out.level(), &refresher).unwrap();
    let sorted = sort.apply(&ev, &out, &keys, &refresher).unwrap();
    assert_eq!((refresher.count.get(), sorted.level()), planned);
    let mut values: Vec<f64> = expected.iter().map(|z| z.re).collect();
    values.chunks_mut(8).for_each(|group| group.sort_by(f64::total_cmp));
    let expected: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
    let (worst, _) = w.precision(&sorted, &expected);
    println!("relu, then sorted: {worst:.1} bits at worst, {planned:?}");
    assert!(worst > 4.0 && planned.0 >= 6, "{worst}, {planned:?}");
}

/// The chain of [`Preset::Precise`] with program levels of 50 bits: each iteration adds what is
/// stated, up to the rounding at that scale.
#[test]
fn iterations_add_precision() {
    let spec = |log_n, log_slots| BootstrapSpec {
        log_n,
        log_slots,
        slots_to_coeffs: vec![50; 3],
        program: LevelRun::new(9, 49.97, &[50]),
        ..Preset::Precise.spec()
    };
    assert!(BootstrapParams::try_from(spec(16, 15)).is_ok());
    let fast = BootstrapSpec { program: LevelRun::new(6, 49.97, &[50]), ..Preset::Fast.spec() };
    let fast = BootstrapSpec { log_n: 9, log_slots: 8, slots_to_coeffs: vec![50; 3], ..fast };
    for (spec, iterations, gained, floor) in [(fast, 3, 13.0, 40.0), (spec(9, 8), 2, 10.0, 40.0)] {
        let mut w = World::new(spec);
        let values = w.values();
        let ct = w.encrypt(&values);
        let mut last = 0.0;
        for count in 1..=iterations {
            let out = w.bootstrapper.refresh_iterated(&ct, &w.keys, count).unwrap();
            assert_eq!(out.level(), w.params.output_level() - usize::from(count > 1));
            let (worst, rms) = w.precision(&out, &values);
            println!("{count} iterations: {worst:.1} bits at worst, {rms:.1} in the mean");
            assert!(rms > f64::min(last + gained, floor), "{count} iterations: {rms} after {last}");
            check_estimate(&w, &out, &values, "iterated", 10.0);
            last = rms;
        }
        assert!(matches!(w.bootstrapper.refresh_iterated(&ct, &w.keys, 0), Err(Error::Argument { .. })));
    }
}
