//! Addition.

use super::{Builder, Signal, Word};

/// (sum, carry) of three bits: parity and majority. Depth 1, 2 gates.
pub fn full_adder(c: &mut Builder, x: Signal, y: Signal, z: Signal) -> (Signal, Signal) {
    (c.parity(x, y, z), c.majority(x, y, z))
}

/// Bit i of a number, zero beyond its width.
pub(super) fn at(x: &[Signal], i: usize) -> Signal {
    x.get(i).copied().unwrap_or(Signal::Constant(false))
}

/// x + y + carry: the sum, as wide as the wider one, and the carry out. One full adder per bit, in
/// sequence: 2w gates at depth w.
pub fn ripple_add(c: &mut Builder, x: &[Signal], y: &[Signal], mut carry: Signal) -> (Word, Signal) {
    let mut sum = Word::new();
    for i in 0..x.len().max(y.len()) {
        let bit;
        (bit, carry) = full_adder(c, at(x, i), at(y, i), carry);
        sum.push(bit);
    }
    (sum, carry)
}

/// The effect of a range of bits on the carry into it: (carry out for a carry in of 0, for 1). The
/// first implies the second, so that a carry c yields majority(first, second, c), which is second
/// if c, else first. Ranges compose by two majorities, or multiplexers, at depth 1.
pub(super) type Carries = (Signal, Signal);

/// The effect of the range of `high` above that of `low`.
pub(super) fn compose(c: &mut Builder, high: Carries, low: Carries) -> Carries {
    (c.carried(high.0, high.1, low.0), c.carried(high.0, high.1, low.1))
}

/// The effect of each bit: (x AND y, x OR y).
pub(super) fn carries(c: &mut Builder, x: &[Signal], y: &[Signal]) -> Vec<Carries> {
    (0..x.len().max(y.len())).map(|i| (c.and(at(x, i), at(y, i)), c.or(at(x, i), at(y, i)))).collect()
}

/// x + y: the sum, as wide as the wider one, and the carry out, by parallel prefixes of all lengths
/// (Kogge, Stone, 1973), of depth ceil(log2 w) + 2, with the composition of [`full_adder`]'s
/// majority.
pub fn kogge_stone_add(c: &mut Builder, x: &[Signal], y: &[Signal]) -> (Word, Signal) {
    let width = x.len().max(y.len());
    let mut prefix = carries(c, x, y);
    let mut step = 1;
    while step < width {
        prefix = (0..width)
            .map(|i| {
                // Below `step` the range reaches down to bit 0, and its carry in is 0, so the
                // second is not needed and not used.
                if i < step { prefix[i] } else { compose(c, prefix[i], prefix[i - step]) }
            })
            .collect();
        step *= 2;
    }
    let carry = |i: usize| if i == 0 { Signal::Constant(false) } else { prefix[i - 1].0 };
    let sum = (0..width).map(|i| c.parity(at(x, i), at(y, i), carry(i))).collect();
    (sum, if width == 0 { Signal::Constant(false) } else { carry(width) })
}

/// At most two numbers of the same sum modulo 2^width, by levels of full adders that turn three
/// numbers into two.
pub fn carry_save(c: &mut Builder, mut numbers: Vec<Word>, width: usize) -> Vec<Word> {
    while numbers.len() > 2 {
        let mut next = Vec::new();
        for group in numbers.chunks(3) {
            let [x, y, z] = group else {
                next.extend(group.iter().cloned());
                continue;
            };
            let (mut sum, mut carry) = (Word::new(), vec![Signal::Constant(false)]);
            for i in 0..width.min(x.len().max(y.len()).max(z.len())) {
                let (s, t) = full_adder(c, at(x, i), at(y, i), at(z, i));
                sum.push(s);
                carry.push(t);
            }
            carry.truncate(width);
            next.extend([sum, carry]);
        }
        numbers = next;
    }
    numbers
}

/// The sum of numbers modulo 2^width: [`carry_save`] of depth about log_1.5(n / 2), then
/// [`kogge_stone_add`].
pub fn sum(c: &mut Builder, numbers: Vec<Word>, width: usize) -> Word {
    let numbers = carry_save(c, numbers, width);
    let mut sum = match numbers.as_slice() {
        [] => Word::new(),
        [x] => x.clone(),
        [x, y, ..] => {
            let (mut sum, carry) = kogge_stone_add(c, x, y);
            sum.push(carry);
            sum
        }
    };
    sum.resize(width, Signal::Constant(false));
    sum
}
