//! The promises of plans.

use crate::setup::{Parties, items, rng};
use he_core::bfv::BfvDecryptor;
use he_psi::{Error, Plan};

#[test]
fn plans_are_secure_and_fail_rarely() {
    for (server, client, label) in [(1, 1, 0), (1_000_000, 1000, 0), (1_000_000, 1, 256), (100, 10_000, 16)] {
        let params = Plan::new(server, client).labels(label).params().unwrap();
        println!("{params:?}");
        assert!(params.table_failure_log2() <= -40.0);
        assert!(params.false_positive_log2(1) <= -40.0);
        assert!(params.answer_budget() >= 2.0);
        assert!(params.bfv().rlwe().security().bits() >= 128);
        assert_eq!(params.id(), params.plan().params().unwrap().id());
    }
}

#[test]
fn sizes_out_of_range_are_refused() {
    for (plan, what) in [
        (Plan::new(0, 1), "items of the server"),
        (Plan::new(1_000_001, 1), "items of the server"),
        (Plan::new(1, 0), "items of a client"),
        (Plan::new(1, 10_001), "items of a client"),
        (Plan::new(1, 1).labels(257), "bytes of a label"),
    ] {
        let refused = plan.params();
        assert!(matches!(&refused, Err(Error::Size { what: w, .. }) if *w == what), "{refused:?}");
    }
}

/// Bytes count as much as work: a million items are asked for a thousand in few megabytes.
#[test]
fn the_planner_saves_bytes() {
    let facts = Plan::new(1_000_000, 1000).params().unwrap().facts();
    println!("{facts}");
    assert!(facts.query_bytes + facts.key_bytes + facts.answer_bytes < 5_000_000);
}

/// The noise of an answer is below its prediction.
#[test]
fn answers_keep_the_predicted_budget() {
    let mut rng = rng();
    let mut parties = Parties::new(Plan::new(300, 4).insecure_log_n(7), &mut rng);
    let set = items(300, &mut rng);
    parties.server.append(&set, &[[0u8; 0]; 0], &mut rng).unwrap();
    let (_, answer) = parties.asked(&set[..4], &mut rng).unwrap();
    let decryptor = BfvDecryptor::new(parties.params.bfv(), &parties.secret, &parties.ring).unwrap();
    for ciphertext in answer.ciphertexts() {
        let predicted = ciphertext.predicted_budget(parties.params.bfv());
        let least = decryptor.noise_budget(ciphertext).unwrap().into_iter().fold(f64::MAX, f64::min);
        println!("{least:.1} bits, {predicted:.1} predicted, {:.1} planned", parties.params.answer_budget());
        assert!(least >= predicted && predicted >= parties.params.answer_budget() - 0.1);
    }
}
