// CUDA's built-ins for a host compiler, which gets this in front of every kernel file (-include). See runtime.cpp.
#pragma once

#define HE_HOST 1

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <type_traits>

#define __host__
#define __device__
#define __global__
#define __constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define HE_EXPORT __attribute__((visibility("default")))
#define HE_BUILTIN static inline __attribute__((always_inline, unused))

// ---- Threads ----

struct uint3 {
    unsigned x, y, z;
};

// `__thread`, not `thread_local`, and initial-exec: an access is one instruction.
#define HE_THREAD_LOCAL extern __thread __attribute__((tls_model("initial-exec"), visibility("hidden")))
HE_THREAD_LOCAL uint3 threadIdx;
HE_THREAD_LOCAL uint3 blockIdx;
HE_THREAD_LOCAL uint3 blockDim;
HE_THREAD_LOCAL uint3 gridDim;
HE_THREAD_LOCAL unsigned char* he_host_shared;
#define warpSize 32

extern "C" __attribute__((visibility("hidden"))) void he_host_block_barrier(int line);
extern "C" __attribute__((visibility("hidden"))) void he_host_warp_barrier(unsigned mask);

// All threads of the cluster; the shared memory of its blocks.
extern "C" __attribute__((visibility("hidden"))) void he_host_cluster_barrier();
extern "C" __attribute__((visibility("hidden"))) unsigned char* he_host_shared_of(unsigned rank);

// A pointer of each thread of the block, for functions in which a warp works together: what it points to may be read by the
// other threads of the warp between two barriers.
extern "C" __attribute__((visibility("hidden"))) const void** he_host_published();

// The line tells barriers apart: all threads of a block must wait at the same one.
#define __syncthreads() he_host_block_barrier(__LINE__)
HE_BUILTIN void __syncwarp(unsigned mask = 0xffffffffu) { he_host_warp_barrier(mask); }
HE_BUILTIN void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HE_BUILTIN void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// ---- Vectors, with CUDA's alignment ----

#define HE_VECTOR(T, name, align)                                                                                      \
    struct alignas(2 * align) name##2 {                                                                                \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct alignas(16) name##4 {                                                                                       \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    HE_BUILTIN name##2 make_##name##2(T x, T y) { return {x, y}; }                                                     \
    HE_BUILTIN name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
HE_VECTOR(int, int, 4)
HE_VECTOR(unsigned, uint, 4)
HE_VECTOR(float, float, 4)
HE_VECTOR(long long, longlong, 8)
HE_VECTOR(unsigned long long, ulonglong, 8)
HE_VECTOR(double, double, 8)
#undef HE_VECTOR

// ---- Integers ----

HE_BUILTIN unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)(((unsigned __int128)a * b) >> 64);
}
HE_BUILTIN long long __mul64hi(long long a, long long b) { return (long long)(((__int128)a * b) >> 64); }
HE_BUILTIN unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
HE_BUILTIN int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
HE_BUILTIN int __popc(unsigned a) { return __builtin_popcount(a); }
HE_BUILTIN int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
HE_BUILTIN int __clz(int a) { return a ? __builtin_clz((unsigned)a) : 32; }
HE_BUILTIN int __clzll(long long a) { return a ? __builtin_clzll((unsigned long long)a) : 64; }
HE_BUILTIN int __ffs(int a) { return __builtin_ffs(a); }
HE_BUILTIN int __ffsll(long long a) { return __builtin_ffsll(a); }
HE_BUILTIN unsigned __brev(unsigned a) {
    a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
    a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
    a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(a);
}
HE_BUILTIN unsigned long long __brevll(unsigned long long a) {
    return (unsigned long long)__brev((unsigned)a) << 32 | __brev((unsigned)(a >> 32));
}
HE_BUILTIN unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (shift & 31)) >> 32);
}
HE_BUILTIN unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned shift) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (shift & 31));
}
template <class A, class B> HE_BUILTIN constexpr typename std::common_type<A, B>::type min(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> HE_BUILTIN constexpr typename std::common_type<A, B>::type max(A a, B b) {
    typedef typename std::common_type<A, B>::type T;
    return (T)a < (T)b ? (T)b : (T)a;
}

// ---- Floating point: one rounding each, since the host build never contracts (-ffp-contract=off) ----

HE_BUILTIN double __dadd_rn(double a, double b) { return a + b; }
HE_BUILTIN double __dsub_rn(double a, double b) { return a - b; }
// GCC's vectorizer makes vfmaddsub of a complex product in spite of that flag: the product is kept in a register of its own.
HE_BUILTIN double __dmul_rn(double a, double b) {
    double product = a * b;
#if defined(__x86_64__)
    asm("" : "+x"(product));
#elif defined(__aarch64__)
    asm("" : "+w"(product));
#endif
    return product;
}
HE_BUILTIN double __ddiv_rn(double a, double b) { return a / b; }
HE_BUILTIN double __dsqrt_rn(double a) { return sqrt(a); }
HE_BUILTIN double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
HE_BUILTIN long long __double_as_longlong(double a) {
    long long bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
HE_BUILTIN double __longlong_as_double(long long bits) {
    double a;
    memcpy(&a, &bits, sizeof a);
    return a;
}
HE_BUILTIN double __ll2double_rn(long long a) { return (double)a; }
HE_BUILTIN double __ull2double_rn(unsigned long long a) { return (double)a; }
HE_BUILTIN double __int2double_rn(int a) { return (double)a; }
HE_BUILTIN double __uint2double_rn(unsigned a) { return (double)a; }
HE_BUILTIN float __uint2float_rn(unsigned a) { return (float)a; }
HE_BUILTIN float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
HE_BUILTIN unsigned __float_as_uint(float a) {
    unsigned bits;
    memcpy(&bits, &a, sizeof bits);
    return bits;
}
// Out of range: the nearest bound, as on the device.
HE_BUILTIN long long __double2ll_rn(double a) {
    a = rint(a);
    if (!(a >= -0x1p63)) return (long long)0x8000000000000000ull;
    return a < 0x1p63 ? (long long)a : 0x7fffffffffffffffll;
}
HE_BUILTIN unsigned long long __double2ull_rn(double a) {
    if (a != a) return 0x8000000000000000ull;
    a = rint(a);
    if (a <= 0) return 0;
    return a < 0x1p64 ? (unsigned long long)a : ~0ull;
}

// ---- Memory ----

template <class T> HE_BUILTIN T __ldg(const T* a) { return *a; }
template <class T> HE_BUILTIN T __ldcs(const T* a) { return *a; }
template <class T> HE_BUILTIN T __ldcg(const T* a) { return *a; }
template <class T> HE_BUILTIN void __stcs(T* a, T value) { *a = value; }
template <class T> HE_BUILTIN void __stcg(T* a, T value) { *a = value; }

HE_BUILTIN void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
HE_BUILTIN void __trap() { __builtin_trap(); }
// A launch is done when its call returns: what waits for another one does so in vain, and should find out soon.
HE_BUILTIN long long clock64() {
    static thread_local long long clocks = 0;
    return clocks += 1ll << 36;
}

#define HE_ATOMICS(T)                                                                                                  \
    HE_BUILTIN T atomicAdd(T* a, T b) { return __atomic_fetch_add(a, b, __ATOMIC_RELAXED); }                           \
    HE_BUILTIN T atomicOr(T* a, T b) { return __atomic_fetch_or(a, b, __ATOMIC_RELAXED); }                             \
    HE_BUILTIN T atomicAnd(T* a, T b) { return __atomic_fetch_and(a, b, __ATOMIC_RELAXED); }                           \
    HE_BUILTIN T atomicXor(T* a, T b) { return __atomic_fetch_xor(a, b, __ATOMIC_RELAXED); }                           \
    HE_BUILTIN T atomicExch(T* a, T b) { return __atomic_exchange_n(a, b, __ATOMIC_RELAXED); }                         \
    HE_BUILTIN T atomicCAS(T* a, T expected, T b) {                                                                    \
        __atomic_compare_exchange_n(a, &expected, b, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                       \
        return expected;                                                                                               \
    }                                                                                                                  \
    HE_BUILTIN T atomicMax(T* a, T b) {                                                                                \
        T old = __atomic_load_n(a, __ATOMIC_RELAXED);                                                                  \
        while (old < b && !__atomic_compare_exchange_n(a, &old, b, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {        \
        }                                                                                                              \
        return old;                                                                                                    \
    }                                                                                                                  \
    HE_BUILTIN T atomicMin(T* a, T b) {                                                                                \
        T old = __atomic_load_n(a, __ATOMIC_RELAXED);                                                                  \
        while (b < old && !__atomic_compare_exchange_n(a, &old, b, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {        \
        }                                                                                                              \
        return old;                                                                                                    \
    }
HE_ATOMICS(int)
HE_ATOMICS(unsigned)
HE_ATOMICS(unsigned long long)
#undef HE_ATOMICS
