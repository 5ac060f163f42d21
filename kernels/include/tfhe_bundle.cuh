// Blind rotations by multi-bit keys of he_core::tfhe: bundles, and products by one after the other.
#pragma once
#include "tfhe.cuh"

// Mirrored by `tfhe::BundleArgs`. blockIdx.x: a group of bits, and a tile of the slots; y: four polynomials.
struct BundleArgs {
    const u64* src;       // small ciphertexts, [ciphertext][n + 1]
    const double2* key;   // [group][pattern][component][row][slot]
    const double2* units; // exp(i pi j / N), j < 2N
    double2* dst;         // [ciphertext][group][component][row][slot]
    u32 count, n, log_n, polynomials;
};

constexpr u32 BUNDLE_SLOTS = 64, BUNDLE_POLYNOMIALS = 4;

// A value of the bundles of a group for each thread: of all ciphertexts, by one read of the key. The values of monomials are read once
// for the block's polynomials.
// Shared memory: 2 GROUP BUNDLE_SLOTS values.
template <u32 GROUP>
HE_D void tfhe_bundle(const BundleArgs& a, double2* monomials) {
    u32 log_m = a.log_n - 1, m = 1u << log_m, tiles = (m + BUNDLE_SLOTS - 1) / BUNDLE_SLOTS;
    u32 i = blockIdx.x / tiles, own = threadIdx.x % BUNDLE_SLOTS, slot = blockIdx.x % tiles * BUNDLE_SLOTS + own;
    u32 part = threadIdx.x / BUNDLE_SLOTS, polynomial = blockIdx.y * BUNDLE_POLYNOMIALS + part;
    bool live = slot < m && polynomial < a.polynomials, reads = slot < m && part < GROUP;
    size_t size = (size_t)a.polynomials << log_m, at = ((size_t)polynomial << log_m) + slot;
    const double2* key = a.key + ((size_t)i << GROUP) * size + at;
    double2 values[1 << GROUP];
#pragma unroll
    for (u32 u = 0; u < 1 << GROUP; ++u) values[u] = live ? __ldcs(key + u * size) : make_double2(0.0, 0.0);
    u32 exponent = 1 + 4 * (__brev(tfhe_position(slot, log_m)) >> (32 - log_m));
    const u64* word = a.src + i * GROUP + part;
    double2 next = make_double2(0.0, 0.0);
    for (u32 c = 0; c <= a.count; ++c) {
        double2* ready = monomials + (~c & 1) * GROUP * BUNDLE_SLOTS;
        if (reads && c < a.count) {
            u16 power;
            tfhe_switch_word(word[(size_t)c * (a.n + 1)], a.log_n + 1, power);
            next = __ldg(a.units + (exponent * power & (4 * m - 1)));
        }
        // The ciphertext before this one, whose monomials are there.
        if (c > 0 && live) {
            double2 sums[1 << GROUP];
#pragma unroll
            for (u32 u = 0; u < 1 << GROUP; ++u) sums[u] = values[u];
#pragma unroll
            for (u32 h = 0; h < GROUP; ++h) {
                double2 x = ready[h * BUNDLE_SLOTS + own];
#pragma unroll
                for (u32 u = 0; u < 1 << (GROUP - 1); ++u) {
                    if (u < 1u << (GROUP - 1 - h)) sums[u] = tfhe_mul_add(x, sums[2 * u + 1], sums[2 * u]);
                }
            }
            a.dst[((size_t)(c - 1) * (a.n / GROUP) + i) * size + at] = sums[0];
        }
        if (reads && c < a.count) monomials[(c & 1) * GROUP * BUNDLE_SLOTS + threadIdx.x] = next;
        __syncthreads();
    }
}

// Roots of a thread, in registers or not.
template <class F, bool HELD>
struct TfheRootsOf : TfheHeldRoots<F::ROOTS> {
    HE_D TfheRootsOf(const double2* roots, u32 tau) { F::hold(*this, roots, tau); }
};
template <class F>
struct TfheRootsOf<F, false> : TfheRoots {
    HE_D TfheRootsOf(const double2* roots, u32) : TfheRoots{roots} {}
};

// One ciphertext a block: M / 2^LOG_P threads for each component, which keep its words in registers. Lines alternate: one barrier of the
// block a product.
// Shared memory: COMPONENTS 2 LEVELS lines of M values.
template <u32 LOG_M, u32 LOG_P, u32 COMPONENTS, u32 LEVELS, bool HELD = true>
HE_D void tfhe_rotate_bundles(const RotateArgs& a) {
    using F = TfheTransform<LOG_M, LOG_P>;
    constexpr u32 M = F::M, P = F::P, LOG_N = LOG_M + 1, N = 2 * M, ROWS = COMPONENTS * LEVELS;
    SHARED(u64, shared);
    u32 component = threadIdx.x / F::T, tau = threadIdx.x % F::T;
    double2* lines = reinterpret_cast<double2*>(shared);
    const u64* src = a.src + (size_t)blockIdx.x * (a.n + 1);

    u64* errors = reinterpret_cast<u64*>(lines);
    if (threadIdx.x == 0) *errors = 0;
    __syncthreads();
    tfhe_switch_errors(a, src, errors, threadIdx.x, blockDim.x);
    __syncthreads();
    u32 body = tfhe_switch_body(a, src[a.n], *errors);
    const u64* table = a.tables + a.which[blockIdx.x] * N;
    u64 own[2][P];
#pragma unroll
    for (u32 h = 0; h < 2; ++h) {
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            own[h][p] = component + 1 == COMPONENTS ? tfhe_rotated(table, F::first(tau, p) + h * M, 2 * N - body, LOG_N) : 0;
        }
    }
    TfheRootsOf<F, HELD> roots(a.roots, tau);
    __syncthreads();

    u32 products = a.n / a.group;
    u64 offset = tfhe_alternating_offset(a, F::first(tau, 0)); // All places of a thread have the same parity.
    const double2* key = a.key + ((size_t)blockIdx.x * products * COMPONENTS + component) * ROWS * M;
    for (u32 i = 0; i < products; ++i, key += COMPONENTS * ROWS * M) {
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
            F::forward(x, line, roots, component, tau);
            F::template store<F::LAST>(x, line, tau);
        }
        __syncthreads();
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
        F::inverse(sums, others + component * LEVELS * M, roots, component, tau);
#pragma unroll
        for (u32 p = 0; p < P; ++p) {
            own[0][p] = tfhe_word(sums[p].x);
            own[1][p] = tfhe_word(sums[p].y);
        }
    }

    __syncthreads();
    u64* acc = shared + component * N;
#pragma unroll
    for (u32 p = 0; p < P; ++p) {
        acc[F::first(tau, p)] = own[0][p];
        acc[F::first(tau, p) + M] = own[1][p];
    }
    __syncthreads();
    tfhe_extract(a, acc, blockIdx.x, component, COMPONENTS, LOG_N, tau, F::T);
}
