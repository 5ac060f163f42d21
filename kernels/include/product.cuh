// Inner products of the digits of a key switch with a key.
#pragma once
#include "conversion.cuh"
#include "key.cuh"
#include "terms.cuh"

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
    KeyLayout key_layout;
    const u64* addend[2]; // over the chain, or none
    u64* sums[2];
    u64 special[64];      // P modulo each chain prime
    unsigned char digit_of[64]; // of each chain limb
    // In place of `own` and `addend`, if a kernel has OF_PAIRS: two pairs over the chain, the last part of whose product was decomposed
    // and whose other parts are added.
    const u64* left[2];
    const u64* right[2];
};

HE_D u32 key_limb_of(const ProductArgs& a, u32 limb) { return key_limb(limb, a.grid.limbs.split, a.key_chain); }

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

// What is added to the sums P times: the addends, or the first parts of the product of two pairs.
template <u32 PAIRS, bool OF_PAIRS>
struct Multiples {
    ulonglong2 words[OF_PAIRS ? 4 : 2][PAIRS]; // of the addends, or of both parts of the left and of the right pair

    // Reads PAIRS pairs of neighbouring words, the i-th at word at(i).
    template <class At>
    HE_D void read(const ProductArgs& a, At at) {
#pragma unroll
        for (u32 part = 0; part < 2; ++part) {
            if constexpr (OF_PAIRS) {
#pragma unroll
                for (u32 i = 0; i < PAIRS; ++i) {
                    words[part][i] = load2(a.left[part] + at(i));
                    words[2 + part][i] = load2(a.right[part] + at(i));
                }
            } else {
                const u64* from = a.addend[part];
#pragma unroll
                for (u32 i = 0; i < PAIRS; ++i) words[part][i] = from != nullptr ? load2(from + at(i)) : make_ulonglong2(0, 0);
            }
        }
    }
    template <class A, class S>
    HE_D void add(const ProductArgs& a, const A& f, const Prime& p, u32 limb, S& sums) const {
        u64 special = a.special[limb];
        if constexpr (OF_PAIRS) {
#pragma unroll
            for (u32 r = 0; r < 2 * PAIRS; ++r) {
                auto a0 = value(f, 0, r), a1 = value(f, 1, r), b0 = value(f, 2, r), b1 = value(f, 3, r);
                sums.add(f, 0, r, Terms<A>::mul(f, p, a0, b0), special);
                sums.add(f, 1, r, S::operand(f, Terms<A>::cross(f, p, a0, b1, a1, b0)), special);
            }
        } else {
#pragma unroll
            for (u32 part = 0; part < 2; ++part) {
                if (a.addend[part] == nullptr) continue;
#pragma unroll
                for (u32 r = 0; r < 2 * PAIRS; ++r) sums.add(f, part, r, value(f, part, r), special);
            }
        }
    }
    template <class A>
    HE_D typename A::Value value(const A& f, u32 of, u32 r) const {
        ulonglong2 pair = words[of][r / 2];
        return f.load(r % 2 == 0 ? pair.x : pair.y);
    }
};
