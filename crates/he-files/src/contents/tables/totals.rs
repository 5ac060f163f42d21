//! Sums over the rows of columns, and inner products of two.

use crate::contents::packing::{Weights, weighted};
use crate::error::{ContentError, Result};
use he::Device;
use he_any::layout::check_magnitude;
use he_any::rlwe::capacity;
use he_core::circuits::ckks::{dot, sum};
use he_core::ckks::{Ciphertext, CkksParams, Evaluator};
use he_core::rlwe::EvaluationKeys;

/// The terms that the public offsets a of x and b of y add to an inner product:
/// sum (x + a) (y + b) is the sum of sum x y, b sum x, a sum y and rows a b.
pub(super) struct Shifts {
    /// b, in units of y.
    left: Weights,
    /// a, in units of x.
    right: Weights,
}

impl Shifts {
    /// `None` if there are no offsets.
    pub(super) fn new(left: Weights, right: Weights) -> Option<Self> {
        let none = |weights: &Weights| match weights {
            Weights::All(weight) => *weight == 0.0,
            Weights::Blocks { of, .. } => of.iter().all(|&weight| weight == 0.0),
        };
        (!none(&left) || !none(&right)).then_some(Self { left, right })
    }
}

/// Sums over the parts of a column, or of two; of several columns at once where they share vectors
/// in blocks.
pub(super) struct Totals {
    block: Option<usize>,
    pub(super) products: Total,
    pub(super) left: Total,
    right: Total,
}

impl Totals {
    pub(super) fn new(block: Option<usize>) -> Self {
        Self { block, products: Total(None), left: Total(None), right: Total(None) }
    }

    fn sum(
        &self,
        ev: &Evaluator<Device>,
        ct: &Ciphertext<Device>,
        keys: &EvaluationKeys<Device>,
    ) -> Result<Ciphertext<Device>> {
        Ok(match self.block {
            None => sum(ev, ct, keys)?,
            Some(block) => ev.inner_sum(ct, block, keys)?,
        })
    }

    /// Adds the sum of a part.
    pub(super) fn add_sum(
        &mut self,
        ev: &Evaluator<Device>,
        ct: &Ciphertext<Device>,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        let sum = self.sum(ev, ct, keys)?;
        self.left.add(ev, sum)
    }

    /// Adds the parts of an inner product, and of the sums that offsets take.
    pub(super) fn add_dot(
        &mut self,
        ev: &Evaluator<Device>,
        x: &Ciphertext<Device>,
        y: &Ciphertext<Device>,
        shifted: bool,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        let products = match self.block {
            None => dot(ev, x, y, keys)?,
            Some(_) => self.sum(ev, &ev.mul(x, y, keys)?, keys)?,
        };
        self.products.add(ev, products)?;
        if shifted {
            self.add_sum(ev, x, keys)?;
            let sum = self.sum(ev, y, keys)?;
            self.right.add(ev, sum)?;
        }
        Ok(())
    }

    /// The inner product, less what is public of it.
    pub(super) fn dot(self, ev: &Evaluator<Device>, shifts: Option<&Shifts>) -> Result<Ciphertext<Device>> {
        let products = self.products.finish()?;
        let Some(Shifts { left, right }) = shifts else { return Ok(products) };
        let terms = [(&self.left.finish()?, left), (&self.right.finish()?, right)];
        Ok(ev.add(&products, &weighted(ev, &terms)?)?)
    }
}

/// The sum of the parts of a column.
pub(super) struct Total(Option<Ciphertext<Device>>);

impl Total {
    fn add(&mut self, ev: &Evaluator<Device>, part: Ciphertext<Device>) -> Result<()> {
        self.0 = Some(match self.0.take() {
            Some(sum) => ev.add(&sum, &part)?,
            None => part,
        });
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Ciphertext<Device>> {
        Ok(self.0.ok_or(ContentError::NoRows)?)
    }
}

/// Checks that a sum over rows of this magnitude fits the modulus of its level: beyond that,
/// results are meaningless without an error. Nothing is checked without a level, which the
/// operation itself reports.
pub(super) fn check_sums(params: &CkksParams, rows: u64, bound: u64, level: Option<usize>) -> Result<()> {
    let Some(level) = level else { return Ok(()) };
    let limit = capacity(params, level, params.level(level)?.scale);
    check_magnitude(bound as f64, limit).map_err(|_| ContentError::Sums { rows, limit }.into())
}
