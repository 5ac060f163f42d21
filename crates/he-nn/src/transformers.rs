//! The operations of transformers in float64.

use crate::graph::{Contract, LayerNorm, Op, Table, of_unit_length};

/// The value of one of them, of dimensions `shape`; empty for every other operation.
pub fn apply(op: &Op, inputs: &[&[f64]], shape: &[usize]) -> Vec<f64> {
    match op {
        Op::Lookup(table) => table.rows(inputs[0]),
        Op::Contract(contract) => contract.apply(inputs[0], inputs[1]),
        Op::Softmax => softmax(inputs[0], inputs.get(1).copied(), last(shape)),
        Op::LayerNorm(norm) => norm.apply(inputs[0]),
        Op::UnitLength => inputs[0].chunks_exact(last(shape)).flat_map(of_unit_length).collect(),
        Op::MaskedMean => masked_mean(inputs[0], inputs[1]),
        _ => Vec::new(),
    }
}

fn last(shape: &[usize]) -> usize {
    shape.last().copied().unwrap_or(1)
}

impl Table {
    fn rows(&self, ids: &[f64]) -> Vec<f64> {
        ids.iter().flat_map(|&id| &self.values[id as usize * self.width..][..self.width]).copied().collect()
    }
}

impl Contract {
    fn apply(&self, a: &[f64], b: &[f64]) -> Vec<f64> {
        let Self { groups, rows, inner, columns, factor } = *self;
        let mut y = vec![0.0; groups * rows * columns];
        for (at, y) in y.chunks_exact_mut(columns).enumerate() {
            let (a, b) = (&a[at * inner..][..inner], &b[at / rows * inner * columns..][..inner * columns]);
            for (&a, b) in a.iter().zip(b.chunks_exact(columns)) {
                y.iter_mut().zip(b).for_each(|(y, &b)| *y += factor * a * b);
            }
        }
        y
    }
}

fn softmax(x: &[f64], mask: Option<&[f64]>, width: usize) -> Vec<f64> {
    let kept = |at: usize| mask.is_none_or(|mask| mask[at] != 0.0);
    let row = |row: &[f64]| {
        let places = || row.iter().enumerate();
        let greatest =
            places().filter(|(at, _)| kept(*at)).map(|(_, &x)| x).fold(f64::NEG_INFINITY, f64::max);
        let weight = |(at, &x): (usize, &f64)| if kept(at) { libm::exp(x - greatest) } else { 0.0 };
        let weights: Vec<f64> = places().map(weight).collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(move |weight| weight / sum)
    };
    x.chunks_exact(width).flat_map(row).collect()
}

impl LayerNorm {
    fn apply(&self, x: &[f64]) -> Vec<f64> {
        let width = self.scale.len();
        let row = |row: &[f64]| {
            let (mean, variance) = moments(row);
            let factor = 1.0 / (variance + self.epsilon).sqrt();
            let places = row.iter().zip(self.scale.iter().zip(&self.shift));
            places.map(|(x, (scale, shift))| scale * (x - mean) * factor + shift).collect::<Vec<f64>>()
        };
        x.chunks_exact(width).flat_map(row).collect()
    }
}

/// The mean of numbers, and the mean of the squares of their distances from it.
pub fn moments(x: &[f64]) -> (f64, f64) {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    (mean, x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count)
}

fn masked_mean(x: &[f64], mask: &[f64]) -> Vec<f64> {
    let (width, count) = (x.len() / mask.len(), mask.iter().sum::<f64>());
    let column = |at: usize| x[at..].iter().step_by(width).zip(mask).map(|(x, bit)| x * bit).sum::<f64>();
    (0..width).map(|at| column(at) / count).collect()
}
