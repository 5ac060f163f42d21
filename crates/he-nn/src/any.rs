//! Models for encrypted inputs of either kind: networks of layers, and encoders of sentences.

use crate::batch::Comparison;
use crate::compiled::{CompiledModel, Facts, Options, OutputLayout};
use crate::encoder::plan::Packed;
use crate::encoder::{Encoder, Plan, PreparedPlan, Warning};
use crate::error::{Error, Result};
use crate::format::{self, Opened};
use crate::graph::Graph;
use crate::inference::{PreparedModel, with_all_slots};
use crate::parameters::Parameters;
use crate::places::Arrangement;
use crate::program::Made;
use crate::work;
use he_core::backend::{Cpu, RingOps};
use he_core::bootstrapping::presets::Preset;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Ciphertext, Evaluator};
use he_core::rlwe::EvaluationKeys;

/// The tokens of a sentence: true for those of the sentence, false for the rest.
pub type Mask = Vec<bool>;

/// A model with everything that inference needs except keys, of either kind.
///
/// Examples are rows of the numbers of all inputs. The mask of a sentence is public: it is not
/// encrypted, and [`infer_watched`](Self::infer_watched) takes it beside the ciphertexts. The ids
/// of words are not public: whoever encrypts looks up their rows.
///
/// ```no_run
/// use he_nn::{AnyModel, Graph, Wishes};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let sentences: Vec<Vec<f64>> = vec![];
/// let graph = Graph::from_onnx(&std::fs::read("encoder.onnx")?)?;
/// let made = AnyModel::compile(graph, &sentences, &Wishes::default())?;
/// std::fs::write("encoder.plan", made.model.to_bytes()?)?;
/// println!("{} bytes of keys", made.model.facts()?.key_bytes);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyModel {
    /// A network of layers.
    Layers(Box<CompiledModel>),
    /// An encoder of sentences.
    Encoder(Box<Plan>),
}

/// The wishes for a model about to be compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wishes {
    /// The bits of functions ([`Options::bits`]).
    pub bits: Option<u32>,
    /// The margin of values ([`Options::margin`]).
    pub margin: Option<f64>,
    /// The examples that come at once ([`CompiledModel::compile_for_batch`]).
    pub batch: Option<usize>,
}

/// A model that was compiled, and what was found on the way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Compiled {
    /// The model.
    pub model: AnyModel,
    /// The costs of both arrangements, if a number of examples was wished for.
    pub comparison: Option<Comparison>,
    /// The ranges of an encoder that are too narrow for examples like those given.
    pub warnings: Vec<Warning>,
}

/// A model whose linear maps are encoded for a device.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyPrepared<'m, B: RingOps = Cpu> {
    /// A network of layers.
    Layers(PreparedModel<'m, B>),
    /// An encoder of sentences.
    Encoder(&'m Plan, PreparedPlan<'m, B>),
}

impl From<CompiledModel> for AnyModel {
    fn from(model: CompiledModel) -> Self {
        Self::Layers(Box::new(model))
    }
}

impl From<Plan> for AnyModel {
    fn from(plan: Plan) -> Self {
        Self::Encoder(Box::new(plan))
    }
}

impl AnyModel {
    /// Compiles a model for 128 bits of security. Encoders are refreshed with the preset
    /// [`fast`](he_core::bootstrapping::presets::fast).
    ///
    /// # Errors
    /// [`Error::Wish`] for wishes that encoders do not have; the errors of
    /// [`CompiledModel::compile`], [`Encoder::calibrate`] and [`Encoder::plan`].
    pub fn compile(graph: Graph, examples: &[Vec<f64>], wishes: &Wishes) -> Result<Compiled> {
        if graph.is_encoder() {
            return Self::encoder(graph, examples, wishes);
        }
        let usual = Options::default();
        let bits = wishes.bits.unwrap_or(usual.bits);
        let options = Options { bits, margin: wishes.margin.unwrap_or(usual.margin) };
        let (model, comparison) = match wishes.batch {
            None => (CompiledModel::compile(graph, examples, options)?, None),
            Some(batch) => {
                let (model, comparison) = CompiledModel::compile_for_batch(graph, examples, options, batch)?;
                (model, Some(comparison))
            }
        };
        Ok(Compiled { model: model.into(), comparison, warnings: Vec::new() })
    }

    fn encoder(graph: Graph, examples: &[Vec<f64>], wishes: &Wishes) -> Result<Compiled> {
        let wished = [wishes.bits.map(|_| "bits"), wishes.margin.map(|_| "margin")];
        if let Some(what) = wished.into_iter().chain([wishes.batch.map(|_| "batch")]).flatten().next() {
            return Err(Error::Wish { what });
        }
        let params = Preset::Fast.params().map_err(|error| Error::Parameters { why: error.to_string() })?;
        let encoder = Encoder::calibrate(graph, examples)?;
        let plan = encoder.plan(Parameters::Refreshed(params))?;
        Ok(Compiled { warnings: encoder.warnings().to_vec(), model: plan.into(), comparison: None })
    }

    /// The model as bytes; weights are among them in the clear.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Layers(model) => model.to_bytes(),
            Self::Encoder(plan) => plan.to_bytes(),
        }
    }

    /// Reads a model.
    ///
    /// # Errors
    /// [`Error::Version`] for another version; [`Error::Format`] for bytes that are not a compiled
    /// model, or damaged; parameters below 128 bits of security; everything that compiling a model
    /// returns.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(format::opened(bytes, false)?)
    }

    /// Reads a model of parameters that may be insecure; for tests.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes), but for security.
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(format::opened(bytes, true)?)
    }

    fn read(opened: Opened<'_>) -> Result<Self> {
        match opened.version {
            format::ENCODER => Ok(Plan::read(opened)?.into()),
            _ => Ok(CompiledModel::read(opened)?.into()),
        }
    }

    /// The network of layers, if it is one.
    pub fn layers(&self) -> Option<&CompiledModel> {
        match self {
            Self::Layers(model) => Some(model),
            Self::Encoder(_) => None,
        }
    }

    /// The model itself.
    pub fn graph(&self) -> &Graph {
        match self {
            Self::Layers(model) => model.graph(),
            Self::Encoder(plan) => plan.encoder().graph(),
        }
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        match self {
            Self::Layers(model) => model.parameters(),
            Self::Encoder(plan) => plan.parameters(),
        }
    }

    /// The evaluation keys that inference needs, those of refreshes apart.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::requirements`].
    pub fn requirements(&self) -> Result<Requirements> {
        match self {
            Self::Layers(model) => model.requirements(),
            Self::Encoder(plan) => {
                Ok(Requirements { depth: plan.parameters().params().max_level(), keys: plan.requirements() })
            }
        }
    }

    /// The costs of inference.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::facts`].
    pub fn facts(&self) -> Result<Facts> {
        match self {
            Self::Layers(model) => model.facts(),
            Self::Encoder(plan) => plan.facts(),
        }
    }

    /// The work of an inference on one ciphertext of examples, or on one sentence.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::work`].
    pub fn work(&self) -> Result<u64> {
        match self {
            Self::Layers(model) => model.work(),
            Self::Encoder(plan) => Ok(plan.work() as u64),
        }
    }

    /// The work of a refresh of one ciphertext; `None` for a model without refreshes.
    ///
    /// # Errors
    /// Parameters whose keys are not known.
    pub fn work_of_refresh(&self) -> Result<Option<f64>> {
        Ok(self.parameters().bootstrapping().map(work::refresh).transpose()?)
    }

    /// How the numbers of examples lie in ciphertexts.
    pub fn arrangement(&self) -> Arrangement {
        self.layers().map_or(Arrangement::Slots, CompiledModel::arrangement)
    }

    /// The number of examples that share a ciphertext.
    pub fn examples(&self) -> usize {
        self.layers().map_or(1, CompiledModel::examples)
    }

    /// The ciphertexts that an input takes.
    pub fn ciphertexts(&self) -> usize {
        match self {
            Self::Layers(model) => model.ciphertexts(),
            Self::Encoder(plan) => plan.batch(),
        }
    }

    /// Numbers of an example.
    pub fn input_elements(&self) -> usize {
        self.graph().input_elements()
    }

    /// The tokens of a mask, if the model has one.
    pub fn masked_tokens(&self) -> Option<usize> {
        match self {
            Self::Layers(_) => None,
            Self::Encoder(plan) => plan.masked_tokens(),
        }
    }

    /// The outputs of one example in float64, with the functions of the model itself, after the
    /// decision.
    ///
    /// # Errors
    /// The errors of [`Graph::values`].
    pub fn apply_plain(&self, example: &[f64]) -> Result<Vec<f64>> {
        self.graph().apply_plain(example)
    }

    /// Checks that the values of an example, which errors call number `index`, stay within the
    /// calibrated ranges.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::check`] and [`Plan::check`].
    pub fn check(&self, index: usize, example: &[f64]) -> Result<()> {
        match self {
            Self::Layers(model) => model.check(index, example),
            Self::Encoder(plan) => plan.check(index, example),
        }
    }

    /// The slots of examples, as [`CompiledModel::pack`] leaves them.
    ///
    /// # Errors
    /// The errors of [`CompiledModel::pack`] and [`Graph::values`].
    pub fn pack(&self, examples: &[Vec<f64>]) -> Result<Vec<Vec<Vec<f64>>>> {
        let plan = match self {
            Self::Layers(model) => return model.pack(examples),
            Self::Encoder(_) if examples.is_empty() => return Err(Error::NoExamples),
            Self::Encoder(plan) => plan,
        };
        let mut parts = vec![Vec::new(); self.ciphertexts()];
        for (index, example) in examples.iter().enumerate() {
            let Packed { vectors, .. } = plan.place(index, example)?;
            parts.iter_mut().zip(vectors).for_each(|(part, vector)| part.push(vector));
        }
        Ok(parts)
    }

    /// The public mask of each example; nothing for a model without one.
    ///
    /// # Errors
    /// The errors of [`Graph::values`].
    pub fn masks(&self, examples: &[Vec<f64>]) -> Result<Vec<Mask>> {
        let Self::Encoder(plan) = self else { return Ok(Vec::new()) };
        if plan.masked_tokens().is_none() {
            return Ok(Vec::new());
        }
        examples.iter().enumerate().map(|(index, example)| Ok(plan.place(index, example)?.mask)).collect()
    }

    /// The places where decryption finds the outputs.
    pub fn outputs(&self) -> OutputLayout {
        match self {
            Self::Layers(model) => model.outputs(),
            Self::Encoder(plan) => plan.outputs(),
        }
    }

    /// Encodes the linear maps for a device.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator of other parameters; device errors.
    pub fn prepare<B: RingOps>(&self, ev: &Evaluator<B>) -> Result<AnyPrepared<'_, B>> {
        Ok(match self {
            Self::Layers(model) => AnyPrepared::Layers(model.prepare(ev)?),
            Self::Encoder(plan) => AnyPrepared::Encoder(plan, plan.prepare(ev)?),
        })
    }

    /// The encrypted outputs of encrypted examples, without any secret: the ciphertexts of one
    /// input, each a batch of as many vectors as there are groups of examples, and the public mask
    /// of each group, if the model has one. `done` is called after each step with its work.
    ///
    /// # Errors
    /// [`Error::Parameters`] for an evaluator, a refresher, inputs or masks of others; missing
    /// keys; device errors.
    pub fn infer_watched<B: RingOps>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        masks: &[Mask],
        keys: &EvaluationKeys<B>,
        refresher: &impl Refresher<B>,
        done: &mut dyn FnMut(u64),
    ) -> Result<Vec<Ciphertext<B>>> {
        match self {
            Self::Layers(model) => model.infer_watched(ev, inputs, keys, refresher, done),
            // Few sentences do not repay the memory of all maps.
            Self::Encoder(plan) if inputs.first().is_some_and(|input| input.batch() == 1) => {
                each_sentence(plan, inputs, masks, |input, mask| {
                    let mut step = |work: f64| done(work as u64);
                    plan.infer_watched(ev, input, mask, keys, refresher, &mut |made, _| {
                        step(made.work);
                        Ok(())
                    })
                })
            }
            Self::Encoder(_) => {
                let mut made = |made: Made<'_, B>| {
                    done(made.work);
                    Ok(())
                };
                self.prepare(ev)?.infer_recorded(ev, inputs, masks, keys, refresher, &mut made)
            }
        }
    }
}

impl<B: RingOps> AnyPrepared<'_, B> {
    /// Runs [`AnyModel::infer_watched`] with maps that are encoded already, and a call after each
    /// step that sees its value. An error of the call ends the inference.
    ///
    /// # Errors
    /// The errors of [`AnyModel::infer_watched`] and of `made`.
    pub fn infer_recorded<R: Refresher<B>>(
        &self,
        ev: &Evaluator<B>,
        inputs: &[Ciphertext<B>],
        masks: &[Mask],
        keys: &EvaluationKeys<B>,
        refresher: &R,
        made: &mut dyn FnMut(Made<'_, B>) -> Result<()>,
    ) -> Result<Vec<Ciphertext<B>>> {
        let (plan, prepared) = match self {
            Self::Layers(model) => return model.infer_recorded(ev, inputs, keys, refresher, made),
            Self::Encoder(plan, prepared) => (plan, prepared),
        };
        let mut failed = None;
        let found = each_sentence(plan, inputs, masks, |input, mask| {
            prepared.infer_watched(ev, input, mask, keys, refresher, &mut |step, value| {
                made(Made { step: step.step, work: step.work as u64, value }).map_err(|error| {
                    failed = Some(error);
                    he_core::Error::Cancelled
                })
            })
        });
        failed.map_or(found, Err)
    }
}

/// The outputs of a batch of sentences, one after the other.
fn each_sentence<B: RingOps>(
    plan: &Plan,
    inputs: &[Ciphertext<B>],
    masks: &[Mask],
    mut infer: impl FnMut(&Ciphertext<B>, &[bool]) -> Result<Ciphertext<B>>,
) -> Result<Vec<Ciphertext<B>>> {
    let other = |why: String| Err(Error::Parameters { why });
    if inputs.len() != plan.batch() {
        return other(format!("a sentence has {} ciphertexts, and {} are given", plan.batch(), inputs.len()));
    }
    let sentences = inputs.first().map_or(0, Ciphertext::batch);
    if let Some(odd) = inputs.iter().find(|input| input.batch() != sentences) {
        return other(format!("ciphertexts of sentences have batches of {} and {sentences}", odd.batch()));
    }
    let all = vec![true; plan.tokens()];
    let masks: Vec<&[bool]> = match plan.masked_tokens() {
        None => vec![&all; sentences],
        Some(_) => masks.iter().map(Vec::as_slice).collect(),
    };
    if masks.len() != sentences {
        return other(format!("{sentences} sentences have {} masks", masks.len()));
    }
    let parts = plan.outputs().ciphertexts;
    let mut outputs: Vec<Vec<Ciphertext<B>>> = (0..parts).map(|_| Vec::with_capacity(sentences)).collect();
    for (at, mask) in masks.into_iter().enumerate() {
        let blocks = inputs.iter().map(|input| input.slice_batch(at..at + 1));
        let blocks = blocks.collect::<he_core::Result<Vec<_>>>()?;
        let output = infer(&Ciphertext::concat(&blocks.iter().collect::<Vec<_>>())?, mask)?;
        for (part, outputs) in outputs.iter_mut().enumerate() {
            outputs.push(output.slice_batch(part..part + 1)?);
        }
    }
    let joined = outputs.iter().map(|parts| Ciphertext::concat(&parts.iter().collect::<Vec<_>>()));
    let joined = joined.collect::<he_core::Result<Vec<_>>>()?;
    Ok(joined
        .into_iter()
        .map(|ct| with_all_slots(plan.parameters().params(), ct))
        .collect::<he_core::Result<_>>()?)
}
