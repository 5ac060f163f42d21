// Blind rotations of degree N = 2 M with a thread for eight or sixteen values.
#pragma once
#include "tfhe.cuh"

// One ciphertext a block: M / 2^LOG_P threads for each component. Each thread takes the digits of all components at its values to its own
// component's product: one barrier of the block an iteration. Lines alternate, so that none is overwritten before the barrier
// behind its last reader. All that does not change, and the key of an iteration, lies in registers.
// Shared memory: COMPONENTS (N words, 2 LEVELS lines of M values), n powers.
template <u32 LOG_M, u32 LOG_P, u32 COMPONENTS, u32 LEVELS>
HE_D void tfhe_rotate_one(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, LOG_P>;
    constexpr u32 M = F::M, P = F::P, LOG_N = LOG_M + 1, N = 2 * M, ROWS = COMPONENTS * LEVELS;
    SHARED(u64, shared);
    u32 component = threadIdx.x / F::T, tau = threadIdx.x % F::T;
    double2* lines = reinterpret_cast<double2*>(shared + COMPONENTS * N);
    u16* powers = reinterpret_cast<u16*>(lines + 2 * ROWS * M);
    u64* acc = shared + component * N;
    const u64* src = a.src + (size_t)blockIdx.x * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines);
    if (threadIdx.x == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_mask(a, src, powers, errors, threadIdx.x, blockDim.x);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[blockIdx.x] * N;
    u64 own[2][P];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            u32 m = F::first(tau, p) + h * M;
            own[h][p] = component + 1 == COMPONENTS ? tfhe_rotated(table, m, 2 * N - body, LOG_N) : 0;
            acc[m] = own[h][p];
        }
    }
    TfheHeldRoots<F::ROOTS> roots;
    F::hold(roots, a.roots, tau);
    __syncthreads();

    const double2* key = a.key + (size_t)component * ROWS * M;
    for (u32 i = 0; i < a.n; ++i, key += COMPONENTS * ROWS * M) {
        double2 factors[ROWS][P], x[P];
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) factors[row][p] = __ldg(key + row * M + tfhe_slot(F::last(tau, p), LOG_M));
        }
        double2* values = lines + (i & 1) * ROWS * M;
        double2* others = lines + (~i & 1) * ROWS * M;
        u32 power = powers[i];
        u64 words[2][P];
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                words[h][p] = tfhe_rotated(acc, F::first(tau, p) + h * M, power, LOG_N) - own[h][p] + a.offset;
            }
        }
#pragma unroll
        for (u32 j = 0; j < LEVELS; ++j) {
            double2* line = values + (component * LEVELS + j) * M;
#pragma unroll
            for (u32 p = 0; p < P; ++p) {
                x[p] = LEVELS == 1 ? make_double2(tfhe_single_digit(a, words[0][p]), tfhe_single_digit(a, words[1][p]))
                                   : make_double2(tfhe_digit(a, words[0][p], j + 1), tfhe_digit(a, words[1][p], j + 1));
            }
            F::forward(x, line, roots, component, tau);
            F::template store<F::LAST>(x, line, tau);
        }
        __syncthreads();
        double2 sums[P];
#pragma unroll
        for (u32 p = 0; p < P; ++p) sums[p] = make_double2(0.0, 0.0);
#pragma unroll
        for (u32 row = 0; row < ROWS; ++row) {
            // The thread's own row is at hand.
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
        F::inverse(sums, others + component * LEVELS * M, roots, component, tau);
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            acc[F::first(tau, p)] = own[0][p] += tfhe_word(sums[p].x);
            acc[F::first(tau, p) + M] = own[1][p] += tfhe_word(sums[p].y);
        }
        F::sync(component);
    }

    tfhe_extract(a, acc, blockIdx.x, component, COMPONENTS, LOG_N, tau, F::T);
}

// One ciphertext a block, one level: M / 2^LOG_P threads for each component transform; M others, one for each value, take the products, and read
// the key of the next iteration meanwhile, past L1: nobody on the multiprocessor reads it again.
// Shared memory: COMPONENTS (N words, a line of M values), n powers.
template <u32 LOG_M, u32 LOG_P, u32 COMPONENTS>
HE_D void tfhe_rotate_gate(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, LOG_P>;
    static_assert(F::T <= 32, "transforms wait for their own warp alone");
    constexpr u32 M = F::M, P = F::P, LOG_N = LOG_M + 1, N = 2 * M, FIRST = COMPONENTS * F::T, THREADS = FIRST + M;
    SHARED(u64, shared);
    double2* lines = reinterpret_cast<double2*>(shared + COMPONENTS * N);
    u16* powers = reinterpret_cast<u16*>(lines + COMPONENTS * M);
    const u64* src = a.src + (size_t)blockIdx.x * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines);
    if (threadIdx.x == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_mask(a, src, powers, errors, threadIdx.x, THREADS);
    __syncthreads();

    if (threadIdx.x >= FIRST) {
        u32 slot = threadIdx.x - FIRST;
        double2* at = lines + F::place(tfhe_position(slot, LOG_M));
        const double2* key = a.key + slot;
        double2 factors[COMPONENTS][COMPONENTS];
#pragma unroll
        for (u32 c = 0; c < COMPONENTS; ++c) {
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) factors[c][r] = __ldcg(key + (c * COMPONENTS + r) * M);
        }
        tfhe_sync(0, THREADS);
        for (u32 i = 0; i < a.n; ++i) {
            key += COMPONENTS * COMPONENTS * M;
            if (i + 1 == a.n) key = a.key + slot;
            double2 x[COMPONENTS];
            tfhe_sync(0, THREADS);
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) x[r] = at[r * M];
            double2 sums[COMPONENTS];
#pragma unroll
            for (u32 c = 0; c < COMPONENTS; ++c) sums[c] = make_double2(0.0, 0.0);
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) {
#pragma unroll
                for (u32 c = 0; c < COMPONENTS; ++c) sums[c] = tfhe_mul_add(x[r], factors[c][r], sums[c]);
            }
#pragma unroll
            for (u32 c = 0; c < COMPONENTS; ++c) at[c * M] = sums[c];
            tfhe_sync(0, THREADS);
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) {
#pragma unroll
                for (u32 c = 0; c < COMPONENTS; ++c) factors[c][r] = __ldcg(key + (c * COMPONENTS + r) * M);
            }
        }
        return;
    }

    u32 component = threadIdx.x / F::T, tau = threadIdx.x % F::T;
    u64* acc = shared + component * N;
    double2* line = lines + component * M;
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[blockIdx.x] * N;
    u64 own[2][P];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            u32 m = F::first(tau, p) + h * M;
            own[h][p] = component + 1 == COMPONENTS ? tfhe_rotated(table, m, 2 * N - body, LOG_N) : 0;
            acc[m] = own[h][p];
        }
    }
    TfheHeldRoots<F::ROOTS> roots;
    F::hold(roots, a.roots, tau);
    tfhe_sync(0, THREADS);

    for (u32 i = 0; i < a.n; ++i) {
        double2 x[P];
        u32 power = powers[i];
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            u32 m = F::first(tau, p);
            u64 re = tfhe_rotated(acc, m, power, LOG_N) - own[0][p] + a.offset;
            u64 im = tfhe_rotated(acc, m + M, power, LOG_N) - own[1][p] + a.offset;
            x[p] = make_double2(tfhe_single_digit(a, re), tfhe_single_digit(a, im));
        }
        F::forward(x, line, roots, component, tau);
        F::template store<F::LAST>(x, line, tau);
        tfhe_sync(0, THREADS);
        tfhe_sync(0, THREADS);
        F::template load<F::LAST>(x, line, tau);
        F::inverse(x, line, roots, component, tau);
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            acc[F::first(tau, p)] = own[0][p] += tfhe_word(x[p].x);
            acc[F::first(tau, p) + M] = own[1][p] += tfhe_word(x[p].y);
        }
        F::sync(component);
    }

    tfhe_extract(a, acc, blockIdx.x, component, COMPONENTS, LOG_N, tau, F::T);
}

// GROUP ciphertexts per block, for decompositions of one level: M/16 threads for each component. A thread takes one
// value of all components of all ciphertexts through the product, so that the key is read once for all of them.
// Shared memory: GROUP COMPONENTS (N words, M values), GROUP n powers.
template <u32 LOG_M, u32 COMPONENTS, u32 GROUP>
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

    const TfheRoots roots{a.roots};
    const double2* key = a.key;
    for (u32 i = 0; i < a.n; ++i, key += COMPONENTS * COMPONENTS * M) {
        double2 x[F::P];
        u32 power = powers[i];
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) {
            u32 m = F::first(tau, p);
            u64 re = tfhe_difference(a, acc, m, power, LOG_N), im = tfhe_difference(a, acc, m + M, power, LOG_N);
            x[p] = make_double2(tfhe_single_digit(a, re), tfhe_single_digit(a, im));
        }
        F::forward(x, line, roots, unit, tau);
        F::template store<F::LAST>(x, line, tau);
        __syncthreads();
        for (u32 slot = threadIdx.x; slot < M; slot += THREADS) {
            double2* at = lines + F::place(tfhe_position(slot, LOG_M));
            double2 factor[COMPONENTS], y[GROUP][COMPONENTS];
#pragma unroll
            for (u32 r = 0; r < COMPONENTS; ++r) factor[r] = __ldg(key + r * M + slot);
#pragma unroll
            for (u32 s = 0; s < GROUP; ++s) {
#pragma unroll
                for (u32 r = 0; r < COMPONENTS; ++r) y[s][r] = at[(s * COMPONENTS + r) * M];
            }
#pragma unroll
            for (u32 c = 0; c < COMPONENTS; ++c) {
                double2 sum[GROUP];
#pragma unroll
                for (u32 s = 0; s < GROUP; ++s) sum[s] = make_double2(0.0, 0.0);
#pragma unroll
                for (u32 r = 0; r < COMPONENTS; ++r) {
#pragma unroll
                    for (u32 s = 0; s < GROUP; ++s) sum[s] = tfhe_mul_add(y[s][r], factor[r], sum[s]);
                    if (c + 1 < COMPONENTS) factor[r] = __ldg(key + ((c + 1) * COMPONENTS + r) * M + slot);
                }
#pragma unroll
                for (u32 s = 0; s < GROUP; ++s) at[(s * COMPONENTS + c) * M] = sum[s];
            }
        }
        __syncthreads();
        F::template load<F::LAST>(x, line, tau);
        F::inverse(x, line, roots, unit, tau);
#pragma unroll
        for (u32 p = 0; p < F::P; ++p) {
            acc[F::first(tau, p)] += tfhe_word(x[p].x);
            acc[F::first(tau, p) + M] += tfhe_word(x[p].y);
        }
        F::sync(unit);
    }

    if (wanted < a.count) tfhe_extract(a, acc, ciphertext, component, COMPONENTS, LOG_N, tau, F::T);
}
