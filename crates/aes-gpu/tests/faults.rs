//! Devices that fail: every mode ends in a typed error with a hint whichever call of the driver
//! fails, nothing leaks, nothing unverified is released, and what is repaired or opened anew gives
//! the bytes of the CPU.
#![allow(clippy::unwrap_used)] // In tests.

mod devices;

use aes_gpu::AesGpu;
use devices::emulator;
use gpu::Gpu;
use gpu_emulator::{Fault, Faulty, Live};
use he_core::aes::{AesError, Bulk, BulkCipher, Cpu, Direction, GcmChunks, Key, KeySize, Result, XtsKey};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use std::sync::Arc;

const FINAL: [Fault; 4] =
    [Fault::DeviceUnavailable, Fault::EccUncorrectable, Fault::LaunchFailed, Fault::IllegalAddress];

/// Bytes that are four slices and a part of one.
const LEN: usize = 4 * SLICE + 1000;
const SLICE: usize = 2048;
const CHUNK: usize = 512;
const NONCE: [u8; 12] = [3; 12];

fn data() -> Vec<u8> {
    let mut bytes = vec![0; LEN];
    ChaCha20Rng::seed_from_u64(5).fill_bytes(&mut bytes);
    bytes
}

fn keys() -> (Key, XtsKey) {
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    (Key::generate(KeySize::Bits256, &mut rng), XtsKey::generate(KeySize::Bits128, &mut rng))
}

/// Panics unless an error is that of a fault, with something to do about it.
fn assert_is(error: &AesError, fault: Fault, case: &str) {
    let AesError::Backend { source, .. } = error else { panic!("{case}: {error}") };
    let source = source.downcast_ref::<gpu::Error>().unwrap_or_else(|| panic!("{case}: {error}"));
    let expected = match source {
        gpu::Error::OutOfMemory { .. } => !fault.is_final(),
        gpu::Error::DeviceFailed { .. } => fault.is_final(),
        _ => false,
    };
    assert!(expected, "{case}: {error}");
    assert!(source.hint().is_some_and(|hint| !hint.is_empty()), "{case}: {error}");
}

/// Fails the calls of an operation on `data` in turn, on a device of its own each time, with this
/// many lanes: every call of one lane, and every seventh of several, whose calls come in any order.
/// `opens` says that the operation verifies what it decrypts.
fn survives(
    name: &str,
    lanes: usize,
    data: &[u8],
    opens: bool,
    operation: impl Fn(&dyn BulkCipher, &mut [u8]) -> Result<()>,
) {
    let mut expected = data.to_vec();
    operation(&Cpu::new(), &mut expected).unwrap();
    let mut faults = 0;
    for series in [Some(Fault::OutOfMemory), Some(Fault::OutOfMemoryOnce), None] {
        for call in (1..).step_by(if lanes == 1 { 1 } else { 7 }) {
            let fault = series.unwrap_or(FINAL[call as usize % FINAL.len()]);
            let case = format!("{name} on {lanes} lanes, {fault:?} in call {call}");
            let faulty = Faulty::new(emulator((9, 0)));
            let gpu = Gpu::from_driver(faulty.clone());
            faulty.fail(call, fault);
            let mut out = data.to_vec();
            let aes = AesGpu::on(std::slice::from_ref(&gpu)).map(|aes| aes.slices(SLICE, lanes));
            let done = aes.as_ref().map_err(|error| assert_is(error, fault, &case)).ok().map(|aes| {
                let done = operation(aes, &mut out);
                if let Err(error) = &done {
                    assert_is(error, fault, &case);
                    assert!(!opens || out.iter().all(|&byte| byte == 0), "{case}: something was released");
                }
                done.is_ok()
            });
            if done == Some(true) {
                assert!(out == expected, "{case}: other bytes");
            }
            let function = faulty.mend();
            if let Ok(aes) = &aes {
                let mut again = data.to_vec();
                operation(aes, &mut again).unwrap_or_else(|error| panic!("after {case}: {error}"));
                assert!(again == expected, "after {case}: other bytes");
            }
            drop((aes, gpu));
            assert_eq!(faulty.live(), Live::default(), "{case}, {function:?}");
            assert_eq!(Arc::strong_count(&faulty), 1, "{case}: the driver is still in use");
            if function.is_none() {
                break;
            }
            faults += 1;
        }
    }
    println!("{name} on {lanes} lanes: {faults} faults");
    assert!(faults > 10, "{name}: only {faults} calls failed");
}

#[test]
fn emulated_faults_of_modes_without_tags() {
    let ((key, keys), data) = (keys(), data());
    let blocks = &data[..LEN / 16 * 16];
    for lanes in [1, 3] {
        survives("ECB", lanes, blocks, false, |aes, data| {
            aes.hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(data))
        });
        survives("CTR", lanes, &data, false, |aes, data| {
            aes.hazmat_ctr(&key, &[9; 16], Bulk::in_place(data))
        });
        survives("XTS", lanes, &data, false, |aes, data| {
            aes.xts(&keys, 7, 512, Direction::Encrypt, Bulk::in_place(data))
        });
    }
}

#[test]
fn emulated_faults_of_gcm() {
    let ((key, _), data) = (keys(), data());
    let mut sealed = data.clone();
    let tag = Cpu::new().gcm_seal(&key, &NONCE, b"header", Bulk::in_place(&mut sealed)).unwrap();
    for lanes in [1, 3] {
        survives("GCM seal", lanes, &data, false, |aes, data| {
            let found = aes.gcm_seal(&key, &NONCE, b"header", Bulk::in_place(data))?;
            assert_eq!(found, tag);
            Ok(())
        });
        survives("GCM open", lanes, &sealed, true, |aes, data| {
            aes.gcm_open(&key, &NONCE, b"header", &tag, Bulk::in_place(data))
        });
    }
}

#[test]
fn emulated_faults_of_gcm_in_chunks() {
    let ((key, _), data) = (keys(), data());
    let count = LEN.div_ceil(CHUNK);
    let nonces: Vec<[u8; 12]> = (0..count).map(|i| [i as u8; 12]).collect();
    let chunks = GcmChunks::new(CHUNK, &nonces, &[]).unwrap();
    let (mut sealed, mut tags) = (data.clone(), vec![[0; 16]; count]);
    Cpu::new().gcm_seal_chunks(&key, chunks, Bulk::in_place(&mut sealed), &mut tags).unwrap();
    for lanes in [1, 3] {
        survives("chunks seal", lanes, &data, false, |aes, data| {
            let mut found = vec![[0; 16]; count];
            aes.gcm_seal_chunks(&key, chunks, Bulk::in_place(data), &mut found)?;
            assert_eq!(found, tags);
            Ok(())
        });
        survives("chunks open", lanes, &sealed, true, |aes, data| {
            aes.gcm_open_chunks(&key, chunks, &tags, Bulk::in_place(data))
        });
    }
}

/// From page-locked memory to page-locked memory, on several streams.
#[test]
fn emulated_faults_of_page_locked_memory() {
    let ((key, _), data) = (keys(), data());
    let mut sealed = data.clone();
    let tag = Cpu::new().gcm_seal(&key, &NONCE, b"", Bulk::in_place(&mut sealed)).unwrap();
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
    };
    let mut faults = 0;
    for series in [Some(Fault::OutOfMemory), None] {
        for call in 1.. {
            let fault = series.unwrap_or(FINAL[call as usize % FINAL.len()]);
            let case = format!("page-locked, {fault:?} in call {call}");
            let faulty = Faulty::new(emulator((9, 0)));
            let gpu = Gpu::from_driver(faulty.clone());
            let aes = AesGpu::on(std::slice::from_ref(&gpu)).unwrap().slices(SLICE, 1);
            let (mut from, mut to) = (gpu.pinned(LEN / 8).unwrap(), gpu.pinned(LEN / 8).unwrap());
            from.as_mut_slice().unwrap().copy_from_slice(&words(&sealed));
            faulty.fail(call, fault);
            let done = aes.gcm_open_pinned(&key, &NONCE, b"", &tag, &from, &mut to, LEN);
            let function = faulty.mend();
            match &done {
                Err(error) => {
                    assert_is(error, fault, &case);
                    assert!(to.as_slice().unwrap().iter().all(|&word| word == 0), "{case}: released");
                }
                Ok(()) => assert!(to.as_slice().unwrap() == words(&data), "{case}: other bytes"),
            }
            aes.gcm_open_pinned(&key, &NONCE, b"", &tag, &from, &mut to, LEN).unwrap();
            assert!(to.as_slice().unwrap() == words(&data), "after {case}: other bytes");
            drop((aes, from, to, gpu));
            assert_eq!(faulty.live(), Live::default(), "{case}");
            if function.is_none() {
                break;
            }
            faults += 1;
        }
    }
    println!("page-locked: {faults} faults");
    assert!(faults > 60, "only {faults} calls failed");
}
