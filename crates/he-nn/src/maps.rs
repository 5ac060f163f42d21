//! The places of the values of all layers in slots, and the linear maps between them.

use crate::error::{Error, Result};
use crate::graph::{Graph, Op};
use crate::layers::{Kind, Layers};
use crate::linear::Matrix;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::{BlockOutline, BlockParts, BlockTransform, TensorLayout};
use he_core::ckks::CkksParams;
use serde::{Deserialize, Serialize};

/// The places of all values, and how linear maps between them are computed. The maps themselves,
/// which may take gigabytes, are [made](Self::transform) when they are needed.
#[derive(Clone, Debug)]
pub struct Maps {
    /// The layout of each layer's value.
    pub layouts: Vec<TensorLayout>,
    /// The choices that lead to these layouts.
    pub packing: Packing,
}

/// The map of each layer, if it is a linear one.
pub type Transforms = Vec<Option<BlockTransform>>;

/// The costs of a linear map, without its values.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The keys.
    pub requirements: Requirements,
    /// Rotations of ciphertexts.
    pub rotations: usize,
    /// Products with plaintexts.
    pub diagonals: usize,
    /// Entries of matrices that multiply ciphertexts.
    pub entries: usize,
    /// Bytes of the plaintexts on each level from 1.
    pub plaintext_bytes: Vec<u64>,
}

impl Outline {
    /// The outline of a map, for parameters.
    pub fn new(transform: &BlockTransform, params: &CkksParams) -> he_core::Result<Self> {
        let bytes = (1..=params.max_level()).map(|level| transform.plaintext_bytes(params, level));
        Ok(Self {
            requirements: transform.requirements(),
            rotations: transform.rotations(),
            diagonals: transform.diagonals(),
            entries: 0,
            plaintext_bytes: bytes.collect::<he_core::Result<_>>()?,
        })
    }
}

/// The choices that a search made: enough to make the same [`Maps`] without a search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// Examples side by side in a ciphertext.
    pub examples: usize,
    /// The choice for each linear layer, in their order.
    pub choices: Vec<Choice>,
}

/// The choice for a linear layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The index of the layout of the output among the [`candidates`].
    candidate: usize,
    /// The power of two by which vectors of the output have more slots than it needs.
    widened: u32,
    /// Baby steps to a giant step.
    babies: usize,
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
    /// Places the values of `examples` inputs side by side in vectors of up to `capacity` slots, so
    /// that rotations are few. The maps come with it.
    ///
    /// # Errors
    /// The errors of layouts: a value has too many elements.
    pub fn new(
        graph: &Graph,
        layers: &Layers,
        examples: usize,
        capacity: usize,
    ) -> Result<(Self, Transforms)> {
        Self::placed(graph, layers, examples, capacity, None)
    }

    /// The maps with choices that were made before.
    ///
    /// # Errors
    /// [`Error::Format`] for choices that there are not, and for examples that do not share one
    /// ciphertext; those of layouts.
    pub fn packed(graph: &Graph, layers: &Layers, packing: &Packing, capacity: usize) -> Result<Self> {
        let (maps, _) = Self::placed(graph, layers, packing.examples, capacity, Some(&packing.choices))?;
        let together = packing.examples == 1 || maps.layouts.iter().all(|layout| layout.ciphertexts() == 1);
        if maps.packing != *packing || !together {
            return Err(Error::Format { why: "its packing does not belong to its graph".to_owned() });
        }
        Ok(maps)
    }

    fn placed(
        graph: &Graph,
        layers: &Layers,
        examples: usize,
        capacity: usize,
        chosen: Option<&[Choice]>,
    ) -> Result<(Self, Transforms)> {
        let alike = layers.alike();
        let packing = Packing { examples, choices: Vec::new() };
        let mut maps = Self { layouts: Vec::new(), packing };
        let mut transforms = Vec::new();
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
                    // Other values that meet this one may have their places already.
                    let met = (0..id).find(|&other| alike.first(other) == alike.first(id));
                    let given = met.map(|other| maps.layouts[other]);
                    let input = maps.layouts[layer.inputs[0]];
                    let candidates = match given {
                        Some(given) => vec![given],
                        None => candidates(graph, chain, &input)?,
                    };
                    let (choice, layout, transform) = match chosen {
                        None => {
                            let map = LinearMap::new(graph, layers, id, chain, input);
                            let (choice, transform) = map.cheapest(&candidates, given.is_some())?;
                            (choice, *transform.output(), Some(transform))
                        }
                        Some(choices) => {
                            let choice = choices.get(maps.packing.choices.len());
                            let layout = choice.and_then(|choice| choice.layout(&input, &candidates));
                            let (choice, layout) = choice.zip(layout).ok_or_else(unknown)?;
                            (*choice, layout, None)
                        }
                    };
                    maps.packing.choices.push(choice);
                    (layout, transform)
                }
            };
            maps.layouts.push(layout);
            transforms.push(transform);
        }
        Ok((maps, transforms))
    }

    /// The map of a layer, if it is a linear one.
    ///
    /// # Errors
    /// The errors of maps, for weights whose products exceed all numbers.
    pub fn transform(&self, graph: &Graph, layers: &Layers, id: usize) -> Result<Option<BlockTransform>> {
        let Some((map, babies)) = self.linear(graph, layers, id)? else { return Ok(None) };
        map.to(&self.layouts[id], Search::Nothing(babies)).map(Some)
    }

    /// The parts of the map of a layer on a level, with the diagonal of one of them at most.
    ///
    /// # Errors
    /// The same as for [`transform`](Self::transform), and those of levels.
    pub fn outline(
        &self,
        graph: &Graph,
        layers: &Layers,
        id: usize,
        (params, level): (&CkksParams, usize),
        filled: Option<usize>,
    ) -> Result<Option<BlockParts>> {
        let Some((map, babies)) = self.linear(graph, layers, id)? else { return Ok(None) };
        let (output, rows) = (&self.layouts[id], positions(&self.layouts[id]));
        let outline = BlockOutline::new(&map.input, output, map.entries(&rows), babies)?;
        let offsets = map.offsets(&rows);
        let outline = if offsets.is_empty() { outline } else { outline.with_bias(offsets)? };
        let mut parts = outline.into_parts(params, level)?;
        if let Some(part) = filled {
            parts.fill(part, map.entries(&rows))?;
        }
        Ok(Some(parts))
    }

    /// The map of a layer and its baby steps, if it is a linear one.
    fn linear(&self, graph: &Graph, layers: &Layers, id: usize) -> Result<Option<(LinearMap, usize)>> {
        let Kind::Linear(chain) = &layers.list[id].kind else { return Ok(None) };
        let before = layers.list[..id].iter().filter(|layer| matches!(layer.kind, Kind::Linear(_))).count();
        let babies = self.packing.choices.get(before).ok_or_else(unknown)?.babies;
        let input = self.layouts[layers.list[id].inputs[0]];
        Ok(Some((LinearMap::new(graph, layers, id, chain, input), babies)))
    }
}

fn unknown() -> Error {
    Error::Format { why: "its packing has no such layout".to_owned() }
}

impl Choice {
    /// The layout of the output, if there is such a choice.
    fn layout(&self, input: &TensorLayout, candidates: &[TensorLayout]) -> Option<TensorLayout> {
        let candidate = candidates.get(self.candidate)?;
        let layout = candidate.with_slots(candidate.slots().checked_shl(self.widened)?).ok()?;
        let most = input.slots().min(layout.slots()) / input.examples();
        (1..=most).contains(&self.babies).then_some(layout)
    }
}

/// The map of a linear layer, for any layout of its output.
struct LinearMap {
    input: TensorLayout,
    matrix: Matrix,
    /// The position of each element of the input.
    columns: Vec<usize>,
}

impl LinearMap {
    fn new(graph: &Graph, layers: &Layers, id: usize, chain: &[usize], input: TensorLayout) -> Self {
        let matrix = Matrix::new(graph, layers, id, chain);
        Self { input, matrix, columns: positions(&input) }
    }

    /// The map to the one of the layouts, or to the one given, that takes the fewest rotations.
    fn cheapest(&self, candidates: &[TensorLayout], given: bool) -> Result<(Choice, BlockTransform)> {
        let how = if given { Search::Babies } else { Search::Slots };
        let key = |map: &BlockTransform| (map.output().ciphertexts(), 8 * map.rotations() + map.diagonals());
        let mut best: Option<(usize, BlockTransform)> = None;
        for (at, candidate) in candidates.iter().enumerate() {
            let transform = self.to(candidate, how)?;
            if best.as_ref().is_none_or(|(_, best)| key(&transform) < key(best)) {
                best = Some((at, transform));
            }
        }
        let (candidate, transform) = best.ok_or_else(|| Error::Graph { why: "has no layout".to_owned() })?;
        let widened = (transform.output().slots() / candidates[candidate].slots()).ilog2();
        Ok((Choice { candidate, widened, babies: transform.babies() }, transform))
    }

    /// The entries, for these positions of the output's elements.
    fn entries<'a>(&'a self, rows: &'a [usize]) -> impl Iterator<Item = (usize, usize, f64)> + Clone + 'a {
        let entries = self.matrix.entries();
        entries.map(move |(row, column, weight)| (rows[row], self.columns[column], weight))
    }

    /// The numbers that are added at these positions, but for zeros.
    fn offsets(&self, rows: &[usize]) -> Vec<(usize, f64)> {
        let offsets = rows.iter().copied().zip(self.matrix.offsets());
        offsets.filter(|(_, offset)| *offset != 0.0).collect()
    }

    /// The map to a layout of the output.
    fn to(&self, output: &TensorLayout, search: Search) -> Result<BlockTransform> {
        let rows = positions(output);
        let entries = self.entries(&rows);
        let transform = match search {
            Search::Slots => BlockTransform::cheapest(&self.input, output, entries),
            Search::Babies => BlockTransform::new(&self.input, output, entries),
            Search::Nothing(babies) => BlockTransform::with_babies(&self.input, output, entries, babies),
        }?;
        let offsets = self.offsets(&rows);
        Ok(if offsets.is_empty() { transform } else { transform.with_bias(offsets)? })
    }
}

/// The part of a map that is searched for.
#[derive(Clone, Copy, Debug)]
enum Search {
    /// The slots of the output's vectors and the baby steps.
    Slots,
    /// The baby steps.
    Babies,
    /// These are the baby steps.
    Nothing(usize),
}

/// The layouts to choose from for the result of a chain of linear maps: planes lie where their
/// windows are, with the gaps that strides leave filled by channels; anything else is a vector.
fn candidates(graph: &Graph, chain: &[usize], input: &TensorLayout) -> Result<Vec<TensorLayout>> {
    let shaped = chain.iter().rev().find(|&&node| graph.nodes[node].op != Op::Reshape);
    let shape = match shaped {
        Some(&node) => planes(&graph.nodes[node].shape),
        None => input.shape(),
    };
    let strides: Option<Vec<[usize; 2]>> = chain.iter().map(|&node| graph.nodes[node].op.strides()).collect();
    let Some(strides) = strides else {
        return Ok(vec![TensorLayout::batched(shape, input.examples(), input.capacity())?]);
    };
    let product = |axis: usize| strides.iter().fold(1, |all: usize, one| all.saturating_mul(one[axis]));
    Ok(input.after_windows(shape, [product(0), product(1)])?)
}
