//! Little-endian fields of a frame's body.

use super::{FrameKind, WireError};

/// Takes fields from the front of a body.
pub(super) struct Fields<'a> {
    kind: FrameKind,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(kind: FrameKind, body: &'a [u8]) -> Self {
        Self { kind, rest: body }
    }

    pub fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(self.error(field))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        let bytes = self.take(N, field)?;
        bytes.try_into().map_err(|_| self.error(field))
    }

    pub fn u8(&mut self, field: &'static str) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array(field)?))
    }

    pub fn u16(&mut self, field: &'static str) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    pub fn u32(&mut self, field: &'static str) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub fn u64(&mut self, field: &'static str) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    pub fn f64(&mut self, field: &'static str) -> Result<f64, WireError> {
        Ok(f64::from_bits(self.u64(field)?))
    }

    pub fn seed(&mut self) -> Result<crate::ring::Seed, WireError> {
        Ok(crate::ring::Seed(self.array("seed")?))
    }

    /// Takes everything that is left.
    pub fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub fn end(self) -> Result<(), WireError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.error("length")) }
    }

    pub fn error(&self, field: &'static str) -> WireError {
        WireError::Field { kind: self.kind, field }
    }
}
