//! Inputs that are refused, with both values.

use crate::setup::{LOG_N, Setup, rng, vector};
use he_search::{Bands, Client, Error, Index, Metric, Plan, Position, Search};

const NONE: &[&[u8]] = &[];

#[test]
fn impossible_plans_are_refused() {
    let plan = |dimension, metric| Plan::matching(dimension, metric, 0.5, 0.2).insecure_log_n(LOG_N);
    let refused = |plan: Plan| plan.params().unwrap_err();
    for dimension in [0, 1, 31, 4097, usize::MAX] {
        let error = refused(plan(dimension, Metric::Cosine));
        assert!(matches!(error, Error::DimensionRange { found, .. } if found == dimension), "{error}");
    }
    for norm in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200] {
        for metric in [Metric::Dot { norm }, Metric::Euclidean { norm }] {
            let error = refused(Plan::ranking(8, metric));
            assert!(matches!(error, Error::GreatestNorm { .. }), "{error}");
        }
    }
    for (threshold, margin) in [(0.5, 0.0), (0.5, -0.1), (0.9, 0.2), (f64::NAN, 0.1), (0.5, f64::INFINITY)] {
        let error = refused(Plan::matching(8, Metric::Cosine, threshold, margin));
        assert!(matches!(error, Error::Bands { .. }), "{error}");
    }
    for margin in [0.001, 1e-9] {
        let error = refused(plan(8, Metric::Cosine).bands(Bands::around(0.5, margin)));
        assert!(matches!(error, Error::Gap { .. }), "{error}");
    }
    for records in [0, u64::MAX] {
        let error = refused(plan(8, Metric::Cosine).records(records));
        assert!(matches!(error, Error::Records { found, .. } if found == records), "{error}");
    }
    let error = refused(plan(8, Metric::Cosine).payload(257));
    assert!(matches!(error, Error::PayloadLimit { found: 257, limit: 256 }), "{error}");
}

#[test]
fn vectors_and_payloads_that_do_not_fit_are_refused() {
    let mut rng = rng();
    let plan = Plan::matching(4, Metric::Euclidean { norm: 2.0 }, 1.0, 0.5).payload(2);
    let setup = Setup::new(plan.insecure_log_n(LOG_N), &mut rng);
    let client = &setup.client;
    let one = [[0.5; 4]];
    let error = client.query(&[1.0; 5], &mut rng).unwrap_err();
    assert!(matches!(error, Error::Dimension { found: 5, expected: 4, .. }), "{error}");
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = client.query(&[0.0, value, 0.0, 0.0], &mut rng).unwrap_err();
        assert!(matches!(error, Error::Coordinate { at: 1, .. }), "{error}");
    }
    for length in [3.0, 1e300, f64::MAX] {
        let error = client.segment(0, &[[length; 4]], &[b"ab"], &mut rng).unwrap_err();
        assert!(matches!(error, Error::Norm { .. }), "{error}");
    }
    let error = client.segment(0, &one, NONE, &mut rng).unwrap_err();
    assert!(matches!(error, Error::Payloads { found: 0, expected: 1 }), "{error}");
    let error = client.segment(0, &one, &[b"abc"], &mut rng).unwrap_err();
    assert!(matches!(error, Error::PayloadLength { found: 3, expected: 2, .. }), "{error}");
    for start in [64, usize::MAX] {
        let error = client.segment(start, &one, &[b"ab"], &mut rng).unwrap_err();
        assert!(matches!(error, Error::SegmentFull { found: 1, slots: 64, .. }), "{error}");
    }
}

#[test]
fn a_vector_of_norm_zero_has_no_cosine() {
    let mut rng = rng();
    let setup = Setup::new(Plan::ranking(3, Metric::Cosine).insecure_log_n(LOG_N), &mut rng);
    let error = setup.client.query(&[0.0; 3], &mut rng).unwrap_err();
    assert!(matches!(error, Error::Norm { .. }), "{error}");
    // The greatest and the least numbers have one.
    setup.client.query(&[1e149, 0.0, 1.0], &mut rng).unwrap();
    setup.client.query(&[1e-149, 0.0, 0.0], &mut rng).unwrap();
}

/// Keys, queries and segments of another secret or other parameters.
#[test]
fn foreign_objects_are_refused() {
    let mut rng = rng();
    let plan = Plan::matching(4, Metric::Cosine, 0.5, 0.4).insecure_log_n(LOG_N);
    let (ours, theirs) = (Setup::new(plan, &mut rng), Setup::new(plan, &mut rng));
    let x = vector(4, &mut rng);
    let query = theirs.client.query(&x, &mut rng).unwrap().expand().unwrap();
    let query = query.to(&ours.ring).unwrap();
    let error = Search::new(&ours.params, &ours.ev, &query, &ours.keys).unwrap_err();
    assert!(matches!(error, Error::Core(he_core::Error::KeyMismatch { .. })), "{error}");
    let none = he_core::rlwe::EvaluationKeys::empty(ours.params.ckks().rlwe(), &ours.ring).unwrap();
    let query = ours.client.query(&x, &mut rng).unwrap().expand().unwrap();
    let error = Search::new(&ours.params, &ours.ev, &query, &none).unwrap_err();
    assert!(matches!(error, Error::Core(_)), "{error}");
    let other = Plan::ranking(4, Metric::Cosine).insecure_log_n(LOG_N).params().unwrap();
    assert!(Client::new(&other, &ours.secret, &ours.ring).is_err());
    let search = Search::new(&ours.params, &ours.ev, &query, &ours.keys).unwrap();
    let mut index = Index::new(&ours.params);
    assert!(matches!(search.count_all(&index), Err(Error::Shape { .. })));
    assert!(matches!(search.fetch_all(&index), Err(Error::Shape { .. })));
    assert!(matches!(index.delete(Position { segment: 0, slot: 0 }), Err(Error::NoRecord { .. })));
    let foreign = theirs.client.segment(0, &[&x], NONE, &mut rng).unwrap().expand().unwrap();
    index.append(foreign, &ours.ev).unwrap();
    assert!(search.count_all(&index).is_err());
    let mut short = ours.client.segment(0, &[&x], NONE, &mut rng).unwrap().expand().unwrap();
    short.columns.pop();
    let error = index.append(short, &ours.ev).unwrap_err();
    assert!(matches!(error, Error::Shape { found: 3, expected: 4, .. }), "{error}");
    let more = ours.client.segment(0, &[&x], NONE, &mut rng).unwrap().expand().unwrap();
    let error = index.append(more, &ours.ev).unwrap_err();
    assert!(matches!(error, Error::Segments { found: 2, planned: 1 }), "{error}");
}

/// A client is told what an answer is, and refuses others.
#[test]
fn answers_of_another_kind_are_refused() {
    let mut rng = rng();
    let setup = Setup::new(Plan::ranking(4, Metric::Cosine).insecure_log_n(LOG_N), &mut rng);
    let x = vector(4, &mut rng);
    let query = setup.client.query(&x, &mut rng).unwrap().expand().unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query, &setup.keys).unwrap();
    assert!(matches!(search.count(), Err(Error::Task { found: "rankings", needed: "matches" })));
    let segment = setup.client.segment(0, &[&x], NONE, &mut rng).unwrap().expand().unwrap();
    let answer = search.scores([&segment]).unwrap();
    assert!(matches!(setup.client.count(&answer), Err(Error::Task { .. })));
    assert!(matches!(setup.client.matches(&answer), Err(Error::Task { .. })));
    assert_eq!(setup.client.ranking(&answer, 0).unwrap().nearest, []);
}
