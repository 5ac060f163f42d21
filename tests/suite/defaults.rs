//! Signatures that name no back end mean the CPU, and the crates that signatures mention come with
//! the library.

use he::backend::Cpu;
use he::num_bigint::BigUint;
use he::num_complex::Complex64;
use he::rand::{CryptoRng, SeedableRng, rngs::ChaCha20Rng};
use he::ring::Ring;
use he::rlwe::{KeyRequirements, SecretKey};
use he::{Result, bfv, bgv, bigckks, circuits, ckks, exact, rlwe, tfhe};

/// A program over CKKS ciphertexts as a user who only needs the CPU would write it.
fn squares_neighbours(
    ev: &ckks::Evaluator,
    x: &ckks::Ciphertext,
    keys: &rlwe::EvaluationKeys,
) -> Result<ckks::Ciphertext> {
    ev.mul(x, &ev.rotate(x, 1, keys)?, keys)
}

/// Keys and encryption, by a generator that the caller chose.
fn encrypts(
    params: &ckks::CkksParams,
    ring: &Ring,
    public: &rlwe::PublicKey,
    values: &[Complex64],
    rng: &mut impl CryptoRng,
) -> Result<ckks::Ciphertext> {
    let plain: ckks::Plaintext = ckks::Encoder::new(params, ring)?.encode(values, params.encoding())?;
    let encryptor: ckks::Encryptor<'_> = ckks::Encryptor::new(params, public)?;
    encryptor.encrypt(&plain, rng)
}

#[test]
fn signatures_without_a_back_end_mean_the_cpu() {
    let spec = ckks::CkksSpec::from_bits(6, &[45, 36, 36], &[46], 36.0).unwrap();
    let params = ckks::CkksParams::insecure(spec).unwrap();
    let ring = Ring::new(Cpu::new(), params.rlwe().ring().clone()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let secret = SecretKey::generate(params.rlwe(), &mut rng);
    let public = rlwe::PublicKey::generate(&secret, &ring, &mut rng).unwrap();
    let keys = rlwe::EvaluationKeys::generate(
        &secret,
        &ring,
        KeyRequirements::new().relinearisation().rotations([1]),
        &mut rng,
    )
    .unwrap();
    let values: Vec<Complex64> = (0..32).map(|i| Complex64::new(f64::from(i) / 32.0, 0.0)).collect();
    let x = encrypts(&params, &ring, &public, &values, &mut rng).unwrap();
    let ev = ckks::Evaluator::new(&params, &ring).unwrap();
    let y = squares_neighbours(&ev, &x, &keys).unwrap();
    let decryptor: ckks::Decryptor = ckks::Decryptor::new(&params, &secret, &ring).unwrap();
    let y = ev.encoder().decode(&decryptor.decrypt(&y).unwrap()).unwrap();
    for i in 0..31 {
        assert!((y[0][i] - values[i] * values[i + 1]).norm() < 1e-4, "slot {i}: {}", y[0][i]);
    }
}

/// Every public type over a back end has the default; this is a test of compilation.
#[test]
fn every_type_over_a_back_end_has_a_default() {
    fn same<T>(_: Option<T>, _: Option<T>) {}
    macro_rules! default_is_cpu {
        ($($short:ty = $long:ty),* $(,)?) => { $(same(None::<$short>, None::<$long>);)* };
    }
    default_is_cpu!(
        Ring = Ring<Cpu>,
        he::ring::Poly<he::ring::Eval> = he::ring::Poly<he::ring::Eval, Cpu>,
        he::ring::SecretPoly<he::ring::Eval> = he::ring::SecretPoly<he::ring::Eval, Cpu>,
        rlwe::PublicKey = rlwe::PublicKey<Cpu>,
        rlwe::EvaluationKeys = rlwe::EvaluationKeys<Cpu>,
        rlwe::SwitchKey = rlwe::SwitchKey<Cpu>,
        rlwe::RlweCiphertext = rlwe::RlweCiphertext<Cpu>,
        rlwe::RlweProduct = rlwe::RlweProduct<Cpu>,
        rlwe::SeededZero = rlwe::SeededZero<Cpu>,
        rlwe::Decomposed = rlwe::Decomposed<Cpu>,
        ckks::Product = ckks::Product<Cpu>,
        ckks::SeededCiphertext = ckks::SeededCiphertext<Cpu>,
        ckks::SecretEncryptor = ckks::SecretEncryptor<Cpu>,
        ckks::ExtendedPlaintext = ckks::ExtendedPlaintext<Cpu>,
        circuits::ckks::PreparedTransform = circuits::ckks::PreparedTransform<Cpu>,
        exact::Ciphertext<bfv::Bfv> = bfv::BfvCiphertext<Cpu>,
        exact::Evaluator<bgv::Bgv> = bgv::BgvEvaluator<Cpu>,
        exact::Message = exact::Message<Cpu>,
        exact::PreparedPlaintext = exact::PreparedPlaintext<Cpu>,
        exact::SlotEncoder = exact::SlotEncoder<Cpu>,
        bfv::BfvEncryptor<'_> = exact::Encryptor<'_, bfv::Bfv, Cpu>,
        bfv::BfvSecretEncryptor = exact::SecretEncryptor<bfv::Bfv>,
        bfv::BfvDecryptor = exact::Decryptor<bfv::Bfv, Cpu>,
        bfv::BfvCiphertext = exact::Ciphertext<bfv::Bfv>,
        bfv::BfvSeededCiphertext = exact::SeededCiphertext<bfv::Bfv>,
        bfv::BfvProduct = exact::Product<bfv::Bfv>,
        bgv::BgvEncryptor<'_> = exact::Encryptor<'_, bgv::Bgv, Cpu>,
        bgv::BgvSecretEncryptor = exact::SecretEncryptor<bgv::Bgv>,
        bgv::BgvDecryptor = exact::Decryptor<bgv::Bgv, Cpu>,
        bgv::BgvEvaluator = exact::Evaluator<bgv::Bgv>,
        bgv::BgvCiphertext = exact::Ciphertext<bgv::Bgv>,
        bgv::BgvSeededCiphertext = exact::SeededCiphertext<bgv::Bgv>,
        bgv::BgvProduct = exact::Product<bgv::Bgv>,
        bigckks::Plaintext = bigckks::Plaintext<Cpu>,
        bigckks::Ciphertext = bigckks::Ciphertext<Cpu>,
        bigckks::Product = bigckks::Product<Cpu>,
        bigckks::Encoder = bigckks::Encoder<Cpu>,
        bigckks::Encryptor<'_> = bigckks::Encryptor<'_, Cpu>,
        bigckks::Decryptor = bigckks::Decryptor<Cpu>,
        bigckks::Evaluator = bigckks::Evaluator<Cpu>,
        bigckks::PublicKey = bigckks::PublicKey<Cpu>,
        bigckks::EvaluationKeys = bigckks::EvaluationKeys<Cpu>,
        bigckks::WidePoly = bigckks::WidePoly<Cpu>,
        bigckks::SwitchKey = bigckks::SwitchKey<Cpu>,
        tfhe::EncryptedBits = tfhe::EncryptedBits<Cpu>,
        tfhe::EncryptedUint = tfhe::EncryptedUint<Cpu>,
        tfhe::EncryptedFlags = tfhe::EncryptedFlags<Cpu>,
        tfhe::GateEvaluator = tfhe::GateEvaluator<Cpu>,
        tfhe::IntegerEvaluator = tfhe::IntegerEvaluator<Cpu>,
        tfhe::Bootstrapper = tfhe::Bootstrapper<Cpu>,
        tfhe::LookupTables = tfhe::LookupTables<Cpu>,
        tfhe::LweBatch = tfhe::LweBatch<Cpu>,
    );
    // The crates behind the signatures, in the versions that these mean.
    let _: BigUint = BigUint::from(7u32);
}
