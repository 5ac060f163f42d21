//! Numbers whose bits lie side by side in slots.

use super::Arithmetic;
use super::counting::{self, Step};
use super::gates::{Bit, Entry, SlotGates};
use super::summation::Plan;
use crate::error::{Error, Result};
use std::sync::Arc;

/// Numbers side by side in the two rows of a plaintext's slots, with `stride` slots each, the
/// lowest bit first; the rest of a row is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordLayout {
    row: usize,
    stride: usize,
}

impl WordLayout {
    /// A layout of numbers of up to `stride` bits in this many slots.
    ///
    /// # Errors
    /// [`Error::Argument`] unless at least one fits a row of half of the slots.
    pub fn new(slots: usize, stride: usize) -> Result<Self> {
        let row = slots / 2;
        if stride == 0 || stride > row {
            return Err(Error::domain(
                "layout of words",
                format!("{stride} slots a number, rows have {row}"),
                "take a larger degree or fewer bits",
            ));
        }
        Ok(Self { row, stride })
    }

    /// The layout for sums of `count` numbers of `width` bits: as many slots as the sum has bits,
    /// and one more that stays zero and separates neighbours.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn for_sum(slots: usize, count: usize, width: usize) -> Result<Self> {
        let carries = count.checked_next_power_of_two().map_or(usize::BITS, usize::ilog2);
        Self::new(slots, width.saturating_add(carries as usize + 1))
    }

    /// The layout for comparisons of `width` bits: the next power of two.
    ///
    /// # Errors
    /// The same as for [`new`](Self::new).
    pub fn for_comparison(slots: usize, width: usize) -> Result<Self> {
        Self::new(slots, width.checked_next_power_of_two().unwrap_or(usize::MAX))
    }

    /// The slots per number.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The number of numbers that fit.
    pub fn capacity(&self) -> usize {
        2 * (self.row / self.stride)
    }

    /// The rotation steps of additions and sums.
    pub fn addition_steps(&self) -> Vec<i64> {
        (0..self.stride.next_power_of_two().ilog2()).map(|i| -(1 << i)).collect()
    }

    /// The rotation steps of comparisons.
    pub fn comparison_steps(&self) -> Vec<i64> {
        (0..self.stride.next_power_of_two().ilog2()).map(|i| 1 << i).collect()
    }

    fn place(&self, number: usize) -> usize {
        let in_row = self.row / self.stride;
        number / in_row * self.row + number % in_row * self.stride
    }

    /// The slots of numbers that are given by their bits, the lowest first.
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for more numbers than fit, or more bits than a number has slots.
    pub fn pack(&self, numbers: &[impl AsRef<[bool]>]) -> Result<Vec<u64>> {
        if numbers.len() > self.capacity() {
            return Err(Error::TooManyValues { found: numbers.len(), capacity: self.capacity() });
        }
        let mut slots = vec![0; 2 * self.row];
        for (i, bits) in numbers.iter().enumerate() {
            let (bits, at) = (bits.as_ref(), self.place(i));
            if bits.len() > self.stride {
                return Err(Error::TooManyValues { found: bits.len(), capacity: self.stride });
            }
            for (slot, &bit) in slots[at..].iter_mut().zip(bits) {
                *slot = u64::from(bit);
            }
        }
        Ok(slots)
    }

    /// The slots of every number; in the result of a comparison, the first is the answer.
    ///
    /// # Errors
    /// [`Error::TooManyValues`] for another number of slots.
    pub fn unpack<'a>(&self, slots: &'a [u64]) -> Result<Vec<&'a [u64]>> {
        if slots.len() != 2 * self.row {
            return Err(Error::TooManyValues { found: slots.len(), capacity: 2 * self.row });
        }
        Ok((0..self.capacity()).map(|i| &slots[self.place(i)..][..self.stride]).collect())
    }
}

/// The tables of functions of (x, y, z), bit 4x + 2y + z.
const PARITY: u8 = 0b1001_0110;
const MAJORITY: u8 = 0b1110_1000;

/// Arithmetic on words: vectors of slots with a [`WordLayout`].
#[derive(Debug)]
pub struct WordGates<A> {
    gates: SlotGates<A>,
    layout: WordLayout,
}

impl<A: Arithmetic> WordGates<A> {
    /// Makes the arithmetic on these gates.
    pub fn new(gates: SlotGates<A>, layout: WordLayout) -> Self {
        Self { gates, layout }
    }

    /// The gates, for operations bit by bit.
    pub fn gates(&self) -> &SlotGates<A> {
        &self.gates
    }

    /// The layout.
    pub fn layout(&self) -> WordLayout {
        self.layout
    }

    fn word(bit: &Bit<A::Batch>) -> Result<Entry<A::Batch>> {
        match bit {
            Bit::Vector { batch, index } => Ok(Entry { batch: Arc::clone(batch), index: *index }),
            Bit::Constant(value) => {
                Err(Error::argument("word", format!("the public bit {value} in all slots is none")))
            }
        }
    }

    /// A function of two words, bit by bit; bit 2a + b of the table is its value at (a, b). Its
    /// depth is 1, with at most one product. A function that is 1 at (0, 0) is also 1 in unused
    /// slots: such words may be compared, but not added.
    ///
    /// # Errors
    /// [`BudgetSpent`](Error::BudgetSpent); missing keys; device errors.
    pub fn bitwise(&self, table: u8, x: &Bit<A::Batch>, y: &Bit<A::Batch>) -> Result<Bit<A::Batch>> {
        let table = (0..8u8).fold(0, |all, i| all | (table >> (i >> 1) & 1) << i);
        let mut bits = self.gates.functions(&[(table, [x.clone(), y.clone(), Bit::Constant(false)])])?;
        bits.pop().ok_or(Error::BatchRange { start: 0, end: 1, batch: 0 })
    }

    /// x + y by parallel prefixes (Kogge, Stone, 1973), both below 2^(stride - 2): sums below
    /// 2^(stride - 1). With w = stride - 2: depth 2 + ceil(log2 w), one product for the first and
    /// the last level, and two for each level in between except the last of those, which takes one;
    /// as many rotations, plus that of the carries.
    ///
    /// The highest slot of a number is zero in both operands, so it neither makes nor passes on a
    /// carry, and no range that crosses into a neighbour sends one up. No masks are needed.
    ///
    /// # Errors
    /// [`BudgetSpent`](Error::BudgetSpent); missing keys; device errors.
    pub fn add(&self, x: &Bit<A::Batch>, y: &Bit<A::Batch>) -> Result<Bit<A::Batch>> {
        let gates = &self.gates;
        let (x, y) = (Self::word(x)?, Self::word(y)?);
        let mut generate = one(gates.products(&[[&x, &y]])?)?;
        let half = gates.linear(0, &[(1, &x), (1, &y), (-2, &generate)])?;
        let mut propagate = half.clone();
        // A carry comes from at most stride - 2 bits below.
        let width = self.layout.stride.saturating_sub(2);
        let mut step = 1;
        while step < width {
            let last = 2 * step >= width;
            let ranges: &[&Entry<A::Batch>] = if last { &[&generate] } else { &[&generate, &propagate] };
            let below = gates.rotations(ranges, -(step as i64))?;
            let pairs: Vec<_> = below.iter().map(|below| [below, &propagate]).collect();
            let mut products = gates.products(&pairs)?.into_iter();
            let carried = products.next().ok_or(NOTHING)?;
            generate = gates.linear(0, &[(1, &generate), (1, &carried)])?;
            if let Some(product) = products.next() {
                propagate = product;
            }
            step *= 2;
        }
        let carry = one(gates.rotations(&[&generate], -1)?)?;
        let both = one(gates.products(&[[&carry, &half]])?)?;
        Ok(gates.linear(0, &[(1, &half), (1, &carry), (-2, &both)])?.into())
    }

    /// Two words of the same sum: full adders that turn three words into two, each two products
    /// deep and staggered, so that depth grows as log(n) / log 1.28: 2 for three words, 7 for
    /// eight, 27 for 1024. There are n - 2 full adders, with two products and one rotation each.
    /// The sum must be below 2^(stride - 1).
    ///
    /// # Errors
    /// The same as for [`add`](Self::add).
    pub fn carry_save(&self, words: &[Bit<A::Batch>]) -> Result<Vec<Bit<A::Batch>>> {
        let plan = Plan::new(words.len());
        let mut inputs = words.iter().cloned();
        let mut pools: Vec<Vec<Bit<A::Batch>>> =
            plan.inputs().iter().map(|&count| inputs.by_ref().take(count).collect()).collect();
        for (depth, (&count, &wait)) in plan.adders().iter().zip(plan.waits()).enumerate().skip(2) {
            let mut functions = Vec::with_capacity(2 * count);
            for _ in 0..count {
                let mut take = |below: usize| pools[depth - below].pop().ok_or(NOTHING);
                let inputs = [take(2)?, take(2)?, take(1)?];
                functions.extend([(PARITY, inputs.clone()), (MAJORITY, inputs)]);
            }
            let results = self.gates.functions(&functions)?;
            let (mut sums, mut carries) = (Vec::with_capacity(count), Vec::with_capacity(count));
            for pair in results.chunks_exact(2) {
                sums.push(pair[0].clone());
                carries.push(Self::word(&pair[1])?);
            }
            let carries = self.gates.rotations(&carries.iter().collect::<Vec<_>>(), -1)?;
            pools[depth].extend(sums);
            pools[depth].extend(carries.into_iter().map(Bit::from));
            if wait {
                let waiting = pools[depth - 1].pop().ok_or(NOTHING)?;
                pools[depth].push(waiting);
            }
        }
        Ok(pools.into_iter().flatten().collect())
    }

    /// The sum of words: [`carry_save`](Self::carry_save), then [`add`](Self::add).
    ///
    /// # Errors
    /// The same as for [`add`](Self::add); [`Error::BatchRange`] for no words.
    pub fn sum(&self, words: &[Bit<A::Batch>]) -> Result<Bit<A::Batch>> {
        self.last(&self.carry_save(words)?)
    }

    /// Two words of the same sum by counting: the bits of a column, summed modulo t, are a number
    /// of 0 ... n, whose binary digits are polynomials of degree n, evaluated in all columns at
    /// once; digit i moves up by i slots. This is repeated until few words are left, for which
    /// [`carry_save`](Self::carry_save) is used. The depth is about log2(n) + 2 log2(log2 n) + 3,
    /// with about sqrt(n log n) products instead of 2n, and more products by constants. The sum
    /// must be below 2^(stride - 1).
    ///
    /// # Errors
    /// The same as for [`add`](Self::add); [`Error::Argument`] if t is not above the number of
    /// words.
    pub fn count_save(&self, words: &[Bit<A::Batch>]) -> Result<Vec<Bit<A::Batch>>> {
        let mut words = words.to_vec();
        while let Step::Count(count) = counting::next(words.len()) {
            let waiting = words.split_off(count);
            let counted = words.iter().map(Self::word).collect::<Result<Vec<_>>>()?;
            let mut digits = self.gates.binary_digits(&self.gates.total(counted)?, count)?;
            // Moves digit i by i slots: for each power of two, those digits that need it.
            let mut step = 1;
            while step < digits.len() {
                let moved: Vec<usize> = (0..digits.len()).filter(|i| i & step != 0).collect();
                let entries: Vec<_> = moved.iter().map(|&i| &digits[i]).collect();
                let rotated = self.gates.rotations(&entries, -(step as i64))?;
                moved.into_iter().zip(rotated).for_each(|(i, entry)| digits[i] = entry);
                step *= 2;
            }
            words = digits.into_iter().map(Bit::from).chain(waiting).collect();
        }
        self.carry_save(&words)
    }

    /// The sum of words: [`count_save`](Self::count_save), then [`add`](Self::add).
    ///
    /// # Errors
    /// The same as for [`count_save`](Self::count_save); [`Error::BatchRange`] for no words.
    pub fn sum_by_counting(&self, words: &[Bit<A::Batch>]) -> Result<Bit<A::Batch>> {
        self.last(&self.count_save(words)?)
    }

    fn last(&self, words: &[Bit<A::Batch>]) -> Result<Bit<A::Batch>> {
        match words {
            [] => Err(NOTHING),
            [x] => Ok(x.clone()),
            [x, y, ..] => self.add(x, y),
        }
    }

    /// x < y, the carry out of NOT x + y, in the first slot of each number, for a stride that is a
    /// power of two; other slots hold the same for the stride's bits from there on, cyclically over
    /// the row. The depth is 1 + log2 stride: a product, then a product and a rotation for each of
    /// (less, equal) per doubling of the bits.
    ///
    /// # Errors
    /// [`Error::Argument`] for another stride; [`BudgetSpent`](Error::BudgetSpent); missing keys;
    /// device errors.
    pub fn less_than(&self, x: &Bit<A::Batch>, y: &Bit<A::Batch>) -> Result<Bit<A::Batch>> {
        let gates = &self.gates;
        let (x, y) = (Self::word(x)?, Self::word(y)?);
        let both = one(gates.products(&[[&x, &y]])?)?;
        let mut less = gates.linear(0, &[(1, &y), (-1, &both)])?;
        let mut equal = gates.linear(1, &[(2, &both), (-1, &x), (-1, &y)])?;
        for step in self.doublings()? {
            let last = 2 * step == self.layout.stride;
            let ranges: &[&Entry<A::Batch>] = if last { &[&equal, &less] } else { &[&equal, &less, &equal] };
            // The result of the bits above: (equal, less).
            let above = gates.rotations(&ranges[..2], step as i64)?;
            let [above_equal, above_less] = above.as_slice() else { return Err(NOTHING) };
            let pairs: Vec<_> = ranges[1..].iter().map(|below| [above_equal, below]).collect();
            let mut products = gates.products(&pairs)?.into_iter();
            let product = products.next().ok_or(NOTHING)?;
            less = gates.linear(0, &[(1, above_less), (1, &product)])?;
            if let Some(product) = products.next() {
                equal = product;
            }
        }
        Ok(less.into())
    }

    /// x = y, likewise. The depth is 1 + log2 stride, with as many products.
    ///
    /// # Errors
    /// The same as for [`less_than`](Self::less_than).
    pub fn equal(&self, x: &Bit<A::Batch>, y: &Bit<A::Batch>) -> Result<Bit<A::Batch>> {
        let gates = &self.gates;
        let (x, y) = (Self::word(x)?, Self::word(y)?);
        let both = one(gates.products(&[[&x, &y]])?)?;
        let mut equal = gates.linear(1, &[(2, &both), (-1, &x), (-1, &y)])?;
        for step in self.doublings()? {
            let above = one(gates.rotations(&[&equal], step as i64)?)?;
            equal = one(gates.products(&[[&above, &equal]])?)?;
        }
        Ok(equal.into())
    }

    fn doublings(&self) -> Result<impl Iterator<Item = usize> + use<A>> {
        let stride = self.layout.stride;
        if !stride.is_power_of_two() {
            let why = format!("comparisons need a stride that is a power of two, not {stride}");
            return Err(Error::argument("layout of words", why));
        }
        Ok((0..stride.ilog2()).map(|i| 1 << i))
    }
}

const NOTHING: Error = Error::BatchRange { start: 0, end: 1, batch: 0 };

fn one<T>(entries: Vec<Entry<T>>) -> Result<Entry<T>> {
    entries.into_iter().next().ok_or(NOTHING)
}
