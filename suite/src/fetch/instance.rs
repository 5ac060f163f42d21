//! The sizes of the workload, and the parameters that follow from them.

use super::dataset::PAYLOAD_BYTES;
use super::folders::Folders;
use crate::error::Error;
use crate::invocation::{COUNT_ONLY, INSECURE_LOG_N, Invocation};
use he_search::{Bands, Metric, Params, Plan};
use std::ops::Range;

/// A size: its name, its records and their dimension.
struct Size(&'static str, u64, usize);

/// The sizes by their numbers.
const SIZES: [Size; 4] = [
    Size("toy", 1000, 128),
    Size("small", 50_000, 128),
    Size("medium", 1_000_000, 256),
    Size("large", 20_000_000, 512),
];

const SIZE: &str = "the number of the size, from 0 to 3";
const DEGREE: &str = "an exponent from 8 to 13 behind --insecure-log-n=";

/// The exponents of degrees of tests.
const INSECURE_DEGREES: Range<u32> = 8..14;

/// The scores that occur: of random directions, and of two vectors about one centre, whose angle is
/// sharp in many dimensions. The threshold of 0.8 lies between both.
fn bands(dimension: usize) -> Bands {
    let [lowest, below, above, highest] = match dimension {
        ..=128 => [-0.66, 0.62, 0.86, 0.99],
        129..=256 => [-0.5, 0.48, 0.875, 0.97],
        _ => [-0.42, 0.4, 0.885, 0.955],
    };
    Bands { lowest, below, above, highest }
}

/// A size with a task: its files and parameters.
#[derive(Debug)]
pub(super) struct Instance {
    pub folders: Folders,
    pub params: Params,
    pub count_only: bool,
    workload: &'static str,
    size: usize,
}

impl Instance {
    /// The instance that a stage is started for.
    pub(super) fn of(invocation: &Invocation) -> Result<Self, Error> {
        let wrong = |needed| Error::Arguments { stage: invocation.stage.clone(), needed };
        let size = invocation.argument(0, SIZE)?.parse::<usize>().map_err(|_| wrong(SIZE))?;
        let &Size(name, records, dimension) = SIZES.get(size).ok_or_else(|| wrong(SIZE))?;
        let count_only = invocation.has(COUNT_ONLY);
        let plan = Plan::matching(dimension, Metric::Cosine, 0.8, 0.1)
            .bands(bands(dimension))
            .payload(if count_only { 0 } else { PAYLOAD_BYTES })
            .records(records);
        let plan = match invocation.value(INSECURE_LOG_N) {
            None => plan,
            Some(value) => {
                let log_n = value.parse().ok().filter(|log_n| INSECURE_DEGREES.contains(log_n));
                plan.insecure_log_n(log_n.ok_or_else(|| wrong(DEGREE))?)
            }
        };
        let (folders, workload) = (Folders::new(name), invocation.workload.name());
        Ok(Self { folders, params: plan.params()?, count_only, workload, size })
    }

    /// The arguments by which a stage is started for this instance.
    pub(super) fn arguments(&self, stage: &str) -> Vec<String> {
        let mut words: Vec<String> = [self.workload, stage].map(str::to_owned).into();
        words.push(self.size.to_string());
        if self.count_only {
            words.push(COUNT_ONLY.into());
        }
        words.extend(self.params.plan().insecure_log_n.map(|log_n| format!("{INSECURE_LOG_N}={log_n}")));
        words
    }

    /// The records of each segment.
    pub(super) fn segments(&self) -> impl Iterator<Item = usize> + use<> {
        let (records, slots) = (self.params.plan().records as usize, self.params.slots());
        (0..records).step_by(slots).map(move |start| slots.min(records - start))
    }
}
