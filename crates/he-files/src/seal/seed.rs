//! The second polynomial of SEAL's symmetric encryptions, from the seed that stands for it.
//!
//! SEAL's generator is BLAKE2Xb, a key of 64 bytes and a counter of blocks of 4096 bytes. Residues
//! are words of it that lie below a multiple of the prime; others are drawn again behind all words.
//!
//! Source: Aumasson, Neves, Wilcox-O'Hearn, Winnerlein, *BLAKE2X* (2016), section 2; RFC 7693; SEAL
//! 4.1, `native/src/seal/randomgen.cpp` and `util/rlwe.cpp`.

/// The bytes of a seed.
pub const SEED: usize = 64;
/// The bytes that the generator makes at once.
const BLOCK: usize = 4096;
/// The bytes of a digest.
const DIGEST: usize = 64;

const IV: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

const SIGMA: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];

/// The function G on four words of a state.
fn mix(v: &mut [u64; 16], [a, b, c, d]: [usize; 4], x: u64, y: u64) {
    for (word, turns) in [(x, [32, 24]), (y, [16, 63])] {
        v[a] = v[a].wrapping_add(v[b]).wrapping_add(word);
        v[d] = (v[d] ^ v[a]).rotate_right(turns[0]);
        v[c] = v[c].wrapping_add(v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(turns[1]);
    }
}

/// A block of a message, after which `total` bytes are hashed.
fn compress(h: &mut [u64; 8], block: &[u64; 16], total: u64, last: bool) {
    const COLUMNS: [[usize; 4]; 8] = [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ];
    let mut v = [0; 16];
    v[..8].copy_from_slice(h);
    v[8..].copy_from_slice(&IV);
    v[12] ^= total;
    v[14] ^= if last { u64::MAX } else { 0 };
    for round in 0..12 {
        let order = &SIGMA[round % 10];
        for (at, &column) in COLUMNS.iter().enumerate() {
            mix(&mut v, column, block[order[2 * at]], block[order[2 * at + 1]]);
        }
    }
    for (at, word) in h.iter_mut().enumerate() {
        *word ^= v[at] ^ v[at + 8];
    }
}

/// Words of the start of a block, and zeros.
fn padded(words: &[u64]) -> [u64; 16] {
    let mut block = [0; 16];
    block[..words.len()].copy_from_slice(words);
    block
}

fn hashed(parameters: [u64; 3], blocks: &[(&[u64], u64)]) -> [u64; 8] {
    let mut h = IV;
    for (word, parameter) in h.iter_mut().zip(parameters) {
        *word ^= parameter;
    }
    for (at, &(words, total)) in blocks.iter().enumerate() {
        compress(&mut h, &padded(words), total, at + 1 == blocks.len());
    }
    h
}

/// A block of the generator: BLAKE2Xb of the counter under the seed.
fn block(seed: &[u64; 8], counter: u64) -> [u64; BLOCK / 8] {
    const LENGTH: u64 = (BLOCK as u64) << 32;
    // Digest and key of 64 bytes, fanout and depth of 1. The key is a block of its own.
    let root = hashed([0x0101_4040, LENGTH, 0], &[(seed, 128), (&[counter], 136)]);
    // Digests, leaves and inner digests of 64 bytes, without a key, fanout and depth of 0.
    let leaf = (DIGEST as u64) | ((DIGEST as u64) << 32);
    let mut words = [0; BLOCK / 8];
    for (at, part) in words.chunks_mut(DIGEST / 8).enumerate() {
        let parameters = [leaf, at as u64 | LENGTH, (DIGEST as u64) << 8];
        part.copy_from_slice(&hashed(parameters, &[(&root, DIGEST as u64)]));
    }
    words
}

/// The words of SEAL's generator, one by one. It makes whole words here, and SEAL asks for nothing
/// else.
fn generator(seed: [u64; 8]) -> impl Iterator<Item = u64> {
    (0..).flat_map(move |counter| block(&seed, counter))
}

/// Uniform residues of `n` coefficients modulo each prime.
pub fn residues(seed: &[u8; SEED], primes: &[u64], n: usize) -> Vec<u64> {
    let (words, _) = seed.as_chunks::<8>();
    let mut words = generator(std::array::from_fn(|at| u64::from_le_bytes(words[at])));
    let mut drawn: Vec<u64> = words.by_ref().take(n * primes.len()).collect();
    for (row, &q) in drawn.chunks_mut(n).zip(primes) {
        let end = u64::MAX - u64::MAX % q - 1;
        for word in row {
            while *word >= end {
                *word = words.next().unwrap_or_default();
            }
            *word %= q;
        }
    }
    drawn
}
