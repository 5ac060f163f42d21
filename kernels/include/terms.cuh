// Products of residues and their sums, in the arithmetic of a prime.
#pragma once
#include "policy.cuh"
#include "rows.cuh"

template <class A>
struct Terms;

// Modulo a short prime a product of canonical residues is at most .88q in magnitude, and sums grow.
template <>
struct Terms<Fp64> {
    HE_D static double mul(const Fp64& f, const Prime&, double x, double y) { return f.mul(x, y); }
    HE_D static double add(const Prime&, double x, double y) { return x + y; }
    // a0 b1 + a1 b0
    HE_D static double cross(const Fp64& f, const Prime&, double a0, double b1, double a1, double b0) {
        return f.mul(a0, b1) + f.mul(a1, b0);
    }
};

template <>
struct Terms<U64> {
    HE_D static u64 mul(const U64&, const Prime& p, u64 x, u64 y) { return mul_mod(x, y, p); }
    HE_D static u64 add(const Prime& p, u64 x, u64 y) { return add_mod(x, y, p.q); }
    HE_D static u64 cross(const U64&, const Prime& p, u64 a0, u64 b1, u64 a1, u64 b0) {
        Wide sum{0, 0};
        multiply_add(sum, a0, b1);
        multiply_add(sum, a1, b0);
        return reduce_wide(sum.low, sum.high, p);
    }
};

// PAIRS pairs of neighbours, the i-th at word at(i).
template <u32 PAIRS, class A, class At>
HE_D void load_pairs(const A& f, const u64* words, At at, typename A::Value* out) {
    ulonglong2 v[PAIRS];
#pragma unroll
    for (u32 i = 0; i < PAIRS; ++i) v[i] = load2(words + at(i));
#pragma unroll
    for (u32 i = 0; i < PAIRS; ++i) {
        out[2 * i] = f.load(v[i].x);
        out[2 * i + 1] = f.load(v[i].y);
    }
}

// Two neighbouring words.
template <class A>
HE_D void load_pair(const A& f, const u64* words, typename A::Value (&out)[2]) {
    load_pairs<1>(f, words, [](u32) { return 0; }, out);
}
