//! One graph for the ways in which exporters write a transformer.
//!
//! A layer normalisation may be one operator or nine, a mask may be added or chosen, heads may be
//! moved by one transposition or by two. Each step here replaces the value of a node by another
//! computation of the same value. It looks at values, not at spellings: a part is recognised
//! because it computes the same as the operation, on numbers at random or on all masks.

mod attention;
mod chain;
mod functions;
mod linear;
pub mod moves;
mod norms;
mod order;
mod pooling;
mod region;

use crate::graph::Graph;

/// The graph in the form that does not depend on the exporter.
pub fn of(graph: Graph) -> Graph {
    let steps = [
        moves::compose,
        attention::join_factors,
        attention::join_masks,
        functions::recognise,
        norms::recognise,
        pooling::recognise,
        linear::fold,
        linear::pull_offsets,
        linear::fold,
        order::sort,
    ];
    steps.into_iter().fold(graph, |mut graph, step| {
        step(&mut graph);
        order::numbered(graph)
    })
}
