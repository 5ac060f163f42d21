//! The provided bodies of the operations modulo powers of two.

use super::Provided;
use crate::backend::{WideOps, WideRows};
use crate::error::Result;
use crate::ring::{Operand, Rows};

impl<B: WideOps> WideOps for Provided<B> {
    fn wide_add_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.inner.wide_add_assign(t, rows, a, b)
    }

    fn wide_sub_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.inner.wide_sub_assign(t, rows, a, b)
    }

    fn wide_neg_assign(&self, t: &Self::Tables, rows: WideRows, a: &mut Self::Buf) -> Result<()> {
        self.inner.wide_neg_assign(t, rows, a)
    }

    fn wide_scale_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        factor: &[u64],
    ) -> Result<()> {
        self.inner.wide_scale_assign(t, rows, a, factor)
    }

    fn wide_shift_round(
        &self,
        t: &Self::Tables,
        from: WideRows,
        src: &Self::Buf,
        shift: u32,
        to: WideRows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.inner.wide_shift_round(t, from, src, shift, to, dst)
    }

    fn wide_automorphism(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.inner.wide_automorphism(t, rows, g, src, dst)
    }

    fn wide_residues(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        src: &Self::Buf,
        rows: Rows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.inner.wide_residues(t, wide, src, rows, dst)
    }

    fn wide_compose(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        wide: WideRows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        self.inner.wide_compose(t, rows, src, wide, dst)
    }
}
