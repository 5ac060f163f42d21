//! Comparison and selection.

use super::adders::{at, carries, compose};
use super::{Builder, Signal, Word};

/// x < y: the carry out of NOT x + y, by a tree: depth ceil(log2 w) + 1, below 4w gates.
pub fn less_than(c: &mut Builder, x: &[Signal], y: &[Signal]) -> Signal {
    let width = x.len().max(y.len());
    let not_x: Word = (0..width).map(|i| !at(x, i)).collect();
    let mut level = carries(c, &not_x, y);
    while level.len() > 1 {
        level = level
            .chunks(2)
            .map(|pair| match pair {
                [low, high] => compose(c, *high, *low),
                one => one[0],
            })
            .collect();
    }
    level.first().map_or(Signal::Constant(false), |range| range.0)
}

/// x = y: a tree of ANDs over the bits' equality; depth ceil(log2 w) + 1, 2w - 1 gates.
pub fn equal(c: &mut Builder, x: &[Signal], y: &[Signal]) -> Signal {
    let mut level: Word = (0..x.len().max(y.len())).map(|i| !c.xor(at(x, i), at(y, i))).collect();
    while level.len() > 1 {
        level = level.chunks(2).map(|pair| if let [a, b] = pair { c.and(*a, *b) } else { pair[0] }).collect();
    }
    level.first().copied().unwrap_or(Signal::Constant(true))
}

/// `yes` if `condition` is set, `no` otherwise: one multiplexer per bit, depth 1.
pub fn select(c: &mut Builder, condition: Signal, yes: &[Signal], no: &[Signal]) -> Word {
    (0..yes.len().max(no.len())).map(|i| c.mux(condition, at(yes, i), at(no, i))).collect()
}

/// (min, max): one comparison, and two multiplexers per bit. Depth ceil(log2 w) + 2.
pub fn min_max(c: &mut Builder, x: &[Signal], y: &[Signal]) -> (Word, Word) {
    let less = less_than(c, x, y);
    (select(c, less, x, y), select(c, less, y, x))
}
