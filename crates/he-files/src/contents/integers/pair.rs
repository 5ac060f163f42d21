//! Operations on two tables of integers, column by column.

use crate::contents::pairing::Pairing;
use crate::error::{ContentError, Error, Result};
use crate::note::{Content, IntegerColumnNote, IntegersNote, pair_name, title};
use he_any::layout::Op;

/// Columns that were combined one by one.
///
/// # Errors
/// The tables differ in shape; they hold categories that were not counted; results exceed all
/// numbers.
pub(super) fn pair(operator: Op, a: &IntegersNote, b: &IntegersNote) -> Result<(Content, Vec<Pairing>)> {
    check_shapes(a, b, operator.name())?;
    let mut columns = Vec::new();
    for (i, (x, y)) in a.columns.iter().zip(&b.columns).enumerate() {
        if x.categories != y.categories {
            return Err(ContentError::UnlikeCategories { column: title(x, i) }.into());
        }
        if x.categories.is_some() && !a.summed {
            return Err(ContentError::CountFirst { column: title(x, i) }.into());
        }
        let (low, high) =
            operator.of_ranges((x.low, x.high), (y.low, y.high)).ok_or_else(|| beyond(&title(x, i)))?;
        let name = if x.name == y.name { x.name.clone() } else { pair_name(&x.name, &y.name) };
        columns.push(IntegerColumnNote { name, low, high, categories: x.categories.clone() });
    }
    // One pairing per column, or per vector that columns share: fewer.
    let pairings = vec![Pairing::Slots; columns.len()];
    Ok((Content::Integers(IntegersNote { columns, ..a.clone() }), pairings))
}

/// The error of results that no number holds.
pub(super) fn beyond(title: &str) -> Error {
    ContentError::Beyond { column: title.to_owned() }.into()
}

/// Checks that two tables have the same shape.
pub(super) fn check_shapes(a: &IntegersNote, b: &IntegersNote, operation: &str) -> Result<()> {
    if (a.rows, a.columns.len(), a.summed) == (b.rows, b.columns.len(), b.summed) {
        let kind = |note: &IntegersNote| -> Vec<usize> { note.columns.iter().map(|c| c.stride()).collect() };
        let alike = (a.batch, a.packed) == (b.batch, b.packed) && (a.packed.is_none() || kind(a) == kind(b));
        return if alike { Ok(()) } else { Err(ContentError::Layouts.into()) };
    }
    let shape = |n: &IntegersNote| {
        format!("{} rows of {}{}", n.rows, n.columns.len(), if n.summed { ", summed" } else { "" })
    };
    Err(ContentError::Shapes { left: shape(a), right: shape(b), operation: operation.to_owned() }.into())
}
