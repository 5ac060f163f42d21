//! The integers that ModRaise leaves: their distribution, what the reduction makes of great ones,
//! and how often it fails.

use super::*;
use crate::bootstrapping::bootstrapper::Values;
use crate::bootstrapping::facts::value_unit;
use crate::bootstrapping::overflow::log2_integer;

impl World {
    /// A batch of random vectors, with its ciphertext after SlotsToCoeffs.
    fn lowered(&mut self, batch: usize) -> (Vec<Vec<Complex64>>, Ciphertext<Cpu>) {
        let vectors: Vec<Vec<Complex64>> = (0..batch).map(|_| self.values()).collect();
        let parts: Vec<Ciphertext<Cpu>> = vectors.iter().map(|values| self.encrypt(values)).collect();
        let all = Ciphertext::concat(&parts.iter().collect::<Vec<_>>()).unwrap();
        let lowered = self.bootstrapper.slots_to_coefficients(&all, &self.keys).unwrap();
        (vectors, lowered)
    }

    fn phases(&self, ct: &Ciphertext<Cpu>) -> Vec<Vec<f64>> {
        (0..ct.batch()).map(|i| phase(self, &ct.slice_batch(i..i + 1).unwrap())).collect()
    }

    /// The index of the coefficient that holds a part of a slot.
    fn coefficient(&self, half: usize, slot: usize) -> usize {
        let n = self.params.slots();
        half * n + (slot.reverse_bits() >> (usize::BITS - n.ilog2()))
    }
}

/// Pearson's statistic of counts of |I| = 0, 1 ... 5 and more, against a weight.
fn chi_square(counts: &[usize; 6], weight: u32) -> f64 {
    let total = counts.iter().sum::<usize>() as f64;
    let below: Vec<f64> = (0..5).map(|i| libm::exp2(log2_integer(weight + 1, i))).collect();
    let last = 1.0 - below.iter().sum::<f64>();
    let cells = below.into_iter().chain([last]).zip(counts);
    cells.map(|(p, &count)| (count as f64 - p * total).powi(2) / (p * total)).sum()
}

/// The integers are sums of 33 uniform numbers: 5 degrees of freedom, of which a statistic of 45
/// is exceeded with probability 1.4e-8. A secret of three quarters of the weight would be seen.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn integers_are_distributed_as_predicted() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let q0 = w.params.ring_spec().q()[0] as f64;
    let (mut counts, mut positive, mut negative) = ([0; 6], 0usize, 0usize);
    for _ in 0..12 {
        let (_, ct) = w.lowered(32);
        let raised = w.bootstrapper.mod_raise(&ct.pair, &w.keys).unwrap();
        for phase in w.phases(&raised) {
            // Few of each polynomial, because coefficients share what is summed.
            for x in phase.iter().step_by(16) {
                let i = (x / q0).round();
                assert!(i.abs() <= 16.0, "{i}");
                counts[(i.abs() as usize).min(5)] += 1;
                positive += usize::from(i > 0.0);
                negative += usize::from(i < 0.0);
            }
        }
    }
    let found = chi_square(&counts, 32);
    println!("{counts:?}: {found:.1}; {positive} positive, {negative} negative");
    assert!(found < 45.0, "{counts:?}: {found}");
    assert!(chi_square(&counts, 24) > 90.0 && chi_square(&counts, 43) > 90.0, "{counts:?}");
    let off = positive.abs_diff(negative) as f64;
    assert!(off < 6.0 * ((positive + negative) as f64).sqrt(), "{positive} and {negative}");
}

impl World {
    /// Changes the integers after ModRaise to those of `target`, by slot, in both halves.
    #[expect(clippy::disallowed_methods, reason = "nothing is secret")]
    fn inject(&self, raised: &mut Ciphertext<Cpu>, target: impl Fn(usize) -> i64) {
        let q0 = self.params.ring_spec().q()[0];
        let before = self.phases(raised).remove(0);
        let mut injected = vec![0i64; self.ring.n()];
        for half in 0..2 {
            for slot in 0..self.params.slots() {
                let k = self.coefficient(half, slot);
                injected[k] = target(slot) - libm::round(before[k] / q0 as f64) as i64;
            }
        }
        let ring = raised.pair().ring().clone();
        let span = Span::chain(raised.pair().chain_limbs());
        let mut poly = Poly::<Coeff, Cpu>::from_signed(&ring, span, 1, &injected).unwrap();
        let residues: Vec<u64> = ring.spec().q().iter().map(|q| q0 % q).collect();
        poly.scale_assign(&residues).unwrap();
        raised.pair.c[0].add_assign(&poly.into_eval().unwrap()).unwrap();
    }
}

/// The noise near each integer, as the estimate has it: what the cosine's roundings leave is
/// greatest near zero, where the powers are steepest beside the argument.
#[test]
fn noise_depends_on_the_integer_as_estimated() {
    for preset in Preset::ALL {
        let mut w = World::small(preset, 11, 10);
        let (_, lowered) = w.lowered(1);
        let mut raised = w.bootstrapper.mod_raise(&lowered.pair, &w.keys).unwrap();
        let target = |slot: usize| (slot % 33) as i64 - 16;
        w.inject(&mut raised, target);
        let halves = w.bootstrapper.coefficients_to_slots(raised, &w.keys, Values::Complex).unwrap();
        let map = stages::eval_mod(&w.params).unwrap();
        let (params, ring) = (w.params.reduction(), halves.pair().ring());
        let ev = Evaluator::new(params, ring).unwrap();
        let secret = w.secret.widened(w.params.params().rlwe(), params.rlwe()).unwrap();
        let decryptor = Decryptor::new(params, &secret, ring).unwrap();
        let decode = |ct: &Ciphertext<Cpu>| ev.encoder().decode(&decryptor.decrypt(ct).unwrap()).unwrap();
        let before = decode(&halves);
        let after = decode(&map.apply(&ev, &halves, &w.keys.reduction).unwrap());

        let mut squares = [(0.0, 0usize); 17];
        for half in 0..2 {
            for (slot, (x, y)) in before[half].iter().zip(&after[half]).enumerate() {
                let square = &mut squares[target(slot).unsigned_abs() as usize];
                square.0 += (y.re - map.apply_plain(x.re)).powi(2);
                square.1 += 1;
            }
        }
        let n = w.ring.n() as f64;
        let round = libm::sqrt(n) * libm::exp2(crate::rlwe::noise::rounding_log2(n));
        let rounding = |level: usize| round / params.levels()[level].scale;
        for (i, (sum, count)) in squares.into_iter().enumerate() {
            let off = libm::log2(libm::sqrt(sum / count as f64) / map.noise(i as u32, rounding));
            println!("{preset}, {i}: {off:+.2} bits beside the estimate");
            // Some integers above 8, which are rare, are near angles where the factors vanish.
            let highest = if i <= 8 { 1.0 } else { 2.0 };
            assert!((-2.2..highest).contains(&off), "{preset}, {i}: {off:+.2} bits");
        }
    }
}

/// Integers of magnitude 0 to 17, put into the coefficients after ModRaise: the error is that of
/// the polynomial in doubles, from the noise up to values that mean nothing.
#[test]
fn great_integers_err_as_the_polynomial_does() {
    for preset in [Preset::Fast, Preset::ExactBound] {
        let mut w = World::small(preset, 8, 7);
        let q0 = w.params.ring_spec().q()[0];
        let (vectors, lowered) = w.lowered(1);
        let mut raised = w.bootstrapper.mod_raise(&lowered.pair, &w.keys).unwrap();
        let target = |slot: usize| {
            let i = (slot / 2 % 18) as i64;
            if slot.is_multiple_of(2) { i } else { -i }
        };
        w.inject(&mut raised, target);

        let halves = w.bootstrapper.coefficients_to_slots(raised, &w.keys, Values::Complex).unwrap();
        let map = stages::eval_mod(&w.params).unwrap();
        let ev = Evaluator::new(w.params.reduction(), halves.pair().ring()).unwrap();
        let reduced = map.apply(&ev, &halves, &w.keys.reduction).unwrap();
        let found = w.decrypt(&w.bootstrapper.join(reduced, &w.keys, Values::Complex).unwrap());
        let (base, unit) = (w.params.params().levels()[0].scale, value_unit(&w.params, &map));
        for (slot, (found, value)) in found.iter().zip(&vectors[0]).enumerate() {
            for (found, value) in [(found.re, value.re), (found.im, value.im)] {
                let i = target(slot);
                let x = (i as f64 + value * base / q0 as f64) / map.reach();
                let model = map.apply_plain(x) / unit;
                // The slope of the polynomial is as great as its error.
                let tolerance = 2e-5 + 1e-4 * (model - value).abs();
                assert!((found - model).abs() < tolerance, "{preset}, {i}: {found}, not {model}");
                let exact = (model - value).abs() < 2e-5;
                let removed = if preset == Preset::Fast { 13 } else { 16 };
                assert!(exact || i.abs() > removed, "{preset}, {i}: {model} for {value}");
            }
        }
    }
}

/// A polynomial for integers up to 4 alone fails as often as integers of 5 and more occur: 64 of
/// 10240 values are expected, and no other one fails.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn failures_are_as_frequent_as_predicted() {
    let fast = Preset::Fast.spec();
    let eval_mod = EvalModShape { bound: 4, degree: 10, doublings: 3, arcsine: false, focus: 0.0 };
    let levels = &fast.eval_mod_levels[0];
    let eval_mod_levels = vec![LevelRun { levels: eval_mod.depth(), ..levels.clone() }];
    let mut w = World::new(BootstrapSpec { log_n: 9, log_slots: 8, eval_mod, eval_mod_levels, ..fast });
    let allowed = 1.0 / 32.0;
    let map = stages::eval_mod(&w.params).unwrap();
    let unit = value_unit(&w.params, &map);
    assert!(map.error(4) / unit < allowed / 2.0 && map.error(5) / unit > 2.0 * allowed);
    let per_ciphertext = libm::exp2(w.params.failure_log2(allowed).unwrap());
    let (mut failed, mut great) = (0, 0);
    let q0 = w.params.ring_spec().q()[0] as f64;
    const RUNS: usize = 20;
    let (vectors, lowered) = w.lowered(RUNS);
    let raised = w.bootstrapper.mod_raise(&lowered.pair, &w.keys).unwrap();
    let phases = w.phases(&raised);
    let halves = w.bootstrapper.coefficients_to_slots(raised, &w.keys, Values::Complex).unwrap();
    let ev = Evaluator::new(w.params.reduction(), halves.pair().ring()).unwrap();
    let fresh = w
        .bootstrapper
        .join(map.apply(&ev, &halves, &w.keys.reduction).unwrap(), &w.keys, Values::Complex)
        .unwrap();
    for (entry, (phase, values)) in phases.iter().zip(&vectors).enumerate() {
        let found = w.decrypt(&fresh.slice_batch(entry..entry + 1).unwrap());
        for (slot, (found, value)) in found.iter().zip(values).enumerate() {
            let integers = [0, 1].map(|half| (phase[w.coefficient(half, slot)] / q0).round().abs());
            let errors = [found.re - value.re, found.im - value.im];
            for half in [0, 1] {
                let (integer, error) = (integers[half], errors[half]);
                // At 9 the polynomial has a slope of 10^12: it takes the noise of a value's
                // imaginary part, 10^-10, to the other half of the slot.
                if integers[1 - half] > 8.0 {
                    continue;
                }
                great += usize::from(integer > 4.0);
                failed += usize::from(error.abs() > allowed);
                assert_eq!(error.abs() > allowed, integer > 4.0, "{integer}: {error}");
            }
        }
    }
    let expected = RUNS as f64 * per_ciphertext;
    println!("{failed} of {} fail, {expected:.1} expected", RUNS << 9);
    assert_eq!(failed, great);
    assert!((failed as f64 - expected).abs() < 6.0 * expected.sqrt(), "{failed}, not {expected}");
}
