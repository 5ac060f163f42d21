//! Rankings of encrypted and of public records.

use crate::plain::value;
use crate::setup::{LOG_N, Setup, rng, vector};
use he_search::{Answer, Index, Metric, Plan, PublicSegment, Ranking, Search};

const DIMENSION: usize = 12;
const NONE: &[&[u8]] = &[];

/// Checks that no record is missed whose score exceeds the last one's by twice the error, and that
/// the values are those of plain numbers within it.
fn check(metric: Metric, query: &[f64], records: &[Vec<f64>], ranking: &Ranking, slots: usize) {
    let scores: Vec<f64> = records.iter().map(|x| metric.score(value(metric, query, x))).collect();
    let mut last = f64::INFINITY;
    let mut kept = vec![false; records.len()];
    for ranked in &ranking.nearest {
        let record = ranked.position.segment * slots + ranked.position.slot;
        let score = metric.score(ranked.value);
        assert!((score - scores[record]).abs() <= ranking.error, "{score} {}", scores[record]);
        assert!(score <= last);
        last = score;
        kept[record] = true;
    }
    let missed = scores.iter().zip(&kept).filter(|(_, kept)| !**kept).map(|(score, _)| *score);
    assert!(missed.fold(-1.0, f64::max) <= last + 2.0 * ranking.error);
}

#[test]
fn the_nearest_of_encrypted_and_public_records_are_those_of_plain_numbers() {
    let mut rng = rng();
    for metric in [Metric::Cosine, Metric::Dot { norm: 1.0 }, Metric::Euclidean { norm: 1.0 }] {
        let plan = Plan::ranking(DIMENSION, metric).records(150).insecure_log_n(LOG_N);
        let setup = Setup::new(plan, &mut rng);
        let slots = setup.params.slots();
        let records: Vec<Vec<f64>> = (0..150).map(|_| vector(DIMENSION, &mut rng)).collect();
        let query = vector(DIMENSION, &mut rng);
        let mut index = Index::new(&setup.params);
        let mut public = Vec::new();
        for part in records.chunks(slots) {
            let sealed = setup.client.segment(0, part, NONE, &mut rng).unwrap();
            index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
            public.push(PublicSegment::encode(&setup.params, setup.ev.encoder(), part).unwrap());
        }
        let sealed = setup.client.query(&query, &mut rng).unwrap().expand().unwrap();
        let search = Search::new(&setup.params, &setup.ev, &sealed, &setup.keys).unwrap();
        let answers: [Answer; 2] =
            [search.scores(index.segments()).unwrap(), search.scores(&public).unwrap()];
        for answer in answers {
            let ranking = setup.client.ranking(&answer, 10).unwrap();
            assert_eq!(ranking.nearest.len(), 10);
            check(metric, &query, &records, &ranking, slots);
            let all = setup.client.ranking(&answer, 1000).unwrap();
            assert_eq!(all.nearest.len(), 150);
        }
    }
}

/// Parameters for matches rank too, and deleted records are left out.
#[test]
fn parameters_for_matches_rank_as_well() {
    let mut rng = rng();
    let plan = Plan::matching(DIMENSION, Metric::Cosine, 0.5, 0.3).records(60).insecure_log_n(LOG_N);
    let setup = Setup::new(plan, &mut rng);
    let records: Vec<Vec<f64>> = (0..60).map(|_| vector(DIMENSION, &mut rng)).collect();
    let mut index = Index::new(&setup.params);
    let sealed = setup.client.segment(0, &records, NONE, &mut rng).unwrap();
    index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
    let query = setup.client.query(&records[7], &mut rng).unwrap().expand().unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query, &setup.keys).unwrap();
    let ranking = setup.client.ranking(&search.scores(index.segments()).unwrap(), 5).unwrap();
    check(Metric::Cosine, &records[7], &records, &ranking, setup.params.slots());
    let nearest = ranking.nearest[0].position;
    assert_eq!(nearest.slot, 7);
    index.delete(nearest).unwrap();
    let ranking = setup.client.ranking(&search.scores(index.segments()).unwrap(), 60).unwrap();
    assert!(ranking.nearest.len() == 59 && ranking.nearest.iter().all(|ranked| ranked.position != nearest));
}
