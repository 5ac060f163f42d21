//! Objects of SEAL: a header, and members that may be compressed.

use crate::error::{Result, SealError};
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::{
    TINFL_FLAG_COMPUTE_ADLER32, TINFL_FLAG_PARSE_ZLIB_HEADER, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
};
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::borrow::Cow;
use std::io::Read;

/// 0xA15E, little-endian.
const MAGIC: [u8; 2] = [0x5E, 0xA1];
/// The length of a header.
pub const HEADER: usize = 16;
/// The version of files that are written.
const VERSION: [u8; 2] = [4, 1];

/// The members of an object that is all of some bytes, at most `most` bytes of them.
pub fn opened(bytes: &[u8], most: usize) -> Result<Cow<'_, [u8]>, SealError> {
    let (compression, members) = header(bytes)?;
    if members.len() + HEADER != bytes.len() {
        let (found, expected) = (bytes.len() as u64, (members.len() + HEADER) as u64);
        return Err(SealError::Length { what: "the length", found, expected });
    }
    Ok(match compression {
        0 => Cow::Borrowed(members),
        1 => Cow::Owned(inflated(members, most)?),
        2 => Cow::Owned(decoded(members, most)?),
        found => return Err(SealError::Compression { found }),
    })
}

/// The compression of an object, and the bytes of its members.
fn header(bytes: &[u8]) -> Result<(u8, &[u8]), SealError> {
    let (head, rest) = bytes.split_first_chunk::<HEADER>().ok_or(SealError::NotSeal)?;
    let &[m0, m1, length, major, minor, compression, r0, r1, ref size @ ..] = head;
    if [m0, m1] != MAGIC || usize::from(length) != HEADER || [r0, r1] != [0, 0] {
        return Err(SealError::NotSeal);
    }
    if major != VERSION[0] {
        return Err(SealError::Version { major, minor });
    }
    let found = u64::from_le_bytes(*size);
    let members = found.checked_sub(HEADER as u64).and_then(|size| usize::try_from(size).ok());
    let members = members.and_then(|size| rest.get(..size));
    let expected = bytes.len() as u64;
    Ok((compression, members.ok_or(SealError::Length { what: "the length", found, expected })?))
}

/// The at most `most` bytes that zlib compressed, from all of its output.
fn inflated(bytes: &[u8], most: usize) -> Result<Vec<u8>, SealError> {
    let damaged = SealError::Damaged { most };
    let flags =
        TINFL_FLAG_PARSE_ZLIB_HEADER | TINFL_FLAG_COMPUTE_ADLER32 | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let mut out = vec![0; most];
    let (status, consumed, written) = decompress(&mut DecompressorOxide::new(), bytes, &mut out, 0, flags);
    if status != TINFLStatus::Done || consumed != bytes.len() {
        return Err(damaged);
    }
    out.truncate(written);
    Ok(out)
}

/// The at most `most` bytes that zstd compressed, likewise.
fn decoded(bytes: &[u8], most: usize) -> Result<Vec<u8>, SealError> {
    let damaged = || SealError::Damaged { most };
    let mut rest = bytes;
    let mut out = Vec::new();
    let decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest).map_err(|_| damaged())?;
    let read = decoder.take(most as u64 + 1).read_to_end(&mut out).map_err(|_| damaged())?;
    if read > most || !rest.is_empty() {
        return Err(damaged());
    }
    Ok(out)
}

/// An object of members that are not compressed.
pub fn sealed(members: &[u8]) -> Vec<u8> {
    let size = (members.len() + HEADER) as u64;
    let mut bytes = Vec::with_capacity(members.len() + HEADER);
    bytes.extend(MAGIC);
    bytes.push(HEADER as u8);
    bytes.extend(VERSION);
    bytes.extend([0; 3]);
    bytes.extend(size.to_le_bytes());
    bytes.extend(members);
    bytes
}

/// The members of an object, one after the other.
pub struct Members<'a>(pub &'a [u8]);

impl<'a> Members<'a> {
    /// The next bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], SealError> {
        let (found, expected) = (self.0.len() as u64, count as u64);
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SealError::Length {
            what: "what is left",
            found,
            expected,
        })?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next bytes, as many as the array has.
    pub fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT], SealError> {
        let mut array = [0; COUNT];
        array.copy_from_slice(self.take(COUNT)?);
        Ok(array)
    }

    /// A byte.
    pub fn byte(&mut self) -> Result<u8, SealError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// A word of 64 bits.
    pub fn word(&mut self) -> Result<u64, SealError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A floating-point number.
    pub fn double(&mut self) -> Result<f64, SealError> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// The members of an object inside, which is not compressed.
    pub fn object(&mut self) -> Result<Members<'a>, SealError> {
        let (compression, members) = header(self.0)?;
        if compression != 0 {
            return Err(SealError::Compression { found: compression });
        }
        self.take(HEADER + members.len())?;
        Ok(Members(members))
    }

    /// That nothing is left.
    pub fn end(self) -> Result<(), SealError> {
        match self.0.len() {
            0 => Ok(()),
            found => Err(SealError::Length { what: "what is left", found: found as u64, expected: 0 }),
        }
    }
}
