//! How the numbers of a product are cut, multiplied and put together.

#[cfg(target_arch = "aarch64")]
use super::neon;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::{avx2, avx512};
use crate::arith::Modulus;
use crate::backend::MatrixNumbers;
use crate::backend::cpu::kernels::Kernels;

/// The multiplier of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// Pieces of up to 32 bits, whose products of 64 bits are added up.
    Portable,
    /// The same, four at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// The same, eight at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// Whole residues below 2^52, the halves of whose products are added up.
    #[cfg(target_arch = "x86_64")]
    Fused,
    /// Pieces of residues, in a word each, whose products below 2^52 are added up.
    #[cfg(target_arch = "x86_64")]
    Split,
    /// Bytes, four of whose products are added to a sum at a time.
    #[cfg(target_arch = "x86_64")]
    Bytes,
    /// Pieces as those of portable code, two products at a time.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

/// A number in pieces of so many bits, from the lowest on; the last piece is the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pieces {
    pub(super) count: usize,
    pub(super) bits: u32,
}

impl Pieces {
    const fn new(count: usize, bits: u32) -> Self {
        Self { count, bits }
    }

    fn get(self, x: u64, piece: usize) -> u32 {
        ((x >> (self.bits * piece as u32)) & ((1 << self.bits) - 1)) as u32
    }
}

/// How one limb of a product is computed. Sums of products are exact in 64 bits, with a sign, over
/// [`depth`](Self::depth) steps of the inner size: a product of pieces is below 2^52 in magnitude,
/// and so is each half of a product of whole residues.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    unit: Unit,
    left: Pieces,
    right: Pieces,
    /// For the left matrix, whose bytes are signed or not.
    signed: bool,
    modulus: Option<Modulus>,
    /// 2^w modulo q for each plane of sums but the first, whose w is 0.
    weights: [u64; 5],
}

/// The most planes of sums.
const PLANES: usize = 6;

impl Plan {
    pub(super) fn new(kernels: Kernels, numbers: MatrixNumbers, modulus: Option<Modulus>) -> Self {
        let residues = matches!(numbers, MatrixNumbers::Residues(_));
        let bits = modulus.map_or(32, |q| q.bits());
        let unit = match kernels {
            Kernels::Portable => Unit::Portable,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx2(_) => Unit::Avx2,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) if residues && bits <= 52 => Unit::Fused,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) if residues => Unit::Split,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) if !residues && avx512::has_bytes() => Unit::Bytes,
            #[cfg(target_arch = "x86_64")]
            Kernels::Avx512(_) => Unit::Avx512,
            #[cfg(target_arch = "aarch64")]
            Kernels::Neon(_) => Unit::Neon,
        };
        let (left, right) = match unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => (Pieces::new(1, 52), Pieces::new(1, 52)),
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => (Pieces::new(1, 8), Pieces::new(bits.div_ceil(8) as usize, 8)),
            _ if residues => match bits {
                0..=26 => (Pieces::new(1, 26), Pieces::new(1, 26)),
                27..=31 => (Pieces::new(1, 31), Pieces::new(2, 16)),
                32..=50 => (Pieces::new(2, 25), Pieces::new(2, 25)),
                _ => (Pieces::new(2, 31), Pieces::new(3, 21)),
            },
            // Words modulo 2^32 count as signed ones.
            _ => (
                Pieces::new(1, 32),
                if modulus.is_some_and(|_| bits > 31) { Pieces::new(2, 31) } else { Pieces::new(1, 32) },
            ),
        };
        let mut plan =
            Self { unit, left, right, signed: modulus.is_some(), modulus, weights: [0; PLANES - 1] };
        if let Some(q) = modulus {
            for plane in 1..plan.planes() {
                plan.weights[plane - 1] = q.pow(2, plan.shift(plane).into());
            }
        }
        plan
    }

    /// The rows of a tile.
    pub(super) const fn rows(&self) -> usize {
        match self.unit {
            Unit::Portable => portable::ROWS,
            #[cfg(target_arch = "x86_64")]
            Unit::Avx2 => avx2::ROWS,
            #[cfg(target_arch = "x86_64")]
            Unit::Avx512 => avx512::PIECE_ROWS,
            #[cfg(target_arch = "x86_64")]
            Unit::Split => avx512::SPLIT_ROWS,
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => avx512::FUSED_ROWS,
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => avx512::BYTE_ROWS,
            #[cfg(target_arch = "aarch64")]
            Unit::Neon => neon::ROWS,
        }
    }

    /// The columns of a tile.
    pub(super) const fn columns(&self) -> usize {
        match self.unit {
            Unit::Portable => portable::COLUMNS,
            #[cfg(target_arch = "x86_64")]
            Unit::Avx2 => avx2::COLUMNS,
            #[cfg(target_arch = "x86_64")]
            Unit::Avx512 => avx512::PIECE_COLUMNS,
            #[cfg(target_arch = "x86_64")]
            Unit::Split => avx512::SPLIT_COLUMNS,
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => avx512::FUSED_COLUMNS,
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => avx512::BYTE_COLUMNS,
            #[cfg(target_arch = "aarch64")]
            Unit::Neon => neon::COLUMNS,
        }
    }

    /// The steps of the inner size over which sums are exact; a multiple of four.
    pub(super) const fn depth(&self) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => 1 << 12,
            _ => 1 << 11,
        }
    }

    /// The planes of sums, of which each has a weight.
    pub(super) const fn planes(&self) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => 2,
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => self.right.count.div_ceil(4),
            _ => self.left.count * self.right.count,
        }
    }

    /// log2 of the weight of a plane.
    const fn shift(&self, plane: usize) -> u32 {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => 52 * plane as u32,
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => 32 * plane as u32,
            _ => {
                let (i, j) = (plane / self.right.count, plane % self.right.count);
                i as u32 * self.left.bits + j as u32 * self.right.bits
            }
        }
    }

    /// The words of a panel of the left matrix.
    pub(super) const fn left_panel(&self, inner: usize) -> usize {
        self.left_step() * self.steps(inner)
    }

    /// The words of a panel of the right matrix.
    pub(super) const fn right_panel(&self, inner: usize) -> usize {
        self.right_step() * self.steps(inner) * self.byte_planes()
    }

    /// The steps of the inner size as the unit makes them.
    const fn steps(&self, inner: usize) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => inner.div_ceil(4),
            _ => inner,
        }
    }

    /// The parts of a panel of the right matrix: one for each byte of its numbers.
    const fn byte_planes(&self) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => self.right.count,
            _ => 1,
        }
    }

    /// The words of a step of the left matrix.
    const fn left_step(&self) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused | Unit::Split => self.left.count * self.rows(),
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => self.rows() / 2,
            _ => self.left.count * self.rows() / 2,
        }
    }

    /// The words of a step of the right matrix, for one of its bytes.
    const fn right_step(&self) -> usize {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused | Unit::Split => self.right.count * self.columns(),
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => self.columns() / 2,
            _ => self.right.count * self.columns() / 2,
        }
    }

    /// A panel of `height` rows, of which `entry(row, k)` is a number; the rows that are missing
    /// are zero.
    pub(super) fn pack_left(
        &self,
        height: usize,
        inner: usize,
        entry: impl Fn(usize, usize) -> u64,
        out: &mut [u64],
    ) {
        let get = |r: usize, k: usize| if r < height && k < inner { entry(r, k) } else { 0 };
        self.pack(self.rows(), self.left, self.steps(inner), get, out);
    }

    /// A panel of `width` columns, of which `entry(k, column)` is a number, likewise.
    pub(super) fn pack_right(
        &self,
        width: usize,
        inner: usize,
        entry: impl Fn(usize, usize) -> u64,
        out: &mut [u64],
    ) {
        // Bytes are multiplied by bytes of the other signedness: words by signed digits.
        let bias = if self.byte_planes() > 1 && !self.signed { 0x8080_8080 } else { 0u32 };
        let get = |c: usize, k: usize| match (c < width && k < inner, bias) {
            (false, _) => 0,
            (true, 0) => entry(k, c),
            (true, bias) => u64::from((entry(k, c) as u32).wrapping_add(bias) ^ bias),
        };
        self.pack(self.columns(), self.right, self.steps(inner), get, out);
    }

    /// `get(i, k)` for i < `lanes`, in the order of the steps.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    fn pack(
        &self,
        lanes: usize,
        pieces: Pieces,
        steps: usize,
        get: impl Fn(usize, usize) -> u64,
        out: &mut [u64],
    ) {
        match self.unit {
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => {
                for (k, step) in out.chunks_exact_mut(lanes).enumerate() {
                    step.iter_mut().enumerate().for_each(|(i, word)| *word = get(i, k));
                }
            }
            #[cfg(target_arch = "x86_64")]
            Unit::Split => {
                for (k, step) in out.chunks_exact_mut(pieces.count * lanes).enumerate() {
                    for i in 0..lanes {
                        let x = get(i, k);
                        for piece in 0..pieces.count {
                            step[piece * lanes + i] = pieces.get(x, piece).into();
                        }
                    }
                }
            }
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => {
                for (step, pair) in (0..steps).flat_map(|step| (0..lanes / 2).map(move |pair| (step, pair))) {
                    let numbers: [u64; 8] = std::array::from_fn(|i| get(2 * pair + i / 4, 4 * step + i % 4));
                    for piece in 0..pieces.count {
                        let bytes = numbers.map(|x| (x >> (8 * piece)) as u8);
                        out[(piece * steps + step) * (lanes / 2) + pair] = u64::from_le_bytes(bytes);
                    }
                }
            }
            _ => {
                for (k, step) in out.chunks_exact_mut(pieces.count * lanes / 2).enumerate() {
                    for pair in 0..lanes / 2 {
                        let [x, y] = [get(2 * pair, k), get(2 * pair + 1, k)];
                        for piece in 0..pieces.count {
                            let [low, high] = [x, y].map(|x| u64::from(pieces.get(x, piece)));
                            step[piece * (lanes / 2) + pair] = low | high << 32;
                        }
                    }
                }
            }
        }
    }

    /// The sums of the products of a panel's steps from `start` on, `[plane][row][column]`.
    pub(super) fn multiply(
        &self,
        inner: usize,
        start: usize,
        depth: usize,
        left: &[u64],
        right: &[u64],
        sums: &mut [i64],
    ) {
        let (from, steps) = (self.steps(start), self.steps(depth));
        let a = &left[from * self.left_step()..][..steps * self.left_step()];
        let plane = self.steps(inner) * self.right_step();
        let part =
            |piece: usize| &right[piece * plane + from * self.right_step()..][..steps * self.right_step()];
        let counts = (self.left.count, self.right.count);
        match self.unit {
            Unit::Portable => portable::multiply(counts, a, part(0), sums),
            #[cfg(target_arch = "x86_64")]
            Unit::Avx2 => avx2::multiply(counts, a, part(0), sums),
            #[cfg(target_arch = "x86_64")]
            Unit::Avx512 => avx512::multiply_pieces(counts.1, a, part(0), sums),
            #[cfg(target_arch = "x86_64")]
            Unit::Split => avx512::multiply_split(a, part(0), sums),
            #[cfg(target_arch = "x86_64")]
            Unit::Fused => avx512::multiply_fused(a, part(0), sums),
            #[cfg(target_arch = "aarch64")]
            Unit::Neon => neon::multiply(counts, a, part(0), sums),
            #[cfg(target_arch = "x86_64")]
            Unit::Bytes => {
                sums.fill(0);
                let tile = self.rows() * self.columns();
                for piece in 0..self.right.count {
                    let sums = &mut sums[piece / 4 * tile..][..tile];
                    avx512::multiply_bytes(self.signed, a, part(piece), 8 * (piece % 4) as u32, sums);
                }
            }
        }
    }

    /// Row r of a tile, from its sums, to the result, or added to what is there.
    pub(super) fn combine(&self, sums: &[i64], r: usize, add: bool, c: &mut [u64]) {
        let (width, tile) = (self.columns(), self.rows() * self.columns());
        let row = &sums[r * width..];
        let Some(q) = &self.modulus else {
            for (c, &sum) in c.iter_mut().zip(row) {
                let old = if add { *c as u32 } else { 0 };
                *c = u64::from((sum as u32).wrapping_add(old));
            }
            return;
        };
        let weights = &self.weights[..self.planes() - 1];
        for (i, c) in c.iter_mut().enumerate() {
            // Below 2^63 + 5 2^(63 + 61).
            let mut sum = i128::from(row[i]);
            for (plane, &weight) in weights.iter().enumerate() {
                sum += i128::from(row[(plane + 1) * tile + i]) * i128::from(weight);
            }
            let sum = q.reduce_i128(sum);
            *c = if add { q.add(*c, sum) } else { sum };
        }
    }

    /// A number of the result that nothing is added to.
    pub(super) fn canonical(&self, x: u64) -> u64 {
        if self.modulus.is_some() { x } else { x & u64::from(u32::MAX) }
    }
}
