// architecture: compute_80
// Base conversion of rows of coefficients in the matrix units.
#include "include/byte_conversion.cuh"
#include "include/convert.cuh"

constexpr u32 BYTES_LOG_TILE = 7, BYTES_TILE = 1 << BYTES_LOG_TILE, BYTES_PAIRS = BYTES_TILE / 2;
constexpr u32 BYTES_AREA = BYTES_TILE + 4; // areas begin in different banks
constexpr u32 BYTES_THREADS = 128, BYTES_WARPS = BYTES_THREADS / 32;
constexpr u32 BYTES_TARGETS = 4;           // that a warp converts to together
constexpr u32 WARP_ROWS = 16;              // coefficients of one product of matrices

// Pairs are coefficients that are eight apart: where the first one of a pair is, and where word k of the pairs is.
HE_D u32 first_of_pair(u32 pair) { return pair / 8 * WARP_ROWS + pair % 8; }
HE_D u32 coefficient_of_word(u32 k) { return first_of_pair(k / 2) + k % 2 * 8; }

template <u32 CHUNKS>
HE_D void convert_bytes_rows(const ConvertArgs& a, u32 part) {
    SHARED(u64, words);
    const Basis& basis = a.bases[part >> 1][blockIdx.y];
    u32 log_n = a.grid.log_n, log_tiles = log_n - BYTES_LOG_TILE, sources = (u32)basis.count;
    u32 entry = blockIdx.x >> log_tiles, tile = blockIdx.x & ((1u << log_tiles) - 1);
    size_t stride = (size_t)a.grid.limbs.batch << log_n, at = ((size_t)entry << log_n) + (size_t)tile * BYTES_TILE;
    u32 k = threadIdx.x, lane = k % warpSize, t = lane % 4, row_words = row_words_of(sources);
    copy_sources(words, BYTES_AREA, k, a.src[part] + basis.first * stride + at + coefficient_of_word(k), stride, sources);
    commit_copies();

    u32 first = a.skip_own ? (u32)basis.own_first : a.targets, own_count = (u32)basis.own_count, next = first + own_count;
    u32 count = a.skip_own ? a.targets - own_count : a.targets, groups = (count + BYTES_TARGETS - 1) / BYTES_TARGETS;
    auto limb_of = [&](u32 target) { return target_of(min(target, count - 1), first, next); };
    const u64* tables = in_global(basis.bytes) + lane % 8;
    auto prime_of_group = [&](u32 group) -> const Prime& {
        return a.grid.primes[prime_of(a.grid.limbs, limb_of(group * BYTES_TARGETS + t))];
    };
    auto table_of_group = [&](u32 group) {
        return tables + (size_t)limb_of(group * BYTES_TARGETS + lane / 8) * (CHUNKS * CHUNK_WORDS);
    };
    // A warp takes a group of targets, or a share of the pairs for one if there are fewer groups.
    u32 log_shares = groups == 1 ? 2 : groups == 2 ? 1 : 0, pairs = BYTES_PAIRS >> log_shares;
    u32 item = k / warpSize, items = groups << log_shares;
    if (items == 0) {
        wait_copies();
        return;
    }
    // The constants arrive together with the sources.
    u32 own_group = min(item, items - 1) >> log_shares;
    const Prime* p = &prime_of_group(own_group);
    ByteConversion<CHUNKS> conversion(table_of_group(own_group), *p);
    Fp64 f(*p);

    wait_copies();
    pack_row<CHUNKS>(words, BYTES_AREA, k, basis, sources);
    __syncthreads();

    const WordPair* chunks[CHUNKS];
#pragma unroll
    for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
        // Constants of missing words are zero.
        chunks[chunk] = reinterpret_cast<const WordPair*>(words) + min(chunk * CHUNK_ROW_WORDS + t, row_words - 1) * (BYTES_AREA / 2) + lane / 4;
    }
    u64* dst = a.dst[part] + blockIdx.y * a.dst_digit + at;
    while (item < items) {
        u32 group = item >> log_shares, begin = (item - (group << log_shares)) * pairs, target = group * BYTES_TARGETS + t;
        u64* out = dst + limb_of(target) * stride;
#pragma unroll 2
        for (u32 pair = begin; pair < begin + pairs; pair += WARP_ROWS / 2) {
            double x, y;
            conversion.convert(chunks, pair, x, y);
            u32 i = first_of_pair(pair + lane / 4);
            if (target < count) {
                out[i] = f.store(x);
                out[i + 8] = f.store(y);
            }
        }
        item += BYTES_WARPS;
        if (item >= items) break;
        p = &prime_of_group(item >> log_shares);
        conversion = ByteConversion<CHUNKS>(table_of_group(item >> log_shares), *p);
        f = Fp64(*p);
    }
}

template <u32 CHUNKS>
HE_D void convert_bytes(const ConvertStepsArgs& a) {
    convert_steps(a, [](const ConvertArgs& step, u32 part) { convert_bytes_rows<CHUNKS>(step, part); });
}

// For up to 13 and 18 sources.
KERNEL(convert_bytes_13, ConvertStepsArgs, BYTES_THREADS, 5) { convert_bytes<3>(a); }
KERNEL(convert_bytes_18, ConvertStepsArgs, BYTES_THREADS, 5) { convert_bytes<4>(a); }
