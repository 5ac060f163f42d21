//! Building circuits and running them.

use super::{BitOps, Gate, PlacedGate, Signal};
use crate::error::{Error, Result};
use std::collections::HashMap;
use std::ops::Range;

/// A number as its bits, the lowest first.
pub type Word = Vec<Signal>;

/// Collects gates. Constants are folded, and existing gates are reused.
#[derive(Debug, Default)]
pub struct Builder {
    inputs: usize,
    gates: Vec<PlacedGate>,
    /// The level of each slot: 0 for inputs.
    levels: Vec<usize>,
    known: HashMap<(Gate, [Signal; 3]), Signal>,
    multiplexers: bool,
}

impl Builder {
    /// Starts a circuit with `inputs` input bits, which [`input`](Self::input) returns.
    pub fn new(inputs: usize) -> Self {
        Self { inputs, levels: vec![0; inputs], ..Self::default() }
    }

    /// Carries through ranges of bits by multiplexers instead of majorities. Gates as polynomials
    /// ([`packed`](super::packed)) then take one product at depth 1 instead of two at depth 2; a
    /// bootstrapped multiplexer costs more than a majority.
    #[must_use]
    pub fn with_multiplexers(self) -> Self {
        Self { multiplexers: true, ..self }
    }

    /// Input bits.
    ///
    /// # Panics
    /// For bits beyond the number of inputs.
    pub fn input(&self, range: Range<usize>) -> Word {
        assert!(range.end <= self.inputs, "{range:?} of {} inputs", self.inputs);
        range.map(|index| Signal::Slot { index, negated: false }).collect()
    }

    fn place(&mut self, gate: Gate, inputs: [Signal; 3]) -> Signal {
        if let Some(&known) = self.known.get(&(gate, inputs)) {
            return known;
        }
        let level = inputs.iter().map(|&signal| self.level(signal)).max().unwrap_or(0) + 1;
        let signal = Signal::Slot { index: self.levels.len(), negated: false };
        self.levels.push(level);
        self.gates.push(PlacedGate { gate, inputs });
        self.known.insert((gate, inputs), signal);
        signal
    }

    fn level(&self, signal: Signal) -> usize {
        match signal {
            Signal::Constant(_) => 0,
            Signal::Slot { index, .. } => self.levels[index],
        }
    }

    /// Any function of two bits; bit 2a + b of `table` is its value at (a, b).
    pub fn lookup(&mut self, table: u8, a: Signal, b: Signal) -> Signal {
        let at = |a: u8, b: u8| table >> (2 * a + b) & 1 == 1;
        // The rest of the table when a bit is known, or both are the same: (value at 0, value at
        // 1).
        let unary = |x: Signal, values: (bool, bool)| match values {
            (false, true) => x,
            (true, false) => !x,
            (constant, _) => Signal::Constant(constant),
        };
        match (a, b) {
            (Signal::Constant(a), b) => unary(b, (at(u8::from(a), 0), at(u8::from(a), 1))),
            (a, Signal::Constant(b)) => unary(a, (at(0, u8::from(b)), at(1, u8::from(b)))),
            (a, b) if a == b => unary(a, (at(0, 0), at(1, 1))),
            (a, b) if a == !b => unary(a, (at(0, 1), at(1, 0))),
            (Signal::Slot { index: i, negated: not_a }, Signal::Slot { index: j, negated: not_b }) => {
                // Moves negations into the table.
                let (not_a, not_b) = (u8::from(not_a), u8::from(not_b));
                let table = (0..4u8)
                    .filter(|&x| at((x >> 1) ^ not_a, (x & 1) ^ not_b))
                    .fold(0, |table, x| table | 1 << x);
                let (a, b) =
                    (Signal::Slot { index: i, negated: false }, Signal::Slot { index: j, negated: false });
                match table {
                    0b0000 | 0b1111 => Signal::Constant(table != 0),
                    0b1100 => a,
                    0b0011 => !a,
                    0b1010 => b,
                    0b0101 => !b,
                    _ => self.place(Gate::Lookup(table), [a, b, b]),
                }
            }
        }
    }

    /// a AND b.
    pub fn and(&mut self, a: Signal, b: Signal) -> Signal {
        self.lookup(0b1000, a, b)
    }

    /// a OR b.
    pub fn or(&mut self, a: Signal, b: Signal) -> Signal {
        self.lookup(0b1110, a, b)
    }

    /// a XOR b.
    pub fn xor(&mut self, a: Signal, b: Signal) -> Signal {
        self.lookup(0b0110, a, b)
    }

    /// Whether two or three of the bits are set.
    pub fn majority(&mut self, a: Signal, b: Signal, c: Signal) -> Signal {
        for (x, y, z) in [(a, b, c), (b, c, a), (c, a, b)] {
            match x {
                Signal::Constant(true) => return self.or(y, z),
                Signal::Constant(false) => return self.and(y, z),
                Signal::Slot { .. } if x == y => return x,
                Signal::Slot { .. } if x == !y => return z,
                Signal::Slot { .. } => {}
            }
        }
        self.place(Gate::Majority, [a, b, c])
    }

    /// `first` OR `second` AND `carry`, where `first` implies `second`: the carry that a range of
    /// bits passes on.
    pub(super) fn carried(&mut self, first: Signal, second: Signal, carry: Signal) -> Signal {
        if self.multiplexers { self.mux(carry, second, first) } else { self.majority(first, second, carry) }
    }

    /// Whether one or three of the bits are set.
    pub fn parity(&mut self, a: Signal, b: Signal, c: Signal) -> Signal {
        for (x, y, z) in [(a, b, c), (b, c, a), (c, a, b)] {
            match x {
                Signal::Constant(true) => return !self.xor(y, z),
                Signal::Constant(false) => return self.xor(y, z),
                Signal::Slot { .. } if x == y => return z,
                Signal::Slot { .. } if x == !y => return !z,
                Signal::Slot { .. } => {}
            }
        }
        self.place(Gate::Parity, [a, b, c])
    }

    /// `yes` if `condition` is set, `no` otherwise.
    pub fn mux(&mut self, condition: Signal, yes: Signal, no: Signal) -> Signal {
        match (condition, yes, no) {
            (Signal::Constant(true), ..) => yes,
            (Signal::Constant(false), ..) => no,
            (_, yes, no) if yes == no => yes,
            (_, yes, no) if yes == !no => !self.xor(condition, yes),
            (c, Signal::Constant(true), no) => self.or(c, no),
            (c, Signal::Constant(false), no) => self.and(!c, no),
            (c, yes, Signal::Constant(true)) => self.or(!c, yes),
            (c, yes, Signal::Constant(false)) => self.and(c, yes),
            _ => self.place(Gate::Mux, [condition, yes, no]),
        }
    }

    /// Builds the circuit of these outputs, without gates that none of them needs.
    pub fn finish(self, outputs: &[Signal]) -> Circuit {
        let mut needed = vec![false; self.levels.len()];
        let mark = |needed: &mut [bool], signals: &[Signal]| {
            for signal in signals {
                if let Signal::Slot { index, .. } = *signal {
                    needed[index] = true;
                }
            }
        };
        mark(&mut needed, outputs);
        for (i, placed) in self.gates.iter().enumerate().rev() {
            if needed[self.inputs + i] {
                mark(&mut needed, &placed.inputs);
            }
        }
        let mut order: Vec<usize> = (0..self.gates.len()).filter(|i| needed[self.inputs + i]).collect();
        order.sort_by_key(|i| self.levels[self.inputs + i]);
        let mut slot: Vec<usize> = (0..self.levels.len()).collect();
        for (place, &i) in order.iter().enumerate() {
            slot[self.inputs + i] = self.inputs + place;
        }
        let moved = |signal: Signal| match signal {
            Signal::Slot { index, negated } => Signal::Slot { index: slot[index], negated },
            constant => constant,
        };
        let mut levels: Vec<Range<usize>> = Vec::new();
        for (place, &i) in order.iter().enumerate() {
            // Every level up to the deepest has a gate, namely one that the next level needs.
            if self.levels[self.inputs + i] > levels.len() {
                levels.push(place..place);
            }
            if let Some(last) = levels.last_mut() {
                last.end = place + 1;
            }
        }
        let gates = order
            .iter()
            .map(|&i| PlacedGate { gate: self.gates[i].gate, inputs: self.gates[i].inputs.map(moved) })
            .collect();
        Circuit {
            inputs: self.inputs,
            gates,
            levels,
            outputs: outputs.iter().map(|&signal| moved(signal)).collect(),
        }
    }
}

/// Gates by levels. Slot i < `inputs` is input i, slot `inputs` + j is gate j.
#[derive(Clone, Debug)]
pub struct Circuit {
    inputs: usize,
    gates: Vec<PlacedGate>,
    levels: Vec<Range<usize>>,
    outputs: Vec<Signal>,
}

impl Circuit {
    /// The number of input bits.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of output bits.
    pub fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// The number of levels, that is, of gates on the longest path.
    pub fn depth(&self) -> usize {
        self.levels.len()
    }

    /// The number of gates.
    pub fn gate_count(&self) -> usize {
        self.gates.len()
    }

    /// The gates of each level.
    pub fn levels(&self) -> impl Iterator<Item = &[PlacedGate]> {
        self.levels.iter().map(|range| &self.gates[range.clone()])
    }

    /// Evaluates it with one batch of gates per level.
    ///
    /// # Errors
    /// [`Error::BatchMismatch`] for another number of bits than it has inputs; the provider's
    /// errors.
    pub fn run<P: BitOps>(&self, provider: &P, inputs: &P::Bits) -> Result<P::Bits> {
        let found = provider.count(inputs);
        if found != self.inputs {
            return Err(Error::BatchMismatch { left: self.inputs, right: found });
        }
        let mut slots = provider.slots(self.inputs + self.gates.len())?;
        provider.write(&mut slots, 0, inputs, 0..self.inputs)?;
        for range in &self.levels {
            provider.gates(&mut slots, &self.gates[range.clone()], self.inputs + range.start)?;
        }
        provider.gather(&slots, &self.outputs)
    }
}
