//! Comparisons with thresholds, as decision trees make them: steps of differences.
//!
//! A step is a polynomial that is 0 or 1 on both sides of a gap around 0, and between the two
//! inside it. Differences are divided by their greatest magnitude on the examples of the
//! calibration, so that the gap is a part of the range of each: comparisons of x with t are exact
//! from |x - t| = 2^-bits (1 + margin) max |x - t| on. An example with a difference inside the gap
//! is computed in the clear with these polynomials, and refused if that changes its outputs.

use crate::approximation::Approximation;
use crate::compiled::CompiledModel;
use crate::error::{Error, NearThreshold, Result};
use crate::graph::{Decision, Graph, Op};

/// The bits by which steps are closer to 0 and 1 than functions are to their values: paths of trees
/// add the errors of several of them up.
pub const MORE_BITS: u32 = 1;

/// Half the width of the gap, of numbers in [-1, 1].
pub fn gap(bits: u32) -> f64 {
    libm::exp2(-f64::from(bits))
}

impl Graph {
    /// The nodes that are steps of differences which nothing else takes, and these differences.
    fn steps(&self) -> Vec<(usize, usize)> {
        let uses = |id: usize| self.nodes.iter().flat_map(|node| &node.inputs).filter(|&&x| x == id).count();
        let step = |(id, node): (usize, &crate::graph::Node)| match &node.op {
            Op::Function(function) if function.is_step() => Some((id, node.inputs[0])),
            _ => None,
        };
        let alone = |&(_, from): &(usize, usize)| {
            matches!(self.nodes[from].op, Op::Sparse(_)) && from != self.output && uses(from) == 1
        };
        self.nodes.iter().enumerate().filter_map(step).filter(alone).collect()
    }

    /// Divides the argument of each step by its greatest magnitude on the examples, element by
    /// element. A step of a positive multiple of a number is that of the number.
    ///
    /// # Errors
    /// The errors of [`values`](Self::values).
    pub(crate) fn normalise_steps(&mut self, examples: &[Vec<f64>]) -> Result<()> {
        let steps = self.steps();
        if steps.is_empty() {
            return Ok(());
        }
        let mut greatest: Vec<Vec<f64>> =
            steps.iter().map(|&(_, from)| vec![0.0; self.nodes[from].elements()]).collect();
        for (index, example) in examples.iter().enumerate() {
            let values = self.values(index, example)?;
            for (greatest, &(_, from)) in greatest.iter_mut().zip(&steps) {
                greatest.iter_mut().zip(&values[from]).for_each(|(most, x)| *most = most.max(x.abs()));
            }
        }
        for (greatest, (_, from)) in greatest.iter().zip(steps) {
            let Op::Sparse(rows) = &mut self.nodes[from].op else { continue };
            for (row, &most) in rows.iter_mut().zip(greatest).filter(|(_, most)| most.is_normal()) {
                row.entries.iter_mut().for_each(|(_, weight)| *weight /= most);
                row.offset /= most;
            }
        }
        Ok(())
    }
}

impl CompiledModel {
    /// Whether steps inside their gap change the outputs of an example, whose values are `values`.
    ///
    /// # Errors
    /// [`Error::NearThreshold`].
    pub(crate) fn check_steps(&self, index: usize, example: &[f64], values: &[Vec<f64>]) -> Result<()> {
        let (graph, gap) = (&self.graph, gap(self.options.bits));
        let mut approximations = vec![None; graph.nodes.len()];
        // The nearest to its threshold, as a part of its gap.
        let mut nearest: Option<(f64, usize, usize)> = None;
        for (layer, approximation) in self.layers.list.iter().zip(&self.functions) {
            let Some(Approximation::Step(step)) = approximation else { continue };
            let from = &self.layers.list[layer.inputs[0]];
            approximations[layer.node] = Some((step, from.unit));
            for (at, x) in values[from.node].iter().enumerate() {
                let part = x.abs() / (gap * from.unit);
                if part < nearest.map_or(1.0, |(nearest, ..)| nearest) {
                    nearest = Some((part, layer.node, at));
                }
            }
        }
        let Some((part, node, at)) = nearest else { return Ok(()) };
        let near = graph.values_by(index, example, &|id, function, x| match approximations[id] {
            Some((step, unit)) => step.apply_plain(x / unit),
            None => function.at(x),
        })?;
        let [exact, near] = [values, &near].map(|values| &values[graph.output]);
        let decide = |outputs: &[f64]| graph.decision.apply(outputs);
        let changed = match graph.decision {
            Decision::ArgMax | Decision::Votes | Decision::Sign => {
                decide(exact).iter().zip(decide(near)).position(|(a, b)| *a != b)
            }
            // Eight times the error that functions may have.
            _ => {
                let tolerance = 8.0 * gap * self.calibration.magnitude(graph.output);
                exact.iter().zip(near).position(|(a, b)| (a - b).abs() > tolerance)
            }
        };
        let Some(output) = changed else { return Ok(()) };
        let of = &graph.nodes[node];
        let from = &graph.nodes[of.inputs[0]];
        // The width is in the unit of the compared value.
        let entry = match &from.op {
            Op::Sparse(rows) => rows[at].entries.first().copied(),
            _ => None,
        };
        let (value, weight) = entry.map_or((at, 1.0), |(column, weight)| (column as usize, weight.abs()));
        let unit = self.layers.list.iter().find(|layer| layer.node == of.inputs[0]).map_or(1.0, |l| l.unit);
        let width = gap * unit / weight;
        Err(Error::NearThreshold(Box::new(NearThreshold {
            example: index,
            operator: of.operator.clone(),
            node: of.name.clone(),
            value,
            distance: part * width,
            width,
            output,
            expected: decide(exact)[output.min(decide(exact).len() - 1)],
            found: decide(near)[output.min(decide(near).len() - 1)],
        })))
    }
}
