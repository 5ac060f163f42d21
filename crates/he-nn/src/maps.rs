//! Where the values of all layers lie in slots, and the linear maps between them.

use crate::error::Result;
use crate::graph::{Graph, Op};
use crate::layers::{Kind, Layers};
use he_core::circuits::ckks::{BlockTransform, TensorGrid, TensorLayout};

/// The places of all values, and the linear maps.
#[derive(Clone, Debug)]
pub struct Maps {
    /// The layout of each layer's value.
    pub layouts: Vec<TensorLayout>,
    /// The map of each linear layer.
    pub transforms: Vec<Option<BlockTransform>>,
}

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

/// Channels, height and width: planes as they are, anything else as a vector.
fn planes(shape: &[usize]) -> [usize; 3] {
    match *shape {
        [channels, height, width] => [channels, height, width],
        _ => [shape.iter().product(), 1, 1],
    }
}

/// The positions of the elements of a value, for the first example.
pub fn positions(layout: &TensorLayout) -> Vec<usize> {
    let [_, height, width] = layout.shape();
    let position = |at: usize| layout.position(at / (height * width), at / width % height, at % width);
    (0..layout.entries()).filter_map(position).collect()
}

impl Maps {
    /// Places the values of `examples` inputs side by side in vectors of up to `capacity` slots.
    ///
    /// # Errors
    /// Those of layouts: a value has too many elements.
    pub fn new(graph: &Graph, layers: &Layers, examples: usize, capacity: usize) -> Result<Self> {
        let users = layers.users();
        let mut maps = Self { layouts: Vec::new(), transforms: Vec::new() };
        for (id, layer) in layers.list.iter().enumerate() {
            let (layout, transform) = match &layer.kind {
                Kind::Input => {
                    let shape = planes(&graph.nodes[0].shape);
                    (TensorLayout::batched(shape, examples, capacity)?, None)
                }
                Kind::Add | Kind::Product => {
                    let [a, b] = [0, 1].map(|index| maps.layouts[layer.inputs[index]]);
                    (a.sum(&b)?, None)
                }
                Kind::Function(_) => (maps.layouts[layer.inputs[0]], None),
                Kind::Linear(chain) => {
                    // What it is added to may lie somewhere already.
                    let partners = users[id].iter().flat_map(|&user| match layers.list[user].kind {
                        Kind::Add | Kind::Product => layers.list[user].inputs.as_slice(),
                        _ => &[],
                    });
                    let given =
                        partners.filter(|&&other| other < id).map(|&other| maps.layouts[other]).next();
                    let transform = maps.linear(graph, layers, id, chain, given)?;
                    (*transform.output(), Some(transform))
                }
            };
            maps.layouts.push(layout);
            maps.transforms.push(transform);
        }
        Ok(maps)
    }

    /// The map of a linear layer, to a given layout or to the one that takes the fewest rotations.
    fn linear(
        &self,
        graph: &Graph,
        layers: &Layers,
        id: usize,
        chain: &[usize],
        given: Option<TensorLayout>,
    ) -> Result<BlockTransform> {
        let layer = &layers.list[id];
        let from = layer.inputs[0];
        let input = self.layouts[from];
        let mut sparse = Sparse::identity(input.entries());
        for &node in chain {
            let columns = input.entries();
            sparse = match graph.nodes[node].op {
                Op::Reshape => sparse,
                _ => Sparse::of_node(graph, node).after(&sparse, columns),
            };
        }
        let unit = |column: usize| match layers.list[from].kind {
            Kind::Input => layers.input_units[column],
            _ => layers.list[from].unit,
        };
        let columns = positions(&input);
        let made = |output: TensorLayout| -> Result<BlockTransform> {
            let rows = positions(&output);
            let entry = |&(row, column, value): &(u32, u32, f64)| {
                let (row, column) = (row as usize, column as usize);
                (rows[row], columns[column], value * unit(column) / layer.unit)
            };
            let entries = sparse.entries.iter().map(entry);
            Ok(match given {
                Some(_) => BlockTransform::new(&input, &output, entries),
                None => BlockTransform::cheapest(&input, &output, entries),
            }?)
        };
        let candidates = match given {
            Some(given) => vec![given],
            None => candidates(graph, chain, &input)?,
        };
        let mut best: Option<BlockTransform> = None;
        for candidate in candidates {
            let transform = made(candidate)?;
            let key =
                |map: &BlockTransform| (map.output().ciphertexts(), 8 * map.rotations() + map.diagonals());
            if best.as_ref().is_none_or(|best| key(&transform) < key(best)) {
                best = Some(transform);
            }
        }
        let transform = best.ok_or_else(|| crate::Error::Graph { why: "has no layout".to_owned() })?;
        let rows = positions(transform.output());
        let offsets = rows.into_iter().zip(&sparse.offsets).map(|(row, offset)| (row, offset / layer.unit));
        let offsets: Vec<(usize, f64)> = offsets.filter(|(_, offset)| *offset != 0.0).collect();
        Ok(if offsets.is_empty() { transform } else { transform.with_bias(offsets)? })
    }
}

/// The layouts to choose from for what a chain of linear maps leaves: planes lie where their
/// windows are, with the gaps that strides leave filled by channels; anything else is a vector.
fn candidates(graph: &Graph, chain: &[usize], input: &TensorLayout) -> Result<Vec<TensorLayout>> {
    let ops = chain.iter().map(|&node| &graph.nodes[node].op);
    let windows = ops.clone().all(|op| matches!(op, Op::Conv(_) | Op::Pool(_) | Op::Affine(_) | Op::Reshape));
    let shaped = chain.iter().rev().find(|&&node| graph.nodes[node].op != Op::Reshape);
    let shape = match shaped {
        Some(&node) => planes(&graph.nodes[node].shape),
        None => input.shape(),
    };
    let mut found = Vec::new();
    if windows {
        let stride = ops.fold([1, 1], |stride: [usize; 2], op| match op {
            Op::Conv(conv) => [0, 1].map(|axis| stride[axis].saturating_mul(conv.window.strides[axis])),
            Op::Pool(window) => [0, 1].map(|axis| stride[axis].saturating_mul(window.strides[axis])),
            _ => stride,
        });
        let grid = input.grid();
        let gap = [0, 1].map(|axis| grid.gap[axis].saturating_mul(stride[axis]));
        // What of a gap fits behind the last pixel.
        let room = |length: usize, gap: usize, extent: usize| {
            extent
                .checked_sub((length - 1).saturating_mul(gap))
                .map(|room| room.min(gap))
                .filter(|&room| room > 0)
        };
        let full = room(shape[1], gap[0], grid.plane / grid.pitch).zip(room(shape[2], gap[1], grid.pitch));
        let [down, across] = grid.interleave;
        let kept = full.filter(|&(d, a)| down <= d && across <= a).map(|_| (down, across));
        let mut shares: Vec<(usize, usize)> = full.into_iter().chain(kept).collect();
        shares.dedup();
        for (down, across) in shares {
            let grid = TensorGrid { gap, interleave: [down, across], ..grid };
            found.push(TensorLayout::with_grid(shape, grid, input.examples(), input.capacity())?);
        }
    }
    if found.is_empty() {
        found.push(TensorLayout::batched(shape, input.examples(), input.capacity())?);
    }
    Ok(found)
}
