//! Encoders on ciphertexts.
//!
//! Whoever encrypts looks up the words, computes everything up to the first linear layer in the
//! clear, checks that the sentence stays within the calibrated ranges, and encrypts one value of
//! tokens x features ([`Plan::pack`]). The mask is public: it is given to the evaluation. The
//! output is what comes before the division by its length, which is done after decryption
//! ([`Plan::unpack`]).

use super::Encoder;
use super::circuit::levels::{Costs, Schedule};
use super::circuit::run::Run;
use super::circuit::{Assembled, Op, Output};
use super::cost::Counts;
use crate::error::{Error, Result};
use crate::parameters::Parameters;
use crate::{transformers, work};
use he_core::backend::RingOps;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeSet;

/// A plan by which an encoder computes on encrypted sentences.
///
/// Tokens lie one behind the other in slots, each with its features in a power of two of them.
/// Linear layers are sums of diagonals that repeat with each token; attention multiplies queries
/// by keys that are rotated by every number of tokens. Time does not depend on what is encrypted;
/// the mask is public.
///
/// ```no_run
/// # use he_core::{bootstrapping::*, ckks::*, rlwe::EvaluationKeys};
/// # use he_nn::{Graph, Parameters, encoder::{Encoder, Plan}};
/// # fn run(
/// #     ev: &Evaluator, input: &Ciphertext, keys: &EvaluationKeys, refresher: &RefreshWith<'_>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// # let (sentences, sentence) = (vec![vec![0.0]], vec![0.0]);
/// let graph = Graph::from_onnx(&std::fs::read("encoder.onnx")?)?;
/// let encoder = Encoder::calibrate(graph, &sentences)?;
/// let plan = encoder.plan(Parameters::Refreshed(presets::fast()?))?;
/// println!("{:?}", plan.counts());
/// let packed = plan.pack(0, &sentence)?; // The vectors are encrypted, as one batch.
/// let output = plan.infer(ev, input, &packed.mask, keys, refresher)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    encoder: Encoder,
    assembled: Assembled,
    parameters: Parameters,
    schedule: Schedule,
    counts: Vec<Counts>,
}

/// A sentence that is ready to be encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The vectors of slots, one entry of the batch each.
    pub vectors: Vec<Vec<f64>>,
    /// The tokens of the sentence: public.
    pub mask: Vec<bool>,
}

/// A node of the model in a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerFacts {
    /// Its operator.
    pub operator: String,
    /// Its name.
    pub name: String,
    /// The level of its value, before what follows.
    pub level: usize,
    /// The operations that compute it, refreshes among them.
    pub counts: Counts,
}

impl Encoder {
    /// Plans the encoder for ciphertexts of these parameters: places, levels, and the refreshes
    /// that take the least work.
    ///
    /// # Errors
    /// [`Error::Unplanned`] for a graph that is not one of layers of attention, linear layers,
    /// functions of hidden units, sums and layer normalisations; [`Error::Graph`] for tokens that
    /// do not fit a ciphertext; [`Error::Parameters`] where levels do not suffice.
    pub fn plan(&self, parameters: Parameters) -> Result<Plan> {
        let params = parameters.params();
        let assembled = Assembled::new(self, params.slots())?;
        let counts = assembled.circuit.counts()?;
        let refresh = match parameters.bootstrapping() {
            Some(boot) => work::refresh(boot)?,
            None => 0.0,
        };
        let of_counts = |counts: &Counts, level: usize| {
            let Counts { baby, hoisted, rotations, plain, products, sums, refreshes } = *counts;
            (baby + hoisted) as f64 * work::map_rotation(params, level)
                + rotations as f64 * work::key_switch(params, level)
                + (plain + sums) as f64 * work::plain_product(params, level)
                + products as f64 * work::function_product(params, level)
                + refreshes as f64 * refresh
        };
        let costs = Costs { counts: &counts, work: &of_counts };
        let schedule = assembled.circuit.schedule(parameters.range(), &costs)?;
        Ok(Plan { encoder: self.clone(), assembled, parameters, schedule, counts })
    }

    /// The levels that the encoder takes without refreshes, in ciphertexts of so many slots.
    ///
    /// # Errors
    /// The errors of [`plan`](Self::plan) for the graph.
    pub fn depth(&self, slots: usize) -> Result<usize> {
        Ok(Assembled::new(self, slots)?.circuit.depth())
    }
}

impl Plan {
    /// The encoder.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The vectors of a sentence: the entries of the batch of its ciphertext.
    pub fn batch(&self) -> usize {
        self.assembled.circuit.layout.blocks
    }

    /// The keys of [`infer`](Self::infer), those of refreshes aside.
    ///
    /// # Errors
    /// Errors of the maps, for weights that are not finite.
    pub fn requirements(&self) -> Result<KeyRequirements> {
        let circuit = &self.assembled.circuit;
        let mut rotations: BTreeSet<i64> = BTreeSet::new();
        for step in &circuit.steps {
            match &step.op {
                Op::Map(_, map) => {
                    rotations.extend(map.outline(&circuit.layout)?.requirements().keys.rotation_steps());
                }
                Op::Rotated(_, steps) => rotations.extend(steps.iter().filter(|&&step| step != 0)),
                _ => {}
            }
        }
        Ok(KeyRequirements::new().relinearisation().rotations(rotations))
    }

    /// The nodes that are computed on ciphertexts, with their levels and operations.
    pub fn layers(&self) -> Vec<LayerFacts> {
        let mut found: Vec<(usize, LayerFacts)> = Vec::new();
        let circuit = &self.assembled.circuit;
        for (id, step) in circuit.steps.iter().enumerate().skip(1) {
            let Some(level) = self.schedule.levels[id] else { continue };
            if found.last().is_none_or(|(node, _)| *node != step.node) {
                let node = &self.encoder.graph().nodes[step.node];
                let (operator, name) = (node.operator.clone(), node.name.clone());
                found.push((step.node, LayerFacts { operator, name, level, counts: Counts::default() }));
            }
            if let Some((_, facts)) = found.last_mut() {
                let refreshes = if self.schedule.refreshed[id] { circuit.refreshes(id) } else { 0 };
                facts.level = level;
                facts.counts += self.counts[id] + Counts { refreshes, ..Counts::default() };
            }
        }
        found.into_iter().map(|(_, facts)| facts).collect()
    }

    /// The operations of an evaluation.
    pub fn counts(&self) -> Counts {
        self.layers().into_iter().fold(Counts::default(), |sum, layer| sum + layer.counts)
    }

    /// The level that a sentence is encrypted on at least.
    pub fn input_level(&self) -> usize {
        self.schedule.levels[0].unwrap_or(0)
    }

    /// An example, which errors call number `index`, as vectors of slots and the public mask.
    ///
    /// # Errors
    /// The errors of [`Encoder::simulate`]: examples that leave the calibrated ranges are refused
    /// before they are encrypted.
    pub fn pack(&self, index: usize, example: &[f64]) -> Result<Packed> {
        self.encoder.simulate(index, example)?;
        let values = self.encoder.graph().values(index, example)?;
        let Assembled { circuit, input, input_unit, mask, .. } = &self.assembled;
        let layout = circuit.layout;
        let numbers: Vec<f64> = values[*input].iter().map(|x| x / input_unit).collect();
        let width = numbers.len() / layout.tokens;
        let repeats = self.parameters.params().slots() / layout.slots();
        let vectors = layout.pack(&numbers, width).into_iter().map(|vector| vector.repeat(repeats)).collect();
        let mask = match mask {
            Some(mask) => values[*mask].iter().map(|&bit| bit != 0.0).collect(),
            None => vec![true; layout.tokens],
        };
        Ok(Packed { vectors, mask })
    }

    /// The output of decrypted vectors, its length and the decision of the model included.
    ///
    /// # Errors
    /// [`Error::Parameters`] for other vectors than those of [`infer`](Self::infer).
    pub fn unpack(&self, vectors: &[Vec<f64>]) -> Result<Vec<f64>> {
        let Assembled { circuit, output, output_unit, form, .. } = &self.assembled;
        let graph = self.encoder.graph();
        let width = graph.nodes[*output].shape.last().copied().unwrap_or(0);
        let tokens = if *form == Output::Pooled { 1 } else { circuit.layout.tokens };
        let mut found = Vec::with_capacity(width * tokens);
        for token in 0..tokens {
            let row = circuit.layout.token(vectors, token, width);
            let why = || format!("{} vectors are no output of this model", vectors.len());
            found
                .extend(row.ok_or_else(|| Error::Parameters { why: why() })?.iter().map(|x| x * output_unit));
        }
        if graph.output != *output {
            let node = &graph.nodes[graph.output];
            found = transformers::apply(&node.op, &[&found], &node.shape);
        }
        Ok(graph.decision.apply(&found))
    }

    /// The output of an example by the steps of the plan, in float64: the reference for
    /// [`infer`](Self::infer).
    ///
    /// # Errors
    /// The errors of [`pack`](Self::pack).
    pub fn apply_plain(&self, index: usize, example: &[f64]) -> Result<Vec<f64>> {
        let Packed { mut vectors, mask } = self.pack(index, example)?;
        let slots = self.assembled.circuit.layout.slots();
        vectors.iter_mut().for_each(|vector| vector.truncate(slots));
        self.unpack(&self.assembled.circuit.apply_plain(&vectors, &mask))
    }

    /// The encrypted output of an encrypted sentence: one ciphertext that holds the
    /// [vectors](Packed::vectors) as a batch, and the public mask. No secret is needed. Linear maps
    /// are encoded on the way.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator, a refresher, a ciphertext or a mask of others;
    /// missing keys; device errors.
    pub fn infer<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.check(ev, input, mask, refresher)?;
        self.requirements()?.check(keys)?;
        let run =
            Run { circuit: &self.assembled.circuit, schedule: &self.schedule, ev, keys, refresher, mask };
        Ok(run.output(input)?)
    }

    fn check<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        refresher: &impl Refresher<B>,
    ) -> Result<()> {
        let other = |why: String| Err(Error::Parameters { why });
        if ev.params() != self.parameters.params() {
            return other("the evaluator has others than the model".to_owned());
        }
        if let Some(boot) = self.parameters.bootstrapping()
            && (refresher.top(), refresher.reserve()) != (Some(boot.output_level()), boot.input_level())
        {
            return other("the model was planned for refreshes of other parameters".to_owned());
        }
        let layout = self.assembled.circuit.layout;
        if (input.batch(), mask.len()) != (layout.blocks, layout.tokens) {
            let found = format!("{} vectors and {} tokens", input.batch(), mask.len());
            return other(format!("{found} are given, and {} and {} needed", layout.blocks, layout.tokens));
        }
        match input.level() < self.input_level() {
            true => other(format!("the input is on level {} of {}", input.level(), self.input_level())),
            false => Ok(()),
        }
    }
}
