//! A fact that the decoder of BMP does not tell: whether a picture of a palette is gray.

use crate::io::input::ReadSeek;
use std::io::{self, Read, SeekFrom};

/// Bytes of the header of the file, behind which that of the picture stands.
const FILE_HEADER: u64 = 14;
/// Bytes of the oldest header of a picture, whose colours have three bytes each.
const CORE: u32 = 12;

/// Whether the picture has a palette, and all its colours are gray: BMP has no other gray pictures.
/// Damage is left to the decoder.
///
/// # Errors
/// The file cannot be read.
pub(super) fn is_gray(source: &mut dyn ReadSeek) -> io::Result<bool> {
    match gray_palette(source) {
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => Err(error),
        found => Ok(found.unwrap_or(false)),
    }
}

fn gray_palette(source: &mut dyn ReadSeek) -> io::Result<bool> {
    source.seek(SeekFrom::Start(FILE_HEADER))?;
    let mut header = [0; 40];
    source.read_exact(&mut header[..4])?;
    let size = u32::from_le_bytes([header[0], header[1], header[2], header[3]]);
    let known = (size as usize).min(header.len());
    source.read_exact(&mut header[4.min(known)..known])?;
    let (bits, said, step) = match size {
        CORE => (u16::from_le_bytes([header[10], header[11]]), 0, 3),
        40.. => {
            let said = u32::from_le_bytes([header[32], header[33], header[34], header[35]]);
            (u16::from_le_bytes([header[14], header[15]]), said, 4)
        }
        _ => return Ok(false),
    };
    if !matches!(bits, 1 | 2 | 4 | 8) {
        return Ok(false);
    }
    let colours = match said {
        0 => 1 << bits,
        said => said.min(1 << bits),
    };
    source.seek(SeekFrom::Start(FILE_HEADER + u64::from(size)))?;
    let mut palette = Vec::new();
    source.take(u64::from(colours) * step).read_to_end(&mut palette)?;
    let mut palette = palette.chunks_exact(step as usize);
    Ok(palette.len() as u64 == u64::from(colours)
        && palette.all(|colour| colour[0] == colour[1] && colour[1] == colour[2]))
}
