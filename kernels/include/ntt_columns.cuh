// First kernels of degrees above 2^13: the high bits of the index.
#pragma once
#include "ntt.cuh"

constexpr u32 COLUMNS_TILE = 12;

template <u32 BITS, bool CONVERT>
HE_D void forward_high(const NttArgs& a) {
    Tile t = tile_of(a);
    if (is_own(a, t)) {
        if (a.own == COPY_OWN) copy_own<COLUMNS_TILE>(a, t);
        return;
    }
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        forward_columns<Fp64, COLUMNS_TILE, BITS, CONVERT>(a, t, p);
    } else {
        forward_columns<U64, COLUMNS_TILE, BITS, CONVERT>(a, t, p);
    }
}

template <u32 BITS>
HE_D void inverse_high(const NttArgs& a) {
    Tile t = tile_of(a);
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        inverse_columns<Fp64, COLUMNS_TILE, BITS>(a, t, p);
    } else {
        inverse_columns<U64, COLUMNS_TILE, BITS>(a, t, p);
    }
}

#define COLUMN_KERNELS(LOG_N, BITS)                                                                                          \
    KERNEL(ntt##LOG_N##_columns, NttArgs, 1 << (COLUMNS_TILE - LOG_POINTS), 3) { forward_high<BITS, false>(a); }             \
    KERNEL(ntt##LOG_N##_columns_convert, NttArgs, 1 << (COLUMNS_TILE - LOG_POINTS), 3) { forward_high<BITS, true>(a); }      \
    KERNEL(ntt##LOG_N##_columns_inverse, NttArgs, 1 << (COLUMNS_TILE - LOG_POINTS), 3) { inverse_high<BITS>(a); }
