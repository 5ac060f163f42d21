//! Encoding of CKKS against its definition, and decoding against encoding.
//!
//! Must hold: the polynomial m of a plaintext takes the value z_j scale at zeta^(5^j), zeta = exp(i
//! pi / N), within the rounding of its coefficients; decoding gives these values back; a plaintext
//! that would wrap around the modulus is refused. The same must hold of bigckks, by decoding.
//!
//! Bytes: log2 of the slots, log2 of the scale, then real and imaginary parts, 16 bits each, and a
//! common exponent.

use super::target::Fields;
use super::world;
use he_core::ckks::Encoder;
use he_core::num_complex::Complex64;
use he_core::{backend::Cpu, bigckks};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use std::f64::consts::PI;

pub fn run(data: &[u8]) {
    let mut fields = Fields(data);
    let Some([log_slots, scale, exponent]) = fields.take() else { return };
    let (slots, scale) = (1usize << (log_slots % 4), f64::from(scale % 60).exp2());
    let unit = f64::from(i32::from(exponent) % 60 - 40).exp2();
    let mut part = || fields.u16().map(|x| f64::from(x.cast_signed()) * unit);
    let mut values = Vec::new();
    while values.len() < slots {
        let (Some(re), Some(im)) = (part(), part()) else { break };
        values.push(Complex64::new(re, im));
    }
    if values.is_empty() {
        return;
    }
    let w = world::ckks();
    let encoder = Encoder::new(&w.params, &w.ring).expect("an encoder");
    let to = w.params.encoding().scale(scale).slots(slots);
    let greatest = values.iter().map(|z| z.norm()).fold(0.0, f64::max);
    let n = w.ring.n();
    let product: BigInt = w.ring.spec().q().iter().map(|&q| BigInt::from(q)).product();
    let modulus = product.to_f64().expect("a number");
    match encoder.encode(&values, to) {
        Ok(plain) => {
            let found = &encoder.decode(&plain).expect("a plaintext decodes")[0];
            assert_eq!(found.len(), slots);
            // Each coefficient is rounded once; what floats add is far below.
            let bound = n as f64 / scale + greatest * 1e-11;
            let poly = plain.poly().duplicate().and_then(|poly| poly.into_coeff());
            let words = poly.and_then(|poly| poly.to_words()).expect("words");
            let coefficients = composed(&words, w.ring.spec().q(), &product, n);
            let mut power = 1;
            for j in 0..slots {
                let at =
                    |k: usize| Complex64::from_polar(1.0, PI * ((power * k) % (2 * n)) as f64 / n as f64);
                let direct =
                    coefficients.iter().enumerate().map(|(k, c)| at(k) * *c).sum::<Complex64>() / scale;
                let expected = values.get(j).copied().unwrap_or_default();
                let (a, b) = ((direct - expected).norm(), (found[j] - expected).norm());
                assert!(a <= bound && b <= bound, "slot {j}: {expected} became {direct} and {}", found[j]);
                power = power * 5 % (2 * n);
            }
        }
        Err(error) => {
            assert!(greatest * scale * 8.0 > modulus.min(2f64.powi(62)), "{greatest} x {scale}: {error}");
        }
    }
    of_bigckks(&values, slots, greatest, f64::log2(scale) as u32);
}

/// The numbers of least magnitude with these residues.
fn composed(words: &[u64], primes: &[u64], product: &BigInt, n: usize) -> Vec<f64> {
    (0..n)
        .map(|k| {
            let terms = primes.iter().enumerate().map(|(i, &q)| {
                let hat = product / q;
                let inverse = hat.modpow(&BigInt::from(q - 2), &BigInt::from(q));
                hat * (inverse * words[i * n + k] % q)
            });
            let x: BigInt = terms.sum::<BigInt>() % product;
            let x = if &x * 2 > *product { x - product } else { x };
            x.to_f64().expect("a number")
        })
        .collect()
}

fn of_bigckks(values: &[Complex64], slots: usize, greatest: f64, scale_log2: u32) {
    let w = world::bigckks();
    let encoder = bigckks::Encoder::<Cpu>::new(&w.params, &w.ring).expect("an encoder");
    let to = w.params.encoding().scale_log2(scale_log2).slots(slots);
    let Ok(plain) = encoder.encode(values, to) else { return };
    let found = &encoder.decode(&plain).expect("a plaintext decodes")[0];
    let bound = w.ring.n() as f64 / f64::from(scale_log2).exp2() + greatest * 1e-11;
    for (j, found) in found.iter().enumerate() {
        let expected = values.get(j).copied().unwrap_or_default();
        assert!((found - expected).norm() <= bound, "bigckks, slot {j}: {expected} became {found}");
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let seed = |head: [u8; 3], numbers: &[i16]| {
        head.into_iter().chain(numbers.iter().flat_map(|x| x.to_le_bytes())).collect::<Vec<u8>>()
    };
    vec![
        seed([3, 30, 28], &(0..16).map(|i| i * 2000 - 16000).collect::<Vec<_>>()),
        seed([0, 40, 27], &[1, -1]),
        seed([2, 20, 25], &[0, 0, 32767, -32768, 5]),
        seed([1, 59, 59], &[32767, 32767, 1, 1]),
        seed([3, 0, 40], &[1; 16]),
    ]
}
