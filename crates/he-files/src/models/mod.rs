//! Models on encrypted examples: files of compiled models, examples in the clear, and what is
//! computed from one encrypted file to the next.

pub mod examples;
mod infer;
mod refreshes;

pub use infer::{Encryption, Inference, NAME, Record, encrypt};
pub use refreshes::Refreshes;

use crate::bootstrap::Refreshing;
use crate::error::{ContentError, Error, ModelError, Result};
use crate::io::input::Input;
use crate::key_file::{evaluation_bytes, file_bytes};
use crate::scheme::engine::{Engine, batch_size};
use crate::scheme::{Ckks, Rotations, Scheme};
use he::Device;
use he_core::bootstrapping::BootstrapParams;
use he_core::ckks::{CkksParams, Evaluator};
use he_core::wire::{FrameKind, WireParams};
use he_nn::graph::{Node, Op, Public};
use he_nn::{AnyModel, Arrangement, CompiledModel, Graph, Parameters};
use serde_json::{Value, json};

/// The ending of the files of compiled models.
pub const ENDING: &str = "plan";
/// The longest of these files that is read.
pub const MAX_BYTES: u64 = he_nn::format::MAX_BYTES as u64;

/// A compiled model, with the name of its file and the hash that encrypted files know it by.
pub struct ModelFile {
    /// Its name in errors.
    pub name: String,
    /// BLAKE3 of the file, in hexadecimal.
    pub hash: String,
    /// The model.
    pub model: AnyModel,
}

/// The hash of the bytes of a model.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

impl ModelFile {
    /// Reads a compiled model. Insecure parameters are refused, but for those of the toy.
    ///
    /// # Errors
    /// It is not a compiled model, of another version, or damaged.
    pub fn open(mut input: Input) -> Result<Self> {
        let name = input.name().to_owned();
        if input.peek(he_nn::format::MAGIC.len())? != he_nn::format::MAGIC {
            return Err(ModelError::NotCompiled { name }.into());
        }
        Self::from_bytes(&name, &input.read_all(MAX_BYTES)?)
    }

    /// Reads a compiled model from the bytes of its file, which errors call `name`. Insecure
    /// parameters are refused, but for those of the toy.
    ///
    /// # Errors
    /// The same as for [`open`](Self::open).
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        let name = name.to_owned();
        if !bytes.starts_with(he_nn::format::MAGIC) {
            return Err(ModelError::NotCompiled { name }.into());
        }
        let model = AnyModel::from_bytes(bytes).or_else(|error| {
            let insecure = AnyModel::from_bytes_insecure(bytes);
            let is_toy = |model: &AnyModel| {
                let boot = model.parameters().bootstrapping();
                boot.is_some_and(|boot| Some(boot) == BootstrapParams::toy())
            };
            insecure.ok().filter(is_toy).ok_or(error)
        });
        let model = model.map_err(|error| Error::from(error).in_file_of(&name))?;
        Ok(Self { name, hash: hash(bytes), model })
    }

    /// The parameters of its ciphertexts.
    pub fn params(&self) -> &CkksParams {
        self.model.parameters().params()
    }

    /// The parameters of refreshes, if it takes any.
    pub fn bootstrapping(&self) -> Option<&BootstrapParams> {
        self.model.parameters().bootstrapping()
    }

    /// The rotations that it needs keys for.
    ///
    /// # Errors
    /// Its weights exceed all numbers.
    pub fn rotations(&self) -> Result<Rotations> {
        let requirements = self.model.requirements();
        let keys = requirements.map_err(|error| Error::from(error).in_file_of(&self.name))?.keys;
        Ok(Rotations { steps: keys.rotation_steps().to_vec(), conjugation: keys.needs_conjugation() })
    }

    /// Describes the model for those who make keys for it and encrypt examples, as input of
    /// programs: dimensions of an input and number of outputs, what is done with these after
    /// decryption, examples that share a ciphertext, parameters, rotations that the keys need, and
    /// bytes of these keys.
    ///
    /// # Errors
    /// The errors of [`rotations`](Self::rotations); keys for refreshes whose size exceeds all
    /// numbers.
    pub fn json(&self) -> Result<Value> {
        let (graph, params, rotations) = (self.model.graph(), self.params(), self.rotations()?);
        let outputs = self.model.outputs();
        let kinds = [FrameKind::RelinKey, FrameKind::GaloisKey];
        let boot = self.bootstrapping().map(|boot| {
            let keys = boot.key_frames_bytes().map_err(Error::from)?;
            Ok::<_, Error>(file_bytes(&boot.to_frame(), keys))
        });
        Ok(json!({
            "hash": self.hash,
            "input": shape(graph),
            "inputs": inputs(graph),
            "numbers": self.model.input_elements(),
            "outputs": outputs.positions.len(),
            "decision": outputs.decision.name(),
            "arrangement": self.model.arrangement().name(),
            "shared": self.model.examples(),
            "ciphertexts": self.model.ciphertexts(),
            "parameters": Ckks::params_json(params),
            "rotations": rotations.steps,
            "conjugation": rotations.conjugation,
            "evaluation_key_bytes": evaluation_bytes::<Ckks>(params, kinds, &rotations),
            "bootstrap_key_bytes": boot.transpose()?,
        }))
    }

    /// Groups of examples that are encrypted and computed together. A stack is a batch already, and
    /// so are the vectors of a sentence.
    pub(crate) fn batch(&self) -> usize {
        match self.model.layers().map(CompiledModel::arrangement) {
            Some(Arrangement::Slots) => batch_size::<Ckks>(self.params()),
            Some(Arrangement::Stacks) | None => 1,
        }
    }

    /// The network of layers, whose inferences are recorded.
    ///
    /// # Errors
    /// [`ModelError::Unrecorded`] for an encoder.
    pub(crate) fn layers(&self) -> Result<&CompiledModel> {
        let unrecorded = || ModelError::Unrecorded { model: self.name.clone() };
        Ok(self.model.layers().ok_or_else(unrecorded)?)
    }

    /// Its parameters on a device; with refreshes, on the ring of all primes.
    ///
    /// # Errors
    /// The device fails.
    pub fn engine(&self, device: Device) -> Result<Engine<Ckks>> {
        engine(self.model.parameters(), device)
    }

    /// Checks that an encrypted file is for this model.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check(&self, name: &str, hash: &str) -> Result<()> {
        match hash == self.hash {
            true => Ok(()),
            false => Err(ContentError::OtherModel { name: name.to_owned(), model: self.name.clone() }.into()),
        }
    }
}

/// The dimensions of an example: those of the input, or how many numbers all inputs have.
fn shape(graph: &Graph) -> Vec<usize> {
    match graph.inputs().count() {
        1 => graph.nodes[0].shape.clone(),
        _ => vec![graph.input_elements()],
    }
}

/// The inputs, each with the kind of its numbers, for programs.
fn inputs(graph: &Graph) -> Vec<Value> {
    let input = |node: &Node| {
        let (kind, below) = match node.op {
            Op::Public(Public::Ids(count)) => ("ids", Some(count)),
            Op::Public(Public::Mask) => ("mask", None),
            _ => ("numbers", None),
        };
        json!({ "name": node.name, "kind": kind, "shape": node.shape, "below": below })
    };
    graph.inputs().map(|(id, _)| input(&graph.nodes[id])).collect()
}

/// The inputs in words.
fn inputs_in_words(graph: &Graph) -> String {
    let input = |(id, places): (usize, std::ops::Range<usize>)| {
        let (name, count) = (&graph.nodes[id].name, places.len());
        match graph.nodes[id].op {
            Op::Public(Public::Ids(most)) => format!("{name} ({count} ids below {most})"),
            Op::Public(Public::Mask) => format!("{name} ({count} of 0 or 1)"),
            _ => format!("{name} ({count} numbers)"),
        }
    };
    graph.inputs().map(input).collect::<Vec<_>>().join(", then ")
}

/// Parameters on a device; with refreshes, on the ring of all primes.
///
/// # Errors
/// The device fails.
pub fn engine(parameters: &Parameters, device: Device) -> Result<Engine<Ckks>> {
    match parameters {
        Parameters::Leveled(params) => Engine::new(params, device),
        Parameters::Refreshed(boot) => {
            let (params, ring) = (boot.params(), boot.ring(device)?);
            let evaluator = Evaluator::new(params, &ring)?;
            Ok(Engine { params: params.clone(), ring, evaluator })
        }
    }
}
