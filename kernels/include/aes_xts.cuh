// XTS (IEEE 1619): block j of a data unit is masked with its tweak times x^j before and after the cipher. A row is 32 blocks, a warp's
// width; the tweaks of rows come from aes_xts_tweaks. A block in front of a partial one belongs to aes_xts_steal.
#pragma once
#include "aes.cuh"
#include "gf128.cuh"

struct AesXtsArgs {
    u64 src, dst, keys;
    u64 tweaks;      // of each row: `chunks.parts` of each unit
    AesChunks chunks; // units, parts are rows
    u32 contiguous;  // whether rows lie one behind the other, whole but for the last
    u32 unused;
};

// Blocks of a unit that are ciphered for themselves.
HE_D u64 aes_xts_plain(u64 bytes) { return bytes / 16 - (bytes % 16 ? 1 : 0); }

template <bool INVERSE, u32 ROUNDS, u32 COUNT, u32 ILP> HE_D void aes_xts(const AesXtsArgs& a, unsigned char* shared) {
    const AesShared<COUNT> t(shared);
    t.fill(shared, INVERSE ? AES_TABLES.inverse : AES_TABLES.forward);
    const AesKeys<0, ROUNDS> keys(a.keys);
    __syncthreads();
    const u32 lane = threadIdx.x & 31, rows = a.chunks.items();
    const u64 contiguous = a.contiguous ? (u64)(a.chunks.count - 1) * (a.chunks.len / 16) + aes_xts_plain(a.chunks.last) : 0;
    for (u32 row = aes_warp() * ILP; row < rows; row += aes_warps() * ILP) {
        u64 at[ILP];
        bool some[ILP];
        u32 s[ILP][4];
        Gf128 mask[ILP];
#pragma unroll
        for (u32 j = 0; j < ILP; ++j) {
            if (contiguous) {
                u64 block = (u64)(row + j) * 32 + lane;
                some[j] = block < contiguous;
                at[j] = block * 16;
            } else {
                u32 unit, part;
                a.chunks.locate(row + j, unit, part);
                u64 block = (u64)part * 32 + lane;
                some[j] = unit < a.chunks.count && block < aes_xts_plain(a.chunks.bytes(unit));
                at[j] = unit * a.chunks.stride + block * 16;
            }
            uint4 v = make_uint4(0, 0, 0, 0);
            mask[j] = Gf128::zero();
            if (some[j]) {
                v = aes_load(a.src + at[j]);
                mask[j] = Gf128::of(((const uint4*)a.tweaks)[row + j]);
            }
            const u32* k = keys.round(0);
            mask[j] = mask[j].times_x(lane);
            s[j][0] = v.x ^ k[0] ^ mask[j].w[0], s[j][1] = v.y ^ k[1] ^ mask[j].w[1];
            s[j][2] = v.z ^ k[2] ^ mask[j].w[2], s[j][3] = v.w ^ k[3] ^ mask[j].w[3];
        }
        aes_rounds<INVERSE, 1>(t, keys, s);
#pragma unroll
        for (u32 j = 0; j < ILP; ++j) {
            if (some[j]) {
                const u32* m = mask[j].w;
                aes_store(a.dst + at[j], make_uint4(s[j][0] ^ m[0], s[j][1] ^ m[1], s[j][2] ^ m[2], s[j][3] ^ m[3]));
            }
        }
    }
}

#define AES_XTS(name, inverse, bits, count, ilp)                                                                       \
    KERNEL(aes_xts_##name##_##bits##_##count, AesXtsArgs, AES_THREADS, 1) {                                            \
        SHARED(unsigned char, shared);                                                                                 \
        aes_xts<inverse, bits / 32 + 6, count, ilp>(a, shared);                                                        \
    }
#define AES_XTS_KERNELS(count, ilp)                                                                                    \
    AES_XTS(encrypt, false, 128, count, ilp)                                                                           \
    AES_XTS(encrypt, false, 192, count, ilp)                                                                           \
    AES_XTS(encrypt, false, 256, count, ilp)                                                                           \
    AES_XTS(decrypt, true, 128, count, ilp)                                                                            \
    AES_XTS(decrypt, true, 192, count, ilp)                                                                            \
    AES_XTS(decrypt, true, 256, count, ilp)
