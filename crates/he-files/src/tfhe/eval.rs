//! Computations on encrypted columns of integers.

use super::entries::Entries;
use super::file::{Column, Reader, Writer};
use super::note::{ColumnsNote, Integers};
use super::sort;
use crate::chosen::Chosen;
use crate::cipher_file::Written;
use crate::contents::alike::Described;
use crate::error::Result;
use crate::watch::{Stage, Steps, Watch};
use he::Device;
use he_any::layout::Op;
use he_any::tfhe::Comparison;
use he_core::backend::Tally;
use he_core::tfhe::{
    BootstrapKey, Carry, EncryptedFlags, EncryptedUint, IntegerEvaluator, LweBatch, LweOps, Signed,
    Signedness, Unsigned,
};
use std::sync::Arc;

/// One way on every device: the same files give the same bytes. Ripples are the least work, and
/// rows fill a GPU.
const CARRY: Carry = Carry::Ripple;

/// The operation on two tables, number by number.
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
}

impl Operator {
    /// Applies the operator to the bits of two integers, with or without a sign.
    fn of<S: Signedness, B: LweOps>(
        self,
        evaluator: &IntegerEvaluator<B>,
        a: EncryptedUint<B>,
        b: EncryptedUint<B>,
    ) -> he_core::Result<Column<B>> {
        let (a, b) = (&a.reinterpret::<S>(), &b.reinterpret::<S>());
        Ok(Column::Integers(
            match self {
                Self::Compare(how) => return how.of(evaluator, a, b).map(Column::Conditions),
                Self::Of(Op::Add) => evaluator.add(a, b)?,
                Self::Of(Op::Sub) => evaluator.sub(a, b)?,
                Self::Of(Op::Mul) => evaluator.mul(a, b)?,
                Self::Min => evaluator.min(a, b)?,
                Self::Max => evaluator.max(a, b)?,
            }
            .reinterpret(),
        ))
    }
}

/// The computation.
pub enum Job {
    /// An operator on two tables.
    Pair(Operator, Box<Reader>),
    /// Each column in ascending order.
    Sort,
    /// The sum of each column, modulo 2^width.
    Sum,
    /// The numbers of the first of two tables where a condition holds, those of the second
    /// elsewhere.
    Select(Box<[Reader; 2]>),
    /// The entries of a table at the numbers of a file.
    Lookup(Entries),
}

/// A file as it is compared with others.
fn described(reader: &Reader) -> Described<'_> {
    let note = &reader.payload.content;
    let integers = (!note.is_conditions()).then(|| note.integers());
    Described { file: &reader.name, integers, rows: note.rows, columns: &note.columns }
}

/// The description of numbers that are made of two tables of numbers, one by one.
fn of_pair(left: &Reader, right: &Reader, operation: &str) -> Result<ColumnsNote> {
    let columns = described(left).paired(described(right), operation)?;
    let (a, b) = (&left.payload.content, &right.payload.content);
    Ok(ColumnsNote { columns, picture: a.picture.filter(|_| a.picture == b.picture), ..a.clone() })
}

/// The computation on a column, without its numbers.
#[derive(Clone, Copy)]
struct Work<'a> {
    kind: WorkKind<'a>,
    /// Bits of the numbers.
    width: usize,
    rows: usize,
}

#[derive(Clone, Copy)]
enum WorkKind<'a> {
    Pair(Operator),
    Select,
    Sort,
    Sum,
    Lookup(&'a Entries, Integers),
}

impl Work<'_> {
    /// The lookups that it takes.
    fn lookups<S: Signedness>(self, key: &BootstrapKey) -> Result<u64> {
        let Self { kind, width, rows } = self;
        let tally = Tally::default();
        let evaluator = IntegerEvaluator::new(&tally, key, CARRY)?;
        let zeros = |count| LweBatch::zeros(&tally, key.params(), count);
        // A ciphertext holds two bits of a number.
        let numbers = |rows: usize| EncryptedUint::from_ciphertexts(zeros(rows * width.div_ceil(2))?, width);
        // Rows are independent of each other, except in sums.
        let times = match kind {
            WorkKind::Pair(operator) => {
                operator.of::<S, _>(&evaluator, numbers(1)?, numbers(1)?)?;
                rows
            }
            WorkKind::Select => {
                let condition = EncryptedFlags::from_ciphertexts(zeros(1)?);
                evaluator.select(&condition, &numbers(1)?, &numbers(1)?)?;
                rows
            }
            WorkKind::Sort => {
                let x = numbers(1)?.reinterpret::<S>();
                evaluator.min_max(&x, &x)?;
                sort::pairs(rows)
            }
            WorkKind::Lookup(entries, results) => {
                entries.at(results, &evaluator, &numbers(1)?)?;
                rows
            }
            WorkKind::Sum => {
                evaluator.sum_batch(&numbers(rows)?)?;
                1
            }
        };
        Ok(tally.lookups() * times as u64)
    }
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
                    Operator::Compare(_) => result.conditions(),
                    _ => result,
                })
            }
            Self::Select(choices) => {
                let [yes, no] = &**choices;
                described(left).conditions(operation)?;
                described(left).same_shape(described(yes), operation)?;
                let result = of_pair(yes, no, operation)?;
                let picture = result.picture.filter(|_| result.picture == note.picture);
                Ok(ColumnsNote { picture, ..result })
            }
            Self::Sort | Self::Sum | Self::Lookup(_) => {
                described(left).numbers(operation)?;
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
        (watch, chosen): (&Arc<dyn Watch>, &Chosen),
    ) -> Result<Written> {
        if left.payload.content.signed {
            self.apply_to::<Signed>(device, key, left, writer, (watch, chosen))
        } else {
            self.apply_to::<Unsigned>(device, key, left, writer, (watch, chosen))
        }
    }

    /// The computation on each column of a file of this description.
    fn work(&self, note: &ColumnsNote, key: &BootstrapKey) -> Result<Work<'_>> {
        let (kind, width) = match self {
            Self::Pair(operator, _) => (WorkKind::Pair(*operator), note.width),
            Self::Select(choices) => (WorkKind::Select, choices[0].payload.content.width),
            Self::Sort => (WorkKind::Sort, note.width),
            Self::Sum => (WorkKind::Sum, note.width),
            Self::Lookup(entries) => {
                (WorkKind::Lookup(entries, entries.integers(note, key.params())?), note.width)
            }
        };
        Ok(Work { kind, width: width as usize, rows: note.rows as usize })
    }

    /// The files that it takes.
    pub fn files(&self) -> usize {
        match self {
            Self::Pair(..) => 2,
            Self::Select(_) => 3,
            Self::Sort | Self::Sum | Self::Lookup(_) => 1,
        }
    }

    /// Passes over a column of each file.
    fn pass(&mut self, left: &mut Reader) -> Result<()> {
        left.frame()?;
        match self {
            Self::Pair(_, right) => right.frame().map(drop),
            Self::Select(choices) => choices.iter_mut().try_for_each(|choice| choice.frame().map(drop)),
            _ => Ok(()),
        }
    }

    fn apply_to<S: Signedness>(
        mut self,
        device: &Device,
        key: &BootstrapKey,
        mut left: Reader,
        mut writer: Writer,
        (watch, chosen): (&Arc<dyn Watch>, &Chosen),
    ) -> Result<Written> {
        let note = left.payload.content.clone();
        // A column may take hours: the steps are its lookups, which are equal.
        let total = note.columns.len() as u64 * self.work(&note, key)?.lookups::<S>(key)?;
        let steps = Steps::new(watch);
        let device = &device.overseen(Arc::clone(&steps) as _);
        let evaluator = IntegerEvaluator::new(device, key, CARRY)?;
        let progress = steps.begin(Stage::Computing, total);
        for column in 0..note.columns.len() {
            if !chosen.has(column) {
                self.pass(&mut left)?;
                continue;
            }
            let result = match &mut self {
                Self::Select(choices) => {
                    let [yes, no] = &mut **choices;
                    let condition = left.conditions(device)?;
                    let (x, y) = (yes.integers(device)?, no.integers(device)?);
                    Column::Integers(evaluator.select(&condition, &x, &y)?)
                }
                Self::Pair(operator, right) => {
                    let (a, b) = (left.integers(device)?, right.integers(device)?);
                    operator.of::<S, _>(&evaluator, a, b)?
                }
                Self::Sort => {
                    let x = left.integers(device)?.reinterpret::<S>();
                    let sorted = sort::ascending(&evaluator, &x, |_| {})?;
                    Column::Integers(sorted.reinterpret())
                }
                Self::Sum => Column::Integers(evaluator.sum_batch(&left.integers(device)?)?),
                Self::Lookup(entries) => {
                    let integers = entries.integers(&note, &left.params)?;
                    Column::Integers(entries.at(integers, &evaluator, &left.integers(device)?)?)
                }
            };
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::Progress;
    use he_core::tfhe::{TfheSecretKey, presets};
    use rand::{SeedableRng, rngs::ChaCha20Rng};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// The lookups that were foreseen are those of a device, whatever is computed.
    #[test]
    fn lookups_are_foreseen() {
        let (params, mut rng) = (presets::insecure_small().unwrap(), ChaCha20Rng::seed_from_u64(1));
        let secret = TfheSecretKey::generate(&params, &mut rng);
        let key = BootstrapKey::generate(&secret, &mut rng);
        let told = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&told);
        let watch: Arc<dyn Watch> = Arc::new(move |progress| match progress {
            Progress::Advanced { by } => drop(counted.fetch_add(by, Ordering::Relaxed)),
            Progress::Started { .. } | Progress::Ended => {}
        });
        let steps = Steps::new(&watch);
        let _work = steps.begin(Stage::Computing, u64::MAX);
        let device = Device::cpu().overseen(Arc::clone(&steps) as _);
        let evaluator = IntegerEvaluator::new(&device, &key, CARRY).unwrap();
        let entries = Entries { values: [5, 1, 0, 7, 9, 2, 200].map(Into::into).into(), width: Some(16) };
        let results = Integers { bits: 16, signed: false };
        let less = Operator::Compare(Comparison::Lt);
        let pairs = [Operator::Of(Op::Add), Operator::Of(Op::Mul), less, Operator::Min].map(WorkKind::Pair);
        let others = [WorkKind::Select, WorkKind::Sort, WorkKind::Sum, WorkKind::Lookup(&entries, results)];
        for (at, kind) in pairs.into_iter().chain(others).enumerate() {
            let (width, rows) = ([8, 16][at % 2], [3, 1, 5][at % 3]);
            let values: Vec<u64> = (0..rows as u64).map(|i| 41 * i % 7).collect();
            let x = secret.encrypt_u64(&device, &values, width, &mut rng).unwrap();
            told.store(0, Ordering::Relaxed);
            match kind {
                WorkKind::Pair(operator) => {
                    operator.of::<Signed, _>(&evaluator, x.part(0..rows).unwrap(), x).map(drop)
                }
                WorkKind::Select => {
                    let flags = secret.encrypt_flags(&device, &vec![true; rows], &mut rng).unwrap();
                    evaluator.select(&flags, &x, &x).map(drop)
                }
                WorkKind::Sort => {
                    let sorted = sort::ascending(&evaluator, &x.reinterpret::<Signed>(), |_| {});
                    drop(sorted.unwrap());
                    Ok(())
                }
                WorkKind::Sum => evaluator.sum_batch(&x).map(drop),
                WorkKind::Lookup(entries, results) => entries.at(results, &evaluator, &x).map(drop),
            }
            .unwrap();
            let foreseen = Work { kind, width, rows }.lookups::<Signed>(&key).unwrap();
            assert_eq!(foreseen, told.load(Ordering::Relaxed), "work {at}");
        }
    }
}
