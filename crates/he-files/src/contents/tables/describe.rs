//! The description of a table to be encrypted.

use super::offset::placed;
use super::precision::{decimals, error_log2, precision_for, unit};
use super::table::RealTable;
use crate::error::Result;
use crate::note::{ColumnNote, TableNote};
use crate::scheme::Real;
use crate::scheme::engine::batch_size;
use crate::watch::{Remedy, Warning, Watch};
use std::ops::Range;

/// Describes a table to be encrypted. Each column, less its offset, is scaled by the power of two
/// that brings it below one. Warns about numbers below the precision.
///
/// # Errors
/// A given offset does not suit its column.
pub(super) fn describe<S: Real>(
    table: &RealTable,
    params: &S::Params,
    watch: &dyn Watch,
) -> Result<TableNote> {
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
            let precision = precision_for::<S>(params, lost.missing_bits);
            watch.warn(&Warning { message, remedy: Remedy::UnlikeSizes { precision } });
        }
    }
    Ok(note)
}

/// The name of a column for people, or its number from 1 on.
pub(super) fn title(name: &Option<String>, index: usize) -> String {
    name.clone().unwrap_or_else(|| (index + 1).to_string())
}

/// Rows of the batches of a column.
pub(super) fn batches(note: &TableNote) -> impl Iterator<Item = Range<usize>> + use<> {
    let (rows, step) = (note.rows as usize, note.slots as usize * note.batch as usize);
    (0..rows).step_by(step).map(move |start| start..rows.min(start + step))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_the_noise_are_counted() {
        assert!(lost(&[1.0, -1.0, 0.0, 1e-5], -20.0).is_none());
        let lost = lost(&[1e300, 3.0, 0.0, -2.0], 970.0).unwrap();
        assert_eq!((lost.count, lost.least, lost.greatest), (2, 2.0, 1e300));
        assert!((lost.missing_bits - 970.0).abs() < 5.0, "{}", lost.missing_bits);
    }
}
