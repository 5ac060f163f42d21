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
use he_nn::{Arrangement, CompiledModel, Parameters};
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
    pub model: CompiledModel,
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
        let model = CompiledModel::from_bytes(bytes).or_else(|error| {
            let insecure = CompiledModel::from_bytes_insecure(bytes);
            let is_toy = |model: &CompiledModel| {
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
        let kinds = [FrameKind::RelinKey, FrameKind::GaloisKey];
        let boot = self.bootstrapping().map(|boot| {
            let keys = boot.key_frames_bytes().map_err(Error::from)?;
            Ok::<_, Error>(file_bytes(&boot.to_frame(), keys))
        });
        Ok(json!({
            "hash": self.hash,
            "input": graph.nodes[0].shape,
            "numbers": self.model.input_elements(),
            "outputs": self.model.outputs().positions.len(),
            "decision": graph.decision.name(),
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

    /// Groups of examples that are encrypted and computed together. A stack is a batch already.
    pub(crate) fn batch(&self) -> usize {
        match self.model.arrangement() {
            Arrangement::Slots => batch_size::<Ckks>(self.params()),
            Arrangement::Stacks => 1,
        }
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
