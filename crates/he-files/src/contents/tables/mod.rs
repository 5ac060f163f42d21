//! Columns of real numbers under encryption, for CKKS and bigckks.

mod decode;
mod describe;
mod evaluate;
pub mod moments;
mod offset;
mod pack;
mod pair;
mod precision;
mod regression;
mod statistic;
mod table;
mod totals;

pub use self::statistic::Statistic;
pub use self::table::RealTable;
use super::unpack::{Opened, Unpack};
use super::{Batches, Columns, Kind};
use crate::contents::options::TableFlags;
use crate::contents::pairing::Pairing;
use crate::error::Result;
use crate::io::input::Input;
use crate::note::{Content, TableNote};
use crate::scheme::Real;
use crate::watch::Watch;
use he_any::layout::Op;
use he_core::ckks::Complex64;

impl<S: Real> Columns<S> for RealTable {
    fn read(input: Input, flags: TableFlags<'_>, watch: &dyn Watch) -> Result<Self> {
        table::read(input, flags, S::NAME, watch)
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
        Ok(Content::Table(describe::describe::<S>(table, params, watch)?))
    }

    fn pack<'a>(table: &'a Self, _params: &S::Params, note: &'a TableNote) -> Result<Batches<'a, Complex64>> {
        Ok(pack::pack(table, note))
    }

    fn pair(operator: Op, left: &TableNote, right: &TableNote) -> Result<(Content, Vec<Pairing>)> {
        pair::pair(operator, left, right)
    }

    fn unpacker<'a>(file: Opened<'a, S>, note: &TableNote) -> Result<Box<dyn Unpack<Complex64> + 'a>> {
        Ok(Box::new(decode::TableUnpacker::new(file, note)?))
    }
}
