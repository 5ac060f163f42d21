//! The corpus of the fuzz targets of the library (`fuzz/`), which every build replays: what fuzzing
//! found once, and what it takes to reach most of the code.

#[path = "../../fuzz/src/library/mod.rs"]
mod library;

pub use library::target;

/// Each target in a test of its own, so that they run side by side.
macro_rules! replay {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            let target = library::TARGETS.iter().find(|target| target.name == stringify!($name)).unwrap();
            assert!(target.replay() > 0);
        }
    )*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = library::TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

replay!(
    aes_modes,
    base_conversion,
    bigckks,
    bootstrapping,
    byte_strings,
    ckks,
    ckks_embedding,
    container,
    exact,
    exact_integers,
    frames,
    keys,
    parameters,
    parties,
    programs,
    tfhe,
    tfhe_integers
);
