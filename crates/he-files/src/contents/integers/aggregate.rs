//! Sums, counts and inner products of columns of integers.

use super::pair::{beyond, check_shapes};
use crate::cipher_file::CipherReader;
use crate::contents::over_rows::{OverRows, Rows};
use crate::contents::packing::Places;
use crate::contents::uses::{self, Uses};
use crate::error::{ContentError, Result};
use crate::note::{Content, IntegerColumnNote, IntegersNote, check_range, pair_name, title};
use crate::scheme::{Scheme, Taken};
use crate::team::Team;
use crate::watch::{Meter, Stage};
use he::Device;
use he_any::layout::Op;
use he_core::exact::{Ciphertext, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::Wire;

/// The statistics of a table of integers.
pub enum Aggregate<E: Taken> {
    /// The sum of each column of numbers.
    Sum,
    /// The count of each category.
    Count,
    /// The inner product of two columns.
    DotColumns(usize, usize),
    /// The inner products with the columns of another table.
    DotTables(Box<CipherReader<E>>),
}

impl<E: Taken> Aggregate<E> {
    /// The description of the result.
    ///
    /// # Errors
    /// The table, or the other one, is a result already; it has no such columns; the other one has
    /// another shape; the result may not fit t.
    pub fn describe(&self, reader: &CipherReader<E>, note: &IntegersNote) -> Result<IntegersNote> {
        check_original(&reader.name, note)?;
        let numbers = |i: usize| -> Result<&IntegerColumnNote> {
            let column = &note.columns[i];
            match column.categories {
                None => Ok(column),
                Some(_) => Err(ContentError::CategoriesNotNumbers { column: title(column, i) }.into()),
            }
        };
        let times = |(low, high): (i64, i64), title: &str| {
            let rows = i64::try_from(note.rows).ok();
            let product = rows.and_then(|rows| low.checked_mul(rows).zip(high.checked_mul(rows)));
            product.filter(|(low, high)| high.checked_sub(*low).is_some()).ok_or_else(|| beyond(title))
        };
        let product = |x: &IntegerColumnNote, y: &IntegerColumnNote, title: &str| {
            let bounds = Op::Mul.of_ranges((x.low, x.high), (y.low, y.high));
            let (low, high) = times(bounds.ok_or_else(|| beyond(title))?, title)?;
            Ok(IntegerColumnNote { name: pair_name(&x.name, &y.name), low, high, categories: None })
        };
        let columns: Vec<IntegerColumnNote> = match self {
            Self::Sum | Self::Count => {
                let wanted = |column: &IntegerColumnNote| self.takes(column);
                let columns = note.columns.iter().enumerate().filter(|(_, column)| wanted(column));
                let sums = columns.map(|(i, column)| {
                    let (low, high) = times((column.low, column.high), &title(column, i))?;
                    Ok(IntegerColumnNote { name: Some(title(column, i)), low, high, ..column.clone() })
                });
                let named = note.columns.iter().all(|column| column.name.is_some());
                let unnamed = |column: IntegerColumnNote| IntegerColumnNote {
                    name: column.name.filter(|_| named || column.categories.is_some()),
                    ..column
                };
                sums.map(|column| column.map(unnamed)).collect::<Result<_>>()?
            }
            Self::DotColumns(a, b) => vec![product(numbers(*a)?, numbers(*b)?, "a times b")?],
            Self::DotTables(other) => {
                let Content::Integers(with) = &other.payload.content else {
                    return Err(ContentError::ImageForTable { name: other.name.clone() }.into());
                };
                check_original(&other.name, with)?;
                check_shapes(note, with, "dot")?;
                let columns = with.columns.iter().enumerate().map(|(i, y)| {
                    if y.categories.is_some() {
                        return Err(ContentError::CategoriesOf {
                            column: title(y, i),
                            name: other.name.clone(),
                        }
                        .into());
                    }
                    let x = numbers(i)?;
                    product(x, y, &title(x, i))
                });
                columns.collect::<Result<_>>()?
            }
        };
        if columns.is_empty() {
            let name = reader.name.clone();
            return Err(match self {
                Self::Count => ContentError::NoCategories { name },
                _ => ContentError::NoNumbers { name },
            }
            .into());
        }
        let result = IntegersNote { rows: 1, summed: true, columns, ..note.clone() };
        let content = Content::Integers(result.clone());
        check_range(reader.params.plain().value(), &content)?;
        Ok(result)
    }

    /// The frames of the one or two tables that each frame of the result is computed from.
    ///
    /// # Errors
    /// The geometry is impossible.
    pub fn uses(&self, note: &IntegersNote, slots: usize) -> Result<Uses> {
        let files = 1 + usize::from(matches!(self, Self::DotTables(_)));
        let taken = |column: usize| files == 2 || self.takes(&note.columns[column]);
        if let Some(places) = note.places(slots) {
            return Ok(match *self {
                Self::DotColumns(a, b) => {
                    let mut vectors = vec![places.of[a].vector, places.of[b].vector];
                    vectors.dedup();
                    vec![uses::of(1, vectors)]
                }
                _ => {
                    let vectors = places.vectors.iter().enumerate().filter(|(_, columns)| taken(columns[0]));
                    vectors.map(|(vector, _)| uses::of(files, [vector])).collect()
                }
            });
        }
        let content = Content::Integers(note.clone());
        let parts: Vec<usize> = content.batches(slots)?.map(|(column, _)| column).collect();
        let frames = |column: usize| (0..parts.len()).filter(|&frame| parts[frame] == column).collect();
        let frames: Vec<Vec<usize>> = (0..note.columns.len()).map(frames).collect();
        Ok(match *self {
            Self::DotColumns(a, b) if a == b => vec![uses::of(1, frames[a].clone())],
            Self::DotColumns(a, b) => vec![uses::of(1, [&frames[a][..], &frames[b]].concat())],
            _ => {
                let columns = (0..frames.len()).filter(|&column| taken(column) && !frames[column].is_empty());
                columns.map(|column| uses::of(files, frames[column].clone())).collect()
            }
        })
    }

    /// Whether the sum is over this kind of column.
    fn takes(&self, column: &IntegerColumnNote) -> bool {
        column.categories.is_some() == matches!(self, Self::Count)
    }
}

impl<E: Taken> OverRows<E> for Aggregate<E> {
    fn other(&mut self) -> Option<&mut CipherReader<E>> {
        match self {
            Self::DotTables(other) => Some(other),
            _ => None,
        }
    }

    fn compute(&mut self, rows: Rows<'_, E>) -> Result<()> {
        let Rows { team, keys, reader, note, lower, writer } = rows;
        let engine = team.lead();
        let (ev, slots) = (&engine.evaluator, <E as Scheme>::slots(&engine.params));
        let content = Content::Integers(note.clone());
        let batches = |column: usize| -> Result<Vec<usize>> {
            Ok(content.batches(slots)?.filter(|&(of, _)| of == column).map(|(_, count)| count).collect())
        };
        let mut send = |result: Ciphertext<E, Device>| -> Result<()> {
            let result = if lower { <E as Scheme>::lowered(engine, &result, f64::INFINITY)? } else { result };
            writer.send(result.to_frame(&engine.params)?.seal())
        };
        if let Some(places) = note.places(slots) {
            return self.apply_packed(team, keys, reader, note, &places, &mut send);
        }
        let mut finish = |total: Option<Ciphertext<E, Device>>, stride: usize| -> Result<()> {
            let total = total.ok_or(ContentError::NoRows)?;
            send(sum_rows(ev, total, stride, keys)?)
        };
        let progress = Meter::new(team.watch(), Stage::Computing, content.vectors(slots)?);
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Vec<Ciphertext<E, Device>>; 2] = [Vec::new(), Vec::new()];
            for column in 0..note.columns.len() {
                for count in batches(column)? {
                    let ct = reader.next(&engine.ring, count)?;
                    if column == a {
                        kept[0].push(ct);
                    } else if column == b {
                        kept[1].push(ct);
                    }
                    progress.inc(count as u64);
                }
            }
            let [left, right] = &kept;
            let right = if a == b { left } else { right };
            let mut total = None;
            for (x, y) in left.iter().zip(right) {
                add_batch(ev, &mut total, &ev.mul(x, y, keys)?)?;
            }
            finish(total, 1)?;
        } else {
            let mut result = 0..;
            for (index, column) in note.columns.iter().enumerate() {
                let mut total = None;
                let taken = matches!(self, Self::DotTables(_)) || self.takes(column);
                let left_out = taken && !result.next().is_some_and(|result| team.computes(result));
                for count in batches(index)? {
                    if left_out {
                        self.pass(reader)?;
                        continue;
                    }
                    let ct = reader.next(&engine.ring, count)?;
                    match self {
                        Self::DotTables(other) => {
                            let with = other.next(&engine.ring, count)?;
                            add_batch(ev, &mut total, &ev.mul(&ct, &with, keys)?)?;
                        }
                        _ if self.takes(column) => add_batch(ev, &mut total, &ct)?,
                        _ => {}
                    }
                    progress.inc(count as u64);
                }
                if total.is_some() {
                    finish(total, column.stride())?;
                }
            }
        }
        progress.finish();
        Ok(())
    }
}

impl<E: Taken> Aggregate<E> {
    /// Passes over a frame of each file.
    fn pass(&mut self, reader: &mut CipherReader<E>) -> Result<()> {
        reader.frame()?;
        match self {
            Self::DotTables(other) => other.frame().map(drop),
            _ => Ok(()),
        }
    }

    /// For columns that share vectors, computes all columns of a vector at once.
    fn apply_packed(
        &mut self,
        team: &Team<E>,
        keys: &EvaluationKeys<Device>,
        reader: &mut CipherReader<E>,
        note: &IntegersNote,
        places: &Places,
        send: &mut dyn FnMut(Ciphertext<E, Device>) -> Result<()>,
    ) -> Result<()> {
        let engine = team.lead();
        let (ev, rows) = (&engine.evaluator, note.packed.unwrap_or(1) as usize);
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Option<Ciphertext<E, Device>>; 2] = [None, None];
            for vector in 0..places.vectors.len() {
                let ct = reader.next(&engine.ring, 1)?;
                for (kept, column) in kept.iter_mut().zip([a, b]) {
                    if places.of[column].vector == vector {
                        *kept = Some(first_block(ev, &ct, places.of[column].slot, keys)?);
                    }
                }
            }
            let [Some(x), Some(y)] = &kept else {
                return Err(ContentError::NoSuchColumns.into());
            };
            return send(sum_block(ev, ev.mul(x, y, keys)?, 1, rows, keys)?);
        }
        let progress = Meter::new(team.watch(), Stage::Computing, places.vectors.len() as u64);
        let mut result = 0..;
        for columns in &places.vectors {
            let taken = matches!(self, Self::DotTables(_)) || self.takes(&note.columns[columns[0]]);
            if taken && !result.next().is_some_and(|result| team.computes(result)) {
                self.pass(reader)?;
                continue;
            }
            let ct = reader.next(&engine.ring, 1)?;
            let with = match self {
                Self::DotTables(other) => Some(other.next(&engine.ring, 1)?),
                _ => None,
            };
            // All columns of a vector are of one kind.
            let column = &note.columns[columns[0]];
            match with {
                Some(with) => send(sum_block(ev, ev.mul(&ct, &with, keys)?, 1, rows, keys)?)?,
                None if self.takes(column) => send(sum_block(ev, ct, column.stride(), rows, keys)?)?,
                None => {}
            }
            progress.inc(1);
        }
        progress.finish();
        Ok(())
    }
}

/// Brings the values from a slot on to the first slots.
fn first_block<E: Taken>(
    ev: &Evaluator<E, Device>,
    ct: &Ciphertext<E, Device>,
    slot: usize,
    keys: &EvaluationKeys<Device>,
) -> Result<Ciphertext<E, Device>> {
    let row = ev.ring().n() / 2;
    let ct = if slot < row { ct.duplicate()? } else { ev.swap_rows(ct, keys)? };
    Ok(if slot.is_multiple_of(row) { ct } else { ev.rotate(&ct, (slot % row) as i64, keys)? })
}

/// Replaces every slot by the sum of `rows` slots from it on, `stride` apart; both are powers of
/// two.
fn sum_block<E: Taken>(
    ev: &Evaluator<E, Device>,
    ct: Ciphertext<E, Device>,
    stride: usize,
    rows: usize,
    keys: &EvaluationKeys<Device>,
) -> Result<Ciphertext<E, Device>> {
    let (mut sum, mut step) = (ct, stride);
    while step < stride * rows {
        sum = ev.add(&sum, &ev.rotate(&sum, step as i64, keys)?)?;
        step *= 2;
    }
    Ok(sum)
}

/// Checks that a table is not a sum, which would be in all slots.
fn check_original(name: &str, note: &IntegersNote) -> Result<()> {
    match note.summed {
        false => Ok(()),
        true => Err(ContentError::IsSum { name: name.to_owned() }.into()),
    }
}

/// Adds all entries of a batch.
fn add_batch<E: Taken>(
    ev: &Evaluator<E, Device>,
    total: &mut Option<Ciphertext<E, Device>>,
    batch: &Ciphertext<E, Device>,
) -> Result<()> {
    for entry in 0..batch.batch() {
        let part = batch.slice_batch(entry..entry + 1)?;
        *total = Some(match total.take() {
            Some(sum) => ev.add(&sum, &part)?,
            None => part,
        });
    }
    Ok(())
}

/// Every slot becomes the sum of all slots whose index is the same modulo `stride`, a power of two
/// up to N / 2.
fn sum_rows<E: Taken>(
    ev: &Evaluator<E, Device>,
    ct: Ciphertext<E, Device>,
    stride: usize,
    keys: &EvaluationKeys<Device>,
) -> Result<Ciphertext<E, Device>> {
    let sum = sum_block(ev, ct, stride, ev.ring().n() / 2 / stride, keys)?;
    Ok(ev.add(&sum, &ev.swap_rows(&sum, keys)?)?)
}
