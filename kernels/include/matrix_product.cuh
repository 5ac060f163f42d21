// Products of matrices of signed bytes, tile by tile, and what their sums stand for: digits of a number modulo a prime or 2^32, or remainders by
// moduli of eight bits. he-cuda/src/matrix.rs says how they are cut.
#pragma once
#include "async_copy.cuh"
#include "matrix_tiles.cuh"
#include "modular.cuh"

constexpr u32 MOST_MODULI = 20;

// Blocks of the packed left matrix have LEFT_LINES lines, those of the right one RIGHT_LINES; mirrored by `matrix::ProductArgs`.
struct MatrixProductArgs {
    const byte_t *a, *b;
    u64 a_plane, b_plane; // bytes from one plane to the next, of which each is a product of its own: blockIdx.y
    u64 chunks;           // of a block
    u64* c;
    const Prime* prime; // null: modulo 2^32
    u64 weight;         // 2^32 modulo the prime
    const u64* addends; // of each column, or null
    byte_t* remainders; // [plane][row][pitch]
    u64 remainder_plane;
    u32 first, count; // the chunks that are multiplied
    u32 rows, columns;
    u32 digits; // of a number, in lines next to each other; 0: remainders
    u32 add, pitch, unused;
    u32 moduli[MOST_MODULI]; // of the planes of remainders
};

// Waits for all groups of this thread but the last ones.
template <u32 COUNT>
HE_D void wait_copies_but() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(COUNT) : "memory");
#endif
}

// Copies by the unit of compute capability 9.0 for them, which one thread asks for and all wait for: one barrier of shared memory for each
// stage. On the host they are done at once.
template <u32 STAGES>
struct BulkCopies {
    u64* barriers;

    HE_D explicit BulkCopies(byte_t* memory) : barriers(reinterpret_cast<u64*>(memory)) {
#if !defined(HE_HOST) && __CUDA_ARCH__ >= 900
        if (threadIdx.x == 0) {
            for (u32 stage = 0; stage < STAGES; ++stage) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at(stage)) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        }
        __syncthreads();
#endif
    }

    HE_D u32 at(u32 stage) const {
#ifdef HE_HOST
        return stage;
#else
        return (u32)__cvta_generic_to_shared(barriers + stage);
#endif
    }

    // The bytes that the next copies to a stage have together.
    HE_D void expect([[maybe_unused]] u32 stage, [[maybe_unused]] u32 bytes) const {
#if !defined(HE_HOST) && __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(stage)), "r"(bytes) : "memory");
#endif
    }

    HE_D void copy([[maybe_unused]] u32 stage, byte_t* to, const byte_t* from, u32 bytes) const {
#if defined(HE_HOST)
        memcpy(to, from, bytes);
#elif __CUDA_ARCH__ >= 900
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         (u32)__cvta_generic_to_shared(to)),
                     "l"(from), "r"(bytes), "r"(at(stage))
                     : "memory");
#endif
    }

    // For the copies of a stage that is used for the time of this number, from 0.
    HE_D void wait([[maybe_unused]] u32 stage, [[maybe_unused]] u32 time) const {
#if !defined(HE_HOST) && __CUDA_ARCH__ >= 900
        u32 done;
        do {
            asm volatile("{ .reg .pred done; mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2; selp.u32 %0, 1, 0, done; }"
                         : "=r"(done)
                         : "r"(at(stage)), "r"(time & 1)
                         : "memory");
        } while (!done);
#endif
    }
};

// x mod p of a sum of which |x| < 2^31 - 2 p.
struct SmallModulus {
    u32 p, inverse, offset;
    HE_D explicit SmallModulus(u32 p) : p(p), inverse(0xffffffffu / p), offset(((1u << 31) + p - 1) / p * p) {}
    HE_D u32 operator()(int sum) const {
        u32 x = (u32)sum + offset;
        x -= __umulhi(x, inverse) * p;
        x = min(x, x - p);
        return min(x, x - p);
    }
};

template <class Tile>
HE_D void matrix_product(const MatrixProductArgs& a) {
    SHARED(byte_t, memory);
    constexpr u32 LEFT = Tile::ROWS * CHUNK, RIGHT = Tile::LINES * CHUNK, STAGE = Tile::CHUNKS * (LEFT + RIGHT);
    u32 outputs = a.digits ? RIGHT_LINES / a.digits : RIGHT_LINES;
    u32 row_tiles = (a.rows + Tile::ROWS - 1) / Tile::ROWS, column_tiles = (a.columns + outputs - 1) / outputs;
    // Tiles next to each other share operands in the cache.
    constexpr u32 GROUP = 16;
    u32 group = blockIdx.x / (GROUP * column_tiles), within = blockIdx.x % (GROUP * column_tiles);
    u32 height = min(GROUP, row_tiles - group * GROUP);
    u32 row_tile = group * GROUP + within % height, column_tile = within / height, plane = blockIdx.y;
    u32 first_row = row_tile * Tile::ROWS, first_column = column_tile * outputs;
    u32 rows = min(Tile::ROWS, a.rows - first_row);
    u32 lines = min(outputs, a.columns - first_column) * (a.digits ? a.digits : 1);
    const byte_t* left = a.a + plane * a.a_plane + (first_row / LEFT_LINES * a.chunks + a.first) * (LEFT_LINES * CHUNK) +
                         first_row % LEFT_LINES * UNIT;
    const byte_t* right = a.b + plane * a.b_plane + (column_tile * a.chunks + a.first) * (RIGHT_LINES * CHUNK);
    u32 thread = threadIdx.x, steps = (a.count + Tile::CHUNKS - 1) / Tile::CHUNKS;

    BulkCopies<Tile::BULK ? Tile::STAGES : 0> bulk(memory + Tile::STAGES * STAGE);
    auto copy = [&](u32 step) {
        if (step < steps) {
            u32 stage = step % Tile::STAGES, chunks = min(Tile::CHUNKS, a.count - step * Tile::CHUNKS);
            byte_t *to_left = memory + stage * STAGE, *to_right = to_left + Tile::CHUNKS * LEFT;
            const byte_t* from_left = left + (size_t)step * Tile::CHUNKS * (LEFT_LINES * CHUNK);
            const byte_t* from_right = right + (size_t)step * Tile::CHUNKS * (RIGHT_LINES * CHUNK);
            if constexpr (Tile::BULK) {
                static_assert(Tile::ROWS == LEFT_LINES, "chunks are copied as they are");
                if (thread != 0) return;
                bulk.expect(stage, chunks * (LEFT + RIGHT));
                bulk.copy(stage, to_left, from_left, chunks * LEFT);
                constexpr bool IS_WHOLE = Tile::LINES == RIGHT_LINES;
                for (u32 part = 0; part < (IS_WHOLE ? 1 : chunks * UNITS); ++part) {
                    u32 bytes = IS_WHOLE ? chunks * RIGHT : Tile::LINES * UNIT;
                    bulk.copy(stage, to_right + part * bytes, from_right + part * (RIGHT_LINES * UNIT), bytes);
                }
            } else {
                for (u32 u = thread; u < chunks * UNITS * Tile::ROWS; u += PRODUCT_THREADS) {
                    copy_async(to_left + u * UNIT, from_left + (u / Tile::ROWS * LEFT_LINES + u % Tile::ROWS) * UNIT);
                }
                for (u32 u = thread; u < chunks * UNITS * Tile::LINES; u += PRODUCT_THREADS) {
                    copy_async(to_right + u * UNIT, from_right + (u / Tile::LINES * RIGHT_LINES + u % Tile::LINES) * UNIT);
                }
            }
        }
        if constexpr (!Tile::BULK) commit_copies();
    };

    Tile tile;
#pragma unroll
    for (u32 step = 0; step < Tile::STAGES - 2; ++step) copy(step);
    for (u32 step = 0; step < steps; ++step) {
        if constexpr (Tile::BULK) {
            bulk.wait(step % Tile::STAGES, step / Tile::STAGES);
        } else {
            wait_copies_but<Tile::STAGES - 3>();
        }
        __syncthreads();
        // Where the step before the last one was, whose products every thread has finished.
        copy(step + Tile::STAGES - 2);
        const byte_t* stage = memory + step % Tile::STAGES * STAGE;
        u32 chunks = min(Tile::CHUNKS, a.count - step * Tile::CHUNKS);
        for (u32 chunk = 0; chunk < chunks; ++chunk) {
            tile.multiply(stage + chunk * LEFT, stage + Tile::CHUNKS * LEFT + chunk * RIGHT, rows, lines);
        }
        tile.end();
    }
    tile.finish();

    constexpr u32 PITCH = Tile::LINES + 8, PASS_ROWS = Tile::PASS_ROWS; // eight lines of four rows are in different banks
    static_assert(PASS_ROWS * PITCH * sizeof(int) <= Tile::STAGES * STAGE, "sums are staged where the operands were");
    int* sums = reinterpret_cast<int*>(memory);
    SmallModulus modulus(a.digits ? 1 : a.moduli[plane]);
    // Of the columns that there are; exact for products below 2^16.
    u32 width = min(outputs, a.columns - first_column), width_inverse = 0xffffffffu / width + 1;
#pragma unroll 1
    for (u32 pass = 0; pass < Tile::ROWS / PASS_ROWS; ++pass) {
        __syncthreads();
        tile.each(pass, [&](u32 row, u32 line, int2 pair) { *reinterpret_cast<int2*>(sums + row * PITCH + line) = pair; });
        __syncthreads();
        u32 row_of_pass = first_row + pass * PASS_ROWS;
        if (!a.digits) { // always of whole blocks
            for (u32 i = thread; i < PASS_ROWS * Tile::LINES / 4; i += PRODUCT_THREADS) {
                u32 row = i / (Tile::LINES / 4), line = i % (Tile::LINES / 4) * 4;
                if (row_of_pass + row >= a.rows) break;
                int4 quad = *reinterpret_cast<const int4*>(sums + row * PITCH + line);
                u32 packed = modulus(quad.x) | modulus(quad.y) << 8 | modulus(quad.z) << 16 | modulus(quad.w) << 24;
                byte_t* to = a.remainders + plane * a.remainder_plane + (size_t)(row_of_pass + row) * a.pitch;
                *reinterpret_cast<u32*>(to + column_tile * RIGHT_LINES + line) = packed;
            }
            continue;
        }
        for (u32 i = thread; i < PASS_ROWS * width; i += PRODUCT_THREADS) {
            u32 row = width == 1 ? i : __umulhi(i, width_inverse), output = i - row * width, column = first_column + output;
            if (row_of_pass + row >= a.rows) break;
            const int* digits = sums + row * PITCH + output * a.digits;
            u64 low = 0, high = 0; // |low| and |high| are below 2^56
            for (u32 d = 0; d < a.digits; ++d) (d < 4 ? low : high) += (u64)(i64)digits[d] << d % 4 * 8;
            u64* to = a.c + (size_t)(row_of_pass + row) * a.columns + column;
            if (!a.prime) {
                *to = (u32)(low + (a.addends ? a.addends[column] : 0) + (a.add ? *to : 0));
                continue;
            }
            const Prime& p = *a.prime;
            u64 x = reduce_signed_word((i64)low, p);
            if (a.digits > 4) x = add_mod(x, mul_mod(reduce_signed_word((i64)high, p), a.weight, p), p.q);
            *to = a.add ? add_mod(x, *to, p.q) : x;
        }
    }
}
