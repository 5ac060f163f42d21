//! The computation on one vector of each file, on any back end.

use super::job::{Job, MOST_ENTRIES, Operator, Shift};
use crate::data::integers::Integers;
use crate::note::DigitsNote;
use he_any::layout::Op;
use he_any::tfhe::Comparison;
use he_core::Result;
use he_core::backend::RingOps;
use he_core::bootstrapping::integers::{ByteTable, IntegerEvaluator, SlotFlags, SlotIntegers, Width};
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::ckks::Ciphertext;
use he_core::rlwe::EvaluationKeys;
use num_bigint::BigInt;

/// The circuit with its keys.
pub struct Circuit<'a, B: RingOps> {
    /// The circuit.
    pub bootstrapper: &'a Bootstrapper<B>,
    /// Its keys.
    pub keys: &'a BootstrapKeys<B>,
    /// The evaluation keys.
    pub program: &'a EvaluationKeys<B>,
}

/// A vector of integers, or of conditions.
enum Value<B: RingOps> {
    Integers(SlotIntegers<B>),
    Conditions(SlotFlags<B>),
}

/// A public table of results, and what it takes to look numbers up in it.
struct Lookup<'a, B: RingOps> {
    table: ByteTable,
    bytes: IntegerEvaluator<'a, B>,
    results: IntegerEvaluator<'a, B>,
}

/// A job with its tables, for all of its vectors.
pub struct Prepared<'a, B: RingOps> {
    job: &'a Job,
    /// The integers of the operands; none for conditions alone.
    integers: Option<Integers>,
    ev: IntegerEvaluator<'a, B>,
    lookup: Option<Lookup<'a, B>>,
}

impl<'a, B: RingOps> Circuit<'a, B> {
    fn evaluator(&self, width: Width) -> Result<IntegerEvaluator<'a, B>> {
        IntegerEvaluator::new(self.bootstrapper, self.keys, self.program, width)
    }

    /// Prepares a job on tables of this description, behind conditions where it chooses by some;
    /// its results have the other ([`Job::describe`]).
    ///
    /// # Errors
    /// The parameters do not compute on integers.
    pub fn prepare(
        &self,
        job: &'a Job,
        operands: &DigitsNote,
        results: &DigitsNote,
    ) -> Result<Prepared<'a, B>> {
        let ev = self.evaluator(operands.machine().unwrap_or(Width::U8))?;
        let integers = (!operands.is_conditions()).then(|| operands.integers());
        let lookup = match (job, results.machine()) {
            (Job::Lookup(entries), Some(width)) => {
                let table = words(&entries.values, width, operands.machine() == Some(Width::I8));
                let table = ByteTable::new(self.bootstrapper.params(), &table, width)?;
                Some(Lookup { table, bytes: self.evaluator(Width::U8)?, results: self.evaluator(width)? })
            }
            _ => None,
        };
        Ok(Prepared { job, integers, ev, lookup })
    }
}

/// The 256 entries as words, 0 beyond the last, and for numbers of 8 bits with a sign below 0.
fn words(entries: &[BigInt], width: Width, is_signed: bool) -> Vec<u64> {
    let integers = Integers { bits: width.bits() as u32, signed: width.is_signed() };
    let most = if is_signed { MOST_ENTRIES / 2 } else { MOST_ENTRIES };
    let mut words: Vec<u64> = entries.iter().take(most).map(|entry| word(entry, integers)).collect();
    words.resize(MOST_ENTRIES, 0);
    words
}

/// The bits of a number that is one of the integers.
fn word(number: &BigInt, integers: Integers) -> u64 {
    integers.bits_of(number).iter_u64_digits().next().unwrap_or(0)
}

impl<B: RingOps> Prepared<'_, B> {
    /// The result for a vector of each file, the first of which holds so many rows. It has little
    /// noise, as whoever reads it expects.
    ///
    /// # Errors
    /// A look-up would fail too often; levels or keys are missing; the device fails.
    pub fn of(&self, operands: Vec<Ciphertext<B>>, rows: usize) -> Result<Ciphertext<B>> {
        let value = self.value(operands, rows)?;
        match value {
            Value::Conditions(flags) => self.ev.settled_flags(flags)?.ciphertext().duplicate(),
            Value::Integers(integers) => {
                let ev = self.lookup.as_ref().map_or(&self.ev, |lookup| &lookup.results);
                ev.settled(integers)?.digits().duplicate()
            }
        }
    }

    fn value(&self, operands: Vec<Ciphertext<B>>, rows: usize) -> Result<Value<B>> {
        let ev = &self.ev;
        let mut operands = operands.into_iter();
        let mut next = || operands.next().ok_or_else(missing);
        if *self.job == Job::Select {
            let flags = ev.received_flags(next()?)?;
            let [yes, no] = [ev.received(next()?)?, ev.received(next()?)?];
            return ev.select(&flags, &yes, &no).map(Value::Integers);
        }
        let Some(integers) = self.integers else {
            let first = ev.received_flags(next()?)?;
            return self.of_conditions(&first, next).map(Value::Conditions);
        };
        let first = ev.received(next()?)?;
        match self.job {
            Job::Pair(operator, None) => self.pair(*operator, &first, &ev.received(next()?)?),
            Job::Pair(operator, Some(number)) => self.with_number(*operator, &first, word(number, integers)),
            job => self.of_one(job, &first, integers, rows).map(Value::Integers),
        }
    }

    /// Conditions of conditions.
    fn of_conditions(
        &self,
        first: &SlotFlags<B>,
        mut next: impl FnMut() -> Result<Ciphertext<B>>,
    ) -> Result<SlotFlags<B>> {
        let ev = &self.ev;
        let mut second = || ev.received_flags(next()?);
        match self.job {
            Job::Pair(Operator::And, _) => ev.and_flags(first, &second()?),
            Job::Pair(Operator::Or, _) => ev.or_flags(first, &second()?),
            Job::Pair(Operator::Xor, _) => ev.xor_flags(first, &second()?),
            _ => ev.not_flags(first),
        }
    }

    /// The operation on integers and a plain number.
    fn with_number(&self, operator: Operator, a: &SlotIntegers<B>, number: u64) -> Result<Value<B>> {
        let ev = &self.ev;
        Ok(Value::Integers(match operator {
            Operator::Of(Op::Mul) => ev.mul_plain(a, number)?,
            Operator::And => ev.and_plain(a, number)?,
            Operator::Or => ev.or_plain(a, number)?,
            Operator::Xor => ev.xor_plain(a, number)?,
            operator => return self.pair(operator, a, &ev.constant(a, number)?),
        }))
    }

    fn pair(&self, operator: Operator, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<Value<B>> {
        let ev = &self.ev;
        Ok(Value::Integers(match operator {
            Operator::Compare(how) => return self.compare(how, a, b).map(Value::Conditions),
            Operator::Of(Op::Add) => ev.add(a, b)?,
            Operator::Of(Op::Sub) => ev.sub(a, b)?,
            Operator::Of(Op::Mul) => ev.mul(a, b)?,
            Operator::Min => ev.min(a, b)?,
            Operator::Max => ev.max(a, b)?,
            Operator::And => ev.and(a, b)?,
            Operator::Or => ev.or(a, b)?,
            Operator::Xor => ev.xor(a, b)?,
        }))
    }

    fn compare(&self, how: Comparison, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotFlags<B>> {
        let ev = &self.ev;
        match how {
            Comparison::Lt => ev.lt(a, b),
            Comparison::Gt => ev.lt(b, a),
            Comparison::Ge => ev.not_flags(&ev.lt(a, b)?),
            Comparison::Le => ev.not_flags(&ev.lt(b, a)?),
            Comparison::Eq => ev.eq(a, b),
            Comparison::Ne => ev.not_flags(&ev.eq(a, b)?),
        }
    }

    fn of_one(
        &self,
        job: &Job,
        a: &SlotIntegers<B>,
        integers: Integers,
        rows: usize,
    ) -> Result<SlotIntegers<B>> {
        let ev = &self.ev;
        let (mask, sign) = (a.width().mask(), 1 << (integers.bits - 1));
        match job {
            Job::Not => ev.not(a),
            Job::Neg => ev.neg(a),
            Job::Abs => ev.abs(a),
            Job::Quotient(by) => Ok(ev.div_rem_plain(a, *by)?.0),
            Job::Remainder(by) => Ok(ev.div_rem_plain(a, *by)?.1),
            Job::Shift(shift, by) => {
                let by = *by as usize;
                match shift {
                    Shift::Left => ev.shl(a, by),
                    Shift::Right => ev.shr(a, by),
                    Shift::RotateLeft => ev.rotate_left(a, by),
                    Shift::RotateRight => ev.rotate_right(a, by),
                }
            }
            Job::Sort => ev.sort(&ev.filled(a, rows, if integers.signed { mask >> 1 } else { mask })?),
            Job::Top(count) => {
                ev.greatest(&ev.filled(a, rows, if integers.signed { sign } else { 0 })?, *count as usize)
            }
            Job::Lookup(_) => self.entries(a),
            Job::Pair(..) | Job::Select => Err(missing()),
        }
    }

    /// The entries at numbers: those of their lowest 8 bits, where all others are zero.
    fn entries(&self, a: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        let Lookup { table, bytes, results } = self.lookup.as_ref().ok_or_else(missing)?;
        let digits = Width::U8.digits();
        let byte = |at: usize| bytes.received(a.digits().slice_batch(at * digits..(at + 1) * digits)?);
        let found = bytes.entries(&byte(0)?, table)?;
        let mut beyond = None;
        for at in 1..a.digits().batch() / digits {
            let upper = byte(at)?;
            let is_zero = bytes.eq(&upper, &bytes.constant(&upper, 0)?)?;
            beyond = Some(match beyond {
                None => is_zero,
                Some(all) => bytes.and_flags(&all, &is_zero)?,
            });
        }
        match beyond {
            None => Ok(found),
            Some(all) => results.select(&all, &found, &results.constant(&found, 0)?),
        }
    }
}

/// There are fewer files than the job takes, or it is not for such numbers.
fn missing() -> he_core::Error {
    he_core::Error::domain("files", "one is missing", "give all files of the operation")
}
