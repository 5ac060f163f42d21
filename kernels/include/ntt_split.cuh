// Kernels of degrees that take two: the high bits of the index (columns), and the low ones (rows).
#pragma once
#include "ntt.cuh"

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, bool CONVERT>
HE_D void forward_split_columns(const NttArgs& a) {
    Tile t = tile_of(a);
    if (is_absent(a, t)) return;
    const auto& p = prime_of_tile<LOG>(a, t);
    auto words = reading<LOG>([&] {
        if constexpr (CONVERT) return Words<LOG>{};
        else return read_columns<LOG, TILE, BITS, ROW_BITS>(a, t);
    });
    bool own = is_own(a, t);
    read_before_branch<LOG>();
    if (own) {
        if (a.own == COPY_OWN) copy_own<TILE>(a, t);
        return;
    }
    if (p.is_short) {
        forward_columns<LOG, TILE, BITS, ROW_BITS, CONVERT>(a, t, p, Fp64(p), words);
    } else {
        forward_columns<LOG, TILE, BITS, ROW_BITS, CONVERT>(a, t, p, U64(p), words);
    }
}

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS, class Also>
HE_D void inverse_split_columns(const NttArgs& a, const Tile& t, Also also) {
    const auto& p = prime_of_tile<LOG>(a, t);
    constexpr u32 LOG_COLUMNS = TILE - BITS;
    auto words = reading<LOG>([&] {
        constexpr u32 HIGH = inverse_high<LOG>(LOG_COLUMNS, TILE);
        return read_points<LOG, HIGH, LOG_COLUMNS>(placed_row(a, t), threadIdx.x, ColumnIndex<TILE, BITS, ROW_BITS>(t.tile));
    });
    if (p.is_short) {
        inverse_columns<LOG, TILE, BITS, ROW_BITS>(a, t, p, Fp64(p), words, also);
    } else {
        inverse_columns<LOG, TILE, BITS, ROW_BITS>(a, t, p, U64(p), words, also);
    }
}

constexpr u32 MOST_OTHERS = 3;

// An inverse transform whose results other devices get as well: `count` of them, each with a dst of its own for every polynomial.
// Mirrored by `ntt::SharedArgs`.
struct SharedNttArgs {
    NttArgs ntt;
    u64* others[MOST_OTHERS][4];
    u32 count, unused;
};

template <u32 LOG, u32 TILE, u32 BITS, u32 ROW_BITS>
HE_D void inverse_shared_columns(const SharedNttArgs& a) {
    Tile t = tile_of_second<LOG>(a.ntt);
    u64* others[MOST_OTHERS];
#pragma unroll
    for (u32 i = 0; i < MOST_OTHERS; ++i) others[i] = i < a.count ? a.others[i][t.part] : nullptr;
    inverse_split_columns<LOG, TILE, BITS, ROW_BITS>(a.ntt, t, [&](u64 word, size_t at) {
#pragma unroll
        for (u32 i = 0; i < MOST_OTHERS; ++i) {
            if (others[i] != nullptr) others[i][at] = word;
        }
    });
}

template <u32 LOG, u32 TILE, u32 BITS, bool SUB>
HE_D void forward_split_rows(const NttArgs& a) {
    Tile t = tile_of_second<LOG>(a);
    if (is_absent(a, t)) return;
    const auto& p = prime_of_tile<LOG>(a, t);
    auto words = reading<LOG>([&] { return read_rows<LOG, TILE, BITS>(a, t); });
    auto acc = acc_of<LOG, TILE, SUB>(a, t);
    auto addend = addend_of<LOG, TILE, SUB>(a, t);
    bool own = is_own(a, t);
    read_before_branch<LOG>();
    if (own) return;
    if (p.is_short) {
        forward_rows<LOG, TILE, BITS, false, SUB>(a, t, p, Fp64(p), words, acc, addend);
    } else {
        forward_rows<LOG, TILE, BITS, false, SUB>(a, t, p, U64(p), words, acc, addend);
    }
}

template <u32 LOG, u32 TILE, u32 BITS, bool TIMES>
HE_D void inverse_split_rows(const NttArgs& a) {
    Tile t = tile_of(a);
    const auto& p = prime_of_tile<LOG>(a, t);
    auto words = reading<LOG>([&] { return read_run<LOG>(source_row(a, t) + (t.tile << TILE)); });
    auto times = times_of<LOG, TILE, TIMES>(a, t);
    if (p.is_short) {
        inverse_rows<LOG, TILE, BITS, TIMES>(a, t, p, Fp64(p), words, times);
    } else {
        inverse_rows<LOG, TILE, BITS, TIMES>(a, t, p, U64(p), words, times);
    }
}

#define COLUMN_KERNELS(NAME, LOG, TILE, BITS, ROW_BITS, BLOCKS)                                                                     \
    KERNEL(NAME, NttArgs, 1 << (TILE - LOG), BLOCKS) { forward_split_columns<LOG, TILE, BITS, ROW_BITS, false>(a); }                \
    KERNEL(NAME##_convert, NttArgs, 1 << (TILE - LOG), LOG == 3 ? 4 : BLOCKS - BLOCKS / 4) { forward_split_columns<LOG, TILE, BITS, ROW_BITS, true>(a); }       \
    KERNEL(NAME##_inverse, NttArgs, 1 << (TILE - LOG), BLOCKS) {                                                         \
        inverse_split_columns<LOG, TILE, BITS, ROW_BITS>(a, tile_of_second<LOG>(a), [](u64, size_t) {});                                       \
    }                                                                                                                     \
    KERNEL(NAME##_inverse_shared, SharedNttArgs, 1 << (TILE - LOG), BLOCKS) { inverse_shared_columns<LOG, TILE, BITS, ROW_BITS>(a); }

#define ROW_KERNELS(NAME, LOG, TILE, BITS, BLOCKS)                                                                        \
    KERNEL(NAME, NttArgs, 1 << (TILE - LOG), BLOCKS) { forward_split_rows<LOG, TILE, BITS, false>(a); }                   \
    KERNEL(NAME##_sub, NttArgs, 1 << (TILE - LOG), BLOCKS - 1) { forward_split_rows<LOG, TILE, BITS, true>(a); }              \
    KERNEL(NAME##_inverse, NttArgs, 1 << (TILE - LOG), BLOCKS) { inverse_split_rows<LOG, TILE, BITS, false>(a); }         \
    KERNEL(NAME##_inverse_times, NttArgs, 1 << (TILE - LOG), BLOCKS) { inverse_split_rows<LOG, TILE, BITS, true>(a); }
