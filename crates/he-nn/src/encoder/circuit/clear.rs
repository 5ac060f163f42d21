//! Circuits in the clear: the reference for ciphertexts.

use super::{Circuit, Op, Value};

/// The ciphertexts of a value, each with its vectors.
type Held = Vec<Vec<Vec<f64>>>;

/// A call for the value of each step.
pub type Watch<'f> = dyn FnMut(Value, &[Vec<Vec<f64>>]) + 'f;

impl Circuit {
    /// The vectors of the output, for those of the input and a mask, in float64. `made` sees the
    /// value of each step.
    pub fn apply_plain(&self, input: &[Vec<f64>], mask: &[bool], made: &mut Watch<'_>) -> Vec<Vec<f64>> {
        let last = self.last_uses();
        let mut values: Vec<Held> = Vec::with_capacity(self.steps.len());
        for (id, step) in self.steps.iter().enumerate() {
            let value = self.step_plain(&step.op, &values, input, mask);
            made(id, &value);
            values.push(value);
            for operand in step.op.operands().into_iter().filter(|&operand| last[operand] == Some(id)) {
                values[operand] = Vec::new();
            }
        }
        values.pop().and_then(|mut output| output.pop()).unwrap_or_default()
    }

    fn step_plain(&self, op: &Op, values: &[Held], input: &[Vec<f64>], mask: &[bool]) -> Held {
        let layout = &self.layout;
        let each = |x: usize, f: &dyn Fn(f64) -> f64| -> Held {
            values[x]
                .iter()
                .map(|ct| ct.iter().map(|v| v.iter().map(|&x| f(x)).collect()).collect())
                .collect()
        };
        let both = |a: &Held, b: &Held, f: fn(f64, f64) -> f64| -> Held {
            let pair = |(at, a): (usize, &Vec<Vec<f64>>)| {
                let vectors = a.iter().zip(&b[if b.len() == 1 { 0 } else { at }]);
                vectors.map(|(a, b)| a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()).collect()
            };
            a.iter().enumerate().map(pair).collect()
        };
        let total = |x: &Held| -> Held {
            let mut sum = x[..1].to_vec();
            x[1..]
                .iter()
                .for_each(|ct| sum = both(&sum, std::slice::from_ref(ct).to_vec().as_ref(), |a, b| a + b));
            sum
        };
        match op {
            Op::Input => vec![input.to_vec()],
            Op::Map(x, map) => self.map_plain(&values[*x], map),
            Op::Rotated(x, steps) => steps.iter().map(|&step| rotated(&values[*x][0], step)).collect(),
            &Op::Blocks(x, by) => values[x].iter().map(|ct| turned(ct, by)).collect(),
            Op::Joined(parts) => parts.iter().flat_map(|&part| values[part].clone()).collect(),
            Op::Picked(x, range) => values[*x][range.clone()].to_vec(),
            &Op::Sum(a, b) => both(&values[a], &values[b], |a, b| a + b),
            &Op::Difference(a, b) => both(&values[a], &values[b], |a, b| a - b),
            &Op::Total(x) => total(&values[x]),
            &Op::Product(a, b) => both(&values[a], &values[b], |a, b| a * b),
            &Op::Contracted(a, b) => total(&both(&values[a], &values[b], |a, b| a * b)),
            Op::Weighted(x, plain) => both(&values[*x], &plain.numbers(layout, mask), |a, b| a * b),
            Op::Offset(x, plain) => both(&values[*x], &plain.numbers(layout, mask), |a, b| a + b),
            &Op::From(x, number) => each(x, &|x| number - x),
            &Op::Plus(x, number) => each(x, &|x| number + x),
            &Op::Scaled(x, factor) => each(x, &|x| factor * x),
            &Op::Times(x, factor) => each(x, &|x| factor as f64 * x),
            Op::Polynomial(x, polynomials) => {
                let ciphertexts = values[*x].iter().zip(polynomials);
                let all = |vector: &Vec<f64>, p: &he_core::circuits::ckks::Polynomial| {
                    vector.iter().map(|&x| p.apply_plain(x)).collect()
                };
                ciphertexts.map(|(ct, p)| ct.iter().map(|vector| all(vector, p)).collect()).collect()
            }
        }
    }

    fn map_plain(&self, x: &Held, map: &super::map::Map) -> Held {
        let (period, slots) = (self.layout.period, self.layout.slots());
        let mut y = vec![vec![vec![0.0; slots]; self.layout.blocks]; map.outputs];
        for (block, start) in (0..self.layout.blocks)
            .flat_map(|block| (0..slots).step_by(period).map(move |start| (block, start)))
        {
            let features: Vec<f64> =
                x.iter().flat_map(|ct| &ct[block][start..start + period]).copied().collect();
            for (ct, part) in y.iter_mut().zip(map.apply(&features, period).chunks_exact(period)) {
                ct[block][start..start + period].copy_from_slice(part);
            }
        }
        y
    }
}

/// The vectors rotated by a number of slots.
fn rotated(vectors: &[Vec<f64>], step: i64) -> Vec<Vec<f64>> {
    let turn = |vector: &Vec<f64>| {
        let mut vector = vector.clone();
        let by = step.rem_euclid(vector.len().max(1) as i64);
        vector.rotate_left(by as usize);
        vector
    };
    vectors.iter().map(turn).collect()
}

/// The vectors in another order: vector i is vector i + by, cyclically.
fn turned(vectors: &[Vec<f64>], by: usize) -> Vec<Vec<f64>> {
    let mut vectors = vectors.to_vec();
    vectors.rotate_left(by);
    vectors
}
