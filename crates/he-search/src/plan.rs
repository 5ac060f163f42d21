//! Plans: from dimension, metric and task to parameters.

use crate::bands::{Bands, Step};
use crate::error::{Error, Result};
use crate::metric::Metric;
use crate::noise;
use crate::payload;
use he_core::ckks::{CkksParams, CkksSpec};
use he_core::ring::galois_rotation;
use he_core::rlwe::KeyRequirements;
use std::sync::Arc;

/// The task of an index, which decides the depth of its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Task {
    /// Count and fetch the records whose scores are in the upper band; rankings as well.
    Match {
        /// The bands of scores.
        bands: Bands,
        /// The bytes of each payload.
        payload: usize,
    },
    /// Rank records by their scores: one product, hence small ciphertexts.
    Rank,
}

impl Task {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Match { .. } => "matches",
            Self::Rank => "rankings",
        }
    }
}

/// The description of an index, from which [`Params`] follow.
///
/// ```
/// use he_search::{Metric, Plan};
/// # fn main() -> he_search::Result<()> {
/// let plan = Plan::matching(128, Metric::Cosine, 0.74, 0.12).payload(8).records(50_000);
/// let params = plan.params()?;
/// assert_eq!(params.segments(), 7);
/// println!("{}", params.facts());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The coordinates of each vector.
    pub dimension: usize,
    /// The metric.
    pub metric: Metric,
    /// The task.
    pub task: Task,
    /// The greatest number of records.
    pub records: u64,
    /// log2 of the degree of parameters without regard to security, for tests; `None` chooses
    /// degrees of 128-bit security.
    pub insecure_log_n: Option<u32>,
}

/// The dimensions that are searched.
const DIMENSIONS: (usize, usize) = (2, 4096);

/// The greatest number of records: 1024 segments of degree 2^14. The noise of their sum, about
/// 4 10^-7 sqrt(1024), is then a tenth of the distance at which a digit of 12 bits changes.
const MAX_RECORDS: u64 = 1 << 23;

/// The degrees that are tried for matches, as exponents.
const MATCH_DEGREES: [u32; 2] = [14, 15];

/// The degree of rankings, as an exponent.
const RANK_DEGREE: u32 = 13;

/// The sum over all segments of a polynomial's errors, in units of the last place that is decoded.
const LEAK: f64 = 0.125;

impl Plan {
    /// A plan for matches: records whose value of the metric is beyond a threshold by a margin are
    /// matches, those on its other side by a margin are not. For distances the near side is below
    /// the threshold. Payloads are empty and there are as many records as a segment holds, unless
    /// stated otherwise.
    pub fn matching(dimension: usize, metric: Metric, threshold: f64, margin: f64) -> Self {
        let margin = if let Metric::Euclidean { .. } = metric { -margin } else { margin };
        let [below, above] = [threshold - margin, threshold + margin].map(|value| metric.score(value));
        let bands = Bands { lowest: -1.0, below, above, highest: 1.0 };
        Self::of(dimension, metric, Task::Match { bands, payload: 0 })
    }

    /// A plan for rankings.
    pub fn ranking(dimension: usize, metric: Metric) -> Self {
        Self::of(dimension, metric, Task::Rank)
    }

    fn of(dimension: usize, metric: Metric, task: Task) -> Self {
        Self { dimension, metric, task, records: 1, insecure_log_n: None }
    }

    /// With payloads of so many bytes; without effect on rankings.
    #[must_use]
    pub fn payload(mut self, bytes: usize) -> Self {
        if let Task::Match { payload, .. } = &mut self.task {
            *payload = bytes;
        }
        self
    }

    /// With other bands of scores; without effect on rankings. Embeddings whose directions are
    /// nearly random leave most scores unused ([`Bands::tail`]).
    #[must_use]
    pub fn bands(mut self, other: Bands) -> Self {
        if let Task::Match { bands, .. } = &mut self.task {
            *bands = other;
        }
        self
    }

    /// For at most so many records.
    #[must_use]
    pub fn records(mut self, records: u64) -> Self {
        self.records = records;
        self
    }

    /// With a degree of 2^log_n, whatever its security; for experiments and tests only.
    #[must_use]
    pub fn insecure_log_n(mut self, log_n: u32) -> Self {
        self.insecure_log_n = Some(log_n);
        self
    }

    /// The parameters: those of the least degree and depth whose step polynomial keeps answers
    /// exact.
    ///
    /// # Errors
    /// [`Error::DimensionRange`], [`Error::GreatestNorm`], [`Error::Bands`], [`Error::Records`],
    /// [`Error::PayloadLimit`] for a plan out of range; [`Error::Gap`] for bands that no polynomial
    /// tells apart well enough.
    pub fn params(&self) -> Result<Params> {
        self.check()?;
        let Task::Match { bands, payload } = self.task else {
            return self.with_chain(
                self.insecure_log_n.unwrap_or(RANK_DEGREE),
                &[50, 40],
                [52, 52],
                40.0,
                None,
            );
        };
        let degrees = self.insecure_log_n.map_or(MATCH_DEGREES.to_vec(), |log_n| vec![log_n]);
        let mut refused = None;
        for log_n in degrees {
            let error = noise::score_error(log_n, self.metric.coefficients(self.dimension));
            let found = bands.widened(error).cheapest(self.needed_error(log_n, payload));
            let built = found.and_then(|step| {
                let depth = step.polynomial.requirements().depth + 2;
                let chain: Vec<u32> = std::iter::once(48).chain(std::iter::repeat_n(34, depth)).collect();
                self.with_chain(log_n, &chain, [54, 54], 34.0, Some(step))
            });
            match built {
                Ok(params) => return Ok(params),
                Err(error) => refused = Some(error),
            }
        }
        Err(refused.unwrap_or(Error::Records { found: self.records, limit: MAX_RECORDS }))
    }

    fn check(&self) -> Result<()> {
        let (lowest, highest) = DIMENSIONS;
        if !(lowest..=highest).contains(&self.dimension) {
            return Err(Error::DimensionRange { found: self.dimension, lowest, highest });
        }
        if !(1..=MAX_RECORDS).contains(&self.records) {
            return Err(Error::Records { found: self.records, limit: MAX_RECORDS });
        }
        self.metric.check()?;
        if let Task::Match { bands, payload } = &self.task {
            bands.check()?;
            payload::check(*payload)?;
        }
        // The query's coefficients take a quarter of the degree at most.
        if let Some(log_n) = self.insecure_log_n {
            let highest = (1usize << log_n.min(31)) / 4 - 2;
            if self.dimension > highest {
                return Err(Error::DimensionRange { found: self.dimension, lowest, highest });
            }
        }
        Ok(())
    }

    fn segments(&self, log_n: u32) -> usize {
        self.records.div_ceil(1 << (log_n - 1)) as usize
    }

    /// The largest error of the step: summed over all segments it changes neither a digit nor the
    /// index of a segment.
    fn needed_error(&self, log_n: u32, payload: usize) -> f64 {
        let segments = self.segments(log_n) as f64;
        let finest = if payload == 0 { 1.0 } else { payload::BASE };
        LEAK / (segments * finest.max(segments / 2.0))
    }

    fn with_chain(
        &self,
        log_n: u32,
        q_bits: &[u32],
        p_bits: [u32; 2],
        scale: f64,
        step: Option<Step>,
    ) -> Result<Params> {
        let spec = CkksSpec::from_bits(log_n, q_bits, &p_bits, scale)?;
        let ckks = match self.insecure_log_n {
            None => CkksParams::try_from(spec)?,
            Some(_) => CkksParams::insecure(spec)?,
        };
        Ok(Params(Arc::new(Inner { plan: *self, ckks, step })))
    }
}

#[derive(Debug)]
struct Inner {
    plan: Plan,
    ckks: CkksParams,
    step: Option<Step>,
}

/// The parameters of an index, as a cheap handle. Equal plans have equal parameters.
#[derive(Clone, Debug)]
pub struct Params(Arc<Inner>);

impl Params {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    /// The parameters of all ciphertexts.
    pub fn ckks(&self) -> &CkksParams {
        &self.0.ckks
    }

    /// The step polynomial of matches.
    ///
    /// # Errors
    /// [`Error::Task`] for parameters of rankings.
    pub fn step(&self) -> Result<&Step> {
        let found = self.plan().task.name();
        self.0.step.as_ref().ok_or(Error::Task { found, needed: "matches" })
    }

    /// The records that a segment holds: N / 2.
    pub fn slots(&self) -> usize {
        self.ckks().slots()
    }

    /// The segments of the planned number of records.
    pub fn segments(&self) -> usize {
        self.plan().segments(self.ckks().rlwe().ring().log_n())
    }

    /// The factor and the summand of the map from scores to the values that are computed.
    pub(crate) fn map(&self) -> (f64, f64) {
        match &self.plan().task {
            Task::Match { bands, .. } => bands.widened(self.score_error()).map(),
            Task::Rank => (1.0, 0.0),
        }
    }

    /// Eight standard deviations of the error of a score.
    pub fn score_error(&self) -> f64 {
        match self.plan().task {
            Task::Match { .. } => noise::score_error(self.log_n(), self.coefficients()),
            Task::Rank => noise::ranking_error(self.log_n(), self.coefficients()),
        }
    }

    fn log_n(&self) -> u32 {
        self.ckks().rlwe().ring().log_n()
    }

    /// The columns of each segment.
    pub fn columns(&self) -> usize {
        self.plan().metric.columns(self.plan().dimension)
    }

    /// The constants into which a query is expanded: a power of two.
    pub(crate) fn expanded(&self) -> usize {
        self.coefficients().next_power_of_two()
    }

    /// The coefficients of each query.
    pub(crate) fn coefficients(&self) -> usize {
        self.plan().metric.coefficients(self.plan().dimension)
    }

    /// The bytes of each payload.
    pub fn payload(&self) -> usize {
        match self.plan().task {
            Task::Match { payload, .. } => payload,
            Task::Rank => 0,
        }
    }

    /// The ciphertexts of a segment's payloads: none for rankings, and those of the marker and the
    /// digits for matches.
    pub fn payload_ciphertexts(&self) -> usize {
        self.0.step.as_ref().map_or(0, |_| payload::ciphertexts(self.payload()))
    }

    /// The keys of whoever answers queries: relinearisation; a rotation for each round of the
    /// expansion; and the rotation by one, by which many segments are added in two arrangements.
    pub fn requirements(&self) -> KeyRequirements {
        let keys = KeyRequirements::new().relinearisation();
        let keys = keys.expansion(self.log_n(), self.expanded());
        match self.plan().task {
            Task::Match { .. } => keys.rotations([1]),
            Task::Rank => keys,
        }
    }

    /// The rotations of [`requirements`](Self::requirements), each of which is one key.
    pub fn rotation_steps(&self) -> Vec<i64> {
        let (log_n, order) = (self.log_n(), 1i64 << (self.log_n() - 1));
        let step = |g: u64| (0..order).find(|&step| galois_rotation(step, log_n) == g);
        self.requirements().galois_elements(log_n).into_iter().filter_map(step).collect()
    }

    /// The keys that merge segments of any number of records: rotations by powers of two.
    pub fn merge_requirements(&self) -> KeyRequirements {
        KeyRequirements::new().rotations((0..self.log_n() - 1).map(|i| 1i64 << i))
    }
}
