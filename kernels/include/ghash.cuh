// GHASH (SP 800-38D, 6.4): the sum of block p times H^e, where e - 1 blocks follow. Each lane of a warp takes every 32nd block of a
// segment and sums by Horner's rule with H^32; its sum, times the power that is missing, is added to the sum of the message. Which thread
// adds first makes no difference to a sum over GF(2).
#pragma once
#include "aes.cuh"
#include "gf128.cuh"

static constexpr u32 GHASH_THREADS = 1024;
static constexpr u32 GHASH_WIDTH = 32;      // blocks a step of a warp
static constexpr u32 GHASH_LOW = 256 + 32;  // powers H^0 ... H^287
static constexpr u32 GHASH_DIGITS = 4;      // and H^(256^d j), j < 256, for d = 1 ... 4

// What there is of a key, in the device's memory.
struct GhashKey {
    // H^32 times a half-byte v of a block, in GCM's order: half i % 2 (0: the high one) of byte i / 2.
    uint4 halves[32][16];
    Gf128 low[GHASH_LOW];
    Gf128 digits[GHASH_DIGITS][256];
};

struct GhashKeyArgs {
    u64 keys, key;
    u32 rounds, unused;
};

struct GhashArgs {
    u64 src, key, sums;
    AesChunks chunks; // parts are segments
    u64 after, after_last; // blocks that follow, and 1, for each chunk but the last, and for the last
    u32 segment; // in blocks
    u32 unused;
};

struct GcmFinishArgs {
    u64 keys, key, sums, tags;
    u64 counters; // block J0 + 1 of each message
    u64 len, last, aad; // in bytes
    u32 count, rounds;
};

// The halves of a key in shared memory, once for each of eight lanes, whose 16 bytes make a line of 128: the eight lanes that a load
// serves at once never wait for each other. Value v of the low half of byte i is at i << 12 | v << 8, of the high half at
// i << 8 | v << 12 | 128, so that a byte permutation makes both addresses.
struct GhashWide {
    static constexpr u32 BYTES = 1 << 16;
    u32 base, lane;

    HE_D explicit GhashWide(unsigned char* shared) : lane((threadIdx.x & 7) * 16) {
#ifdef HE_HOST
        base = 0;
#else
        base = (u32)__cvta_generic_to_shared(shared);
#endif
    }

    HE_D void fill(unsigned char* shared, const GhashKey* key) const {
        for (u32 i = threadIdx.x; i < BYTES / 16; i += blockDim.x) {
            u32 high = i >> 3 & 1, upper = i >> 8, lower = i >> 4 & 15;
            ((uint4*)shared)[i] = high ? key->halves[2 * lower][upper] : key->halves[2 * upper + 1][lower];
        }
    }

    HE_D uint4 read(u32 address, u32 offset) const {
#ifdef HE_HOST
        return *(const uint4*)(he_host_shared + address + offset);
#else
        uint4 v;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(address + base + offset));
        return v;
#endif
    }

    template <u32 WORD, u32 BYTE> HE_D void byte(uint4& sum, u32 low, u32 high) const {
        constexpr u32 i = 4 * WORD + BYTE;
        uint4 a = read(aes_permute<0x5504 | BYTE << 4>(low, lane), i << 12);
        uint4 b = read(aes_permute<0x5504 | BYTE << 4>(high, lane), i << 8 | 128);
        sum.x ^= a.x ^ b.x, sum.y ^= a.y ^ b.y, sum.z ^= a.z ^ b.z, sum.w ^= a.w ^ b.w;
    }

    template <u32 WORD> HE_D void word(uint4& sum, u32 w) const {
        const u32 low = w & 0x0f0f0f0f, high = w & 0xf0f0f0f0;
        byte<WORD, 0>(sum, low, high);
        byte<WORD, 1>(sum, low, high);
        byte<WORD, 2>(sum, low, high);
        byte<WORD, 3>(sum, low, high);
    }

    // a + H^32 v.
    HE_D uint4 add_product(uint4 a, uint4 v) const {
        word<0>(a, v.x);
        word<1>(a, v.y);
        word<2>(a, v.z);
        word<3>(a, v.w);
        return a;
    }
};

// The halves once, in 8 KiB, for devices with less than 65 KiB of shared memory: lanes wait for each other.
struct GhashNarrow {
    static constexpr u32 BYTES = 1 << 13;
    const uint4* halves;

    HE_D explicit GhashNarrow(unsigned char* shared) : halves((const uint4*)shared) {}

    HE_D void fill(unsigned char* shared, const GhashKey* key) const {
        for (u32 i = threadIdx.x; i < BYTES / 16; i += blockDim.x) ((uint4*)shared)[i] = key->halves[i >> 4][i & 15];
    }

    HE_D uint4 add_product(uint4 a, uint4 v) const {
        const u32 words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
        for (u32 i = 0; i < 32; ++i) {
            // Half i of the block: of each byte the high one first.
            uint4 b = halves[i * 16 + (words[i / 8] >> ((i % 8) ^ 1) * 4 & 15)];
            a.x ^= b.x, a.y ^= b.y, a.z ^= b.z, a.w ^= b.w;
        }
        return a;
    }
};

template <class Table> HE_D void ghash(const GhashArgs& a, unsigned char* shared) {
    const GhashKey* key = (const GhashKey*)a.key;
    const Table t(shared);
    t.fill(shared, key);
    u32* scratch = (u32*)(shared + Table::BYTES) + (threadIdx.x >> 5) * 4; // of the warp
    const u32 lane = threadIdx.x & 31, items = a.chunks.items();
    if (lane < 4) scratch[lane] = 0;
    __syncthreads();
    for (u32 item = aes_warp(); item < items; item += aes_warps()) {
        u32 chunk, part;
        a.chunks.locate(item, chunk, part);
        const u64 bytes = a.chunks.bytes(chunk), blocks = (bytes + 15) / 16;
        const u64 begin = (u64)part * a.segment;
        if (begin >= blocks) continue;
        const u64 src = a.src + chunk * a.chunks.stride + (begin + lane) * 16;
        const u32 count = (u32)min((u64)a.segment, blocks - begin);
        const u32 partial = begin + count == blocks && bytes % 16 ? count - 1 : a.segment; // the block that is not whole
        auto load = [&](u32 block) {
            u64 from = src + (u64)(block - lane) * 16;
            return block == partial ? aes_load_part(from, (u32)bytes % 16) : __ldcs((const uint4*)from);
        };

        uint4 sum = make_uint4(0, 0, 0, 0);
        if (lane < count) {
            sum = load(lane);
            u32 block = lane + GHASH_WIDTH;
            uint4 next = sum;
            if (block < count) next = load(block);
#pragma unroll 1
            while (block < count) {
                const uint4 now = next;
                block += GHASH_WIDTH;
                if (block < count) next = load(block);
                sum = t.add_product(now, sum);
            }
        }
        // Blocks that follow the segment, and 1; the lane's own add up to 31.
        const u64 rest = blocks - begin - count + (chunk + 1 == a.chunks.count ? a.after_last : a.after);
        const u32 own = lane < count ? (count - 1 - lane) % GHASH_WIDTH : 0;
        Gf128 y = product(Gf128::of_gcm(sum), key->low[own + ((u32)rest & 255)]);
#pragma unroll
        for (u32 i = 0; i < 4; ++i) atomicXor(&scratch[i], y.w[i]);
        __syncwarp();
        if (lane == 0) {
#pragma unroll
            for (u32 i = 0; i < 4; ++i) {
                y.w[i] = scratch[i];
                scratch[i] = 0;
            }
#pragma unroll 1
            for (u32 d = 0; d < GHASH_DIGITS; ++d) {
                const u32 digit = (u32)(rest >> 8 * (d + 1)) & 255;
                if (digit) y = product(y, key->digits[d][digit]);
            }
#pragma unroll
            for (u32 i = 0; i < 4; ++i) atomicXor((u32*)a.sums + 4 * chunk + i, y.w[i]);
        }
        __syncwarp();
    }
}
