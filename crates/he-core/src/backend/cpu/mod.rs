//! The CPU: flat vectors, and threads over limb x batch.

mod conversion;
mod kernels;
mod key_switch;
mod matrix;
mod pool;
mod rotations;
mod scaled_tensor;
mod sums;
mod wide;

use super::{
    Backend, CkksOps, Embedding, ExactOps, MessagePhase, Multiple, Pair, PhaseModT, PolyOps, PreparedRing,
    ScaledTensor, WideConstants, base_conversion, decode_slots, encode_slots, greatest_squares,
    message_phase, phase_mod_t,
};
use crate::arith::{Modulus, ShoupFactor};
use crate::error::Result;
use crate::oversight::{Overseer, Oversight};
use crate::parallel::*;
use crate::ring::{
    Automorphism, BaseConversion, DomainKind, NttTable, Operand, RingSpec, Rows, Seed, Span, SpecialFft,
    error_row, ternary_row, uniform_row,
};
use kernels::{Kernels, NttRoots, Permutation};
use num_complex::Complex64;
pub use pool::CpuBuf;
use pool::{Pool, Taken};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroize;

/// An operation on fewer words stays on the calling thread.
const PARALLEL_WORDS: usize = 1 << 13;

/// The same of an operation that reads words and writes them once, such as an addition: it takes a
/// tenth of the time of a transform.
const PARALLEL_LIGHT_WORDS: usize = 1 << 18;

/// The coefficients of a tile of an operation that goes over its result more than once.
const TILE: usize = 1 << 10;

/// The least number of words that are drawn from a stream at a time; a power of two.
const SAMPLED_WORDS: usize = 512;

/// The reference back end, and a fast one: 64-bit words on the threads of the current rayon pool,
/// which the application sizes (`RAYON_NUM_THREADS`, or `ThreadPool::install`).
///
/// Buffers of 64 KiB and more go back to a pool when they are dropped, which a back end shares with
/// its clones: at most 1 GiB waits there to be used again, or a quarter of what is in use if that
/// is more, and all of it is given back when the last clone and the rings that they prepared are
/// dropped. A pooled buffer holds what was in it until it is used again, except for what was wiped.
#[derive(Clone, Debug)]
pub struct Cpu {
    kernels: Kernels,
    pool: Arc<Pool>,
    oversight: Oversight,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// Uses the best instructions of this processor.
    pub fn new() -> Self {
        Self::with(Kernels::detect())
    }

    /// One back end per instruction set of this processor, from portable code to the one that
    /// [`new`](Self::new) uses. For tests and measurements.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        Kernels::all().map(Self::with)
    }

    /// Uses portable scalar code only, which is the oracle of the vector code.
    pub fn portable() -> Self {
        Self::with(Kernels::Portable)
    }

    /// The same back end, overseen by another one as well. The operations of TFHE ask between their
    /// ciphertexts. The operations of rings do not ask by themselves, since few take long; those of
    /// `he::Device` do.
    #[must_use]
    pub fn overseen(&self, overseer: Arc<dyn Overseer>) -> Self {
        Self { oversight: self.oversight.and(overseer), ..self.clone() }
    }

    /// The overseers of this back end.
    pub(crate) fn oversight(&self) -> &Oversight {
        &self.oversight
    }

    /// Whether it uses registers of 512 bits.
    pub(crate) fn is_wide(&self) -> bool {
        self.kernels.is_wide()
    }

    fn with(kernels: Kernels) -> Self {
        Self { kernels, pool: Arc::default(), oversight: Oversight::default() }
    }
}

/// A ring on the CPU: its constants, and its operations as methods.
#[derive(Debug)]
pub struct CpuRing {
    cpu: Cpu,
    spec: RingSpec,
    ntt: Vec<Arc<NttRoots>>,
    /// The conversions requested so far: a handful per level.
    conversions: Mutex<HashMap<(Span, Span), Arc<BaseConversion>>>,
    /// The constants of conversions to and from words, likewise.
    wide: Mutex<HashMap<Span, Arc<WideConstants>>>,
}

impl CpuRing {
    fn table(&self, span: Span, limb: usize) -> &NttRoots {
        &self.ntt[span.prime(limb, self.spec.q().len())]
    }

    fn modulus(&self, span: Span, limb: usize) -> &Modulus {
        self.spec.modulus(span, limb)
    }

    fn conversion(&self, from: Span, to: Span) -> Arc<BaseConversion> {
        // The map stays valid whatever a panicking thread was doing.
        let mut map = self.conversions.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry((from, to)).or_insert_with(|| Arc::new(base_conversion(&self.spec, from, to))))
    }
}

/// Whether work on so many words is worth other threads: waking one takes as long as some of them.
fn is_parallel(words: usize) -> bool {
    words >= PARALLEL_WORDS && threads() > 1
}

/// One row of an operand: the one of the batch entry, or the only one.
fn row_of<'a>(x: Operand<'a, CpuBuf>, n: usize, limb: usize, entry: usize) -> &'a [u64] {
    let row = limb * x.batch + if x.batch == 1 { 0 } else { entry };
    &x.buf[x.at + row * n..][..n]
}

/// Calls f(limb, batch entry, row) for the rows of a slice, on several threads if that is
/// worthwhile.
fn for_rows(words: &mut [u64], n: usize, batch: usize, f: impl Fn(usize, usize, &mut [u64]) + Sync) {
    if !is_parallel(words.len()) || words.len() == n {
        words.chunks_exact_mut(n).enumerate().for_each(|(i, row)| f(i / batch, i % batch, row));
    } else {
        let rows = words.par_chunks_exact_mut(n).enumerate().with_min_len(PARALLEL_WORDS.div_ceil(n) / 4 + 1);
        rows.for_each(|(i, row)| f(i / batch, i % batch, row));
    }
}

/// Calls f(i, pieces) for the pieces of `size` words, of which the last may be shorter, of buffers
/// of one length side by side; likewise.
fn for_pieces<const K: usize>(
    bufs: &mut [CpuBuf; K],
    size: usize,
    f: impl Fn(usize, [&mut [u64]; K]) + Sync + Send,
) {
    let words = bufs[0].len();
    let mut pieces = bufs.each_mut().map(|buf| buf.chunks_mut(size));
    // Every buffer has as many pieces as the first.
    let next = |_| pieces.each_mut().map(|pieces| pieces.next().unwrap_or_default());
    let sets: Vec<[&mut [u64]; K]> = (0..words.div_ceil(size)).map(next).collect();
    if !is_parallel(words) || sets.len() == 1 {
        sets.into_iter().enumerate().for_each(|(i, pieces)| f(i, pieces));
    } else {
        let sets = sets.into_par_iter().enumerate().with_min_len(PARALLEL_WORDS.div_ceil(size) / 4 + 1);
        sets.for_each(|(i, pieces)| f(i, pieces));
    }
}

/// The columns of a matrix that become rows of its transpose together: a line of the cache of each
/// row is read once.
const TRANSPOSED_COLUMNS: usize = 8;

/// The transpose of a matrix of words.
fn transpose(src: &[u64], dst: &mut [u64], [rows, columns]: [usize; 2]) {
    dst.par_chunks_mut(TRANSPOSED_COLUMNS * rows).enumerate().for_each(|(tile, dst)| {
        let first = tile * TRANSPOSED_COLUMNS;
        for (i, row) in src.chunks_exact(columns).enumerate() {
            for (to, word) in dst[i..].iter_mut().step_by(rows).zip(&row[first..]) {
                *to = *word;
            }
        }
    });
}

impl Backend for Cpu {
    type Buf = CpuBuf;
    type Ring = CpuRing;

    fn name(&self) -> String {
        format!("cpu ({}, {} threads)", self.kernels.name(), threads())
    }

    fn prepare(&self, spec: &RingSpec) -> Result<CpuRing> {
        CpuRing::new(self, spec, |_| None)
    }

    fn zeros(&self, words: usize) -> Result<CpuBuf> {
        Ok(self.pool.zeros(words))
    }
    fn scratch(&self, words: usize) -> Result<CpuBuf> {
        Ok(self.pool.scratch(words))
    }

    fn upload(&self, words: &[u64]) -> Result<CpuBuf> {
        Ok(self.pool.copy(words))
    }

    fn download(&self, buf: &CpuBuf, range: Range<usize>) -> Result<Vec<u64>> {
        Ok(buf[range].to_vec())
    }

    fn take_with<T>(&self, buf: CpuBuf, read: impl FnOnce(&[u64]) -> Result<T>) -> Result<T> {
        read(&Taken::from(buf))
    }

    fn copy(&self, src: &CpuBuf, src_at: usize, dst: &mut CpuBuf, dst_at: usize, words: usize) -> Result<()> {
        dst[dst_at..][..words].copy_from_slice(&src[src_at..][..words]);
        Ok(())
    }

    fn transpose_words(
        &self,
        src: &CpuBuf,
        src_at: usize,
        dst: &mut CpuBuf,
        dst_at: usize,
        [rows, columns]: [usize; 2],
        count: usize,
    ) -> Result<()> {
        let words = rows * columns;
        let (src, dst) = (&src[src_at..][..count * words], &mut dst[dst_at..][..count * words]);
        if words > 0 {
            let matrices = dst.chunks_exact_mut(words).zip(src.chunks_exact(words));
            matrices.for_each(|(dst, src)| transpose(src, dst, [rows, columns]));
        }
        Ok(())
    }

    fn words(&self, buf: &CpuBuf) -> usize {
        buf.len()
    }

    fn truncate(&self, buf: &mut CpuBuf, words: usize) {
        buf.truncate(words);
    }

    fn wipe(&self, buf: &mut CpuBuf) {
        buf.wipe();
    }

    fn check(&self) -> Result<()> {
        self.oversight.check()
    }

    fn worked(&self, work: u64) {
        self.oversight.worked(work);
    }

    /// Few enough that the pool has the memory of one portion for the next.
    fn portion(&self) -> usize {
        8
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl PreparedRing for CpuRing {
    type Buf = CpuBuf;
    type Backend = Cpu;

    fn backend(&self) -> &Cpu {
        &self.cpu
    }

    fn spec(&self) -> &RingSpec {
        &self.spec
    }

    fn prepare_beside(&self, spec: &RingSpec) -> Result<Self> {
        let known = |q: &Modulus| {
            let prime = self.spec.moduli().iter().position(|own| own == q)?;
            (spec.log_n() == self.spec.log_n()).then(|| Arc::clone(&self.ntt[prime]))
        };
        Self::new(&self.cpu, spec, known)
    }
}

impl CpuRing {
    /// The ring of these primes, with the roots that `known` has of them.
    fn new(
        cpu: &Cpu,
        spec: &RingSpec,
        known: impl Fn(&Modulus) -> Option<Arc<NttRoots>> + Sync,
    ) -> Result<Self> {
        let made = |&q: &Modulus| NttTable::new(q, spec.log_n()).map(|table| Arc::new(NttRoots::new(table)));
        let ntt = spec
            .moduli()
            .par_iter()
            .map(|q| known(q).map_or_else(|| made(q), Ok))
            .collect::<std::result::Result<_, _>>()?;
        let (cpu, spec) = (cpu.clone(), spec.clone());
        Ok(Self { cpu, spec, ntt, conversions: Mutex::default(), wide: Mutex::default() })
    }

    fn scratch(&self, words: usize) -> CpuBuf {
        self.cpu.pool.scratch(words)
    }

    /// Factors modulo the primes of a span.
    fn shoup(&self, span: Span, factors: &[u64]) -> Vec<ShoupFactor> {
        factors.iter().enumerate().map(|(limb, &w)| self.modulus(span, limb).shoup(w)).collect()
    }

    fn each(&self, rows: Rows, a: &mut [u64], f: impl Fn(&NttRoots, usize, usize, &mut [u64]) + Sync) {
        let n = self.spec.n();
        for_rows(&mut a[rows.at..][..rows.count() * n], n, rows.batch, |limb, entry, row| {
            f(self.table(rows.span, limb), limb, entry, row);
        });
    }

    /// Runs an operation on each row that reads words and writes them once.
    fn each_light(&self, rows: Rows, a: &mut [u64], f: impl Fn(&Modulus, usize, usize, &mut [u64]) + Sync) {
        let n = self.spec.n();
        let (a, f) = (&mut a[rows.at..][..rows.count() * n], |limb, entry, row: &mut [u64]| {
            f(self.modulus(rows.span, limb), limb, entry, row)
        });
        if a.len() < PARALLEL_LIGHT_WORDS {
            a.chunks_exact_mut(n).enumerate().for_each(|(i, row)| f(i / rows.batch, i % rows.batch, row));
        } else {
            for_rows(a, n, rows.batch, f);
        }
    }

    /// Rows of both operands of a pair, each tile combined with that of the other pair by `f`.
    fn pairs(
        &self,
        rows: Rows,
        a: Pair<'_, CpuBuf>,
        b: Pair<'_, CpuBuf>,
        f: impl Fn(&Modulus, &mut [u64], &[u64]) + Sync,
    ) -> [CpuBuf; 2] {
        let n = self.spec.n();
        [0, 1].map(|part| {
            self.tiles_from(rows, a[part], |q, limb, entry, words, tile| {
                f(q, tile, &row_of(b[part], n, limb, entry)[words]);
            })
        })
    }

    /// Rows from those of an operand, tile by tile, from which `f` makes the result in place, with
    /// the limb, the batch entry and the words of the row that the tile has.
    fn tiles_from(
        &self,
        rows: Rows,
        a: Operand<'_, CpuBuf>,
        f: impl Fn(&Modulus, usize, usize, Range<usize>, &mut [u64]) + Sync,
    ) -> CpuBuf {
        let n = self.spec.n();
        let mut out = self.scratch(rows.count() * n);
        let rows = Rows { at: 0, ..rows };
        self.each_light(rows, &mut out, |q, limb, entry, row| {
            let a = row_of(a, n, limb, entry);
            for (i, (tile, a)) in row.chunks_mut(TILE).zip(a.chunks(TILE)).enumerate() {
                tile.copy_from_slice(a);
                f(q, limb, entry, i * TILE..i * TILE + tile.len(), tile);
            }
        });
        out
    }

    fn sample_signed(
        &self,
        rows: Rows,
        dst: &mut [u64],
        fill: impl Fn(usize, &mut [i64]) + Sync,
    ) -> Result<()> {
        let n = self.spec.n();
        let mut signed = vec![0i64; rows.batch * n];
        // Entries follow each other in the stream, so those of small degrees are drawn together.
        let piece = n.max(SAMPLED_WORDS);
        signed.par_chunks_mut(piece).enumerate().for_each(|(i, words)| fill(i * piece, words));
        self.each(rows, dst, |table, _, entry, row| {
            for (out, &e) in row.iter_mut().zip(&signed[entry * n..]) {
                *out = e as u64;
            }
            self.cpu.kernels.reduce_signed(table.modulus(), row);
        });
        signed.zeroize();
        Ok(())
    }
}

impl PolyOps for CpuRing {
    fn ntt(&self, rows: Rows, a: &mut CpuBuf) -> Result<()> {
        self.each(rows, a, |table, _, _, row| self.cpu.kernels.ntt(table, row));
        Ok(())
    }

    fn intt(&self, rows: Rows, a: &mut CpuBuf) -> Result<()> {
        self.each(rows, a, |table, _, _, row| self.cpu.kernels.intt(table, row));
        Ok(())
    }

    fn add_assign(&self, rows: Rows, a: &mut CpuBuf, b: Operand<'_, CpuBuf>) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, a, |q, limb, entry, row| {
            self.cpu.kernels.add(q, row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn sub_assign(&self, rows: Rows, a: &mut CpuBuf, b: Operand<'_, CpuBuf>) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, a, |q, limb, entry, row| {
            self.cpu.kernels.sub(q, row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn neg_assign(&self, rows: Rows, a: &mut CpuBuf) -> Result<()> {
        self.each_light(rows, a, |q, _, _, row| self.cpu.kernels.neg(q, row));
        Ok(())
    }

    fn mul_assign(&self, rows: Rows, a: &mut CpuBuf, b: Operand<'_, CpuBuf>) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, a, |q, limb, entry, row| {
            self.cpu.kernels.mul(q, row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut CpuBuf,
        x: Operand<'_, CpuBuf>,
        y: Operand<'_, CpuBuf>,
    ) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, acc, |q, limb, entry, row| {
            self.cpu.kernels.mul_add(q, row, row_of(x, n, limb, entry), row_of(y, n, limb, entry));
        });
        Ok(())
    }

    fn scale_assign(&self, rows: Rows, a: &mut CpuBuf, factors: &[u64]) -> Result<()> {
        self.each_light(rows, a, |q, limb, _, row| {
            self.cpu.kernels.scale(q, row, q.shoup(factors[limb]));
        });
        Ok(())
    }

    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut CpuBuf,
        x: Operand<'_, CpuBuf>,
        factors: &[u64],
    ) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, acc, |q, limb, entry, row| {
            self.cpu.kernels.scale_add(q, row, row_of(x, n, limb, entry), q.shoup(factors[limb]));
        });
        Ok(())
    }

    fn add_scalar_assign(&self, rows: Rows, a: &mut CpuBuf, terms: &[u64]) -> Result<()> {
        self.each_light(rows, a, |q, limb, _, row| self.cpu.kernels.add_scalar(q, row, terms[limb]));
        Ok(())
    }

    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, CpuBuf>,
        dst: &mut CpuBuf,
    ) -> Result<()> {
        let n = self.spec.n();
        let map = Automorphism::new(g, self.spec.log_n());
        match domain {
            DomainKind::Coeff => self.each_light(rows, dst, |q, limb, entry, row| {
                map.coefficients(q, row_of(src, n, limb, entry), row);
            }),
            DomainKind::Eval => {
                let permutation = Permutation::new(g, self.spec.log_n());
                self.each_light(rows, dst, |_, limb, entry, row| {
                    self.cpu.kernels.permute(&permutation, 0, row_of(src, n, limb, entry), row);
                });
            }
        }
        Ok(())
    }

    fn convert_basis(&self, from: Rows, src: &CpuBuf, to: Rows, dst: &mut CpuBuf) -> Result<()> {
        self.convert(from, src, to, dst);
        Ok(())
    }

    fn reduce_signed(&self, rows: Rows, src: &CpuBuf, dst: &mut CpuBuf) -> Result<()> {
        let n = self.spec.n();
        self.each_light(rows, dst, |q, _, entry, row| {
            row.copy_from_slice(&src[entry * n..][..n]);
            self.cpu.kernels.reduce_signed(q, row);
        });
        Ok(())
    }

    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut CpuBuf) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, dst, |table, limb, entry, row| {
            let prime = rows.span.prime(limb, self.spec.q().len());
            uniform_row(seed, index, prime, table.modulus(), entry * n, row);
        });
        Ok(())
    }

    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut CpuBuf) -> Result<()> {
        self.sample_signed(rows, dst, |first, row| ternary_row(seed, index, first, row))
    }

    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut CpuBuf) -> Result<()> {
        self.sample_signed(rows, dst, |first, row| error_row(seed, index, first, row))
    }

    fn tensor(
        &self,
        rows: Rows,
        a: [Operand<'_, CpuBuf>; 2],
        b: [Operand<'_, CpuBuf>; 2],
    ) -> Result<[CpuBuf; 3]> {
        Ok(self.product(rows, a, b))
    }

    fn tensor_sum(
        &self,
        rows: Rows,
        products: &[[Pair<'_, CpuBuf>; 2]],
        factors: &[u64],
        multiples: &[Multiple<'_, CpuBuf>],
        constant: &[u64],
    ) -> Result<[CpuBuf; 3]> {
        Ok(self.sum_of_products(rows, products, factors, multiples, constant))
    }

    fn combine(
        &self,
        rows: Rows,
        multiples: &[Multiple<'_, CpuBuf>],
        constant: &[u64],
    ) -> Result<[CpuBuf; 2]> {
        Ok(self.sum_of_multiples(rows, multiples, constant))
    }

    fn add_pairs(&self, rows: Rows, a: Pair<'_, CpuBuf>, b: Pair<'_, CpuBuf>) -> Result<[CpuBuf; 2]> {
        Ok(self.pairs(rows, a, b, |q, tile, b| self.cpu.kernels.add(q, tile, b)))
    }

    fn sub_pairs(&self, rows: Rows, a: Pair<'_, CpuBuf>, b: Pair<'_, CpuBuf>) -> Result<[CpuBuf; 2]> {
        Ok(self.pairs(rows, a, b, |q, tile, b| self.cpu.kernels.sub(q, tile, b)))
    }

    fn mul_pairs(&self, rows: Rows, a: Pair<'_, CpuBuf>, b: Pair<'_, CpuBuf>) -> Result<[CpuBuf; 2]> {
        Ok(self.pairs(rows, a, b, |q, tile, b| self.cpu.kernels.mul(q, tile, b)))
    }

    fn mul_add(
        &self,
        rows: Rows,
        a: Operand<'_, CpuBuf>,
        x: Operand<'_, CpuBuf>,
        y: Operand<'_, CpuBuf>,
    ) -> Result<CpuBuf> {
        let n = self.spec.n();
        Ok(self.tiles_from(rows, a, |q, limb, entry, words, tile| {
            let [x, y] = [x, y].map(|x| &row_of(x, n, limb, entry)[words.clone()]);
            self.cpu.kernels.mul_add(q, tile, x, y);
        }))
    }

    fn mod_down(&self, span: Span, keep: usize, batch: usize, src: CpuBuf) -> Result<CpuBuf> {
        Ok(self.divide(span, keep, batch, src))
    }

    fn mod_down_pair(&self, span: Span, keep: usize, batch: usize, src: [&CpuBuf; 2]) -> Result<[CpuBuf; 2]> {
        let n = self.spec.n();
        Ok(src.map(|src| {
            self.divided(span, keep, batch, |limb, entry, row| {
                row.copy_from_slice(&src[(limb * batch + entry) * n..][..n]);
            })
        }))
    }

    fn mul_mod_down_pair(
        &self,
        span: Span,
        keep: usize,
        batch: usize,
        src: [&CpuBuf; 2],
        factor: Operand<'_, CpuBuf>,
    ) -> Result<[CpuBuf; 2]> {
        let n = self.spec.n();
        Ok(src.map(|src| {
            self.divided(span, keep, batch, |limb, entry, row| {
                let q = self.modulus(span, limb);
                let from = &src[(limb * batch + entry) * n..][..n];
                let factors = row_of(factor, n, limb, entry);
                let tiles = row.chunks_mut(TILE).zip(from.chunks(TILE)).zip(factors.chunks(TILE));
                for ((tile, from), factors) in tiles {
                    tile.copy_from_slice(from);
                    self.cpu.kernels.mul(q, tile, factors);
                }
            })
        }))
    }
}

impl CkksOps for CpuRing {
    fn encode_slots(&self, rows: Rows, vectors: &[&[Complex64]], to: Embedding<'_>) -> Result<CpuBuf> {
        encode_slots(self, rows, vectors, to)
    }

    fn decode_slots(&self, rows: Rows, src: &CpuBuf, from: Embedding<'_>) -> Result<Vec<Vec<Complex64>>> {
        decode_slots(self, rows, src, from)
    }
}

impl ExactOps for CpuRing {
    fn scaled_tensor(
        &self,
        shape: &ScaledTensor,
        a: [Operand<'_, CpuBuf>; 2],
        b: [Operand<'_, CpuBuf>; 2],
    ) -> Result<[CpuBuf; 3]> {
        Ok(self.scaled_product(shape, a, b))
    }

    // The provided bodies, whose loops run over words on the host. Because they are named here,
    // they are compiled with this crate and its level of optimisation; otherwise a debug build of a
    // program would compile them again, without optimisation.

    fn message_phase(&self, rows: Rows, message: MessagePhase<'_, CpuBuf>) -> Result<CpuBuf> {
        message_phase(self, rows, message)
    }

    fn greatest_squares(
        &self,
        batch: usize,
        words: &CpuBuf,
        modulus: &Modulus,
        fft: &SpecialFft,
    ) -> Result<CpuBuf> {
        greatest_squares(self, batch, words, modulus, fft)
    }

    fn phase_mod_t(
        &self,
        rows: Rows,
        c: [Operand<'_, CpuBuf>; 2],
        secret: Operand<'_, CpuBuf>,
        to: PhaseModT<'_>,
    ) -> Result<CpuBuf> {
        phase_mod_t(self, rows, c, secret, to)
    }

    fn gather(&self, rows: Rows, index: &CpuBuf, src: &CpuBuf) -> Result<CpuBuf> {
        let n = self.spec.n();
        let mut dst = self.scratch(rows.count() * n);
        for_rows(&mut dst, n, rows.batch, |limb, entry, row| {
            let src = row_of(Operand::new(src, rows.batch), n, limb, entry);
            row.iter_mut().zip(&index[..n]).for_each(|(to, &k)| *to = src[k as usize]);
        });
        Ok(dst)
    }
}
