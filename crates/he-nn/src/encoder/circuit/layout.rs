//! The places of tokens and their features in the slots of ciphertexts.

/// Tokens one behind the other, each with its features: slot = token x period + feature.
///
/// Tokens that do not fit one vector follow in further ones, the entries of a batch. Features lie
/// inside, so that the diagonals of a linear layer repeat with each token and are kept once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Tokens of a sentence.
    pub tokens: usize,
    /// Slots of a token, a power of two.
    pub period: usize,
    /// Tokens of a vector, a power of two.
    pub rows: usize,
    /// Vectors of a sentence.
    pub blocks: usize,
}

impl Layout {
    /// The layout of tokens of this width in vectors of at most `capacity` slots, a power of two;
    /// `None` where not even two tokens fit.
    pub fn new(tokens: usize, width: usize, capacity: usize) -> Option<Self> {
        let (period, all) = (width.checked_next_power_of_two()?, tokens.checked_next_power_of_two()?.max(2));
        let rows = all.min(capacity / period);
        (rows >= 2).then_some(Self { tokens, period, rows, blocks: all / rows })
    }

    /// Slots of a vector; longer ones repeat them.
    pub fn slots(&self) -> usize {
        self.rows * self.period
    }

    /// The vectors of a value of `width` features, token by token.
    pub fn pack(&self, value: &[f64], width: usize) -> Vec<Vec<f64>> {
        let mut vectors = vec![vec![0.0; self.slots()]; self.blocks];
        for (token, row) in value.chunks_exact(width).take(self.tokens).enumerate() {
            let start = token % self.rows * self.period;
            vectors[token / self.rows][start..start + width].copy_from_slice(row);
        }
        vectors
    }

    /// The token of a slot of a vector.
    pub fn token_at(&self, block: usize, slot: usize) -> usize {
        block * self.rows + slot / self.period
    }
}
