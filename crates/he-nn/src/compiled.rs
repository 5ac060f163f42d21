//! Models that are ready for encrypted inputs.

use crate::approximation::Approximation;
use crate::calibration::Calibration;
use crate::error::{Error, Result};
use crate::graph::{Decision, Graph};
use crate::layers::{Kind, Layers};
use crate::levels::{self, Action, Step};
use crate::maps::{Maps, Outline, Packing, Transforms};
use crate::parameters::Parameters;
use crate::places::{Arrangement, Map, Places};
use crate::stacks::Stacks;
use crate::work;
use he_core::bootstrapping::BootstrapParams;
use he_core::bootstrapping::presets::Preset;
use he_core::circuits::Requirements;
use he_core::circuits::ckks::TensorLayout;
use he_core::ckks::CkksParams;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// The options with which a model is compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Options {
    /// The bits to which functions are approximated, of their greatest magnitude: 2 to 30.
    pub bits: u32,
    /// The fraction by which values may exceed those of the calibration.
    pub margin: f64,
}

impl Default for Options {
    /// 10 bits, a quarter.
    fn default() -> Self {
        Self { bits: 10, margin: 0.25 }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<()> {
        let ok = (2..=30).contains(&self.bits) && (0.0..=100.0).contains(&self.margin);
        let why = format!("{} bits with a margin of {}", self.bits, self.margin);
        if ok { Ok(()) } else { Err(Error::Parameters { why }) }
    }
}

/// The parameters and the places that a compiled model is to have.
pub(crate) enum Wanted {
    /// The parameters and the places that are cheapest.
    Anything(Arrangement),
    /// These parameters.
    Parameters(Parameters, Arrangement),
    /// These parameters, and actions and a packing in slots that were chosen before; without a
    /// packing, stacks.
    Plan(Parameters, Option<Packing>, Vec<Action>),
}

/// A model with everything that inference needs except keys: where values lie, linear maps,
/// polynomials, levels and refreshes.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    pub(crate) graph: Graph,
    pub(crate) calibration: Calibration,
    pub(crate) options: Options,
    pub(crate) parameters: Parameters,
    pub(crate) layers: Layers,
    pub(crate) places: Places,
    pub(crate) functions: Vec<Option<Approximation>>,
    pub(crate) actions: Vec<Action>,
    /// The outline of each linear map, from when they are asked for.
    outlines: OnceLock<Vec<Option<Outline>>>,
}

/// A layer, for people.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerFacts {
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// The layer's computation, in words.
    pub what: String,
    /// The dimensions of its value.
    pub shape: Vec<usize>,
    /// The level that it is computed on.
    pub level: usize,
    /// The levels that it takes.
    pub depth: usize,
    /// Rotations of ciphertexts.
    pub rotations: usize,
    /// Products with plaintexts.
    pub diagonals: usize,
    /// Values that are refreshed before it.
    pub refreshes: usize,
    /// Its share of the work.
    pub share: f64,
}

/// The costs of inference, before it runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Facts {
    /// The layers in the order in which they are computed.
    pub layers: Vec<LayerFacts>,
    /// log2 of the ring degree.
    pub log_n: u32,
    /// The levels of fresh inputs.
    pub levels: usize,
    /// Refreshes of ciphertexts.
    pub refreshes: usize,
    /// How the numbers of examples lie in ciphertexts.
    pub arrangement: Arrangement,
    /// Examples that share a ciphertext.
    pub examples: usize,
    /// Ciphertexts of an input.
    pub ciphertexts: usize,
    /// Bytes of the evaluation keys in memory.
    pub key_bytes: u64,
    /// Bytes of the keys of refreshes.
    pub bootstrap_key_bytes: u64,
    /// Bytes of the plaintexts of a prepared model.
    pub plaintext_bytes: u64,
    /// Bytes of the ciphertexts that are alive at the same time, at most.
    pub ciphertext_bytes: u64,
    /// The work of inference on one ciphertext of examples, in butterflies of transforms.
    pub work: f64,
}

impl Facts {
    /// All memory of a device, in bytes.
    pub fn memory(&self) -> u64 {
        self.key_bytes + self.bootstrap_key_bytes + self.plaintext_bytes + self.ciphertext_bytes
    }
}

impl CompiledModel {
    /// Compiles a model for 128 bits of security, with the numbers of an example side by side in
    /// slots: without refreshes if its depth allows, otherwise with the preset
    /// [`fast`](he_core::bootstrapping::presets::fast). For many examples at once there is
    /// [`compile_for_batch`](Self::compile_for_batch).
    ///
    /// # Errors
    /// [`Error::Uncalibrated`], [`Error::Unsupported`] for functions that no polynomial follows
    /// over the range that calibration saw, [`Error::Parameters`]; the errors of calibration.
    pub fn compile(mut graph: Graph, examples: &[Vec<f64>], options: Options) -> Result<Self> {
        graph.normalise_steps(examples)?;
        let calibration = Calibration::new(&graph, examples)?;
        Self::calibrated(graph, calibration, options, Wanted::Anything(Arrangement::Slots))
    }

    /// Compiles a model for the parameters given, which may be insecure ones for tests.
    ///
    /// # Errors
    /// The errors of [`compile`](Self::compile).
    pub fn compile_for(
        graph: Graph,
        examples: &[Vec<f64>],
        options: Options,
        parameters: Parameters,
    ) -> Result<Self> {
        Self::arranged_for(graph, examples, options, parameters, Arrangement::Slots)
    }

    /// Compiles a model for the parameters and the arrangement given.
    ///
    /// # Errors
    /// The errors of [`compile`](Self::compile); [`Error::Parameters`] for stacks of too many
    /// ciphertexts.
    pub fn arranged_for(
        mut graph: Graph,
        examples: &[Vec<f64>],
        options: Options,
        parameters: Parameters,
        arrangement: Arrangement,
    ) -> Result<Self> {
        graph.normalise_steps(examples)?;
        let calibration = Calibration::new(&graph, examples)?;
        Self::calibrated(graph, calibration, options, Wanted::Parameters(parameters, arrangement))
    }

    pub(crate) fn calibrated(
        graph: Graph,
        calibration: Calibration,
        options: Options,
        wanted: Wanted,
    ) -> Result<Self> {
        options.check()?;
        graph.check_planned()?;
        let layers = Layers::new(&graph, &calibration, options.margin)?;
        let functions = layers.list.iter().map(|layer| {
            let Kind::Function(function) = &layer.kind else { return Ok(None) };
            let node = &graph.nodes[layer.node];
            let unsupported = |why| {
                let (operator, node) = (node.operator.clone(), node.name.clone());
                let hint = "ask for fewer bits, or train with smaller inputs of this function";
                Error::Unsupported { operator, node, why, hint }
            };
            let from = layers.list[layer.inputs[0]].unit;
            let domain = layers.domain(layer, &calibration, options.margin);
            Approximation::new(function, domain, from, layer.unit, options.bits, unsupported).map(Some)
        });
        let functions: Vec<Option<Approximation>> = functions.collect::<Result<_>>()?;
        let depths: Vec<usize> =
            layers.list.iter().zip(&functions).map(|(layer, f)| depth(&layers, layer, f)).collect();
        let steps_of = |places: &Places, outlines: &[Option<Outline>], parameters: &Parameters| {
            steps(&layers, &depths, &functions, places, outlines, parameters)
        };
        let searched = |parameters: Parameters, one: (Maps, Transforms)| {
            let (maps, transforms) = placed(&graph, &layers, parameters.params().slots(), one)?;
            let maps_of = transforms.into_iter().map(|transform| Ok(transform.map(Map::Blocks)));
            let (places, outlines) = (Places::Slots(maps), outlines(maps_of, parameters.params())?);
            let steps = steps_of(&places, &outlines, &parameters)?;
            let (actions, _) = levels::shortest_path(&steps, parameters.range())?;
            Ok::<_, Error>((parameters, places, actions, OnceLock::from(outlines)))
        };
        let stacked = |parameters: Parameters| {
            let places = Places::Stacks(Stacks::new(&graph, &layers, &parameters)?);
            let maps_of = (0..layers.list.len()).map(|id| places.map(&graph, &layers, id));
            let outlines = outlines(maps_of, parameters.params())?;
            let steps = steps_of(&places, &outlines, &parameters)?;
            let (actions, _) = levels::shortest_path(&steps, parameters.range())?;
            Ok::<_, Error>((parameters, places, actions, OnceLock::from(outlines)))
        };
        let (parameters, places, actions, outlines) = match wanted {
            Wanted::Anything(Arrangement::Slots) => {
                let one = Maps::new(&graph, &layers, 1, MOST_SLOTS)?;
                let slots = one.0.layouts.iter().map(TensorLayout::slots).max().unwrap_or(1);
                let parameters = choose(slots, &layers, &depths, options.bits)?;
                let capacity = parameters.params().slots();
                let one = if capacity == MOST_SLOTS { one } else { Maps::new(&graph, &layers, 1, capacity)? };
                searched(parameters, one)?
            }
            Wanted::Parameters(parameters, Arrangement::Slots) => {
                let one = Maps::new(&graph, &layers, 1, parameters.params().slots())?;
                searched(parameters, one)?
            }
            Wanted::Anything(Arrangement::Stacks) => stacked(choose(1, &layers, &depths, options.bits)?)?,
            Wanted::Parameters(parameters, Arrangement::Stacks) => stacked(parameters)?,
            Wanted::Plan(parameters, packing, actions) => {
                let slots = parameters.params().slots();
                let places = match packing {
                    Some(packing) => Places::Slots(Maps::packed(&graph, &layers, &packing, slots)?),
                    None => Places::Stacks(Stacks::new(&graph, &layers, &parameters)?),
                };
                if !levels::are_possible(&actions, &shape(&layers, &depths), parameters.range()) {
                    return Err(Error::Format { why: "its levels do not belong to its graph".to_owned() });
                }
                (parameters, places, actions, OnceLock::new())
            }
        };
        Ok(Self { graph, calibration, options, parameters, layers, places, functions, actions, outlines })
    }

    /// The map of a layer, if it is a linear one. It is made anew.
    pub(crate) fn map(&self, id: usize) -> Result<Option<Map>> {
        self.places.map(&self.graph, &self.layers, id)
    }

    /// Keeps the outline of each linear map, for [`outlines`](Self::outlines).
    pub(crate) fn set_outlines(&self, outlines: Vec<Option<Outline>>) {
        self.outlines.get_or_init(|| outlines);
    }

    /// The outline of each linear map. For a model that was read, its maps are made for that.
    fn outlines(&self) -> Result<&[Option<Outline>]> {
        if let Some(outlines) = self.outlines.get() {
            return Ok(outlines);
        }
        let maps = (0..self.layers.list.len()).map(|id| self.map(id));
        let outlines = outlines(maps, self.parameters.params())?;
        Ok(self.outlines.get_or_init(|| outlines))
    }

    /// The layers with their work on every level.
    fn steps(&self) -> Result<Vec<Step>> {
        let functions = self.layers.list.iter().zip(&self.functions);
        let depths: Vec<usize> = functions.map(|(layer, f)| depth(&self.layers, layer, f)).collect();
        steps(&self.layers, &depths, &self.functions, &self.places, self.outlines()?, &self.parameters)
    }

    /// The work of each action of an inference on one ciphertext of examples, in butterflies.
    pub(crate) fn work_of_actions(&self) -> Result<Vec<u64>> {
        let steps = self.steps()?;
        Ok(self.actions.iter().map(|action| levels::work(&[*action], &steps) as u64).collect())
    }

    /// The work of a refresh of one ciphertext, in the butterflies of [`work`](Self::work); `None`
    /// for a model without refreshes.
    ///
    /// # Errors
    /// Parameters whose keys are not known.
    pub fn work_of_refresh(&self) -> Result<Option<f64>> {
        Ok(self.parameters.bootstrapping().map(work::refresh).transpose()?)
    }

    /// The model itself.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The options with which the model was compiled.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The parameters.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The evaluation keys that inference needs, those of refreshes apart.
    ///
    /// # Errors
    /// For a model that was read, those of linear maps whose weights exceed all numbers.
    pub fn requirements(&self) -> Result<Requirements> {
        let outlines = self.outlines()?;
        let all = (0..self.layers.list.len()).map(|id| self.needs_of(id, outlines[id].as_ref()));
        let union = all.fold(Requirements::default(), |all, one| all.union(&one));
        Ok(Requirements { depth: self.parameters.params().max_level(), ..union })
    }

    /// The needs of a layer, whose map has this outline if it is linear.
    pub(crate) fn needs_of(&self, id: usize, outline: Option<&Outline>) -> Requirements {
        match (outline, &self.functions[id]) {
            (Some(outline), _) => outline.requirements.clone(),
            (_, Some(function)) => function.requirements(),
            _ => match self.layers.list[id].kind {
                Kind::Product => Approximation::Square.requirements(),
                _ => Requirements::default(),
            },
        }
    }

    /// How the numbers of examples lie in ciphertexts.
    pub fn arrangement(&self) -> Arrangement {
        self.places.arrangement()
    }

    /// The number of examples that share a ciphertext.
    pub fn examples(&self) -> usize {
        self.places.examples()
    }

    /// The ciphertexts that an input takes.
    pub fn ciphertexts(&self) -> usize {
        self.places.ciphertexts(0)
    }

    /// Numbers of an example.
    pub fn input_elements(&self) -> usize {
        self.graph.input_elements()
    }

    /// The outputs of one example in float64, with the functions of the model itself, after the
    /// decision.
    ///
    /// # Errors
    /// [`Error::InputLength`], [`Error::InputValue`].
    pub fn apply_plain(&self, example: &[f64]) -> Result<Vec<f64>> {
        self.graph.apply_plain(example)
    }

    /// Checks that the values of an example, which errors call number `index`, stay within the
    /// calibrated ranges wherever these matter: where functions are approximated, and where values
    /// are refreshed; and that none is so close to the threshold of a comparison that the outputs
    /// change.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::NearThreshold`]; [`Error::InputLength`],
    /// [`Error::InputValue`].
    pub fn check(&self, index: usize, example: &[f64]) -> Result<()> {
        let values = self.graph.values(index, example)?;
        for layer in &self.layers.list {
            let of_function = matches!(layer.kind, Kind::Function(_)).then(|| layer.inputs[0]);
            let within = |unit: f64| [-unit, unit];
            let taken = of_function.map(|input| {
                let input = &self.layers.list[input];
                let domain = self.layers.domain(layer, &self.calibration, self.options.margin);
                (input.node, domain.map_or(within(input.unit), |domain| [domain.low, domain.high]))
            });
            let refreshed = self.parameters.bootstrapping().map(|_| (layer.node, within(layer.unit)));
            for (node, [low, high]) in taken.into_iter().chain(refreshed) {
                // An input is divided by units of its own.
                if node == 0 && of_function.is_none() {
                    continue;
                }
                let outside = |value: &&f64| !(low..=high).contains(*value);
                if let Some(&value) = values[node].iter().find(outside) {
                    let of = &self.graph.nodes[layer.node];
                    let (operator, node) = (of.operator.clone(), of.name.clone());
                    return Err(Error::OutOfRange { example: index, operator, node, value, low, high });
                }
            }
        }
        self.check_steps(index, example, &values)
    }

    /// The slots of examples: for each ciphertext of an input the vectors of a batch, each of which
    /// holds [`examples`](Self::examples) of them. If the last has room for more, it repeats those
    /// that it holds: zeros may be far from the calibrated ranges.
    ///
    /// # Errors
    /// [`Error::NoExamples`], [`Error::InputLength`], [`Error::InputValue`].
    pub fn pack(&self, examples: &[Vec<f64>]) -> Result<Vec<Vec<Vec<f64>>>> {
        if examples.is_empty() {
            return Err(Error::NoExamples);
        }
        let (shared, units) = (self.examples(), &self.layers.input_units);
        let mut parts = vec![Vec::new(); self.ciphertexts()];
        for (group, chunk) in examples.chunks(shared).enumerate() {
            let mut numbers = Vec::with_capacity(chunk.len() * units.len());
            for (index, example) in chunk.iter().enumerate() {
                let (found, expected) = (example.len(), units.len());
                let index = group * shared + index;
                if found != expected {
                    return Err(Error::InputLength { example: index, found, expected });
                }
                if let Some(at) = example.iter().position(|value| !value.is_finite()) {
                    return Err(Error::InputValue { example: index, at, value: example[at] });
                }
                numbers.extend(example.iter().zip(units).map(|(value, unit)| value / unit));
            }
            for (part, vector) in parts.iter_mut().zip(self.places.pack(&numbers)?) {
                part.push(vector);
            }
        }
        Ok(parts)
    }

    /// The places where decryption finds the outputs.
    pub fn outputs(&self) -> OutputLayout {
        let last = self.layers.list.len() - 1;
        let unit = self.layers.list[last].unit;
        let [low, high] = self.calibration.nodes[self.graph.output];
        let slack = self.options.margin * self.calibration.magnitude(self.graph.output);
        OutputLayout {
            positions: self.places.positions(last),
            slots: self.places.slots(last),
            ciphertexts: self.places.ciphertexts(last),
            examples: self.examples(),
            unit,
            range: [low - slack, high + slack],
            decision: self.graph.decision,
        }
    }

    /// The costs of inference.
    ///
    /// # Errors
    /// The errors of [`requirements`](Self::requirements).
    pub fn facts(&self) -> Result<Facts> {
        let params = self.parameters.params();
        let (steps, outlines) = (self.steps()?, self.outlines()?);
        let work = levels::work(&self.actions, &steps);
        let (mut layers, mut waiting, mut refreshes, mut plaintext_bytes) = (Vec::new(), 0, 0, 0);
        for action in &self.actions {
            let (id, level) = match *action {
                Action::Refresh(id) => {
                    waiting += self.places.ciphertexts(id);
                    continue;
                }
                Action::Run { layer, level } => (layer, level),
            };
            let (layer, outline) = (&self.layers.list[id], &outlines[id]);
            let nodes: Vec<usize> = match &layer.kind {
                Kind::Linear(chain) => chain.clone(),
                _ => vec![layer.node],
            };
            let operators: Vec<&str> =
                nodes.iter().map(|&node| self.graph.nodes[node].operator.as_str()).collect();
            let what = match &self.functions[id] {
                Some(function) => format!("{}: {}", operators.join(" "), function.text()),
                None => operators.join(" "),
            };
            if let Some(outline) = outline {
                plaintext_bytes += outline.plaintext_bytes[level - 1];
            }
            layers.push(LayerFacts {
                nodes: nodes.iter().map(|&node| self.graph.nodes[node].name.clone()).collect(),
                what,
                shape: self.graph.nodes[layer.node].shape.clone(),
                level,
                depth: steps[id].depth,
                rotations: outline.as_ref().map_or(0, |outline| outline.rotations),
                diagonals: outline.as_ref().map_or(0, |outline| outline.diagonals),
                refreshes: waiting,
                share: steps[id].work[level] / work,
            });
            refreshes += waiting;
            waiting = 0;
        }
        let log_n = params.rlwe().ring().log_n();
        let keys = self.requirements()?.keys;
        let count = keys.galois_elements(log_n).iter().filter(|&&g| g != 1).count()
            + usize::from(keys.needs_relinearisation());
        let bootstrap = self.parameters.bootstrapping().map(BootstrapParams::key_bytes).transpose()?;
        // Two polynomials for each.
        let ciphertext = 2 * params.levels()[params.max_level()].primes * params.rlwe().ring().n() * 8;
        let rotations = layers.iter().map(|layer| layer.rotations).max().unwrap_or(0);
        Ok(Facts {
            layers,
            log_n,
            levels: params.max_level(),
            refreshes,
            arrangement: self.arrangement(),
            examples: self.examples(),
            ciphertexts: self.ciphertexts(),
            key_bytes: count as u64 * work::key_bytes(params),
            bootstrap_key_bytes: bootstrap.unwrap_or(0) as u64,
            plaintext_bytes,
            ciphertext_bytes: ((rotations + self.places.alive()) * ciphertext) as u64,
            work,
        })
    }
}

/// The places where decryption finds the outputs of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputLayout {
    /// The position of each output of the first example of a ciphertext, over all ciphertexts; the
    /// other examples follow one by one.
    pub positions: Vec<usize>,
    /// The slots of a vector.
    pub slots: usize,
    /// The ciphertexts of a result.
    pub ciphertexts: usize,
    /// The examples of a ciphertext.
    pub examples: usize,
    /// The factor by which slots are multiplied.
    pub unit: f64,
    /// The range of outputs for inputs like those of the calibration.
    pub range: [f64; 2],
    /// The decision that is made from the outputs.
    pub decision: Decision,
}

/// The outputs of an example.
#[derive(Clone, Debug, PartialEq)]
pub struct Outputs {
    /// The outputs as decrypted.
    pub values: Vec<f64>,
    /// The result of the decision on them.
    pub decided: Vec<f64>,
    /// Whether they are outside the range of outputs that calibration saw: the example was unlike
    /// those, and the outputs may mean nothing.
    pub outside: bool,
}

impl OutputLayout {
    /// Whether positions and sizes fit each other, so that nothing outside of vectors is read.
    pub fn is_valid(&self) -> bool {
        let total = self.slots.checked_mul(self.ciphertexts);
        let within = |&position: &usize| {
            position.checked_add(self.examples).is_some_and(|end| total.is_some_and(|total| end <= total))
        };
        let sizes =
            self.slots.is_power_of_two() && self.examples.is_power_of_two() && self.examples <= self.slots;
        let numbers = self.unit.is_finite() && self.range.iter().all(|x| x.is_finite());
        sizes && numbers && !self.positions.is_empty() && self.positions.iter().all(within)
    }

    /// The outputs of `count` examples from the vectors of a batch for each ciphertext: the
    /// counterpart for outputs of [`pack`](CompiledModel::pack).
    ///
    /// # Errors
    /// [`Error::Graph`] for other numbers or lengths of vectors.
    pub fn unpack(&self, parts: &[Vec<Vec<f64>>], count: usize) -> Result<Vec<Outputs>> {
        let groups = count.div_ceil(self.examples);
        let short =
            |part: &Vec<Vec<f64>>| part.len() < groups || part.iter().any(|vector| vector.len() < self.slots);
        if !self.is_valid() || parts.len() != self.ciphertexts || parts.iter().any(short) {
            return Err(Error::Graph { why: "has outputs in other places than decrypted".to_owned() });
        }
        let of_example = |index: usize| {
            let (group, example) = (index / self.examples, index % self.examples);
            let value = |&position: &usize| {
                let slot = position + example;
                parts[slot / self.slots][group][slot % self.slots] * self.unit
            };
            let values: Vec<f64> = self.positions.iter().map(value).collect();
            let [low, high] = self.range;
            let outside = values.iter().any(|value| !(low..=high).contains(value));
            Outputs { decided: self.decision.apply(&values), values, outside }
        };
        Ok((0..count).map(of_example).collect())
    }
}

/// The levels that a layer takes.
fn depth(layers: &Layers, layer: &crate::layers::Layer, function: &Option<Approximation>) -> usize {
    match &layer.kind {
        Kind::Input | Kind::Add => 0,
        Kind::Linear(_) => 1,
        Kind::Product => {
            let unit = |index: usize| layers.list[layer.inputs[index]].unit;
            // A product whose unit is given by the value that it is added to is scaled.
            1 + usize::from((unit(0) * unit(1) / layer.unit - 1.0).abs() > 1e-9)
        }
        Kind::Function(_) => function.as_ref().map_or(0, |function| function.requirements().depth),
    }
}

/// The most slots of the ciphertexts that models are compiled for.
const MOST_SLOTS: usize = 1 << 15;

/// The parameters of the least degree that have enough levels and slots, or those of refreshes.
fn choose(slots: usize, layers: &Layers, depths: &[usize], bits: u32) -> Result<Parameters> {
    let steps = shape(layers, depths);
    // Values are within one, and noise grows over the layers.
    let builder = CkksParams::for_depth(levels::depth(&steps))
        .precision_bits(bits + 4)
        .range_bits(2)
        .slots(slots.min(MOST_SLOTS));
    if let Ok(params) = builder.build() {
        // Twice the degree has room for wider special primes, thus for fewer digits: it may cost
        // little more, with smaller keys, for twice as many examples.
        let cost = |params: &CkksParams| work::key_switch(params, params.max_level());
        let wider = builder.log_n(params.rlwe().ring().log_n() + 1).build();
        let wider = wider.ok().filter(|wider| cost(wider) <= 1.25 * cost(&params));
        return Ok(Parameters::Leveled(wider.unwrap_or(params)));
    }
    match Preset::Fast.params() {
        Ok(params) => Ok(Parameters::Refreshed(params)),
        Err(error) => Err(Error::Parameters { why: error.to_string() }),
    }
}

/// The layers without their work.
fn shape(layers: &Layers, depths: &[usize]) -> Vec<Step> {
    let step = |(layer, &depth): (&crate::layers::Layer, &usize)| {
        let inputs = layer.inputs.clone();
        Step { inputs, depth, work: Vec::new(), refresh: 0.0 }
    };
    layers.list.iter().zip(depths).map(step).collect()
}

/// The outline of each of the maps; no map is kept.
fn outlines(
    maps: impl Iterator<Item = Result<Option<Map>>>,
    params: &CkksParams,
) -> Result<Vec<Option<Outline>>> {
    let outline = |map: Option<Map>| map.map(|map| map.outline(params)).transpose();
    maps.map(|map| Ok(outline(map?)?)).collect()
}

/// The places of values for as many examples as fit a ciphertext, from those for one.
fn placed(
    graph: &Graph,
    layers: &Layers,
    capacity: usize,
    one: (Maps, Transforms),
) -> Result<(Maps, Transforms)> {
    let layouts = &one.0.layouts;
    let most = layouts.iter().map(|layout| layout.slots() * layout.ciphertexts()).max().unwrap_or(capacity);
    match capacity / most.next_power_of_two() {
        0 | 1 => Ok(one),
        examples => Maps::new(graph, layers, examples, capacity),
    }
}

/// The layers with their work on every level.
fn steps(
    layers: &Layers,
    depths: &[usize],
    functions: &[Option<Approximation>],
    places: &Places,
    outlines: &[Option<Outline>],
    parameters: &Parameters,
) -> Result<Vec<Step>> {
    let params = parameters.params();
    let refresh = match parameters.bootstrapping() {
        Some(params) => work::refresh(params)?,
        None => 0.0,
    };
    let step = |(id, layer): (usize, &crate::layers::Layer)| {
        let ciphertexts = places.ciphertexts(id) as f64;
        let on_level = |level: usize| match (&outlines[id], &functions[id]) {
            (Some(map), _) => {
                map.rotations as f64 * work::map_rotation(params, level)
                    + map.diagonals as f64 * work::plain_product(params, level)
                    + map.entries as f64 * work::matrix_entry(params, level)
            }
            (_, Some(function)) => {
                // Products are made on the way down.
                let middle = level.saturating_sub(depths[id] / 2);
                ciphertexts * function.products() as f64 * work::function_product(params, middle)
            }
            _ => depths[id] as f64 * ciphertexts * work::key_switch(params, level),
        };
        let work = (0..=params.max_level()).map(on_level).collect();
        Step { inputs: layer.inputs.clone(), depth: depths[id], work, refresh: ciphertexts * refresh }
    };
    Ok(layers.list.iter().enumerate().map(step).collect())
}
