//! Columns of integers and of categories under BFV and BGV: exact, modulo t.
//!
//! The public information about a column is its name, bounds of its numbers rounded outwards to
//! powers of two, and the names of categories. Bounds follow every operation: a result that may not
//! fit t is refused before it is computed.

mod aggregate;
mod pair;

use super::unpack::{Opened, Unpack};
use super::{Batches, Columns, Kind};
use crate::error::{ContentError, Error, Problem, Result};
pub use aggregate::Aggregate;

use crate::contents::clear::Plain;
use crate::contents::options::{ColumnCategories, MAX_CATEGORIES, TableFlags};
use crate::contents::packing::Places;
use crate::contents::pairing::Pairing;
use crate::data::table::{Cell, MAX_VALUES, Table, column_number, unguarded, whole};
use crate::io::input::Input;
use crate::note::{Content, IntegerColumnNote, IntegersNote, title};
use crate::scheme::Taken;
use crate::scheme::engine::batch_size;
use crate::scheme::{Rotations, Scheme};
use crate::watch::{Meter, Stage, Watch};
use he_any::layout::Op;
use he_core::exact::Params;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Columns of integers; if a column has categories, its numbers are their indices.
pub struct IntegerTable {
    table: Table<i64>,
    categories: Vec<Option<Vec<String>>>,
    /// Whether every column has vectors of its own.
    unpacked: bool,
}

impl IntegerTable {
    /// A table of numbers as it is, without categories.
    pub fn new(table: Table<i64>) -> Self {
        let categories = vec![None; table.columns().len()];
        Self { table, categories, unpacked: false }
    }
}

/// The categories of a column while it is read.
struct Labels {
    names: Vec<String>,
    index: HashMap<String, usize>,
    /// No others are allowed.
    fixed: bool,
}

impl Labels {
    fn new(given: Option<&[String]>) -> Self {
        let names = given.map(<[String]>::to_vec).unwrap_or_default();
        let index = names.iter().enumerate().map(|(at, name)| (name.clone(), at)).collect();
        Self { names, index, fixed: given.is_some() }
    }

    fn read(&mut self, field: &[u8]) -> Result<i64, Problem> {
        let text = String::from_utf8_lossy(field);
        let text = unguarded(text.trim());
        if text.is_empty() {
            return Err(Problem::NoWord);
        }
        if let Some(&at) = self.index.get(text) {
            return Ok(at as i64);
        }
        if self.fixed {
            return Err(Problem::NoCategory(self.names.join(", ")));
        }
        if self.names.len() == MAX_CATEGORIES {
            return Err(Problem::TooManyCategories(MAX_CATEGORIES));
        }
        self.index.insert(text.to_owned(), self.names.len());
        self.names.push(text.to_owned());
        Ok(self.names.len() as i64 - 1)
    }
}

impl<E: Taken> Kind<E> for IntegerTable {
    type Clear = Self;
    type Note = IntegersNote;

    fn note(content: &Content) -> Option<&IntegersNote> {
        match content {
            Content::Integers(note) => Some(note),
            _ => None,
        }
    }

    fn describe(
        table: &Self,
        params: &Params<E>,
        _halo: Option<usize>,
        _watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(Content::Integers(describe::<E>(table, params)?))
    }

    fn pack<'a>(table: &'a Self, params: &Params<E>, note: &'a IntegersNote) -> Result<Batches<'a, u64>> {
        Ok(pack(table, note, <E as Scheme>::slots(params), params.plain().value()))
    }

    fn pair(operator: Op, left: &IntegersNote, right: &IntegersNote) -> Result<(Content, Vec<Pairing>)> {
        pair::pair(operator, left, right)
    }

    fn unpacker<'a>(file: Opened<'a, E>, note: &IntegersNote) -> Result<Box<dyn Unpack<u64> + 'a>> {
        let (slots, t) = (<E as Scheme>::slots(&file.params), file.params.plain().value());
        Ok(Box::new(IntegersUnpacker::new(file.name, note, slots, t, file.watch)?))
    }
}

impl<E: Taken> Columns<E> for IntegerTable {
    /// Reads a table of whole numbers, and of categories in the columns named for them.
    ///
    /// # Errors
    /// A field is neither; a column does not exist; there are too many categories; the same as for
    /// [`Table::read_fields`].
    fn read(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self> {
        if !flags.offsets.is_empty() {
            return Err(ContentError::Offsets.into());
        }
        let name = input.name().to_owned();
        let shared: Rc<RefCell<Vec<Option<Labels>>>> = Rc::default();
        let labels = Rc::clone(&shared);
        let mut table = Table::read_fields(input, &name, flags.options, |header, width, mark| {
            let mut columns: Vec<Option<Labels>> = (0..width).map(|_| None).collect();
            for ColumnCategories { column, names } in flags.categories {
                let title = |i: usize| header.map(|header| header[i].as_str());
                let at = column_number(width, title, column)?;
                columns[at] = Some(Labels::new(names.as_deref()));
            }
            *labels.borrow_mut() = columns;
            Ok(move |column: usize, field: &[u8]| match &mut labels.borrow_mut()[column] {
                Some(labels) => labels.read(field),
                None => whole(field, &mark),
            })
        })?;
        table.tell(&name, watch);
        if flags.options.nameless {
            table.forget_names();
        }
        let mut categories = Vec::new();
        for (labels, column) in shared.take().into_iter().zip(table.columns_mut()) {
            categories.push(labels.map(|labels| sorted(labels, column)));
        }
        Ok(Self { table, categories, unpacked: flags.unpacked })
    }
}

/// The categories; those that were found are sorted, so that their order reveals nothing about that
/// of the rows.
fn sorted(labels: Labels, column: &mut [i64]) -> Vec<String> {
    if labels.fixed {
        return labels.names;
    }
    // Rows that were omitted may have had others.
    let mut used = vec![false; labels.names.len()];
    column.iter().for_each(|&index| used[index as usize] = true);
    let mut order: Vec<usize> = (0..labels.names.len()).filter(|&index| used[index]).collect();
    order.sort_by(|&a, &b| labels.names[a].cmp(&labels.names[b]));
    let mut place = vec![0; labels.names.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as i64);
    column.iter_mut().for_each(|index| *index = place[*index as usize]);
    order.into_iter().map(|old| labels.names[old].clone()).collect()
}

/// Bounds of numbers, rounded outwards to powers of two as far as t allows.
fn bounds(values: &[i64], t: u64) -> (i64, i64) {
    let (least, greatest) = values.iter().fold((0, 0), |(low, high), &x| (x.min(low), x.max(high)));
    let power = |x: i64| x.unsigned_abs().next_power_of_two() as i64;
    let low = if least < 0 { -power(least) } else { 0 };
    let high = if greatest > 0 { power(greatest + 1) - 1 } else { 0 };
    let top = i128::from(low) + i128::from(t) - 1;
    if i128::from(high) <= top {
        (low, high)
    } else if i128::from(greatest) <= top {
        (low, top as i64)
    } else {
        (least, greatest)
    }
}

/// Describes a table to be encrypted.
///
/// # Errors
/// There are more categories than slots, or too many slots are taken.
fn describe<E: Taken>(table: &IntegerTable, params: &<E as Scheme>::Params) -> Result<IntegersNote> {
    let (rows, slots) = (table.table.rows(), <E as Scheme>::slots(params));
    let named = |i: usize| table.table.header().map(|names| names[i].clone());
    let mut columns = Vec::new();
    for (i, (values, categories)) in table.table.columns().iter().zip(&table.categories).enumerate() {
        let (low, high) = match categories {
            Some(_) => (0, 1),
            None => bounds(values, params.plain().value()),
        };
        let column = IntegerColumnNote { name: named(i), low, high, categories: categories.clone() };
        let title = title(&column, i);
        if column.stride() > slots / 2 {
            return Err(ContentError::Categorical { column: title, slots: slots / 2 }.into());
        }
        if rows.saturating_mul(column.stride()) > MAX_VALUES {
            return Err(ContentError::LongColumn {
                column: title,
                stride: column.stride(),
                rows,
                most: MAX_VALUES,
            }
            .into());
        }
        columns.push(column);
    }
    let note = IntegersNote {
        rows: rows as u64,
        batch: batch_size::<E>(params) as u32,
        summed: false,
        packed: None,
        columns,
        header: table.table.guess(),
    };
    // Short columns share vectors if that saves some.
    let block = rows.next_power_of_two();
    let widest = note.columns.iter().map(IntegerColumnNote::stride).max().unwrap_or(1);
    let shared = IntegersNote { packed: Some(block as u64), batch: 1, ..note.clone() };
    let fits = !table.unpacked && block.saturating_mul(widest) <= slots / 2;
    let saves = |places: &Places| places.vectors.len() < note.columns.len();
    Ok(if fits && shared.places(slots).is_some_and(|places| saves(&places)) { shared } else { note })
}

/// The rotations of integers that sums take: those by powers of two, and the exchange of the rows.
pub fn rotations<E: Taken>(params: &Params<E>) -> Rotations {
    let log_row = params.rlwe().ring().log_n() - 1;
    Rotations { steps: (0..log_row).map(|i| 1i64 << i).collect(), conjugation: true }
}

/// The number of a residue modulo t that is `low` or the least above.
pub fn lift(residue: u64, low: i64, t: u64) -> i64 {
    let above = (i128::from(residue) - i128::from(low)).rem_euclid(i128::from(t));
    (i128::from(low) + above) as i64
}

/// Packs a table into vectors, batch by batch.
fn pack<'a>(table: &'a IntegerTable, note: &'a IntegersNote, slots: usize, t: u64) -> Batches<'a, u64> {
    let columns = table.table.columns();
    if let Some(Places { of, vectors }) = note.places(slots) {
        return Box::new(vectors.into_iter().map(move |members| {
            let mut vector = vec![0; slots];
            for &column in &members {
                let block = block(&columns[column], &note.columns[column], t);
                vector[of[column].slot..][..block.len()].copy_from_slice(&block);
            }
            Ok(vec![vector])
        }));
    }
    let (rows, batch) = (note.rows as usize, note.batch as usize);
    let of_column = move |column: usize| {
        let step = note.columns[column].rows_per_vector(slots) * batch;
        (0..rows).step_by(step).map(move |start| (column, start..rows.min(start + step)))
    };
    Box::new((0..columns.len()).flat_map(of_column).map(move |(column, range)| {
        let about = &note.columns[column];
        let vectors = columns[column][range].chunks(about.rows_per_vector(slots));
        Ok(vectors.map(|values| block(values, about, t)).collect())
    }))
}

/// The slots of some rows of a column.
fn block(values: &[i64], about: &IntegerColumnNote, t: u64) -> Vec<u64> {
    let stride = about.stride();
    if about.categories.is_none() {
        return values.iter().map(|&x| i128::from(x).rem_euclid(i128::from(t)) as u64).collect();
    }
    let mut block = vec![0; values.len() * stride];
    values.iter().enumerate().for_each(|(row, &category)| block[row * stride + category as usize] = 1);
    block
}

/// The fields of rows in the slots of a column, or nothing if they cannot be such.
fn cells(about: &IntegerColumnNote, words: &[Rc<str>], slots: &[u64], t: u64) -> Option<Vec<Cell>> {
    if about.categories.is_none() {
        let number = |&slot| Some(lift(slot, about.low, t)).filter(|&x| x <= about.high).map(Cell::Number);
        return slots.iter().map(number).collect();
    }
    let word = |row: &[u64]| {
        let mut ones = row.iter().enumerate().filter(|&(_, &slot)| slot != 0);
        match (ones.next(), ones.next()) {
            (Some((at, 1)), None) => words.get(at).cloned().map(Cell::Word),
            _ => None,
        }
    };
    slots.chunks(about.stride()).map(word).collect()
}

/// Makes a table of integers and categories. Counts become a table of columns, categories and
/// counts.
struct IntegersUnpacker<'a> {
    name: String,
    note: IntegersNote,
    slots: usize,
    t: u64,
    places: Option<Places>,
    words: Vec<Vec<Rc<str>>>,
    counts: bool,
    columns: Vec<Vec<Cell>>,
    /// The counts of each column's categories, which are put in the order of the columns in the
    /// end.
    sums: Vec<Vec<i64>>,
    progress: Meter<'a>,
}

impl<'a> IntegersUnpacker<'a> {
    fn new(name: String, note: &IntegersNote, slots: usize, t: u64, watch: &'a dyn Watch) -> Result<Self> {
        let batches = Content::Integers(note.clone()).batches(slots)?.count();
        let words = |column: &IntegerColumnNote| -> Vec<Rc<str>> {
            column.categories.iter().flatten().map(|name| Rc::from(name.as_str())).collect()
        };
        let counts = note.summed && note.columns.iter().all(|column| column.categories.is_some());
        Ok(Self {
            name,
            slots,
            t,
            places: note.places(slots),
            words: note.columns.iter().map(words).collect(),
            counts,
            columns: vec![Vec::new(); if counts { 3 } else { note.columns.len() }],
            sums: vec![Vec::new(); note.columns.len()],
            progress: Meter::new(watch, Stage::Decrypting, batches as u64),
            note: note.clone(),
        })
    }

    fn wrong(&self) -> Error {
        ContentError::Undescribed { name: self.name.clone() }.into()
    }

    /// At most `most` rows of a column from the first of these slots on.
    fn take_rows(&mut self, column: usize, slots: &[u64], most: usize) -> Result<()> {
        let about = &self.note.columns[column];
        if self.counts {
            for &slot in &slots[..self.words[column].len()] {
                let count = Some(lift(slot, about.low, self.t)).filter(|&x| x <= about.high);
                let count = count.ok_or_else(|| self.wrong())?;
                self.sums[column].push(count);
            }
            return Ok(());
        }
        let left = self.note.rows as usize - self.columns[column].len();
        let taken = left.min(most) * about.stride();
        let cells = cells(about, &self.words[column], &slots[..taken], self.t);
        let cells = cells.ok_or_else(|| self.wrong())?;
        self.columns[column].extend(cells);
        Ok(())
    }
}

impl Unpack<u64> for IntegersUnpacker<'_> {
    fn take(&mut self, part: usize, vectors: Vec<Vec<u64>>) -> Result<()> {
        if let Some(Places { of, vectors: columns }) = &self.places {
            let vector = vectors.first().ok_or_else(|| self.wrong())?;
            let most = self.note.packed.unwrap_or(1) as usize;
            let members: Vec<_> = columns[part].iter().map(|&column| (column, of[column].slot)).collect();
            members.into_iter().try_for_each(|(c, slot)| self.take_rows(c, &vector[slot..], most))?;
        } else if self.counts {
            self.take_rows(part, vectors.first().ok_or_else(|| self.wrong())?, 1)?;
        } else {
            let most = self.note.columns[part].rows_per_vector(self.slots);
            vectors.iter().try_for_each(|vector| self.take_rows(part, vector, most))?;
        }
        self.progress.inc(1);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Plain> {
        let Self { note, words, counts, mut columns, sums, .. } = *self;
        for (column, sums) in sums.iter().enumerate().filter(|_| counts) {
            for (word, &count) in words[column].iter().zip(sums) {
                columns[0].push(Cell::Word(title(&note.columns[column], column).into()));
                columns[1].push(Cell::Word(Rc::clone(word)));
                columns[2].push(Cell::Number(count));
            }
        }
        let header = match counts {
            true => Some(["column", "category", "count"].map(str::to_owned).to_vec()),
            false => note.columns.iter().map(|column| column.name.clone()).collect(),
        };
        Table::new(header, columns).map(Plain::Cells)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_lifted_above_the_lower_bound() {
        for t in [17u64, 65537, (1 << 60) - 1] {
            for low in [0, -5, -(t as i64) + 1, 3] {
                for x in [low, low + 1, low + t as i64 - 1] {
                    let residue = i128::from(x).rem_euclid(i128::from(t)) as u64;
                    assert_eq!(lift(residue, low, t), x, "{x} from {low} modulo {t}");
                }
            }
        }
    }

    #[test]
    fn bounds_are_rounded_outwards_as_far_as_t_allows() {
        for (values, expected) in [
            (&[0][..], (0, 0)),
            (&[5, 3], (0, 7)),
            (&[8], (0, 15)),
            (&[-8, 1], (-8, 1)),
            (&[-9, 1], (-16, 1)),
            // [-8, 65535] is too wide for 65537 numbers; the numbers themselves are not.
            (&[-5, 40_000], (-8, 65_528)),
            (&[-5, 65_531], (-5, 65_531)),
            (&[-5, 65_532], (-5, 65_532)),
        ] {
            assert_eq!(bounds(values, 65_537), expected, "{values:?}");
        }
        let largest = (1 << 53) - 1;
        assert_eq!(bounds(&[largest, -largest], 1 << 60), (-(1 << 53), largest));
    }
}
