//! The rows of a pack, as bytes.

use crate::error::{Error, Result};
use crate::plan::Params;
use std::ops::Range;

/// A cell without a record: bytes of the matrix are 128 more than those of records, modulo 256, so
/// that they are weights in `[-128, 127]`, of which an empty cell has none.
const EMPTY: u8 = 128;

/// The rows of one pack: N x columns bytes, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    pack: usize,
    bytes: Vec<u8>,
}

impl Rows {
    /// The rows of a pack without records.
    pub fn empty(params: &Params, pack: usize) -> Self {
        Self { pack, bytes: vec![EMPTY; params.n() * params.columns()] }
    }

    /// The rows of a pack that are these bytes of the matrix.
    ///
    /// # Errors
    /// [`Error::Damaged`] if there are more or fewer.
    pub(crate) fn from_bytes(params: &Params, pack: usize, bytes: Vec<u8>) -> Result<Self> {
        let expected = params.n() * params.columns();
        if bytes.len() != expected {
            let why = format!("it has {} bytes of rows instead of {expected}", bytes.len());
            return Err(Error::Damaged { what: "pack of a database", why });
        }
        Ok(Self { pack, bytes })
    }

    /// The number of the pack.
    pub fn pack(&self) -> usize {
        self.pack
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The hash of the rows, of which [`Description::next`](crate::Description::next) makes the
    /// digest.
    pub fn hash(&self) -> [u8; 32] {
        *blake3::hash(&self.bytes).as_bytes()
    }

    /// The part of a cell that lies in this pack: its rows here, and its bytes.
    fn part(&self, params: &Params, shelf: usize) -> (usize, Range<usize>) {
        let (n, rows) = (params.n(), params.rows_of(shelf));
        let here = self.pack * n..(self.pack + 1) * n;
        let start = rows.start.clamp(here.start, here.end);
        let end = rows.end.clamp(here.start, here.end);
        (start - here.start, start - rows.start.min(start)..end - rows.start.min(end))
    }

    /// Puts the part of a record that lies in this pack where it belongs; records are looked up by
    /// their numbers.
    ///
    /// # Errors
    /// [`Error::RecordBytes`]; [`Error::Full`] for a number beyond the plan; [`Error::Way`] if
    /// records are looked up by keys.
    pub fn put(&mut self, params: &Params, record: u64, bytes: &[u8]) -> Result<()> {
        let (plan, expected) = (params.plan(), params.plan().record_bytes);
        if plan.by_key {
            return Err(Error::Way { found: plan.way(), needed: "a number" });
        }
        if bytes.len() != expected {
            return Err(Error::RecordBytes { record, found: bytes.len(), expected });
        }
        if record >= plan.records {
            return Err(Error::Full { found: record + 1, planned: plan.records });
        }
        let (shelf, column) = params.place(record);
        self.put_cell(params, shelf, column, bytes);
        Ok(())
    }

    pub(crate) fn put_cell(&mut self, params: &Params, shelf: usize, column: usize, bytes: &[u8]) {
        let (row, part) = self.part(params, shelf);
        let cells = self.bytes[row * params.columns()..].iter_mut().skip(column).step_by(params.columns());
        cells.zip(&bytes[part]).for_each(|(cell, &byte)| *cell = byte.wrapping_add(EMPTY));
    }
}
