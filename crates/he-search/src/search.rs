//! The computation of answers, segment by segment.

use crate::answer::{Answer, Layout};
use crate::error::{Error, Result};
use crate::index::Index;
use crate::plan::Params;
use crate::public::PublicSegment;
use crate::segment::{Occupancy, PAYLOAD_LEVEL, Segment, check_parts};
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::{Ciphertext, Complex64, Evaluator, Plaintext};
use he_core::rlwe::EvaluationKeys;

/// The most segments whose scores wait for the step polynomial.
const MOST_SEGMENTS: usize = 16;

/// A query at whoever answers it: expanded once, then compared with any number of segments.
///
/// Nothing that it computes depends on values, neither in time nor in memory accesses.
#[derive(Debug)]
pub struct Search<'k, B: RingOps = Cpu> {
    params: Params,
    ev: Evaluator<B>,
    keys: &'k EvaluationKeys<B>,
    /// One constant for each coefficient of the query.
    constants: Vec<Ciphertext<B>>,
}

/// Records that have scores.
pub trait Records<B: RingOps> {
    /// The slots with records.
    fn occupancy(&self) -> &Occupancy;

    /// The inner products of all records with the first constants, one level below the top.
    ///
    /// # Errors
    /// [`Error::Shape`] for other columns than the parameters prescribe; device errors.
    fn products(
        &self,
        params: &Params,
        ev: &Evaluator<B>,
        constants: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>>;
}

impl<B: RingOps> Records<B> for Segment<B> {
    fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn products(
        &self,
        params: &Params,
        ev: &Evaluator<B>,
        constants: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        self.check(params)?;
        let pairs: Vec<_> = self.columns.iter().zip(constants).map(|(column, c)| [column, c]).collect();
        Ok(ev.sum_of_products(&pairs, keys)?)
    }
}

impl<B: RingOps> Records<B> for PublicSegment<B> {
    fn occupancy(&self) -> &Occupancy {
        &self.occupancy
    }

    fn products(
        &self,
        params: &Params,
        ev: &Evaluator<B>,
        constants: &[Ciphertext<B>],
        _: &EvaluationKeys<B>,
    ) -> Result<Ciphertext<B>> {
        check_parts("columns", self.columns.len(), params.columns())?;
        let terms: Vec<_> = constants.iter().zip(&self.columns).collect();
        Ok(ev.plain_combination(&terms)?)
    }
}

impl<'k, B: RingOps> Search<'k, B> {
    /// Expands a query ([`Evaluator::expand`]): D - 1 key switches, where D is the least power of
    /// two from the number of coordinates on, or from two more under the Euclidean metric.
    ///
    /// # Errors
    /// [`Error::Core`] for missing keys ([`requirements`](Params::requirements)), for a query of
    /// another key set or level; device errors.
    pub fn new(
        params: &Params,
        ev: &Evaluator<B>,
        query: &Ciphertext<B>,
        keys: &'k EvaluationKeys<B>,
    ) -> Result<Self> {
        params.requirements().check(keys)?;
        let (found, expected) = (query.level(), params.ckks().max_level());
        if found != expected {
            return Err(Error::Shape { object: "the query", part: "levels", found, expected });
        }
        if query.batch() != 1 {
            return Err(Error::Shape {
                object: "the query",
                part: "entries",
                found: query.batch(),
                expected: 1,
            });
        }
        let expanded = ev.expand(query, params.expanded(), keys)?;
        let constants = (0..params.coefficients()).map(|i| expanded.slice_batch(i..i + 1));
        let constants = constants.collect::<he_core::Result<_>>()?;
        Ok(Self { params: params.clone(), ev: ev.clone(), keys, constants })
    }

    /// The scores of a segment's records, mapped to what the step polynomial takes.
    fn mapped_scores(&self, records: &impl Records<B>) -> Result<Ciphertext<B>> {
        let mut scores = records.products(&self.params, &self.ev, &self.constants, self.keys)?;
        if let Some(summand) = self.constants.get(self.params.columns()) {
            scores = self.ev.add(&scores, summand)?;
        }
        let (_, summand) = self.params.map();
        self.ev.add_scalar_assign(&mut scores, Complex64::new(summand, 0.0))?;
        Ok(scores)
    }

    /// Near one in the slots of matches and near zero in all others, for a batch of mapped scores.
    fn indicators(&self, scores: &[Ciphertext<B>]) -> Result<Ciphertext<B>> {
        let batch = Ciphertext::concat(&scores.iter().collect::<Vec<_>>())?;
        Ok(self.params.step()?.polynomial.apply(&self.ev, &batch, self.keys)?)
    }

    /// The segments whose scores take the step polynomial as one batch.
    fn portion(&self) -> usize {
        self.ev.ring().backend().portion().min(MOST_SEGMENTS)
    }

    /// The mask of live slots, to multiply a ciphertext of this level.
    fn mask(&self, occupancy: &Occupancy, level: usize) -> Result<Plaintext<B>> {
        let to = self.params.ckks().encoding().at_level(self.params.ckks(), level)?;
        Ok(self.ev.encoder().encode_real(&occupancy.mask(self.params.slots()), to)?)
    }

    /// The scores of all records, for a ranking: one ciphertext of the lowest level per segment.
    ///
    /// # Errors
    /// [`Error::Shape`]; device errors.
    pub fn scores<'a, R: Records<B> + 'a>(
        &self,
        segments: impl IntoIterator<Item = &'a R>,
    ) -> Result<Answer<B>>
    where
        B: 'a,
    {
        let (mut scores, mut occupancies) = (Vec::new(), Vec::new());
        for segment in segments {
            let mapped = self.mapped_scores(segment)?;
            scores.push(self.ev.mod_switch_to(&mapped, 0)?);
            occupancies.push(segment.occupancy().clone());
        }
        Ok(Answer::Scores { scores, occupancies })
    }

    /// A count of matches, to which segments are added.
    ///
    /// # Errors
    /// [`Error::Task`] for parameters of rankings.
    pub fn count(&self) -> Result<Counting<'_, 'k, B>> {
        self.params.step()?;
        let (scores, occupancies) = (Vec::new(), Vec::new());
        Ok(Counting { search: self, scores, occupancies, whole: None, masked: None, segments: 0 })
    }

    /// The payloads of matches, to which segments are added.
    ///
    /// # Errors
    /// [`Error::Task`] for parameters of rankings.
    pub fn fetch(&self) -> Result<Fetching<'_, 'k, B>> {
        self.params.step()?;
        let (scores, payloads) = (Vec::new(), Vec::new());
        Ok(Fetching { search: self, scores, payloads, apart: Vec::new(), sums: None, segments: 0 })
    }

    /// The number of matches of a whole index.
    ///
    /// # Errors
    /// The errors of [`count`](Self::count) and [`Counting::add`].
    pub fn count_all(&self, index: &Index<B>) -> Result<Answer<B>> {
        let mut counting = self.count()?;
        index.segments().iter().try_for_each(|segment| counting.add(segment))?;
        counting.finish()
    }

    /// The payloads of all matches of a whole index.
    ///
    /// # Errors
    /// The errors of [`fetch`](Self::fetch) and [`Fetching::add`].
    pub fn fetch_all(&self, index: &Index<B>) -> Result<Answer<B>> {
        let mut fetching = self.fetch()?;
        index.segments().iter().try_for_each(|segment| fetching.add(segment))?;
        fetching.finish()
    }

    /// Refuses a segment beyond the planned number.
    fn admit(&self, found: usize) -> Result<()> {
        match self.params.segments() {
            planned if found > planned => Err(Error::Segments { found, planned }),
            _ => Ok(()),
        }
    }

    /// Adds b to a, which may be nothing yet.
    fn added(&self, a: &mut Option<Ciphertext<B>>, b: Ciphertext<B>) -> Result<()> {
        match a {
            None => *a = Some(b),
            Some(sum) => self.ev.add_assign(sum, &b)?,
        }
        Ok(())
    }
}

/// A count of matches under way. One segment is in memory at a time, and the scores of a few.
#[derive(Debug)]
pub struct Counting<'s, 'k, B: RingOps = Cpu> {
    search: &'s Search<'k, B>,
    /// The scores that wait, and the occupancies of their segments.
    scores: Vec<Ciphertext<B>>,
    occupancies: Vec<Occupancy>,
    /// The matches of segments with a live record in each slot.
    whole: Option<Ciphertext<B>>,
    /// The matches of others, one level lower.
    masked: Option<Ciphertext<B>>,
    segments: usize,
}

impl<B: RingOps> Counting<'_, '_, B> {
    /// Adds the matches of a segment: its scores, and as soon as those of several segments are
    /// there, step, mask and sum of all of them.
    ///
    /// # Errors
    /// [`Error::Segments`], [`Error::Shape`], another key set; device errors.
    pub fn add(&mut self, segment: &Segment<B>) -> Result<()> {
        self.search.admit(self.segments + 1)?;
        self.scores.push(self.search.mapped_scores(segment)?);
        self.occupancies.push(segment.occupancy.clone());
        self.segments += 1;
        if self.scores.len() >= self.search.portion() { self.settle() } else { Ok(()) }
    }

    /// Adds the matches of the segments that wait.
    fn settle(&mut self) -> Result<()> {
        if self.scores.is_empty() {
            return Ok(());
        }
        let search = self.search;
        let hits = search.indicators(&self.scores)?;
        for (at, occupancy) in self.occupancies.iter().enumerate() {
            let hits = hits.slice_batch(at..at + 1)?;
            if occupancy.is_full(search.params.slots()) {
                search.added(&mut self.whole, hits)?;
            } else {
                let mask = search.mask(occupancy, hits.level())?;
                search.added(&mut self.masked, search.ev.mul_plain(&hits, &mask)?)?;
            }
        }
        self.scores.clear();
        self.occupancies.clear();
        Ok(())
    }

    /// The answer: one ciphertext of the lowest level, whose slots count the matches in them.
    ///
    /// # Errors
    /// [`Error::Shape`] without segments; device errors.
    pub fn finish(mut self) -> Result<Answer<B>> {
        self.settle()?;
        let mut sum = self.masked;
        if let Some(whole) = &self.whole {
            self.search.added(&mut sum, self.search.ev.mod_switch_to(whole, 0)?)?;
        }
        let none = Error::Shape { object: "the index", part: "segments", found: 0, expected: 1 };
        Ok(Answer::Count { hits: sum.ok_or(none)?, segments: self.segments })
    }
}

/// Payloads of matches under way. One segment is in memory at a time, and the scores and payloads
/// of a few.
#[derive(Debug)]
pub struct Fetching<'s, 'k, B: RingOps = Cpu> {
    search: &'s Search<'k, B>,
    /// The scores that wait, and the payloads of live records of their segments.
    scores: Vec<Ciphertext<B>>,
    payloads: Vec<Ciphertext<B>>,
    /// The payloads of segments that are answered apart.
    apart: Vec<Vec<Ciphertext<B>>>,
    /// The sums of all segments in two arrangements.
    sums: Option<[Ciphertext<B>; 2]>,
    /// The segments that were added, those that wait included.
    segments: usize,
}

impl<B: RingOps> Fetching<'_, '_, B> {
    /// Adds the payloads of a segment's matches: its scores, and as soon as those of several
    /// segments are there, for each of them the step and a product per ciphertext of payloads; with
    /// more than two segments planned also a rotation each.
    ///
    /// # Errors
    /// [`Error::Segments`], [`Error::Shape`], another key set; device errors.
    pub fn add(&mut self, segment: &Segment<B>) -> Result<()> {
        self.search.admit(self.segments + 1)?;
        self.scores.push(self.search.mapped_scores(segment)?);
        self.payloads.push(self.live(segment)?);
        self.segments += 1;
        if self.scores.len() >= self.search.portion() { self.settle() } else { Ok(()) }
    }

    /// The payloads of live records, and zero in the slots of deleted ones.
    fn live(&self, segment: &Segment<B>) -> Result<Ciphertext<B>> {
        let payload = Ciphertext::concat(&segment.payload.iter().collect::<Vec<_>>())?;
        match segment.occupancy.has_deleted() {
            false => Ok(payload),
            true => {
                let mask = self.search.mask(&segment.occupancy, PAYLOAD_LEVEL)?;
                Ok(self.search.ev.mul_plain(&payload, &mask)?)
            }
        }
    }

    /// Adds the payloads of matches of the segments that wait, all products in one batch.
    fn settle(&mut self) -> Result<()> {
        if self.scores.is_empty() {
            return Ok(());
        }
        let Search { ev, keys, params, .. } = self.search;
        let (hits, each) = (self.search.indicators(&self.scores)?, params.payload_ciphertexts());
        let (count, before) = (self.scores.len(), self.segments - self.scores.len());
        let hits = hits.gather_batch(&(0..count * each).map(|at| at / each).collect::<Vec<_>>())?;
        let matches = ev.mul(&hits, &self.waiting()?, keys)?;
        for at in 0..count {
            let matches = matches.slice_batch(at * each..(at + 1) * each)?;
            match Layout::matches(params, before + at + 1) {
                Layout::Apart { .. } => self.apart.push(entries(&matches)?),
                _ => self.sum(before + at + 1, matches)?,
            }
        }
        self.scores.clear();
        self.payloads.clear();
        Ok(())
    }

    /// The payloads that wait, at one level: those that were masked are one lower.
    fn waiting(&self) -> Result<Ciphertext<B>> {
        let lowest = self.payloads.iter().map(Ciphertext::level).min().unwrap_or(PAYLOAD_LEVEL);
        let even = |payload| self.search.ev.mod_switch_to(payload, lowest);
        let even = self.payloads.iter().map(even).collect::<he_core::Result<Vec<_>>>()?;
        Ok(Ciphertext::concat(&even.iter().collect::<Vec<_>>())?)
    }

    /// Adds the payloads of a segment, by its number from 1, to both arrangements: as they are, and
    /// by Horner's rule each rotated by the number of segments after it. The markers times the
    /// number of the segment come last.
    fn sum(&mut self, number: usize, matches: Ciphertext<B>) -> Result<()> {
        let Search { ev, keys, .. } = self.search;
        let numbered = ev.mul_integer(&matches.slice_batch(0..1)?, number as i64)?;
        let matches = Ciphertext::concat(&[&matches, &numbered])?;
        let Some([plain, turned]) = &mut self.sums else {
            self.sums = Some([matches.duplicate()?, matches]);
            return Ok(());
        };
        ev.add_assign(plain, &matches)?;
        *turned = ev.rotate(turned, 1, keys)?;
        ev.add_assign(turned, &matches)?;
        Ok(())
    }

    /// The answer.
    ///
    /// # Errors
    /// [`Error::Shape`] without segments; device errors.
    pub fn finish(mut self) -> Result<Answer<B>> {
        self.settle()?;
        match self.sums {
            Some([plain, turned]) => {
                let (plain, turned) = (entries(&plain)?, entries(&turned)?);
                Ok(Answer::Arranged { segments: self.segments, plain, turned })
            }
            None if !self.apart.is_empty() => Ok(Answer::Apart { segments: self.apart }),
            None => Err(Error::Shape { object: "the index", part: "segments", found: 0, expected: 1 }),
        }
    }
}

/// The ciphertexts of a batch.
fn entries<B: RingOps>(batch: &Ciphertext<B>) -> Result<Vec<Ciphertext<B>>> {
    Ok((0..batch.batch()).map(|at| batch.slice_batch(at..at + 1)).collect::<he_core::Result<_>>()?)
}
