//! Carries, from two flags of each digit: whether it carries by itself, and whether it passes on
//! the carry of the digits below.

use super::IntegerEvaluator;
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::error::Result;

/// The digits of a step of the prefix network: each of `upper` takes the flags of the digits up to
/// the one at its place in `lower`.
fn step(count: usize, span: usize) -> (Vec<usize>, Vec<usize>) {
    let upper: Vec<usize> = (0..count).filter(|i| i & span != 0).collect();
    let lower = upper.iter().map(|i| (i & !(2 * span - 1)) + span - 1).collect();
    (upper, lower)
}

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// Whether each digit carries, from the flags of all digits: ceil(log2(count)) products one
    /// after the other.
    pub(super) fn carries(&self, carry: Ciphertext<B>, pass: Ciphertext<B>) -> Result<Ciphertext<B>> {
        let (count, mut carry, mut pass, mut span) = (carry.batch(), carry, pass, 1);
        while span < count {
            let (upper, lower) = step(count, span);
            // The lowest digits have nothing to pass on.
            let first = upper.iter().position(|&i| i >= 2 * span).unwrap_or(upper.len());
            let (inner, below) = (&upper[first..], &lower[first..]);
            let outer = pass.gather_batch(&[&upper[..], inner].concat())?;
            let of_lower = carry.gather_batch(&lower)?;
            let of_below = if inner.is_empty() { None } else { Some(pass.gather_batch(below)?) };
            let factors: Vec<_> = std::iter::once(&of_lower).chain(&of_below).collect();
            let products = self.flag_products(&outer, &self.joined(&factors)?)?;
            let sums = self.ev().add(&carry.gather_batch(&upper)?, &products.slice_batch(0..upper.len())?)?;
            carry = self.replaced(&carry, &upper, &sums)?;
            if !inner.is_empty() {
                pass = self.replaced(&pass, inner, &products.slice_batch(upper.len()..products.batch())?)?;
            }
            span *= 2;
        }
        self.cleaned_flags(self.flags(carry)?)
    }

    /// Whether whole numbers carry, from the flags of their digits, of which there are a power of
    /// two.
    pub(super) fn folded(&self, carry: Ciphertext<B>, pass: Ciphertext<B>) -> Result<Ciphertext<B>> {
        let (mut carry, mut pass) = (carry, pass);
        while carry.batch() > 1 {
            let half = carry.batch() / 2;
            let (low, high) = halves(carry.batch());
            let outer = pass.gather_batch(&[&high[..], &high].concat())?;
            let inner = self.joined(&[&carry.gather_batch(&low)?, &pass.gather_batch(&low)?])?;
            let products = self.flag_products(&outer, &inner)?;
            let sums = self.ev().add(&carry.gather_batch(&high)?, &products.slice_batch(0..half)?)?;
            (carry, pass) = (self.flags(sums)?, products.slice_batch(half..2 * half)?);
        }
        self.cleaned_flags(carry)
    }

    /// The product of all flags of a batch, whose size is a power of two.
    pub(super) fn all(&self, mut flags: Ciphertext<B>) -> Result<Ciphertext<B>> {
        while flags.batch() > 1 {
            let (low, high) = halves(flags.batch());
            flags = self.flag_products(&flags.gather_batch(&high)?, &flags.gather_batch(&low)?)?;
        }
        self.cleaned_flags(flags)
    }

    /// Products of zeros and ones.
    fn flag_products(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        self.flags(self.ev().mul(a, b, self.program)?)
    }

    /// A batch in which some are others.
    fn replaced(&self, all: &Ciphertext<B>, at: &[usize], by: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let mut order: Vec<usize> = (0..all.batch()).collect();
        at.iter().enumerate().for_each(|(k, &i)| order[i] = all.batch() + k);
        self.joined(&[all, by])?.gather_batch(&order)
    }
}

/// The even and the odd places of a batch.
pub(super) fn halves(count: usize) -> (Vec<usize>, Vec<usize>) {
    ((0..count).step_by(2).collect(), (1..count).step_by(2).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step joins neighbouring runs of digits, and the last ones reach down to digit 0.
    #[test]
    fn steps_reach_all_digits() {
        for count in [1usize, 2, 3, 7, 8, 15, 33] {
            let mut least: Vec<usize> = (0..count).collect();
            let mut span = 1;
            while span < count {
                let (upper, lower) = step(count, span);
                for (i, j) in upper.into_iter().zip(lower) {
                    assert_eq!(least[i], j + 1, "{count}, {span}");
                    least[i] = least[j];
                }
                span *= 2;
            }
            assert!(least.iter().all(|&least| least == 0), "{count}");
        }
    }
}
