// Blind rotations of degree N = 2 M with a thread for eight or sixteen values.
#pragma once
#include "tfhe.cuh"

// One ciphertext a block: M/8 threads for each component, any number of levels. Each thread takes the digits of all components at its
// values to its own component's product: one barrier of the block an iteration. Lines alternate, so that none is overwritten
// before the barrier behind its last reader.
// Shared memory: components N words, 2 rows lines of M values, n powers.
template <u32 LOG_M>
HE_D void tfhe_rotate_one(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, 3>;
    constexpr u32 M = F::M, LOG_N = LOG_M + 1, N = 2 * M;
    SHARED(u64, shared);
    u32 component = threadIdx.x / F::T, tau = threadIdx.x % F::T, rows = a.components * a.levels;
    double2* lines = reinterpret_cast<double2*>(shared + a.components * N);
    u16* powers = reinterpret_cast<u16*>(lines + 2 * rows * M);
    u64* acc = shared + component * N;
    const u64* src = a.src + (size_t)blockIdx.x * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines);
    if (threadIdx.x == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_mask(a, src, powers, errors, threadIdx.x, blockDim.x);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[blockIdx.x] * N;
    for (u32 m = tau; m < N; m += F::T) {
        acc[m] = component + 1 == a.components ? tfhe_rotated(table, m, 2 * N - body, LOG_N) : 0;
    }
    __syncthreads();

    const double2* key = a.key + (size_t)component * rows * M + tau;
    for (u32 i = 0; i < a.n; ++i, key += (size_t)a.components * rows * M) {
        double2* values = lines + (i & 1) * rows * M;
        double2* others = lines + (~i & 1) * rows * M;
        double2 x[F::P], next[F::P];
        u32 power = powers[i];
        for (u32 j = 0; j < a.levels; ++j) {
            double2* line = values + (component * a.levels + j) * M;
#pragma unroll
            for (u32 p = 0; p < F::P; ++p) x[p] = tfhe_digits(a, acc, F::first(tau, p), power, j + 1, LOG_N);
            F::forward(x, line, a.roots, tau);
            F::template store<F::LAST>(x, line, tau);
        }
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) next[p] = __ldg(key + p * F::T);
        __syncthreads();
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) x[p] = make_double2(0.0, 0.0);
        for (u32 row = 0; row < rows; ++row) {
            double2 factor[F::P];
            u32 ahead = min(row + 1, rows - 1);
#pragma unroll
            for (u32 p = 0; p < F::P; ++p) factor[p] = next[p];
#pragma unroll
            for (u32 p = 0; p < F::P; ++p) next[p] = __ldg(key + (size_t)ahead * M + p * F::T);
#pragma unroll
            for (u32 p = 0; p < F::P; ++p) {
                x[p] = tfhe_mul_add(values[row * M + F::place(F::last(tau, p))], factor[p], x[p]);
            }
        }
        F::inverse(x, others + component * a.levels * M, a.roots, tau);
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) tfhe_update(acc, F::first(tau, p), x[p], LOG_N);
        F::sync();
    }

    u64* dst = a.dst + (size_t)blockIdx.x * ((a.components - 1) * N + 1) + component * N;
    for (u32 m = tau; m < (component + 1 == a.components ? 1u : N); m += F::T) dst[m] = tfhe_extracted(acc, m, LOG_N);
}

// GROUP ciphertexts a block, one level: M/16 threads for each component. A thread takes one value of all components of SHARE
// ciphertexts through the product, so that the key is read GROUP / SHARE times for all of them.
// Shared memory: GROUP COMPONENTS (N words, a line of M values), GROUP n powers.
template <u32 LOG_M, u32 COMPONENTS, u32 GROUP, u32 SHARE>
HE_D void tfhe_rotate_group(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, 4>;
    constexpr u32 M = F::M, LOG_N = LOG_M + 1, N = 2 * M, THREADS = GROUP * COMPONENTS * F::T;
    SHARED(u64, shared);
    u32 unit = threadIdx.x / F::T, tau = threadIdx.x % F::T, member = unit / COMPONENTS, component = unit % COMPONENTS;
    double2* lines = reinterpret_cast<double2*>(shared + GROUP * COMPONENTS * N);
    u16* all_powers = reinterpret_cast<u16*>(lines + GROUP * COMPONENTS * M);
    u64* acc = shared + unit * N;
    double2* line = lines + unit * M;
    const u16* powers = all_powers + member * a.n;
    // The last block's surplus members repeat its last ciphertext and store nothing.
    u32 wanted = blockIdx.x * GROUP + member, ciphertext = min(wanted, a.count - 1);
    const u64* src = a.src + (size_t)ciphertext * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines) + member;
    if (component == 0 && tau == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_mask(a, src, all_powers + member * a.n, errors, component * F::T + tau, COMPONENTS * F::T);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[ciphertext] * N;
    for (u32 m = tau; m < N; m += F::T) {
        acc[m] = component + 1 == COMPONENTS ? tfhe_rotated(table, m, 2 * N - body, LOG_N) : 0;
    }
    __syncthreads();

    const double2* key = a.key;
    for (u32 i = 0; i < a.n; ++i, key += COMPONENTS * COMPONENTS * M) {
        double2 x[F::P];
        u32 power = powers[i];
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) x[p] = tfhe_digits(a, acc, F::first(tau, p), power, 1, LOG_N);
        F::forward(x, line, a.roots, tau);
        F::template store<F::LAST>(x, line, tau);
        __syncthreads();
        for (u32 item = threadIdx.x; item < M * (GROUP / SHARE); item += THREADS) {
            u32 slot = item % M;
            double2* at = lines + item / M * SHARE * COMPONENTS * M + F::place(tfhe_position(slot, LOG_M));
            double2 factor[COMPONENTS], y[SHARE][COMPONENTS];
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) factor[r] = __ldg(key + r * M + slot);
#pragma unroll
            for (u32 s = 0; s < SHARE; ++s) {
#pragma unroll
                for (u32 r = 0; r < COMPONENTS; ++r) y[s][r] = at[(s * COMPONENTS + r) * M];
            }
#pragma unroll
            for (u32 c = 0; c < COMPONENTS; ++c) {
                double2 sum[SHARE];
#pragma unroll
                for (u32 s = 0; s < SHARE; ++s) sum[s] = make_double2(0.0, 0.0);
#pragma unroll
                for (u32 r = 0; r < COMPONENTS; ++r) {
#pragma unroll
                    for (u32 s = 0; s < SHARE; ++s) sum[s] = tfhe_mul_add(y[s][r], factor[r], sum[s]);
                    if (c + 1 < COMPONENTS) factor[r] = __ldg(key + ((c + 1) * COMPONENTS + r) * M + slot);
                }
#pragma unroll
                for (u32 s = 0; s < SHARE; ++s) at[(s * COMPONENTS + c) * M] = sum[s];
            }
        }
        __syncthreads();
        F::template load<F::LAST>(x, line, tau);
        F::inverse(x, line, a.roots, tau);
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) tfhe_update(acc, F::first(tau, p), x[p], LOG_N);
        F::sync();
    }

    if (wanted < a.count) {
        u64* dst = a.dst + (size_t)ciphertext * ((COMPONENTS - 1) * N + 1) + component * N;
        for (u32 m = tau; m < (component + 1 == COMPONENTS ? 1u : N); m += F::T) dst[m] = tfhe_extracted(acc, m, LOG_N);
    }
}
