// What XTS does once for a data unit: the tweaks of its rows of 32 blocks, and ciphertext stealing (IEEE 1619, 5.3.2 and 5.4.2).
#include "include/aes.cuh"
#include "include/gf128.cuh"

static constexpr u32 XTS_ROWS = 8; // of a thread

struct XtsTweakArgs {
    u64 keys, tweaks;
    u64 first_low, first_high; // number of the first unit
    u32 units, rows, rounds, unused;
};

struct XtsStealArgs {
    u64 src, dst, keys;
    u64 tweaks; // of each row, `chunks.parts` of each unit
    AesChunks chunks;
    u32 rounds, inverse;
};

// x^(256 n): x^(256 2^i) for the bits of n.
HE_D Gf128 xts_power(u32 n) {
    Gf128 square = {{0x4015, 0, 0, 0}}, power = {{1, 0, 0, 0}}; // x^256 = (x^7 + x^2 + x + 1)^2
#pragma unroll 1
    for (; n; n >>= 1) {
        if (n & 1) power = product(power, square);
        square = product(square, square);
    }
    return power;
}

KERNEL(aes_xts_tweaks, XtsTweakArgs, 128, 1) {
    const u32 parts = (a.rows + XTS_ROWS - 1) / XTS_ROWS;
    const u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= (u64)a.units * parts) return;
    const u32 unit = (u32)(i / parts), part = (u32)(i % parts);
    const u64 low = a.first_low + unit, high = a.first_high + (low < a.first_low);
    Gf128 tweak = Gf128::of(aes_block(a.keys, a.rounds, make_uint4((u32)low, (u32)(low >> 32), (u32)high, (u32)(high >> 32))));
    if (part) tweak = product(tweak, xts_power(part));
    const u32 end = min(a.rows, (part + 1) * XTS_ROWS);
    for (u32 row = part * XTS_ROWS; row < end; ++row) {
        ((uint4*)a.tweaks)[(u64)unit * a.rows + row] = tweak.words();
        tweak = tweak.times_x32();
    }
}

// One block by one thread with round keys of the equivalent inverse cipher.
HE_D uint4 xts_inverse_block(u64 keys, u32 rounds, uint4 block) {
    const u32* table = AES_TABLES.inverse;
    uint4 k = aes_load_key(keys);
    u32 s[4] = {block.x ^ k.x, block.y ^ k.y, block.z ^ k.z, block.w ^ k.w};
#pragma unroll 1
    for (u32 r = 1; r <= rounds; ++r) {
        k = aes_load_key(keys + 16 * r);
        const u32 key[4] = {k.x, k.y, k.z, k.w};
        u32 n[4];
#pragma unroll
        for (u32 c = 0; c < 4; ++c) {
            u32 w[4] = {table[s[c] & 255], table[s[(c + 3) & 3] >> 8 & 255], table[s[(c + 2) & 3] >> 16 & 255], table[s[(c + 1) & 3] >> 24]};
            n[c] = key[c];
#pragma unroll
            for (u32 row = 0; row < 4; ++row) {
                // The four bytes of an entry sum to the byte itself.
                u32 byte = (w[row] ^ w[row] >> 8 ^ w[row] >> 16 ^ w[row] >> 24) & 255;
                u32 turned = row == 0 ? w[0] : w[row] << 8 * row | w[row] >> (32 - 8 * row) % 32;
                n[c] ^= r < rounds ? turned : byte << 8 * row;
            }
        }
#pragma unroll
        for (u32 c = 0; c < 4; ++c) s[c] = n[c];
    }
    return make_uint4(s[0], s[1], s[2], s[3]);
}

HE_D uint4 xts_masked(const XtsStealArgs& a, uint4 v, const Gf128& m) {
    v = make_uint4(v.x ^ m.w[0], v.y ^ m.w[1], v.z ^ m.w[2], v.w ^ m.w[3]);
    v = a.inverse ? xts_inverse_block(a.keys, a.rounds, v) : aes_block(a.keys, a.rounds, v);
    return make_uint4(v.x ^ m.w[0], v.y ^ m.w[1], v.z ^ m.w[2], v.w ^ m.w[3]);
}

// The last whole block and the partial one behind it. One thread a unit.
KERNEL(aes_xts_steal, XtsStealArgs, 128, 1) {
    const u32 unit = blockIdx.x * blockDim.x + threadIdx.x;
    if (unit >= a.chunks.count) return;
    const u64 bytes = a.chunks.bytes(unit), whole = bytes / 16;
    const u32 rest = (u32)bytes % 16;
    if (rest == 0 || whole == 0) return;
    auto mask = [&](u64 block) {
        Gf128 row = Gf128::of(((const uint4*)a.tweaks)[(u64)unit * a.chunks.parts + block / 32]);
        return row.times_x((u32)block % 32);
    };
    const u64 src = a.src + unit * a.chunks.stride + (whole - 1) * 16, dst = a.dst + unit * a.chunks.stride + (whole - 1) * 16;
    // Decryption takes the tweaks of both blocks in the other order.
    const uint4 first = xts_masked(a, *(const uint4*)src, mask(whole - (a.inverse ? 0 : 1)));
    const uint4 part = aes_load_part(src + 16, rest);
    // The partial block, filled up with the end of the first one's result.
    const u32 f[4] = {first.x, first.y, first.z, first.w}, p[4] = {part.x, part.y, part.z, part.w};
    u32 joined[4];
#pragma unroll
    for (u32 c = 0; c < 4; ++c) {
        const u32 own = rest <= 4 * c ? 0 : rest >= 4 * c + 4 ? 0xffffffffu : (1u << 8 * (rest - 4 * c)) - 1;
        joined[c] = (p[c] & own) | (f[c] & ~own);
    }
    const uint4 second = xts_masked(a, make_uint4(joined[0], joined[1], joined[2], joined[3]), mask(whole - (a.inverse ? 1 : 0)));
    *(uint4*)dst = second;
    aes_store_part(dst + 16, first, rest);
}
