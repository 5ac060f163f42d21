//! Operands that may first have to be brought to another level.

use std::borrow::Borrow;

/// Either the operand itself or an adjusted copy of it.
pub(crate) enum Aligned<'a, T> {
    As(&'a T),
    Copy(T),
}

impl<T> Aligned<'_, T> {
    /// The adjusted copy, if there is one.
    pub(crate) fn into_copy(self) -> Option<T> {
        match self {
            Self::As(_) => None,
            Self::Copy(copy) => Some(copy),
        }
    }
}

impl<T> Borrow<T> for Aligned<'_, T> {
    fn borrow(&self) -> &T {
        match self {
            Self::As(operand) => operand,
            Self::Copy(copy) => copy,
        }
    }
}
