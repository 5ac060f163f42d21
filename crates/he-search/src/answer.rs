//! Encrypted answers.

use crate::segment::Occupancy;
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::Ciphertext;

/// The encrypted answer to a query. All ciphertexts are of the lowest level.
#[derive(Debug)]
pub enum Answer<B: RingOps = Cpu> {
    /// The matches in each slot, of all segments.
    Count {
        /// The sum of the segments' indicators.
        hits: Ciphertext<B>,
        /// The number of segments.
        segments: usize,
    },
    /// The payloads of matches, segment by segment.
    Apart {
        /// The masked payloads of each segment.
        segments: Vec<Vec<Ciphertext<B>>>,
    },
    /// The payloads of matches of many segments, added in two arrangements.
    ///
    /// Two matches of different segments share a slot in one of them at most: in the second,
    /// segment b of n is rotated by n - 1 - b. Where a slot has one match, that match is known and
    /// is subtracted from the other arrangement, until all are (peeling, as in invertible Bloom
    /// look-up tables: Goodrich, Mitzenmacher, 2011).
    Arranged {
        /// The number of segments.
        segments: usize,
        /// The sums of masked payloads, and of markers times the number of their segment.
        plain: Vec<Ciphertext<B>>,
        /// The sums of the same, rotated.
        turned: Vec<Ciphertext<B>>,
    },
    /// The scores of all records.
    Scores {
        /// The scores of each segment.
        scores: Vec<Ciphertext<B>>,
        /// The slots of each segment that hold records.
        occupancies: Vec<Occupancy>,
    },
}

impl<B: RingOps> Answer<B> {
    /// The name of the answer in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Count { .. } => "a count",
            Self::Apart { .. } | Self::Arranged { .. } => "payloads of matches",
            Self::Scores { .. } => "scores",
        }
    }

    /// The number of segments that it was computed from.
    pub fn segments(&self) -> usize {
        match self {
            Self::Count { segments, .. } | Self::Arranged { segments, .. } => *segments,
            Self::Apart { segments } => segments.len(),
            Self::Scores { scores, .. } => scores.len(),
        }
    }

    /// All ciphertexts, in their order.
    pub fn ciphertexts(&self) -> Vec<&Ciphertext<B>> {
        match self {
            Self::Count { hits, .. } => vec![hits],
            Self::Apart { segments } => segments.iter().flatten().collect(),
            Self::Arranged { plain, turned, .. } => plain.iter().chain(turned).collect(),
            Self::Scores { scores, .. } => scores.iter().collect(),
        }
    }
}
