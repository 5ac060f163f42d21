//! Results do not depend on the number of threads.

use super::{made, seed};
use he::aes::{BulkCipher, Cpu, Direction, GcmChunks, Key, KeySize, XtsKey};
use rand::{Rng, RngExt, SeedableRng, rngs::ChaCha20Rng};

#[test]
fn any_number_of_threads() {
    let mut rng = ChaCha20Rng::seed_from_u64(seed());
    let (key, keys) =
        (Key::generate(KeySize::Bits192, &mut rng), XtsKey::generate(KeySize::Bits128, &mut rng));
    let (counter, nonce): ([u8; 16], [u8; 12]) = (rng.random(), rng.random());
    for len in [131_072, 131_073, rng.random_range(1 << 18..3 << 20)] {
        let mut data = vec![0; len];
        rng.fill_bytes(&mut data);
        let nonces: Vec<[u8; 12]> = (0..len.div_ceil(70_000)).map(|_| rng.random()).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let cpu = Cpu::new();
            pool.install(|| {
                let whole = &data[..len / 16 * 16];
                let ecb = made(whole, |data| cpu.hazmat_ecb(&key, Direction::Decrypt, data)).0;
                let ctr = made(&data, |data| cpu.hazmat_ctr(&key, &counter, data)).0;
                let units = [48, 520, 1 << 20].map(|unit| {
                    let short = len % unit;
                    let data = &data[..if short < 16 { len - short } else { len }];
                    made(data, |data| cpu.xts(&keys, 9, unit, Direction::Encrypt, data)).0
                });
                let gcm = made(&data, |data| cpu.gcm_seal(&key, &nonce, b"associated", data));
                made(&gcm.0, |data| cpu.gcm_open(&key, &nonce, b"associated", &gcm.1, data));
                let chunks = GcmChunks::new(70_000, &nonces, &[]).unwrap();
                let mut tags = vec![[0; 16]; nonces.len()];
                let chunked = made(&data, |data| cpu.gcm_seal_chunks(&key, chunks, data, &mut tags)).0;
                (ecb, ctr, units, gcm, chunked, tags)
            })
        };
        let one = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == one, "{threads} threads, {len} bytes");
        }
    }
}
