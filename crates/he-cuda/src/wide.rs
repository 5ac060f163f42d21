//! Polynomials modulo powers of two.
//!
//! One step of a product or a key switch is one launch for all of its polynomials, which lie side
//! by side as more rows of each limb.

mod args;
mod conversion;
mod embedding;
mod products;
mod schoolbook;

use crate::cuda::failed;
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use args::{
    AutomorphismArgs, MAX_WORDS, SampleArgs, ScaleArgs, ShiftArgs, SignedArgs, SumArgs, THREADS, holds,
    holds_operand, shape,
};
use conversion::{Sources, Targets};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{Backend, KeyBuf, WideEmbedding, WidePolyOps, WideRows, WideSwitchShape};
use he_core::ckks::Complex64;
use he_core::ring::{Automorphism, Operand, Rows, Seed, Span};

/// The distribution; the numbers are those of the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Ternary = 2,
    Error = 3,
    Uniform = 4,
}

impl CudaRing {
    /// a <- a + b or a - b; without `src`, b or -b.
    fn wide_sum(
        &self,
        op: &'static str,
        rows: WideRows,
        src: u64,
        dst: u64,
        b: (u64, usize),
        flip: u64,
    ) -> Result<()> {
        let args =
            SumArgs { shape: shape(self, rows), a: src, b: b.0, dst, flip, b_batch: b.1 as u32, unused: 0 };
        // SAFETY: the callers of this private function pass buffers that hold the rows.
        unsafe { self.cuda.launch_wide(op, Entry::WideSum, rows.batch * self.n(), 1, &args) }
    }

    fn wide_sample(
        &self,
        op: &'static str,
        wide: WideRows,
        distribution: Distribution,
        seed: &Seed,
        index: u32,
        dst: &mut Buffer,
    ) -> Result<()> {
        assert!(holds(self, dst, wide), "{op}: the destination is too small");
        let args = SampleArgs {
            shape: shape(self, wide),
            dst: at(dst, wide.at),
            kind: distribution as u32,
            index,
            seed: crate::sampler::seed_words(seed),
        };
        let (entry, y) = match distribution {
            Distribution::Uniform => (Entry::WideSampleUniform, wide.words() as u32),
            Distribution::Ternary | Distribution::Error => (Entry::WideSampleSmall, 1),
        };
        // Each thread makes eight elements.
        let threads = (wide.batch * self.n()).div_ceil(8);
        let blocks = threads.div_ceil(THREADS as usize) as u32;
        // SAFETY: the destination is live and holds the rows, as just checked.
        unsafe { self.cuda.launch_apart(op, entry, [blocks, y, 1], THREADS, 0, &args) }
    }
}

impl WidePolyOps for CudaRing {
    fn wide_add_assign(&self, rows: WideRows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        let op = "wide_add_assign";
        assert!(holds(self, a, rows) && holds_operand(self, rows, b), "{op}: an operand is too small");
        let place = at(a, rows.at);
        self.wide_sum(op, rows, place, place, (at(b.buf, b.at), b.batch), 0)
    }

    fn wide_sub_assign(&self, rows: WideRows, a: &mut Buffer, b: Operand<'_, Buffer>) -> Result<()> {
        let op = "wide_sub_assign";
        assert!(holds(self, a, rows) && holds_operand(self, rows, b), "{op}: an operand is too small");
        let place = at(a, rows.at);
        self.wide_sum(op, rows, place, place, (at(b.buf, b.at), b.batch), u64::MAX)
    }

    fn wide_neg_assign(&self, rows: WideRows, a: &mut Buffer) -> Result<()> {
        let op = "wide_neg_assign";
        assert!(holds(self, a, rows), "{op}: the operand is too small");
        let place = at(a, rows.at);
        self.wide_sum(op, rows, 0, place, (place, rows.batch), u64::MAX)
    }

    fn wide_scale_assign(&self, rows: WideRows, a: &mut Buffer, factor: &[u64]) -> Result<()> {
        let op = "wide_scale_assign";
        assert!(holds(self, a, rows), "{op}: the operand is too small");
        let words = rows.count() * self.n();
        // Words beyond the modulus are ignored.
        let factor = &factor[..factor.len().min(rows.words())];
        let Some(skip) = factor.iter().position(|&word| word != 0) else {
            return self.cuda.stream.fill_zero(a, rows.at, words).map_err(failed(op));
        };
        let count = factor.len() - skip;
        let mut padded = [0; MAX_WORDS];
        padded[..count].copy_from_slice(&factor[skip..]);
        let mut product = self.cuda.scratch_buffer(op, words)?;
        let args = ScaleArgs {
            shape: shape(self, rows),
            src: at(a, rows.at),
            dst: product.address(),
            skip: skip as u32,
            count: count as u32,
            factor: padded,
        };
        // SAFETY: `a` holds the rows, as just checked, and the product was made for them.
        unsafe { self.cuda.launch_wide(op, Entry::WideScale, rows.batch * self.n(), 1, &args)? };
        let copied = self.cuda.stream.copy(&product, 0, a, rows.at, words).map_err(failed(op));
        // Keys scale their secret.
        self.cuda.wipe(&mut product);
        copied
    }

    fn wide_shift_round(
        &self,
        from: WideRows,
        src: &Buffer,
        shift: u32,
        to: WideRows,
        dst: &mut Buffer,
    ) -> Result<()> {
        let op = "wide_shift_round";
        assert!(holds(self, src, from) && holds(self, dst, to), "{op}: a buffer is too small");
        assert!(to.bits + shift <= from.bits && to.batch == from.batch, "{op}: shapes that do not fit");
        let args = ShiftArgs {
            to: shape(self, to),
            src: at(src, from.at),
            dst: at(dst, to.at),
            shift,
            words: from.words() as u32,
        };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_wide(op, Entry::WideShiftRound, to.batch * self.n(), 1, &args) }
    }

    fn wide_automorphism(
        &self,
        rows: WideRows,
        g: u64,
        src: Operand<'_, Buffer>,
        dst: &mut Buffer,
    ) -> Result<()> {
        let op = "wide_automorphism";
        assert!(holds(self, dst, rows) && holds_operand(self, rows, src), "{op}: a buffer is too small");
        let g = g & (2 * self.n() as u64 - 1);
        let args = AutomorphismArgs {
            shape: shape(self, rows),
            src: at(src.buf, src.at),
            dst: at(dst, rows.at),
            src_batch: src.batch as u32,
            inverse: Automorphism::new(g, self.log_n()).inverse_element() as u32,
        };
        // SAFETY: the buffers are live and hold the rows, as just checked; every index that the
        // kernel computes is below N.
        unsafe { self.cuda.launch_wide(op, Entry::WideAutomorphism, rows.batch * self.n(), 1, &args) }
    }

    fn wide_residues(&self, wide: WideRows, src: &Buffer, rows: Rows, dst: &mut Buffer) -> Result<()> {
        let op = "wide_residues";
        assert!(
            holds(self, src, wide)
                && rows.at + rows.count() * self.n() <= dst.words()
                && rows.batch == wide.batch,
            "{op}: a buffer is too small"
        );
        let sources = Sources::single(at(src, wide.at), wide);
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.residues(op, &sources, rows.span, at(dst, rows.at)) }
    }

    fn wide_compose(&self, rows: Rows, src: &Buffer, wide: WideRows, dst: &mut Buffer) -> Result<()> {
        let op = "wide_compose";
        assert!(
            holds(self, dst, wide)
                && rows.at + rows.count() * self.n() <= src.words()
                && rows.batch == wide.batch,
            "{op}: a buffer is too small"
        );
        let dst = [at(dst, wide.at)];
        let targets = Targets { rows: wide, dst: &dst, addend: [0; 2], shift: 0 };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.compose(op, rows.span, at(src, rows.at), false, &targets) }
    }

    fn wide_from_signed(&self, wide: WideRows, src: &Buffer, dst: &mut Buffer) -> Result<()> {
        let op = "wide_from_signed";
        assert!(
            holds(self, dst, wide) && wide.batch * self.n() <= src.words(),
            "{op}: a buffer is too small"
        );
        let args = SignedArgs { shape: shape(self, wide), src: src.address(), dst: at(dst, wide.at) };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_wide(op, Entry::WideSigned, wide.batch * self.n(), 1, &args) }
    }

    fn wide_sample_uniform(&self, wide: WideRows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.wide_sample("wide_sample_uniform", wide, Distribution::Uniform, seed, index, dst)
    }

    fn wide_sample_ternary(&self, wide: WideRows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.wide_sample("wide_sample_ternary", wide, Distribution::Ternary, seed, index, dst)
    }

    fn wide_sample_error(&self, wide: WideRows, seed: &Seed, index: u32, dst: &mut Buffer) -> Result<()> {
        self.wide_sample("wide_sample_error", wide, Distribution::Error, seed, index, dst)
    }

    fn wide_from_values(&self, rows: Rows, values: Buffer, bits: u32) -> Result<Buffer> {
        let op = "wide_from_values";
        assert!(rows.at == 0 && rows.count() * self.n() <= values.words(), "{op}: the operand is too small");
        let wide = WideRows::new(bits, rows.batch);
        let composed = self.cuda.scratch_buffer(op, wide.count() * self.n())?;
        let dst = [composed.address()];
        let targets = Targets { rows: wide, dst: &dst, addend: [0; 2], shift: 0 };
        // SAFETY: `values` holds the rows, as just checked, and the result was made for its own.
        unsafe { self.compose_values(op, rows.span, values.address(), &targets)? };
        Ok(composed)
    }

    fn wide_tensor(
        &self,
        span: Span,
        rows: WideRows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        self.tensor_wide(span, rows, a, b)
    }

    fn wide_key_switch(
        &self,
        shape: &WideSwitchShape,
        c: &Buffer,
        key: KeyBuf<&Buffer>,
        addend: [Option<&Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        self.key_switch_wide(shape, c, key, addend)
    }

    fn wide_encode_slots(
        &self,
        wide: WideRows,
        vectors: &[&[Complex64]],
        to: WideEmbedding<'_>,
    ) -> Result<(Buffer, u32)> {
        self.encode_wide(wide, vectors, to)
    }

    fn wide_decode_slots(
        &self,
        wide: WideRows,
        src: &Buffer,
        from: WideEmbedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        self.decode_wide(wide, src, from)
    }
}
