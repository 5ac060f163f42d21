//! The part of a graph that depends on a few values only, computed on numbers at random.

use crate::graph::{Graph, Op};

/// The most nodes of a region.
const MOST: usize = 64;
/// The most numbers that may be computed to recognise parts of a graph.
pub const BUDGET: usize = 1 << 30;

/// The nodes that depend on these roots and on constants alone, by operations of small cost; none
/// once the numbers that may be computed are used up.
pub fn within(graph: &Graph, roots: &[usize], left: &mut usize) -> Vec<usize> {
    let region = of(graph, roots);
    let numbers = region.iter().chain(roots).map(|&id| graph.nodes[id].elements()).sum::<usize>();
    match left.checked_sub(4 * numbers) {
        Some(rest) => {
            *left = rest;
            region
        }
        None => Vec::new(),
    }
}

fn of(graph: &Graph, roots: &[usize]) -> Vec<usize> {
    let first = roots.iter().copied().min().unwrap_or(0);
    let mut inside = vec![false; graph.nodes.len()];
    roots.iter().for_each(|&root| inside[root] = true);
    let mut found = Vec::new();
    for id in first + 1..graph.nodes.len() {
        let node = &graph.nodes[id];
        if found.len() == MOST {
            break;
        }
        if !inside[id] && is_small(&node.op) && node.inputs.iter().all(|&input| inside[input]) {
            inside[id] = true;
            found.push(id);
        }
    }
    found
}

fn is_small(op: &Op) -> bool {
    match op {
        Op::Add | Op::Product | Op::Affine(_) | Op::Function(_) | Op::Gather(_) | Op::Reshape => true,
        op => sum_of(op).is_some(),
    }
}

/// The numbers in the rows that an operation adds up, and the factor of the sum.
pub fn sum_of(op: &Op) -> Option<(usize, f64)> {
    let Op::Dense(dense) = op else { return None };
    let (&weight, rest) = dense.weights.split_first()?;
    let equal = dense.outputs == 1 && dense.bias == [0.0] && rest.iter().all(|&other| other == weight);
    equal.then_some((dense.inputs, weight))
}

/// The values of the nodes of a region, where its roots have these values.
pub fn values(graph: &Graph, region: &[usize], roots: &[(usize, Vec<f64>)]) -> Vec<Vec<f64>> {
    let mut values = vec![Vec::new(); graph.nodes.len()];
    roots.iter().for_each(|(root, value)| values[*root].clone_from(value));
    for &id in region {
        let value = graph.value(id, &[], &values, &|_, function, x| function.at(x));
        values[id] = value;
    }
    values
}

/// Numbers from -scale to scale, which look random and are the same for each seed.
pub fn numbers(seed: u64, count: usize, scale: f64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        scale * ((state >> 11) as f64 / f64::from(1u32 << 26) / f64::from(1u32 << 26) - 1.0)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// The number of single precision that a number stands for, if there is one.
pub fn single(x: f64) -> f64 {
    let near = f64::from(x as f32);
    if (near - x).abs() <= 1e-9 * near.abs().max(1e-3) { near } else { x }
}
