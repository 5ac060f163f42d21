//! The scheme computes what it should: values, depth to the last bit, sparse slots, and what
//! RNS-CKKS computes.

use super::common::*;
use he::backend::Cpu;
use he::bigckks::{BigCkksParams, BigCkksSpec, Ciphertext, Complex64, Noise, SecretDistribution};
use he::ring::Ring;
use he::rlwe::KeyRequirements;
use he::{Error, ckks, rlwe};
use rand::RngExt;

/// A bound on the slot error of coefficients with this variance, after the scale: eight deviations.
fn slot_error(w: &World, variance: f64, scale_log2: u32) -> f64 {
    8.0 * (variance * w.ring.n() as f64).sqrt() / f64::from(scale_log2).exp2()
}

fn specs() -> Vec<BigCkksSpec> {
    vec![
        BigCkksSpec::new(2, 120, 35),
        BigCkksSpec::new(5, 150, 40).with_digits(1),
        BigCkksSpec::new(8, 200, 45).with_digits(3),
        BigCkksSpec::new(10, 300, 50),
        BigCkksSpec::new(9, 200, 45).with_secret(SecretDistribution::Sparse { weight: 64 }),
    ]
}

/// Whether both have the same words, modulus, scale and noise.
fn same(a: &Ciphertext<Cpu>, b: &Ciphertext<Cpu>) -> bool {
    let words = |ct: &Ciphertext<Cpu>| ct.parts().map(|part| part.to_words().unwrap());
    let state = |ct: &Ciphertext<Cpu>| (ct.log_q(), ct.scale_log2(), ct.slots(), ct.noise());
    words(a) == words(b) && state(a) == state(b)
}

#[test]
fn values_go_through_every_operation() {
    for spec in specs() {
        for_seeds(3, |seed| {
            let rng = &mut rng(seed);
            let w = World::new(spec, rng);
            let (ev, keys, slots) = (&w.ev, &w.keys, w.params.slots());
            let noise = Noise::new(&w.params);
            let (xs, ys) = (random_values(rng, 2, slots), random_values(rng, 2, slots));
            let (x, y) = (w.encrypt(&xs, rng), w.encrypt(&ys, rng));
            let scale = spec.scale_log2;
            let fresh = slot_error(&w, noise.fresh_variance() + 1.0, scale) + 1e-13;
            w.near("fresh", &x, &xs, fresh);
            w.near("add", &ev.add(&x, &y).unwrap(), &zip(&xs, &ys, |x, y| x + y), 2.0 * fresh);
            w.near("sub", &ev.sub(&x, &y).unwrap(), &zip(&xs, &ys, |x, y| x - y), 2.0 * fresh);
            w.near("neg", &ev.neg(&x).unwrap(), &map(&xs, |x| -x), fresh);
            // In place, at a smaller modulus, and at another scale: the same words.
            let (low, up) = (ev.drop_to_bits(&y, y.log_q() - 7).unwrap(), ev.scale_up(&y, 3).unwrap());
            for other in [&y, &low, &up] {
                let mut sum = x.clone();
                ev.add_assign(&mut sum, other).unwrap();
                assert!(same(&sum, &ev.add(&x, other).unwrap()));
                let mut difference = sum.clone();
                ev.sub_assign(&mut difference, other).unwrap();
                assert!(same(&difference, &ev.sub(&sum, other).unwrap()));
                ev.neg_assign(&mut difference).unwrap();
                assert!(same(&difference, &ev.neg(&ev.sub(&sum, other).unwrap()).unwrap()));
            }
            let switch = slot_error(&w, noise.key_switch_variance(w.params.digits(spec.log_q)), scale);
            let turned = |step: usize| -> Vec<Vec<Complex64>> {
                xs.iter().map(|x| (0..slots).map(|i| x[(i + step) % slots]).collect()).collect()
            };
            w.near("rotate", &ev.rotate(&x, 1, keys).unwrap(), &turned(1), fresh + switch);
            w.near("rotate back", &ev.rotate(&x, -2, keys).unwrap(), &turned(2 * slots - 2), fresh + switch);
            let path = ev.rotate(&x, slots as i64 - 1, keys);
            match path {
                Ok(path) => w.near("rotate by a path", &path, &turned(slots - 1), fresh + 64.0 * switch),
                Err(error) => assert!(matches!(error, Error::MissingGaloisKey { .. }), "{error}"),
            }
            w.near("conjugate", &ev.conjugate(&x, keys).unwrap(), &map(&xs, |x| x.conj()), fresh + switch);
            let product = ev.mul(&x, &y, keys).unwrap();
            assert_eq!((product.scale_log2(), product.log_q()), (2 * scale, spec.log_q));
            let xy = zip(&xs, &ys, |x, y| x * y);
            let error = 3.0 * fresh;
            w.near("mul", &product, &xy, error);
            let bits = rng.random_range(1..=scale + 5);
            let rescaled = ev.rescale(&product, bits).unwrap();
            assert_eq!((rescaled.scale_log2(), rescaled.log_q()), (2 * scale - bits, spec.log_q - bits));
            let rounding = slot_error(&w, noise.rescale_variance(), 2 * scale - bits);
            w.near(&format!("rescale by {bits} bits"), &rescaled, &xy, error + rounding);
            w.near("square", &ev.square(&x, keys).unwrap(), &map(&xs, |x| x * x), error);
            // Sums bring scale and modulus together.
            let mixed = ev.add(&rescaled, &x).unwrap();
            assert_eq!(mixed.log_q(), spec.log_q - bits);
            assert_eq!(mixed.scale_log2(), (2 * scale - bits).max(scale));
            w.near("mixed sum", &mixed, &zip(&xy, &xs, |a, b| a + b), error + rounding + fresh);
            w.near(
                "mixed difference",
                &ev.sub(&x, &rescaled).unwrap(),
                &zip(&xs, &xy, |a, b| a - b),
                error + rounding + fresh,
            );
            // Plaintexts and constants.
            let vectors: Vec<&[Complex64]> = ys.iter().map(Vec::as_slice).collect();
            let plain = ev.encoder().encode_batch(&vectors, w.params.encoding()).unwrap();
            let one = ev.encoder().encode(&ys[0], w.params.encoding()).unwrap();
            w.near(
                "add plain",
                &ev.add_plain(&rescaled, &plain).unwrap(),
                &zip(&xy, &ys, |a, b| a + b),
                error + rounding + fresh,
            );
            let z = Complex64::new(0.25, -0.5);
            for ct in [&rescaled, &x] {
                let mut in_place = ct.clone();
                ev.add_plain_assign(&mut in_place, &plain).unwrap();
                ev.sub_plain_assign(&mut in_place, &one).unwrap();
                ev.add_scalar_assign(&mut in_place, z).unwrap();
                ev.mul_integer_assign(&mut in_place, -3).unwrap();
                let sum = ev.sub_plain(&ev.add_plain(ct, &plain).unwrap(), &one).unwrap();
                let expected = ev.mul_integer(&ev.add_scalar(&sum, z).unwrap(), -3).unwrap();
                assert!(same(&in_place, &expected));
            }
            w.near(
                "sub plain",
                &ev.sub_plain(&x, &plain).unwrap(),
                &zip(&xs, &ys, |a, b| a - b),
                2.0 * fresh,
            );
            w.near("mul plain", &ev.mul_plain(&x, &plain).unwrap(), &xy, error);
            w.near(
                "mul one plain",
                &ev.mul_plain(&x, &one).unwrap(),
                &zip(&xs, &ys[..1], |x, y| x * y),
                error,
            );
            let c = Complex64::new(0.3, -1.25);
            w.near("add constant", &ev.add_scalar(&x, c).unwrap(), &map(&xs, |x| x + c), fresh * 1.5);
            w.near("mul constant", &ev.mul_scalar(&x, -0.375, 20).unwrap(), &map(&xs, |x| x * -0.375), fresh);
            w.near("mul integer", &ev.mul_integer(&x, -3).unwrap(), &map(&xs, |x| x * -3.0), 3.0 * fresh);
            w.near("scale up", &ev.scale_up(&x, 11).unwrap(), &xs, fresh);
            w.near("mod down", &ev.drop_to_bits(&x, scale + 9).unwrap(), &xs, fresh);
            // Lazy relinearisation.
            let mut sum = ev.tensor(&x, &y).unwrap();
            ev.add_products(&mut sum, &ev.tensor(&x, &x).unwrap()).unwrap();
            let expected = zip(&xs, &ys, |x, y| x * y + x * x);
            w.near("sum of products", &ev.relinearize(&sum, keys).unwrap(), &expected, 2.0 * error);
            // Another device handle.
            let ring = Ring::new(Cpu::portable(), w.params.ring().clone()).unwrap();
            let there = he::bigckks::Evaluator::new(&w.params, &ring).unwrap();
            let moved = keys.to(&ring).unwrap();
            let there = there.mul(&x.to(&ring).unwrap(), &y.to(&ring).unwrap(), &moved).unwrap();
            for (a, b) in there.parts().iter().zip(product.parts()) {
                assert_eq!(a.to_words().unwrap(), b.to_words().unwrap());
            }
        });
    }
}

/// Steps of uneven widths down to the last bit that holds a value, and a clear error beyond.
#[test]
fn a_chain_of_products_to_the_last_bit() {
    for_seeds(3, |seed| {
        let rng = &mut rng(seed);
        let w = World::new(BigCkksSpec::new(9, 310, 40), rng);
        let xs = random_values(rng, 1, w.params.slots());
        let x = w.encrypt(&xs, rng);
        let (mut power, mut values, mut depth) = (x.duplicate().unwrap(), xs.clone(), 0);
        let error = loop {
            match w.ev.mul(&power, &x, &w.keys) {
                Ok(product) => {
                    // By turns a few bits more and fewer than the scale.
                    let bits = [37, 43, 40, 38, 42][depth % 5];
                    power = w.ev.rescale(&product, bits).unwrap();
                    values = zip(&values, &xs, |a, b| a * b);
                    depth += 1;
                    w.near(&format!("depth {depth}"), &power, &values, 1e-6);
                }
                Err(error) => break error,
            }
        };
        assert!(depth >= 6, "depth {depth}");
        assert!(matches!(error, Error::ModulusExhausted { needed, left } if needed > left), "{error}");
        // Without products: down to the scale, a sign and the values' magnitude (below 1).
        let last = w.ev.drop_to_bits(&power, power.scale_log2() + 1).unwrap();
        w.near("last bit", &last, &values, 1e-6);
        assert!(matches!(w.ev.drop_to_bits(&power, power.scale_log2()), Err(Error::ScaleRange { .. })));
        let last = w.ev.rescale(&last, last.scale_log2() - 20).unwrap();
        w.near("rescaled to 20 bits", &last, &values, 2e-3);
        let exhausted = w.ev.rescale(&last, last.log_q());
        assert!(matches!(exhausted, Err(Error::ModulusExhausted { .. })));
    });
}

#[test]
fn sparse_slots_repeat() {
    for_seeds(2, |seed| {
        let rng = &mut rng(seed);
        let w = World::new(BigCkksSpec::new(7, 150, 40), rng);
        for slots in [1, 2, 8, 64] {
            let (xs, ys) = (random_values(rng, 2, slots), random_values(rng, 2, slots));
            let (x, y) = (w.encrypt(&xs, rng), w.encrypt(&ys, rng));
            w.near("product", &w.ev.mul(&x, &y, &w.keys).unwrap(), &zip(&xs, &ys, |a, b| a * b), 1e-6);
            let turned: Vec<Vec<Complex64>> =
                xs.iter().map(|x| (0..slots).map(|i| x[(i + 1) % slots]).collect()).collect();
            w.near("rotation", &w.ev.rotate(&x, 1, &w.keys).unwrap(), &turned, 1e-6);
        }
    });
}

/// The same messages and the same program on both schemes.
#[test]
fn rns_ckks_computes_the_same() {
    for_seeds(2, |seed| {
        let rng = &mut rng(seed);
        let w = World::new(BigCkksSpec::new(10, 220, 45), rng);
        let spec = ckks::CkksSpec::from_bits(10, &[50, 45, 45, 45], &[50, 50], 45.0).unwrap();
        let params = ckks::CkksParams::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = rlwe::SecretKey::generate(params.rlwe(), rng);
        let public = rlwe::PublicKey::generate(&secret, &ring, rng).unwrap();
        let keys = rlwe::EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
            rng,
        )
        .unwrap();
        let ev = ckks::Evaluator::new(&params, &ring).unwrap();
        let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
        let values = random_values(rng, 2, 512);
        let vectors: Vec<&[Complex64]> = values.iter().map(Vec::as_slice).collect();
        // x conj(rotate(x)) + x^2, times x.
        let theirs = {
            let plain = ev.encoder().encode_batch(&vectors, params.encoding()).unwrap();
            let x = encryptor.encrypt(&plain, rng).unwrap();
            let turned = ev.conjugate(&ev.rotate(&x, 1, &keys).unwrap(), &keys).unwrap();
            let sum = ev.add(&ev.mul(&x, &turned, &keys).unwrap(), &ev.square(&x, &keys).unwrap()).unwrap();
            let y = ev.mul(&sum, &x, &keys).unwrap();
            ev.encoder()
                .decode(&ckks::Decryptor::new(&params, &secret, &ring).unwrap().decrypt(&y).unwrap())
                .unwrap()
        };
        let ours = {
            let (ev, keys) = (&w.ev, &w.keys);
            let x = w.encrypt(&values, rng);
            let turned = ev.conjugate(&ev.rotate(&x, 1, keys).unwrap(), keys).unwrap();
            let sum = ev.add(&ev.mul(&x, &turned, keys).unwrap(), &ev.square(&x, keys).unwrap()).unwrap();
            let sum = ev.rescale(&sum, 45).unwrap();
            w.decrypt(&ev.rescale(&ev.mul(&sum, &x, keys).unwrap(), 45).unwrap())
        };
        let error = worst_difference(&theirs, &ours);
        assert!(error < 1e-7, "{error:e}");
    });
}

/// The operation that the mark of the GPU is about: N = 2^14, log q = 438.
#[test]
fn a_product_at_the_size_of_the_mark() {
    let rng = &mut rng(1);
    let w = World::new(BigCkksSpec::new(14, 438, 50), rng);
    let (xs, ys) = (random_values(rng, 1, 8192), random_values(rng, 1, 8192));
    let (x, y) = (w.encrypt(&xs, rng), w.encrypt(&ys, rng));
    let product = w.ev.rescale(&w.ev.mul(&x, &y, &w.keys).unwrap(), 50).unwrap();
    w.near("product", &product, &zip(&xs, &ys, |x, y| x * y), 1e-8);
    assert_eq!(product.log_q(), 388);
}

/// The largest degree and modulus: products of 75 primes for one digit, beyond the 64 that a chain
/// holds.
#[test]
fn the_largest_parameters() {
    let rng = &mut rng(2);
    let spec = BigCkksSpec::new(16, 1200, 50).with_digits(1);
    let params = BigCkksParams::insecure(spec).unwrap();
    assert!(params.ring().primes().count() > 64);
    let ring = Ring::new(Cpu::new(), params.ring().clone()).unwrap();
    let secret = he::bigckks::SecretKey::generate(&params, rng);
    let public = he::bigckks::PublicKey::generate(&secret, &ring, rng).unwrap();
    let keys =
        he::bigckks::EvaluationKeys::generate(&secret, &ring, KeyRequirements::new().relinearisation(), rng)
            .unwrap();
    let ev = he::bigckks::Evaluator::new(&params, &ring).unwrap();
    let w = World { params, ring, secret, public, keys, ev };
    let xs = random_values(rng, 1, w.params.slots());
    let x = w.encrypt(&xs, rng);
    let square = w.ev.rescale(&w.ev.square(&x, &w.keys).unwrap(), 33).unwrap();
    w.near("square", &square, &map(&xs, |x| x * x), 1e-7);
    assert_eq!((square.log_q(), square.scale_log2()), (1167, 67));
}

/// "Precision and depth in bits": what the builder says about precision, after products over all
/// the depth.
#[test]
fn the_builder_keeps_its_promise() {
    let (depth_bits, precision) = (150, 22);
    let params =
        BigCkksParams::for_depth_bits(depth_bits).precision_bits(precision).slots(2048).build().unwrap();
    let rng = &mut rng(3);
    let w = World::with_params(params, rng);
    let unit = |rng: &mut rand::rngs::ChaCha20Rng| {
        Complex64::from_polar(1.0, rng.random_range(0.0..std::f64::consts::TAU))
    };
    let xs = vec![(0..w.params.slots()).map(|_| unit(rng)).collect::<Vec<_>>()];
    let x = w.encrypt(&xs, rng);
    let (mut y, mut values, scale) = (x.duplicate().unwrap(), xs.clone(), w.params.scale_log2());
    let mut left = depth_bits;
    while left >= scale {
        y = w.ev.rescale(&w.ev.mul(&y, &x, &w.keys).unwrap(), scale).unwrap();
        values = zip(&values, &xs, |a, b| a * b);
        left -= scale;
    }
    w.near("all the depth", &y, &values, f64::from(precision).exp2().recip());
}
