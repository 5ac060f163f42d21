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
    /// As complex numbers.
    pub fn complex(&self) -> Vec<Complex64> {
        match self {
            Self::Real(values) => values.iter().map(|&x| x.into()).collect(),
            Self::Complex(values) => values.to_vec(),
            Self::Signed(values) => values.iter().map(|&x| (x as f64).into()).collect(),
            Self::Unsigned(values) => values.iter().map(|&x| (x as f64).into()).collect(),
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
