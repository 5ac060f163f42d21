// Random polynomials from a seed (he_core::ring::sampler): the words of ChaCha20 streams at fixed places. A thread makes one block
// of the stream, 64 bytes: four uniform residues, or eight small ones for all primes at once.
#include "include/chacha20.cuh"
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
    small_coefficients(a.kind, words, small);
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
