//! Tables of real numbers in the clear.

use crate::contents::options::{ColumnOffset, Offset, TableFlags};
use crate::data::table::{Table, column_number};
use crate::error::{ContentError, Result};
use crate::io::input::Input;
use crate::watch::Watch;

/// Columns of real numbers, and the offset of each.
pub struct RealTable {
    pub(super) table: Table,
    pub(super) offsets: Vec<Offset>,
    /// Whether every column has vectors of its own.
    pub(super) unpacked: bool,
}

impl RealTable {
    /// A table as it is, each column with the offset that suits it.
    pub fn new(table: Table) -> Self {
        let offsets = vec![Offset::default(); table.columns().len()];
        Self { table, offsets, unpacked: false }
    }
}

/// Reads a table of real numbers.
///
/// # Errors
/// The input is not a table of numbers; columns of categories are requested; an offset names no
/// column.
pub(super) fn read(
    input: Input,
    flags: TableFlags<'_>,
    scheme: &str,
    watch: &dyn Watch,
) -> Result<RealTable> {
    if !flags.categories.is_empty() {
        return Err(ContentError::Categories { scheme: scheme.to_owned() }.into());
    }
    let name = input.name().to_owned();
    let mut table = Table::read(input, &name, flags.options)?;
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
    if flags.options.nameless {
        table.forget_names();
    }
    Ok(RealTable { table, offsets, unpacked: flags.unpacked })
}
