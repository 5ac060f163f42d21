//! The sizes of the workload, and the network compiled for each.

use super::folders::Folders;
use super::images::PIXELS;
use crate::error::Error;
use crate::invocation::{INSECURE_LOG_N, Invocation, Workload};
use he::ckks::{CkksParams, CkksSpec};
use he_nn::{Arrangement, CompiledModel, Graph, Options, Parameters};
use std::ops::Range;

/// A size: its name, its images at most, and where their pixels lie.
struct Size(&'static str, usize, Arrangement);

/// The sizes by their numbers. Harnesses differ in the images of small: 15 or 100.
const SIZES: [Size; 4] = [
    Size("single", 1, Arrangement::Slots),
    Size("small", 100, Arrangement::Slots),
    Size("medium", 1000, Arrangement::Stacks),
    Size("large", 10_000, Arrangement::Stacks),
];

const SIZE: &str = "the number of the size, from 0 to 3";
const DEGREE: &str = "an exponent from 8 to 13 behind --insecure-log-n=";

/// The exponents of degrees of tests.
const INSECURE_DEGREES: Range<u32> = 8..14;

/// The network: 784 pixels, 64 squares, 10 scores.
const NETWORK: &[u8] = include_bytes!("../../../models/digits_small.onnx");

/// Digits of 785 bytes each: the label, and the grey values.
const DIGITS: &[u8] = include_bytes!("../../../models/digits.bin");

/// The first digits of that file, on which the network was trained: they show it the range of its
/// values.
const CALIBRATION: usize = 60;

/// The precision of scores, and the room for values beyond those of the calibration. The network
/// has squares, which are exact: the precision decides on the scale alone.
const OPTIONS: Options = Options { bits: 10, margin: 1.0 };

/// Stacks for a batch: log2 of the degree, the bits of the primes of the chain and of the special
/// one, and of the scale. They fill the 106 bits that are secure at this degree.
const LOG_N: u32 = 12;
const CHAIN: [u32; 4] = [22, 20, 20, 20];
const SPECIAL: [u32; 1] = [23];
const SCALE: f64 = 20.0;

/// A size with its files.
#[derive(Debug)]
pub(super) struct Instance {
    pub folders: Folders,
    size: usize,
    insecure_log_n: Option<u32>,
}

impl Instance {
    /// The instance that a stage is started for.
    pub(super) fn of(invocation: &Invocation) -> Result<Self, Error> {
        let wrong = |needed| Error::Arguments { stage: invocation.stage.clone(), needed };
        let size = invocation.argument(0, SIZE)?.parse::<usize>().map_err(|_| wrong(SIZE))?;
        let known = SIZES.get(size).ok_or_else(|| wrong(SIZE))?;
        Ok(Self { folders: Folders::new(known.0), size, insecure_log_n: insecure_log_n(invocation)? })
    }

    /// The largest one, of images in stacks, for a stage that is started without a size.
    pub(super) fn of_stacks(invocation: &Invocation) -> Result<Self, Error> {
        let size = SIZES.len() - 1;
        Ok(Self { folders: Folders::new(SIZES[size].0), size, insecure_log_n: insecure_log_n(invocation)? })
    }

    /// The instances whose keys a server has, for a stage that is started without a size.
    pub(super) fn started(invocation: &Invocation) -> Result<Vec<Self>, Error> {
        let insecure_log_n = insecure_log_n(invocation)?;
        let all = SIZES.iter().enumerate();
        let all = all.map(|(size, known)| Self { folders: Folders::new(known.0), size, insecure_log_n });
        Ok(all.filter(|instance| instance.folders.keys().evaluation.exists()).collect())
    }

    /// The images at most.
    pub(super) fn images(&self) -> usize {
        SIZES[self.size].1
    }

    /// The network, arranged for as many images as come at once. It and its parameters are public.
    pub(super) fn model(&self) -> Result<CompiledModel, Error> {
        let (graph, examples) = (Graph::from_onnx(NETWORK)?, calibration());
        let arrangement = SIZES[self.size].2;
        if arrangement == Arrangement::Slots {
            return Ok(CompiledModel::compile(graph, &examples, OPTIONS)?);
        }
        let spec = |log_n| CkksSpec::from_bits(log_n, &CHAIN, &SPECIAL, SCALE).map_err(he::Error::from);
        let params = match self.insecure_log_n {
            None => CkksParams::try_from(spec(LOG_N)?),
            Some(log_n) => CkksParams::insecure(spec(log_n)?),
        };
        let parameters = Parameters::Leveled(params.map_err(he::Error::from)?);
        Ok(CompiledModel::arranged_for(graph, &examples, OPTIONS, parameters, arrangement)?)
    }

    /// The arguments by which a stage is started for this instance.
    pub(super) fn arguments(&self, stage: &str) -> Vec<String> {
        let mut words: Vec<String> = [Workload::MlInference.name(), stage].map(str::to_owned).into();
        words.push(self.size.to_string());
        words.extend(self.insecure_log_n.map(|log_n| format!("{INSECURE_LOG_N}={log_n}")));
        words
    }
}

/// The degree of stacks without security, if a test asks for one.
fn insecure_log_n(invocation: &Invocation) -> Result<Option<u32>, Error> {
    let Some(value) = invocation.value(INSECURE_LOG_N) else { return Ok(None) };
    let log_n = value.parse().ok().filter(|log_n| INSECURE_DEGREES.contains(log_n));
    let wrong = || Error::Arguments { stage: invocation.stage.clone(), needed: DEGREE };
    log_n.ok_or_else(wrong).map(Some)
}

/// Digits that the network was trained on.
fn calibration() -> Vec<Vec<f64>> {
    digits().take(CALIBRATION).collect()
}

/// Digits that come with the network, those of the calibration first.
pub(super) fn digits() -> impl Iterator<Item = Vec<f64>> + Clone {
    let digits = DIGITS.chunks_exact(1 + PIXELS);
    digits.map(|digit| digit[1..].iter().map(|&grey| f64::from(grey) / 255.0).collect())
}
