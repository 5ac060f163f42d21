//! Keys that the parties make together are keys of the sum of their secrets, with the errors that
//! are stated.

use super::*;
use crate::bfv::Bfv;
use crate::bgv::Bgv;
use crate::ckks;
use crate::conformance::{Mirror, Naive};
use crate::exact;
use crate::ring::{Automorphism, ERROR_VARIANCE, galois_conjugation, galois_rotation};
use crate::rlwe::SwitchKey;
use num_complex::Complex64;

/// Checks the errors of a switching key for a message under a secret.
fn errors(key: &SwitchKey, message: &Poly<Eval>, secret: &Poly<Eval>, variance: f64) {
    let (params, ring) = (key.params(), key.ring());
    let span = params.key_span();
    let p: BigInt = params.ring().p().iter().map(|&p| BigInt::from(p)).product();
    for (j, digit) in params.digits().iter().enumerate() {
        let mut phase = Poly::from_words(ring, span, 1, &key.body_words(j).unwrap()).unwrap();
        let a = Poly::uniform(ring, span, 1, key.seed().unwrap(), j as u32).unwrap();
        phase.mul_add_assign(&a, secret).unwrap();
        // P g_j by its definition, prime by prime.
        let factors: Vec<u64> = params
            .ring()
            .moduli_of(span)
            .enumerate()
            .map(|(i, q)| if digit.contains(&i) { q.neg(u64::try_from(&p % q.value()).unwrap()) } else { 0 })
            .collect();
        phase.scale_add_assign(message, &factors).unwrap();
        let e = integers(phase.into_coeff().unwrap());
        let found = rms(&e).powi(2) / variance;
        // N 10.5-like errors: the mean of N squares is within 30 % at N = 256, six deviations.
        assert!((0.6..1.4).contains(&found), "digit {j}: {found} of the variance");
    }
}

#[test]
fn keys_are_those_of_the_sum() {
    let mut rng = seeded(1);
    let params = ckks(8);
    for parties in [&[1, 2, 3][..], &[7, 2], &[1, 2, 3, 4, 5, 6, 7]] {
        let world = World::new(Cpu::new(), params.rlwe(), parties, parties.len(), &mut rng);
        let (n, k) = (world.ring.n() as f64, parties.len() as f64);
        let span = params.rlwe().key_span();
        let s = world.secret(span);
        let chain = world.secret(Span::chain(span.q));

        let public = world.public_key(&mut rng);
        let zero = RlweCiphertext::new(
            public.body().duplicate().unwrap(),
            Poly::uniform(&world.ring, Span::chain(span.q), 1, public.seed().unwrap(), 0).unwrap(),
        );
        let e = noise(&zero.unwrap(), &chain, None);
        let found = rms(&e).powi(2) / (k * ERROR_VARIANCE);
        assert!((0.6..1.4).contains(&found), "{found}");
        assert_eq!(public.key_set(), Some(world.session.key_set()));

        let relin = world.relin_key(&mut rng);
        let mut square = s.get().duplicate().unwrap();
        square.mul_assign(s.get()).unwrap();
        errors(&relin, &square, s.get(), k * ERROR_VARIANCE * (1.0 + k * 4.0 * n / 3.0));
        assert_eq!(relin.key_set(), Some(world.session.key_set()));

        for g in [galois_rotation(3, 8), galois_conjugation(8)] {
            let key = world.galois_key(g, &mut rng);
            let image = s.get().automorphism(Automorphism::new(g, 8).inverse_element()).unwrap();
            errors(&key, s.get(), &image, k * ERROR_VARIANCE);
        }
    }
}

/// Products, rotations and the noise that is stated for them, which exceeds what is measured and
/// is not idle.
#[test]
fn ckks_computes_under_collective_keys() {
    let mut rng = seeded(2);
    let params = ckks(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let (public, g) = (world.public_key(&mut rng), galois_rotation(1, 9));
    let keys = world.evaluation_keys(&[g], &mut rng);
    let ev = ckks::Evaluator::new(&params, &world.ring).unwrap();
    let encoder = ckks::Encoder::new(&params, &world.ring).unwrap();
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let slots = params.slots();
    let values =
        |rng: &mut ChaCha20Rng| -> Vec<f64> { (0..slots).map(|_| rng.random_range(-1.0..1.0)).collect() };
    let (a, b) = (values(&mut rng), values(&mut rng));
    let x = encryptor.encrypt_real(&a, &mut rng).unwrap();
    let y = encryptor.encrypt_real(&b, &mut rng).unwrap();
    let product = ev.mul(&x, &y, &keys).unwrap();
    let rotated = ev.rotate(&product, 1, &keys).unwrap();
    let secret = world.secret(Span::chain(params.rlwe().ring().q().len()));
    let expected: Vec<f64> = (0..slots).map(|i| a[i] * b[i]).collect();
    let turned: Vec<f64> = (0..slots).map(|i| expected[(i + 1) % slots]).collect();
    for (ct, values) in [(&x, &a), (&product, &expected), (&rotated, &turned)] {
        let to = encoder.params().encoding().at_level(&params, ct.level()).unwrap();
        let values: Vec<Complex64> = values.iter().map(|&x| x.into()).collect();
        let message = encoder.encode(&values, to.scale(ct.scale())).unwrap();
        let e = noise(ct.pair(), &secret, Some(message.poly()));
        let (found, stated) = (rms(&e).log2(), ct.noise().unwrap().rms_log2);
        println!("level {}: {found:.1} bits of noise, {stated:.1} stated", ct.level());
        assert!(found < stated + 0.5, "{found} bits, {stated} stated");
        assert!(found > stated - 6.0, "{found} bits, {stated} stated");
        let decrypted = encoder.decode_real(&world.decrypt(&params, ct, &mut rng)).unwrap();
        let off = decrypted[0].iter().zip(&values).map(|(x, z)| (x - z.re).abs()).fold(0.0, f64::max);
        assert!(off < 1e-2, "{off}");
    }
}

fn computes<S: Scheme>() {
    let mut rng = seeded(3);
    let params = exact::<S>(9).for_parties(3);
    let world = World::new(Cpu::new(), params.rlwe(), &[1, 2, 3], 3, &mut rng);
    let (public, g) = (world.public_key(&mut rng), galois_rotation(1, 9));
    let keys = world.evaluation_keys(&[g], &mut rng);
    let ev = exact::Evaluator::new(&params, &world.ring).unwrap();
    let encryptor = exact::Encryptor::new(&params, &public).unwrap();
    let encoder = exact::Encoder::new(&params).unwrap();
    let t = params.plain().value();
    let column = |rng: &mut ChaCha20Rng| -> Vec<u64> { (0..512).map(|_| rng.random_range(0..t)).collect() };
    let (a, b) = (column(&mut rng), column(&mut rng));
    let x = encryptor.encrypt_slots(&a, &mut rng).unwrap();
    let y = encryptor.encrypt_slots(&b, &mut rng).unwrap();
    let product = ev.mul(&x, &y, &keys).unwrap();
    let turned = ev.rotate(&ev.mul(&product, &x, &keys).unwrap(), 1, &keys).unwrap();
    let m = params.plain().modulus();
    let cubes: Vec<u64> = (0..512).map(|i| m.mul(m.mul(a[i], b[i]), a[i])).collect();
    let expected: Vec<u64> = (0..512).map(|i| cubes[(i / 256) * 256 + (i + 1) % 256]).collect();
    let plain = world.decrypt(&params, &turned, &mut rng);
    assert_eq!(encoder.decode::<u64>(&plain).unwrap().concat(), expected);
    // The predicted noise exceeds the actual one, which the sum of the secrets shows, by a little.
    let secret = world.secret(Span::chain(params.rlwe().ring().q().len()));
    let phase = turned.pair.message(&secret).unwrap();
    let message = plain.phase(&params, &world.ring, turned.meta.primes, turned.correction_factor());
    let e = noise(&turned.pair, &secret, Some(&message.unwrap()));
    drop(phase);
    let (found, stated) = (rms(&e).log2(), turned.noise().rms_log2);
    println!("{}: {found:.1} bits of noise, {stated:.1} stated", S::NAME);
    assert!(found < stated + 0.5 && found > stated - 8.0, "{found} bits, {stated} stated");
}

#[test]
fn bfv_computes_under_collective_keys() {
    computes::<Bfv>();
}

#[test]
fn bgv_computes_under_collective_keys() {
    computes::<Bgv>();
}

/// A back end that shares no arithmetic with the CPU finds the same words in every operation.
#[test]
fn every_back_end_makes_the_same_words() {
    let mut rng = seeded(4);
    let params = ckks(5);
    let mirror = Mirror::new(Cpu::new(), Naive);
    let world = World::new(mirror, params.rlwe(), &[1, 2, 3], 2, &mut rng);
    let public = world.public_key(&mut rng);
    world.evaluation_keys(&[5], &mut rng);
    let encryptor = ckks::Encryptor::new(&params, &public).unwrap();
    let x = encryptor.encrypt_real(&[0.5, -0.25], &mut rng).unwrap();
    let encoder = ckks::Encoder::new(&params, &world.ring).unwrap();
    let y = encoder.decode_real(&world.decrypt(&params, &x, &mut rng)).unwrap();
    assert!((y[0][1] + 0.25).abs() < 1e-2);
    let all = world.session.parties();
    let refresh = Refresh::new(&unchecked(&world.session), &params, &x, all, flooding(), 0).unwrap();
    world.run(&refresh, |key| {
        refresh.share(&key.share(&world.ring).unwrap(), &[], &mut publisher(), &mut rng).unwrap()
    });
}
