//! Transforms: the kernels for each degree, and the operations fused into them.

use crate::byte_conversion::{COLUMN_SOURCES, row_chunks};
use crate::constants::{Basis, Limbs};
use crate::kernels::{Entry, byte_tile, placed, tile};
use crate::ring::{CudaRing, Plan};
use bytemuck::{NoUninit, Zeroable};
use gpu::Branch;
use he_core::Result;
use he_core::backend::{Backend, PreparedRing};
use he_core::ring::Rows;

/// The treatment of the own limbs of a digit.
#[derive(Clone, Copy, NoUninit, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Own {
    /// There is no digit.
    Transform = 0,
    /// Nothing; they are read where they are.
    Skip = 1,
    /// They are copied from `acc[0]`.
    Copy = 2,
}

/// The words that an inverse transform loads from `src`, and those in `acc` that a forward
/// transform with `factors` subtracts from. Pairs are those of a product: the left one, then the
/// right one.
#[derive(Clone, Copy, NoUninit, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Operand {
    /// Each polynomial's words.
    Words = 1,
    /// The last part of the tensor product of two pairs, from degree 2^12 on.
    LastProduct = 2,
    /// All three parts, as far as [`CudaRing::takes_pairs`] says.
    Tensor = 3,
}

/// Conversions from at most this many sources are computed in the transform that follows; others
/// take a separate kernel, where each source is read once for all targets.
pub(crate) const FUSED_SOURCES: usize = 4;

/// The most polynomials that one launch transforms.
pub(crate) const MOST_PARTS: usize = 4;

/// The addresses of polynomials, as kernels take them.
pub(crate) fn parts<const N: usize>(addresses: [u64; N]) -> [u64; MOST_PARTS] {
    let mut all = [0; MOST_PARTS];
    all[..N].copy_from_slice(&addresses);
    all
}

/// Arguments of every transform kernel.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
pub(crate) struct Args {
    pub(crate) limbs: Limbs,
    pub(crate) log_n: u32,
    pub(crate) log_tiles: u32,
    pub(crate) own: Own,
    /// The limbs that the first two polynomials of a forward transform lack.
    pub(crate) absent: u32,
    pub(crate) primes: u64,
    pub(crate) bases: u64,
    pub(crate) src: [u64; MOST_PARTS],
    pub(crate) dst: [u64; MOST_PARTS],
    pub(crate) src_digit: u64,
    pub(crate) dst_digit: u64,
    /// The limbs to which an inverse transform stores the chain's first limb and the first special
    /// one, and the distance of the others.
    pub(crate) place: [u32; 2],
    pub(crate) spread: u32,
    pub(crate) galois: u32,
    /// For the host, which chooses the kernels by it.
    pub(crate) operand: Operand,
    pub(crate) factors: u64,
    pub(crate) addend: u64,
    pub(crate) convert: u32,
    /// The order of the rows in the second of two kernels: 1, or the last one first.
    pub(crate) order: u32,
    pub(crate) acc: [u64; MOST_PARTS],
    /// The scales of the first two polynomials, and of the others.
    pub(crate) scale: [u64; 2],
    pub(crate) scale_last: [u64; 2],
}

impl Args {
    /// A transform of rows with nothing fused into it.
    pub(crate) fn new(primes: u64, limbs: Limbs, log_n: u32) -> Self {
        Self {
            limbs,
            log_n,
            log_tiles: 0,
            own: Own::Transform,
            absent: 0,
            primes,
            bases: 0,
            src: [0; MOST_PARTS],
            dst: [0; MOST_PARTS],
            src_digit: 0,
            dst_digit: 0,
            factors: 0,
            addend: 0,
            acc: [0; MOST_PARTS],
            scale: [0; 2],
            scale_last: [0; 2],
            place: [0, limbs.split],
            spread: 1,
            galois: 1,
            convert: 0,
            order: 1,
            operand: Operand::Words,
        }
    }
}

/// The most strips of blocks of a launch of kernels for few rows.
const STRIPS: usize = 64;

/// The arguments of these kernels: also the limb of each strip, with the address of its roots.
/// Modulo a wide prime a strip has half of each tile, or all of it, as the kernel does.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct FineArgs {
    ntt: Args,
    strips: [u64; STRIPS],
}

/// The conversions that are in the arguments of a kernel.
const MOST_BASES: usize = 8;

/// The arguments of those of these kernels that convert: also the conversions of the digits, if
/// there are not more.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct ConvertArgs {
    fine: FineArgs,
    few: [Basis; MOST_BASES],
}

/// A limb with its roots, or the first (0) or second (1) half of its tiles, as kernels take it.
fn strip(limb: usize, half: u64, roots: u64, is_wide: bool) -> u64 {
    debug_assert!(limb < STRIPS && half < 2 && roots >> 57 == 0 && roots & 1 == 0);
    (limb as u64) << 58 | half << 57 | roots | u64::from(is_wide)
}

/// Whether tiles of wide primes, which so many of the limbs have, are halved in a launch of so many
/// blocks. A launch of few blocks takes as long as the longest of them, which halves shorten; one
/// of many takes as long as all, which are 10 to 13 % longer by halves where all primes are wide.
/// With two rounds of six blocks per multiprocessor, as many as a rotation at 2^14 has, halves
/// still gained on an H200, as they did with more where 4 of 18 limbs are wide.
fn halves_tiles(blocks: usize, multiprocessors: u32, [wide, limbs]: [usize; 2]) -> bool {
    blocks <= 12 * multiprocessors as usize || 4 * wide <= limbs
}

impl Args {
    /// The words that the values of a forward transform are subtracted from, if a difference is
    /// stored.
    fn subtracted_from(&self) -> Option<Operand> {
        (self.factors != 0).then_some(self.operand)
    }

    /// The same arguments for the limbs from this one on, of a transform that
    /// [`goes_in_pieces`](CudaRing::goes_in_pieces).
    fn starting_at(mut self, direction: Direction, limb: usize) -> Self {
        let skipped = limb as u32;
        let of_chain = skipped.min(self.limbs.split);
        let special = skipped - of_chain;
        self.limbs.start += of_chain;
        self.limbs.split -= of_chain;
        self.limbs.chain += special;
        let bytes = (u64::from(skipped * self.limbs.batch) << self.log_n) * 8;
        self.src = self.src.map(|address| address + bytes);
        match direction {
            Direction::Forward => self.dst = self.dst.map(|address| address + bytes),
            // Results have places of their own.
            Direction::Inverse => {
                self.place[0] += of_chain * self.spread;
                self.place[1] += special * self.spread;
            }
        }
        self
    }
}

/// The arguments of a kernel that converts, which finds the conversions in them or at `bases`.
fn convert_args(fine: FineArgs, conversions: &[Basis]) -> ConvertArgs {
    let (mut args, mut few) = (fine, [Basis::zeroed(); MOST_BASES]);
    if conversions.len() <= MOST_BASES {
        few[..conversions.len()].copy_from_slice(conversions);
        args.ntt.bases = 0;
    }
    ConvertArgs { fine: args, few }
}

/// The most other devices whose memory an inverse transform writes as well.
pub(crate) const MOST_OTHERS: usize = 3;

/// Arguments of an inverse transform whose results other devices get as well.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct SharedArgs {
    ntt: FineArgs,
    others: [[u64; MOST_PARTS]; MOST_OTHERS],
    count: u32,
    unused: u32,
}

/// The direction of a transform, which is the index of its roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward = 0,
    Inverse = 1,
}

/// The second kernel of an inverse transform, which is still to be launched.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rest {
    step: Step,
    extent: Extent,
    args: Args,
}

/// Rows, digits and polynomials of one launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) rows: Rows,
    pub(crate) digits: usize,
    pub(crate) parts: usize,
}

impl Extent {
    pub(crate) const fn rows(rows: Rows) -> Self {
        Self { rows, digits: 1, parts: 1 }
    }

    /// Batch entries and tiles; limbs; digits or polynomials.
    fn grid(self, log_tiles: u32) -> [u32; 3] {
        debug_assert!(self.digits == 1 || self.parts == 1, "digits are those of one polynomial");
        let Rows { span, batch, .. } = self.rows;
        [(batch as u32) << log_tiles, span.limbs() as u32, (self.digits * self.parts) as u32]
    }
}

/// The words that the cache of an H200 holds, for the kernels of a transform: up to there a second
/// kernel is as fast in one order of the rows as in the other.
const CACHED_WORDS: usize = 3 << 21;

/// Whether so many words are more than the cache holds, which is taken to grow with the
/// multiprocessors; an H200 has 132.
fn exceeds_cache(words: usize, multiprocessors: u32) -> bool {
    words * 132 > CACHED_WORDS * multiprocessors as usize
}

/// The order of the rows in a second kernel. If they are more than the cache holds, it finds there
/// what the first kernel wrote last.
fn order(exceeds_cache: bool) -> u32 {
    if exceeds_cache { u32::MAX } else { 1 }
}

/// The first kernel of a forward transform. At 2^16 there is one that reads whole lines, for rows
/// that come from memory since they are more than the cache holds.
fn reading_lines(first: Step, exceeds_cache: bool) -> Step {
    match first.entry {
        Entry::Columns16 if exceeds_cache => Step::large(Entry::ColumnsLines16),
        _ => first,
    }
}

/// The division of the limbs of a transform by two kernels with large tiles: into pieces, which
/// take turns among the branches of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pieces {
    count: usize,
    branches: usize,
}

/// The words of a piece of many. As many pieces as branches are on their way at a time, so that the
/// second kernel of a piece finds what the first one wrote in the cache.
const PIECE_WORDS: usize = 1 << 21;

/// The words of a piece of more than the cache holds.
const SMALL_PIECE_WORDS: usize = 1 << 20;

/// The words of which three pieces are faster than two: they are one or two rounds of blocks.
const THREE_PIECES: std::ops::Range<usize> = 3 << 19..3 << 20;

impl Pieces {
    /// Measured on an H200 at 2^14 ... 2^17. With several branches the blocks of one fill the
    /// device while the last ones of another end, and no kernel waits for all of the one before it.
    /// If there are more words than the cache holds, three branches have small pieces, unless limbs
    /// are larger than these.
    fn of(words: usize, limbs: usize, exceeds_cache: bool) -> Self {
        let (branches, piece) = if exceeds_cache && words <= SMALL_PIECE_WORDS * limbs {
            (3, SMALL_PIECE_WORDS)
        } else {
            (if THREE_PIECES.contains(&words) { 3 } else { 2 }, PIECE_WORDS)
        };
        let rounds = ((words + branches * piece / 2) / (branches * piece)).max(1);
        Self { count: (rounds * branches).min(limbs), branches }
    }

    /// The limbs of a piece.
    fn limbs(self, piece: usize, limbs: usize) -> std::ops::Range<usize> {
        limbs * piece / self.count..limbs * (piece + 1) / self.count
    }
}

/// log2 of the degrees for which there are several ways.
const FINE: std::ops::RangeInclusive<u32> = 12..=15;

/// Whether a transform of this many tiles of 2^12 points is spread over small tiles, as it is if
/// large ones do not fill the device, or fill it but for a last wave that is nearly empty. Measured
/// on an H200: 32 and 1250 tiles for its 132 multiprocessors.
fn is_fine(log_n: u32, tiles: usize, multiprocessors: u32) -> bool {
    let most = if log_n == 12 { 32 } else { 1250 };
    FINE.contains(&log_n) && tiles * 132 < most * multiprocessors as usize
}

/// log2 of the largest degree that one block transforms.
const LARGEST_SINGLE: u32 = 13;

/// A kernel of a transform, log2 of the points of a block's tile and of those of a thread, and the
/// shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    entry: Entry,
    log_tile: u32,
    log_points: u32,
    shared: u32,
}

/// log2 of the points of a thread where there are few rows.
const FINE_LOG_POINTS: u32 = 3;

impl Step {
    /// A whole transform: two points per thread below 2^12, sixteen from there on.
    fn single(entry: Entry, log_n: u32) -> Self {
        let (log_points, shared) = if log_n < 12 { (1, tile(log_n)) } else { (4, placed(log_n)) };
        Self { entry, log_tile: log_n, log_points, shared }
    }

    /// One of two kernels with eight points per thread.
    const fn fine(entry: Entry) -> Self {
        Self::tiled(entry, FINE_LOG_POINTS)
    }

    /// One of two with sixteen.
    const fn large(entry: Entry) -> Self {
        Self::tiled(entry, 4)
    }

    const fn tiled(entry: Entry, log_points: u32) -> Self {
        let log_tile = entry.log_tile();
        Self { entry, log_tile, log_points, shared: placed(log_tile) }
    }

    fn log_tiles(self, log_n: u32) -> u32 {
        log_n - self.log_tile
    }

    /// Whether it is for few rows.
    fn is_fine(self) -> bool {
        self.log_points == FINE_LOG_POINTS
    }

    fn threads(self) -> u32 {
        1 << (self.log_tile - self.log_points)
    }
}

/// The kernels of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Route {
    first: Step,
    second: Option<Step>,
}

/// The additional work of a forward transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fused {
    convert: bool,
    /// The operand of a difference that is stored.
    sub: Option<Operand>,
}

fn pick<const N: usize>(index: u32, entries: [Entry; N]) -> Entry {
    entries[(index as usize).min(N - 1)]
}

impl Route {
    fn single(entry: Entry, log_n: u32) -> Self {
        Self { first: Step::single(entry, log_n), second: None }
    }

    const fn fine(first: Entry, second: Entry) -> Self {
        Self { first: Step::fine(first), second: Some(Step::fine(second)) }
    }

    const fn large(first: Entry, second: Entry) -> Self {
        Self { first: Step::large(first), second: Some(Step::large(second)) }
    }

    fn forward(log_n: u32, fine: bool, fused: Fused) -> Self {
        use Entry::*;
        let Fused { convert, sub } = fused;
        if fine {
            let columns = if convert {
                [FineColumnsConvert12, FineColumnsConvert13, FineColumnsConvert14, FineColumnsConvert15]
            } else {
                [FineColumns12, FineColumns13, FineColumns14, FineColumns15]
            };
            return Self::fine(pick(log_n - 12, columns), rows_entry(true, sub));
        }
        if log_n <= LARGEST_SINGLE {
            let entry = match (log_n, convert, sub.is_some()) {
                (12, false, false) => Forward12,
                (12, true, false) => Convert12,
                (12, false, true) => ForwardSub12,
                (12, true, true) => ConvertSub12,
                (13, false, false) => Forward13,
                (13, true, false) => Convert13,
                (13, false, true) => ForwardSub13,
                (13, true, true) => ConvertSub13,
                _ => SmallForward,
            };
            return Self::single(entry, log_n);
        }
        let columns = if convert {
            [ColumnsConvert14, ColumnsConvert15, ColumnsConvert16, ColumnsConvert17]
        } else {
            [Columns14, Columns15, Columns16, Columns17]
        };
        Self::large(pick(log_n - 14, columns), rows_entry(false, sub))
    }

    fn inverse(log_n: u32, fine: bool) -> Self {
        use Entry::*;
        if fine {
            let columns =
                [FineColumnsInverse12, FineColumnsInverse13, FineColumnsInverse14, FineColumnsInverse15];
            return Self::fine(FineRowsInverse, pick(log_n - 12, columns));
        }
        match log_n {
            12 => Self::single(Inverse12, log_n),
            13 => Self::single(Inverse13, log_n),
            14..=17 => {
                let columns = [ColumnsInverse14, ColumnsInverse15, ColumnsInverse16, ColumnsInverse17];
                Self::large(RowsInverse, pick(log_n - 14, columns))
            }
            _ => Self::single(SmallInverse, log_n),
        }
    }
}

/// The second of two kernels of a forward transform.
fn rows_entry(fine: bool, sub: Option<Operand>) -> Entry {
    use Entry::*;
    match (fine, sub) {
        (true, None) => FineRows,
        (true, Some(Operand::Tensor)) => FineRowsSubTensor,
        (true, Some(_)) => FineRowsSub,
        (false, None) => Rows,
        (false, Some(Operand::Tensor)) => RowsSubTensor,
        (false, Some(_)) => RowsSub,
    }
}

/// The same kernel for few rows, which leaves the tiles of wide primes whole.
fn whole_entry(entry: Entry) -> Entry {
    use Entry::*;
    match entry {
        FineRows => FineWholeRows,
        FineRowsSub => FineWholeRowsSub,
        FineRowsSubTensor => FineWholeRowsSubTensor,
        FineRowsInverse => FineWholeRowsInverse,
        FineRowsInverseProduct => FineWholeRowsInverseProduct,
        FineRowsInverseTensor => FineWholeRowsInverseTensor,
        FineColumns12 => FineWholeColumns12,
        FineColumnsConvert12 => FineWholeColumnsConvert12,
        FineColumnsInverse12 => FineWholeColumnsInverse12,
        FineColumnsInverseShared12 => FineWholeColumnsInverseShared12,
        FineColumns13 => FineWholeColumns13,
        FineColumnsConvert13 => FineWholeColumnsConvert13,
        FineColumnsInverse13 => FineWholeColumnsInverse13,
        FineColumnsInverseShared13 => FineWholeColumnsInverseShared13,
        FineColumns14 => FineWholeColumns14,
        FineColumnsConvert14 => FineWholeColumnsConvert14,
        FineColumnsInverse14 => FineWholeColumnsInverse14,
        FineColumnsInverseShared14 => FineWholeColumnsInverseShared14,
        FineColumns15 => FineWholeColumns15,
        FineColumnsConvert15 => FineWholeColumnsConvert15,
        FineColumnsInverse15 => FineWholeColumnsInverse15,
        FineColumnsInverseShared15 => FineWholeColumnsInverseShared15,
        other => unreachable!("{other:?} is not for few rows"),
    }
}

/// The same kernel, which loads an operand.
fn loading_entry(entry: Entry, operand: Operand) -> Entry {
    use Entry::*;
    match (operand, entry) {
        (Operand::Words, entry) => entry,
        (Operand::LastProduct, FineRowsInverse) => FineRowsInverseProduct,
        (Operand::LastProduct, Inverse12) => InverseProduct12,
        (Operand::LastProduct, Inverse13) => InverseProduct13,
        (Operand::LastProduct, RowsInverse) => RowsInverseProduct,
        (Operand::Tensor, FineRowsInverse) => FineRowsInverseTensor,
        (Operand::Tensor, RowsInverse) => RowsInverseTensor,
        (operand, entry) => unreachable!("{entry:?} does not load {operand:?}"),
    }
}

/// The same kernel with further destinations.
fn shared_entry(entry: Entry) -> Entry {
    use Entry::*;
    match entry {
        FineColumnsInverse12 => FineColumnsInverseShared12,
        FineColumnsInverse13 => FineColumnsInverseShared13,
        FineColumnsInverse14 => FineColumnsInverseShared14,
        FineColumnsInverse15 => FineColumnsInverseShared15,
        ColumnsInverse14 => ColumnsInverseShared14,
        ColumnsInverse15 => ColumnsInverseShared15,
        ColumnsInverse16 => ColumnsInverseShared16,
        ColumnsInverse17 => ColumnsInverseShared17,
        other => unreachable!("{other:?} does not end an inverse transform"),
    }
}

/// The number of blocks among which the targets of a tile are divided: each loads the sources,
/// which takes about as long as two rounds of targets; as many waves of blocks as `places` hold at
/// once follow each other.
fn shares(blocks: u32, places: u32, rounds: u32) -> u32 {
    let time = |shares: u32| (blocks * shares).div_ceil(places) * (2 + rounds.div_ceil(shares));
    (1..=rounds.clamp(1, 8)).min_by_key(|&shares| time(shares)).unwrap_or(1)
}

impl Extent {
    fn words(self, log_n: u32) -> usize {
        (self.rows.count() * self.digits * self.parts) << log_n
    }

    /// Tiles of 2^12 points.
    fn tiles(self, log_n: u32) -> usize {
        self.words(log_n) >> 12
    }
}

/// A conversion and the first kernel of the transforms of its results.
#[repr(C)]
#[derive(Clone, Copy, NoUninit, Debug)]
struct ConvertColumnsArgs {
    ntt: Args,
    targets: u32,
    shares: u32,
}

/// log2 of the points of a tile of such a kernel, its threads, and the targets that a block
/// transforms together.
const CONVERT_LOG_TILE: u32 = 10;
const CONVERT_THREADS: u32 = 256;
const CONVERT_TARGETS: u32 = 4;

impl CudaRing {
    /// Whether a conversion and the transforms of its results begin with
    /// [`convert_columns`](Self::convert_columns): the device multiplies matrices of bytes and has
    /// shared memory for the sources, and the constants are there.
    pub(crate) fn converts_in_columns(&self, plan: &Plan, extent: Extent) -> bool {
        let log_n = self.log_n();
        // From one prime it takes a product at most where a transform loads it.
        let pays = plan.sources > FUSED_SOURCES || (plan.sources > 1 && self.has_columns(extent));
        let possible = plan.in_bytes && plan.sources <= COLUMN_SOURCES && (14..=16).contains(&log_n);
        let has_memory = || self.cuda.gpu().info().shared_memory >= byte_tile(log_n, COLUMN_SOURCES);
        possible && pays && self.cuda.runs_kernels_80() && has_memory()
    }

    /// The conversion of `args.src`, which holds the y of the source limbs, and the first kernel of
    /// the transforms of its results, to `args.dst`.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward); [`converts_in_columns`](Self::converts_in_columns) is true
    /// of the plan whose bases `args` names.
    pub(crate) unsafe fn convert_columns(
        &self,
        op: &'static str,
        args: &Args,
        plan: &Plan,
        extent: Extent,
    ) -> Result<()> {
        use Entry::*;
        let entries = [
            [Convert14Columns4, Convert14Columns9, Convert14Columns13],
            [Convert15Columns4, Convert15Columns9, Convert15Columns13],
            [Convert16Columns4, Convert16Columns9, Convert16Columns13],
        ];
        let entry = entries[(args.log_n - 14) as usize][row_chunks(plan.sources) - 1];
        let log_tiles = args.log_n - CONVERT_LOG_TILE;
        let targets = extent.rows.span.limbs() as u32;
        if targets == 0 {
            return Ok(());
        }
        let blocks = (args.limbs.batch << log_tiles) * extent.digits as u32 * extent.parts as u32;
        let shares =
            shares(blocks, 2 * self.cuda.gpu().info().multiprocessors, targets.div_ceil(CONVERT_TARGETS));
        let grid = [args.limbs.batch << log_tiles, extent.digits as u32, extent.parts as u32 * shares];
        let args = ConvertColumnsArgs { ntt: Args { log_tiles, ..*args }, targets, shares };
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.cuda.launch(op, entry, grid, CONVERT_THREADS, byte_tile(args.ntt.log_n, plan.sources), &args)
        }
    }

    /// The same as [`forward`](Self::forward) with `args.convert`, beginning with
    /// [`convert_columns`](Self::convert_columns).
    ///
    /// # Safety
    /// As for both.
    pub(crate) unsafe fn convert_forward(
        &self,
        op: &'static str,
        args: &Args,
        plan: &Plan,
        extent: Extent,
        between: [u64; MOST_PARTS],
    ) -> Result<()> {
        let columns = Args { dst: between, factors: 0, ..*args };
        // SAFETY: guaranteed by the caller.
        unsafe { self.convert_columns(op, &columns, plan, extent)? };
        let entry = rows_entry(false, args.subtracted_from());
        let args = Args { src: between, src_digit: args.dst_digit, convert: 0, ..*args };
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_step(op, Direction::Forward, Step::large(entry), extent, (&args, None)) }
    }

    /// One kernel of a transform, with the tiles that it has; with a plan, if it converts.
    ///
    /// # Safety
    /// The addresses in `args` are live and hold the rows of `extent`.
    unsafe fn launch_step(
        &self,
        op: &'static str,
        direction: Direction,
        step: Step,
        extent: Extent,
        (args, plan): (&Args, Option<&Plan>),
    ) -> Result<()> {
        debug_assert_eq!(args.convert != 0, plan.is_some(), "a plan converts");
        let args = Args { log_tiles: step.log_tiles(args.log_n), ..*args };
        let (grid, threads) = (extent.grid(args.log_tiles), step.threads());
        // SAFETY: guaranteed by the caller.
        unsafe {
            if step.is_fine() {
                let (entry, grid, args) = self.fine(direction, step.entry, extent, args);
                match plan {
                    Some(plan) => {
                        let args = convert_args(args, &plan.conversions);
                        self.cuda.launch(op, entry, grid, threads, step.shared, &args)
                    }
                    None => self.cuda.launch(op, entry, grid, threads, step.shared, &args),
                }
            } else {
                self.cuda.launch(op, step.entry, grid, threads, step.shared, &args)
            }
        }
    }

    /// A kernel for few rows, which halves the tiles of wide primes or the same one that does not,
    /// its grid and its arguments. Its strips are the limbs, then the second halves of wide ones if
    /// it does.
    fn fine(
        &self,
        direction: Direction,
        entry: Entry,
        extent: Extent,
        ntt: Args,
    ) -> (Entry, [u32; 3], FineArgs) {
        let span = extent.rows.span;
        let prime = |limb: usize| span.prime(limb, self.spec().q().len());
        let is_wide = |&limb: &usize| !self.is_short(prime(limb));
        let wide: Vec<usize> = (0..span.limbs()).filter(is_wide).collect();
        let most = span.limbs() + wide.len();
        let blocks = (most * extent.rows.batch * extent.digits * extent.parts) << ntt.log_tiles;
        let multiprocessors = self.cuda.gpu().info().multiprocessors;
        let halved = most <= STRIPS && halves_tiles(blocks, multiprocessors, [wide.len(), span.limbs()]);
        let seconds = wide.iter().filter(|_| halved).map(|&limb| (limb, 1));
        let (mut strips, mut count) = ([0; STRIPS], 0);
        let each = (0..span.limbs()).map(|limb| (limb, 0)).chain(seconds);
        for (place, (limb, half)) in strips.iter_mut().zip(each) {
            let roots = self.roots_address(prime(limb), direction as usize);
            *place = strip(limb, half, roots, is_wide(&limb));
            count += 1;
        }
        let [tiles, _, parts] = extent.grid(ntt.log_tiles);
        let entry = if halved { entry } else { whole_entry(entry) };
        (entry, [tiles, count, parts], FineArgs { ntt, strips })
    }

    /// Coefficients to values. With `args.convert`, `src` holds the y of the source limbs, and the
    /// plan is that of the conversion; with `args.factors`, (acc - value) factor is stored. A
    /// transform by two kernels passes through `between`, which is the destination unless a Galois
    /// element permutes it.
    ///
    /// # Safety
    /// The addresses in `args` and `between` are live and hold the rows of `extent`.
    pub(crate) unsafe fn forward(
        &self,
        op: &'static str,
        args: &Args,
        plan: Option<&Plan>,
        extent: Extent,
        between: [u64; MOST_PARTS],
    ) -> Result<()> {
        let fused = Fused { convert: args.convert != 0, sub: args.subtracted_from() };
        let route = Route::forward(args.log_n, self.is_fine(extent), fused);
        let Some(second) = route.second else {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.launch_step(op, Direction::Forward, route.first, extent, (args, plan)) };
        };
        let columns = Args { dst: between, factors: 0, ..*args };
        let exceeds_cache = self.exceeds_cache(extent.words(args.log_n));
        let order = order(exceeds_cache);
        let rows = Args { src: between, src_digit: args.dst_digit, convert: 0, order, ..*args };
        if self.goes_in_pieces(args, extent) {
            let first = reading_lines(route.first, exceeds_cache);
            let steps = [(first, columns), (second, rows)];
            // SAFETY: guaranteed by the caller.
            return unsafe { self.launch_pieces(op, Direction::Forward, steps, extent) };
        }
        // SAFETY: guaranteed by the caller.
        unsafe {
            self.launch_step(op, Direction::Forward, route.first, extent, (&columns, plan))?;
            self.launch_step(op, Direction::Forward, second, extent, (&rows, None))
        }
    }

    /// Whether a transform is divided into pieces of its limbs: it takes two kernels with large
    /// tiles, nothing is fused into it that depends on the limb, and its results are not those of
    /// several devices.
    fn goes_in_pieces(&self, args: &Args, extent: Extent) -> bool {
        let fused = args.convert != 0 || args.factors != 0 || args.own != Own::Transform || args.absent != 0;
        !fused && args.spread == 1 && self.has_columns(extent) && extent.rows.span.limbs() > 1
    }

    /// Both kernels of a transform, piece by piece.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward) or [`inverse`](Self::inverse);
    /// [`goes_in_pieces`](Self::goes_in_pieces) is true.
    unsafe fn launch_pieces(
        &self,
        op: &'static str,
        direction: Direction,
        steps: [(Step, Args); 2],
        extent: Extent,
    ) -> Result<()> {
        let (limbs, words) = (extent.rows.span.limbs(), extent.words(self.log_n()));
        let pieces = Pieces::of(words, limbs, self.exceeds_cache(words));
        let launch = |branch: Branch, piece: usize, (step, args): (Step, Args)| {
            let limbs = pieces.limbs(piece, limbs);
            let log_tiles = step.log_tiles(args.log_n);
            let order = order(self.exceeds_cache(words / pieces.count));
            let args = Args { log_tiles, order, ..args.starting_at(direction, limbs.start) };
            let [tiles, _, parts] = extent.grid(log_tiles);
            let grid = [tiles, limbs.len() as u32, parts];
            // SAFETY: guaranteed by the caller; pieces have no rows in common, and nothing is
            // allocated meanwhile.
            unsafe {
                self.cuda.launch_in(Some(branch), op, step.entry, grid, step.threads(), step.shared, &args)
            }
        };
        self.cuda.batched(|| {
            let branches = self.cuda.stream().fork(pieces.branches as u32);
            (0..pieces.count).zip(branches.into_iter().cycle()).try_for_each(|(piece, branch)| {
                steps.iter().try_for_each(|&step| launch(branch, piece, step))
            })
        })
    }

    /// Whether the transforms of this extent are two kernels with large tiles, the first of which
    /// [`forward_columns`](Self::forward_columns) does alone.
    pub(crate) fn has_columns(&self, extent: Extent) -> bool {
        self.log_n() > LARGEST_SINGLE && !self.is_fine(extent)
    }

    /// Whether inverse transforms load, and forward ones subtract from, a tensor product of two
    /// pairs that has not been computed.
    pub(crate) fn takes_pairs(&self, extent: Extent) -> bool {
        self.log_n() > LARGEST_SINGLE || self.is_fine(extent)
    }

    fn exceeds_cache(&self, words: usize) -> bool {
        exceeds_cache(words, self.cuda.gpu().info().multiprocessors)
    }

    fn is_fine(&self, extent: Extent) -> bool {
        let tiles = extent.tiles(self.log_n());
        is_fine(self.log_n(), tiles, self.cuda.gpu().info().multiprocessors)
            && extent.rows.span.limbs() <= STRIPS
    }

    /// The first kernel of [`forward`](Self::forward), to `args.dst`; the low eight bits of the
    /// index remain to be transformed.
    ///
    /// # Safety
    /// As for [`forward`](Self::forward); [`has_columns`](Self::has_columns) is true.
    pub(crate) unsafe fn forward_columns(
        &self,
        op: &'static str,
        args: &Args,
        plan: Option<&Plan>,
        extent: Extent,
    ) -> Result<()> {
        let fused = Fused { convert: args.convert != 0, sub: None };
        let route = Route::forward(args.log_n, self.is_fine(extent), fused);
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_step(op, Direction::Forward, route.first, extent, (args, plan)) }
    }

    /// Values to coefficients, times `args.scale`.
    ///
    /// # Safety
    /// The addresses in `args` are live and hold the rows of `extent`.
    pub(crate) unsafe fn inverse(&self, op: &'static str, args: &Args, extent: Extent) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.begin_inverse(op, args, extent)? {
                Some(rest) => self.end_inverse(op, &rest),
                None => Ok(()),
            }
        }
    }

    /// The first kernel of [`inverse`](Self::inverse), and the second one, if there is one; all of
    /// it if it is divided into pieces, as it is not where several devices store results together.
    ///
    /// # Safety
    /// As for [`inverse`](Self::inverse).
    pub(crate) unsafe fn begin_inverse(
        &self,
        op: &'static str,
        args: &Args,
        extent: Extent,
    ) -> Result<Option<Rest>> {
        let mut route = Route::inverse(args.log_n, self.is_fine(extent));
        route.first.entry = loading_entry(route.first.entry, args.operand);
        let last = Args { order: order(self.exceeds_cache(extent.words(args.log_n))), ..*args };
        if let Some(second) = route.second
            && self.goes_in_pieces(args, extent)
        {
            let steps = [(route.first, *args), (second, last)];
            // SAFETY: guaranteed by the caller.
            return unsafe { self.launch_pieces(op, Direction::Inverse, steps, extent) }.map(|()| None);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_step(op, Direction::Inverse, route.first, extent, (args, None))? };
        Ok(route.second.map(|step| Rest { step, extent, args: last }))
    }

    /// The second kernel.
    ///
    /// # Safety
    /// The arguments of the first one are still live.
    pub(crate) unsafe fn end_inverse(&self, op: &'static str, rest: &Rest) -> Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.launch_step(op, Direction::Inverse, rest.step, rest.extent, (&rest.args, None)) }
    }

    /// The second kernel, which stores its results in the same places of other destinations as
    /// well.
    ///
    /// # Safety
    /// The same; the other destinations are live and as large as the first, kernels of this device
    /// may write to them, and this stream is ordered with theirs.
    pub(crate) unsafe fn end_inverse_shared(
        &self,
        op: &'static str,
        rest: &Rest,
        others: &[[u64; MOST_PARTS]],
    ) -> Result<()> {
        let &Rest { step, extent, args: ntt } = rest;
        let log_tiles = step.log_tiles(ntt.log_n);
        let ntt = Args { log_tiles, ..ntt };
        let entry = shared_entry(step.entry);
        let (entry, grid, ntt) = match step.is_fine() {
            true => self.fine(Direction::Inverse, entry, extent, ntt),
            false => (entry, extent.grid(log_tiles), FineArgs { ntt, strips: [0; STRIPS] }),
        };
        let mut args =
            SharedArgs { ntt, others: [[0; MOST_PARTS]; MOST_OTHERS], count: others.len() as u32, unused: 0 };
        args.others[..others.len()].copy_from_slice(others);
        // SAFETY: guaranteed by the caller.
        unsafe { self.cuda.launch(op, entry, grid, step.threads(), step.shared, &args) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn small_tiles_are_for_transforms_that_do_not_fill_the_device() {
        for (log_n, least) in [(12, 32), (13, 1250), (14, 1250), (15, 1250)] {
            assert!(is_fine(log_n, least - 1, 132) && !is_fine(log_n, least, 132), "{log_n}");
            assert!(!is_fine(log_n, least / 2, 66), "{log_n}");
        }
        assert!(!is_fine(11, 1, 132) && !is_fine(16, 1, 132));
    }

    #[test]
    fn pieces_are_all_limbs_once() {
        let of = |words, limbs| Pieces::of(words, limbs, exceeds_cache(words, 132));
        for (limbs, batch, log_n) in [(2, 1, 16), (7, 1, 14), (36, 1, 16), (5, 64, 17), (128, 1, 15)] {
            let pieces = of((limbs * batch) << log_n, limbs);
            let each = (0..pieces.count).map(|piece| pieces.limbs(piece, limbs));
            assert!(pieces.count > 1 && each.clone().all(|limbs| !limbs.is_empty()), "{pieces:?}");
            assert_eq!(each.flatten().collect::<Vec<_>>(), (0..limbs).collect::<Vec<_>>());
        }
        // At 2^16, where they were measured.
        for (limbs, count, branches) in [
            (8, 2, 2),
            (23, 2, 2),
            (24, 3, 3),
            (47, 3, 3),
            (48, 2, 2),
            (72, 2, 2),
            (96, 4, 2),
            (144, 9, 3),
            (256, 15, 3),
        ] {
            assert_eq!(of(limbs << 16, limbs), Pieces { count, branches }, "{limbs}");
        }
        // Limbs of a batch, which are not divided.
        let [large, small] = [Pieces { count: 8, branches: 2 }, Pieces { count: 15, branches: 3 }];
        assert_eq!([(8, 32), (32, 8)].map(|(limbs, batch)| of((limbs * batch) << 16, limbs)), [large, small]);
    }

    #[test]
    fn lines_are_read_whole_if_words_come_from_memory() {
        let [columns, lines] = [Entry::Columns16, Entry::ColumnsLines16].map(Step::large);
        assert_eq!([columns, lines].map(|step| step.log_tile), [11, 12]);
        let by =
            |rows: usize, multiprocessors| reading_lines(columns, exceeds_cache(rows << 16, multiprocessors));
        assert_eq!(by(96, 132), columns);
        assert_eq!(by(97, 132), lines);
        assert_eq!(by(97, 140), columns);
        let others = [Entry::Columns15, Entry::Columns17, Entry::ColumnsConvert16].map(Step::large);
        assert_eq!(others.map(|step| reading_lines(step, true)), others);
    }

    #[test]
    fn a_piece_has_the_primes_and_rows_of_its_limbs() {
        const CHAIN: u32 = 20;
        let limbs = Limbs { start: 3, split: 5, chain: CHAIN, batch: 2 };
        let whole = Args { src: [1 << 40; 4], dst: [1 << 41; 4], ..Args::new(0, limbs, 14) };
        // The kernels' `prime_of`, and the limb of `placed_row`.
        let prime = |a: &Args, limb: u32| match limb.checked_sub(a.limbs.split) {
            None => a.limbs.start + limb,
            Some(special) => a.limbs.chain + special,
        };
        let place = |a: &Args, limb: u32| match limb.checked_sub(a.limbs.split) {
            None => a.place[0] + limb * a.spread,
            Some(special) => a.place[1] + special * a.spread,
        };
        for from in 0..9 {
            for direction in [Direction::Forward, Direction::Inverse] {
                let piece = whole.starting_at(direction, from as usize);
                for limb in from..9 {
                    assert_eq!(prime(&piece, limb - from), prime(&whole, limb), "{from} {limb}");
                }
                let bytes = (u64::from(from) * 2 * 8) << 14;
                assert_eq!(piece.src, [(1 << 40) + bytes; 4]);
                let dst = 1 << 41;
                match direction {
                    Direction::Forward => assert_eq!(piece.dst, [dst + bytes; 4]),
                    Direction::Inverse => {
                        assert_eq!(piece.dst, [dst; 4]);
                        (from..9).for_each(|i| assert_eq!(place(&piece, i - from), place(&whole, i)));
                    }
                }
            }
        }
    }

    #[test]
    fn tiles_of_wide_primes_are_halved_where_they_or_all_blocks_are_few() {
        let all = [4, 4];
        assert!(halves_tiles(12 * 132, 132, all) && !halves_tiles(12 * 132 + 1, 132, all));
        assert!(!halves_tiles(12 * 132, 131, all));
        assert!(halves_tiles(4000, 132, [4, 18]) && !halves_tiles(4000, 132, [5, 18]));
    }

    /// The masks are those of `Strip` in kernels/include/ntt.cuh.
    #[test]
    fn strips_are_read_as_they_are_written() {
        let roots = 0x01a5_5a5a_a5a5_5a5a;
        for limb in [0, 1, STRIPS - 1] {
            for half in [0, 1] {
                for is_wide in [false, true] {
                    let bits = strip(limb, half, roots, is_wide);
                    assert_eq!(bits >> 58, limb as u64);
                    assert_eq!(bits >> 57 & 1, half);
                    assert_eq!(bits & 0x01ff_ffff_ffff_fffe, roots);
                    assert_eq!(bits & 1 == 1, is_wide);
                }
            }
        }
    }

    #[test]
    fn whole_tiles_have_the_same_size() {
        for (entry, whole) in
            [(Entry::FineRows, Entry::FineWholeRows), (Entry::FineColumns15, Entry::FineWholeColumns15)]
        {
            assert_eq!(whole_entry(entry), whole);
            assert_eq!(entry.log_tile(), whole.log_tile());
        }
    }

    #[test]
    fn layout_is_that_of_the_kernels() {
        let offsets = [
            offset_of!(Args, log_n),
            offset_of!(Args, absent),
            offset_of!(Args, bases),
            offset_of!(Args, src),
            offset_of!(Args, src_digit),
            offset_of!(Args, place),
            offset_of!(Args, galois),
            offset_of!(Args, operand),
            offset_of!(Args, addend),
            offset_of!(Args, order),
            offset_of!(Args, acc),
            offset_of!(Args, scale),
            size_of::<Args>(),
            offset_of!(ConvertColumnsArgs, targets),
            size_of::<ConvertColumnsArgs>(),
            offset_of!(FineArgs, strips),
            offset_of!(ConvertArgs, few),
            size_of::<ConvertArgs>(),
            offset_of!(SharedArgs, count),
            size_of::<SharedArgs>(),
        ];
        assert_eq!(
            offsets,
            [16, 28, 40, 48, 112, 128, 140, 144, 160, 172, 176, 208, 240, 240, 248, 240, 752, 1456, 848, 856]
        );
    }
}
