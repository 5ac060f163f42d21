// Base conversion in the matrix units, and the first kernel of the transforms of what it gives, in one: residues modulo the targets
// never reach memory as coefficients. For degrees of two kernels.
#pragma once
#include "byte_conversion.cuh"
#include "ntt.cuh"

constexpr u32 COLUMNS_LOG = 4, COLUMNS_TILE = 10, COLUMNS_THREADS = 256;
constexpr u32 COLUMNS_ROW_BITS = 8;                // of the index, which are left to the second kernel
constexpr u32 COLUMNS_POINTS = 1 << COLUMNS_LOG, COLUMNS_WORDS = 1 << COLUMNS_TILE;
constexpr u32 COLUMN_THREADS = 64;                 // that have the points of one target
constexpr u32 COLUMNS_TARGETS = 4;                 // that a block converts and transforms together
constexpr u32 COLUMNS_HALF = COLUMNS_WORDS / 2;
constexpr u32 COLUMNS_AREA = COLUMNS_WORDS + 4;    // of shared memory: areas begin in different banks

// blockIdx.x: batch entry and tile; blockIdx.y: digit; blockIdx.z: polynomial and share of the targets. Mirrored by
// `ntt::ConvertColumnsArgs`.
struct ConvertColumnsArgs {
    NttArgs ntt;
    u32 targets, shares;
};

// What a block needs of one target, in shared memory: read from global memory where it is used, it would be waited for several times.
template <u32 BITS, u32 CHUNKS>
struct alignas(16) Target {
    static constexpr u32 ROOTS = 1u << BITS; // of the high bits of the index

    Prime prime;
    u64 bytes[CHUNKS * CHUNK_WORDS];
    double roots[ROOTS];
};
static_assert(sizeof(Prime) % 16 == 0, "copied in pieces of 16 bytes");

// Copies BYTES bytes, in pieces of 16, by COLUMN_THREADS threads.
template <u32 BYTES>
HE_D void copy_pieces(void* to, const void* from, u32 thread) {
    constexpr u32 PIECES = BYTES / 16;
#pragma unroll
    for (u32 i = 0; i < PIECES; i += COLUMN_THREADS) {
        u32 piece = i + thread;
        if (piece < PIECES) copy_async(static_cast<char*>(to) + 16 * piece, static_cast<const char*>(from) + 16 * piece);
    }
}

// From the points of the first pass to those of the second, by room for a tile. The threads that access it together have four
// neighbouring points of each target, whose areas begin in different banks: points lie in order.
template <class First, class Second>
HE_D void exchange(double (&x)[COLUMNS_POINTS], double* shared, u32 thread) {
    double *to = shared + First::first(thread), *from = shared + Second::first(thread);
#pragma unroll
    for (u32 r = 0; r < COLUMNS_POINTS; ++r) to[First::step(r)] = x[r];
    __syncthreads();
#pragma unroll
    for (u32 r = 0; r < COLUMNS_POINTS; ++r) x[r] = from[Second::step(r)];
}

// The same by room for half a tile: each half of the tile in turn. The bit that tells them apart is the highest of the first pass; in
// the second, that of the thread, which warps have in common.
template <class First, class Second>
HE_D void exchange_halves(double (&x)[COLUMNS_POINTS], double* shared, u32 thread) {
    constexpr u32 TOP = 1u << (First::STAGES - 1);
    double next[COLUMNS_POINTS];
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
        double *tile = shared - half * COLUMNS_HALF, *to = tile + First::first(thread), *from = tile + Second::first(thread);
#pragma unroll
        for (u32 r = 0; r < COLUMNS_POINTS; ++r) {
            if (r / TOP % 2 == half) to[First::step(r)] = x[r];
        }
        __syncthreads();
        if (thread / (COLUMN_THREADS / 2) == half) {
#pragma unroll
            for (u32 r = 0; r < COLUMNS_POINTS; ++r) next[r] = from[Second::step(r)];
        }
        if (half == 0) __syncthreads();
    }
#pragma unroll
    for (u32 r = 0; r < COLUMNS_POINTS; ++r) x[r] = next[r];
}

template <u32 BITS, u32 CHUNKS>
HE_D void convert_columns(const ConvertColumnsArgs& args) {
    constexpr u32 LOG_COLUMNS = COLUMNS_TILE - BITS, LOW = forward_low<COLUMNS_LOG>(COLUMNS_TILE, LOG_COLUMNS);
    static_assert(forward_low<COLUMNS_LOG>(LOW, LOG_COLUMNS) == LOG_COLUMNS, "two passes");
    const NttArgs& a = args.ntt;
    SHARED(u64, words);
    const Basis& basis = a.bases[blockIdx.y];
    const u64* constants = in_global(basis.bytes);
    u32 sources = (u32)basis.count, row_words = row_words_of(sources);
    u32 log_n = a.log_n;
    u32 entry = blockIdx.x >> a.log_tiles, tile = blockIdx.x & ((1u << a.log_tiles) - 1);
    u32 part = blockIdx.z / args.shares, share = blockIdx.z - part * args.shares;
    size_t stride = (size_t)a.limbs.batch << log_n, row = (size_t)entry << log_n;
    ColumnIndex<COLUMNS_TILE, BITS, COLUMNS_ROW_BITS> index(tile);
    typedef Points<COLUMNS_LOG, COLUMNS_TILE, LOW> First;
    typedef Points<COLUMNS_LOG, LOW, LOG_COLUMNS> Second;

    bool skips = a.own != TRANSFORM_OWN;
    u32 first = skips ? (u32)basis.own_first : args.targets, own_count = (u32)basis.own_count, next = first + own_count;
    u32 count = skips ? args.targets - own_count : args.targets, groups = (count + COLUMNS_TARGETS - 1) / COLUMNS_TARGETS;
    u32 begin = groups * share / args.shares, end = groups * (share + 1) / args.shares;
    auto limb_of = [&](u32 k) { return target_of(min(k, count - 1), first, next); };

    // The constants of a group arrive while the one before it is computed, its first roots during that one's second pass, and the others
    // during its own first pass: a quarter of the threads copies those of one target. With more sources there is no room for them if two
    // blocks are to share a multiprocessor, nor for all points of the targets between the passes, which then go in halves.
    constexpr bool COPIES = CHUNKS <= 2;
    constexpr u32 EXCHANGE_AREA = COPIES ? COLUMNS_AREA : COLUMNS_HALF + 4;
    typedef Target<BITS, CHUNKS> Constants;
    constexpr u32 FIRST_ROOTS = 1u << (COLUMNS_TILE - LOW);
    Constants* targets = reinterpret_cast<Constants*>(words + (row_words + COLUMNS_TARGETS) * COLUMNS_AREA);
    u32 copied = threadIdx.x / COLUMN_THREADS, piece = threadIdx.x % COLUMN_THREADS;
    Constants& copy = targets[copied];
    const double* roots = nullptr; // of the target whose first roots were copied last
    auto prime_in = [&](u32 group) { return a.primes + prime_of(a.limbs, limb_of(group * COLUMNS_TARGETS + copied)); };
    auto copy_constants = [&](u32 group) {
        copy_pieces<sizeof(Prime)>(&copy.prime, prime_in(group), piece);
        const u64* bytes = constants + (size_t)limb_of(group * COLUMNS_TARGETS + copied) * (CHUNKS * CHUNK_WORDS);
        copy_pieces<sizeof(copy.bytes)>(copy.bytes, bytes, piece);
    };
    auto copy_first_roots = [&](const Prime& prime) {
        roots = roots_of<Fp64>(prime);
        copy_pieces<8 * FIRST_ROOTS>(copy.roots, roots, piece);
    };
    auto copy_other_roots = [&] {
        constexpr u32 BYTES = 8 * (Constants::ROOTS - FIRST_ROOTS);
        copy_pieces<BYTES>(copy.roots + FIRST_ROOTS, roots + FIRST_ROOTS, piece);
    };
    // The y of the sources, all on the way together.
    const u64* src = in_global(a.src[part] + row + basis.first * stride);
#pragma unroll
    for (u32 k = threadIdx.x; k < COLUMNS_WORDS / 2; k += COLUMNS_THREADS) {
        u32 r = k / COLUMN_THREADS * 2;
        const u64* at_i = src + index(First::first(k % COLUMN_THREADS)) + index.step(First::step(r));
        const u64* at_j = at_i + index.step(First::step(1));
        for (u32 s = 0; s < sources; ++s) {
            u64* y = words + s * COLUMNS_AREA + 2 * k;
            copy_word_async(y, at_i + s * stride);
            copy_word_async(y + 1, at_j + s * stride);
        }
    }
    if (COPIES && begin < end) {
        copy_constants(begin);
        copy_first_roots(*prime_in(begin));
    }
    commit_copies();

    wait_copies();
#pragma unroll 1
    for (u32 k = threadIdx.x; k < COLUMNS_WORDS / 2; k += COLUMNS_THREADS) pack_pair<CHUNKS>(words, COLUMNS_AREA, k, basis, sources);
    const WordPair* pairs = reinterpret_cast<const WordPair*>(words);
    __syncthreads();

    u64* dst = a.dst[part] + blockIdx.y * a.dst_digit + row;
    u32 lane = threadIdx.x % warpSize, t = lane % 4, thread = threadIdx.x / 4 % COLUMN_THREADS;
    double* area = reinterpret_cast<double*>(words + row_words * COLUMNS_AREA) + t * EXCHANGE_AREA;
    const WordPair* chunks[CHUNKS];
#pragma unroll
    for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
        // Constants of missing words are zero.
        chunks[chunk] = pairs + min(chunk * CHUNK_ROW_WORDS + t, row_words - 1) * (COLUMNS_AREA / 2) + thread;
    }
    // Of target t of a group, and the words of constants that the lane holds.
    const Prime* prime = &targets[t].prime;
    const double* own_roots = targets[t].roots;
    const u64* table = targets[lane / 8].bytes + lane % 8;
    for (u32 group = begin; group < end; ++group) {
        u32 k = group * COLUMNS_TARGETS + t;
        if constexpr (!COPIES) {
            prime = a.primes + prime_of(a.limbs, limb_of(k));
            own_roots = roots_of<Fp64>(*prime);
            table = constants + (size_t)limb_of(group * COLUMNS_TARGETS + lane / 8) * (CHUNKS * CHUNK_WORDS) + lane % 8;
        }
        Fp64 arithmetic(*prime);
        double x[COLUMNS_POINTS];
        {
            ByteConversion<CHUNKS> conversion(table, *prime);
#pragma unroll
            for (u32 r = 0; r < COLUMNS_POINTS; r += 2) conversion.convert(chunks, r / 2 * COLUMN_THREADS, x[r], x[r + 1]);
        }
        wait_copies();
        __syncthreads(); // the last targets have left shared memory, and nobody needs these constants again, nor the last roots
        if constexpr (COPIES) {
            copy_other_roots();
            if (group + 1 < end) copy_constants(group + 1);
            commit_copies();
        }
        forward_pass<Fp64, COLUMNS_LOG, COLUMNS_TILE, LOW, true>(arithmetic, x, TableRoots<Fp64>{own_roots, 1});
        if constexpr (!COPIES) {
            exchange_halves<First, Second>(x, area, thread);
        } else {
            wait_copies();
            exchange<First, Second>(x, area, thread);
            if (group + 1 < end) copy_first_roots(copy.prime);
            commit_copies();
        }
        auto second = read_roots<Fp64, COLUMNS_LOG, LOW, LOG_COLUMNS>(own_roots, thread, 0, FIRST_ROOTS, log_n);
        forward_pass<Fp64, COLUMNS_LOG, LOW, LOG_COLUMNS, false>(arithmetic, x, second);
        if (k >= count) continue;
        u64* out = dst + limb_of(k) * stride + index(Second::first(thread));
#pragma unroll
        for (u32 r = 0; r < COLUMNS_POINTS; ++r) out[index.step(Second::step(r))] = Fp64::pack(x[r]);
    }
    if (a.own == COPY_OWN && share == 0) {
        size_t at = basis.own_first * stride + ((size_t)tile << COLUMNS_TILE) + 2 * threadIdx.x;
        constexpr u32 STEPS = COLUMNS_WORDS / (2 * COLUMNS_THREADS);
#pragma unroll 2
        for (u32 s = 0; s < own_count; ++s) {
            ulonglong2 pair[STEPS];
#pragma unroll
            for (u32 i = 0; i < STEPS; ++i) pair[i] = load2(a.acc[0] + row + at + s * stride + 2 * i * COLUMNS_THREADS);
#pragma unroll
            for (u32 i = 0; i < STEPS; ++i) store2(dst + at + s * stride + 2 * i * COLUMNS_THREADS, pair[i].x, pair[i].y);
        }
    }
}

// For up to 4, 9 and 13 sources in each digit.
#define CONVERT_KERNELS(NAME, BITS)                                                                                       \
    KERNEL(NAME##_4, ConvertColumnsArgs, COLUMNS_THREADS, 2) { convert_columns<BITS, 1>(a); }                             \
    KERNEL(NAME##_9, ConvertColumnsArgs, COLUMNS_THREADS, 2) { convert_columns<BITS, 2>(a); }                             \
    KERNEL(NAME##_13, ConvertColumnsArgs, COLUMNS_THREADS, 2) { convert_columns<BITS, 3>(a); }
