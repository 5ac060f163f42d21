//! Polynomials modulo powers of two.
//!
//! One step of a product or a key switch is one launch for all of its polynomials, which lie side
//! by side as more rows of each limb.

use crate::cache::lock;
use crate::constants::{Factor, Grid, Limbs};
use crate::cuda::{Cuda, failed};
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ntt::{Args as NttArgs, Extent, parts};
use crate::ring::{CudaRing, factor};
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{
    Backend, KeyBuf, PreparedRing, WideConstants, WideEmbedding, WidePolyOps, WideRows, WideSwitchShape,
};
use he_core::ckks::Complex64;
use he_core::ring::{Automorphism, Operand, Rows, Seed, Span};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

mod embedding;
mod schoolbook;

/// Threads of a block.
const THREADS: u32 = 128;
/// The words, and the limbs, that a thread processes together.
const GROUP: usize = 4;
/// The bits of the low part of a residue.
const PART_BITS: u32 = 25;
/// The most words of a number.
const MAX_WORDS: usize = 128;

#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct Shape {
    log_n: u32,
    batch: u32,
    words: u32,
    bits: u32,
    top_mask: u64,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct SumArgs {
    shape: Shape,
    a: u64,
    b: u64,
    dst: u64,
    flip: u64,
    b_batch: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ScaleArgs {
    shape: Shape,
    src: u64,
    dst: u64,
    skip: u32,
    count: u32,
    factor: [u64; MAX_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ShiftArgs {
    to: Shape,
    src: u64,
    dst: u64,
    shift: u32,
    words: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct AutomorphismArgs {
    shape: Shape,
    src: u64,
    dst: u64,
    src_batch: u32,
    inverse: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct SignedArgs {
    shape: Shape,
    src: u64,
    dst: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct SampleArgs {
    shape: Shape,
    dst: u64,
    kind: u32,
    index: u32,
    seed: [u32; 8],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ResiduesArgs {
    src: [u64; 4],
    dst: u64,
    primes: u64,
    radix: u64,
    limbs: Limbs,
    batch: [u32; 2],
    log_n: u32,
    bits: u32,
    digit_bits: u32,
    digits: u32,
    limb_count: u32,
    stride: u32,
    offset: [u64; MAX_WORDS],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ComposeArgs {
    to: Shape,
    y: u64,
    scale: u64,
    primes: u64,
    reciprocal: u64,
    hat: u64,
    minus_product: u64,
    limbs: Limbs,
    dst: [u64; 3],
    addend: [u64; 3],
    count: u32,
    words: u32,
    shift: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct TensorArgs {
    grid: Grid,
    values: u64,
    dst: u64,
    width: u32,
    second: u32,
    b_batch: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct KeyArgs {
    grid: Grid,
    digits: u64,
    key: u64,
    dst: u64,
    key_words: usize,
    count: u32,
    unused: u32,
}

/// The distribution; the numbers are those of the streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Distribution {
    Ternary = 2,
    Error = 3,
    Uniform = 4,
}

/// Constants of the conversions between words and residues on the device.
#[derive(Debug)]
struct Conversion {
    /// Holds everything to which the addresses below point.
    _data: Buffer,
    words: usize,
    /// Limbs, in whole groups.
    stride: usize,
    radix: u64,
    hat: u64,
    minus_product: u64,
    reciprocal: u64,
    /// [`Factor`] of each limb: (Q/q_i)^-1.
    scale: u64,
}

/// What operations modulo powers of two need of a ring on a device, computed on first use.
#[derive(Debug, Default)]
pub(crate) struct WideTables {
    conversions: Mutex<HashMap<Span, Arc<Conversion>>>,
}

impl WideTables {
    fn conversion(&self, ring: &CudaRing, span: Span) -> Result<Arc<Conversion>> {
        let mut conversions = lock(&self.conversions);
        if let Some(conversion) = conversions.get(&span) {
            return Ok(Arc::clone(conversion));
        }
        let made = Arc::new(Conversion::new(ring, span)?);
        conversions.insert(span, Arc::clone(&made));
        Ok(made)
    }
}

impl Conversion {
    fn new(ring: &CudaRing, span: Span) -> Result<Self> {
        // As many words as all primes of the ring determine, and a word for the sign.
        let words = ((ring.spec().log_qp() / 64.0) as usize + 2).next_multiple_of(GROUP);
        let count = span.limbs();
        let moduli: Vec<_> = ring.spec().moduli_of(span).copied().collect();
        let constants = WideConstants::new(&moduli, words);
        let stride = count.next_multiple_of(GROUP);
        let mut radix = vec![0; (words + 1) * stride];
        for i in 0..count {
            for (w, &power) in constants.radix(i).iter().enumerate() {
                radix[w * stride + i] = (power >> PART_BITS) << 32 | (power & ((1 << PART_BITS) - 1));
            }
        }
        let hat = (0..words).step_by(GROUP).flat_map(|first| {
            let group: Vec<_> = (first..first + GROUP).map(|w| constants.hat(w)).collect();
            (0..count).flat_map(|i| group.iter().map(|hat| hat[i]).collect::<Vec<_>>()).collect::<Vec<_>>()
        });
        // The first two are read in pairs, so they form whole groups in sequence.
        let sections: [Vec<u64>; 5] = [
            radix,
            hat.collect(),
            constants.minus_product().to_vec(),
            constants.reciprocal().iter().map(|x| x.to_bits()).collect(),
            moduli
                .iter()
                .zip(constants.hat_inverse())
                .flat_map(|(q, w)| Factor::words(&factor(q, w.value)))
                .collect(),
        ];
        let data = ring.cuda.stream.upload(&sections.concat()).map_err(failed("prepare"))?;
        let mut word = 0;
        let [radix, hat, minus_product, reciprocal, scale] = sections.map(|section| {
            let address = at(&data, word);
            word += section.len();
            address
        });
        Ok(Self { _data: data, words, stride, radix, hat, minus_product, reciprocal, scale })
    }
}

/// Whether a buffer holds rows.
fn holds(ring: &CudaRing, buf: &Buffer, rows: WideRows) -> bool {
    rows.at + rows.count() * ring.n() <= buf.words()
}

/// Whether a buffer holds an operand for these rows.
fn holds_operand(ring: &CudaRing, rows: WideRows, x: Operand<'_, Buffer>) -> bool {
    (x.batch == 1 || x.batch == rows.batch)
        && holds(ring, x.buf, WideRows { batch: x.batch, ..rows }.at(x.at))
}

fn shape(ring: &CudaRing, rows: WideRows) -> Shape {
    assert!(
        rows.words() <= MAX_WORDS && rows.batch << ring.log_n() <= 1 << 31,
        "too many words or coefficients"
    );
    Shape {
        log_n: ring.log_n(),
        batch: rows.batch as u32,
        words: rows.words() as u32,
        bits: rows.bits,
        top_mask: rows.top_mask(),
    }
}

/// Polynomials to be converted to residues.
#[derive(Clone, Copy)]
struct Sources {
    /// Addresses; the first two have the first batch, the others the second.
    src: [u64; 4],
    batch: [usize; 2],
    /// The rows per limb of the result.
    rows: usize,
    bits: u32,
    digit_bits: u32,
}

impl Sources {
    /// One polynomial as a whole.
    fn single(src: u64, wide: WideRows) -> Self {
        let batch = [wide.batch; 2];
        Self { src: [src, 0, 0, 0], batch, rows: wide.batch, bits: wide.bits, digit_bits: wide.bits }
    }

    fn digits(&self) -> u32 {
        self.bits.div_ceil(self.digit_bits)
    }

    /// sum_j 2^(j w + w_j - 1): half of each digit's modulus at its place.
    fn offset(&self) -> [u64; MAX_WORDS] {
        let mut offset = [0; MAX_WORDS];
        for end in (1..self.digits()).map(|j| j * self.digit_bits).chain([self.bits]) {
            offset[(end - 1) as usize / 64] |= 1 << ((end - 1) % 64);
        }
        offset
    }
}

/// The destination of composed numbers.
struct Targets<'a> {
    rows: WideRows,
    dst: &'a [u64],
    /// Addresses, or 0.
    addend: [u64; 2],
    /// The power of two by which the numbers are divided.
    shift: u32,
}

impl Cuda {
    /// Launches a kernel with one thread per coefficient.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    unsafe fn launch_wide<A: NoUninit>(
        &self,
        op: &'static str,
        entry: Entry,
        threads: usize,
        y: u32,
        args: &A,
    ) -> Result<()> {
        let blocks = threads.div_ceil(THREADS as usize) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch(op, entry, [blocks, y, 1], THREADS, 0, args) }
    }
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

    /// Residues of centred numbers, or of their digits.
    ///
    /// # Safety
    /// The sources are live and hold their numbers, `dst` is live and holds `sources.rows` rows for
    /// each limb.
    unsafe fn residues(&self, op: &'static str, sources: &Sources, span: Span, dst: u64) -> Result<()> {
        let conversion = self.extensions.get::<WideTables>().conversion(self, span)?;
        assert!(
            sources.bits as usize <= 64 * conversion.words.min(MAX_WORDS - 1),
            "{op}: more bits than the ring's primes have"
        );
        let args = ResiduesArgs {
            src: sources.src,
            dst,
            primes: self.primes(),
            radix: conversion.radix,
            limbs: self.limbs(Rows::new(span, sources.rows)),
            batch: sources.batch.map(|batch| batch as u32),
            log_n: self.log_n(),
            bits: sources.bits,
            digit_bits: sources.digit_bits,
            digits: sources.digits(),
            limb_count: span.limbs() as u32,
            stride: conversion.stride as u32,
            offset: sources.offset(),
        };
        let groups = (conversion.stride / GROUP) as u32;
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch_wide(op, Entry::WideResidues, sources.rows * self.n(), groups, &args) }
    }

    /// Numbers from the y of a conversion, or from residues where `scaled` is not set.
    ///
    /// # Safety
    /// `y` is live and holds a row for each limb, target and batch entry; the targets and addends
    /// are live and hold their rows.
    unsafe fn compose(
        &self,
        op: &'static str,
        span: Span,
        y: u64,
        scaled: bool,
        targets: &Targets<'_>,
    ) -> Result<()> {
        let conversion = self.extensions.get::<WideTables>().conversion(self, span)?;
        let words = (targets.rows.bits + targets.shift).div_ceil(64);
        assert!(words as usize <= conversion.words, "{op}: more bits than the ring's primes have");
        let count = targets.dst.len();
        let mut dst = [0; 3];
        dst[..count].copy_from_slice(targets.dst);
        let args = ComposeArgs {
            to: shape(self, targets.rows),
            y,
            scale: if scaled { 0 } else { conversion.scale },
            primes: self.primes(),
            reciprocal: conversion.reciprocal,
            hat: conversion.hat,
            minus_product: conversion.minus_product,
            limbs: self.limbs(Rows::new(span, count * targets.rows.batch)),
            dst,
            addend: [targets.addend[0], targets.addend[1], 0],
            count: span.limbs() as u32,
            words,
            shift: targets.shift,
            unused: 0,
        };
        let threads = targets.rows.batch * self.n();
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch_wide(op, Entry::WideCompose, threads, count as u32, &args) }
    }

    /// Converts values in place to the y of the conversion from all primes of the span, then to
    /// numbers.
    ///
    /// # Safety
    /// As for [`compose`](Self::compose).
    unsafe fn compose_values(
        &self,
        op: &'static str,
        span: Span,
        values: u64,
        targets: &Targets<'_>,
    ) -> Result<()> {
        let plan = self.convert_plan(span, Span::chain(1))?;
        let rows = Rows::new(span, targets.dst.len() * targets.rows.batch);
        let args = NttArgs {
            src: parts([values]),
            dst: parts([values]),
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.ntt_args(rows)
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.cuda.inverse(op, &args, Extent::rows(rows.count()))?;
            self.compose(op, span, values, true, targets)
        }
    }

    /// Transforms coefficients in place to values.
    ///
    /// # Safety
    /// `values` is live and holds the rows.
    unsafe fn forward_values(&self, op: &'static str, rows: Rows, values: u64) -> Result<()> {
        let place = parts([values]);
        let args = NttArgs { src: place, dst: place, ..self.ntt_args(rows) };
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.forward(op, &args, Extent::rows(rows.count()), place) }
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
            self.cuda.launch_rows(op, Entry::WideTensor, span.limbs() * batch, grid.log_chunks, &args)?;
            self.compose_values(op, span, products.address(), &targets)?;
        }
        Ok(d)
    }

    fn wide_key_switch(
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
                && shape.key().flat_words(n) <= key.words()
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
            key_words: shape.key_span.limbs() * n,
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
            self.cuda.launch_rows(op, Entry::WideKeyProduct, span.limbs() * batch, grid.log_chunks, &args)?;
            self.compose_values(op, span, sums.address(), &targets)?;
        }
        Ok(switched)
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_kernels() {
        assert_eq!((size_of::<Shape>(), offset_of!(Shape, top_mask)), (24, 16));
        assert_eq!((size_of::<SumArgs>(), offset_of!(SumArgs, b_batch)), (64, 56));
        assert_eq!((size_of::<ScaleArgs>(), offset_of!(ScaleArgs, factor)), (48 + 8 * MAX_WORDS, 48));
        assert_eq!((size_of::<ShiftArgs>(), size_of::<AutomorphismArgs>()), (48, 48));
        assert_eq!((size_of::<SignedArgs>(), size_of::<SampleArgs>()), (40, 72));
        let offsets = [offset_of!(ResiduesArgs, limbs), offset_of!(ResiduesArgs, log_n)];
        assert_eq!(offsets, [56, 80]);
        assert_eq!(offset_of!(ResiduesArgs, offset), 104);
        let offsets = [offset_of!(ComposeArgs, limbs), offset_of!(ComposeArgs, addend)];
        assert_eq!(offsets, [72, 112]);
        assert_eq!((offset_of!(ComposeArgs, count), size_of::<ComposeArgs>()), (136, 152));
        assert_eq!((size_of::<TensorArgs>(), offset_of!(TensorArgs, width)), (64, 48));
        assert_eq!((size_of::<KeyArgs>(), offset_of!(KeyArgs, count)), (72, 64));
    }

    #[test]
    fn halves_of_digits() {
        let sources = |bits, digit_bits| Sources { src: [0; 4], batch: [1; 2], rows: 1, bits, digit_bits };
        let offset = |bits, digit_bits| sources(bits, digit_bits).offset();
        assert_eq!(offset(64, 64)[..2], [1 << 63, 0]);
        assert_eq!(offset(70, 70)[..2], [0, 1 << 5]);
        assert_eq!(offset(6, 2)[0], 0b10_1010);
        assert_eq!(offset(130, 65)[..4], [0, 1, 2, 0]);
        // Ends at 33, 66 and 67.
        assert_eq!(offset(67, 33)[..2], [1 << 32, 1 << 1 | 1 << 2]);
    }
}
