//! Operations on large batches, some entries after the other, so that work on them can be ended in
//! between.

use crate::error::Result;
use crate::rlwe::Cipher;
use std::ops::Range;

/// The bytes of each ciphertext that an operation takes at once, if an entry has no more.
const BYTES: usize = 1 << 26;

/// The result of an operation, on some of `all` entries of batches after the other. It takes parts
/// of the ciphertexts, which have so many entries or one, and says which entries they are.
///
/// # Errors
/// The errors of the operation; results that do not fit together; the device fails.
pub(super) fn in_pieces(
    cts: &[&Cipher],
    all: usize,
    of: impl Fn(&[&Cipher], Range<usize>) -> Result<Cipher>,
) -> Result<Cipher> {
    let entry = cts.iter().map(|ct| ct.size() / ct.batch().max(1)).max().unwrap_or(0);
    let piece = (BYTES / entry.max(1)).max(1);
    let is_part = |ct: &&Cipher| ct.batch() == 1 || ct.batch() == all;
    if all <= piece || !cts.iter().all(is_part) {
        return of(cts, 0..all);
    }
    let parts = (0..all).step_by(piece).map(|start| {
        let range = start..all.min(start + piece);
        let part = |ct: &&Cipher| match ct.batch() {
            1 => ct.duplicate(),
            _ => ct.slice_batch(range.clone()),
        };
        let parts = cts.iter().map(part).collect::<he_core::Result<Vec<_>>>()?;
        of(&parts.iter().collect::<Vec<_>>(), range)
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Ok(Cipher::concat(&parts.iter().collect::<Vec<_>>())?)
}
