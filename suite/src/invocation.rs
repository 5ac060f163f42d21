//! Workload, stage and arguments, from the name and the arguments of the process.

use crate::error::{At as _, Error};
use std::ffi::OsString;
use std::path::Path;

/// The workloads of the suite that have stages here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// Products modulo 2^64.
    ZnMultiplication,
}

/// The names of workloads are those of their repositories.
const WORKLOADS: [(&str, Workload); 1] = [("zn-multiplication", Workload::ZnMultiplication)];

/// The file beside the links to this program that names the workload.
const WORKLOAD_FILE: &str = "workload";

/// A started stage.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub workload: Workload,
    pub stage: String,
    pub arguments: Vec<String>,
    /// Whether the server computes in this process.
    pub no_daemon: bool,
}

impl Invocation {
    /// The invocation of this process.
    pub(crate) fn from_process() -> Result<Self, Error> {
        let mut words = std::env::args_os().map(into_text).collect::<Result<Vec<_>, _>>()?.into_iter();
        let program = words.next().unwrap_or_default();
        let name = Path::new(&program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("he-suite") {
            let workload = Workload::named(&words.next().unwrap_or_default())?;
            return Ok(Self::new(workload, words.next().unwrap_or_default(), words));
        }
        let file = Path::new(&program).with_file_name(WORKLOAD_FILE);
        let workload = std::fs::read_to_string(&file).at(&file)?;
        Ok(Self::new(Workload::named(workload.trim())?, name.to_owned(), words))
    }

    fn new(workload: Workload, stage: String, words: impl Iterator<Item = String>) -> Self {
        let (flags, arguments): (Vec<_>, Vec<_>) = words.partition(|word| word == "--no-daemon");
        Self { workload, stage, arguments, no_daemon: !flags.is_empty() }
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
