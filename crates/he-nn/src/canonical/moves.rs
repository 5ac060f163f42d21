//! Elements that move several times move once.

use crate::graph::{Graph, Op};

/// The place that each element of a node comes from, if the node only moves elements.
pub fn places(graph: &Graph, id: usize) -> Option<Vec<Option<u32>>> {
    match &graph.nodes[id].op {
        Op::Gather(from) => Some(from.clone()),
        Op::Reshape => Some((0..graph.nodes[id].elements() as u32).map(Some).collect()),
        _ => None,
    }
}

/// The operation that moves elements, the simplest one.
pub fn simplest(places: Vec<Option<u32>>, elements: usize) -> Op {
    let whole = places.len() == elements && places.iter().zip(0..).all(|(&from, at)| from == Some(at));
    if whole { Op::Reshape } else { Op::Gather(places) }
}

/// Joins moves that follow each other.
pub fn compose(graph: &mut Graph) {
    for id in 0..graph.nodes.len() {
        let Some(outer) = places(graph, id) else { continue };
        let source = graph.nodes[id].inputs[0];
        let (base, all) = match places(graph, source) {
            Some(inner) => {
                let through = |place: Option<u32>| place.and_then(|place| inner[place as usize]);
                (graph.nodes[source].inputs[0], outer.into_iter().map(through).collect())
            }
            None => (source, outer),
        };
        let op = simplest(all, graph.nodes[base].elements());
        (graph.nodes[id].op, graph.nodes[id].inputs) = (op, vec![base]);
    }
    skip(graph, |graph, id| {
        let node = &graph.nodes[id];
        node.op == Op::Reshape && node.shape == graph.nodes[node.inputs[0]].shape
    });
}

/// Takes the input of nodes in place of the nodes themselves.
pub fn skip(graph: &mut Graph, is_skipped: impl Fn(&Graph, usize) -> bool) {
    let mut place: Vec<usize> = (0..graph.nodes.len()).collect();
    for id in 0..graph.nodes.len() {
        let inputs: Vec<usize> = graph.nodes[id].inputs.iter().map(|&input| place[input]).collect();
        graph.nodes[id].inputs = inputs;
        if is_skipped(graph, id) {
            place[id] = graph.nodes[id].inputs[0];
        }
    }
    graph.output = place[graph.output];
}
