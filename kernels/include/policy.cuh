// The arithmetics of the transforms. Both leave the same canonical residues.
#pragma once
#include "modular.cuh"

// The pairs of registers that stage S of the STAGES of a pass joins, in 2^S blocks, each of which has a root.
template <u32 STAGES, u32 S>
struct Pairs {
    static constexpr u32 BLOCKS = 1 << S, DISTANCE = 1 << (STAGES - S - 1), COUNT = 1 << (STAGES - 1);
    HE_HD static constexpr u32 first(u32 i) { return i / DISTANCE * 2 * DISTANCE + i % DISTANCE; }
    HE_HD static constexpr u32 second(u32 i) { return first(i) + DISTANCE; }
    // Calls `butterfly` with both registers of each pair and the root of its block.
    template <class Value, class ReadRoot, class Butterfly>
    HE_HD static void each(Value* x, const ReadRoot& root, const Butterfly& butterfly) {
#pragma unroll
        for (u32 block = 0; block < BLOCKS; ++block) {
            auto w = root(block);
#pragma unroll
            for (u32 i = block * DISTANCE; i < (block + 1) * DISTANCE; ++i) butterfly(x[first(i)], x[second(i)], w);
        }
    }
};

// Residues of a prime below 2^50 + 2^44 as float64. A product is exact: h = x w rounded, l its error, b the rounded quotient, and
// h - b q + l is an integer below 2^53. b is off by at most 3 |x w| 2^-53 / q + 1/2: where |w| <= .655q, a product is at most
// q / 2 + |x| / 4 in magnitude, and that of canonical residues is at most .9q. (Roots are at most q / 2, and at most .654q if products of
// roots made them.) Values may grow to MOST q between reductions, which is below 2^53. (One float64 instruction each: no contraction
// changes them.)
struct Fp64 {
    typedef double Value;
    typedef double Root;
    static constexpr bool FLOAT = true;
    static constexpr bool DERIVES = true; // a product of roots is a root to multiply by
    // In multiples of q: what values may be, what they are between the passes of an inverse transform, and before its last stage. The factors
    // of that stage are at most q / 2, so that b is off by at most .191 |x| / q + 1/2: products are below q in magnitude.
    static constexpr double MOST = 7.875, BETWEEN = MOST / 4, LAST = 1.3125;

    double q, q_inverse;

    HE_HD explicit Fp64(const Prime& p) : q(p.q_double), q_inverse(p.q_inverse) {}
    HE_HD Fp64(double q, double q_inverse) : q(q), q_inverse(q_inverse) {}

    // A canonical residue: below 2^52, its bits are those of 2^52 + x but for the exponent.
    HE_HD Value load(u64 x) const { return __longlong_as_double((i64)(x | 0x4330000000000000ull)) - 4503599627370496.0; }
    // The same of a residue's low 32 bits and the bits above them.
    HE_D Value load(u32 low, u32 high) const { return load((u64)high << 32 | low); }
    // The residue of a value; with BY_BITS, its sign is that of its bits, since neither `relax` nor `mul` leaves a zero with a sign. That is
    // one float64 instruction in place of three: faster where the device is full, but not in transforms of few blocks.
    template <bool BY_BITS = false>
    HE_HD u64 store(Value x) const { return store_last<BY_BITS>(relax(x)); }
    // Of a value below q in magnitude, as the last stage of an inverse transform leaves them.
    template <bool BY_BITS = false>
    HE_HD u64 store_last(Value x) const {
        if constexpr (BY_BITS) {
            double bias = __double_as_longlong(x) < 0 ? q + 4503599627370496.0 : 4503599627370496.0;
            return (u64)__double_as_longlong(x + bias) & 0x000fffffffffffffull;
        }
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

    // Products of N values, each step for all of them before the next one. Registers are scarce meanwhile, so that compilers keep q and
    // its inverse in those that the threads of a warp share (uniform ones). A fused product takes two clocks then, and three if all of
    // its operands are in registers of the thread.
    template <u32 N>
    HE_HD void mul_each(Value (&x)[N], const Root (&w)[N]) const {
        double h[N], b[N];
#pragma unroll
        for (u32 i = 0; i < N; ++i) h[i] = x[i] * w[i];
#pragma unroll
        for (u32 i = 0; i < N; ++i) b[i] = rint(h[i] * q_inverse);
#pragma unroll
        for (u32 i = 0; i < N; ++i) x[i] = fma(x[i], w[i], -h[i]);
#pragma unroll
        for (u32 i = 0; i < N; ++i) x[i] = fma(-b[i], q, h[i]) + x[i];
    }

    // Before each pass of a forward transform but the first, what its first stage does not multiply is reduced. Since a stage adds at most
    // q / 2 and a quarter, values that are at most q when the first pass begins stay below 7.6q in passes of up to four stages.
    template <class P>
    HE_HD void reduce_addends(Value* x) const {
        if (is_narrow()) return;
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) x[P::first(i)] = relax(x[P::first(i)]);
    }
    // The butterflies of a stage; `root` reads the root of a block.
    template <class P, class ReadRoot>
    HE_HD void forward_stage(Value* x, const ReadRoot& root) const {
        Value y[P::COUNT];
        Root w[P::COUNT];
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) {
            y[i] = x[P::second(i)];
            w[i] = i % P::DISTANCE == 0 ? root(i / P::DISTANCE) : w[i - 1];
        }
        mul_each(y, w);
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) {
            x[P::second(i)] = x[P::first(i)] - y[i];
            x[P::first(i)] = x[P::first(i)] + y[i];
        }
    }

    // Inverse, sums grow to twice as much, and products are small again: after some stages of a pass the bits that belong to them, of the
    // number of a register, tell its bound. Which registers are above `most`, if what might exceed MOST is reduced before each stage:
    static constexpr double sum_bound(double bound) { return 2 * bound > MOST ? 1.0 : 2 * bound; }
    static constexpr u32 grown(u32 registers, u32 stages, double most) {
        u32 mask = 0;
        for (u32 r = 0; r < registers; ++r) {
            double bound = BETWEEN;
            for (u32 i = 0; i < stages; ++i) bound = (r >> i & 1) != 0 ? 0.5 + sum_bound(bound) / 4 : sum_bound(bound);
            if (bound > most) mask |= 1u << r;
        }
        return mask;
    }
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_before_stage(Value* x) const { reduce_some<grown(REGISTERS, STAGES, MOST / 2)>(x); }
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_before_last(Value* x) const { reduce_some<grown(REGISTERS, STAGES, LAST)>(x); }
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_after_pass(Value* x) const { reduce_some<grown(REGISTERS, STAGES, BETWEEN)>(x); }
    template <u32 MASK>
    HE_HD void reduce_some(Value* x) const {
#pragma unroll
        for (u32 r = 0; r < 32; ++r) {
            if (MASK >> r & 1) x[r] = relax(x[r]);
        }
    }
    template <class P, class ReadRoot>
    HE_HD void inverse_stage(Value* x, const ReadRoot& root) const {
        Value d[P::COUNT];
        Root w[P::COUNT];
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) {
            d[i] = x[P::first(i)] - x[P::second(i)];
            x[P::first(i)] = x[P::first(i)] + x[P::second(i)];
            w[i] = i % P::DISTANCE == 0 ? root(i / P::DISTANCE) : w[i - 1];
        }
        mul_each(d, w);
#pragma unroll
        for (u32 i = 0; i < P::COUNT; ++i) x[P::second(i)] = d[i];
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
    template <bool = false>
    HE_HD u64 store(Value x) const { return store_last(reduce_once(x, q2)); }
    // Of a value below 2q, likewise.
    template <bool = false>
    HE_HD u64 store_last(Value x) const { return reduce_once(x, q); }
    HE_HD static Value unpack(u64 x) { return x; }
    HE_HD static u64 pack(Value x) { return x; }
    HE_HD Value relax(Value x) const { return x; }

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
    // Butterflies reduce what they compute.
    template <class P>
    HE_HD void reduce_addends(Value*) const {}
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_before_stage(Value*) const {}
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_before_last(Value*) const {}
    template <u32 REGISTERS, u32 STAGES>
    HE_HD void reduce_after_pass(Value*) const {}
    template <class P, class ReadRoot>
    HE_HD void forward_stage(Value* x, const ReadRoot& root) const {
        P::each(x, root, [&](Value& a, Value& b, Root w) { forward(a, b, w); });
    }
    template <class P, class ReadRoot>
    HE_HD void inverse_stage(Value* x, const ReadRoot& root) const {
        P::each(x, root, [&](Value& a, Value& b, Root w) { inverse(a, b, w); });
    }
    HE_HD Value scaled_difference(u64 acc, Value x, const Factor& f) const {
        return reduce_once(mul_lazy(acc + q - store(x), f.value, f.quotient, minus_q), q);
    }
};
