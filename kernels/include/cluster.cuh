// Clusters: blocks that run at once on neighbouring multiprocessors and write to each other's shared memory. Compute capability 9.0.
#pragma once
#include "launch.cuh"

#ifdef HE_HOST

// Like KERNEL; the grid's first dimension is a multiple of `ranks`, the blocks of a cluster.
#define CLUSTER_KERNEL(name, Args, threads, ranks)                                                                     \
    extern "C" {                                                                                                       \
    HE_EXPORT extern const unsigned name##_ranks;                                                                      \
    const unsigned name##_ranks = (ranks);                                                                             \
    }                                                                                                                  \
    KERNEL(name, Args, threads, 1)

#else

#define CLUSTER_KERNEL(name, Args, threads, ranks)                                                                     \
    extern "C" __global__ void __cluster_dims__(ranks, 1, 1) __launch_bounds__(threads, 1) name(const __grid_constant__ Args a)

#endif

// All threads of the cluster; what they wrote before to the shared memory of any block is there.
HE_D void sync_cluster() {
#ifdef HE_HOST
    he_host_cluster_barrier();
#else
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// The same place in the shared memory of block `rank` of the cluster.
struct OfBlock {
#ifdef HE_HOST
    unsigned char* at;
    HE_D OfBlock(void* place, u32 rank) : at(he_host_shared_of(rank) + (static_cast<unsigned char*>(place) - he_host_shared)) {}
    HE_D void store(u32 index, double2 x) const { reinterpret_cast<double2*>(at)[index] = x; }
#else
    u32 at;
    HE_D OfBlock(void* place, u32 rank) {
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"((u32)__cvta_generic_to_shared(place)), "r"(rank));
    }
    HE_D void store(u32 index, double2 x) const {
        asm volatile("st.shared::cluster.v2.f64 [%0], {%1, %2};" ::"r"(at + 16 * index), "d"(x.x), "d"(x.y) : "memory");
    }
#endif
};
