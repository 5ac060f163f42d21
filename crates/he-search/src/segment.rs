//! Segments: encrypted records, one to a slot.

use crate::error::{Error, Result};
use crate::plan::Params;
use he_core::backend::{Cpu, RingOps};
use he_core::ckks::{Ciphertext, Evaluator, SeededCiphertext};
use he_core::rlwe::EvaluationKeys;
use std::ops::Range;

/// The slots of a segment that hold records, and those of them that were not deleted. They are
/// public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occupancy {
    start: usize,
    live: Vec<bool>,
}

impl Occupancy {
    /// So many records from a slot on.
    ///
    /// # Errors
    /// [`Error::SegmentFull`] if they exceed the slots of a segment.
    pub fn new(params: &Params, start: usize, records: usize) -> Result<Self> {
        let slots = params.slots();
        match start.checked_add(records) {
            Some(end) if end <= slots => Ok(Self { start, live: vec![true; records] }),
            _ => Err(Error::SegmentFull { found: records, start, slots }),
        }
    }

    /// The slots with records, deleted ones included.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.live.len()
    }

    /// Whether a slot holds a record that was not deleted.
    pub fn is_live(&self, slot: usize) -> bool {
        slot.checked_sub(self.start).is_some_and(|at| self.live.get(at).copied().unwrap_or(false))
    }

    /// The number of records that were not deleted.
    pub fn records(&self) -> usize {
        self.live.iter().filter(|live| **live).count()
    }

    /// Whether each of so many slots holds a record that was not deleted.
    pub(crate) fn is_full(&self, slots: usize) -> bool {
        self.records() == slots
    }

    /// Whether a record was deleted.
    pub fn has_deleted(&self) -> bool {
        self.records() < self.live.len()
    }

    /// Marks the record of a slot as deleted.
    ///
    /// # Errors
    /// [`Error::NoRecord`].
    pub fn delete(&mut self, slot: usize) -> Result<()> {
        if !self.is_live(slot) {
            let records = self.records();
            return Err(Error::NoRecord { segment: 0, slot, records, segments: 1 });
        }
        self.live[slot - self.start] = false;
        Ok(())
    }

    /// One in live slots and zero in all others.
    pub(crate) fn mask(&self, slots: usize) -> Vec<f64> {
        (0..slots).map(|slot| f64::from(u8::from(self.is_live(slot)))).collect()
    }

    /// These records and then others, without a gap.
    fn followed_by(&self, other: &Self, slots: usize) -> Result<Self> {
        let end = self.range().end;
        if end + other.live.len() > slots {
            return Err(Error::SegmentFull { found: other.live.len(), start: end, slots });
        }
        Ok(Self { start: self.start, live: [self.live.as_slice(), &other.live].concat() })
    }
}

/// Checks how many parts of a kind a segment has.
pub(crate) fn check_parts(part: &'static str, found: usize, expected: usize) -> Result<()> {
    match found == expected {
        true => Ok(()),
        false => Err(Error::Shape { object: "the segment", part, found, expected }),
    }
}

/// The levels at which records are encrypted: columns at the top, payloads two above the result,
/// one for a mask and one for the product by the indicator.
pub(crate) const PAYLOAD_LEVEL: usize = 2;

/// A segment as its owner encrypts it: by the secret key, hence in half the bytes.
#[derive(Debug)]
pub struct SealedSegment<B: RingOps = Cpu> {
    /// The slots with records.
    pub occupancy: Occupancy,
    /// The columns.
    pub columns: Vec<SeededCiphertext<B>>,
    /// The payloads: the marker, which is one, and the digits.
    pub payload: Vec<SeededCiphertext<B>>,
}

impl<B: RingOps> SealedSegment<B> {
    /// The segment with both parts of every ciphertext.
    ///
    /// # Errors
    /// Device errors.
    pub fn expand(self) -> Result<Segment<B>> {
        let expand = |parts: Vec<SeededCiphertext<B>>| parts.into_iter().map(SeededCiphertext::expand);
        Ok(Segment {
            occupancy: self.occupancy,
            columns: expand(self.columns).collect::<he_core::Result<_>>()?,
            payload: expand(self.payload).collect::<he_core::Result<_>>()?,
        })
    }
}

/// A segment as it is searched: up to N / 2 records, of which column j has coordinate j of every
/// record, each in its slot.
#[derive(Debug)]
pub struct Segment<B: RingOps = Cpu> {
    /// The slots with records.
    pub occupancy: Occupancy,
    /// The columns.
    pub columns: Vec<Ciphertext<B>>,
    /// The payloads: the marker, which is one, and the digits.
    pub payload: Vec<Ciphertext<B>>,
}

impl<B: RingOps> Segment<B> {
    /// Checks that it has the ciphertexts of these parameters.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self, params: &Params) -> Result<()> {
        let parts = [
            ("columns", self.columns.len(), params.columns()),
            ("ciphertexts of payloads", self.payload.len(), params.payload_ciphertexts()),
        ];
        parts.into_iter().try_for_each(|(part, found, expected)| check_parts(part, found, expected))
    }

    /// These records, then those of another segment: the ciphertexts are added, after rotations
    /// where the records of the other do not begin in the slot after these. Noise adds up as in
    /// any sum. The records of the other have other slots from then on.
    ///
    /// # Errors
    /// [`Error::SegmentFull`] if the records of both exceed the slots; [`Error::Shape`];
    /// [`Error::Core`] for a missing rotation key
    /// ([`merge_requirements`](Params::merge_requirements)) or another key set; device errors.
    pub fn merge(
        &self,
        other: &Self,
        params: &Params,
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
    ) -> Result<Self> {
        self.check(params)?;
        other.check(params)?;
        let occupancy = self.occupancy.followed_by(&other.occupancy, params.slots())?;
        let step = other.occupancy.start as i64 - self.occupancy.range().end as i64;
        let join = |(a, b): (&Ciphertext<B>, &Ciphertext<B>)| match step {
            0 => ev.add(a, b),
            _ => ev.add(a, &ev.rotate(b, step, keys)?),
        };
        let all = |a: &[Ciphertext<B>], b: &[Ciphertext<B>]| {
            a.iter().zip(b).map(join).collect::<he_core::Result<Vec<_>>>()
        };
        let (columns, payload) = (all(&self.columns, &other.columns)?, all(&self.payload, &other.payload)?);
        Ok(Self { occupancy, columns, payload })
    }
}
