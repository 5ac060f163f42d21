//! Compiled models as bytes.
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `HE-MODEL` |
//! | 4 | the version, 2, or 3 for values in stacks, least significant byte first |
//! | 32 | BLAKE3 of all that follows |
//! | 1 | 0 for parameters without refreshes, 1 for those with |
//! | 4, n | the length n of the parameters, and they as a string of `he_core::wire` |
//! | rest | graph, calibration, options, packing (version 2 only) and actions in postcard's format |
//!
//! Linear maps and polynomials are computed again from these, so that nothing in a file can make
//! them contradict the graph. Packing and actions are the choices among the possible layouts,
//! splits of linear maps, levels and refreshes, which is most of the work of compiling; a choice
//! that is not possible is refused. Everything that is read is checked as if the model came from
//! ONNX.

use crate::calibration::Calibration;
use crate::compiled::{CompiledModel, Options, Wanted};
use crate::error::{Error, Result};
use crate::graph::{Graph, MAX_ELEMENTS, Op, Row, Window};
use crate::levels::Action;
use crate::maps::Packing;
use crate::parameters::Parameters;
use crate::places::Places;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::CkksParams;
use serde::de::DeserializeOwned;

/// The bytes with which files of compiled models start.
pub const MAGIC: &[u8; 8] = b"HE-MODEL";
/// The version of models with values in slots, and of those with values in stacks.
const VERSIONS: [u32; 2] = [2, 3];
/// The longest file that is read.
pub const MAX_BYTES: usize = 1 << 29;

fn bad(why: impl Into<String>) -> Error {
    Error::Format { why: why.into() }
}

/// A value in postcard's format, and the bytes after it.
fn taken<T: DeserializeOwned>(bytes: &[u8]) -> Result<(T, &[u8])> {
    postcard::take_from_bytes(bytes).map_err(|error| bad(error.to_string()))
}

impl CompiledModel {
    /// The model as bytes; weights are among them in the clear.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (kind, params) = match &self.parameters {
            Parameters::Leveled(params) => (0, params.to_bytes()?),
            Parameters::Refreshed(params) => (1, params.to_bytes()?),
        };
        let mut body = vec![kind];
        body.extend((params.len() as u32).to_le_bytes());
        body.extend(params);
        let parts = (&self.graph, &self.calibration, &self.options);
        let (version, parts) = match &self.places {
            Places::Slots(maps) => (VERSIONS[0], postcard::to_stdvec(&(parts, &maps.packing, &self.actions))),
            Places::Stacks(_) => (VERSIONS[1], postcard::to_stdvec(&(parts, &self.actions))),
        };
        body.extend(parts.map_err(|error| bad(error.to_string()))?);
        let mut bytes = MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(blake3::hash(&body).as_bytes());
        bytes.extend(body);
        Ok(bytes)
    }

    /// Reads a model.
    ///
    /// # Errors
    /// [`Error::Version`] for another version; [`Error::Format`] for bytes that are not a compiled
    /// model, or damaged;
    /// parameters below 128 bits of security; everything that compiling a model returns.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, false)
    }

    /// Reads a model of parameters that may be insecure; for tests.
    ///
    /// # Errors
    /// The errors of [`from_bytes`](Self::from_bytes), but for security.
    pub fn from_bytes_insecure(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, true)
    }

    fn read(bytes: &[u8], insecure: bool) -> Result<Self> {
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| bad("it does not start as one"))?;
        let (version, rest) = rest.split_first_chunk().ok_or_else(|| bad("it ends early"))?;
        let version = u32::from_le_bytes(*version);
        if !VERSIONS.contains(&version) {
            return Err(Error::Version { found: version, supported: VERSIONS[1] });
        }
        let (hash, body) = rest.split_first_chunk::<32>().ok_or_else(|| bad("it ends early"))?;
        if body.len() > MAX_BYTES {
            return Err(bad(format!("{} bytes, at most {MAX_BYTES} are read", body.len())));
        }
        if blake3::hash(body).as_bytes() != hash {
            return Err(bad("its checksum does not match"));
        }
        let (&kind, rest) = body.split_first().ok_or_else(|| bad("it ends early"))?;
        let (length, rest) = rest.split_first_chunk().ok_or_else(|| bad("it ends early"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (params, rest) = rest.split_at_checked(length).ok_or_else(|| bad("it ends early"))?;
        let parameters = match (kind, insecure) {
            (0, false) => Parameters::Leveled(CkksParams::from_bytes(params)?),
            (0, true) => Parameters::Leveled(CkksParams::from_bytes_insecure(params)?),
            (1, false) => Parameters::Refreshed(BootstrapParams::from_bytes(params)?),
            (1, true) => Parameters::Refreshed(BootstrapParams::from_bytes_insecure(params)?),
            _ => return Err(bad(format!("parameters of kind {kind}"))),
        };
        let ((graph, calibration, options), rest) = taken::<(Graph, Calibration, Options)>(rest)?;
        let (packing, rest) = match version == VERSIONS[0] {
            true => taken::<Packing>(rest).map(|(packing, rest)| (Some(packing), rest))?,
            false => (None, rest),
        };
        let (actions, after) = taken::<Vec<Action>>(rest)?;
        if !after.is_empty() {
            return Err(bad(format!("{} bytes too many", after.len())));
        }
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
    fn check(&self) -> Result<()> {
        let wrong = |why: &str| Err(bad(why));
        let Some((first, rest)) = self.nodes.split_first() else { return wrong("a graph without nodes") };
        if first.op != Op::Input || self.output >= self.nodes.len() || self.nodes.len() > 1 << 16 {
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
        }
        for node in rest {
            let of = |index: usize| self.nodes[node.inputs[index]].shape.as_slice();
            let inputs = match node.op {
                Op::Input | Op::Public(_) => return wrong("a second input"),
                Op::Add | Op::Product => 2,
                _ => 1,
            };
            if node.inputs.len() != inputs {
                return wrong("a node of too many or too few inputs");
            }
            if !node.op.fits(of(0), &node.shape) || inputs == 2 && of(1) != node.shape.as_slice() {
                return wrong("a node that does not fit its inputs");
            }
        }
        Ok(())
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

impl Op {
    /// Whether it makes a value of one shape of one of another.
    fn fits(&self, input: &[usize], output: &[usize]) -> bool {
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
            // Plans have no other inputs, and none of the operations of transformers.
            Self::Input
            | Self::Public(_)
            | Self::Lookup(_)
            | Self::Contract(_)
            | Self::Softmax
            | Self::LayerNorm(_)
            | Self::UnitLength
            | Self::MaskedMean => false,
            Self::Add | Self::Product => input == output,
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
