// Blind rotations of he_core::tfhe: what their kernels share.
#pragma once
#include "tfhe_transform.cuh"

typedef unsigned short u16;

// Mirrored by `tfhe::RotateArgs`.
struct RotateArgs {
    const u64* src;       // small ciphertexts, [ciphertext][n + 1]
    const u64* tables;    // [table][N]
    const u64* which;     // the table of each ciphertext
    const double2* key;   // [i][component][row][slot]; bundles: [i][ciphertext][component][row][slot]
    const double2* roots; // w_t, t < M
    u64* dst;             // large ciphertexts, [function][ciphertext][k N + 1]
    u64* scratch;         // any degree: working memory, a part for each block
    u64 offset;           // of the gadget
    double zero;          // 2^52 + B/2
    u32 count, n, components, levels, base_log, log_n;
    u32 step;             // between coefficients that are extracted, N / functions
    u32 results;          // ciphertexts of each function in dst
    u32 group;            // bits of a bundle, or 1: the key itself
    u32 unused;
};

// Part of the centred body that a mask word's rounding leaves, in units of 2^-32; the word becomes its multiple of 1/2N.
HE_HD u64 tfhe_switch_word(u64 word, u32 log_2n, u16& power) {
    u32 shift = 32 - log_2n;
    u64 rounded = (word + (1ull << (shift - 1))) >> shift;
    power = (u16)(rounded & ((1ull << log_2n) - 1));
    return word - (rounded << shift);
}

// Modulus switch to 2N of a ciphertext by `threads` threads: powers of the mask; their errors' sum goes to `errors`, which is 0 before.
HE_D void tfhe_switch_mask(const RotateArgs& a, const u64* words, u16* powers, u64* errors, u32 thread, u32 threads) {
    u64 sum = 0;
    for (u32 i = thread; i < a.n; i += threads) sum += tfhe_switch_word(words[i], a.log_n + 1, powers[i]);
    atomicAdd(errors, sum);
}

// The errors' sum alone.
HE_D void tfhe_switch_errors(const RotateArgs& a, const u64* words, u64* errors, u32 thread, u32 threads) {
    u64 sum = 0;
    u16 power;
    for (u32 i = thread; i < a.n; i += threads) sum += tfhe_switch_word(words[i], a.log_n + 1, power);
    atomicAdd(errors, sum);
}

// That of its body.
HE_HD u32 tfhe_switch_body(const RotateArgs& a, u64 body, u64 errors) {
    u32 log_2n = a.log_n + 1;
    u64 centred = body - (u64)((i64)errors >> 1) + (1ull << (31 - log_2n));
    return (u32)(centred >> (32 - log_2n)) & ((1u << log_2n) - 1);
}

// Coefficient m of X^power p.
HE_HD u64 tfhe_rotated(const u64* p, u32 m, u32 power, u32 log_n) {
    u32 from = m - power;
    u64 sign = 0 - (u64)(from >> log_n & 1);
    return (p[from & ((1u << log_n) - 1)] ^ sign) - sign;
}

// Coefficient m of X^power acc - acc, with the offset.
template <class A>
HE_HD u64 tfhe_difference(const A& a, const u64* acc, u32 m, u32 power, u32 log_n) {
    return tfhe_rotated(acc, m, power, log_n) - acc[m] + a.offset;
}

// Offset of coefficient m of an accumulator that a bundle multiplies: ties round up at even places, down at odd ones.
HE_HD u64 tfhe_alternating_offset(const RotateArgs& a, u32 m) { return a.offset - (m & 1); }

// Digit j = 1, 2, ... of a word to which the offset was added. A word below 2^52 in the mantissa of 2^52 is a double without conversion.
template <class A>
HE_HD double tfhe_digit(const A& a, u64 shifted, u32 j) {
    u64 digit = shifted >> (64 - j * a.base_log) & ((1ull << a.base_log) - 1);
    return __dsub_rn(__longlong_as_double((i64)(digit | 0x4330000000000000ull)), a.zero);
}

// The only digit of a word, that is, the first: of at most 28 bits.
HE_HD double tfhe_single_digit(const RotateArgs& a, u64 shifted) {
    u32 digit = (u32)(shifted >> 32) >> (32 - a.base_log);
    return __dsub_rn(__longlong_as_double((i64)(0x4330000000000000ull | digit)), a.zero);
}

// The fraction of p in units of 2^-64, rounded to 52 bits.
HE_HD u64 tfhe_word(double p) {
    constexpr double ROUND = 6755399441055744.0;
    double fraction = __dsub_rn(p, __dsub_rn(__dadd_rn(p, ROUND), ROUND));
    return (u64)__double_as_longlong(__fma_rn(fraction, 4503599627370496.0, ROUND)) - 0x4338000000000000ull << 12;
}

// Word i of component r of the constant coefficient's ciphertext: that of A S is a_0 s_0 - sum over j > 0 of a_(N - j) s_j.
HE_D u64 tfhe_extracted(const u64* acc, u32 i, u32 log_n) { return i == 0 ? acc[0] : 0 - acc[(1u << log_n) - i]; }

// A component's words of a ciphertext's results: coefficient h of A S is the sum over j of coefficient h of X^j A times s_j. The first result apart, and the
// others in loops: the rotation before it is then compiled as if there were no others (4 % of a single lookup).
HE_D void tfhe_extract(const RotateArgs& a, const u64* acc, u32 ciphertext, u32 component, u32 components, u32 log_n, u32 thread, u32 threads) {
    size_t width = ((size_t)(components - 1) << log_n) + 1;
    u64* dst = a.dst + ciphertext * width + ((size_t)component << log_n);
    u32 words = component + 1 == components ? 1 : 1u << log_n;
    for (u32 m = thread; m < words; m += threads) dst[m] = tfhe_extracted(acc, m, log_n);
#pragma unroll 1
    for (u32 place = a.step; place < 1u << log_n; place += a.step) {
        dst += a.results * width;
#pragma unroll 1
        for (u32 m = thread; m < words; m += threads) dst[m] = tfhe_rotated(acc, place, m, log_n);
    }
}
