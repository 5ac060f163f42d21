//! Prints the time of transciphering AES-128-CTR to TFHE: a block alone, and batches:
//! `cargo bench --bench transcipher`, or for other numbers of blocks `-- 1 64`, on the device of
//! `HE_DEVICE` (`cpu`, `cuda`, `cuda:1`; the first GPU if there is one). `HE_BENCH_RUNS` is the
//! number of runs (3), of which the least time counts, from an idle device to an idle device.
#![allow(missing_docs)]

use he::Device;
use he::aes::{Bulk, BulkCipher, Cpu, Key, KeySize};
use he::backend::Backend;
use he::tfhe::{
    BootstrapKey, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, TfheSecretKey, presets,
};
use he::transcipher::{EncryptedAesKey, Transcipher};
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};
use std::error::Error;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::var("HE_DEVICE").map_or_else(|_| Ok(Device::auto()), |name| name.parse())?;
    let runs: usize = std::env::var("HE_BENCH_RUNS").map_or(Ok(3), |runs| runs.parse())?;
    let asked = std::env::args().skip(1).filter(|arg| !arg.starts_with('-'));
    let mut blocks = asked.map(|arg| arg.parse()).collect::<Result<Vec<usize>, _>>()?;
    if blocks.is_empty() {
        blocks = if device.is_cpu() { vec![1, 2] } else { vec![1, 2, 4, 8, 16, 32, 64] };
    }
    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let tfhe = presets::phases_2m128()?;
    let params = CircuitParams::new(&tfhe, CircuitSpec::default())?;
    let secret = TfheSecretKey::generate(&tfhe, rng);
    let circuit = CircuitKey::generate(&secret, &params, rng)?;
    let boot = CircuitBootstrapper::new(&device, &BootstrapKey::generate(&secret, rng), &circuit)?;
    let key = Key::generate(KeySize::Bits128, rng);
    let encrypted = EncryptedAesKey::generate(&secret, &key, rng)?;
    let transcipher = Transcipher::new(&boot, &encrypted)?;
    println!("{}, {runs} runs; failures below 2^{:.0}", device.name(), params.failure_log2(8, 4));
    for blocks in blocks {
        let mut message = vec![0; 16 * blocks];
        rng.fill_bytes(&mut message);
        let (counter, mut sent) = ([9; 16], message.clone());
        Cpu::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut sent))?;
        let (mut stream, mut integers) = (Duration::MAX, Duration::MAX);
        for _ in 0..runs.max(1) {
            let begin = Instant::now();
            let bits = transcipher.decrypt(&counter, &sent)?;
            device.synchronize()?;
            stream = stream.min(begin.elapsed());
            let begin = Instant::now();
            let found = bits.integers(boot.bootstrapper(), 32)?;
            device.synchronize()?;
            integers = integers.min(begin.elapsed());
            let expected: Vec<u64> =
                message.as_chunks::<4>().0.iter().map(|&x| u32::from_le_bytes(x).into()).collect();
            assert_eq!(secret.decrypt_u64(&found)?, expected);
        }
        let rate = blocks as f64 / (stream + integers).as_secs_f64();
        println!("{blocks} blocks: bits in {stream:.2?}, integers in {integers:.2?}, {rate:.2} blocks/s");
    }
    Ok(())
}
