//! Data in a device's memory and in page-locked memory, against the reference and the CPU.
#![allow(clippy::unwrap_used)] // In tests.

mod devices;

use aes_gpu::{AesGpu, AesStream, DeviceData, Tables};
use devices::{emulator, gpu_or_skip, narrow, wide};
use gpu::{Buffer, Gpu, Stream};
use he_core::aes::{AesError, Bulk, BulkCipher, Cpu, Direction, GcmChunks, Key, KeySize, Reference, XtsKey};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};

/// Words of a key on a device: the round keys of both directions, and the powers that GHASH uses.
const SCHEDULES: usize = 60;
const POWERS: usize = 2 * (512 + 288 + 1024);

const DIRECTIONS: [Direction; 2] = [Direction::Encrypt, Direction::Decrypt];

fn random(len: usize, seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; len];
    ChaCha20Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let word = |bytes: &[u8]| {
        let mut padded = [0xee; 8];
        padded[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(padded)
    };
    bytes.chunks(8).map(word).collect()
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn read(buffer: &Buffer) -> Vec<u8> {
    let mut words = vec![0; buffer.words()];
    buffer.stream().read(buffer, 0, &mut words).unwrap();
    bytes(&words)
}

/// The result of `call` on `data` in place and copied, which must agree and leave the bytes after
/// the data unchanged.
fn both(stream: &Stream, data: &[u8], call: impl Fn(DeviceData<'_>)) -> Vec<u8> {
    let from = stream.upload(&words(data)).unwrap();
    let mut to = stream.upload(&vec![u64::from_le_bytes([0xee; 8]); from.words()]).unwrap();
    call(DeviceData::Copy { from: &from, to: &mut to });
    let copied = read(&to);
    assert!(copied[data.len()..].iter().all(|&byte| byte == 0xee), "wrote behind {} bytes", data.len());
    let mut in_place = from;
    call(DeviceData::InPlace(&mut in_place));
    assert!(read(&in_place) == copied, "in place and copied differ for {} bytes", data.len());
    copied[..data.len()].to_vec()
}

/// Lengths around the borders of blocks, rows, segments and grids of four multiprocessors.
const LENS: [usize; 12] = [1, 15, 16, 17, 511, 512, 4096, 4097, 65_536, 65_551, 131_088, 262_161];

fn every_kernel(gpu: &Gpu, tables: Tables) {
    let aes = AesStream::on(gpu).unwrap().tables(tables);
    for (seed, size) in (1..).zip(KeySize::ALL) {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (host, hosts) = (Key::generate(size, &mut rng), XtsKey::generate(size, &mut rng));
        let (key, keys) = (aes.key(&host).unwrap(), aes.xts_key(&hosts).unwrap());
        for len in LENS {
            let what = format!("{tables:?}, {} bits, {len} bytes", size.bits());
            let (data, counter) = (random(len, seed), rng.random());
            let mut expected = data.clone();
            Reference::new().hazmat_ctr(&host, &counter, Bulk::in_place(&mut expected)).unwrap();
            let found = both(aes.stream(), &data, |data| aes.hazmat_ctr(&key, &counter, data, len).unwrap());
            assert!(found == expected, "CTR, {what}");
            for direction in DIRECTIONS {
                let blocks = len / 16 * 16;
                let mut expected = data[..blocks].to_vec();
                Reference::new().hazmat_ecb(&host, direction, Bulk::in_place(&mut expected)).unwrap();
                let found = both(aes.stream(), &data[..blocks], |data| {
                    aes.hazmat_ecb(&key, direction, data, blocks).unwrap();
                });
                assert!(found == expected, "ECB {direction:?}, {what}");
                if direction == Direction::Encrypt {
                    let found = both(aes.stream(), &data[..blocks], |data| {
                        aes.hazmat_ecb_by_columns(&key, data, blocks).unwrap();
                    });
                    assert!(found == expected, "ECB by columns, {what}");
                }
                for unit in [len, 512, 1024, 4096, 1040] {
                    if len < 16 || (1..16).contains(&(len % unit)) {
                        continue;
                    }
                    let (first, mut expected) = (u128::from(u64::MAX) - 1, data.clone());
                    let bulk = Bulk::in_place(&mut expected);
                    Reference::new().xts(&hosts, first, unit, direction, bulk).unwrap();
                    let found = both(aes.stream(), &data, |data| {
                        aes.xts(&keys, first, unit, direction, data, len).unwrap();
                    });
                    assert!(found == expected, "XTS {direction:?}, units of {unit}, {what}");
                }
            }
        }
    }
}

#[test]
fn emulated_four_tables() {
    every_kernel(&wide(), Tables::Four);
}

#[test]
fn emulated_two_tables() {
    every_kernel(&wide(), Tables::Two);
}

#[test]
fn device_kernels() {
    if let Some(gpu) = gpu_or_skip() {
        every_kernel(&gpu, Tables::Two);
        if gpu.info().shared_memory >= 128 << 10 {
            every_kernel(&gpu, Tables::Four);
        }
    }
}

/// The device seals what the CPU opens, and opens what the CPU seals.
fn gcm(gpu: &Gpu, len: usize, chunk_len: usize, aad_len: usize, seed: u64) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let aes = AesStream::on(gpu).unwrap();
    let host = Key::generate(KeySize::ALL[rng.random_range(0..3)], &mut rng);
    let key = aes.gcm_key(&host).unwrap();
    let count = len.div_ceil(chunk_len).max(1);
    let nonces: Vec<[u8; 12]> = (0..count).map(|_| rng.random()).collect();
    let (data, aads) = (random(len, seed), random(count * aad_len, seed + 1));
    let chunks = GcmChunks::new(chunk_len, &nonces, &aads).unwrap();
    let what = format!("{len} bytes in chunks of {chunk_len}, {aad_len} of associated data, seed {seed}");
    let (mut expected, mut tags) = (data.clone(), vec![[0; 16]; count]);
    Cpu::new().gcm_seal_chunks(&host, chunks, Bulk::in_place(&mut expected), &mut tags).unwrap();
    let sealed = both(aes.stream(), &data, |data| {
        assert_eq!(aes.gcm_seal_chunks(&key, chunks, data, len).unwrap(), tags, "{what}");
    });
    assert!(sealed == expected, "{what}");
    let opened = both(aes.stream(), &sealed, |data| {
        aes.gcm_open_chunks(&key, chunks, &tags, data, len).unwrap();
    });
    assert!(opened == data, "{what}");
    // After a wrong tag, nothing is written.
    let wrong = rng.random_range(0..count);
    tags[wrong][rng.random_range(0..16)] ^= 1 << rng.random_range(0..8);
    let mut buffer = aes.stream().upload(&words(&sealed)).unwrap();
    let refused = aes.gcm_open_chunks(&key, chunks, &tags, DeviceData::InPlace(&mut buffer), len);
    assert!(matches!(refused, Err(AesError::ChunkTag { index }) if index == wrong), "{what}: {refused:?}");
    assert!(read(&buffer)[..len] == sealed, "{what}: something was released");
}

#[test]
fn emulated_gcm() {
    for (seed, (len, chunk_len, aad_len)) in (100..).zip([
        (0, 16, 0),
        (0, 16, 100_003),
        (1, 16, 1),
        (300_001, 4096, 33),
        (300_001, 70_000, 16),
        // More than 2^16 blocks, of data and of associated data: digits of powers of H beyond the
        // first.
        (3 << 20, 3 << 20, (2 << 20) + 5),
    ]) {
        for gpu in [wide(), narrow()] {
            gcm(&gpu, len, chunk_len, aad_len, seed);
        }
    }
}

#[test]
fn device_gcm() {
    if let Some(gpu) = gpu_or_skip() {
        for (seed, (len, chunk_len, aad_len)) in (200..).zip([
            (0, 16, 100_003),
            (100_000_001, 65_536, 33),
            (50_000_000, 16_000_000, 5_000_001),
            // More than 2^24 blocks.
            ((1 << 30) + 100_001, usize::MAX, 17),
        ]) {
            gcm(&gpu, len, chunk_len.min(len.max(1)), aad_len, seed);
        }
    }
}

/// Uses page-locked memory, in slices that end within segments and rows.
fn pinned(gpu: &Gpu, slice: usize, lens: &[usize], seed: u64) {
    let aes = AesGpu::on(std::slice::from_ref(gpu)).unwrap().slices(slice, 1);
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let (key, keys) =
        (Key::generate(KeySize::Bits256, &mut rng), XtsKey::generate(KeySize::Bits128, &mut rng));
    for &len in lens {
        let (data, counter, nonce) = (random(len, seed), rng.random(), rng.random());
        let mut from = gpu.pinned(len.div_ceil(8)).unwrap();
        from.as_mut_slice().unwrap().copy_from_slice(&words(&data));
        let mut to = gpu.pinned(len.div_ceil(8)).unwrap();
        let mut expected = data.clone();
        Cpu::new().hazmat_ctr(&key, &counter, Bulk::in_place(&mut expected)).unwrap();
        aes.hazmat_ctr_pinned(&key, &counter, &from, &mut to, len).unwrap();
        assert!(
            bytes(to.as_slice().unwrap())[..len] == expected,
            "CTR, {len} bytes in slices of {slice}, seed {seed}"
        );
        let blocks = len / 16 * 16;
        for direction in DIRECTIONS {
            let mut expected = data[..blocks].to_vec();
            Cpu::new().hazmat_ecb(&key, direction, Bulk::in_place(&mut expected)).unwrap();
            aes.hazmat_ecb_pinned(&key, direction, &from, &mut to, blocks).unwrap();
            assert!(
                bytes(to.as_slice().unwrap())[..blocks] == expected,
                "ECB {direction:?}, {len} bytes, seed {seed}"
            );
            let mut expected = data[..blocks].to_vec();
            Cpu::new().xts(&keys, 9, 528, direction, Bulk::in_place(&mut expected)).unwrap();
            aes.xts_pinned(&keys, 9, 528, direction, &from, &mut to, blocks).unwrap();
            assert!(
                bytes(to.as_slice().unwrap())[..blocks] == expected,
                "XTS {direction:?}, {len} bytes, seed {seed}"
            );
        }
        let mut expected = data.clone();
        let expected_tag = Cpu::new().gcm_seal(&key, &nonce, b"aad", Bulk::in_place(&mut expected)).unwrap();
        let tag = aes.gcm_seal_pinned(&key, &nonce, b"aad", &from, &mut to, len).unwrap();
        assert!(
            bytes(to.as_slice().unwrap())[..len] == expected && tag == expected_tag,
            "GCM, {len} bytes, seed {seed}"
        );
        aes.gcm_open_pinned(&key, &nonce, b"aad", &tag, &to, &mut from, len).unwrap();
        assert!(bytes(from.as_slice().unwrap())[..len] == data, "GCM open, {len} bytes, seed {seed}");
        let refused = aes.gcm_open_pinned(&key, &nonce, b"add", &tag, &to, &mut from, len);
        assert!(matches!(refused, Err(AesError::Tag)));
        assert!(from.as_slice().unwrap().iter().all(|&word| word == 0), "something was released");
    }
    let (from, mut to) = (gpu.pinned(4).unwrap(), gpu.pinned(3).unwrap());
    let short = aes.hazmat_ctr_pinned(&key, &[0; 16], &from, &mut to, 25);
    assert!(matches!(short, Err(AesError::Backend { .. })), "{short:?}");
}

#[test]
fn emulated_pinned() {
    pinned(&wide(), 4112, &[0, 1, 4112, 4113, 30_000], 300);
}

#[test]
fn device_pinned() {
    if let Some(gpu) = gpu_or_skip() {
        pinned(&gpu, 1 << 20, &[0, 1, 1 << 20, (1 << 20) + 1, 50_000_003], 301);
    }
}

/// Buffers of other streams are ordered with their work.
fn other_streams(gpu: &Gpu) {
    let aes = AesStream::on(gpu).unwrap();
    let (host, other) = (Key::from_slice(&[3; 16]).unwrap(), gpu.stream().unwrap());
    let key = aes.key(&host).unwrap();
    let data = random(1 << 16, 5);
    let mut buffer = other.upload(&words(&data)).unwrap();
    aes.hazmat_ctr(&key, &[1; 16], DeviceData::InPlace(&mut buffer), data.len()).unwrap();
    let mut expected = data;
    Cpu::new().hazmat_ctr(&host, &[1; 16], Bulk::in_place(&mut expected)).unwrap();
    assert!(read(&buffer) == expected);
}

/// The memory of dropped keys holds zeros.
fn keys_are_wiped(gpu: &Gpu) {
    let aes = AesStream::on(gpu).unwrap();
    let host = Key::generate(KeySize::Bits256, &mut ChaCha20Rng::seed_from_u64(7));
    let key = aes.gcm_key(&host).unwrap();
    assert_eq!(format!("{key:?}"), "DeviceGcmKey(256 bits)");
    aes.stream().synchronize().unwrap();
    assert_eq!(aes.stream().pooled_bytes(), 0);
    drop(key);
    // Both buffers are in the pool, and allocations of their sizes get them.
    assert!(aes.stream().pooled_bytes() >= 8 * (SCHEDULES + POWERS));
    let again = [SCHEDULES, POWERS].map(|words| aes.stream().alloc(words).unwrap());
    assert_eq!(aes.stream().pooled_bytes(), 0);
    for buffer in &again {
        assert!(read(buffer).iter().all(|&byte| byte == 0), "{} words", buffer.words());
    }
}

#[test]
fn emulated_streams_and_keys() {
    other_streams(&wide());
    keys_are_wiped(&wide());
}

#[test]
fn device_streams_and_keys() {
    if let Some(gpu) = gpu_or_skip() {
        other_streams(&gpu);
        keys_are_wiped(&gpu);
    }
}

#[test]
fn refusals() {
    let gpu = Gpu::from_driver(emulator((9, 0)));
    let (aes, other) = (AesStream::on(&gpu).unwrap(), AesStream::on(&gpu).unwrap());
    let host = Key::from_slice(&[1; 24]).unwrap();
    let (key, foreign) = (aes.key(&host).unwrap(), other.key(&host).unwrap());
    let mut buffer = aes.stream().zeros(4).unwrap();
    let backend = |result: Result<(), AesError>| matches!(result, Err(AesError::Backend { .. }));
    assert!(backend(aes.hazmat_ctr(&key, &[0; 16], DeviceData::InPlace(&mut buffer), 33)));
    assert!(backend(aes.hazmat_ctr(&key, &[0; 16], DeviceData::InPlace(&mut buffer), usize::MAX)));
    assert!(backend(aes.hazmat_ctr(&foreign, &[0; 16], DeviceData::InPlace(&mut buffer), 32)));
    assert!(backend(aes.hazmat_ecb(
        &key,
        Direction::Encrypt,
        DeviceData::InPlace(&mut buffer),
        usize::MAX - 15
    )));
    let ecb = aes.hazmat_ecb(&key, Direction::Encrypt, DeviceData::InPlace(&mut buffer), 17);
    assert!(matches!(ecb, Err(AesError::PartialBlock { found: 17 })));
    let keys =
        aes.xts_key(&XtsKey::from_slice(&std::array::from_fn::<u8, 32, _>(|i| i as u8)).unwrap()).unwrap();
    let mut xts =
        |unit, len| aes.xts(&keys, 0, unit, Direction::Encrypt, DeviceData::InPlace(&mut buffer), len);
    assert!(matches!(xts(17, 34), Err(AesError::PartialBlock { found: 17 })));
    assert!(matches!(xts(15, 30), Err(AesError::ShortUnit { found: 15 })));
    assert!(xts(17, 17).is_ok() && xts(16, 0).is_ok());
    assert!(backend(xts(16, usize::MAX - 15)));
    let (gcm, nonces) = (aes.gcm_key(&host).unwrap(), [[0; 12], [1; 12]]);
    let chunks = GcmChunks::new(9, &nonces, &[]).unwrap();
    let sealed = aes.gcm_seal_chunks(&gcm, chunks, DeviceData::InPlace(&mut buffer), 18);
    assert!(matches!(sealed, Err(AesError::PartialBlock { found: 9 })));
    let opened = aes.gcm_open_chunks(&gcm, chunks, &[[0; 16]], DeviceData::InPlace(&mut buffer), 18);
    assert!(matches!(opened, Err(AesError::ChunkCount { .. })));
    assert!(matches!(AesGpu::on(&[]), Err(AesError::Backend { .. })));
    // There is no room for lanes on a device of 1 MiB.
    let small = Gpu::from_driver(emulator((9, 0)).with_memory(1 << 20));
    let aes = AesGpu::on(&[small]).unwrap();
    assert!(backend(aes.hazmat_ctr(&host, &[0; 16], Bulk::in_place(&mut vec![0; 4 << 20]))));
}
