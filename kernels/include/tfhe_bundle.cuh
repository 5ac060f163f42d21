// Blind rotations by multi-bit keys of he_core::tfhe: bundles, and products by one after the other.
#pragma once
#include "tfhe.cuh"

// Mirrored by `tfhe::BundleArgs`. blockIdx.x: a group of bits, and a tile of the slots; y: POLYNOMIALS of its polynomials.
struct BundleArgs {
    const u64* src;       // small ciphertexts, [ciphertext][n + 1]
    const double2* key;   // [group][pattern][component][row][slot]
    const double2* units; // exp(i pi j / N), j < 2N
    double2* dst;         // [group][ciphertext][component][row][slot]
    u32 count, n, log_n, polynomials;
};

constexpr u32 BUNDLE_SLOTS = 64;

// Value `at` of 2^(GROUP - LEVEL) after so many bits of a group: of even ones, plus a monomial times odd ones.
template <u32 GROUP, u32 LEVEL>
HE_D double2 tfhe_bundled(const double2 (&values)[1 << GROUP], const double2 (&monomials)[GROUP], u32 at) {
    if constexpr (LEVEL == 0) {
        return values[at];
    } else {
        double2 even = tfhe_bundled<GROUP, LEVEL - 1>(values, monomials, 2 * at);
        return tfhe_mul_add(monomials[LEVEL - 1], tfhe_bundled<GROUP, LEVEL - 1>(values, monomials, 2 * at + 1), even);
    }
}

// Where a block has unit i of 4 m in shared memory: the powers of a bit at eight neighbouring slots are a constant plus eight multiples of
// 2^(log_m - 4), which lie in different banks for half of all powers.
HE_HD u32 tfhe_unit_place(u32 i, u32 log_m) {
    u32 shift = log_m < 4 ? 0 : log_m - 4;
    return (i & ((1u << shift) - 1)) << (log_m + 2 - shift) | i >> shift;
}

// A value of the bundles of a group for each thread: of all ciphertexts, by one read of the key. The values of monomials are read once
// for the block's polynomials, those of TURN ciphertexts while the bundles of as many are computed, and mask words a turn earlier.
// HELD: all units are in shared memory, which pays for many ciphertexts.
// Shared memory: 2 TURN GROUP BUNDLE_SLOTS values, then 4 M.
template <u32 GROUP, u32 POLYNOMIALS, u32 TURN, bool HELD>
HE_D void tfhe_bundle(const BundleArgs& a, double2* shared) {
    constexpr u32 READERS = POLYNOMIALS / GROUP * GROUP;
    u32 log_m = a.log_n - 1, m = 1u << log_m, tiles = (m + BUNDLE_SLOTS - 1) / BUNDLE_SLOTS;
    u32 i = blockIdx.x / tiles, own = threadIdx.x % BUNDLE_SLOTS, slot = blockIdx.x % tiles * BUNDLE_SLOTS + own;
    u32 part = threadIdx.x / BUNDLE_SLOTS, polynomial = blockIdx.y * POLYNOMIALS + part;
    bool live = slot < m && polynomial < a.polynomials;
    size_t size = (size_t)a.polynomials << log_m, at = ((size_t)polynomial << log_m) + slot;
    const double2* key = a.key + ((size_t)i << GROUP) * size + at;
    double2 values[1 << GROUP];
#pragma unroll
    for (u32 u = 0; u < 1 << GROUP; ++u) values[u] = live ? __ldcs(key + u * size) : make_double2(0.0, 0.0);
    double2* units = shared + 2 * TURN * GROUP * BUNDLE_SLOTS;
    if (HELD) {
        for (u32 t = threadIdx.x; t < 4 * m; t += POLYNOMIALS * BUNDLE_SLOTS) units[tfhe_unit_place(t, log_m)] = __ldg(a.units + t);
        __syncthreads();
    }
    // A thread reads the monomials of one bit for one in so many ciphertexts of a turn.
    constexpr u32 STEP = READERS / GROUP < TURN ? READERS / GROUP : TURN, READS = TURN / STEP;
    u32 bit = part % GROUP, begin = part / GROUP;
    bool reads = slot < m && begin < STEP;
    u32 exponent = 1 + 4 * (__brev(tfhe_position(slot, log_m)) >> (32 - log_m));
    const u64* mask = a.src + i * GROUP + bit;
    u64 words[READS];
#pragma unroll
    for (u32 b = 0; b < READS; ++b) words[b] = mask[(size_t)min(begin + b * STEP, a.count - 1) * (a.n + 1)];
    for (u32 c = 0; c < a.count + TURN; c += TURN) {
        double2* filled = shared + (c / TURN & 1) * TURN * GROUP * BUNDLE_SLOTS;
        const double2* ready = shared + (~(c / TURN) & 1) * TURN * GROUP * BUNDLE_SLOTS + own;
        double2 next[READS];
#pragma unroll
        for (u32 b = 0; b < READS; ++b) {
            u16 power;
            tfhe_switch_word(words[b], a.log_n + 1, power);
            u32 unit = exponent * power & (4 * m - 1);
            next[b] = HELD ? units[tfhe_unit_place(unit, log_m)] : __ldg(a.units + unit);
            words[b] = mask[(size_t)min(c + TURN + begin + b * STEP, a.count - 1) * (a.n + 1)];
        }
        // The ciphertexts before these, whose monomials are there.
#pragma unroll
        for (u32 b = 0; b < TURN; ++b) {
            if (c == 0 || !live || c - TURN + b >= a.count) continue;
            double2 monomials[GROUP];
#pragma unroll
            for (u32 h = 0; h < GROUP; ++h) monomials[h] = ready[(b * GROUP + h) * BUNDLE_SLOTS];
            a.dst[((size_t)i * a.count + c - TURN + b) * size + at] = tfhe_bundled<GROUP, GROUP>(values, monomials, 0);
        }
#pragma unroll
        for (u32 b = 0; b < READS; ++b) {
            if (reads) filled[((begin + b * STEP) * GROUP + bit) * BUNDLE_SLOTS + own] = next[b];
        }
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
    const double2* key = a.key + ((size_t)blockIdx.x * COMPONENTS + component) * ROWS * M;
    // The later rows of two levels are read behind the transforms, for which registers are left then.
    constexpr u32 EARLY = LEVELS == 1 ? ROWS : ROWS / 2;
    for (u32 i = 0; i < products; ++i, key += (size_t)a.count * COMPONENTS * ROWS * M) {
        double2 factors[ROWS][P], x[P];
#pragma unroll
        for (u32 row = 0; row < EARLY; ++row) {
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
#pragma unroll
        for (u32 row = EARLY; row < ROWS; ++row) {
#pragma unroll
            for (u32 p = 0; p < P; ++p) factors[row][p] = __ldcs(key + row * M + tfhe_slot(F::last(tau, p), LOG_M));
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
