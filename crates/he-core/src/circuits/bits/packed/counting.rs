//! Counting bits: the sum of n bits modulo t is a plain sum, and each of its binary digits a
//! polynomial of it.

use super::Arithmetic;
use super::gates::{Entry, SlotGates};
use super::summation::Plan;
use crate::arith::Modulus;
use crate::error::{Error, Result};

/// The reductions of words to two of the same sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// By full adders until two are left.
    Adders,
    /// This many are counted; the rest waits.
    Count(usize),
}

/// The number of binary digits of n.
fn digits(n: usize) -> usize {
    (usize::BITS - n.leading_zeros()) as usize
}

/// The next step of least total depth for this many words: a count of n takes ceil(log2(n + 1))
/// products and about the bits of one level for its coefficients.
pub(super) fn next(words: usize) -> Step {
    best(words).1
}

fn best(words: usize) -> (usize, Step) {
    let mut best = (Plan::new(words).depth(), Step::Adders);
    if words < 4 {
        return best;
    }
    let all = digits(words);
    // All of them, or as many as fill their digits.
    for (count, bits) in [(words, all), ((1 << (digits(words + 1) - 1)) - 1, digits(words + 1) - 1)] {
        let depth = bits + 1 + self::best(bits + words - count).0;
        if depth < best.0 {
            best = (depth, Step::Count(count));
        }
    }
    best
}

/// Coefficients modulo t of the polynomial of least degree with these values at 0, 1,
/// 2 ... (Newton), in `[-t/2, t/2)`.
fn interpolate(t: &Modulus, values: &[u64]) -> Vec<i64> {
    let mut differences = values.to_vec();
    let mut newton = Vec::with_capacity(values.len());
    let mut factorial = t.reduce(1);
    for k in 0..values.len() {
        if k > 0 {
            factorial = t.mul(factorial, t.reduce(k as u64));
        }
        newton.push(t.mul(differences[0], t.inv(factorial)));
        for i in 0..differences.len() - 1 {
            differences[i] = t.sub(differences[i + 1], differences[i]);
        }
        differences.pop();
    }
    // By Horner's rule: p <- p (x - k) + c_k.
    let mut p: Vec<u64> = Vec::with_capacity(values.len());
    for (k, &c) in newton.iter().enumerate().rev() {
        let k = t.reduce(k as u64);
        p.insert(0, 0);
        for i in 0..p.len() - 1 {
            p[i] = t.sub(p[i], t.mul(k, p[i + 1]));
        }
        p[0] = t.add(p[0], c);
    }
    p.into_iter().map(|c| t.center(c)).collect()
}

/// Powers below x^baby, and x^(baby 2^j).
struct Powers<T> {
    low: Vec<Entry<T>>,
    high: Vec<Entry<T>>,
}

impl<A: Arithmetic> SlotGates<A> {
    fn powers(&self, x: &Entry<A::Batch>, baby: usize, squarings: usize) -> Result<Powers<A::Batch>> {
        let mut low = vec![x.clone()];
        while low.len() < baby {
            let top = low.len();
            let more = {
                let highest = &low[top - 1];
                let pairs: Vec<_> = low.iter().map(|power| [highest, power]).collect();
                self.products(&pairs)?
            };
            low.extend(more);
        }
        let mut high = vec![low[baby - 1].clone()];
        low.truncate(baby - 1);
        // Each is a term of many sums.
        let low = low.iter().map(|power| self.alone(power)).collect::<Result<_>>()?;
        while high.len() < squarings {
            let last = &high[high.len() - 1];
            let square = self.products(&[[last, last]])?;
            high.extend(square);
        }
        Ok(Powers { low, high })
    }

    /// The sum of entries.
    pub(super) fn total(&self, mut entries: Vec<Entry<A::Batch>>) -> Result<Entry<A::Batch>> {
        while entries.len() > 1 {
            let upper = entries.split_off(entries.len().div_ceil(2));
            let pairs: Vec<_> = entries.iter().zip(&upper).map(|(low, high)| [low, high]).collect();
            let sums = self.sums(&pairs)?;
            entries.splice(..sums.len(), sums);
        }
        entries.pop().ok_or(Error::BatchRange { start: 0, end: 1, batch: 0 })
    }

    /// The binary digits, the lowest first, of a number of 0 ... most in each slot, by Paterson and
    /// Stockmeyer (1973) with shared powers. The depth is ceil(log2(most + 1)), plus a product by
    /// coefficients modulo t.
    pub(super) fn binary_digits(&self, x: &Entry<A::Batch>, most: usize) -> Result<Vec<Entry<A::Batch>>> {
        let t = self.arithmetic().plain_modulus();
        if t <= most as u64 {
            return Err(Error::domain(
                "plaintext modulus",
                format!("{t} cannot tell counts of up to {most}"),
                "take a greater one",
            ));
        }
        let (t, outputs) = (Modulus::new(t)?, digits(most));
        let blocks = |baby: usize| (most + 1).div_ceil(baby);
        let cost = |baby: usize| baby + outputs * blocks(baby);
        let baby = (1..digits(most)).map(|log| 1 << log).min_by_key(|&baby| cost(baby)).unwrap_or(1);
        let levels = digits(blocks(baby) - 1);
        let powers = self.powers(x, baby, levels)?;
        // Blocks of each digit's polynomial: a linear combination, a constant alone, or nothing.
        let mut polynomials = Vec::with_capacity(outputs);
        for digit in 0..outputs {
            let values: Vec<u64> = (0..=most).map(|v| (v >> digit & 1) as u64).collect();
            let coefficients = interpolate(&t, &values);
            let mut parts = Vec::with_capacity(blocks(baby));
            for block in coefficients.chunks(baby) {
                let terms: Vec<_> =
                    block[1..].iter().copied().zip(&powers.low).filter(|term| term.0 != 0).collect();
                parts.push(match (block[0], terms.is_empty()) {
                    (0, true) => Block::Constant(0),
                    (constant, true) => Block::Constant(constant),
                    (constant, false) => Block::Entry(self.linear(constant, &terms)?),
                });
            }
            polynomials.push(parts);
        }
        for power in &powers.high {
            polynomials = self.fold(polynomials, power)?;
        }
        let entry = |blocks: Vec<Block<A::Batch>>| match blocks.into_iter().next() {
            Some(Block::Entry(entry)) => Ok(entry),
            _ => Err(Error::BatchRange { start: 0, end: 1, batch: 0 }),
        };
        polynomials.into_iter().map(entry).collect()
    }

    /// Pairs of neighbouring blocks: low + power high.
    fn fold(
        &self,
        polynomials: Vec<Vec<Block<A::Batch>>>,
        power: &Entry<A::Batch>,
    ) -> Result<Vec<Vec<Block<A::Batch>>>> {
        let highs =
            polynomials.iter().flat_map(|blocks| blocks.chunks_exact(2)).filter_map(|pair| match &pair[1] {
                Block::Entry(high) => Some([high, power]),
                Block::Constant(_) => None,
            });
        let mut products = self.products(&highs.collect::<Vec<_>>())?.into_iter();
        let mut folded = Vec::with_capacity(polynomials.len());
        for blocks in polynomials {
            let mut next = Vec::with_capacity(blocks.len().div_ceil(2));
            let mut blocks = blocks.into_iter();
            while let Some(low) = blocks.next() {
                next.push(match (low, blocks.next()) {
                    (low, None | Some(Block::Constant(0))) => low,
                    (low, Some(Block::Constant(c))) => self.plus(low, c, power)?,
                    (low, Some(Block::Entry(_))) => {
                        let product =
                            products.next().ok_or(Error::BatchRange { start: 0, end: 1, batch: 0 })?;
                        self.plus(low, 1, &product)?
                    }
                });
            }
            folded.push(next);
        }
        Ok(folded)
    }

    /// low + c x.
    fn plus(&self, low: Block<A::Batch>, c: i64, x: &Entry<A::Batch>) -> Result<Block<A::Batch>> {
        Ok(Block::Entry(match low {
            Block::Constant(constant) => self.linear(constant, &[(c, x)])?,
            Block::Entry(low) => self.linear(0, &[(1, &low), (c, x)])?,
        }))
    }
}

/// A part of a polynomial.
enum Block<T> {
    Constant(i64),
    Entry(Entry<T>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polynomials_have_their_values() {
        let t = Modulus::new(65537).unwrap();
        for most in [1usize, 3, 10, 63] {
            for digit in 0..digits(most) {
                let values: Vec<u64> = (0..=most).map(|v| (v >> digit & 1) as u64).collect();
                let p = interpolate(&t, &values);
                for (x, &value) in values.iter().enumerate() {
                    let found = p
                        .iter()
                        .rev()
                        .fold(0, |all, &c| t.add(t.mul(all, t.reduce(x as u64)), t.reduce_i64(c)));
                    assert_eq!(found, value, "digit {digit} of {x}");
                }
            }
        }
    }

    #[test]
    fn steps_grow_shallower_than_full_adders() {
        assert_eq!(next(2), Step::Adders);
        assert_eq!(next(3), Step::Adders);
        assert_eq!(next(16), Step::Adders);
        for words in [32, 64, 1000, 1024] {
            assert!(best(words).0 < Plan::new(words).depth(), "{words}: {:?}", best(words));
            assert!(matches!(next(words), Step::Count(_)));
        }
    }
}
