//! The side that answers: it learns neither the record nor whether there is one.

use crate::answer::Answer;
use crate::description::Description;
use crate::error::{Error, Result};
use crate::pack::{Pack, check_count};
use crate::plan::Params;
use crate::public::check_ring;
use crate::query::Query;
use crate::rounding::{from_word, to_fraction};
use crate::switches;
use he_core::backend::{Blocks, LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, PolyOps, RingOps};
use he_core::ring::{DomainKind, Operand, Ring, Rows};

/// Part of a database on a device, ready for any number of scans.
pub struct Shelves<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    product: MatrixProduct,
    matrices: Vec<LeftMatrix<B::Buf>>,
    /// The digits, `[switch][pack][coefficient]`.
    digits: B::Buf,
    masks: Vec<u64>,
}

impl<B: RingOps> std::fmt::Debug for Shelves<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shelves {{ {} packs of {:?} }}", self.matrices.len(), self.description)
    }
}

impl<B: RingOps> Shelves<B> {
    /// Brings packs to the device of a ring, for scans of at most `queries` queries each.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub fn new(description: &Description, ring: &Ring<B>, packs: &[Pack], queries: usize) -> Result<Self> {
        let params = description.params();
        check_ring(params, ring)?;
        let (n, columns, count) = (params.n(), params.columns(), packs.len());
        let product = MatrixProduct::new(MatrixNumbers::Bytes, n, columns, queries)?;
        let backend = ring.backend();
        let mut digits = backend.zeros((n - 1) * count * n)?;
        let (mut matrices, mut masks) = (Vec::new(), Vec::new());
        for (i, pack) in packs.iter().enumerate() {
            let words = pack.rows().bytes().as_chunks::<8>().0;
            let words: Vec<u64> = words.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
            matrices.push(ring.prepared().pack_left(&product, &backend.upload(&words)?, 0)?);
            let from = Blocks { at: 0, step: n };
            let to = Blocks { at: i * n, step: count * n };
            backend.copy_blocks(&backend.upload(pack.digits())?, from, &mut digits, to, n, n - 1)?;
            masks.extend(pack.mask());
        }
        Ok(Self { description: description.clone(), ring: ring.clone(), product, matrices, digits, masks })
    }

    fn params(&self) -> &Params {
        self.description.params()
    }

    /// Answers for these packs, one for each query, with one scan for all of them.
    ///
    /// # Errors
    /// [`Error::Queries`] for none, or more than planned; [`Error::OtherDatabase`] for a query to
    /// another version; device errors.
    pub fn scan(&self, queries: &[Query]) -> Result<Vec<[Vec<u64>; 2]>> {
        let most = self.product.columns();
        if !(1..=most).contains(&queries.len()) {
            return Err(Error::Queries { found: queries.len(), most });
        }
        for query in queries {
            self.description.check("the query", query.database)?;
        }
        let products = self.products(queries)?;
        let masked = self.unmask(queries)?;
        let (q, [_, bits]) = (self.params().modulus(), self.params().answer_bits());
        let bodies = products.into_iter().zip(masked).map(|(products, masked)| {
            let body = |(x, y): (u32, u64)| to_fraction(q.sub(from_word(x, q), y), bits, q);
            [self.masks.clone(), products.into_iter().zip(masked).map(body).collect()]
        });
        Ok(bodies.collect())
    }

    /// The products of all rows with each query, modulo 2^32.
    fn products(&self, queries: &[Query]) -> Result<Vec<Vec<u32>>> {
        let (params, backend, ring) = (self.params(), self.ring.backend(), self.ring.prepared());
        let (n, width) = (params.n(), self.product.columns());
        let mut words = vec![0; params.columns() * width];
        for (i, query) in queries.iter().enumerate() {
            let column = words.iter_mut().skip(i).step_by(width);
            column.zip(&query.words).for_each(|(to, word)| *to = word << (32 - params.query_bits()));
        }
        let right = ring.pack_right(&self.product, &backend.upload(&words)?, 0)?;
        // Bytes of the matrix are 128 more than the weights that they stand for.
        let offset = |query: &Query| {
            let sum = query.words.iter().fold(0u64, |sum, &word| sum.wrapping_add(word));
            (sum << (32 - params.query_bits() + 7)) as u32
        };
        let offsets: Vec<u32> = queries.iter().map(offset).collect();
        let mut all = vec![Vec::with_capacity(self.matrices.len() * n); queries.len()];
        let mut sums = backend.zeros(n * width)?;
        for matrix in &self.matrices {
            ring.multiply_matrices(matrix.as_ref(), right.as_ref(), false, 0, &mut sums)?;
            for row in backend.download(&sums, 0..n * width)?.chunks_exact(width) {
                let words = row.iter().zip(&offsets).map(|(&sum, &offset)| (sum as u32).wrapping_sub(offset));
                all.iter_mut().zip(words).for_each(|(all, word)| all.push(word));
            }
        }
        Ok(all)
    }

    /// The sums of digits times rotations of the keys, for each query: coefficients of all packs.
    fn unmask(&self, queries: &[Query]) -> Result<Vec<Vec<u64>>> {
        let (params, backend, ring) = (self.params(), self.ring.backend(), self.ring.prepared());
        let (n, count) = (params.n(), self.matrices.len());
        let [one, all] = [1, count].map(|batch| Rows::new(params.span(), batch));
        let keys = queries.iter().map(|query| backend.upload(&query.keys)).collect::<Result<Vec<_>, _>>()?;
        let sums = queries.iter().map(|_| backend.zeros(count * n));
        let mut sums = sums.collect::<Result<Vec<_>, _>>()?;
        let mut turned = backend.scratch(n)?;
        for step in switches::steps(params.log_n()) {
            for (i, g) in step.to.into_iter().enumerate() {
                let digits = Operand::at(&self.digits, count, (step.first_switch() + i) * count * n);
                for (key, sum) in keys.iter().zip(&mut sums) {
                    ring.automorphism(one, DomainKind::Eval, g, Operand::new(key, 1), &mut turned)?;
                    ring.mul_add_assign(all, sum, digits, Operand::new(&turned, 1))?;
                }
            }
        }
        let digits = Operand::at(&self.digits, count, (n - 2) * count * n);
        for (key, sum) in keys.iter().zip(&mut sums) {
            ring.mul_add_assign(all, sum, digits, Operand::at(key, 1, n))?;
            ring.intt(all, sum)?;
        }
        sums.iter().map(|sum| Ok(backend.download(sum, 0..count * n)?)).collect()
    }
}

/// A database on a device.
///
/// It keeps nothing of a query once it is answered. The queries of a scan may be of one client or
/// of many.
#[derive(Debug)]
pub struct Server<B: RingOps>(Shelves<B>);

impl<B: RingOps> Server<B> {
    /// Brings a database to the device of a ring, for scans of at most `queries` queries each:
    /// matrices are packed for as many, so that fewer cost the same.
    ///
    /// # Errors
    /// [`Error::Damaged`] unless all packs are there; the ring is not that of the parameters;
    /// device errors.
    pub fn new(description: &Description, ring: &Ring<B>, packs: &[Pack], queries: usize) -> Result<Self> {
        check_count(description.params(), packs.len())?;
        Ok(Self(Shelves::new(description, ring, packs, queries)?))
    }

    /// Answers queries in one scan.
    ///
    /// # Errors
    /// [`Error::Queries`] for none, or more than planned; [`Error::OtherDatabase`] for a query to
    /// another version; device errors.
    pub fn answer(&self, queries: &[Query]) -> Result<Vec<Answer>> {
        let parts = self.0.scan(queries)?;
        Ok(queries.iter().zip(parts).map(|(query, parts)| Answer::to(query, parts)).collect())
    }
}

impl Answer {
    fn to(query: &Query, parts: [Vec<u64>; 2]) -> Self {
        let Query { database, nonce, tag, .. } = *query;
        Self { database, nonce, tag, parts }
    }
}

/// Answers to queries from packs that come one by one, so that memory holds one of them.
#[derive(Debug)]
pub struct Passage<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    queries: Vec<Query>,
    parts: Vec<[Vec<u64>; 2]>,
    seen: usize,
}

impl<B: RingOps> Passage<B> {
    /// The passage of a database by these queries.
    ///
    /// # Errors
    /// [`Error::OtherDatabase`] for a query to another version.
    pub fn new(description: &Description, ring: &Ring<B>, queries: Vec<Query>) -> Result<Self> {
        for query in &queries {
            description.check("the query", query.database)?;
        }
        let parts = vec![[Vec::new(), Vec::new()]; queries.len()];
        Ok(Self { description: description.clone(), ring: ring.clone(), queries, parts, seen: 0 })
    }

    /// Takes the next pack.
    ///
    /// # Errors
    /// [`Error::Damaged`] for a pack out of order; device errors.
    pub fn add(&mut self, pack: &Pack) -> Result<()> {
        if pack.rows().pack() != self.seen {
            let why = format!("pack {} came instead of pack {}", pack.rows().pack(), self.seen);
            return Err(Error::Damaged { what: "database", why });
        }
        let one = std::slice::from_ref(pack);
        let shelves = Shelves::new(&self.description, &self.ring, one, self.queries.len())?;
        for (all, parts) in self.parts.iter_mut().zip(shelves.scan(&self.queries)?) {
            all.iter_mut().zip(parts).for_each(|(all, part)| all.extend(part));
        }
        self.seen += 1;
        Ok(())
    }

    /// The answers, once all packs have passed.
    ///
    /// # Errors
    /// [`Error::Damaged`] if packs are missing.
    pub fn finish(self) -> Result<Vec<Answer>> {
        check_count(self.description.params(), self.seen)?;
        Ok(self.queries.iter().zip(self.parts).map(|(query, parts)| Answer::to(query, parts)).collect())
    }
}
