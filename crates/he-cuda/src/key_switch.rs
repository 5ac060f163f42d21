//! Products, base conversions, divisions and key switches.

use crate::byte_conversion::row_chunks;
use crate::constants::{Grid, ROW_THREADS};
use crate::cuda::{Cuda, failed};
use crate::elementwise::{at, holds_operand};
use crate::kernels::{Entry, byte_rows, product_tile};
use crate::key_form::{KeyForm, KeyLayout};
use crate::ntt::{Args as NttArgs, Extent, FUSED_SOURCES, MOST_PARTS, Operand as Loaded, Own, Rest, parts};
use crate::ring::{CudaRing, Plan};
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::backend::KeySwitchShape;
use he_core::ring::{Operand, RingSpec, Rows, Span};

/// The most primes of a chain.
const MAX_CHAIN: usize = RingSpec::MAX_PRIMES;

/// The most sources of a conversion with two coefficients per thread in float64
/// (kernels/include/conversion.cuh).
const SPLIT_TERMS: usize = 10;

/// The targets whose constants are in shared memory if there are more sources.
const MANY_TARGETS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct TensorArgs {
    grid: Grid,
    a: [u64; 2],
    a_special: [u64; 2],
    b: [u64; 2],
    d: [u64; 3],
    a_batch: u32,
    b_batch: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ProductArgs {
    grid: Grid,
    digits: u64,
    digit_words: u64,
    own: u64,
    key: u64,
    key_words: u64,
    key_chain: u32,
    count: u32,
    key_layout: KeyLayout,
    addend: [u64; 2],
    sums: [u64; 2],
    special: [u64; MAX_CHAIN],
    digit_of: [u8; MAX_CHAIN],
    left: [u64; 2],
    right: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ConvertArgs {
    grid: Grid,
    bases: [u64; 2],
    src: [u64; MOST_PARTS],
    dst: [u64; MOST_PARTS],
    dst_digit: u64,
    skip_own: u32,
    targets: u32,
}

/// One conversion, or two in one launch.
#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ConvertStepsArgs {
    first: ConvertArgs,
    second: ConvertArgs,
    count: u32,
    then: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct LiftArgs {
    grid: Grid,
    src: u64,
    dst: u64,
    factors: u64,
}

/// log2 of the coefficients of a tile of a conversion of rows in the matrix units, and its threads.
const BYTES_LOG_TILE: u32 = 7;
const BYTES_THREADS: u32 = 128;

/// log2 of the points of a tile of the kernel that ends the digits' transforms, and its threads.
const PRODUCT_LOG_TILE: u32 = 10;
const PRODUCT_THREADS: u32 = 128;

/// The state of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DigitState {
    /// Everything.
    Complete,
    /// Their own limbs are missing.
    WithoutOwn,
    /// That, and the low bits of the transforms are left to do.
    Columns,
}

/// Digits on their way to a product.
pub(crate) struct Digits {
    pub(crate) buf: Buffer,
    pub(crate) state: DigitState,
}

/// A conversion of rows of coefficients, which are y already.
#[derive(Clone, Copy)]
pub(crate) struct ConvertRows<'a> {
    /// The plans of the first two polynomials and of the others, with as many sources.
    pub(crate) plans: [&'a Plan; 2],
    pub(crate) src: [u64; MOST_PARTS],
    /// The rows of one digit of one polynomial.
    pub(crate) to: Rows,
    pub(crate) dst: [u64; MOST_PARTS],
    pub(crate) extent: Extent,
    /// The words from one digit to the next.
    pub(crate) dst_digit: usize,
    pub(crate) skip_own: bool,
}

/// The kernel of a conversion of rows, log2 of the blocks of a row, their threads and their shared
/// memory.
#[derive(Clone, Copy, PartialEq, Eq)]
struct ConvertKernel {
    entry: Entry,
    log_blocks: u32,
    threads: u32,
    shared: u32,
}

/// The inputs of a key switch beside the digits and the key.
#[derive(Clone, Copy)]
pub(crate) enum Beside<'a> {
    /// The decomposed polynomial if the digits lack their own limbs, and addends to take P times.
    Words { own: Option<&'a Buffer>, addend: [Option<&'a Buffer>; 2] },
    /// Two pairs: the digits are those of the last part of their product, without their own limbs,
    /// and the other parts are added P times.
    Product([[Operand<'a, Buffer>; 2]; 2]),
}

impl Beside<'_> {
    /// Nothing, for complete digits.
    pub(crate) const NOTHING: Self = Beside::Words { own: None, addend: [None; 2] };
}

/// The first step of a decomposition or of divisions: the y of the own limbs, in place among those
/// of all limbs. Its last kernel is still to be launched, if it is one of its own.
pub(crate) struct Lift<const PARTS: usize> {
    pub(crate) y: [Buffer; PARTS],
    pub(crate) rest: Option<Rest>,
}

/// The work on its quotients that a division does in addition to storing them.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    /// Added to the first polynomial.
    pub(crate) addend: Option<&'a Buffer>,
    /// The automorphism that follows: 1 for none.
    pub(crate) g: u64,
}

impl Finish<'_> {
    pub(crate) const STORE: Self = Finish { addend: None, g: 1 };
}

impl Cuda {
    pub(crate) fn scratch_buffer(&self, op: &'static str, words: usize) -> Result<Buffer> {
        self.stream.alloc(words).map_err(failed(op))
    }
}

impl CudaRing {
    pub(crate) fn ntt_args(&self, rows: Rows) -> NttArgs {
        NttArgs::new(self.primes(), self.limbs(rows), self.log_n())
    }

    /// Transforms rows in place.
    pub(crate) fn transform(
        &self,
        op: &'static str,
        rows: Rows,
        a: &mut Buffer,
        forward: bool,
    ) -> Result<()> {
        assert!(rows.at + rows.count() * self.n() <= a.words(), "{op}: the buffer is too small");
        let place = parts([at(a, rows.at)]);
        let plan = self.default_plan();
        let args = NttArgs {
            src: place,
            dst: place,
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.ntt_args(rows)
        };
        let extent = Extent::rows(rows);
        // SAFETY: the buffer holds the rows, as just checked.
        unsafe {
            if forward {
                self.forward(op, &args, None, extent, place)
            } else {
                self.inverse(op, &args, extent)
            }
        }
    }

    /// The tensor product of pairs.
    pub(crate) fn tensor_rows(
        &self,
        rows: Rows,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
    ) -> Result<[Buffer; 3]> {
        let op = "tensor";
        // The batches of a pair may differ only if the kernel need not know, so they are brought to
        // one form.
        if a[0].batch != a[1].batch || b[0].batch != b[1].batch {
            let [a0, a1] = [self.widened(op, rows, a[0])?, self.widened(op, rows, a[1])?];
            let [b0, b1] = [self.widened(op, rows, b[0])?, self.widened(op, rows, b[1])?];
            let whole = |buf| Operand::new(buf, rows.batch);
            return self.tensor_rows(rows, [whole(&a0), whole(&a1)], [whole(&b0), whole(&b1)]);
        }
        assert!(
            a.into_iter().chain(b).all(|x| holds_operand(self, rows, x)),
            "{op}: an operand is too small"
        );
        let words = rows.count() * self.n();
        let d = [(); 3].map(|()| self.cuda.scratch_buffer(op, words));
        let [d0, d1, d2] = d;
        let d = [d0?, d1?, d2?];
        let place = |x: [Operand<'_, Buffer>; 2]| x.map(|x| at(x.buf, x.at));
        let (left, right) = (place(a), place(b));
        let batches = [a[0].batch, b[0].batch];
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe {
            self.launch_tensor(op, rows, [left, left], right, batches, d.each_ref().map(Buffer::address))?
        };
        Ok(d)
    }

    /// The tensor product of pairs at addresses with their batches. The chain's limbs of the first
    /// pair are in one place, and the special ones, by the same index, in another.
    ///
    /// # Safety
    /// The addresses are live and hold the rows.
    pub(crate) unsafe fn launch_tensor(
        &self,
        op: &'static str,
        rows: Rows,
        [a, a_special]: [[u64; 2]; 2],
        b: [u64; 2],
        batches: [usize; 2],
        d: [u64; 3],
    ) -> Result<()> {
        let grid = self.grid(rows);
        let [a_batch, b_batch] = batches.map(|batch| batch as u32);
        let args = TensorArgs { grid, a, a_special, b, d, a_batch, b_batch };
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch_rows(op, Entry::Tensor, grid.blocks(rows.span), &args) }
    }

    /// Copies an operand with the batch of the rows.
    fn widened(&self, op: &'static str, rows: Rows, x: Operand<'_, Buffer>) -> Result<Buffer> {
        let mut copy = self.cuda.stream.zeros(rows.count() * self.n()).map_err(failed(op))?;
        self.elementwise(op, Entry::Add, rows.at(0), &mut copy, Some(x), None)?;
        Ok(copy)
    }

    fn convert_kernel(&self, of: &ConvertRows<'_>) -> ConvertKernel {
        let (plan, targets) = (of.plans[0], of.to.span.limbs());
        debug_assert_eq!(plan.sources, of.plans[1].sources, "one kernel for both");
        if of.plans.iter().all(|plan| self.converts_bytes(plan)) {
            let few = row_chunks(plan.sources) < 4;
            let entry = if few { Entry::ConvertBytes13 } else { Entry::ConvertBytes18 };
            let shared = byte_rows(plan.sources);
            let log_blocks = self.log_n() - BYTES_LOG_TILE;
            return ConvertKernel { entry, log_blocks, threads: BYTES_THREADS, shared };
        }
        // The constants of a target: one pair per source, and three more.
        let shared = |targets: usize, sources: usize| (16 * targets * (sources + 3)) as u32;
        let (entry, coefficients, shared) = match plan.sources {
            sources if sources <= SPLIT_TERMS || !plan.short_sources => {
                (Entry::Convert, 2, shared(targets, sources.min(SPLIT_TERMS)))
            }
            ..=16 => (Entry::Convert16, 1, shared(MANY_TARGETS, 16)),
            17..=24 => (Entry::Convert24, 1, shared(MANY_TARGETS, 24)),
            25..=40 => (Entry::Convert40, 1, shared(MANY_TARGETS, 40)),
            _ => (Entry::Convert, 2, 0),
        };
        let log_blocks = self.grid(of.to).log_chunks + 2 - coefficients;
        ConvertKernel { entry, log_blocks, threads: ROW_THREADS, shared }
    }

    fn convert_args(&self, of: &ConvertRows<'_>) -> ConvertArgs {
        ConvertArgs {
            grid: self.grid(of.to),
            bases: of.plans.map(|plan| plan.bases),
            src: of.src,
            dst: of.dst,
            dst_digit: of.dst_digit as u64,
            skip_own: u32::from(of.skip_own),
            targets: of.to.span.limbs() as u32,
        }
    }

    /// Converts rows.
    ///
    /// # Safety
    /// The addresses are live and hold the rows.
    pub(crate) unsafe fn convert(&self, op: &'static str, of: &ConvertRows<'_>) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_convert(op, self.convert_kernel(of), of, None) }
    }

    /// Converts rows, then the results of the last polynomials further, in one launch where one
    /// kernel does both.
    ///
    /// # Safety
    /// As for [`convert`](Self::convert); the sources of the second are destinations of the first.
    pub(crate) unsafe fn convert_twice(
        &self,
        op: &'static str,
        first: &ConvertRows<'_>,
        second: &ConvertRows<'_>,
    ) -> Result<()> {
        let kernels = [first, second].map(|of| self.convert_kernel(of));
        let shared = kernels[0].shared.max(kernels[1].shared);
        let in_one = match kernels.map(|kernel| kernel.entry) {
            [Entry::Convert, Entry::Convert] => Some(Entry::ConvertTwice),
            [a @ (Entry::ConvertBytes13 | Entry::ConvertBytes18), b] if a == b => Some(a),
            _ => None,
        };
        // SAFETY: guaranteed by the caller.
        unsafe {
            match in_one {
                Some(entry) if first.to.batch == second.to.batch => self.launch_convert(
                    op,
                    ConvertKernel { entry, shared, ..kernels[0] },
                    first,
                    Some(second),
                ),
                _ => {
                    self.launch_convert(op, kernels[0], first, None)?;
                    self.launch_convert(op, kernels[1], second, None)
                }
            }
        }
    }

    /// One launch of a conversion, or of two.
    ///
    /// # Safety
    /// As for [`convert`](Self::convert).
    unsafe fn launch_convert(
        &self,
        op: &'static str,
        kernel: ConvertKernel,
        first: &ConvertRows<'_>,
        second: Option<&ConvertRows<'_>>,
    ) -> Result<()> {
        if first.to.count() == 0 {
            return Ok(());
        }
        let ConvertKernel { entry, log_blocks, threads, shared } = kernel;
        let blocks = (first.to.batch << log_blocks) as u32;
        let grid = [blocks, first.extent.digits as u32, first.extent.parts as u32];
        let args = self.convert_args(first);
        // SAFETY: guaranteed by the caller.
        unsafe {
            match entry {
                Entry::ConvertTwice | Entry::ConvertBytes13 | Entry::ConvertBytes18 => {
                    let further = second.map_or(args, |second| self.convert_args(second));
                    let (count, parts) = second.map_or((1, 0), |second| (2, second.extent.parts));
                    let then = (first.extent.parts - parts) as u32;
                    let args = ConvertStepsArgs { first: args, second: further, count, then };
                    self.cuda.launch(op, entry, grid, threads, shared, &args)
                }
                _ => self.cuda.launch(op, entry, grid, threads, shared, &args),
            }
        }
    }

    /// Whether a conversion of rows uses the matrix units: where it pays, and the device has them.
    fn converts_bytes(&self, plan: &Plan) -> bool {
        let pays = plan.sources > SPLIT_TERMS && self.log_n() >= BYTES_LOG_TILE;
        plan.in_bytes && pays && self.cuda.runs_kernels_80()
    }

    /// Base conversion of coefficients.
    pub(crate) fn convert_rows(&self, from: Rows, src: &Buffer, to: Rows, dst: &mut Buffer) -> Result<()> {
        let op = "convert_basis";
        let n = self.n();
        assert!(
            from.at + from.count() * n <= src.words() && to.at + to.count() * n <= dst.words(),
            "{op}: a buffer is too small"
        );
        if from.count() == 0 || to.count() == 0 {
            // The number without residues is zero.
            return self.cuda.stream.fill_zero(dst, to.at, to.count() * n).map_err(failed(op));
        }
        let plan = self.convert_plan(from.span, to.span)?;
        let y = self.cuda.scratch_buffer(op, from.count() * n)?;
        let grid = self.grid(from);
        let args = LiftArgs { grid, src: at(src, from.at), dst: y.address(), factors: plan.lift };
        // SAFETY: the buffers are live and hold the rows, as just checked.
        unsafe { self.cuda.launch_rows(op, Entry::Lift, grid.blocks(from.span), &args)? };
        let (src, dst) = (parts([y.address()]), parts([at(dst, to.at)]));
        let extent = Extent::rows(to);
        let of = ConvertRows { plans: [&plan; 2], src, to, dst, extent, dst_digit: 0, skip_own: false };
        // SAFETY: y was made for the sources, and the destination holds the rows, as just checked.
        unsafe { self.convert(op, &of) }
    }

    /// ModUp, complete or only for [`product_rows`](Self::product_rows).
    pub(crate) fn decompose_rows(
        &self,
        shape: &KeySwitchShape,
        src: &Buffer,
        complete: bool,
    ) -> Result<Digits> {
        let lift = self.lift_digits(shape, src)?;
        self.end_lift("decompose", &lift)?;
        self.convert_digits(shape, &lift.y[0], complete.then_some(src))
    }

    /// Begins the first step of ModUp: the coefficients of the own limbs times (D / d_i)^-1, where
    /// they belong among those of all limbs.
    pub(crate) fn lift_digits(&self, shape: &KeySwitchShape, src: &Buffer) -> Result<Lift<1>> {
        let own = self.own(Rows::new(Span::chain(shape.q), shape.batch));
        assert!(own.count() * self.n() <= src.words(), "decompose: the source is too small");
        // SAFETY: the source is live and holds the own rows, as just checked.
        unsafe { self.lift_operand(shape, parts([src.address()]), Loaded::Words) }
    }

    /// The first step for an operand at addresses.
    ///
    /// # Safety
    /// The addresses are live and hold the own rows.
    unsafe fn lift_operand(
        &self,
        shape: &KeySwitchShape,
        src: [u64; MOST_PARTS],
        operand: Loaded,
    ) -> Result<Lift<1>> {
        let op = "decompose";
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        let own = self.own(chain);
        let plan = self.decompose_plan(shape)?;
        let y = self.cuda.scratch_buffer(op, chain.count() * self.n())?;
        let inverse = NttArgs {
            src,
            operand,
            dst: parts([y.address()]),
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.spread_args(chain)
        };
        // SAFETY: the sources hold the own rows, and y has room for all.
        let rest = unsafe { self.begin_inverse(op, &inverse, Extent::rows(own))? };
        Ok(Lift { y: [y], rest })
    }

    /// Ends the first step of a decomposition or division, for a single device.
    pub(crate) fn end_lift<const PARTS: usize>(&self, op: &'static str, lift: &Lift<PARTS>) -> Result<()> {
        match &lift.rest {
            // SAFETY: the destinations are those of the lift.
            Some(rest) => unsafe { self.end_inverse(op, rest) },
            None => Ok(()),
        }
    }

    /// The second step: the digits, from the `y` of all limbs. Their own limbs are copied from what
    /// was decomposed, or left out.
    pub(crate) fn convert_digits(
        &self,
        shape: &KeySwitchShape,
        y: &Buffer,
        copied: Option<&Buffer>,
    ) -> Result<Digits> {
        let op = "decompose";
        let plan = self.decompose_plan(shape)?;
        let rows = self.own(Rows::new(shape.span(), shape.batch));
        assert!(
            shape.q * shape.batch * self.n() <= y.words()
                && copied.is_none_or(|src| rows.span.chain_limbs() * shape.batch * self.n() <= src.words()),
            "{op}: the source is too small"
        );
        let complete = copied.is_some();
        let digit_words = self.digit_words(shape);
        let digits = self.cuda.scratch_buffer(op, shape.digits.len() * digit_words)?;
        let extent = Extent { rows, digits: shape.digits.len(), parts: 1 };
        let in_columns = self.converts_in_columns(&plan, extent);
        let fused = in_columns || plan.sources <= FUSED_SOURCES;
        if !fused {
            let of = ConvertRows {
                plans: [&plan; 2],
                src: parts([y.address()]),
                to: rows,
                dst: parts([digits.address()]),
                extent,
                dst_digit: digit_words,
                skip_own: true,
            };
            // SAFETY: `y` holds the chain's rows, and `digits` was made for those of all digits.
            unsafe { self.convert(op, &of)? };
        }
        let forward = NttArgs {
            src: parts([if fused { y.address() } else { digits.address() }]),
            dst: parts([digits.address()]),
            src_digit: if fused { 0 } else { digit_words as u64 },
            dst_digit: digit_words as u64,
            bases: plan.bases,
            convert: u32::from(fused),
            own: if complete { Own::Copy } else { Own::Skip },
            acc: parts([copied.map_or(0, Buffer::address)]),
            ..self.ntt_args(rows)
        };
        let state = match complete {
            true => DigitState::Complete,
            false if in_columns || self.has_columns(extent) => DigitState::Columns,
            false => DigitState::WithoutOwn,
        };
        let converting = fused.then_some(&*plan);
        // SAFETY: `digits` holds all rows of all digits, y the chain's rows.
        unsafe {
            if in_columns && complete {
                self.convert_forward(op, &forward, &plan, extent, forward.dst)?;
            } else if in_columns {
                self.convert_columns(op, &forward, &plan, extent)?;
            } else if state == DigitState::Columns {
                self.forward_columns(op, &forward, converting, extent)?;
            } else {
                self.forward(op, &forward, converting, extent, parts([digits.address()]))?;
            }
        }
        Ok(Digits { buf: digits, state })
    }

    /// Inner products with a key of the digits of `src`; P times `addend` is added.
    pub(crate) fn switch_rows(
        &self,
        shape: &KeySwitchShape,
        src: &Buffer,
        key: &Buffer,
        addend: [Option<&Buffer>; 2],
    ) -> Result<[Buffer; 2]> {
        let digits = self.decompose_rows(shape, src, false)?;
        self.product_rows(shape, &digits.buf, digits.state, Beside::Words { own: Some(src), addend }, key)
    }

    /// Inner products with a key of the digits of the last part of a product of pairs over the
    /// chain; P times its other parts is added. The product itself never reaches memory from degree
    /// 2^12 on, if no pair is combined with several.
    pub(crate) fn multiply_and_switch(
        &self,
        shape: &KeySwitchShape,
        a: [Operand<'_, Buffer>; 2],
        b: [Operand<'_, Buffer>; 2],
        key: &Buffer,
    ) -> Result<[Buffer; 2]> {
        let chain = Rows::new(Span::chain(shape.q), shape.batch);
        if self.log_n() < 12 || a.iter().chain(&b).any(|x| x.batch != shape.batch) {
            let [d0, d1, d2] = self.tensor_rows(chain, a, b)?;
            return self.switch_rows(shape, &d2, key, [Some(&d0), Some(&d1)]);
        }
        let op = "multiply_relinearize";
        assert!(
            a.into_iter().chain(b).all(|x| holds_operand(self, chain, x)),
            "{op}: an operand is too small"
        );
        let pairs = [a[0], a[1], b[0], b[1]].map(|x| at(x.buf, x.at));
        // SAFETY: the operands are live and hold the chain's rows, as just checked.
        let lift = unsafe { self.lift_operand(shape, pairs, Loaded::LastProduct)? };
        self.end_lift(op, &lift)?;
        let digits = self.convert_digits(shape, &lift.y[0], None)?;
        self.product_rows(shape, &digits.buf, digits.state, Beside::Product([a, b]), key)
    }

    /// The own rows among those of the whole ring, without their place.
    pub(crate) fn own(&self, rows: Rows) -> Rows {
        Rows::new(self.share().span(rows.span), rows.batch)
    }

    /// The words of the own limbs of one digit.
    pub(crate) fn digit_words(&self, shape: &KeySwitchShape) -> usize {
        self.own(Rows::new(shape.span(), shape.batch)).count() * self.n()
    }

    /// The arguments of an inverse transform of the own rows among those of the whole ring, which
    /// stores them where they belong among all.
    fn spread_args(&self, rows: Rows) -> NttArgs {
        let runs = self.share().runs(rows.span);
        let (place, spread) = (runs.map(|run| run.first as u32), self.share().step() as u32);
        NttArgs { place, spread, ..self.ntt_args(self.own(rows)) }
    }

    /// Inner products of digits with a key.
    pub(crate) fn product_rows(
        &self,
        shape: &KeySwitchShape,
        digits: &Buffer,
        state: DigitState,
        beside: Beside<'_>,
        key: &Buffer,
    ) -> Result<[Buffer; 2]> {
        let op = "key_product";
        let n = self.n();
        let rows = self.own(Rows::new(shape.span(), shape.batch));
        let (own, addend, pairs) = match beside {
            Beside::Words { own, addend } => (own, addend, None),
            Beside::Product(pairs) => (None, [None; 2], Some(pairs)),
        };
        let chain = Rows::new(Span::chain(rows.span.chain_limbs()), shape.batch);
        let chain_words = chain.count() * n;
        let key_span = self.share().span(shape.key().span);
        assert!(
            shape.digits.len() * self.digit_words(shape) <= digits.words()
                && self.holds_key(&shape.key(), key)
                && pairs.iter().flatten().flatten().all(|x| holds_operand(self, chain, *x))
                && own.into_iter().chain(addend.into_iter().flatten()).all(|x| chain_words <= x.words()),
            "{op}: an operand is too small"
        );
        let sums = [
            self.cuda.scratch_buffer(op, rows.count() * n)?,
            self.cuda.scratch_buffer(op, rows.count() * n)?,
        ];
        let constants = self.switch_constants(shape);
        let grid = self.grid(rows);
        let [left, right] =
            pairs.map_or([[0; 2]; 2], |pairs| pairs.map(|pair| pair.map(|x| at(x.buf, x.at))));
        let args = ProductArgs {
            grid,
            digits: digits.address(),
            digit_words: self.digit_words(shape) as u64,
            own: own.map_or(0, Buffer::address),
            key: key.address(),
            key_words: self.key_words(key_span.limbs()) as u64,
            key_chain: key_span.chain_limbs() as u32,
            count: shape.digits.len() as u32,
            key_layout: self.key_layout(key_span),
            addend: addend.map(|d| d.map_or(0, Buffer::address)),
            sums: sums.each_ref().map(Buffer::address),
            special: constants.special,
            digit_of: constants.digit_of,
            left,
            right,
        };
        // SAFETY: the buffers are live and hold what the shape says, as just checked.
        unsafe {
            if state == DigitState::Columns {
                let tiles = (rows.batch << (self.log_n() - PRODUCT_LOG_TILE)) as u32;
                let blocks = [tiles, rows.span.limbs() as u32, 1];
                let form = self.key_form();
                let shared = product_tile(if form == KeyForm::Packed { 1 } else { 2 });
                use Entry::*;
                let (waiting, copying) = match (form, pairs.is_some()) {
                    (KeyForm::Flat, false) => (NttProduct, AsyncNttProduct),
                    (KeyForm::Flat, true) => (NttProductPairs, AsyncNttProductPairs),
                    (KeyForm::Mixed, false) => (NttProductMixed, AsyncNttProductMixed),
                    (KeyForm::Mixed, true) => (NttProductMixedPairs, AsyncNttProductMixedPairs),
                    (KeyForm::Packed, false) => (NttProductPacked, AsyncNttProductPacked),
                    (KeyForm::Packed, true) => (NttProductPackedPairs, AsyncNttProductPackedPairs),
                };
                let entry = if self.cuda.runs_kernels_80() { copying } else { waiting };
                self.cuda.launch(op, entry, blocks, PRODUCT_THREADS, shared, &args)?;
            } else {
                use Entry::*;
                let entry = match (self.key_form(), pairs.is_some()) {
                    (KeyForm::Flat, false) => KeyProduct,
                    (KeyForm::Flat, true) => KeyProductPairs,
                    (_, false) => KeyProductPacked,
                    (_, true) => KeyProductPackedPairs,
                };
                self.cuda.launch_rows(op, entry, grid.blocks(rows.span), &args)?;
            }
        }
        Ok(sums)
    }

    /// Divisions of up to four polynomials over `span` by the primes from `keep` on.
    pub(crate) fn divide<const PARTS: usize>(
        &self,
        op: &'static str,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Buffer; PARTS],
        finish: Finish<'_>,
    ) -> Result<[Buffer; PARTS]> {
        let plan = self.divide_plan(span, keep)?;
        self.divide_by(op, &plan, span, keep, batch, src, finish)
    }

    /// Divisions with the constants given.
    pub(crate) fn divide_by<const PARTS: usize>(
        &self,
        op: &'static str,
        plan: &Plan,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Buffer; PARTS],
        finish: Finish<'_>,
    ) -> Result<[Buffer; PARTS]> {
        let lift = self.lift_dropped(op, plan, span, keep, batch, src)?;
        self.end_lift(op, &lift)?;
        self.finish_division(op, plan, span, keep, batch, src, lift.y.each_ref(), finish)
    }

    /// The division of the tensor product of two pairs, which is not computed itself. Their kept
    /// rows, and their dropped ones, are at these addresses.
    ///
    /// # Safety
    /// The addresses are live and hold the rows; [`takes_pairs`](Self::takes_pairs) of both.
    pub(crate) unsafe fn divide_tensor_by(
        &self,
        op: &'static str,
        plan: &Plan,
        span: Span,
        keep: usize,
        batch: usize,
        [kept, dropped]: [[u64; MOST_PARTS]; 2],
    ) -> Result<[Buffer; 3]> {
        let rows = [span.head(keep), span.tail(keep)].map(|span| Rows::new(span, batch));
        // SAFETY: guaranteed by the caller; the first step made y for the dropped rows.
        unsafe {
            let lift = self.lift_dropped_operand::<3>(op, plan, rows[1], dropped, Loaded::Tensor)?;
            self.end_lift(op, &lift)?;
            self.finish_operand(op, plan, rows[0], kept, Loaded::Tensor, lift.y.each_ref(), Finish::STORE)
        }
    }

    /// Begins the first step of divisions: the coefficients of the own dropped limbs, multiplied by
    /// (D / d_i)^-1, where they belong among those of all dropped limbs.
    pub(crate) fn lift_dropped<const PARTS: usize>(
        &self,
        op: &'static str,
        plan: &Plan,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Buffer; PARTS],
    ) -> Result<Lift<PARTS>> {
        let n = self.n();
        let dropped = Rows::new(span.tail(keep), batch);
        let (all, own) = (self.own(Rows::new(span, batch)), self.own(dropped));
        assert!(src.iter().all(|x| all.count() * n <= x.words()), "{op}: an operand is too small");
        let kept_words = (all.count() - own.count()) * n;
        let src = parts(src.map(|src| at(src, kept_words)));
        // SAFETY: the sources hold the own dropped rows behind the kept ones, as just checked.
        unsafe { self.lift_dropped_operand(op, plan, dropped, src, Loaded::Words) }
    }

    /// The first step of a division of an operand, whose dropped rows are at these addresses.
    ///
    /// # Safety
    /// The addresses are live and hold the own dropped rows.
    unsafe fn lift_dropped_operand<const PARTS: usize>(
        &self,
        op: &'static str,
        plan: &Plan,
        dropped: Rows,
        src: [u64; MOST_PARTS],
        operand: Loaded,
    ) -> Result<Lift<PARTS>> {
        let own = self.own(dropped);
        let y = self.part_buffers::<PARTS>(op, dropped.count() * self.n())?;
        let inverse = NttArgs {
            src,
            operand,
            dst: addresses(y.each_ref()),
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.spread_args(dropped)
        };
        let extent = Extent { rows: own, digits: 1, parts: PARTS };
        // SAFETY: guaranteed by the caller; y was made for all dropped rows.
        let rest = unsafe { self.begin_inverse(op, &inverse, extent)? };
        Ok(Lift { y, rest })
    }

    /// The second step: the quotients, from the `y` of all dropped limbs.
    pub(crate) fn finish_division<const PARTS: usize>(
        &self,
        op: &'static str,
        plan: &Plan,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&Buffer; PARTS],
        y: [&Buffer; PARTS],
        finish: Finish<'_>,
    ) -> Result<[Buffer; PARTS]> {
        let n = self.n();
        let kept = self.own(Rows::new(span.head(keep), batch));
        assert!(
            y.iter().all(|y| span.tail(keep).limbs() * batch * n <= y.words())
                && src.into_iter().chain(finish.addend).all(|x| kept.count() * n <= x.words()),
            "{op}: an operand is too small"
        );
        // SAFETY: the sources begin with the kept rows, as just checked.
        unsafe { self.finish_operand(op, plan, kept, addresses(src), Loaded::Words, y, finish) }
    }

    /// The second step of a division of an operand, whose kept rows are at these addresses.
    ///
    /// # Safety
    /// The addresses are live and hold the own kept rows, y those of all dropped ones, and the
    /// addend the own kept rows.
    unsafe fn finish_operand<const PARTS: usize>(
        &self,
        op: &'static str,
        plan: &Plan,
        kept: Rows,
        acc: [u64; MOST_PARTS],
        operand: Loaded,
        y: [&Buffer; PARTS],
        finish: Finish<'_>,
    ) -> Result<[Buffer; PARTS]> {
        let n = self.n();
        let extent = Extent { rows: kept, digits: 1, parts: PARTS };
        let in_columns = self.converts_in_columns(plan, extent);
        let fused = in_columns || plan.sources <= FUSED_SOURCES;
        let out = self.part_buffers::<PARTS>(op, kept.count() * n)?;
        // The automorphism scatters, so it cannot be done in place.
        let apart = match !fused || finish.g != 1 {
            true => Some(self.part_buffers::<PARTS>(op, kept.count() * n)?),
            false => None,
        };
        let between = addresses(apart.as_ref().unwrap_or(&out).each_ref());
        if !fused {
            let (plans, src) = ([plan; 2], addresses(y));
            let of =
                ConvertRows { plans, src, to: kept, dst: between, extent, dst_digit: 0, skip_own: false };
            // SAFETY: guaranteed by the caller; `apart` was made for the kept rows.
            unsafe { self.convert(op, &of)? };
        }
        let mask = 2 * n as u64 - 1;
        let galois = he_core::ring::Automorphism::new(finish.g & mask, self.log_n()).inverse_element();
        let forward = NttArgs {
            src: if fused { addresses(y) } else { between },
            dst: addresses(out.each_ref()),
            bases: plan.bases,
            convert: u32::from(fused),
            acc,
            operand,
            factors: plan.factors,
            addend: finish.addend.map_or(0, Buffer::address),
            galois: galois as u32,
            ..self.ntt_args(kept)
        };
        // SAFETY: guaranteed by the caller; the other buffers were made for these rows.
        unsafe {
            if in_columns {
                self.convert_forward(op, &forward, plan, extent, between)?;
            } else {
                self.forward(op, &forward, fused.then_some(plan), extent, between)?;
            }
        }
        Ok(out)
    }

    /// A buffer for each polynomial of a launch.
    fn part_buffers<const PARTS: usize>(&self, op: &'static str, words: usize) -> Result<[Buffer; PARTS]> {
        let made = (0..PARTS).map(|_| self.cuda.scratch_buffer(op, words)).collect::<Result<_>>()?;
        Ok(to_array(made))
    }
}

/// The addresses of buffers, as kernels take them.
pub(crate) fn addresses<const PARTS: usize>(buffers: [&Buffer; PARTS]) -> [u64; MOST_PARTS] {
    parts(buffers.map(Buffer::address))
}

/// A vector of exactly N elements.
pub(crate) fn to_array<const N: usize>(vector: Vec<Buffer>) -> [Buffer; N] {
    match vector.try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("one buffer was made for each part"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        let offsets = [
            offset_of!(ProductArgs, key),
            offset_of!(ProductArgs, key_chain),
            offset_of!(ProductArgs, key_layout),
            offset_of!(ProductArgs, addend),
            offset_of!(ProductArgs, special),
            offset_of!(ProductArgs, digit_of),
            offset_of!(ProductArgs, left),
            size_of::<ProductArgs>(),
            size_of::<ConvertArgs>(),
            offset_of!(ConvertStepsArgs, count),
            size_of::<ConvertStepsArgs>(),
        ];
        assert_eq!(offsets, [56, 72, 80, 104, 136, 648, 712, 744, 128, 256, 264]);
    }
}
