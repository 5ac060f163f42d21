//! Plans: from the number and size of records to shapes, widths and predictions.

use crate::error::{Error, Result};
use crate::noise;
use he_core::arith::{Modulus, ntt_primes_below};
use he_core::ring::{RingSpec, Span};
use he_core::rlwe::RlweParams;
use std::ops::Range;
use std::sync::Arc;

/// The description of a database, from which [`Params`] follow: equal plans have equal parameters.
///
/// ```
/// use he_lookup::{Facts, Plan};
/// # fn main() -> he_lookup::Result<()> {
/// let params = Plan::index(1 << 22, 256).params()?;
/// let facts = Facts::of(&params);
/// assert!(facts.query_bytes + facts.answer_bytes < 250_000);
/// println!("{facts}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The greatest number of records.
    pub records: u64,
    /// The bytes of each record; of its value if it is looked up by a key.
    pub record_bytes: usize,
    /// Whether records are looked up by keys, and otherwise by their numbers.
    pub by_key: bool,
    /// log2 of the degree of parameters without regard to security, for tests; `None` takes the
    /// degree of 128-bit security.
    pub insecure_log_n: Option<u32>,
}

/// The degree of the ring, as an exponent, and the bits of its modulus: 128 bits of security by the
/// table up to 53 bits.
const LOG_N: u32 = 11;
const LOG_Q: u32 = 50;

/// Digits of masks are multiples of 2^26: the two parts of the noise of packing are then equal.
pub(crate) const LOG_UNIT: u32 = 26;

/// The bytes of a fingerprint: a key that is absent passes for present once in 2^64.
pub(crate) const FINGERPRINT: usize = 8;

/// The widths that are tried.
const QUERY_BITS: Range<u32> = 16..33;
const ANSWER_BITS: Range<u32> = 9..33;

const MAX_RECORDS: u64 = 1 << 40;
const MAX_RECORD: u64 = 1 << 20;
const MAX_BYTES: u64 = 1 << 44;

impl Plan {
    /// A plan for at most so many records of so many bytes each, looked up by their numbers.
    pub fn index(records: u64, record_bytes: usize) -> Self {
        Self { records, record_bytes, by_key: false, insecure_log_n: None }
    }

    /// A plan for at most so many values of so many bytes each, looked up by their keys.
    pub fn keyword(records: u64, record_bytes: usize) -> Self {
        Self { by_key: true, ..Self::index(records, record_bytes) }
    }

    /// With a degree of 2^log_n, whatever its security; for experiments and tests only.
    #[must_use]
    pub fn insecure_log_n(mut self, log_n: u32) -> Self {
        self.insecure_log_n = Some(log_n);
        self
    }

    /// The name of the way in which records are looked up.
    pub fn way(&self) -> &'static str {
        if self.by_key { "key" } else { "number" }
    }

    /// The parameters of the fewest bytes of query and answer together that keep failures below
    /// 2^-40 for each record.
    ///
    /// # Errors
    /// [`Error::Range`] for a plan out of range.
    pub fn params(&self) -> Result<Params> {
        self.check()?;
        let rlwe = self.rlwe()?;
        let n = rlwe.ring().n();
        let cell = self.cell_bytes();
        let mut best: Option<(u64, Shape)> = None;
        for packs in cell.div_ceil(n).. {
            let shelves = (packs * n / cell).min(self.records as usize);
            let (packs, columns) = ((shelves * cell).div_ceil(n), self.columns(shelves as u64, n));
            let least = (packs * n) as u64 * u64::from(2 * ANSWER_BITS.start) / 8;
            if best.as_ref().is_some_and(|(bytes, _)| *bytes <= least) {
                break;
            }
            let found = Shape { packs, shelves, columns, ..Shape::default() }.with_widths(cell, &rlwe);
            if let Some((bytes, shape)) = found
                && best.as_ref().is_none_or(|(least, _)| bytes < *least)
            {
                best = Some((bytes, shape));
            }
            if columns == n {
                break;
            }
        }
        let (_, shape) = best.ok_or(Error::Range {
            what: "bytes of the database",
            found: self.records.saturating_mul(self.record_bytes as u64),
            lowest: 1,
            highest: MAX_BYTES,
        })?;
        Ok(Params(Arc::new(Inner { plan: *self, rlwe, shape })))
    }

    fn check(&self) -> Result<()> {
        let range = |what, found: u64, lowest, highest| {
            let fits = (lowest..=highest).contains(&found);
            if fits { Ok(()) } else { Err(Error::Range { what, found, lowest, highest }) }
        };
        range("records", self.records, 1, MAX_RECORDS)?;
        range("bytes of a record", self.record_bytes as u64, 1, MAX_RECORD)?;
        range("bytes of the database", self.records.saturating_mul(self.record_bytes as u64), 1, MAX_BYTES)?;
        self.insecure_log_n.map_or(Ok(()), |log_n| range("log2 of the degree", log_n.into(), 4, LOG_N.into()))
    }

    fn rlwe(&self) -> Result<RlweParams> {
        let primes = ntt_primes_below(LOG_Q, LOG_N, 1, &[])?;
        let ring = RingSpec::new(self.insecure_log_n.unwrap_or(LOG_N), primes, vec![])?;
        Ok(match self.insecure_log_n {
            None => RlweParams::new(ring, vec![])?,
            Some(_) => RlweParams::insecure(ring, vec![])?,
        })
    }

    fn cell_bytes(&self) -> usize {
        self.record_bytes + if self.by_key { FINGERPRINT } else { 0 }
    }

    /// The least multiple of N columns that holds the records on so many shelves.
    fn columns(&self, shelves: u64, n: usize) -> usize {
        let each = self.records.div_ceil(shelves);
        let cells = if self.by_key { crowded_cells(each) } else { each };
        // So many that a 32-bit machine cannot count them are never the best.
        usize::try_from(cells.next_multiple_of(n as u64)).unwrap_or(usize::MAX)
    }
}

/// The cells of a shelf on which `mean` keys lie on average. Keys choose shelves at random: none of
/// them has eight deviations more, but for chances far below those of failures. Three parts of
/// together 1.23 k + 32 cells arrange k keys (Graf, Lemire, *Xor filters*, 2020, section 3).
fn crowded_cells(mean: u64) -> u64 {
    let most = mean as f64 + 8.0 * libm::sqrt(mean as f64) + 8.0;
    libm::ceil(1.23 * most) as u64 + 35
}

#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    packs: usize,
    shelves: usize,
    columns: usize,
    query_bits: u32,
    mask_bits: u32,
    body_bits: u32,
}

impl Shape {
    /// The widths of the fewest bytes, and these, if there are any.
    fn with_widths(self, cell: usize, rlwe: &RlweParams) -> Option<(u64, Self)> {
        let (n, log_q) = (rlwe.ring().n(), rlwe.ring().log_qp());
        let greatest = noise::greatest(cell) - noise::packing(n, LOG_UNIT, log_q);
        let mut best: Option<(u64, Self)> = None;
        for query_bits in QUERY_BITS {
            let left = greatest - noise::query(self.columns, query_bits, log_q);
            for body_bits in ANSWER_BITS {
                let left = left - noise::body(body_bits);
                let Some(mask_bits) = ANSWER_BITS.into_iter().find(|&bits| noise::mask(n, bits) <= left)
                else {
                    continue;
                };
                let bits = self.columns as u64 * u64::from(query_bits)
                    + (self.packs * n) as u64 * u64::from(mask_bits + body_bits);
                if best.as_ref().is_none_or(|(least, _)| bits / 8 < *least) {
                    best = Some((bits / 8, Self { query_bits, mask_bits, body_bits, ..self }));
                }
            }
        }
        best
    }
}

#[derive(Debug)]
struct Inner {
    plan: Plan,
    rlwe: RlweParams,
    shape: Shape,
}

/// The parameters of a database, as a cheap handle.
///
/// Records lie on *shelves* of [`columns`](Self::columns) cells. Shelf t has rows
/// [`cell_bytes`](Self::cell_bytes) t and following of a matrix of bytes, a cell in a column. The
/// rows are cut into *packs* of N rows, each of which becomes one ciphertext of the answer.
#[derive(Clone, Debug)]
pub struct Params(Arc<Inner>);

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        self.plan() == other.plan()
    }
}

impl Params {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// The ring, with its security.
    pub fn rlwe(&self) -> &RlweParams {
        &self.0.rlwe
    }

    /// The degree N: the rows of a pack.
    pub fn n(&self) -> usize {
        self.rlwe().ring().n()
    }

    /// The bytes of a cell: of a record, and of its fingerprint if it is looked up by a key.
    pub fn cell_bytes(&self) -> usize {
        self.plan().cell_bytes()
    }

    /// The cells of a shelf: a multiple of N.
    pub fn columns(&self) -> usize {
        self.0.shape.columns
    }

    /// The shelves.
    pub fn shelves(&self) -> usize {
        self.0.shape.shelves
    }

    /// The packs of N rows each.
    pub fn packs(&self) -> usize {
        self.0.shape.packs
    }

    /// The bits of each coefficient of a query.
    pub fn query_bits(&self) -> u32 {
        self.0.shape.query_bits
    }

    /// The bits of each coefficient of the mask and of the body of an answer.
    pub fn answer_bits(&self) -> [u32; 2] {
        [self.0.shape.mask_bits, self.0.shape.body_bits]
    }

    /// log2 of a bound on the probability that a record is read wrongly: at most -40, for all
    /// databases, over the randomness of the query and of the seed of the database.
    pub fn log2_failure(&self) -> f64 {
        noise::log2_failure(self.noise_variance(), self.cell_bytes())
    }

    /// The predicted variance of a coefficient's noise, in units of the square of the modulus, for
    /// a database of the worst bytes.
    pub(crate) fn noise_variance(&self) -> f64 {
        let (log_q, [mask, body]) = (self.rlwe().ring().log_qp(), self.answer_bits());
        noise::query(self.columns(), self.query_bits(), log_q)
            + noise::packing(self.n(), LOG_UNIT, log_q)
            + noise::mask(self.n(), mask)
            + noise::body(body)
    }

    pub(crate) fn log_n(&self) -> u32 {
        self.rlwe().ring().log_n()
    }

    pub(crate) fn span(&self) -> Span {
        Span::chain(1)
    }

    pub(crate) fn modulus(&self) -> &Modulus {
        &self.rlwe().ring().q_moduli()[0]
    }

    /// The polynomials of a query.
    pub(crate) fn blocks(&self) -> usize {
        self.columns() / self.n()
    }

    /// The rows of a shelf.
    pub(crate) fn rows_of(&self, shelf: usize) -> Range<usize> {
        shelf * self.cell_bytes()..(shelf + 1) * self.cell_bytes()
    }

    /// The shelf and the column of a record that is looked up by its number.
    pub(crate) fn place(&self, record: u64) -> (usize, usize) {
        let columns = self.columns() as u64;
        ((record / columns) as usize, (record % columns) as usize)
    }

    /// The records, by their numbers, of which a pack holds rows: those of its shelves, whether or
    /// not they exist yet.
    pub fn records_of(&self, pack: usize) -> Range<u64> {
        let (rows, cell) = (pack * self.n()..(pack + 1) * self.n(), self.cell_bytes());
        let last = rows.end.div_ceil(cell).min(self.shelves());
        let [start, end] = [(rows.start / cell).min(last), last].map(|shelf| (shelf * self.columns()) as u64);
        start.min(self.plan().records)..end.min(self.plan().records)
    }

    /// The packs that hold rows of a record, by its number.
    pub fn packs_with(&self, record: u64) -> Range<usize> {
        self.packs_of(self.place(record).0)
    }

    /// The packs that hold rows of a shelf.
    pub(crate) fn packs_of(&self, shelf: usize) -> Range<usize> {
        let rows = self.rows_of(shelf);
        rows.start / self.n()..rows.end.div_ceil(self.n())
    }
}
