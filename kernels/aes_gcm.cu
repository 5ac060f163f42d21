// GCM (SP 800-38D) beside CTR: powers of H, GHASH, tags.
#include "include/ghash.cuh"

KERNEL(aes_ghash_wide, GhashArgs, GHASH_THREADS, 1) {
    SHARED(unsigned char, shared);
    ghash<GhashWide>(a, shared);
}

KERNEL(aes_ghash_narrow, GhashArgs, GHASH_THREADS, 1) {
    SHARED(unsigned char, shared);
    ghash<GhashNarrow>(a, shared);
}

// H = cipher(0) and what is made of it, in one block of threads.
KERNEL(aes_ghash_key, GhashKeyArgs, 256, 1) {
    SHARED(Gf128, squares); // H^(2^i)
    GhashKey* key = (GhashKey*)a.key;
    if (threadIdx.x == 0) {
        Gf128 h = Gf128::of_gcm(aes_block(a.keys, a.rounds, make_uint4(0, 0, 0, 0)));
#pragma unroll 1
        for (u32 i = 0; i < 8 * (GHASH_DIGITS + 1); ++i) {
            squares[i] = h;
            h = product(h, h);
        }
    }
    __syncthreads();
#pragma unroll 1
    for (u32 i = threadIdx.x; i < GHASH_LOW + GHASH_DIGITS * 256; i += blockDim.x) {
        const bool low = i < GHASH_LOW;
        const u32 digit = low ? 0 : (i - GHASH_LOW) / 256 + 1;
        Gf128 power = {{1, 0, 0, 0}};
        u32 left = low ? i : (i - GHASH_LOW) % 256;
#pragma unroll 1
        for (u32 bit = 8 * digit; left; ++bit, left >>= 1) {
            if (left & 1) power = product(power, squares[bit]);
        }
        if (low) {
            key->low[i] = power;
        } else {
            key->digits[digit - 1][(i - GHASH_LOW) % 256] = power;
        }
    }
#pragma unroll 1
    for (u32 i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
        const u32 half = i >> 4, word = half / 8;
        const u32 bits = (i & 15) << ((half % 8) ^ 1) * 4;
        uint4 block = make_uint4(word == 0 ? bits : 0, word == 1 ? bits : 0, word == 2 ? bits : 0, word == 3 ? bits : 0);
        key->halves[half][i & 15] = product(Gf128::of_gcm(block), squares[5]).gcm();
    }
}

// A tag from the sum of a message: the block of both lengths times H, and cipher(J0). One thread a message.
KERNEL(aes_gcm_finish, GcmFinishArgs, 128, 1) {
    const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count) return;
    const GhashKey* key = (const GhashKey*)a.key;
    const u64 aad = a.aad * 8, len = (i + 1 == a.count ? a.last : a.len) * 8;
    const uint4 lengths = make_uint4(aes_swap((u32)(aad >> 32)), aes_swap((u32)aad), aes_swap((u32)(len >> 32)), aes_swap((u32)len));
    Gf128 sum = product(Gf128::of_gcm(lengths), key->low[1]);
    sum.add(Gf128::of(((const uint4*)a.sums)[i]));
    uint4 counter = ((const uint4*)a.counters)[i];
    counter.w = aes_swap(1);
    const uint4 mask = aes_block(a.keys, a.rounds, counter);
    const uint4 hash = sum.gcm();
    ((uint4*)a.tags)[i] = make_uint4(hash.x ^ mask.x, hash.y ^ mask.y, hash.z ^ mask.z, hash.w ^ mask.w);
}
