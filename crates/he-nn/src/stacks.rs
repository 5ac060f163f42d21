//! Values as stacks: batches of ciphertexts, one for each element, whose slots belong to examples.
//!
//! Linear layers are products of matrices with stacks, without rotations and their keys, and as
//! many examples as there are slots take as long as one. (Gilad-Bachrach et al., *CryptoNets*, ICML
//! 2016, section 5, arranges values so; Bae et al., Crypto 2024, section 3, multiplies matrices
//! so.) An element of more examples than that has several ciphertexts, which are neighbours in the
//! batch: they are side by side in a row of one wider matrix. The matrix of a convolution of 1 x 1
//! is the same for each position of its planes, so that the positions of a channel are in a row as
//! well.

use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::layers::Layers;
use crate::linear::Matrix;
use crate::maps::Outline;
use crate::parameters::Parameters;
use he_core::backend::RingOps;
use he_core::circuits::Requirements;
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Evaluator, MatrixWeights, PlainMatrix, Plaintext};
use he_core::rlwe::KeyRequirements;

/// The most elements of a value, each of which takes a ciphertext.
pub const MOST_ELEMENTS: usize = 1 << 12;

/// The stacks of a model's values.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// The elements of each layer's value.
    pub elements: Vec<usize>,
    /// The examples of a ciphertext.
    pub slots: usize,
}

impl Stacks {
    /// A stack for the value of each layer.
    ///
    /// # Errors
    /// [`Error::Parameters`] if a value has too many elements, and for parameters of refreshes,
    /// each of which would refresh as many ciphertexts.
    pub fn new(graph: &Graph, layers: &Layers, parameters: &Parameters) -> Result<Self> {
        if parameters.bootstrapping().is_some() {
            return Err(Error::Parameters { why: "stacks of ciphertexts are not refreshed".to_owned() });
        }
        let elements: Vec<usize> =
            layers.list.iter().map(|layer| graph.nodes[layer.node].elements()).collect();
        let most = elements.iter().copied().max().unwrap_or(0);
        if most > MOST_ELEMENTS {
            let why = format!("a value has {most} elements, of which {MOST_ELEMENTS} have ciphertexts");
            return Err(Error::Parameters { why });
        }
        Ok(Self { elements, slots: parameters.params().slots() })
    }

    /// The slots of some examples: for each element a vector, which repeats the examples if it has
    /// room for more.
    pub fn pack(&self, numbers: &[f64]) -> Vec<Vec<f64>> {
        let inputs = self.elements[0];
        let of_element = |element: usize| numbers.iter().skip(element).step_by(inputs).copied();
        (0..inputs).map(|element| of_element(element).cycle().take(self.slots).collect()).collect()
    }

    /// The position of each element of a layer's value for the first example, over all ciphertexts.
    pub fn positions(&self, id: usize) -> Vec<usize> {
        (0..self.elements[id]).map(|element| element * self.slots).collect()
    }
}

/// The matrix of a linear layer, for stacks.
#[derive(Clone, Debug)]
pub struct StackMap {
    /// Its rows and columns.
    shape: [usize; 2],
    /// The numbers row by row.
    weights: Vec<f64>,
    /// The positions of planes for each of which it is the same.
    positions: usize,
    /// The number that is added to each element of the value.
    offsets: Vec<f64>,
}

impl StackMap {
    /// The map of a layer whose input and value have planes of so many positions, or any other
    /// elements with one.
    pub fn new(matrix: &Matrix, positions: usize) -> Self {
        let offsets = matrix.offsets().collect();
        let of_position = if positions > 1 { Self::alike(matrix, positions) } else { None };
        let (positions, weights) = of_position
            .map_or_else(|| (1, dense(matrix.shape(), matrix.entries())), |weights| (positions, weights));
        let shape = matrix.shape().map(|size| size / positions);
        Self { shape, weights, positions, offsets }
    }

    /// The matrix of each position, if it is the same for all and no two positions meet.
    fn alike(matrix: &Matrix, positions: usize) -> Option<Vec<f64>> {
        let shape = matrix.shape();
        if shape.iter().any(|size| size % positions != 0) {
            return None;
        }
        let [rows, columns] = shape.map(|size| size / positions);
        let channels = |(row, column, weight)| (row / positions, column / positions, weight);
        let first = matrix.entries().filter(|(row, ..)| row % positions == 0).map(channels);
        let weights = dense([rows, columns], first);
        let same = |(row, column, weight): (usize, usize, f64)| {
            row % positions == column % positions
                && weights[row / positions * columns + column / positions] == weight
        };
        let entries = weights.iter().filter(|weight| **weight != 0.0).count() * positions;
        (matrix.entries().all(same) && matrix.entries().count() == entries).then_some(weights)
    }

    /// Its costs.
    pub fn outline(&self, params: &CkksParams) -> Outline {
        let numbers = self.weights.len() + self.offsets.len() * params.rlwe().ring().n();
        let bytes = |level: usize| (numbers * params.levels()[level].primes * size_of::<u64>()) as u64;
        Outline {
            requirements: Requirements { depth: 1, keys: KeyRequirements::new() },
            rotations: 0,
            diagonals: 0,
            entries: self.weights.len() * self.positions,
            plaintext_bytes: (1..=params.max_level()).map(bytes).collect(),
        }
    }

    /// Encodes it for a device and the level of its input.
    ///
    /// # Errors
    /// The errors of [`Evaluator::plain_matrix`] and of encoding.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> he_core::Result<PreparedStack<B>> {
        let matrix = ev.plain_matrix(self.shape, MatrixWeights::Real(&self.weights), level)?;
        if self.offsets.iter().all(|&offset| offset == 0.0) {
            return Ok(PreparedStack { matrix, offsets: None });
        }
        let rows: Vec<Complex64> = self.offsets.iter().map(|&offset| offset.into()).collect();
        let rows: Vec<&[Complex64]> = rows.chunks(1).collect();
        let to = ev.params().encoding().at_level(ev.params(), level - 1)?.slots(1);
        let offsets = Some(ev.encoder().encode_batch(&rows, to)?);
        Ok(PreparedStack { matrix, offsets })
    }
}

/// A matrix of this shape, row by row, from its entries.
fn dense([rows, columns]: [usize; 2], entries: impl Iterator<Item = (usize, usize, f64)>) -> Vec<f64> {
    let mut numbers = vec![0.0; rows * columns];
    entries.for_each(|(row, column, weight)| numbers[row * columns + column] += weight);
    numbers
}

/// A linear layer that is encoded for a device.
#[derive(Debug)]
pub struct PreparedStack<B: RingOps> {
    matrix: PlainMatrix<B>,
    offsets: Option<Plaintext<B>>,
}

impl<B: RingOps> PreparedStack<B> {
    /// Bytes of its words, before they are packed.
    pub fn bytes(&self, params: &CkksParams) -> u64 {
        let primes = params.levels()[self.matrix.level()].primes;
        let words = self.matrix.rows() * self.matrix.columns() * primes;
        (words * size_of::<u64>()) as u64 + self.offsets.as_ref().map_or(0, Plaintext::bytes)
    }

    /// The value of the layer.
    ///
    /// # Errors
    /// The errors of [`Evaluator::mul_matrix`].
    pub fn apply(&self, ev: &Evaluator<B>, stack: &Ciphertext<B>) -> he_core::Result<Ciphertext<B>> {
        let mut sums = ev.mul_matrix(&self.matrix, stack)?;
        if let Some(offsets) = &self.offsets {
            match sums.batch() / offsets.batch() {
                1 => ev.add_plain_assign(&mut sums, offsets)?,
                each => ev.add_plain_assign(&mut sums, &repeated(offsets, each)?)?,
            }
        }
        Ok(sums)
    }
}

/// Each entry so many times.
fn repeated<B: RingOps>(plain: &Plaintext<B>, times: usize) -> he_core::Result<Plaintext<B>> {
    plain.gather_batch(&(0..plain.batch() * times).map(|entry| entry / times).collect::<Vec<_>>())
}

/// The stack of ciphertexts of one element each, with as many entries.
///
/// # Errors
/// [`BatchMismatch`](he_core::Error::BatchMismatch) for batches of several sizes; no ciphertext;
/// device errors.
pub fn joined<B: RingOps>(elements: &[Ciphertext<B>]) -> he_core::Result<Ciphertext<B>> {
    let each = elements.first().map_or(0, Ciphertext::batch);
    if let Some(other) = elements.iter().find(|element| element.batch() != each) {
        return Err(he_core::Error::BatchMismatch { left: each, right: other.batch() });
    }
    Ciphertext::concat(&elements.iter().collect::<Vec<_>>())
}

/// The ciphertexts of the elements of a stack, of which it has so many.
///
/// # Errors
/// [`BatchMismatch`](he_core::Error::BatchMismatch) if it has not; device errors.
pub fn parted<B: RingOps>(stack: &Ciphertext<B>, elements: usize) -> he_core::Result<Vec<Ciphertext<B>>> {
    let each = stack.batch() / elements.max(1);
    if each * elements != stack.batch() {
        return Err(he_core::Error::BatchMismatch { left: stack.batch(), right: elements });
    }
    let part = |element: usize| stack.slice_batch(element * each..(element + 1) * each);
    stack.pair().ring().backend().batched(|| (0..elements).map(part).collect())
}
