//! The form of numbers in a message.

use crate::aes::BLOCK;
use crate::error::{Error, Result};

/// A format of numbers: integers of 8, 16 or 32 bits, in little-endian order, times a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberFormat {
    bits: u32,
    signed: bool,
    fraction: u32,
}

impl NumberFormat {
    /// Integers of this many bits without a sign.
    ///
    /// # Errors
    /// [`Error::Argument`] for other than 8, 16 and 32.
    pub fn unsigned(bits: u32) -> Result<Self> {
        if ![8, 16, 32].contains(&bits) {
            return Err(Error::argument("bits", format!("{bits}; numbers have 8, 16 or 32")));
        }
        Ok(Self { bits, signed: false, fraction: 0 })
    }

    /// Integers of this many bits in two's complement.
    ///
    /// # Errors
    /// [`Error::Argument`] for other than 8, 16 and 32.
    pub fn signed(bits: u32) -> Result<Self> {
        Ok(Self { signed: true, ..Self::unsigned(bits)? })
    }

    /// The same numbers, divided by 2^`bits`.
    #[must_use]
    pub fn with_fraction(self, bits: u32) -> Self {
        Self { fraction: bits, ..self }
    }

    /// The bytes of a number.
    pub fn bytes(self) -> usize {
        self.bits as usize / 8
    }

    /// The numbers of a message of at most so many blocks.
    pub(super) fn numbers(self, message: &[u8], blocks: usize) -> Result<Vec<&[u8]>> {
        let (bytes, found) = (self.bytes(), message.len().div_ceil(BLOCK));
        if !message.len().is_multiple_of(bytes) {
            let why = format!("{} bytes are not whole numbers of {bytes} bytes", message.len());
            return Err(Error::argument("message", why));
        }
        if found > blocks {
            return Err(Error::TooManyValues { found, capacity: blocks });
        }
        Ok(message.chunks_exact(bytes).collect())
    }

    /// The value of bit `place` of a number.
    pub(super) fn weight(self, place: usize) -> f64 {
        let weight = libm::exp2(place as f64 - f64::from(self.fraction));
        if self.signed && place + 1 == self.bits as usize { -weight } else { weight }
    }

    /// The number of these bytes.
    pub(super) fn value(self, bytes: &[u8]) -> f64 {
        let one = |place: usize| f64::from(bytes[place / 8] >> (place % 8) & 1);
        (0..self.bits as usize).map(|place| one(place) * self.weight(place)).sum()
    }
}
