// Circuit bootstrapping of he_core::tfhe: what its kernels share.
#pragma once
#include "tfhe.cuh"

// Mirrored by `circuit::GgswArgs`.
struct GgswArgs {
    const u64* src;       // large ciphertexts, [digit][sample][k N + 1]
    const double2* key;   // [log2 N automorphisms, then k products][component][row][slot]
    const double2* roots; // w_t, t < M
    double2* dst;         // [sample][component][row][slot]
    u64* scratch;         // any degree: working memory, a part for each block; null: shared memory
    u64 offset;           // of the switch's gadget
    double zero;          // 2^52 + B/2
    double scale;         // 2^-64 / M
    u32 samples, components, levels, base_log, log_n;
    u32 digits, digit_log; // of the selection
    u32 unused;
};

// Mirrored by `circuit::SelectArgs`. blockIdx.x: an index; y: a table.
struct SelectArgs {
    const double2* ggsw;  // [index][bit][component][row][slot]
    const u64* tables;    // [table][N]
    const double2* roots;
    u64* dst;             // large ciphertexts, [index][output]
    u64* scratch;
    u64 offset;           // of the selection's gadget
    double zero;
    u32 bits, outputs, components, levels, base_log, log_n;
};

// Coefficient m of the image of p under X^g, with the inverse of g.
HE_HD u64 circuit_image(const u64* p, u32 m, u32 inverse, u32 log_n) {
    u32 from = m * inverse;
    u64 sign = 0 - (u64)(from >> log_n & 1);
    return (p[from & ((1u << log_n) - 1)] ^ sign) - sign;
}

// The inverse of g = N / 2^i + 1 modulo 2N.
HE_HD u32 circuit_inverse(u32 i, u32 log_n) {
    u32 g = (1u << log_n >> i) + 1, inverse = g;
    for (u32 step = 0; step < 4; ++step) inverse *= 2 - g * inverse;
    return inverse;
}

// Word t of the components of digit `digit` (0, 1, ...) of a sample, divided by N: the ciphertext whose constant coefficient it is.
HE_HD u64 circuit_start(const GgswArgs& a, u32 sample, u32 digit, u32 t) {
    u32 k = a.components - 1, n = 1u << a.log_n, r = t >> a.log_n, j = t & (n - 1);
    const u64* src = a.src + ((size_t)digit * a.samples + sample) * (((size_t)k << a.log_n) + 1);
    u64 word = 0;
    if (r == k) {
        if (j == 0) word = src[(size_t)k << a.log_n] + (1ull << (63 - (digit + 1) * a.digit_log));
    } else {
        word = j == 0 ? src[(size_t)r << a.log_n] : 0 - src[((size_t)r << a.log_n) + n - j];
    }
    return (word + (n >> 1)) >> a.log_n;
}

// A word of the key's form.
HE_HD double2 circuit_value(u64 re, u64 im, double scale) {
    return make_double2(__dmul_rn(__ll2double_rn((i64)re), scale), __dmul_rn(__ll2double_rn((i64)im), scale));
}

// The outputs of an index from one table: the first coefficients of the accumulators.
HE_D void circuit_extract(const SelectArgs& a, const u64* acc) {
    u32 log_n = a.log_n, n = 1u << log_n, k = a.components - 1, entry = n >> a.bits;
    size_t width = ((size_t)k << log_n) + 1;
    u32 first = blockIdx.y * entry, outputs = min(entry, a.outputs - first);
    u64* dst = a.dst + ((size_t)blockIdx.x * a.outputs + first) * width;
    for (u32 t = threadIdx.x; t < outputs << log_n; t += blockDim.x) {
        u32 place = t >> log_n, j = t & (n - 1);
        for (u32 c = 0; c < k; ++c) dst[place * width + ((size_t)c << log_n) + j] = tfhe_rotated(acc + ((size_t)c << log_n), place, j, log_n);
        if (j == 0) dst[place * width + ((size_t)k << log_n)] = acc[((size_t)k << log_n) + place];
    }
}
