//! The corpus of the fuzz targets of the service (`fuzz/`), which every build replays.

#[path = "../../../../fuzz/src/service/mod.rs"]
mod service;

#[test]
fn requests_of_the_corpus_are_answered() {
    for target in service::TARGETS {
        assert!(target.replay() > 0);
    }
}
