//! Tests the operations of *RNS-CKKS, serial and on CUDA* (Augustine, Munir, Syafalni 2024) at each
//! of its degrees, 2^10 ... 2^14, on a chain of six primes and a special one: NTT, inverse NTT,
//! encode, decode, encrypt, decrypt, add, multiply (tensor, relinearisation, rescale).

use super::common::*;
use he::arith::{Modulus, primitive_root_2n};
use he::backend::Cpu;
use he::ckks::{CkksParams, CkksSpec, Complex64};
use he::ring::{Coeff, Poly, Span, bit_reverse};
use rand::{RngExt, rngs::ChaCha20Rng};

fn paper(log_n: u32, rng: &mut ChaCha20Rng) -> World {
    let spec = CkksSpec::from_bits(log_n, &[55, 40, 40, 40, 40, 40], &[56], 40.0).unwrap();
    World::new(&CkksParams::insecure(spec).unwrap(), [], rng)
}

fn each_degree(test: impl Fn(u32, &World, &mut ChaCha20Rng)) {
    for log_n in 10..=14 {
        for_seeds(1, |rng| test(log_n, &paper(log_n, rng), rng));
    }
}

/// Random points of the transform by Horner's rule, and back to the same coefficients.
#[test]
fn ntt_and_inverse_ntt() {
    each_degree(|log_n, w, rng| {
        let n = w.ring.n();
        let spec = w.ring.spec();
        let span = Span::extended(spec.q().len(), spec.p().len());
        let signed: Vec<i64> = (0..2 * n).map(|_| rng.random_range(-1i64 << 40..1 << 40)).collect();
        let poly: Poly<Coeff, Cpu> = Poly::from_signed(&w.ring, span, 2, &signed).unwrap();
        let before = poly.to_words().unwrap();
        let poly = poly.into_eval().unwrap();
        let after = poly.to_words().unwrap();
        for (limb, q) in spec.primes().enumerate() {
            let m = Modulus::new(q).unwrap();
            let psi = primitive_root_2n(&m, log_n).unwrap();
            for entry in 0..2 {
                let row = (limb * 2 + entry) * n;
                let coefficients = &before[row..row + n];
                assert!(coefficients.iter().zip(&signed[entry * n..]).all(|(&x, &c)| x == m.reduce_i64(c)));
                for i in [0, n - 1, rng.random_range(0..n), rng.random_range(0..n)] {
                    let x = m.pow(psi, 2 * bit_reverse(i, log_n) as u64 + 1);
                    let value = coefficients.iter().rev().fold(0, |sum, &c| m.add(m.mul(sum, x), c));
                    assert_eq!(after[row + i], value, "N = 2^{log_n}, limb {limb}, point {i}");
                }
            }
        }
        assert!(poly.into_coeff().unwrap().to_words().unwrap() == before, "N = 2^{log_n}");
    });
}

/// Slots by the definition of the canonical embedding.
#[test]
fn encode_and_decode() {
    each_degree(|log_n, w, rng| {
        let n = w.ring.n();
        let values = random_values(rng, 2, n / 2);
        let plain = w.encode(&values, w.top());
        let words = plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
        let q = Modulus::new(w.ring.spec().q()[0]).unwrap();
        for (entry, values) in values.iter().enumerate() {
            let coefficients = &words[entry * n..][..n];
            for _ in 0..4 {
                let slot = rng.random_range(0..n / 2);
                let power = (0..slot).fold(1usize, |power, _| power * 5 % (2 * n));
                let terms = coefficients.iter().enumerate().map(|(k, &c)| {
                    let angle = std::f64::consts::PI * ((power * k) % (2 * n)) as f64 / n as f64;
                    Complex64::from_polar(q.center(c) as f64, angle)
                });
                let error = (terms.sum::<Complex64>() / plain.scale() - values[slot]).norm();
                assert!(
                    error < w.encoding_error(std::slice::from_ref(values), plain.scale()),
                    "N = 2^{log_n}: {error:e}"
                );
            }
        }
        let error = worst_difference(&w.ev.encoder().decode(&plain).unwrap(), &values);
        assert!(error < w.encoding_error(&values, plain.scale()), "N = 2^{log_n}: {error:e}");
    });
}

#[test]
fn encrypt_decrypt_add_multiply() {
    each_degree(|log_n, w, rng| {
        let (n, top) = (w.params.slots(), w.top());
        let (a, b) = (w.random(1, n, top, rng), w.random(1, n, top, rng));
        w.check(&format!("encrypt, N = 2^{log_n}"), &a, top);
        w.check(&format!("add, N = 2^{log_n}"), &w.add(&a, &b), top);
        w.check(&format!("multiply, N = 2^{log_n}"), &w.mul(&a, &b), top - 1);
        // Step by step, as the paper measures it.
        let triple = w.ev.tensor(&a.ct, &b.ct).unwrap();
        let relinearised = w.ev.relinearize(&triple, &w.keys).unwrap();
        let mut product = w.mul(&a, &b);
        product.ct = w.ev.rescale(&relinearised).unwrap();
        product.error += w.rounding_error(top - 1);
        w.check(&format!("tensor, relinearise, rescale, N = 2^{log_n}"), &product, top - 1);
        // Down to the last level.
        let mut power = a.duplicate();
        while power.ct.level() > 0 {
            power = w.mul(&power, &b);
        }
        w.check(&format!("all levels, N = 2^{log_n}"), &power, 0);
    });
}
