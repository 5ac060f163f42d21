// ECB (SP 800-38A, 6.1). A warp takes 32 blocks side by side at a time, each thread ILP of them.
#pragma once
#include "aes.cuh"

struct AesEcbArgs {
    u64 src, dst, keys, blocks;
};

template <bool INVERSE, u32 ROUNDS, u32 COUNT, u32 ILP> HE_D void aes_ecb(const AesEcbArgs& a, unsigned char* shared) {
    const AesShared<COUNT> t(shared);
    t.fill(shared, INVERSE ? AES_TABLES.inverse : AES_TABLES.forward);
    const AesKeys<0, ROUNDS> keys(a.keys);
    __syncthreads();
    const u64 step = (u64)aes_warps() * 32 * ILP;
    for (u64 block = (u64)aes_warp() * 32 * ILP + (threadIdx.x & 31); block < a.blocks; block += step) {
        u32 s[ILP][4];
#pragma unroll
        for (u32 j = 0; j < ILP; ++j) {
            uint4 v = block + 32 * j < a.blocks ? aes_load(a.src + (block + 32 * j) * 16) : make_uint4(0, 0, 0, 0);
            const u32* k = keys.round(0);
            s[j][0] = v.x ^ k[0], s[j][1] = v.y ^ k[1], s[j][2] = v.z ^ k[2], s[j][3] = v.w ^ k[3];
        }
        aes_rounds<INVERSE, 1>(t, keys, s);
#pragma unroll
        for (u32 j = 0; j < ILP; ++j) {
            if (block + 32 * j < a.blocks) {
                aes_store(a.dst + (block + 32 * j) * 16, make_uint4(s[j][0], s[j][1], s[j][2], s[j][3]));
            }
        }
    }
}

#define AES_ECB(name, inverse, bits, count, ilp)                                                                       \
    KERNEL(aes_ecb_##name##_##bits##_##count, AesEcbArgs, AES_THREADS, 1) {                                            \
        SHARED(unsigned char, shared);                                                                                 \
        aes_ecb<inverse, bits / 32 + 6, count, ilp>(a, shared);                                                        \
    }
#define AES_ECB_KERNELS(count, ilp)                                                                                    \
    AES_ECB(encrypt, false, 128, count, ilp)                                                                           \
    AES_ECB(encrypt, false, 192, count, ilp)                                                                           \
    AES_ECB(encrypt, false, 256, count, ilp)                                                                           \
    AES_ECB(decrypt, true, 128, count, ilp)                                                                            \
    AES_ECB(decrypt, true, 192, count, ilp)                                                                            \
    AES_ECB(decrypt, true, 256, count, ilp)
