// Residues as 64-bit words: the constants of a prime, and integer arithmetic that is the same on host and device.
#pragma once
#include "launch.cuh"

// Constants of one prime; mirrored by `constants::Prime`.
struct Prime {
    u64 q;
    u64 minus_q;  // modulo 2^64: read, since compilers make of a product with a negated number one instruction more
    u64 is_short; // below 2^50 + 2^44, and the device's float64 is fast: transforms in float64
    u64 unused;
    double q_double, q_inverse;
    const void* roots; // of the transform: double, or ulonglong2 (value, Shoup quotient)
    const void* inverse_roots;
    u64 ratio_high, ratio_low; // floor(2^128 / q)
    double shift_25, shift_50; // 2^25 and 2^50 modulo q, of least magnitude
};

// A factor of one prime with what each arithmetic needs of it; mirrored by `constants::Factor`.
struct Factor {
    u64 value, quotient; // quotient = floor(value 2^64 / q)
    double centered;     // the representative of least magnitude
};

// Rows [limb][batch]; limb i has prime start + i of the ring if i < split, else special prime chain + i - split.
struct Limbs {
    u32 start, split, chain, batch;
};

HE_HD u32 prime_of(const Limbs& limbs, u32 limb) {
    return limb < limbs.split ? limbs.start + limb : limbs.chain + limb - limbs.split;
}

// x mod q of x < 2q, where q is at most 2^63: the sign of the difference is one comparison of 32 bits.
HE_HD u64 reduce_once(u64 x, u64 q) {
    u64 less = x - q;
    return (i64)less < 0 ? x : less;
}

HE_HD u64 add_mod(u64 a, u64 b, u64 q) { return reduce_once(a + b, q); }
HE_HD u64 sub_mod(u64 a, u64 b, u64 q) { return reduce_once(a + q - b, q); }
HE_HD u64 neg_mod(u64 a, u64 q) { return reduce_once(q - a, q); }

// x mod q of any 128-bit x (Barrett).
HE_HD u64 reduce_wide(u64 low, u64 high, const Prime& p) {
    u64 a = __umul64hi(low, p.ratio_low);
    u64 b = high * p.ratio_low, c = low * p.ratio_high;
    u64 middle = a + b;
    u64 carry = (middle < a) + __umul64hi(high, p.ratio_low);
    u64 sum = middle + c;
    carry += (sum < c) + __umul64hi(low, p.ratio_high);
    u64 estimate = high * p.ratio_high + carry;
    return reduce_once(low - estimate * p.q, p.q);
}

HE_HD u64 mul_mod(u64 a, u64 b, const Prime& p) { return reduce_wide(a * b, __umul64hi(a, b), p); }

// x mod q of any word.
HE_HD u64 reduce_word(u64 x, const Prime& p) { return reduce_once(x - __umul64hi(x, p.ratio_high) * p.q, p.q); }

// a w in [0, 2q) for any word a (Shoup).
HE_HD u64 mul_lazy(u64 a, u64 w, u64 quotient, u64 minus_q) { return a * w + __umul64hi(a, quotient) * minus_q; }

HE_HD u64 mul_factor(u64 a, const Factor& f, u64 q) { return reduce_once(mul_lazy(a, f.value, f.quotient, 0 - q), q); }

// A two's-complement word modulo q.
HE_HD u64 reduce_signed_word(i64 x, const Prime& p) {
    u64 magnitude = reduce_word(x < 0 ? 0 - (u64)x : (u64)x, p);
    return x < 0 ? neg_mod(magnitude, p.q) : magnitude;
}

// A sum of products that is reduced once.
struct Wide {
    u64 low, high;
};

HE_HD void multiply_add(Wide& sum, u64 a, u64 b) {
    u64 low = a * b;
    sum.low += low;
    sum.high += __umul64hi(a, b) + (sum.low < low);
}
