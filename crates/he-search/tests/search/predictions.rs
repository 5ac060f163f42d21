//! Predictions against what is built.

use crate::plain::value;
use crate::setup::{LOG_N, Setup, payload, rng, vector};
use he_core::rlwe::EvaluationKeys;
use he_search::{Index, Metric, Plan, Search};

/// The length of a frame's body is within two percent and a small header of the prediction.
fn near(found: u64, predicted: u64, frames: u64) {
    let slack = 0.02 * predicted as f64 + 1500.0 * frames as f64;
    assert!((found as f64 - predicted as f64).abs() <= slack, "{found} {predicted}");
}

#[test]
fn bytes_and_errors_are_as_predicted() {
    let mut rng = rng();
    let dimension = 24;
    let plan = Plan::matching(dimension, Metric::Cosine, 0.6, 0.2).payload(5).records(64);
    let setup = Setup::new(plan.insecure_log_n(LOG_N), &mut rng);
    let (facts, ckks) = (setup.params.facts(), setup.params.ckks());
    let needs = setup.params.requirements();
    let keys = EvaluationKeys::generate(&setup.secret, &setup.ring, needs, &mut rng).unwrap();
    near(keys.to_bytes(ckks).unwrap().len() as u64, facts.key_bytes, 16);
    let records: Vec<Vec<f64>> = (0..64).map(|_| vector(dimension, &mut rng)).collect();
    let payloads: Vec<[u8; 5]> = (0..64).map(payload).collect();
    let sealed = setup.client.segment(0, &records, &payloads, &mut rng).unwrap();
    let parts = || sealed.columns.iter().chain(&sealed.payload);
    let bytes = parts().map(|ct| ct.to_bytes(ckks).unwrap().len() as u64).sum();
    near(bytes, facts.index_bytes, parts().count() as u64);
    let query_vector = vector(dimension, &mut rng);
    let query = setup.client.query(&query_vector, &mut rng).unwrap();
    near(query.to_bytes(ckks).unwrap().len() as u64, facts.query_bytes, 1);
    let mut index = Index::new(&setup.params);
    index.append(sealed.expand().unwrap(), &setup.ev).unwrap();
    let search = Search::new(&setup.params, &setup.ev, &query.expand().unwrap(), &setup.keys).unwrap();
    let answers = [
        search.count_all(&index).unwrap(),
        search.fetch_all(&index).unwrap(),
        search.scores(index.segments()).unwrap(),
    ];
    for (answer, predicted) in answers.iter().zip(facts.answer_bytes) {
        let all = answer.ciphertexts();
        let bytes = all.iter().map(|ct| ct.to_bytes(ckks).unwrap().len() as u64).sum();
        near(bytes, predicted, all.len() as u64);
    }
    // The largest of 64 errors is below eight deviations and above one.
    let ranking = setup.client.ranking(&answers[2], 64).unwrap();
    let errors = ranking.nearest.iter().map(|ranked| {
        (ranked.value - value(Metric::Cosine, &query_vector, &records[ranked.position.slot])).abs()
    });
    let largest = errors.fold(0.0, f64::max);
    println!("largest error {largest:e}, bound {:e}", facts.score_error);
    assert!(largest <= facts.score_error && largest >= facts.score_error / 64.0, "{largest:e}");
    assert!(facts.to_string().contains("segments: 1"));
}

/// The parameters of the published sizes: 428 bits at N = 2^14, keys of 27 MB, and segments of the
/// size that the degree has.
#[test]
fn parameters_of_128_bits_are_planned() {
    let bands = he_search::Bands { lowest: -0.66, below: 0.62, above: 0.86, highest: 1.0 };
    let plan = Plan::matching(128, Metric::Cosine, 0.74, 0.12).bands(bands).payload(8).records(50_000);
    let params = plan.params().unwrap();
    let (facts, ring) = (params.facts(), params.ckks().rlwe().ring());
    assert_eq!((ring.log_n(), facts.segments, facts.degree, facts.payload_products), (14, 7, 63, 4));
    assert!(params.ckks().rlwe().security().bits() >= 128);
    assert_eq!(params.ckks().max_level(), 8);
    println!("{facts}");
    assert!(facts.outside.unwrap() < 1e-8 && facts.tangled < 1e-7);
    // A threshold in the midst of random directions: there is no bound, and none is stated.
    let general = Plan::matching(3, Metric::Cosine, 0.5, 0.25).records(100).params().unwrap().facts();
    assert_eq!(general.outside, None);
    let said = general.to_string();
    assert!(said.contains("no bound") && !said.contains("1.0e0"), "{said}");
    let ranking = Plan::ranking(384, Metric::Cosine).records(1_000_000).params().unwrap();
    assert!(ranking.ckks().rlwe().security().bits() >= 128);
    assert_eq!(ranking.ckks().rlwe().ring().log_n(), 13);
    let said = ranking.facts().to_string();
    assert!(!said.contains("probability") && !said.contains("step polynomial"), "{said}");
}
