//! The evaluator, its tables and its keys.

use super::super::{BootstrapKeys, BootstrapParams, Bootstrapper};
use super::carry_tables::CarryTables;
use super::{SlotIntegers, Width};
use crate::backend::{Cpu, RingOps};
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};
use crate::rlwe::{EvaluationKeys, KeyRequirements};

/// Computes on integers of one width; knows no secret.
///
/// Operands are on any level from [`input_level`](super::super::BootstrapParams::input_level) on,
/// and are refreshed where an operation needs more. Digits have the bootstrapper's
/// [`slots`](super::super::BootstrapParams::slots). Time does not depend on encrypted values.
///
/// Errors of all operations: [`Error::Argument`] for integers of another width;
/// [`Error::LookupFailure`] if a digit would be wrong with a probability above 2^-40 for a
/// ciphertext; missing levels and keys; mismatch of parameters, ring or key sets; device errors.
#[derive(Debug)]
pub struct IntegerEvaluator<'a, B: RingOps = Cpu> {
    pub(super) bootstrapper: &'a Bootstrapper<B>,
    pub(super) keys: &'a BootstrapKeys<B>,
    pub(super) program: &'a EvaluationKeys<B>,
    pub(super) tables: CarryTables,
    pub(super) width: Width,
}

impl<'a, B: RingOps> IntegerEvaluator<'a, B> {
    /// Prepares the tables.
    ///
    /// # Errors
    /// [`Error::Argument`] for parameters under which tables are not looked up.
    pub fn new(
        bootstrapper: &'a Bootstrapper<B>,
        keys: &'a BootstrapKeys<B>,
        program: &'a EvaluationKeys<B>,
        width: Width,
    ) -> Result<Self> {
        let tables = CarryTables::new(bootstrapper.params())?;
        Ok(Self { bootstrapper, keys, program, tables, width })
    }

    /// The evaluation keys of all operations but those that move integers between slots, which
    /// state their own ([`sort_requirements`](Self::sort_requirements)).
    pub fn requirements() -> KeyRequirements {
        KeyRequirements::new().relinearisation().conjugation()
    }

    /// The keys of [`sort`](Self::sort) and [`greatest`](Self::greatest): rotations by powers of
    /// two, in both directions, beside [`requirements`](Self::requirements).
    pub fn sort_requirements(params: &BootstrapParams) -> KeyRequirements {
        let strides = (0..params.spec().log_slots).map(|log| 1i64 << log);
        Self::requirements().rotations(strides.flat_map(|stride| [stride, -stride]))
    }

    pub(super) fn check(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<()> {
        match [a, b].into_iter().find(|integers| integers.width() != self.width) {
            None => Ok(()),
            Some(other) => {
                let text = |width: Width| {
                    let sign = if width.is_signed() { "with" } else { "without" };
                    format!("{} bits {sign} sign", width.bits())
                };
                let hint = format!("the evaluator is for {}", text(self.width));
                Err(Error::domain("integers", text(other.width()), hint))
            }
        }
    }

    pub(super) fn integers(&self, digits: Ciphertext<B>) -> Result<SlotIntegers<B>> {
        SlotIntegers::from_digits(digits, self.width)
    }
}
