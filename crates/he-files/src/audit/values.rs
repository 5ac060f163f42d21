//! Values between operations, each in a file that has the digest as its name.

use crate::error::{InFile, IoContext, Result, TraceError};
use crate::listing::{Checksum, Listed, Listing};
use crate::trace;
use he_core::wire::{Frame, FramePlace, FrameWriter, SealedFrame};
use std::fs::File;
use std::io::{self, ErrorKind, Write as _};
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
    let path = folder.join(trace::hex(&checksum(frame)));
    let mut bytes = Vec::with_capacity(frame.size() as usize);
    FrameWriter::new(&mut bytes).write_sealed(frame)?;
    match File::create_new(&path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        file => file.and_then(|mut file| file.write_all(&bytes)).writing(&path),
    }
}

/// The value with this digest from a folder; an operation takes it.
///
/// # Errors
/// [`TraceError::NotKept`] if it is not there; it is damaged, or another one.
pub fn kept(folder: &Path, digest: &Checksum, operation: usize) -> Result<Frame> {
    let path = folder.join(trace::hex(digest));
    let name = path.display().to_string();
    let file = match File::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(TraceError::NotKept { name, operation }.into());
        }
        file => file.at(&path)?,
    };
    let bytes = file.metadata().at(&path)?.len();
    FramePlace { start: 0, bytes, checksum: *digest }.read(file).in_file(&name)
}
