//! Ranges of words.

use crate::error::{Error, Result};

/// The offset and length in bytes of a range of words, which must lie within `of` words.
pub(crate) fn range(at: usize, words: usize, of: usize, call: &'static str) -> Result<(usize, usize)> {
    match at.checked_add(words) {
        Some(end) if end <= of => Ok((at * 8, words * 8)),
        _ => Err(Error::Driver {
            call,
            reason: format!("{words} words from {at} on do not lie within {of} words"),
        }),
    }
}
