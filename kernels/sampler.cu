// Random polynomials from a seed (he_core::ring::sampler): the words of ChaCha20 streams at fixed places. A thread makes one block
// of the stream, 64 bytes: four uniform residues, or eight small ones for all primes at once.
#include "include/rows.cuh"

constexpr u32 SAMPLE_THREADS = 128;

// Mirrored by `sampler::Args`. `kind` 1: uniform (blockIdx.y is the limb), 2: ternary, 3: error.
struct SampleArgs {
    Limbs limbs;
    const Prime* primes;
    u64* dst;
    u32 log_n, kind, index, limb_count;
    u32 seed[8];
};

HE_D u32 rotate(u32 x, u32 by) { return x << by | x >> (32 - by); }

HE_D void quarter(u32& a, u32& b, u32& c, u32& d) {
    a += b;
    d = rotate(d ^ a, 16);
    c += d;
    b = rotate(b ^ c, 12);
    a += b;
    d = rotate(d ^ a, 8);
    c += d;
    b = rotate(b ^ c, 7);
}

// Block `counter` of a stream (djb's variant: 64-bit counter, 64-bit stream), as eight little-endian words.
HE_D void chacha20(const u32* seed, u64 stream, u64 counter, u64* out) {
    u32 input[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, seed[0], seed[1], seed[2], seed[3], seed[4], seed[5],
                     seed[6], seed[7], (u32)counter, (u32)(counter >> 32), (u32)stream, (u32)(stream >> 32)};
    u32 x[16];
#pragma unroll
    for (u32 i = 0; i < 16; ++i) x[i] = input[i];
#pragma unroll 2
    for (u32 round = 0; round < 10; ++round) {
        quarter(x[0], x[4], x[8], x[12]);
        quarter(x[1], x[5], x[9], x[13]);
        quarter(x[2], x[6], x[10], x[14]);
        quarter(x[3], x[7], x[11], x[15]);
        quarter(x[0], x[5], x[10], x[15]);
        quarter(x[1], x[6], x[11], x[12]);
        quarter(x[2], x[7], x[8], x[13]);
        quarter(x[3], x[4], x[9], x[14]);
    }
#pragma unroll
    for (u32 i = 0; i < 8; ++i) out[i] = (u64)(x[2 * i] + input[2 * i]) | (u64)(x[2 * i + 1] + input[2 * i + 1]) << 32;
}

HE_D u64 stream_of(u64 kind, u64 prime, u64 index) { return kind << 56 | prime << 40 | index; }

KERNEL(sample_uniform, SampleArgs, SAMPLE_THREADS, 1) {
    u64 block = (u64)blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    u64 count = (u64)a.limbs.batch << a.log_n;
    if (block * 4 >= count) return;
    u32 limb = blockIdx.y, prime = prime_of(a.limbs, limb);
    const Prime p = a.primes[prime];
    u64 words[8];
    chacha20(a.seed, stream_of(1, prime, a.index), block, words);
    u64* dst = a.dst + limb * count + block * 4;
    store2(dst, reduce_wide(words[0], words[1], p), reduce_wide(words[2], words[3], p));
    store2(dst + 2, reduce_wide(words[4], words[5], p), reduce_wide(words[6], words[7], p));
}

KERNEL(sample_small, SampleArgs, SAMPLE_THREADS, 1) {
    u64 block = (u64)blockIdx.x * SAMPLE_THREADS + threadIdx.x;
    u64 count = (u64)a.limbs.batch << a.log_n;
    if (block * 8 >= count) return;
    u64 words[8];
    chacha20(a.seed, stream_of(a.kind, 0, a.index), block, words);
    i64 small[8];
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
        u64 mask = (1u << 21) - 1;
        small[i] = a.kind == 2 ? (i64)__umul64hi(words[i], 3) - 1
                               : (i64)__popc((u32)(words[i] & mask)) - (i64)__popc((u32)(words[i] >> 21 & mask));
    }
    // Limbs are dealt out to blockIdx.y.
    for (u32 limb = blockIdx.y; limb < a.limb_count; limb += gridDim.y) {
        u64 q = a.primes[prime_of(a.limbs, limb)].q;
        u64* dst = a.dst + limb * count + block * 8;
#pragma unroll
        for (u32 i = 0; i < 8; i += 2) {
            if (block * 8 + i < count) {
                store2(dst + i, small[i] < 0 ? q + small[i] : small[i], small[i + 1] < 0 ? q + small[i + 1] : small[i + 1]);
            }
        }
    }
}
