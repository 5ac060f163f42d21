//! Numbers in the clear for the slots of a value, some of which depend on the mask.

use super::layout::Layout;
use std::sync::Arc;

/// The places that a number is for.
#[derive(Clone, Debug, PartialEq)]
pub enum Kept {
    /// All places.
    All,
    /// The places of tokens of the sentence.
    Tokens,
    /// The same; numbers are divided by the count of these tokens.
    Mean,
    /// The places of two tokens of the sentence, the second of which is given for each place.
    Pairs(Arc<Vec<Option<u32>>>),
}

/// A number for each place, vector by vector and ciphertext by ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub struct Plain {
    /// The numbers of the places that are kept.
    pub on: Vec<f64>,
    /// The number of the others.
    pub off: f64,
    /// The places that are kept.
    pub kept: Kept,
}

impl Plain {
    /// A number for each feature of each token of the sentence's length; others are 0.
    pub fn features(layout: &Layout, number: impl Fn(usize, usize) -> f64) -> Self {
        let at = |place: usize| {
            let (block, slot) = (place / layout.slots(), place % layout.slots());
            let token = layout.token_at(block, slot);
            if token < layout.tokens { number(token, slot % layout.period) } else { 0.0 }
        };
        let on = (0..layout.blocks * layout.slots()).map(at).collect();
        Self { on, off: 0.0, kept: Kept::All }
    }

    /// The numbers of each ciphertext's vectors under a mask.
    pub fn numbers(&self, layout: &Layout, mask: &[bool]) -> Vec<Vec<Vec<f64>>> {
        let is_real = |token: usize| mask.get(token).copied().unwrap_or(false);
        let count = mask.iter().filter(|&&bit| bit).count().max(1) as f64;
        let (slots, each) = (layout.slots(), layout.slots() * layout.blocks);
        let number = |(at, &on): (usize, &f64)| {
            let own = || is_real(layout.token_at(at % each / slots, at % slots));
            match &self.kept {
                Kept::All => on,
                Kept::Tokens if own() => on,
                Kept::Mean if own() => on / count,
                Kept::Pairs(others) if own() && others[at].is_some_and(|other| is_real(other as usize)) => on,
                _ => self.off,
            }
        };
        let numbers: Vec<f64> = self.on.iter().enumerate().map(number).collect();
        let vectors = |part: &[f64]| part.chunks_exact(slots).map(<[f64]>::to_vec).collect();
        numbers.chunks_exact(each).map(vectors).collect()
    }
}
