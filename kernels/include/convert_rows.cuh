// Base conversions of rows of coefficients from up to ten short primes in float64, two coefficients per thread, and of words of any width.
#pragma once
#include "convert.cuh"

constexpr u32 CONVERT_SOURCES = 8; // held in registers; more are read again for each target

// The number of times that D was too much.
HE_D double overflow_of(const Basis& basis, const u64* src, size_t stride) {
    double sum = 0.0;
    for (u32 i = 0; i < (u32)basis.count; ++i) {
        sum = __dadd_rn(sum, __dmul_rn(__ull2double_rn(src[i * stride]), basis.reciprocal[i]));
    }
    return rint(sum);
}

// Targets modulo primes of any width.
HE_D void convert_words(const ConvertArgs& a, const Basis& basis, const u64* src, u64* dst, size_t stride, bool wide_targets_only) {
    u64 y[CONVERT_SOURCES];
    u32 count = (u32)basis.count;
#pragma unroll
    for (u32 i = 0; i < CONVERT_SOURCES; ++i) y[i] = i < count ? src[i * stride] : 0;
    u64 overflow = (u64)__double2ull_rn(overflow_of(basis, src, stride));
    for (u32 j = 0; j < a.targets; ++j) {
        if (a.skip_own && j < a.grid.limbs.split && j >= basis.own_first && j < basis.own_first + basis.own_count) continue;
        const Prime& p = a.grid.primes[prime_of(a.grid.limbs, j)];
        if (wide_targets_only && p.is_short) continue;
        const u64* hat = basis.hat + (size_t)j * count;
        Wide total{0, 0};
        multiply_add(total, overflow, basis.minus_product[j]);
#pragma unroll
        for (u32 i = 0; i < CONVERT_SOURCES; ++i) {
            if (i < count) multiply_add(total, y[i], hat[i]);
        }
        for (u32 i = CONVERT_SOURCES; i < count; ++i) multiply_add(total, src[i * stride], hat[i]);
        dst[j * stride] = reduce_wide(total.low, total.high, p);
    }
}

// What a short target takes of its constants, in shared memory: hats, -D, q and 1 / q, 2^25 and 2^50.
template <u32 COUNT>
struct PartsRow {
    double2 hat[COUNT], minus, prime, shifts;
};

// Targets modulo short primes, from COUNT short primes, of two neighbouring coefficients. True if wide ones are left.
template <u32 COUNT>
HE_D bool convert_parts(const ConvertArgs& a, const Basis& basis, const u64* src, u64* dst, size_t stride, bool inside) {
    SHARED(PartsRow<COUNT>, rows);
    // The digit's own targets are left out: targets 0 ... first, then those from `next` on.
    u32 first = a.skip_own ? (u32)basis.own_first : a.targets, next = a.skip_own ? first + (u32)basis.own_count : a.targets;
    u32 count = first + (next < a.targets ? a.targets - next : 0);
    for (u32 i = threadIdx.x; i < count * (COUNT + 1); i += ROW_THREADS) {
        u32 row = i / (COUNT + 1), k = i - row * (COUNT + 1), j = row < first ? row : row - first + next;
        if (k < COUNT) {
            rows[row].hat[k] = basis.hat_parts[j * COUNT + k];
        } else {
            const Prime& p = a.grid.primes[prime_of(a.grid.limbs, j)];
            rows[row].minus = basis.minus_parts[j];
            // A wide prime has no 1 / q here: its targets are computed elsewhere.
            rows[row].prime = make_double2(p.q_double, p.is_short ? p.q_inverse : 0.0);
            rows[row].shifts = make_double2(p.shift_25, p.shift_50);
        }
    }
    ulonglong2 words[COUNT];
#pragma unroll
    for (u32 i = 0; i < COUNT; ++i) words[i] = inside ? load2(src + i * stride) : make_ulonglong2(0, 0);
    Split y[COUNT], z[COUNT];
    double overflow_y = 0.0, overflow_z = 0.0;
#pragma unroll
    for (u32 i = 0; i < COUNT; ++i) {
        y[i] = split(words[i].x);
        z[i] = split(words[i].y);
        double reciprocal = basis.reciprocal[i];
        overflow_y = __dadd_rn(overflow_y, __dmul_rn(__ull2double_rn(words[i].x), reciprocal));
        overflow_z = __dadd_rn(overflow_z, __dmul_rn(__ull2double_rn(words[i].y), reciprocal));
    }
    overflow_y = rint(overflow_y);
    overflow_z = rint(overflow_z);
    __syncthreads();
    if (!inside) return false;
    bool left = false;
    for (u32 i = 0; i < count; ++i) {
        const PartsRow<COUNT>& row = rows[i];
        double2 minus = row.minus, prime = row.prime, shifts = row.shifts;
        if (prime.y == 0.0) {
            left = true;
            continue;
        }
        SplitSum sum_y{0.0, overflow_y * minus.x, overflow_y * minus.y};
        SplitSum sum_z{0.0, overflow_z * minus.x, overflow_z * minus.y};
#pragma unroll
        for (u32 k = 0; k < COUNT; ++k) {
            double2 hat = row.hat[k];
            sum_y.add(y[k], hat);
            sum_z.add(z[k], hat);
        }
        Fp64 arithmetic(prime.x, prime.y);
        u32 j = i < first ? i : i - first + next;
        store2(dst + j * stride, sum_y.residue(arithmetic, shifts), sum_z.residue(arithmetic, shifts));
    }
    return left;
}

HE_D void convert_few(const ConvertArgs& a, u32 part) {
    u32 entry = blockIdx.x >> a.grid.log_chunks;
    u32 k = ((blockIdx.x & ((1u << a.grid.log_chunks) - 1)) * ROW_THREADS + threadIdx.x) * 2;
    bool inside = k < (1u << a.grid.log_n);
    const Basis& basis = a.bases[part >> 1][blockIdx.y];
    size_t stride = (size_t)a.grid.limbs.batch << a.grid.log_n, at = ((size_t)entry << a.grid.log_n) + k;
    const u64* src = a.src[part] + basis.first * stride + at;
    u64* dst = a.dst[part] + blockIdx.y * a.dst_digit + at;
    bool left = true;
    u32 count = basis.is_short ? (u32)basis.count : 0;
    switch (count) {
        case 1: left = convert_parts<1>(a, basis, src, dst, stride, inside); break;
        case 2: left = convert_parts<2>(a, basis, src, dst, stride, inside); break;
        case 3: left = convert_parts<3>(a, basis, src, dst, stride, inside); break;
        case 4: left = convert_parts<4>(a, basis, src, dst, stride, inside); break;
        case 5: left = convert_parts<5>(a, basis, src, dst, stride, inside); break;
        case 6: left = convert_parts<6>(a, basis, src, dst, stride, inside); break;
        case 7: left = convert_parts<7>(a, basis, src, dst, stride, inside); break;
        case 8: left = convert_parts<8>(a, basis, src, dst, stride, inside); break;
        case 9: left = convert_parts<9>(a, basis, src, dst, stride, inside); break;
        case 10: left = convert_parts<10>(a, basis, src, dst, stride, inside); break;
        default: count = 0;
    }
    if (left && inside) {
        convert_words(a, basis, src, dst, stride, count != 0);
        convert_words(a, basis, src + 1, dst + 1, stride, count != 0);
    }
}
