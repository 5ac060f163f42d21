//! Inference on ciphertexts.

use crate::compiled::CompiledModel;
use crate::error::{Error, Result};
use crate::layers::Kind;
use crate::levels::Action;
use crate::places::{Arrangement, PreparedMap};
use crate::program::Made;
use he_core::backend::{Cpu, RingOps};
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, CkksParams, Evaluator};
use he_core::rlwe::EvaluationKeys;
use std::collections::BTreeMap;

/// A model whose linear maps are encoded for a device: for many inputs, at the memory that
/// [`Facts::plaintext_bytes`](crate::compiled::Facts::plaintext_bytes) says.
#[derive(Debug)]
pub struct PreparedModel<'m, B: RingOps = Cpu> {
    model: &'m CompiledModel,
    maps: BTreeMap<usize, PreparedMap<B>>,
}

impl CompiledModel {
    /// Encodes the linear maps for a device.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator of other parameters; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>) -> Result<PreparedModel<'_, B>> {
        self.check_params(ev)?;
        let mut maps = BTreeMap::new();
        let mut outlines = vec![None; self.layers.list.len()];
        for action in &self.actions {
            if let Action::Run { layer, level } = *action
                && let Some(map) = self.map(layer)?
            {
                outlines[layer] = Some(map.outline(ev.params())?);
                maps.insert(layer, map.prepare(ev, level)?);
            }
        }
        // Inference asks for them.
        self.set_outlines(outlines);
        Ok(PreparedModel { model: self, maps })
    }

    /// The encrypted outputs of encrypted inputs: the ciphertexts of one input, each of which may
    /// hold a batch. No secret is needed, and the same inputs and keys give the same words on every
    /// device. Linear maps are encoded on the way, one at a time; [`prepare`](Self::prepare) saves
    /// that for further inputs.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator, a refresher or inputs of other parameters; missing
    /// keys; device errors.
    pub fn infer<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.infer_watched(ev, inputs, keys, refresher, &mut |_| {})
    }

    /// The same, with a call after each step: its work, a part of [`work`](Self::work).
    ///
    /// # Errors
    /// The same as for [`infer`](Self::infer).
    pub fn infer_watched<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        done: &mut dyn FnMut(u64),
    ) -> Result<Vec<Ciphertext<B>>> {
        self.run(ev, inputs, keys, refresher, &BTreeMap::new(), &mut only_work(done))
    }

    /// The work of an inference on one ciphertext of examples, in butterflies of transforms: what
    /// the plan says, by the operations of each step and their levels.
    ///
    /// # Errors
    /// The errors of [`requirements`](Self::requirements).
    pub fn work(&self) -> Result<u64> {
        Ok(self.work_of_actions()?.iter().sum())
    }

    pub(crate) fn check_params<B: RingOps>(&self, ev: &Evaluator<B>) -> Result<()> {
        match ev.params() == self.parameters.params() {
            true => Ok(()),
            false => Err(Error::Parameters { why: "the evaluator has others than the model".to_owned() }),
        }
    }

    fn run<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        prepared: &BTreeMap<usize, PreparedMap<B>>,
        made: &mut dyn FnMut(Made<'_, B>) -> Result<()>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.check_params(ev)?;
        self.requirements()?.keys.check(keys)?;
        let other = |why: String| Err(Error::Parameters { why });
        let (needed, params) = (self.ciphertexts(), ev.params());
        if inputs.len() != needed {
            return other(format!("an input has {needed} ciphertexts, and {} are given", inputs.len()));
        }
        if let Some(low) = inputs.iter().find(|input| input.level() < params.max_level()) {
            return other(format!("an input is on level {} of {}", low.level(), params.max_level()));
        }
        if let Some(boot) = self.parameters.bootstrapping()
            && (refresher.top(), refresher.reserve()) != (Some(boot.output_level()), boot.input_level())
        {
            return other("the model was compiled for refreshes of other parameters".to_owned());
        }
        if self.arrangement() == Arrangement::Stacks
            && let Some(odd) = inputs.iter().find(|input| input.batch() != inputs[0].batch())
        {
            let batches = [odd, &inputs[0]].map(Ciphertext::batch);
            return other(format!("ciphertexts of an input have batches of {batches:?}"));
        }
        let mut values: Vec<Vec<Ciphertext<B>>> = (0..self.layers.list.len()).map(|_| Vec::new()).collect();
        inputs.iter().try_for_each(|input| refresher.check(input))?;
        values[0] = self.places.inputs(inputs)?;
        let last_use = |id: usize| self.layers.list.iter().rposition(|layer| layer.inputs.contains(&id));
        let last_use: Vec<Option<usize>> = (0..values.len()).map(last_use).collect();
        for (step, (action, work)) in self.actions.iter().zip(self.work_of_actions()?).enumerate() {
            let of = match *action {
                Action::Refresh(id) => {
                    let fresh = values[id].iter().map(|ct| refresher.refresh_real(ct));
                    values[id] = fresh.collect::<he_core::Result<_>>()?;
                    id
                }
                Action::Run { layer, level } => {
                    values[layer] = self.layer(layer, level, &values, ev, keys, prepared)?;
                    for &input in &self.layers.list[layer].inputs {
                        if last_use[input] == Some(layer) {
                            values[input] = Vec::new();
                        }
                    }
                    layer
                }
            };
            made(Made { step, work, value: &values[of] })?;
        }
        let outputs = values.pop().ok_or_else(|| Error::Graph { why: "computes nothing".to_owned() })?;
        let outputs = self.places.outputs(outputs)?;
        if self.arrangement() == Arrangement::Stacks {
            made(Made { step: self.actions.len(), work: 0, value: &outputs })?;
        }
        Ok(outputs)
    }

    /// The value of a layer, computed on a level.
    pub(crate) fn layer<B: RingOps>(
        &self,
        id: usize,
        level: usize,
        values: &[Vec<Ciphertext<B>>],
        ev: &Evaluator<B>,
        keys: &EvaluationKeys<B>,
        prepared: &BTreeMap<usize, PreparedMap<B>>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let layer = &self.layers.list[id];
        let of = |index: usize| &values[layer.inputs[index]];
        let lowered = |ct: &Ciphertext<B>| ev.mod_switch_to(ct, level);
        let pairs = || of(0).iter().zip(of(1));
        let computed: he_core::Result<Vec<Ciphertext<B>>> = match (&layer.kind, &self.functions[id]) {
            (Kind::Add, _) => pairs().map(|(a, b)| ev.add(a, b)).collect(),
            (Kind::Product, _) => {
                let unit = |index: usize| self.layers.list[layer.inputs[index]].unit;
                let factor = unit(0) * unit(1) / layer.unit;
                pairs()
                    .map(|(a, b)| {
                        let product = ev.mul(&lowered(a)?, &lowered(b)?, keys)?;
                        if (factor - 1.0).abs() > 1e-9 {
                            ev.mul_scalar(&product, factor)
                        } else {
                            Ok(product)
                        }
                    })
                    .collect()
            }
            (_, Some(function)) => of(0).iter().map(|ct| function.apply(ev, &lowered(ct)?, keys)).collect(),
            _ => match prepared.get(&id) {
                Some(map) => map.apply(ev, of(0), keys),
                None => match self.map(id)? {
                    Some(map) => map.prepare(ev, level).and_then(|map| map.apply(ev, of(0), keys)),
                    None => Ok(Vec::new()),
                },
            },
        };
        Ok(computed?.into_iter().map(|ct| with_all_slots(ev.params(), ct)).collect::<he_core::Result<_>>()?)
    }
}

/// A call after each step with its work alone.
fn only_work<B: RingOps>(done: &mut dyn FnMut(u64)) -> impl FnMut(Made<'_, B>) -> Result<()> {
    |made| {
        done(made.work);
        Ok(())
    }
}

/// This ciphertext over all slots: a short vector is a long one that repeats it. Refreshes and
/// files take full vectors.
pub(crate) fn with_all_slots<B: RingOps>(
    params: &CkksParams,
    ct: Ciphertext<B>,
) -> he_core::Result<Ciphertext<B>> {
    let slots = params.slots();
    if ct.slots() == slots {
        return Ok(ct);
    }
    let (level, scale, key_set, noise) = (ct.level(), ct.scale(), ct.key_set(), ct.noise());
    let mut full = Ciphertext::from_parts(params, ct.pair().duplicate()?, level, scale, slots)?;
    full.set_key_set(key_set);
    full.set_noise(noise);
    Ok(full)
}

impl<B: RingOps> PreparedModel<'_, B> {
    /// Runs [`CompiledModel::infer`] with maps that are encoded already.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::infer`].
    pub fn infer(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.infer_watched(ev, inputs, keys, refresher, &mut |_| {})
    }

    /// Runs [`infer`](Self::infer) with a call after each step: its work, a part of
    /// [`work`](Self::work).
    ///
    /// # Errors
    /// The errors of [`CompiledModel::infer`].
    pub fn infer_watched(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        done: &mut dyn FnMut(u64),
    ) -> Result<Vec<Ciphertext<B>>> {
        self.infer_recorded(ev, inputs, keys, refresher, &mut only_work(done))
    }

    /// Runs [`infer`](Self::infer) with a call after each step of the
    /// [`program`](CompiledModel::program), which sees its value. An error of the call ends the
    /// inference.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::infer`] and of `made`.
    pub fn infer_recorded(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        made: &mut dyn FnMut(Made<'_, B>) -> Result<()>,
    ) -> Result<Vec<Ciphertext<B>>> {
        self.model.run(ev, inputs, keys, refresher, &self.maps, made)
    }

    /// The [work](CompiledModel::work) of an inference on one ciphertext of examples.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::requirements`].
    pub fn work(&self) -> Result<u64> {
        self.model.work()
    }

    /// Bytes of the encoded maps.
    pub fn bytes(&self) -> u64 {
        let params = self.model.parameters().params();
        self.maps.values().map(|map| map.bytes(params)).sum()
    }
}
