// The arithmetics of the transforms. Both leave the same canonical residues.
#pragma once
#include "modular.cuh"

// Residues of a prime below 2^50 + 2^44 as float64. A product is exact: h = x w rounded, l its error, b the rounded quotient, and
// h - b q + l is an integer below 2^53. b is off by at most 3 |x w| 2^-53 / q + 1/2: where |x| <= 8q and |w| <= q / 2, the product
// is at most 2.1q in magnitude, and where |x| <= 4q and |w| <= q (a root made by a product), 2.1q again; values may grow to 2^53
// between reductions, which is 7.87q at least, and 8q below 2^50. (One float64 instruction each: no contraction changes them.)
struct Fp64 {
    typedef double Value;
    typedef double Root;
    static constexpr bool FLOAT = true;
    static constexpr bool DERIVES = true; // a product of roots is a root to multiply by

    double q, q_inverse;

    HE_HD explicit Fp64(const Prime& p) : q(p.q_double), q_inverse(p.q_inverse) {}
    HE_HD Fp64(double q, double q_inverse) : q(q), q_inverse(q_inverse) {}

    // A canonical residue: below 2^52, its bits are those of 2^52 + x but for the exponent.
    HE_HD Value load(u64 x) const { return __longlong_as_double((i64)(x | 0x4330000000000000ull)) - 4503599627370496.0; }
    // The same of a residue's low 32 bits and the bits above them.
    HE_D Value load(u32 low, u32 high) const { return load((u64)high << 32 | low); }
    HE_HD u64 store(Value x) const {
        x = relax(x);
        x = x < 0.0 ? x + q : x;
        return (u64)__double_as_longlong(x + 4503599627370496.0) & 0x000fffffffffffffull;
    }
    // Between two kernels of one transform.
    HE_HD static Value unpack(u64 x) { return __longlong_as_double((i64)x); }
    HE_HD static u64 pack(Value x) { return (u64)__double_as_longlong(x); }

    HE_HD Value mul(Value x, Root w) const {
        double h = x * w;
        double l = fma(x, w, -h);
        double b = rint(h * q_inverse);
        return fma(-b, q, h) + l;
    }
    // To at most q / 2 in magnitude.
    HE_HD Value relax(Value x) const { return fma(-rint(x * q_inverse), q, x); }
    // Whether a forward transform of up to 17 stages needs no reduction on its way: a stage adds at most 1.3q, and 24q are below 2^52.
    HE_HD bool is_narrow() const { return q < 0x1p47; }
    // Whether 8q, to which the sums of four stages of an inverse transform grow, is above 2^53.
    HE_HD bool outgrows() const { return q > 0x1p50; }

    HE_HD void forward(Value& x, Value& y, Root w) const {
        double v = mul(y, w);
        y = x - v;
        x = x + v;
    }
    HE_HD void inverse(Value& x, Value& y, Root w) const {
        double d = x - y;
        x = x + y;
        y = mul(d, w);
    }
    // The last butterfly of an inverse transform: the factor of the whole is in both.
    HE_HD void inverse_last(Value& x, Value& y, const Factor& c, const Factor& last) const {
        double d = x - y;
        x = mul(x + y, c.centered);
        y = mul(d, last.centered);
    }
    // (acc - x) f, at most .9q in magnitude.
    HE_HD Value scaled_difference(u64 acc, Value x, const Factor& f) const { return mul(load(acc) - relax(x), f.centered); }
};

// Residues of any prime below 2^61 as words in [0, 4q) forward and [0, 2q) back (Harvey).
struct U64 {
    typedef u64 Value;
    typedef ulonglong2 Root;
    static constexpr bool FLOAT = false;
    static constexpr bool DERIVES = false; // it would lack its quotient

    u64 q, minus_q, q2;

    HE_HD explicit U64(const Prime& p) : q(p.q), minus_q(p.minus_q), q2(2 * p.q) {}

    HE_HD Value load(u64 x) const { return x; }
    HE_HD u64 store(Value x) const { return reduce_once(reduce_once(x, q2), q); }
    HE_HD static Value unpack(u64 x) { return x; }
    HE_HD static u64 pack(Value x) { return x; }
    HE_HD Value relax(Value x) const { return x; }
    HE_HD bool is_narrow() const { return true; }
    HE_HD bool outgrows() const { return false; }

    HE_HD void forward(Value& x, Value& y, Root w) const {
        u64 u = reduce_once(x, q2);
        u64 v = mul_lazy(y, w.x, w.y, minus_q);
        x = u + v;
        y = u + q2 - v;
    }
    HE_HD void inverse(Value& x, Value& y, Root w) const {
        u64 d = x + q2 - y;
        x = reduce_once(x + y, q2);
        y = mul_lazy(d, w.x, w.y, minus_q);
    }
    HE_HD void inverse_last(Value& x, Value& y, const Factor& c, const Factor& last) const {
        u64 d = x + q2 - y;
        x = mul_lazy(x + y, c.value, c.quotient, minus_q);
        y = mul_lazy(d, last.value, last.quotient, minus_q);
    }
    HE_HD Value scaled_difference(u64 acc, Value x, const Factor& f) const {
        return reduce_once(mul_lazy(acc + q - store(x), f.value, f.quotient, minus_q), q);
    }
};
