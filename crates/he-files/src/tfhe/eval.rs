//! Computations on encrypted columns of unsigned integers.

use super::file::{Column, Reader, Writer};
use super::note::UnsignedNote;
use super::sort;
use crate::cipher_file::Written;
use crate::error::{ContentError, Result};
use crate::note::pair_name;
use crate::watch::{Meter, Stage, Watch};
use he::Device;
use he_core::tfhe::{BootstrapKey, Carry, EncryptedUint, IntegerEvaluator};

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
    fn of(
        self,
        evaluator: &IntegerEvaluator<Device>,
        a: &EncryptedUint<Device>,
        b: &EncryptedUint<Device>,
    ) -> he_core::Result<Column> {
        Ok(match self {
            Self::Add => Column::Unsigned(evaluator.add(a, b)?),
            Self::Sub => Column::Unsigned(evaluator.sub(a, b)?),
            Self::Mul => Column::Unsigned(evaluator.mul(a, b)?),
            Self::Less => Column::Conditions(evaluator.lt(a, b)?),
            Self::Equal => Column::Conditions(evaluator.eq(a, b)?),
            Self::Min => Column::Unsigned(evaluator.min(a, b)?),
            Self::Max => Column::Unsigned(evaluator.max(a, b)?),
        })
    }
}

/// The computation.
pub enum Job {
    /// Of two tables.
    Pair(Operator, Box<Reader>),
    /// Each column in ascending order.
    Sort,
}

/// Checks that a file holds numbers.
fn numbers(reader: &Reader, operation: &str) -> Result<()> {
    if !reader.payload.content.is_conditions() {
        return Ok(());
    }
    Err(ContentError::Conditions { name: reader.name.clone(), operation: operation.to_owned() }.into())
}

impl Job {
    /// The description of the result.
    ///
    /// # Errors
    /// The files do not fit together; they hold no numbers.
    pub fn describe(&self, left: &Reader, operation: &str) -> Result<UnsignedNote> {
        numbers(left, operation)?;
        let a = &left.payload.content;
        let Self::Pair(operator, right) = self else { return Ok(a.clone()) };
        numbers(right, operation)?;
        let b = &right.payload.content;
        if a.width != b.width {
            return Err(ContentError::Widths {
                left: left.name.clone(),
                left_width: a.width_text(),
                right: right.name.clone(),
                right_width: b.width_text(),
            }
            .into());
        }
        if (a.rows, a.columns.len()) != (b.rows, b.columns.len()) {
            let shape = |n: &UnsignedNote| format!("{} rows of {}", n.rows, n.columns.len());
            return Err(ContentError::Shapes {
                left: shape(a),
                right: shape(b),
                operation: operation.to_owned(),
            }
            .into());
        }
        let name =
            |(x, y): (&Option<String>, &Option<String>)| if x == y { x.clone() } else { pair_name(x, y) };
        let columns = a.columns.iter().zip(&b.columns).map(name).collect();
        let note = UnsignedNote { columns, ..a.clone() };
        Ok(match operator {
            Operator::Less | Operator::Equal => note.conditions(),
            _ => note,
        })
    }

    /// Computes column by column, all rows in a batch.
    ///
    /// # Errors
    /// A file is damaged; the output cannot be written; the device fails.
    pub fn apply(
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
        let (columns, rows) = (left.payload.content.columns.len(), left.payload.content.rows as usize);
        let steps = if matches!(self, Self::Sort) { sort::pairs(rows) } else { 1 };
        let progress = Meter::new(watch, Stage::Computing, (columns * steps) as u64);
        for _ in 0..columns {
            let a = left.unsigned(device)?;
            let result = match &mut self {
                Self::Pair(operator, right) => {
                    let result = operator.of(&evaluator, &a, &right.unsigned(device)?)?;
                    progress.inc(1);
                    result
                }
                Self::Sort => {
                    Column::Unsigned(sort::ascending(&evaluator, &a, |pairs| progress.inc(pairs as u64))?)
                }
            };
            writer.column(&result)?;
        }
        progress.finish();
        left.end()?;
        if let Self::Pair(_, right) = &mut self {
            right.end()?;
        }
        writer.commit()
    }
}
