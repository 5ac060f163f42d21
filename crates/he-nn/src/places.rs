//! The places of all values: in slots side by side, or in stacks of ciphertexts.

use crate::error::Result;
use crate::graph::Graph;
use crate::layers::{Kind, Layers};
use crate::linear::Matrix;
use crate::maps::{Maps, Outline, positions};
use crate::stacks::{PreparedStack, StackMap, Stacks, joined, parted};
use he_core::backend::RingOps;
use he_core::circuits::ckks::{BlockTransform, PreparedBlocks};
use he_core::ckks::{Ciphertext, CkksParams, Evaluator};
use he_core::rlwe::EvaluationKeys;

/// How the numbers of examples lie in ciphertexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The numbers of an example lie side by side in slots, with a few examples in a ciphertext:
    /// linear maps rotate. The least latency.
    Slots,
    /// Each number of an example lies in a ciphertext of its own, in the slot of the example:
    /// linear maps are products of matrices, which take no rotations. The most examples in a
    /// second, if as many come at once as a ciphertext has slots.
    Stacks,
}

impl Arrangement {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Stacks => "stacks",
        }
    }
}

/// The places of the values of all layers.
#[derive(Clone, Debug)]
pub enum Places {
    /// In slots.
    Slots(Maps),
    /// In stacks.
    Stacks(Stacks),
}

impl Places {
    /// Which of the arrangements it is.
    pub fn arrangement(&self) -> Arrangement {
        match self {
            Self::Slots(_) => Arrangement::Slots,
            Self::Stacks(_) => Arrangement::Stacks,
        }
    }

    /// Examples that share a ciphertext.
    pub fn examples(&self) -> usize {
        match self {
            Self::Slots(maps) => maps.layouts[0].examples(),
            Self::Stacks(stacks) => stacks.slots,
        }
    }

    /// Ciphertexts of a layer's value.
    pub fn ciphertexts(&self, id: usize) -> usize {
        match self {
            Self::Slots(maps) => maps.layouts[id].ciphertexts(),
            Self::Stacks(stacks) => stacks.elements[id],
        }
    }

    /// The slots of a vector of a layer's value.
    pub fn slots(&self, id: usize) -> usize {
        match self {
            Self::Slots(maps) => maps.layouts[id].slots(),
            Self::Stacks(stacks) => stacks.slots,
        }
    }

    /// The position of each element of a layer's value for the first example, over all ciphertexts.
    pub fn positions(&self, id: usize) -> Vec<usize> {
        match self {
            Self::Slots(maps) => positions(&maps.layouts[id]),
            Self::Stacks(stacks) => stacks.positions(id),
        }
    }

    /// The vector of each ciphertext of an input, from the numbers of one example or of several up
    /// to [`examples`](Self::examples), which repeat if there is room for more.
    ///
    /// # Errors
    /// Other counts of numbers.
    pub fn pack(&self, numbers: &[f64]) -> Result<Vec<Vec<f64>>> {
        let maps = match self {
            Self::Slots(maps) => maps,
            Self::Stacks(stacks) => return Ok(stacks.pack(numbers)),
        };
        let layout = &maps.layouts[0];
        let full = layout.examples() * layout.entries();
        let numbers: Vec<f64> = numbers.iter().copied().cycle().take(full).collect();
        // A short vector repeats, as maps between vectors of different lengths expect.
        let whole = |vector: Vec<f64>| vector.iter().copied().cycle().take(layout.capacity()).collect();
        Ok(layout.pack(&numbers)?.into_iter().map(whole).collect())
    }

    /// The map of a layer, if it is a linear one. It is made anew.
    ///
    /// # Errors
    /// The errors of maps, for weights whose products exceed all numbers.
    pub fn map(&self, graph: &Graph, layers: &Layers, id: usize) -> Result<Option<Map>> {
        if let Self::Slots(maps) = self {
            return Ok(maps.transform(graph, layers, id)?.map(Map::Blocks));
        }
        let Kind::Linear(chain) = &layers.list[id].kind else { return Ok(None) };
        let shape = |id: usize| graph.nodes[layers.list[id].node].shape.as_slice();
        let positions = match (shape(layers.list[id].inputs[0]), shape(id)) {
            (&[_, rows, columns], &[_, height, width]) if [rows, columns] == [height, width] => {
                rows * columns
            }
            _ => 1,
        };
        Ok(Some(Map::Stack(StackMap::new(&Matrix::new(graph, layers, id, chain), positions))))
    }

    /// The ciphertexts that layers compute on, from those of an input, each of which may hold a
    /// batch: these themselves, or the stack of them.
    ///
    /// # Errors
    /// Device errors.
    pub fn inputs<B: RingOps>(&self, inputs: &[Ciphertext<B>]) -> he_core::Result<Vec<Ciphertext<B>>> {
        match self {
            Self::Slots(_) => inputs.iter().map(Ciphertext::duplicate).collect(),
            Self::Stacks(_) => Ok(vec![joined(inputs)?]),
        }
    }

    /// The ciphertexts of an output, from those that the last layer computed.
    ///
    /// # Errors
    /// Device errors.
    pub fn outputs<B: RingOps>(&self, last: Vec<Ciphertext<B>>) -> he_core::Result<Vec<Ciphertext<B>>> {
        match self {
            Self::Slots(_) => Ok(last),
            Self::Stacks(stacks) => {
                let elements = stacks.elements.last().copied().unwrap_or(0);
                let parts = last.iter().map(|stack| parted(stack, elements));
                Ok(parts.collect::<he_core::Result<Vec<_>>>()?.into_iter().flatten().collect())
            }
        }
    }

    /// The most ciphertexts that are alive at the same time beside the rotations of a map.
    pub fn alive(&self) -> usize {
        match self {
            Self::Slots(_) => 8,
            // A value, the next one, and the parts of its products.
            Self::Stacks(stacks) => 3 * stacks.elements.iter().max().copied().unwrap_or(0),
        }
    }
}

/// The map of a linear layer.
#[derive(Clone, Debug)]
pub enum Map {
    /// Between vectors of slots.
    Blocks(BlockTransform),
    /// Between stacks.
    Stack(StackMap),
}

impl Map {
    /// Its costs.
    ///
    /// # Errors
    /// The errors of the sizes of plaintexts.
    pub fn outline(&self, params: &CkksParams) -> he_core::Result<Outline> {
        match self {
            Self::Blocks(transform) => Outline::new(transform, params),
            Self::Stack(map) => Ok(map.outline(params)),
        }
    }

    /// Encodes it for a device and the level of its input.
    ///
    /// # Errors
    /// The errors of encoding.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> he_core::Result<PreparedMap<B>> {
        match self {
            Self::Blocks(transform) => transform.prepare(ev, level).map(PreparedMap::Blocks),
            Self::Stack(map) => map.prepare(ev, level).map(PreparedMap::Stack),
        }
    }
}

/// The map of a linear layer that is encoded for a device.
#[derive(Debug)]
pub enum PreparedMap<B: RingOps> {
    /// Between vectors of slots.
    Blocks(PreparedBlocks<B>),
    /// Between stacks.
    Stack(PreparedStack<B>),
}

impl<B: RingOps> PreparedMap<B> {
    /// Applies it to the ciphertexts of a value.
    ///
    /// # Errors
    /// Missing keys; device errors.
    pub fn apply(
        &self,
        ev: &Evaluator<B>,
        value: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> he_core::Result<Vec<Ciphertext<B>>> {
        match self {
            Self::Blocks(map) => map.apply(ev, value, keys),
            Self::Stack(map) => value.iter().map(|stack| map.apply(ev, stack)).collect(),
        }
    }

    /// Bytes of the encoded map.
    pub fn bytes(&self, params: &CkksParams) -> u64 {
        match self {
            Self::Blocks(map) => map.bytes(),
            Self::Stack(map) => map.bytes(params),
        }
    }
}
