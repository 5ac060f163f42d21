//! Faults that other libraries have had, and where each is looked for:
//!
//! - Lattigo 134, wrong results at random: `integers::failures_are_as_frequent_as_predicted`, and
//!   the tail tables of `overflow`.
//! - Lattigo 155, odd and even polynomials: `zero_coefficients_and_parity` of polynomials.
//! - Lattigo 460 and 476, input or parameters changed: [`inputs_stay_as_they_are`].
//! - Lattigo 505, sparse packings right inside and wrong by the public entry:
//!   `every_packing_is_refreshed`, [`sparse_batches_are_refreshed`].
//! - Lattigo's pull request 96, input on level 0: `what_cannot_be_refreshed_is_refused`.
//! - Lattigo before 6.1.1 and HEonGPU, the sparse secret under a large modulus:
//!   `the_sparse_secret_meets_a_small_modulus_alone`.
//! - OpenFHE 564, later products fail: `refreshed_ciphertexts_compute_and_are_refreshed_again`.
//! - OpenFHE 390 and 1264, other numbers of slots and uneven splits: `every_packing_is_refreshed`.
//! - OpenFHE 996, N = 2^17: [`degree_2_17_has_parameters`].
//! - OpenFHE 1248, noise of the switch to the sparse secret:
//!   [`the_switch_to_the_sparse_secret_is_quiet`].
//! - OpenFHE 1332 and poulpy 294, bits lost without a word: [`precision_is_what_it_was`].
//! - Cheddar 1, garbage beyond the bound: `integers::great_integers_err_as_the_polynomial_does`,
//!   [`values_beyond_the_range_follow_the_sine`].
//! - FIDESlib 33, encapsulation on the GPU and a second iteration:
//!   `circuits::iterations_add_precision`, and he-cuda's bootstraps through `Mirror`.

use super::*;
use crate::bootstrapping::facts::value_unit;

#[test]
fn inputs_stay_as_they_are() {
    let mut w = World::small(Preset::Fast, 7, 6);
    let values = w.values();
    let ct = w.encrypt(&values);
    let words = |ct: &Ciphertext<Cpu>| ct.pair().parts().map(|c| c.to_words().unwrap());
    let (before, state) = (words(&ct), (ct.level(), ct.scale(), ct.slots()));
    let params = w.params.clone();
    let first = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
    assert!(words(&ct) == before && (ct.level(), ct.scale(), ct.slots()) == state);
    assert!(w.params == params && *w.bootstrapper.params() == params);
    let second = w.bootstrapper.refresh(&ct, &w.keys).unwrap();
    assert!(words(&first) == words(&second));
}

#[test]
fn sparse_batches_are_refreshed() {
    let mut w = World::small(Preset::Small, 8, 3);
    let vectors = [(); 3].map(|()| w.values());
    let cts = vectors.each_ref().map(|values| w.encrypt(values));
    let together = Ciphertext::concat(&cts.each_ref()).unwrap();
    let fresh = w.bootstrapper.refresh(&together, &w.keys).unwrap();
    for (i, values) in vectors.iter().enumerate() {
        let (worst, _) = w.precision(&fresh.slice_batch(i..i + 1).unwrap(), values);
        assert!(worst > 16.0, "entry {i}: {worst}");
    }
}

#[test]
fn degree_2_17_has_parameters() {
    for preset in Preset::ALL {
        let spec = BootstrapSpec { log_n: 17, log_slots: 16, join: None, ..preset.spec() };
        assert!(BootstrapParams::try_from(spec).unwrap().is_secure(), "{preset}");
    }
}

/// 2^-34 of a value at this degree: one special prime as wide as q_0 is enough.
#[test]
#[expect(clippy::disallowed_methods, reason = "nothing is secret")]
fn the_switch_to_the_sparse_secret_is_quiet() {
    let mut w = World::small(Preset::Fast, 9, 8);
    let values = w.values();
    let ct = w.encrypt(&values);
    let lowered = w.bootstrapper.slots_to_coefficients(&ct, &w.keys).unwrap();
    let (t, base) = (phase(&w, &lowered), w.params.params().levels()[0].scale);
    let raised = phase(&w, &w.bootstrapper.mod_raise(&lowered.pair, &w.keys).unwrap());
    let q0 = w.params.ring_spec().q()[0] as f64;
    let off = raised.iter().zip(&t).map(|(x, t)| (x - (x / q0).round() * q0 - t).abs() / base);
    let worst = off.fold(0.0, f64::max);
    assert!(worst < libm::exp2(-30.0), "{}", worst.log2());
}

/// Precision at a small degree and from one seed, where it is the same on every machine: half a
/// bit less is a fault. Values up to 0.7 show the error of the sine, small ones the noise.
#[test]
fn precision_is_what_it_was() {
    for (preset, log_slots, expected) in [
        (Preset::Fast, 8, [20.2, 25.9]),
        (Preset::Precise, 8, [32.9, 32.9]),
        (Preset::ExactBound, 8, [33.4, 33.4]),
        (Preset::Small, 5, [20.3, 23.7]),
    ] {
        let spec = BootstrapSpec { log_n: 9, log_slots, ..preset.spec() };
        let mut w = World::seeded(spec, rand::SeedableRng::seed_from_u64(294));
        for (factor, expected) in [1.0, 1.0 / 32.0].into_iter().zip(expected) {
            let mut squares = 0.0;
            for _ in 0..8 {
                let values: Vec<Complex64> = w.values().into_iter().map(|z| factor * z).collect();
                let ct = w.encrypt(&values);
                let (_, rms) = w.precision(&w.bootstrapper.refresh(&ct, &w.keys).unwrap(), &values);
                squares += libm::exp2(-2.0 * rms) / 8.0;
            }
            let found = -0.5 * libm::log2(squares);
            println!("{preset}, values up to {factor}: {found:.2} bits");
            assert!(found > expected - 0.5, "{preset}: {found} bits, {expected} before");
        }
    }
}

/// A ciphertext does not show its values. Values beyond one come back as the sine has it: too small
/// by the third power of the value, and wrapped around beyond a quarter of the modulus.
#[test]
fn values_beyond_the_range_follow_the_sine() {
    let mut w = World::small(Preset::Fast, 8, 7);
    let map = stages::eval_mod(&w.params).unwrap();
    let (base, unit) = (w.params.params().levels()[0].scale, value_unit(&w.params, &map));
    let q0 = w.params.ring_spec().q()[0] as f64;
    for value in [1.0, 1.5, 4.0, 30.0, 100.0, 256.0, 400.0] {
        let values: Vec<Complex64> = (0..w.params.slots())
            .map(|k| Complex64::new(value, if k % 3 == 0 { -value } else { 0.25 }))
            .collect();
        let ct = w.encrypt(&values);
        let found = w.decrypt(&w.bootstrapper.refresh(&ct, &w.keys).unwrap());
        let model =
            |x: f64| (std::f64::consts::TAU * x * base / q0).sin() * q0 / base / std::f64::consts::TAU;
        for (found, value) in found.iter().zip(&values) {
            for (found, value) in [(found.re, value.re), (found.im, value.im)] {
                let error = (found - model(value)).abs();
                assert!(error < 1e-5 * value.abs().max(1.0), "{value}: {found}, not {}", model(value));
            }
        }
    }
    // The error that is stated for magnitude one.
    let error = (1.0 - map.apply_plain(base / q0 / map.reach()) / unit).abs();
    assert!((-libm::log2(error) - 17.3).abs() < 0.1, "{error}");
}
