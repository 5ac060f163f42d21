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

    /// Near one in the slots of matches and near zero in all others.
    fn indicator(&self, segment: &Segment<B>) -> Result<Ciphertext<B>> {
        let step = self.params.step()?;
        Ok(step.polynomial.apply(&self.ev, &self.mapped_scores(segment)?, self.keys)?)
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
        Ok(Counting { search: self, sum: None, segments: 0 })
    }

    /// The payloads of matches, to which segments are added.
    ///
    /// # Errors
    /// [`Error::Task`] for parameters of rankings.
    pub fn fetch(&self) -> Result<Fetching<'_, 'k, B>> {
        self.params.step()?;
        Ok(Fetching { search: self, apart: Vec::new(), sums: None, segments: 0 })
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

/// A count of matches under way. One segment is in memory at a time.
#[derive(Debug)]
pub struct Counting<'s, 'k, B: RingOps = Cpu> {
    search: &'s Search<'k, B>,
    sum: Option<Ciphertext<B>>,
    segments: usize,
}

impl<B: RingOps> Counting<'_, '_, B> {
    /// Adds the matches of a segment: scores, step, mask and sum.
    ///
    /// # Errors
    /// [`Error::Segments`], [`Error::Shape`], another key set; device errors.
    pub fn add(&mut self, segment: &Segment<B>) -> Result<()> {
        let search = self.search;
        search.admit(self.segments + 1)?;
        let hits = search.indicator(segment)?;
        let mask = search.mask(&segment.occupancy, hits.level())?;
        search.added(&mut self.sum, search.ev.mul_plain(&hits, &mask)?)?;
        self.segments += 1;
        Ok(())
    }

    /// The answer: one ciphertext of the lowest level, whose slots count the matches in them.
    ///
    /// # Errors
    /// [`Error::Shape`] without segments.
    pub fn finish(self) -> Result<Answer<B>> {
        let none = Error::Shape { object: "the index", part: "segments", found: 0, expected: 1 };
        Ok(Answer::Count { hits: self.sum.ok_or(none)?, segments: self.segments })
    }
}

/// Payloads of matches under way. One segment is in memory at a time.
#[derive(Debug)]
pub struct Fetching<'s, 'k, B: RingOps = Cpu> {
    search: &'s Search<'k, B>,
    /// The payloads of segments that are answered apart.
    apart: Vec<Vec<Ciphertext<B>>>,
    /// The sums of all segments in two arrangements.
    sums: Option<[Vec<Ciphertext<B>>; 2]>,
    segments: usize,
}

impl<B: RingOps> Fetching<'_, '_, B> {
    /// Adds the payloads of a segment's matches: scores, step, and a product per ciphertext of
    /// payloads; with more than two segments planned also a rotation each.
    ///
    /// # Errors
    /// [`Error::Segments`], [`Error::Shape`], another key set; device errors.
    pub fn add(&mut self, segment: &Segment<B>) -> Result<()> {
        self.search.admit(self.segments + 1)?;
        let masked = self.masked(segment)?;
        self.segments += 1;
        match Layout::matches(&self.search.params, self.segments) {
            Layout::Apart { .. } => self.apart.push(masked),
            _ => self.sum(masked)?,
        }
        Ok(())
    }

    /// The payloads of live matches, and zero in all other slots.
    fn masked(&self, segment: &Segment<B>) -> Result<Vec<Ciphertext<B>>> {
        let Search { ev, keys, .. } = self.search;
        let hits = self.search.indicator(segment)?;
        let occupancy = &segment.occupancy;
        let mask = occupancy.has_deleted().then(|| self.search.mask(occupancy, PAYLOAD_LEVEL)).transpose()?;
        let product = |payload: &Ciphertext<B>| match &mask {
            None => ev.mul(&hits, payload, keys),
            Some(mask) => ev.mul(&hits, &ev.mul_plain(payload, mask)?, keys),
        };
        Ok(segment.payload.iter().map(product).collect::<he_core::Result<_>>()?)
    }

    /// Adds payloads to both arrangements: as they are, and by Horner's rule each rotated by the
    /// number of segments after it. The markers times the number of the segment, from 1, come last.
    fn sum(&mut self, mut masked: Vec<Ciphertext<B>>) -> Result<()> {
        let Search { ev, keys, .. } = self.search;
        let numbered = masked.first().map(|first| ev.mul_integer(first, self.segments as i64));
        masked.extend(numbered.transpose()?);
        let Some([plain, turned]) = &mut self.sums else {
            let copy = masked.iter().map(Ciphertext::duplicate).collect::<he_core::Result<_>>()?;
            self.sums = Some([copy, masked]);
            return Ok(());
        };
        for ((plain, turned), payload) in plain.iter_mut().zip(turned).zip(&masked) {
            ev.add_assign(plain, payload)?;
            *turned = ev.rotate(turned, 1, keys)?;
            ev.add_assign(turned, payload)?;
        }
        Ok(())
    }

    /// The answer.
    ///
    /// # Errors
    /// [`Error::Shape`] without segments.
    pub fn finish(self) -> Result<Answer<B>> {
        match self.sums {
            Some([plain, turned]) => Ok(Answer::Arranged { segments: self.segments, plain, turned }),
            None if !self.apart.is_empty() => Ok(Answer::Apart { segments: self.apart }),
            None => Err(Error::Shape { object: "the index", part: "segments", found: 0, expected: 1 }),
        }
    }
}
