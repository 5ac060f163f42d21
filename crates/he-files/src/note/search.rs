//! Descriptions of encrypted records, of queries, and of their answers.

use super::bad;
use crate::error::{Error, Result};
use he_search::{Bands, Layout, Metric, Occupancy, Params, Plan, Task};
use serde::{Deserialize, Serialize};

/// The most segments of an index.
pub const MAX_SEGMENTS: u32 = 1 << 13;
/// The most slots of a segment.
const MAX_SLOTS: u32 = 1 << 15;

/// The metric of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricName {
    /// The cosine.
    Cosine,
    /// The inner product.
    Dot,
    /// The distance.
    Euclidean,
}

/// The task of an index.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "lowercase", deny_unknown_fields)]
pub enum TaskNote {
    /// Counts, payloads and rankings.
    Match {
        /// The bands of scores, in ascending order.
        bands: [f64; 4],
        /// The bytes of each payload.
        payload: u32,
    },
    /// Rankings.
    Rank,
}

/// The plan of an index, from which its parameters follow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanNote {
    /// The coordinates of each vector.
    pub dimension: u32,
    /// The metric.
    pub metric: MetricName,
    /// The greatest norm, unless the metric is the cosine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub norm: Option<f64>,
    /// The greatest number of records.
    pub records: u64,
    /// The task.
    pub wanted: TaskNote,
}

impl PlanNote {
    /// Describes a plan.
    pub fn of(plan: &Plan) -> Self {
        let (metric, norm) = match plan.metric {
            Metric::Cosine => (MetricName::Cosine, None),
            Metric::Dot { norm } => (MetricName::Dot, Some(norm)),
            Metric::Euclidean { norm } => (MetricName::Euclidean, Some(norm)),
        };
        let wanted = match plan.task {
            Task::Rank => TaskNote::Rank,
            Task::Match { bands: Bands { lowest, below, above, highest }, payload } => {
                TaskNote::Match { bands: [lowest, below, above, highest], payload: payload as u32 }
            }
        };
        Self { dimension: plan.dimension as u32, metric, norm, records: plan.records, wanted }
    }

    /// The plan that it describes, which may be out of range.
    ///
    /// # Errors
    /// The norm of the metric is missing, or there is one for the cosine.
    pub fn plan(&self) -> Result<Plan> {
        let metric = match (self.metric, self.norm) {
            (MetricName::Cosine, None) => Metric::Cosine,
            (MetricName::Dot, Some(norm)) => Metric::Dot { norm },
            (MetricName::Euclidean, Some(norm)) => Metric::Euclidean { norm },
            _ => return Err(bad("norm of the metric")),
        };
        let plan = Plan::ranking(self.dimension as usize, metric).records(self.records);
        Ok(match self.wanted {
            TaskNote::Rank => plan,
            TaskNote::Match { bands: [lowest, below, above, highest], payload } => {
                let task =
                    Task::Match { bands: Bands { lowest, below, above, highest }, payload: payload as usize };
                Plan { task, ..plan }
            }
        })
    }

    /// The parameters of the plan.
    ///
    /// # Errors
    /// The plan is out of range.
    pub fn params(&self) -> Result<Params> {
        self.plan()?.params().map_err(Error::from)
    }
}

/// The slots of a segment that hold records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OccupancyNote {
    /// The first slot.
    pub start: u32,
    /// The records, deleted ones included.
    pub records: u32,
    /// The slots of deleted records, in ascending order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<u32>,
}

impl OccupancyNote {
    /// Describes the slots of a segment.
    pub fn of(occupancy: &Occupancy) -> Self {
        let range = occupancy.range();
        let deleted = range.clone().filter(|&slot| !occupancy.is_live(slot)).map(|slot| slot as u32);
        Self { start: range.start as u32, records: range.len() as u32, deleted: deleted.collect() }
    }

    /// The slots that it describes.
    ///
    /// # Errors
    /// There are more than a segment has, or deleted ones that do not exist.
    pub fn occupancy(&self, params: &Params) -> Result<Occupancy> {
        let mut occupancy = Occupancy::new(params, self.start as usize, self.records as usize)?;
        self.deleted.iter().try_for_each(|&slot| occupancy.delete(slot as usize))?;
        Ok(occupancy)
    }

    /// Whether the records of another one follow in the same segment.
    pub fn continues(&self, next: &Self) -> bool {
        next.start > 0 && self.start.checked_add(self.records) == Some(next.start)
    }

    /// Whether a slot holds a record, deleted or not.
    pub fn has(&self, slot: usize) -> bool {
        let (start, records) = (self.start as usize, self.records as usize);
        slot.checked_sub(start).is_some_and(|at| at < records)
    }

    fn is_valid(&self, slots: usize) -> bool {
        let slots = (slots as u32).min(MAX_SLOTS);
        self.start <= slots
            && self.records <= slots - self.start
            && self.deleted.is_sorted_by(|a, b| a < b)
            && self.deleted.iter().all(|slot| (self.start..self.start + self.records).contains(slot))
    }
}

/// The part of a search that a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "part", rename_all = "lowercase", deny_unknown_fields)]
pub enum SearchPart {
    /// Records: columns, then payloads.
    Segment {
        /// The slots with records, when it was written.
        occupancy: OccupancyNote,
    },
    /// A query.
    Query,
    /// The number of matches.
    Count {
        /// The number of segments.
        segments: u32,
    },
    /// The payloads of matches, segment by segment.
    Apart {
        /// The number of segments.
        segments: u32,
    },
    /// The payloads of matches of all segments, in two arrangements.
    Arranged {
        /// The number of segments.
        segments: u32,
    },
    /// The scores of all records.
    Scores {
        /// The slots of each segment with records.
        occupancies: Vec<OccupancyNote>,
    },
}

impl SearchPart {
    /// Describes the layout of an answer.
    pub fn of(layout: &Layout) -> Self {
        match layout {
            Layout::Count { segments } => Self::Count { segments: *segments as u32 },
            Layout::Apart { segments } => Self::Apart { segments: *segments as u32 },
            Layout::Arranged { segments } => Self::Arranged { segments: *segments as u32 },
            Layout::Scores { occupancies } => {
                Self::Scores { occupancies: occupancies.iter().map(OccupancyNote::of).collect() }
            }
        }
    }

    /// The layout of an answer; `None` for records and queries.
    ///
    /// # Errors
    /// Slots that do not exist.
    pub fn layout(&self, params: &Params) -> Result<Option<Layout>> {
        Ok(Some(match self {
            Self::Segment { .. } | Self::Query => return Ok(None),
            Self::Count { segments } => Layout::Count { segments: *segments as usize },
            Self::Apart { segments } => Layout::Apart { segments: *segments as usize },
            Self::Arranged { segments } => Layout::Arranged { segments: *segments as usize },
            Self::Scores { occupancies } => Layout::Scores {
                occupancies: occupancies.iter().map(|note| note.occupancy(params)).collect::<Result<_>>()?,
            },
        }))
    }
}

/// A part of a search, and the plan that it belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchNote {
    /// The plan.
    pub plan: PlanNote,
    /// The part.
    pub holds: SearchPart,
    /// The number of ciphertexts.
    pub ciphertexts: u32,
}

/// The most ciphertexts of a part: the scores of all segments, or the columns of one.
const MAX_CIPHERTEXTS: u32 = 1 << 14;

impl SearchNote {
    /// Checks it against the slots of a vector. Whether the parameters are those of the plan is
    /// checked when they are computed with.
    ///
    /// # Errors
    /// It holds impossible numbers.
    pub fn check(&self, slots: usize) -> Result<()> {
        self.plan.plan()?;
        let segments = match &self.holds {
            SearchPart::Segment { .. } | SearchPart::Query => 1,
            SearchPart::Count { segments }
            | SearchPart::Apart { segments }
            | SearchPart::Arranged { segments } => *segments,
            SearchPart::Scores { occupancies } => occupancies.len() as u32,
        };
        let valid = match &self.holds {
            SearchPart::Segment { occupancy } => occupancy.is_valid(slots),
            SearchPart::Scores { occupancies } => occupancies.iter().all(|note| note.is_valid(slots)),
            _ => true,
        };
        let counts =
            (1..=MAX_SEGMENTS).contains(&segments) && (1..=MAX_CIPHERTEXTS).contains(&self.ciphertexts);
        if valid && counts { Ok(()) } else { Err(bad("layout of a search")) }
    }

    /// The records that it holds or was computed from.
    pub fn records(&self) -> u64 {
        match &self.holds {
            SearchPart::Segment { occupancy } => occupancy.records.into(),
            SearchPart::Scores { occupancies } => {
                occupancies.iter().map(|note| u64::from(note.records)).sum()
            }
            _ => 1,
        }
    }

    /// Describes the content for people.
    pub fn shape(&self) -> String {
        let dimension = self.plan.dimension;
        match &self.holds {
            SearchPart::Segment { occupancy } => {
                format!("{} records of dimension {dimension}", occupancy.records)
            }
            SearchPart::Query => format!("a query of dimension {dimension}"),
            SearchPart::Count { segments } => format!("the number of matches in {segments} segments"),
            SearchPart::Apart { segments } | SearchPart::Arranged { segments } => {
                format!("the matches in {segments} segments")
            }
            SearchPart::Scores { .. } => format!("the scores of {} records", self.records()),
        }
    }
}
