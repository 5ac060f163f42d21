//! The step polynomial and the scores of random vectors.

use crate::setup::rng;
use he_search::Bands;
use rand::RngExt;

/// The errors of the bands of random vectors at three dimensions, and of another program's bands,
/// against a fit by Lawson's weighted least squares in NumPy (degrees 15, 31, 47, 63), which
/// approaches the minimax polynomial from above.
#[test]
fn errors_are_those_of_another_fit() {
    let table = [
        ((-0.66, 0.62, 0.86, 0.99), [9.4e-3, 2.1e-4, 6.2e-6, 2.0e-7]),
        ((-0.5, 0.48, 0.875, 0.97), [9.5e-4, 1.5e-6, 2.6e-9, 8.4e-12]),
        ((-0.42, 0.40, 0.885, 0.955), [1.5e-4, 2.6e-8, 1.6e-11, 6.7e-15]),
        ((-0.703, 0.703, 0.845, 1.0), [3.9e-2, 4.5e-3, 5.3e-4, 5.8e-5]),
        ((-0.538, 0.538, 0.866, 1.0), [3.4e-3, 1.8e-5, 2.1e-7, 1.7e-9]),
    ];
    for ((lowest, below, above, highest), errors) in table {
        let bands = Bands { lowest, below, above, highest };
        for (degree, expected) in [15, 31, 47, 63].into_iter().zip(errors) {
            // Below 10^-13 the other fit shows the rounding of doubles.
            if expected < 1e-13 {
                continue;
            }
            let step = bands.step(degree).unwrap();
            assert!(
                step.error < 1.06 * expected && step.error > 0.5 * expected,
                "{bands:?} {degree}: {:e}",
                step.error
            );
            let u = |score: f64| (2.0 * score - highest - lowest) / (highest - lowest);
            let worst = |from: f64, to: f64, wanted: f64| {
                let points = (0..=2000).map(|i| from + (to - from) * f64::from(i) / 2000.0);
                points.map(|x| (step.polynomial.apply_plain(u(x)) - wanted).abs()).fold(0.0, f64::max)
            };
            let found = worst(lowest, below, 0.0).max(worst(above, highest, 1.0));
            assert!(found <= 1.001 * step.error + 1e-13, "{found:e} {:e}", step.error);
        }
    }
}

/// The share of random directions outside of the lower band is below the bound, and not far.
#[test]
fn random_vectors_leave_the_lower_band_as_rarely_as_stated() {
    let mut rng = rng();
    let (dimension, draws) = (16, 200_000);
    let bands = Bands { lowest: -0.6, below: 0.5, above: 0.7, highest: 1.0 };
    let mut outside = 0;
    for _ in 0..draws {
        // A coordinate of a normal vector by its norm.
        let normal = || {
            let (u, v): (f64, f64) = (rng.random_range(1e-12..1.0), rng.random());
            (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
        };
        let x: Vec<f64> = std::iter::repeat_with(normal).take(dimension).collect();
        let cosine = x[0] / x.iter().map(|x| x * x).sum::<f64>().sqrt();
        outside += u32::from(!(bands.lowest..=bands.below).contains(&cosine));
    }
    let (found, bound) = (f64::from(outside) / f64::from(draws), bands.tail(dimension));
    assert!(found <= bound && found > bound / 6.0, "{found} {bound}");
}
