//! The domain of a polynomial, as a value and as a type.

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Coeff {}
    impl Sealed for super::Eval {}
}

/// The domain of a polynomial, as a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DomainKind {
    /// Coefficients.
    Coeff,
    /// Values at the roots of X^N + 1, in the order of [`NttTable`](super::NttTable).
    Eval,
}

/// The domain of a polynomial, as a type.
pub trait Domain: sealed::Sealed + Send + Sync + 'static {
    /// The same as a value.
    const KIND: DomainKind;
}

/// Coefficient form.
#[derive(Debug)]
pub enum Coeff {}
/// Evaluation form.
#[derive(Debug)]
pub enum Eval {}

impl Domain for Coeff {
    const KIND: DomainKind = DomainKind::Coeff;
}
impl Domain for Eval {
    const KIND: DomainKind = DomainKind::Eval;
}
