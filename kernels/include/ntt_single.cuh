// Kernels of a degree that is one tile.
#pragma once
#include "ntt.cuh"

constexpr u32 SINGLE_LOG = 4;

template <u32 TILE, bool CONVERT, u32 OPERAND>
HE_D void forward_single(const NttArgs& a) {
    Tile t = tile_of(a);
    if (is_absent(a, t)) return;
    if (is_own(a, t)) {
        if (a.own == COPY_OWN) copy_own<TILE>(a, t);
        return;
    }
    const Prime& p = a.primes[t.prime];
    auto words = reading<SINGLE_LOG>([&] {
        if constexpr (CONVERT) return Words<SINGLE_LOG>{};
        else return read_rows<SINGLE_LOG, TILE, TILE>(a, t);
    });
    auto acc = when_needed([&] { return read_left<SINGLE_LOG, TILE, OPERAND>(a, t, a.acc); });
    auto addend = addend_of<SINGLE_LOG, TILE, OPERAND>(a, t);
    Roots roots = forward_roots_of(a, t, p);
    if (roots.is_short) {
        forward_rows<SINGLE_LOG, TILE, TILE, true, CONVERT, OPERAND>(a, t, p, table_of<Fp64>(a, roots), Fp64(p), words, acc, acc, addend);
    } else {
        forward_rows<SINGLE_LOG, TILE, TILE, true, CONVERT, OPERAND>(a, t, p, table_of<U64>(a, roots), U64(p), words, acc, acc, addend);
    }
}

template <u32 TILE, u32 OPERAND>
HE_D void inverse_single(const NttArgs& a) {
    Tile t = tile_of(a);
    const Prime& p = a.primes[t.prime];
    auto left = when_needed([&] { return read_left<SINGLE_LOG, TILE, OPERAND>(a, t, a.src); });
    auto right = when_needed([&] { return read_right<SINGLE_LOG, TILE, OPERAND>(a, t, a.src); });
    Roots roots = inverse_roots_of(a, t, p);
    if (roots.is_short) {
        inverse_rows<SINGLE_LOG, TILE, TILE, true, OPERAND>(a, t, p, table_of<Fp64>(a, roots), Fp64(p), left, right);
    } else {
        inverse_rows<SINGLE_LOG, TILE, TILE, true, OPERAND>(a, t, p, table_of<U64>(a, roots), U64(p), left, right);
    }
}

#define SINGLE_TILE_KERNELS(LOG_N, BLOCKS)                                                                                    \
    KERNEL(ntt##LOG_N##_forward, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { forward_single<LOG_N, false, NOTHING>(a); }      \
    KERNEL(ntt##LOG_N##_convert, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { forward_single<LOG_N, true, NOTHING>(a); }       \
    KERNEL(ntt##LOG_N##_forward_sub, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { forward_single<LOG_N, false, WORDS>(a); }   \
    KERNEL(ntt##LOG_N##_convert_sub, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { forward_single<LOG_N, true, WORDS>(a); }    \
    KERNEL(ntt##LOG_N##_inverse, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { inverse_single<LOG_N, WORDS>(a); }             \
    KERNEL(ntt##LOG_N##_inverse_product, NttArgs, 1 << (LOG_N - SINGLE_LOG), BLOCKS) { inverse_single<LOG_N, LAST_PRODUCT>(a); }
