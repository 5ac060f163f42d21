//! What every ring-LWE scheme shares: keys, encryption of zero, key switching.

mod ciphertext;
mod encrypt;
mod key_switch;
mod keys;
mod params;

pub use ciphertext::{RlweCiphertext, RlweProduct};
pub use encrypt::{PublicKey, SeededZero};
pub use key_switch::{Decomposed, KeySwitchKey};
pub use keys::{EvaluationKeys, SecretKey};
pub use params::{Fingerprint, RlweParams};
