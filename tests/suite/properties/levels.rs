//! Levels and scales, aligned by themselves or by hand.

use super::*;

/// Ciphertexts that came to their level in different ways, at every pair of levels.
#[test]
fn levels_and_scales_align_by_themselves() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let n = w.params.slots();
            let ones = vec![vec![Complex64::new(1.0, 0.0); n]];
            // Fresh at the level; lowered to it; multiplied down to it by one; squared down to it.
            let histories = |level: usize, rng: &mut ChaCha20Rng| -> Vec<Sample> {
                let fresh = w.random(1, n, level, rng);
                let lowered = w.mod_switch_to(&w.random(1, n, w.top(), rng), level);
                let (mut multiplied, mut squared) =
                    (w.random(1, n, w.top(), rng), w.random(1, n, w.top(), rng));
                while multiplied.ct.level() > level {
                    multiplied = w.mul_plain(&multiplied, &ones);
                    squared = w.square(&squared);
                }
                vec![fresh, lowered, multiplied, squared]
            };
            let levels: Vec<Vec<Sample>> = (0..=w.top()).map(|level| histories(level, rng)).collect();
            for (i, row) in levels.iter().enumerate() {
                for (j, column) in levels.iter().enumerate() {
                    let level = i.min(j);
                    for (k, a) in row.iter().enumerate() {
                        let b = &column[(k + i + j) % column.len()];
                        let what = format!("{name}, levels {i} and {j}, history {k}");
                        w.check(&what, &w.add(a, b), level);
                        w.check(&what, &w.sub(a, b), level);
                        if level > 0 {
                            w.check(&what, &w.mul(a, b), level - 1);
                            let lincomb = w.linear_combination(&[(a, 0.75), (b, -0.5)]);
                            w.check(&what, &lincomb, level - 1);
                        }
                    }
                }
            }
            // Plaintexts of every level meet ciphertexts of every level.
            let values = random_values(rng, 1, n);
            for (i, row) in levels.iter().enumerate() {
                for j in 0..=w.top() {
                    let (a, plain, level) = (&row[0], w.encode(&values, j), i.min(j));
                    let error = w.encoding_error(&values, w.scale(j))
                        + if j > level {
                            magnitude(&values) / w.params.dropped(level + 1) + w.rounding_error(level)
                        } else {
                            0.0
                        };
                    let sum = Sample {
                        ct: w.ev.add_plain(&a.ct, &plain).unwrap(),
                        values: zip(&a.values, &values, |a, b| a + b),
                        error: w.error_at(a, level) + error,
                    };
                    w.check(&format!("{name}, ciphertext {i} + plaintext {j}"), &sum, level);
                    if level > 0 {
                        let product = Sample {
                            ct: w.ev.mul_plain(&a.ct, &plain).unwrap(),
                            values: zip(&a.values, &values, |a, b| a * b),
                            error: 2.0 * w.error_at(a, level) + 2.0 * error + w.rounding_error(level - 1),
                        };
                        w.check(&format!("{name}, ciphertext {i} x plaintext {j}"), &product, level - 1);
                    }
                }
            }
        });
    });
}

/// Unsettled operands: the scale of a product, and any other one.
#[test]
fn manual_operations_keep_what_they_say() {
    for_seeds(2, |rng| {
        each_world(rng, |name, w, rng| {
            let (n, top) = (w.params.slots(), w.top());
            let (a, b, c) = (w.random(1, n, top, rng), w.random(1, n, top, rng), w.random(1, n, top, rng));
            // Relinearised, not rescaled.
            let product = w.ev.tensor(&a.ct, &b.ct).unwrap();
            assert_eq!(product.scale(), w.scale(top) * w.scale(top));
            let ct = w.ev.relinearize(&product, &w.keys).unwrap();
            assert_eq!((ct.level(), ct.scale()), (top, product.scale()));
            let scale = ct.scale();
            let error = w.product_error(&a, &b)
                + (w.noise().slot(w.noise().key_switch(top)) + w.noise().slot(w.noise().rounding())) / scale;
            let values = zip(&a.values, &b.values, |a, b| a * b);
            let large = Sample { ct, values, error };
            w.check_values(&format!("{name}: relinearize"), &large);
            // Rescaled by hand it is what `mul` gives, up to one rounding.
            let rescaled = Sample {
                ct: w.ev.rescale(&large.ct).unwrap(),
                values: large.values.clone(),
                error: large.error + w.rounding_error(top - 1),
            };
            w.check(&format!("{name}: rescale"), &rescaled, top - 1);
            // The aligning operations rescale it themselves.
            let sum = Sample {
                ct: w.ev.add(&large.ct, &c.ct).unwrap(),
                values: zip(&large.values, &c.values, |a, b| a + b),
                error: rescaled.error + w.error_at(&c, top - 1),
            };
            w.check(&format!("{name}: product scale + level scale"), &sum, top - 1);
            // A dropped ciphertext keeps its scale and its words.
            for level in (0..=top).rev() {
                let dropped = Sample { ct: w.ev.drop_to_level(&a.ct, level).unwrap(), ..a.duplicate() };
                assert_eq!((dropped.ct.level(), dropped.ct.scale()), (level, a.ct.scale()), "{name}");
                w.check_values(&format!("{name}: dropped to {level}"), &dropped);
                let kept = w.params.levels()[level].primes * w.ring.n();
                assert_eq!(words(&dropped.ct)[0], words(&a.ct)[0][..kept], "{name}");
                let off_scale = (dropped.ct.scale() / w.scale(level) - 1.0).abs() > 1e-11;
                if level > 0 && off_scale {
                    // Off scale: the next aligning operation brings it to the level below.
                    let sum = w.ev.add(&dropped.ct, &dropped.ct).unwrap();
                    let error = 2.0 * (w.error_at(&dropped, level - 1));
                    let doubled = Sample { ct: sum, values: map(&a.values, |z| z + z), error };
                    w.check(&format!("{name}: dropped to {level}, added"), &doubled, level - 1);
                }
            }
            for level in top + 1..top + 3 {
                for result in [w.ev.drop_to_level(&a.ct, level), w.ev.mod_switch_to(&a.ct, level)] {
                    let Err(Error::LevelTooHigh { found, highest }) = result else { panic!("{name}") };
                    assert_eq!((found, highest), (level, top));
                }
            }
            let low = w.mod_switch_to(&a, 0);
            let result = w.ev.mod_switch_to(&low.ct, 1);
            assert!(matches!(result, Err(Error::LevelTooHigh { found: 1, highest: 0 })), "{name}");
            // A scale set by hand reads the values as multiplied by old/new.
            let mut halved = a.duplicate();
            halved.ct.set_scale(2.0 * a.ct.scale());
            halved.values = map(&a.values, |z| z * 0.5);
            w.check_values(&format!("{name}: scale set by hand"), &halved);
            let settled = w.mod_switch_to(&halved, top - 1);
            w.check(&format!("{name}: scale set by hand, settled"), &settled, top - 1);
        });
    });
}
