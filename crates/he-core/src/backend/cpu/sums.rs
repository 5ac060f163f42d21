//! Sums of products and multiples of ciphertexts, tile by tile: every operand is read once, and
//! sums stay in the first-level cache until they are complete.

use super::{CpuBuf, CpuRing, TILE, for_pieces, row_of};
use crate::backend::{Multiple, Pair};
use crate::ring::{Operand, Rows};

impl CpuRing {
    /// [`tensor`](crate::backend::PolyOps::tensor).
    pub(super) fn product(
        &self,
        rows: Rows,
        a: [Operand<'_, CpuBuf>; 2],
        b: [Operand<'_, CpuBuf>; 2],
    ) -> [CpuBuf; 3] {
        self.sum_of_products(rows, &[[a, b]], &[], &[], &[])
    }

    /// [`tensor_sum`](crate::backend::PolyOps::tensor_sum).
    pub(super) fn sum_of_products(
        &self,
        rows: Rows,
        products: &[[Pair<'_, CpuBuf>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, CpuBuf>],
        constant: &[u64],
    ) -> [CpuBuf; 3] {
        let (n, kernels) = (self.spec.n(), self.cpu.kernels);
        let tile = n.min(TILE);
        let mut sums = [(); 3].map(|()| self.scratch(rows.count() * n));
        for_pieces(&mut sums, n, |i, mut sums| {
            let (limb, entry) = (i / rows.batch, i % rows.batch);
            let q = self.modulus(rows.span, limb);
            let factor = factors.get(limb).map(|&factor| q.shoup(factor));
            let mut more =
                [(); 3].map(|()| if products.len() > 1 { self.scratch(tile) } else { self.scratch(0) });
            for at in (0..n).step_by(tile) {
                let mut sums = sums.each_mut().map(|row| &mut row[at..at + tile]);
                let cut = |x| &row_of(x, n, limb, entry)[at..at + tile];
                match products.split_first() {
                    Some((&[a, b], rest)) => {
                        kernels.tensor(q, a.map(cut), b.map(cut), sums.each_mut().map(|sum| &mut **sum));
                        for &[a, b] in rest {
                            kernels.tensor(
                                q,
                                a.map(cut),
                                b.map(cut),
                                more.each_mut().map(|more| &mut **more),
                            );
                            for (sum, more) in sums.iter_mut().zip(&more) {
                                kernels.add(q, sum, more);
                            }
                        }
                    }
                    None => sums.iter_mut().for_each(|sum| sum.fill(0)),
                }
                if let Some(factor) = factor {
                    sums.iter_mut().for_each(|sum| kernels.scale(q, sum, factor));
                }
                let [sum0, sum1, _] = sums;
                self.add_multiples(rows, (limb, entry, at), [sum0, sum1], multiples, constant);
            }
        });
        sums
    }

    /// [`combine`](crate::backend::PolyOps::combine).
    pub(super) fn sum_of_multiples(
        &self,
        rows: Rows,
        multiples: &[Multiple<'_, CpuBuf>],
        constant: &[u64],
    ) -> [CpuBuf; 2] {
        let n = self.spec.n();
        let tile = n.min(TILE);
        let mut sums = [(); 2].map(|()| self.scratch(rows.count() * n));
        for_pieces(&mut sums, n, |i, mut sums| {
            let (limb, entry) = (i / rows.batch, i % rows.batch);
            for at in (0..n).step_by(tile) {
                let mut sums = sums.each_mut().map(|row| &mut row[at..at + tile]);
                sums.iter_mut().for_each(|sum| sum.fill(0));
                self.add_multiples(rows, (limb, entry, at), sums, multiples, constant);
            }
        });
        sums
    }

    /// Adds multiples to a tile of both sums, from word `at` of a row on, and a constant to the
    /// first.
    fn add_multiples(
        &self,
        rows: Rows,
        (limb, entry, at): (usize, usize, usize),
        mut sums: [&mut [u64]; 2],
        multiples: &[Multiple<'_, CpuBuf>],
        constant: &[u64],
    ) {
        let (q, n) = (self.modulus(rows.span, limb), self.spec.n());
        for Multiple { pair, factors } in multiples {
            let factor = q.shoup(factors[limb]);
            for (sum, &part) in sums.iter_mut().zip(pair) {
                let part = &row_of(part, n, limb, entry)[at..at + sum.len()];
                self.cpu.kernels.scale_add(q, sum, part, factor);
            }
        }
        if let Some(&constant) = constant.get(limb) {
            self.cpu.kernels.add_scalar(q, sums[0], constant);
        }
    }
}
