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
    // The canonical residue; `shifts` are 2^25 and 2^50 modulo the prime. Before it is reduced, the number is at most 5q in magnitude.
    HE_HD u64 residue(const Fp64& a, const double2& shifts) const {
        return a.store(a.mul(high, shifts.y) + (a.mul(middle, shifts.x) + low));
    }
};

// The conversion from at most FEW_SOURCES primes to target j, source by source for some coefficients at a time.
constexpr u32 FEW_SOURCES = 4;

template <class A>
struct FewConversion;

// To a short prime, in float64.
template <>
struct FewConversion<Fp64> {
    // Of one source.
    struct Constants {
        double reciprocal, hat;
    };
    struct Sum {
        double overflow, value; // the number of times that D is too much, and the sum without it
    };
    const double* reciprocal;
    const double2* hat;
    double minus, shift; // -D and 2^25, of least magnitude
    bool alone;          // whether there is one source

    HE_HD static double join(const double2& parts) { return fma(parts.x, 0x1p25, parts.y); }

    HE_D FewConversion(const Basis& basis, u32 j, const Prime& p)
        : reciprocal(in_global(basis.reciprocal)), hat(in_global(basis.hat_parts) + (size_t)j * basis.count),
          minus(join(in_global(basis.minus_parts)[j])), shift(p.shift_25), alone(basis.count == 1) {}

    HE_HD Constants constants(u32 i) const { return Constants{reciprocal[i], join(hat[i])}; }

    // The products are at most 5/4 q in magnitude, since the y of sources below 2^52 are multiplied as they are. Larger ones come in two
    // parts, of which the higher is below 2^36: the quotient of its product with 2^25 is off by less than 1/2 + 2^-16.
    template <u32 COUNT>
    HE_HD void add(const Constants& c, const u64 (&y)[COUNT], const Fp64& a, Sum (&sum)[COUNT]) const {
        if (c.reciprocal < 0x1p-52) {
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) {
                double high = a.load(y[k] >> 25), low = a.load(y[k] & 0x1ffffff);
                sum[k].overflow = __dadd_rn(sum[k].overflow, __dmul_rn(fma(high, 0x1p25, low), c.reciprocal));
                sum[k].value += a.mul(a.mul(high, shift) + low, c.hat);
            }
        } else if (alone && c.hat == 1.0) {
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) {
                sum[k].value = a.load(y[k]);
                sum[k].overflow = __dmul_rn(sum[k].value, c.reciprocal);
            }
        } else {
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) {
                double v = a.load(y[k]);
                sum[k].overflow = __dadd_rn(sum[k].overflow, __dmul_rn(v, c.reciprocal));
                sum[k].value += a.mul(v, c.hat);
            }
        }
    }
    // Of least magnitude: the sum is 5q and the multiple of D 2q in magnitude, at most, or the one source's y as it is.
    HE_HD double value(const Sum& sum, const Fp64& a) const { return a.relax(fma(rint(sum.overflow), minus, sum.value)); }
};

// To a wide one.
template <>
struct FewConversion<U64> {
    struct Constants {
        double reciprocal;
        u64 hat, quotient; // the quotient of hat 2^64 by q, or one less
    };
    struct Sum {
        double overflow;
        u64 value;
    };
    const double* reciprocal;
    const u64* hat;
    u64 minus, ratio_high, ratio_low;
    double q_inverse;
    bool alone;

    HE_D FewConversion(const Basis& basis, u32 j, const Prime& p)
        : reciprocal(in_global(basis.reciprocal)), hat(in_global(basis.hat) + (size_t)j * basis.count),
          minus(in_global(basis.minus_product)[j]), ratio_high(p.ratio_high), ratio_low(p.ratio_low), q_inverse(p.q_inverse),
          alone(basis.count == 1) {}

    HE_HD Constants constants(u32 i) const {
        u64 h = hat[i];
        return Constants{reciprocal[i], h, h * ratio_high + __umul64hi(h, ratio_low)};
    }

    // The products are below 5/4 q, since y is below 2^61.
    template <u32 COUNT>
    HE_HD void add(const Constants& c, const u64 (&y)[COUNT], const U64& a, Sum (&sum)[COUNT]) const {
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k)
            sum[k].overflow = __dadd_rn(sum[k].overflow, __dmul_rn(__ull2double_rn(y[k]), c.reciprocal));
        if (alone && c.hat == 1 && c.reciprocal > q_inverse) { // y < d < q
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) sum[k].value = y[k];
        } else {
#pragma unroll
            for (u32 k = 0; k < COUNT; ++k) sum[k].value += mul_lazy(y[k], c.hat, c.quotient, a.minus_q);
        }
    }
    // Below 4q.
    HE_HD u64 value(const Sum& sum, const U64& a) const {
        u64 multiple = reduce_once((u64)__double2ull_rn(sum.overflow) * minus, a.q2);
        return reduce_once(reduce_once(sum.value, 2 * a.q2) + multiple, a.q2);
    }
};
