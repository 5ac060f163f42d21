//! The scale-invariant product of BFV, row by row while rows are in the cache: operands are not
//! copied, and constant factors are applied where rows are made.

use super::conversion::{Division, Lifted, for_groups, rows_of};
use super::{CpuBuf, CpuRing, row_of};
use crate::backend::ScaledTensor;
use crate::ring::{Operand, Rows, Span};

impl CpuRing {
    /// [`ExactOps::scaled_tensor`](crate::backend::ExactOps::scaled_tensor).
    pub(super) fn scaled_product(
        &self,
        shape: &ScaledTensor,
        a: [Operand<'_, CpuBuf>; 2],
        b: [Operand<'_, CpuBuf>; 2],
    ) -> [CpuBuf; 3] {
        let carried = a.map(|a| self.carried(shape, a));
        let exchanged = b.map(|b| self.exchanged(shape, b));
        let [chain, special] = [shape.chain(), shape.special()].map(|span| Rows::new(span, shape.batch));
        let exchanged = |part: usize| [0, 1].map(|i| Operand::new(&exchanged[i][part], b[i].batch));
        let mut products = self.product(chain, a, exchanged(0));
        let carried = [0, 1].map(|i| Operand::new(&carried[i], a[i].batch));
        let dropped = self.product(special, carried, exchanged(1));
        for (product, mut dropped) in products.iter_mut().zip(dropped) {
            let division = Division::new(self, shape.span, shape.span.q, shape.batch, &mut dropped);
            division.finish(self, shape.batch, product, |_, _, _| {});
        }
        products
    }

    /// An operand over the primes of R, in evaluation form.
    fn carried(&self, shape: &ScaledTensor, c: Operand<'_, CpuBuf>) -> CpuBuf {
        let coefficients = self.coefficients(shape, c, |_, _| {});
        self.converted(shape.chain(), &coefficients, shape.special(), c.batch, |lifted, entry, rows| {
            lifted.transformed(self, shape.special(), entry, rows);
        })
    }

    /// t round(R c / Q) over the primes of Q and over those of R, in evaluation form.
    fn exchanged(&self, shape: &ScaledTensor, c: Operand<'_, CpuBuf>) -> [CpuBuf; 2] {
        let (kernels, chain, special) = (self.cpu.kernels, shape.chain(), shape.special());
        let r = self.shoup(chain, &shape.r);
        let coefficients =
            self.coefficients(shape, c, |limb, row| kernels.scale(self.modulus(chain, limb), row, r[limb]));
        let minus_q_inverse = self.shoup(special, &shape.minus_q_inverse);
        let mut scaled = self.converted(chain, &coefficients, special, c.batch, |lifted, entry, rows| {
            lifted.recompose(&self.cpu, entry, rows);
            for (limb, row) in rows {
                kernels.scale(self.modulus(special, *limb), row, minus_q_inverse[*limb]);
            }
        });
        let (t_chain, t_special) = shape.t.split_at(shape.span.q);
        let [t_chain, t_special] =
            [(chain, t_chain), (special, t_special)].map(|(span, t)| self.shoup(span, t));
        let of_chain = self.converted(special, &scaled, chain, c.batch, |lifted, entry, rows| {
            lifted.transformed(self, chain, entry, rows);
            for (limb, row) in rows {
                kernels.scale(self.modulus(chain, *limb), row, t_chain[*limb]);
            }
        });
        self.each(Rows::new(special, c.batch), &mut scaled, |table, limb, _, row| {
            kernels.ntt(table, row);
            kernels.scale(table.modulus(), row, t_special[limb]);
        });
        [of_chain, scaled]
    }

    /// The coefficients of an operand over the chain, each row of which `f` changes.
    fn coefficients(
        &self,
        shape: &ScaledTensor,
        c: Operand<'_, CpuBuf>,
        f: impl Fn(usize, &mut [u64]) + Sync,
    ) -> CpuBuf {
        let (n, rows) = (self.spec.n(), Rows::new(shape.chain(), c.batch));
        let mut coefficients = self.scratch(rows.count() * n);
        self.each(rows, &mut coefficients, |table, limb, entry, row| {
            row.copy_from_slice(row_of(c, n, limb, entry));
            self.cpu.kernels.intt(table, row);
            f(limb, row);
        });
        coefficients
    }

    /// The rows of a span that `f` makes of the coefficients of another.
    fn converted(
        &self,
        from: Span,
        coefficients: &[u64],
        to: Span,
        batch: usize,
        f: impl Fn(&Lifted, usize, &mut [(usize, &mut [u64])]) + Sync + Send,
    ) -> CpuBuf {
        let n = self.spec.n();
        let lifted = Lifted::new(&self.cpu, self.conversion(from, to), coefficients, batch, n);
        let mut out = self.scratch(to.limbs() * batch * n);
        for_groups(&mut out, batch * n, |first, words| {
            for entry in 0..batch {
                f(&lifted, entry, &mut rows_of(words, first, batch, entry, n));
            }
        });
        out
    }
}
