//! Softmax in two stages, with a public offset for each head.
//!
//! exp((s - a) / 2) comes from a polynomial of exp((s - a) / 2^k) and k - 1 squarings, where a is
//! the head's offset: the one for which the greatest sum of a row is 1. The sums of all heads are
//! then as far from the noise, whatever their scores. The first stage divides by the sum of the
//! row, the second one squares and divides again: p_j = n_j^2 / sum_k n_k^2 for n = softmax(s / 2).
//! Sums then stay far from 0 in both stages, and noise that is small beside the greatest sum is
//! small beside all of them (Cho, Hanrot, Kim, Park, Stehle, "Fast and Accurate Homomorphic Softmax
//! Evaluation", 2024).
//!
//! Where a head looks at the neighbour of a token, the greatest score of a row varies too much for
//! one offset; then the score of that neighbour is subtracted from its row, which changes nothing.

use super::inverse::Inverse;
use super::polynomial::Polynomial;
use super::range::{Excess, Range};
use he_core::circuits::ckks as circuits;
use serde::{Deserialize, Serialize};

/// The logarithm of a sum may leave those seen by this much, downwards and upwards.
const MARGIN: (f64, f64) = (3.0, 1.5);
/// Half of a shift's logarithm of a sum must be narrower by this much to be worth its product.
const NARROWER: f64 = 8.0;
/// The interval of the polynomial of exp.
const INTERVAL: [f64; 2] = [-2.0, 0.0];
/// Its degree.
const DEGREE: usize = 7;
/// The bits of the sums' reciprocals in both stages.
const BITS: [u32; 2] = [5, 11];

/// The most halvings, for the widest scores.
const MAX_HALVINGS: usize = 30;

/// A score that is subtracted from all scores of its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Shift {
    /// None.
    None,
    /// The score of the token itself.
    Own,
    /// The score of the token before.
    Previous,
    /// The score of the token after.
    Next,
    /// The score of the first token.
    First,
}

impl Shift {
    const ALL: [Self; 5] = [Self::None, Self::Own, Self::Previous, Self::Next, Self::First];

    /// The number that it subtracts from the scores of a row; at the ends of the sentence, where
    /// there is no neighbour, the token's own score.
    fn of(self, row: &[f64], at: usize) -> f64 {
        let place = match self {
            Self::None => return 0.0,
            Self::Own => Some(at),
            Self::Previous => at.checked_sub(1),
            Self::Next => Some(at + 1).filter(|&next| next < row.len()),
            Self::First => Some(0),
        };
        row.get(place.unwrap_or(at)).copied().unwrap_or(0.0)
    }
}

/// The scores and logarithms of sums of a head, under one shift.
#[derive(Clone, Copy, Debug)]
struct Quantities {
    scores: Range,
    /// log sum_j exp(s_j).
    whole: Range,
    /// log sum_j exp(s_j / 2).
    half: Range,
}

/// The sample of each head, under each shift.
#[derive(Clone, Debug)]
pub struct Seen {
    heads: Vec<[Quantities; 5]>,
    tokens: usize,
}

impl Seen {
    /// An empty sample of so many heads and tokens.
    pub fn new(heads: usize, tokens: usize) -> Self {
        let empty = Quantities { scores: Range::EMPTY, whole: Range::EMPTY, half: Range::EMPTY };
        Self { heads: vec![[empty; 5]; heads], tokens }
    }

    /// Includes scores `[head][token][token]` under a mask.
    pub fn see(&mut self, scores: &[f64], mask: Option<&[f64]>) {
        let tokens = self.tokens;
        for (head, scores) in self.heads.iter_mut().zip(scores.chunks_exact(tokens * tokens)) {
            for (at, row) in scores.chunks_exact(tokens).enumerate().filter(|(at, _)| is_real(mask, *at)) {
                let seen = Quantities::of(row, mask);
                Shift::ALL.iter().zip(head.iter_mut()).for_each(|(shift, head)| {
                    *head = head.with(seen.less(shift.of(row, at)));
                });
            }
        }
    }

    /// With the sample of other examples.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (head, other) in self.heads.iter_mut().flatten().zip(other.heads.into_iter().flatten()) {
            *head = head.with(other);
        }
        self
    }
}

/// Whether a token is one of the sentence.
fn is_real(mask: Option<&[f64]>, at: usize) -> bool {
    mask.is_none_or(|mask| mask[at] != 0.0)
}

/// log sum_j exp(factor s_j) over the tokens of the sentence.
fn log_sum(row: &[f64], mask: Option<&[f64]>, factor: f64) -> f64 {
    let kept = || row.iter().enumerate().filter(|(at, _)| is_real(mask, *at)).map(|(_, s)| factor * s);
    let greatest = kept().fold(f64::NEG_INFINITY, f64::max);
    greatest + libm::log(kept().map(|s| libm::exp(s - greatest)).sum())
}

impl Quantities {
    /// The quantities of a row without a shift.
    fn of(row: &[f64], mask: Option<&[f64]>) -> Self {
        let one = |x: f64| Range { low: x, high: x };
        let mut scores = Range::EMPTY;
        let real = row.iter().enumerate().filter(|(at, _)| is_real(mask, *at));
        real.for_each(|(_, &score)| scores.see(score));
        Self { scores, whole: one(log_sum(row, mask, 1.0)), half: one(log_sum(row, mask, 0.5)) }
    }

    /// The quantities of the row with a shift.
    fn less(self, shift: f64) -> Self {
        let less = |range: Range, shift: f64| Range { low: range.low - shift, high: range.high - shift };
        let half = less(self.half, 0.5 * shift);
        Self { scores: less(self.scores, shift), whole: less(self.whole, shift), half }
    }

    /// The ranges of both.
    fn with(self, other: Self) -> Self {
        Self {
            scores: self.scores.with(other.scores),
            whole: self.whole.with(other.whole),
            half: self.half.with(other.half),
        }
    }
}

/// The head of a softmax as it is computed on ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The score that is subtracted from each row.
    pub shift: Shift,
    /// The number that is subtracted from all scores.
    pub offset: f64,
    /// The scores that are covered.
    pub scores: Range,
    /// The logarithms of sums of the first stage that are covered, log sum_j exp((s_j - offset) /
    /// 2): up to 0.
    pub sums: Range,
}

/// A softmax as it is computed on ciphertexts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approximate {
    /// The heads.
    pub heads: Vec<Head>,
    tokens: usize,
    /// The scores are divided by 2 to the power of this.
    pub halvings: usize,
    exp: Polynomial,
    first: Inverse,
    second: Inverse,
}

impl Approximate {
    /// For scores like those seen.
    pub fn new(seen: &Seen) -> Self {
        let heads: Vec<Head> = seen.heads.iter().map(Head::new).collect();
        let spread = heads.iter().map(|head| head.offset - head.scores.low).fold(0.0, f64::max);
        let most = heads.iter().map(|head| -head.sums.low).fold(0.0, f64::max);
        let halvings = libm::ceil(libm::log2((spread / -INTERVAL[0]).clamp(2.0, 1e9))) as usize;
        // sum_k n_k^2 is at least 1 / tokens, and the first stage leaves n within its bits.
        let least = 0.8 / seen.tokens as f64;
        Self {
            heads,
            tokens: seen.tokens,
            halvings,
            exp: Polynomial::new(libm::exp, INTERVAL, DEGREE),
            first: Inverse::new(libm::exp(-most), BITS[0]),
            second: Inverse::new(least, BITS[1]),
        }
    }

    /// Whether it is one of so many heads and tokens.
    pub(super) fn is_valid(&self, heads: usize, tokens: usize) -> bool {
        let head = |head: &Head| {
            let ranges = head.scores.is_valid() && head.sums.is_valid();
            ranges && head.offset.is_finite() && head.sums.high.to_bits() == 0
        };
        (self.heads.len(), self.tokens) == (heads, tokens)
            && self.heads.iter().all(head)
            && (1..=MAX_HALVINGS).contains(&self.halvings)
            && self.exp.is_valid()
            && self.first.is_valid()
            && self.second.is_valid()
    }

    /// exp(x - 1) for numbers from -1 to 1.
    pub(super) fn exp_on_unit_interval(&self) -> he_core::Result<circuits::Polynomial> {
        self.exp.on_unit_interval(1.0)
    }

    /// The reciprocals of both stages.
    pub(super) fn inverses(&self) -> [&Inverse; 2] {
        [&self.first, &self.second]
    }

    /// The steps of both reciprocals.
    pub fn steps(&self) -> [usize; 2] {
        [self.first.steps(), self.second.steps()]
    }

    /// The levels of the scores themselves, the reciprocals aside.
    pub fn depth(&self) -> usize {
        self.exp.depth() + self.halvings + 3
    }

    /// The value on scores `[head][token][token]`. Rows beyond the sentence are 0.
    ///
    /// # Errors
    /// A score or a sum outside its range.
    pub fn apply(&self, node: usize, scores: &[f64], mask: Option<&[f64]>) -> Result<Vec<f64>, Excess> {
        let tokens = self.tokens;
        let mut found = Vec::with_capacity(scores.len());
        for (index, (head, scores)) in self.heads.iter().zip(scores.chunks_exact(tokens * tokens)).enumerate()
        {
            for (at, row) in scores.chunks_exact(tokens).enumerate() {
                match is_real(mask, at) {
                    true => found.extend(self.row(head, row, mask, at).map_err(|excess| Excess {
                        node,
                        quantity: format!("{} of head {index}", excess.quantity),
                        ..excess
                    })?),
                    false => found.extend(std::iter::repeat_n(0.0, tokens)),
                }
            }
        }
        Ok(found)
    }

    fn row(&self, head: &Head, row: &[f64], mask: Option<&[f64]>, at: usize) -> Result<Vec<f64>, Excess> {
        let excess =
            |quantity: &str, value, range| Excess { node: 0, quantity: quantity.to_owned(), value, range };
        let shift = head.shift.of(row, at);
        let scale = 0.5f64.powi(self.halvings as i32);
        let mut halves = Vec::with_capacity(row.len());
        for (place, score) in row.iter().map(|s| s - shift).enumerate() {
            if !is_real(mask, place) {
                halves.push(0.0);
                continue;
            }
            if !head.scores.contains(score) {
                return Err(excess("score", score, head.scores));
            }
            let exp = self.exp.at((score - head.offset) * scale);
            halves.push((1..self.halvings).fold(exp, |y, _| y * y));
        }
        let sum: f64 = halves.iter().sum();
        if !head.sums.contains(libm::log(sum)) {
            return Err(excess("log-sum-exp", libm::log(sum), head.sums));
        }
        let inverse = self.first.at(sum);
        let squares: Vec<f64> = halves.iter().map(|y| (y * inverse) * (y * inverse)).collect();
        // The first stage ends a little below 1.
        let inverse = self.second.at(squares.iter().sum());
        Ok(squares.into_iter().map(|y| y * inverse).collect())
    }
}

impl Head {
    /// The shift whose logarithms of sums are narrowest, if one is much narrower than none.
    fn new(seen: &[Quantities; 5]) -> Self {
        let width = |at: usize| seen[at].whole.high - seen[at].whole.low;
        let best = (0..seen.len()).min_by(|&a, &b| width(a).total_cmp(&width(b))).unwrap_or(0);
        let chosen = if width(best) + NARROWER < width(0) { best } else { 0 };
        let quantities = &seen[chosen];
        let margin = 0.5 * (quantities.scores.high - quantities.scores.low) * 0.25 + MARGIN.1;
        let offset = 2.0 * quantities.half.high + MARGIN.1;
        // No score is above the sum of its row.
        let high = (quantities.scores.high + margin).min(offset);
        let scores = Range { low: quantities.scores.low - margin, high };
        let sums = Range { low: quantities.half.low - 0.5 * (offset + MARGIN.0), high: 0.0 };
        Self { shift: Shift::ALL[chosen], offset, scores, sums }
    }
}
