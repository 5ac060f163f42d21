//! Polynomials modulo powers of two on both sides.

use super::{Mirror, MirrorBuf, left_of, right_of};
use crate::backend::{Backend, WideEmbedding, WideOps, WideRows, WideSwitchShape};
use crate::error::Result;
use crate::ring::{Operand, Rows, Seed, Span};
use num_complex::Complex64;

/// Runs an operation that writes one buffer on both sides.
macro_rules! both {
    ($self:ident, $t:ident, $op:ident($($left:expr),* ; $($right:expr),*) -> $dst:ident) => {{
        $self.left.$op(&$t.left, $($left),*, &mut $dst.left)?;
        $self.right.$op(&$t.right, $($right),*, &mut $dst.right)?;
        $self.compare(stringify!($op), 0, $dst)
    }};
}

impl<L: WideOps, R: WideOps> WideOps for Mirror<L, R> {
    fn wide_add_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.wide_add_assign(&t.left, rows, &mut a.left, left_of(b))?;
        self.right.wide_add_assign(&t.right, rows, &mut a.right, right_of(b))?;
        self.compare("wide_add_assign", 0, a)
    }

    fn wide_sub_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        b: Operand<'_, Self::Buf>,
    ) -> Result<()> {
        self.left.wide_sub_assign(&t.left, rows, &mut a.left, left_of(b))?;
        self.right.wide_sub_assign(&t.right, rows, &mut a.right, right_of(b))?;
        self.compare("wide_sub_assign", 0, a)
    }

    fn wide_neg_assign(&self, t: &Self::Tables, rows: WideRows, a: &mut Self::Buf) -> Result<()> {
        both!(self, t, wide_neg_assign(rows; rows) -> a)
    }

    fn wide_scale_assign(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        a: &mut Self::Buf,
        factor: &[u64],
    ) -> Result<()> {
        self.left.wide_scale_assign(&t.left, rows, &mut a.left, factor)?;
        self.right.wide_scale_assign(&t.right, rows, &mut a.right, factor)?;
        self.compare("wide_scale_assign", 0, a)
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
        both!(self, t, wide_shift_round(from, &src.left, shift, to; from, &src.right, shift, to) -> dst)
    }

    fn wide_automorphism(
        &self,
        t: &Self::Tables,
        rows: WideRows,
        g: u64,
        src: Operand<'_, Self::Buf>,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_automorphism(rows, g, left_of(src); rows, g, right_of(src)) -> dst)
    }

    fn wide_residues(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        src: &Self::Buf,
        rows: Rows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_residues(wide, &src.left, rows; wide, &src.right, rows) -> dst)
    }

    fn wide_compose(
        &self,
        t: &Self::Tables,
        rows: Rows,
        src: &Self::Buf,
        wide: WideRows,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_compose(rows, &src.left, wide; rows, &src.right, wide) -> dst)
    }

    fn wide_from_signed(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        src: &Self::Buf,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_from_signed(wide, &src.left; wide, &src.right) -> dst)
    }

    fn wide_sample_uniform(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_sample_uniform(wide, seed, index; wide, seed, index) -> dst)
    }

    fn wide_sample_ternary(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_sample_ternary(wide, seed, index; wide, seed, index) -> dst)
    }

    fn wide_sample_error(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        seed: &Seed,
        index: u32,
        dst: &mut Self::Buf,
    ) -> Result<()> {
        both!(self, t, wide_sample_error(wide, seed, index; wide, seed, index) -> dst)
    }

    fn wide_values(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        src: &Self::Buf,
        span: Span,
    ) -> Result<Self::Buf> {
        let left = self.left.wide_values(&t.left, wide, &src.left, span)?;
        let right = self.right.wide_values(&t.right, wide, &src.right, span)?;
        self.joined("wide_values", left, right)
    }

    fn wide_from_values(
        &self,
        t: &Self::Tables,
        rows: Rows,
        values: Self::Buf,
        bits: u32,
    ) -> Result<Self::Buf> {
        let left = self.left.wide_from_values(&t.left, rows, values.left, bits)?;
        let right = self.right.wide_from_values(&t.right, rows, values.right, bits)?;
        self.joined("wide_from_values", left, right)
    }

    fn wide_tensor(
        &self,
        t: &Self::Tables,
        span: Span,
        rows: WideRows,
        a: [Operand<'_, Self::Buf>; 2],
        b: [Operand<'_, Self::Buf>; 2],
    ) -> Result<[Self::Buf; 3]> {
        let left = self.left.wide_tensor(&t.left, span, rows, a.map(left_of), b.map(left_of))?;
        let right = self.right.wide_tensor(&t.right, span, rows, a.map(right_of), b.map(right_of))?;
        self.join("wide_tensor", left, right)
    }

    fn wide_key_switch(
        &self,
        t: &Self::Tables,
        shape: &WideSwitchShape,
        c: &Self::Buf,
        key: &Self::Buf,
        addend: [Option<&Self::Buf>; 2],
    ) -> Result<[Self::Buf; 2]> {
        let (left, right) = (addend.map(|x| x.map(|x| &x.left)), addend.map(|x| x.map(|x| &x.right)));
        let left = self.left.wide_key_switch(&t.left, shape, &c.left, &key.left, left)?;
        let right = self.right.wide_key_switch(&t.right, shape, &c.right, &key.right, right)?;
        self.join("wide_key_switch", left, right)
    }

    fn wide_encode_slots(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        vectors: &[&[Complex64]],
        to: WideEmbedding<'_>,
    ) -> Result<(Self::Buf, u32)> {
        let op = "wide_encode_slots";
        let left = self.left.wide_encode_slots(&t.left, wide, vectors, to);
        let right = self.right.wide_encode_slots(&t.right, wide, vectors, to);
        let ((left, left_bits), (right, right_bits)) = self.agreed(op, left, right)?;
        self.same_words(op, 1, &[left_bits.into()], &[right_bits.into()])?;
        Ok((self.joined(op, left, right)?, left_bits))
    }

    fn wide_decode_slots(
        &self,
        t: &Self::Tables,
        wide: WideRows,
        src: &Self::Buf,
        from: WideEmbedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        let left = self.left.wide_decode_slots(&t.left, wide, &src.left, from)?;
        let right = self.right.wide_decode_slots(&t.right, wide, &src.right, from)?;
        self.same_vectors("wide_decode_slots", &left, &right)?;
        Ok(left)
    }
}

impl<L: Backend, R: Backend> Mirror<L, R> {
    /// One result of both sides.
    fn joined(&self, op: &'static str, left: L::Buf, right: R::Buf) -> Result<MirrorBuf<L::Buf, R::Buf>> {
        let buf = MirrorBuf { left, right };
        self.compare(op, 0, &buf)?;
        Ok(buf)
    }
}
