//! Public and evaluation keys: made of a secret key on a device, and moved to other streams.

use super::Rotations;
use he::Device;
use he_core::ring::Ring;
use he_core::{bigckks, rlwe};
use rand::rngs::ChaCha20Rng;

/// A secret key of which other keys are made.
pub trait KeyMaker {
    /// Public keys.
    type Public;
    /// Evaluation keys.
    type Evaluation;

    /// A public key.
    ///
    /// # Errors
    /// The device fails.
    fn public(&self, ring: &Ring<Device>, rng: &mut ChaCha20Rng) -> he_core::Result<Self::Public>;

    /// Evaluation keys for products and for these rotations.
    ///
    /// # Errors
    /// The device fails.
    fn evaluation(
        &self,
        ring: &Ring<Device>,
        rotations: &Rotations,
        rng: &mut ChaCha20Rng,
    ) -> he_core::Result<Self::Evaluation>;

    /// The same key on another stream.
    ///
    /// # Errors
    /// The device fails.
    fn public_to(key: &Self::Public, ring: &Ring<Device>) -> he_core::Result<Self::Public>;

    /// The same keys on another stream.
    ///
    /// # Errors
    /// The device fails.
    fn evaluation_to(keys: &Self::Evaluation, ring: &Ring<Device>) -> he_core::Result<Self::Evaluation>;
}

/// The keys of these modules are made and moved alike.
macro_rules! key_makers {
    ($($module:ident),*) => {$(
        impl KeyMaker for $module::SecretKey {
            type Public = $module::PublicKey<Device>;
            type Evaluation = $module::EvaluationKeys<Device>;

            fn public(&self, ring: &Ring<Device>, rng: &mut ChaCha20Rng) -> he_core::Result<Self::Public> {
                $module::PublicKey::generate(self, ring, rng)
            }

            fn evaluation(
                &self,
                ring: &Ring<Device>,
                rotations: &Rotations,
                rng: &mut ChaCha20Rng,
            ) -> he_core::Result<Self::Evaluation> {
                $module::EvaluationKeys::generate(self, ring, rotations.keys(), rng)
            }

            fn public_to(key: &Self::Public, ring: &Ring<Device>) -> he_core::Result<Self::Public> {
                key.to(ring)
            }

            fn evaluation_to(
                keys: &Self::Evaluation,
                ring: &Ring<Device>,
            ) -> he_core::Result<Self::Evaluation> {
                keys.to(ring)
            }
        }
    )*};
}

key_makers!(rlwe, bigckks);
