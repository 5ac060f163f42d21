//! The base of every ring-LWE scheme: keys, encryption of zero, key switching.

mod aligned;
mod ciphertext;
mod encrypt;
mod expansion;
mod extended;
mod flooding;
mod gadget_key;
mod key_switch;
mod keys;
mod matrix_product;
pub(crate) mod noise;
mod params;
mod plain_matrix;
mod requirements;
mod ring_switch;
mod rotation;
mod secret;
mod switch_key;
mod transposition;
pub(crate) mod work;

pub use crate::params::Fingerprint;
pub(crate) use aligned::Aligned;
pub(crate) use ciphertext::OPERAND;
pub use ciphertext::{RlweCiphertext, RlweProduct};
pub use encrypt::{PublicKey, SeededZero};
pub use extended::ExtendedCiphertext;
pub(crate) use extended::{ImageSums, KeyedElement, WeightedStep};
pub use flooding::Flooding;
pub(crate) use flooding::{
    FloodRoom, Flooded, Floods, flood_cost_log2, flood_planes, flood_poly, widest_bits,
};
pub use gadget_key::{EvaluationKey, GadgetKey, SwitchSource};
pub use key_switch::Decomposed;
pub(crate) use key_switch::KEY;
pub use keys::{EvaluationKeys, KeyTable, rotation_path};
pub(crate) use matrix_product::powered;
pub use params::RlweParams;
pub use plain_matrix::PlainMatrix;
pub use requirements::KeyRequirements;
pub(crate) use secret::sealed;
pub use secret::{KeyParams, SecretDistribution, SecretKey, TernarySecret};
pub use switch_key::SwitchKey;
pub(crate) use switch_key::gadget_body;
pub(crate) use transposition::Paths;
