//! Gates as polynomials, evaluated many at a time.

use super::super::{BitOps, Gate, PlacedGate, Signal};
use super::Arithmetic;
use crate::error::{Error, Result};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// A vector of slots that hold 0 or 1, either public and the same in all slots, or an entry of a
/// batch.
#[derive(Debug)]
pub enum Bit<T> {
    /// A public bit.
    Constant(bool),
    /// Entry `index` of a batch.
    Vector {
        /// The batch.
        batch: Arc<T>,
        /// The index of the vector in the batch.
        index: usize,
    },
}

impl<T> Clone for Bit<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Constant(bit) => Self::Constant(*bit),
            Self::Vector { batch, index } => Self::Vector { batch: Arc::clone(batch), index: *index },
        }
    }
}

/// An entry of a batch.
pub(super) struct Entry<T> {
    pub batch: Arc<T>,
    pub index: usize,
}

impl<T> Clone for Entry<T> {
    fn clone(&self) -> Self {
        Self { batch: Arc::clone(&self.batch), index: self.index }
    }
}

impl<T> From<Entry<T>> for Bit<T> {
    fn from(Entry { batch, index }: Entry<T>) -> Self {
        Self::Vector { batch, index }
    }
}

/// An operation on entries; equal operations on operands of equal kinds are batched.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Operation {
    /// constant + the sum of coefficient x operand, with coefficients that are not zero.
    Linear {
        constant: i64,
        coefficients: Vec<i64>,
    },
    Product,
    Rotation(i64),
}

struct Job<T> {
    operation: Operation,
    operands: Vec<Entry<T>>,
}

/// The argument of an operation: a batch as it is, or a copy of entries.
enum Operand<'a, T> {
    Whole(&'a T),
    Copy(T),
}

impl<T> Operand<'_, T> {
    fn get(&self) -> &T {
        match self {
            Self::Whole(batch) => batch,
            Self::Copy(batch) => batch,
        }
    }
}

/// c0 + c1 a + c2 b + c3 ab.
type Bilinear = [i64; 4];

/// The form with these values at (a, b), in bit 2a + b.
fn bilinear(table: u8) -> Bilinear {
    let at = |i: u8| i64::from(table >> i & 1);
    [at(0), at(2) - at(0), at(1) - at(0), at(3) - at(2) - at(1) + at(0)]
}

/// A function of distinct bits that depends on all of them: the bits' numbers, and bit sum
/// 2^(k - 1 - i) x_i of the table.
struct Function {
    table: u8,
    bits: Vec<usize>,
}

/// A function of three bits as f0(a, b) + z (constant + multiple k(a, b)); where k has no constant
/// and coprime coefficients.
#[derive(Clone, Copy)]
struct Split {
    a: usize,
    b: usize,
    z: usize,
    low: Bilinear,
    constant: i64,
    multiple: i64,
    k: [i64; 3],
}

impl Split {
    /// The decomposition by the bit at `place`.
    fn new(function: &Function, place: usize) -> Self {
        let others: Vec<usize> = (0..3).filter(|&i| i != place).collect();
        let half = |value: u8| {
            (0..4u8).fold(0, |half, ab| {
                let index = (ab >> 1) << (2 - others[0]) | (ab & 1) << (2 - others[1]) | value << (2 - place);
                half | (function.table >> index & 1) << ab
            })
        };
        let (low, high) = (bilinear(half(0)), bilinear(half(1)));
        let step: [i64; 4] = std::array::from_fn(|i| high[i] - low[i]);
        // Coefficients are at most 4 in magnitude.
        let divides = |d: i64| step[1..].iter().all(|c| c % d == 0);
        let lead = step[1..].iter().find(|&&c| c != 0).copied().unwrap_or(0);
        let multiple =
            if lead == 0 { 0 } else { (1..=4).rev().find(|&d| divides(d)).unwrap_or(1) * lead.signum() };
        let k = std::array::from_fn(|i| if multiple == 0 { 0 } else { step[i + 1] / multiple });
        let [a, b] = [others[0], others[1]].map(|i| function.bits[i]);
        Self { a, b, z: function.bits[place], low, constant: step[0], multiple, k }
    }

    fn needs_pair(&self) -> bool {
        self.low[3] != 0 || self.k[2] != 0
    }

    /// (depth, products) for bits of these depths.
    fn cost(&self, depth: impl Fn(usize) -> usize) -> (usize, usize) {
        let pair = depth(self.a).max(depth(self.b)) + 1;
        let mut deepest = depth(self.z);
        for (used, at) in [(self.k[0], depth(self.a)), (self.k[1], depth(self.b)), (self.k[2], pair)] {
            if used != 0 {
                deepest = deepest.max(at);
            }
        }
        let product = if self.multiple == 0 { 0 } else { deepest + 1 };
        let pair = if self.needs_pair() { pair } else { 0 };
        (product.max(pair), usize::from(self.needs_pair()) + usize::from(self.multiple != 0))
    }
}

/// A term of a linear combination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Term {
    Bit(usize),
    /// a b.
    Pair(usize, usize),
    /// z k(a, b).
    Scaled {
        z: usize,
        a: usize,
        b: usize,
        k: [i64; 3],
    },
}

/// constant + sum of coefficient x term.
struct Combination {
    constant: i64,
    terms: Vec<(i64, Term)>,
}

impl Combination {
    fn new(constant: i64, terms: impl IntoIterator<Item = (i64, Term)>) -> Self {
        Self { constant, terms: terms.into_iter().filter(|term| term.0 != 0).collect() }
    }
}

/// Bits of one level: each has a number, in the order of appearance, so that the operations do not
/// depend on addresses.
struct Numbered<'a, A: Arithmetic> {
    arithmetic: &'a A,
    entries: Vec<Entry<A::Batch>>,
    numbers: HashMap<(usize, usize), usize>,
}

impl<'a, A: Arithmetic> Numbered<'a, A> {
    fn new(arithmetic: &'a A) -> Self {
        Self { arithmetic, entries: Vec::new(), numbers: HashMap::new() }
    }

    fn number(&mut self, batch: &Arc<A::Batch>, index: usize) -> usize {
        let entries = &mut self.entries;
        *self.numbers.entry((Arc::as_ptr(batch).addr(), index)).or_insert_with(|| {
            entries.push(Entry { batch: Arc::clone(batch), index });
            entries.len() - 1
        })
    }

    fn depth(&self, bit: usize) -> usize {
        self.arithmetic.depth(self.arithmetic.kind(&self.entries[bit].batch))
    }

    /// A table of three inputs, bit 4x + 2y + z, reduced by what its inputs are.
    fn reduce(&mut self, table: u8, inputs: &[Bit<A::Batch>; 3]) -> Function {
        let mut bits: Vec<usize> = Vec::new();
        let inputs = inputs.each_ref().map(|input| match input {
            Bit::Constant(bit) => Err(*bit),
            Bit::Vector { batch, index } => Ok(self.number(batch, *index)),
        });
        for number in inputs.into_iter().flatten() {
            if !bits.contains(&number) {
                bits.push(number);
            }
        }
        let value = |bits: &[usize], assignment: u8| {
            let at = |input: Result<usize, bool>| match input {
                Err(bit) => u8::from(bit),
                Ok(number) => bits
                    .iter()
                    .position(|&bit| bit == number)
                    .map_or(0, |place| assignment >> (bits.len() - 1 - place) & 1),
            };
            let [x, y, z] = inputs.map(at);
            table >> (4 * x + 2 * y + z) & 1
        };
        // Inputs on which the function does not depend are omitted: any value will do for them.
        let mut place = 0;
        while place < bits.len() {
            let flip = 1u8 << (bits.len() - 1 - place);
            if (0..1u8 << bits.len()).any(|at| value(&bits, at) != value(&bits, at ^ flip)) {
                place += 1;
            } else {
                bits.remove(place);
            }
        }
        // The deepest input comes last, so that it is multiplied by the combination of the others.
        bits.sort_by_key(|&bit| (self.depth(bit), bit));
        let table = (0..1u8 << bits.len()).fold(0, |all, at| all | value(&bits, at) << at);
        Function { table, bits }
    }

    /// Its polynomial.
    fn combine(&self, function: &Function) -> Combination {
        let quadratic = |[c0, c1, c2, c3]: Bilinear, a: usize, b: usize| {
            (c0, [(c1, Term::Bit(a)), (c2, Term::Bit(b)), (c3, Term::Pair(a, b))])
        };
        match *function.bits.as_slice() {
            [] => Combination::new(i64::from(function.table & 1), []),
            [a] => {
                let c0 = i64::from(function.table & 1);
                Combination::new(c0, [(1 - 2 * c0, Term::Bit(a))])
            }
            [a, b] => {
                let (constant, terms) = quadratic(bilinear(function.table), a, b);
                Combination::new(constant, terms)
            }
            _ => {
                // The last place is tried first, since at equal cost it is the deepest bit.
                let splits = [2, 1, 0].map(|place| Split::new(function, place));
                let split = splits.into_iter().min_by_key(|split| split.cost(|bit| self.depth(bit)));
                let Some(Split { a, b, z, low, constant, multiple, k }) = split else {
                    return Combination::new(0, []);
                };
                let (c0, [x, y, pair]) = quadratic(low, a, b);
                let scaled = (multiple, Term::Scaled { z, a, b, k });
                Combination::new(c0, [x, y, (constant, Term::Bit(z)), pair, scaled])
            }
        }
    }
}

/// Gates on vectors of slots, as a provider of bits. A bit is a vector, whose slots are independent
/// instances of the circuit.
///
/// The gates of a level are batched by the kinds of their operands. A level costs two products in
/// sequence if it has gates of three bits other than multiplexers, otherwise one; with
/// [`Builder::with_multiplexers`](super::super::Builder::with_multiplexers) adders and comparators
/// need only one.
#[derive(Debug)]
pub struct SlotGates<A> {
    arithmetic: A,
    most: usize,
}

impl<A: Arithmetic> SlotGates<A> {
    /// Makes gates on this arithmetic, in batches of up to 64 vectors.
    pub fn new(arithmetic: A) -> Self {
        Self { arithmetic, most: 64 }
    }

    /// Makes gates in batches of up to `most` vectors; memory for temporaries is about ten times
    /// that.
    #[must_use]
    pub fn with_batch(self, most: usize) -> Self {
        Self { most: most.max(1), ..self }
    }

    /// The arithmetic.
    pub fn arithmetic(&self) -> &A {
        &self.arithmetic
    }

    /// The vectors of a batch, as bits.
    pub fn bits(&self, batch: A::Batch) -> Vec<Bit<A::Batch>> {
        let (count, batch) = (self.arithmetic.count(&batch), Arc::new(batch));
        (0..count).map(|index| Bit::Vector { batch: Arc::clone(&batch), index }).collect()
    }

    /// The vector of a single bit, unless it is public.
    ///
    /// # Errors
    /// Device errors.
    pub fn vector(&self, bit: &Bit<A::Batch>) -> Result<Option<A::Batch>> {
        match bit {
            Bit::Constant(_) => Ok(None),
            Bit::Vector { batch, index } => self.arithmetic.slice(batch, *index..*index + 1).map(Some),
        }
    }

    /// Joins entries in a batch. Runs of neighbours are copied together, and a whole batch is not
    /// copied at all.
    fn assemble<'b>(&self, entries: &[&'b Entry<A::Batch>]) -> Result<Operand<'b, A::Batch>> {
        let mut runs: Vec<(&'b Arc<A::Batch>, Range<usize>)> = Vec::new();
        for entry in entries {
            match runs.last_mut() {
                Some((batch, range)) if Arc::ptr_eq(batch, &entry.batch) && range.end == entry.index => {
                    range.end += 1;
                }
                _ => runs.push((&entry.batch, entry.index..entry.index + 1)),
            }
        }
        let whole = |batch: &A::Batch, range: &Range<usize>| range.len() == self.arithmetic.count(batch);
        if let [(batch, range)] = runs.as_slice() {
            if whole(batch, range) {
                return Ok(Operand::Whole(batch));
            }
            return Ok(Operand::Copy(self.arithmetic.slice(batch, range.clone())?));
        }
        let parts = runs
            .iter()
            .map(|(batch, range)| {
                Ok(if whole(batch, range) {
                    Operand::Whole(&***batch)
                } else {
                    Operand::Copy(self.arithmetic.slice(batch, range.clone())?)
                })
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Operand::Copy(self.arithmetic.concat(&parts.iter().map(Operand::get).collect::<Vec<_>>())?))
    }

    fn apply(&self, operation: &Operation, operands: &[&A::Batch]) -> Result<A::Batch> {
        let missing = || Error::BatchRange { start: 0, end: 1, batch: 0 };
        match operation {
            Operation::Product => {
                let [a, b] = operands else { return Err(missing()) };
                self.arithmetic.mul(a, b)
            }
            Operation::Rotation(step) => self.arithmetic.rotate(operands.first().ok_or_else(missing)?, *step),
            Operation::Linear { constant, coefficients } => {
                self.apply_linear(*constant, coefficients, operands)?.ok_or_else(missing)
            }
        }
    }

    /// `None` without operands.
    fn apply_linear(
        &self,
        constant: i64,
        coefficients: &[i64],
        operands: &[&A::Batch],
    ) -> Result<Option<A::Batch>> {
        let arithmetic = &self.arithmetic;
        // The sum so far, or its negative.
        let mut sum: Option<(bool, A::Batch)> = None;
        let mut first: Option<(bool, &A::Batch)> = None;
        for (&c, &x) in coefficients.iter().zip(operands) {
            let scaled = match c.abs() {
                1 => None,
                2 => Some(arithmetic.add(x, x)?),
                more => Some(arithmetic.mul_scalar(x, more)?),
            };
            let negative = c < 0;
            let left = sum.as_ref().map(|(sign, sum)| (*sign, sum)).or(first);
            sum = match (left, scaled) {
                (None, None) => {
                    first = Some((negative, x));
                    continue;
                }
                (None, Some(scaled)) => Some((negative, scaled)),
                (Some((sign, sum)), scaled) => {
                    let x = scaled.as_ref().unwrap_or(x);
                    Some(match (sign, negative) {
                        (true, true) => (true, arithmetic.add(sum, x)?),
                        (false, false) => (false, arithmetic.add(sum, x)?),
                        (false, true) => (false, arithmetic.sub(sum, x)?),
                        (true, false) => (false, arithmetic.sub(x, sum)?),
                    })
                }
            };
        }
        let sum = match (sum, first) {
            (None, None) => return Ok(None),
            (Some((false, sum)), _) => sum,
            (Some((true, sum)), _) => arithmetic.neg(&sum)?,
            (None, Some((true, x))) => arithmetic.neg(x)?,
            (None, Some((false, x))) => return arithmetic.add_scalar(x, constant).map(Some),
        };
        if constant == 0 { Ok(Some(sum)) } else { arithmetic.add_scalar(&sum, constant).map(Some) }
    }

    /// Runs independent jobs, in batches.
    fn run(&self, jobs: &[Job<A::Batch>]) -> Result<Vec<Entry<A::Batch>>> {
        let mut groups: BTreeMap<(&Operation, Vec<A::Kind>), Vec<usize>> = BTreeMap::new();
        for (i, job) in jobs.iter().enumerate() {
            let kinds = job.operands.iter().map(|operand| self.arithmetic.kind(&operand.batch)).collect();
            groups.entry((&job.operation, kinds)).or_default().push(i);
        }
        let mut results: Vec<Option<Entry<A::Batch>>> = jobs.iter().map(|_| None).collect();
        for ((operation, kinds), members) in groups {
            for members in members.chunks(self.most) {
                let operands = (0..kinds.len())
                    .map(|place| {
                        let entries: Vec<_> = members.iter().map(|&i| &jobs[i].operands[place]).collect();
                        self.assemble(&entries)
                    })
                    .collect::<Result<Vec<_>>>()?;
                let operands: Vec<&A::Batch> = operands.iter().map(Operand::get).collect();
                let batch = Arc::new(self.apply(operation, &operands)?);
                for (index, &i) in members.iter().enumerate() {
                    results[i] = Some(Entry { batch: Arc::clone(&batch), index });
                }
            }
        }
        // Every job is a member of one group.
        Ok(results.into_iter().flatten().collect())
    }

    /// Products, side by side.
    pub(super) fn products(&self, pairs: &[[&Entry<A::Batch>; 2]]) -> Result<Vec<Entry<A::Batch>>> {
        let operands = |pair: &[&Entry<A::Batch>; 2]| pair.map(Entry::clone).to_vec();
        let job = |pair| Job { operation: Operation::Product, operands: operands(pair) };
        self.run(&pairs.iter().map(job).collect::<Vec<_>>())
    }

    /// Sums, side by side.
    pub(super) fn sums(&self, pairs: &[[&Entry<A::Batch>; 2]]) -> Result<Vec<Entry<A::Batch>>> {
        let operation = Operation::Linear { constant: 0, coefficients: vec![1, 1] };
        let operands = |pair: &[&Entry<A::Batch>; 2]| pair.map(Entry::clone).to_vec();
        let job = |pair| Job { operation: operation.clone(), operands: operands(pair) };
        self.run(&pairs.iter().map(job).collect::<Vec<_>>())
    }

    /// An entry as a batch of its own, which can be used often without being copied.
    pub(super) fn alone(&self, entry: &Entry<A::Batch>) -> Result<Entry<A::Batch>> {
        let batch = self.arithmetic.slice(&entry.batch, entry.index..entry.index + 1)?;
        Ok(Entry { batch: Arc::new(batch), index: 0 })
    }

    /// Rotates each: slot i of a row becomes slot i + step.
    pub(super) fn rotations(&self, entries: &[&Entry<A::Batch>], step: i64) -> Result<Vec<Entry<A::Batch>>> {
        let job = |entry: &&Entry<A::Batch>| Job {
            operation: Operation::Rotation(step),
            operands: vec![Entry::clone(entry)],
        };
        self.run(&entries.iter().map(job).collect::<Vec<_>>())
    }

    /// constant + the sum of coefficient x entry; no coefficient is zero.
    pub(super) fn linear(&self, constant: i64, terms: &[(i64, &Entry<A::Batch>)]) -> Result<Entry<A::Batch>> {
        let coefficients = terms.iter().map(|term| term.0).collect();
        let operands = terms.iter().map(|term| term.1.clone()).collect();
        let job = Job { operation: Operation::Linear { constant, coefficients }, operands };
        let nothing = Error::BatchRange { start: 0, end: 1, batch: 0 };
        self.run(&[job])?.pop().ok_or(nothing)
    }

    /// Evaluates independent functions of three bits by their tables, bit 4x + 2y + z, as one
    /// level.
    pub(super) fn functions(&self, functions: &[(u8, [Bit<A::Batch>; 3])]) -> Result<Vec<Bit<A::Batch>>> {
        let mut level = Numbered::new(&self.arithmetic);
        let mut combinations = Vec::with_capacity(functions.len());
        for (table, inputs) in functions {
            let function = level.reduce(*table, inputs);
            combinations.push(level.combine(&function));
        }
        let mut known: BTreeMap<Term, Entry<A::Batch>> = BTreeMap::new();
        for (i, entry) in level.entries.iter().enumerate() {
            known.insert(Term::Bit(i), entry.clone());
        }
        let terms: Vec<Term> = combinations.iter().flat_map(|c| c.terms.iter().map(|term| term.1)).collect();
        // Computes products of pairs, together with products by factors that need no pair; then
        // those by factors that do.
        let is_late = |term: &Term| matches!(term, Term::Scaled { k: [_, _, c], .. } if *c != 0);
        let pair_of = |term: &Term| match *term {
            Term::Scaled { a, b, k: [_, _, c], .. } if c != 0 => Term::Pair(a, b),
            term => term,
        };
        let early: Vec<Term> = terms.iter().map(pair_of).collect();
        self.term_products(&mut known, &early)?;
        let late: Vec<Term> = terms.iter().copied().filter(is_late).collect();
        self.term_products(&mut known, &late)?;
        self.combinations(&known, &combinations)
    }

    /// Adds the products among these terms to the known ones.
    fn term_products(&self, known: &mut BTreeMap<Term, Entry<A::Batch>>, terms: &[Term]) -> Result<()> {
        let mut wanted: Vec<Term> = Vec::new();
        let mut seen = BTreeSet::new();
        wanted.extend(terms.iter().filter(|term| !known.contains_key(term) && seen.insert(**term)));
        let mut factors: Vec<(usize, usize, [i64; 3])> = Vec::new();
        for term in &wanted {
            if let Term::Scaled { a, b, k, .. } = *term
                && !factors.contains(&(a, b, k))
            {
                factors.push((a, b, k));
            }
        }
        let combinations: Vec<Combination> = factors
            .iter()
            .map(|&(a, b, [x, y, xy])| {
                Combination::new(0, [(x, Term::Bit(a)), (y, Term::Bit(b)), (xy, Term::Pair(a, b))])
            })
            .collect();
        let values = self.combinations(known, &combinations)?;
        let factors: BTreeMap<_, _> = factors.into_iter().zip(values).collect();
        let missing = || Error::BatchRange { start: 0, end: 1, batch: 0 };
        let mut jobs = Vec::with_capacity(wanted.len());
        for term in &wanted {
            let get = |term: Term| known.get(&term).cloned().ok_or_else(missing);
            let operands = match *term {
                Term::Bit(_) => return Err(missing()),
                Term::Pair(a, b) => vec![get(Term::Bit(a))?, get(Term::Bit(b))?],
                Term::Scaled { z, a, b, k } => match factors.get(&(a, b, k)) {
                    Some(Bit::Vector { batch, index }) => {
                        vec![Entry { batch: Arc::clone(batch), index: *index }, get(Term::Bit(z))?]
                    }
                    _ => return Err(missing()),
                },
            };
            jobs.push(Job { operation: Operation::Product, operands });
        }
        known.extend(wanted.into_iter().zip(self.run(&jobs)?));
        Ok(())
    }

    fn combinations(
        &self,
        known: &BTreeMap<Term, Entry<A::Batch>>,
        combinations: &[Combination],
    ) -> Result<Vec<Bit<A::Batch>>> {
        let mut jobs = Vec::new();
        let mut results: Vec<Option<Bit<A::Batch>>> = Vec::with_capacity(combinations.len());
        for Combination { constant, terms } in combinations {
            let entries = terms.iter().filter_map(|(_, term)| known.get(term).cloned());
            results.push(match terms.as_slice() {
                [] => Some(Bit::Constant(*constant != 0)),
                [(1, term)] if *constant == 0 => known.get(term).cloned().map(Bit::from),
                _ => {
                    let coefficients = terms.iter().map(|term| term.0).collect();
                    let operation = Operation::Linear { constant: *constant, coefficients };
                    jobs.push(Job { operation, operands: entries.collect() });
                    None
                }
            });
        }
        let mut computed = self.run(&jobs)?.into_iter().map(Bit::from);
        Ok(results.into_iter().filter_map(|result| result.or_else(|| computed.next())).collect())
    }
}

impl<A: Arithmetic> BitOps for SlotGates<A> {
    type Bits = Vec<Bit<A::Batch>>;

    fn count(&self, bits: &Self::Bits) -> usize {
        bits.len()
    }

    fn slots(&self, count: usize) -> Result<Self::Bits> {
        Ok(vec![Bit::Constant(false); count])
    }

    fn write(&self, dst: &mut Self::Bits, at: usize, src: &Self::Bits, range: Range<usize>) -> Result<()> {
        let missing = |start, end, batch| Error::BatchRange { start, end, batch };
        let to = at..at.saturating_add(range.len());
        let from = src.get(range.clone()).ok_or(missing(range.start, range.end, src.len()))?;
        let batch = dst.len();
        dst.get_mut(to.clone()).ok_or(missing(to.start, to.end, batch))?.clone_from_slice(from);
        Ok(())
    }

    fn gates(&self, slots: &mut Self::Bits, gates: &[PlacedGate], at: usize) -> Result<()> {
        let results = {
            let functions = gates.iter().map(|placed| {
                // Bit 4x + 2y + z of the table.
                let table = match placed.gate {
                    Gate::Lookup(table) => (0..8u8).fold(0, |all, i| all | (table >> (i >> 1) & 1) << i),
                    Gate::Majority => 0b1110_1000,
                    Gate::Parity => 0b1001_0110,
                    Gate::Mux => 0b1100_1010,
                };
                placed_function(slots, table, &placed.inputs)
            });
            self.functions(&functions.collect::<Result<Vec<_>>>()?)?
        };
        self.write(slots, at, &results, 0..results.len())
    }

    fn gather(&self, slots: &Self::Bits, signals: &[Signal]) -> Result<Self::Bits> {
        // The identity of the first input.
        let functions = signals.iter().map(|&signal| placed_function(slots, 0b1111_0000, &[signal; 3]));
        self.functions(&functions.collect::<Result<Vec<_>>>()?)
    }
}

/// A table on signals, into which negations are moved.
fn placed_function<T>(slots: &[Bit<T>], table: u8, inputs: &[Signal; 3]) -> Result<(u8, [Bit<T>; 3])> {
    let mut negations = 0;
    let mut bits = [Bit::Constant(false), Bit::Constant(false), Bit::Constant(false)];
    for (place, (&signal, bit)) in inputs.iter().zip(&mut bits).enumerate() {
        *bit = match signal {
            Signal::Constant(value) => Bit::Constant(value),
            Signal::Slot { index, negated } => {
                negations |= u8::from(negated) << (2 - place);
                let (end, batch) = (index.saturating_add(1), slots.len());
                slots.get(index).cloned().ok_or(Error::BatchRange { start: index, end, batch })?
            }
        };
    }
    Ok(((0..8u8).fold(0, |all, i| all | (table >> (i ^ negations) & 1) << i), bits))
}
