// Kernels that test the emulator, right and wrong ones.
#include "cluster.cuh"
#include "launch.cuh"

struct Copy {
    const u64* from;
    u64* to;
    u64 count;
};

// Reverses each block's part through shared memory.
KERNEL(reverse_shared, Copy, 1024, 1) {
    SHARED(u64, part);
    u64 base = (u64)blockIdx.x * blockDim.x;
    part[threadIdx.x] = a.from[base + threadIdx.x];
    __syncthreads();
    a.to[base + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

// The same without the barrier.
KERNEL(reverse_racy, Copy, 1024, 1) {
    SHARED(u64, part);
    u64 base = (u64)blockIdx.x * blockDim.x;
    part[threadIdx.x] = a.from[base + threadIdx.x];
    a.to[base + threadIdx.x] = part[blockDim.x - 1 - threadIdx.x];
}

// Every block of a cluster gives its part to the next one.
CLUSTER_KERNEL(pass_on, Copy, 256, 3) {
    SHARED(double2, part);
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    OfBlock(part, (blockIdx.x + 1) % 3).store(threadIdx.x, make_double2((double)a.from[i], 0.0));
    sync_cluster();
    a.to[i] = (u64)part[threadIdx.x].x;
}

// The number of the block that runs last.
KERNEL(last_block, Copy, 1024, 1) { a.to[0] = blockIdx.x; }

// Sums of each block's first elements, by Hillis and Steele; threads behind the end leave early.
KERNEL(prefix_sum, Copy, 256, 1) {
    SHARED(u64, sums);
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count) return;
    sums[threadIdx.x] = a.from[i];
    __syncthreads();
#pragma unroll
    for (u32 step = 1; step < 256; step *= 2) {
        u64 sum = sums[threadIdx.x] + (threadIdx.x >= step ? sums[threadIdx.x - step] : 0);
        __syncthreads();
        sums[threadIdx.x] = sum;
        __syncthreads();
    }
    a.to[i] = sums[threadIdx.x];
}

// Sums of warps by halves, with warp barriers only.
KERNEL(warp_sum, Copy, 1024, 1) {
    SHARED(u64, sums);
    u32 lane = threadIdx.x % 32;
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    sums[threadIdx.x] = a.from[i];
    __syncwarp();
    for (u32 half = 16; half > 0; half /= 2) {
        u64 sum = lane < half ? sums[threadIdx.x] + sums[threadIdx.x + half] : 0;
        __syncwarp();
        if (lane < half) sums[threadIdx.x] = sum;
        __syncwarp();
    }
    if (lane == 0) a.to[i / 32] = sums[threadIdx.x];
}

// Each thread of a 3-D grid writes its number.
KERNEL(number_threads, Copy, 1024, 1) {
    u64 block = ((u64)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    u64 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    u64 number = block * blockDim.x * blockDim.y * blockDim.z + thread;
    a.to[number] = number;
}

// Writes one element behind the end.
KERNEL(write_behind, Copy, 64, 1) { a.to[threadIdx.x + 1] = threadIdx.x; }

// Writes one element behind its shared memory.
KERNEL(write_behind_shared, Copy, 64, 1) {
    SHARED(u64, part);
    part[threadIdx.x + 1] = threadIdx.x;
}

// Reads shared memory that nobody wrote.
KERNEL(read_unwritten, Copy, 64, 1) {
    SHARED(u64, part);
    a.to[threadIdx.x] = part[threadIdx.x];
}

// Half of the threads wait elsewhere.
KERNEL(two_barriers, Copy, 64, 1) {
    if (threadIdx.x % 2) {
        __syncthreads();
        a.to[threadIdx.x] = 1;
    } else {
        a.to[threadIdx.x] = 0;
        __syncthreads();
    }
}

// Maximum and sum of all, by atomics.
KERNEL(reduce_atomic, Copy, 1024, 1) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    atomicMax(&a.to[0], a.from[i]);
    atomicAdd(&a.to[1], a.from[i]);
    atomicOr(&a.to[2], a.from[i]);
}

struct Floats {
    const double *x, *y, *z;
    double* to; // fma, product and sum apart, error of the product
    u64 count;
};

KERNEL(float64, Floats, 256, 1) {
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= a.count) return;
    double x = a.x[i], y = a.y[i], z = a.z[i];
    a.to[4 * i] = __fma_rn(x, y, z);
    a.to[4 * i + 1] = x * y + z == __dadd_rn(__dmul_rn(x, y), z) ? __dadd_rn(__dmul_rn(x, y), z) : 0;
    a.to[4 * i + 2] = fma(x, y, -__dmul_rn(x, y));
    a.to[4 * i + 3] = __ull2double_rn(__double2ull_rn(x)) + rint(z);
}

// One word for each built-in function.
KERNEL(built_ins, Copy, 1, 1) {
    u64 x = __ldg(a.from), y = __ldg(a.from + 1);
    a.to[0] = __umul64hi(x, y);
    a.to[1] = __brevll(x);
    a.to[2] = __brev((u32)x);
    a.to[3] = (u64)__popcll(x) << 32 | (u32)__popc((u32)x);
    a.to[4] = __funnelshift_l((u32)x, (u32)(x >> 32), 7);
    a.to[5] = (u64)__double_as_longlong(__ll2double_rn((i64)x));
    a.to[6] = (u64)__double2ll_rn(__longlong_as_double((i64)y));
    a.to[7] = (u64)((u128)x * y >> 64);
    ulonglong2 pair = make_ulonglong2(x, y);
    *reinterpret_cast<ulonglong2*>(a.to + 8) = pair;
    a.to[10] = min(x, y);
    a.to[11] = max(x, y);
}

// For timing: one barrier after another.
KERNEL(many_barriers, Copy, 1024, 1) {
    for (u64 i = 0; i < a.count; i++) __syncthreads();
}

// For timing: nothing.
KERNEL(nothing, Copy, 1024, 1) {
    if (a.count == 12345) a.to[threadIdx.x] = 0;
}
