//! Linear maps of the features of each token.

use super::layout::Layout;
use crate::maps::Outline;
use he_core::circuits::ckks::{BlockTransform, TensorLayout};
use he_core::ckks::CkksParams;

/// The tokens for which the diagonals of a map are made: those of more tokens are the same vectors
/// again and again, and so are the steps of rotations, which stay within a token on either side.
const FEW: usize = 4;

/// A map from the features of a token, over several ciphertexts, to others, the same for all
/// tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    /// Ciphertexts that it takes.
    pub inputs: usize,
    /// Ciphertexts that it leaves.
    pub outputs: usize,
    /// The entries: feature that it leaves, feature that it takes, weight. Features count over all
    /// ciphertexts.
    pub entries: Vec<(u32, u32, f64)>,
    /// The number that each feature gets.
    pub bias: Vec<f64>,
}

impl Map {
    /// For ciphertexts of the layout: vectors of a few tokens, which repeat.
    ///
    /// # Errors
    /// The errors of [`BlockTransform::new`], for weights that are not finite.
    pub fn transform(&self, layout: &Layout) -> he_core::Result<BlockTransform> {
        let (period, rows) = (layout.period, layout.rows.min(FEW));
        let slots = rows * period;
        let side = |ciphertexts: usize| TensorLayout::vector(ciphertexts * slots, slots);
        let (input, output) = (side(self.inputs)?, side(self.outputs)?);
        let place =
            move |feature: usize, row: usize| feature / period * slots + row * period + feature % period;
        let entries = (0..rows).flat_map(|row| {
            let at = move |&(to, from, weight): &(u32, u32, f64)| {
                (place(to as usize, row), place(from as usize, row), weight)
            };
            self.entries.iter().map(at)
        });
        let bias = self.bias.iter().enumerate().filter(|(_, bias)| **bias != 0.0);
        BlockTransform::new(&input, &output, entries)?
            .with_bias(bias.flat_map(|(to, &bias)| (0..rows).map(move |row| (place(to, row), bias))))
    }

    /// The costs of it.
    ///
    /// # Errors
    /// As for [`transform`](Self::transform).
    pub fn outline(&self, layout: &Layout, params: &CkksParams) -> he_core::Result<Outline> {
        Outline::new(&self.transform(layout)?, params)
    }

    /// Its value on the features of one token.
    pub fn apply(&self, x: &[f64], period: usize) -> Vec<f64> {
        let mut y = self.bias.clone();
        y.resize(self.outputs * period, 0.0);
        self.entries.iter().for_each(|&(to, from, weight)| y[to as usize] += weight * x[from as usize]);
        y
    }
}
