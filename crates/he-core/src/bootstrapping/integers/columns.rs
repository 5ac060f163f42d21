//! Sums of many digits in columns, and the products that leave them.

use super::carry_tables::{GREATEST_SUM, LARGEST_BITS};
use super::estimates::bounded;
use super::width::{DIGIT_BITS, RADIX};
use super::{IntegerEvaluator, SlotIntegers};
use crate::backend::RingOps;
use crate::ckks::Ciphertext;
use crate::error::{Error, Result};

/// The greatest message of the largest tables.
const GREATEST: u64 = (1 << LARGEST_BITS) - 1;
const GREATEST_DIGIT: u64 = RADIX as u64 - 1;
/// The products of digits whose sum is looked up at once: 4 15^2 = 900.
const PRODUCTS: usize = 4;
/// The growth of noise in such a sum, by both factors.
const PRODUCT_GROWTH: f64 = 2.0 * (PRODUCTS as u64 * GREATEST_DIGIT) as f64;
/// The growth of noise in a sum of multiples that the largest tables take.
const MULTIPLE_GROWTH: f64 = (GREATEST / GREATEST_DIGIT) as f64;

/// A number of a column, and the greatest that it can be.
#[derive(Debug)]
struct Term<B: RingOps> {
    ct: Ciphertext<B>,
    most: u64,
}

/// Numbers of the weights 16^0, 16^1 ...
type Columns<B> = Vec<Vec<Term<B>>>;

impl<B: RingOps> IntegerEvaluator<'_, B> {
    /// a b, wrapping. Sums of four products of digits are looked up as three digits each, and
    /// those of columns as two: for d digits about d^2 / 8 look-ups of 1024 entries, d of 256 or
    /// fewer and d of 32.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn mul(&self, a: &SlotIntegers<B>, b: &SlotIntegers<B>) -> Result<SlotIntegers<B>> {
        self.check(a, b)?;
        self.integers(self.cleaned([&a.digits, &b.digits], PRODUCT_GROWTH, |[a, b]| self.product(a, b))?)
    }

    fn product(&self, a: &Ciphertext<B>, b: &Ciphertext<B>) -> Result<Ciphertext<B>> {
        let fresh = [self.refreshed(a, 1)?, self.refreshed(b, 1)?];
        let [a, b] = [fresh[0].as_ref().unwrap_or(a), fresh[1].as_ref().unwrap_or(b)];
        let count = self.width.digits();
        let chunk = count.min(PRODUCTS);
        let zero = self.zero(b)?;
        let padded = self.joined(&[vec![&zero; chunk - 1], vec![b]].concat())?;
        let mut columns = empty(count);
        for first in (0..count).step_by(chunk) {
            let sums = self.chunk_of_products(a, &padded, (first, chunk))?;
            for (k, column) in columns[first..].iter_mut().enumerate() {
                let most = (k + 1).min(chunk) as u64 * GREATEST_DIGIT * GREATEST_DIGIT;
                column.push(Term { ct: bounded(sums.slice_batch(k..k + 1)?, most), most });
            }
        }
        self.summed(columns)
    }

    /// a c for a plain number c, wrapping. The look-ups depend on c.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn mul_plain(&self, a: &SlotIntegers<B>, c: u64) -> Result<SlotIntegers<B>> {
        self.check(a, a)?;
        self.integers(self.multiple(a, u128::from(c), self.width.digits())?)
    }

    /// a + c for a plain number c, wrapping.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn add_plain(&self, a: &SlotIntegers<B>, c: u64) -> Result<SlotIntegers<B>> {
        self.add(a, &self.constant(a, c)?)
    }

    /// The same plain number in every slot, wrapping, as an operand beside `like`.
    ///
    /// # Errors
    /// The errors of all operations, at the [type](Self).
    pub fn constant(&self, like: &SlotIntegers<B>, c: u64) -> Result<SlotIntegers<B>> {
        self.check(like, like)?;
        let zero = self.zero(&like.digits)?;
        let digit = |k: usize| {
            let digit = (c >> (DIGIT_BITS * k)) % RADIX as u64;
            self.ev().add_scalar(&zero, (digit as f64).into())
        };
        let digits = (0..self.width.digits()).map(digit).collect::<Result<Vec<_>>>()?;
        self.integers(Ciphertext::concat(&digits.iter().collect::<Vec<_>>())?)
    }

    /// The sum of all, wrapping; of nothing it is refused.
    ///
    /// # Errors
    /// [`Error::Argument`] without integers; the errors of all
    /// operations, at the [type](Self).
    pub fn sum(&self, all: &[&SlotIntegers<B>]) -> Result<SlotIntegers<B>> {
        if all.is_empty() {
            let hint = "give one integer at least";
            return Err(Error::domain("integers", "there are none", hint));
        }
        let mut columns = empty(self.width.digits());
        for integers in all {
            self.check(integers, integers)?;
            for (k, column) in columns.iter_mut().enumerate() {
                column.push(Term { ct: integers.digits.slice_batch(k..k + 1)?, most: GREATEST_DIGIT });
            }
        }
        self.integers(self.summed(columns)?)
    }

    /// So many digits of a multiple of a.
    pub(super) fn multiple(&self, a: &SlotIntegers<B>, factor: u128, count: usize) -> Result<Ciphertext<B>> {
        self.cleaned([&a.digits], MULTIPLE_GROWTH, |[digits]| {
            self.summed(self.multiples(digits, factor, count)?)
        })
    }

    /// The columns of a multiple.
    fn multiples(&self, a: &Ciphertext<B>, factor: u128, count: usize) -> Result<Columns<B>> {
        let mut columns = empty(count);
        let digits = (0..).map(|j| (j, (factor >> (DIGIT_BITS * j)) as u64 % RADIX as u64));
        let digits = digits.take(u128::BITS as usize / DIGIT_BITS).filter(|(_, digit)| *digit != 0);
        for (j, digit) in digits {
            let times = self.ev().mul_integer(a, digit as i64)?;
            for (k, column) in columns.iter_mut().skip(j).take(times.batch()).enumerate() {
                column.push(Term { ct: times.slice_batch(k..k + 1)?, most: digit * GREATEST_DIGIT });
            }
        }
        if columns.iter().all(Vec::is_empty) {
            let zero = Term { ct: self.zero(a)?, most: 0 };
            columns[0].push(zero);
        }
        Ok(columns)
    }

    /// The digits of a sum of columns, modulo 16 to their number.
    fn summed(&self, mut columns: Columns<B>) -> Result<Ciphertext<B>> {
        let most = |column: &Vec<Term<B>>| column.iter().map(|term| term.most).sum::<u64>();
        while columns.iter().any(|column| most(column) > GREATEST_SUM) {
            columns = self.spread(columns)?;
        }
        let any = columns.iter().flatten().next().map(|term| self.zero(&term.ct)).transpose()?;
        let sum = |column: Vec<Term<B>>| match self.total(column)? {
            Some(term) => Ok(term.ct),
            None => any.as_ref().map(Ciphertext::duplicate).unwrap_or_else(|| Err(nothing())),
        };
        let sums = columns.into_iter().map(sum).collect::<Result<Vec<_>>>()?;
        self.carried(&self.joined(&sums.iter().collect::<Vec<_>>())?, &self.tables.sum, 1)
    }

    /// a_first ... times all digits of the other factor: the sums for columns from `first` on.
    fn chunk_of_products(
        &self,
        a: &Ciphertext<B>,
        padded: &Ciphertext<B>,
        (first, chunk): (usize, usize),
    ) -> Result<Ciphertext<B>> {
        let columns = a.batch() - first;
        let factors = |r: usize| {
            let start = chunk - 1 - r;
            Ok([a.slice_batch(first + r..first + r + 1)?, padded.slice_batch(start..start + columns)?])
        };
        let factors = (0..chunk).map(factors).collect::<Result<Vec<_>>>()?;
        let products: Vec<_> = factors.iter().map(|pair| pair.each_ref()).collect();
        self.ev().sum_of_products(&products, self.program)
    }

    /// Looks up the digits of the sums of each column, as many terms at a time as a table takes.
    fn spread(&self, columns: Columns<B>) -> Result<Columns<B>> {
        let (count, mut next, mut large) = (columns.len(), empty(columns.len()), Vec::new());
        for (k, column) in columns.into_iter().enumerate() {
            for chunk in chunks(column) {
                match self.total(chunk)? {
                    Some(term) if term.most > GREATEST_DIGIT => large.push((k, term)),
                    small => next[k].extend(small),
                }
            }
        }
        let most = large.iter().map(|(_, term)| term.most).max().unwrap_or(0);
        let bits = (u64::BITS - most.leading_zeros()) as usize;
        let sums = self.joined(&large.iter().map(|(_, term)| &term.ct).collect::<Vec<_>>())?;
        let found = self.look_up(&sums, self.tables.spread(self.bootstrapper.params(), bits)?)?;
        for (at, (k, term)) in large.iter().enumerate() {
            for (j, found) in found.iter().enumerate() {
                let most = (term.most >> (DIGIT_BITS * j)).min(GREATEST_DIGIT);
                if most > 0 && k + j < count {
                    next[k + j].push(Term { ct: bounded(found.slice_batch(at..at + 1)?, most), most });
                }
            }
        }
        Ok(next)
    }

    /// The sum of terms, if there are any.
    fn total(&self, terms: Vec<Term<B>>) -> Result<Option<Term<B>>> {
        let mut terms = terms.into_iter();
        let Some(first) = terms.next() else { return Ok(None) };
        let sum = terms.try_fold(first, |sum, term| {
            let most = sum.most + term.most;
            Ok(Term { ct: bounded(self.ev().add(&sum.ct, &term.ct)?, most), most })
        });
        sum.map(Some)
    }
}

fn nothing() -> Error {
    Error::argument("columns", "all are empty".to_owned())
}

fn empty<B: RingOps>(count: usize) -> Columns<B> {
    (0..count).map(|_| Vec::new()).collect()
}

/// Terms whose sums a table takes.
fn chunks<B: RingOps>(column: Vec<Term<B>>) -> Vec<Vec<Term<B>>> {
    let mut chunks: Vec<(u64, Vec<Term<B>>)> = Vec::new();
    for term in column {
        match chunks.iter_mut().find(|(most, _)| most + term.most <= GREATEST) {
            Some((most, chunk)) => {
                *most += term.most;
                chunk.push(term);
            }
            None => chunks.push((term.most, vec![term])),
        }
    }
    chunks.into_iter().map(|(_, chunk)| chunk).collect()
}
