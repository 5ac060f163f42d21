//! Circuits on ciphertexts.

use super::levels::Schedule;
use super::prepared::Prepared;
use super::{Circuit, Op, Value};
use he_core::backend::RingOps;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Evaluator, Plaintext};
use he_core::rlwe::EvaluationKeys;
use he_core::{Error, Result};

/// An operation on two ciphertexts.
type Binary<'f, B> = &'f dyn Fn(&Ciphertext<B>, &Ciphertext<B>) -> Result<Ciphertext<B>>;

/// A call for the value of each step, and for that of each refresh (`true`).
pub type Watch<'f, B> = dyn FnMut(Value, bool, &[Ciphertext<B>]) -> Result<()> + 'f;

/// A circuit with all that it is computed with.
pub struct Run<'r, B: RingOps, R> {
    /// The circuit.
    pub circuit: &'r Circuit,
    /// Its levels.
    pub schedule: &'r Schedule,
    /// Maps and numbers that are encoded already.
    pub prepared: &'r Prepared<B>,
    /// The evaluator.
    pub ev: &'r Evaluator<B>,
    /// The keys.
    pub keys: &'r EvaluationKeys<B>,
    /// The refreshes.
    pub refresher: &'r R,
    /// The tokens of the sentence.
    pub mask: &'r [bool],
}

impl<B: RingOps, R: Refresher<B>> Run<'_, B, R> {
    /// The output, for a ciphertext of the input: a batch of the vectors of one sentence, which
    /// repeat in all slots. `made` sees the value of each step, and again after each refresh
    /// (`true`).
    ///
    /// # Errors
    /// The errors of the operations.
    pub fn output(&self, input: &Ciphertext<B>, made: &mut Watch<'_, B>) -> Result<Ciphertext<B>> {
        let last = self.circuit.last_uses();
        let mut values: Vec<Vec<Ciphertext<B>>> = Vec::with_capacity(last.len());
        for (id, step) in self.circuit.steps.iter().enumerate() {
            let (Some(level), Some(low)) = (self.schedule.levels[id], self.schedule.made[id]) else {
                values.push(Vec::new());
                continue;
            };
            let mut value = self.value(id, low, input, &values)?;
            made(id, false, &value)?;
            if self.schedule.refreshed[id] {
                let fresh = value.iter().map(|ct| self.lowered(&self.refreshed(ct)?, level));
                value = fresh.collect::<Result<_>>()?;
                made(id, true, &value)?;
            }
            values.push(value);
            for operand in step.op.operands().into_iter().filter(|&operand| last[operand] == Some(id)) {
                values[operand] = Vec::new();
            }
        }
        let output = values.pop().and_then(|mut value| value.pop());
        output.ok_or_else(|| Error::argument("circuit", "no output".to_owned()))
    }

    /// A refresh of real numbers.
    fn refreshed(&self, ct: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        match ct.batch() % 2 {
            0 => self.refresher.refresh_pairs(ct),
            _ => self.refresher.refresh_real(ct),
        }
    }

    fn lowered(&self, ct: &Ciphertext<B>, level: usize) -> Result<Ciphertext<B>> {
        self.ev.mod_switch_to(ct, level)
    }

    /// The value of a step on a level.
    fn value(
        &self,
        id: Value,
        level: usize,
        input: &Ciphertext<B>,
        values: &[Vec<Ciphertext<B>>],
    ) -> Result<Vec<Ciphertext<B>>> {
        let op = &self.circuit.steps[id].op;
        let above = level + op.depth();
        let of = |x: Value| -> Result<Vec<Ciphertext<B>>> {
            values[x].iter().map(|ct| self.lowered(ct, above)).collect()
        };
        let each = |x: Value,
                    f: &dyn Fn(&Ciphertext<B>) -> Result<Ciphertext<B>>|
         -> Result<Vec<Ciphertext<B>>> { of(x)?.iter().map(f).collect() };
        let both = |a: Value, b: Value, f: Binary<'_, B>| {
            let (a, b) = (of(a)?, of(b)?);
            let pairs = a.iter().enumerate().map(|(at, a)| (a, &b[if b.len() == 1 { 0 } else { at }]));
            pairs.map(|(a, b)| f(a, b)).collect::<Result<Vec<_>>>()
        };
        let (ev, keys) = (self.ev, self.keys);
        match op {
            Op::Input => Ok(vec![self.lowered(input, level)?]),
            Op::Map(x, map) => match self.prepared.map(id) {
                Some(map) => map.apply(ev, &of(*x)?, keys),
                None => map.transform(&self.circuit.layout)?.prepare(ev, above)?.apply(ev, &of(*x)?, keys),
            },
            Op::Rotated(x, steps) => match (&of(*x)?[..], &steps[..]) {
                ([ct], &[step]) => Ok(vec![ev.rotate(ct, step, keys)?]),
                ([ct], steps) => ev.rotate_many(ct, steps, keys),
                _ => Err(Error::argument("circuit", "rotations of several ciphertexts".to_owned())),
            },
            &Op::Blocks(x, by) => each(x, &|ct| turned(ct, by)),
            Op::Joined(parts) => {
                let parts = parts.iter().map(|&part| of(part)).collect::<Result<Vec<_>>>()?;
                Ok(parts.into_iter().flatten().collect())
            }
            Op::Picked(x, range) => {
                values[*x][range.clone()].iter().map(|ct| self.lowered(ct, above)).collect()
            }
            &Op::Sum(a, b) => both(a, b, &|a, b| ev.add(a, b)),
            &Op::Difference(a, b) => both(a, b, &|a, b| ev.sub(a, b)),
            &Op::Total(x) => {
                let mut parts = of(x)?.into_iter();
                let first = parts.next().ok_or_else(|| Error::argument("circuit", "no value".to_owned()))?;
                let sum = |mut sum: Ciphertext<B>, part: Ciphertext<B>| {
                    ev.add_assign(&mut sum, &part)?;
                    Ok::<_, Error>(sum)
                };
                Ok(vec![parts.try_fold(first, sum)?])
            }
            &Op::Product(a, b) => both(a, b, &|a, b| ev.mul(a, b, keys)),
            &Op::Contracted(a, b) => {
                let (a, b) = (of(a)?, of(b)?);
                let pairs: Vec<[&Ciphertext<B>; 2]> = a.iter().zip(&b).map(|(a, b)| [a, b]).collect();
                Ok(vec![ev.sum_of_products(&pairs, keys)?])
            }
            &Op::Weighted(x, _) => self.with_numbers(id, level, &of(x)?, |ct, plain| ev.mul_plain(ct, plain)),
            &Op::Offset(x, _) => self.with_numbers(id, level, &of(x)?, |ct, plain| ev.add_plain(ct, plain)),
            &Op::From(x, number) => each(x, &|ct| ev.add_scalar(&ev.neg(ct)?, number.into())),
            &Op::Plus(x, number) => each(x, &|ct| ev.add_scalar(ct, number.into())),
            &Op::Scaled(x, factor) => each(x, &|ct| ev.mul_scalar(ct, factor)),
            &Op::Times(x, factor) => each(x, &|ct| ev.mul_integer(ct, factor)),
            Op::Polynomial(x, polynomials) => {
                of(*x)?.iter().zip(polynomials).map(|(ct, p)| p.apply(ev, ct, keys)).collect()
            }
        }
    }

    /// Ciphertexts combined with the numbers of a step.
    fn with_numbers(
        &self,
        id: Value,
        level: usize,
        cts: &[Ciphertext<B>],
        f: impl Fn(&Ciphertext<B>, &Plaintext<B>) -> Result<Ciphertext<B>>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let all = |plain: &[Plaintext<B>]| cts.iter().zip(plain).map(|(ct, plain)| f(ct, plain)).collect();
        match self.prepared.plain(id) {
            Some(plain) => all(plain),
            None => all(&self.circuit.encoded(id, level, self.mask, self.ev)?),
        }
    }
}

/// The entries of a batch in another order: entry i is entry i + by, cyclically.
fn turned<B: RingOps>(ct: &Ciphertext<B>, by: usize) -> Result<Ciphertext<B>> {
    let (first, rest) = (ct.slice_batch(0..by)?, ct.slice_batch(by..ct.batch())?);
    Ciphertext::concat(&[&rest, &first])
}
