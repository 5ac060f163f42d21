//! The promises of plans, before anything is prepared.

use he_core::params::Security;
use he_lookup::{Error, Facts, Plan};

#[test]
fn a_gigabyte_is_asked_in_few_bytes() {
    for (records, bytes) in [(1u64 << 22, 256), (1 << 24, 64), (1 << 15, 1 << 15)] {
        let params = Plan::index(records, bytes).params().unwrap();
        let facts = Facts::of(&params);
        let sum = facts.query_bytes + facts.answer_bytes;
        assert!(sum <= 250_000, "{sum}");
        assert!(facts.matrix_bytes >= records * bytes as u64);
        assert!(facts.matrix_bytes <= (records * bytes as u64) * 9 / 8);
    }
}

/// All plans are secure and fail rarely enough, and grow with the root of the database.
#[test]
fn every_plan_is_secure_and_fails_rarely() {
    let mut last = 0;
    for log in [10, 16, 20, 24, 28, 30] {
        for plan in [Plan::index(1 << log, 100), Plan::keyword(1 << log, 64)] {
            let params = plan.params().unwrap();
            assert!(params.rlwe().security() >= Security::Bits128);
            assert!(params.log2_failure() <= -40.0, "{}", params.log2_failure());
        }
        let facts = Facts::of(&Plan::index(1 << log, 100).params().unwrap());
        let sum = facts.query_bytes + facts.answer_bytes;
        assert!(sum >= last && sum < 80_000 + 9 * (100f64 * 2f64.powi(log)).sqrt() as u64, "{log}: {sum}");
        last = sum;
    }
}

#[test]
fn impossible_plans_are_refused() {
    for plan in [
        Plan::index(0, 1),
        Plan::index(1, 0),
        Plan::index(1 << 41, 1),
        Plan::index(1, 1 << 21),
        Plan::index(1 << 40, 1 << 20),
        Plan::index(1, 1).insecure_log_n(3),
        Plan::index(1, 1).insecure_log_n(12),
    ] {
        let error = plan.params().unwrap_err();
        assert!(matches!(error, Error::Range { .. }), "{error}");
        assert!(error.hint().is_some());
    }
}

/// Every record lies on packs that know it, and no pack knows others.
#[test]
fn packs_and_records_agree() {
    for (records, bytes) in [(1, 1), (300, 3), (70, 100), (5, 300)] {
        let params = Plan::index(records, bytes).insecure_log_n(5).params().unwrap();
        for record in 0..records {
            for pack in 0..params.packs() {
                let knows = params.records_of(pack).contains(&record);
                assert_eq!(knows, params.packs_with(record).contains(&pack), "{records} x {bytes}: {record}");
            }
        }
    }
}
