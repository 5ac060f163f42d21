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
    u64 a_plane, b_plane; // bytes from one plane to the next, of which each is a product of its own
    u64 chunks;           // of a block
    u64* c;
    const Prime* prime; // null: modulo 2^32
    u64 weight;         // 2^32 modulo the prime
    const u64* addends; // of each column, or null
    byte_t* remainders; // [plane][row][pitch]
    u64 remainder_plane;
    u32 first, count; // the chunks that are multiplied: an even number
    u32 rows, columns;
    u32 digits; // of a number, in lines next to each other; 0: remainders
    u32 add, pitch, planes;
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

    // What threads have done to shared memory is before the copies that follow a barrier.
    HE_D void fence() const {
#if !defined(HE_HOST) && __CUDA_ARCH__ >= 900
        if constexpr (STAGES > 0) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
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
#ifdef HE_HOST
        __syncthreads();
#elif __CUDA_ARCH__ >= 900
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

// A tile of one plane, by its number: tiles next to each other share operands in the cache.
struct TilePlace {
    u32 plane, first_row, column_tile;

    template <class Tile>
    HE_D static TilePlace of(const MatrixProductArgs& a, u32 number, u32 row_tiles, u32 column_tiles) {
        constexpr u32 GROUP = 16;
        u32 tiles = row_tiles * column_tiles, tile = number % tiles;
        u32 group = tile / (GROUP * column_tiles), within = tile % (GROUP * column_tiles);
        u32 height = min(GROUP, row_tiles - group * GROUP);
        return {number / tiles, (group * GROUP + within % height) * Tile::ROWS, within / height};
    }

    HE_D const byte_t* left(const MatrixProductArgs& a) const {
        const byte_t* block = a.a + plane * a.a_plane + (first_row / LEFT_LINES * a.chunks + a.first) * (LEFT_LINES * CHUNK);
        return block + first_row % LEFT_LINES * UNIT;
    }

    HE_D const byte_t* right(const MatrixProductArgs& a) const {
        return a.b + plane * a.b_plane + (column_tile * a.chunks + a.first) * (RIGHT_LINES * CHUNK);
    }
};

// The shared memory of a product: stages of operands, in whose place sums are staged, then the barriers of the copies. Mirrored by
// `kernels::matrix_stages`.
template <class Tile>
struct TileMemory {
    static constexpr u32 LEFT = Tile::ROWS * CHUNK, RIGHT = Tile::LINES * CHUNK, STAGE = Tile::CHUNKS * (LEFT + RIGHT);
    static constexpr u32 BARRIERS = Tile::STAGES * STAGE;
    static constexpr u32 PITCH = Tile::LINES + 8; // eight lines of four rows are in different banks
    static_assert(Tile::PASS_ROWS * PITCH * sizeof(int) <= BARRIERS, "sums are staged where the operands were");
};

// Copies of the operands of one tile after the other, a few stages ahead of the products.
template <class Tile>
struct TileCopies {
    using Memory = TileMemory<Tile>;
    const MatrixProductArgs& a;
    byte_t* memory;
    BulkCopies<Tile::BULK ? Tile::STAGES : 0> bulk;
    u32 row_tiles, column_tiles, total, steps;
    u32 number, step = 0, issued = 0; // of the tile and its step that are copied next, and the stages so far
    const byte_t *left = nullptr, *right = nullptr;

    HE_D TileCopies(const MatrixProductArgs& a, byte_t* memory, u32 outputs)
        : a(a), memory(memory), bulk(memory + Memory::BARRIERS), number(blockIdx.x) {
        row_tiles = (a.rows + Tile::ROWS - 1) / Tile::ROWS, column_tiles = (a.columns + outputs - 1) / outputs;
        total = row_tiles * column_tiles * a.planes, steps = a.count / Tile::CHUNKS;
        start();
    }

    HE_D TilePlace place(u32 of) const { return TilePlace::of<Tile>(a, of, row_tiles, column_tiles); }

    // Before the first step of a tile.
    HE_D void start() {
        if (number >= total) return;
        TilePlace to = place(number);
        left = to.left(a), right = to.right(a);
    }

    // The next stage, if there is one up to the last tile.
    HE_D void copy(u32 last) {
        if (number <= last && number < total) {
            if (step < steps) copy_stage();
            ++issued;
            if (++step >= steps) step = 0, number += gridDim.x, start();
        }
        if constexpr (!Tile::BULK) commit_copies();
    }

    HE_D void copy_stage() {
        u32 stage = issued % Tile::STAGES;
        byte_t *to_left = memory + stage * Memory::STAGE, *to_right = to_left + Tile::CHUNKS * Memory::LEFT;
        const byte_t* from_left = left + (size_t)step * Tile::CHUNKS * (LEFT_LINES * CHUNK);
        const byte_t* from_right = right + (size_t)step * Tile::CHUNKS * (RIGHT_LINES * CHUNK);
        if constexpr (Tile::BULK) {
            static_assert(Tile::ROWS == LEFT_LINES, "chunks are copied as they are");
            if (threadIdx.x != 0) return;
            bulk.expect(stage, Memory::STAGE);
            bulk.copy(stage, to_left, from_left, Tile::CHUNKS * Memory::LEFT);
            constexpr bool IS_WHOLE = Tile::LINES == RIGHT_LINES;
            for (u32 part = 0; part < (IS_WHOLE ? 1 : Tile::CHUNKS * UNITS); ++part) {
                u32 bytes = IS_WHOLE ? Tile::CHUNKS * Memory::RIGHT : Tile::LINES * UNIT;
                bulk.copy(stage, to_right + part * bytes, from_right + part * (RIGHT_LINES * UNIT), bytes);
            }
        } else {
            for (u32 u = threadIdx.x; u < Tile::CHUNKS * UNITS * Tile::ROWS; u += PRODUCT_THREADS) {
                copy_async(to_left + u * UNIT, from_left + (u / Tile::ROWS * LEFT_LINES + u % Tile::ROWS) * UNIT);
            }
            for (u32 u = threadIdx.x; u < Tile::CHUNKS * UNITS * Tile::LINES; u += PRODUCT_THREADS) {
                copy_async(to_right + u * UNIT, from_right + (u / Tile::LINES * RIGHT_LINES + u % Tile::LINES) * UNIT);
            }
        }
    }

    // For the stage of this number.
    HE_D void wait(u32 used) const {
        if constexpr (Tile::BULK) {
            bulk.wait(used % Tile::STAGES, used / Tile::STAGES);
        } else {
            wait_copies_but<Tile::STAGES - 2>();
            __syncthreads();
        }
    }
};

// Numbers of four digits to the result, two of a row at a time.
template <class Tile>
HE_D void write_quads(const MatrixProductArgs& a, const Tile& tile, const TilePlace& place) {
    u64* rows = a.c + (size_t)place.first_row * a.columns;
    u32 first_column = place.column_tile * (RIGHT_LINES / 4), height = a.rows - place.first_row;
    bool is_even = a.columns % 2 == 0 && reinterpret_cast<size_t>(a.c) % 16 == 0;
    tile.each_quad(a.columns - first_column, [&](u32 row, u32 column, i64 sum) -> u32 {
        column += first_column;
        bool is_there = row < height && column < a.columns;
        u64 old = is_there && a.add ? rows[(size_t)row * a.columns + column] : 0;
        if (!a.prime) return (u32)((u64)sum + (is_there && a.addends ? a.addends[column] : 0) + old);
        u64 x = reduce_signed_word(sum, *a.prime);
        return (u32)(a.add ? add_mod(x, old, a.prime->q) : x);
    },
                   [&](u32 row, u32 column, u32 first, u32 second) {
                       column += first_column;
                       if (row >= height || column >= a.columns) return;
                       u64* to = rows + (size_t)row * a.columns + column;
                       if (is_even) {
                           *reinterpret_cast<ulonglong2*>(to) = make_ulonglong2(first, second);
                           return;
                       }
                       to[0] = first;
                       if (column + 1 < a.columns) to[1] = second;
                   });
}

// Numbers of any digits, which meet in shared memory.
template <class Tile>
HE_D void write_numbers(const MatrixProductArgs& a, const Tile& tile, const TilePlace& place, u32 outputs, int* sums) {
    constexpr u32 PITCH = TileMemory<Tile>::PITCH, PASS_ROWS = Tile::PASS_ROWS;
    u32 first_column = place.column_tile * outputs;
    // Of the columns that there are; exact for products below 2^16.
    u32 width = min(outputs, a.columns - first_column), width_inverse = 0xffffffffu / width + 1;
#pragma unroll 1
    for (u32 pass = 0; pass < Tile::ROWS / PASS_ROWS; ++pass) {
        __syncthreads();
        tile.each(pass, [&](u32 row, u32 line, int2 pair) { *reinterpret_cast<int2*>(sums + row * PITCH + line) = pair; });
        __syncthreads();
        u32 row_of_pass = place.first_row + pass * PASS_ROWS;
        for (u32 i = threadIdx.x; i < PASS_ROWS * width; i += PRODUCT_THREADS) {
            u32 row = width == 1 ? i : __umulhi(i, width_inverse), output = i - row * width, column = first_column + output;
            if (row_of_pass + row >= a.rows) break;
            const int* digits = sums + row * PITCH + output * a.digits;
            u64 low = 0, high = 0; // |low| and |high| are below 2^56
            for (u32 d = 0; d < a.digits; ++d) (d < 4 ? low : high) += (u64)(i64)digits[d] << d % 4 * 8;
            u64* to = a.c + (size_t)(row_of_pass + row) * a.columns + column;
            const Prime& p = *a.prime;
            u64 x = reduce_signed_word((i64)low, p);
            if (a.digits > 4) x = add_mod(x, mul_mod(reduce_signed_word((i64)high, p), a.weight, p), p.q);
            *to = a.add ? add_mod(x, *to, p.q) : x;
        }
    }
}

// Remainders of the sums, eight lines of a row at a time; all lines of a block are there.
template <class Tile>
HE_D void write_remainders(const MatrixProductArgs& a, const Tile& tile, const TilePlace& place) {
    SmallModulus modulus(a.moduli[place.plane]);
    byte_t* to = a.remainders + place.plane * a.remainder_plane + (size_t)place.first_row * a.pitch + place.column_tile * RIGHT_LINES;
    u32 height = a.rows - place.first_row;
    tile.each_eight([&](int sum) { return modulus(sum); },
                    [&](u32 row, u32 line, uint2 eight) {
                        if (row < height) *reinterpret_cast<uint2*>(to + (size_t)row * a.pitch + line) = eight;
                    });
}

template <class Tile>
HE_D void matrix_product(const MatrixProductArgs& a) {
    SHARED(byte_t, memory);
    using Memory = TileMemory<Tile>;
    u32 outputs = a.digits ? RIGHT_LINES / a.digits : RIGHT_LINES;
    TileCopies<Tile> copies(a, memory, outputs);
    // Copies for the next tile begin before this one is finished, unless its sums are staged in their place.
    bool is_staged = a.digits != 0 && a.digits != 4;
    u32 used = 0;
#pragma unroll 1
    for (u32 number = blockIdx.x; number < copies.total; number += gridDim.x) {
        TilePlace place = copies.place(number);
        u32 rows = min(Tile::ROWS, a.rows - place.first_row);
        u32 lines = min(outputs, a.columns - place.column_tile * outputs) * (a.digits ? a.digits : 1);
        u32 last = is_staged ? number : copies.total;
        Tile tile;
        for (u32 i = copies.issued; i < used + Tile::STAGES - 1; ++i) copies.copy(last);
        for (u32 step = 0; step < copies.steps; ++step, ++used) {
            copies.wait(used);
            if constexpr (!Tile::BULK) copies.copy(last);
            const byte_t *left = memory + used % Tile::STAGES * Memory::STAGE, *right = left + Tile::CHUNKS * Memory::LEFT;
            tile.begin();
#pragma unroll
            for (u32 i = 0; i < Tile::CHUNKS; ++i) tile.multiply(left + i * Memory::LEFT, right + i * Memory::RIGHT, rows, lines);
            tile.end();
            if constexpr (Tile::BULK) {
                // All products but those of this step are finished, so that there is room for another one.
                __syncthreads();
                copies.copy(last);
            }
        }
        tile.finish();
        if (!a.digits) {
            write_remainders(a, tile, place);
        } else if (!is_staged) {
            write_quads(a, tile, place);
        } else {
            write_numbers(a, tile, place, outputs, reinterpret_cast<int*>(memory));
            copies.bulk.fence();
            __syncthreads();
        }
    }
}
