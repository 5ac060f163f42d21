//! Copies of what is public.

use super::common::for_seeds;
use he::backend::Cpu;
use he::bfv::Bfv;
use he::bgv::Bgv;
use he::ckks::{CkksParams, CkksSpec, Decryptor, Encryptor};
use he::ring::Ring;
use he::rlwe::{EvaluationKeys, KeyRequirements, PublicKey, SecretKey};
use he::{bigckks, ckks, exact};
use rand::RngExt;

/// Clones outlive their originals and decrypt to the same values.
#[test]
fn clones_are_whole() {
    for_seeds(1, |seeds| {
        let spec = CkksSpec::from_bits(6, &[45, 36, 36], &[46], 36.0).unwrap();
        let params = CkksParams::insecure(spec).unwrap();
        let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
        let secret = SecretKey::generate(params.rlwe(), seeds);
        let public = PublicKey::generate(&secret, &ring, seeds).unwrap();
        let keys = EvaluationKeys::generate(
            &secret,
            &ring,
            KeyRequirements::new().relinearisation().rotations([1]).conjugation(),
            seeds,
        )
        .unwrap();
        let decryptor = Decryptor::new(&params, &secret, &ring).unwrap();
        let (public, keys) = {
            let copies = (public.clone(), keys.clone());
            drop((public, keys));
            copies
        };
        let column: Vec<f64> = (0..params.slots()).map(|_| seeds.random_range(-1.0..1.0)).collect();
        let x = Encryptor::new(&params, &public).unwrap().encrypt_real(&column, seeds).unwrap();
        let ev = ckks::Evaluator::new(&params, &ring).unwrap();
        let kept = x.clone();
        let product = ev.tensor(&x, &x).unwrap();
        let results = [
            ev.mul(&x, &ev.rotate(&x, 1, &keys).unwrap(), &keys).unwrap(),
            ev.rescale(&ev.relinearize(&product.clone(), &keys).unwrap()).unwrap(),
            ev.conjugate(&x, &keys).unwrap(),
        ];
        drop(x);
        let expected: [&dyn Fn(usize) -> f64; 3] =
            [&|i| column[i] * column[(i + 1) % column.len()], &|i| column[i] * column[i], &|i| column[i]];
        for (result, expected) in results.iter().zip(expected) {
            for (i, y) in decryptor.decrypt_real(result).unwrap().into_iter().enumerate() {
                assert!((y - expected(i)).abs() < 1e-4, "slot {i}: {y}, not {}", expected(i));
            }
        }
        for (y, x) in decryptor.decrypt_real(&kept).unwrap().iter().zip(&column) {
            assert!((y - x).abs() < 1e-6);
        }
    });
}

/// The types that can be cloned, on a device whose buffers can: this is a test of compilation.
/// (That secrets cannot is tested beside them.)
#[test]
fn public_objects_are_clone() {
    fn clone<T: Clone>() {}
    clone::<ckks::Ciphertext>();
    clone::<ckks::SeededCiphertext>();
    clone::<ckks::Product>();
    clone::<ckks::Plaintext>();
    clone::<ckks::ExtendedPlaintext>();
    clone::<PublicKey>();
    clone::<EvaluationKeys>();
    clone::<he::rlwe::SwitchKey>();
    clone::<exact::Ciphertext<Bfv>>();
    clone::<exact::SeededCiphertext<Bgv>>();
    clone::<exact::Product<Bfv>>();
    clone::<exact::PreparedPlaintext>();
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
    clone::<he::circuits::ckks::PreparedTransform>();
}
