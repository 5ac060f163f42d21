// Base conversion in the matrix units, for short primes.
//
// A target's residue is the sum of products of the sources' y with constants h. With bytes y = sum 2^(8i) y_i, it is the sum of
// y_i (2^(8i) h modulo the target), whose bytes are sums of products of bytes: the matrix of y, a row per coefficient, by that of the
// constants, a column per byte of a target. Sums of 2^(8j) times column j are exact, and reduced once.
//
// A row of the left matrix is a byte for the number of times that D was too much, whose constants are those of -D, then seven bytes of
// each source's y, which is below 2^56. Its words of eight bytes lie apart in shared memory.
#pragma once
#include "async_copy.cuh"
#include "conversion.cuh"
#include "matrix.cuh"
#include "rows.cuh"

constexpr u32 SOURCE_BYTES = 7, WORD_BYTES = 8;
constexpr u32 CHUNK_ROW_WORDS = 4, CHUNK_WORDS = 32; // words of a row in one product of matrices, and of its constants for a target

HE_HD constexpr u32 row_words_of(u32 sources) { return (sources * SOURCE_BYTES + WORD_BYTES) / WORD_BYTES; }

// Limb k of those that a digit is converted to.
HE_D u32 target_of(u32 k, u32 first, u32 next) { return k < first ? k : k - first + next; }

// A word of the rows of coefficients i and j, as a product of matrices takes them.
struct alignas(16) WordPair {
    u32 low_i, low_j, high_i, high_j;
};

// The products with constants of byte columns 0 and 1, 2 and 3 ... of four targets: a thread gets all columns of target t of the group
// for two coefficients, which it composes.
template <u32 CHUNKS>
struct ByteConversion {
    // Where the number may need 65 bits, its quotient is estimated without the sums of the lowest four bytes, which are below 2^46.8.
    static constexpr bool LONG = CHUNKS > 2;

    u32 constants[CHUNKS][4][2];
    u64 minus_q, offset;
    float quotient; // of 2^32 (2^33 if LONG) and the target, or 0

    // `table` are the words of the target that the lane holds, from its own one on; `prime` is that whose residues it gets.
    HE_D ByteConversion(const u64* table, const Prime& prime)
        : minus_q(prime.minus_q), offset(0x4338000000000000ull + ROUNDED * prime.q),
          quotient(prime.q >> 36 == 0 ? 0.0f : (float)((LONG ? 0x1p33 : 0x1p32) * prime.q_inverse)) {
#pragma unroll
        for (u32 i = 0; i < CHUNKS; ++i) {
#pragma unroll
            for (u32 k = 0; k < 4; ++k) {
                u64 word = table[i * CHUNK_WORDS + k * 8];
                constants[i][k][0] = (u32)word;
                constants[i][k][1] = (u32)(word >> 32);
            }
        }
    }

    // The bits of 1.5 2^23: with an integer below 2^22 added, they are those of the sum.
    static constexpr u64 ROUNDED = 0x4b400000;

    // The residue that sums of bytes, below 2^24, make: of the number V = sum 2^(8i) b_i, which is below 2^14.8 q, the multiple of q is
    // subtracted that float32 tells. It is off by .58 at most, and by 2^46.8 / q more if LONG, so that |V - b q| is below q or 2^48. For
    // targets below 2^36 it is V itself, below 2^50.8. The difference is taken modulo 2^64, beside the exponent of 1.5 2^52.
    HE_D double compose(u32 b0, u32 b1, u32 b2, u32 b3, u32 b4, u32 b5, u32 b6) const {
        u64 low = b0 + (b1 << 8) + (u64)(b2 + (b3 << 8)) * 65536;
        u32 middle = b4 + (b5 << 8);
        u64 number = low + ((u64)(middle + (b6 << 16)) << 32);
        float high = LONG ? __uint2float_rn((middle >> 1) + (b6 << 15)) : __uint2float_rn((u32)(number >> 32));
        u32 b = __float_as_uint(__fmaf_rn(high, quotient, 12582912.0f));
        return __longlong_as_double((i64)(number + offset + b * minus_q)) - 6755399441055744.0;
    }

    // The residues of two coefficients, whose words of chunk k are at words[k].
    HE_D void convert(const WordPair* const (&words)[CHUNKS], u32 at, double& x, double& y) const {
        u32 sums[4][4] = {};
#pragma unroll
        for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
            WordPair pair = words[chunk][at];
            u32 left[4] = {pair.low_i, pair.low_j, pair.high_i, pair.high_j};
#pragma unroll
            for (u32 k = 0; k < 4; ++k) multiply_bytes(sums[k], left, constants[chunk][k]);
        }
        // A constant has seven bytes.
        x = compose(sums[0][0], sums[0][1], sums[1][0], sums[1][1], sums[2][0], sums[2][1], sums[3][0]);
        y = compose(sums[0][2], sums[0][3], sums[1][2], sums[1][3], sums[2][2], sums[2][3], sums[3][2]);
    }
};

// The y of a coefficient on their way to where the words of its row will be, in word k of areas of so many words, and to one area more
// where there is one more source than words.
HE_D void copy_sources(u64* words, u32 area, u32 k, const u64* at, size_t stride, u32 sources) {
    for (u32 s = 0; s < sources; ++s) copy_word_async(words + s * area + k, at + s * stride);
}

// The words of the row of one coefficient, to which the y of its sources are added.
template <u32 CHUNKS>
struct ByteRow {
    static constexpr u32 WORDS = CHUNKS * CHUNK_ROW_WORDS, MOST_SOURCES = (WORDS * WORD_BYTES - 1) / SOURCE_BYTES;
    u64 word[WORDS] = {};
    double overflow = 0.0;

    HE_D void add(u32 s, u64 y, double reciprocal) {
        u32 byte = 1 + s * SOURCE_BYTES, first = byte / WORD_BYTES, shift = byte % WORD_BYTES * 8;
        word[first] |= y << shift;
        if (byte % WORD_BYTES + SOURCE_BYTES > WORD_BYTES) word[first + 1] = y >> (64 - shift);
        overflow = __dadd_rn(overflow, __dmul_rn(__ull2double_rn(y), reciprocal));
    }
    HE_D void end() { word[0] |= __double2ull_rn(overflow); }
};

// The words of the rows of pair k, in place of the y, by the thread that copied these.
template <u32 CHUNKS>
HE_D void pack_pair(u64* words, u32 area, u32 k, const Basis& basis, u32 sources) {
    typedef ByteRow<CHUNKS> Row;
    const double* reciprocal = in_global(basis.reciprocal);
    WordPair* pairs = reinterpret_cast<WordPair*>(words);
    Row i, j;
#pragma unroll
    for (u32 s = 0; s < Row::MOST_SOURCES; ++s) {
        if (s >= sources) continue;
        ulonglong2 y = load2(words + s * area + 2 * k);
        i.add(s, y.x, reciprocal[s]);
        j.add(s, y.y, reciprocal[s]);
    }
    i.end();
    j.end();
#pragma unroll
    for (u32 w = 0; w < Row::WORDS; ++w) {
        if (w >= row_words_of(sources)) continue;
        pairs[w * (area / 2) + k] = WordPair{(u32)i.word[w], (u32)j.word[w], (u32)(i.word[w] >> 32), (u32)(j.word[w] >> 32)};
    }
}

// The same of one coefficient, number k: of pair k / 2, whose other one is the neighbouring thread's.
template <u32 CHUNKS>
HE_D void pack_row(u64* words, u32 area, u32 k, const Basis& basis, u32 sources) {
    typedef ByteRow<CHUNKS> Row;
    const double* reciprocal = in_global(basis.reciprocal);
    Row row;
#pragma unroll
    for (u32 s = 0; s < Row::MOST_SOURCES; ++s) {
        if (s < sources) row.add(s, words[s * area + k], reciprocal[s]);
    }
    row.end();
    __syncwarp(); // the neighbour has read its y
    u32* halves = reinterpret_cast<u32*>(words) + k / 2 * 4 + k % 2;
#pragma unroll
    for (u32 w = 0; w < Row::WORDS; ++w) {
        if (w >= row_words_of(sources)) continue;
        halves[w * 2 * area] = (u32)row.word[w];
        halves[w * 2 * area + 2] = (u32)(row.word[w] >> 32);
    }
}
