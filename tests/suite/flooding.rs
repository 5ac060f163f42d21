//! Tests noise estimates of CKKS, and the floods chosen by them.

use super::common::*;
use he::arith::Modulus;
use he::backend::Cpu;
use he::ckks::{Ciphertext, CkksParams, Complex64, Decryptor, Encryptor, NoiseEstimate, SecretEncryptor};
use he::ring::Ring;
use he::rlwe::{Flooding, PublicKey, SecretKey};
use he::wire::Wire;
use he::{Error, Publisher};
use num_bigint::{BigInt, BigUint};
use num_traits::ToPrimitive;
use rand::{RngExt, rngs::ChaCha20Rng};

/// The values that a ciphertext should hold in each of its N/2 slots, with no error but that of
/// float64.
struct Exact {
    ct: Ciphertext<Cpu>,
    values: Vec<Complex64>,
}

impl Exact {
    fn fresh(w: &World, rng: &mut ChaCha20Rng) -> Self {
        let values = random_values(rng, 1, w.params.slots());
        let plain = w.encode(&values, w.top());
        let ct = if rng.random() {
            w.encrypt_plain(&plain, rng)
        } else {
            let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
            encryptor.encrypt(&plain, rng).unwrap().expand().unwrap()
        };
        Self { ct, values: values[0].clone() }
    }

    fn map(&self, ct: Ciphertext<Cpu>, f: impl Fn(Complex64) -> Complex64) -> Self {
        Self { ct, values: self.values.iter().map(|&z| f(z)).collect() }
    }

    fn zip(&self, other: &Self, ct: Ciphertext<Cpu>, f: impl Fn(Complex64, Complex64) -> Complex64) -> Self {
        let values = self.values.iter().zip(&other.values).map(|(&a, &b)| f(a, b)).collect();
        Self { ct, values }
    }

    fn turned(&self, step: usize) -> Vec<Complex64> {
        let count = self.values.len();
        (0..count).map(|i| self.values[(i + step) % count]).collect()
    }

    /// log2 of the root mean square of the coefficients of S m + e - S m, and of its greatest value
    /// at the roots.
    fn measured(&self, w: &World) -> (f64, f64) {
        let found = &w.decrypt(&self.ct)[0];
        let scale = self.ct.scale();
        let errors: Vec<f64> = found.iter().zip(&self.values).map(|(a, b)| (a - b).norm() * scale).collect();
        let squares: f64 = errors.iter().map(|e| e * e).sum();
        // The root mean square of 2n coefficients for n slots (Parseval).
        let rms = squares.sqrt() / (errors.len() as f64 * 2f64.sqrt());
        (rms.log2(), errors.iter().copied().fold(0.0, f64::max).log2())
    }

    /// The loss of float64 in this test, as log2 of a slot's error times the scale.
    fn float(&self) -> f64 {
        let greatest = self.values.iter().map(|z| z.norm()).fold(1.0, f64::max);
        (greatest * self.ct.scale()).log2() - 46.0
    }
}

/// One random operation on samples of the pool; `None` if it does not apply.
fn step(w: &World, pool: &[Exact], rng: &mut ChaCha20Rng) -> Option<(&'static str, Exact)> {
    let a = &pool[rng.random_range(0..pool.len())];
    let b = &pool[rng.random_range(0..pool.len())];
    let (ev, keys) = (&w.ev, &w.keys);
    let number = rng.random_range(-1.5..1.5);
    let level = a.ct.level();
    let both = level.min(b.ct.level());
    let plain = random_values(rng, 1, w.params.slots());
    Some(match rng.random_range(0..16) {
        0 => ("add", a.zip(b, ev.add(&a.ct, &b.ct).unwrap(), |x, y| x + y)),
        1 => ("sub", a.zip(b, ev.sub(&a.ct, &b.ct).unwrap(), |x, y| x - y)),
        2 => ("add to itself", a.map(ev.add(&a.ct, &a.ct).unwrap(), |x| x + x)),
        3 => ("integer", a.map(ev.mul_integer(&a.ct, -3).unwrap(), |x| x * -3.0)),
        4 => ("conjugate", a.map(ev.conjugate(&a.ct, keys).unwrap(), |x| x.conj())),
        5 => {
            // By one key, or by two.
            let step = rng.random_range(1..4usize) % a.values.len();
            ("rotate", Exact { ct: ev.rotate(&a.ct, step as i64, keys).unwrap(), values: a.turned(step) })
        }
        6 => {
            let z = Complex64::new(number, if rng.random() { 0.0 } else { 0.5 });
            ("add a scalar", a.map(ev.add_scalar(&a.ct, z).unwrap(), |x| x + z))
        }
        7 => {
            let encoded = w.encode(&plain, level);
            let other = Exact { ct: a.ct.duplicate().unwrap(), values: plain[0].clone() };
            ("add a plaintext", a.zip(&other, ev.add_plain(&a.ct, &encoded).unwrap(), |x, y| x + y))
        }
        8 if both > 0 => ("mul", a.zip(b, ev.mul(&a.ct, &b.ct, keys).unwrap(), |x, y| x * y)),
        9 if level > 0 => ("square", a.map(ev.square(&a.ct, keys).unwrap(), |x| x * x)),
        10 if level > 0 => ("mul a scalar", a.map(ev.mul_scalar(&a.ct, number).unwrap(), |x| x * number)),
        11 if level > 0 => {
            let encoded = w.encode(&plain, level);
            let other = Exact { ct: a.ct.duplicate().unwrap(), values: plain[0].clone() };
            ("mul a plaintext", a.zip(&other, ev.mul_plain(&a.ct, &encoded).unwrap(), |x, y| x * y))
        }
        12 if both > 0 => {
            let ct = ev.linear_combination(&[(&a.ct, number), (&b.ct, -0.5)]).unwrap();
            ("combination", a.zip(b, ct, |x, y| x * number - y * 0.5))
        }
        13 if level > 0 => {
            let ct = ev.sum_of_rotations(&a.ct, &[(0, number), (1, -0.5)], keys).unwrap();
            let next = a.turned(1);
            let values = a.values.iter().zip(&next).map(|(x, y)| x * number - y * 0.5).collect();
            ("sum of rotations", Exact { ct, values })
        }
        14 if both > 0 => {
            let mut product = ev.tensor(&a.ct, &b.ct).unwrap();
            let other = ev.tensor(&b.ct, &a.ct).unwrap();
            ev.add_products(&mut product, &other).unwrap();
            let ct = ev.relinearize_rescale(&product, keys).unwrap();
            ("products", a.zip(b, ct, |x, y| x * y * 2.0))
        }
        15 if level > 0 => ("lower", a.map(ev.mod_switch_to(&a.ct, level - 1).unwrap(), |x| x)),
        _ => return None,
    })
}

/// In random programs over all operations and shapes, the measured noise stays below the estimate.
#[test]
fn estimates_bound_the_noise() {
    for_seeds(3, |rng| {
        for (name, params) in shapes() {
            let w = World::new(&params, [1, 2], rng);
            let mut pool: Vec<Exact> = (0..3).map(|_| Exact::fresh(&w, rng)).collect();
            let mut program = Vec::new();
            for _ in 0..25 {
                let Some((operation, sample)) = step(&w, &pool, rng) else { continue };
                program.push(operation);
                let greatest = sample.values.iter().map(|z| z.norm()).fold(0.0, f64::max);
                // Within the range of level 0, with room for noise.
                if greatest > 0.25 * params.range().min(64.0) {
                    continue;
                }
                let NoiseEstimate { rms_log2, peak_log2, value_log2 } = sample.ct.noise().unwrap();
                let (rms, peak) = sample.measured(&w);
                let float = sample.float();
                let what = format!("{name}: {program:?}");
                // Averages over few coefficients are off by more.
                let slack = if params.rlwe().ring().n() < 128 { 2.0 } else { 0.5 };
                assert!(
                    rms.exp2() <= (rms_log2 + slack).exp2() + float.exp2(),
                    "{what}: 2^{rms}, 2^{rms_log2}"
                );
                assert!(peak.exp2() <= peak_log2.exp2() + float.exp2(), "{what}: 2^{peak}, 2^{peak_log2}");
                assert!(greatest <= value_log2.exp2() * (1.0 + 1e-9), "{what}: {greatest}, 2^{value_log2}");
                pool.push(sample);
            }
        }
    });
}

/// Estimates are useful: close to the noise of fresh ciphertexts, and a few bits above that of
/// products.
#[test]
fn estimates_are_near_the_noise() {
    for_seeds(2, |rng| {
        let (_, params) = shapes().pop().unwrap();
        let w = World::new(&params, [1], rng);
        let check = |sample: &Exact, slack: f64, what: &str| {
            let ((rms, _), estimate) = (sample.measured(&w), sample.ct.noise().unwrap());
            assert!(rms > estimate.rms_log2 - slack, "{what}: 2^{rms}, 2^{}", estimate.rms_log2);
        };
        let phases = (0..w.params.slots()).map(|_| rng.random_range(0.0..std::f64::consts::TAU));
        let values = vec![phases.map(|phase| Complex64::from_polar(0.99, phase)).collect::<Vec<_>>()];
        let ct = w.encrypt_plain(&w.encode(&values, w.top()), rng);
        let mut x = Exact { ct, values: values[0].clone() };
        check(&x, 0.3, "fresh");
        for depth in 1..=3 {
            x = x.map(w.ev.square(&x.ct, &w.keys).unwrap(), |z| z * z);
            check(&x, 1.0 + depth as f64, "squares");
        }
        check(&x.map(w.ev.add(&x.ct, &x.ct).unwrap(), |z| z + z), 5.0, "sum");
    });
}

/// c0 + c1 s as centred integers.
fn phase(w: &World, plain: &he::ckks::Plaintext<Cpu>) -> Vec<BigInt> {
    let words = plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
    let primes = &w.ring.spec().q()[..plain.poly().span().q];
    let product: BigUint = primes.iter().map(|&q| BigUint::from(q)).product();
    let n = w.ring.n();
    (0..n)
        .map(|k| {
            let term = |(i, &q): (usize, &u64)| {
                let m = Modulus::new(q).unwrap();
                let hat = &product / q;
                let inverse = m.inv((&hat % q).to_u64().unwrap());
                hat * m.mul(words[i * n + k], inverse)
            };
            let x = primes.iter().enumerate().map(term).sum::<BigUint>() % &product;
            let half = &product >> 1u32;
            if x > half { BigInt::from(x) - BigInt::from(product.clone()) } else { BigInt::from(x) }
        })
        .collect()
}

/// The distance that all coefficients and all decryptions sum to lies below 2^-security, with the
/// noise as measured; the flood is as wide as it says, beyond 61 bits too, and the values survive
/// it.
#[test]
fn floods_hide_the_noise() {
    for_seeds(2, |rng| {
        for name in ["N=32, 61-bit primes", "N=1024, depth 6"] {
            let (_, params) = shapes().into_iter().find(|(found, _)| *found == name).unwrap();
            let w = World::new(&params, [1], rng);
            let decryptor = Decryptor::new(&params, &w.secret, &w.ring).unwrap();
            let x = Exact::fresh(&w, rng);
            let x = x.map(w.ev.square(&x.ct, &w.keys).unwrap(), |z| z * z);
            let (rms, _) = x.measured(&w);
            for (security_bits, decryptions) in [(20, 1), (40, 1 << 10), (64, 1 << 20)] {
                let flooding = Flooding::Statistical { security_bits, decryptions };
                let bits = decryptor.flood_bits(&x.ct, flooding).unwrap();
                let n = w.ring.n() as f64;
                // The mean of |e| is at most its root mean square.
                let distance = (decryptions as f64).log2() + n.log2() + rms - f64::from(bits + 1);
                assert!(distance < -f64::from(security_bits), "{name}: 2^{distance}");
                assert!(distance > -f64::from(security_bits) - 14.0, "{name}: 2^{distance} is too good");
                let plain = decryptor.decrypt_flooded(&x.ct, flooding, rng).unwrap();
                let own = phase(&w, &decryptor.decrypt(&x.ct).unwrap());
                let bound = BigInt::from(1) << bits;
                let moved: Vec<BigInt> = phase(&w, &plain).iter().zip(&own).map(|(a, b)| a - b).collect();
                assert!(moved.iter().all(|e| -&bound <= *e && *e < bound), "{name}: {bits} bits");
                let greatest = moved.iter().map(|e| e.magnitude().clone()).max().unwrap();
                assert!(greatest.bits() + 4 > u64::from(bits), "{name}: {bits} bits, {greatest}");
                let after = plain.noise().unwrap();
                assert!(after.rms_log2 >= f64::from(bits));
                let found = w.ev.encoder().decode(&plain).unwrap();
                let worst = found[0].iter().zip(&x.values).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
                assert!(worst * x.ct.scale() <= after.peak_log2.exp2(), "{name}: {bits} bits");
            }
            let wide = Flooding::Statistical { security_bits: 64, decryptions: 1 << 20 };
            assert!(decryptor.flood_bits(&x.ct, wide).unwrap() > 61);
        }
    });
}

/// A flood that does not fit the modulus together with the values is refused, with both numbers; so
/// is one for unknown noise.
#[test]
fn floods_are_checked() {
    let rng = &mut rng(91);
    let (_, params) = shapes().pop().unwrap();
    let w = World::new(&params, [1], rng);
    let decryptor = Decryptor::new(&params, &w.secret, &w.ring).unwrap();
    let x = w.random(1, params.slots(), w.top(), rng);
    let low = w.ev.mod_switch_to(&x.ct, 0).unwrap();
    // 61 bits at a modulus of 50.
    for (flooding, needed) in [
        (Flooding::Bits(61), 61..=61),
        (Flooding::Bits(49), 49..=49),
        (Flooding::Statistical { security_bits: 60, decryptions: 1 << 20 }, 90..=110),
    ] {
        match decryptor.decrypt_flooded(&low, flooding, rng) {
            Err(error @ Error::FloodTooWide { needed_bits, available_bits }) => {
                assert!(needed.contains(&needed_bits) && (47..=48).contains(&available_bits), "{error}");
                let text = error.to_string();
                assert!(text.contains(&format!("{needed_bits} bits")), "{text}");
                assert!(
                    text.contains(&available_bits.to_string()) && text.contains("higher level"),
                    "{text}"
                );
            }
            result => panic!("{result:?}"),
        }
    }
    assert!(decryptor.decrypt_flooded(&low, Flooding::Bits(47), rng).is_ok());
    for (security_bits, decryptions) in [(0, 1), (257, 1), (40, 0)] {
        let flooding = Flooding::Statistical { security_bits, decryptions };
        let result = decryptor.decrypt_flooded(&x.ct, flooding, rng);
        assert!(matches!(result, Err(Error::Argument { what: "flooding", .. })));
    }

    // A ciphertext that was read has no estimate, whatever the sender knew; the holder of the key
    // may state one.
    let flooding = Flooding::Statistical { security_bits: 20, decryptions: 1 };
    let frame = x.ct.to_frame(&params).unwrap();
    let mut read = Ciphertext::from_frame(&params, &w.ring, &frame).unwrap();
    assert!(read.noise().is_none());
    let error = decryptor.decrypt_flooded(&read, flooding, rng).unwrap_err();
    assert!(matches!(error, Error::NoiseUnknown), "{error}");
    assert!(error.to_string().contains("set_noise"));
    let product = w.ev.mul(&read, &x.ct, &w.keys).unwrap();
    let sum = w.ev.add(&x.ct, &read).unwrap();
    let both = Ciphertext::concat(&[&x.ct, &read]).unwrap();
    for unknown in [product, sum, both] {
        assert!(unknown.noise().is_none());
        assert!(matches!(decryptor.decrypt_flooded(&unknown, flooding, rng), Err(Error::NoiseUnknown)));
    }
    read.set_noise(x.ct.noise());
    let bits = |ct: &Ciphertext<Cpu>| decryptor.flood_bits(ct, flooding).unwrap();
    assert_eq!(bits(&read), bits(&x.ct));
    // Nothing of it is printed or written.
    assert!(!format!("{:?}", x.ct).contains("rms"));
    assert!(read.to_frame(&params).unwrap().body == frame.body);
}

/// A publisher floods by its security and number, counts entries, and refuses before it counts.
#[test]
fn publications_are_flooded_and_counted() {
    let rng = &mut rng(92);
    let (_, params) = shapes().pop().unwrap();
    let w = World::new(&params, [1], rng);
    let decryptor = Decryptor::new(&params, &w.secret, &w.ring).unwrap();
    let x = w.random(1, params.slots(), w.top(), rng);
    let mut publisher = Publisher::new(40, 4).unwrap();
    let plain = decryptor.publish(&x.ct, &mut publisher, rng).unwrap();
    assert_eq!(publisher.left(), 3);
    let bits = decryptor.flood_bits(&x.ct, publisher.flooding()).unwrap();
    assert_eq!(publisher.flooding(), Flooding::Statistical { security_bits: 40, decryptions: 4 });
    let own = phase(&w, &decryptor.decrypt(&x.ct).unwrap());
    let moved = phase(&w, &plain).iter().zip(&own).map(|(a, b)| (a - b).bits()).max().unwrap();
    assert!(moved <= u64::from(bits) && moved + 4 > u64::from(bits), "{moved} of {bits} bits");
    let both = Ciphertext::concat(&[&x.ct, &x.ct]).unwrap();
    decryptor.publish(&both, &mut publisher, rng).unwrap();
    let error = decryptor.publish(&both, &mut publisher, rng).unwrap_err();
    assert!(matches!(error, Error::DecryptionsSpent { asked: 2, left: 1, of: 4 }), "{error}");

    // A flood that does not fit is known before the key is used.
    let mut publisher = Publisher::new(200, 5).unwrap();
    let low = w.ev.mod_switch_to(&x.ct, 0).unwrap();
    let error = decryptor.publish(&low, &mut publisher, rng).unwrap_err();
    assert!(matches!(error, Error::FloodTooWide { .. }), "{error}");
    assert_eq!(publisher.left(), 5);
}

/// Parameters for published results have room for the flood of a fresh encryption, and leave the
/// precision that was asked for.
#[test]
fn published_parameters_have_room() {
    let rng = &mut rng(93);
    let params = CkksParams::for_depth(0).precision_bits(12).published(40, 16).build().unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let x = Encryptor::new(&params, &public).unwrap().encrypt_real(&[0.75, -1.0, 0.5], rng).unwrap();
    // Encodings at such scales are as fine as rounding, and not as doubles.
    assert!(x.noise().unwrap().rms_log2 < 12.0, "{:?}", x.noise());
    let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
    let plain = decryptor.publish(&x, &mut Publisher::new(40, 16).unwrap(), rng).unwrap();
    let found = he::ckks::Encoder::new(&params, &ring).unwrap().decode_real(&plain).unwrap();
    for (found, expected) in found[0].iter().zip([0.75, -1.0, 0.5, 0.0]) {
        assert!((found - expected).abs() < 12f64.exp2().recip(), "{found}, {expected}");
    }
}
