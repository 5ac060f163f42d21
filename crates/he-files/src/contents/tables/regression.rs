//! Linear regressions from decrypted means and covariances, with bounds of their errors.

/// A number with a bound of its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bounded {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// The number of columns of so many moments: means, and covariances of all pairs.
pub(super) fn columns_of(moments: usize) -> Option<usize> {
    (1..moments).find(|&k| k + k * (k + 1) / 2 == moments)
}

/// The coefficients of the features and the intercept of the least squares fit of the last of k
/// columns by the others, from the k means and the covariances of all pairs in order.
///
/// The covariances C of the features are scaled to correlations, and their inverse is computed by
/// Gauss and Jordan. With E the errors of C, and e of the covariances c with the target, the error
/// of b = C^-1 c is C^-1 (e - E b) to first order, of which absolute values are bounds; the
/// intercept adds the errors of the means (Higham, Accuracy and Stability of Numerical Algorithms,
/// 2nd edition, section 7.2).
///
/// `None` if a pivot may be 0 within the errors: then features depend on each other linearly, or
/// are constant, as far as can be told.
pub(super) fn solve(means: &[Bounded], covariances: &[Bounded]) -> Option<Vec<Bounded>> {
    let columns = means.len();
    let features = columns - 1;
    // Row x of the upper triangle begins behind rows of k, k - 1, ... numbers.
    let of = |x: usize, y: usize| {
        let (x, y) = (x.min(y), x.max(y));
        covariances[x * columns - x * (x + 1) / 2 + y]
    };
    let deviations: Vec<f64> = (0..features).map(|x| of(x, x).value.sqrt()).collect();
    if (0..features).any(|x| of(x, x).value.is_nan() || of(x, x).value <= of(x, x).error) {
        return None;
    }
    let scaled = |x: usize, y: usize, number: f64| number / deviations[x] / deviations[y];
    let error = |x: usize| (0..features).map(|y| scaled(x, y, of(x, y).error)).sum::<f64>();
    let floor = (0..features).map(error).fold(0.0, f64::max);
    let inverse = inverse(features, floor, |x, y| scaled(x, y, of(x, y).value))?;
    let times = |row: usize, vector: &dyn Fn(usize) -> f64| -> f64 {
        (0..features).map(|y| inverse[row * features + y] * vector(y)).sum()
    };
    let target = |x: usize| of(x, features).value / deviations[x];
    let solution: Vec<f64> = (0..features).map(|x| times(x, &target)).collect();
    let residual = |x: usize| {
        let products = (0..features).map(|y| scaled(x, y, of(x, y).error) * solution[y].abs());
        of(x, features).error / deviations[x] + products.sum::<f64>()
    };
    let mut found: Vec<Bounded> = (0..features)
        .map(|x| {
            let rows = (0..features).map(|y| inverse[x * features + y].abs() * residual(y));
            Bounded { value: solution[x] / deviations[x], error: rows.sum::<f64>() / deviations[x] }
        })
        .collect();
    let intercept = found.iter().zip(means).fold(means[features], |sum, (b, mean)| Bounded {
        value: sum.value - b.value * mean.value,
        error: sum.error + b.value.abs() * mean.error + b.error * mean.value.abs(),
    });
    found.push(intercept);
    Some(found)
}

/// The inverse of a correlation matrix, row by row; nothing if a pivot is no larger than `floor`.
fn inverse(size: usize, floor: f64, entry: impl Fn(usize, usize) -> f64) -> Option<Vec<f64>> {
    let width = 2 * size;
    let mut rows: Vec<Vec<f64>> = (0..size)
        .map(|x| (0..width).map(|y| if y < size { entry(x, y) } else { f64::from(y == size + x) }).collect())
        .collect();
    for at in 0..size {
        // Pivots of positive definite matrices are on the diagonal.
        let pivot = rows[at][at];
        if pivot.is_nan() || pivot <= floor.max(f64::EPSILON * size as f64) {
            return None;
        }
        rows[at].iter_mut().for_each(|x| *x /= pivot);
        let lead = rows[at].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(other, _)| *other != at) {
            let factor = row[at];
            row.iter_mut().zip(&lead).for_each(|(x, lead)| *x -= factor * lead);
        }
    }
    Some(rows.iter().flat_map(|row| row[size..].iter().copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::engine::rng;
    use rand::rngs::ChaCha20Rng;
    use rand::{Rng, RngExt, SeedableRng};

    fn seeded() -> ChaCha20Rng {
        let seed: u64 = rng().unwrap().random();
        println!("seed {seed}");
        ChaCha20Rng::seed_from_u64(seed)
    }

    fn exact(value: f64) -> Bounded {
        Bounded { value, error: 0.0 }
    }

    /// The moments of columns.
    fn moments(columns: &[Vec<f64>], error: f64) -> (Vec<Bounded>, Vec<Bounded>) {
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let means: Vec<f64> = columns.iter().map(|x| mean(x)).collect();
        let covariance = |x: usize, y: usize| {
            let products: Vec<f64> = columns[x].iter().zip(&columns[y]).map(|(a, b)| a * b).collect();
            Bounded { value: mean(&products) - means[x] * means[y], error }
        };
        let pairs = (0..columns.len()).flat_map(|x| (x..columns.len()).map(move |y| (x, y)));
        let covariances = pairs.map(|(x, y)| covariance(x, y)).collect();
        (means.into_iter().map(exact).collect(), covariances)
    }

    fn columns(rng: &mut impl Rng, count: usize, rows: usize) -> Vec<Vec<f64>> {
        (0..count).map(|_| (0..rows).map(|_| rng.random_range(-3.0..5.0)).collect()).collect()
    }

    #[test]
    fn planes_are_found() {
        let mut rng = seeded();
        for features in 1..5 {
            let mut table = columns(&mut rng, features, 60);
            let weights: Vec<f64> = (0..=features).map(|_| rng.random_range(-2.0..2.0)).collect();
            let value = |row: usize| {
                let sum: f64 = table.iter().zip(&weights).map(|(column, w)| column[row] * w).sum();
                sum + weights[features]
            };
            let target = (0..60).map(value).collect();
            table.push(target);
            let (means, covariances) = moments(&table, 0.0);
            assert_eq!(columns_of(means.len() + covariances.len()), Some(features + 1));
            let found = solve(&means, &covariances).unwrap();
            for (found, expected) in found.iter().zip(&weights) {
                assert!((found.value - expected).abs() < 1e-9, "{found:?}, not {expected}");
            }
        }
    }

    #[test]
    fn errors_of_moments_stay_within_the_bounds() {
        let mut rng = seeded();
        for _ in 0..200 {
            let table = columns(&mut rng, 4, 80);
            let error = 1e-5;
            let (means, covariances) = moments(&table, error);
            let right = solve(&means, &covariances).unwrap();
            let moved =
                |of: &Bounded| Bounded { value: of.value + rng.random_range(-1.0..1.0) * of.error, ..*of };
            let noisy: Vec<Bounded> = covariances.iter().map(moved).collect();
            for (found, right) in solve(&means, &noisy).unwrap().iter().zip(&right) {
                let apart = (found.value - right.value).abs();
                assert!(apart <= 1.01 * found.error, "{apart} exceeds {}", found.error);
            }
        }
    }

    #[test]
    fn dependent_and_constant_features_are_told() {
        let mut rng = seeded();
        let mut table = columns(&mut rng, 2, 30);
        table.push(table[0].iter().map(|x| 2.0 * x + 1.0).collect());
        table.swap(1, 2);
        let (means, covariances) = moments(&table, 1e-7);
        assert_eq!(solve(&means, &covariances), None);
        table[1] = vec![4.0; 30];
        let (means, covariances) = moments(&table, 1e-7);
        assert_eq!(solve(&means, &covariances), None);
        for moments in [0, 1, 3, 4, 6] {
            assert_eq!(columns_of(moments), None);
        }
    }
}
