//! Products and key switches modulo powers of two.

use super::args::{KeyArgs, TensorArgs, holds, holds_operand};
use super::conversion::{Sources, Targets};
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{KeyBuf, WideRows, WideSwitchShape};
use he_core::ring::{Operand, Rows, Span};

impl CudaRing {
    /// See [`WidePolyOps::wide_tensor`](he_core::backend::WidePolyOps::wide_tensor).
    pub(super) fn tensor_wide(
        &self,
        span: Span,
        rows: WideRows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        let (op, n, batch) = ("wide_tensor", self.n(), rows.batch);
        assert!(
            a.into_iter().chain(b).all(|x| holds_operand(self, rows, x))
                && a.iter().all(|x| x.batch == batch)
                && b[0].batch == b[1].batch,
            "{op}: an operand is too small"
        );
        let is_square = (0..2)
            .all(|i| std::ptr::eq(a[i].buf, b[i].buf) && (a[i].at, a[i].batch) == (b[i].at, b[i].batch));
        // Rows of a limb: a0, a1, and b0, b1 where they are others.
        let width = 2 * batch + if is_square { 0 } else { 2 * b[0].batch };
        let sources = Sources {
            src: [a[0], a[1], b[0], b[1]].map(|x| at(x.buf, x.at)),
            batch: [batch, b[0].batch],
            rows: width,
            bits: rows.bits,
            digit_bits: rows.bits,
        };
        let values = self.cuda.scratch_buffer(op, span.limbs() * width * n)?;
        let products = self.cuda.scratch_buffer(op, span.limbs() * 3 * batch * n)?;
        let alloc = || self.cuda.scratch_buffer(op, rows.count() * n);
        let d = [alloc()?, alloc()?, alloc()?];
        let grid = self.grid(Rows::new(span, batch));
        let args = TensorArgs {
            grid,
            values: values.address(),
            dst: products.address(),
            width: width as u32,
            second: if is_square { 0 } else { 2 * batch as u32 },
            b_batch: b[0].batch as u32,
            unused: 0,
        };
        let dst = d.each_ref().map(Buffer::address);
        let targets = Targets { rows, dst: &dst, addend: [0; 2], shift: 0 };
        // SAFETY: the operands hold the rows, as just checked, and the buffers were made for
        // theirs.
        unsafe {
            self.residues(op, &sources, span, values.address())?;
            self.forward_values(op, Rows::new(span, width), values.address())?;
            self.cuda.launch_rows(op, Entry::WideTensor, grid.blocks(span), &args)?;
            self.compose_values(op, span, products.address(), &targets)?;
        }
        Ok(d)
    }

    /// See [`WidePolyOps::wide_key_switch`](he_core::backend::WidePolyOps::wide_key_switch).
    pub(super) fn key_switch_wide(
        &self,
        shape: &WideSwitchShape,
        c: &Buffer,
        key: KeyBuf<&Buffer>,
        addend: [Option<&Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        let (op, n, batch, span, digits) =
            ("wide_key_switch", self.n(), shape.batch, shape.span, shape.digits());
        let key = key.buf();
        let rows = WideRows::new(shape.bits, batch);
        assert!(
            [Some(c), addend[0], addend[1]].into_iter().flatten().all(|x| holds(self, x, rows))
                && self.holds_key(&shape.key(), key)
                && span.limbs() <= shape.key_span.limbs(),
            "{op}: an operand is too small"
        );
        let sources = Sources {
            src: [c.address(), 0, 0, 0],
            batch: [batch; 2],
            rows: digits * batch,
            bits: shape.bits,
            digit_bits: shape.digit_bits,
        };
        let values = self.cuda.scratch_buffer(op, span.limbs() * digits * batch * n)?;
        let sums = self.cuda.scratch_buffer(op, span.limbs() * 2 * batch * n)?;
        let alloc = || self.cuda.scratch_buffer(op, rows.count() * n);
        let switched = [alloc()?, alloc()?];
        let grid = self.grid(Rows::new(span, batch));
        let args = KeyArgs {
            grid,
            digits: values.address(),
            key: key.address(),
            dst: sums.address(),
            key_words: self.key_words(shape.key_span.limbs()),
            key_layout: self.key_layout(shape.key_span),
            count: digits as u32,
            unused: 0,
        };
        let dst = switched.each_ref().map(Buffer::address);
        let targets = Targets {
            rows,
            dst: &dst,
            addend: addend.map(|x| x.map_or(0, Buffer::address)),
            shift: shape.special_bits,
        };
        // SAFETY: the operands hold what the shape says, as just checked, and the buffers were made
        // for their rows.
        unsafe {
            self.residues(op, &sources, span, values.address())?;
            self.forward_values(op, Rows::new(span, digits * batch), values.address())?;
            self.cuda.launch_rows(op, Entry::WideKeyProduct, grid.blocks(span), &args)?;
            self.compose_values(op, span, sums.address(), &targets)?;
        }
        Ok(switched)
    }
}
