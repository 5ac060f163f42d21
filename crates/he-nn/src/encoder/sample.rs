//! The ranges of values that calibration has seen.

use super::{Approximate, exact, gelu, norm, softmax};
use crate::error::Result;
use crate::function::Function;
use crate::graph::{Graph, Op};
use crate::parallel;

/// The sample of a node.
#[derive(Clone)]
enum Seen {
    Softmax(softmax::Seen),
    Norm(norm::Seen),
    Function(gelu::Seen),
}

/// The sample of a model.
#[derive(Clone)]
pub struct Sample {
    /// The greatest magnitude of each node's numbers.
    pub greatest: Vec<f64>,
    seen: Vec<Option<Seen>>,
}

impl Sample {
    /// A sample without examples.
    fn new(graph: &Graph, public: &[bool]) -> Self {
        let seen = |id: usize| if public[id] { None } else { Seen::new(graph, id) };
        Self { greatest: vec![0.0; graph.nodes.len()], seen: (0..graph.nodes.len()).map(seen).collect() }
    }

    /// The sample of some examples. Ranges are those of all of them, in whatever order they come.
    ///
    /// # Errors
    /// The errors of [`Graph::values`].
    pub fn of(graph: &Graph, public: &[bool], examples: &[Vec<f64>], which: &[usize]) -> Result<Self> {
        let size = which.len().div_ceil(parallel::parts(which.len()));
        let chunks: Vec<&[usize]> = which.chunks(size.max(1)).collect();
        let samples = parallel::mapped(&chunks, |chunk| {
            let mut sample = Self::new(graph, public);
            chunk.iter().try_for_each(|&index| sample.see(graph, index, &examples[index]))?;
            Ok(sample)
        });
        let samples = samples.into_iter().collect::<Result<Vec<Self>>>()?;
        Ok(samples.into_iter().fold(Self::new(graph, public), Self::with))
    }

    /// Includes an example.
    fn see(&mut self, graph: &Graph, index: usize, example: &[f64]) -> Result<()> {
        let Self { greatest, seen } = self;
        let most = |most: f64, numbers: &[f64]| numbers.iter().fold(most, |most, x| most.max(x.abs()));
        let output = exact(graph, index, example, |id, inputs| {
            for (&input, numbers) in graph.nodes[id].inputs.iter().zip(inputs) {
                greatest[input] = most(greatest[input], numbers);
            }
            if let Some(seen) = &mut seen[id] {
                seen.see(&graph.nodes[id].op, inputs);
            }
        })?;
        greatest[graph.output] = most(greatest[graph.output], &output);
        Ok(())
    }

    /// With the sample of other examples.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let greatest = self.greatest.iter().zip(&other.greatest).map(|(a, b)| a.max(*b)).collect();
        let both = |(seen, other): (Option<Seen>, Option<Seen>)| Some(seen?.with(other?));
        Self { greatest, seen: self.seen.into_iter().zip(other.seen).map(both).collect() }
    }

    /// The approximation of each node for these ranges.
    pub fn approximate(&self, graph: &Graph) -> Vec<Option<Approximate>> {
        let nodes: Vec<usize> = (0..graph.nodes.len()).collect();
        parallel::mapped(&nodes, |&id| Some(self.seen[id].as_ref()?.approximate(graph, id)))
    }
}

impl Seen {
    /// An empty sample, for a node that is approximated.
    fn new(graph: &Graph, id: usize) -> Option<Self> {
        let node = &graph.nodes[id];
        let last = *node.shape.last()?;
        match &node.op {
            Op::Softmax => Some(Self::Softmax(softmax::Seen::new(node.elements() / last / last, last))),
            Op::LayerNorm(_) => Some(Self::Norm(norm::Seen::new(node.elements() / last))),
            Op::Function(_) => Some(Self::Function(gelu::Seen::new(last))),
            _ => None,
        }
    }

    fn see(&mut self, op: &Op, inputs: &[&[f64]]) {
        match (self, op) {
            (Self::Softmax(seen), _) => seen.see(inputs[0], inputs.get(1).copied()),
            (Self::Norm(seen), Op::LayerNorm(norm)) => seen.see(norm, inputs[0]),
            (Self::Function(seen), _) => seen.see(inputs[0]),
            _ => {}
        }
    }

    /// With the sample of other examples.
    fn with(self, other: Self) -> Self {
        match (self, other) {
            (Self::Softmax(seen), Self::Softmax(other)) => Self::Softmax(seen.with(other)),
            (Self::Norm(seen), Self::Norm(other)) => Self::Norm(seen.with(other)),
            (Self::Function(seen), Self::Function(other)) => Self::Function(seen.with(other)),
            (seen, _) => seen,
        }
    }

    fn approximate(&self, graph: &Graph, id: usize) -> Approximate {
        let size = units_together(graph, id);
        match (self, &graph.nodes[id].op) {
            (Self::Softmax(seen), _) => Approximate::Softmax(softmax::Approximate::new(seen)),
            (Self::Norm(seen), _) => Approximate::Norm(norm::Approximate::new(seen)),
            (Self::Function(seen), Op::Function(f)) => {
                Approximate::Function(gelu::Approximate::new(seen, f, size))
            }
            (Self::Function(seen), _) => {
                Approximate::Function(gelu::Approximate::new(seen, &Function::x(), size))
            }
        }
    }
}

/// The hidden units that a token has in one ciphertext: as many slots as its features.
fn units_together(graph: &Graph, id: usize) -> usize {
    match &graph.nodes[graph.nodes[id].inputs[0]].op {
        Op::Dense(dense) => dense.inputs.next_power_of_two(),
        _ => usize::MAX,
    }
}
