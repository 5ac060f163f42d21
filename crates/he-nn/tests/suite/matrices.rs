//! Predicted costs of products of matrices, against what the products need.

use he_core::circuits::ckks::{LinearTransform, MatrixProduct, TensorLayout};
use he_core::ckks::{CkksParams, CkksSpec};
use he_nn::Error;
use he_nn::matrices::{LeftMatrix, MatrixCosts, MatrixPlan, MatrixTask, Method};
use rand::{RngExt, SeedableRng, rngs::ChaCha20Rng};

fn params(log_n: u32) -> CkksParams {
    CkksParams::insecure(CkksSpec::from_bits(log_n, &[40, 30, 30, 30], &[40], 30.0).unwrap()).unwrap()
}

fn task(left: LeftMatrix, [rows, inner, columns]: [usize; 3]) -> MatrixTask {
    MatrixTask { left, rows, inner, columns }
}

fn plan(params: &CkksParams, task: MatrixTask) -> MatrixPlan {
    MatrixPlan::new(params, params.max_level(), task).unwrap()
}

fn costs(plan: &MatrixPlan, method: Method) -> MatrixCosts {
    let found = plan.options().iter().find(|(other, _)| *other == method).unwrap();
    *found.1.as_ref().unwrap()
}

/// Keys are as many as the circuits ask for, and ciphertexts as many as their layouts have.
#[test]
fn costs_are_those_of_the_circuits() {
    let seed: u64 = he_core::rand::rng().random();
    println!("seed {seed}");
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let params = params(11);
    for _ in 0..50 {
        let sizes @ [m, n, p] = [0; 3].map(|_| rng.random_range(1..20usize));
        let plain = plan(&params, task(LeftMatrix::Plain, sizes));
        let diagonals = LinearTransform::rectangular(m, n, &vec![1.0; m * n]).unwrap();
        let found = costs(&plain, Method::Diagonals);
        assert_eq!(found.keys, diagonals.requirements().keys.rotation_steps().len(), "{sizes:?}");
        assert_eq!((found.levels, found.outputs), (1, 1), "{sizes:?}");
        let rows = costs(&plain, Method::Rows);
        assert_eq!((rows.keys, rows.levels, rows.inputs, rows.outputs), (0, 1, n, m));

        let encrypted = plan(&params, task(LeftMatrix::Encrypted, sizes));
        let found = costs(&encrypted, Method::Slots);
        let layout = |rows, columns| TensorLayout::batched([1, rows, columns], 1, 1 << 10).unwrap();
        match MatrixProduct::new(&layout(m, n), &layout(n, p)) {
            Ok(product) => {
                let needs = product.requirements();
                assert_eq!((found.levels, found.inputs, found.outputs), (needs.depth, 2, 1), "{sizes:?}");
                assert_eq!(found.keys, needs.keys.rotation_steps().len() + 1, "{sizes:?}");
            }
            Err(_) => assert!(found.inputs > 2, "{sizes:?}"),
        }
        let whole = costs(&encrypted, Method::Coefficients);
        assert_eq!((whole.keys, whole.inputs, whole.outputs), (12, 4096, 2048));
    }
}

#[test]
fn the_least_work_is_chosen() {
    let params = params(12);
    let (plain, encrypted) = (LeftMatrix::Plain, LeftMatrix::Encrypted);
    for (task, expected) in [
        (task(plain, [64, 784, 4096]), Method::Rows),
        (task(plain, [64, 64, 1]), Method::Diagonals),
        (task(plain, [5000, 5000, 1]), Method::Diagonals),
        (task(encrypted, [8, 8, 8]), Method::Slots),
        (task(encrypted, [4096, 4096, 4096]), Method::Coefficients),
    ] {
        let plan = plan(&params, task);
        assert_eq!(plan.chosen().map(|(method, _)| method), Some(expected), "{}", plan.explain(1e9));
        assert!(plan.explain(1e9).contains(&format!("chosen: {}", expected.name())), "{}", plan.explain(1e9));
    }
}

#[test]
fn impossible_ways_say_why() {
    let params = params(6);
    let of = |level, left, sizes| MatrixPlan::new(&params, level, task(left, sizes));
    let text = of(1, LeftMatrix::Encrypted, [100, 8, 8]).unwrap().explain(1e6);
    assert!(text.contains("it takes 2 level(s), and 1 are left"), "{text}");
    assert!(text.contains("A has 100 x 8 numbers, and ciphertexts have 64 coefficients"), "{text}");
    assert!(text.contains("it multiplies by plain numbers, and A is encrypted"), "{text}");
    assert!(text.ends_with("parameters of more levels are needed"), "{text}");
    assert_eq!(of(0, LeftMatrix::Plain, [1; 3]).unwrap().chosen(), None);
    for (level, sizes) in [(1, [0, 1, 1]), (1, [1, usize::MAX, 1]), (4, [1; 3])] {
        let found = of(level, LeftMatrix::Plain, sizes);
        assert!(matches!(found, Err(Error::Parameters { .. })), "{found:?}");
    }
    // The largest sizes have costs as well.
    let most = of(3, LeftMatrix::Encrypted, [1 << 24; 3]).unwrap();
    assert!(most.chosen().unwrap().1.work.is_finite());
}
