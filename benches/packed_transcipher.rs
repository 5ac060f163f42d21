//! Prints the time of transciphering AES-128-CTR to CKKS, as many blocks at once as there are
//! slots, with the preset `fast`: `cargo bench --bench packed_transcipher`, or with another one
//! `-- precise`, on the device of `HE_DEVICE` (`cpu`, `cuda`, `cuda:1`; the first GPU if there is
//! one). `HE_BENCH_RUNS` is the number of runs (2), of which the least time counts, from an idle
//! device to an idle device. Takes 8 GB of memory beside the keys, and half an hour on a CPU.
#![allow(missing_docs)]

use he::Device;
use he::aes::{self, Bulk, BulkCipher, Key, KeySize};
use he::backend::{Backend, Cpu};
use he::bootstrapping::{BootstrapKeys, Bootstrapper, presets::Preset};
use he::circuits::ckks::Refresher;
use he::ckks::{Decryptor, Evaluator, SecretEncryptor};
use he::rlwe::{EvaluationKeys, SecretKey};
use he::transcipher::packed::{NumberFormat, PackedAesKey, PackedTranscipher};
use rand::{Rng, SeedableRng, rngs::ChaCha20Rng};
use std::error::Error;
use std::time::{Duration, Instant};

/// The least time of some runs, and the last result.
fn timed<T>(
    device: &Device,
    runs: usize,
    mut f: impl FnMut() -> he::Result<T>,
) -> Result<(Duration, T), Box<dyn Error>> {
    let mut least: Option<(Duration, T)> = None;
    for _ in 0..runs.max(1) {
        let time = least.take().map_or(Duration::MAX, |(time, _)| time);
        let begin = Instant::now();
        let found = f()?;
        device.synchronize()?;
        least = Some((time.min(begin.elapsed()), found));
    }
    least.ok_or_else(|| "no runs".into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let device = std::env::var("HE_DEVICE").map_or_else(|_| Ok(Device::auto()), |name| name.parse())?;
    let runs: usize = std::env::var("HE_BENCH_RUNS").map_or(Ok(2), |runs| runs.parse())?;
    let name = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let preset = name.map_or(Some(Preset::Fast), |name| Preset::by_name(&name)).ok_or("no such preset")?;

    let rng = &mut ChaCha20Rng::seed_from_u64(1);
    let boot = preset.params()?;
    let (params, ring) = (boot.params(), boot.ring(device.clone())?);
    let secret = SecretKey::generate(params.rlwe(), rng);
    let key = Key::generate(KeySize::Bits128, rng);
    let encrypted = PackedAesKey::generate(params, &secret, &boot.ring(Cpu::new())?, &key, rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), rng)?;
    let boot_keys = BootstrapKeys::generate(&secret, &boot, &ring, rng)?;
    let (ev, bootstrapper) = (Evaluator::new(params, &ring)?, Bootstrapper::new(&boot, &ring)?);
    let refresher = bootstrapper.with_keys(&boot_keys);
    let transcipher = PackedTranscipher::new(&ev, &keys, &refresher, &encrypted)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;

    let blocks = params.slots();
    let mut message = vec![0; 16 * blocks];
    rng.fill_bytes(&mut message);
    let (counter, mut sent) = ([9; 16], message.clone());
    aes::Cpu::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut sent))?;
    println!("{}, {preset}, {runs} runs of {blocks} blocks", device.name());

    let bits =
        SecretEncryptor::new(params, &secret, &ring)?.encrypt_real(&vec![0.5; 8 * blocks], rng)?.expand()?;
    let (pairs, _) = timed(&device, runs, || refresher.refresh_pairs(&bits))?;
    println!("refresh of 8 ciphertexts in {pairs:.2?}");
    let (stream_time, stream) = timed(&device, runs, || transcipher.key_stream(&counter, blocks))?;
    let format = NumberFormat::signed(16)?.with_fraction(15);
    let (numbers_time, numbers) = timed(&device, runs, || transcipher.decrypt(&stream, &sent, format))?;
    let rate = blocks as f64 / (stream_time + numbers_time).as_secs_f64();
    println!("key stream in {stream_time:.2?}, 16-bit numbers in {numbers_time:.2?}, {rate:.0} blocks/s");

    let (mut worst, mut squares): (f64, f64) = (0.0, 0.0);
    let found = ev.encoder().decode_real(&decryptor.decrypt(&numbers)?)?;
    for (i, bytes) in message.as_chunks::<2>().0.iter().enumerate() {
        let error = found[i % 8][i / 8] - f64::from(i16::from_le_bytes(*bytes)) / 32768.0;
        (worst, squares) = (worst.max(error.abs()), squares + error * error);
    }
    let rms = (squares / (8 * blocks) as f64).sqrt();
    println!(
        "on level {}: errors 2^{:.1} in the mean and 2^{:.1} at worst",
        numbers.level(),
        rms.log2(),
        worst.log2()
    );
    if worst > 1e-3 {
        return Err("wrong numbers".into());
    }
    Ok(())
}
