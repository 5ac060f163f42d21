//! The oracle: metrics by their definitions, in doubles.

use he_search::Metric;

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The value of a metric by its definition.
pub fn value(metric: Metric, x: &[f64], y: &[f64]) -> f64 {
    match metric {
        Metric::Cosine => dot(x, y) / (dot(x, x) * dot(y, y)).sqrt(),
        Metric::Dot { .. } => dot(x, y),
        Metric::Euclidean { .. } => x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt(),
    }
}

/// Whether a value is on the near side of a threshold.
pub fn is_near(metric: Metric, value: f64, threshold: f64) -> bool {
    match metric {
        Metric::Euclidean { .. } => value < threshold,
        _ => value > threshold,
    }
}
