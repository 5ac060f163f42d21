// TFHE: circuit bootstrapping, and lookups of bits (he_core::tfhe::LweOps::lookup_bits).
#include "include/tfhe_circuit.cuh"

constexpr u32 CIRCUIT_THREADS = 512;

// Words of a block: accumulators, lines of digits, lines of products.
HE_HD size_t circuit_words(u32 components, u32 rows, u32 log_n) { return (size_t)(2 * components + rows) << log_n; }

// The transform of the sum over rows of digits times the key, back in coefficients.
template <class A>
HE_D void circuit_product(const A& a, const double2* values, const double2* key, u32 rows, double2* product, u32 log_m) {
    for (u32 j = threadIdx.x; j < 1u << log_m; j += blockDim.x) {
        double2 sum = make_double2(0.0, 0.0);
        for (u32 row = 0; row < rows; ++row) {
            sum = tfhe_mul_add(values[((size_t)row << log_m) + j], key[((size_t)row << log_m) + tfhe_slot(j, log_m)], sum);
        }
        product[j] = sum;
    }
    __syncthreads();
    tfhe_inverse_any(product, log_m, a.roots);
}

// Shared memory, unless there is scratch memory: circuit_words words.
KERNEL(tfhe_circuit_ggsw, GgswArgs, CIRCUIT_THREADS, 1) {
    SHARED(u64, shared);
    u32 log_n = a.log_n, log_m = log_n - 1, n = 1u << log_n, m = 1u << log_m, k = a.components - 1, rows = k * a.levels;
    u64* acc = a.scratch ? a.scratch + blockIdx.x * circuit_words(a.components, rows, log_n) : shared;
    u64* body = acc + ((size_t)k << log_n);
    double2* values = reinterpret_cast<double2*>(acc + ((size_t)a.components << log_n));
    double2* products = values + ((size_t)rows << log_m);
    size_t group = (size_t)a.components * rows << log_m;
    u32 out_rows = a.components * a.digits;
    double2* dst = a.dst + ((size_t)blockIdx.x * a.components * out_rows << log_m);

    for (u32 digit = 0; digit < a.digits; ++digit) {
        for (u32 t = threadIdx.x; t < a.components << log_n; t += blockDim.x) acc[t] = circuit_start(a, blockIdx.x, digit, t);
        __syncthreads();

        for (u32 i = 0; i < log_n; ++i) {
            u32 inverse = circuit_inverse(i, log_n);
            u64* image = reinterpret_cast<u64*>(products);
            for (u32 j = threadIdx.x; j < n; j += blockDim.x) image[j] = circuit_image(body, j, inverse, log_n);
            for (u32 row = 0; row < rows; ++row) {
                const u64* part = acc + ((size_t)(row / a.levels) << log_n);
                double2* line = values + ((size_t)row << log_m);
                for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                    u64 re = circuit_image(part, j, inverse, log_n) + a.offset;
                    u64 im = circuit_image(part, j + m, inverse, log_n) + a.offset;
                    line[j] = make_double2(tfhe_digit(a, re, row % a.levels + 1), tfhe_digit(a, im, row % a.levels + 1));
                }
                __syncthreads();
                tfhe_forward_any(line, log_m, a.roots);
            }
            for (u32 j = threadIdx.x; j < n; j += blockDim.x) body[j] += image[j];
            __syncthreads();
            for (u32 c = 0; c < a.components; ++c) {
                double2* product = products + ((size_t)c << log_m);
                circuit_product(a, values, a.key + i * group + ((size_t)c * rows << log_m), rows, product, log_m);
                u64* part = acc + ((size_t)c << log_n);
                for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                    part[j] += tfhe_word(product[j].x);
                    part[j + m] += tfhe_word(product[j].y);
                }
            }
            __syncthreads();
        }

        for (u32 row = 0; row < rows; ++row) {
            const u64* part = acc + ((size_t)(row / a.levels) << log_n);
            double2* line = values + ((size_t)row << log_m);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                u64 re = part[j] + a.offset, im = part[j + m] + a.offset;
                line[j] = make_double2(tfhe_digit(a, re, row % a.levels + 1), tfhe_digit(a, im, row % a.levels + 1));
            }
            __syncthreads();
            tfhe_forward_any(line, log_m, a.roots);
        }
        // Row r of the secret's polynomials, and the one for the body, which is the ciphertext.
        for (u32 r = 0; r <= k; ++r) {
            for (u32 c = 0; c < a.components; ++c) {
                double2* product = products + ((size_t)c << log_m);
                if (r < k) {
                    circuit_product(a, values, a.key + (log_n + r) * group + ((size_t)c * rows << log_m), rows, product, log_m);
                }
                const u64* base = acc + ((size_t)(r < k ? k : c) << log_n);
                bool based = r == k || c == r;
                for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                    u64 re = based ? base[j] : 0, im = based ? base[j + m] : 0;
                    if (r < k) re += tfhe_word(product[j].x), im += tfhe_word(product[j].y);
                    product[j] = circuit_value(re, im, a.scale);
                }
                __syncthreads();
                tfhe_forward_any(product, log_m, a.roots);
                double2* to = dst + (((size_t)c * out_rows + r * a.digits + digit) << log_m);
                for (u32 j = threadIdx.x; j < m; j += blockDim.x) to[tfhe_slot(j, log_m)] = product[j];
            }
        }
        __syncthreads();
    }
}

// Likewise.
KERNEL(tfhe_circuit_select, SelectArgs, CIRCUIT_THREADS, 1) {
    SHARED(u64, shared);
    u32 log_n = a.log_n, log_m = log_n - 1, n = 1u << log_n, m = 1u << log_m, k = a.components - 1, rows = a.components * a.levels;
    size_t block = (size_t)blockIdx.x * gridDim.y + blockIdx.y;
    u64* acc = a.scratch ? a.scratch + block * circuit_words(a.components, rows, log_n) : shared;
    double2* values = reinterpret_cast<double2*>(acc + ((size_t)a.components << log_n));
    double2* products = values + ((size_t)rows << log_m);
    u32 entry = n >> a.bits;

    const u64* table = a.tables + ((size_t)blockIdx.y << log_n);
    for (u32 t = threadIdx.x; t < a.components << log_n; t += blockDim.x) acc[t] = t >> log_n == k ? table[t & (n - 1)] : 0;
    __syncthreads();

    const double2* ggsw = a.ggsw + ((size_t)blockIdx.x * a.bits * a.components * rows << log_m);
    for (u32 bit = 0; bit < a.bits; ++bit) {
        u32 power = 2 * n - (entry << bit);
        for (u32 row = 0; row < rows; ++row) {
            const u64* part = acc + ((size_t)(row / a.levels) << log_n);
            double2* line = values + ((size_t)row << log_m);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                u64 re = tfhe_difference(a, part, j, power, log_n), im = tfhe_difference(a, part, j + m, power, log_n);
                line[j] = make_double2(tfhe_digit(a, re, row % a.levels + 1), tfhe_digit(a, im, row % a.levels + 1));
            }
            __syncthreads();
            tfhe_forward_any(line, log_m, a.roots);
        }
        for (u32 c = 0; c < a.components; ++c) {
            double2* product = products + ((size_t)c << log_m);
            circuit_product(a, values, ggsw, rows, product, log_m);
            ggsw += (size_t)rows << log_m;
            u64* part = acc + ((size_t)c << log_n);
            for (u32 j = threadIdx.x; j < m; j += blockDim.x) {
                part[j] += tfhe_word(product[j].x);
                part[j + m] += tfhe_word(product[j].y);
            }
        }
        __syncthreads();
    }

    circuit_extract(a, acc);
}
