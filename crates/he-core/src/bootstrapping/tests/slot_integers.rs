//! Integers in slots, against those of Rust.

use super::*;
use crate::bootstrapping::integers::{IntegerEvaluator, SlotFlags, SlotIntegers, Width};

/// Pairs of edges, then random numbers of all lengths and equal ones.
fn operands(rng: &mut ChaCha20Rng, width: Width, count: usize) -> (Vec<u64>, Vec<u64>) {
    let most = (1u64 << width.bits()) - 1;
    let edges = [0, 1, 15, 16, most / 2, most / 2 + 1, most - 15, most];
    let pairs = edges.into_iter().flat_map(|a| edges.map(|b| (a, b)));
    let mut random = || rng.random_range(0..=most) >> rng.random_range(0..width.bits());
    let others = (0..count).map(|k| if k % 8 == 0 { (k as u64, k as u64) } else { (random(), random()) });
    let pairs: Vec<(u64, u64)> = pairs.collect();
    let others: Vec<(u64, u64)> = others.map(|(a, b)| (a & most, b & most)).collect();
    pairs.into_iter().chain(others).take(count).unzip()
}

struct Integers {
    w: World,
    program: EvaluationKeys<Cpu>,
    decryptor: Decryptor<Cpu>,
}

impl Integers {
    fn new() -> Self {
        let mut w = World::small(Preset::Fast, 8, 7);
        let needs = KeyRequirements::new().relinearisation().conjugation();
        let program = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
        let decryptor = Decryptor::new(w.params.params(), &w.secret, &w.ring).unwrap();
        Self { w, program, decryptor }
    }

    fn encrypt(&mut self, values: &[u64], width: Width) -> SlotIntegers {
        let encryptor = SecretEncryptor::new(self.w.params.params(), &self.w.secret, &self.w.ring).unwrap();
        SlotIntegers::encrypt(values, width, &encryptor, &mut self.w.rng).unwrap()
    }

    fn evaluator(&self, width: Width) -> IntegerEvaluator<'_> {
        IntegerEvaluator::new(&self.w.bootstrapper, &self.w.keys, &self.program, width).unwrap()
    }

    fn values(&self, found: Result<SlotIntegers>) -> Vec<u64> {
        found.unwrap().decrypt(&self.decryptor).unwrap()
    }

    fn flags(&self, found: Result<SlotFlags>) -> Vec<bool> {
        found.unwrap().decrypt(&self.decryptor).unwrap()
    }
}

fn zipped<T>(a: &[u64], b: &[u64], f: impl Fn(u64, u64) -> T) -> Vec<T> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

#[test]
fn operations_are_those_of_rust() {
    let mut world = Integers::new();
    for width in [Width::U8, Width::U16, Width::U32] {
        let wrap = (1 << width.bits()) - 1;
        let (a, b) = operands(&mut world.w.rng, width, 128);
        let (x, y) = (world.encrypt(&a, width), world.encrypt(&b, width));
        let ev = world.evaluator(width);
        assert_eq!(world.values(ev.add(&x, &y)), zipped(&a, &b, |a, b| a.wrapping_add(b) & wrap));
        assert_eq!(world.values(ev.sub(&x, &y)), zipped(&a, &b, |a, b| a.wrapping_sub(b) & wrap));
        assert_eq!(world.flags(ev.lt(&x, &y)), zipped(&a, &b, |a, b| a < b));
        assert_eq!(world.flags(ev.eq(&x, &y)), zipped(&a, &b, |a, b| a == b));
        assert_eq!(world.values(ev.min(&x, &y)), zipped(&a, &b, u64::min));
        assert_eq!(world.values(ev.max(&x, &y)), zipped(&a, &b, u64::max));
    }
}

/// Results are operands: Fibonacci's numbers modulo 2^8, and the greatest of all so far.
#[test]
fn results_are_operands() {
    let (mut world, width) = (Integers::new(), Width::U8);
    let (mut a, mut b) = operands(&mut world.w.rng, width, 128);
    let (mut x, mut y) = (world.encrypt(&a, width), world.encrypt(&b, width));
    let mut greatest = (a.clone(), world.encrypt(&a, width));
    let ev = world.evaluator(width);
    for round in 0..6 {
        let sum = ev.add(&x, &y).unwrap();
        (x, y) = (y, sum);
        let next = zipped(&a, &b, |a, b| (a + b) & 255);
        (a, b) = (b, next);
        greatest = (zipped(&greatest.0, &b, u64::max), ev.max(&greatest.1, &y).unwrap());
        assert_eq!(y.decrypt(&world.decryptor).unwrap(), b, "round {round}");
    }
    assert_eq!(greatest.1.decrypt(&world.decryptor).unwrap(), greatest.0);
}

#[test]
fn other_integers_are_refused() {
    let mut world = Integers::new();
    let (x, y) = (world.encrypt(&[1; 128], Width::U8), world.encrypt(&[1; 128], Width::U16));
    let ev = world.evaluator(Width::U8);
    assert!(matches!(ev.add(&x, &y), Err(Error::Argument { .. })));
    assert!(matches!(ev.lt(&y, &x), Err(Error::Argument { .. })));
    let digits = y.digits().slice_batch(0..3).unwrap();
    assert!(matches!(SlotIntegers::from_digits(digits, Width::U16), Err(Error::Argument { .. })));
    let encryptor = SecretEncryptor::new(world.w.params.params(), &world.w.secret, &world.w.ring).unwrap();
    for values in [&[256][..], &[0; 129]] {
        let refused = SlotIntegers::encrypt(values, Width::U8, &encryptor, &mut world.w.rng);
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
}
