//! Tables of real numbers packed into vectors.

use super::describe::batches;
use super::table::RealTable;
use crate::contents::Sink;
use crate::error::Result;
use crate::note::{ColumnNote, TableNote, scale};
use crate::watch::{Meter, Stage, Watch};
use he_core::circuits::pack_column;
use he_core::ckks::Complex64;

/// Packs a table into vectors, batch by batch.
///
/// # Errors
/// The errors of the sink.
pub(super) fn pack(
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
