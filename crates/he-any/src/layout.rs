//! The layout of the values of an array in the slots of a batch, and their public bounds: the
//! description that the Python package and SQL write beside a ciphertext.

mod bounds;
mod op;
mod plain;

pub use bounds::{Bounds, Excess, check, check_magnitude, figure};
pub use op::Op;

use serde::{Deserialize, Serialize};

/// Shapes that do not fit together, or that no ciphertext holds.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LayoutError {
    /// No values.
    #[error("{what}: an array of shape {} is empty", shown(.shape))]
    Empty {
        /// The data that were to be encrypted.
        what: String,
        /// Its shape.
        shape: Vec<usize>,
    },
    /// Rows that are longer than ciphertexts.
    #[error(
        "{what}: rows of {size} values for {slots} slots; a row fits one ciphertext, and a column (an array of \
         one dimension) takes as many as it needs"
    )]
    Row {
        /// The data that were to be encrypted.
        what: String,
        /// The values of a row.
        size: usize,
        /// The slots of a ciphertext.
        slots: usize,
    },
    /// More than two dimensions.
    #[error(
        "{what}: an array of {found} dimensions, where one or two are expected: a column, or a batch of rows"
    )]
    Dimensions {
        /// The data that were to be encrypted.
        what: String,
        /// The dimensions found.
        found: usize,
    },
    /// Two shapes.
    #[error("operands have the shapes {} and {}, which do not fit together", shown(.left), shown(.right))]
    Mismatch {
        /// The shape of the left operand.
        left: Vec<usize>,
        /// The shape of the right operand.
        right: Vec<usize>,
    },
    /// Axes that lie in slots on one side and in ciphertexts on the other.
    #[error(
        "operands of the shapes {} and {} meet along an axis that lies in the slots of one and over the \
         ciphertexts of the other; keep the axis of a sum with keepdims=True to broadcast it along its rows, or \
         choose how an array lies with encrypt(..., layout=\"rows\") or layout=\"columns\"",
        shown(.left), shown(.right)
    )]
    Axes {
        /// The shape of the left operand.
        left: Vec<usize>,
        /// The shape of the right operand.
        right: Vec<usize>,
    },
    /// Results that may be too large.
    #[error(
        "results may be as large as {}, and a ciphertext {} holds up to {}: {}, or state a closer bound of the \
         operands with x.bounded(bound)",
        figure(*.bound), at(.level, .integers), figure(*.capacity), remedy(.bound, .integers)
    )]
    Range {
        /// The greatest magnitude of a result.
        bound: f64,
        /// The greatest magnitude that a ciphertext holds.
        capacity: f64,
        /// The level of the result.
        level: usize,
        /// Whether these are integers.
        integers: bool,
    },
    /// A number that no layout has.
    #[error("a description of an array that cannot be: {why}")]
    Impossible {
        /// Why.
        why: &'static str,
    },
}

fn at(level: &usize, integers: &bool) -> String {
    if *integers { "of this plaintext modulus".to_owned() } else { format!("at level {level}") }
}

/// The parameters that would hold such values.
fn remedy(bound: &f64, integers: &bool) -> String {
    let bits = bound.max(1.0).log2().floor() + 1.0;
    match (integers, bits <= 30.0) {
        (true, _) => format!("choose parameters of bits={bits}"),
        (false, true) => format!("choose parameters of range_bits={bits}"),
        (false, false) => "scale the values down first".to_owned(),
    }
}

type Result<T> = std::result::Result<T, LayoutError>;

/// The place of an axis of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dim {
    /// Over the entries of a batch.
    Batch,
    /// In the slots of each vector.
    Slots,
    /// Nowhere: its length is one.
    One,
}

/// The layout of the values of an array in the slots of a batch of ciphertexts.
///
/// An array of one dimension is a column: it fills one entry of the batch after the other, the last
/// of which is padded. An array of two dimensions has a row in each entry, or a column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// The entries of an array with an axis over the batch.
    pub entries: Option<usize>,
    /// The values of the column, or of each entry.
    pub size: usize,
    /// Whether every slot holds the same value, one for the column or one per entry: the result of
    /// a sum.
    pub splat: bool,
    /// Whether the first slot of each entry holds the only value.
    #[serde(default, skip_serializing_if = "is_false")]
    pub point: bool,
    /// The value in the slots after the values, if that is known.
    pub padding: Option<f64>,
    /// The places of the axes, the last one last; of one dimension, the first is `None`.
    pub dims: [Option<Dim>; 2],
    /// Whether the values are complex.
    #[serde(default, skip_serializing_if = "is_false")]
    pub complex: bool,
    /// The bounds of all slots, the padding included, if they are known.
    pub bounds: Option<Bounds>,
}

fn is_false(x: &bool) -> bool {
    !x
}

/// How an array of two dimensions is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// The one that takes fewer ciphertexts by far, and rows otherwise.
    Auto,
    /// A row in each ciphertext.
    Rows,
    /// A column in each ciphertext.
    Columns,
}

/// An array of fewer rows is packed by rows unless it is told otherwise.
const LEAST_OF_COLUMNS: usize = 16;

/// A shape as Python writes it.
pub fn shown(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl Layout {
    /// Rows in the entries of a batch, or a column; `splat` if all slots hold the same. Nothing is
    /// known of bounds.
    pub fn new(entries: Option<usize>, size: usize, splat: bool, padding: Option<f64>) -> Self {
        let (batch, slots) = (entries.map(|_| Dim::Batch), (!splat).then_some(Dim::Slots));
        let dims = if slots.is_none() { [None, batch] } else { [batch, slots] };
        Self { entries, size, splat, point: false, padding, dims, complex: false, bounds: None }
    }

    /// The layout of an array that is encrypted into vectors of at most `slots` slots. Errors call
    /// it `what`.
    ///
    /// # Errors
    /// [`LayoutError`] for an empty array, rows that are too long, and more than two dimensions.
    pub fn of_array(shape: &[usize], slots: usize, packing: Packing, what: &str) -> Result<Self> {
        use Dim::{Batch, One, Slots};
        let fresh = |entries, size, dims| Self { dims, ..Self::new(entries, size, false, Some(0.0)) };
        let columns = |rows: usize, columns: usize| match packing {
            Packing::Auto => rows >= LEAST_OF_COLUMNS && rows >= 2 * columns && rows <= slots,
            Packing::Rows => false,
            Packing::Columns => true,
        };
        match *shape {
            [] => Ok(Self { point: true, ..fresh(None, 1, [None, None]) }),
            [0] | [0, _] | [_, 0] => Err(LayoutError::Empty { what: what.to_owned(), shape: shape.to_vec() }),
            [size] => Ok(fresh(None, size, [None, Some(Slots)])),
            [size, 1] if packing != Packing::Rows => Ok(fresh(None, size, [Some(Slots), Some(One)])),
            [1, size] if packing != Packing::Rows => Ok(fresh(None, size, [Some(One), Some(Slots)])),
            [rows, size] if columns(rows, size) => {
                if rows > slots {
                    return Err(LayoutError::Row { what: what.to_owned(), size: rows, slots });
                }
                Ok(fresh(Some(size), rows, [Some(Slots), Some(Batch)]))
            }
            [_, size] if size > slots => Err(LayoutError::Row { what: what.to_owned(), size, slots }),
            [entries, size] => Ok(fresh(Some(entries), size, [Some(Batch), Some(Slots)])),
            _ => Err(LayoutError::Dimensions { what: what.to_owned(), found: shape.len() }),
        }
    }

    /// The length of an axis.
    pub fn length(&self, dim: Dim) -> usize {
        match dim {
            Dim::Batch => self.entries.unwrap_or(1),
            Dim::Slots => self.size,
            Dim::One => 1,
        }
    }

    /// The shape of the array.
    pub fn shape(&self) -> Vec<usize> {
        self.dims.into_iter().flatten().map(|dim| self.length(dim)).collect()
    }

    /// The axes of the array, the last one last.
    pub fn axes(&self) -> Vec<Dim> {
        self.dims.into_iter().flatten().collect()
    }

    /// The same with these axes.
    pub fn with_axes(&self, axes: &[Dim]) -> Self {
        let last = axes.last().copied();
        let first = (axes.len() > 1).then(|| axes[0]);
        Self { dims: [first, last], ..*self }
    }

    /// Whether it has this axis.
    pub fn has(&self, dim: Dim) -> bool {
        self.dims.contains(&Some(dim))
    }

    /// The array with its axes exchanged, which moves nothing.
    pub fn transposed(&self) -> Self {
        match self.dims {
            [Some(first), Some(last)] => Self { dims: [Some(last), Some(first)], ..*self },
            _ => *self,
        }
    }

    /// Whether a column lies in each entry.
    pub fn is_transposed(&self) -> bool {
        self.dims == [Some(Dim::Slots), Some(Dim::Batch)]
    }

    /// The value of all slots of a batch.
    pub fn total(entries: Option<usize>) -> Self {
        Self::new(entries, 1, true, None)
    }

    /// The layout after the values along an axis have become one; `keep` keeps an axis of length
    /// one. In slots, every slot holds that value.
    pub fn reduced(&self, dim: Dim, keep: bool) -> Self {
        let axes: Vec<Dim> = self
            .axes()
            .into_iter()
            .filter_map(|at| if at != dim { Some(at) } else { keep.then_some(Dim::One) })
            .collect();
        let next = self.with_axes(&axes);
        match dim {
            Dim::Batch => Self { entries: None, ..next },
            Dim::Slots => Self { size: 1, splat: true, point: false, padding: None, ..next },
            Dim::One => next,
        }
    }

    /// Entries of the batch for vectors of `slots` slots.
    pub fn batch(&self, slots: usize) -> usize {
        self.entries.unwrap_or_else(|| if self.splat { 1 } else { self.size.div_ceil(slots).max(1) })
    }

    /// Whether slots are left over.
    pub fn is_padded(&self, slots: usize) -> bool {
        !self.splat && !self.size.is_multiple_of(slots)
    }

    /// Whether there is one value in the first slot of each entry, and something else after it.
    pub fn is_first(&self) -> bool {
        !self.splat && self.size == 1
    }

    /// The slots of vectors for it: as few as possible.
    pub fn slots(&self, capacity: usize) -> usize {
        self.size.next_power_of_two().min(capacity)
    }

    fn mismatch(&self, other: &Self) -> LayoutError {
        LayoutError::Mismatch { left: self.shape(), right: other.shape() }
    }

    /// The layout of `self op other` as NumPy broadcasts shapes, where `alike` says that both have
    /// vectors of one length.
    ///
    /// # Errors
    /// [`LayoutError::Mismatch`], and [`LayoutError::Axes`] where shapes fit but values do not lie
    /// side by side.
    pub fn combined(&self, other: &Self, op: Op, alike: bool) -> Result<Self> {
        let apart = || LayoutError::Axes { left: self.shape(), right: other.shape() };
        let mut dims = [None; 2];
        for (dim, pair) in dims.iter_mut().zip(self.dims.into_iter().zip(other.dims)) {
            *dim = match pair {
                (None, other) | (other, None) => other,
                (Some(a), Some(b)) => {
                    let (left, right) = (self.length(a), other.length(b));
                    if left != right && left != 1 && right != 1 {
                        return Err(self.mismatch(other));
                    }
                    match (a, b) {
                        (Dim::One, other) | (other, Dim::One) => Some(other),
                        (a, b) if a == b => Some(a),
                        _ if left == 1 => Some(b),
                        _ if right == 1 => Some(a),
                        _ => return Err(apart()),
                    }
                }
            };
        }
        if matches!(dims, [Some(a), Some(b)] if a == b && a != Dim::One) {
            return Err(apart());
        }
        let splat = self.splat && other.splat;
        let size = self.size.max(other.size);
        let entries = dims
            .contains(&Some(Dim::Batch))
            .then(|| self.entries.unwrap_or(1).max(other.entries.unwrap_or(1)));
        // A value of one slot stands for no others.
        let narrow = |of: &Self| !of.splat && of.size != size;
        if narrow(self) || narrow(other) {
            return Err(apart());
        }
        let padding = match (self.padding, other.padding) {
            (Some(a), Some(b)) if alike => Some(op.of(a, b)),
            (Some(0.0), _) | (_, Some(0.0)) if alike && op == Op::Mul => Some(0.0),
            _ => None,
        };
        let bounds = self.bounds.zip(other.bounds).map(|(a, b)| a.combined(b, op));
        let point = !splat && !dims.contains(&Some(Dim::Slots));
        let complex = self.complex || other.complex;
        let padding = padding.filter(|x| x.is_finite());
        Ok(Self { entries, size, splat, point, padding, dims, complex, bounds })
    }

    /// The layout of `self op value` in every slot.
    pub fn with_scalar(&self, value: f64, op: Op) -> Self {
        let padding = self.padding.map(|x| op.of(x, value)).filter(|x| x.is_finite());
        let bounds = self.bounds.map(|bounds| bounds.combined(Bounds::of(value), op));
        Self { padding, bounds, ..*self }
    }

    /// The layout with padding of which nothing is known.
    pub fn unknown(&self) -> Self {
        Self { padding: None, ..*self }
    }

    /// The same with other bounds.
    pub fn bounded(&self, bounds: Option<Bounds>) -> Self {
        Self { bounds, ..*self }
    }

    /// The values from `start` on, `size` of them, after a rotation by `start`.
    pub fn part(&self, size: usize) -> Self {
        Self { size, padding: None, ..*self }
    }

    /// The value that a rotation has brought to the first slot, without the axis of slots.
    pub fn first(&self) -> Self {
        let axes: Vec<Dim> = self.axes().into_iter().filter(|&dim| dim != Dim::Slots).collect();
        Self { size: 1, point: true, padding: None, ..*self }.with_axes(&axes)
    }

    /// The array with other axes of length one.
    ///
    /// # Errors
    /// [`LayoutError::Mismatch`] for a shape that differs in more than such axes.
    pub fn reshaped(&self, shape: &[usize]) -> Result<Self> {
        let error = || LayoutError::Mismatch { left: self.shape(), right: shape.to_vec() };
        let mut rest: Vec<Dim> = self.axes().into_iter().filter(|&dim| self.length(dim) > 1).collect();
        rest.reverse();
        let mut axes = Vec::new();
        for &length in shape {
            match length {
                1 => axes.push(Dim::One),
                length => {
                    let dim = rest.pop().ok_or_else(error)?;
                    if self.length(dim) != length {
                        return Err(error());
                    }
                    axes.push(dim);
                }
            }
        }
        if !rest.is_empty() || axes.len() > 2 {
            return Err(error());
        }
        let batch = axes.contains(&Dim::Batch);
        let point = self.point || (self.is_first() && !axes.contains(&Dim::Slots));
        let next = Self { entries: self.entries.filter(|_| batch), point, ..*self };
        Ok(next.with_axes(&axes))
    }

    /// The description that is written beside a ciphertext.
    pub fn to_json(&self) -> Vec<u8> {
        // Names and finite numbers are always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// A description of [`to_json`](Self::to_json) beside a batch of `batch` vectors of `slots`
    /// slots.
    ///
    /// # Errors
    /// [`LayoutError::Impossible`] for anything else.
    pub fn from_json(bytes: &[u8], batch: usize, slots: usize) -> Result<Self> {
        let impossible = |why| LayoutError::Impossible { why };
        let layout: Self = serde_json::from_slice(bytes).map_err(|_| impossible("its fields"))?;
        layout.checked(batch, slots)
    }

    /// The same, if a batch of `batch` vectors of `slots` slots can have it.
    ///
    /// # Errors
    /// [`LayoutError::Impossible`].
    pub fn checked(self, batch: usize, slots: usize) -> Result<Self> {
        let impossible = |why| Err(LayoutError::Impossible { why });
        let axes = self.axes();
        if self.dims[0].is_some() && self.dims[1].is_none() {
            return impossible("a first axis without a last one");
        }
        if axes.len() == 2 && axes[0] == axes[1] && axes[0] != Dim::One {
            return impossible("two axes in one place");
        }
        if self.entries.is_some() != self.has(Dim::Batch) || self.entries == Some(0) {
            return impossible("entries without an axis");
        }
        if self.size == 0 || (self.splat && (self.size != 1 || self.point || self.has(Dim::Slots))) {
            return impossible("the values of an entry");
        }
        if !self.splat && self.has(Dim::Slots) == self.point || (self.point && self.size != 1) {
            return impossible("values without an axis");
        }
        if self.entries.is_some() && self.size > slots || self.batch(slots) != batch {
            return impossible("a shape that the ciphertexts do not have");
        }
        if self.padding.is_some_and(|x| !x.is_finite())
            || self.bounds.is_some_and(|of| Bounds::new(of.low, of.high).is_none())
        {
            return impossible("numbers that are not finite");
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(shape: &[usize]) -> Layout {
        Layout::of_array(shape, 1024, Packing::Auto, "x").unwrap()
    }

    #[test]
    fn shapes_broadcast_as_those_of_numpy() {
        let rows = fresh(&[3, 5]);
        let per_row = rows.reduced(Dim::Slots, false);
        let kept = rows.reduced(Dim::Slots, true);
        let shape = |a: &Layout, b: &Layout| a.combined(b, Op::Add, true).map(|of| of.shape());
        assert_eq!((per_row.shape(), kept.shape()), (vec![3], vec![3, 1]));
        assert_eq!(shape(&rows, &kept), Ok(vec![3, 5]));
        assert_eq!(shape(&rows, &fresh(&[5])), Ok(vec![3, 5]));
        assert_eq!(shape(&Layout::total(None), &rows), Ok(vec![3, 5]));
        // The value of one slot has to be spread first.
        assert!(matches!(shape(&fresh(&[]), &rows), Err(LayoutError::Axes { .. })));
        assert_eq!(shape(&fresh(&[1]), &per_row), Ok(vec![3]));
        assert_eq!(shape(&kept, &fresh(&[5])), Ok(vec![3, 5]));
        assert_eq!(shape(&per_row, &per_row), Ok(vec![3]));
        // NumPy would subtract along the other axis, or cannot.
        assert!(matches!(shape(&per_row, &fresh(&[3])), Err(LayoutError::Axes { .. })));
        assert!(matches!(shape(&per_row, &kept), Err(LayoutError::Axes { .. })));
        assert!(matches!(shape(&rows, &per_row), Err(LayoutError::Mismatch { .. })));
        assert!(matches!(shape(&fresh(&[3, 3]), &per_row), Err(LayoutError::Axes { .. })));
        // By columns, the sums of columns broadcast as NumPy's do.
        let columns = Layout::of_array(&[569, 30], 1024, Packing::Auto, "x").unwrap();
        assert!(columns.is_transposed() && columns.entries == Some(30));
        assert_eq!(shape(&columns, &columns.reduced(Dim::Slots, false)), Ok(vec![569, 30]));
        assert_eq!(columns.transposed().shape(), [30, 569]);
    }

    #[test]
    fn descriptions_come_back_and_impossible_ones_are_refused() {
        for layout in [
            fresh(&[]),
            fresh(&[1]),
            fresh(&[7]),
            fresh(&[3, 5]),
            fresh(&[100, 3]),
            fresh(&[3, 5]).reduced(Dim::Slots, true),
            fresh(&[3, 5]).first(),
            fresh(&[7]).bounded(Bounds::within(0.1)),
            Layout { complex: true, ..fresh(&[7]) },
        ] {
            let batch = layout.entries.unwrap_or(1);
            assert_eq!(Layout::from_json(&layout.to_json(), batch, 1024), Ok(layout));
            assert!(Layout::from_json(&layout.to_json(), batch + 1, 1024).is_err());
            for wrong in [
                Layout { size: 0, ..layout },
                Layout { splat: !layout.splat, ..layout },
                Layout { dims: [Some(Dim::Batch); 2], ..layout },
                Layout { dims: [Some(Dim::One), None], ..layout },
                Layout { entries: layout.entries.xor(Some(1)), ..layout },
            ] {
                assert!(Layout::from_json(&wrong.to_json(), batch, 1024).is_err(), "{wrong:?}");
            }
        }
        for text in ["", "{}", "[]", r#"{"entries":null,"size":1,"splat":true,"more":1}"#] {
            assert!(Layout::from_json(text.as_bytes(), 1, 8).is_err());
        }
    }

    #[test]
    fn only_axes_of_length_one_are_reshaped() {
        let rows = fresh(&[3, 5]);
        assert_eq!(rows.reshaped(&[3, 5]), Ok(rows));
        assert!(rows.reshaped(&[5, 3]).is_err() && rows.reshaped(&[15]).is_err());
        let column = fresh(&[4]);
        assert_eq!(column.reshaped(&[4, 1]).unwrap().shape(), [4, 1]);
        assert_eq!(column.reshaped(&[1, 4]).unwrap().reshaped(&[4]), Ok(column));
        assert_eq!(fresh(&[1]).reshaped(&[]).unwrap().shape(), [0_usize; 0]);
    }
}
