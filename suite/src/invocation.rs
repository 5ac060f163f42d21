//! Workload, stage and arguments, from the name and the arguments of the process.

use crate::error::{At as _, Error};
use std::ffi::OsString;
use std::path::Path;

/// The workloads of the suite that have stages here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Payloads of vectors near a query.
    FetchBySimilarity,
    /// Digits on images.
    MlInference,
    /// Numbers under AES.
    Transciphering,
    /// Products modulo 2^64.
    ZnMultiplication,
}

/// The names of workloads are those of their repositories.
const WORKLOADS: [(&str, Workload); 4] = [
    ("fetch-by-similarity", Workload::FetchBySimilarity),
    ("ml-inference", Workload::MlInference),
    ("transciphering", Workload::Transciphering),
    ("zn-multiplication", Workload::ZnMultiplication),
];

/// The server computes in the stage's own process.
pub(crate) const NO_DAEMON: &str = "--no-daemon";
/// Matches are counted, and not fetched.
pub(crate) const COUNT_ONLY: &str = "--count_only";
/// log2 of the degree of parameters without security, for tests.
pub(crate) const INSECURE_LOG_N: &str = "--insecure-log-n";
/// Parameters without security that have no degree to choose, for tests.
pub(crate) const INSECURE: &str = "--insecure";
/// The seed of a harness' own generators, which no stage takes notice of.
const SEED: &str = "--seed";

/// All flags.
const FLAGS: [&str; 5] = [NO_DAEMON, COUNT_ONLY, INSECURE_LOG_N, INSECURE, SEED];

/// The file beside the links to this program that names the workload.
const WORKLOAD_FILE: &str = "workload";

/// A started stage.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub workload: Workload,
    pub stage: String,
    arguments: Vec<String>,
    /// Flags with their values.
    flags: Vec<(String, Option<String>)>,
}

impl Invocation {
    /// The invocation of this process.
    pub(crate) fn from_process() -> Result<Self, Error> {
        let mut words = std::env::args_os().map(into_text).collect::<Result<Vec<_>, _>>()?.into_iter();
        let program = words.next().unwrap_or_default();
        let name = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("he-suite") {
            let workload = Workload::named(&words.next().unwrap_or_default())?;
            return Self::new(workload, words.next().unwrap_or_default(), words);
        }
        let file = Path::new(&program).with_file_name(WORKLOAD_FILE);
        let workload = std::fs::read_to_string(&file).at(&file)?;
        Self::new(Workload::named(workload.trim())?, name.to_owned(), words)
    }

    fn new(workload: Workload, stage: String, words: impl Iterator<Item = String>) -> Result<Self, Error> {
        let (flags, arguments): (Vec<_>, Vec<_>) = words.partition(|word| word.starts_with("--"));
        let part = |word: &String| match word.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (word.clone(), None),
        };
        let flags: Vec<_> = flags.iter().map(part).collect();
        match flags.iter().find(|(name, _)| !FLAGS.contains(&name.as_str())) {
            Some((name, _)) => Err(Error::Flag(name.clone(), FLAGS.join(", "))),
            None => Ok(Self { workload, stage, arguments, flags }),
        }
    }

    /// Whether a flag is set.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|(name, _)| name == flag)
    }

    /// The value of a flag, empty if it has none.
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        let found = self.flags.iter().find(|(name, _)| name == flag)?;
        Some(found.1.as_deref().unwrap_or_default())
    }

    /// An argument by its place.
    pub(crate) fn argument(&self, place: usize, needed: &'static str) -> Result<&str, Error> {
        let missing = || Error::Arguments { stage: self.stage.clone(), needed };
        self.arguments.get(place).map(String::as_str).ok_or_else(missing)
    }

    /// A count that is an argument.
    pub(crate) fn count(&self, place: usize, needed: &'static str) -> Result<u64, Error> {
        let wrong = |_| Error::Arguments { stage: self.stage.clone(), needed };
        self.argument(place, needed)?.parse().map_err(wrong)
    }
}

impl Workload {
    fn named(name: &str) -> Result<Self, Error> {
        let found = WORKLOADS.iter().find(|(known, _)| *known == name);
        let names = || WORKLOADS.map(|(name, _)| name).join(", ");
        found.map(|&(_, workload)| workload).ok_or_else(|| Error::Workload(name.into(), names()))
    }

    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        WORKLOADS.iter().find(|(_, workload)| *workload == self).map_or("", |(name, _)| name)
    }
}

fn into_text(word: OsString) -> Result<String, Error> {
    word.into_string().map_err(|word| Error::Workload(word.to_string_lossy().into(), "in UTF-8".into()))
}
