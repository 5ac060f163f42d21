//! Weighted sums of rotations.

use crate::constants::{Grid, ROW_THREADS};
use crate::kernels::{Entry, KEY_RUN, MOST_PAIR_PLACES, STEP_DIGITS, rotation_places};
use crate::key_form::{KeyForm, KeyLayout};
use crate::key_switch::Finish;
use crate::ring::CudaRing;
use bytemuck::{NoUninit, Pod, Zeroable};
use gpu::Buffer;
use he_core::Result;
use he_core::backend::{GiantStep, KeyBuf, KeySwitchShape, Rotation, RotationBlocks, Weight};
use he_core::ring::{RingSpec, Rows, Span};
use std::collections::BTreeMap;
use std::ops::Range;

/// The most rotations of one launch; more are added by further launches.
const MOST_ROTATIONS: usize = 16;

/// The most sums of one launch.
const MOST_SUMS: usize = 8;

/// A weight as the kernel takes it: the address of its words, each of which stands for 2^`log_run`
/// neighbours.
#[derive(Clone, Copy)]
struct Runs {
    address: u64,
    log_run: u32,
}

impl Runs {
    /// The rotation is not in the sum.
    const NONE: Self = Self { address: 0, log_run: 0 };
    /// The number one, which has no words.
    const ONE: Self = Self { address: 1, log_run: 0 };
}

/// A rotation as the kernel takes it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Term {
    digits: u64,
    key: u64,
    addend: [u64; 2],
    g: u32,
    lifted: u32,
    batch: u32,
    first: u32,
}

/// The place of a sum.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Target {
    sums: [u64; 2],
    batch: u32,
    first: u32,
}

#[repr(C)]
#[derive(Clone, Copy, NoUninit)]
struct Args {
    grid: Grid,
    digit_words: u64,
    key_words: u64,
    key_chain: u32,
    digits: u32,
    rotations: u32,
    targets: u32,
    fresh: u32,
    step_digits: u32,
    key_layout: KeyLayout,
    rotation: [Term; MOST_ROTATIONS],
    target: [Target; MOST_SUMS],
    weight: [[u64; MOST_ROTATIONS]; MOST_SUMS],
    log_run: [[u32; MOST_ROTATIONS]; MOST_SUMS],
    special: [u64; RingSpec::MAX_PRIMES],
}

/// Rotations by their index, and their weights.
type Weights = Vec<(usize, Runs)>;

/// The place of a weight.
enum Place {
    /// Constants from this word on, in what is uploaded.
    Constants(usize),
    /// A polynomial on the device.
    Poly(Runs),
}

const OP: &str = "rotate_and_sum";

/// The baby steps of some sums that are to be rotated in turn.
pub(crate) struct Chunk {
    /// The shape of their key switches: they are a batch.
    pub(crate) shape: KeySwitchShape,
    /// Both parts over Q P; the second is divided by P and decomposed.
    pub(crate) sums: [Buffer; 2],
    /// The giant steps that follow, by their index.
    giants: Range<usize>,
}

/// Sums of rotations, each a weighted sum of rotations, over Q P, in steps: between them the sums
/// are divided and decomposed, for which the devices of a group exchange what they have.
///
/// The baby steps of up to eight sums are one kernel, which reads digits, keys and weights once:
/// first those of the outputs without a rotation, then those of giant steps. The latter are a
/// batch: they are divided and decomposed together, and their inner products with keys are one more
/// kernel.
pub(crate) struct RotationSums<'a> {
    ring: &'a CudaRing,
    blocks: &'a RotationBlocks,
    /// The shape of the key switches of one group of the batch.
    group: KeySwitchShape,
    digit_words: usize,
    babies: Vec<Term>,
    /// The sums of each giant step, with the address of its key, and of the start of each output:
    /// the sums that are not rotated.
    turned: Vec<Giant>,
    starts: Vec<Weights>,
    total: [Buffer; 2],
    /// The starts and the giant steps that are done.
    done: [usize; 2],
    /// Constants of weights.
    _constants: Buffer,
}

/// A giant step.
struct Giant {
    weights: Weights,
    g: u32,
    key: u64,
    output: usize,
}

impl<'a> RotationSums<'a> {
    /// Everything is given with the limbs that the device has.
    pub(crate) fn new(
        ring: &'a CudaRing,
        shape: &KeySwitchShape,
        blocks: &'a RotationBlocks,
        c: [&Buffer; 2],
        digits: &Buffer,
        babies: &[Rotation<'_, Buffer>],
        giants: &[GiantStep<'_, Buffer>],
    ) -> Result<Self> {
        let (n, group) = (ring.n(), blocks.group(shape));
        let digit_words = ring.digit_words(shape);
        let chain = ring.own(Rows::new(Span::chain(shape.q), shape.batch));
        assert!(
            c.iter().all(|x| chain.count() * n <= x.words())
                && shape.digits.len() * digit_words <= digits.words(),
            "{OP}: an operand is too small"
        );
        let mut constants = Vec::new();
        let placed: Vec<Vec<(usize, Place)>> = giants
            .iter()
            .map(|giant| giant.terms.iter().map(|term| ring.placed(shape, term, &mut constants)).collect())
            .collect::<Result<_>>()?;
        let constants = ring.cuda.upload_words(OP, &constants)?;
        // A constant is a run of all words of a limb.
        let runs = |place: &Place| match *place {
            Place::Constants(at) => {
                Runs { address: constants.address() + 8 * at as u64, log_run: ring.log_n() }
            }
            Place::Poly(runs) => runs,
        };
        let weights = placed
            .iter()
            .map(|terms| -> Weights { terms.iter().map(|(baby, place)| (*baby, runs(place))).collect() });
        let babies = babies
            .iter()
            .zip(&blocks.of_baby)
            .map(|(baby, input)| Term {
                digits: digits.address(),
                key: ring.key_address(shape, baby),
                // Without a key, both parts of the ciphertext are rotated.
                addend: [c[0].address(), if baby.key.is_some() { 0 } else { c[1].address() }],
                g: ring.element(baby.g),
                lifted: 1,
                batch: shape.batch as u32,
                first: (input * group.batch) as u32,
            })
            .collect::<Vec<_>>();
        let mut starts = vec![Weights::new(); blocks.outputs];
        let mut turned = Vec::new();
        for ((giant, weights), &output) in giants.iter().zip(weights).zip(&blocks.of_giant) {
            let (g, key) = (ring.element(giant.rotation.g), ring.key_address(shape, &giant.rotation));
            match giant.rotation.key {
                Some(_) => turned.push(Giant { weights, g, key, output }),
                None => starts[output].extend(weights),
            }
        }
        let total = ring.pair_of(shape, blocks.outputs * group.batch)?;
        let (done, _constants) = ([0, 0], constants);
        Ok(Self { ring, blocks, group, digit_words, babies, turned, starts, total, done, _constants })
    }

    /// The place of an output in the total.
    fn place(&self, output: usize) -> Target {
        Target {
            sums: self.total.each_ref().map(Buffer::address),
            batch: (self.blocks.outputs * self.group.batch) as u32,
            first: (output * self.group.batch) as u32,
        }
    }

    /// The baby steps of the next sums, until some are to be rotated in turn; none when all are
    /// done. Every total starts before anything is added to it, even if nothing else is to be done.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            let [started, turned] = self.done;
            let starts = started..self.starts.len().min(started + MOST_SUMS);
            let giants = turned..self.turned.len().min(turned + MOST_SUMS - starts.len());
            if starts.is_empty() && giants.is_empty() {
                return Ok(None);
            }
            self.done = [starts.end, giants.end];
            let batch = giants.len() * self.group.batch;
            let sums = self.ring.pair_of(&self.group, batch)?;
            let entry = |i: usize| Target {
                sums: sums.each_ref().map(Buffer::address),
                batch: batch as u32,
                first: (i * self.group.batch) as u32,
            };
            let turned = self.turned[giants.clone()].iter().enumerate();
            let turned = turned.map(|(i, giant)| (entry(i), &giant.weights));
            let started = starts.map(|output| (self.place(output), &self.starts[output]));
            let targets: Vec<(Target, &Weights)> = turned.chain(started).collect();
            // SAFETY: the buffers are live and hold what the shape says, as `new`, `placed` and
            // `key_address` checked.
            unsafe { self.ring.sums(&self.group, self.digit_words, &self.babies, &targets, true)? };
            if !giants.is_empty() {
                let shape = KeySwitchShape { batch, ..self.group.clone() };
                return Ok(Some(Chunk { shape, sums, giants }));
            }
        }
    }

    /// Adds the rotations of sums, given the digits of their second parts divided by P.
    pub(crate) fn turn(&self, chunk: &Chunk, digits: &Buffer) -> Result<()> {
        let digit_words = self.ring.digit_words(&chunk.shape);
        assert!(chunk.shape.digits.len() * digit_words <= digits.words(), "{OP}: an operand is too small");
        let giants = &self.turned[chunk.giants.clone()];
        let step = |(i, giant): (usize, &Giant)| Term {
            digits: digits.address(),
            key: giant.key,
            addend: [chunk.sums[0].address(), 0],
            g: giant.g,
            lifted: 0,
            batch: chunk.shape.batch as u32,
            first: (i * self.group.batch) as u32,
        };
        let steps: Vec<Term> = giants.iter().enumerate().map(step).collect();
        let mut ones: BTreeMap<usize, Weights> = BTreeMap::new();
        for (i, giant) in giants.iter().enumerate() {
            ones.entry(giant.output).or_default().push((i, Runs::ONE));
        }
        let targets: Vec<(Target, &Weights)> =
            ones.iter().map(|(&output, ones)| (self.place(output), ones)).collect();
        // SAFETY: digits and sums were made for these giant steps; the keys are checked.
        unsafe { self.ring.sums(&self.group, digit_words, &steps, &targets, false) }
    }

    /// The total, when all steps are done.
    pub(crate) fn finish(self) -> [Buffer; 2] {
        self.total
    }
}

impl CudaRing {
    /// Sums of rotations, each a weighted sum of rotations, over Q P.
    pub(crate) fn rotations(
        &self,
        shape: &KeySwitchShape,
        blocks: &RotationBlocks,
        c: [&Buffer; 2],
        digits: &Buffer,
        babies: &[Rotation<'_, Buffer>],
        giants: &[GiantStep<'_, Buffer>],
    ) -> Result<[Buffer; 2]> {
        let mut sums = RotationSums::new(self, shape, blocks, c, digits, babies, giants)?;
        while let Some(chunk) = sums.next()? {
            let Chunk { shape, sums: [_, second], .. } = &chunk;
            let [quotient] = self.divide(OP, shape.span(), shape.q, shape.batch, [second], Finish::STORE)?;
            sums.turn(&chunk, &self.decompose_rows(shape, &quotient, true)?.buf)?;
        }
        Ok(sums.finish())
    }

    /// The own limbs of both parts of a batch over Q P.
    fn pair_of(&self, shape: &KeySwitchShape, batch: usize) -> Result<[Buffer; 2]> {
        let words = self.own(Rows::new(shape.span(), batch)).count() * self.n();
        Ok([self.cuda.scratch_buffer(OP, words)?, self.cuda.scratch_buffer(OP, words)?])
    }

    fn element(&self, g: u64) -> u32 {
        (g & (2 * self.n() as u64 - 1)) as u32
    }

    fn key_address(&self, shape: &KeySwitchShape, rotation: &Rotation<'_, Buffer>) -> u64 {
        let key = rotation.key.map(KeyBuf::buf);
        assert!(key.is_none_or(|key| self.holds_key(&shape.key(), key)), "{OP}: a key is too small");
        key.map_or(0, Buffer::address)
    }

    /// The rotation of a weight, and where the weight is; constants are added to those to upload.
    fn placed(
        &self,
        shape: &KeySwitchShape,
        (baby, weight): &(usize, Weight<'_, Buffer>),
        constants: &mut Vec<u64>,
    ) -> Result<(usize, Place)> {
        let limbs = self.share().span(shape.span()).limbs();
        weight.check(limbs, self.log_n(), Buffer::words)?;
        let place = match weight {
            Weight::Scalar(factors) => {
                constants.extend(&factors[..limbs]);
                Place::Constants(constants.len() - limbs)
            }
            Weight::Poly { words, log_run } => {
                Place::Poly(Runs { address: words.address(), log_run: *log_run })
            }
        };
        Ok((*baby, place))
    }

    /// The kernel of so many sums, and the entries of a batch that it computes together.
    fn sums_entry(&self, sums: usize, batch: usize) -> (Entry, usize) {
        use Entry::*;
        let (waiting, copying, pairs) = match sums {
            ..=1 => (RotationSums1, AsyncRotationSums1, Some(RotationPairSums1)),
            2 => (RotationSums2, AsyncRotationSums2, Some(RotationPairSums2)),
            3 => (RotationSums3, AsyncRotationSums3, Some(RotationPairSums3)),
            4 => (RotationSums4, AsyncRotationSums4, Some(RotationPairSums4)),
            _ => (RotationSums8, AsyncRotationSums8, None),
        };
        if !self.cuda.runs_kernels_80() {
            return (waiting, 1);
        }
        let has_memory = self.cuda.gpu().info().shared_memory >= MOST_PAIR_PLACES;
        match pairs.filter(|_| batch > 1 && self.key_form() == KeyForm::Packed && has_memory) {
            Some(pairs) => (pairs, 2),
            None => (copying, 1),
        }
    }

    /// Weighted sums of rotations, each to its target; added to what is there unless `fresh`. A
    /// rotation may have several weights in one sum.
    ///
    /// # Safety
    /// The addresses are live and hold what the shape says, digits of `digit_words` each; targets
    /// do not overlap. There are at most [`MOST_SUMS`] of them.
    unsafe fn sums(
        &self,
        shape: &KeySwitchShape,
        digit_words: usize,
        rotations: &[Term],
        targets: &[(Target, &Weights)],
        fresh: bool,
    ) -> Result<()> {
        // The weights by rotation, which appears once more for a second weight in one sum.
        let mut uses: Vec<(usize, [Runs; MOST_SUMS])> = Vec::new();
        for (t, (_, weights)) in targets.iter().enumerate() {
            for &(rotation, runs) in *weights {
                let free = uses.iter_mut().find(|(used, row)| *used == rotation && row[t].address == 0);
                match free {
                    Some((_, row)) => row[t] = runs,
                    None => {
                        let mut row = [Runs::NONE; MOST_SUMS];
                        row[t] = runs;
                        uses.push((rotation, row));
                    }
                }
            }
        }
        let rows = self.own(Rows::new(shape.span(), shape.batch));
        let grid = self.grid(rows);
        let special = self.switch_constants(shape).special;
        let (entry, together) = self.sums_entry(targets.len(), shape.batch);
        let mut target = [Target::zeroed(); MOST_SUMS];
        for (place, (given, _)) in target.iter_mut().zip(targets) {
            *place = *given;
        }
        let digits = shape.digits.len() as u32;
        let step_digits = digits.div_ceil(digits.div_ceil(STEP_DIGITS).max(1));
        let key_run = KEY_RUN[usize::from(self.key_form() == KeyForm::Packed)];
        let shared = rotation_places(step_digits, key_run, together as u32);
        let key_span = self.share().span(shape.key().span);
        // Without any rotation, one launch writes zeros.
        let chunks = uses.chunks(MOST_ROTATIONS).chain((fresh && uses.is_empty()).then_some(&[][..]));
        for (i, chunk) in chunks.enumerate() {
            let mut rotation = [Term::zeroed(); MOST_ROTATIONS];
            let mut weight = [[0; MOST_ROTATIONS]; MOST_SUMS];
            let mut log_run = [[0; MOST_ROTATIONS]; MOST_SUMS];
            for (r, (used, row)) in chunk.iter().enumerate() {
                rotation[r] = rotations[*used];
                for (sum, runs) in row.iter().enumerate() {
                    (weight[sum][r], log_run[sum][r]) = (runs.address, runs.log_run);
                }
            }
            let args = Args {
                grid,
                digit_words: digit_words as u64,
                key_words: self.key_words(key_span.limbs()) as u64,
                key_chain: key_span.chain_limbs() as u32,
                digits,
                rotations: chunk.len() as u32,
                targets: targets.len() as u32,
                fresh: u32::from(fresh && i == 0),
                step_digits,
                key_layout: self.key_layout(key_span),
                rotation,
                target,
                weight,
                log_run,
                special,
            };
            let entries = rows.span.limbs() * rows.batch.div_ceil(together);
            let blocks = (entries << grid.log_chunks) as u32;
            // SAFETY: guaranteed by the caller.
            unsafe { self.cuda.launch(OP, entry, [blocks, 1, 1], ROW_THREADS, shared, &args)? };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn layout_is_that_of_the_kernels() {
        assert_eq!((size_of::<Term>(), offset_of!(Term, g)), (48, 32));
        assert_eq!((size_of::<Target>(), offset_of!(Target, batch)), (24, 16));
        let offsets = [
            offset_of!(Args, key_chain),
            offset_of!(Args, fresh),
            offset_of!(Args, rotation),
            offset_of!(Args, target),
            offset_of!(Args, weight),
            offset_of!(Args, log_run),
            offset_of!(Args, special),
            size_of::<Args>(),
        ];
        assert_eq!(offsets, [48, 64, 96, 864, 1056, 2080, 2592, 3104]);
    }
}
