//! GELU by its name, however it is put together.

use crate::function::{Function, Named};
use crate::graph::{Graph, Op};

/// Constants of single precision in a spelling leave differences of this size.
const NEAR: f64 = 1e-6;

/// Names the functions that are GELU.
pub fn recognise(graph: &mut Graph) {
    for id in (0..graph.nodes.len()).rev() {
        let found = origins(graph, id).into_iter().find_map(|(origin, function)| {
            [Named::Gelu, Named::GeluTanh]
                .into_iter()
                .find(|&name| is_near(&function, name))
                .map(|n| (origin, n))
        });
        if let Some((origin, name)) = found {
            let node = &mut graph.nodes[id];
            (node.op, node.inputs) = (Op::Function(Function::named(name)), vec![origin]);
            node.operator = "Gelu".to_owned();
        }
    }
}

fn is_near(function: &Function, name: Named) -> bool {
    (-96..=96).map(|x| f64::from(x) / 16.0).all(|x| (function.at(x) - name.at(x)).abs() < NEAR)
}

/// The values before a node of which it is a function of single elements, the nearest first.
fn origins(graph: &Graph, mut id: usize) -> Vec<(usize, Function)> {
    let (mut found, mut last) = (Vec::new(), Function::x());
    loop {
        let step = match &graph.nodes[id].op {
            Op::Function(function) => function.clone(),
            Op::Affine(affine) => match affine.uniform() {
                Some((factor, offset)) => Function::affine(factor, offset),
                None => return found,
            },
            _ => return found,
        };
        last = last.of(&step);
        if !last.is_valid() {
            return found;
        }
        id = graph.nodes[id].inputs[0];
        found.push((id, last.clone()));
    }
}
