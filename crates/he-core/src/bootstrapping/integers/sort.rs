//! Sorting the slots.

use super::carries::halves;
use super::estimates::{either, exactly, noiseless, with_noise};
use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotIntegers};
use crate::backend::RingOps;
use crate::ckks::{Ciphertext, Plaintext};
use crate::error::{Error, Result};

/// Compares each slot i that has not the bit `stride` with slot i + stride, and leaves the lesser
/// one in slot i where i has not the bit `size`, or has it if `turned`, and otherwise the greater.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Exchange {
    stride: usize,
    size: usize,
    turned: bool,
}

impl Exchange {
    fn is_lower(self, slot: usize) -> bool {
        slot & self.stride == 0
    }

    fn is_descending(self, slot: usize) -> bool {
        (slot & self.size != 0) != self.turned
    }
}

/// Batcher's bitonic sort of blocks: ascending those that have not the bit `block`, descending the
/// others, or the other way round.
fn sorting(block: usize, turned: bool) -> Vec<Exchange> {
    let sizes = std::iter::successors(Some(2), |size| Some(2 * size)).take_while(|&size| size <= block);
    sizes.flat_map(|size| merging(size / 2, size, turned)).collect()
}

/// The merge of runs of twice the first stride.
fn merging(first: usize, size: usize, turned: bool) -> Vec<Exchange> {
    let strides =
        std::iter::successors(Some(first), |stride| Some(stride / 2)).take_while(|&stride| stride > 0);
    strides.map(|stride| Exchange { stride, size, turned }).collect()
}

/// The greatest of each block descend in the first block of all: neighbouring blocks leave the
/// greater of each pair, until one is left.
fn selecting(slots: usize, block: usize) -> Vec<Exchange> {
    let mut all = sorting(block, true);
    let sizes =
        std::iter::successors(Some(2 * block), |size| Some(2 * size)).take_while(|&size| size <= slots);
    for size in sizes {
        // No slot has the bit of all slots: all pairs leave the greater one first.
        all.push(Exchange { stride: size / 2, size: slots, turned: true });
        all.extend(merging(block / 2, size, true));
    }
    all
}

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// The integers of all n slots in ascending order: Batcher's bitonic sort, which takes
    /// log2(n) (log2(n) + 1) / 2 steps of one look-up for two digits of half of the slots, and
    /// rotations by the keys of [`sort_requirements`](Self::sort_requirements).
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn sort(&self, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.exchanged(a, &sorting(a.digits.slots(), false))
    }

    /// The `count` greatest integers in the first slots, in descending order, and zeros in the
    /// others. Blocks of as many are sorted and merged, in fewer steps than [`sort`](Self::sort)
    /// takes.
    ///
    /// # Errors
    /// [`Error::Argument`] for none, or more than there are slots; the errors of all operations, at
    /// the [type](Self).
    pub fn greatest(&self, a: &SlotIntegers<B>, count: usize) -> Result<SlotIntegers<B>> {
        let slots = a.digits.slots();
        if count == 0 || count > slots {
            let hint = format!("ask for 1 to {slots}, the number of slots");
            return Err(Error::domain("count", count.to_string(), hint));
        }
        let found = self.exchanged(a, &selecting(slots, count.next_power_of_two()))?;
        self.filled(&found, count, 0)
    }

    /// The integers of the first `count` slots, and a plain number, modulo 2^bits, in the others:
    /// with the greatest or the least number there, [`sort`](Self::sort) and
    /// [`greatest`](Self::greatest) order the first slots alone. One level.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn filled(&self, a: &SlotIntegers<B>, count: usize, filler: u64) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        let fresh = self.refreshed(&a.digits, 1)?;
        let digits = fresh.as_ref().unwrap_or(&a.digits);
        let first = self.mask(digits, |slot| f64::from(u8::from(slot < count)))?;
        let kept = self.digits(self.ev().mul_plain(digits, &first)?)?;
        let with_rest = |k: usize| {
            let digit = ((filler >> (DIGIT_BITS * k)) as usize % RADIX) as f64;
            let values: Vec<f64> =
                (0..kept.slots()).map(|slot| if slot < count { 0.0 } else { digit }).collect();
            let to = self.ev().params().encoding_for(&kept);
            self.ev().add_plain(&kept.slice_batch(k..k + 1)?, &self.ev().encoder().encode_real(&values, to)?)
        };
        let all = (0..kept.batch()).map(with_rest).collect::<Result<Vec<_>>>()?;
        self.integers(self.digits(Ciphertext::concat(&all.iter().collect::<Vec<_>>())?)?)
    }

    fn exchanged(&self, a: &SlotIntegers<B>, steps: &[Exchange]) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        let mut digits = self.biased(&a.digits)?;
        for step in steps {
            if let Some(fresh) = self.refreshed(&digits, 1)? {
                digits = fresh;
            }
            digits = self.cleaned([&digits], 2.0, |[digits]| self.exchange(digits, *step))?;
        }
        self.integers(self.biased(&digits)?)
    }

    /// Digits in whose order signed integers are ordered, and back: the highest bit is turned.
    fn biased(&self, digits: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        if !self.width.is_signed() {
            return digits.duplicate();
        }
        let (top, radix) = (digits.batch() - 1, RADIX as u64);
        let tables = self.tables(RADIX, &[&|m| m ^ (radix / 2)])?;
        let turned = self.look_up(&digits.slice_batch(top..top + 1)?, &tables)?.remove(0);
        self.joined(&[&digits.slice_batch(0..top)?, &turned])
    }

    fn exchange(&self, digits: &Ciphertext<B>, step: Exchange) -> Result<Ciphertext<B>> {
        let (ev, stride) = (self.ev(), step.stride as i64);
        let differences = ev.sub(&ev.rotate(digits, stride, self.program)?, digits)?;
        let exchanged = self.exchanging(self.greater(digits, &differences, step)?, step)?;
        // Digits change places with their noise, to which that of flags is added once: a change is
        // zero in upper slots, and what comes back in lower ones.
        let most = RADIX as u64 - 1;
        let change = ev.mul(&exchanged, &noiseless(differences, most), self.program)?;
        let back = noiseless(ev.rotate(&change, -stride, self.program)?, most);
        self.digits(ev.sub(&ev.add(digits, &change)?, &back)?)
    }

    /// Whether lower slots hold the greater one. Upper slots serve as well: those of odd digits are
    /// moved there, beside even ones in lower slots, and their flags back.
    fn greater(
        &self,
        digits: &Ciphertext<B>,
        differences: &Ciphertext<B>,
        step: Exchange,
    ) -> Result<Ciphertext<B>> {
        let (ev, stride) = (self.ev(), step.stride as i64);
        let (even, odd) = halves(digits.batch());
        let [lower, upper] = [true, false]
            .map(|lower| self.mask(digits, |slot| f64::from(u8::from(step.is_lower(slot) == lower))));
        let odd = digits.gather_batch(&odd)?;
        let moved = ev.sub(&odd, &ev.rotate(&odd, -stride, self.program)?)?;
        let (most, noise) = (RADIX as u64 - 1, either(differences, &moved));
        let [evens, odds] = [differences.gather_batch(&even)?, moved].map(|ct| noiseless(ct, most));
        let packed = ev.plain_combination(&[(&evens, &lower?), (&odds, &upper?)])?;
        let [less, same] = exactly(self.look_up(&with_noise(packed, noise), &self.tables.order)?)?;
        let count = less.batch();
        let of_odd = ev.rotate(&Ciphertext::concat(&[&less, &same])?, stride, self.program)?;
        let (odd_less, odd_same) = (of_odd.slice_batch(0..count)?, of_odd.slice_batch(count..2 * count)?);
        let order: Vec<usize> = (0..count).flat_map(|k| [k, count + k]).collect();
        let woven = |even, odd| Ciphertext::concat(&[even, odd])?.gather_batch(&order);
        self.folded(woven(&less, &odd_less)?, woven(&same, &odd_same)?)
    }

    /// Whether slots are exchanged, zero in upper ones: the flag itself, or its opposite, which
    /// differs for equal numbers too, and does no harm there.
    fn exchanging(&self, greater: Ciphertext<B>, step: Exchange) -> Result<Ciphertext<B>> {
        let lower = |slot| f64::from(u8::from(step.is_lower(slot)));
        let descending = |slot| f64::from(u8::from(step.is_descending(slot)));
        let sign = self.mask(&greater, |slot| lower(slot) * (1.0 - 2.0 * descending(slot)))?;
        let noise = (greater.noise(), greater.scale());
        let flags = with_noise(self.ev().mul_plain(&noiseless(greater, 1), &sign)?, noise);
        let values: Vec<f64> = (0..flags.slots()).map(|slot| lower(slot) * descending(slot)).collect();
        let to = self.ev().params().encoding_for(&flags);
        let constant = self.ev().encoder().encode_real(&values, to)?;
        self.flags(self.ev().add_plain(&flags, &constant)?)
    }

    /// A factor for each slot.
    fn mask(&self, ct: &Ciphertext<B>, factor: impl Fn(usize) -> f64) -> Result<Plaintext<B>> {
        let params = self.ev().params();
        let to = params.encoding_for(ct).for_multiplying(params)?;
        let values: Vec<f64> = (0..ct.slots()).map(factor).collect();
        self.ev().encoder().encode_real(&values, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::seeded;
    use rand::RngExt;

    fn run(values: &mut [u64], steps: &[Exchange]) {
        for step in steps {
            for slot in (0..values.len()).filter(|&slot| step.is_lower(slot)) {
                let other = slot + step.stride;
                if (values[slot] > values[other]) != step.is_descending(slot) {
                    values.swap(slot, other);
                }
            }
        }
    }

    #[test]
    fn steps_sort_and_select() {
        let mut rng = seeded();
        for log in 0..8 {
            let values: Vec<u64> = (0..1 << log).map(|_| rng.random_range(0..100)).collect();
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let (mut found, steps) = (values.clone(), sorting(values.len(), false));
            run(&mut found, &steps);
            assert_eq!((&found, steps.len()), (&sorted, log * (log + 1) / 2));
            sorted.reverse();
            for block in (0..=log).map(|log| 1 << log) {
                let mut found = values.clone();
                run(&mut found, &selecting(values.len(), block));
                assert_eq!(found[..block], sorted[..block], "{block} of {}", values.len());
            }
        }
    }
}
