//! The CPU: flat vectors, and threads over limb x batch.

mod kernels;
mod wide;

use super::{
    Backend, CkksOps, DigitBuf, Embedding, ExactOps, GiantStep, KeyBuf, KeySwitchOps, KeySwitchShape,
    MessagePhase, PhaseModT, PolyOps, PreparedRing, Rotation, Weight, WideConstants, base_conversion,
    decode_slots, encode_slots, inverse_of_dropped, message_phase, phase_mod_t, rotate_and_sum,
    special_product,
};
use crate::arith::{Modulus, ShoupFactor};
use crate::error::Result;
use crate::parallel::*;
use crate::ring::{
    Automorphism, BaseConversion, DomainKind, NttTable, Operand, RingSpec, Rows, Seed, Span, error_row,
    ternary_row, uniform_row,
};
use kernels::{DigitRows, Kernels, NttRoots, Permutation};
use num_complex::Complex64;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use zeroize::Zeroize;

/// An operation on fewer words stays on the calling thread.
const PARALLEL_WORDS: usize = 1 << 13;

/// The least number of words that are drawn from a stream at a time; a power of two.
const SAMPLED_WORDS: usize = 512;

/// The reference back end, and a fast one: 64-bit words on the threads of the current rayon pool,
/// which the application sizes (`RAYON_NUM_THREADS`, or `ThreadPool::install`).
#[derive(Clone, Debug)]
pub struct Cpu {
    kernels: Kernels,
}

impl Default for Cpu {
    fn default() -> Self {
        Self::new()
    }
}

impl Cpu {
    /// Uses the best instructions of this processor.
    pub fn new() -> Self {
        Self { kernels: Kernels::detect() }
    }

    /// One back end per instruction set of this processor, from portable code to the one that
    /// [`new`](Self::new) uses. For tests and measurements.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        Kernels::all().map(|kernels| Self { kernels })
    }

    /// Uses portable scalar code only, which is the oracle of the vector code.
    pub fn portable() -> Self {
        Self { kernels: Kernels::Portable }
    }
}

/// A ring on the CPU: its constants, and its operations as methods.
#[derive(Debug)]
pub struct CpuRing {
    cpu: Cpu,
    spec: RingSpec,
    ntt: Vec<NttRoots>,
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

/// One row of an operand: the one of the batch entry, or the only one.
fn row_of<'a>(x: Operand<'a, Vec<u64>>, n: usize, limb: usize, entry: usize) -> &'a [u64] {
    let row = limb * x.batch + if x.batch == 1 { 0 } else { entry };
    &x.buf[x.at + row * n..][..n]
}

/// Calls f(limb, batch entry, row) for the rows of a slice, on several threads if that is
/// worthwhile.
fn for_rows(words: &mut [u64], n: usize, batch: usize, f: impl Fn(usize, usize, &mut [u64]) + Sync) {
    if words.len() < PARALLEL_WORDS || words.len() == n {
        words.chunks_exact_mut(n).enumerate().for_each(|(i, row)| f(i / batch, i % batch, row));
    } else {
        let rows = words.par_chunks_exact_mut(n).enumerate().with_min_len(PARALLEL_WORDS.div_ceil(n) / 4 + 1);
        rows.for_each(|(i, row)| f(i / batch, i % batch, row));
    }
}

/// The same for rows of two slices side by side.
fn for_row_pairs(
    a: &mut [u64],
    b: &mut [u64],
    n: usize,
    batch: usize,
    f: impl Fn(usize, usize, [&mut [u64]; 2]) + Sync,
) {
    if a.len() < PARALLEL_WORDS || a.len() == n {
        let rows = a.chunks_exact_mut(n).zip(b.chunks_exact_mut(n)).enumerate();
        rows.for_each(|(i, (a, b))| f(i / batch, i % batch, [a, b]));
    } else {
        let rows = a.par_chunks_exact_mut(n).zip(b.par_chunks_exact_mut(n)).enumerate();
        rows.with_min_len(PARALLEL_WORDS.div_ceil(n) / 4 + 1)
            .for_each(|(i, (a, b))| f(i / batch, i % batch, [a, b]));
    }
}

/// The y_i and v of a base conversion for every batch entry: `[entry][i][k]` and `[entry][k]`.
struct Lifted {
    y: Vec<u64>,
    overflow: Vec<u64>,
    width: usize,
}

impl Lifted {
    /// Computes them from coefficient rows `[i][entry][k]` that start at word `at`.
    fn new(
        kernels: Kernels,
        conversion: &BaseConversion,
        src: &[u64],
        at: usize,
        batch: usize,
        n: usize,
    ) -> Self {
        let width = conversion.from().len() * n;
        let (mut y, mut overflow) = (vec![0; batch * width], vec![0; batch * n]);
        let lift = |entry: usize, y: &mut [u64], overflow: &mut [u64]| {
            let row = |i: usize| &src[at + (i * batch + entry) * n..][..n];
            let rows: Vec<&[u64]> = (0..conversion.from().len()).map(row).collect();
            kernels.lift(conversion, &rows, y, overflow);
        };
        if y.len() < PARALLEL_WORDS {
            let entries = y.chunks_exact_mut(width).zip(overflow.chunks_exact_mut(n)).enumerate();
            entries.for_each(|(entry, (y, overflow))| lift(entry, y, overflow));
        } else {
            let entries = y.par_chunks_exact_mut(width).zip(overflow.par_chunks_exact_mut(n)).enumerate();
            entries.for_each(|(entry, (y, overflow))| lift(entry, y, overflow));
        }
        Self { y, overflow, width }
    }

    fn recompose(
        &self,
        kernels: Kernels,
        conversion: &BaseConversion,
        target: usize,
        entry: usize,
        out: &mut [u64],
    ) {
        let n = out.len();
        kernels.recompose(
            conversion,
            target,
            &self.y[entry * self.width..][..self.width],
            &self.overflow[entry * n..][..n],
            out,
        );
    }
}

impl Backend for Cpu {
    type Buf = Vec<u64>;
    type Ring = CpuRing;

    fn name(&self) -> String {
        format!("cpu ({}, {} threads)", self.kernels.name(), threads())
    }

    fn prepare(&self, spec: &RingSpec) -> Result<CpuRing> {
        let ntt = spec
            .moduli()
            .par_iter()
            .map(|&q| NttTable::new(q, spec.log_n()).map(NttRoots::new))
            .collect::<std::result::Result<_, _>>()?;
        Ok(CpuRing {
            cpu: self.clone(),
            spec: spec.clone(),
            ntt,
            conversions: Mutex::default(),
            wide: Mutex::default(),
        })
    }

    fn zeros(&self, words: usize) -> Result<Vec<u64>> {
        Ok(vec![0; words])
    }

    fn upload(&self, words: &[u64]) -> Result<Vec<u64>> {
        Ok(words.to_vec())
    }

    fn download(&self, buf: &Vec<u64>, range: Range<usize>) -> Result<Vec<u64>> {
        Ok(buf[range].to_vec())
    }

    fn copy(
        &self,
        src: &Vec<u64>,
        src_at: usize,
        dst: &mut Vec<u64>,
        dst_at: usize,
        words: usize,
    ) -> Result<()> {
        dst[dst_at..][..words].copy_from_slice(&src[src_at..][..words]);
        Ok(())
    }

    fn words(&self, buf: &Vec<u64>) -> usize {
        buf.len()
    }

    fn truncate(&self, buf: &mut Vec<u64>, words: usize) {
        buf.truncate(words);
    }

    fn wipe(&self, buf: &mut Vec<u64>) {
        buf.as_mut_slice().zeroize();
    }

    fn synchronize(&self) -> Result<()> {
        Ok(())
    }
}

impl PreparedRing for CpuRing {
    type Buf = Vec<u64>;
    type Backend = Cpu;

    fn backend(&self) -> &Cpu {
        &self.cpu
    }

    fn spec(&self) -> &RingSpec {
        &self.spec
    }
}

impl CpuRing {
    fn each(&self, rows: Rows, a: &mut [u64], f: impl Fn(&NttRoots, usize, usize, &mut [u64]) + Sync) {
        let n = self.spec.n();
        for_rows(&mut a[rows.at..][..rows.count() * n], n, rows.batch, |limb, entry, row| {
            f(self.table(rows.span, limb), limb, entry, row);
        });
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
    fn ntt(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.each(rows, a, |table, _, _, row| self.cpu.kernels.ntt(table, row));
        Ok(())
    }

    fn intt(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.each(rows, a, |table, _, _, row| self.cpu.kernels.intt(table, row));
        Ok(())
    }

    fn add_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, a, |table, limb, entry, row| {
            self.cpu.kernels.add(table.modulus(), row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn sub_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, a, |table, limb, entry, row| {
            self.cpu.kernels.sub(table.modulus(), row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn neg_assign(&self, rows: Rows, a: &mut Vec<u64>) -> Result<()> {
        self.each(rows, a, |table, _, _, row| self.cpu.kernels.neg(table.modulus(), row));
        Ok(())
    }

    fn mul_assign(&self, rows: Rows, a: &mut Vec<u64>, b: Operand<'_, Vec<u64>>) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, a, |table, limb, entry, row| {
            self.cpu.kernels.mul(table.modulus(), row, row_of(b, n, limb, entry))
        });
        Ok(())
    }

    fn mul_add_assign(
        &self,
        rows: Rows,
        acc: &mut Vec<u64>,
        x: Operand<'_, Vec<u64>>,
        y: Operand<'_, Vec<u64>>,
    ) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, acc, |table, limb, entry, row| {
            self.cpu.kernels.mul_add(
                table.modulus(),
                row,
                row_of(x, n, limb, entry),
                row_of(y, n, limb, entry),
            );
        });
        Ok(())
    }

    fn scale_assign(&self, rows: Rows, a: &mut Vec<u64>, factors: &[u64]) -> Result<()> {
        self.each(rows, a, |table, limb, _, row| {
            self.cpu.kernels.scale(table.modulus(), row, table.modulus().shoup(factors[limb]));
        });
        Ok(())
    }

    fn scale_add_assign(
        &self,
        rows: Rows,
        acc: &mut Vec<u64>,
        x: Operand<'_, Vec<u64>>,
        factors: &[u64],
    ) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, acc, |table, limb, entry, row| {
            self.cpu.kernels.scale_add(
                table.modulus(),
                row,
                row_of(x, n, limb, entry),
                table.modulus().shoup(factors[limb]),
            );
        });
        Ok(())
    }

    fn add_scalar_assign(&self, rows: Rows, a: &mut Vec<u64>, terms: &[u64]) -> Result<()> {
        self.each(rows, a, |table, limb, _, row| {
            self.cpu.kernels.add_scalar(table.modulus(), row, terms[limb])
        });
        Ok(())
    }

    fn automorphism(
        &self,
        rows: Rows,
        domain: DomainKind,
        g: u64,
        src: Operand<'_, Vec<u64>>,
        dst: &mut Vec<u64>,
    ) -> Result<()> {
        let n = self.spec.n();
        let map = Automorphism::new(g, self.spec.log_n());
        match domain {
            DomainKind::Coeff => self.each(rows, dst, |table, limb, entry, row| {
                map.coefficients(table.modulus(), row_of(src, n, limb, entry), row);
            }),
            DomainKind::Eval => {
                let permutation = Permutation::new(g, self.spec.log_n());
                self.each(rows, dst, |_, limb, entry, row| {
                    self.cpu.kernels.permute(&permutation, row_of(src, n, limb, entry), row);
                });
            }
        }
        Ok(())
    }

    fn convert_basis(&self, from: Rows, src: &Vec<u64>, to: Rows, dst: &mut Vec<u64>) -> Result<()> {
        let conversion = self.conversion(from.span, to.span);
        let lifted = Lifted::new(self.cpu.kernels, &conversion, src, from.at, from.batch, self.spec.n());
        self.each(to, dst, |_, limb, entry, row| {
            lifted.recompose(self.cpu.kernels, &conversion, limb, entry, row)
        });
        Ok(())
    }

    fn reduce_signed(&self, rows: Rows, src: &Vec<u64>, dst: &mut Vec<u64>) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, dst, |table, _, entry, row| {
            row.copy_from_slice(&src[entry * n..][..n]);
            self.cpu.kernels.reduce_signed(table.modulus(), row);
        });
        Ok(())
    }

    fn sample_uniform(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        let n = self.spec.n();
        self.each(rows, dst, |table, limb, entry, row| {
            let prime = rows.span.prime(limb, self.spec.q().len());
            uniform_row(seed, index, prime, table.modulus(), entry * n, row);
        });
        Ok(())
    }

    fn sample_ternary(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        self.sample_signed(rows, dst, |first, row| ternary_row(seed, index, first, row))
    }

    fn sample_error(&self, rows: Rows, seed: &Seed, index: u32, dst: &mut Vec<u64>) -> Result<()> {
        self.sample_signed(rows, dst, |first, row| error_row(seed, index, first, row))
    }

    fn tensor(
        &self,
        rows: Rows,
        a: [Operand<'_, Vec<u64>>; 2],
        b: [Operand<'_, Vec<u64>>; 2],
    ) -> Result<[Vec<u64>; 3]> {
        let n = self.spec.n();
        let words = rows.count() * n;
        let (mut d0, mut d1, mut d2) = (vec![0; words], vec![0; words], vec![0; words]);
        let tensor = |i: usize, [d0, d1, d2]: [&mut [u64]; 3]| {
            let (limb, entry) = (i / rows.batch, i % rows.batch);
            let row = |x| row_of(x, n, limb, entry);
            self.cpu.kernels.tensor(self.modulus(rows.span, limb), a.map(row), b.map(row), [d0, d1, d2]);
        };
        if words < PARALLEL_WORDS {
            let outputs = d0.chunks_exact_mut(n).zip(d1.chunks_exact_mut(n)).zip(d2.chunks_exact_mut(n));
            outputs.enumerate().for_each(|(i, ((d0, d1), d2))| tensor(i, [d0, d1, d2]));
        } else {
            let outputs =
                d0.par_chunks_exact_mut(n).zip(d1.par_chunks_exact_mut(n)).zip(d2.par_chunks_exact_mut(n));
            outputs.enumerate().for_each(|(i, ((d0, d1), d2))| tensor(i, [d0, d1, d2]));
        }
        Ok([d0, d1, d2])
    }

    fn mod_down(&self, span: Span, keep: usize, batch: usize, mut src: Vec<u64>) -> Result<Vec<u64>> {
        let n = self.spec.n();
        let dropped = Rows::new(span.tail(keep), batch).at(keep * batch * n);
        let kept = Span { start: span.start, q: span.start + keep, p: 0 };
        self.intt(dropped, &mut src)?;
        let conversion = self.conversion(dropped.span, kept);
        let lifted = Lifted::new(self.cpu.kernels, &conversion, &src, dropped.at, batch, n);
        src.truncate(keep * batch * n);
        let inverse = inverse_of_dropped(&self.spec, span, keep);
        let factors: Vec<ShoupFactor> =
            inverse.iter().enumerate().map(|(i, &w)| self.modulus(kept, i).shoup(w)).collect();
        for_rows(&mut src, n, batch, |limb, entry, row| {
            let table = self.table(kept, limb);
            let mut remainder = vec![0; n];
            lifted.recompose(self.cpu.kernels, &conversion, limb, entry, &mut remainder);
            self.cpu.kernels.ntt(table, &mut remainder);
            self.cpu.kernels.sub_scale(table.modulus(), row, &remainder, factors[limb]);
        });
        Ok(src)
    }
}

impl KeySwitchOps for CpuRing {
    fn decompose(&self, shape: &KeySwitchShape, src: &Vec<u64>) -> Result<DigitBuf<Vec<u64>>> {
        let n = self.spec.n();
        let span = shape.span();
        let mut coefficients = src[..shape.q * shape.batch * n].to_vec();
        self.intt(Rows::new(Span::chain(shape.q), shape.batch), &mut coefficients)?;
        let mut digits = vec![0; shape.digits.len() * shape.flat_digit_words(n)];
        for (digit, out) in shape.digits.iter().zip(digits.chunks_exact_mut(shape.flat_digit_words(n))) {
            let conversion = self.conversion(Span::digit(digit.start, digit.end), span);
            let lifted = Lifted::new(
                self.cpu.kernels,
                &conversion,
                &coefficients,
                digit.start * shape.batch * n,
                shape.batch,
                n,
            );
            for_rows(out, n, shape.batch, |limb, entry, row| {
                if digit.contains(&limb) {
                    // The digit's own residues are those of the input.
                    row.copy_from_slice(&src[(limb * shape.batch + entry) * n..][..n]);
                } else {
                    lifted.recompose(self.cpu.kernels, &conversion, limb, entry, row);
                    self.cpu.kernels.ntt(self.table(span, limb), row);
                }
            });
        }
        Ok(DigitBuf::new(digits))
    }

    fn key_product(
        &self,
        shape: &KeySwitchShape,
        digits: DigitBuf<&Vec<u64>>,
        key: KeyBuf<&Vec<u64>>,
    ) -> Result<[Vec<u64>; 2]> {
        let n = self.spec.n();
        let words = shape.flat_digit_words(n);
        let (mut sum0, mut sum1) = (vec![0; words], vec![0; words]);
        for_row_pairs(&mut sum0, &mut sum1, n, shape.batch, |limb, entry, out| {
            let rows = digit_rows(shape, n, digits.buf(), key.buf(), limb, entry);
            self.cpu.kernels.key_product(self.modulus(shape.span(), limb), &rows, out);
        });
        Ok([sum0, sum1])
    }

    fn rotate_and_sum(
        &self,
        shape: &KeySwitchShape,
        c: [&Vec<u64>; 2],
        digits: DigitBuf<&Vec<u64>>,
        babies: &[Rotation<'_, Vec<u64>>],
        giants: &[GiantStep<'_, Vec<u64>>],
    ) -> Result<[Vec<u64>; 2]> {
        let [GiantStep { rotation: Rotation { g: 1, .. }, terms }] = giants else {
            return rotate_and_sum(self, shape, c, digits, babies, giants);
        };
        let n = self.spec.n();
        let span = shape.span();
        let p_factors = special_product(&self.spec, shape.q, shape.p);
        let permutations: Vec<_> = babies
            .iter()
            .map(|baby| (baby.g != 1).then(|| Permutation::new(baby.g, self.spec.log_n())))
            .collect();
        let words = shape.flat_digit_words(n);
        let (mut sum0, mut sum1) = (vec![0; words], vec![0; words]);
        for_row_pairs(&mut sum0, &mut sum1, n, shape.batch, |limb, entry, [sum0, sum1]| {
            let q = self.modulus(span, limb);
            let (mut part0, mut part1, mut image) = (vec![0; n], vec![0; n], vec![0; n]);
            let p_factor = p_factors.get(limb).map(|&p| q.shoup(p));
            let at = (limb * shape.batch + entry) * n;
            for (baby, weight) in terms {
                match babies[*baby].key {
                    Some(key) => {
                        let rows = digit_rows(shape, n, digits.buf(), key.buf(), limb, entry);
                        self.cpu.kernels.key_product(q, &rows, [&mut part0, &mut part1]);
                    }
                    None => {
                        part0.fill(0);
                        part1.fill(0);
                        if let Some(p) = p_factor {
                            self.cpu.kernels.scale_add(q, &mut part1, &c[1][at..][..n], p);
                        }
                    }
                }
                if let Some(p) = p_factor {
                    self.cpu.kernels.scale_add(q, &mut part0, &c[0][at..][..n], p);
                }
                for (sum, part) in [(&mut *sum0, &part0), (&mut *sum1, &part1)] {
                    let rotated = match &permutations[*baby] {
                        Some(permutation) => {
                            self.cpu.kernels.permute(permutation, part, &mut image);
                            &image
                        }
                        None => part,
                    };
                    match weight {
                        Weight::Scalar(factors) => {
                            self.cpu.kernels.scale_add(q, sum, rotated, q.shoup(factors[limb]))
                        }
                        Weight::Poly(poly) => {
                            self.cpu.kernels.mul_add(q, sum, rotated, &poly[limb * n..][..n])
                        }
                    }
                }
            }
        });
        Ok([sum0, sum1])
    }
}

impl CkksOps for CpuRing {
    fn encode_slots(&self, rows: Rows, vectors: &[&[Complex64]], to: Embedding<'_>) -> Result<Vec<u64>> {
        encode_slots(self, rows, vectors, to)
    }

    fn decode_slots(&self, rows: Rows, src: &Vec<u64>, from: Embedding<'_>) -> Result<Vec<Vec<Complex64>>> {
        decode_slots(self, rows, src, from)
    }
}

impl ExactOps for CpuRing {
    // The provided bodies, whose loops run over words on the host. Because they are named here,
    // they are compiled with this crate and its level of optimisation; otherwise a debug build of a
    // program would compile them again, without optimisation.

    fn message_phase(&self, rows: Rows, message: MessagePhase<'_, Vec<u64>>) -> Result<Vec<u64>> {
        message_phase(self, rows, message)
    }

    fn phase_mod_t(
        &self,
        rows: Rows,
        c: [Operand<'_, Vec<u64>>; 2],
        secret: Operand<'_, Vec<u64>>,
        to: PhaseModT<'_>,
    ) -> Result<Vec<u64>> {
        phase_mod_t(self, rows, c, secret, to)
    }
}

/// The digits of one row, and the key rows by which they are multiplied.
fn digit_rows<'a>(
    shape: &KeySwitchShape,
    n: usize,
    digits: &'a [u64],
    key: &'a [u64],
    limb: usize,
    entry: usize,
) -> Vec<DigitRows<'a>> {
    let key_limb = if limb < shape.q { limb } else { limb - shape.q + shape.key_q };
    (0..shape.digits.len())
        .map(|j| DigitRows {
            digit: &digits[j * shape.flat_digit_words(n) + (limb * shape.batch + entry) * n..][..n],
            key: [0, 1].map(|part| &key[shape.key().flat_at(j, part, n) + key_limb * n..][..n]),
        })
        .collect()
}
