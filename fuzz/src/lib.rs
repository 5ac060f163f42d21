//! The fuzz targets of the project. Each is a file that says what must hold, a function of bytes
//! that panics if it does not, and the seeds of its corpus.
//!
//! `fuzz_targets/` hands the functions to libFuzzer; the ordinary tests hand them the corpus
//! (`tests/suite/corpus.rs`, `crates/he-cli/tests/cli/corpus.rs` and
//! `crates/he-server/tests/service/corpus.rs` include those of the library, of files, and of the
//! service). Nothing here depends on libFuzzer, and but for the service nothing
//! on the time or on randomness: the same bytes do the same.

#[cfg(feature = "files")]
pub mod files;
pub mod library;
#[cfg(feature = "service")]
pub mod service;

/// Before the first input: with `HE_FUZZ_SEEDS=FOLDER` the program only writes the seeds of its
/// target there, by the hash of each.
pub fn begin<T: AsTarget>(targets: &[T], name: &str) {
    let Some(folder) = std::env::var_os("HE_FUZZ_SEEDS") else { return };
    let target = targets.iter().find(|target| target.name() == name).expect("a target of this name");
    for seed in target.seeds() {
        let file = std::path::Path::new(&folder).join(&blake3::hash(&seed).to_hex()[..40]);
        std::fs::write(file, seed).expect("the folder can be written");
    }
    std::process::exit(0);
}

/// A target of either group: each has a type of its own, because tests include one at a time.
pub trait AsTarget {
    /// Its name.
    fn name(&self) -> &str;
    /// Its seeds.
    fn seeds(&self) -> Vec<Vec<u8>>;
}

macro_rules! as_target {
    ($($group:ident),*) => {$(
        impl AsTarget for $group::target::Target {
            fn name(&self) -> &str {
                self.name
            }

            fn seeds(&self) -> Vec<Vec<u8>> {
                (self.seeds)()
            }
        }
    )*};
}

#[cfg(feature = "files")]
as_target!(files);
as_target!(library);
#[cfg(feature = "service")]
as_target!(service);
