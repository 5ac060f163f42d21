//! Products of matrices: tiles of the result from panels of the operands, on several threads.
//!
//! A panel has as many rows of the left matrix, or columns of the right one, as a tile, step by
//! step of the inner size, so that a tile reads both from one end to the other. A panel of the
//! right matrix stays in the second-level cache while a block of rows of the left one passes by it,
//! of which each panel is read from the first. Products of bytes by few columns are `thin`, and
//! those of wide residues `narrow`.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod narrow;
#[cfg(target_arch = "aarch64")]
mod neon;
mod plan;
mod portable;
mod thin;

use super::{CpuBuf, CpuRing};
use crate::backend::{LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, RightMatrix};
use crate::error::Result;
use crate::parallel::*;
use plan::Plan;
use thin::Thin;

/// The rows of a block: as many of them, over a block of the inner size, as half of a second-level
/// cache holds.
const BLOCK_ROWS: usize = 192;

/// Fewer products stay on the calling thread.
const PARALLEL_PRODUCTS: usize = 1 << 18;

/// The plans of all limbs, and where their panels begin in the packed matrices.
struct Layout {
    limbs: Vec<(Plan, usize, usize)>,
    left_words: usize,
    right_words: usize,
}

impl CpuRing {
    fn thin(&self, product: &MatrixProduct) -> Option<Thin> {
        Thin::new(self.cpu.kernels, product)
    }

    fn is_narrow(&self, product: &MatrixProduct) -> bool {
        let limbs = product.span().map_or(0..0, |span| 0..span.limbs());
        let moduli = limbs.filter_map(|limb| Some(self.spec.modulus(product.span()?, limb)));
        narrow::is_narrow(product, moduli)
    }

    fn layout(&self, product: &MatrixProduct) -> Layout {
        let mut layout = Layout { limbs: Vec::new(), left_words: 0, right_words: 0 };
        let is_shared = !matches!(product.numbers(), MatrixNumbers::Residues(_));
        for limb in 0..product.limbs() {
            let q = product.span().map(|span| *self.spec.modulus(span, limb));
            let plan = Plan::new(self.cpu.kernels, product.numbers(), q);
            layout.limbs.push((plan, if is_shared { 0 } else { layout.left_words }, layout.right_words));
            let left = product.rows().div_ceil(plan.rows()) * plan.left_panel(product.inner());
            layout.left_words = if is_shared { left } else { layout.left_words + left };
            layout.right_words +=
                product.columns().div_ceil(plan.columns()) * plan.right_panel(product.inner());
        }
        layout
    }
}

/// Calls `fill` for each panel of `size` words, on several threads if there are many words.
fn for_panels(words: &mut [u64], size: usize, fill: impl Fn(usize, &mut [u64]) + Sync + Send) {
    if size == 0 {
        return;
    }
    if words.len() >= PARALLEL_PRODUCTS && threads() > 1 {
        words.par_chunks_exact_mut(size).enumerate().for_each(|(i, panel)| fill(i, panel));
    } else {
        words.chunks_exact_mut(size).enumerate().for_each(|(i, panel)| fill(i, panel));
    }
}

impl MatrixOps for CpuRing {
    fn pack_left(&self, product: &MatrixProduct, src: &CpuBuf, at: usize) -> Result<LeftMatrix<CpuBuf>> {
        product.check_words(src.len(), at, product.left_words())?;
        if let Some(thin) = self.thin(product) {
            let mut packed = self.scratch(thin.left_words(product.rows()));
            thin.pack_left(&src[at..], &mut packed);
            return Ok(LeftMatrix::new(*product, packed));
        }
        if self.is_narrow(product) {
            let mut packed = self.scratch(product.left_words());
            packed.copy_from_slice(&src[at..at + product.left_words()]);
            return Ok(LeftMatrix::new(*product, packed));
        }
        let (src, layout) = (&src[at..], self.layout(product));
        let (rows, inner) = (product.rows(), product.inner());
        let mut packed = self.scratch(layout.left_words);
        let of_all = |limbs: usize| {
            if matches!(product.numbers(), MatrixNumbers::Residues(_)) { limbs } else { limbs.min(1) }
        };
        for (limb, &(plan, first, _)) in layout.limbs.iter().enumerate().take(of_all(product.limbs())) {
            let size = plan.left_panel(inner);
            let panels = &mut packed[first..][..rows.div_ceil(plan.rows()) * size];
            for_panels(panels, size, |panel, out| {
                let row = panel * plan.rows();
                let byte = |r: usize, k: usize| {
                    let i = (row + r) * inner + k;
                    (src[i / 8] >> (i % 8 * 8)) as u8
                };
                let height = plan.rows().min(rows - row);
                match product.numbers() {
                    MatrixNumbers::Residues(_) => {
                        plan.pack_left(height, inner, |r, k| src[(limb * rows + row + r) * inner + k], out);
                    }
                    MatrixNumbers::SignedBytes(_) => {
                        plan.pack_left(height, inner, |r, k| i64::from(byte(r, k) as i8) as u64, out);
                    }
                    MatrixNumbers::Bytes => plan.pack_left(height, inner, |r, k| byte(r, k).into(), out),
                }
            });
        }
        Ok(LeftMatrix::new(*product, packed))
    }

    /// Panels do not depend on the columns of the product, nor do rows of thin and narrow products.
    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        let kind = |product| (self.thin(product).is_some(), self.is_narrow(product));
        packed.has_left_of(other) && kind(packed) == kind(other)
    }

    fn pack_right(&self, product: &MatrixProduct, src: &CpuBuf, at: usize) -> Result<RightMatrix<CpuBuf>> {
        product.check_words(src.len(), at, product.right_words())?;
        if let Some(thin) = self.thin(product) {
            let mut packed = self.scratch(thin.right_words());
            thin.pack_right(&src[at..], &mut packed);
            return Ok(RightMatrix::new(*product, packed));
        }
        let (inner, columns) = (product.inner(), product.columns());
        if self.is_narrow(product) {
            let (words, limb) = (product.right_words(), (inner * columns).max(1));
            let mut packed = self.scratch(words);
            let limbs = src[at..at + words].chunks_exact(limb).zip(packed.chunks_exact_mut(limb));
            limbs.for_each(|(src, out)| narrow::pack_right(columns, src, out));
            return Ok(RightMatrix::new(*product, packed));
        }
        let (src, layout) = (&src[at..], self.layout(product));
        let mut packed = self.scratch(layout.right_words);
        for (limb, &(plan, _, first)) in layout.limbs.iter().enumerate() {
            let size = plan.right_panel(inner);
            let panels = &mut packed[first..][..columns.div_ceil(plan.columns()) * size];
            for_panels(panels, size, |panel, out| {
                let column = panel * plan.columns();
                let width = plan.columns().min(columns - column);
                plan.pack_right(width, inner, |k, c| src[(limb * inner + k) * columns + column + c], out);
            });
        }
        Ok(RightMatrix::new(*product, packed))
    }

    fn multiply_matrices(
        &self,
        left: LeftMatrix<&CpuBuf>,
        right: RightMatrix<&CpuBuf>,
        add: bool,
        at: usize,
        c: &mut CpuBuf,
    ) -> Result<()> {
        let product = left.product_with(&right)?;
        let words = product.result_words();
        product.check_words(c.len(), at, words)?;
        if let Some(thin) = self.thin(&product) {
            thin.multiply(left.buf(), right.buf(), add, &mut c[at..at + words]);
            return Ok(());
        }
        let (rows, inner, columns) = (product.rows(), product.inner(), product.columns());
        if words == 0 {
            return Ok(());
        }
        if let (Some(span), true) = (product.span(), self.is_narrow(&product)) {
            for (limb, c) in c[at..at + words].chunks_exact_mut(rows * columns).enumerate() {
                let a = &left.buf()[limb * rows * inner..][..rows * inner];
                let b = &right.buf()[limb * inner * columns..][..inner * columns];
                narrow::multiply(self.spec.modulus(span, limb), inner, a, b, add, c);
            }
            return Ok(());
        }
        let (left, right, layout) = (left.buf(), right.buf(), self.layout(&product));
        let limbs = c[at..][..words].chunks_exact_mut(rows * columns);
        for (c, &(plan, first_left, first_right)) in limbs.zip(&layout.limbs) {
            let (a, b) = (&left[first_left..], &right[first_right..]);
            // Whole panels, and about as many blocks per thread as are needed for all to be busy.
            let share = rows.div_ceil(4 * threads()).clamp(plan.rows(), BLOCK_ROWS);
            let block = share.next_multiple_of(plan.rows());
            let multiply = |(i, c): (usize, &mut [u64])| {
                let a = &a[i * (block / plan.rows()) * plan.left_panel(inner)..];
                multiply_block(&plan, inner, columns, a, b, add, c);
            };
            if threads() > 1 && rows.saturating_mul(columns).saturating_mul(inner) >= PARALLEL_PRODUCTS {
                c.par_chunks_mut(block * columns).enumerate().for_each(multiply);
            } else {
                c.chunks_mut(block * columns).enumerate().for_each(multiply);
            }
        }
        Ok(())
    }
}

/// The rows of the result in `c`, from as many rows of the left matrix.
fn multiply_block(plan: &Plan, inner: usize, columns: usize, a: &[u64], b: &[u64], add: bool, c: &mut [u64]) {
    if inner == 0 {
        c.iter_mut().for_each(|x| *x = if add { plan.canonical(*x) } else { 0 });
        return;
    }
    let (height, width) = (plan.rows(), plan.columns());
    let mut sums = vec![0i64; plan.planes() * height * width];
    for start in (0..inner).step_by(plan.depth()) {
        let depth = plan.depth().min(inner - start);
        for (panel, column) in (0..columns).step_by(width).enumerate() {
            let b = &b[panel * plan.right_panel(inner)..][..plan.right_panel(inner)];
            for (panel, c) in c.chunks_mut(height * columns).enumerate() {
                let a = &a[panel * plan.left_panel(inner)..][..plan.left_panel(inner)];
                plan.multiply(inner, start, depth, a, b, &mut sums);
                for (r, row) in c.chunks_mut(columns).enumerate() {
                    let row = &mut row[column..columns.min(column + width)];
                    plan.combine(&sums, r, add || start > 0, row);
                }
            }
        }
    }
    // The sums may be secret.
    zeroize::Zeroize::zeroize(&mut sums);
}

#[cfg(test)]
mod tests;
