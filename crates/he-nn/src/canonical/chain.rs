//! Values whose elements each depend on one element of another value.

use crate::graph::{Graph, Op};

/// The longest chain that is followed.
const MOST: usize = 64;

/// The nodes between a value and its origin, each of which moves elements or computes a function of
/// single ones.
#[derive(Clone, Debug)]
pub struct Chain {
    /// The first value.
    pub origin: usize,
    /// The nodes from the origin to the last value, without the origin.
    nodes: Vec<usize>,
}

impl Chain {
    /// The longest chain that ends in a node, up to a length that no exporter reaches.
    pub fn of(graph: &Graph, id: usize) -> Self {
        let mut chain = Self { origin: id, nodes: Vec::new() };
        while matches!(
            graph.nodes[chain.origin].op,
            Op::Gather(_) | Op::Reshape | Op::Affine(_) | Op::Function(_)
        ) && chain.nodes.len() < MOST
        {
            chain.nodes.insert(0, chain.origin);
            chain.origin = graph.nodes[chain.origin].inputs[0];
        }
        chain
    }

    /// The element of the origin that an element comes from, if it comes from one.
    pub fn place(&self, graph: &Graph, element: usize) -> Option<usize> {
        self.nodes.iter().rev().try_fold(element, |at, &id| match &graph.nodes[id].op {
            Op::Gather(from) => from[at].map(|from| from as usize),
            _ => Some(at),
        })
    }

    /// An element, where its element of the origin is `x`.
    pub fn at(&self, graph: &Graph, element: usize, x: f64) -> f64 {
        self.up_to(graph, self.nodes.len(), element, x)
    }

    fn up_to(&self, graph: &Graph, count: usize, element: usize, x: f64) -> f64 {
        let Some(last) = count.checked_sub(1) else { return x };
        match &graph.nodes[self.nodes[last]].op {
            Op::Gather(from) => match from[element] {
                Some(from) => self.up_to(graph, last, from as usize, x),
                None => 0.0,
            },
            Op::Affine(affine) => {
                let (factor, offset) = affine.at(element);
                factor * self.up_to(graph, last, element, x) + offset
            }
            Op::Function(function) => function.at(self.up_to(graph, last, element, x)),
            _ => self.up_to(graph, last, element, x),
        }
    }
}
