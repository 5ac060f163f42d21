//! Encoders on ciphertexts.
//!
//! Whoever encrypts looks up the words, computes everything up to the first linear layer in the
//! clear, checks that the sentence stays within the calibrated ranges, and encrypts one value of
//! tokens x features ([`Plan::pack`]). The mask is public: it is given to the evaluation. The
//! output is what comes before the division by its length, which is done after decryption
//! ([`Plan::unpack`]).

use super::circuit::levels::{Costs, Schedule};
use super::circuit::prepared::Prepared;
use super::circuit::run::Run;
use super::circuit::{Assembled, Circuit, Op, Output, Part};
use super::range::{Excess, Range};
use super::{Counts, Encoder};
use crate::compiled::{self, Facts, OutputLayout};
use crate::error::{Error, Result};
use crate::graph::Node;
use crate::maps::Outline;
use crate::parameters::Parameters;
use crate::places::Arrangement;
use crate::work;
use he_core::backend::{Cpu, RingOps};
use he_core::bootstrapping::BootstrapParams;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::{EvaluationKeys, KeyRequirements};
use std::collections::BTreeSet;
use std::sync::Arc;

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
    outlines: Vec<Option<Arc<Outline>>>,
    counts: Vec<Counts>,
    /// The work of a refresh.
    refresh: f64,
}

/// A plan whose linear maps are encoded for a device: for many sentences, at the memory that
/// [`Plan::plaintext_bytes`] says.
#[derive(Debug)]
pub struct PreparedPlan<'p, B: RingOps = Cpu> {
    plan: &'p Plan,
    prepared: Prepared<B>,
}

/// A step of an evaluation that is done.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Made<'p> {
    /// Its number: the steps of [`Plan::apply_plain_watched`] have the same.
    pub step: usize,
    /// The node of the model.
    pub node: &'p Node,
    /// The part of the encoder.
    pub part: Part,
    /// The operations of the step.
    pub counts: Counts,
    /// Their work, in butterflies of transforms.
    pub work: f64,
}

/// A sentence that is ready to be encrypted.
#[derive(Clone, Debug, PartialEq)]
pub struct Packed {
    /// The vectors of slots, one entry of the batch each.
    pub vectors: Vec<Vec<f64>>,
    /// The tokens of the sentence: public.
    pub mask: Vec<bool>,
}

/// A call for each step that is done, with its ciphertexts.
pub type Watch<'f, B> = dyn FnMut(Made<'_>, &[Ciphertext<B>]) -> he_core::Result<()> + 'f;

/// A call for each step in the clear: its number, and the vectors of each of its ciphertexts.
pub type WatchPlain<'f> = dyn FnMut(usize, &[Vec<Vec<f64>>]) + 'f;

/// A part of a node of the model in a plan.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerFacts {
    /// The operator of the node.
    pub operator: String,
    /// Its name.
    pub name: String,
    /// The dimensions of its value.
    pub shape: Vec<usize>,
    /// The part of the encoder.
    pub part: Part,
    /// The level of its value, before what follows.
    pub level: usize,
    /// The levels that it takes.
    pub depth: usize,
    /// The operations that compute it.
    pub counts: Counts,
    /// Their work, in butterflies of transforms.
    pub work: f64,
}

impl LayerFacts {
    /// A layer before its steps.
    fn new(made: &Made<'_>) -> Self {
        let (operator, name) = (made.node.operator.clone(), made.node.name.clone());
        let (shape, part) = (made.node.shape.clone(), made.part);
        Self { operator, name, shape, part, level: 0, depth: 0, counts: Counts::default(), work: 0.0 }
    }
}

impl Circuit {
    /// The levels of a step and of those of its layer that lead to it.
    fn depth_in(&self, id: usize, layer: usize, depths: &[(usize, usize)]) -> usize {
        let op = &self.steps[id].op;
        let before = op.operands().into_iter().map(|operand| depths[operand]);
        let before = before.filter(|(of, _)| *of == layer).map(|(_, depth)| depth).max();
        op.depth() + before.unwrap_or(0)
    }
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
        let outlines = assembled.circuit.outlines(params)?;
        let counts = assembled.circuit.counts(&outlines);
        let refresh = match parameters.bootstrapping() {
            Some(boot) => work::refresh(boot)?,
            None => 0.0,
        };
        let of_counts = |counts: &Counts, level: usize| counts.work(params, level, refresh);
        let costs = Costs { counts: &counts, work: &of_counts };
        let schedule = assembled.circuit.schedule(parameters.range(), &costs)?;
        Ok(Plan { encoder: self.clone(), assembled, parameters, schedule, outlines, counts, refresh })
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
    pub fn requirements(&self) -> KeyRequirements {
        let steps = self.assembled.circuit.steps.iter().zip(&self.outlines);
        let mut rotations: BTreeSet<i64> = BTreeSet::new();
        for (step, outline) in steps {
            if let Op::Rotated(_, steps) = &step.op {
                rotations.extend(steps.iter().filter(|&&step| step != 0));
            }
            let of_map = outline.iter().flat_map(|outline| outline.requirements.keys.rotation_steps());
            rotations.extend(of_map);
        }
        KeyRequirements::new().relinearisation().rotations(rotations)
    }

    /// Bytes of the linear maps that [`prepare`](Self::prepare) encodes, numbers of each slot
    /// aside.
    pub fn plaintext_bytes(&self) -> u64 {
        let bytes = |(id, outline): (usize, &Option<Arc<Outline>>)| {
            let (Some(outline), Some(level)) = (outline, self.schedule.made[id]) else { return 0 };
            let circuit = &self.assembled.circuit;
            match circuit.equal_map(id, |other| self.schedule.made[other] == Some(level)) {
                Some(_) => 0,
                None => outline.plaintext_bytes.get(level).copied().unwrap_or(0),
            }
        };
        self.outlines.iter().enumerate().map(bytes).sum()
    }

    /// Bytes of the keys of [`requirements`](Self::requirements); packed keys of a GPU take less.
    pub fn key_bytes(&self) -> u64 {
        let keys = self.requirements().rotation_steps().len() as u64 + 1;
        keys * work::key_bytes(self.parameters.params())
    }

    /// Bytes of the keys of refreshes.
    ///
    /// # Errors
    /// None in practice.
    pub fn bootstrap_key_bytes(&self) -> Result<u64> {
        let bytes = self.parameters.bootstrapping().map(BootstrapParams::key_bytes).transpose()?;
        Ok(bytes.unwrap_or(0) as u64)
    }

    /// Bytes of the ciphertexts that are alive at the same time, at most, with a copy of those that
    /// a step takes.
    pub fn ciphertext_bytes(&self) -> u64 {
        let (circuit, last) = (&self.assembled.circuit, self.assembled.circuit.last_uses());
        let bytes = |id: usize| {
            let Some(level) = self.schedule.levels[id] else { return 0 };
            circuit.steps[id].count as u64 * self.batch() as u64 * self.vector_bytes(level)
        };
        let (mut alive, mut most) = (bytes(0), 0);
        for (id, step) in circuit.steps.iter().enumerate().skip(1) {
            let operands: BTreeSet<usize> = step.op.operands().into_iter().collect();
            alive += bytes(id);
            most = most.max(alive + operands.iter().map(|&id| bytes(id)).sum::<u64>());
            let ends = operands.iter().filter(|&&operand| last[operand] == Some(id));
            alive -= ends.map(|&operand| bytes(operand)).sum::<u64>();
        }
        most
    }

    /// Bytes of a ciphertext of one vector.
    fn vector_bytes(&self, level: usize) -> u64 {
        let params = self.parameters.params();
        (2 * params.levels()[level].primes * params.rlwe().ring().n() * size_of::<u64>()) as u64
    }

    /// All memory of a device, in bytes.
    ///
    /// # Errors
    /// None in practice.
    pub fn memory(&self) -> Result<u64> {
        let keys = self.key_bytes() + self.bootstrap_key_bytes()?;
        Ok(keys + self.plaintext_bytes() + self.ciphertext_bytes())
    }

    /// The parts of nodes that are computed on ciphertexts, with their levels and operations; those
    /// of refreshes by themselves.
    pub fn layers(&self) -> Vec<LayerFacts> {
        let circuit = &self.assembled.circuit;
        let mut found: Vec<(usize, LayerFacts)> = Vec::new();
        // The layer of each step, and the levels from the first step of that layer on.
        let mut depths = vec![(usize::MAX, 0); circuit.steps.len()];
        for id in 1..circuit.steps.len() {
            let of_step = [false, true].map(|refresh| self.made(id, refresh));
            for (made, level) in of_step.into_iter().flatten() {
                let node = circuit.steps[id].node;
                let same = |(other, facts): &(usize, LayerFacts)| (*other, facts.part) == (node, made.part);
                if !found.last().is_some_and(same) {
                    found.push((node, LayerFacts::new(&made)));
                }
                let layer = found.len() - 1;
                if made.part != Part::Refresh {
                    depths[id] = (layer, circuit.depth_in(id, layer, &depths));
                }
                let facts = &mut found[layer].1;
                facts.level = level;
                facts.depth = if made.part == Part::Refresh { 0 } else { facts.depth.max(depths[id].1) };
                facts.counts += made.counts;
                facts.work += made.work;
            }
        }
        found.into_iter().map(|(_, facts)| facts).collect()
    }

    /// The costs of inference, as those of other models are stated.
    ///
    /// # Errors
    /// None in practice.
    pub(crate) fn facts(&self) -> Result<Facts> {
        let (params, work, mut waiting) = (self.parameters.params(), self.work(), 0);
        let mut layers = Vec::new();
        for layer in self.layers() {
            let Counts { baby, hoisted, rotations, plain, refreshes, .. } = layer.counts;
            if layer.part == Part::Refresh {
                waiting += refreshes;
                continue;
            }
            layers.push(compiled::LayerFacts {
                what: format!("{}: {}", layer.operator, layer.part.name()),
                nodes: vec![layer.name],
                shape: layer.shape,
                level: layer.level + layer.depth,
                depth: layer.depth,
                rotations: baby + hoisted + rotations,
                diagonals: plain,
                refreshes: std::mem::take(&mut waiting),
                share: layer.work / work,
            });
        }
        Ok(Facts {
            layers,
            log_n: params.rlwe().ring().log_n(),
            levels: params.max_level(),
            refreshes: self.counts().refreshes,
            arrangement: Arrangement::Slots,
            examples: 1,
            ciphertexts: self.batch(),
            key_bytes: self.key_bytes(),
            bootstrap_key_bytes: self.bootstrap_key_bytes()?,
            plaintext_bytes: self.plaintext_bytes(),
            ciphertext_bytes: self.ciphertext_bytes(),
            work,
        })
    }

    /// A step, or the refresh after it, and the level of its value.
    fn made(&self, id: usize, refresh: bool) -> Option<(Made<'_>, usize)> {
        let (circuit, schedule) = (&self.assembled.circuit, &self.schedule);
        let (level, low, step) = (schedule.levels[id]?, schedule.made[id]?, &circuit.steps[id]);
        let (part, counts, level) = match (refresh, schedule.refreshed[id]) {
            (false, _) => (step.part, self.counts[id], low),
            (true, true) => {
                (Part::Refresh, Counts { refreshes: circuit.refreshes(id), ..Counts::default() }, level)
            }
            (true, false) => return None,
        };
        let above = if refresh { level } else { low + step.op.depth() };
        let work = counts.work(self.parameters.params(), above, self.refresh);
        let node = &self.encoder.graph().nodes[step.node];
        Some((Made { step: id, node, part, counts, work }, level))
    }

    /// The operations of an evaluation.
    pub fn counts(&self) -> Counts {
        self.layers().into_iter().fold(Counts::default(), |sum, layer| sum + layer.counts)
    }

    /// The work of an evaluation, in butterflies of transforms: what
    /// [`speed`](crate::speed) says is done in a second.
    pub fn work(&self) -> f64 {
        self.layers().iter().map(|layer| layer.work).sum()
    }

    /// The level that a sentence is encrypted on at least.
    pub fn input_level(&self) -> usize {
        self.schedule.levels[0].unwrap_or(0)
    }

    /// An example, which errors call number `index`, as vectors of slots and the public mask.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check): examples that leave the calibrated ranges are refused
    /// before they are encrypted.
    pub fn pack(&self, index: usize, example: &[f64]) -> Result<Packed> {
        self.check(index, example)?;
        self.place(index, example)
    }

    /// Checks that an example, which errors call number `index`, stays within the calibrated
    /// ranges.
    ///
    /// # Errors
    /// The errors of [`Encoder::simulate`]; [`Error::OutOfRange`] for a number that is encrypted
    /// and greater than those of the calibration.
    pub fn check(&self, index: usize, example: &[f64]) -> Result<()> {
        let Assembled { input, input_unit, .. } = self.assembled;
        let graph = self.encoder.graph();
        let numbers = graph.value_of(index, example, input)?;
        let Some(&value) = numbers.iter().find(|x| x.abs() > input_unit) else {
            return self.encoder.simulate(index, example).map(drop);
        };
        let excess = Excess {
            node: input,
            quantity: "encrypted number".to_owned(),
            value,
            range: Range { low: -input_unit, high: input_unit },
        };
        Err(excess.error(graph, index))
    }

    /// An example as [`pack`](Self::pack) leaves it, whatever its ranges.
    ///
    /// # Errors
    /// [`Error::InputLength`], [`Error::InputValue`], [`Error::InputId`], [`Error::EmptyMask`].
    pub(crate) fn place(&self, index: usize, example: &[f64]) -> Result<Packed> {
        let graph = self.encoder.graph();
        let Assembled { circuit, input, input_unit, mask, .. } = &self.assembled;
        let layout = circuit.layout;
        let numbers = graph.value_of(index, example, *input)?;
        let numbers: Vec<f64> = numbers.iter().map(|x| x / input_unit).collect();
        let width = numbers.len() / layout.tokens;
        let repeats = self.parameters.params().slots() / layout.slots();
        let vectors = layout.pack(&numbers, width).into_iter().map(|vector| vector.repeat(repeats)).collect();
        let mask = match mask {
            Some(mask) => graph.value_of(index, example, *mask)?.iter().map(|&bit| bit != 0.0).collect(),
            None => vec![true; layout.tokens],
        };
        Ok(Packed { vectors, mask })
    }

    /// The tokens of a sentence, those that the mask leaves out among them.
    pub fn tokens(&self) -> usize {
        self.assembled.circuit.layout.tokens
    }

    /// The tokens of a sentence, where the model has a mask of them.
    pub fn masked_tokens(&self) -> Option<usize> {
        self.assembled.mask.map(|_| self.assembled.circuit.layout.tokens)
    }

    /// The places where decryption finds the outputs, in the [blocks](Self::batch) of the result
    /// as ciphertexts of their own.
    pub(crate) fn outputs(&self) -> OutputLayout {
        let Assembled { circuit, output, output_unit, form, .. } = &self.assembled;
        let (graph, layout) = (self.encoder.graph(), circuit.layout);
        let slots = layout.slots();
        let width = graph.nodes[*output].shape.last().copied().unwrap_or(0);
        let (tokens, ciphertexts) = match form {
            Output::Pooled => (1, 1),
            Output::Tokens => (layout.tokens, layout.blocks),
        };
        let first = |token: usize| token / layout.rows * slots + token % layout.rows * layout.period;
        let positions = (0..tokens).flat_map(|token| first(token)..first(token) + width).collect();
        OutputLayout {
            positions,
            slots,
            ciphertexts,
            examples: 1,
            unit: *output_unit,
            range: [-output_unit, *output_unit],
            decision: self.assembled.decision,
        }
    }

    /// The output of decrypted vectors, its length and the decision of the model included.
    ///
    /// # Errors
    /// [`Error::Graph`] for other vectors than those of [`infer`](Self::infer).
    pub fn unpack(&self, vectors: &[Vec<f64>]) -> Result<Vec<f64>> {
        let layout = self.outputs();
        let parts: Vec<Vec<Vec<f64>>> =
            vectors.iter().take(layout.ciphertexts).map(|vector| vec![vector.clone()]).collect();
        let mut found = layout.unpack(&parts, 1)?;
        Ok(found.pop().map(|outputs| outputs.decided).unwrap_or_default())
    }

    /// The output of an example by the steps of the plan, in float64: the reference for
    /// [`infer`](Self::infer).
    ///
    /// # Errors
    /// The errors of [`pack`](Self::pack).
    pub fn apply_plain(&self, index: usize, example: &[f64]) -> Result<Vec<f64>> {
        self.apply_plain_watched(index, example, &mut |_, _| {})
    }

    /// Runs [`apply_plain`](Self::apply_plain) with a call after each step: its number, and the
    /// vectors of each of its ciphertexts.
    ///
    /// # Errors
    /// The errors of [`pack`](Self::pack).
    pub fn apply_plain_watched(
        &self,
        index: usize,
        example: &[f64],
        made: &mut WatchPlain<'_>,
    ) -> Result<Vec<f64>> {
        let Packed { mut vectors, mask } = self.pack(index, example)?;
        let slots = self.assembled.circuit.layout.slots();
        vectors.iter_mut().for_each(|vector| vector.truncate(slots));
        self.unpack(&self.assembled.circuit.apply_plain(&vectors, &mask, made))
    }

    /// The encrypted output of an encrypted sentence: one ciphertext that holds the
    /// [vectors](Packed::vectors) as a batch, and the public mask. No secret is needed. Linear maps
    /// are encoded on the way; [`prepare`](Self::prepare) saves that for further sentences.
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
        self.infer_watched(ev, input, mask, keys, refresher, &mut |_, _| Ok(()))
    }

    /// Runs [`infer`](Self::infer) with a call after each step and after each refresh, which sees
    /// its value. An error of the call ends the inference.
    ///
    /// # Errors
    /// The errors of [`infer`](Self::infer) and of `done`.
    pub fn infer_watched<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        done: &mut Watch<'_, B>,
    ) -> Result<Ciphertext<B>> {
        let nothing = Prepared::nothing(&self.assembled.circuit);
        self.run(ev, input, mask, keys, refresher, &nothing, done)
    }

    /// Encodes the linear maps, and all numbers that do not depend on the mask, for a device.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator of other parameters; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>) -> Result<PreparedPlan<'_, B>> {
        self.check_params(ev)?;
        let prepared = Prepared::new(&self.assembled.circuit, &self.schedule, ev)?;
        Ok(PreparedPlan { plan: self, prepared })
    }

    fn run<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        prepared: &Prepared<B>,
        done: &mut Watch<'_, B>,
    ) -> Result<Ciphertext<B>> {
        self.check_given(ev, input, mask, refresher)?;
        self.requirements().check(keys)?;
        let (circuit, schedule) = (&self.assembled.circuit, &self.schedule);
        let run = Run { circuit, schedule, prepared, ev, keys, refresher, mask };
        let mut made = |id: usize, refresh: bool, value: &[Ciphertext<B>]| match self.made(id, refresh) {
            Some((made, ..)) => done(made, value),
            None => Ok(()),
        };
        Ok(run.output(input, &mut made)?)
    }

    fn check_params<B: RingOps>(&self, ev: &Evaluator<B>) -> Result<()> {
        match ev.params() == self.parameters.params() {
            true => Ok(()),
            false => Err(Error::Parameters { why: "the evaluator has others than the model".to_owned() }),
        }
    }

    fn check_given<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        refresher: &impl Refresher<B>,
    ) -> Result<()> {
        let other = |why: String| Err(Error::Parameters { why });
        self.check_params(ev)?;
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

impl<B: RingOps> PreparedPlan<'_, B> {
    /// Runs [`Plan::infer`] with maps that are encoded already.
    ///
    /// # Errors
    /// The errors of [`Plan::infer`].
    pub fn infer(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
    ) -> Result<Ciphertext<B>> {
        self.infer_watched(ev, input, mask, keys, refresher, &mut |_, _| Ok(()))
    }

    /// Runs [`infer`](Self::infer) with a call after each step and after each refresh, which sees
    /// its value. An error of the call ends the inference.
    ///
    /// # Errors
    /// The errors of [`Plan::infer`] and of `done`.
    pub fn infer_watched(
        &self,
        ev: &Evaluator<B>,
        input: &Ciphertext<B>,
        mask: &[bool],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        done: &mut Watch<'_, B>,
    ) -> Result<Ciphertext<B>> {
        self.plan.run(ev, input, mask, keys, refresher, &self.prepared, done)
    }

    /// Bytes of what is encoded.
    pub fn bytes(&self) -> u64 {
        self.prepared.bytes()
    }
}
