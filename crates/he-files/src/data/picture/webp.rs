//! What the decoder of WebP does not say: how many frames there are.

use crate::io::input::ReadSeek;
use std::io::{self, SeekFrom};

/// The frames of a WebP file: 0 if it is not an animation; nothing if it is shorter than its header
/// says.
pub(super) fn frames(source: &mut dyn ReadSeek) -> io::Result<Option<u32>> {
    let mut header = [0; 21];
    source.read_exact(&mut header[..8])?;
    let end = source.seek(SeekFrom::End(0))?;
    let said = u64::from(u32::from_le_bytes([header[4], header[5], header[6], header[7]])) + 8;
    if end < said {
        return Ok(None);
    }
    source.rewind()?;
    // The extended format says in its flags whether it is an animation.
    if said < 30
        || source.read_exact(&mut header).is_err()
        || header[12..16] != *b"VP8X"
        || header[20] & 2 == 0
    {
        return Ok(Some(0));
    }
    let (mut at, mut frames) = (12, 0u32);
    while at + 8 <= said {
        let here = source.stream_position()?;
        source.seek_relative(at as i64 - here as i64)?;
        let mut chunk = [0; 8];
        source.read_exact(&mut chunk)?;
        let [kind @ .., l0, l1, l2, l3] = chunk;
        frames += u32::from(kind == *b"ANMF");
        // To an even place.
        at += 8 + u64::from(u32::from_le_bytes([l0, l1, l2, l3])).next_multiple_of(2);
    }
    Ok(Some(frames))
}
