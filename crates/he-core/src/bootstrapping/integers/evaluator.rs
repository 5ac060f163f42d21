//! Operations on integers.

use super::super::lookup::LookupTables;
use super::super::{BootstrapKeys, Bootstrapper};
use super::carries::CarryTables;
use super::width::RADIX;
use super::{SlotFlags, SlotIntegers, Width};
use crate::backend::{Cpu, RingOps};
use crate::ckks::{Ciphertext, Complex64};
use crate::error::{Error, Result};
use crate::rlwe::EvaluationKeys;

/// Computes on integers of one width; knows no secret.
///
/// Operands are on any level from [`input_level`](super::super::BootstrapParams::input_level) on,
/// and `select` needs one level above level 0. Digits have the bootstrapper's
/// [`slots`](super::super::BootstrapParams::slots). Time does not depend on values.
///
/// Errors of all operations: [`Error::Argument`] for integers of another width;
/// [`Error::LookupFailure`] if a digit would be wrong with a probability above 2^-40 for a
/// ciphertext; missing levels and keys; mismatch of parameters, ring or key sets; device errors.
#[derive(Debug)]
pub struct IntegerEvaluator<'a, B: RingOps = Cpu> {
    bootstrapper: &'a Bootstrapper<B>,
    keys: &'a BootstrapKeys<B>,
    program: &'a EvaluationKeys<B>,
    tables: CarryTables,
    width: Width,
}

impl<'a, B: RingOps> IntegerEvaluator<'a, B> {
    /// Prepares the tables. Evaluation keys are those of
    /// [`LookupTables::requirements`].
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters under which tables are not looked up.
    pub fn new(
        bootstrapper: &'a Bootstrapper<B>,
        keys: &'a BootstrapKeys<B>,
        program: &'a EvaluationKeys<B>,
        width: Width,
    ) -> Result<Self> {
        let tables = CarryTables::new(bootstrapper.params(), width)?;
        Ok(Self { bootstrapper, keys, program, tables, width })
    }

    /// a + b, wrapping. Two look-ups and a product.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn add(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        let sums = self.bootstrapper.evaluator().add(&a.digits, &b.digits)?;
        self.carried(&sums, &self.tables.sum, 1)
    }

    /// a - b, wrapping. Two look-ups and a product.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn sub(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.carried(&self.differences(a, b)?, &self.tables.difference, -1)
    }

    /// Whether a < b. Two look-ups.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn lt(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        self.compared(a, b, &self.tables.less)
    }

    /// Whether a = b. Two look-ups.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn eq(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        self.compared(a, b, &self.tables.equal)
    }

    /// a where the condition holds, otherwise b: one level below the lowest operand.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn select(
        &self,
        condition: &SlotFlags<B>,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
    ) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        let ev = self.bootstrapper.evaluator();
        let difference = ev.sub(&a.digits, &b.digits)?;
        let part = ev.mul(&condition.0, &difference, self.program)?;
        SlotIntegers::from_digits(ev.add(&b.digits, &part)?, self.width)
    }

    /// The lesser of a and b.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn min(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.select(&self.lt(a, b)?, a, b)
    }

    /// The greater of a and b.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn max(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.select(&self.lt(a, b)?, b, a)
    }

    fn check(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<()> {
        match [a, b].into_iter().find(|integers| integers.width() != self.width) {
            None => Ok(()),
            Some(other) => {
                let (found, bits) = (format!("{} bits", other.width().bits()), self.width.bits());
                Err(Error::domain("integers", found, format!("the evaluator is for {bits} bits")))
            }
        }
    }

    fn differences(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<Ciphertext<B>> {
        self.check(a, b)?;
        self.bootstrapper.evaluator().sub(&a.digits, &b.digits)
    }

    /// Digits with their carries: the digit plus `sign` times a carry, which wraps around where the
    /// state is one.
    fn carried(&self, sums: &Ciphertext<B>, tables: &LookupTables, sign: i64) -> Result<SlotIntegers<B>> {
        let ev = self.bootstrapper.evaluator();
        let found = self.pairs(sums, tables)?;
        let [digits, states, once] = found.as_slice() else { return Err(unexpected(found.len())) };
        let carries = self.pairs(&self.below(states)?, &self.tables.carry)?.remove(0);
        // sign (1 - 16 once).
        let wrapping = ev.mul_integer(once, -sign * RADIX as i64)?;
        let step = ev.add_scalar(&wrapping, Complex64::new(sign as f64, 0.0))?;
        let digits = ev.add(digits, &ev.mul(&carries, &step, self.program)?)?;
        SlotIntegers::from_digits(digits, self.width)
    }

    /// An answer about the states of all digits.
    fn compared(
        &self,
        a: &SlotIntegers<B>,
        b: &SlotIntegers<B>,
        answer: &LookupTables,
    ) -> Result<SlotFlags<B>> {
        let ev = self.bootstrapper.evaluator();
        let states = self.pairs(&self.differences(a, b)?, &self.tables.order)?.remove(0);
        let weighted = |j: usize| ev.mul_integer(&states.slice_batch(j..j + 1)?, 1 << j);
        let sum = (1..self.width.digits()).try_fold(weighted(0)?, |sum, j| ev.add(&sum, &weighted(j)?))?;
        let mut found = self.bootstrapper.look_up(&sum, answer, self.keys, self.program)?;
        Ok(SlotFlags(found.remove(0)))
    }

    /// For each digit, the weighted sum of the states below it, with a threshold of half of 2^d.
    fn below(&self, states: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let (ev, count) = (self.bootstrapper.evaluator(), self.width.digits());
        let state = |j: usize| states.slice_batch(j..j + 1);
        let mut sum = ev.mul_integer(&state(0)?, 0)?;
        let mut sums = vec![sum.duplicate()?];
        for j in 0..count - 1 {
            sum = ev.add(&sum, &ev.mul_integer(&state(j)?, 1 << j)?)?;
            sums.push(ev.mul_integer(&sum, 1 << (count - 2 - j))?);
        }
        Ciphertext::concat(&sums.iter().collect::<Vec<_>>())
    }

    /// Looked up in pairs: numbers of digits are even.
    fn pairs(&self, ct: &Ciphertext<B>, tables: &LookupTables) -> Result<Vec<Ciphertext<B>>> {
        self.bootstrapper.look_up_pairs(ct, tables, self.keys, self.program)
    }
}

fn unexpected(count: usize) -> Error {
    Error::argument("tables", format!("{count} results"))
}
