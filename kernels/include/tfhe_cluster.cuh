// Blind rotations by bundles, several blocks for each ciphertext.
#pragma once
#include "cluster.cuh"
#include "tfhe_bundle.cuh"

// One ciphertext a cluster of COMPONENTS blocks, of M / 2^LOG_P threads each: every block has a component, and writes the values of its
// digits to all of them. One barrier of the cluster a product.
// Shared memory: 2 COMPONENTS LEVELS lines of M values.
template <u32 LOG_M, u32 LOG_P, u32 COMPONENTS, u32 LEVELS>
HE_D void tfhe_rotate_bundles_cluster(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, LOG_P>;
    constexpr u32 M = F::M, P = F::P, LOG_N = LOG_M + 1, N = 2 * M, ROWS = COMPONENTS * LEVELS;
    SHARED(u64, shared);
    u32 component = blockIdx.x % COMPONENTS, ciphertext = blockIdx.x / COMPONENTS, tau = threadIdx.x;
    double2* lines = reinterpret_cast<double2*>(shared);
    const u64* src = a.src + (size_t)ciphertext * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines);
    if (tau == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_errors(a, src, errors, tau, F::T);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[ciphertext] * N;
    u64 own[2][P];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            own[h][p] = component + 1 == COMPONENTS ? tfhe_rotated(table, F::first(tau, p) + h * M, 2 * N - body, LOG_N) : 0;
        }
    }
    TfheHeldRoots<F::ROOTS> roots;
    F::hold(roots, a.roots, tau);
    sync_cluster();

    u32 products = a.n / a.group;
    u64 offset = tfhe_alternating_offset(a, F::first(tau, 0)); // All places of a thread have the same parity.
    const double2* key = a.key + ((size_t)ciphertext * COMPONENTS + component) * ROWS * M;
    for (u32 i = 0; i < products; ++i, key += (size_t)a.count * COMPONENTS * ROWS * M) {
        double2 factors[ROWS][P], x[P];
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) factors[row][p] = __ldcs(key + row * M + tfhe_slot(F::last(tau, p), LOG_M));
        }
        double2* values = lines + (i & 1) * ROWS * M;
        double2* others = lines + (~i & 1) * ROWS * M;
#pragma unroll
        for (u32 j = 0; j < LEVELS; ++j) {
            double2* line = values + (component * LEVELS + j) * M;
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                u64 re = own[0][p] + offset, im = own[1][p] + offset;
                x[p] = LEVELS == 1 ? make_double2(tfhe_single_digit(a, re), tfhe_single_digit(a, im))
                                   : make_double2(tfhe_digit(a, re, j + 1), tfhe_digit(a, im, j + 1));
            }
            F::forward(x, line, roots, 0, tau);
            if (LEVELS > 1) F::template store<F::LAST>(x, line, tau);
#pragma unroll
            for (u32 other = 1; other < COMPONENTS; ++other) {
                OfBlock remote(line, (component + other) % COMPONENTS);
#pragma unroll
                for (u32 p = 0; p < P; ++p) remote.store(F::place(F::last(tau, p)), x[p]);
            }
        }
        sync_cluster();
        double2 sums[P];
#pragma unroll
        for (u32 p = 0; p < P; ++p) sums[p] = make_double2(0.0, 0.0);
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            double2 y[P];
            if (LEVELS > 1 || row != component) {
                F::template load<F::LAST>(y, values + row * M, tau);
            } else {
#pragma unroll
                for (u32 p = 0; p < P; ++p) y[p] = x[p];
            }
#pragma unroll
            for (u32 p = 0; p < P; ++p) sums[p] = tfhe_mul_add(y[p], factors[row][p], sums[p]);
        }
        F::inverse(sums, others + component * LEVELS * M, roots, 0, tau);
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            own[0][p] = tfhe_word(sums[p].x);
            own[1][p] = tfhe_word(sums[p].y);
        }
    }

    // Nobody writes to this block's memory any more.
    sync_cluster();
#pragma unroll
    for (u32 p = 0; p < P; ++p) {
        shared[F::first(tau, p)] = own[0][p];
        shared[F::first(tau, p) + M] = own[1][p];
    }
    __syncthreads();
    tfhe_extract(a, shared, ciphertext, component, COMPONENTS, LOG_N, tau, F::T);
}
