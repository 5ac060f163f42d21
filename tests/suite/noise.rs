//! Compares measured noise with the formulas of the documentation.
//!
//! Every test draws independent samples of a statistic, one per key for KEYS keys (fixed seeds),
//! and requires that their mean lies within SIGMAS of its own standard errors of the formula:
//! Student's t with 47 degrees of freedom exceeds 6 less than once in 10^6, so that the whole
//! module, about 60 comparisons, raises a false alarm for one choice of seeds in 10^4; the seeds
//! are fixed, so it always passes or never does. A comparison also requires that SIGMAS standard
//! errors are at most POWER of the formula: a formula that is wrong by more than twice that is
//! detected.

use super::common::*;
use he::backend::Cpu;
use he::ckks::{Ciphertext, CkksParams, CkksSpec, Complex64, Decryptor, SecretEncryptor};
use he::ring::{ERROR_BOUND, ERROR_VARIANCE, Eval, Poly, Seed, Span};
use he::rlwe::{Flooding, RlweCiphertext};
use rand::{RngExt, rngs::ChaCha20Rng};

const KEYS: usize = 48;
const SIGMAS: f64 = 6.0;
const POWER: f64 = 0.06;

#[track_caller]
fn agrees(what: &str, samples: &[f64], formula: f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / count;
    let variance = samples.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let tolerance = SIGMAS * (variance / count).sqrt();
    assert!(tolerance < POWER * formula, "{what}: a tolerance of {tolerance} beside {formula} finds nothing");
    assert!((mean - formula).abs() < tolerance, "{what}: {mean}, by the formula {formula}, +- {tolerance}");
}

/// One prime per digit, all as wide as the special prime: key switching noise far above its
/// rounding.
fn params(log_n: u32, dnum: usize, special: usize) -> CkksParams {
    let spec = CkksSpec::from_bits(log_n, &[45; 4], &vec![45; special], 45.0).unwrap();
    // Levels' scales do not matter here; the base must hold one.
    CkksParams::insecure(spec.with_levels(vec![4], 40.0).with_dnum(dnum)).unwrap()
}

/// Centred coefficients of what a ciphertext decrypts to, from its first limb.
fn coefficients(w: &World, ct: &Ciphertext<Cpu>) -> Vec<f64> {
    let plain = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap().decrypt(ct).unwrap();
    centred(w, plain.poly())
}

fn centred(w: &World, poly: &Poly<Eval, Cpu>) -> Vec<f64> {
    let count = poly.batch() * w.ring.n();
    let words = poly.duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
    let q = he::arith::Modulus::new(w.ring.spec().q()[0]).unwrap();
    words[..count].iter().map(|&x| q.center(x) as f64).collect()
}

fn mean_square(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64
}

/// An encryption of zero without noise: (-a s, a).
fn noiseless(w: &World, primes: usize, batch: usize, seed: u8) -> RlweCiphertext<Cpu> {
    let span = Span::chain(primes);
    let a = Poly::uniform(&w.ring, span, batch, &Seed([seed; 32]), 0).unwrap();
    let mut b = a.duplicate().unwrap();
    b.mul_assign(w.secret.on(&w.ring, span).unwrap().get()).unwrap();
    b.neg_assign().unwrap();
    RlweCiphertext::new(b, a).unwrap()
}

/// A statistic for each of KEYS keys.
fn per_key<T>(
    params: &CkksParams,
    steps: &[i64],
    mut f: impl FnMut(&World, &mut ChaCha20Rng) -> T,
) -> Vec<T> {
    (0..KEYS as u64)
        .map(|key| {
            let rng = &mut rng(1000 + key);
            f(&World::new(params, steps.iter().copied(), rng), rng)
        })
        .collect()
}

#[test]
fn fresh_encryptions_by_public_key() {
    for log_n in [5, 8, 11] {
        let params = params(log_n, 4, 1);
        let batch = (1 << 14 >> log_n).max(8);
        let formula = ERROR_VARIANCE * (1.0 + 4.0 * f64::from(1 << log_n) / 3.0);
        let samples = per_key(&params, &[], |w, rng| {
            let zeros = vec![vec![Complex64::ZERO]; batch];
            let noise = coefficients(w, &w.encrypt_plain(&w.encode(&zeros, 0), rng));
            let mean = noise.iter().sum::<f64>() / noise.len() as f64;
            assert!(mean.abs() < SIGMAS * (formula / noise.len() as f64).sqrt() * 2.0, "mean {mean}");
            // Nobody is beyond ten deviations: no word is out of range.
            assert!(noise.iter().all(|e| e.abs() < 10.0 * formula.sqrt()));
            mean_square(&noise)
        });
        // Small rings vary from key to key.
        let samples = if log_n <= 8 { many_keys(&params, batch) } else { samples };
        agrees(&format!("public key, N = 2^{log_n}"), &samples, formula);
        let noise = Noise(&params).fresh_public();
        assert!((noise * noise - formula).abs() < 1e-9 * formula);
    }
}

/// Many more keys, without evaluation keys.
fn many_keys(params: &CkksParams, batch: usize) -> Vec<f64> {
    let ring = he::ring::Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    (0..20 * KEYS as u64)
        .map(|key| {
            let rng = &mut rng(5000 + key);
            let secret = he::rlwe::SecretKey::generate(params.rlwe(), rng);
            let public = he::rlwe::PublicKey::generate(&secret, &ring, rng).unwrap();
            let zero = public.encrypt_zero(1, batch, rng).unwrap();
            let [c0, c1] = zero.parts();
            let mut noise = c1.duplicate().unwrap();
            noise.mul_assign(secret.on(&ring, Span::chain(1)).unwrap().get()).unwrap();
            noise.add_assign(c0).unwrap();
            let words = noise.into_coeff().unwrap().to_words().unwrap();
            let q = he::arith::Modulus::new(ring.spec().q()[0]).unwrap();
            mean_square(&words.iter().map(|&x| q.center(x) as f64).collect::<Vec<_>>())
        })
        .collect()
}

#[test]
fn fresh_encryptions_by_secret_key() {
    for log_n in [5, 8, 11] {
        let params = params(log_n, 4, 1);
        let batch = 1 << 14 >> log_n;
        let samples = per_key(&params, &[], |w, rng| {
            let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
            let plain = w.encode(&vec![vec![Complex64::ZERO]; batch], 0);
            let ct = encryptor.encrypt(&plain, rng).unwrap().expand().unwrap();
            let noise = coefficients(w, &ct);
            assert!(noise.iter().all(|e| e.abs() <= ERROR_BOUND as f64));
            mean_square(&noise)
        });
        agrees(&format!("secret key, N = 2^{log_n}"), &samples, ERROR_VARIANCE);
        // The public key is such an encryption of zero.
        let samples = per_key(&params, &[], |w, _| {
            let mut b =
                Poly::uniform(&w.ring, w.public.body().span(), 1, w.public.seed().unwrap(), 0).unwrap();
            b.mul_assign(w.secret.on(&w.ring, b.span()).unwrap().get()).unwrap();
            b.add_assign(w.public.body()).unwrap();
            mean_square(&centred(w, &b))
        });
        if log_n == 11 {
            agrees("public key's own error", &samples, ERROR_VARIANCE);
        }
    }
}

#[test]
fn a_rescale_rounds_both_parts() {
    for log_n in [8, 11] {
        let spec = params(log_n, 4, 1).spec();
        // One prime and two primes dropped: the same rounding.
        for (levels, scale) in [(vec![3, 4], 44.5), (vec![2, 4], 89.0)] {
            let params = CkksParams::insecure(spec.clone().with_levels(levels, scale)).unwrap();
            let formula = (1.0 + 2.0 * f64::from(1 << log_n) / 3.0) / 12.0;
            let samples = per_key(&params, &[], |w, _| {
                let pair = noiseless(w, 4, 1 << 14 >> log_n, 1);
                let ct = Ciphertext::from_parts(&params, pair, 1, 2f64.powi(100), 1).unwrap();
                mean_square(&coefficients(w, &w.ev.rescale(&ct).unwrap()))
            });
            agrees(&format!("rescale, N = 2^{log_n}"), &samples, formula);
            assert!((Noise(&params).rounding().powi(2) - formula).abs() < 1e-9 * formula);
        }
    }
}

#[test]
fn key_switching_by_every_number_of_digits() {
    for log_n in [9, 10] {
        for (dnum, special) in [(4, 1), (2, 2), (1, 4), (3, 2)] {
            let params = params(log_n, dnum, special);
            let noise = Noise(&params);
            let formula = noise.key_switch(0).powi(2) + noise.rounding().powi(2);
            // The part under test dominates.
            assert!(noise.key_switch(0) > 3.0 * noise.rounding());
            let batch = 1 << 13 >> log_n;
            let samples = per_key(&params, &[1], |w, _| {
                let pair = noiseless(w, 4, batch, 2);
                let ct = Ciphertext::from_parts(&params, pair, 0, 2f64.powi(40), 1).unwrap();
                let product = w.ev.tensor(&ct, &ct).unwrap();
                [
                    w.ev.rotate(&ct, 1, &w.keys).unwrap(),
                    w.ev.conjugate(&ct, &w.keys).unwrap(),
                    w.ev.relinearize(&product, &w.keys).unwrap(),
                ]
                .map(|ct| mean_square(&coefficients(w, &ct)))
            });
            for (i, op) in ["rotation", "conjugation", "relinearisation"].into_iter().enumerate() {
                let samples: Vec<f64> = samples.iter().map(|ops| ops[i]).collect();
                agrees(&format!("{op}, N = 2^{log_n}, {dnum} digits"), &samples, formula);
            }
        }
    }
}

/// At a lower level the digits are shorter, and fewer.
#[test]
fn key_switching_at_lower_levels() {
    let spec = params(9, 2, 2).spec().with_levels(vec![2, 3, 4], 45.0);
    let params = CkksParams::insecure(spec).unwrap();
    for level in 0..3 {
        let noise = Noise(&params);
        let formula = noise.key_switch(level).powi(2) + noise.rounding().powi(2);
        let samples = per_key(&params, &[1], |w, _| {
            let pair = noiseless(w, level + 2, 16, 3);
            let ct = Ciphertext::from_parts(&params, pair, level, 2f64.powi(40), 1).unwrap();
            mean_square(&coefficients(w, &w.ev.rotate(&ct, 1, &w.keys).unwrap()))
        });
        agrees(&format!("level {level}"), &samples, formula);
    }
}

/// A product that is relinearised and rescaled in one division has one rounding, not two.
#[test]
fn one_rounding_for_relinearisation_and_rescale() {
    let spec = params(9, 4, 1).spec().with_levels(vec![3, 4], 45.0);
    let params = CkksParams::insecure(spec).unwrap();
    let noise = Noise(&params);
    let samples = |together: bool| {
        per_key(&params, &[], |w, _| {
            let ct = Ciphertext::from_parts(&params, noiseless(w, 4, 16, 4), 1, params.levels()[1].scale, 1)
                .unwrap();
            let product = w.ev.tensor(&ct, &ct).unwrap();
            let result = if together {
                w.ev.relinearize_rescale(&product, &w.keys).unwrap()
            } else {
                w.ev.rescale(&w.ev.relinearize(&product, &w.keys).unwrap()).unwrap()
            };
            mean_square(&coefficients(w, &result))
        })
    };
    agrees("together", &samples(true), noise.rounding().powi(2));
    agrees("one after the other", &samples(false), noise.rounding().powi(2));
}

#[test]
fn an_encoding_rounds_each_coefficient_to_nearest() {
    let params = params(10, 4, 1);
    let samples = per_key(&params, &[], |w, rng| {
        let values = random_values(rng, 8, 512);
        let (coarse, fine) = (2f64.powi(20), 2f64.powi(44));
        let encode = |scale: f64| {
            let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
            let plain = w.ev.encoder().encode_batch(&vectors, params.encoding().scale(scale)).unwrap();
            let words = plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
            // The numbers fit the first limb.
            let q = he::arith::Modulus::new(w.ring.spec().q()[0]).unwrap();
            words[..8 * 1024].iter().map(|&x| q.center(x) as f64 / scale).collect::<Vec<f64>>()
        };
        let errors: Vec<f64> =
            encode(coarse).iter().zip(&encode(fine)).map(|(x, y)| (x - y) * coarse).collect();
        assert!(errors.iter().all(|e| e.abs() <= 0.5 + 1e-6));
        mean_square(&errors)
    });
    agrees("encoding", &samples, 1.0 / 12.0);
}

#[test]
fn flooding_is_uniform() {
    let params = params(9, 4, 1);
    for bits in [4, 20, 35] {
        let samples = per_key(&params, &[], |w, rng| {
            let ct = Ciphertext::from_parts(&params, noiseless(w, 4, 16, 5), 0, 2f64.powi(40), 1).unwrap();
            let decryptor = Decryptor::new(&params, &w.secret, &w.ring).unwrap();
            let flood = centred(w, decryptor.decrypt_flooded(&ct, Flooding::Bits(bits), rng).unwrap().poly());
            let reach = f64::from(bits).exp2();
            assert!(flood.iter().all(|x| (-reach..reach).contains(x)));
            mean_square(&flood)
        });
        // Uniform integers of [-b, b): (4 b^2 - 1) / 12 about their mean of -1/2.
        let formula = (4f64.powi(bits as i32 + 1) - 1.0) / 12.0 + 0.25;
        agrees(&format!("flooding by {bits} bits"), &samples, formula);
    }
}

/// Both parts of a ciphertext look uniform: chi-square over 64 bins of each limb, mean 63,
/// deviation sqrt(126); beyond eight deviations once in 10^10.
#[test]
fn ciphertexts_look_uniform() {
    let params = params(11, 4, 1);
    let w = World::new(&params, [], &mut rng(77));
    let values = vec![vec![Complex64::new(1.0, 1.0); 1024]; 8];
    let ct = w.encrypt_plain(&w.encode(&values, 0), &mut rng(78));
    for part in words(&ct) {
        for (limb, &q) in part.chunks(8 * w.ring.n()).zip(w.ring.spec().q()) {
            let mut bins = [0f64; 64];
            limb.iter().for_each(|&x| bins[(u128::from(x) * 64 / u128::from(q)) as usize] += 1.0);
            let expected = limb.len() as f64 / 64.0;
            let chi: f64 = bins.iter().map(|b| (b - expected).powi(2) / expected).sum();
            assert!((chi - 63.0).abs() < 8.0 * 126f64.sqrt(), "{chi}");
        }
    }
}

/// The builder's promise of precision: six deviations of a slot after a product of depth + 1
/// values.
#[test]
fn the_builder_keeps_its_promise() {
    for (depth, precision) in [(1, 20), (2, 25)] {
        let params = CkksParams::for_depth(depth).precision_bits(precision).slots(2048).build().unwrap();
        let rng = &mut rng(79);
        let w = World::new(&params, [], rng);
        let unit = |rng: &mut ChaCha20Rng| {
            let slot = |rng: &mut ChaCha20Rng| {
                Complex64::from_polar(1.0, rng.random_range(0.0..std::f64::consts::TAU))
            };
            vec![(0..params.slots()).map(|_| slot(rng)).collect::<Vec<_>>()]
        };
        let mut product = w.encrypt(&unit(rng), w.top(), rng);
        for _ in 0..depth {
            let factor = w.encrypt(&unit(rng), w.top(), rng);
            product = w.mul(&product, &factor);
        }
        w.check("product", &product, 0);
        let found = w.decrypt(&product.ct);
        // The promise is about real parts: six deviations are exceeded by one slot in 10^9.
        let errors: Vec<f64> = found[0].iter().zip(&product.values[0]).map(|(a, b)| (a - b).re).collect();
        let worst = errors.iter().fold(0f64, |worst, e| worst.max(e.abs()));
        assert!(worst < (-f64::from(precision)).exp2(), "{depth}: {worst:e}");
        assert!(6.0 * mean_square(&errors).sqrt() < (-f64::from(precision)).exp2(), "{depth}");
    }
}
