//! Batches, sparse and real vectors.

use super::*;

#[test]
fn batches_broadcast_slice_and_concatenate() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, level) = (w.params.slots(), w.top());
            for batch in [1, 3, 17] {
                let what = |op: &str| format!("{name}, batch {batch}, {op}");
                let (a, b) = (w.random(batch, n, level, rng), w.random(batch, n, level, rng));
                let one = w.random(1, n, level, rng);
                for other in [&b, &one] {
                    w.check(&what("add"), &w.add(&a, other), level);
                    w.check(&what("sub"), &w.sub(&a, other), level);
                    w.check(&what("mul"), &w.mul(&a, other), level - 1);
                    w.check(&what("linear"), &w.linear_combination(&[(&a, 0.5), (other, -1.5)]), level - 1);
                }
                w.check(&what("mul, single on the left"), &w.mul(&one, &a), level - 1);
                w.check(&what("square"), &w.square(&a), level - 1);
                let plain = random_values(rng, batch, n);
                for plain in [&plain, &one.values] {
                    w.check(&what("add_plain"), &w.add_plain(&a, plain), level);
                    w.check(&what("mul_plain"), &w.mul_plain(&a, plain), level - 1);
                }
                w.check(&what("rotate"), &w.rotate(&a, 1), level);
                w.check(&what("conjugate"), &w.conjugate(&a), level);
                w.check(&what("mod_switch_to"), &w.mod_switch_to(&a, 0), 0);
                w.check(&what("add_scalar"), &w.add_scalar(&a, Complex64::new(0.5, 0.25)), level);
                // Every entry is treated as if it were the only one.
                let product = w.mul(&a, &b);
                let turned = w.rotate(&a, -1);
                for i in 0..batch {
                    let part = |s: &Sample| Sample {
                        ct: s.ct.slice_batch(i..i + 1).unwrap(),
                        values: vec![s.values[i].clone()],
                        error: s.error,
                    };
                    w.check(&what("slice"), &part(&a), level);
                    assert_eq!(
                        words(&w.mul(&part(&a), &part(&b)).ct),
                        words(&part(&product).ct),
                        "{}",
                        what("mul")
                    );
                    assert_eq!(
                        words(&w.rotate(&part(&a), -1).ct),
                        words(&part(&turned).ct),
                        "{}",
                        what("rotate")
                    );
                }
                let whole = Ciphertext::concat(&[&a.ct, &one.ct, &b.ct]).unwrap();
                let values = [&a.values[..], &one.values, &b.values].concat();
                w.check(&what("concat"), &Sample { ct: whole, values, error: a.error }, level);
                let whole = Ciphertext::concat(&[&a.ct, &b.ct]).unwrap();
                assert_eq!(words(&whole.slice_batch(0..batch).unwrap()), words(&a.ct));
                assert_eq!(words(&whole.slice_batch(batch..2 * batch).unwrap()), words(&b.ct));
                #[allow(clippy::reversed_empty_ranges)]
                for range in [0..0, 1..1, 2..1, 0..batch + 1, batch..batch + 1, 0..usize::MAX] {
                    let Err(Error::BatchRange { start, end, batch: found }) = a.ct.slice_batch(range.clone())
                    else {
                        panic!("{}", what("slice out of range"))
                    };
                    assert_eq!((start..end, found), (range, batch));
                }
                if batch > 1 {
                    let two = w.random(2, n, level, rng);
                    let mismatch = |result: Result<Ciphertext<Cpu>>, left: usize, right: usize| {
                        let Err(Error::BatchMismatch { left: l, right: r }) = result else {
                            panic!("{name}")
                        };
                        assert_eq!((l, r), (left, right), "{name}");
                    };
                    mismatch(w.ev.add(&a.ct, &two.ct), batch, 2);
                    mismatch(w.ev.sub(&two.ct, &a.ct), 2, batch);
                    mismatch(w.ev.mul(&two.ct, &a.ct, &w.keys), 2, batch);
                    mismatch(w.ev.add_plain(&a.ct, &w.encode(&two.values, level)), batch, 2);
                    mismatch(w.ev.linear_combination(&[(&a.ct, 1.0), (&two.ct, 1.0)]), batch, 2);
                }
            }
            assert!(matches!(Ciphertext::<Cpu>::concat(&[]), Err(Error::BatchRange { .. })));
            let (a, b) = (w.random(1, n, level, rng), w.random(1, n, level - 1, rng));
            let scales_differ = a.ct.scale() != b.ct.scale();
            match Ciphertext::concat(&[&a.ct, &b.ct]) {
                Err(Error::ScaleMismatch { .. }) => assert!(scales_differ),
                Err(Error::SpanMismatch { .. }) => assert!(!scales_differ),
                other => panic!("{name}: {other:?}"),
            }
        });
    });
}

#[test]
fn sparse_and_real_packing() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, level) = (w.params.slots(), w.top());
            let all: Vec<usize> = (0..w.params.rlwe().ring().log_n()).map(|i| 1 << i).collect();
            let full = w.random(1, n, level, rng);
            for &slots in &all {
                let what = |op: &str| format!("{name}, {slots} slots, {op}");
                let a = w.random(1, slots, level, rng);
                w.check(&what("fresh"), &a, level);
                w.check(&what("rotate"), &w.rotate(&a, 1), level);
                w.check(&what("conjugate"), &w.conjugate(&a), level);
                w.check(&what("mul"), &w.mul(&a, &a), level - 1);
                w.check(&what("+ full"), &w.add(&a, &full), level);
                w.check(&what("full x"), &w.mul(&full, &a), level - 1);
                w.check(&what("x full plaintext"), &w.mul_plain(&a, &full.values), level - 1);
                w.check(&what("full x sparse plaintext"), &w.mul_plain(&full, &a.values), level - 1);
                w.check(&what("+ complex constant"), &w.add_scalar(&a, Complex64::new(0.5, -0.5)), level);
                // The values repeat over all slots, and nothing lies between the coefficients of
                // the small ring.
                let plain = w.encode(&a.values, level);
                let mut repeated =
                    w.ev.encoder().encode(&a.values[0].repeat(n / slots), w.encoding(level, n)).unwrap();
                repeated.set_scale(plain.scale());
                let difference = worst_difference(
                    &w.ev.encoder().decode(&repeated).unwrap(),
                    &[a.values[0].repeat(n / slots)],
                );
                assert!(difference < 2.0 * w.encoding_error(&a.values, plain.scale()));
                let coefficients =
                    plain.poly().duplicate().unwrap().into_coeff().unwrap().to_words().unwrap();
                let gap = n / slots;
                assert!(
                    coefficients.iter().enumerate().all(|(k, &c)| k % gap == 0 || c == 0),
                    "{}",
                    what("gaps")
                );
                // Fewer values are padded with zeros.
                if slots > 1 {
                    let few =
                        w.ev.encoder().encode(&a.values[0][..slots - 1], w.encoding(level, slots)).unwrap();
                    let found = &w.ev.encoder().decode(&few).unwrap()[0];
                    assert!(found[slots - 1].norm() < w.encoding_error(&a.values, few.scale()));
                }
                // Real vectors.
                let real: Vec<f64> = a.values[0].iter().map(|z| z.re).collect();
                let plain = w.ev.encoder().encode_real(&real, w.encoding(level, slots)).unwrap();
                let ct = w.encrypt_plain(&plain, rng);
                let decryptor = Decryptor::new(&w.params, &w.secret, &w.ring).unwrap();
                let found = w.ev.encoder().decode_real(&decryptor.decrypt(&ct).unwrap()).unwrap();
                assert_eq!(found[0].len(), slots);
                assert!(found[0].iter().zip(&real).all(|(x, y)| (x - y).abs() < a.error), "{}", what("real"));
            }
            // A constant needs one slot and fills all.
            let z = Complex64::new(0.625, -0.25);
            for &slots in &all {
                let plain = w.ev.encoder().encode_constant(z, w.encoding(level, slots)).unwrap();
                let found = w.ev.encoder().decode(&plain).unwrap();
                assert_eq!(found[0].len(), slots);
                assert!(
                    worst_difference(&found, &[vec![z; slots]]) < w.encoding_error(&found, plain.scale())
                );
            }
        });
    });
}
