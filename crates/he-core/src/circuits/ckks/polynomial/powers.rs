//! The powers of an encrypted value, and sums of products with them.

use super::plan::{Part, Plan, TURNED, Value, operands};
use crate::arith::DoubleDouble;
use crate::backend::RingOps;
use crate::circuits::ckks::Refresher;
use crate::ckks::{Ciphertext, Evaluator, FusedSum, Scaled};
use crate::error::{Error, Result};
use crate::ring::{Eval, Poly};
use crate::rlwe::EvaluationKeys;
use num_complex::Complex64;
use std::borrow::Borrow;
use std::collections::BTreeMap;

/// Encrypted powers or Chebyshev polynomials of one value, each at the scale that its factors leave
/// it.
pub(crate) struct Powers<'a, B: RingOps> {
    ev: &'a Evaluator<B>,
    keys: &'a EvaluationKeys<B>,
    powers: BTreeMap<usize, Scaled<B>>,
}

impl<'a, B: RingOps> Powers<'a, B> {
    /// Other polynomials of one value, by their degrees: parts are made of them likewise.
    pub(crate) fn of(
        ev: &'a Evaluator<B>,
        powers: BTreeMap<usize, Scaled<B>>,
        keys: &'a EvaluationKeys<B>,
    ) -> Self {
        Self { ev, keys, powers }
    }

    /// Computes the powers of a plan.
    pub(super) fn new(
        ev: &'a Evaluator<B>,
        x: Ciphertext<B>,
        plan: &Plan,
        chebyshev: bool,
        keys: &'a EvaluationKeys<B>,
    ) -> Result<Self> {
        let mut powers = Self { ev, keys, powers: BTreeMap::from([(1, ev.scaled(x)?)]) };
        for (k, factors) in plan.chain() {
            let power = powers.product(factors, chebyshev)?;
            powers.powers.insert(k, power);
        }
        Ok(powers)
    }

    /// The same powers and those that a plan takes times i, which is `unit` in every slot.
    pub(super) fn with_turned(mut self, plan: &Plan, unit: &Poly<Eval, B>) -> Result<Self> {
        for k in plan.turned() {
            let turned = self.ev.turned(&self.powers[&k], unit)?;
            self.powers.insert(k | TURNED, turned);
        }
        Ok(self)
    }

    /// Computes the powers of a plan, every one of which is left with `depth` levels above the
    /// refresher's reserve: those that have fewer are refreshed, and so are those that a product
    /// would take below it.
    pub(super) fn refreshed(
        ev: &'a Evaluator<B>,
        x: Ciphertext<B>,
        plan: &Plan,
        chebyshev: bool,
        keys: &'a EvaluationKeys<B>,
        (refresher, depth): (&impl Refresher<B>, usize),
    ) -> Result<Self> {
        let refresh = |power: &mut Scaled<B>, levels: usize| {
            if power.level() < refresher.reserve() + levels {
                *power = ev.scaled(refresher.refresh(power.ciphertext())?)?;
            }
            Ok::<_, Error>(())
        };
        let mut powers = Self { ev, keys, powers: BTreeMap::from([(1, ev.scaled(x)?)]) };
        for (k, factors) in plan.chain() {
            for m in operands(factors, chebyshev) {
                powers.powers.get_mut(&m).map_or(Ok(()), |power| refresh(power, 1))?;
            }
            let power = powers.product(factors, chebyshev)?;
            powers.powers.insert(k, power);
        }
        powers.powers.values_mut().try_for_each(|power| refresh(power, depth))?;
        Ok(powers)
    }

    /// x^(m + n), or T_(m + n) = 2 T_m T_n - T_(m - n), which is doubled before the division, so
    /// that the division's rounding is not.
    fn product(&self, (m, n): (usize, usize), chebyshev: bool) -> Result<Scaled<B>> {
        let (a, b) = (&self.powers[&m], &self.powers[&n]);
        let mut sum = FusedSum { products: Vec::new(), factor: 1, terms: Vec::new(), constant: 0.0 };
        if chebyshev {
            sum.factor = 2;
            match m - n {
                0 => sum.constant = -1.0,
                rest => sum.terms.push((&self.powers[&rest], -1.0)),
            }
        }
        self.ev.fused_product([a, b], sum, self.keys)
    }

    /// The value of a polynomial that is not constant, at the scale of its level.
    pub(super) fn whole(&self, Value { lead, rest }: &Value) -> Result<Ciphertext<B>> {
        let &Some((k, factor)) = lead else { return self.value(rest) };
        let power = self.powers[&k].ciphertext();
        if power.scale().to_bits() != self.ev.params().level(power.level())?.scale.to_bits() {
            // A product between two groups of levels left another scale: a constant settles it.
            let mut part = rest.clone();
            part.terms.push((k, factor as f64));
            return self.value(&part);
        }
        let lead = if factor == 1 { power.duplicate()? } else { self.ev.mul_integer(power, factor)? };
        match rest.as_constant() {
            Some(0.0) => Ok(lead),
            Some(constant) => self.ev.add_scalar(&lead, Complex64::new(constant, 0.0)),
            None => self.ev.add(&lead, &self.value(rest)?),
        }
    }

    /// The value of a part that is not constant, at the scale of its level.
    pub(crate) fn value(&self, part: &Part) -> Result<Ciphertext<B>> {
        let level = self.level(part)? - 1;
        Ok(self.value_at(part, level, self.ev.level_scale(level))?.into_ciphertext())
    }

    /// The level on which a part's products and terms are summed, the highest possible.
    fn level(&self, part: &Part) -> Result<usize> {
        let power = |k: &usize| self.powers[k].level();
        let mut level = part.terms.iter().map(|(k, _)| power(k)).min().unwrap_or(usize::MAX);
        for (k, factor) in &part.products {
            level = level.min(power(k)).min(self.level(factor)? - 1);
        }
        match part.products.is_empty() {
            true if level > 0 => Ok(level),
            true => Err(Error::LevelExhausted { needed: 1, left: 0 }),
            false => self.ev.product_level(level),
        }
    }

    /// The value of a part on a level, or one above, at this scale.
    fn value_at(&self, part: &Part, lowest: usize, scale: DoubleDouble) -> Result<Scaled<B>> {
        let (highest, next) = (self.level(part)?, lowest + 1);
        let takes_all = part.products.is_empty() || self.ev.params().takes_products(next);
        let level = if takes_all { highest.min(next) } else { highest };
        let before = scale * self.ev.dropped_below(level);
        let terms = part.terms.iter().map(|(k, c)| (&self.powers[k], *c)).collect();
        let mut factors = Vec::with_capacity(part.products.len());
        for (k, factor) in &part.products {
            let power = self.ev.product_operand(&self.powers[k], level, self.keys)?;
            let own: &Scaled<B> = power.borrow();
            // The power's scale makes up for the scale that this factor lacks.
            let factor = self.value_at(factor, level, before.divide(own.scale()))?;
            factors.push((factor, power));
        }
        let products = factors.iter().map(|(factor, power)| [factor, power.borrow()]).collect();
        let sum = FusedSum { products, factor: 1, terms, constant: part.constant };
        self.ev.fused_sum(&sum, level, scale, self.keys)
    }
}
