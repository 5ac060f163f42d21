//! Multiplication.

use super::{Builder, Signal, Word, sum};

/// x y modulo 2^width: an AND for each pair of bits, then the [`sum`] of the shifted rows.
pub fn multiply(c: &mut Builder, x: &[Signal], y: &[Signal], width: usize) -> Word {
    let mut rows = Vec::new();
    for (shift, &y) in y.iter().enumerate().take(width) {
        let mut row = vec![Signal::Constant(false); shift];
        row.extend(x.iter().take(width - shift).map(|&x| c.and(x, y)));
        rows.push(row);
    }
    sum(c, rows, width)
}
