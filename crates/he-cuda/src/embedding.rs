//! Slots to plaintexts and back.

use crate::cache::lock;
use crate::constants::Limbs;
use crate::cuda::{Cuda, failed};
use crate::elementwise::at;
use crate::host_vector::PageLocked;
use crate::kernels::Entry;
use crate::ntt::{Args as NttArgs, Extent, parts};
use crate::ring::CudaRing;
use crate::staging::{STAGE, Staged};
use bytemuck::{NoUninit, cast_slice, cast_slice_mut};
use gpu::{Buffer, Pinned};
use he_core::Result;
use he_core::backend::{
    Backend, Embedding, HostMemory, HostVector, PreparedRing, decode_slots, encode_slots,
};
use he_core::ring::{CrtComposer, Rows, Span, SpecialFft};
use num_complex::Complex64;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// The points of a tile, and the bits of them that are transformed.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct Shape {
    log_slots: u32,
    log_tile: u32,
    log_low: u32,
    from: u32,
    to: u32,
    unused: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct FftArgs {
    shape: Shape,
    src: u64,
    dst: u64,
    roots: u64,
    given: u32,
    reversed: u32,
    limbs: Limbs,
    primes: u64,
    words: u64,
    greatest: u64,
    factor: f64,
    scale: f64,
    log_n: u32,
    limb_count: u32,
}

impl FftArgs {
    /// A transform of one tile from the points at `src`, with nothing after it.
    fn new(ring: &CudaRing, src: u64, roots: &Buffer) -> Self {
        Self {
            shape: Shape::whole(0),
            src,
            dst: 0,
            roots: roots.address(),
            given: 0,
            reversed: 0,
            limbs: ring.limbs(Rows::new(Span::chain(1), 1)),
            primes: 0,
            words: 0,
            greatest: 0,
            factor: 0.0,
            scale: 0.0,
            log_n: ring.log_n(),
            limb_count: 0,
        }
    }

    /// The tiles of its blocks.
    pub(crate) const fn shape(&self) -> Shape {
        self.shape
    }

    /// The one or two kernels of a transform from coefficients in natural order at `src` to `dst`;
    /// two pass through `between`.
    pub(crate) fn forward(
        ring: &CudaRing,
        roots: &Buffer,
        slots: usize,
        src: u64,
        between: u64,
        dst: u64,
    ) -> impl Iterator<Item = Self> {
        let log_slots = slots.trailing_zeros();
        let given = Self { given: slots as u32, ..Self::new(ring, src, roots) };
        let first = Self { shape: Shape::last(slots), reversed: 1, dst, ..given };
        let is_single = log_slots <= LARGEST_SINGLE;
        let columns = || Self { shape: Shape::columns(log_slots), src: between, dst, ..given };
        [if is_single { first } else { Self { dst: between, ..first } }]
            .into_iter()
            .chain((!is_single).then(columns))
    }
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct ComposeArgs {
    y: u64,
    dst: u64,
    outside: u64,
    reciprocal: u64,
    hat: u64,
    minus_product: [u64; 3],
    factor: f64,
    stride: usize,
    log_n: u32,
    log_gap: u32,
    count: u32,
    unused: u32,
}

/// log2 of the most slots of a vector that fits one tile.
const LARGEST_SINGLE: u32 = 11;
/// The most threads of a block.
const THREADS: u32 = 256;
/// The blocks of the last inverse kernel whose shares of the limbs fill a device.
const ENOUGH_BLOCKS: usize = 256;
/// The words of page-locked memory that a kernel may read over the bus again in the time of the
/// copy that it thereby saves, some 5 µs.
const READ_AGAIN: usize = 1 << 15;

impl Shape {
    /// For a vector that fits one tile.
    const fn whole(log_slots: u32) -> Self {
        Self { log_slots, log_tile: log_slots, log_low: log_slots, from: 0, to: log_slots, unused: 0 }
    }

    /// The low half of the bits, in tiles of eight runs that are neighbours in reversed order.
    const fn rows(log_slots: u32) -> Self {
        let low = log_slots / 2;
        Self { log_slots, log_tile: low + 3, log_low: low, from: 0, to: low, unused: 0 }
    }

    /// The high half of the bits, in tiles of up to eight columns.
    const fn columns(log_slots: u32) -> Self {
        let high = log_slots - log_slots / 2;
        let low = if high < 8 { 3 } else { 2 };
        Self { log_slots, log_tile: high + low, log_low: low, from: low, to: high + low, unused: 0 }
    }

    /// The layout of the last kernel of an inverse transform, which is the first one of a forward
    /// one.
    const fn last(slots: usize) -> Self {
        let log_slots = slots.trailing_zeros();
        if log_slots <= LARGEST_SINGLE { Self::whole(log_slots) } else { Self::rows(log_slots) }
    }

    const fn log_tiles(&self) -> u32 {
        self.log_slots - self.log_tile
    }

    /// Eight points per thread, in whole warps.
    fn threads(&self) -> u32 {
        ((1 << self.log_tile) / 8).clamp(32, THREADS)
    }

    /// The points, and words for the greatest of the block.
    fn shared(&self) -> u32 {
        (16 << self.log_tile).max(8 * self.threads())
    }
}

/// Composition modulo the first primes of the chain, on the device.
#[derive(Debug)]
struct Composition {
    data: Buffer,
    minus_product: [u64; 3],
    is_short: bool,
}

/// The constants for encoding and decoding in a ring on a device, computed on first use.
#[derive(Debug, Default)]
pub(crate) struct EmbeddingTables {
    /// The roots for a number of slots.
    roots: Mutex<HashMap<usize, Arc<Buffer>>>,
    /// For a number of primes.
    compositions: Mutex<HashMap<usize, Arc<Composition>>>,
}

/// Vectors where kernels read them.
struct Source<'a> {
    place: Place<'a>,
    /// The values of each.
    given: usize,
}

enum Place<'a> {
    Device(Buffer),
    /// In the one page-locked block, from which kernels read over the bus without a copy before.
    Staged(Staged<'a>),
    /// In page-locked memory of the caller, likewise.
    Lent(&'a Pinned),
}

impl Source<'_> {
    /// Runs `work` with the address of the vectors, and submits its launches together.
    fn read<T>(&self, op: &'static str, cuda: &Cuda, work: impl FnOnce(u64) -> Result<T>) -> Result<T> {
        let read = cuda.stream.batched(|| match &self.place {
            Place::Device(buf) => Ok(work(buf.address())),
            Place::Staged(blocks) => blocks.read_in_place(work),
            Place::Lent(words) => cuda.stream.reading(words, work),
        });
        read.and_then(|read| read).map_err(failed(op))?
    }
}

/// Puts vectors side by side, padded with zeros to `given` values each.
fn lay_out(vectors: &[&[Complex64]], given: usize, words: &mut [u64]) {
    for (vector, words) in vectors.iter().zip(words.chunks_mut((2 * given).max(1))) {
        let (values, padding) = words.split_at_mut(2 * vector.len());
        values.copy_from_slice(cast_slice(vector));
        padding.fill(0);
    }
}

/// A bound on the coefficients of vectors, infinite or NaN if there is none: the inverse transform
/// is 1 / sqrt(slots) times a unitary one, so no coefficient exceeds the root mean square of the
/// slots, except for roundings far below 2^-20.
fn greatest_possible(vectors: &[&[Complex64]], to: Embedding<'_>) -> f64 {
    let mut bound = 0.0;
    for values in vectors {
        // The sums are independent, so that the compiler keeps them in vector registers.
        let mut sums = [0.0; 8];
        let (eights, rest) = values.as_chunks::<4>();
        for [a, b, c, d] in eights {
            let parts = [a.re, a.im, b.re, b.im, c.re, c.im, d.re, d.im];
            for (sum, x) in sums.iter_mut().zip(parts) {
                *sum += x * x;
            }
        }
        let sum = sums.iter().sum::<f64>() + rest.iter().map(Complex64::norm_sqr).sum::<f64>();
        let most = (sum / to.slots as f64).sqrt() * to.scale * (1.0 + 1.0 / f64::from(1 << 20));
        // Not `max`, which drops NaN.
        bound = if most <= bound { bound } else { most };
        if bound.is_nan() {
            break;
        }
    }
    bound
}

impl EmbeddingTables {
    fn roots(&self, cuda: &Cuda, fft: &SpecialFft) -> Result<Arc<Buffer>> {
        let mut roots = lock(&self.roots);
        if let Some(buf) = roots.get(&fft.max_slots()) {
            return Ok(Arc::clone(buf));
        }
        let buf = Arc::new(cuda.stream.upload(cast_slice(fft.roots())).map_err(failed("prepare"))?);
        roots.insert(fft.max_slots(), Arc::clone(&buf));
        Ok(buf)
    }

    fn composition(&self, ring: &CudaRing, count: usize) -> Result<Arc<Composition>> {
        let mut compositions = lock(&self.compositions);
        if let Some(composition) = compositions.get(&count) {
            return Ok(Arc::clone(composition));
        }
        let composer = CrtComposer::new(ring.spec(), count);
        let mut words: Vec<u64> = composer.reciprocal().iter().map(|x| x.to_bits()).collect();
        words.extend(composer.hat().iter().flatten());
        let composition = Arc::new(Composition {
            data: ring.cuda.stream.upload(&words).map_err(failed("prepare"))?,
            minus_product: *composer.minus_product(),
            is_short: composer.is_short(),
        });
        compositions.insert(count, Arc::clone(&composition));
        Ok(composition)
    }
}

impl Cuda {
    /// Vectors side by side, for kernels that read each value once or, if they are short, a few
    /// times.
    fn source(&self, op: &'static str, vectors: &[&[Complex64]], slots: usize) -> Result<Source<'_>> {
        let given = vectors.iter().map(|values| values.len()).max().unwrap_or(0);
        let words = 2 * given * vectors.len();
        if words <= STAGE && slots.trailing_zeros() > LARGEST_SINGLE {
            let mut blocks = self.staged();
            lay_out(vectors, given, &mut blocks.add(op)?.as_mut_slice().map_err(failed(op))?[..words]);
            return Ok(Source { place: Place::Staged(blocks), given });
        }
        let buf = if let [vector] = vectors {
            self.upload_words(op, cast_slice(vector))?
        } else {
            let mut flat = vec![0; words];
            lay_out(vectors, given, &mut flat);
            self.upload_words(op, &flat)?
        };
        Ok(Source { place: Place::Device(buf), given })
    }

    /// One vector in page-locked memory, of which the host makes no copy, for a kernel that reads
    /// it `times` times.
    fn lent_source<'a>(&self, op: &'static str, memory: &'a PageLocked, times: usize) -> Result<Source<'a>> {
        let (pinned, given) = (memory.words(), memory.numbers().len());
        if times.saturating_sub(1) * pinned.words() <= READ_AGAIN {
            return Ok(Source { place: Place::Lent(pinned), given });
        }
        let mut buf = self.stream.alloc(pinned.words()).map_err(failed(op))?;
        self.stream.write_pinned(pinned, 0, &mut buf, 0, pinned.words()).map_err(failed(op))?;
        Ok(Source { place: Place::Device(buf), given })
    }

    /// The greatest of the first words of a buffer.
    pub(crate) fn greatest_word(&self, op: &'static str, buf: &Buffer, count: usize) -> Result<u64> {
        let mut greatest = 0;
        let mut staged = self.staged();
        let stage = staged.add(op)?;
        for first in (0..count).step_by(STAGE) {
            let count = STAGE.min(count - first);
            self.stream.read_pinned(buf, first, stage, 0, count).map_err(failed(op))?;
            let words = &stage.as_slice().map_err(failed(op))?[..count];
            greatest = words.iter().fold(greatest, |most, &word| most.max(word));
        }
        Ok(greatest)
    }

    /// Downloads vectors, and returns whether any of the words after them is not 0. Wipes them on
    /// the device, and what they were made of, while the copies are in progress.
    fn take_slots(
        &self,
        op: &'static str,
        buf: &mut Buffer,
        between: &mut [&mut Buffer],
        [slots, batch, flags]: [usize; 3],
    ) -> Result<(Vec<Vec<Complex64>>, bool)> {
        let words = 2 * slots * batch + flags;
        let blocks = self.read_blocks(op, buf, 0, words);
        let read =
            if matches!(blocks, Ok(None)) { self.read_words(op, buf, 0, words) } else { Ok(Vec::new()) };
        self.wipe(buf);
        between.iter_mut().for_each(|buf| self.wipe(buf));
        let (blocks, read) = (blocks?, read?);
        // Memory for the results is allocated while the device is still working.
        let mut vectors: Vec<Vec<Complex64>> = (0..batch).map(|_| vec![Complex64::ZERO; slots]).collect();
        let mut outside = false;
        let mut take = |mut at: usize, mut part: &[u64]| {
            while !part.is_empty() {
                let (entry, place) = (at / (2 * slots), at % (2 * slots));
                let Some(vector) = vectors.get_mut(entry) else {
                    outside |= part.iter().any(|&word| word != 0);
                    return;
                };
                let count = part.len().min(2 * slots - place);
                cast_slice_mut(vector)[place..place + count].copy_from_slice(&part[..count]);
                (at, part) = (at + count, &part[count..]);
            }
        };
        take(0, &read);
        // The device copies a block while the host empties the previous one.
        for (blocks, i) in blocks.iter().flat_map(|blocks| (0..blocks.len()).map(move |i| (blocks, i))) {
            take(i * STAGE, &blocks.words(op, i)?[..STAGE.min(words - i * STAGE)]);
        }
        Ok((vectors, outside))
    }

    /// Launches a kernel of the special FFT over `batch` vectors.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    unsafe fn launch_fft(
        &self,
        op: &'static str,
        entry: Entry,
        args: &FftArgs,
        batch: usize,
        shares: usize,
    ) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_tiles(op, entry, args.shape, args, batch, shares) }
    }

    /// The same with any argument.
    ///
    /// # Safety
    /// As for [`launch`](Self::launch).
    pub(crate) unsafe fn launch_tiles<A: NoUninit>(
        &self,
        op: &'static str,
        entry: Entry,
        shape: Shape,
        args: &A,
        batch: usize,
        shares: usize,
    ) -> Result<()> {
        let grid = [(batch << shape.log_tiles()) as u32, shares as u32, 1];
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch(op, entry, grid, shape.threads(), shape.shared(), args) }
    }
}

impl CudaRing {
    /// See [`CkksOps::encode_slots`](he_core::backend::CkksOps::encode_slots).
    pub(crate) fn encode_rows(
        &self,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
    ) -> Result<Buffer> {
        let op = "encode_slots";
        self.encode_from(op, rows, vectors, to, |_| self.cuda.source(op, vectors, to.slots))
    }

    /// See [`CkksOps::encode_host_vector`](he_core::backend::CkksOps::encode_host_vector).
    pub(crate) fn encode_host_rows(
        &self,
        rows: Rows,
        vector: &HostVector,
        to: Embedding<'_>,
    ) -> Result<Buffer> {
        let (op, vectors) = ("encode_host_vector", &[vector.numbers()]);
        match vector.memory::<PageLocked>().filter(|memory| memory.words().is_of(self.cuda.gpu())) {
            Some(memory) => {
                let source = |times| self.cuda.lent_source(op, memory, times);
                self.encode_from(op, rows, vectors, to, source)
            }
            None => self.encode_rows(rows, vectors, to),
        }
    }

    /// Encodes vectors out of a source of them, which is made, if they have at most `to.slots`
    /// values each, from how many times a kernel reads it.
    fn encode_from<'a>(
        &self,
        op: &'static str,
        rows: Rows,
        vectors: &[&[Complex64]],
        to: Embedding<'_>,
        source: impl FnOnce(usize) -> Result<Source<'a>>,
    ) -> Result<Buffer> {
        assert!(rows.at == 0 && rows.batch == vectors.len(), "{op}: one batch entry a vector");
        self.check_embedding(op, rows, to);
        // A vector must not be refused for its length before an earlier one for its values, so the
        // host checks both.
        if vectors.is_empty() || vectors.iter().any(|values| values.len() > to.slots) {
            return encode_slots(self, rows, vectors, to);
        }
        let words = rows.count() * self.n();
        let is_sparse = to.slots < self.n() / 2;
        let plaintext = if is_sparse { self.cuda.stream.zeros(words) } else { self.cuda.stream.alloc(words) };
        let mut plaintext = plaintext.map_err(failed(op))?;
        let (batch, limbs) = (rows.batch, rows.span.limbs());
        let blocks = batch << Shape::last(to.slots).log_tiles();
        let shares = limbs.min((ENOUGH_BLOCKS / blocks).max(1));
        let is_single = to.slots.trailing_zeros() <= LARGEST_SINGLE;
        let source = source(if is_single { shares } else { 1 })?;
        let given = source.given;
        let greatest = self.cuda.stream.alloc(blocks).map_err(failed(op))?;
        source.read(op, &self.cuda, |src| {
            let (last, _between) = self.start_inverse(op, src, [batch, given], to.slots, to.fft)?;
            let args = FftArgs {
                limbs: self.limbs(rows),
                primes: self.primes(),
                words: plaintext.address(),
                greatest: greatest.address(),
                factor: 1.0 / to.slots as f64,
                scale: to.scale,
                limb_count: limbs as u32,
                ..last
            };
            // SAFETY: as before; the plaintext holds the rows, and `greatest` a word for each block
            // of a share.
            unsafe { self.cuda.launch_fft(op, Entry::FftInverseRound, &args, batch, shares)? };
            self.transform(op, rows, &mut plaintext, true)
        })?;

        // While the device works, the host checks whether the values certainly fit; if not, the
        // kernel's result decides.
        if to.is_short(self.spec(), rows, greatest_possible(vectors, to)) {
            return Ok(plaintext);
        }
        let most = self.cuda.greatest_word(op, &greatest, blocks)?;
        if to.is_short(self.spec(), rows, f64::from_bits(most)) {
            return Ok(plaintext);
        }
        encode_slots(self, rows, vectors, to)
    }

    /// See [`CkksOps::decode_slots`](he_core::backend::CkksOps::decode_slots).
    pub(crate) fn decode_rows(
        &self,
        rows: Rows,
        src: &Buffer,
        from: Embedding<'_>,
    ) -> Result<Vec<Vec<Complex64>>> {
        let op = "decode_slots";
        let (n, batch, count) = (self.n(), rows.batch, rows.span.q);
        assert!(rows.at + rows.count() * n <= src.words(), "{op}: the source is too small");
        self.check_embedding(op, rows, from);
        if batch == 0 || batch > u16::MAX.into() {
            return decode_slots(self, rows, src, from);
        }
        let composition = self.extensions.get::<EmbeddingTables>().composition(self, count)?;
        // Its inverse transform gives the y of a conversion from all the primes.
        let plan = self.convert_plan(rows.span, Span::chain(1))?;
        let mut y = self.cuda.stream.alloc(rows.count() * n).map_err(failed(op))?;
        let inverse = NttArgs {
            src: parts([at(src, rows.at)]),
            dst: parts([y.address()]),
            scale: [plan.scale; 2],
            scale_last: [plan.scale_last; 2],
            ..self.ntt_args(rows)
        };

        let threads = THREADS.min(n as u32 / 2);
        let blocks = (n as u32 / 2) / threads;
        let flags = blocks as usize * batch;
        let data = 2 * batch * from.slots;
        let mut composed = self.cuda.stream.alloc(data).map_err(failed(op))?;
        // The values, then the flags.
        let mut out = self.cuda.stream.alloc(data + flags).map_err(failed(op))?;
        let args = ComposeArgs {
            y: y.address(),
            dst: composed.address(),
            outside: at(&out, data),
            reciprocal: composition.data.address(),
            hat: at(&composition.data, count),
            minus_product: composition.minus_product,
            factor: 1.0 / from.scale,
            stride: batch * n,
            log_n: self.log_n(),
            log_gap: self.log_n() - 1 - from.slots.trailing_zeros(),
            count: count as u32,
            unused: 0,
        };
        let grid = [blocks, batch as u32, 1];
        // SAFETY: the source holds the rows, as just checked, and so does `y`; `composed` and `out`
        // hold what is written, and the composition the constants of the primes.
        self.cuda.batched(|| unsafe {
            self.inverse(op, &inverse, Extent::rows(rows))?;
            self.cuda.launch(op, Entry::ComposeSlots, grid, threads, 8 * threads, &args)?;
            self.forward_slots(op, &composed, &out, from.slots, batch, from.fft)
        })?;
        // Together with the ciphertext, the phase reveals the secret.
        let shape = [from.slots, batch, flags];
        let (vectors, outside) = self.cuda.take_slots(op, &mut out, &mut [&mut y, &mut composed], shape)?;
        if outside && !composition.is_short {
            return decode_slots(self, rows, src, from);
        }
        Ok(vectors)
    }

    /// Starts the inverse transform of `batch` vectors with `given` values each: the arguments of
    /// its last kernel, and the buffer that this reads if it is not the source.
    fn start_inverse(
        &self,
        op: &'static str,
        src: u64,
        [batch, given]: [usize; 2],
        slots: usize,
        fft: &SpecialFft,
    ) -> Result<(FftArgs, Buffer)> {
        let roots = self.fft_roots(fft)?;
        let is_single = slots.trailing_zeros() <= LARGEST_SINGLE;
        let between =
            self.cuda.stream.alloc(if is_single { 0 } else { 2 * batch * slots }).map_err(failed(op))?;
        let mut args =
            FftArgs { shape: Shape::last(slots), given: given as u32, ..FftArgs::new(self, src, &roots) };
        if !is_single {
            let shape = Shape::columns(slots.trailing_zeros());
            let columns = FftArgs { shape, dst: between.address(), ..args };
            // SAFETY: the caller's source holds `given` values a vector, `dst` all points, and the
            // roots those of these slots.
            unsafe { self.cuda.launch_fft(op, Entry::FftInverse, &columns, batch, 1)? };
            (args.src, args.given) = (between.address(), slots as u32);
        }
        Ok((args, between))
    }

    /// The inverse transform of vectors without its factor, in reversed order.
    pub(crate) fn unscaled_coefficients(
        &self,
        op: &'static str,
        vectors: &[&[Complex64]],
        slots: usize,
        fft: &SpecialFft,
    ) -> Result<Buffer> {
        let (batch, source) = (vectors.len(), self.cuda.source(op, vectors, slots)?);
        let given = source.given;
        let transformed = self.cuda.stream.alloc(2 * batch * slots).map_err(failed(op))?;
        source.read(op, &self.cuda, |src| {
            let (last, _between) = self.start_inverse(op, src, [batch, given], slots, fft)?;
            let args = FftArgs { dst: transformed.address(), ..last };
            // SAFETY: the source and the destination hold all points, and the roots are those of
            // these slots.
            unsafe { self.cuda.launch_fft(op, Entry::FftInverse, &args, batch, 1) }
        })?;
        Ok(transformed)
    }

    /// The transform of vectors.
    ///
    /// # Safety
    /// Both buffers hold the vectors.
    unsafe fn forward_slots(
        &self,
        op: &'static str,
        src: &Buffer,
        dst: &Buffer,
        slots: usize,
        batch: usize,
        fft: &SpecialFft,
    ) -> Result<()> {
        let roots = self.fft_roots(fft)?;
        for args in FftArgs::forward(self, &roots, slots, src.address(), dst.address(), dst.address()) {
            // SAFETY: guaranteed by the caller; the roots are those of these slots. A block of the
            // second kernel writes the points that it has read.
            unsafe { self.cuda.launch_fft(op, Entry::FftForward, &args, batch, 1)? };
        }
        Ok(())
    }

    /// The roots of a transform on the device.
    pub(crate) fn fft_roots(&self, fft: &SpecialFft) -> Result<Arc<Buffer>> {
        self.extensions.get::<EmbeddingTables>().roots(&self.cuda, fft)
    }

    /// Vectors from their coefficients on the device.
    pub(crate) fn slots_of(
        &self,
        op: &'static str,
        coefficients: &Buffer,
        slots: usize,
        batch: usize,
        fft: &SpecialFft,
    ) -> Result<Vec<Vec<Complex64>>> {
        assert!(2 * slots * batch <= coefficients.words(), "{op}: the source is too small");
        let mut out = self.cuda.stream.alloc(2 * slots * batch).map_err(failed(op))?;
        // SAFETY: both hold the vectors.
        unsafe { self.forward_slots(op, coefficients, &out, slots, batch, fft)? };
        Ok(self.cuda.take_slots(op, &mut out, &mut [], [slots, batch, 0])?.0)
    }

    fn check_embedding(&self, op: &'static str, rows: Rows, e: Embedding<'_>) {
        let is_chain = rows.span.start == 0 && rows.span.p == 0 && rows.span.q <= self.spec().q().len();
        assert!(is_chain, "{op}: not the chain's first primes");
        let fits = e.slots.is_power_of_two() && e.slots <= self.n() / 2 && e.slots <= e.fft.max_slots();
        assert!(fits, "{op}: {} slots", e.slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layouts_are_those_of_the_kernels() {
        assert_eq!(size_of::<Shape>(), 24);
        let offsets = [offset_of!(FftArgs, src), offset_of!(FftArgs, given), offset_of!(FftArgs, limbs)];
        assert_eq!(offsets, [24, 48, 56]);
        assert_eq!([offset_of!(FftArgs, primes), offset_of!(FftArgs, log_n)], [72, 112]);
        assert_eq!(size_of::<FftArgs>(), 120);
        let offsets = [offset_of!(ComposeArgs, minus_product), offset_of!(ComposeArgs, factor)];
        assert_eq!(offsets, [40, 64]);
        assert_eq!([offset_of!(ComposeArgs, log_n), size_of::<ComposeArgs>()], [80, 96]);
    }

    #[test]
    fn coefficients_stay_below_their_bound() {
        let fft = SpecialFft::new(64);
        let to = |slots| Embedding { fft: &fft, slots, scale: 1024.0, level: 0 };
        for slots in [1usize, 2, 16, 64] {
            for given in [1, slots / 2, slots - 1, slots].into_iter().filter(|&given| given > 0) {
                let turn = |i: usize| Complex64::cis((i * i * 37 % 101) as f64);
                for vector in [vec![turn(7); given], (0..given).map(turn).collect()] {
                    let mut spread = vec![Complex64::ZERO; slots];
                    spread[..given].copy_from_slice(&vector);
                    fft.inverse(&mut spread);
                    let greatest = spread.iter().map(|z| z.re.abs().max(z.im.abs())).fold(0.0, f64::max);
                    let bound = greatest_possible(&[&[], &vector, &[]], to(slots));
                    assert!(1024.0 * greatest <= bound, "{given} of {slots}: {greatest} {bound}");
                    // Constant vectors come closest to the bound among all of these sizes.
                    assert!(bound <= 1024.0 * (given as f64 / slots as f64).sqrt() * 1.001);
                }
            }
        }
        for bad in [f64::NAN, f64::INFINITY, 1e200] {
            let vector = [Complex64::new(1.0, 1.0), Complex64::new(0.0, bad)];
            for vectors in [[&vector[..], &[]], [&[], &vector]] {
                let bound = greatest_possible(&vectors, to(2));
                assert!(bound.is_nan() || bound > f64::MAX, "{bound}");
            }
        }
    }

    #[test]
    fn tiles_fit_shared_memory_and_cover_all_bits() {
        for log_slots in LARGEST_SINGLE + 1..=16 {
            let (rows, columns) = (Shape::rows(log_slots), Shape::columns(log_slots));
            assert_eq!(rows.to + columns.to - columns.from, log_slots);
            assert!(rows.shared() <= 32 << 10 && columns.shared() <= 32 << 10);
            assert!(rows.log_tile <= log_slots && columns.log_tile <= log_slots);
        }
    }
}
