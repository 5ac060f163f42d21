//! Transposes and products of encrypted matrices.

use crate::common::{World, numbers, params, seeded};
use he_core::Error;
use he_core::ckks::{Ciphertext, CkksParams};
use he_core::rlwe::{EvaluationKeys, KeyRequirements, SecretKey};
use rand::{RngExt, rngs::ChaCha20Rng};

fn small(log_n: u32) -> CkksParams {
    params(log_n, &[55, 45, 45], &[56], 45.0)
}

fn matrix(rows: usize, columns: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<f64>> {
    (0..rows).map(|_| numbers(columns, rng)).collect()
}

fn transpose(x: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..x[0].len()).map(|j| x.iter().map(|row| row[j]).collect()).collect()
}

/// A^T B.
fn product(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let entry = |i: usize, k: usize| a.iter().zip(b).map(|(a, b)| a[i] * b[k]).sum();
    (0..a[0].len()).map(|i| (0..b[0].len()).map(|k| entry(i, k)).collect()).collect()
}

fn powers(log_n: u32) -> KeyRequirements {
    KeyRequirements::new().rotations((0..log_n - 1).map(|k| 1 << k)).conjugation()
}

#[test]
fn rows_become_columns() {
    let mut rng = seeded();
    for log_n in [2, 3, 5] {
        let world = World::new(small(log_n), &mut rng);
        let n = world.n();
        let x = matrix(n, n, &mut rng);
        let ct = world.encrypt(&x, rng.random(), &mut rng);
        let all = KeyRequirements::new().elements((3..2 * n as u64).step_by(2));
        // A key for each automorphism, and keys that compose them.
        for needs in [all, powers(log_n)] {
            let keys = world.keys(needs, &mut rng);
            let found = world.ev.transpose(&ct, &keys).unwrap();
            world.assert_within_noise(&found, &transpose(&x));
            assert_eq!((found.level(), found.scale()), (ct.level(), ct.scale()));
        }
    }
}

#[test]
fn products_of_encrypted_matrices() {
    let mut rng = seeded();
    for (log_n, rows) in [(2, 1), (3, 8), (5, 9), (4, 40)] {
        let world = World::new(small(log_n), &mut rng);
        let [a, b] = [(); 2].map(|()| matrix(rows, world.n(), &mut rng));
        let keys = world.keys(powers(log_n).relinearisation(), &mut rng);
        let [x, y] = [&a, &b].map(|m| world.encrypt(m, true, &mut rng));
        let found = world.ev.transposed_product(&x, &y, &keys).unwrap();
        world.assert_within_noise(&found, &product(&a, &b));
        assert_eq!((found.level(), found.scale()), (1, world.params.levels()[1].scale));
        // The operands have different levels, and are one matrix.
        let low = world.ev.mod_switch_to(&x, 1).unwrap();
        let found = world.ev.transposed_product(&x, &low, &keys).unwrap();
        world.assert_within_noise(&found, &product(&a, &a));
        assert_eq!(found.level(), 0);
    }
}

/// A B by the transpose of A, and a product with a plain matrix before.
#[test]
fn operations_compose() {
    let mut rng = seeded();
    let world = World::new(params(4, &[55, 45, 45, 45], &[56], 45.0), &mut rng);
    let n = world.n();
    let [a, b] = [(); 2].map(|()| matrix(n, n, &mut rng));
    let u = numbers(n * n, &mut rng);
    let keys = world.keys(powers(4).relinearisation(), &mut rng);
    let [x, y] = [&a, &b].map(|m| world.encrypt(m, false, &mut rng));
    let weights = he_core::ckks::MatrixWeights::Real(&u);
    let combined = world.ev.mul_matrix(&world.ev.plain_matrix([n, n], weights, 3).unwrap(), &x).unwrap();
    let transposed = world.ev.transpose(&combined, &keys).unwrap();
    let found = world.ev.transposed_product(&transposed, &y, &keys).unwrap();
    let rows: Vec<Vec<f64>> = u.chunks(n).map(<[f64]>::to_vec).collect();
    let combined = product(&transpose(&rows), &a);
    world.assert_within_noise(&found, &product(&transpose(&combined), &b));
}

/// A B by plain sums.
fn times(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
    product(&transpose(a), b)
}

#[test]
fn traces_and_powers() {
    let mut rng = seeded();
    let world = World::new(params(3, &[55, 45, 45, 45], &[56], 45.0), &mut rng);
    let keys = world.keys(powers(3).relinearisation(), &mut rng);
    for rows in [1, 5, 8] {
        let x = matrix(rows, 8, &mut rng);
        let found = world.ev.trace(&world.encrypt(&x, false, &mut rng)).unwrap();
        assert_eq!((found.batch(), found.level()), (1, 3));
        // Coefficient k is the sum along diagonal k, which comes back below with the other sign.
        let diagonal =
            |k: usize| (0..rows).map(|i| if i + k < 8 { x[i][i + k] } else { -x[i][i + k - 8] }).sum();
        world.assert_within_noise(&found, &[(0..8).map(diagonal).collect()]);
    }
    let x = matrix(8, 8, &mut rng);
    let ct = world.encrypt(&x, false, &mut rng);
    let mut power = x.clone();
    for (k, depth) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3)] {
        if k > 1 {
            power = times(&power, &x);
        }
        let found = world.ev.matrix_power(&ct, k, &keys).unwrap();
        assert_eq!(found.level(), 3 - depth, "power {k}");
        world.assert_within_noise(&found, &power);
    }
    let found = world.ev.matrix_power(&ct, 0, &keys);
    assert!(matches!(found, Err(Error::Argument { .. })), "{found:?}");
    let found = world.ev.matrix_power(&ct, 9, &keys);
    assert!(matches!(found, Err(Error::LevelExhausted { .. })), "{found:?}");
    let wide = matrix(9, 8, &mut rng);
    let found = world.ev.trace(&world.encrypt(&wide, false, &mut rng));
    assert!(matches!(found, Err(Error::MatrixRows { found: 9, needed: 8 })), "{found:?}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = seeded();
    let world = World::new(small(3), &mut rng);
    let keys = world.keys(powers(3).relinearisation(), &mut rng);
    let [five, eight] = [5, 8].map(|rows| {
        let x = matrix(rows, 8, &mut rng);
        world.encrypt(&x, false, &mut rng)
    });
    let found = world.ev.transpose(&five, &keys);
    assert!(matches!(found, Err(Error::MatrixRows { found: 5, needed: 8 })), "{found:?}");
    let found = world.ev.transposed_product(&five, &eight, &keys);
    assert!(matches!(found, Err(Error::MatrixRows { found: 8, needed: 5 })), "{found:?}");
    let bottom = world.ev.mod_switch_to(&eight, 0).unwrap();
    let found = world.ev.transposed_product(&eight, &bottom, &keys);
    assert!(matches!(found, Err(Error::LevelExhausted { .. })), "{found:?}");
    let some = world.keys(KeyRequirements::new().relinearisation().rotations([1, 2]), &mut rng);
    let found = world.ev.transpose(&eight, &some);
    assert!(matches!(found, Err(Error::MissingConjugationKey)), "{found:?}");
    let some = world.keys(KeyRequirements::new().conjugation().rotations([2]), &mut rng);
    let found = world.ev.transpose(&eight, &some);
    assert!(matches!(found, Err(Error::MissingGaloisKey { .. })), "{found:?}");
    let found = world.ev.transposed_product(&eight, &eight, &world.keys(powers(3), &mut rng));
    assert!(matches!(found, Err(Error::MissingRelinKey)), "{found:?}");
    let stranger = SecretKey::generate(world.params.rlwe(), &mut rng);
    let needs = powers(3).relinearisation();
    let keys = EvaluationKeys::generate(&stranger, &world.ring, needs, &mut rng).unwrap();
    let found = world.ev.transposed_product(&eight, &eight, &keys);
    assert!(matches!(found, Err(Error::KeyMismatch { .. })), "{found:?}");
}

#[test]
fn sums_over_a_batch_have_the_words_of_sums_of_its_entries() {
    let mut rng = seeded();
    let world = World::new(small(4), &mut rng);
    let keys = world.keys(KeyRequirements::new().relinearisation(), &mut rng);
    for count in [1, 2, 5] {
        let [x, y] = [(); 2].map(|()| {
            let rows = matrix(count, 16, &mut rng);
            world.encrypt(&rows, rng.random(), &mut rng)
        });
        let y = world.ev.mod_switch_to(&y, 1).unwrap();
        let found = world.ev.sum_over_batch(&x, &y, &keys).unwrap();
        let entries = |ct: &Ciphertext| -> Vec<Ciphertext> {
            (0..count).map(|at| ct.slice_batch(at..at + 1).unwrap()).collect()
        };
        let (x, y) = (entries(&x), entries(&y));
        let pairs: Vec<[&Ciphertext; 2]> = x.iter().zip(&y).map(|(x, y)| [x, y]).collect();
        let expected = world.ev.sum_of_products(&pairs, &keys).unwrap();
        let words = |ct: &Ciphertext| ct.pair().parts().map(|part| part.to_words().unwrap());
        assert_eq!(words(&found), words(&expected), "{count}");
        assert_eq!((found.level(), found.scale()), (expected.level(), expected.scale()));
        let more = Ciphertext::concat(&[&x[0]; 6]).unwrap();
        let found = world.ev.sum_over_batch(&more, &y[0], &keys);
        assert!(matches!(found, Err(Error::BatchMismatch { left: 6, right: 1 })), "{found:?}");
    }
}
