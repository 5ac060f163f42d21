//! Operations word by word, and automorphisms.

use crate::constants::{Grid, MAX_PRIMES, per_limb};
use crate::cuda::Cuda;
use crate::kernels::Entry;
use crate::tables::CudaTables;
use gpu::Buffer;
use he_core::Result;
use he_core::ring::{DomainKind, Operand, Rows};

#[repr(C)]
#[derive(Clone, Copy)]
struct Args {
    grid: Grid,
    a: u64,
    x: u64,
    y: u64,
    x_batch: u32,
    y_batch: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct FactorArgs {
    grid: Grid,
    a: u64,
    x: u64,
    x_batch: u32,
    unused: u32,
    factors: [u64; MAX_PRIMES],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct AutomorphismArgs {
    grid: Grid,
    src: u64,
    dst: u64,
    src_batch: u32,
    g: u32,
}

/// Address of a word.
pub(crate) fn at(buf: &Buffer, word: usize) -> u64 {
    buf.address() + 8 * word as u64
}

/// Whether a buffer holds rows.
fn holds(t: &CudaTables, buf: &Buffer, rows: Rows) -> bool {
    rows.at + rows.count() * t.n() <= buf.words()
}

/// Whether a buffer holds an operand that goes with rows.
pub(crate) fn holds_operand(t: &CudaTables, rows: Rows, x: Operand<'_, Buffer>) -> bool {
    (x.batch == 1 || x.batch == rows.batch) && holds(t, x.buf, Rows { batch: x.batch, ..rows }.at(x.at))
}

impl Cuda {
    /// a <- a op x, or a + x y.
    pub(crate) fn elementwise(
        &self,
        op: &'static str,
        entry: Entry,
        t: &CudaTables,
        rows: Rows,
        a: &mut Buffer,
        x: Option<Operand<'_, Buffer>>,
        y: Option<Operand<'_, Buffer>>,
    ) -> Result<()> {
        assert!(holds(t, a, rows), "{op}: the destination is too small");
        assert!(
            [x, y].into_iter().flatten().all(|x| holds_operand(t, rows, x)),
            "{op}: an operand is too small"
        );
        let address =
            |x: Option<Operand<'_, Buffer>>| x.map_or((0, 1), |x| (at(x.buf, x.at), x.batch as u32));
        let ((x, x_batch), (y, y_batch)) = (address(x), address(y));
        let grid = t.grid(rows);
        let args = Args { grid, a: at(a, rows.at), x, y, x_batch, y_batch };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.launch_rows(op, entry, rows.count(), grid.log_chunks, &args) }
    }

    /// Signed words to residues.
    pub(crate) fn signed_rows(
        &self,
        t: &CudaTables,
        rows: Rows,
        src: &Buffer,
        dst: &mut Buffer,
    ) -> Result<()> {
        let op = "reduce_signed";
        assert!(holds(t, dst, rows) && src.words() >= rows.batch * t.n(), "{op}: a buffer is too small");
        let grid = t.grid(rows);
        let args = Args { grid, a: at(dst, rows.at), x: src.address(), y: 0, x_batch: 1, y_batch: 1 };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.launch_rows(op, Entry::ReduceSigned, rows.count(), grid.log_chunks, &args) }
    }

    /// Operations with one constant a limb.
    pub(crate) fn with_factors(
        &self,
        op: &'static str,
        entry: Entry,
        t: &CudaTables,
        rows: Rows,
        a: &mut Buffer,
        x: Option<Operand<'_, Buffer>>,
        factors: &[u64],
    ) -> Result<()> {
        assert!(holds(t, a, rows) && factors.len() >= rows.span.limbs(), "{op}: an operand is too small");
        assert!(x.is_none_or(|x| holds_operand(t, rows, x)), "{op}: an operand is too small");
        let (x, x_batch) = x.map_or((0, 1), |x| (at(x.buf, x.at), x.batch as u32));
        let grid = t.grid(rows);
        let factors = per_limb(factors);
        let args = FactorArgs { grid, a: at(a, rows.at), x, x_batch, unused: 0, factors };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.launch_rows(op, entry, rows.count(), grid.log_chunks, &args) }
    }

    /// dst <- src(X^g).
    pub(crate) fn automorphism_rows(
        &self,
        t: &CudaTables,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Buffer>,
        dst: &mut Buffer,
    ) -> Result<()> {
        let op = "automorphism";
        assert!(holds(t, dst, rows) && holds_operand(t, rows, src), "{op}: a buffer is too small");
        let entry = match domain {
            DomainKind::Eval => Entry::AutomorphismValues,
            DomainKind::Coeff => Entry::AutomorphismCoefficients,
        };
        let grid = t.grid(rows);
        let g = (g & (2 * t.n() as u64 - 1)) as u32;
        let args = AutomorphismArgs {
            grid,
            src: at(src.buf, src.at),
            dst: at(dst, rows.at),
            src_batch: src.batch as u32,
            g,
        };
        // SAFETY: the buffers are live and hold the rows, as just checked; every index that the kernel computes is below N.
        unsafe { self.launch_rows(op, entry, rows.count(), grid.log_chunks, &args) }
    }
}
