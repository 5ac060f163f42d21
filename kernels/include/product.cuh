// Inner products of the digits of a key switch with a key.
#pragma once
#include "conversion.cuh"
#include "key.cuh"

// Inner products of digits with both parts of a key, plus P times a polynomial over the chain; mirrored by
// `key_switch::ProductArgs`.
struct ProductArgs {
    Grid grid;
    const u64* digits;
    size_t digit_words;
    const u64* own;    // evaluation form of what was decomposed, read for a digit's own limbs; none if the digits hold them
    const u64* key;
    size_t key_words;  // of one part of one digit
    u32 key_chain;     // chain limbs of the key
    u32 count;         // digits
    u32 key_packed, pad;
    const u64* addend[2]; // over the chain, or none
    u64* sums[2];
    u64 special[64];      // P modulo each chain prime
    unsigned char digit_of[64]; // of each chain limb
};

// Sums of products with parts b and a of a key at POINTS places, modulo a short prime. Products of residues are at most .88q in
// magnitude, and what was reduced is q / 2: MOST of them and an addend are at most 6.7q.
template <u32 POINTS>
struct FloatSums {
    static constexpr u32 MOST = 6; // products between reductions
    double sum[2][POINTS];

    // A value of a transform as a residue to multiply.
    HE_D static double operand(const Fp64& f, double x) { return f.relax(x); }
    HE_D void add(const Fp64& f, u32 part, u32 r, double x, u64 factor) { sum[part][r] += f.mul(x, f.load(factor)); }
    HE_D void relax(const Fp64& f, const Prime&) {
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
#pragma unroll
            for (u32 r = 0; r < POINTS; ++r) sum[part][r] = f.relax(sum[part][r]);
        }
    }
    HE_D u64 residue(const Fp64& f, const Prime&, u32 part, u32 r) const { return f.store(sum[part][r]); }
};

// Modulo a wide one: 64 products of residues are below 2^128.
template <u32 POINTS>
struct WordSums {
    static constexpr u32 MOST = 32;
    Wide sum[2][POINTS];

    HE_D static u64 operand(const U64& f, u64 x) { return f.store(x); }
    HE_D void add(const U64&, u32 part, u32 r, u64 x, u64 factor) { multiply_add(sum[part][r], x, factor); }
    HE_D void relax(const U64& f, const Prime& p) {
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
#pragma unroll
            for (u32 r = 0; r < POINTS; ++r) sum[part][r] = Wide{residue(f, p, part, r), 0};
        }
    }
    HE_D u64 residue(const U64&, const Prime& p, u32 part, u32 r) const { return reduce_wide(sum[part][r].low, sum[part][r].high, p); }
};
