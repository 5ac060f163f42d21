//! Buffers whose layout is known to back ends alone.

use crate::error::Result;
use crate::ring::Span;

/// Defines a buffer that only the back end that made it can read.
macro_rules! opaque {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        ///
        /// Operations take it as a reference to its buffer, [`as_ref`](Self::as_ref), as an
        /// `Option` does. [`new`](Self::new), [`buf`](Self::buf) and [`try_map`](Self::try_map)
        /// are for back ends.
        #[derive(Clone, Copy, Debug)]
        pub struct $name<T>(T);

        impl<T> $name<T> {
            /// Wraps a buffer in the layout of the back end.
            pub const fn new(buf: T) -> Self {
                Self(buf)
            }

            /// The buffer, in the layout of the back end.
            pub fn buf(self) -> T {
                self.0
            }

            /// The same object with a reference to the buffer.
            pub const fn as_ref(&self) -> $name<&T> {
                $name(&self.0)
            }

            /// The same object with a reference by which the buffer can be written.
            pub const fn as_mut(&mut self) -> $name<&mut T> {
                $name(&mut self.0)
            }

            /// The same object with another buffer.
            pub fn map<U>(self, to: impl FnOnce(T) -> U) -> $name<U> {
                $name(to(self.0))
            }

            /// The same object with another buffer.
            ///
            /// # Errors
            /// The error of `to`.
            pub fn try_map<U>(self, to: impl FnOnce(T) -> Result<U>) -> Result<$name<U>> {
                to(self.0).map($name)
            }
        }
    };
}

opaque! {
    /// The digits of a decomposed polynomial:
    /// [`KeySwitchOps::decompose`](super::KeySwitchOps::decompose) makes them, and key switches of
    /// the same shape on the same back end read them.
    DigitBuf
}

opaque! {
    /// The polynomials of a switching key:
    /// [`KeySwitchOps::write_key`](super::KeySwitchOps::write_key) and
    /// [`read_key`](super::KeySwitchOps::read_key) put them in and copy them out, one at a time.
    KeyBuf
}

/// The shape of a switching key: two polynomials, b and a, for each digit, in evaluation form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// The number of digits.
    pub digits: usize,
    /// The primes of each polynomial.
    pub span: Span,
}

impl KeyShape {
    /// The words of a flat key, `[digit][b | a][limb][coefficient]`, for ring degree n: the layout
    /// of the provided bodies.
    pub const fn flat_words(&self, n: usize) -> usize {
        self.flat_at(self.digits, 0, n)
    }

    /// The first word of part `part` (0: b, 1: a) of digit `digit` in a flat key.
    pub const fn flat_at(&self, digit: usize, part: usize, n: usize) -> usize {
        (2 * digit + part) * self.span.limbs() * n
    }
}
