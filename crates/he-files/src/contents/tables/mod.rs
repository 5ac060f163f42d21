//! Columns of numbers under encryption.

use super::{Columns, Kind, Sink};
use crate::cipher_file::{CipherReader, CipherWriter, Written};
use crate::contents::clear::{Plain, View};
use crate::contents::options::{ColumnOffset, Offset, TableFlags};
use crate::contents::packing::{Places, Weights, weighted};
use crate::contents::operator::{Operator, Pairing};
use crate::data::table::{Table, column_number};
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::io::output::Output;
use crate::note::{ColumnNote, Content, EXPONENT, Payload, TableNote, pair_name, scale};
use crate::scheme::engine::{Engine, batch_size};
use crate::scheme::{Ckks, Decrypt, Real, Scheme};
use crate::team::{Jobs, Team};
use crate::watch::{Meter, Stage, Warning, Watch};
use he::Device;
use he_core::circuits::ckks::{dot, sum};
use he_core::circuits::pack_column;
use he_core::ckks::{Ciphertext, CkksParams, Complex64, Evaluator};
use he_core::rlwe::EvaluationKeys;
use he_core::wire::{SealedFrame, Wire};
use std::ops::Range;

/// The bits by which an offset must bring a column closer to zero to be chosen by default: a
/// variance of such numbers loses twice as many.
const WORTHWHILE: i32 = 4;
/// The most bits of an offset, in units of its column, with which sums over rows stay exact, or
/// nearly so.
const OFFSET_BITS: i32 = 40;
/// The most bits of precision for which users are told to make keys.
const FINEST: u32 = 60;

/// Columns of real numbers, and the offset of each.
pub struct RealTable {
    table: Table,
    offsets: Vec<Offset>,
    /// Whether every column has vectors of its own.
    unpacked: bool,
}

impl<S: Real> Columns<S> for RealTable {
    fn read(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self> {
        read(input, flags, S::NAME, watch)
    }
}

impl<S: Real> Kind<S> for RealTable {
    type Clear = Self;
    type Note = TableNote;

    fn note(content: &Content) -> Option<&TableNote> {
        match content {
            Content::Table(note) => Some(note),
            _ => None,
        }
    }

    fn describe(
        table: &Self,
        params: &S::Params,
        _halo: Option<usize>,
        watch: &dyn Watch,
    ) -> Result<Content> {
        Ok(Content::Table(describe::<S>(table, params, watch)?))
    }

    fn pack(
        table: &Self,
        _params: &S::Params,
        note: &TableNote,
        sink: &mut Sink<'_, Complex64>,
        watch: &dyn Watch,
    ) -> Result<()> {
        pack(table, note, sink, watch)
    }

    fn pair(operator: Operator, left: &TableNote, right: &TableNote) -> Result<(Content, Vec<Pairing>)> {
        pair(operator, left, right)
    }

    fn unpack(
        team: &Team<S>,
        reader: &mut CipherReader<S>,
        note: &TableNote,
        decryptors: &[Decrypt<'_, S>],
        _view: View,
    ) -> Result<Plain> {
        decode(team, reader, note, decryptors).map(Plain::Table)
    }
}

/// Reads a table of real numbers.
///
/// # Errors
/// The input is not a table of numbers; columns of categories are requested; an offset names no
/// column.
fn read(input: Input, flags: TableFlags<'_>, scheme: &str, watch: &dyn Watch) -> Result<RealTable> {
    if !flags.categories.is_empty() {
        return Err(ContentError::Categories { scheme: scheme.to_owned() }.into());
    }
    let name = input.name().to_owned();
    let table = Table::read(input, &name, flags.options)?;
    table.tell(&name, watch);
    let others = flags.offsets.iter().rev().find(|flag| flag.column.is_none());
    let mut offsets = vec![others.map_or_else(Offset::default, |flag| flag.offset); table.columns().len()];
    for ColumnOffset { column, offset } in flags.offsets {
        if let Some(column) = column {
            let title = |i: usize| table.header().map(|header| header[i].as_str());
            let at = column_number(offsets.len(), title, column)?;
            offsets[at] = *offset;
        }
    }
    Ok(RealTable { table, offsets, unpacked: flags.unpacked })
}

/// Describes a table to be encrypted. Each column, less its offset, is scaled by the power of two
/// that brings it below one. Warns about numbers below the precision.
///
/// # Errors
/// A given offset does not suit its column.
fn describe<S: Real>(table: &RealTable, params: &S::Params, watch: &dyn Watch) -> Result<TableNote> {
    let RealTable { table, offsets, unpacked } = table;
    let name = |i: usize| table.header().map(|names| names[i].clone());
    let columns = table.columns().iter().zip(offsets).enumerate().map(|(i, (column, &offset))| {
        let (offset, exponent) = placed(column, offset, &title(&name(i), i))?;
        Ok(ColumnNote { name: name(i), exponent, count: 1, offset, precision_bits: None })
    });
    // No more slots than needed: the noise of a sum is that of all slots.
    let (full, block) = (S::slots(params), table.rows().next_power_of_two());
    let packed = !unpacked && table.columns().len() > 1 && 2 * block <= full;
    let slots = match packed {
        true => block.saturating_mul(table.columns().len().next_power_of_two()).min(full),
        false => block.min(full),
    };
    let sparse = S::slots(params) as f64 / slots as f64;
    let note = TableNote {
        rows: table.rows() as u64,
        slots: slots as u64,
        batch: if packed { 1 } else { batch_size::<S>(params) as u32 },
        // The noise of a slot comes from the 2 slots coefficients of its vector.
        precision_bits: S::fresh_precision_bits(params) + sparse.log2() / 2.0,
        packed: packed.then_some(block as u64),
        columns: columns.collect::<Result<_>>()?,
        header: table.guess(),
    };
    for (i, (column, about)) in table.columns().iter().zip(&note.columns).enumerate() {
        if let Some(lost) = lost(column, error_log2(&note, about)) {
            let title = title(&about.name, i);
            let message = format!(
                "column {title} holds numbers from {:e} to {:e} in magnitude, a ratio of {:.1e}: {} of {} will come back as 0",
                lost.least,
                lost.greatest,
                lost.greatest / lost.least,
                lost.count,
                column.len()
            );
            let hint = match precision_for::<S>(params, lost.missing_bits) {
                Some(bits) => format!(
                    "make keys with keygen --precision {bits}, or put numbers of unlike size into columns of their own"
                ),
                None => "put numbers of unlike size into columns of their own".to_owned(),
            };
            watch.warn(&Warning { message, hint });
        }
    }
    Ok(note)
}

/// The name of a column for people, or its number from 1 on.
fn title(name: &Option<String>, index: usize) -> String {
    name.clone().unwrap_or_else(|| (index + 1).to_string())
}

/// The offset of a column, and the exponent of the differences.
///
/// An offset is a multiple k 2^e of the power of two that scales the column, which reveals that all
/// numbers lie between (k - 1) 2^e and (k + 1) 2^e. It is chosen for columns that are narrower than
/// a sixteenth of the power of two above their greatest magnitude, with the least e for which such
/// a k exists, and not for a column of one repeated number, which it would reveal.
///
/// # Errors
/// A given offset is too far away.
fn placed(column: &[f64], offset: Offset, title: &str) -> Result<(f64, i32)> {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = column.iter().fold(start, |(low, high), &x| (x.min(low), x.max(high)));
    let plain = exponent_of(low.abs().max(high.abs()));
    // The multiple of 2^e next to x, if all numbers lie less than 2^e away from it.
    let near = |x: f64, exponent: i32| {
        let units = scale(x, -exponent);
        if units.abs() >= f64::from(OFFSET_BITS + 1).exp2() {
            return None;
        }
        // Rounds to the nearest whole number.
        const WHOLE: f64 = 6_755_399_441_055_744.0;
        let offset = scale((units + WHOLE) - WHOLE, exponent);
        let unit = scale(1.0, exponent);
        (offset.is_finite() && high - offset < unit && offset - low < unit).then_some((offset, exponent))
    };
    match offset {
        Offset::None => Ok((0.0, plain)),
        Offset::Given(value) => {
            let widest = (high - value).max(value - low);
            if !widest.is_finite() {
                return Err(ContentError::FarOffset { value, column: title.to_owned() }.into());
            }
            Ok((value, exponent_of(widest).max(exponent_of(value) - OFFSET_BITS)))
        }
        Offset::Auto => {
            let width = high - low;
            if low == high || !width.is_finite() || exponent_of(width) + WORTHWHILE > plain {
                return Ok((0.0, plain));
            }
            let least = (exponent_of(width) - 1).max(plain - OFFSET_BITS);
            let found = (least..least + 2).find_map(|exponent| near(low + width / 2.0, exponent));
            Ok(found.unwrap_or((0.0, plain)))
        }
    }
}

/// The numbers that are decrypted as zero.
struct Lost {
    count: usize,
    /// The smallest magnitude above zero.
    least: f64,
    greatest: f64,
    /// The bits of precision that the smallest one lacks.
    missing_bits: f64,
}

/// The numbers of a column that are lost in errors of 2^error_log2.
fn lost(column: &[f64], error_log2: f64) -> Option<Lost> {
    let limit = unit(decimals(error_log2)) / 2.0;
    let (mut count, mut least, mut greatest) = (0, f64::INFINITY, 0f64);
    for size in column.iter().map(|x| x.abs()).filter(|&size| size > 0.0) {
        count += usize::from(size < limit);
        (least, greatest) = (least.min(size), greatest.max(size));
    }
    (count > 0).then(|| Lost { count, least, greatest, missing_bits: limit.log2() - least.log2() })
}

/// The `--precision` of keys with this many more bits than these, if possible.
fn precision_for<S: Real>(params: &S::Params, more: f64) -> Option<u32> {
    let bits = (S::fresh_precision_bits(params) + more).ceil();
    let possible = |bits: &u32| *bits <= FINEST && S::reaches(params, *bits);
    Some(bits as u32).filter(possible)
}

/// log2 of the error bound of a column's values.
fn error_log2(note: &TableNote, column: &ColumnNote) -> f64 {
    let encrypted = f64::from(column.exponent) - note.bits(column);
    // The offset is a double, too.
    let rounding =
        if column.offset == 0.0 { f64::NEG_INFINITY } else { f64::from(exponent_of(column.offset) - 54) };
    encrypted.max(rounding)
}

/// The least exponent with 2^exponent > x, for x >= 0, also for subnormal numbers; 0 for 0.
fn exponent_of(x: f64) -> i32 {
    let bits = x.abs().to_bits();
    match (bits >> 52) as i32 {
        0 if bits == 0 => 0,
        0 => (64 - bits.leading_zeros()) as i32 - 1074,
        biased => biased - 1022,
    }
}

/// Rows of the batches of a column.
fn batches(note: &TableNote) -> impl Iterator<Item = Range<usize>> + use<> {
    let (rows, step) = (note.rows as usize, note.slots as usize * note.batch as usize);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
}

/// Packs a table into vectors, batch by batch.
///
/// # Errors
/// The errors of the sink.
fn pack(
    table: &RealTable,
    note: &TableNote,
    sink: &mut Sink<'_, Complex64>,
    watch: &dyn Watch,
) -> Result<()> {
    let (table, slots) = (&table.table, note.slots as usize);
    let progress = Meter::new(watch, Stage::Encrypting, note.columns.len() as u64);
    let encrypted = |x: f64, about: &ColumnNote| scale(x - about.offset, -about.exponent);
    if let Some(places) = note.places() {
        for columns in &places.vectors {
            let mut vector = vec![Complex64::ZERO; slots];
            for &column in columns {
                let rows = vector[places.of[column].slot..].iter_mut().zip(&table.columns()[column]);
                rows.for_each(|(slot, &x)| slot.re = encrypted(x, &note.columns[column]));
            }
            sink(vec![vector])?;
            progress.inc(columns.len() as u64);
        }
        progress.finish();
        return Ok(());
    }
    for (column, about) in table.columns().iter().zip(&note.columns) {
        for range in batches(note) {
            let scaled: Vec<f64> = column[range].iter().map(|&x| encrypted(x, about)).collect();
            sink(pack_column(&scaled, slots)?)?;
        }
        progress.inc(1);
    }
    progress.finish();
    Ok(())
}

/// Decrypts a table.
///
/// # Errors
/// The file is damaged; the device fails; the result holds no numbers.
fn decode<S: Real>(
    team: &Team<S>,
    reader: &mut CipherReader<S>,
    note: &TableNote,
    decryptors: &[Decrypt<'_, S>],
) -> Result<Table> {
    let content = Content::Table(note.clone());
    let batches: Vec<(usize, usize)> = content.batches(S::slots(&reader.params))?.collect();
    let progress = Meter::new(team.watch(), Stage::Decrypting, batches.len() as u64);
    let (decoder, name) = (reader.decoder(), reader.name.clone());
    let source = |jobs: &mut Jobs<(SealedFrame, usize, usize)>| {
        batches.iter().try_for_each(|&(part, count)| jobs.give((reader.frame()?, part, count)))?;
        reader.end()
    };
    let work = |at: usize, (frame, part, count): (SealedFrame, usize, usize)| {
        let ct = decoder.decode(&team.engines()[at].ring, frame, count)?;
        let slots = decryptors[at](&ct)?.into_iter().flatten().map(|z| z.re);
        Ok((part, slots.collect::<Vec<f64>>()))
    };
    let (rows, places) = (note.rows as usize, note.places());
    let mut columns: Vec<Vec<f64>> = vec![Vec::new(); note.columns.len()];
    team.run(source, work, |(part, slots)| {
        match &places {
            None => {
                let left = rows - columns[part].len();
                columns[part].extend(slots.into_iter().take(left));
            }
            Some(places) => {
                for &column in &places.vectors[part] {
                    columns[column] = slots[places.of[column].slot..][..rows].to_vec();
                }
            }
        }
        progress.inc(1);
        Ok(())
    })?;
    progress.finish();
    let statistic =
        reader.payload.history.last().map(String::as_str).filter(|name| STATISTICS.contains(name));
    for (i, (column, about)) in columns.iter_mut().zip(&note.columns).enumerate() {
        // Results of products over many rows are larger than one by at most their count.
        if column.iter().any(|x| x.is_nan() || x.abs() > 4.0 * about.count as f64) {
            return Err(ContentError::Size { name }.into());
        }
        let error_log2 = error_log2(note, about);
        let exact = |&x: &f64| about.offset + scale(x, about.exponent);
        let values: Vec<f64> = column.iter().map(exact).collect();
        if values.iter().any(|x| !x.is_finite()) {
            return Err(ContentError::Overflow { name }.into());
        }
        *column = values.iter().map(|&x| round_to_noise(x, error_log2)).collect();
        if let (Some(statistic), [value]) = (statistic, values.as_slice()) {
            let variance = statistic == "variance";
            // A variance is never negative.
            let size = if variance { *value } else { value.abs() };
            if size < error_log2.exp2() {
                let title = title(&about.name, i);
                let warning = undetermined::<S>(&reader.params, statistic, &title, error_log2);
                team.watch().warn(&warning);
                column[0] = if variance { f64::NAN } else { 0.0 };
            }
        }
    }
    let names: Option<Vec<String>> = note.columns.iter().map(|about| about.name.clone()).collect();
    Table::new(names, columns)
}

/// The error of a result that is lost in errors of up to 2^error_log2.
fn undetermined<S: Real>(params: &S::Params, statistic: &str, title: &str, error_log2: f64) -> Warning {
    let now = S::fresh_precision_bits(params);
    let finest = (now as u32 + 1..=FINEST).rev().find(|&bits| S::reaches(params, bits));
    let offset = "encrypt the column with --offset if it lies far from zero";
    let hint = match finest {
        Some(bits) => {
            let error = (error_log2 - (f64::from(bits) - now)).exp2();
            format!("keys of --precision {bits} would, down to {error:.1e}; or {offset}")
        }
        None => offset.to_owned(),
    };
    let error = error_log2.exp2();
    let message = format!(
        "the {statistic} of column {title} is not determined at this precision: it is below its error bound of {error:.1e}"
    );
    Warning { message, hint }
}

/// Columns that were combined one by one.
///
/// In sums the column of the smaller exponent is divided by the power of two between them, which
/// takes as much as a product; of equal exponents nothing.
///
/// # Errors
/// The tables differ in shape, or results would be too large or too small for any number.
fn pair(operator: Operator, a: &TableNote, b: &TableNote) -> Result<(Content, Vec<Pairing>)> {
    check_shapes(a, b, operator.name())?;
    let too_large = |exponent: i32| ContentError::Exponent { exponent };
    let mut factors = Vec::new();
    let mut columns = Vec::new();
    let mut noises = Vec::new();
    for (x, y) in a.columns.iter().zip(&b.columns) {
        let (exponent, count, offset) = match operator {
            Operator::Mul => (x.exponent + y.exponent, product_bound(x, y), x.offset * y.offset),
            Operator::Add => {
                (x.exponent.max(y.exponent), x.count.saturating_add(y.count), x.offset + y.offset)
            }
            Operator::Sub => {
                (x.exponent.max(y.exponent), x.count.saturating_add(y.count), x.offset - y.offset)
            }
        };
        if !EXPONENT.contains(&exponent) || !offset.is_finite() {
            return Err(too_large(exponent).into());
        }
        factors.push(match operator {
            // (x + a) (y + b) = x y + b x + a y + a b, the last of which is public.
            Operator::Mul => (y.shift(), x.shift()),
            _ => {
                let factor = |own: i32| (-f64::from(exponent.abs_diff(own))).exp2();
                (factor(x.exponent), factor(y.exponent))
            }
        });
        // Numbers of a column are below its count; relinearisation and division add less than fresh
        // noise.
        let (noise_x, noise_y) = ((-a.bits(x)).exp2(), (-b.bits(y)).exp2());
        noises.push(match operator {
            Operator::Mul => {
                let shifts = y.shift().abs() * noise_x + x.shift().abs() * noise_y;
                y.count as f64 * noise_x + x.count as f64 * noise_y + noise_x.max(noise_y) + shifts
            }
            _ => noise_x + noise_y + noise_x.max(noise_y),
        });
        let name = if x.name == y.name { x.name.clone() } else { pair_name(&x.name, &y.name) };
        columns.push(ColumnNote { name, exponent, count, offset, precision_bits: None });
    }
    let slots = a.slots.max(b.slots);
    let note = TableNote { slots, ..with_noises(a, columns, &noises) };
    // How each vector, or column, of these factors is computed; `weights` makes one of those of its
    // columns.
    let pairing = |factors: &[(f64, f64)], weights: &dyn Fn(Vec<f64>) -> Weights| {
        let left: Vec<f64> = factors.iter().map(|factor| factor.0).collect();
        let right: Vec<f64> = factors.iter().map(|factor| factor.1).collect();
        let all = |side: &[f64], x: f64| side.iter().all(|&factor| factor == x);
        match operator {
            Operator::Mul if all(&left, 0.0) && all(&right, 0.0) => Pairing::Slots,
            Operator::Mul => Pairing::Shifted { left: weights(left), right: weights(right) },
            _ => {
                let unless_one = |side: Vec<f64>| (!all(&side, 1.0)).then(|| weights(side));
                Pairing::Weighted { left: unless_one(left), right: unless_one(right) }
            }
        }
    };
    let pairings = match (note.places(), note.packed) {
        (Some(places), Some(block)) => {
            let of_vector = |columns: &Vec<usize>| {
                let factors: Vec<(f64, f64)> = columns.iter().map(|&column| factors[column]).collect();
                pairing(&factors, &|of| Weights::Blocks { block: block as usize, of })
            };
            places.vectors.iter().map(of_vector).collect()
        }
        _ => factors.chunks(1).map(|factor| pairing(factor, &|of| Weights::All(of[0]))).collect(),
    };
    Ok((Content::Table(note), pairings))
}

/// A bound on the encrypted products of two columns.
fn product_bound(x: &ColumnNote, y: &ColumnNote) -> u64 {
    let product = x.count.saturating_mul(y.count);
    if x.offset == 0.0 && y.offset == 0.0 {
        return product;
    }
    // The cast saturates.
    let shifts = (y.shift() * x.count as f64).abs() + (x.shift() * y.count as f64).abs();
    product.saturating_add(shifts.ceil() as u64)
}

/// The description of results with these error bounds, before exponents. The table states the
/// greatest; columns state their own where it is another.
fn with_noises(note: &TableNote, columns: Vec<ColumnNote>, noises: &[f64]) -> TableNote {
    let worst = noises.iter().fold(0f64, |most, &noise| most.max(noise));
    let own = |(column, &noise): (ColumnNote, &f64)| ColumnNote {
        precision_bits: (noise != worst).then(|| -noise.log2()),
        ..column
    };
    let columns = columns.into_iter().zip(noises).map(own).collect();
    TableNote { columns, precision_bits: -worst.log2(), ..note.clone() }
}

/// Checks that two tables have the same shape.
fn check_shapes(a: &TableNote, b: &TableNote, operation: &str) -> Result<()> {
    if (a.rows, a.columns.len()) == (b.rows, b.columns.len()) {
        let alike = (a.batch, a.packed) == (b.batch, b.packed) && (a.packed.is_none() || a.slots == b.slots);
        return if alike { Ok(()) } else { Err(ContentError::Layouts.into()) };
    }
    let shape = |n: &TableNote| format!("{} rows of {}", n.rows, n.columns.len());
    Err(ContentError::Shapes { left: shape(a), right: shape(b), operation: operation.to_owned() }.into())
}

/// x rounded to the decimals that noise of up to 2^noise_log2 leaves: as many as half a unit of the
/// last one exceeds it, so that whatever had no more decimals comes back as it was.
fn round_to_noise(x: f64, noise_log2: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let decimals = decimals(noise_log2);
    let digits = x.abs().log10().floor() + decimals;
    // Sums with 0.0 turn -0.0 into 0.0.
    if digits < 0.0 {
        let unit = unit(decimals);
        return if x.abs() >= unit / 2.0 { x.signum() * unit } else { 0.0 };
    }
    // More digits than numbers have make no difference.
    format!("{x:.0$e}", digits.min(40.0) as usize).parse().unwrap_or(x) + 0.0
}

/// Decimals whose half unit exceeds noise of 2^noise_log2.
fn decimals(noise_log2: f64) -> f64 {
    -((noise_log2 + 1.0) * std::f64::consts::LOG10_2).ceil()
}

/// The unit of the last of this many decimals.
fn unit(decimals: f64) -> f64 {
    format!("1e{}", -decimals).parse().unwrap_or(0.0)
}

/// The statistics of a table.
pub enum Statistic {
    /// The sum of each column.
    Sum,
    /// The mean of each column.
    Mean,
    /// The population variance of each column.
    Variance,
    /// The inner product of two columns.
    DotColumns(usize, usize),
    /// The inner products with the columns of another table.
    DotTables(Box<CipherReader<Ckks>>),
}

impl Statistic {
    /// The description of the result.
    ///
    /// # Errors
    /// The table, or the other one, is a result already; the other one has another shape; results
    /// would be too large or too small for any number.
    pub fn describe(&self, reader: &CipherReader<Ckks>, note: &TableNote) -> Result<TableNote> {
        check_original(reader)?;
        let with = match self {
            Self::DotTables(other) => {
                let Content::Table(with) = &other.payload.content else {
                    return Err(ContentError::ImageForTable { name: other.name.clone() }.into());
                };
                check_original(other)?;
                check_shapes(note, with, "dot")?;
                Some(with)
            }
            _ => None,
        };
        self.result(&reader.params, note, with)
    }

    /// The description of the result of a table, and of another one for inner products with that.
    fn result(&self, params: &CkksParams, note: &TableNote, with: Option<&TableNote>) -> Result<TableNote> {
        let rows = note.rows;
        let columns: Result<Vec<ColumnNote>> = self
            .operands(note, with)
            .map(|(x, y)| {
                let (name, exponent, offset) = match (self, y) {
                    (_, Some((_, y))) => {
                        let name = pair_name(&x.name, &y.name);
                        (name, x.exponent + y.exponent, x.offset * y.offset * rows as f64)
                    }
                    (Self::Sum, None) => (x.name.clone(), x.exponent, x.offset * rows as f64),
                    // The variance of a single number is 0, whatever the noise.
                    (Self::Variance, None) if rows == 1 => (x.name.clone(), *EXPONENT.start(), 0.0),
                    // The distance from zero does not matter.
                    (Self::Variance, None) => (x.name.clone(), 2 * x.exponent, 0.0),
                    (_, None) => (x.name.clone(), x.exponent, x.offset),
                };
                if !EXPONENT.contains(&exponent) || !offset.is_finite() {
                    return Err(ContentError::Exponent { exponent }.into());
                }
                // Between the blocks of columns that share vectors stand sums over parts of two.
                let block = note.packed.unwrap_or(rows);
                let mean = x.count.saturating_mul(block.div_ceil(rows));
                let count = match (self, y) {
                    (Self::Mean, _) => mean,
                    (Self::Variance, _) if note.packed.is_none() => mean.saturating_mul(mean),
                    (Self::Variance, _) => mean.saturating_mul(mean).saturating_mul(2),
                    _ => self.sum_bound(block, x, y),
                };
                Ok(ColumnNote { name, exponent, count, offset, precision_bits: None })
            })
            .collect();
        let noises: Vec<f64> =
            self.operands(note, with).map(|(x, y)| self.noise(params, note, x, y)).collect();
        Ok(TableNote { rows: 1, ..with_noises(note, columns?, &noises) })
    }

    /// The columns that each result comes from; the second ones with the table that they are of.
    fn operands<'a>(
        &self,
        note: &'a TableNote,
        with: Option<&'a TableNote>,
    ) -> Box<dyn Iterator<Item = Operands<'a>> + 'a> {
        match (self, with) {
            (Self::DotColumns(a, b), _) => {
                Box::new(std::iter::once((&note.columns[*a], Some((note, &note.columns[*b])))))
            }
            (_, Some(with)) => {
                Box::new(note.columns.iter().zip(with.columns.iter().map(move |y| Some((with, y)))))
            }
            (_, None) => Box::new(note.columns.iter().map(|x| (x, None))),
        }
    }

    /// A bound on the encrypted sums over the rows.
    fn sum_bound(&self, rows: u64, x: &ColumnNote, y: Option<(&TableNote, &ColumnNote)>) -> u64 {
        let each = match (self, y) {
            (_, Some((_, y))) => product_bound(x, y),
            (Self::Variance, None) => x.count.saturating_mul(x.count),
            (_, None) => x.count,
        };
        each.saturating_mul(rows)
    }

    /// The error bound of a result, before its exponent. The noise of all slots adds up, that of
    /// the padding too; rotations and relinearisation add less than half as much, a product has the
    /// noise of both factors. 1 / rows is rounded to a multiple of 1 / scale.
    fn noise(
        &self,
        params: &CkksParams,
        note: &TableNote,
        x: &ColumnNote,
        y: Option<(&TableNote, &ColumnNote)>,
    ) -> f64 {
        let rows = note.rows as f64;
        let slots = note.packed.unwrap_or_else(|| note.rows.div_ceil(note.slots) * note.slots);
        let of_sum = |bits: f64| (slots as f64 * 1.5).sqrt() * (-bits).exp2();
        let (fresh, own) = ((-note.bits(x)).exp2(), of_sum(note.bits(x)));
        // Noise is multiplied by numbers below this.
        let mut largest = x.count as f64;
        let (mut sum, mut shifts) = (own, 0.0);
        if let Some((with, y)) = y {
            let other = of_sum(with.bits(y));
            (largest, sum) = (largest.max(y.count as f64), own.max(other));
            shifts = y.shift().abs() * own + x.shift().abs() * other;
        }
        let products = 2f64.sqrt() * sum * largest;
        let share = largest * rows * (-params.scale_log2()).exp2();
        match self {
            Self::Sum => sum,
            Self::Mean => sum / rows + fresh / 4.0 + share,
            Self::DotColumns(..) | Self::DotTables(_) => products + shifts,
            Self::Variance => (products + 2.0 * largest * sum) / rows + fresh / 2.0 + 4.0 * share,
        }
    }

    /// The level below a column's at which its sum stands.
    fn depth(&self) -> usize {
        match self {
            Self::Sum | Self::Mean => 0,
            Self::Variance | Self::DotColumns(..) | Self::DotTables(_) => 1,
        }
    }

    /// Checks that a sum of this magnitude fits the modulus: beyond that, results are meaningless
    /// without an error.
    fn check_range(&self, params: &CkksParams, rows: u64, bound: u64, level: usize) -> Result<()> {
        let Some(level) = level.checked_sub(self.depth()) else {
            // The operation itself reports that there is no level left.
            return Ok(());
        };
        let limit = (params.log_q(level) - 1.0).exp2() / params.level(level)?.scale;
        if bound as f64 > limit {
            return Err(ContentError::Sums { rows, limit }.into());
        }
        Ok(())
    }

    /// Computes column by column, or vector by vector if columns share them, into a file of the
    /// description `payload`, which follows from [`describe`](Self::describe). `lower` drops levels
    /// that results do not need.
    ///
    /// # Errors
    /// The file is damaged; levels or keys are missing; the output cannot be written; the device
    /// fails.
    pub fn evaluate(
        mut self,
        team: &Team<Ckks>,
        keys: &EvaluationKeys<Device>,
        mut reader: CipherReader<Ckks>,
        payload: &Payload,
        lower: bool,
        output: Output,
    ) -> Result<Written> {
        let Content::Table(note) = reader.payload.content.clone() else {
            return Err(ContentError::ImageForTable { name: reader.name }.into());
        };
        let mut writer = CipherWriter::new::<Ckks>(output, &team.lead().params, payload)?;
        self.apply(team, keys, &mut reader, &note, lower, &mut writer)?;
        if let Self::DotTables(other) = &mut self {
            other.end()?;
        }
        reader.end()?;
        writer.commit()
    }

    fn apply(
        &mut self,
        team: &Team<Ckks>,
        keys: &EvaluationKeys<Device>,
        reader: &mut CipherReader<Ckks>,
        note: &TableNote,
        lower: bool,
        writer: &mut CipherWriter,
    ) -> Result<()> {
        let engine = team.lead();
        let with = match self {
            Self::DotTables(other) => match &other.payload.content {
                Content::Table(with) => Some(with.clone()),
                _ => None,
            },
            _ => None,
        };
        let block = note.packed.unwrap_or(note.rows);
        let bounds: Vec<u64> =
            self.operands(note, with.as_ref()).map(|(x, y)| self.sum_bound(block, x, y)).collect();
        let shifts: Vec<(f64, f64)> = self
            .operands(note, with.as_ref())
            .map(|(x, y)| y.map_or((0.0, 0.0), |(_, y)| (y.shift(), x.shift())))
            .collect();
        let result = self.result(&engine.params, note, with.as_ref())?;
        let progress = Meter::new(team.watch(), Stage::Computing, result.columns.len() as u64);
        let mut send = |ct: Ciphertext<Device>, bound: u64| {
            progress.inc(1);
            let ct = if lower { Ckks::lowered(engine, &ct, bound as f64)? } else { ct };
            writer.send(ct.to_frame(&engine.params)?.seal())
        };
        match note.places() {
            Some(places) => {
                let largest = bounds.iter().copied().max().unwrap_or(1);
                let mut send = |ct| send(ct, result.largest());
                self.apply_packed(engine, keys, reader, note, &places, (largest, &shifts), &mut send)?;
            }
            None => {
                let mut send = |column: usize, ct| send(ct, result.columns[column].count);
                self.apply_by_column(engine, keys, reader, note, (&bounds, &shifts), &mut send)?;
            }
        }
        progress.finish();
        Ok(())
    }

    /// Where every column has vectors of its own. `bounds` and `shifts` are those of each result.
    fn apply_by_column(
        &mut self,
        engine: &Engine<Ckks>,
        keys: &EvaluationKeys<Device>,
        reader: &mut CipherReader<Ckks>,
        note: &TableNote,
        (bounds, shifts): (&[u64], &[(f64, f64)]),
        send: &mut dyn FnMut(usize, Ciphertext<Device>) -> Result<()>,
    ) -> Result<()> {
        let (ev, slots) = (&engine.evaluator, note.slots as usize);
        let ranges: Vec<Range<usize>> = batches(note).collect();
        let next = |reader: &mut CipherReader<Ckks>, range: &Range<usize>| {
            reader.next(&engine.ring, range.len().div_ceil(slots))
        };
        let shift = |&(left, right): &(f64, f64)| Shifts::new(Weights::All(left), Weights::All(right));
        let shifts: Vec<Option<Shifts>> = shifts.iter().map(shift).collect();
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Vec<Ciphertext<Device>>; 2] = [Vec::new(), Vec::new()];
            for column in 0..note.columns.len() {
                for range in &ranges {
                    let ct = next(reader, range)?;
                    if column == a || column == b {
                        self.check_range(&engine.params, note.rows, bounds[0], ct.level())?;
                    }
                    if column == b && a != b {
                        kept[1].push(ct);
                    } else if column == a {
                        kept[0].push(ct);
                    }
                }
            }
            let [left, right] = &kept;
            let right = if a == b { left } else { right };
            let mut totals = Totals::new(None);
            for (x, y) in left.iter().zip(right) {
                totals.add_dot(ev, x, y, shifts[0].is_some(), keys)?;
            }
            return send(0, totals.dot(ev, shifts[0].as_ref())?);
        }
        for (column, (&bound, shifts)) in bounds.iter().zip(&shifts).enumerate() {
            let mut totals = Totals::new(None);
            for range in &ranges {
                let ct = next(reader, range)?;
                self.check_range(&engine.params, note.rows, bound, ct.level())?;
                let with = match self {
                    Self::DotTables(other) => Some(next(other, range)?),
                    _ => None,
                };
                self.add(ev, &mut totals, &ct, with.as_ref(), shifts.is_some(), keys)?;
            }
            send(column, self.finish(ev, keys, totals, shifts.as_ref(), note.rows)?)?;
        }
        Ok(())
    }

    /// Where columns share vectors. No sum exceeds `bound`; `shifts` are those of each result.
    #[allow(clippy::too_many_arguments)]
    fn apply_packed(
        &mut self,
        engine: &Engine<Ckks>,
        keys: &EvaluationKeys<Device>,
        reader: &mut CipherReader<Ckks>,
        note: &TableNote,
        places: &Places,
        (bound, shifts): (u64, &[(f64, f64)]),
        send: &mut dyn FnMut(Ciphertext<Device>) -> Result<()>,
    ) -> Result<()> {
        let ev = &engine.evaluator;
        let block = note.packed.unwrap_or(note.rows) as usize;
        if let Self::DotColumns(a, b) = *self {
            let mut kept: [Option<Ciphertext<Device>>; 2] = [None, None];
            for vector in 0..places.vectors.len() {
                let ct = reader.next(&engine.ring, 1)?;
                for (kept, column) in kept.iter_mut().zip([a, b]) {
                    if places.of[column].vector == vector {
                        self.check_range(&engine.params, note.rows, bound, ct.level())?;
                        // To the first block, where the result shall be.
                        *kept = Some(match places.of[column].slot {
                            0 => ct.duplicate()?,
                            slot => ev.rotate(&ct, slot as i64, keys)?,
                        });
                    }
                }
            }
            let [Some(x), Some(y)] = &kept else {
                return Err(ContentError::NoSuchColumns.into());
            };
            let shifts = Shifts::new(Weights::All(shifts[0].0), Weights::All(shifts[0].1));
            let mut totals = Totals::new(Some(block));
            totals.add_dot(ev, x, y, shifts.is_some(), keys)?;
            return send(totals.dot(ev, shifts.as_ref())?);
        }
        for columns in &places.vectors {
            let ct = reader.next(&engine.ring, 1)?;
            self.check_range(&engine.params, note.rows, bound, ct.level())?;
            let weights = |side: fn(&(f64, f64)) -> f64| Weights::Blocks {
                block,
                of: columns.iter().map(|&column| side(&shifts[column])).collect(),
            };
            let shifts = Shifts::new(weights(|shift| shift.0), weights(|shift| shift.1));
            let with = match self {
                Self::DotTables(other) => Some(other.next(&engine.ring, 1)?),
                _ => None,
            };
            let mut totals = Totals::new(Some(block));
            self.add(ev, &mut totals, &ct, with.as_ref(), shifts.is_some(), keys)?;
            send(self.finish(ev, keys, totals, shifts.as_ref(), note.rows)?)?;
        }
        Ok(())
    }

    /// Adds what a part of a column, or of two, contributes.
    fn add(
        &self,
        ev: &Evaluator<Device>,
        totals: &mut Totals,
        ct: &Ciphertext<Device>,
        with: Option<&Ciphertext<Device>>,
        shifted: bool,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        match (self, with) {
            (_, Some(with)) => totals.add_dot(ev, ct, with, shifted, keys),
            (Self::Variance, None) => {
                totals.add_dot(ev, ct, ct, false, keys)?;
                totals.add_sum(ev, ct, keys)
            }
            (_, None) => totals.add_sum(ev, ct, keys),
        }
    }

    /// The result from the sums of all parts of a column.
    fn finish(
        &self,
        ev: &Evaluator<Device>,
        keys: &EvaluationKeys<Device>,
        totals: Totals,
        shifts: Option<&Shifts>,
        rows: u64,
    ) -> Result<Ciphertext<Device>> {
        let share = 1.0 / rows as f64;
        Ok(match self {
            Self::Sum => totals.left.finish()?,
            Self::Mean => ev.mul_scalar(&totals.left.finish()?, share)?,
            Self::Variance => {
                let mean = ev.mul_scalar(&totals.left.finish()?, share)?;
                let squares = ev.mul_scalar(&totals.products.finish()?, share)?;
                ev.sub(&squares, &ev.square(&mean, keys)?)?
            }
            Self::DotColumns(..) | Self::DotTables(_) => totals.dot(ev, shifts)?,
        })
    }
}

/// A column, and with which other one of which table it is multiplied.
type Operands<'a> = (&'a ColumnNote, Option<(&'a TableNote, &'a ColumnNote)>);

/// What the public offsets a of x and b of y add to an inner product: sum (x + a) (y + b) = sum x y
/// + b sum x + a sum y + rows a b.
struct Shifts {
    /// b, in units of y.
    left: Weights,
    /// a, in units of x.
    right: Weights,
}

impl Shifts {
    /// `None` if there are no offsets.
    fn new(left: Weights, right: Weights) -> Option<Self> {
        let none = |weights: &Weights| match weights {
            Weights::All(weight) => *weight == 0.0,
            Weights::Blocks { of, .. } => of.iter().all(|&weight| weight == 0.0),
        };
        (!none(&left) || !none(&right)).then_some(Self { left, right })
    }
}

/// Operations whose results hold one number in all slots.
const STATISTICS: [&str; 4] = ["sum", "mean", "variance", "dot"];

/// Checks that a table is not the result of a statistic, which holds one number in all slots.
fn check_original(reader: &CipherReader<Ckks>) -> Result<()> {
    let statistic = |operation: &&String| STATISTICS.contains(&operation.as_str());
    match reader.payload.history.iter().find(statistic) {
        None => Ok(()),
        Some(operation) => {
            Err(ContentError::Statistic { name: reader.name.clone(), operation: operation.clone() }.into())
        }
    }
}

/// Sums over the parts of a column, or of two; of several columns at once where they share vectors
/// in blocks.
struct Totals {
    block: Option<usize>,
    products: Total,
    left: Total,
    right: Total,
}

impl Totals {
    fn new(block: Option<usize>) -> Self {
        Self { block, products: Total(None), left: Total(None), right: Total(None) }
    }

    fn sum(
        &self,
        ev: &Evaluator<Device>,
        ct: &Ciphertext<Device>,
        keys: &EvaluationKeys<Device>,
    ) -> Result<Ciphertext<Device>> {
        Ok(match self.block {
            None => sum(ev, ct, keys)?,
            Some(block) => ev.inner_sum(ct, block, keys)?,
        })
    }

    /// Adds the sum of a part.
    fn add_sum(
        &mut self,
        ev: &Evaluator<Device>,
        ct: &Ciphertext<Device>,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        let sum = self.sum(ev, ct, keys)?;
        self.left.add(ev, sum)
    }

    /// Adds the parts of an inner product, and of the sums that offsets take.
    fn add_dot(
        &mut self,
        ev: &Evaluator<Device>,
        x: &Ciphertext<Device>,
        y: &Ciphertext<Device>,
        shifted: bool,
        keys: &EvaluationKeys<Device>,
    ) -> Result<()> {
        let products = match self.block {
            None => dot(ev, x, y, keys)?,
            Some(_) => self.sum(ev, &ev.mul(x, y, keys)?, keys)?,
        };
        self.products.add(ev, products)?;
        if shifted {
            self.add_sum(ev, x, keys)?;
            let sum = self.sum(ev, y, keys)?;
            self.right.add(ev, sum)?;
        }
        Ok(())
    }

    /// The inner product, less what is public of it.
    fn dot(self, ev: &Evaluator<Device>, shifts: Option<&Shifts>) -> Result<Ciphertext<Device>> {
        let products = self.products.finish()?;
        let Some(Shifts { left, right }) = shifts else { return Ok(products) };
        let terms = [(&self.left.finish()?, left), (&self.right.finish()?, right)];
        Ok(ev.add(&products, &weighted(ev, &terms)?)?)
    }
}

/// The sum of the parts of a column.
struct Total(Option<Ciphertext<Device>>);

impl Total {
    fn add(&mut self, ev: &Evaluator<Device>, part: Ciphertext<Device>) -> Result<()> {
        self.0 = Some(match self.0.take() {
            Some(sum) => ev.add(&sum, &part)?,
            None => part,
        });
        Ok(())
    }

    fn finish(self) -> Result<Ciphertext<Device>> {
        Ok(self.0.ok_or(ContentError::NoRows)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::images::rotations;
    use crate::key_set::KeySet;
    use crate::scheme::engine::rng;
    use he_core::ckks::{Decryptor, Encryptor};

    #[test]
    fn decimals_within_the_noise_come_back() {
        // Noise of 2^-20: half a unit of the fifth decimal is more, of the sixth less.
        for (x, noisy) in
            [(0.1, 0.1 + 9e-7), (-12.34, -12.340_000_9), (99.99999, 99.999_989_2), (1e6, 1e6 - 9e-7)]
        {
            assert_eq!(round_to_noise(noisy, -20.0), x);
        }
        assert_eq!(round_to_noise(0.123_456_7, -20.0), 0.12346);
        assert_eq!(round_to_noise(9.999_999, -20.0), 10.0);
    }

    #[test]
    fn what_is_smaller_than_the_noise_is_zero() {
        for x in [4e-6, -4e-6, 1e-30, -1e-300, 0.0] {
            assert_eq!(round_to_noise(x, -20.0).to_bits(), 0.0f64.to_bits(), "{x}");
        }
        assert_eq!(round_to_noise(-6e-6, -20.0), -1e-5);
        // Noise above one: tens, hundreds, ...
        assert_eq!(round_to_noise(123_456_789.0, 3.0), 123_456_800.0);
        assert_eq!(round_to_noise(-1.7e300, 992.0), -1.7e300);
        assert_eq!(round_to_noise(3.0, 10.0), 0.0);
    }

    #[test]
    fn more_precision_than_numbers_have_changes_nothing() {
        for x in [0.1 + 0.2, 1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert_eq!(round_to_noise(x, -1100.0), x);
            assert_eq!(round_to_noise(-x, -1100.0), -x);
        }
    }

    #[test]
    fn scaling_neither_overflows_nor_underflows_on_the_way() {
        for x in [f64::MAX, 1.5, f64::MIN_POSITIVE, 5e-324] {
            let exponent = exponent_of(x);
            let scaled = scale(x, -exponent);
            assert!((0.5..1.0).contains(&scaled), "{x}: {scaled}");
            assert_eq!(scale(scaled, exponent), x);
        }
        assert_eq!(exponent_of(0.0), 0);
        assert_eq!(exponent_of(1.0), 1);
    }

    #[test]
    fn offsets_are_chosen_where_they_gain_much() {
        let placed = |column: &[f64], offset| placed(column, offset, "x").unwrap();
        for (column, expected) in [
            (&[9999.0, 10001.0, 10000.0][..], (10_000.0, 1)),
            (&[101_275.0, 101_375.0], (101_312.0, 6)),
            (&[-101_275.0, -101_375.0], (-101_312.0, 6)),
            // As far from zero as wide; both signs; one number, which an offset would tell.
            (&[10.0, 20.0], (0.0, 5)),
            (&[100.0, 110.0], (0.0, 7)),
            (&[-1.0, 1e300], (0.0, 997)),
            (&[12_345.678, 12_345.678], (0.0, 14)),
            (&[12_345.678], (0.0, 14)),
            (&[0.0], (0.0, 0)),
            (&[f64::MAX, -f64::MAX], (0.0, 1024)),
        ] {
            assert_eq!(placed(column, Offset::Auto), expected, "{column:?}");
            assert_eq!(placed(column, Offset::None).0, 0.0);
        }
        assert_eq!(placed(&[95.0, 106.0], Offset::Given(100.0)), (100.0, 3));
        assert_eq!(placed(&[5.0], Offset::Given(5.0)).0, 5.0);
        assert_eq!(placed(&[1.0, -1.0], Offset::Given(0.0)), (0.0, 1));
        let mut random = 1u64;
        for _ in 0..10_000 {
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 11) as f64 / (1u64 << 53) as f64
            };
            let (centre, width) = ((next() - 0.5) * (next() * 100.0).exp2(), (next() * 60.0 - 30.0).exp2());
            let column: Vec<f64> = (0..5).map(|_| centre + width * next()).collect();
            for offset in [Offset::Auto, Offset::Given(column[2])] {
                let whole = offset == Offset::Auto;
                let (offset, exponent) = placed(&column, offset);
                let unit = scale(1.0, exponent);
                assert!(!whole || (offset / unit).fract() == 0.0, "{column:?}: {offset}, {unit}");
                assert!(column.iter().all(|x| (x - offset).abs() < unit), "{column:?}: {offset}, {unit}");
            }
        }
        assert!(super::placed(&[f64::MAX], Offset::Given(-f64::MAX), "x").is_err());
    }

    #[test]
    fn numbers_below_the_noise_are_counted() {
        assert!(lost(&[1.0, -1.0, 0.0, 1e-5], -20.0).is_none());
        let lost = lost(&[1e300, 3.0, 0.0, -2.0], 970.0).unwrap();
        assert_eq!((lost.count, lost.least, lost.greatest), (2, 2.0, 1e300));
        assert!((lost.missing_bits - 970.0).abs() < 5.0, "{}", lost.missing_bits);
    }

    /// The largest error of many results in units of the noise that is told for them.
    fn worst(engine: &Engine<Ckks>, keys: &KeySet<Ckks>, statistic: &Statistic, rows: usize) -> Result<f64> {
        let (params, mut rng) = (engine.params.clone(), rng()?);
        let encryptor = Encryptor::new(&params, &keys.public)?;
        let decryptor = Decryptor::new(&params, &keys.secret, &engine.ring)?;
        let columns = 8;
        let column = |seed: usize| -> Vec<f64> {
            (0..rows).map(|row| ((row * 7919 + seed * 104_729) % 100_003) as f64 / 100_003.0 - 0.3).collect()
        };
        let table = Table::new(None, (0..columns).map(column).collect())?;
        let offsets = vec![Offset::None; columns];
        let table = RealTable { table, offsets, unpacked: true };
        let mut note = describe::<Ckks>(&table, &params, &())?;
        note.columns.iter_mut().for_each(|column| column.exponent = 0);
        let mut encrypted = Vec::new();
        let encoding = params.encoding().slots(note.slots as usize);
        pack(
            &table,
            &note,
            &mut |vectors| {
                let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
                let plain = engine.evaluator.encoder().encode_batch(&vectors, encoding)?;
                encrypted.push(encryptor.encrypt(&plain, &mut rng)?);
                Ok(())
            },
            &(),
        )?;
        let parts = encrypted.len() / columns;
        let (x, y) = statistic.operands(&note, None).next().unwrap();
        let noise = statistic.noise(&params, &note, x, y);
        let mut worst: f64 = 0.0;
        for (values, cts) in table.table.columns().iter().zip(encrypted.chunks(parts)) {
            let (ev, keys) = (&engine.evaluator, &keys.evaluation);
            let mut totals = Totals::new(None);
            for ct in cts {
                totals.add_dot(ev, ct, ct, true, keys)?;
            }
            let result = statistic.finish(ev, keys, totals, None, rows as u64)?;
            let total: f64 = values.iter().sum();
            let squares: f64 = values.iter().map(|x| x * x).sum();
            let count = rows as f64;
            let expected = match statistic {
                Statistic::Sum => total,
                Statistic::Mean => total / count,
                Statistic::Variance => squares / count - (total / count).powi(2),
                _ => squares,
            };
            let found = engine.evaluator.encoder().decode_real(&decryptor.decrypt(&result)?)?[0][0];
            worst = worst.max((found - expected).abs() / noise);
        }
        Ok(worst)
    }

    #[test]
    fn results_are_as_precise_as_told() -> Result<()> {
        let params = CkksParams::for_depth(2).precision_bits(20).build()?;
        let engine = Engine::new(&params, Device::cpu())?;
        let keys = KeySet::generate(&engine, &rotations(&params, 0)?, &mut rng()?)?;
        for rows in [1, 5, 5000] {
            for statistic in
                [Statistic::Sum, Statistic::Mean, Statistic::Variance, Statistic::DotColumns(0, 0)]
            {
                let worst = worst(&engine, &keys, &statistic, rows)?;
                assert!(worst < 1.0, "{rows} rows: {worst} of the noise told");
            }
        }
        Ok(())
    }
}
