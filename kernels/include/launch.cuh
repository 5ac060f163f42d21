// What every kernel file includes first: integer types and the form of a kernel, for NVRTC and for the host alike.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
typedef unsigned __int128 u128; // NVRTC: --device-int128

#ifdef HE_HOST // kernels/host/shim.h, in front of everything

#define HE_HD inline __attribute__((always_inline))
#define HE_D inline __attribute__((always_inline))

// A function that the emulator finds by its name and calls once for each thread, and the most threads of its blocks.
#define KERNEL(name, Args, threads, blocks)                                                                            \
    static_assert(sizeof(Args) <= 4096, "a kernel's parameters take at most 4096 bytes");                              \
    static inline void name##_body(const Args& a);                                                                     \
    extern "C" {                                                                                                       \
    HE_EXPORT extern const unsigned name##_threads;                                                                    \
    const unsigned name##_threads = (threads);                                                                         \
    HE_EXPORT void name(const void* a) { name##_body(*static_cast<const Args*>(a)); }                                  \
    }                                                                                                                  \
    static inline void name##_body([[maybe_unused]] const Args& a)

#define SHARED(type, name) type* const name = reinterpret_cast<type*>(he_host_shared)

#else

#define HE_HD __host__ __device__ __forceinline__
#define HE_D __device__ __forceinline__

// A kernel with one parameter, `a`; at most `threads` threads in a block, at least `blocks` blocks on a multiprocessor.
#define KERNEL(name, Args, threads, blocks)                                                                            \
    extern "C" __global__ void __launch_bounds__(threads, blocks) name(const __grid_constant__ Args a)

// The start of the block's dynamic shared memory.
#define SHARED(type, name)                                                                                             \
    extern __shared__ __align__(16) unsigned char he_shared[];                                                         \
    type* const name = reinterpret_cast<type*>(he_shared)

#endif

// Tells the compiler that an address is one of global memory. Of addresses that come from memory it assumes so only in kernels without
// `asm`; otherwise loads from them wait for those from shared memory.
template <class T>
HE_D const T* in_global(const T* p) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isGlobal(p));
#endif
    return p;
}
