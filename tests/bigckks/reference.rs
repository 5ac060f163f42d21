//! The fast path gives the numbers of the reference: from the same seeds, every key, ciphertext and
//! result agrees bit for bit.

use super::common::*;
use he::backend::Cpu;
use he::bigckks::reference::{Embedding, IntPoly, Pair, QuotientRing, Scheme, plain_rounding};
use he::bigckks::{BigCkksSpec, Ciphertext, Complex64, SecretDistribution, SwitchKey};
use he::ring::{Seed, error_row, galois_conjugation, galois_rotation, ternary_row, wide_uniform_row};
use num_bigint::{BigInt, BigUint};
use rand::{RngExt, rngs::ChaCha20Rng};

fn specs() -> Vec<BigCkksSpec> {
    let spec = BigCkksSpec::new;
    vec![
        spec(2, 40, 12).with_digits(1),
        spec(2, 130, 30).with_digits(3),
        spec(3, 100, 30).with_digits(1),
        spec(4, 64, 20).with_digits(1),
        spec(4, 128, 30).with_digits(2),
        spec(5, 200, 40).with_digits(1),
        spec(5, 219, 40).with_digits(3),
        spec(6, 438, 50).with_digits(2),
        BigCkksSpec { log_p: 90, ..spec(5, 120, 30).with_digits(2) },
        spec(5, 100, 30).with_digits(1).with_secret(SecretDistribution::Sparse { weight: 8 }),
        spec(3, 1200, 50).with_digits(1),
    ]
}

fn signed(sample: impl Fn(&mut [i64]), n: usize) -> IntPoly {
    let mut row = vec![0; n];
    sample(&mut row);
    row.into_iter().map(BigInt::from).collect()
}

/// The uniform polynomial under a seed.
fn uniform(ring: &QuotientRing, seed: &Seed, index: u32) -> IntPoly {
    let words = (ring.modulus().bits() - 1).div_ceil(64) as usize;
    let planes: Vec<Vec<u64>> = (0..words)
        .map(|w| {
            let mut row = vec![0; ring.n()];
            wide_uniform_row(seed, index, w, 0, &mut row);
            row
        })
        .collect();
    let number = |k: usize| {
        let halves = planes.iter().flat_map(|plane| [plane[k] as u32, (plane[k] >> 32) as u32]);
        BigInt::from(BigUint::new(halves.collect()))
    };
    ring.reduce(&(0..ring.n()).map(number).collect::<Vec<_>>())
}

/// The keys that the reference makes from the same seeds.
struct Model {
    scheme: Scheme,
    s: IntPoly,
    public: Pair,
    relin: Vec<Pair>,
    w: u32,
}

impl Model {
    /// Follows the fast path's draws from `rng`; the secret is the fast path's.
    fn switch_key(
        scheme: &Scheme,
        s: &[BigInt],
        t: &[BigInt],
        spec: &BigCkksSpec,
        rng: &mut ChaCha20Rng,
    ) -> Vec<Pair> {
        let (seed, errors) = (Seed::random(rng), Seed::random(rng));
        let n = scheme.q.n();
        (0..spec.log_q.div_ceil(spec.digit_bits))
            .map(|j| {
                let a = uniform(&scheme.key_ring(), &seed, j);
                let e = signed(|row| error_row(&errors, j, 0, row), n);
                scheme.switching_key(s, t, &(BigInt::from(1) << (j * spec.digit_bits)), &a, &e)
            })
            .collect()
    }
}

fn pair(ct: &Ciphertext<Cpu>, entry: usize) -> Pair {
    let [c0, c1] = ct.parts();
    let ring = QuotientRing::power_of_two(c0.ring().n(), c0.bits());
    Pair { ring, c0: integers(c0).swap_remove(entry), c1: integers(c1).swap_remove(entry) }
}

fn check_key(key: &SwitchKey<Cpu>, expected: &[Pair]) {
    for (j, pair) in expected.iter().enumerate() {
        assert_eq!(integers(&key.body(j).unwrap())[0], pair.c0, "digit {j}");
    }
    assert!(key.body(expected.len()).is_err());
}

#[test]
fn every_operation() {
    for spec in specs() {
        for_seeds(4, |seed| {
            let sparse = spec.secret != SecretDistribution::UniformTernary;
            let w = World::new(spec, &mut rng(seed));
            let (n, log_n) = (w.ring.n(), spec.log_n);
            let scheme = Scheme::new(n, spec.log_q, spec.log_p);
            let s: IntPoly = w.secret.expose_coefficients().iter().map(|&c| BigInt::from(c)).collect();
            // The same draws again.
            let rng = &mut rng(seed);
            if sparse {
                let again = he::bigckks::SecretKey::generate(&w.params, rng);
                assert_eq!(again.expose_coefficients(), w.secret.expose_coefficients());
            } else {
                let seed = Seed::random(rng);
                assert_eq!(signed(|row| ternary_row(&seed, 0, 0, row), n), s);
            }
            let (a, e) = (Seed::random(rng), Seed::random(rng));
            let (a, e) = (uniform(&scheme.q, &a, 0), signed(|row| error_row(&e, 0, 0, row), n));
            let public = scheme.public_key(&s, &a, &e);
            assert_eq!(integers(&w.public.body().unwrap())[0], public.c0);
            let square = scheme.q.mul(&s, &s);
            let relin = Model::switch_key(&scheme, &s, &square, &spec, rng);
            check_key(w.keys.relin().unwrap(), &relin);
            let elements = [galois_rotation(1, log_n), galois_rotation(-2, log_n), galois_conjugation(log_n)];
            let mut galois: Vec<(u64, Vec<Pair>)> = Vec::new();
            for g in elements {
                if g != 1 && galois.iter().all(|(known, _)| *known != g) {
                    let image = scheme.q.automorphism(&s, g);
                    galois.push((g, Model::switch_key(&scheme, &s, &image, &spec, rng)));
                    check_key(w.keys.galois(g).unwrap(), &galois[galois.len() - 1].1);
                }
            }
            let model = Model { scheme, s, public, relin, w: spec.digit_bits };
            operations(&w, &model, &galois, rng);
        });
    }
}

fn operations(w: &World, model: &Model, galois: &[(u64, Vec<Pair>)], rng: &mut ChaCha20Rng) {
    let (scheme, n, ev) = (&model.scheme, w.ring.n(), &w.ev);
    let embedding = Embedding::new(n);
    let values = random_values(rng, 2, n / 2);
    // Encoding: the O(N^2) definition. At these scales, an error of float64 moves a coefficient
    // across a half only in freak cases. A difference of one is therefore allowed here, and the
    // encoder's own integers are used below.
    let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_batch(&vectors, w.params.encoding()).unwrap();
    let messages = integers(plain.poly());
    for (message, z) in messages.iter().zip(&values) {
        let scale = f64::from(w.params.scale_log2()).exp2();
        let exact = plain_rounding(&embedding.project(&embedding.pi_inverse(z), scale));
        let tolerance = BigInt::from((scale * 1e-14) as i64 + 1);
        assert!(message.iter().zip(&exact).all(|(a, b)| (a - b).magnitude() <= tolerance.magnitude()));
    }
    let decoded = ev.encoder().decode(&plain).unwrap();
    for (message, z) in messages.iter().zip(&decoded) {
        let exact = embedding.pi(&embedding.sigma(message, f64::from(w.params.scale_log2()).exp2()));
        assert!(exact.iter().zip(z).all(|(a, b)| (a - b).norm() < 1e-11));
    }
    // Encryption.
    let encryptor = he::bigckks::Encryptor::new(&w.params, &w.public).unwrap();
    let draw = rng.random();
    let seed = Seed::random(&mut self::rng(draw));
    let x = encryptor.encrypt(&plain, &mut self::rng(draw)).unwrap();
    for (entry, message) in messages.iter().enumerate() {
        let v = signed(|row| ternary_row(&seed, 0, entry * n, row), n);
        let [e0, e1] = [0, 1].map(|i| signed(|row| error_row(&seed, i, entry * n, row), n));
        assert_eq!(pair(&x, entry), scheme.encrypt(&model.public, message, &v, [&e0, &e1]));
    }
    let y = w.encrypt(&random_values(rng, 2, n / 2), rng);
    for entry in 0..2 {
        let (px, py) = (pair(&x, entry), pair(&y, entry));
        assert_eq!(w.message(&x)[entry], scheme.decrypt(&px, &model.s));
        assert_eq!(pair(&ev.add(&x, &y).unwrap(), entry), scheme.add(&px, &py));
        // Products, at the top and at a smaller modulus: the same key, fewer digits and primes.
        for log_q in [x.log_q(), x.log_q() - 3, (2 * x.scale_log2() + 1).max(x.log_q() / 2).min(x.log_q())] {
            let to = BigInt::from(1) << log_q;
            if log_q <= x.scale_log2() {
                continue;
            }
            let (x, y) = (ev.drop_to_bits(&x, log_q).unwrap(), ev.drop_to_bits(&y, log_q).unwrap());
            let (px, py) = (scheme.drop_to(&px, &to), scheme.drop_to(&py, &to));
            assert_eq!(pair(&x, entry), px);
            for (g, keys) in galois {
                let log_n = w.params.spec().log_n;
                let turned = if *g == galois_conjugation(log_n) {
                    ev.conjugate(&x, &w.keys).unwrap()
                } else {
                    let step = if *g == galois_rotation(1, log_n) { 1 } else { -2 };
                    ev.rotate(&x, step, &w.keys).unwrap()
                };
                assert_eq!(
                    pair(&turned, entry),
                    scheme.apply_automorphism(&px, *g, keys, model.w),
                    "g = {g}"
                );
            }
            if 2 * x.scale_log2() >= log_q {
                continue;
            }
            let (product, exact) = (ev.tensor(&x, &y).unwrap(), scheme.multiply(&px, &py));
            for (part, exact) in product.parts().iter().zip(&exact.d) {
                assert_eq!(integers(part)[entry], *exact);
            }
            let (square, exact_square) = (ev.tensor(&x, &x).unwrap(), scheme.multiply(&px, &px));
            for (part, exact) in square.parts().iter().zip(&exact_square.d) {
                assert_eq!(integers(part)[entry], *exact);
            }
            let (product, exact) = (
                ev.relinearize(&product, &w.keys).unwrap(),
                scheme.relinearise(&exact, &model.relin, model.w),
            );
            assert_eq!(pair(&product, entry), exact);
            // Any number of bits.
            for bits in 0..=x.scale_log2() {
                let to = BigInt::from(1) << (log_q - bits);
                assert_eq!(
                    pair(&ev.rescale(&product, bits).unwrap(), entry),
                    scheme.rescale(&exact, &to),
                    "{bits} bits"
                );
            }
            // One entry serves a batch.
            let single = y.slice_batch(1..2).unwrap();
            let once = ev.tensor(&x, &single).unwrap();
            let exact = scheme.multiply(&px, &pair(&y, 1));
            assert_eq!(integers(once.parts()[1])[entry], exact.d[1]);
            // A plaintext.
            let by_plain = ev.mul_plain(&x, &plain).unwrap();
            assert_eq!(integers(by_plain.parts()[1])[entry], px.ring.mul(&px.c1, &messages[entry]));
        }
    }
}
