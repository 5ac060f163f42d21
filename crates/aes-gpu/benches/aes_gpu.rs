//! Measures the speed of every mode and kernel on the first device, checked against the CPU:
//! `cargo bench -p he-aes-gpu`, or a part of it with `-- device`, `-- host` or `-- paper`. In the
//! device's memory, times are by events on the stream, median of nine; from host to host they are
//! by the wall clock, median of five. docs/benchmarks.md has the figures of an H200.
#![allow(missing_docs)]

use aes_gpu::{AesGpu, AesStream, DeviceData, Tables};
use gpu::{Buffer, Gpu};
use he_core::aes::{Bulk, BulkCipher, Cpu, Direction, GcmChunks, Key, KeySize, XtsKey};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};
use std::time::Instant;

const COUNTER: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0xff, 0xff, 0xff, 0xf3];
/// Data up to this length are compared as a whole, longer ones in samples.
const WHOLE: usize = 16 << 20;
const SIZES: [usize; 7] = [1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, 1 << 30, 4 << 30];

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn size_name(bytes: usize) -> String {
    match bytes {
        b if b >= 1 << 30 => format!("{} GiB", b >> 30),
        b if b >= 1 << 20 => format!("{} MiB", b >> 20),
        b => format!("{b} B"),
    }
}

fn key(size: KeySize) -> Key {
    Key::generate(size, &mut ChaCha20Rng::seed_from_u64(size.bits() as u64))
}

fn xts_key(size: KeySize) -> XtsKey {
    XtsKey::generate(size, &mut ChaCha20Rng::seed_from_u64(size.bits() as u64))
}

/// The bytes of a buffer, from a multiple of eight on.
fn read(buffer: &Buffer, at: usize, len: usize) -> Vec<u8> {
    let mut words = vec![0; len.div_ceil(8)];
    buffer.stream().read(buffer, at / 8, &mut words).expect("the device works");
    words.iter().flat_map(|word| word.to_le_bytes()).take(len).collect()
}

/// Compares the whole of short data, and pieces of long ones, with the result of the CPU; pieces
/// begin at multiples of `unit`.
fn check(what: &str, from: &Buffer, to: &Buffer, len: usize, unit: usize, cpu: impl Fn(usize, Bulk<'_>)) {
    let piece = unit.max(4096);
    let mut rng = ChaCha20Rng::seed_from_u64(len as u64);
    let places: Vec<(usize, usize)> = if len <= WHOLE {
        vec![(0, len)]
    } else {
        let drawn = (0..60).map(|_| rng.random_range(0..len / piece) * piece);
        [0, (len / piece - 1) * piece].into_iter().chain(drawn).map(|at| (at, piece)).collect()
    };
    for (at, len) in places {
        let mut expected = read(from, at, len);
        cpu(at, Bulk::in_place(&mut expected));
        assert!(read(to, at, len) == expected, "{what}: wrong at {at} of {len} bytes");
    }
}

struct Bench {
    aes: AesStream,
    from: Buffer,
    to: Buffer,
}

impl Bench {
    fn new(gpu: &Gpu) -> Self {
        let aes = AesStream::on(gpu).expect("the device works");
        let most = SIZES[SIZES.len() - 1];
        let words = if gpu.info().memory >= 3 * most { most / 8 } else { (1 << 30) / 8 };
        let stream = aes.stream();
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let seed: Vec<u64> = (0..1 << 17).map(|_| rng.random()).collect();
        let seed = stream.upload(&seed).expect("the device works");
        let mut from = stream.alloc(words).expect("the device has memory");
        for at in (0..words).step_by(seed.words()) {
            stream.copy(&seed, 0, &mut from, at, seed.words()).expect("the device works");
        }
        // A key stream makes each repetition of the piece different.
        let whitening = aes.key(&key(KeySize::Bits192)).expect("the device works");
        aes.hazmat_ctr(&whitening, &[9; 16], DeviceData::InPlace(&mut from), words * 8)
            .expect("the device works");
        let to = stream.zeros(words).expect("the device has memory");
        Self { aes, from, to }
    }

    /// One line: GB/s at all sizes.
    fn line(
        &mut self,
        name: &str,
        call: impl Fn(&AesStream, DeviceData<'_>, usize),
        check: impl Fn(&Bench, usize),
    ) {
        print!("{name:<34}");
        for len in SIZES.into_iter().filter(|len| *len <= self.from.words() * 8) {
            let mut times = Vec::new();
            for i in 0..11 {
                let (stream, data) =
                    (self.aes.stream().clone(), DeviceData::Copy { from: &self.from, to: &mut self.to });
                let begin = stream.record().expect("the device works");
                call(&self.aes, data, len);
                let end = stream.record().expect("the device works");
                let ms = begin.elapsed_ms(&end).expect("the device works");
                if i >= 2 {
                    times.push(f64::from(ms) * 1e-3);
                }
            }
            check(self, len);
            print!(" {:>8.1}", len as f64 / median(times) / 1e9);
        }
        println!();
    }
}

fn device(gpu: &Gpu) {
    let mut bench = Bench::new(gpu);
    let aes = bench.aes.clone();
    println!("\nGB/s in the device's memory, from one buffer to another");
    print!("{:<34}", "");
    SIZES.iter().for_each(|len| print!(" {:>8}", size_name(*len)));
    println!();
    let tables = match gpu.info().shared_memory >= 128 << 10 {
        true => &[Tables::Four, Tables::Two][..],
        false => &[Tables::Two],
    };
    for &tables in tables {
        let aes = aes.clone().tables(tables);
        for size in KeySize::ALL {
            let (host, key) = (key(size), aes.key(&key(size)).expect("the device works"));
            let name = format!("CTR {}, tables {tables:?}", size.bits());
            bench.line(
                &name,
                |_, data, len| aes.hazmat_ctr(&key, &COUNTER, data, len).expect("the device works"),
                |bench, len| {
                    check(&name, &bench.from, &bench.to, len, 16, |at, data| {
                        let counter = u128::from_be_bytes(COUNTER).wrapping_add(at as u128 / 16);
                        Cpu::new().hazmat_ctr(&host, &counter.to_be_bytes(), data).expect("no device");
                    });
                },
            );
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let name = format!("ECB {direction:?} {}, tables {tables:?}", size.bits());
                bench.line(
                    &name,
                    |_, data, len| aes.hazmat_ecb(&key, direction, data, len).expect("the device works"),
                    |bench, len| {
                        check(&name, &bench.from, &bench.to, len, 16, |_, data| {
                            Cpu::new().hazmat_ecb(&host, direction, data).expect("whole blocks");
                        });
                    },
                );
            }
        }
        for (size, unit) in [
            (KeySize::Bits128, 512),
            (KeySize::Bits128, 4096),
            (KeySize::Bits128, 1 << 20),
            (KeySize::Bits256, 512),
            (KeySize::Bits256, 4096),
        ] {
            let (host, keys) = (xts_key(size), aes.xts_key(&xts_key(size)).expect("the device works"));
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                let name = format!("XTS {direction:?} {}, {unit}, {tables:?}", size.bits());
                bench.line(
                    &name,
                    |_, data, len| aes.xts(&keys, 7, unit, direction, data, len).expect("the device works"),
                    |bench, len| {
                        check(&name, &bench.from, &bench.to, len, unit, |at, data| {
                            let first = 7 + (at / unit) as u128;
                            Cpu::new().xts(&host, first, unit, direction, data).expect("whole units");
                        });
                    },
                );
            }
        }
        for (size, chunk_len) in [
            (KeySize::Bits128, usize::MAX),
            (KeySize::Bits128, 1 << 20),
            (KeySize::Bits128, 64 << 10),
            (KeySize::Bits128, 16 << 10),
            (KeySize::Bits256, usize::MAX),
            (KeySize::Bits256, 64 << 10),
        ] {
            gcm(&mut bench, &aes, tables, size, chunk_len);
        }
    }
    let (host, key) = (key(KeySize::Bits128), aes.key(&key(KeySize::Bits128)).expect("the device works"));
    let name = "ECB 128, four threads a block (P2)";
    bench.line(
        name,
        |aes, data, len| aes.hazmat_ecb_by_columns(&key, data, len).expect("the device works"),
        |bench, len| {
            check(name, &bench.from, &bench.to, len, 16, |_, data| {
                Cpu::new().hazmat_ecb(&host, Direction::Encrypt, data).expect("whole blocks");
            });
        },
    );
}

/// Sealing, with the tags on the host; every tag is compared with the CPU's up to 256 MiB.
fn gcm(bench: &mut Bench, aes: &AesStream, tables: Tables, size: KeySize, chunk_len: usize) {
    let (host, device_key) = (key(size), aes.gcm_key(&key(size)).expect("the device works"));
    let parts =
        if chunk_len == usize::MAX { "one message".into() } else { format!("{} KiB", chunk_len >> 10) };
    let name = format!("GCM seal {}, {parts}, {tables:?}", size.bits());
    let most = bench.from.words() * 8;
    let chunk_of = |len: usize| chunk_len.min(len);
    let nonces: Vec<[u8; 12]> = (0..most.div_ceil(chunk_len.min(1 << 30)) as u32)
        .map(|i| std::array::from_fn(|j| if j < 4 { i.to_be_bytes()[j] } else { 5 }))
        .collect();
    bench.line(
        &name,
        |_, data, len| {
            let count = len.div_ceil(chunk_of(len));
            let chunks = GcmChunks::new(chunk_of(len), &nonces[..count], &[]).expect("chunks");
            drop(aes.gcm_seal_chunks(&device_key, chunks, data, len).expect("the device works"));
        },
        |bench, len| {
            if len > 256 << 20 {
                return;
            }
            let count = len.div_ceil(chunk_of(len));
            let chunks = GcmChunks::new(chunk_of(len), &nonces[..count], &[]).expect("chunks");
            let (mut data, mut expected) = (read(&bench.from, 0, len), vec![[0; 16]; count]);
            let sealed = Cpu::new().gcm_seal_chunks(&host, chunks, Bulk::in_place(&mut data), &mut expected);
            sealed.expect("no device");
            assert!(read(&bench.to, 0, len) == data, "{name}: wrong ciphertext");
            let mut copy = aes.stream().alloc(len / 8).expect("the device has memory");
            let place = DeviceData::Copy { from: &bench.to, to: &mut copy };
            aes.gcm_open_chunks(&device_key, chunks, &expected, place, len).expect("the CPU's tags");
        },
    );
}

fn wall(mut call: impl FnMut()) -> f64 {
    let times = (0..6).map(|_| {
        let begin = Instant::now();
        call();
        begin.elapsed().as_secs_f64()
    });
    median(times.skip(1).collect())
}

fn host(gpu: &Gpu) {
    let aes = AesGpu::on(std::slice::from_ref(gpu)).expect("the device works");
    let key = key(KeySize::Bits128);
    let sizes = [1 << 20, 16 << 20, 256 << 20, 1 << 30, 4usize << 30];
    println!("\nGB/s from host to host, AES-128");
    print!("{:<34}", "");
    sizes.iter().for_each(|len| print!(" {:>8}", size_name(*len)));
    println!();
    let most = sizes[sizes.len() - 1];
    let mut from = gpu.pinned(most / 8).expect("the host has memory");
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    from.as_mut_slice().expect("no copy fails").iter_mut().for_each(|word| *word = rng.next_u64());
    let mut to = gpu.pinned(most / 8).expect("the host has memory");
    let line = |name: &str, call: &mut dyn FnMut(usize)| {
        print!("{name:<34}");
        for len in sizes {
            print!(" {:>8.2}", len as f64 / wall(|| call(len)) / 1e9);
        }
        println!();
    };
    for slice in [2 << 20, 4 << 20, 8 << 20, 16 << 20, 32 << 20] {
        let aes = AesGpu::on(std::slice::from_ref(gpu)).expect("the device works").slices(slice, 1);
        line(&format!("CTR, page-locked, slices of {}", size_name(slice)), &mut |len| {
            aes.hazmat_ctr_pinned(&key, &COUNTER, &from, &mut to, len).expect("the device works");
        });
    }
    let words: Vec<u8> = from.as_slice().expect("no copy fails")[..1 << 20]
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut expected = words;
    Cpu::new().hazmat_ctr(&key, &COUNTER, Bulk::in_place(&mut expected)).expect("no device");
    let found = to.as_slice().expect("no copy fails")[..1 << 20].iter().flat_map(|word| word.to_le_bytes());
    assert!(found.eq(expected.iter().copied()), "page-locked CTR is wrong");
    line("ECB, page-locked", &mut |len| {
        aes.hazmat_ecb_pinned(&key, Direction::Encrypt, &from, &mut to, len).expect("the device works");
    });
    line("XTS, units of 4096, page-locked", &mut |len| {
        let keys = xts_key(KeySize::Bits128);
        aes.xts_pinned(&keys, 0, 4096, Direction::Encrypt, &from, &mut to, len).expect("the device works");
    });
    line("GCM seal, page-locked", &mut |len| {
        aes.gcm_seal_pinned(&key, &[0; 12], b"", &from, &mut to, len).expect("the device works");
    });
    drop((from, to));
    let mut from = vec![0u8; most];
    rng.fill_bytes(&mut from);
    let mut to = vec![0u8; most];
    for (slice, lanes) in [(8 << 20, 3), (8 << 20, 6), (8 << 20, 12), (2 << 20, 12)] {
        let aes = AesGpu::on(std::slice::from_ref(gpu)).expect("the device works").slices(slice, lanes);
        line(&format!("CTR, {lanes} lanes of {}", size_name(slice)), &mut |len| {
            let data = Bulk::copy(&from[..len], &mut to[..len]).expect("one length");
            aes.hazmat_ctr(&key, &COUNTER, data).expect("the device works");
        });
    }
    line("GCM seal, one message", &mut |len| {
        let data = Bulk::copy(&from[..len], &mut to[..len]).expect("one length");
        aes.gcm_seal(&key, &[0; 12], b"", data).expect("the device works");
    });
    line("GCM seal, chunks of 64 KiB", &mut |len| {
        let nonces: Vec<[u8; 12]> = (0..(len >> 16) as u32)
            .map(|i| std::array::from_fn(|j| if j < 4 { i.to_be_bytes()[j] } else { 0 }))
            .collect();
        let chunks = GcmChunks::new(1 << 16, &nonces, &[]).expect("chunks");
        let data = Bulk::copy(&from[..len], &mut to[..len]).expect("one length");
        aes.gcm_seal_chunks(&key, chunks, data, &mut vec![[0; 16]; nonces.len()]).expect("the device works");
    });
    line("CPU: CTR, all threads", &mut |len| {
        let data = Bulk::copy(&from[..len], &mut to[..len]).expect("one length");
        Cpu::new().hazmat_ctr(&key, &COUNTER, data).expect("no device");
    });
    line("CPU: GCM seal, all threads", &mut |len| {
        let data = Bulk::copy(&from[..len], &mut to[..len]).expect("one length");
        Cpu::new().gcm_seal(&key, &[0; 12], b"", data).expect("no device");
    });
}

/// The table of P2 (Jiwandono, 2011), KB/s; its GTX 470 reached 411 781 with transfers and 4 869
/// 420 without, its CPU 179 361, at 8 MiB. KB/s of the system's OpenSSL on one thread, where there
/// is one and blocks of this size are short enough for it.
fn openssl(len: usize) -> Option<f64> {
    if len > 64 << 20 {
        return None;
    }
    let size = len.to_string();
    let arguments = ["speed", "-mr", "-seconds", "1", "-bytes", &size, "-evp", "aes-128-ecb"];
    let output = std::process::Command::new("openssl").args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    // The line is +F:number:name:bytes a second.
    let line = text.lines().find(|line| line.starts_with("+F:"))?;
    Some(line.rsplit(':').next()?.trim().parse::<f64>().ok()? / 1e3)
}

fn paper(gpu: &Gpu) {
    let host = AesGpu::on(std::slice::from_ref(gpu)).expect("the device works");
    let aes = AesStream::on(gpu).expect("the device works");
    let (key, device_key) =
        (key(KeySize::Bits128), aes.key(&key(KeySize::Bits128)).expect("the device works"));
    println!("\nAES-128-ECB as in P2, KB/s (of 1000 bytes)");
    let pools = [1, 2].map(|threads| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("there are threads")
    });
    println!(
        "{:>10} {:>14} {:>14} {:>14} {:>14} {:>14} {:>14} {:>14}",
        "chunk",
        "openssl",
        "CPU, 1 thread",
        "CPU, 2",
        "with copies",
        "page-locked",
        "P2's kernel",
        "this kernel"
    );
    for log in 4..=30usize {
        let len = 1 << log;
        let mut data = vec![1u8; len];
        let kb = |seconds: f64| len as f64 / seconds / 1e3;
        let openssl = openssl(len).map_or("-".to_owned(), |kb| format!("{kb:.0}"));
        let cpu = [&pools[0], &pools[1]].map(|pool| {
            pool.install(|| {
                wall(|| {
                    Cpu::new()
                        .hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(&mut data))
                        .expect("blocks");
                })
            })
        });
        let copies =
            wall(|| host.hazmat_ecb(&key, Direction::Encrypt, Bulk::in_place(&mut data)).expect("it works"));
        let (from, mut to) = (gpu.pinned(len / 8).expect("memory"), gpu.pinned(len / 8).expect("memory"));
        let locked =
            wall(|| host.hazmat_ecb_pinned(&key, Direction::Encrypt, &from, &mut to, len).expect("it works"));
        let mut buffer = aes.stream().zeros(len / 8).expect("memory");
        // Look-ups of equal blocks do not wait for each other: P2's kernel would be ten times as
        // fast on zeros.
        aes.hazmat_ctr(&device_key, &COUNTER, DeviceData::InPlace(&mut buffer), len).expect("it works");
        let mut on_device = |columns: bool| {
            let times = (0..11).map(|_| {
                let begin = aes.stream().record().expect("it works");
                let data = DeviceData::InPlace(&mut buffer);
                let done = match columns {
                    true => aes.hazmat_ecb_by_columns(&device_key, data, len),
                    false => aes.hazmat_ecb(&device_key, Direction::Encrypt, data, len),
                };
                done.expect("it works");
                let end = aes.stream().record().expect("it works");
                f64::from(begin.elapsed_ms(&end).expect("it works")) * 1e-3
            });
            median(times.skip(2).collect())
        };
        let (columns, best) = (on_device(true), on_device(false));
        let row = [cpu[0], cpu[1], copies, locked, columns, best]
            .map(|seconds| format!("{:>14.0}", kb(seconds)))
            .join(" ");
        println!("{len:>10} {openssl:>14} {row}");
    }
}

fn main() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    println!("{:?}", gpu.info());
    let only: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for (name, part) in [("device", device as fn(&Gpu)), ("host", host), ("paper", paper)] {
        if only.is_empty() || only.iter().any(|only| only == name) {
            part(&gpu);
        }
    }
}
