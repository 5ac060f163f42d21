//! Encrypted answers.

use crate::error::{Error, Result};
use crate::plan::Params;
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

    /// The public layout of its ciphertexts.
    pub fn layout(&self) -> Layout {
        let segments = self.segments();
        match self {
            Self::Count { .. } => Layout::Count { segments },
            Self::Apart { .. } => Layout::Apart { segments },
            Self::Arranged { .. } => Layout::Arranged { segments },
            Self::Scores { occupancies, .. } => Layout::Scores { occupancies: occupancies.clone() },
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

/// The segments whose payloads are answered apart, since that answer is shorter.
const APART: usize = 2;

/// The public layout of an [`Answer`]: what its ciphertexts are, in the order of
/// [`Answer::ciphertexts`].
///
/// ```
/// use he_search::{Layout, Metric, Plan};
/// # fn main() -> he_search::Result<()> {
/// let params = Plan::matching(4, Metric::Cosine, 0.5, 0.4).payload(8).records(50_000).params()?;
/// let layout = Layout::matches(&params, params.segments());
/// // The markers and eight bytes in two arrangements, and the numbers of segments.
/// assert_eq!(layout, Layout::Arranged { segments: 7 });
/// assert_eq!(layout.ciphertexts(&params), 2 * (4 + 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The layout of [`Answer::Count`].
    Count {
        /// The number of segments.
        segments: usize,
    },
    /// The layout of [`Answer::Apart`].
    Apart {
        /// The number of segments.
        segments: usize,
    },
    /// The layout of [`Answer::Arranged`].
    Arranged {
        /// The number of segments.
        segments: usize,
    },
    /// The layout of [`Answer::Scores`].
    Scores {
        /// The slots of each segment that hold records.
        occupancies: Vec<Occupancy>,
    },
}

impl Layout {
    /// The layout of the matches in so many segments of an index: apart if it was planned for two
    /// segments at most.
    pub fn matches(params: &Params, segments: usize) -> Self {
        match params.segments() <= APART {
            true => Self::Apart { segments },
            false => Self::Arranged { segments },
        }
    }

    /// The number of ciphertexts.
    pub fn ciphertexts(&self, params: &Params) -> usize {
        let each = params.payload_ciphertexts();
        match self {
            Self::Count { .. } => 1,
            Self::Apart { segments } => segments * each,
            Self::Arranged { .. } => 2 * (each + 1),
            Self::Scores { occupancies } => occupancies.len(),
        }
    }

    /// The answer of these ciphertexts.
    ///
    /// # Errors
    /// [`Error::Shape`] for another number of them.
    pub fn answer<B: RingOps>(self, params: &Params, mut parts: Vec<Ciphertext<B>>) -> Result<Answer<B>> {
        let (found, expected) = (parts.len(), self.ciphertexts(params));
        if found != expected {
            return Err(Error::Shape { object: "the answer", part: "ciphertexts", found, expected });
        }
        let each = params.payload_ciphertexts();
        Ok(match self {
            Self::Count { segments } => Answer::Count { hits: parts.swap_remove(0), segments },
            Self::Apart { segments } => {
                let mut parts = parts.into_iter();
                let segments = (0..segments).map(|_| parts.by_ref().take(each).collect());
                Answer::Apart { segments: segments.collect() }
            }
            Self::Arranged { segments } => {
                let turned = parts.split_off(each + 1);
                Answer::Arranged { segments, plain: parts, turned }
            }
            Self::Scores { occupancies } => Answer::Scores { scores: parts, occupancies },
        })
    }
}
