//! Matches out of decrypted sums in two arrangements.

use crate::error::{Error, Result};
use crate::index::Position;
use crate::payload;
use num_complex::Complex64;

/// The distance from an integer at which a marker is taken for it. Errors are far smaller, and a
/// record that leads further away has a score between the bands.
pub(crate) const TOLERANCE: f64 = 0.125;

/// A record that matches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Match {
    /// Its place.
    pub position: Position,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The matches of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// The matches, by their positions.
    pub found: Vec<Match>,
    /// The slots with a record whose score is between the bands.
    pub undecided: usize,
}

/// Whether the marker of a slot is one, zero, or neither.
pub(crate) fn decided(marker: f64) -> Option<u64> {
    let near = marker.round();
    ((marker - near).abs() <= TOLERANCE && near >= 0.0).then_some(near as u64)
}

/// The slots of the first ciphertexts of a sum at one place.
fn at(sums: &[Vec<Complex64>], slot: usize) -> Vec<Complex64> {
    sums.iter().map(|values| values[slot]).collect()
}

/// The matches of one segment whose payloads were not added to others.
pub(crate) fn apart(segment: usize, sums: &[Vec<Complex64>], bytes: usize, matches: &mut Matches) {
    let Some(markers) = sums.first() else { return };
    for (slot, marker) in markers.iter().enumerate() {
        match decided(marker.re) {
            Some(0) => (),
            Some(1) => {
                let payload = payload::unpack(&at(sums, slot), bytes);
                matches.found.push(Match { position: Position { segment, slot }, payload });
            }
            _ => matches.undecided += 1,
        }
    }
}

/// Two arrangements of the sums of many segments, whose last vector has the markers times the
/// number of the segment.
pub(crate) struct Arrangements {
    pub(crate) segments: usize,
    pub(crate) bytes: usize,
    pub(crate) sums: [Vec<Vec<Complex64>>; 2],
}

impl Arrangements {
    fn slots(&self) -> usize {
        self.sums[0].first().map_or(0, Vec::len)
    }

    /// The slot of a record in an arrangement.
    fn slot(&self, arrangement: usize, position: Position) -> usize {
        let turned = arrangement * (self.segments - 1 - position.segment);
        (position.slot + self.slots() - turned % self.slots()) % self.slots()
    }

    /// The record that is alone in a slot of an arrangement.
    fn single(&self, arrangement: usize, slot: usize) -> Option<Match> {
        let values = at(&self.sums[arrangement], slot);
        if decided(values.first()?.re)? != 1 {
            return None;
        }
        let segment = (decided(values.last()?.re)? as usize).checked_sub(1)?;
        if segment >= self.segments {
            return None;
        }
        let turned = arrangement * (self.segments - 1 - segment);
        let position = Position { segment, slot: (slot + turned) % self.slots() };
        Some(Match { position, payload: payload::unpack(&values[..values.len() - 1], self.bytes) })
    }

    /// Subtracts a record from both arrangements.
    fn remove(&mut self, found: &Match) {
        let mut values = payload::pack(&found.payload);
        values.push(values[0] * (found.position.segment + 1) as f64);
        for arrangement in 0..2 {
            let slot = self.slot(arrangement, found.position);
            self.sums[arrangement].iter_mut().zip(&values).for_each(|(sums, value)| sums[slot] -= value);
        }
    }

    /// All matches, slot by slot until no slot has a single one.
    pub(crate) fn peel(mut self) -> Result<Matches> {
        let mut matches = Matches::default();
        loop {
            let before = matches.found.len();
            for arrangement in 0..2 {
                for slot in 0..self.slots() {
                    if let Some(found) = self.single(arrangement, slot) {
                        self.remove(&found);
                        matches.found.push(found);
                    }
                }
            }
            if matches.found.len() == before {
                break;
            }
        }
        let rests: Vec<Option<u64>> = self.sums[0].iter().take(1).flatten().map(|z| decided(z.re)).collect();
        matches.undecided = rests.iter().filter(|rest| rest.is_none()).count();
        let left: u64 = rests.into_iter().flatten().sum();
        if left > 0 && matches.undecided == 0 {
            let left = left as usize;
            return Err(Error::Tangled { left, matches: left + matches.found.len() });
        }
        matches.found.sort();
        Ok(matches)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

    /// The sums of records at these positions, with noise.
    fn arranged(slots: usize, segments: usize, records: &[Match], rng: &mut impl Rng) -> Arrangements {
        let vectors = payload::pack(&records[0].payload).len() + 1;
        let mut noise = || Complex64::new(rng.random_range(-1e-5..1e-5), rng.random_range(-1e-5..1e-5));
        let mut sums = || (0..vectors).map(|_| (0..slots).map(|_| noise()).collect()).collect();
        let sums = [sums(), sums()];
        let mut all = Arrangements { segments, bytes: records[0].payload.len(), sums };
        for record in records {
            all.remove(record);
        }
        all.sums.iter_mut().flatten().flatten().for_each(|z| *z = -*z);
        all
    }

    #[test]
    fn records_of_any_segments_are_peeled() {
        let seed: u64 = he_core::rand::rng().random();
        println!("seed {seed}");
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (slots, segments) = (512, 40);
        let (mut peeled, mut tangled) = (0, 0);
        for _ in 0..200 {
            let mut records: Vec<Match> = (0..16)
                .map(|_| {
                    let position =
                        Position { segment: rng.random_range(0..segments), slot: rng.random_range(0..slots) };
                    Match { position, payload: rng.random::<[u8; 5]>().to_vec() }
                })
                .collect();
            records.sort();
            records.dedup_by_key(|record| record.position);
            match arranged(slots, segments, &records, &mut rng).peel() {
                Ok(matches) => {
                    assert_eq!(matches, Matches { found: records, undecided: 0 });
                    peeled += 1;
                }
                Err(Error::Tangled { .. }) => tangled += 1,
                Err(error) => panic!("{error}"),
            }
        }
        // By the bound of Facts, one in 600 000 draws is tangled.
        assert!(peeled >= 199 && tangled <= 1, "{peeled} {tangled}");
    }

    /// Four records, of which each shares its slot in either arrangement with another one.
    #[test]
    fn a_circle_is_reported_and_three_of_it_are_found() {
        let record = |segment, slot| {
            let position = Position { segment, slot };
            Match { position, payload: vec![7] }
        };
        // In the second arrangement of three segments, their slots are 3, 4, 3 and 4.
        let records = [record(0, 5), record(1, 5), record(1, 4), record(2, 4)];
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let circle = arranged(64, 3, &records, &mut rng).peel();
        assert!(matches!(circle, Err(Error::Tangled { left: 4, matches: 4 })), "{circle:?}");
        let broken = arranged(64, 3, &records[1..], &mut rng).peel().unwrap();
        let positions: Vec<Position> = broken.found.iter().map(|found| found.position).collect();
        assert_eq!(positions, [records[2].position, records[1].position, records[3].position]);
    }
}
