// GF(2^128) modulo x^128 + x^7 + x^2 + x + 1: bit i of word j is the coefficient of x^(32 j + i), as in XTS (IEEE 1619, 5.2). GCM has
// the bits of each byte in the other order (SP 800-38D, 6.3).
#pragma once
#include "launch.cuh"

struct Gf128 {
    u32 w[4];

    HE_D static Gf128 of(uint4 v) { return {{v.x, v.y, v.z, v.w}}; }
    HE_D static Gf128 zero() { return {{0, 0, 0, 0}}; }
    HE_D uint4 words() const { return make_uint4(w[0], w[1], w[2], w[3]); }

    HE_D static u32 turn_bytes(u32 a) {
        a = __brev(a);
        return a >> 24 | (a >> 8 & 0xff00) | (a << 8 & 0xff0000) | a << 24;
    }
    // From and to GCM's order.
    HE_D static Gf128 of_gcm(uint4 v) { return {{turn_bytes(v.x), turn_bytes(v.y), turn_bytes(v.z), turn_bytes(v.w)}}; }
    HE_D uint4 gcm() const { return of_gcm(words()).words(); }

    HE_D void add(const Gf128& b) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) w[i] ^= b.w[i];
    }

    // carry x^128, where that is below x^160, reduced and added to the low words.
    HE_D static void fold(u32 carry, u32& low, u32& high) {
        low ^= carry ^ carry << 1 ^ carry << 2 ^ carry << 7;
        high ^= carry >> 31 ^ carry >> 30 ^ carry >> 25;
    }

    // x^n a for n < 32.
    HE_D Gf128 times_x(u32 n) const {
        Gf128 r = {{w[0] << n, __funnelshift_l(w[0], w[1], n), __funnelshift_l(w[1], w[2], n), __funnelshift_l(w[2], w[3], n)}};
        fold(__funnelshift_l(w[3], 0, n), r.w[0], r.w[1]);
        return r;
    }

    // x^32 a.
    HE_D Gf128 times_x32() const {
        Gf128 r = {{0, w[0], w[1], w[2]}};
        fold(w[3], r.w[0], r.w[1]);
        return r;
    }
};

// Product of polynomials over GF(2) of degree below 32 by integer products: of each factor every fourth bit, so that sums of up to
// eight bits have room; the low bit of a sum is its sum over GF(2).
HE_D u64 carryless(u32 a, u32 b) {
    const u32 mask = 0x11111111;
    const u64 wide = 0x1111111111111111ull;
    u64 sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (u32 i = 0; i < 4; ++i) {
#pragma unroll
        for (u32 j = 0; j < 4; ++j) sums[(i + j) & 3] ^= (u64)(a & mask << i) * (b & mask << j);
    }
    return (sums[0] & wide) | (sums[1] & wide << 1) | (sums[2] & wide << 2) | (sums[3] & wide << 3);
}

// Degree below 64, by Karatsuba.
HE_D void carryless(u32 a0, u32 a1, u32 b0, u32 b1, u64& low, u64& high) {
    low = carryless(a0, b0);
    high = carryless(a1, b1);
    u64 middle = carryless(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    low ^= middle << 32;
    high ^= middle >> 32;
}

HE_D Gf128 product(const Gf128& a, const Gf128& b) {
    u64 p0, p1, p2, p3, m0, m1;
    carryless(a.w[0], a.w[1], b.w[0], b.w[1], p0, p1);
    carryless(a.w[2], a.w[3], b.w[2], b.w[3], p2, p3);
    carryless(a.w[0] ^ a.w[2], a.w[1] ^ a.w[3], b.w[0] ^ b.w[2], b.w[1] ^ b.w[3], m0, m1);
    m0 ^= p0 ^ p2;
    m1 ^= p1 ^ p3;
    p1 ^= m0;
    p2 ^= m1;
    // x^128 = x^7 + x^2 + x + 1, the highest word first, since it reaches into the one at x^128.
    p2 ^= p3 >> 63 ^ p3 >> 62 ^ p3 >> 57;
    p1 ^= p3 ^ p3 << 1 ^ p3 << 2 ^ p3 << 7;
    p1 ^= p2 >> 63 ^ p2 >> 62 ^ p2 >> 57;
    p0 ^= p2 ^ p2 << 1 ^ p2 << 2 ^ p2 << 7;
    return {{(u32)p0, (u32)(p0 >> 32), (u32)p1, (u32)(p1 >> 32)}};
}
