// Exact conversion between sets of primes (he_core::ring::BaseConversion).
#pragma once
#include "policy.cuh"

// The conversion from the limbs first ... first + count of a buffer; mirrored by `constants::Basis`. Where the sources are a digit of a
// key switch, targets own_first ... own_first + own_count are among them: all of them, or those that this device of a group has.
struct Basis {
    const double* reciprocal;    // 1 / d_i
    const u64* hat;              // D / d_i modulo target j, at j count + i
    const u64* minus_product;    // -D modulo target j
    const double2* hat_parts;    // hat, its representative of least magnitude in parts: 2^25 x + y, |y| <= 2^24
    const double2* minus_parts;  // likewise
    const u64* bytes;            // of convert_columns.cuh, or none
    u64 first, count;
    u64 own_first, own_count;
    u64 is_short;                // all source primes are short
};

// The conversion from one prime: it is its own y, and D is itself.
struct SingleConversion {
    double reciprocal;
    u64 minus;

    HE_HD SingleConversion(const Basis& basis, u32 j, const Prime&)
        : reciprocal(basis.reciprocal[0]), minus(basis.minus_product[j]) {}
    HE_HD u64 residue(u64 x, const Prime& p) const {
        bool above = rint(__dmul_rn(__ull2double_rn(x), reciprocal)) != 0.0;
        return add_mod(reduce_word(x, p), above ? minus : 0, p.q);
    }
};

// The residues modulo target j of COUNT coefficients, from the y of all source limbs, `stride` words apart.
template <u32 COUNT>
HE_HD void convert(const Basis& basis, const u64* y, size_t stride, const size_t* at, u32 j, const Prime& p, u64* out) {
    const u64* hat = basis.hat + (size_t)j * basis.count;
    double overflow[COUNT];
    Wide sum[COUNT];
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        overflow[k] = 0.0;
        sum[k] = Wide{0, 0};
    }
    for (u32 i = 0; i < (u32)basis.count; ++i) {
        u64 h = hat[i];
        double reciprocal = basis.reciprocal[i];
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) {
            u64 term = y[i * stride + at[k]];
            overflow[k] = __dadd_rn(overflow[k], __dmul_rn(__ull2double_rn(term), reciprocal));
            multiply_add(sum[k], term, h);
        }
    }
    u64 minus = basis.minus_product[j];
#pragma unroll
    for (u32 k = 0; k < COUNT; ++k) {
        multiply_add(sum[k], (u64)__double2ull_rn(overflow[k]), minus);
        out[k] = reduce_wide(sum[k].low, sum[k].high, p);
    }
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

    // After ten terms: carries, and the high sum modulo the prime, so that ten more fit.
    HE_HD void carry(const Fp64& a) {
        double c = rint(low * 0x1p-25);
        low = fma(c, -0x1p25, low);
        middle = middle + c;
        c = rint(middle * 0x1p-25);
        middle = fma(c, -0x1p25, middle);
        high = a.relax(high + c);
    }

    HE_HD void add(const Split& y, const double2& h) {
        high = fma(y.high, h.x, high);
        middle = fma(y.high, h.y, middle);
        middle = fma(y.low, h.x, middle);
        low = fma(y.low, h.y, low);
    }
    // The number modulo the prime, at most 5q in magnitude; `shifts` are 2^25 and 2^50 modulo the prime.
    HE_HD double value(const Fp64& a, const double2& shifts) const {
        return a.mul(high, shifts.y) + (a.mul(middle, shifts.x) + low);
    }
    // The canonical residue.
    HE_HD u64 residue(const Fp64& a, const double2& shifts) const { return a.store(value(a, shifts)); }
};

// The conversion from at most SHORT_SOURCES short primes to a short one, its constants in registers; missing sources count as zeros.
constexpr u32 SHORT_SOURCES = 4;

struct ShortConversion {
    double2 hat[SHORT_SOURCES], minus, shifts;
    double reciprocal[SHORT_SOURCES];
    u32 sources;

    HE_D ShortConversion(const Basis& basis, u32 j, const Prime& p)
        : minus(basis.minus_parts[j]), shifts(make_double2(p.shift_25, p.shift_50)), sources((u32)basis.count) {
        const double2* parts = basis.hat_parts + (size_t)j * sources;
#pragma unroll
        for (u32 i = 0; i < SHORT_SOURCES; ++i) {
            hat[i] = i < sources ? parts[i] : make_double2(0.0, 0.0);
            reciprocal[i] = i < sources ? basis.reciprocal[i] : 0.0;
        }
    }
    // The y of a coefficient's sources, `stride` words apart.
    HE_D void load(const u64* src, size_t stride, u64* y) const {
#pragma unroll
        for (u32 i = 0; i < SHORT_SOURCES; ++i) y[i] = i < sources ? src[i * stride] : 0;
    }
    // Of least magnitude, from these.
    HE_D double value(const u64* y, const Fp64& a) const {
        double overflow = 0.0;
#pragma unroll
        for (u32 i = 0; i < SHORT_SOURCES; ++i) overflow = __dadd_rn(overflow, __dmul_rn(a.load(y[i]), reciprocal[i]));
        overflow = rint(overflow);
        SplitSum sum{0.0, overflow * minus.x, overflow * minus.y};
#pragma unroll
        for (u32 i = 0; i < SHORT_SOURCES; ++i) sum.add(split(y[i]), hat[i]);
        return a.relax(sum.value(a, shifts));
    }
};
