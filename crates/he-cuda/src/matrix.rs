//! Products of matrices by the units that multiply signed bytes.
//!
//! A product modulo a prime is cut in one of two ways:
//!
//! - **Digits.** A left number is a sum of signed digits a_i 2^(8 i), so a b = sum_i a_i (2^(8 i) b
//!   mod q): the inner size is as many times longer as a number has digits, and the right numbers
//!   have their digits in lines next to each other. Signed bytes are their own digit. Bytes modulo
//!   2^32 are signed ones plus 128, which adds 128 times the sum of a column.
//! - **Remainders.** Both numbers, as those of least magnitude, modulo moduli of up to eight bits
//!   that are coprime and whose product is beyond all sums: as many products as there are moduli,
//!   from which the sums come by the Chinese remainder theorem. They are fewer than products of
//!   digits, but need a second pass.
//!
//! Sums of a [`SEGMENT`] of bytes fit 32 bits.

use crate::constants::Prime;
use crate::cuda::{Cuda, failed};
use crate::elementwise::at;
use crate::kernels::Entry;
use crate::ring::CudaRing;
use bytemuck::NoUninit;
use gpu::Buffer;
use he_core::Result;
use he_core::arith::Modulus;
use he_core::backend::{LeftMatrix, MatrixNumbers, MatrixOps, MatrixProduct, PreparedRing, RightMatrix};

/// The bytes of a line in a chunk.
const CHUNK: usize = 64;
/// The lines of a block of the left matrix, and of the right one.
const LEFT_LINES: usize = 128;
const RIGHT_LINES: usize = 256;
/// The bytes of a line that are multiplied before their sums are reduced: 2^16 products of
/// magnitude up to 2^14.
const SEGMENT: usize = 1 << 16;
/// Moduli without common factors, as large as remainders of a signed byte allow.
const MODULI: [u32; 20] =
    [256, 255, 253, 251, 247, 241, 239, 233, 229, 227, 223, 217, 211, 199, 197, 193, 191, 181, 179, 173];
/// The words of remainders that wait at a time, about.
const REMAINDER_WORDS: usize = 1 << 25;
/// The rows of a launch at most.
const MOST_ROWS: usize = 1 << 22;
/// The numbers of a column that a thread adds up.
const COLUMN_PART: usize = 256;
/// The threads of a block.
const THREADS: u32 = 256;

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct ProductArgs {
    a: u64,
    b: u64,
    a_plane: u64,
    b_plane: u64,
    chunks: u64,
    c: u64,
    prime: u64,
    weight: u64,
    addends: u64,
    remainders: u64,
    remainder_plane: u64,
    first: u32,
    count: u32,
    rows: u32,
    columns: u32,
    digits: u32,
    add: u32,
    pitch: u32,
    planes: u32,
    moduli: [u32; MODULI.len()],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct PackArgs {
    src: u64,
    out: u64,
    lines: u64,
    inner: u64,
    line_step: u64,
    inner_step: u64,
    chunks: u64,
    plane: u64,
    prime: u64,
    block_lines: u32,
    parts: u32,
    digits: u32,
    count: u32,
    flip: u32,
    unused: u32,
    moduli: [u32; MODULI.len()],
    factors: [u32; MODULI.len()],
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct CombineArgs {
    remainders: u64,
    remainder_plane: u64,
    c: u64,
    prime: u64,
    minus_product: u64,
    weights: [u64; MODULI.len()],
    inverses: [u32; MODULI.len()],
    rows: u32,
    columns: u32,
    pitch: u32,
    count: u32,
    add: u32,
    unused: u32,
}

/// How the numbers of a limb are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cut {
    /// In so many digits of the left numbers and of the right ones.
    Digits { parts: usize, digits: usize },
    /// By so many moduli.
    Remainders { count: usize },
}

impl Cut {
    fn new(product: &MatrixProduct, q: Option<&Modulus>) -> Self {
        let Some(q) = q else {
            return Self::Digits { parts: 1, digits: 4 };
        };
        // Signed digits reach 127/255 of a power of 256 and q / 2 less than half of one.
        let digits = q.bits() as usize / 8 + 1;
        if matches!(product.numbers(), MatrixNumbers::SignedBytes(_)) {
            return Self::Digits { parts: 1, digits };
        }
        let count = moduli_for(q, product.inner().min(SEGMENT));
        let blocks = |outputs: usize| product.columns().div_ceil(outputs);
        if digits * blocks(RIGHT_LINES / digits) <= count * blocks(RIGHT_LINES) {
            Self::Digits { parts: digits, digits }
        } else {
            Self::Remainders { count }
        }
    }

    /// The left numbers' digits that lie in one plane.
    const fn parts(self) -> usize {
        match self {
            Self::Digits { parts, .. } => parts,
            Self::Remainders { .. } => 1,
        }
    }

    const fn planes(self) -> usize {
        match self {
            Self::Digits { .. } => 1,
            Self::Remainders { count } => count,
        }
    }

    /// The columns of a block of the right matrix.
    const fn outputs(self) -> usize {
        match self {
            Self::Digits { digits, .. } => RIGHT_LINES / digits,
            Self::Remainders { .. } => RIGHT_LINES,
        }
    }

    /// The chunks of a line, of which the matrix units take two at a time.
    const fn chunks(self, inner: usize) -> usize {
        (inner * self.parts()).div_ceil(2 * CHUNK) * 2
    }

    /// The words of a plane of the left matrix.
    const fn left_plane(self, product: &MatrixProduct) -> usize {
        product.rows().div_ceil(LEFT_LINES) * self.chunks(product.inner()) * (LEFT_LINES * CHUNK / 8)
    }

    /// The words of a plane of the right matrix.
    const fn right_plane(self, product: &MatrixProduct) -> usize {
        product.columns().div_ceil(self.outputs()) * self.chunks(product.inner()) * (RIGHT_LINES * CHUNK / 8)
    }
}

/// The moduli whose product is at least 2.2 times the range of sums of so many products.
fn moduli_for(q: &Modulus, inner: usize) -> usize {
    let range = 1.0 + (inner.max(1) as f64).log2() + 2.0 * (q.value() as f64 / 2.0).log2();
    let mut covered = -(1.1f64.log2());
    MODULI
        .iter()
        .take_while(|&&p| {
            let more = covered < range;
            covered += f64::from(p).log2();
            more
        })
        .count()
}

/// The product of all of the moduli but one, modulo q.
fn product_but(q: &Modulus, moduli: &[u32], but: Option<usize>) -> u64 {
    let others = moduli.iter().enumerate().filter(|&(i, _)| Some(i) != but);
    others.fold(1, |product, (_, &p)| q.mul(product, q.reduce(p.into())))
}

/// The inverse of the product of all of the moduli but one, modulo that one.
fn inverse_but(moduli: &[u32], but: usize) -> u32 {
    let p = moduli[but];
    let others = moduli.iter().enumerate().filter(|&(i, _)| i != but);
    let product = others.fold(1, |product, (_, &other)| product * (other % p) % p);
    (1..=p).find(|inverse| inverse * product % p == 1).unwrap_or(0)
}

fn padded<T: Copy + Default>(values: impl IntoIterator<Item = T>) -> [T; MODULI.len()] {
    let mut padded = [T::default(); MODULI.len()];
    padded.iter_mut().zip(values).for_each(|(place, value)| *place = value);
    padded
}

/// A limb of a product: its prime, its cut, and where it begins in the packed matrices, in words.
struct Limb<'a> {
    q: Option<&'a Modulus>,
    /// The address of the prime's constants; 0 modulo 2^32.
    prime: u64,
    cut: Cut,
    left: usize,
    right: usize,
}

impl CudaRing {
    /// The limbs, and the words of both packed matrices.
    fn matrix_limbs(&self, product: &MatrixProduct) -> (Vec<Limb<'_>>, usize, usize) {
        let shared = !matches!(product.numbers(), MatrixNumbers::Residues(_));
        let (mut left, mut right) = (0, 0);
        let mut limbs = Vec::new();
        for limb in 0..product.limbs() {
            let q = product.span().map(|span| self.spec().modulus(span, limb));
            let prime = product.span().map_or(0, |span| {
                self.primes() + (8 * Prime::WORDS * span.prime(limb, self.spec().q().len())) as u64
            });
            let cut = Cut::new(product, q);
            let of_left = cut.planes() * cut.left_plane(product);
            limbs.push(Limb { q, prime, cut, left: if shared { 0 } else { left }, right });
            left = if shared { of_left } else { left + of_left };
            right += cut.planes() * cut.right_plane(product);
        }
        // Modulo 2^32 the sums of the columns are behind them.
        let addends = if product.span().is_none() { product.columns() } else { 0 };
        (limbs, left, right + addends)
    }

    fn pack_matrix(
        &self,
        op: &'static str,
        entry: Entry,
        [threads, parts]: [usize; 2],
        args: &PackArgs,
    ) -> Result<()> {
        let blocks = threads.div_ceil(THREADS as usize) as u32;
        // SAFETY: the callers have checked that the source holds the matrix, and made the other
        // buffer for the packed one.
        unsafe { self.cuda.launch(op, entry, [blocks, parts as u32, 1], THREADS, 0, args) }
    }

    /// Arguments for both sides.
    fn pack_args(product: &MatrixProduct, limb: &Limb<'_>) -> PackArgs {
        let count = limb.cut.planes();
        PackArgs {
            src: 0,
            out: 0,
            lines: 0,
            inner: product.inner() as u64,
            line_step: 0,
            inner_step: 0,
            chunks: limb.cut.chunks(product.inner()) as u64,
            plane: 0,
            prime: limb.prime,
            block_lines: 0,
            parts: limb.cut.parts() as u32,
            digits: 0,
            count: count as u32,
            flip: 0,
            unused: 0,
            moduli: padded(MODULI[..count].iter().copied()),
            factors: [1; MODULI.len()],
        }
    }
}

impl MatrixOps for CudaRing {
    fn pack_left(&self, product: &MatrixProduct, src: &Buffer, first: usize) -> Result<LeftMatrix<Buffer>> {
        let op = "pack_left";
        product.check_words(src.words(), first, product.left_words())?;
        let (limbs, words, _) = self.matrix_limbs(product);
        let packed = self.cuda.scratch_buffer(op, words)?;
        let (rows, inner) = (product.rows(), product.inner());
        let is_shared = !matches!(product.numbers(), MatrixNumbers::Residues(_));
        let once = if is_shared { 1 } else { limbs.len() };
        for (i, limb) in limbs.iter().enumerate().take(once) {
            let plane = limb.cut.left_plane(product);
            let args = PackArgs {
                src: at(src, first + if is_shared { 0 } else { i * rows * inner }),
                out: at(&packed, limb.left),
                lines: rows as u64,
                line_step: inner as u64,
                inner_step: 1,
                plane: 8 * plane as u64,
                block_lines: LEFT_LINES as u32,
                // Bytes have no prime of their own.
                prime: if is_shared { 0 } else { limb.prime },
                flip: if limb.q.is_none() { 0x80 } else { 0 },
                ..Self::pack_args(product, limb)
            };
            let entry = match limb.cut {
                Cut::Digits { .. } => Entry::MatrixPackBytes,
                Cut::Remainders { .. } => Entry::MatrixPackRemainders,
            };
            self.pack_matrix(op, entry, [plane / 2, 1], &args)?;
        }
        Ok(LeftMatrix::new(*product, packed))
    }

    /// Numbers are cut in one way, whatever the columns, or in another.
    fn shares_left(&self, packed: &MatrixProduct, other: &MatrixProduct) -> bool {
        let cuts = |product| self.matrix_limbs(product).0.into_iter().map(|limb| limb.cut);
        packed.has_left_of(other) && cuts(packed).eq(cuts(other))
    }

    fn pack_right(&self, product: &MatrixProduct, src: &Buffer, first: usize) -> Result<RightMatrix<Buffer>> {
        let op = "pack_right";
        product.check_words(src.words(), first, product.right_words())?;
        let (limbs, _, words) = self.matrix_limbs(product);
        let mut packed = self.cuda.scratch_buffer(op, words)?;
        let has_gaps =
            |limb: &Limb<'_>| matches!(limb.cut, Cut::Digits { digits, .. } if !digits.is_power_of_two());
        if product.span().is_none() || limbs.iter().any(has_gaps) {
            // The sums of columns, and lines that belong to no number.
            self.cuda.stream.fill_zero(&mut packed, 0, words).map_err(failed(op))?;
        }
        let (inner, columns) = (product.inner(), product.columns());
        for (i, limb) in limbs.iter().enumerate() {
            let plane = limb.cut.right_plane(product);
            let mut args = PackArgs {
                src: at(src, first + i * inner * columns),
                out: at(&packed, limb.right),
                lines: columns as u64,
                line_step: 1,
                inner_step: columns as u64,
                plane: 8 * plane as u64,
                block_lines: RIGHT_LINES as u32,
                ..Self::pack_args(product, limb)
            };
            match limb.cut {
                Cut::Digits { digits, .. } => {
                    args.digits = digits as u32;
                    self.pack_matrix(op, Entry::MatrixPackDigits, [plane / 2 / digits, 1], &args)?;
                }
                Cut::Remainders { count } => {
                    let moduli = &MODULI[..count];
                    args.factors = padded((0..count).map(|plane| inverse_but(moduli, plane)));
                    self.pack_matrix(op, Entry::MatrixPackRemainders, [plane / 2, 1], &args)?;
                }
            }
            if limb.q.is_none() {
                args.out = at(&packed, limb.right + plane);
                self.pack_matrix(op, Entry::MatrixSumColumns, [columns, inner.div_ceil(COLUMN_PART)], &args)?;
            }
        }
        Ok(RightMatrix::new(*product, packed))
    }

    fn multiply_matrices(
        &self,
        left: LeftMatrix<&Buffer>,
        right: RightMatrix<&Buffer>,
        add: bool,
        first: usize,
        c: &mut Buffer,
    ) -> Result<()> {
        let product = left.product_with(&right)?;
        product.check_words(c.words(), first, product.result_words())?;
        if product.result_words() == 0 {
            return Ok(());
        }
        let (left, right) = (left.buf(), right.buf());
        let (limbs, left_words, right_words) = self.matrix_limbs(&product);
        assert!(left.words() >= left_words && right.words() >= right_words, "packed matrices are whole");
        for (i, limb) in limbs.iter().enumerate() {
            let c = at(c, first + i * product.rows() * product.columns());
            self.multiply_limb(&product, limb, [at(left, limb.left), at(right, limb.right)], add, c)?;
        }
        Ok(())
    }
}

impl CudaRing {
    /// One limb of a product, into the words from address `c` on.
    fn multiply_limb(
        &self,
        product: &MatrixProduct,
        limb: &Limb<'_>,
        [a, b]: [u64; 2],
        add: bool,
        c: u64,
    ) -> Result<()> {
        let op = "multiply_matrices";
        let (rows, columns) = (product.rows(), product.columns());
        let (cut, chunks) = (limb.cut, limb.cut.chunks(product.inner()));
        let pitch = columns.next_multiple_of(RIGHT_LINES);
        let planes = cut.planes();
        let (step, remainders) = match cut {
            Cut::Digits { .. } => (rows.min(MOST_ROWS), None),
            Cut::Remainders { .. } => {
                let most = (8 * REMAINDER_WORDS / (planes * pitch)).clamp(LEFT_LINES, MOST_ROWS);
                let step = rows.min(most / LEFT_LINES * LEFT_LINES);
                (step, Some(self.cuda.scratch_buffer(op, planes * step * pitch / 8)?))
            }
        };
        let mut args = ProductArgs {
            a,
            b,
            a_plane: 8 * cut.left_plane(product) as u64,
            b_plane: 8 * cut.right_plane(product) as u64,
            chunks: chunks as u64,
            c,
            prime: limb.prime,
            weight: limb.q.map_or(0, |q| q.pow(2, 32)),
            addends: 0,
            remainders: remainders.as_ref().map_or(0, Buffer::address),
            remainder_plane: (step * pitch) as u64,
            first: 0,
            count: 0,
            rows: 0,
            columns: columns as u32,
            digits: if let Cut::Digits { digits, .. } = cut { digits as u32 } else { 0 },
            add: 0,
            pitch: pitch as u32,
            planes: planes as u32,
            moduli: padded(MODULI[..planes].iter().copied()),
        };
        let (entry, tile_rows, most_blocks) = self.cuda.matrix_unit(columns * args.digits as usize);
        for segment in (0..chunks.max(1)).step_by(SEGMENT / CHUNK) {
            args.first = segment as u32;
            args.count = (chunks - segment).min(SEGMENT / CHUNK) as u32;
            args.add = u32::from(add || segment > 0);
            let has_addends = limb.q.is_none() && segment == 0;
            args.addends = if has_addends { b + 8 * cut.right_plane(product) as u64 } else { 0 };
            for row in (0..rows).step_by(step) {
                let height = step.min(rows - row);
                args.rows = height as u32;
                args.a = a + (row / LEFT_LINES * chunks * LEFT_LINES * CHUNK) as u64;
                args.c = c + (8 * row * columns) as u64;
                let tiles = height.div_ceil(tile_rows) * columns.div_ceil(cut.outputs());
                let shared = crate::kernels::ENTRIES[entry as usize].2;
                // Blocks take one tile after the other.
                let grid = [(tiles * planes).min(most_blocks) as u32, 1, 1];
                // SAFETY: both matrices were packed for this product, and the callers have checked
                // the result; the remainders have a plane of these rows for each modulus.
                unsafe { self.cuda.launch(op, entry, grid, THREADS, shared, &args)? };
                if let (Cut::Remainders { count }, Some(q)) = (cut, limb.q) {
                    self.combine_remainders(op, q, count, &args)?;
                }
            }
        }
        Ok(())
    }

    /// The numbers of the remainders that were just computed.
    fn combine_remainders(
        &self,
        op: &'static str,
        q: &Modulus,
        count: usize,
        of: &ProductArgs,
    ) -> Result<()> {
        let moduli = &MODULI[..count];
        let args = CombineArgs {
            remainders: of.remainders,
            remainder_plane: of.remainder_plane,
            c: of.c,
            prime: of.prime,
            minus_product: q.neg(product_but(q, moduli, None)),
            weights: padded((0..count).map(|plane| product_but(q, moduli, Some(plane)))),
            inverses: padded(moduli.iter().map(|&p| ((1 << 20) + p / 2) / p)),
            rows: of.rows,
            columns: of.columns,
            pitch: of.pitch,
            count: count as u32,
            add: of.add,
            unused: 0,
        };
        // A thread has four columns.
        let blocks = (of.rows as usize * of.columns.div_ceil(4) as usize).div_ceil(THREADS as usize) as u32;
        // SAFETY: the remainders and the result are those of the product before.
        unsafe { self.cuda.launch(op, Entry::MatrixCombine, [blocks, 1, 1], THREADS, 0, &args) }
    }
}

impl Cuda {
    /// The kernel for so many lines of digits (0: of remainders), the rows of its tiles, and the
    /// blocks that the device holds of it.
    fn matrix_unit(&self, lines: usize) -> (Entry, usize, usize) {
        let info = self.gpu().info();
        let (entry, rows, each) = match (info.compute_capability, lines) {
            ((9, 0), 1..=64) => (Entry::MatrixProduct90Lines64, 128, 3),
            ((9, 0), 65..=128) => (Entry::MatrixProduct90Lines128, 128, 2),
            ((9, 0), _) => (Entry::MatrixProduct90, 128, 1),
            ((8.., _), _) => (Entry::MatrixProduct80, 64, 2),
            _ => (Entry::MatrixProduct, 64, 1),
        };
        (entry, rows, each * info.multiprocessors as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use he_core::arith::ntt_primes_below;

    #[test]
    fn layout_is_that_of_the_kernels() {
        assert_eq!(
            [size_of::<ProductArgs>(), size_of::<PackArgs>(), size_of::<CombineArgs>()],
            [200, 256, 304]
        );
    }

    #[test]
    fn moduli_have_no_common_factors() {
        let factors = |p: u32| (2..=p).filter(move |f| p.is_multiple_of(*f));
        for (i, &p) in MODULI.iter().enumerate() {
            let others = MODULI[i + 1..].iter().flat_map(|&other| factors(other));
            assert!(others.clone().all(|factor| !p.is_multiple_of(factor)), "{p}");
            assert_eq!(inverse_but(&MODULI, i) * others_of(i) % p, 1, "{p}");
        }
    }

    fn others_of(i: usize) -> u32 {
        let p = MODULI[i];
        MODULI.iter().enumerate().filter(|&(j, _)| j != i).fold(1, |product, (_, &other)| product * other % p)
    }

    /// The moduli of the widest primes and the longest sums are among those that there are, and
    /// their product is beyond twice the range.
    #[test]
    fn moduli_cover_all_sums() {
        for bits in [20, 31, 50, 61] {
            let q = Modulus::new(ntt_primes_below(bits, 4, 1, &[]).unwrap()[0]).unwrap();
            for inner in [0, 1, 4096, SEGMENT] {
                let count = moduli_for(&q, inner);
                let covered: f64 = MODULI[..count].iter().map(|&p| f64::from(p).log2()).sum();
                let range = 1.0 + (inner.max(1) as f64).log2() + 2.0 * (f64::from(bits) - 1.0);
                assert!(covered > range + 0.13, "{bits} bits, {inner}: {count} moduli");
            }
        }
    }
}
