//! The predicted sizes, operations and failures of an index.

use crate::answer::Layout;
use crate::metric::Metric;
use crate::plan::{Params, Task};
use crate::segment::PAYLOAD_LEVEL;
use he_core::rlwe::KeyRequirements;

/// Predictions for an index of the planned number of records, with all segments full. Bytes are
/// those of files, without their headers.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// The segments.
    pub segments: usize,
    /// The degree of the step polynomial, 0 for rankings.
    pub degree: usize,
    /// The largest error of the step polynomial, 0 for rankings.
    pub step_error: f64,
    /// The bound of errors of scores.
    pub score_error: f64,
    /// The evaluation keys of whoever answers.
    pub key_bytes: u64,
    /// The further keys of whoever merges segments with gaps.
    pub merge_key_bytes: u64,
    /// All segments, sealed.
    pub index_bytes: u64,
    /// A segment in memory.
    pub segment_memory: u64,
    /// A query.
    pub query_bytes: u64,
    /// The answers: to a count or a fetch if there are matches to ask for, and to a ranking.
    pub answer_bytes: [u64; 3],
    /// The key switches of the expansion, once per query.
    pub expansion_switches: usize,
    /// The products of two ciphertexts for the scores of a segment, relinearised together.
    pub score_products: usize,
    /// The relinearisations of the step polynomial per segment.
    pub step_relinearisations: usize,
    /// The products of a fetch per segment.
    pub payload_products: usize,
    /// The bound on the probability that any record of random direction is outside of the lower
    /// band. `None` for rankings, for other metrics than the cosine, and where it says nothing:
    /// many directions are then between the bands, whose records are undecided, and bands that end
    /// at -1 and 1 leave none beyond them.
    pub outside: Option<f64>,
    /// The bound on the probability that so many matches of random positions are tangled.
    pub tangled: f64,
}

/// The matches for which the probability of tangles is stated.
pub const TANGLED_MATCHES: u32 = 32;

/// log2 of a modulus of these primes as residues are packed.
fn bits(primes: &[u64]) -> u64 {
    primes.iter().map(|q| u64::from(64 - q.leading_zeros())).sum()
}

impl Params {
    /// The bytes of one polynomial at a level.
    fn poly_bytes(&self, level: usize) -> u64 {
        let primes = self.ckks().levels()[level].primes;
        self.n() * bits(&self.ckks().rlwe().ring().q()[..primes]) / 8
    }

    fn n(&self) -> u64 {
        self.ckks().rlwe().ring().n() as u64
    }

    /// The bytes of so many switching keys, whose second parts are seeds.
    fn keys_bytes(&self, keys: &KeyRequirements) -> u64 {
        let rlwe = self.ckks().rlwe();
        let ring = rlwe.ring();
        let count = keys.galois_elements(ring.log_n()).len() + usize::from(keys.needs_relinearisation());
        (count * rlwe.digits().len()) as u64 * self.n() * (bits(ring.q()) + bits(ring.p())) / 8
    }

    /// The predictions: bytes by the formulas of docs/format.md, operations by counting, failures
    /// by the bounds of [`Bands::tail`](crate::Bands::tail) and of peeling.
    ///
    /// Matches are tangled if four of them meet in a circle: two and two in slots of the first
    /// arrangement, and crosswise in the second. M^4 / 8 circles of M matches each exist with
    /// probability 1 / (S^3 n) at most, for S slots and n segments.
    pub fn facts(&self) -> Facts {
        let (segments, top) = (self.segments(), self.ckks().max_level());
        let step = self.step().ok();
        let payloads = self.payload_ciphertexts();
        let fresh = self.columns() as u64 * self.poly_bytes(top)
            + if payloads > 0 { payloads as u64 * self.poly_bytes(PAYLOAD_LEVEL) } else { 0 };
        let limbs = |level: usize| self.ckks().levels()[level].primes as u64 * self.n() * 16;
        let memory = self.columns() as u64 * limbs(top)
            + if payloads > 0 { payloads as u64 * limbs(PAYLOAD_LEVEL) } else { 0 };
        let answer = 2 * self.poly_bytes(0);
        let layout = Layout::matches(self, segments);
        let fetched = layout.ciphertexts(self) as u64;
        let matches = u64::from(step.is_some());
        let outside = match (&self.plan().task, self.plan().metric) {
            (Task::Match { bands, .. }, Metric::Cosine) => {
                let bound = bands.tail(self.plan().dimension) * self.plan().records as f64;
                Some(bound).filter(|&bound| bound < 1.0)
            }
            _ => None,
        };
        let tangled =
            f64::from(TANGLED_MATCHES).powi(4) / (8.0 * (self.slots() as f64).powi(3) * segments as f64);
        Facts {
            segments,
            degree: step.map_or(0, |step| step.polynomial.degree()),
            step_error: step.map_or(0.0, |step| step.error),
            score_error: self.score_error(),
            key_bytes: self.keys_bytes(&self.requirements()),
            merge_key_bytes: self.keys_bytes(&self.merge_requirements()),
            index_bytes: segments as u64 * fresh,
            segment_memory: memory,
            query_bytes: self.poly_bytes(top),
            answer_bytes: [matches * answer, matches * fetched * answer, segments as u64 * answer],
            expansion_switches: self.expanded() - 1,
            score_products: self.columns(),
            step_relinearisations: step.map_or(0, |step| step.polynomial.relinearisations()),
            payload_products: payloads,
            outside,
            tangled: match layout {
                Layout::Arranged { .. } if payloads > 0 => tangled.min(1.0),
                _ => 0.0,
            },
        }
    }
}

impl std::fmt::Display for Facts {
    /// The predictions, one a line.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mb = |bytes: u64| bytes as f64 / 1e6;
        writeln!(
            f,
            "segments: {}, {:.1} MB in all, {:.1} MB of memory each",
            self.segments,
            mb(self.index_bytes),
            mb(self.segment_memory)
        )?;
        writeln!(
            f,
            "evaluation keys: {:.1} MB, and {:.1} MB to merge segments",
            mb(self.key_bytes),
            mb(self.merge_key_bytes)
        )?;
        let [count, fetch, scores] = self.answer_bytes.map(mb);
        writeln!(
            f,
            "query: {:.2} MB; answers: count {count:.2} MB, fetch {fetch:.2} MB, ranking {scores:.2} MB",
            mb(self.query_bytes)
        )?;
        writeln!(f, "design: levelled; key switches per query: {}", self.expansion_switches)?;
        writeln!(
            f,
            "per segment: {} products for scores, {} relinearisations for the step, {} products for payloads",
            self.score_products, self.step_relinearisations, self.payload_products
        )?;
        write!(f, "error of scores: at most {:.1e}", self.score_error)?;
        if self.degree == 0 {
            return Ok(());
        }
        write!(f, "\nstep polynomial: degree {}, largest error {:.1e}", self.degree, self.step_error)?;
        match self.outside {
            Some(bound) => {
                write!(
                    f,
                    "\nprobability that any record of random direction is outside of the bands: {bound:.1e}"
                )
            }
            None => write!(f, "\nrecords between the bands are undecided: no bound on how many there are"),
        }?;
        if self.tangled > 0.0 {
            write!(f, "\nprobability that {TANGLED_MATCHES} matches are tangled: {:.1e}", self.tangled)?;
        }
        Ok(())
    }
}
