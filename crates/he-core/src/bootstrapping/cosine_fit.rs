//! The even polynomial that stands for the cosine, fitted where its arguments lie.

use crate::circuits::ckks::Polynomial;
use crate::error::Result;

/// The even polynomial p(t) nearest to root cos(angle t) at t = (i + f - 1/4) / reach, for integers
/// i and |f| <= `remainder`, in the weighted mean square: an integer weighs its probability to the
/// power of `focus`. `integers` are log2 of the probabilities of 0, of 1 or -1 ...
///
/// The arguments of the cosine lie in short intervals around integers, and great integers are rare:
/// a polynomial of degree 30 that need not be good between them, nor as good at the rare ones, errs
/// by 2^-38 at the frequent ones, where the best one on the whole interval errs by 2^-29
/// everywhere. With a focus of 0 all integers weigh the same.
///
/// Source of the idea: Han, Ki, *Better Bootstrapping for Approximate Homomorphic Encryption*,
/// 2020, section 3, which interpolates at the integers.
pub(super) fn fit(
    integers: &[f64],
    remainder: f64,
    reach: f64,
    (angle, root): (f64, f64),
    degree: usize,
    focus: f64,
) -> Result<Polynomial> {
    let unknowns = degree / 2 + 1;
    let (mut rows, mut values) = (Vec::new(), Vec::new());
    let bound = integers.len() as i64 - 1;
    for i in -bound..=bound {
        let probability_log2 = integers[i.unsigned_abs() as usize];
        let weight_log2 = if probability_log2 < RARE_LOG2 { NEGLIGIBLE_LOG2 } else { probability_log2 };
        let weight = libm::exp2(0.5 * focus * weight_log2);
        for offset in [-remainder, 0.0, remainder] {
            let t = (i as f64 + offset - 0.25) / reach;
            // T_2j(t) = T_j(2 t^2 - 1).
            let theta = libm::acos((2.0 * t * t - 1.0).clamp(-1.0, 1.0));
            rows.push((0..unknowns).map(|j| weight * libm::cos(j as f64 * theta)).collect::<Vec<f64>>());
            values.push(weight * root * libm::cos(angle * t));
        }
    }
    let even = least_squares(rows, values);
    let coefficients: Vec<f64> = even.into_iter().flat_map(|c| [c, 0.0]).take(degree + 1).collect();
    Polynomial::chebyshev(&coefficients, -1.0, 1.0)
}

/// A fit with a focus has no regard for integers rarer than the first of these: they weigh as if
/// they had the second, which doubles hold to any power that is allowed.
const RARE_LOG2: f64 = -120.0;
const NEGLIGIBLE_LOG2: f64 = -200.0;

/// The solution x of least |A x - b|, for A of full column rank, by Householder reflections.
pub(super) fn least_squares(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let columns = a.first().map_or(0, Vec::len);
    for k in 0..columns {
        let norm = libm::sqrt(a[k..].iter().map(|row| row[k] * row[k]).sum());
        let diagonal = if a[k][k] > 0.0 { -norm } else { norm };
        let mut reflector: Vec<f64> = a[k..].iter().map(|row| row[k]).collect();
        reflector[0] -= diagonal;
        let square: f64 = reflector.iter().map(|v| v * v).sum();
        if square == 0.0 {
            continue;
        }
        for column in k..columns {
            let dot: f64 = reflector.iter().zip(&a[k..]).map(|(v, row)| v * row[column]).sum();
            for (v, row) in reflector.iter().zip(&mut a[k..]) {
                row[column] -= 2.0 * dot / square * v;
            }
        }
        let dot: f64 = reflector.iter().zip(&b[k..]).map(|(v, value)| v * value).sum();
        reflector.iter().zip(&mut b[k..]).for_each(|(v, value)| *value -= 2.0 * dot / square * v);
    }
    let mut x = vec![0.0; columns];
    for k in (0..columns).rev() {
        let rest: f64 = (k + 1..columns).map(|column| a[k][column] * x[column]).sum();
        x[k] = (b[k] - rest) / a[k][k];
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_squares_are_least() {
        // A line through four points, by the normal equations.
        let rows = (0..4).map(|i| vec![1.0, f64::from(i)]).collect();
        let x = least_squares(rows, vec![1.0, 3.0, 4.0, 8.0]);
        assert!((x[0] - 0.7).abs() < 1e-14 && (x[1] - 2.2).abs() < 1e-14, "{x:?}");
    }
}
