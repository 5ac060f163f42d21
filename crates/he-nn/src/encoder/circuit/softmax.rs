//! Softmax in two stages on ciphertexts of scores.

use super::inverse::Brackets;
use super::plain::{Kept, Plain};
use super::{Circuit, Value};
use crate::encoder::softmax::Approximate;
use he_core::Result;
use std::sync::Arc;

/// The places of scores: ciphertext e g + i holds in slot (token, head, r) the score of the token
/// that is e vectors and i x inner + r rows further.
pub struct Scores {
    /// Heads.
    pub heads: usize,
    /// Features of a head, a power of two.
    pub inner: usize,
    /// The other token of each place, in the order of [`Plain`]; `None` for places without one.
    pub others: Arc<Vec<Option<u32>>>,
}

impl Scores {
    fn head(&self, slot: usize) -> Option<usize> {
        Some(slot / self.inner).filter(|&head| head < self.heads)
    }
}

/// A softmax whose last factor is left to the map that follows.
pub struct Weights {
    /// Numbers in the places of the scores.
    pub value: Value,
    /// The factor that makes probabilities of them.
    pub factor: f64,
}

impl Circuit {
    /// The softmax of scores that are divided by 2^halvings.
    pub fn softmax(&mut self, scores: Value, places: &Scores, approximate: &Approximate) -> Result<Weights> {
        let scale = 0.5f64.powi(approximate.halvings as i32);
        let doublings = approximate.halvings - 1;
        let exp = approximate.exp_on_unit_interval()?;
        let masked = (0..doublings).fold(exp.apply_plain(-1.0), |y, _| y * y);

        let kept = |on: Vec<f64>, off: f64| Plain { on, off, kept: Kept::Pairs(places.others.clone()) };
        let places_of_scores = places.others.len();
        let slots = self.layout.period;
        let offset = |place: usize| {
            places.head(place % slots).map_or(0.0, |head| 1.0 - approximate.heads[head].offset * scale)
        };
        let x = self.weighted(scores, kept(vec![1.0; places_of_scores], 0.0));
        let x = self.offset(x, kept((0..places_of_scores).map(offset).collect(), -1.0));
        let x = self.small(x);
        let count = self.steps[x].count;
        let y = self.polynomial(x, vec![exp; count]);
        let y = (0..doublings).fold(y, |y, _| self.product(y, y));
        let y = self.offset(y, kept(vec![0.0; places_of_scores], -masked));

        let [first, second] = approximate.inverses().map(Brackets::new);
        let inverse = self.inverse_sums(y, places, &first, 1.0);
        let y = self.product(y, inverse);
        let y = self.product(y, y);
        let square = first.scale * first.scale;
        let inverse = self.inverse_sums(y, places, &second, square);
        let value = self.product(y, inverse);
        Ok(Weights { value, factor: square * second.scale })
    }

    /// 1 / (scale factor sum) for the sums of each token's and head's numbers; 1 for places of no
    /// head and tokens beyond the sentence.
    fn inverse_sums(&mut self, y: Value, places: &Scores, brackets: &Brackets, factor: f64) -> Value {
        // The scale is up to 4, and sums up to 1: a refresh takes a fourth.
        let (layout, scale) = (self.layout, 0.25 * brackets.scale);
        let total = self.total(y);
        let weight = |_, slot: usize| match places.head(slot) {
            Some(_) if slot.is_multiple_of(places.inner) => scale * factor,
            _ => 0.0,
        };
        let sums = self.group_sum(total, places.inner, Plain::features(&layout, weight));
        let all = layout.blocks * layout.slots();
        let of_no_head =
            |place: usize| if places.head(place % layout.period).is_some() { 0.0 } else { scale };
        let ones = Plain { on: (0..all).map(of_no_head).collect(), off: scale, kept: Kept::Tokens };
        let sums = self.offset(sums, ones);
        let sums = self.small(sums);
        let sums = self.times(sums, 4);
        brackets.apply(self, sums)
    }
}
