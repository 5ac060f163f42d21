// Operations word by word on rows, and the automorphisms. Memory decides their time: two neighbouring words a thread, 16 bytes
// an access, integer arithmetic for every prime.
#include "include/rows.cuh"

// a <- src op x, a <- src + x y, in place or not, of one polynomial or two (blockIdx.z); mirrored by `elementwise::Args`.
struct ElementArgs {
    Grid grid;
    const u64* src[2];
    u64* a[2];
    const u64* x[2];
    const u64* y;
    u32 x_batch, y_batch;
};

// One constant a limb; mirrored by `elementwise::FactorArgs`.
struct FactorArgs {
    Grid grid;
    u64* a;
    const u64* x;
    u32 x_batch, unused;
    u64 factors[128];
};

// Mirrored by `elementwise::AutomorphismArgs`.
struct AutomorphismArgs {
    Grid grid;
    const u64* src;
    u64* dst;
    u32 src_batch, g;
};

// Blocks of words, the first ones at `src` and `dst`; mirrored by `elementwise::BlockArgs`.
struct BlockArgs {
    const u64* src;
    u64* dst;
    size_t src_step, dst_step; // words from one block to the next
    size_t words;
    u32 chunks, aligned; // thread blocks of a block of words; whether pairs of words are everywhere aligned to 16 bytes
};

constexpr u32 CHUNK_PAIRS = 4, CHUNK_WORDS = 2 * CHUNK_PAIRS * ROW_THREADS;

// A chunk of `words` words, from word `first` on.
HE_D void copy_chunk(const u64* src, u64* dst, size_t first, size_t words, u32 aligned) {
    if (aligned && first + CHUNK_WORDS <= words) {
        ulonglong2 pairs[CHUNK_PAIRS];
#pragma unroll
        for (u32 i = 0; i < CHUNK_PAIRS; ++i) pairs[i] = load2(src + first + 2 * (threadIdx.x + i * ROW_THREADS));
#pragma unroll
        for (u32 i = 0; i < CHUNK_PAIRS; ++i) store2(dst + first + 2 * (threadIdx.x + i * ROW_THREADS), pairs[i].x, pairs[i].y);
        return;
    }
    for (size_t k = first + threadIdx.x; k < min(first + CHUNK_WORDS, words); k += ROW_THREADS) dst[k] = src[k];
}

KERNEL(copy_blocks, BlockArgs, ROW_THREADS, 1) {
    u32 block = blockIdx.x / a.chunks;
    size_t first = (size_t)(blockIdx.x - block * a.chunks) * CHUNK_WORDS;
    copy_chunk(a.src + block * a.src_step, a.dst + block * a.dst_step, first, a.words, a.aligned);
}

// Blocks of words that go from places to places of every run; mirrored by `elementwise::PlaceArgs`.
struct PlaceArgs {
    const u64* src;
    u64* dst;
    const u64* places; // pairs: in a run of the source, and in one of the destination
    size_t src_step, dst_step; // words from one run to the next
    size_t words;
    u32 count, chunks, aligned, unused; // pairs, and the rest as above
};

KERNEL(copy_places, PlaceArgs, ROW_THREADS, 1) {
    u32 block = blockIdx.x / a.chunks, run = block / a.count;
    const u64* place = a.places + 2 * (size_t)(block - run * a.count);
    size_t first = (size_t)(blockIdx.x - block * a.chunks) * CHUNK_WORDS;
    copy_chunk(a.src + run * a.src_step + place[0] * a.words, a.dst + run * a.dst_step + place[1] * a.words, first, a.words, a.aligned);
}

// A run of words of a part, and its place in a run of the destination.
struct Part {
    const u64* src;
    u64 words, at;
};

// Parts that are joined run by run; mirrored by `elementwise::JoinArgs`.
struct JoinArgs {
    const Part* parts;
    u64* dst;
    size_t dst_step; // words from one run to the next
    u32 count, aligned; // parts, and as above
};

KERNEL(join_runs, JoinArgs, ROW_THREADS, 1) {
    u32 run = blockIdx.x / a.count;
    const Part& part = a.parts[blockIdx.x - run * a.count];
    const u64* src = part.src + run * part.words;
    u64* dst = a.dst + run * a.dst_step + part.at;
    for (size_t first = 0; first < part.words; first += CHUNK_WORDS) copy_chunk(src, dst, first, part.words, a.aligned);
}

// Matrices of words one behind the other; mirrored by `elementwise::TransposeArgs`.
struct TransposeArgs {
    const u64* src;
    u64* dst;
    u32 rows, columns;
    u32 bands, chunks; // of BAND_ROWS rows, and of as many columns as a block has threads
};

constexpr u32 BAND_ROWS = 8;

// A thread takes a column of a band: threads read neighbouring words of a row, and each writes a run of the transpose as long as
// two sectors of memory.
KERNEL(transpose_words, TransposeArgs, ROW_THREADS, 1) {
    u32 band = blockIdx.x / a.chunks, matrix = band / a.bands;
    u32 column = (blockIdx.x - band * a.chunks) * ROW_THREADS + threadIdx.x, first = (band - matrix * a.bands) * BAND_ROWS;
    if (column >= a.columns) return;
    size_t start = (size_t)matrix * a.rows * a.columns;
    const u64* src = a.src + start + (size_t)first * a.columns + column;
    u64* dst = a.dst + start + (size_t)column * a.rows + first;
    u32 count = min(BAND_ROWS, a.rows - first);
    u64 words[BAND_ROWS];
#pragma unroll
    for (u32 i = 0; i < BAND_ROWS; ++i)
        if (i < count) words[i] = src[(size_t)i * a.columns];
#pragma unroll
    for (u32 i = 0; i < BAND_ROWS; ++i)
        if (i < count) dst[i] = words[i];
}

template <class F>
HE_D void each(const Grid& grid, const u64* src, u64* a, F f) {
    Place at = place_of(grid);
    if (!at.inside) return;
    const Prime p = grid.primes[prime_of(grid.limbs, at.limb)];
    size_t word = word_of(grid, at, grid.limbs.batch);
    ulonglong2 v = load2(src + word);
    v = f(v, at, p);
    store2(a + word, v.x, v.y);
}

KERNEL(add_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2 v, const Place& at, const Prime& p) {
        ulonglong2 x = load2(a.x[blockIdx.z] + word_of(a.grid, at, a.x_batch));
        return make_ulonglong2(add_mod(v.x, x.x, p.q), add_mod(v.y, x.y, p.q));
    });
}

KERNEL(sub_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2 v, const Place& at, const Prime& p) {
        ulonglong2 x = load2(a.x[blockIdx.z] + word_of(a.grid, at, a.x_batch));
        return make_ulonglong2(sub_mod(v.x, x.x, p.q), sub_mod(v.y, x.y, p.q));
    });
}

KERNEL(neg_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2 v, const Place&, const Prime& p) { return make_ulonglong2(neg_mod(v.x, p.q), neg_mod(v.y, p.q)); });
}

KERNEL(mul_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2 v, const Place& at, const Prime& p) {
        ulonglong2 x = load2(a.x[blockIdx.z] + word_of(a.grid, at, a.x_batch));
        return make_ulonglong2(mul_mod(v.x, x.x, p), mul_mod(v.y, x.y, p));
    });
}

KERNEL(mul_add_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2 v, const Place& at, const Prime& p) {
        ulonglong2 x = load2(a.x[blockIdx.z] + word_of(a.grid, at, a.x_batch)), y = load2(a.y + word_of(a.grid, at, a.y_batch));
        return make_ulonglong2(add_mod(v.x, mul_mod(x.x, y.x, p), p.q), add_mod(v.y, mul_mod(x.y, y.y, p), p.q));
    });
}

KERNEL(scale_rows, FactorArgs, ROW_THREADS, 1) {
    each(a.grid, a.a, a.a, [&](ulonglong2 v, const Place& at, const Prime& p) {
        u64 c = a.factors[at.limb];
        return make_ulonglong2(mul_mod(v.x, c, p), mul_mod(v.y, c, p));
    });
}

KERNEL(scale_add_rows, FactorArgs, ROW_THREADS, 1) {
    each(a.grid, a.a, a.a, [&](ulonglong2 v, const Place& at, const Prime& p) {
        u64 c = a.factors[at.limb];
        ulonglong2 x = load2(a.x + word_of(a.grid, at, a.x_batch));
        return make_ulonglong2(add_mod(v.x, mul_mod(x.x, c, p), p.q), add_mod(v.y, mul_mod(x.y, c, p), p.q));
    });
}

KERNEL(shift_rows, FactorArgs, ROW_THREADS, 1) {
    each(a.grid, a.a, a.a, [&](ulonglong2 v, const Place& at, const Prime& p) {
        u64 c = a.factors[at.limb];
        return make_ulonglong2(add_mod(v.x, c, p.q), add_mod(v.y, c, p.q));
    });
}

// Signed words [batch][coefficient] modulo the prime of each row.
KERNEL(reduce_signed_rows, ElementArgs, ROW_THREADS, 1) {
    each(a.grid, a.src[blockIdx.z], a.a[blockIdx.z], [&](ulonglong2, const Place& at, const Prime& p) {
        ulonglong2 x = load2(a.x[0] + (((size_t)at.entry << a.grid.log_n) + at.k));
        return make_ulonglong2(reduce_signed_word((i64)x.x, p), reduce_signed_word((i64)x.y, p));
    });
}

// Values: dst[i] = src[j] where g takes the root of i to the root of j. An aligned block of 2^b indices comes from one such block.
KERNEL(automorphism_values, AutomorphismArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    u32 shift = 32 - a.grid.log_n;
    Place row = at;
    row.k = 0;
    const u64* src = a.src + word_of(a.grid, row, a.src_batch);
    u64 image[2];
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        u32 exponent = a.g * (2 * (__brev(at.k + i) >> shift) + 1);
        image[i] = src[__brev((exponent >> 1) << shift)];
    }
    store2(a.dst + word_of(a.grid, at, a.grid.limbs.batch), image[0], image[1]);
}

// Coefficients: a[k] goes to index g k mod N, negated if g k mod 2N >= N.
KERNEL(automorphism_coefficients, AutomorphismArgs, ROW_THREADS, 1) {
    Place at = place_of(a.grid);
    if (!at.inside) return;
    u64 q = a.grid.primes[prime_of(a.grid.limbs, at.limb)].q;
    ulonglong2 v = load2(a.src + word_of(a.grid, at, a.src_batch));
    u32 n = 1u << a.grid.log_n;
    Place row = at;
    row.k = 0;
    u64* dst = a.dst + word_of(a.grid, row, a.grid.limbs.batch);
#pragma unroll
    for (u32 i = 0; i < 2; ++i) {
        u32 index = (a.g * (at.k + i)) & (2 * n - 1);
        u64 word = i == 0 ? v.x : v.y;
        dst[index & (n - 1)] = index & n ? neg_mod(word, q) : word;
    }
}
