//! Bytes of single objects, frame by frame.

use he_core::rlwe::Fingerprint;
use he_core::wire::{Frame, FrameKind, FrameReader, WireError, WireParams};
use he_core::{KeySetId, Result};
use std::io::Read;

/// The only frame of an object besides that of its key set.
pub fn only(bytes: &[u8], fingerprint: Fingerprint) -> Result<(Frame, Option<KeySetId>)> {
    let all = bytes.len() as u64;
    let mut reader = FrameReader::new(bytes);
    let (mut key_set, mut found) = (None, None);
    while let Some(frame) = reader.next_frame(|_, _| all)? {
        if found.is_none() && key_set.is_none() && frame.kind == FrameKind::KeySet {
            key_set = Some(KeySetId::from_frame(fingerprint, &frame)?);
        } else if found.replace(frame).is_some() {
            return Err(WireError::Sequence.into());
        }
    }
    Ok((found.ok_or(WireError::Sequence)?, key_set))
}

/// Passes the frames of keys under these parameters to `take`, and returns their key set.
pub fn of_keys<P: WireParams>(
    reader: impl Read,
    params: &P,
    mut take: impl FnMut(Frame) -> Result<()>,
) -> Result<Option<KeySetId>> {
    let limit = |kind, _| match kind {
        FrameKind::KeySet => KeySetId::LEN as u64,
        kind => params.key_frame_limit(kind),
    };
    let mut reader = FrameReader::new(reader);
    let (mut key_set, mut first) = (None, true);
    while let Some(frame) = reader.next_frame(limit)? {
        if first && frame.kind == FrameKind::KeySet {
            key_set = Some(KeySetId::from_frame(params.fingerprint(), &frame)?);
        } else {
            take(frame)?;
        }
        first = false;
    }
    Ok(key_set)
}
