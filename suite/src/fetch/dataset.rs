//! The binary files of the harness: rows of numbers of one length.

use crate::error::{At as _, Error};
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::{Path, PathBuf};

/// The numbers of a payload, and the bits of each.
const NUMBERS: usize = 7;
const BITS: usize = 9;

/// The bytes of a payload as it is encrypted: all bits, without gaps.
pub(super) const PAYLOAD_BYTES: usize = (NUMBERS * BITS).div_ceil(8);

/// A payload.
pub(super) type Payload = [i16; NUMBERS];

/// Reads rows of so many bytes, some at a time.
#[derive(Debug)]
struct Rows {
    path: PathBuf,
    file: BufReader<File>,
    width: usize,
}

impl Rows {
    /// Opens a file, which has to have so many rows.
    fn open(path: &Path, width: usize, rows: u64) -> Result<Self, Error> {
        let file = File::open(path).at(path)?;
        let (found, needed) = (file.metadata().at(path)?.len(), width as u64 * rows);
        if found != needed {
            return Err(Error::count(path, format!("{found} bytes"), needed));
        }
        Ok(Self { path: path.into(), file: BufReader::new(file), width })
    }

    /// The next rows.
    fn next(&mut self, rows: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; rows * self.width];
        self.file.read_exact(&mut bytes).at(&self.path)?;
        Ok(bytes)
    }
}

/// Vectors in single precision.
#[derive(Debug)]
pub(super) struct Vectors(Rows);

impl Vectors {
    /// Opens a file of so many vectors.
    pub(super) fn open(path: &Path, dimension: usize, vectors: u64) -> Result<Self, Error> {
        Rows::open(path, dimension * size_of::<f32>(), vectors).map(Self)
    }

    /// The next vectors.
    pub(super) fn next(&mut self, vectors: usize) -> Result<Vec<Vec<f64>>, Error> {
        let bytes = self.0.next(vectors)?;
        Ok(bytes.chunks_exact(self.0.width).map(|row| numbers(row, f32::from_le_bytes)).collect())
    }
}

/// Payloads.
#[derive(Debug)]
pub(super) struct Payloads {
    rows: Rows,
    done: u64,
}

impl Payloads {
    /// Opens a file of so many payloads.
    pub(super) fn open(path: &Path, payloads: u64) -> Result<Self, Error> {
        Ok(Self { rows: Rows::open(path, size_of::<Payload>(), payloads)?, done: 0 })
    }

    /// The next payloads, as they are encrypted.
    pub(super) fn next(&mut self, payloads: usize) -> Result<Vec<[u8; PAYLOAD_BYTES]>, Error> {
        let bytes = self.rows.next(payloads)?;
        bytes.chunks_exact(self.rows.width).map(|row| self.pack(&numbers(row, i16::from_le_bytes))).collect()
    }

    fn pack(&mut self, payload: &[i16]) -> Result<[u8; PAYLOAD_BYTES], Error> {
        let (row, limit) = (self.done, (1 << BITS) - 1);
        self.done += 1;
        let mut packed = 0u64;
        for (place, &found) in payload.iter().enumerate() {
            if !(0..=limit).contains(&found) {
                return Err(Error::Payload { path: self.rows.path.clone(), row, found, limit });
            }
            packed |= (found as u64) << (BITS * place);
        }
        Ok(packed.to_le_bytes())
    }
}

/// A payload that was decrypted.
pub(super) fn unpack(bytes: &[u8]) -> Payload {
    let all = bytes.iter().rev().fold(0, |sum: u64, &byte| sum << 8 | u64::from(byte));
    std::array::from_fn(|place| (all >> (BITS * place) & ((1 << BITS) - 1)) as i16)
}

/// The numbers of a row.
fn numbers<const N: usize, T, U: From<T>>(row: &[u8], read: fn([u8; N]) -> T) -> Vec<U> {
    row.as_chunks().0.iter().map(|bytes| U::from(read(*bytes))).collect()
}
