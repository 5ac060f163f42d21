//! Computations on columns of integers in digits, and what their results are.

use crate::cipher_file::CipherReader;
use crate::contents::alike::Described;
use crate::data::integers::Integers;
use crate::error::{ContentError, Result};
use crate::note::{Content, DigitsNote, machine};
use crate::scheme::Ckks;
use crate::tfhe::entries::Entries;
use he_any::layout::Op;
use he_any::tfhe::Comparison;
use num_bigint::BigInt;

/// The entries of a public table at most: those of the numbers of 8 bits.
pub(super) const MOST_ENTRIES: usize = 256;

/// An operation on two integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// A sum, difference or product modulo 2^width.
    Of(Op),
    /// Whether a comparison holds.
    Compare(Comparison),
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bits, or conditions, that both have.
    And,
    /// Bits, or conditions, that one has at least.
    Or,
    /// Bits, or conditions, that exactly one has.
    Xor,
}

/// A movement of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// To higher places, with zeros behind.
    Left,
    /// To lower places, with zeros or the sign behind.
    Right,
    /// To higher places, the highest to the lowest.
    RotateLeft,
    /// To lower places, the lowest to the highest.
    RotateRight,
}

/// The computation.
#[derive(Clone, Debug, PartialEq)]
pub enum Job {
    /// An operation on two tables, number by number, or on one and the same plain number.
    Pair(Operator, Option<BigInt>),
    /// All bits, or conditions, turned.
    Not,
    /// The opposite, modulo 2^width.
    Neg,
    /// The magnitude, modulo 2^width.
    Abs,
    /// The quotient by a plain magnitude, rounded towards zero.
    Quotient(u64),
    /// Its remainder, with the sign of the number.
    Remainder(u64),
    /// Bits that are moved by so many places.
    Shift(Shift, u64),
    /// The numbers of the second table where the conditions of the first hold, those of the third
    /// elsewhere.
    Select,
    /// The entries of a public table.
    Lookup(Entries),
    /// Each column in ascending order.
    Sort,
    /// So many greatest numbers of each column, in descending order.
    Top(u64),
}

/// An operand, by its name in errors.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The name.
    pub name: &'a str,
    /// The description.
    pub note: &'a DigitsNote,
}

impl<'a> Operand<'a> {
    /// A file.
    ///
    /// # Errors
    /// It holds something else.
    pub fn of_file(reader: &'a CipherReader<Ckks>) -> Result<Self> {
        match &reader.payload.content {
            Content::Digits(note) => Ok(Self { name: &reader.name, note }),
            content => {
                Err(ContentError::NotDigits { name: reader.name.clone(), found: content.name() }.into())
            }
        }
    }

    fn described(self) -> Described<'a> {
        let Self { name: file, note } = self;
        let integers = (!note.is_conditions()).then(|| note.integers());
        Described { file, integers, rows: note.rows, columns: &note.columns }
    }
}

impl Job {
    /// The description of the result for these operands, in the order of the operation, in vectors
    /// of so many slots.
    ///
    /// # Errors
    /// They do not fit together, or a parameter does not fit the numbers.
    pub fn describe(&self, operands: &[Operand<'_>], slots: usize, operation: &str) -> Result<DigitsNote> {
        let all: Vec<_> = operands.iter().map(|operand| operand.described()).collect();
        let Some((&first, note)) = all.first().zip(operands.first().map(|operand| operand.note)) else {
            return Err(ContentError::Mismatch.into());
        };
        match (self, &all[1..]) {
            (Self::Pair(operator, None), [second]) => operator.describe(first, *second, note, operation),
            (Self::Pair(operator, Some(number)), []) => {
                held(number, first.numbers(operation)?)?;
                Ok(operator.result(note.clone()))
            }
            (Self::Select, [yes, no]) => {
                first.conditions(operation)?;
                first.same_shape(*yes, operation)?;
                Ok(DigitsNote { columns: yes.paired(*no, operation)?, ..operands[1].note.clone() })
            }
            (Self::Not, []) => Ok(note.clone()),
            (job, []) => job.on_one(note, first.numbers(operation)?, slots as u64, operation),
            _ => Err(ContentError::Mismatch.into()),
        }
    }

    /// The description of the result of an operation on one table of numbers.
    fn on_one(
        &self,
        note: &DigitsNote,
        integers: Integers,
        slots: u64,
        operation: &str,
    ) -> Result<DigitsNote> {
        let same = || Ok(note.clone());
        match self {
            Self::Quotient(by) | Self::Remainder(by) => {
                held(&BigInt::from(*by), Integers::unsigned(integers.bits))?;
                if *by == 0 { Err(ContentError::ZeroDivisor.into()) } else { same() }
            }
            Self::Shift(_, by) if *by >= u64::from(integers.bits) => {
                Err(ContentError::Places { by: *by, bits: integers.bits }.into())
            }
            Self::Lookup(entries) => {
                let reached = MOST_ENTRIES.min(1 << integers.bits.min(16));
                let results = entries.results(integers.bits, reached)?;
                match machine(results) {
                    Some(_) => Ok(note.clone().of(results)),
                    None => Err(ContentError::NoDigitWidth { width: results.bits }.into()),
                }
            }
            Self::Sort | Self::Top(_) if note.rows > slots => {
                let (operation, rows) = (operation.to_owned(), note.rows);
                Err(ContentError::SlotRows { operation, rows, most: slots }.into())
            }
            Self::Top(count) if !(1..=note.rows).contains(count) => {
                Err(ContentError::TopCount { count: *count, rows: note.rows }.into())
            }
            Self::Top(count) => Ok(DigitsNote { rows: *count, ..note.clone() }),
            _ => same(),
        }
    }

    /// The number of encrypted files that it takes.
    pub fn files(&self) -> usize {
        match self {
            Self::Pair(_, None) => 2,
            Self::Select => 3,
            _ => 1,
        }
    }
}

impl Operator {
    fn describe(
        self,
        first: Described<'_>,
        second: Described<'_>,
        note: &DigitsNote,
        operation: &str,
    ) -> Result<DigitsNote> {
        let of_conditions = matches!(self, Self::And | Self::Or | Self::Xor) && first.integers.is_none();
        let columns = match of_conditions {
            true => {
                second.conditions(operation)?;
                first.same_shape(second, operation)?;
                first.names_with(second)
            }
            false => first.paired(second, operation)?,
        };
        Ok(self.result(DigitsNote { columns, ..note.clone() }))
    }

    fn result(self, note: DigitsNote) -> DigitsNote {
        if matches!(self, Self::Compare(_)) { note.conditions() } else { note }
    }
}

/// Checks that a plain number is one of the integers.
fn held(number: &BigInt, integers: Integers) -> Result<()> {
    match integers.hold(number) {
        true => Ok(()),
        false => {
            Err(ContentError::PlainNumber { number: number.to_string(), integers: integers.text() }.into())
        }
    }
}
