// Tiles of products of matrices of bytes, by the units of each generation of devices.
//
// Both operands lie in shared memory as units of 16 bytes of a line, which is a row of the left matrix or a column of the right one:
// [unit of a chunk][line][16]. Eight lines are thus 128 bytes in a row, which is what the matrix units read at a time, without conflicts of
// banks. A thread has sums of rows and lines that are the same for all units of one shape.
#pragma once
#include "launch.cuh"

constexpr u32 UNIT = 16, UNITS = 4, CHUNK = UNIT * UNITS; // bytes of a line
constexpr u32 LEFT_LINES = 128, RIGHT_LINES = 256;        // of a block in global memory
constexpr u32 PRODUCT_THREADS = 256;

typedef unsigned char byte_t;

// Four bytes of a line, from byte `at` of a unit on.
HE_D u32 bytes_at(const byte_t* matrix, u32 lines, u32 unit, u32 line, u32 at) {
    return *reinterpret_cast<const u32*>(matrix + (unit * lines + line) * UNIT + at);
}

// c plus the products of four signed bytes.
HE_D int dot_bytes(u32 a, u32 b, int c) {
#ifdef HE_HOST
    for (u32 i = 0; i < 4; ++i) {
        c += (int)(signed char)(byte_t)(a >> 8 * i) * (int)(signed char)(byte_t)(b >> 8 * i);
    }
    return c;
#else
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(c) : "r"(a), "r"(b));
    return c;
#endif
}

// From the thread whose lane differs in these bits.
HE_D u32 from_lane_xor(u32 x, u32 bits) {
#ifdef HE_HOST
    u32 lane = threadIdx.x % warpSize;
    const void** warp = he_host_published() + (threadIdx.x - lane);
    warp[lane] = &x;
    __syncwarp();
    u32 other = *static_cast<const u32*>(warp[lane ^ bits]);
    __syncwarp();
    return other;
#else
    return __shfl_xor_sync(0xffffffffu, x, bits);
#endif
}

// Four numbers of two bytes in each of four lanes next to each other: lane t gets number t of all of them, from the lowest lane on.
HE_D uint2 transpose_quad(const u32 (&x)[4], u32 t) {
    u32 first = x[0] | x[1] << 16, last = x[2] | x[3] << 16;
    u32 a = t < 2 ? first : last, b = from_lane_xor(t < 2 ? last : first, 2); // of this lane and of lane t ^ 2
    u32 low = (a & 0xffff) | b << 16, high = a >> 16 | (b & 0xffff0000u);
    u32 mine = t % 2 ? high : low, other = from_lane_xor(t % 2 ? low : high, 1); // lanes t and t ^ 2, t ^ 1 and t ^ 3
    u32 even = t % 2 ? other : mine, odd = t % 2 ? mine : other;
    u32 near = (even & 0xffff) | odd << 16, far = even >> 16 | (odd & 0xffff0000u);
    return t < 2 ? make_uint2(near, far) : make_uint2(far, near);
}

// Numbers of four digits, of which each of two lanes next to each other has two of the same number in rows g and g + 8: the even lane gets the
// number of row g, the odd one that of row g + 8.
HE_D i64 meet_digits(const int (&sums)[4], u32 t) {
    i64 x = (i64)sums[0] + (i64)sums[1] * 256, y = (i64)sums[2] + (i64)sums[3] * 256;
    u64 keep = (u64)(t % 2 ? y : x), give = (u64)(t % 2 ? x : y);
    u64 got = from_lane_xor((u32)give, 1) | (u64)from_lane_xor((u32)(give >> 32), 1) << 32;
    return (i64)(t % 2 ? got + (keep << 16) : keep + (got << 16));
}

// The numbers of 16 lines, which `number` makes of their sums: two of a row at a time to f(row, column, first, second), from row `row` and
// column `column` on.
template <class Number, class F>
HE_D void meet_quads(const int (&low)[4], const int (&high)[4], u32 row, u32 column, u32 t, Number number, F f) {
    row += t % 2 * 8;
    u32 x = number(row, column + t / 2, meet_digits(low, t)), y = number(row, column + 2 + t / 2, meet_digits(high, t));
    u32 got = from_lane_xor(t < 2 ? y : x, 2);
    f(row, column + t / 2 * 2, t < 2 ? x : got, t < 2 ? got : y);
}

// 64 rows and 32 lines for each of eight warps. With g = lane / 4 and t = lane % 4, a thread has for each 16 rows i and 8 lines j the sums of
// lines 2t and 2t + 1 in row g, then in row g + 8.
template <u32 STAGED>
struct WarpSums {
    static constexpr u32 ROWS = 64, LINES = RIGHT_LINES, WARP_LINES = 32, PASS_ROWS = STAGED;
    int sums[ROWS / 16][WARP_LINES / 8][4];
    u32 first, g, t;

    HE_D WarpSums() {
        u32 lane = threadIdx.x % warpSize;
        first = threadIdx.x / warpSize * WARP_LINES, g = lane / 4, t = lane % 4;
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; ++i)
#pragma unroll
            for (u32 j = 0; j < WARP_LINES / 8; ++j)
#pragma unroll
                for (u32 e = 0; e < 4; ++e) sums[i][j][e] = 0;
    }

    HE_D void begin() {}
    HE_D void end() {}
    HE_D void finish() {}

    // The sums of a pass over rows that are staged together, by row and line: two lines at a time.
    template <class F>
    HE_D void each(u32 pass, F f) const {
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; ++i) {
            if (i * 16 / PASS_ROWS != pass) continue;
#pragma unroll
            for (u32 j = 0; j < WARP_LINES / 8; ++j)
#pragma unroll
                for (u32 e = 0; e < 4; e += 2) {
                    f(i * 16 % PASS_ROWS + g + e / 2 * 8, first + j * 8 + 2 * t, make_int2(sums[i][j][e], sums[i][j][e + 1]));
                }
        }
    }

    // Numbers of four digits (`meet_quads`) in so many columns.
    template <class Number, class F>
    HE_D void each_quad(u32 columns, Number number, F f) const {
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; ++i)
#pragma unroll
            for (u32 j = 0; j < WARP_LINES / 8; j += 2) {
                if (first / 4 + 2 * j >= columns) continue;
                meet_quads(sums[i][j], sums[i][j + 1], i * 16 + g, first / 4 + 2 * j, t, number, f);
            }
    }

    // A byte of each sum, by row and first line: eight lines at a time.
    template <class Byte, class F>
    HE_D void each_eight(Byte byte, F f) const {
#pragma unroll
        for (u32 i = 0; i < ROWS / 16; ++i)
#pragma unroll
            for (u32 e = 0; e < 4; e += 2) {
                u32 pairs[4];
#pragma unroll
                for (u32 j = 0; j < 4; ++j) pairs[j] = byte(sums[i][j][e]) | byte(sums[i][j][e + 1]) << 8;
                f(i * 16 + g + e / 2 * 8, first + 8 * t, transpose_quad(pairs, t));
            }
    }
};

// By products of four bytes, on any device.
struct DotTile : WarpSums<32> {
    static constexpr u32 STAGES = 3, CHUNKS = 1;
    static constexpr bool BULK = false;

    HE_D void multiply(const byte_t* left, const byte_t* right, [[maybe_unused]] u32 rows, [[maybe_unused]] u32 lines) {
#ifdef HE_HOST // which skips what is not read
        if (first >= lines) return;
#endif
        for (u32 k = 0; k < CHUNK; k += 4) {
            u32 x[ROWS / 8], y[WARP_LINES / 8][2];
#pragma unroll
            for (u32 i = 0; i < ROWS / 8; ++i) x[i] = bytes_at(left, ROWS, k / UNIT, i * 8 + g, k % UNIT);
#pragma unroll
            for (u32 j = 0; j < WARP_LINES / 8; ++j)
#pragma unroll
                for (u32 e = 0; e < 2; ++e) y[j][e] = bytes_at(right, LINES, k / UNIT, first + j * 8 + 2 * t + e, k % UNIT);
#pragma unroll
            for (u32 i = 0; i < ROWS / 16; ++i) {
#ifdef HE_HOST
                if (i * 16 >= rows) break;
#endif
#pragma unroll
                for (u32 j = 0; j < WARP_LINES / 8; ++j)
#pragma unroll
                    for (u32 e = 0; e < 4; ++e) sums[i][j][e] = dot_bytes(x[2 * i + e / 2], y[j][e % 2], sums[i][j][e]);
            }
        }
    }
};

#if defined(HE_HOST) || __CUDA_ARCH__ >= 800

// The sums c of a warp for 16 rows and 8 lines, plus the products of 32 bytes: the fragments of `multiply_bytes` (matrix.cuh),
// of signed bytes.
HE_D void multiply_fragments(int (&c)[4], const u32 (&a)[4], const u32 (&b)[2]) {
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
        for (u32 k = 0; k < 32; k += 4) {
            const Fragments* left = static_cast<const Fragments*>(warp[4 * g + k % 16 / 4]);
            const Fragments* right = static_cast<const Fragments*>(warp[4 * (2 * t + i % 2) + k % 16 / 4]);
            c[i] = dot_bytes(left->a[i / 2 + k / 16 * 2], right->b[k / 16], c[i]);
        }
    }
    __syncwarp();
#else
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

// By the matrix units of compute capability 8.0, warp by warp.
struct WarpTile : WarpSums<64> {
    static constexpr u32 STAGES = 4, CHUNKS = 1;
    static constexpr bool BULK = false;

    HE_D void multiply(const byte_t* left, const byte_t* right, [[maybe_unused]] u32 rows, [[maybe_unused]] u32 lines) {
#ifdef HE_HOST // which skips what is not read
        if (first >= lines) return;
#endif
#pragma unroll
        for (u32 unit = 0; unit < UNITS; unit += 2) {
            u32 x[ROWS / 16][4], y[WARP_LINES / 8][2];
#pragma unroll
            for (u32 i = 0; i < ROWS / 16; ++i)
#pragma unroll
                for (u32 e = 0; e < 4; ++e) x[i][e] = bytes_at(left, ROWS, unit + e / 2, i * 16 + e % 2 * 8 + g, 4 * t);
#pragma unroll
            for (u32 j = 0; j < WARP_LINES / 8; ++j)
#pragma unroll
                for (u32 e = 0; e < 2; ++e) y[j][e] = bytes_at(right, LINES, unit + e, first + j * 8 + g, 4 * t);
#pragma unroll
            for (u32 i = 0; i < ROWS / 16; ++i) {
#ifdef HE_HOST
                if (i * 16 >= rows) break;
#endif
#pragma unroll
                for (u32 j = 0; j < WARP_LINES / 8; ++j) multiply_fragments(sums[i][j], x[i], y[j]);
            }
        }
    }
};

#endif
