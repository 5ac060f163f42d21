//! Products of matrices of integers modulo primes, beside the copies that bound the narrow ones.

use super::measure::{Call, Id, Lab, Lazy, Place, on_places};
use super::report::{Show, Table, Unit, Value};
use crate::error::Result;
use he_core::arith::ntt_primes_below;
use he_core::backend::{LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, PolyOps, RightMatrix, RingOps};
use he_core::ring::{Ring, RingSpec, Rows, Seed, Span};
use std::cell::RefCell;

const RATES: &str = "matrices";
const WHOLE: &str = "matrices-plain";
const NARROW: &str = "matrices-narrow";
const SCAN: &str = "matrices-scan";

/// The names of the tables.
pub fn names() -> Vec<String> {
    [RATES, WHOLE, NARROW, SCAN].map(str::to_owned).to_vec()
}

/// The degree of the ring whose prime the products have, and whose samples are the numbers.
const LOG_N: u32 = 12;
const RESIDUES: MatrixNumbers = MatrixNumbers::Residues(Span::chain(1));
const SIGNED: MatrixNumbers = MatrixNumbers::SignedBytes(Span::chain(1));

/// The numbers of both matrices, and the bits of the prime.
const KINDS: [(&str, MatrixNumbers, u32); 7] = [
    ("residues, 31 bits", RESIDUES, 31),
    ("residues, 50 bits", RESIDUES, 50),
    ("residues, 61 bits", RESIDUES, 61),
    ("signed bytes by residues, 31 bits", SIGNED, 31),
    ("signed bytes by residues, 50 bits", SIGNED, 50),
    ("signed bytes by residues, 61 bits", SIGNED, 61),
    ("bytes by words modulo 2^32", MatrixNumbers::Bytes, 31),
];

/// Two matrices of random numbers, as they are and packed, and the place of their product.
struct Matrices<B: RingOps> {
    ring: Ring<B>,
    product: MatrixProduct,
    plain: [B::Buf; 2],
    packed: (LeftMatrix<B::Buf>, RightMatrix<B::Buf>),
    result: RefCell<B::Buf>,
}

impl<B: RingOps> Matrices<B> {
    fn new(
        backend: &B,
        numbers: MatrixNumbers,
        bits: u32,
        [rows, inner, columns]: [usize; 3],
    ) -> Result<Self> {
        let q = ntt_primes_below(bits, LOG_N, 1, &[])?;
        let ring = Ring::new(backend.clone(), RingSpec::new(LOG_N, q, vec![])?)?;
        let product = MatrixProduct::new(numbers, rows, inner, columns)?;
        let random = |words: usize, index: u32| -> Result<B::Buf> {
            let rows = Rows::new(Span::chain(1), words.div_ceil(ring.n()));
            let mut made = backend.zeros(rows.count() * ring.n())?;
            ring.prepared().sample_uniform(rows, &Seed([1; 32]), index, &mut made)?;
            Ok(made)
        };
        let plain = [random(product.left_words(), 0)?, random(product.right_words(), 1)?];
        let packed = (
            ring.prepared().pack_left(&product, &plain[0], 0)?,
            ring.prepared().pack_right(&product, &plain[1], 0)?,
        );
        let result = RefCell::new(backend.zeros(product.result_words())?);
        Ok(Self { ring, product, plain, packed, result })
    }

    fn multiply(&self) -> Result<()> {
        let (left, right) = (self.packed.0.as_ref(), self.packed.1.as_ref());
        let result = &mut self.result.borrow_mut();
        Ok(self.ring.prepared().multiply_matrices(left, right, false, 0, result)?)
    }

    fn pack_left(&self) -> Result<LeftMatrix<B::Buf>> {
        Ok(self.ring.prepared().pack_left(&self.product, &self.plain[0], 0)?)
    }

    fn pack_right(&self) -> Result<RightMatrix<B::Buf>> {
        Ok(self.ring.prepared().pack_right(&self.product, &self.plain[1], 0)?)
    }

    fn pack_and_multiply(&self) -> Result<()> {
        let (left, right) = (self.pack_left()?, self.pack_right()?);
        let result = &mut self.result.borrow_mut();
        Ok(self.ring.prepared().multiply_matrices(left.as_ref(), right.as_ref(), false, 0, result)?)
    }
}

/// The side of square matrices.
fn side<B>(lab: &Lab, place: &Place<B>) -> usize {
    match (lab.quick, place.apart) {
        (true, _) => 1 << 7,
        (false, false) => 1 << 11,
        (false, true) => 1 << 12,
    }
}

/// The multiply-adds of square matrices and their time.
fn rates<B: RingOps>(lab: &Lab, place: &Place<B>, column: &str) -> Result<Vec<(Value, usize)>> {
    let side = side(lab, place);
    let each = |(row, numbers, bits): (&str, MatrixNumbers, u32)| {
        let made = Lazy::new(|| Matrices::new(&place.backend, numbers, bits, [side; 3]));
        let time = lab.time(&Id::new(RATES, column, row), &place.backend, || made.get()?.multiply())?;
        Ok((time, side.pow(3)))
    };
    KINDS.into_iter().map(each).collect()
}

const PARTS: [&str; 4] = ["both packed", "pack the bytes", "pack the residues", "all"];

/// The side of the plain matrix of a whole product.
fn plain_side(lab: &Lab) -> usize {
    if lab.quick { 1 << 7 } else { 1 << 12 }
}

/// The seconds of a product of a plain square matrix with two of coefficients side by side.
fn whole<B: RingOps>(lab: &Lab, place: &Place<B>, column: &str, bits: u32) -> Result<[Value; PARTS.len()]> {
    let side = plain_side(lab);
    let made = Lazy::new(|| Matrices::new(&place.backend, SIGNED, bits, [side, side, 2 * side]));
    let calls: [Call<'_>; PARTS.len()] = [
        &mut || made.get()?.multiply(),
        &mut || made.get()?.pack_left().map(drop),
        &mut || made.get()?.pack_right().map(drop),
        &mut || made.get()?.pack_and_multiply(),
    ];
    let mut parts = PARTS.iter();
    let calls = calls.map(|call| (Id::new(WHOLE, column, parts.next().copied().unwrap_or_default()), call));
    lab.times(&place.backend, calls)
}

const COLUMNS: [usize; 4] = [1, 4, 16, 32];

/// The inner size of narrow products, and their rows.
fn narrow_sizes<B>(lab: &Lab, place: &Place<B>) -> (usize, usize) {
    match (lab.quick, place.apart) {
        (true, _) => (1 << 8, 1 << 8),
        (false, false) => (1 << 16, 1 << 8),
        (false, true) => (1 << 20, 1 << 8),
    }
}

/// The seconds of narrow products modulo a prime of 31 bits and the bytes that they move, of which
/// the numbers of the left matrix are four each; then those of a copy of as many.
fn narrow<B: RingOps>(lab: &Lab, place: &Place<B>, column: &str) -> Result<Vec<(Value, usize)>> {
    let (rows, inner) = narrow_sizes(lab, place);
    let backend = &place.backend;
    let mut all = Vec::new();
    for columns in COLUMNS {
        let made = Lazy::new(|| Matrices::new(backend, RESIDUES, 31, [rows, inner, columns]));
        let time = lab.time(&Id::new(NARROW, column, columns), backend, || made.get()?.multiply())?;
        all.push((time, 4 * rows * inner + 8 * rows * columns));
    }
    let words = rows * inner / 4;
    let made = Lazy::new(|| Ok((backend.zeros(words)?, RefCell::new(backend.zeros(words)?))));
    let copy = || -> Result<()> {
        let (from, to) = made.get()?;
        Ok(backend.copy(from, 0, &mut to.borrow_mut(), 0, words)?)
    };
    all.push((lab.time(&Id::new(NARROW, column, "copy"), backend, copy)?, 16 * words));
    Ok(all)
}

const SCANNED: [usize; 4] = [1, 4, 8, 16];

/// The side of the matrix of bytes that is scanned: 1 GB.
fn scan_side(lab: &Lab) -> usize {
    if lab.quick { 1 << 8 } else { 1 << 15 }
}

/// The seconds of products of a matrix of bytes with few columns of words, and its bytes; then
/// those of a sum of as many words in memory of the host, which is only read.
fn scan<B: RingOps>(lab: &Lab, place: &Place<B>, column: &str) -> Result<Vec<(Value, usize)>> {
    let (side, backend) = (scan_side(lab), &place.backend);
    let mut all = Vec::new();
    for columns in SCANNED {
        let made = Lazy::new(|| Matrices::new(backend, MatrixNumbers::Bytes, 31, [side, side, columns]));
        let time = lab.time(&Id::new(SCAN, column, columns), backend, || made.get()?.multiply())?;
        all.push((time, side * side));
    }
    let made = Lazy::new(|| Ok(vec![1u64; side * side / 8]));
    let read = || -> Result<()> {
        let sum = made.get()?.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
        std::hint::black_box(sum);
        Ok(())
    };
    all.push((lab.time(&Id::new(SCAN, column, "read"), backend, read)?, side * side));
    Ok(all)
}

/// Rates of products, the parts of one with a plain matrix, and narrow products beside a copy and
/// beside reading.
///
/// # Errors
/// A device fails; the errors of `show`.
pub fn tables(lab: &Lab, show: &mut Show<'_>) -> Result<()> {
    lab.announce("products of matrices");
    let rows = KINDS.map(|(name, ..)| name);
    let title = "Products of square matrices that are packed, modular products";
    let mut table = Table::new(RATES, title, "numbers", Unit::BillionsPerSecond).categories(rows);
    on_places!(lab, place => {
        let column = format!("{}, {}^3", place.name, side(lab, place));
        table.measured_rates(&column, place.on(|| rates(lab, place, &column))?);
    });
    show(table)?;
    let side = plain_side(lab);
    let title = format!("Signed bytes, {side} x {side}, by residues, {side} x {}", 2 * side);
    let mut table = Table::new(WHOLE, title, "part", Unit::Milliseconds).categories(PARTS);
    for bits in [31, 50, 61] {
        on_places!(lab, place => {
            let column = format!("{bits} bits, {}", place.name);
            table.measured(&column, place.on(|| whole(lab, place, &column, bits))?);
        });
    }
    show(table)?;
    let title = "Residues of 31 bits by few columns: bytes read and written";
    let rows = COLUMNS.iter().map(usize::to_string).chain(["copy".to_owned()]);
    let mut table = Table::new(NARROW, title, "columns", Unit::GigabytesPerSecond).categories(rows);
    on_places!(lab, place => {
        let (rows, inner) = narrow_sizes(lab, place);
        let column = format!("{}, {rows} x {inner}", place.name);
        table.measured_rates(&column, place.on(|| narrow(lab, place, &column))?);
    });
    show(table)?;
    let title = "Bytes by few columns of words modulo 2^32: bytes read";
    let rows = SCANNED.iter().map(usize::to_string).chain(["read".to_owned()]);
    let mut table = Table::new(SCAN, title, "columns", Unit::GigabytesPerSecond).categories(rows);
    let side = scan_side(lab);
    on_places!(lab, place => {
        let column = format!("{}, {side} x {side}", place.name);
        table.measured_rates(&column, place.on(|| scan(lab, place, &column))?);
    });
    show(table)
}
