//! What every ring-LWE scheme shares: keys, encryption of zero, key switching.

mod aligned;
mod ciphertext;
mod encrypt;
mod flooding;
mod key_switch;
mod keys;
pub(crate) mod noise;
mod params;
mod requirements;
mod rotation;

pub(crate) use aligned::Aligned;
pub use ciphertext::{RlweCiphertext, RlweProduct};
pub use encrypt::{PublicKey, SeededZero};
pub use flooding::Flooding;
pub(crate) use flooding::{flood_planes, flood_residues};
pub(crate) use key_switch::KEY;
pub use key_switch::{Decomposed, KeySwitchKey};
pub use keys::{EvaluationKeys, SecretKey};
pub(crate) use keys::{rotation_path, secret_values};
pub use params::{Fingerprint, RlweParams};
pub use requirements::KeyRequirements;
