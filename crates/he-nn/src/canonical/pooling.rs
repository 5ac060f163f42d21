//! The mean of the tokens that a mask keeps, however it is put together.

use super::attention::input_mask;
use super::chain::Chain;
use super::region;
use crate::graph::{Graph, Op, Public};
use crate::transformers;

/// Recognises such means behind every sum of products with a mask.
pub fn recognise(graph: &mut Graph) {
    let mut left = region::BUDGET;
    for id in 0..graph.nodes.len() {
        let Some((tokens, _)) = region::sum_of(&graph.nodes[id].op) else { continue };
        let Some((x, mask)) = masked(graph, id) else { continue };
        let (shape, bits) = (&graph.nodes[x].shape, graph.nodes[mask].elements());
        if shape.len() == 2 && shape[0] == tokens && bits == tokens && graph.needed()[id] {
            replace(graph, x, mask, &mut left);
        }
    }
}

/// The value and the mask whose product a sum adds up.
fn masked(graph: &Graph, sum: usize) -> Option<(usize, usize)> {
    let mut id = graph.nodes[sum].inputs[0];
    while matches!(graph.nodes[id].op, Op::Gather(_) | Op::Reshape) {
        id = graph.nodes[id].inputs[0];
    }
    let (Op::Product, &[a, b]) = (&graph.nodes[id].op, &graph.nodes[id].inputs[..]) else { return None };
    [(a, b), (b, a)]
        .into_iter()
        .find_map(|(x, mask)| Some((x, input_mask(graph, Chain::of(graph, mask).origin)?)))
}

/// Replaces the last value that is a mean of the rows of `x`.
fn replace(graph: &mut Graph, x: usize, mask: usize, left: &mut usize) {
    let region = region::within(graph, &[x, mask], left);
    let (elements, tokens) = (graph.nodes[x].elements(), graph.nodes[mask].elements());
    let probe = |seed: u64| {
        let numbers = region::numbers(seed, elements, 1.0);
        let mut bits: Vec<f64> =
            region::numbers(seed + 9, tokens, 1.0).iter().map(|&x| f64::from(u8::from(x > 0.0))).collect();
        bits[seed as usize % tokens] = 1.0;
        region::values(graph, &region, &[(x, numbers), (mask, bits)])
    };
    let probes = [1, 2, 3].map(probe);
    let is_mean = |id: usize| {
        probes.iter().all(|values| {
            let wanted = transformers::apply(&Op::MaskedMean, &[&values[x], &values[mask]], &[]);
            wanted.len() == values[id].len()
                && wanted.iter().zip(&values[id]).all(|(x, y)| (x - y).abs() <= 1e-12)
        })
    };
    if let Some(&id) = region.iter().rev().find(|&&id| is_mean(id)) {
        graph.nodes[mask].op = Op::Public(Public::Mask);
        let node = &mut graph.nodes[id];
        (node.op, node.inputs, node.operator) = (Op::MaskedMean, vec![x, mask], "MaskedMean".to_owned());
    }
}
