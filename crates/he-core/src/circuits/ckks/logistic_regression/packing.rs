//! Examples in slots.

use crate::error::{Error, Result};

/// Examples with their labels, in the clear.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples {
    /// The features, example by example.
    pub features: Vec<f64>,
    /// For each example whether it is of the class that is to be recognised.
    pub labels: Vec<bool>,
}

/// A batch of examples, packed in two ways: in the clear, encoded or encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct TrainingBatch<T> {
    /// All rows of some columns in each vector.
    pub by_columns: Vec<T>,
    /// All columns of some rows in each vector.
    pub by_rows: Vec<T>,
}

impl<T> TrainingBatch<T> {
    /// Makes of every vector something else, such as a ciphertext.
    ///
    /// # Errors
    /// The first one of `f`.
    pub fn try_map<U, E>(&self, mut f: impl FnMut(&T) -> Result<U, E>) -> Result<TrainingBatch<U>, E> {
        Ok(TrainingBatch {
            by_columns: self.by_columns.iter().map(&mut f).collect::<Result<_, E>>()?,
            by_rows: self.by_rows.iter().map(f).collect::<Result<_, E>>()?,
        })
    }
}

/// The places of a batch of examples in the slots of ciphertexts.
///
/// A batch is a matrix Z of m rows, one for each example: z = (1, x) or -(1, x), by the label, with
/// F columns, a power of two. It fills B = m F / slots ciphertexts, in both of two ways: *by
/// columns*, each has all rows of F / B columns, slot row F / B + column; *by rows*, ciphertext j
/// has all columns of the rows that are j modulo B. Weights are one vector of F numbers that
/// repeats. Inner products with the weights are sums over the ciphertexts of the first kind, and
/// sums over examples are those over the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrainingLayout {
    pub(super) examples: usize,
    pub(super) features: usize,
    pub(super) columns: usize,
    pub(super) slots: usize,
    pub(super) blocks: usize,
}

impl TrainingLayout {
    /// For batches of `examples` examples, a power of two, of `features` features, in vectors of
    /// `slots` slots (N / 2). Fewer examples than fill one ciphertext are filled up by zeros.
    ///
    /// # Errors
    /// [`Error::Argument`] for no features, more columns than slots, or numbers of examples or
    /// slots that are not powers of two.
    pub fn new(examples: usize, features: usize, slots: usize) -> Result<Self> {
        if !examples.is_power_of_two() || !slots.is_power_of_two() {
            let found = format!("{examples} examples in {slots} slots");
            return Err(Error::domain("training layout", found, "powers of two are needed"));
        }
        if features == 0 || features >= slots {
            let found = format!("{features} features in {slots} slots");
            return Err(Error::domain("training layout", found, "there is a slot for each and one more"));
        }
        let columns = (features + 1).next_power_of_two();
        let rows = examples.max(slots / columns);
        let blocks = rows.checked_mul(columns).map(|numbers| numbers / slots).filter(|&b| b <= columns);
        let Some(blocks) = blocks else {
            let found = format!("{examples} examples of {columns} columns in {slots} slots");
            let hint = format!("at most {slots} examples are possible: use smaller batches");
            return Err(Error::domain("training layout", found, hint));
        };
        Ok(Self { examples, features, columns, slots, blocks })
    }

    /// The examples of a batch.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// The features of an example.
    pub fn features(&self) -> usize {
        self.features
    }

    /// The slots of each vector.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Ciphertexts of a batch, by columns and by rows.
    pub fn ciphertexts(&self) -> [usize; 2] {
        [(self.features + 1).div_ceil(self.width()), self.blocks]
    }

    /// Columns of a vector by columns.
    pub(super) fn width(&self) -> usize {
        self.columns / self.blocks
    }

    /// The slots of a batch in both ways.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of examples or features, or features that are not
    /// finite.
    pub fn pack(&self, examples: &Examples) -> Result<TrainingBatch<Vec<f64>>> {
        let z = self.rows(examples)?;
        let [columns, rows] = self.ciphertexts();
        let mut batch = TrainingBatch {
            by_columns: vec![vec![0.0; self.slots]; columns],
            by_rows: vec![vec![0.0; self.slots]; rows],
        };
        let width = self.width();
        for (row, z) in z.iter().enumerate() {
            for (column, &value) in z.iter().enumerate() {
                batch.by_columns[column / width][row * width + column % width] = value;
                batch.by_rows[row % self.blocks][row / self.blocks * self.columns + column] = value;
            }
        }
        Ok(batch)
    }

    /// (1, x) for the class that is to be recognised, -(1, x) for the other.
    pub(super) fn rows(&self, examples: &Examples) -> Result<Vec<Vec<f64>>> {
        let Examples { features, labels } = examples;
        if labels.len() != self.examples || features.len() != self.examples * self.features {
            let why = format!(
                "{} labels and {} features for {} examples of {}",
                labels.len(),
                features.len(),
                self.examples,
                self.features
            );
            return Err(Error::argument("examples", why));
        }
        if let Some(at) = features.iter().position(|feature| !feature.is_finite()) {
            return Err(Error::argument("examples", format!("feature {at} is not a finite number")));
        }
        let row = |(x, &label): (&[f64], &bool)| {
            let sign = if label { 1.0 } else { -1.0 };
            std::iter::once(sign).chain(x.iter().map(|x| sign * x)).collect()
        };
        Ok(features.chunks_exact(self.features).zip(labels).map(row).collect())
    }
}
