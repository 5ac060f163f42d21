// The words of switching keys: as they are, or packed to 50 bits where every prime is below 2^50.
//
// A packed row is one tile after the other, each of 2^11 residues in 1600 words: the low 32 bits of all residues, their next 16, and
// their two highest, four residues a byte. A warp reads neighbouring words of each section.
#pragma once
#include "rows.cuh"

constexpr u32 KEY_LOG_TILE = 11, KEY_TILE = 1u << KEY_LOG_TILE;
constexpr u32 KEY_MIDDLE = KEY_TILE / 2, KEY_HIGH = KEY_MIDDLE + KEY_TILE / 4, KEY_TILE_WORDS = KEY_HIGH + KEY_TILE / 32;

// Two neighbouring residues of a key. `Raw` is what was read: it waits for memory only where it is unpacked.
struct FlatPair {
    typedef ulonglong2 Raw;

    // Where the residues k and k + 1 of row `row` are, for even k.
    HE_D FlatPair(const u64* key, size_t row, u32 log_n, u32 k) : words(key + (row << log_n) + k) {}
    // Those that are `ahead` residues further on in the same tile, of a part that begins `offset` words further on.
    HE_D Raw read(size_t offset, u32 ahead = 0) const { return load2(words + offset + ahead); }
    HE_D static ulonglong2 unpack(Raw raw) { return raw; }
    HE_D ulonglong2 load(size_t offset) const { return read(offset); }

    const u64* words;
};

struct PackedPair {
    struct Raw {
        u64 low;          // of both
        u32 middle, high; // of both; of four residues
    };

    HE_D PackedPair(const u64* key, size_t row, u32 log_n, u32 k)
        : tile(key + ((row << (log_n - KEY_LOG_TILE)) + (k >> KEY_LOG_TILE)) * KEY_TILE_WORDS), k(k & (KEY_TILE - 1)) {}
    HE_D Raw read(size_t offset, u32 ahead = 0) const {
        const u64* words = tile + offset;
        u32 pair = (k + ahead) / 2;
        return Raw{words[pair], reinterpret_cast<const u32*>(words + KEY_MIDDLE)[pair],
                   reinterpret_cast<const unsigned char*>(words + KEY_HIGH)[pair / 2]};
    }
    // `ahead` is a multiple of four.
    HE_D ulonglong2 unpack(Raw raw) const {
        u32 high = raw.high >> (k & 2) * 2;
        return make_ulonglong2((raw.low & 0xffffffff) | (u64)((raw.middle & 0xffff) | (high & 3) << 16) << 32,
                               raw.low >> 32 | (u64)(raw.middle >> 16 | (high & 12) << 14) << 32);
    }
    HE_D ulonglong2 load(size_t offset) const { return unpack(read(offset)); }

    const u64* tile;
    u32 k;
};
