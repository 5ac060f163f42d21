// TFHE: combinations, key switches, the key's transform, and blind rotations of any degree (he_core::tfhe::LweOps).
#include "include/tfhe_bundle.cuh"

constexpr u32 TFHE_THREADS = 256;

// Mirrored by `tfhe::CombineArgs`. One combination for each block.
struct CombineArgs {
    const u64* src;
    u64* dst;
    const u64* starts;    // first term of each combination, and the number of terms
    const u64* constants; // of each
    const u64* terms;     // factor, index
    u64 width;            // words of a ciphertext
};

KERNEL(tfhe_combine, CombineArgs, TFHE_THREADS, 1) {
    u64 from = a.starts[blockIdx.x], to = a.starts[blockIdx.x + 1];
    for (u32 m = threadIdx.x; m < a.width; m += blockDim.x) {
        u64 sum = m + 1 == a.width ? a.constants[blockIdx.x] : 0;
        for (u64 t = from; t < to; ++t) sum += a.terms[2 * t] * a.src[a.terms[2 * t + 1] * a.width + m];
        a.dst[blockIdx.x * a.width + m] = sum;
    }
}

// Mirrored by `tfhe::SwitchArgs`. blockIdx.x: a tile of ciphertexts; y: of columns; z: a share of the mask words.
struct SwitchArgs {
    const u64* src; // large ciphertexts
    const u32* key; // [mask word][level][n + 1]
    u64* dst;       // [ciphertext][n + 1], zeros
    u64 offset;     // of the gadget
    u32 count, dimension, width, levels, base_log, share;
};

constexpr u32 SWITCH_THREADS = 128, SWITCH_WORDS = 16;

// TILE ciphertexts by 2 SWITCH_THREADS columns of the product of digits and key. Shares add up in any order: integers.
// Shared memory: SWITCH_WORDS levels TILE digits.
template <u32 TILE>
HE_D void tfhe_key_switch(const SwitchArgs& a, u32* digits) {
    u32 first = blockIdx.x * TILE, column = blockIdx.y * 2 * SWITCH_THREADS + threadIdx.x;
    u32 columns[2] = {min(column, a.width - 1), min(column + SWITCH_THREADS, a.width - 1)};
    u32 half = 1u << (a.base_log - 1), mask = 2 * half - 1;
    u32 sums[2][TILE] = {};
    u32 end = min((blockIdx.z + 1) * a.share, a.dimension);
    for (u32 from = blockIdx.z * a.share; from < end; from += SWITCH_WORDS) {
        u32 words = min(SWITCH_WORDS, end - from);
        __syncthreads();
        for (u32 d = threadIdx.x; d < TILE * SWITCH_WORDS; d += SWITCH_THREADS) {
            u32 ciphertext = d / SWITCH_WORDS, word = d % SWITCH_WORDS;
            bool live = first + ciphertext < a.count && word < words;
            u64 shifted = live ? a.src[(size_t)(first + ciphertext) * (a.dimension + 1) + from + word] + a.offset : 0;
            for (u32 j = 0; j < a.levels; ++j) {
                u32 digit = ((u32)(shifted >> (64 - (j + 1) * a.base_log)) & mask) - half;
                digits[(word * a.levels + j) * TILE + ciphertext] = live ? digit : 0;
            }
        }
        __syncthreads();
        const u32* key = a.key + (size_t)from * a.levels * a.width;
#pragma unroll(TILE == 1 ? 8 : 2)
        for (u32 row = 0; row < words * a.levels; ++row) {
            u32 k[2] = {key[(size_t)row * a.width + columns[0]], key[(size_t)row * a.width + columns[1]]};
#pragma unroll
            for (u32 c = 0; c < TILE; ++c) {
                u32 digit = digits[row * TILE + c];
                sums[0][c] -= digit * k[0];
                sums[1][c] -= digit * k[1];
            }
        }
    }
#pragma unroll
    for (u32 c = 0; c < TILE; ++c) {
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
            u32 at = column + h * SWITCH_THREADS;
            if (first + c >= a.count || at >= a.width) continue;
            u32 sum = sums[h][c];
            // The body is rounded to 32 bits, once.
            if (at + 1 == a.width && blockIdx.z == 0) {
                sum += (u32)(a.src[(size_t)(first + c) * (a.dimension + 1) + a.dimension] + (1ull << 31) >> 32);
            }
            // The low half of a word.
            atomicAdd(reinterpret_cast<u32*>(a.dst + (size_t)(first + c) * a.width + at), sum);
        }
    }
}

KERNEL(tfhe_key_switch_one, SwitchArgs, SWITCH_THREADS, 1) {
    SHARED(u32, digits);
    tfhe_key_switch<1>(a, digits);
}
KERNEL(tfhe_key_switch_many, SwitchArgs, SWITCH_THREADS, 1) {
    SHARED(u32, digits);
    tfhe_key_switch<16>(a, digits);
}

// Mirrored by `tfhe::KeyArgs`. A polynomial of the key for each block: from words [i][row][component][N] to values [i][component][row][slot].
struct KeyArgs {
    const u64* src;
    double2* dst;
    const double2* roots;
    double scale; // 2^-64 / M
    u32 rows, components, log_n, unused;
};

// Shared memory: M values.
KERNEL(tfhe_key_values, KeyArgs, TFHE_THREADS, 1) {
    SHARED(double2, values);
    u32 log_m = a.log_n - 1, m = 1u << log_m;
    u32 component = blockIdx.x % a.components, row = blockIdx.x / a.components % a.rows;
    u32 i = blockIdx.x / a.components / a.rows;
    const u64* words = a.src + ((size_t)blockIdx.x << a.log_n);
    for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
        double re = __ll2double_rn((i64)words[j]), im = __ll2double_rn((i64)words[j + m]);
        values[j] = make_double2(__dmul_rn(re, a.scale), __dmul_rn(im, a.scale));
    }
    __syncthreads();
    tfhe_forward_any(values, log_m, a.roots);
    double2* dst = a.dst + (((size_t)i * a.components + component) * a.rows + row << log_m);
    for (u32 j = threadIdx.x; j < m; j += blockDim.x) dst[tfhe_slot(j, log_m)] = values[j];
}

KERNEL(tfhe_bundle_2, BundleArgs, TFHE_THREADS, 1) {
    SHARED(double2, shared);
    tfhe_bundle<2, 4, 2, false>(a, shared);
}
KERNEL(tfhe_bundle_3, BundleArgs, TFHE_THREADS, 1) {
    SHARED(double2, shared);
    tfhe_bundle<3, 4, 2, false>(a, shared);
}
KERNEL(tfhe_bundle_4, BundleArgs, TFHE_THREADS, 2) {
    SHARED(double2, shared);
    tfhe_bundle<4, 4, 2, false>(a, shared);
}
KERNEL(tfhe_bundle_4_many, BundleArgs, 2 * TFHE_THREADS, 1) {
    SHARED(double2, shared);
    tfhe_bundle<4, 8, 4, true>(a, shared);
}

// One ciphertext a block, in global memory. Scratch of a block: components N words, rows + components lines of M values, n powers and errors.
KERNEL(tfhe_rotate_any, RotateArgs, TFHE_THREADS, 1) {
    u32 log_n = a.log_n, log_m = log_n - 1, n = 1u << log_n, m = 1u << log_m, rows = a.components * a.levels;
    size_t words = ((size_t)(2 * a.components + rows) << log_n) + (a.n + 7) / 8 * 2 + 2;
    u64* acc = a.scratch + blockIdx.x * words;
    double2* values = reinterpret_cast<double2*>(acc + ((size_t)a.components << log_n));
    double2* products = values + ((size_t)rows << log_m);
    u64* errors = reinterpret_cast<u64*>(products + ((size_t)a.components << log_m));
    u16* powers = reinterpret_cast<u16*>(errors + 1);
    const u64* src = a.src + (size_t)blockIdx.x * (a.n + 1);

    if (threadIdx.x == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_mask(a, src, powers, errors, threadIdx.x, blockDim.x);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + (a.which[blockIdx.x] << log_n);
    for (u32 t = threadIdx.x; t < a.components << log_n; t += blockDim.x) {
        acc[t] = t >> log_n == a.components - 1 ? tfhe_rotated(table, t & (n - 1), 2 * n - body, log_n) : 0;
    }
    __syncthreads();

    bool bundles = a.group > 1;
    u32 selections = a.n / a.group;
    size_t ggsw = (size_t)a.components * rows << log_m;
    const double2* key = a.key + (bundles ? blockIdx.x * ggsw : 0);
    for (u32 i = 0; i < selections; ++i) {
        for (u32 row = 0; row < rows; ++row) {
            const u64* part = acc + ((size_t)(row / a.levels) << log_n);
            double2* line = values + ((size_t)row << log_m);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                u64 re = bundles ? part[j] + tfhe_alternating_offset(a, j) : tfhe_difference(a, part, j, powers[i], log_n);
                u64 im = bundles ? part[j + m] + tfhe_alternating_offset(a, j + m) : tfhe_difference(a, part, j + m, powers[i], log_n);
                line[j] = make_double2(tfhe_digit(a, re, row % a.levels + 1), tfhe_digit(a, im, row % a.levels + 1));
            }
            __syncthreads();
            tfhe_forward_any(line, log_m, a.roots);
        }
        for (u32 c = 0; c < a.components; ++c) {
            double2* product = products + ((size_t)c << log_m);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                double2 sum = make_double2(0.0, 0.0);
                for (u32 row = 0; row < rows; ++row) {
                    sum = tfhe_mul_add(values[((size_t)row << log_m) + j], key[((size_t)row << log_m) + tfhe_slot(j, log_m)], sum);
                }
                product[j] = sum;
            }
            key += (size_t)rows << log_m;
            __syncthreads();
            tfhe_inverse_any(product, log_m, a.roots);
            u64* part = acc + ((size_t)c << log_n);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                part[j] = (bundles ? 0 : part[j]) + tfhe_word(product[j].x);
                part[j + m] = (bundles ? 0 : part[j + m]) + tfhe_word(product[j].y);
            }
        }
        if (bundles) key += (a.count - 1) * ggsw;
        __syncthreads();
    }

    for (u32 c = 0; c < a.components; ++c) {
        tfhe_extract(a, acc + ((size_t)c << log_n), blockIdx.x, c, a.components, log_n, threadIdx.x, blockDim.x);
    }
}
