//! From AES-128-CTR to TFHE and to CKKS: the key stream under an encrypted key, and numbers.

use super::bootstrap;
use super::keys::rng;
use super::measure::{Id, Lab, Place};
use super::report::{Show, Table, Unit, Value};
use crate::error::{Error, Result};
use he_core::aes::{self, Bulk, BulkCipher, Key, KeySize};
use he_core::backend::{Cpu, RingOps};
use he_core::bootstrapping::{BootstrapKeys, Bootstrapper};
use he_core::circuits::ckks::Refresher;
use he_core::ckks::{Decryptor, Evaluator, SecretEncryptor};
use he_core::rlwe::{EvaluationKeys, SecretKey};
use he_core::tfhe::{
    BootstrapKey, CircuitBootstrapper, CircuitKey, CircuitParams, CircuitSpec, LweOps, TfheSecretKey, presets,
};
use he_core::transcipher::packed::{NumberFormat, PackedAesKey, PackedTranscipher};
use he_core::transcipher::{EncryptedAesKey, Transcipher};
use rand::Rng;

/// Blocks to bits and integers of TFHE, and blocks to the slots of CKKS.
const IDS: [&str; 2] = ["transcipher-tfhe", "transcipher-ckks"];
const COUNTER: [u8; 16] = [9; 16];

/// The names of the tables.
pub fn names() -> Vec<String> {
    IDS.map(str::to_owned).to_vec()
}

/// The tables of the device that was chosen: the GPU, or all threads of the CPU. `blocks` are the
/// numbers of blocks that TFHE decrypts at once; CKKS decrypts one per slot of its parameters.
///
/// # Errors
/// The device fails; a number is wrong; the errors of `show`.
pub fn tables(
    lab: &Lab,
    blocks: &[usize],
    subjects: &[bootstrap::Subject],
    show: &mut Show<'_>,
) -> Result<()> {
    if lab.wants(IDS[0]) {
        show(match &lab.gpu {
            Some(gpu) => gpu.on(|| to_tfhe(lab, gpu, blocks))?,
            None => lab.threads.on(|| to_tfhe(lab, &lab.threads, blocks))?,
        })?;
    }
    if !lab.wants(IDS[1]) || subjects.is_empty() {
        return Ok(());
    }
    let rows = subjects.iter().map(|subject| match &lab.gpu {
        Some(gpu) => gpu.on(|| to_ckks(lab, gpu, subject)),
        None => lab.threads.on(|| to_ckks(lab, &lab.threads, subject)),
    });
    let rows: Vec<Packed> = rows.collect::<Result<_>>()?;
    let device = lab.gpu.as_ref().map_or(&lab.threads.name, |gpu| &gpu.name);
    let mut table = Table::new(IDS[1], "AES-128-CTR to CKKS, a block per slot", "parameters", Unit::Seconds)
        .categories(subjects.iter().map(|subject| subject.name));
    let parts = ["refresh of 8 ciphertexts", "key stream", "16-bit numbers"];
    for (i, part) in parts.into_iter().enumerate() {
        table.measured(&format!("{part}, {device}"), rows.iter().map(|row| row.times[i]));
    }
    let rate = |row: &Packed| match (row.times[1], row.times[2]) {
        (Value::Number(stream), Value::Number(numbers)) => {
            format!("{:.0}", row.blocks as f64 / (stream + numbers))
        }
        _ => String::new(),
    };
    table.remark("blocks per second", rows.iter().map(rate));
    table.remark("level", rows.iter().map(|row| row.level.to_string()));
    let errors = |row: &Packed| format!("2^{:.1}, 2^{:.1}", row.errors[0].log2(), row.errors[1].log2());
    table.remark("errors: root mean square, largest", rows.iter().map(errors));
    show(table)
}

/// AES-128-CTR of random bytes: the bytes, and what is sent.
fn message(key: &Key, blocks: usize) -> Result<(Vec<u8>, Vec<u8>)> {
    let mut message = vec![0; 16 * blocks];
    rng().fill_bytes(&mut message);
    let mut sent = message.clone();
    aes::Cpu::new().hazmat_ctr(key, &COUNTER, Bulk::in_place(&mut sent))?;
    Ok((message, sent))
}

fn wrong(what: &str) -> Error {
    Error::WrongResult { what: format!("{what} of transciphering are wrong") }
}

fn to_tfhe<B: LweOps>(lab: &Lab, place: &Place<B>, counts: &[usize]) -> Result<Table> {
    lab.announce("keys of TFHE");
    let (rng, tfhe) = (&mut rng(), presets::phases_2m128()?);
    let params = CircuitParams::new(&tfhe, CircuitSpec::default())?;
    let secret = TfheSecretKey::generate(&tfhe, rng);
    let circuit = CircuitKey::generate(&secret, &params, rng)?;
    let boot = CircuitBootstrapper::new(&place.backend, &BootstrapKey::generate(&secret, rng), &circuit)?;
    let key = Key::generate(KeySize::Bits128, rng);
    let encrypted = EncryptedAesKey::generate(&secret, &key, rng)?;
    let transcipher = Transcipher::new(&boot, &encrypted)?;
    let mut table = Table::new(IDS[0], "AES-128-CTR to TFHE", "blocks", Unit::Milliseconds)
        .along(counts.iter().map(|blocks| (blocks.to_string(), *blocks as f64)));
    let columns = ["bits", "then integers of 32 bits"].map(|what| format!("{what}, {}", place.name));
    let mut times = [Vec::new(), Vec::new()];
    for &blocks in counts {
        lab.announce(&format!("AES to TFHE, {blocks} blocks"));
        let (message, sent) = message(&key, blocks)?;
        let mut bits = None;
        let decrypt = || Ok::<_, Error>(transcipher.decrypt(&COUNTER, &sent)?);
        let keep = |found| {
            bits = Some(found);
            Ok(())
        };
        times[0].push(lab.time_checked(&Id::new(IDS[0], &columns[0], blocks), place, decrypt, keep)?);
        let Some(bits) = bits else { continue };
        let integers = || Ok::<_, Error>(bits.integers(boot.bootstrapper(), 32)?);
        let right = |found| {
            let expected = message.as_chunks::<4>().0.iter().map(|&x| u64::from(u32::from_le_bytes(x)));
            if secret.decrypt_u64(&found)?.into_iter().eq(expected) { Ok(()) } else { Err(wrong("integers")) }
        };
        times[1].push(lab.time_checked(&Id::new(IDS[0], &columns[1], blocks), place, integers, right)?);
    }
    for (column, times) in columns.iter().zip(&times) {
        table.measured(column, times.iter().copied());
    }
    let rates = counts.iter().zip(&times[0]).zip(&times[1]).map(|((&blocks, bits), integers)| {
        let seconds = bits.number().zip(integers.number()).map(|(bits, integers)| bits + integers);
        seconds.map_or(String::new(), |seconds| format!("{:.2}", blocks as f64 / seconds))
    });
    table.remark("blocks per second", rates);
    table.note(format!("a bit fails with probability below 2^{:.0}", params.failure_log2(8, 4)));
    Ok(table)
}

/// A row of the table of CKKS.
struct Packed {
    blocks: usize,
    /// The seconds of a refresh of eight ciphertexts, of the key stream, and of the numbers.
    times: [Value; 3],
    level: usize,
    /// The root mean square of the errors, and the largest.
    errors: [f64; 2],
}

fn to_ckks<B: RingOps>(lab: &Lab, place: &Place<B>, subject: &bootstrap::Subject) -> Result<Packed> {
    lab.announce(&format!("keys of CKKS, {}", subject.name));
    let (rng, boot) = (&mut rng(), &subject.params);
    let (params, ring) = (boot.params(), boot.ring(place.backend.clone())?);
    let secret = SecretKey::generate(params.rlwe(), rng);
    let key = Key::generate(KeySize::Bits128, rng);
    let encrypted = PackedAesKey::generate(params, &secret, &boot.ring(Cpu::new())?, &key, rng)?;
    let keys = EvaluationKeys::generate(&secret, &ring, PackedAesKey::requirements(), rng)?;
    let boot_keys = BootstrapKeys::generate(&secret, boot, &ring, rng)?;
    let (ev, bootstrapper) = (Evaluator::new(params, &ring)?, Bootstrapper::new(boot, &ring)?);
    let refresher = bootstrapper.with_keys(&boot_keys);
    let transcipher = PackedTranscipher::new(&ev, &keys, &refresher, &encrypted)?;
    let decryptor = Decryptor::new(params, &secret, &ring)?;
    let blocks = params.slots();
    let (message, sent) = message(&key, blocks)?;
    let format = NumberFormat::signed(16)?.with_fraction(15);
    let bits =
        SecretEncryptor::new(params, &secret, &ring)?.encrypt_real(&vec![0.5; 8 * blocks], rng)?.expand()?;
    let id = |column: &str| Id::new(IDS[1], column, subject.name);
    let pairs = || Ok::<_, Error>(refresher.refresh_pairs(&bits)?);
    let refresh = lab.time_checked(&id("refresh"), place, pairs, |_| Ok(()))?;
    lab.announce(&format!("AES to CKKS, {blocks} blocks"));
    let (mut stream, mut numbers) = (None, None);
    let key_stream = || Ok::<_, Error>(transcipher.key_stream(&COUNTER, blocks)?);
    let keep = |found| {
        stream = Some(found);
        Ok(())
    };
    let stream_time = lab.time_checked(&id("key stream"), place, key_stream, keep)?;
    let stream = stream.ok_or_else(|| wrong("bits"))?;
    let decrypt = || Ok::<_, Error>(transcipher.decrypt(&stream, &sent, format)?);
    let keep = |found| {
        numbers = Some(found);
        Ok(())
    };
    let numbers_time = lab.time_checked(&id("numbers"), place, decrypt, keep)?;
    let numbers = numbers.ok_or_else(|| wrong("numbers"))?;
    let (mut worst, mut squares): (f64, f64) = (0.0, 0.0);
    let found = ev.encoder().decode_real(&decryptor.decrypt(&numbers)?)?;
    for (i, bytes) in message.as_chunks::<2>().0.iter().enumerate() {
        let error = found[i % 8][i / 8] - f64::from(i16::from_le_bytes(*bytes)) / 32768.0;
        (worst, squares) = (worst.max(error.abs()), squares + error * error);
    }
    if worst > 1e-3 {
        return Err(wrong("numbers"));
    }
    let times = [refresh, stream_time, numbers_time];
    Ok(Packed {
        blocks,
        times,
        level: numbers.level(),
        errors: [(squares / (8 * blocks) as f64).sqrt(), worst],
    })
}
