// Products of matrices of bytes in the matrix units (compute capability 8.0 on).
#pragma once
#include "launch.cuh"

// The sums c of a warp for 16 rows and 8 columns, plus the product of 16 rows of 32 bytes with 32 rows of 8 bytes. With g = lane / 4
// and t = lane % 4, a thread has of the left matrix bytes 4t ... 4t + 3 of row g (a[0]) and of row g + 8 (a[1]), and those 16 further
// (a[2], a[3]); of the right one rows 4t ... 4t + 3 of column g (b[0]), and those 16 further (b[1]); and the sums of columns 2t and
// 2t + 1 in row g (c[0], c[1]) and in row g + 8. All threads of the warp call it.
HE_D void multiply_bytes(u32 (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
#ifdef HE_HOST
    struct Fragments {
        u32 a[4], b[2];
    };
    Fragments mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
    u32 lane = threadIdx.x % warpSize, g = lane / 4, t = lane % 4;
    const void** warp = he_host_published() + (threadIdx.x - lane);
    warp[lane] = &mine;
    __syncwarp();
    for (u32 i = 0; i < 4; ++i) {
        for (u32 k = 0; k < 32; ++k) {
            const Fragments* left = static_cast<const Fragments*>(warp[4 * g + k % 16 / 4]);
            const Fragments* right = static_cast<const Fragments*>(warp[4 * (2 * t + i % 2) + k % 16 / 4]);
            u32 x = left->a[i / 2 + k / 16 * 2] >> k % 4 * 8, y = right->b[k / 16] >> k % 4 * 8;
            c[i] += (x & 255) * (y & 255);
        }
    }
    __syncwarp();
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}
