//! Layer normalisation and division by the Euclidean length, however they are put together.

use super::region::{self, single};
use crate::graph::{Graph, LayerNorm, Op};
use crate::transformers;

/// Recognises both behind every sum of rows.
pub fn recognise(graph: &mut Graph) {
    let mut left = region::BUDGET;
    for id in 0..graph.nodes.len() {
        let Some((width, _)) = region::sum_of(&graph.nodes[id].op) else { continue };
        if width < 2 || !graph.needed()[id] {
            continue;
        }
        for root in roots(graph, id) {
            if graph.nodes[root].shape.last() == Some(&width) && replaced(graph, root, &mut left) {
                break;
            }
        }
    }
}

/// The values whose rows are added up, as they are and before a function.
fn roots(graph: &Graph, sum: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut id = graph.nodes[sum].inputs[0];
    while graph.nodes[id].op == Op::Reshape {
        id = graph.nodes[id].inputs[0];
    }
    found.push(id);
    if let Op::Function(_) = graph.nodes[id].op {
        found.push(graph.nodes[id].inputs[0]);
    }
    found
}

/// Replaces the last value that is a normalisation of a root.
fn replaced(graph: &mut Graph, root: usize, left: &mut usize) -> bool {
    let region = region::within(graph, &[root], left);
    let probe = Probe::new(graph, root, &region);
    let same = |id: &&usize| graph.nodes[**id].shape == graph.nodes[root].shape;
    let found = region.iter().rev().filter(same).find_map(|&id| {
        if probe.is_of_unit_length(id) {
            return Some((id, Op::UnitLength, "UnitLength"));
        }
        probe.layer_norm(id).map(|norm| (id, Op::LayerNorm(norm), "LayerNormalization"))
    });
    let Some((id, op, operator)) = found else { return false };
    let node = &mut graph.nodes[id];
    (node.op, node.inputs, node.operator) = (op, vec![root], operator.to_owned());
    true
}

/// Values of a root, and what the nodes behind it become for them.
struct Probe {
    root: usize,
    width: usize,
    /// For values of all zeros, of magnitudes 1, 10^4 and 10^-7.
    values: [Vec<Vec<f64>>; 4],
}

impl Probe {
    fn new(graph: &Graph, root: usize, region: &[usize]) -> Self {
        let node = &graph.nodes[root];
        let width = node.shape.last().copied().unwrap_or(1);
        // Each in directions of its own, so that a single row does not decide alone.
        let of = |(seed, scale): (u64, f64)| {
            let numbers = region::numbers(4 * root as u64 + seed, node.elements(), scale);
            region::values(graph, region, &[(root, numbers)])
        };
        Self { root, width, values: [(1, 0.0), (2, 1.0), (3, 1e4), (4, 1e-7)].map(of) }
    }

    fn is_of_unit_length(&self, id: usize) -> bool {
        self.values[1..3].iter().all(|values| {
            let wanted = transformers::apply(&Op::UnitLength, &[&values[self.root]], &[self.width]);
            near(&values[id], &wanted, 1e-12)
        })
    }

    /// The layer normalisation that a node computes.
    fn layer_norm(&self, id: usize) -> Option<LayerNorm> {
        let [zero, one, large, small] = &self.values;
        let shift: Vec<f64> = zero[id].iter().take(self.width).map(|&x| single(x)).collect();
        if !zero[id].chunks_exact(self.width).all(|row| near(row, &shift, 1e-9)) {
            return None;
        }
        let flat = LayerNorm { epsilon: 0.0, scale: vec![1.0; self.width], shift: vec![0.0; self.width] };
        let normal = transformers::apply(&Op::LayerNorm(flat), &[&large[self.root]], &[self.width]);
        let scale: Vec<f64> = (0..self.width)
            .map(|place| single(self.scale(&normal, &large[id], place, shift[place])))
            .collect();
        let epsilon = single(self.epsilon(small, id, &scale, &shift)?);
        let norm = LayerNorm { epsilon, scale, shift };
        let fits = [one, small, large].into_iter().all(|values| {
            let wanted =
                transformers::apply(&Op::LayerNorm(norm.clone()), &[&values[self.root]], &[self.width]);
            near(&values[id], &wanted, 1e-8)
        });
        (fits && epsilon > 0.0 && norm.scale.iter().all(|x| x.is_finite())).then_some(norm)
    }

    /// The factor of a place, from the row whose normalised value there is largest.
    fn scale(&self, normal: &[f64], found: &[f64], place: usize, shift: f64) -> f64 {
        let rows = (place..normal.len()).step_by(self.width);
        let at = rows.max_by(|&a, &b| normal[a].abs().total_cmp(&normal[b].abs())).unwrap_or(place);
        (found[at] - shift) / normal[at]
    }

    /// The number that is added to the variance, from the largest value of the first row.
    fn epsilon(&self, small: &[Vec<f64>], id: usize, scale: &[f64], shift: &[f64]) -> Option<f64> {
        let row = &small[self.root][..self.width];
        let (mean, variance) = transformers::moments(row);
        let size = |at: usize| (scale[at] * (row[at] - mean)).abs();
        let at = (0..self.width).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        let ratio = scale[at] * (row[at] - mean) / (small[id][at] - shift[at]);
        let epsilon = ratio * ratio - variance;
        epsilon.is_finite().then_some(epsilon)
    }
}

/// Whether numbers are those wanted, up to a relative distance; NaN is near no other.
fn near(found: &[f64], wanted: &[f64], distance: f64) -> bool {
    found.len() == wanted.len()
        && found.iter().zip(wanted).all(|(x, y)| (x - y).abs() <= distance * (1.0 + y.abs()))
}
