//! The words that seeds decide, and those that encryption and decryption randomise.

use super::*;

#[test]
fn secret_encryption_expands_to_the_same_values() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            let encryptor = SecretEncryptor::new(&w.params, &w.secret, &w.ring).unwrap();
            for level in 0..=w.top() {
                for batch in [1, 3] {
                    let values = random_values(rng, batch, n);
                    let seeded = encryptor.encrypt(&w.encode(&values, level), rng).unwrap();
                    assert_eq!(
                        (seeded.level(), seeded.scale(), seeded.slots(), seeded.batch()),
                        (level, w.scale(level), n, batch)
                    );
                    let error = w.encoding_error(&values, w.scale(level))
                        + w.noise().slot(he::ring::ERROR_VARIANCE.sqrt()) / w.scale(level);
                    let sample = Sample { ct: seeded.expand().unwrap(), values, error };
                    w.check(name, &sample, level);
                    if level > 0 {
                        w.check(name, &w.mul(&sample, &sample), level - 1);
                    }
                }
            }
        });
    });
}

#[test]
fn flooded_decryptions_stay_within_their_bound() {
    for_seeds(2, |rng| {
        let w = world("N=32, 61-bit primes", [], rng);
        let n = w.ring.n() as f64;
        let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
        let a = w.random(3, w.params.slots(), w.top(), rng);
        for bits in [0, 1, 10, 20, 30, 40] {
            let exact = decryptor.decrypt(&a.ct).unwrap();
            let flooded = decryptor.decrypt_flooded(&a.ct, Flooding::Bits(bits), rng).unwrap();
            let found = w.ev.encoder().decode(&flooded).unwrap();
            let reach = f64::from(bits).exp2();
            let worst = worst_difference(&found, &w.ev.encoder().decode(&exact).unwrap());
            // A slot sums N coefficients of at most 2^bits, root mean square 2^bits / sqrt(3).
            assert!(worst <= n * reach / w.scale(w.top()) + 1e-13, "{bits} bits: {worst:e}");
            assert!(worst >= 0.1 * reach / w.scale(w.top()), "{bits} bits: no flooding, {worst:e}");
            let bound = a.error + n * reach / w.scale(w.top());
            assert!(worst_difference(&found, &a.values) <= bound, "{bits} bits");
            // Every coefficient moved by an integer in [-2^bits, 2^bits), and they are not all
            // alike.
            let coefficients = |plain: &he::ckks::Plaintext<Cpu>| {
                plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap()
            };
            let q = he::arith::Modulus::new(w.ring.spec().q()[0]).unwrap();
            let moved: Vec<i64> = coefficients(&flooded)[..3 * w.ring.n()]
                .iter()
                .zip(&coefficients(&exact))
                .map(|(&x, &y)| q.center(q.sub(x, y)))
                .collect();
            assert!(
                moved.iter().all(|x| (-(1i64 << bits)..1i64 << bits).contains(x)),
                "{bits} bits: {moved:?}"
            );
            assert!(moved.iter().any(|x| *x != moved[0]), "{bits} bits: {moved:?}");
        }
        let flooding = Flooding::Statistical { security_bits: 300, decryptions: 1 };
        let result = decryptor.decrypt_flooded(&a.ct, flooding, rng);
        assert!(matches!(result, Err(Error::Argument { what: "flooding", .. })));
    });
}

/// Everything that a program makes from one seed: all words, and the decoded values.
fn transcript(params: &CkksParams, seed: u64) -> (Vec<u64>, Vec<Complex64>) {
    let rng = &mut ChaCha20Rng::seed_from_u64(seed);
    let w = World::new(params, [1, 2, -1], rng);
    let n = params.slots();
    let (a, b) = (w.random(5, n, w.top(), rng), w.random(5, n, w.top(), rng));
    let mut words: Vec<u64> = w.public.body().to_words().unwrap();
    let relin = w.keys.relin().unwrap();
    (0..params.rlwe().digits().len()).for_each(|digit| words.extend(relin.body_words(digit).unwrap()));
    let seeded = SecretEncryptor::new(params, &w.secret, &w.ring).unwrap();
    let seeded = seeded.encrypt(&w.encode(&a.values, w.top()), rng).unwrap();
    words.extend(seeded.parts().0.to_words().unwrap());
    let product = w.mul(&a, &b);
    let results = [
        seeded.expand().unwrap(),
        w.ev.rotate(&a.ct, 3, &w.keys).unwrap(),
        w.ev.conjugate(&b.ct, &w.keys).unwrap(),
        w.ev.add(&product.ct, &a.ct).unwrap(),
        w.ev.sum_of_rotations(&a.ct, &[(0, 0.5), (1, 0.25), (3, -0.5)], &w.keys).unwrap(),
        w.ev.linear_combination(&[(&a.ct, 0.5), (&b.ct, 0.1)]).unwrap(),
        product.ct,
        a.ct,
        b.ct,
    ];
    let mut values = Vec::new();
    for ct in &results {
        ct.pair().parts().iter().for_each(|part| words.extend(part.to_words().unwrap()));
        values.extend(w.decrypt(ct).into_iter().flatten());
    }
    (words, values)
}

#[test]
fn the_seed_decides_every_word() {
    let (_, params) = shapes().into_iter().find(|(name, _)| *name == "N=16, 3 uneven digits").unwrap();
    assert_eq!(transcript(&params, 1), transcript(&params, 1));
    let (a, b) = (transcript(&params, 1).0, transcript(&params, 2).0);
    // Two uniform words of 40 bits are equal once in 10^12; small public constants do not occur.
    let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
    assert!(equal <= 1, "{equal} equal words under different seeds");
}

#[test]
fn encryptions_of_one_plaintext_differ() {
    let w = world("N=16, 3 uneven digits", [], &mut rng(6));
    let plain = w.encode(&random_values(&mut rng(7), 2, 8), 2);
    let encryptor = Encryptor::new(&w.params, &w.public).unwrap();
    let rng = &mut rng(8);
    let (a, b) = (encryptor.encrypt(&plain, rng).unwrap(), encryptor.encrypt(&plain, rng).unwrap());
    for (a, b) in words(&a).iter().zip(&words(&b)) {
        assert!(a.iter().zip(b).all(|(a, b)| a != b));
    }
    // Entries of a batch differ as well.
    let n = w.ring.n();
    for part in words(&a) {
        assert!(part.chunks(2 * n).all(|limb| limb[..n].iter().zip(&limb[n..]).all(|(a, b)| a != b)));
    }
}

#[test]
fn the_number_of_threads_changes_no_word() {
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let spec = CkksSpec::from_bits(11, &[50, 40, 40, 40], &[51, 51], 40.0).unwrap();
    let large = CkksParams::insecure(spec).unwrap();
    for params in [shapes()[3].1.clone(), large] {
        let one = pool(1).install(|| transcript(&params, 3));
        for threads in [2, 3] {
            assert!(pool(threads).install(|| transcript(&params, 3)) == one, "{threads} threads");
        }
    }
}
