//! Bits in the clear.

use super::{BitOps, Gate, PlacedGate, Signal};
use crate::error::{Error, Result};
use std::ops::Range;

/// Plain bits, which are the oracle of the other providers. Not constant time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

fn bit(slots: &[bool], signal: Signal) -> Result<bool> {
    match signal {
        Signal::Constant(bit) => Ok(bit),
        Signal::Slot { index, negated } => {
            let missing =
                Error::BatchRange { start: index, end: index.saturating_add(1), batch: slots.len() };
            slots.get(index).map(|bit| bit ^ negated).ok_or(missing)
        }
    }
}

impl BitOps for Plain {
    type Bits = Vec<bool>;

    fn count(&self, bits: &Vec<bool>) -> usize {
        bits.len()
    }

    fn slots(&self, count: usize) -> Result<Vec<bool>> {
        Ok(vec![false; count])
    }

    fn write(&self, dst: &mut Vec<bool>, at: usize, src: &Vec<bool>, range: Range<usize>) -> Result<()> {
        let missing = |start, end, batch| Error::BatchRange { start, end, batch };
        let to = at..at.saturating_add(range.len());
        let from = src.get(range.clone()).ok_or(missing(range.start, range.end, src.len()))?;
        let batch = dst.len();
        dst.get_mut(to.clone()).ok_or(missing(to.start, to.end, batch))?.copy_from_slice(from);
        Ok(())
    }

    fn gates(&self, slots: &mut Vec<bool>, gates: &[PlacedGate], at: usize) -> Result<()> {
        let mut out = Vec::with_capacity(gates.len());
        for placed in gates {
            let (a, b, c) =
                (bit(slots, placed.inputs[0])?, bit(slots, placed.inputs[1])?, bit(slots, placed.inputs[2])?);
            out.push(match placed.gate {
                Gate::Lookup(table) => table >> (2 * u8::from(a) + u8::from(b)) & 1 == 1,
                Gate::Majority => (a & b) | (a & c) | (b & c),
                Gate::Parity => a ^ b ^ c,
                Gate::Mux => {
                    if a {
                        b
                    } else {
                        c
                    }
                }
            });
        }
        self.write(slots, at, &out, 0..out.len())
    }

    fn gather(&self, slots: &Vec<bool>, signals: &[Signal]) -> Result<Vec<bool>> {
        signals.iter().map(|&signal| bit(slots, signal)).collect()
    }
}
