// Exact conversion between sets of primes (he_core::ring::BaseConversion).
#pragma once
#include "policy.cuh"

// The conversion from the limbs first ... first + count of a buffer; mirrored by `constants::Basis`.
struct Basis {
    const double* reciprocal;    // 1 / d_i
    const u64* hat;              // D / d_i modulo target j, at j count + i
    const u64* minus_product;    // -D modulo target j
    const double2* hat_parts;    // hat, its representative of least magnitude in parts: 2^25 x + y, |y| <= 2^24
    const double2* minus_parts;  // likewise
    u64 first, count;
    u64 is_short;                // all source primes are short
};

// y_i of coefficient `at` in `rows`, which holds the y of all source limbs `stride` words apart, to the residue modulo target j.
HE_HD u64 convert(const Basis& basis, const u64* rows, size_t stride, size_t at, u32 j, const Prime& p) {
    const u64* y = rows + basis.first * stride + at;
    if (basis.count == 1) {
        // The source is its own y, and D is its prime.
        u64 x = y[0];
        bool above = rint(__dmul_rn(__ull2double_rn(x), basis.reciprocal[0])) != 0.0;
        return add_mod(reduce_word(x, p), above ? basis.minus_product[j] : 0, p.q);
    }
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

// Sums of products of short residues in float64, exactly: each factor in two parts of 25 bits, y = 2^25 y1 + y0 with 0 <= y1 <= 2^25
// and |y0| <= 2^24, h likewise with |h1| <= 2^24. The middle sum grows by at most 1.5 * 2^49 a term: ten terms stay below 2^53.
constexpr u32 SPLIT_TERMS = 10;

struct Split {
    double high, low;
};

HE_HD Split split(u64 y) {
    double value = __longlong_as_double((i64)(y | 0x4330000000000000ull)) - 4503599627370496.0;
    double high = rint(value * 0x1p-25);
    return Split{high, fma(high, -0x1p25, value)};
}

struct SplitSum {
    double high, middle, low;

    HE_HD void add(const Split& y, const double2& h) {
        high = fma(y.high, h.x, high);
        middle = fma(y.high, h.y, middle);
        middle = fma(y.low, h.x, middle);
        low = fma(y.low, h.y, low);
    }
    // The canonical residue.
    HE_HD u64 residue(const Fp64& a, const Prime& p) const {
        return a.store(a.mul(high, p.shift_50) + (a.mul(middle, p.shift_25) + low));
    }
};
