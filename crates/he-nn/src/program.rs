//! The steps of an inference as anybody knows them who has the model, and one step by itself.

use crate::compiled::CompiledModel;
use crate::error::{Error, Result};
use crate::levels::Action;
use crate::places::Arrangement;
use he_core::backend::RingOps;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeMap;

/// A value that a step computes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Value {
    /// The ciphertexts of the input.
    Input,
    /// The value that a step before it has made.
    Made(usize),
}

/// A step of an inference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The computation, in words that no two different computations of a model share.
    pub name: String,
    /// The values that it computes from, in order.
    pub of: Vec<Value>,
    /// The ciphertexts of its value.
    pub ciphertexts: usize,
    /// Whether it is a refresh, with keys of its own.
    pub refreshes: bool,
}

/// A step that was taken, of an inference on a batch.
#[derive(Debug)]
pub struct Made<'a, B: RingOps> {
    /// The index of the step in the [`program`](CompiledModel::program).
    pub step: usize,
    /// Its work, a part of [`work`](CompiledModel::work).
    pub work: u64,
    /// Its value.
    pub value: &'a [Ciphertext<B>],
}

impl CompiledModel {
    /// The steps of an inference in order, whatever batches its ciphertexts hold: the runs of
    /// layers and the refreshes of the plan. The ciphertexts of the last value are those of the
    /// output.
    ///
    /// ```no_run
    /// # fn main() -> he_nn::Result<()> {
    /// # let model = he_nn::CompiledModel::from_bytes(&[])?;
    /// for step in model.program() {
    ///     println!("{} of {:?}: {} ciphertexts", step.name, step.of, step.ciphertexts);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn program(&self) -> Vec<Step> {
        let stacks = self.arrangement() == Arrangement::Stacks;
        // A stack is one batch.
        let ciphertexts = |layer| if stacks { 1 } else { self.places.ciphertexts(layer) };
        let mut newest = vec![Value::Input; self.layers.list.len()];
        let mut steps = Vec::new();
        for action in &self.actions {
            let (name, of, layer) = match *action {
                Action::Refresh(id) => (format!("refresh layer {id}"), vec![newest[id]], id),
                Action::Run { layer, level } => {
                    let inputs = &self.layers.list[layer].inputs;
                    let of = inputs.iter().map(|&input| newest[input]).collect();
                    (format!("layer {layer} on level {level}"), of, layer)
                }
            };
            newest[layer] = Value::Made(steps.len());
            let refreshes = matches!(action, Action::Refresh(_));
            steps.push(Step { name, of, ciphertexts: ciphertexts(layer), refreshes });
        }
        if stacks {
            let of = vec![newest[newest.len() - 1]];
            let (name, ciphertexts) = ("outputs".to_owned(), self.outputs().ciphertexts);
            steps.push(Step { name, of, ciphertexts, refreshes: false });
        }
        steps
    }

    /// The evaluation keys that a step of the [`program`](Self::program) needs, those of refreshes
    /// apart: with these alone, it leaves the words that it leaves with all keys.
    ///
    /// # Errors
    /// Linear maps whose weights exceed all numbers.
    pub fn keys_of(&self, step: usize) -> Result<KeyRequirements> {
        let Some(&Action::Run { layer, .. }) = self.actions.get(step) else {
            return Ok(KeyRequirements::default());
        };
        let outline = self.map(layer)?.map(|map| map.outline(self.parameters.params())).transpose()?;
        Ok(self.needs_of(layer, outline.as_ref()).keys)
    }

    /// Takes a step of the [`program`](Self::program) by itself: the same words as in an inference,
    /// on every device. `values` are the values that it computes from, in the order of
    /// [`Step::of`].
    ///
    /// # Errors
    /// [`Error::Parameters`] if there is no such step, or it takes other values; those of
    /// [`infer`](Self::infer).
    pub fn recompute<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        step: usize,
        values: &[Vec<Ciphertext<B>>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check_params(ev)?;
        let program = self.program();
        let found = program.get(step).filter(|step| step.of.len() == values.len());
        let Some(taken) = found else {
            let why = format!("step {step} of {} does not take {} values", program.len(), values.len());
            return Err(Error::Parameters { why });
        };
        let values = taken.of.iter().zip(values).map(|(of, value)| match of {
            Value::Input => self.places.inputs(value),
            Value::Made(_) => value.iter().map(Ciphertext::duplicate).collect(),
        });
        let mut values = values.collect::<he_core::Result<Vec<_>>>()?;
        match self.actions.get(step) {
            None => Ok(self.places.outputs(values.remove(0))?),
            Some(Action::Refresh(_)) => {
                let fresh = values[0].iter().map(|ct| refresher.refresh_real(ct));
                Ok(fresh.collect::<he_core::Result<_>>()?)
            }
            Some(&Action::Run { layer, level }) => {
                let mut of: Vec<Vec<Ciphertext<B>>> = Vec::new();
                of.resize_with(self.layers.list.len(), Vec::new);
                for (&input, value) in self.layers.list[layer].inputs.iter().zip(values) {
                    of[input] = value;
                }
                self.layer(layer, level, &of, ev, keys, &BTreeMap::new())
            }
        }
    }
}
