// CTR (SP 800-38A, 6.5). A warp takes the blocks whose counters differ in the last byte only: after two rounds that byte has reached
// all columns through one look-up in round 1 and four in round 2; the other 27 of these rounds are done once for the 256 blocks.
#pragma once
#include "aes.cuh"

struct AesCtrArgs {
    u64 src, dst, keys;
    u64 counters; // first counter block of each chunk; 0: `counter`
    uint4 counter;
    AesChunks chunks;
};

template <u32 ROUNDS, u32 COUNT, u32 ILP> HE_D void aes_ctr(const AesCtrArgs& a, unsigned char* shared) {
    const AesShared<COUNT> t(shared);
    t.fill(shared, AES_TABLES.forward);
    const AesKeys<3, ROUNDS> keys(a.keys);
    __syncthreads();
    const u32 lane = threadIdx.x & 31, items = a.chunks.items();
    for (u32 item = aes_warp(); item < items; item += aes_warps()) {
        u32 chunk, part;
        a.chunks.locate(item, chunk, part);
        const u64 bytes = a.chunks.bytes(chunk);
        const uint4 counter = a.counters ? ((const uint4*)a.counters)[chunk] : a.counter;
        const u32 skipped = counter.w >> 24; // blocks of the first segment that are not in the chunk
        // Of the block with 0 in the last byte of its counter, which may lie in front of the chunk.
        const i64 at = ((i64)part * AES_SEGMENT - skipped) * 16;
        if (at >= (i64)bytes) continue;
        const u32 first = part ? 0 : skipped;
        const u64 left = (u64)((i64)bytes - at);
        const u32 end = left >= AES_SEGMENT * 16 ? AES_SEGMENT : (u32)(left + 15) / 16;
        const u32 partial = left < AES_SEGMENT * 16 && left % 16 ? end - 1 : AES_SEGMENT; // the block that is not whole

        u64 low = (u64)aes_swap(counter.z) << 32 | (aes_swap(counter.w) & ~255u);
        u64 high = (u64)aes_swap(counter.x) << 32 | aes_swap(counter.y);
        const u64 sum = low + (u64)part * AES_SEGMENT;
        high += sum < low;

        uint4 k = aes_load_key(a.keys);
        u32 s[4] = {aes_swap((u32)(high >> 32)) ^ k.x, aes_swap((u32)high) ^ k.y, aes_swap((u32)(sum >> 32)) ^ k.z,
                    aes_swap((u32)sum) ^ k.w};
        k = aes_load_key(a.keys + 16);
        u32 x[4];
        x[0] = t.template term<0>(s[0]) ^ t.template term<1>(s[1]) ^ t.template term<2>(s[2]) ^ k.x;
        x[1] = t.column(s[1], s[2], s[3], s[0], k.y);
        x[2] = t.column(s[2], s[3], s[0], s[1], k.z);
        x[3] = t.column(s[3], s[0], s[1], s[2], k.w);
        k = aes_load_key(a.keys + 32);
        const u32 y0 = t.template term<1>(x[1]) ^ t.template term<2>(x[2]) ^ t.template term<3>(x[3]) ^ k.x;
        const u32 y1 = t.template term<0>(x[1]) ^ t.template term<1>(x[2]) ^ t.template term<2>(x[3]) ^ k.y;
        const u32 y2 = t.template term<0>(x[2]) ^ t.template term<1>(x[3]) ^ t.template term<3>(x[1]) ^ k.z;
        const u32 y3 = t.template term<0>(x[3]) ^ t.template term<2>(x[1]) ^ t.template term<3>(x[2]) ^ k.w;
        const u32 last_byte = s[3] ^ lane << 24;

        const u64 src = a.src + chunk * a.chunks.stride + (u64)at + lane * 16;
        const u64 dst = a.dst + chunk * a.chunks.stride + (u64)at + lane * 16;
#pragma unroll 1
        for (u32 step = 0; step < AES_SEGMENT / 32; step += ILP) {
            if (step * 32 >= end || (step + ILP) * 32 <= first) continue;
            uint4 text[ILP];
            u32 n[ILP][4];
#pragma unroll
            for (u32 j = 0; j < ILP; ++j) {
                const u32 block = (step + j) * 32 + lane;
                if (block >= first && block < end && block != partial) text[j] = aes_load(src + (step + j) * 512);
            }
#pragma unroll
            for (u32 j = 0; j < ILP; ++j) {
                const u32 x0 = x[0] ^ t.template term<3>(last_byte ^ (step + j) << 29);
                n[j][0] = y0 ^ t.template term<0>(x0);
                n[j][1] = y1 ^ t.template term<3>(x0);
                n[j][2] = y2 ^ t.template term<2>(x0);
                n[j][3] = y3 ^ t.template term<1>(x0);
            }
            aes_rounds<false, 3>(t, keys, n);
#pragma unroll
            for (u32 j = 0; j < ILP; ++j) {
                const u32 block = (step + j) * 32 + lane;
                if (block < first || block >= end) continue;
                if (block == partial) text[j] = aes_load_part(src + (step + j) * 512, (u32)left % 16);
                text[j] = make_uint4(text[j].x ^ n[j][0], text[j].y ^ n[j][1], text[j].z ^ n[j][2], text[j].w ^ n[j][3]);
                if (block == partial) {
                    aes_store_part(dst + (step + j) * 512, text[j], (u32)left % 16);
                } else {
                    aes_store(dst + (step + j) * 512, text[j]);
                }
            }
        }
    }
}

#define AES_CTR(bits, count, ilp)                                                                                      \
    KERNEL(aes_ctr_##bits##_##count, AesCtrArgs, AES_THREADS, 1) {                                                     \
        SHARED(unsigned char, shared);                                                                                 \
        aes_ctr<bits / 32 + 6, count, ilp>(a, shared);                                                                 \
    }
