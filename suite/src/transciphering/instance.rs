//! The sizes of the workload, and the parameters.

use super::folders::Folders;
use crate::error::Error;
use crate::invocation::{INSECURE, Invocation, Workload};
use he::tfhe::{TfheParams, presets};

/// A size: its name, and its numbers at most.
struct Size(&'static str, usize);

/// The sizes by their numbers.
const SIZES: [Size; 4] = [Size("toy", 8), Size("small", 128), Size("medium", 2048), Size("large", 32_768)];

const SIZE: &str = "the number of the size, from 0 to 3";

/// The size whose message has no counter: each block is encrypted by itself (ECB).
const WITHOUT_COUNTER: usize = 0;

/// A size with its files.
#[derive(Debug)]
pub(super) struct Instance {
    pub folders: Folders,
    pub params: TfheParams,
    size: usize,
    insecure: bool,
}

impl Instance {
    /// The instance that a stage is started for.
    pub(super) fn of(invocation: &Invocation) -> Result<Self, Error> {
        let wrong = || Error::Arguments { stage: invocation.stage.clone(), needed: SIZE };
        let size = invocation.argument(0, SIZE)?.parse::<usize>().map_err(|_| wrong())?;
        let known = SIZES.get(size).ok_or_else(wrong)?;
        let insecure = invocation.has(INSECURE);
        let params = if insecure { presets::insecure_phases() } else { presets::phases_2m128() };
        let params = params.map_err(he::Error::from)?;
        Ok(Self { folders: Folders::new(known.0), params, size, insecure })
    }

    /// The numbers at most.
    pub(super) fn numbers(&self) -> usize {
        SIZES[self.size].1
    }

    /// Whether blocks are encrypted with counters.
    pub(super) fn has_counter(&self) -> bool {
        self.size != WITHOUT_COUNTER
    }

    /// The arguments by which a stage is started for this instance.
    pub(super) fn arguments(&self, stage: &str) -> Vec<String> {
        let mut words: Vec<String> = [Workload::Transciphering.name(), stage].map(str::to_owned).into();
        words.push(self.size.to_string());
        words.extend(self.insecure.then(|| INSECURE.to_owned()));
        words
    }
}
