//! The whole circuit at a small degree, on the CPU.

mod circuits;
mod faults;
mod integers;
mod lookup;
mod slot_integers;

use super::presets::Preset;
use super::*;
use crate::backend::Cpu;
use crate::circuits::ckks::{NeverRefresh, Refresher};
use crate::ckks::{Ciphertext, Decryptor, Evaluator, SecretEncryptor};
use crate::error::{Error, Result};
use crate::params::ParamsError;
use crate::ring::{Coeff, Poly, Ring, Span};
use crate::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use crate::testing::seeded;
use num_complex::Complex64;
use rand::{RngExt, rngs::ChaCha20Rng};

struct World {
    params: BootstrapParams,
    ring: Ring<Cpu>,
    secret: SecretKey,
    keys: BootstrapKeys<Cpu>,
    bootstrapper: Bootstrapper<Cpu>,
    rng: ChaCha20Rng,
}

impl World {
    fn new(spec: BootstrapSpec) -> Self {
        Self::seeded(spec, seeded())
    }

    fn seeded(spec: BootstrapSpec, mut rng: ChaCha20Rng) -> Self {
        let params = BootstrapParams::insecure(spec).unwrap();
        let ring = params.ring(Cpu::new()).unwrap();
        let secret = SecretKey::generate(params.params().rlwe(), &mut rng);
        let keys = BootstrapKeys::generate(&secret, &params, &ring, &mut rng).unwrap();
        let bootstrapper = Bootstrapper::new(&params, &ring).unwrap();
        Self { params, ring, secret, keys, bootstrapper, rng }
    }

    /// A preset's chain at a small degree.
    fn small(preset: Preset, log_n: u32, log_slots: u32) -> Self {
        let join = preset.spec().join.filter(|_| log_slots + 2 <= log_n);
        Self::new(BootstrapSpec { log_n, log_slots, join, ..preset.spec() })
    }

    /// Encrypted, on the lowest level that can be bootstrapped.
    fn encrypt(&mut self, values: &[Complex64]) -> Ciphertext<Cpu> {
        let params = self.params.params();
        let ev = Evaluator::new(params, &self.ring).unwrap();
        let to = params.encoding().slots(self.params.slots());
        let plain = ev.encoder().encode(values, to).unwrap();
        let encryptor = SecretEncryptor::new(params, &self.secret, &self.ring).unwrap();
        let ct = encryptor.encrypt(&plain, &mut self.rng).unwrap().expand().unwrap();
        ev.mod_switch_to(&ct, self.params.input_level()).unwrap()
    }

    fn decrypt(&self, ct: &Ciphertext<Cpu>) -> Vec<Complex64> {
        Decryptor::new(self.params.params(), &self.secret, &self.ring).unwrap().decrypt_complex(ct).unwrap()
    }

    /// -log2 of the greatest error of a real or imaginary part, and of the root mean square.
    fn precision(&self, found: &Ciphertext<Cpu>, expected: &[Complex64]) -> (f64, f64) {
        let found = self.decrypt(found);
        let errors: Vec<f64> = found
            .iter()
            .zip(expected)
            .flat_map(|(a, b)| [(a.re - b.re).abs(), (a.im - b.im).abs()])
            .collect();
        let worst = errors.iter().copied().fold(0.0, f64::max);
        let mean = errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64;
        (-worst.log2(), -0.5 * mean.log2())
    }

    fn values(&mut self) -> Vec<Complex64> {
        let mut real = || self.rng.random_range(-0.7..0.7);
        (0..self.params.slots()).map(|_| Complex64::new(real(), real())).collect()
    }
}

/// Every preset's chain, with all slots and with few.
#[test]
fn ciphertexts_are_refreshed() {
    for (preset, log_n, log_slots, worst, rms) in [
        (Preset::Fast, 10, 9, 18.0, 19.5),
        (Preset::Fast, 10, 4, 18.0, 19.5),
        (Preset::Precise, 10, 9, 26.0, 29.0),
        (Preset::ExactBound, 10, 9, 26.0, 29.0),
        (Preset::Small, 10, 5, 16.0, 18.5),
    ] {
        let mut w = World::small(preset, log_n, log_slots);
        let values = w.values();
        let ct = w.encrypt(&values);
        let fresh = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
        assert_eq!((fresh.level(), fresh.slots()), (w.params.output_level(), w.params.slots()));
        let found = w.precision(&fresh, &values);
        println!("{preset}, 2^{log_slots} slots: {:.1} bits at worst, {:.1} in the mean", found.0, found.1);
        check_estimate(&w, &fresh, &values, preset.name(), 4.0);
        assert!(found.0 > worst && found.1 > rms, "{preset}: {found:?}");
        // The real parts alone, beside which nothing is left.
        let real = w.bootstrapper.refresh_real(&ct, &w.keys).unwrap();
        assert_eq!((real.level(), real.slots()), (fresh.level(), fresh.slots()));
        let parts: Vec<Complex64> = values.iter().map(|z| Complex64::new(z.re, 0.0)).collect();
        let found = w.precision(&real, &parts);
        assert!(found.0 > worst, "{preset}: {found:?}");
        let imaginary = w.decrypt(&real).iter().map(|z| z.im.abs()).fold(0.0, f64::max);
        println!("imaginary parts: {:.1} bits", -imaginary.log2());
        assert!(-imaginary.log2() > worst + 2.0, "{preset}: {imaginary:e}");
    }
}

/// Real vectors in pairs, from a higher level than refreshes start on.
#[test]
fn pairs_are_refreshed() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let values: Vec<Vec<Complex64>> =
        (0..4).map(|_| w.values().iter().map(|z| Complex64::new(z.re, 0.0)).collect()).collect();
    let cts: Vec<_> = values.iter().map(|values| w.encrypt(values)).collect();
    let ct = Ciphertext::concat(&cts.iter().collect::<Vec<_>>()).unwrap();
    let fresh = w.bootstrapper.refresh_pairs(&ct, &w.keys).unwrap();
    assert_eq!((fresh.batch(), fresh.level()), (4, w.params.output_level()));
    for (i, values) in values.iter().enumerate() {
        let (worst, _) = w.precision(&fresh.slice_batch(i..i + 1).unwrap(), values);
        assert!(worst > 17.0, "{i}: {worst}");
    }
    let odd = w.bootstrapper.refresh_pairs(&ct.slice_batch(0..3).unwrap(), &w.keys);
    assert!(matches!(odd, Err(Error::Argument { .. })), "{odd:?}");
    // The pair that a circuit refreshes with does the same, and without a bootstrapper it is
    // refused.
    let same = w.bootstrapper.with_keys(&w.keys).refresh_pairs(&ct).unwrap();
    assert_eq!(w.decrypt(&same), w.decrypt(&fresh));
    assert!(matches!(NeverRefresh.refresh_pairs(&ct), Err(Error::LevelExhausted { .. })));
}

/// All numbers of slots, with all numbers of matrices on both sides.
#[test]
fn every_packing_is_refreshed() {
    for log_slots in 0..=7u32 {
        for matrices in 1..=log_slots.clamp(1, 4) as usize {
            let spec = Preset::Fast.spec();
            let coeffs_to_slots = LevelRun { levels: matrices, ..spec.coeffs_to_slots.clone() };
            let slots_to_coeffs = vec![42; (5 - matrices).min(log_slots.max(1) as usize)];
            // All that can be borrowed, and nothing.
            let borrowed = (1..=matrices).map(|done| if log_slots % 2 == 0 { done } else { 0 }).collect();
            let parts = BootstrapSpec { coeffs_to_slots, slots_to_coeffs, borrowed, ..spec };
            for join in [None, Some(30)] {
                if join.is_some() && log_slots > 6 {
                    continue;
                }
                let mut w = World::new(BootstrapSpec { log_n: 8, log_slots, join, ..parts.clone() });
                let what = format!("2^{log_slots} slots, {matrices} matrices, join {join:?}");
                let values = w.values();
                let ct = w.encrypt(&values);
                let fresh = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
                let (worst, _) = w.precision(&fresh, &values);
                assert!(worst > 17.0, "{what}: {worst}");
                let real: Vec<Complex64> = values.iter().map(|z| z.re.into()).collect();
                let fresh = w.bootstrapper.refresh_real(&ct, &w.keys).unwrap();
                let (worst, _) = w.precision(&fresh, &real);
                assert!(worst > 17.0, "{what}, real parts: {worst}");
            }
        }
    }
}

/// The phase of a ciphertext modulo its primes, as centred coefficients in doubles.
fn phase(w: &World, ct: &Ciphertext<Cpu>) -> Vec<f64> {
    let ring = ct.pair().ring();
    let secret = w.secret.widened(w.params.params().rlwe(), w.params.upper().rlwe()).unwrap();
    let secret = secret.on(ring, Span::chain(ct.pair().chain_limbs())).unwrap();
    let poly = ct.pair().message(&secret).unwrap().into_coeff().unwrap();
    let (words, n) = (poly.to_words().unwrap(), ring.n());
    // Two primes determine all numbers here: |t + q_0 I| < 2^56.
    let (p, q) = (&ring.spec().q_moduli()[0], ring.spec().q_moduli().get(1));
    let (a, second) = (&words[..n], q.zip(words.get(n..2 * n)));
    let centred = |x: i128, modulus: i128| if x > modulus / 2 { x - modulus } else { x };
    (0..n)
        .map(|k| {
            let Some((q, b)) = second else {
                return centred(a[k].into(), p.value().into()) as f64;
            };
            let (p_value, q_value) = (i128::from(p.value()), i128::from(q.value()));
            let inverse = i128::from(q.inv(p.value() % q.value()));
            let quotient = (i128::from(b[k]) - i128::from(a[k])).rem_euclid(q_value) * inverse % q_value;
            centred(i128::from(a[k]) + p_value * quotient, p_value * q_value) as f64
        })
        .collect()
}

/// Each stage beside the same in doubles.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn stages_follow_the_model() {
    for preset in [Preset::Fast, Preset::Precise] {
        let mut w = World::small(preset, 9, 8);
        let (values, n) = (w.values(), w.params.slots());
        let ct = w.encrypt(&values);
        let mut seen = Vec::new();
        let fresh = w.bootstrapper.refresh_observed(&ct, &w.keys, |stage, ct| {
            seen.push((stage, ct.duplicate()?));
            Ok(())
        });
        let [(_, coefficients), (_, raised), (_, halves), (_, reduced), (_, joined)] = seen.as_slice() else {
            panic!("{} stages", seen.len())
        };
        assert_eq!(fresh.unwrap().level(), joined.level());

        // Values in the coefficients, in bit-reversed order: real parts, then imaginary ones.
        let base = w.params.params().levels()[0].scale;
        let reversed = |k: usize| k.reverse_bits() >> (usize::BITS - n.ilog2());
        let t = phase(&w, coefficients);
        for k in 0..n {
            let (re, im) = (t[reversed(k)] / base, t[n + reversed(k)] / base);
            assert!((Complex64::new(re, im) - values[k]).norm() < 1e-6, "{preset}: coefficient {k}");
        }

        // The same values plus multiples of q_0 that the weight of the sparse secret bounds.
        let q0 = w.params.ring_spec().q()[0] as f64;
        let lifted = phase(&w, raised);
        let integers: Vec<f64> = lifted.iter().map(|x| (x / q0).round()).collect();
        let greatest = integers.iter().map(|i| i.abs()).fold(0.0, f64::max);
        assert!((1.0..=16.0).contains(&greatest), "{preset}: {greatest}");
        for (k, (x, i)) in lifted.iter().zip(&integers).enumerate() {
            assert!((x - i * q0 - t[k]).abs() < 1e-6 * base, "{preset}: coefficient {k}");
        }

        // Slots of both halves: in units of the reach, then reduced.
        let eval_mod = stages::eval_mod(&w.params).unwrap();
        let decoded = |ct: &Ciphertext<Cpu>| {
            let params = w.params.reduction();
            let secret = w.secret.widened(w.params.params().rlwe(), params.rlwe()).unwrap();
            let ring = ct.pair().ring();
            let plain = Decryptor::new(params, &secret, ring).unwrap().decrypt(ct).unwrap();
            Evaluator::new(params, ring).unwrap().encoder().decode(&plain).unwrap()
        };
        let (slots, sine) = (decoded(halves), decoded(reduced));
        let tolerance = if preset == Preset::Fast { 2e-6 } else { 1e-8 };
        for half in 0..2 {
            for k in 0..n {
                let x = lifted[half * n + reversed(k)] / q0 / eval_mod.reach();
                assert!((slots[half][k] - x).norm() < 1e-9, "{preset}: half {half}, slot {k}");
                let y = eval_mod.apply_plain(x);
                assert!((sine[half][k] - y).norm() < tolerance, "{preset}: half {half}, slot {k}: {y}");
            }
        }
    }
}

/// The argument of the root at slot k, a power of X^N + 1's first one.
fn root(k: usize, order: usize) -> f64 {
    let power = (0..k).fold(1, |power, _| power * 5 % order);
    std::f64::consts::TAU * power as f64 / order as f64
}

/// The noise estimate bounds what is measured, and not by more than so many bits.
fn check_estimate(w: &World, ct: &Ciphertext<Cpu>, values: &[Complex64], what: &str, slack: f64) {
    let noise = ct.noise().unwrap();
    let (worst, rms) = w.precision(ct, values);
    let scale_log2 = ct.scale().log2();
    // The estimate for a real or imaginary part, over the slots.
    let estimated = scale_log2 - noise.rms_log2 - 0.5 * (w.ring.n() as f64).log2() + 0.5;
    println!(
        "{what}: {rms:.1} bits, {estimated:.1} estimated; {worst:.1} at worst, {:.1} bounded",
        scale_log2 - noise.peak_log2
    );
    assert!(estimated < rms + 0.2 && estimated > rms - slack, "{what}: {rms} bits, {estimated} estimated");
    let bound = scale_log2 - noise.peak_log2;
    assert!(bound < worst && bound > worst - slack - 2.0, "{what}: {worst} bits at worst, {bound} bounded");
    assert!(noise.value_log2 <= 0.5);
}

/// Vectors that single out slots and coefficients.
#[test]
fn messages_of_every_shape_are_refreshed() {
    let mut w = World::small(Preset::Precise, 9, 8);
    let n = w.params.slots();
    let of = |value: &dyn Fn(usize) -> Complex64| (0..n).map(value).collect::<Vec<_>>();
    let (zero, one) = (Complex64::ZERO, Complex64::ONE);
    for (name, values) in [
        ("zeros", of(&|_| zero)),
        ("ones", of(&|_| one)),
        ("i", of(&|_| Complex64::I)),
        ("one slot", of(&|k| if k == 5 { one } else { zero })),
        ("alternating", of(&|k| if k % 2 == 0 { one } else { -one })),
        ("real", of(&|k| Complex64::new((k as f64).sin(), 0.0))),
        ("unit circle", of(&|k| Complex64::from_polar(1.0, k as f64))),
        ("one coefficient", of(&|k| Complex64::from_polar(1.0, root(k, 2 * w.ring.n()) * 37.0))),
    ] {
        let ct = w.encrypt(&values);
        let fresh = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
        let (worst, _) = w.precision(&fresh, &values);
        assert!(worst > 25.0, "{name}: {worst}");
    }
}

/// The noise of fifty bootstraps grows no faster than the root of their number. Values are small,
/// so that the sine's own error, which adds up, is below it.
#[test]
fn fifty_bootstraps_add_like_noise() {
    let mut w = World::small(Preset::Fast, 9, 8);
    let values: Vec<Complex64> = w.values().into_iter().map(|z| z / 32.0).collect();
    let mut ct = w.encrypt(&values);
    let mut first = 0.0;
    for round in 1..=50 {
        ct = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
        let (_, rms) = w.precision(&ct, &values);
        if round == 1 {
            first = rms;
        }
        assert!(rms > first - 0.5 * f64::from(round).log2() - 0.5, "round {round}: {rms}, {first} at first");
    }
}

/// Bootstraps of bootstraps, and products down to the last level of programs.
#[test]
fn refreshed_ciphertexts_compute_and_are_refreshed_again() {
    let mut w = World::small(Preset::Precise, 9, 8);
    let values = w.values();
    let mut ct = w.encrypt(&values);
    let mut first = 0.0;
    for round in 1..=12 {
        ct = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
        let (_, rms) = w.precision(&ct, &values);
        if round == 1 {
            first = rms;
        }
        // At this degree there is less noise than the arcsine errs by, and that is always the same.
        assert!(rms > first - f64::from(round).log2() - 0.5, "round {round}: {rms}, {first} at first");
    }
    let params = w.params.params();
    let ev = Evaluator::new(params, &w.ring).unwrap();
    let needs = KeyRequirements::new().relinearisation();
    let keys = EvaluationKeys::generate(&w.secret, &w.ring, needs, &mut w.rng).unwrap();
    let mut expected = values;
    while ct.level() > w.params.input_level() {
        ct = ev.square(&ct, &keys).unwrap();
        expected.iter_mut().for_each(|z| *z *= *z);
    }
    assert!(w.precision(&ct, &expected).0 > 20.0);
    let fresh = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
    assert!(w.precision(&fresh, &expected).0 > 20.0);
}

/// A batch is refreshed as its entries are, to the word; the input may have more levels.
#[test]
fn batches_and_higher_levels_are_refreshed() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let cts = [(); 3].map(|()| {
        let values = w.values();
        w.encrypt(&values)
    });
    let together = Ciphertext::concat(&cts.each_ref()).unwrap();
    let together = w.bootstrapper.refresh(&together, &w.keys).unwrap();
    for (i, ct) in cts.iter().enumerate() {
        let alone = w.bootstrapper.refresh(ct, &w.keys).unwrap();
        let entry = together.slice_batch(i..i + 1).unwrap();
        for (a, b) in alone.pair().parts().iter().zip(entry.pair().parts()) {
            assert!(a.to_words().unwrap() == b.to_words().unwrap(), "entry {i}");
        }
    }
    let values = w.values();
    let encryptor = SecretEncryptor::new(w.params.params(), &w.secret, &w.ring).unwrap();
    let fresh = encryptor.encrypt_complex(&values, &mut w.rng).unwrap().expand().unwrap();
    assert!(fresh.level() > w.params.input_level());
    let refreshed = w.bootstrapper.refresh(&fresh, &w.keys).unwrap();
    assert!(w.precision(&refreshed, &values).0 > 17.0);
}

/// One typed error for each mistake, before any work.
#[test]
fn what_cannot_be_refreshed_is_refused() {
    let mut w = World::small(Preset::Fast, 7, 6);
    let values = w.values();
    let ct = w.encrypt(&values);
    let params = w.params.params().clone();
    let ev = Evaluator::new(&params, &w.ring).unwrap();
    let refresh = |w: &World, ct: &Ciphertext<Cpu>, keys| w.bootstrapper.refresh(ct, keys).map(drop);

    let low = ev.mod_switch_to(&ct, 2).unwrap();
    assert!(matches!(refresh(&w, &low, &w.keys), Err(Error::LevelExhausted { needed: 3, left: 2 })));
    let few = ev.encoder().encode(&values[..8], params.encoding().slots(8)).unwrap();
    let encryptor = SecretEncryptor::new(&params, &w.secret, &w.ring).unwrap();
    let few = encryptor.encrypt(&few, &mut w.rng).unwrap().expand().unwrap();
    assert!(matches!(refresh(&w, &few, &w.keys), Err(Error::SlotCount { found: 8, capacity: 64 })));

    // Keys of another secret, and of other parameters.
    let other = SecretKey::generate(params.rlwe(), &mut w.rng);
    let keys = BootstrapKeys::generate(&other, &w.params, &w.ring, &mut w.rng).unwrap();
    assert!(matches!(refresh(&w, &ct, &keys), Err(Error::KeyMismatch { .. })));
    let precise = World::small(Preset::Precise, 7, 6);
    assert!(matches!(refresh(&w, &ct, &precise.keys), Err(Error::Argument { .. })));
    let foreign = precise.bootstrapper.refresh(&ct, &precise.keys);
    assert!(foreign.is_err());

    // A ring that was prepared without the primes of bootstrapping, and secrets of other kinds.
    let bare = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    assert!(matches!(Bootstrapper::new(&w.params, &bare), Err(Error::RingMismatch)));
    let generated = |secret: &SecretKey, w: &mut World| {
        BootstrapKeys::generate(secret, &w.params, &w.ring, &mut w.rng).map(drop)
    };
    let sparse = SecretKey::generate_sparse_insecure(params.rlwe(), 16, &mut w.rng).unwrap();
    assert!(matches!(generated(&sparse, &mut w), Err(Error::Argument { .. })));
    let foreign = precise.secret;
    assert!(matches!(generated(&foreign, &mut w), Err(Error::ParamsMismatch { .. })));
}

/// Nothing exists under the sparse secret but one key over q_0 p_0.
#[test]
fn the_sparse_secret_meets_a_small_modulus_alone() {
    for preset in Preset::ALL {
        let params = preset.params().unwrap();
        assert!(params.sparse().ring().log_qp() <= 100.0, "{preset}");
        assert_eq!((params.sparse().ring().q().len(), params.sparse().ring().p().len()), (1, 1));
    }
    let w = World::small(Preset::Fast, 7, 6);
    assert_eq!(w.keys.to_sparse.key().params(), w.params.sparse());
    assert_ne!(w.keys.to_sparse.key().key_set(), Some(w.secret.key_set()));
    let params = Preset::Fast.params().unwrap();
    for _ in 0..20 {
        let secret = params.sparse_secret(&mut seeded()).unwrap();
        let weight = secret.expose_coefficients().iter().filter(|&&c| c != 0).count();
        assert_eq!((weight, secret.params()), (32, params.sparse()));
        // It makes no other key: neither those of programs nor any over more primes.
        let needs = KeyRequirements::new().relinearisation();
        assert!(EvaluationKeys::generate(&secret, &w.ring, needs, &mut seeded()).is_err());
        assert!(secret.widened(params.sparse(), params.upper().rlwe()).is_err());
    }
    assert_eq!(w.keys.to_dense.key().key_set(), Some(w.secret.key_set()));
    assert_eq!(w.keys.to_dense.key().params(), w.params.raise());
}

/// Specifications whose parts do not fit.
#[test]
fn impossible_specifications_are_refused() {
    let spec = || BootstrapSpec { log_n: 8, log_slots: 7, ..Preset::Fast.spec() };
    let run = |levels| LevelRun { levels, ..spec().coeffs_to_slots };
    for (what, spec) in [
        ("slots", BootstrapSpec { log_slots: 8, ..spec() }),
        ("no matrix", BootstrapSpec { coeffs_to_slots: run(0), ..spec() }),
        ("too many matrices", BootstrapSpec { coeffs_to_slots: run(8), ..spec() }),
        ("no matrix back", BootstrapSpec { slots_to_coeffs: vec![], ..spec() }),
        ("levels", BootstrapSpec { eval_mod_levels: vec![run(7)], ..spec() }),
        ("special primes", BootstrapSpec { special: vec![], ..spec() }),
        ("too many of them", BootstrapSpec { slots_to_coeffs_special: 7, ..spec() }),
        ("stages that borrow", BootstrapSpec { borrowed: vec![0; 3], ..spec() }),
        ("a prime that is not left", BootstrapSpec { borrowed: vec![2, 2, 3, 4], ..spec() }),
        ("degree", BootstrapSpec { log_n: 40, ..spec() }),
        ("base", BootstrapSpec { base_bits: 70, ..spec() }),
    ] {
        assert!(BootstrapParams::insecure(spec).is_err(), "{what}");
    }
    let insecure = BootstrapParams::try_from(BootstrapSpec { log_n: 15, log_slots: 14, ..spec() });
    assert!(matches!(insecure, Err(ParamsError::Insecure { .. })));
}

/// The presets themselves: what they state, within a bit. `HE_BOOTSTRAP_RUNS` is the number of runs
/// of each (100): minutes on a GPU by `he-cli bench bootstrap`, hours on a CPU by
/// `cargo test --release -p he-toolkit-core --lib -- --ignored presets_have_their_precision`, and
/// 20 GB of memory.
#[test]
#[ignore = "hours, and 20 GB of memory"]
fn presets_have_their_precision() {
    let runs = std::env::var("HE_BOOTSTRAP_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(100);
    for preset in Preset::ALL {
        let mut w = World::new(preset.spec());
        let (mut squares, mut lowest) = (0.0, f64::INFINITY);
        for _ in 0..runs {
            let mut real = || w.rng.random_range(-1.0..1.0);
            let values: Vec<Complex64> =
                (0..w.params.slots()).map(|_| Complex64::new(real(), real())).collect();
            let ct = w.encrypt(&values);
            let fresh = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
            let (worst, rms) = w.precision(&fresh, &values);
            squares += libm::exp2(-2.0 * rms) / f64::from(runs);
            lowest = f64::min(lowest, worst);
            check_estimate(&w, &fresh, &values, preset.name(), 4.0);
        }
        let (found, stated) = (-0.5 * libm::log2(squares), preset.precision());
        println!("{preset}: {lowest:.2} bits at worst, {found:.2} in the mean");
        assert!(found > stated.rms_bits - 1.0 && lowest > stated.worst_bits - 1.0, "{preset}");
    }
}
