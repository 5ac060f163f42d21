//! Compares measured noise with exact variances, and with the bounds of the paper.
//!
//! Each sample is the mean square of the coefficients under one of KEYS keys (fixed seeds). Their
//! mean must lie within six of its own standard errors of the formula, and these must be small
//! enough to detect a formula that is wrong by an eighth.

use super::common::*;
use he::backend::Cpu;
use he::bigckks::reference::{Embedding, IntPoly};
use he::bigckks::{BigCkksSpec, Ciphertext, Complex64, Noise, SecretDistribution, WidePoly};
use he::ring::Seed;
use he::rlwe::Flooding;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

const KEYS: u64 = 40;

#[track_caller]
fn agrees(what: &str, samples: &[f64], formula: f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let tolerance = 6.0 * (variance / count).sqrt();
    assert!(tolerance < 0.125 * formula, "{what}: a tolerance of {tolerance} beside {formula} finds nothing");
    assert!((mean - formula).abs() < tolerance, "{what}: {mean}, by the formula {formula}, +- {tolerance}");
}

fn mean_square(polys: &[IntPoly]) -> f64 {
    let squares = polys.iter().flatten().map(|c| c.to_f64().unwrap().powi(2));
    squares.sum::<f64>() / polys.iter().map(Vec::len).sum::<usize>() as f64
}

/// The largest value at a root of unity.
fn canonical_norm(embedding: &Embedding, polys: &[IntPoly]) -> f64 {
    polys.iter().flat_map(|poly| embedding.sigma(poly, 1.0)).map(|z| z.norm()).fold(0.0, f64::max)
}

/// (-a s, a): an encryption of zero without noise.
fn noiseless(w: &World, log_q: u32, batch: usize) -> Ciphertext<Cpu> {
    let s: Vec<i64> = w.secret.expose_coefficients().iter().map(|&c| i64::from(c)).collect();
    let s = WidePoly::from_signed(&w.ring, log_q, 1, &s).unwrap();
    let a = WidePoly::uniform(&w.ring, log_q, batch, &Seed([3; 32]), 0).unwrap();
    let mut b = a.mul(&s).unwrap();
    b.neg_assign().unwrap();
    Ciphertext::from_parts(&w.params, [b, a], 1, 1).unwrap()
}

fn per_key(spec: BigCkksSpec, mut f: impl FnMut(&World, &mut rand::rngs::ChaCha20Rng)) {
    for key in 0..KEYS {
        let rng = &mut rng(4000 + key);
        f(&World::new(spec, rng), rng);
    }
}

fn specs() -> Vec<BigCkksSpec> {
    let spec = BigCkksSpec::new(9, 120, 30);
    vec![
        spec.with_digits(1),
        spec.with_digits(3),
        spec.with_secret(SecretDistribution::Sparse { weight: 40 }),
    ]
}

#[test]
fn encryption_rescale_and_key_switch() {
    for spec in specs() {
        let embedding = Embedding::new(1 << spec.log_n);
        let mut samples = [const { Vec::new() }; 5];
        let mut formulas = [0.0; 5];
        per_key(spec, |w, rng| {
            let noise = Noise::new(&w.params);
            let switch = noise.key_switch_variance(w.params.digits(spec.log_q));
            formulas = [noise.fresh_variance(), noise.rescale_variance(), switch, switch, switch];
            let bounds = [
                noise.clean_bound(),
                noise.rescale_bound(),
                noise.key_switch_bound(w.params.digits(spec.log_q)),
            ];
            let zero = noiseless(w, spec.log_q, 16);
            assert_eq!(mean_square(&w.message(&zero)), 0.0);
            let fresh = w.encrypt(&vec![vec![Complex64::ZERO]; 16], rng);
            let mut high = zero.duplicate().unwrap();
            high.set_scale_log2(60);
            let results = [
                fresh,
                w.ev.rescale(&high, 37).unwrap(),
                w.ev.rotate(&zero, 1, &w.keys).unwrap(),
                w.ev.conjugate(&zero, &w.keys).unwrap(),
                w.ev.relinearize(&w.ev.tensor(&zero, &zero).unwrap(), &w.keys).unwrap(),
            ];
            for (i, result) in results.iter().enumerate() {
                let errors = w.message(result);
                samples[i].push(mean_square(&errors));
                let norm = canonical_norm(&embedding, &errors[..1]);
                let bound = bounds[i.min(2)];
                assert!(norm < bound, "{i}: {norm}, the paper bounds it by {bound}");
                assert!(norm > bound / 30.0, "{i}: {norm} is far below {bound}: not this noise");
            }
        });
        for (i, what) in
            ["encryption", "rescale", "rotation", "conjugation", "relinearisation"].into_iter().enumerate()
        {
            agrees(what, &samples[i], formulas[i]);
        }
    }
}

/// With P far above the digits, only the roundings are left; with P as wide as the digits, the
/// noise of the key dominates.
#[test]
fn a_wider_special_modulus_leaves_the_roundings() {
    let spec = BigCkksSpec { log_p: 60, ..BigCkksSpec::new(9, 120, 30).with_digits(3) };
    let mut samples = Vec::new();
    per_key(spec, |w, _| {
        let zero = noiseless(w, spec.log_q, 16);
        samples.push(mean_square(&w.message(&w.ev.rotate(&zero, 1, &w.keys).unwrap())));
    });
    let w = World::new(spec, &mut rng(1));
    let noise = Noise::new(&w.params);
    assert!(noise.key_switch_variance(3) < 1.001 * noise.rescale_variance());
    agrees("wide P", &samples, noise.rescale_variance());
}

#[test]
fn flooding_is_uniform() {
    let mut samples = Vec::new();
    per_key(BigCkksSpec::new(9, 60, 20), |w, rng| {
        let decryptor = he::bigckks::Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let flooded = decryptor.decrypt_flooded(&noiseless(w, 60, 16), Flooding::Bits(35), rng).unwrap();
        let errors = integers(flooded.poly());
        let reach = BigInt::from(1u64 << 35);
        assert!(errors.iter().flatten().all(|e| -&reach <= *e && *e < reach));
        samples.push(mean_square(&errors));
    });
    agrees("flooding", &samples, 4f64.powi(35) / 3.0);
}

/// The measured noise of a program stays below the estimate that the evaluator carried, and a flood
/// chosen by it is as wide as its distance requires; ciphertexts assembled from parts have no
/// estimate.
#[test]
fn estimates_bound_the_noise() {
    for seed in 0..6 {
        let rng = &mut rng(400 + seed);
        let w = World::new(BigCkksSpec::new(8, 240, 30), rng);
        let values = random_values(rng, 1, 128);
        let other = random_values(rng, 1, 128);
        let decryptor = he::bigckks::Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let check = |what: &str, ct: &Ciphertext<Cpu>, expected: &dyn Fn(usize) -> Complex64| {
            let scale = f64::from(ct.scale_log2()).exp2();
            let found = w.decrypt(ct).remove(0);
            let errors: Vec<f64> =
                found.iter().enumerate().map(|(i, z)| (z - expected(i)).norm() * scale).collect();
            let rms = errors.iter().map(|e| e * e).sum::<f64>().sqrt() / (errors.len() as f64 * 2f64.sqrt());
            let peak = errors.iter().copied().fold(0.0, f64::max);
            let estimate = ct.noise().unwrap();
            // Half a bit for an average over 256 coefficients; float64 of this test.
            let float = scale * 2f64.powi(-46);
            assert!(
                rms <= (estimate.rms_log2 + 0.5).exp2() + float,
                "seed {seed}, {what}: {rms}, {estimate:?}"
            );
            assert!(peak <= estimate.peak_log2.exp2() + float, "seed {seed}, {what}: {peak}, {estimate:?}");
            let flooding = Flooding::Statistical { security_bits: 40, decryptions: 8 };
            let bits = decryptor.flood_bits(ct, flooding).unwrap();
            let distance = 3.0 + 8.0 + (rms - float).max(1e-300).log2() - f64::from(bits + 1);
            assert!(distance < -40.0, "seed {seed}, {what}: 2^{distance}");
        };
        let x = w.encrypt(&values, rng);
        let y = w.encrypt(&other, rng);
        check("fresh", &x, &|i| values[0][i]);
        check("sum", &w.ev.add(&x, &y).unwrap(), &|i| values[0][i] + other[0][i]);
        let product = w.ev.mul(&x, &y, &w.keys).unwrap();
        check("product", &product, &|i| values[0][i] * other[0][i]);
        let rescaled = w.ev.rescale(&product, 30).unwrap();
        check("rescaled", &rescaled, &|i| values[0][i] * other[0][i]);
        check("lifted sum", &w.ev.add(&product, &rescaled).unwrap(), &|i| values[0][i] * other[0][i] * 2.0);
        check("rotated", &w.ev.rotate(&rescaled, 1, &w.keys).unwrap(), &|i| {
            values[0][(i + 1) % 128] * other[0][(i + 1) % 128]
        });
        check("conjugate", &w.ev.conjugate(&x, &w.keys).unwrap(), &|i| values[0][i].conj());
        check("integer", &w.ev.mul_integer(&x, -5).unwrap(), &|i| values[0][i] * -5.0);
        check("constant", &w.ev.mul_scalar(&x, 0.3, 20).unwrap(), &|i| values[0][i] * 0.3);
        let plain = w.ev.encoder().encode(&other[0], w.params.encoding()).unwrap();
        check("plaintext", &w.ev.mul_plain(&x, &plain).unwrap(), &|i| values[0][i] * other[0][i]);
        check("scaled up", &w.ev.scale_up(&x, 7).unwrap(), &|i| values[0][i]);

        // More than 61 bits, around the same phases.
        let flooding = Flooding::Statistical { security_bits: 100, decryptions: 1 };
        let bits = decryptor.flood_bits(&x, flooding).unwrap();
        assert!(bits > 100);
        let own = integers(decryptor.decrypt(&x).unwrap().poly());
        let flooded = integers(decryptor.decrypt_flooded(&x, flooding, rng).unwrap().poly());
        let reach = BigInt::from(1) << bits;
        for (a, b) in flooded.iter().flatten().zip(own.iter().flatten()) {
            assert!(-&reach <= a - b && a - b < reach, "seed {seed}");
        }
        let [c0, c1] = x.parts().map(|c| c.duplicate().unwrap());
        let parts = Ciphertext::from_parts(&w.params, [c0, c1], x.scale_log2(), x.slots()).unwrap();
        assert!(matches!(decryptor.flood_bits(&parts, flooding), Err(he::Error::NoiseUnknown)));
    }
}
