//! Plain matrices times batches of ciphertexts.

use crate::common::{World, numbers, params, seeded};
use he_core::Error;
use he_core::backend::Cpu;
use he_core::bfv::Bfv;
use he_core::bgv::Bgv;
use he_core::ckks::{Ciphertext, MatrixWeights};
use he_core::exact::{Decryptor, Encryptor, Evaluator, ExactSpec, Params, Scheme};
use he_core::ring::Ring;
use he_core::rlwe::{PublicKey, SecretKey};
use rand::{RngExt, rngs::ChaCha20Rng};

/// U M for `rows` rows of U.
fn product(rows: usize, u: &[f64], m: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |i: usize, k: usize| m.iter().enumerate().map(|(j, row)| u[i * m.len() + j] * row[k]).sum();
    (0..rows).map(|i| (0..m[0].len()).map(|k| entry(i, k)).collect()).collect()
}

fn bytes(count: usize, rng: &mut ChaCha20Rng) -> Vec<i8> {
    (0..count).map(|_| rng.random()).collect()
}

#[test]
fn all_weights_give_the_product_within_its_noise() {
    let mut rng = seeded();
    for params in [params(6, &[50, 30, 30], &[50], 30.0), params(4, &[60, 45, 45, 45], &[60], 45.0)] {
        let world = World::new(params, &mut rng);
        for (rows, columns) in [(1, 1), (3, 17), (9, 2), (8, 8)] {
            let m: Vec<_> = (0..columns).map(|_| numbers(world.n(), &mut rng)).collect();
            let ct = world.encrypt(&m, rng.random(), &mut rng);
            let (u, int) = (numbers(rows * columns, &mut rng), bytes(rows * columns, &mut rng));
            let wide: Vec<f64> = int.iter().map(|&byte| byte.into()).collect();
            let unit = -rng.random_range(0.001..0.01);
            let scaled: Vec<f64> = wide.iter().map(|x| x * unit).collect();
            let quantized = MatrixWeights::Quantized { bytes: &int, unit };
            let cases = [
                (MatrixWeights::Real(&u), &u, 1),
                (quantized, &scaled, 1),
                (MatrixWeights::Integers(&int), &wide, 0),
            ];
            for (weights, numbers, used) in cases {
                for level in (ct.level() - 1..=ct.level()).filter(|&level| level > 0) {
                    let matrix = world.ev.plain_matrix([rows, columns], weights, level).unwrap();
                    assert_eq!((matrix.rows(), matrix.columns(), matrix.level()), (rows, columns, level));
                    let found = world.ev.mul_matrix(&matrix, &ct).unwrap();
                    assert_eq!((found.batch(), found.level()), (rows, level - used), "{weights:?}");
                    assert_eq!(found.scale(), world.params.levels()[level - used].scale, "{weights:?}");
                    assert!(found.key_set().is_some() && found.key_set() == ct.key_set());
                    world.assert_within_noise(&found, &product(rows, numbers, &m));
                }
            }
        }
    }
}

/// A row of a product is the linear combination, word by word.
#[test]
fn rows_are_linear_combinations() {
    let mut rng = seeded();
    let world = World::new(params(5, &[50, 40, 40], &[50], 40.0), &mut rng);
    let m: Vec<_> = (0..5).map(|_| numbers(world.n(), &mut rng)).collect();
    let (ct, u) = (world.encrypt(&m, true, &mut rng), numbers(10, &mut rng));
    let matrix = world.ev.plain_matrix([2, 5], MatrixWeights::Real(&u), ct.level()).unwrap();
    let found = world.ev.mul_matrix(&matrix, &ct).unwrap();
    let entries: Vec<_> = (0..5).map(|j| ct.slice_batch(j..j + 1).unwrap()).collect();
    for i in 0..2 {
        let terms: Vec<_> = entries.iter().zip(&u[5 * i..]).map(|(ct, &u)| (ct, u)).collect();
        let expected = world.ev.linear_combination(&terms).unwrap();
        let row = found.slice_batch(i..i + 1).unwrap();
        for (found, expected) in row.pair().parts().into_iter().zip(expected.pair().parts()) {
            assert_eq!(found.to_words().unwrap(), expected.to_words().unwrap(), "row {i}");
        }
        assert_eq!((row.level(), row.scale()), (expected.level(), expected.scale()));
    }
}

/// Ciphertexts side by side in a row are multiplied as in one product for each, word by word.
#[test]
fn wide_batches_are_products_side_by_side() {
    let mut rng = seeded();
    let world = World::new(params(4, &[50, 40, 40], &[50], 40.0), &mut rng);
    let (u, int) = (numbers(10, &mut rng), bytes(10, &mut rng));
    for weights in [MatrixWeights::Real(&u), MatrixWeights::Integers(&int)] {
        let matrix = world.ev.plain_matrix([2, 5], weights, 2).unwrap();
        // A width that comes back is packed again.
        for width in [2, 3, 2] {
            let m: Vec<_> = (0..5 * width).map(|_| numbers(world.n(), &mut rng)).collect();
            let ct = world.encrypt(&m, true, &mut rng);
            let found = world.ev.mul_matrix(&matrix, &ct).unwrap();
            assert_eq!(found.batch(), 2 * width);
            for v in 0..width {
                let of = |ct: &Ciphertext, rows| {
                    let entries: Vec<usize> = (0..rows).map(|row| width * row + v).collect();
                    ct.gather_batch(&entries).unwrap()
                };
                let (found, expected) = (of(&found, 2), world.ev.mul_matrix(&matrix, &of(&ct, 5)).unwrap());
                for (found, expected) in found.pair().parts().into_iter().zip(expected.pair().parts()) {
                    assert_eq!(found.to_words().unwrap(), expected.to_words().unwrap(), "{v} of {width}");
                }
                assert_eq!((found.level(), found.scale()), (expected.level(), expected.scale()));
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = seeded();
    let world = World::new(params(5, &[50, 40, 40], &[50], 40.0), &mut rng);
    let m: Vec<_> = (0..3).map(|_| numbers(world.n(), &mut rng)).collect();
    let ct = world.encrypt(&m, true, &mut rng);
    let matrix = |shape, weights, level| world.ev.plain_matrix(shape, weights, level);
    let two = matrix([1, 2], MatrixWeights::Integers(&[1, 2]), 2).unwrap();
    let found = world.ev.mul_matrix(&two, &ct);
    assert!(matches!(found, Err(Error::MatrixRows { found: 3, needed: 2 })), "{found:?}");
    let three = matrix([1, 3], MatrixWeights::Integers(&[1, 2, 3]), 2).unwrap();
    let low = world.ev.mod_switch_to(&ct, 1).unwrap();
    let found = world.ev.mul_matrix(&three, &low);
    assert!(matches!(found, Err(Error::LevelTooHigh { found: 2, highest: 1 })), "{found:?}");
    let other = World::new(params(5, &[50, 40, 40], &[50], 40.0), &mut rng);
    let found = other.ev.mul_matrix(&three, &ct);
    assert!(matches!(found, Err(Error::RingMismatch)), "{found:?}");
    for (shape, weights) in [
        ([2, 2], MatrixWeights::Integers(&[1, 2, 3])),
        ([0, 2], MatrixWeights::Integers(&[])),
        ([usize::MAX, 2], MatrixWeights::Real(&[1.0; 2])),
        ([1, 3], MatrixWeights::Quantized { bytes: &[1, 2], unit: 0.5 }),
    ] {
        let found = matrix(shape, weights, 2);
        assert!(matches!(found, Err(Error::Argument { what: "matrix", .. })), "{shape:?}: {found:?}");
    }
    let found = matrix([1, 2], MatrixWeights::Real(&[1.0, f64::INFINITY]), 2);
    assert!(matches!(found, Err(Error::NotFinite { index: 1 })), "{found:?}");
    let found = matrix([1, 1], MatrixWeights::Real(&[1e30]), 2);
    assert!(matches!(found, Err(Error::ValueTooLarge { .. })), "{found:?}");
    for unit in [0.0, 1e-11] {
        let found = matrix([1, 1], MatrixWeights::Quantized { bytes: &[1], unit }, 2);
        assert!(matches!(found, Err(Error::Argument { what: "unit of a matrix", .. })), "{found:?}");
    }
    let found = matrix([1, 1], MatrixWeights::Quantized { bytes: &[1], unit: f64::NAN }, 2);
    assert!(matches!(found, Err(Error::NotFinite { .. })), "{found:?}");
    let found = matrix([1, 1], MatrixWeights::Real(&[1.0]), 0);
    assert!(matches!(found, Err(Error::LevelExhausted { .. })), "{found:?}");
    let found = matrix([1, 1], MatrixWeights::Integers(&[1]), 3);
    assert!(matches!(found, Err(Error::LevelTooHigh { found: 3, highest: 2 })), "{found:?}");
    assert!(matrix([1, 1], MatrixWeights::Integers(&[-128]), 0).is_ok());
}

fn exact<S: Scheme>(t: u64, rng: &mut ChaCha20Rng) {
    let params = Params::<S>::insecure(ExactSpec::from_bits(4, &[55, 55], &[56], t).unwrap()).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let secret = SecretKey::generate(params.rlwe(), rng);
    let public = PublicKey::generate(&secret, &ring, rng).unwrap();
    let ev = Evaluator::new(&params, &ring).unwrap();
    let m: Vec<Vec<u64>> = (0..5).map(|_| (0..16).map(|_| rng.random_range(0..t)).collect()).collect();
    let rows: Vec<&[u64]> = m.iter().map(Vec::as_slice).collect();
    let plain = ev.encoder().encode_coefficients_batch(&rows).unwrap();
    let ct = Encryptor::new(&params, &public).unwrap().encrypt(&plain, rng).unwrap();
    let u: Vec<i64> = (0..15).map(|_| rng.random()).collect();
    for level in [0, 1] {
        let matrix = ev.plain_matrix([3, 5], &u, level).unwrap();
        let found = ev.mul_matrix(&matrix, &ct).unwrap();
        assert_eq!((found.level(), matrix.level()), (level, level));
        let found = Decryptor::new(&params, &secret, &ring).unwrap().decrypt(&found).unwrap();
        let found: Vec<Vec<u64>> = ev.encoder().decode_coefficients(&found).unwrap();
        let entry = |i: usize, k: usize| {
            let terms = m.iter().enumerate().map(|(j, row)| i128::from(u[5 * i + j]) * i128::from(row[k]));
            terms.sum::<i128>().rem_euclid(i128::from(t)) as u64
        };
        for (i, row) in found.iter().enumerate() {
            assert_eq!(row, &(0..16).map(|k| entry(i, k)).collect::<Vec<_>>(), "row {i} modulo {t}");
        }
    }
    assert!(matches!(ev.plain_matrix([3, 5], &u, 2), Err(Error::LevelTooHigh { found: 2, highest: 1 })));
    assert!(matches!(ev.plain_matrix([3, 4], &u, 1), Err(Error::Argument { what: "matrix", .. })));
}

#[test]
fn exact_schemes_multiply_modulo_t() {
    let mut rng = seeded();
    // Bytes, and wider numbers.
    for t in [2, 251, 1 << 16] {
        exact::<Bfv>(t, &mut rng);
        exact::<Bgv>(t, &mut rng);
    }
}
