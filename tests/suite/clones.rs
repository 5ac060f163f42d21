//! Copies of what is public.

use he::bfv::Bfv;
use he::bgv::Bgv;
use he::rlwe::{EvaluationKeys, PublicKey};
use he::{bigckks, ckks, exact};

/// What can be cloned, on a device whose buffers can: this compiles, or it does not. (That secrets
/// cannot is tested beside them.)
#[test]
fn public_objects_are_clone() {
    fn clone<T: Clone>() {}
    clone::<ckks::Ciphertext>();
    clone::<ckks::SeededCiphertext>();
    clone::<ckks::Product>();
    clone::<ckks::Plaintext>();
    clone::<ckks::RotationWeight>();
    clone::<PublicKey>();
    clone::<EvaluationKeys>();
    clone::<he::rlwe::KeySwitchKey>();
    clone::<exact::Ciphertext<Bfv>>();
    clone::<exact::SeededCiphertext<Bgv>>();
    clone::<exact::Product<Bfv>>();
    clone::<exact::Factor>();
    clone::<bigckks::Ciphertext>();
    clone::<bigckks::Product>();
    clone::<bigckks::Plaintext>();
    clone::<bigckks::PublicKey>();
    clone::<bigckks::EvaluationKeys>();
    clone::<he::tfhe::EncryptedBits>();
    clone::<he::tfhe::EncryptedUint>();
    clone::<he::tfhe::EncryptedFlags>();
    clone::<he::tfhe::BootstrapKey>();
    clone::<he::tfhe::LookupTables>();
    clone::<he::circuits::PreparedTransform>();
}
