//! The layout of the values of an array in the slots of a batch: the description that the Python
//! package and SQL write beside a ciphertext.

/// Shapes that do not fit together, or that no ciphertext holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
}

type Result<T> = std::result::Result<T, LayoutError>;

/// The layout of the values of an array in the slots of a batch of ciphertexts.
///
/// An array of one dimension is a column: it fills one entry of the batch after the other, the last
/// of which is padded. An array of two dimensions has a row in each entry.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Layout {
    /// The rows of an array of two dimensions.
    pub entries: Option<usize>,
    /// The values of the column, or of each row.
    pub size: usize,
    /// Whether every slot holds the same value, one for the column or one per row: the result of a
    /// sum.
    pub splat: bool,
    /// The value in the slots after the values, if that is known.
    pub padding: Option<f64>,
}

/// An operation on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A sum.
    Add,
    /// A difference.
    Sub,
    /// A product.
    Mul,
}

impl Op {
    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul => a * b,
        }
    }
}

/// A shape as Python writes it.
pub fn shown(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        shape => format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

impl Layout {
    /// The layout of an array that is encrypted into vectors of at most `slots` slots. Errors call
    /// it `what`.
    ///
    /// # Errors
    /// [`LayoutError`] for an empty array, rows that are too long, and more than two dimensions.
    pub fn of_array(shape: &[usize], slots: usize, what: &str) -> Result<Self> {
        let fresh = |entries, size| Self { entries, size, splat: false, padding: Some(0.0) };
        match *shape {
            [] => Ok(fresh(None, 1)),
            [0] | [0, _] | [_, 0] => Err(LayoutError::Empty { what: what.to_owned(), shape: shape.to_vec() }),
            [size] => Ok(fresh(None, size)),
            [_, size] if size > slots => Err(LayoutError::Row { what: what.to_owned(), size, slots }),
            [entries, size] => Ok(fresh(Some(entries), size)),
            _ => Err(LayoutError::Dimensions { what: what.to_owned(), found: shape.len() }),
        }
    }

    /// The shape of the array.
    pub fn shape(&self) -> Vec<usize> {
        let size = (!self.splat).then_some(self.size);
        self.entries.into_iter().chain(size).collect()
    }

    /// The value of all slots of a batch.
    pub fn total(entries: Option<usize>) -> Self {
        Self { entries, size: 1, splat: true, padding: None }
    }

    /// Entries of the batch for vectors of `slots` slots.
    pub fn batch(&self, slots: usize) -> usize {
        self.entries.unwrap_or_else(|| if self.splat { 1 } else { self.size.div_ceil(slots).max(1) })
    }

    /// Whether slots are left over.
    pub fn is_padded(&self, slots: usize) -> bool {
        !self.splat && !self.size.is_multiple_of(slots)
    }

    /// The slots of vectors for it: as few as possible.
    pub fn slots(&self, capacity: usize) -> usize {
        self.size.next_power_of_two().min(capacity)
    }

    fn mismatch(&self, other: &Self) -> LayoutError {
        LayoutError::Mismatch { left: self.shape(), right: other.shape() }
    }

    /// The layout of `self op other`, where `alike` says that both have vectors of one length.
    ///
    /// # Errors
    /// [`LayoutError::Mismatch`].
    pub fn combined(&self, other: &Self, op: Op, alike: bool) -> Result<Self> {
        let entries = match (self.entries, other.entries) {
            (a, b) if a == b => a,
            (Some(a), Some(1)) | (Some(1), Some(a)) => Some(a),
            (Some(a), None) | (None, Some(a)) => Some(a),
            _ => return Err(self.mismatch(other)),
        };
        let (splat, size) = match (self.splat, other.splat) {
            (true, true) => (true, 1),
            (true, false) => (false, other.size),
            (false, true) => (false, self.size),
            (false, false) if self.size == other.size => (false, self.size),
            (false, false) => return Err(self.mismatch(other)),
        };
        let padding = match (self.padding, other.padding) {
            (Some(a), Some(b)) if alike => Some(op.of(a, b)),
            (Some(0.0), _) | (_, Some(0.0)) if alike && op == Op::Mul => Some(0.0),
            _ => None,
        };
        Ok(Self { entries, size, splat, padding: padding.filter(|x| x.is_finite()) })
    }

    /// The layout of `self op value` in every slot.
    pub fn with_scalar(&self, value: f64, op: Op) -> Self {
        let padding = self.padding.map(|x| op.of(x, value)).filter(|x| x.is_finite());
        Self { padding, ..*self }
    }

    /// The layout with padding of which nothing is known.
    pub fn unknown(&self) -> Self {
        Self { padding: None, ..*self }
    }

    /// The values from `start` on, `size` of them, after a rotation by `start`.
    pub fn part(&self, size: usize) -> Self {
        Self { size, padding: None, ..*self }
    }
}
