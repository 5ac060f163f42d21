//! Circuit bootstrapping, lookups of bits and transciphering on kernels: the words of the CPU.

#![allow(clippy::unwrap_used)] // This also holds in helpers of tests.

use super::devices::{emulated, gpu_or_skip, in_other_orders};
use he_core::aes::{Bulk, BulkCipher, Key, KeySize, Reference};
use he_core::backend::Cpu;
use he_core::tfhe::{
    BitTables, BootstrapKey, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, Gadget, LweBatch,
    TfheParams, TfheSecretKey, TfheSpec, UnpaddedBits, presets,
};
use he_core::transcipher::{EncryptedAesKey, Transcipher};
use he_cuda::{Arithmetic, Cuda};
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};

/// k, log2 N, gadgets of the selection and of its key switch, bits, outputs.
type Shape = (usize, u32, (u32, u32), (u32, u32), usize, usize);

const SHAPES: [Shape; 6] = [
    (1, 5, (7, 2), (10, 4), 2, 20),
    (3, 5, (9, 1), (13, 3), 5, 2),
    (2, 6, (5, 4), (6, 5), 1, 3),
    (1, 9, (12, 3), (28, 1), 8, 3),
    // More than shared memory holds.
    (8, 8, (7, 2), (3, 16), 3, 1),
    (1, 11, (7, 2), (10, 4), 8, 9),
];

fn gadget((base_log, levels): (u32, u32)) -> Gadget {
    Gadget { base_log, levels }
}

fn same_words(cuda: &Cuda, shape: Shape, counts: &[usize], seed: u64) {
    let (glwe_dimension, log_degree, select, switch, bits, outputs) = shape;
    let small = *presets::insecure_small().unwrap().spec();
    let spec = TfheSpec { lwe_dimension: 3, glwe_dimension, log_degree, ..small };
    let tfhe = TfheParams::insecure(spec).unwrap();
    let spec = CircuitSpec { select: gadget(select), switch: gadget(switch) };
    let params = CircuitParams::new(&tfhe, spec).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = TfheSecretKey::generate(&tfhe, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let circuit = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
    let cpu = Cpu::new();
    let on_cpu = CircuitBootstrapper::new(&cpu, &key, &circuit).unwrap();
    let on_cuda = CircuitBootstrapper::new(cuda, &key, &circuit).unwrap();
    let entries: Vec<Vec<u64>> =
        (0..1 << bits).map(|_| (0..outputs).map(|_| rng.next_u64()).collect()).collect();
    let tables = BitTables::new(&cpu, &tfhe, &entries).unwrap();
    let cuda_tables = BitTables::new(cuda, &tfhe, &entries).unwrap();
    for &count in counts {
        let words: Vec<u64> = (0..count * bits * tfhe.words()).map(|_| rng.next_u64()).collect();
        let expected = on_cpu.lookup(&LweBatch::upload(&cpu, &tfhe, &words).unwrap(), &tables).unwrap();
        let found = on_cuda.lookup(&LweBatch::upload(cuda, &tfhe, &words).unwrap(), &cuda_tables).unwrap();
        assert!(
            expected.download().unwrap() == found.download().unwrap(),
            "{count} of {shape:?}, seed {seed}"
        );
    }
}

/// A message through both devices.
fn transciphered(cuda: &Cuda, tfhe: &TfheParams, length: usize, seed: u64) {
    let params = CircuitParams::new(tfhe, CircuitSpec::default()).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let secret = TfheSecretKey::generate(tfhe, &mut rng);
    let key = BootstrapKey::generate(&secret, &mut rng);
    let circuit = CircuitKey::generate(&secret, &params, &mut rng).unwrap();
    let aes = Key::generate(KeySize::Bits128, &mut rng);
    let encrypted = EncryptedAesKey::generate(&secret, &aes, &mut rng).unwrap();
    let mut message = vec![0; length];
    rng.fill_bytes(&mut message);
    let (counter, mut sent) = ([3; 16], message.clone());
    Reference::new().hazmat_ctr(&aes, &counter, Bulk::in_place(&mut sent)).unwrap();
    let on_cuda = CircuitBootstrapper::new(cuda, &key, &circuit).unwrap();
    let found = Transcipher::new(&on_cuda, &encrypted).unwrap().decrypt(&counter, &sent).unwrap();
    let words = found.ciphertexts().download().unwrap();
    let bits = UnpaddedBits::from_ciphertexts(LweBatch::upload(&Cpu::new(), tfhe, &words).unwrap());
    let bits = secret.decrypt_unpadded(&bits).unwrap();
    let byte = |bits: &[bool]| bits.iter().rev().fold(0, |byte, &bit| 2 * byte + u8::from(bit));
    assert_eq!(bits.chunks_exact(8).map(byte).collect::<Vec<u8>>(), message, "seed {seed}");
}

#[test]
fn emulated_words() {
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        same_words(&emulated(Arithmetic::Auto), shape, &[0, 1, 3], seed as u64);
    }
}

/// Another order of threads exposes missing barriers.
#[test]
fn emulated_words_in_any_order() {
    for cuda in in_other_orders() {
        for shape in &SHAPES[..4] {
            same_words(&cuda, *shape, &[2], 300);
        }
        same_words(&cuda, SHAPES[5], &[1], 300);
    }
}

#[test]
fn device_words() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    for (seed, shape) in SHAPES.into_iter().enumerate() {
        same_words(&cuda, shape, &[0, 1, 3, 300], seed as u64);
    }
}

#[test]
fn device_transciphers() {
    let Some(cuda) = gpu_or_skip(Arithmetic::Auto) else { return };
    transciphered(&cuda, &presets::phases_2m128().unwrap(), 600, 5);
}
