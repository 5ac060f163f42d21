//! Compiled models as bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `HE-MODEL` |
//! | 4 | the version, 2, 3 for values in stacks, or 4 for an encoder, least significant byte first |
//! | 32 | BLAKE3 of all that follows |
//! | 1 | 0 for parameters without refreshes, 1 for those with |
//! | 4, n | the length n of the parameters, and they as a string of `he_core::wire` |
//! | rest | graph, calibration, options, packing (version 2 only) and actions in postcard's format; for an encoder graph and ranges |
//!
//! Linear maps and polynomials are computed again from these, so that nothing in a file can make
//! them contradict the graph. Packing and actions are the choices among the possible layouts,
//! splits of linear maps, levels and refreshes, which is most of the work of compiling; a choice
//! that is not possible is refused. Everything that is read is checked as if the model came from
//! ONNX.

use crate::calibration::Calibration;
use crate::compiled::{CompiledModel, Options, Wanted};
use crate::error::{Error, Result};
use crate::graph::{Contract, Graph, MAX_ELEMENTS, Op, Public, Row, Window};
use crate::levels::Action;
use crate::maps::Packing;
use crate::parameters::Parameters;
use crate::places::Places;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::CkksParams;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The bytes with which files of compiled models start.
pub const MAGIC: &[u8; 8] = b"HE-MODEL";
/// The version of models with values in slots.
const SLOTS: u32 = 2;
/// The version of models with values in stacks.
const STACKS: u32 = 3;
/// The version of plans of encoders, and the newest.
pub(crate) const ENCODER: u32 = 4;
/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 29;

fn bad(why: impl Into<String>) -> Error {
    Error::Format { why: why.into() }
}

/// A value in postcard's format, and the bytes after it.
fn taken<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8])> {
    postcard::take_from_bytes(bytes).map_err(|error| bad(error.to_string()))
}

/// A file whose frame was checked: what is behind it belongs to the version.
pub(crate) struct Opened<'b> {
    /// The version.
    pub version: u32,
    /// The parameters.
    pub parameters: Parameters,
    /// The rest of the file.
    pub rest: &'b [u8],
}

/// A file of this version.
///
/// # Errors
/// None in practice.
pub(crate) fn written(version: u32, parameters: &Parameters, rest: &impl Serialize) -> Result<Vec<u8>> {
    let (kind, params) = match parameters {
        Parameters::Leveled(params) => (0, params.to_bytes()?),
        Parameters::Refreshed(params) => (1, params.to_bytes()?),
    };
    let mut body = vec![kind];
    body.extend((params.len() as u32).to_le_bytes());
    body.extend(params);
    body.extend(postcard::to_stdvec(rest).map_err(|error| bad(error.to_string()))?);
    let mut bytes = MAGIC.to_vec();
    bytes.extend(version.to_le_bytes());
    bytes.extend(blake3::hash(&body).as_bytes());
    bytes.extend(body);
    Ok(bytes)
}

/// Opens a file; `insecure` reads parameters below 128 bits of security as well.
///
/// # Errors
/// [`Error::Version`] for another version; [`Error::Format`] for bytes that are not a compiled
/// model, or damaged; parameters that are not read.
pub(crate) fn opened(bytes: &[u8], insecure: bool) -> Result<Opened<'_>> {
    let early = || bad("it ends early");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("it does not start as one"))?;
    let (version, rest) = rest.split_first_chunk().ok_or_else(early)?;
    let version = u32::from_le_bytes(*version);
    if !(SLOTS..=ENCODER).contains(&version) {
        return Err(Error::Version { found: version, supported: ENCODER });
    }
    let (hash, body) = rest.split_first_chunk::<32>().ok_or_else(early)?;
    if body.len() > MAX_BYTES {
        return Err(bad(format!("{} bytes, at most {MAX_BYTES} are read", body.len())));
    }
    if blake3::hash(body).as_bytes() != hash {
        return Err(bad("its checksum does not match"));
    }
    let (&kind, rest) = body.split_first().ok_or_else(early)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(early)?;
    let length = u32::from_le_bytes(*length) as usize;
    let (params, rest) = rest.split_at_checked(length).ok_or_else(early)?;
    let parameters = match (kind, insecure) {
        (0, false) => Parameters::Leveled(CkksParams::from_bytes(params)?),
        (0, true) => Parameters::Leveled(CkksParams::from_bytes_insecure(params)?),
        (1, false) => Parameters::Refreshed(BootstrapParams::from_bytes(params)?),
        (1, true) => Parameters::Refreshed(BootstrapParams::from_bytes_insecure(params)?),
        _ => return Err(bad(format!("parameters of kind {kind}"))),
    };
    Ok(Opened { version, parameters, rest })
}

/// A value in postcard's format, with nothing behind it.
pub(crate) fn whole<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    match taken(bytes)? {
        (value, []) => Ok(value),
        (_, after) => Err(bad(format!("{} bytes too many", after.len()))),
    }
}

impl CompiledModel {
    /// The model as bytes; weights are among them in the clear.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let parts = (&self.graph, &self.calibration, &self.options);
        match &self.places {
            Places::Slots(maps) => written(SLOTS, &self.parameters, &(parts, &maps.packing, &self.actions)),
            Places::Stacks(_) => written(STACKS, &self.parameters, &(parts, &self.actions)),
        }
    }

    /// Reads a model.
    ///
    /// # Errors
    /// [`Error::Version`] for another version; [`Error::Format`] for bytes that are not a compiled
    /// model, or damaged, or the plan of an encoder, which [`AnyModel`](crate::AnyModel) reads;
    /// parameters below 128 bits of security; everything that compiling a model returns.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(opened(bytes, false)?)
    }

    /// Reads a model of parameters that may be insecure; for tests.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes), but for security.
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(opened(bytes, true)?)
    }

    pub(crate) fn read(opened: Opened<'_>) -> Result<Self> {
        let Opened { version, parameters, rest } = opened;
        if version == ENCODER {
            return Err(bad("it is the plan of an encoder of sentences"));
        }
        let ((graph, calibration, options), rest) = taken::<(Graph, Calibration, Options)>(rest)?;
        let (packing, rest) = match version == SLOTS {
            true => taken::<Packing>(rest).map(|(packing, rest)| (Some(packing), rest))?,
            false => (None, rest),
        };
        let actions = whole::<Vec<Action>>(rest)?;
        graph.check()?;
        let finite = |range: &[f64; 2]| range[0].is_finite() && range[1].is_finite() && range[0] <= range[1];
        let inputs = calibration.inputs.iter().all(|x| x.is_finite() && *x >= 0.0);
        let lengths = calibration.nodes.len() == graph.nodes.len()
            && calibration.inputs.len() == graph.input_elements();
        if !lengths || !inputs || !calibration.nodes.iter().all(finite) {
            return Err(bad("its calibration does not belong to its graph"));
        }
        Self::calibrated(graph, calibration, options, Wanted::Plan(parameters, packing, actions))
    }
}

impl Graph {
    /// Checks everything that reading from ONNX guarantees.
    pub(crate) fn check(&self) -> Result<()> {
        let wrong = |why: &str| Err(bad(why));
        let inputs = self.nodes.iter().take_while(|node| node.op.is_input()).count();
        if inputs == 0 || self.output >= self.nodes.len() || self.nodes.len() > 1 << 16 {
            return wrong("a graph without input or output");
        }
        for (id, node) in self.nodes.iter().enumerate() {
            let elements = node.shape.iter().try_fold(1usize, |product, &dim| product.checked_mul(dim));
            if elements.is_none_or(|elements| elements == 0 || elements > MAX_ELEMENTS) {
                return wrong("a value of impossible dimensions");
            }
            if node.inputs.iter().any(|&input| input >= id) {
                return wrong("a node before what it uses");
            }
            if node.op.is_input() && (id >= inputs || !node.inputs.is_empty()) {
                return wrong("an input behind other nodes");
            }
        }
        for (id, node) in self.nodes.iter().enumerate().skip(inputs) {
            let shapes: Vec<&[usize]> =
                node.inputs.iter().map(|&input| self.nodes[input].shape.as_slice()).collect();
            if !node.op.takes(shapes.len()) {
                return wrong("a node of too many or too few inputs");
            }
            if !node.op.fits(&shapes, &node.shape) || !self.takes_public(id) {
                return wrong("a node that does not fit its inputs");
            }
        }
        Ok(())
    }

    /// Whether a node that needs ids or a mask takes those of an input of the model, and no others.
    fn takes_public(&self, id: usize) -> bool {
        let node = &self.nodes[id];
        match (&node.op, &node.inputs[..]) {
            (Op::Lookup(table), &[ids]) => {
                self.ids(ids).is_some_and(|ids| ids <= table.values.len() / table.width)
            }
            (Op::Softmax | Op::MaskedMean, &[_, mask]) => self.nodes[mask].op == Op::Public(Public::Mask),
            _ => true,
        }
    }

    /// The number of ids that a value may hold, if it is one of ids, in any order.
    fn ids(&self, mut id: usize) -> Option<usize> {
        while let Op::Gather(_) | Op::Reshape = self.nodes[id].op {
            id = self.nodes[id].inputs[0];
        }
        match self.nodes[id].op {
            Op::Public(Public::Ids(count)) => Some(count.max(1)),
            _ => None,
        }
    }
}

impl Window {
    fn is_valid(&self) -> bool {
        let positive = |pair: &[usize; 2]| pair.iter().all(|x| (1..=1 << 16).contains(x));
        let small = |pair: &[usize; 2]| pair.iter().all(|&x| x <= 1 << 16);
        [&self.kernel, &self.strides, &self.dilations].into_iter().all(positive)
            && small(&self.before)
            && small(&self.after)
    }
}

impl Contract {
    /// Whether it makes a value of so many numbers of values of so many.
    fn fits(&self, a: usize, b: usize, output: usize) -> bool {
        let Self { groups, rows, inner, columns, factor } = *self;
        let elements = |x: usize, y: usize| groups.checked_mul(x)?.checked_mul(y);
        let sizes = [(rows, inner, a), (inner, columns, b), (rows, columns, output)];
        factor.is_finite() && sizes.into_iter().all(|(x, y, count)| elements(x, y) == Some(count))
    }
}

impl Op {
    /// Whether it is an operation on so many values.
    fn takes(&self, values: usize) -> bool {
        match self {
            Self::Input | Self::Public(_) => values == 0,
            Self::Add | Self::Product | Self::Contract(_) | Self::MaskedMean => values == 2,
            Self::Softmax => (1..=2).contains(&values),
            _ => values == 1,
        }
    }

    /// Whether it makes a value of one shape of values of others.
    fn fits(&self, inputs: &[&[usize]], output: &[usize]) -> bool {
        let input = inputs.first().copied().unwrap_or_default();
        let finite = |values: &[f64]| values.iter().all(|x| x.is_finite());
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        let windowed = |window: &Window, channels: usize| match (input, output) {
            (&[_, rows, columns], &[outputs, height, width]) => {
                window.is_valid()
                    && outputs == channels
                    && window.output([rows, columns]) == Some([height, width])
            }
            _ => false,
        };
        match self {
            Self::Input | Self::Public(_) => false,
            Self::Lookup(table) => {
                let rows = count(input).checked_mul(table.width);
                table.width > 0
                    && table.values.len().is_multiple_of(table.width)
                    && output.last() == Some(&table.width)
                    && rows == Some(count(output))
                    && finite(&table.values)
            }
            Self::Contract(contract) => contract.fits(count(input), count(inputs[1]), count(output)),
            Self::Softmax => {
                let [.., rows, places] = input else { return false };
                rows == places && input == output && inputs.get(1).is_none_or(|mask| count(mask) == *places)
            }
            Self::LayerNorm(norm) => {
                input == output
                    && input.last() == Some(&norm.scale.len())
                    && norm.scale.len() == norm.shift.len()
                    && finite(&norm.scale)
                    && finite(&norm.shift)
                    && norm.epsilon.is_finite()
                    && norm.epsilon >= 0.0
            }
            Self::UnitLength => input == output && !input.is_empty(),
            Self::MaskedMean => match (input, output) {
                (&[rows, width], &[columns]) => (rows, width) == (count(inputs[1]), columns),
                _ => false,
            },
            Self::Add | Self::Product => inputs.iter().all(|input| *input == output),
            Self::Function(function) => input == output && function.is_valid(),
            Self::Reshape => count(input) == count(output),
            Self::Conv(conv) => {
                let groups =
                    conv.groups > 0 && conv.inputs % conv.groups == 0 && conv.outputs % conv.groups == 0;
                let weights = || {
                    let [rows, columns] = conv.window.kernel;
                    let factors = [conv.outputs, conv.inputs / conv.groups, rows, columns];
                    factors.iter().try_fold(1usize, |product, &x| product.checked_mul(x))
                };
                input.first() == Some(&conv.inputs)
                    && windowed(&conv.window, conv.outputs)
                    && groups
                    && weights() == Some(conv.weights.len())
                    && conv.bias.len() == conv.outputs
                    && finite(&conv.weights)
                    && finite(&conv.bias)
            }
            Self::Dense(dense) => {
                let lead = |shape: &[usize]| shape.split_last().map(|(_, lead)| lead.to_vec());
                dense.outputs.checked_mul(dense.inputs) == Some(dense.weights.len())
                    && dense.bias.len() == dense.outputs
                    && input.last() == Some(&dense.inputs)
                    && output.last() == Some(&dense.outputs)
                    && lead(input) == lead(output)
                    && finite(&dense.weights)
                    && finite(&dense.bias)
            }
            Self::Pool(window) => match (input, output) {
                // Averages of whole planes may leave out the axes of length one.
                (&[channels, rows, columns], &[outputs]) => {
                    window.is_valid() && channels == outputs && window.output([rows, columns]) == Some([1, 1])
                }
                (&[channels, ..], _) => windowed(window, channels),
                _ => false,
            },
            Self::Affine(affine) => {
                let lists = !affine.factors.is_empty() && !affine.offsets.is_empty() && affine.run > 0;
                lists && input == output && finite(&affine.factors) && finite(&affine.offsets)
            }
            Self::Gather(from) => {
                let elements = count(input);
                let within = |place: &Option<u32>| place.is_none_or(|place| (place as usize) < elements);
                from.len() == count(output) && from.iter().all(within)
            }
            Self::Sparse(rows) => {
                let elements = count(input);
                let valid = |row: &Row| {
                    let entry =
                        |&(column, weight): &(u32, f64)| (column as usize) < elements && weight.is_finite();
                    row.offset.is_finite() && row.entries.iter().all(entry)
                };
                rows.len() == count(output) && rows.iter().all(valid)
            }
            Self::Differences(differences) => {
                let elements = count(input);
                differences.places.len() == count(output)
                    && differences.places.iter().flatten().all(|&place| (place as usize) < elements)
                    && differences.strides.iter().all(|stride| (1..=1 << 16).contains(stride))
            }
        }
    }
}
