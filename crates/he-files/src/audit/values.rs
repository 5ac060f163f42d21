//! Values between operations, each in a file that has the digest as its name.

use crate::error::{InFile, IoContext, Result, TraceError};
use crate::listing::{Checksum, Listed, Listing};
use crate::trace;
use he_core::wire::{Frame, FramePlace, FrameWriter, SealedFrame};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;

/// The checksum of a frame.
pub fn checksum(frame: &SealedFrame) -> Checksum {
    let listing = Listing::default();
    let written = FrameWriter::new(Listed::new(io::sink(), listing.clone())).write_sealed(frame);
    // A sink takes everything.
    debug_assert!(written.is_ok());
    listing.checksums().pop().unwrap_or_default()
}

/// Keeps a value in a folder; the same value once.
///
/// # Errors
/// It cannot be written.
pub fn keep(folder: &Path, frame: &SealedFrame) -> Result<()> {
    let mut bytes = Vec::with_capacity(frame.size() as usize);
    FrameWriter::new(&mut bytes).write_sealed(frame)?;
    keep_bytes(folder, &checksum(frame), &bytes)
}

/// Keeps a value in a folder by its digest; the same value once.
///
/// # Errors
/// It cannot be written.
pub fn keep_bytes(folder: &Path, digest: &Checksum, bytes: &[u8]) -> Result<()> {
    let path = folder.join(trace::hex(digest));
    match File::create_new(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        file => file.and_then(|mut file| file.write_all(bytes)).writing(&path),
    }
}

/// The value with this digest from a folder; an operation takes it.
///
/// # Errors
/// [`TraceError::NotKept`] if it is not there; it is damaged, or another one.
pub fn kept(folder: &Path, digest: &Checksum, operation: usize) -> Result<Frame> {
    let (name, file) = open(folder, digest, operation)?;
    let bytes = file.metadata().at(Path::new(&name))?.len();
    FramePlace { start: 0, bytes, checksum: *digest }.read(file).in_file(&name)
}

/// The longest value between parts that is read.
const MAX_BYTES: u64 = 1 << 30;

/// The bytes of the value with this digest from a folder, unchecked, and the name of its file.
///
/// # Errors
/// [`TraceError::NotKept`] if it is not there; [`TraceError::NotAPair`] for more than a gigabyte.
pub fn kept_bytes(folder: &Path, digest: &Checksum, operation: usize) -> Result<(String, Vec<u8>)> {
    let (name, file) = open(folder, digest, operation)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).at(Path::new(&name))?;
    match bytes.len() as u64 <= MAX_BYTES {
        true => Ok((name, bytes)),
        false => Err(TraceError::NotAPair { name, why: "it is too long" }.into()),
    }
}

fn open(folder: &Path, digest: &Checksum, operation: usize) -> Result<(String, File)> {
    let path = folder.join(trace::hex(digest));
    let name = path.display().to_string();
    match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(TraceError::NotKept { name, operation }.into())
        }
        file => Ok((name, file.at(&path)?)),
    }
}
