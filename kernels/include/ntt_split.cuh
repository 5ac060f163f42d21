// Kernels of degrees that take two: the high bits of the index (columns), and the low ones (rows).
#pragma once
#include "ntt.cuh"

// How a block computes: the arithmetic, and log2 of the points of a thread and of the words of the block.
template <class A, u32 LOG, u32 TILE>
struct Way {
    typedef A Arithmetic;
    static constexpr u32 POINTS = LOG, WORDS = TILE;
};
// Calls `f` with the way of a tile's prime, what the block has of the tile, and the roots.
template <u32 LOG, u32 TILE, class Args, class F>
HE_D void by_arithmetic(const Args& a, const Tile& t, const Roots& roots, F f) {
    if (roots.is_short) {
        f(Way<Fp64, LOG, TILE>{}, t, table_of<Fp64>(a, roots));
        return;
    }
    const auto table = table_of<U64>(a, roots);
    if constexpr (Args::HALVES) {
        f(Way<U64, LOG - 1, TILE - 1>{}, half_of(t, a.strips[blockIdx.y].half()), table);
    } else {
        f(Way<U64, LOG, TILE>{}, t, table);
    }
}

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, bool CONVERT, class Args>
HE_D void forward_split_columns(const Args& a) {
    Tile whole = tile_of(a);
    if (is_absent(a, whole)) return;
    const auto& p = prime_of_tile<LOG>(a, whole);
    by_arithmetic<LOG, TILE>(a, whole, forward_roots_of(a, whole, p), [&](auto way, const Tile& t, const auto& table) {
        typedef decltype(way) W;
        auto words = reading<W::POINTS>([&] {
            if constexpr (CONVERT) return Words<W::POINTS>{};
            else return read_columns<W::POINTS, W::WORDS, BITS, ROW_BITS>(a, t);
        });
        forward_columns<W::POINTS, W::WORDS, BITS, ROW_BITS, CONVERT>(a, t, p, table, typename W::Arithmetic(p), words);
    });
}

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, class Args, class Also>
HE_D void inverse_split_columns(const Args& a, Also also) {
    Tile whole = tile_of_second(a);
    const auto& p = prime_of_tile<LOG>(a, whole);
    by_arithmetic<LOG, TILE>(a, whole, inverse_roots_of(a, whole, p), [&](auto way, const Tile& t, const auto& table) {
        typedef decltype(way) W;
        auto words = reading<W::POINTS>([&] {
            constexpr u32 LOG_COLUMNS = W::WORDS - BITS, HIGH = inverse_high<W::POINTS>(LOG_COLUMNS, W::WORDS);
            ColumnIndex<W::WORDS, BITS, ROW_BITS> index(t.tile);
            return read_points<W::POINTS, HIGH, LOG_COLUMNS, false>(placed_row(a, t), threadIdx.x, index);
        });
        inverse_columns<W::POINTS, W::WORDS, BITS, ROW_BITS>(a, t, table, typename W::Arithmetic(p), words, also);
    });
}

constexpr u32 MOST_OTHERS = 3;

// An inverse transform whose results other devices get as well: `count` of them, each with a dst of its own for every polynomial.
// Mirrored by `ntt::SharedArgs`.
struct SharedNttArgs {
    HalvedNttArgs ntt; // as arguments of every kind
    u64* others[MOST_OTHERS][4];
    u32 count, unused;
};

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, class Args>
HE_D void inverse_shared_columns(const SharedNttArgs& a) {
    u64* others[MOST_OTHERS];
#pragma unroll
    for (u32 i = 0; i < MOST_OTHERS; ++i) others[i] = i < a.count ? a.others[i][blockIdx.z] : nullptr;
    inverse_split_columns<LOG, TILE, BITS, ROW_BITS, Args>(a.ntt, [&](u64 word, size_t at) {
#pragma unroll
        for (u32 i = 0; i < MOST_OTHERS; ++i) {
            if (others[i] != nullptr) others[i][at] = word;
        }
    });
}

template <u32 LOG, u32 TILE, u32 BITS, u32 OPERAND, class Args>
HE_D void forward_split_rows(const Args& a) {
    Tile whole = tile_of_second(a);
    if (is_absent(a, whole)) return;
    const auto& p = prime_of_tile<LOG>(a, whole);
    by_arithmetic<LOG, TILE>(a, whole, forward_roots_of(a, whole, p), [&](auto way, const Tile& t, const auto& table) {
        typedef decltype(way) W;
        auto words = reading<W::POINTS>([&] { return read_rows<W::POINTS, W::WORDS, BITS>(a, t); });
        auto acc = reading<W::POINTS>([&] { return read_left<W::POINTS, W::WORDS, OPERAND>(a, t, a.acc); });
        auto acc_right = reading<W::POINTS>([&] { return read_right<W::POINTS, W::WORDS, OPERAND>(a, t, a.acc); });
        auto addend = addend_of<W::POINTS, W::WORDS, OPERAND>(a, t);
        forward_rows<W::POINTS, W::WORDS, BITS, false, false, OPERAND>(a, t, p, table, typename W::Arithmetic(p), words, acc, acc_right, addend);
    });
}

template <u32 LOG, u32 TILE, u32 BITS, u32 OPERAND, class Args>
HE_D void inverse_split_rows(const Args& a) {
    Tile whole = tile_of(a);
    const auto& p = prime_of_tile<LOG>(a, whole);
    by_arithmetic<LOG, TILE>(a, whole, inverse_roots_of(a, whole, p), [&](auto way, const Tile& t, const auto& table) {
        typedef decltype(way) W;
        auto left = reading<W::POINTS>([&] { return read_left<W::POINTS, W::WORDS, OPERAND>(a, t, a.src); });
        auto right = reading<W::POINTS>([&] { return read_right<W::POINTS, W::WORDS, OPERAND>(a, t, a.src); });
        inverse_rows<W::POINTS, W::WORDS, BITS, false, OPERAND>(a, t, p, table, typename W::Arithmetic(p), left, right);
    });
}

// ARGS say whether there are few rows, and if so, whether tiles of wide primes are halved. The blocks of a multiprocessor of each kind of
// kernels, by which compilers distribute registers, come last.
#define FORWARD_COLUMNS_KERNEL(NAME, ARGS, LOG, TILE, BITS, ROW_BITS, BLOCKS) \
    KERNEL(NAME, ARGS, 1 << (TILE - LOG), BLOCKS) { forward_split_columns<LOG, TILE, BITS, ROW_BITS, false>(a); }
#define COLUMN_KERNELS(NAME, ARGS, CONVERT_ARGS, LOG, TILE, BITS, ROW_BITS, FORWARD, CONVERT, INVERSE, SHARED_INVERSE)              \
    FORWARD_COLUMNS_KERNEL(NAME, ARGS, LOG, TILE, BITS, ROW_BITS, FORWARD)                                                          \
    KERNEL(NAME##_convert, CONVERT_ARGS, 1 << (TILE - LOG), CONVERT) { forward_split_columns<LOG, TILE, BITS, ROW_BITS, true>(a); } \
    KERNEL(NAME##_inverse, ARGS, 1 << (TILE - LOG), INVERSE) {                                                                      \
        inverse_split_columns<LOG, TILE, BITS, ROW_BITS>(a, [](u64, size_t) {});                                                    \
    }                                                                                                                               \
    KERNEL(NAME##_inverse_shared, SharedNttArgs, 1 << (TILE - LOG), SHARED_INVERSE) {                                               \
        inverse_shared_columns<LOG, TILE, BITS, ROW_BITS, ARGS>(a);                                                                 \
    }

#define ROW_KERNELS(NAME, ARGS, LOG, TILE, BITS, FORWARD, SUB, INVERSE, PRODUCT, TENSOR_INVERSE)                               \
    KERNEL(NAME, ARGS, 1 << (TILE - LOG), FORWARD) { forward_split_rows<LOG, TILE, BITS, NOTHING>(a); }                        \
    KERNEL(NAME##_sub, ARGS, 1 << (TILE - LOG), SUB) { forward_split_rows<LOG, TILE, BITS, WORDS>(a); }                        \
    KERNEL(NAME##_sub_tensor, ARGS, 1 << (TILE - LOG), SUB) { forward_split_rows<LOG, TILE, BITS, TENSOR>(a); }                \
    KERNEL(NAME##_inverse, ARGS, 1 << (TILE - LOG), INVERSE) { inverse_split_rows<LOG, TILE, BITS, WORDS>(a); }                \
    KERNEL(NAME##_inverse_product, ARGS, 1 << (TILE - LOG), PRODUCT) { inverse_split_rows<LOG, TILE, BITS, LAST_PRODUCT>(a); } \
    KERNEL(NAME##_inverse_tensor, ARGS, 1 << (TILE - LOG), TENSOR_INVERSE) { inverse_split_rows<LOG, TILE, BITS, TENSOR>(a); }

// The kernels for few rows: the low nine bits of the index, and the high ones of each degree.
#define FINE_KERNELS(NAME, ARGS)                                                          \
    ROW_KERNELS(NAME##_rows, ARGS, 3, 10, 9, 6, 5, 6, 6, 5)                               \
    COLUMN_KERNELS(NAME##12_columns, ARGS, ConvertNttArgs<ARGS>, 3, 10, 3, 9, 6, 4, 6, 6) \
    COLUMN_KERNELS(NAME##13_columns, ARGS, ConvertNttArgs<ARGS>, 3, 10, 4, 9, 6, 4, 6, 6) \
    COLUMN_KERNELS(NAME##14_columns, ARGS, ConvertNttArgs<ARGS>, 3, 10, 5, 9, 6, 4, 6, 6) \
    COLUMN_KERNELS(NAME##15_columns, ARGS, ConvertNttArgs<ARGS>, 3, 10, 6, 9, 6, 4, 6, 6)
