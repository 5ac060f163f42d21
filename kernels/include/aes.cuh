// AES (FIPS-197) by tables in shared memory. States, keys and tables are little-endian words: word c holds bytes 4c ... 4c + 3 of a block.
#pragma once
#include "launch.cuh"

static constexpr u32 AES_THREADS = 512;
static constexpr u32 AES_WARPS = AES_THREADS / 32;
static constexpr u32 AES_SEGMENT = 256; // blocks that a warp takes at a time

// ---- Tables, derived by the compiler ----

HE_HD constexpr u32 aes_times_x(u32 a) { return (a << 1 ^ (a >> 7) * 0x11b) & 0xff; }

HE_HD constexpr u32 aes_product(u32 a, u32 b) {
    u32 product = 0;
    for (; b; b >>= 1, a = aes_times_x(a)) product ^= (b & 1) * a;
    return product;
}

// T0 of both directions: the column that SubBytes and MixColumns make of a byte in row 0. Row r has T0 rotated by r bytes.
struct AesTables {
    u32 forward[256], inverse[256];

    HE_HD constexpr AesTables() : forward(), inverse() {
        u32 a = 1, b = 1; // a runs through the powers of x + 1, b is 1 / a
        set(0, 0x63);
        do {
            a ^= aes_times_x(a);
            for (u32 shift = 1; shift < 8; shift *= 2) b = (b ^ b << shift) & 0xff; // divides by x + 1
            b ^= (b >> 7) * 0x09;
            set(a, b ^ turn(b, 1) ^ turn(b, 2) ^ turn(b, 3) ^ turn(b, 4) ^ 0x63);
        } while (a != 1);
    }

  private:
    HE_HD static constexpr u32 turn(u32 a, u32 n) { return (a << n | a >> (8 - n)) & 0xff; }
    HE_HD constexpr void set(u32 a, u32 s) {
        forward[a] = aes_product(s, 2) | s << 8 | s << 16 | aes_product(s, 3) << 24;
        inverse[s] = aes_product(a, 14) | aes_product(a, 9) << 8 | aes_product(a, 13) << 16 | aes_product(a, 11) << 24;
    }
};

__device__ static const AesTables AES_TABLES = AesTables();

// ---- Bytes ----

// Four bytes of those of a (0 ... 3) and b (4 ... 7), chosen by the digits of the selector.
template <u32 SELECTOR> HE_D u32 aes_permute(u32 a, u32 b) {
#ifdef HE_HOST
    u64 bytes = (u64)b << 32 | a;
    u32 out = 0;
    for (u32 i = 0; i < 4; ++i) out |= (u32)(bytes >> (SELECTOR >> (4 * i) & 7) * 8 & 0xff) << 8 * i;
    return out;
#else
    return __byte_perm(a, b, SELECTOR);
#endif
}

HE_D u32 aes_swap(u32 a) { return aes_permute<0x0123>(a, 0); }

template <u32 BYTES> HE_D u32 aes_rotate(u32 a) {
    return BYTES == 0 ? a : aes_permute<BYTES == 1 ? 0x2103 : BYTES == 2 ? 0x1032 : 0x0321>(a, 0);
}

// ---- Memory ----

// An opaque load: it stays where it is written instead of holding a register all along.
HE_D uint4 aes_load_key(u64 address) {
#ifdef HE_HOST
    return *(const uint4*)address;
#else
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(address));
    return v;
#endif
}

HE_D uint4 aes_load(u64 address) { return __ldcs((const uint4*)address); }
HE_D void aes_store(u64 address, uint4 v) { __stcs((uint4*)address, v); }

// The first `bytes` bytes of a block, then zeros.
HE_D uint4 aes_load_part(u64 address, u32 bytes) {
    u32 w[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (u32 i = 0; i < bytes; ++i) {
        u32 byte = (u32)((const unsigned char*)address)[i] << 8 * (i & 3);
#pragma unroll
        for (u32 c = 0; c < 4; ++c) w[c] |= i / 4 == c ? byte : 0;
    }
    return make_uint4(w[0], w[1], w[2], w[3]);
}

HE_D void aes_store_part(u64 address, uint4 v, u32 bytes) {
#pragma unroll 1
    for (u32 i = 0; i < bytes; ++i) {
        u32 w = i < 8 ? (i < 4 ? v.x : v.y) : (i < 12 ? v.z : v.w);
        ((unsigned char*)address)[i] = (unsigned char)(w >> 8 * (i & 3));
    }
}

// ---- Tables in shared memory ----

// Each table is there once for each lane, in that lane's bank, so that no look-up waits for another. A row of 256 bytes holds the
// entries of one byte in two tables: byte b of x is brought to its row's address by one byte permutation, x_b << 8 | lane << 2.
// First all rows of T0 and T2, then, where COUNT is 4, those of T1 and T3. Where COUNT is 2 those are rotations by a byte.
template <u32 COUNT> struct AesShared {
    static constexpr u32 BYTES = COUNT << 15;

    u32 base, lane;

    HE_D explicit AesShared(unsigned char* shared) : lane((threadIdx.x & 31) * 4) {
#ifdef HE_HOST
        base = 0;
#else
        base = (u32)__cvta_generic_to_shared(shared);
#endif
    }

    HE_D void fill(unsigned char* shared, const u32* table) const {
        for (u32 i = threadIdx.x; i < BYTES / 16; i += blockDim.x) {
            u32 row = i >> 4 & 255, half = i >> 3 & 1, upper = i >> 12;
            u32 entry = table[row];
            entry = half ? aes_rotate<2>(entry) : entry;
            entry = upper ? aes_rotate<1>(entry) : entry;
            ((uint4*)shared)[i] = make_uint4(entry, entry, entry, entry);
        }
    }

    // Entry of byte `byte` of x in T(number).
    template <u32 number, u32 byte> HE_D u32 look(u32 x) const {
        return read<number>(aes_permute<0x5504 | byte << 4>(x, lane));
    }

    template <u32 number> HE_D u32 read(u32 address) const {
        static_assert(COUNT == 4 || number % 2 == 0, "a table that is not there");
        constexpr u32 offset = (number & 1) << 16 | (number & 2) << 6;
#ifdef HE_HOST
        return *(const u32*)(he_host_shared + address + offset);
#else
        u32 v;
        asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(v) : "r"(address + base), "n"(offset));
        return v;
#endif
    }

    // T0[a_0] ^ T1[b_1] ^ T2[c_2] ^ T3[d_3] ^ key: a column of a round.
    HE_D u32 column(u32 a, u32 b, u32 c, u32 d, u32 key) const {
        if constexpr (COUNT == 4) {
            return look<0, 0>(a) ^ look<1, 1>(b) ^ look<2, 2>(c) ^ look<3, 3>(d) ^ key;
        } else {
            return look<0, 0>(a) ^ look<2, 2>(c) ^ key ^ aes_rotate<1>(look<0, 1>(b) ^ look<2, 3>(d));
        }
    }

    // The term of one row r, 0 ... 3, in a column.
    template <u32 row> HE_D u32 term(u32 x) const {
        if constexpr (COUNT == 4 || row % 2 == 0) {
            return look<row, row>(x);
        } else {
            return aes_rotate<1>(look<row - 1, row>(x));
        }
    }
};

// ---- Rounds ----

// Which columns a column's rows 1 and 3 come from: ShiftRows or its inverse.
template <bool INVERSE> struct AesRows {
    static constexpr u32 ROW1 = INVERSE ? 3 : 1, ROW3 = INVERSE ? 1 : 3;
};

template <bool INVERSE, u32 COUNT> HE_D void aes_round(const AesShared<COUNT>& t, u32 (&s)[4], const u32* key) {
    typedef AesRows<INVERSE> Rows;
    u32 n[4];
#pragma unroll
    for (u32 c = 0; c < 4; ++c) n[c] = t.column(s[c], s[(c + Rows::ROW1) & 3], s[(c + 2) & 3], s[(c + Rows::ROW3) & 3], key[c]);
#pragma unroll
    for (u32 c = 0; c < 4; ++c) s[c] = n[c];
}

// The last round, without MixColumns. Bytes of T0 are 2s, s, s, 3s, those of T2 s, 3s, 2s, s: every place has s in one of them. Those
// of inverse tables are 14s, 9s, 13s, 11s in some order, whose sum is s.
template <bool INVERSE, u32 COUNT> HE_D void aes_last_round(const AesShared<COUNT>& t, u32 (&s)[4], const u32* key) {
    typedef AesRows<INVERSE> Rows;
    u32 n[4];
#pragma unroll
    for (u32 c = 0; c < 4; ++c) {
        u32 x1 = s[(c + Rows::ROW1) & 3], x2 = s[(c + 2) & 3], x3 = s[(c + Rows::ROW3) & 3];
        u32 w1 = t.template look<0, 1>(x1), w2 = t.template look<0, 2>(x2);
        if constexpr (INVERSE) {
            u32 w0 = t.template look<0, 0>(s[c]), w3 = t.template look<0, 3>(x3);
            u32 low = aes_permute<0x6240>(w0, w1) ^ aes_permute<0x7351>(w0, w1);
            u32 high = aes_permute<0x6240>(w2, w3) ^ aes_permute<0x7351>(w2, w3);
            n[c] = aes_permute<0x5410>(low, high) ^ aes_permute<0x7632>(low, high) ^ key[c];
        } else {
            u32 w0 = t.template look<2, 0>(s[c]), w3 = t.template look<2, 3>(x3);
            u32 outer = aes_permute<0x7000>(w0, w3), inner = aes_permute<0x0610>(w1, w2);
            n[c] = ((outer & 0xff0000ff) | (inner & 0x00ffff00)) ^ key[c];
        }
    }
#pragma unroll
    for (u32 c = 0; c < 4; ++c) s[c] = n[c];
}

// Round keys FROM ... ROUNDS in registers.
template <u32 FROM, u32 ROUNDS> struct AesKeys {
    u32 words[4 * (ROUNDS + 1 - FROM)];

    HE_D explicit AesKeys(u64 keys) {
#pragma unroll
        for (u32 r = FROM; r <= ROUNDS; ++r) {
            uint4 k = aes_load_key(keys + 16 * r);
            u32* w = words + 4 * (r - FROM);
            w[0] = k.x, w[1] = k.y, w[2] = k.z, w[3] = k.w;
        }
    }

    HE_D const u32* round(u32 r) const { return words + 4 * (r - FROM); }
};

// Rounds FROM ... ROUNDS of several blocks side by side.
template <bool INVERSE, u32 FROM, u32 ROUNDS, u32 BLOCKS, u32 FIRST, u32 COUNT>
HE_D void aes_rounds(const AesShared<COUNT>& t, const AesKeys<FIRST, ROUNDS>& keys, u32 (&s)[BLOCKS][4]) {
#pragma unroll
    for (u32 r = FROM; r < ROUNDS; ++r) {
#pragma unroll
        for (u32 j = 0; j < BLOCKS; ++j) aes_round<INVERSE>(t, s[j], keys.round(r));
    }
#pragma unroll
    for (u32 j = 0; j < BLOCKS; ++j) aes_last_round<INVERSE>(t, s[j], keys.round(ROUNDS));
}

// One block by one thread, from the table in global memory; for what there is little of.
HE_D uint4 aes_block(u64 keys, u32 rounds, uint4 block) {
    const u32* table = AES_TABLES.forward;
    uint4 k = aes_load_key(keys);
    u32 s[4] = {block.x ^ k.x, block.y ^ k.y, block.z ^ k.z, block.w ^ k.w};
#pragma unroll 1
    for (u32 r = 1; r <= rounds; ++r) {
        k = aes_load_key(keys + 16 * r);
        const u32 key[4] = {k.x, k.y, k.z, k.w};
        u32 n[4];
#pragma unroll
        for (u32 c = 0; c < 4; ++c) {
            u32 w0 = table[s[c] & 255], w1 = table[s[(c + 1) & 3] >> 8 & 255];
            u32 w2 = table[s[(c + 2) & 3] >> 16 & 255], w3 = table[s[(c + 3) & 3] >> 24];
            n[c] = r < rounds ? w0 ^ aes_rotate<1>(w1) ^ aes_rotate<2>(w2) ^ aes_rotate<3>(w3)
                              : (w0 >> 8 & 0xff) | (w1 & 0xff00) | (w2 & 0xff0000) | (w3 << 8 & 0xff000000);
            n[c] ^= key[c];
        }
#pragma unroll
        for (u32 c = 0; c < 4; ++c) s[c] = n[c];
    }
    return make_uint4(s[0], s[1], s[2], s[3]);
}

// ---- Chunks ----

// Chunks of `len` bytes, the last of `last`, `stride` bytes (a multiple of 16) apart.
struct AesChunks {
    u64 stride, len, last;
    u32 count;
    u32 parts; // into which the work on the longest chunk is cut

    HE_D u64 bytes(u32 chunk) const { return chunk + 1 == count ? last : len; }
    HE_D u32 items() const { return count * parts; }
    HE_D void locate(u32 item, u32& chunk, u32& part) const {
        chunk = count == 1 ? 0 : item / parts;
        part = item - chunk * parts;
    }
};

// Number of a warp in the grid: neighbours are on different multiprocessors, so that little work is spread over all.
HE_D u32 aes_warp() { return (threadIdx.x >> 5) * gridDim.x + blockIdx.x; }
HE_D u32 aes_warps() { return gridDim.x * (blockDim.x >> 5); }
