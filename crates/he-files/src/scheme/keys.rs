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

    /// The evaluation keys that are made for these rotations, in the order in which they are made:
    /// Galois elements, and `None` for the relinearisation key.
    fn evaluation_parts(ring: &Ring<Device>, rotations: &Rotations) -> Vec<Option<u64>> {
        let elements = rotations.keys().galois_elements(ring.spec().log_n());
        std::iter::once(None).chain(elements.into_iter().map(Some)).collect()
    }

    /// Adds one of the [parts](Self::evaluation_parts). All of them, in their order, are the keys
    /// of [`evaluation`](Self::evaluation) if `rng` is the same.
    ///
    /// # Errors
    /// The device fails.
    fn add_part(
        &self,
        keys: &mut Self::Evaluation,
        part: Option<u64>,
        rng: &mut ChaCha20Rng,
    ) -> he_core::Result<()>;

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

            fn add_part(
                &self,
                keys: &mut Self::Evaluation,
                part: Option<u64>,
                rng: &mut ChaCha20Rng,
            ) -> he_core::Result<()> {
                match part {
                    None => keys.add_relin(self, rng),
                    Some(element) => keys.add_galois(self, [element], rng),
                }
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
