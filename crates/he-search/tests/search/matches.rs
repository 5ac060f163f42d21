//! Counts and payloads of matches, and changes of the index.

use crate::plain::{is_near, value};
use crate::setup::{LOG_N, Setup, payload, records, rng, vector};
use he_search::{Count, Index, Match, Metric, Plan, Position, Search};
use rand::rngs::ChaCha20Rng;

const DIMENSION: usize = 16;

fn plan(metric: Metric, (threshold, margin): (f64, f64), records: u64) -> Plan {
    Plan::matching(DIMENSION, metric, threshold, margin).payload(5).records(records).insecure_log_n(LOG_N)
}

/// An index of these records with payloads, built at once.
fn index(setup: &Setup, records: &[Vec<f64>], rng: &mut ChaCha20Rng) -> Index {
    let mut index = Index::new(&setup.params);
    let slots = setup.params.slots();
    for (i, part) in records.chunks(slots).enumerate() {
        let payloads: Vec<[u8; 5]> = (0..part.len()).map(|j| payload(i * slots + j)).collect();
        let sealed = setup.client.segment(0, part, &payloads, rng).unwrap();
        index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
    }
    index
}

/// The count and the matches of a query.
fn ask(setup: &Setup, index: &Index, query: &[f64], rng: &mut ChaCha20Rng) -> (Count, Vec<Match>) {
    let query = setup.client.query(query, rng).unwrap().expand().unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query, &setup.keys).unwrap();
    let count = setup.client.count(&search.count_all(index).unwrap()).unwrap();
    let matches = setup.client.matches(&search.fetch_all(index).unwrap()).unwrap();
    assert_eq!(matches.undecided, 0);
    (count, matches.found)
}

/// The matches of plain records: record i in slot i mod `slots`.
fn expected(metric: Metric, threshold: f64, query: &[f64], records: &[Vec<f64>], slots: usize) -> Vec<Match> {
    let near = |x: &[f64]| is_near(metric, value(metric, query, x), threshold);
    let all = records.iter().enumerate().filter(|(_, x)| near(x));
    all.map(|(i, _)| Match {
        position: Position { segment: i / slots, slot: i % slots },
        payload: payload(i).to_vec(),
    })
    .collect()
}

/// Every metric, in one segment, in two that are answered apart, and in four in two arrangements.
#[test]
fn counts_and_payloads_are_those_of_plain_numbers() {
    let mut rng = rng();
    let cases = [
        (Metric::Cosine, (0.8, 0.12), 40),
        (Metric::Dot { norm: 1.0 }, (0.6, 0.15), 100),
        (Metric::Euclidean { norm: 1.0 }, (0.6, 0.2), 200),
    ];
    for (metric, at, count) in cases {
        let setup = Setup::new(plan(metric, at, count as u64), &mut rng);
        let query = vector(DIMENSION, &mut rng);
        let records = records(metric, &query, at, count, &mut rng);
        let index = index(&setup, &records, &mut rng);
        let (count, found) = ask(&setup, &index, &query, &mut rng);
        let expected = expected(metric, at.0, &query, &records, setup.params.slots());
        assert_eq!(found, expected, "{metric:?}");
        assert_eq!(count, Count { matches: expected.len() as u64, undecided: 0 }, "{metric:?}");
    }
}

/// Nine segments, of which a processor takes eight through the step polynomial at once, with few
/// matches.
#[test]
fn segments_beyond_a_portion_are_counted_and_fetched() {
    let mut rng = rng();
    let (metric, at) = (Metric::Cosine, (0.8, 0.12));
    let setup = Setup::new(plan(metric, at, 520), &mut rng);
    let query = vector(DIMENSION, &mut rng);
    let mut records = records(metric, &query, at, 1000, &mut rng);
    let mut matches = 0;
    records.retain(|x| {
        let is_match = value(metric, &query, x) > at.0;
        matches += u32::from(is_match);
        !is_match || matches % 16 == 1
    });
    records.truncate(520);
    let index = index(&setup, &records, &mut rng);
    let (count, found) = ask(&setup, &index, &query, &mut rng);
    let expected = expected(metric, at.0, &query, &records, setup.params.slots());
    assert!(!expected.is_empty());
    assert_eq!(found, expected);
    assert_eq!(count, Count { matches: expected.len() as u64, undecided: 0 });
}

/// Records that were appended in pieces, merged and deleted are those of an index built at once.
#[test]
fn changes_lead_to_the_index_that_is_built_at_once() {
    let mut rng = rng();
    let (metric, at) = (Metric::Cosine, (0.75, 0.15));
    let setup = Setup::new(plan(metric, at, 192), &mut rng);
    let query = vector(DIMENSION, &mut rng);
    let records = records(metric, &query, at, 90, &mut rng);
    let mut index = Index::new(&setup.params);
    let mut append = |index: &mut Index, range: std::ops::Range<usize>, start: usize| {
        let payloads: Vec<[u8; 5]> = range.clone().map(payload).collect();
        let sealed = setup.client.segment(start, &records[range], &payloads, &mut rng).unwrap();
        index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
    };
    // The second joins the first; the third begins a segment, whose records are rotated when it is
    // merged; the fourth stays one of its own.
    append(&mut index, 0..20, 0);
    let next = index.next_slot();
    append(&mut index, 20..33, next);
    append(&mut index, 33..64, 0);
    append(&mut index, 64..90, 0);
    let sizes = |index: &Index| index.segments().iter().map(|s| s.occupancy.records()).collect::<Vec<_>>();
    assert_eq!(sizes(&index), [33, 31, 26]);
    index.merge(&setup.ev, &setup.keys).unwrap();
    assert_eq!(sizes(&index), [64, 26]);
    let expected = expected(metric, at.0, &query, &records, setup.params.slots());
    let (count, found) = ask(&setup, &index, &query, &mut rng);
    assert_eq!(found, expected);
    assert_eq!(count.matches, expected.len() as u64);
    // Every second match and one other record are deleted.
    let gone: Vec<Position> = expected.iter().step_by(2).map(|found| found.position).collect();
    gone.iter().for_each(|&position| index.delete(position).unwrap());
    let left: Vec<Match> = expected.into_iter().filter(|found| !gone.contains(&found.position)).collect();
    let (count, found) = ask(&setup, &index, &query, &mut rng);
    assert_eq!(found, left);
    assert_eq!(count.matches, left.len() as u64);
    assert_eq!(index.records(), 90 - gone.len());
    assert!(index.delete(gone[0]).is_err());
}

/// A score between the bands is reported, not counted.
#[test]
fn scores_between_the_bands_are_undecided() {
    let mut rng = rng();
    let setup = Setup::new(plan(Metric::Cosine, (0.5, 0.3), 10), &mut rng);
    let unit = |x: f64| {
        let mut vector = vec![0.0; DIMENSION];
        (vector[0], vector[1]) = (x, (1.0 - x * x).sqrt());
        vector
    };
    let records = [unit(1.0), unit(0.5), unit(0.0), unit(-1.0)];
    let index = index(&setup, &records, &mut rng);
    let query = setup.client.query(&unit(1.0), &mut rng).unwrap().expand().unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query, &setup.keys).unwrap();
    let count = setup.client.count(&search.count_all(&index).unwrap()).unwrap();
    assert_eq!(count, Count { matches: 1, undecided: 1 });
    let matches = setup.client.matches(&search.fetch_all(&index).unwrap()).unwrap();
    assert_eq!((matches.found.len(), matches.undecided), (1, 1));
}
