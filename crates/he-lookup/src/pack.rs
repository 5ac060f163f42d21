//! Packs: rows of the matrix, with what turns the products of a scan into one ciphertext.
//!
//! # Method
//! A query is a ciphertext (a, c) of RLWE for each N columns, c = a s + e + q u / 256, of which the
//! server has a beforehand. The scan multiplies row i with the coefficients of c. Its product has
//! the mask <h_i, s>, whose h_i follows from the row and a alone. With h_i as a polynomial whose
//! product with s has this constant coefficient, and the trace over all automorphisms,
//!
//! sum_i X^i <h_i, s> = sum_t A_t(X) s(X^t), A_t(X) = 1/N sum_i X^i h_i(X^t),
//!
//! and the values of all A_t are those of one transform of N x N words in two directions. The masks
//! A_t are switched, one after the other, to a mask under s. A key
//! switch needs the digit of a mask in units of 2^26, multiplied by the key. Its uniform part is
//! known beforehand as well, hence all digits and the last mask. Only the products of the digits
//! with the other part of the client's key are left for the query.

use crate::description::Description;
use crate::error::{Error, Result};
use crate::frame::{self, AROUND, Kind, Reader};
use crate::identity::hash;
use crate::plan::{LOG_UNIT, Params};
use crate::public;
use crate::rounding::to_fraction;
use crate::rows::Rows;
use crate::switches;
use he_core::backend::{PolyOps, RingOps};
use he_core::ring::{DomainKind, Operand, Ring, bit_reverse};

/// A pack that is ready to be searched: its rows, the digits of N - 1 key switches in evaluation
/// form, and the mask of its ciphertext.
#[derive(Clone, Debug, PartialEq)]
pub struct Pack {
    rows: Rows,
    digits: Vec<u64>,
    mask: Vec<u64>,
}

impl Pack {
    /// The rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The rows, to be changed and prepared again.
    pub fn into_rows(self) -> Rows {
        self.rows
    }

    pub(crate) fn digits(&self) -> &[u64] {
        &self.digits
    }

    pub(crate) fn mask(&self) -> &[u64] {
        &self.mask
    }

    /// A hash of everything but the rows that the digits depend on.
    fn source(description: &Description, pack: usize) -> [u8; 32] {
        let plan = format!("{:?}", description.params().plan());
        hash("he-lookup 2026 pack", &[plan.as_bytes(), description.seed(), &(pack as u64).to_le_bytes()])
    }

    /// The length of [`to_bytes`](Self::to_bytes).
    pub fn bytes(params: &Params) -> u64 {
        let n = params.n() as u64;
        (AROUND + 32) as u64 + n * params.columns() as u64 + 8 * n * n
    }

    /// The pack as bytes, with a checksum: the same for all versions of a database in which its
    /// rows are the same.
    pub fn to_bytes(&self, description: &Description) -> Vec<u8> {
        let rows = self.rows.bytes();
        let words = 8 * (self.digits.len() + self.mask.len());
        let mut bytes = frame::begin(Kind::Pack, 32 + rows.len() + words);
        bytes.extend(Self::source(description, self.rows.pack()));
        bytes.extend(rows);
        self.digits.iter().chain(&self.mask).for_each(|word| bytes.extend(word.to_le_bytes()));
        frame::finish(bytes)
    }

    /// Reads [`to_bytes`](Self::to_bytes) of pack number `pack`.
    ///
    /// # Errors
    /// [`Error::Damaged`], also for a pack of another database or of another number.
    pub fn from_bytes(description: &Description, pack: usize, bytes: &[u8]) -> Result<Self> {
        let params = description.params();
        let (n, q) = (params.n(), params.modulus().value());
        let mut reader = Reader::new(Kind::Pack, bytes)?;
        if reader.array()? != Self::source(description, pack) {
            return Err(Kind::Pack.damaged("it is of another database or in another place"));
        }
        let rows = Rows::from_bytes(params, pack, reader.bytes(n * params.columns())?.to_vec())?;
        let mut words = |count: usize, bound: u64| -> Result<Vec<u64>> {
            let bytes = reader.bytes(8 * count)?.as_chunks::<8>().0;
            let words: Vec<u64> = bytes.iter().map(|word| u64::from_le_bytes(*word)).collect();
            let fits = words.iter().all(|&word| word < bound);
            if fits { Ok(words) } else { Err(Kind::Pack.damaged("a word is out of range")) }
        };
        let digits = words((n - 1) * n, q)?;
        let mask = words(n, 1 << params.answer_bits()[0])?;
        reader.end()?;
        Ok(Self { rows, digits, mask })
    }
}

/// It prepares packs of a database: the uniform parts of queries and keys, on a device.
pub struct Preparer<B: RingOps> {
    description: Description,
    ring: Ring<B>,
    /// The uniform parts of queries under the conjugation, divided by N.
    queries: B::Buf,
    /// The uniform parts of the keys: the rotation has one for each switch.
    keys: B::Buf,
}

impl<B: RingOps> std::fmt::Debug for Preparer<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Preparer {{ {:?} }}", self.description)
    }
}

impl<B: RingOps> Preparer<B> {
    /// Makes the constants of a database on the device of a ring.
    ///
    /// # Errors
    /// The ring is not that of the parameters; device errors.
    pub fn new(description: &Description, ring: &Ring<B>) -> Result<Self> {
        let (params, prepared) = (description.params(), ring.prepared());
        let [_, conjugation] = switches::keys(params.log_n());
        let mut queries = public::of_queries(description, ring)?.automorphism(conjugation)?;
        let q = params.modulus();
        queries.scale_assign(&[q.inv(params.n() as u64)])?;
        let queries = ring.backend().upload(&queries.to_words()?)?;
        let of_keys = ring.backend().upload(&public::of_keys(description, ring)?.to_words()?)?;
        let n = params.n();
        let mut keys = ring.backend().zeros((n - 1) * n)?;
        for step in switches::steps(params.log_n()) {
            for (i, g) in step.to.into_iter().enumerate() {
                let rows = he_core::ring::Rows::new(params.span(), 1).at((step.first_switch() + i) * n);
                prepared.automorphism(rows, DomainKind::Eval, g, Operand::new(&of_keys, 1), &mut keys)?;
            }
        }
        ring.backend().copy(&of_keys, n, &mut keys, (n - 2) * n, n)?;
        Ok(Self { description: description.clone(), ring: ring.clone(), queries, keys })
    }

    fn params(&self) -> &Params {
        self.description.params()
    }

    fn batch(&self, batch: usize) -> he_core::ring::Rows {
        he_core::ring::Rows::new(self.params().span(), batch)
    }

    /// Prepares a pack: about 3 N + (columns) transforms. The same rows give the same pack on every
    /// device.
    ///
    /// # Errors
    /// Device errors.
    pub fn pack(&self, rows: Rows) -> Result<Pack> {
        let masks = self.masks(&rows)?;
        let (n, backend) = (self.params().n(), self.ring.backend());
        let mut digits = backend.zeros((n - 1) * n)?;
        let mut left = masks.of(switches::first(self.params().log_n()));
        for step in switches::steps(self.params().log_n()) {
            let mut next = backend.upload(&masks.of(step.to))?;
            self.switch(&left, step.first_switch(), &mut digits, &mut next)?;
            left = backend.download(&next, 0..2 * n)?;
        }
        let mut last = backend.upload(&left[..n])?;
        self.switch(&left[n..], n - 2, &mut digits, &mut last)?;
        self.ring.prepared().intt(self.batch(1), &mut last)?;
        let (q, [bits, _]) = (self.params().modulus(), self.params().answer_bits());
        let last = backend.download(&last, 0..n)?;
        let mask = last.into_iter().map(|x| to_fraction(x, bits, q)).collect();
        Ok(Pack { rows, digits: backend.download(&digits, 0..(n - 1) * n)?, mask })
    }

    /// Switches masks, in evaluation form: their digits are numbers `switch` and following, and
    /// what their products with the keys leave is subtracted from `next`.
    fn switch(&self, masks: &[u64], switch: usize, digits: &mut B::Buf, next: &mut B::Buf) -> Result<()> {
        let (n, q) = (self.params().n(), self.params().modulus());
        let (backend, ring, rows) = (self.ring.backend(), self.ring.prepared(), self.batch(masks.len() / n));
        let mut coefficients = backend.upload(masks)?;
        ring.intt(rows, &mut coefficients)?;
        let coefficients = backend.download(&coefficients, 0..masks.len())?;
        let rounded = |x: u64| ((q.center(x) + (1 << (LOG_UNIT - 1))) >> LOG_UNIT) as u64;
        let signed: Vec<u64> = coefficients.into_iter().map(rounded).collect();
        let mut digit = backend.scratch(signed.len())?;
        ring.reduce_signed(rows, &backend.upload(&signed)?, &mut digit)?;
        ring.ntt(rows, &mut digit)?;
        backend.copy(&digit, 0, digits, switch * n, signed.len())?;
        ring.mul_assign(rows, &mut digit, Operand::at(&self.keys, rows.batch, switch * n))?;
        ring.sub_assign(rows, next, Operand::new(&digit, rows.batch))?;
        Ok(())
    }

    /// The masks of a pack under all automorphisms.
    fn masks(&self, rows: &Rows) -> Result<Masks> {
        let (params, backend, ring) = (self.params(), self.ring.backend(), self.ring.prepared());
        let n = params.n();
        let all = self.batch(n);
        let mut sums = backend.zeros(n * n)?;
        for block in 0..params.blocks() {
            let columns = block * n..(block + 1) * n;
            let rows = rows.bytes().chunks_exact(params.columns());
            let bytes = rows.flat_map(|row| &row[columns.clone()]);
            let bytes: Vec<u64> = bytes.map(|&byte| (i64::from(byte) - 128) as u64).collect();
            if bytes.iter().all(|&byte| byte == 0) {
                continue;
            }
            let mut values = backend.scratch(n * n)?;
            ring.reduce_signed(all, &backend.upload(&bytes)?, &mut values)?;
            ring.ntt(all, &mut values)?;
            let uniform = Operand::at(&self.queries, 1, block * n);
            ring.mul_add_assign(all, &mut sums, Operand::new(&values, n), uniform)?;
        }
        let mut turned = backend.scratch(n * n)?;
        backend.transpose_words(&sums, 0, &mut turned, 0, [n, n], 1)?;
        ring.ntt(all, &mut turned)?;
        Ok(Masks { log_n: params.log_n(), values: backend.download(&turned, 0..n * n)? })
    }
}

/// The values of sum_i X^i h_i(Y) / N at all pairs of roots (Y, X), of which each row has one Y,
/// with Y inverted.
struct Masks {
    log_n: u32,
    values: Vec<u64>,
}

impl Masks {
    /// The masks under two automorphisms, in evaluation form: at the root z, that under t has the
    /// value at (z^t, z).
    fn of(&self, automorphisms: [u64; 2]) -> Vec<u64> {
        let n = 1usize << self.log_n;
        let value = |t: u64, at: usize| {
            let exponent = (2 * bit_reverse(at, self.log_n) + 1) * t as usize;
            let inverse = (2 * n - exponent % (2 * n)) >> 1;
            self.values[bit_reverse(inverse, self.log_n) * n + at]
        };
        automorphisms.into_iter().flat_map(|t| (0..n).map(move |at| value(t, at))).collect()
    }
}

/// Checks that as many packs were given as the parameters have.
pub(crate) fn check_count(params: &Params, found: usize) -> Result<()> {
    if found == params.packs() {
        return Ok(());
    }
    let why = format!("it has {found} packs instead of {}", params.packs());
    Err(Error::Damaged { what: "database", why })
}
