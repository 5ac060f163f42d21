//! Packs on a device: two products of matrices for all of them and all queries of a scan.
//!
//! # Method
//! Rows times queries are words x modulo 2^32, of which round(x q / 2^32) modulo q is needed. With
//! w = x q + 2^31 modulo 2^32 this is (2^31 - w) / 2^32 modulo q, without rounding: queries are
//! multiplied by q before the scan, and a row that is all ones adds what does not depend on rows.
//! Digits times keys are another product (see [`digits`]), and the rounded difference of both is
//! the body of the answer. No word of a scan passes the host but those of queries and answers.

use crate::description::Description;
use crate::digits;
use crate::error::{Error, Result};
use crate::pack::Pack;
use crate::plan::Params;
use crate::public::check_ring;
use crate::received::{Received, Scanned};
use he_core::arith::Modulus;
use he_core::backend::{
    ExactOps, LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, PhaseModT, PolyOps, RingOps,
};
use he_core::ring::{Operand, Ring, Rows, Seed};
use std::borrow::Borrow;
use std::sync::Arc;

/// The bytes of the matrix that are packed at a time, at most, unless a pack has more: so much
/// memory of the device is needed beside the packed matrices while they are made. Products of many
/// rows fill a device to their end.
const GROUP_BYTES: u64 = 3 << 33;

/// The left matrices of some packs.
struct Group<T> {
    rows: LeftMatrix<T>,
    ones: LeftMatrix<T>,
    digits: LeftMatrix<T>,
}

/// Part of a database on a device, ready for any number of scans.
pub(crate) struct Shelves<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    queries: usize,
    groups: Vec<Group<B::Buf>>,
    /// The digits of the conjugation, pack by pack.
    last: B::Buf,
    masks: Arc<Vec<u64>>,
}

impl<B: RingOps> std::fmt::Debug for Shelves<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shelves {{ {} packs of {:?} }}", self.packs(), self.description)
    }
}

/// Matrices of a group that are not packed yet.
struct Unpacked<'a, B: RingOps> {
    params: &'a Params,
    ring: &'a Ring<B>,
    packs: usize,
    rows: B::Buf,
    digits: B::Buf,
}

impl<'a, B: RingOps> Unpacked<'a, B> {
    /// Room for so many packs.
    fn new(params: &'a Params, ring: &'a Ring<B>, packs: usize) -> Result<Self> {
        let (n, backend) = (params.n(), ring.backend());
        let rows = backend.scratch(packs * n * params.columns() / 8)?;
        Ok(Self { params, ring, packs, rows, digits: backend.scratch(packs * n * n)? })
    }

    fn put(&mut self, at: usize, pack: &Pack) -> Result<()> {
        let (n, backend) = (self.params.n(), self.ring.backend());
        let bytes = pack.rows().bytes().as_chunks::<8>().0;
        let words: Vec<u64> = bytes.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        backend.copy(&backend.upload(&words)?, 0, &mut self.rows, at * words.len(), words.len())?;
        let matrix = digits::matrix(self.params.log_n(), pack.digits());
        Ok(backend.copy(&backend.upload(&matrix)?, 0, &mut self.digits, at * n * n, n * n)?)
    }

    /// Uniform residues of a seed in place of everything.
    fn sample(&mut self, seed: &Seed) -> Result<()> {
        let (n, span) = (self.params.n(), self.params.span());
        let each = self.params.columns() / 8;
        for pack in 0..self.packs {
            let rows = |batch: usize| Rows::new(span, batch).at(pack * batch * n);
            let ring = self.ring.prepared();
            ring.sample_uniform(rows(each), seed, 2 * pack as u32, &mut self.rows)?;
            ring.sample_uniform(rows(n), seed, 2 * pack as u32 + 1, &mut self.digits)?;
        }
        Ok(())
    }

    fn pack(self, queries: usize) -> Result<Group<B::Buf>> {
        let (ring, rows) = (self.ring.prepared(), self.packs * self.params.n());
        let [bytes, ones, residues] = products(self.params, rows, queries)?;
        let all = self.ring.backend().upload(&vec![0x0101_0101_0101_0101; rows.div_ceil(8)])?;
        let ones = ring.pack_left(&ones, &all, 0)?;
        let digits = ring.pack_left(&residues, &self.digits, 0)?;
        drop(self.digits);
        Ok(Group { rows: ring.pack_left(&bytes, &self.rows, 0)?, ones, digits })
    }
}

/// The products of so many rows of bytes, of ones and of digits with the parts of queries.
fn products(params: &Params, rows: usize, queries: usize) -> Result<[MatrixProduct; 3]> {
    let new = |numbers, inner| MatrixProduct::new(numbers, rows, inner, queries);
    Ok([
        new(MatrixNumbers::Bytes, params.columns())?,
        new(MatrixNumbers::Bytes, 1)?,
        new(MatrixNumbers::Residues(params.span()), params.n())?,
    ])
}

/// The packs of a group; all groups but the last have as many.
fn group_packs(params: &Params) -> usize {
    let packs = params.packs();
    let most = GROUP_BYTES / (params.n() as u64 * params.columns() as u64);
    let most = usize::try_from(most).map_or(packs, |most| most.clamp(1, packs));
    packs.div_ceil(packs.div_ceil(most))
}

impl<B: RingOps> Shelves<B> {
    fn empty(description: &Description, ring: &Ring<B>, queries: usize) -> Result<Self> {
        check_ring(description.params(), ring)?;
        let last = ring.backend().zeros(0)?;
        let (description, ring, masks) = (description.clone(), ring.clone(), Arc::default());
        Ok(Self { description, ring, queries, groups: Vec::new(), last, masks })
    }

    /// Brings packs to the device of a ring, for scans of at most `queries` queries each.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub(crate) fn new<P: Borrow<Pack>>(
        description: &Description,
        ring: &Ring<B>,
        packs: impl IntoIterator<Item = P>,
        queries: usize,
    ) -> Result<Self> {
        let mut shelves = Self::empty(description, ring, queries)?;
        let (params, most) = (description.params(), group_packs(description.params()));
        let (mut last, mut masks) = (Vec::new(), Vec::new());
        let mut packs = packs.into_iter().peekable();
        while packs.peek().is_some() {
            let some: Vec<P> = packs.by_ref().take(most).collect();
            let mut unpacked = Unpacked::new(params, ring, some.len())?;
            for (at, pack) in some.into_iter().enumerate() {
                let pack = pack.borrow();
                unpacked.put(at, pack)?;
                last.extend(&pack.digits()[(params.n() - 2) * params.n()..]);
                masks.extend(pack.mask());
            }
            shelves.groups.push(unpacked.pack(queries)?);
        }
        shelves.last = ring.backend().upload(&last)?;
        shelves.masks = Arc::new(masks);
        Ok(shelves)
    }

    /// Packs that are samples of a seed, made on the device.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub(crate) fn sampled(description: &Description, ring: &Ring<B>, queries: usize) -> Result<Self> {
        let mut shelves = Self::empty(description, ring, queries)?;
        let (params, most) = (description.params(), group_packs(description.params()));
        let mut seed = Seed(*description.seed());
        for first in (0..params.packs()).step_by(most) {
            let mut unpacked = Unpacked::new(params, ring, most.min(params.packs() - first))?;
            unpacked.sample(&seed)?;
            shelves.groups.push(unpacked.pack(queries)?);
            seed.0[0] = seed.0[0].wrapping_add(1);
        }
        let words = params.packs() * params.n();
        shelves.last = ring.backend().zeros(words)?;
        let rows = Rows::new(params.span(), params.packs());
        ring.prepared().sample_uniform(rows, &seed, 0, &mut shelves.last)?;
        shelves.masks = Arc::new(vec![0; words]);
        Ok(shelves)
    }

    fn params(&self) -> &Params {
        self.description.params()
    }

    pub(crate) fn packs(&self) -> usize {
        self.masks.len() / self.params().n()
    }

    pub(crate) fn ring(&self) -> &Ring<B> {
        &self.ring
    }

    pub(crate) fn description(&self) -> &Description {
        &self.description
    }

    /// Checks that a scan takes so many queries.
    ///
    /// # Errors
    /// [`Error::Queries`].
    pub(crate) fn check_queries(&self, found: usize) -> Result<()> {
        let most = self.queries;
        if (1..=most).contains(&found) { Ok(()) } else { Err(Error::Queries { found, most }) }
    }

    /// The answers of these packs, one for each query, with one scan for all of them.
    ///
    /// # Errors
    /// [`Error::Queries`] for none, or more than planned; device errors.
    pub(crate) fn scan(&self, queries: &[Received<B>]) -> Result<Vec<Scanned<B>>> {
        self.check_queries(queries.len())?;
        let (packs, n) = (self.packs(), self.params().n());
        let (mut words, mut sums) = self.multiply(queries)?;
        let (ring, q) = (self.ring.prepared(), self.params().modulus());
        let all = Rows::new(self.params().span(), packs * queries.len());
        let inverse = q.inv(q.reduce(1 << 32));
        ring.scale_assign(all, &mut words, &[inverse])?;
        ring.add_scalar_assign(all, &mut words, &[q.neg(q.mul(inverse, 1 << 31))])?;
        ring.ntt(all, &mut words)?;
        ring.add_assign(all, &mut sums, Operand::new(&words, all.batch))?;
        let round = Rounding::new(q, self.params().answer_bits()[1])?;
        let rows = Rows::new(self.params().span(), packs);
        let scanned = queries.iter().enumerate().map(|(i, query)| {
            let parts = [Operand::at(&sums, packs, i * packs * n), Operand::new(&self.last, packs)];
            let body = ring.phase_mod_t(rows, parts, Operand::at(&query.keys, 1, n), round.arguments())?;
            Ok(Scanned { asked: query.asked, masks: self.masks.clone(), body })
        });
        scanned.collect()
    }

    /// The queries for which a scan of so many is laid out: as many, if matrices that were packed
    /// for all that are planned serve them on this device.
    fn width(&self, count: usize) -> Result<usize> {
        let ring = self.ring.prepared();
        for group in &self.groups {
            let products = products(self.params(), group.rows.product().rows(), count)?;
            let packed = [&group.rows, &group.ones, &group.digits];
            if packed.iter().zip(&products).any(|(left, other)| !ring.shares_left(left.product(), other)) {
                return Ok(self.queries);
            }
        }
        Ok(count)
    }

    /// The products of the rows and of the digits with each query, query by query.
    fn multiply(&self, queries: &[Received<B>]) -> Result<(B::Buf, B::Buf)> {
        let (n, backend, width) = (self.params().n(), self.ring.backend(), self.width(queries.len())?);
        let columns = self.params().columns();
        let words = self.beside(queries.iter().map(|query| &query.words), [width, columns])?;
        let keys = self.beside(queries.iter().map(|query| &query.keys), [width, n])?;
        let mut terms: Vec<u64> = queries.iter().map(|query| query.term.into()).collect();
        terms.resize(width, 0);
        let terms = backend.upload(&terms)?;
        let shape = [self.masks.len(), width];
        let count = shape[0] * width;
        let (mut products, mut sums) = (backend.scratch(count)?, backend.scratch(count)?);
        let (ring, mut at) = (self.ring.prepared(), 0);
        for group in &self.groups {
            let of = self::products(self.params(), group.rows.product().rows(), width)?;
            let multiply = |left: &LeftMatrix<B::Buf>, i: usize, right, add, to: &mut B::Buf| {
                let right = ring.pack_right(&of[i], right, 0)?;
                ring.multiply_matrices(left.as_ref().of(ring, &of[i])?, right.as_ref(), add, at, to)
            };
            multiply(&group.ones, 1, &terms, false, &mut products)?;
            multiply(&group.rows, 0, &words, true, &mut products)?;
            multiply(&group.digits, 2, &keys, false, &mut sums)?;
            at += of[0].result_words();
        }
        Ok((self.transposed(products, shape)?, self.transposed(sums, shape)?))
    }

    /// The first words of buffers as columns next to each other, of which those that are left over
    /// are zero.
    fn beside<'a>(
        &self,
        columns: impl Iterator<Item = &'a B::Buf>,
        [width, words]: [usize; 2],
    ) -> Result<B::Buf>
    where
        B::Buf: 'a,
    {
        let backend = self.ring.backend();
        let mut parts: Vec<_> = columns.map(|column| (column, words)).collect();
        let empty = backend.zeros(words)?;
        parts.resize(width, (&empty, words));
        let mut all = backend.scratch(words * width)?;
        backend.join_runs(&parts, &mut all, 1)?;
        self.transposed(all, [width, words])
    }

    /// The transpose of a matrix of words.
    fn transposed(&self, matrix: B::Buf, [rows, columns]: [usize; 2]) -> Result<B::Buf> {
        if rows == 1 || columns == 1 {
            return Ok(matrix);
        }
        let backend = self.ring.backend();
        let mut turned = backend.scratch(rows * columns)?;
        backend.transpose_words(&matrix, 0, &mut turned, 0, [rows, columns], 1)?;
        Ok(turned)
    }
}

/// The arguments by which a phase becomes round(-phase 2^bits / q) modulo 2^bits: with x the
/// residue of -phase 2^bits of least magnitude, that is -x / q modulo 2^bits.
struct Rounding {
    factors: [u64; 1],
    modulus: Modulus,
    after: u64,
}

impl Rounding {
    fn new(q: &Modulus, bits: u32) -> Result<Self> {
        let factors = [q.neg(q.pow(2, bits.into()))];
        // Each step doubles the bits that are right; q is its own inverse modulo 8.
        let step = |x: u64, _| x.wrapping_mul(2u64.wrapping_sub(x.wrapping_mul(q.value())));
        let inverse = (0..5).fold(q.value(), step);
        let after = inverse.wrapping_neg() & ((1 << bits) - 1);
        Ok(Self { factors, modulus: Modulus::new(1 << bits)?, after })
    }

    fn arguments(&self) -> PhaseModT<'_> {
        PhaseModT { factors: &self.factors, modulus: &self.modulus, after: self.after }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rounding::to_fraction;
    use he_core::backend::{Backend, Cpu};
    use he_core::ring::RingSpec;

    /// Phases are rounded as plain integers are.
    #[test]
    fn phases_are_rounded_to_the_nearest_fraction() {
        let q = he_core::arith::ntt_primes_below(50, 4, 1, &[]).unwrap();
        let spec = RingSpec::new(4, q.clone(), vec![]).unwrap();
        let (cpu, q) = (Cpu::new(), Modulus::new(q[0]).unwrap());
        let ring = cpu.prepare(&spec).unwrap();
        let rows = Rows::new(he_core::ring::Span::chain(1), 4);
        let words: Vec<u64> = (0..64u64).map(|i| q.reduce(i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut phase = cpu.upload(&words).unwrap();
        ring.ntt(rows, &mut phase).unwrap();
        let none = cpu.zeros(64).unwrap();
        for bits in [9, 13, 32] {
            let round = Rounding::new(&q, bits).unwrap();
            let parts = [Operand::new(&phase, 4), Operand::new(&none, 4)];
            let found = ring.phase_mod_t(rows, parts, Operand::new(&none, 1), round.arguments()).unwrap();
            let expected: Vec<u64> = words.iter().map(|&x| to_fraction(q.neg(x), bits, &q)).collect();
            assert_eq!(found[..], expected, "{bits} bits");
        }
    }
}
