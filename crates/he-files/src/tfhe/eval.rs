//! Computations on encrypted columns of integers.

use super::entries::Entries;
use super::file::{Column, Reader, Writer};
use super::note::ColumnsNote;
use super::sort;
use crate::cipher_file::Written;
use crate::error::{ContentError, Result};
use crate::note::pair_name;
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::tfhe::{BootstrapKey, Carry, EncryptedUint, IntegerEvaluator, Signed, Signedness, Unsigned};

/// The operation on two tables, number by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// a + b modulo 2^width.
    Add,
    /// a - b modulo 2^width.
    Sub,
    /// a b modulo 2^width.
    Mul,
    /// Whether a < b.
    Less,
    /// Whether a = b.
    Equal,
    /// The smaller.
    Min,
    /// The larger.
    Max,
}

impl Operator {
    /// Of the bits of two integers, with or without a sign.
    fn of<S: Signedness>(
        self,
        evaluator: &IntegerEvaluator<Device>,
        a: EncryptedUint<Device>,
        b: EncryptedUint<Device>,
    ) -> he_core::Result<Column> {
        let (a, b) = (&a.reinterpret::<S>(), &b.reinterpret::<S>());
        Ok(Column::Integers(
            match self {
                Self::Less => return evaluator.lt(a, b).map(Column::Conditions),
                Self::Equal => return evaluator.eq(a, b).map(Column::Conditions),
                Self::Add => evaluator.add(a, b)?,
                Self::Sub => evaluator.sub(a, b)?,
                Self::Mul => evaluator.mul(a, b)?,
                Self::Min => evaluator.min(a, b)?,
                Self::Max => evaluator.max(a, b)?,
            }
            .reinterpret(),
        ))
    }
}

/// The computation.
pub enum Job {
    /// Of two tables.
    Pair(Operator, Box<Reader>),
    /// Each column in ascending order.
    Sort,
    /// The sum of each column, modulo 2^width.
    Sum,
    /// Of two tables the numbers of the first where a condition holds, those of the second
    /// elsewhere.
    Select(Box<[Reader; 2]>),
    /// The entries of a table at the numbers of a file.
    Lookup(Entries),
}

/// Checks that a file holds numbers.
fn numbers(reader: &Reader, operation: &str) -> Result<()> {
    if !reader.payload.content.is_conditions() {
        return Ok(());
    }
    Err(ContentError::Conditions { name: reader.name.clone(), operation: operation.to_owned() }.into())
}

/// Checks that two tables have as many rows and columns.
fn same_shape(a: &ColumnsNote, b: &ColumnsNote, operation: &str) -> Result<()> {
    if (a.rows, a.columns.len()) == (b.rows, b.columns.len()) {
        return Ok(());
    }
    let shape = |n: &ColumnsNote| format!("{} rows of {}", n.rows, n.columns.len());
    let operation = operation.to_owned();
    Err(ContentError::Shapes { left: shape(a), right: shape(b), operation }.into())
}

/// The description of numbers that are made of two tables of numbers, one by one.
fn of_pair(left: &Reader, right: &Reader, operation: &str) -> Result<ColumnsNote> {
    numbers(left, operation)?;
    numbers(right, operation)?;
    let (a, b) = (&left.payload.content, &right.payload.content);
    let names = || (left.name.clone(), right.name.clone());
    if a.width != b.width {
        let ((left, right), left_width, right_width) = (names(), a.width_text(), b.width_text());
        return Err(ContentError::Widths { left, left_width, right, right_width }.into());
    }
    if a.signed != b.signed {
        let (left, right) = names();
        let (signed, unsigned) = if a.signed { (left, right) } else { (right, left) };
        return Err(ContentError::Signs { signed, unsigned }.into());
    }
    same_shape(a, b, operation)?;
    let name = |(x, y): (&Option<String>, &Option<String>)| if x == y { x.clone() } else { pair_name(x, y) };
    let columns = a.columns.iter().zip(&b.columns).map(name).collect();
    Ok(ColumnsNote { columns, picture: a.picture.filter(|_| a.picture == b.picture), ..a.clone() })
}

impl Job {
    /// The description of the result.
    ///
    /// # Errors
    /// The files do not fit together; they hold no numbers, or no conditions.
    pub fn describe(&self, left: &Reader, operation: &str) -> Result<ColumnsNote> {
        let note = &left.payload.content;
        match self {
            Self::Pair(operator, right) => {
                let result = of_pair(left, right, operation)?;
                Ok(match operator {
                    Operator::Less | Operator::Equal => result.conditions(),
                    _ => result,
                })
            }
            Self::Select(choices) => {
                let [yes, no] = &**choices;
                if !note.is_conditions() {
                    let (name, operation) = (left.name.clone(), operation.to_owned());
                    return Err(ContentError::NotConditions { name, operation }.into());
                }
                same_shape(note, &yes.payload.content, operation)?;
                let result = of_pair(yes, no, operation)?;
                let picture = result.picture.filter(|_| result.picture == note.picture);
                Ok(ColumnsNote { picture, ..result })
            }
            Self::Sort | Self::Sum | Self::Lookup(_) => {
                numbers(left, operation)?;
                match self {
                    Self::Sum => Ok(ColumnsNote { rows: 1, picture: None, ..note.clone() }),
                    Self::Lookup(entries) => {
                        let (integers, rows) = (entries.integers(note, &left.params)?, note.rows as usize);
                        let result =
                            ColumnsNote::new(integers, rows, note.columns.clone(), None, &left.params)?;
                        Ok(result.with_picture(note.picture))
                    }
                    // The places of sorted pixels mean nothing.
                    _ => Ok(ColumnsNote { picture: None, ..note.clone() }),
                }
            }
        }
    }

    /// Computes column by column, all rows in a batch.
    ///
    /// # Errors
    /// A file is damaged; the output cannot be written; the device fails.
    pub fn apply(
        self,
        device: &Device,
        key: &BootstrapKey,
        left: Reader,
        writer: Writer,
        watch: &dyn Watch,
    ) -> Result<Written> {
        if left.payload.content.signed {
            self.apply_to::<Signed>(device, key, left, writer, watch)
        } else {
            self.apply_to::<Unsigned>(device, key, left, writer, watch)
        }
    }

    fn apply_to<S: Signedness>(
        mut self,
        device: &Device,
        key: &BootstrapKey,
        mut left: Reader,
        mut writer: Writer,
        watch: &dyn Watch,
    ) -> Result<Written> {
        // One way on every device: the same files give the same bytes. Ripples are the least work,
        // and rows fill a GPU.
        let evaluator = IntegerEvaluator::new(device, key, Carry::Ripple)?;
        let note = left.payload.content.clone();
        let steps = if matches!(self, Self::Sort) { sort::pairs(note.rows as usize) } else { 1 };
        let progress = Meter::new(watch, Stage::Computing, (note.columns.len() * steps) as u64);
        for _ in &note.columns {
            let result = match &mut self {
                Self::Select(choices) => {
                    let [yes, no] = &mut **choices;
                    let condition = left.conditions(device)?;
                    let (x, y) = (yes.integers(device)?, no.integers(device)?);
                    Column::Integers(evaluator.select(&condition, &x, &y)?)
                }
                Self::Pair(operator, right) => {
                    let (a, b) = (left.integers(device)?, right.integers(device)?);
                    operator.of::<S>(&evaluator, a, b)?
                }
                Self::Sort => {
                    let x = left.integers(device)?.reinterpret::<S>();
                    let sorted = sort::ascending(&evaluator, &x, |pairs| progress.inc(pairs as u64))?;
                    Column::Integers(sorted.reinterpret())
                }
                Self::Sum => Column::Integers(evaluator.sum_batch(&left.integers(device)?)?),
                Self::Lookup(entries) => {
                    let integers = entries.integers(&note, &left.params)?;
                    Column::Integers(entries.at(integers, &evaluator, &left.integers(device)?)?)
                }
            };
            if !matches!(self, Self::Sort) {
                progress.inc(1);
            }
            writer.column(&result)?;
        }
        progress.finish();
        left.end()?;
        match &mut self {
            Self::Pair(_, right) => right.end()?,
            Self::Select(choices) => choices.iter_mut().try_for_each(Reader::end)?,
            _ => {}
        }
        writer.commit()
    }
}
