//! Operations word by word, and automorphisms.

use crate::constants::{Grid, MAX_PRIMES, ROW_THREADS, per_limb};
use crate::cuda::{Cuda, failed};
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::Blocks;
use he_core::ring::{DomainKind, Operand, Rows};

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Args {
    grid: Grid,
    src: [u64; 2],
    a: [u64; 2],
    x: [u64; 2],
    y: u64,
    x_batch: u32,
    y_batch: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct FactorArgs {
    grid: Grid,
    a: u64,
    x: u64,
    x_batch: u32,
    unused: u32,
    factors: [u64; MAX_PRIMES],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct AutomorphismArgs {
    grid: Grid,
    src: u64,
    dst: u64,
    src_batch: u32,
    g: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct BlockArgs {
    src: u64,
    dst: u64,
    src_step: u64,
    dst_step: u64,
    words: u64,
    chunks: u32,
    aligned: u32,
}

/// From so many buffers on, one launch joins all of them.
const JOINED: usize = 4;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct JoinArgs {
    parts: u64,
    dst: u64,
    dst_step: u64,
    count: u32,
    aligned: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct PlaceArgs {
    src: u64,
    dst: u64,
    places: u64,
    src_step: u64,
    dst_step: u64,
    words: u64,
    count: u32,
    chunks: u32,
    aligned: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct TransposeArgs {
    src: u64,
    dst: u64,
    rows: u32,
    columns: u32,
    bands: u32,
    chunks: u32,
}

/// The rows of a matrix that a thread reads a word of each: as many words of a row of its
/// transpose.
const BAND_ROWS: usize = 8;

/// The words that one thread block copies.
const CHUNK_WORDS: usize = 8 * ROW_THREADS as usize;

/// Address of a word.
pub(crate) fn at(buf: &Buffer, word: usize) -> u64 {
    buf.address() + 8 * word as u64
}

/// Whether a buffer holds rows.
fn holds(ring: &CudaRing, buf: &Buffer, rows: Rows) -> bool {
    rows.at + rows.count() * ring.n() <= buf.words()
}

/// Whether a buffer holds an operand for these rows, which may be a view of a larger batch. Without
/// limbs, as on some devices of a group, it reads nothing.
pub(crate) fn holds_operand(ring: &CudaRing, rows: Rows, x: Operand<'_, Buffer>) -> bool {
    let taken = if x.batch == 1 { 1 } else { rows.batch };
    let Some(last) = rows.span.limbs().checked_sub(1) else { return true };
    x.batch >= taken && x.at + (last * x.batch + taken) * ring.n() <= x.buf.words()
}

impl Cuda {
    /// Blocks of words in one launch.
    pub(crate) fn copy_all_blocks(
        &self,
        src: &Buffer,
        from: Blocks,
        dst: &mut Buffer,
        to: Blocks,
        words: usize,
        count: usize,
    ) -> Result<()> {
        let op = "copy_blocks";
        if words == 0 || count == 0 {
            return Ok(());
        }
        assert!(
            from.block(count - 1) + words <= src.words() && to.block(count - 1) + words <= dst.words(),
            "{op}: a buffer is too small"
        );
        let places = [from.at, from.step, to.at, to.step];
        let chunks = words.div_ceil(CHUNK_WORDS);
        let args = BlockArgs {
            src: at(src, from.at),
            dst: at(dst, to.at),
            src_step: from.step as u64,
            dst_step: to.step as u64,
            words: words as u64,
            chunks: chunks as u32,
            aligned: u32::from(places.iter().all(|place| place.is_multiple_of(2))),
        };
        let grid = [(chunks * count) as u32, 1, 1];
        // SAFETY: the buffers are live and hold the blocks, as just checked.
        unsafe { self.launch(op, Entry::CopyBlocks, grid, ROW_THREADS, 0, &args) }
    }

    /// Blocks from places to places, in every run, in one launch.
    pub(crate) fn copy_listed_blocks(
        &self,
        src: &Buffer,
        from: Blocks,
        dst: &mut Buffer,
        to: Blocks,
        places: &[[usize; 2]],
        [words, runs]: [usize; 2],
    ) -> Result<()> {
        let op = "copy_places";
        if words == 0 || runs == 0 || places.is_empty() {
            return Ok(());
        }
        let end = |of: usize| words * (1 + places.iter().map(|place| place[of]).max().unwrap_or(0));
        assert!(
            from.block(runs - 1) + end(0) <= src.words() && to.block(runs - 1) + end(1) <= dst.words(),
            "{op}: a buffer is too small"
        );
        let list: Vec<u64> = places.iter().flatten().map(|&place| place as u64).collect();
        let list = self.upload_words(op, &list)?;
        let even = [from.at, from.step, to.at, to.step, words];
        let chunks = words.div_ceil(CHUNK_WORDS);
        let args = PlaceArgs {
            src: at(src, from.at),
            dst: at(dst, to.at),
            places: list.address(),
            src_step: from.step as u64,
            dst_step: to.step as u64,
            words: words as u64,
            count: places.len() as u32,
            chunks: chunks as u32,
            aligned: u32::from(even.iter().all(|place| place.is_multiple_of(2))),
            unused: 0,
        };
        let grid = [(chunks * places.len() * runs) as u32, 1, 1];
        // SAFETY: the buffers are live and hold the blocks, as just checked.
        unsafe { self.launch(op, Entry::CopyPlaces, grid, ROW_THREADS, 0, &args) }
    }

    /// Buffers run by run behind one another, many in one launch.
    pub(crate) fn join_buffers(
        &self,
        parts: &[(&Buffer, usize)],
        dst: &mut Buffer,
        runs: usize,
    ) -> Result<()> {
        let op = "join_runs";
        let step = parts.iter().map(|(_, words)| words).sum::<usize>();
        assert!(
            parts.iter().all(|(part, words)| runs * words <= part.words()) && runs * step <= dst.words(),
            "{op}: a buffer is too small"
        );
        let ends = parts.iter().scan(0, |end, (_, words)| {
            *end += words;
            Some(*end)
        });
        let placed: Vec<_> =
            parts.iter().zip(ends).map(|(&(part, words), end)| (part, words, end - words)).collect();
        if parts.len() < JOINED || runs * step == 0 {
            return placed.into_iter().try_for_each(|(part, words, at)| {
                let (from, to) = (Blocks { at: 0, step: words }, Blocks { at, step });
                self.copy_all_blocks(part, from, dst, to, words, runs)
            });
        }
        let list: Vec<u64> =
            placed.iter().flat_map(|&(part, words, at)| [part.address(), words as u64, at as u64]).collect();
        let listed = self.upload_words(op, &list)?;
        let args = JoinArgs {
            parts: listed.address(),
            dst: dst.address(),
            dst_step: step as u64,
            count: parts.len() as u32,
            aligned: u32::from(parts.iter().all(|(_, words)| words.is_multiple_of(2))),
        };
        let grid = [(parts.len() * runs) as u32, 1, 1];
        // SAFETY: the buffers are live and hold the runs, as just checked.
        unsafe { self.launch(op, Entry::JoinRuns, grid, ROW_THREADS, 0, &args) }
    }

    /// The transposes of matrices of words, in one launch.
    pub(crate) fn transpose_matrices(
        &self,
        (src, src_at): (&Buffer, usize),
        (dst, dst_at): (&mut Buffer, usize),
        [rows, columns]: [usize; 2],
        count: usize,
    ) -> Result<()> {
        let (op, words) = ("transpose_words", count * rows * columns);
        if words == 0 {
            return Ok(());
        }
        assert!(
            src_at + words <= src.words() && dst_at + words <= dst.words(),
            "{op}: a buffer is too small"
        );
        let (bands, chunks) = (rows.div_ceil(BAND_ROWS), columns.div_ceil(ROW_THREADS as usize));
        let args = TransposeArgs {
            src: at(src, src_at),
            dst: at(dst, dst_at),
            rows: rows as u32,
            columns: columns as u32,
            bands: bands as u32,
            chunks: chunks as u32,
        };
        let grid = [(count * bands * chunks) as u32, 1, 1];
        // SAFETY: the buffers are live and hold the matrices, as just checked.
        unsafe { self.launch(op, Entry::TransposeWords, grid, ROW_THREADS, 0, &args) }
    }
}

impl CudaRing {
    /// a <- a op x, or a + x y.
    pub(crate) fn elementwise(
        &self,
        op: &'static str,
        entry: Entry,
        rows: Rows,
        a: &mut Buffer,
        x: Option<Operand<'_, Buffer>>,
        y: Option<Operand<'_, Buffer>>,
    ) -> Result<()> {
        assert!(holds(self, a, rows), "{op}: the destination is too small");
        assert!(
            [x, y].into_iter().flatten().all(|x| holds_operand(self, rows, x)),
            "{op}: an operand is too small"
        );
        let address =
            |x: Option<Operand<'_, Buffer>>| x.map_or((0, 1), |x| (at(x.buf, x.at), x.batch as u32));
        let ((x, x_batch), (y, y_batch)) = (address(x), address(y));
        let grid = self.grid(rows);
        let place = [at(a, rows.at), 0];
        let args = Args { grid, src: place, a: place, x: [x, 0], y, x_batch, y_batch };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_rows(op, entry, grid.blocks(rows.span), &args) }
    }

    /// a op x of two polynomials, in new buffers.
    pub(crate) fn pairs(
        &self,
        op: &'static str,
        entry: Entry,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        x: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        assert!(
            a.iter().all(|a| a.batch == rows.batch)
                && a.into_iter().chain(x).all(|x| holds_operand(self, rows, x)),
            "{op}: an operand is too small"
        );
        let alloc = || self.cuda.stream.alloc(rows.count() * self.n()).map_err(failed(op));
        let out = [alloc()?, alloc()?];
        let grid = self.grid(rows);
        let both = Args {
            grid,
            src: a.map(|a| at(a.buf, a.at)),
            a: out.each_ref().map(Buffer::address),
            x: x.map(|x| at(x.buf, x.at)),
            y: 0,
            x_batch: x[0].batch as u32,
            y_batch: 1,
        };
        let [chunks, limbs, _] = grid.blocks(rows.span);
        if x[0].batch == x[1].batch {
            // SAFETY: the buffers are live and hold the rows, as just checked.
            unsafe { self.cuda.launch_rows(op, entry, [chunks, limbs, 2], &both)? };
        } else {
            for part in 0..2 {
                let [src, a, x_at] = [both.src, both.a, both.x].map(|pair| [pair[part], 0]);
                let args = Args { src, a, x: x_at, x_batch: x[part].batch as u32, ..both };
                // SAFETY: the buffers are live and hold the rows, as just checked.
                unsafe { self.cuda.launch_rows(op, entry, [chunks, limbs, 1], &args)? };
            }
        }
        Ok(out)
    }

    /// a + x y, in a new buffer.
    pub(crate) fn mul_add_rows(
        &self,
        rows: Rows,
        a: Operand<'_, Buffer>,
        x: Operand<'_, Buffer>,
        y: Operand<'_, Buffer>,
    ) -> Result<Buffer> {
        let op = "mul_add";
        assert!(
            a.batch == rows.batch && [a, x, y].into_iter().all(|x| holds_operand(self, rows, x)),
            "{op}: an operand is too small"
        );
        let out = self.cuda.stream.alloc(rows.count() * self.n()).map_err(failed(op))?;
        let grid = self.grid(rows);
        let args = Args {
            grid,
            src: [at(a.buf, a.at), 0],
            a: [out.address(), 0],
            x: [at(x.buf, x.at), 0],
            y: at(y.buf, y.at),
            x_batch: x.batch as u32,
            y_batch: y.batch as u32,
        };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_rows(op, Entry::MulAdd, grid.blocks(rows.span), &args)? };
        Ok(out)
    }

    /// Signed words to residues.
    pub(crate) fn signed_rows(&self, rows: Rows, src: &Buffer, dst: &mut Buffer) -> Result<()> {
        let op = "reduce_signed";
        assert!(
            holds(self, dst, rows) && src.words() >= rows.batch * self.n(),
            "{op}: a buffer is too small"
        );
        let grid = self.grid(rows);
        let place = [at(dst, rows.at), 0];
        let x = [src.address(), 0];
        let args = Args { grid, src: place, a: place, x, y: 0, x_batch: 1, y_batch: 1 };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_rows(op, Entry::ReduceSigned, grid.blocks(rows.span), &args) }
    }

    /// Operations with one constant per limb.
    pub(crate) fn with_factors(
        &self,
        op: &'static str,
        entry: Entry,
        rows: Rows,
        a: &mut Buffer,
        x: Option<Operand<'_, Buffer>>,
        factors: &[u64],
    ) -> Result<()> {
        assert!(holds(self, a, rows) && factors.len() >= rows.span.limbs(), "{op}: an operand is too small");
        assert!(x.is_none_or(|x| holds_operand(self, rows, x)), "{op}: an operand is too small");
        let (x, x_batch) = x.map_or((0, 1), |x| (at(x.buf, x.at), x.batch as u32));
        let grid = self.grid(rows);
        let factors = per_limb(factors);
        let args = FactorArgs { grid, a: at(a, rows.at), x, x_batch, unused: 0, factors };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_rows(op, entry, grid.blocks(rows.span), &args) }
    }

    /// dst <- src(X^g).
    pub(crate) fn automorphism_rows(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Buffer>,
        dst: &mut Buffer,
    ) -> Result<()> {
        let op = "automorphism";
        assert!(holds(self, dst, rows) && holds_operand(self, rows, src), "{op}: a buffer is too small");
        let entry = match domain {
            DomainKind::Eval => Entry::AutomorphismValues,
            DomainKind::Coeff => Entry::AutomorphismCoefficients,
        };
        let grid = self.grid(rows);
        let g = (g & (2 * self.n() as u64 - 1)) as u32;
        let args = AutomorphismArgs {
            grid,
            src: at(src.buf, src.at),
            dst: at(dst, rows.at),
            src_batch: src.batch as u32,
            g,
        };
        // SAFETY: the buffers are live and hold the rows, as just checked; every index that the
        // kernel computes is below N.
        unsafe { self.cuda.launch_rows(op, entry, grid.blocks(rows.span), &args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        let at = [
            offset_of!(BlockArgs, src),
            offset_of!(BlockArgs, dst),
            offset_of!(BlockArgs, src_step),
            offset_of!(BlockArgs, dst_step),
            offset_of!(BlockArgs, words),
            offset_of!(BlockArgs, chunks),
            offset_of!(BlockArgs, aligned),
        ];
        assert_eq!(at, [0, 8, 16, 24, 32, 40, 44]);
        assert_eq!(size_of::<BlockArgs>(), 48);
        let at = [
            offset_of!(PlaceArgs, places),
            offset_of!(PlaceArgs, src_step),
            offset_of!(PlaceArgs, words),
            offset_of!(PlaceArgs, count),
            offset_of!(PlaceArgs, aligned),
        ];
        assert_eq!((at, size_of::<PlaceArgs>()), ([16, 24, 40, 48, 56], 64));
        assert_eq!((offset_of!(JoinArgs, count), size_of::<JoinArgs>()), (24, 32));
        let at = [offset_of!(TransposeArgs, rows), offset_of!(TransposeArgs, chunks)];
        assert_eq!((at, size_of::<TransposeArgs>()), ([16, 28], 32));
    }
}
