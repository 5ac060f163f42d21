//! Random seeds of tests.

use std::hash::{BuildHasher, RandomState};

/// Runs a test with `count` random seeds, and says which one failed. `HE_TEST_SEED` repeats one of
/// them.
pub fn for_seeds(count: u64, test: impl Fn(u64)) {
    struct Report(u64);
    impl Drop for Report {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed with seed {0}; repeat it with HE_TEST_SEED={0}", self.0);
            }
        }
    }
    let given = std::env::var("HE_TEST_SEED").ok().map(|seed| seed.parse().unwrap());
    let seeds: Vec<u64> = match given {
        Some(seed) => vec![seed],
        None => (0..count).map(|i| RandomState::new().hash_one(i)).collect(),
    };
    for seed in seeds {
        let _report = Report(seed);
        test(seed);
    }
}
