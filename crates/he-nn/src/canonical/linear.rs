//! Factors and offsets inside of the linear maps before them.

use super::moves;
use crate::graph::{Affine, Dense, Graph, Node, Op};

/// Joins factors and offsets with each other, and with linear layers that nothing else takes.
pub fn fold(graph: &mut Graph) {
    let uses = graph.uses();
    for id in 0..graph.nodes.len() {
        let Op::Affine(affine) = &graph.nodes[id].op else { continue };
        let source = graph.nodes[id].inputs[0];
        let op = match &graph.nodes[source].op {
            Op::Affine(first) => Some(Op::Affine(joined(first, affine, &graph.nodes[id]))),
            Op::Dense(dense) if uses[source] == 1 => scaled(dense, affine, &graph.nodes[id]).map(Op::Dense),
            _ => None,
        };
        match op {
            Some(op) => {
                let inputs = graph.nodes[source].inputs.clone();
                (graph.nodes[id].op, graph.nodes[id].inputs) = (op, inputs);
            }
            None => graph.nodes[id].op = Op::Affine(joined(&nothing(), affine, &graph.nodes[id])),
        }
    }
    moves::skip(graph, |graph, id| match &graph.nodes[id].op {
        Op::Affine(affine) => affine.uniform() == Some((1.0, 0.0)),
        _ => false,
    });
}

/// Factors of 1 and offsets of 0.
fn nothing() -> Affine {
    Affine { run: 1, factors: vec![1.0], offsets: vec![0.0] }
}

/// One after the other, on the elements of a node.
fn joined(first: &Affine, second: &Affine, node: &Node) -> Affine {
    let at = |element: usize| {
        let ((f, o), (g, p)) = (first.at(element), second.at(element));
        // The sum with 0 makes 0 of -0.
        (g * f, g * o + p + 0.0)
    };
    let (factors, offsets): (Vec<f64>, Vec<f64>) = (0..node.elements()).map(at).unzip();
    let width = node.shape.last().copied().unwrap_or(1);
    Affine { run: 1, factors: shortest(factors, width), offsets: shortest(offsets, width) }
}

/// The numbers that repeat: one, or those of a row, or all.
fn shortest(mut numbers: Vec<f64>, width: usize) -> Vec<f64> {
    for period in [1, width] {
        if numbers
            .iter()
            .zip(numbers.iter().cycle().skip(period))
            .take(numbers.len() - period)
            .all(|(a, b)| a == b)
        {
            numbers.truncate(period);
            break;
        }
    }
    numbers
}

/// A linear layer with the factors and offsets behind it, if they are the same for each row.
fn scaled(dense: &Dense, affine: &Affine, node: &Node) -> Option<Dense> {
    let of_row = |at: usize| affine.at(at % dense.outputs);
    if !(0..node.elements()).all(|at| affine.at(at) == of_row(at)) {
        return None;
    }
    let weights = dense.weights.chunks(dense.inputs).zip(0..);
    Some(Dense {
        weights: weights.flat_map(|(row, at)| row.iter().map(move |w| w * of_row(at).0)).collect(),
        bias: dense.bias.iter().zip(0..).map(|(b, at)| b * of_row(at).0 + of_row(at).1).collect(),
        ..*dense
    })
}

/// Adds offsets after sums in place of before.
pub fn pull_offsets(graph: &mut Graph) {
    let uses = graph.uses();
    for id in 0..graph.nodes.len() {
        for index in 0..2 {
            if graph.nodes[id].op != Op::Add {
                break;
            }
            let source = graph.nodes[id].inputs[index];
            let Op::Affine(affine) = &graph.nodes[source].op else { continue };
            if uses[source] > 1 || affine.factors.iter().any(|&factor| factor != 1.0) {
                continue;
            }
            let op = Op::Affine(affine.clone());
            let mut sum = graph.nodes[id].clone();
            sum.inputs[index] = graph.nodes[source].inputs[0];
            graph.nodes.push(sum);
            (graph.nodes[id].op, graph.nodes[id].inputs) = (op, vec![graph.nodes.len() - 1]);
        }
    }
}
