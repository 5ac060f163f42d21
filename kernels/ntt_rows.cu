// Second kernels of degrees above 2^13: the low eight bits of the index.
#include "include/ntt.cuh"

constexpr u32 TILE = 12, BITS = 8;

template <bool SUB>
HE_D void forward_low(const NttArgs& a) {
    Tile t = tile_of(a);
    if (is_own(a, t)) return;
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        forward_rows<Fp64, TILE, BITS, false, SUB>(a, t, p);
    } else {
        forward_rows<U64, TILE, BITS, false, SUB>(a, t, p);
    }
}

KERNEL(ntt_rows, NttArgs, 1 << (TILE - LOG_POINTS), 3) { forward_low<false>(a); }
KERNEL(ntt_rows_sub, NttArgs, 1 << (TILE - LOG_POINTS), 3) { forward_low<true>(a); }

KERNEL(ntt_rows_inverse, NttArgs, 1 << (TILE - LOG_POINTS), 3) {
    Tile t = tile_of(a);
    const Prime& p = a.primes[t.prime];
    if (p.is_short) {
        inverse_rows<Fp64, TILE, BITS>(a, t, p);
    } else {
        inverse_rows<U64, TILE, BITS>(a, t, p);
    }
}
