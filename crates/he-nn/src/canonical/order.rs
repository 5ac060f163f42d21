//! The order of nodes and of the operands of sums.

use crate::graph::{Graph, Op};

/// The length of the longest way from an input to each node, and the first input that it depends
/// on.
fn depths(graph: &Graph) -> Vec<(usize, usize)> {
    let mut depths: Vec<(usize, usize)> = Vec::with_capacity(graph.nodes.len());
    for (id, node) in graph.nodes.iter().enumerate() {
        let before = node.inputs.iter().map(|&input| depths[input]);
        let (depth, first) = before.fold((0, id), |(depth, first), (d, f)| (depth.max(d + 1), first.min(f)));
        depths.push((depth, first));
    }
    depths
}

/// Puts the operands of sums and products into the order of their depths.
pub fn sort(graph: &mut Graph) {
    let depths = depths(graph);
    for node in &mut graph.nodes {
        if matches!(node.op, Op::Add | Op::Product) {
            node.inputs.sort_by_key(|&input| depths[input]);
        }
    }
}

/// The nodes that the output needs, the inputs in front, in the order in which a walk from the
/// output leaves them.
pub fn numbered(graph: Graph) -> Graph {
    let mut order: Vec<usize> = graph.inputs().map(|(id, _)| id).collect();
    let mut place = vec![usize::MAX; graph.nodes.len()];
    order.iter().enumerate().for_each(|(at, &id)| place[id] = at);
    let mut stack = vec![(graph.output, 0)];
    while let Some((id, next)) = stack.pop() {
        if place[id] != usize::MAX {
            continue;
        }
        match graph.nodes[id].inputs.get(next) {
            Some(&input) => stack.extend([(id, next + 1), (input, 0)]),
            None => {
                place[id] = order.len();
                order.push(id);
            }
        }
    }
    let mut nodes: Vec<Option<_>> = graph.nodes.into_iter().map(Some).collect();
    let moved = order.iter().filter_map(|&id| nodes[id].take()).map(|mut node| {
        node.inputs.iter_mut().for_each(|input| *input = place[*input]);
        node
    });
    Graph { nodes: moved.collect(), output: place[graph.output], decision: graph.decision }
}
