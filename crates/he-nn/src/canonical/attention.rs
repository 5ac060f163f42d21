//! Products of values with one factor, and softmax over the places that a mask keeps.

use super::chain::Chain;
use super::moves;
use crate::graph::{Contract, Graph, Node, Op, Public};

/// Scores of places that a mask leaves out are at most this.
const LEFT_OUT: f64 = -1000.0;

/// Gives products of values the factors of their operands and of their results.
pub fn join_factors(graph: &mut Graph) {
    for id in 0..graph.nodes.len() {
        match &graph.nodes[id].op {
            Op::Contract(contract) => take_factors(graph, id, *contract),
            Op::Affine(affine) => {
                let source = graph.nodes[id].inputs[0];
                if let (Some((factor, 0.0)), Op::Contract(contract)) =
                    (affine.uniform(), &graph.nodes[source].op)
                {
                    let contract = Contract { factor: contract.factor * factor, ..*contract };
                    let inputs = graph.nodes[source].inputs.clone();
                    (graph.nodes[id].op, graph.nodes[id].inputs) = (Op::Contract(contract), inputs);
                }
            }
            _ => {}
        }
    }
}

/// Takes the factors of both operands.
fn take_factors(graph: &mut Graph, id: usize, mut contract: Contract) {
    for index in 0..2 {
        let operand = graph.nodes[id].inputs[index];
        let (base, places, factor) = without_factors(graph, operand);
        if factor == 1.0 {
            continue;
        }
        contract.factor *= factor;
        let op = moves::simplest(places, graph.nodes[base].elements());
        let moved = Node { op, inputs: vec![base], ..graph.nodes[operand].clone() };
        graph.nodes.push(moved);
        graph.nodes[id].inputs[index] = graph.nodes.len() - 1;
    }
    graph.nodes[id].op = Op::Contract(contract);
}

/// The value whose elements, moved and times a factor, are those of a node.
fn without_factors(graph: &Graph, mut id: usize) -> (usize, Vec<Option<u32>>, f64) {
    let mut all: Vec<Option<u32>> = (0..graph.nodes[id].elements() as u32).map(Some).collect();
    let mut factor = 1.0;
    loop {
        if let Some(inner) = moves::places(graph, id) {
            all = all.into_iter().map(|place| place.and_then(|place| inner[place as usize])).collect();
        } else {
            match &graph.nodes[id].op {
                Op::Affine(affine) => match affine.uniform() {
                    Some((by, 0.0)) => factor *= by,
                    _ => return (id, all, factor),
                },
                _ => return (id, all, factor),
            }
        }
        id = graph.nodes[id].inputs[0];
    }
}

/// Gives softmax the mask that is added to its scores.
pub fn join_masks(graph: &mut Graph) {
    for id in 0..graph.nodes.len() {
        let (Op::Softmax, &[scores]) = (&graph.nodes[id].op, &graph.nodes[id].inputs[..]) else { continue };
        let (Op::Add, &[a, b]) = (&graph.nodes[scores].op, &graph.nodes[scores].inputs[..]) else { continue };
        let found = [(a, b), (b, a)].into_iter().find_map(|(x, mask)| Some((x, mask_of(graph, mask)?)));
        if let Some((x, mask)) = found {
            graph.nodes[mask].op = Op::Public(Public::Mask);
            graph.nodes[id].inputs = vec![x, mask];
        }
    }
}

/// The mask whose bits decide between 0 and a very low score along the last axis.
fn mask_of(graph: &Graph, id: usize) -> Option<usize> {
    let chain = Chain::of(graph, id);
    let mask = input_mask(graph, chain.origin)?;
    let width = *graph.nodes[id].shape.last()?;
    let decides = |element: usize| {
        chain.place(graph, element) == Some(element % width)
            && chain.at(graph, element, 1.0) == 0.0
            && chain.at(graph, element, 0.0) <= LEFT_OUT
    };
    let fits = graph.nodes[mask].elements() == width && (0..graph.nodes[id].elements()).all(decides);
    fits.then_some(mask)
}

/// An input that may be a mask.
pub fn input_mask(graph: &Graph, id: usize) -> Option<usize> {
    matches!(graph.nodes[id].op, Op::Input | Op::Public(Public::Mask)).then_some(id)
}
