//! Linear layers as matrices between the elements of values.

use crate::graph::{Graph, Op};
use crate::layers::{Kind, Layers};

/// A sparse matrix: (row, column, value), and an offset for each row.
struct Sparse {
    entries: Vec<(u32, u32, f64)>,
    offsets: Vec<f64>,
}

impl Sparse {
    /// The map of a node.
    fn of_node(graph: &Graph, node: usize) -> Self {
        let node = &graph.nodes[node];
        let mut entries = Vec::new();
        node.op.entries(&graph.nodes[node.inputs[0]].shape, &node.shape, |row, column, weight| {
            if weight != 0.0 {
                entries.push((row as u32, column as u32, weight));
            }
        });
        let offsets = (0..node.elements()).map(|row| node.op.offset(&node.shape, row)).collect();
        Self { entries, offsets }
    }

    fn identity(elements: usize) -> Self {
        let entries = (0..elements as u32).map(|i| (i, i, 1.0)).collect();
        Self { entries, offsets: vec![0.0; elements] }
    }

    /// This map after another one.
    fn after(self, first: &Self, columns: usize) -> Self {
        let mut starts = vec![0; first.offsets.len() + 1];
        first.entries.iter().for_each(|entry| starts[entry.0 as usize + 1] += 1);
        (0..first.offsets.len()).for_each(|row| starts[row + 1] += starts[row]);
        let (mut offsets, mut entries) = (self.offsets, Vec::new());
        let mut sum = vec![0.0; columns];
        let mut touched: Vec<u32> = Vec::new();
        for row in self.entries.chunk_by(|a, b| a.0 == b.0) {
            for &(at, middle, weight) in row {
                offsets[at as usize] += weight * first.offsets[middle as usize];
                for &(_, column, inner) in
                    &first.entries[starts[middle as usize]..starts[middle as usize + 1]]
                {
                    if sum[column as usize] == 0.0 {
                        touched.push(column);
                    }
                    sum[column as usize] += weight * inner;
                }
            }
            touched.sort_unstable();
            touched.dedup();
            for column in touched.drain(..) {
                let value = std::mem::take(&mut sum[column as usize]);
                if value != 0.0 {
                    entries.push((row[0].0, column, value));
                }
            }
        }
        Self { entries, offsets }
    }
}

/// The matrix of a linear layer from the elements of its input to those of its value, each divided
/// by its unit.
pub struct Matrix {
    sparse: Sparse,
    /// The factor of each entry of a column.
    factors: Vec<f64>,
    unit: f64,
}

impl Matrix {
    /// The matrix of a layer that is the linear maps of `chain`.
    pub fn new(graph: &Graph, layers: &Layers, id: usize, chain: &[usize]) -> Self {
        let layer = &layers.list[id];
        let from = &layers.list[layer.inputs[0]];
        let columns = graph.nodes[from.node].elements();
        let mut sparse = Sparse::identity(columns);
        for &node in chain {
            sparse = match graph.nodes[node].op {
                Op::Reshape => sparse,
                _ => Sparse::of_node(graph, node).after(&sparse, columns),
            };
        }
        let unit = |column: usize| match from.kind {
            Kind::Input => layers.input_units[column],
            _ => from.unit,
        };
        Self { sparse, factors: (0..columns).map(unit).collect(), unit: layer.unit }
    }

    /// The rows and the columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.sparse.offsets.len(), self.factors.len()]
    }

    /// The entries that are not zero: row, column, weight.
    pub fn entries(&self) -> impl Iterator<Item = (usize, usize, f64)> + Clone {
        self.sparse.entries.iter().map(|&(row, column, value)| {
            let (row, column) = (row as usize, column as usize);
            (row, column, value * self.factors[column] / self.unit)
        })
    }

    /// The number that is added to each row.
    pub fn offsets(&self) -> impl Iterator<Item = f64> {
        self.sparse.offsets.iter().map(|offset| offset / self.unit)
    }
}
