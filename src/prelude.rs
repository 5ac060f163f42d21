//! The imports of most programs: `use he::prelude::*;`.
//!
//! Devices, rings, keys and parameters have names of their own; what every scheme has (encoders,
//! encryptors, evaluators, ciphertexts) is named by its scheme, as in [`ckks::Evaluator`] and
//! [`tfhe::IntegerEvaluator`]. BFV and BGV share theirs in [`exact`].
//!
//! ```
//! use he::prelude::*;
//! # fn main() -> he::Result<()> {
//! let params = CkksParams::for_depth(1).precision_bits(20).build()?;
//! let ring = Ring::new(Device::cpu(), params.rlwe().ring().clone())?;
//! let mut rng = he::rand::rng();
//! let secret = SecretKey::generate(params.rlwe(), &mut rng);
//! let keys = EvaluationKeys::generate(&secret, &ring, &KeyRequirements::new().relinearisation(), &mut rng)?;
//!
//! let x = ckks::SecretEncryptor::new(&params, &secret, &ring)?.encrypt_real(&[0.5, -3.0], &mut rng)?;
//! let y = ckks::Evaluator::new(&params, &ring)?.square(&x.expand()?, &keys)?;
//! let y = ckks::Decryptor::new(&params, &secret, &ring)?.decrypt_real(&y)?;
//! assert!((y[1] - 9.0).abs() < 1e-3);
//! # Ok(())
//! # }
//! ```

pub use crate::Device;
pub use he_core::aes::{self, BulkCipher};
pub use he_core::backend::Cpu;
pub use he_core::bfv::{self, BfvParams};
pub use he_core::bgv::{self, BgvParams};
pub use he_core::bigckks::{self, BigCkksParams};
pub use he_core::circuits;
pub use he_core::ckks::{self, CkksParams};
pub use he_core::exact;
pub use he_core::ring::Ring;
pub use he_core::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
pub use he_core::tfhe::{self, BootstrapKey, TfheParams, TfheSecretKey};
pub use he_core::wire::{Wire, WireKeys, WireParams};
