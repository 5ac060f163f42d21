//! Functions against float64 over their whole domains, in float64 and under encryption.

use super::*;
use crate::backend::Cpu;
use crate::circuits::ckks::{NeverRefresh, Refresher};
use crate::circuits::testing::{Fixture, seeded};
use crate::ckks::{Ciphertext, Complex64, SecretEncryptor};
use crate::error::{Error, Result};
use crate::rlwe::KeyRequirements;
use rand::{RngExt, rngs::ChaCha20Rng};
use std::cell::{Cell, RefCell};

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// A function with what it approximates, and the bits asked.
type Case = (Function, fn(f64) -> f64, u32);

/// Every kind of function.
fn all() -> Vec<Case> {
    vec![
        (Function::relu(1.0, 12).unwrap(), |x| x.max(0.0), 12),
        (Function::relu(8.0, 10).unwrap(), |x| x.max(0.0), 10),
        (Function::relu(0.3, 8).unwrap(), |x| x.max(0.0), 8),
        (Function::abs(1.0, 12).unwrap(), f64::abs, 12),
        (Function::abs(5.5, 6).unwrap(), f64::abs, 6),
        (Function::sigmoid(-8.0..=8.0, 12).unwrap(), sigmoid, 12),
        (Function::sigmoid(-50.0..=40.0, 16).unwrap(), sigmoid, 16),
        (Function::tanh(-4.0..=4.0, 14).unwrap(), f64::tanh, 14),
        (Function::gelu(-6.0..=6.0, 12).unwrap(), |x| 0.5 * x * libm::erfc(-x / 2f64.sqrt()), 12),
        (Function::silu(-10.0..=10.0, 12).unwrap(), |x| x * sigmoid(x), 12),
        (Function::exp(-4.0..=0.0, 16).unwrap(), f64::exp, 16),
        (Function::exp(-1.0..=1.0, 20).unwrap(), f64::exp, 20),
        (Function::exp(-0.3..=0.4, 20).unwrap(), f64::exp, 20),
        (Function::exp(-40.0..=0.0, 12).unwrap(), f64::exp, 12),
        (Function::exp(-20.0..=3.0, 10).unwrap(), f64::exp, 10),
        (Function::inverse(0.5..=1.5, 16).unwrap(), |x| 1.0 / x, 16),
        (Function::inverse(1.0..=1000.0, 12).unwrap(), |x| 1.0 / x, 12),
        (Function::inverse(0.01..=1.0, 12).unwrap(), |x| 1.0 / x, 12),
        (Function::inverse(-3.0..=-0.2, 14).unwrap(), |x| 1.0 / x, 14),
        (Function::sqrt(0.0..=1.0, 8).unwrap(), f64::sqrt, 8),
        (Function::sqrt(0.001..=4.0, 12).unwrap(), f64::sqrt, 12),
        (Function::inverse_sqrt(0.05..=20.0, 12).unwrap(), |x| 1.0 / x.sqrt(), 12),
        (Function::inverse_sqrt(0.0005..=1.0, 10).unwrap(), |x| 1.0 / x.sqrt(), 10),
        (Function::log(0.1..=10.0, 12).unwrap(), f64::ln, 12),
        (Function::log(1.0..=2.0, 20).unwrap(), f64::ln, 20),
    ]
}

/// The largest error over 10^6 points, and at the ends, beside what was asked.
#[test]
fn errors_over_a_million_points_are_as_asked() {
    for (function, f, bits) in all() {
        let (a, b) = function.interval().into_inner();
        let count = 1_000_000;
        let points: Vec<f64> = (0..=count).map(|i| a + (b - a) * f64::from(i) / f64::from(count)).collect();
        let found = function.apply_plain_all(&points);
        let largest = points.iter().zip(&found).map(|(&x, y)| (y - f(x)).abs()).fold(0.0, f64::max);
        println!(
            "{} on [{a}, {b}]: {bits} bits asked, {:.2} found; depth {}, {} relinearisations",
            function.name(),
            -(largest / function.peak()).log2(),
            function.requirements().depth,
            function.relinearisations()
        );
        assert!(largest <= 2f64.powi(-(bits as i32)) * function.peak(), "{function:?}: {largest:e}");
        assert!(largest <= 1.01 * function.error(), "{function:?}: {largest:e}");
    }
}

/// Full vectors that cover the interval, and as many levels as stated.
#[test]
fn encrypted_values_follow() {
    let mut fixture = Fixture::new(8, 20);
    for (function, f, bits) in all() {
        let requirements = function.requirements();
        let keys = fixture.keys(&requirements);
        let (a, b) = function.interval().into_inner();
        let values: Vec<f64> = (0..128).map(|i| a + (b - a) * f64::from(i) / 127.0).collect();
        let slots: Vec<Complex64> = values.iter().map(|&x| Complex64::new(x, 0.0)).collect();
        let ct = fixture.encrypt(&[slots], 128);
        let ct = fixture.ev.mod_switch_to(&ct, requirements.depth).unwrap();
        let out = function.apply(&fixture.ev, &ct, &keys, &NeverRefresh).unwrap();
        assert_eq!(out.level(), 0, "{function:?}");
        assert_eq!(function.plan::<Cpu>(requirements.depth, &NeverRefresh).unwrap(), (0, 0));
        let mut noise: f64 = 0.0;
        for (&x, z) in values.iter().zip(&fixture.decrypt(&out)[0]) {
            noise = noise.max((z.re - function.apply_plain(x)).abs());
            let error = (z.re - f(x)).abs();
            let bound = 2f64.powi(-(bits as i32)) * function.peak() + 1e-5 * function.peak().max(1.0);
            assert!(error <= bound, "{} at {x}: {z}, not {}", function.name(), f(x));
        }
        println!("{}: noise 2^{:.1}", function.name(), noise.log2());
        // One level less is not enough.
        let low = fixture.ev.mod_switch_to(&ct, requirements.depth - 1).unwrap();
        let refused = function.apply(&fixture.ev, &low, &keys, &NeverRefresh);
        assert!(matches!(refused, Err(Error::LevelExhausted { .. })), "{function:?}");
    }
}

/// Refreshes by decrypting and encrypting, with an error like that of a bootstrap, in the imaginary
/// parts as well unless values are real, and keeps the largest magnitude that it met.
struct Recrypting<'a> {
    fixture: &'a Fixture,
    rng: RefCell<ChaCha20Rng>,
    reserve: usize,
    top: usize,
    count: Cell<usize>,
    largest: Cell<f64>,
}

/// The greatest that a refresh of the test adds to real and imaginary parts.
const REFRESH_ERROR: f64 = 1e-6;

impl<'a> Recrypting<'a> {
    fn new(fixture: &'a Fixture, reserve: usize, top: usize) -> Self {
        let rng = RefCell::new(seeded());
        Self { fixture, rng, reserve, top, count: Cell::new(0), largest: Cell::new(0.0) }
    }

    /// A new ciphertext of what becomes of the values and of noise.
    fn recrypt(
        &self,
        ct: &Ciphertext<Cpu>,
        refreshed: impl Fn(Complex64, Complex64) -> Complex64,
    ) -> Result<Ciphertext<Cpu>> {
        assert!(ct.level() >= self.reserve);
        self.count.set(self.count.get() + 1);
        let fixture = self.fixture;
        let mut rng = self.rng.borrow_mut();
        let mut values = fixture.decrypt(ct);
        for z in values.iter_mut().flatten() {
            self.largest.set(self.largest.get().max(z.norm()));
            let mut noise = || rng.random_range(-REFRESH_ERROR..REFRESH_ERROR);
            *z = refreshed(*z, Complex64::new(noise(), noise()));
        }
        let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
        let plain =
            fixture.ev.encoder().encode_batch(&vectors, fixture.params.encoding().slots(ct.slots()))?;
        let encryptor = SecretEncryptor::new(&fixture.params, &fixture.secret, &fixture.ring)?;
        fixture.ev.mod_switch_to(&encryptor.encrypt(&plain, &mut *rng)?.expand()?, self.top)
    }
}

impl Refresher<Cpu> for Recrypting<'_> {
    fn reserve(&self) -> usize {
        self.reserve
    }

    fn top(&self) -> Option<usize> {
        Some(self.top)
    }

    fn check(&self, _: &Ciphertext<Cpu>) -> Result<()> {
        Ok(())
    }

    fn refresh(&self, ct: &Ciphertext<Cpu>) -> Result<Ciphertext<Cpu>> {
        self.recrypt(ct, |z, noise| z + noise)
    }

    fn refresh_real(&self, ct: &Ciphertext<Cpu>) -> Result<Ciphertext<Cpu>> {
        self.recrypt(ct, |z, noise| Complex64::new(z.re + noise.re, 0.0))
    }
}

fn reals(values: &[f64]) -> Vec<Complex64> {
    values.iter().map(|&x| Complex64::new(x, 0.0)).collect()
}

/// Every function with every number of levels: as many refreshes as planned, of values within the
/// range of a refresh, and the same result, to the level that was planned.
#[test]
fn refreshes_are_as_planned_and_in_range() {
    let mut fixture = Fixture::new(8, 12);
    let keys = fixture.keys(KeyRequirements::new().relinearisation());
    for (function, f, bits) in all() {
        let (a, b) = function.interval().into_inner();
        let values: Vec<f64> = (0..128).map(|i| a + (b - a) * f64::from(i) / 127.0).collect();
        let fresh = fixture.encrypt(&[reals(&values)], 128);
        // Five levels between refreshes, six, and eleven; from one level and more above the
        // reserve.
        for (reserve, top, start) in [(2, 8, 3), (1, 12, 2), (1, 12, 12), (0, 5, 1)] {
            let refresher = Recrypting::new(&fixture, reserve, top);
            let ct = fixture.ev.mod_switch_to(&fresh, start).unwrap();
            let (refreshes, level) = function.plan(start, &refresher).unwrap();
            let out = function.apply(&fixture.ev, &ct, &keys, &refresher).unwrap();
            let name = format!("{} on [{a}, {b}] from {start} of {reserve} ... {top}", function.name());
            assert_eq!((refresher.count.get(), out.level()), (refreshes, level), "{name}");
            assert!(function.requirements().depth <= start - reserve || refreshes > 0, "{name}");
            let inputs_in_range = a.abs().max(b.abs()) <= 1.0;
            let largest = refresher.largest.get();
            // Without a level for the map, the operand itself is refreshed. The errors of refreshes
            // grow with the square of the order in Chebyshev polynomials of high order.
            assert!(largest < 1.05 || (start == reserve && !inputs_in_range), "{name}: {largest}");
            for (&x, z) in values.iter().zip(&fixture.decrypt(&out)[0]) {
                let slope = if function.peak() > 10.0 { 1e-3 } else { 2e-4 };
                let bound = 2f64.powi(-(bits as i32)) * function.peak() + slope * function.peak().max(1.0);
                // A refresh moves the operand by its error times half of the interval.
                let moved = 0.5 * (b - a) * REFRESH_ERROR;
                let moves = [x - moved, x + moved].map(|near| (f(near) - f(x)).abs());
                let bound = bound + moves.into_iter().fold(0.0, f64::max);
                assert!((z.re - f(x)).abs() <= bound, "{name}: {z} at {x}, not {}", f(x));
                // Refreshes leave no noise in imaginary parts, which functions would enlarge.
                assert!(z.im.abs() <= 1e-5 * function.peak().max(1.0), "{name}: {z} at {x}");
            }
        }
    }
}

/// Intervals and bits at random: the depth is what is consumed, the error what was asked, and one
/// level less is refused.
#[test]
fn depths_are_as_declared() {
    let mut rng = seeded();
    for _ in 0..40 {
        let bits = rng.random_range(4..12);
        let (bound, low) = (10f64.powf(rng.random_range(-1.0..1.5)), rng.random_range(0.01..1.0));
        let ratio = rng.random_range(1.5..50.0);
        let made = match rng.random_range(0..9) {
            0 => Function::relu(bound, bits),
            1 => Function::abs(bound, bits),
            2 => Function::sign(bound, 0.05 * bound, bits),
            3 => Function::step(bound, 0.2 * bound, bits),
            4 => Function::sigmoid(-bound..=0.7 * bound, bits),
            5 => Function::inverse(low..=low * ratio, bits),
            6 => Function::sqrt(low..=low * ratio, bits),
            7 => Function::inverse_sqrt(low..=low * ratio, bits),
            _ => Function::log(low..=low * ratio, bits),
        };
        let function = made.unwrap();
        assert!(function.bits() >= f64::from(bits), "{function:?}");
        let depth = function.requirements().depth;
        let plan = |level| function.plan::<Cpu>(level, &NeverRefresh);
        assert_eq!(plan(depth).unwrap(), (0, 0), "{function:?}");
        assert_eq!(plan(depth + 3).unwrap(), (0, 3), "{function:?}");
        // Few bits of a function that hardly changes are a constant, of depth 0.
        if let Some(less) = depth.checked_sub(1) {
            assert!(matches!(plan(less), Err(Error::LevelExhausted { .. })), "{function:?}");
        }
    }
}

#[test]
fn signs_hold_outside_the_gap() {
    for (bound, gap, bits) in [(1.0, 0.01, 12), (3.0, 0.5, 20), (0.25, 0.001, 8)] {
        let sign = Function::sign(bound, gap, bits).unwrap();
        let step = Function::step(bound, gap, bits).unwrap();
        let points: Vec<f64> =
            (0..=250_000).map(|i| gap + (bound - gap) * f64::from(i) / 250_000.0).collect();
        let points: Vec<f64> = points.iter().flat_map(|&x| [x, -x]).collect();
        for (function, low) in [(&sign, -1.0), (&step, 0.0)] {
            let expected = |x: f64| if x < 0.0 { low } else { 1.0 };
            let found = function.apply_plain_all(&points);
            let largest =
                points.iter().zip(&found).map(|(&x, y)| (y - expected(x)).abs()).fold(0.0, f64::max);
            println!(
                "{} of {bound}, gap {gap}: {bits} bits asked, {:.2} found",
                function.name(),
                -largest.log2()
            );
            assert!(largest <= 2f64.powi(-(bits as i32)), "{function:?}: {largest:e}");
        }
        // Between, nothing leaves [-1, 1].
        assert!((0..1000).all(|i| sign.apply_plain(gap * f64::from(i) / 1000.0).abs() <= 1.001));
    }
}

#[test]
fn two_numbers_are_compared() {
    let mut fixture = Fixture::new(8, 20);
    let keys = fixture.keys(KeyRequirements::new().relinearisation());
    for interval in [0.0..=1.0, -4.0..=3.0] {
        let (low, high) = interval.clone().into_inner();
        let width: f64 = high - low;
        let grid: Vec<f64> = (0..128).map(|i| low + width * f64::from(i % 12) / 11.0).collect();
        let other: Vec<f64> = (0..128).map(|i| low + width * f64::from(i / 12) / 11.0).collect();
        let [x, y] = [&grid, &other].map(|values| fixture.encrypt(&[reals(values)], 128));
        for (comparison, f) in [
            (Comparison::max(interval.clone(), 10).unwrap(), f64::max as fn(f64, f64) -> f64),
            (Comparison::min(interval.clone(), 10).unwrap(), f64::min),
            (Comparison::compare(interval.clone(), 0.09 * width, 10).unwrap(), |a, b| {
                if a > b + 1e-9 {
                    1.0
                } else if a < b - 1e-9 {
                    0.0
                } else {
                    0.5
                }
            }),
        ] {
            let depth = comparison.requirements().depth;
            let [x, y] = [&x, &y].map(|ct| fixture.ev.mod_switch_to(ct, depth).unwrap());
            let out = comparison.apply(&fixture.ev, &x, &y, &keys, &NeverRefresh).unwrap();
            assert_eq!(out.level(), 0, "{comparison:?}");
            assert_eq!(comparison.plan::<Cpu>([depth, depth + 1], &NeverRefresh).unwrap(), (0, 0));
            for ((&a, &b), z) in grid.iter().zip(&other).zip(&fixture.decrypt(&out)[0]) {
                let error = (z.re - f(a, b)).abs();
                let name = comparison.name();
                assert!(error <= comparison.error() + 1e-5 * width, "{name} of {a} and {b}: {z}");
                assert!((comparison.apply_plain(a, b) - f(a, b)).abs() <= comparison.error() + 1e-12);
            }
            assert!(comparison.error() <= 2f64.powi(-10) * width.max(1.0));
        }
    }
}

/// Sorted, and the largest, by the definition.
fn by_groups(groups: Groups, x: &[f64], f: impl Fn(&[f64]) -> Vec<f64>) -> Vec<Option<f64>> {
    let mut result = vec![None; x.len()];
    for first in (0..x.len()).filter(|&slot| groups.position(slot) == 0) {
        let members: Vec<usize> = (0..groups.count()).map(|at| first + at * groups.stride()).collect();
        let found = f(&members.iter().map(|&slot| x[slot]).collect::<Vec<_>>());
        members.iter().zip(found).for_each(|(&slot, y)| result[slot] = Some(y));
    }
    result
}

fn sorted(x: &[f64]) -> Vec<f64> {
    let mut x = x.to_vec();
    x.sort_by(f64::total_cmp);
    x
}

fn largest(x: &[f64]) -> Vec<f64> {
    vec![x.iter().copied().fold(f64::MIN, f64::max); x.len()]
}

/// The mask of the k largest.
fn top(k: usize) -> impl Fn(&[f64]) -> Vec<f64> {
    move |x| {
        let limit = sorted(x)[x.len() - k];
        x.iter().map(|&x| if x >= limit { 1.0 } else { 0.0 }).collect()
    }
}

/// Values of groups at random, at least `gap` apart within a group.
fn separated(groups: Groups, (low, high): (f64, f64), gap: f64, rng: &mut ChaCha20Rng) -> Vec<f64> {
    let places = ((high - low) / gap) as usize;
    let mut x = vec![low; groups.slots()];
    for first in (0..x.len()).filter(|&slot| groups.position(slot) == 0) {
        let mut taken = std::collections::BTreeSet::new();
        for at in 0..groups.count() {
            let place = loop {
                let place = rng.random_range(0..=places);
                if taken.insert(place) {
                    break place;
                }
            };
            x[first + at * groups.stride()] = low + (gap * place as f64).min(high - low);
        }
    }
    x
}

type Oracle = Box<dyn Fn(&[f64]) -> Vec<f64>>;

fn group_functions(groups: Groups) -> Vec<(GroupFunction, Oracle)> {
    let (k, interval) = (groups.count().min(3), -1.0..=3.0);
    vec![
        (GroupFunction::sort(groups, interval.clone(), 6).unwrap(), Box::new(sorted)),
        (GroupFunction::maximum(groups, interval.clone(), 6).unwrap(), Box::new(largest)),
        (GroupFunction::argmax(groups, interval.clone(), 0.1, 8).unwrap(), Box::new(top(1))),
        (GroupFunction::top_k(groups, k, interval.clone(), 0.1, 8).unwrap(), Box::new(top(k))),
        (
            GroupFunction::softmax(groups, interval, 10).unwrap(),
            Box::new(|x| {
                let total: f64 = x.iter().map(|x| x.exp()).sum();
                x.iter().map(|x| x.exp() / total).collect()
            }),
        ),
    ]
}

/// All packings, in float64, on many vectors, and encrypted with refreshes as planned.
#[test]
fn groups_of_slots_follow() {
    let mut fixture = Fixture::with_special(6, 16, 2);
    let slots = 32;
    for (count, stride) in [(32, 1), (8, 1), (5, 1), (8, 4), (13, 2), (6, 4), (1, 1)] {
        let groups = Groups::strided(slots, count, stride).unwrap();
        for (function, oracle) in group_functions(groups) {
            let name = format!("{} of {count} with stride {stride}", function.name());
            let check = |found: &[f64], x: &[f64], more: f64| {
                for (slot, (expected, y)) in by_groups(groups, x, &oracle).into_iter().zip(found).enumerate()
                {
                    let Some(expected) = expected else { continue };
                    let error = (y - expected).abs();
                    assert!(
                        error <= function.error() + more,
                        "{name}, slot {slot}: {y}, not {expected}: {x:?}"
                    );
                }
            };
            for _ in 0..200 {
                let x = separated(groups, (-1.0, 3.0), 0.1, &mut fixture.rng);
                check(&function.apply_plain(&x), &x, 1e-9);
            }
            let x = separated(groups, (-1.0, 3.0), 0.1, &mut fixture.rng);
            let ct = fixture.encrypt(&[reals(&x)], slots);
            let requirements = function.requirements();
            let keys = fixture.keys(&requirements);
            let refresher = Recrypting::new(&fixture, 1, 16);
            let (refreshes, level) = function.plan(ct.level(), &refresher).unwrap();
            let out = function.apply(&fixture.ev, &ct, &keys, &refresher).unwrap();
            assert_eq!((refresher.count.get(), out.level()), (refreshes, level), "{name}");
            assert!(refresher.largest.get() < 1.01, "{name}: {}", refresher.largest.get());
            let found: Vec<f64> = fixture.decrypt(&out)[0].iter().map(|z| z.re).collect();
            check(&found, &x, 2e-3);
            println!(
                "{name}: depth {}, {refreshes} refreshes, error {:.1e}",
                requirements.depth,
                function.error()
            );
            let plan = |level| function.plan::<Cpu>(level, &NeverRefresh);
            assert_eq!(plan(requirements.depth).unwrap(), (0, 0), "{name}");
            let refused = requirements.depth == 0 || plan(requirements.depth - 1).is_err();
            assert!(refused, "{name}");
        }
    }
}

/// A large sort in float64: the bound on the error covers all stages.
#[test]
fn long_vectors_are_sorted() {
    let groups = Groups::consecutive(1 << 10, 1 << 10).unwrap();
    let sort = GroupFunction::sort(groups, 0.0..=1.0, 8).unwrap();
    let mut rng = seeded();
    let x: Vec<f64> = (0..1 << 10).map(|_| rng.random_range(0.0..=1.0)).collect();
    let largest = sort.apply_plain(&x).iter().zip(sorted(&x)).map(|(y, e)| (y - e).abs()).fold(0.0, f64::max);
    println!("sort: depth {}, error {largest:.2e} of {:.2e}", sort.requirements().depth, sort.error());
    assert!(largest <= sort.error() && sort.error() <= 2f64.powi(-8));
}

#[test]
fn what_is_impossible_is_said() {
    let nan = f64::NAN;
    let refused: Vec<(&str, Result<Function>)> = vec![
        ("no width", Function::sigmoid(1.0..=1.0, 8)),
        ("backwards", Function::tanh(std::ops::RangeInclusive::new(2.0, 1.0), 8)),
        ("NaN", Function::exp(nan..=1.0, 8)),
        ("infinite", Function::gelu(0.0..=f64::INFINITY, 8)),
        ("no bits", Function::silu(-1.0..=1.0, 0)),
        ("too many bits", Function::silu(-1.0..=1.0, 41)),
        ("zero inside", Function::inverse(-1.0..=1.0, 8)),
        ("zero at the end", Function::inverse(0.0..=1.0, 8)),
        ("negative root", Function::sqrt(-0.5..=1.0, 8)),
        ("root out of reach", Function::sqrt(0.0..=1.0, 20)),
        ("inverse root of zero", Function::inverse_sqrt(0.0..=1.0, 8)),
        ("logarithm of zero", Function::log(0.0..=1.0, 8)),
        ("great exponential", Function::exp(0.0..=60.0, 8)),
        ("bound of zero", Function::relu(0.0, 8)),
        ("negative bound", Function::abs(-1.0, 8)),
        ("NaN bound", Function::relu(nan, 8)),
        ("gap of zero", Function::sign(1.0, 0.0, 8)),
        ("gap beyond the bound", Function::step(1.0, 2.0, 8)),
        ("NaN gap", Function::step(1.0, nan, 8)),
        ("a pole", Function::approximate(|x| 1.0 / x, -1.0..=1.0, 8)),
        ("a jump", Function::approximate(f64::signum, -1.0..=2.0, 8)),
        ("nothing", Function::approximate(|_| 0.0, 0.0..=1.0, 8)),
    ];
    for (what, refused) in refused {
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::Argument { hint: Some(_), .. }), "{what}: {error}");
    }
    let groups = Groups::consecutive(16, 5).unwrap();
    let unit = || 0.0..=1.0;
    for refused in [
        GroupFunction::top_k(groups, 0, unit(), 0.1, 8),
        GroupFunction::top_k(groups, 6, unit(), 0.1, 8),
        GroupFunction::argmax(groups, unit(), 0.0, 8),
        GroupFunction::argmax(groups, unit(), 1.5, 8),
        GroupFunction::argmax(groups, unit(), nan, 8),
        GroupFunction::sort(groups, 1.0..=1.0, 8),
        GroupFunction::sort(groups, unit(), 41),
        GroupFunction::softmax(groups, nan..=1.0, 8),
        GroupFunction::argmax(Groups::consecutive(1024, 300).unwrap(), unit(), 0.1, 8),
    ] {
        assert!(matches!(refused, Err(Error::Argument { .. })), "{refused:?}");
    }
    assert!(matches!(Groups::consecutive(24, 3), Err(Error::SlotCount { found: 24, .. })));
    for (slots, count, stride) in [(16, 0, 1), (16, 17, 1), (16, 4, 8), (16, 4, 3), (16, usize::MAX, 1)] {
        assert!(Groups::strided(slots, count, stride).is_err(), "{count} with stride {stride}");
    }
    assert!(Comparison::compare(0.0..=1.0, 2.0, 8).is_err() && Comparison::max(1.0..=0.0, 8).is_err());

    // Keys and packings that do not fit are found before any work.
    let mut fixture = Fixture::new(6, 16);
    let none = fixture.keys(KeyRequirements::new());
    let ct = fixture.encrypt(&[reals(&[0.5; 32])], 32);
    let relu = Function::relu(1.0, 8).unwrap();
    assert!(matches!(relu.apply(&fixture.ev, &ct, &none, &NeverRefresh), Err(Error::MissingRelinKey)));
    let relin = fixture.keys(KeyRequirements::new().relinearisation());
    let softmax = GroupFunction::softmax(Groups::consecutive(32, 32).unwrap(), unit(), 8).unwrap();
    let refused = softmax.apply(&fixture.ev, &ct, &relin, &NeverRefresh);
    assert!(matches!(refused, Err(Error::MissingGaloisKey { .. })));
    let small = GroupFunction::maximum(groups, unit(), 4).unwrap();
    let refused = small.apply(&fixture.ev, &ct, &relin, &NeverRefresh);
    assert!(matches!(refused, Err(Error::Argument { what: "ciphertext", .. })));
}
