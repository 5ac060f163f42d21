// Which words of which rows a thread of an elementwise kernel has.
#pragma once
#include "modular.cuh"

constexpr u32 ROW_THREADS = 128;
constexpr u32 ROW_WORDS = 2 * ROW_THREADS; // of a block: two neighbouring words a thread

// Rows of N words and how they fall to blocks: blockIdx.y has the limb, blockIdx.x the batch entry and chunk. Mirrored by
// `constants::Grid`.
struct Grid {
    Limbs limbs;
    const Prime* primes;
    u32 log_n, log_chunks; // blocks in a row
};

// Two neighbouring words of a row.
struct Place {
    u32 limb, entry, k;
    bool inside;
};

HE_D Place place_of(const Grid& g) {
    u32 chunk = blockIdx.x & ((1u << g.log_chunks) - 1), k = (chunk * ROW_THREADS + threadIdx.x) * 2;
    return Place{blockIdx.y, blockIdx.x >> g.log_chunks, k, k < (1u << g.log_n)};
}

// The word of an operand with as many batch entries as `batch` says, or with one for all.
HE_HD size_t word_of(const Grid& g, const Place& at, u32 batch) {
    size_t row = (size_t)at.limb * batch + (batch == 1 ? 0 : at.entry);
    return (row << g.log_n) + at.k;
}

HE_HD ulonglong2 load2(const u64* p) { return *reinterpret_cast<const ulonglong2*>(p); }
HE_HD void store2(u64* p, u64 x, u64 y) { *reinterpret_cast<ulonglong2*>(p) = make_ulonglong2(x, y); }
