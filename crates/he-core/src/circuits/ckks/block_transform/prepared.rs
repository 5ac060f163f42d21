//! Maps encoded for one level.

use super::split::Sides;
use super::{BlockTransform, Key};
use crate::backend::{Cpu, RingOps};
use crate::circuits::ckks::TensorLayout;
use crate::circuits::ckks::linear_transform::{Work, double_hoisting_pays};
use crate::circuits::{Requirements, check_level};
use crate::ckks::{
    BabyOf, Ciphertext, CkksParams, Complex64, Encoding, Evaluator, ExtendedPlaintext, Plaintext, StepGroup,
    to_plaintexts,
};
use crate::error::{Error, Result};
use crate::rlwe::{Aligned, EvaluationKeys};
use derive_where::derive_where;
use std::borrow::Borrow;
use std::collections::BTreeSet;

/// For each output by giant step: inputs and baby steps with their encoded diagonals.
type Outputs<P> = Vec<Vec<StepGroup<P, BabyOf>>>;

/// Encoded diagonals.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
enum Diagonals<B: RingOps> {
    /// Modulo the primes of the level.
    Chain(Outputs<Plaintext<B>>),
    /// Modulo the special primes, too: for double hoisting.
    Extended(Outputs<ExtendedPlaintext<B>>),
}

impl<B: RingOps> Diagonals<B> {
    /// Bytes of all of them.
    fn bytes(&self) -> u64 {
        fn of<P>(outputs: &Outputs<P>, bytes: impl Fn(&P) -> u64) -> u64 {
            let terms = outputs.iter().flatten().flat_map(|(_, terms)| terms);
            terms.map(|(_, diagonal)| bytes(diagonal)).sum()
        }
        match self {
            Self::Chain(outputs) => of(outputs, Plaintext::bytes),
            Self::Extended(outputs) => of(outputs, ExtendedPlaintext::bytes),
        }
    }
}

/// A [`BlockTransform`] encoded for one level.
#[derive_where(Clone; B::Buf)]
#[derive(Debug)]
pub struct PreparedBlocks<B: RingOps = Cpu> {
    requirements: Requirements,
    level: usize,
    diagonals: Diagonals<B>,
    bias: Vec<Plaintext<B>>,
    folds: Vec<i64>,
    input: TensorLayout,
    output: TensorLayout,
    bytes: u64,
}

impl BlockTransform {
    /// Whether double hoisting costs less time.
    pub(super) fn prefers_double_hoisting(&self, params: &CkksParams, level: usize) -> bool {
        let groups: BTreeSet<(usize, i64)> =
            self.diagonals.keys().map(|key| (key.output, key.giant)).collect();
        let work = Work {
            babies: self.baby_steps().len(),
            giants: self.giant_steps().len(),
            groups: groups.len(),
            terms: self.diagonals.len(),
            outputs: self.output.ciphertexts(),
        };
        double_hoisting_pays(params, level, work)
    }

    /// Encodes the diagonals and the bias for ciphertexts of a level: as many bytes as
    /// [`plaintext_bytes`](Self::plaintext_bytes) says.
    ///
    /// # Errors
    /// [`Error::LevelExhausted`] for level 0, [`Error::LevelTooHigh`]; [`Error::SlotCount`] for
    /// vectors of more than N / 2 slots; [`Error::ValueTooLarge`] for entries; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>, level: usize) -> Result<PreparedBlocks<B>> {
        check_level(1, level)?;
        let params = ev.params();
        let encoding = self.encoding_of_diagonals(params, level)?;
        let diagonals = match self.prefers_double_hoisting(params, level) {
            true => Diagonals::Extended(self.encoded(|values| ev.encode_extended(values, encoding))?),
            false => Diagonals::Chain(self.encoded(|values| ev.encoder().encode(values, encoding))?),
        };
        let below = self.encoding_of_bias(params, level)?;
        let bias = (0..self.bias.len()).map(|output| ev.encoder().encode(&self.bias_of(output), below));
        let bias = bias.collect::<Result<Vec<_>>>()?;
        let bytes = diagonals.bytes() + bias.iter().map(Plaintext::bytes).sum::<u64>();
        Ok(PreparedBlocks {
            requirements: self.requirements(),
            level,
            diagonals,
            bias,
            folds: self.folds(),
            input: self.input,
            output: self.output,
            bytes,
        })
    }

    /// The encoding of diagonals that multiply ciphertexts of a level.
    pub(super) fn encoding_of_diagonals(&self, params: &CkksParams, level: usize) -> Result<Encoding> {
        let slots = self.input.slots().max(self.output.slots());
        Ok(params.encoding().at_level(params, level)?.for_multiplying(params)?.slots(slots))
    }

    /// The encoding of the bias, one level below.
    pub(super) fn encoding_of_bias(&self, params: &CkksParams, level: usize) -> Result<Encoding> {
        Ok(params.encoding().at_level(params, level - 1)?.slots(self.output.slots()))
    }

    /// The numbers that are added to an output.
    pub(super) fn bias_of(&self, output: usize) -> Vec<Complex64> {
        repeated(&self.bias[output], self.output.examples())
    }

    /// A diagonal, rotated back, because the giant step rotates it with the sum.
    ///
    /// # Errors
    /// [`Error::Argument`] if only the outline of the map is known.
    pub(super) fn diagonal(&self, key: &Key) -> Result<Vec<Complex64>> {
        let period = Sides::new(&self.input, &self.output).period();
        let turn = key.giant.rem_euclid(period as i64) as usize;
        match self.diagonals.get(key) {
            Some(diagonal) if diagonal.len() == period => {
                let rotated: Vec<Complex64> =
                    (0..period).map(|slot| diagonal[(slot + period - turn) % period]).collect();
                Ok(repeated(&rotated, self.input.examples()))
            }
            _ => Err(Error::domain("diagonal", format!("{key:?} has no numbers"), "fill the part first")),
        }
    }

    fn encoded<P>(&self, encode: impl Fn(&[Complex64]) -> Result<P>) -> Result<Outputs<P>> {
        let unit = self.input.examples();
        let mut outputs: Outputs<P> = (0..self.output.ciphertexts()).map(|_| Vec::new()).collect();
        for key in self.diagonals.keys() {
            let Key { output, giant, input, baby } = *key;
            let term = ((input, baby * unit as i64), encode(&self.diagonal(key)?)?);
            let giant = giant * unit as i64;
            match outputs[output].last_mut().filter(|(last, _)| *last == giant) {
                Some((_, terms)) => terms.push(term),
                None => outputs[output].push((giant, vec![term])),
            }
        }
        Ok(outputs)
    }

    /// [`prepare`](Self::prepare) for the lowest of the ciphertexts' levels, then
    /// [`PreparedBlocks::apply`].
    ///
    /// # Errors
    /// The same as for both.
    pub fn apply<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        cts: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let level = cts.iter().map(Ciphertext::level).min().unwrap_or(0);
        self.requirements().check(level, keys)?;
        self.prepare(ev, level)?.apply(ev, cts, keys)
    }
}

/// Every value once for each example.
fn repeated(values: &[Complex64], examples: usize) -> Vec<Complex64> {
    values.iter().flat_map(|&value| std::iter::repeat_n(value, examples)).collect()
}

impl<B: RingOps> PreparedBlocks<B> {
    /// The levels and keys that the map needs.
    pub fn requirements(&self) -> &Requirements {
        &self.requirements
    }

    /// The layout of the tensors that it takes.
    pub fn input(&self) -> &TensorLayout {
        &self.input
    }

    /// The layout of the tensors that it leaves.
    pub fn output(&self) -> &TensorLayout {
        &self.output
    }

    /// The level for which it is encoded.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Bytes of its plaintexts.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Maps the tensor in these ciphertexts, or the tensors of a batch. Each vector must have the
    /// slots of the [input](Self::input), or repeat with them as period; the results repeat with
    /// the slots of the [output](Self::output), and say so where the ciphertexts have no more slots
    /// than the input.
    ///
    /// One level below the lowest ciphertext. The magnitude grows by up to the largest sum of
    /// |entry| over a row, and noise with it; every rotation adds its key switching. With b baby
    /// steps (of all inputs) and g giant steps (of all outputs) other than 0, and f rotations that
    /// add up partial sums, there are b + g + f key switches and g + f decompositions beside one
    /// for each input. Ciphertexts of a higher level than prepared for are lowered; for those of a
    /// lower level the diagonals are, and every rotation is divided, at some cost.
    ///
    /// # Errors
    /// [`Error::Argument`] for another number of ciphertexts; [`Error::LevelExhausted`],
    /// [`Error::MissingGaloisKey`], [`Error::ParamsMismatch`], [`Error::KeyMismatch`]; mismatch of
    /// ring, batch or key sets; device errors.
    pub fn apply(
        &self,
        ev: &Evaluator<B>,
        cts: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        if cts.len() != self.input.ciphertexts() {
            let why = format!("{} ciphertexts for a tensor of {}", cts.len(), self.input.ciphertexts());
            return Err(Error::argument("ciphertexts", why));
        }
        let level = cts.iter().map(Ciphertext::level).min().unwrap_or(0).min(self.level);
        self.requirements.check(level, keys)?;
        let lowered = cts.iter().map(|ct| ev.lowered_to(ct, level)).collect::<Result<Vec<_>>>()?;
        let lowered: Vec<&Ciphertext<B>> = lowered.iter().map(Aligned::borrow).collect();
        let mut sums = match &self.diagonals {
            Diagonals::Chain(outputs) => ev.hoisted_sums(&lowered, outputs, keys)?,
            Diagonals::Extended(outputs) if level == self.level => {
                ev.double_hoisted_sums(&lowered, outputs, keys)?
            }
            Diagonals::Extended(outputs) => {
                let outputs = outputs.iter().map(|steps| to_plaintexts(steps)).collect::<Result<Vec<_>>>()?;
                ev.hoisted_sums(&lowered, &outputs, keys)?
            }
        };
        let small = cts.iter().all(|ct| ct.slots() <= self.input.slots());
        for (i, sum) in sums.iter_mut().enumerate() {
            for &step in &self.folds {
                *sum = ev.add(sum, &ev.rotate(sum, step, keys)?)?;
            }
            if small {
                sum.meta.slots = self.output.slots();
            }
            if let Some(bias) = self.bias.get(i) {
                *sum = ev.add_plain(sum, bias)?;
            }
        }
        Ok(sums)
    }
}
