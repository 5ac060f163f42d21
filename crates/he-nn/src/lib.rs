//! Neural networks on encrypted inputs.
//!
//! A model trained anywhere and saved as ONNX runs on inputs that stay encrypted, under CKKS:
//!
//! 1. [`Graph::from_onnx`](graph::Graph::from_onnx) reads it, and names the parts that it refuses;
//! 2. [`CompiledModel::compile`] computes it in the clear on examples, to learn the range of every
//!    value; fits polynomials to its functions over these ranges; places values in slots; and
//!    chooses parameters, levels and refreshes as a shortest path;
//! 3. [`CompiledModel::facts`] lists the costs: levels, refreshes, memory, keys, work;
//! 4. [`CompiledModel::infer`] computes on ciphertexts, on any back end of `he-core`.
//!
//! Encoders of sentences, which have several inputs, attention and layer normalisation, are read as
//! well, are calibrated and simulated in the clear, and have plans of their own ([`encoder`]).
//!
//! Whoever has the secret key decrypts, and [`OutputLayout::unpack`] finds the outputs. Softmax and
//! argmax at the end of a model are computed then, in the clear.
//!
//! ```no_run
//! use he_core::{backend::Cpu, circuits::ckks::NeverRefresh, ckks::*, ring::Ring, rlwe::*};
//! use he_nn::{CompiledModel, Options, graph::Graph};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let examples: Vec<Vec<f64>> = vec![];
//! let model = Graph::from_onnx(&std::fs::read("models/wine.onnx")?)?;
//! let model = CompiledModel::compile(model, &examples, Options::default())?;
//! let params = model.parameters().params();
//! let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone())?;
//! let mut rng = he_core::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let keys = EvaluationKeys::generate(&secret, &ring, model.requirements()?, &mut rng)?;
//!
//! let encryptor = SecretEncryptor::new(params, &secret, &ring)?;
//! let ev = Evaluator::new(params, &ring)?;
//! let mut inputs = Vec::new();
//! for part in model.pack(&examples)? {
//!     let vectors: Vec<Vec<Complex64>> =
//!         part.iter().map(|vector| vector.iter().map(|&x| x.into()).collect()).collect();
//!     let vectors: Vec<&[Complex64]> = vectors.iter().map(Vec::as_slice).collect();
//!     let plain = ev.encoder().encode_batch(&vectors, params.encoding())?;
//!     inputs.push(encryptor.encrypt(&plain, &mut rng)?.expand()?);
//! }
//! let outputs = model.infer(&ev, &inputs, &keys, &NeverRefresh)?;
//!
//! let decryptor = Decryptor::new(params, &secret, &ring)?;
//! let parts = outputs.iter().map(|ct| ev.encoder().decode_real(&decryptor.decrypt(ct)?));
//! let parts: Vec<Vec<Vec<f64>>> = parts.collect::<he_core::Result<_>>()?;
//! for outputs in model.outputs().unpack(&parts, examples.len())? {
//!     println!("{:?}", outputs.decided);
//! }
//! # Ok(())
//! # }
//! ```

pub mod any;
mod approximation;
pub mod batch;
pub mod calibration;
mod canonical;
mod comparisons;
pub mod compiled;
mod domain;
pub mod encoder;
pub mod error;
pub mod format;
pub mod function;
pub mod graph;
mod inference;
mod layers;
mod levels;
mod linear;
mod maps;
pub mod matrices;
pub mod onnx;
mod pairs;
mod parallel;
mod parameters;
mod parts;
mod places;
mod plain;
pub mod program;
mod stacks;
mod transformers;
mod work;

pub use any::{AnyModel, AnyPrepared, Compiled, Mask, Wishes};
pub use batch::{Comparison, Costs};
pub use compiled::{CompiledModel, Facts, LayerFacts, Options, OutputLayout, Outputs};
pub use error::{Error, NearThreshold, Result};
pub use graph::Graph;
pub use inference::PreparedModel;
pub use parameters::Parameters;
pub use places::Arrangement;
pub use work::speed;
