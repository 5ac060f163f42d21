//! Tables of real numbers packed into vectors.

use super::describe::batches;
use super::table::RealTable;
use crate::contents::Batches;
use crate::contents::packing::Places;
use crate::note::{ColumnNote, TableNote, scale};
use he_core::circuits::pack_column;
use he_core::ckks::Complex64;

/// Packs a table into vectors, batch by batch.
pub(super) fn pack<'a>(table: &'a RealTable, note: &'a TableNote) -> Batches<'a, Complex64> {
    let (table, slots) = (&table.table, note.slots as usize);
    let encrypted = |x: f64, about: &ColumnNote| scale(x - about.offset, -about.exponent);
    if let Some(Places { of, vectors }) = note.places() {
        return Box::new(vectors.into_iter().map(move |columns| {
            let mut vector = vec![Complex64::ZERO; slots];
            for &column in &columns {
                let rows = vector[of[column].slot..].iter_mut().zip(&table.columns()[column]);
                rows.for_each(|(slot, &x)| slot.re = encrypted(x, &note.columns[column]));
            }
            Ok(vec![vector])
        }));
    }
    let of_column = move |column| batches(note).map(move |range| (column, range));
    Box::new((0..note.columns.len()).flat_map(of_column).map(move |(column, range)| {
        let (about, values) = (&note.columns[column], &table.columns()[column]);
        let scaled: Vec<f64> = values[range].iter().map(|&x| encrypted(x, about)).collect();
        Ok(pack_column(&scaled, slots)?)
    }))
}
