//! The places of the entries of a tensor in the slots of ciphertexts.

use crate::ckks::Complex64;
use crate::error::{Error, Result};

/// The most slots of a tensor, over all ciphertexts.
const MOST_SLOTS: usize = 1 << 30;

/// The places of the entries of a tensor (channels x height x width) in the slots of ciphertexts:
/// multiplexed packing.
///
/// A channel is a grid of slots, in which neighbouring pixels lie *gap* slots apart, down and
/// across. Between them there is room for other channels: *interleave* (at most the gap) many in
/// each direction share one grid, and further channels follow in further grids. With gap 1, this is
/// a tensor row by row, channel by channel. A layer with stride s multiplies the gap by s and fills
/// the gaps with its output channels, so that nothing has to move far and no level is spent on
/// compacting. Grids have a *pitch* (slots from one row to the next) and *plane* (slots from one
/// grid to the next) that layers keep, so that a filter moves every channel by the same few steps.
///
/// Positions continue over as many ciphertexts as needed. A tensor of one ciphertext takes as many
/// slots as it needs, rounded up to a power of two, and repeats with them as period. Slots that
/// hold no entry may hold anything.
///
/// With several *examples*, position p is E slots, p E + e for example e: every map of the tensor
/// computes on E examples at the cost of one.
///
/// A vector is a tensor of 1 x 1 channels.
///
/// Sources: Lee, Lee, Lee, Kim, Kim, No, Choi, *Low-Complexity Deep Convolutional Neural Networks
/// on Fully Homomorphic Encryption Using Multiplexed Parallel Convolutions*, ICML 2022; Ebel,
/// Garimella, Reagen, *Orion: A Fully Homomorphic Encryption Framework for Deep Learning*, ASPLOS
/// 2025.
///
/// ```
/// # use he_core::circuits::ckks::TensorLayout;
/// # fn main() -> he_core::Result<()> {
/// let image = TensorLayout::new([3, 32, 32], 1 << 12)?;
/// assert_eq!((image.slots(), image.ciphertexts()), (1 << 12, 1));
/// assert_eq!(image.position(2, 1, 5), Some(2 * 1024 + 32 + 5));
/// let slots = image.pack(&vec![0.5; 3 * 32 * 32])?;
/// assert_eq!(image.unpack(&slots)?, vec![0.5; 3 * 32 * 32]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorLayout {
    shape: [usize; 3],
    gap: [usize; 2],
    interleave: [usize; 2],
    pitch: usize,
    plane: usize,
    examples: usize,
    slots: usize,
    capacity: usize,
}

/// The parts of a layout beside its shape: how channels share grids, and how grids follow each
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorGrid {
    /// Slots between neighbouring pixels, in units of examples: down, counted in rows, and across.
    pub gap: [usize; 2],
    /// Channels that share the gaps of one grid, down and across: at most the gap.
    pub interleave: [usize; 2],
    /// Positions from one row of a grid to the next.
    pub pitch: usize,
    /// Positions from one grid to the next.
    pub plane: usize,
}

impl TensorLayout {
    /// A tensor of channels x height x width with gap 1, for ciphertexts of up to `capacity` slots
    /// (N / 2). Rows and grids are rounded up to powers of two where that does not take more
    /// ciphertexts, because it gives maps between such layouts fewer diagonals.
    ///
    /// # Errors
    /// [`Error::Argument`] for an empty tensor, one of more than 2^30 slots, or a capacity that is
    /// not a power of two.
    pub fn new(shape: [usize; 3], capacity: usize) -> Result<Self> {
        Self::batched(shape, 1, capacity)
    }

    /// A vector of `length` numbers, one after the other.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn vector(length: usize, capacity: usize) -> Result<Self> {
        Self::new([length, 1, 1], capacity)
    }

    /// The same as [`new`](Self::new) for several examples, a power of two of them.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new), and for another number of examples.
    pub fn batched(shape: [usize; 3], examples: usize, capacity: usize) -> Result<Self> {
        let [channels, height, width] = shape;
        let unit = [1, 1];
        let tight = TensorGrid {
            gap: unit,
            interleave: unit,
            pitch: width,
            plane: height.checked_mul(width).ok_or_else(|| too_large(shape))?,
        };
        let tight = Self::with_grid(shape, tight, examples, capacity)?;
        let plane = tight.plane.next_power_of_two();
        let rows = height.next_power_of_two() * width.next_power_of_two();
        let pitch = if rows == plane { width.next_power_of_two() } else { width };
        let round = TensorGrid { pitch, plane, ..tight.grid() };
        let fits = channels.checked_mul(plane).is_some_and(|positions| positions <= MOST_SLOTS);
        let round = if fits { Self::with_grid(shape, round, examples, capacity) } else { Ok(tight) };
        Ok(round.ok().filter(|round| round.ciphertexts() == tight.ciphertexts()).unwrap_or(tight))
    }

    /// The most examples that one ciphertext of `capacity` slots holds, a power of two; 1 for a
    /// tensor that fills it or does not fit.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn most_examples(shape: [usize; 3], capacity: usize) -> Result<usize> {
        let one = Self::new(shape, capacity)?;
        Ok(if one.ciphertexts() == 1 { capacity / one.slots } else { 1 })
    }

    /// With gaps, interleaved channels, pitch and plane as given.
    ///
    /// # Errors
    /// [`Error::Argument`] as for [`new`](Self::new); for a gap or an interleave of 0, an interleave
    /// above the gap, or grids that are wider than the pitch or larger than the plane.
    pub fn with_grid(shape: [usize; 3], grid: TensorGrid, examples: usize, capacity: usize) -> Result<Self> {
        let [channels, height, width] = shape;
        let TensorGrid { gap, interleave, pitch, plane } = grid;
        if shape.contains(&0) {
            return Err(Error::argument("tensor", format!("{channels} x {height} x {width} is empty")));
        }
        if !capacity.is_power_of_two() || capacity > MOST_SLOTS {
            return Err(Error::SlotCount { found: capacity, capacity: MOST_SLOTS });
        }
        if !examples.is_power_of_two() || examples > capacity {
            return Err(Error::domain(
                "number of examples",
                examples.to_string(),
                format!("powers of two up to {capacity} are possible"),
            ));
        }
        if (0..2).any(|axis| interleave[axis] == 0 || interleave[axis] > gap[axis]) {
            let why = format!("{interleave:?} channels in gaps of {gap:?}");
            return Err(Error::domain("layout", why, "interleave at least one, and at most the gap"));
        }
        // The last pixel of a grid, with the channels that it shares its gap with.
        let extent = |length: usize, axis: usize| {
            (length - 1).checked_mul(gap[axis]).and_then(|last| last.checked_add(interleave[axis]))
        };
        let (Some(rows), Some(across)) = (extent(height, 0), extent(width, 1)) else {
            return Err(too_large(shape));
        };
        let used = (rows - 1).checked_mul(pitch).and_then(|last| last.checked_add(across));
        if across > pitch || used.is_none_or(|used| used > plane) {
            let why = format!("grids of {rows} x {across} at a pitch of {pitch} in planes of {plane}");
            return Err(Error::domain("layout", why, "enlarge the pitch or the plane"));
        }
        let grids = channels.div_ceil(interleave[0].saturating_mul(interleave[1]));
        let total = grids.checked_mul(plane).and_then(|positions| positions.checked_mul(examples));
        let total = total.filter(|&total| total <= MOST_SLOTS).ok_or_else(|| too_large(shape))?;
        let slots = total.next_power_of_two().min(capacity);
        Ok(Self { shape, gap, interleave, pitch, plane, examples, slots, capacity })
    }

    /// The layouts to choose from for what windows over this tensor leave, a tensor of `shape`:
    /// results lie where their windows are, with the gaps that grow by the `stride` filled by
    /// channels, or with channels interleaved as they are here. Where padding makes the results
    /// larger than the grid, they get grids of their own.
    ///
    /// # Errors
    /// The same as for [`with_grid`](Self::with_grid).
    pub fn after_windows(&self, shape: [usize; 3], stride: [usize; 2]) -> Result<Vec<Self>> {
        let grid = self.grid();
        let gap = [0, 1].map(|axis| grid.gap[axis].saturating_mul(stride[axis]));
        // The part of a gap that fits behind the last pixel.
        let room = |length: usize, gap: usize, extent: usize| {
            let room = extent.checked_sub(length.saturating_sub(1).saturating_mul(gap))?;
            Some(room.min(gap)).filter(|&room| room > 0)
        };
        let rows = grid.plane / grid.pitch;
        let full = room(shape[1], gap[0], rows).zip(room(shape[2], gap[1], grid.pitch));
        let Some((down, across)) = full else {
            return Ok(vec![Self::batched(shape, self.examples, self.capacity)?]);
        };
        let of = |interleave: [usize; 2]| {
            let grid = TensorGrid { gap, interleave, ..grid };
            Self::with_grid(shape, grid, self.examples, self.capacity)
        };
        let [own_down, own_across] = self.interleave;
        let kept = self.interleave != [down, across] && own_down <= down && own_across <= across;
        std::iter::once([down, across]).chain(kept.then_some(self.interleave)).map(of).collect()
    }

    /// The same positions in vectors of this many slots, a power of two: more than needed, of which
    /// the rest may hold anything.
    ///
    /// # Errors
    /// [`Error::SlotCount`] for another number, fewer than needed, or more than the capacity.
    pub fn with_slots(mut self, slots: usize) -> Result<Self> {
        let needed = self.total().next_power_of_two().min(self.capacity);
        if !slots.is_power_of_two() || slots < needed || slots > self.capacity {
            return Err(Error::SlotCount { found: slots, capacity: self.capacity });
        }
        self.slots = slots;
        Ok(self)
    }

    /// Channels, height and width.
    pub fn shape(&self) -> [usize; 3] {
        self.shape
    }

    /// Entries of the tensor of one example.
    pub fn entries(&self) -> usize {
        self.shape.iter().product()
    }

    /// The channels.
    pub fn channels(&self) -> usize {
        self.shape[0]
    }

    /// The height.
    pub fn height(&self) -> usize {
        self.shape[1]
    }

    /// The width.
    pub fn width(&self) -> usize {
        self.shape[2]
    }

    /// The sharing of grids by channels, and the sequence of grids.
    pub fn grid(&self) -> TensorGrid {
        let Self { gap, interleave, pitch, plane, .. } = *self;
        TensorGrid { gap, interleave, pitch, plane }
    }

    /// Examples side by side in every ciphertext.
    pub fn examples(&self) -> usize {
        self.examples
    }

    /// Slots of each vector, a power of two: the period with which it repeats in a ciphertext.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The most slots that a vector may have.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Slots of all grids and examples.
    fn total(&self) -> usize {
        self.shape[0].div_ceil(self.interleave[0] * self.interleave[1]) * self.plane * self.examples
    }

    /// Ciphertexts that hold the tensor.
    pub fn ciphertexts(&self) -> usize {
        self.total().div_ceil(self.slots)
    }

    /// The slot of an entry, counted over all ciphertexts, for the first example; the others follow
    /// it one by one. `None` outside the tensor.
    pub fn position(&self, channel: usize, y: usize, x: usize) -> Option<usize> {
        let [channels, height, width] = self.shape;
        (channel < channels && y < height && x < width).then(|| self.place(channel, y, x) * self.examples)
    }

    /// The position of an entry inside the tensor, in units of examples.
    pub(super) fn place(&self, channel: usize, y: usize, x: usize) -> usize {
        let [down, across] = self.interleave;
        let (grid, shared) = (channel / (down * across), channel % (down * across));
        let row = y * self.gap[0] + shared / across;
        grid * self.plane + row * self.pitch + x * self.gap[1] + shared % across
    }

    /// The positions of all entries in units of examples: channel by channel, row by row.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let layout = *self;
        let [channels, height, width] = self.shape;
        (0..channels * height * width).map(move |entry| {
            let (row, x) = (entry / width, entry % width);
            layout.place(row / height, row % height, x)
        })
    }

    /// Whether two tensors lie alike, so that ciphertexts of one can be added to those of the
    /// other: whatever the slots, which are the larger number for the sum.
    ///
    /// # Errors
    /// [`Error::Argument`] for other shapes, grids, examples or numbers of ciphertexts: bring one
    /// to the layout of the other ([`BlockTransform::relayout`](super::BlockTransform::relayout)).
    pub fn sum(&self, other: &Self) -> Result<Self> {
        let slots = self.slots.max(other.slots);
        let (a, b) = (Self { slots, ..*self }, Self { slots, ..*other });
        if a != b || self.ciphertexts() != other.ciphertexts() {
            let why = format!("{:?} and {:?} lie in other slots", self.shape, other.shape);
            return Err(Error::domain("layout", why, "bring one to the layout of the other first"));
        }
        Ok(a)
    }

    /// The slots of all ciphertexts for the tensors of one or more examples, each channel by
    /// channel and row by row. Slots without an entry are zero.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of entries than those of 1 to
    /// [`examples`](Self::examples) tensors.
    pub fn pack(&self, data: &[f64]) -> Result<Vec<Vec<f64>>> {
        let entries = self.entries();
        if data.is_empty() || !data.len().is_multiple_of(entries) || data.len() / entries > self.examples {
            let found = data.len();
            let why = format!("{found} numbers for up to {} tensors of {entries}", self.examples);
            return Err(Error::argument("tensor", why));
        }
        let mut slots = vec![vec![0.0; self.slots]; self.ciphertexts()];
        for (example, data) in data.chunks_exact(entries).enumerate() {
            for (place, &value) in self.places().zip(data) {
                let slot = place * self.examples + example;
                slots[slot / self.slots][slot % self.slots] = value;
            }
        }
        Ok(slots)
    }

    /// The tensors of all examples, from the slots of all ciphertexts: the real parts.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of vectors, or vectors of fewer slots.
    pub fn unpack<T: Copy + Into<Complex64>>(&self, vectors: &[Vec<T>]) -> Result<Vec<f64>> {
        self.check_vectors(vectors)?;
        let of_example = |example: usize| {
            self.places().map(move |place| {
                let slot = place * self.examples + example;
                vectors[slot / self.slots][slot % self.slots].into().re
            })
        };
        Ok((0..self.examples).flat_map(of_example).collect())
    }

    /// Whether these can be the slots of all ciphertexts.
    pub(super) fn check_vectors<T>(&self, vectors: &[Vec<T>]) -> Result<()> {
        let short = vectors.iter().map(Vec::len).find(|&slots| slots < self.slots);
        if vectors.len() != self.ciphertexts() || short.is_some() {
            let found = short.unwrap_or(self.slots);
            let why = format!(
                "{} vectors of {found} slots for {} of {}",
                vectors.len(),
                self.ciphertexts(),
                self.slots
            );
            return Err(Error::argument("slots of a tensor", why));
        }
        Ok(())
    }
}

fn too_large([channels, height, width]: [usize; 3]) -> Error {
    let found = format!("{channels} x {height} x {width} numbers and their gaps");
    Error::domain("tensor", found, "at most 2^30 slots are possible")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circuits::testing::seeded;
    use rand::RngExt;
    use std::collections::BTreeSet;

    /// No two entries share a slot, and unpacking is the inverse of packing.
    #[test]
    fn entries_have_slots_of_their_own() {
        let mut rng = seeded();
        for _ in 0..200 {
            let shape = [0; 3].map(|_| rng.random_range(1..10));
            let gap = [0; 2].map(|_| rng.random_range(1..4));
            let interleave = gap.map(|gap| rng.random_range(1..=gap));
            let pitch = shape[2] * gap[1] + rng.random_range(0..3);
            let plane = shape[1] * gap[0] * pitch + rng.random_range(0..3);
            let grid = TensorGrid { gap, interleave, pitch, plane };
            let (examples, capacity) = (1 << rng.random_range(0..3), 1 << rng.random_range(3..12));
            let layout = TensorLayout::with_grid(shape, grid, examples, capacity).unwrap();
            let [c, h, w] = shape;
            let mut taken = BTreeSet::new();
            for (channel, y, x) in
                (0..c).flat_map(|c| (0..h).flat_map(move |y| (0..w).map(move |x| (c, y, x))))
            {
                let position = layout.position(channel, y, x).unwrap();
                assert!((position..position + examples).all(|slot| taken.insert(slot)), "{layout:?}");
                assert!(position + examples <= layout.slots() * layout.ciphertexts());
            }
            assert_eq!(
                layout.position(c, 0, 0).or(layout.position(0, h, 0)).or(layout.position(0, 0, w)),
                None
            );
            let data: Vec<f64> = (0..examples * c * h * w).map(|i| i as f64 + 1.0).collect();
            let slots = layout.pack(&data).unwrap();
            assert_eq!(slots.iter().flatten().filter(|&&x| x != 0.0).count(), data.len());
            assert_eq!(layout.unpack(&slots).unwrap(), data);
            let one = layout.pack(&data[..c * h * w]).unwrap();
            assert_eq!(layout.unpack(&one).unwrap()[..c * h * w], data[..c * h * w]);
            if layout.ciphertexts() == 1 && layout.slots() < capacity {
                let wider = layout.with_slots(layout.slots() * 2).unwrap();
                assert_eq!(wider.pack(&data).unwrap()[0][..layout.slots()], slots[0]);
                assert_eq!(layout.sum(&wider).unwrap(), wider);
            }
        }
    }

    #[test]
    fn rows_and_grids_are_rounded_where_that_is_free() {
        let digits = TensorLayout::new([1, 28, 28], 1 << 13).unwrap();
        assert_eq!((digits.grid().pitch, digits.grid().plane, digits.slots()), (32, 1024, 1024));
        assert_eq!(TensorLayout::most_examples([1, 28, 28], 1 << 13).unwrap(), 8);
        // Eight rounded grids fill one ciphertext; ten do not, and ten of 784 do.
        assert_eq!(TensorLayout::new([8, 28, 28], 1 << 13).unwrap().ciphertexts(), 1);
        let ten = TensorLayout::new([10, 28, 28], 1 << 13).unwrap();
        assert_eq!((ten.grid().plane, ten.ciphertexts()), (784, 1));
        let wide = TensorLayout::new([1, 20, 20], 1 << 13).unwrap();
        assert_eq!((wide.grid().pitch, wide.grid().plane), (20, 512));
        let vector = TensorLayout::vector(10, 64).unwrap();
        assert_eq!((vector.slots(), vector.position(7, 0, 0)), (16, Some(7)));
        let photograph = TensorLayout::new([3, 224, 224], 1 << 15).unwrap();
        assert_eq!(photograph.ciphertexts(), (3 * 224 * 224usize).div_ceil(1 << 15));
        assert_eq!(TensorLayout::most_examples([3, 224, 224], 1 << 15).unwrap(), 1);
    }

    #[test]
    fn impossible_layouts_are_refused() {
        let unit = TensorGrid { gap: [1, 1], interleave: [1, 1], pitch: 4, plane: 16 };
        let of = |shape, grid, examples, capacity| TensorLayout::with_grid(shape, grid, examples, capacity);
        assert!(of([2, 4, 4], unit, 1, 32).is_ok());
        for shape in [[0, 4, 4], [1, 5, 4], [1, 4, 5], [usize::MAX, 1, 1], [1, usize::MAX, 1]] {
            assert!(of(shape, unit, 1, 32).is_err(), "{shape:?}");
        }
        let huge = usize::MAX / 2;
        for shape in [[huge; 3], [huge, 1, 1], [1, huge, huge], [1 << 41, 1, 1]] {
            assert!(TensorLayout::new(shape, 1 << 15).is_err(), "{shape:?}");
        }
        for (gap, interleave) in [([1, 1], [1, 2]), ([0, 1], [0, 1]), ([2, 2], [0, 1])] {
            assert!(of([1, 1, 1], TensorGrid { gap, interleave, ..unit }, 1, 32).is_err());
        }
        assert!(of([1, 1, 1], unit, 3, 32).is_err() && of([1, 1, 1], unit, 64, 32).is_err());
        assert!(of([1, 1, 1], unit, 1, 0).is_err() && of([1, 1, 1], unit, 1, 48).is_err());
        let layout = of([2, 4, 4], unit, 2, 64).unwrap();
        for length in [0, 31, 33, 96] {
            assert!(layout.pack(&vec![0.0; length]).is_err(), "{length}");
        }
        assert!(layout.unpack(&[vec![0.0; 32]]).is_err() && layout.unpack::<f64>(&[]).is_err());
        assert!(layout.with_slots(32).is_err() && layout.with_slots(128).is_err());
        let other = of([2, 4, 4], TensorGrid { plane: 32, ..unit }, 2, 64).unwrap();
        assert!(matches!(layout.sum(&other), Err(Error::Argument { what: "layout", .. })));
    }
}
