// The words of switching keys: as they are, or packed to 50 bits modulo primes below 2^50. Where all rows of a ring are packed, one follows
// the other; where only some are, each has the place of one that is not.
//
// A packed row is one tile after the other, each of 2^11 residues in 1600 words: the low 32 bits of all residues, their next 16, and
// their two highest, four residues a byte. A warp reads neighbouring words of each section.
#pragma once
#include "async_copy.cuh"
#include "policy.cuh"
#include "rows.cuh"

constexpr u32 KEY_LOG_TILE = 11, KEY_TILE = 1u << KEY_LOG_TILE;
constexpr u32 KEY_MIDDLE = KEY_TILE / 2, KEY_HIGH = KEY_MIDDLE + KEY_TILE / 4, KEY_TILE_WORDS = KEY_HIGH + KEY_TILE / 32;

// How a key holds rows; mirrored by `key::KeyLayout`.
struct KeyLayout {
    u64 packed[2];  // a bit for each limb of the key
    u64 row_words;  // from one row to the next

    HE_HD bool is_packed(u32 limb) const { return (packed[limb / 64] >> limb % 64 & 1) != 0; }
};

// The limb of a key that belongs to limb `limb` of rows of which `split` limbs are the chain's; the key has `key_chain` of these.
HE_HD u32 key_limb(u32 limb, u32 split, u32 key_chain) { return limb < split ? limb : limb - split + key_chain; }

// Two neighbouring residues of a key. `Raw` is what was read: it waits for memory only where it is unpacked.
struct FlatPair {
    typedef ulonglong2 Raw;

    // Where the residues k and k + 1 of a row are, for even k.
    HE_D FlatPair(const u64* row, u32 k) : words(row + k) {}
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

    HE_D PackedPair(const u64* row, u32 k) : tile(row + (size_t)(k >> KEY_LOG_TILE) * KEY_TILE_WORDS), k(k & (KEY_TILE - 1)) {}
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

// Both parts of a key for RUN neighbouring residues, on their way through shared memory: a warp copies them together, 16 bytes a lane,
// and a lane reads two of them.
constexpr u32 RUN = 64;

HE_D const u64* bytes_after(const u64* p, u64 bytes) {
    return reinterpret_cast<const u64*>(reinterpret_cast<const char*>(p) + bytes);
}

// What a lane copies of each run of a limb; part a of a digit begins `part_words` words after part b.
struct FlatRun {
    static constexpr u32 WORDS = 2 * RUN;

    HE_D FlatRun(u32 limb, u32 row_words, size_t part_words, u32 lane) : limb(limb), row_words(row_words), lane(lane), part_words(part_words) {}
    // The residues run ... run + 64 of a digit whose part b begins at `key`, to the lane's place; `inside`: the row is not shorter.
    HE_D void copy(u64* to, const u64* key, u32 run, bool inside) const {
        if (!inside) return;
        const u64* from = bytes_after(key, (u64)limb * (8 * row_words)) + run + 2 * lane;
        copy_async(to, from);
        copy_async(to + RUN, from + part_words);
    }
    // Residues 2 pair and 2 pair + 1 of the run.
    template <class A>
    HE_D static void read(const A& f, const u64* run, u32 part, u32 pair, typename A::Value (&v)[2]) {
        ulonglong2 words = load2(run + part * RUN + 2 * pair);
        v[0] = f.load(words.x);
        v[1] = f.load(words.y);
    }

    u32 limb, row_words, lane;
    size_t part_words;
};

struct PackedRun {
    // Both low sections, then the middle ones, then the high ones.
    static constexpr u32 MIDDLE = RUN, HIGH = MIDDLE + RUN / 2, WORDS = HIGH + RUN / 16;
    static constexpr u32 MIDDLE_LANES = RUN / 4, REST_LANES = (WORDS - MIDDLE) / 2; // that copy middle, and high sections

    HE_D PackedRun(u32 limb, u32 row_words, size_t part_words, u32 lane)
        : limb(limb), row_words(row_words), has_middle(lane < MIDDLE_LANES), has_rest(lane < REST_LANES) {
        low = 8 * (lane / 16 * part_words + 2 * (lane % 16));
        rest = 8 * (has_middle ? lane / 8 * part_words + KEY_MIDDLE + 2 * (lane % 8) : lane % 16 * part_words + KEY_HIGH);
    }
    HE_D void copy(u64* to, const u64* key, u32 run, bool) const {
        const u64* from = bytes_after(key, (u64)(limb * row_words + (run >> KEY_LOG_TILE) * KEY_TILE_WORDS) * 8);
        u32 k = run & (KEY_TILE - 1);
        copy_async(to, bytes_after(from, low + 4 * k));
        if (has_rest) copy_async(to + MIDDLE, bytes_after(from, rest + (has_middle ? 2 * k : k / 4)));
    }
    HE_D static void read(const Fp64& f, const u64* run, u32 part, u32 pair, double (&v)[2]) {
        u64 low = run[part * (RUN / 2) + pair];
        u32 middle = reinterpret_cast<const u32*>(run + MIDDLE)[part * (RUN / 2) + pair];
        u32 high = reinterpret_cast<const unsigned char*>(run + HIGH)[part * (RUN / 4) + pair / 2] >> (pair & 1) * 4;
        v[0] = f.load((u32)low, (middle & 0xffff) | (high << 16 & 0x30000));
        v[1] = f.load((u32)(low >> 32), middle >> 16 | (high << 14 & 0x30000));
    }

    u32 limb, row_words;
    bool has_middle, has_rest;
    u64 low, rest; // bytes from the tile to the lane's part of the first run
};
