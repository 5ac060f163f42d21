// Exact conversion between sets of primes (he_core::ring::BaseConversion).
#pragma once
#include "modular.cuh"

// The conversion from the limbs first ... first + count of a buffer; mirrored by `constants::Basis`.
struct Basis {
    const double* reciprocal; // 1 / d_i
    const u64* hat;           // D / d_i modulo target j, at j count + i
    const u64* minus_product; // -D modulo target j
    u64 first, count;
};

// y_i of coefficient `at` in `rows`, which holds the y of all source limbs `stride` words apart, to the residue modulo target j.
HE_HD u64 convert(const Basis& basis, const u64* rows, size_t stride, size_t at, u32 j, const Prime& p) {
    const u64* y = rows + basis.first * stride + at;
    const u64* hat = basis.hat + (size_t)j * basis.count;
    double overflow = 0.0;
    Wide sum{0, 0};
    for (u32 i = 0; i < basis.count; ++i) {
        u64 term = y[i * stride];
        overflow = __dadd_rn(overflow, __dmul_rn(__ull2double_rn(term), basis.reciprocal[i]));
        multiply_add(sum, term, hat[i]);
    }
    multiply_add(sum, (u64)__double2ull_rn(overflow), basis.minus_product[j]);
    return reduce_wide(sum.low, sum.high, p);
}
