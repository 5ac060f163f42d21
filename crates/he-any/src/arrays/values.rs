//! The numbers of arrays in the clear.

use crate::layout::Bounds;
use he_core::num_complex::Complex64;

/// The numbers of an array in C order, where they lie.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// Real numbers.
    Real(&'a [f64]),
    /// Complex numbers.
    Complex(&'a [Complex64]),
    /// Integers.
    Signed(&'a [i64]),
    /// Integers without a sign.
    Unsigned(&'a [u64]),
}

/// Numbers in the clear, and the shape of their array.
pub type Array<'a> = (Values<'a>, &'a [usize]);

impl Values<'_> {
    /// The number of them.
    pub fn len(&self) -> usize {
        match self {
            Self::Real(values) => values.len(),
            Self::Complex(values) => values.len(),
            Self::Signed(values) => values.len(),
            Self::Unsigned(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first that is infinite or not a number.
    pub fn not_finite(&self) -> Option<usize> {
        match self {
            Self::Real(values) => values.iter().position(|x| !x.is_finite()),
            Self::Complex(values) => values.iter().position(|z| !z.is_finite()),
            Self::Signed(_) | Self::Unsigned(_) => None,
        }
    }

    /// The numbers as real ones, complex ones as their magnitudes.
    fn reals(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Self::Real(values) => Box::new(values.iter().copied()),
            Self::Complex(values) => Box::new(values.iter().map(|z| z.norm())),
            Self::Signed(values) => Box::new(values.iter().map(|&x| x as f64)),
            Self::Unsigned(values) => Box::new(values.iter().map(|&x| x as f64)),
        }
    }

    /// Bounds of magnitudes are those of complex numbers.
    fn of_kind(&self, bounds: Option<Bounds>) -> Option<Bounds> {
        match self {
            Self::Complex(_) => bounds.and_then(|found| Bounds::within(found.magnitude())),
            _ => bounds,
        }
    }

    /// The public bounds of the values of an array that is encrypted.
    pub fn public_bounds(&self) -> Option<Bounds> {
        self.of_kind(Bounds::public(self.reals()))
    }

    /// The bounds of an array in the clear.
    pub fn exact_bounds(&self) -> Option<Bounds> {
        self.of_kind(Bounds::exact(self.reals()))
    }

    /// The bounds of sums of products with these values.
    #[must_use]
    pub fn weighted(&self, bounds: Bounds) -> Bounds {
        bounds.weighted(self.reals())
    }
}
