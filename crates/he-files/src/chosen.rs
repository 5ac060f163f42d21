//! Parts of results: an audit computes some of them, and leaves the others out.

use std::collections::BTreeSet;
use std::sync::Arc;

/// The frames of ciphertexts of a result that are computed, by their places from 0: all of them
/// unless some were chosen.
#[derive(Clone, Debug, Default)]
pub struct Chosen(Option<Arc<BTreeSet<usize>>>);

impl Chosen {
    /// These frames alone. A file that is written has no others.
    pub fn only(frames: impl IntoIterator<Item = usize>) -> Self {
        Self(Some(Arc::new(frames.into_iter().collect())))
    }

    /// Whether a frame is computed.
    pub fn has(&self, frame: usize) -> bool {
        self.0.as_ref().is_none_or(|frames| frames.contains(&frame))
    }
}
