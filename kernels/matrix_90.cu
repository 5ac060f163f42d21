// architecture: compute_90a
// Products of matrices of bytes by the matrix units, four warps at a time, which read both operands from shared memory.
#include "include/matrix_product.cuh"

#ifndef HE_HOST

// How a matrix lies in shared memory: from `at` on, lines in groups of eight that are 128 bytes apart, units `step` bytes apart.
HE_D u64 matrix_at(u32 at, u32 step) {
    return (u64)(at >> 4 & 0x3fff) | (u64)(step >> 4 & 0x3fff) << 16 | (u64)(128 >> 4) << 32;
}

#define HE_SUMS_8(i) \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), "+r"(d[i + 6]), "+r"(d[i + 7])
#define HE_SUMS_32(i) HE_SUMS_8(i), HE_SUMS_8(i + 8), HE_SUMS_8(i + 16), HE_SUMS_8(i + 24)
#define HE_REGISTERS_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HE_REGISTERS_64 \
    HE_REGISTERS_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define HE_REGISTERS_128 \
    HE_REGISTERS_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

// The sums of 64 rows and 256, 128 or 64 lines, plus the products of 32 bytes.
HE_D void multiply_group(int (&d)[128], u64 left, u64 right) {
    asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" HE_REGISTERS_128
                 "}, %128, %129, add; }"
                 : HE_SUMS_32(0), HE_SUMS_32(32), HE_SUMS_32(64), HE_SUMS_32(96)
                 : "l"(left), "l"(right));
}

HE_D void multiply_group(int (&d)[64], u64 left, u64 right) {
    asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n128k32.s32.s8.s8 {" HE_REGISTERS_64
                 "}, %64, %65, add; }"
                 : HE_SUMS_32(0), HE_SUMS_32(32)
                 : "l"(left), "l"(right));
}

HE_D void multiply_group(int (&d)[32], u64 left, u64 right) {
    asm volatile("{ .reg .pred add; setp.eq.u32 add, 0, 0; wgmma.mma_async.sync.aligned.m64n64k32.s32.s8.s8 {" HE_REGISTERS_32
                 "}, %32, %33, add; }"
                 : HE_SUMS_32(0)
                 : "l"(left), "l"(right));
}

#endif

// 128 rows: 64 for each of two groups of four warps. With g = lane / 4 and t = lane % 4, a thread has for each 8 lines j the sums of lines 2t
// and 2t + 1 in row g of its warp's 16, then in row g + 8.
template <u32 COUNT, u32 DEPTH, u32 STEP, u32 STAGED>
struct GroupTile {
    static constexpr u32 ROWS = 128, LINES = COUNT, STAGES = DEPTH, CHUNKS = STEP, PASS_ROWS = STAGED;
    static constexpr bool BULK = true;
    int sums[LINES / 2];
    u32 warp, g, t;

    HE_D GroupTile() {
        u32 lane = threadIdx.x % warpSize;
        warp = threadIdx.x / warpSize, g = lane / 4, t = lane % 4;
#pragma unroll
        for (u32 i = 0; i < LINES / 2; ++i) sums[i] = 0;
    }

    // Before the products of a step: one group, since the wait for all but one would count those of a chunk each as one.
    HE_D void begin() {
#ifndef HE_HOST
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
    }

    HE_D void multiply(const byte_t* left, const byte_t* right, [[maybe_unused]] u32 rows, [[maybe_unused]] u32 lines) {
#ifdef HE_HOST // which skips what is not read
        for (u32 i = 0; i < LINES / 2; ++i) {
            u32 row = row_of(i), line = line_of(i);
            if (row >= rows || line >= lines) continue;
            for (u32 k = 0; k < CHUNK; k += 4) {
                u32 x = bytes_at(left, ROWS, k / UNIT, row, k % UNIT), y = bytes_at(right, LINES, k / UNIT, line, k % UNIT);
                sums[i] = dot_bytes(x, y, sums[i]);
            }
        }
#else
        u32 a = (u32)__cvta_generic_to_shared(left) + warp / 4 * 64 * UNIT, b = (u32)__cvta_generic_to_shared(right);
#pragma unroll
        for (u32 unit = 0; unit < UNITS; unit += 2) {
            u64 x = matrix_at(a + unit * ROWS * UNIT, ROWS * UNIT), y = matrix_at(b + unit * LINES * UNIT, LINES * UNIT);
            multiply_group(sums, x, y);
        }
#endif
    }

    // All products but those of the last step are finished.
    HE_D void end() {
#ifndef HE_HOST
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
#endif
    }

    HE_D void finish() {
#ifndef HE_HOST
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
        for (u32 i = 0; i < LINES / 2; ++i) asm volatile("" : "+r"(sums[i])::"memory");
#endif
    }

    HE_D u32 row_of(u32 i) const { return warp * 16 + g + i % 4 / 2 * 8; }
    HE_D u32 line_of(u32 i) const { return i / 4 * 8 + 2 * t + i % 2; }

    template <class F>
    HE_D void each(u32 pass, F f) const {
        if (warp * 16 / PASS_ROWS != pass) return;
#pragma unroll
        for (u32 i = 0; i < LINES / 2; i += 2) f(row_of(i) % PASS_ROWS, line_of(i), make_int2(sums[i], sums[i + 1]));
    }

    template <class Number, class F>
    HE_D void each_quad(u32 columns, Number number, F f) const {
#pragma unroll
        for (u32 i = 0; i < LINES / 2; i += 8) {
            if (i / 2 >= columns) continue;
            int low[4] = {sums[i], sums[i + 1], sums[i + 2], sums[i + 3]}, high[4] = {sums[i + 4], sums[i + 5], sums[i + 6], sums[i + 7]};
            meet_quads(low, high, row_of(0), i / 2, t, number, f);
        }
    }

    template <class Byte, class F>
    HE_D void each_eight(Byte byte, F f) const {
#pragma unroll
        for (u32 i = 0; i < LINES / 2; i += 16)
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
                u32 pairs[4];
#pragma unroll
                for (u32 j = 0; j < 4; ++j) pairs[j] = byte(sums[i + 4 * j + e]) | byte(sums[i + 4 * j + e + 1]) << 8;
                f(row_of(e), i / 4 * 8 + 8 * t, transpose_quad(pairs, t));
            }
    }
};

KERNEL(matrix_product_90, MatrixProductArgs, PRODUCT_THREADS, 1) { matrix_product<GroupTile<256, 4, 2, 128>>(a); }

// For few columns, whose digits are in the first 128 or 64 lines.
KERNEL(matrix_product_90_128, MatrixProductArgs, PRODUCT_THREADS, 2) { matrix_product<GroupTile<128, 3, 2, 64>>(a); }
KERNEL(matrix_product_90_64, MatrixProductArgs, PRODUCT_THREADS, 3) { matrix_product<GroupTile<64, 3, 2, 128>>(a); }
