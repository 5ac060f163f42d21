// The transform of he_core::tfhe: fixed IEEE operations, so that the words are the CPU's. Node t splits X^2s - w_t^2; w_(2t+1) = i w_2t exactly.
#pragma once
#include "launch.cuh"

// (u + w v, u - w v).
HE_HD void tfhe_split(double2& u, double2& v, double2 w) {
    double re = __fma_rn(-v.y, w.y, __fma_rn(v.x, w.x, u.x)), im = __fma_rn(v.y, w.x, __fma_rn(v.x, w.y, u.y));
    v = make_double2(__fma_rn(2.0, u.x, -re), __fma_rn(2.0, u.y, -im));
    u = make_double2(re, im);
}

// (s + d, (s - d) / w).
HE_HD void tfhe_join(double2& s, double2& d, double2 w) {
    double re = __dsub_rn(s.x, d.x), im = __dsub_rn(s.y, d.y);
    s = make_double2(__dadd_rn(s.x, d.x), __dadd_rn(s.y, d.y));
    d = make_double2(__fma_rn(im, w.y, __dmul_rn(re, w.x)), __fma_rn(-re, w.y, __dmul_rn(im, w.x)));
}

// A barrier of `threads` threads of the block, whole warps, by its number. On the host all threads of the block wait.
HE_D void tfhe_sync(u32 id, u32 threads) {
#ifdef HE_HOST
    (void)id, (void)threads;
    __syncthreads();
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

HE_HD double2 tfhe_times_i(double2 w) { return make_double2(-w.y, w.x); }

// sum + a b.
HE_HD double2 tfhe_mul_add(double2 a, double2 b, double2 sum) {
    return make_double2(__fma_rn(-a.y, b.y, __fma_rn(a.x, b.x, sum.x)), __fma_rn(a.y, b.x, __fma_rn(a.x, b.y, sum.y)));
}

// Where the key has value p of 2^log_m: a thread's eight neighbouring values stand M/8 apart, those of neighbouring threads side by side.
HE_HD u32 tfhe_slot(u32 p, u32 log_m) { return (p & 7) << (log_m - 3) | p >> 3; }
HE_HD u32 tfhe_position(u32 slot, u32 log_m) { return (slot & ((1u << (log_m - 3)) - 1)) << 3 | slot >> (log_m - 3); }

// Roots of a thread, numbered in the order in which the passes from the root down take them: read where they are needed, or held in registers.
struct TfheRoots {
    const double2* w;
    HE_D double2 get(u32, u32 node) const { return __ldg(w + node); }
};
template <u32 COUNT>
struct TfheHeldRoots {
    double2 w[COUNT];
    HE_D double2 get(u32 index, u32) const { return w[index]; }
};

// 2^LOG_M points over T threads, 2^LOG_P each in registers; passes of LOG_P levels from the root down, and the rest in the last one.
// They exchange through a line of shared memory. A thread stores where it loaded last: a line takes one transform after the other
// without a barrier in between.
template <u32 LOG_M, u32 LOG_P>
struct TfheTransform {
    static constexpr u32 M = 1u << LOG_M, P = 1u << LOG_P, T = M / P, LAST = (LOG_M - 1) / LOG_P;
    static constexpr u32 LAST_STAGES = LOG_M - LAST * LOG_P, LAST_PARTS = P >> LAST_STAGES;
    // Of two neighbouring nodes one root is read.
    static constexpr u32 ROOTS = LAST * P / 2 + (LAST_PARTS == 1 ? P / 2 : LAST_PARTS / 2 * ((1u << LAST_STAGES) - 1));

    // Shared-memory place of point p: eight points that one access takes lie in different banks, also where they are in the key's order.
    HE_HD static u32 place(u32 p) {
        return LOG_P < 4 ? p ^ ((p >> LOG_P) & 7) : p ^ ((p >> 4) & 7) ^ ((p >> 1) & 4);
    }

    // Point i of thread `tau` in a pass.
    template <u32 PASS>
    HE_HD static u32 position(u32 tau, u32 i) {
        constexpr u32 low = PASS == LAST ? 0 : LOG_M - (PASS + 1) * LOG_P;
        return (tau >> low) << (low + LOG_P) | i << low | (tau & ((1u << low) - 1));
    }
    HE_HD static u32 first(u32 tau, u32 i) { return position<0>(tau, i); }
    HE_HD static u32 last(u32 tau, u32 i) { return position<LAST>(tau, i); }

    // Among the threads of transform `number` of the block, below 15; barrier 0 is the block's.
    HE_D static void sync(u32 number) {
        if constexpr (T <= 32) {
            __syncwarp();
        } else {
            tfhe_sync(number + 1, T);
        }
    }

    template <u32 PASS>
    HE_D static void store(const double2 (&x)[P], double2* line, u32 tau) {
#pragma unroll
        for (u32 i = 0; i < P; ++i) line[place(position<PASS>(tau, i))] = x[i];
    }
    template <u32 PASS>
    HE_D static void load(double2 (&x)[P], const double2* line, u32 tau) {
#pragma unroll
        for (u32 i = 0; i < P; ++i) x[i] = line[place(position<PASS>(tau, i))];
    }

    // The node of a thread's first block in a pass.
    template <u32 PASS>
    HE_HD static u32 node(u32 tau) {
        constexpr u32 FROM = PASS * LOG_P, LOW = PASS == LAST ? 0 : LOG_M - FROM - LOG_P;
        return (1u << FROM) + (tau >> LOW) * (PASS == LAST ? LAST_PARTS : 1);
    }

    // Level S of a pass whose blocks lie one behind the other in x.
    template <u32 PASS, u32 S, bool INVERSE, class Roots>
    HE_D static void level(double2 (&x)[P], const Roots& roots, u32 tau) {
        constexpr u32 STAGES = PASS == LAST ? LAST_STAGES : LOG_P, PARTS = P >> STAGES, HALF = 1u << (STAGES - 1 - S);
        constexpr u32 INDEX = PASS * P / 2 + (PARTS == 1 ? (S == 0 ? 0 : 1u << (S - 1)) : PARTS / 2 * ((1u << S) - 1));
        double2 w = make_double2(0.0, 0.0);
#pragma unroll
        for (u32 b = 0; b < (PARTS << S); ++b) {
            w = b % 2 == 0 ? roots.get(INDEX + b / 2, (node<PASS>(tau) << S) + b) : tfhe_times_i(w);
#pragma unroll
            for (u32 j = 0; j < HALF; ++j) {
                double2 &u = x[2 * HALF * b + j], &v = x[2 * HALF * b + j + HALF];
                if constexpr (INVERSE) {
                    tfhe_join(u, v, w);
                } else {
                    tfhe_split(u, v, w);
                }
            }
        }
    }

    template <u32 PASS, bool INVERSE, class Roots, u32 K = 0>
    HE_D static void pass(double2 (&x)[P], const Roots& roots, u32 tau) {
        constexpr u32 STAGES = PASS == LAST ? LAST_STAGES : LOG_P;
        level<PASS, INVERSE ? STAGES - 1 - K : K, INVERSE>(x, roots, tau);
        if constexpr (K + 1 < STAGES) pass<PASS, INVERSE, Roots, K + 1>(x, roots, tau);
    }

    // The roots that a thread takes.
    template <u32 PASS = 0, u32 S = 0>
    HE_D static void hold(TfheHeldRoots<ROOTS>& held, const double2* roots, u32 tau) {
        constexpr u32 STAGES = PASS == LAST ? LAST_STAGES : LOG_P, PARTS = P >> STAGES;
        constexpr u32 INDEX = PASS * P / 2 + (PARTS == 1 ? (S == 0 ? 0 : 1u << (S - 1)) : PARTS / 2 * ((1u << S) - 1));
#pragma unroll
        for (u32 b = 0; b < (PARTS << S); b += 2) held.w[INDEX + b / 2] = __ldg(roots + (node<PASS>(tau) << S) + b);
        if constexpr (S + 1 < STAGES) {
            hold<PASS, S + 1>(held, roots, tau);
        } else if constexpr (PASS < LAST) {
            hold<PASS + 1, 0>(held, roots, tau);
        }
    }

    // From the points of `first` to those of `last`.
    template <u32 PASS = 0, class Roots>
    HE_D static void forward(double2 (&x)[P], double2* line, const Roots& roots, u32 number, u32 tau) {
        pass<PASS, false>(x, roots, tau);
        if constexpr (PASS < LAST) {
            store<PASS>(x, line, tau);
            sync(number);
            load<PASS + 1>(x, line, tau);
            forward<PASS + 1>(x, line, roots, number, tau);
        }
    }

    // From the points of `last` to those of `first`; times M.
    template <u32 PASS = LAST, class Roots>
    HE_D static void inverse(double2 (&x)[P], double2* line, const Roots& roots, u32 number, u32 tau) {
        pass<PASS, true>(x, roots, tau);
        if constexpr (PASS > 0) {
            store<PASS>(x, line, tau);
            sync(number);
            load<PASS - 1>(x, line, tau);
            inverse<PASS - 1>(x, line, roots, number, tau);
        }
    }
};

// Any degree, level by level, by all threads of the block; barriers are behind every level.
HE_D void tfhe_forward_any(double2* x, u32 log_m, const double2* roots) {
    for (u32 d = 0; d < log_m; ++d) {
        u32 log_half = log_m - d - 1;
        for (u32 b = threadIdx.x; b < (1u << (log_m - 1)); b += blockDim.x) {
            u32 block = b >> log_half, at = (block << (log_half + 1)) + (b & ((1u << log_half) - 1));
            tfhe_split(x[at], x[at + (1u << log_half)], roots[(1u << d) + block]);
        }
        __syncthreads();
    }
}

HE_D void tfhe_inverse_any(double2* x, u32 log_m, const double2* roots) {
    for (u32 d = log_m; d-- > 0;) {
        u32 log_half = log_m - d - 1;
        for (u32 b = threadIdx.x; b < (1u << (log_m - 1)); b += blockDim.x) {
            u32 block = b >> log_half, at = (block << (log_half + 1)) + (b & ((1u << log_half) - 1));
            tfhe_join(x[at], x[at + (1u << log_half)], roots[(1u << d) + block]);
        }
        __syncthreads();
    }
}
