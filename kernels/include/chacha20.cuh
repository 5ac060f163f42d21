// The streams of he_core::ring::sampler.
#pragma once
#include "launch.cuh"

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

// The eight ternary coefficients (kind 2) or errors (kind 3) of a block.
HE_D void small_coefficients(u32 kind, const u64* words, i64* small) {
    const u64 mask = (1u << 21) - 1;
#pragma unroll
    for (u32 i = 0; i < 8; ++i) {
        small[i] = kind == 2 ? (i64)__umul64hi(words[i], 3) - 1
                             : (i64)__popc((u32)(words[i] & mask)) - (i64)__popc((u32)(words[i] >> 21 & mask));
    }
}
