//! Attention by rotations of tokens: for each distance of tokens, the products of queries with
//! rotated keys, and those of weights with rotated values.

use super::map::Map;
use super::plain::{Kept, Plain};
use super::softmax::Scores;
use super::{Circuit, Part, Value};
use crate::encoder::softmax::{Approximate, Shift};
use he_core::Result;
use std::sync::Arc;

/// The shape of attention.
#[derive(Clone, Copy, Debug)]
pub struct Heads {
    /// Heads.
    pub heads: usize,
    /// Features of a head, a power of two.
    pub inner: usize,
    /// The factor of scores.
    pub factor: f64,
}

impl Circuit {
    /// softmax(factor q k^T) v for all heads.
    pub fn attention(
        &mut self,
        [q, k, v]: [Value; 3],
        heads: Heads,
        approximate: &Approximate,
    ) -> Result<Value> {
        let (layout, parts) = (self.layout, self.layout.rows.div_ceil(heads.inner));
        let begin = self.steps.len();
        let shift = self.shifts(k, heads, approximate);
        let turns: Vec<i64> = (0..layout.rows).map(|row| (row * layout.period) as i64).collect();
        let factor = heads.factor * 0.5f64.powi(approximate.halvings as i32);
        let scores = (0..layout.blocks).map(|block| {
            let keys = self.blocks(k, block);
            let mut keys = self.rotated(keys, turns.clone());
            if let Some(shift) = shift {
                keys = self.difference(keys, shift);
            }
            let products = self.product(keys, q);
            self.map(products, self.scores_of_products(heads, factor))
        });
        let scores: Vec<Value> = scores.collect();
        let scores = self.joined(scores);
        self.at_part(begin, Part::Scores);
        let begin = self.steps.len();
        let places = Scores { heads: heads.heads, inner: heads.inner, others: Arc::new(self.others(heads)) };
        let weights = self.softmax(scores, &places, approximate)?;
        self.at_part(begin, Part::Softmax);
        let begin = self.steps.len();
        let spread = (0..layout.blocks).map(|block| {
            let part = self.picked(weights.value, block * parts..(block + 1) * parts);
            self.map(part, self.weights_of_features(heads, weights.factor))
        });
        let spread: Vec<Value> = spread.collect();
        let spread = self.joined(spread);
        let values = (0..layout.blocks).map(|block| {
            let values = self.blocks(v, block);
            self.rotated(values, turns.clone())
        });
        let values: Vec<Value> = values.collect();
        let values = self.joined(values);
        let found = self.contracted(spread, values);
        self.at_part(begin, Part::Values);
        Ok(found)
    }

    /// Sums over the features of each head of products for each distance: those of distance i x
    /// inner + r come to ciphertext i, slot r of the head.
    fn scores_of_products(&self, heads: Heads, factor: f64) -> Map {
        let entries = self.pairs(heads).map(|(distance, head, d)| {
            let (part, r) = (distance / heads.inner, distance % heads.inner);
            let to = part * self.layout.period + head * heads.inner + r;
            (to as u32, (distance * self.layout.period + head * heads.inner + d) as u32, factor)
        });
        let outputs = self.layout.rows.div_ceil(heads.inner);
        Map { inputs: self.layout.rows, outputs, entries: entries.collect(), bias: Vec::new() }
    }

    /// The weight of each distance in all features of its head.
    fn weights_of_features(&self, heads: Heads, factor: f64) -> Map {
        let entries = self.pairs(heads).map(|(distance, head, d)| {
            let (part, r) = (distance / heads.inner, distance % heads.inner);
            let from = part * self.layout.period + head * heads.inner + r;
            ((distance * self.layout.period + head * heads.inner + d) as u32, from as u32, factor)
        });
        let inputs = self.layout.rows.div_ceil(heads.inner);
        Map { inputs, outputs: self.layout.rows, entries: entries.collect(), bias: Vec::new() }
    }

    /// Distances, heads and features.
    fn pairs(&self, heads: Heads) -> impl Iterator<Item = (usize, usize, usize)> + use<> {
        let Heads { heads, inner, .. } = heads;
        (0..self.layout.rows).flat_map(move |distance| {
            (0..heads).flat_map(move |head| (0..inner).map(move |d| (distance, head, d)))
        })
    }

    /// The other token of each place of scores.
    fn others(&self, heads: Heads) -> Vec<Option<u32>> {
        let (layout, parts) = (self.layout, self.layout.rows.div_ceil(heads.inner));
        let other = |ciphertext: usize, block: usize, slot: usize| {
            let (feature, row) = (slot % layout.period, slot / layout.period);
            let distance = ciphertext % parts * heads.inner + feature % heads.inner;
            let row = (row + distance) % layout.rows;
            let token = (block + ciphertext / parts) % layout.blocks * layout.rows + row;
            let exists = feature < heads.heads * heads.inner && distance < layout.rows;
            (exists && token < layout.tokens).then_some(token as u32)
        };
        let places = (0..parts * layout.blocks).flat_map(|ciphertext| {
            (0..layout.blocks)
                .flat_map(move |block| (0..layout.slots()).map(move |slot| other(ciphertext, block, slot)))
        });
        places.collect()
    }

    /// The keys whose scores are subtracted from the rows of heads with a shift, if there are any:
    /// at the ends of the sentence, where there is no neighbour, a token's own.
    fn shifts(&mut self, k: Value, heads: Heads, approximate: &Approximate) -> Option<Value> {
        let (layout, last) = (self.layout, self.layout.tokens - 1);
        let target = |shift: Shift, token: usize| match shift {
            Shift::None => None,
            Shift::Own => Some(token),
            Shift::Previous => Some(token.saturating_sub(1)),
            Shift::Next => Some(last.min(token + 1)),
            Shift::First => Some(0),
        };
        let shift_of = |feature: usize| {
            let head = approximate.heads.get(feature / heads.inner);
            head.map_or(Shift::None, |head| head.shift)
        };
        let shifts: Vec<Shift> = approximate.heads.iter().map(|head| head.shift).collect();
        // A rotation by rows and vectors serves the tokens whose target it brings to them.
        let mut found: Option<Value> = None;
        let (rows, blocks) = (layout.rows, layout.blocks);
        for (block, row) in (0..blocks).flat_map(|block| (0..rows).map(move |row| (block, row))) {
            let comes = |token: usize| {
                let from = (token / rows + block) % blocks * rows + (token % rows + row) % rows;
                move |target: Option<usize>| target == Some(from)
            };
            let serves = |token: usize, shift: Shift| comes(token)(target(shift, token));
            if !(0..layout.tokens).any(|token| shifts.iter().any(|&shift| serves(token, shift))) {
                continue;
            }
            let numbers = Plain::features(&layout, |token, feature| {
                f64::from(u8::from(serves(token, shift_of(feature))))
            });
            let turned = self.blocks(k, block);
            let turned =
                if row == 0 { turned } else { self.rotated(turned, vec![(row * layout.period) as i64]) };
            let part = self.weighted(turned, numbers);
            found = Some(found.map_or(part, |sum| self.sum(sum, part)));
        }
        found
    }

    /// The mean of the tokens of the sentence, in all places.
    pub fn pooled(&mut self, x: Value) -> Value {
        let layout = self.layout;
        let on = vec![1.0; layout.blocks * layout.slots()];
        let x = self.weighted(x, Plain { on, off: 0.0, kept: Kept::Mean });
        let x = (0..layout.rows.ilog2()).fold(x, |sum, bit| {
            let other = self.rotated(sum, vec![(layout.period << bit) as i64]);
            self.sum(sum, other)
        });
        (1..layout.blocks).fold(x, |sum, block| {
            let other = self.blocks(x, block);
            self.sum(sum, other)
        })
    }
}
